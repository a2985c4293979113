//! The items of a text that are needed at all.
//!
//! A unit that includes an engine's headers names few of their declarations. A function that nothing names cannot
//! run, and need not be parsed.

use rustc_hash::{FxHashMap, FxHashSet};

use super::tokens::blank_range;
use super::{Item, ItemKind, Lexed, Token};
use crate::span::Span;

/// The wanted part of a text.
pub(crate) struct WantedText<'a> {
    /// Whether the item at this place is wanted even if nothing names it. Entry points always are.
    pub is_root: &'a dyn Fn(Span) -> bool,
    /// Parts of words: if no needed item has a word with one of them, nothing is needed.
    pub words: &'a [&'a [u8]],
    /// Whether the remaining text need not be read, because an equal text was read before.
    pub is_known: &'a dyn Fn(&[u8], &Lexed) -> bool,
}

impl WantedText<'_> {
    fn is_in(&self, word: &[u8]) -> bool {
        let is_in = |part: &[u8]| word.windows(part.len()).any(|window| window == part);
        self.words.iter().any(|part| is_in(part))
    }
}

/// The parts of the text that are left out.
pub(crate) struct LeftOut {
    /// Everything, for no remaining item has one of the words.
    pub is_all: bool,
    /// Names of left-out functions that have one of the words, or words in the place of such names.
    pub functions: Vec<String>,
}

/// Leaves out the items that no other item names, unless `wanted` selects them by their place.
///
/// An item declares one or more words, and stays if an item that stays has one of these words. Overloads and methods
/// share a name, so they stay together. This is an over-approximation of what can be reached: a word may mean
/// something else. The bodies of a struct's methods are left out in the same way: a kernel that uses a light needs
/// its members, but few of its methods.
pub(crate) fn leave_out_unnamed(lexed: &mut Lexed, text: &[u8], wanted: &WantedText<'_>) -> LeftOut {
    let functions = functions(lexed, text);
    let mut search = Search::from_roots(lexed, text, wanted, &functions);
    search.follow(wanted);
    let Search {
        stays,
        bodies,
        has_words,
        ..
    } = search;
    let left_out = LeftOut {
        is_all: !has_words,
        functions: unread_functions(lexed, text, wanted, &functions, &stays),
    };
    lexed.unread_bodies = bodies.into_values().flatten().collect();
    lexed.unread_bodies.sort_unstable();
    blank_unnamed(lexed, &stays);
    left_out
}

/// The search for named items, starting from the roots.
struct Search<'t> {
    lexed: &'t Lexed,
    text: &'t [u8],
    /// Whether an item stays, by its index.
    stays: Vec<bool>,
    is_root: Vec<bool>,
    /// Items that stay and are not searched yet.
    open: Vec<usize>,
    /// The items that a word may name.
    by_name: FxHashMap<&'t [u8], Vec<usize>>,
    /// The bodies of methods that a word may name.
    bodies: FxHashMap<&'t [u8], Vec<Span>>,
    /// Parts of items that stay and are not searched yet.
    texts: Vec<Span>,
    seen: FxHashSet<&'t [u8]>,
    /// One of the wanted words occurs in an item that stays.
    has_words: bool,
}

impl<'t> Search<'t> {
    fn from_roots(
        lexed: &'t Lexed,
        text: &'t [u8],
        wanted: &WantedText<'_>,
        functions: &FxHashSet<&[u8]>,
    ) -> Self {
        let mut search = Search {
            lexed,
            text,
            stays: Vec::with_capacity(lexed.items.len()),
            is_root: Vec::new(),
            open: Vec::new(),
            by_name: FxHashMap::default(),
            bodies: FxHashMap::default(),
            texts: Vec::new(),
            seen: FxHashSet::default(),
            has_words: false,
        };
        for (at, item) in lexed.items.iter().enumerate() {
            let is_root = item.numthreads.is_some() || (wanted.is_root)(item.span);
            let names = if is_root {
                None
            } else {
                declared(lexed, text, item, functions)
            };
            search.stays.push(names.is_none());
            if names.is_none() {
                search.open.push(at);
            }
            for name in names.unwrap_or_default() {
                search.by_name.entry(name).or_default().push(at);
            }
        }
        search.is_root.clone_from(&search.stays);
        search
    }

