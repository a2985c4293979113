//! Which atomics are claims, told by the run and not by the text.

mod parts;
mod passes;
mod undeclared;

use shaderlint_simt::{Amount, Atomic, Cells, Claim, Found, analyze};

/// The claims of a kernel of 64 threads with some globals and a body.
fn claims(globals: &str, body: &str) -> Vec<Claim> {
    let text = format!(
        "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out; RWStructuredBuffer<uint> C; cbuffer B {{ uint n; uint k; }};\n\
         groupshared uint g[64]; groupshared uint cell;\n{globals}\n[numthreads(64, 1, 1)]\n\
         void main(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID, uint3 gid : SV_GroupID) {{\n{body}\n}}\n"
    );
    let (shader, _) = shaderlint_hlsl::parse(text.into_bytes());
    let (entry, _) = shader.entry_points().next().expect("an entry point");
    analyze(&shader, entry).claims
}

/// Kind and number of cells of each claim: `slot`, `sum` or `other`.
#[track_caller]
fn check(globals: &str, body: &str, expected: &[&str]) {
    let shown = claims(globals, body).into_iter().map(|claim| {
        let found = match claim.found {
            Found::Slot => "slot",
            Found::Unused => "sum",
            Found::Otherwise => "other",
        };
        match claim.cells {
            Cells::One => found.to_owned(),
            Cells::Few(bins) => format!("{found} in {bins}"),
        }
    });
    assert_eq!(shown.collect::<Vec<_>>(), expected, "{globals} {body}");
}

#[test]
fn what_is_found_makes_the_difference() {
    let claim = "uint s; InterlockedAdd(C[0], 1, s);";
    check("", claim, &["sum"]);
    check("", &format!("{claim} Out[s] = 1;"), &["slot"]);
    check("", &format!("{claim} Out[4 * min(s, 7) + 1] = 1;"), &["slot"]);
    check("", &format!("{claim} Out[id.x] = s;"), &["slot"]);
    check("", &format!("{claim} if (s == 0) Out[0] = 1;"), &["other"]);
    check("", &format!("{claim} Out[id.x] = s == 5;"), &["other"]);
    check("", &format!("{claim} uint t = s; s = 3; Out[s] = 1;"), &["sum"]);
    check(
        "",
        &format!("{claim} if (Src[id.x] > 3) s += 2; Out[s] = 1;"),
        &["slot"],
    );
    // The same variable for two atomics, of which one is a slot.
    check(
        "",
        "uint s; InterlockedAdd(C[0], 1, s); Out[s] = 1; InterlockedAdd(C[1], 6, s);",
        &["slot", "sum"],
    );
    // As far as a loop whose passes are not counted goes.
    check(
        "",
        &format!("{claim} for (uint i = 0; i < n; ++i) Out[s + i] = i;"),
        &["slot"],
    );
}

#[test]
fn one_thread_is_no_claim() {
    let claim = "{ uint s; InterlockedAdd(C[0], 1, s); Out[s] = 1; }";
    for guard in [
        "gi == 0",
        "gi < 1",
        "!gi",
        "id.x == 0",
        "id.x == n",
        "gi == k",
        "id.x == 64 * gid.x",
        "gi == Src[0]",
        "gi == C[7]",
        "all(id == uint3(0, 0, 0))",
        "WaveIsFirstLane()",
        "WaveGetLaneIndex() == 0",
        "WavePrefixCountBits(true) == 0",
        "WavePrefixSum(Src[id.x]) == 0 && Src[id.x] > 0",
        "gi % WaveGetLaneCount() == 0",
    ] {
        check("", &format!("if ({guard}) {claim}"), &[]);
        check("", &format!("if (!({guard})) return; {claim}"), &[]);
        check("", &format!("if (n > 3) {{ if ({guard}) {claim} }}"), &[]);
        let picked = format!("bool leader = {guard}; if (k > 1) {{ if (leader) {claim} }}");
        check("", &picked, &[]);
    }
    for guard in [
        "id.x < n",
        "gi < n",
        "n > 0",
        "Src[id.x] == 7",
        "Src[id.x] > 3 && id.x < n",
        "gi != 0",
        "C[id.x] != k",
        "(Src[gid.x] >> (gi & 31) & 1) != 0",
        // What a size divides is large beside it.
        "id.x < n / k && Src[id.x] != 0",
        "id.x < (n + k - 1) / k * ((Src[0] + k - 1) / k)",
    ] {
        check("", &format!("if ({guard}) {claim}"), &["slot"]);
        check("", &format!("if (!({guard})) return; {claim}"), &["slot"]);
    }
}

