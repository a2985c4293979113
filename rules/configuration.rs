//! Conditional compilation: whether a replacement that was proved holds whatever the preprocessor is told.
//!
//! A proof is about one configuration, but the text that a fix replaces may be compiled in others, in which a macro has
//! another value or a function another body. So nothing that the replaced text or its replacement depends on by name
//! may be mentioned where an `#if` chooses, unless that same `#if` chooses the replaced text as well, nor may it be a
//! macro given from outside. That is more than is needed, which costs a fix now and then, never a wrong one.

use std::collections::{BTreeMap, BTreeSet};

use shaderlint_hlsl::{FileSpan, Function, FunctionId, Shader, Span, Storage};

type Words<'a> = BTreeSet<&'a [u8]>;

/// An `#if` with all its arms, in one file.
#[derive(Clone, Copy)]
struct Choice {
    file: usize,
    start: usize,
    end: usize,
    /// It only keeps a file from being read twice.
    is_guard: bool,
}

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
    let macros = macros(shader);

    // What the texts at hand name, and what these names stand for in turn.
    let mut named: Words = words(form.as_bytes()).collect();
    let mut left: Vec<&[u8]> = vec![form.as_bytes()];
    for function in [entry, function] {
        if let Some(function) = shader.functions.get(function.0 as usize) {
            left.extend([text_of(function.span), text_of(function.group_size_span)]);
        }
    }
    // Where functions and variables are declared: what chooses in there chooses what they are.
    let mut declarations: Vec<(&[u8], FileSpan)> = Vec::new();
    let mut declared: BTreeMap<&[u8], Vec<&[u8]>> = BTreeMap::new();
    for (name, bodies) in &macros {
        declared.entry(name).or_default().extend(bodies);
    }
    for function in &shader.functions {
        let name = function.name.as_bytes();
        declared.entry(name).or_default().push(text_of(function.span));
        let method = function.name.rsplit("::").next().unwrap_or_default().as_bytes();
        declarations.extend(shader.origins.locate(function.span).map(|place| (method, place)));
    }
    for global in &shader.globals {
        // What a resource holds is not known anyway.
        if !matches!(global.storage, Storage::Resource | Storage::Uniform) {
            let name = global.own_name().as_bytes();
            declared.entry(name).or_default().push(text_of(global.span));
            declarations.extend(shader.origins.locate(global.span).map(|place| (name, place)));
        }
    }
    for name in shader.structs.iter().map(|declared| declared.name.as_bytes()) {
        declared.entry(name).or_default();
    }
    for name in typedefs(&shader.text) {
        declared.entry(name).or_default();
    }
    let mut followed = Words::new();
    while let Some(text) = left.pop() {
        for word in words(text) {
            named.insert(word);
            if followed.insert(word) {
                left.extend(declared.get(word).into_iter().flatten());
            }
        }
    }
    declarations.retain(|(name, _)| named.contains(name));
    let holders = [entry, function].map(|holder| shader.functions.get(holder.0 as usize));
    let holders: Vec<&Function> = holders.into_iter().flatten().collect();
    let place_of = |holder: &&Function| shader.origins.locate(holder.span);
    declarations.retain(|(_, place)| !holders.iter().filter_map(place_of).any(|holder| holder == *place));
    let depends_on = declarations.iter().map(|(_, place)| *place);
    // Of what chooses in there more is asked below.
    let choices = choices(shader);
    let chosen = |place: FileSpan, at: usize| {
        let at = place.start as usize + at;
        let mut choices = choices
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
    let depends_on = depends_on.chain([place]).map(text);
    let depends_on = depends_on.chain(unchosen.iter().map(Vec::as_slice));
    if is_given_from_outside(shader, &macros, &named, depends_on) {
        return false;
    }

    choices.iter().all(|choice| {
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
            let files = (0..).zip(&shader.sources.files);
            let of_one = files.filter(|(file, _)| *file == choice.file);
            let mut enums = of_one.flat_map(|(_, file)| enums(&file.text));
            enums.any(|(start, text)| {
                let is_inside = start < choice.start && choice.end <= start + text.len();
                is_inside && words(text).any(|word| named.contains(word))
            })
        };
        if declarations.iter().any(|(_, place)| is_within(place)) || in_enum() {
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
            let is_shared = word == b"include" || (declared.contains_key(word) && named.contains(word));
            // The form may rest on a barrier around it.
            let is_order = is_beside && (word == b"return" || word.windows(7).any(|part| part == b"Barrier"));
            !is_shared && !is_order && !locals.contains(word)
        })
    })
}

