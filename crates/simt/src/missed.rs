//! What a run has not seen: a construct is what it was found to be only if it was looked at each time it runs.

use std::collections::BTreeSet;

use shaderlint_hlsl::{
    Expr, ExprKind, FunctionId, Intrinsic, Scalar, Shader, Span, Stmt, StmtKind, Type, expressions,
    statements,
};

use crate::fold::fold;

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

    /// Where the functions noted call this one.
    fn calls_of(&self, shader: &Shader, function: FunctionId) -> Vec<(FunctionId, Span)> {
        let callers = (0..).map(FunctionId).zip(&shader.functions);
        let callers = callers.filter(|(caller, _)| self.functions.contains(caller));
        let places = callers.flat_map(|(caller, of)| {
            let body = expressions(of.body.as_deref().unwrap_or_default());
            body.filter_map(move |expr| match expr.kind {
                ExprKind::Call(called, _) if called == function => Some((caller, expr.span)),
                _ => None,
            })
        });
        places.collect()
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
        match run.calls_of(shader, function).as_slice() {
            [] => return function == entry,
            [place] if function != entry => (function, span) = *place,
            _ => return false,
        }
    }
    false
}

/// Whether no run of `entry` in waves of this size comes to a place: it, or the one call that leads there, is in an arm
/// that is not for these.
pub(crate) fn is_for_other_waves(
    shader: &Shader,
    entry: FunctionId,
    (function, span): (FunctionId, Span),
    wave_size: u32,
) -> bool {
    let (mut function, mut span) = (function, span);
    let mut run = Missed::default();
    run.functions.insert(entry);
    run.note_calls(shader, body_of(shader, entry));
    for _ in 0..=shader.functions.len() {
        let holds_it = |arm: &Stmt| arm.span.start <= span.start && span.end <= arm.span.end;
        let is_left_out = |statement: &Stmt| match &statement.kind {
            StmtKind::If {
                condition,
                then,
                otherwise,
            } => match of_waves(condition, wave_size) {
                Some(0) => holds_it(then),
                Some(_) => otherwise.as_deref().is_some_and(holds_it),
                None => false,
            },
            _ => false,
        };
        if statements(body_of(shader, function)).any(is_left_out) {
            return true;
        }
        match run.calls_of(shader, function).as_slice() {
            [place] if function != entry => (function, span) = *place,
            _ => return false,
        }
    }
    false
}

/// The value of an expression of the wave's size and numbers alone.
fn of_waves(expr: &Expr, wave_size: u32) -> Option<u32> {
    match &expr.kind {
        ExprKind::Literal(word) => Some(*word),
        ExprKind::Intrinsic(Intrinsic::WaveGetLaneCount, _) => Some(wave_size),
        ExprKind::Cast(inner) => {
            let is_whole = |ty: &Type| matches!(ty, Type::Scalar(Scalar::Int | Scalar::Uint));
            of_waves(inner, wave_size).filter(|_| is_whole(&inner.ty) && is_whole(&expr.ty))
        }
        ExprKind::Binary(op, a, b) => {
            let (a_word, b_word) = (of_waves(a, wave_size)?, of_waves(b, wave_size)?);
            fold(*op, a.ty.scalar()?, a_word, b_word)
        }
        _ => None,
    }
}
