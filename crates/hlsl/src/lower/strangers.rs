//! Words in declarations that neither the text nor the language declares.
//!
//! If the grammar has no place for a word in a declaration, the lexical pass removes the word, or the parse skips it.
//! But such a word is a macro: `uint NAME(f)(uint a)` declares a function that may be a better overload, and `uint
//! f(uint a) IMPL {` may give the body to another function. In bodies, the lowering looks up each name and reports
//! unknown ones.

use rustc_hash::FxHashSet;

use super::Lowering;
use crate::intrinsic::Intrinsic;
use crate::lexical::{Item, ItemKind, Token, bracket_of_buffer, is_language_word, is_sampler};
use crate::span::{Cause, Span};
use crate::type_names;

/// The maximum of tokens in the head of a template, or in a type.
const MAX_HEAD: usize = 64;

impl<'a> Lowering<'a> {
    /// Reports the words outside of bodies, and in attributes, that nothing declares.
    pub(super) fn tell_strangers(&mut self) {
        let misplaced: FxHashSet<usize> = self.lexed.misplaced.iter().copied().collect();
        // A colon precedes a semantic, or a later part of a qualified name; the check of the first part covers the
        // whole name.
        let is_behind_colon = |at: &usize| at.checked_sub(1).is_some_and(|before| self.is_at(before, b':'));
        let outside = self.lexed.items.iter().flat_map(|item| self.outside(item));
        let mut outside: Vec<usize> = outside
            .filter(|at| !is_behind_colon(at))
            .chain(self.lexed.in_attributes.iter().copied())
            .chain(misplaced.iter().copied())
            .collect();
        outside.sort_unstable();
        outside.dedup();
        let declared: FxHashSet<&'a [u8]> = (0..self.lexed.tokens.len())
            .filter(|&at| self.declares(at))
            .map(|at| self.word_at(at))
            .collect();
        let mut told: Vec<Span> = self.problems.iter().map(|problem| problem.span).collect();
        told.sort_unstable_by_key(|span| span.start);
        let names: FxHashSet<&str> = (self.problems.iter())
            .filter_map(|problem| match &problem.cause {
                Cause::Name(name) => Some(name.as_str()),
                _ => None,
            })
            .collect();
        let is_told = |word: &[u8], token: Token| {
            let before = told.partition_point(|span| span.start <= token.start);
            let mut around = told.get(..before).unwrap_or_default().iter().rev().take(MAX_HEAD);
            around.any(|span| token.end <= span.end)
                || std::str::from_utf8(word).is_ok_and(|word| names.contains(word))
        };
        let mut strangers = Vec::new();
        let mut end_of_arguments = 0;
        for at in outside {
            let word = self.word_at(at);
            let is_known = word.is_empty()
                || declared.contains(word) && !misplaced.contains(&at)
                || is_language_word(word)
                || type_names::is_type_name(word)
                || type_names::resource(word, None).is_some()
                || self.enumerators.contains_key(word)
                || Intrinsic::from_name(&String::from_utf8_lossy(word)).is_some()
                || self.lexed.member_templates.contains(word);
            let is_bracket = bracket_of_buffer(word).is_some();
            let (true, Some(token)) = (at >= end_of_arguments && !is_known, self.lexed.tokens.get(at)) else {
                continue;
            };
            if !is_bracket && !is_told(word, *token) {
                let (start, end) = (token.start, token.end);
                strangers.push((word, Span { start, end }));
            }
            // The expansion of a macro with arguments is unknown.
            if self.is_at(at + 1, b'(') {
                end_of_arguments = self.partner_of(at + 1).unwrap_or(at);
            }
        }
        for (word, span) in strangers {
            self.unknown_name(word, span);
        }
    }

