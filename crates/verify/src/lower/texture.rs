//! Textures as buffers of texels.
//!
//! A storage texture of WGSL has a format, and only three formats can be both read and written. HLSL gives a texel's type and
//! leaves the format to the host. So a texture that a kernel uses as an array, by subscripts and by loads of its first level,
//! becomes a buffer, row after row. A uniform of its own holds its size ([`super::UniformMember::is_size`]). Outside, reads
//! give 0 and writes do nothing, as in D3D (D3D11.3 functional spec, 7.13 and 7.14). `texture_use.rs` decides which textures
//! become buffers.

use naga::{BinaryOperator, Expression};
use shaderlint_hlsl::{Expr, Scalar, Span, Type};

use super::LowerError;
use super::body::{Body, Place, Value};
use super::module::Buffer;
use super::texture_use::dimensions_of;

impl Body<'_, '_> {
    /// The texel of `texture` at the first coordinates of `at`.
    pub(super) fn texel(
        &mut self,
        texture: &Expr,
        buffer: &Buffer,
        at: &Expr,
        span: Span,
    ) -> Result<Place, LowerError> {
        let Some(dimensions) = buffer.dimensions else {
            return Err(LowerError::unsupported("this resource", texture.span));
        };
        let coordinates = self.value(at)?;
        let count = dimensions_of(&at.ty).unwrap_or(1);
        let size = self.texture_size(texture, span)?;
        let (mut index, mut inside): (Option<Value>, Option<Value>) = (None, None);
        // The buffer holds row after row, slice after slice.
        for axis in (0..u32::from(dimensions)).rev() {
            let coordinate = if count == 1 {
                coordinates
            } else {
                self.add(Expression::AccessIndex {
                    base: coordinates,
                    index: axis,
                })
            };
            // A negative coordinate becomes one far beyond the end.
            let scalar = at.ty.scalar().unwrap_or(Scalar::Uint);
            let coordinate = self.convert_component(coordinate, scalar, Scalar::Uint, span)?;
            let extent = self.add(Expression::AccessIndex {
                base: size,
                index: axis,
            });
            let is_within = self.emit_binary(BinaryOperator::Less, coordinate, extent);
            inside = Some(match inside {
                Some(others) => self.emit_binary(BinaryOperator::LogicalAnd, others, is_within),
                None => is_within,
            });
            index = Some(match index {
                Some(outer) => {
                    let before = self.emit_binary(BinaryOperator::Multiply, outer, extent);
                    self.emit_binary(BinaryOperator::Add, before, coordinate)
                }
                None => coordinate,
            });
        }
        let index = index.ok_or_else(|| LowerError::unsupported("a texture without a place", span))?;
        let mut place = self.element(texture, buffer, index)?;
        place.inside = inside;
        Ok(place)
    }

    /// The width, height and depth of a texture.
    pub(super) fn texture_size(&mut self, texture: &Expr, span: Span) -> Result<Value, LowerError> {
        let global = self.instance.global_of(self.source, texture);
        let member = global.and_then(|global| self.module.sizes.get(&global)).copied();
        let (Some(member), Some(uniforms)) = (member, self.module.uniforms) else {
            return Err(LowerError::unsupported("a texture of unknown size", span));
        };
        let base = self.add(Expression::GlobalVariable(uniforms));
        let pointer = self.add(Expression::AccessIndex { base, index: member });
        Ok(self.add(Expression::Load { pointer }))
    }

    /// `GetDimensions` of the first level.
    pub(super) fn texture_dimensions(
        &mut self,
        texture: &Expr,
        outs: &[Expr],
        span: Span,
    ) -> Result<(), LowerError> {
        let size = self.texture_size(texture, span)?;
        for (index, out) in (0u32..).zip(outs) {
            let extent = self.add(Expression::AccessIndex { base: size, index });
            self.store_out(out, extent, &Type::UINT, span)?;
        }
        Ok(())
    }
}
