//! The files of a run: which there are, what is configured for each, and what they include.

pub(crate) mod config;
pub(crate) mod git;
pub(crate) mod includes;
pub(crate) mod prefilter;
pub(crate) mod project_file;
pub(crate) mod walk;
