//! What the engine makes of ladders of every spelling, and of what merely looks like one.

#![expect(clippy::unwrap_used, reason = "writing to a String does not fail")]

use std::fmt::Write;

use shaderlint_hlsl::Shader;
use shaderlint_simt::{Access, Analysis, Around, Elements, analyze};

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

/// One line a collective and a race.
fn summary(source: &str) -> String {
    let shader = shader(source);
    let analysis = first_entry(&shader);
    let mut text = String::new();
    let line_of = |offset: u32| source[..offset as usize].matches('\n').count() + 1;
    for c in &analysis.collectives {
        let place = |elements: &Elements| match elements {
            Elements::Array { global, offset, .. } => {
                format!("{}+{offset}", shader.globals[global.0 as usize].name)
            }
            Elements::Register { local, .. } => shader.functions[c.function.0 as usize].locals
                [local.0 as usize]
                .name
                .clone(),
            other => format!("{other:?}"),
        };
        writeln!(
            text,
            "{:?} {:?} {} {} -> {} {:?} rounds {} barriers {} lines {}-{} lane {}",
            c.kind,
            c.operator,
            c.element.name(),
            place(&c.input),
            place(&c.output),
            c.shape,
            c.rounds,
            c.barriers,
            line_of(c.span.start),
            line_of(c.span.end),
            c.rewrite.as_ref().map_or("-", |rewrite| &rewrite.lane),
        )
        .unwrap();
    }
    let passes = |access: &Access| {
        let mut variables = access.around.iter().rev().filter_map(|around| match around {
            Around::Pass { iteration, .. } => iteration.variable.as_ref(),
            Around::Call(_) => None,
        });
        let innermost = variables.next();
        innermost.map_or(String::new(), ToString::to_string)
    };
    for r in &analysis.races {
        writeln!(
            text,
            "race on {}[{}]: {} {} line {} and {} {} line {}, interval {}, {}",
            shader.globals[r.array.0 as usize].name,
            r.index,
            r.first.thread,
            if r.first.is_write { "writes" } else { "reads" },
            line_of(r.first.span.start),
            r.second.thread,
            if r.second.is_write { "writes" } else { "reads" },
            line_of(r.second.span.start),
            r.interval,
            passes(&r.second),
        )
        .unwrap();
    }
    if let Some(stop) = &analysis.stopped {
        writeln!(text, "stopped: {} line {}", stop.reason, line_of(stop.span.start)).unwrap();
    }
    text
}

#[track_caller]
fn check(source: &str, expected: &str) {
    assert_eq!(summary(source).trim(), expected.trim());
}

/// A kernel of 64 threads around a ladder on `g`; the ladder starts on line 7.
fn around(ladder: &str) -> String {
    format!(
        "StructuredBuffer<uint> Src;\nRWStructuredBuffer<uint> Out;\ngroupshared uint g[64];\n\
         [numthreads(64, 1, 1)]\nvoid main(uint gi : SV_GroupIndex) {{\n\
         g[gi] = Src[gi]; GroupMemoryBarrierWithGroupSync();\n{ladder}\nOut[gi] = g[gi];\n}}\n"
    )
}

const FOUND: &str = "InclusiveScan Add uint g+0 -> g+0 Doubling rounds 6 barriers 12 lines 7-7 lane gi";

#[test]
fn the_loop_may_be_spelled_in_any_way() {
    let body = "{ uint v = (gi >= s) ? g[gi - s] : 0; GroupMemoryBarrierWithGroupSync(); g[gi] += v; GroupMemoryBarrierWithGroupSync(); }";
    for head in [
        "for (uint s = 1; s < 64; s <<= 1) ",
        "for (uint s = 1; s < 64; s *= 2) ",
        "for (uint s = 1; s <= 32; s = s << 1) ",
        "[unroll] for (uint s = 1; s < 64; s += s) ",
    ] {
        check(&around(&format!("{head}{body}")), FOUND);
    }
    let counted = "for (int d = 0; d < 6; ++d) { uint s = 1u << d; uint v = 0; if (gi >= s) v = g[gi - s]; GroupMemoryBarrierWithGroupSync(); if (gi >= s) { g[gi] = v + g[gi]; } GroupMemoryBarrierWithGroupSync(); }";
    check(&around(counted), FOUND);
}

