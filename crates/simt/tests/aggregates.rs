//! Atomics that one lane may make for its wave, and texts that do what they do.

use shaderlint_hlsl::{NoIncludes, Shader, Wanted};
use shaderlint_simt::{ContendedAtomic, LaneMap, Outcome, Parts, analyze, compare, serves_alike, unordered};

fn shader(globals: &str, body: &str) -> Shader {
    let text = format!(
        "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out; RWStructuredBuffer<uint> C; RWByteAddressBuffer W;\n\
         cbuffer B {{ uint n; uint k; }};\ngroupshared uint g[64]; groupshared uint cell; groupshared int signed_cell;\n\
         {globals}\n[numthreads(64, 1, 1)]\n\
         void main(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID, uint3 gid : SV_GroupID) {{\n{body}\n}}\n"
    );
    shaderlint_hlsl::parse(text.into_bytes()).0
}

fn claims(shader: &Shader) -> Vec<ContendedAtomic> {
    let (entry, _) = shader.entry_points().next().expect("an entry point");
    analyze(shader, entry).contended_atomics
}

/// Whether the claim of a kernel, if it has one, could be made by one lane.
#[track_caller]
fn has_parts(globals: &str, body: &str) -> bool {
    let claims = claims(&shader(globals, body));
    assert!(claims.len() <= 1, "{globals} {body}: {claims:?}");
    claims.iter().any(|claim| claim.parts.is_ok())
}

/// What the prover says of `block` in the place of the first claim's statement.
#[track_caller]
fn proved(body: &str, block: &str) -> Result<(), String> {
    proved_beside("", body, block)
}

/// The same beside further declarations.
#[track_caller]
fn proved_beside(globals: &str, body: &str, block: &str) -> Result<(), String> {
    let flagged = shader(globals, body);
    let claims = claims(&flagged);
    let claim = claims.first().expect("a claim");
    let Parts { statement, .. } = claim.parts.as_ref().expect("a statement of its own");
    let (start, end) = (statement.start as usize, statement.end as usize);
    let text = [&flagged.text[..start], block.as_bytes(), &flagged.text[end..]].concat();
    serves_alike(&flagged, claim, &shaderlint_hlsl::parse(text).0)
}

const COUNTED: &str = "if (Src[id.x] > 2) { uint s; InterlockedAdd(C[k], 1, s); Out[s] = gi; }";
const SUMMED: &str = "uint v = Src[id.x]; if (v > 2) { uint s; InterlockedAdd(C[k], v, s); Out[s] = gi; }";
const TOTAL: &str = "uint v = Src[id.x]; if (v > 2) { InterlockedAdd(cell, v); }";

/// A claim's block, with the count of a wave, the guard of the atomic, and what each lane gets.
fn claim(count: &str, guard: &str, own: &str) -> String {
    format!("{{ uint t = {count}; uint f = 0; if ({guard}) InterlockedAdd(C[k], t, f); s = {own}; }}")
}

/// Only what the statements name takes part: other variables may be as many as they like.
#[test]
fn statics_that_the_statement_does_not_name_are_no_matter() {
    let table = "static uint s_Table[80]; static uint s_Count; uint Counted(uint v) { s_Count++; return v; }";
    let (body, form) = (
        "s_Table[gi] = gi;\n",
        claim(
            "WaveActiveSum(v)",
            "WaveIsFirstLane()",
            "WaveReadLaneFirst(f) + WavePrefixSum(v)",
        ),
    );
    assert_eq!(proved_beside(table, &format!("{body}{SUMMED}"), &form), Ok(()));
    let named = SUMMED.replace("C[k], v, s", "C[k], s_Table[gi & 1], s");
    let refused = proved_beside(table, &format!("{body}{named}"), &form);
    assert!(refused.is_err(), "{refused:?}");
    // One that a function changes is left as it was left.
    let counted = SUMMED.replace("C[k], v, s", "C[k], Counted(v), s");
    let refused = proved_beside(table, &counted, &form);
    assert!(refused.is_err(), "{refused:?}");
}

