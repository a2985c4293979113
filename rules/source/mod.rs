//! What the files of a unit say: names, macros, choices, statements, and the words for them.

pub(crate) mod configuration;
mod declaring;
pub(crate) mod element;
mod expansion;
pub(crate) mod group_size;
pub(crate) mod lines;
pub(crate) mod names;
pub(crate) mod statements;
pub(crate) mod text;
pub(crate) mod unit;
pub(crate) mod words;
