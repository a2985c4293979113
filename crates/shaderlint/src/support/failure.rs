//! Why a file could not be checked or fixed.

use std::path::Path;

use super::error_text;

/// Why a file could not be checked or fixed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub path: String,
    /// The path is in it.
    pub text: String,
}

impl Failure {
    /// The failure of a file, from an error.
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

    /// The text without the path.
    pub fn message(&self) -> &str {
        let rest = self.text.strip_prefix(&self.path);
        rest.and_then(|rest| rest.strip_prefix(": "))
            .unwrap_or(&self.text)
    }
}
