//! Which functions an entry point calls.

use shaderlint_hlsl::{Expr, ExprKind, FunctionId, Shader, Stmt, StmtKind};

/// Whether a run of `entry` may get to `target`, directly or through calls.
pub(crate) fn reaches(shader: &Shader, entry: FunctionId, target: FunctionId) -> bool {
    let mut seen = vec![false; shader.functions.len()];
    let mut left = vec![entry];
    while let Some(id) = left.pop() {
        if id == target {
            return true;
        }
        let Some(seen) = seen.get_mut(id.0 as usize).filter(|seen| !**seen) else {
            continue;
        };
        *seen = true;
        let body = shader
            .functions
            .get(id.0 as usize)
            .and_then(|function| function.body.as_deref());
        for stmt in body.unwrap_or_default() {
            calls_of_stmt(stmt, &mut left);
        }
    }
    false
}

fn calls_of_stmt(stmt: &Stmt, calls: &mut Vec<FunctionId>) {
    match &stmt.kind {
        StmtKind::Declare { init: value, .. } | StmtKind::Return(value) => calls_of(value.as_ref(), calls),
        StmtKind::Expr(expr) => calls_of(Some(expr), calls),
        StmtKind::Block(body) => body.iter().for_each(|stmt| calls_of_stmt(stmt, calls)),
        StmtKind::If {
            condition,
            then,
            otherwise,
        } => {
            calls_of(Some(condition), calls);
            calls_of_stmt(then, calls);
            if let Some(otherwise) = otherwise {
                calls_of_stmt(otherwise, calls);
            }
        }
        StmtKind::Loop(parts) => {
            parts.init.iter().for_each(|stmt| calls_of_stmt(stmt, calls));
            calls_of(parts.condition.iter().chain(&parts.step), calls);
            calls_of_stmt(&parts.body, calls);
        }
        StmtKind::Switch { value, cases } => {
            calls_of(
                cases.iter().filter_map(|case| case.label.as_ref()).chain([value]),
                calls,
            );
            cases
                .iter()
                .flat_map(|case| &case.body)
                .for_each(|stmt| calls_of_stmt(stmt, calls));
        }
        StmtKind::Break | StmtKind::Continue | StmtKind::Discard | StmtKind::Opaque => {}
    }
}

/// Expressions may nest deeply: a list of what is left instead of recursion.
fn calls_of<'a>(exprs: impl IntoIterator<Item = &'a Expr>, calls: &mut Vec<FunctionId>) {
    let mut left: Vec<&Expr> = exprs.into_iter().collect();
    while let Some(expr) = left.pop() {
        match &expr.kind {
            ExprKind::Literal(_) | ExprKind::Local(_) | ExprKind::Global(_) => {}
            ExprKind::Unary(_, a)
            | ExprKind::Step { target: a, .. }
            | ExprKind::Field(a, _)
            | ExprKind::Swizzle(a, _)
            | ExprKind::Cast(a) => left.push(a),
            ExprKind::Binary(_, a, b)
            | ExprKind::Assign {
                target: a, value: b, ..
            }
            | ExprKind::Index(a, b)
            | ExprKind::Comma(a, b) => left.extend([&**a, &**b]),
            ExprKind::Ternary(a, b, c) => left.extend([&**a, &**b, &**c]),
            ExprKind::Call(function, arguments) => {
                calls.push(*function);
                left.extend(arguments);
            }
            ExprKind::Construct(arguments)
            | ExprKind::Intrinsic(_, arguments)
            | ExprKind::Opaque(arguments) => {
                left.extend(arguments);
            }
            ExprKind::Method {
                object, arguments, ..
            } => {
                left.push(object);
                left.extend(arguments);
            }
        }
    }
}
