//! The functions of this package that take text from outside, for the targets in `crates/fuzz`.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use lsp_server::Connection;
use shaderlint_hlsl::Sources;
use shaderlint_linter::Report;

use crate::check::baseline;
use crate::check::file::check_file;
use crate::check::file_report::FileReport;
use crate::check::options::in_memory;
use crate::check::readings::Role;
use crate::cli::{Outcome, OutputFormat};
use crate::report::{self, Results};
use crate::server;
use crate::support::config_error::ConfigError;
use crate::support::definition::definition;
use crate::support::error_text;
use crate::support::target::profile;
use crate::support::terminal::Style;
use crate::workspace::config::{shaderlint_toml, shadertools};
use crate::workspace::files::Files;

/// The formats of findings, and their names.
const FORMATS: [(&str, OutputFormat); 7] = [
    ("full", OutputFormat::Full),
    ("concise", OutputFormat::Concise),
    ("github", OutputFormat::Github),
    ("junit", OutputFormat::Junit),
    ("json", OutputFormat::Json),
    ("sarif", OutputFormat::Sarif),
    ("gitlab", OutputFormat::Gitlab),
];

/// Checks a file with these bytes, in all its readings. Reads nothing from disk.
fn check(bytes: &[u8]) -> Result<FileReport> {
    let files = Files::given("fuzzed.hlsl", bytes);
    let (target, options) = in_memory(files, "fuzzed.hlsl", Arc::default());
    check_file(&target, &options, Role::Unit)
}

/// The findings in a file with these bytes.
///
/// # Errors
/// If the check panics.
pub fn findings(bytes: &[u8]) -> Result<(Sources, Report)> {
    let checked = check(bytes)?;
    Ok((checked.sources, checked.report))
}

/// The reports on a file with these bytes, by format.
///
/// # Errors
/// If the check panics, or a format cannot be written. Bytes that are not text are no error.
pub fn reports(bytes: &[u8]) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let checked = [check(bytes)?];
    let results = Results {
        checked: &checked,
        failures: &[],
    };
    let report = |(name, format)| Ok((name, report::findings(results, format, Style::PLAIN)?));
    FORMATS.into_iter().map(report).collect()
}

/// An error in a configuration, with its position if it has one.
#[derive(Debug)]
pub struct Wrong {
    pub message: String,
    pub place: Option<Range<usize>>,
}

/// Parses a text as the configuration file `name`, or as the argument of the option `name`.
///
/// # Errors
/// The error in the text.
pub fn configuration(name: &str, text: &str) -> Result<(), Wrong> {
    let path = Path::new(name);
    let of_argument = |result: Result<(), String>| result.map_err(|message| Wrong { message, place: None });
    let result = match name {
        "shaderlint.toml" => shaderlint_toml::parse(path, text).map(drop),
        "shadertoolsconfig.json" => shadertools::parse(path, text).map(drop),
        "baseline.toml" => baseline::parse(path, text).map(drop),
        #[cfg(feature = "gpu")]
        "kernel.toml" => crate::commands::verify::kernel_toml::parse(path, text).map(drop),
        #[cfg(feature = "gpu")]
        "pipeline.toml" => {
            let parsed = shaderlint_verify::pipeline::Pipeline::parse(text);
            return parsed.map(drop).map_err(|error| Wrong {
                message: error.message,
                place: Some(error.place),
            });
        }
        "--profile" => return of_argument(profile(text).map(drop)),
        "-D" => return of_argument(definition(text).map(drop)),
        _ => Ok(()),
    };
    result.map_err(|error| {
        let place = error
            .downcast_ref::<ConfigError>()
            .map(|wrong| wrong.place.clone());
        Wrong {
            message: error_text::of_error(&error),
            place,
        }
    })
}

/// Serves the editor at the other end of the connection. Returns `false` if the editor exits without a
/// `shutdown` request.
///
/// # Errors
/// A violation of the protocol.
pub fn serve(connection: &Connection) -> Result<bool> {
    Ok(server::serve(connection)? == Outcome::Clean)
}
