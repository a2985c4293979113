//! The names that HLSL predefines for inline ray tracing. Ray queries themselves are not modelled: their results are
//! unknown.

use std::borrow::Cow;

use super::Lowering;
use crate::span::Span;
use crate::tree::{Field, Struct};
use crate::types::{Scalar, StructId, Type};

const FLOAT3: Type = Type::Vector(Scalar::Float, 3);
const RAY_DESC: &[u8] = b"RayDesc";

/// The value of a predefined constant.
pub(super) fn constant(name: &[u8]) -> Option<u32> {
    Some(match name {
        b"RAY_FLAG_NONE" | b"COMMITTED_NOTHING" | b"CANDIDATE_NON_OPAQUE_TRIANGLE" => 0,
        b"RAY_FLAG_FORCE_OPAQUE" | b"COMMITTED_TRIANGLE_HIT" | b"CANDIDATE_PROCEDURAL_PRIMITIVE" => 1,
        b"RAY_FLAG_FORCE_NON_OPAQUE" | b"COMMITTED_PROCEDURAL_PRIMITIVE_HIT" => 2,
        b"RAY_FLAG_ACCEPT_FIRST_HIT_AND_END_SEARCH" => 4,
        b"RAY_FLAG_SKIP_CLOSEST_HIT_SHADER" => 8,
        b"RAY_FLAG_CULL_BACK_FACING_TRIANGLES" => 0x10,
        b"RAY_FLAG_CULL_FRONT_FACING_TRIANGLES" => 0x20,
        b"RAY_FLAG_CULL_OPAQUE" => 0x40,
        b"RAY_FLAG_CULL_NON_OPAQUE" => 0x80,
        b"RAY_FLAG_SKIP_TRIANGLES" => 0x100,
        b"RAY_FLAG_SKIP_PROCEDURAL_PRIMITIVES" => 0x200,
        _ => return None,
    })
}

/// The return type of a method of a ray query. Other types have no methods of these names.
pub(super) fn query_method(name: &[u8]) -> Option<Type> {
    Some(match name {
        b"TraceRayInline" | b"Abort" | b"CommitNonOpaqueTriangleHit" | b"CommitProceduralPrimitiveHit" => {
            Type::Void
        }
        b"Proceed"
        | b"CandidateProceduralPrimitiveNonOpaque"
        | b"CandidateTriangleFrontFace"
        | b"CommittedTriangleFrontFace" => Type::BOOL,
        b"RayFlags" | b"CandidateType" | b"CommittedStatus" => Type::UINT,
        b"RayTMin" | b"CandidateTriangleRayT" | b"CommittedRayT" => Type::FLOAT,
        b"WorldRayOrigin" | b"WorldRayDirection" => FLOAT3,
        b"CandidateTriangleBarycentrics" | b"CommittedTriangleBarycentrics" => Type::Vector(Scalar::Float, 2),
        _ => {
            let rest = name
                .strip_prefix(b"Candidate")
                .or_else(|| name.strip_prefix(b"Committed"))?;
            match rest {
                b"InstanceIndex"
                | b"InstanceID"
                | b"GeometryIndex"
                | b"PrimitiveIndex"
                | b"InstanceContributionToHitGroupIndex" => Type::UINT,
                b"ObjectRayOrigin" | b"ObjectRayDirection" => FLOAT3,
                b"ObjectToWorld3x4" | b"WorldToObject3x4" => Type::Matrix(Scalar::Float, 3, 4),
                b"ObjectToWorld4x3" | b"WorldToObject4x3" => Type::Matrix(Scalar::Float, 4, 3),
                _ => return None,
            }
        }
    })
}

impl Lowering<'_> {
    /// Declares the struct that describes a ray, if the text names it.
    pub(super) fn declare_ray(&mut self) {
        if !self.text.windows(RAY_DESC.len()).any(|word| word == RAY_DESC) {
            return;
        }
        let fields = [
            ("Origin", FLOAT3),
            ("TMin", Type::FLOAT),
            ("Direction", FLOAT3),
            ("TMax", Type::FLOAT),
        ];
        let id = StructId(u32::try_from(self.shader.structs.len()).unwrap_or(u32::MAX));
        self.struct_sizes.push((1, 4));
        self.scopes.push(Cow::Borrowed(b"RayDesc::"));
        self.shader.structs.push(Struct {
            name: "RayDesc".to_owned(),
            fields: fields
                .map(|(name, ty)| Field {
                    name: name.to_owned(),
                    ty,
                    semantic: None,
                    is_base: false,
                })
                .into(),
            span: Span::default(),
        });
        self.declare_name(RAY_DESC, Type::Struct(id));
    }
}