#[test]
fn wave_forms_serve_alike() {
    let (all, first) = ("WaveActiveCountBits(true)", "WaveIsFirstLane()");
    let own = "WaveReadLaneFirst(f) + WavePrefixCountBits(true)";
    assert_eq!(proved(COUNTED, &claim(all, first, own)), Ok(()));
    assert_eq!(
        proved(COUNTED, &claim(all, "WavePrefixCountBits(true) == 0", own)),
        Ok(())
    );
    let own = "WaveReadLaneFirst(f) + WavePrefixSum(v)";
    assert_eq!(proved(SUMMED, &claim("WaveActiveSum(v)", first, own)), Ok(()));
    let sum = "{ uint t = WaveActiveSum(v); if (WaveIsFirstLane()) InterlockedAdd(cell, t); }";
    assert_eq!(proved(TOTAL, sum), Ok(()));
    // As it was.
    assert_eq!(proved(COUNTED, "InterlockedAdd(C[k], 1, s);"), Ok(()));
    for (name, wave) in [("And", "BitAnd"), ("Or", "BitOr"), ("Xor", "BitXor")] {
        let body = TOTAL.replace("Add", name);
        let block = sum.replace("Add", name).replace("Sum", wave);
        assert_eq!(proved(&body, &block), Ok(()), "{name}");
        assert!(proved(&body, sum).is_err(), "{name}");
    }
    // In a block of its own.
    let inner = sum.trim_matches(['{', '}', ' ']);
    assert_eq!(proved(TOTAL, inner), Ok(()));
    assert!(proved(TOTAL, &format!("{inner} InterlockedAdd(cell, 1);")).is_err());
    assert!(proved(TOTAL, &format!("{inner} v = 3;")).is_err());
    let before = "uint old; W.InterlockedAdd(8, Src[id.x], old);";
    let sum = "{ uint t = WaveActiveSum(Src[id.x]); if (WaveIsFirstLane()) W.InterlockedAdd(8, t); }";
    assert_eq!(proved(before, sum), Ok(()));
    assert!(proved(before, &sum.replace('8', "12")).is_err());
}

/// Which slot a lane gets is open: another one is no difference.
#[test]
fn slots_are_not_compared_lane_by_lane() {
    let (flagged, fixed) = (shader("", COUNTED), {
        let block = claim(
            "WaveActiveCountBits(true)",
            "WaveIsFirstLane()",
            "WaveReadLaneFirst(f) + WavePrefixCountBits(true)",
        );
        shader("", &COUNTED.replace("InterlockedAdd(C[k], 1, s);", &block))
    });
    let entry = |shader: &Shader| shader.entry_points().next().expect("an entry point").0;
    for run in compare(
        (&flagged, entry(&flagged)),
        (&fixed, entry(&fixed)),
        &LaneMap::ALL,
    ) {
        assert!(
            matches!(run.outcome, Outcome::Undecided | Outcome::NotProved(_)),
            "{run:?}"
        );
    }
    let names = |body: &str| {
        unordered(&shader("", body), entry(&shader("", body)))
            .as_sets
            .into_iter()
            .collect::<Vec<_>>()
    };
    assert_eq!(names(COUNTED), ["Out"]);
    assert_eq!(
        names("uint s; InterlockedAdd(C[0], 1, s); Out[gi] = s; W.Store(4 * gi, 1);"),
        ["Out"]
    );
    assert_eq!(
        names("uint s; InterlockedAdd(C[0], 1, s); Out[gi] = Src[gi];"),
        [""; 0]
    );
    let appended = "AppendStructuredBuffer<uint> A;";
    let appending = shader(appended, "A.Append(gi);");
    assert!(unordered(&appending, entry(&appending)).as_sets.contains("A"));
    // By way of groupshared memory anything may be in another order.
    let list =
        "uint s; InterlockedAdd(cell, 1, s); g[s] = gi; GroupMemoryBarrierWithGroupSync(); Out[gi] = g[gi];";
    assert_eq!(names(list), ["Out"]);
    // A counter that begins anew gives its places away again.
    let passes = |reset: &str| {
        let body = format!(
            "for (uint p = 0; p < 3; ++p) {{ {reset} GroupMemoryBarrierWithGroupSync(); \
             if (Src[gi + 64 * p] > 7) {{ uint s; InterlockedAdd(cell, 1, s); Out[s] = gi; }} GroupMemoryBarrierWithGroupSync(); }}"
        );
        let shader = shader("", &body);
        let open = unordered(&shader, entry(&shader));
        [open.as_sets, open.overwritten].map(|names| names.into_iter().collect::<Vec<_>>())
    };
    assert_eq!(passes("if (gi == 0) cell = 0;"), [vec![], vec!["Out".to_owned()]]);
    assert_eq!(passes(""), [vec!["Out".to_owned()], vec![]]);
}

