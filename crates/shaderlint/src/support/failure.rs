//! Why a file could not be checked or fixed.

use std::path::Path;

use super::error_text;

/// Why a path could not be checked or fixed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub path: String,
    /// The message, which names the path.
    pub text: String,
}

impl Failure {
    /// The failure that `error` is for this file.
    pub fn of(path: &Path, error: &anyhow::Error) -> Failure {
        Failure {
            path: path.display().to_string(),
            text: error_text::of_error(error),
        }
    }

    pub fn new(path: &Path, message: &str) -> Failure {
        let path = path.display().to_string();
        Failure {
            text: format!("{path}: {message}"),
            path,
        }
    }

    /// The text without the path at its start.
    pub fn message(&self) -> &str {
        let rest = self.text.strip_prefix(&self.path);
        rest.and_then(|rest| rest.strip_prefix(": "))
            .unwrap_or(&self.text)
    }
}
