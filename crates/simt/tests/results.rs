//! A scan or a reduction is told only where its result reaches an output, and a reduction only where its total alone does.

use shaderlint_hlsl::Function;
use shaderlint_simt::{Collective, analyze};

/// The collectives of the first kernel of a source, or of its function `Alone`, which callers that are not there use.
fn of_source(globals: &str, source: &str) -> Vec<Collective> {
    let source = format!(
        "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out; RWByteAddressBuffer Raw; cbuffer B {{ uint n; }};\n\
         groupshared uint g[64]; groupshared uint h[64]; groupshared uint cell;\n{globals}\n{source}\n"
    )
    .replace("UP", UP)
    .replace("DOWN", DOWN)
    .replace("SYNC", "GroupMemoryBarrierWithGroupSync()");
    let (mut shader, problems) = shaderlint_hlsl::parse(source.into_bytes());
    assert!(problems.is_empty(), "{problems:?}");
    let is_alone = |function: &&mut Function| function.name == "Alone";
    if let Some(alone) = shader.functions.iter_mut().find(is_alone) {
        alone.group_size = Some([64, 1, 1]);
        alone.is_called_elsewhere = true;
    }
    let (entry, _) = shader.entry_points().next().expect("an entry point");
    analyze(&shader, entry).collectives
}

/// Each collective as `kind count`.
#[track_caller]
fn check_source(globals: &str, source: &str, expected: &[&str]) {
    let found = of_source(globals, source);
    let found: Vec<String> = found
        .iter()
        .map(|found| format!("{:?} {}", found.kind, found.count))
        .collect();
    assert_eq!(found, expected, "{globals}\n{source}");
}

#[track_caller]
fn check(globals: &str, body: &str, expected: &[&str]) {
    let kernel = format!(
        "[numthreads(64, 1, 1)] void main(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID) {{\n\
         g[gi] = Src[id.x]; SYNC;\n{body}\n}}"
    );
    check_source(globals, &kernel, expected);
}

/// Leaves the total in `g[63]`, and a partial result in every other element with an odd number.
const UP: &str = "for (uint d = 1; d < 64; d <<= 1) { uint to = 2 * gi * d + 2 * d - 1; if (to < 64) g[to] += g[to - d]; SYNC; }";

/// Starts from there, and takes twice what is to the left: no scan.
const DOWN: &str = "for (uint e = 32; e > 0; e >>= 1) { uint at = 2 * gi * e + 2 * e - 1; \
    if (at < 64) { uint t = g[at - e]; g[at - e] = g[at]; g[at] = 2 * g[at] + t; } SYNC; }";

const TOTAL: &[&str] = &["Reduction 64"];
const SCAN: &[&str] = &["InclusiveScan 64"];
const NOTHING: &[&str] = &[];