/// All threads go through the same loop, which is not followed: who is found there is one.
#[test]
fn one_thread_that_a_loop_finds_is_no_claim() {
    for search in [
        "uint best = 0; for (uint i = 1; i < 64; ++i) { if (Src[i] > 4) { best = i; break; } }",
        "uint best = 0; while (Src[best] != 0) ++best;",
        "uint best = 0; for (uint i = 0; i < n; ++i) if (Src[i] > Src[best]) best = i;",
        "u[gi] = Src[id.x]; GroupMemoryBarrierWithGroupSync(); uint best = 0; for (uint i = 1; i < 64; ++i) if (u[i] < u[best]) best = i;",
    ] {
        let shared = "groupshared uint u[64];";
        for guard in [
            "gi == best",
            "!(gi != best)",
            "best == 3 * gi",
            "gi + 1 == best",
            "gi == best + 1",
            "gi == best + k",
            "best - gi == 0",
            "gi - best == n",
            "!(best + gi != 63)",
            "id.x == best",
            "63 - gi == best * 2",
            "int(gi) - int(best) == 0",
        ] {
            check(
                shared,
                &format!("{search} if ({guard}) InterlockedAdd(C[0], 1);"),
                &[],
            );
        }
        for guard in [
            "best == 3",
            "gi < best",
            "best + 1 == n",
            "best == gi - gi",
            "gi <= best + 1",
        ] {
            let claim = format!("{search} if ({guard}) InterlockedAdd(C[0], 1);");
            check(shared, &claim, &["sum"]);
        }
    }
}

#[test]
fn a_leader_among_those_that_are_left_is_one() {
    let claim = "{ uint s; InterlockedAdd(C[0], 1, s); Out[s] = 1; }";
    for guard in [
        "WaveIsFirstLane()",
        "WavePrefixCountBits(true) == 0",
        "WaveGetLaneIndex() == firstbitlow(WaveActiveBallot(true).x)",
        "WaveReadLaneFirst(gi) == gi",
        "WaveActiveMin(gi) == gi",
    ] {
        check("", &format!("if (Src[id.x] > 4) {{ if ({guard}) {claim} }}"), &[]);
    }
    // Who finds nothing there is the first.
    check(
        "",
        "uint f; InterlockedAdd(C[1], 1, f); if (f == 0) { uint s; InterlockedAdd(C[0], 1, s); Out[s] = 1; }",
        &["other"],
    );
    check(
        "",
        "uint f; InterlockedOr(C[1], 1, f); if ((f & 1) == 0) { uint s; InterlockedAdd(C[0], 1, s); Out[s] = 1; }",
        &["other"],
    );
    check(
        "",
        "uint f; InterlockedCompareExchange(C[1], 0, 1, f); if (f == 0) { uint s; InterlockedAdd(C[0], 1, s); Out[s] = 1; }",
        &[],
    );
    // There is room for more than one.
    check(
        "",
        "uint s; InterlockedAdd(C[0], 1, s); if (s < 32) InterlockedAdd(C[1], 2);",
        &["other", "sum"],
    );
}

