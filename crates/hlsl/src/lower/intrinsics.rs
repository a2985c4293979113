//! The types of intrinsic functions.

use super::Lowering;
use super::conversions::{arithmetic, as_value, opaque, shape};
use super::wide::exceeds_32_bits;
use crate::Intrinsic;
use crate::span::Span;
use crate::tree::{Expr, ExprKind};
use crate::types::{Scalar, Type};

/// How an intrinsic treats its arguments.
enum Signature {
    /// No argument; this result.
    Nullary(Type),
    /// So many floating-point arguments of a common type; the result has it.
    Floats(usize),
    /// So many floating-point vectors of a common type; the result is their scalar.
    FloatsToScalar(usize),
    /// So many numbers of a common type; the result has it.
    Numbers(usize),
    /// One argument converted to this scalar type; this result, of the argument's shape.
    Map(Option<Scalar>, Scalar),
    /// One argument converted to a scalar bool; this result.
    Condition(Type),
    /// Arguments of these types; this result.
    Fixed(&'static [Type], Type),
    /// A value of any type, then these; the result is the value's type.
    Same(&'static [Type]),
    /// Barriers and everything that is treated by hand.
    Special,
}

const UINT4: Type = Type::Vector(Scalar::Uint, 4);

fn signature(intrinsic: Intrinsic) -> Signature {
    use Intrinsic as I;
    match intrinsic {
        I::AllMemoryBarrier
        | I::AllMemoryBarrierWithGroupSync
        | I::DeviceMemoryBarrier
        | I::DeviceMemoryBarrierWithGroupSync
        | I::GroupMemoryBarrier
        | I::GroupMemoryBarrierWithGroupSync => Signature::Nullary(Type::Void),
        I::WaveGetLaneCount | I::WaveGetLaneIndex => Signature::Nullary(Type::UINT),
        I::WaveIsFirstLane => Signature::Nullary(Type::BOOL),
        I::WaveActiveAllTrue | I::WaveActiveAnyTrue | I::QuadAll | I::QuadAny => {
            Signature::Condition(Type::BOOL)
        }
        I::WaveActiveBallot => Signature::Condition(UINT4),
        I::WaveActiveCountBits | I::WavePrefixCountBits => Signature::Condition(Type::UINT),
        I::WaveActiveAllEqual | I::IsFinite | I::IsInf | I::IsNan => Signature::Map(None, Scalar::Bool),
        I::WaveActiveBitAnd
        | I::WaveActiveBitOr
        | I::WaveActiveBitXor
        | I::WaveActiveMax
        | I::WaveActiveMin
        | I::WaveActiveProduct
        | I::WaveActiveSum
        | I::WavePrefixProduct
        | I::WavePrefixSum
        | I::Abs => Signature::Numbers(1),
        I::WaveMultiPrefixBitAnd
        | I::WaveMultiPrefixBitOr
        | I::WaveMultiPrefixBitXor
        | I::WaveMultiPrefixProduct
        | I::WaveMultiPrefixSum => Signature::Same(&[UINT4]),
        I::WaveReadLaneFirst | I::QuadReadAcrossDiagonal | I::QuadReadAcrossX | I::QuadReadAcrossY => {
            Signature::Same(&[])
        }
        I::WaveReadLaneAt | I::QuadReadLaneAt => Signature::Same(&[Type::UINT]),
        I::Acos
        | I::Asin
        | I::Atan
        | I::Ceil
        | I::Cos
        | I::Cosh
        | I::Degrees
        | I::Exp
        | I::Exp2
        | I::Floor
        | I::Frac
        | I::Log
        | I::Log10
        | I::Log2
        | I::Normalize
        | I::Radians
        | I::Rcp
        | I::Round
        | I::Rsqrt
        | I::Saturate
        | I::Sin
        | I::Sinh
        | I::Sqrt
        | I::Tan
        | I::Tanh
        | I::Trunc => Signature::Floats(1),
        I::Atan2 | I::Cross | I::Dst | I::Fmod | I::Ldexp | I::Pow | I::Reflect | I::Step => {
            Signature::Floats(2)
        }
        I::FaceForward | I::Lerp | I::Smoothstep => Signature::Floats(3),
        I::Determinant | I::Length => Signature::FloatsToScalar(1),
        I::Distance => Signature::FloatsToScalar(2),
        I::Max | I::Min => Signature::Numbers(2),
        I::Clamp | I::Fma | I::Mad => Signature::Numbers(3),
        I::AsDouble => Signature::Fixed(&[Type::UINT, Type::UINT], Type::Scalar(Scalar::Double)),
        I::Dot4AddI8Packed => Signature::Fixed(&[Type::UINT, Type::UINT, Type::INT], Type::INT),
        I::Dot4AddU8Packed => Signature::Fixed(&[Type::UINT; 3], Type::UINT),
        I::Lit => Signature::Fixed(&[Type::FLOAT; 3], Type::Vector(Scalar::Float, 4)),
        I::Msad4 => Signature::Fixed(&[Type::UINT, Type::Vector(Scalar::Uint, 2), UINT4], UINT4),
        I::CountBits | I::ReverseBits => Signature::Map(Some(Scalar::Uint), Scalar::Uint),
        I::F16ToF32 => Signature::Map(Some(Scalar::Uint), Scalar::Float),
        I::F32ToF16 => Signature::Map(Some(Scalar::Float), Scalar::Uint),
        I::AsFloat => Signature::Map(None, Scalar::Float),
        I::AsInt | I::Sign => Signature::Map(None, Scalar::Int),
        I::InterlockedAdd
        | I::InterlockedAnd
        | I::InterlockedCompareExchange
        | I::InterlockedCompareStore
        | I::InterlockedExchange
        | I::InterlockedMax
        | I::InterlockedMin
        | I::InterlockedOr
        | I::InterlockedXor
        | I::WaveMatch
        | I::WaveMultiPrefixCountBits
        | I::AsUint
        | I::Clip
        | I::Frexp
        | I::Modf
        | I::Refract
        | I::SinCos
        | I::All
        | I::Any
        | I::Dot
        | I::FirstBitHigh
        | I::FirstBitLow
        | I::Mul
        | I::Transpose
        | I::And
        | I::Or
        | I::Select => Signature::Special,
    }
}

/// Whether it has floats alone, and its result is one.
pub(super) fn is_of_floats(intrinsic: Intrinsic) -> bool {
    matches!(
        signature(intrinsic),
        Signature::Floats(_) | Signature::FloatsToScalar(_)
    )
}

/// Whether the result has a type that the arguments do not tell: of literals it is no literal.
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

/// Whether the lowering converts its arguments' components. It would make a scalar of an argument of unknown type.
fn converts_scalars(intrinsic: Intrinsic) -> bool {
    use Intrinsic as I;
    matches!(signature(intrinsic), Signature::Map(Some(_), _))
        || matches!(
            intrinsic,
            I::And | I::FirstBitHigh | I::FirstBitLow | I::Or | I::Select
        )
}

/// Whether it counts or moves bits: of other integers than those of 32 bits DXC has overloads, whose results are others than
/// those of the value as a `uint`.
fn is_of_width(intrinsic: Intrinsic) -> bool {
    use Intrinsic as I;
    matches!(
        intrinsic,
        I::CountBits | I::FirstBitHigh | I::FirstBitLow | I::ReverseBits
    )
}

/// Whether DXC takes a `bool` for a float here, and the result is at most the number of lanes. A float holds such a number
/// exactly, in whichever order it is summed: the tree has the `uint`, converted.
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

/// Whether a vector or a matrix of one component meets a longer one: operators spread it, intrinsics cut the other (DXC 1.7).
fn has_one_beside_more(arguments: &[Expr]) -> bool {
    let length = |value: &Expr| match value.ty {
        Type::Vector(_, count) => Some(count),
        Type::Matrix(_, rows, columns) => Some(rows * columns),
        _ => None,
    };
    let mut lengths = arguments.iter().filter_map(length);
    lengths.clone().any(|length| length == 1) && lengths.any(|length| length > 1)
}

/// The arguments as the numbers that DXC takes enumerations and literals for; as they are where that is not settled.
///
/// No intrinsic has an overload for enumerations: where there is nothing else to go by, it takes that of floats; beside an
/// `int` or a `bool` they are `int`s. Of literals alone it takes one of 64 bits.
fn settled(
    lowering: &Lowering<'_>,
    intrinsic: Intrinsic,
    arguments: Vec<Expr>,
    is_literal: bool,
) -> Result<Vec<Expr>, Vec<Expr>> {
    use Intrinsic as I;
    if has_one_beside_more(&arguments) {
        return Err(arguments);
    }
    let is_bool = |value: &Expr| value.ty.scalar() == Some(Scalar::Bool);
    // Of other operands than `bool`s DXC combines the bits of some, and of some it makes no valid code.
    if matches!(intrinsic, I::And | I::Or) && !arguments.iter().all(is_bool) {
        return Err(arguments);
    }
    if is_literal {
        let is_small = |value: &Expr| matches!(value.kind, ExprKind::Literal(bits) if bits < 1 << 16);
        let is_settled = match intrinsic {
            // DXC takes the overload without a sign for an expression.
            I::FirstBitHigh | I::Sign => arguments.iter().all(is_small),
            I::ReverseBits | I::WaveActiveProduct | I::WavePrefixProduct | I::WaveMultiPrefixProduct => false,
            I::WaveActiveSum | I::WavePrefixSum | I::WaveMultiPrefixSum | I::Mul | I::Dot | I::Mad => {
                arguments.iter().all(is_small)
            }
            _ => true,
        };
        return if is_settled { Ok(arguments) } else { Err(arguments) };
    }
    // DXC has these for `float` alone, and bits are reversed of an `int` that a float becomes.
    let is_double = |value: &Expr| value.ty.scalar() == Some(Scalar::Double);
    let of_float = |value: &Expr| value.ty.scalar().is_some_and(Scalar::is_float);
    if is_of_floats(intrinsic) && arguments.iter().any(is_double)
        || intrinsic == I::ReverseBits && arguments.iter().any(of_float)
    {
        return Err(arguments);
    }
    let is_enum = |value: &Expr| value.ty.scalar().is_some_and(Scalar::is_enum);
    let is_condition = matches!(signature(intrinsic), Signature::Condition(_));
    if is_condition || intrinsic.is_atomic() || !arguments.iter().any(is_enum) {
        return Ok(arguments);
    }
    let is_float = |value: &Expr| value.ty.scalar().is_some_and(Scalar::is_float);
    let is_known = |value: &Expr| !matches!(value.ty.scalar(), None | Some(Scalar::UintEnum(_)));
    let scalar = match intrinsic {
        I::CountBits | I::FirstBitLow => Scalar::Int,
        I::FirstBitHigh | I::ReverseBits | I::Select => return Err(arguments),
        _ if intrinsic.is_wave() || arguments.iter().all(is_enum) || arguments.iter().any(is_float) => {
            Scalar::Float
        }
        _ if arguments.iter().all(is_known) => Scalar::Int,
        _ => return Err(arguments),
    };
    let as_number = |value: Expr| {
        if is_enum(&value) {
            lowering.convert_scalar(value, scalar)
        } else {
            value
        }
    };
    Ok(arguments.into_iter().map(as_number).collect())
}

fn is_numeric(expr: &Expr) -> bool {
    expr.ty.scalar().is_some()
}

impl Lowering<'_> {
    /// A call of an intrinsic, its arguments converted; its value, if that is known for certain.
    pub(super) fn intrinsic(&mut self, intrinsic: Intrinsic, arguments: Vec<Expr>, span: Span) -> Expr {
        let call = self.settled_intrinsic(intrinsic, arguments, span);
        self.note_unsettled(&call);
        call
    }

    fn settled_intrinsic(&mut self, intrinsic: Intrinsic, arguments: Vec<Expr>, span: Span) -> Expr {
        if converts_scalars(intrinsic) && arguments.iter().any(|argument| self.is_unsettled(argument)) {
            return opaque(Self::values(arguments), Type::Unknown, span);
        }
        let is_literal =
            !arguments.is_empty() && { arguments.iter() }.all(|value| self.is_literal_int(value));
        // Of literals alone it is computed in 64 bits.
        if is_literal && arguments.iter().any(exceeds_32_bits) {
            return opaque(Self::values(arguments), Type::Unknown, span);
        }
        // Between lanes literals are passed in 64 bits.
        let may_grow = intrinsic == Intrinsic::WaveMultiPrefixProduct;
        let is_wide = |value: &Expr| {
            let is_of_literals = || self.is_of_literals(value);
            match value.ty.scalar() {
                Some(Scalar::Int | Scalar::Uint) => {
                    is_of_literals() && (may_grow || !self.is_small_literal(value))
                }
                Some(scalar) => scalar.is_float() && is_of_literals(),
                None => false,
            }
        };
        if intrinsic.is_wave() && arguments.iter().any(is_wide) {
            return opaque(Self::values(arguments), Type::Unknown, span);
        }
        let arguments = match settled(self, intrinsic, arguments, is_literal) {
            Ok(arguments) => arguments,
            Err(arguments) => return opaque(Self::values(arguments), Type::Unknown, span),
        };
        // The documentation has it of a `uint`, DXC of whatever it is given (`reversebits` in gen_intrin_main.txt).
        let is_signed = |value: &Expr| matches!(value.ty.scalar(), Some(Scalar::Bool | Scalar::Int));
        if intrinsic == Intrinsic::ReverseBits && arguments.iter().all(is_signed) {
            let call = self.typed_intrinsic(intrinsic, arguments, span);
            return self.convert_scalar(call, Scalar::Int);
        }
        let call = self.typed_intrinsic(intrinsic, arguments, span);
        let mut call = self.of_literals_alone(call);
        if let ExprKind::Intrinsic(intrinsic, arguments) = &call.kind
            && call.ty == Type::FLOAT
            && let Some(value) = self.folded(*intrinsic, arguments)
        {
            call.kind = value;
        }
        call
    }

    fn typed_intrinsic(&mut self, intrinsic: Intrinsic, arguments: Vec<Expr>, span: Span) -> Expr {
        let make = |arguments: Vec<Expr>, ty: Type| Expr {
            kind: ExprKind::Intrinsic(intrinsic, arguments),
            ty,
            span,
        };
        if intrinsic.is_atomic() {
            return self.atomic(intrinsic, arguments, span);
        }
        let fail = |arguments: Vec<Expr>, ty: Type| opaque(Self::values(arguments), ty, span);
        if counts_in_floats(intrinsic)
            && let Some(value) = arguments.first()
            && value.ty.scalar() == Some(Scalar::Bool)
        {
            let mut arguments = arguments;
            if let Some(value) = arguments.first_mut() {
                let truth = std::mem::replace(value, opaque(Vec::new(), Type::Unknown, span));
                *value = self.convert_scalar(truth, Scalar::Uint);
            }
            let call = self.typed_intrinsic(intrinsic, arguments, span);
            return self.convert_scalar(call, Scalar::Float);
        }
        if let (true, [value]) = (is_of_width(intrinsic), arguments.as_slice())
            && let Some(scalar) = value.ty.scalar()
            && (scalar.is_float()
                || matches!(
                    scalar,
                    Scalar::Int16 | Scalar::Uint16 | Scalar::Int64 | Scalar::Uint64
                ))
        {
            // Of a float DXC makes an `int` for some of them and a `uint` for others.
            let ty = match intrinsic {
                Intrinsic::ReverseBits => value.ty.clone(),
                _ => value.ty.with_scalar(Scalar::Uint),
            };
            return fail(arguments, ty);
        }
        match signature(intrinsic) {
            Signature::Nullary(ty) if arguments.is_empty() => make(arguments, ty),
            Signature::Floats(count) if arguments.len() == count => {
                match self.convert_to_common(arguments, true) {
                    Ok((arguments, ty)) => make(arguments, ty),
                    Err(arguments) => fail(arguments, Type::Unknown),
                }
            }
            Signature::FloatsToScalar(count) if arguments.len() == count => {
                match self.convert_to_common(arguments, true) {
                    Ok((arguments, ty)) => {
                        let scalar = ty.scalar().unwrap_or(Scalar::Float);
                        make(arguments, Type::Scalar(scalar))
                    }
                    Err(arguments) => fail(arguments, Type::FLOAT),
                }
            }
            Signature::Numbers(count) if arguments.len() == count => {
                match self.convert_to_common(arguments, false) {
                    Ok((arguments, ty)) => make(arguments, ty),
                    Err(arguments) => fail(arguments, Type::Unknown),
                }
            }
            Signature::Map(argument, result) if arguments.len() == 1 => {
                let arguments: Vec<Expr> = arguments
                    .into_iter()
                    .map(|value| match argument {
                        Some(scalar) => self.convert_scalar(value, scalar),
                        None => value,
                    })
                    .collect();
                let ty = match arguments.first() {
                    Some(value) if is_numeric(value) => value.ty.with_scalar(result),
                    Some(value)
                        if intrinsic == Intrinsic::WaveActiveAllEqual && value.ty != Type::Unknown =>
                    {
                        Type::BOOL
                    }
                    _ => Type::Unknown,
                };
                make(arguments, ty)
            }
            Signature::Condition(ty) if arguments.len() == 1 => {
                let arguments = arguments
                    .into_iter()
                    .map(|value| self.to_condition(value))
                    .collect();
                make(arguments, ty)
            }
            Signature::Fixed(types, ty) if arguments.len() == types.len() => {
                let arguments = arguments.into_iter().zip(types);
                make(arguments.map(|(value, ty)| self.convert(value, ty)).collect(), ty)
            }
            Signature::Same(rest) if arguments.len() == rest.len() + 1 => {
                let ty = arguments.first().map_or(Type::Unknown, |value| value.ty.clone());
                let types = std::iter::once(&ty).chain(rest);
                let converted = arguments
                    .into_iter()
                    .zip(types)
                    .map(|(value, ty)| self.convert(value, ty))
                    .collect();
                make(converted, ty)
            }
            Signature::Special => self.special(intrinsic, arguments, span),
            _ => fail(arguments, Type::Unknown),
        }
    }

    /// Arguments converted to their common type, which is a floating-point one if `floats`, and where all are `bool`s:
    /// functions of numbers have no overload for these, and DXC takes the first it has.
    fn convert_to_common(
        &mut self,
        arguments: Vec<Expr>,
        floats: bool,
    ) -> Result<(Vec<Expr>, Type), Vec<Expr>> {
        let mut rest = arguments.iter();
        let Some(mut widest) = rest.next() else {
            return Err(arguments);
        };
        let mut ty = widest.ty.clone();
        for argument in rest {
            let common = self.common_of(widest, argument);
            match common {
                Some(common) => {
                    let whole =
                        super::conversions::common(&ty, &argument.ty).and_then(|all| shape(&all, &common));
                    if argument.ty.scalar() == common.scalar() && widest.ty.scalar() != common.scalar() {
                        widest = argument;
                    }
                    ty = match (whole, common.scalar()) {
                        (Some(shape), Some(scalar)) => shape.with_scalar(scalar),
                        _ => common,
                    };
                }
                None => return Err(arguments),
            }
        }
        let Some(scalar) = ty.scalar() else {
            return Err(arguments);
        };
        let ty = if floats && !scalar.is_float() || scalar == Scalar::Bool {
            ty.with_scalar(Scalar::Float)
        } else {
            arithmetic(&ty)
        };
        Ok((
            arguments
                .into_iter()
                .map(|value| self.convert(value, &ty))
                .collect(),
            ty,
        ))
    }

    /// `Interlocked…(place, values…[, out original])`.
    fn atomic(&mut self, intrinsic: Intrinsic, arguments: Vec<Expr>, span: Span) -> Expr {
        let values = match intrinsic {
            Intrinsic::InterlockedCompareExchange | Intrinsic::InterlockedCompareStore => 2,
            _ => 1,
        };
        let original = arguments.len() == values + 2;
        for place in arguments
            .first()
            .into_iter()
            .chain(arguments.last().filter(|_| original))
        {
            self.note_write(place);
        }
        let Some(ty) = arguments.first().map(|place| place.ty.clone()) else {
            return opaque(arguments, Type::Void, span);
        };
        if arguments.len() <= values || arguments.len() > values + 2 {
            return opaque(arguments, Type::Void, span);
        }
        let arguments = arguments
            .into_iter()
            .enumerate()
            .map(|(index, argument)| {
                if (1..=values).contains(&index) {
                    self.to_atomic(argument, &ty)
                } else {
                    argument
                }
            })
            .collect();
        Expr {
            kind: ExprKind::Intrinsic(intrinsic, arguments),
            ty: Type::Void,
            span,
        }
    }

    /// A function of its first argument that leaves results in the others.
    fn with_results(&mut self, intrinsic: Intrinsic, arguments: Vec<Expr>, span: Span) -> Expr {
        for (index, argument) in arguments.iter().enumerate() {
            if intrinsic.may_write(index) {
                self.note_write(argument);
            }
        }
        let mut arguments = arguments;
        let argument = arguments.first_mut().map(|first| {
            let operand = std::mem::replace(first, opaque(Vec::new(), Type::Unknown, span));
            let is_float = operand.ty.scalar().is_some_and(Scalar::is_float);
            let operand = if intrinsic == Intrinsic::AsUint || is_float || self.is_unsettled(&operand) {
                operand
            } else {
                self.convert_scalar(operand, Scalar::Float)
            };
            *first = as_value(operand);
            first.ty.clone()
        });
        let ty = match intrinsic {
            Intrinsic::SinCos | Intrinsic::AsUint => Type::Void,
            _ => argument.unwrap_or(Type::Unknown),
        };
        Expr {
            kind: ExprKind::Intrinsic(intrinsic, arguments),
            ty,
            span,
        }
    }

    fn special(&mut self, intrinsic: Intrinsic, arguments: Vec<Expr>, span: Span) -> Expr {
        use Intrinsic as I;
        let make = |arguments: Vec<Expr>, ty: Type| Expr {
            kind: ExprKind::Intrinsic(intrinsic, arguments),
            ty,
            span,
        };
        let fail = |arguments: Vec<Expr>| opaque(Self::values(arguments), Type::Unknown, span);
        match (intrinsic, arguments.len()) {
            (I::AsUint, 1) => {
                let of = arguments.first().filter(|value| is_numeric(value));
                let ty = of.map_or(Type::Unknown, |value| value.ty.with_scalar(Scalar::Uint));
                make(arguments, ty)
            }
            (I::AsUint | I::SinCos, 3) | (I::Frexp | I::Modf, 2) => {
                self.with_results(intrinsic, arguments, span)
            }
            (I::Clip, 1) => make(arguments, Type::Void),
            (I::Refract, 3) => {
                let mut arguments = arguments;
                let ratio = arguments.split_off(2);
                match self.convert_to_common(arguments, true) {
                    Ok((mut arguments, ty)) => {
                        let scalar = Type::Scalar(ty.scalar().unwrap_or(Scalar::Float));
                        arguments.extend(ratio.into_iter().map(|ratio| self.convert(ratio, &scalar)));
                        make(arguments, ty)
                    }
                    Err(arguments) => fail(arguments.into_iter().chain(ratio).collect()),
                }
            }
            (I::WaveMatch, 1) => make(arguments, UINT4),
            (I::WaveMultiPrefixCountBits, 2) => {
                let types = [Type::BOOL, UINT4];
                let arguments = arguments
                    .into_iter()
                    .zip(&types)
                    .map(|(value, ty)| self.convert(value, ty))
                    .collect();
                make(arguments, Type::UINT)
            }
            (I::All | I::Any, 1) => {
                let arguments = arguments
                    .into_iter()
                    .map(|value| self.convert_scalar(value, Scalar::Bool))
                    .collect();
                make(arguments, Type::BOOL)
            }
            (I::Dot, 2) => match self.convert_to_common(arguments, false) {
                Ok((arguments, ty)) => {
                    let scalar = ty.scalar().unwrap_or(Scalar::Float);
                    make(arguments, Type::Scalar(scalar))
                }
                Err(arguments) => fail(arguments),
            },
            (I::FirstBitHigh | I::FirstBitLow, 1) => {
                let arguments: Vec<Expr> = arguments
                    .into_iter()
                    .map(|value| match value.ty.scalar() {
                        Some(Scalar::Int | Scalar::Uint) => value,
                        _ => self.convert_scalar(value, Scalar::Uint),
                    })
                    .collect();
                let ty = arguments
                    .first()
                    .map_or(Type::UINT, |value| value.ty.with_scalar(Scalar::Uint));
                make(arguments, ty)
            }
            (I::Transpose, 1) => match arguments.first().map(|value| value.ty.clone()) {
                Some(Type::Matrix(scalar, rows, columns)) => {
                    make(arguments, Type::Matrix(scalar, columns, rows))
                }
                _ => fail(arguments),
            },
            (I::Mul, 2) => self.multiply(arguments, span),
            (I::And | I::Or, 2) => {
                let arguments: Vec<Expr> = arguments
                    .into_iter()
                    .map(|value| self.convert_scalar(value, Scalar::Bool))
                    .collect();
                let ty = match arguments.as_slice() {
                    [a, b] => shape(&a.ty, &b.ty),
                    _ => None,
                };
                match ty {
                    Some(ty) => make(
                        arguments
                            .into_iter()
                            .map(|value| self.convert(value, &ty))
                            .collect(),
                        ty,
                    ),
                    None => fail(arguments),
                }
            }
            (I::Select, 3) => {
                let mut arguments = arguments.into_iter();
                let (Some(condition), Some(yes), Some(no)) =
                    (arguments.next(), arguments.next(), arguments.next())
                else {
                    return opaque(Vec::new(), Type::Unknown, span);
                };
                let condition = self.convert_scalar(condition, Scalar::Bool);
                let Some(common) = self.common_of(&yes, &no) else {
                    return fail(vec![condition, yes, no]);
                };
                let ty = match (common.scalar(), shape(&condition.ty, &common)) {
                    (Some(scalar), Some(shape)) if matches!(condition.ty, Type::Vector(..)) => {
                        shape.with_scalar(scalar)
                    }
                    _ => common,
                };
                let (yes, no) = (self.convert(yes, &ty), self.convert(no, &ty));
                make(vec![condition, yes, no], ty)
            }
            _ => fail(arguments),
        }
    }

    /// `mul`: a product of scalars, vectors and matrices in every combination.
    fn multiply(&mut self, arguments: Vec<Expr>, span: Span) -> Expr {
        let scalar = match arguments.as_slice() {
            [a, b] => self.common_of_scalars(a, b),
            _ => None,
        };
        let Some(scalar) = scalar else {
            return opaque(Self::values(arguments), Type::Unknown, span);
        };
        let arguments: Vec<Expr> = arguments
            .into_iter()
            .map(|value| self.convert_scalar(value, scalar))
            .collect();
        let ty = match arguments.as_slice() {
            [a, b] => match (&a.ty, &b.ty) {
                (Type::Scalar(_), other) | (other, Type::Scalar(_)) => Some(other.clone()),
                (Type::Vector(..), Type::Vector(..)) => Some(Type::Scalar(scalar)),
                (Type::Vector(..), Type::Matrix(_, _, columns)) => Some(Type::Vector(scalar, *columns)),
                (Type::Matrix(_, rows, _), Type::Vector(..)) => Some(Type::Vector(scalar, *rows)),
                (Type::Matrix(_, rows, _), Type::Matrix(_, _, columns)) => {
                    Some(Type::Matrix(scalar, *rows, *columns))
                }
                _ => None,
            },
            _ => None,
        };
        match ty {
            Some(ty) => Expr {
                kind: ExprKind::Intrinsic(Intrinsic::Mul, arguments),
                ty,
                span,
            },
            None => opaque(Self::values(arguments), Type::Unknown, span),
        }
    }

    fn common_of_scalars(&self, a: &Expr, b: &Expr) -> Option<Scalar> {
        let flat = |expr: &Expr| {
            let scalar = expr.ty.scalar()?;
            Some(Expr {
                kind: expr.kind.clone(),
                ty: Type::Scalar(scalar),
                span: expr.span,
            })
        };
        let scalar = self.common_of(&flat(a)?, &flat(b)?)?.scalar()?;
        Some(if scalar == Scalar::Bool {
            Scalar::Float
        } else {
            scalar
        })
    }
}
