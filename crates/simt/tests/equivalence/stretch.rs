//! Statements compared by themselves, in kernels that are not followed: a loop around them has a bound that only the host knows.

use shaderlint_hlsl::Shader;
use shaderlint_simt::{Floats, LaneMap, WaveRun, compare_stretch};

use super::{kernel, runs_of, shader, words};

const BEFORE: &str = "StructuredBuffer<uint> Other; groupshared uint t[16]; uint third() { return s[3]; } uint first() { return s[0]; }
";
const STORE: &str = "s[gi] = X[k * 64 + gi]; B";
const SCAN: &str = "for (uint o = 1; o < 64; o <<= 1) { uint v = gi >= o ? s[gi - o] : 0; B s[gi] += v; B }";
const SCAN_BY_WAVES: &str =
    "{ uint v = s[gi]; uint p = WavePrefixSum(v) + v; uint w = gi / WaveGetLaneCount();
    if (WaveGetLaneIndex() + 1 == WaveGetLaneCount()) t[w] = p; B
    for (uint i = 0; i < w; i++) p += t[i]; s[gi] = p; B }";
const SUM: &str = "for (uint o = 32; o > 0; o >>= 1) { if (gi < o) s[gi] += s[gi + o]; B }";
const SUM_BY_WAVES: &str =
    "{ uint v = WaveActiveSum(s[gi]); if (WaveIsFirstLane()) t[gi / WaveGetLaneCount()] = v; B
    if (gi == 0) { uint sum = 0; for (uint i = 0; i < (63 + WaveGetLaneCount()) / WaveGetLaneCount(); i++) sum += t[i];
        s[0] = sum; } B }";

/// Two kernels with these statements, the barriers written out.
fn runs(around: &str, statements: [&str; 2]) -> Vec<WaveRun> {
    runs_with("", around, statements)
}

/// The same with more declared before, where the statements may stand as well.
fn runs_with(before: &str, around: &str, statements: [&str; 2]) -> Vec<WaveRun> {
    let before = format!("{BEFORE}{before}");
    let kernels = statements.map(|statements| {
        let [before, body] = [&*before, around].map(|text| text.replace("STRETCH", statements));
        kernel("", &before, &body).replace(" B", " GroupMemoryBarrierWithGroupSync();")
    });
    runs_of([&kernels[0], &kernels[1]])
}

/// The same around the statements in each pass of a loop, with what comes before them and behind them there.
fn in_loop(before: &str, behind: &str) -> String {
    format!("uint n = gi; for (uint k = 0; k < Count; k++) {{ {before} STRETCH {behind} }}")
}

#[track_caller]
fn check_equal(around: &str, statements: [&str; 2]) {
    assert_eq!(words(&runs(around, statements)), "equal", "{around}");
}

#[track_caller]
fn check_open(around: &str, statements: [&str; 2]) {
    let said = words(&runs(around, statements));
    assert!(said.starts_with("not proved"), "{around}: {said}");
}

#[test]
fn statements_are_compared_where_the_kernel_is_not_followed() {
    for behind in [
        "Y[k * 64 + gi] = s[gi];",
        "Y[s[gi]] = k;",
        "if (gi == 63) Z[k] = s[gi]; B",
        "n += s[63]; Y[n] = gi;",
    ] {
        check_equal(&in_loop(STORE, behind), [SCAN, SCAN_BY_WAVES]);
        // A line may end elsewhere.
        let [lines, line] = [SCAN_BY_WAVES, SCAN].map(|statements| {
            let body = in_loop(STORE, behind).replace("STRETCH", statements);
            kernel("", BEFORE, &body).replace(" B", " GroupMemoryBarrierWithGroupSync();")
        });
        let lines = lines.replace("k++) { ", "k++)\n{\n").replace("; Y", ";\n\tY");
        assert_eq!(words(&runs_of([&line, &lines])), "equal", "{behind}");
    }
    // What differs does not scan the last element, or all of them twice.
    for wrong in [
        SCAN_BY_WAVES.replace("+ v;", "+ (gi == 63 ? 0 : v);"),
        SCAN_BY_WAVES.replace("i < w", "i <= w"),
        SCAN_BY_WAVES.replacen("t[w] = p; B", "t[w] = p;", 1),
    ] {
        check_open(&in_loop(STORE, "Y[k * 64 + gi] = s[gi];"), [SCAN, &wrong]);
    }
    // The data say where the elements go.
    let then_scattered = format!("uint k = 0; {STORE} STRETCH Y[s[gi]] = X[gi]; t[s[gi] & 15] = gi;");
    check_equal(&then_scattered, [SCAN, SCAN_BY_WAVES]);
}

