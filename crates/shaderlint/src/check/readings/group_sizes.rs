//! Kernels whose build defines the group size, or the size of the groupshared arrays: by macros that no file defines,
//! or that are 1 unless the build defines them.
//!
//! shaderlint reads such a file with several sizes; arrays have an element for each thread. It reports the findings
//! that every size has in the same place, and names one of the sizes, for it does not know the build's size. It
//! reports no defects, for the assumed size may cause them.
//!
//! A fix stays if one name has the size, several sizes are tried, and the fix is the same at each. It is proved at these
//! sizes only, so it is unsafe, and a note names them. With two names it goes: a group may have half as many threads as
//! an array has elements, and shaderlint tries only some pairs.

use shaderlint_hlsl::{Definitions, Function, Shader, Sources, Span, Storage, Type};
use shaderlint_linter::{Category, Diagnostic, FixNote, NoFix, Proof, Reason, Safety};

use super::reading::Reading;
use crate::check::configurations::ConfigurationName;
use crate::support::definition::Define;
use crate::support::words::contains;

/// The thread counts along an axis to try if one axis has an unknown size, and if several have.
const ALONG_ONE: [u32; 3] = [64, 128, 256];
const ALONG_SEVERAL: [u32; 2] = [8, 16];

/// The maximum of entry points whose sizes are tried.
const MAX_ENTRIES: usize = 64;

