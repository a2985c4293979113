//! Kernels that once made the engine say something untrue.

mod defects;
mod unknown;

use shaderlint_hlsl::Shader;
use shaderlint_simt::{Analysis, Kind, LaneMap, Outcome, WaveRun, analyze, compare};

fn shader(source: &str) -> Shader {
    shaderlint_hlsl::parse(source.as_bytes().to_vec()).0
}

fn first_entry(shader: &Shader) -> Analysis {
    let (entry, _) = shader
        .entry_points()
        .next()
        .expect("the test's kernel has an entry point");
    analyze(shader, entry)
}

/// A kernel of 64 threads with some globals and a body.
fn kernel(globals: &str, body: &str) -> String {
    format!(
        "StructuredBuffer<uint> Src; StructuredBuffer<uint4> Src4; RWStructuredBuffer<uint> Out;\n\
         groupshared uint g[64];\n{globals}\n[numthreads(64, 1, 1)]\n\
         void main(uint gi : SV_GroupIndex, uint3 dtid : SV_DispatchThreadID, uint3 gid : SV_GroupID) {{\n{body}\n}}\n"
    )
}

#[track_caller]
fn check_races(globals: &str, body: &str, expected: usize) {
    let shader = shader(&kernel(globals, body));
    let analysis = first_entry(&shader);
    let races: Vec<String> = analysis
        .races
        .iter()
        .map(|race| format!("{}[{}]", shader.globals[race.array.0 as usize].name, race.index))
        .collect();
    assert_eq!(races.len(), expected, "{body}: {races:?}, {:?}", analysis.stopped);
}

/// Whether two bodies are said to be equal, and to differ, at every wave size.
fn compared(globals: [&str; 2], bodies: [&str; 2]) -> (bool, bool) {
    let [first, second] = [0, 1].map(|which| shader(&kernel(globals[which], bodies[which])));
    let entry = |shader: &Shader| shader.entry_points().next().expect("an entry point").0;
    let runs: Vec<WaveRun> = compare(
        (&first, entry(&first)),
        (&second, entry(&second)),
        &[LaneMap::Linear],
    )
    .collect();
    (
        runs.iter().all(|run| run.outcome.is_equal()),
        runs.iter().any(|run| matches!(run.outcome, Outcome::Differs(_))),
    )
}

#[track_caller]
fn check_not_equal(globals: [&str; 2], bodies: [&str; 2]) {
    assert!(!compared(globals, bodies).0, "{bodies:?} are not equal");
}

fn rewritable(globals: &str, body: &str) -> Vec<bool> {
    let shader = shader(&kernel(globals, body));
    let collectives = first_entry(&shader).collectives;
    collectives.iter().map(|c| c.rewrite.is_ok()).collect()
}

#[test]
fn static_variables_of_functions_live_on() {
    let next = "uint next(uint k) { static uint n = 0; n += k; return n; }";
    let kept = "uint kept(uint k) { static uint n = k; return n; }";
    let constant = "uint fixed(uint i) { static const uint n[2] = { 5, 6 }; return n[i & 1]; }";
    for (function, body, value) in [
        (next, "next(1); next(2); Out[gi] = next(4);", "7"),
        (kept, "kept(Src[gi]); Out[gi] = kept(4);", "Src[gi]"),
        (constant, "Out[gi] = fixed(gi);", "5 + (gi & 1)"),
    ] {
        let expected = format!("Out[gi] = {value};");
        assert!(compared([function, ""], [body, &expected]).0, "{body}");
    }
    check_not_equal(
        [kept; 2],
        [
            "if (Src[0] > 3) kept(1); Out[gi] = kept(4);",
            "Out[gi] = kept(4);",
        ],
    );
    // What a loop that is not followed calls depends on what was called before.
    let count = "for (uint i = 0; i < Src[0]; ++i) { if (Src[i] == 3) break; x += next(1); } Out[gi] = x;";
    let bodies = ["", "next(1);"].map(|before| format!("uint x = 0; {before} {count}"));
    check_not_equal([next; 2], [&bodies[0], &bodies[1]]);
    check_races(
        &format!("groupshared uint two[128]; {next}"),
        "two[next(64) - 64 + gi] = Src[gi]; uint v = two[next(64) - 64 + (gi ^ 1)]; Out[gi] = v;",
        0,
    );
    let scan = "void scan(uint gi) { static uint s = 1; for (; s < 64; s <<= 1) { \
        uint v = gi >= s ? g[gi - s] : 0; GroupMemoryBarrierWithGroupSync(); \
        g[gi] += v; GroupMemoryBarrierWithGroupSync(); } }";
    let body = "g[gi] = Src[gi]; GroupMemoryBarrierWithGroupSync(); scan(gi); scan(gi); Out[gi] = g[gi];";
    assert_eq!(rewritable(scan, body), [false; 1]);
}

