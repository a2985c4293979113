//! What is said of a finding is so wherever the finding holds, and what is offered holds for all that the text may be.

use shaderlint_hlsl::NoIncludes;
use shaderlint_linter::{Diagnostic, Safety, Settings, Verdict, check_shader, settle};
use shaderlint_rules::RULES;

const BARRIER: &str = "GroupMemoryBarrierWithGroupSync();";

fn lint_for(text: &[u8], profile: &str) -> Vec<Diagnostic> {
    let (shader, _) = shaderlint_hlsl::read("test.hlsl", text, &[], &NoIncludes);
    let settings = Settings {
        shader_model: profile.parse().ok(),
        ..Settings::default()
    };
    check_shader(&shader, RULES, &settings).findings
}

fn lint(text: &[u8]) -> Vec<Diagnostic> {
    lint_for(text, "")
}

/// Rule, message and notes of each finding, on lines.
fn said(findings: &[Diagnostic]) -> String {
    let lines = findings.iter().flat_map(|finding| {
        let head = format!("{}: {}", finding.rule, finding.message);
        std::iter::once(head).chain(finding.all_notes().map(|note| format!("  {note}")))
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn what_a_form_needs_is_said_and_not_what_is_compiled_for() {
    let text = format!(
        "StructuredBuffer<uint> Keys; RWStructuredBuffer<uint> Out; groupshared uint g[4];\n\
         [numthreads(64, 1, 1)] void main(uint gi : SV_GroupIndex)\n{{\n    if (gi < 4)\n        g[gi] = 0;\n    \
         {BARRIER}\n    InterlockedAdd(g[Keys[gi] & 3], 1);\n    {BARRIER}\n    if (gi < 4)\n        Out[gi] = g[gi];\n}}\n"
    );
    for (profile, needed) in [("6.0", "6.0"), ("6.4", "6.0"), ("6.5", "6.5"), ("6.6", "6.5")] {
        let said = said(&lint_for(text.as_bytes(), profile));
        assert!(
            said.contains(&format!("(shader model {needed}):")),
            "{profile}: {said}"
        );
    }
}

/// Code for few cells keeps the cell and the amount.
#[test]
fn code_for_bins_means_the_same() {
    let said = |claim: &str| {
        let text = format!(
            "StructuredBuffer<uint> Keys; RWTexture2D<uint> Image; uint row; groupshared uint g[4]; groupshared uint rows[2][4];\n\
             RWStructuredBuffer<uint> Out; [numthreads(64, 1, 1)] void main(uint gi : SV_GroupIndex)\n{{\n    \
             if (gi < 4)\n        g[gi] = rows[0][gi] = rows[1][gi] = 0;\n    {BARRIER}\n    {claim};\n    {BARRIER}\n    \
             if (gi < 4)\n        Out[gi] = g[gi] + rows[0][gi] + rows[1][gi];\n}}\n"
        );
        said(&lint_for(text.as_bytes(), "6.6"))
    };
    let of_three = said("InterlockedAdd(g[Keys[gi] & 3], 3)");
    assert!(of_three.contains("3 * waveCount"), "{of_three}");
    let cut_off = said("InterlockedAdd(g[Keys[gi] & 3], 1.7)");
    assert!(cut_off.contains("uint waveOwn = 1.7;"), "{cut_off}");
    let first_index = said("InterlockedAdd(rows[Keys[gi] & 1][2], 1)");
    assert!(first_index.contains("rows[waveBin][2]"), "{first_index}");
    for none in [
        "InterlockedAdd(rows[gi & 1][Keys[gi] & 3], 1)",
        "InterlockedAdd(Image[uint2(Keys[gi] & 3, row)], 1)",
    ] {
        assert!(!said(none).contains("waveBin"), "{none}: {}", said(none));
    }
}

/// Lanes of two blocks that share a wave have two totals.
#[test]
fn blocks_are_not_said_to_need_no_packing() {
    let said = |lanes: u32| {
        let text = format!(
            "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out; groupshared uint g[64];\n\
             [numthreads(64, 1, 1)] void main(uint gi : SV_GroupIndex)\n{{\n    g[gi] = Src[gi];\n    {BARRIER}\n    \
             for (uint s = {lanes} / 2; s > 0; s /= 2)\n    {{\n        if (gi % {lanes} < s)\n            \
             g[gi] += g[gi + s];\n        {BARRIER}\n    }}\n    \
             if (gi % {lanes} == 0)\n        Out[gi / {lanes}] = g[gi];\n}}\n"
        );
        said(&lint_for(text.as_bytes(), "6.0"))
    };
    let (whole, blocks) = (said(64), said(16));
    let any = "any threads may share a wave";
    assert!(whole.contains(any), "{whole}");
    assert!(
        blocks.contains("and likewise for each of the 4 blocks of 16 elements"),
        "{blocks}"
    );
    assert!(!blocks.contains(any), "{blocks}");
}

#[test]
fn three_elements_are_too_few_to_gain_anything() {
    let of = |count: u32, least: &str| {
        let text = format!(
            "StructuredBuffer<float> Src; RWStructuredBuffer<float> Out; groupshared float g[{count}];\n\
             [numthreads({count}, 1, 1)] void main(uint gi : SV_GroupIndex)\n{{\n    g[gi] = Src[gi];\n    {BARRIER}\n    \
             float least = {least};\n    Out[gi] = Src[gi] - least;\n}}\n"
        );
        lint(text.as_bytes()).len()
    };
    assert_eq!(of(3, "min(min(g[0], g[1]), g[2])"), 0);
    assert_eq!(of(4, "min(min(min(g[0], g[1]), g[2]), g[3])"), 1);
}

#[test]
fn sizes_of_waves_are_all_named_or_not_all() {
    let text = format!(
        "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out; groupshared uint d[256];\n\
         [numthreads(32, 8, 1)] void main(uint3 tid : SV_GroupThreadID, uint gi : SV_GroupIndex)\n{{\n    \
         d[gi] = Src[gi];\n    {BARRIER}\n    d[gi] += (tid.y ? d[tid.x] : 0) - WavePrefixSum(Src[gi]);\n    {BARRIER}\n    \
         Out[gi] = d[gi];\n}}\n"
    );
    assert_eq!(
        said(&lint(text.as_bytes())),
        "wave-size-assumption: data race on d[1] in waves such as those of 4, 8, 16 and 32 lanes\n  in \
         waves of 4, thread 33 reads d[1] while thread 1 writes it, both after the barrier on line 5\n  \
         waves have 4 to 128 lanes; what happens at the other sizes is not proved"
    );
}

#[test]
fn numbers_that_hold_in_some_waves_are_told_of_these() {
    let text = "RWStructuredBuffer<uint> Out; groupshared uint g[32];\n\
                [numthreads(32, 1, 1)] void main(uint gi : SV_GroupIndex)\n{\n    g[gi] = 0;\n    bool empty = true;\n    \
                uint left = WaveActiveBallot(empty).x;\n    while (left)\n    {\n        uint next = firstbitlow(left);\n        \
                Out[gi] += g[next];\n        if (gi == next)\n        {\n            g[next] += 32;\n            empty = false;\n        \
                }\n        left = WaveActiveBallot(empty).x;\n    }\n}\n";
    let said = said(&lint(text.as_bytes()));
    assert!(
        said.contains("groupshared-race: data race on g\n  thread 1 reads g[0] in iteration 1 of the loop on line 7 (left = 15) while thread 0 writes it, with no \
             barrier between them; these numbers are for waves of 4 lanes\n"),
        "{said}"
    );
}

#[test]
fn one_barrier_is_enough_for_two_races() {
    let text = format!(
        "StructuredBuffer<float2> Src; RWStructuredBuffer<float2> Out; groupshared float r[64]; groupshared float g[64];\n\
         [numthreads(64, 1, 1)] void main(uint gi : SV_GroupIndex)\n{{\n    r[gi] = Src[gi].x;\n    g[gi] = Src[gi].y;\n    \
         {BARRIER}\n    float red = r[(gi + 1) % 64];\n    float green = g[(gi + 1) % 64];\n    /**/r[gi] = red;\n    \
         g[gi] = green;\n    {BARRIER}\n    Out[gi] = float2(r[63 - gi], g[63 - gi]);\n}}\n"
    );
    let racy = text.replace("/**/", "");
    let settled = settle(racy.as_bytes(), true, lint, |findings| findings);
    let fixed = text.replace("/**/", &format!("{BARRIER}\n    "));
    assert_eq!(String::from_utf8_lossy(&settled.text), fixed);
    assert_eq!((settled.fixed.len(), settled.last.len()), (1, 0));
}

#[test]
fn a_race_that_another_ones_barrier_ends_says_so() {
    let text = format!(
        "RWStructuredBuffer<uint> Out; groupshared uint r[64]; groupshared uint g[64];\n\
         void store(uint i, uint v)\n{{\n    r[i] = v;\n    g[i] = v;\n}}\n\
         [numthreads(32, 1, 1)] void main(uint gi : SV_GroupIndex)\n{{\n    store(gi, gi);\n    store(gi + 32, gi);\n    \
         {BARRIER}\n    store(gi + 32, r[63 - gi] + g[63 - gi]);\n    {BARRIER}\n    Out[gi] = r[gi] + g[gi];\n}}\n"
    );
    let findings = lint(text.as_bytes());
    let notes = findings.iter();
    let notes = notes.map(|finding| finding.all_notes().collect::<Vec<_>>().join("\n"));
    let ended = "no automatic fix: the barrier that ends the data race on r[32] also ends this one";
    let has_fix = findings.iter().map(|finding| finding.fix.is_some());
    assert_eq!(has_fix.collect::<Vec<_>>(), [true, false]);
    assert_eq!(
        notes.map(|notes| notes.contains(ended)).collect::<Vec<_>>(),
        [false, true],
        "{findings:#?}"
    );
}

#[test]
fn a_hidden_counter_moves_by_one() {
    let text = "AppendStructuredBuffer<uint> Out; [numthreads(64, 1, 1)] void main(uint gi : SV_GroupIndex) { Out.Append(gi); }";
    let said = said(&lint(text.as_bytes()));
    let reason = "no automatic fix: each call moves a hidden counter by one, and only a counter in a buffer \
         can move by more";
    assert!(said.contains(reason), "{said}");
}

/// The waves are counted by the group's size: so are their totals, whatever the length of the ladder's array.
#[test]
fn totals_are_as_many_as_the_waves_that_are_counted() {
    let of = |before: &str, size: &str, length: &str| {
        let text = format!(
            "StructuredBuffer<float> Src; RWStructuredBuffer<float> Out;\n{before}\ngroupshared float g[{length}];\n\
             [numthreads({size}, 1, 1)] void main(uint gi : SV_GroupIndex)\n{{\n    g[gi] = Src[gi];\n    {BARRIER}\n    \
             for (uint i = 16; i > 0; i /= 2)\n    {{\n        if (gi < i)\n            g[gi] += g[gi + i];\n        {BARRIER}\n    \
             }}\n    if (gi == 0)\n        Out[0] = g[0];\n}}\n"
        );
        let settled = settle(text.as_bytes(), true, lint, |findings| findings);
        let fixed = String::from_utf8_lossy(&settled.text).into_owned();
        let totals = fixed.lines().find_map(|line| line.split_once("WaveTotals["));
        totals.map_or_else(String::new, |(_, length)| length.to_owned())
    };
    let size = "#ifndef SIZE\nstatic const uint SIZE = 32;\n#endif\nstatic const uint BINS = 32;";
    assert_eq!(of(size, "SIZE", "BINS"), "(SIZE + 3) / 4];");
    assert_eq!(of(size, "SIZE", "SIZE"), "(SIZE + 3) / 4];");
    assert_eq!(of("#define SIZE 32", "SIZE", "32"), "(SIZE + 3) / 4];");
    assert_eq!(of("", "32", "32"), "8];");
}

/// A missing header may declare a counter: the finding says what shaderlint assumes of it, and has no fix.
#[test]
fn what_is_assumed_of_names_is_said() {
    let said = |claim: &str| {
        let text = format!(
            "#include \"missing.h\"\nRWStructuredBuffer<uint> Out;\n[numthreads(64, 1, 1)]\n\
             void main(uint gi : SV_GroupIndex)\n{{\n    uint s;\n    {claim};\n    Out[s] = gi;\n}}\n"
        );
        let findings = lint(text.as_bytes());
        assert!(findings.iter().all(|finding| finding.fix.is_none()));
        said(&findings)
    };
    assert_eq!(
        said("InterlockedAdd(g_Dead[0], 1, s)"),
        "atomic-slot-claim: 64 threads each claim a slot from g_Dead[0] with an atomic\n  \
         proved, if the unknown name `g_Dead` is the same memory or constant for all threads: all active threads use \
         one address; all 64 threads of the group make this atomic, for every input\n  \
         from shader model 6.0 on, one lane can claim for its whole wave: WaveActiveCountBits is the number of slots, WaveReadLaneFirst broadcasts the first slot, and WavePrefixCountBits is the offset of each lane\n  \
         on an NVIDIA H200, whose driver combines such atomics itself, the wave form was no faster in a buffer with one counter for all groups: \
         24.57 ms either way, for 64 repetitions; other hardware was not measured\n  \
         no automatic fix: unknown name `g_Dead`: pass -D or -I"
    );
    let of_two = said("InterlockedAdd(g_Args[ALIVE], 1, s)");
    assert!(
        of_two.contains("proved, if the unknown names `ALIVE` and `g_Args` are the same memory or constants for all threads: all"),
        "{of_two}"
    );
}

#[test]
fn what_a_missing_header_declares_may_be_constants_or_stored_to() {
    let said = |body: &str| {
        let text = format!(
            "#include \"missing.h\"\nRWByteAddressBuffer Count;\nConstantBuffer<Constants> constants;\n\
             [numthreads(64, 1, 1)]\nvoid main(uint id : SV_DispatchThreadID)\n{{\n    uint s;\n    {body}\n}}\n"
        );
        let findings = lint(text.as_bytes());
        let told = findings.iter().map(|finding| finding.message.clone());
        told.collect::<Vec<String>>()
    };
    let claims = |body: &str| said(&format!("{body} Count.InterlockedAdd(0, 1, s); g_Index[s] = id;"));
    let up_to = ["up to 64 threads each claim a slot from Count with an atomic"];
    assert_eq!(
        claims(""),
        ["64 threads each claim a slot from Count with an atomic"]
    );
    assert_eq!(claims("if (id >= constants.Counts.x) return;"), up_to);
    assert_eq!(claims("if (id >= constants.Counts[2].x) return;"), up_to);
    // It may be the lane's number, or a macro.
    assert_eq!(claims("if (id != constants.Counts.firstLane) return;"), [""; 0]);
    assert_eq!(claims("if (id != constants.COUNT) return;"), [""; 0]);
    // One thread of a wave, whichever.
    assert_eq!(claims("if (id == constants.Counts.x) { } else return;"), [""; 0]);
}

#[test]
fn a_race_for_another_bound_is_not_one_for_this() {
    let text = "StructuredBuffer<uint> In; RWStructuredBuffer<uint> Out; cbuffer C { uint Count; } groupshared uint g[64];\n\
                [numthreads(64, 1, 1)]\nvoid main(uint t : SV_GroupIndex)\n{\n    for (uint p = 0; p < Count; ++p)\n    {\n        \
                g[t] = In[t + p * 64];\n        GroupMemoryBarrierWithGroupSync();\n        \
                for (uint o = 1; o < 64; o <<= 1)\n        {\n            uint l = t >= o ? g[t - o] : 0;\n            \
                GroupMemoryBarrierWithGroupSync();\n            g[t] += l;\n            \
                GroupMemoryBarrierWithGroupSync();\n        }\n        Out[t + p * 64] = g[63 - t];\n    }\n}\n";
    let said_of = |text: &str| said(&lint(text.as_bytes()));
    let said = said_of(text);
    assert!(said.contains("race-free; for Count = 1\n"), "{said}");
    // What a macro stands for is one place: its ladder is not free of the race that its first statement has.
    let text = "StructuredBuffer<uint> In; RWStructuredBuffer<uint> Out; groupshared uint g[64];\n\
                #define SUM(x) g[t] = x; for (d = 32; d > 0; d >>= 1) { GroupMemoryBarrierWithGroupSync(); \
                if (t < d) g[t] += g[t + d]; } GroupMemoryBarrierWithGroupSync();\n\
                [numthreads(64, 1, 1)]\nvoid main(uint t : SV_GroupIndex)\n{\n    uint d;\n    SUM(In[t])\n    \
                uint a = g[0];\n    SUM(In[t + 64])\n    Out[t] = g[0] + a;\n}\n";
    let said = said_of(text);
    assert!(
        said.contains("g[63], once the reported race on its array is fixed\n"),
        "{said}"
    );
}

/// The figures of a note are those of the page.
#[test]
fn what_was_measured_is_on_the_page() {
    let text = "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out; groupshared uint g;\n[numthreads(64, 1, 1)]\n\
                void main(uint gi : SV_GroupIndex)\n{\n    if (gi == 0)\n        g = 0;\n    GroupMemoryBarrierWithGroupSync();\n    \
                InterlockedAdd(g, Src[gi]);\n    GroupMemoryBarrierWithGroupSync();\n    Out[gi] = g;\n}\n";
    let said = said(&lint(text.as_bytes()));
    assert!(
        said.contains("slower in groupshared memory: 2.30 ms against 1.34 ms"),
        "{said}"
    );
    let page = include_str!("../../docs/measurements.md");
    assert!(page.contains("a sum and bits in groupshared memory: 1.34 ms against 2.30 ms"));
    let slots = text.replace(
        "InterlockedAdd(g, Src[gi]);",
        "uint s;\n    InterlockedAdd(g, 1, s);\n    Out[s] = 1;",
    );
    let said = self::said(&lint(slots.as_bytes()));
    assert!(
        said.contains("slower in groupshared memory: 2.98 ms against 0.83 ms"),
        "{said}"
    );
    assert!(page.contains("0.83 ms against 2.98 ms in groups of 64"));
}

#[test]
fn without_a_fix_the_reason_is_said() {
    let of_eight = |declarations: &str, body: &str| {
        said(&lint(
            format!(
                "StructuredBuffer<float> Src; RWStructuredBuffer<float> Out; RWStructuredBuffer<uint> Counters; {declarations}\n\
                 [numthreads(8, 8, 1)] void main(uint gi : SV_GroupIndex)\n{{\n{body}\n}}\n"
            )
            .as_bytes(),
        ))
    };
    let ladder = "if (gi < 32) g[gi] = Src[gi];\nGroupMemoryBarrierWithGroupSync();\nfor (uint i = 16; i > 0; i /= 2)\n{\nif (gi < i)\n\
                  g[gi] += g[gi + i];\nGroupMemoryBarrierWithGroupSync();\n}\nif (gi == 0)\nOut[0] = g[0];";
    let floats = of_eight("groupshared float g[32];", ladder);
    for said in [
        "proved: g[0] ends as the sum of g[0] \u{2026} g[31], race-free, up to rounding",
        "a wave form needs shader model 6.0\n",
        "wave intrinsics combine floats in another order, so results may round differently",
        "no automatic fix: shaderlint writes no wave form for the sum of 32 floats in a group of \
         8\u{d7}8\u{d7}1",
    ] {
        assert!(floats.contains(said), "{floats}");
    }
    let scan = "g[gi] = Src[gi];\nGroupMemoryBarrierWithGroupSync();\nfor (uint i = 1; i < 64; i *= 2)\n{\nfloat v = gi < i ? 0 : g[gi - i];\n\
                GroupMemoryBarrierWithGroupSync();\ng[gi] += v;\nGroupMemoryBarrierWithGroupSync();\n}\nOut[gi] = g[gi];";
    let sums = of_eight("groupshared float g[64];", scan);
    let least = of_eight(
        "groupshared float g[64];",
        &scan
            .replace("+= v", "= min(g[gi], v)")
            .replace("? 0", "? asfloat(0x7f800000)"),
    );
    for (of, said) in [
        (
            &sums,
            "a wave form needs shader model 6.0; a form in which each thread scans its own element also \
             needs waves that hold consecutive threads (all known implementations pack 1-D groups this way): make the \
             group 64\u{d7}1\u{d7}1 and compute its coordinates from SV_GroupIndex\n",
        ),
        (
            &sums,
            "no automatic fix: shaderlint writes no wave form for such a scan of 64 elements in a group of \
             8\u{d7}8\u{d7}1",
        ),
        (
            &least,
            "no automatic fix: shaderlint writes no wave form for such a scan of 64 elements in a group of \
             8\u{d7}8\u{d7}1",
        ),
    ] {
        assert!(of.contains(said), "{of}");
    }
    let counted = of_eight(
        "",
        "if (Src[gi] > 0)\n{\nuint s;\nInterlockedAdd(Counters[Src[0]], 1, s);\nOut[s] = 1;\n}\nelse\n{\nInterlockedAdd(Counters[1], 1);\n}",
    );
    let used = "no automatic fix: another atomic on Counters returns its old value on line 7";
    assert!(counted.contains(used), "{counted}");
    let fenced = of_eight(
        "",
        "InterlockedAdd(Counters[1], 1);\nDeviceMemoryBarrier();\nOut[gi] = 1;",
    );
    let barrier = "no automatic fix: the memory barrier on line 5 may let a thread observe at what time its atomic is made";
    assert!(fenced.contains(barrier), "{fenced}");
}

/// Names that a file has taken are numbered, and those of several results stay apart.
#[test]
fn results_of_the_same_statements_have_names_of_their_own() {
    let text = format!(
        "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out; groupshared uint g[64]; groupshared uint h[64];\n\
         static uint waveTotal; static uint waveSecond;\n[numthreads(64, 1, 1)] void main(uint gi : SV_GroupIndex)\n{{\n\
         g[gi] = Src[gi];\nh[gi] = Src[gi];\n{BARRIER}\nfor (uint i = 32; i > 0; i /= 2)\n{{\nif (gi < i)\n{{\n\
         g[gi] = min(g[gi], g[gi + i]);\nh[gi] = max(h[gi], h[gi + i]);\n}}\n{BARRIER}\n}}\n\
         if (gi == 0)\n{{\nOut[0] = g[0];\nOut[1] = h[0];\n}}\n}}\n"
    );
    let fixed = settle(text.as_bytes(), true, lint, |findings| findings).text;
    let fixed = String::from_utf8_lossy(&fixed);
    for stored in ["g[0] = waveTotal2;", "h[0] = waveSecond2;"] {
        assert!(fixed.contains(stored), "{fixed}");
    }
}

/// What is said of floats is said of any of the results, whichever comes first.
#[test]
fn floats_among_several_results_are_floats() {
    let of = |declared: &str, combined: &str| {
        let text = format!(
            "StructuredBuffer<uint> Src; StructuredBuffer<float> FSrc; RWStructuredBuffer<uint> Out; RWStructuredBuffer<float> FOut;\n\
             {declared}\n[numthreads(64, 1, 1)] void main(uint gi : SV_GroupIndex)\n{{\n\
             a[gi] = Src[gi];\nb[gi] = FSrc[gi];\n{BARRIER}\nfor (uint i = 32; i > 0; i /= 2)\n{{\nif (gi < i)\n{{\n{combined}\n}}\n\
             {BARRIER}\n}}\nif (gi == 0)\n{{\nOut[0] = a[0];\nFOut[0] = b[0];\n}}\n}}\n"
        );
        let findings = lint(text.as_bytes());
        let found = findings
            .iter()
            .find(|finding| finding.rule == "hand-rolled-reduction");
        let found = found.expect("a reduction");
        let safety = found.fix.as_ref().expect("a fix").safety;
        let said = |text: &str| found.notes.iter().any(|note| note.contains(text));
        (
            safety,
            found.verdict,
            [said("results may round differently"), said("return for NaNs")],
        )
    };
    let arrays = "groupshared uint a[64]; groupshared float b[64];";
    let own = "a[gi] += a[gi + i];";
    let sum = of(arrays, &format!("{own} b[gi] += b[gi + i];"));
    assert_eq!(sum, (Safety::Unsafe, Verdict::Reassociates, [true, false]));
    let least = of(arrays, &format!("{own} b[gi] = min(b[gi], b[gi + i]);"));
    assert_eq!(least, (Safety::Unsafe, Verdict::Proved, [false, true]));
    let both = of(
        "groupshared float a[64]; groupshared float b[64];",
        "a[gi] = min(a[gi], a[gi + i]); b[gi] += b[gi + i];",
    );
    assert_eq!(both, (Safety::Unsafe, Verdict::Reassociates, [true, true]));
    let none = of(
        "groupshared uint a[64]; groupshared uint b[64];",
        &format!("{own} b[gi] = min(b[gi], b[gi + i]);"),
    );
    assert_eq!(none, (Safety::Safe, Verdict::Proved, [false, false]));
}

/// Where more than a float hangs on how floats round, the proof of an unsafe fix says so.
#[test]
fn what_hangs_on_rounding_is_told() {
    let proof = |stored: &str| {
        let text = format!(
            "StructuredBuffer<float> Src; RWStructuredBuffer<uint> Out; groupshared float g[64];\n\
             [numthreads(64, 1, 1)] void main(uint gi : SV_GroupIndex)\n{{\ng[gi] = Src[gi];\n{BARRIER}\n\
             for (uint i = 32; i > 0; i /= 2)\n{{\nif (gi < i) g[gi] += g[gi + i];\n{BARRIER}\n}}\nif (gi == 0) {stored}\n}}\n"
        );
        let findings = lint(text.as_bytes());
        let found = findings
            .iter()
            .find(|finding| finding.rule == "hand-rolled-reduction");
        let found = found.expect("a reduction");
        match &found.fix {
            Some(fix) => {
                assert_eq!(fix.safety, Safety::Unsafe);
                fix.proof.as_ref().map(ToString::to_string).unwrap_or_default()
            }
            None => found.no_fix.as_ref().map_or("", |why| why.note()).to_owned(),
        }
    };
    let beyond = "the fix is proved: the kernel writes the same values, up to rounding, which may change \
         more than a float's value, at wave sizes 4 to 128 (lane map: linear)";
    assert_eq!(proof("Out[0] = (uint)g[0];"), beyond);
    assert_eq!(proof("if (g[0] > 3) Out[0] = 1;"), beyond);
    assert_eq!(proof("Out[(uint)g[0]] = 1;"), beyond);
    assert!(proof("{ precise float total = g[0]; Out[0] = (uint)total; }").contains("despite `precise`"));
}

/// Each as it is: another array, type or size would have a form.
#[test]
fn what_no_form_is_written_for_is_named() {
    let of = |declared: &str, size: &str, array: &str| {
        let text = format!(
            "StructuredBuffer<float> Src; RWStructuredBuffer<float> Out;\n{declared}\n\
             void Reduce(uint gi, inout float sum)\n{{\n{array}[gi] = sum;\nfor (uint i = 32; i > 0; i /= 2)\n{{\n{BARRIER}\nif (gi < i)\n\
             {array}[gi] = sum += {array}[gi + i];\n}}\n}}\n\
             [numthreads({size}, 1, 1)] void main(uint gi : SV_GroupIndex)\n{{\nfloat sum = Src[gi];\nReduce(gi, sum);\nif (gi == 0) Out[0] = sum;\n}}\n"
        );
        said(&lint(text.as_bytes()))
    };
    let why = of("groupshared float g[2][2][64];", "64", "g[1][1]");
    let reason = "no automatic fix: shaderlint writes no wave form for elements in `g`, an array of arrays";
    assert!(why.contains(reason), "{why}");
    // The loop's variable is another one.
    let why = of("groupshared float g[64];\nstatic const uint i = 64;", "i", "g");
    let reason = "no automatic fix: a wave form needs the group's size, but the name of that size may mean \
         something else here, or nothing";
    assert!(why.contains(reason), "{why}");
}

#[test]
fn a_macro_that_holds_the_ladder_is_named() {
    let text = "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out;\n\
                #define SCAN(a) groupshared uint a[64]; void a##Scan(uint gi) { \\\n\
                for (uint d = 1; d < 64; d *= 2) { uint t = gi >= d ? a[gi - d] : 0; \\\n\
                GroupMemoryBarrierWithGroupSync(); a[gi] += t; GroupMemoryBarrierWithGroupSync(); } }\n\
                SCAN(g)\n[numthreads(64, 1, 1)]\nvoid main(uint gi : SV_GroupIndex)\n{\n    g[gi] = Src[gi];\n    \
                GroupMemoryBarrierWithGroupSync();\n    gScan(gi);\n    Out[gi] = g[gi];\n}\n";
    let findings = lint(text.as_bytes());
    let said = said(&findings);
    assert!(
        said.contains("the ladder comes from the macro SCAN, defined on line 2"),
        "{said}"
    );
    assert!(
        said.contains("no automatic fix: the text that the fix would change comes from a macro\n")
            || said.ends_with("comes from a macro"),
        "{said}"
    );
    let labels: usize = findings.iter().map(|finding| finding.secondary.len()).sum();
    assert_eq!((findings.len(), labels), (1, 0), "{findings:#?}");
}

#[test]
fn words_are_those_of_what_is_counted() {
    let amount = |amount: &str| {
        said(&lint(
            format!(
                "RWStructuredBuffer<uint> Out; uint n;\n[numthreads(64, 1, 1)]\nvoid main(uint gi : SV_GroupIndex)\n{{\n    \
                 InterlockedAdd(Out[0], {amount});\n}}\n"
            )
            .as_bytes(),
        ))
    };
    for (put, with) in [
        ("1", "WaveActiveCountBits"),
        ("3", "WaveActiveCountBits"),
        ("n", "WaveActiveSum"),
        ("gi", "WaveActiveSum"),
    ] {
        let said = amount(put);
        assert!(said.contains(&format!("{with} combines")), "{said}");
    }
    // What threads that race leave is not what they are told by one.
    let of_float = |amount: &str| {
        said(&lint(
            format!(
                "RWStructuredBuffer<uint> Out; StructuredBuffer<uint> Src; groupshared float k;\n[numthreads(64, 1, 1)]\n\
                 void main(uint gi : SV_GroupIndex)\n{{\nk = 0;\n{BARRIER}\nif (Src[gi] > 3)\nInterlockedAdd(Out[0], {amount});\n}}\n"
            )
            .as_bytes(),
        ))
    };
    assert!(
        of_float("++k").contains("WaveActiveSum combines"),
        "{}",
        of_float("++k")
    );
    assert!(of_float("1").contains("WaveActiveCountBits combines"));
    let of_vectors = "StructuredBuffer<float4> Src; RWStructuredBuffer<float4> Out; groupshared float4 g[64];\n\
                      [numthreads(64, 1, 1)]\nvoid main(uint gi : SV_GroupIndex)\n{\n    g[gi] = Src[gi];\n    \
                      GroupMemoryBarrierWithGroupSync();\n    for (uint i = 32; i > 0; i /= 2)\n    {\n        if (gi < i)\n            \
                      g[gi] += g[gi + i];\n        GroupMemoryBarrierWithGroupSync();\n    }\n    if (gi == 0)\n        Out[0] = g[0];\n}\n";
    let said_of = |text: &str| said(&lint(text.as_bytes()));
    let all = said_of(of_vectors);
    assert!(
        all.starts_with("hand-rolled-reduction: hand-rolled sum of 64 float4s\n"),
        "{all}"
    );
    let one = said_of(&of_vectors.replace("g[gi] += g[gi + i];", "g[gi].x += g[gi + i].x;"));
    assert!(
        one.contains("hand-rolled sum of the x components of 64 float4s\n"),
        "{one}"
    );
    let outside = said_of(
        "RWStructuredBuffer<uint> Out; groupshared uint g[1];\n[numthreads(64, 1, 1)]\nvoid main(uint gi : \
                           SV_GroupIndex)\n{\n    g[gi] = gi;\n    GroupMemoryBarrierWithGroupSync();\n    Out[gi] = g[0];\n}\n",
    );
    assert!(
        outside.contains("is outside the array, which has 1 element\n"),
        "{outside}"
    );
    // What is not understood may write to what it is given, or not.
    let unknown = said_of(
        "RWStructuredBuffer<uint> Out; groupshared uint g[8]; uint WavePrefixSum(uint a) { return a; }\n[numthreads(64, 1, 1)]\n\
         void main(uint gi : SV_GroupIndex)\n{\n    if (gi < 8) g[gi] = gi;\n    GroupMemoryBarrierWithGroupSync();\n    \
         Out[gi] = WavePrefixSum(g[gi]);\n}\n",
    );
    assert_eq!(unknown, "");
}

#[test]
fn totals_are_named_as_their_array_is() {
    let of = |name: &str| {
        let text = format!(
            "StructuredBuffer<float> Src; RWStructuredBuffer<float> Out; groupshared float {name}[64];\n[numthreads(64, 1, 1)]\n\
             void main(uint gi : SV_GroupIndex)\n{{\n    {name}[gi] = Src[gi];\n    {BARRIER}\n    for (uint i = 32; i > 0; \
             i /= 2)\n    {{\n        if (gi < i)\n            {name}[gi] += {name}[gi + i];\n        {BARRIER}\n    }}\n    \
             if (gi == 0)\n        Out[0] = {name}[0];\n}}\n"
        );
        let settled = settle(text.as_bytes(), true, lint, |findings| findings);
        let fixed = String::from_utf8_lossy(&settled.text).into_owned();
        let declared = fixed.split("groupshared float ").nth(1).map(str::to_owned);
        declared.map(|rest| rest.split('[').next().unwrap_or_default().to_owned())
    };
    for (array, totals) in [
        ("gs_Sum", "gs_SumWaveTotals"),
        ("g_Sum", "g_SumWaveTotals"),
        ("sums", "sumsWaveTotals"),
        ("g_part_sums", "g_part_sums_wave_totals"),
        ("part_sums", "part_sums_wave_totals"),
    ] {
        assert_eq!(of(array).as_deref(), Some(totals));
    }
}

/// Code for few cells can stand where the call does, in a list of statements and as the one that an `if` chooses.
#[test]
fn code_for_bins_is_read_where_the_call_stands() {
    let text = |call: &str| {
        format!(
            "StructuredBuffer<uint> Keys; RWStructuredBuffer<uint> Out; groupshared uint g[4];\n\
             [numthreads(64, 1, 1)] void main(uint gi : SV_GroupIndex)\n{{\n    uint key = Keys[gi], old;\n    \
             if (gi < 4) g[gi] = 0;\n    {BARRIER}\n    {call}\n    {BARRIER}\n    Out[gi] = g[gi & 3];\n}}\n"
        )
    };
    let calls = [
        "InterlockedAdd(g[key & 3], 1);",
        "InterlockedAdd(g[key & 3], 1, old); Out[64 + old] = key;",
        "InterlockedAdd(g[key & 3], key);",
    ];
    for (call, profile) in calls.iter().flat_map(|call| [(call, "6.0"), (call, "6.6")]) {
        let (first, rest) = call.split_once(';').expect("a statement");
        for around in [
            "CALL;",
            "if (key > 9) CALL; else Out[0] = key;",
            "if (key > 9) { CALL; }",
            "for (uint i = 0; i < 4; ++i) CALL;",
            "switch (key) { case 1: CALL; break; default: break; }",
        ] {
            let of = |statement: &str| text(&format!("{}{rest}", around.replace("CALL;", statement)));
            let findings = lint_for(of(&format!("{first};")).as_bytes(), profile);
            let note = findings.iter().flat_map(|finding| &finding.notes);
            let mut code = note.filter_map(|note| note.split_once("):\n"));
            let (_, code) = code
                .next()
                .unwrap_or_else(|| panic!("no code for {call} in {around}"));
            let (_, problems) = shaderlint_hlsl::read("test.hlsl", of(code).as_bytes(), &[], &NoIncludes);
            assert!(problems.is_empty(), "{around}: {problems:?}\n{}", of(code));
        }
    }
}

/// A form orders for other groups what its ladder ordered, and no more.
#[test]
fn a_form_has_the_barriers_of_its_ladder() {
    const ALL: &str = "AllMemoryBarrierWithGroupSync();";
    const DEVICE: &str = "DeviceMemoryBarrierWithGroupSync();";
    let device = format!("{DEVICE} {BARRIER}");
    let fence = format!("DeviceMemoryBarrier(); {BARRIER}");
    for (first, last, expected) in [
        (BARRIER, BARRIER, BARRIER),
        (ALL, ALL, ALL),
        (BARRIER, ALL, ALL),
        (BARRIER, &device, ALL),
        (BARRIER, &fence, ALL),
    ] {
        let text = format!(
            "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out; groupshared uint g[64];\n\
             globallycoherent RWStructuredBuffer<uint> Flag;\n\
             [numthreads(64, 1, 1)] void main(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID)\n{{\n    \
             Out[id.x] = 0;\n    g[gi] = Src[id.x];\n    {BARRIER}\n    \
             for (uint s = 1; s < 64; s <<= 1)\n    {{\n        uint left = gi >= s ? g[gi - s] : 0;\n        {first}\n        \
             g[gi] += left;\n        {last}\n    }}\n    if (gi == 63)\n        InterlockedAdd(Flag[0], g[gi]);\n}}\n"
        );
        let findings = lint_for(text.as_bytes(), "6.0");
        let fixes = findings.iter().filter_map(|finding| finding.fix.as_ref());
        let forms: String = fixes.flat_map(|fix| &fix.edits).map(|edit| &*edit.text).collect();
        let lines = forms.lines().map(str::trim);
        let barriers: Vec<&str> = lines.filter(|line| line.contains("Barrier")).collect();
        assert_eq!(barriers, [expected], "{first} {last}: {forms}");
    }
}

/// What no barrier is known to order with a construct is named by its line.
#[test]
fn what_leaves_a_construct_unordered_is_named() {
    let of = |body: &str| {
        let text = format!(
            "StructuredBuffer<uint> In; RWStructuredBuffer<uint> Out; cbuffer C {{ uint Count; }} groupshared uint g[64];\n\
             [numthreads(64, 1, 1)] void main(uint t : SV_GroupIndex)\n{{\n{}\n}}\n",
            body.replace("SYNC", BARRIER)
        );
        said(&lint(text.as_bytes()))
    };
    let text = of(
        "g[t] = 7; SYNC\nuint seven = g[63 - t];\nOut[t + 1] = seven;\nuint v = In[t]; g[t] = v;\n\
                   for (uint d = 32; d > 0; d >>= 1) { SYNC if (t < d) { v += g[t + d]; g[t] = v; } }\nSYNC\n\
                   if (t == 0) Out[0] = g[0];",
    );
    let proved =
        "although the read on line 5 may run at the same time, as no barrier is proved to separate the two";
    let reason = "the read on line 5 may run while the ladder stores its elements, as no barrier is proved to separate the two";
    assert!(text.contains(proved) && text.contains(reason), "{text}");
    let text = of(
        "g[t] = In[t]; SYNC\nfor (uint d = 32; d > 0; d >>= 1) { if (t < d) g[t] += g[t + d]; SYNC }\n\
                   Out[t] = g[0];\nif (Count == 0) SYNC\ng[t] = 0;",
    );
    let barrier = "for some inputs, threads may not reach the barrier on line 7";
    assert!(text.contains(&format!("though, {barrier}")), "{text}");
}

/// What another build reads is left, and a fix of floats depends on macros as any other does.
#[test]
fn what_other_builds_read_is_left() {
    let fix = |ty: &str, end: &str| {
        let text = format!(
            "StructuredBuffer<{ty}> Src; RWStructuredBuffer<{ty}> Out; groupshared {ty} g[64];\n\
             [numthreads(64, 1, 1)] void main(uint gi : SV_GroupIndex)\n{{\nuint s = 32;\ng[gi] = Src[gi];\n{BARRIER}\n\
             for (; s > 0; s >>= 1)\n{{\nif (gi < s) g[gi] += g[gi + s];\n{BARRIER}\n}}\nif (gi == 0) Out[0] = g[0];\n{end}\n}}\n"
        );
        let findings = lint(text.as_bytes());
        let fix = findings.into_iter().find_map(|finding| finding.fix).unwrap();
        let edits: String = fix.edits.iter().map(|edit| &*edit.text).collect();
        let depends = fix.notes.iter().any(|note| note.text.contains("#if or -D"));
        (edits.contains("s = 0u;"), depends)
    };
    for ty in ["uint", "float"] {
        assert_eq!(fix(ty, ""), (false, false));
        assert_eq!(fix(ty, "if (gi == 1) Out[1] = s;"), (true, false));
        assert_eq!(
            fix(ty, "#ifdef DEBUG\nif (gi == 0) Out[1] = s;\n#endif"),
            (true, true)
        );
        assert_eq!(fix(ty, "#if 0\nif (gi == 0) Out[1] = s;\n#endif"), (false, false));
    }
}
