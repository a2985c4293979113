//! The fixes of atomics, as text, and where there is none.
#![expect(clippy::too_many_lines, reason = "a test shows all that it expects")]

use shaderlint_hlsl::NoIncludes;
use shaderlint_linter::{Diagnostic, Safety, Settings, ShaderModel, check_shader, settle};
use shaderlint_rules::RULES;

fn lint(text: &[u8]) -> Vec<Diagnostic> {
    let (shader, _) = shaderlint_hlsl::read("test.hlsl", text, &[], &NoIncludes);
    check_shader(&shader, RULES, &Settings::default()).findings
}

/// A kernel of 64 threads with some declarations and a body.
fn kernel(declarations: &str, body: &str) -> String {
    format!(
        "StructuredBuffer<uint> Src;\nRWStructuredBuffer<uint> Out;\nRWStructuredBuffer<uint> C;\nRWByteAddressBuffer W;\n\
         groupshared uint g_Sum;\ngroupshared int g_Signed;\n{declarations}\n[numthreads(64, 1, 1)]\n\
         void main(uint gi : SV_GroupIndex)\n{{\n{body}\n}}\n"
    )
}

/// The body with every fix made.
#[track_caller]
fn fixed(declarations: &str, body: &str) -> String {
    let text = kernel(declarations, body);
    let settled = settle(text.as_bytes(), true, lint, |findings| findings);
    let again = settle(&settled.text, true, lint, |findings| findings);
    assert_eq!(again.fixed, [""; 0], "{body}");
    let text = String::from_utf8_lossy(&settled.text).into_owned();
    let start = text.rfind("SV_GroupIndex").unwrap_or(0);
    let (_, rest) = text[start..].split_once('\n').unwrap_or_default();
    let rest = rest.trim_start_matches(['{', '\r', '\n']);
    rest.trim_end().trim_end_matches('}').trim_end().to_owned()
}

#[track_caller]
fn check(declarations: &str, body: &str, expected: &str) {
    assert_eq!(fixed(declarations, body), expected, "{body}");
}

/// A counter that its own old values are stored into counts nothing, and hands out nothing.
#[test]
fn an_atomic_that_is_undone_is_no_claim() {
    let found = |body: &str| {
        lint(kernel("struct S { uint n; uint m; }; RWStructuredBuffer<S> D;", body).as_bytes()).len()
    };
    assert_eq!(
        found("uint old; InterlockedAdd(C[0], Src[gi], old); Out[old] = gi;"),
        1
    );
    for own in [
        "InterlockedAdd(C[0], Src[gi], C[0]);",
        "InterlockedAdd(C[0], 1, C[1]);",
        "InterlockedAdd(g_Sum, 1, g_Sum);",
        "InterlockedAdd(D[0].n, 1, D[0].n);",
    ] {
        assert_eq!(found(own), 0, "{own}");
    }
}

/// Where a run loses sight of what the atomic found, it is not said that nobody looks at it.
#[test]
fn an_old_value_that_the_text_reads_is_looked_at() {
    let found = |body: &str| {
        let findings = lint(kernel("static uint kept;", body).as_bytes());
        findings
            .into_iter()
            .map(|finding| finding.rule)
            .collect::<Vec<_>>()
    };
    let atomic = "InterlockedAdd(C[0], 1, s);";
    for body in [
        format!("uint s = 500; switch (Src[gi] & 1) {{ case 0: {atomic} break; }} Out[s] = gi;"),
        format!("uint s = 500; while (Src[s] > 3) {{ {atomic} break; }} Out[s] = gi;"),
        "uint q[4]; uint i = Src[gi] & 3; InterlockedAdd(C[0], 1, q[i]); Out[q[i]] = gi;".to_owned(),
        "uint4 q; uint i = Src[gi] & 3; InterlockedAdd(C[0], 1, q[i]); Out[q[i]] = gi;".to_owned(),
        "switch (Src[gi] & 1) { case 0: InterlockedAdd(C[0], 1, kept); break; } Out[kept] = gi;".to_owned(),
    ] {
        assert_eq!(found(&body), [""; 0], "{body}");
    }
    let unread = format!("switch (Src[gi] & 1) {{ case 0: uint s; {atomic} break; }}");
    assert_eq!(found(&unread), ["single-cell-atomic"]);
}