#[test]
fn a_total_is_a_part_of_what_atomics_make_of_partial_results() {
    let reduce = "g[gi] = Src[gi]; h[gi] = 0; GroupMemoryBarrierWithGroupSync(); \
        for (uint s = 32; s > 0; s >>= 1) { if (gi < s) g[gi] += g[gi + s]; GroupMemoryBarrierWithGroupSync(); } uint o = 0;";
    for (found, rest) in [
        (1, "if (gi == 0) { InterlockedAdd(g[0], 1, o); Out[0] = o; }"),
        (1, "InterlockedAdd(h[gi], 1, o); Out[gi] = o + g[0];"),
        (0, "InterlockedAdd(g[gi], 1, o); Out[gi] = o;"),
        (0, "InterlockedExchange(g[gi], 1, o); Out[gi] = o;"),
        (0, "InterlockedMax(g[1], gi, o); Out[gi] = o;"),
        (
            0,
            "InterlockedAdd(g[gi], 1); GroupMemoryBarrierWithGroupSync(); Out[gi] = g[gi];",
        ),
        (
            0,
            "if (Src[gi] > 3) InterlockedAdd(g[gi], 1); GroupMemoryBarrierWithGroupSync(); Out[gi] = g[gi];",
        ),
        (
            0,
            "InterlockedAdd(g[gi], 1); InterlockedMax(g[gi], 7); GroupMemoryBarrierWithGroupSync(); Out[gi] = g[gi];",
        ),
        (
            0,
            "InterlockedCompareStore(g[gi], 1, 2); GroupMemoryBarrierWithGroupSync(); Out[gi] = g[gi];",
        ),
        (
            0,
            "InterlockedAdd(g[Src[gi] & 63], 1); GroupMemoryBarrierWithGroupSync(); Out[gi] = g[gi];",
        ),
        (
            0,
            "InterlockedAdd(h[g[gi] & 63], 1); GroupMemoryBarrierWithGroupSync(); Out[gi] = h[gi];",
        ),
        // Without atomics: where a partial result says which element is meant.
        (0, "Out[gi] = h[g[gi] & 63];"),
        (
            0,
            "h[g[gi] & 63] = 1; GroupMemoryBarrierWithGroupSync(); Out[gi] = h[gi] + g[0];",
        ),
        (0, "uint l[4] = { 0, 0, 0, 0 }; l[g[gi] & 3] = 7; Out[gi] = l[0];"),
        (
            0,
            "uint n = g[gi]; while (n > 3) { if (Src[n] == 7) return; n = Src[n]; } Out[gi] = g[0];",
        ),
    ] {
        let all = rewritable("groupshared uint h[64];", &format!("{reduce} {rest}"));
        assert_eq!(all.len(), found, "{rest}");
    }
}

/// What takes its place has to order as much, says its proof.
#[test]
fn a_ladder_that_orders_resources_may_be_replaced() {
    let body = |barrier: &str, last: &str| {
        format!(
            "g[gi] = Src[gi]; Out[gi] = gi; GroupMemoryBarrierWithGroupSync();
             for (uint s = 1; s < 64; s <<= 1) {{ uint v = gi >= s ? g[gi - s] : 0; {barrier}(); g[gi] += v; {barrier}(); }}
             {last}"
        )
    };
    let (group, all) = ("GroupMemoryBarrierWithGroupSync", "AllMemoryBarrierWithGroupSync");
    let fence = "DeviceMemoryBarrier(); GroupMemoryBarrierWithGroupSync";
    for last in [
        "Out[gi] = g[gi];",
        "Out[64 + gi] = g[gi] + Out[63 - gi];",
        "InterlockedAdd(Out[0], g[gi]);",
    ] {
        for (barrier, orders_device) in [(group, false), (all, true), (fence, true)] {
            let body = body(barrier, last);
            let found = first_entry(&shader(&kernel("", &body))).collectives;
            let found = found
                .iter()
                .map(|found| (found.rewrite.is_ok(), found.orders_device));
            assert_eq!(found.collect::<Vec<_>>(), [(true, orders_device)], "{body}");
        }
    }
}