/// Two runs that leave unlike things show a difference only where no other order could have left the same.
#[test]
fn what_another_order_may_leave_is_no_difference() {
    let contested = |body: &str| {
        let shader = shader("", body);
        let (entry, _) = shader.entry_points().next().expect("a kernel");
        let names = unordered(&shader, entry).contested;
        names.map(|names| names.into_iter().collect::<Vec<_>>())
    };
    let none = Some(Vec::new());
    for settled in [
        "Out[gi] = Src[gi];",
        "Out[gi] = Out[gi] + 1;",
        "if (gi == 0) Out[0] = 5; if (gi == 1) Out[1] = 6;",
        "InterlockedAdd(C[0], Src[gi]); Out[gi] = 1;",
        "InterlockedAdd(cell, Src[gi]); GroupMemoryBarrierWithGroupSync(); Out[gi] = cell;",
        "uint s; InterlockedAdd(C[0], 1, s); Out[s] = gi;",
    ] {
        assert_eq!(contested(settled), none, "{settled}");
    }
    let out = Some(vec!["Out".to_owned()]);
    for open in [
        // Who comes first.
        "uint s; InterlockedAdd(cell, 1, s); if (s == 0) Out[0] = gi;",
        "uint s; if (gi == 0) InterlockedAdd(C[0], 5); if (gi == 1) { InterlockedAdd(C[0], 1, s); Out[0] = s; }",
        // Two threads write one place.
        "if (gi == 0) Out[0] = 5; if (gi == 1) Out[0] = 6;",
        "Out[gi / 2] = gi;",
        "Out[Src[gi]] = gi;",
    ] {
        assert_eq!(contested(open), out, "{open}");
    }
    assert_eq!(
        contested("uint s; InterlockedExchange(C[0], gi, s); Out[gi] = 1;"),
        Some(vec!["C".to_owned()])
    );
    // What is made of it may be anything.
    for open in [
        "if (gi == 0) Out[0] = 5; Out[gi + 1] = Out[0];",
        "InterlockedAdd(C[0], 1); Out[gi] = C[0];",
        // One of several cells.
        "uint s; InterlockedAdd(C[gi & 1], 1, s); Out[gi] = s == 0;",
        "uint s; InterlockedAdd(g[gi & 1], 1, s); Out[gi] = s;",
        "if (gi == 3) InterlockedExchange(cell, gi, Out[0]); else InterlockedAdd(cell, 1); GroupMemoryBarrierWithGroupSync(); Out[gi] = cell;",
    ] {
        assert_eq!(contested(open), None, "{open}");
    }
}