/// What is another member, or another element, is another cell.
#[test]
fn other_members_are_not_in_the_way() {
    let why = |body: &str| {
        let text = kernel("struct S { uint n; uint m; }; RWStructuredBuffer<S> D;", body);
        let findings = lint(text.as_bytes());
        let line = |at: u32| text[..at as usize].matches('\n').count();
        let claim = findings
            .iter()
            .find(|finding| finding.rule == "single-cell-atomic");
        let no_fix = claim.expect("a claim").no_fix.as_ref();
        no_fix.map(|why| (why.reason.name(), why.place.map(|place| line(place.start))))
    };
    let atomic = "InterlockedAdd(D[0].n, 1);";
    assert_eq!(why(&format!("D[0].m = 3;\n{atomic}")), None);
    assert_eq!(why(&format!("D[1].n = 3;\n{atomic}")), None);
    assert_eq!(why(&format!("D[gi].m = 3;\n{atomic}")), None);
    let of = |place: &str| why(&format!("D[0].m = 3;\n{place} = 3;\n{atomic}")).map(|(reason, _)| reason);
    for place in ["D[0].n", "D[gi].n"] {
        assert_eq!(of(place), Some("other-use"), "{place}");
    }
    // The index may be the cell.
    assert_eq!(of("D[D[0].n].m"), Some("other-use"));
}

/// Whether the fix holds whatever the macros may be. None is made unasked: they were not seen to be faster.
#[track_caller]
fn safety(declarations: &str, body: &str) -> Vec<Option<Safety>> {
    let findings = lint(kernel(declarations, body).as_bytes());
    let holds = |finding: &Diagnostic| {
        let fix = finding.fix.as_ref()?;
        assert_eq!(fix.safety, Safety::Unsafe);
        let depends = finding.all_notes().any(|note| note.contains("#if or -D"));
        Some(if depends { Safety::Unsafe } else { Safety::Safe })
    };
    findings.iter().map(holds).collect()
}

#[test]
fn a_sum_becomes_a_sum_of_waves() {
    check(
        "",
        "    InterlockedAdd(g_Sum, Src[gi] * 2);",
        "    {
        // One atomic for each wave.
        uint waveTotal = WaveActiveSum(Src[gi] * 2);
        if (WaveIsFirstLane())
            InterlockedAdd(g_Sum, waveTotal);
    }",
    );
    // Of literals DXC takes the overload for 64 bits.
    check(
        "",
        "    InterlockedOr(g_Sum, 1);\n    InterlockedAdd(g_Signed, Src[gi] > 3 ? 1 : 2);",
        "    {
        // One atomic for each wave.
        uint waveTotal = WaveActiveBitOr(uint(1));
        if (WaveIsFirstLane())
            InterlockedOr(g_Sum, waveTotal);
    }
    {
        // One atomic for each wave.
        int waveTotal = WaveActiveSum(int(Src[gi] > 3 ? 1 : 2));
        if (WaveIsFirstLane())
            InterlockedAdd(g_Signed, waveTotal);
    }",
    );
    check(
        "",
        "    InterlockedXor(g_Signed, 1 << gi);",
        "    {
        // One atomic for each wave.
        int waveTotal = WaveActiveBitXor(uint(1 << gi));
        if (WaveIsFirstLane())
            InterlockedXor(g_Signed, waveTotal);
    }",
    );
    // What DXC does not see as a `uint`, although HLSL does; and one that it does.
    for (cell, amount, operand) in [
        ("g_Sum", "FLAG", "uint(FLAG)"),
        ("g_Sum", "true", "uint(true)"),
        ("g_Sum", "Src[gi]", "uint(Src[gi])"),
        (
            "g_Sum",
            "uint(gi) > 3 ? FLAG : 0",
            "uint(uint(gi) > 3 ? FLAG : 0)",
        ),
        ("g_Signed", "-1u", "uint(int(-1u))"),
        (
            "g_Signed",
            "Src[gi] > 3 ? 1 : 0u",
            "uint(int(Src[gi] > 3 ? 1 : 0u))",
        ),
        (
            "g_Signed",
            "reversebits(asint(Src[gi]))",
            "uint(reversebits(asint(Src[gi])))",
        ),
    ] {
        let ty = if cell == "g_Sum" { "uint" } else { "int" };
        check(
            "enum { FLAG = 1 };",
            &format!("    InterlockedAnd({cell}, {amount});"),
            &format!(
                "    {{
        // One atomic for each wave.
        {ty} waveTotal = WaveActiveBitAnd({operand});
        if (WaveIsFirstLane())
            InterlockedAnd({cell}, waveTotal);
    }}"
            ),
        );
    }
    check(
        "",
        "    if (Src[gi] > 3) W.InterlockedAdd(16, 2);\n    else InterlockedAdd(g_Signed, -3);",
        "    if (Src[gi] > 3) {
        // One atomic for each wave.
        uint waveTotal = 2 * WaveActiveCountBits(true);
        if (WaveIsFirstLane())
            W.InterlockedAdd(16, waveTotal);
    }
    else {
        // One atomic for each wave.
        int waveTotal = -3 * int(WaveActiveCountBits(true));
        if (WaveIsFirstLane())
            InterlockedAdd(g_Signed, waveTotal);
    }",
    );
}

