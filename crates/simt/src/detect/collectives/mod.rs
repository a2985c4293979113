//! Scans and reductions over groupshared memory. [`candidate_search`] tries out statements that may be one,
//! [`partial_results`] watches the values while they run, and [`pattern`] and [`classify`] recognise the
//! result; [`leftover_places`] finds where it and partial results end. [`rewrite`] and [`partial_result_taint`]
//! determine what code in their place must do.

pub(crate) mod atoms;
pub(crate) mod candidate_search;
pub(crate) mod classify;
pub(crate) mod executed;
mod leftover_places;
pub(crate) mod partial_result_taint;
pub(crate) mod partial_results;
pub(crate) mod pattern;
pub(crate) mod result_merging;
pub(crate) mod rewrite;
