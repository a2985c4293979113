//! Showing what was found.

mod diff;
mod json;
mod text;

#[cfg(test)]
mod tests;

use codespan_reporting::diagnostic::Severity;
use shaderlint_linter::Level;

pub(crate) use diff::diff;
pub(crate) use json::json;
pub(crate) use text::problem;
#[cfg(feature = "gpu")]
pub(crate) use text::problems;
pub(crate) use text::{Detail, WIDTH, concise, failure, full, problems_of, wrap};

fn severity(level: Level) -> Severity {
    match level {
        Level::Error => Severity::Error,
        Level::Warn => Severity::Warning,
        Level::Info | Level::Off => Severity::Note,
    }
}
