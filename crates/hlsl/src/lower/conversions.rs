//! HLSL's implicit conversions.

use super::Lowering;
use super::constants::Constant;
use super::operands::{as_value, opaque};
use super::relations::{common, distance, shape};
use super::signatures::counts_in_floats;
use super::wide::exceeds_32_bits;
use crate::language::Version;
use crate::tree::{Expr, ExprKind};
use crate::types::{Scalar, Type};

/// Converts an expression to a type. A conversion that HLSL does not have is `Opaque`.
fn converted(expr: Expr, to: &Type) -> Expr {
    if expr.ty == *to || *to == Type::Unknown {
        return expr;
    }
    let has_open_sign = matches!(&expr, Expr { ty, kind, .. } if ty.scalar().is_some_and(Scalar::is_enum)
        && !matches!(kind, ExprKind::Literal(bits) if bits.cast_signed() >= 0));
    if let (ExprKind::Literal(bits), Some(scalar), Type::Scalar(target)) = (&expr.kind, expr.ty.scalar(), to)
        && let Some(value) = Constant::of(*bits, scalar)
        && !(has_open_sign && target.is_float())
    {
        let value = match target {
            Scalar::Half => value.convert(Scalar::Float),
            Scalar::Int16 => value.convert(Scalar::Int),
            Scalar::Uint16 => value.convert(Scalar::Uint),
            other => value.convert(*other),
        };
        let fits = value.is_some_and(|value| match target {
            Scalar::Int16 => i16::try_from(value.bits().cast_signed()).is_ok(),
            Scalar::Uint16 => u16::try_from(value.bits()).is_ok(),
            _ => true,
        });
        if let Some(value) = value
            && fits
        {
            return Expr {
                kind: ExprKind::Literal(value.bits()),
                ty: to.clone(),
                span: expr.span,
            };
        }
    }
    let is_lost = match to.scalar() {
        Some(Scalar::Bool) => exceeds_32_bits(&expr),
        Some(Scalar::Half | Scalar::Float) => exceeds_32_bits(&expr) || has_open_sign,
        _ => false,
    };
    if is_lost {
        let span = expr.span;
        return opaque(vec![as_value(expr)], to.clone(), span);
    }
    // A count that was converted to a float converts back unchanged.
    if matches!(to.scalar(), Some(Scalar::Bool | Scalar::Int | Scalar::Uint))
        && let ExprKind::Cast(inner) = &expr.kind
        && let ExprKind::Intrinsic(intrinsic, arguments) = &inner.kind
        && let Some(ExprKind::Cast(truth)) = arguments.first().map(|argument| &argument.kind)
        && truth.ty.scalar() == Some(Scalar::Bool)
        && expr.ty == Type::FLOAT
        && counts_in_floats(*intrinsic)
    {
        return converted((**inner).clone(), to);
    }
    let zero = matches!(to, Type::Struct(_) | Type::Array(..))
        && expr.ty.scalar().is_some()
        && matches!(expr.kind, ExprKind::Literal(0));
    let possible = zero || distance(&expr.ty, to).is_some();
    let span = expr.span;
    if possible {
        Expr {
            kind: ExprKind::Cast(Box::new(expr)),
            ty: to.clone(),
            span,
        }
    } else {
        opaque(vec![as_value(expr)], to.clone(), span)
    }
}

