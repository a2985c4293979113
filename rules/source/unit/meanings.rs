//! Whether a word of a fix may mean something else where it stands.

use shaderlint_hlsl::{FileId, FunctionId, Intrinsic, Shader, is_type_name};
use shaderlint_linter::{NoFix, Reason};

use super::choices::ends_before;
use super::{Choice, Occurrence, Unit};
use crate::source::declaring::{
    alias, calls_around, is_asked_for, may_be_a_function, may_be_a_type, members_around,
};
use crate::source::lines::{file_name, line_after};
use crate::source::words::{last_word, words};

/// What may give a name another meaning.
enum Meaning {
    /// A definition from outside.
    Given,
    /// A declaration or a definition in a file, and its offset.
    At(FileId, Option<u32>),
    /// A macro that puts names together.
    Pasted,
    /// A declaration with a name that is put together, or one without a known place.
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

impl Unit {
    /// Why a fix in `function` may be something else where it stands: by its words, or because it moves text that
    /// counts its lines.
    pub fn may_change<'w>(
        &self,
        shader: &Shader,
        function: FunctionId,
        of_fix: impl Iterator<Item = &'w [u8]>,
    ) -> Option<NoFix> {
        self.may_mean_another(shader, function, of_fix)
            .or_else(|| self.may_count_lines(shader, function))
    }

