//! Ladders of lane reads: what they are proved to be, at which wave sizes, and what is no ladder.

#![expect(clippy::unwrap_used, reason = "writing to a String does not fail")]

use std::fmt::Write;

use shaderlint_hlsl::{NoIncludes, Version, preprocess, read_preprocessed};
use shaderlint_simt::{Elements, analyze};

/// One line a ladder.
fn summary(source: &str) -> String {
    let shader = shaderlint_hlsl::parse(source.as_bytes().to_vec()).0;
    let (entry, _) = shader
        .entry_points()
        .next()
        .expect("the test's kernel has an entry point");
    let analysis = analyze(&shader, entry);
    let line_of = |offset: u32| source[..offset as usize].matches('\n').count() + 1;
    let mut text = String::new();
    for ladder in &analysis.wave_ladders {
        let place = |elements: &Elements| match elements {
            Elements::Register { local, component } => {
                let name = &shader.functions[ladder.function.0 as usize].locals[local.0 as usize].name;
                component.map_or(name.clone(), |component| format!("{name}#{component}"))
            }
            other => format!("{other:?}"),
        };
        writeln!(
            text,
            "{}{:?} {:?} {} {} -> {} {:?} at {:?} reads {:?} lines {}-{}{}",
            if ladder.reversed { "reversed " } else { "" },
            ladder.kind,
            ladder.operator,
            ladder.element.name(),
            place(&ladder.input),
            place(&ladder.output),
            ladder.holders,
            ladder.sizes,
            ladder.reads,
            line_of(ladder.span.start),
            line_of(ladder.span.end),
            if ladder.needs_both_arms { " both arms" } else { "" },
        )
        .unwrap();
    }
    text
}

#[track_caller]
fn check(source: &str, expected: &str) {
    assert_eq!(summary(source), expected, "{source}");
}

/// A kernel of so many threads around a body that works on `x`.
fn kernel(attributes: &str, threads: u32, body: &str) -> String {
    format!(
        "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out; cbuffer C {{ uint n; }};
{attributes}[numthreads({threads}, 1, 1)]
void Main(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID)
{{
    uint lane = WaveGetLaneIndex();
    uint x = Src[id.x];
{body}
    Out[id.x] = x;
}}
"
    )
}

const ALL: &str = "[4, 8, 16, 32, 64, 128]";

const KOGGE_STONE: &str = "    for (uint s = 1; s < WaveGetLaneCount(); s <<= 1)
    {
        uint t = WaveReadLaneAt(x, lane - s);
        if (lane >= s) x += t;
    }";

#[test]
fn a_doubling_ladder_in_registers_is_a_scan_at_every_size() {
    for threads in [64, 100, 256] {
        check(
            &kernel("", threads, KOGGE_STONE),
            &format!("InclusiveScan Add uint x -> x AllLanes at {ALL} reads (2, 7) lines 7-11\n"),
        );
    }
}

#[test]
fn a_fixed_bound_is_a_scan_where_no_wave_is_wider() {
    let fixed = KOGGE_STONE.replace("WaveGetLaneCount()", "32");
    check(&kernel("", 64, &fixed), "");
    check(
        &kernel("", 32, &fixed),
        &format!("InclusiveScan Add uint x -> x AllLanes at {ALL} reads (5, 5) lines 7-11\n"),
    );
    check(
        &kernel("[WaveSize(32)]", 64, &fixed),
        "InclusiveScan Add uint x -> x AllLanes at [32] reads (5, 5) lines 7-11\n",
    );
    check(
        &kernel("[WaveSize(4, 32)]", 64, &fixed),
        "InclusiveScan Add uint x -> x AllLanes at [4, 8, 16, 32] reads (5, 5) lines 7-11\n",
    );
    check(&kernel("[WaveSize(32, 64)]", 64, &fixed), "");
    check(
        &kernel(
            "",
            64,
            &format!("    if (WaveGetLaneCount() == 32)\n    {{\n{fixed}\n    }}"),
        ),
        "InclusiveScan Add uint x -> x AllLanes at [32] reads (5, 5) lines 9-13\n",
    );
}

#[test]
fn an_unrolled_ladder_ends_where_it_is_one_at_every_size() {
    let steps: String = [1, 2, 4, 8, 16, 32, 64]
        .map(|s| format!("    t = WaveReadLaneAt(x, lane - {s}); x += lane >= {s} ? t : 0;\n"))
        .concat();
    check(
        &kernel("", 128, &format!("    uint t;\n{steps}")),
        &format!("InclusiveScan Add uint x -> x AllLanes at {ALL} reads (7, 7) lines 8-14\n"),
    );
}

