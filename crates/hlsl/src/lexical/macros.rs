//! Macros that no file at hand defines, where a statement, a declaration or a member may begin.

use super::edits::Walk;
use super::items::MAX_MACROS;
use super::{Item, Lexer, words};
use crate::span::Span;

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
        let last = self.end_of_macro(index);
        let after = self.word(last + 1);
        let is_before_keyword = words::is_attributed_keyword(after) || after == b"else";
        if is_before_keyword && last + 1 < walk.end && is_attribute_macro(self.word(index)) {
            if last > index {
                let arguments = Span {
                    start: self.end(index + 1),
                    end: self.start(last),
                };
                self.keep(arguments);
                self.out.limits.insert(self.start(last + 1), arguments);
            }
            self.blank_tokens(index, last + 1);
            walk.attribute_end = Some(last);
            let start = self.start(index);
            walk.pending = Some(self.out.attributes.get(&start).copied().unwrap_or(start));
            return Some(last + 1);
        }
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
        let is_statement = is_before_keyword
            || matches!(after, b"return" | b"break" | b"continue" | b"discard")
            || self.is(last + 1, b'}')
            || last > index && !after.is_empty();
        if in_block && is_statement && last + 1 < walk.end {
            // Whatever it stands for, it is a statement of its own.
            self.insert_semicolon(last);
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

/// Macros that hide an attribute, by the words real code ends their names with (`UNITY_BRANCH`, `SMAA_FLATTEN`,
/// `UNROLL_N(4)`). One that says that it does more may be anything.
fn is_attribute_macro(word: &[u8]) -> bool {
    const HINTS: [&[u8]; 7] = [
        b"UNROLL", b"LOOP", b"BRANCH", b"FLATTEN", b"FASTOPT", b"ATTR", b"HINT",
    ];
    const DEEDS: [&[u8]; 6] = [b"SYNC", b"BARRIER", b"FENCE", b"WAIT", b"GROUP", b"THREAD"];
    let has = |part: &[u8], word: &[u8]| part.windows(word.len()).any(|window| window == word);
    let mut parts = word.rsplit(|byte| *byte == b'_');
    // A number of passes, or the name for one.
    let last = parts.find(|part| part.len() > 1 && !part.iter().all(u8::is_ascii_digit));
    let is_hint = last.is_some_and(|last| HINTS.iter().any(|hint| has(last, hint)));
    (is_hint || word == b"ALLOW_UAV_CONDITION") && !DEEDS.iter().any(|deed| has(word, deed))
}
