//! What expressions come to in DXC: each is proved to be that, and no other number. Where compilers may differ, or what DXC does
//! is no rule, nothing is proved.
//!
//! The numbers are those that DXC 1.8 (`dxcompiler` 3.7 of the SDK) folds each expression to, in HLSL 2018 and 2021.

use shaderlint_hlsl::{FunctionId, Shader};
use shaderlint_simt::{LaneMap, compare};

fn read(text: &str) -> (Shader, FunctionId) {
    let (shader, _) = shaderlint_hlsl::parse(text.as_bytes().to_vec());
    let entry = shader.entry_points().next().expect("a kernel").0;
    (shader, entry)
}

const DECLARED: &str = "enum E { A, B = 7 }; enum N { M = -3 }; enum F : uint { P, Q = 0xfffffff0u };
    enum class G : uint { X = 0xfffffff0u };
    static const E e = B; static const E z = (E)-3; static const N n = M; static const F f = Q; static const G g = G::X;
    static const bool b = true; static const uint u = 1; static const int i = 5; static const int m = -3;
    int over(int a) { return 1; } int over(uint a) { return 2; } int over(float a) { return 3; } int over(bool a) { return 4; }
    template <typename T> T half_of(T a) { return a / 2; }
    uint splat(int2 a) { return 1; } uint splat(float a) { return 2; }
    uint pair(int a, bool b) { return 1; } uint pair(float a, int b) { return 2; }
    uint wide(half a) { return 1; } uint wide(float2 a) { return 2; }
    uint small(half a) { return 1; } uint small(float a) { return 2; }
    uint shape(float a) { return 1; } uint shape(float2 a) { return 2; } uint shape(float3 a) { return 3; }
    uint cut(uint a) { return 1; } uint cut(float2 a) { return 2; }
    uint kind(E a) { return 1; } uint kind(N a) { return 2; } uint kind(int a) { return 3; }
    uint back(inout float a) { return 1; } uint back(int2 a) { return 2; }";

/// Whether `expr` is proved to be `value`.
fn is_proved(expr: &str, value: u32) -> bool {
    let kernel = |value: &str| {
        read(&format!(
            "RWStructuredBuffer<uint> Out; {DECLARED} [numthreads(1, 1, 1)] void Main() {{ Out[0] = {value}; }}"
        ))
    };
    let (one, other) = (kernel(expr), kernel(&format!("{value}u")));
    let run = compare((&one.0, one.1), (&other.0, other.1), &[LaneMap::Linear]).next();
    run.is_some_and(|run| run.outcome.is_equal())
}

/// The word of a number that may be signed.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a word")]
fn word(value: i64) -> u32 {
    value as u32
}

#[track_caller]
fn is(expr: &str, value: i64) {
    let value = word(value);
    assert!(is_proved(expr, value), "{expr} is {value}");
    assert!(
        !is_proved(expr, value.wrapping_add(1)),
        "{expr} is not more than {value}"
    );
}

/// DXC has `value`, another reading of the language `other`.
#[track_caller]
fn is_open(expr: &str, value: i64, other: i64) {
    for value in [value, other] {
        assert!(!is_proved(expr, word(value)), "{expr} is {value}");
    }
}

fn bits(value: f32) -> i64 {
    i64::from(value.to_bits())
}

/// Of `bool`s these are what their names say. Of numbers DXC combines the bits, where HLSL has conditions.
#[test]
fn of_and_and_or() {
    is("and(b, u > 0)", 1);
    is("or(m > 0, i < 0)", 0);
    is_open("and(1, 2)", 0, 1);
    is_open("or(1, 2)", 3, 1);
    is_open("and(i, m)", 5, 1);
    is_open("and(b, 2)", 0, 1);
    is_open("and(uint2(1, 2), 2).x", 0, 1);
}

