//! Kernels that mean one thing before HLSL 2021 and another one since: what is proved of them where the version is known,
//! and where it is not.

use shaderlint_hlsl::{FunctionId, NoIncludes, Shader, Version, preprocess, read_preprocessed};
use shaderlint_simt::{LaneMap, compare};

fn read(text: &str, version: Option<Version>) -> (Shader, FunctionId) {
    let (mut unit, problems) = preprocess("a.hlsl", text.as_bytes(), &[], &NoIncludes);
    unit.version = version;
    let (shader, _) = read_preprocessed(unit, problems, None);
    let entry = shader.entry_points().next().expect("a kernel").0;
    (shader, entry)
}

/// Whether two kernels are proved equal: where no version is known, in HLSL 2018, in HLSL 2021.
fn proved(one: &str, other: &str) -> [bool; 3] {
    [None, Some(Version::V2018), Some(Version::V2021)].map(|version| {
        let (one, first) = read(one, version);
        let (other, second) = read(other, version);
        let run = compare((&one, first), (&other, second), &[LaneMap::Linear]).next();
        run.is_some_and(|run| run.outcome.is_equal())
    })
}

const HEAD: &str = "RWStructuredBuffer<uint> Out; StructuredBuffer<uint> In; groupshared uint g[64];\n";

/// A kernel of this body, behind some declarations.
fn kernel(declarations: &str, body: &str) -> String {
    let entry = "[numthreads(64, 1, 1)] void Main(uint gi : SV_GroupIndex)";
    format!("{HEAD}{declarations}\n{entry} {{\n{body}\n}}\n")
}

/// Each kernel beside `Out[gi] = …` of what it leaves under the older rule and under the newer one.
#[track_caller]
fn means(declarations: &str, body: &str, older: &str, newer: &str) {
    let made = kernel(declarations, body);
    let store = |value: &str| kernel(declarations, &format!("Out[gi] = {value};"));
    let same = older == newer;
    assert_eq!(proved(&made, &store(older)), [same, true, same], "{made}");
    assert_eq!(proved(&made, &store(newer)), [same, same, true], "{made}");
    assert_eq!(proved(&made, &made), [true; 3], "{made}");
}

const LOOP: &str = "for (uint s = 1; s < 64; s <<= 1) { g[gi] = s; }";

#[test]
fn a_loops_variable_hides_another_one_before_hlsl_2021() {
    let body = format!("{LOOP} Out[gi] = s;");
    means("", &format!("uint s = 7; {body}"), "64", "7");
    means("static uint s = 7;", &body, "64", "7");
    means("static const uint s = 7;", &body, "64", "7");
    means("cbuffer C { uint s; uint t; };", &body, "64", "s");
    means("uint s;", &body, "64", "s");
    // Of another type it is not either of them.
    let made = kernel(
        "enum E { r = 3, s = 7 };",
        "for (int s = 1; s < 64; s <<= 1) {} Out[gi] = s;",
    );
    for (value, of) in [("64", [false, true, false]), ("7", [false, false, true])] {
        assert_eq!(
            proved(&made, &kernel("", &format!("Out[gi] = {value};"))),
            of,
            "{value}"
        );
    }
    means(
        "namespace N { static const uint s = 7; } using namespace N;",
        &body,
        "64",
        "7",
    );
    // A block has a scope, and so has what needs no braces.
    means("", &format!("uint s = 7; {{ {LOOP} }} Out[gi] = s;"), "7", "7");
    means(
        "",
        &format!("uint s = 7; if (gi < 64) {LOOP} Out[gi] = s;"),
        "7",
        "7",
    );
    means(
        "",
        &format!("uint s = 7; for (uint k = 0; k < 2; ++k) {LOOP} Out[gi] = s;"),
        "7",
        "7",
    );
    means(
        "",
        &format!("uint s = 7; do {LOOP} while (false); Out[gi] = s;"),
        "7",
        "7",
    );
    // Inside of a block it lives to the end of that.
    means(
        "",
        &format!("uint s = 7; uint t = 0; {{ {LOOP} t = s; }} Out[gi] = t + s;"),
        "71",
        "14",
    );
    means(
        "",
        &format!("uint s = 7; for (uint k = 0; k < 1; ++k) {{ {LOOP} Out[gi] = s; }}"),
        "64",
        "7",
    );
    means(
        "",
        &format!("uint s = 7; switch (1) {{ case 1: {LOOP} Out[gi] = s; break; }}"),
        "64",
        "7",
    );
    means(
        "",
        &format!("uint s = 7; uint t = 1; if (gi < 64) {{ {LOOP} t = s; }} Out[gi] = t;"),
        "64",
        "7",
    );
}

