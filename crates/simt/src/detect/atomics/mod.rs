//! Atomics that many threads of a wave make on one address, or on few.

pub(crate) mod address_cardinality;
pub(crate) mod aggregation;
pub(crate) mod chunked_claims;
pub(crate) mod contention;