#[test]
fn wrong_forms_are_told() {
    let (all, first) = ("WaveActiveCountBits(true)", "WaveIsFirstLane()");
    let own = "WaveReadLaneFirst(f) + WavePrefixCountBits(true)";
    for (count, guard, own) in [
        // An inclusive prefix, none at all, or one that counts down.
        (all, first, "WaveReadLaneFirst(f) + WavePrefixCountBits(true) + 1"),
        (all, first, "WaveReadLaneFirst(f)"),
        (
            all,
            first,
            "WaveReadLaneFirst(f) + WaveActiveCountBits(true) - 1 - WavePrefixCountBits(true)",
        ),
        // Each lane's own old value.
        (all, first, "f + WavePrefixCountBits(true)"),
        // Every lane, or a lane that need not be there.
        (all, "true", own),
        (all, "WaveGetLaneIndex() == 0", own),
        (all, "gi % WaveGetLaneCount() == 0", own),
        // The amount of one lane, of a full wave, of all lanes but one.
        ("1", first, own),
        ("WaveGetLaneCount()", first, own),
        ("WavePrefixCountBits(true)", first, own),
        ("WaveActiveMax(WavePrefixCountBits(true))", first, own),
        // The lanes' numbers where their order is meant.
        (all, first, "WaveReadLaneFirst(f) + WaveGetLaneIndex()"),
        (all, first, "WaveReadLaneFirst(f) + gi % WaveGetLaneCount()"),
    ] {
        assert!(
            proved(COUNTED, &claim(count, guard, own)).is_err(),
            "{count} {guard} {own}"
        );
    }
    let block = claim(all, first, own);
    for (right, wrong) in [
        // Another cell, another operator, another variable, something else besides.
        ("C[k]", "C[0]"),
        ("C[k]", "Out[k]"),
        ("InterlockedAdd", "InterlockedOr"),
        ("s =", "gi ="),
        ("uint t", "gi = 1; uint t"),
        ("uint t", "Out[0] = 1; uint t"),
        ("uint t", "GroupMemoryBarrierWithGroupSync(); uint t"),
        ("uint t", "InterlockedAdd(C[k], 0); uint t"),
        ("uint t", "if (gi == 3) return; uint t"),
        // Counted where only one lane is active.
        ("C[k], t", "C[k], WaveActiveCountBits(true)"),
    ] {
        assert!(proved(COUNTED, &block.replace(right, wrong)).is_err(), "{wrong}");
    }
    assert!(proved(SUMMED, &block).is_err());
    let twice = claim(
        "WaveActiveSum(v)",
        first,
        "WaveReadLaneFirst(f) + WavePrefixSum(v) + v",
    );
    assert!(proved(SUMMED, &twice).is_err());
    // What is read may be another value the second time.
    let body = "uint s; InterlockedAdd(C[k], Out[gi], s); Src[s];";
    let body = body.replace("Src[s];", "Out[s] = 1;");
    let twice = claim(
        "WaveActiveSum(Out[gi])",
        first,
        "WaveReadLaneFirst(f) + WavePrefixSum(Out[gi])",
    );
    assert!(proved(&body, &twice).is_err());
    let once = twice
        .replace("uint t", "uint o = Out[gi]; uint t")
        .replace("m(Out[gi])", "m(o)");
    assert_eq!(proved(&body, &once), Ok(()));
}

/// Of a unit with much that nothing names not all is read; the text of a fix is.
#[test]
fn what_is_not_read_makes_no_difference() {
    let text = "struct Unused { float4 a; }; struct Used { uint a; };
static float3 unused; static uint used;
uint Never(Unused u) { return u.a.x; }
RWStructuredBuffer<Used> C; RWStructuredBuffer<uint> Out;
[numthreads(64, 1, 1)]
void main(uint gi : SV_GroupIndex) { Used u; uint s; InterlockedAdd(C[0].a, 1, s); Out[s] = used; }
";
    let wanted = Wanted {
        file: &|_| false,
        words: &[b"Interlocked"],
        is_known: &|_| false,
    };
    let (unit, problems) = shaderlint_hlsl::preprocess("test.hlsl", text.as_bytes(), &[], &NoIncludes);
    let (flagged, _) = shaderlint_hlsl::read_preprocessed(unit, problems, Some(&wanted));
    assert_eq!(flagged.functions.len(), 1);
    let block = "{ uint t = WaveActiveCountBits(true); uint f = 0; if (WaveIsFirstLane()) InterlockedAdd(C[0].a, t, f); \
                 s = WaveReadLaneFirst(f) + WavePrefixCountBits(true); }";
    for (block, is_right) in [(block.to_owned(), true), (block.replace("C[0]", "C[1]"), false)] {
        let fixed = text.replace("InterlockedAdd(C[0].a, 1, s);", &block);
        let (fixed, _) = shaderlint_hlsl::parse(fixed.into_bytes());
        let claim = claims(&flagged).remove(0);
        assert_eq!(
            serves_alike(&flagged, &claim, &fixed).is_ok(),
            is_right,
            "{block}"
        );
    }
}

