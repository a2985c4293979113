//! Which statements stand around a place, and which are barriers.

use shaderlint_hlsl::{Expr, ExprKind, Function, Intrinsic, Shader, Span, Stmt, StmtKind, statements};

/// The statements of lists of statements, and the arms and bodies, that `span` stands in, from the outermost on.
pub(crate) fn statements_around(shader: &Shader, span: Span) -> Option<Vec<&Stmt>> {
    let body = holder(shader, span)?.body.as_deref()?;
    let holds = |statement: &&Stmt| statement.span.start <= span.start && span.end <= statement.span.end;
    let mut around: Vec<&Stmt> = statements(body).filter(holds).collect();
    // Of statements that begin and end together the inner one comes later.
    around.sort_by_key(|statement| std::cmp::Reverse(statement.span.end - statement.span.start));
    (!around.is_empty()).then_some(around)
}

/// The function whose text holds `span`.
pub(crate) fn holder(shader: &Shader, span: Span) -> Option<&Function> {
    let holds = |function: &&Function| function.span.start <= span.start && span.end <= function.span.end;
    shader.functions.iter().find(holds)
}

/// Whether a statement is a barrier that the whole group waits at.
pub(crate) fn is_barrier(statement: &Stmt) -> bool {
    group_barrier(statement).is_some()
}

/// Which one it is.
pub(crate) fn group_barrier(statement: &Stmt) -> Option<Intrinsic> {
    match &statement.kind {
        StmtKind::Expr(Expr {
            kind: ExprKind::Intrinsic(intrinsic, _),
            ..
        }) => Some(*intrinsic).filter(|intrinsic| intrinsic.is_group_barrier()),
        _ => None,
    }
}