/// Of two widths DXC takes the wider one, and no sign if one of the two has none; C++ takes the wider one as it is.
#[test]
fn of_two_widths() {
    let kernel = |value: &str| {
        read(&format!(
            "RWStructuredBuffer<uint> Out; RWStructuredBuffer<int> In; [numthreads(1, 1, 1)] void Main() {{
            int i = In[0]; uint u = (uint)In[1]; int64_t a = i; uint64_t b = u; min16uint s = (min16uint)(u & 7);
            min16int t = (min16int)i; Out[0] = {value}; }}"
        ))
    };
    let is_proved = |one: &str, other: &str| {
        let (one, other) = (kernel(one), kernel(other));
        let run = compare((&one.0, one.1), (&other.0, other.1), &[LaneMap::Linear]).next();
        run.is_some_and(|run| run.outcome.is_equal())
    };
    for (mixed, signed, unsigned) in [
        ("a > u", "a > (int64_t)u", "(uint64_t)a > u"),
        ("u > a", "(int64_t)u > a", "u > (uint64_t)a"),
        (
            "uint((a + u) >> 40)",
            "uint((a + (int64_t)u) >> 40)",
            "uint(((uint64_t)a + u) >> 40)",
        ),
        ("i > s", "i > (int)s", "(uint)i > s"),
        ("(i * s) >> 3", "(i * (int)s) >> 3", "((uint)i * s) >> 3"),
        ("i / s", "i / (int)s", "(uint)i / s"),
        (
            "uint((u > 3 ? a : u) >> 60)",
            "uint((u > 3 ? a : (int64_t)u) >> 60)",
            "uint((u > 3 ? (uint64_t)a : u) >> 60)",
        ),
        (
            "uint(a /= u | 1)",
            "uint(a /= (int64_t)(u | 1))",
            "uint((uint64_t)a / (u | 1))",
        ),
        ("max(i, s)", "max(i, (int)s)", "max((uint)i, s)"),
    ] {
        assert!(!is_proved(mixed, signed), "{mixed}, {signed}");
        assert!(!is_proved(mixed, unsigned), "{mixed}, {unsigned}");
    }
    for (mixed, same) in [
        ("b > i", "b > (uint64_t)i"),
        ("u > t", "u > (uint)t"),
        ("a > i", "a > (int64_t)i"),
        ("(u * t) >> 3", "(u * (uint)t) >> 3"),
    ] {
        assert!(is_proved(mixed, same), "{mixed}, {same}");
    }
}

/// Beside an `int` an enumeration is one. Alone it has a sign or none, by what its enumerators are.
#[test]
fn of_enumerations() {
    is("e / 2", 3);
    is("(e - 9) / 2", -1);
    is("(z * 1) / 2", -1);
    is("z < 0", 1);
    is("max(z, 1)", 1);
    is("max(n, 3u) / 2", 2_147_483_646);
    is("u + e", 8);
    is("(u - e) / 2", 2_147_483_645);
    is("A < B", 1);
    is("e < B", 0);
    is("(b ? e : 3) / 2", 3);
    is("asuint((float)B)", bits(7.0));
    is("asuint(0.5 * B)", bits(3.5));
    is("n == M", 1);
    is("-n", 3);
    is("~n", 2);
    is("1 << e", 128);
    is("over(e - 9)", 1);
    is("over(min(e, 1))", 1);
    is("(uint)g / 2", 2_147_483_640);
    is("f / 2u", 2_147_483_640);
    is("(f & Q) == Q", 1);
    is_open("z < A", 0, 1);
    is_open("asuint((float)z)", bits(4_294_967_300.0), bits(-3.0));
    is_open("asuint(~e * 1.0f)", bits(4_294_967_300.0), bits(-8.0));
    is_open("f / 2", -8, 2_147_483_640);
    is_open("(f + 1) / 2", -7, 2_147_483_640);
    is_open("f < 5", 1, 0);
    is_open("firstbithigh(n)", 1, 31);
}

