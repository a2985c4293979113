//! The comments of a file, and texts without them.

use std::ops::Range;

use super::lex::{self, Class, Comment};
use super::text;

/// The ranges of the comments, without the newline at the end of a line comment. No comment begins in a literal. The
/// text may be the raw text of a file: a backslash at the end of a line continues a line comment.
pub fn comments(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut is_utf8 = None;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at = match lex::class(byte) {
            Class::Quote => lex::literal_end(bytes, at).0,
            Class::Slash => match lex::comment(bytes, at) {
                Some((kind, end)) => {
                    let end = match kind {
                        Comment::Line => last_line_end(bytes, at, &mut is_utf8),
                        Comment::Block | Comment::Open => end,
                    };
                    found.push(at..end);
                    end
                }
                None => at + 1,
            },
            _ => at + 1,
        };
    }
    found
}

/// The end of the line of `start`, or of the last line that continues it.
fn last_line_end(bytes: &[u8], mut start: usize, is_utf8: &mut Option<bool>) -> usize {
    loop {
        let end = lex::newline(bytes, start);
        let line = bytes.get(start..end).unwrap_or_default();
        let next_line = line
            .trim_ascii_end()
            .strip_suffix(b"\\")
            .and_then(|line| text::next_line(bytes, start + line.len(), is_utf8));
        match next_line {
            Some(next_line) => start = next_line,
            None => return end,
        }
    }
}

/// The text with comments blanked, in its full length. Line breaks at the ends of comments stay.
#[must_use]
pub fn blank_comments(bytes: &[u8]) -> Vec<u8> {
    let mut kept = bytes.to_vec();
    for comment in comments(bytes) {
        if let Some(comment) = kept.get_mut(comment) {
            comment.fill(b' ');
        }
    }
    kept
}

/// The text with one blank in place of each comment.
pub(super) fn without_comments(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    for comment in comments(bytes) {
        plain.extend_from_slice(bytes.get(at..comment.start).unwrap_or_default());
        plain.push(b' ');
        at = comment.end;
    }
    plain.extend_from_slice(bytes.get(at..).unwrap_or_default());
    plain
}
