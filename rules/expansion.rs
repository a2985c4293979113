//! What a text of a fix becomes once the file's macros are expanded in it.

use std::collections::BTreeSet;

use memchr::memmem;
use shaderlint_hlsl::{
    Definition, Directives, FileId, FileSpan, NoIncludes, Shader, Span, blank_comments, directives,
    include_guard, preprocess,
};

use crate::unit::{Unit, words};

impl Unit {
    /// A text without its comments as it is once the macros are expanded that it names, if it stands at `place`. `None` where it is
    /// not told which of several definitions of one holds there, if any.
    pub(crate) fn expanded(&self, shader: &Shader, text: &str, place: Span) -> Option<String> {
        let place = shader.origins.locate(place)?;
        let text = String::from_utf8(blank_comments(text.as_bytes())).ok()?;
        let mut defined = Vec::new();
        let mut seen: BTreeSet<Vec<u8>> = BTreeSet::new();
        let mut waiting: Vec<Vec<u8>> = words(text.as_bytes()).map(<[u8]>::to_vec).collect();
        while let Some(name) = waiting.pop() {
            if self.definitions(&name).is_empty() || seen.contains(&name) {
                continue;
            }
            let Definition { parameters, body, .. } = self.definition_at(shader, &name, place)?;
            waiting.extend(words(&body).map(<[u8]>::to_vec));
            defined.extend([b"#define ", &*name, &*parameters, b" ", body.trim_ascii(), b"\n"].concat());
            seen.insert(name);
        }
        if seen.is_empty() {
            return Some(text);
        }
        defined.extend_from_slice(text.as_bytes());
        let (unit, problems) = preprocess("", defined, &[], &NoIncludes);
        String::from_utf8(unit.text).ok().filter(|_| problems.is_empty())
    }

    /// The definition of a macro that holds at a place of a file.
    fn definition_at(&self, shader: &Shader, name: &[u8], place: FileSpan) -> Option<Definition> {
        let all = self.definitions(name);
        let (first, others) = all.split_first()?;
        let is_it = |other: &Definition| other.body == first.body && other.parameters == first.parameters;
        let mut ends = undefined(shader, name).peekable();
        if others.iter().all(is_it) && ends.peek().is_none() {
            return Some(first.clone());
        }
        // Where this file alone defines it, outside of conditionals, its last directive before the place holds.
        let is_here = |file: FileId| file == place.file;
        if !all
            .iter()
            .all(|one| one.place.is_some_and(|(file, _)| is_here(file)))
            || !ends.all(|(file, _)| is_here(file))
        {
            return None;
        }
        let text = &shader.sources.get(place.file)?.text;
        let (mut depth, mut last) = (0usize, None);
        let lines = text.derived::<Directives>();
        let outermost = usize::from(include_guard(text, &lines).is_some());
        for line in lines.iter() {
            if line.start >= place.start {
                break;
            }
            let is_of_name = || words(&line.argument).next() == Some(name);
            match &*line.keyword {
                b"if" | b"ifdef" | b"ifndef" => depth += 1,
                b"endif" => depth = depth.saturating_sub(1),
                b"define" | b"undef" if is_of_name() => {
                    if depth > outermost {
                        return None;
                    }
                    let is_defined = line.keyword == b"define";
                    last = Definition::of(&line.argument).filter(|_| is_defined);
                }
                b"pragma" if memmem::find(&line.argument, b"_macro").is_some() => return None,
                _ => {}
            }
        }
        last
    }
}

/// Where a name stops to be a macro.
fn undefined<'a>(shader: &'a Shader, name: &'a [u8]) -> impl Iterator<Item = (FileId, u32)> + 'a {
    let files = (0..).map(FileId).zip(&shader.sources.files);
    files.flat_map(move |(id, file)| {
        let lines = directives(&file.text).into_iter();
        let own =
            lines.filter(move |line| line.keyword == b"undef" && words(&line.argument).next() == Some(name));
        own.map(move |line| (id, line.start))
    })
}