#[test]
fn an_address_is_one_if_its_terms_are() {
    for (address, expected) in [
        ("C[0]", &["sum"][..]),
        ("C[k]", &["sum"]),
        ("C[gid.x + n]", &["sum"]),
        ("C[gi - gi]", &["sum"]),
        ("C[Src[gid.x]]", &["sum"]),
        ("cell", &["sum"]),
        ("g[n & 31]", &["sum"]),
        ("C[id.x]", &[]),
        ("C[Src[id.x]]", &[]),
        ("g[gi]", &[]),
        ("g[63 - gi]", &[]),
        ("C[Unknown]", &[]),
        ("C[Unknown(gi)]", &[]),
        ("C[Src[gi].key]", &[]),
    ] {
        check("", &format!("InterlockedAdd({address}, 1);"), expected);
    }
    // Which of an array of buffers, in a callee too.
    let many = "RWStructuredBuffer<uint> Many[8]; void add(RWStructuredBuffer<uint> to) { InterlockedAdd(to[0], 1); }";
    check(many, "add(Many[n]);", &["sum"]);
    check(many, "add(Many[Src[id.x]]);", &[]);
    // A callee that is called with both is none.
    let helper = "void add(uint at) { InterlockedAdd(C[at], 1); }";
    check(helper, "add(1); add(2);", &["sum"]);
    check(helper, "add(1); add(id.x);", &[]);
    check(helper, "if (gi == 0) add(id.x);", &[]);
    // Members of one element are different cells.
    let members = "struct S { uint a; uint b; }; RWStructuredBuffer<S> M;";
    check(members, "InterlockedAdd(M[n].b, 1);", &["sum"]);
    check(members, "InterlockedAdd(M[id.x].b, 1);", &[]);
}

/// Each thread adds to one cell after the other: the one of a pass is not where all of them meet.
#[test]
fn bins_that_all_address_alike_in_a_pass_are_not_one_cell() {
    for (pass, is_one) in [
        ("InterlockedAdd(C[b], Src[id.x + b]);", false),
        ("if (Src[id.x] == b) InterlockedAdd(C[b], 1);", false),
        ("InterlockedAdd(u[b], (Src[id.x] >> b) & 1);", false),
        ("InterlockedAdd(C[b / 4], Src[id.x + b]);", true),
        ("InterlockedAdd(C[k], Src[id.x + b]);", true),
        ("if (Src[id.x] == b) InterlockedAdd(u[3], 1);", true),
    ] {
        let told: &[&str] = if is_one { &["sum"] } else { &[] };
        let body = format!("for (uint b = 0; b < 4; ++b) {{ {pass} }}");
        check("groupshared uint u[64];", &body, told);
    }
}

#[test]
fn any_pass_of_a_loop_must_show_it() {
    let claim = "uint s; InterlockedAdd(C[0], 1, s); Out[s] = i;";
    check(
        "",
        &format!("for (uint i = gi; i < n; i += 64) {{ if (Src[i] > 3) {{ {claim} }} }}"),
        &["slot"],
    );
    check(
        "",
        &format!("for (uint i = gi; i < n; i += 64) {{ if (Src[i] < 3) continue; {claim} }}"),
        &["slot"],
    );
    check(
        "",
        &format!("uint i = 0; while (i < n) {{ if (Src[i + gi] < 3) break; {claim} ++i; }}"),
        &["slot"],
    );
    // Each pass has an address of its own, the same for all; or not the same.
    check(
        "",
        "for (uint i = 0; i < n; ++i) if (Src[id.x + i] > 3) InterlockedAdd(C[i], 1);",
        &["sum"],
    );
    check(
        "",
        "for (uint i = gi; i < n; i += 64) InterlockedAdd(C[i], 1);",
        &[],
    );
    check(
        "",
        "for (uint i = 0; i < n; i += Src[id.x]) InterlockedAdd(C[i], 1);",
        &[],
    );
    check(
        "",
        "for (uint i = 0; i < n; ++i) { if (Src[id.x] > i) ++i; InterlockedAdd(C[i], 1); }",
        &[],
    );
    // The first pass alone would show one address.
    check(
        "",
        "uint at = 0; for (uint i = 0; i < n; ++i) { InterlockedAdd(C[at], 1); at = Src[id.x]; }",
        &[],
    );
    check(
        "",
        "switch (Src[id.x]) { case 0: InterlockedAdd(C[0], 1); break; case 1: InterlockedAdd(C[id.x], 1); break; }",
        &["sum"],
    );
}

