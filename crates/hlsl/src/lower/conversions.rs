//! HLSL's implicit conversions.

use std::cmp::Ordering;

use super::constants::Constant;
use super::intrinsics::{counts_in_floats, has_own_type};
use super::wide::exceeds_32_bits;
use super::{Lowering, literals};
use crate::Intrinsic;
use crate::language::Version;
use crate::span::Span;
use crate::tree::{BinaryOp, Expr, ExprKind, UnaryOp};
use crate::types::{Scalar, Type};

/// Order of the usual conversions: the higher one wins.
fn rank(scalar: Scalar) -> u8 {
    match scalar {
        Scalar::Bool => 0,
        Scalar::Enum(_) => 1,
        Scalar::Int16 => 2,
        Scalar::Uint16 => 3,
        Scalar::Int => 4,
        Scalar::UintEnum(_) => 5,
        Scalar::Uint => 6,
        Scalar::Int64 => 7,
        Scalar::Uint64 => 8,
        Scalar::Half => 9,
        Scalar::Float => 10,
        Scalar::Double => 11,
    }
}

fn wider(a: Scalar, b: Scalar) -> Scalar {
    if rank(a) >= rank(b) { a } else { b }
}

/// `bool` becomes `int` where arithmetic is done on it.
pub(super) fn arithmetic(ty: &Type) -> Type {
    if ty.scalar() == Some(Scalar::Bool) {
        ty.with_scalar(Scalar::Int)
    } else {
        ty.clone()
    }
}

/// The type two operands are converted to; `None` where HLSL has none.
pub(super) fn common(a: &Type, b: &Type) -> Option<Type> {
    if a == b {
        return Some(a.clone());
    }
    match (a, b) {
        (Type::Unknown, other) | (other, Type::Unknown) => return Some(other.clone()),
        _ => {}
    }
    let scalars = (a.scalar()?, b.scalar()?);
    let scalar = match scalars {
        // DXC has 16 bits of them, C++ an `int`.
        (Scalar::Enum(_) | Scalar::UintEnum(_), Scalar::Int16 | Scalar::Uint16)
        | (Scalar::Int16 | Scalar::Uint16, Scalar::Enum(_) | Scalar::UintEnum(_)) => return None,
        (Scalar::Enum(_), Scalar::Bool) | (Scalar::Bool, Scalar::Enum(_)) => Scalar::Int,
        // DXC takes the wider one without a sign (`CombineBasicTypes`), C++ with its own.
        (Scalar::Uint16, Scalar::Int | Scalar::Int64)
        | (Scalar::Int | Scalar::Int64, Scalar::Uint16)
        | (Scalar::Uint, Scalar::Int64)
        | (Scalar::Int64, Scalar::Uint) => return None,
        (a, b) => wider(a, b),
    };
    Some(shape(a, b)?.with_scalar(scalar))
}

/// The common shape of two numeric types: a scalar takes the other's, of two vectors the shorter wins.
#[expect(clippy::many_single_char_names, reason = "rows and columns")]
pub(super) fn shape(a: &Type, b: &Type) -> Option<Type> {
    Some(match (a, b) {
        (Type::Scalar(_), other) | (other, Type::Scalar(_)) => other.clone(),
        (Type::Vector(_, 1), Type::Vector(..)) => b.clone(),
        (Type::Vector(..), Type::Vector(_, 1)) => a.clone(),
        (Type::Vector(s, m), Type::Vector(_, n)) => Type::Vector(*s, *m.min(n)),
        // DXC spreads a matrix of one element, and cuts others.
        (Type::Matrix(_, 1, 1), Type::Matrix(_, q, d)) if (*q, *d) != (1, 1) => return None,
        (Type::Matrix(_, r, c), Type::Matrix(_, 1, 1)) if (*r, *c) != (1, 1) => return None,
        (Type::Matrix(s, r, c), Type::Matrix(_, q, d)) => Type::Matrix(*s, *r.min(q), *c.min(d)),
        (Type::Matrix(_, r, c), Type::Vector(s, n)) | (Type::Vector(s, n), Type::Matrix(_, r, c))
            if r * c == *n =>
        {
            Type::Vector(*s, *n)
        }
        _ => return None,
    })
}

