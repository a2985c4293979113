//! The scan over the text of a unit's files.

use std::rc::Rc;

use rustc_hash::FxHashSet;

use super::lex::{self, Class, Comment};
use super::macros::{self, Macro};
use super::unit::Unit;
use super::{Inactive, Preprocessed};
use crate::span::Problem;
use crate::text::Text;

impl Unit<'_> {
    pub fn run(
        mut self,
        path: &str,
        text: &Text,
        defines: &[(String, String)],
    ) -> (Preprocessed, Vec<Problem>) {
        self.predefine(defines);
        let file = self.add_file(path, text);
        if let Some(frame) = self.open(file, None) {
            self.frame = frame;
            while self.scan() {
                if let Some(frame) = self.included.take() {
                    self.parents.push(std::mem::replace(&mut self.frame, frame));
                } else if !self.close_file() {
                    break;
                }
            }
        }
        let mut seen = FxHashSet::default();
        let mut inactive = Vec::new();
        for (region, group) in self.inactive {
            let is_active = self.active.contains(&(region.region.file, region.region.start));
            if !is_active && seen.insert(region.region) {
                let taken = self.groups.get(group).copied().flatten();
                inactive.push(Inactive { taken, ..region });
            }
        }
        let (text, origins) = self.out.finish();
        let preprocessed = Preprocessed {
            text,
            origins,
            sources: self.sources,
            inactive,
            gaps: self.gaps,
            defined: self.defined,
            matrix_orders: self.matrix_orders,
            kernels: self.kernels,
            is_refused: self.is_refused,
            given: defines.to_vec(),
            version: None,
        };
        (preprocessed, self.problems)
    }

    fn predefine(&mut self, defines: &[(String, String)]) {
        let builtins = [
            ("__LINE__", Macro::Line),
            ("__FILE__", Macro::File),
            ("__INCLUDE_LEVEL__", Macro::Level),
            ("_Pragma", Macro::Pragma),
        ];
        for (name, builtin) in builtins {
            let name = self.names.intern(name.as_bytes());
            self.names.define(name, Some(builtin));
        }
        for (name, value) in defines {
            let line = format!("{name} {value}").into_bytes();
            let tokens = self.tokens(&line, None);
            match macros::definition(&tokens, &mut Vec::new()) {
                Ok((name, definition)) => self.names.define(name, Some(definition)),
                Err((message, _)) => {
                    self.problem(format!("in the definition `{name}={value}`: {message}"), None);
                }
            }
        }
    }

    /// Ends the file being read and returns to the one that includes it, if there is one.
    fn close_file(&mut self) -> bool {
        for condition in std::mem::take(&mut self.frame.conditions) {
            self.problem("`#if` without `#endif`".to_owned(), Some(condition.place));
        }
        let Some(parent) = self.parents.pop() else {
            return false;
        };
        if self.out.text.last().is_some_and(|&last| !lex::is_newline(last)) {
            let end = self.frame.source.file_start(self.frame.at);
            self.out.gap(self.frame.inclusion, end, b'\n');
        }
        self.frame = parent;
        self.out.broken = true;
        true
    }

    /// Continues in the file, to its end or to the line after an `#include`. `false` if the unit has to stop.
    fn scan(&mut self) -> bool {
        let source = Rc::clone(&self.frame.source);
        let bytes = source.bytes();
        let mut at = self.frame.at;
        // Start of the text that is read but not yet written.
        let mut from = at;
        // Start of the line, as long as it has only blanks.
        let mut line = Some(at);
        while let Some(&byte) = bytes.get(at) {
            match lex::class(byte) {
                Class::Blank => at = lex::blanks_end(bytes, at + 1),
                Class::Newline => {
                    at += 1;
                    line = Some(at);
                }
                Class::Letter => {
                    line = None;
                    let end = lex::word_end(bytes, at + 1);
                    let word = bytes.get(at..end).unwrap_or_default();
                    if let Some((symbol, definition)) = self.names.macro_named(word) {
                        let definition = Rc::clone(definition);
                        self.write(&source, from, at);
                        from = at;
                        if self.call(symbol, &definition, at, end) {
                            from = self.frame.at;
                            self.separate(bytes.get(from).copied());
                        }
                        at = self.frame.at;
                    } else {
                        at = end;
                    }
                }
                Class::Digit => {
                    line = None;
                    at = lex::number_end(bytes, at);
                }
                Class::Dot => {
                    line = None;
                    at = lex::token(bytes, at).1;
                }
                Class::Quote => {
                    line = None;
                    at = lex::literal_end(bytes, at).0;
                }
                Class::Slash => {
                    let Some((kind, end)) = lex::comment(bytes, at) else {
                        line = None;
                        at += 1;
                        continue;
                    };
                    self.write(&source, from, at);
                    if kind == Comment::Open {
                        self.open_comment(at);
                    }
                    if kind == Comment::Block && !self.ends_blank() {
                        self.out.gap(self.frame.inclusion, source.file_start(at), b' ');
                    }
                    (from, at) = (end, end);
                }
                Class::Hash => {
                    let Some(start) = line else {
                        at += 1;
                        continue;
                    };
                    // The blanks before it belong to it, unless a comment cuts them off.
                    self.write(&source, from, start.max(from));
                    self.frame.at = at;
                    self.directive(false);
                    at = self.frame.at;
                    if self.out.text.last().is_none_or(|&last| lex::is_newline(last)) {
                        at = lex::past_newline(bytes, at);
                    }
                    from = at;
                    line = Some(at);
                    self.frame.at = at;
                    if self.included.is_some() {
                        return !self.stopped;
                    }
                }
                Class::Other => {
                    line = None;
                    at += 1;
                }
            }
            if self.stopped {
                return false;
            }
        }
        self.write(&source, from, at);
        self.frame.at = at;
        !self.stopped
    }
}
