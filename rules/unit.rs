//! What rules ask of a whole unit, worked out once.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, Range};
use std::sync::Arc;

use memchr::memmem;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use shaderlint_hlsl::{
    Definition, Definitions, Derived, Directive, Directives, FileId, FileSpan, FunctionId, Intrinsic, Reach,
    Shader, Span, Storage, Text, blank_comments, directives, include_guard, is_type_name, without_dead_arms,
};
use shaderlint_linter::NoFix;

use crate::declaring::{
    alias, calls_around, declares_type_or_enumerator, is_asked_for, last_word, may_be_a_function,
    may_be_a_type, typedefs,
};
use crate::lines::{file_name, line_after};

/// Bytes of text that may be read for the proofs of what is offered for one kernel: where it calls what is not there, all
/// of a unit is read for each.
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
    /// By its hash: where one of the words of the expanded text stands.
    expanded: FxHashMap<u64, Span>,
    /// Names of structs, and of `typedef`, `using` and `namespace`.
    types: FxHashSet<Box<[u8]>>,
    /// By hash of the last part of their names: functions, and variables but for those that the host sets.
    declared: FxHashMap<u64, Vec<Item>>,
    /// The files without comments, in which lines that a backslash continues are one.
    plain: Vec<Arc<Plain>>,
    /// A size of a thread group is written in a name that is given from outside.
    pub has_size_from_outside: bool,
    /// A file is read in the midst of itself: of a choice in it two arms may be compiled, and one may define what the other
    /// one is compiled with.
    pub has_file_within_itself: bool,
    /// An `#include` has a macro of which a build may choose the definition: other files may be read than these.
    pub has_chosen_include: bool,
    /// Some text has a macro that is nothing unless a build defines it: there may be anything.
    pub has_hook: bool,
}

/// A word in a file, and what is before it and behind it there.
struct Occurrence<'u> {
    file: FileId,
    before: &'u [u8],
    behind: &'u [u8],
}

/// What may give a name another meaning.
enum Meaning {
    /// A definition from outside.
    Given,
    /// Something in a file, and where.
    At(FileId, Option<u32>),
    /// A macro that puts names together.
    Pasted,
    /// A declaration that is put together, or not told from others.
    Unknown,
}

impl Meaning {
    fn in_words(&self, shader: &Shader) -> String {
        let Meaning::At(file, place) = self else {
            let what = match self {
                Meaning::Given => "-D",
                Meaning::Pasted => "a macro with ##",
                _ => "a declaration in these files",
            };
            return what.to_owned();
        };
        let Some(source) = shader.sources.get(*file) else {
            return "a file".to_owned();
        };
        let name = file_name(&source.path);
        let before = place.and_then(|place| source.text.get(..place as usize));
        match before {
            Some(before) if shader.sources.files.len() == 1 => format!("line {}", line_after(before)),
            Some(before) => format!("line {} of {name}", line_after(before)),
            None => name.to_owned(),
        }
    }
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

