//! Which items of a text are asked for at all.
//!
//! A unit that includes an engine's headers names little of what they declare. What nothing names cannot be run, and
//! needs not be parsed.

use rustc_hash::{FxHashMap, FxHashSet};

use super::tokens::blank_range;
use super::{Item, ItemKind, Lexed, Token};
use crate::span::Span;

/// What of a text is asked for.
pub(crate) struct WantedText<'a> {
    /// Whether the item of this place is wanted whether or not anything names it. Entry points are.
    pub is_root: &'a dyn Fn(Span) -> bool,
    /// Parts of words.
    pub words: &'a [&'a [u8]],
    /// Whether what stays needs not be read, as its like was read before.
    pub is_known: &'a dyn Fn(&[u8], &Lexed) -> bool,
}

impl WantedText<'_> {
    fn is_in(&self, word: &[u8]) -> bool {
        let is_in = |part: &[u8]| word.windows(part.len()).any(|window| window == part);
        self.words.iter().any(|part| is_in(part))
    }
}

/// What is not read.
pub(crate) struct LeftOut {
    /// There is none of the words in all that is wanted.
    pub is_all: bool,
    /// Names of functions that have one, or words that stand where their names would.
    pub functions: Vec<String>,
}

/// Leaves out the items that no other item names, but for those that `wanted` takes by their place.
///
/// An item is known by every word that it may declare, and stays if any token of an item that stays is one of these.
/// Overloads and methods share a name, so they stay together. That is more than can be reached: a word may mean
/// something else. So it is with the bodies of a struct's methods: a kernel that has a light needs its members, and few of
/// the ways to light with it.
pub(crate) fn leave_out_unnamed(lexed: &mut Lexed, text: &[u8], wanted: &WantedText<'_>) -> LeftOut {
    let functions = functions(lexed, text);
    let mut by_name: FxHashMap<&[u8], Vec<usize>> = FxHashMap::default();
    let mut stays = Vec::with_capacity(lexed.items.len());
    let mut open = Vec::new();
    for (at, item) in lexed.items.iter().enumerate() {
        let is_root = item.numthreads.is_some() || (wanted.is_root)(item.span);
        let names = if is_root {
            None
        } else {
            declared(lexed, text, item, &functions)
        };
        stays.push(names.is_none());
        if names.is_none() {
            open.push(at);
        }
        for name in names.unwrap_or_default() {
            by_name.entry(name).or_default().push(at);
        }
    }
    let is_root = stays.clone();
    let mut is_telling = false;
    let mut seen: FxHashSet<&[u8]> = FxHashSet::default();
    let mut bodies: FxHashMap<&[u8], Vec<Span>> = FxHashMap::default();
    let mut texts: Vec<Span> = Vec::new();
    loop {
        while let Some(at) = open.pop() {
            let Some(item) = lexed.items.get(at) else { continue };
            let mut rest = item.span;
            let methods = if is_root.get(at) == Some(&false) {
                methods(lexed, text, item)
            } else {
                Vec::new()
            };
            for method in methods {
                for (start, end) in [
                    (rest.start, method.name.start),
                    (method.name.end, method.body.start),
                ] {
                    texts.push(Span { start, end });
                }
                rest.start = method.body.end;
                let name = method.name.slice(text);
                if seen.contains(name) {
                    texts.push(method.body);
                } else {
                    bodies.entry(name).or_default().push(method.body);
                }
            }
            texts.push(rest);
        }
        let Some(span) = texts.pop() else { break };
        for token in tokens(lexed, span) {
            let word = token.word(text);
            if word.is_empty() || !seen.insert(word) {
                continue;
            }
            is_telling |= wanted.is_in(word);
            texts.extend(bodies.remove(word).unwrap_or_default());
            for named in by_name.remove(word).unwrap_or_default() {
                if let Some(stays) = stays.get_mut(named)
                    && !std::mem::replace(stays, true)
                {
                    open.push(named);
                }
            }
        }
    }
    let left_out = lexed.items.iter().zip(&stays).filter(|(_, stays)| !**stays);
    let unread = left_out.filter(|(item, _)| {
        let has_words = || {
            tokens(lexed, item.span)
                .iter()
                .any(|token| wanted.is_in(token.word(text)))
        };
        matches!(item.kind, ItemKind::Function { .. }) && has_words()
    });
    let unread = unread.filter_map(|(item, _)| declared(lexed, text, item, &functions));
    let unread = unread
        .flatten()
        .map(|name| String::from_utf8_lossy(name).into_owned());
    let unread = unread.collect();
    let mut stays = stays.into_iter();
    lexed.unread_bodies = bodies.into_values().flatten().collect();
    lexed.unread_bodies.sort_unstable();
    let blank = &mut lexed.blank;
    for body in &lexed.unread_bodies {
        blank_range(blank, body.start as usize, body.end as usize);
        // Now it is only declared.
        if let Some(brace) = blank.get_mut(body.start as usize) {
            *brace = b';';
        }
    }
    lexed.items.retain(|item| {
        let stays = stays.next().unwrap_or(true);
        if !stays {
            blank_range(blank, item.span.start as usize, item.span.end as usize);
        }
        stays
    });
    LeftOut {
        is_all: !is_telling,
        functions: unread,
    }
}