#[test]
fn what_is_read_as_either_is_proved_of_both() {
    // Whichever it is, it is the same.
    means(
        "",
        "uint s = 64; for (uint s = 1; s < 64; s <<= 1) {} Out[gi] = s;",
        "64",
        "64",
    );
    means("", &format!("uint s = 7; {LOOP} Out[gi] = s - s;"), "0", "0");
    // A parameter, and a helper's.
    let helper = format!("uint F(uint s) {{ {LOOP} return s; }}").replace("g[gi] = s;", "");
    means(&helper, "Out[gi] = F(7);", "64", "7");
    let helper = format!("#define WALK {LOOP}\nuint F(uint gi, uint s) {{ WALK return s; }}");
    means(&helper, "Out[gi] = F(gi, 7);", "64", "7");
    // A method's field.
    let method = "struct S { uint s; uint F() { for (uint s = 1; s < 64; s <<= 1) {} return s; } };";
    means(method, "S o; o.s = 7; Out[gi] = o.F();", "64", "7");
    // Groupshared.
    let shared = "groupshared uint s;";
    let body = "if (gi == 0) s = 7; GroupMemoryBarrierWithGroupSync(); for (uint s = 1; s < 64; s <<= 1) {} Out[gi] = s;";
    means(shared, body, "64", "7");
    // Several names, several loops.
    let body = "uint s = 7; uint t = 5; for (uint s = 1, t = 2; s < 64; s <<= 1) t += 1; Out[gi] = s + t;";
    means("", body, "72", "12");
    let body = "uint s = 7; for (uint s = 0; s < 3; ++s) {} for (uint s = 0; s < 5; ++s) {} Out[gi] = s;";
    means("", body, "5", "7");
    let body = "uint s = 7; for (uint s = 0; s < 3; ++s) {} { uint s = 9; } Out[gi] = s;";
    means("", body, "3", "7");
    let body =
        "uint s = 7; for (uint s = 0; s < 3; ++s) {} uint t = 0; for (; t < 64; t += s) {} Out[gi] = t;";
    assert_eq!(
        proved(&kernel("", body), &kernel("", "Out[gi] = 70;")),
        [false, false, true]
    );
    // In a condition, a place and an index.
    means(
        "",
        &format!("uint s = 7; {LOOP} uint a[65]; a[64] = 1; a[7] = 2; Out[gi] = a[s];"),
        "1",
        "2",
    );
    means(
        "",
        &format!("uint s = 7; {LOOP} uint t = 1; if (s == 7) t = 2; Out[gi] = t;"),
        "1",
        "2",
    );
    means(
        "",
        &format!("uint s = 7; {LOOP} {{ uint s = 3; Out[gi] = s; }}"),
        "3",
        "3",
    );
    means(
        "",
        "uint2 s = 7; for (uint2 s = 1; s.x < 64; s <<= 1) {} Out[gi] = s.y;",
        "64",
        "7",
    );
}

