//! HLSL's types, as far as compute kernels need them.

use std::sync::Arc;

/// A scalar type. `half`, `min16float` and similar types are distinct from `float`: the target decides their width.
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
    /// An enumeration, which is a word. Beside an `int` it is an `int`. Whether it is signed by itself is not settled
    /// (in DXC, it is if an enumerator is negative): if the difference matters, the result is unknown.
    Enum(EnumId),
    /// An enumeration over `uint`. Beside an `int`, it is a `uint` (C++) or becomes an `int` (DXC): that is not
    /// settled either.
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

    /// Whether compilers distinguish types that are one type here: `half` and `min16float`, or `min16int` and
    /// `min12int`.
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

/// An enumeration of a unit, by its number.
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
    /// The structure that rays are traced against.
    AccelerationStructure,
}

impl ResourceKind {
    /// Whether its words are addressed in bytes.
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
    /// Element type and length. A length of 0 means an unsized or unreadable array.
    Array(Arc<Type>, u32),
    /// A resource and the type of its elements, if it has one.
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

    /// Whether it is a writable resource, or an array of writable resources.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        match self {
            Type::Resource(kind, _) => kind.is_writable(),
            Type::Array(element, _) => element.is_writable(),
            _ => false,
        }
    }

    /// The same shape with another component type; unchanged if it has no component type.
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
