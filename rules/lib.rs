//! The rules, one a file, and the only list of them.
//!
//! **Invariants.** No I/O. A rule knows no other rule; what two rules need is in `simt`, or here in `scan` and the modules
//! it uses.

#![forbid(unsafe_code)]

#[path = "performance/atomic_slot_claim.rs"]
mod atomic_slot_claim;
#[path = "performance/hillis_steele_scan.rs"]
mod hillis_steele_scan;
#[path = "performance/single_cell_atomic.rs"]
mod single_cell_atomic;
#[path = "performance/small_bin_atomic.rs"]
mod small_bin_atomic;

#[path = "performance/blelloch_scan.rs"]
mod blelloch_scan;

#[path = "performance/hand_rolled_scan.rs"]
mod hand_rolled_scan;

#[path = "performance/hand_rolled_reduction.rs"]
mod hand_rolled_reduction;

#[path = "correctness/groupshared_race.rs"]
mod groupshared_race;

#[path = "correctness/divergent_barrier.rs"]
mod divergent_barrier;

#[path = "correctness/groupshared_out_of_bounds.rs"]
mod groupshared_out_of_bounds;

#[path = "correctness/uninitialised_groupshared.rs"]
mod uninitialised_groupshared;

#[path = "correctness/wave_size_assumption.rs"]
mod wave_size_assumption;

#[path = "suppression/unused_suppression.rs"]
mod unused_suppression;

mod advice;
mod claim;
mod configuration;
mod declaring;
mod element;
mod expansion;
mod form;
mod group_helper;
mod last_calls;
mod lines;
mod missing_barrier;
mod moved;
mod padding;
mod proof;
mod proved;
mod races;
mod refusal;
mod repair;
mod scan;
mod several_barriers;
mod shuffle;
mod sole_use;
mod statements;
mod totals;
mod unit;
mod wave_atomic;
mod wave_bins;
mod wave_choice;
mod wave_form;
mod wave_reduction;
mod wave_scan;
mod witness;
mod written;

use shaderlint_linter::Rule;

/// Every rule, in the order in which they are listed and run.
pub static RULES: &[Rule] = &[
    hillis_steele_scan::RULE,
    blelloch_scan::RULE,
    hand_rolled_scan::RULE,
    hand_rolled_reduction::RULE,
    atomic_slot_claim::RULE,
    single_cell_atomic::RULE,
    small_bin_atomic::RULE,
    groupshared_race::RULE,
    divergent_barrier::RULE,
    groupshared_out_of_bounds::RULE,
    uninitialised_groupshared::RULE,
    wave_size_assumption::RULE,
    unused_suppression::RULE,
];

pub use unused_suppression::RULE as UNUSED_SUPPRESSION;

/// The rules that `id` means: one by its own id, or all that share an alias.
pub fn named(id: &str) -> impl Iterator<Item = &'static Rule> {
    RULES.iter().filter(move |rule| rule.is_named(id))
}