/// What all threads change alike is one number in each pass, and what only steps keeps its distance.
#[test]
fn variables_of_any_pass_are_told_apart() {
    let claim = "uint s; InterlockedAdd(C[0], 1, s); Out[s] = gi;";
    for one_at_a_time in [
        "uint i = 0; while (i < Src[0]) { i++; if (Src[i] == gi) { CLAIM } }",
        "for (uint i = 0; i < n; i++) { if (min(i, 40) == gi) { CLAIM } }",
        "uint i = gi; while (i < n) { if (max(i, 3) == k) { CLAIM } i += 64; }",
        "uint i = 0; do { if (gi == i) { CLAIM } i += 2; } while (i < n);",
        "uint d = 1; while (d < n) { if (gi == d) { CLAIM } d <<= 1; }",
        "uint node = Src[gid.x]; while (node != 0) { if (Src[node] == gi) { CLAIM } node = Src[node + 1]; }",
        "for (uint i = gi; i < n; i += 64) { if (i == k) { CLAIM } }",
        "uint i = gi; while (i < n) { if (i == Src[gid.x]) { CLAIM } i = i + 64; }",
        "uint at = gi; while (Src[gid.x] < n) { if (at == 5) { CLAIM } at = at * 2; }",
        "uint at = gi; while (Src[gid.x] < n) { if (at == 5) { CLAIM } if (gi < 7) at++; }",
    ] {
        check("", &one_at_a_time.replace("CLAIM", claim), &[]);
    }
    for many in [
        "uint i = gi; while (i < n) { if (Src[i] > 3) { CLAIM } i += 64; }",
        "bool is = false; for (uint i = 0; i < n; i++) { if (Src[i * 64 + gi] == 3) is = true; if (is) { CLAIM } }",
        "uint m = n & 0xFFFF; for (uint i = gi; i < m; i += 64) { float c = Src[i]; if (c < 9) { CLAIM } }",
        "uint node = Src[gi]; while (node != 0) { if (Src[node] > 3) { CLAIM } node = Src[node + 1]; }",
        "float sum = 0; for (uint i = 0; i < n; i++) { sum += Src[i * 64 + gi]; if (sum > 9) { CLAIM } }",
        "uint i = 0; while (i < n) { if (Src[i * 64 + gi] == 3) { i += 2; continue; } if (i > 7) { CLAIM } i++; }",
    ] {
        check("", &many.replace("CLAIM", claim), &["slot"]);
    }
}

#[test]
fn few_bins_are_counted() {
    for (index, bins) in [
        ("gi % 4", 4),
        ("gi / 16", 4),
        ("Src[id.x] & 6", 4),
        ("Src[id.x] % 5", 5),
        ("min(Src[id.x], 3)", 4),
        ("clamp((int)Src[id.x], 0, 7)", 8),
        ("Src[id.x] >> 29", 8),
        ("2 * (Src[id.x] > 7) + 1", 2),
        ("Src[id.x] > 7 ? 3 : Src[gi] > 2 ? 9 : 1", 3),
        ("n + 3 * (Src[id.x] & 1)", 0),
        ("gi", 0),
        ("gi % 32", 0),
        ("(gi + n) % 32", 0),
        ("(gi ^ Src[0]) & 31", 0),
        ("(gi * 5 + id.y) & 31", 0),
        ("(gi + Src[id.x]) & 31", 32),
        ("(gi / 2 + n) & 31", 32),
        ("Src[id.x] & 63", 0),
        ("min((int)Src[id.x], 3)", 0),
    ] {
        let expected = format!("sum in {bins}");
        let expected: &[&str] = if bins > 0 { &[&expected] } else { &[] };
        let claims = claims("", &format!("InterlockedAdd(C[{index}], 1);"));
        let shown: Vec<String> = claims
            .iter()
            .filter_map(|claim| match claim.cells {
                Cells::Few(bins) => Some(format!("sum in {bins}")),
                Cells::One => None,
            })
            .collect();
        assert_eq!(shown, expected, "{index}");
    }
    check(
        "groupshared uint few[5];",
        "InterlockedAdd(few[Src[id.x]], 1);",
        &["sum in 5"],
    );
    check(
        "groupshared uint many[100];",
        "InterlockedAdd(many[Src[id.x]], 1);",
        &[],
    );
    // Bits that are set in a few words.
    check(
        "groupshared uint few[5];",
        "InterlockedOr(few[Src[id.x]], 1);",
        &[],
    );
}

