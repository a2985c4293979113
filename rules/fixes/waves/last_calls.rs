//! Functions that only a ladder calls: they go with it.
//!
//! **Why this is right.** The files mention such a name, also in text that this build leaves out, only in its
//! declaration and in the calls that go. A call through a macro is none of these. So no file loses a function that it
//! calls, and no call finds another function of that name; and the proof is about the kernel without the function.

use rustc_hash::FxHashSet;
use shaderlint_hlsl::{ExprKind, Function, FunctionId, Shader, Span, expressions};
use shaderlint_simt::{Collective, Rewrite, StepEdit};

use crate::source::text::text_in_file;
use crate::source::unit::Unit;

/// The functions that only the ladder calls.
pub(crate) fn only_called_by<'s>(
    shader: &'s Shader,
    found: &Collective,
    rewrite: &Rewrite,
) -> Vec<&'s Function> {
    let steps = rewrite.last_step.iter().flat_map(|step| &step.edits);
    let places: Vec<Span> = std::iter::once(found.span)
        .chain(steps.map(StepEdit::span))
        .collect();
    only_called_in(shader, &places)
}

/// The functions that only these places, or one another, call, in the file with these places, and that can go.
fn only_called_in<'s>(shader: &'s Shader, places: &[Span]) -> Vec<&'s Function> {
    let numbered = || (0..).map(FunctionId).zip(&shader.functions);
    let calls = numbered().flat_map(|(caller, function)| {
        let body = function.body.as_deref().unwrap_or_default();
        expressions(body).filter_map(move |expr| match expr.kind {
            ExprKind::Call(called, _) => Some((caller, called, expr.span)),
            _ => None,
        })
    });
    let calls: Vec<(FunctionId, FunctionId, Span)> = calls.collect();
    let goes = |call: Span| { places.iter() }.any(|place| place.start <= call.start && call.end <= place.end);
    let file_of = |span: Span| Some(shader.origins.editable(span)?.file);
    let file = places.first().and_then(|place| file_of(*place));
    let unit = Unit::of(shader);
    // Where the file names the called function.
    let named_at = |function: &Function, call: Span| {
        let length = u32::try_from(function.name.len()).ok()?;
        let name = Span {
            end: call.start + length,
            ..call
        };
        let is_it = text_in_file(shader, name)? == function.name;
        shader.origins.editable(name).filter(|_| is_it)
    };
    let mut gone: FxHashSet<FunctionId> = FxHashSet::default();
    loop {
        let next = numbered().find(|(id, function)| {
            let all = || calls.iter().filter(|(_, called, _)| called == id);
            !gone.contains(id)
                && all().next().is_some()
                && all().all(|(caller, _, call)| gone.contains(caller) || goes(*call))
                && function.body.is_some()
                && function.group_size.is_none()
                && !function.is_instance
                && !function.name.contains("::")
                && file.is_some()
                && file_of(function.span) == file
                && {
                    let places = all().map(|(_, _, call)| named_at(function, *call));
                    let places: Option<FxHashSet<(u32, u32)>> = places
                        .map(|place| place.map(|place| (place.file.0, place.start)))
                        .collect();
                    places.is_some_and(|places| unit.times_named(&function.name) == 1 + places.len())
                }
                && !unit.may_be_pasted(function.name.as_bytes())
        });
        let Some((id, _)) = next else {
            break;
        };
        gone.insert(id);
    }
    numbered()
        .filter(|(id, _)| gone.contains(id))
        .map(|(_, function)| function)
        .collect()
}
