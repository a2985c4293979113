//! Checks a kernel and its rewrite on real devices: typed HLSL → naga → WGSL → wgpu.
//!
//! [`lower`] turns one entry point of a [`shaderlint_hlsl::Shader`] into a validated naga module, and [`wgsl`] writes
//! it as text. [`run`] executes kernels on every adapter of the machine, compares the contents of memory bit for bit
//! (or within a bound for floats) and times them with timestamp queries. [`interpret`] gives the same inputs to the
//! engine that proves kernels equal.
//!
//! **Invariants.** Nothing here panics on any input: a [`LowerError`] with its place reports what cannot be lowered,
//! and a [`run::RunError`] what cannot be run. Only this crate knows naga and wgpu.

pub mod interpret;
mod lower;
pub mod pipeline;
pub mod run;

pub use lower::{
    Binding, BindingKind, Element, LowerError, Lowered, UniformMember, WgslError, Word, lower,
    lower_repeated, wgsl,
};
