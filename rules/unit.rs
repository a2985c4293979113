//! What rules ask of a whole unit, worked out once.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use memchr::memmem;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use shaderlint_hlsl::{Shader, Span, Storage};

/// A part of a file, with the file's number.
type Place = (usize, Range<usize>);

/// The words of a unit's files and of its expanded text, and what they are.
pub(crate) struct Unit {
    /// By name: each definition's text after it, parameters and all, in whatever arm it stands.
    macros: FxHashMap<Box<[u8]>, Vec<Place>>,
    /// Names that are defined from outside.
    given: FxHashSet<Box<[u8]>>,
    pub choices: Vec<Choice>,
    /// Hashes of the words of all files.
    of_files: FxHashSet<u64>,
    /// By its hash: where one of the words of the expanded text stands.
    expanded: FxHashMap<u64, Span>,
    /// Names of structs, and all words of `typedef` and `using`.
    types: FxHashSet<Box<[u8]>>,
    /// By hash of the last part of their names: functions, and variables but for those that the host sets.
    declared: FxHashMap<u64, Vec<Item>>,
    /// A size of a thread group is written in a name that is given from outside.
    pub has_size_from_outside: bool,
}

#[derive(Clone, Copy)]
enum Item {
    Function(u32),
    Global(u32),
}

/// What declares a name.
pub(crate) struct Declared {
    pub span: Span,
    /// The name is all of it, not that of a method.
    pub is_whole_name: bool,
}

/// An `#if` with all its arms, in one file.
#[derive(Clone, Copy)]
pub(crate) struct Choice {
    pub file: usize,
    pub start: usize,
    pub end: usize,
    /// It only keeps a file from being read twice.
    pub is_guard: bool,
}

fn hash(word: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    word.hash(&mut hasher);
    hasher.finish()
}

impl Unit {
    pub fn of(shader: &Shader) -> Arc<Unit> {
        shader.once(|shader| {
            let mut unit = Unit {
                macros: macros(shader),
                given: (shader.given.iter().map(|name| name.as_bytes().into())).collect(),
                choices: choices(shader),
                of_files: FxHashSet::default(),
                expanded: FxHashMap::default(),
                types: FxHashSet::default(),
                declared: FxHashMap::default(),
                has_size_from_outside: false,
            };
            unit.note_words(shader);
            unit.note_declarations(shader);
            let mut sizes = shader.functions.iter().filter_map(|function| {
                let place = shader.origins.locate(function.group_size_span)?;
                let file = shader.sources.get(place.file)?;
                file.text.get(place.start as usize..place.end as usize)
            });
            unit.has_size_from_outside = sizes.any(|text| unit.is_given_from_outside(shader, text));
            unit
        })
    }

    fn note_words(&mut self, shader: &Shader) {
        for file in &shader.sources.files {
            self.of_files.extend(words(&file.text).map(hash));
        }
        let start_of_text = shader.text.as_ptr() as usize;
        for word in words(&shader.text) {
            let start = (word.as_ptr() as usize - start_of_text) as u32;
            let end = start + word.len() as u32;
            self.expanded.entry(hash(word)).or_insert(Span { start, end });
        }
        let structs = shader.structs.iter().map(|declared| declared.name.as_bytes());
        self.types
            .extend(structs.chain(typedefs(&shader.text)).map(Box::from));
    }

    fn note_declarations(&mut self, shader: &Shader) {
        for (id, function) in (0u32..).zip(&shader.functions) {
            let method = function.name.rsplit("::").next().unwrap_or_default();
            let of_name = self.declared.entry(hash(method.as_bytes())).or_default();
            of_name.push(Item::Function(id));
        }
        for (id, global) in (0u32..).zip(&shader.globals) {
            // What a resource holds is not known anyway.
            if !matches!(global.storage, Storage::Resource | Storage::Uniform) {
                let of_name = self
                    .declared
                    .entry(hash(global.own_name().as_bytes()))
                    .or_default();
                of_name.push(Item::Global(id));
            }
        }
    }

    pub fn is_macro(&self, name: &[u8]) -> bool {
        self.macros.contains_key(name)
    }

