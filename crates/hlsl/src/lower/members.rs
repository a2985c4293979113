//! Fields, swizzles and indices.

use tree_sitter::Node;

use super::Lowering;
use super::operands::{as_value, is_place, opaque};
use super::parts::{Part, part};
use super::relations::distance;
use crate::method::Method;
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
                None => opaque(vec![holder_of(object)], Type::Unknown, span),
            };
        }
        match swizzle(&object.ty, name) {
            Some((components, ty)) => Expr {
                kind: ExprKind::Swizzle(Box::new(object), components),
                ty,
                span,
            },
            // The indices of the elements of a texture.
            None if name == b"Length" && matches!(object.ty, Type::Resource(..)) => {
                self.told.insert(span);
                opaque(vec![as_value(object)], Type::Vector(Scalar::Uint, 3), span)
            }
            None => opaque(vec![holder_of(object)], Type::Unknown, span),
        }
    }

    /// The field `name` of an object or of one of its bases. The type of the object, or of its elements, is a struct.
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

    /// An object as each of its bases.
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

    /// The methods of this name that an object has, and the object that they take: the object itself, or one of its
    /// bases. The list is empty if the name may mean a template.
    pub(super) fn methods_of(
        &self,
        object: &Expr,
        id: StructId,
        name: &[u8],
    ) -> Option<(Expr, Vec<FunctionId>)> {
        if self.lexed.member_templates.contains(name) {
            return Some((object.clone(), Vec::new()));
        }
        if let Some(found) = self.methods.get(&(id, name)) {
            return Some((object.clone(), found.clone()));
        }
        self.bases_of(object, id)
            .find_map(|(base, id)| self.methods_of(&base, id, name))
    }

    /// The methods of this name of a struct, or of the struct in a constant buffer.
    pub(super) fn methods_of_held(&self, object: &Expr, name: &[u8]) -> Option<(Expr, Vec<FunctionId>)> {
        if let Type::Struct(id) = object.ty {
            return self.methods_of(object, id, name);
        }
        let Some(held @ Type::Struct(id)) = Self::constant_buffer_element(&object.ty) else {
            return None;
        };
        // The object is a copy of the buffer's content.
        self.methods_of(object, *id, name)?;
        let copy = self.as_element(object.clone(), held);
        (copy.ty == *held).then(|| self.methods_of(&copy, *id, name))?
    }

    /// An object as the struct `wanted`, which is its own type or a base.
    pub(super) fn as_base(&self, object: &Expr, id: StructId, wanted: StructId) -> Option<Expr> {
        if id == wanted {
            return Some(object.clone());
        }
        self.bases_of(object, id)
            .find_map(|(base, id)| self.as_base(&base, id, wanted))
    }

    /// The number of inheritance steps from a struct to one of its bases; `None` if `to` is not a base.
    fn steps_to_base(&self, from: StructId, to: StructId) -> Option<u32> {
        if from == to {
            return Some(0);
        }
        let fields = &self.shader.structs.get(from.0 as usize)?.fields;
        let mut bases = self.bases.get(&from)?.iter();
        bases.find_map(|&at| match fields.get(at as usize)?.ty {
            Type::Struct(base) => Some(1 + self.steps_to_base(base, to)?),
            _ => None,
        })
    }

    /// As [`distance`], but a struct also converts to its bases.
    pub(super) fn distance(&self, from: &Type, to: &Type) -> Option<u32> {
        match (from, to) {
            (Type::Struct(from), Type::Struct(to)) => self.steps_to_base(*from, *to),
            (Type::Resource(..), Type::Struct(_)) => {
                let element = Self::constant_buffer_element(from)?;
                self.distance(element, to).map(|steps| steps.saturating_add(1))
            }
            _ => distance(from, to),
        }
    }

    /// A constant buffer as the struct that it holds, if a struct is wanted; otherwise unchanged.
    fn as_element(&self, object: Expr, wanted: &Type) -> Expr {
        let element = Self::constant_buffer_element(&object.ty).filter(|_| matches!(wanted, Type::Struct(_)));
        let Some(Type::Struct(id)) = element.filter(|_| is_place(&object)) else {
            return object;
        };
        let Some(held) = self.shader.structs.get(id.0 as usize) else {
            return object;
        };
        let (ty, span) = (Type::Struct(*id), object.span);
        let fields = (0u32..).zip(&held.fields).map(|(number, field)| Expr {
            kind: ExprKind::Field(Box::new(object.clone()), number),
            ty: field.ty.clone(),
            span,
        });
        Expr {
            kind: ExprKind::Construct(fields.collect()),
            ty,
            span,
        }
    }

    /// An object as the wanted base, if that is one of its bases; otherwise unchanged.
    pub(super) fn to_base(&self, object: Expr, wanted: &Type) -> Expr {
        match (&object.ty, wanted) {
            (Type::Struct(own), Type::Struct(base)) if own != base => {
                self.as_base(&object, *own, *base).unwrap_or(object)
            }
            _ => object,
        }
    }

    /// Converts an expression to a type, including a struct to one of its bases and a constant buffer to its content.
    pub(super) fn fit(&self, expr: Expr, to: &Type) -> Expr {
        self.convert(self.to_base(self.as_element(expr, to), to), to)
    }

    /// `texture.mips[level][place]` and `texture.sample[index][place]` as the loads that they are.
    fn texel(&mut self, node: Node, span: Span) -> Option<Expr> {
        let inner = part(node, Part::Argument).filter(|inner| inner.kind() == "subscript_expression")?;
        let member = part(inner, Part::Argument).filter(|member| member.kind() == "field_expression")?;
        let name = self.node_source(part(member, Part::Field)?);
        if !matches!(name, b"mips" | b"sample") {
            return None;
        }
        let (level, place) = (index_of(inner)?, index_of(node)?);
        let object = self.part_expression(member, Part::Argument);
        let Type::Resource(ResourceKind::Texture, Some(element)) = &object.ty else {
            return None;
        };
        let ty = (**element).clone();
        let level = self.expression(level);
        let place = self.expression(place);
        let dimensions = match place.ty {
            Type::Scalar(_) => 1,
            Type::Vector(_, n @ 1..=3) => n,
            _ => return None,
        };
        let (place, level) = (
            self.convert(place, &ints(dimensions)),
            self.convert(self.to_index(level), &Type::INT),
        );
        let arguments = if name == b"mips" {
            let construct = ExprKind::Construct(vec![place, level]);
            vec![Expr {
                kind: construct,
                ty: ints(dimensions + 1),
                span,
            }]
        } else {
            vec![place, level]
        };
        Some(Expr {
            kind: ExprKind::Method {
                object: Box::new(object),
                method: Method::Load { words: 1 },
                arguments,
            },
            ty,
            span,
        })
    }

    /// Converts an index for its object: to one number, or to as many as a texture has dimensions. A longer vector is
    /// truncated, and a single number is splatted. If a texture's declaration does not give the number of its
    /// dimensions, the index stays unchanged.
    fn fit_to(&self, holder: &Expr, index: Expr) -> Expr {
        let Some(scalar) = index.ty.scalar() else {
            return index;
        };
        let count = match (&holder.ty, &holder.kind) {
            (
                Type::Resource(ResourceKind::Texture | ResourceKind::RwTexture, _),
                ExprKind::Global(global),
            ) => {
                let declared = self.shader.globals.get(global.0 as usize);
                let text = declared.map_or(&[][..], |declared| self.source(declared.span));
                let named = DIMENSIONS
                    .iter()
                    .find(|(name, _)| text.windows(name.len()).any(|word| word == name.as_bytes()));
                let Some((_, count)) = named else { return index };
                *count
            }
            (Type::Resource(ResourceKind::Texture | ResourceKind::RwTexture, _) | Type::Unknown, _) => {
                return index;
            }
            _ => 1,
        };
        match count {
            1 => self.convert(index, &Type::Scalar(scalar)),
            _ => self.convert(index, &Type::Vector(scalar, count)),
        }
    }

    pub(super) fn subscript(&mut self, node: Node, span: Span) -> Expr {
        if let Some(texel) = self.texel(node, span) {
            return texel;
        }
        let object = self.part_expression(node, Part::Argument);
        let Some(index) = index_of(node) else {
            return opaque(vec![object], Type::Unknown, span);
        };
        let index = self.expression(index);
        if let Some((object, found)) = self.methods_of_held(&object, b"operator[]") {
            return self.call_method(&found, object, vec![index], span);
        }
        let index = self.fit_to(&object, self.to_index(index));
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
            _ => return opaque(vec![holder_of(object), as_value(index)], Type::Unknown, span),
        };
        // DXC drops a write to `v.xy[i]`.
        let object = match object.kind {
            ExprKind::Swizzle(_, ref picked) if picked.len() > 1 => as_value(object),
            _ => object,
        };
        Expr {
            kind: ExprKind::Index(Box::new(object), Box::new(index)),
            ty,
            span,
        }
    }
}

/// The number of dimensions of the texture type of this name; arrays of textures have one more.
const DIMENSIONS: [(&str, u8); 7] = [
    ("Texture1DArray", 2),
    ("Texture1D", 1),
    ("Texture2DMSArray", 3),
    ("Texture2DArray", 3),
    ("Texture2DMS", 2),
    ("Texture2D", 2),
    ("Texture3D", 3),
];

fn ints(count: u8) -> Type {
    if count == 1 {
        Type::INT
    } else {
        Type::Vector(Scalar::Int, count)
    }
}

/// The one index of a subscript.
fn index_of(subscript: Node<'_>) -> Option<Node<'_>> {
    let list = part(subscript, Part::Indices).or_else(|| part(subscript, Part::Index))?;
    if list.kind() != "subscript_argument_list" {
        return Some(list);
    }
    list.named_child(0).filter(|_| list.named_child_count() == 1)
}

/// The object of a part that is not understood. The part is only read, unless the object is a resource.
fn holder_of(object: Expr) -> Expr {
    if matches!(object.ty, Type::Resource(..)) {
        object
    } else {
        as_value(object)
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
