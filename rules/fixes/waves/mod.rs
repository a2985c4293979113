//! Wave intrinsics in the place of a ladder.

pub(crate) mod choice;
pub(crate) mod form;
pub(crate) mod group_helper;
pub(crate) mod last_calls;
pub(crate) mod padding;
pub(crate) mod proof;
pub(crate) mod reduction;
pub(crate) mod refusal;
pub(crate) mod replacement;
pub(crate) mod scan;
pub(crate) mod sole_use;
pub(crate) mod totals;
