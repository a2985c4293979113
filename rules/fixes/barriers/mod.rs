//! Barriers that end races.

mod advice;
mod candidates;
mod defects;
mod missing;
mod moved;
mod no_barrier;
mod places;
pub(crate) mod repair;
mod several;
mod split_assignment;