/// Of two indices that differ by thread neither tells which cell.
#[test]
fn cells_in_rows_are_counted_whole() {
    let bins = |globals: &str, place: &str| {
        let claims = claims(globals, &format!("InterlockedAdd({place}, 1);"));
        let told = claims.iter().filter_map(|claim| match claim.cells {
            Cells::Few(bins) => Some((
                bins,
                claim.parts.as_ref().is_ok_and(|parts| parts.index.is_some()),
            )),
            Cells::One => None,
        });
        told.collect::<Vec<_>>()
    };
    let rows = "groupshared uint rows[2][4]; groupshared uint2 pairs[4]; struct S { uint n[4]; }; \
                groupshared S some[2]; RWStructuredBuffer<S> D; cbuffer Which { uint row; };";
    for place in [
        "rows[gi & 1][Src[id.x] & 3]",
        "rows[Src[id.x] & 1][gi & 3]",
        "pairs[Src[id.x] & 3][gi & 1]",
        "some[gi & 1].n[Src[id.x] & 3]",
        "D[gi & 1].n[Src[id.x] & 3]",
    ] {
        let told = bins(rows, place);
        assert!(told.iter().all(|told| *told == (8, false)), "{place}: {told:?}");
    }
    assert_eq!(bins(rows, "rows[row][Src[id.x] & 3]"), [(8, true)]);
    for place in ["rows[1][Src[id.x] & 3]", "some[1].n[Src[id.x] & 3]"] {
        assert_eq!(bins(rows, place), [(4, true)], "{place}");
    }
    assert_eq!(
        bins("groupshared uint rows[4][2];", "rows[Src[id.x] & 3][1]"),
        [(4, true)]
    );
}

#[test]
fn every_spelling_counts() {
    let more = "RWByteAddressBuffer W; AppendStructuredBuffer<uint> A; ConsumeStructuredBuffer<uint> D;";
    check(
        more,
        "uint s; W.InterlockedAdd(4 * k, 2, s); W.Store(4 * s, 1);",
        &["slot"],
    );
    check(
        more,
        "uint s; W.InterlockedAdd(4 * id.x, 2, s); W.Store(4 * s, 1);",
        &[],
    );
    check(
        more,
        "Out[C.IncrementCounter()] = 1; C.DecrementCounter();",
        &["slot", "sum"],
    );
    check(more, "A.Append(id.x); Out[D.Consume()] = 1;", &["slot", "slot"]);
    check(more, "if (gi == 0) A.Append(id.x);", &[]);
    check(
        "struct S { uint a; uint b; };",
        "S s; InterlockedAdd(C[0], 1, s.b); Out[s.b] = 1;",
        &["slot"],
    );
    check(
        "",
        "uint s[2]; InterlockedAdd(C[0], 1, s[1]); Out[s[0]] = 1;",
        &["sum"],
    );
    check(
        "",
        "uint2 s; InterlockedAdd(C[0], 1, s.y); Out[s.y] = 1;",
        &["slot"],
    );
    check(
        "",
        "RWStructuredBuffer<uint> c = ResourceDescriptorHeap[k]; InterlockedAdd(c[0], 1);",
        &["sum"],
    );
    check(
        "",
        "RWStructuredBuffer<uint> c = ResourceDescriptorHeap[Src[id.x]]; InterlockedAdd(c[0], 1);",
        &[],
    );
    // No sum, or no atomic that could be made once for all.
    for other in [
        "InterlockedAdd(C[0], 0, s); Out[s] = 1;",
        "InterlockedExchange(C[0], 1, s); Out[s] = 1;",
        "InterlockedCompareExchange(C[0], 1, 2, s); Out[s] = 1;",
        "InterlockedMax(C[0], id.x);",
    ] {
        check("", &format!("uint s; {other}"), &[]);
    }
}