/// What takes long before the statements is no matter to them.
#[test]
fn what_a_thread_works_out_before_is_any_value() {
    let loops = "for (uint i = 0; i < 400; i++) y = y * y + sin(x) * i;".repeat(24);
    let globals = format!("{BEFORE} float March(float x) {{ float y = x; {loops} return y; }}");
    let sum = SUM.replacen("{ if", "{ B if", 1);
    let by_waves = format!("B {SUM_BY_WAVES}");
    let said = |before: &str, statements: [&str; 2]| {
        let shaders = statements.map(|statements| {
            let body = format!("float c = March(X[gi]); {before} {statements} if (gi == 0) Y[0] = s[0];");
            shader(&kernel("", &globals, &body).replace(" B", " GroupMemoryBarrierWithGroupSync();"))
        });
        let [first, second] = [0, 1].map(|at| {
            let (entry, _) = shaders[at].entry_points().next().expect("an entry point");
            (&shaders[at], entry)
        });
        let runs = compare_stretch(Floats::Any, first, second, &[LaneMap::Linear]);
        words(&runs.expect("one stretch").collect::<Vec<_>>())
    };
    let store = "s[gi] = c < 1 ? 1 : gi;";
    assert_eq!(said(store, [&sum, &by_waves]), "equal");
    let wrong = by_waves.replace("sum += t[i]", "sum += t[i] + 1");
    assert!(said(store, [&sum, &wrong]).starts_with("not proved"));
    // Where the store is one of the statements, what it stores has to be the same.
    let of = |value: &str| {
        let stored = format!("s[gi] = {value}; {by_waves}");
        said("", [&format!("s[gi] = asuint(c); {sum}"), &stored])
    };
    assert_eq!(of("asuint(c)"), "equal");
    assert!(of("asuint(c) + 1").starts_with("not proved"));
}

