//! Bytes to preprocessing tokens.
//!
//! All functions work on text with its continued lines joined ([`super::text`]), so tokens, comments and directives have no
//! backslash-newline. Bytes above 127 count as letters, so no macro is found inside a word of an unknown encoding.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Ident,
    /// A pp-number: `1`, `.5e-3f`, but also `0x1.y`.
    Number,
    String,
    Char,
    Punct,
    /// A stray byte, or a literal without its closing quote.
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Other,
    Blank,
    Newline,
    Letter,
    Digit,
    Dot,
    Slash,
    Quote,
    Hash,
}

const CLASSES: [Class; 256] = {
    let mut table = [Class::Other; 256];
    let mut byte = 0_u8;
    loop {
        table[byte as usize] = match byte {
            b' ' | b'\t' | 0x0b | 0x0c => Class::Blank,
            b'\n' | b'\r' => Class::Newline,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | 0x80..=0xff => Class::Letter,
            b'0'..=b'9' => Class::Digit,
            b'.' => Class::Dot,
            b'/' => Class::Slash,
            b'"' | b'\'' => Class::Quote,
            b'#' => Class::Hash,
            _ => Class::Other,
        };
        if byte == u8::MAX {
            break table;
        }
        byte += 1;
    }
};

#[inline]
pub(super) fn class(byte: u8) -> Class {
    CLASSES[byte as usize]
}

/// Whether a byte may stand in an identifier or a number.
#[inline]
pub(crate) fn is_word(byte: u8) -> bool {
    matches!(class(byte), Class::Letter | Class::Digit)
}

/// The identifiers and numbers of a text, including its comments.
pub(crate) fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| !is_word(*byte)).filter(|word| !word.is_empty())
}

#[inline]
pub(super) fn is_newline(byte: u8) -> bool {
    class(byte) == Class::Newline
}

/// The first position at or after `at` whose byte is not `wanted`.
#[inline]
fn skip_while(bytes: &[u8], at: usize, wanted: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter()
        .position(|&byte| !wanted(byte))
        .map_or(bytes.len(), |length| at + length)
}

#[inline]
pub(super) fn word_end(bytes: &[u8], at: usize) -> usize {
    skip_while(bytes, at, is_word)
}

#[inline]
pub(super) fn blanks_end(bytes: &[u8], at: usize) -> usize {
    skip_while(bytes, at, |byte| class(byte) == Class::Blank)
}

/// The newline (or the end of the text) that ends the line containing `at`.
#[inline]
pub(super) fn newline(bytes: &[u8], at: usize) -> usize {
    skip_while(bytes, at, |byte| !is_newline(byte))
}

/// Past the newline at `at`, if there is one; `\r\n` is one.
pub(super) fn past_newline(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at) {
        Some(b'\r') if bytes.get(at + 1) == Some(&b'\n') => at + 2,
        Some(b'\r' | b'\n') => at + 1,
        _ => at,
    }
}

/// End of the pp-number at `at`.
pub(super) fn number_end(bytes: &[u8], at: usize) -> usize {
    let mut at = at;
    loop {
        match bytes.get(at) {
            Some(b'e' | b'E' | b'p' | b'P') if matches!(bytes.get(at + 1), Some(b'+' | b'-')) => {
                at += 2;
            }
            Some(&byte) if is_word(byte) || byte == b'.' => at += 1,
            _ => return at,
        }
    }
}

