//! Intrinsic functions of one lane, and barriers.

use naga::{Barrier, BinaryOperator, Expression, MathFunction, RelationalFunction, ScalarKind, Statement};
use shaderlint_hlsl::{BinaryOp, Expr, Intrinsic, Scalar, Span, Type};

use super::LowerError;
use super::body::{Body, Value};
use super::types::{simplify, width};

impl Body<'_, '_> {
    pub(super) fn intrinsic(
        &mut self,
        intrinsic: Intrinsic,
        arguments: &[Expr],
        ty: &Type,
        span: Span,
    ) -> Result<Option<Value>, LowerError> {
        if intrinsic.is_wave() {
            return self.wave(intrinsic, arguments, ty, span).map(Some);
        }
        if intrinsic.is_atomic() {
            self.interlocked(intrinsic, arguments, span)?;
            return Ok(None);
        }
        if let Some(barrier) = barrier(intrinsic) {
            let Some(barrier) = barrier else {
                return Err(LowerError::unsupported(
                    format_args!(
                        "`{}`: in WGSL every barrier also waits for all threads",
                        intrinsic.name()
                    ),
                    span,
                ));
            };
            self.push(Statement::ControlBarrier(barrier));
            return Ok(None);
        }
        if let (Intrinsic::SinCos, [angle, sine, cosine]) = (intrinsic, arguments) {
            let ty = simplify(&angle.ty);
            let angle = self.value_as(angle, &ty)?;
            for (function, result) in [(MathFunction::Sin, sine), (MathFunction::Cos, cosine)] {
                let value = self.emit_math(function, angle, &[]);
                self.store_result(result, value, &ty)?;
            }
            return Ok(None);
        }
        self.math(intrinsic, arguments, &simplify(ty), span).map(Some)
    }

    /// Stores a value of type `ty` in the place that an `out` argument names.
    fn store_result(&mut self, result: &Expr, value: Value, ty: &Type) -> Result<(), LowerError> {
        let place = self.place(result)?;
        let value = self.convert(value, ty, &place.ty, result.span)?;
        self.store(&place, value, result.span)
    }

    fn math(
        &mut self,
        intrinsic: Intrinsic,
        arguments: &[Expr],
        ty: &Type,
        span: Span,
    ) -> Result<Value, LowerError> {
        use Intrinsic as I;
        match (intrinsic, arguments) {
            (I::AsFloat, [a]) => self.reinterpret(a, ScalarKind::Float),
            (I::AsInt, [a]) => self.reinterpret(a, ScalarKind::Sint),
            (I::AsUint, [a]) => self.reinterpret(a, ScalarKind::Uint),
            (I::All | I::Any, [a]) => self.all_or_any(intrinsic, a),
            (I::IsNan | I::IsInf | I::IsFinite, [a]) => self.float_class(intrinsic, a),
            (I::Select, [condition, yes, no]) => {
                let test = self.value(condition)?;
                let (accept, reject) = (self.value_as(yes, ty)?, self.value_as(no, ty)?);
                Ok(self.add(Expression::Select {
                    condition: test,
                    accept,
                    reject,
                }))
            }
            (I::Sign, [a]) => {
                let value = self.value(a)?;
                if a.ty.scalar() == Some(Scalar::Uint) {
                    return Err(LowerError::unsupported("the sign of an unsigned number", span));
                }
                let sign = self.emit_math(MathFunction::Sign, value, &[]);
                self.convert(sign, &a.ty, ty, span)
            }
            (I::CountBits | I::FirstBitHigh | I::FirstBitLow | I::ReverseBits, [a]) => {
                self.bits(intrinsic, a, ty, span)
            }
            (I::F16ToF32 | I::F32ToF16, [a]) => self.half_bits(intrinsic, a, ty, span),
            (I::Mul | I::Transpose | I::Dot | I::Length | I::Distance | I::Refract, _) => {
                self.geometry(intrinsic, arguments, ty, span)
            }
            _ => match plain_function(intrinsic) {
                Some((function, count)) if arguments.len() == count && width(ty).is_some() => {
                    let mut values = Vec::new();
                    for argument in arguments {
                        values.push(self.value_as(argument, ty)?);
                    }
                    match values.as_slice() {
                        [first, more @ ..] => Ok(self.emit_math(function, *first, more)),
                        [] => Err(unsupported_form(intrinsic, span)),
                    }
                }
                Some(_) => Err(unsupported_form(intrinsic, span)),
                None => self.arithmetic(intrinsic, arguments, ty, span),
            },
        }
    }

