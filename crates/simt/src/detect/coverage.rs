//! What a run did not see. A construct counts only if the run looked at every execution of it.

use std::collections::BTreeSet;

use shaderlint_hlsl::{
    Expr, ExprKind, FunctionId, Intrinsic, Scalar, Shader, Span, Stmt, StmtKind, Type, calls, expressions,
    statements,
};

use crate::facts::kernel::Kernel;
use crate::finding::Collective;
use crate::terms::fold::fold;

/// Statements that were not followed, and the functions that they may call.
#[derive(Default)]
pub(crate) struct Missed {
    statements: BTreeSet<(FunctionId, Span)>,
    functions: BTreeSet<FunctionId>,
}

impl Missed {
    /// Notes statements of `function`, and all functions that they call, directly or not.
    pub fn note(&mut self, shader: &Shader, function: FunctionId, body: &[Stmt]) {
        let spans = body.iter().map(|statement| (function, statement.span));
        self.statements.extend(spans);
        note_calls(shader, body, &mut self.functions);
    }

    /// Adds what another run did not see.
    pub fn add(&mut self, other: Missed) {
        self.statements.extend(other.statements);
        self.functions.extend(other.functions);
    }

    /// Whether part of this span may run within statements that were not followed.
    pub fn has(&self, function: FunctionId, span: Span) -> bool {
        self.is_in(function, |missed| {
            missed.start < span.end && span.start < missed.end
        })
    }

    /// Whether all of this span may run within statements that were not followed.
    pub fn has_all_of(&self, function: FunctionId, span: Span) -> bool {
        self.is_in(function, |missed| {
            missed.start <= span.start && span.end <= missed.end
        })
    }

    fn is_in(&self, function: FunctionId, is_meant: impl Fn(Span) -> bool) -> bool {
        let mut spans = self.statements.iter();
        self.functions.contains(&function)
            || spans.any(|(other, missed)| *other == function && is_meant(*missed))
    }
}

/// Adds all functions that some statements call, directly or not.
fn note_calls(shader: &Shader, body: &[Stmt], functions: &mut BTreeSet<FunctionId>) {
    let mut left: Vec<FunctionId> = calls(body).collect();
    while let Some(function) = left.pop() {
        if functions.insert(function) {
            left.extend(calls(body_of(shader, function)));
        }
    }
}

/// The functions that may run when `entry` does: itself and all that it calls, directly or not.
pub(crate) fn reached(shader: &Shader, entry: FunctionId) -> BTreeSet<FunctionId> {
    let mut functions = BTreeSet::from([entry]);
    note_calls(shader, body_of(shader, entry), &mut functions);
    functions
}

/// The calls of `function` in `functions`.
fn calls_of(
    shader: &Shader,
    functions: &BTreeSet<FunctionId>,
    function: FunctionId,
) -> Vec<(FunctionId, Span)> {
    let callers = (0..).map(FunctionId).zip(&shader.functions);
    let callers = callers.filter(|(caller, _)| functions.contains(caller));
    let places = callers.flat_map(|(caller, of)| {
        let body = expressions(of.body.as_deref().unwrap_or_default());
        body.filter_map(move |expr| match expr.kind {
            ExprKind::Call(called, _) if called == function => Some((caller, expr.span)),
            _ => None,
        })
    });
    places.collect()
}

pub(crate) fn body_of(shader: &Shader, function: FunctionId) -> &[Stmt] {
    let function = shader.functions.get(function.0 as usize);
    function
        .and_then(|function| function.body.as_deref())
        .unwrap_or_default()
}

/// Whether a span runs at most once per run of `entry`, by its text: no loop contains it, and only one call
/// leads there.
pub(crate) fn runs_once(shader: &Shader, entry: FunctionId, function: FunctionId, span: Span) -> bool {
    let (mut function, mut span) = (function, span);
    let run = reached(shader, entry);
    // A chain of calls longer than the number of functions is a cycle.
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
        match calls_of(shader, &run, function).as_slice() {
            [] => return function == entry,
            [place] if function != entry => (function, span) = *place,
            _ => return false,
        }
    }
    false
}

/// Whether no run with waves of this size reaches a construct: it, or the only call that leads to it, is in an
/// arm for other wave sizes.
pub(crate) fn is_for_other_waves(kernel: Kernel<'_>, construct: &Collective, wave_size: u32) -> bool {
    let Kernel { shader, entry } = kernel;
    let Collective {
        mut function,
        mut span,
        ..
    } = *construct;
    let run = reached(shader, entry);
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
        match calls_of(shader, &run, function).as_slice() {
            [place] if function != entry => (function, span) = *place,
            _ => return false,
        }
    }
    false
}

/// The value of an expression made only of the wave size and numbers.
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
