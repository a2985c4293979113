//! What is looked for while a group runs.

pub(crate) mod atomics;
pub(crate) mod collectives;
pub(crate) mod data_dependent_races;
pub(crate) mod shuffles;