#[test]
fn partial_results_must_not_be_read_any_more() {
    for behind in [
        "if (gi == 0) Z[k] = s[0];",
        "if (gi == 0) { Z[k] = s[gi]; }",
        "if (gi < 1 && k > 2) Z[k] = s[gi];",
        "if (!gi) Z[k] = s[gi] + first();",
        "Z[k * 64 + gi] = s[0]; B",
        "B s[gi] = gi; B",
        // Worked out for each thread.
        "if (int(gi) < 1) Z[k] = s[gi - 1 + 1];",
        "if (63 - gi > 62) Z[k] = s[gi];",
        "if (n < 1) { if (k > 2) Z[k] = s[gi]; }",
        "if (gi < 2 && n != 1) Z[k] = s[gi];",
        "Z[k * 64 + gi] = s[gi * 64 / 4096];",
    ] {
        check_equal(&in_loop(STORE, behind), [SUM, SUM_BY_WAVES]);
    }
    for behind in [
        "Z[k * 64 + gi] = s[gi];",
        "Z[k] = s[1];",
        "Z[k] = third();",
        "if (gi == 1) Z[k] = s[gi];",
        "if (gi == 0 || k == 2) Z[k] = s[gi];",
        "if (n == 0) { n = 2; Z[k] = s[n]; }",
        "if (gi < 2) Z[k] = s[gi];",
        "if (int(gi) < 2) Z[k] = s[gi - 1 + 1];",
        "if (int(gi) < 1) Z[k] = s[gi + 1];",
        "if (gi < 1 + k) Z[k] = s[gi];",
        "if (gi < Count) Z[k] = s[gi];",
        "if (int(gi) > 0) { } else Z[k] = s[gi + 1];",
        "if (int(gi) < 1 && X[k] == s[gi + 1]) Z[k] = 1;",
        "if (int(gi) < 1) Z[k] = s[X[gi]];",
        "s[gi] += 1; if (gi == 0) Z[k] = s[0];",
        "s[gi]++;",
        "InterlockedAdd(s[gi], 1);",
        "if (bool(gi) == 1) Z[k] = s[gi];",
        "uint old; InterlockedAdd(s[2], 1, old); Z[old] = k;",
    ] {
        check_open(&in_loop(STORE, behind), [SUM, SUM_BY_WAVES]);
    }
    // The next pass adds up what this one leaves.
    check_equal(&in_loop(STORE, "if (gi == 0) Z[k] = s[0];"), [SUM, SUM_BY_WAVES]);
    let kept = "s[gi] = X[gi]; B for (uint k = 0; k < Count; k++) { B STRETCH if (gi == 0) Z[k] = s[0]; B }";
    check_open(kept, [SUM, SUM_BY_WAVES]);
    let in_part = in_loop(
        "if (gi < 63) s[gi] = X[k * 64 + gi]; B",
        "if (gi == 0) Z[k] = s[0];",
    );
    check_open(&in_part, [SUM, SUM_BY_WAVES]);
    // Once, before the loop.
    let once = "uint k = 0; s[gi] = X[gi]; B STRETCH for (; k < Count; k++) { Z[X[k]] = s[0]; }";
    check_equal(once, [SUM, SUM_BY_WAVES]);
    check_open(&once.replace("s[0]; }", "s[k]; }"), [SUM, SUM_BY_WAVES]);
}

#[test]
fn variables_hold_what_they_held_before() {
    let ladder = "s[gi] += n; B";
    for (given, other) in [
        ("s[gi] += gi; B", "n++;"),
        ("s[gi] += gi; B", "if (k > 3) n = 0;"),
    ] {
        check_open(
            &in_loop(STORE, &format!("Y[gi] = s[gi]; {other}")),
            [ladder, given],
        );
    }
    // It is given one value.
    check_equal(&in_loop(STORE, "Y[gi] = s[gi];"), [ladder, "s[gi] += gi; B"]);
    // The stretch leaves another one.
    check_open(
        &in_loop(STORE, "Y[k] = n;"),
        ["s[gi] += 1; B n = 1;", "s[gi] += 1; B n = 2;"],
    );
    check_equal(
        &in_loop(STORE, "n = k; Y[k] = n + s[gi];"),
        ["s[gi] += 1; n = 1; B", "s[gi] += 1; n = 2 - 1; B"],
    );
    // The next pass begins with it.
    check_open(
        &in_loop(STORE, "Y[k] = s[gi];"),
        ["s[gi] += n; n = 1; B", "s[gi] += n; n = 2; B"],
    );
}

/// What is declared there has other types behind it, or other names.
#[test]
fn what_is_declared_there_is_not_named_behind() {
    for (behind, declared) in [
        (
            "Y[k] = sizeof(a);",
            ["uint a = 1; s[gi] += a; B", "uint2 a = 1; s[gi] += a.x; B"],
        ),
        (
            "uint b[sizeof(a)]; b[0] = 1; Y[k] = b[0];",
            ["uint a = 1; s[gi] += a; B", "uint2 a = 1; s[gi] += a.x; B"],
        ),
        (
            "Y[k] = Count;",
            [
                "uint Count = 1; s[gi] += Count; B",
                "uint count = 1; s[gi] += count; B",
            ],
        ),
        (
            "A a = { 1 }; Y[k] = sizeof(a);",
            [
                "struct A { uint x; }; s[gi] += 1; B",
                "struct A { uint2 x; }; s[gi] += 1; B",
            ],
        ),
    ] {
        check_open(&in_loop(STORE, behind), declared);
    }
    check_equal(
        &in_loop(STORE, "Y[k] = s[gi];"),
        ["uint a = 1; s[gi] += a; B", "uint2 a = 1; s[gi] += a.x; B"],
    );
}

