//! Pairs of kernels: what is said of them is neither proved where it is wrong nor called different where it is right.

mod atomics;
mod chosen;
mod meaning;
mod ordering;
mod outside;
mod stretch;
mod threads;
mod types;

use shaderlint_hlsl::Shader;
use shaderlint_simt::{LaneMap, Outcome, WaveRun, compare};

const GLOBALS: &str = "StructuredBuffer<uint> X; StructuredBuffer<int> N; StructuredBuffer<float> F;
RWStructuredBuffer<uint> Y; RWStructuredBuffer<uint> Z; RWStructuredBuffer<float> G;
ByteAddressBuffer In; RWByteAddressBuffer Out;
cbuffer C { uint Count; };
groupshared uint s[64];
";

fn shader(source: &str) -> Shader {
    shaderlint_hlsl::parse(source.as_bytes().to_vec()).0
}

fn runs_of(kernels: [&str; 2]) -> Vec<WaveRun> {
    let [first, second] = kernels.map(shader);
    let entry = |shader: &Shader| shader.entry_points().next().expect("an entry point").0;
    compare(
        (&first, entry(&first)),
        (&second, entry(&second)),
        &[LaneMap::Linear],
    )
    .collect()
}

fn kernel(attributes: &str, before: &str, body: &str) -> String {
    format!(
        "{GLOBALS}{before}\n{attributes}[numthreads(64, 1, 1)]\n\
         void main(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID, uint3 g : SV_GroupID) {{ {body} }}\n"
    )
}

/// What is said of two bodies at every wave size.
fn said(bodies: [&str; 2]) -> String {
    said_behind("", bodies)
}

/// The same with these declarations before the kernels.
fn said_behind(before: &str, bodies: [&str; 2]) -> String {
    let [first, second] = bodies.map(|body| kernel("", before, body));
    words(&runs_of([&first, &second]))
}

fn words(runs: &[WaveRun]) -> String {
    let mut all: Vec<String> = runs.iter().map(|run| word(&run.outcome)).collect();
    all.dedup();
    all.join("; ")
}

fn word(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Equal => "equal".to_owned(),
        Outcome::Reassociates => "up to order".to_owned(),
        Outcome::Differs(d) => format!("{}: {} against {}", d.place, d.expected, d.got),
        Outcome::OutOfBounds { .. } => "out of bounds".to_owned(),
        Outcome::Races { .. } => "races".to_owned(),
        Outcome::RoundsBeyond(_) | Outcome::NotProved(_) => format!("not proved: {}", outcome.reason()),
    }
}

#[track_caller]
fn check(expected: &str, pairs: &[[&str; 2]]) {
    for pair in pairs {
        assert_eq!(said(*pair), expected, "{pair:?}");
    }
}

/// A factor that a product has more than once is no multiple.
#[test]
fn products_are_told_from_multiples() {
    let differ = |bodies: [&str; 2], expected: &str| {
        let said = said(bodies);
        assert!(said.contains(expected), "{said}");
    };
    differ(
        ["Y[gi] = X[gi] * X[gi];", "Y[gi] = 2 * X[gi];"],
        "X[0] * X[0] against 2 * (X[0])",
    );
    differ(
        ["uint y = X[gi]; Y[gi] = y * y * y * y * y;", "Y[gi] = 3;"],
        "X[0] * X[0] * X[0] * X[0] * … against 3",
    );
}

#[test]
fn a_loop_that_may_not_end_is_proved_of_nothing_but_itself() {
    let copy = "Y[id.x] = X[id.x];";
    for endless in [
        "while (true) {}",
        "uint i = 0; while (i < 10) {}",
        "while (s[gi] != 3) {}",
        "while (Z[0] != 3) {}",
        "for (uint i = 0; i < X[gi]; i += 0) {}",
        "switch (X[gi]) { case 1: while (true) {} default: break; }",
    ] {
        let second = format!("{endless} {copy}");
        let outcome = said([copy, &second]);
        assert!(outcome.starts_with("not proved"), "{endless}: {outcome}");
    }
    let counted = "uint n = 0; for (uint i = 0; i < X[gi]; ++i) { n += i; } Y[id.x] = n;";
    check("equal", &[[counted, counted]]);
    let other = counted.replace("i < X[gi]", "i < X[gi + 1]");
    check(
        "not proved: a loop that was not seen to end",
        &[
            [copy, "while (true) {} Y[id.x] = X[id.x];"],
            [counted, &other],
            [
                "uint n = 5; while (n < X[gi]) { n *= 2; } Y[id.x] = 1;",
                "uint n = 0; while (n < X[gi]) { n *= 2; } Y[id.x] = 1;",
            ],
        ],
    );
    // What the first does not leave the second may.
    check("equal", &[["while (true) {} Y[id.x] = X[id.x];", copy]]);
}

/// A label that the engine cannot evaluate may match. A selector that is not of 32 bits gives labels another value.
#[test]
fn a_switch_is_followed_only_where_its_labels_are_known() {
    let select = |selector: &str, label: &str| {
        let before =
            "static const min16uint HALF = 3; static const uint64_t WIDE = 3; static const uint PLAIN = 3;
            static const bool YES = true;";
        let body = format!(
            "bool yes = gi < 64; uint r; switch ({selector}) {{ case {label}: r = 4; break; default: r = 5; }} Y[id.x] = r;"
        );
        kernel("", before, &body)
    };
    let [labelled, default] = ["4", "5"].map(|r| kernel("", "", &format!("Y[id.x] = {r};")));
    for (selector, label, is_labelled) in [
        ("3", "3", true),
        ("3", "PLAIN", true),
        ("PLAIN", "1 + 2", true),
        ("3", "-1", false),
        ("3", "0xffffffff", false),
        ("int(-1)", "0xffffffff", true),
    ] {
        let (taken, other) = if is_labelled {
            (&labelled, &default)
        } else {
            (&default, &labelled)
        };
        let kernel = select(selector, label);
        assert_eq!(
            words(&runs_of([&kernel, taken])),
            "equal",
            "switch ({selector}) case {label}"
        );
        let said = words(&runs_of([&kernel, other]));
        assert!(
            !said.contains("equal"),
            "switch ({selector}) case {label}: {said}"
        );
    }
    for (selector, label) in [
        ("3", "HALF"),
        ("3", "WIDE"),
        ("3", "3ull"),
        ("3", "0b11"),
        ("3", "int(3ll)"),
        ("-1", "0xffffffff"),
        ("true", "3"),
        ("YES", "1"),
        ("yes", "3"),
        ("HALF", "3"),
        ("WIDE", "3"),
    ] {
        let kernel = select(selector, label);
        for plain in [&labelled, &default] {
            for pair in [[&kernel, plain], [plain, &kernel]] {
                let said = words(&runs_of(pair.map(String::as_str)));
                assert!(
                    said.starts_with("not proved"),
                    "switch ({selector}) case {label}: {said}"
                );
            }
        }
    }
}

