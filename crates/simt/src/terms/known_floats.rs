//! The results of operations on known floats, where every compiler gets the same one.
//!
//! Without `precise`, a compiler may reorder float operations. DXC turns `(x + a) + b` into `x + (a + b)`,
//! `(x * a) * b` into `x * (a * b)`, and `(x * a + b) * c` into `x * (a * c) + b * c`. So it does not suffice
//! that each operation is exact as it stands: with -16777216, 16777216 and 1, only `a + b` rounds. In a long
//! chain, the product of the factors alone may be infinite, or a partial sum too long for a float. So an
//! operation stays a term, even if all its operands are known. Its value is computed where something depends on
//! it: in a comparison, a conversion to a whole number, or a function that rounds to one. There the whole chain
//! of operations is in sight.
//!
//! The value is known if every operand and result is a multiple of 1/4 of at most 4096 quarters (that is, up to
//! 1024), and the chain has one of these forms:
//!
//! - At most two operations, and one product with a power of two. Each number is then a whole number of 12 bits
//!   times 1/4. In another order, the operations are sums of such numbers, some perhaps made smaller by ten
//!   bits by a power of two, and products of two of them. These have at most 24 bits, as a float has. A product
//!   of three is the result, or one factor is 0. So every order is exact, fused or not.
//! - No more than ten products with powers of two, as in `x *= 0.5`. Each power is at most 1024, so the
//!   products stay in range.
//!
//! Halves have at least 11 bits and end at 65504. For them the same argument holds with 32 quarters (up to 8)
//! and three such products.

use shaderlint_hlsl::{BinaryOp, Scalar, UnaryOp};

use crate::terms::value::{Op, Value};
use crate::terms::{Term, Terms};

/// The value of a chain of operations, and their numbers.
#[derive(Clone, Copy)]
struct Chain {
    word: u32,
    /// Operations other than products with powers of two.
    operations: u32,
    /// Products with powers of two.
    scalings: u32,
}

/// The result of one float operation on its own, rounded to nearest.
pub(crate) fn rounded(op: BinaryOp, scalar: Scalar, x: u32, y: u32) -> Option<u32> {
    if scalar != Scalar::Float {
        return None;
    }
    let (a, b) = (f32::from_bits(x), f32::from_bits(y));
    if a.is_subnormal() || b.is_subnormal() {
        return None;
    }
    #[expect(clippy::float_cmp, reason = "HLSL's == on floats is exact")]
    let word = match op {
        BinaryOp::Less => u32::from(a < b),
        BinaryOp::LessEqual => u32::from(a <= b),
        BinaryOp::Greater => u32::from(a > b),
        BinaryOp::GreaterEqual => u32::from(a >= b),
        BinaryOp::Equal => u32::from(a == b),
        BinaryOp::NotEqual => u32::from(a != b),
        BinaryOp::Add => normal(a + b)?,
        BinaryOp::Sub => normal(a - b)?,
        BinaryOp::Mul => normal(a * b)?,
        BinaryOp::Div if a / b * b == a && b.to_bits() & 0x007F_FFFF == 0 => normal(a / b)?,
        _ => return None,
    };
    Some(word)
}

pub(crate) fn is_arithmetic(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div)
}

/// Whether float operations keep the word: it is neither a denormal, which they may flush, nor a NaN.
pub(crate) fn keeps_bits(word: u32) -> bool {
    let value = f32::from_bits(word);
    !value.is_subnormal() && !value.is_nan()
}

pub(crate) fn normal(value: f32) -> Option<u32> {
    (value.is_normal() || value == 0.0).then(|| value.to_bits())
}

/// Whether a float or half is a whole number of quarters, and few of them.
pub(crate) fn is_few_quarters(word: u32, scalar: Scalar) -> bool {
    let most = match scalar {
        Scalar::Float => 4096.0,
        Scalar::Half => 32.0,
        _ => return false,
    };
    let quarters = f32::from_bits(word) * 4.0;
    quarters.fract() == 0.0 && quarters.abs() <= most
}

impl Terms {
    /// The bits of a known float or half. A zero may have either sign.
    pub fn known_float(&self, value: &Value) -> Option<u32> {
        self.chain(value).map(|chain| chain.word)
    }

    fn chain(&self, value: &Value) -> Option<Chain> {
        if let Value::Known(word) = value {
            return Some(Chain {
                word: *word,
                operations: 0,
                scalings: 0,
            });
        }
        let mut atoms = value.atoms();
        let (atom, None) = (atoms.next()?, atoms.next()) else {
            return None;
        };
        if *value != Value::atom(atom) {
            return None;
        }
        match self.term(atom)? {
            Term::Apply(Op::Unary(UnaryOp::Negate, scalar), [of]) if scalar.is_float() => {
                let of = self.chain(of)?;
                Some(Chain {
                    word: of.word ^ 0x8000_0000,
                    ..of
                })
            }
            Term::Apply(Op::Binary(op, scalar), [a, b]) if is_arithmetic(*op) => {
                let (x, y) = (self.chain(a)?, self.chain(b)?);
                let is_plain = keeps_bits(x.word) && keeps_bits(y.word);
                let word = rounded(*op, Scalar::Float, x.word, y.word).filter(|_| is_plain)?;
                let is_few = |word: u32| is_few_quarters(word, *scalar);
                let is_power = |of: Chain| {
                    of.operations + of.scalings == 0 && of.word & 0x007F_FFFF == 0 && of.word << 1 != 0
                };
                let is_scaling = match op {
                    BinaryOp::Mul => is_power(x) || is_power(y),
                    BinaryOp::Div => is_power(y),
                    _ => false,
                };
                let chain = Chain {
                    word,
                    operations: u32::from(!is_scaling) + x.operations + y.operations,
                    scalings: u32::from(is_scaling) + x.scalings + y.scalings,
                };
                let max_scalings = match (chain.operations, scalar) {
                    (0, Scalar::Half) => 3,
                    (0, _) => 10,
                    (1 | 2, _) => 1,
                    _ => return None,
                };
                let are_few = [x.word, y.word, word].into_iter().all(is_few);
                (are_few && chain.scalings <= max_scalings).then_some(chain)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::fold;

    #[test]
    fn chains_are_known_that_come_to_one_number() {
        let mut terms = Terms::default();
        let mut number = |first: f32, steps: &[(BinaryOp, f32)]| {
            let known = |number: f32| Value::Known(number.to_bits());
            let value = steps.iter().fold(known(first), |value, (op, operand)| {
                fold::binary(&mut terms, *op, Scalar::Float, &value, &known(*operand))
            });
            terms.known_float(&value).map(f32::from_bits)
        };
        assert_eq!(number(8.0, &[(BinaryOp::Div, 2.0)]), Some(4.0));
        assert_eq!(number(1.0, &[(BinaryOp::Div, 3.0)]), None);
        assert_eq!(number(0.75, &[(BinaryOp::Mul, 0.75)]), None);
        assert_eq!(number(2048.0, &[(BinaryOp::Sub, 2047.0)]), None);
        let chain = [
            (BinaryOp::Mul, 3.0),
            (BinaryOp::Mul, 0.5),
            (BinaryOp::Add, 1.0),
            (BinaryOp::Sub, 1.0),
        ];
        assert_eq!(number(5.0, &chain[..3]), Some(8.5));
        assert_eq!(number(5.0, &chain), None);
        assert_eq!(number(1.0, &[(BinaryOp::Mul, 2.0); 10]), Some(1024.0));
        assert_eq!(number(0.0, &[(BinaryOp::Mul, 2.0); 11]), None);
    }
}
