//! The reports of a run.

mod causes;
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
use std::sync::LazyLock;

use anyhow::Result;
use codespan_reporting::diagnostic::Severity;
use shaderlint_linter::Level;

pub(crate) use causes::{by_cause, causes};
pub(crate) use diff::diff;
pub(crate) use statistics::statistics;
pub(crate) use summary::{SummaryContext, counted, fixes_made, summary};
pub(crate) use text::problems_of;

use crate::check::file_report::FileReport;
use crate::cli::OutputFormat;
use crate::support::failure::Failure;
use crate::support::paths;
use crate::support::terminal::Style;

/// The results of a run.
#[derive(Clone, Copy)]
pub(crate) struct Results<'a> {
    pub checked: &'a [FileReport],
    /// Why some files could not be checked.
    pub failures: &'a [Failure],
}

/// All findings in one of the formats.
pub(crate) fn findings(results: Results, format: OutputFormat, style: Style) -> Result<Vec<u8>> {
    match format {
        OutputFormat::Full => {
            let rendered = results.checked.iter().map(|one| text::full(one, style));
            Ok(rendered.collect::<Result<Vec<_>>>()?.concat())
        }
        OutputFormat::Concise => {
            let rendered = results.checked.iter().map(|one| text::concise(one, style));
            Ok(rendered.collect::<String>().into_bytes())
        }
        OutputFormat::Json => json::json(results),
        OutputFormat::Sarif => sarif::sarif(results),
        OutputFormat::Github => Ok(github::github(results.checked, checkout()).into_bytes()),
        OutputFormat::Gitlab => gitlab::gitlab(results.checked, checkout()),
        OutputFormat::Junit => junit::junit(results),
    }
}

/// The format of findings if the command line gives none. `to_person` says whether a person reads them, or a
/// program.
pub(crate) fn default_format(to_person: bool) -> OutputFormat {
    let is_in_actions = std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true");
    if is_in_actions && !to_person {
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

/// The top of the checkout. Services name files relative to it.
fn checkout() -> Option<&'static Path> {
    static CHECKOUT: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
        let mut variables = ["GITHUB_WORKSPACE", "CI_PROJECT_DIR"].into_iter();
        variables.find_map(std::env::var_os).map(PathBuf::from)
    });
    CHECKOUT.as_deref()
}

/// A path for other programs: relative to `root` if it lies below, and with `/`.
fn slashed(path: &str, root: Option<&Path>) -> String {
    let below = root.and_then(|root| {
        let path = paths::here(Path::new(path));
        if let Ok(below) = path.strip_prefix(root) {
            return Some(below.display().to_string());
        }
        // The root may contain links.
        let path = path.canonicalize().ok()?;
        Some(
            path.strip_prefix(root.canonicalize().ok()?)
                .ok()?
                .display()
                .to_string(),
        )
    });
    let path = below.unwrap_or_else(|| path.to_owned());
    if cfg!(windows) {
        path.replace('\\', "/")
    } else {
        path
    }
}
