//! The text of a fix after the file's macros are expanded in it.

use std::collections::BTreeSet;

use shaderlint_hlsl::{
    Definition, Directive, Directives, FileId, NoIncludes, Shader, blank_comments, preprocess,
};

use crate::source::unit::Unit;
use crate::source::words::words;

impl Unit {
    /// The text without comments and with its macros expanded, as if it stood at this offset of the expanded text.
    /// `None` where a build that compiles other text may define one of the macros otherwise.
    pub(crate) fn expanded(&self, shader: &Shader, text: &str, at: u32) -> Option<String> {
        let text = String::from_utf8(blank_comments(text.as_bytes())).ok()?;
        let mut defined = Vec::new();
        let mut seen: BTreeSet<Vec<u8>> = BTreeSet::new();
        let mut waiting: Vec<Vec<u8>> = words(text.as_bytes()).map(<[u8]>::to_vec).collect();
        while let Some(name) = waiting.pop() {
            if self.definitions(&name).is_empty() || seen.contains(&name) {
                continue;
            }
            if self.may_be_another(shader, &name) {
                return None;
            }
            let (sources, given) = (&shader.sources, &shader.given);
            if let Some(definition) = shader.defined.definition(&name, at, sources, given) {
                let Definition { parameters, body, .. } = definition;
                waiting.extend(words(&body).map(<[u8]>::to_vec));
                defined.extend([b"#define ", &*name, &*parameters, b" ", body.trim_ascii(), b"\n"].concat());
            }
            seen.insert(name);
        }
        if defined.is_empty() {
            return Some(text);
        }
        defined.extend_from_slice(text.as_bytes());
        let (unit, problems) = preprocess("", defined, &[], &NoIncludes);
        String::from_utf8(unit.text).ok().filter(|_| problems.is_empty())
    }

    /// Whether text that this reading leaves out defines or undefines a macro.
    ///
    /// Readings of a file that differ only in such text share their findings, so the macro has to be the same in all
    /// of them. A default (`#ifndef NAME`, `#define NAME`) does not count: where the name has a definition here, and
    /// the same one there, that reading leaves the default out too.
    fn may_be_another(&self, shader: &Shader, name: &[u8]) -> bool {
        let is_about_it = |line: &Directive| {
            matches!(&*line.keyword, b"define" | b"undef") && words(&line.argument).next() == Some(name)
        };
        let mut files = (0..).map(FileId).zip(self.living());
        files.any(|(id, text)| {
            let lines = text.derived::<Directives>();
            let is_obeyed = |line: &Directive| shader.defined.has(id, line.start);
            let mut about_it = (0..).zip(lines.iter()).filter(|(_, line)| is_about_it(line));
            about_it.any(|(number, line)| !is_obeyed(line) && !is_default(&lines, number, name))
        })
    }
}

/// Whether the line of this number is right behind an `#ifndef` of the name.
fn is_default(lines: &[Directive], number: usize, name: &[u8]) -> bool {
    let before = number.checked_sub(1).and_then(|before| lines.get(before));
    before.is_some_and(|before| before.keyword == b"ifndef" && words(&before.argument).next() == Some(name))
}
