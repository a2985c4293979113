//! Findings and problems for people.

use std::fmt::Write;

use anyhow::Result;
use codespan_reporting::diagnostic::{Diagnostic as Snippet, Label};
use codespan_reporting::term::termcolor::Buffer;
use codespan_reporting::term::{self, Config, Styles, StylesWriter};
use shaderlint_hlsl::{Cause, FileId, FileSpan, Problem, Sources};
use shaderlint_linter::{Diagnostic, Level, Safety};

use super::{page_url, severity};
use crate::config::Misconfigured;
use crate::looked::Looked;
#[cfg(feature = "gpu")]
use crate::one_file::Unit;
use crate::source_text::SourceTexts;
use crate::terminal::{self, Style};
use crate::wording;

/// Notes are wrapped here; lines of source are not.
pub(crate) const WIDTH: usize = 80;

/// Lines of source are cut here.
const MAX_LINE: usize = 400;

/// How much is said beside findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    Nothing,
    /// What kept entry points from being looked at.
    WhatMatters,
    /// Also what was not understood: of each cause one example in a file. Most are of no consequence.
    Examples,
    Everything,
}

/// A file's findings with their source.
pub(super) fn full(looked: &Looked, style: Style) -> Result<Vec<u8>> {
    if looked.report.findings.is_empty() {
        return Ok(Vec::new());
    }
    let texts = SourceTexts::new(&looked.sources);
    let mut output = Vec::new();
    for finding in &looked.report.findings {
        let mut rendered = render(&texts, &snippet(&texts, finding), style.is_colored)?;
        if style.has_links {
            let code = format!("[{}]", finding.rule);
            rendered = rendered.replacen(&code, &format!("[{}]", id(finding.rule, style)), 1);
        }
        output.extend(rendered.into_bytes());
    }
    Ok(output)
}