#[test]
fn a_while_loop_is_the_ladder() {
    let ladder = "uint s = 1;\nwhile (s < 64) { uint v = 0; if (gi >= s) { v = g[gi - s]; } GroupMemoryBarrierWithGroupSync(); g[gi] += v; GroupMemoryBarrierWithGroupSync(); s <<= 1; }";
    check(&around(ladder), &FOUND.replace("7-7", "8-8"));
}

#[test]
fn an_unrolled_ladder_is_found_whole() {
    let mut ladder = String::from("uint v;\n");
    for s in [1, 2, 4, 8, 16, 32] {
        writeln!(ladder, "v = gi >= {s} ? g[gi - {s}] : 0; GroupMemoryBarrierWithGroupSync(); g[gi] += v; GroupMemoryBarrierWithGroupSync();").unwrap();
    }
    check(
        &around(&ladder),
        &FOUND.replace("7-7", "8-13").replace("barriers 12", "barriers 11"),
    );
}

#[test]
fn double_buffers() {
    let two_arrays = "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out;
groupshared uint a[64]; groupshared uint b[64];
[numthreads(64, 1, 1)]
void main(uint gi : SV_GroupIndex) {
    a[gi] = Src[gi]; GroupMemoryBarrierWithGroupSync();
    bool flip = false;
    for (uint s = 1; s < 64; s <<= 1) {
        if (flip) a[gi] = gi >= s ? b[gi] + b[gi - s] : b[gi];
        else b[gi] = gi >= s ? a[gi] + a[gi - s] : a[gi];
        flip = !flip;
        GroupMemoryBarrierWithGroupSync();
    }
    Out[gi] = a[gi];
}";
    check(
        two_arrays,
        "InclusiveScan Add uint a+0 -> a+0 Doubling rounds 6 barriers 6 lines 7-12 lane gi",
    );
    let halves = "StructuredBuffer<float> Src; RWStructuredBuffer<float> Out;
groupshared float t[128];
[numthreads(64, 1, 1)]
void main(uint3 tid : SV_GroupThreadID) {
    int dst = 0; int src = 1;
    t[tid.x] = Src[tid.x]; GroupMemoryBarrierWithGroupSync();
    for (int s = 1; s < 64; s *= 2) {
        dst = 1 - dst; src = 1 - dst;
        if (tid.x >= s) t[dst * 64 + tid.x] = t[src * 64 + tid.x] + t[src * 64 + tid.x - s];
        else t[dst * 64 + tid.x] = t[src * 64 + tid.x];
        GroupMemoryBarrierWithGroupSync();
    }
    Out[tid.x] = t[dst * 64 + tid.x];
}";
    check(
        halves,
        "InclusiveScan FloatAdd float t+0 -> t+0 Doubling rounds 6 barriers 6 lines 7-12 lane tid.x",
    );
}

#[test]
fn the_element_may_stay_in_a_register() {
    check(
        "StructuredBuffer<int> Src; RWStructuredBuffer<int> Out; groupshared int g[64];
[numthreads(64, 1, 1)]
void main(uint gi : SV_GroupIndex) {
    int x = Src[gi];
    for (uint s = 1; s < 64; s <<= 1) {
        g[gi] = x;
        GroupMemoryBarrierWithGroupSync();
        if (gi >= s) x += g[gi - s];
        GroupMemoryBarrierWithGroupSync();
    }
    Out[gi] = x;
}",
        "InclusiveScan Add int x -> x Doubling rounds 6 barriers 12 lines 5-10 lane gi",
    );
}

#[test]
fn exclusive_is_told_from_inclusive() {
    let shifted = "for (uint s = 1; s < 64; s <<= 1) { uint v = gi >= s ? g[gi - s] : 0; GroupMemoryBarrierWithGroupSync(); g[gi] += v; GroupMemoryBarrierWithGroupSync(); }
uint e = gi > 0 ? g[gi - 1] : 0; GroupMemoryBarrierWithGroupSync();
g[gi] = e; GroupMemoryBarrierWithGroupSync();";
    check(
        &around(shifted),
        "ExclusiveScan Add uint g+0 -> g+0 Doubling rounds 6 barriers 13 lines 7-9 lane gi",
    );
}