#[test]
fn a_name_that_only_the_older_rule_finds_is_what_that_finds() {
    let body = "for (uint i = 0; i < 3; ++i) {} Out[gi] = i;";
    assert_eq!(
        proved(&kernel("", body), &kernel("", "Out[gi] = 3;")),
        [true, true, false]
    );
    // Two loops of one name never mix.
    let body =
        "uint t = 0; for (uint i = 0; i < 3; ++i) t += i; for (uint i = 0; i < 4; ++i) t += i; Out[gi] = t;";
    means("", body, "9", "9");
    let body = "uint t = 0; for (int i = 0; i < 3; ++i) t += i; for (uint i = 0; i < 4; ++i) t += i; Out[gi] = t + i;";
    assert_eq!(
        proved(&kernel("", body), &kernel("", "Out[gi] = 13;")),
        [true, true, false]
    );
    // A function of the name is hidden by the variable, and no compiler takes the call by the older rule.
    let function = "uint s(uint x) { return x + 1; }";
    let called = kernel(function, "for (uint s = 1; s < 64; s <<= 1) {} Out[gi] = s(4);");
    assert_eq!(
        proved(&called, &kernel(function, "Out[gi] = 5;")),
        [true, false, true]
    );
}

#[test]
fn what_is_written_to_one_of_two_is_not_followed() {
    let writes = |declarations: &str, body: &str, older: &str, newer: &str| {
        let made = kernel(declarations, body);
        let store = |value: &str| kernel(declarations, &format!("Out[gi] = {value};"));
        for value in [older, newer, "1"] {
            assert!(!proved(&made, &store(value))[0], "{made}");
        }
        assert_eq!(proved(&made, &store(older)), [false, true, false], "{made}");
        assert_eq!(proved(&made, &store(newer)), [false, false, true], "{made}");
        // Of what is not followed nothing is proved, not even that it is what it is.
        assert_eq!(proved(&made, &made), [false, true, true], "{made}");
    };
    let set = "void Set(out uint x) { x = 9; }";
    for change in [
        "s = 9;",
        "s += 1;",
        "s++;",
        "Set(s);",
        "sincos(1.0, s, s);",
        "InterlockedAdd(s, 1);",
    ] {
        let body = format!("uint s = 7; {{ {LOOP} {change} }} Out[gi] = s;");
        let made = kernel(set, &body);
        for value in ["7", "8", "9", "64"] {
            let store = kernel(set, &format!("Out[gi] = {value};"));
            assert!(!proved(&made, &store)[0], "{made}");
        }
    }
    writes(
        set,
        &format!("uint s = 7; {{ {LOOP} s = 9; }} Out[gi] = s;"),
        "7",
        "9",
    );
    writes(
        set,
        &format!("uint s = 7; {{ {LOOP} s += 1; }} Out[gi] = s;"),
        "7",
        "8",
    );
    writes(
        set,
        &format!("uint s = 7; {{ {LOOP} Set(s); }} Out[gi] = s;"),
        "7",
        "9",
    );
    writes(
        "",
        "uint2 s = 7; { for (uint2 s = 1; s.x < 64; s <<= 1) {} s.x = 9; } Out[gi] = s.x;",
        "7",
        "9",
    );
    // Of two types, and of types that are no numbers.
    writes(
        "",
        "float s = 7; for (uint s = 1; s < 64; s <<= 1) {} Out[gi] = s / 2 * 2;",
        "64",
        "7",
    );
    let object = "struct S { uint a; };";
    writes(
        object,
        "S s; s.a = 7; for (S s = { 1 }; s.a < 64; s.a <<= 1) {} Out[gi] = s.a;",
        "64",
        "7",
    );
}

#[test]
fn a_cast_that_a_variable_hides_is_not_followed() {
    let body = "for (uint T = 1; T < 64; T <<= 1) {} Out[gi] = (T)-1;";
    let (made, newer) = (
        kernel("typedef uint T;", body),
        kernel("", "Out[gi] = 0xffffffff;"),
    );
    assert_eq!(proved(&made, &newer), [false, false, true]);
}

