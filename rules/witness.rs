//! How the rules about defects name what they saw.

use shaderlint_hlsl::{FileId, Global, GlobalId, Intrinsic, Span, Type, statements};
use shaderlint_linter::Context;
use shaderlint_simt::Iteration;

use crate::missing_barrier::is_barrier;

/// An element as one would write it; the index is that of the outermost dimension.
pub(crate) fn element(context: &Context<'_>, array: GlobalId, index: impl std::fmt::Display) -> String {
    let Some(Global { name, ty, .. }) = context.global(array) else {
        return "groupshared memory".to_owned();
    };
    match ty {
        Type::Array(element, _) if matches!(**element, Type::Array(..)) => {
            format!("{name}[{index}][\u{2026}]")
        }
        Type::Array(..) => format!("{name}[{index}]"),
        _ => name.clone(),
    }
}

/// The pass in which it happens, to be put after the words for when.
pub(crate) fn pass(iteration: Option<&Iteration>) -> String {
    iteration.map_or(String::new(), |iteration| {
        let number = u64::from(iteration.number) + 1;
        let variable = iteration.variable.as_ref();
        let value = variable.map_or(String::new(), |(name, value)| format!(", {name} = {value}"));
        format!(" (pass {number} of the loop{value})")
    })
}

/// Between which barriers something at `place` happens, by the last one before; `None` in a kernel without any.
pub(crate) fn when(context: &Context<'_>, since: Option<Span>, place: Span) -> Option<String> {
    let Some(barrier) = since else {
        let mut bodies = context.reached().filter_map(|function| function.body.as_deref());
        let has_barrier = bodies.any(|body| statements(body).any(is_barrier));
        return has_barrier.then(|| "before the first barrier".to_owned());
    };
    let text = barrier.slice(&context.shader.text);
    let name = text.split(|byte| !byte.is_ascii_alphanumeric()).next();
    let name = name.and_then(|name| std::str::from_utf8(name).ok());
    let what = match name.and_then(Intrinsic::from_name) {
        Some(intrinsic) if intrinsic.is_group_barrier() => "barrier",
        _ => "statement",
    };
    Some(format!(
        "after the {what} {}",
        on_lines(context, &[barrier], place)
    ))
}

/// `on line 5`, as one reads it beside what stands at `place`.
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

/// The last part of a path.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// `line 5`, `lines 5 and 7` or `lines 43 to 47`, of numbers in ascending order.
pub(crate) fn lines_in_words(numbers: &[usize]) -> String {
    let is_run = numbers.windows(2).all(|pair| pair[1] == pair[0] + 1);
    match numbers {
        [only] => format!("line {only}"),
        [first, .., last] if is_run && numbers.len() > 2 => format!("lines {first} to {last}"),
        _ => {
            let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
            format!("lines {}", listed(&numbers))
        }
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

/// The line of its file that something begins on, counted from 1.
pub(crate) fn line(context: &Context<'_>, span: Span) -> Option<(FileId, usize)> {
    let place = context.shader.origins.locate(span)?;
    let text = &context.shader.sources.get(place.file)?.text;
    let before = text.get(..place.start as usize).unwrap_or(text);
    Some((place.file, before.split(|byte| *byte == b'\n').count()))
}
