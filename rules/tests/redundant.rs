//! Barriers planted into kernels that need all of theirs: exactly these are found, and the fix takes them out again.

use shaderlint_hlsl::{Includes, NoIncludes, SourceFile};
use shaderlint_linter::{Diagnostic, Level, Safety, Settings, check_shader, settle};
use shaderlint_rules::RULES;

const RULE: &str = "redundant-barrier";

/// Kernels that need all of their barriers. Where a comment says `plant`, a further one is needless; where it says
/// `after`, the barrier on the line before is needless instead.
const KERNELS: [&str; 5] = [
    // A blur of rows: the neighbours' elements.
    "StructuredBuffer<float> Src; RWStructuredBuffer<float> Out;
groupshared float g[66];
[numthreads(64, 1, 1)] void main(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID) {
    //plant
    g[gi + 1] = Src[id.x + 1];
    //plant
    if (gi == 0) g[0] = Src[id.x];
    if (gi == 63) g[65] = Src[id.x + 2];
    GroupMemoryBarrierWithGroupSync();
    //after
    float sum = g[gi] + g[gi + 1];
    //plant
    sum += g[gi + 2];
    //plant
    Out[id.x] = sum;
    //plant
}",
    // Two tiles, one after the other, through one array.
    "Texture2D<float4> Src; RWTexture2D<float4> Out;
groupshared float4 tile[8][8];
[numthreads(8, 8, 1)] void main(uint2 t : SV_GroupThreadID, uint2 id : SV_DispatchThreadID) {
    float4 sum = 0;
    for (int part = 0; part < 2; ++part) {
        tile[t.y][t.x] = Src[id + uint2(8 * part, 0)];
        //plant
        sum += tile[t.y][t.x];
        AllMemoryBarrierWithGroupSync();
        //after
        sum -= tile[t.x][t.y];
        GroupMemoryBarrierWithGroupSync();
        //after
    }
    //after
    Out[id] = sum;
    //plant
}",
    // Sums of rows: cleared, counted and added up.
    "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Total;
groupshared uint bins[64];
[numthreads(64, 1, 1)] void main(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID) {
    //plant
    bins[gi] = 0;
    GroupMemoryBarrierWithGroupSync();
    //after
    uint amount = Src[id.x] & 63;
    //after
    InterlockedAdd(bins[gi / 2], amount);
    GroupMemoryBarrierWithGroupSync();
    //after
    uint own = bins[gi];
    //plant
    InterlockedAdd(Total[gi], own);
    //plant
}",
    // Sorts pairs at growing distances. Other threads do the last step.
    "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out;
groupshared uint keys[64];
[numthreads(64, 1, 1)] void main(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID) {
    keys[gi] = Src[id.x];
    GroupMemoryBarrierWithGroupSync();
    //after
    for (uint size = 2; size <= 64; size *= 2) {
        for (uint stride = size / 2; stride > 0; stride /= 2) {
            uint a = keys[gi], b = keys[gi ^ stride];
            //plant
            bool isLow = (gi & stride) == 0, isUp = (gi & size) == 0;
            GroupMemoryBarrierWithGroupSync();
            //after
            keys[gi] = isLow == isUp ? min(a, b) : max(a, b);
            //plant
            GroupMemoryBarrierWithGroupSync();
            //after
        }
        //after
    }
    //after
    Out[id.x] = keys[63 - gi];
    //plant
}",
    // Work that leads from one buffer to another.
    "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> First, Second;
groupshared uint total;
[numthreads(64, 1, 1)] void main(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID) {
    uint x = Src[id.x];
    //plant
    First[id.x] = x;
    DeviceMemoryBarrierWithGroupSync();
    //after
    uint y = First[id.x ^ 1];
    Second[id.x] = y;
    //plant
}",
];

fn lint(text: &[u8]) -> Vec<Diagnostic> {
    let (shader, _) = shaderlint_hlsl::read("test.hlsl", text, &[], &NoIncludes);
    check_shader(&shader, RULES, &Settings::default()).findings
}