impl Lowering<'_> {
    /// Converts an expression to a type. The result is `Opaque` if HLSL has no such conversion, or if the expression
    /// is a literal whose 32-bit value differs from the value that compilers convert.
    pub(super) fn convert(&self, expr: Expr, to: &Type) -> Expr {
        converted(self.narrow_to(expr, to), to)
    }

    /// Converts the scalar type and keeps the shape.
    pub(super) fn convert_scalar(&self, expr: Expr, scalar: Scalar) -> Expr {
        let to = if expr.ty == Type::Unknown {
            Type::Scalar(scalar)
        } else {
            expr.ty.with_scalar(scalar)
        };
        self.convert(expr, &to)
    }

    /// A condition: a scalar bool.
    pub(super) fn to_condition(&self, expr: Expr) -> Expr {
        self.convert(expr, &Type::BOOL)
    }

    /// Converts the value of an atomic. For a float, DXC converts to `int` at some places and to `uint` at others,
    /// whatever their type.
    pub(super) fn to_atomic(&self, value: Expr, to: &Type) -> Expr {
        let is_float = |ty: &Type| ty.scalar().is_some_and(Scalar::is_float);
        if is_float(&value.ty) && !is_float(to) {
            let span = value.span;
            return opaque(vec![as_value(value)], to.clone(), span);
        }
        self.convert(value, to)
    }

    /// Converts an index to a scalar `int` or `uint`, or to a vector of them for a texture.
    pub(super) fn to_index(&self, expr: Expr) -> Expr {
        match expr.ty.scalar() {
            Some(Scalar::Int | Scalar::Uint) => expr,
            Some(Scalar::Int16 | Scalar::Enum(_)) => self.convert_scalar(expr, Scalar::Int),
            Some(_) => self.convert_scalar(expr, Scalar::Uint),
            None => self.convert(expr, &Type::UINT),
        }
    }

    /// Converts the left operand of a shift by `count`. Before HLSL 202x a literal becomes a `uint` if the count is a
    /// `uint`, otherwise an `int`, whatever its value (DXC, `CheckBinOpForHLSL`: "For case like 1<<x"). From 202x on
    /// a `uint` count does not change it. If the version is unknown, this follows [`Version::DEFAULT`].
    pub(super) fn shifted(&self, left: Expr, count: &Expr) -> Expr {
        let version = self.shader.version.unwrap_or(Version::DEFAULT);
        if !self.is_literal_int(&left) || self.is_literal_int(count) {
            return left;
        }
        match count.ty.scalar() {
            Some(Scalar::Uint) if version < Version::V202x => self.convert_scalar(left, Scalar::Uint),
            Some(Scalar::Uint) | None => left,
            Some(_) => self.convert_scalar(left, Scalar::Int),
        }
    }

    /// The common type of two operands. A literal takes the type of the other operand, and so does a name that
    /// nothing declares. There is no common type
    ///
    /// - of a literal beyond the range of `int` and an `int`, or a type that converts to `int`: up to HLSL 2021 the literal becomes an
    ///   `int` with another value, from 202x on the other operand becomes unsigned, or has 64 bits (DXC's `literal int`; HLSL
    ///   specification, 5.1);
    /// - of such a literal and a 16-bit type, which the literal takes in DXC;
    /// - of an expression of literals and a 16-bit type, which the whole expression takes;
    /// - of a `double` and literals whose value may not be a `float`;
    /// - of an operand whose type HLSL knows but this front end does not.
    pub(super) fn common_of(&self, a: &Expr, b: &Expr) -> Option<Type> {
        if let (Some(s), Some(t)) = (a.ty.scalar(), b.ty.scalar()) {
            let is_large = |expr: &Expr, scalar| scalar == Scalar::Uint && self.is_literal_int(expr);
            let has_less = |scalar: Scalar| {
                scalar.is_enum() || scalar.is_small() || matches!(scalar, Scalar::Int | Scalar::Bool)
            };
            if is_large(a, s) && has_less(t) || is_large(b, t) && has_less(s) {
                return None;
            }
            let is_compound = |expr: &Expr| !self.is_free_literal(expr) && self.is_of_literals(expr);
            if s.is_small() && is_compound(b) || t.is_small() && is_compound(a) {
                return None;
            }
            let is_finer = |scalar, expr: &Expr| scalar == Scalar::Double && self.is_finer(expr);
            if is_finer(s, b) || is_finer(t, a) {
                return None;
            }
            let adapts = |literal: Scalar, other: Scalar| {
                !(other == Scalar::Bool || other.is_enum())
                    && (literal == Scalar::Int || literal.is_float() && other.is_float())
            };
            let scalar = match (self.is_free_literal(a), self.is_free_literal(b)) {
                (true, false) if adapts(s, t) => Some(t),
                (false, true) if adapts(t, s) => Some(s),
                _ => None,
            };
            if let Some(scalar) = scalar {
                return Some(shape(&a.ty, &b.ty)?.with_scalar(scalar));
            }
        }
        if self.is_unsettled(a) || self.is_unsettled(b) {
            return None;
        }
        common(&a.ty, &b.ty)
    }

    /// Whether HLSL gives the expression a type that this front end does not know. A field counts, for it may be a
    /// bit field, whose declared type is dropped.
    pub(super) fn is_unsettled(&self, expr: &Expr) -> bool {
        let is_own = matches!(expr.kind, ExprKind::Field(..)) || self.unsettled.contains(&expr.span);
        expr.ty == Type::Unknown && (is_own || expr.children().any(|child| self.is_unsettled(child)))
    }

    /// Notes an operation whose type is unknown although the types of its operands are known.
    pub(super) fn note_unsettled(&mut self, expr: &Expr) {
        let is_known = |operand: &Expr| operand.ty != Type::Unknown;
        if expr.ty == Type::Unknown
            && matches!(expr.kind, ExprKind::Opaque(_))
            && expr.children().all(is_known)
        {
            self.unsettled.insert(expr.span);
        }
    }

    /// The type of a choice between two literals if one of them is beyond the range of `int`: `uint` if neither is
    /// negative.
    ///
    /// Up to HLSL 2021 the choice is a 64-bit `literal int` in DXC, from 202x on a `uint`. Both are the same number.
    /// They differ in an operation that has only literal operands, which [`Lowering::without_large_choices`] makes
    /// opaque.
    pub(super) fn common_of_large_literals(&self, a: &Expr, b: &Expr) -> Option<Type> {
        let is_natural = |expr: &Expr| {
            self.is_literal_int(expr)
                && match self.evaluate(expr) {
                    Some(Constant::Int(value)) => value >= 0,
                    Some(Constant::Uint(_)) => true,
                    _ => false,
                }
        };
        let is_large = [a, b].iter().any(|expr| expr.ty == Type::UINT);
        (is_large && is_natural(a) && is_natural(b)).then_some(Type::UINT)
    }

    /// The operation, or `Opaque` if it has only literal operands and one is a choice between large literals: DXC
    /// computes such a result as an `int`.
    pub(super) fn without_large_choices(&self, whole: Expr) -> Expr {
        let is_open = whole.ty.scalar() == Some(Scalar::Uint)
            && self.is_literal_int(&whole)
            && self.evaluate(&whole).is_none();
        match whole.kind {
            ExprKind::Binary(_, left, right) if is_open => {
                opaque(vec![as_value(*left), as_value(*right)], Type::Unknown, whole.span)
            }
            ExprKind::Unary(_, operand) if is_open => {
                opaque(vec![as_value(*operand)], Type::Unknown, whole.span)
            }
            kind => Expr { kind, ..whole },
        }
    }

    /// The scalar type of the component at `index` of a value of this type.
    pub(super) fn component_scalar(&self, ty: &Type, index: usize) -> Option<Scalar> {
        match ty {
            Type::Struct(id) => {
                let mut before = 0;
                for field in &self.shader.structs.get(id.0 as usize)?.fields {
                    let size = self.shader.components(&field.ty);
                    if index < before + size {
                        return self.component_scalar(&field.ty, index - before);
                    }
                    before += size;
                }
                None
            }
            Type::Array(element, _) => {
                let size = self.shader.components(element).max(1);
                self.component_scalar(element, index % size)
            }
            _ => ty.scalar(),
        }
    }
}