    /// Functions that consist of a few operators.
    fn arithmetic(
        &mut self,
        intrinsic: Intrinsic,
        arguments: &[Expr],
        ty: &Type,
        span: Span,
    ) -> Result<Value, LowerError> {
        use Intrinsic as I;
        match (intrinsic, arguments) {
            (I::And | I::Or | I::Fmod, [a, b]) => {
                let op = match intrinsic {
                    I::And => BinaryOp::LogicalAnd,
                    I::Or => BinaryOp::LogicalOr,
                    _ => BinaryOp::Mod,
                };
                let (a, b) = (self.value_as(a, ty)?, self.value_as(b, ty)?);
                self.binary(op, a, b, ty, span)
            }
            (I::Mad, [a, b, c]) => {
                let (a, b) = (self.value_as(a, ty)?, self.value_as(b, ty)?);
                let c = self.value_as(c, ty)?;
                let product = self.binary(BinaryOp::Mul, a, b, ty, span)?;
                self.binary(BinaryOp::Add, product, c, ty, span)
            }
            (I::Rcp, [a]) => {
                let one = self.folded(ty, &[1f32.to_bits()], span)?;
                let a = self.value_as(a, ty)?;
                self.binary(BinaryOp::Div, one, a, ty, span)
            }
            (I::Log10, [a]) => {
                let a = self.value_as(a, ty)?;
                let log = self.emit_math(MathFunction::Log2, a, &[]);
                let scale = self.folded(ty, &[std::f32::consts::LOG10_2.to_bits()], span)?;
                self.binary(BinaryOp::Mul, log, scale, ty, span)
            }
            (I::Ldexp, [a, b]) => {
                let (a, b) = (self.value_as(a, ty)?, self.value_as(b, ty)?);
                let power = self.emit_math(MathFunction::Exp2, b, &[]);
                self.binary(BinaryOp::Mul, a, power, ty, span)
            }
            // As DXIL does it. WGSL's `mix` may be `a * (1 - t) + b * t`, which rounds otherwise.
            (I::Lerp, [a, b, t]) => {
                let (a, b) = (self.value_as(a, ty)?, self.value_as(b, ty)?);
                let t = self.value_as(t, ty)?;
                let whole = self.binary(BinaryOp::Sub, b, a, ty, span)?;
                let part = self.binary(BinaryOp::Mul, t, whole, ty, span)?;
                self.binary(BinaryOp::Add, a, part, ty, span)
            }
            (I::Modf, [a, whole]) => {
                let a = self.value_as(a, ty)?;
                let truncated = self.emit_math(MathFunction::Trunc, a, &[]);
                self.store_result(whole, truncated, ty)?;
                self.binary(BinaryOp::Sub, a, truncated, ty, span)
            }
            _ => Err(unsupported_form(intrinsic, span)),
        }
    }

    /// Functions of whole vectors and matrices.
    fn geometry(
        &mut self,
        intrinsic: Intrinsic,
        arguments: &[Expr],
        ty: &Type,
        span: Span,
    ) -> Result<Value, LowerError> {
        use Intrinsic as I;
        match (intrinsic, arguments) {
            (I::Mul, [a, b]) => self.multiply(a, b, ty, span),
            (I::Transpose | I::Length, [a]) => {
                let value = self.value(a)?;
                let function = if intrinsic == I::Transpose {
                    MathFunction::Transpose
                } else {
                    MathFunction::Length
                };
                Ok(self.emit_math(function, value, &[]))
            }
            // The tree has the operands in their common type: the wider of the two kinds.
            (I::Dot | I::Distance, [a, b]) => {
                let value = self.value(a)?;
                let other = self.value_as(b, &a.ty)?;
                if intrinsic == I::Distance {
                    return Ok(self.emit_math(MathFunction::Distance, value, &[other]));
                }
                if width(&simplify(&a.ty)) == Some(1) {
                    return self.binary(BinaryOp::Mul, value, other, &a.ty, span);
                }
                Ok(self.emit_math(MathFunction::Dot, value, &[other]))
            }
            (I::Refract, [a, b, ratio]) => {
                let (a, b) = (self.value_as(a, ty)?, self.value_as(b, ty)?);
                let ratio = self.value(ratio)?;
                Ok(self.emit_math(MathFunction::Refract, a, &[b, ratio]))
            }
            _ => Err(unsupported_form(intrinsic, span)),
        }
    }