/// Sums with the identity before them are those of an exclusive scan and its total, or those of an inclusive one: which the
/// author meant, the shape says.
#[test]
fn a_total_may_stand_behind_an_exclusive_scan() {
    let sweeps = |place: &str, length: u32| {
        format!(
            "StructuredBuffer<uint> Src;\nRWStructuredBuffer<uint> Out;\ngroupshared uint g[{length}];\n\
             uint P(uint i) {{ return {place}; }}\n[numthreads(64, 1, 1)]\nvoid main(uint gi : SV_GroupIndex) {{\n\
             g[P(gi)] = Src[gi]; g[P(gi + 64)] = Src[gi + 64]; uint o = 1;\n\
             for (uint d = 64; d > 0; d >>= 1) {{ GroupMemoryBarrierWithGroupSync(); if (gi < d) {{ \
             g[P(o * (2 * gi + 2) - 1)] += g[P(o * (2 * gi + 1) - 1)]; }} o *= 2; }}\n\
             if (gi == 0) {{ g[P(128)] = g[P(127)]; g[P(127)] = 0; }}\n\
             for (uint e = 1; e < 128; e *= 2) {{ o >>= 1; GroupMemoryBarrierWithGroupSync(); if (gi < e) {{ \
             uint a = P(o * (2 * gi + 1) - 1), b = P(o * (2 * gi + 2) - 1), t = g[a]; g[a] = g[b]; g[b] += t; }} }}\n\
             GroupMemoryBarrierWithGroupSync(); Out[gi] = g[P(gi)] + g[P(gi + 64)] + g[P(128)];\n}}\n"
        )
    };
    let found = "rounds 7 barriers 14 lines 8-10 lane";
    check(
        &sweeps("i", 129),
        &format!("ExclusiveScan Add uint g+0 -> g+0 Sweeps {found} gi"),
    );
    check(
        &sweeps("i + (i >> 5)", 133),
        &format!(
            "ExclusiveScan Add uint Spread {{ global: GlobalId(2), shift: Some(5) }} -> \
             Spread {{ global: GlobalId(2), shift: Some(5) }} Sweeps {found} gi"
        ),
    );
    let doubling = "g[gi + 1] = Src[gi]; if (gi == 0) g[0] = 0; GroupMemoryBarrierWithGroupSync();
        for (uint s = 1; s < 64; s <<= 1) { uint v = gi >= s ? g[gi + 1 - s] : 0; GroupMemoryBarrierWithGroupSync(); g[gi + 1] += v; GroupMemoryBarrierWithGroupSync(); }";
    let doubling = around(doubling)
        .replace("g[64]", "g[65]")
        .replace("g[gi] = Src[gi]; GroupMemoryBarrierWithGroupSync();", "");
    check(
        &doubling,
        "InclusiveScan Add uint g+1 -> g+1 Doubling rounds 6 barriers 12 lines 8-8 lane gi",
    );
}

#[test]
fn the_operator_and_the_size_do_not_matter() {
    let product = "for (uint s = 1; s < 64; s <<= 1) { uint v = gi >= s ? g[gi - s] : 1; GroupMemoryBarrierWithGroupSync(); g[gi] *= v; GroupMemoryBarrierWithGroupSync(); }";
    check(&around(product), &FOUND.replace("Add", "Mul"));
    let max = "for (uint s = 1; s < 64; s <<= 1) { uint v = gi >= s ? g[gi - s] : 0; GroupMemoryBarrierWithGroupSync(); g[gi] = max(v, g[gi]); GroupMemoryBarrierWithGroupSync(); }";
    check(&around(max), &FOUND.replace("Add", "MaxUint"));
    let odd = around("for (uint s = 1; s < 48; s <<= 1) { uint v = gi >= s ? g[gi - s] : 0; GroupMemoryBarrierWithGroupSync(); g[gi] += v; GroupMemoryBarrierWithGroupSync(); }")
        .replace("64", "48");
    check(&odd, FOUND);
}