/// Whether a statement and another one leave the same: where no version is known, in HLSL 2021, in HLSL 202x.
#[track_caller]
fn leave_the_same(one: &str, other: &str, expected: [bool; 3]) {
    let [one, other] = [one, other].map(|body| {
        let floats = "RWStructuredBuffer<float> Floats;";
        kernel(floats, body)
    });
    let equal = [None, Some(Version::V2021), Some(Version::V202x)].map(|version| {
        let ((one, first), (other, second)) = (read(&one, version), read(&other, version));
        let run = compare((&one, first), (&other, second), &[LaneMap::Linear]).next();
        run.is_some_and(|run| run.outcome.is_equal())
    });
    assert_eq!(equal, expected, "{one}{other}");
}

/// DXC, `CheckBinOpForHLSL`: "For case like 1<<x".
#[test]
fn a_literal_is_of_its_shifts_type_before_202x() {
    let before = [true, true, false];
    let since = [false, false, true];
    for (literal, unsigned, signed) in [
        ("(1 << gi) >> 31", "(1u << gi) >> 31", "(int(1) << gi) >> 31"),
        ("-1 >> gi", "0xffffffffu >> gi", "int(-1) >> gi"),
        ("(5 - 6) >> gi", "0xffffffffu >> gi", "int(-1) >> gi"),
        (
            "(gi > 3 ? -1 : 0) >> gi",
            "(gi > 3 ? ~0u : 0u) >> gi",
            "int(gi > 3 ? -1 : 0) >> gi",
        ),
        (
            "select(gi > 3, -1, 0) >> gi",
            "(gi > 3 ? ~0u : 0u) >> gi",
            "int(gi > 3 ? -1 : 0) >> gi",
        ),
    ] {
        let store = |value: &str| format!("Out[gi] = {value};");
        leave_the_same(&store(literal), &store(unsigned), before);
        leave_the_same(&store(literal), &store(signed), since);
    }
    // Whatever its value: one that an `int` shifts is an `int`.
    leave_the_same(
        "int i = gi; Out[gi] = 0xffffffff >> i;",
        "int i = gi; Out[gi] = int(-1) >> i;",
        [true; 3],
    );
    leave_the_same(
        "int i = gi; Out[gi] = 0x80000000 >> i;",
        "int i = gi; Out[gi] = 0x80000000u >> i;",
        [false; 3],
    );
    // What is no literal keeps its type, and a literal that an `int` shifts is one.
    leave_the_same(
        "int one = 1; Out[gi] = (one << gi) >> 31;",
        "Out[gi] = (1u << gi) >> 31;",
        [false; 3],
    );
    leave_the_same(
        "int i = gi; Out[gi] = (1 << i) >> 31;",
        "Out[gi] = (1u << gi) >> 31;",
        [false; 3],
    );
    leave_the_same("Out[gi] = 1 << gi;", "Out[gi] = 1u << gi;", [true; 3]);
}

#[test]
fn what_has_a_type_of_its_own_is_no_literal() {
    let store = |value: &str| format!("int i = gi; Out[gi] = {value};");
    for (typed, same, other) in [
        ("(int)-8 >> gi", "int(-8) >> gi", "0xfffffff8u >> gi"),
        ("(int)(-8) >> gi", "int(-8) >> gi", "0xfffffff8u >> gi"),
        ("(int)~7 >> gi", "int(-8) >> gi", "0xfffffff8u >> gi"),
        ("(int)(8 - 16) >> gi", "int(-8) >> gi", "0xfffffff8u >> gi"),
        (
            "(int)(gi > 3 ? -8 : -8) >> gi",
            "int(-8) >> gi",
            "0xfffffff8u >> gi",
        ),
        ("(int)min(-8, -7) >> gi", "int(-8) >> gi", "0xfffffff8u >> gi"),
        ("max((int)-8, -9) >> gi", "int(-8) >> gi", "0xfffffff8u >> gi"),
        ("asint(0xfffffff8) >> gi", "int(-8) >> gi", "0xfffffff8u >> gi"),
        ("(asint(1) - 9) >> gi", "int(-8) >> gi", "0xfffffff8u >> gi"),
        ("asuint(-8) >> i", "0xfffffff8u >> i", "int(-8) >> i"),
        ("(countbits(1) - 9) >> i", "0xfffffff8u >> i", "int(-8) >> i"),
        ("(firstbitlow(1) - 8) >> i", "0xfffffff8u >> i", "int(-8) >> i"),
    ] {
        leave_the_same(&store(typed), &store(same), [true; 3]);
        leave_the_same(&store(typed), &store(other), [false; 3]);
    }
}