#[test]
fn a_result_of_a_loop_that_is_not_followed_is_not_known() {
    let find = "uint find(uint n) { for (uint i = 0; i < n; ++i) { if (Src[i] > 5) return i; } return 0; }";
    check_races(find, "g[find(Src[gi])] = gi;", 0);
}

#[test]
fn who_continues_from_a_switch_is_not_known() {
    let body =
        "for (uint i = 0; i < 2; ++i) { switch (Src[gi]) { case 0: continue; default: break; } g[0] = gi; }";
    check_races("", body, 0);
}

#[test]
fn an_atomic_touches_its_own_member() {
    let s = "struct S { uint a; uint b; }; groupshared S s; groupshared uint2 v;";
    check_races(s, "if (gi == 0) s.a = 1; InterlockedAdd(s.b, 1);", 0);
    check_races(s, "if (gi == 0) s.b = 1; InterlockedAdd(s.b, 1);", 1);
    check_races(s, "if (gi == 0) v.x = 1; InterlockedAdd(v.y, 1);", 0);
}

#[test]
fn parts_at_an_unknown_index_are_not_all_the_same() {
    let table = "static const uint2 T[2] = { uint2(1, 2), uint2(3, 4) };";
    check_races(table, "uint2 t = T[Src[gi] & 1]; if (t.x == t.y) g[0] = gi;", 0);
    let array = "uint2 a[2]; a[0] = uint2(1, 2); a[1] = uint2(3, 4); uint2 v = a[Src[gi]];";
    check_races("", &format!("{array} if (v.x == v.y) g[0] = gi;"), 0);
    let two = "struct S { uint a[2]; uint b[2]; };";
    let member = |name: &str| {
        format!("S s; s.a[0] = 1; s.a[1] = 2; s.b[0] = 3; s.b[1] = 4; Out[gi] = s.{name}[Src[gi]];")
    };
    check_not_equal([two, two], [&member("a"), &member("b")]);
}

#[test]
fn parts_of_an_element_are_not_all_the_same() {
    let elements = "struct E { uint a[4]; }; StructuredBuffer<E> Es; RWStructuredBuffer<uint4> Out4;
        StructuredBuffer<uint> B[4]; Texture2D<uint> T[4];";
    for equal in [
        "Src4[gi][0] == Src4[gi][1]",
        "Es[gi].a[0] == Es[gi].a[1]",
        "Es[gi].a[gi & 3] == Es[gi].a[3]",
        "B[0][gi] == B[1][gi]",
        "T[0][uint2(gi, 0)] == T[1][uint2(gi, 0)]",
    ] {
        check_races(elements, &format!("if ({equal}) g[0] = gi;"), 0);
    }
    let loads = "uint v[2]; for (uint i = 0; i < 2; ++i) v[i] = T[i].Load(int3(gi, 0, 0)); if (v[0] == v[1]) g[0] = gi;";
    check_races(elements, loads, 0);
    check_not_equal([elements; 2], ["Out4[gi][0] = 1;", "Out4[gi][1] = 1;"]);
    assert!(compared([elements; 2], ["Out4[gi][1] = 1;", "Out4[gi].y = 1;"]).0);
}

#[test]
fn arguments_are_converted_both_ways() {
    let f = "void f(out float x) { x = 1; }";
    check_races(f, "uint y; f(y); if (y != 1) g[0] = gi;", 0);
}

#[test]
fn what_an_unknown_call_leaves_in_an_array_differs_by_element() {
    let body =
        "uint a[32]; for (uint i = 0; i < 32; ++i) a[i] = i; Unknown(a); if (a[0] == a[16]) g[0] = gi;";
    check_races("", body, 0);
}