    fn reinterpret(&mut self, operand: &Expr, kind: ScalarKind) -> Result<Value, LowerError> {
        let value = self.value(operand)?;
        match operand.ty.scalar() {
            Some(Scalar::Float | Scalar::Half) if kind == ScalarKind::Float => Ok(value),
            Some(Scalar::Int) if kind == ScalarKind::Sint => Ok(value),
            Some(Scalar::Uint) if kind == ScalarKind::Uint => Ok(value),
            Some(Scalar::Float | Scalar::Half | Scalar::Int | Scalar::Uint)
                if width(&simplify(&operand.ty)).is_some() =>
            {
                match kind {
                    ScalarKind::Float => self.float_of_bits(value, &operand.ty, operand.span),
                    _ => Ok(self.bit_cast(value, kind)),
                }
            }
            _ => Err(LowerError::unsupported("a bit cast of this type", operand.span)),
        }
    }

    fn all_or_any(&mut self, intrinsic: Intrinsic, operand: &Expr) -> Result<Value, LowerError> {
        let ty = simplify(&operand.ty);
        let argument = self.value_as(operand, &ty.with_scalar(Scalar::Bool))?;
        match width(&ty) {
            Some(1) => Ok(argument),
            Some(_) => Ok(self.add(Expression::Relational {
                fun: if intrinsic == Intrinsic::All {
                    RelationalFunction::All
                } else {
                    RelationalFunction::Any
                },
                argument,
            })),
            None => Err(LowerError::unsupported(
                "`all` or `any` of this type",
                operand.span,
            )),
        }
    }

    fn float_class(&mut self, intrinsic: Intrinsic, operand: &Expr) -> Result<Value, LowerError> {
        let ty = simplify(&operand.ty);
        let value = self.value_as(operand, &ty.with_scalar(Scalar::Float))?;
        let size = match ty {
            Type::Vector(_, size) => size,
            _ => 1,
        };
        self.classify(value, size, intrinsic, operand.span)
    }

    /// `isnan`, `isinf` and `isfinite` of a vector of this size, by its bit pattern: WGSL lacks them, and may assume that no
    /// float is NaN or infinite.
    pub(super) fn classify(
        &mut self,
        value: Value,
        size: u8,
        intrinsic: Intrinsic,
        span: Span,
    ) -> Result<Value, LowerError> {
        let pattern = self.bit_cast(value, ScalarKind::Uint);
        let mut bits = |word: u32| {
            let word = self.literal(Scalar::Uint, word, span)?;
            self.splat(word, size, span)
        };
        let (mask, infinity) = (bits(0x7fff_ffff)?, bits(0x7f80_0000)?);
        let magnitude = self.emit_binary(BinaryOperator::And, pattern, mask);
        let op = match intrinsic {
            Intrinsic::IsNan => BinaryOperator::Greater,
            Intrinsic::IsFinite => BinaryOperator::Less,
            _ => BinaryOperator::Equal,
        };
        Ok(self.emit_binary(op, magnitude, infinity))
    }

    fn bits(
        &mut self,
        intrinsic: Intrinsic,
        operand: &Expr,
        ty: &Type,
        span: Span,
    ) -> Result<Value, LowerError> {
        let value = self.value(operand)?;
        if !matches!(operand.ty.scalar(), Some(Scalar::Int | Scalar::Uint)) {
            return Err(LowerError::unsupported(
                "a bit function of something that is not an integer",
                span,
            ));
        }
        let function = match intrinsic {
            Intrinsic::CountBits => MathFunction::CountOneBits,
            Intrinsic::FirstBitHigh => MathFunction::FirstLeadingBit,
            Intrinsic::FirstBitLow => MathFunction::FirstTrailingBit,
            _ => MathFunction::ReverseBits,
        };
        let result = self.emit_math(function, value, &[]);
        self.convert(result, &operand.ty, ty, span)
    }

    fn half_bits(
        &mut self,
        intrinsic: Intrinsic,
        operand: &Expr,
        ty: &Type,
        span: Span,
    ) -> Result<Value, LowerError> {
        let to_half = intrinsic == Intrinsic::F32ToF16;
        let from = simplify(&operand.ty).with_scalar(if to_half { Scalar::Float } else { Scalar::Uint });
        let value = self.value_as(operand, &from)?;
        let (mut parts, mut results) = (Vec::new(), Vec::new());
        self.take_apart(value, &from, &mut parts, span)?;
        for (part, _) in parts {
            let result = if to_half {
                let zero = self.literal(Scalar::Float, 0, span)?;
                let pair = self.module.vector_type(Scalar::Float, 2, span)?;
                let pair = self.add(Expression::Compose {
                    ty: pair,
                    components: vec![part, zero],
                });
                (
                    self.emit_math(MathFunction::Pack2x16float, pair, &[]),
                    Scalar::Uint,
                )
            } else {
                let pair = self.emit_math(MathFunction::Unpack2x16float, part, &[]);
                (
                    self.add(Expression::AccessIndex { base: pair, index: 0 }),
                    Scalar::Float,
                )
            };
            results.push(result);
        }
        self.put_together(ty, &mut results.into_iter(), span)
    }

