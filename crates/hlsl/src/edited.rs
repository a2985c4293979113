//! A unit with edits in its text, parsed again: completely, or the part that an entry point needs.
//!
//! # Why the part suffices
//!
//! The behaviour of an entry point depends on its own text and on what this text names: functions, variables and
//! types, and what these name in turn ([`Inventory`]). Every item that may declare a word of an included item is
//! included as well, such as overloads, methods and members defined outside of their struct. So is every item that
//! has an effect without being named, every item that an edit touches, and every item that words of the edits may
//! name. Namespaces and buffers are opened and closed as in the whole text. Nothing can name what is left out, so
//! that text can change neither the meaning of a name nor the behaviour of the kernel.
//!
//! The exception is a call of something that the text does not contain: it may run code that nothing visible calls.
//! Callers of [`Edited::part`] have to make sure that there is no such call, or parse the whole.

use std::sync::Arc;

use crate::lexical::{Inventory, lex, lex_parts};
use crate::lower::{lower, parse_wanted};
use crate::span::Span;
use crate::tree::{FunctionId, Shader};

/// The replacement of a range.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Splice {
    pub span: Span,
    pub text: String,
}

/// The expanded text of a unit with splices.
pub struct Edited<'a> {
    shader: &'a Shader,
    /// In order, without overlaps.
    splices: Vec<Splice>,
}

fn inventory(shader: &Shader) -> Arc<Option<Inventory>> {
    shader.once(|shader| Inventory::of(&lex(&shader.text), &shader.text))
}

impl Shader {
    /// The places, in the expanded text, of the top-level declarations that may give a word its meaning: functions,
    /// variables, types and what these declare. `None` if declarations cannot be separated.
    #[must_use]
    pub fn declaring(&self, word: &[u8]) -> Option<Vec<Span>> {
        let inventory = inventory(self);
        Some(inventory.as_ref().as_ref()?.declaring(word).collect())
    }

    /// The places, in the expanded text, of everything that gives these texts their meaning: the declarations that
    /// they may name, those that these name in turn, those that have an effect without being named, and the text that
    /// opens and closes namespaces and buffers. In order; `None` as in [`Shader::declaring`].
    #[must_use]
    pub fn needed_by(&self, texts: &[&[u8]]) -> Option<Vec<Span>> {
        let inventory = inventory(self);
        let inventory = inventory.as_ref().as_ref()?;
        let mut needed = inventory.needed(&self.text, &[], texts);
        needed.extend(inventory.between());
        needed.sort_unstable();
        Some(needed)
    }
}

/// Text under construction, with the parts of it that are to be parsed.
struct Parts {
    text: Vec<u8>,
    read: Vec<Span>,
}

impl Parts {
    fn end(&self) -> u32 {
        self.text.len() as u32
    }

    fn read(&mut self, text: &[u8]) {
        let start = self.end();
        self.text.extend_from_slice(text);
        let end = self.end();
        match self.read.last_mut().filter(|last| last.end == start) {
            Some(last) => last.end = end,
            None => self.read.push(Span { start, end }),
        }
    }

    /// Adds blank text of the same length. The texts on both sides must not run together.
    fn leave_out(&mut self, text: &[u8]) {
        let end = self.text.len() + text.len();
        if !text.iter().all(u8::is_ascii_whitespace) {
            self.read(b";");
        }
        self.text.resize(end, b' ');
    }
}

impl<'a> Edited<'a> {
    /// `None` if a splice is outside of the text, or if two overlap.
    #[must_use]
    pub fn new(shader: &'a Shader, mut splices: Vec<Splice>) -> Option<Self> {
        splices.sort();
        let mut done = 0;
        for Splice { span, .. } in &splices {
            if span.start < done || span.end < span.start {
                return None;
            }
            done = span.end;
        }
        (done as usize <= shader.text.len()).then_some(Edited { shader, splices })
    }

    /// The unchanged text between splices, each range with the new text after it.
    fn stretches(&self) -> impl Iterator<Item = (Span, &[u8])> {
        let starts = std::iter::once(0).chain(self.splices.iter().map(|splice| splice.span.end));
        let end = (self.shader.text.len() as u32, &[][..]);
        let ends = self
            .splices
            .iter()
            .map(|splice| (splice.span.start, splice.text.as_bytes()));
        let ends = ends.chain(std::iter::once(end));
        starts
            .zip(ends)
            .map(|(start, (end, new))| (Span { start, end }, new))
    }

