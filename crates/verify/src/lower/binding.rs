//! The module's bindings: buffers, textures as buffers, and the one struct of uniforms.

use naga::{AddressSpace, Handle, StorageAccess, TypeInner};
use shaderlint_hlsl::{Global, GlobalId, ResourceKind, Scalar, Span, Type};

use super::module::{Buffer, LoweredGlobal, ModuleBuilder};
use super::types::{Shape, simplify};
use super::{Binding, BindingKind, Element, LowerError, UniformMember, Word};

/// A future member of the struct of uniforms.
pub(super) struct Uniform {
    pub(super) id: GlobalId,
    pub(super) name: String,
    pub(super) ty: Type,
    pub(super) span: Span,
    /// It is the size of a texture.
    pub(super) is_size: bool,
}

impl Uniform {
    pub(super) fn new(id: GlobalId, global: &Global, ty: &Type) -> Self {
        Self {
            id,
            name: global.name.clone(),
            ty: ty.clone(),
            span: global.name_span,
            is_size: false,
        }
    }

    /// The size of a texture.
    pub(super) fn size(id: GlobalId, texture: &Global) -> Self {
        Self {
            id,
            name: format!("{}.size", texture.name),
            ty: Type::Vector(Scalar::Uint, 3),
            span: texture.name_span,
            is_size: true,
        }
    }
}