/// A method that a struct has with its body.
struct Method {
    name: Span,
    /// With its braces.
    body: Span,
}

/// The methods of a struct, in order; maybe not all.
fn methods(lexed: &Lexed, text: &[u8], item: &Item) -> Vec<Method> {
    let first = lexed
        .tokens
        .partition_point(|token| token.start < item.span.start);
    let end = lexed.tokens.partition_point(|token| token.start < item.span.end);
    let token = |at: usize| lexed.tokens.get(at);
    let is = |at: usize, punct: u8| token(at).is_some_and(|token| token.is(punct));
    let word = |at: usize| token(at).map_or(&[][..], |token| token.word(text));
    let partner = |at: usize| {
        let other = lexed.partner.get(at).filter(|other| **other != u32::MAX);
        other.map(|other| *other as usize)
    };
    let brace = (first..end).find(|at| is(*at, b'{') || is(*at, b'('));
    let is_struct = |brace: &usize| {
        item.kind == ItemKind::Declaration
            && is(*brace, b'{')
            && (first..*brace).any(|at| matches!(word(at), b"struct" | b"class"))
    };
    let mut at = brace.filter(is_struct).map_or(end, |brace| brace + 1);
    let mut found = Vec::new();
    while at < end {
        let is_body = is(at, b'{') && is(at - 1, b')');
        let name = partner(at - 1)
            .filter(|_| is_body)
            .and_then(|open| open.checked_sub(1));
        let name = name.filter(|name| word(name.saturating_sub(1)) != b"operator");
        let is_bracket = is(at, b'{') || is(at, b'(') || is(at, b'[');
        let Some(close) = partner(at).filter(|_| is_bracket) else {
            at += 1;
            continue;
        };
        if let Some((name, open, close)) =
            name.and_then(|name| Some((token(name)?, token(at)?, token(close)?)))
            && !matches!(name.word(text), b"" | b"operator")
            && lexed.blank.get(open.start as usize) == Some(&b'{')
        {
            found.push(Method {
                name: Span {
                    start: name.start,
                    end: name.end,
                },
                body: Span {
                    start: open.start,
                    end: close.end,
                },
            });
        }
        at = close + 1;
    }
    found
}

/// The words that the items of a text may declare, maybe more. It may be any part of a file.
#[must_use]
pub fn declared_words(text: &[u8]) -> Vec<Vec<u8>> {
    let lexed = super::lex(text);
    let functions = functions(&lexed, text);
    let words = lexed
        .items
        .iter()
        .filter_map(|item| declared(&lexed, text, item, &functions));
    words.flatten().map(<[u8]>::to_vec).collect()
}

/// The names of functions, maybe more.
pub(super) fn functions<'t>(lexed: &Lexed, text: &'t [u8]) -> FxHashSet<&'t [u8]> {
    let functions = lexed
        .items
        .iter()
        .filter(|item| item.kind != ItemKind::Declaration);
    functions
        .filter_map(|item| declared(lexed, text, item, &FxHashSet::default()))
        .flatten()
        .collect()
}

pub(super) fn tokens(lexed: &Lexed, span: Span) -> &[Token] {
    let first = lexed.tokens.partition_point(|token| token.start < span.start);
    let end = lexed.tokens.partition_point(|token| token.start < span.end);
    lexed.tokens.get(first..end).unwrap_or_default()
}

