//! Wave intrinsics in the place of a ladder.

mod arg_extremum;
mod code;
mod declarations;
mod fit;
mod form;
mod group_helper;
mod last_calls;
pub(crate) mod operator;
mod padding;
mod proof;
pub(crate) mod reduction;
pub(crate) mod refusal;
pub(crate) mod replacement;
pub(crate) mod scan;
mod sole_use;
mod totals;
pub(crate) mod wording;
