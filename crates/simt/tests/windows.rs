//! Ladders over a resource, with barriers that order device memory: what the engine calls them, and where it is silent.

use shaderlint_hlsl::Shader;
use shaderlint_simt::{Analysis, Collective, Elements, Kind, analyze};

fn run(globals: &str, body: &str) -> (Shader, Analysis) {
    let source = format!(
        "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out;\n\
         cbuffer Sizes {{ uint count; uint first; uint second; }}\n{globals}\n[numthreads(64, 1, 1)]\n\
         void main(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID, uint3 gid : SV_GroupID) {{\n{body}\n}}\n"
    )
    .replace("SYNC", "DeviceMemoryBarrierWithGroupSync()");
    let (shader, problems) = shaderlint_hlsl::parse(source.into_bytes());
    assert!(problems.is_empty(), "{problems:?}");
    let (entry, _) = shader.entry_points().next().expect("an entry point");
    let analysis = analyze(&shader, entry);
    (shader, analysis)
}

fn place(shader: &Shader, of: &Collective, elements: &Elements) -> String {
    let of_array = |global: &shaderlint_hlsl::GlobalId| {
        let name = &shader.globals[global.0 as usize].name;
        match of.windows.iter().find(|window| window.resource == *global) {
            Some(window) if !window.start.is_empty() => format!("{name}@({})", window.start),
            Some(_) => format!("{name}@"),
            None => name.clone(),
        }
    };
    match elements {
        Elements::Array {
            global,
            offset,
            component,
            ..
        } => {
            let part = component.map_or(String::new(), |part| format!(".{part}"));
            format!("{}+{offset}{part}", of_array(global))
        }
        Elements::Spread { global, .. } => format!("{}~", of_array(global)),
        Elements::Cell { global, index, .. } => format!("{}[{index}]", of_array(global)),
        Elements::Register { local, .. } => shader.functions[0].locals[local.0 as usize].name.clone(),
        Elements::Expression { span, thread, .. } => {
            format!(
                "{} of {thread}",
                String::from_utf8_lossy(span.slice(&shader.text))
            )
        }
        Elements::OneRegister { local, thread, .. } => {
            format!(
                "{} of {thread}",
                shader.functions[0].locals[local.0 as usize].name
            )
        }
    }
}

/// Each collective as `kind operator count shape input -> output`, for which bounds. No race is ever reported of a
/// resource, and nothing is offered instead of a ladder over one.
#[track_caller]
fn check(globals: &str, body: &str, expected: &[&str]) {
    let (shader, analysis) = run(globals, body);
    let mut found: Vec<String> = Vec::new();
    for c in &analysis.collectives {
        let kind = match c.kind {
            Kind::InclusiveScan => "inclusive",
            Kind::ExclusiveScan => "exclusive",
            Kind::Reduction => "reduction",
        };
        let (input, output) = (place(&shader, c, &c.input), place(&shader, c, &c.output));
        let instances = c.instances.iter().map(|i| format!(" {}={}", i.bound, i.value));
        let instances: String = instances.collect();
        let (operator, count, shape) = (c.operator, c.count, c.shape);
        found.push(format!(
            "{kind} {operator:?} {count} {shape:?} {input} -> {output}{instances}"
        ));
        assert!(c.windows.is_empty() || c.rewrite.is_err());
    }
    assert_eq!(found, expected, "{:?}\n{body}", analysis.stopped);
    assert!(analysis.races.is_empty(), "{:?}\n{body}", analysis.races);
    assert!(analysis.out_of_bounds.is_empty() && analysis.uninitialised.is_empty());
}

const HILLIS_STEELE: &str = "for (uint s = 1; s < 64; s <<= 1) {
    uint t = 0; if (gi >= s) t = Buf[AT(gi - s)]; SYNC;
    if (gi >= s) Buf[AT(gi)] += t; SYNC; }";

/// A ladder whose elements are at these indices.
fn at(index: &str) -> String {
    let (before, after) = index.split_once('#').expect("an index by #");
    HILLIS_STEELE
        .replace("AT(gi - s)", &format!("{before}(gi - s){after}"))
        .replace("AT(gi)", &format!("{before}gi{after}"))
}

const BUF: &str = "RWStructuredBuffer<uint> Buf;";

