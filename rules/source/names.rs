//! Names that are free where a fix declares something.

use shaderlint_hlsl::{Local, Shader, Span, blank_comments};
use shaderlint_simt::Collective;

use crate::source::unit::Unit;
use crate::source::words::words;

/// `wanted` as the name of a new variable in the place of the construct, with a number where the name is taken there
/// or is a macro.
///
/// The function mentions the name nowhere outside of the construct, except for variables of other blocks.
pub(crate) fn local_name(shader: &Shader, found: &Collective, wanted: &str) -> String {
    let function = shader.functions.get(found.function.0 as usize);
    let unit = Unit::of(shader);
    // A declaration within the construct goes away with it.
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
            || unit.may_be_pasted_as_defined(name.as_bytes())
    })
}

/// Whether a function mentions a name outside of a part of it, in this build or another: a variable of that name
/// would hide it.
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

/// A name like `totals` that the unit mentions nowhere, and that is none of `others`.
pub(crate) fn further_name(shader: &Shader, totals: &str, others: &[String]) -> String {
    let unit = Unit::of(shader);
    free(totals, |name| {
        let is_other = others.iter().any(|other| other == name);
        is_other || unit.may_name(name.as_bytes()) || unit.may_be_pasted_as_defined(name.as_bytes())
    })
}

/// `wanted` as a name within a helper, with a number where it is a macro or the unit declares it.
pub(crate) fn inner_name(shader: &Shader, wanted: &str) -> String {
    let unit = Unit::of(shader);
    free(wanted, |name| {
        shader.globals.iter().any(|global| global.own_name() == name)
            || shader.functions.iter().any(|function| function.name == name)
            || shader.structs.iter().any(|of| of.name == name)
            || unit.is_macro_or_template(name.as_bytes())
            || unit.may_be_pasted_as_defined(name.as_bytes())
    })
}

/// Whether a variable may be in scope at this place of its function, or be declared later in a block around it:
/// between the two no block of either closes.
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

/// `wanted`, or `wanted` with the first number that makes it free.
pub(crate) fn free(wanted: &str, taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2u32..1000).map(|number| format!("{wanted}{number}"));
    std::iter::once(wanted.to_owned())
        .chain(numbered)
        .find(|name| !taken(name))
        .unwrap_or_default()
}
