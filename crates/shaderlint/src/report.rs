//! Showing what was found.

mod diff;
mod fingerprint;
mod github;
mod gitlab;
mod json;
mod junit;
mod sarif;
mod statistics;
mod summary;
mod text;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use anyhow::Result;
use codespan_reporting::diagnostic::Severity;
use shaderlint_linter::Level;

pub(crate) use diff::diff;
pub(crate) use statistics::statistics;
pub(crate) use summary::summary;
pub(crate) use text::problem;
#[cfg(feature = "gpu")]
pub(crate) use text::problems;
pub(crate) use text::{Detail, WIDTH, failure, problems_of, wrap};

use crate::args::OutputFormat;
use crate::lint::Looked;
use crate::terminal::Style;

/// What a run showed.
#[derive(Clone, Copy)]
pub(crate) struct Results<'a> {
    pub looked: &'a [Looked],
    /// Why some files could not be looked at.
    pub failures: &'a [String],
}

/// All findings in one of the formats.
pub(crate) fn findings(results: Results, format: OutputFormat, style: Style) -> Result<Vec<u8>> {
    // Services name files from the top of the checkout.
    let checkout = |variable: &str| std::env::var_os(variable).map(PathBuf::from);
    match format {
        OutputFormat::Full => {
            let rendered = results.looked.iter().map(|one| text::full(one, style));
            Ok(rendered.collect::<Result<Vec<_>>>()?.concat())
        }
        OutputFormat::Concise => {
            let rendered = results.looked.iter().map(|one| text::concise(one, style));
            Ok(rendered.collect::<String>().into_bytes())
        }
        OutputFormat::Json => json::json(results.looked),
        OutputFormat::Sarif => sarif::sarif(results),
        OutputFormat::Github => {
            Ok(github::github(results.looked, checkout("GITHUB_WORKSPACE").as_deref()).into_bytes())
        }
        OutputFormat::Gitlab => gitlab::gitlab(results.looked, checkout("CI_PROJECT_DIR").as_deref()),
        OutputFormat::Junit => junit::junit(results),
    }
}

/// What runs here without anyone having said what to print.
pub(crate) fn default_format(is_terminal: bool) -> OutputFormat {
    let is_in_actions = std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true");
    if is_in_actions && !is_terminal {
        OutputFormat::Github
    } else {
        OutputFormat::Full
    }
}

/// The address of a rule's page.
pub(crate) fn page_url(rule: &str) -> String {
    format!("{}/blob/main/docs/rules/{rule}.md", env!("CARGO_PKG_REPOSITORY"))
}

fn severity(level: Level) -> Severity {
    match level {
        Level::Error => Severity::Error,
        Level::Warn => Severity::Warning,
        Level::Info | Level::Off => Severity::Note,
    }
}

/// A path as other programs want it: from `root` where it lies below, and with `/`.
fn slashed(path: &str, root: Option<&Path>) -> String {
    let below = root.and_then(|root| {
        let path = crate::config::here(Path::new(path));
        Some(path.strip_prefix(root).ok()?.display().to_string())
    });
    let path = below.unwrap_or_else(|| path.to_owned());
    if cfg!(windows) {
        path.replace('\\', "/")
    } else {
        path
    }
}
