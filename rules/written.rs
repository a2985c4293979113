//! How forms are written into a file: what stands there for the group's size, and names that are free.

use std::fmt::Write;

use shaderlint_hlsl::{FileId, Global, GlobalId, Local, Shader, Span, Text, blank_comments, comments};
use shaderlint_linter::Context;
use shaderlint_simt::Collective;

use crate::unit::{Unit, words};

/// The barrier that orders no more than groupshared memory.
pub(crate) const BARRIER: &str = "GroupMemoryBarrierWithGroupSync";

/// The arguments of `numthreads` as the file has them; `None` where they are a macro's, or not plain to tell apart.
pub(crate) fn group_size_text(context: &Context<'_>) -> Option<Vec<String>> {
    let function = context.shader.functions.get(context.entry.0 as usize)?;
    let written = text_in_file(context.shader, function.group_size_span)?;
    let (name, arguments) = written.split_once('(')?;
    let (arguments, _) = arguments.rsplit_once(')')?;
    let is_attribute = name
        .trim_start_matches('[')
        .trim()
        .eq_ignore_ascii_case("numthreads");
    if !is_attribute || arguments.contains(['(', ')', '#']) || has_comment(arguments) {
        return None;
    }
    Some(
        arguments
            .split(',')
            .map(|argument| argument.trim().to_owned())
            .collect(),
    )
}

pub(crate) fn has_comment(text: &str) -> bool {
    text.contains("//") || text.contains("/*")
}

/// The group's first dimension as the text of the construct may call it.
pub(crate) fn width_by_name(context: &Context<'_>, found: &Collective) -> Option<String> {
    let [x, ..] = <[String; 3]>::try_from(group_size_text(context)?).ok()?;
    is_known_to(context, found, &x).then(|| operand(context.shader, &x))
}

/// The number of the threads of a group of one row, by the name of its width. `None` where another dimension is not written as
/// 1: it may make more rows in another build.
pub(crate) fn size_by_name(context: &Context<'_>, found: &Collective) -> Option<String> {
    let [_, y, z] = <[String; 3]>::try_from(group_size_text(context)?).ok()?;
    let is_one_row = [y, z].iter().all(|side| side == "1");
    let size = width_by_name(context, found).or_else(|| size_of_arrays(context, found));
    size.filter(|_| is_one_row)
}

/// The number of the group's threads in figures, if the construct is in a header where each of its arrays has its length in these: so
/// the text is for groups of one size, whatever those call it who include it.
fn size_of_arrays(context: &Context<'_>, found: &Collective) -> Option<String> {
    let place = context.shader.origins.locate(found.span)?;
    if place.file == FileId(0) {
        return None;
    }
    let threads = context.analysis.group_size.iter().product::<u32>().to_string();
    let mut arrays = found.arrays.iter();
    let is_as_long = |array: &GlobalId| {
        let array = context.shader.globals.get(array.0 as usize);
        array.and_then(|array| length_text(context.shader, array)) == Some(threads.clone())
    };
    (arrays.len() > 0 && arrays.all(is_as_long)).then_some(threads)
}

/// What stands between the brackets of an array's declaration, without comments.
pub(crate) fn length_text(shader: &Shader, array: &Global) -> Option<String> {
    let after_name = Span {
        start: array.name_span.end,
        end: array.span.end,
    };
    let written = text_in_file(shader, after_name)?;
    let (length, _) = written.trim_start().strip_prefix('[')?.split_once(']')?;
    (!has_comment(length)).then(|| length.trim().to_owned())
}

/// The number of the group's threads as the text of the construct may call it.
pub(crate) fn all_threads_by_name(context: &Context<'_>, found: &Collective) -> Option<String> {
    let sides = group_size_text(context)?;
    let sides = sides
        .iter()
        .filter(|side| *side != "1")
        .map(|side| operand(context.shader, side));
    let sides: Vec<String> = sides.collect();
    let text = sides.join(" * ");
    let named = (!sides.is_empty() && is_known_to(context, found, &text)).then_some(text);
    named.or_else(|| size_of_arrays(context, found))
}

/// Whether a text of the entry point's `numthreads` means the same where the construct stands.
///
/// A variable there may have the name of a constant. Another function than the entry point may stand before the constant,
/// before the macro's definition or behind another one, or have members of its class in sight.
fn is_known_to(context: &Context<'_>, found: &Collective, text: &str) -> bool {
    let Some(function) = context.function(found.function) else {
        return false;
    };
    let is_local = |word: &[u8]| function.locals.iter().any(|local| local.name.as_bytes() == word);
    let is_known = |word: &[u8]| {
        found.function == context.entry
            || !function.name.contains("::") && is_known_at(context.shader, function.span, word)
    };
    let unit = Unit::of(context.shader);
    let reach = unit.reach(text.as_bytes());
    words(text.as_bytes()).all(|word| may_name(context.shader, function.span, word))
        && words(&reach.text).all(|word| !is_local(word) && is_known(word))
}

