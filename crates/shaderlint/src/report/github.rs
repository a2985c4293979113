//! Findings as workflow commands, which GitHub shows beside the changed lines of a pull request.

use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;

use shaderlint_linter::{Diagnostic, Level};

use super::slashed;
use crate::check::file_report::FileReport;
use crate::support::source_text::SourceTexts;

/// A command for each finding, with paths from `root`.
pub(super) fn github(checked: &[FileReport], root: Option<&Path>) -> String {
    let mut output = String::new();
    for one in checked.iter().filter(|one| !one.report.findings.is_empty()) {
        let texts = SourceTexts::new(&one.sources);
        for finding in &one.report.findings {
            command(&mut output, &texts, finding, root);
        }
    }
    output
}

fn command(output: &mut String, texts: &SourceTexts, finding: &Diagnostic, root: Option<&Path>) {
    let (name, (start, end)) = (
        texts.name(finding.primary.place),
        texts.places(finding.primary.place),
    );
    let kind = match finding.level {
        Level::Error => "error",
        Level::Warn => "warning",
        Level::Info | Level::Off => "notice",
    };
    let file = property(&slashed(name, root));
    let _ = write!(
        output,
        "::{kind} title={},file={file},line={},endLine={}",
        property(finding.rule),
        start.line,
        end.line
    );
    // Columns are allowed within one line only.
    if start.line == end.line {
        let _ = write!(output, ",col={},endColumn={}", start.column, end.column);
    }
    let lines: Vec<Cow<'_, str>> = std::iter::once(finding.message.as_str().into())
        .chain(finding.evidence())
        .collect();
    let _ = writeln!(output, "::{}", data(&lines.join("\n")));
}

/// Escapes text as the runner's own toolkit does.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
