//! Conditional compilation: whether a replacement that was proved holds whatever the preprocessor is told.
//!
//! A proof is about one configuration, but the text that a fix replaces may be compiled in others, in which a macro has
//! another value or a function another body. So nothing that the replaced text or its replacement depends on by name
//! may be mentioned where an `#if` chooses, unless that same `#if` chooses the replaced text as well, nor may it be a
//! macro given from outside. That is more than is needed, which costs a fix now and then, never a wrong one.

use std::collections::BTreeSet;

use shaderlint_hlsl::{Definition, FileSpan, FunctionId, Intrinsic, Shader, Span, blank_comments};

use crate::unit::{Unit, words};

/// Said of a fix that another configuration might not bear.
pub(crate) const AS_CONFIGURED: &str =
    "the fix is proved for the macros as they are; #if or -D may change them";

/// The same of one that was tried out, and is not proved.
pub(crate) const AS_TRIED: &str =
    "the fix was tried out with the macros as they are; #if or -D may change them";

type Words<'a> = BTreeSet<&'a [u8]>;

/// Whether `form`, which takes the place of `span` in `function`, is right in every configuration if it is in this one.
/// One that `adds_memory` declares a groupshared array of its own.
pub(crate) fn holds_in_all(
    shader: &Shader,
    entry: FunctionId,
    function: FunctionId,
    span: Span,
    (form, adds_memory): (&str, bool),
) -> bool {
    let Some(place) = shader.origins.locate(span) else {
        return false;
    };
    let unit = Unit::of(shader);
    let text_at = |place: FileSpan| unit.text_at(place);
    let text_of = |span: Span| shader.origins.locate(span).map_or(&[][..], text_at);
    let form = &*blank_comments(form.as_bytes());

    // What the texts at hand name, and what these names stand for in turn.
    let mut named: Words = words(form).collect();
    let mut left: Vec<&[u8]> = vec![form];
    for function in [entry, function] {
        if let Some(function) = shader.functions.get(function.0 as usize) {
            left.extend([text_of(function.span), text_of(function.group_size_span)]);
        }
    }
    let replaced: Words = words(text_of(span)).chain(words(form)).collect();
    let holders = [entry, function].map(|holder| {
        let holder = shader.functions.get(holder.0 as usize)?;
        shader.origins.locate(holder.span)
    });
    let [Some(of_entry), Some(of_function)] = holders else {
        return false;
    };
    let holders = [of_entry, of_function];
    // Where what is named is declared: what chooses in there chooses what it is.
    let mut declarations: Vec<FileSpan> = Vec::new();
    let mut seen: BTreeSet<Span> = BTreeSet::new();
    let mut followed = Words::new();
    while let Some(text) = left.pop() {
        for word in words(text) {
            named.insert(word);
            if !followed.insert(word) {
                continue;
            }
            left.extend(unit.definitions(word).iter().map(|definition| &*definition.body));
            let Some(declared) = shader.declaring(word) else {
                return false;
            };
            let methods = unit.declared(shader, word).map(|one| one.span);
            for span in declared.into_iter().chain(methods) {
                if !seen.insert(span) {
                    continue;
                }
                let Some(place) = shader.origins.locate(span) else {
                    return false;
                };
                if !holders.contains(&place) {
                    declarations.push(place);
                    left.push(text_at(place));
                }
            }
        }
    }
    // Of what chooses in there more is asked below.
    let chosen = |place: FileSpan, at: usize| {
        let at = place.start as usize + at;
        let mut choices = unit
            .choices
            .iter()
            .filter(|choice| choice.file == place.file.0 as usize);
        choices.any(|choice| (choice.start..choice.end).contains(&at))
    };
    let unchosen = holders.iter().map(|place| {
        let text = text_at(*place).iter().enumerate();
        let kept = text.map(|(at, byte)| if chosen(*place, at) { b' ' } else { *byte });
        kept.collect::<Vec<u8>>()
    });
    let unchosen: Vec<Vec<u8>> = unchosen.collect();
    let depends_on = declarations.iter().copied().chain([place]).map(text_at);
    let mut depends_on = depends_on.chain(unchosen.iter().map(Vec::as_slice));
    let is_given = |text: &[u8]| unit.is_given_from_outside(shader, text);
    // Names that are put together are in no text.
    let is_unsure = |definition: &Definition| {
        unit.is_body_given_from_outside(shader, definition)
            || definition.body.windows(2).any(|pair| pair == b"##")
    };
    let mut definitions = named.iter().flat_map(|name| unit.definitions(name));
    let mut own = words(form);
    if depends_on.any(is_given)
        || own.any(|word| unit.may_be_another_type(shader, word))
        || unit.has_size_from_outside
        || unit.has_file_within_itself
        || unit.has_chosen_include
        || unit.has_hook
        || unit.declares_by_choice(shader)
        || definitions.any(is_unsure)
    {
        return false;
    }

    // A build that takes a text in compiles what it expands to, not its words.
    let is_of_no_matter = |text: &[u8]| {
        let reach = unit.reach(text);
        let may_be_pasted = |word: &&[u8]| std::str::from_utf8(word).is_ok_and(|word| reach.may_paste(word));
        if named.iter().any(may_be_pasted) {
            return false;
        }
        words(&reach.text).all(|word| {
            let is_declared = || shader.declaring(word).is_none_or(|declared| !declared.is_empty());
            let is_shared = named.contains(word) && unit.declares(shader, word)
                || replaced.contains(word) && is_declared();
            // Its arrays and those of the form share the memory of the group.
            let is_memory = adds_memory && word == b"groupshared";
            let is_declared_anew = named.contains(word) && may_declare_intrinsic(&reach.text, word);
            !(word == b"include" || is_shared || is_memory || is_declared_anew)
        })
    };
    // What one of these macros is given is compiled as the choice of its definition has it.
    let choosing = unit.choices.iter().filter(|choice| !choice.is_guard);
    let choosing = choosing.map(|choice| unit.text_of(choice));
    let given_to_chosen = unit.given_to_chosen(&choosing.collect::<Vec<_>>());

    unit.choices.iter().all(|choice| {
        let holds = |place: &FileSpan| {
            place.file.0 as usize == choice.file
                && choice.start <= place.start as usize
                && place.end as usize <= choice.end
        };
        if choice.is_guard || holds(&place) {
            return true;
        }
        let is_within = |place: &FileSpan| {
            place.file.0 as usize == choice.file
                && choice.start < place.end as usize
                && (place.start as usize) < choice.end
                && !holds(place)
        };
        let text = unit.text_of(choice);
        // What chooses beside the replaced text may change what comes there and how often, what becomes of what it
        // leaves, and the sizes of the group and its waves.
        if declarations.iter().any(is_within) || holders.iter().any(is_within) && has_code(text) {
            return false;
        }
        is_of_no_matter(text)
    }) && given_to_chosen.iter().all(|text| is_of_no_matter(text))
}

/// Whether there is more in a text than directives, each on one line.
fn has_code(text: &[u8]) -> bool {
    let text = blank_comments(text);
    let mut lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.any(|line| !line.is_empty() && (!line.starts_with(b"#") || line.ends_with(b"\\")))
}

/// Whether a word of a text may be an intrinsic's name that is declared there: it stands behind the name of a type, or
/// without a call, as an argument or a macro's body. HLSL has no other use for a function's name.
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
