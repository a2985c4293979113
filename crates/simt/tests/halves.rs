//! Ladders over the halves of words, as of packed 16-bit counters.

use shaderlint_simt::{Half, Kind, analyze};

/// What is found in a ladder whose step is `step`: `add` is the word of the thread `s` before.
fn found(step: &str) -> Vec<(Kind, Option<Half>, u32)> {
    let source = format!(
        "RWStructuredBuffer<uint> Out; groupshared uint g[64];
[numthreads(64,1,1)] void main(uint gi : SV_GroupIndex) {{
    g[gi] = Out[gi]; GroupMemoryBarrierWithGroupSync();
    for (uint s = 1; s < 64; s <<= 1) {{
        uint add = gi >= s ? g[gi - s] : 0; GroupMemoryBarrierWithGroupSync();
        g[gi] = {step}; GroupMemoryBarrierWithGroupSync();
    }}
    Out[gi] = g[gi];
}}"
    );
    let (shader, problems) = shaderlint_hlsl::parse(source.into_bytes());
    assert!(problems.is_empty(), "{problems:?}");
    let (entry, _) = shader.entry_points().next().expect("an entry point");
    let collectives = analyze(&shader, entry).collectives.into_iter();
    collectives
        .map(|found| {
            assert!(found.half.is_none() || found.rewrite.is_err(), "{step}");
            (found.kind, found.half, found.count)
        })
        .collect()
}

#[test]
fn a_half_is_scanned_and_the_other_is_kept() {
    let high = [(Kind::InclusiveScan, Some(Half::High), 64)];
    let low = [(Kind::InclusiveScan, Some(Half::Low), 64)];
    assert_eq!(found("g[gi] + (add & 0xffff0000)"), high);
    assert_eq!(
        found("(g[gi] & 0xffff) | ((g[gi] & 0xffff0000) + (add & 0xffff0000))"),
        high
    );
    assert_eq!(found("(g[gi] & 0xffff0000) | ((g[gi] + add) & 0xffff)"), low);
    assert_eq!(found("(g[gi] + add) & 0xffff"), low);
}

#[test]
fn carries_are_not_neglected() {
    // What leaves the low half is added to the high one.
    assert_eq!(found("(g[gi] & 0xffff) | ((g[gi] + add) & 0xffff0000)"), []);
    assert_eq!(found("g[gi] + (add & 0xffff)"), []);
    assert_eq!(found("(g[gi] & 0xfffe0000) | ((g[gi] + add) & 0x1ffff)"), []);
    assert_eq!(found("g[gi] + add"), [(Kind::InclusiveScan, None, 64)]);
}

#[test]
fn a_ladder_for_small_waves_alone() {
    let source = "RWStructuredBuffer<uint> Out; groupshared uint g[64];
[numthreads(64,1,1)] void main(uint gi : SV_GroupIndex) {
    if (WaveGetLaneCount() >= 16) { Out[gi] = WavePrefixSum(Out[gi]); return; }
    g[gi] = Out[gi]; GroupMemoryBarrierWithGroupSync();
    for (uint s = 1; s < 64; s <<= 1) {
        uint add = gi >= s ? g[gi - s] : 0; GroupMemoryBarrierWithGroupSync();
        g[gi] += add; GroupMemoryBarrierWithGroupSync();
    }
    Out[gi] = g[gi];
}";
    let (shader, problems) = shaderlint_hlsl::parse(source.as_bytes().to_vec());
    assert!(problems.is_empty(), "{problems:?}");
    let (entry, _) = shader.entry_points().next().expect("an entry point");
    let analysis = analyze(&shader, entry);
    let kinds: Vec<(Kind, u32)> = analysis
        .collectives
        .iter()
        .map(|found| (found.kind, found.count))
        .collect();
    assert_eq!(kinds, [(Kind::InclusiveScan, 64)]);
}
