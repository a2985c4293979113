//! Checks a kernel and its rewrite on real devices: typed HLSL → naga → WGSL → wgpu.
//!
//! [`lower`] turns one entry point of a [`shaderlint_hlsl::Shader`] into a validated naga module, [`wgsl`] writes it
//! as text, and [`run`] executes kernels on every adapter of the machine, compares what they leave in memory bit for
//! bit (or within a float bound) and times them with timestamp queries. [`interpret`] gives the same inputs to the
//! engine that proves kernels equal.
//!
//! **Invariants.** Nothing here panics on any input: what cannot be lowered is a [`LowerError`] with its place, what
//! cannot be run is a [`run::RunError`]. naga and wgpu are seen by this crate alone.

pub mod interpret;
mod lower;
pub mod pipeline;
pub mod run;

pub use lower::{
    Binding, BindingKind, Element, LowerError, Lowered, UniformMember, WgslError, Word, lower,
    lower_repeated, wgsl,
};
