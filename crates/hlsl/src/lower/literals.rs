//! Literals: their values, read from the text, and expressions that consist of them.

use super::Lowering;
use super::signatures::has_own_type;
use crate::Intrinsic;
use crate::span::Span;
use crate::tree::{BinaryOp, Expr, ExprKind, UnaryOp};
use crate::types::{Scalar, Type};

/// The value of a literal without a suffix, integer or not.
pub(super) fn number(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    let integer = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => match text.strip_prefix('0') {
            Some(digits) if !digits.is_empty() => u64::from_str_radix(digits, 8),
            _ => text.parse(),
        },
    };
    integer.map_or_else(|_| text.parse().ok(), |value| Some(value as f64))
}

/// A literal's type and, if 32 bits suffice, its bit pattern.
pub(super) fn literal(text: &[u8]) -> (Type, Option<u32>) {
    match text {
        b"true" => return (Type::BOOL, Some(1)),
        b"false" => return (Type::BOOL, Some(0)),
        _ => {}
    }
    let Ok(text) = std::str::from_utf8(text) else {
        return (Type::Unknown, None);
    };
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return integer(digits, 16);
    }
    let body = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let is_float = body.contains(['.', 'e', 'E', '#']) || text.ends_with(['f', 'F', 'h', 'H']);
    if is_float {
        return float(text);
    }
    match text.strip_prefix('0') {
        Some(octal) if octal.starts_with(|c: char| c.is_ascii_digit()) => integer(octal, 8),
        // `0` is octal too. With a suffix, its type shows that.
        Some(_) => integer(text, 8),
        None => integer(text, 10),
    }
}

fn integer(digits: &str, radix: u32) -> (Type, Option<u32>) {
    let number = digits.trim_end_matches(['u', 'U', 'l', 'L']);
    let suffix = digits.get(number.len()..).unwrap_or_default();
    let unsigned = suffix.contains(['u', 'U']);
    let Ok(value) = u64::from_str_radix(number, radix) else {
        return (Type::Unknown, None);
    };
    if suffix.matches(['l', 'L']).count() > 1 {
        let scalar = if unsigned { Scalar::Uint64 } else { Scalar::Int64 };
        return (Type::Scalar(scalar), None);
    }
    if suffix.contains(['l', 'L']) && !unsigned {
        // DXC's `long` has 32 bits, and is unsigned in bases other than ten.
        let ty = if radix == 10 { Type::INT } else { Type::UINT };
        return (ty, u32::try_from(value).ok());
    }
    match u32::try_from(value) {
        Ok(bits) if unsigned || i32::try_from(value).is_err() => (Type::UINT, Some(bits)),
        Ok(bits) => (Type::INT, Some(bits)),
        Err(_) => (
            Type::Scalar(if unsigned { Scalar::Uint64 } else { Scalar::Int64 }),
            None,
        ),
    }
}

fn float(text: &str) -> (Type, Option<u32>) {
    let number = text.trim_end_matches(['f', 'F', 'h', 'H', 'l', 'L']);
    let scalar = match text.as_bytes().last() {
        Some(b'h' | b'H') => Scalar::Half,
        Some(b'l' | b'L') => return (Type::Scalar(Scalar::Double), None),
        _ => Scalar::Float,
    };
    let value = if number.contains("#INF") {
        Ok(f32::INFINITY)
    } else if number == text {
        // DXC parses it in 64 bits, so it is rounded twice.
        number.parse::<f64>().map(|value| value as f32)
    } else {
        number.parse::<f32>()
    };
    match value {
        Ok(value) => (Type::Scalar(scalar), Some(value.to_bits())),
        Err(_) => (Type::Scalar(scalar), None),
    }
}

/// Whether this is a literal that takes the type of the other operand, because it has no suffix. A name has a type of
/// its own.
pub(super) fn is_free(text: &[u8]) -> bool {
    if !text
        .first()
        .is_some_and(|first| first.is_ascii_digit() || *first == b'.')
    {
        return false;
    }
    let hexadecimal = text.starts_with(b"0x") || text.starts_with(b"0X");
    match text.last() {
        None | Some(b'u' | b'U' | b'l' | b'L') => false,
        Some(b'f' | b'F' | b'h' | b'H') => hexadecimal,
        Some(last) => last.is_ascii_hexdigit() || *last == b'.',
    }
}

impl Lowering<'_> {
    /// Whether an expression is a literal without a suffix (possibly negated), which takes the type of the other
    /// operand.
    pub(super) fn is_free_literal(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Literal(_) => is_free(self.source(expr.span)),
            ExprKind::Unary(_, operand) => self.is_free_literal(operand),
            _ => false,
        }
    }

    /// Whether an expression consists of integer literals without a suffix: DXC's `literal int`.
    pub(super) fn is_literal_int(&self, expr: &Expr) -> bool {
        matches!(expr.ty.scalar(), Some(Scalar::Int | Scalar::Uint)) && self.is_of_literals(expr)
    }

    /// Whether an expression consists of literals without a suffix: DXC's `literal int` or `literal float`, or a
    /// vector of them.
    pub(super) fn is_of_literals(&self, expr: &Expr) -> bool {
        match &expr.kind {
            // The literal may be the folded value of an intrinsic call.
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
            // An implicit conversion.
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
}