#[test]
fn a_total_that_reaches_no_output_is_none() {
    for (body, expected) in [
        ("UP if (gi == 0) Out[0] = g[63];", TOTAL),
        // Overwritten under a condition that says which of two values is there.
        (
            "UP if (gi == 0) Out[0] = g[63]; SYNC; if (n) { g[gi] = gi; SYNC; Out[id.x] = g[63 - gi]; }",
            TOTAL,
        ),
        (
            "UP if (gi == 0) Out[0] = g[63]; SYNC; if (!(n > 3)) { g[gi] = gi; SYNC; Out[id.x] = g[63 - gi]; }",
            TOTAL,
        ),
        // Overwritten unread, whether or not the partial results are of use.
        (
            "UP if (gi == 63) g[63] = 0; SYNC; DOWN Out[id.x] = g[gi];",
            NOTHING,
        ),
        ("UP if (gi == 63) g[63] = 0; SYNC; Out[id.x] = g[63];", NOTHING),
        ("UP g[gi] = 7; SYNC; Out[id.x] = g[gi];", NOTHING),
        (
            "UP if (gi == 0) Out[0] = g[63]; SYNC; g[gi] = 7; SYNC; Out[id.x] = g[gi];",
            TOTAL,
        ),
        // Read, and used for nothing.
        ("UP uint t = g[63]; Out[id.x] = gi;", NOTHING),
        ("UP uint t = g[63]; t = 3; Out[id.x] = t;", NOTHING),
        ("UP uint t = g[63]; Out[id.x] = t * 0 + gi;", NOTHING),
        ("UP h[gi] = g[63]; SYNC; Out[id.x] = gi;", NOTHING),
        (
            "UP h[gi] = g[63]; SYNC; h[gi] = gi; SYNC; Out[id.x] = h[63 - gi];",
            NOTHING,
        ),
        ("UP if (false) Out[id.x] = g[63]; Out[id.x] = gi;", NOTHING),
        ("UP if (gi > 64) Out[id.x] = g[63]; Out[id.x] = gi;", NOTHING),
        ("UP s_Total = g[63]; Out[id.x] = gi;", NOTHING),
        // Through other places.
        ("UP h[gi] = g[63]; SYNC; Out[id.x] = h[63 - gi];", TOTAL),
        (
            "UP if (gi == 5) cell = g[63]; SYNC; Out[id.x] = cell * gi;",
            TOTAL,
        ),
        ("UP s_Total = g[63]; Out[id.x] = s_Total;", TOTAL),
        ("UP if (gi == 0) InterlockedAdd(Out[0], g[63]);", TOTAL),
        (
            "UP if (gi == 0) { uint was; Raw.InterlockedMax(0, g[63], was); }",
            TOTAL,
        ),
        (
            "cell = 0; UP if (gi == 9) InterlockedAdd(cell, g[63]); SYNC; Out[id.x] = cell;",
            TOTAL,
        ),
        // As a place, a condition, a bound.
        ("UP if (gi == 0) Out[g[63]] = 1;", TOTAL),
        ("UP if (g[63] > 4) Out[id.x] = 1;", TOTAL),
        ("UP if (g[63] > 4) return; Out[id.x] = 1;", TOTAL),
        (
            "UP uint t = g[63]; uint m = 1; for (uint i = 0; i < t; ++i) m *= 3; Out[id.x] = m;",
            TOTAL,
        ),
        (
            "UP uint t = g[63]; for (uint i = 0; i < t; ++i) Out[i] = gi;",
            TOTAL,
        ),
        ("UP if (n > 5) Out[id.x] = g[63]; else Out[id.x] = 1;", TOTAL),
        ("UP if (g[63] > 4) InterlockedAdd(Out[0], 1);", TOTAL),
        ("UP uint t = WaveReadLaneFirst(g[63]); Out[id.x] = t;", TOTAL),
        // Through what another ladder makes of it.
        (
            "UP uint t = g[63]; SYNC; g[gi] = Src[gi] * t; SYNC; for (uint s = 32; s > 0; s >>= 1) { if (gi < s) g[gi] += g[gi + s]; SYNC; } \
             Out[id.x] = g[0];",
            &["Reduction 64", "Reduction 64"],
        ),
        // So are partial results.
        (
            "UP uint t = g[gi]; SYNC; g[gi] = t; SYNC; for (uint s = 32; s > 0; s >>= 1) { if (gi < s) g[gi] += g[gi + s]; SYNC; } \
             Out[id.x] = g[0];",
            &["Reduction 64"],
        ),
        // A race that has to go first forgets what it is.
        (
            "UP uint t = g[63]; g[gi] = gi; SYNC; Out[id.x] = t + g[63 - gi];",
            TOTAL,
        ),
    ] {
        check("static uint s_Total;", body, expected);
    }
}

#[test]
fn a_total_that_the_last_step_uses_itself_is_one() {
    let half = "for (uint d = 32; d > 1; d >>= 1) { if (gi < d) g[gi] += g[gi + d]; SYNC; }";
    for (last, expected) in [
        ("if (gi == 0) Out[0] = g[0] + g[1];", TOTAL),
        (
            "if (gi == 0) { uint t = g[0] + g[1]; InterlockedMax(Out[1], t); }",
            TOTAL,
        ),
        (
            "if (gi == 0) { uint t = g[0] + g[1]; t /= 64; cell = t; } SYNC; Out[id.x] = cell;",
            TOTAL,
        ),
        (
            "if (gi == 0) { uint t = g[0] + g[1]; t /= 64; cell = t; } SYNC; Out[id.x] = gi;",
            NOTHING,
        ),
        (
            "if (gi == 0) { g[0] += g[1]; g[0] /= 64; } SYNC; Out[id.x] = g[0];",
            NOTHING,
        ),
    ] {
        check("", &format!("{half} {last}"), expected);
    }
}

