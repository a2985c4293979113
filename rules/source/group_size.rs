//! What a file calls the size of the thread group, and where such a name means the same.

use shaderlint_hlsl::{FileId, Global, GlobalId, Shader, Span, Text, Type, blank_comments};
use shaderlint_linter::Context;
use shaderlint_simt::{Collective, Elements};

use crate::source::text::{has_comment, operand, text_in_file};
use crate::source::unit::Unit;
use crate::source::words::words;

/// The arguments of `numthreads` as the file spells them; `None` where a macro spells them, or where they cannot be
/// told apart.
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

/// What the construct's text may call the first dimension of the group.
pub(crate) fn width_by_name(context: &Context<'_>, found: &Collective) -> Option<String> {
    let [x, ..] = <[String; 3]>::try_from(group_size_text(context)?).ok()?;
    is_known_to(context, found, &x).then(|| operand(context.shader, &x))
}

/// What the construct's text may call the number of threads in the group.
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

/// The same for a group of one row, by the name of its width. `None` unless the file spells the other dimensions as
/// 1: another build may give the group more rows.
pub(crate) fn size_by_name(context: &Context<'_>, found: &Collective) -> Option<String> {
    let [_, y, z] = <[String; 3]>::try_from(group_size_text(context)?).ok()?;
    let is_one_row = [y, z].iter().all(|side| side == "1");
    let size = width_by_name(context, found).or_else(|| size_of_arrays(context, found));
    size.filter(|_| is_one_row)
}

/// The number of threads in figures, if the construct is in a header that spells the length of each of its arrays as
/// that number. Such text is for groups of one size, whatever the including files call it.
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

/// Whether the file spells the group size in figures. Then a proof for this size covers every build.
pub(crate) fn has_literal_size(context: &Context<'_>) -> bool {
    let is_literal = |byte: u8| byte.is_ascii_digit() || b" +-*/()".contains(&byte);
    group_size_text(context)
        .is_some_and(|arguments| arguments.iter().all(|text| text.bytes().all(is_literal)))
}

/// What the construct's text may call the number of its elements: the length of its arrays, as the file spells it,
/// which may be a number.
pub(crate) fn count_by_name(context: &Context<'_>, found: &Collective) -> Option<String> {
    let shader = context.shader;
    let length = |place: &Elements| match place {
        Elements::Array {
            global, offset: 0, ..
        } => {
            let array = shader.globals.get(global.0 as usize)?;
            let has_all = matches!(array.ty, Type::Array(_, length) if length == found.count);
            length_text(shader, array).filter(|_| has_all)
        }
        _ => None,
    };
    let text = length(&found.input).or_else(|| length(&found.output))?;
    is_known_to(context, found, &text).then(|| operand(shader, &text))
}

/// The text between the brackets of an array's declaration, if it has no comments.
pub(crate) fn length_text(shader: &Shader, array: &Global) -> Option<String> {
    let after_name = Span {
        start: array.name_span.end,
        end: array.span.end,
    };
    let written = text_in_file(shader, after_name)?;
    let (length, _) = written.trim_start().strip_prefix('[')?.split_once(']')?;
    (!has_comment(length)).then(|| length.trim().to_owned())
}

/// Whether the text of a `numthreads` argument means the same where the construct is.
///
/// A local variable may hide a constant of that name. A function other than the entry point may be declared before
/// the constant or before the macro, or after a redefinition, or may see members of its class.
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

/// Whether a name is declared or defined before `place`, which is at top level, and means the same behind it.
pub(crate) fn is_known_at(shader: &Shader, place: Span, name: &[u8]) -> bool {
    let unit = Unit::of(shader);
    if unit.is_macro(name) {
        let (sources, given) = (&shader.sources, &shader.given);
        let definition = shader.defined.definition(name, place.start, sources, given);
        return definition.is_some();
    }
    let named = |global: &&Global| global.own_name().as_bytes() == name;
    let mut globals = shader.globals.iter().filter(named).peekable();
    // A name without a declaration is defined from outside, for the whole text.
    globals.peek().is_none() || globals.any(|global| global.span.end <= place.start)
}

/// Whether code at a place may use a name: in the main file, or in a header that already uses or defines the name.
/// Another file that includes the header may not have the name from elsewhere.
fn may_name(shader: &Shader, place: Span, name: &[u8]) -> bool {
    let place = shader.origins.locate(place);
    place.is_some_and(|place| {
        let text = shader.sources.get(place.file).map(|file| &file.text);
        let names_it = |text: &Text| words(&blank_comments(text)).any(|word| word == name);
        place.file == FileId(0) || name.iter().all(u8::is_ascii_digit) || text.is_some_and(names_it)
    })
}
