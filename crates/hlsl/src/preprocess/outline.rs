//! The directives of a file under any configuration.

use std::ops::Deref;

use super::comments::without_comments;
use super::lex::{self, Class, Comment};
use super::text::SourceText;
use crate::span::FileId;
use crate::text::{Derived, Text};

/// A directive's line: positions in the joined text.
#[derive(Clone, Copy)]
pub(super) struct Line {
    pub hash: usize,
    /// The keyword is `hash..keyword_end`, with the `#`.
    pub keyword_end: usize,
    /// The newline that ends it. Block comments in it may contain others.
    pub end: usize,
    pub open_comment: Option<usize>,
}

/// The directive whose `#` is at `hash`, and its keyword.
pub(super) fn line(bytes: &[u8], hash: usize) -> (Line, &[u8]) {
    let begin = lex::space(bytes, hash + 1, false);
    let keyword_end = lex::word_end(bytes, begin.end);
    let keyword = bytes.get(begin.end..keyword_end).unwrap_or_default();
    let mut line = Line {
        hash,
        keyword_end,
        end: keyword_end,
        open_comment: begin.open_comment,
    };
    while let Some(&byte) = bytes.get(line.end) {
        line.end = match lex::class(byte) {
            Class::Newline => break,
            Class::Quote => lex::literal_end(bytes, line.end).0,
            Class::Slash => match lex::comment(bytes, line.end) {
                Some((Comment::Line, _)) => {
                    // The comment belongs to the line.
                    lex::newline(bytes, line.end)
                }
                Some((kind, end)) => {
                    if kind == Comment::Open {
                        line.open_comment = Some(line.end);
                    }
                    end
                }
                None => line.end + 1,
            },
            _ => line.end + 1,
        };
    }
    (line, keyword)
}

/// The start of the blanks before `at`.
pub(super) fn line_start(bytes: &[u8], at: usize) -> usize {
    let before = bytes.get(..at).unwrap_or_default();
    let blanks = before
        .iter()
        .rev()
        .take_while(|&&byte| lex::class(byte) == Class::Blank);
    at - blanks.count()
}

/// The next `#` with only blanks and comments before it on its line. `at` must be a line's start or end.
pub(super) fn next_hash(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at;
    let mut is_first = true;
    while let Some(&byte) = bytes.get(at) {
        at = match lex::class(byte) {
            Class::Newline => {
                is_first = true;
                at + 1
            }
            Class::Blank => at + 1,
            Class::Hash if is_first => return Some(at),
            Class::Slash => {
                let comment = lex::comment(bytes, at);
                is_first &= comment.is_some();
                comment.map_or(at + 1, |(_, end)| end)
            }
            Class::Quote => {
                is_first = false;
                lex::literal_end(bytes, at).0
            }
            _ => {
                is_first = false;
                let is_plain =
                    |byte: &u8| !matches!(lex::class(*byte), Class::Newline | Class::Slash | Class::Quote);
                let rest = bytes.get(at..).unwrap_or_default();
                at + rest.iter().take_while(|byte| is_plain(byte)).count()
            }
        };
    }
    None
}

/// A directive, at any place of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive {
    /// Bytes of the file, from the `#` to the end of the line, with continued lines and block comments.
    pub start: u32,
    pub end: u32,
    /// The word that follows the `#`.
    pub keyword: Vec<u8>,
    /// The text that follows the keyword, on one line and with a blank for each comment.
    pub argument: Vec<u8>,
}

/// The directives of a file, in order. As in the preprocessor, comments and continued lines may surround the `#` and
/// the keyword.
#[derive(Debug)]
pub struct Directives(Vec<Directive>);

impl Derived for Directives {
    fn of(text: &Text) -> Self {
        Directives(in_text(text))
    }
}

impl Deref for Directives {
    type Target = [Directive];

    fn deref(&self) -> &[Directive] {
        &self.0
    }
}

/// [`Directives`] for a part of a file.
#[must_use]
pub fn directives(text: &[u8]) -> Vec<Directive> {
    in_text(&text.into())
}

fn in_text(text: &Text) -> Vec<Directive> {
    // `%:` is `#`.
    if !text.iter().any(|byte| matches!(byte, b'#' | b'%')) {
        return Vec::new();
    }
    let source = SourceText::new(FileId(0), text.clone());
    let bytes = source.bytes();
    let mut at = source.start();
    let mut found = Vec::new();
    while let Some(hash) = next_hash(bytes, at) {
        let (line, keyword) = line(bytes, hash);
        let rest = bytes.get(line.keyword_end..line.end).unwrap_or_default();
        found.push(Directive {
            start: source.file_start(hash),
            end: source.file_end(line.end),
            keyword: keyword.to_vec(),
            argument: without_comments(rest),
        });
        at = line.end;
    }
    found
}