#[test]
fn a_scan_that_reaches_no_output_is_none() {
    let ladder =
        "for (uint s = 1; s < 64; s <<= 1) { uint v = gi >= s ? g[gi - s] : 0; SYNC; g[gi] += v; SYNC; }";
    for (rest, expected) in [
        ("Out[id.x] = g[gi];", SCAN),
        ("Out[id.x] = gi > 0 ? g[gi - 1] : 0;", SCAN),
        ("if (gi == 0) Out[0] = g[63];", SCAN),
        ("Out[g[gi]] = gi;", SCAN),
        ("h[g[gi] & 63] = gi; SYNC; Out[id.x] = h[gi];", SCAN),
        ("Out[id.x] = gi;", NOTHING),
        ("Out[id.x] = g[0];", NOTHING),
        ("h[gi] = g[gi]; SYNC; Out[id.x] = gi;", NOTHING),
        ("h[gi] = g[gi]; SYNC; Out[id.x] = h[63 - gi];", SCAN),
        ("g[gi] = gi; SYNC; Out[id.x] = g[63 - gi];", NOTHING),
    ] {
        check("", &format!("{ladder} {rest}"), expected);
    }
}

/// Which half holds the scan depends on the number of rounds.
#[test]
fn a_scan_in_the_half_that_is_not_read_is_none() {
    let arrays = "groupshared uint two[2][COUNT]; groupshared uint flat[2 * COUNT]; groupshared uint2 xy[COUNT]; \
                  struct P { uint a; uint b; }; groupshared P p[COUNT];";
    for (threads, even) in [(64u32, true), (32, false), (16, true), (96, false)] {
        for (load, step, read) in [
            (
                "two[0][gi] = Src[id.x]; SYNC;",
                "two[1 - in_][gi] = two[in_][gi] + (gi >= s ? two[in_][gi - s] : 0);",
                "two[HALF][gi]",
            ),
            (
                "flat[gi] = Src[id.x]; SYNC;",
                "flat[(1 - in_) * COUNT + gi] = flat[in_ * COUNT + gi] + (gi >= s ? flat[in_ * COUNT + gi - s] : 0);",
                "flat[HALF * COUNT + gi]",
            ),
            (
                "xy[gi] = uint2(Src[id.x], 0); SYNC;",
                "xy[gi][1 - in_] = xy[gi][in_] + (gi >= s ? xy[gi - s][in_] : 0);",
                "xy[gi][HALF]",
            ),
            (
                "p[gi].a = Src[id.x]; p[gi].b = 0; SYNC;",
                "if (in_ == 0) p[gi].b = p[gi].a + (gi >= s ? p[gi - s].a : 0); else p[gi].a = p[gi].b + (gi >= s ? p[gi - s].b : 0);",
                "p[gi].PART",
            ),
        ] {
            for half in [0, 1] {
                let is_right = (half == 0) == even;
                let body = format!(
                    "{load} uint in_ = 0; for (uint s = 1; s < COUNT; s <<= 1) {{ {step} in_ = 1 - in_; SYNC; }} Out[id.x] = {read};"
                )
                .replace("HALF", &half.to_string())
                .replace("PART", if half == 0 { "a" } else { "b" })
                .replace("COUNT", &threads.to_string());
                let kernel = format!(
                    "[numthreads({threads}, 1, 1)] void main(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID) {{ {body} }}"
                );
                let found = of_source(&arrays.replace("COUNT", &threads.to_string()), &kernel);
                assert_eq!(found.len(), usize::from(is_right), "{kernel}\n{found:?}");
            }
        }
    }
}

/// Bounds that are taken for a number, and groups whose elements are in a buffer.
#[test]
fn results_are_followed_where_bounds_are_supposed() {
    let up = UP.replace("d < 64", "d < n");
    check("", &format!("{up} if (gi == 0) Out[0] = g[63];"), TOTAL);
    check(
        "",
        &format!("{up} if (gi == 63) g[63] = 0; SYNC; DOWN Out[id.x] = g[gi];"),
        NOTHING,
    );
    check("", &format!("{up} Out[id.x] = g[gi];"), NOTHING);
    let ladder =
        "for (uint s = 1; s < n; s <<= 1) { uint v = gi >= s ? g[gi - s] : 0; SYNC; g[gi] += v; SYNC; }";
    check("", &format!("{ladder} Out[id.x] = g[gi];"), SCAN);
    check("", &format!("{ladder} Out[id.x] = h[gi];"), NOTHING);
}

