//! What a run saw of a defect, in words: elements, iterations, barriers and lines.

use shaderlint_hlsl::{FileId, GlobalId, Intrinsic, Span, statements};
use shaderlint_linter::Context;
use shaderlint_simt::{Around, Iteration, NamedValue, Point, element_text};

use crate::source::lines::{file_name, line_after, lines_in_words};
use crate::source::statements::group_barrier;

/// An element as one would write it; the index is that of the outermost dimension.
pub(crate) fn element(context: &Context<'_>, array: GlobalId, index: impl Into<i64>) -> String {
    element_text(context.shader, array, index.into())
}

/// The values from the host for which something happens in the first group.
pub(crate) fn given(values: &[NamedValue]) -> String {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    if values.is_empty() {
        return String::new();
    }
    format!(", for instance in the first group, with {}", values.join(" and "))
}

/// The iterations of loops in which something happens, to follow the words of [`when`].
pub(crate) fn iterations(context: &Context<'_>, around: &[Around]) -> String {
    let iterations = around.iter().rev().filter_map(|around| match around {
        Around::Loop { of, iteration } => Some((*of, iteration)),
        Around::Call(_) => None,
    });
    let is_only = iterations.clone().count() == 1;
    let iterations = iterations.map(|(of, iteration)| {
        let number = u64::from(iteration.number) + 1;
        let line = if is_only {
            String::new()
        } else {
            format!(" {}", on_lines(context, &[of], of))
        };
        let variable = iteration.variable.as_ref();
        let value = variable.map_or(String::new(), |value| format!(", {value}"));
        format!("iteration {number} of the loop{line}{value}")
    });
    let iterations: Vec<String> = iterations.collect();
    if iterations.is_empty() {
        return String::new();
    }
    format!(" ({})", iterations.join(", in "))
}

/// `in iteration 2 of the loop on line 24 (row = 1)`: iterations and calls that two places do not share, innermost first.
pub(crate) fn inside(context: &Context<'_>, around: &[Around], place: Span) -> String {
    let around = around.iter().rev().map(|around| match around {
        Around::Call(call) => format!("in the call {}", on_lines(context, &[*call], place)),
        Around::Loop { of, iteration } => {
            let line = on_lines(context, &[*of], place);
            let number = u64::from(iteration.number) + 1;
            format!("in iteration {number} of the loop {line}{}", value(iteration))
        }
    });
    around.collect::<Vec<String>>().join(", ")
}

/// ` (row = 1)`
pub(crate) fn value(iteration: &Iteration) -> String {
    let variable = iteration.variable.as_ref();
    variable.map_or(String::new(), |value| format!(" ({value})"))
}

/// The calls among these, outermost first.
pub(crate) fn calls(around: &[Around]) -> impl DoubleEndedIterator<Item = Span> {
    around.iter().filter_map(|around| match around {
        Around::Call(call) => Some(*call),
        Around::Loop { .. } => None,
    })
}

/// How many iterations and calls two places share, from the outermost.
pub(crate) fn in_common(one: &[Around], other: &[Around]) -> usize {
    one.iter()
        .zip(other)
        .take_while(|(one, other)| one == other)
        .count()
}

/// When something at `place` happens, by the last barrier before it that orders groupshared memory; `None` in a
/// kernel without barriers. `around` has the iterations and calls around each thing that happens; a barrier in
/// another iteration or call is named with it.
pub(crate) fn when(
    context: &Context<'_>,
    since: Option<&Point>,
    place: Span,
    around: &[&[Around]],
) -> Option<String> {
    let Some(Point {
        span: barrier,
        around: of_barrier,
    }) = since
    else {
        let bodies = context.reached().filter_map(|function| function.body.as_deref());
        let barriers = bodies.flat_map(|body| statements(body).filter_map(group_barrier));
        let barriers: Vec<Intrinsic> = barriers.collect();
        let is_of_device = |barrier: &Intrinsic| *barrier == Intrinsic::DeviceMemoryBarrierWithGroupSync;
        return if barriers.iter().all(is_of_device) {
            None
        } else if barriers.iter().any(is_of_device) {
            Some("before the first barrier that orders groupshared memory".to_owned())
        } else {
            Some("before the first barrier".to_owned())
        };
    };
    let what = if is_barrier_call(context, *barrier) {
        "barrier"
    } else {
        "statement"
    };
    let known = around.iter().map(|around| in_common(of_barrier, around)).min();
    let known = known.unwrap_or_default();
    let is_named = |of: &Span| {
        let mut loops = around.iter().filter_map(|around| around.get(known));
        loops.any(|around| matches!(around, Around::Loop { of: named, .. } if named == of))
    };
    let own = match &of_barrier[known..] {
        [] => String::new(),
        [Around::Loop { of, iteration }, rest @ ..] if is_named(of) => {
            let inside = inside(context, rest, place);
            let space = if inside.is_empty() { "" } else { " " };
            format!("{space}{inside} in iteration {}", u64::from(iteration.number) + 1)
        }
        own => format!(" {}", inside(context, own, place)),
    };
    Some(format!(
        "after the {what} {}{own}",
        on_lines(context, &[*barrier], place)
    ))
}

/// A barrier, as read beside `place`: one call, or the barriers of a statement that the run does not follow.
pub(crate) fn barrier(context: &Context<'_>, barrier: Span, place: Span) -> String {
    let at = on_lines(context, &[barrier], place);
    if is_barrier_call(context, barrier) {
        format!("the barrier {at}")
    } else {
        format!("the barriers of the statement {at}")
    }
}

fn is_barrier_call(context: &Context<'_>, place: Span) -> bool {
    let text = place.slice(&context.shader.text);
    let name = text.split(|byte| !byte.is_ascii_alphanumeric()).next();
    let name = name.and_then(|name| std::str::from_utf8(name).ok());
    name.and_then(Intrinsic::from_name)
        .is_some_and(Intrinsic::is_group_barrier)
}

/// `on line 5`, as read beside `place`.
pub(crate) fn on_lines(context: &Context<'_>, spans: &[Span], place: Span) -> String {
    let mut lines: Vec<(FileId, usize)> = spans.iter().filter_map(|span| line(context, *span)).collect();
    lines.sort_unstable();
    lines.dedup();
    let Some((file, _)) = lines.first().copied() else {
        return "elsewhere".to_owned();
    };
    lines.retain(|(other, _)| *other == file);
    let numbers: Vec<usize> = lines.into_iter().map(|(_, number)| number).collect();
    let of_file = context
        .shader
        .sources
        .get(file)
        .filter(|_| line(context, place).is_none_or(|(own, _)| own != file));
    let of_file = of_file.map_or(String::new(), |file| format!(" of {}", file_name(&file.path)));
    format!("on {}{of_file}", lines_in_words(&numbers))
}

/// The lines of these places: their number, and in words.
pub(crate) fn lines_of(context: &Context<'_>, spans: &[Span]) -> (usize, String) {
    let lines = spans.iter().filter_map(|span| Some(line(context, *span)?.1));
    let mut lines: Vec<usize> = lines.collect();
    lines.sort_unstable();
    lines.dedup();
    (lines.len(), lines_in_words(&lines))
}

/// The file and the line on which something begins, counted from 1.
pub(crate) fn line(context: &Context<'_>, span: Span) -> Option<(FileId, usize)> {
    let place = context.shader.origins.locate(span)?;
    let text = &context.shader.sources.get(place.file)?.text;
    let before = text.get(..place.start as usize).unwrap_or(text);
    Some((place.file, line_after(before)))
}
