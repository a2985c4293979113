//! Operands, and operations that are not understood.

use crate::span::Span;
use crate::tree::{Expr, ExprKind};
use crate::types::Type;

/// Whether an expression names a place in memory or a variable.
pub(super) fn is_place(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Local(_) | ExprKind::Global(_) => true,
        ExprKind::Index(object, _) | ExprKind::Field(object, _) | ExprKind::Swizzle(object, _) => {
            is_place(object)
        }
        _ => false,
    }
}

/// The same value, no longer a place: for an `Opaque` that only reads this operand.
pub(super) fn as_value(expr: Expr) -> Expr {
    let is_part = matches!(&expr.kind, ExprKind::Opaque(operands) if !operands.is_empty());
    if is_part || is_place(&expr) {
        let (ty, span) = (expr.ty.clone(), expr.span);
        Expr {
            kind: ExprKind::Cast(Box::new(expr)),
            ty,
            span,
        }
    } else {
        expr
    }
}

/// An operand of an operation that is not understood, if only some versions of HLSL evaluate the operand. It becomes
/// an arm of `?:`, so its effects do not count as certain.
pub(super) fn skippable(operand: Expr) -> Expr {
    let acts = |part: &Expr| {
        matches!(
            part.kind,
            ExprKind::Assign { .. }
                | ExprKind::Step { .. }
                | ExprKind::Call(..)
                | ExprKind::Intrinsic(..)
                | ExprKind::Method { .. }
                | ExprKind::Opaque(_)
        )
    };
    if !operand.descendants().any(acts) {
        return as_value(operand);
    }
    let (ty, span) = (operand.ty.clone(), operand.span);
    let literal = |bits, ty| Expr {
        kind: ExprKind::Literal(bits),
        ty,
        span,
    };
    let other = Expr {
        kind: ExprKind::Cast(Box::new(literal(0, Type::INT))),
        ty: ty.clone(),
        span,
    };
    let taken = Box::new(literal(1, Type::BOOL));
    Expr {
        kind: ExprKind::Ternary(taken, Box::new(operand), Box::new(other)),
        ty,
        span,
    }
}

pub(super) fn opaque(operands: Vec<Expr>, ty: Type, span: Span) -> Expr {
    Expr {
        kind: ExprKind::Opaque(operands),
        ty,
        span,
    }
}

/// The operands of an operation that only reads them.
pub(super) fn as_values(arguments: Vec<Expr>) -> Vec<Expr> {
    arguments.into_iter().map(as_value).collect()
}