/// The lines of needless barriers, and the text without them.
fn needless(text: &str) -> (Vec<usize>, String) {
    let only = |text: &[u8]| {
        let mut found = lint(text);
        found.retain(|finding| finding.rule == RULE);
        found
    };
    let found = only(text.as_bytes());
    for finding in &found {
        let safety = finding.fix.as_ref().map(|fix| fix.safety);
        assert_eq!(
            (finding.level, safety),
            (Level::Info, Some(Safety::Safe)),
            "{text}"
        );
    }
    let line = |finding: &Diagnostic| {
        let before = text
            .get(..finding.primary.place.start as usize)
            .unwrap_or_default();
        before.matches('\n').count() + 1
    };
    let settled = settle(text.as_bytes(), false, only, Vec::as_slice);
    (
        found.iter().map(line).collect(),
        String::from_utf8_lossy(&settled.text).into_owned(),
    )
}

/// The kernel without marks.
fn bare(kernel: &str) -> String {
    let lines = kernel.split_inclusive('\n');
    lines
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect()
}

/// A barrier that orders groupshared memory, or nothing that a kernel without such memory may have.
const PLANTED: &str = "GroupMemoryBarrierWithGroupSync();";

#[test]
fn planted_barriers_are_found_and_no_others() {
    let mut planted = 0;
    for kernel in KERNELS {
        let own = bare(kernel);
        assert_eq!(needless(&own), (Vec::new(), own.clone()), "{own}");
        let marks = kernel
            .lines()
            .enumerate()
            .filter(|(_, line)| line.trim_start().starts_with("//"));
        for (number, mark) in marks {
            let lines = kernel.split_inclusive('\n').enumerate().map(|(at, line)| {
                if at == number {
                    format!("    {PLANTED}\n")
                } else if line.trim_start().starts_with("//") {
                    String::new()
                } else {
                    line.to_owned()
                }
            });
            let text: String = lines.collect();
            let (found, fixed) = needless(&text);
            let before = kernel
                .lines()
                .take(number)
                .filter(|line| !line.trim_start().starts_with("//"));
            let here = before.count() + 1;
            let is_planted = found == [here];
            if mark.trim() == "//plant" {
                assert!(is_planted, "{found:?}\n{text}");
                assert_eq!(fixed, own);
            } else {
                assert_eq!(found.len(), 1, "{text}");
                assert_eq!(
                    fixed.matches("GroupSync").count(),
                    own.matches("GroupSync").count(),
                    "{fixed}"
                );
            }
            assert_eq!(needless(&fixed).0, [0; 0], "{fixed}");
            planted += 1;
        }
    }
    assert_eq!(planted, 28);
}

/// Where every mark becomes a barrier, all that go leave a kernel that needs all of the rest.
#[test]
fn all_that_are_found_can_go_together() {
    for kernel in KERNELS {
        let full = kernel.replace("//plant", PLANTED).replace("//after", PLANTED);
        let (found, fixed) = needless(&full);
        let mut lines: Vec<&str> = full.split_inclusive('\n').collect();
        for line in found.iter().rev() {
            lines.remove(line - 1);
        }
        let without = lines.concat();
        let count = |text: &str| text.matches("GroupSync").count();
        assert_eq!(count(&without), count(&bare(kernel)), "{without}");
        assert_eq!(count(&fixed), count(&bare(kernel)), "{fixed}");
        assert_eq!(needless(&without).0, [0; 0], "{without}");
    }
}

/// A kernel whose barrier is needless, but for what takes the place of `BEFORE` and of `X`.
const OWN: &str = "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out; groupshared uint g[64];
BEFORE
[numthreads(64, 1, 1)] void main(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID) {
    g[gi] = Src[id.x];
    X
    Out[id.x] = g[FROM(gi)];
}
";

