//! Macros to which a build may give other values than the configurations that were read.
//!
//! A build can change what a file compiles to by a macro if a condition tests that macro and no unconditional
//! `#define` sets it. If conditions test only whether the macro is defined, two configurations cover it, one with it
//! and one without; with several such macros, it takes two for each combination of the others. Every other macro
//! always has further values. This module may name more macros than matter, never fewer, except macros that no
//! condition tests: a build that sets those changes the text itself.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use shaderlint_hlsl::{
    Definition, Directive, Directives, Text, Version, include_guard, literal_end, without_dead_arms,
};

use super::Configuration;
use crate::support::words::{times_named, words};

/// Stands for names that occur in no text.
const PASTED: &str = "macros that ## puts together";

/// The macros that files test and define.
#[derive(Default)]
struct MacroUses {
    /// The words of all conditions.
    words: Vec<Vec<u8>>,
    /// How often conditions and definitions name a macro without its value.
    by_name_alone: HashMap<Vec<u8>, usize>,
    /// The words of all definitions of a name.
    bodies: HashMap<Vec<u8>, Vec<Vec<u8>>>,
    /// Names whose definitions paste names together.
    pasting: HashSet<Vec<u8>>,
    /// Names that are defined whether or not conditions hold.
    fixed: HashSet<Vec<u8>>,
    guards: HashSet<Vec<u8>>,
}

/// The macros that have values which none of these configurations uses. The default one comes first. `is_fixed`
/// selects the macros that all builds set alike, or whose values are all declared.
pub(super) fn unread(read: &[&Configuration], is_fixed: &dyn Fn(&str) -> bool) -> BTreeSet<String> {
    let mut files: BTreeMap<&str, &Text> = BTreeMap::new();
    for file in read.iter().flat_map(|one| &one.unit.sources.files) {
        files.insert(&file.path, &file.text);
    }
    let given: Vec<(String, String)> = read.iter().flat_map(|one| one.unit.given.clone()).collect();
    let texts = without_dead_arms(files.values().copied(), &given);
    let uses = MacroUses::of(&texts);
    let defined: Vec<BTreeSet<&str>> = read
        .iter()
        .map(|one| one.defines.iter().map(|(name, _)| &**name).collect())
        .collect();
    let is_toggled = |name: &str| {
        defined.iter().all(|names| {
            let has_it = names.contains(name);
            let others = |of: &BTreeSet<&str>| -> Vec<String> {
                let others = of.iter().filter(|other| **other != name);
                others.map(|other| (*other).to_owned()).collect()
            };
            let is_other =
                |known: &BTreeSet<&str>| known.contains(name) != has_it && others(known) == others(names);
            defined.iter().any(is_other)
        })
    };
    let is_read = |name: &str| {
        let is_defined = |one: &&&Configuration| one.defines.iter().any(|(known, _)| known == name);
        let times = || files.values().map(|text| times_named(text, name)).sum::<usize>();
        // Few macros reach this search of all texts: only those that some configuration defines.
        let defining = read.iter().filter(is_defined).count();
        (1..read.len()).contains(&defining)
            && is_toggled(name)
            && uses.by_name_alone.get(name.as_bytes()) == Some(&times())
    };
    let names = uses.settable().into_iter();
    names.filter(|name| !is_fixed(name) && !is_read(name)).collect()
}

/// A directive's text. A condition comes without its character constants and strings, which name nothing.
fn without_characters(line: &Directive) -> Vec<u8> {
    let (text, mut at) = (&line.argument[..], 0);
    let mut code = Vec::with_capacity(text.len());
    while let Some(byte) = text.get(at) {
        let is_quote = matches!(byte, b'\'' | b'"') && matches!(&line.keyword[..], b"if" | b"elif");
        let (end, is_character) = if is_quote {
            literal_end(text, at)
        } else {
            (at, false)
        };
        code.push(if is_character { b' ' } else { *byte });
        at = if is_character { end } else { at + 1 };
    }
    code
}

/// Whether a word means the same in every build.
fn is_of_preprocessor(word: &[u8]) -> bool {
    matches!(
        word,
        b"defined" | b"true" | b"false" | b"__has_include" | b"__LINE__" | b"__FILE__" | b"__COUNTER__"
    )
}

impl MacroUses {
    fn of(files: &[Text]) -> MacroUses {
        let mut uses = MacroUses::default();
        for text in files {
            let lines = text.derived::<Directives>();
            let guard = include_guard(text, &lines);
            let mut depth = 0;
            for line in lines.iter() {
                uses.note(line, depth == usize::from(guard.is_some()));
                match &line.keyword[..] {
                    b"if" | b"ifdef" | b"ifndef" => depth += 1,
                    b"endif" => depth = depth.saturating_sub(1),
                    _ => {}
                }
            }
            uses.guards.extend(guard.map(<[u8]>::to_vec));
            // It has a value in each build, whether or not a condition tests it.
            if times_named(text, Version::MACRO) > 0 {
                uses.words.push(Version::MACRO.as_bytes().to_vec());
            }
        }
        uses
    }

    fn note(&mut self, line: &Directive, is_met_by_all: bool) {
        let argument = without_characters(line);
        let all: Vec<&[u8]> = words(&argument).collect();
        match &line.keyword[..] {
            b"if" | b"elif" => {
                for pair in all.windows(2).filter(|pair| pair[0] == b"defined") {
                    *self.by_name_alone.entry(pair[1].to_vec()).or_default() += 1;
                }
            }
            b"ifdef" | b"ifndef" | b"elifdef" | b"elifndef" | b"undef" | b"define" => {
                if let Some(name) = all.first() {
                    *self.by_name_alone.entry(name.to_vec()).or_default() += 1;
                }
            }
            _ => return,
        }
        match (&line.keyword[..], all.split_first()) {
            (b"define", Some((name, body))) => {
                let definition = Definition::of(&line.argument);
                let parameters = definition.iter().map(|definition| &definition.parameters);
                let parameters: Vec<&[u8]> = parameters.flat_map(|text| words(text)).collect();
                let pastes = |one: &Definition| one.body.windows(2).any(|pair| pair == b"##");
                if definition.as_ref().is_some_and(pastes) {
                    self.pasting.insert(name.to_vec());
                }
                let body = body.iter().filter(|word| !parameters.contains(word));
                self.bodies
                    .entry(name.to_vec())
                    .or_default()
                    .extend(body.map(|word| word.to_vec()));
                if is_met_by_all {
                    self.fixed.insert(name.to_vec());
                }
            }
            (b"undef", _) => {}
            _ => self.words.extend(all.into_iter().map(<[u8]>::to_vec)),
        }
    }

    /// The names that conditions test, also by way of macros, and that a build may give a value.
    fn settable(&self) -> Vec<String> {
        let mut left: Vec<&[u8]> = self.words.iter().map(Vec::as_slice).collect();
        let mut seen: HashSet<&[u8]> = HashSet::new();
        let mut found = Vec::new();
        while let Some(word) = left.pop() {
            let is_name = word.first().is_some_and(|first| !first.is_ascii_digit());
            if !is_name || is_of_preprocessor(word) || !seen.insert(word) {
                continue;
            }
            left.extend(self.bodies.get(word).into_iter().flatten().map(Vec::as_slice));
            if self.pasting.contains(word) {
                found.push(PASTED.to_owned());
            }
            if !self.fixed.contains(word) && !self.guards.contains(word) {
                found.push(String::from_utf8_lossy(word).into_owned());
            }
        }
        found
    }
}
