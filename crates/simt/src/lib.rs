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
mod column;
mod control;
mod custom;
mod difference;
mod divergence;
mod effects;
mod equivalence;
mod eval;
mod evaluate;
mod finding;
mod flow;
mod fold;
mod formula;
mod halves;
mod handle;
mod havoc;
mod history;
mod host;
mod intrinsic;
mod lanes;
mod layout;
mod leftover;
mod machine;
mod meaning;
mod memory;
mod method;
mod missed;
mod named;
mod observe;
mod onward;
mod opaque;
mod operator;
mod order;
mod packing;
mod parts;
mod passes;
mod pile;
mod place;
mod probe;
mod rewrite;
mod rounding;
mod row;
mod sample;
mod served;
mod shape;
mod shuffle;
mod starts;
mod statement;
mod steps;
mod terms;
mod together;
mod transfer;
mod undeclared;
mod undefined;
mod unknown;
mod value;
mod wave;
mod window;

pub use analyze::analyze;
pub use difference::Difference;
pub use effects::calls_unknown;
pub use equivalence::{Outcome, WaveRun, compare, proved_of_itself};
pub use evaluate::{Written, ends, evaluate, evaluate_groups};
pub use finding::{
    Access, Amount, Analysis, Atomic, Cells, Claim, Collective, Divergence, Elements, Extent, Found, Half,
    Holders, HostValue, Instance, Iteration, Kind, Operator, OutOfBounds, Parts, Quantity, Race, Rewrite,
    Shape, Stop, Uninitialised, WaveDependence, WaveEffect, WaveLadder,
};
pub use order::unordered;
pub use sample::{BUFFER_END, Given};
pub use served::serves_alike;
pub use wave::{LaneMap, WAVE_SIZES};