    fn length(&self) -> usize {
        let added: usize = self.splices.iter().map(|splice| splice.text.len()).sum();
        self.shader.text.len() + added
    }

    /// Parses the whole text.
    #[must_use]
    pub fn whole(&self) -> Shader {
        let mut text = Vec::with_capacity(self.length());
        for (stays, new) in self.stretches() {
            text.extend_from_slice(stays.slice(&self.shader.text));
            text.extend_from_slice(new);
        }
        let (mut shader, _) = parse_wanted(text, None, self.shader.version);
        self.hand_on(&mut shader);
        shader
    }

    /// Copies the facts about the text that do not come from parsing: which text is missing, and where.
    fn hand_on(&self, to: &mut Shader) {
        let from = self.shader;
        let moved = |at: u32| {
            let before = self.splices.iter().take_while(|splice| splice.span.end <= at);
            before.fold(at, |at, splice| {
                (at + splice.text.len() as u32) - (splice.span.end - splice.span.start)
            })
        };
        to.gaps = from.gaps.iter().map(|gap| moved(*gap)).collect();
        let orders = from.matrix_orders.iter();
        to.matrix_orders = orders.map(|(at, order)| (moved(*at), *order)).collect();
        to.is_refused = from.is_refused;
        to.given.clone_from(&from.given);
    }

    /// Parses the part that an entry point needs. The rest of the text is blank, so everything stays at its place.
    /// `None` if the items cannot be separated.
    #[must_use]
    pub fn part(&self, entry: FunctionId) -> Option<Shader> {
        let text = &self.shader.text;
        let inventory = inventory(self.shader);
        let inventory = inventory.as_ref().as_ref()?;
        let entry = self.shader.functions.get(entry.0 as usize)?;
        let edited = self.splices.iter().map(|splice| splice.span);
        let roots: Vec<Span> = edited.chain([entry.span]).collect();
        let words: Vec<&[u8]> = self.splices.iter().map(|splice| splice.text.as_bytes()).collect();
        let needed = inventory.needed(text, &roots, &words);
        let items = needed.into_iter().map(|span| (span, true));
        let between = inventory.between().iter().map(|span| (*span, false));
        let mut kept: Vec<(Span, bool)> = items.chain(between).collect();
        kept.sort_unstable();

        let mut parts = Parts {
            text: Vec::with_capacity(self.length()),
            read: Vec::new(),
        };
        // The items that no edit touches, at their new places.
        let mut untouched: Vec<Span> = Vec::new();
        for (stays, new) in self.stretches() {
            let by = parts.end().wrapping_sub(stays.start);
            let mut done = stays.start;
            let first = kept.partition_point(|(span, _)| span.end <= stays.start);
            let here = kept.iter().skip(first);
            for (span, is_item) in here.take_while(|(span, _)| span.start < stays.end) {
                let (start, end) = (span.start.max(done), span.end.min(stays.end));
                parts.leave_out(
                    Span {
                        start: done,
                        end: start,
                    }
                    .slice(text),
                );
                parts.read(Span { start, end }.slice(text));
                done = end;
                if *is_item && stays.start < span.start && span.end < stays.end {
                    untouched.push(Span {
                        start: start.wrapping_add(by),
                        end: end.wrapping_add(by),
                    });
                }
            }
            parts.leave_out(
                Span {
                    start: done,
                    end: stays.end,
                }
                .slice(text),
            );
            parts.read(new);
        }
        let lexed = lex_parts(&parts.text, &parts.read);
        let is_there = |item: &Span| {
            let found = lexed
                .items
                .binary_search_by_key(&item.end, |other| other.span.end);
            found.is_ok_and(|at| lexed.items.get(at).is_some_and(|other| other.whole() == *item))
        };
        // Otherwise the left-out text held something together.
        if !untouched.iter().all(is_there) {
            return None;
        }
        let same = Shader {
            version: self.shader.version,
            ..Shader::default()
        };
        let (mut shader, _) = lower(&parts.text, &lexed, same);
        shader.text = parts.text;
        self.hand_on(&mut shader);
        Some(shader)
    }
}
