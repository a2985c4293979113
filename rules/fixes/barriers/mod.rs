//! Barriers that end races, and barriers that nothing needs.

mod advice;
mod candidates;
mod defects;
mod missing;
mod moved;
pub(crate) mod needless;
mod no_barrier;
mod places;
pub(crate) mod repair;
mod several;
mod split_assignment;
