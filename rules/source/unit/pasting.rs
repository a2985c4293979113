//! Names that `##` may put together.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;
use shaderlint_hlsl::{Definition, Directives, Text};

use super::{Occurrence, Unit, arguments, hash};
use crate::source::declaring::{alias, is_asked_for};
use crate::source::words::{last_word, words};

/// The words that `##` puts together.
pub(super) struct Pieces {
    /// Their hashes.
    words: FxHashSet<u64>,
    /// And numbers that the preprocessor counts.
    has_counted: bool,
}

impl Unit {
    /// Whether `##` may form this word from words of the files in some build, whatever it defines.
    pub fn may_be_pasted(&self, word: &[u8]) -> bool {
        self.has_pasting(word) && is_formed(word, &|piece| self.of_files.contains(&hash(piece)))
    }

    /// Whether `##` may form this word with the files' own definitions, in any arm of an `#if`.
    pub fn may_be_pasted_as_defined(&self, word: &[u8]) -> bool {
        self.may_be_pasted(word)
            && match self.pieces.get_or_init(|| self.pieces()) {
                None => true,
                Some(pieces) => pieces.may_form(word),
            }
    }

    /// Whether `##` may form this word in some build, or the name of a macro whose body begins with it.
    pub fn may_be_pasted_elsewhere(&self, word: &[u8]) -> bool {
        let is_alias = |found: Occurrence| {
            let alias = alias(found.before, found.behind);
            alias.is_some_and(|(alias, _)| self.may_be_pasted(alias))
        };
        self.may_be_pasted(word) || self.occurrences(word).any(is_alias)
    }

    /// Whether a macro has a `##` that may make this word.
    fn has_pasting(&self, word: &[u8]) -> bool {
        std::str::from_utf8(word).is_ok_and(|name| self.definitions.all().any(|(_, one)| one.may_paste(name)))
    }

    /// The words that `##` puts together; `None` if they may be any.
    ///
    /// They stand beside a `##`, or in arguments of its macro, of macros whose bodies call that one, and so on, or in
    /// what such words expand to. This is known only if every call shows its arguments: the macro's name with
    /// parentheses behind it. If a name stands elsewhere, say as an argument, or if `##` may form it, any word may be
    /// an argument. The same holds if a build may define one of the words: files define it only under an `#if`, or
    /// test it.
    fn pieces(&self) -> Option<Pieces> {
        let is_pasting = |one: &Definition| one.body.windows(2).any(|pair| pair == b"##");
        let pasting = { self.definitions.all() }.filter(|(_, one)| is_pasting(one));
        let mut macros: FxHashSet<&[u8]> = pasting.map(|(name, _)| name).collect();
        self.add_callers(&mut macros);
        let mut text = Vec::new();
        for name in &macros {
            let definitions = self.definitions.named(name);
            for definition in definitions {
                // The calls in the body of a macro of the files are among the occurrences.
                let parts = match definition.place {
                    Some(_) => beside_pasting(&definition.body),
                    None => vec![&definition.body[..]],
                };
                text.extend(parts.into_iter().flat_map(|part| [part, b"\n"].concat()));
            }
            let takes_any = definitions.iter().any(|one| !one.parameters.is_empty());
            for found in self.occurrences(name).filter(|found| !is_asked_for(found.before)) {
                match arguments(found.behind) {
                    // A parenthesis in a string is none.
                    Some(given) if !given.contains(&b'"') => text.extend([given, b"\n"].concat()),
                    None if !takes_any => {}
                    _ => return None,
                }
            }
        }
        let text = self.definitions.reach(&text).text;
        let asked_for = self.asked_for();
        let is_open = |word: &[u8]| {
            let definitions = self.definitions.named(word);
            let is_chosen = !definitions.is_empty() && definitions.iter().all(|one| self.is_chosen(one));
            !is_counted(word)
                && !macros.contains(word)
                && (is_chosen || definitions.is_empty() && asked_for.contains(word))
        };
        let pieces = Pieces {
            words: words(&text).map(hash).collect(),
            has_counted: words(&text).any(is_counted),
        };
        let may_be_called = |name: &&[u8]| pieces.may_form(name);
        (!words(&text).any(is_open) && !macros.iter().any(may_be_called)).then_some(pieces)
    }

    /// The words of the conditions in the files.
    fn asked_for(&self) -> BTreeSet<Vec<u8>> {
        let texts = self.living.iter().map(Text::derived::<Directives>);
        let mut found = BTreeSet::new();
        for lines in texts {
            let conditions = { lines.iter() }
                .filter(|line| line.keyword.starts_with(b"if") || line.keyword.starts_with(b"elif"));
            found.extend(
                conditions
                    .flat_map(|line| words(&line.argument))
                    .map(<[u8]>::to_vec),
            );
        }
        found
    }
}

impl Pieces {
    fn may_form(&self, word: &[u8]) -> bool {
        is_formed(word, &|piece| {
            self.words.contains(&hash(piece)) || self.has_counted && piece.iter().all(u8::is_ascii_digit)
        })
    }
}

/// Whether the preprocessor counts what the word stands for.
fn is_counted(word: &[u8]) -> bool {
    matches!(word, b"__COUNTER__" | b"__LINE__")
}

/// The words before and behind each `##` of a macro's body.
fn beside_pasting(body: &[u8]) -> Vec<&[u8]> {
    let pairs = body.windows(2).enumerate().filter(|(_, pair)| pair == b"##");
    let beside = pairs.flat_map(|(at, _)| {
        let (before, behind) = (body.get(..at), body.get(at + 2..));
        [
            before.map(|text| last_word(text.trim_ascii_end())),
            behind.and_then(|text| words(text).next()),
        ]
    });
    beside.flatten().collect()
}

/// Whether a word is a concatenation of pieces, of at least two.
fn is_formed(word: &[u8], is_piece: &dyn Fn(&[u8]) -> bool) -> bool {
    // The prefixes that pieces can form, by length.
    let mut ends = vec![0];
    for end in 1..=word.len() {
        let is_new = |start: &usize| end - start < word.len() && is_piece(&word[*start..end]);
        if ends.iter().any(is_new) {
            ends.push(end);
        }
    }
    ends.last() == Some(&word.len())
}
