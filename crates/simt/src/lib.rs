//! Symbolic execution of one thread group in lock-step. Finds races, divergence, and what the group computes
//! together.
//!
//! **Invariants.** No I/O and no panics. A step budget bounds every run. This crate knows no lint rule.

#![forbid(unsafe_code)]

mod analyze;
mod compare;
mod detect;
mod exec;
mod facts;
mod finding;
mod terms;
mod waves;

pub use analyze::{analyze, look_for_defects};
pub use compare::counterexample::Difference;
pub use compare::equivalence::{compare_with, proved_of_itself};
pub use compare::evaluate::{NamedCell, Written, contested, ends, evaluate};
pub use compare::outcome::{Outcome, WaveRun};
pub use compare::refinement::serves_alike;
pub use compare::stretch::{compare, compare_stretch};
pub use detect::atomics::service_order::{Unordered, unordered};
pub use exec::assumed_barriers::AssumedBarriers;
pub use facts::calls::Atomic;
pub use facts::effects::{calls_unknown, is_pure, uses_shared_memory};
pub use facts::evaluation_order::{hangs_on_order, hangs_on_version};
pub use facts::kernel::{Kernel, WAVE_SIZES};
pub use finding::{
    Access, Amid, Amount, Analysis, Around, Beside, Cells, Collective, Companions, ContendedAtomic,
    Divergence, Elements, Extent, FinalValue, Holders, Instance, Iteration, Kind, LastStep, Meanwhile,
    NamedValue, NotCombined, Obstacle, OldValueUse, Order, OutOfBounds, Parts, Point, Quantity, Race,
    Rewrite, Shape, StepEdit, Stop, Stored, Under, Uninitialised, WaveDependence, WaveEffect, WaveLadder,
    element_text,
};
pub use terms::operator::Operator;
pub use terms::packed16::Half;
pub use terms::rounding::Doubt;
pub use terms::sample::{BUFFER_END, Given};
pub use terms::{Floats, Needs};
pub use waves::LaneMap;
