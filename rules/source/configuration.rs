//! Whether a fix that is proved in one configuration holds in all of them.
//!
//! A proof covers one configuration. Other builds may compile the replaced text with other values of macros and other
//! bodies of functions. So no name that the replaced text or its replacement depends on may be mentioned where an
//! `#if` chooses, unless the same `#if` also chooses the replaced text; nor may it be a macro given from outside.
//! This asks for more than necessary: it sometimes costs a fix, and never lets a wrong one through.

use std::collections::BTreeSet;

use shaderlint_hlsl::{Definition, FileSpan, Function, FunctionId, Intrinsic, Shader, Span, blank_comments};

use crate::source::unit::{Choice, Unit};
use crate::source::words::words;

/// A note on a fix that may not hold in another configuration.
pub(crate) const AS_CONFIGURED: &str = "the fix is proved for the current macros; #if or -D may change them";

/// The same for a fix that was tried out and is not proved.
pub(crate) const AS_TRIED: &str = "the fix was tested with the current macros; #if or -D may change them";

/// Text that takes the place of other text.
pub(crate) struct Replacement<'a> {
    /// The function that holds what is replaced.
    pub function: FunctionId,
    /// What is replaced.
    pub over: Span,
    pub form: &'a str,
    /// The form declares a groupshared array of its own.
    pub adds_memory: bool,
}

/// Whether a replacement in code that `entry` runs is right in every configuration if it is right in this one.
pub(crate) fn holds_in_all(shader: &Shader, entry: FunctionId, replacement: &Replacement<'_>) -> bool {
    let unit = Unit::of(shader);
    let form = blank_comments(replacement.form.as_bytes());
    let dependencies = Dependencies::of(shader, &unit, entry, replacement, &form);
    dependencies.is_some_and(|dependencies| {
        dependencies.are_known() && dependencies.stay_in_all_choices(replacement.adds_memory)
    })
}

type Words<'a> = BTreeSet<&'a [u8]>;

/// What a replacement depends on by name.
struct Dependencies<'u> {
    shader: &'u Shader,
    unit: &'u Unit,
    form: &'u [u8],
    /// The place of the replaced text.
    place: FileSpan,
    /// The entry point, and the function of the replacement.
    holders: [FileSpan; 2],
    /// The names in the texts at hand, and in what these names stand for, and so on.
    named: Words<'u>,
    /// The names in the replaced text and in the form.
    replaced: Words<'u>,
    /// The declarations of these names. An `#if` in a declaration chooses what the name is.
    declarations: Vec<FileSpan>,
}

impl<'u> Dependencies<'u> {
    /// `None` where a declaration is in no file.
    fn of(
        shader: &'u Shader,
        unit: &'u Unit,
        entry: FunctionId,
        replacement: &Replacement<'_>,
        form: &'u [u8],
    ) -> Option<Self> {
        let place = shader.origins.locate(replacement.over)?;
        let text_of = |span: Span| {
            shader
                .origins
                .locate(span)
                .map_or(&[][..], |place| unit.text_at(place))
        };
        let functions = [entry, replacement.function];
        let functions = functions.map(|function| shader.functions.get(function.0 as usize));
        let holder = |function: Option<&Function>| shader.origins.locate(function?.span);
        let mut dependencies = Dependencies {
            shader,
            unit,
            form,
            place,
            holders: [holder(functions[0])?, holder(functions[1])?],
            named: words(form).collect(),
            replaced: words(text_of(replacement.over)).chain(words(form)).collect(),
            declarations: Vec::new(),
        };
        let of_functions = functions.into_iter().flatten();
        let of_functions =
            of_functions.flat_map(|function| [text_of(function.span), text_of(function.group_size_span)]);
        dependencies.follow(std::iter::once(form).chain(of_functions).collect())?;
        Some(dependencies)
    }

    /// Adds the names in these texts, then those in their definitions and declarations.
    fn follow(&mut self, mut left: Vec<&'u [u8]>) -> Option<()> {
        let (shader, unit) = (self.shader, self.unit);
        let mut seen: BTreeSet<Span> = BTreeSet::new();
        let mut followed = Words::new();
        while let Some(text) = left.pop() {
            for word in words(text) {
                self.named.insert(word);
                if !followed.insert(word) {
                    continue;
                }
                left.extend(unit.definitions(word).iter().map(|definition| &*definition.body));
                let declared = shader.declaring(word)?;
                let methods = unit.declared(shader, word).map(|one| one.span);
                for span in declared.into_iter().chain(methods) {
                    if !seen.insert(span) {
                        continue;
                    }
                    let place = shader.origins.locate(span)?;
                    if !self.holders.contains(&place) {
                        self.declarations.push(place);
                        left.push(unit.text_at(place));
                    }
                }
            }
        }
        Some(())
    }

