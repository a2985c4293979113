//! Typed HLSL tree to naga IR.
//!
//! One naga module is made per entry point. Every HLSL variable is a naga variable, every place is a pointer, and
//! every naga expression is emitted where it is made, so evaluation order is the text's order.

mod atomic;
mod binding;
mod constant;
mod convert;
mod expression;
mod function;
mod hashed;
mod intrinsic;
mod method;
mod module;
mod operator;
mod place;
mod reach;
mod statement;
mod texture;
mod types;
mod wave;

use std::collections::BTreeSet;

use shaderlint_hlsl::{FunctionId, GlobalId, Scalar, Shader, Span, Type};

/// One entry point as a validated naga module.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// Holds exactly one entry point.
    pub module: naga::Module,
    /// What naga's validator found out; its WGSL writer wants it.
    pub info: naga::valid::ModuleInfo,
    /// The entry point's name in HLSL. WGSL may spell it differently; it is the module's only one.
    pub entry: String,
    /// `numthreads`.
    pub group_size: [u32; 3],
    /// The size of the group on the GPU. It is `numthreads`, unless the kernel asks for lane ids in a group of
    /// several rows: naga has no lane ids there, so the group is one row of as many threads, in the order of
    /// `SV_GroupIndex`, from which the other ids are computed.
    pub workgroup_size: [u32; 3],
    /// What the host has to bind, in order of binding number. Only what the entry point can reach.
    pub bindings: Vec<Binding>,
    /// Whether the device needs subgroup operations.
    pub uses_subgroups: bool,
    /// The least and the greatest size of waves that the kernel allows, by `[WaveSize]`.
    pub wave_sizes: Option<(u32, u32)>,
    /// What was replaced by a hash of its arguments: samples of textures, functions without a body, code that could not be
    /// understood.
    pub replaced: BTreeSet<String>,
    /// Those of them that may have any value, so that the hash is one of theirs: texels. What a function computes of its
    /// arguments, or a sampler of a texture, may be alike where the hash is not: `pack_u8(v)` and `pack_u8(v & 255)`.
    pub free: BTreeSet<String>,
    /// Why floats may come out otherwise than the text says, if they may: WGSL has 32 bits for those of 16, and no `precise`.
    pub other_floats: Option<&'static str>,
}

impl Lowered {
    /// Whether the group's rows are laid end to end on the GPU, so that its waves are cut as those of a linear group.
    #[must_use]
    pub fn is_flattened(&self) -> bool {
        self.workgroup_size != self.group_size
    }

    /// The groupshared memory of a group in bytes, as WGSL lays it out: a vector of three takes the room of four.
    #[must_use]
    pub fn shared_bytes(&self) -> u32 {
        let variables = self.module.global_variables.iter();
        let shared = variables.filter(|(_, variable)| variable.space == naga::AddressSpace::WorkGroup);
        let sizes = shared.map(|(_, variable)| {
            let kind = &self.module.types[variable.ty].inner;
            kind.try_size(self.module.to_ctx()).unwrap_or(u32::MAX)
        });
        sizes.fold(0, u32::saturating_add)
    }

    /// Whether the kernel computes with floats, or holds some.
    #[must_use]
    pub fn has_floats(&self) -> bool {
        let mut types = self.module.types.iter();
        types.any(|(_, kind)| kind.inner.scalar_kind() == Some(naga::ScalarKind::Float))
    }

    /// Whether the kernel divides, or takes a function of a number that may grow without bound where the number changes in its
    /// last bit, such as a logarithm near 0. What two orders of a sum differ in is no measure of the result then.
    #[must_use]
    pub fn may_magnify(&self) -> bool {
        use naga::{BinaryOperator as Binary, Expression, MathFunction as Math};
        let functions = self.module.functions.iter().map(|(_, function)| function);
        let entries = self.module.entry_points.iter().map(|entry| &entry.function);
        functions.chain(entries).any(|function| {
            let of = &function.expressions;
            of.iter().any(|(_, expression)| match expression {
                Expression::Binary {
                    op: Binary::Divide | Binary::Modulo,
                    right,
                    ..
                } => !matches!(of[*right], Expression::Literal(_)),
                Expression::Math { fun, .. } => matches!(
                    fun,
                    Math::Tan
                        | Math::Asin
                        | Math::Acos
                        | Math::Acosh
                        | Math::Atanh
                        | Math::Sinh
                        | Math::Cosh
                        | Math::Log
                        | Math::Log2
                        | Math::Exp
                        | Math::Exp2
                        | Math::Pow
                        | Math::Sqrt
                        | Math::InverseSqrt
                        | Math::Normalize
                        | Math::Length
                        | Math::Distance
                ),
                _ => false,
            })
        })
    }
}

