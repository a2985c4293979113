//! The linter for a web page: answers questions about a file that is not on disk. Both are JSON.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::check::file::check_file;
use crate::check::file_report::FileReport;
use crate::check::options::{FixMode, Options, in_memory};
use crate::check::readings::Role;
use crate::cli::OutputFormat;
use crate::commands::verify;
use crate::report::{self, Results};
use crate::support::config_error::ConfigError;
use crate::support::error_text;
use crate::support::terminal::Style;
use crate::workspace::config::Projects;
use crate::workspace::files::Files;
use crate::workspace::project_file::ProjectFile;

/// The name of the file.
const NAME: &str = "kernel.hlsl";
/// The name of its settings.
const SETTINGS: &str = "shaderlint.toml";

#[derive(Deserialize)]
struct Question {
    /// HLSL.
    text: String,
    /// A `shaderlint.toml`.
    #[serde(default)]
    settings: String,
    ask: Ask,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Ask {
    /// The findings.
    Check,
    /// The text after `shaderlint --fix`.
    Fix {
        /// With `--unsafe-fixes`.
        #[serde(rename = "unsafe")]
        unsafe_too: bool,
    },
    /// The results of `shaderlint verify` for the fixed kernels.
    Verify,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    Check {
        /// As `--output-format json`.
        json: serde_json::Value,
        /// As `--output-format full`.
        full: String,
    },
    Fix {
        text: String,
    },
    Verify {
        version: &'static str,
        /// As on the page of `--report`.
        kernels: Vec<serde_json::Value>,
    },
    Error {
        message: String,
        /// The range in the settings, in bytes.
        place: Option<[usize; 2]>,
    },
}

/// Answers a question.
#[must_use]
pub fn answer(question: &str) -> String {
    let answer = serde_json::from_str(question)
        .context("not a question")
        .and_then(answer_to)
        .unwrap_or_else(|error| Answer::Error {
            message: error_text::of_error(&error),
            place: error
                .downcast_ref()
                .map(|wrong: &ConfigError| [wrong.place.start, wrong.place.end]),
        });
    // All maps have text as keys, and writing text does not fail.
    serde_json::to_string(&answer).unwrap_or_default()
}

fn answer_to(question: Question) -> Result<Answer> {
    let Question { text, settings, ask } = question;
    let project = Arc::new(Projects::written(Path::new(SETTINGS), &settings)?);
    let check = |fix| -> Result<FileReport> {
        let (target, options) = in_memory(Files::given(NAME, text.as_bytes()), NAME, Arc::clone(&project));
        check_file(&target, &Options { fix, ..options }, Role::Unit)
    };
    Ok(match ask {
        Ask::Check => {
            let checked = [check(None)?];
            let results = Results {
                checked: &checked,
                failures: &[],
            };
            let written = |format| report::findings(results, format, Style::PLAIN);
            Answer::Check {
                json: serde_json::from_slice(&written(OutputFormat::Json)?)?,
                full: String::from_utf8(written(OutputFormat::Full)?)?,
            }
        }
        Ask::Fix { unsafe_too } => {
            let in_place = false;
            let checked = check(Some(FixMode { unsafe_too, in_place }))?;
            let fixed = checked.fixed.diff.map(|(_, fixed)| String::from_utf8(fixed));
            Answer::Fix {
                text: fixed.transpose()?.unwrap_or(text),
            }
        }
        Ask::Verify => Answer::Verify {
            version: env!("CARGO_PKG_VERSION"),
            kernels: verify::on_page(&ProjectFile::given(NAME, &text, project))?,
        },
    })
}