#[test]
fn unlike_terms_of_one_value_do_not_race() {
    for value in [
        "dtid.x / 64",
        "dtid.x >> 6",
        "dtid.x & ~63u",
        "Src[dtid.x >> 6]",
        "max(dtid.x, 63 + gid.x * 64)",
        "asuint(saturate(float(dtid.x) + 1))",
        "(gi + 1) * gid.x == 0",
        "uint16_t(gi * 65536)",
    ] {
        check_races("", &format!("g[0] = {value};"), 0);
    }
    for value in ["dtid.x", "Src[gi]", "gi > 3 ? Src[0] : Src[1]"] {
        check_races("", &format!("g[0] = {value};"), 1);
    }
}

#[test]
fn a_scan_at_one_wave_size_is_none() {
    let ladder = |bound: &str| {
        format!(
            "uint n = WaveGetLaneCount(); g[gi] = Src[gi]; GroupMemoryBarrierWithGroupSync();
             for (uint s = 1; s < {bound}; s <<= 1) {{ uint v = gi >= s ? g[gi - s] : 0; GroupMemoryBarrierWithGroupSync(); g[gi] += v; GroupMemoryBarrierWithGroupSync(); }}
             Out[gi] = g[gi] + n;"
        )
    };
    assert_eq!(rewritable("", &ladder("256 / n")), [false; 0]);
    assert_eq!(rewritable("", &ladder("64")), [true]);
}

#[test]
fn a_return_of_some_says_nothing_of_the_others() {
    let some = "if (gi < 32) { if (Src[0] > 3) return; } Out[gi] = 1;";
    let all = "if (Src[0] > 3) return; Out[gi] = 1;";
    check_not_equal([""; 2], [some, all]);
}

#[test]
fn operations_on_resources_are_told_apart() {
    let buffers = "AppendStructuredBuffer<uint> App; RWStructuredBuffer<uint> Out2;";
    for bodies in [
        ["InterlockedAdd(Out[0], 1);", "InterlockedMax(Out[0], 1);"],
        ["InterlockedAdd(Out[0], 1);", "Out[0] = 1;"],
        [
            "uint o = Out.IncrementCounter();",
            "uint o = Out.DecrementCounter();",
        ],
        [
            "Out[gi] = 5; uint y = Out[gi]; Out2[gi] = y;",
            "uint y = Out[gi]; Out[gi] = 5; Out2[gi] = y;",
        ],
    ] {
        check_not_equal([buffers; 2], bodies);
        assert!(compared([buffers; 2], [bodies[0]; 2]).0, "{}", bodies[0]);
    }
}

#[test]
fn a_wave_in_an_operand_that_may_be_skipped_is_not_followed() {
    let (ternary, branch) = (
        "Out[gi] = gi < 3 ? WaveActiveSum(1) : 0;",
        "uint x = 0; if (gi < 3) x = WaveActiveSum(1); Out[gi] = x;",
    );
    check_not_equal([""; 2], [ternary, branch]);
}

#[test]
fn a_thread_reads_the_value_it_wrote_with_all_others() {
    let shared = "groupshared uint total;";
    for (body, races) in [
        ("total = 0; Out[gi] = total;", 0),
        ("if (gi < 8) { total = Src[0]; Out[gi] = total; }", 0),
        // A reader that wrote nothing, and two values.
        ("if (gi < 8) { total = 5; } Out[gi] = total;", 1),
        ("total = gi; Out[gi] = total;", 2),
        ("total = 0; if (gi == 3) { total = 1; } Out[gi] = total;", 2),
        ("total = 0; InterlockedAdd(total, 1); Out[gi] = total;", 2),
    ] {
        check_races(shared, body, races);
    }
}

#[test]
fn who_wrote_under_a_condition_may_read_what_was_there_before() {
    let shared = "groupshared uint h;";
    let plain = "if (gi == 1) Out[0] = 5;";
    let of = |condition: &str| {
        format!("if (gi == 0) h = 5; if (gi == 1 {condition}) h = 5; if (gi == 1) Out[0] = h;")
    };
    for condition in ["&& Src[0] > 3", "&& Src[gi] > 3 || gi == 1 && Src4[0].x > 3"] {
        check_not_equal([shared; 2], [plain, &of(condition)]);
        check_not_equal([shared; 2], [&of(condition), &of(condition)]);
    }
    assert_eq!(compared([shared; 2], [plain, &of("")]), (true, false));
}

