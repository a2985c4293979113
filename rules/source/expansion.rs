//! The text of a fix after the file's macros are expanded in it.

use std::collections::BTreeSet;

use shaderlint_hlsl::{
    Definition, Directive, Directives, FileId, NoIncludes, Shader, Span, blank_comments, preprocess,
};
use shaderlint_linter::Context;

use crate::source::group_size::group_size_text;
use crate::source::unit::{Choice, Unit};
use crate::source::words::words;

impl Unit {
    /// The text without comments and with its macros expanded, as if it stood at this offset of the expanded text.
    /// `None` where a build that compiles other text may define one of the macros otherwise.
    ///
    /// Readings that share findings have the same expanded text, so a macro that is a whole argument of the kernel's
    /// `numthreads` expands alike in all of them. It also does so here if every line that defines it, or a macro in its
    /// body, comes before the kernel and before this place.
    pub(crate) fn expanded(&self, context: &Context<'_>, text: &str, at: u32) -> Option<String> {
        let shader = context.shader;
        let text = String::from_utf8(blank_comments(text.as_bytes())).ok()?;
        let sizes = group_size_text(context).unwrap_or_default();
        let is_of_size = |name: &[u8]| sizes.iter().any(|size| size.as_bytes() == name);
        let mut waiting: Vec<(Vec<u8>, bool)> = { words(text.as_bytes()) }
            .map(|name| (name.to_vec(), is_of_size(name)))
            .collect();
        let mut defined = BTreeSet::new();
        let mut seen = BTreeSet::new();
        while let Some((name, is_of_side)) = waiting.pop() {
            if self.definitions(&name).is_empty() || !seen.insert((name.clone(), is_of_side)) {
                continue;
            }
            let is_told = is_of_side && self.is_settled_before(context, &name, at);
            if !is_told && self.may_be_another(shader, &name) {
                return None;
            }
            let (sources, given) = (&shader.sources, &shader.given);
            if let Some(definition) = shader.defined.definition(&name, at, sources, given) {
                let Definition { parameters, body, .. } = definition;
                waiting.extend(words(&body).map(|word| (word.to_vec(), is_of_side)));
                defined.insert([b"#define ", &*name, &*parameters, b" ", body.trim_ascii(), b"\n"].concat());
            }
        }
        if defined.is_empty() {
            return Some(text);
        }
        let mut defined = defined.into_iter().collect::<Vec<_>>().concat();
        defined.extend_from_slice(text.as_bytes());
        let (unit, problems) = preprocess("", defined, &[], &NoIncludes);
        String::from_utf8(unit.text).ok().filter(|_| problems.is_empty())
    }

    /// Whether every line about a macro, obeyed or not, and every `#if` around one, comes before the kernel's
    /// `numthreads` and before an offset of the expanded text, in their file.
    fn is_settled_before(&self, context: &Context<'_>, name: &[u8], at: u32) -> bool {
        let origins = &context.shader.origins;
        let size = context.function(context.entry).map(|entry| entry.group_size_span);
        let text = Span {
            start: at,
            end: at.saturating_add(1),
        };
        let places = [size.and_then(|size| origins.locate(size)), origins.locate(text)];
        let [Some(size), Some(text)] = places else {
            return false;
        };
        let end_of = |file: FileId, line: &Directive| {
            let is_around = |choice: &&Choice| {
                choice.file == file.0 as usize
                    && !choice.is_guard
                    && (choice.start..choice.end).contains(&(line.start as usize))
            };
            let choices = self.choices.iter().filter(is_around).map(|choice| choice.end);
            choices.max().unwrap_or(line.end as usize)
        };
        let is_before = |file: FileId, line: &Directive| {
            let end = end_of(file, line);
            [size, text]
                .iter()
                .all(|place| place.file == file && end <= place.start as usize)
        };
        let mut files = (0..).map(FileId).zip(self.living());
        files.all(|(file, text)| {
            let lines = text.derived::<Directives>();
            let mut about_it = lines.iter().filter(|line| is_about(line, name));
            about_it.all(|line| is_before(file, line))
        })
    }

    /// Whether text that this reading leaves out defines or undefines a macro.
    ///
    /// Readings of a file that differ only in such text share their findings, so the macro has to be the same in all
    /// of them. A default (`#ifndef NAME`, `#define NAME`) does not count: where the name has a definition here, and
    /// the same one there, that reading leaves the default out too.
    fn may_be_another(&self, shader: &Shader, name: &[u8]) -> bool {
        let mut files = (0..).map(FileId).zip(self.living());
        files.any(|(id, text)| {
            let lines = text.derived::<Directives>();
            let is_obeyed = |line: &Directive| shader.defined.has(id, line.start);
            let mut about_it = (0..).zip(lines.iter()).filter(|(_, line)| is_about(line, name));
            about_it.any(|(number, line)| !is_obeyed(line) && !is_default(&lines, number, name))
        })
    }
}

/// Whether a line defines or undefines a macro.
fn is_about(line: &Directive, name: &[u8]) -> bool {
    matches!(&*line.keyword, b"define" | b"undef") && words(&line.argument).next() == Some(name)
}

/// Whether the line of this number is right behind an `#ifndef` of the name.
fn is_default(lines: &[Directive], number: usize, name: &[u8]) -> bool {
    let before = number.checked_sub(1).and_then(|before| lines.get(before));
    before.is_some_and(|before| before.keyword == b"ifndef" && words(&before.argument).next() == Some(name))
}