/// A function that is run by itself hands out its total alone, or is no reduction.
#[test]
fn what_a_function_hands_out_is_followed() {
    let structs = "struct Pair { uint total; uint own; }; uint Own(uint gi) { return g[gi]; } uint First(uint gi) { return g[63]; } \
                   Pair Both(uint gi) { Pair p; p.total = g[63]; p.own = g[gi]; return p; }";
    let load = "g[gi] = value; SYNC; UP";
    for (function, rest, expected) in [
        (
            "uint Alone(uint value, uint gi : SV_GroupIndex)",
            "return g[63];",
            TOTAL,
        ),
        (
            "uint Alone(uint value, uint gi : SV_GroupIndex)",
            "return g[gi];",
            NOTHING,
        ),
        (
            "uint Alone(uint value, uint gi : SV_GroupIndex)",
            "uint own = g[gi]; return own;",
            NOTHING,
        ),
        (
            "uint Alone(uint value, uint gi : SV_GroupIndex)",
            "uint all = g[63]; return all;",
            TOTAL,
        ),
        (
            "uint Alone(uint value, uint gi : SV_GroupIndex)",
            "return Own(gi);",
            NOTHING,
        ),
        (
            "uint Alone(uint value, uint gi : SV_GroupIndex)",
            "return First(gi);",
            TOTAL,
        ),
        (
            "Pair Alone(uint value, uint gi : SV_GroupIndex)",
            "Pair p; p.total = g[63]; p.own = value; return p;",
            TOTAL,
        ),
        (
            "Pair Alone(uint value, uint gi : SV_GroupIndex)",
            "Pair p; p.total = g[63]; p.own = g[gi]; return p;",
            NOTHING,
        ),
        (
            "Pair Alone(uint value, uint gi : SV_GroupIndex)",
            "return Both(gi);",
            NOTHING,
        ),
        (
            "void Alone(uint value, uint gi : SV_GroupIndex, out Pair p)",
            "p.total = g[63]; p.own = g[gi ^ 1];",
            NOTHING,
        ),
        (
            "void Alone(uint value, uint gi : SV_GroupIndex, out Pair p)",
            "p.total = g[63]; p.own = gi;",
            TOTAL,
        ),
        (
            "void Alone(uint value, uint gi : SV_GroupIndex, inout uint m)",
            "m += g[gi & 62];",
            NOTHING,
        ),
        (
            "void Alone(uint value, uint gi : SV_GroupIndex, inout uint m)",
            "m += g[63];",
            TOTAL,
        ),
        ("void Alone(uint value, uint gi : SV_GroupIndex)", "", NOTHING),
        (
            "void Alone(uint value, uint gi : SV_GroupIndex)",
            "g[gi] = g[63]; SYNC;",
            TOTAL,
        ),
    ] {
        let source = format!("{function} {{ {load} {rest} }}");
        check_source(structs, &source, expected);
    }
    let ladder = "g[gi] = value; SYNC; for (uint s = 1; s < 64; s <<= 1) { uint v = gi >= s ? g[gi - s] : 0; SYNC; g[gi] += v; SYNC; }";
    for (function, rest) in [
        (
            "uint Alone(uint value, uint gi : SV_GroupIndex)",
            "return g[gi] - value;",
        ),
        ("uint Alone(uint value, uint gi : SV_GroupIndex)", "return gi;"),
        ("void Alone(uint value, uint gi : SV_GroupIndex)", ""),
    ] {
        check_source(structs, &format!("{function} {{ {ladder} {rest} }}"), SCAN);
    }
}

/// DXC makes `7.0 * x` of `x * 0.7 * 10.0`, which is never below 63 in thread 9.
#[test]
fn what_hangs_on_rounding_is_no_result() {
    let body = |condition: &str| {
        format!(
            "float x = gi; for (uint s = 32; s > 0; s >>= 1) {{ if (gi < s && {condition}) g[gi] += g[gi + s]; SYNC; }} \
             if (gi == 0) Out[id.x] = g[0];"
        )
    };
    check("", &body("(uint)(x * 0.5 * 4) != 63"), TOTAL);
    check("", &body("(uint)(x * 0.7 * 10.0) != 63"), NOTHING);
}
