//! The functions of a tree that no entry point reaches, and those that nothing calls.

use std::collections::HashSet;

use rustc_hash::FxHashMap;
use shaderlint_hlsl::{FileSpan, Function, Shader, Span};

use crate::check::configurations::TELLING;
use crate::support::words::{contains, is_part};

/// The functions that no entry point reaches, as places in files. An entry point reaches every function that it
/// names, or that a reached function or code outside of functions names.
pub(super) fn places(shader: &Shader) -> Vec<FileSpan> {
    let own_name = |name: &str| name.rsplit("::").next().unwrap_or(name).to_owned();
    let mut by_name: FxHashMap<Vec<u8>, Vec<&Function>> = FxHashMap::default();
    let mut reached: Vec<&Function> = Vec::new();
    let (mut seen, mut texts): (HashSet<Span>, Vec<Span>) = (HashSet::new(), Vec::new());
    for function in &shader.functions {
        let name = own_name(&function.name);
        if function.group_size.is_some() || !name.bytes().all(is_part) {
            reached.push(function);
        }
        by_name.entry(name.into_bytes()).or_default().push(function);
    }
    texts.extend(shader.globals.iter().map(|global| global.span));
    loop {
        while let Some(function) = reached.pop() {
            if seen.insert(function.span) {
                texts.push(function.span);
            }
        }
        let Some(text) = texts.pop() else { break };
        for word in text.slice(&shader.text).split(|byte| !is_part(*byte)) {
            reached.extend(by_name.remove(word).unwrap_or_default());
        }
    }
    let place = |function: &Function| shader.origins.locate(function.span);
    let (reached, others): (Vec<&Function>, Vec<&Function>) = shader
        .functions
        .iter()
        .partition(|function| seen.contains(&function.span));
    let reached: Vec<FileSpan> = reached.into_iter().filter_map(place).collect();
    let meets = |a: &FileSpan, b: &FileSpan| a.file == b.file && a.start < b.end && b.start < a.end;
    let places = others.into_iter().filter_map(place);
    // A file may be included twice, and an entry point may reach a function in only one of the copies.
    places
        .filter(|place| !reached.iter().any(|other| meets(place, other)))
        .collect()
}

/// The functions that matter to the rules and that are named only in their definition.
pub(super) fn uncalled(shader: &Shader) -> Vec<String> {
    let functions = shader.functions.iter().filter(|function| {
        let text = function.span.slice(&shader.text);
        function.body.is_some()
            && function.group_size.is_none()
            && TELLING.iter().any(|word| contains(text, word))
    });
    let names = functions.map(|function| &function.name).chain(&shader.unread);
    let mut named: FxHashMap<&[u8], u32> = names.map(|name| (name.as_bytes(), 0)).collect();
    if named.is_empty() {
        return Vec::new();
    }
    for word in shader.text.split(|byte| !is_part(*byte)) {
        if let Some(count) = named.get_mut(word) {
            *count += 1;
        }
    }
    let uncalled = named.into_iter().filter(|(_, count)| *count < 2);
    uncalled
        .map(|(name, _)| String::from_utf8_lossy(name).into_owned())
        .collect()
}
