//! Expressions without a WGSL form, as hashes of their arguments.
//!
//! Samples of textures, calls of functions without a body and code that could not be understood have values that are some
//! function of their arguments, the same in both kernels of a comparison. Any function serves that tells arguments apart.
//! The kernels' outputs are then not the true ones: [`super::Lowered::replaced`] names each replacement. An expression that
//! might write somewhere is not replaced.

use naga::BinaryOperator;
use shaderlint_hlsl::{Expr, ResourceKind, Scalar, Span, Type};

use super::LowerError;
use super::body::{Body, Value};
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
                    let global = self.named_global(argument);
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
                // From 1 to 2, so that the hash makes nothing overflow.
                let (shift, one) = (self.uint(9), self.uint(0x3f80_0000));
                let fraction = self.emit_binary(BinaryOperator::ShiftRight, word, shift);
                let bits = self.emit_binary(BinaryOperator::InclusiveOr, fraction, one);
                parts.push((self.bit_cast(bits, naga::ScalarKind::Float), Scalar::Float));
            } else {
                let shift = self.uint(16);
                let bits = self.emit_binary(BinaryOperator::ShiftRight, word, shift);
                parts.push((bits, Scalar::Uint));
            }
        }
        self.module.replaced.insert(name.to_owned());
        self.put_together(&simplify(ty), &mut parts.into_iter(), span)
    }

    /// One step of a hash: `h = (h ^ word) * odd; h ^= h >> 15`.
    fn mixed(&mut self, hash: Value, word: Value) -> Value {
        let (odd, shift) = (self.uint(0x9E37_79B1), self.uint(15));
        let with = self.emit_binary(BinaryOperator::ExclusiveOr, hash, word);
        let product = self.emit_binary(BinaryOperator::Multiply, with, odd);
        let high = self.emit_binary(BinaryOperator::ShiftRight, product, shift);
        self.emit_binary(BinaryOperator::ExclusiveOr, product, high)
    }
}
