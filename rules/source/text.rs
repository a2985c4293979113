//! Text as the file has it, and text that goes into a file.

use std::fmt::Write;

use shaderlint_hlsl::{Shader, Span, blank_comments, comments};

use crate::source::unit::Unit;
use crate::source::words::words;

/// Text of a fix: as the file spells it, and with the names in it expanded, among them that of the group's size.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Spelled<T = String> {
    pub in_file: T,
    pub expanded: T,
}

impl<T: Clone> Spelled<T> {
    /// A text without names to expand.
    pub fn alike(text: T) -> Self {
        Spelled {
            in_file: text.clone(),
            expanded: text,
        }
    }
}

impl Spelled {
    /// Both texts with a change.
    pub fn map<T>(&self, change: impl Fn(&str) -> T) -> Spelled<T> {
        Spelled {
            in_file: change(&self.in_file),
            expanded: change(&self.expanded),
        }
    }
}

pub(crate) fn text_in_file(shader: &Shader, span: Span) -> Option<String> {
    let place = shader.origins.locate(span)?;
    let text = &shader.sources.files.get(place.file.0 as usize)?.text;
    let text = text.get(place.start as usize..place.end as usize)?;
    Some(String::from_utf8_lossy(text).into_owned())
}

/// Text as the file spells it, if all of it and nothing else is in the file. On one line: a comment would swallow the
/// rest.
pub(crate) fn on_one_line(shader: &Shader, span: Span) -> Option<String> {
    let (text, comments) = on_one_line_and_comments(shader, span)?;
    comments.is_empty().then_some(text)
}

/// The same text without its comments, and the comments.
pub(crate) fn on_one_line_and_comments(shader: &Shader, span: Span) -> Option<(String, Vec<String>)> {
    let place = shader.origins.editable(span)?;
    let text = &shader.sources.get(place.file)?.text;
    let text = std::str::from_utf8(text.get(place.start as usize..place.end as usize)?).ok()?;
    if text.contains('\\') {
        return None;
    }
    let comments = comments(text.as_bytes());
    let comments = comments.into_iter().filter_map(|comment| text.get(comment));
    let comments = comments.map(|comment| comment.trim_end().to_owned()).collect();
    let text = String::from_utf8(blank_comments(text.as_bytes())).ok()?;
    Some((text.split_whitespace().collect::<Vec<_>>().join(" "), comments))
}

/// An expression with the parentheses around it, also those of a macro, but without those of a call.
pub(crate) fn in_parentheses(shader: &Shader, expression: Span) -> Span {
    let names_call = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'>');
    let mut whole = expression;
    loop {
        let before = shader.text.get(..whole.start as usize).unwrap_or_default();
        let behind = shader.text.get(whole.end as usize..).unwrap_or_default();
        let before = before.trim_ascii_end().strip_suffix(b"(");
        let behind = behind.trim_ascii_start().strip_prefix(b")");
        let Some((before, behind)) = before.zip(behind) else {
            return whole;
        };
        if before.trim_ascii_end().last().is_some_and(names_call) {
            return whole;
        }
        whole = Span {
            start: before.len() as u32,
            end: (shader.text.len() - behind.len()) as u32,
        };
    }
}

pub(crate) fn has_comment(text: &str) -> bool {
    text.contains("//") || text.contains("/*")
}

/// `text` as an operand: in parentheses unless it is a number or a name for a single operand. A macro may stand for
/// more than one operand, and a `-D` is not in the file.
pub(crate) fn operand(shader: &Shader, text: &str) -> String {
    let is_word = |text: &[u8]| {
        text.iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    };
    let unit = Unit::of(shader);
    let is_one = is_figure(text)
        || is_word(text.as_bytes())
            && if unit.is_macro(text.as_bytes()) {
                let mut definitions = unit.definitions(text.as_bytes()).iter();
                definitions.all(|definition| is_word(&definition.body) || is_enclosed(&definition.body))
            } else {
                shader.globals.iter().any(|global| global.own_name() == text)
            };
    if is_one {
        text.to_owned()
    } else {
        format!("({text})")
    }
}

/// Whether a single pair of parentheses encloses a text.
fn is_enclosed(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    let mut depth = 0;
    let closes = text.iter().position(|byte| {
        depth += i32::from(*byte == b'(') - i32::from(*byte == b')');
        depth == 0
    });
    text.starts_with(b"(") && closes.is_some_and(|at| at + 1 == text.len())
}

pub(crate) fn is_figure(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A literal, without its suffix where the file uses none.
pub(crate) fn without_suffix(shader: &Shader, literal: &str) -> String {
    let is_unsigned = |word: &[u8]| {
        let figures = word.strip_suffix(b"u").or_else(|| word.strip_suffix(b"U"));
        figures.is_some_and(|figures| figures.first().is_some_and(u8::is_ascii_digit))
    };
    match literal.strip_suffix('u') {
        Some(plain) if !words(&shader.text).any(is_unsigned) => plain.to_owned(),
        _ => literal.to_owned(),
    }
}

/// The lines of the text, each indented by so many steps and ended.
pub(crate) fn indented(text: &str, steps: usize) -> String {
    text.lines().fold(String::new(), |mut indented, line| {
        let _ = writeln!(indented, "{:1$}{line}", "", 4 * steps);
        indented
    })
}