/// How far a conversion is, for overloads: 0 is none at all. `None` where there is no conversion.
#[expect(clippy::many_single_char_names, reason = "rows and columns")]
pub(super) fn distance(from: &Type, to: &Type) -> Option<u32> {
    if from == to {
        return Some(0);
    }
    match (from, to) {
        (Type::Unknown, _) | (_, Type::Unknown) => return Some(1),
        // An unsized array parameter takes any length.
        (Type::Array(a, _), Type::Array(b, 0)) | (Type::Array(a, 0), Type::Array(b, _)) if a == b => {
            return Some(1);
        }
        (Type::Resource(a, None), Type::Resource(b, _)) | (Type::Resource(a, _), Type::Resource(b, None))
            if a == b =>
        {
            return Some(1);
        }
        _ => {}
    }
    let (a, b) = (from.scalar()?, to.scalar()?);
    let scalar = match (a, b) {
        _ if a == b => 0,
        _ if a.is_enum() || b.is_enum() => 4,
        _ if a.is_float() == b.is_float() && rank(a) < rank(b) => 1,
        _ if a.is_float() == b.is_float() => 2,
        _ if rank(a) < rank(b) => 3,
        _ => 4,
    };
    let shape = match (from, to) {
        (Type::Scalar(_), Type::Scalar(_)) => 0,
        (Type::Vector(_, m), Type::Vector(_, n)) if m == n => 0,
        (Type::Matrix(_, r, c), Type::Matrix(_, q, d)) if r == q && c == d => 0,
        (Type::Scalar(_), Type::Vector(_, 1)) | (Type::Vector(_, 1), Type::Scalar(_)) => 1,
        (Type::Scalar(_) | Type::Vector(_, 1), Type::Vector(..) | Type::Matrix(..)) => 10,
        (Type::Vector(_, m), Type::Vector(_, n)) if m > n => 20,
        (Type::Vector(..) | Type::Matrix(..), Type::Scalar(_)) => 30,
        (Type::Matrix(_, r, c), Type::Matrix(_, q, d)) if r >= q && c >= d => 20,
        (Type::Matrix(_, r, c), Type::Vector(_, n)) | (Type::Vector(_, n), Type::Matrix(_, r, c))
            if r * c == *n =>
        {
            15
        }
        _ => return None,
    };
    Some(scalar + shape)
}

/// Which of two parameters takes an argument with less conversion; `None` where that is not known for certain, or compilers
/// find none the better.
///
/// The argument's own type is the best. Of types of one component type, the shape that it has is better than others, and for a
/// scalar another scalar is; to cut a vector is worse than to convert it between `int`s, `uint`s and `float`s; of scalars, an integer takes an integer better than a float, and a `float` better than a `half`
/// (DXC 1.8, seen for all pairs).
pub(super) fn preference(
    (argument, is_literal): (&Type, bool),
    one: &Type,
    other: &Type,
) -> Option<Ordering> {
    if one == other {
        return Some(Ordering::Equal);
    }
    // Which of the small types it is matters to an overload.
    let is_small = |ty: &Type| ty.scalar().is_some_and(Scalar::is_small);
    if is_small(argument) || is_small(one) && is_small(other) {
        return None;
    }
    if !is_literal && let Some(order) = preference_of_scalar(argument, one, other) {
        return Some(order).filter(|order| order.is_ne());
    }
    let is_preferred = |one: &Type, other: &Type| {
        if one == argument {
            return true;
        }
        let (Some(given), Some(a), Some(b)) = (argument.scalar(), one.scalar(), other.scalar()) else {
            return false;
        };
        let has_shape = |ty: &Type| *argument == ty.with_scalar(given);
        let is_word = |scalar: Scalar| matches!(scalar, Scalar::Int | Scalar::Uint);
        let is_usual = |scalar: Scalar| is_word(scalar) || scalar == Scalar::Float;
        let is_cut = matches!(argument, Type::Vector(_, 2..)) && [given, a, b].into_iter().all(is_usual);
        if a == b || is_cut && !has_shape(other) {
            return has_shape(one) && !has_shape(other);
        }
        let is_less = match a {
            Scalar::Int | Scalar::Uint => b.is_float(),
            Scalar::Float => b == Scalar::Half,
            _ => false,
        };
        is_word(given) && is_less && has_shape(one) && has_shape(other)
    };
    match (is_preferred(one, other), is_preferred(other, one)) {
        (true, false) => Some(Ordering::Less),
        (false, true) => Some(Ordering::Greater),
        _ => None,
    }
}

