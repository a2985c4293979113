//! Findings as an editor shows them.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use lsp_types::{
    CodeDescription, DiagnosticRelatedInformation, DiagnosticSeverity, DiagnosticTag, Location,
    NumberOrString, Range, Uri,
};
use shaderlint_hlsl::FileSpan;
use shaderlint_linter::{Diagnostic, Level, Rule, Safety, Verdict};

use super::lines::{Encoding, Lines};
use crate::check::file_report::FileReport;
use crate::report;
use crate::support::paths::here;

/// Makes the file names in notes relative to the open folder, as they are in a terminal.
pub(super) fn name_from_folders(checked: &mut FileReport, folders: &[PathBuf]) {
    for folder in folders {
        let start = format!("{}{}", folder.display(), std::path::MAIN_SEPARATOR);
        for finding in &mut checked.report.findings {
            for note in finding.notes.iter_mut().filter(|note| note.contains(&start)) {
                *note = note.replace(&start, "");
            }
            if let Some(no_fix) = &mut finding.no_fix {
                no_fix.reword(|text| text.replace(&start, ""));
            }
        }
    }
}

/// The files with findings.
pub(super) fn files(checked: &FileReport) -> Vec<PathBuf> {
    let places = checked
        .report
        .findings
        .iter()
        .map(|finding| finding.primary.place);
    let files = places.filter_map(|place| Some(here(Path::new(&checked.sources.get(place.file)?.path))));
    files.collect()
}

/// The findings in a file.
pub(super) fn of_file<'a>(checked: &'a FileReport, file: &Path) -> impl Iterator<Item = &'a Diagnostic> {
    checked.report.findings.iter().filter(move |finding| {
        let source = checked.sources.get(finding.primary.place.file);
        source.is_some_and(|source| here(Path::new(&source.path)) == file)
    })
}

/// What distinguishes the findings of a rule in one file.
pub(super) fn brief(finding: &Diagnostic) -> (&str, (u32, u32), Vec<&str>) {
    let place = finding.primary.place;
    (
        &finding.message,
        (place.start, place.end),
        finding.all_notes().collect(),
    )
}

/// The location of a span: its file, and its range there.
fn location(checked: &FileReport, place: FileSpan, view: View<'_>) -> Option<Location> {
    let file = checked.sources.get(place.file)?;
    Some(Location {
        uri: (view.uri_of)(&here(Path::new(&file.path)))?,
        range: range(checked, place, view.encoding)?,
    })
}

/// How the editor names places.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub encoding: Encoding,
    pub uri_of: &'a dyn Fn(&Path) -> Option<Uri>,
}

pub(super) fn range(checked: &FileReport, place: FileSpan, encoding: Encoding) -> Option<Range> {
    let file = checked.sources.get(place.file)?;
    Some(Lines::new(&file.text, encoding).range(place.start, place.end))
}

pub(super) fn diagnostic(
    checked: &FileReport,
    finding: &Diagnostic,
    view: View<'_>,
) -> Option<lsp_types::Diagnostic> {
    let related = finding.secondary.iter().filter_map(|label| {
        Some(DiagnosticRelatedInformation {
            location: location(checked, label.place, view)?,
            // A terminal only underlines a label without text. Here it needs a text.
            message: if label.text.is_empty() {
                "here"
            } else {
                &label.text
            }
            .to_owned(),
        })
    });
    let lines = std::iter::once(&*finding.message).chain(finding.all_notes());
    Some(lsp_types::Diagnostic {
        range: range(checked, finding.primary.place, view.encoding)?,
        severity: Some(match finding.level {
            Level::Error => DiagnosticSeverity::ERROR,
            Level::Warn => DiagnosticSeverity::WARNING,
            Level::Info | Level::Off => DiagnosticSeverity::INFORMATION,
        }),
        code: Some(NumberOrString::String(finding.rule.to_owned())),
        code_description: report::page_url(finding.rule)
            .parse()
            .ok()
            .map(|href| CodeDescription { href }),
        source: Some("shaderlint".to_owned()),
        message: lines.collect::<Vec<_>>().join("\n"),
        related_information: Some(related.collect()),
        tags: (finding.verdict == Verdict::Unused).then(|| vec![DiagnosticTag::UNNECESSARY]),
        data: None,
    })
}

/// The evidence for a finding, including the proof of its fix; and a description of its rule.
pub(super) fn explained(finding: &Diagnostic) -> String {
    let mut text = format!("**{}**\n\n", finding.message);
    for note in finding.evidence() {
        let _ = writeln!(text, "- {}", listed(&note));
    }
    if let Some(fix) = &finding.fix {
        let safety = match fix.safety {
            Safety::Safe => "safe",
            Safety::Unsafe => "unsafe: results may differ, as the rule's page explains",
        };
        let _ = writeln!(text, "- fix: {} ({safety})", fix.title);
    }
    text + "\n---\n\n" + &about(finding.rule)
}

/// A note as an item of a list. Indented lines are code.
fn listed(note: &str) -> String {
    let Some((before, code)) = note.split_once("\n    ") else {
        return note.to_owned();
    };
    let code = code.replace("\n    ", "\n  ");
    format!("{before}\n  ```hlsl\n  {code}\n  ```")
}

/// The summary of a rule, its reason, and a link to its page.
pub(super) fn about(id: &str) -> String {
    let mut rules = shaderlint_rules::named(id);
    rules.next().map_or_else(String::new, |rule| {
        let why = why(rule).unwrap_or_default();
        let url = report::page_url(rule.id);
        format!(
            "**{}**: {}\n\n{why}\n\n[The rule's page]({url})\n",
            rule.id, rule.summary
        )
    })
}

/// The first paragraph of why a rule's finding is bad.
fn why(rule: &Rule) -> Option<&str> {
    let (_, why) = rule.explanation.split_once("\n## Why is this bad?\n\n")?;
    why.split("\n\n").next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_says_why() {
        for rule in shaderlint_rules::RULES {
            assert!(why(rule).is_some_and(|why| why.len() > 100), "{}", rule.id);
        }
    }

    #[test]
    fn code_in_notes_is_shown_as_code() {
        assert_eq!(listed("proved: a"), "proved: a");
        assert_eq!(
            listed("put this there:\n    if (a)\n        b;"),
            "put this there:\n  ```hlsl\n  if (a)\n      b;\n  ```"
        );
    }
}
