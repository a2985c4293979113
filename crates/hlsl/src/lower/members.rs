//! Fields, swizzles and indices.

use tree_sitter::Node;

use super::Lowering;
use super::conversions::{as_value, opaque, to_index};
use super::parts::{Part, part};
use crate::span::Span;
use crate::tree::{Expr, ExprKind, FunctionId};
use crate::types::{ResourceKind, Scalar, StructId, Type};

impl Lowering<'_> {
    pub(super) fn member(&mut self, node: Node, span: Span) -> Expr {
        let object = self.part_expression(node, Part::Argument);
        let Some(field) = part(node, Part::Field) else {
            return opaque(vec![object], Type::Unknown, span);
        };
        let name = self.node_source(field);
        self.member_of(object, name, span)
    }

    /// `object.name`, a field or a swizzle.
    pub(super) fn member_of(&mut self, object: Expr, name: &[u8], span: Span) -> Expr {
        let holder = Self::constant_buffer_element(&object.ty).unwrap_or(&object.ty);
        if let Type::Struct(id) = *holder {
            return match self.field_of(&object, id, name, span) {
                Some(field) => field,
                None => opaque(vec![object], Type::Unknown, span),
            };
        }
        match swizzle(&object.ty, name) {
            Some((components, ty)) => Expr {
                kind: ExprKind::Swizzle(Box::new(object), components),
                ty,
                span,
            },
            // Of a texture: the numbers of its elements.
            None if name == b"Length" && matches!(object.ty, Type::Resource(..)) => {
                opaque(vec![as_value(object)], Type::Vector(Scalar::Uint, 3), span)
            }
            None => opaque(vec![object], Type::Unknown, span),
        }
    }

    /// The field `name` of an object whose type, or that of its elements, is a struct; its own or that of a base.
    pub(super) fn field_of(&self, object: &Expr, id: StructId, name: &[u8], span: Span) -> Option<Expr> {
        let fields = &self.shader.structs.get(id.0 as usize)?.fields;
        if let Some(index) = fields.iter().position(|field| field.name.as_bytes() == name) {
            return self.field_at(object, id, u32::try_from(index).ok()?, span);
        }
        self.bases_of(object, id)
            .find_map(|(base, id)| self.field_of(&base, id, name, span))
    }

    fn field_at(&self, object: &Expr, id: StructId, index: u32, span: Span) -> Option<Expr> {
        let field = self
            .shader
            .structs
            .get(id.0 as usize)?
            .fields
            .get(index as usize)?;
        Some(Expr {
            kind: ExprKind::Field(Box::new(object.clone()), index),
            ty: field.ty.clone(),
            span,
        })
    }

    /// An object seen as each of its bases that have methods.
    fn bases_of<'s>(&'s self, object: &'s Expr, id: StructId) -> impl Iterator<Item = (Expr, StructId)> + 's {
        let bases = self.bases.get(&id).map_or(&[][..], Vec::as_slice);
        bases.iter().filter_map(move |&index| {
            let base = self.field_at(object, id, index, object.span)?;
            match base.ty {
                Type::Struct(id) => Some((base, id)),
                _ => None,
            }
        })
    }

    /// The methods of a name that an object has, and the object as they see it: their own struct's, or a base.
    pub(super) fn methods_of(
        &self,
        object: &Expr,
        id: StructId,
        name: &[u8],
    ) -> Option<(Expr, Vec<FunctionId>)> {
        if let Some(found) = self.methods.get(&(id, name)) {
            return Some((object.clone(), found.clone()));
        }
        self.bases_of(object, id)
            .find_map(|(base, id)| self.methods_of(&base, id, name))
    }

    /// An object seen as the struct `wanted`, which it is or has for a base.
    pub(super) fn as_base(&self, object: &Expr, id: StructId, wanted: StructId) -> Option<Expr> {
        if id == wanted {
            return Some(object.clone());
        }
        self.bases_of(object, id)
            .find_map(|(base, id)| self.as_base(&base, id, wanted))
    }

    pub(super) fn subscript(&mut self, node: Node, span: Span) -> Expr {
        let object = self.part_expression(node, Part::Argument);
        let index = part(node, Part::Indices).or_else(|| part(node, Part::Index));
        let index = index.and_then(|list| {
            if list.kind() == "subscript_argument_list" {
                if list.named_child_count() == 1 {
                    list.named_child(0)
                } else {
                    None
                }
            } else {
                Some(list)
            }
        });
        let Some(index) = index else {
            return opaque(vec![object], Type::Unknown, span);
        };
        let index = self.expression(index);
        let index = to_index(index);
        let ty = match &object.ty {
            Type::Vector(scalar, _) => Type::Scalar(*scalar),
            Type::Matrix(scalar, _, columns) => Type::Vector(*scalar, *columns),
            Type::Array(element, _)
            | Type::Resource(
                ResourceKind::StructuredBuffer
                | ResourceKind::RwStructuredBuffer
                | ResourceKind::Buffer
                | ResourceKind::RwBuffer
                | ResourceKind::Texture
                | ResourceKind::RwTexture,
                Some(element),
            ) => (**element).clone(),
            _ => return opaque(vec![object, as_value(index)], Type::Unknown, span),
        };
        Expr {
            kind: ExprKind::Index(Box::new(object), Box::new(index)),
            ty,
            span,
        }
    }
}

/// The components a member name selects, and the type of the selection.
fn swizzle(ty: &Type, name: &[u8]) -> Option<(Vec<u8>, Type)> {
    let scalar = ty.scalar()?;
    let components: Vec<u8> = if let Type::Matrix(_, rows, columns) = ty {
        let zero_based = name.starts_with(b"_m");
        let size = if zero_based { 4 } else { 3 };
        if name.is_empty() || !name.len().is_multiple_of(size) {
            return None;
        }
        name.chunks(size)
            .map(|part| {
                let digits = part.strip_prefix(if zero_based { &b"_m"[..] } else { b"_" })?;
                let [row, column] = digits else { return None };
                let base = if zero_based { b'0' } else { b'1' };
                let (row, column) = (row.checked_sub(base)?, column.checked_sub(base)?);
                (row < *rows && column < *columns).then(|| row * columns + column)
            })
            .collect::<Option<_>>()?
    } else {
        let width = if let Type::Vector(_, n) = ty { *n } else { 1 };
        let position = |set: &[u8; 4], byte: &u8| {
            let index = set.iter().position(|member| member == byte)?;
            u8::try_from(index).ok().filter(|index| *index < width)
        };
        let of = |set: &[u8; 4]| {
            name.iter()
                .map(|byte| position(set, byte))
                .collect::<Option<Vec<u8>>>()
        };
        of(b"xyzw").or_else(|| of(b"rgba"))?
    };
    let ty = match components.len() {
        1 => Type::Scalar(scalar),
        n @ 2..=4 => Type::Vector(scalar, u8::try_from(n).ok()?),
        _ => return None,
    };
    Some((components, ty))
}