#[test]
fn a_claim_says_what_was_proved() {
    let [claim] = &claims("", "InterlockedAdd(cell, -3);")[..] else {
        panic!("one claim")
    };
    assert_eq!((claim.operation, claim.amount), (Atomic::Add, Amount::Known(-3)));
    assert_eq!((claim.lanes, claim.is_certain, claim.is_shared), (64, true, true));
    let [claim] = &claims("", "if (gi < 40 && id.x < n) InterlockedAdd(C[0], Src[id.x]);")[..] else {
        panic!("one claim")
    };
    assert_eq!((claim.amount, claim.lanes), (Amount::Varying, 40));
    assert!(!claim.is_certain && !claim.is_shared);
}

/// However many passes and calls it takes, and whatever the waves are.
#[test]
fn the_threads_of_a_claim_are_all_that_make_it() {
    let lanes = |globals: &str, body: &str| {
        let [claim] = &claims(globals, body)[..] else {
            panic!("one claim: {body}")
        };
        (claim.lanes, claim.is_certain)
    };
    let add = "InterlockedAdd(C[0], 1);";
    assert_eq!(
        lanes(
            "",
            &format!("for (uint q = 0; q < 2; q++) if (gi / 32 == q) {add}")
        ),
        (64, false)
    );
    let helper = format!("void add() {{ {add} }}");
    assert_eq!(lanes(&helper, "if (gi < 9) add(); else add();"), (64, false));
    assert_eq!(
        lanes(&helper, "if (gi < 2) add(); if (gi > 31) add();"),
        (34, false)
    );
    assert_eq!(
        lanes("", &format!("if (WaveGetLaneIndex() < 8) {add}")),
        (64, false)
    );
    assert_eq!(
        lanes("", &format!("if (gi < WaveGetLaneCount()) {add}")),
        (64, false)
    );
}

#[test]
fn a_run_goes_on_where_it_cannot_follow() {
    let claim = "uint s; InterlockedAdd(C[0], 1, s); Out[s] = 1;";
    check(
        "",
        &format!("if (Src[id.x] > 1) return; GroupMemoryBarrierWithGroupSync(); {claim}"),
        &["slot"],
    );
    check("void f(uint x);", &format!("f(gi); {claim}"), &["slot"]);
    // Which threads are left, or what a variable holds, may be due to what was not understood.
    check(
        "bool f(uint x);",
        &format!("bool leader = f(gi); if (leader) {{ {claim} }}"),
        &[],
    );
    check("", &format!("if (IS_LEADER(gi)) {{ {claim} }}"), &[]);
    check("", &format!("if (!IS_LEADER) return; {claim}"), &[]);
    check("", &format!("if (GetLane(Src[gi]) == 0) {{ {claim} }}"), &[]);
}

#[test]
fn parts_of_what_is_large() {
    // A constant buffer of more than anyone looks at.
    let large = "struct Camera { float4x4 views[20]; float3 position; };
        struct Frame { Camera cameras[16]; }; ConstantBuffer<Frame> frame;
        cbuffer Bones { float4x4 bones[512]; float limit; };";
    let claim = "uint slot; InterlockedAdd(C[0], 1, slot); Out[slot] = id.x;";
    check(
        large,
        &format!("if (Src[id.x] > frame.cameras[1].position.y) {{ {claim} }}"),
        &["slot"],
    );
    check(
        large,
        &format!("if (Src[id.x] > bones[id.x & 7][1].x + limit) {{ {claim} }}"),
        &["slot"],
    );
    // Into an array that is a member of an element.
    let tiles = "struct Tile { uint count; uint index[64]; }; RWStructuredBuffer<Tile> Tiles;";
    let body = "if (gi == 0) cell = 0; GroupMemoryBarrierWithGroupSync();
        if (Src[id.x] > 3) { uint slot; InterlockedAdd(cell, 1, slot); Tiles[0].index[slot] = id.x; }";
    check(tiles, body, &["slot"]);
    // Of a counter for each of many, whichever it is.
    let body = "uint old; InterlockedAdd(Tiles[0].index[Src[id.x]], 1, old); Out[old] = 1;";
    check(tiles, body, &[]);
}

