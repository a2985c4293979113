//! What has no WGSL form, as a hash of its arguments.
//!
//! A sample of a texture, a call of a function whose body is nowhere, code that could not be understood: its value is some
//! function of what it is given, the same in both kernels of a comparison. Any function will do, as long as it tells
//! arguments apart; what kernels leave is then not what they would leave with the true one, and [`super::Lowered`] says
//! which were replaced. What might write somewhere is not replaced.

use naga::{BinaryOperator, Expression};
use shaderlint_hlsl::{Expr, ResourceKind, Scalar, Span, Type};

use super::LowerError;
use super::function::{Body, Value};
use super::types::simplify;

impl Body<'_, '_> {
    /// A value of type `ty` that depends on `name` and on the arguments.
    pub(super) fn hashed(
        &mut self,
        name: &str,
        arguments: &[&Expr],
        ty: &Type,
        span: Span,
    ) -> Result<Value, LowerError> {
        // FNV-1a.
        let seed = |name: &str| {
            name.bytes().fold(0x811c_9dc5u32, |hash, byte| {
                (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
            })
        };
        let mut hash = self.uint(seed(name));
        for argument in arguments {
            match &argument.ty {
                Type::Resource(
                    ResourceKind::Texture | ResourceKind::Sampler | ResourceKind::AccelerationStructure,
                    _,
                ) => {
                    let global = self.instance.global_of(self.source, argument);
                    let global = global.and_then(|id| self.unit.shader.globals.get(id.0 as usize));
                    let word = self.uint(global.map_or(0, |global| seed(&global.name)));
                    hash = self.mixed(hash, word);
                }
                Type::Resource(..) | Type::Unknown => {
                    return Err(LowerError::unsupported(
                        format_args!("`{name}`, which may write to an argument"),
                        span,
                    ));
                }
                ty => {
                    let value = self.value(argument)?;
                    let mut parts = Vec::new();
                    self.take_apart(value, ty, &mut parts, argument.span)?;
                    for (part, scalar) in parts {
                        let word = match scalar {
                            Scalar::Uint => part,
                            Scalar::Bool => self.convert_component(part, scalar, Scalar::Uint, span)?,
                            _ => self.bit_cast(part, naga::ScalarKind::Uint),
                        };
                        hash = self.mixed(hash, word);
                    }
                }
            }
        }
        let mut scalars = Vec::new();
        self.scalars_of(ty, &mut scalars, span)?;
        let mut parts = Vec::new();
        for (at, scalar) in (1u32..).zip(scalars) {
            let at = self.uint(at);
            let word = self.mixed(hash, at);
            if scalar == Scalar::Float {
                // From 1 to 2, so that nothing overflows that would not.
                let (shift, one) = (self.uint(9), self.uint(0x3f80_0000));
                let fraction = self.word_operation(BinaryOperator::ShiftRight, word, shift);
                let bits = self.word_operation(BinaryOperator::InclusiveOr, fraction, one);
                parts.push((self.bit_cast(bits, naga::ScalarKind::Float), Scalar::Float));
            } else {
                let shift = self.uint(16);
                let bits = self.word_operation(BinaryOperator::ShiftRight, word, shift);
                parts.push((bits, Scalar::Uint));
            }
        }
        self.unit.replaced.insert(name.to_owned());
        self.put_together(&simplify(ty), &mut parts.into_iter(), span)
    }

    fn word_operation(&mut self, op: BinaryOperator, left: Value, right: Value) -> Value {
        self.add(Expression::Binary { op, left, right })
    }

    /// One step of a hash: `h = (h ^ word) * odd; h ^= h >> 15`.
    fn mixed(&mut self, hash: Value, word: Value) -> Value {
        let (odd, shift) = (self.uint(0x9E37_79B1), self.uint(15));
        let with = self.word_operation(BinaryOperator::ExclusiveOr, hash, word);
        let product = self.word_operation(BinaryOperator::Multiply, with, odd);
        let high = self.word_operation(BinaryOperator::ShiftRight, product, shift);
        self.word_operation(BinaryOperator::ExclusiveOr, product, high)
    }
}