#[test]
fn a_read_in_an_arm_needs_both_arms_evaluated() {
    let body = "    for (uint s = 1; s < WaveGetLaneCount(); s <<= 1)
        x += lane >= s ? WaveReadLaneAt(x, lane - s) : 0;";
    check(
        &kernel("", 64, body),
        &format!("InclusiveScan Add uint x -> x AllLanes at {ALL} reads (2, 7) lines 7-8 both arms\n"),
    );
    // Both operands of `select` are evaluated in any version.
    let body = "    for (uint s = 1; s < WaveGetLaneCount(); s <<= 1)
        x += select(lane >= s, WaveReadLaneAt(x, lane - s), 0);";
    check(
        &kernel("", 64, body),
        &format!("InclusiveScan Add uint x -> x AllLanes at {ALL} reads (2, 7) lines 7-8\n"),
    );
    // An arm that does more is not followed.
    let body = "    for (uint s = 1; s < WaveGetLaneCount(); s <<= 1)
        x += lane >= s ? WaveReadLaneAt(x, lane - s) : lane++;";
    check(&kernel("", 64, body), "");
}

#[test]
fn an_exclusive_scan_is_told_from_an_inclusive_one() {
    let body = format!(
        "{KOGGE_STONE}\n    uint before = WaveReadLaneAt(x, lane - 1);\n    x = lane == 0 ? 0 : before;"
    );
    check(
        &kernel("", 64, &body),
        &format!("ExclusiveScan Add uint x -> x AllLanes at {ALL} reads (3, 8) lines 7-13\n"),
    );
    let body = format!("    uint own = x;\n{KOGGE_STONE}\n    x -= own;");
    check(
        &kernel("", 64, &body),
        &format!("ExclusiveScan Add uint x -> x AllLanes at {ALL} reads (2, 7) lines 8-13\n"),
    );
}

#[test]
fn butterflies_need_full_waves() {
    let butterfly = "    for (uint s = 1; s < WaveGetLaneCount(); s <<= 1)
        x = max(x, WaveReadLaneAt(x, lane ^ s));";
    check(
        &kernel("", 128, butterfly),
        &format!("Reduction MaxUint uint x -> x AllLanes at {ALL} reads (2, 7) lines 7-8\n"),
    );
    // In half a wave of 128 the other half is read, which nobody has.
    check(&kernel("", 64, butterfly), "");
    check(&kernel("", 160, butterfly), "");
    check(
        &kernel("[WaveSize(16)]", 64, butterfly),
        "Reduction MaxUint uint x -> x AllLanes at [16] reads (4, 4) lines 7-8\n",
    );
}

#[test]
fn reads_down_leave_the_total_in_the_first_lane() {
    let down = "    for (uint s = WaveGetLaneCount() / 2; s > 0; s >>= 1)
        x += WaveReadLaneAt(x, lane + s);";
    check(
        &kernel("", 128, down),
        &format!("Reduction Add uint x -> x FirstLane at {ALL} reads (2, 7) lines 7-8\n"),
    );
    let guarded = "    for (uint s = 1; s < WaveGetLaneCount(); s <<= 1)
    {
        uint t = WaveReadLaneAt(x, lane + s);
        x += lane + s < WaveGetLaneCount() ? t : 0;
    }";
    check(
        &kernel("", 128, guarded),
        &format!("reversed InclusiveScan Add uint x -> x AllLanes at {ALL} reads (2, 7) lines 7-11\n"),
    );
    // Lanes from `s` on are not here when they are read.
    let branched = "    for (uint s = WaveGetLaneCount() / 2; s > 0; s >>= 1)
        if (lane < s) x += WaveReadLaneAt(x, lane + s);";
    check(&kernel("", 128, branched), "");
}

#[test]
fn what_is_no_ladder() {
    for body in [
        // Without a guard the first lanes read what is not there.
        &KOGGE_STONE.replace("if (lane >= s) ", ""),
        // One round too few, one stride twice, another lane.
        &KOGGE_STONE.replace("s < WaveGetLaneCount()", "s < WaveGetLaneCount() / 2"),
        &KOGGE_STONE.replace("lane - s)", "lane - 1)"),
        &KOGGE_STONE.replace("lane - s)", "s - 1)"),
        // Only those that stay in a branch are read.
        &KOGGE_STONE.replace(
            "if (lane >= s) x += t",
            "if (lane >= s) x += WaveReadLaneAt(x, lane - s)",
        ),
        // An intrinsic does the work.
        "    x = WaveReadLaneAt(x + WavePrefixSum(x), WaveGetLaneCount() - 1);",
        "    x = WaveReadLaneAt(x, 0);",
        // Not all lanes need be here.
        &format!("    if (id.x >= n) return;\n{KOGGE_STONE}"),
        &format!("    if (x != 7)\n    {{\n{KOGGE_STONE}\n    }}"),
        // Four lanes of many.
        "    if (gi < 4)\n    {\n        x += WaveReadLaneAt(x, lane ^ 1);\n        x += WaveReadLaneAt(x, lane ^ 2);\n    }",
        // Something else is added.
        &KOGGE_STONE.replace("x += t", "x += t + 1"),
        &KOGGE_STONE.replace("x += t", "x += 2 * t"),
    ] {
        check(&kernel("", 128, body), "");
    }
}

