//! A unit with edits made in its text, read anew: all of it, or what an entry point needs.
//!
//! # Why the part is enough
//!
//! An entry point does what its own text says and what is named there: functions, variables, types, and what these name
//! in turn ([`Inventory`]). Every item that may declare a word of an item that is read is read too, overloads, methods and
//! members that are defined outside of their struct among them; so is every item that does something by being there,
//! each that an edit touches, and all that the words of the edits may name. Namespaces and buffers are opened and closed
//! as ever. What is left out nothing can name, so it can change neither what a name means nor what the kernel does.
//!
//! The exception is what a call of something that is not in the text may reach: it may run what nobody is seen to
//! call. Who asks for a part has to see to it that there is no such call, or to read the whole.

use std::sync::Arc;

use crate::lexical::{Inventory, lex, lex_parts};
use crate::lower::{lower, parse_wanted};
use crate::span::Span;
use crate::tree::{FunctionId, Shader};

/// The text that takes a range's place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Splice {
    pub span: Span,
    pub text: String,
}

/// The expanded text of a unit with splices made in it.
pub struct Edited<'a> {
    shader: &'a Shader,
    /// In order, none in another.
    splices: Vec<Splice>,
}

fn inventory(shader: &Shader) -> Arc<Option<Inventory>> {
    shader.once(|shader| Inventory::of(&lex(&shader.text), &shader.text))
}

impl Shader {
    /// Where in the expanded text the declarations at top level stand that may give a word its meaning: functions,
    /// variables, types and what these declare. `None` where no declaration can be told from the next.
    #[must_use]
    pub fn declaring(&self, word: &[u8]) -> Option<Vec<Span>> {
        let inventory = inventory(self);
        Some(inventory.as_ref().as_ref()?.declaring(word).collect())
    }

    /// Where in the expanded text all stands that gives these texts their meaning: the declarations that they may name, those
    /// that these name in turn, those that do something by being there, and what opens and closes namespaces and buffers.
    /// In order; `None` as in [`Shader::declaring`].
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

/// Text that grows, with the parts of it that are to be read.
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

    /// As much blank text. What stood on both sides of it must not run together.
    fn leave_out(&mut self, text: &[u8]) {
        let end = self.text.len() + text.len();
        if !text.iter().all(u8::is_ascii_whitespace) {
            self.read(b";");
        }
        self.text.resize(end, b' ');
    }
}

impl<'a> Edited<'a> {
    /// `None` where a splice lies outside of the text, or two overlap.
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

    /// What stays of the text between splices, each with the new text behind it.
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

    /// All of it, read.
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

    /// Hands on what is known of the text besides what is read of it: what is missing, and where.
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

    /// What an entry point needs, read: the rest of the text is blank, so that all is where it is in the whole. `None`
    /// where no part can be told from the rest.
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
        // Items that no edit touches, where they are now.
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
        // Else something was held together by what is left out.
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
