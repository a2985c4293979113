//! HLSL's arithmetic on single words: folded where the result is certain, and a term elsewhere.

use shaderlint_hlsl::{BinaryOp, Intrinsic, Scalar, UnaryOp};

use crate::terms::known_floats::{is_arithmetic, is_few_quarters, keeps_bits, normal, rounded};
use crate::terms::operator::Operator;
use crate::terms::value::{Op, Value};
use crate::terms::{Term, Terms};

/// The commutative operator of an addition, multiplication or bit operation on `scalar`.
fn operator_of(op: BinaryOp, scalar: Scalar) -> Option<Operator> {
    let float = matches!(scalar, Scalar::Float | Scalar::Half);
    if !(float || scalar.is_word()) {
        return None;
    }
    Some(match op {
        BinaryOp::Add if float => Operator::FloatAdd,
        BinaryOp::Mul if float => Operator::FloatMul,
        BinaryOp::Add => Operator::Add,
        BinaryOp::Mul => Operator::Mul,
        BinaryOp::And if !float => Operator::And,
        BinaryOp::Or if !float => Operator::Or,
        BinaryOp::Xor if !float => Operator::Xor,
        _ => return None,
    })
}

/// `min` or `max` on `scalar`.
pub(crate) fn extremum(intrinsic: Intrinsic, scalar: Scalar) -> Option<Operator> {
    Some(match (intrinsic, scalar) {
        (Intrinsic::Min, Scalar::Uint | Scalar::Bool) => Operator::MinUint,
        (Intrinsic::Max, Scalar::Uint | Scalar::Bool) => Operator::MaxUint,
        (Intrinsic::Min, Scalar::Int) => Operator::MinInt,
        (Intrinsic::Max, Scalar::Int) => Operator::MaxInt,
        (Intrinsic::Min, Scalar::Float | Scalar::Half) => Operator::MinFloat,
        (Intrinsic::Max, Scalar::Float | Scalar::Half) => Operator::MaxFloat,
        _ => return None,
    })
}

pub(crate) fn unary(terms: &mut Terms, op: UnaryOp, scalar: Scalar, value: &Value) -> Value {
    let scalar = scalar.underlying();
    match (op, value) {
        (UnaryOp::Not, _) => terms.not(value),
        (UnaryOp::Negate, _) if matches!(scalar, Scalar::Int | Scalar::Uint) => terms.negate(value),
        (UnaryOp::Negate, Value::Known(word)) if scalar == Scalar::Float && keeps_bits(*word) => {
            Value::Known(word ^ 0x8000_0000)
        }
        (UnaryOp::Complement, Value::Known(word)) if scalar.is_word() => Value::Known(!word),
        _ => terms.apply(Op::Unary(op, scalar), std::slice::from_ref(value)),
    }
}