/// Whether a name stands before `place`, which is at top level, for what it does behind it.
pub(crate) fn is_known_at(shader: &Shader, place: Span, name: &[u8]) -> bool {
    let unit = Unit::of(shader);
    if unit.is_macro(name) {
        let at = (name, place.start);
        return shader
            .defined
            .definition(&shader.sources, &shader.given, at)
            .is_some();
    }
    let named = |global: &&Global| global.own_name().as_bytes() == name;
    let mut globals = shader.globals.iter().filter(named).peekable();
    // What is declared nowhere is defined from outside, for all of the text.
    globals.peek().is_none() || globals.any(|global| global.span.end <= place.start)
}

/// Whether what stands at a place may use a name: in the file that all others are included in, or where its own file does so already or
/// defines it. Who else includes that need not have it from elsewhere.
fn may_name(shader: &Shader, place: Span, name: &[u8]) -> bool {
    let place = shader.origins.locate(place);
    place.is_some_and(|place| {
        let text = shader.sources.get(place.file).map(|file| &file.text);
        let names_it = |text: &Text| words(&blank_comments(text)).any(|word| word == name);
        place.file == FileId(0) || name.iter().all(u8::is_ascii_digit) || text.is_some_and(names_it)
    })
}

/// `text` as an operand: in parentheses but for figures and names that stand for one thing. What a macro stands for may
/// be more than that, and what `-D` says is not in the file.
pub(crate) fn operand(shader: &Shader, text: &str) -> String {
    let is_word = |text: &[u8]| {
        text.iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    };
    let unit = Unit::of(shader);
    let is_one = is_figure(text)
        || is_word(text.as_bytes())
            && if unit.is_macro(text.as_bytes()) {
                let mut definitions = unit.definitions(text.as_bytes()).iter();
                definitions.all(|definition| is_word(&definition.body) || is_enclosed(&definition.body))
            } else {
                shader.globals.iter().any(|global| global.own_name() == text)
            };
    if is_one {
        text.to_owned()
    } else {
        format!("({text})")
    }
}

/// Whether one pair of parentheses is around all of a text.
fn is_enclosed(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    let mut depth = 0;
    let closes = text.iter().position(|byte| {
        depth += i32::from(*byte == b'(') - i32::from(*byte == b')');
        depth == 0
    });
    text.starts_with(b"(") && closes.is_some_and(|at| at + 1 == text.len())
}

/// Whether the file says in figures how many threads the group has: what holds for this many is all there is to prove.
pub(crate) fn has_literal_size(context: &Context<'_>) -> bool {
    let is_literal = |byte: u8| byte.is_ascii_digit() || b" +-*/()".contains(&byte);
    group_size_text(context)
        .is_some_and(|arguments| arguments.iter().all(|text| text.bytes().all(is_literal)))
}

