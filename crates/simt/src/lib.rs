//! One thread group run in lock-step, symbolically: races, divergence, and what the group computes together.
//!
//! **Invariants.** No I/O, no panic, every run bounded by a step budget. This crate knows no rule.

#![forbid(unsafe_code)]

mod access;
mod aggregate;
mod analyze;
mod assign;
mod atomic;
mod atoms;
mod bins;
mod bounds;
mod call;
mod claim;
mod classify;
mod control;
mod difference;
mod divergence;
mod equivalence;
mod eval;
mod evaluate;
mod executed;
mod finding;
mod handle;
mod havoc;
mod host;
mod intrinsic;
mod lanes;
mod led;
mod leftover;
mod machine;
mod memory;
mod method;
mod missed;
mod observe;
mod onward;
mod opaque;
mod order;
mod ordering;
mod packing;
mod parts;
mod passes;
mod place;
mod position;
mod probe;
mod replay;
mod rewrite;
mod row;
mod served;
mod several;
mod shuffle;
mod starts;
mod statement;
mod steps;
mod stretch;
mod supposed;
mod terms;
mod text;
mod together;
mod transfer;
mod undeclared;
mod undefined;
mod unknown;
mod wave;
mod window;

pub use analyze::{analyze, look_for_defects};
pub use difference::Difference;
pub use equivalence::{NOT_SEEN_TO_DIFFER, Outcome, WaveRun, compare_with, proved_of_itself};
pub use evaluate::{Place, Written, contested, ends, evaluate, evaluate_groups};
pub use finding::{
    Access, Amid, Amount, Analysis, Around, Beside, Cells, Claim, Collective, Divergence, Elements, Extent,
    Found, Holders, Instance, Iteration, Kind, LastStep, Left, Meanwhile, NamedValue, NotCombined, Obstacle,
    OutOfBounds, Parts, Point, Quantity, Race, Rewrite, Shape, StepEdit, Stop, Stored, Under, Uninitialised,
    WaveDependence, WaveEffect, WaveLadder, element_text,
};
pub use order::{Unordered, unordered};
pub use served::serves_alike;
pub use stretch::{compare, compare_stretch};
pub use supposed::Supposed;
pub use terms::halves::Half;
pub use terms::operator::Operator;
pub use terms::rounding::Doubt;
pub use terms::sample::{BUFFER_END, Given};
pub use terms::{Floats, Needs};
pub use text::calls::Atomic;
pub use text::effects::{calls_unknown, is_pure, uses_shared_memory};
pub use text::unordered::{hangs_on_order, hangs_on_version};
pub use wave::{LaneMap, WAVE_SIZES};
