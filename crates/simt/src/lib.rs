//! One thread group run in lock-step, symbolically: races, divergence, and what the group computes together.
//!
//! **Invariants.** No I/O, no panic, every run bounded by a step budget. This crate knows no rule.

mod finding;

pub use finding::{
    Access, Analysis, Collective, Elements, Iteration, Kind, Operator, Race, Rewrite, Shape, Stop,
};