    /// `mul`. HLSL's rows are naga's columns, so the operands of a product swap.
    fn multiply(&mut self, a: &Expr, b: &Expr, ty: &Type, span: Span) -> Result<Value, LowerError> {
        let (a_ty, b_ty) = (simplify(&a.ty), simplify(&b.ty));
        let (left, right) = (self.value(a)?, self.value(b)?);
        match (&a_ty, &b_ty) {
            (Type::Matrix(..), Type::Matrix(..) | Type::Vector(..))
            | (Type::Vector(..), Type::Matrix(..)) => {
                Ok(self.emit_binary(BinaryOperator::Multiply, right, left))
            }
            (Type::Vector(..), Type::Vector(..)) => Ok(self.emit_math(MathFunction::Dot, left, &[right])),
            (Type::Scalar(_), _) | (_, Type::Scalar(_)) => {
                let left = self.convert(left, &a_ty, ty, span)?;
                let right = self.convert(right, &b_ty, ty, span)?;
                self.binary(BinaryOp::Mul, left, right, ty, span)
            }
            _ => Err(LowerError::unsupported("`mul` of these types", span)),
        }
    }
}

/// naga's function for an intrinsic whose arguments all have the result's type, and the number of arguments.
fn plain_function(intrinsic: Intrinsic) -> Option<(MathFunction, usize)> {
    use Intrinsic as I;
    use MathFunction as M;
    Some(match intrinsic {
        I::Abs => (M::Abs, 1),
        I::Acos => (M::Acos, 1),
        I::Asin => (M::Asin, 1),
        I::Atan => (M::Atan, 1),
        I::Atan2 => (M::Atan2, 2),
        I::Ceil => (M::Ceil, 1),
        I::Clamp => (M::Clamp, 3),
        I::Cos => (M::Cos, 1),
        I::Cosh => (M::Cosh, 1),
        I::Cross => (M::Cross, 2),
        I::Degrees => (M::Degrees, 1),
        I::Exp => (M::Exp, 1),
        I::Exp2 => (M::Exp2, 1),
        I::FaceForward => (M::FaceForward, 3),
        I::Floor => (M::Floor, 1),
        I::Frac => (M::Fract, 1),
        I::Log => (M::Log, 1),
        I::Log2 => (M::Log2, 1),
        I::Max => (M::Max, 2),
        I::Min => (M::Min, 2),
        I::Normalize => (M::Normalize, 1),
        I::Pow => (M::Pow, 2),
        I::Radians => (M::Radians, 1),
        I::Reflect => (M::Reflect, 2),
        I::Round => (M::Round, 1),
        I::Rsqrt => (M::InverseSqrt, 1),
        I::Saturate => (M::Saturate, 1),
        I::Sin => (M::Sin, 1),
        I::Sinh => (M::Sinh, 1),
        I::Smoothstep => (M::SmoothStep, 3),
        I::Sqrt => (M::Sqrt, 1),
        I::Step => (M::Step, 2),
        I::Tan => (M::Tan, 1),
        I::Tanh => (M::Tanh, 1),
        I::Trunc => (M::Trunc, 1),
        _ => return None,
    })
}

fn unsupported_form(intrinsic: Intrinsic, span: Span) -> LowerError {
    let what = format_args!("the intrinsic `{}` in this form", intrinsic.name());
    LowerError::unsupported(what, span)
}

/// naga's form of a barrier; `Some(None)` for a barrier that only orders memory.
#[expect(
    clippy::option_option,
    reason = "not a barrier, a barrier without a form, a barrier"
)]
fn barrier(intrinsic: Intrinsic) -> Option<Option<Barrier>> {
    match intrinsic {
        Intrinsic::GroupMemoryBarrierWithGroupSync => Some(Some(Barrier::WORK_GROUP)),
        Intrinsic::AllMemoryBarrierWithGroupSync | Intrinsic::DeviceMemoryBarrierWithGroupSync => {
            Some(Some(Barrier::WORK_GROUP | Barrier::STORAGE))
        }
        Intrinsic::GroupMemoryBarrier | Intrinsic::AllMemoryBarrier | Intrinsic::DeviceMemoryBarrier => {
            Some(None)
        }
        _ => None,
    }
}