#[test]
fn hillis_steele() {
    let expected = ["inclusive Add 64 Doubling Buf@+0 -> Buf@+0"];
    check(BUF, &at("#"), &expected);
    check("RWBuffer<int> Buf;", &at("#"), &expected);
    check(BUF, &at("#").replace("Device", "All"), &expected);
    check(
        "RWStructuredBuffer<float> Buf;",
        &at("#").replace("uint t", "float t"),
        &["inclusive FloatAdd 64 Doubling Buf@+0 -> Buf@+0"],
    );
    // From one half to the other and back.
    check(
        BUF,
        "uint from = 0; for (uint s = 1; s < 64; s <<= 1) {
             Buf[(64 - from) + gi] = Buf[from + gi] + (gi >= s ? Buf[from + gi - s] : 0); from = 64 - from; SYNC; }",
        &["inclusive Add 64 Doubling Buf@+0 -> Buf@+0"],
    );
    // From one buffer to another and back.
    check(
        "RWStructuredBuffer<uint> A; RWStructuredBuffer<uint> B;",
        "for (uint s = 1; s < 64; s <<= 2) {
             B[gi] = A[gi] + (gi >= s ? A[gi - s] : 0); SYNC;
             A[gi] = B[gi] + (gi >= 2 * s ? B[gi - 2 * s] : 0); SYNC; }",
        &["inclusive Add 64 Doubling A@+0 -> A@+0"],
    );
    // By bytes, and by the methods of a structured buffer.
    check(
        "RWByteAddressBuffer Buf;",
        "for (uint s = 1; s < 64; s <<= 1) {
             uint t = gi >= s ? Buf.Load(4 * (gi - s)) : 0; SYNC;
             Buf.Store(4 * gi, Buf.Load(4 * gi) + t); SYNC; }",
        &expected,
    );
    check(
        "RWStructuredBuffer<uint2> Buf;",
        "for (uint s = 1; s < 64; s <<= 1) {
             uint t = gi >= s ? Buf.Load(gi - s).y : 0; SYNC;
             Buf[gi].y += t; SYNC; }",
        &["inclusive Add 64 Doubling Buf@+0.1 -> Buf@+0.1"],
    );
}

#[test]
fn of_a_group() {
    let of_group = |start: &str| format!("inclusive Add 64 Doubling Buf@({start})+0 -> Buf@({start})+0");
    let each = of_group("64 * SV_GroupID.x");
    check(BUF, &at("gid.x * 64 + #"), &[&*each]);
    check(BUF, &at("id.x - gi + #"), &[&*each]);
    check(BUF, &at("gid.x << 6 | #"), &[&*each]);
    let each = of_group("256 * SV_GroupID.x");
    check(
        "RWByteAddressBuffer Buf;",
        "uint o = gid.x * 256; for (uint s = 1; s < 64; s <<= 1) {
         uint t = gi >= s ? Buf.Load(o + 4 * gi - 4 * s) : 0; SYNC;
         Buf.Store(o + 4 * gi, Buf.Load(o + 4 * gi) + t); SYNC; }",
        &[&*each],
    );
    check(BUF, &at("first + #"), &[&*of_group("first")]);
    // The stretches of two groups overlap.
    check(BUF, &at("gid.x * 32 + #"), &[]);
    check(BUF, &at("gid.x << 5 | #"), &[]);
    check(BUF, &at("gid.x * count + #"), &[]);
    check(BUF, &at("(gid.x / 2) * 64 + #"), &[]);
    check(BUF, &at("gid.x * 4096 + gid.y * 64 + #"), &[]);
    check(BUF, &at("Src[gid.x] + #"), &[]);
    // Another group's stretch is written to.
    for stray in [
        "Buf[gid.x * 64 + gi + 64] = 0;",
        "Buf[Src[gi]] = 0;",
        "if (Src[0]) Buf[count] = 1;",
    ] {
        check(BUF, &format!("{} {stray}", at("gid.x * 64 + #")), &[]);
    }
    // Another group's stretch is read from.
    let last = "Out[id.x] = Buf[gid.x * 64 - 1];";
    check(
        BUF,
        &format!("{} {last}", at("gid.x * 64 + #")),
        &[&*of_group("64 * SV_GroupID.x")],
    );
    check(BUF, &at("gid.x * 64 + #").replace("gi >= s", "true"), &[]);
    // Two starts that may be anywhere from each other.
    let two = at("#").replacen("Buf[(gi - s)]", "Buf[first + gi - s]", 1);
    check(BUF, &two, &[]);
    let two = at("first + #").replacen("Buf[first + (gi - s)]", "Buf[second + gi - s]", 1);
    check(BUF, &two, &[]);
}