/// Of literals alone an intrinsic is one, which DXC computes in 64 bits.
#[test]
fn intrinsics_of_literals_are_literals() {
    let store = |value: &str| format!("Out[gi] = {value};");
    for (value, made) in [
        ("(uint)(max(0.7, 0.5) * 90 + 1)", "64u"),
        ("(uint)(min(0.7, 1.0) * 90 + 1)", "64u"),
        ("(uint)(abs(-0.7) * 90 + 1)", "64u"),
        ("(uint)(clamp(0.7, 0.1, 1.0) * 90 + 1)", "64u"),
        ("(uint)mad(0.7, 90, 1)", "64u"),
        ("(uint)(max(16777217.0, 1.0) - 16777216.0)", "0u"),
        ("(uint)(floor(16777217.5) - 16777216.0)", "2u"),
        ("(uint)(max(0.1, 0.0) * 3 == 0.3)", "1u"),
        ("(max(2147483647, 1) + 1) / 2", "3221225472u"),
        ("max(2147483647, 1) + 1 < 0 ? 64 : 32", "64u"),
        ("abs(-2147483648) >> 31", "0xffffffffu"),
        ("abs(-2147483648) / 2", "0xc0000000u"),
        ("asuint(max(-0.0, 0.0))", "0x80000000u"),
        ("asuint(min(0.0, -0.0))", "0u"),
        ("(uint)clamp(-3, 5, 0)", "0u"),
        ("(uint)((gi, 0.7) * 90 + 1)", "64u"),
        ("(uint)((0.7).x * 90 + 1)", "64u"),
        ("(uint)((gi > 3 ? 0.7 : 0.7) * 90 + 1)", "64u"),
        ("(uint)(gi > 3 ? 16777217.0 : 16777217.0)", "16777216u"),
        ("(uint)(select(gi > 3, 0.7, 0.7) * 90 + 1)", "64u"),
        ("(gi > 3 ? 2147483647 : 2147483646) + 2 < 0 ? 64 : 32", "64u"),
        ("(uint)(max(gi > 3 ? 0.7 : 0.7, 0.1) * 90 + 1)", "64u"),
        ("asuint(clamp(3.0, 5.0, 1.0))", "asuint(1.0f)"),
    ] {
        leave_the_same(&store(value), &store(made), [false; 3]);
    }
    // However many there are to choose from.
    let many = (0..6).fold("0.7".to_owned(), |value, bit| {
        format!("((gi >> {bit}) & 1 ? {value} : {value})")
    });
    leave_the_same(
        &store(&format!("(uint)({many} * 90 + 1)")),
        &store("64u"),
        [false; 3],
    );
    let given = |value: &str| format!("static const int CI = -3; int i = -3; Out[gi] = {value};");
    leave_the_same(&given("clamp(CI, 5, 0)"), &given("0"), [false; 3]);
    leave_the_same(&given("clamp(CI, 0, 5)"), &given("0"), [true; 3]);
    for (value, made) in [
        ("(uint)(max(0.75, 0.5) * 4)", "3u"),
        ("(uint)ceil(log2(100))", "7u"),
        ("(uint)log2(64)", "6u"),
        ("(uint)sqrt(64)", "8u"),
        ("(uint)pow(2, 5)", "32u"),
        ("(uint)floor(2.5)", "2u"),
        ("max(3, 5) * 2", "10u"),
        ("clamp(7, 0, 5) - 1", "4u"),
        ("max(1u, gi)", "gi == 0 ? 1u : gi"),
        ("(gi > 3 ? 2 : 1) * 3", "gi > 3 ? 6u : 3u"),
        ("(gi > 3 ? -1 : 0) + 1", "gi > 3 ? 0u : 1u"),
        ("1 && 2 ? 3 : 4", "3u"),
        ("!0 + 1", "2u"),
        ("(uint)((gi > 3 ? 0.5 : 0.25) * 8.0)", "gi > 3 ? 4u : 2u"),
        ("(uint)(gi > 3 ? 1.5 : 2.5)", "gi > 3 ? 1u : 2u"),
    ] {
        leave_the_same(&store(value), &store(made), [true; 3]);
    }
}