    /// Searches all items that stay, and all that they name.
    fn follow(&mut self, wanted: &WantedText<'_>) {
        loop {
            while let Some(at) = self.open.pop() {
                self.take_apart(at);
            }
            let Some(span) = self.texts.pop() else { break };
            for token in tokens(self.lexed, span) {
                let word = token.word(self.text);
                if word.is_empty() || !self.seen.insert(word) {
                    continue;
                }
                self.has_words |= wanted.is_in(word);
                self.texts.extend(self.bodies.remove(word).unwrap_or_default());
                for named in self.by_name.remove(word).unwrap_or_default() {
                    if let Some(stays) = self.stays.get_mut(named)
                        && !std::mem::replace(stays, true)
                    {
                        self.open.push(named);
                    }
                }
            }
        }
    }

    /// Splits an item: unless it is a root, the bodies of its methods wait until something names them.
    fn take_apart(&mut self, at: usize) {
        let Some(item) = self.lexed.items.get(at) else {
            return;
        };
        let mut rest = item.span;
        let methods = if self.is_root.get(at) == Some(&false) {
            methods(self.lexed, self.text, item)
        } else {
            Vec::new()
        };
        for method in methods {
            for (start, end) in [
                (rest.start, method.name.start),
                (method.name.end, method.body.start),
            ] {
                self.texts.push(Span { start, end });
            }
            rest.start = method.body.end;
            let name = method.name.slice(self.text);
            if self.seen.contains(name) {
                self.texts.push(method.body);
            } else {
                self.bodies.entry(name).or_default().push(method.body);
            }
        }
        self.texts.push(rest);
    }
}

/// The names of the functions that do not stay and have one of the wanted words.
fn unread_functions(
    lexed: &Lexed,
    text: &[u8],
    wanted: &WantedText<'_>,
    functions: &FxHashSet<&[u8]>,
    stays: &[bool],
) -> Vec<String> {
    let left_out = lexed.items.iter().zip(stays).filter(|(_, stays)| !**stays);
    let unread = left_out.filter(|(item, _)| {
        let has_words = || {
            tokens(lexed, item.span)
                .iter()
                .any(|token| wanted.is_in(token.word(text)))
        };
        matches!(item.kind, ItemKind::Function { .. }) && has_words()
    });
    let names = unread.filter_map(|(item, _)| declared(lexed, text, item, functions));
    names
        .flatten()
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect()
}

/// Blanks the items that do not stay, and the bodies that are left out.
fn blank_unnamed(lexed: &mut Lexed, stays: &[bool]) {
    let blank = &mut lexed.blank;
    for body in &lexed.unread_bodies {
        blank_range(blank, body.start as usize, body.end as usize);
        // The method becomes a declaration.
        if let Some(brace) = blank.get_mut(body.start as usize) {
            *brace = b';';
        }
    }
    let mut stays = stays.iter();
    lexed.items.retain(|item| {
        let stays = stays.next().copied().unwrap_or(true);
        if !stays {
            blank_range(blank, item.span.start as usize, item.span.end as usize);
        }
        stays
    });
}

/// A method with its body in its struct.
struct Method {
    name: Span,
    /// With its braces.
    body: Span,
}

/// The methods with their bodies in a struct, in order; possibly not all.
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

/// The words that the items of a text may declare, and possibly more. The text may be any part of a file.
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

/// The names of functions, and possibly more.
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

/// Words in the place of names that are no names.
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

/// The words that an item may declare, and possibly more. `None` if they are unknown, or if the item has an effect:
/// the initial value of a variable may change another one.
///
/// A declarator's name, outside of all brackets, stands before its initial value, its length, its semantic, its list
/// of parameters, the body of its struct, the arguments of its template's specialisation, or the next declarator.
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
    // The default of a template parameter is no initial value.
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
            // The initial value may change another variable.
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
            // `operator` has no name, and `using namespace` declares all names of the namespace.
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
