//! Functions that callers outside the file use: what they hand out is a result.

use shaderlint_hlsl::Function;
use shaderlint_simt::{Collective, analyze};

/// The collectives of the function `Alone` of a source, which callers outside the file use.
fn of_source(globals: &str, source: &str) -> Vec<Collective> {
    let source = format!(
        "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out; RWByteAddressBuffer Raw; cbuffer B {{ uint n; }};\n\
         groupshared uint g[64]; groupshared uint h[64]; groupshared uint cell;\n{globals}\n{source}\n"
    )
    .replace("UP", UP)
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

/// Leaves the total in `g[63]`, and a partial result in every other element with an odd number.
const UP: &str = "for (uint d = 1; d < 64; d <<= 1) { uint to = 2 * gi * d + 2 * d - 1; if (to < 64) g[to] += g[to - d]; SYNC; }";

const TOTAL: &[&str] = &["Reduction 64"];
const SCAN: &[&str] = &["InclusiveScan 64"];
const NOTHING: &[&str] = &[];

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