/// Words that stand where names do, and are none.
const KEYWORDS: [&[u8]; 8] = [
    b"",
    b"register",
    b"packoffset",
    b"template",
    b"enum",
    b"class",
    b"int",
    b"uint",
];

/// The tokens up to the end of a declarator.
fn value(tokens: &[Token]) -> &[Token] {
    let mut depth = 0u32;
    let end = tokens.iter().position(|token| {
        if token.is(b')') || token.is(b']') || token.is(b'}') {
            depth = depth.saturating_sub(1);
        } else if token.is(b'(') || token.is(b'[') || token.is(b'{') {
            depth += 1;
        }
        depth == 0 && (token.is(b',') || token.is(b';'))
    });
    tokens.get(..end.unwrap_or(tokens.len())).unwrap_or_default()
}

/// Whether the tokens of an initial value call one of the functions, or assign.
fn has_effect(value: &[Token], text: &[u8], functions: &FxHashSet<&[u8]>) -> bool {
    let is = |token: Option<&Token>, puncts: &[u8]| {
        token.is_some_and(|token| puncts.iter().any(|&punct| token.is(punct)))
    };
    value.iter().enumerate().any(|(at, token)| {
        let (before, next) = (at.checked_sub(1).and_then(|at| value.get(at)), value.get(at + 1));
        let calls = is(next, b"(") && functions.contains(token.word(text));
        let assigns = token.is(b'=') && !is(before, b"=<>!") && !is(next, b"=");
        let steps = [b'+', b'-']
            .iter()
            .any(|&sign| token.is(sign) && is(next, &[sign]));
        calls || assigns || steps
    })
}

/// The words that an item may declare, maybe more; `None` where that cannot be told, and where the item does something
/// by being there: a variable whose initial value changes another one.
///
/// Outside all brackets a declarator's name stands before its initial value, its length, its semantic, its list of
/// parameters, the body of its struct, what its template is specialised for or the next declarator.
pub(super) fn declared<'t>(
    lexed: &Lexed,
    text: &'t [u8],
    item: &Item,
    functions: &FxHashSet<&[u8]>,
) -> Option<Vec<&'t [u8]>> {
    if item.kind == ItemKind::Skipped {
        return None;
    }
    let tokens = tokens(lexed, item.span);
    let words: Vec<&[u8]> = tokens.iter().map(|token| token.word(text)).collect();
    if words.contains(&b"enum".as_slice()) {
        return Some(
            words
                .into_iter()
                .filter(|word| !KEYWORDS.contains(word))
                .collect(),
        );
    }
    let ends: &[u8] = if item.kind == ItemKind::Template {
        b"=[:({,;<"
    } else {
        b"=[:({,;"
    };
    // What a parameter of a template stands for by default is no value of what is declared.
    let head = match item.kind {
        ItemKind::Template => {
            let mut open = 0i32;
            let end = tokens.iter().position(|token| {
                open += i32::from(token.is(b'<')) - i32::from(token.is(b'>'));
                token.is(b'>') && open == 0
            });
            end.map_or(0, |end| end + 1)
        }
        _ => 0,
    };
    let mut names = Vec::new();
    let (mut depth, mut is_value) = (0u32, false);
    for (at, (token, word)) in tokens.iter().zip(words).enumerate().skip(head) {
        if token.is(b')') || token.is(b']') || token.is(b'}') {
            depth = depth.saturating_sub(1);
        } else if token.is(b'(') || token.is(b'[') || token.is(b'{') {
            depth += 1;
        } else if depth == 0 && !is_value && token.is(b'=') {
            // Making it may change something else.
            let rest = tokens.get(at + 1..).unwrap_or_default();
            if has_effect(value(rest), text, functions) {
                return None;
            }
            is_value = true;
        } else if depth == 0 && (token.is(b',') || token.is(b';')) {
            is_value = false;
        } else if depth == 0 && !is_value {
            let next = tokens.get(at + 1);
            let ends = next.is_none_or(|next| ends.iter().any(|&punct| next.is(punct)));
            let is_name = !KEYWORDS.contains(&word);
            // The first has no name; `using namespace` declares all that the namespace has.
            if matches!(word, b"operator" | b"using") {
                return None;
            }
            if ends && is_name {
                names.push(word);
            }
        }
    }
    (!names.is_empty()).then_some(names)
}