/// What a variable stands for is no value, nor is what is of a type that nobody knows.
#[test]
fn variables_of_other_types_are_not_compared() {
    let behind = "Y[k * 64 + gi] = r[gi];";
    let around = format!("StructuredBuffer<uint> r = X; {}", in_loop(STORE, behind));
    check_open(&around, ["s[gi] += 1; B r = X;", "s[gi] += 1; B r = Other;"]);
    let around = in_loop(STORE, "Y[k] = b[4999] + s[gi];");
    let around = format!("uint b[5000]; {around}");
    check_open(
        &around,
        ["s[gi] += 1; b[4999] = 1; B", "s[gi] += 1; b[4999] = 2; B"],
    );
}

#[test]
fn memory_is_ordered_as_before() {
    let all = SUM
        .replace("GroupMemory", "AllMemory")
        .replace(" B", " AllMemoryBarrierWithGroupSync();");
    let behind = "if (gi == 0) Z[k] = s[0];";
    check_open(&in_loop(STORE, behind), [&all, SUM_BY_WAVES]);
    let by_waves = SUM_BY_WAVES.replacen(" B", " AllMemoryBarrierWithGroupSync();", 1);
    check_equal(&in_loop(STORE, behind), [&all, &by_waves]);
    check_open(
        &in_loop(STORE, behind),
        [&format!("DeviceMemoryBarrier(); {SUM}"), SUM_BY_WAVES],
    );
    // No barrier parts the accesses around any more.
    check_open(
        &in_loop(STORE, "Y[k] = s[gi ^ 1];"),
        ["s[gi] += 1; B", "s[gi] += 1;"],
    );
    check_open(&in_loop("s[gi] = k;", behind), [SUM, SUM_BY_WAVES]);
    // Stores and loads of buffers are not moved.
    check_open(
        &in_loop(STORE, behind),
        [
            &format!("Y[gi] = k; {SUM}"),
            &format!("{SUM_BY_WAVES} Y[gi] = k;"),
        ],
    );
    check_open(
        &in_loop(STORE, behind),
        [&format!("n = Y[0]; {SUM}"), &format!("{SUM_BY_WAVES} n = Y[0];")],
    );
}

#[test]
fn threads_may_not_come_there() {
    let presumes = |around: &str| {
        let runs = runs(around, [SCAN, SCAN_BY_WAVES]);
        assert_eq!(words(&runs), "equal", "{around}");
        runs.iter().any(|run| run.presumes)
    };
    let behind = "Y[k * 64 + gi] = s[gi];";
    assert!(!presumes(&in_loop(STORE, behind)));
    for (old, new) in [
        ("uint n", "if (X[id.x] > 3) return; uint n"),
        ("{ s[gi]", "{ if (X[k] == 3) break; s[gi]"),
        ("{ s[gi]", "{ if (X[k] == 3) continue; s[gi]"),
        ("k < Count", "k < X[gi]"),
        ("uint k = 0", "uint k = gi"),
        ("k++", "k += gi"),
    ] {
        let around = in_loop(STORE, behind);
        assert!(around.contains(old), "{old}");
        assert!(presumes(&around.replacen(old, new, 1)), "{new}");
    }
    // A thread leaves in the statements themselves.
    check_open(
        &in_loop(STORE, "B Y[k] = s[gi];"),
        ["s[gi] += 1; B", "s[gi] += 1; B if (X[gi] > 3) return;"],
    );
}

