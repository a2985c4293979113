//! Constant expressions: array lengths, group sizes, enumerators.

use super::Lowering;
use crate::Intrinsic;
use crate::tree::{BinaryOp, Expr, ExprKind, UnaryOp};
use crate::types::{Scalar, Type};

/// The value of a scalar constant expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Constant {
    Bool(bool),
    Int(i32),
    Uint(u32),
    Float(f32),
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    reason = "HLSL's conversions are these"
)]
impl Constant {
    /// As an array length or a group size.
    pub(super) fn to_u32(self) -> Option<u32> {
        match self {
            Constant::Uint(value) => Some(value),
            Constant::Int(value) => u32::try_from(value).ok(),
            Constant::Bool(_) | Constant::Float(_) => None,
        }
    }

    /// The bit pattern of a literal of this value.
    pub(super) fn bits(self) -> u32 {
        match self {
            Constant::Bool(value) => u32::from(value),
            Constant::Int(value) => value as u32,
            Constant::Uint(value) => value,
            Constant::Float(value) => value.to_bits(),
        }
    }

    pub(super) fn ty(self) -> Type {
        match self {
            Constant::Bool(_) => Type::BOOL,
            Constant::Int(_) => Type::INT,
            Constant::Uint(_) => Type::UINT,
            Constant::Float(_) => Type::FLOAT,
        }
    }

    /// The literal with this bit pattern and type.
    pub(super) fn of(bits: u32, scalar: Scalar) -> Option<Self> {
        Some(match scalar {
            Scalar::Bool => Constant::Bool(bits != 0),
            Scalar::Int | Scalar::Enum(_) => Constant::Int(bits as i32),
            Scalar::Uint | Scalar::UintEnum(_) => Constant::Uint(bits),
            Scalar::Float => Constant::Float(f32::from_bits(bits)),
            _ => return None,
        })
    }

    /// HLSL's conversion to a word type. `None` for a float outside of the integer's range: even a single compiler
    /// does not always give the same number.
    pub(super) fn convert(self, to: Scalar) -> Option<Self> {
        Some(match to {
            Scalar::Bool => Constant::Bool(match self {
                Constant::Bool(value) => value,
                Constant::Int(value) => value != 0,
                Constant::Uint(value) => value != 0,
                Constant::Float(value) => value != 0.0,
            }),
            Scalar::Int | Scalar::Enum(_) => Constant::Int(match self {
                Constant::Bool(value) => i32::from(value),
                Constant::Int(value) => value,
                Constant::Uint(value) => value as i32,
                Constant::Float(value) if value.abs() < 2_147_483_648.0 => value as i32,
                Constant::Float(_) => return None,
            }),
            Scalar::Uint | Scalar::UintEnum(_) => Constant::Uint(match self {
                Constant::Bool(value) => u32::from(value),
                Constant::Int(value) => value as u32,
                Constant::Uint(value) => value,
                Constant::Float(value) if value > -1.0 && value < 4_294_967_296.0 => value as u32,
                Constant::Float(_) => return None,
            }),
            Scalar::Float => Constant::Float(match self {
                Constant::Bool(value) => f32::from(u8::from(value)),
                Constant::Int(value) => value as f32,
                Constant::Uint(value) => value as f32,
                Constant::Float(value) => value,
            }),
            _ => return None,
        })
    }
}

macro_rules! integers {
    ($op:expr, $a:expr, $b:expr, $make:path) => {
        match $op {
            BinaryOp::Add => Some($make($a.wrapping_add($b))),
            BinaryOp::Sub => Some($make($a.wrapping_sub($b))),
            BinaryOp::Mul => Some($make($a.wrapping_mul($b))),
            BinaryOp::Div => $a.checked_div($b).map($make),
            BinaryOp::Mod => $a.checked_rem($b).map($make),
            BinaryOp::And => Some($make($a & $b)),
            BinaryOp::Or => Some($make($a | $b)),
            BinaryOp::Xor => Some($make($a ^ $b)),
            _ => None,
        }
    };
}

pub(super) fn compare<T: PartialOrd>(op: BinaryOp, a: &T, b: &T) -> Option<bool> {
    Some(match op {
        BinaryOp::Less => a < b,
        BinaryOp::LessEqual => a <= b,
        BinaryOp::Greater => a > b,
        BinaryOp::GreaterEqual => a >= b,
        BinaryOp::Equal => a == b,
        BinaryOp::NotEqual => a != b,
        _ => return None,
    })
}

/// Whether these are 0 and -0. Devices differ in which of the two they treat as smaller.
pub(super) fn are_opposite_zeros(a: f64, b: f64) -> bool {
    a.abs().to_bits() == 0 && b.abs().to_bits() == 0 && a.to_bits() != b.to_bits()
}

fn binary(op: BinaryOp, a: Constant, b: Constant) -> Option<Constant> {
    match (a, b) {
        (Constant::Int(a), Constant::Int(b)) => match op {
            BinaryOp::Shl => Some(Constant::Int(a.wrapping_shl(b.cast_unsigned()))),
            BinaryOp::Shr => Some(Constant::Int(a.wrapping_shr(b.cast_unsigned()))),
            _ => integers!(op, a, b, Constant::Int).or_else(|| compare(op, &a, &b).map(Constant::Bool)),
        },
        (Constant::Uint(a), Constant::Uint(b)) => match op {
            BinaryOp::Shl => Some(Constant::Uint(a.wrapping_shl(b))),
            BinaryOp::Shr => Some(Constant::Uint(a.wrapping_shr(b))),
            _ => integers!(op, a, b, Constant::Uint).or_else(|| compare(op, &a, &b).map(Constant::Bool)),
        },
        (Constant::Float(a), Constant::Float(b)) => match op {
            BinaryOp::Add => Some(Constant::Float(a + b)),
            BinaryOp::Sub => Some(Constant::Float(a - b)),
            BinaryOp::Mul => Some(Constant::Float(a * b)),
            BinaryOp::Div => Some(Constant::Float(a / b)),
            _ => compare(op, &a, &b).map(Constant::Bool),
        },
        (Constant::Bool(a), Constant::Bool(b)) => match op {
            BinaryOp::LogicalAnd => Some(Constant::Bool(a && b)),
            BinaryOp::LogicalOr => Some(Constant::Bool(a || b)),
            _ => compare(op, &a, &b).map(Constant::Bool),
        },
        _ => None,
    }
}