pub(crate) fn binary(terms: &mut Terms, op: BinaryOp, scalar: Scalar, a: &Value, b: &Value) -> Value {
    let scalar = scalar.underlying();
    if scalar.is_float()
        && op.is_comparison()
        && let (Some(x), Some(y)) = (terms.known_float(a), terms.known_float(b))
        && let Some(word) = fold(op, scalar, x, y)
    {
        return Value::Known(word);
    }
    if let (Value::Known(x), Value::Known(y)) = (a, b) {
        let rounded = || terms.takes_numbers.then(|| rounded(op, scalar, *x, *y)).flatten();
        if let Some(word) = fold(op, scalar, *x, *y).or_else(rounded) {
            return Value::Known(word);
        }
    }
    if matches!(scalar, Scalar::Int | Scalar::Uint)
        && let Some(value) = of_multiples(terms, op, scalar, a, b).or_else(|| terms.of_halves(op, a, b))
    {
        return value;
    }
    // The value of a chain of known floats depends on its operations, which the operator's form does not keep.
    let is_of_known = scalar.is_float() && terms.known_float(a).is_some() && terms.known_float(b).is_some();
    if let Some(operator) = operator_of(op, scalar)
        && !is_of_known
    {
        return terms.combine(operator, a, b);
    }
    let integer = matches!(scalar, Scalar::Int | Scalar::Uint);
    match (op, b) {
        (BinaryOp::Sub, _) if integer => {
            let minus = terms.negate(b);
            return terms.combine(Operator::Add, a, &minus);
        }
        (BinaryOp::Shl, Value::Known(amount)) if integer => return terms.shift_left(a, *amount),
        (BinaryOp::Shr, Value::Known(amount)) if integer && amount & 31 == 0 => return a.clone(),
        (BinaryOp::Div, Value::Known(1)) if integer => return a.clone(),
        (BinaryOp::LogicalAnd, _) => return terms.and(a, b),
        (BinaryOp::LogicalOr, _) => return terms.or(a, b),
        (
            BinaryOp::Equal
            | BinaryOp::LessEqual
            | BinaryOp::GreaterEqual
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::Greater,
            _,
        ) if a == b && !scalar.is_float() => {
            terms.note_left_out(a);
            let holds = matches!(op, BinaryOp::Equal | BinaryOp::LessEqual | BinaryOp::GreaterEqual);
            return Value::Known(u32::from(holds));
        }
        _ => {}
    }
    // Comparisons have one form: a > b becomes b < a, and a >= b becomes !(a < b) (integers are totally
    // ordered).
    match op {
        BinaryOp::Greater => terms.apply(Op::Binary(BinaryOp::Less, scalar), &[b.clone(), a.clone()]),
        BinaryOp::GreaterEqual if !scalar.is_float() => {
            let less = terms.apply(Op::Binary(BinaryOp::Less, scalar), &[a.clone(), b.clone()]);
            terms.not(&less)
        }
        BinaryOp::LessEqual if !scalar.is_float() => {
            let less = terms.apply(Op::Binary(BinaryOp::Less, scalar), &[b.clone(), a.clone()]);
            terms.not(&less)
        }
        BinaryOp::NotEqual => {
            let equal = terms.apply(Op::Binary(BinaryOp::Equal, scalar), &[a.clone(), b.clone()]);
            terms.not(&equal)
        }
        _ => terms.apply(Op::Binary(op, scalar), &[a.clone(), b.clone()]),
    }
}

/// Bits and quotients of sums whose unknown parts are multiples of a power of two, such as
/// `group * 64 + thread`.
fn of_multiples(terms: &mut Terms, op: BinaryOp, scalar: Scalar, a: &Value, b: &Value) -> Option<Value> {
    let (sum, number) = match (op, a, b) {
        (BinaryOp::And | BinaryOp::Or | BinaryOp::Xor, Value::Known(number), Value::Sum(sum))
        | (
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Mod | BinaryOp::Div | BinaryOp::Shr,
            Value::Sum(sum),
            Value::Known(number),
        ) => (sum, *number),
        _ => return None,
    };
    if sum.operator != Operator::Add {
        return None;
    }
    // Sums are exact modulo 2^32. So all bits below the lowest possible bit of an unknown part are the
    // constant's.
    let zeros = sum
        .parts
        .iter()
        .map(|part| part.factor.trailing_zeros())
        .min()
        .unwrap_or(32);
    let below = 1u32.checked_shl(zeros).map_or(u32::MAX, |bit| bit - 1);
    match op {
        BinaryOp::And if number <= below => Some(Value::Known(sum.constant & number)),
        // Only bits of the constant change, without a carry.
        BinaryOp::Or | BinaryOp::Xor if number <= below => {
            let old = sum.constant & below;
            let new = if op == BinaryOp::Or {
                old | number
            } else {
                old ^ number
            };
            let sum = if a.known().is_some() { b } else { a };
            Some(terms.combine(Operator::Add, sum, &Value::Known(new.wrapping_sub(old))))
        }
        BinaryOp::Mod if scalar == Scalar::Uint && number.is_power_of_two() && number - 1 <= below => {
            Some(Value::Known(sum.constant & (number - 1)))
        }
        BinaryOp::Div | BinaryOp::Shr if scalar == Scalar::Uint => {
            let divisor = match op {
                BinaryOp::Shr => 1 << (number & 31),
                _ => number,
            };
            // A group's number is below 65536 (D3D11_CS_DISPATCH_MAX_THREAD_GROUPS_PER_DIMENSION): nothing wraps.
            let [part] = sum.parts.as_slice() else {
                return None;
            };
            let is_group = part.end - part.start == 1
                && matches!(terms.term(part.start), Some(Term::Apply(Op::GroupId(_), _)));
            let largest = u64::from(part.factor) * 65535 + u64::from(sum.constant);
            let divides = divisor > 0 && part.factor.is_multiple_of(divisor);
            (is_group && divides && u32::try_from(largest).is_ok()).then(|| {
                let group = Value::atom(part.start);
                let first = terms.combine(Operator::Mul, &group, &Value::Known(part.factor / divisor));
                terms.combine(Operator::Add, &first, &Value::Known(sum.constant / divisor))
            })
        }
        _ => None,
    }
}

