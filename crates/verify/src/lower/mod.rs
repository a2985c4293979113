//! Typed HLSL tree to naga IR.
//!
//! Each entry point becomes one naga module. Every HLSL variable is a naga variable, and every place is a pointer. Every naga
//! expression is emitted where it is made, so evaluation order is the text's order.
//!
//! Each floor uses those before it: types and constants; texture uses and reach; the module under construction; its bindings
//! and globals; the function under construction; places, expressions, calls and statements; functions; the entry point.

mod atomic;
mod binding;
mod body;
mod constant;
mod convert;
mod entry;
mod entry_inputs;
mod expression;
mod function;
mod globals;
mod hashed;
mod intrinsic;
mod method;
mod module;
mod operator;
mod place;
mod reach;
mod statement;
mod texture;
mod texture_use;
mod types;
mod wave;

use std::collections::BTreeSet;

use shaderlint_hlsl::{FunctionId, GlobalId, Scalar, Shader, Span, Type};

use module::Repeat;

/// One entry point as a validated naga module.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// Holds exactly one entry point.
    pub module: naga::Module,
    /// The result of naga's validator. The WGSL writer needs it.
    pub info: naga::valid::ModuleInfo,
    /// The entry point's name in HLSL. WGSL may spell it differently; it is the module's only one.
    pub entry: String,
    /// `numthreads`.
    pub group_size: [u32; 3],
    /// The size of the group on the GPU: `numthreads`, unless the kernel asks for lane ids in a group of several rows. naga
    /// has no lane ids there. So the group becomes one row in the order of `SV_GroupIndex`, and the other ids are computed
    /// from that.
    pub workgroup_size: [u32; 3],
    /// The bindings that the entry point reaches, in order of binding number.
    pub bindings: Vec<Binding>,
    /// Whether the device needs subgroup operations.
    pub uses_subgroups: bool,
    /// The least and the greatest wave size that `[WaveSize]` allows.
    pub wave_sizes: Option<(u32, u32)>,
    /// Names of everything that a hash of its arguments replaces: samples of textures, functions without a body, code that
    /// could not be understood.
    pub replaced: BTreeSet<String>,
    /// Those of them that may have any value, so that the hash is one of theirs: texels. The result of a function or a sample
    /// may be the same where the hash differs: `pack_u8(v)` and `pack_u8(v & 255)`.
    pub free: BTreeSet<String>,
    /// Why floats may differ from those of the text, if they may: WGSL has 32 bits for those of 16, and no `precise`.
    pub other_floats: Option<&'static str>,
}

impl Lowered {
    /// Whether the group's rows lie end to end on the GPU, so that its waves are those of a linear group.
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

    /// Whether the kernel has floats.
    #[must_use]
    pub fn has_floats(&self) -> bool {
        let mut types = self.module.types.iter();
        types.any(|(_, kind)| kind.inner.scalar_kind() == Some(naga::ScalarKind::Float))
    }

    /// Whether the kernel divides, or takes a function that may magnify a rounding error without bound, such as a logarithm near
    /// 0. The rounding error of a sum does not bound that of the result then.
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

/// A buffer that the host binds. Its layout is WGSL's, not that of HLSL's packing rules: both kernels of a comparison follow
/// the same rules.
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
    /// One element of the buffer; of the uniforms, all of them together.
    pub element: Element,
    /// The global behind it; `None` for the uniforms, which are many.
    pub global: Option<GlobalId>,
    /// Whether the kernel accesses some of its cells atomically.
    pub is_atomic: bool,
    /// Whether the kernel asks for its length or size.
    pub is_asked: bool,
    /// Its elements are words, and HLSL names each by the address of its first byte.
    pub is_by_address: bool,
    /// The number of a texture's dimensions; `None` for a buffer. Texels lie row after row; a uniform holds their number in each
    /// dimension.
    pub dimensions: Option<u8>,
}

/// How a kernel uses a buffer. All of them are storage buffers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindingKind {
    /// An array of elements: `StructuredBuffer`, `Buffer`, `ByteAddressBuffer`, a texture that is read texel by texel.
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

    /// Whether it is a buffer or a texture, whose number of elements the host decides.
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
    /// It is the width, height and depth of the texture `global`. HLSL has no such uniform.
    pub is_size: bool,
}

/// The memory layout of one buffer element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    /// Its 32-bit components in order of offset, without padding.
    pub words: Vec<Word>,
    /// Bytes from one element to the next.
    pub stride: u32,
}

/// One 32-bit component in memory. A `bool` is a `Uint` there, 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// In bytes.
    pub offset: u32,
    /// `Bool` where the host should write only 0 or 1.
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
    entry::lower_entry(shader, entry, None)
}

/// As [`lower`], with the statements inside `span` repeated `passes` times and a group barrier at the end of each pass. They are
/// those of one block, the outermost that `span` holds. The result computes something else; it is for timing.
///
/// # Errors
/// As [`lower`]; also where no statement lies within `span`, or one leaves it by `break` or `continue`.
pub fn lower_repeated(
    shader: &Shader,
    entry: FunctionId,
    span: Span,
    passes: u32,
) -> Result<Lowered, LowerError> {
    entry::lower_entry(shader, entry, Some(Repeat { span, passes }))
}

/// Writes the kernel as WGSL. With `enable_subgroups`, a kernel with subgroup operations gets the line `enable subgroups;`:
/// browsers and Tint need it, naga's own reader refuses it.
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