/// Without a suffix a float has 64 bits until it is converted, wherever that is. What comes to another number in 32 is not known.
#[test]
fn literals_are_converted_as_they_are_written() {
    let store = |before: &str, value: &str| format!("{before} Out[gi] = {value};");
    for (before, value, of_32_bits) in [
        ("", "uint2(16777217.0, 1).x", "16777216u"),
        ("", "(uint)int2x2(16777217.0, 1, 2, 3)[0][0]", "16777216u"),
        ("uint a[2] = { 16777217.0, 1 };", "a[0]", "16777216u"),
        ("uint2 a = { 16777217.0, 1 };", "a.x", "16777216u"),
        ("struct P { uint k; }; P p = { 16777217.0 };", "p.k", "16777216u"),
        ("int a[1] = { 1.9999999999 };", "(uint)a[0]", "2u"),
        ("uint a[2] = { 5, 6 };", "a[0.9999999999]", "6u"),
        ("bool b = 1e-50;", "b ? 1u : 0u", "0u"),
        ("bool b[1] = { 1e-50 };", "b[0] ? 1u : 0u", "0u"),
        ("", "bool2(1e-50, 0).x ? 1u : 0u", "0u"),
        ("", "1e-50 ? 1u : 0u", "0u"),
        ("", "(1e-50 && true) ? 1u : 0u", "0u"),
        ("", "!1e-50 ? 1u : 0u", "1u"),
        ("", "sqrt(1e-50) > 0 ? 1u : 0u", "0u"),
    ] {
        leave_the_same(&store(before, value), &store("", of_32_bits), [false; 3]);
    }
    leave_the_same("if (1e-50) Out[gi] = 1u;", "", [false; 3]);
    for (before, value, made) in [
        ("", "uint2(16777216.0, 1).x", "16777216u"),
        ("uint a[2] = { 3.75, 1 };", "a[0]", "3u"),
        ("", "bool2(1e-30, 0).x ? 1u : 0u", "1u"),
        (
            "float rounded_twice = 1.00000005960464477540;",
            "asuint(rounded_twice)",
            "0x3f800000u",
        ),
        (
            "float rounded_once = 1.00000005960464477540f;",
            "asuint(rounded_once)",
            "0x3f800001u",
        ),
        (
            "",
            "(uint)(gi / 4294967295.0)",
            "(uint)((float)gi / 4294967296.0f)",
        ),
    ] {
        leave_the_same(&store(before, value), &store("", made), [true; 3]);
    }
}