/// Who leaves a function early leaves its outputs and the statics as they were then.
#[test]
fn early_returns_keep_what_was_written_by_then() {
    let stays = [
        "void T(uint a, out uint o) { o = 1; if (a > 5) return; o = 2; }",
        "void T(uint a, out uint o) { o = 4; if (a > 5) { o = 1; return; } o = 2; }",
        "static uint s; void R(uint a) { s = 1; if (a > 5) return; s = 2; } void T(uint a, out uint o) { R(a); o = s; }",
        "static uint s; uint R(uint a) { s = 1; if (a > 5) return 7; s = 2; return 9; }
         void T(uint a, out uint o) { uint x = R(a); o = s; }",
        "void T(uint a, out uint o) { o = 1; for (uint i = 5; i < 6; i++) { if (a > i) return; o = 2; } }",
        "void R(uint a, inout uint2 v) { if (a > 5) return; v.y += 1; }
         void T(uint a, out uint o) { uint2 v = 1; R(a, v); o = v.y; }",
        "struct S { uint v; void R(uint a) { if (a > 5) return; v += 1; } };
         void T(uint a, out uint o) { S s; s.v = 1; s.R(a); o = s.v; }",
        "void R(uint a, inout uint o) { if (a > 5) return; o += 1; }
         void T(uint a, out uint o) { o = 1; R(a, o); if (a > 9) return; }",
    ];
    let plain = "void T(uint a, out uint o) { if (a > 5) o = 1; else o = 2; }";
    let always = "void T(uint a, out uint o) { o = 2; }";
    let kernel = |before: &str| kernel("", before, "uint o = 7; T(X[gi], o); Y[id.x] = o;");
    for before in stays {
        assert_eq!(
            words(&runs_of([&kernel(plain), &kernel(before)])),
            "equal",
            "{before}"
        );
        let other = words(&runs_of([&kernel(always), &kernel(before)]));
        assert!(!other.contains("equal"), "{before}: {other}");
    }
    // Where more than that is not told.
    let switch = "void T(uint a, out uint o) { o = 1; switch (a) { case 7: return; default: o = 2; } }";
    let loops =
        "void T(uint a, out uint o) { o = 1; for (uint i = 0; i < a; i++) { if (X[i] > 5) return; } o = 2; }";
    for first in [switch, loops] {
        let outcome = words(&runs_of([&kernel(first), &kernel(always)]));
        assert!(!outcome.contains("equal"), "{first}: {outcome}");
    }
}

#[test]
fn loops_of_one_text_that_name_other_things_are_two() {
    let body = "uint n = 0; for (uint i = 0; i < X[gi]; ++i) { n = f(n); } Y[id.x] = n;";
    let texts = [
        (
            "uint f(uint n) { return n + 1; }",
            "uint f(uint n) { return n + 2; }",
        ),
        (
            "static const uint S = 1; uint f(uint n) { return n + S; }",
            "static const uint S = 2; uint f(uint n) { return n + S; }",
        ),
        (
            "static const uint T = 1; static const uint S = T; uint f(uint n) { return n + S; }",
            "static const uint T = 2; static const uint S = T; uint f(uint n) { return n + S; }",
        ),
    ];
    for (one, other) in texts {
        let [first, second] = [one, other].map(|before| kernel("", before, body));
        assert!(!words(&runs_of([&first, &second])).contains("equal"), "{other}");
        assert_eq!(words(&runs_of([&first, &first])), "equal");
    }
    let signed = "int n = 0; while (n < int(X[gi])) { n -= 1; } Y[id.x] = n;";
    let unsigned = signed.replace("int n = 0", "uint n = 0");
    assert!(!said([signed, &unsigned]).contains("equal"));
}

#[test]
fn barriers_that_order_device_memory_are_compared() {
    let other = "not proved: other barriers order the accesses to device memory";
    let all = "AllMemoryBarrierWithGroupSync();";
    let exchange =
        |a: &str, b: &str| format!("Y[id.x] = X[id.x]; {a} uint t = Y[id.x ^ 1]; {b} Y[id.x] = t;");
    let both = exchange(all, all);
    assert_eq!(said([&both, &both]), "equal");
    for (a, b) in [
        ("", ""),
        (all, ""),
        ("", all),
        ("GroupMemoryBarrierWithGroupSync();", all),
    ] {
        let outcome = said([&both, &exchange(a, b)]);
        assert!(outcome.starts_with("not proved"), "{a}{b}: {outcome}");
    }
    check(
        other,
        &[
            // The load is before the barrier, and the store after it.
            [
                "uint t = Y[id.x + 1]; AllMemoryBarrierWithGroupSync(); Y[id.x] = t;",
                "uint t = Y[id.x + 1]; Y[id.x] = t;",
            ],
            // Two threads write to one place.
            [
                "if (gi == 0) Y[0] = 1; AllMemoryBarrierWithGroupSync(); if (gi == 1) Y[0] = 2;",
                "if (gi == 1) Y[0] = 2; AllMemoryBarrierWithGroupSync(); if (gi == 0) Y[0] = 1;",
            ],
            [
                "Y[gi] = 1; DeviceMemoryBarrier(); Z[gi] = 1;",
                "Y[gi] = 1; Z[gi] = 1;",
            ],
            [
                "Y[gi] = 1; for (uint i = 0; i < X[0]; i++) DeviceMemoryBarrier(); Z[gi] = 1;",
                "Y[gi] = 1; Z[gi] = 1;",
            ],
            [
                "Y[gi] = 1; switch (X[0]) { case 1: AllMemoryBarrier(); break; } Z[gi] = 1;",
                "Y[gi] = 1; Z[gi] = 1;",
            ],
        ],
    );
    // Nothing is read there, and each thread has its own places.
    check(
        "equal",
        &[[
            "Y[id.x] = 1; AllMemoryBarrierWithGroupSync(); Y[id.x] = 2;",
            "Y[id.x] = 1; Y[id.x] = 2;",
        ]],
    );
}

#[test]
fn a_load_after_a_store_is_not_one_before_it() {
    let outcome = said([
        "Y[id.x] = 5; uint t = Y[id.x]; Z[id.x] = t;",
        "uint u = Y[0]; uint t = Y[id.x]; Y[id.x] = 5; Z[id.x] = t;",
    ]);
    assert!(outcome.starts_with("not proved"), "{outcome}");
}

/// What these kernels write before `Y[id.x]` is 2 is not what a front end finds that looks names up in the text at hand only.
#[test]
fn names_that_other_rules_of_lookup_find_are_told_apart() {
    let plain = kernel("", "", "Y[id.x] = 2;");
    let with = |before: &str, value: &str| {
        let own = kernel("", before, &format!("Y[id.x] = {value};"));
        words(&runs_of([&own, &plain]))
    };
    for (before, value) in [
        // Types that a base declares, of members, variables and in typedefs: 3.
        (
            "typedef uint T; struct B { typedef float T; }; struct S : B { T t; uint f() { t = 1.5; return t * 2; } };",
            "S(0).f()",
        ),
        (
            "typedef uint T; struct B { typedef float T; }; struct S : B { uint f() { T t = 1.5; return t * 2; } }; static S v;",
            "v.f()",
        ),
        (
            "struct T { uint x; }; struct B { struct T { float x; }; }; struct S : B { uint f() { T t; t.x = 1.5; return t.x * \
             2; } }; static S v;",
            "v.f()",
        ),
        // Behind its type.
        (
            "float typedef dword; uint f() { dword t = 1.5; return t * 2; }",
            "f()",
        ),
        // Names in templates that are declared behind them, or in a base that hangs on the arguments.
        (
            "uint g(float a) { return 1; } template<typename T> uint f(T a) { return g(a); } uint g(uint a) { return 2; }",
            "f(1u)",
        ),
        (
            "static const uint K = 1; namespace N { template<typename T> uint f(T v) { return K; } static const uint K = 2; }",
            "N::f(1u)",
        ),
        (
            "uint g() { return 1; } template<typename T> struct B { uint g() { return 2; } }; template<typename T> struct S : \
             B<T> { uint f() { return g(); } }; static S<uint> v;",
            "v.f()",
        ),
        (
            "struct B { uint f(uint a) { return 3; } }; struct S : B { using B::f; uint f(uint2 a) { return 2; } }; static S v;",
            "v.f(2u)",
        ),
    ] {
        assert_ne!(with(before, value), "equal", "{before}");
    }
    assert_eq!(
        with(
            "uint g(uint a) { return a; } template<typename T> T f(T a) { return g(a); }",
            "f(2u)"
        ),
        "equal"
    );
}