    /// Whether words of a fix may be something else where they stand: macros, of files or from outside. What names its line
    /// is another number behind a fix.
    pub fn may_change<'w>(&self, mut words: impl Iterator<Item = &'w [u8]>) -> bool {
        words.any(|word| self.is_macro(word) || self.given.contains(word)) || self.may_name(b"__LINE__")
    }

    /// The one definition of a macro of this name: the number of its file, and the line.
    pub fn defined(&self, shader: &Shader, name: &[u8]) -> Option<(usize, usize)> {
        let [(file, range)] = self.macros.get(name)?.as_slice() else {
            return None;
        };
        let before = shader.sources.files.get(*file)?.text.get(..range.start)?;
        Some((*file, before.split(|byte| *byte == b'\n').count()))
    }

    /// What a macro of this name is defined as.
    pub fn bodies<'s>(&self, shader: &'s Shader, name: &[u8]) -> impl Iterator<Item = &'s [u8]> {
        let bodies = self.macros.get(name).into_iter().flatten();
        bodies.filter_map(|(file, range)| shader.sources.files.get(*file)?.text.get(range.clone()))
    }

    /// The functions whose name, or the last part of it, this is, and the variables of this name, but for those that the
    /// host sets.
    pub fn declared(&self, shader: &Shader, name: &[u8]) -> impl Iterator<Item = Declared> {
        let items = self.declared.get(&hash(name)).into_iter().flatten();
        items.filter_map(move |item| {
            let (full, span) = match item {
                Item::Function(id) => {
                    let function = shader.functions.get(*id as usize)?;
                    (&*function.name, function.span)
                }
                Item::Global(id) => {
                    let global = shader.globals.get(*id as usize)?;
                    (global.own_name(), global.span)
                }
            };
            let is_method = matches!(item, Item::Function(_))
                && full.rsplit("::").next() == std::str::from_utf8(name).ok();
            let is_whole_name = full.as_bytes() == name;
            (is_whole_name || is_method).then_some(Declared { span, is_whole_name })
        })
    }

    /// Whether a macro has this name, or a function, a type, or a variable that the host does not set.
    pub fn declares(&self, shader: &Shader, name: &[u8]) -> bool {
        self.is_macro(name)
            || self.types.contains(name)
            || self.declared(shader, name).any(|declared| declared.is_whole_name)
    }

    /// Whether a word stands in the expanded text.
    pub fn is_expanded(&self, shader: &Shader, word: &[u8]) -> bool {
        let known = self.expanded.get(&hash(word));
        known.is_some_and(|span| span.slice(&shader.text) == word)
    }

    /// Whether a word stands anywhere, or may do so.
    pub fn may_name(&self, word: &[u8]) -> bool {
        let hash = hash(word);
        self.expanded.contains_key(&hash) || self.of_files.contains(&hash) || self.given.contains(word)
    }

    /// Whether a name in a text, of a macro's definition or otherwise, is defined in no file and yet not there any more after
    /// preprocessing.
    pub fn is_given_from_outside(&self, shader: &Shader, text: &[u8]) -> bool {
        let text = without_comments(text);
        let parameters: BTreeSet<Vec<u8>> = match text.first() {
            Some(b'(') => {
                let list = text.split(|byte| *byte == b')').next().unwrap_or_default();
                words(list).map(<[u8]>::to_vec).collect()
            }
            _ => BTreeSet::new(),
        };
        words(&text).any(|word| {
            !word[0].is_ascii_digit()
                && !self.is_expanded(shader, word)
                && !self.is_macro(word)
                && !parameters.contains(word)
        })
    }
}

/// By name: the text of each definition after it, in whatever arm it stands.
fn macros(shader: &Shader) -> FxHashMap<Box<[u8]>, Vec<Place>> {
    let mut macros: FxHashMap<Box<[u8]>, Vec<Place>> = FxHashMap::default();
    for (number, file) in shader.sources.files.iter().enumerate() {
        for (_, directive) in directives(&file.text) {
            let definition = directive.strip_prefix(b"define").map(<[u8]>::trim_ascii_start);
            if let Some(definition) = definition
                && let Some(name) = words(definition).next()
            {
                let body = definition.strip_prefix(name).unwrap_or(definition);
                let start = body.as_ptr() as usize - file.text.as_ptr() as usize;
                macros
                    .entry(name.into())
                    .or_default()
                    .push((number, start..start + body.len()));
            }
        }
    }
    macros
}