#[test]
fn a_barrier_that_another_build_or_caller_may_need_stays() {
    let barrier = "GroupMemoryBarrierWithGroupSync();";
    let found = |before: &str, x: &str| needless(&OWN.replace("BEFORE", before).replace('X', x)).0.len();
    let plain = "#define FROM(i) (i)";
    assert_eq!(found(plain, barrier), 1);
    assert_eq!(found("uint FROM(uint i) { return i; }", barrier), 1);
    assert_eq!(found(plain, &format!("{{ {barrier} }}")), 1);
    for (before, x) in [
        (
            "#ifdef TURNED\n#define FROM(i) (63 - i)\n#else\n#define FROM(i) (i)\n#endif",
            barrier,
        ),
        ("#ifndef FROM\n#define FROM(i) (i)\n#endif", barrier),
        (
            plain,
            "#ifdef MORE\n    Out[id.x] = g[63 - gi];\n#endif\n    GroupMemoryBarrierWithGroupSync();",
        ),
        (
            plain,
            "GroupMemoryBarrierWithGroupSync();\n#ifdef MORE\n    Out[id.x] = g[63 - gi];\n#endif",
        ),
        // It is the whole arm, so that another statement would take its place.
        (plain, "if (gi < 64) GroupMemoryBarrierWithGroupSync();"),
        (
            "#define FROM(i) (i)\nvoid Wait() { GroupMemoryBarrierWithGroupSync(); }",
            "Wait();",
        ),
        (
            "#define FROM(i) (i)\n#define WAIT GroupMemoryBarrierWithGroupSync(); g[gi] += 1",
            "WAIT;",
        ),
    ] {
        assert_eq!(found(before, x), 0, "{before}\n{x}");
    }
    let called = format!(
        "{}\nvoid more(uint gi, uint3 id) {{ main(gi, id); Out[id.x] = g[63 - gi]; }}",
        OWN.replace("BEFORE", plain).replace('X', barrier)
    );
    assert_eq!(needless(&called).0, [0; 0]);
}

/// A function that no kernel of the file calls, a node of a work graph, and a group of one thread.
#[test]
fn only_barriers_of_kernels_with_several_threads_are_found() {
    let barrier = "GroupMemoryBarrierWithGroupSync();";
    let own = OWN.replace("BEFORE", "#define FROM(i) (i)").replace('X', barrier);
    assert_eq!(needless(&own).0.len(), 1);
    for (old, new) in [
        ("[numthreads(64, 1, 1)] ", ""),
        ("[numthreads", "[shader(\"node\")] [numthreads"),
        ("numthreads(64", "numthreads(1"),
    ] {
        let text = own.replace(old, new);
        assert_eq!(needless(&text).0, [0; 0], "{text}");
    }
}

/// Other kernels may include the header.
#[test]
fn a_barrier_of_an_included_file_stays() {
    struct Header(String);
    impl Includes for Header {
        fn resolve(&self, _: &[&str], path: &str, _: bool) -> Option<SourceFile> {
            Some(SourceFile {
                path: path.to_owned(),
                text: self.0.as_bytes().into(),
            })
        }
    }
    let kernel = OWN.replace("BEFORE", "#define FROM(i) (i)");
    let header = Header(kernel.replace('X', "GroupMemoryBarrierWithGroupSync();"));
    let (shader, _) = shaderlint_hlsl::read("test.hlsl", b"#include \"kernel.hlsli\"\n", &[], &header);
    let found = check_shader(&shader, RULES, &Settings::default()).findings;
    assert!(found.is_empty(), "{found:#?}");
}

/// A wave form takes the place of the barriers around a ladder. Where the target has no waves, the barriers are all that
/// there is to say.
#[test]
fn a_ladder_that_has_a_finding_is_enough() {
    let text = b"StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out; groupshared uint g[128];
[numthreads(64, 1, 1)] void main(uint gi : SV_GroupIndex, uint3 group : SV_GroupID) {
    g[gi] = Src[128 * group.x + gi];
    g[gi + 64] = Src[128 * group.x + gi + 64];
    GroupMemoryBarrierWithGroupSync();
    for (uint stride = 64; stride > 0; stride >>= 1) {
        if (gi < stride) g[gi] += g[gi + stride];
        GroupMemoryBarrierWithGroupSync();
    }
    if (gi == 0) Out[group.x] = g[0];
}
";
    let (shader, _) = shaderlint_hlsl::read("test.hlsl", text, &[], &NoIncludes);
    let found = |model: &str| {
        let settings = Settings {
            shader_model: model.parse().ok(),
            ..Settings::default()
        };
        let findings = check_shader(&shader, RULES, &settings).findings;
        findings.iter().map(|finding| finding.rule).collect::<Vec<_>>()
    };
    assert_eq!(found("cs_6_0"), ["hand-rolled-reduction"]);
    assert_eq!(found("cs_5_0"), [RULE]);
}
