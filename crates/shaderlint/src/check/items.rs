//! The items of a text at file scope and the names in them, told by words alone: in every arm of an `#if`, and without
//! a reading's macros.

use rustc_hash::FxHashSet;
use shaderlint_hlsl::{Derived, SourceFile, Text, blank_comments, directives};

use crate::workspace::prefilter::{contains, has_word, words};

/// A text without its comments. It is derived once and searched for several names, for several including files.
pub(crate) struct Code(pub Vec<u8>);

impl Derived for Code {
    fn of(text: &Text) -> Self {
        Code(blank_comments(text))
    }
}

/// An item at file scope, or a macro's definition.
pub(crate) struct Item<'t> {
    pub start: usize,
    pub text: &'t [u8],
    /// The names that it may declare.
    pub names: Vec<&'t [u8]>,
}

/// Adds the names of the items that name one of these, directly or not.
pub(crate) fn add_dependents(names: &mut FxHashSet<Vec<u8>>, mut files: Vec<&SourceFile>) -> Option<()> {
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
pub(crate) fn items(code: &[u8]) -> Option<Vec<Item<'_>>> {
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

pub(crate) fn has(file: &SourceFile, name: &[u8]) -> bool {
    contains(&file.text, name) && has_word(&file.text.derived::<Code>().0, name)
}