/// What an intrinsic makes of a vector may depend on all of it, also where it makes a vector as long.
#[test]
fn components_that_depend_on_others_are_told_apart() {
    for call in [
        "cross(float3(F[0], V, 1), float3(2, V, 3)).x",
        "cross(float3(F[0], 0, 0), float3(0, V, 0)).z",
        "normalize(float3(F[0], V, 1)).x",
        "reflect(float3(F[0], V, 1), float3(0, 1, F[0])).x",
        "refract(float3(F[0], V, 1), float3(0, 1, F[0]), 0.5f).x",
        "faceforward(float3(F[0], V, 1), float3(0, V, 1), float3(1, 1, 1)).x",
        "mul(float2x2(F[0], V, 1, 2), float2x2(1, 2, 3, 4))[0][0]",
        "transpose(float2x2(F[0], V, 1, 2))[1][0]",
        "dst(float4(F[0], V, 1, 1), float4(1, V, 1, 1)).y",
    ] {
        let [one, other] = ["F[1]", "F[2]"].map(|value| format!("G[id.x] = {};", call.replace('V', value)));
        let outcome = said([&one, &other]);
        assert!(outcome.starts_with("not proved"), "{call}: {outcome}");
    }
}

/// DXC has overloads for integers of each width.
#[test]
fn bits_are_counted_in_all_of_a_value() {
    for ty in ["uint64_t", "int64_t", "uint16_t", "int16_t"] {
        let before = format!("StructuredBuffer<{ty}> S;");
        let kernel = |value: &str| kernel("", &before, &format!("Y[id.x] = {value};"));
        for name in ["countbits", "firstbithigh", "firstbitlow", "reversebits"] {
            let whole = kernel(&format!("(uint){name}(S[id.x])"));
            for other in [
                "{name}((uint)S[id.x])",
                "{name}((int)S[id.x])",
                "countbits(~S[id.x])",
            ] {
                let other = kernel(&other.replace("{name}", name));
                let outcome = words(&runs_of([&whole, &other]));
                assert!(!outcome.contains("equal"), "{ty} {name}: {outcome}");
            }
            let others = ["countbits", "reversebits"]
                .into_iter()
                .filter(|other| *other != name);
            for other in others {
                let other = kernel(&format!("(uint){other}(S[id.x])"));
                let outcome = words(&runs_of([&whole, &other]));
                assert!(!outcome.contains("equal"), "{ty} {name}: {outcome}");
            }
        }
    }
}