#[test]
fn what_is_no_scan_is_none() {
    for ladder in [
        // One rung short, a wrong stride, a wrong guard, a stencil, a missing own element.
        "for (uint s = 1; s < 32; s <<= 1) { uint v = gi >= s ? g[gi - s] : 0; GroupMemoryBarrierWithGroupSync(); g[gi] += v; GroupMemoryBarrierWithGroupSync(); }",
        "for (uint s = 1; s < 64; s += 2) { uint v = gi >= s ? g[gi - s] : 0; GroupMemoryBarrierWithGroupSync(); g[gi] += v; GroupMemoryBarrierWithGroupSync(); }",
        "for (uint s = 1; s < 64; s <<= 1) { uint v = gi > s ? g[gi - s] : 0; GroupMemoryBarrierWithGroupSync(); g[gi] += v; GroupMemoryBarrierWithGroupSync(); }",
        "uint v = g[gi] + g[(gi + 63) % 64]; GroupMemoryBarrierWithGroupSync(); g[gi] = v; GroupMemoryBarrierWithGroupSync();",
        "for (uint s = 1; s < 64; s <<= 1) { uint v = gi >= s ? g[gi - s] : 0; GroupMemoryBarrierWithGroupSync(); g[gi] = v; GroupMemoryBarrierWithGroupSync(); }",
        "for (uint s = 1; s < 64; s <<= 1) { uint v = gi >= s ? g[gi - s] : 0; GroupMemoryBarrierWithGroupSync(); g[gi] -= v; GroupMemoryBarrierWithGroupSync(); }",
    ] {
        check(&around(ladder), "");
    }
}

#[test]
fn the_single_barrier_form_races() {
    check(
        &around(
            "for (uint s = 1; s < 64; s <<= 1) { if (gi >= s) g[gi] += g[gi - s]; GroupMemoryBarrierWithGroupSync(); }",
        ),
        "race on g[1]: 2 reads line 7 and 1 writes line 7, interval 1, s = 1",
    );
}

#[test]
fn writes_of_one_value_do_not_race() {
    check(
        &around("g[0] = 7; GroupMemoryBarrierWithGroupSync(); g[gi] = g[gi];"),
        "",
    );
    check(
        &around("g[0] = gi; GroupMemoryBarrierWithGroupSync();"),
        "race on g[0]: 0 writes line 7 and 1 writes line 7, interval 1,",
    );
}

#[test]
fn what_only_may_happen_is_not_reported() {
    let unknown = "if (Src[gi] > 3) g[(gi + 1) % 64] = gi;";
    // For some inputs it races with the read after it.
    check(
        &around(unknown),
        "race on g[0]: 63 writes line 7 and 0 reads line 8, interval 1,",
    );
    check(
        &around(&format!("{unknown} GroupMemoryBarrierWithGroupSync();")),
        "",
    );
    let some_return = "if (Src[gi] > 3) return;
for (uint s = 1; s < 64; s <<= 1) { uint v = gi >= s ? g[gi - s] : 0; GroupMemoryBarrierWithGroupSync(); g[gi] += v; GroupMemoryBarrierWithGroupSync(); }";
    // Of groups whose threads all stay, if there are any.
    check(&around(some_return), &FOUND.replace("lines 7-7", "lines 8-8"));
    // In these it races.
    let racing = some_return.replace("return;", "return; g[gi] += Src[gi];");
    check(&around(&racing), "");
}

/// The second half of the threads have the scan of the first half's elements in `v`: there is no name for what they have.
#[test]
fn a_scan_in_variables_begins_with_the_first_thread() {
    let step = |s: u32, otherwise: &str| {
        format!(
            "v = gi >= {s} ? g[gi - {s}] : {otherwise}; GroupMemoryBarrierWithGroupSync(); g[gi] += v; \
             GroupMemoryBarrierWithGroupSync();"
        )
    };
    let steps = |last: &str| {
        let steps = [1, 2, 4, 8, 16].map(|s| step(s, "0")).concat();
        around(&format!("uint v; {steps} {}", step(32, last)))
    };
    // The last barrier is behind the scan.
    check(&steps("0"), &FOUND.replace("barriers 12", "barriers 11"));
    check(&steps("-1"), "");
}

