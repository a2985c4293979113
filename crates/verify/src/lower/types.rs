//! HLSL types as naga types, and their layout in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use naga::{ArraySize, Handle, ScalarKind, TypeInner, VectorSize};
use shaderlint_hlsl::{GlobalId, Scalar, Shader, Span, StructId, Type};

use super::{LowerError, Word};

/// Deepest nesting of arrays and structs.
const DEPTH: u32 = 32;
/// Most 32-bit components of one buffer element.
const WORDS: usize = 1 << 16;

/// Paths of struct fields, from a global's type down to an atomic cell. They leave out array indices.
pub(super) type FieldPaths = BTreeSet<Vec<u32>>;

/// What sets a piece of memory apart from a plain value: storage buffers hold no `bool`, and cells of `Interlocked*` are
/// atomics. A plain value has [`Shape::VALUE`].
#[derive(Clone, Debug, Default)]
pub(super) struct Shape {
    /// In a buffer that the host shares.
    pub(super) storage: bool,
    /// The global around it, where that has atomic cells.
    pub(super) atomic: Option<GlobalId>,
    /// Struct fields from the global down to here.
    pub(super) path: Vec<u32>,
}

impl Shape {
    pub(super) const VALUE: Shape = Shape {
        storage: false,
        atomic: None,
        path: Vec::new(),
    };

    pub(super) fn field(&self, field: u32) -> Shape {
        let mut inner = self.clone();
        inner.path.push(field);
        inner
    }
}

/// Makes and remembers naga types.
pub(super) struct Types<'a> {
    pub(super) shader: &'a Shader,
    pub(super) layouter: naga::proc::Layouter,
    pub(super) atomics: BTreeMap<GlobalId, FieldPaths>,
}

pub(super) fn naga_scalar(scalar: Scalar, span: Span) -> Result<naga::Scalar, LowerError> {
    match scalar {
        Scalar::Bool => Ok(naga::Scalar::BOOL),
        Scalar::Int | Scalar::Enum(_) => Ok(naga::Scalar::I32),
        Scalar::Uint | Scalar::UintEnum(_) => Ok(naga::Scalar::U32),
        Scalar::Float | Scalar::Half => Ok(naga::Scalar::F32),
        Scalar::Int16 | Scalar::Uint16 | Scalar::Int64 | Scalar::Uint64 | Scalar::Double => Err(
            LowerError::unsupported(format_args!("`{}` has no WGSL type", scalar.name()), span),
        ),
    }
}

pub(super) fn vector_size(n: u8) -> Option<VectorSize> {
    match n {
        2 => Some(VectorSize::Bi),
        3 => Some(VectorSize::Tri),
        4 => Some(VectorSize::Quad),
        _ => None,
    }
}

/// The type that this crate computes with: a vector of one component becomes a scalar, an enumeration its number.
pub(super) fn simplify(ty: &Type) -> Type {
    match ty {
        Type::Scalar(scalar) => Type::Scalar(scalar.underlying()),
        Type::Vector(scalar, 1) => Type::Scalar(*scalar),
        other => other.clone(),
    }
}

/// The number of components of a scalar or vector.
pub(super) fn width(ty: &Type) -> Option<u8> {
    match ty {
        Type::Scalar(_) => Some(1),
        Type::Vector(_, n) => Some(*n),
        _ => None,
    }
}

/// A literal of this bit pattern; `None` for NaN, infinities and types without literals.
pub(super) fn literal(scalar: Scalar, bits: u32) -> Option<naga::Literal> {
    match scalar {
        Scalar::Bool => Some(naga::Literal::Bool(bits != 0)),
        Scalar::Int => Some(naga::Literal::I32(bits.cast_signed())),
        Scalar::Uint => Some(naga::Literal::U32(bits)),
        Scalar::Float | Scalar::Half => Some(f32::from_bits(bits))
            .filter(|value| value.is_finite())
            .map(naga::Literal::F32),
        _ => None,
    }
}