/// The definitions to try, one for each reading; none if all sizes are known.
pub(super) fn to_try(shader: &Shader) -> Vec<Vec<Define>> {
    let mut names: Vec<String> = Vec::new();
    let mut most = 0;
    let mut known_sizes = Vec::new();
    let attributed = |function: &&Function| function.group_size_span != Span::default();
    for function in shader.functions.iter().filter(attributed).take(MAX_ENTRIES) {
        let text = match function.group_size {
            // The text after expansion of the known macros.
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
        // If groups have different sizes, an array may be meant for any of them.
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

/// The names in a size that nothing at hand declares, with repetitions.
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

/// The parser reads an unknown length as 0.
fn has_unknown_length(ty: &Type) -> bool {
    match ty {
        Type::Array(element, length) => *length == 0 || has_unknown_length(element),
        _ => false,
    }
}

/// The unknown names in the lengths of groupshared arrays.
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

/// Whether a function has a group barrier. A group of one thread needs none: beside a barrier, the size 1 is a
/// default of the file.
fn has_barrier(shader: &Shader, function: &Function) -> bool {
    let text = function.span.slice(&shader.text);
    contains(text, b"WithGroupSync")
}

/// The text of an attribute before macros are expanded.
fn in_file(shader: &Shader, span: Span) -> &[u8] {
    let place = shader.origins.locate(span);
    place.map_or(&[][..], |place| shader.sources.text(place))
}

/// The first of several readings with one size each, reduced to the findings that all of them have. A finding says so
/// if the readings differ in its numbers. Each reading defines `names` by assumed numbers: a finding that is the same
/// in a `known` reading, without them, stays as it is there.
pub(super) fn agreed(readings: Vec<Reading>, names: &[Define], known: &[Reading]) -> Option<Reading> {
    let mut readings = readings.into_iter();
    let mut first = readings.next()?;
    let others: Vec<Reading> = readings.collect();
    let mut findings = std::mem::take(&mut first.report.findings);
    let in_others = |finding: &Diagnostic| -> Option<Vec<&Diagnostic>> {
        others.iter().map(|other| found(other, &first, finding)).collect()
    };
    findings.retain(|finding| finding.category == Category::Perf && in_others(finding).is_some());
    let is_one = names.len() == 1;
    let names = names.iter().map(|(name, _)| name);
    let (defined, unknown): (Vec<&String>, Vec<&String>) =
        names.partition(|name| is_defined(&first.sources, name));
    let unknown = listed(&unknown).map(|(names, _)| {
        format!("group size assumed: neither this file nor its headers give {names} a value; use -D to define what the build defines")
    });
    let defined = listed(&defined).map(|(names, verb)| {
        format!("group size assumed: {names} {verb} 1 unless the build defines another value")
    });
    let supposed: Vec<String> = unknown.into_iter().chain(defined).collect();
    for finding in &mut findings {
        let is_same = |reading: &Reading, known: &&Diagnostic| {
            known.message == finding.message && edits(reading, known) == edits(&first, finding)
        };
        let mut known = known.iter().filter_map(|reading| {
            let known = found(reading, &first, finding);
            known.filter(|known| is_same(reading, known))
        });
        if let Some(known) = known.next() {
            finding.fix.clone_from(&known.fix);
            continue;
        }
        finding.notes.extend(supposed.iter().cloned());
        let there = in_others(finding).filter(|_| is_one).unwrap_or_default();
        let there: Vec<(&Reading, &Diagnostic)> = others.iter().zip(there).collect();
        keep_fix_of_all(finding, &first, &there);
    }
    let are_alike = findings.iter().all(|finding| {
        let mut in_others = in_others(finding).into_iter().flatten();
        in_others.all(|other| other.message == finding.message)
    });
    if !are_alike {
        for finding in &mut findings {
            let in_others = in_others(finding).into_iter().flatten();
            let labels = others.iter().filter_map(|reading| reading.name.label());
            let said = labels.zip(in_others);
            let said: Vec<String> = said
                .map(|(label, other)| format!("{label}: {}", other.message))
                .collect();
            finding.notes.extend(said);
        }
    }
    first.report.findings = findings;
    if are_alike {
        let labels: Vec<String> = others.iter().filter_map(|other| other.name.label()).collect();
        let own = first.name.label();
        let labels = labels
            .iter()
            .map(|label| label.strip_prefix("with ").unwrap_or(label));
        let labels: Vec<&str> = own.iter().map(String::as_str).chain(labels).collect();
        first.name = ConfigurationName::Other(labels.join(", and "));
    }
    Some(first)
}

/// Keeps the fix of a finding of the reading `first` if all other readings have the same, as an unsafe one.
fn keep_fix_of_all(finding: &mut Diagnostic, first: &Reading, others: &[(&Reading, &Diagnostic)]) {
    let own = edits(first, finding);
    let has_it = |(reading, other): &(&Reading, &Diagnostic)| edits(reading, other) == own;
    if others.is_empty() || !others.iter().all(has_it) {
        let text = "the size of the group, or of its arrays, is unknown and assumed";
        finding.withdraw(NoFix::new(Reason::SupposedSize, text));
        return;
    }
    let Some(fix) = finding.fix.as_mut() else { return };
    fix.safety = Safety::Unsafe;
    let own_proof = fix.proof.clone();
    let mut sizes: Vec<String> = first.name.label().into_iter().collect();
    for (reading, other) in others {
        let label = reading.name.label().unwrap_or_default();
        let Some(there) = &other.fix else { continue };
        let is_another = |proof: &Proof| own_proof.as_ref() != Some(proof);
        let proof = there.proof.clone().filter(is_another);
        let proofs = [fix.proof.take(), proof.map(|proof| proof.prefixed_with(&label))];
        fix.proof = proofs.into_iter().flatten().reduce(Proof::and);
        let notes = there.notes.iter().filter(|note| !fix.notes.contains(note));
        let notes: Vec<FixNote> = notes.cloned().collect();
        fix.notes.extend(notes);
        fix.other_form
            .take_if(|form| there.other_form.as_ref() != Some(form));
        sizes.push(label);
    }
    if let Some((last, others)) = sizes.split_last() {
        let others = others.join(", ");
        fix.notes
            .push(format!("the fix is proved {others} and {last}, but for no other size").into());
    }
}

/// An edit of a file: readings number their files differently.
#[derive(PartialEq)]
struct EditOfFile<'a> {
    path: Option<&'a str>,
    place: [u32; 2],
    text: &'a str,
}

/// The edits of a finding's fix.
fn edits<'a>(reading: &'a Reading, finding: &'a Diagnostic) -> Option<Vec<EditOfFile<'a>>> {
    let edits = finding.fix.as_ref()?.edits.iter().map(|edit| {
        let file = reading.sources.get(edit.place.file);
        EditOfFile {
            path: file.map(|file| &*file.path),
            place: [edit.place.start, edit.place.end],
            text: &edit.text,
        }
    });
    Some(edits.collect())
}

/// Whether a file defines a macro of this name, as a default for builds.
fn is_defined(sources: &Sources, name: &str) -> bool {
    !Definitions::of(sources, &[]).named(name.as_bytes()).is_empty()
}

/// The names for a sentence, with the verb in the singular or plural.
fn listed(names: &[&String]) -> Option<(String, &'static str)> {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match names {
        [] => None,
        [_] => Some((quoted.concat(), "is")),
        _ => Some((quoted.join(" and "), "are")),
    }
}

/// The finding of another reading in the same place.
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