#[test]
fn under_one_condition_for_all_everything_is_as_without() {
    let all_return = "if (Src[0] > 3) return;
for (uint s = 1; s < 64; s <<= 1) { uint v = gi >= s ? g[gi - s] : 0; GroupMemoryBarrierWithGroupSync(); g[gi] += v; GroupMemoryBarrierWithGroupSync(); }";
    check(&around(all_return), &FOUND.replace("lines 7-7", "lines 8-8"));
    check(
        &around("if (Src[0] > 3) g[gi] += g[(gi + 1) % 64];"),
        "race on g[0]: 63 reads line 7 and 0 writes line 7, interval 1,",
    );
    // Under two conditions that may exclude each other.
    check(
        &around(
            "if (Src[0] > 3) g[0] = gi; if (Src[1] > 3) Out[gi] = g[gi]; GroupMemoryBarrierWithGroupSync();",
        ),
        "race on g[0]: 0 writes line 7 and 1 writes line 7, interval 1,",
    );
}

#[test]
fn what_is_proved_holds_in_every_pass() {
    let passes = |ladder: &str| {
        around(&format!(
            "uint sum = 0, total = 0; for (uint r = 0; r < 3; ++r) {{ {ladder} }} Out[0] = total;"
        ))
    };
    let ladder = "for (uint s = 1; s < 64; s <<= 1) { uint v = gi >= s ? g[gi - s] : 0; GroupMemoryBarrierWithGroupSync(); g[gi] += v; GroupMemoryBarrierWithGroupSync(); }";
    check(&passes(ladder), FOUND);
    // Only in the first pass is `total` the scan.
    check(&passes(&format!("{ladder} total += g[gi];")), FOUND);
    // Only in the first pass nothing is added to the scan.
    check(&passes(&ladder.replace("g[gi] += v", "g[gi] += v + r")), "");
}

#[test]
fn a_callee_may_hold_the_ladder() {
    check(
        "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out; groupshared uint g[64];
void Scan(uint t) {
    for (uint s = 1; s < 64; s <<= 1) {
        uint v = t >= s ? g[t - s] : 0; GroupMemoryBarrierWithGroupSync();
        g[t] += v; GroupMemoryBarrierWithGroupSync();
    }
}
[numthreads(64, 1, 1)]
void main(uint gi : SV_GroupIndex) {
    g[gi] = Src[gi]; GroupMemoryBarrierWithGroupSync();
    Scan(gi);
    Out[gi] = g[gi];
}",
        "InclusiveScan Add uint g+0 -> g+0 Doubling rounds 6 barriers 12 lines 3-6 lane t",
    );
}

#[test]
fn a_loop_that_never_ends_is_left() {
    check(&around("uint i = 0; while (true) { i = i + 1; }"), "");
}

/// What an instance names has the number that it is given: a shift of it has another.
#[test]
fn instances_name_what_is_a_number() {
    for (bound, expected) in [
        ("uint count = Src[0];", "count = 64"),
        ("uint count = Src[0] >> 1;", "an element of Src = 128"),
        ("uint count = Src[0] + 1;", "an element of Src = 64"),
        ("uint count = Size >> 1;", "Size = 128"),
        ("uint count = Size;", "Size = 64"),
    ] {
        let source = format!(
            "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out; uint Size; groupshared uint g[64];
[numthreads(64, 1, 1)]
void main(uint gi : SV_GroupIndex) {{
    g[gi] = Out[gi];
    GroupMemoryBarrierWithGroupSync();
    {bound}
    for (uint s = 1; s < count; s *= 2) {{
        uint left = gi >= s ? g[gi - s] : 0;
        GroupMemoryBarrierWithGroupSync();
        g[gi] += left;
        GroupMemoryBarrierWithGroupSync();
    }}
    Out[gi] = g[gi];
}}"
        );
        let analysis = first_entry(&shader(&source));
        let instances = analysis.collectives.iter().flat_map(|found| &found.instances);
        let named: Vec<String> = instances
            .map(|instance| format!("{} = {}", instance.bound, instance.value))
            .collect();
        assert_eq!(named, [expected], "{bound}");
    }
}
