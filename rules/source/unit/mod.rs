//! Facts about the names of a whole unit, computed once.

mod choices;
mod meanings;
mod pasting;
mod plain;

pub(crate) use choices::{Choice, begins_in_all};

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use memchr::memmem;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use shaderlint_hlsl::{
    Definition, Definitions, Directive, Directives, FileId, FileSpan, Reach, Shader, Span, Storage, Text,
    blank_comments, directives, without_dead_arms,
};

use crate::source::declaring::{declares_type_or_enumerator, typedefs};
use crate::source::lines::line_after;
use crate::source::words::{is_part, words};
use choices::choices;
use pasting::Pieces;
use plain::Plain;

/// How many bytes the proofs for one kernel's fixes may read. A kernel that calls unknown functions makes each proof
/// read the whole unit.
pub(crate) const MAX_TEXT: usize = 4_000_000;

/// The words of a unit's files and of its expanded text, and what they are.
pub(crate) struct Unit {
    definitions: Definitions,
    /// Names that are defined from outside.
    given: FxHashSet<Box<[u8]>>,
    pub choices: Vec<Choice>,
    /// The files, without arms that no build reads.
    living: Vec<Text>,
    /// Hashes of the words of all files.
    of_files: FxHashSet<u64>,
    /// Where a word of the expanded text stands, by the hash of the word.
    expanded: FxHashMap<u64, Span>,
    /// Names of structs, and of `typedef`, `using` and `namespace`.
    types: FxHashSet<Box<[u8]>>,
    /// Functions, and variables but for those that the host sets, by the hash of the last part of their names.
    declared: FxHashMap<u64, Vec<Item>>,
    /// The files without comments and line continuations.
    plain: Vec<Arc<Plain>>,
    /// What `##` puts together; known once it is asked for.
    pieces: OnceLock<Option<Pieces>>,
    /// A thread group has a size whose name is given from outside.
    pub has_size_from_outside: bool,
    /// A file includes itself. Then a build may compile two arms of one choice, and one arm may define what the other
    /// is compiled with.
    pub has_file_within_itself: bool,
    /// An `#include` names a macro that builds may define differently: other files may be read than these.
    pub has_chosen_include: bool,
    /// Some text uses a macro that expands to nothing unless a build defines it: any code may be there.
    pub has_hook: bool,
}

/// A word in a file, with the text before and behind it.
struct Occurrence<'u> {
    file: FileId,
    before: &'u [u8],
    behind: &'u [u8],
}

#[derive(Clone, Copy)]
enum Item {
    Function(u32),
    Global(u32),
}

/// A declaration of a name.
pub(crate) struct Declared {
    pub span: Span,
    /// It declares the whole name, not a method of that name.
    pub is_whole_name: bool,
}

fn hash(word: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    word.hash(&mut hasher);
    hasher.finish()
}

