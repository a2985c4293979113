//! Errors in configuration files.

use std::fmt;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result};
use shaderlint_hlsl::SourceFile;

/// An error at a position in a configuration file or a baseline.
#[derive(Clone, Debug)]
pub(crate) struct ConfigError {
    pub file: SourceFile,
    pub place: Range<usize>,
    pub message: String,
}

impl ConfigError {
    pub fn new(path: &Path, text: &str, place: Range<usize>, message: impl Into<String>) -> ConfigError {
        ConfigError {
            file: SourceFile {
                path: path.display().to_string(),
                text: text.as_bytes().into(),
            },
            place,
            message: message.into(),
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let before = self.file.text.get(..self.place.start).unwrap_or_default();
        let line = before.split(|byte| *byte == b'\n').count();
        write!(f, "{}:{line}: {}", self.file.path, self.message)
    }
}

impl std::error::Error for ConfigError {}

/// The text of a configuration file.
pub(crate) fn text_of(path: &Path) -> Result<String> {
    let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
    String::from_utf8(bytes).map_err(|error| {
        let from = error.utf8_error().valid_up_to();
        let length = error.utf8_error().error_len().unwrap_or(1);
        anyhow::Error::new(ConfigError {
            file: SourceFile {
                path: path.display().to_string(),
                text: error.into_bytes().into(),
            },
            place: from..from + length,
            message: "the file is not UTF-8".to_owned(),
        })
    })
}
