//! Findings and problems for people.

use std::borrow::Cow;
use std::fmt::Write;

use anyhow::Result;
use codespan_reporting::diagnostic::{Diagnostic as Snippet, Label};
use shaderlint_hlsl::{FileId, FileSpan, Problem};
use shaderlint_linter::{Diagnostic, Level, Safety};

use super::causes::by_cause;
use super::{page_url, severity};
use crate::check::file_report::FileReport;
use crate::cli::Detail;
use crate::support::snippets::{of_problem, render};
use crate::support::source_text::SourceTexts;
use crate::support::terminal::{self, Style, WIDTH, wrap};

/// A file's findings with their source.
pub(super) fn full(checked: &FileReport, style: Style) -> Result<Vec<u8>> {
    if checked.report.findings.is_empty() {
        return Ok(Vec::new());
    }
    let texts = SourceTexts::new(&checked.sources);
    let mut output = Vec::new();
    for finding in &checked.report.findings {
        let mut rendered = render(&texts, &snippet(&texts, finding), style.is_colored)?;
        if style.has_links {
            let code = format!("[{}]", finding.rule);
            rendered = rendered.replacen(&code, &format!("[{}]", id(finding.rule, style)), 1);
        }
        output.extend(rendered.into_bytes());
    }
    Ok(output)
}

/// A file's findings, a line each, in the format of compilers, so that editors find the position. A finding
/// with a fix is marked.
pub(super) fn concise(checked: &FileReport, style: Style) -> String {
    let mut output = String::new();
    if checked.report.findings.is_empty() {
        return output;
    }
    let texts = SourceTexts::new(&checked.sources);
    for finding in &checked.report.findings {
        let place = finding.primary.place;
        let Some(file) = texts.get(place.file) else {
            continue;
        };
        let start = file.place(place.start);
        let (color, level) = match finding.level {
            Level::Error => ("1;31", "error"),
            Level::Warn => ("1;33", "warning"),
            Level::Info | Level::Off => ("1;32", "note"),
        };
        let fix = match finding.fix.as_ref().map(|fix| fix.safety) {
            None => String::new(),
            Some(Safety::Safe) => style.paint("1", " [fix]"),
            Some(Safety::Unsafe) => style.paint("1", " [unsafe fix]"),
        };
        let _ = writeln!(
            output,
            "{}:{}:{}: {}: {}{}",
            style.paint("1", &file.shown_name),
            start.line,
            start.column,
            style.paint(color, &format!("{level}[{}]", id(finding.rule, style))),
            finding.message,
            fix,
        );
    }
    output
}

/// A rule's id, as a link if the style has links.
fn id(rule: &str, style: Style) -> String {
    if style.has_links {
        terminal::link(&page_url(rule), rule)
    } else {
        rule.to_owned()
    }
}

fn snippet(texts: &SourceTexts, finding: &Diagnostic) -> Snippet<FileId> {
    let label = |label: &shaderlint_linter::Label<FileSpan>, is_primary: bool| {
        let range = texts.range(label.place);
        let new = if is_primary {
            Label::primary
        } else {
            Label::secondary
        };
        new(label.place.file, range).with_message(&label.text)
    };
    let labels = std::iter::once(label(&finding.primary, true))
        .chain(finding.secondary.iter().map(|secondary| label(secondary, false)));
    let fix = finding.fix.as_ref().map(|fix| match fix.safety {
        Safety::Safe => format!("fix: {} (--fix)", fix.title),
        Safety::Unsafe => format!("fix: {} (--fix --unsafe-fixes)", fix.title),
    });
    let last_line = std::iter::once(&finding.primary)
        .chain(&finding.secondary)
        .filter_map(|label| Some(texts.get(label.place.file)?.place(label.place.end).line))
        .max();
    // A note follows the line numbers and ` = `.
    let width = WIDTH - 4 - last_line.unwrap_or(1).to_string().len();
    Snippet::new(severity(finding.level))
        .with_code(finding.rule)
        .with_message(&finding.message)
        .with_labels(labels.collect())
        .with_notes(
            finding
                .evidence()
                .chain(fix.map(Cow::from))
                .map(|note| wrap(&note, width))
                .collect(),
        )
}

/// What could not be read or run in a file, as far as `detail` asks for it.
pub(crate) fn problems_of(checked: &FileReport, detail: Detail, style: Style) -> String {
    let is_asked = matches!(detail, Detail::Examples | Detail::Everything);
    let of_read = checked
        .problems
        .iter()
        .filter(|_| is_asked || checked.lacks_entry);
    let elsewhere = checked.elsewhere.iter().filter(|_| is_asked);
    let stops = checked.report.stops.iter().filter(|_| is_asked);
    let unread: Vec<&Problem> = of_read.chain(elsewhere).chain(stops).collect();
    if detail == Detail::Nothing || unread.is_empty() && checked.report.problems.is_empty() {
        return String::new();
    }
    let mut shown = match detail {
        Detail::Examples => by_cause(unread.into_iter()),
        _ => unread.into_iter().map(|problem| (problem, 0)).collect(),
    };
    shown.extend(checked.report.problems.iter().map(|problem| (problem, 0)));
    let texts = SourceTexts::new(&checked.sources);
    let rendered = shown.into_iter().filter_map(|(problem, more)| {
        let mut snippet = of_problem(&texts, &checked.path, problem);
        if more > 0 {
            snippet
                .notes
                .push(format!("{more} more like this in this file (-vv shows all)"));
        }
        render(&texts, &snippet, style.is_colored).ok()
    });
    rendered.collect()
}