/// In its own initialiser a name means what is being declared, which has no value yet.
#[test]
fn a_variable_in_its_own_initialiser_is_not_followed() {
    let kernel = |body: &str| format!("uint v = In[gi], x = In[gi ^ 1], r = 0; {body} Out[gi] = r;");
    for (own, outer) in [
        ("{ uint v = v; if (x > 3) v = x; r = v; }", "r = x > 3 ? x : v;"),
        (
            "{ uint v = min(v, 3); if (x > 3) v = x; r = v; }",
            "r = x > 3 ? x : min(v, 3);",
        ),
        ("{ uint2 v = uint2(x, v); r = v.y; }", "r = v;"),
        ("{ uint z = 1, v = z + v; r = v; }", "r = v + 1;"),
        ("{ const uint v = v; r = v; }", "r = v;"),
        (
            "for (uint v = v; v < 20; v++) r += v;",
            "for (uint w = v; w < 20; w++) r += w;",
        ),
    ] {
        leave_the_same(&kernel(own), &kernel(outer), [false; 3]);
    }
    for (own, outer) in [
        ("{ uint w = v, z = w; r = z; }", "r = v;"),
        ("uint w = v; { uint v = w; v++; r = v; }", "r = v + 1;"),
    ] {
        leave_the_same(&kernel(own), &kernel(outer), [true; 3]);
    }
}

/// `-2147483648` is a literal as `-1` is one.
#[test]
fn the_smallest_int_is_a_literal() {
    let store = |value: &str| format!("int i = gi; Out[gi] = {value};");
    for literal in ["-2147483648", "- 2147483648", "-(2147483648)"] {
        let shifted = store(&format!("{literal} >> gi"));
        leave_the_same(&shifted, &store("0x80000000u >> gi"), [true, true, false]);
        leave_the_same(&shifted, &store("(-2147483647 - 1) >> gi"), [true, true, true]);
        let by_int = store(&format!("{literal} >> i"));
        leave_the_same(&by_int, &store("int(-2147483647 - 1) >> i"), [true; 3]);
    }
}

/// Literals have 64 bits until they meet something else: `65536 * 65536` is no zero as a float, and true.
#[test]
fn literals_beyond_32_bits_are_not_followed_into_floats() {
    for (literal, narrow) in [
        ("Floats[gi] = 65536 * 65536;", "Floats[gi] = 0;"),
        (
            "Floats[gi] = Floats[gi] * (65536 * 65536);",
            "Floats[gi] = Floats[gi] * 0;",
        ),
        ("Floats[gi] = (float)(65536 * 65536);", "Floats[gi] = 0;"),
        (
            "Floats[gi] = Floats[gi] < 65536 * 65536;",
            "Floats[gi] = Floats[gi] < 0;",
        ),
        ("Floats[gi] = ~0xffff0000;", "Floats[gi] = 65535;"),
        ("float4 v = 65536 * 65536; Floats[gi] = v.x;", "Floats[gi] = 0;"),
        ("Out[gi] = (65536 * 65536) ? 1 : 2;", "Out[gi] = 2;"),
        ("Out[gi] = !(65536 * 65536);", "Out[gi] = 1;"),
        ("if (65536 * 65536) Out[gi] = 1;", "if (0) Out[gi] = 1;"),
    ] {
        leave_the_same(literal, narrow, [false; 3]);
    }
    leave_the_same("Floats[gi] = ~0xff;", "Floats[gi] = -256;", [true; 3]);
    leave_the_same(
        "Out[gi] = gi & ~0xff000000;",
        "Out[gi] = gi & 0xffffff;",
        [true; 3],
    );
    leave_the_same(
        "Out[gi] = gi & (1 << 31);",
        "Out[gi] = gi & 0x80000000;",
        [true; 3],
    );
    // Nor into what is made of them later, which may be an integer of 64 bits or an intrinsic of literals.
    for (literal, narrow) in [
        ("Out[gi] = max(65536 * 65536, 5);", "Out[gi] = 5;"),
        ("Out[gi] = max(46341 * 46341, 5);", "Out[gi] = 5;"),
        ("Out[gi] = max(1 << 31, 5);", "Out[gi] = 5;"),
        ("Out[gi] = clamp(65536 * 65536, 1, 9);", "Out[gi] = 1;"),
        (
            "float f = gi > 2 ? 65536 * 65536 : 0; Out[gi] = asuint(f);",
            "Out[gi] = 0;",
        ),
        (
            "int64_t z = 65536 * 65536; Out[gi] = uint(z >> 32);",
            "int64_t z = 0; Out[gi] = uint(z >> 32);",
        ),
    ] {
        leave_the_same(literal, narrow, [false; 3]);
    }
    leave_the_same("Out[gi] = max(7, 5);", "Out[gi] = 7;", [true; 3]);
}

