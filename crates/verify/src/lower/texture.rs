//! Textures that are read and written texel by texel, as buffers.
//!
//! A storage texture of WGSL can be read and written in three formats only, and has a format at all; HLSL says what type a
//! texel has, and leaves the format to the host. So a texture that a kernel uses as the array it is, by subscripts and by
//! loads of its first level, is a buffer, row after row. How large it is the host says in a uniform of its own
//! ([`super::UniformMember::is_size`]). What lies outside is read as 0 and not written, as D3D has it (D3D11.3 functional
//! spec, 7.13 and 7.14). A texture of which a kernel may load other levels too is not a buffer but a hash of the place
//! (`hashed.rs`), as are samples: what is read in one way may be read in the other.

use naga::{BinaryOperator, Expression};
use shaderlint_hlsl::{Expr, ExprKind, Global, GlobalId, ResourceKind, Scalar, Shader, Span, Type};

use super::LowerError;
use super::binding::{Buffer, Uniform};
use super::constant;
use super::function::{Body, Value};
use super::place::Place;
use super::types::simplify;

/// How a kernel uses a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextureUse {
    /// As an array of so many dimensions.
    Array(u8),
    Other,
}

impl TextureUse {
    /// Both uses of one texture together.
    pub(super) fn and(self, other: TextureUse) -> TextureUse {
        if self == other { self } else { TextureUse::Other }
    }
}

pub(super) fn is_texture(ty: &Type) -> bool {
    matches!(ty, Type::Resource(kind, _) if kind.is_texture())
}

/// A texture that is only read.
pub(super) fn is_read_texture(ty: &Type) -> bool {
    matches!(ty, Type::Resource(ResourceKind::Texture, _))
}

/// What an expression makes of the texture that it names; `None` where it names none, or reads no texel of it.
pub(super) fn use_of<'a>(shader: &Shader, expr: &'a Expr) -> Option<(&'a Expr, TextureUse)> {
    let (texture, used) = match &expr.kind {
        ExprKind::Index(base, index) => (base, dimensions_of(&index.ty)),
        ExprKind::Method {
            object,
            name,
            arguments,
        } => {
            let used = match (name.as_str(), arguments.as_slice()) {
                ("Load", [at]) if is_read_texture(&object.ty) => {
                    let is_first = is_first_level(shader, at);
                    dimensions_of(&at.ty).and_then(|n| is_first.then_some(n.checked_sub(1)?))
                }
                ("Load", [at]) => dimensions_of(&at.ty),
                ("GetDimensions", outs) => u8::try_from(outs.len()).ok(),
                // Between texels.
                (name, _) if name.starts_with("Sample") || name.starts_with("Gather") => return None,
                _ => None,
            };
            (object, used)
        }
        _ => return None,
    };
    let used = used.filter(|n| (1..=3).contains(n));
    is_texture(&texture.ty).then_some((texture, used.map_or(TextureUse::Other, TextureUse::Array)))
}

fn dimensions_of(ty: &Type) -> Option<u8> {
    match simplify(ty) {
        Type::Scalar(_) => Some(1),
        Type::Vector(_, n) => Some(n),
        _ => None,
    }
}

/// Whether the last component of a place is a constant 0.
fn is_first_level(shader: &Shader, at: &Expr) -> bool {
    if let Some(all) = constant::fold(shader, at) {
        return all.last() == Some(&0);
    }
    let within = at.uncast();
    let ExprKind::Construct(parts) = &within.kind else {
        return false;
    };
    let level = parts.last().and_then(|part| constant::fold(shader, part));
    shader.components(&within.ty) == shader.components(&at.ty)
        && level.is_some_and(|level| level.last() == Some(&0))
}

/// The uniform that says how large a texture is.
pub(super) fn size(id: GlobalId, global: &Global) -> Uniform {
    Uniform {
        id,
        name: format!("{}.size", global.name),
        ty: Type::Vector(Scalar::Uint, 3),
        span: global.name_span,
        is_size: true,
    }
}

/// Texels of a fixed-point type are other numbers than those that are written.
pub(super) fn check_texels(shader: &Shader, global: &Global) -> Result<(), LowerError> {
    let text = String::from_utf8_lossy(global.span.slice(&shader.text)).into_owned();
    let mut words = text.split(|letter: char| !letter.is_alphanumeric());
    match words.find(|word| matches!(*word, "unorm" | "snorm")) {
        Some(word) => Err(LowerError::unsupported(
            format_args!("`{}`: `{word}` texels have no WGSL type", global.name),
            global.name_span,
        )),
        None => Ok(()),
    }
}

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
        // Row after row, slice after slice.
        for axis in (0..u32::from(dimensions)).rev() {
            let coordinate = if count == 1 {
                coordinates
            } else {
                self.add(Expression::AccessIndex {
                    base: coordinates,
                    index: axis,
                })
            };
            // What is below 0 is far beyond the end.
            let scalar = at.ty.scalar().unwrap_or(Scalar::Uint);
            let coordinate = self.convert_component(coordinate, scalar, Scalar::Uint, span)?;
            let extent = self.add(Expression::AccessIndex {
                base: size,
                index: axis,
            });
            let is_within = self.both(BinaryOperator::Less, coordinate, extent);
            inside = Some(match inside {
                Some(others) => self.both(BinaryOperator::LogicalAnd, others, is_within),
                None => is_within,
            });
            index = Some(match index {
                Some(outer) => {
                    let before = self.both(BinaryOperator::Multiply, outer, extent);
                    self.both(BinaryOperator::Add, before, coordinate)
                }
                None => coordinate,
            });
        }
        let index = index.ok_or_else(|| LowerError::unsupported("a texture without a place", span))?;
        let mut place = self.element(texture, buffer, index)?;
        place.inside = inside;
        Ok(place)
    }

    fn both(&mut self, op: BinaryOperator, left: Value, right: Value) -> Value {
        self.add(Expression::Binary { op, left, right })
    }

    /// Its width, height and depth.
    pub(super) fn texture_size(&mut self, texture: &Expr, span: Span) -> Result<Value, LowerError> {
        let global = self.instance.global_of(self.source, texture);
        let member = global.and_then(|global| self.unit.sizes.get(&global)).copied();
        let (Some(member), Some(uniforms)) = (member, self.unit.uniforms) else {
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
            let target = self.target(out)?;
            let value = self.convert(extent, &Type::UINT, &out.ty, span)?;
            self.store_target(&target, value, span)?;
        }
        Ok(())
    }
}