#[test]
fn results_of_the_entry_point_are_not_taken_for_nothing() {
    let text = |value: &str| {
        format!(
            "struct Vertex {{ float4 position : SV_Position; uint sum : SUM; }};\n\
             [outputtopology(\"triangle\")] [numthreads(64, 1, 1)]\n\
             void Mesh(uint gi : SV_GroupIndex, out vertices Vertex verts[64]) {{ verts[gi].sum = {value}; }}\n"
        )
    };
    let [first, second] = ["1", "2"].map(|value| shader(&text(value)));
    let entry = |shader: &Shader| shader.entry_points().next().expect("an entry point").0;
    for other in [&first, &second] {
        let mut runs = compare((&first, entry(&first)), (other, entry(other)), &[LaneMap::Linear]);
        assert!(runs.all(|run| matches!(run.outcome, Outcome::NotProved(_))));
    }
}

/// The textbook ladder on `g`, with a statement before its addition and `barrier` twice a step.
fn ladder_with(statement: &str, barrier: &str) -> String {
    format!(
        "g[gi] = Src[gi]; GroupMemoryBarrierWithGroupSync();
         for (uint s = 1; s < 64; s <<= 1) {{ uint v = gi >= s ? g[gi - s] : 0; {barrier} {statement} g[gi] += v; {barrier} }}
         Out[gi] = g[gi];"
    )
}

#[test]
fn a_barrier_under_a_condition_orders_nothing_elsewhere() {
    let sync = "GroupMemoryBarrierWithGroupSync();";
    let maybe = format!("if (Src[0] > 3) {sync}");
    assert_eq!(rewritable("", &ladder_with("", sync)), [true]);
    assert_eq!(rewritable("", &ladder_with("", &maybe)), [false; 0]);
    let exchange = |barrier: &str| format!("g[gi] = gi; {barrier} Out[gi] = g[63 - gi];");
    assert!(compared([""; 2], [&exchange(sync), &exchange(sync)]).0);
    check_not_equal([""; 2], [&exchange(sync), &exchange(&maybe)]);
    // What keeps to the condition is ordered.
    let inside = format!("if (Src[0] > 3) {{ {} }}", exchange(sync));
    assert!(compared([""; 2], [&inside, &inside]).0);
}

#[test]
fn an_argument_may_be_passed_by_reference() {
    let f = "void f(uint gi, inout uint a) { if (gi == 0) a = 3; }";
    check_races(f, "f(gi, g[0]);", 0);
}

#[test]
fn half_may_be_of_16_bits() {
    for never in [
        "uint(half(4097)) == 4097",
        "half(4097.0) == 4097.0",
        "float(half(asfloat(Src[0]))) == asfloat(Src[0])",
        "uint(half(2048) + half(1)) == 2049",
    ] {
        check_races("", &format!("if ({never}) g[0] = gi;"), 0);
    }
    check_races("", "if (half(3) + half(0.5) == 3.5) g[0] = gi;", 1);
    let ladder = |ty: &str| {
        format!(
            "f[gi] = asfloat(Src[gi]); GroupMemoryBarrierWithGroupSync();
             for (uint s = 1; s < 64; s <<= 1) {{ {ty} v = gi >= s ? f[gi - s] : 0; GroupMemoryBarrierWithGroupSync(); f[gi] += v; GroupMemoryBarrierWithGroupSync(); }}
             Out[gi] = asuint(f[gi]);"
        )
    };
    assert_eq!(rewritable("groupshared float f[64];", &ladder("float")), [true]);
    assert_eq!(
        rewritable("groupshared float f[64];", &ladder("half")),
        [false; 0]
    );
}

#[test]
fn a_sum_of_bits_read_as_floats_is_none_of_words() {
    let body = ladder_with("", "GroupMemoryBarrierWithGroupSync();");
    let body = body.replace("g[gi] += v", "g[gi] = asuint(asfloat(g[gi]) + asfloat(v))");
    assert_eq!(rewritable("", &body), [false; 0]);
}

#[test]
fn an_atomic_does_not_hide_a_plain_write() {
    let body = |write: &str| {
        format!(
            "if (gi == 0) {{ InterlockedAdd(g[0], 1); {write} }} if (gi == 1) InterlockedAdd(g[0], 1); Out[gi] = 1;"
        )
    };
    assert!(compared([""; 2], [&body(""), &body("")]).0);
    check_not_equal([""; 2], [&body(""), &body("g[0] = 5;")]);
}