#[test]
fn reversed_bits_have_the_type_of_what_is_reversed() {
    let reversed = "int i = gi; Out[gi] = reversebits(i) >> 31;";
    leave_the_same(reversed, "Out[gi] = int(reversebits(gi)) >> 31;", [true; 3]);
    leave_the_same(reversed, "Out[gi] = reversebits(gi) >> 31;", [false; 3]);
}

#[test]
fn literals_are_of_the_base_they_are_written_in() {
    for (literal, value, other) in [
        ("max(033, 0.5)", "27", "33"),
        ("floor(010)", "8", "10"),
        ("(07 + 0.5)", "7", "8"),
    ] {
        let made = format!("Out[gi] = uint({literal});");
        leave_the_same(&made, &format!("Out[gi] = {value};"), [true; 3]);
        leave_the_same(&made, &format!("Out[gi] = {other};"), [false; 3]);
    }
    // DXC has a `long` of 32 bits, in other bases than ten without a sign.
    for (suffixed, plain) in [
        ("int(gi) > 0L", "int(gi) > 0u"),
        ("int(gi) / 0x2L", "int(gi) / 2u"),
        ("int(gi) / 2L", "int(gi) / 2"),
        ("int(gi) % 010L", "int(gi) % 8u"),
        ("4294967295L / int(gi + 1)", "-1 / int(gi + 1)"),
    ] {
        leave_the_same(
            &format!("Out[gi] = {suffixed};"),
            &format!("Out[gi] = {plain};"),
            [true; 3],
        );
    }
    leave_the_same(
        "Out[gi] = int(gi - 9) > 0L;",
        "Out[gi] = int(gi - 9) > 0;",
        [false; 3],
    );
    // In 64 bits it is 16777217, as a float 16777216.
    for value in ["16777216", "16777217"] {
        let made = format!("Out[gi] = {value};");
        leave_the_same("Out[gi] = uint(0x1000001 * 1.0);", &made, [false; 3]);
        leave_the_same("Out[gi] = uint(max(0x1000001, 0.5));", &made, [false; 3]);
    }
}

/// DXC takes an `enum` of a `uint` for an `int` beside a literal that fits no `int`.
#[test]
fn the_sign_of_an_enum_beside_a_large_literal_is_not_known() {
    let declared = "enum U : uint { A = 4 };";
    let equal = |one: &str, other: &str| proved(&kernel(declared, one), &kernel(declared, other));
    for (made, unsigned) in [
        ("Out[gi] = (A + 0x80000000) < 0;", "Out[gi] = 0;"),
        ("Out[gi] = ((U)gi & 0xffffffff) / 3;", "Out[gi] = gi / 3;"),
        (
            "Out[gi] = ((U)gi | 0x80000000) >> 4;",
            "Out[gi] = (gi | 0x80000000) >> 4;",
        ),
    ] {
        assert_eq!(equal(made, unsigned), [false; 3], "{made}");
    }
}

/// A width need not be a number that is written there.
#[test]
fn a_member_with_a_width_is_no_whole_word() {
    let stored = "S s = (S)0; s.a = gi; Out[gi] = s.a;";
    let equal = |width: &str| {
        let declared = format!("struct S {{ uint a : {width}; }};");
        proved(&kernel(&declared, stored), &kernel(&declared, "Out[gi] = gi;"))
    };
    for width in ["4", "sizeof(uint)", "BITS(8)", "WIDTH"] {
        assert_eq!(equal(width), [false; 3], "{width}");
    }
    assert_eq!(equal("SV_VertexID"), [true; 3]);
}