/// The macro that guards a file against being read twice: the file consists of `#ifndef NAME`, `#define NAME`, its
/// text and `#endif`, with only comments around them. `lines` are the directives of `text`.
///
/// A build that defines NAME compiles nothing of the file. If the file has text outside of the guard, NAME is a macro
/// like any other: a build may define `CUSTOM` with another value in spite of `#ifndef CUSTOM`, `#define CUSTOM`,
/// `#endif`.
#[must_use]
pub fn include_guard<'d>(text: &[u8], lines: &'d [Directive]) -> Option<&'d [u8]> {
    let [first, second, .., last] = lines else {
        return None;
    };
    let is_blank = |text: &[u8]| without_comments(text).trim_ascii().is_empty();
    let before = text.get(..first.start as usize)?;
    let before = before.strip_prefix(b"\xef\xbb\xbf").unwrap_or(before);
    let behind = text.get(last.end as usize..)?;
    let is_one = first.keyword == b"ifndef"
        && second.keyword == b"define"
        && first.argument.trim_ascii() == second.argument.trim_ascii()
        && last.keyword == b"endif"
        && is_blank(before)
        && is_blank(behind);
    let mut depth = 0_usize;
    let mut ends = lines.iter().filter(|line| {
        match &line.keyword[..] {
            b"if" | b"ifdef" | b"ifndef" => depth += 1,
            b"endif" => depth = depth.saturating_sub(1),
            keyword if keyword.starts_with(b"el") => return depth == 1,
            _ => {}
        }
        depth == 0
    });
    let ends_last = ends.next().is_some_and(|end| end.start == last.start);
    (is_one && ends_last).then(|| first.argument.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_directives(text: &str, expected: &[(&str, &str, &str)]) {
        let found = directives(text.as_bytes());
        let shown: Vec<(String, String, &str)> = found
            .iter()
            .map(|one| {
                let string = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let written = text
                    .get(one.start as usize..one.end as usize)
                    .unwrap_or("outside");
                (string(&one.keyword), string(&one.argument), written)
            })
            .collect();
        let shown: Vec<(&str, &str, &str)> = shown
            .iter()
            .map(|(keyword, argument, written)| (keyword.as_str(), argument.trim(), *written))
            .collect();
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn directives_are_found_as_the_preprocessor_finds_them() {
        check_directives("float a; # define B\n", &[]);
        check_directives(
            "/* a\n */ #/**/include /* b */ \"c.h\" // d\n#\\\n  define E \\\n  f\nx",
            &[
                ("include", "\"c.h\"", "#/**/include /* b */ \"c.h\" // d"),
                ("define", "E   f", "#\\\n  define E \\\n  f"),
            ],
        );
        check_directives(
            "\u{feff}#if 0\r# else\r\n#endif",
            &[
                ("if", "0", "#if 0"),
                ("else", "", "# else"),
                ("endif", "", "#endif"),
            ],
        );
        check_directives(
            "#error don't\n#if A\n",
            &[("error", "don't", "#error don't"), ("if", "A", "#if A")],
        );
        check_directives("/* #if A\n#endif */\n// #if B\n", &[]);
    }

    #[test]
    fn a_guard_holds_all_of_its_file() {
        for (text, is_guard) in [
            (
                "\u{feff}// a\n#ifndef A /* b */\n#define A\nint b;\n#if B\n#else\n#endif\n#endif // A\n/* c */",
                true,
            ),
            ("#ifndef A\n#define A\n#endif\nint b;", false),
            ("int b;\n#ifndef A\n#define A\n#endif", false),
            ("#ifndef A\n#define A 1\nint b;\n#endif", false),
            ("#ifndef A\n#define A\nint b;\n#else\nint c;\n#endif", false),
            ("#ifndef A\n#define A\nint b;\n#endif\n#ifdef C\n#endif", false),
            ("#ifndef A\n#define A\nint b;\n", false),
        ] {
            let lines = directives(text.as_bytes());
            let guard = include_guard(text.as_bytes(), &lines);
            assert_eq!(guard, is_guard.then_some(&b"A"[..]), "{text}");
        }
    }
}