/// The result on two known words, where HLSL defines it exactly.
///
/// It does not define the exact result of float `+ - * /` (see [`crate::terms::known_floats`]), of operations on
/// NaNs, which a compiler may assume absent, or of those on denormals, which may be flushed.
pub(crate) fn fold(op: BinaryOp, scalar: Scalar, x: u32, y: u32) -> Option<u32> {
    match scalar {
        Scalar::Uint | Scalar::Bool => Some(match op {
            BinaryOp::Add => x.wrapping_add(y),
            BinaryOp::Sub => x.wrapping_sub(y),
            BinaryOp::Mul => x.wrapping_mul(y),
            BinaryOp::Div => x.checked_div(y)?,
            BinaryOp::Mod => x.checked_rem(y)?,
            BinaryOp::And => x & y,
            BinaryOp::Or => x | y,
            BinaryOp::Xor => x ^ y,
            BinaryOp::Shl => x << (y & 31),
            BinaryOp::Shr => x >> (y & 31),
            BinaryOp::Less => u32::from(x < y),
            BinaryOp::LessEqual => u32::from(x <= y),
            BinaryOp::Greater => u32::from(x > y),
            BinaryOp::GreaterEqual => u32::from(x >= y),
            BinaryOp::Equal => u32::from(x == y),
            BinaryOp::NotEqual => u32::from(x != y),
            BinaryOp::LogicalAnd => u32::from(x != 0 && y != 0),
            BinaryOp::LogicalOr => u32::from(x != 0 || y != 0),
        }),
        Scalar::Int => {
            let (a, b) = (x.cast_signed(), y.cast_signed());
            Some(match op {
                BinaryOp::Div => a.checked_div(b)?.cast_unsigned(),
                BinaryOp::Mod => a.checked_rem(b)?.cast_unsigned(),
                BinaryOp::Shr => (a >> (y & 31)).cast_unsigned(),
                BinaryOp::Less => u32::from(a < b),
                BinaryOp::LessEqual => u32::from(a <= b),
                BinaryOp::Greater => u32::from(a > b),
                BinaryOp::GreaterEqual => u32::from(a >= b),
                _ => return fold(op, Scalar::Uint, x, y),
            })
        }
        // At least 11 significant bits: a result that needs no more is the same in all widths.
        Scalar::Half => fold(op, Scalar::Float, in_half(x)?, in_half(y)?),
        Scalar::Float if !is_arithmetic(op) && keeps_bits(x) && keeps_bits(y) => rounded(op, scalar, x, y),
        _ => None,
    }
}