#[test]
fn floats_are_equal_bit_for_bit_where_they_are_made_alike() {
    check(
        "equal",
        &[
            ["G[id.x] = asfloat(X[id.x]);", "G[id.x] = asfloat(X[id.x]);"],
            [
                "Y[id.x] = asuint(F[id.x]);",
                "Y[id.x] = asuint(asfloat(asuint(F[id.x])));",
            ],
            // What is flushed is compared as what it is flushed to.
            ["Y[id.x] = F[id.x] * 1.0f > 2.0f;", "Y[id.x] = F[id.x] > 2.0f;"],
            ["Y[id.x] = uint(F[id.x] + 0.0f);", "Y[id.x] = uint(F[id.x]);"],
            [
                "Y[id.x] = exp(abs(F[id.x] + 0.0f)) > 2.0f;",
                "Y[id.x] = exp(abs(F[id.x])) > 2.0f;",
            ],
            [
                "Y[id.x] = (F[id.x] + 0.0f) / F[0] < 0.0f;",
                "Y[id.x] = F[id.x] / F[0] < 0.0f;",
            ],
            // A whole number is no denormal.
            [
                "Y[id.x] = asuint(float(X[id.x]) + 0.0f);",
                "Y[id.x] = asuint(float(X[id.x]));",
            ],
            // Which of several the least is, if they compare equal, is no matter to a float.
            [
                "G[id.x] = min(F[0], min(F[1], F[2]));",
                "G[id.x] = min(min(F[2], F[0]), F[1]);",
            ],
            [
                "Y[id.x] = asuint(max(F[0], max(F[1], F[2])));",
                "Y[id.x] = asuint(max(F[0], max(F[1], F[2])));",
            ],
        ],
    );
    check(
        "not proved: whether 0 is added to a float, or 1 multiplies it, in both is not followed; that flushes denormals, which may show in more than the value of a float",
        &[
            ["Y[id.x] = asuint(F[id.x] * 1.0f);", "Y[id.x] = asuint(F[id.x]);"],
            ["Y[id.x] = asuint(F[id.x] + 0.0f);", "Y[id.x] = asuint(F[id.x]);"],
            ["Y[id.x] = asuint(F[id.x] + -0.0f);", "Y[id.x] = asuint(F[id.x]);"],
            [
                "Y[id.x] = asuint(mad(F[id.x], 1.0f, 0.0f));",
                "Y[id.x] = asuint(F[id.x]);",
            ],
            ["Y[id.x] = asuint(asfloat(X[id.x]) * 1.0f);", "Y[id.x] = X[id.x];"],
            [
                "G[id.x] = step(0.0f, 1 / (F[id.x] + 0.0f));",
                "G[id.x] = step(0.0f, 1 / F[id.x]);",
            ],
            // By way of memory.
            [
                "G[id.x] = F[id.x] + 0.0f; Y[id.x] = asuint(G[id.x]);",
                "G[id.x] = F[id.x]; Y[id.x] = asuint(G[id.x]);",
            ],
            // -0 + 0 is +0, and of these two the reciprocals lie on either side of all numbers.
            [
                "Y[id.x] = 1 / (F[id.x] + 0.0f) < 0.0f;",
                "Y[id.x] = 1 / F[id.x] < 0.0f;",
            ],
            [
                "if (rcp(F[id.x] + 0.0f) < 0.0f) Y[id.x] = 1;",
                "if (rcp(F[id.x]) < 0.0f) Y[id.x] = 1;",
            ],
            [
                "Y[uint(saturate(1 / (F[id.x] + 0.0f)))] = 1;",
                "Y[uint(saturate(1 / F[id.x]))] = 1;",
            ],
            [
                "Y[id.x] = int(4 * atan2(F[id.x] + 0.0f, -1.0f));",
                "Y[id.x] = int(4 * atan2(F[id.x], -1.0f));",
            ],
            [
                "Out.Store(4 * id.x, asuint(F[id.x] * 1.0f));",
                "Out.Store(4 * id.x, asuint(F[id.x]));",
            ],
        ],
    );
    check(
        "not proved: which of two floats that compare equal `min` or `max` gives may show in more than the value of a float",
        &[
            [
                "Y[id.x] = asuint(min(F[id.x], F[id.x]));",
                "Y[id.x] = asuint(F[id.x]);",
            ],
            [
                "Y[id.x] = asuint(max(F[id.x], asfloat(0xff800000)));",
                "Y[id.x] = asuint(F[id.x]);",
            ],
            [
                "Y[id.x] = asuint(min(F[0], F[1]));",
                "Y[id.x] = asuint(min(F[1], min(F[0], F[1])));",
            ],
            // Of two zeros it may be the first that is given.
            [
                "Y[id.x] = asuint(min(F[0], F[1]));",
                "Y[id.x] = asuint(min(F[1], F[0]));",
            ],
            [
                "Y[id.x] = 1 / min(F[0], F[1]) < 0.0f;",
                "Y[id.x] = 1 / min(F[1], min(F[0], F[1])) < 0.0f;",
            ],
            [
                "Y[id.x] = asuint(WaveActiveMax(F[0]));",
                "Y[id.x] = asuint(F[0]);",
            ],
        ],
    );
    check(
        "not proved: the order of float operations may show in more than the value of a float",
        &[[
            "G[id.x] = F[0] + F[1] + F[2]; if (G[id.x] > 0.5f) Y[id.x] = 1;",
            "G[id.x] = F[2] + F[1] + F[0]; if (G[id.x] > 0.5f) Y[id.x] = 1;",
        ]],
    );
    check(
        "up to order",
        &[
            ["G[id.x] = F[id.x] * 1.0f;", "G[id.x] = F[id.x];"],
            ["G[id.x] = 1e8f + F[id.x] + (-1e8f);", "G[id.x] = F[id.x];"],
            ["G[id.x] = F[id.x] * 1e-20f * 1e20f;", "G[id.x] = F[id.x];"],
            ["G[id.x] = F[id.x] * 0.1f * 10.0f;", "G[id.x] = F[id.x];"],
            ["G[id.x] = F[id.x] + 0.0f;", "G[id.x] = F[id.x];"],
            [
                "G[id.x] = F[id.x] + F[id.x + 1] + F[id.x + 2];",
                "G[id.x] = F[id.x] + (F[id.x + 1] + F[id.x + 2]);",
            ],
        ],
    );
    // The same operations on the same numbers.
    check(
        "equal",
        &[
            [
                "Y[id.x] = asuint(F[id.x] + F[id.x + 1]);",
                "Y[id.x] = asuint(F[id.x + 1] + F[id.x]);",
            ],
            [
                "G[id.x] = F[id.x] * F[id.x + 1] + 1;",
                "float f = F[id.x]; G[id.x] = f * F[id.x + 1] + 1;",
            ],
        ],
    );
    check(
        "not proved: the order of float operations may show in more than the value of a float",
        &[[
            "RWTexture2D<float> t = ResourceDescriptorHeap[0]; t[id.xy] = F[0] + F[1] + F[2];",
            "RWTexture2D<float> t = ResourceDescriptorHeap[0]; t[id.xy] = F[0] + (F[1] + F[2]);",
        ]],
    );
    check(
        "not proved: the order of float operations may show in more than the value of a float",
        &[[
            "Y[id.x] = asuint(F[id.x] * 0.1f * 10.0f);",
            "Y[id.x] = asuint(F[id.x]);",
        ]],
    );
    check(
        "not proved: the order of float operations may show in more than the value of a float",
        &[
            [
                "if (F[0] + F[1] + F[2] > 1) Y[id.x] = 1;",
                "if (F[0] + (F[1] + F[2]) > 1) Y[id.x] = 1;",
            ],
            [
                "Y[id.x] = asuint(F[0] + F[1] + F[2]);",
                "Y[id.x] = asuint(F[0] + (F[1] + F[2]));",
            ],
            [
                "G[id.x] = floor(1e8f + F[0] + (-1e8f));",
                "G[id.x] = floor(F[0]);",
            ],
            [
                "G[id.x] = asuint(F[0] + F[1] + F[2]) & 1;",
                "G[id.x] = asuint(F[0] + (F[1] + F[2])) & 1;",
            ],
            [
                "G[id.x] = F[0] + F[1] + F[2] > 1 ? 1 : 0;",
                "G[id.x] = F[0] + (F[1] + F[2]) > 1 ? 1 : 0;",
            ],
        ],
    );
    check(
        "not proved: floats are combined in another order, where `precise` is written",
        &[[
            "precise float f = F[0] + F[1] + F[2]; G[id.x] = f;",
            "precise float f = F[0] + (F[1] + F[2]); G[id.x] = f;",
        ]],
    );
    // A compiler may make one operation of a product and a sum, and round once.
    let product = "float p = F[0] * F[1] + 1; precise float f = p; G[id.x] = f;";
    let fused = "float p = mad(F[0], F[1], 1); precise float f = p; G[id.x] = f;";
    check("equal", &[[product, product], [fused, fused]]);
    check(
        "not proved: floats are combined in another order, where `precise` is written",
        &[[product, fused], [fused, product]],
    );
    let free = "float f = F[0] * F[1] + 1; G[id.x] = f;";
    check("up to order", &[[free, "G[id.x] = mad(F[0], F[1], 1);"]]);
    check(
        "not proved: floats are combined, and `precise` is not written of the same",
        &[
            [product, free],
            [free, product],
            [
                "precise float f = F[0] * F[1] + 1; G[id.x] = f;",
                "precise float f = 1; G[id.x] = F[0] * F[1] + 1;",
            ],
        ],
    );
    check(
        "equal",
        &[["precise float f = F[0]; G[id.x] = f;", "G[id.x] = F[0];"]],
    );
}

