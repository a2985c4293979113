//! How a kernel uses its textures.
//!
//! A texture that the kernel reads and writes texel by texel becomes a buffer (`texture.rs`). If the kernel may load other
//! levels as well, a hash of the place replaces each texel (`hashed.rs`), as it replaces samples: a kernel may read the same
//! texels in either way.

use shaderlint_hlsl::{Expr, ExprKind, Method, ResourceKind, Shader, Type};

use super::constant;
use super::types::simplify;

/// A use of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextureUse {
    /// An array of so many dimensions.
    Array(u8),
    Other,
}

impl TextureUse {
    /// The use of a texture that is used in both ways.
    pub(super) fn and(self, other: TextureUse) -> TextureUse {
        if self == other { self } else { TextureUse::Other }
    }
}

pub(super) fn is_texture(ty: &Type) -> bool {
    matches!(ty, Type::Resource(kind, _) if kind.is_texture())
}

/// Whether this is a texture that kernels can only read.
pub(super) fn is_read_texture(ty: &Type) -> bool {
    matches!(ty, Type::Resource(ResourceKind::Texture, _))
}

/// The texture that an expression uses, and how; `None` where it uses none, or reads between texels.
pub(super) fn use_of<'a>(shader: &Shader, expr: &'a Expr) -> Option<(&'a Expr, TextureUse)> {
    let (texture, used) = match &expr.kind {
        ExprKind::Index(base, index) => (base, dimensions_of(&index.ty)),
        ExprKind::Method {
            object,
            method,
            arguments,
        } => {
            let used = match (method, arguments.as_slice()) {
                (Method::Load { .. }, [at]) if is_read_texture(&object.ty) => {
                    let is_first = is_first_level(shader, at);
                    dimensions_of(&at.ty).and_then(|n| is_first.then_some(n.checked_sub(1)?))
                }
                (Method::Load { .. }, [at]) => dimensions_of(&at.ty),
                (Method::GetDimensions, outs) => u8::try_from(outs.len()).ok(),
                // It reads between texels.
                (Method::Sample { .. } | Method::Gather { .. }, _) => return None,
                _ => None,
            };
            (object, used)
        }
        _ => return None,
    };
    let used = used.filter(|n| (1..=3).contains(n));
    is_texture(&texture.ty).then_some((texture, used.map_or(TextureUse::Other, TextureUse::Array)))
}

/// The number of coordinates that an index of this type has.
pub(super) fn dimensions_of(ty: &Type) -> Option<u8> {
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