/// A text of the same length with blanks in the place of comments, in which line breaks stay.
fn with_blank_comments(text: &[u8]) -> Vec<u8> {
    let mut blank = text.to_vec();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let length = if rest.starts_with(b"//") {
            logical_line(rest).len()
        } else if rest.starts_with(b"/*") {
            let end = memmem::find(rest.get(2..).unwrap_or_default(), b"*/");
            end.map_or(rest.len(), |end| end + 4)
        } else {
            at += 1;
            continue;
        };
        for byte in blank.iter_mut().skip(at).take(length) {
            if !matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        at += length;
    }
    blank
}

/// A text with a blank for each comment; line breaks at the ends of comments stay.
pub(crate) fn without_comments(text: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let end = if rest.starts_with(b"//") {
            rest.iter().position(|byte| *byte == b'\n')
        } else if rest.starts_with(b"/*") {
            rest.windows(2).position(|pair| pair == b"*/").map(|at| at + 2)
        } else {
            kept.push(*first);
            rest = after;
            continue;
        };
        kept.push(b' ');
        rest = end.and_then(|end| rest.get(end..)).unwrap_or_default();
    }
    kept
}

/// Up to the first line break that no backslash takes away.
fn logical_line(text: &[u8]) -> &[u8] {
    let end = text.iter().enumerate().position(|(at, byte)| {
        let line = text.get(..at).unwrap_or_default();
        *byte == b'\n' && !line.strip_suffix(b"\r").unwrap_or(line).ends_with(b"\\")
    });
    text.get(..end.unwrap_or(text.len())).unwrap_or_default()
}

/// The lines that are directives: where each starts, and what comes after the `#`.
fn directives(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut next = 0;
    text.split(|byte| *byte == b'\n').filter_map(move |line| {
        let start = next;
        next += line.len() + 1;
        line.trim_ascii_start().strip_prefix(b"#")?;
        let line = logical_line(text.get(start..)?);
        let mut line = line.trim_ascii_start().strip_prefix(b"#")?.trim_ascii();
        // What comes after it may be on the next line.
        while let Some(rest) = line
            .strip_prefix(b"\\")
            .filter(|rest| rest.starts_with(b"\n") || rest.starts_with(b"\r\n"))
        {
            line = rest.trim_ascii_start();
        }
        Some((start, line))
    })
}

fn choices(shader: &Shader) -> Vec<Choice> {
    let mut choices = Vec::new();
    for (file, source) in shader.sources.files.iter().enumerate() {
        let text = with_blank_comments(&source.text);
        let lines: Vec<(usize, &[u8])> = directives(&text).collect();
        let mut open = Vec::new();
        for (number, (start, line)) in lines.iter().enumerate() {
            if line.starts_with(b"if") {
                open.push((number, *start, false));
            } else if line.starts_with(b"el") {
                if let Some((.., has_other_arm)) = open.last_mut() {
                    *has_other_arm = true;
                }
            } else if line.starts_with(b"endif")
                && let Some((opened_by, start_of_all, has_other_arm)) = open.pop()
            {
                let after = source.text.get(*start..).unwrap_or_default();
                let asked = lines[opened_by].1.strip_prefix(b"ifndef");
                let defined = lines
                    .get(opened_by + 1)
                    .and_then(|(_, line)| line.strip_prefix(b"define"));
                let is_guard = opened_by == 0
                    && !has_other_arm
                    && number + 1 == lines.len()
                    && asked.map(<[u8]>::trim_ascii) == defined.map(<[u8]>::trim_ascii)
                    && asked.is_some();
                choices.push(Choice {
                    file,
                    start: start_of_all,
                    end: start
                        + after
                            .iter()
                            .position(|byte| *byte == b'\n')
                            .unwrap_or(after.len()),
                    is_guard,
                });
            }
        }
        choices.extend(open.into_iter().map(|(_, start, _)| Choice {
            file,
            start,
            end: source.text.len(),
            is_guard: false,
        }));
    }
    choices
}

/// The words of all `typedef` and `using`, among them the names they declare.
fn typedefs(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let statements = text.split(|byte| matches!(byte, b';' | b'{' | b'}'));
    statements
        .filter(|statement| {
            words(statement)
                .next()
                .is_some_and(|word| word == b"typedef" || word == b"using")
        })
        .flat_map(words)
}

/// The identifiers (and numbers) of a text.
pub(crate) fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
        .filter(|word| !word.is_empty())
}
