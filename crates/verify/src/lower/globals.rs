//! The module's globals: variables, constants and bindings.

use naga::{AddressSpace, Handle, TypeInner};
use shaderlint_hlsl::{Global, GlobalId, ResourceKind, Shader, Span, Storage, Type};

use super::binding::{Uniform, resource_noun};
use super::module::{LoweredGlobal, ModuleBuilder};
use super::texture_use::TextureUse;
use super::types::{literal, simplify};
use super::{LowerError, constant};

impl ModuleBuilder<'_> {
    /// Declares every global that the entry point reaches.
    pub(super) fn globals(&mut self) -> Result<(), LowerError> {
        let shader = self.shader;
        let ids: Vec<GlobalId> = self.reach.globals.iter().copied().collect();
        let mut uniforms = Vec::new();
        for id in ids {
            let Some(global) = shader.globals.get(id.0 as usize) else {
                continue;
            };
            let place = match (global.storage, &global.ty) {
                // It is another name of some resource.
                (_, Type::Resource(..)) if global.init.is_some() => {
                    return Err(LowerError::unsupported(
                        format_args!("the `static` resource `{}`", global.name),
                        global.name_span,
                    ));
                }
                (Storage::Groupshared, _) => self.variable(id, global, AddressSpace::WorkGroup, None)?,
                (Storage::Static, _) => self.private(id, global)?,
                (Storage::Const, _) => self.constant(global)?,
                (Storage::Unknown, _) => {
                    return Err(LowerError::unsupported(
                        format_args!("`{}`, after an unknown macro", global.name),
                        global.name_span,
                    ));
                }
                (Storage::Uniform, ty) if !matches!(ty, Type::Resource(..)) => {
                    uniforms.push(Uniform::new(id, global, ty));
                    continue;
                }
                (_, Type::Resource(ResourceKind::ConstantBuffer, Some(element))) => {
                    uniforms.push(Uniform::new(id, global, element));
                    continue;
                }
                (_, Type::Resource(kind @ (ResourceKind::Texture | ResourceKind::RwTexture), element)) => {
                    match (kind, self.reach.textures.get(&id)) {
                        (ResourceKind::Texture, Some(TextureUse::Array(_)))
                            if check_texels(shader, global).is_err() =>
                        {
                            continue;
                        }
                        (_, Some(TextureUse::Array(_))) => {
                            check_texels(shader, global)?;
                            uniforms.push(Uniform::size(id, global));
                            self.buffer(id, global, *kind, element.as_deref())?
                        }
                        // A hash of the place replaces its texels.
                        (ResourceKind::Texture, _) => continue,
                        _ => {
                            return Err(LowerError::unsupported(
                                format_args!("the written texture `{}`, used in several ways", global.name),
                                global.name_span,
                            ));
                        }
                    }
                }
                (_, Type::Resource(ResourceKind::Sampler, _)) => continue,
                (_, Type::Resource(kind, element)) => self.buffer(id, global, *kind, element.as_deref())?,
                (Storage::Uniform | Storage::Resource, _) => {
                    return Err(LowerError::unsupported(
                        format_args!("{} `{}`", resource_noun(&global.ty), global.name),
                        global.name_span,
                    ));
                }
            };
            self.globals.insert(id, place);
        }
        self.uniforms(uniforms)
    }

    fn variable(
        &mut self,
        id: GlobalId,
        global: &Global,
        space: AddressSpace,
        init: Option<Handle<naga::Expression>>,
    ) -> Result<LoweredGlobal, LowerError> {
        let shape = self.shape_of(id, false);
        if shape.atomic.is_some() && space == AddressSpace::Private {
            return Err(LowerError::unsupported(
                "an atomic on something that is neither groupshared nor in a buffer",
                global.name_span,
            ));
        }
        let ty = self
            .types
            .naga_type(&mut self.ir, &global.ty, &shape, global.name_span)?;
        let handle = self.ir.global_variables.append(
            naga::GlobalVariable {
                name: Some(global.name.clone()),
                space,
                binding: None,
                ty,
                init,
                memory_decorations: naga::MemoryDecorations::empty(),
            },
            naga::Span::UNDEFINED,
        );
        Ok(LoweredGlobal::Variable(handle))
    }

    fn private(&mut self, id: GlobalId, global: &Global) -> Result<LoweredGlobal, LowerError> {
        let mut init = None;
        if let Some(value) = &global.init {
            init = constant::fold(self.shader, value)
                .filter(|_| value.ty == global.ty)
                .and_then(|bits| self.constant_expression(&global.ty, &bits, global.name_span));
            if init.is_none() {
                self.late_statics.push(id);
            }
        }
        self.variable(id, global, AddressSpace::Private, init)
    }

    fn constant(&mut self, global: &Global) -> Result<LoweredGlobal, LowerError> {
        let Some(init) = &global.init else {
            return Err(LowerError::unsupported(
                format_args!("the constant `{}` has no value", global.name),
                global.name_span,
            ));
        };
        if init.ty != global.ty {
            return Ok(LoweredGlobal::Inline);
        }
        let Some(bits) = constant::fold(self.shader, init) else {
            return Ok(LoweredGlobal::Inline);
        };
        let Some(value) = self.constant_expression(&global.ty, &bits, global.name_span) else {
            return Ok(LoweredGlobal::Inline);
        };
        let ty = self.value_type(&global.ty, global.name_span)?;
        Ok(LoweredGlobal::Constant(self.ir.constants.append(
            naga::Constant {
                name: Some(global.name.clone()),
                ty,
                init: value,
            },
            naga::Span::UNDEFINED,
        )))
    }

    /// The module-level expression of a folded constant; `None` where WGSL cannot spell it (NaN, infinity).
    fn constant_expression(
        &mut self,
        ty: &Type,
        bits: &[u32],
        span: Span,
    ) -> Option<Handle<naga::Expression>> {
        if bits.len() != self.shader.components(ty) {
            return None;
        }
        let mut bits = bits.iter().copied();
        self.constant_part(ty, &mut bits, span)
    }

    fn constant_part(
        &mut self,
        ty: &Type,
        bits: &mut dyn Iterator<Item = u32>,
        span: Span,
    ) -> Option<Handle<naga::Expression>> {
        let ty = simplify(ty);
        let expression = if let Type::Scalar(scalar) = &ty {
            naga::Expression::Literal(literal(*scalar, bits.next()?)?)
        } else {
            let parts: Vec<Type> = match &ty {
                Type::Vector(scalar, n) => vec![Type::Scalar(*scalar); usize::from(*n)],
                Type::Matrix(scalar, rows, columns) => {
                    vec![Type::Vector(*scalar, *columns); usize::from(*rows)]
                }
                Type::Array(_, length) if *length as usize > bits_limit() => return None,
                Type::Array(element, length) => vec![Type::clone(element); *length as usize],
                Type::Struct(id) => {
                    let shader = self.shader;
                    let structure = shader.structs.get(id.0 as usize)?;
                    structure.fields.iter().map(|field| field.ty.clone()).collect()
                }
                _ => return None,
            };
            let mut components = Vec::new();
            for part in &parts {
                components.push(self.constant_part(part, bits, span)?);
            }
            let ty = self.value_type(&ty, span).ok()?;
            if components.is_empty() {
                naga::Expression::ZeroValue(ty)
            } else {
                naga::Expression::Compose { ty, components }
            }
        };
        Some(
            self.ir
                .global_expressions
                .append(expression, naga::Span::UNDEFINED),
        )
    }

    /// Declares the variables that hold lane built-ins.
    pub(super) fn lane_variables(&mut self) {
        let [_, y, z] = self.workgroup_size;
        let counts_by_index = self.reach.counts_lanes_before && y * z == 1;
        if self.reach.uses_lane_index || counts_by_index {
            self.lane_index = Some(self.lane_variable("lane_index"));
        }
        if self.reach.uses_lane_count {
            self.lane_count = Some(self.lane_variable("lane_count"));
        }
        if self.reach.uses_thread_index {
            self.thread_index = Some(self.lane_variable("thread_index"));
        }
    }

    fn lane_variable(&mut self, name: &str) -> Handle<naga::GlobalVariable> {
        let ty = self.unnamed_type(TypeInner::Scalar(naga::Scalar::U32));
        self.ir.global_variables.append(
            naga::GlobalVariable {
                name: Some(name.into()),
                space: AddressSpace::Private,
                binding: None,
                ty,
                init: None,
                memory_decorations: naga::MemoryDecorations::empty(),
            },
            naga::Span::UNDEFINED,
        )
    }
}

/// An array constant has at most this many elements.
const fn bits_limit() -> usize {
    1 << 14
}

/// Refuses texels of a fixed-point type: they round the numbers that a kernel writes.
fn check_texels(shader: &Shader, global: &Global) -> Result<(), LowerError> {
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
