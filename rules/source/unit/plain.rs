//! Text without comments and line continuations.

use std::ops::Deref;

use memchr::memmem;
use shaderlint_hlsl::{Derived, Text, blank_comments};

/// A text without comments, with continued lines joined. It keeps its length unless a token continues on another
/// line.
pub(super) struct Plain(Vec<u8>);

impl Derived for Plain {
    fn of(text: &Text) -> Self {
        Plain(plain(text))
    }
}

impl Deref for Plain {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

fn plain(text: &[u8]) -> Vec<u8> {
    let text = blank_comments(text);
    if memmem::find(&text, b"\\").is_none() {
        return text;
    }
    let mut joined = Vec::with_capacity(text.len());
    let mut rest = text.as_slice();
    while let Some((first, after)) = rest.split_first() {
        let end = (*first == b'\\').then(|| after.strip_prefix(b"\r").unwrap_or(after).strip_prefix(b"\n"));
        if let Some(next) = end.flatten() {
            let around = [joined.last(), next.first()];
            let is_in_token = around
                .iter()
                .all(|byte| byte.is_some_and(|byte| !byte.is_ascii_whitespace()));
            if !is_in_token {
                joined.resize(joined.len() + rest.len() - next.len(), b' ');
            }
            rest = next;
        } else {
            joined.push(*first);
            rest = after;
        }
    }
    joined
}