impl Lowering<'_> {
    /// The value of an expression, if it is a scalar constant.
    pub(super) fn evaluate(&self, expr: &Expr) -> Option<Constant> {
        match &expr.kind {
            ExprKind::Literal(bits) => Constant::of(*bits, expr.ty.scalar()?),
            ExprKind::Global(id) => self.global_values.get(id.0 as usize).copied().flatten(),
            ExprKind::Local(id) => self.body.values.get(id).copied(),
            ExprKind::Unary(op, operand) => match (op, self.evaluate(operand)?) {
                (UnaryOp::Negate, Constant::Int(value)) => Some(Constant::Int(value.wrapping_neg())),
                (UnaryOp::Negate, Constant::Uint(value)) => Some(Constant::Uint(value.wrapping_neg())),
                (UnaryOp::Negate, Constant::Float(value)) => Some(Constant::Float(-value)),
                (UnaryOp::Not, Constant::Bool(value)) => Some(Constant::Bool(!value)),
                (UnaryOp::Complement, Constant::Int(value)) => Some(Constant::Int(!value)),
                (UnaryOp::Complement, Constant::Uint(value)) => Some(Constant::Uint(!value)),
                _ => None,
            },
            ExprKind::Binary(op, a, b) => binary(*op, self.evaluate(a)?, self.evaluate(b)?),
            ExprKind::Ternary(condition, a, b) => match self.evaluate(condition)? {
                Constant::Bool(true) => self.evaluate(a),
                Constant::Bool(false) => self.evaluate(b),
                _ => None,
            },
            ExprKind::Cast(operand) => match expr.ty {
                Type::Scalar(scalar) => self.evaluate(operand)?.convert(scalar),
                _ => None,
            },
            ExprKind::Intrinsic(intrinsic, arguments) => self.evaluate_intrinsic(*intrinsic, arguments),
            _ => None,
        }
    }

    /// The result of an intrinsic with constant arguments as a literal, if it is a whole number: compilers compute
    /// whole numbers exactly. Any other result may differ by a bit or two, as may the result of a device.
    pub(super) fn folded(&self, intrinsic: Intrinsic, arguments: &[Expr]) -> Option<ExprKind> {
        match self.evaluate_intrinsic(intrinsic, arguments)? {
            Constant::Float(value) if value.fract() == 0.0 && value.abs() < 16_777_216.0 => {
                Some(ExprKind::Literal(value.to_bits()))
            }
            _ => None,
        }
    }

    fn evaluate_intrinsic(&self, intrinsic: Intrinsic, arguments: &[Expr]) -> Option<Constant> {
        let value = |index: usize| arguments.get(index).and_then(|expr| self.evaluate(expr));
        let less = |a, b| Some(binary(BinaryOp::Less, a, b)? == Constant::Bool(true));
        // Devices differ in which of two zeros they choose.
        let is_open = |a: Constant, b: Constant| match (a, b) {
            (Constant::Float(a), Constant::Float(b)) => are_opposite_zeros(f64::from(a), f64::from(b)),
            _ => false,
        };
        let min = |a, b| (!is_open(a, b)).then_some(if less(b, a)? { b } else { a });
        let max = |a, b| (!is_open(a, b)).then_some(if less(a, b)? { b } else { a });
        match intrinsic {
            Intrinsic::Min => min(value(0)?, value(1)?),
            Intrinsic::Max => max(value(0)?, value(1)?),
            Intrinsic::Clamp => {
                let (low, high) = (value(1)?, value(2)?);
                // Compilers differ if the lower bound is the larger one.
                let is_known = !less(high, low)?;
                min(max(value(0)?, low)?, high).filter(|_| is_known)
            }
            Intrinsic::Abs => Some(match value(0)? {
                Constant::Int(a) => Constant::Int(a.wrapping_abs()),
                Constant::Float(a) => Constant::Float(a.abs()),
                other => other,
            }),
            Intrinsic::FirstBitHigh => match value(0)? {
                Constant::Uint(a) => Some(Constant::Uint(a.checked_ilog2()?)),
                Constant::Int(a) => Some(Constant::Uint(u32::try_from(a).ok()?.checked_ilog2()?)),
                _ => None,
            },
            Intrinsic::Pow => match (value(0)?, value(1)?) {
                (Constant::Float(a), Constant::Float(b)) => Some(Constant::Float(a.powf(b))),
                _ => None,
            },
            Intrinsic::Ceil | Intrinsic::Exp2 | Intrinsic::Floor | Intrinsic::Log2 | Intrinsic::Sqrt => {
                let Constant::Float(a) = value(0)? else {
                    return None;
                };
                Some(Constant::Float(match intrinsic {
                    Intrinsic::Ceil => a.ceil(),
                    Intrinsic::Exp2 => a.exp2(),
                    Intrinsic::Floor => a.floor(),
                    Intrinsic::Log2 => a.log2(),
                    _ => a.sqrt(),
                }))
            }
            _ => None,
        }
    }
}
