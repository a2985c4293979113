//! What a run showed, in words: scans and reductions, atomics, races and their witnesses.

pub(crate) mod claim;
pub(crate) mod collective;
pub(crate) mod element;
pub(crate) mod races;
pub(crate) mod witness;
