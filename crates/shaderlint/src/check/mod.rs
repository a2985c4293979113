//! The check of one file.
//!
//! [`file`] takes a text through these stages. Each uses the results of those before it, and none turns back:
//!
//! | stage | does | result |
//! |---|---|---|
//! | [`readings`] | runs the rules in each configuration of the unit | `UnitReadings` |
//! | [`union`] | keeps one finding a place, and the fixes that every reading agrees on | `Union` |
//! | [`findings`] | reports them, with notes and the guesses that the fixes rest on | `FileReport` |
//! | [`comments`] | adds the comments that allow nothing | the same |
//! | [`callers`] | drops findings in functions that were run by themselves and that another file calls | the same |
//! | [`includers`] | adds the fixes of a header that its includers prove, and drops fixes that one objects to | the same |
//!
//! The first three are left out if the text cannot hold a finding
//! ([`needs_parse`](crate::workspace::prefilter::needs_parse)). [`callers`] reads only the text of other files.
//! [`includers`] needs the readings of other units. It asks [`readings::ReadingStore::get`], which caches them: the readings
//! of a unit never depend on those of another one. To fix a file, [`file`] repeats all stages after each fix.
//!
//! [`header`] makes the report on a header whose code the run checked in the files that include it. It takes only the
//! comments, `includers`, and the findings of the header's own report, if [`file`] made one.

pub(crate) mod baseline;
mod callers;
pub(crate) mod candidates;
mod comments;
pub(crate) mod configurations;
pub(crate) mod file;
pub(crate) mod file_report;
mod findings;
mod guesses;
pub(crate) mod header;
pub(crate) mod header_kernels;
mod includers;
mod notes;
pub(crate) mod options;
pub(crate) mod readings;
mod union;
