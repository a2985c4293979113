//! Groups too large to be run at once.

use shaderlint_simt::{Claim, Found, analyze};

/// Vertices appended behind branches on values of a field, in groups of `edge` cubed threads.
fn surface(edge: u32, atomic: &str) -> Vec<Claim> {
    let text = format!(
        r"
AppendStructuredBuffer<float3> Found; RWStructuredBuffer<uint> Count; RWStructuredBuffer<float3> Out;
Texture3D<float> Field; SamplerState smp; uint3 size; float level; StructuredBuffer<int> Table;
float density(uint3 p)
{{
    if (any(p <= 0 || p >= size - 1))
        return level;
    return Field.SampleLevel(smp, (float3)p / (float3)size, 0);
}}
float3 normal(uint3 c)
{{
    float dx = density(c + uint3(1, 0, 0)) - density(c - uint3(1, 0, 0));
    float dy = density(c + uint3(0, 1, 0)) - density(c - uint3(0, 1, 0));
    float dz = density(c + uint3(0, 0, 1)) - density(c - uint3(0, 0, 1));
    return normalize(float3(dx, dy, dz));
}}
float3 between(uint3 a, uint3 b)
{{
    float t = (level - density(a)) / (density(b) - density(a));
    return normal(a) + t * (normal(b) - normal(a));
}}
[numthreads({edge}, {edge}, {edge})]
void main(uint3 id : SV_DispatchThreadID, uint gi : SV_GroupIndex)
{{
    uint3 corner[8];
    uint pattern = 0;
    for (uint k = 0; k < 8; ++k)
    {{
        corner[k] = id + uint3(k & 1, (k >> 1) & 1, k >> 2);
        if (density(corner[k]) < level)
            pattern |= 1u << k;
    }}
    int n = Table[pattern];
    for (int i = 0; i < n; i += 3)
    {{
        int v = Table[256 + i], w = Table[512 + i];
        float3 p = between(corner[v], corner[w]) + between(corner[w], corner[v]) + between(corner[w & 3], corner[v & 3]);
        uint s;
        {atomic}
    }}
}}
"
    );
    let (shader, problems) = shaderlint_hlsl::parse(text.into_bytes());
    assert_eq!(problems, []);
    let (entry, _) = shader.entry_points().next().expect("an entry point");
    let analysis = analyze(&shader, entry);
    assert_eq!(analysis.claims_stopped, None);
    analysis.claims
}

#[test]
fn a_large_group_is_looked_at_part_by_part() {
    let of = |claims: Vec<Claim>| {
        claims
            .iter()
            .map(|claim| (claim.lanes, claim.found))
            .collect::<Vec<_>>()
    };
    for (edge, lanes) in [(4, 64), (8, 512)] {
        let append = surface(edge, "Found.Append(p);");
        assert_eq!(of(append), [(lanes, Found::Slot)]);
        let one = surface(edge, "InterlockedAdd(Count[0], 1, s); Out[s] = p;");
        assert!(one.iter().all(|claim| claim.parts.is_ok()));
        assert_eq!(of(one), [(lanes, Found::Slot)]);
    }
    // A cell for each part is not one of all.
    let apart = surface(8, "InterlockedAdd(Count[gi / 64], 1, s); Out[s] = p;");
    assert_eq!(of(apart), []);
    // Nor where few are in the second part, or add nothing in the first.
    for atomic in [
        "if (gi < 67) { InterlockedAdd(Count[gi < 64 ? 8 : 9], 1, s); Out[s] = p; }",
        "if (gi >= 64 || gi % 4 == 0) { InterlockedAdd(Count[gi < 64 ? 8 : 9], 1, s); Out[s] = p; }",
        "InterlockedAdd(Count[gi < 64 ? 8 : 9], gi < 64 ? 0 : 1, s); Out[s] = p;",
        "if (gi >= 60 && gi < 66) { InterlockedAdd(Count[8], 1, s); Out[s] = p; }",
    ] {
        assert_eq!(of(surface(8, atomic)), [], "{atomic}");
    }
}