    /// Why words of a fix in `function` may mean something else there: they are macros, of files or from outside, or
    /// names of HLSL that the unit declares anew. Names of types that only other builds declare anew are left to
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
        // A method sees the members of its struct without a dot.
        let knows_members = holder.is_none_or(|holder| holder.name.contains("::"));
        let words: Vec<&[u8]> = of_fix.collect();
        if let Some(word) = words.iter().find(|word| is_variable(word)) {
            let word = String::from_utf8_lossy(word);
            let text = format!("the fix uses `{word}`, which names a variable here");
            return Some(NoFix::new(Reason::RedefinedName, text).named(word));
        }
        let of_word = |word| {
            let meanings = self.other_meanings(shader, word, knows_members).into_iter();
            let mut own = meanings.filter(|one| !self.is_of_other_builds(shader, function, word, one));
            Some((word, own.next()?))
        };
        let (word, meaning) = words.into_iter().find_map(of_word)?;
        let word = String::from_utf8_lossy(word);
        let what = meaning.in_words(shader);
        let text = format!("the fix uses `{word}`, and {what} may give that name another meaning");
        Some(NoFix::new(Reason::RedefinedName, text).named(word))
    }

    /// Whether a word is the name of a type that some build may declare anew.
    pub fn may_be_another_type(&self, shader: &Shader, name: &[u8]) -> bool {
        is_type_name(name) && !self.other_meanings(shader, name, true).is_empty()
    }

    /// What may give a word of a fix another meaning: a macro, or text of the unit, compiled or not, that declares a
    /// name of the language (`struct uint2 { … }`, a member or a variable called `WavePrefixSum`), or a name that is
    /// put together.
    ///
    /// A member of a struct without methods counts only where `knows_members` says that the fix may stand in a method,
    /// such as one of a struct derived from it: elsewhere a member has a meaning only behind a dot.
    ///
    /// A declaration has the name in a position where its normal use does not: the name of an intrinsic without a
    /// call, behind a type or behind a dot; the name of a type as that of a struct or an enumerator, or behind
    /// another type. So the text around each occurrence is enough. Some uses look like declarations, which costs a
    /// fix and never lets a wrong one through.
    fn other_meanings(&self, shader: &Shader, name: &[u8], knows_members: bool) -> Vec<Meaning> {
        let mut found = Vec::new();
        if self.given.contains(name) {
            found.push(Meaning::Given);
        }
        let places = self.definitions.named(name).iter().filter_map(|one| one.place);
        found.extend(places.map(|(file, at)| Meaning::At(file, Some(at))));
        let intrinsic = std::str::from_utf8(name).ok().and_then(Intrinsic::from_name);
        // No macro takes a wave intrinsic as an operator.
        let is_of_waves = name.starts_with(b"Wave");
        let is_redeclared: fn(&[u8], &[u8]) -> bool = match intrinsic {
            Some(_) if is_of_waves => |before, behind| {
                behind.trim_ascii_start().first() != Some(&b'(') || may_be_a_function(before, behind)
            },
            Some(_) => may_be_a_function,
            None if is_type_name(name) => may_be_a_type,
            None => return found,
        };
        // `is_declared` does not know variables with the name of an intrinsic.
        let shows = intrinsic.is_none() && !self.is_declared(shader, name);
        // An alias declares the name only where the alias is declared.
        let declares = |found: &Occurrence| match alias(found.before, found.behind) {
            _ if shows && self.is_told_by_expansion(shader, found) => false,
            Some((alias, _)) if self.may_be_pasted_as_defined(alias) => true,
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
        let is_elsewhere = |found: &Occurrence| !knows_members && self.is_member(found);
        let declaring = { self.occurrences(name) }.filter(|found| !is_elsewhere(found) && declares(found));
        found.extend(declaring.map(|found| {
            // A token that continues on another line has moved the offsets.
            let length = shader.sources.get(found.file).map(|file| file.text.len());
            let is_exact = length == Some(found.before.len() + name.len() + found.behind.len());
            let place = u32::try_from(found.before.len()).ok();
            Meaning::At(found.file, place.filter(|_| is_exact))
        }));
        if intrinsic.is_some() && self.may_be_pasted_as_defined(name) {
            found.push(Meaning::Pasted);
        }
        if found.is_empty() && self.declares(shader, name) {
            found.push(Meaning::Unknown);
        }
        found
    }

    /// Whether a word is a member of a struct without methods, where it is declared or behind a dot.
    fn is_member(&self, found: &Occurrence) -> bool {
        if found.before.trim_ascii_end().ends_with(b".") {
            return found.behind.trim_ascii_start().first() != Some(&b'(');
        }
        let struct_words = members_around(found.before, found.behind);
        struct_words.is_some_and(|mut words| words.all(|word| self.definitions.named(word).is_empty()))
    }

    /// The text that a word follows where a macro precedes it, if every build has the same: behind `END` in `END x`,
    /// its body `}}`.
    fn end_of_macro(&self, before: &[u8]) -> Option<&[u8]> {
        let name = last_word(before.trim_ascii_end());
        let [only] = self.definitions.named(name) else {
            return None;
        };
        let is_stable = |word: &[u8]| self.definitions.named(word).is_empty();
        let is_object = only.parameters.is_empty() && !only.body.trim_ascii().is_empty();
        (is_object && !self.is_chosen(only) && words(&only.body).all(is_stable)).then_some(&*only.body)
    }

    /// Whether a declaration by this word shows in the expanded text of every build: the word is in no directive and
    /// under no choice, and every macro that takes it as an argument has one definition, which every build has.
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

    /// Whether only other builds give the name of a type another meaning: the meaning stands under a choice, or is an
    /// argument of a macro, whose expansion shows what this build makes of it; and in this build the function uses
    /// the name for the language's own type.
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

    fn may_count_lines(&self, shader: &Shader, function: FunctionId) -> Option<NoFix> {
        let word = self.counting(shader, function)?;
        let text = format!("a fix may change the value of `{word}`");
        Some(NoFix::new(Reason::CountsLines, text).named(word))
    }

    /// A name in the function that a fix may turn into another number.
    pub fn counting(&self, shader: &Shader, function: FunctionId) -> Option<&'static str> {
        let counting = ["__LINE__", "__COUNTER__"];
        let is_named = |word: &&str| self.may_name(word.as_bytes()) || self.may_be_pasted(word.as_bytes());
        if !counting.iter().any(is_named) {
            return None;
        }
        // The lines of other files do not move.
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
}
