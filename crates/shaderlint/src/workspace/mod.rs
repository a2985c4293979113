//! The files of a run, their configurations, and their includes.

pub(crate) mod config;
pub(crate) mod files;
pub(crate) mod git;
pub(crate) mod include_search;
pub(crate) mod includes;
pub(crate) mod prefilter;
pub(crate) mod project_file;
pub(crate) mod walk;
