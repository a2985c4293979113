//! The module around the functions: globals, constants, the entry point's validation.

use std::collections::{BTreeMap, BTreeSet};

use naga::valid::{Capabilities, ValidationFlags, Validator};
use naga::{AddressSpace, Handle, TypeInner};
use shaderlint_hlsl::{FunctionId, Global, GlobalId, ResourceKind, Shader, Span, Storage, Type};

use super::binding::{Buffer, resource_noun, uniform};
use super::function::lower_function;
use super::reach::{Instance, Reach, reach};
use super::texture::{self, TextureUse};
use super::types::{Shape, Types, naga_scalar, simplify, vector_size};
use super::{Binding, LowerError, Lowered, constant};

/// Where a global went.
#[derive(Clone, Debug)]
pub(super) enum GlobalPlace {
    /// Groupshared or a mutable `static`.
    Variable(Handle<naga::GlobalVariable>),
    Constant(Handle<naga::Constant>),
    /// A constant whose initialiser is not a constant expression of ours: lowered anew at each use.
    Inline,
    /// A member of the one struct of uniforms.
    Uniform {
        member: u32,
        ty: Type,
    },
    Buffer(Buffer),
}

/// A function that has been lowered.
pub(super) struct Callee {
    pub(super) handle: Handle<naga::Function>,
}

/// The module under construction.
pub(super) struct Unit<'a> {
    pub(super) shader: &'a Shader,
    pub(super) module: naga::Module,
    pub(super) types: Types<'a>,
    pub(super) reach: Reach,
    pub(super) globals: BTreeMap<GlobalId, GlobalPlace>,
    pub(super) uniforms: Option<Handle<naga::GlobalVariable>>,
    /// Which of them are the sizes of textures.
    pub(super) sizes: BTreeMap<GlobalId, u32>,
    pub(super) functions: BTreeMap<Instance, Callee>,
    /// Mutable statics that the entry point has to initialise itself.
    pub(super) late_statics: Vec<GlobalId>,
    /// `WaveGetLaneIndex`, `WaveGetLaneCount` and `SV_GroupIndex`, set by the entry point for all its callees.
    pub(super) lane_index: Option<Handle<naga::GlobalVariable>>,
    pub(super) lane_count: Option<Handle<naga::GlobalVariable>>,
    pub(super) thread_index: Option<Handle<naga::GlobalVariable>>,
    /// `numthreads` and what WGSL is given for it; see [`Lowered::workgroup_size`].
    pub(super) group_size: [u32; 3],
    pub(super) workgroup_size: [u32; 3],
    pub(super) repeat: Option<(Span, u32)>,
    pub(super) bindings: Vec<Binding>,
    /// See [`Lowered::replaced`].
    pub(super) replaced: BTreeSet<String>,
    pub(super) free: BTreeSet<String>,
}

pub(super) fn lower_entry(
    shader: &Shader,
    entry: FunctionId,
    repeat: Option<(Span, u32)>,
) -> Result<Lowered, LowerError> {
    let reach = reach(shader, entry)?;
    let Some(function) = shader.functions.get(entry.0 as usize) else {
        return Err(LowerError::unsupported("no such function", Span::default()));
    };
    let Some(group_size) = function.group_size else {
        return Err(LowerError::unsupported(
            format_args!("`{}` has no numthreads", function.name),
            function.name_span,
        ));
    };
    let threads: u128 = group_size.into_iter().map(u128::from).product();
    if !(1..=MAX_THREADS).contains(&threads) {
        return Err(LowerError::unsupported(
            format_args!("a group of {threads} threads, where D3D allows 1 to {MAX_THREADS}"),
            function.group_size_span,
        ));
    }
    let workgroup_size = match group_size {
        [x, y, z] if reach.uses_lane_index => [x * y * z, 1, 1],
        _ => group_size,
    };
    let mut unit = Unit {
        shader,
        module: naga::Module::default(),
        types: Types {
            shader,
            layouter: naga::proc::Layouter::default(),
            atomics: reach.atomics.clone(),
        },
        reach,
        globals: BTreeMap::new(),
        uniforms: None,
        sizes: BTreeMap::new(),
        functions: BTreeMap::new(),
        late_statics: Vec::new(),
        lane_index: None,
        lane_count: None,
        thread_index: None,
        group_size,
        workgroup_size,
        repeat,
        bindings: Vec::new(),
        replaced: BTreeSet::new(),
        free: BTreeSet::new(),
    };
    unit.globals()?;
    unit.lane_variables();
    let order = std::mem::take(&mut unit.reach.order);
    for instance in &order {
        let is_entry = instance.function == entry;
        let lowered = lower_function(&mut unit, instance, is_entry)?;
        if is_entry {
            unit.module.entry_points.push(naga::EntryPoint {
                name: function.name.clone(),
                stage: naga::ShaderStage::Compute,
                early_depth_test: None,
                workgroup_size,
                workgroup_size_overrides: None,
                function: lowered,
                mesh_info: None,
                task_payload: None,
                incoming_ray_payload: None,
            });
        } else {
            let handle = unit.module.functions.append(lowered, naga::Span::UNDEFINED);
            unit.functions.insert(instance.clone(), Callee { handle });
        }
    }
    if let Some((span, _)) = unit.repeat {
        return Err(LowerError::unsupported(
            "nothing to repeat: no statement lies within this place",
            span,
        ));
    }
    let info = validate(&unit.module, function.name_span)?;
    Ok(Lowered {
        module: unit.module,
        info,
        entry: function.name.clone(),
        other_floats: other_floats(&shader.text),
        replaced: unit.replaced,
        free: unit.free,
        group_size,
        workgroup_size,
        bindings: unit.bindings,
        uses_subgroups: unit.reach.uses_waves,
        wave_sizes: function.wave_size,
    })
}