/// What atomics of all kinds put into a variable that nothing reads is dropped; `InterlockedCompareStore` reads it.
#[test]
fn an_old_value_is_read_by_what_compares_or_stores_it() {
    let made = "WaveActiveCountBits(true)";
    let add = "uint old;\nInterlockedAdd(C[0], 1, old);\n";
    for (more, is_fixed) in [
        ("", true),
        ("InterlockedCompareExchange(Out[gi], 1, 2, old);", true),
        ("InterlockedExchange(Out[gi], 1, old);", true),
        ("InterlockedCompareExchange(Out[gi], old, 2, old);", false),
        ("InterlockedCompareStore(Out[gi], 1, old);", false),
        ("InterlockedCompareStore(Out[gi], old, 1);", false),
    ] {
        let text = fixed("", &format!("{add}{more}"));
        assert_eq!(text.contains(made), is_fixed, "{text}");
    }
    // Another cell of the same buffer is no matter, the same is.
    for (more, is_fixed) in [("Out[gi] = C[1];", true), ("Out[gi] = C[0];", false)] {
        let text = fixed("", &format!("InterlockedAdd(C[0], 1);\n{more}"));
        assert_eq!(text.contains(made), is_fixed, "{text}");
    }
}

#[test]
fn a_block_of_its_own_is_enough() {
    check(
        "",
        "    if (Src[gi] > 3)\n    {\n        InterlockedAdd(g_Sum, 1); // why\n    }",
        "    if (Src[gi] > 3)
    {
        // One atomic for each wave.
        uint waveTotal = WaveActiveCountBits(true);
        if (WaveIsFirstLane())
            InterlockedAdd(g_Sum, waveTotal); // why
    }",
    );
    check(
        "",
        "    if (Src[gi] > 3) { InterlockedAdd(g_Sum, 1); }",
        "    if (Src[gi] > 3) { {
        // One atomic for each wave.
        uint waveTotal = WaveActiveCountBits(true);
        if (WaveIsFirstLane())
            InterlockedAdd(g_Sum, waveTotal);
    } }",
    );
}

#[test]
fn a_claim_becomes_a_claim_of_waves() {
    check(
        "",
        "    uint s;\n    InterlockedAdd(C[0], Src[gi] & 3, s);\n    Out[s] = gi;",
        "    uint s;
    {
        // The first active lane claims for its wave.
        uint waveOwn = Src[gi] & 3;
        uint waveTotal = WaveActiveSum(waveOwn);
        uint waveFirst = 0;
        if (WaveIsFirstLane())
            InterlockedAdd(C[0], waveTotal, waveFirst);
        s = WaveReadLaneFirst(waveFirst) + WavePrefixSum(waveOwn);
    }
    Out[s] = gi;",
    );
    check(
        "",
        "    int2 s;\n    InterlockedAdd(g_Signed, -1, s.y);\n    Out[s.y - 1] = gi;",
        "    int2 s;
    {
        // The first active lane claims for its wave.
        int waveTotal = -1 * int(WaveActiveCountBits(true));
        int waveFirst = 0;
        if (WaveIsFirstLane())
            InterlockedAdd(g_Signed, waveTotal, waveFirst);
        s.y = WaveReadLaneFirst(waveFirst) - WavePrefixCountBits(true);
    }
    Out[s.y - 1] = gi;",
    );
}

#[test]
fn names_clash_with_nothing() {
    check(
        "#define waveTotal 3\nuint waveFirst(uint x) { return x; }",
        "    uint waveOwn = Src[gi];\n    uint s;\n    InterlockedAdd(C[0], waveFirst(waveOwn), s);\n    Out[s] = gi;",
        "    uint waveOwn = Src[gi];
    uint s;
    {
        // The first active lane claims for its wave.
        uint waveOwn2 = waveFirst(waveOwn);
        uint waveTotal2 = WaveActiveSum(waveOwn2);
        uint waveFirst2 = 0;
        if (WaveIsFirstLane())
            InterlockedAdd(C[0], waveTotal2, waveFirst2);
        s = WaveReadLaneFirst(waveFirst2) + WavePrefixSum(waveOwn2);
    }
    Out[s] = gi;",
    );
}

