//! Scans and reductions over memory that a group shares: statements that may be one are tried out
//! ([`candidate_search`]), what is left while they run is watched ([`partial_results`]) and recognised ([`pattern`],
//! [`classify`]), and what code in their place has to do is found ([`rewrite`], [`partial_result_taint`]).

pub(crate) mod atoms;
pub(crate) mod candidate_search;
pub(crate) mod classify;
pub(crate) mod executed;
pub(crate) mod partial_result_taint;
pub(crate) mod partial_results;
pub(crate) mod pattern;
pub(crate) mod result_merging;
pub(crate) mod rewrite;
