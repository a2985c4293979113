//! Macros that no file at hand defines, where a statement, a declaration or a member may begin.

use super::edits::Walk;
use super::items::MAX_MACROS;
use super::{Item, Lexer, words};

impl Lexer<'_> {
    /// The last token of a macro with its arguments, if it has any.
    fn end_of_macro(&self, index: usize) -> usize {
        let arguments = Some(index + 1).filter(|&open| self.is(open, b'('));
        arguments.and_then(|open| self.partner(open)).unwrap_or(index)
    }

    /// Whether nothing but macros stands between here and where `is_end` holds.
    fn leads_to(&self, index: usize, is_end: impl Fn(&Self, usize) -> bool) -> bool {
        let mut next = index;
        for _ in 0..MAX_MACROS {
            if is_end(self, next) {
                return true;
            }
            if !words::is_macro_like(self.word(next)) {
                return false;
            }
            next = self.end_of_macro(next) + 1;
        }
        false
    }

    /// A macro left where a statement starts.
    pub(super) fn edit_macro(&mut self, walk: &mut Walk, index: usize, item: &mut Item) -> Option<usize> {
        let next = self.word(index + 1);
        if words::is_attributed_keyword(next) || next == b"else" {
            self.blank_tokens(index, index + 1);
            walk.attribute_end = Some(index);
            walk.pending = Some(
                self.out
                    .attributes
                    .get(&self.start(index))
                    .copied()
                    .unwrap_or(self.start(index)),
            );
            return Some(index + 1);
        }
        let last = self.end_of_macro(index);
        if walk.frames.len() == 1 && last + 1 < walk.end && self.leads_to(last + 1, Self::begins_declaration)
        {
            // `MACRO uint name` and `[attribute] MACRO(x) void name()`, at the top level.
            item.after_macros.get_or_insert(item.span.start);
            self.tell_macro(index, last);
            self.blank_tokens(index, last + 1);
            walk.attribute_end = Some(last);
            return Some(last + 1);
        }
        if walk.frames.last().is_some_and(|frame| frame.has_members) {
            return self.edit_member_macro(walk, index, last);
        }
        let in_block = walk.frames.last().is_some_and(|frame| frame.is_block);
        let ends =
            matches!(next, b"return" | b"break" | b"continue" | b"discard") || self.is(index + 1, b'}');
        if in_block && ends {
            // Whatever it stood for, it is a statement of its own.
            self.insert_semicolon(index);
        }
        if self.is(index + 1, b'(')
            && let Some(close) = self.partner(index + 1)
            && close + 1 < walk.end
        {
            let after = self.word(close + 1);
            if words::is_attributed_keyword(after)
                && self
                    .token(index)
                    .is_some_and(|token| is_attribute_macro(token.bytes(self.text)))
            {
                self.blank_tokens(index, close + 1);
                walk.attribute_end = Some(close);
                walk.pending = Some(self.start(index));
                return Some(close + 1);
            }
            if in_block && (!after.is_empty() || self.is(close + 1, b'}')) {
                self.insert_semicolon(close);
            }
        }
        None
    }

    /// A macro among a struct's members, before another one or the last: perhaps a modifier, perhaps members of its own.
    /// It becomes a member of no name.
    fn edit_member_macro(&mut self, walk: &mut Walk, index: usize, last: usize) -> Option<usize> {
        let (start, end) = (self.start(index), self.end(last));
        let has_room = end - start > 3 || self.blank_at(end);
        let is_alone = last + 1 < walk.end
            && self.leads_to(last + 1, |lexer, next| {
                lexer.is(next, b'}') || lexer.begins_declaration(next)
            });
        if !has_room || !is_alone {
            return None;
        }
        self.tell_macro(index, last);
        self.blank_tokens(index, last + 1);
        for (offset, byte) in (start..).zip(*b"_ _;") {
            self.put(offset, byte);
        }
        self.out.hidden_members.insert(start);
        walk.attribute_end = Some(last);
        Some(last + 1)
    }
}

/// Macros that hide an attribute, by the words real code builds their names from.
fn is_attribute_macro(word: &[u8]) -> bool {
    [
        &b"UNROLL"[..],
        b"LOOP",
        b"BRANCH",
        b"FLATTEN",
        b"FASTOPT",
        b"ATTR",
    ]
    .iter()
    .any(|part| word.windows(part.len()).any(|window| window == *part))
}