    /// `#ifndef HOOK`, `#define HOOK`, `#endif`, and HOOK where it is no directive's.
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
        let is_directive = |before: &[u8]| {
            let line = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
            line.trim_ascii_start().starts_with(b"#")
        };
        hooks.any(|hook| self.occurrences(&hook).any(|found| !is_directive(found.before)))
    }

    fn is_chosen_include(&self, line: &Directive) -> bool {
        let written = line.argument.trim_ascii_start();
        if !line.keyword.starts_with(b"include") || matches!(written.first(), None | Some(b'"' | b'<')) {
            return false;
        }
        let reach = self.definitions.reach(written);
        // One definition, which every build meets.
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

    /// Whether a file defines a macro of this name.
    pub fn is_macro(&self, name: &[u8]) -> bool {
        let mut definitions = self.definitions.named(name).iter();
        definitions.any(|definition| definition.place.is_some())
    }

    /// What may give a word of a fix another meaning, if anything does: a macro, or a text of the unit, compiled or not, that
    /// declares what the language has under this name: `struct uint2 { … }`, a member or a variable called `WavePrefixSum`,
    /// or a name that is put together.
    ///
    /// What declares a name has it where the language's own use does not: an intrinsic's name without a call, behind a
    /// type or a dot; a type's name as that of a struct, of an enumerator, or behind another type. So it is enough to look
    /// at what stands around each occurrence. Some uses look the same, which costs a fix, never a wrong one.
    fn other_meanings(&self, shader: &Shader, name: &[u8]) -> Vec<Meaning> {
        let mut found = Vec::new();
        if self.given.contains(name) {
            found.push(Meaning::Given);
        }
        let places = self.definitions.named(name).iter().filter_map(|one| one.place);
        found.extend(places.map(|(file, at)| Meaning::At(file, Some(at))));
        let intrinsic = std::str::from_utf8(name).ok().and_then(Intrinsic::from_name);
        // No macro is given a wave intrinsic as an operator.
        let is_of_waves = name.starts_with(b"Wave");
        let is_redeclared: fn(&[u8], &[u8]) -> bool = match intrinsic {
            Some(_) if is_of_waves => |before, behind| {
                behind.trim_ascii_start().first() != Some(&b'(') || may_be_a_function(before, behind)
            },
            Some(_) => may_be_a_function,
            None if is_type_name(name) => may_be_a_type,
            None => return found,
        };
        // A variable of an intrinsic's name is declared nowhere in these terms.
        let shows = intrinsic.is_none() && !self.is_declared(shader, name);
        // What is another name for it declares it only where that is declared.
        let declares = |found: &Occurrence| match alias(found.before, found.behind) {
            _ if shows && self.is_told_by_expansion(shader, found) => false,
            Some((alias, _)) if self.may_be_pasted(alias) => true,
            Some((alias, rest)) => self.occurrences(alias).any(|of_alias| {
                !is_asked_for(of_alias.before)
                    && is_redeclared(
                        of_alias.before,
                        if rest.is_empty() { of_alias.behind } else { rest },
                    )
            }),
            None => ends_before(found.before)
                .into_iter()
                .any(|before| is_redeclared(self.end_of_macro(before).unwrap_or(before), found.behind)),
        };
        found.extend(self.occurrences(name).filter(declares).map(|found| {
            // Where a token goes on in another line, places have moved.
            let length = shader.sources.get(found.file).map(|file| file.text.len());
            let is_exact = length == Some(found.before.len() + name.len() + found.behind.len());
            let place = u32::try_from(found.before.len()).ok();
            Meaning::At(found.file, place.filter(|_| is_exact))
        }));
        if intrinsic.is_some() && self.may_be_pasted(name) {
            found.push(Meaning::Pasted);
        }
        if found.is_empty() && self.declares(shader, name) {
            found.push(Meaning::Unknown);
        }
        found
    }

    /// What a word comes after where a macro's name stands before it, if that is the same for every build: `END x` is `}} x`.
    fn end_of_macro(&self, before: &[u8]) -> Option<&[u8]> {
        let name = last_word(before.trim_ascii_end());
        let [only] = self.definitions.named(name) else {
            return None;
        };
        let is_stable = |word: &[u8]| self.definitions.named(word).is_empty();
        let is_object = only.parameters.is_empty() && !only.body.trim_ascii().is_empty();
        (is_object && !self.is_chosen(only) && words(&only.body).all(is_stable)).then_some(&*only.body)
    }

    /// Whether what a word declares where it stands shows in the expanded text of any build: it stands in no directive and
    /// under no choice, and all macros that it is given to have one definition, which every build meets.
    fn is_told_by_expansion(&self, shader: &Shader, found: &Occurrence) -> bool {
        let line = found
            .before
            .rsplit(|byte| *byte == b'\n')
            .next()
            .unwrap_or_default();
        let at = found.before.len();
        let is_around = |choice: &Choice| {
            choice.file == found.file.0 as usize && (choice.start..choice.end).contains(&at)
        };
        if line.trim_ascii_start().starts_with(b"#")
            || self
                .choices
                .iter()
                .any(|choice| !choice.is_guard && is_around(choice))
        {
            return false;
        }
        calls_around(found.before).into_iter().all(|callee| {
            let is_known = callee.is_empty() || self.is_macro(callee) || self.is_expanded(shader, callee);
            let reach = self.reach(callee);
            is_known
                && words(&reach.text).all(|word| match self.definitions.named(word) {
                    [] => true,
                    [only] => !self.is_chosen(only),
                    _ => false,
                })
        })
    }

    /// Whether a type's name has another meaning in builds alone that choose otherwise: what gives it stands where an `#if`
    /// chooses, or is given to a macro, whose expansion shows what this build makes of it; and in this build the function
    /// has the name as the language's own.
    fn is_of_other_builds(
        &self,
        shader: &Shader,
        function: FunctionId,
        name: &[u8],
        meaning: &Meaning,
    ) -> bool {
        let Meaning::At(file, Some(place)) = meaning else {
            return false;
        };
        let mut choices = self.choices.iter().filter(|choice| !choice.is_guard);
        let is_chosen = choices.any(|choice| {
            choice.file == file.0 as usize && (choice.start..choice.end).contains(&(*place as usize))
        });
        let is_given_to_macro = || {
            let text = self.plain.get(file.0 as usize);
            let before = text
                .and_then(|text| text.get(..*place as usize))
                .unwrap_or_default();
            calls_around(before)
                .into_iter()
                .any(|callee| self.is_macro(callee))
        };
        let function = shader.functions.get(function.0 as usize);
        let stands_there = || {
            function.is_some_and(|function| words(function.span.slice(&shader.text)).any(|word| word == name))
        };
        is_type_name(name)
            && (is_chosen || is_given_to_macro())
            && !self.is_declared(shader, name)
            && stands_there()
    }

    /// Whether a word is a type's name to which some build may give another meaning.
    pub fn may_be_another_type(&self, shader: &Shader, name: &[u8]) -> bool {
        is_type_name(name) && !self.other_meanings(shader, name).is_empty()
    }

    /// Where a word stands in the files.
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

    /// Whether a variable that a fix declares in a function may not have this name, whatever it hides: it is that of a macro, or may
    /// be that of a template, whose specialization DXC takes the declaration for.
    pub fn is_macro_or_template(&self, name: &[u8]) -> bool {
        self.is_macro(name) || self.may_name(name) && self.may_name(b"template")
    }

    /// How often the files have a name, with what is left out of this build.
    pub fn times_named(&self, name: &str) -> usize {
        let named =
            { self.plain.iter() }.map(|text| words(text).filter(|word| *word == name.as_bytes()).count());
        named.sum()
    }

    /// Whether `##` may put this word together of words of the files.
    pub fn may_be_pasted(&self, word: &[u8]) -> bool {
        let Ok(name) = std::str::from_utf8(word) else {
            return false;
        };
        let mut definitions = self.definitions.all().filter(|(_, one)| one.may_paste(name));
        if definitions.next().is_none() {
            return false;
        }
        // Which lengths of its start are made of words.
        let mut ends = vec![0];
        for end in 1..=word.len() {
            let is_piece =
                |start: &usize| end - start < word.len() && self.of_files.contains(&hash(&word[*start..end]));
            if ends.iter().any(is_piece) {
                ends.push(end);
            }
        }
        ends.last() == Some(&word.len())
    }

    /// Why a fix in `function` may be something else where it stands: by its words, or as what names its line, or counts, is
    /// another number behind it.
    pub fn may_change<'w>(
        &self,
        shader: &Shader,
        function: FunctionId,
        of_fix: impl Iterator<Item = &'w [u8]>,
    ) -> Option<NoFix> {
        self.may_mean_another(shader, function, of_fix)
            .or_else(|| self.may_count_lines(shader, function))
    }

    /// Why words of a fix in `function` may be something else where they stand: macros, of files or from outside, or HLSL's
    /// own names that the unit declares anew. Types' names that other builds alone declare anew are left to
    /// [`Unit::may_be_another_type`].
    pub fn may_mean_another<'w>(
        &self,
        shader: &Shader,
        function: FunctionId,
        of_fix: impl Iterator<Item = &'w [u8]>,
    ) -> Option<NoFix> {
        // A variable may have the name of a type.
        let holder = shader.functions.get(function.0 as usize);
        let is_variable = |word: &[u8]| {
            let mut locals = holder.into_iter().flat_map(|holder| &holder.locals);
            is_type_name(word) && locals.any(|local| local.name.as_bytes() == word)
        };
        let words: Vec<&[u8]> = of_fix.collect();
        if let Some(word) = words.iter().find(|word| is_variable(word)) {
            let word = String::from_utf8_lossy(word);
            let text = format!("the fix says `{word}`, the name of a variable here");
            return Some(NoFix::new("redefined-name", text).named(word));
        }
        let of_word = |word| {
            let meanings = self.other_meanings(shader, word).into_iter();
            let mut own = meanings.filter(|one| !self.is_of_other_builds(shader, function, word, one));
            Some((word, own.next()?))
        };
        let (word, meaning) = words.into_iter().find_map(of_word)?;
        let word = String::from_utf8_lossy(word);
        let what = meaning.in_words(shader);
        let text = format!("the fix says `{word}`, a name that {what} may give another meaning");
        Some(NoFix::new("redefined-name", text).named(word))
    }

    fn may_count_lines(&self, shader: &Shader, function: FunctionId) -> Option<NoFix> {
        let word = self.counting(shader, function)?;
        let text = format!("`{word}` is another number behind a fix");
        Some(NoFix::new("counts-lines", text).named(word))
    }

    /// What may be another number behind a fix in the function.
    pub fn counting(&self, shader: &Shader, function: FunctionId) -> Option<&'static str> {
        let counting = ["__LINE__", "__COUNTER__"];
        let is_named = |word: &&str| self.may_name(word.as_bytes()) || self.may_be_pasted(word.as_bytes());
        if !counting.iter().any(is_named) {
            return None;
        }
        // Of other files no line moves.
        let function = shader.functions.get(function.0 as usize);
        let file = function.and_then(|function| shader.origins.locate(function.name_span));
        let text = file.and_then(|place| self.plain.get(place.file.0 as usize));
        let reach = text.map(|text| self.reach(text));
        let is_reached = |word: &&str| {
            reach.as_ref().is_none_or(|reach| {
                reach.may_paste(word) || words(&reach.text).any(|own| own == word.as_bytes())
            })
        };
        counting.into_iter().find(is_reached)
    }

    /// Whether a choice decides under which name something is declared, so that a build may give it any other one.
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

    /// What a macro of this name is defined as.
    pub fn definitions(&self, name: &[u8]) -> &[Definition] {
        self.definitions.named(name)
    }

    /// What macros are given anywhere whose definition such texts choose, be it by way of others: one text for each call.
    pub fn given_to_chosen(&self, choices: &[&[u8]]) -> Vec<&[u8]> {
        let mut chosen: FxHashSet<&[u8]> = FxHashSet::default();
        let lines: Vec<Directive> = choices.iter().flat_map(|text| directives(text)).collect();
        for line in &lines {
            if matches!(&line.keyword[..], b"define" | b"undef") {
                chosen.extend(words(&line.argument).next());
            }
        }
        loop {
            let by_way = self.definitions.all().filter(|(name, one)| {
                !chosen.contains(name) && words(&one.body).any(|word| chosen.contains(word))
            });
            let by_way: Vec<&[u8]> = by_way.map(|(name, _)| name).collect();
            if by_way.is_empty() {
                break;
            }
            chosen.extend(by_way);
        }
        let mut given = Vec::new();
        for text in self.plain.iter().filter(|_| !chosen.is_empty()) {
            for word in words(text).filter(|word| chosen.contains(word)) {
                let end = word.as_ptr() as usize - text.as_ptr() as usize + word.len();
                given.extend(arguments(text.get(end..).unwrap_or_default()));
            }
        }
        given
    }

    /// The texts of the files, without what no build reads.
    pub fn living(&self) -> &[Text] {
        &self.living
    }

    /// What stands in a place of a file, without what no build reads.
    pub fn text_at(&self, place: FileSpan) -> &[u8] {
        let part = place.start as usize..place.end as usize;
        self.text_in(place.file.0 as usize, part)
    }

    /// What stands in a file behind one place and to the end of another one around it.
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

    /// The text of a choice, without what no build reads.
    pub fn text_of(&self, choice: &Choice) -> &[u8] {
        self.text_in(choice.file, choice.start..choice.end)
    }

    fn text_in(&self, file: usize, part: Range<usize>) -> &[u8] {
        let text = self.living.get(file);
        text.and_then(|text| text.get(part)).unwrap_or_default()
    }

    /// What a text may expand to, be it compiled or not.
    pub fn reach(&self, text: &[u8]) -> Reach<'_> {
        self.definitions.reach(text)
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

    /// Whether a macro has this name, or a function, a type, an enumerator, or a variable that the host does not set.
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

    /// Whether a name in a text is defined in no file and yet not there any more after preprocessing.
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

    /// The same of a definition's body, whose parameters are no names.
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