/// A buffer the host binds. Layouts are WGSL's, not those of HLSL's packing rules: both kernels of a comparison go
/// through the same rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The HLSL name; `name.counter` for the hidden counter of a buffer, `Uniforms` for the uniforms.
    pub name: String,
    /// Always 0.
    pub group: u32,
    /// Counted from 0 without gaps.
    pub binding: u32,
    /// How the kernel uses it.
    pub kind: BindingKind,
    /// One element of the buffer; for uniforms all of them together.
    pub element: Element,
    /// The global behind it; `None` for the uniforms, which are many.
    pub global: Option<GlobalId>,
    /// Whether some of its cells are accessed atomically.
    pub is_atomic: bool,
    /// Whether the kernel asks how long it is, or how large.
    pub is_asked: bool,
    /// Its elements are words, and are named by the addresses of their first bytes.
    pub is_by_address: bool,
    /// Of a texture, the number of its dimensions: its texels lie row after row, as many as the uniform of its size says.
    pub dimensions: Option<u8>,
}

/// How a kernel uses a buffer. All of them are storage buffers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindingKind {
    /// `StructuredBuffer`, `Buffer`, `ByteAddressBuffer`, a texture that is read texel by texel: an array of elements.
    ReadOnlyStorage,
    /// Their `RW` forms, and append and consume buffers.
    ReadWriteStorage,
    /// The hidden counter of a structured buffer: one uint, read and written.
    Counter,
    /// Every `cbuffer` member and plain global in use, as one read-only storage buffer of one element.
    Uniform {
        /// In order of offset.
        members: Vec<UniformMember>,
    },
}

impl BindingKind {
    /// Whether the kernel may write to it.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        matches!(self, BindingKind::ReadWriteStorage | BindingKind::Counter)
    }

    /// Whether it is a buffer or a texture: a host decides how many elements it has.
    #[must_use]
    pub fn is_array(&self) -> bool {
        matches!(self, BindingKind::ReadOnlyStorage | BindingKind::ReadWriteStorage)
    }
}

/// One uniform: a `cbuffer` member, a plain global or a whole `ConstantBuffer`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UniformMember {
    /// Its HLSL name.
    pub name: String,
    /// Its HLSL type; of a `ConstantBuffer` the element's.
    pub ty: Type,
    /// The global it is.
    pub global: GlobalId,
    /// Offsets are from the start of the buffer.
    pub words: Vec<Word>,
    /// It is the width, height and depth of the texture `global`, which no host code sets.
    pub is_size: bool,
}

/// The memory layout of one buffer element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    /// Its 32-bit components in order of offset; padding is not listed.
    pub words: Vec<Word>,
    /// Bytes from one element to the next.
    pub stride: u32,
}

/// One 32-bit component in memory. A `bool` is stored as a `Uint` that is 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// In bytes.
    pub offset: u32,
    /// `Bool` where 0 and 1 are the only values that the host should write.
    pub scalar: Scalar,
}

/// Why an entry point cannot be lowered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LowerError {
    pub message: String,
    /// A range of [`Shader::text`].
    pub span: Span,
}

impl LowerError {
    pub(crate) fn unsupported(what: impl std::fmt::Display, span: Span) -> Self {
        Self {
            message: format!("unsupported: {what}"),
            span,
        }
    }
}

/// Why a lowered kernel cannot be written as WGSL.
#[derive(Debug, thiserror::Error)]
#[error("the WGSL writer refused the kernel: {0}")]
pub struct WgslError(#[from] naga::back::wgsl::Error);

/// Lowers the kernel that starts at `entry`, with everything it can reach.
///
/// # Errors
/// At the place of the first construct that has no WGSL form, or that naga's validator refuses.
pub fn lower(shader: &Shader, entry: FunctionId) -> Result<Lowered, LowerError> {
    module::lower_entry(shader, entry, None)
}

/// As [`lower`], with the statements inside `span` (of one block, the outermost that `span` holds) run `passes` times
/// and a group barrier at the end of each pass. The result computes something else; it is for timing.
///
/// # Errors
/// As [`lower`]; also where no statement lies within `span`, or one leaves it by `break` or `continue`.
pub fn lower_repeated(
    shader: &Shader,
    entry: FunctionId,
    span: Span,
    passes: u32,
) -> Result<Lowered, LowerError> {
    module::lower_entry(shader, entry, Some((span, passes)))
}

/// Writes the kernel as WGSL. `enable_subgroups` asks for the `enable subgroups;` line, where subgroup operations are
/// used: browsers and Tint need it, naga's own reader refuses it.
///
/// # Errors
/// Where naga's writer has no form for something in the module.
pub fn wgsl(lowered: &Lowered, enable_subgroups: bool) -> Result<String, WgslError> {
    let text = naga::back::wgsl::write_string(
        &lowered.module,
        &lowered.info,
        naga::back::wgsl::WriterFlags::empty(),
    )?;
    Ok(if enable_subgroups && lowered.uses_subgroups {
        format!("enable subgroups;\n{text}")
    } else {
        text
    })
}