/// The operation of an operator on two known words, if HLSL leaves its result open: for floats that may be
/// flushed, NaNs, sums and products that may be rounded, and the minimum or maximum of two zeros. `None` if the
/// result is exact.
pub(crate) fn inexact(operator: Operator, x: u32, y: u32) -> Option<Op> {
    let result = operator.fold(x, y);
    let is_told = if operator.is_extremum() {
        x == y || f32::from_bits(result) != 0.0
    } else {
        [x, y, result]
            .into_iter()
            .all(|word| is_few_quarters(word, Scalar::Float))
    };
    let is_exact = is_told && keeps_bits(x) && keeps_bits(y);
    on_floats(operator).filter(|_| !is_exact)
}

/// The operation of an operator on floats; `None` for any other operator.
pub(crate) fn on_floats(operator: Operator) -> Option<Op> {
    let scalar = Scalar::Float;
    let of = |intrinsic| Op::Intrinsic {
        intrinsic,
        scalar,
        component: 0,
    };
    Some(match operator {
        Operator::FloatAdd => Op::Binary(BinaryOp::Add, scalar),
        Operator::FloatMul => Op::Binary(BinaryOp::Mul, scalar),
        Operator::MinFloat => of(Intrinsic::Min),
        Operator::MaxFloat => of(Intrinsic::Max),
        _ => return None,
    })
}

/// The word, if a 16-bit float can hold its value.
fn in_half(word: u32) -> Option<u32> {
    let value = f32::from_bits(word).abs();
    let fits = word & 0x1FFF == 0 && (6.103_515_6e-5..=65504.0).contains(&value);
    (fits || value == 0.0 || value.is_infinite()).then_some(word)
}

/// Conversion of one component.
pub(crate) fn cast(terms: &mut Terms, from: Scalar, to: Scalar, value: &Value) -> Value {
    use Scalar::{Bool, Float, Half, Int, Uint};
    let (from, to) = (from.underlying(), to.underlying());
    if from == to {
        return value.clone();
    }
    if from.is_float()
        && !to.is_float()
        && value.known().is_none()
        && let Some(word) = terms.known_float(value)
    {
        return cast(terms, from, to, &Value::Known(word));
    }
    if to == Half {
        let word = cast(terms, from, Float, value);
        return match word.known().and_then(in_half) {
            Some(word) => Value::Known(word),
            None => terms.apply(Op::Cast { from, to }, std::slice::from_ref(value)),
        };
    }
    match (from, to, value) {
        (Int | Uint | Bool, Int | Uint, _) => value.clone(),
        // A half converts to the same number as a float. But a sum of halves is rounded to a half, and has the
        // form of a sum of floats.
        (Half, Float, Value::Known(_)) => value.clone(),
        (Int | Uint, Bool, Value::Known(word)) => Value::Known(u32::from(*word != 0)),
        (Float, Bool, Value::Known(word)) if keeps_bits(*word) => {
            Value::Known(u32::from(f32::from_bits(*word) != 0.0))
        }
        (Bool | Uint, Float, Value::Known(word)) if *word < 1 << 24 => Value::Known((*word as f32).to_bits()),
        (Int, Float, Value::Known(word)) if word.cast_signed().unsigned_abs() < 1 << 24 => {
            Value::Known((word.cast_signed() as f32).to_bits())
        }
        (Float | Half, Uint, Value::Known(word))
            if (0.0..4_294_967_040.0).contains(&f32::from_bits(*word)) =>
        {
            Value::Known(f32::from_bits(*word) as u32)
        }
        (Float | Half, Int, Value::Known(word)) if f32::from_bits(*word).abs() < 2_147_483_520.0 => {
            Value::Known((f32::from_bits(*word) as i32).cast_unsigned())
        }
        (Int | Uint | Float | Half, Bool, _) => {
            binary(terms, BinaryOp::NotEqual, from, value, &Value::Known(0))
        }
        _ => terms.apply(Op::Cast { from, to }, std::slice::from_ref(value)),
    }
}

