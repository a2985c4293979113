//! Where a barrier may stand: between the accesses of a race, and where all threads reach it.

use std::collections::BTreeSet;

use shaderlint_hlsl::{Expr, ExprKind, Function, Shader, Span, Stmt, StmtKind, statements};
use shaderlint_linter::Context;
use shaderlint_simt::Race;

use crate::describe::witness;
use crate::source::statements::{holder, is_barrier};

/// The innermost statement that every thread which reaches another barrier passes, and `true`: the statement, which
/// is in a block, or one around it between the accesses. Without such a statement, the statement itself and `false`.
/// `None` where threads may have left before.
pub(crate) fn passed_by_all(context: &Context<'_>, race: &Race, statement: Span) -> Option<(Span, bool)> {
    let shader = context.shader;
    let entry = context.function(context.entry)?;
    let function = holder(shader, statement)?;
    let callers = witness::calls(&race.second.around).filter_map(|call| holder(shader, call));
    let mut callers = callers
        .chain([entry])
        .filter(|caller| caller.span != function.span);
    if callers.any(|caller| leaves_function(caller).next().is_some()) {
        return None;
    }
    let mut places = Vec::new();
    let are_all_here = is_entered_by_all(shader, function, entry);
    path(function.body.as_deref()?, statement, are_all_here, &mut places);
    places.last().filter(|(place, _)| *place == statement)?;
    places.retain(|(place, _)| *place == statement || is_between(race, *place));
    places.retain(|(place, _)| is_waited_behind(function, *place));
    let passed = places.iter().rev().find(|(_, is_passed)| *is_passed);
    passed.or(places.last()).copied()
}

/// The statements around `span` that are in blocks, outermost first, and whether every thread that passes a barrier
/// of its block passes the statement too.
pub(crate) fn path(body: &[Stmt], span: Span, are_all_here: bool, places: &mut Vec<(Span, bool)>) {
    let holds = |statement: &Stmt| statement.span.start <= span.start && span.end <= statement.span.end;
    let Some(at) = body.iter().position(holds) else {
        return;
    };
    let (before, after) = body.split_at(at);
    let last_barrier = before.iter().rposition(is_barrier);
    let is_left = |statements_between: &[Stmt]| {
        statements(statements_between).any(|one| matches!(one.kind, StmtKind::Break | StmtKind::Continue))
    };
    let is_passed = after.iter().any(is_barrier)
        || last_barrier.is_some_and(|last| !is_left(&before[last..]))
        || are_all_here;
    let Some(statement) = after.first() else { return };
    places.push((statement.span, is_passed));
    blocks(statement, span, places);
}

/// The same below a statement. No barrier fits before an arm or a body without braces.
fn blocks(statement: &Stmt, span: Span, places: &mut Vec<(Span, bool)>) {
    match &statement.kind {
        StmtKind::Block(body) => path(body, span, false, places),
        StmtKind::If { then, otherwise, .. } => {
            for arm in std::iter::once(then).chain(otherwise) {
                blocks(arm, span, places);
            }
        }
        StmtKind::Loop(l) => blocks(&l.body, span, places),
        _ => {}
    }
}

/// Whether every thread enters a function: each call of it is a statement by itself, and every thread that passes a
/// barrier of its block passes the call, and so on up to the entry point. Each function is looked at once.
pub(crate) fn is_entered_by_all(shader: &Shader, function: &Function, entry: &Function) -> bool {
    let (mut waiting, mut seen) = (vec![function.span], BTreeSet::new());
    while let Some(span) = waiting.pop() {
        if span == entry.span || !seen.insert(span) {
            continue;
        }
        let is_this = |expr: &Expr| match expr.kind {
            ExprKind::Call(called, _) => {
                (shader.functions.get(called.0 as usize)).is_some_and(|called| called.span == span)
            }
            _ => false,
        };
        for caller in &shader.functions {
            let body = caller.body.as_deref().unwrap_or_default();
            for statement in statements(body) {
                let mut within = statement.expressions().flat_map(Expr::descendants);
                let Some(call) = within.find(|expr| is_this(expr)) else {
                    continue;
                };
                let is_alone = matches!(&statement.kind, StmtKind::Expr(expr) if std::ptr::eq(expr, call));
                let is_only = !within.any(is_this);
                if !is_alone || !is_only || leaves_function(caller).next().is_some() {
                    return false;
                }
                let is_passed = |are_all_here| {
                    let mut places = Vec::new();
                    path(body, statement.span, are_all_here, &mut places);
                    matches!(places.last(), Some((place, true)) if *place == statement.span)
                };
                if is_passed(false) {
                    continue;
                }
                if !is_passed(true) {
                    return false;
                }
                waiting.push(caller.span);
            }
        }
    }
    true
}

/// Whether a barrier before a statement around the later access is between the accesses. Before a statement that
/// contains both accesses, it comes before both, or between them only in another pass or call.
pub(crate) fn is_between(race: &Race, place: Span) -> bool {
    let is_one_run = race.first.around == race.second.around;
    !(is_one_run && place.start <= race.first.span.start && race.first.span.end <= place.end)
}

/// Whether nobody leaves the function before this place, or a barrier is behind it: where threads may have left,
/// another barrier is as good as the later ones.
pub(crate) fn is_waited_behind(function: &Function, place: Span) -> bool {
    leaves_function(function).all(|leaving| leaving.span.start >= place.start)
        || statements(function.body.as_deref().unwrap_or_default())
            .any(|other| is_barrier(other) && other.span.start > place.start)
}

/// The place before the first outermost statement of the kernel in which threads may leave, if it is between the
/// accesses.
pub(crate) fn before_leaving(body: &[Stmt], race: &Race) -> Option<(Span, bool)> {
    let leaving = |statement: &&Stmt| leaves(std::slice::from_ref(*statement)).next().is_some();
    let at = body.iter().find(leaving)?.span;
    let is_between = race.first.span.end <= at.start && at.end <= race.second.span.start;
    let mut calls = [&race.first, &race.second]
        .into_iter()
        .flat_map(|access| witness::calls(&access.around));
    let is_called = calls.next().is_some();
    (is_between && !is_called).then_some((at, true))
}

/// The first statement by which threads may leave before the later access, in its function or in one that calls it.
pub(crate) fn left_before(context: &Context<'_>, race: &Race) -> Option<Span> {
    witness::calls(&race.second.around)
        .chain([race.second.span])
        .find_map(|place| {
            let function = holder(context.shader, place)?;
            let leaving = leaves_function(function).next()?;
            (leaving.span.end <= place.start).then_some(leaving.span)
        })
}

/// How many calls lead to the later access and not to the earlier one.
pub(crate) fn own_calls(race: &Race) -> usize {
    let common = witness::in_common(&race.first.around, &race.second.around);
    witness::calls(&race.second.around[common..]).count()
}

/// The statements by which threads may leave a function.
pub(crate) fn leaves_function(function: &Function) -> impl Iterator<Item = &Stmt> {
    leaves(function.body.as_deref().unwrap_or_default())
}

/// The statements by which threads may leave, among these.
pub(crate) fn leaves(body: &[Stmt]) -> impl Iterator<Item = &Stmt> {
    statements(body).filter(|statement| {
        matches!(
            statement.kind,
            StmtKind::Return(_) | StmtKind::Discard | StmtKind::Opaque
        )
    })
}
