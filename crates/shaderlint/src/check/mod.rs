//! The check of one file: its configurations, what the rules find in each, and what the files that include it find in it.

pub(crate) mod baseline;
mod callers;
pub(crate) mod configurations;
pub(crate) mod file_report;
pub(crate) mod includers;
pub(crate) mod lint;
pub(crate) mod options;
pub(crate) mod readings;