#[test]
fn macros_stay_where_they_are() {
    let declarations =
        "#define COUNTER C[0]\n#define STEP (1 + 1)\n#define KEEP(c, s) InterlockedAdd(c, 1, s)";
    check(
        declarations,
        "    uint s;\n    InterlockedAdd(COUNTER, STEP, s);\n    Out[s] = gi;",
        "    uint s;
    {
        // The first active lane claims for its wave.
        uint waveOwn = STEP;
        uint waveTotal = WaveActiveSum(waveOwn);
        uint waveFirst = 0;
        if (WaveIsFirstLane())
            InterlockedAdd(COUNTER, waveTotal, waveFirst);
        s = WaveReadLaneFirst(waveFirst) + WavePrefixSum(waveOwn);
    }
    Out[s] = gi;",
    );
    let claim = "    uint s;\n    KEEP(C[0], s);\n    Out[s] = gi;";
    check(declarations, claim, claim);
    assert_eq!(safety(declarations, claim), [None]);
    // The file's macro is not the intrinsic that was proved.
    let sum = "InterlockedAdd(g_Sum, Src[gi]);";
    assert_eq!(safety("#define WaveIsFirstLane() (gi == 0)", sum), [None]);
    assert_eq!(safety("#define WavePrefixSum(x) (x)", sum), [Some(Safety::Safe)]);
}

#[test]
fn line_endings_and_tabs_are_the_authors() {
    let text = kernel("", "\tInterlockedAdd(g_Sum, Src[gi]);").replace('\n', "\r\n");
    let settled = settle(text.as_bytes(), true, lint, |findings| findings);
    let expected = "\t{\r\n\t\t// One atomic for each wave.\r\n\t\tuint waveTotal = WaveActiveSum(Src[gi]);\r\n\t\t\
                    if (WaveIsFirstLane())\r\n\t\t\tInterlockedAdd(g_Sum, waveTotal);\r\n\t}\r\n";
    let text = String::from_utf8_lossy(&settled.text).into_owned();
    assert!(text.contains(expected), "{text:?}");
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
}

#[test]
fn what_a_definition_may_change_is_not_safe() {
    let claim = "uint s; InterlockedAdd(C[0], STEP, s); Out[s] = gi;";
    let sum = "InterlockedAdd(g_Sum, STEP);";
    for body in [claim, sum] {
        assert_eq!(safety("#define STEP 2", body), [Some(Safety::Safe)]);
        assert_eq!(
            safety("#if WIDE\n#define STEP gi\n#else\n#define STEP 2\n#endif", body),
            [Some(Safety::Unsafe)]
        );
        assert_eq!(
            safety("#ifndef STEP\n#define STEP 2\n#endif", body),
            [Some(Safety::Unsafe)]
        );
    }
}