/// What two sums have in common but their order is left out where they are compared, or one is taken from the other.
#[test]
fn bits_of_equal_forms_are_not_taken_for_equal_bits() {
    const SUMS: [&str; 2] = ["(F[0] + F[1] + F[2])", "(F[0] + (F[1] + F[2]))"];
    let compared = |[a, b]: [&str; 2]| {
        [
            (format!("asuint({a}) == asuint({b})"), "1"),
            (format!("asuint({a}) != asuint({b})"), "0"),
            (format!("asuint({a}) - asuint({b})"), "0"),
            (format!("asuint({a}) ^ asuint({b})"), "0"),
            (format!("countbits(asuint({a})) < countbits(asuint({b}))"), "0"),
            (format!("asuint({a}) == asuint({b}) ? X[0] : 7"), "X[0]"),
        ]
    };
    let check = |doubt: &str, sides: [&str; 2]| {
        for (compared, known) in compared(sides) {
            let pair = [compared.as_str(), known].map(|value| format!("Y[id.x] = {value};"));
            let said = said([&pair[0], &pair[1]]);
            assert!(
                said.starts_with("not proved: ") && said.contains(doubt),
                "{compared}: {said}"
            );
        }
    };
    check("the order of float operations", SUMS);
    check("which of two floats", ["min(F[0], F[1])", "min(F[1], F[0])"]);
    check("flushes denormals", ["F[0] * 1.0f", "F[0]"]);
    // A sum of words takes in the parts of another one.
    for (added, left) in [
        ("asuint(asfloat(X[0] * 2) + 0.0f) + 5", "X[0] * 2 + 5"),
        ("asuint(asfloat(X[0] * 2) * 1.0f) * 3", "X[0] * 6"),
        ("asuint(mad(asfloat(X[0] * 2), 1, 0)) | 1", "X[0] * 2 | 1"),
        ("asuint(asfloat(X[0] ^ X[1]) + 0.0f) ^ X[1]", "X[0]"),
        (
            "asuint(max(asfloat(X[0] * 2), asfloat(X[0] * 2))) + 5",
            "X[0] * 2 + 5",
        ),
    ] {
        let pair = [added, left].map(|value| format!("Y[id.x] = {value};"));
        let said = said([&pair[0], &pair[1]]);
        assert!(said.starts_with("not proved: "), "{added}: {said}");
    }
    let [a, b] = SUMS;
    // One condition within the other.
    for (within, without) in [
        (
            "uint v = 9; if (A > 1) v = 5; if (B > 1) { if (A > 1) Y[id.x] = 5; else Y[id.x] = v; } else Y[id.x] = 5;",
            "Y[id.x] = 5;",
        ),
        (
            "s[gi] = 9; if (A > 1) s[gi] = 5; Y[id.x] = B > 1 ? s[gi] : 5;",
            "Y[id.x] = 5;",
        ),
        (
            "uint v = 5; if (A > 1) { if (B > 1) v = 5; else v = 6; } Y[id.x] = v;",
            "Y[id.x] = 5;",
        ),
        (
            "Y[id.x] = A > 1 && B > 1 ? 5 : 5 + (A > 1 ? 1 : 0) * (B > 1 ? 0 : 1);",
            "Y[id.x] = 5;",
        ),
    ] {
        let within = within.replace('A', a).replace('B', b);
        let said = said([&within, without]);
        assert!(
            !said.starts_with("equal") && said != "up to order",
            "{within}: {said}"
        );
    }
    let whole = format!("Y[id.x] = (uint){a} - (uint){b} + 3;");
    assert!(said([&whole, "Y[id.x] = 3;"]).starts_with("not proved: the order of float operations"));
    // Zeros of either sign are one number, and so is what is flushed.
    for value in [
        "(uint)min(F[0], F[1]) - (uint)min(F[1], F[0])",
        "(int)(F[0] * 1.0f) - (int)F[0]",
    ] {
        assert_eq!(
            said([&format!("Y[id.x] = {value};"), "Y[id.x] = 0;"]),
            "equal",
            "{value}"
        );
    }
    // Of one sum it is so.
    for (compared, known) in compared(["(F[0] + F[1])", "(F[1] + F[0])"]) {
        let pair = [compared.as_str(), known].map(|value| format!("Y[id.x] = {value};"));
        let said = said([&pair[0], &pair[1]]);
        assert_eq!(said, "equal", "{compared}");
    }
}

/// A texel of a fixed-point format holds 1 whether 1 is stored or 2.
#[test]
fn what_fixed_point_formats_make_of_numbers_is_not_known() {
    for format in ["unorm", "snorm"] {
        let kernels = ["2", "1"].map(|stored| {
            kernel(
                "",
                &format!("RWTexture2D<{format} float4> T;"),
                &format!("T[id.xy] = float4({stored}, 0, 0, 0);"),
            )
        });
        let [first, second] = [&kernels[0], &kernels[1]];
        assert_eq!(
            words(&runs_of([first, second])),
            "not proved: what `unorm` or `snorm` makes of numbers is not compared"
        );
        assert_eq!(words(&runs_of([first, first])), "equal");
    }
}

#[test]
fn a_sum_over_a_wave_is_no_sum_in_order() {
    let first = "float t = 0; for (uint i = 0; i < 4; ++i) t += F[i]; G[id.x] = t;";
    let second = "G[id.x] = WaveActiveSum(gi < 4 ? F[gi] : 0.0f);";
    let runs = said([first, second]);
    assert!(!runs.starts_with("equal") && !runs.contains("; equal"), "{runs}");
    check("equal", &[[second, second]]);
}

#[test]
fn whichever_thread_writes_an_element_it_is_the_same() {
    check(
        "equal",
        &[
            ["Y[id.x] = X[id.x];", "Y[id.x ^ 1] = X[id.x ^ 1];"],
            ["Y[gi] = X[gi];", "Y[63 - gi] = X[63 - gi];"],
            ["if (gi == 0) Y[g.x] = X[g.x];", "if (gi == 63) Y[g.x] = X[g.x];"],
            ["if (gi < 32) { Y[gi] = 1; Y[gi + 32] = 1; }", "Y[gi] = 1;"],
            // Another resource is read.
            [
                "uint z = Z[id.x]; if (gi == 0) Y[g.x] = 2; Z[id.x] = z;",
                "uint z = Z[id.x]; if (gi == 9) Y[g.x] = 2; Z[id.x] = z;",
            ],
        ],
    );
    let not_seen = "not proved: the two write different terms that were not seen to differ";
    check(
        not_seen,
        &[
            ["if (gi == 0) Y[g.x] = X[g.x];", "Y[g.x] = X[g.x];"],
            ["Y[0] = 1;", "if (gi == 3) Y[0] = 1;"],
            // Another group writes it.
            ["Y[id.x] = 1;", "Y[(Count - 1 - g.x) * 64 + gi] = 1;"],
            // A thread finds what it wrote itself.
            [
                "if (gi == 0) Y[g.x] = 2; uint y = Y[g.x]; Z[id.x] = y;",
                "if (gi == 9) Y[g.x] = 2; uint y = Y[g.x]; Z[id.x] = y;",
            ],
            ["if (gi == 0) Y[Y[0]] = 2;", "if (gi == 9) Y[Y[0]] = 2;"],
            // Of two writes to a place one is the last.
            [
                "if (gi == 0) { Y[0] = 1; Y[0] = 2; }",
                "if (gi == 0) Y[0] = 1; if (gi == 1) Y[0] = 2;",
            ],
            // Other groups may know of it: a fence is passed, and an atomic made.
            [
                "if (gi == 0) { Y[0] = 1; } DeviceMemoryBarrier(); if (gi == 0) Z[0] = 1;",
                "if (gi == 9) { Y[0] = 1; } DeviceMemoryBarrier(); if (gi == 0) Z[0] = 1;",
            ],
            [
                "if (gi == 0) Y[0] = 1; InterlockedAdd(Z[0], 1);",
                "if (gi == 9) Y[0] = 1; InterlockedAdd(Z[0], 1);",
            ],
        ],
    );
    let coherent = "globallycoherent RWStructuredBuffer<uint> D;";
    let [first, second] = ["0", "9"].map(|thread| {
        let body = format!("if (gi == {thread}) D[0] = 1;");
        kernel("", coherent, &body)
    });
    assert_eq!(words(&runs_of([&first, &second])), not_seen);
    check(
        "Y[0]: 2 against 1",
        &[[
            "if (gi == 0) { Y[0] = 1; Y[0] = 2; }",
            "if (gi == 0) { Y[0] = 2; Y[0] = 1; }",
        ]],
    );
    check("Y[0]: 1 against 2", &[["Y[gi] = 1;", "Y[63 - gi] = 2;"]]);
    check(
        "Y[0]: 1 against nothing",
        &[["Y[id.x] = 1;", "if (gi > 0) Y[id.x] = 1;"]],
    );
    check(
        "Y[0]: X[0] against nothing",
        &[["Y[id.x] = X[id.x];", "if (gi > 0) Y[id.x] = X[id.x];"]],
    );
    check(
        "Y[64]: nothing against 1",
        &[["Y[gi] = 1;", "Y[gi] = 1; Y[gi + 64] = 1;"]],
    );
    // Whichever group is the last.
    check(
        not_seen,
        &[["Y[0] = g.x == 0 ? gi : 0;", "Y[0] = g.x == 0 ? gi : 1;"]],
    );
    // Whichever of several writers is the last.
    check(not_seen, &[["Y[0] = gi;", "if (gi == 7) Y[0] = 7;"]]);
}