/// The same for a scalar or a vector of one component, and two parameters that are scalars or vectors. A `float` goes to a
/// `float` before all others, an `int` to an `int`, a `uint`, a `float`, a `half`, in that order, and a `uint` to a `uint`
/// first; and one component is better than several (DXC 1.7, all pairs of 1 to 4 components). The two are equal where DXC
/// prefers neither. Where one has the better type and the other the better length, DXC goes by the type, and they count as
/// equal here. `None` is for types that were not looked at.
fn preference_of_scalar(argument: &Type, one: &Type, other: &Type) -> Option<Ordering> {
    let (Type::Scalar(given) | Type::Vector(given, 1)) = argument else {
        return None;
    };
    let rank = |to: &Type| {
        let (Type::Scalar(scalar) | Type::Vector(scalar, _)) = to else {
            return None;
        };
        Some(match (given, scalar) {
            (Scalar::Float, Scalar::Float) | (Scalar::Int, Scalar::Int) | (Scalar::Uint, Scalar::Uint) => 0,
            (Scalar::Float, Scalar::Int | Scalar::Uint | Scalar::Half)
            | (Scalar::Int, Scalar::Uint)
            | (Scalar::Uint, Scalar::Int) => 1,
            (Scalar::Int | Scalar::Uint, Scalar::Float) => 2,
            (Scalar::Int | Scalar::Uint, Scalar::Half) => 3,
            _ => return None,
        })
    };
    let is_long = |to: &Type| matches!(to, Type::Vector(_, 2..));
    let by_scalar = rank(one)?.cmp(&rank(other)?);
    let by_length = is_long(one).cmp(&is_long(other));
    Some(if by_length == by_scalar.reverse() {
        Ordering::Equal
    } else {
        by_scalar.then(by_length)
    })
}

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

/// The same value, no longer a place: for operands of an `Opaque` that only reads them.
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

/// An operand that not every version of HLSL evaluates, of an operation that is not understood: what it does besides having a
/// value must not be taken to happen. As an arm of `?:` it is not.
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