impl Types<'_> {
    /// The naga type of `ty` in memory of this shape.
    pub(super) fn naga_type(
        &mut self,
        module: &mut naga::Module,
        ty: &Type,
        shape: &Shape,
        span: Span,
    ) -> Result<Handle<naga::Type>, LowerError> {
        self.make(module, ty, shape, span, DEPTH)
    }

    fn make(
        &mut self,
        module: &mut naga::Module,
        ty: &Type,
        shape: &Shape,
        span: Span,
        depth: u32,
    ) -> Result<Handle<naga::Type>, LowerError> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(LowerError::unsupported("types nested this deep", span));
        };
        let mut name = None;
        let inner = match simplify(ty) {
            Type::Scalar(scalar) => {
                let scalar = in_memory(scalar, shape, span)?;
                if self.is_atomic(shape) {
                    if !matches!(scalar, naga::Scalar::U32 | naga::Scalar::I32) {
                        return Err(LowerError::unsupported("an atomic that is not int or uint", span));
                    }
                    TypeInner::Atomic(scalar)
                } else {
                    TypeInner::Scalar(scalar)
                }
            }
            Type::Vector(scalar, n) => TypeInner::Vector {
                size: vector_size(n).ok_or_else(|| LowerError::unsupported("a vector of this size", span))?,
                scalar: in_memory(scalar, shape, span)?,
            },
            Type::Matrix(scalar, rows, columns) => {
                if !matches!(scalar, Scalar::Float | Scalar::Half) {
                    return Err(LowerError::unsupported("a matrix that is not of floats", span));
                }
                let size =
                    |n| vector_size(n).ok_or_else(|| LowerError::unsupported("a matrix of this size", span));
                // HLSL's rows are naga's columns, so that `m[i]` is the same in both.
                TypeInner::Matrix {
                    columns: size(rows)?,
                    rows: size(columns)?,
                    scalar: naga::Scalar::F32,
                }
            }
            Type::Array(element, length) => {
                let base = self.make(module, &element, shape, span, depth)?;
                let length = NonZeroU32::new(length)
                    .ok_or_else(|| LowerError::unsupported("an array of unknown length", span))?;
                TypeInner::Array {
                    base,
                    size: ArraySize::Constant(length),
                    stride: self.stride(module, base, span)?,
                }
            }
            Type::Struct(id) => {
                name = self.struct_name(id);
                self.structure(module, id, shape, span, depth)?
            }
            Type::Void => return Err(LowerError::unsupported("a value of type void", span)),
            Type::Resource(..) => return Err(LowerError::unsupported("a resource as a value", span)),
            Type::Unknown => return Err(LowerError::unsupported("a value of unknown type", span)),
        };
        Ok(module
            .types
            .insert(naga::Type { name, inner }, naga::Span::UNDEFINED))
    }

    fn struct_name(&self, id: StructId) -> Option<String> {
        self.shader.structs.get(id.0 as usize).map(|s| s.name.clone())
    }

    fn structure(
        &mut self,
        module: &mut naga::Module,
        id: StructId,
        shape: &Shape,
        span: Span,
        depth: u32,
    ) -> Result<TypeInner, LowerError> {
        let shader = self.shader;
        let Some(structure) = shader.structs.get(id.0 as usize) else {
            return Err(LowerError::unsupported("an unknown struct", span));
        };
        let mut members = Vec::new();
        for (at, field) in (0u32..).zip(&structure.fields) {
            let inner = shape.field(at);
            let ty = self.make(module, &field.ty, &inner, span, depth)?;
            members.push((Some(field.name.clone()), ty));
        }
        if members.is_empty() {
            // WGSL has no struct without members.
            let ty = self.make(module, &Type::UINT, &Shape::VALUE, span, depth)?;
            members.push((Some("nothing".to_owned()), ty));
        }
        self.lay_out(module, members, span)
    }

    /// A struct of these members, at the offsets that WGSL gives them.
    pub(super) fn lay_out(
        &mut self,
        module: &mut naga::Module,
        members: Vec<(Option<String>, Handle<naga::Type>)>,
        span: Span,
    ) -> Result<TypeInner, LowerError> {
        self.update(module, span)?;
        let mut offset = 0u32;
        let mut alignment = naga::proc::Alignment::ONE;
        let mut laid_out = Vec::new();
        for (name, ty) in members {
            let layout = self.layouter[ty];
            offset = layout.alignment.round_up(offset);
            alignment = alignment.max(layout.alignment);
            laid_out.push(naga::StructMember {
                name,
                ty,
                binding: None,
                offset,
            });
            offset = offset
                .checked_add(layout.size)
                .filter(|end| *end < 1 << 30)
                .ok_or_else(|| LowerError::unsupported("a struct this large", span))?;
        }
        Ok(TypeInner::Struct {
            members: laid_out,
            span: alignment.round_up(offset),
        })
    }

    fn update(&mut self, module: &naga::Module, span: Span) -> Result<(), LowerError> {
        self.layouter.update(module.to_ctx()).map_err(|error| LowerError {
            message: format!("internal limitation: a type cannot be laid out: {error}"),
            span,
        })
    }

    /// Bytes from one array element of this type to the next.
    pub(super) fn stride(
        &mut self,
        module: &naga::Module,
        ty: Handle<naga::Type>,
        span: Span,
    ) -> Result<u32, LowerError> {
        self.update(module, span)?;
        Ok(self.layouter[ty].to_stride())
    }

    fn is_atomic(&self, shape: &Shape) -> bool {
        shape
            .atomic
            .and_then(|global| self.atomics.get(&global))
            .is_some_and(|paths| paths.contains(&shape.path))
    }

    /// Whether one load or store moves a value of `ty`: it holds no `bool` in a buffer, and no atomic.
    pub(super) fn is_plain(&self, ty: &Type, shape: &Shape) -> bool {
        let atomic = shape
            .atomic
            .and_then(|global| self.atomics.get(&global))
            .is_some_and(|paths| paths.iter().any(|path| path.starts_with(&shape.path)));
        let stored_bool = shape.storage && self.holds_bool(ty, DEPTH);
        !atomic && !stored_bool
    }

    fn holds_bool(&self, ty: &Type, depth: u32) -> bool {
        let Some(depth) = depth.checked_sub(1) else {
            return false;
        };
        match ty {
            Type::Array(element, _) => self.holds_bool(element, depth),
            Type::Struct(id) => self
                .shader
                .structs
                .get(id.0 as usize)
                .is_some_and(|s| s.fields.iter().any(|field| self.holds_bool(&field.ty, depth))),
            other => other.scalar() == Some(Scalar::Bool),
        }
    }

    /// The 32-bit components of a buffer element of HLSL type `ty` whose naga type is `naga_ty`.
    pub(super) fn words(
        &self,
        module: &naga::Module,
        ty: &Type,
        naga_ty: Handle<naga::Type>,
        offset: u32,
        words: &mut Vec<Word>,
        span: Span,
    ) -> Result<(), LowerError> {
        if words.len() > WORDS {
            return Err(LowerError::unsupported("a buffer element this large", span));
        }
        match (&module.types[naga_ty].inner, ty) {
            (TypeInner::Scalar(scalar) | TypeInner::Atomic(scalar), _) => {
                words.push(word(offset, *scalar, ty));
            }
            (TypeInner::Vector { size, scalar }, _) => {
                words.extend((0..*size as u32).map(|at| word(offset + 4 * at, *scalar, ty)));
            }
            (
                TypeInner::Matrix {
                    columns,
                    rows,
                    scalar,
                },
                _,
            ) => {
                let column = if *rows == VectorSize::Bi { 8 } else { 16 };
                for c in 0..*columns as u32 {
                    words.extend((0..*rows as u32).map(|r| word(offset + column * c + 4 * r, *scalar, ty)));
                }
            }
            (
                TypeInner::Array {
                    base,
                    size: ArraySize::Constant(length),
                    stride,
                },
                Type::Array(element, _),
            ) => {
                for at in 0..length.get() {
                    self.words(module, element, *base, offset + at * stride, words, span)?;
                }
            }
            (TypeInner::Struct { members, .. }, Type::Struct(id)) => {
                if let Some(structure) = self.shader.structs.get(id.0 as usize) {
                    for (member, field) in members.iter().zip(&structure.fields) {
                        self.words(module, &field.ty, member.ty, offset + member.offset, words, span)?;
                    }
                }
            }
            _ => return Err(LowerError::unsupported("a buffer element of this type", span)),
        }
        Ok(())
    }
}

fn in_memory(scalar: Scalar, shape: &Shape, span: Span) -> Result<naga::Scalar, LowerError> {
    if scalar == Scalar::Bool && shape.storage {
        Ok(naga::Scalar::U32)
    } else {
        naga_scalar(scalar, span)
    }
}

fn word(offset: u32, scalar: naga::Scalar, ty: &Type) -> Word {
    let scalar = match scalar.kind {
        ScalarKind::Float => Scalar::Float,
        ScalarKind::Sint => Scalar::Int,
        _ if ty.scalar() == Some(Scalar::Bool) => Scalar::Bool,
        _ => Scalar::Uint,
    };
    Word { offset, scalar }
}