#[test]
fn what_is_around_is_one_text() {
    let around = in_loop(STORE, "Y[k * 64 + gi] = s[gi] + first();");
    check_equal(&around, [SCAN, SCAN_BY_WAVES]);
    let body = |statements: &str| {
        around
            .replace("STRETCH", statements)
            .replace(" B", " GroupMemoryBarrierWithGroupSync();")
    };
    let other = |before: &str, statements: &str| kernel("", before, &body(statements));
    for (was, is) in [
        ("uint first() { return s[0]; }", "uint first() { return s[1]; }"),
        (
            "enum E { A = 0 }; uint first() { return s[A]; }",
            "enum E { A = 1 }; uint first() { return s[A]; }",
        ),
        (
            "static const uint K = 0; uint first() { return s[K]; }",
            "static const uint K = 1; uint first() { return s[K]; }",
        ),
        (
            "typedef uint T; T first() { return s[0]; }",
            "typedef int T; T first() { return s[0]; }",
        ),
        (
            "uint first() { return s[0]; }",
            "groupshared uint first_; uint first() { return s[0]; } uint first(uint x) { return 1; }",
        ),
    ] {
        let both =
            ["groupshared uint t[16]; "].map(|array| [format!("{array}{was}"), format!("{array}{is}")]);
        let [was, is] = &both[0];
        let said = words(&runs_of([&other(was, SCAN), &other(was, SCAN_BY_WAVES)]));
        assert_eq!(said, "equal", "{was}");
        let said = words(&runs_of([&other(was, SCAN), &other(is, SCAN_BY_WAVES)]));
        assert!(said.starts_with("not proved"), "{is}: {said}");
    }
}

/// What is behind the last barrier may meet what comes after it.
#[test]
fn no_other_thread_touches_a_cell_behind_the_last_barrier() {
    let behind = "if (gi == 0) s[0] = 7; Y[k * 64 + gi] = n;";
    let of_one = "n = s[0] + 1; B if (gi == 0) s[0] += 1;";
    check_open(
        &in_loop(STORE, behind),
        [of_one, "if (gi == 0) s[0] += 1; B n = s[0];"],
    );
    check_equal(
        &in_loop(STORE, behind),
        [of_one, "n = 1 + s[0]; B if (gi == 0) s[0] += 1;"],
    );
}

/// What a store before the statements hands on is not the same either.
#[test]
fn what_the_pass_before_left_is_not_handed_on() {
    let around =
        "uint n = 0; for (uint k = 0; k < Count; k++) { if (gi == 0) s[0] = 0; n += u[gi]; u[gi] = s[gi]; B
        STRETCH B } Y[gi] = n;";
    let said = |statements| words(&runs_with("groupshared uint u[64];", around, statements));
    let open = said(["s[gi] += 1;", "s[gi] += 2;"]);
    assert!(open.starts_with("not proved"), "{open}");
}

/// The statement of the call has to make the call, for all threads, and nothing else.
#[test]
fn statements_in_a_function_are_come_to_by_one_plain_call() {
    let function = "uint f(uint gi) { s[gi] = X[gi]; B STRETCH return s[0]; }";
    let said = |around: &str| {
        let around = format!("uint n = 0; {around}");
        words(&runs_with(function, &around, [SUM, SUM_BY_WAVES]))
    };
    let behind = "for (uint k = 0; k < Count; k++) Z[X[k]] = r;";
    assert_eq!(said(&format!("uint r = f(gi); {behind}")), "equal");
    for call in [
        "uint r = f(gi) + s[1];",
        "uint r = f(s[1] - s[1] + gi);",
        "uint r = X[gi] > 3 ? f(gi) : 0;",
        "bool c = X[gi] > 3 && f(gi); uint r = c;",
        "uint r = (n += s[1] + f(gi));",
    ] {
        let open = said(&format!("{call} {behind}"));
        assert!(open.starts_with("not proved"), "{call}: {open}");
    }
}