/// Whether no build has an `if` or the like before a statement that this one does not have there: behind an `#endif` each
/// arm ends with a statement or a block.
pub(crate) fn begins_in_all(shader: &Shader, statement: Span) -> bool {
    let place = shader.origins.locate(statement);
    let text = place.and_then(|place| shader.sources.get(place.file)?.text.get(..place.start as usize));
    let Some(text) = text else { return false };
    let text = blank_comments(text);
    let ends = ends_before(&text);
    let is_whole = |end: &&[u8]| {
        end.trim_ascii_end()
            .last()
            .is_none_or(|last| b";{}:".contains(last))
    };
    ends.len() == 1 || ends.iter().all(is_whole)
}

/// What may come before a word that stands behind this text: behind an `#endif` what any of its arms ends with, or what stands
/// before it.
fn ends_before(text: &[u8]) -> Vec<&[u8]> {
    let mut ends = Vec::new();
    let (mut depth, mut is_looked_for) = (0_usize, true);
    let mut end = text.len();
    for (number, line) in text.rsplit(|byte| *byte == b'\n').enumerate() {
        let plain = line.trim_ascii();
        // The word's own line is no directive that has ended.
        if let Some(directive) = plain.strip_prefix(b"#").filter(|_| number > 0) {
            let keyword = directive.trim_ascii_start();
            if keyword.starts_with(b"endif") {
                depth += 1;
            } else if keyword.starts_with(b"if") {
                depth = depth.saturating_sub(1);
            }
            is_looked_for = true;
        } else if is_looked_for && !plain.is_empty() {
            ends.push(text.get(..end).unwrap_or(text));
            if depth == 0 {
                return ends;
            }
            is_looked_for = false;
        }
        end = end.saturating_sub(line.len() + 1);
    }
    ends.push(&[]);
    ends
}

