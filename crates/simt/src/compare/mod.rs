//! Comparisons of runs: two kernels, one kernel at several wave sizes, and a symbolic run with one on numbers.

pub(crate) mod counterexample;
pub(crate) mod equivalence;
pub(crate) mod evaluate;
pub(crate) mod outcome;
mod pairing;
pub(crate) mod refinement;
pub(crate) mod stretch;
mod trace;
pub(crate) mod wave_sensitivity;

use crate::terms::Symbol;

/// A cell of a resource, by numbers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ResourceCell {
    resource: Symbol,
    component: u32,
    index: Vec<u32>,
}