fn validate(module: &naga::Module, span: Span) -> Result<naga::valid::ModuleInfo, LowerError> {
    Validator::new(
        ValidationFlags::all(),
        Capabilities::SUBGROUP | Capabilities::SHADER_FLOAT16_IN_FLOAT32,
    )
    .validate(module)
    .map_err(|error| {
        let mut message = String::from("internal limitation: naga refuses the lowered kernel");
        let mut cause: Option<&dyn std::error::Error> = Some(error.as_inner());
        while let Some(error) = cause {
            message.push_str(": ");
            message.push_str(&error.to_string());
            cause = error.source();
        }
        LowerError { message, span }
    })
}

impl Unit<'_> {
    fn globals(&mut self) -> Result<(), LowerError> {
        let shader = self.shader;
        let ids: Vec<GlobalId> = self.reach.globals.iter().copied().collect();
        let mut uniforms = Vec::new();
        for id in ids {
            let Some(global) = shader.globals.get(id.0 as usize) else {
                continue;
            };
            let place = match (global.storage, &global.ty) {
                // It is another one by another name.
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
                        format_args!("`{}`, behind a macro that is not known", global.name),
                        global.name_span,
                    ));
                }
                (Storage::Uniform, ty) if !matches!(ty, Type::Resource(..)) => {
                    uniforms.push(uniform(id, global, ty));
                    continue;
                }
                (_, Type::Resource(ResourceKind::ConstantBuffer, Some(element))) => {
                    uniforms.push(uniform(id, global, element));
                    continue;
                }
                (_, Type::Resource(kind @ (ResourceKind::Texture | ResourceKind::RwTexture), element)) => {
                    match (kind, self.reach.textures.get(&id)) {
                        (ResourceKind::Texture, Some(TextureUse::Array(_)))
                            if texture::check_texels(shader, global).is_err() =>
                        {
                            continue;
                        }
                        (_, Some(TextureUse::Array(_))) => {
                            texture::check_texels(shader, global)?;
                            uniforms.push(texture::size(id, global));
                            self.buffer(id, global, *kind, element.as_deref())?
                        }
                        // Read through a hash of the place.
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
    ) -> Result<GlobalPlace, LowerError> {
        let shape = Shape {
            storage: false,
            atomic: self.reach.atomics.contains_key(&id).then_some(id),
            path: Vec::new(),
        };
        if shape.atomic.is_some() && space == AddressSpace::Private {
            return Err(LowerError::unsupported(
                "an atomic on something that is neither groupshared nor in a buffer",
                global.name_span,
            ));
        }
        let ty = self
            .types
            .naga_type(&mut self.module, &global.ty, &shape, global.name_span)?;
        let handle = self.module.global_variables.append(
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
        Ok(GlobalPlace::Variable(handle))
    }

    fn private(&mut self, id: GlobalId, global: &Global) -> Result<GlobalPlace, LowerError> {
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

    fn constant(&mut self, global: &Global) -> Result<GlobalPlace, LowerError> {
        let Some(init) = &global.init else {
            return Err(LowerError::unsupported(
                format_args!("the constant `{}` has no value", global.name),
                global.name_span,
            ));
        };
        if init.ty != global.ty {
            return Ok(GlobalPlace::Inline);
        }
        let Some(bits) = constant::fold(self.shader, init) else {
            return Ok(GlobalPlace::Inline);
        };
        let Some(value) = self.constant_expression(&global.ty, &bits, global.name_span) else {
            return Ok(GlobalPlace::Inline);
        };
        let ty = self
            .types
            .naga_type(&mut self.module, &global.ty, &Shape::VALUE, global.name_span)?;
        Ok(GlobalPlace::Constant(self.module.constants.append(
            naga::Constant {
                name: Some(global.name.clone()),
                ty,
                init: value,
            },
            naga::Span::UNDEFINED,
        )))
    }

    /// The module-level expression of a folded constant; `None` where WGSL cannot spell it (NaN, infinity).
    pub(super) fn constant_expression(
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
            let ty = self
                .types
                .naga_type(&mut self.module, &ty, &Shape::VALUE, span)
                .ok()?;
            if components.is_empty() {
                naga::Expression::ZeroValue(ty)
            } else {
                naga::Expression::Compose { ty, components }
            }
        };
        Some(
            self.module
                .global_expressions
                .append(expression, naga::Span::UNDEFINED),
        )
    }

    fn lane_variables(&mut self) {
        let mut variable = |wanted: bool, name: &str| {
            wanted.then(|| {
                let ty = self.module.types.insert(
                    naga::Type {
                        name: None,
                        inner: TypeInner::Scalar(naga::Scalar::U32),
                    },
                    naga::Span::UNDEFINED,
                );
                self.module.global_variables.append(
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
            })
        };
        let [_, y, z] = self.workgroup_size;
        let counts_by_index = self.reach.counts_lanes_before && y * z == 1;
        self.lane_index = variable(self.reach.uses_lane_index || counts_by_index, "lane_index");
        self.lane_count = variable(self.reach.uses_lane_count, "lane_count");
        self.thread_index = variable(self.reach.uses_thread_index, "thread_index");
    }

    /// naga's type for a value of this HLSL type.
    pub(super) fn value_type(&mut self, ty: &Type, span: Span) -> Result<Handle<naga::Type>, LowerError> {
        self.types.naga_type(&mut self.module, ty, &Shape::VALUE, span)
    }

    /// naga's type for a scalar, or a vector of `n`.
    pub(super) fn vector_type(
        &mut self,
        scalar: shaderlint_hlsl::Scalar,
        n: u8,
        span: Span,
    ) -> Result<Handle<naga::Type>, LowerError> {
        let scalar = naga_scalar(scalar, span)?;
        let inner = match vector_size(n) {
            Some(size) => TypeInner::Vector { size, scalar },
            None => TypeInner::Scalar(scalar),
        };
        Ok(self
            .module
            .types
            .insert(naga::Type { name: None, inner }, naga::Span::UNDEFINED))
    }
}

/// D3D allows this many threads in a group (D3D11.3 functional spec, 18.6).
const MAX_THREADS: u128 = 1024;

/// Longest array constant.
const fn bits_limit() -> usize {
    1 << 14
}

/// A literal of this bit pattern; `None` for NaN, infinities and types without literals.
pub(super) fn literal(scalar: shaderlint_hlsl::Scalar, bits: u32) -> Option<naga::Literal> {
    use shaderlint_hlsl::Scalar as S;
    match scalar {
        S::Bool => Some(naga::Literal::Bool(bits != 0)),
        S::Int => Some(naga::Literal::I32(bits.cast_signed())),
        S::Uint => Some(naga::Literal::U32(bits)),
        S::Float | S::Half => Some(f32::from_bits(bits))
            .filter(|value| value.is_finite())
            .map(naga::Literal::F32),
        _ => None,
    }
}

/// What a text says of floats that WGSL cannot: a type of 16 bits, a literal of one, or `precise`.
fn other_floats(text: &[u8]) -> Option<&'static str> {
    let words = || text.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
    let is_half = |word: &[u8]| {
        let is_type = |name: &&[u8]| {
            let shape = word.strip_prefix(*name);
            matches!(shape, Some([] | [b'1'..=b'4'] | [b'1'..=b'4', b'x', b'1'..=b'4']))
        };
        let is_literal = matches!(word, [b'0'..=b'9', .., b'h' | b'H']);
        [&b"half"[..], b"float16_t", b"min16float", b"min10float"]
            .iter()
            .any(is_type)
            || is_literal
    };
    if words().any(is_half) {
        return Some("floats of 16 bits have 32 here");
    }
    let is_precise = words().any(|word| word == b"precise");
    is_precise.then_some("WGSL has no `precise`")
}
