//! Expressions of literals without a suffix, which compilers evaluate in 64 bits.
//!
//! DXC gives such a literal a type of its own (`literal int`, `literal float`) until it meets a variable: DXC evaluates an expression
//! of literals alone in 64 bits, and converts the result. The tree has 32 bits. Most operations have the same result in both. An
//! operation that does not is opaque.

use super::constants::{Constant, are_opposite_zeros, compare};
use super::operands::{opaque, skippable};
use super::signatures::is_of_floats;
use super::{Lowering, literals};
use crate::Intrinsic;
use crate::span::Span;
use crate::tree::{BinaryOp, Expr, ExprKind, UnaryOp};
use crate::types::{Scalar, Type};

/// The value of an expression of literals in 64 bits.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wide {
    Int(i64),
    Float(f64),
    Bool(bool),
    /// Approximately this value: compilers may differ in its bits. NaN if nothing is known.
    Open(f64),
}

/// Why the possible literals of an expression are unknown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NoWays {
    /// It also has operands that are not literals.
    Others,
    TooMany,
}

/// The maximum of choices between literals that are followed.
const MAX_WAYS: usize = 16;

/// The relative error of a sum or a product of `float`s that counts as rounding.
const TOLERANCE: f64 = 1e-5;

impl Lowering<'_> {
    /// The operation, if it has the same result in 32 bits and in 64. Otherwise it is opaque.
    pub(super) fn narrow(&mut self, expr: Expr) -> Expr {
        if let Some(value) = self.rounded_late(&expr) {
            self.wide_floats.insert(expr.span, value);
            let kind = ExprKind::Literal((value as f32).to_bits());
            return Expr { kind, ..expr };
        }
        if self.is_narrow(&expr) {
            return expr;
        }
        match expr.kind {
            ExprKind::Binary(BinaryOp::LogicalAnd | BinaryOp::LogicalOr, left, right) => {
                opaque(vec![*left, skippable(*right)], expr.ty, expr.span)
            }
            ExprKind::Binary(_, left, right) => opaque(vec![*left, *right], expr.ty, expr.span),
            kind => Expr { kind, ..expr },
        }
    }

    /// A value that is converted to `to` next. It is opaque if it is out of that type's range, or if rounding it to
    /// 32 bits first changes the result.
    pub(super) fn narrow_to(&self, expr: Expr, to: &Type) -> Expr {
        if !expr.ty.scalar().is_some_and(Scalar::is_float) {
            return expr;
        }
        let is_integer = matches!(
            to.scalar(),
            Some(Scalar::Int | Scalar::Uint | Scalar::Int16 | Scalar::Uint16)
        );
        let is_bool = to.scalar() == Some(Scalar::Bool);
        let is_lost = |expr: &Expr| {
            let value = self.evaluate(expr);
            if let (Some(float @ Constant::Float(_)), Some(scalar)) = (value, to.scalar())
                && matches!(scalar, Scalar::Int | Scalar::Uint)
                && float.convert(scalar).is_none()
            {
                return true;
            }
            match (self.wide(expr), value) {
                (Some(Wide::Open(_)), _) => true,
                (Some(Wide::Float(wide)), Some(Constant::Float(value))) if is_bool => {
                    (wide == 0.0) != (value == 0.0)
                }
                (Some(Wide::Float(wide)), Some(Constant::Float(value))) => {
                    (wide.trunc() - f64::from(value).trunc()).abs() >= 1.0
                }
                _ => false,
            }
        };
        let is_lost_in_one = || match self.ways(&expr) {
            Ok(ways) => ways.iter().any(is_lost),
            Err(why) => why == NoWays::TooMany,
        };
        let is_lost = (is_integer || is_bool) && (is_lost(&expr) || is_lost_in_one())
            || to.scalar() == Some(Scalar::Double) && self.is_finer(&expr);
        if is_lost {
            let span = expr.span;
            return opaque(vec![expr], to.clone(), span);
        }
        expr
    }

    /// Whether the value of an expression of literals may not be a `float`: then its value as a `double` may differ
    /// from the tree's value.
    pub(super) fn is_finer(&self, expr: &Expr) -> bool {
        let is_float = expr.ty.scalar().is_some_and(Scalar::is_float);
        is_float
            && self.is_of_literals(expr)
            && !matches!(self.wide(expr), Some(Wide::Float(wide)) if f64::from(wide as f32).to_bits() == wide.to_bits())
    }

    /// Whether the value of an expression of literals is far from every `float`.
    fn is_out_of_range(&self, expr: &Expr) -> bool {
        let wide = self.wide(expr);
        matches!(wide, Some(Wide::Float(wide)) if (f64::from(wide as f32) - wide).abs() > TOLERANCE * wide.abs())
    }

    /// The value of an operation, if rounding each step to a `float` gives a different `float`.
    fn rounded_late(&self, expr: &Expr) -> Option<f64> {
        let Some(Wide::Float(wide)) = self.wide(expr) else {
            return None;
        };
        let Some(Constant::Float(value)) = self.evaluate(expr) else {
            return None;
        };
        let is_other = (wide as f32).to_bits() != value.to_bits();
        (self.is_narrow(expr) && is_other).then_some(wide)
    }

    /// Whether a product or a shift of literals has an operand from other lanes, so that it may exceed 32 bits. Such operands are small
    /// ([`Lowering::is_small_literal`]), and so are their sums.
    fn may_outgrow(&self, expr: &Expr) -> bool {
        matches!(expr.kind, ExprKind::Binary(BinaryOp::Mul | BinaryOp::Shl, ..))
            && self.is_of_literals(expr)
            && comes_from_lanes(expr)
    }

    /// Whether a literal is a whole number so small that its sum over the lanes of a wave fits easily in 32 bits.
    pub(super) fn is_small_literal(&self, expr: &Expr) -> bool {
        let is_small = |way: &Expr| {
            let value = self.evaluate(way);
            value.is_some_and(|value| value.bits().cast_signed().unsigned_abs() < 1 << 16)
        };
        self.ways(expr).is_ok_and(|ways| ways.iter().all(is_small))
    }

    fn is_narrow(&self, expr: &Expr) -> bool {
        if self.may_outgrow(expr) {
            return false;
        }
        let Some(wide) = self.wide(expr) else {
            // Without a known value there is nothing to compare.
            let is_same = |way: &Expr| {
                self.wide(way).is_none() || self.is_narrow(way) && self.rounded_late(way).is_none()
            };
            return match self.ways(expr) {
                Ok(ways) => ways.iter().all(is_same),
                Err(why) => why == NoWays::Others,
            };
        };
        match (wide, self.evaluate(expr)) {
            (Wide::Int(wide), Some(value @ (Constant::Int(_) | Constant::Uint(_)))) => {
                // A later operand may have 64 bits, or be a float or an intrinsic, which depend on all 64 bits.
                let has_32_bits = i32::try_from(wide).is_ok() || u32::try_from(wide).is_ok();
                has_32_bits && wide & 0xFFFF_FFFF == i64::from(value.bits())
            }
            (Wide::Bool(wide), Some(Constant::Bool(value))) => wide == value,
            (Wide::Float(wide), Some(Constant::Float(value))) => {
                let value = f64::from(value);
                // Rounding to 32 bits may change the integer that it converts to.
                let is_same_integer = (wide.trunc() - f64::from(wide as f32).trunc()).abs() < 1.0;
                !(wide.is_finite() || value.is_finite())
                    || (wide - value).abs() <= TOLERANCE * wide.abs() && is_same_integer
            }
            _ => false,
        }
    }

    /// The possible values of an expression of literals: `c ? 0.7 : 0.5` is a literal too, and so is the right
    /// operand of a comma.
    fn ways(&self, expr: &Expr) -> Result<Vec<Expr>, NoWays> {
        let either = |one: &Expr, other: &Expr| Ok([self.ways(one)?, self.ways(other)?].concat());
        let ways = match &expr.kind {
            ExprKind::Comma(_, value) => self.ways(value)?,
            ExprKind::Swizzle(value, _) if value.ty.scalar().is_some() && value.ty == expr.ty => {
                self.ways(value)?
            }
            ExprKind::Ternary(_, yes, no) => either(yes, no)?,
            ExprKind::Intrinsic(Intrinsic::Select, arguments) => match arguments.as_slice() {
                [_, yes, no] => either(yes, no)?,
                _ => return Err(NoWays::Others),
            },
            ExprKind::Intrinsic(intrinsic, arguments) if makes_literals(*intrinsic) => {
                let mut all = vec![Vec::new()];
                for argument in arguments {
                    let ways = self.ways(argument)?;
                    let with = |given: &Vec<Expr>| {
                        let given = given.clone();
                        ways.iter()
                            .map(move |way| [&given[..], std::slice::from_ref(way)].concat())
                    };
                    all = all.iter().flat_map(with).collect();
                    if all.len() > MAX_WAYS {
                        return Err(NoWays::TooMany);
                    }
                }
                let call = |arguments| ExprKind::Intrinsic(*intrinsic, arguments);
                let calls = all.into_iter().map(|arguments| (call(arguments), expr.span));
                of_type(&expr.ty, calls)
            }
            // An implicit conversion.
            ExprKind::Cast(inner) if inner.span == expr.span => {
                let ways = self.ways(inner)?.into_iter();
                let casts = ways.map(|way| {
                    let span = way.span;
                    (ExprKind::Cast(Box::new(way)), span)
                });
                of_type(&expr.ty, casts)
            }
            ExprKind::Unary(op, operand) => {
                let ways = self.ways(operand)?.into_iter();
                of_type(
                    &expr.ty,
                    ways.map(|way| (ExprKind::Unary(*op, Box::new(way)), expr.span)),
                )
            }
            ExprKind::Binary(op, left, right) => {
                let (left, right) = (self.ways(left)?, self.ways(right)?);
                let pairs = left
                    .iter()
                    .flat_map(|left| right.iter().map(move |right| (left, right)));
                let both = pairs.map(|(left, right)| {
                    let operands = (Box::new(left.clone()), Box::new(right.clone()));
                    (ExprKind::Binary(*op, operands.0, operands.1), expr.span)
                });
                of_type(&expr.ty, both.take(MAX_WAYS + 1))
            }
            _ => vec![self.wide(expr).map(|_| expr.clone()).ok_or(NoWays::Others)?],
        };
        if ways.len() > MAX_WAYS {
            return Err(NoWays::TooMany);
        }
        Ok(ways)
    }

    /// The value of an expression that consists of literals without a suffix.
    fn wide(&self, expr: &Expr) -> Option<Wide> {
        match &expr.kind {
            ExprKind::Literal(_) if self.wide_floats.contains_key(&expr.span) => {
                self.wide_floats.get(&expr.span).copied().map(Wide::Float)
            }
            ExprKind::Literal(bits) => {
                let text = self.source(expr.span);
                let is_free = literals::is_free(text);
                match Constant::of(*bits, expr.ty.scalar()?)? {
                    _ if !is_free => None,
                    Constant::Int(value) => Some(Wide::Int(i64::from(value))),
                    Constant::Uint(value) => Some(Wide::Int(i64::from(value))),
                    Constant::Float(_) => literals::number(text).map(Wide::Float),
                    Constant::Bool(_) => None,
                }
            }
            // An implicit conversion.
            ExprKind::Cast(inner) if inner.span == expr.span => {
                let value = self.wide(inner)?;
                match (value, expr.ty.scalar()?) {
                    #[expect(clippy::cast_precision_loss, reason = "HLSL's conversion is this")]
                    (Wide::Int(value), Scalar::Float) => Some(Wide::Float(value as f64)),
                    (Wide::Int(_), Scalar::Int | Scalar::Uint)
                    | (Wide::Float(_) | Wide::Open(_), Scalar::Float) => Some(value),
                    _ => None,
                }
            }
            ExprKind::Unary(op, operand) => match (op, self.wide(operand)?) {
                (UnaryOp::Negate, Wide::Int(value)) => Some(Wide::Int(value.wrapping_neg())),
                (UnaryOp::Negate, Wide::Float(value)) => Some(Wide::Float(-value)),
                (UnaryOp::Negate, Wide::Open(value)) => Some(Wide::Open(-value)),
                (UnaryOp::Complement, Wide::Int(value)) => Some(Wide::Int(!value)),
                _ => None,
            },
            ExprKind::Binary(op, left, right) => match (self.wide(left)?, self.wide(right)?) {
                (Wide::Int(a), Wide::Int(b)) => of_integers(*op, a, b),
                (Wide::Float(a), Wide::Float(b)) => of_floats(*op, a, b),
                (Wide::Open(_), _) | (_, Wide::Open(_)) => Some(Wide::Open(f64::NAN)),
                _ => None,
            },
            ExprKind::Intrinsic(intrinsic, arguments) if makes_literals(*intrinsic) => {
                let values: Option<Vec<Wide>> = arguments.iter().map(|one| self.wide(one)).collect();
                let values = values.filter(|values| !values.is_empty())?;
                Some(of_intrinsic(*intrinsic, &values).unwrap_or(Wide::Open(f64::NAN)))
            }
            _ => None,
        }
    }

    /// The value of an intrinsic call with only literals, if it is known: such a call is a literal and is evaluated
    /// in 64 bits.
    pub(super) fn of_literals_alone(&mut self, call: Expr) -> Expr {
        let ExprKind::Intrinsic(..) = call.kind else {
            return call;
        };
        let fits = |value: i64| match call.ty {
            Type::INT => i32::try_from(value).is_ok(),
            Type::UINT => u32::try_from(value).is_ok(),
            _ => false,
        };
        match self.wide(&call) {
            Some(Wide::Float(value)) if call.ty == Type::FLOAT => {
                self.wide_floats.insert(call.span, value);
                let kind = ExprKind::Literal((value as f32).to_bits());
                Expr { kind, ..call }
            }
            Some(Wide::Int(value)) if fits(value) => call,
            Some(Wide::Open(_)) if call.children().any(|argument| self.is_out_of_range(argument)) => {
                let (ty, span) = (call.ty.clone(), call.span);
                opaque(vec![call], ty, span)
            }
            None | Some(Wide::Open(_)) if call.ty.scalar() == Some(Scalar::Float) => call,
            None => call,
            Some(_) => {
                let (ty, span) = (call.ty.clone(), call.span);
                opaque(vec![call], ty, span)
            }
        }
    }
}