/// The texts of a unit's files without comments, with what this build leaves out.
pub(crate) fn code_of_files(shader: &Shader) -> impl Iterator<Item = Vec<u8>> {
    shader.sources.files.iter().map(|file| blank_comments(&file.text))
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

/// A text without comments, in which lines that a backslash continues are one. It is as long as it was unless a token goes
/// on in another line.
struct Plain(Vec<u8>);

impl Derived for Plain {
    fn of(text: &Text) -> Self {
        Plain(plain(text))
    }
}

impl Deref for Plain {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

fn plain(text: &[u8]) -> Vec<u8> {
    let text = blank_comments(text);
    if memmem::find(&text, b"\\").is_none() {
        return text;
    }
    let mut joined = Vec::with_capacity(text.len());
    let mut rest = text.as_slice();
    while let Some((first, after)) = rest.split_first() {
        let end = (*first == b'\\').then(|| after.strip_prefix(b"\r").unwrap_or(after).strip_prefix(b"\n"));
        if let Some(next) = end.flatten() {
            let around = [joined.last(), next.first()];
            let is_in_token = around
                .iter()
                .all(|byte| byte.is_some_and(|byte| !byte.is_ascii_whitespace()));
            if !is_in_token {
                joined.resize(joined.len() + rest.len() - next.len(), b' ');
            }
            rest = next;
        } else {
            joined.push(*first);
            rest = after;
        }
    }
    joined
}

/// Whether a byte may be part of a word.
pub(crate) fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn choices(texts: &[Text]) -> Vec<Choice> {
    let mut choices = Vec::new();
    for (file, text) in texts.iter().enumerate() {
        let lines = text.derived::<Directives>();
        let has_guard = include_guard(text, &lines).is_some();
        let mut open = Vec::new();
        for line in lines.iter() {
            if line.keyword.starts_with(b"if") {
                open.push(line.start as usize);
            } else if line.keyword == b"endif"
                && let Some(start) = open.pop()
            {
                choices.push(Choice {
                    file,
                    start,
                    end: line.end as usize,
                    is_guard: has_guard && open.is_empty(),
                });
            }
        }
        choices.extend(open.into_iter().map(|start| Choice {
            file,
            start,
            end: text.len(),
            is_guard: false,
        }));
    }
    choices
}

/// The identifiers (and numbers) of a text.
pub(crate) fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
        .filter(|word| !word.is_empty())
}
