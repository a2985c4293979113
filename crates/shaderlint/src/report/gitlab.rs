//! Findings as a Code Quality report, which GitLab shows in merge requests.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use shaderlint_linter::Level;

use super::fingerprint::Fingerprints;
use super::slashed;
use crate::check::file_report::FileReport;
use crate::support::source_text::SourceTexts;

#[derive(Serialize)]
struct Issue<'a> {
    description: &'a str,
    check_name: &'a str,
    fingerprint: String,
    severity: &'static str,
    location: Location,
}

#[derive(Serialize)]
struct Location {
    path: String,
    lines: Lines,
}

#[derive(Serialize)]
struct Lines {
    begin: usize,
    end: usize,
}

/// All findings, with paths from `root`.
pub(super) fn gitlab(checked: &[FileReport], root: Option<&Path>) -> Result<Vec<u8>> {
    let mut issues = Vec::new();
    let mut fingerprints = Fingerprints::default();
    for one in checked.iter().filter(|one| !one.report.findings.is_empty()) {
        let texts = SourceTexts::new(&one.sources);
        issues.extend(one.report.findings.iter().map(|finding| {
            let path = slashed(texts.name(finding.primary.place), root);
            let (start, end) = texts.places(finding.primary.place);
            Issue {
                description: &finding.message,
                check_name: finding.rule,
                fingerprint: fingerprints.of(&path, finding),
                severity: match finding.level {
                    Level::Error => "major",
                    Level::Warn => "minor",
                    Level::Info | Level::Off => "info",
                },
                location: Location {
                    path,
                    lines: Lines {
                        begin: start.line,
                        end: end.line,
                    },
                },
            }
        }));
    }
    let mut text = serde_json::to_vec_pretty(&issues)?;
    text.push(b'\n');
    Ok(text)
}