fn of_type(ty: &Type, kinds: impl Iterator<Item = (ExprKind, Span)>) -> Vec<Expr> {
    let with = |(kind, span)| Expr {
        kind,
        ty: ty.clone(),
        span,
    };
    kinds.map(with).collect()
}

/// Whether a call with only literals is a literal: it has 64 bits, and takes the type of the other operand.
fn makes_literals(intrinsic: Intrinsic) -> bool {
    use Intrinsic as I;
    let is_one = matches!(
        intrinsic,
        I::Abs | I::Clamp | I::Dot | I::Mad | I::Max | I::Min | I::Mul
    );
    is_one || is_of_floats(intrinsic)
}

/// The value of an intrinsic with these arguments, if all compilers agree on it.
fn of_intrinsic(intrinsic: Intrinsic, values: &[Wide]) -> Option<Wide> {
    use Intrinsic as I;
    use Wide::{Float, Int, Open};
    // A result that is not a whole number may be off by a bit.
    let rounded = |value: f64| {
        if value.fract() == 0.0 && value.abs() < 16_777_216.0 {
            Float(value)
        } else {
            Open(value)
        }
    };
    // Devices differ in which of two zeros they choose, and compilers in the result of `clamp` if the lower bound is the larger one.
    let are_ordered = |a: &f64, b: &f64| !are_opposite_zeros(*a, *b);
    Some(match (intrinsic, values) {
        (I::Abs, [Int(value)]) => Int(value.wrapping_abs()),
        (I::Abs, [Float(value)]) => Float(value.abs()),
        (I::Min, [Int(a), Int(b)]) => Int(*a.min(b)),
        (I::Max, [Int(a), Int(b)]) => Int(*a.max(b)),
        (I::Min, [Float(a), Float(b)]) if are_ordered(a, b) => Float(a.min(*b)),
        (I::Max, [Float(a), Float(b)]) if are_ordered(a, b) => Float(a.max(*b)),
        (I::Clamp, [Int(value), Int(low), Int(high)]) if low <= high => Int(*value.clamp(low, high)),
        (I::Clamp, [Float(value), Float(low), Float(high)])
            if low <= high && are_ordered(value, low) && are_ordered(value, high) =>
        {
            Float(value.max(*low).min(*high))
        }
        (I::Mad, [Int(a), Int(b), Int(c)]) => Int(a.wrapping_mul(*b).wrapping_add(*c)),
        (I::Mad, [Float(a), Float(b), Float(c)]) => rounded(a * b + c),
        (I::Mul | I::Dot, [Int(a), Int(b)]) => Int(a.wrapping_mul(*b)),
        (I::Ceil | I::Floor | I::Trunc, [value @ (Float(at) | Open(at))]) => {
            let is_near = (at - at.round()).abs() <= TOLERANCE * at.abs().max(1.0);
            if matches!(value, Open(_)) && (is_near || at.is_nan()) {
                return None;
            }
            Float(match intrinsic {
                I::Ceil => at.ceil(),
                I::Floor => at.floor(),
                _ => at.trunc(),
            })
        }
        (I::Sqrt, [Float(value)]) => rounded(value.sqrt()),
        (I::Exp2, [Float(value)]) => rounded(value.exp2()),
        (I::Log2, [Float(value)]) => rounded(value.log2()),
        (I::Pow, [Float(a), Float(b)]) => rounded(a.powf(*b)),
        _ => return None,
    })
}