#[test]
fn only_what_is_computed_exactly_is_seen_to_differ() {
    let not_seen = "not proved: the two write different terms that were not seen to differ";
    check(
        not_seen,
        &[
            ["G[id.x] = F[id.x] * -1;", "G[id.x] = -F[id.x];"],
            [
                "G[id.x] = saturate(F[id.x]);",
                "G[id.x] = min(max(F[id.x], 0), 1);",
            ],
            [
                "Y[id.x] = sign(N[id.x]);",
                "Y[id.x] = (N[id.x] > 0) - (N[id.x] < 0);",
            ],
            [
                "uint a = Y[id.x]; uint b = Z[id.x]; Y[id.x] = a + b;",
                "uint b = Z[id.x]; uint a = Y[id.x]; Y[id.x] = a + b;",
            ],
        ],
    );
    check(
        "G[0]: F[0] + F[1] against F[0]",
        &[["G[id.x] = F[id.x] + F[id.x + 1];", "G[id.x] = F[id.x];"]],
    );
}

#[test]
fn words_of_byte_address_buffers_are_told_by_their_addresses() {
    check(
        "equal",
        &[[
            "Out.Store4(id.x * 16, In.Load4(id.x * 16));",
            "uint4 v = In.Load4(id.x * 16); Out.Store(id.x * 16, v.x); Out.Store(id.x * 16 + 4, v.y);
             Out.Store(id.x * 16 + 8, v.z); Out.Store(id.x * 16 + 12, v.w);",
        ]],
    );
    let two = "Out.Store2(id.x * 8, uint2(1, 2));";
    let one_by_one = "Out.Store(id.x * 8 + 4, 2); Out.Store(id.x * 8, 1);";
    check("equal", &[[two, one_by_one]]);
    // Where it is read what a thread wrote first, that is as it was.
    check(
        "not proved: the two write different terms that were not seen to differ",
        &[[
            &format!("{two} Y[id.x] = Out.Load(id.x * 8);"),
            &format!("{one_by_one} Y[id.x] = Out.Load(id.x * 8);"),
        ]],
    );
}

#[test]
fn wave_sizes_are_those_that_both_kernels_may_have() {
    let [asked, written] = ["Y[gi] = WaveGetLaneCount();", "Y[gi] = 32;"];
    let of = |sizes: [&str; 2]| {
        let [first, second] =
            [(sizes[0], asked), (sizes[1], written)].map(|(size, body)| kernel(size, "", body));
        let runs = runs_of([&first, &second]);
        let sizes: Vec<u32> = runs.iter().map(|run| run.wave_size).collect();
        (sizes, words(&runs))
    };
    assert_eq!(of(["[WaveSize(32)]"; 2]), (vec![32], "equal".to_owned()));
    let (sizes, outcome) = of(["[WaveSize(32)]", "[WaveSize(64)]"]);
    assert_eq!(sizes.len(), 6);
    assert_eq!(outcome, "not proved: the two have no wave size in common");
}

#[test]
fn threads_that_leave_before_a_barrier_are_said_to_be_taken_to_stay() {
    let early = "if (id.x >= Count) return; s[gi] = 1; GroupMemoryBarrierWithGroupSync(); Y[gi] = s[gi ^ 1];";
    let [first, second] = [early, "if (id.x >= Count) return; Y[gi] = 1;"].map(|body| kernel("", "", body));
    assert!(runs_of([&first, &first]).iter().all(|run| run.presumes));
    assert!(runs_of([&second, &second]).iter().all(|run| !run.presumes));
}

/// Types of a header that is not there: what they do to a value is not known.
#[test]
fn types_that_are_not_known_prove_nothing() {
    let before = "RWStructuredBuffer<T> U; StructuredBuffer<T> V;";
    let of = |bodies| said_behind(before, bodies);
    for pair in [
        ["T t = V[id.x]; Y[id.x] = t.a;", "T t = V[id.x]; Y[id.x] = t.b;"],
        [
            "T t = V[id.x]; t.a = 1; Y[id.x] = t.b;",
            "T t = V[id.x]; t.a = 2; Y[id.x] = t.b;",
        ],
        [
            "T t = V[id.x]; t.a++; Y[id.x] = t.a;",
            "T t = V[id.x]; t.a--; Y[id.x] = t.a;",
        ],
        [
            "T t = V[id.x]; f(t.a); Y[id.x] = t.a;",
            "T t = V[id.x]; Y[id.x] = t.a; f(t.a);",
        ],
        [
            "T t = float2(1, F[id.x]); G[id.x] = t.y;",
            "T t = float2(1, F[0]); G[id.x] = t.y;",
        ],
        [
            "T t = V[id.x]; Y[id.x] = t.a++;",
            "T t = V[id.x]; Y[id.x] = t.a; t.a++;",
        ],
        [
            "T t = V[id.x]; G[id.x] = (t.a = 1.5);",
            "T t = V[id.x]; t.a = 1.5; G[id.x] = 1.5;",
        ],
        [
            "u8 c = X[id.x]; Y[id.x] = c >> 1;",
            "u32 c = X[id.x]; Y[id.x] = c >> 1;",
        ],
        [
            "half_t a = F[id.x]; half_t b = a * 2.1; G[id.x] = b;",
            "float_t a = F[id.x]; float_t b = a * 2.1; G[id.x] = b;",
        ],
        // Of a float both would be the same.
        ["U[id.x] = 3;", "U[id.x] = 3.0;"],
        ["T t = 3; U[id.x] = t;", "T t = 3.0; U[id.x] = t;"],
        [
            "T t = V[id.x]; G[id.x] = t;",
            "T t = V[id.x]; int n = t; G[id.x] = n;",
        ],
        [
            "T t = V[id.x]; t += 1; U[id.x] = t;",
            "T t = V[id.x]; t += 1.0; U[id.x] = t;",
        ],
    ] {
        let said = of(pair);
        assert!(said.starts_with("not proved"), "{pair:?}: {said}");
    }
}

