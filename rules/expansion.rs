//! What a text of a fix becomes once the file's macros are expanded in it.

use std::collections::BTreeSet;

use shaderlint_hlsl::{
    Definition, Directive, Directives, FileId, NoIncludes, Shader, blank_comments, preprocess,
};

use crate::unit::{Unit, words};

impl Unit {
    /// A text without its comments as it is once the macros are expanded that it names, if it stands at a place of the expanded
    /// text. `None` where a build that takes in other text may define one of them otherwise.
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
            if let Some(definition) = shader.defined.definition(sources, given, (&name, at)) {
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
    /// Readings of one file that differ in no more than that share what is found in one of them, so it has to be the
    /// same in all. A default (`#ifndef NAME`, `#define NAME`) is no matter: where the name has a definition here, and that
    /// is no other one there, the default is left out there, too.
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

/// Whether a line, of this number, stands right behind an `#ifndef` of the name.
fn is_default(lines: &[Directive], number: usize, name: &[u8]) -> bool {
    let before = number.checked_sub(1).and_then(|before| lines.get(before));
    before.is_some_and(|before| before.keyword == b"ifndef" && words(&before.argument).next() == Some(name))
}