    /// Whether the files alone say what all of these names are.
    fn are_known(&self) -> bool {
        let (shader, unit) = (self.shader, self.unit);
        // `stay_in_all_choices` judges the choices in there.
        let unchosen: Vec<Vec<u8>> = { self.holders.iter() }
            .map(|place| self.unchosen(*place))
            .collect();
        let depends_on = { self.declarations.iter() }
            .chain([&self.place])
            .map(|place| unit.text_at(*place));
        let mut depends_on = depends_on.chain(unchosen.iter().map(Vec::as_slice));
        // A name that `##` puts together is in no text.
        let is_unsure = |definition: &Definition| {
            unit.is_body_given_from_outside(shader, definition)
                || definition.body.windows(2).any(|pair| pair == b"##")
        };
        let mut definitions = self.named.iter().flat_map(|name| unit.definitions(name));
        !(depends_on.any(|text| unit.is_given_from_outside(shader, text))
            || words(self.form)
                .any(|word| unit.may_be_another_type(shader, word) || unit.may_be_pasted_elsewhere(word))
            || unit.has_size_from_outside
            || unit.has_file_within_itself
            || unit.has_chosen_include
            || unit.has_hook
            || unit.declares_by_choice(shader)
            || definitions.any(is_unsure))
    }

    /// The text at a place, with blanks wherever an `#if` chooses, include guards among them.
    fn unchosen(&self, place: FileSpan) -> Vec<u8> {
        let is_chosen = |at: usize| {
            let at = place.start as usize + at;
            let mut choices = self.unit.choices.iter();
            choices.any(|choice| {
                choice.file == place.file.0 as usize && (choice.start..choice.end).contains(&at)
            })
        };
        let text = self.unit.text_at(place).iter().enumerate();
        let kept = text.map(|(at, byte)| if is_chosen(at) { b' ' } else { *byte });
        kept.collect()
    }

    /// Whether all of these are the same whatever an `#if` chooses, except for an `#if` that also chooses the
    /// replaced text.
    fn stay_in_all_choices(&self, adds_memory: bool) -> bool {
        let unit = self.unit;
        let is_in = |place: &FileSpan, choice: &Choice| place.file.0 as usize == choice.file;
        let holds = |place: &FileSpan, choice: &Choice| {
            is_in(place, choice) && choice.start <= place.start as usize && place.end as usize <= choice.end
        };
        let is_within = |place: &FileSpan, choice: &Choice| {
            is_in(place, choice)
                && choice.start < place.end as usize
                && (place.start as usize) < choice.end
                && !holds(place, choice)
        };
        let stays = |choice: &Choice| {
            if choice.is_guard || holds(&self.place, choice) {
                return true;
            }
            let text = unit.text_of(choice);
            // A choice beside the replaced text may change what follows there and how often it runs, who reads its
            // results, and the sizes of the group and its waves.
            let is_within = |place: &FileSpan| is_within(place, choice);
            if self.declarations.iter().any(is_within) || self.holders.iter().any(is_within) && has_code(text)
            {
                return false;
            }
            !self.may_be_changed_by(text, adds_memory)
        };
        // The choice of a macro's definition also decides what becomes of its arguments.
        let choosing = unit.choices.iter().filter(|choice| !choice.is_guard);
        let choosing: Vec<&[u8]> = choosing.map(|choice| unit.text_of(choice)).collect();
        let given = unit.given_to_chosen(&choosing);
        unit.choices.iter().all(stays) && { given.iter() }
            .all(|text| !self.may_be_changed_by(text, adds_memory))
    }

    /// Whether a build that compiles a text may change the meaning of one of these names. A build compiles what the
    /// text expands to, not its words.
    fn may_be_changed_by(&self, text: &[u8], adds_memory: bool) -> bool {
        let (shader, unit) = (self.shader, self.unit);
        let reach = unit.reach(text);
        let may_be_pasted = |word: &&[u8]| std::str::from_utf8(word).is_ok_and(|word| reach.may_paste(word));
        if self.named.iter().any(may_be_pasted) {
            return true;
        }
        words(&reach.text).any(|word| {
            let is_named = self.named.contains(word);
            let is_declared = || shader.declaring(word).is_none_or(|declared| !declared.is_empty());
            let is_shared =
                is_named && unit.declares(shader, word) || self.replaced.contains(word) && is_declared();
            // Its arrays share the memory of the group with those of the form.
            let is_memory = adds_memory && word == b"groupshared";
            let is_declared_anew = is_named && may_declare_intrinsic(&reach.text, word);
            word == b"include" || is_shared || is_memory || is_declared_anew
        })
    }
}

/// Whether a text has more than directives, each on one line.
fn has_code(text: &[u8]) -> bool {
    let text = blank_comments(text);
    let mut lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.any(|line| !line.is_empty() && (!line.starts_with(b"#") || line.ends_with(b"\\")))
}

/// Whether a text may declare an intrinsic's name anew with this word: it is behind the name of a type, or is no call
/// but an argument or a macro's body. HLSL has no other use for the name of a function.
fn may_declare_intrinsic(text: &[u8], word: &[u8]) -> bool {
    let is_intrinsic = std::str::from_utf8(word).is_ok_and(|name| Intrinsic::from_name(name).is_some());
    let start = (word.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    let before = text.get(..start).unwrap_or_default().trim_ascii_end();
    let behind = text.get(start + word.len()..).unwrap_or_default();
    let last = before
        .rsplit(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
        .next();
    let is_behind_type =
        before.ends_with(b">") || last.is_some_and(|last| !matches!(last, b"" | b"return" | b"else"));
    is_intrinsic && (is_behind_type || behind.trim_ascii_start().first() != Some(&b'('))
}