    pub(super) fn word_at(&self, at: usize) -> &'a [u8] {
        let tokens: &'a [Token] = &self.lexed.tokens;
        tokens.get(at).map_or(&[], |token| token.word(self.text))
    }

    fn is_at(&self, at: usize, punct: u8) -> bool {
        self.lexed.tokens.get(at).is_some_and(|token| token.is(punct))
    }

    fn partner_of(&self, at: usize) -> Option<usize> {
        let partner = self.lexed.partner.get(at).copied()?;
        (partner != u32::MAX).then_some(partner as usize)
    }

    fn is_one_of(&self, at: usize, puncts: &[u8]) -> bool {
        puncts.iter().any(|punct| self.is_at(at, *punct))
    }

    /// Whether a word is in the place of a declared name: after a type, and before something that may follow a name.
    fn declares(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1).filter(|_| !self.word_at(at).is_empty()) else {
            return false;
        };
        match self.word_at(before) {
            b"struct" | b"class" | b"interface" | b"enum" | b"namespace" | b"typename" | b"using" => {
                return true;
            }
            b"return" | b"else" | b"case" | b"template" | b"static" | b"inline" | b"const" | b"do" => {
                return false;
            }
            [] if self.is_at(before, b'>') && !self.ends_template_head(before) => {}
            [] if self.is_at(at + 1, b'(') || !self.is_one_of(before, b"&*,]}{") => return false,
            _ => {}
        }
        if !self.is_at(at + 1, b'(') {
            return self.is_one_of(at + 1, b";,=[):{<>}");
        }
        // A function, not a macro before the name of one.
        let Some(close) = self.partner_of(at + 1) else {
            return false;
        };
        let is_named = self.is_one_of(close + 1, b"{:")
            || !self.word_at(close + 1).is_empty() && self.is_at(close + 2, b'{');
        is_named || self.is_at(close + 1, b';') && !self.is_typedef(before)
    }

    /// Whether a `>` ends the parameters of a template: then it does not end a type.
    fn ends_template_head(&self, close: usize) -> bool {
        let mut depth = 0_usize;
        for at in (0..=close).rev().take(MAX_HEAD) {
            if self.is_at(at, b'>') {
                depth += 1;
            } else if self.is_at(at, b'<') {
                depth -= 1;
                if depth == 0 {
                    return at
                        .checked_sub(1)
                        .is_some_and(|before| self.word_at(before) == b"template");
                }
            }
        }
        false
    }

    /// Where the template parameters end that begin with this `<`.
    pub(super) fn end_of_template(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        for at in (open..).take(MAX_HEAD) {
            if self.is_at(at, b'<') {
                depth += 1;
            } else if self.is_at(at, b'>') {
                depth = depth.saturating_sub(1);
            }
            if depth == 0 {
                return at;
            }
        }
        open
    }

    /// Whether the current declaration is a `typedef`: in HLSL it cannot declare a function.
    fn is_typedef(&self, at: usize) -> bool {
        let words = (0..=at)
            .rev()
            .take(MAX_HEAD)
            .take_while(|&at| !self.is_one_of(at, b";{}"));
        words.map(|at| self.word_at(at)).any(|word| word == b"typedef")
    }

    /// The tokens of an item outside of bodies, initialisers, attributes and bindings.
    fn outside(&self, item: &Item) -> Vec<usize> {
        let tokens = &self.lexed.tokens;
        let first = tokens.partition_point(|token| token.start < item.span.start);
        let end = tokens.partition_point(|token| token.start < item.span.end);
        let end = match item.kind {
            ItemKind::Function { body } => tokens.partition_point(|token| token.end < body.0),
            _ => end,
        };
        let mut outside = Vec::new();
        // Default arguments of a template do not count as values, and are searched.
        let mut end_of_template = first;
        let mut at = first;
        while at < end {
            if self.word_at(at) == b"template" {
                end_of_template = self.end_of_template(at + 1);
            }
            let before = at.wrapping_sub(1);
            let is_body = self.is_at(at, b'{')
                && (self.is_at(before, b')')
                    || self.word_at(before) == b"const"
                    || is_sampler(self.word_at(before.wrapping_sub(1))))
                || self.is_at(at, b'[')
                || self.is_at(at, b'(') && matches!(self.word_at(before), b"register" | b"packoffset");
            if is_body && let Some(close) = self.partner_of(at) {
                at = close + 1;
            } else if self.is_at(at, b'=') && at >= end_of_template {
                at = self.end_of_value(at + 1, end);
            } else {
                outside.push(at);
                at += 1;
            }
        }
        outside
    }

    /// The end of a value that begins here.
    fn end_of_value(&self, first: usize, end: usize) -> usize {
        let mut at = first;
        while at < end {
            let is_end = [b';', b',', b')', b'}', b'>']
                .into_iter()
                .any(|punct| self.is_at(at, punct));
            if is_end {
                return at;
            }
            let opens = [b'(', b'[', b'{'].into_iter().any(|punct| self.is_at(at, punct));
            at = self
                .partner_of(at)
                .filter(|close| opens && *close > at)
                .unwrap_or(at)
                + 1;
        }
        end
    }
}