#[test]
fn lanes_that_are_here_for_certain_are_enough() {
    // The first wave alone; a condition of the host; passes of a loop.
    for (start, end) in [
        ("if (gi < WaveGetLaneCount()) {", "}"),
        ("if (n > 7) {", "}"),
        ("for (uint pass = 0; pass < 3; ++pass) {", "}"),
        ("[loop] for (uint pass = 0; pass < n; ++pass) {} {", "}"),
    ] {
        check(
            &kernel("", 128, &format!("{start}\n{KOGGE_STONE}\n{end}")),
            &format!("InclusiveScan Add uint x -> x AllLanes at {ALL} reads (2, 7) lines 8-12\n"),
        );
    }
}

#[test]
fn what_may_run_unfollowed_is_not_claimed() {
    // The stride of later passes is not known.
    let body = format!(
        "    uint first = 1;\n    for (uint pass = 0; pass < 2; ++pass)\n    {{\n{}\n        first = n;\n    }}",
        KOGGE_STONE.replace("s = 1", "s = first")
    );
    check(&kernel("", 128, &body), "");
    let body = format!("    for (uint pass = 0; pass < n; ++pass)\n    {{\n{KOGGE_STONE}\n    }}");
    check(&kernel("", 128, &body), "");
    let body = format!("    do\n    {{\n{KOGGE_STONE}\n    }} while (x < n);");
    check(&kernel("", 128, &body), "");
}

#[test]
fn a_ladder_in_a_function_is_found_there() {
    let source = "StructuredBuffer<float3> Src; RWStructuredBuffer<float3> Out;
float3 Total(float3 v)
{
    for (uint s = 1; s < WaveGetLaneCount(); s *= 2)
    {
        v += WaveReadLaneAt(v, WaveGetLaneIndex() ^ s);
    }
    return v;
}
[numthreads(16, 16, 1)]
void Main(uint3 id : SV_DispatchThreadID)
{
    float3 v = Total(Src[id.x + 16 * id.y]);
    Out[id.x] = Total(v * 2);
}
";
    check(source, "");
    // Rows of 16 are no full waves; rows of 128 are.
    check(
        &source.replace("16, 16, 1", "128, 8, 1"),
        &format!("Reduction FloatAdd float v#0 -> v#0 AllLanes at {ALL} reads (2, 7) lines 4-7\n"),
    );
    let steps = "float3 Step(float3 v, uint s) { return v + WaveReadLaneAt(v, WaveGetLaneIndex() ^ s); }
StructuredBuffer<float3> Src; RWStructuredBuffer<float3> Out;
[WaveSize(8)][numthreads(64, 1, 1)]
void Main(uint3 id : SV_DispatchThreadID)
{
    float3 v = Src[id.x];
    v = Step(v, 1);
    v = Step(v, 2);
    v = Step(v, 4);
    Out[id.x] = v;
}
";
    check(
        steps,
        "Reduction FloatAdd float v#0 -> v#0 AllLanes at [8] reads (3, 3) lines 7-9\n",
    );
}

#[test]
fn a_choice_beside_the_least_is_no_reduction() {
    let body = "    uint y = Src[id.x + 7];
    for (uint s = 1; s < WaveGetLaneCount(); s <<= 1)
    {
        uint a = WaveReadLaneAt(x, lane ^ s);
        uint b = WaveReadLaneAt(y, lane ^ s);
        if (a < x) { x = a; y = b; }
    }
    Out[id.x + 1] = y;";
    check(&kernel("", 128, body), "");
}

/// No wave has as many lanes as this asks for: nothing is said of it, and it is no mistake of ours.
#[test]
fn a_kernel_for_no_wave_size_is_left_alone() {
    let text = "RWStructuredBuffer<uint> Out;\n[WaveSize(32, 2)]\n[numthreads(64, 1, 1)]\n\
                void main(uint gi : SV_GroupIndex) { uint v = gi; for (uint d = 1; d < 32; d *= 2) \
                { uint o = WaveReadLaneAt(v, (gi & 31) - d); if ((gi & 31) >= d) v += o; } Out[gi] = v; }\n";
    let (shader, _) = shaderlint_hlsl::parse(text.as_bytes().to_vec());
    let (entry, _) = shader.entry_points().next().expect("an entry point");
    let analysis = shaderlint_simt::analyze(&shader, entry);
    assert!(analysis.wave_ladders.is_empty() && analysis.races.is_empty());
}

#[test]
fn a_version_says_which_arms_are_evaluated() {
    let body = "    for (uint s = 1; s < WaveGetLaneCount(); s <<= 1)
        x += lane >= s ? WaveReadLaneAt(x, lane - s) : 0;";
    let text = kernel("", 64, body);
    let ladders = |version: Version| {
        let (mut unit, problems) = preprocess("a.hlsl", text.as_bytes(), &[], &NoIncludes);
        unit.version = Some(version);
        let shader = read_preprocessed(unit, problems, None).0;
        let (entry, _) = shader.entry_points().next().expect("a kernel");
        let ladders = analyze(&shader, entry).wave_ladders;
        ladders
            .iter()
            .map(|ladder| ladder.needs_both_arms)
            .collect::<Vec<bool>>()
    };
    assert_eq!(ladders(Version::V2018), [false]);
    assert!(ladders(Version::V2021).is_empty());
}