#[test]
fn the_call_must_be_a_statement_on_one_cell() {
    let claim = "uint s; InterlockedAdd(C[0], 1, s); Out[s] = 1;";
    assert!(has_parts("", claim));
    assert!(has_parts("", &claim.replace("C[0]", "C[k + Src[gid.x]]")));
    assert!(has_parts("", &format!("if (Src[gi] > 1) {{ {claim} }}")));
    assert!(has_parts(
        "",
        &format!("for (uint i = 0; i < n; ++i) {{ {claim} }}")
    ));
    assert!(has_parts(
        "",
        &format!(
            "uint l = k; for (uint i = gi; i < n; i += 64) {{ {} }}",
            claim.replace("[0]", "[l]")
        )
    ));
    // Threads may be in different passes.
    assert!(!has_parts(
        "",
        &format!(
            "for (uint i = 0; i < n; ++i) {{ {} }}",
            claim.replace("[0]", "[i]")
        )
    ));
    let heap = "for (uint i = 0; i < n; ++i) { W.InterlockedAdd(0, 1, s); Out[s] = 1; }";
    let heap = |before: &str| heap.replace("W.", "w.").replace("{ w", &format!("{{ {before} w"));
    let declared = "uint s; RWByteAddressBuffer w = ResourceDescriptorHeap[3];";
    assert!(has_parts("", &format!("{declared} {}", heap(""))));
    assert!(!has_parts(
        "",
        &format!("{declared} {}", heap("w = ResourceDescriptorHeap[i];"))
    ));
    // The place is evaluated by each thread, and for its effects.
    assert!(!has_parts(
        "",
        &format!("uint l = 0; {}", claim.replace("[0]", "[l++]"))
    ));
    // Memory that another thread may change.
    let chosen = claim.replace("[0]", "[cell]");
    assert!(!has_parts(
        "",
        &format!("if (gi == 0) cell = 1; GroupMemoryBarrierWithGroupSync(); {chosen}")
    ));
    // No statement of its own.
    assert!(!has_parts("", "uint s = C.IncrementCounter(); Out[s] = 1;"));
    assert!(!has_parts(
        "",
        "uint s; for (InterlockedAdd(C[0], 1, s); n > 100;) {} Out[s] = 1;"
    ));
    assert!(!has_parts("AppendStructuredBuffer<uint> A;", "A.Append(gi);"));
    assert!(!has_parts(
        "",
        "uint s; InterlockedAdd(C[0], 1, s); if (s == 3) Out[0] = 1;"
    ));
    // By a function.
    let helper = "void Claim(uint l, uint v) { uint s; InterlockedAdd(C[l], 1, s); Out[s] = v; }";
    assert!(has_parts(helper, "Claim(0, gi);"));
    assert!(has_parts(helper, "Claim(0, gi); Claim(1, gi);"));
    assert!(!has_parts(helper, "for (uint i = 0; i < n; ++i) Claim(i, gi);"));
    // It is met with another address for each thread, by few, or where nobody looks.
    assert!(!has_parts(helper, "Claim(0, gi); if (gi < 3) Claim(gi, gi);"));
    let hidden = format!("{helper} void Hide(uint a[64], uint l) {{ Claim(l, a[0]); }}");
    assert!(!has_parts(&hidden, "Claim(0, gi); Hide(g, gi);"));
    assert!(has_parts(&hidden, "Claim(0, gi); if (n > 3) Claim(1, gi);"));
}