/// Converts an expression to a type; a conversion HLSL does not have is `Opaque`.
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
    // A count that became a float comes back as it was.
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
    /// Converts an expression to a type; a conversion that HLSL does not have is `Opaque`, and so is one of a literal that has
    /// another value in 32 bits than compilers convert.
    pub(super) fn convert(&self, expr: Expr, to: &Type) -> Expr {
        converted(self.narrow_to(expr, to), to)
    }

    /// Converts the scalar type, not the shape.
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

    /// What an atomic is given. DXC makes an `int` of a float for some places and a `uint` for others, whatever they hold.
    pub(super) fn to_atomic(&self, value: Expr, to: &Type) -> Expr {
        let is_float = |ty: &Type| ty.scalar().is_some_and(Scalar::is_float);
        if is_float(&value.ty) && !is_float(to) {
            let span = value.span;
            return opaque(vec![as_value(value)], to.clone(), span);
        }
        self.convert(value, to)
    }

    /// An index: a scalar int or uint; a vector of them for a texture.
    pub(super) fn to_index(&self, expr: Expr) -> Expr {
        match expr.ty.scalar() {
            Some(Scalar::Int | Scalar::Uint) => expr,
            Some(Scalar::Int16 | Scalar::Enum(_)) => self.convert_scalar(expr, Scalar::Int),
            Some(_) => self.convert_scalar(expr, Scalar::Uint),
            None => self.convert(expr, &Type::UINT),
        }
    }

    /// Whether an expression is a literal without a suffix (maybe negated), which takes the type of what it meets.
    pub(super) fn is_free_literal(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Literal(_) => literals::is_free(self.source(expr.span)),
            ExprKind::Unary(_, operand) => self.is_free_literal(operand),
            _ => false,
        }
    }

    /// Whether an expression is made of integer literals without a suffix: DXC's `literal int`.
    pub(super) fn is_literal_int(&self, expr: &Expr) -> bool {
        matches!(expr.ty.scalar(), Some(Scalar::Int | Scalar::Uint)) && self.is_of_literals(expr)
    }

    /// Whether an expression is made of literals without a suffix: DXC's `literal int` or `literal float`, or a vector of them.
    pub(super) fn is_of_literals(&self, expr: &Expr) -> bool {
        match &expr.kind {
            // What an intrinsic comes to stands for its call.
            ExprKind::Literal(_) => self.is_free_literal(expr) || self.is_call_of_intrinsic(expr.span),
            ExprKind::Unary(op, operand) => *op != UnaryOp::Not && self.is_of_literals(operand),
            ExprKind::Binary(op, left, right) => {
                let is_arithmetic = !matches!(op, BinaryOp::LogicalAnd | BinaryOp::LogicalOr);
                is_arithmetic
                    && !op.is_comparison()
                    && self.is_of_literals(left)
                    && self.is_of_literals(right)
            }
            ExprKind::Ternary(_, yes, no) => self.is_of_literals(yes) && self.is_of_literals(no),
            ExprKind::Comma(_, last) => self.is_of_literals(last),
            ExprKind::Swizzle(of, _) => self.is_of_literals(of),
            ExprKind::Intrinsic(Intrinsic::Select, arguments) => {
                let mut arms = arguments.iter().skip(1);
                arms.all(|arm| self.is_of_literals(arm))
            }
            ExprKind::Intrinsic(intrinsic, arguments) => {
                !arguments.is_empty() && !has_own_type(*intrinsic) && { arguments.iter() }
                    .all(|argument| self.is_of_literals(argument))
            }
            // A conversion that nobody wrote.
            ExprKind::Cast(inner) => inner.span == expr.span && self.is_of_literals(inner),
            _ => false,
        }
    }

    fn is_call_of_intrinsic(&self, span: Span) -> bool {
        let text = self.source(span);
        let name = text.split(|byte| *byte == b'(').next().unwrap_or_default();
        let intrinsic = Intrinsic::from_name(&String::from_utf8_lossy(name.trim_ascii()));
        name.len() < text.len() && intrinsic.is_some_and(|intrinsic| !has_own_type(intrinsic))
    }

    /// What is shifted by `count`, in its type. Before HLSL 202x a literal that is shifted by a `uint` is one, else an `int`,
    /// whatever its value (DXC, `CheckBinOpForHLSL`: "For case like 1<<x"); from then on it is no `uint` for being shifted by
    /// one. Where no version is given it is as [`Version::DEFAULT`] has it.
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

    /// The common type of two operands, literals taking the other's. There is none
    ///
    /// - of a literal beyond the range of `int` and an `int`, or what becomes one: up to HLSL 2021 the literal becomes one, with
    ///   another value, from 202x on the other becomes unsigned, or has 64 bits (DXC's `literal int`; HLSL specification, 5.1);
    /// - of such a literal and 16 bits, which it takes in DXC;
    /// - of an expression of literals and 16 bits, which all of it takes;
    /// - of a literal that is no `float` and a `double`;
    /// - of an operand whose type HLSL knows and we do not. A name that nothing declares takes the other's type.
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

    /// Whether an expression's type is unknown because it is not settled here, or because of a field, which may be a bit field:
    /// its declared type was dropped.
    pub(super) fn is_unsettled(&self, expr: &Expr) -> bool {
        let is_own = matches!(expr.kind, ExprKind::Field(..)) || self.unsettled.contains(&expr.span);
        expr.ty == Type::Unknown && (is_own || expr.children().any(|child| self.is_unsettled(child)))
    }

    /// Notes an operation on values of known types whose own type is not settled.
    pub(super) fn note_unsettled(&mut self, expr: &Expr) {
        let is_known = |operand: &Expr| operand.ty != Type::Unknown;
        if expr.ty == Type::Unknown
            && matches!(expr.kind, ExprKind::Opaque(_))
            && expr.children().all(is_known)
        {
            self.unsettled.insert(expr.span);
        }
    }

    /// The type of a choice between two literals, one of them beyond the range of `int`: `uint`, if neither is negative.
    ///
    /// Up to HLSL 2021 DXC makes a `literal int` of 64 bits of it, from 202x on a `uint`. Both are the same number.
    /// [`Lowering::without_large_choices`] refuses what is computed from it with literals alone, where the two differ.
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

    /// The operation, or `Opaque` if all its operands are literals and one is a choice between large ones: DXC does not know
    /// that result, and computes it as an `int`.
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

    /// How many scalars a value of the type has, and the type of the one at `index`.
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