/// Intrinsics of numbers have no overload for what is none: of `bool`s and enumerations alone DXC takes that of floats.
#[test]
fn of_intrinsics_without_a_number() {
    is("asuint(max(B, A) / 2)", bits(3.5));
    is_open("asuint(max(z, A) / 2)", bits(2_147_483_648.0), 0);
    is("asuint(min(b, true) / 2)", bits(0.5));
    is("asuint(clamp(b, false, true) / 2)", bits(0.5));
    is("asuint(mul(b, b) / 2)", bits(0.5));
    is("asuint(abs(bool2(b, b)).x / 2)", bits(0.5));
    is("over(max(e, e))", 3);
    is("over(max(b, b))", 3);
    is("over(max(b, e))", 1);
    is("over(clamp(b, 0, e))", 1);
    is("asuint(max(b, 1) / 2)", 0);
    is("asuint(max(b, 3u) / 2)", 1);
    is("reversebits(b) >> 1", -1_073_741_824);
    is("over(countbits(m))", 2);
    is("over(reversebits(m))", 1);
    // Threads are counted in floats, and numbers of threads are exact.
    is("asuint(WaveActiveSum(b) * 0.5)", bits(0.5));
    is("(uint)WaveActiveSum(b) / 2", 0);
    is("WaveActiveSum(b)", 1);
    is("WavePrefixSum(b)", 0);
}

/// The overload that needs the least conversion, where that is one; which it is where each converts something else is DXC's own.
#[test]
fn of_overloads() {
    is("shape(i)", 1);
    is("shape(1)", 1);
    is("shape(uint3(1, 2, 3))", 3);
    is("shape(int2(1, 2))", 2);
    is("cut(uint2(1, 2))", 2);
    is("small(u)", 2);
    is("splat(int2(1, 2))", 1);
    is("splat(1.5)", 2);
    is("pair(5, false)", 1);
    is("kind(e)", 1);
    is("kind(n)", 2);
    is("kind(i)", 3);
    is_open("splat(i)", 1, 2);
    is_open("pair(u, i)", 1, 2);
    is_open("wide(1.5f)", 2, 1);
    is_open("back(i)", 2, 1);
}

/// DXC computes with four packed bytes as with a `float`.
#[test]
fn of_packed_bytes() {
    is_open("(uint)max((uint8_t4_packed)u, (uint8_t4_packed)2u)", 2, 1);
    is_open("(uint)((int8_t4_packed)i / (int8_t4_packed)2)", 2, 3);
}

/// Literals alone are computed in 64 bits, and a `uint` shifts them as `uint`s.
#[test]
fn of_literals() {
    is("clamp(-3, -5, 5) >> u", 2_147_483_646);
    is("(true ? -3 : 2) >> u", 2_147_483_646);
    is("(-3, -4) >> u", 2_147_483_646);
    is("(-3).x >> u", 2_147_483_646);
    is("-(-3 < 0) >> u", -1);
    is("reversebits(7u)", 0xe000_0000);
    is("WaveActiveSum(1)", 1);
    is_open("reversebits(7)", 0, 0xe000_0000);
    is_open("countbits(-1.0f)", 32, 0);
    is_open("WaveReadLaneFirst(0.1) == 0.1f", 0, 1);
    is("WaveReadLaneFirst(0.1f) == 0.1f", 1);
    is_open("WaveReadLaneFirst(1) << 31 >> 31", 1, -1);
    is_open(
        "(WaveReadLaneFirst(1) > 0 ? WaveReadLaneFirst(1) : 2) << 31 >> 31",
        1,
        -1,
    );
    is("100 * (WaveReadLaneFirst(u) > 0 ? 3 : 1)", 300);
    is("(WaveReadLaneFirst(7) - 1) / 2", 3);
    is("WaveReadLaneFirst(u > 0 ? 7 : 8) + 1", 8);
    is("WaveReadLaneFirst(1u) << 31 >> 31", 1);
    is_open("firstbitlow(-2.0f)", 1, -1);
    is("bool(0.5f) || u > 2", 1);
    is_open("max(0x80000000, true) / 2", 0, 0x4000_0000);
    is_open("half_of(0xF0000000)", -134_217_728, 0x7800_0000);
    is_open("3 << 33", 0, 6);
    is_open("(uint)-2.5", 0, -2);
    is_open("(int)3000000000.0", -1_294_967_296, 2_147_483_647);
}
