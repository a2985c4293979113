//! Runs compared with each other: two kernels, one kernel in waves of several sizes, a run on names with one on numbers.

pub(crate) mod counterexample;
pub(crate) mod equivalence;
pub(crate) mod evaluate;
pub(crate) mod stretch;
pub(crate) mod wave_sensitivity;
