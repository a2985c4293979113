//! The code that a fix depends on beyond the kernel in this reading.

use std::collections::HashSet;

use shaderlint_hlsl::{FileSpan, Function, Shader, declared_words, directives, is_type_name};
use shaderlint_linter::Report;

use crate::support::words::{contains, words};

/// The functions that a fix changes, and all their callers.
///
/// The text of these functions decides whether every thread reaches a barrier, and which parts of a result the kernel
/// reads. The declarations of the variables that a statement names decide what it computes. An `#if` may leave out a
/// region inside these functions, a region that defines a macro or declares something which they name, or a region
/// that calls them. Each such region is read in a build of its own: the fix stays if that build has it too.
#[derive(Clone, Default)]
pub(super) struct FixDependencies {
    /// Keyed by path, for other readings number their files differently.
    places: Vec<(String, FileSpan)>,
    functions: HashSet<Vec<u8>>,
    words: HashSet<Vec<u8>>,
}

impl FixDependencies {
    pub fn of(shader: &Shader, report: &Report) -> Self {
        let fixes = report.findings.iter().filter_map(|finding| finding.fix.as_ref());
        let edits: Vec<FileSpan> = fixes
            .flat_map(|fix| fix.edits.iter().map(|edit| edit.place))
            .collect();
        let mut dependencies = FixDependencies::default();
        if edits.is_empty() {
            return dependencies;
        }
        let own_name = |function: &Function| {
            let name = function.name.rsplit("::").next().unwrap_or_default();
            name.as_bytes().to_vec()
        };
        let mut others: Vec<(&Function, FileSpan)> = shader
            .functions
            .iter()
            .filter_map(|function| Some((function, shader.origins.locate(function.span)?)))
            .collect();
        loop {
            let (found, left): (Vec<_>, Vec<_>) = others.into_iter().partition(|(function, place)| {
                let text = function.span.slice(&shader.text);
                edits.iter().any(|edit| edit.begins_in(*place))
                    || words(text).any(|word| dependencies.functions.contains(word))
            });
            others = left;
            if found.is_empty() {
                break;
            }
            for (function, place) in found {
                let Some(file) = shader.sources.get(place.file) else {
                    continue;
                };
                dependencies.name(shader.sources.text(place));
                dependencies.functions.insert(own_name(function));
                dependencies.places.push((file.path.clone(), place));
            }
        }
        for global in &shader.globals {
            if dependencies.words.contains(global.own_name().as_bytes())
                && let Some(place) = shader.origins.locate(global.span)
            {
                dependencies.name(shader.sources.text(place));
            }
        }
        dependencies
    }

    /// Adds the dependencies of other fixes.
    pub fn extend(&mut self, other: FixDependencies) {
        let FixDependencies {
            places,
            functions,
            words,
        } = other;
        self.places.extend(places);
        self.functions.extend(functions);
        self.words.extend(words);
    }

    fn name(&mut self, text: &[u8]) {
        self.words.extend(words(text).map(<[u8]>::to_vec));
    }

    /// Whether a build that includes this region may have another fix, or none.
    pub fn may_depend_on(&self, path: &str, place: FileSpan, text: &[u8]) -> bool {
        let is_in = |(known, function): &(String, FileSpan)| {
            known == path && (function.start..function.end).contains(&place.start)
        };
        let defines = || {
            let lines = directives(text).into_iter();
            let mut defined = lines.filter(|line| matches!(&*line.keyword, b"define" | b"undef"));
            defined.any(|line| {
                words(&line.argument)
                    .next()
                    .is_some_and(|name| self.words.contains(name))
            })
        };
        // A header shared with C++ declares HLSL's own types for C++.
        let declares = || {
            let mut declared = declared_words(text).into_iter();
            declared.any(|word| self.words.contains(&word) && !is_type_name(&word))
        };
        !self.places.is_empty()
            && (self.places.iter().any(is_in)
                || words(text).any(|word| self.functions.contains(word))
                || contains(text, b"#") && defines()
                || declares())
    }
}