/// What no build of shaders reads gives no name another meaning: `uint` in a header that an engine shares with its shaders.
#[test]
fn what_no_build_reads_is_not_in_the_way() {
    let sum = "InterlockedAdd(g_Sum, Src[gi]);";
    let types = "using uint = uint32_t;\n#define WaveIsFirstLane() true";
    for arms in [
        format!("#ifdef __cplusplus\n{types}\n#endif"),
        format!("#if defined(__cplusplus)\n{types}\n#else\n#define IN_HLSL\n#endif"),
        format!("#ifndef __cplusplus\n#define IN_HLSL\n#else // C++\n{types}\n#endif"),
        format!("#if !defined __cplusplus\n#else\n#if WIDE\n{types}\n#endif\n#endif"),
        format!("#ifndef __cplusplus\n#define IN_HLSL\n#elif WIDE\n{types}\n#endif"),
        format!("#ifdef WIDE\n#define W 1\n#elif defined(__cplusplus)\n{types}\n#else\n#define W 2\n#endif"),
        format!("#ifdef WIDE\n#elif !defined(__cplusplus)\n#define W 2\n#else\n{types}\n#endif"),
        format!("#if defined(__cplusplus) && !defined(WIDE)\n{types}\n#elif WIDE\n#define W 2\n#endif"),
        format!("#if 0\n{types}\n#endif"),
        format!("#if 1\n#define W 2\n#else\n{types}\n#endif"),
    ] {
        assert_eq!(safety(&arms, sum), [Some(Safety::Safe)], "{arms}");
    }
    // Where a build of shaders may read it, it is. A macro that stands for a type alone makes the fix unsafe, where the
    // kernel has the type as HLSL's own.
    for arms in [
        format!("#ifndef __cplusplus\n#if WIDE\n{types}\n#endif\n#endif"),
        format!("#if WIDE\n{types}\n#elif defined(__cplusplus)\n#endif"),
        format!("#if defined(__cplusplus)\n#elif WIDE\n{types}\n#endif"),
        format!("#if 2 > (1 && 0 && 1)\n{types}\n#endif"),
        format!("#if ONE\n{types}\n#endif"),
        format!("#if defined(__cplusplus) || defined(WIDE)\n{types}\n#endif"),
        format!("#if WIDE\n#define __cplusplus 1\n#endif\n#ifdef __cplusplus\n{types}\n#endif"),
        format!("#ifdef __cplusplus\n#else\n#if WIDE\n{types}\n#endif\n#endif"),
    ] {
        assert_eq!(safety(&arms, sum), [None], "{arms}");
    }
    let is_unsafe = [Some(Safety::Unsafe)];
    assert_eq!(safety("#if WIDE\n#define uint UINT\n#endif", sum), is_unsafe);
    assert_eq!(
        safety("#if WIDE\n#else\ntypedef min16uint uint;\n#endif", sum),
        [None]
    );
    assert_eq!(safety("#if WIDE\n#else\n#define uint int\n#endif", sum), [None]);
    assert_eq!(
        safety("#if WIDE\n#define uint UINT\n#endif\n#ifdef uint\n#endif", sum),
        is_unsafe
    );
    assert_eq!(safety("#define uint int", sum), [None]);
    // A macro that every build has as it is here declares what the expanded text shows.
    let is_safe = [Some(Safety::Safe)];
    let declare = "#define DECLARE(T, n) T n(T x) { return x + 1; }\nDECLARE(uint, Foo)";
    assert_eq!(safety(declare, sum), is_safe);
    assert_eq!(safety("#define NAME(T) typedef int T;\nNAME(uint)", sum), [None]);
    assert_eq!(
        safety(
            "#define NAME(T)\n#if WIDE\n#define NAME(T) typedef int T;\n#endif\nNAME(uint)",
            sum
        ),
        is_unsafe
    );
    assert_eq!(
        safety(
            "#if WIDE\n#define EACH(T) typedef int T;\n#else\n#define EACH(T)\n#endif\n#define NAME(T) EACH(T)\nNAME(uint)",
            sum
        ),
        is_unsafe
    );
    assert_eq!(
        safety(&declare.replace("uint, Foo", "uint, WavePrefixSum"), sum),
        is_safe
    );
    assert_eq!(
        safety(&declare.replace("uint, Foo", "uint, WaveActiveSum"), sum),
        [None]
    );
    // A call behind a choice.
    let chosen = |arms: &str| format!("#if WIDE\nOut[0] = 1;\n{arms}#endif\n{sum}");
    assert_eq!(safety("", &chosen("")), [Some(Safety::Unsafe)]);
    assert_eq!(
        safety("", &chosen("#else\nOut[1] = 1;\n")),
        [Some(Safety::Unsafe)]
    );
    let declared = |arms: &str| {
        format!("#if WIDE\n{arms}#endif\nWaveActiveSum(uint x) {{ return x; }}\n#if MORE\n#endif")
    };
    assert_eq!(safety(&declared("uint\n"), sum), [None]);
    assert_eq!(safety(&declared("uint\n#else\nint a;\n"), sum), [None]);
    // A macro before a call is what it stands for.
    let ended = format!("{{ {{ Out[gi] = 0; END {sum}");
    assert_eq!(safety("#define END }}", &ended), is_safe);
    assert_eq!(
        safety(
            "#define NOTHING\n#define UINT uint\nUINT NOTHING WaveActiveSum(uint x) { return x; }",
            sum
        ),
        [None]
    );
    assert_eq!(
        safety(
            "#define NOTHING\n#if WIDE\nuint NOTHING WaveActiveSum(uint x) { return x; }\n#endif",
            sum
        ),
        [None]
    );
    // Of a comment in the fix no word is a name.
    assert_eq!(safety("#define atomic 1\n#define wave 2", sum), is_safe);
    // In a list a call stands behind a comma, too.
    let of_list = "void Other(uint a) { uint b[2] = { WaveActiveSum(a), WaveActiveSum(a) }; }";
    assert_eq!(safety(of_list, sum), is_safe);
    let nested = "static const uint2 b[2] = { { 1, WaveActiveSum(2) }, { 3, WaveActiveSum(4) } };";
    assert_eq!(safety(nested, sum), is_safe);
    assert_eq!(safety("uint Other(uint a), WaveActiveSum(uint a);", sum), [None]);
    assert_eq!(
        safety("static uint b[1] = { 1 }, WaveActiveSum(uint a);", sum),
        [None]
    );
    // Whose words are no macros' names.
    assert_eq!(
        safety(
            "",
            &format!("\n#line 7 \"other.hlsl\"\n#pragma warning(disable: 3557)\n{sum}")
        ),
        is_safe
    );
    // Nor is a name that `##` puts together, by way of another macro.
    let pasted = "#define S1 WaveActiveSum\n#ifndef P\n#define P 2\n#endif\n#define JOIN(a, b) a##b\n#define NAME(a, b) JOIN(a, b)\n\
                  uint NAME(S, P)(uint x) { return 1; }";
    assert_eq!(safety(pasted, sum), [None]);
    // What a macro makes of a type's name shows in this build; others may define it otherwise.
    let member = "#define CONSTANTS cbuffer Constants { CONSTANT(uint, Count) };\nCONSTANTS";
    let of_this = "#if WIDE\n#define CONSTANT(name, of) typedef half name;\n#else\n#define CONSTANT(of, name) of name;\n#endif";
    assert_eq!(
        safety(&format!("{of_this}\n{member}"), sum),
        [Some(Safety::Unsafe)]
    );
    let of_this = of_this.replace("WIDE", "!WIDE");
    assert_eq!(safety(&format!("{of_this}\n{member}"), sum), [None]);
    // A macro of the arm that is left is one of all builds.
    let step = "#ifdef __cplusplus\n#define STEP 7\n#else\n#define STEP 2\n#endif";
    let claim = "InterlockedAdd(g_Sum, STEP);";
    assert_eq!(safety(step, claim), [Some(Safety::Safe)]);
}