pub(crate) fn is_figure(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

pub(crate) fn text_in_file(shader: &Shader, span: Span) -> Option<String> {
    let place = shader.origins.locate(span)?;
    let text = &shader.sources.files.get(place.file.0 as usize)?.text;
    let text = text.get(place.start as usize..place.end as usize)?;
    Some(String::from_utf8_lossy(text).into_owned())
}

/// Text as the file has it, if all of it stands there and nothing else. On one line: a comment would take the rest of it
/// along.
pub(crate) fn on_one_line(shader: &Shader, span: Span) -> Option<String> {
    let (text, comments) = on_one_line_and_comments(shader, span)?;
    comments.is_empty().then_some(text)
}

/// The same text without its comments, and the comments.
pub(crate) fn on_one_line_and_comments(shader: &Shader, span: Span) -> Option<(String, Vec<String>)> {
    let place = shader.origins.editable(span)?;
    let text = &shader.sources.get(place.file)?.text;
    let text = std::str::from_utf8(text.get(place.start as usize..place.end as usize)?).ok()?;
    if text.contains('\\') {
        return None;
    }
    let comments = comments(text.as_bytes());
    let comments = comments.into_iter().filter_map(|comment| text.get(comment));
    let comments = comments.map(|comment| comment.trim_end().to_owned()).collect();
    let text = String::from_utf8(blank_comments(text.as_bytes())).ok()?;
    Some((text.split_whitespace().collect::<Vec<_>>().join(" "), comments))
}

/// Whether a variable may be known at this place of its function, or be declared later on in a block around it: no brace
/// closed what it was declared in, and none was opened for it.
pub(crate) fn is_seen_from(shader: &Shader, local: &Local, place: Span) -> bool {
    let depths = |start: u32, end: u32| {
        let text = Span {
            start,
            end: end.max(start),
        }
        .slice(&shader.text);
        let (mut depth, mut least) = (0i32, 0i32);
        for byte in text {
            depth += match byte {
                b'{' => 1,
                b'}' => -1,
                _ => 0,
            };
            least = least.min(depth);
        }
        (depth, least)
    };
    if local.span.start >= place.end {
        let (depth, least) = depths(place.end, local.span.start);
        depth == least
    } else {
        let (_, least) = depths(local.span.end, place.start);
        least == 0
    }
}

/// `wanted` as the name of a variable, numbered where that is one that stands where the form will, or a macro.
///
/// It is none that the function has outside of the construct, whatever that means, but for variables of other blocks.
pub(crate) fn local_name(shader: &Shader, found: &Collective, wanted: &str) -> String {
    let function = shader.functions.get(found.function.0 as usize);
    let unit = Unit::of(shader);
    // What is declared within the construct goes with it.
    let is_within = |local: &Local| found.span.start <= local.span.start && local.span.end <= found.span.end;
    free(wanted, |name| {
        shader.globals.iter().any(|global| global.own_name() == name)
            || function.is_some_and(|function| {
                let mut locals = function.locals.iter();
                locals.any(|local| {
                    local.name == name && !is_within(local) && is_seen_from(shader, local, found.span)
                })
            })
            || function.is_some_and(|function| {
                let is_variable = function.locals.iter().any(|local| local.name == name);
                (!is_variable || unit.declares(shader, name.as_bytes()))
                    && names_besides(shader, function.span, found.span, name)
            })
            || unit.is_macro_or_template(name.as_bytes())
            || unit.may_be_pasted(name.as_bytes())
    })
}

/// Whether a function's text says a name outside of a part of it, in this build or another one: whatever it is the name of, a
/// variable would hide it.
fn names_besides(shader: &Shader, function: Span, part: Span, name: &str) -> bool {
    let says = |text: &[u8]| words(text).any(|word| word == name.as_bytes());
    let around = |text: &[u8], whole: [u32; 2], part: [u32; 2]| {
        let slice = |start: u32, end: u32| text.get(start as usize..end as usize).unwrap_or_default();
        says(slice(whole[0], part[0])) || says(slice(part[1], whole[1]))
    };
    let located = [function, part].map(|span| shader.origins.locate(span));
    let in_file = match located {
        [Some(whole), Some(part)] if whole.file == part.file => {
            let text = shader
                .sources
                .get(whole.file)
                .map(|file| blank_comments(&file.text));
            text.is_none_or(|text| around(&text, [whole.start, whole.end], [part.start, part.end]))
        }
        _ => false,
    };
    in_file
        || around(
            &shader.text,
            [function.start, function.end],
            [part.start, part.end],
        )
}

/// `wanted`, or with the first number after it that makes it free.
pub(crate) fn free(wanted: &str, taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2u32..1000).map(|number| format!("{wanted}{number}"));
    std::iter::once(wanted.to_owned())
        .chain(numbered)
        .find(|name| !taken(name))
        .unwrap_or_default()
}

/// The lines of the text, each so many steps further in and ended.
pub(crate) fn indented(text: &str, steps: usize) -> String {
    text.lines().fold(String::new(), |mut indented, line| {
        let _ = writeln!(indented, "{:1$}{line}", "", 4 * steps);
        indented
    })
}

/// A literal without a suffix that the file does not use.
pub(crate) fn without_suffix(shader: &Shader, literal: &str) -> String {
    let is_unsigned = |word: &[u8]| {
        let figures = word.strip_suffix(b"u").or_else(|| word.strip_suffix(b"U"));
        figures.is_some_and(|figures| figures.first().is_some_and(u8::is_ascii_digit))
    };
    match literal.strip_suffix('u') {
        Some(plain) if !words(&shader.text).any(is_unsigned) => plain.to_owned(),
        _ => literal.to_owned(),
    }
}

/// An expression with the parentheses around it, and those that a macro has there; but for those of a call.
pub(crate) fn in_parentheses(shader: &Shader, expression: Span) -> Span {
    let names_call = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'>');
    let mut whole = expression;
    loop {
        let before = shader.text.get(..whole.start as usize).unwrap_or_default();
        let behind = shader.text.get(whole.end as usize..).unwrap_or_default();
        let before = before.trim_ascii_end().strip_suffix(b"(");
        let behind = behind.trim_ascii_start().strip_prefix(b")");
        let Some((before, behind)) = before.zip(behind) else {
            return whole;
        };
        if before.trim_ascii_end().last().is_some_and(names_call) {
            return whole;
        }
        whole = Span {
            start: before.len() as u32,
            end: (shader.text.len() - behind.len()) as u32,
        };
    }
}
