//! Scans and reductions that the lanes of a wave make from each other's registers.

pub(crate) mod ladders;
pub(crate) mod lanes;
pub(crate) mod prefilter;