/// The reason says which line it is.
#[test]
fn a_name_with_another_meaning_is_told_with_its_place() {
    let sum = "InterlockedAdd(g_Sum, Src[gi]);";
    let reason = |declarations: &str| {
        let findings = lint(kernel(declarations, sum).as_bytes());
        let reasons = findings
            .iter()
            .filter_map(|one| Some(one.no_fix.as_ref()?.note().to_owned()));
        reasons.collect::<Vec<String>>().concat()
    };
    let line = kernel("@", "")
        .lines()
        .position(|line| line.contains('@'))
        .unwrap()
        + 1;
    let of = |line: usize| {
        format!("no automatic fix: the fix uses `uint`, and line {line} may give that name another meaning")
    };
    assert_eq!(
        reason("/* a\nb */ #if WIDE\n#define LONG \\\n  1\n#endif\nusing uint = min16uint;"),
        of(line + 5)
    );
    assert_eq!(reason("\n#if 1\n#define uint int\n#endif"), of(line + 2));
}

/// A barrier that all threads pass which stay is passed by each of those that add behind it.
#[test]
fn a_group_that_left_before_a_barrier_adds_nothing_behind_it() {
    let body = |leaves: &str, adds: &str| {
        format!(
            "if ({leaves}) return;\nif (gi == 0) g_Sum = 0;\nGroupMemoryBarrierWithGroupSync();\nif ({adds}) InterlockedAdd(g_Sum, 1);\n\
             GroupMemoryBarrierWithGroupSync();\nif (gi == 0) Out[0] = g_Sum;"
        )
    };
    let declared = "cbuffer Constants { bool isReset; }";
    assert_eq!(
        safety(declared, &body("isReset", "Src[gi] > 3")),
        [Some(Safety::Safe)]
    );
    assert_eq!(safety(declared, &body("isReset", "true")), [Some(Safety::Safe)]);
    // Threads that leave one by one are not waited for.
    let findings = lint(kernel(declared, &body("Src[gi] > 5", "Src[gi] > 3")).as_bytes());
    assert!(findings.iter().all(|one| one.fix.is_none()), "{findings:#?}");
}

#[test]
fn no_fix_where_the_threads_race_or_there_are_no_waves() {
    let race = "g_Sum = gi; InterlockedAdd(g_Sum, Src[gi]);";
    let findings = lint(kernel("", race).as_bytes());
    assert!(findings.iter().any(|finding| finding.rule == "groupshared-race"));
    assert!(
        findings.iter().all(|finding| finding.fix.is_none()),
        "{findings:?}"
    );
    let text = kernel("", "InterlockedAdd(g_Sum, Src[gi]);");
    let (shader, _) = shaderlint_hlsl::read("test.hlsl", text.as_bytes(), &[], &NoIncludes);
    for (profile, count) in [("cs_5_0", 0), ("cs_6_0", 1)] {
        let shader_model: Option<ShaderModel> = profile.parse().ok();
        let settings = Settings {
            shader_model,
            ..Settings::default()
        };
        let findings = check_shader(&shader, RULES, &settings).findings;
        assert_eq!(findings.len(), count, "{profile}");
        assert!(findings.iter().all(|finding| finding.fix.is_some()));
    }
}

