//! Fixes, each proved before it is offered.

pub(crate) mod atomics;
pub(crate) mod barriers;
pub(crate) mod waves;

use shaderlint_linter::{NoFix, Reason};

/// The proof of a fix would exceed its budget.
pub(crate) fn too_long() -> NoFix {
    NoFix::new(Reason::TooLong, "proving a fix would take too long")
}
