//! The check of one file.
//!
//! [`file`] takes a text through these stages. Each uses the results of those before it, and none turns back:
//!
//! | stage | does | result |
//! |---|---|---|
//! | [`readings`] | runs the rules in each configuration of the unit | `Vec<Reading>` |
//! | [`union`] | keeps one finding a place, and the fixes that every reading agrees on | `Union` |
//! | [`comments`] | adds the comments that allow nothing | `FileReport` |
//! | [`includers`] | drops functions that another file calls, and fixes that an includer objects to | `FileReport` |
//!
//! The last stage needs the readings of other units. It asks [`readings::Reader::read`], which reads each unit once: the
//! readings of a unit never depend on those of another one. To fix a file, [`file`] repeats all stages after each fix.

pub(crate) mod baseline;
mod comments;
pub(crate) mod configurations;
pub(crate) mod file;
pub(crate) mod file_report;
mod guesses;
pub(crate) mod header;
pub(crate) mod includers;
mod notes;
pub(crate) mod options;
pub(crate) mod readings;
mod union;