/// A `break` of a `switch` leaves nothing but the `switch`, whatever condition of the loop's pass that stands in.
#[test]
fn threads_are_counted_by_the_passes_they_come_to() {
    let counted = |body: &str| {
        let text = format!(
            "StructuredBuffer<uint> L; RWStructuredBuffer<uint> n0; RWStructuredBuffer<uint> Out;\n[numthreads(256, 1, 1)]\n\
             void main(uint gi : SV_GroupIndex)\n{{\nfor (uint i = gi; i < 128; i += 256)\n{{\nif (L[i] > 0)\n{{\n{body}\n}}\n}}\n}}\n"
        );
        let findings = lint(text.as_bytes());
        findings
            .into_iter()
            .map(|finding| finding.message)
            .collect::<Vec<String>>()
    };
    let claim = "uint s; InterlockedAdd(n0[0], 1, s); Out[s] = gi;";
    let claimed = "up to 128 threads each claim a slot from n0[0] with an atomic";
    let set = |cell: u32| format!("InterlockedOr(n0[{cell}], 1u << (i & 31));");
    let cases = format!(
        "switch (i / 32)\n{{\ncase 0: {} break;\ncase 1: {} break;\n}}",
        set(1),
        set(2)
    );
    let of_case = |cell: u32| format!("up to 32 threads each set bits of n0[{cell}] with an atomic");
    assert_eq!(
        counted(&format!("{claim}\n{cases}")),
        [claimed.to_owned(), of_case(1), of_case(2)]
    );
    // A loop whose passes are not counted: those that its first test keeps out come to none.
    let left = format!("if (L[gi] > 1) break; {}", set(1));
    assert_eq!(
        counted(&left),
        ["up to 128 threads each set bits of n0[1] with an atomic"]
    );
}

/// A lane that adds for others is not behind what they stored themselves: where a loop is not followed, neither is what the
/// counter races with.
#[test]
fn no_fix_in_a_loop_that_is_not_followed() {
    let of_body = |between: &str, bound: &str, behind: &str| {
        let text = format!(
            "cbuffer B {{ uint n; }} StructuredBuffer<uint> L; RWStructuredBuffer<uint> Out; groupshared uint g_n;\n\
             [numthreads(64, 1, 1)] void main(uint gi : SV_GroupIndex)\n{{\nif (gi == 0) g_n = 0;\n{between}\n\
             for (uint i = gi; i < {bound}; i += 64)\n{{\nuint s; InterlockedAdd(g_n, 1, s); Out[s] = gi;\n}}\n{behind}\n}}\n"
        );
        let findings = lint(text.as_bytes());
        let claim = findings
            .iter()
            .find(|finding| finding.rule == "atomic-slot-claim")
            .unwrap();
        (
            claim.fix.is_some(),
            claim.no_fix.as_ref().map(|why| why.reason.name()),
        )
    };
    let of = |between: &str, bound: &str| of_body(between, bound, "");
    let barrier = "GroupMemoryBarrierWithGroupSync();";
    assert_eq!(of(barrier, "128"), (true, None));
    assert_eq!(of("", "128"), (false, Some("race")));
    assert_eq!(of("", "n"), (false, Some("race")));
    assert_eq!(of(barrier, "n"), (true, None));
    // A read behind it.
    let read = "if (gi == 63) Out[99] = g_n;";
    assert_eq!(of_body(barrier, "n", read), (false, Some("race")));
    assert_eq!(of_body(barrier, "n", &format!("{barrier}\n{read}")), (true, None));
    // One that only some inputs lead to.
    assert_eq!(
        of(&format!("if (n > 3) {barrier}"), "n"),
        (false, Some("unfollowed"))
    );
}

