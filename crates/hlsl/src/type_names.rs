//! The names of HLSL's own types.

use std::fmt::Write;
use std::sync::Arc;

use crate::tree::Shader;
use crate::types::{ResourceKind, Scalar, StructId, Type};

/// Names of scalar types, each possibly followed by a count or by rows and columns.
const SCALARS: &[(&[u8], Scalar)] = &[
    (b"bool", Scalar::Bool),
    (b"int", Scalar::Int),
    (b"int32_t", Scalar::Int),
    (b"uint", Scalar::Uint),
    (b"uint32_t", Scalar::Uint),
    (b"dword", Scalar::Uint),
    (b"float", Scalar::Float),
    (b"float32_t", Scalar::Float),
    (b"half", Scalar::Half),
    (b"float16_t", Scalar::Half),
    (b"min16float", Scalar::Half),
    (b"min10float", Scalar::Half),
    (b"int16_t", Scalar::Int16),
    (b"min16int", Scalar::Int16),
    (b"min12int", Scalar::Int16),
    (b"uint16_t", Scalar::Uint16),
    (b"min16uint", Scalar::Uint16),
    (b"int64_t", Scalar::Int64),
    (b"uint64_t", Scalar::Uint64),
    (b"double", Scalar::Double),
    (b"float64_t", Scalar::Double),
];

fn digit(byte: u8) -> Option<u8> {
    matches!(byte, b'1'..=b'4').then(|| byte - b'0')
}

/// Whether the language has a scalar, vector or matrix type of this name.
#[must_use]
pub fn is_type_name(word: &[u8]) -> bool {
    builtin(word).is_some()
}

/// The scalar, vector or matrix type of this name, or `void`.
pub(crate) fn builtin(word: &[u8]) -> Option<Type> {
    match word {
        b"void" => return Some(Type::Void),
        b"vector" => return Some(Type::Vector(Scalar::Float, 4)),
        b"matrix" => return Some(Type::Matrix(Scalar::Float, 4, 4)),
        b"unsigned" => return Some(Type::UINT),
        _ => {}
    }
    if !matches!(word.first(), Some(b'b' | b'i' | b'u' | b'd' | b'f' | b'h' | b'm')) {
        return None;
    }
    SCALARS
        .iter()
        .find_map(|&(name, scalar)| match word.strip_prefix(name)? {
            [] => Some(Type::Scalar(scalar)),
            [n] => Some(Type::Vector(scalar, digit(*n)?)),
            [rows, b'x', columns] => Some(Type::Matrix(scalar, digit(*rows)?, digit(*columns)?)),
            _ => None,
        })
}

/// The resource type of this name, over `element`.
pub(crate) fn resource(word: &[u8], element: Option<Type>) -> Option<Type> {
    use ResourceKind as Kind;
    let kind = match word {
        b"StructuredBuffer" => Kind::StructuredBuffer,
        b"RWStructuredBuffer" | b"RasterizerOrderedStructuredBuffer" => Kind::RwStructuredBuffer,
        b"AppendStructuredBuffer" => Kind::AppendStructuredBuffer,
        b"ConsumeStructuredBuffer" => Kind::ConsumeStructuredBuffer,
        b"Buffer" => Kind::Buffer,
        b"RWBuffer" | b"RasterizerOrderedBuffer" => Kind::RwBuffer,
        b"ByteAddressBuffer" => return Some(Type::Resource(Kind::ByteAddressBuffer, None)),
        b"RWByteAddressBuffer" | b"RasterizerOrderedByteAddressBuffer" => {
            return Some(Type::Resource(Kind::RwByteAddressBuffer, None));
        }
        b"ConstantBuffer" | b"TextureBuffer" => Kind::ConstantBuffer,
        b"SamplerState"
        | b"Sampler"
        | b"SamplerComparisonState"
        | b"sampler"
        | b"sampler1D"
        | b"sampler2D"
        | b"sampler3D"
        | b"samplerCUBE"
        | b"sampler_state" => return Some(Type::Resource(Kind::Sampler, None)),
        b"RaytracingAccelerationStructure" => {
            return Some(Type::Resource(Kind::AccelerationStructure, None));
        }
        b"texture" => Kind::Texture,
        b"RWTexture1D"
        | b"RWTexture1DArray"
        | b"RWTexture2D"
        | b"RWTexture2DArray"
        | b"RWTexture2DMS"
        | b"RWTexture2DMSArray"
        | b"RWTexture3D"
        | b"RasterizerOrderedTexture1D"
        | b"RasterizerOrderedTexture1DArray"
        | b"RasterizerOrderedTexture2D"
        | b"RasterizerOrderedTexture2DArray"
        | b"RasterizerOrderedTexture3D"
        | b"FeedbackTexture2D"
        | b"FeedbackTexture2DArray" => Kind::RwTexture,
        b"Texture1D" | b"Texture1DArray" | b"Texture2D" | b"Texture2DArray" | b"Texture2DMS"
        | b"Texture2DMSArray" | b"Texture3D" | b"TextureCube" | b"TextureCubeArray" => Kind::Texture,
        _ => return None,
    };
    let typed = matches!(
        kind,
        Kind::Buffer | Kind::RwBuffer | Kind::Texture | Kind::RwTexture
    );
    let element = element.or_else(|| typed.then_some(Type::Vector(Scalar::Float, 4)));
    Some(Type::Resource(kind, element.map(Arc::new)))
}

/// Types of other stages, and types for rays: their values are not modelled.
pub(crate) fn is_without_model(word: &[u8]) -> bool {
    matches!(
        word,
        b"InputPatch"
            | b"OutputPatch"
            | b"PointStream"
            | b"LineStream"
            | b"TriangleStream"
            | b"SubpassInput"
            | b"SubpassInputMS"
            | b"RayDesc"
            | b"RayQuery"
            | b"BuiltInTriangleIntersectionAttributes"
            | b"string"
    ) || word.ends_with(b"InputRecord")
        || word.ends_with(b"InputRecords")
        || word.ends_with(b"OutputRecords")
        || word.starts_with(b"NodeOutput")
}

/// A type as HLSL writes it; for a resource, its kind.
#[must_use]
pub fn type_name(shader: &Shader, ty: &Type) -> String {
    match ty {
        Type::Void => "void".to_owned(),
        Type::Scalar(scalar) => scalar.name().to_owned(),
        Type::Vector(scalar, n) => format!("{}{n}", scalar.name()),
        Type::Matrix(scalar, rows, columns) => format!("{}{rows}x{columns}", scalar.name()),
        Type::Struct(StructId(id)) => {
            let found = shader.structs.get(*id as usize);
            found.map_or_else(|| "?".to_owned(), |found| found.name.clone())
        }
        Type::Array(element, length) => {
            // The outermost length is written first.
            let (mut inner, mut lengths) = (element, format!("[{length}]"));
            while let Type::Array(next, length) = &**inner {
                let _ = write!(lengths, "[{length}]");
                inner = next;
            }
            format!("{}{lengths}", type_name(shader, inner))
        }
        Type::Resource(kind, None) => format!("{kind:?}"),
        Type::Resource(kind, Some(element)) => format!("{kind:?}<{}>", type_name(shader, element)),
        Type::Unknown => "?".to_owned(),
    }
}
