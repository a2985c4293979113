//! Whether an including file compiles anything that a fix changes in the included one.
//!
//! This compares texts, in every arm of an `#if`: a build that no file names may take another arm. A name stands for
//! everything that it may mean, so a file may count as affected without need, if its own names equal names of the
//! included file.

use rustc_hash::FxHashSet;
use shaderlint_hlsl::{
    Derived, Directives, FileId, SourceFile, Storage, Text, blank_comments, directives, parse,
};
use shaderlint_linter::{Diagnostic, FileEdit, Fix, apply};

use crate::check::readings::Reading;
use crate::support::words::{contains, has_word, words};
use crate::workspace::prefilter::{names_entry, names_group_barrier};

/// A text without its comments. It is derived once and searched for several names, for several including files.
struct Code(Vec<u8>);

impl Derived for Code {
    fn of(text: &Text) -> Self {
        Code(blank_comments(text))
    }
}

/// An item at file scope, or a macro's definition.
struct Item<'t> {
    start: usize,
    text: &'t [u8],
    /// The names that it may declare.
    names: Vec<&'t [u8]>,
}

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
    add_what_comes_to(&mut names, included.collect())?;
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

/// Adds the names of the items that name one of these, directly or not.
fn add_what_comes_to(names: &mut FxHashSet<Vec<u8>>, mut files: Vec<&SourceFile>) -> Option<()> {
    let mut seen = Vec::new();
    loop {
        let names_one = |file: &&SourceFile| names.iter().any(|name| has(file, name));
        let (new, rest): (Vec<_>, Vec<_>) = files.into_iter().partition(names_one);
        files = rest;
        seen.extend(new.into_iter().map(|file| file.text.derived::<Code>()));
        let before = names.len();
        for code in &seen {
            for item in items(&code.0)? {
                if words(item.text).any(|word| names.contains(word)) {
                    names.extend(item.names.iter().map(|name| name.to_vec()));
                }
            }
        }
        if names.len() == before {
            return Some(());
        }
    }
}

/// The items of a text without comments. `None` if braces do not match, for example if each arm of an `#if` opens one.
fn items(code: &[u8]) -> Option<Vec<Item<'_>>> {
    let mut plain = code.to_vec();
    let mut items = Vec::new();
    for line in directives(code) {
        let place = line.start as usize..line.end as usize;
        let text = code.get(place.clone())?;
        if line.keyword == b"define" {
            let names = words(text).skip(1).take(1).collect();
            items.push(Item {
                start: place.start,
                text,
                names,
            });
        }
        plain.get_mut(place)?.fill(b' ');
    }
    let (mut start, mut depth) = (0usize, 0usize);
    for (at, byte) in plain.iter().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 && matches!(byte, b';' | b'}') {
            let blank = plain
                .get(start..=at)?
                .iter()
                .take_while(|byte| byte.is_ascii_whitespace());
            start += blank.count();
            let head = plain.get(start..=at)?.split(|byte| *byte == b'{').next()?;
            let text = code.get(start..=at)?;
            let names = names_in(code.get(start..start + head.len())?, text);
            items.push(Item { start, text, names });
            start = at + 1;
        }
    }
    (depth == 0).then_some(items)
}

/// The names that an item may declare: those before a parenthesis and those that end a declarator. `head` is the
/// start of its text. If the item may contain other items, or begins with a macro, all such names in it count.
fn names_in<'t>(head: &'t [u8], text: &'t [u8]) -> Vec<&'t [u8]> {
    const AROUND: [&[u8]; 8] = [
        b"namespace",
        b"struct",
        b"class",
        b"interface",
        b"enum",
        b"cbuffer",
        b"tbuffer",
        b"template",
    ];
    let first = words(head).next().unwrap_or_default();
    let behind = |word: &[u8]| {
        let end = word.as_ptr() as usize - text.as_ptr() as usize + word.len();
        let rest = text.get(end..).unwrap_or_default().trim_ascii_start();
        rest.first().copied().unwrap_or(b';')
    };
    let is_function = head.contains(&b'(');
    let ends: &[u8] = if is_function { b"(" } else { b"[,;=:{" };
    if AROUND.contains(&first) || is_function && behind(first) == b'(' {
        return words(text)
            .filter(|word| b"([,;=:{)".contains(&behind(word)))
            .collect();
    }
    words(head).filter(|word| ends.contains(&behind(word))).collect()
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

fn has(file: &SourceFile, name: &[u8]) -> bool {
    contains(&file.text, name) && has_word(&file.text.derived::<Code>().0, name)
}