/// A thread finds at least what it has put in itself: in the wave form the lane that adds for it may not have come so far. Where
/// the cell or the barriers are not known, nobody sees that the two race.
#[test]
fn no_fix_where_a_thread_may_read_the_cell_behind_its_own_atomic() {
    let of = |body: &str| {
        let text = format!(
            "cbuffer B {{ uint n; uint m; bool b; }} StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out; groupshared uint g_n[4];\n\
             [numthreads(64, 1, 1)] void main(uint gi : SV_GroupIndex)\n{{\nif (gi < 4) g_n[gi] = 0;\n\
             GroupMemoryBarrierWithGroupSync();\n{body}\nGroupMemoryBarrierWithGroupSync();\nif (gi < 4) Out[gi] = g_n[gi];\n}}\n"
        );
        let findings = lint(text.as_bytes());
        let claim = findings
            .iter()
            .find(|finding| finding.rule == "single-cell-atomic");
        let claim = claim.unwrap();
        (
            claim.fix.is_some(),
            claim.no_fix.as_ref().map(|why| why.reason.name()),
        )
    };
    let add = "InterlockedAdd(g_n[1], 1);";
    let barrier = "GroupMemoryBarrierWithGroupSync();";
    assert_eq!(of(add), (true, None));
    assert_eq!(of("InterlockedAdd(g_n[n & 3], 1);"), (true, None));
    // The second of two atomics, and a reset that only some inputs lead to.
    let both = "if (Src[gi] > 3) InterlockedAdd(g_n[1], 2);\nif (gi & 1) InterlockedAdd(g_n[1], 1);\nif (gi == 5) g_n[1] = 0;";
    assert_eq!(of(both), (false, Some("race")));
    let unknown = "InterlockedAdd(g_n[n & 3], 1);\nOut[gi + 9] = g_n[n & 3];";
    assert_eq!(of(unknown), (false, Some("race")));
    let sometimes = format!("{add}\nif (b) {barrier}\nif (gi == 5) g_n[1] = 0;");
    assert_eq!(of(&sometimes), (false, Some("unfollowed")));
    let passes = format!("{add}\nfor (uint i = n; i < m; ++i)\nOut[gi + 9] = g_n[1];");
    assert_eq!(of(&passes), (false, Some("race")));
    let cases = format!(
        "switch (n)\n{{\ncase 0:\n{barrier}\nbreak;\ncase 1:\n{add}\nbreak;\n}}\nOut[gi + 9] = g_n[1];"
    );
    assert_eq!(of(&cases), (false, Some("unfollowed")));
}

/// Parentheses around a name are a part of what begins or ends with them.
#[test]
fn parentheses_around_names_are_kept() {
    let code = |call: &str| {
        let body = format!(
            "uint v = gi * 3;\nif (gi < 4) g_Bins[gi] = 0;\nGroupMemoryBarrierWithGroupSync();\n{call}\n\
                            GroupMemoryBarrierWithGroupSync();\nif (gi < 4) Out[gi] = g_Bins[gi];"
        );
        let findings = lint(kernel("groupshared uint g_Bins[4];\n", &body).as_bytes());
        let bins = findings
            .into_iter()
            .find(|finding| finding.rule == "small-bin-atomic");
        bins.expect("bins")
            .notes
            .into_iter()
            .find(|note| note.starts_with("help:"))
            .unwrap_or_default()
    };
    let help = code("InterlockedAdd(g_Bins[(v) & 3], -(v));");
    assert!(
        help.contains("uint waveBin = (v) & 3;") && help.contains("-(v)"),
        "{help}"
    );
    let help = code("InterlockedAdd(g_Bins[3 & ((v))], (v) * 2);");
    assert!(
        help.contains("uint waveBin = 3 & ((v));") && help.contains("(v) * 2"),
        "{help}"
    );
}

/// A pass in which they add nothing counts.
#[test]
fn threads_that_add_nothing_are_counted() {
    let body = "if (gi == 0) g_Sum = 0;\nGroupMemoryBarrierWithGroupSync();\nfor (uint i = 0; i < 3; ++i)\n    if (gi > i + 3)\n        \
                InterlockedAdd(g_Sum, i);\nGroupMemoryBarrierWithGroupSync();\nif (gi == 0) Out[0] = g_Sum;";
    let findings = lint(kernel("", body).as_bytes());
    assert_eq!(
        findings[0].message,
        "up to 60 threads each add to g_Sum with an atomic"
    );
}

/// Wave intrinsics take an enumeration for a float, and no number is assigned to one.
#[test]
fn an_enumeration_is_not_summed() {
    let enums =
        "enum E { Small = 1, Big = 16777217 };\nE Next(uint i) { return (E)i; }\nstruct S { E e; };\n";
    for body in [
        "    E e = (E)Src[gi];\n    InterlockedAdd(g_Sum, e);",
        "    E d = Small, e = (E)Src[gi];\n    InterlockedAdd(g_Sum, e);",
        "    InterlockedAdd(g_Sum, Next(gi));",
        "    S s;\n    s.e = (E)Src[gi];\n    InterlockedAdd(g_Sum, s.e);",
    ] {
        assert_eq!(fixed(enums, body), body);
    }
    // Of two, `?:` makes an `int`.
    let chosen = "    InterlockedAdd(g_Sum, gi > 3 ? Small : Big);";
    assert!(fixed(enums, chosen).contains("WaveActiveSum(gi > 3 ? Small : Big)"));
    // One that only decides is in no way.
    let decides = "    if (Src[gi] == Small)\n        InterlockedAdd(g_Sum, Src[gi]);";
    assert!(fixed(enums, decides).contains("WaveActiveSum(Src[gi])"));
}