/// An index is what a condition says of it only if it is compared as it is.
#[test]
fn a_condition_tells_an_element_by_its_number() {
    check_equal(
        &in_loop(STORE, "if (gi == 0 && k > 1) Z[k] = s[gi];"),
        [SUM, SUM_BY_WAVES],
    );
    for behind in [
        "float f = gi; if (f == 2) Z[k] = s[f];",
        "if (gi == 40) Z[k] = s[bool(gi)];",
        "uint o = gi; if (o == 0 && (o = 3) > 1) Z[k] = s[o];",
    ] {
        check_open(&in_loop(STORE, behind), [SUM, SUM_BY_WAVES]);
    }
    // A component of a vector.
    let said = words(&runs_with(
        "groupshared uint4 v;",
        &in_loop(STORE, "Y[k * 64 + gi] = v[1];"),
        ["if (gi == 0) v.y = k; B", "if (gi == 0) v.y = k + 1; B"],
    ));
    assert!(said.starts_with("not proved"), "{said}");
}

/// A kernel that races with what comes after the statements is equal to none, whichever of the two it is.
#[test]
fn neither_kernel_does_more_behind_the_last_barrier() {
    let around =
        "uint n = 0; for (uint k = 0; k < Count; k++) { s[gi] = k; B STRETCH s[gi] = 1; B } Y[gi] = n;";
    let (racy, right) = ("B n += s[63 - gi];", "n += s[63 - gi]; B");
    check_equal(around, [right, "n = s[63 - gi] + n; B"]);
    check_open(around, [racy, right]);
    check_open(around, [right, racy]);
}

/// A step behind an operator is a write as well.
#[test]
fn steps_behind_operators_are_writes() {
    let with = |step: &str| {
        format!(
            "uint n = 0; uint u = 0; for (uint k = 0; k < Count; k++) {{ s[gi] = k; B STRETCH {step} }} Y[gi] = n;"
        )
    };
    check_equal(&with("n += k;"), ["n += u + 1;", "n += 1;"]);
    for step in [
        "u++;",
        "-u++;",
        "n += (int)u++;",
        "if (!u++) n += 2;",
        "n += -(u)--;",
        "- -u++;",
        "Z[-u++] = k;",
    ] {
        check_open(&with(step), ["n += u + 1;", "n += 1;"]);
    }
}

/// One of the two may call a function for them that the other one does not have, whatever that is called elsewhere.
#[test]
fn a_function_may_be_declared_for_them() {
    const SCANNED: &str =
        "uint scanned(uint v, uint i) { uint p = WavePrefixSum(v) + v; uint w = i / WaveGetLaneCount();
        if (WaveGetLaneIndex() + 1 == WaveGetLaneCount()) t[w] = p; B
        for (uint o = 0; o < w; o++) p += t[o]; return p; }\n";
    let said = |around: &str, function: &str| {
        let name = function.split(['(', ' ']).nth(1).unwrap_or_default();
        let called = format!("s[gi] = {name}(s[gi], gi); B");
        let of = |before: &str, statements: &str| {
            let body = around.replace("STRETCH", statements);
            kernel("", before, &body).replace(" B", " GroupMemoryBarrierWithGroupSync();")
        };
        let kernels = [of(BEFORE, SCAN), of(&format!("{BEFORE}{function}"), &called)];
        words(&runs_of([&kernels[0], &kernels[1]]))
    };
    let around = in_loop(STORE, "Y[k * 64 + gi] = s[gi];");
    assert_eq!(said(&around, SCANNED), "equal");
    for wrong in [
        SCANNED.replace("+ v;", ";"),
        SCANNED.replace("o < w", "o <= w"),
        SCANNED.replace("t[w] = p; B", "t[w] = p;"),
        SCANNED.replace("return p;", "Z[i] = p; return p;"),
        SCANNED.replace("return p;", "static uint last = 0; last += p; return p;"),
        SCANNED.replace("uint scanned", "[numthreads(64, 1, 1)] uint scanned"),
        // An overload.
        SCANNED.replace("scanned", "third"),
    ] {
        assert!(said(&around, &wrong).starts_with("not proved"), "{wrong}");
    }
    // What both call, and only one of them declares.
    let foreign = in_loop(STORE, "if (gi == 0) Y[0] = foreign(s[0]); B");
    let declared = SCANNED.replace("scanned", "foreign");
    assert!(said(&foreign, &declared).starts_with("not proved"));
}