#[test]
fn a_function_may_give_the_resource() {
    let globals = "RWStructuredBuffer<uint> Get(uint i) { RWStructuredBuffer<uint> r = ResourceDescriptorHeap[i]; return r; }
        RWByteAddressBuffer Bytes() { return ResourceDescriptorHeap[n]; }
        struct H { uint i; RWStructuredBuffer<uint> Get() { return ResourceDescriptorHeap[i]; } };
        RWStructuredBuffer<uint> Chosen() { return ResourceDescriptorHeap[Out[0]]; }
        RWStructuredBuffer<uint> Counted(inout uint i) { return ResourceDescriptorHeap[i++]; }";
    let claim =
        |cell: &str| format!("if (Src[id.x] > 2) {{ uint s; InterlockedAdd({cell}, 1, s); Out[s] = gi; }}");
    assert!(has_parts(globals, &claim("Get(k)[0]")));
    assert!(has_parts(
        globals,
        &claim("Bytes(), 0").replace("InterlockedAdd(Bytes(), ", "Bytes().InterlockedAdd(")
    ));
    assert!(has_parts(
        globals,
        &format!("H h; h.i = k; {}", claim("h.Get()[0]"))
    ));
    assert!(!has_parts(globals, &claim("Chosen()[0]")));
    assert!(!has_parts(
        globals,
        &format!("uint i = 0; {}", claim("Counted(i)[0]"))
    ));
    // Threads may be in different passes.
    let looped = format!("for (uint i = 0; i < n; ++i) {{ {} }}", claim("Get(i)[0]"));
    assert!(!has_parts(globals, &looped));
    // What its own thread does to it may show.
    assert!(!has_parts(globals, "InterlockedAdd(Get(k)[0], 1);"));
}

#[test]
fn nobody_must_be_able_to_tell_when_a_sum_is_made() {
    let sum = "InterlockedAdd(cell, Src[gi]);";
    let on_device = "InterlockedAdd(C[0], Src[gi]);";
    let barrier = "GroupMemoryBarrierWithGroupSync();";
    assert!(has_parts("", sum));
    assert!(has_parts("", on_device));
    assert!(has_parts(
        "",
        &format!("if (gi == 0) cell = 0; {barrier} {sum} {barrier} Out[gi] = cell;")
    ));
    let again = format!("{sum} InterlockedAdd(cell, 3);");
    assert!(
        claims(&shader("", &again))
            .iter()
            .all(|claim| claim.parts.is_ok())
    );
    // Its own thread may look at it, or do something that does not commute with it.
    for after in [
        "uint s; InterlockedAdd(C[0], 0, s); Out[gi] = s;",
        "Out[gi] = C[0];",
        "InterlockedMax(C[0], 3);",
        "C[gi] = 3;",
        "C[Src[0]] = 3;",
        "DeviceMemoryBarrier(); Out[gi] = 1;",
    ] {
        let claims = claims(&shader("", &format!("{on_device} {after}")));
        assert!(claims[0].parts.is_err(), "{after}");
    }
    // Another cell is as good as another buffer.
    for after in [
        "C[1] = 3;",
        "Out[gi] = C[2];",
        "uint s; InterlockedMax(C[1], 3, s); Out[gi] = s;",
    ] {
        assert!(has_parts("", &format!("{on_device} {after}")), "{after}");
    }
    // A claim waits for its slot: what comes after is after the atomic.
    let slot = "uint s; InterlockedAdd(C[0], 1, s); Out[s] = 1;";
    assert!(has_parts(
        "",
        &format!("{slot} DeviceMemoryBarrier(); Out[gi] = C[0];")
    ));
    // What was found goes nowhere, or is asked for after all.
    assert!(has_parts("", "uint old; InterlockedAdd(C[0], 1, old);"));
    assert!(!has_parts(
        "",
        "uint old; InterlockedAdd(C[0], 1, old); uint other = old;"
    ));
}
