//! HLSL's arithmetic on words, where it is defined; where it is not, one of its possible results.

use shaderlint_hlsl::{BinaryOp, Intrinsic, Scalar, UnaryOp};

pub fn unary(op: UnaryOp, scalar: Scalar, a: u32) -> u32 {
    match op {
        UnaryOp::Not => u32::from(a == 0),
        UnaryOp::Complement => !a,
        UnaryOp::Negate if scalar.is_float() => (-f32::from_bits(a)).to_bits(),
        UnaryOp::Negate => a.wrapping_neg(),
    }
}

pub fn binary(op: BinaryOp, scalar: Scalar, a: u32, b: u32) -> u32 {
    if scalar.is_float() {
        return float(op, f32::from_bits(a), f32::from_bits(b));
    }
    let order = if scalar == Scalar::Int {
        a.cast_signed().cmp(&b.cast_signed())
    } else {
        a.cmp(&b)
    };
    let (x, y) = (a.cast_signed(), b.cast_signed());
    let is_signed = scalar == Scalar::Int;
    match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Div | BinaryOp::Mod if b == 0 => u32::MAX,
        BinaryOp::Div if is_signed => x.wrapping_div(y).cast_unsigned(),
        BinaryOp::Mod if is_signed => x.wrapping_rem(y).cast_unsigned(),
        BinaryOp::Div => a / b,
        BinaryOp::Mod => a % b,
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Shl => a << (b & 31),
        BinaryOp::Shr if is_signed => (x >> (b & 31)).cast_unsigned(),
        BinaryOp::Shr => a >> (b & 31),
        BinaryOp::Less => u32::from(order.is_lt()),
        BinaryOp::LessEqual => u32::from(order.is_le()),
        BinaryOp::Greater => u32::from(order.is_gt()),
        BinaryOp::GreaterEqual => u32::from(order.is_ge()),
        BinaryOp::Equal => u32::from(order.is_eq()),
        BinaryOp::NotEqual => u32::from(order.is_ne()),
        BinaryOp::LogicalAnd => u32::from(a != 0 && b != 0),
        BinaryOp::LogicalOr => u32::from(a != 0 || b != 0),
    }
}

#[expect(clippy::float_cmp, reason = "HLSL's == on floats is exact")]
fn float(op: BinaryOp, a: f32, b: f32) -> u32 {
    match op {
        BinaryOp::Add => (a + b).to_bits(),
        BinaryOp::Sub => (a - b).to_bits(),
        BinaryOp::Mul => (a * b).to_bits(),
        BinaryOp::Div => (a / b).to_bits(),
        BinaryOp::Mod => (a % b).to_bits(),
        BinaryOp::Less => u32::from(a < b),
        BinaryOp::LessEqual => u32::from(a <= b),
        BinaryOp::Greater => u32::from(a > b),
        BinaryOp::GreaterEqual => u32::from(a >= b),
        BinaryOp::Equal => u32::from(a == b),
        BinaryOp::NotEqual => u32::from(a != b),
        other => panic!("{other:?} is not on floats"),
    }
}

pub fn cast(from: Scalar, to: Scalar, a: u32) -> u32 {
    let value = f32::from_bits(a);
    match (from.is_float(), to) {
        (true, Scalar::Bool) => u32::from(value != 0.0),
        (true, Scalar::Int) => (value as i32).cast_unsigned(),
        (true, Scalar::Uint) => value as u32,
        (false, Scalar::Bool) => u32::from(a != 0),
        (false, Scalar::Float | Scalar::Half) if from == Scalar::Int => (a.cast_signed() as f32).to_bits(),
        (false, Scalar::Float | Scalar::Half) => (a as f32).to_bits(),
        _ => a,
    }
}

pub fn intrinsic(intrinsic: Intrinsic, scalar: Scalar, words: &[u32]) -> u32 {
    let order = |op, a, b| binary(op, scalar, a, b) != 0;
    let least = |a: u32, b: u32| if order(BinaryOp::Less, b, a) { b } else { a };
    let most = |a: u32, b: u32| if order(BinaryOp::Less, a, b) { b } else { a };
    match (intrinsic, words) {
        (Intrinsic::Min, [a, b]) => least(*a, *b),
        (Intrinsic::Max, [a, b]) => most(*a, *b),
        (Intrinsic::Clamp, [a, low, high]) => least(most(*a, *low), *high),
        (Intrinsic::Mad, [a, b, c]) => {
            let product = binary(BinaryOp::Mul, scalar, *a, *b);
            binary(BinaryOp::Add, scalar, product, *c)
        }
        (Intrinsic::Abs, [a]) if scalar.is_float() => a & 0x7FFF_FFFF,
        (Intrinsic::Abs, [a]) => a.cast_signed().wrapping_abs().cast_unsigned(),
        (Intrinsic::CountBits, [a]) => a.count_ones(),
        (Intrinsic::FirstBitLow, [a]) => {
            if *a == 0 {
                u32::MAX
            } else {
                a.trailing_zeros()
            }
        }
        (Intrinsic::FirstBitHigh, [a]) => {
            let a = if scalar == Scalar::Int && a.cast_signed() < 0 {
                !a
            } else {
                *a
            };
            a.checked_ilog2().unwrap_or(u32::MAX)
        }
        (Intrinsic::ReverseBits, [a]) => a.reverse_bits(),
        (Intrinsic::AsUint | Intrinsic::AsInt | Intrinsic::AsFloat, [a]) => *a,
        (Intrinsic::Select, [condition, a, b]) => {
            if *condition == 0 {
                *b
            } else {
                *a
            }
        }
        other => panic!("{other:?} is not known"),
    }
}

/// What an atomic leaves in a cell.
pub fn atomic(name: Intrinsic, old: u32, words: &[u32]) -> u32 {
    match (name, words) {
        (Intrinsic::InterlockedAdd, [a]) => old.wrapping_add(*a),
        (Intrinsic::InterlockedAnd, [a]) => old & a,
        (Intrinsic::InterlockedOr, [a]) => old | a,
        (Intrinsic::InterlockedXor, [a]) => old ^ a,
        (Intrinsic::InterlockedMin, [a]) => old.min(*a),
        (Intrinsic::InterlockedMax, [a]) => old.max(*a),
        (Intrinsic::InterlockedExchange, [a]) => *a,
        (Intrinsic::InterlockedCompareExchange | Intrinsic::InterlockedCompareStore, [expected, new]) => {
            if old == *expected {
                *new
            } else {
                old
            }
        }
        other => panic!("{other:?} is not known"),
    }
}
