//! Conditional compilation: whether a replacement that was proved holds whatever the preprocessor is told.
//!
//! A proof is about one configuration, but the text that a fix replaces may be compiled in others, in which a macro has
//! another value or a function another body. So nothing that the replaced text or its replacement depends on by name
//! may be mentioned where an `#if` chooses, unless that same `#if` chooses the replaced text as well, nor may it be a
//! macro given from outside. That is more than is needed, which costs a fix now and then, never a wrong one.

use std::collections::BTreeSet;

use shaderlint_hlsl::{FileSpan, Function, FunctionId, Shader, Span};

use crate::unit::{Unit, words};

type Words<'a> = BTreeSet<&'a [u8]>;

/// Whether `form`, which takes the place of `span` in `function`, is right in every configuration if it is in this one.
pub(crate) fn holds_in_all(
    shader: &Shader,
    entry: FunctionId,
    function: FunctionId,
    span: Span,
    form: &str,
) -> bool {
    let Some(place) = shader.origins.locate(span) else {
        return false;
    };
    let text = |place: FileSpan| {
        let file = shader.sources.get(place.file);
        file.and_then(|file| file.text.get(place.start as usize..place.end as usize))
            .unwrap_or_default()
    };
    let text_of = |span: Span| shader.origins.locate(span).map_or(&[][..], text);
    let unit = Unit::of(shader);

    // What the texts at hand name, and what these names stand for in turn.
    let mut named: Words = words(form.as_bytes()).collect();
    let mut left: Vec<&[u8]> = vec![form.as_bytes()];
    for function in [entry, function] {
        if let Some(function) = shader.functions.get(function.0 as usize) {
            left.extend([text_of(function.span), text_of(function.group_size_span)]);
        }
    }
    let mut followed = Words::new();
    while let Some(text) = left.pop() {
        for word in words(text) {
            named.insert(word);
            if followed.insert(word) {
                left.extend(unit.bodies(shader, word));
                let declared = unit.declared(shader, word).filter(|one| one.is_whole_name);
                left.extend(declared.map(|one| text_of(one.span)));
            }
        }
    }
    // Where functions and variables are declared: what chooses in there chooses what they are.
    let declarations = named.iter().flat_map(|name| unit.declared(shader, name));
    let declarations = declarations.filter_map(|one| shader.origins.locate(one.span));
    let mut declarations: Vec<FileSpan> = declarations.collect();
    let holders = [entry, function].map(|holder| shader.functions.get(holder.0 as usize));
    let holders: Vec<&Function> = holders.into_iter().flatten().collect();
    let place_of = |holder: &&Function| shader.origins.locate(holder.span);
    declarations.retain(|place| !holders.iter().filter_map(place_of).any(|holder| holder == *place));
    // Of what chooses in there more is asked below.
    let chosen = |place: FileSpan, at: usize| {
        let at = place.start as usize + at;
        let mut choices = unit
            .choices
            .iter()
            .filter(|choice| choice.file == place.file.0 as usize);
        choices.any(|choice| (choice.start..choice.end).contains(&at))
    };
    let unchosen = holders.iter().filter_map(place_of).map(|place| {
        let text = text(place).iter().enumerate();
        let kept = text.map(|(at, byte)| if chosen(place, at) { b' ' } else { *byte });
        kept.collect::<Vec<u8>>()
    });
    let unchosen: Vec<Vec<u8>> = unchosen.collect();
    let depends_on = declarations.iter().copied().chain([place]).map(text);
    let mut depends_on = depends_on.chain(unchosen.iter().map(Vec::as_slice));
    let is_given = |text: &[u8]| unit.is_given_from_outside(shader, text);
    let mut bodies = named.iter().flat_map(|name| unit.bodies(shader, name));
    if depends_on.any(is_given) || unit.has_size_from_outside || bodies.any(is_given) {
        return false;
    }

    unit.choices.iter().all(|choice| {
        let holds = |place: FileSpan| {
            place.file.0 as usize == choice.file
                && choice.start <= place.start as usize
                && place.end as usize <= choice.end
        };
        if choice.is_guard || holds(place) {
            return true;
        }
        let is_within = |place: &FileSpan| {
            place.file.0 as usize == choice.file
                && choice.start < place.end as usize
                && (place.start as usize) < choice.end
                && !holds(*place)
        };
        let in_enum = || {
            let around = unit.enums.iter().filter(|(file, range)| {
                *file == choice.file && range.start < choice.start && choice.end <= range.end
            });
            let texts =
                around.filter_map(|(file, range)| shader.sources.files.get(*file)?.text.get(range.clone()));
            texts.flat_map(words).any(|word| named.contains(word))
        };
        if declarations.iter().any(is_within) || in_enum() {
            return false;
        }
        // What chooses beside the replaced text may change a variable that is used there, or by which what it leaves is
        // used later.
        let around = holders
            .iter()
            .filter(|holder| place_of(holder).is_some_and(|place| is_within(&place)));
        let is_beside = around.clone().next().is_some();
        let locals: Words = around
            .flat_map(|holder| &holder.locals)
            .map(|local| local.name.as_bytes())
            .collect();
        let file = shader.sources.files.get(choice.file);
        let text = file.and_then(|file| file.text.get(choice.start..choice.end));
        words(text.unwrap_or_default()).all(|word| {
            let is_shared = word == b"include" || (unit.declares(shader, word) && named.contains(word));
            // The form may rest on a barrier around it, and on the sizes of the group and its waves.
            let is_order = word == b"return" || word.windows(7).any(|part| part == b"Barrier");
            let is_size = [&b"numthreads"[..], b"WaveSize"]
                .iter()
                .any(|size| word.eq_ignore_ascii_case(size));
            !is_shared && !(is_beside && (is_order || is_size)) && !locals.contains(word)
        })
    })
}