#[test]
fn sweeps_trees_and_totals() {
    let up = "for (uint s = 1; s < 64; s <<= 1) { SYNC; uint i = (gi + 1) * s * 2 - 1; if (i < 64) Buf[i] += Buf[i - s]; }";
    let down = "SYNC; if (gi == 0) Buf[63] = 0;
        for (uint d = 32; d > 0; d >>= 1) { SYNC; uint i = (gi + 1) * d * 2 - 1;
        if (i < 64) { uint t = Buf[i - d]; Buf[i - d] = Buf[i]; Buf[i] += t; } } SYNC;";
    check(
        BUF,
        &format!("{up} {down}"),
        &["exclusive Add 64 Sweeps Buf@+0 -> Buf@+0"],
    );
    let brent_kung = "SYNC; for (uint d = 16; d > 0; d >>= 1) { uint i = (gi + 1) * d * 2 - 1;
        if (i + d < 64) Buf[i + d] += Buf[i]; SYNC; }";
    check(
        BUF,
        &format!("{up} {brent_kung}"),
        &["inclusive Add 64 Sweeps Buf@+0 -> Buf@+0"],
    );
    // Its sweep down goes on past the last element.
    check(
        BUF,
        &format!("{up} {}", brent_kung.replace("i + d < 64", "i < 64")),
        &["inclusive Add 64 Sweeps Buf@+0 -> Buf@+0"],
    );
    check(
        BUF,
        "for (uint s = 1; s < 64; s <<= 1) { if (gi & s) Buf[gi] += Buf[(gi & ~(s - 1)) - 1]; SYNC; }",
        &["inclusive Add 64 Tree Buf@+0 -> Buf@+0"],
    );
    let halves =
        "for (uint s = 32; s > 0; s >>= 1) { if (gi < s) Buf[gi] = max(Buf[gi], Buf[gi + s]); SYNC; }";
    check(BUF, halves, &["reduction MaxUint 64 Tree Buf@+0 -> Buf@[0]"]);
    // Filled by the kernel itself, two elements a thread.
    check(
        BUF,
        "Buf[gid.x * 128 + gi] = Src[id.x]; Buf[gid.x * 128 + gi + 64] = Src[id.x + 1];
         for (uint s = 64; s > 0; s >>= 1) { SYNC; if (gi < s) Buf[gid.x * 128 + gi] += Buf[gid.x * 128 + gi + s]; }
         SYNC; if (gi == 0) Out[gid.x] = Buf[gid.x * 128];",
        &["reduction Add 128 Tree Buf@(128 * SV_GroupID.x)+0 -> Buf@(128 * SV_GroupID.x)[0]"],
    );
}

#[test]
fn bounds_of_the_host() {
    check(
        BUF,
        "uint shift = 0; for (uint s = 1; s < count; s <<= 1) {
             if (gi & s) Buf[gi] += Buf[((gi >> shift) << shift) - 1]; SYNC; ++shift; }",
        &["inclusive Add 64 Tree Buf@+0 -> Buf@+0 count=64"],
    );
    // No number holds for all groups: the stretches would seem to lie apart.
    let body = at("gid.x * 32 + #").replace("s < 64", "s < gid.x");
    check(BUF, &body, &[]);
}

#[test]
fn barriers_that_order_nothing_there() {
    // Groupshared memory alone.
    check(
        BUF,
        &at("#").replace("SYNC", "GroupMemoryBarrierWithGroupSync()"),
        &[],
    );
    let mut weak = at("#");
    while let Some(last) = weak.rfind("SYNC") {
        weak.replace_range(last..last + 4, "GroupMemoryBarrierWithGroupSync()");
        check(BUF, &weak, &[]);
    }
    // None at all, or one that does not wait.
    check(BUF, &at("#").replacen("SYNC;", "", 1), &[]);
    check(BUF, &at("#").replacen("+= t; SYNC", "+= t", 1), &[]);
    check(BUF, &at("#").replacen("SYNC", "DeviceMemoryBarrier()", 1), &[]);
    // The rungs within a wave.
    check(BUF, &at("#").replacen("SYNC;", "if (s > 16) SYNC;", 1), &[]);
    // Of groupshared memory the ones that order device memory promise nothing either.
    check(
        "groupshared uint g[64]; RWStructuredBuffer<uint> Buf;",
        &format!(
            "g[gi] = Src[gi]; GroupMemoryBarrierWithGroupSync(); {} Buf[gi] = g[gi] + Buf[gi];",
            at("#").replace("Buf", "g")
        ),
        &[],
    );
}

#[test]
fn resources_that_others_change() {
    check(&format!("globallycoherent {BUF}"), &at("#"), &[]);
    check(
        BUF,
        &format!("InterlockedAdd(Buf[64], 1); SYNC; {}", at("#")),
        &[],
    );
    check(
        "RWStructuredBuffer<uint> Buf; void clear(RWStructuredBuffer<uint> b, uint i) { b[i] = 0; }",
        &format!("clear(Buf, gi); SYNC; {}", at("#")),
        &[],
    );
    check(
        BUF,
        &at("#").replace("for (uint s", "RWStructuredBuffer<uint> other = Buf; for (uint s"),
        &[],
    );
    check(
        "RWBuffer<unorm float> Buf;",
        &at("#").replace("uint t", "float t"),
        &[],
    );
}

#[test]
fn what_is_no_scan() {
    // The first element of the next group is taken in, one is left out, one is counted twice.
    check(BUF, &at("#").replace("gi - s", "gi - s + 1"), &[]);
    check(BUF, &at("#").replace("s = 1", "s = 2"), &[]);
    check(BUF, &at("#").replace("gi >= s", "gi > s"), &[]);
    // The last element is the total all the same, but not without elements of somebody else.
    check(BUF, &at("#").replace("gi >= s", "gi + 1 >= s"), &[]);
    // Somebody else's elements in between.
    let body = at("#").replace("t; SYNC; }", "t; SYNC; Buf[Src[gi]] = 1; SYNC; }");
    check(BUF, &body, &[]);
}