/// Whether this is the minimum or maximum of two zeros of opposite sign: which zero it is depends on the
/// device.
pub(crate) fn is_open(operator: Operator, a: &Value, b: &Value) -> bool {
    const ZEROS: [u32; 2] = [0, 1 << 31];
    matches!(operator, Operator::MinFloat | Operator::MaxFloat)
        && matches!((a.known(), b.known()), (Some(a), Some(b)) if a != b && ZEROS.contains(&a) && ZEROS.contains(&b))
}

/// Whether `low <= high` may hold.
pub(crate) fn are_ordered(scalar: Scalar, low: &Value, high: &Value) -> bool {
    let (Some(low), Some(high)) = (low.known(), high.known()) else {
        return true;
    };
    match scalar {
        Scalar::Int => low.cast_signed() <= high.cast_signed(),
        Scalar::Float | Scalar::Half => f32::from_bits(low) <= f32::from_bits(high),
        _ => low <= high,
    }
}

/// Intrinsics on known words that are exact everywhere.
pub(crate) fn intrinsic(intrinsic: Intrinsic, scalar: Scalar, arguments: &[u32]) -> Option<u32> {
    let float = scalar.is_float() && arguments.iter().all(|word| keeps_bits(*word));
    match (intrinsic, arguments) {
        (Intrinsic::CountBits, [x]) => Some(x.count_ones()),
        (Intrinsic::ReverseBits, [x]) => Some(x.reverse_bits()),
        (Intrinsic::FirstBitLow, [0]) => Some(u32::MAX),
        (Intrinsic::FirstBitLow, [x]) => Some(x.trailing_zeros()),
        (Intrinsic::FirstBitHigh, [x]) if scalar == Scalar::Uint => {
            Some(x.checked_ilog2().unwrap_or(u32::MAX))
        }
        // Of a positive number, both overloads find the highest bit that is set.
        (Intrinsic::FirstBitHigh, [x]) if scalar == Scalar::Int && x.cast_signed() > 0 => x.checked_ilog2(),
        (Intrinsic::Abs, [x]) if scalar == Scalar::Int => {
            Some(x.cast_signed().wrapping_abs().cast_unsigned())
        }
        (Intrinsic::Abs, [x]) if float => Some(x & 0x7FFF_FFFF),
        (Intrinsic::Floor, [x]) if float => normal(f32::from_bits(*x).floor()),
        (Intrinsic::Ceil, [x]) if float => normal(f32::from_bits(*x).ceil()),
        (Intrinsic::Trunc, [x]) if float => normal(f32::from_bits(*x).trunc()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_bit_of_a_positive_int_is_that_of_a_uint() {
        let highest = |scalar, word: i32| intrinsic(Intrinsic::FirstBitHigh, scalar, &[word.cast_unsigned()]);
        assert_eq!(highest(Scalar::Int, 64), Some(6));
        assert_eq!(highest(Scalar::Uint, 64), Some(6));
        // Of a negative `int`, it is the highest bit that is not set.
        assert_eq!(highest(Scalar::Int, -5), None);
        assert_eq!(highest(Scalar::Int, 0), None);
    }

    #[test]
    fn words_fold_as_hlsl_says() {
        let f = |op, scalar, x, y| fold(op, scalar, x, y);
        assert_eq!(f(BinaryOp::Shl, Scalar::Uint, 1, 33), Some(2));
        assert_eq!(f(BinaryOp::Div, Scalar::Uint, 1, 0), None);
        assert_eq!(
            f(BinaryOp::Div, Scalar::Int, (-7i32).cast_unsigned(), 2),
            Some((-3i32).cast_unsigned())
        );
        assert_eq!(
            f(BinaryOp::Shr, Scalar::Int, (-8i32).cast_unsigned(), 1),
            Some((-4i32).cast_unsigned())
        );
        assert_eq!(f(BinaryOp::Less, Scalar::Int, u32::MAX, 0), Some(1));
        assert_eq!(f(BinaryOp::Less, Scalar::Uint, u32::MAX, 0), Some(0));
    }
}
