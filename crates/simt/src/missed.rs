//! What a run has not seen: a construct is what it was found to be only if it was looked at each time it runs.

use std::collections::BTreeSet;

use shaderlint_hlsl::{ExprKind, FunctionId, Shader, Span, Stmt, StmtKind, expressions, statements};

/// Statements that were not followed, and the functions that they may call.
#[derive(Default)]
pub(crate) struct Missed {
    pub statements: Vec<(FunctionId, Span)>,
    functions: BTreeSet<FunctionId>,
}

impl Missed {
    /// Notes all functions that the statements call, directly or not.
    pub fn note_calls(&mut self, shader: &Shader, body: &[Stmt]) {
        let mut left: Vec<FunctionId> = calls(body).collect();
        while let Some(function) = left.pop() {
            if self.functions.insert(function) {
                left.extend(calls(body_of(shader, function)));
            }
        }
    }

    /// Whether the place may run in what was not followed.
    pub fn has(&self, function: FunctionId, span: Span) -> bool {
        let mut spans = self.statements.iter();
        self.functions.contains(&function)
            || spans.any(|(other, missed)| *other == function && overlap(*missed, span))
    }
}

fn overlap(a: Span, b: Span) -> bool {
    a.start < b.end && b.start < a.end
}

fn body_of(shader: &Shader, function: FunctionId) -> &[Stmt] {
    let function = shader.functions.get(function.0 as usize);
    function
        .and_then(|function| function.body.as_deref())
        .unwrap_or_default()
}

fn calls(body: &[Stmt]) -> impl Iterator<Item = FunctionId> {
    expressions(body).filter_map(|expr| match expr.kind {
        ExprKind::Call(function, _) => Some(function),
        _ => None,
    })
}

/// Whether the text lets a place run once at most when `entry` runs: no loop holds it, and one call alone leads there.
pub(crate) fn runs_once(shader: &Shader, entry: FunctionId, function: FunctionId, span: Span) -> bool {
    let (mut function, mut span) = (function, span);
    let mut run = Missed::default();
    run.functions.insert(entry);
    run.note_calls(shader, body_of(shader, entry));
    // Longer chains of calls than there are functions go in circles.
    for _ in 0..=shader.functions.len() {
        let is_around = |statement: &Stmt| {
            matches!(statement.kind, StmtKind::Loop(_))
                && statement.span != span
                && statement.span.start <= span.start
                && span.end <= statement.span.end
        };
        if statements(body_of(shader, function)).any(is_around) {
            return false;
        }
        let callers = (0..).map(FunctionId).zip(&shader.functions);
        let callers = callers.filter(|(caller, _)| run.functions.contains(caller));
        let mut places = callers.flat_map(|(caller, of)| {
            let body = expressions(of.body.as_deref().unwrap_or_default());
            body.filter_map(move |expr| match expr.kind {
                ExprKind::Call(called, _) if called == function => Some((caller, expr.span)),
                _ => None,
            })
        });
        match (places.next(), places.next()) {
            (None, _) => return function == entry,
            (Some(place), None) if function != entry => (function, span) = place,
            _ => return false,
        }
    }
    false
}
