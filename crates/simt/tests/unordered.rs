//! Ladders beside reads that no barrier orders with their first writes: the reads find anything, the ladders are what they
//! are.

use shaderlint_simt::{Analysis, Collective, analyze};

fn of_kernel(source: &str) -> (String, Analysis) {
    let source = format!(
        "StructuredBuffer<uint> In; RWStructuredBuffer<uint> Out; cbuffer C {{ uint Count; }} groupshared uint g[64];\n\
         {source}\n"
    )
    .replace("SYNC", "GroupMemoryBarrierWithGroupSync()");
    let (shader, problems) = shaderlint_hlsl::parse(source.clone().into_bytes());
    assert!(problems.is_empty(), "{problems:?}");
    let (entry, _) = shader.entry_points().next().expect("an entry point");
    (source, analyze(&shader, entry))
}

/// A line for each collective: its last line and how it holds; and the number of races.
fn found(source: &str) -> (Vec<String>, usize) {
    let (source, analysis) = of_kernel(source);
    let line = |found: &Collective| source[..found.span.end as usize].matches('\n').count();
    let told = analysis.collectives.iter().map(|found| {
        let instances = found.instances.iter();
        let instances: Vec<String> = instances.map(|i| format!(" {} = {}", i.bound, i.value)).collect();
        let instances = instances.concat();
        let amid = if found.amid.is_some() { " amid" } else { "" };
        format!("{:?} {}{instances}{amid}", found.kind, line(found))
    });
    (told.collect(), analysis.races.len())
}

fn kernel(body: &str) -> String {
    format!("[numthreads(64, 1, 1)] void main(uint t : SV_GroupIndex) {{\n{body}\n}}")
}

/// Its first barrier is in the loop: no barrier stands between what is read before and its first store.
const LADDER: &str = "for (uint d = 32; d > 0; d >>= 1) { SYNC; if (t < d) g[t] += g[t + d]; } SYNC;";

/// The same with the element in `v`.
const IN_REGISTER: &str =
    "for (uint d = 32; d > 0; d >>= 1) { SYNC; if (t < d) { v += g[t + d]; g[t] = v; } } SYNC;";

#[test]
fn a_total_is_read_while_the_next_ladder_begins() {
    let helper = |end: &str| format!("uint Total(uint t, uint v) {{ g[t] = v;\n{LADDER}\n{end} }}");
    let body = "uint a = Total(t, In[t]);\nuint b = Total(t, In[t] * a);\nOut[t] = b;";
    let of_helper = |end: &str| found(&format!("{}\n{}", helper(end), kernel(body)));
    assert_eq!(
        of_helper("uint s = g[0]; SYNC; return s;"),
        (vec!["Reduction 2".to_owned()], 0)
    );
    assert_eq!(of_helper("return g[0];"), (vec!["Reduction 2".to_owned()], 1));
}

/// The second ladder is another loop: it alone is amid reads that are not ordered.
#[test]
fn the_ladder_after_a_read_is_found_too() {
    let between = |between: &str, ladder: &str| {
        kernel(&format!(
            "g[t] = In[t];\n{LADDER}\nuint first = g[0];{between}\nuint v = In[t + 64] * first; g[t] = v;\n\
             {ladder}\nOut[t] = g[0];"
        ))
    };
    let two = |second: &str| vec!["Reduction 3".to_owned(), second.to_owned()];
    assert_eq!(found(&between(" SYNC;", LADDER)), (two("Reduction 6"), 0));
    assert_eq!(found(&between("", LADDER)), (two("Reduction 6"), 1));
    // That the register holds what is in the array is known of its own store alone, which the read races with.
    assert_eq!(found(&between(" SYNC;", IN_REGISTER)), (two("Reduction 6"), 0));
    assert_eq!(found(&between("", IN_REGISTER)), (two("Reduction 6 amid"), 1));
}

/// What the ladder itself reads too early is not what was written.
#[test]
fn a_ladder_that_races_with_itself_is_none() {
    let no_barrier = "g[t] = In[t]; SYNC;\nfor (uint d = 32; d > 0; d >>= 1) { if (t < d) g[t] += g[t + d]; }\nOut[t] = g[0];";
    assert_eq!(found(&kernel(no_barrier)).0, Vec::<String>::new());
    let single = "g[t] = In[t]; SYNC;\nfor (uint d = 1; d < 64; d <<= 1) { if (t >= d) g[t] += g[t - d]; SYNC; }\nOut[t] = g[t];";
    assert_eq!(found(&kernel(single)).0, Vec::<String>::new());
    // The last rung alone is too early.
    let last = "g[t] = In[t]; SYNC;\nfor (uint d = 32; d > 1; d >>= 1) { if (t < d) g[t] += g[t + d]; if (d > 2) SYNC; }\n\
                if (t == 0) Out[0] = g[0] + g[1];";
    assert_eq!(found(&kernel(last)).0, Vec::<String>::new());
}

