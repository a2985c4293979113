//! The naga module under construction.

use std::collections::{BTreeMap, BTreeSet};

use naga::{Handle, TypeInner};
use shaderlint_hlsl::{GlobalId, Scalar, Shader, Span, Type};

use super::reach::{Instance, Reach};
use super::types::{Shape, Types, naga_scalar, vector_size};
use super::{Binding, LowerError};

/// A global of HLSL in the naga module.
#[derive(Clone, Debug)]
pub(super) enum LoweredGlobal {
    /// Groupshared or a mutable `static`.
    Variable(Handle<naga::GlobalVariable>),
    Constant(Handle<naga::Constant>),
    /// A constant whose initialiser does not fold: each use lowers it anew.
    Inline,
    /// A member of the one struct of uniforms.
    Uniform {
        member: u32,
        ty: Type,
    },
    Buffer(Buffer),
}

/// A buffer, or a texture as a buffer.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    pub(super) variable: Handle<naga::GlobalVariable>,
    pub(super) element: Type,
    /// Bytes from one element to the next in HLSL, which leaves no gaps. WGSL leaves some.
    pub(super) stride: u32,
    /// Addressed in bytes.
    pub(super) bytes: bool,
    pub(super) counter: Option<Handle<naga::GlobalVariable>>,
    /// The number of a texture's dimensions; `None` for a buffer.
    pub(super) dimensions: Option<u8>,
}

/// Statements to run several times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repeat {
    /// Holds the statements.
    pub(super) span: Span,
    pub(super) passes: u32,
}

/// The module under construction.
pub(super) struct ModuleBuilder<'a> {
    pub(super) shader: &'a Shader,
    pub(super) ir: naga::Module,
    pub(super) types: Types<'a>,
    pub(super) reach: Reach,
    pub(super) globals: BTreeMap<GlobalId, LoweredGlobal>,
    /// The struct of uniforms.
    pub(super) uniforms: Option<Handle<naga::GlobalVariable>>,
    /// By texture, the uniform that is its size.
    pub(super) sizes: BTreeMap<GlobalId, u32>,
    pub(super) functions: BTreeMap<Instance, Handle<naga::Function>>,
    /// The entry point initialises these mutable statics itself.
    pub(super) late_statics: Vec<GlobalId>,
    /// `WaveGetLaneIndex`, `WaveGetLaneCount` and `SV_GroupIndex`. The entry point sets them for all its callees.
    pub(super) lane_index: Option<Handle<naga::GlobalVariable>>,
    pub(super) lane_count: Option<Handle<naga::GlobalVariable>>,
    pub(super) thread_index: Option<Handle<naga::GlobalVariable>>,
    /// `numthreads`.
    pub(super) group_size: [u32; 3],
    /// The size of WGSL's workgroup ([`super::Lowered::workgroup_size`]).
    pub(super) workgroup_size: [u32; 3],
    /// `None` once these statements are lowered.
    pub(super) repeat: Option<Repeat>,
    pub(super) bindings: Vec<Binding>,
    /// See [`super::Lowered::replaced`].
    pub(super) replaced: BTreeSet<String>,
    /// See [`super::Lowered::free`].
    pub(super) free: BTreeSet<String>,
}

impl<'a> ModuleBuilder<'a> {
    /// A module without contents.
    pub(super) fn new(
        shader: &'a Shader,
        reach: Reach,
        group_size: [u32; 3],
        repeat: Option<Repeat>,
    ) -> Self {
        let workgroup_size = match group_size {
            [x, y, z] if reach.uses_lane_index => [x * y * z, 1, 1],
            _ => group_size,
        };
        Self {
            shader,
            ir: naga::Module::default(),
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
        }
    }

    pub(super) fn unnamed_type(&mut self, inner: TypeInner) -> Handle<naga::Type> {
        let ty = naga::Type { name: None, inner };
        self.ir.types.insert(ty, naga::Span::UNDEFINED)
    }

    /// naga's type for a value of this HLSL type.
    pub(super) fn value_type(&mut self, ty: &Type, span: Span) -> Result<Handle<naga::Type>, LowerError> {
        self.types.naga_type(&mut self.ir, ty, &Shape::VALUE, span)
    }

    /// naga's type for a scalar, or a vector of `n`.
    pub(super) fn vector_type(
        &mut self,
        scalar: Scalar,
        n: u8,
        span: Span,
    ) -> Result<Handle<naga::Type>, LowerError> {
        let scalar = naga_scalar(scalar, span)?;
        Ok(self.unnamed_type(match vector_size(n) {
            Some(size) => TypeInner::Vector { size, scalar },
            None => TypeInner::Scalar(scalar),
        }))
    }

    /// The shape of a global as a whole.
    pub(super) fn shape_of(&self, id: GlobalId, storage: bool) -> Shape {
        Shape {
            storage,
            atomic: self.reach.atomics.contains_key(&id).then_some(id),
            path: Vec::new(),
        }
    }
}
