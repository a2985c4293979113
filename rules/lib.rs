//! The rules, one a file, and the only list of them.
//!
//! The rules stand on four floors, each on those before it: `source` reads the files of a unit, `describe` puts into words
//! what a run showed, `fixes` writes fixes and proves them, `findings` has the findings that several rules report.
//!
//! **Invariants.** No I/O. A rule knows no other rule, and a floor none above it.

#![forbid(unsafe_code)]

mod describe;
mod findings;
mod fixes;
mod source;

mod correctness {
    pub(crate) mod divergent_barrier;
    pub(crate) mod groupshared_out_of_bounds;
    pub(crate) mod groupshared_race;
    pub(crate) mod uninitialised_groupshared;
    pub(crate) mod wave_size_assumption;
}
mod performance {
    pub(crate) mod atomic_slot_claim;
    pub(crate) mod blelloch_scan;
    pub(crate) mod hand_rolled_reduction;
    pub(crate) mod hand_rolled_scan;
    pub(crate) mod hillis_steele_scan;
    pub(crate) mod redundant_barrier;
    pub(crate) mod single_cell_atomic;
    pub(crate) mod small_bin_atomic;
}
mod suppression {
    pub(crate) mod unused_suppression;
}

use shaderlint_linter::Rule;

use crate::correctness::{
    divergent_barrier, groupshared_out_of_bounds, groupshared_race, uninitialised_groupshared,
    wave_size_assumption,
};
use crate::performance::{
    atomic_slot_claim, blelloch_scan, hand_rolled_reduction, hand_rolled_scan, hillis_steele_scan,
    redundant_barrier, single_cell_atomic, small_bin_atomic,
};
use crate::suppression::unused_suppression;

/// Every rule, in the order in which they are listed and run.
pub static RULES: &[Rule] = &[
    hillis_steele_scan::RULE,
    blelloch_scan::RULE,
    hand_rolled_scan::RULE,
    hand_rolled_reduction::RULE,
    atomic_slot_claim::RULE,
    single_cell_atomic::RULE,
    small_bin_atomic::RULE,
    redundant_barrier::RULE,
    groupshared_race::RULE,
    divergent_barrier::RULE,
    groupshared_out_of_bounds::RULE,
    uninitialised_groupshared::RULE,
    wave_size_assumption::RULE,
    unused_suppression::RULE,
];

pub use suppression::unused_suppression::RULE as UNUSED_SUPPRESSION;

/// The rules that `id` means: one by its own id, or all that share an alias.
pub fn named(id: &str) -> impl Iterator<Item = &'static Rule> {
    RULES.iter().filter(move |rule| rule.is_named(id))
}