impl Unit {
    pub fn of(shader: &Shader) -> Arc<Unit> {
        shader.once(|shader| {
            let files = shader.sources.files.iter().map(|file| &file.text);
            let texts = without_dead_arms(files, &shader.given);
            let mut unit = Unit {
                definitions: Definitions::in_texts(&texts, &shader.given),
                given: (shader.given.iter().map(|(name, _)| name.as_bytes().into())).collect(),
                choices: choices(&texts),
                of_files: FxHashSet::default(),
                expanded: FxHashMap::default(),
                types: FxHashSet::default(),
                declared: FxHashMap::default(),
                plain: texts.iter().map(Text::derived).collect(),
                pieces: OnceLock::new(),
                living: texts,
                has_size_from_outside: false,
                has_file_within_itself: false,
                has_chosen_include: false,
                has_hook: false,
            };
            unit.has_hook = unit.has_hook(shader);
            unit.has_chosen_include = unit.living.iter().any(|text| {
                let lines = text.derived::<Directives>();
                lines.iter().any(|line| unit.is_chosen_include(line))
            });
            unit.has_file_within_itself = unit.choices.iter().any(|choice| {
                let file = u32::try_from(choice.file).map(FileId);
                !choice.is_guard && file.is_ok_and(|file| shader.origins.is_within_itself(file))
            });
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

    /// Whether a file has `#ifndef HOOK`, `#define HOOK`, `#endif`, and uses `HOOK` outside of directives.
    fn has_hook(&self, shader: &Shader) -> bool {
        let files = (0u32..).map(FileId).zip(&shader.sources.files);
        let mut hooks = files.flat_map(|(id, file)| {
            let lines = file.text.derived::<Directives>();
            let pairs = lines.windows(2).filter(|pair| {
                (&*pair[0].keyword, &*pair[1].keyword) == (b"ifndef", b"define")
                    && pair[0].argument.trim_ascii() == pair[1].argument.trim_ascii()
            });
            let guard = self
                .choices
                .iter()
                .any(|choice| choice.is_guard && choice.file == id.0 as usize);
            let hooks = pairs.skip(usize::from(guard));
            hooks
                .map(|pair| pair[0].argument.trim_ascii().to_vec())
                .collect::<Vec<_>>()
        });
        hooks.any(|hook| {
            self.occurrences(&hook)
                .any(|found| !is_in_directive(found.before))
        })
    }

    fn is_chosen_include(&self, line: &Directive) -> bool {
        let written = line.argument.trim_ascii_start();
        if !line.keyword.starts_with(b"include") || matches!(written.first(), None | Some(b'"' | b'<')) {
            return false;
        }
        let reach = self.definitions.reach(written);
        // A single definition that every build has.
        let is_open = |name: &[u8]| match self.definitions.named(name) {
            [] => false,
            [only] => self.is_chosen(only),
            _ => true,
        };
        words(written).all(|word| self.definitions.named(word).is_empty()) || words(&reach.text).any(is_open)
    }

    /// Whether a build may lack this definition, or have another one.
    pub fn is_chosen(&self, definition: &Definition) -> bool {
        let Some((file, start)) = definition.place else {
            return true;
        };
        let is_around = |choice: &&Choice| {
            choice.file == file.0 as usize && (choice.start..choice.end).contains(&(start as usize))
        };
        self.choices
            .iter()
            .filter(is_around)
            .any(|choice| !choice.is_guard)
    }

    fn note_words(&mut self, shader: &Shader) {
        for text in &self.plain {
            self.of_files.extend(words(text).map(hash));
        }
        for (_, value) in &shader.given {
            self.of_files.extend(words(value.as_bytes()).map(hash));
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
            // The contents of a resource are unknown anyway.
            if !matches!(global.storage, Storage::Resource | Storage::Uniform) {
                let of_name = self
                    .declared
                    .entry(hash(global.own_name().as_bytes()))
                    .or_default();
                of_name.push(Item::Global(id));
            }
        }
    }

    /// Whether a file defines a macro of this name.
    pub fn is_macro(&self, name: &[u8]) -> bool {
        let mut definitions = self.definitions.named(name).iter();
        definitions.any(|definition| definition.place.is_some())
    }

    /// The occurrences of a word in the files.
    fn occurrences<'u>(&'u self, name: &'u [u8]) -> impl Iterator<Item = Occurrence<'u>> {
        let files = (0..).map(FileId).zip(&self.plain);
        let found = files.flat_map(move |(file, text)| {
            memmem::find_iter(text, name).map(move |at| Occurrence {
                file,
                before: &text[..at],
                behind: &text[at + name.len()..],
            })
        });
        found.filter(|found| {
            !found.before.last().is_some_and(|byte| is_part(*byte))
                && !found.behind.first().is_some_and(|byte| is_part(*byte))
        })
    }

    /// Whether a build defines a macro of this name: by `-D`, a keyword, a variant, or for one of its kernels.
    pub fn is_given(&self, name: &[u8]) -> bool {
        self.given.contains(name)
    }

    /// Whether a fix must not declare a variable of this name, even where it would hide nothing: the name is a macro,
    /// or may be a template, whose specialization DXC takes the declaration for.
    pub fn is_macro_or_template(&self, name: &[u8]) -> bool {
        self.is_macro(name) || self.may_name(name) && self.may_name(b"template")
    }

    /// How often the files mention a name, also in text that this build leaves out.
    pub fn times_named(&self, name: &str) -> usize {
        let named =
            { self.plain.iter() }.map(|text| words(text).filter(|word| *word == name.as_bytes()).count());
        named.sum()
    }

    /// Whether a choice decides under which name something is declared, so that a build may give it any name.
    pub fn declares_by_choice(&self, shader: &Shader) -> bool {
        let names_it = |word: &[u8], span: Span| {
            let place = shader.origins.locate(span);
            let text = place.and_then(|place| {
                let file = shader.sources.get(place.file)?;
                file.text.get(place.start as usize..place.end as usize)
            });
            text.is_none_or(|text| words(text).any(|own| own == word))
        };
        let is_hidden = |word: &[u8]| {
            let declaring = shader.declaring(word);
            declaring.is_none_or(|spans| spans.iter().any(|span| !names_it(word, *span)))
        };
        let is_chosen = |definition: &Definition| definition.place.is_some() && self.is_chosen(definition);
        let chosen = self
            .definitions
            .all()
            .filter(|(_, definition)| is_chosen(definition));
        chosen
            .flat_map(|(_, definition)| words(&definition.body))
            .any(is_hidden)
    }

    /// The one definition of a macro of this name: the number of its file, and the line.
    pub fn defined(&self, shader: &Shader, name: &[u8]) -> Option<(usize, usize)> {
        let [definition] = self.definitions.named(name) else {
            return None;
        };
        let (file, start) = definition.place?;
        let before = shader.sources.get(file)?.text.get(..start as usize)?;
        Some((file.0 as usize, line_after(before)))
    }

    /// The definitions of a macro of this name.
    pub fn definitions(&self, name: &[u8]) -> &[Definition] {
        self.definitions.named(name)
    }

    /// The arguments of every call of a macro whose definition these texts choose, directly or through other macros.
    pub fn given_to_chosen(&self, choices: &[&[u8]]) -> Vec<&[u8]> {
        let mut chosen: FxHashSet<&[u8]> = FxHashSet::default();
        let lines: Vec<Directive> = choices.iter().flat_map(|text| directives(text)).collect();
        for line in &lines {
            if matches!(&line.keyword[..], b"define" | b"undef") {
                chosen.extend(words(&line.argument).next());
            }
        }
        self.add_callers(&mut chosen);
        let mut given = Vec::new();
        for text in self.plain.iter().filter(|_| !chosen.is_empty()) {
            for word in words(text).filter(|word| chosen.contains(word)) {
                let end = word.as_ptr() as usize - text.as_ptr() as usize + word.len();
                given.extend(arguments(text.get(end..).unwrap_or_default()));
            }
        }
        given
    }

    /// Adds the macros whose bodies name these macros, directly or through others.
    fn add_callers<'u>(&'u self, macros: &mut FxHashSet<&'u [u8]>) {
        loop {
            let callers = self.definitions.all().filter(|(name, one)| {
                !macros.contains(name) && words(&one.body).any(|word| macros.contains(word))
            });
            let callers: Vec<&[u8]> = callers.map(|(name, _)| name).collect();
            if callers.is_empty() {
                return;
            }
            macros.extend(callers);
        }
    }

    /// The texts of the files, without arms that no build reads.
    pub fn living(&self) -> &[Text] {
        &self.living
    }

    /// The text at a place of a file, without arms that no build reads.
    pub fn text_at(&self, place: FileSpan) -> &[u8] {
        let part = place.start as usize..place.end as usize;
        self.text_in(place.file.0 as usize, part)
    }

    /// The text of a file from the end of one place to the end of another around it.
    pub fn text_behind<'u>(&'u self, shader: &'u Shader, place: Span, around: Span) -> Option<&'u [u8]> {
        let [place, around] = [place, around].map(|span| shader.origins.locate(span));
        let (place, around) = (place?, around?);
        let behind = FileSpan {
            file: around.file,
            start: place.end,
            end: around.end,
        };
        (place.file == around.file).then(|| self.text_at(behind))
    }

    /// The text of a choice, without arms that no build reads.
    pub fn text_of(&self, choice: &Choice) -> &[u8] {
        self.text_in(choice.file, choice.start..choice.end)
    }

    fn text_in(&self, file: usize, part: Range<usize>) -> &[u8] {
        let text = self.living.get(file);
        text.and_then(|text| text.get(part)).unwrap_or_default()
    }

    /// What a text may expand to, compiled or not.
    pub fn reach(&self, text: &[u8]) -> Reach<'_> {
        self.definitions.reach(text)
    }

    /// The functions with this name, or with it as the last part of their name, and the variables of this name but
    /// for those that the host sets.
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

    /// Whether this is the name of a macro, a function, a type, an enumerator, or a variable that the host does not
    /// set.
    pub fn declares(&self, shader: &Shader, name: &[u8]) -> bool {
        self.is_macro(name) || self.is_declared(shader, name)
    }

    /// The same without macros.
    fn is_declared(&self, shader: &Shader, name: &[u8]) -> bool {
        self.types.contains(name)
            || self.declared(shader, name).any(|declared| declared.is_whole_name)
            || shader.declaring(name).is_none_or(|items| {
                items
                    .iter()
                    .any(|item| declares_type_or_enumerator(item.slice(&shader.text), name))
            })
    }

    /// Whether a `using` may bring in names that it does not spell, as `using namespace` does. `using A::b;` brings in
    /// `b` alone, and `using T = …;` declares `T`. Such a name is a word of the unit: no fix declares it, nor takes it
    /// for an intrinsic.
    pub fn may_use_namespace(&self) -> bool {
        let spells_all = |found: Occurrence| {
            let line = found
                .behind
                .split(|byte| *byte == b'\n')
                .next()
                .unwrap_or_default();
            let statement = line.trim_ascii_start();
            let first = words(statement).next().filter(|word| statement.starts_with(word));
            let is_plain = |word: &[u8]| word != b"namespace" && self.definitions.named(word).is_empty();
            !is_in_directive(found.before) && first.is_some_and(is_plain) && statement.contains(&b';')
        };
        // A definition from outside or `##` may make another one.
        let is_given =
            |one: &Definition| one.place.is_none() && words(&one.body).any(|word| word == b"using");
        self.may_be_pasted_as_defined(b"using")
            || self.definitions.all().any(|(_, one)| is_given(one))
            || !self.occurrences(b"using").all(spells_all)
    }

    /// Whether a word stands in the expanded text.
    pub fn is_expanded(&self, shader: &Shader, word: &[u8]) -> bool {
        let known = self.expanded.get(&hash(word));
        known.is_some_and(|span| span.slice(&shader.text) == word)
    }

    /// Whether a word may stand anywhere in the unit.
    pub fn may_name(&self, word: &[u8]) -> bool {
        let hash = hash(word);
        self.expanded.contains_key(&hash) || self.of_files.contains(&hash) || self.given.contains(word)
    }

    /// Whether a text has a name that no file defines and that preprocessing removes.
    pub fn is_given_from_outside(&self, shader: &Shader, text: &[u8]) -> bool {
        let text = blank_comments(text);
        let is_of_compiler = |line: &&[u8]| {
            let directive = line.trim_ascii().strip_prefix(b"#").map(<[u8]>::trim_ascii_start);
            directive.is_some_and(|line| line.starts_with(b"line") || line.starts_with(b"pragma"))
        };
        let mut lines = text
            .split(|byte| *byte == b'\n')
            .filter(|line| !is_of_compiler(line));
        lines.any(|line| self.names_from_outside(shader, line, &BTreeSet::new()))
    }

    /// The same for the body of a definition, whose parameters do not count.
    pub fn is_body_given_from_outside(&self, shader: &Shader, definition: &Definition) -> bool {
        let parameters = words(&definition.parameters).collect();
        self.names_from_outside(shader, &definition.body, &parameters)
    }

    fn names_from_outside(&self, shader: &Shader, text: &[u8], parameters: &BTreeSet<&[u8]>) -> bool {
        words(text).any(|word| {
            !word[0].is_ascii_digit()
                && !self.is_expanded(shader, word)
                && !self.is_macro(word)
                && !parameters.contains(word)
        })
    }
}

/// The texts of a unit's files without comments, also those that this build leaves out.
pub(crate) fn code_of_files(shader: &Shader) -> impl Iterator<Item = Vec<u8>> {
    shader.sources.files.iter().map(|file| blank_comments(&file.text))
}

/// Whether the text behind this one is in a directive.
fn is_in_directive(before: &[u8]) -> bool {
    let line = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    line.trim_ascii_start().starts_with(b"#")
}

/// What stands between the parentheses that a text begins with.
fn arguments(text: &[u8]) -> Option<&[u8]> {
    let inner = text.trim_ascii_start().strip_prefix(b"(")?;
    let mut depth = 1_usize;
    let end = inner.iter().position(|byte| {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    inner.get(..end.unwrap_or(inner.len()))
}
