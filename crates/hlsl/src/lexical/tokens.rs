//! Splits text into tokens, and blanks the parts of the text that a grammar need not see.

use crate::preprocess::is_word;
use crate::span::Span;

/// The kind of a token. Each byte of punctuation is a token: `>>=` is three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Word,
    Number,
    /// A string or character literal.
    Text,
    Punct(u8),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub kind: TokenKind,
    pub start: u32,
    pub end: u32,
}

impl Token {
    pub fn is(self, punct: u8) -> bool {
        self.kind == TokenKind::Punct(punct)
    }

    pub fn word(self, text: &[u8]) -> &[u8] {
        if self.kind == TokenKind::Word {
            self.bytes(text)
        } else {
            &[]
        }
    }

    pub fn bytes(self, text: &[u8]) -> &[u8] {
        text.get(self.start as usize..self.end as usize)
            .unwrap_or_default()
    }
}

fn is_word_start(byte: u8) -> bool {
    is_word(byte) && !byte.is_ascii_digit()
}

/// Replaces a byte range by spaces, keeping its line breaks.
pub(crate) fn blank_range(blank: &mut [u8], start: usize, end: usize) {
    if let Some(range) = blank.get_mut(start..end) {
        for byte in range {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }
}

fn fill(blank: &mut [u8], start: usize, end: usize, with: u8) {
    if let Some(range) = blank.get_mut(start..end) {
        range.fill(with);
    }
}

/// The tokens of these parts of `text`, in order. In `blank`, a copy of `text`, comments, directives and bytes
/// unknown to the grammar become spaces, and literals become operands of any C++ grammar.
pub(crate) fn tokenize(text: &[u8], blank: &mut [u8], parts: &[Span]) -> Vec<Token> {
    let length: usize = parts.iter().map(|part| part.slice(text).len()).sum();
    let mut tokens = Vec::with_capacity(length / 4);
    for part in parts {
        let before = text.len().min(part.end as usize);
        tokenize_part(
            text.get(..before).unwrap_or_default(),
            part.start as usize,
            blank,
            &mut tokens,
        );
    }
    tokens
}

/// The tokens from `position` on.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the caller refuses texts of 4 GiB"
)]
fn tokenize_part(text: &[u8], mut position: usize, blank: &mut [u8], tokens: &mut Vec<Token>) {
    let at = |index: usize| text.get(index).copied().unwrap_or(0);
    let mut line_start = true;
    while position < text.len() {
        let start = position;
        let byte = at(position);
        let kind = match byte {
            b'\n' => {
                line_start = true;
                position += 1;
                continue;
            }
            b' ' | b'\t' | b'\r' => {
                position += 1;
                continue;
            }
            b'#' if line_start => {
                while position < text.len() && at(position) != b'\n' {
                    let continued = at(position) == b'\\'
                        && (at(position + 1) == b'\n'
                            || (at(position + 1) == b'\r' && at(position + 2) == b'\n'));
                    position += if continued {
                        2 + usize::from(at(position + 1) == b'\r')
                    } else {
                        1
                    };
                }
                position = position.min(text.len());
                blank_range(blank, start, position);
                continue;
            }
            b'/' if at(position + 1) == b'/' => {
                while position < text.len() && at(position) != b'\n' {
                    position += 1 + usize::from(at(position) == b'\\' && at(position + 1) == b'\n');
                }
                position = position.min(text.len());
                blank_range(blank, start, position);
                continue;
            }
            b'/' if at(position + 1) == b'*' => {
                position += 2;
                while position < text.len() && !(at(position) == b'*' && at(position + 1) == b'/') {
                    position += 1;
                }
                position = (position + 2).min(text.len());
                blank_range(blank, start, position);
                continue;
            }
            b'"' | b'\'' => {
                position += 1;
                while position < text.len() && at(position) != byte && at(position) != b'\n' {
                    position += 1 + usize::from(at(position) == b'\\' && at(position + 1) != b'\n');
                }
                position = (position + usize::from(at(position) == byte)).min(text.len());
                fill(blank, start, position, b'_');
                TokenKind::Text
            }
            b'0'..=b'9' => {
                position = number_end(text, position);
                TokenKind::Number
            }
            b'.' if at(position + 1).is_ascii_digit() => {
                position = number_end(text, position);
                TokenKind::Number
            }
            _ if is_word_start(byte) => {
                while is_word(at(position)) {
                    if at(position) >= 0x80 {
                        fill(blank, position, position + 1, b'_');
                    }
                    position += 1;
                }
                TokenKind::Word
            }
            _ if byte.is_ascii_graphic() && byte != b'\\' => {
                position += 1;
                TokenKind::Punct(byte)
            }
            _ => {
                blank_range(blank, start, start + 1);
                position += 1;
                continue;
            }
        };
        line_start = false;
        if kind == TokenKind::Number {
            // The grammar folds a sign into a number, and takes `1.xx` for a malformed one.
            let sign = start > 0 && matches!(at(start - 1), b'+' | b'-');
            let with = if sign || at(position) == b'.' { b'_' } else { b'1' };
            fill(blank, start, position, with);
        }
        tokens.push(Token {
            kind,
            start: start as u32,
            end: position as u32,
        });
    }
}

/// The end of the number at `start`, with its suffix and anything attached to it.
fn number_end(text: &[u8], start: usize) -> usize {
    let at = |index: usize| text.get(index).copied().unwrap_or(0);
    let mut position = start;
    if at(position) == b'0' && matches!(at(position + 1), b'x' | b'X') {
        position += 2;
    } else {
        let mut fraction = false;
        loop {
            match at(position) {
                b'0'..=b'9' => position += 1,
                // `1.xx` is a swizzle of `1`.
                b'.' if !fraction
                    && (position == start
                        || !matches!(
                            at(position + 1),
                            b'x' | b'y' | b'z' | b'w' | b'r' | b'g' | b'b' | b'a'
                        )) =>
                {
                    fraction = true;
                    position += 1;
                }
                b'e' | b'E'
                    if at(position + 1).is_ascii_digit()
                        || (matches!(at(position + 1), b'+' | b'-') && at(position + 2).is_ascii_digit()) =>
                {
                    fraction = true;
                    position += 2;
                }
                b'#' if fraction => position += 1,
                _ => break,
            }
        }
    }
    while is_word(at(position)) {
        position += 1;
    }
    position
}
