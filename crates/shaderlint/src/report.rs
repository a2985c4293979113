//! Showing what was found.

mod diff;
mod json;
mod text;

#[cfg(test)]
mod tests;

use codespan_reporting::diagnostic::Severity;
use shaderlint_linter::Category;

pub(crate) use diff::diff;
pub(crate) use json::json;
pub(crate) use text::problem;
#[cfg(feature = "gpu")]
pub(crate) use text::problems;
pub(crate) use text::{Detail, concise, failure, full, problems_of};

fn severity(category: Category) -> Severity {
    match category {
        Category::Perf => Severity::Warning,
        Category::Correctness => Severity::Error,
    }
}