/// Whether the integer value of literals has more than 32 bits. As a 32-bit integer it is the same; as a float or as
/// a condition, it differs.
///
/// This ignores suffixes. A value that wraps because of one stays unknown, although it could be known.
pub(super) fn exceeds_32_bits(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Ternary(_, yes, no) => return exceeds_32_bits(yes) || exceeds_32_bits(no),
        ExprKind::Comma(_, value) | ExprKind::Swizzle(value, _) => return exceeds_32_bits(value),
        ExprKind::Cast(inner) if inner.span == expr.span => return exceeds_32_bits(inner),
        _ => {}
    }
    let Some((wide, scalar)) = of_literals(expr).zip(expr.ty.scalar()) else {
        return false;
    };
    let narrow = match scalar {
        Scalar::Uint => i64::from(wide as u32),
        _ => i64::from(wide as i32),
    };
    narrow != wide
}

fn of_literals(expr: &Expr) -> Option<i64> {
    match &expr.kind {
        ExprKind::Literal(bits) => match Constant::of(*bits, expr.ty.scalar()?)? {
            Constant::Int(value) => Some(i64::from(value)),
            Constant::Uint(value) => Some(i64::from(value)),
            Constant::Float(_) | Constant::Bool(_) => None,
        },
        ExprKind::Cast(inner) if inner.span == expr.span => of_literals(inner),
        ExprKind::Unary(op, operand) => match (op, of_literals(operand)?) {
            (UnaryOp::Negate, value) => Some(value.wrapping_neg()),
            (UnaryOp::Complement, value) => Some(!value),
            (UnaryOp::Not, _) => None,
        },
        ExprKind::Binary(op, left, right) => {
            match of_integers(*op, of_literals(left)?, of_literals(right)?)? {
                Wide::Int(value) => Some(value),
                Wide::Float(_) | Wide::Bool(_) | Wide::Open(_) => None,
            }
        }
        ExprKind::Intrinsic(intrinsic, arguments) if makes_literals(*intrinsic) => {
            let values = arguments.iter().map(|one| of_literals(one).map(Wide::Int));
            match of_intrinsic(*intrinsic, &values.collect::<Option<Vec<Wide>>>()?)? {
                Wide::Int(value) => Some(value),
                Wide::Float(_) | Wide::Bool(_) | Wide::Open(_) => None,
            }
        }
        _ => None,
    }
}

fn of_integers(op: BinaryOp, a: i64, b: i64) -> Option<Wide> {
    let count = || b.cast_unsigned() as u32;
    Some(Wide::Int(match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Div => a.checked_div(b)?,
        BinaryOp::Mod => a.checked_rem(b)?,
        BinaryOp::Shl => a.wrapping_shl(count()),
        BinaryOp::Shr => a.wrapping_shr(count()),
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        _ => return compare(op, &a, &b).map(Wide::Bool),
    }))
}

fn of_floats(op: BinaryOp, a: f64, b: f64) -> Option<Wide> {
    Some(Wide::Float(match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div => a / b,
        _ => return compare(op, &a, &b).map(Wide::Bool),
    }))
}

/// Whether a value depends on a value from another lane. The condition of a choice does not count.
fn comes_from_lanes(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Intrinsic(intrinsic, _) if intrinsic.is_wave() => true,
        ExprKind::Intrinsic(Intrinsic::Select, arguments) => arguments.iter().skip(1).any(comes_from_lanes),
        ExprKind::Ternary(_, yes, no) => comes_from_lanes(yes) || comes_from_lanes(no),
        _ => expr.children().any(comes_from_lanes),
    }
}