/// What is not there may write, count its calls, return, wait and look at other threads, and is called only where it is
/// written.
#[test]
fn calls_of_what_is_not_there_are_kept_as_they_are() {
    let of = |before: &str, bodies: [&str; 2]| {
        let [first, second] = bodies.map(|body| kernel("", before, body));
        words(&runs_of([&first, &second]))
    };
    for body in [
        "Put(id.x, 1); Y[id.x] = 1;",
        "s[gi] = X[id.x]; GroupMemoryBarrierWithGroupSync(); uint v = s[gi ^ 1]; Put(v); RETURN_IF(Y[0] > 3); Z[id.x] = s[gi];",
        "for (uint i = 0; i < Count; i++) Put(i, gi); Y[id.x] = 1;",
        "if (gi < 7 && X[gi] > Count) { Put(gi < 5 ? X[0] : 1); } SYNC(); Y[id.x] = 3;",
    ] {
        assert_eq!(of("", [body, body]), "equal", "{body}");
    }
    // A macro may change a variable that it is not given, and a name that is a statement is a macro.
    for body in [
        "uint x = 1; FOO; Y[id.x] = x;",
        "uint x = 1; Foo; Y[id.x] = x;",
        "uint x = 1; if (Count == 3) Foo; Y[id.x] = x;",
        "uint x = 1; FOO + 0; Y[id.x] = x;",
        "uint x = 1; uint y = FOO; Y[id.x] = x;",
        "uint x = 1; Count, FOO; Y[id.x] = x;",
    ] {
        let said = of("", [body, &body.replace("= x;", "= 1;")]);
        let name = if body.contains("Foo") { "Foo" } else { "FOO" };
        let why = format!("what `{name}` stands for is not known");
        assert!(said.contains(&why), "{body}: {said}");
    }
    for pair in [
        ["Put(id.x, 1);", ""],
        ["Put(id.x, 1); Put(id.x, 2);", "Put(id.x, 2); Put(id.x, 1);"],
        ["Y[id.x] = 1; Flush();", "Flush(); Y[id.x] = 1;"],
        [
            "Y[id.x] = Next(); Z[id.x] = Next();",
            "uint n = Next(); Y[id.x] = n; Z[id.x] = n;",
        ],
        [
            "uint a = Next(); uint b = Next(); Y[id.x] = a; Z[id.x] = b;",
            "uint a = Next(); uint b = Next(); Y[id.x] = b; Z[id.x] = a;",
        ],
        [
            "Reset(); uint n = Next(); Y[id.x] = n;",
            "uint n = Next(); Reset(); Y[id.x] = n;",
        ],
        ["Y[id.x] = WaveReadLaneFirst(Slot());", "Y[id.x] = Slot();"],
        [
            "RETURN_IF(gi > 3); Y[id.x] = 1;",
            "Y[id.x] = 1; RETURN_IF(gi > 3);",
        ],
        [
            "Y[id.x] = 1; STOP; Z[id.x] = 1;",
            "Y[id.x] = 1; Z[id.x] = 1; STOP;",
        ],
        [
            "uint n = Y[id.x]; Flush(); Z[id.x] = n;",
            "Flush(); uint n = Y[id.x]; Z[id.x] = n;",
        ],
        [
            "for (uint i = 0; i < Count; i++) Put(i, gi);",
            "for (uint i = 0; i < Count; i++) {}",
        ],
        [
            "for (uint i = 0; i < Count; i++) Put(i, gi); Put(0, 1);",
            "Put(0, 1); for (uint i = 0; i < Count; i++) Put(i, gi);",
        ],
        [
            "bool b = gi < Count && Take(gi);",
            "if (gi < Count) { bool b = Take(gi); }",
        ],
        ["bool b = false && Take(gi);", ""],
        ["uint b = true ? 1 : Take(gi);", ""],
        [
            "s[gi] = gi; GroupMemoryBarrierWithGroupSync(); Y[id.x] = TOTAL(gi);",
            "GroupMemoryBarrierWithGroupSync(); Y[id.x] = TOTAL(gi);",
        ],
        [
            "s[gi] = gi; GroupMemoryBarrierWithGroupSync(); SWAP_ALL(gi); Y[id.x] = s[gi];",
            "s[gi] = gi; GroupMemoryBarrierWithGroupSync(); SWAP_ALL(gi); Y[id.x] = gi;",
        ],
        [
            "s[gi] = gi; GroupMemoryBarrierWithGroupSync(); Y[id.x] = TOTAL(gi);",
            "s[gi] = gi; Y[id.x] = TOTAL(gi);",
        ],
    ] {
        let said = of("", pair);
        assert!(said.starts_with("not proved"), "{pair:?}: {said}");
    }
    // A function that nobody calls here may be called from where the unknown ones are.
    let variable = "static uint k = 0;";
    let callback = "static uint k = 0; uint Held(uint i) { return s[i] + k; }";
    for pair in [
        ["s[gi] = 1; PutAll(7);", "PutAll(7);"],
        ["k = 1; PutAll(7);", "k = 2; PutAll(7);"],
        [
            "s[gi] = 1; GroupMemoryBarrierWithGroupSync(); PutAll(7); Y[gi] = s[gi];",
            "s[gi] = 1; GroupMemoryBarrierWithGroupSync(); PutAll(7); Y[gi] = 1;",
        ],
    ] {
        assert_eq!(of(variable, pair), "equal", "{pair:?}");
        let said = of(callback, pair);
        assert!(said.starts_with("not proved"), "{pair:?}: {said}");
    }
}

#[test]
fn sums_of_halves_are_no_sums_of_floats() {
    let pair = |second: &str| {
        [
            "min16float a = (min16float)F[gi]; min16float b = (min16float)F[gi + 1]; min16float c = a + b; G[id.x] = c;",
            second,
        ]
        .map(|body| kernel("", "", body))
    };
    let said = |second: &str| {
        let [first, second] = pair(second);
        words(&runs_of([&first, &second]))
    };
    assert_eq!(
        said("min16float a = (min16float)F[gi]; min16float b = (min16float)F[gi + 1]; G[id.x] = a + b;"),
        "equal"
    );
    let floats = "float a = (min16float)F[gi]; float b = (min16float)F[gi + 1]; G[id.x] = a + b;";
    let outcome = said(floats);
    assert!(outcome.starts_with("not proved"), "{outcome}");
    let product = "float a = (min16float)F[gi]; G[id.x] = a * a;";
    let outcome = self::said([product, "min16float a = (min16float)F[gi]; G[id.x] = a * a;"]);
    assert!(outcome.starts_with("not proved"), "{outcome}");
}

#[test]
fn what_is_of_one_name_in_two_namespaces_is_two() {
    let before = "namespace A { cbuffer D { uint k; } RWStructuredBuffer<uint> O; }
        namespace B { cbuffer E { uint k; } RWStructuredBuffer<uint> O; }
        struct S { static uint x; }; struct T { static uint x; };";
    let said = |bodies: [&str; 2]| {
        let [first, second] = bodies.map(|body| kernel("", before, body));
        words(&runs_of([&first, &second]))
    };
    for [first, second] in [
        ["Y[id.x] = A::k;", "Y[id.x] = B::k;"],
        [
            "A::O[id.x] = 1; B::O[id.x] = 2;",
            "A::O[id.x] = 2; B::O[id.x] = 1;",
        ],
    ] {
        assert_ne!(said([first, second]), "equal");
        assert_eq!(said([first, first]), "equal");
    }
}

