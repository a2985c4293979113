//! Diagnostics beside findings: about configurations and baselines, and about what keeps shaders from being
//! checked.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use lsp_types::{Diagnostic, DiagnosticSeverity, NumberOrString};
use shaderlint_hlsl::{Cause, Problem};
use shaderlint_rules::RULES;

use super::findings;
use super::lines::{Encoding, Lines};
use crate::check::baseline::Baselines;
use crate::check::file_report::{Counted, FileReport};
use crate::check::options::{Options, Target};
use crate::report::by_cause;
use crate::support::config_error::ConfigError;
use crate::support::error_text;
use crate::support::paths::here;

/// The codes of notices, in the place of a finding's rule.
pub(super) const CONFIGURATION: &str = "configuration";
const BASELINE: &str = "baseline";
const NOT_UNDERSTOOD: &str = "not-understood";

/// The most reasons that a hint lists.
const MAX_REASONS: usize = 5;

/// A diagnostic, and the file that it is about.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Notice {
    pub path: PathBuf,
    pub diagnostic: Diagnostic,
}

impl Notice {
    pub fn is_error(&self) -> bool {
        self.diagnostic.severity == Some(DiagnosticSeverity::ERROR)
    }
}

/// The notice about an invalid configuration, if the error has a position.
pub(super) fn of_error(error: &anyhow::Error, encoding: Encoding) -> Option<Notice> {
    let error = error.downcast_ref()?;
    Some(notice(error, CONFIGURATION, DiagnosticSeverity::ERROR, encoding))
}

/// Notices about probable mistakes.
pub(super) fn doubts(doubts: &[ConfigError], code: &str, encoding: Encoding) -> Vec<Notice> {
    let doubts = doubts.iter();
    doubts
        .map(|doubt| notice(doubt, code, DiagnosticSeverity::WARNING, encoding))
        .collect()
}

/// Puts aside the findings that the baseline knows. A baseline that cannot be read knows nothing. The notices
/// report its errors, and entries that are stale or name unknown rules.
pub(super) fn baseline(
    target: &Target,
    options: &Options,
    checked: &mut FileReport,
    encoding: Encoding,
) -> Vec<Notice> {
    let path = checked.baseline.clone();
    let Some(path) = path.filter(|path| options.files.may_be_checked(path)) else {
        return Vec::new();
    };
    let baselines = match Baselines::at(std::iter::once(&path)) {
        Ok(baselines) => baselines,
        Err(error) => {
            let at = match error.downcast() {
                Ok(error) => error,
                Err(error) => ConfigError::new(&path, "", 0..0, error_text::of_error(&error)),
            };
            return vec![notice(&at, BASELINE, DiagnosticSeverity::ERROR, encoding)];
        }
    };
    baselines.apply(std::slice::from_mut(checked));
    let is_on = |id: &str, file: &Path| {
        let rule = RULES.iter().find(|rule| rule.id == id);
        rule.is_none_or(|rule| options.reports_all_of(&target.project, rule, &file.display().to_string()))
    };
    let stale = baselines.stale(std::slice::from_ref(checked), is_on);
    let unknown = baselines.unknown();
    [unknown, stale]
        .iter()
        .flat_map(|found| doubts(found, BASELINE, encoding))
        .collect()
}

/// Notices about errors in comments for the linter and in entry points, and about broken directives: with a
/// missing include or an open `#if`, a file could look clean though it is not.
pub(super) fn problems(checked: &FileReport, encoding: Encoding) -> Vec<Notice> {
    // A header that no kernel includes is not checked.
    if checked.counted == Counted::Unseen {
        return Vec::new();
    }
    let notice = |problem: &Problem, severity: DiagnosticSeverity, message: String| {
        let file = checked.sources.get(problem.place?.file)?;
        Some(Notice {
            path: here(Path::new(&file.path)),
            diagnostic: Diagnostic {
                range: findings::range(checked, problem.place?, encoding)?,
                severity: Some(severity),
                code: Some(NumberOrString::String(NOT_UNDERSTOOD.to_owned())),
                source: Some("shaderlint".to_owned()),
                message,
                ..Diagnostic::default()
            },
        })
    };
    let mistakes = checked
        .report
        .problems
        .iter()
        .filter_map(|problem| notice(problem, DiagnosticSeverity::WARNING, problem.message.clone()));
    let is_broken =
        |problem: &&Problem| is_in_directive(checked, problem) && problem.cause != Cause::Ambiguous;
    let broken = checked.problems.iter().filter(is_broken).filter_map(|problem| {
        let message = format!("{}\nfindings may be missing here", problem.message);
        notice(problem, DiagnosticSeverity::INFORMATION, message)
    });
    mistakes.chain(broken).chain(partial(checked, encoding)).collect()
}

/// A hint at the first line of a file that was not understood in full.
fn partial(checked: &FileReport, encoding: Encoding) -> Option<Notice> {
    if !checked.is_partial {
        return None;
    }
    let unread = checked.problems.iter().chain(&checked.elsewhere);
    let unread = by_cause(unread.chain(&checked.report.stops));
    let mut message = "not understood in full: findings may be missing in this file".to_owned();
    let rest = unread.len().saturating_sub(MAX_REASONS);
    for (problem, more) in unread.into_iter().take(MAX_REASONS) {
        let place = problem.place.and_then(|place| {
            let file = checked.sources.get(place.file)?;
            let line = Lines::new(&file.text, encoding).line_of(place.start as usize) + 1;
            let name = Path::new(&file.path).file_name()?.display();
            Some(format!("{name}:{line}: "))
        });
        let _ = write!(message, "\n{}{}", place.unwrap_or_default(), problem.message);
        if more > 0 {
            let _ = write!(message, ", and {more} more like this");
        }
    }
    if rest > 0 {
        let _ = write!(message, "\nand {rest} more: `shaderlint -v` shows them");
    }
    let text = checked.sources.files.first().map(|file| &file.text);
    let first = text.map_or(0, |text| Lines::new(text, encoding).line(0).len());
    let range =
        text.map(|text| Lines::new(text, encoding).range(0, u32::try_from(first).unwrap_or_default()));
    Some(Notice {
        path: here(Path::new(&checked.path)),
        diagnostic: Diagnostic {
            range: range.unwrap_or_default(),
            severity: Some(DiagnosticSeverity::HINT),
            code: Some(NumberOrString::String(NOT_UNDERSTOOD.to_owned())),
            source: Some("shaderlint".to_owned()),
            message,
            ..Diagnostic::default()
        },
    })
}

/// Whether the problem is on a line that begins with `#`.
fn is_in_directive(checked: &FileReport, problem: &Problem) -> bool {
    let line = problem.place.and_then(|place| {
        let text = &checked.sources.get(place.file)?.text;
        let start = text.get(..place.start as usize)?;
        let line = start
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        text.get(line..)
    });
    line.is_some_and(|line| line.trim_ascii_start().starts_with(b"#"))
}

fn notice(at: &ConfigError, code: &str, severity: DiagnosticSeverity, encoding: Encoding) -> Notice {
    let [start, end] = [at.place.start, at.place.end].map(|offset| u32::try_from(offset).unwrap_or(u32::MAX));
    Notice {
        path: here(Path::new(&at.file.path)),
        diagnostic: Diagnostic {
            range: Lines::new(&at.file.text, encoding).range(start, end),
            severity: Some(severity),
            code: Some(NumberOrString::String(code.to_owned())),
            source: Some("shaderlint".to_owned()),
            message: at.message.clone(),
            ..Diagnostic::default()
        },
    }
}