#[test]
fn a_variable_that_is_a_cell_in_one_pass_may_differ_in_the_next() {
    let passes = |count: u32, first: &str| {
        format!(
            "uint own = Src[dtid.x]; g[gi] = {first}; GroupMemoryBarrierWithGroupSync();\n\
             for (uint k = 0; k < {count}; ++k) {{\n\
             for (uint s = 1; s < 64; s <<= 1) {{\n\
             if (gi >= s) own += g[gi - s];\n GroupMemoryBarrierWithGroupSync();\n\
             g[gi] = own;\n GroupMemoryBarrierWithGroupSync();\n }}\n\
             Out[gi + 64 * k] = g[gi];\n GroupMemoryBarrierWithGroupSync();\n\
             g[gi] = Src[dtid.x + k]; GroupMemoryBarrierWithGroupSync();\n }}"
        )
    };
    assert_eq!(rewritable("", &passes(1, "own")).len(), 1);
    assert_eq!(rewritable("", &passes(1, "Src[dtid.x + 9]")).len(), 0);
    assert_eq!(rewritable("", &passes(2, "own")).len(), 0);
}

#[test]
fn a_static_that_is_known_in_one_pass_may_differ_in_the_next() {
    let passes = |count: u32| {
        format!(
            "g[gi] = Src[dtid.x]; GroupMemoryBarrierWithGroupSync();\n\
             for (uint k = 0; k < {count}; ++k) {{\n for (uint s = 1; s < n; s <<= 1) {{\n\
             uint v = gi >= s ? g[gi - s] : 0; GroupMemoryBarrierWithGroupSync();\n\
             g[gi] += v; GroupMemoryBarrierWithGroupSync();\n }}\n n = 32;\n }}\n Out[gi] = g[gi];"
        )
    };
    assert_eq!(rewritable("static uint n = 64;", &passes(1)).len(), 1);
    assert_eq!(rewritable("static uint n = 64;", &passes(2)).len(), 0);
}

/// The order of atomics does not matter where all combine by one operator, and only there.
#[test]
fn atomics_of_one_operator_are_followed() {
    let sync = "GroupMemoryBarrierWithGroupSync();";
    let clear = format!("if (gi == 0) total = 0; {sync}");
    let globals = ["groupshared uint total;"; 2];
    let summed = |body: &str| format!("{clear} {body} {sync} Out[gi] = total;");
    let plain = summed("if (gi == 0) { for (uint i = 0; i < 64; ++i) total += Src[i]; }");
    for body in [
        "InterlockedAdd(total, Src[gi]);",
        "if (gi & 1) InterlockedAdd(total, Src[gi]); if (!(gi & 1)) InterlockedAdd(total, Src[gi]);",
        "uint sum = WaveActiveSum(Src[gi]); if (WaveIsFirstLane()) InterlockedAdd(total, sum);",
        "uint old; InterlockedAdd(total, Src[gi], old);",
    ] {
        let (equal, differs) = compared(globals, [&plain, &summed(body)]);
        assert!(equal && !differs, "{body}");
    }
    for body in [
        "InterlockedAdd(total, Src[gi] + 1);",
        "if (gi > 0) InterlockedAdd(total, Src[gi]);",
        "InterlockedMax(total, Src[gi]);",
        // Who is first cannot be told.
        "if (gi & 1) InterlockedAdd(total, Src[gi]); else InterlockedMax(total, Src[gi]);",
        "InterlockedExchange(total, Src[gi], gi);",
        "if (Src[gi] > 7) InterlockedAdd(total, Src[gi]);",
        "InterlockedAdd(total, Src[gi]); total += 0;",
    ] {
        check_not_equal(globals, [&plain, &summed(body)]);
    }
    // In another interval another operator is no matter.
    let then = |body: &str| summed(&format!("InterlockedAdd(total, Src[gi]); {sync} {body}"));
    let most = "if (gi == 0) { for (uint i = 0; i < 64; ++i) total = max(total, Src[i]); }";
    assert!(compared(globals, [&then(most), &then("InterlockedMax(total, Src[gi]);")]).0);
}