/// Each name stands twice in the next one: a tree of 2^60 leaves, and sixty terms.
#[test]
fn what_is_named_twice_is_looked_at_once() {
    let body = "uint a = X[gi]; for (uint i = 0; i < 60; ++i) a = (a >> 1) / (a | 3); Y[id.x] = a;";
    check("equal", &[[body, body]]);
}

/// Two kernels that differ in what is written, though much of their text is the same.
#[track_caller]
fn check_unequal(first: &str, second: &str) {
    let said = words(&runs_of([first, second]));
    assert!(
        !said.contains("equal") && !said.contains("up to order"),
        "{said}: {second}"
    );
}

/// What is in groupshared memory matters to a group that is still there. A condition that it does not leave by is another thing.
#[test]
fn a_group_that_has_left_reads_no_memory() {
    let barrier = "GroupMemoryBarrierWithGroupSync();";
    let reversed = |start: &str| format!("{start} s[gi] = X[id.x]; {barrier} Y[id.x] = s[63 - gi];");
    let [leaves, other] = ["if (g.x >= Count) return;", "if (Count <= g.x) return;"].map(reversed);
    check("equal", &[[&leaves, &other]]);
    let twice = format!(
        "if (g.x >= Count) return; s[gi] = 7; {barrier} if (Count < 9) return; s[gi] = X[id.x]; {barrier} Y[id.x] = s[63 - gi];"
    );
    let once = format!(
        "if (g.x >= Count) return; if (Count < 9) return; s[gi] = X[id.x]; {barrier} Y[id.x] = s[63 - gi];"
    );
    check("equal", &[[&twice, &once]]);
    let never = reversed("");
    for pair in [[&leaves, &never], [&never, &leaves]] {
        assert_ne!(said([pair[0].as_str(), pair[1].as_str()]), "equal", "{pair:?}");
    }
    // Who does not enter a branch reads what was there.
    let stored = |condition: &str| {
        format!("s[gi] = 1; {barrier} {condition} s[gi] = 2; {barrier} Y[id.x] = s[63 - gi];")
    };
    assert_ne!(said([&stored("if (Count > 3)"), &stored("")]), "equal");
    let nested = |condition: &str| {
        let body = format!(
            "s[gi] = 1; {barrier} if (Count > 2) {{ {condition} s[gi] = 2; }} {barrier} Y[id.x] = s[63 - gi];"
        );
        format!("if (Count > 99) return; {body}")
    };
    assert_ne!(said([&nested("if (Count > 3)"), &nested("")]), "equal");
    // Each thread leaves by itself.
    let by_itself = |value: &str| format!("if (gi >= Count) return; s[gi] = {value}; Y[id.x] = s[gi];");
    assert_ne!(said([&by_itself("1"), &by_itself("2")]), "equal");
}

/// Each thread knows which component of an element it reads.
#[test]
fn an_index_into_a_vector_of_a_buffer_is_followed() {
    let globals = "StructuredBuffer<uint4> V; StructuredBuffer<float2x2> M; RWStructuredBuffer<uint4> W;\n";
    let said = |bodies: [&str; 2]| {
        let [first, second] = bodies.map(|body| kernel("", globals, body));
        words(&runs_of([&first, &second]))
    };
    assert_eq!(
        said(["Y[gi] = V[gi][gi & 3];", "uint4 w = V[gi]; Y[gi] = w[gi & 3];"]),
        "equal"
    );
    assert_eq!(
        said([
            "G[gi] = M[gi][gi & 1][1];",
            "float2x2 m = M[gi]; G[gi] = m[gi & 1][1];"
        ]),
        "equal"
    );
    assert_eq!(
        said([
            "if (gi > 5) Y[gi] = V[0][gi & 1];",
            "if (gi > 5) Y[gi] = gi & 1 ? V[0].y : V[0].x;"
        ]),
        "equal"
    );
    let other = said(["Y[gi] = V[gi][gi & 3];", "uint4 w = V[gi]; Y[gi] = w[gi & 1];"]);
    assert!(other.starts_with("Y[2]: V[2].z against V[2].x"), "{other}");
    // Somebody else may write it between two reads.
    let written = said(["Y[gi] = W[gi][gi & 3];", "uint4 w = W[gi]; Y[gi] = w[gi & 3];"]);
    assert_ne!(written, "equal");
}

/// A `static` resource stands for the one that it was given last.
#[test]
fn a_static_resource_is_none_of_its_own() {
    let of = |bodies: [&str; 2]| {
        let [first, second] = bodies.map(|body| kernel("", "static RWStructuredBuffer<uint> P;", body));
        words(&runs_of([&first, &second]))
    };
    for pair in [
        [
            "P = Y; P[id.x] = 1; Y[id.x] = 2;",
            "P = Y; Y[id.x] = 2; P[id.x] = 1;",
        ],
        [
            "P = Y; Y[id.x] = 1; Y[id.x + 1] = P[id.x];",
            "Y[id.x] = 1; Y[id.x + 1] = P[id.x];",
        ],
    ] {
        let said = of(pair);
        assert!(said.starts_with("not proved"), "{pair:?}: {said}");
    }
}

/// A store to one component of a texel loads the texel and stores all of it.
#[test]
fn components_of_a_texel_are_stored_by_one_thread() {
    let of = |bodies: [&str; 2]| {
        let [first, second] =
            bodies.map(|body| kernel("", "RWBuffer<uint2> W; RWTexture2D<float4> T;", body));
        words(&runs_of([&first, &second]))
    };
    let whole = "if ((gi & 1) == 0) W[gi / 2] = uint2(gi, gi + 1);";
    for parts in [
        "W[gi / 2][gi & 1] = gi;",
        "if (gi & 1) W[gi / 2].y = gi; else W[gi / 2].x = gi;",
    ] {
        let said = of([parts, whole]);
        assert!(
            said.starts_with("not proved: a component of a texel"),
            "{parts}: {said}"
        );
        let said = of([parts, parts]);
        assert!(
            said.starts_with("not proved: a component of a texel"),
            "{parts}: {said}"
        );
        let of_heap = format!(
            "RWBuffer<uint2> D = ResourceDescriptorHeap[0]; {}",
            parts.replace("W[", "D[")
        );
        let said = of([&of_heap, &of_heap]);
        assert!(
            said.starts_with("not proved: a component of a texel"),
            "{of_heap}: {said}"
        );
    }
    // Whoever stores all of it undoes nothing, nor does a thread that has the texel to itself.
    for alone in [
        whole,
        "T[id.xy].x = 1;",
        "T[id.xy].xyz = 1; T[id.xy].w = gi;",
        "T[g.xy] = 3;",
        "RWBuffer<uint2> D = ResourceDescriptorHeap[0]; D[id.x].x = gi;",
    ] {
        assert_eq!(of([alone, alone]), "equal", "{alone}");
    }
}

#[test]
fn an_angle_jumps_where_its_sign_changes() {
    let said = said([
        "G[id.x] = atan2((F[0] + F[1]) + F[2], -1);",
        "G[id.x] = atan2(F[0] + (F[1] + F[2]), -1);",
    ]);
    assert!(
        said.starts_with("not proved: the order of float operations"),
        "{said}"
    );
}