/// A condition on what a racing read found is not known, whatever it would be without the race.
#[test]
fn what_a_racing_read_decides_is_not_known() {
    let body = |between: &str, condition: &str, ladder: &str| {
        let ladder = ladder.replace("t < d", &format!("t < d{condition}"));
        kernel(&format!(
            "g[t] = 7; SYNC;\nuint seven = g[63 - t];{between}\nuint v = In[t]; g[t] = v;\n{ladder}\nOut[t] = g[0];"
        ))
    };
    for (ladder, amid) in [(LADDER, "Reduction 5"), (IN_REGISTER, "Reduction 5 amid")] {
        assert_eq!(
            found(&body(" SYNC;", " && seven == 7", ladder)).0,
            ["Reduction 5"]
        );
        assert_eq!(found(&body("", "", ladder)).0, [amid]);
        assert_eq!(found(&body("", " && seven == 7", ladder)).0, Vec::<String>::new());
    }
}

/// In a loop of the host's length a pass begins before the last one's total is read; one pass alone is sound.
#[test]
fn a_pass_that_the_next_one_races_with_holds_alone() {
    let body = |end: &str| {
        kernel(&format!(
            "for (uint p = 0; p < Count; p++) {{ g[t] = In[t + p * 64]; SYNC;\n\
             for (uint d = 32; d > 1; d >>= 1) {{ if (t < d) g[t] += g[t + d]; SYNC; }}\n\
             if (t == 0) Out[p] = g[0] + g[1]; {end} }}"
        ))
    };
    assert_eq!(
        found(&body("SYNC;")),
        (vec!["Reduction 4 Count = 2".to_owned()], 0)
    );
    assert_eq!(found(&body("")), (vec!["Reduction 4 Count = 1".to_owned()], 1));
}

/// A helper that is called twice is one construct, found once.
#[test]
fn a_helper_that_runs_twice_is_found_once() {
    let helper = "void Sum(uint t, inout uint v) {\ng[t] = v;\nfor (uint d = 32; d > 1; d >>= 1) { SYNC; if (t < d) { v += g[t + d]; g[t] = v; } }\n\
                  SYNC; if (t == 0) v += g[1]; SYNC; }";
    let body = "uint a = In[t]; Sum(t, a); if (t == 0) Out[0] = a;\nuint b = In[t + 7] * 2;\nSum(t, b);\nif (t == 0) Out[1] = b;";
    let (told, races) = found(&format!("{helper}\n{}", kernel(body)));
    assert_eq!((told, races), (vec!["Reduction 4".to_owned()], 0));
}

/// A barrier orders nothing for the inputs that do not lead to it.
#[test]
fn a_barrier_that_some_inputs_lead_to_orders_nothing_for_the_others() {
    const TREE: &str = "for (uint d = 32; d > 0; d >>= 1) { if (t < d) g[t] += g[t + d]; SYNC; }";
    let after = |step: &str| found(&kernel(&format!("g[t] = In[t];\n{step}\n{TREE}\nOut[t] = g[0];"))).0;
    let one = |kind: &str| vec![kind.to_owned()];
    assert_eq!(after("SYNC;"), one("Reduction 4"));
    for step in [
        "if (Count == 0) SYNC;",
        "if (In[0] == 0) { SYNC; }",
        "if (Count == 0) { if (In[1] == 0) SYNC; }",
        "for (uint i = 0; i < Count; ++i) SYNC;",
        "switch (Count) { case 0: SYNC; break; case 1: SYNC; break; }",
        "if (Count == 0) { g[t] = 1; SYNC; }",
    ] {
        assert_eq!(after(step), Vec::<String>::new(), "{step}");
    }
    // Whoever comes to the ladder has passed it.
    for (before, end) in [
        ("if (Count == 0) { SYNC;", "}"),
        ("if (Count == 0) { SYNC; if (In[0] == 0) {", "} }"),
        ("if (Count == 0) SYNC; else SYNC; SYNC; {", "}"),
    ] {
        let body = format!("g[t] = In[t];\n{before}\n{TREE}\nOut[t] = g[0]; {end}");
        assert_eq!(found(&kernel(&body)).0, one("Reduction 4"), "{before}");
    }
    // After the ladder it is the ladder's last reads that may race.
    let body = format!("g[t] = In[t]; SYNC;\n{TREE}\nOut[t] = g[0]; if (Count == 0) SYNC; g[t] = 0;");
    assert_eq!(found(&kernel(&body)).0, one("Reduction 3 amid"));
}

/// Whether all threads come to a ladder may hang on what they read, be it a race's read or not.
#[test]
fn that_all_threads_reach_the_barriers_is_said_to_be_presumed() {
    let presumes = |body: &str| {
        let (_, analysis) = of_kernel(&kernel(body));
        let presumes = analysis.collectives.iter().map(|found| found.presumes);
        presumes.collect::<Vec<bool>>()
    };
    let guarded = |guard: &str| {
        presumes(&format!(
            "g[t] = In[t]; SYNC; {guard} {{ {LADDER} Out[t] = g[0]; }}"
        ))
    };
    assert_eq!(guarded(""), [false]);
    assert_eq!(guarded("if (Count > 5)"), [false]);
    assert_eq!(guarded("if (In[t] > 5)"), [true]);
    let flag = "if (t == 0) g[7] = 1; SYNC; uint f = g[7]; SYNCHRONISED if (t == 0) g[7] = 0; SYNC;";
    let guarded = format!("{flag} g[t] = In[t]; if (f == 1) {{ {LADDER} }}");
    assert_eq!(presumes(&guarded.replace("SYNCHRONISED", "SYNC;")), [false]);
    assert_eq!(presumes(&guarded.replace("SYNCHRONISED", "")), [true]);
}
