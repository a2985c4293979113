//! What hangs on the other threads of a group, or on other groups.

use super::{GLOBALS, runs_of, said, said_behind, words};

/// The level that is sampled hangs on what the other threads of the quad sample.
#[test]
fn a_texture_is_sampled_for_all_threads_at_once() {
    let before = "Texture2D<float> T; SamplerState S;";
    let said_of = |bodies: [&str; 2]| said_behind(before, bodies);
    let sampled = |method: &str, at: &str| {
        format!(
            "uint j = {at}; float f = T.{method}; s[j] = asuint(f); GroupMemoryBarrierWithGroupSync(); Y[id.x] = s[gi];"
        )
    };
    for (method, has_derivatives) in [
        ("Sample(S, float2(F[j], 0))", true),
        ("SampleBias(S, float2(F[j], 0), 1)", true),
        ("CalculateLevelOfDetail(S, float2(F[j], 0))", true),
        ("SampleLevel(S, float2(F[j], 0), 0)", false),
        ("SampleGrad(S, float2(F[j], 0), 0, 1)", false),
    ] {
        let here = sampled(method, "gi");
        assert_eq!(said_of([&here, &here]), "equal", "{method}");
        let there = sampled(method, "((gi & 1) << 5) | (gi >> 1)");
        let said = said_of([&here, &there]);
        assert_eq!(said == "equal", !has_derivatives, "{method}: {said}");
    }
    let hoisted = "float f = T.Sample(S, float2(F[gi], 0)); if (X[gi] > 3) Y[id.x] = asuint(f);";
    let guarded = "if (X[gi] > 3) { float f = T.Sample(S, float2(F[gi], 0)); Y[id.x] = asuint(f); }";
    let said = said_of([hoisted, guarded]);
    assert!(said.starts_with("not proved"), "{said}");
}

/// A compiler takes an index of resources that has no mark for one that is the same in all threads.
#[test]
fn an_index_that_differs_between_threads_is_marked() {
    let before = "StructuredBuffer<uint> B[4];";
    let said_of = |bodies: [&str; 2]| said_behind(before, bodies);
    let marked = "Y[id.x] = B[NonUniformResourceIndex(X[id.x] & 3)][0] + B[Count & 3][1];";
    let moved = "Y[id.x] = B[X[id.x] & 3][0] + B[NonUniformResourceIndex(Count & 3)][1];";
    let everywhere =
        "Y[id.x] = B[NonUniformResourceIndex(X[id.x] & 3)][0] + B[NonUniformResourceIndex(Count & 3)][1];";
    let heap = "StructuredBuffer<uint> b = ResourceDescriptorHeap[MARK(X[id.x])]; Y[id.x] = b[gi];";
    let [heap, unmarked] = ["NonUniformResourceIndex", ""].map(|mark| heap.replace("MARK", mark));
    for pair in [
        [marked, marked],
        [marked, everywhere],
        [moved, marked],
        [heap.as_str(), &heap],
    ] {
        assert_eq!(said_of(pair), "equal", "{pair:?}");
    }
    for pair in [[marked, moved], [everywhere, moved], [heap.as_str(), &unmarked]] {
        let said = said_of(pair);
        assert!(said.starts_with("not proved"), "{pair:?}: {said}");
    }
}

/// A loop that waits for what another group writes orders what comes behind it.
#[test]
fn a_wait_for_other_groups_stays() {
    let before = "globallycoherent RWStructuredBuffer<uint> D;";
    let said_of = |bodies: [&str; 2]| said_behind(before, bodies);
    let behind = "DeviceMemoryBarrier(); if (gi == 0) D[1] = g.x;";
    let [waits, goes_on] = ["while (D[0] != g.x) {}", ""].map(|wait| format!("{wait} {behind}"));
    assert_eq!(said_of([&waits, &waits]), "equal");
    let said = said_of([&waits, &goes_on]);
    assert_eq!(
        said,
        "not proved: a loop that may wait for other groups is missing"
    );
}

/// Where the first has no barrier, the second may not have one that some threads leave out.
#[test]
fn no_barrier_comes_that_not_all_threads_reach() {
    let barrier = "GroupMemoryBarrierWithGroupSync();";
    let plain = "if (gi < Count) Y[id.x] = X[id.x];";
    let parted = format!("if (gi < Count) {{ Y[id.x] = X[id.x]; {barrier} }}");
    let said_now = said([plain, &parted]);
    assert_eq!(said_now, "not proved: a barrier that not all threads may reach");
    assert_eq!(said([&parted, &parted]), "equal");
}

#[test]
fn a_truth_of_a_system_value_is_one() {
    let of = |value: &str| {
        format!(
            "{GLOBALS}[numthreads(64, 1, 1)] void main(uint gi : SV_GroupIndex, bool b : SV_GroupIndex) {{ Y[gi] = {value}; }}"
        )
    };
    let words_of = |pair: [&str; 2]| {
        let [a, b] = pair.map(of);
        words(&runs_of([&a, &b]))
    };
    assert_eq!(words_of(["b", "gi != 0"]), "equal");
    assert!(words_of(["b", "gi"]).contains("against"));
}