/// A resource that a function gives is the one of its `return`: of the heap, a global, or what another function gives. Of two places
/// of the heap it is one where all threads choose alike, of two globals it is not known which.
#[test]
fn what_a_function_gives_is_one_resource() {
    let of_heap = "RWStructuredBuffer<uint> Get(uint i) { return ResourceDescriptorHeap[i]; }
        RWByteAddressBuffer Bytes() { RWByteAddressBuffer b = ResourceDescriptorHeap[k + 1]; return b; }
        RWStructuredBuffer<uint> Inner(uint i) { if (i == 2) return Get(i); return Get(i + 1); }
        RWStructuredBuffer<uint> Table(uint i) { if (i == 0) return C; return Out; }
        void Add(RWStructuredBuffer<uint> c, out uint s) { InterlockedAdd(c[0], 1, s); }
        struct H { uint i; RWStructuredBuffer<uint> Get() { return ResourceDescriptorHeap[i]; } };
        RWStructuredBuffer<uint> Of[8]; RWStructuredBuffer<uint> Nth(uint i) { return Of[i]; }";
    let check = |claim: &str, expected: &[&str]| {
        check(of_heap, &format!("uint s; {claim} Out[s] = 1;"), expected);
    };
    for one in [
        "InterlockedAdd(Get(k)[0], 1, s);",
        "InterlockedAdd(Get(3)[k], 1, s);",
        "Bytes().InterlockedAdd(0, 1, s);",
        "InterlockedAdd(Inner(2)[0], 1, s);",
        "InterlockedAdd(Inner(k)[0], 1, s);",
        "InterlockedAdd(Table(0)[0], 1, s);",
        "InterlockedAdd(Nth(n)[0], 1, s);",
        "RWStructuredBuffer<uint> c = Get(k); InterlockedAdd(c[0], 1, s);",
        "Add(Get(k), s);",
        "Add(ResourceDescriptorHeap[k], s);",
        "H h; h.i = k; InterlockedAdd(h.Get()[0], 1, s);",
    ] {
        check(one, &["slot"]);
    }
    for any in [
        "InterlockedAdd(Get(Src[id.x])[0], 1, s);",
        "InterlockedAdd(Get(id.x)[0], 1, s);",
        "InterlockedAdd(Get(0)[id.x], 1, s);",
        "InterlockedAdd(Inner(id.x)[0], 1, s);",
        "InterlockedAdd(Table(k)[0], 1, s);",
        "InterlockedAdd(Table(id.x)[0], 1, s);",
        "InterlockedAdd(Nth(id.x)[0], 1, s);",
        "RWStructuredBuffer<uint> c = Get(gi); InterlockedAdd(c[0], 1, s);",
        "Add(Get(id.x), s);",
        "Add(Unknown(k), s);",
    ] {
        check(any, &[]);
    }
}

/// Under a condition too a function gives what its only `return` says, and not something else where it does not hold.
#[test]
fn what_is_called_under_a_condition_gives_one_value() {
    let globals = "uint At() { return k; } uint Which() { if (k > 3) return 1; return 2; }
        RWStructuredBuffer<uint> Get() { return ResourceDescriptorHeap[k]; }";
    let check = |cell: &str, expected: &[&str]| {
        let body = format!("if (Src[id.x] > 3) {{ uint s; InterlockedAdd({cell}, 1, s); Out[s] = 1; }}");
        check(globals, &body, expected);
    };
    check("C[At()]", &["slot"]);
    check("Get()[0]", &["slot"]);
    check("C[Src[At() + id.x]]", &[]);
}
