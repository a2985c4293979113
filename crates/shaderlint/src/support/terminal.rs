//! Output to the terminal, or to the file or pipe in its place.

use std::io::{self, ErrorKind, IsTerminal, Write};

use clap::ValueEnum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    Auto,
    Always,
    Never,
}

/// Whether output to `stream` is colored. `Auto` colors a terminal, unless `NO_COLOR` or `TERM` forbids it.
fn is_colored(choice: ColorChoice, stream: &impl IsTerminal) -> bool {
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
            let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
            // https://no-color.org: any value but the empty one counts.
            !is_set("NO_COLOR") && !is_dumb && stream.is_terminal()
        }
    }
}

/// The width at which notes wrap. Source lines do not wrap.
pub(crate) const WIDTH: usize = 80;

/// Breaks lines at spaces so that none is wider than `width` characters, if words allow. Indented lines are
/// code and stay unchanged.
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

/// The style of printed text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    pub is_colored: bool,
    /// Rules' ids are links (OSC 8).
    pub has_links: bool,
}

impl Style {
    pub const PLAIN: Style = Style {
        is_colored: false,
        has_links: false,
    };

    /// The style that standard output supports.
    pub fn of_stdout(choice: ColorChoice) -> Style {
        let is_colored = is_colored(choice, &io::stdout());
        Style {
            is_colored,
            has_links: is_colored && supports_hyperlinks::on(supports_hyperlinks::Stream::Stdout),
        }
    }

    /// The style of a file: colored only on request, and without links.
    pub fn of_file(choice: ColorChoice) -> Style {
        Style {
            is_colored: choice == ColorChoice::Always,
            has_links: false,
        }
    }

    /// Text in a color, given as codes of escape sequences, which stand around each line.
    pub fn paint(self, color: &str, text: &str) -> String {
        if !self.is_colored || color.is_empty() {
            return text.to_owned();
        }
        let lines = text.lines().map(|line| format!("\x1b[{color}m{line}\x1b[0m"));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The style that standard error supports.
    pub fn of_stderr(choice: ColorChoice) -> Style {
        Style {
            is_colored: is_colored(choice, &io::stderr()),
            has_links: false,
        }
    }
}

/// The text as a link to `url`.
pub(crate) fn link(url: &str, text: &str) -> String {
    format!("\x1b]8;;{url}\x1b\\{text}\x1b]8;;\x1b\\")
}

/// Writes to standard output. A reader that closed the pipe (`| head`) is not an error.
pub(crate) fn print(text: &[u8]) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Clears the screen, if standard output is a terminal.
pub(crate) fn clear() {
    if io::stdout().is_terminal() {
        let _ = print(b"\x1b[2J\x1b[3J\x1b[H");
    }
}

/// Writes to standard error. Ignores errors: there is nowhere to report them.
pub(crate) fn print_error(text: &[u8]) {
    let _ = io::stderr().lock().write_all(text);
}

/// Prints a warning on one line.
pub(crate) fn warn(message: &str) {
    print_error(format!("warning: {message}\n").as_bytes());
}

/// Prints an error on one line.
pub(crate) fn complain(message: &str) {
    print_error(format!("error: {message}\n").as_bytes());
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
}