/// End of the string or character literal whose quote is at `at`, and whether it is closed. A literal ends with
/// its line at the latest.
#[must_use]
pub fn literal_end(bytes: &[u8], at: usize) -> (usize, bool) {
    let quote = bytes.get(at).copied().unwrap_or_default();
    let mut at = at + 1;
    loop {
        match bytes.get(at) {
            None => return (bytes.len(), false),
            Some(&byte) if byte == quote => return (at + 1, true),
            Some(b'\\') if bytes.get(at + 1).is_some_and(|&byte| !is_newline(byte)) => at += 2,
            Some(&byte) if is_newline(byte) => return (at, false),
            Some(_) => at += 1,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Comment {
    Line,
    Block,
    /// A block comment that the file ends in.
    Open,
}

/// The comment that starts at `at`, and its end: the newline for a line comment, past the `*/` for a block.
#[inline]
pub(super) fn comment(bytes: &[u8], at: usize) -> Option<(Comment, usize)> {
    if bytes.get(at) != Some(&b'/') {
        return None;
    }
    match bytes.get(at + 1) {
        Some(b'/') => Some((Comment::Line, newline(bytes, at))),
        Some(b'*') => {
            let mut at = at + 2;
            loop {
                at = skip_while(bytes, at, |byte| byte != b'*') + 1;
                match bytes.get(at) {
                    Some(b'/') => return Some((Comment::Block, at + 1)),
                    Some(_) => {}
                    None => return Some((Comment::Open, bytes.len())),
                }
            }
        }
        _ => None,
    }
}

/// The space between two tokens.
#[derive(Clone, Copy)]
pub(super) struct Space {
    pub end: usize,
    /// There is some.
    pub white: bool,
    /// A line ended in it.
    pub newline: bool,
    /// Start of an unclosed comment.
    pub open_comment: Option<usize>,
}

/// The blanks and comments at `at`, and the newlines too if `lines`.
pub(super) fn space(bytes: &[u8], at: usize, lines: bool) -> Space {
    let mut space = Space {
        end: at,
        white: false,
        newline: false,
        open_comment: None,
    };
    while let Some(&byte) = bytes.get(space.end) {
        match class(byte) {
            Class::Blank => space.end += 1,
            Class::Newline if lines => {
                space.newline = true;
                space.end += 1;
            }
            Class::Slash => match comment(bytes, space.end) {
                Some((kind, end)) => {
                    if kind == Comment::Open {
                        space.open_comment = Some(space.end);
                    }
                    space.end = end;
                }
                None => break,
            },
            _ => break,
        }
    }
    space.white = space.end > at;
    space
}

/// The token at `at`, which must not be a blank, newline or comment: its kind and its end.
pub(super) fn token(bytes: &[u8], at: usize) -> (Kind, usize) {
    let Some(&byte) = bytes.get(at) else {
        return (Kind::Other, at);
    };
    match class(byte) {
        Class::Letter => (Kind::Ident, word_end(bytes, at)),
        Class::Digit => (Kind::Number, number_end(bytes, at)),
        Class::Dot if bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => {
            (Kind::Number, number_end(bytes, at))
        }
        Class::Quote => match literal_end(bytes, at) {
            (end, true) if byte == b'"' => (Kind::String, end),
            (end, true) => (Kind::Char, end),
            (end, false) => (Kind::Other, end),
        },
        _ => match punctuator(bytes.get(at..).unwrap_or_default()) {
            0 => (Kind::Other, at + 1),
            length => (Kind::Punct, at + length),
        },
    }
}

/// Length of the longest operator or punctuator that `bytes` starts with.
fn punctuator(bytes: &[u8]) -> usize {
    match bytes {
        [b'<', b'<', b'=', ..] | [b'>', b'>', b'=', ..] | [b'.', b'.', b'.', ..] => 3,
        [b'-', b'>', ..] | [b'#', b'#', ..] | [b':', b':', ..] => 2,
        [
            first @ (b'+' | b'-' | b'<' | b'>' | b'=' | b'&' | b'|'),
            second,
            ..,
        ] if first == second => 2,
        [
            b'<' | b'>' | b'!' | b'*' | b'/' | b'%' | b'+' | b'-' | b'&' | b'^' | b'|',
            b'=',
            ..,
        ] => 2,
        [
            b'[' | b']' | b'(' | b')' | b'{' | b'}' | b'.' | b'&' | b'*' | b'+' | b'-' | b'~' | b'!' | b'/'
            | b'%' | b'<' | b'>' | b'^' | b'|' | b'?' | b':' | b';' | b'=' | b',' | b'#',
            ..,
        ] => 1,
        _ => 0,
    }
}

/// Whether the end of `text` and text starting with `next` would be read as one token or as a comment if nothing
/// separated them. Errs on the side of yes: an extra space does no harm.
pub(super) fn pastes(text: &[u8], next: u8) -> bool {
    let Some(&last) = text.last() else {
        return false;
    };
    match class(last) {
        Class::Letter | Class::Digit => match next {
            b'.' => ends_in_number(text),
            b'+' | b'-' => matches!(last, b'e' | b'E' | b'p' | b'P') && ends_in_number(text),
            b'"' | b'\'' => true,
            _ => is_word(next),
        },
        Class::Quote => is_word(next),
        Class::Dot => next == b'.' || next.is_ascii_digit() || (is_word(next) && ends_in_number(text)),
        Class::Slash => matches!(next, b'/' | b'*' | b'='),
        Class::Hash => next == b'#',
        Class::Other => match last {
            b'+' | b'&' | b'|' | b'<' | b'>' | b'=' => next == last || next == b'=',
            b'-' => matches!(next, b'-' | b'=' | b'>'),
            b'!' | b'*' | b'%' | b'^' => next == b'=',
            b':' => next == b':',
            _ => false,
        },
        Class::Blank | Class::Newline => false,
    }
}

/// Whether the last word of `text` may be a pp-number: it begins with a digit, or with a dot and a digit.
fn ends_in_number(text: &[u8]) -> bool {
    /// Longer words are not looked at in full.
    const LONGEST: usize = 64;
    let mut after = 0_u8;
    for (length, &byte) in text.iter().rev().enumerate() {
        if !is_word(byte) && byte != b'.' {
            return after.is_ascii_digit();
        }
        if length == LONGEST || (byte == b'.' && after.is_ascii_digit()) {
            return true;
        }
        after = byte;
    }
    after.is_ascii_digit()
}
