//! The check of one file.
//!
//! [`file`] takes a text through these stages. Each uses the results of those before it, and none turns back:
//!
//! ```text
//!            readings         a unit's configurations: default, declared, with assumed sizes, explored;
//!           (read once,       and what the rules find in each
//!            memoised)
//!               │  Vec<Reading>
//!             union           one finding a place; fixes that every reading agrees on
//!               │  Union
//!            comments         those that suppress nothing
//!               │  FileReport
//!   ┌────── includers         calls of functions, fixable findings of headers, objections to fixes
//!   │ readings  │
//!   │ of units  │
//!   └───────────┤
//!               ▼
//!           FileReport        the report
//! ```
//!
//! Only the includers ask for readings again: those of other units, by [`readings::Reader::read`], which needs nothing but
//! the unit. To fix a file, [`file`] repeats all stages after each fix.

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