#[test]
fn a_write_that_changes_nothing_late_may_change_something_early() {
    let sync = "GroupMemoryBarrierWithGroupSync();";
    // By the time the others write 7 it is there, but they need not wait for the first to have read.
    let body =
        format!("if (gi == 0) g[1] = Src[0]; {sync} if (gi == 0) {{ Out[0] = g[1]; g[1] = 7; }} g[1] = 7;");
    check_not_equal([""; 2], [&body, &body]);
    // What is there from the interval's start on is there for all of it.
    let body = format!("if (gi == 0) g[1] = 7; {sync} if (gi == 0) Out[0] = g[1]; g[1] = 7;");
    assert!(compared([""; 2], [&body, &body]).0);
}

#[test]
fn a_thread_between_those_that_wrote_need_not_have_written() {
    let body = |writers: &str| format!("if ({writers}) {{ g[0] = 5; }} if (gi < 8) Out[gi] = g[0];");
    assert!(compared([""; 2], [&body("gi < 8"), &body("gi < 8")]).0);
    check_not_equal([""; 2], [&body("gi % 2 == 0"), &body("gi % 2 == 0")]);
    check_races("", &body("gi % 2 == 0"), 0);
}

#[test]
fn every_element_of_a_scan_is_somewhere() {
    let body = |first: &str| {
        format!(
            "h[gi + 1] = Src[gi]; if (gi == 0) h[0] = 0; GroupMemoryBarrierWithGroupSync();
             for (uint s = 1; s < 64; s <<= 1) {{ uint v = {first} > s ? h[gi + 1 - s] : 0; GroupMemoryBarrierWithGroupSync(); h[gi + 1] += v; GroupMemoryBarrierWithGroupSync(); }}
             Out[gi] = h[gi];"
        )
    };
    assert_eq!(rewritable("groupshared uint h[65];", &body("gi + 1")), [true]);
    // 63 elements, and one that no cell holds.
    assert_eq!(rewritable("groupshared uint h[65];", &body("gi")), [false; 0]);
}

/// One thread gathers what the groups before it left, in a loop whose length nobody knows, into a variable of the group.
#[test]
fn what_one_thread_does_in_a_loop_of_unknown_length_races_with_others_alone() {
    let scans = |gather: &str| {
        let body = format!(
            "g[gi] = Src[dtid.x]; uint d; uint s = 1;
             for (d = 32; d > 0; d >>= 1) {{ GroupMemoryBarrierWithGroupSync();
                 if (gi < d) {{ g[s * (2 * gi + 2) - 1] += g[s * (2 * gi + 1) - 1]; }} s *= 2; }}
             GroupMemoryBarrierWithGroupSync(); {gather} if (gi == 0) g[63] = 0;
             for (d = 1; d < 64; d *= 2) {{ s >>= 1; GroupMemoryBarrierWithGroupSync();
                 if (gi < d) {{ uint a = s * (2 * gi + 1) - 1, b = a + s; uint t = g[a]; g[a] = g[b]; g[b] += t; }} }}
             GroupMemoryBarrierWithGroupSync(); Out[dtid.x] = g[gi] + before;"
        );
        let collectives = first_entry(&shader(&kernel("groupshared uint before;", &body))).collectives;
        let scans = collectives
            .iter()
            .filter(|found| found.kind == Kind::ExclusiveScan);
        scans.count()
    };
    let alone = "if (gi == 0) { before = 0; uint b = gid.x; if (b > 0) { while (b > 0) { before += Src[b]; b--; } } }";
    assert_eq!(scans(alone), 1);
    assert_eq!(
        scans(&format!("{alone} Out[dtid.x + 64] = before;")),
        0,
        "others read it"
    );
    assert_eq!(
        scans(&format!("Out[dtid.x + 64] = before; {alone}")),
        0,
        "others read it before"
    );
    let of_all = alone.replace("if (gi == 0)", "if (gi < 2)");
    assert_eq!(scans(&of_all), 0, "two threads write it");
    let elements = "g[gi] += 0 * gi; if (gi == 0) { uint b = gid.x; uint x = 0; if (b > 0) { while (b > 0) { x += g[b & 63]; b--; } } Out[dtid.x + 64] = x; }";
    assert_eq!(scans(elements), 0, "it reads what others write");
}