impl ModuleBuilder<'_> {
    pub(super) fn buffer(
        &mut self,
        id: GlobalId,
        global: &Global,
        kind: ResourceKind,
        element: Option<&Type>,
    ) -> Result<LoweredGlobal, LowerError> {
        let bytes = kind.is_by_address();
        let element = match (kind, element) {
            _ if bytes => Type::UINT,
            (
                ResourceKind::StructuredBuffer
                | ResourceKind::RwStructuredBuffer
                | ResourceKind::AppendStructuredBuffer
                | ResourceKind::ConsumeStructuredBuffer
                | ResourceKind::Buffer
                | ResourceKind::RwBuffer
                | ResourceKind::Texture
                | ResourceKind::RwTexture,
                Some(element),
            ) => simplify(element),
            _ => {
                return Err(LowerError::unsupported(
                    format_args!("{} `{}`", resource_noun(&global.ty), global.name),
                    global.name_span,
                ));
            }
        };
        let shape = self.shape_of(id, true);
        let span = global.name_span;
        let ty = self.types.naga_type(&mut self.ir, &element, &shape, span)?;
        let stride = self.types.stride(&self.ir, ty, span)?;
        let mut words = Vec::new();
        self.types.words(&self.ir, &element, ty, 0, &mut words, span)?;
        let packed = u32::try_from(words.len()).unwrap_or(u32::MAX).saturating_mul(4);
        let array = self.unnamed_type(TypeInner::Array {
            base: ty,
            size: naga::ArraySize::Dynamic,
            stride,
        });
        let kind = if kind.is_writable() {
            BindingKind::ReadWriteStorage
        } else {
            BindingKind::ReadOnlyStorage
        };
        let variable = self.bind(
            global.name.clone(),
            kind,
            array,
            Element { words, stride },
            Some(id),
        );
        let counter = if self.reach.counters.contains(&id) {
            let ty = self.unnamed_type(TypeInner::Atomic(naga::Scalar::U32));
            let element = Element {
                words: vec![Word {
                    offset: 0,
                    scalar: Scalar::Uint,
                }],
                stride: 4,
            };
            let name = format!("{}.counter", global.name);
            Some(self.bind(name, BindingKind::Counter, ty, element, Some(id)))
        } else {
            None
        };
        Ok(LoweredGlobal::Buffer(Buffer {
            variable,
            element,
            stride: packed,
            bytes,
            counter,
            dimensions: self.reach.dimensions(id),
        }))
    }

    fn bind(
        &mut self,
        name: String,
        kind: BindingKind,
        ty: Handle<naga::Type>,
        element: Element,
        global: Option<GlobalId>,
    ) -> Handle<naga::GlobalVariable> {
        let binding = u32::try_from(self.bindings.len()).unwrap_or(u32::MAX);
        let access = if kind.is_writable() {
            StorageAccess::LOAD | StorageAccess::STORE
        } else {
            StorageAccess::LOAD
        };
        let variable = self.ir.global_variables.append(
            naga::GlobalVariable {
                name: Some(name.replace('.', "_")),
                space: AddressSpace::Storage { access },
                binding: Some(naga::ResourceBinding { group: 0, binding }),
                ty,
                init: None,
                memory_decorations: naga::MemoryDecorations::empty(),
            },
            naga::Span::UNDEFINED,
        );
        let declared = global.and_then(|global| self.shader.globals.get(global.0 as usize));
        let is_by_address = declared
            .is_some_and(|global| matches!(global.ty, Type::Resource(kind, _) if kind.is_by_address()));
        let is_atomic = global.is_some_and(|global| self.reach.atomics.contains_key(&global));
        let is_asked = global.is_some_and(|global| self.reach.asked.contains(&global));
        self.bindings.push(Binding {
            is_atomic: is_atomic || kind == BindingKind::Counter,
            is_asked: is_asked && kind != BindingKind::Counter,
            name,
            group: 0,
            binding,
            kind,
            element,
            global,
            is_by_address,
            dimensions: global.and_then(|global| self.reach.dimensions(global)),
        });
        variable
    }

    /// One read-only storage buffer for every uniform: a uniform buffer would need array strides of 16 bytes.
    pub(super) fn uniforms(&mut self, uniforms: Vec<Uniform>) -> Result<(), LowerError> {
        let Some(span) = uniforms.first().map(|uniform| uniform.span) else {
            return Ok(());
        };
        let shape = Shape {
            storage: true,
            ..Shape::VALUE
        };
        let mut members = Vec::new();
        for Uniform { name, ty, span, .. } in &uniforms {
            let naga_ty = self.types.naga_type(&mut self.ir, ty, &shape, *span)?;
            members.push((Some(name.replace('.', "_")), naga_ty));
        }
        let inner = self.types.lay_out(&mut self.ir, members, span)?;
        let TypeInner::Struct { members, span: size } = &inner else {
            return Err(LowerError::unsupported("these uniforms", span));
        };
        let (mut described, mut all) = (Vec::new(), Vec::new());
        for (at, (uniform, member)) in (0u32..).zip(uniforms.into_iter().zip(members)) {
            let mut words = Vec::new();
            let Uniform {
                id,
                name,
                ty,
                span,
                is_size,
            } = uniform;
            self.types
                .words(&self.ir, &ty, member.ty, member.offset, &mut words, span)?;
            all.extend_from_slice(&words);
            described.push(UniformMember {
                name,
                ty: ty.clone(),
                global: id,
                words,
                is_size,
            });
            if is_size {
                self.sizes.insert(id, at);
            } else {
                self.globals.insert(id, LoweredGlobal::Uniform { member: at, ty });
            }
        }
        let element = Element {
            words: all,
            stride: *size,
        };
        let ty = self.ir.types.insert(
            naga::Type {
                name: Some("UniformsLayout".into()),
                inner,
            },
            naga::Span::UNDEFINED,
        );
        let kind = BindingKind::Uniform { members: described };
        self.uniforms = Some(self.bind("Uniforms".into(), kind, ty, element, None));
        Ok(())
    }
}

pub(super) fn resource_noun(ty: &Type) -> &'static str {
    match ty {
        Type::Resource(ResourceKind::Sampler, _) => "the sampler",
        Type::Resource(ResourceKind::AccelerationStructure, _) => "the acceleration structure",
        Type::Array(..) => "the array of resources",
        _ => "the resource",
    }
}