/// A file's findings, a line each: as compilers write it, so that editors find the place, and marked if there is a fix.
pub(super) fn concise(looked: &Looked, style: Style) -> String {
    let mut output = String::new();
    if looked.report.findings.is_empty() {
        return output;
    }
    let texts = SourceTexts::new(&looked.sources);
    let paint = |color: &str, text: &str| {
        if style.is_colored {
            format!("\x1b[{color}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    };
    for finding in &looked.report.findings {
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
            Some(Safety::Safe) => paint("1", " [fix]"),
            Some(Safety::Unsafe) => paint("1", " [unsafe fix]"),
        };
        let _ = writeln!(
            output,
            "{}:{}:{}: {}: {}{}",
            paint("1", &file.shown_name),
            start.line,
            start.column,
            paint(color, &format!("{level}[{}]", id(finding.rule, style))),
            finding.message,
            fix,
        );
    }
    output
}

/// A rule's id, to be clicked where that can be.
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
    // A note stands behind the line numbers and ` = `.
    let width = WIDTH - 4 - last_line.unwrap_or(1).to_string().len();
    Snippet::new(severity(finding.level))
        .with_code(finding.rule)
        .with_message(&finding.message)
        .with_labels(labels.collect())
        .with_notes(
            finding
                .evidence()
                .chain(fix.as_deref())
                .map(|note| wrap(note, width))
                .collect(),
        )
}

/// Breaks lines at spaces so that none is wider than `width` characters, if words allow. Lines that are indented are
/// code, and stay as they are.
pub(crate) fn wrap(text: &str, width: usize) -> String {
    let lines = text.split('\n').map(|line| match line.strip_prefix("    ") {
        Some(_) => line.to_owned(),
        None => wrap_line(line, width),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn wrap_line(text: &str, width: usize) -> String {
    let mut wrapped = String::with_capacity(text.len());
    let mut column = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            wrapped.push('\n');
            column = 0;
        } else if column > 0 {
            wrapped.push(' ');
            column += 1;
        }
        wrapped.push_str(word);
        column += length;
    }
    wrapped
}

/// What could not be read or run in a file, as far as it is to be said.
pub(crate) fn problems_of(looked: &Looked, detail: Detail, style: Style) -> String {
    let is_asked = matches!(detail, Detail::Examples | Detail::Everything);
    let of_read = looked.problems.iter().filter(|_| is_asked || looked.is_in_vain);
    let elsewhere = looked.elsewhere.iter().filter(|_| is_asked);
    let stops = looked.report.stops.iter().filter(|_| is_asked);
    let unread: Vec<&Problem> = of_read.chain(elsewhere).chain(stops).collect();
    if detail == Detail::Nothing || unread.is_empty() && looked.report.problems.is_empty() {
        return String::new();
    }
    // Each with how many more there are of its cause.
    let mut shown: Vec<(&Problem, usize)> = Vec::new();
    for problem in unread {
        let is_alike = |known: &&mut (&Problem, usize)| known.0.cause == problem.cause;
        match shown.iter_mut().find(is_alike) {
            Some((_, more)) if detail == Detail::Examples => *more += 1,
            _ => shown.push((problem, 0)),
        }
    }
    shown.extend(looked.report.problems.iter().map(|problem| (problem, 0)));
    let texts = SourceTexts::new(&looked.sources);
    let rendered = shown.into_iter().filter_map(|(problem, more)| {
        let mut snippet = problem_snippet(&texts, &looked.path, problem);
        if more > 0 {
            snippet
                .notes
                .push(format!("{more} more like this in this file (-vv shows all)"));
        }
        render(&texts, &snippet, style.is_colored).ok()
    });
    rendered.collect()
}

/// Says on standard error why the job could not be done.
pub(crate) fn failure(error: &anyhow::Error) {
    match error.downcast_ref() {
        Some(misconfigured) => at_place(Snippet::error(), misconfigured),
        None => terminal::complain(&wording::of_error(error)),
    }
}

/// Says on standard error what is most likely a mistake in a configuration.
pub(crate) fn doubt(doubt: &Misconfigured) {
    at_place(Snippet::warning(), doubt);
}

fn at_place(snippet: Snippet<FileId>, Misconfigured { file, place, message }: &Misconfigured) {
    let sources = Sources {
        files: vec![file.clone()],
    };
    let label = Label::primary(FileId(0), place.clone());
    let snippet = snippet.with_message(message).with_label(label);
    if let Ok(rendered) = render(&SourceTexts::new(&sources), &snippet, false) {
        terminal::print_error(rendered.as_bytes());
    }
}

/// Says on standard error what could not be read of a file.
#[cfg(feature = "gpu")]
pub(crate) fn problems(unit: &Unit) {
    say(&unit.shader.sources, &unit.problems);
    choices(unit);
}

/// Says on standard error which files were taken of several.
#[cfg(feature = "gpu")]
pub(crate) fn choices(unit: &Unit) {
    say(&unit.shader.sources, &unit.choices);
}

/// Says on standard error what is wrong at a place.
pub(crate) fn problem(sources: &Sources, problem: &Problem) {
    say(sources, std::slice::from_ref(problem));
}

fn say(sources: &Sources, problems: &[Problem]) {
    let path = sources.files.first().map_or("", |file| &file.path);
    let texts = SourceTexts::new(sources);
    for problem in problems {
        if let Ok(rendered) = render(&texts, &problem_snippet(&texts, path, problem), false) {
            terminal::print_error(rendered.as_bytes());
        }
    }
}

fn problem_snippet(texts: &SourceTexts, path: &str, problem: &Problem) -> Snippet<FileId> {
    match problem.place {
        Some(place) => Snippet::warning()
            .with_message(&problem.message)
            .with_label(Label::primary(place.file, texts.range(place)))
            .with_notes(hint(&problem.cause).into_iter().collect()),
        None => Snippet::warning().with_message(format!("{path}: {}", problem.message)),
    }
}

/// What may help with a name that is not known: one in capitals is likely a macro that the build defines.
fn hint(cause: &Cause) -> Option<String> {
    let Cause::Name(name) = cause else { return None };
    let is_capital = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    (name.len() > 1 && name.chars().all(is_capital))
        .then(|| format!("if the build defines it, so does `-D {name}=VALUE`"))
}

fn render(texts: &SourceTexts, snippet: &Snippet<FileId>, is_colored: bool) -> Result<String> {
    let mut buffer = if is_colored {
        Buffer::ansi()
    } else {
        Buffer::no_color()
    };
    let styles = Styles::default();
    let config = Config {
        start_context_lines: 2,
        ..Config::default()
    };
    term::emit_to_write_style(
        &mut StylesWriter::new(&mut buffer, &styles),
        &config,
        texts,
        snippet,
    )?;
    let rendered = String::from_utf8_lossy(&buffer.into_inner()).into_owned();
    Ok(rendered.split_inclusive('\n').map(tidy).collect())
}

/// A line without the spaces that borders leave at its end, and cut where it is longer than anyone reads: generated
/// shaders have lines of megabytes.
fn tidy(line: &str) -> String {
    let mut tidied = String::with_capacity(line.len().min(MAX_LINE * 4));
    let mut column = 0;
    let mut is_style = false;
    for character in line.trim_end().chars() {
        is_style |= character == '\x1b';
        // What sets a style has no width, and has to come through to be undone.
        if is_style || column < MAX_LINE {
            tidied.push(character);
        }
        if is_style {
            is_style = character != 'm';
        } else {
            column += 1;
            if column == MAX_LINE {
                tidied.push('\u{2026}');
            }
        }
    }
    if line.ends_with('\n') {
        tidied.push('\n');
    }
    tidied
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_wrapped_at_words() {
        assert_eq!(wrap("a bc def", 4), "a bc\ndef");
        assert_eq!(wrap("averylongword b", 4), "averylongword\nb");
        assert_eq!(wrap("", 4), "");
        assert_eq!(
            wrap("a bc def:\n    int a  = 1;\n    b", 4),
            "a bc\ndef:\n    int a  = 1;\n    b"
        );
    }

    #[test]
    fn long_lines_are_cut_and_styles_end() {
        assert_eq!(tidy("a  \n"), "a\n");
        let shown = tidy(&format!("\x1b[31m{}\x1b[0m\n", "x".repeat(MAX_LINE * 2)));
        assert_eq!(
            shown,
            format!("\x1b[31m{}\u{2026}\x1b[0m\n", "x".repeat(MAX_LINE))
        );
    }
}