/// What another file declares cannot name what this one does, and what stands before the statements has happened. A macro can.
#[test]
fn what_is_not_understood_around_them_reads_no_partial_result() {
    let kernels_of = |before: &str, around: &str, statements: &str| {
        let body = around.replace("STRETCH", statements);
        let before = format!("groupshared uint t[16]; {before}");
        kernel("", &before, &body).replace(" B", " GroupMemoryBarrierWithGroupSync();")
    };
    let of = |before: &str, around: &str, statements: [&str; 2]| {
        let kernels = statements.map(|statements| kernels_of(before, around, statements));
        runs_of([&kernels[0], &kernels[1]])
    };
    let once = |before: &str, behind: &str| format!("{before} s[gi] = X[gi]; B STRETCH {behind}");
    let (sums, total) = ([SUM, SUM_BY_WAVES], "if (gi == 0) Y[0] = s[0];");
    let by_themselves = |before: &str, around: &str, statements: [&str; 2]| -> Vec<WaveRun> {
        let [first, second] = statements.map(|statements| shader(&kernels_of(before, around, statements)));
        let entry = |shader: &Shader| shader.entry_points().next().expect("an entry point").0;
        let (first, second) = ((&first, entry(&first)), (&second, entry(&second)));
        let runs = compare_stretch(Floats::Any, first, second, &[LaneMap::Linear]);
        runs.into_iter().flatten().collect()
    };
    let check = |expected: &str, around: &str| {
        let said = words(&of("", around, sums));
        assert!(said.starts_with(expected), "{around}: {said}");
    };
    for behind in [
        "if (gi == 0) Y[0] = foreign(s[0]);",
        "foreign(gi); if (gi == 0) image[uint2(gi, 0)] = s[0];",
        "if (gi == 0) Y[0] = s[0] + Scale * table[gi].first;",
    ] {
        check("equal", &once("", behind));
    }
    let in_a_loop = |behind: &str| in_loop(STORE, &format!("{behind} B"));
    check("equal", &in_a_loop("if (gi == 0) Y[0] = foreign(s[0]);"));
    for behind in [
        "MACRO(gi);",
        "Y[0] = SCALE;",
        "Y[gi] = foreign(s[gi]);",
        "Y[0] = foreign(s);",
        "Y[0] = foreign<s>(gi);",
        "IMAGE[gi] = 1;",
        "foreign[s[1]] = 2;",
    ] {
        check("not proved", &once("", &format!("{total} {behind}")));
    }
    for before in [
        "uint u = table[MACRO(gi + 1)];",
        "uint u = 0; MACRO(u);",
        "uint u = SCALE;",
    ] {
        let runs = by_themselves("", &once(before, total), sums);
        let is_presumed = |run: &WaveRun| run.outcome.is_equal() && run.presumes;
        assert!(
            !runs.is_empty() && runs.iter().all(is_presumed),
            "{before}: {}",
            words(&runs)
        );
        // What stands before them in a loop is run behind them as well.
        check(
            "not proved",
            &in_loop(&format!("{before} {STORE}"), &format!("{total} B")),
        );
    }
    // In the statements themselves, or in a function that they call, it may be anything.
    let third = "uint third_of(uint i) { return foreign(i); } ";
    for (before, statement) in [("", "foreign(gi);"), (third, "uint q = third_of(gi);")] {
        let with = sums.map(|form| format!("{statement} {form}"));
        let runs = by_themselves(before, &once("", total), [&with[0], &with[1]]);
        assert!(runs.is_empty(), "{statement}: {}", words(&runs));
    }
    // A function that no kernel calls may be called from another file.
    let unused = "uint unused() { return s[5]; } ";
    let said = words(&of(unused, &once("", &format!("{total} foreign(gi);")), sums));
    assert!(said.starts_with("not proved"), "{said}");
}
