//! Whether an including file compiles anything that a fix changes in the included one.
//!
//! This compares texts, in every arm of an `#if`: a build that no file names may take another arm. A name stands for
//! everything that it may mean, so a file may count as affected without need, if its own names equal names of the
//! included file.

use rustc_hash::FxHashSet;
use shaderlint_hlsl::{Directives, FileId, SourceFile, Storage, blank_comments, parse};
use shaderlint_linter::{Diagnostic, FileEdit, Fix, apply};

use crate::check::items::{Code, Item, add_dependents, has, items};
use crate::check::readings::Reading;
use crate::workspace::prefilter::{has_word, names_entry, names_group_barrier, words};

/// Whether a reading compiles nothing that a fix changes in an included file, in any build. `ids` are the ids of
/// that file. One of two conditions must hold:
///
/// - The unit's own text names nothing that depends on the change: no function, variable or macro of the included
///   files whose text names a changed item, directly or not.
/// - No file of the unit has a kernel or exports functions, and the fix is about barriers. The unit is then a header,
///   which is compiled only as part of its includers, or another stage, which has no barriers.
///
/// In addition, no other file may contain a name that the fix removes or one that it declares, or a macro for a word
/// that it adds.
pub(super) fn is_unconcerned(reading: &Reading, finding: &Diagnostic, ids: &[FileId]) -> bool {
    concerns(reading, finding, ids) == Some(false)
}

/// `None` if the texts do not decide it.
fn concerns(reading: &Reading, finding: &Diagnostic, ids: &[FileId]) -> Option<bool> {
    let fix = finding.fix.as_ref()?;
    let files = (0..).map(FileId).zip(&reading.sources.files);
    let files: Vec<(FileId, &SourceFile)> = files.collect();
    let is_own = |(id, _): &(FileId, &SourceFile)| ids.contains(id);
    let own = &files.iter().copied().find(is_own)?.1.text;
    let others = files.iter().filter(|file| !is_own(file));
    let (own, new) = (own.derived::<Code>(), blank_comments(&apply(own, [fix]).text));
    let mut names = changed(&own.0, fix)?;
    let of_others = |name: &[u8]| others.clone().any(|(_, file)| has(file, name));
    let goes = |name: &&Vec<u8>| !has_word(&new, name);
    if names.iter().filter(goes).any(|name| of_others(name)) {
        return Some(true);
    }
    for edit in &fix.edits {
        let is_macro = |name: &[u8]| files.iter().any(|(_, file)| defines(file, name));
        let mut words = words(edit.text.as_bytes());
        let is_taken = declared(&edit.text).iter().any(|name| of_others(name.as_bytes()));
        if is_taken || words.any(|word| !has_word(&own.0, word) && is_macro(word)) {
            return Some(true);
        }
    }
    let has_barrier = |edit: &FileEdit| names_group_barrier(edit.text.as_bytes());
    let is_for_others = |(_, file): &(FileId, &SourceFile)| !names_entry(&file.text) && !has(file, b"export");
    if fix.edits.iter().any(has_barrier) && files.iter().all(is_for_others) {
        return Some(false);
    }
    let (_, root) = files.first()?;
    let included = files.iter().skip(1).map(|(_, file)| *file);
    add_dependents(&mut names, included.collect())?;
    Some(names.iter().any(|name| has(root, name)))
}

/// The names of the items that a fix changes.
fn changed(code: &[u8], fix: &Fix<FileEdit>) -> Option<FxHashSet<Vec<u8>>> {
    let items = items(code)?;
    let mut names = FxHashSet::default();
    for edit in &fix.edits {
        let (start, end) = (edit.place.start as usize, edit.place.end as usize);
        // An insertion between two items changes neither.
        let meets = |item: &&Item| {
            let ends = item.start + item.text.len();
            start < ends && item.start < end
        };
        let mut met = items.iter().filter(meets).peekable();
        if start < end && met.peek().is_none() {
            return None;
        }
        names.extend(met.flat_map(|item| &item.names).map(|name| name.to_vec()));
    }
    Some(names)
}

/// The functions and groupshared variables that a text declares.
fn declared(text: &str) -> Vec<String> {
    let (declared, _) = parse(text.to_owned().into_bytes());
    let shared = declared
        .globals
        .into_iter()
        .filter(|global| global.storage == Storage::Groupshared);
    let functions = declared.functions.into_iter().map(|function| function.name);
    functions.chain(shared.map(|global| global.name)).collect()
}

fn defines(file: &SourceFile, name: &[u8]) -> bool {
    let lines = file.text.derived::<Directives>();
    let mut defines = lines.iter().filter(|line| line.keyword == b"define");
    defines.any(|line| words(&line.argument).next() == Some(name))
}