/// Whether a name in a text that the replacement depends on, or in a macro, is defined in no file and yet not there any more
/// after preprocessing.
fn is_given_from_outside<'a>(
    shader: &Shader,
    macros: &BTreeMap<&[u8], Vec<&[u8]>>,
    named: &Words,
    mut depends_on: impl Iterator<Item = &'a [u8]>,
) -> bool {
    let expanded: Words = words(&shader.text).collect();
    let sizes = shader.functions.iter().filter_map(|function| {
        let place = shader.origins.locate(function.group_size_span)?;
        let file = shader.sources.get(place.file)?;
        file.text.get(place.start as usize..place.end as usize)
    });
    let bodies = macros
        .iter()
        .filter(|(name, _)| named.contains(*name))
        .flat_map(|(_, bodies)| bodies.iter().copied());
    let is_gone = |text: &[u8]| {
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
                && !expanded.contains(word)
                && !macros.contains_key(word)
                && !parameters.contains(word)
        })
    };
    depends_on.any(is_gone) || sizes.chain(bodies).any(is_gone)
}

fn without_comments(text: &[u8]) -> Vec<u8> {
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

/// By name: the text of each definition after it, parameters and all, in whatever arm it stands.
pub(crate) fn macros(shader: &Shader) -> BTreeMap<&[u8], Vec<&[u8]>> {
    let mut macros: BTreeMap<&[u8], Vec<&[u8]>> = BTreeMap::new();
    for file in &shader.sources.files {
        for (_, directive) in directives(&file.text) {
            let definition = directive.strip_prefix(b"define").map(<[u8]>::trim_ascii_start);
            if let Some(definition) = definition
                && let Some(name) = words(definition).next()
            {
                let body = definition.strip_prefix(name).unwrap_or(definition);
                macros.entry(name).or_default().push(body);
            }
        }
    }
    macros
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
        Some((start, line.trim_ascii_start().strip_prefix(b"#")?.trim_ascii()))
    })
}

fn choices(shader: &Shader) -> Vec<Choice> {
    let mut choices = Vec::new();
    for (file, source) in shader.sources.files.iter().enumerate() {
        let lines: Vec<(usize, &[u8])> = directives(&source.text).collect();
        let mut open = Vec::new();
        for (number, (start, line)) in lines.iter().enumerate() {
            if line.starts_with(b"if") {
                open.push((number, *start));
            } else if line.starts_with(b"endif")
                && let Some((opened_by, start_of_all)) = open.pop()
            {
                let after = source.text.get(*start..).unwrap_or_default();
                let asked = lines[opened_by].1.strip_prefix(b"ifndef");
                let defined = lines
                    .get(opened_by + 1)
                    .and_then(|(_, line)| line.strip_prefix(b"define"));
                let is_guard = opened_by == 0
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
        choices.extend(open.into_iter().map(|(_, start)| Choice {
            file,
            start,
            end: source.text.len(),
            is_guard: false,
        }));
    }
    choices
}

/// The enumerations of a text: where each starts, and its text.
fn enums(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let starts = text.windows(4).enumerate().filter(|(_, word)| word == b"enum");
    starts.filter_map(|(start, _)| {
        let rest = text.get(start..)?;
        let end = rest.iter().position(|byte| *byte == b'}')?;
        Some((start, rest.get(..end)?))
    })
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
