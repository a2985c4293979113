//! Kernels whose group size, or the size of whose groupshared arrays, the build defines: by macros that no file defines, or
//! that are 1 where the build says nothing.
//!
//! shaderlint reads such a file with several sizes; arrays have an element for each thread. It reports what it finds at each
//! size in the same place, and names one of the sizes: it does not know which one the build has. It reports no defects, for
//! the assumed size may cause them.

use shaderlint_hlsl::{Definitions, Function, Shader, Sources, Span, Storage, Type};
use shaderlint_linter::{Category, Diagnostic, NoFix};

use super::{Reading, contains, text_of};
use crate::support::definition::Definition;

/// Threads along an axis that are tried where one axis has an unknown size, and where several have.
const ALONG_ONE: [u32; 3] = [64, 128, 256];
const ALONG_SEVERAL: [u32; 2] = [8, 16];

/// Most entry points whose sizes are tried.
const MAX_ENTRIES: usize = 64;

/// The definitions to try, one for each reading; none if all sizes are known.
pub(super) fn to_try(shader: &Shader) -> Vec<Vec<Definition>> {
    let mut names: Vec<String> = Vec::new();
    let mut most = 0;
    let mut known_sizes = Vec::new();
    let attributed = |function: &&Function| function.group_size_span != Span::default();
    for function in shader.functions.iter().filter(attributed).take(MAX_ENTRIES) {
        let text = match function.group_size {
            // As it stands after the macros that are known.
            None => function.group_size_span.slice(&shader.text),
            Some([1, 1, 1]) if has_barrier(shader, function) => in_file(shader, function.group_size_span),
            Some(size) => {
                known_sizes.push(size.into_iter().fold(1, u32::saturating_mul));
                continue;
            }
        };
        let text = String::from_utf8_lossy(text).into_owned();
        let arguments = text.split_once('(').map_or("", |(_, arguments)| arguments);
        let of_function = unknown_names(shader, arguments);
        most = most.max(of_function.len());
        for name in of_function {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let mut lengths = unknown_lengths(shader);
    lengths.retain(|name| !names.contains(name));
    let numbers = match most {
        // Of groups of unlike sizes an array can be meant for any.
        0 if lengths.is_empty() || known_sizes.is_empty() => return Vec::new(),
        0 => {
            let first = known_sizes.first().copied().unwrap_or(1);
            if known_sizes.iter().any(|size| *size != first) {
                return Vec::new();
            }
            return vec![
                lengths
                    .into_iter()
                    .map(|name| (name, first.to_string()))
                    .collect(),
            ];
        }
        1 => &ALONG_ONE[..],
        _ => &ALONG_SEVERAL[..],
    };
    let axes = u32::try_from(most).unwrap_or(1);
    let defined = |number: &u32| {
        let along = names.iter().map(|name| (name.clone(), number.to_string()));
        let threads = number.saturating_pow(axes);
        let lengths = lengths.iter().map(|name| (name.clone(), threads.to_string()));
        along.chain(lengths).collect()
    };
    numbers.iter().map(defined).collect()
}

/// The names in a size that nothing at hand declares, as often as they are there.
fn unknown_names(shader: &Shader, size: &str) -> Vec<String> {
    let words = size.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let is_name = |word: &&str| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let is_known = |word: &str| {
        matches!(word, "uint" | "int") || shader.globals.iter().any(|global| global.own_name() == word)
    };
    words
        .filter(is_name)
        .filter(|word| !is_known(word))
        .map(str::to_owned)
        .collect()
}

/// As it is read: an array without elements.
fn has_unknown_length(ty: &Type) -> bool {
    match ty {
        Type::Array(element, length) => *length == 0 || has_unknown_length(element),
        _ => false,
    }
}

/// The names in the lengths of groupshared arrays that are not known.
fn unknown_lengths(shader: &Shader) -> Vec<String> {
    let arrays = shader
        .globals
        .iter()
        .filter(|global| global.storage == Storage::Groupshared && has_unknown_length(&global.ty));
    let mut names: Vec<String> = Vec::new();
    for array in arrays {
        let text = String::from_utf8_lossy(array.span.slice(&shader.text)).into_owned();
        let lengths = text.split_once('[').map_or("", |(_, lengths)| lengths);
        for name in unknown_names(shader, lengths) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// Whether a function waits for other threads. One that has none was given a size for want of a better one.
fn has_barrier(shader: &Shader, function: &Function) -> bool {
    let text = function.span.slice(&shader.text);
    contains(text, b"WithGroupSync")
}

/// The text of an attribute before macros are expanded.
fn in_file(shader: &Shader, span: Span) -> &[u8] {
    let place = shader.origins.locate(span);
    place.map_or(&[][..], |place| text_of(&shader.sources, place))
}

/// Of readings with one size each, the first, with what all of them found. What is found in other numbers by others says
/// so. `names` are defined in each, by a number that is supposed: what is `known` without is as it is there.
pub(super) fn agreed(readings: Vec<Reading>, names: &[Definition], known: &[Reading]) -> Option<Reading> {
    let mut readings = readings.into_iter();
    let mut first = readings.next()?;
    let others: Vec<Reading> = readings.collect();
    let mut findings = std::mem::take(&mut first.report.findings);
    let in_others = |finding: &Diagnostic| -> Option<Vec<&Diagnostic>> {
        others.iter().map(|other| found(other, &first, finding)).collect()
    };
    findings.retain(|finding| finding.category == Category::Perf && in_others(finding).is_some());
    let names = names.iter().map(|(name, _)| name);
    let (defined, unknown): (Vec<&String>, Vec<&String>) =
        names.partition(|name| is_defined(&first.sources, name));
    let unknown = listed(&unknown).map(|(names, number, verb)| {
        format!("supposed: neither this file nor what it includes says what {number} {names} {verb}")
    });
    let defined = listed(&defined).map(|(names, _, verb)| {
        format!("supposed: the build defines {names}, which {verb} 1 where it does not")
    });
    let supposed: Vec<String> = unknown.into_iter().chain(defined).collect();
    let edits = |finding: &Diagnostic| finding.fix.as_ref().map(|fix| fix.edits.clone());
    for finding in &mut findings {
        let mut known = known.iter().filter_map(|known| found(known, &first, finding));
        let is_same =
            |known: &&Diagnostic| known.message == finding.message && edits(known) == edits(finding);
        if let Some(known) = known.find(is_same) {
            finding.fix.clone_from(&known.fix);
            continue;
        }
        finding.notes.extend(supposed.iter().cloned());
        let text = "the size of the group, or of its arrays, is supposed";
        finding.withdraw(NoFix::new("supposed-size", text));
    }
    let are_alike = findings.iter().all(|finding| {
        let mut in_others = in_others(finding).into_iter().flatten();
        in_others.all(|other| other.message == finding.message)
    });
    if !are_alike {
        for finding in &mut findings {
            let in_others = in_others(finding).into_iter().flatten();
            let said = others.iter().zip(in_others);
            let said = said.map(|(reading, other)| format!("{}: {}", reading.label, other.message));
            let said: Vec<String> = said.collect();
            finding.notes.extend(said);
        }
    }
    first.report.findings = findings;
    for other in others.iter().filter(|_| are_alike) {
        let label = other.label.strip_prefix("with ").unwrap_or(&other.label);
        first.label = format!("{}, and {label}", first.label);
    }
    Some(first)
}

/// Whether a file defines a macro of this name, for builds that do not.
fn is_defined(sources: &Sources, name: &str) -> bool {
    !Definitions::of(sources, &[]).named(name.as_bytes()).is_empty()
}

/// Names in a sentence, with the words for one of them or for several.
fn listed(names: &[&String]) -> Option<(String, &'static str, &'static str)> {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match names {
        [] => None,
        [_] => Some((quoted.concat(), "number", "is")),
        _ => Some((quoted.join(" and "), "numbers", "are")),
    }
}

/// What another reading found in the same place.
fn found<'a>(other: &'a Reading, reading: &Reading, finding: &Diagnostic) -> Option<&'a Diagnostic> {
    let path = |reading: &Reading, of: &Diagnostic| {
        let file = reading.sources.get(of.primary.place.file);
        file.map(|file| file.path.clone())
    };
    let place = |of: &Diagnostic| (of.primary.place.start, of.primary.place.end);
    other.report.findings.iter().find(|one| {
        one.rule == finding.rule && place(one) == place(finding) && path(other, one) == path(reading, finding)
    })
}
