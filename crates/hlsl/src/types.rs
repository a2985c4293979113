//! HLSL's types, as far as compute kernels need them.

use std::sync::Arc;

/// A scalar type. `half`, `min16float` and their kin are kept apart from `float`:
/// their width is the target's business.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scalar {
    Bool,
    Int,
    Uint,
    Float,
    /// `half`, `float16_t`, `min16float`, `min10float`: a float of at least 10 bits.
    Half,
    /// `int16_t`, `min16int`, `min12int`.
    Int16,
    /// `uint16_t`, `min16uint`.
    Uint16,
    Int64,
    Uint64,
    Double,
    /// An enumeration, a word. Beside an `int` it is one. Whether it has a sign by itself is not settled (to DXC it has one where
    /// an enumerator is below zero): where that makes a difference, nothing is known.
    Enum(EnumId),
    /// One over `uint`: whether it is a `uint` beside an `int` (C++) or becomes one (DXC) is not settled either.
    UintEnum(EnumId),
}

impl Scalar {
    /// Whether values of this type are exactly 32 bits (`bool` counts: it is 0 or 1).
    #[must_use]
    pub fn is_word(self) -> bool {
        use Scalar as S;
        matches!(
            self,
            S::Bool | S::Int | S::Uint | S::Float | S::Enum(_) | S::UintEnum(_)
        )
    }

    /// Whether compilers tell apart what is one type here: `half` and `min16float`, or `min16int` and `min12int`.
    #[must_use]
    pub(crate) fn is_small(self) -> bool {
        matches!(self, Scalar::Half | Scalar::Int16 | Scalar::Uint16)
    }

    #[must_use]
    pub fn is_enum(self) -> bool {
        matches!(self, Scalar::Enum(_) | Scalar::UintEnum(_))
    }

    /// The type of the words that hold it.
    #[must_use]
    pub fn underlying(self) -> Scalar {
        match self {
            Scalar::Enum(_) => Scalar::Int,
            Scalar::UintEnum(_) => Scalar::Uint,
            other => other,
        }
    }

    #[must_use]
    pub fn is_float(self) -> bool {
        matches!(self, Scalar::Float | Scalar::Half | Scalar::Double)
    }

    /// The name HLSL gives it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Scalar::Bool => "bool",
            Scalar::Int => "int",
            Scalar::Uint => "uint",
            Scalar::Float => "float",
            Scalar::Half => "half",
            Scalar::Int16 => "int16_t",
            Scalar::Uint16 => "uint16_t",
            Scalar::Int64 => "int64_t",
            Scalar::Uint64 => "uint64_t",
            Scalar::Double => "double",
            Scalar::Enum(_) | Scalar::UintEnum(_) => "enum",
        }
    }
}

/// Which of a unit's enumerations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EnumId(pub u32);

/// Index into [`crate::Shader::structs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StructId(pub u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResourceKind {
    StructuredBuffer,
    RwStructuredBuffer,
    AppendStructuredBuffer,
    ConsumeStructuredBuffer,
    /// `Buffer<T>`, a typed buffer.
    Buffer,
    RwBuffer,
    ByteAddressBuffer,
    RwByteAddressBuffer,
    ConstantBuffer,
    /// Any `Texture*`.
    Texture,
    /// Any `RWTexture*`.
    RwTexture,
    Sampler,
    /// What rays are traced against.
    AccelerationStructure,
}

impl ResourceKind {
    /// Whether its words are told by their addresses in bytes.
    #[must_use]
    pub fn is_by_address(self) -> bool {
        matches!(
            self,
            ResourceKind::ByteAddressBuffer | ResourceKind::RwByteAddressBuffer
        )
    }

    #[must_use]
    pub fn is_texture(self) -> bool {
        matches!(self, ResourceKind::Texture | ResourceKind::RwTexture)
    }

    /// Whether a shader may write through it.
    #[must_use]
    pub fn is_writable(self) -> bool {
        matches!(
            self,
            ResourceKind::RwStructuredBuffer
                | ResourceKind::AppendStructuredBuffer
                | ResourceKind::ConsumeStructuredBuffer
                | ResourceKind::RwBuffer
                | ResourceKind::RwByteAddressBuffer
                | ResourceKind::RwTexture
        )
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    Void,
    Scalar(Scalar),
    /// Component type and count, 1 to 4.
    Vector(Scalar, u8),
    /// Component type, rows, columns.
    Matrix(Scalar, u8, u8),
    Struct(StructId),
    /// Element type and length. A length of 0 is an unsized or unreadable one.
    Array(Arc<Type>, u32),
    /// A resource and the type of its elements, where it has one.
    Resource(ResourceKind, Option<Arc<Type>>),
    /// A type this front end does not know.
    Unknown,
}

impl Type {
    pub const BOOL: Type = Type::Scalar(Scalar::Bool);
    pub const INT: Type = Type::Scalar(Scalar::Int);
    pub const UINT: Type = Type::Scalar(Scalar::Uint);
    pub const FLOAT: Type = Type::Scalar(Scalar::Float);

    /// The component type of a scalar, vector or matrix.
    #[must_use]
    pub fn scalar(&self) -> Option<Scalar> {
        match self {
            Type::Scalar(scalar) | Type::Vector(scalar, _) | Type::Matrix(scalar, ..) => Some(*scalar),
            _ => None,
        }
    }

    /// Whether it is a resource that a shader may write through, or an array of such.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        match self {
            Type::Resource(kind, _) => kind.is_writable(),
            Type::Array(element, _) => element.is_writable(),
            _ => false,
        }
    }

    /// The same shape over another component type; unchanged where there is none.
    #[must_use]
    pub fn with_scalar(&self, scalar: Scalar) -> Type {
        match self {
            Type::Scalar(_) => Type::Scalar(scalar),
            Type::Vector(_, n) => Type::Vector(scalar, *n),
            Type::Matrix(_, rows, columns) => Type::Matrix(scalar, *rows, *columns),
            other => other.clone(),
        }
    }
}
