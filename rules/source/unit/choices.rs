//! Choices by `#if`.

use shaderlint_hlsl::{Directives, Shader, Span, Text, blank_comments, include_guard};

/// An `#if` with all its arms, in one file.
#[derive(Clone, Copy)]
pub(crate) struct Choice {
    pub file: usize,
    pub start: usize,
    pub end: usize,
    /// An include guard.
    pub is_guard: bool,
}

pub(super) fn choices(texts: &[Text]) -> Vec<Choice> {
    let mut choices = Vec::new();
    for (file, text) in texts.iter().enumerate() {
        let lines = text.derived::<Directives>();
        let has_guard = include_guard(text, &lines).is_some();
        let mut open = Vec::new();
        for line in lines.iter() {
            if line.keyword.starts_with(b"if") {
                open.push(line.start as usize);
            } else if line.keyword == b"endif"
                && let Some(start) = open.pop()
            {
                choices.push(Choice {
                    file,
                    start,
                    end: line.end as usize,
                    is_guard: has_guard && open.is_empty(),
                });
            }
        }
        choices.extend(open.into_iter().map(|start| Choice {
            file,
            start,
            end: text.len(),
            is_guard: false,
        }));
    }
    choices
}

/// Whether no build has an `if` or the like right before a statement that this build does not have there: behind an
/// `#endif` each arm ends with a statement or a block.
pub(crate) fn begins_in_all(shader: &Shader, statement: Span) -> bool {
    let place = shader.origins.locate(statement);
    let text = place.and_then(|place| shader.sources.get(place.file)?.text.get(..place.start as usize));
    let Some(text) = text else { return false };
    let text = blank_comments(text);
    let ends = ends_before(&text);
    let is_whole = |end: &&[u8]| {
        end.trim_ascii_end()
            .last()
            .is_none_or(|last| b";{}:".contains(last))
    };
    ends.len() == 1 || ends.iter().all(is_whole)
}

/// The texts that may come before a word at the end of this text: behind an `#endif` the end of each arm, and the
/// text before the `#if`.
pub(super) fn ends_before(text: &[u8]) -> Vec<&[u8]> {
    let mut ends = Vec::new();
    let (mut depth, mut is_looked_for) = (0_usize, true);
    let mut end = text.len();
    for (number, line) in text.rsplit(|byte| *byte == b'\n').enumerate() {
        let plain = line.trim_ascii();
        // A directive on the word's own line has not ended.
        if let Some(directive) = plain.strip_prefix(b"#").filter(|_| number > 0) {
            let keyword = directive.trim_ascii_start();
            if keyword.starts_with(b"endif") {
                depth += 1;
            } else if keyword.starts_with(b"if") {
                depth = depth.saturating_sub(1);
            }
            is_looked_for = true;
        } else if is_looked_for && !plain.is_empty() {
            ends.push(text.get(..end).unwrap_or(text));
            if depth == 0 {
                return ends;
            }
            is_looked_for = false;
        }
        end = end.saturating_sub(line.len() + 1);
    }
    ends.push(&[]);
    ends
}
