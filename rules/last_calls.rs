//! Functions that a ladder alone calls: with it goes the last that needs them.
//!
//! **Why this is right.** The fixed kernel is proved without them. Nothing else of the unit can name one: all its files, with what this
//! build leaves out of them, have the name where the function is declared and in the calls that go, and nowhere else. So no file
//! loses a function that it calls, and no function of the same name comes to be called instead.

use rustc_hash::FxHashSet;
use shaderlint_hlsl::{ExprKind, Function, FunctionId, Shader, Span, expressions};
use shaderlint_simt::{Collective, Rewrite, StepEdit};

use crate::unit::{Unit, times_named};

/// The functions that only a ladder calls which a form stands for.
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

/// The functions of the file that has these places which are called in them alone, or in one another, and can be taken away.
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
                && times_named(shader, &function.name) == 1 + all().count()
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
