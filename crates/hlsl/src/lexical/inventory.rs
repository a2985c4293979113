//! The parts of a text that an entry point needs. An inventory is computed once per text, for all queries.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashSet, FxHasher};

use super::needed::{declared, functions, tokens};
use super::{ItemKind, Lexed, TokenKind};
use crate::preprocess::words;
use crate::span::Span;

/// The top-level items of a text, indexed by the words that may name them.
///
/// As in [`super::leave_out_unnamed`], an item is needed if a word of another needed item may be its name.
#[derive(Debug)]
pub(crate) struct Inventory {
    /// In order of the text.
    items: Vec<Span>,
    /// The text outside of all items: it opens and closes namespaces and buffers.
    between: Vec<Span>,
    /// Hashes of the words that items may declare, in order, with the items. If two words share a hash, more items
    /// than necessary are needed, which does no harm.
    names: Vec<(u64, u32)>,
    /// Items that have an effect without being named, or whose declared names are unknown.
    always: Vec<u32>,
}

fn hash(word: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    word.hash(&mut hasher);
    hasher.finish()
}

impl Inventory {
    /// `None` if brackets do not match: then items cannot be separated.
    pub fn of(lexed: &Lexed, text: &[u8]) -> Option<Inventory> {
        let is_bracket =
            |kind: TokenKind| matches!(kind, TokenKind::Punct(b'(' | b'[' | b'{' | b')' | b']' | b'}'));
        let mut brackets = lexed.tokens.iter().zip(&lexed.partner);
        if brackets.any(|(token, partner)| is_bracket(token.kind) && *partner == u32::MAX) {
            return None;
        }
        let functions: FxHashSet<&[u8]> = functions(lexed, text);
        let mut inventory = Inventory {
            items: Vec::with_capacity(lexed.items.len()),
            between: Vec::new(),
            names: Vec::new(),
            always: Vec::new(),
        };
        let mut done = 0;
        for item in &lexed.items {
            if item.span.start < done {
                return None;
            }
            inventory.add_between(
                lexed,
                Span {
                    start: done,
                    end: item.span.start,
                },
            );
            done = item.span.end;
            // Such an item is never read.
            if item.kind == ItemKind::Skipped {
                continue;
            }
            let number = u32::try_from(inventory.items.len()).ok()?;
            inventory.items.push(item.whole());
            match declared(lexed, text, item, &functions) {
                None => inventory.always.push(number),
                Some(names) => inventory
                    .names
                    .extend(names.into_iter().map(|name| (hash(name), number))),
            }
        }
        inventory.add_between(
            lexed,
            Span {
                start: done,
                end: u32::MAX,
            },
        );
        inventory.names.sort_unstable();
        inventory.names.dedup();
        Some(inventory)
    }

    fn add_between(&mut self, lexed: &Lexed, span: Span) {
        let tokens = tokens(lexed, span);
        if let (Some(first), Some(last)) = (tokens.first(), tokens.last()) {
            self.between.push(Span {
                start: first.start,
                end: last.end,
            });
        }
    }

    /// The items that one of `roots` overlaps or touches, the items that `words_of` names, and all items that these
    /// need, in order.
    pub fn needed(&self, text: &[u8], roots: &[Span], words_of: &[&[u8]]) -> Vec<Span> {
        let mut needed: FxHashSet<u32> = FxHashSet::default();
        let mut open = Vec::new();
        let mut need = |item: u32, open: &mut Vec<u32>| {
            if needed.insert(item) {
                open.push(item);
            }
        };
        for item in &self.always {
            need(*item, &mut open);
        }
        for root in roots {
            let first = self.items.partition_point(|item| item.end < root.start);
            let touched = self.items.iter().enumerate().skip(first);
            let touched = touched.take_while(|(_, item)| item.start <= root.end);
            for (item, _) in touched {
                need(item as u32, &mut open);
            }
        }
        let mut seen: FxHashSet<u64> = FxHashSet::default();
        let mut name = |text: &[u8], open: &mut Vec<u32>| {
            for word in words(text).map(hash).filter(|word| seen.insert(*word)) {
                for item in self.naming(word) {
                    need(item, open);
                }
            }
        };
        for words in words_of {
            name(words, &mut open);
        }
        while let Some(item) = open.pop() {
            if let Some(item) = self.items.get(item as usize) {
                name(item.slice(text), &mut open);
            }
        }
        let mut needed: Vec<u32> = needed.into_iter().collect();
        needed.sort_unstable();
        needed
            .into_iter()
            .filter_map(|item| self.items.get(item as usize).copied())
            .collect()
    }

    /// The items that may declare a word, and those whose declared names are unknown.
    pub fn declaring(&self, word: &[u8]) -> impl Iterator<Item = Span> {
        let named = self.naming(hash(word)).chain(self.always.iter().copied());
        named.filter_map(|item| self.items.get(item as usize).copied())
    }

    fn naming(&self, word: u64) -> impl Iterator<Item = u32> {
        let first = self.names.partition_point(|(name, _)| *name < word);
        let named = self.names.iter().skip(first);
        named
            .take_while(move |(name, _)| *name == word)
            .map(|(_, item)| *item)
    }

    pub fn between(&self) -> &[Span] {
        &self.between
    }
}
