//! Positions in files, shown with their source lines.

use anyhow::Result;
use codespan_reporting::diagnostic::{Diagnostic as Snippet, Label};
use codespan_reporting::term::termcolor::Buffer;
use codespan_reporting::term::{self, Config, Styles, StylesWriter};
use shaderlint_hlsl::{Cause, FileId, Problem, Sources};

use crate::support::config_error::ConfigError;
use crate::support::source_text::SourceTexts;
use crate::support::{error_text, terminal};

/// The width at which shown lines are cut, in characters.
const MAX_LINE: usize = 400;

/// Prints on standard error why the program failed.
pub(crate) fn failure(error: &anyhow::Error) {
    match error.downcast_ref() {
        Some(error) => at_place(Snippet::error(), error),
        None => terminal::complain(&error_text::of_error(error)),
    }
}

/// Prints on standard error what is probably a mistake in a configuration.
pub(crate) fn doubt(doubt: &ConfigError) {
    at_place(Snippet::warning(), doubt);
}

fn at_place(snippet: Snippet<FileId>, ConfigError { file, place, message }: &ConfigError) {
    let sources = Sources {
        files: vec![file.clone()],
    };
    let label = Label::primary(FileId(0), place.clone());
    let snippet = snippet.with_message(message).with_label(label);
    if let Ok(rendered) = render(&SourceTexts::new(&sources), &snippet, false) {
        terminal::print_error(rendered.as_bytes());
    }
}

/// Prints a problem on standard error.
pub(crate) fn problem(sources: &Sources, problem: &Problem) {
    problems(sources, std::slice::from_ref(problem));
}

pub(crate) fn problems(sources: &Sources, problems: &[Problem]) {
    let path = sources.files.first().map_or("", |file| &file.path);
    let texts = SourceTexts::new(sources);
    for problem in problems {
        if let Ok(rendered) = render(&texts, &of_problem(&texts, path, problem), false) {
            terminal::print_error(rendered.as_bytes());
        }
    }
}

pub(crate) fn of_problem(texts: &SourceTexts, path: &str, problem: &Problem) -> Snippet<FileId> {
    match problem.place {
        Some(place) => Snippet::warning()
            .with_message(&problem.message)
            .with_label(Label::primary(place.file, texts.range(place)))
            .with_notes(hint(&problem.cause).into_iter().collect()),
        None => Snippet::warning().with_message(format!("{path}: {}", problem.message)),
    }
}

/// A hint for an unknown name: a name in capitals is probably a macro that the build defines.
fn hint(cause: &Cause) -> Option<String> {
    let Cause::Name(name) = cause else { return None };
    let is_capital = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    (name.len() > 1 && name.chars().all(is_capital))
        .then(|| format!("if the build defines it, pass `-D {name}=VALUE`"))
}

/// A snippet as text.
pub(crate) fn render(texts: &SourceTexts, snippet: &Snippet<FileId>, is_colored: bool) -> Result<String> {
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

/// Removes the spaces that borders leave at the end of a line, and cuts a long line: generated shaders have
/// lines of megabytes.
fn tidy(line: &str) -> String {
    let mut tidied = String::with_capacity(line.len().min(MAX_LINE * 4));
    let mut column = 0;
    let mut is_style = false;
    for character in line.trim_end().chars() {
        is_style |= character == '\x1b';
        // An escape sequence has no width. Sequences beyond the cut stay, since they end the style.
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
    fn long_lines_are_cut_and_styles_end() {
        assert_eq!(tidy("a  \n"), "a\n");
        let shown = tidy(&format!("\x1b[31m{}\x1b[0m\n", "x".repeat(MAX_LINE * 2)));
        assert_eq!(
            shown,
            format!("\x1b[31m{}\u{2026}\x1b[0m\n", "x".repeat(MAX_LINE))
        );
    }
}
