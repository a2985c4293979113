//! The argument and result types of intrinsic functions.

use crate::Intrinsic;
use crate::types::{Scalar, Type};

/// The arguments and the result of an intrinsic.
pub(super) enum Signature {
    /// Takes nothing, returns this type.
    Nullary(Type),
    /// Takes this many floating-point arguments of a common type, and returns that type.
    Floats(usize),
    /// Takes this many floating-point vectors of a common type, and returns its scalar.
    FloatsToScalar(usize),
    /// Takes this many numbers of a common type, and returns that type.
    Numbers(usize),
    /// Takes one argument, converted to the first scalar type, and returns the second in the argument's shape.
    Map(Option<Scalar>, Scalar),
    /// Takes a scalar bool, returns this type.
    Condition(Type),
    /// Takes these types, returns this type.
    Fixed(&'static [Type], Type),
    /// Takes a value of any type and then these types; returns the value's type.
    Same(&'static [Type]),
    /// Has rules of its own.
    Special,
}

pub(super) const UINT4: Type = Type::Vector(Scalar::Uint, 4);

macro_rules! signatures {
    ($($signature:expr => $($intrinsic:ident)*;)*) => {
        pub(super) fn signature(intrinsic: Intrinsic) -> Signature {
            match intrinsic { $($(Intrinsic::$intrinsic)|* => $signature,)* }
        }
    };
}

signatures! {
    Signature::Nullary(Type::Void) =>
        AllMemoryBarrier AllMemoryBarrierWithGroupSync DeviceMemoryBarrier DeviceMemoryBarrierWithGroupSync GroupMemoryBarrier
        GroupMemoryBarrierWithGroupSync;
    Signature::Nullary(Type::UINT) => WaveGetLaneCount WaveGetLaneIndex;
    Signature::Nullary(Type::BOOL) => WaveIsFirstLane;
    Signature::Condition(Type::BOOL) => WaveActiveAllTrue WaveActiveAnyTrue QuadAll QuadAny;
    Signature::Condition(UINT4) => WaveActiveBallot;
    Signature::Condition(Type::UINT) => WaveActiveCountBits WavePrefixCountBits;
    Signature::Map(None, Scalar::Bool) => WaveActiveAllEqual IsFinite IsInf IsNan;
    Signature::Map(None, Scalar::Float) => AsFloat;
    Signature::Map(None, Scalar::Int) => AsInt Sign;
    Signature::Map(Some(Scalar::Uint), Scalar::Uint) => CountBits ReverseBits;
    Signature::Map(Some(Scalar::Uint), Scalar::Float) => F16ToF32;
    Signature::Map(Some(Scalar::Float), Scalar::Uint) => F32ToF16;
    Signature::Numbers(1) =>
        WaveActiveBitAnd WaveActiveBitOr WaveActiveBitXor WaveActiveMax WaveActiveMin WaveActiveProduct WaveActiveSum
        WavePrefixProduct WavePrefixSum Abs;
    Signature::Numbers(2) => Max Min;
    Signature::Numbers(3) => Clamp Fma Mad;
    Signature::Same(&[UINT4]) =>
        WaveMultiPrefixBitAnd WaveMultiPrefixBitOr WaveMultiPrefixBitXor WaveMultiPrefixProduct WaveMultiPrefixSum;
    Signature::Same(&[]) => WaveReadLaneFirst QuadReadAcrossDiagonal QuadReadAcrossX QuadReadAcrossY;
    Signature::Same(&[Type::UINT]) => WaveReadLaneAt QuadReadLaneAt;
    Signature::Floats(1) =>
        Acos Asin Atan Ceil Cos Cosh Degrees Exp Exp2 Floor Frac Log Log10 Log2 Normalize Radians Rcp Round Rsqrt Saturate
        Sin Sinh Sqrt Tan Tanh Trunc;
    Signature::Floats(2) => Atan2 Cross Dst Fmod Ldexp Pow Reflect Step;
    Signature::Floats(3) => FaceForward Lerp Smoothstep;
    Signature::FloatsToScalar(1) => Determinant Length;
    Signature::FloatsToScalar(2) => Distance;
    Signature::Fixed(&[Type::UINT, Type::UINT], Type::Scalar(Scalar::Double)) => AsDouble;
    Signature::Fixed(&[Type::UINT, Type::UINT, Type::INT], Type::INT) => Dot4AddI8Packed;
    Signature::Fixed(&[Type::UINT; 3], Type::UINT) => Dot4AddU8Packed;
    Signature::Fixed(&[Type::FLOAT; 3], Type::Vector(Scalar::Float, 4)) => Lit;
    Signature::Fixed(&[Type::UINT, Type::Vector(Scalar::Uint, 2), UINT4], UINT4) => Msad4;
    Signature::Special =>
        InterlockedAdd InterlockedAnd InterlockedCompareExchange InterlockedCompareStore InterlockedExchange InterlockedMax
        InterlockedMin InterlockedOr InterlockedXor WaveMatch WaveMultiPrefixCountBits AsUint Clip Frexp Modf Refract SinCos All
        Any Dot FirstBitHigh FirstBitLow Mul Transpose And Or Select;
}

/// Whether it takes only floats and returns a float.
pub(super) fn is_of_floats(intrinsic: Intrinsic) -> bool {
    matches!(
        signature(intrinsic),
        Signature::Floats(_) | Signature::FloatsToScalar(_)
    )
}

/// Whether the result's type is independent of the arguments' types: then a call with literals is not a literal.
pub(super) fn has_own_type(intrinsic: Intrinsic) -> bool {
    use Intrinsic as I;
    matches!(
        intrinsic,
        I::All | I::And | I::Any | I::AsUint | I::FirstBitHigh | I::FirstBitLow | I::Or
    ) || !matches!(
        signature(intrinsic),
        Signature::Floats(_)
            | Signature::FloatsToScalar(_)
            | Signature::Numbers(_)
            | Signature::Same(_)
            | Signature::Special
    )
}

/// Whether the lowering converts the components of its arguments. Such a conversion would make an argument of unknown
/// type a scalar.
pub(super) fn converts_scalars(intrinsic: Intrinsic) -> bool {
    use Intrinsic as I;
    matches!(signature(intrinsic), Signature::Map(Some(_), _))
        || matches!(
            intrinsic,
            I::And | I::FirstBitHigh | I::FirstBitLow | I::Or | I::Select
        )
}

/// Whether it counts or moves bits. DXC has overloads for integers of widths other than 32 bits, whose results differ
/// from the result for the value as a `uint`.
pub(super) fn is_of_width(intrinsic: Intrinsic) -> bool {
    use Intrinsic as I;
    matches!(
        intrinsic,
        I::CountBits | I::FirstBitHigh | I::FirstBitLow | I::ReverseBits
    )
}

/// Whether DXC converts a `bool` to a float here and the result is at most the number of lanes. A float holds such a
/// number exactly, whatever the order of the sum, so the tree has the `uint`, converted to a float.
pub(super) fn counts_in_floats(intrinsic: Intrinsic) -> bool {
    use Intrinsic as I;
    matches!(
        intrinsic,
        I::WaveActiveMax
            | I::WaveActiveMin
            | I::WaveActiveProduct
            | I::WaveActiveSum
            | I::WavePrefixProduct
            | I::WavePrefixSum
            | I::WaveMultiPrefixProduct
            | I::WaveMultiPrefixSum
            | I::QuadReadAcrossDiagonal
            | I::QuadReadAcrossX
            | I::QuadReadAcrossY
            | I::QuadReadLaneAt
    )
}
