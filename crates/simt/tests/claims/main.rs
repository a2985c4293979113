//! Which atomics are claims, told by the run and not by the text.

mod parts;
mod passes;

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
    ] {
        check("", &format!("if ({guard}) {claim}"), &["slot"]);
        check("", &format!("if (!({guard})) return; {claim}"), &["slot"]);
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

/// A macro of a header that is not there may let one thread stay.
#[test]
fn a_statement_that_is_not_known_may_be_a_return() {
    let claim = "uint s; InterlockedAdd(C[0], 1, s); Out[s] = gi;";
    check("", &format!("RETURN_IF(gi > 0); {claim}"), &[]);
    check("", &format!("ONLY_FIRST; {claim}"), &[]);
    check("", &format!("RETURN_IF(Src[id.x] > 3); {claim}"), &["slot"]);
    check("", &format!("Prepare(gi); {claim}"), &["slot"]);
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
                claim.parts.as_ref().is_some_and(|parts| parts.index.is_some()),
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

/// Types and names of headers that are not there. What is read of them is data of the thread that read it.
#[test]
fn types_that_are_not_known_hold_data() {
    let globals =
        "RWStructuredBuffer<Particle> P; AppendStructuredBuffer<uint> Dead; RWStructuredBuffer<Light> L;";
    let read = "Particle p = P[id.x];";
    let append = "Dead.Append(id.x);";
    for (body, expected) in [
        (format!("{read} if (p.age > 0) {append}"), &["slot"][..]),
        (
            format!("{read} p.age -= Step; if (p.age <= 0) {append}"),
            &["slot"],
        ),
        (
            format!("{read} p.age = -1; p.v.x += 1; p.n++; if (p.age <= 0) {append}"),
            &["slot"],
        ),
        (format!("{read} if (p.age > Limit) {append}"), &["slot"]),
        (
            format!("Particle q; q.age = Src[id.x]; q.at = 1; if (q.age > 3) {append}"),
            &["slot"],
        ),
        (
            "Light l; l.color = 1; uint s = L.IncrementCounter(); L[s] = l;".to_owned(),
            &["slot"],
        ),
        // Which thread this is was written to it: what is read of it may be just that.
        (
            format!("{read} p.isFirst = gi == 0; if (p.isFirst) {append}"),
            &[],
        ),
        (
            format!("Particle q; q.first = gi; if (q.first == 0) {append}"),
            &[],
        ),
        (format!("{read} if (p.age > gi) {append}"), &["slot"]),
        // What a function made of a thread's number may be whether it is the first.
        (
            "Particle q = Get(id.x); if (q.age > 0) Dead.Append(id.x);".to_owned(),
            &[],
        ),
        (
            "Particle q = Get(id.x); if (!IsCulled(q.box)) Dead.Append(id.x);".to_owned(),
            &[],
        ),
        (
            "Particle q = Get(id.x); if (!IsCulled(q)) Dead.Append(id.x);".to_owned(),
            &[],
        ),
        (
            "float2 q = Get(id.x); if (q.x > 0) Dead.Append(id.x);".to_owned(),
            &[],
        ),
        (
            "Particle q = Get(id.x); if (q.x > 0) Dead.Append(id.x);".to_owned(),
            &[],
        ),
        (
            "Particle q = Get(gid.x); if (q.leader == gi) Dead.Append(id.x);".to_owned(),
            &[],
        ),
        (
            format!("{read} if (IsBehind(p.planes, g_planes)) {append}"),
            &["slot"],
        ),
        (
            "uint first; IsFirst(gi, first); if (first == 1) Dead.Append(id.x);".to_owned(),
            &[],
        ),
        (
            "uint far; IsFar(P[id.x], far); if (far == 1) Dead.Append(id.x);".to_owned(),
            &["slot"],
        ),
        // It need not have written to what it was given.
        ("uint n = Scan(gi, Src[id.x]); if (gi == 63) Dead.Append(n);".to_owned(), &[]),
        ("uint x = gi; float y = Src[id.x]; Turn(x, y); if (x == 0) Dead.Append(id.x);".to_owned(), &[]),
        ("uint x = gi; float y = Src[id.x]; Turn(x, y); if (y > 0) Dead.Append(id.x);".to_owned(), &[]),
        ("uint first; IsFirst(first); if (first == 1) Dead.Append(id.x);".to_owned(), &[]),
        (
            "uint many, size; P.GetDimensions(many, size); if (id.x < many && Src[id.x] > 0) Dead.Append(id.x);".to_owned(),
            &["slot"],
        ),
        ("uint s; InterlockedAdd(C[0], 1, s); Put(P, s + 1, Src[id.x]);".to_owned(), &["slot"]),
        ("uint s; InterlockedAdd(C[0], 1, s); Put(s + 1, Src[id.x]);".to_owned(), &["other"]),
        // Which lane is the first may be what it tells.
        (format!("{read} if (p.IsFirstLane()) {append}"), &[]),
    ] {
        check(globals, &body, expected);
    }
}

/// A name that is not known may tell one thread from the others; data compared with it may be any for each.
#[test]
fn names_that_are_not_known_may_choose_a_thread() {
    let claim = "uint s; InterlockedAdd(C[0], 1, s); Out[s] = 1;";
    for (condition, expected) in [
        ("Src[id.x] > Limit", &["slot"][..]),
        ("Src[2 * id.x] < g_limit && Src[2 * id.x + 1] != MASK", &["slot"]),
        // The other thread's, too.
        ("Src[id.x] < g_limit && Src[id.x + 1] != MASK", &[]),
        ("float(Src[id.x]) >= 2 * g_limit + 1", &["slot"]),
        ("id.x < g_count", &["slot"]),
        ("id.x < constants.counts.x", &["slot"]),
        ("g_count > gi", &["slot"]),
        // A number, perhaps 1.
        ("id.x < COUNT", &[]),
        ("gi == g_leader", &[]),
        ("g_leader", &[]),
        (
            "(Src[id.x] > g_planes[2].x) | (Src[id.x] < c.frustum.planes[3].y)",
            &["slot"],
        ),
        ("LEADER", &[]),
        ("LEADER && Src[id.x] > 3", &[]),
        ("LEADER * Src[id.x] > 3", &[]),
        ("g_scale * Src[id.x] > g_limit", &["slot"]),
        ("(Src[id.x] & g_mask) != 0", &["slot"]),
        ("((Src[id.x] > 3) & g_isLeader) != 0", &[]),
        ("g_first ? Src[id.x] > 3 : false", &[]),
        ("g_scale * Src[0] > g_limit * Src[1]", &[]),
        ("Src[id.x] > 3 == LEADER", &["slot"]),
        ("Src[0] > LEADER", &[]),
        ("Src[gid.x] > g_limit", &["slot"]),
        ("Lead(gi) > Src[id.x]", &["slot"]),
        ("id.x < g_laneCount", &[]),
        ("id.x < Bound()", &[]),
    ] {
        check("", &format!("if ({condition}) {{ {claim} }}"), expected);
    }
    // Where it says which cell it is, that may be another one for each.
    for cell in ["C[g_at]", "C[g_at + 1]", "C[AT + gi]", "C[LANE]"] {
        check(
            "",
            &format!("uint s; InterlockedAdd({cell}, 1, s); Out[s] = 1;"),
            &[],
        );
    }
}

/// "If the index is not uniform it has to be marked": a name alone names one buffer of the heap for all.
#[test]
fn a_name_alone_names_one_of_the_heap() {
    let claim = "uint s; b.InterlockedAdd(0, 1, s); Out[s] = 1;";
    for (index, expected) in [
        ("COUNTER_UAV", &["slot"][..]),
        ("g_counter", &["slot"]),
        ("Pass.counters.counter", &["slot"]),
        ("NonUniformResourceIndex(g_counter)", &[]),
        ("NonUniformResourceIndex(Pass.counter)", &[]),
        ("Counter()", &[]),
        ("Counters().counter", &[]),
        ("Src[id.x]", &[]),
    ] {
        check(
            "",
            &format!("RWByteAddressBuffer b = ResourceDescriptorHeap[{index}]; {claim}"),
            expected,
        );
    }
    for of_own in [
        "Odd own = Own(gi); RWByteAddressBuffer b = ResourceDescriptorHeap[own.counter];",
        // The mark is on the value.
        "Own.at = NonUniformResourceIndex(gi); RWByteAddressBuffer b = ResourceDescriptorHeap[Own.at];",
        "AT = NonUniformResourceIndex(gi); RWByteAddressBuffer b = ResourceDescriptorHeap[AT];",
        "RWByteAddressBuffer b = ResourceDescriptorHeap[perThread.at];",
    ] {
        check("", &format!("{of_own} {claim}"), &[]);
    }
}

/// Of what is chosen by something that may tell threads apart, data stays data if both are.
#[test]
fn what_is_chosen_from_data_is_data() {
    let globals = "RWStructuredBuffer<Particle> P; AppendStructuredBuffer<uint> Dead;";
    let append = "Dead.Append(id.x);";
    for (body, expected) in [
        (
            "Particle p = P[id.x]; if (Flag) { p.age = p.age * 2; }",
            &["slot"][..],
        ),
        ("Particle p = P[id.x]; if (Flag) { p.age = 7; }", &["slot"]),
        ("Particle p = P[id.x]; if (Flag) { p = P[0]; }", &["slot"]),
        (
            "Particle p = P[id.x]; if (Flag && p.n > 10) { p.age = 7; }",
            &["slot"],
        ),
    ] {
        check(globals, &format!("{body} if (p.age > 0) {append}"), expected);
    }
    for (condition, expected) in [
        ("x > 3", &["slot"][..]),
        ("x > 3 || Flag", &["slot"]),
        ("!(x > 3 && Flag)", &["slot"]),
        ("y > 3", &[]),
    ] {
        let body = "uint x = Src[id.x]; uint y = x; if (Flag) x *= 2; if (Flag) y = 4;";
        check(globals, &format!("{body} if ({condition}) {append}"), expected);
    }
}

/// A member that is only read is not written.
#[test]
fn to_read_a_member_changes_nothing() {
    let globals = "RWStructuredBuffer<Particle> P;";
    for (body, expected) in [
        (
            "float4 v = mul(float4(p.v.xyz, 0), g_view); if (p.age > 0 || p.lead)",
            &["slot"][..],
        ),
        // What may have been made of data is data.
        ("float4 v = Get(p.v.xyz, g_view); if (p.age > 0)", &["slot"]),
    ] {
        let body =
            format!("Particle p = P[id.x]; {body} {{ uint s; InterlockedAdd(C[0], 1, s); Out[s] = 1; }}");
        check(globals, &body, expected);
    }
}

/// Whatever a type, a macro or a function that is not known makes of a thread's number may tell it from the others, also
/// where there is data beside it.
#[test]
fn what_is_made_of_a_thread_s_number_is_no_data() {
    let globals = "RWStructuredBuffer<Item> Items;";
    for condition in [
        "if (LIKELY(gi == 0))",
        "if (LIKELY(gi == 0 && Src[id.x] > 3))",
        "bool_t lead = gi == 0; if (lead)",
        "bool_t lead = gi == 0; if (lead && Src[id.x] > 3)",
        "u32 m = 7; if (gi != 0) m = 0; if (m != 0)",
        "u32 m = 0; if (gi == 0) m = Src[id.x]; if (m > 0)",
        "float_t w = gi == 0 ? 1 : 0; if (w > 0)",
        "Item it = (Item)0; if (gi == 0) it = Items[gid.x]; if (it.valid)",
        "Item it = Items[id.x]; it.valid = false; if (gi == 0) it.valid = true; if (it.valid)",
        "u32 p = (Src[id.x] << BITS) | gi; if ((p & MASK) == 0)",
        "u32 key = (Src[id.x] << 5) | gi; if ((key & 31) == 0)",
        "u32 m = Src[id.x]; m *= (gi == 0); if (m != 0)",
        "mybool d = Src[id.x] > 0; d = d & (gi == 0); if (d)",
        "vec2u v = uint2(gi, Src[id.x]); if (v.x == 0)",
        "bool d = Src[id.x] > 0; if (And(d, gi == 0))",
        "Item it = Items[id.x]; if (KeepIf(it, gi == 0))",
        "Item it = Items[id.x]; it.Init(gi); if (it.index == 0)",
        "Item it = Items[gid.x]; if (it.IsOwner(gi))",
        "Item it = Items[gid.x]; if (IsOwner(it, gi))",
        "Item it = Items[gid.x]; bool f; Pick(it, gi, f); if (f)",
        "ThreadInfo t = GetThreadInfo(id, gi); if (t.isMain)",
        "ThreadInfo t; InitThreadInfo(t, gi); if (t.index == 0)",
        "if (gi >= kEnd)",
        "if (gi >= g_lastThread)",
        "Item it = Items[id.x]; if (ELECT(it.key))",
        "Item it = Items[id.x]; uint f; ElectFirst(it, f); if (f)",
    ] {
        check(
            globals,
            &format!("{condition} {{ uint s; InterlockedAdd(C[0], 1, s); Out[s] = 1; }}"),
            &[],
        );
    }
}

/// A resource that a function gives is the one of its `return`: of the heap, a global, or what another function gives.
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
        "InterlockedAdd(Inner(k)[0], 1, s);",
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

/// Methods of what a constant buffer holds, template arguments told by a struct's, and macros nobody defines.
#[test]
fn what_is_read_of_real_shaders_is_followed() {
    let globals = "struct Camera { float4 p; float Eye(float d) { return p.x / (d + p.y); } };
        ConstantBuffer<Camera> camera; StructuredBuffer<float> D;
        template<typename T> struct Buf { uint slot; };
        struct P { Buf<uint> counter; };
        ConstantBuffer<P> p;
        template<typename T> void Claim(Buf<T> b, uint i, uint v, out uint s)
        { RWStructuredBuffer<T> c = ResourceDescriptorHeap[b.slot]; InterlockedAdd(c[i], v, s); }
        struct Counters { PADDED uint live; uint dead; };
        RWStructuredBuffer<Counters> Both;";
    for body in [
        "uint s; if (D[id.x] > camera.Eye(0)) { InterlockedAdd(C[0], 1, s); Out[s] = 1; }",
        "uint s; for (uint i = gi; i < n; i += 64) if (D[i] > camera.Eye(0)) { InterlockedAdd(C[0], 1, s); Out[s] = i; }",
        "uint s; Claim(p.counter, 0, 1, s); Out[s] = 1;",
        "uint s; InterlockedAdd(Both[0].live, 1, s); Out[s] = 1;",
    ] {
        check(globals, body, &["slot"]);
    }
}

/// What is on the device or groupshared is one for all threads, whatever header declares it. What it is supposed of is told.
#[test]
fn memory_that_no_file_declares_is_supposed_to_be_one() {
    let supposed = |body: &str| {
        let found = claims("", body);
        let names = found
            .iter()
            .map(|claim| claim.supposed.iter().cloned().collect::<Vec<_>>().join(" "));
        names.collect::<Vec<_>>()
    };
    for (atomic, names) in [
        ("InterlockedAdd(g_dead[0], 1, s)", "g_dead"),
        ("InterlockedAdd(g_dead, 1, s)", "g_dead"),
        ("InterlockedAdd(g_args[COUNT].x, 1, s)", "COUNT g_args"),
        (
            "InterlockedAdd(g_args[Counter::Alive], 1, s)",
            "Counter::Alive g_args",
        ),
        ("InterlockedAdd(C[AT], 1, s)", "AT"),
        ("InterlockedAdd(C[kAlive + n], 1, s)", "kAlive"),
        ("g_raw.InterlockedAdd(16, 1, s)", "g_raw"),
        ("g_raw.InterlockedAdd(OFFSET, 1, s)", "OFFSET g_raw"),
        ("s = g_list.IncrementCounter()", "g_list"),
        ("C.GetDimensions(s, s); g_list.Append(s)", "g_list"),
    ] {
        assert_eq!(
            supposed(&format!("uint s; {atomic}; Out[s] = gi;")),
            [names],
            "{atomic}"
        );
    }
    for atomic in [
        // An address that may be another for each thread: by what is known, or a `static` variable of a header.
        "InterlockedAdd(g_dead[gi], 1, s)",
        "InterlockedAdd(g_dead[Src[gi]], 1, s)",
        "InterlockedAdd(g_dead[slot], 1, s)",
        "InterlockedAdd(C[slot], 1, s)",
        "InterlockedAdd(g_dead[Pick(gi)], 1, s)",
        "InterlockedAdd(g_dead[Pick(COUNT)], 1, s)",
        "InterlockedAdd(Pick(0), 1, s)",
        "InterlockedAdd(Pick(0)[0], 1, s)",
        "g_raw.InterlockedAdd(gi, 1, s)",
        // Named for one thread, or perhaps declared where a declaration was not read.
        "InterlockedAdd(g_perThread[0], 1, s)",
        "InterlockedAdd(C[LANE], 1, s)",
        "InterlockedAdd(C[THREAD_ID], 1, s)",
        "RWBuffer<Odd<3>>> mine = Many[gi]; InterlockedAdd(mine[0], 1, s)",
        // One thread of a wave.
        "if (WaveIsFirstLane()) InterlockedAdd(g_dead[0], 1, s)",
        "if (gi == 0) InterlockedAdd(g_dead[0], 1, s)",
    ] {
        assert_eq!(
            supposed(&format!("uint s; {atomic}; Out[s] = gi;")),
            [""; 0],
            "{atomic}"
        );
    }
    // Given to a macro, or by its name, or something that is another method than that of a buffer.
    for body in [
        "AT = gi; InterlockedAdd(C[AT], 1, s)",
        "AT += gi; InterlockedAdd(C[AT], 1, s)",
        "++AT; InterlockedAdd(C[AT], 1, s)",
        "g_d.buf = Many[gi]; g_d.buf.Append(3)",
        "Odd<Pair<uint>> a, mine = Bufs(gi); InterlockedAdd(mine[0], 1, s)",
        "LEADER_ONLY(g_list.Append(gi))",
        "FIRST(InterlockedAdd(g_dead[0], 1, s))",
        "g_list.Append(gi, 3, s)",
        "g_list.Append()",
        "g_list.Consume(gi)",
        "g_list.IncrementCounter(gi)",
        "g_raw.InterlockedAdd(0)",
        "g_raw.InterlockedAdd(0, 1, s, s)",
    ] {
        assert_eq!(
            supposed(&format!("uint s; {body}; Out[s] = gi;")),
            [""; 0],
            "{body}"
        );
    }
    for body in [
        "LEADER_ONLY(InterlockedAdd(C[0], 1))",
        "ONCE(gi, InterlockedAdd(C[0], 1, s))",
    ] {
        check("", &format!("uint s; {body};"), &[]);
    }
    // What such a method is given may be something else afterwards.
    for call in [
        "g_q.Append(k)",
        "g_q.Append(gi, k)",
        "g_q.InterlockedAdd(k, 1, s)",
        "g_q.InterlockedAdd(0, 1, s, k)",
    ] {
        let own = format!("uint s; uint k = 3; {call}; InterlockedAdd(C[k], 1, s); Out[s] = 1;");
        let found = claims("", &own);
        assert!(found.iter().all(|claim| !claim.supposed.is_empty()), "{call}");
    }
    for condition in [
        "g_isLeader[gi]",
        "kOneHot[gi]",
        "g_firstOf[gi] == 1",
        "gi < min(g_n, 1)",
        "gi < clamp(g_n, 0, 1)",
        "gi < (g_n & 1)",
        "g_tmp[gi] == 0",
    ] {
        let body = format!(
            "g_tmp[gi] = gi; if ({condition}) {{ uint s; InterlockedAdd(C[0], 1, s); Out[s] = gi; }}"
        );
        check("", &body, &[]);
    }
    // An element of it is data, of a type of its own, and a store to it is a store.
    check(
        "",
        "Odd one = g_ones[id.x]; one.age -= g_step; if (one.age > 0) { uint s; InterlockedAdd(g_dead[0], 1, s); g_dead[s] = gi; }",
        &["slot"],
    );
    check(
        "",
        "if (gi == 0) cell = g_dead[0]; GroupMemoryBarrierWithGroupSync();
         if (id.x < cell) { uint s; InterlockedAdd(g_dead[0], -1, s); Out[s] = gi; }",
        &["slot"],
    );
    check(
        "",
        "if (g_ones[0] > 3) { uint s; InterlockedAdd(C[0], 1, s); Out[s] = gi; }",
        &["slot"],
    );
}

/// Each call once, however many stand around it.
#[test]
fn calls_within_calls_are_looked_at_once() {
    let nested = (0..200).fold("0".to_owned(), |inner, _| format!("g_a.Foo({inner})"));
    check("", &format!("{nested}; InterlockedAdd(C[0], 1);"), &["sum"]);
}
