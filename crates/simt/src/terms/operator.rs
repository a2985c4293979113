//! The algebra of the operators that scans and reductions combine with.

use shaderlint_hlsl::Scalar;

/// An associative, commutative operator; on floats, only up to rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operator {
    Add,
    FloatAdd,
    Mul,
    FloatMul,
    MinUint,
    MaxUint,
    MinInt,
    MaxInt,
    MinFloat,
    MaxFloat,
    And,
    Or,
    Xor,
}

impl Operator {
    /// Whether regrouping its operands never changes the result.
    #[must_use]
    pub fn is_exact(self) -> bool {
        !matches!(self, Operator::FloatAdd | Operator::FloatMul)
    }

    /// Whether a value combined with itself is the value.
    #[must_use]
    pub fn is_idempotent(self) -> bool {
        self.is_extremum() || matches!(self, Operator::And | Operator::Or)
    }

    /// Whether it picks one of its operands.
    #[must_use]
    pub fn is_extremum(self) -> bool {
        matches!(
            self,
            Operator::MinUint
                | Operator::MaxUint
                | Operator::MinInt
                | Operator::MaxInt
                | Operator::MinFloat
                | Operator::MaxFloat
        )
    }

    /// Whether it is an operation on values of this type, rather than on their bits read as another's.
    pub(crate) fn is_on(self, scalar: Scalar) -> bool {
        match self {
            _ if self.is_on_floats() => matches!(scalar, Scalar::Float | Scalar::Half),
            Operator::MinInt | Operator::MaxInt => scalar == Scalar::Int,
            Operator::MinUint | Operator::MaxUint => matches!(scalar, Scalar::Uint | Scalar::Bool),
            _ => matches!(scalar, Scalar::Int | Scalar::Uint),
        }
    }

    /// Whether it is an operation on floats.
    #[must_use]
    pub fn is_on_floats(self) -> bool {
        matches!(
            self,
            Operator::FloatAdd | Operator::FloatMul | Operator::MinFloat | Operator::MaxFloat
        )
    }

    /// The value that changes nothing, as a bit pattern.
    #[must_use]
    pub fn identity(self) -> u32 {
        match self {
            Operator::Add | Operator::FloatAdd | Operator::MaxUint | Operator::Or | Operator::Xor => 0,
            Operator::Mul => 1,
            Operator::FloatMul => 1.0f32.to_bits(),
            Operator::MinUint | Operator::And => u32::MAX,
            Operator::MinInt => i32::MAX.cast_unsigned(),
            Operator::MaxInt => i32::MIN.cast_unsigned(),
            Operator::MinFloat => f32::INFINITY.to_bits(),
            Operator::MaxFloat => f32::NEG_INFINITY.to_bits(),
        }
    }

    /// The result on two words.
    pub(crate) fn fold(self, a: u32, b: u32) -> u32 {
        let (fa, fb) = (f32::from_bits(a), f32::from_bits(b));
        match self {
            Operator::Add => a.wrapping_add(b),
            Operator::FloatAdd => (fa + fb).to_bits(),
            Operator::Mul => a.wrapping_mul(b),
            Operator::FloatMul => (fa * fb).to_bits(),
            Operator::MinUint => a.min(b),
            Operator::MaxUint => a.max(b),
            Operator::MinInt => a.cast_signed().min(b.cast_signed()).cast_unsigned(),
            Operator::MaxInt => a.cast_signed().max(b.cast_signed()).cast_unsigned(),
            Operator::MinFloat => fa.min(fb).to_bits(),
            Operator::MaxFloat => fa.max(fb).to_bits(),
            Operator::And => a & b,
            Operator::Or => a | b,
            Operator::Xor => a ^ b,
        }
    }

    /// The factor of an atom that occurs `a` times in one operand and `b` times in the other.
    pub(crate) fn add_factors(self, a: u32, b: u32) -> u32 {
        match self {
            Operator::Add => a.wrapping_add(b),
            Operator::Xor => (a ^ b) & 1,
            Operator::FloatAdd | Operator::Mul | Operator::FloatMul => a.saturating_add(b),
            _ => u32::from(a | b != 0),
        }
    }

    /// Whether this word determines the result, whatever the other operand is.
    pub(crate) fn absorbs(self, a: u32) -> bool {
        match self {
            Operator::Mul | Operator::And | Operator::MinUint => a == 0,
            Operator::Or | Operator::MaxUint => a == u32::MAX,
            Operator::MinInt => a == i32::MIN.cast_unsigned(),
            Operator::MaxInt => a == i32::MAX.cast_unsigned(),
            _ => false,
        }
    }

    /// Whether this word changes nothing. For float addition both zeros count: reassociation may change the
    /// sign of a zero sum.
    pub(crate) fn is_identity(self, a: u32) -> bool {
        a == self.identity() || (self == Operator::FloatAdd && a == (-0.0f32).to_bits())
    }
}
