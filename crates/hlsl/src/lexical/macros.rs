//! Macros that no file at hand defines, at places where a statement, a declaration or a member may begin.

use super::edits::Walk;
use super::items::MAX_MACROS;
use super::{Item, Lexer, words};
use crate::span::Span;

impl Lexer<'_> {
    /// The last token of a macro with its arguments, if it has any.
    pub(super) fn end_of_macro(&self, index: usize) -> usize {
        let arguments = Some(index + 1).filter(|&open| self.is(open, b'('));
        arguments.and_then(|open| self.partner(open)).unwrap_or(index)
    }

    /// Whether only macros stand between this token and one where `is_end` holds.
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

    /// The number of a loop's iterations as given by a macro that hides an attribute: its arguments, or the digits at
    /// the end of its name.
    fn passes_of_macro(&self, index: usize, last: usize) -> Option<Span> {
        if last > index {
            return Some(Span {
                start: self.end(index + 1),
                end: self.start(last),
            });
        }
        let name = self.word(index);
        let figures = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let end = self.end(index);
        (figures > 0).then(|| Span {
            start: end - figures as u32,
            end,
        })
    }

    /// Edits an unexpanded macro at the start of a statement.
    pub(super) fn edit_macro(&mut self, walk: &mut Walk, index: usize, item: &mut Item) -> Option<usize> {
        let last = self.end_of_macro(index);
        let after = self.word(last + 1);
        if last + 1 < walk.end && is_attribute_macro(self.word(index), last > index, after) {
            if let Some(passes) = self.passes_of_macro(index, last) {
                self.keep(passes);
                self.out.limits.insert(self.start(last + 1), passes);
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
        let is_statement = words::is_attributed_keyword(after)
            || after == b"else"
            || matches!(after, b"return" | b"break" | b"continue" | b"discard")
            || self.is(last + 1, b'}')
            || last > index && !after.is_empty();
        if in_block && is_statement && last + 1 < walk.end {
            // Whatever it expands to, it is a statement of its own.
            self.insert_semicolon(last);
        }
        None
    }

    /// Edits a macro among a struct's members, before another macro or the last member: it may be a modifier, or
    /// declare members. It becomes a member without a name.
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

/// Whether a macro hides an attribute of the statement that `keyword` begins. Real code ends the names of such macros
/// with certain words (`UNITY_BRANCH`, `SMAA_FLATTEN`, `UNROLL_N(4)`). A macro whose name promises more may be
/// anything.
pub(super) fn is_attribute_macro(word: &[u8], has_arguments: bool, keyword: &[u8]) -> bool {
    const OF_LOOPS: [&[u8]; 5] = [b"UNROLL", b"LOOP", b"FASTOPT", b"ATTR", b"HINT"];
    const OF_BRANCHES: [&[u8]; 3] = [b"BRANCH", b"FLATTEN", b"ATTR"];
    // Macros with these words stand for whole statements, or begin one.
    const DEEDS: [&[u8]; 13] = [
        b"SYNC", b"BARRIER", b"FENCE", b"WAIT", b"GROUP", b"THREAD", b"BEGIN", b"END", b"START", b"SKIP",
        b"REPEAT", b"EACH", b"WHILE",
    ];
    let hints: &[&[u8]] = match keyword {
        b"for" | b"while" | b"do" => &OF_LOOPS,
        b"if" | b"switch" if !has_arguments => &OF_BRANCHES,
        _ => return false,
    };
    let has = |part: &[u8], word: &[u8]| part.windows(word.len()).any(|window| window == word);
    let mut parts = word.rsplit(|byte| *byte == b'_');
    if DEEDS.iter().any(|deed| has(word, deed)) || parts.clone().any(|part| matches!(part, b"IF" | b"FOR")) {
        return false;
    }
    // A number of iterations, or the name of one.
    let last = parts.find(|part| part.len() > 1 && !part.iter().all(u8::is_ascii_digit));
    word == b"ALLOW_UAV_CONDITION" || last.is_some_and(|last| hints.iter().any(|hint| has(last, hint)))
}
