//! The statements around a place, and which of them are barriers.

use shaderlint_hlsl::{
    Expr, ExprKind, Function, Intrinsic, LocalId, Shader, Span, Stmt, StmtKind, expressions, statements,
};

/// The barrier that orders no more than groupshared memory.
pub(crate) const BARRIER: &str = "GroupMemoryBarrierWithGroupSync";

/// The statements that contain `span`, outermost first: those of blocks, and arms and bodies without braces.
pub(crate) fn statements_around(shader: &Shader, span: Span) -> Option<Vec<&Stmt>> {
    let body = holder(shader, span)?.body.as_deref()?;
    let holds = |statement: &&Stmt| statement.span.start <= span.start && span.end <= statement.span.end;
    let mut around: Vec<&Stmt> = statements(body).filter(holds).collect();
    // Of two statements with the same text the inner one comes later.
    around.sort_by_key(|statement| std::cmp::Reverse(statement.span.end - statement.span.start));
    (!around.is_empty()).then_some(around)
}

/// The function whose text holds `span`.
pub(crate) fn holder(shader: &Shader, span: Span) -> Option<&Function> {
    let holds = |function: &&Function| function.span.start <= span.start && span.end <= function.span.end;
    shader.functions.iter().find(holds)
}

/// Where a function uses a variable.
pub(crate) fn uses_of(function: &Function, local: LocalId) -> Vec<Span> {
    let body = function.body.as_deref().unwrap_or_default();
    let uses = expressions(body).filter(|expr| matches!(expr.kind, ExprKind::Local(of) if of == local));
    uses.map(|expr| expr.span).collect()
}

/// Whether a statement is a barrier that the whole group waits at.
pub(crate) fn is_barrier(statement: &Stmt) -> bool {
    group_barrier(statement).is_some()
}

/// The barrier that a statement is.
pub(crate) fn group_barrier(statement: &Stmt) -> Option<Intrinsic> {
    match &statement.kind {
        StmtKind::Expr(Expr {
            kind: ExprKind::Intrinsic(intrinsic, _),
            ..
        }) => Some(*intrinsic).filter(|intrinsic| intrinsic.is_group_barrier()),
        _ => None,
    }
}
