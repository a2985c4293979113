//! The missing barrier: where it goes, and where there is no place for it.

use shaderlint_hlsl::NoIncludes;
use shaderlint_linter::{Diagnostic, Safety, Settings, check_shader, settle};
use shaderlint_rules::RULES;

/// Not the barriers that are needless once the race is ended.
fn lint(text: &[u8]) -> Vec<Diagnostic> {
    let (shader, _) = shaderlint_hlsl::read("test.hlsl", text, &[], &NoIncludes);
    let mut findings = check_shader(&shader, RULES, &Settings::default()).findings;
    findings.retain(|finding| finding.rule != "redundant-barrier");
    findings
}

fn kernel(declarations: &str, body: &str) -> String {
    format!(
        "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out; groupshared uint g[64]; groupshared uint h[64];\n\
         cbuffer B {{ uint n; }};\n{declarations}\n[numthreads(64, 1, 1)]\nvoid main(uint gi : SV_GroupIndex)\n{{\n{body}\n}}\n"
    )
}

const BARRIER: &str = "GroupMemoryBarrierWithGroupSync();";

/// A body that races and has `/**/` where the barrier goes, if there is a place for it.
#[track_caller]
fn check(declarations: &str, body: &str) {
    let marked = kernel(declarations, body);
    let text = marked.replace("/**/", "");
    let findings = lint(text.as_bytes());
    let races = findings
        .iter()
        .filter(|finding| finding.rule == "groupshared-race");
    let fixes: Vec<_> = races.clone().filter_map(|race| race.fix.as_ref()).collect();
    assert!(races.count() > 0, "{body}");
    assert!(fixes.iter().all(|fix| fix.safety == Safety::Unsafe), "{body}");
    assert_eq!(!fixes.is_empty(), marked.contains("/**/"), "{body}: {findings:?}");
    let settled = settle(text.as_bytes(), true, lint, |findings| findings);
    let fixed = String::from_utf8_lossy(&settled.text).into_owned();
    let squeeze = |text: &str| text.split_whitespace().collect::<String>();
    let expected = marked.replace("/**/", BARRIER);
    assert_eq!(squeeze(&fixed), squeeze(&expected), "{body}");
}

#[test]
fn it_goes_before_the_later_access() {
    check("", "g[gi] = Src[gi]; /**/ Out[gi] = g[63 - gi];");
    check(
        "",
        "g[gi] = Src[gi]; uint a = 3; /**/ uint b = g[63 - gi] + a; Out[gi] = b;",
    );
    check(
        "",
        "g[gi] = Src[gi]; for (uint i = 0; i < 2; ++i) Out[gi] = i; /**/ Out[gi] = g[63 - gi];",
    );
    // A read before a write.
    check(
        "",
        &format!(
            "g[gi] = Src[gi]; {BARRIER} uint v = g[gi ^ 1]; /**/ g[gi] = v; {BARRIER} Out[gi] = g[63 - gi];"
        ),
    );
    // Not in a helper, which others may call.
    check(
        "void Fill(uint i) { g[i] = Src[i]; } uint Other(uint i) { return g[63 - i]; }",
        "Fill(gi); /**/ Out[gi] = Other(gi);",
    );
    // In one that both calls lead through.
    check(
        "void Fill(uint i) { g[i] = Src[i]; } uint Other(uint i) { return g[63 - i]; }
         void Both(uint i) { Fill(i); /**/ Out[i] = Other(i); }",
        "Both(gi);",
    );
}

#[test]
fn it_goes_where_every_thread_passes() {
    check("", "g[gi] = Src[gi]; /**/ if (gi < 32) { Out[gi] = g[63 - gi]; }");
    check(
        "",
        "g[gi] = Src[gi]; /**/ if (gi < 32) { if (gi > 3) Out[gi] = g[63 - gi]; }",
    );
    // Before threads leave.
    check(
        "",
        "g[gi] = Src[gi]; /**/ if (gi > 60) return; Out[gi] = g[60 - gi];",
    );
    check(
        "",
        "g[gi] = Src[gi]; /**/ if (gi > 0) { return; } for (uint i = 0; i < 64; ++i) { Out[i] = g[i]; }",
    );
    // In each pass: the first pass reads what the last one wrote.
    check(
        "",
        &format!(
            "g[gi] = 0; {BARRIER} for (uint i = 0; i < 4; ++i) {{ uint v = g[gi ^ 1]; {BARRIER} g[gi] = v + 1; {BARRIER} \
                  if (gi < 8) {{ h[gi] = v; }} /**/ Out[gi] = h[gi & 7]; }}"
        ),
    );
}

/// Where a few numbers of the host's are tried, also in a helper that every thread calls which comes to a barrier.
#[test]
fn it_goes_into_a_helper_that_every_thread_calls() {
    let blur = |mark: &str| {
        format!(
            "void Keep(uint i, uint v) {{ g[i] = v; }}
             void Blur(uint i) {{ uint v = g[i] + g[i + 1 & 63]; {mark} Keep(i, v); }}"
        )
    };
    let twice = |call: &str| format!("void Twice(uint i) {{ {call} }}");
    let body = |call: &str| {
        format!(
            "uint sum = 0; uint left = n; while (left > 0) {{ uint count = min(64, left); g[gi] = Src[left + gi]; {BARRIER} \
             {call} {BARRIER} for (uint i = 0; i < count; ++i) {{ sum += g[i]; }} {BARRIER} left -= count; }} Out[gi] = sum;"
        )
    };
    check(&blur("/**/"), &body("Blur(gi);"));
    check(&(blur("/**/") + &twice("Blur(i);")), &body("Twice(gi);"));
    for some in ["if (n > 3)", "for (uint k = 0; k < n; ++k)"] {
        check(&blur(""), &body(&format!("{some} Blur(gi);")));
        check(
            &(blur("") + &twice("Blur(i);")),
            &body(&format!("{some} Twice(gi);")),
        );
        check(
            &(blur("") + &twice(&format!("{some} Blur(i);"))),
            &body("Twice(gi);"),
        );
    }
}

/// All of a group leave together, or none: as the author's own barrier behind takes for granted.
#[test]
fn it_goes_where_all_threads_may_have_left() {
    let of = |leave: &str, place: &str| {
        format!(
            "g[gi] = Src[gi]; if (n == 1) return; {BARRIER} if ((gi & 1) == 0) {{ g[gi] += g[gi + 1]; }} {leave} \
             {place} if ((gi & 3) == 0) {{ g[gi] += g[gi + 2]; }} if (n == 3) return; {BARRIER} if (gi == 0) Out[0] = g[0] + g[4];"
        )
    };
    check("", &of("if (n == 2) return;", "/**/"));
    // Some leave.
    check("", &of("if (gi > 60) return;", ""));
    // Waves leave, each by itself.
    for leave in [
        "WaveReadLaneFirst(gi) >= n",
        "WaveReadLaneFirst(gi) > 3",
        "WaveActiveMax(gi) >= n",
    ] {
        check(
            "",
            &format!(
                "uint sum = 0; if ({leave}) return; if (gi == 0) g[0] = 0; sum += g[0]; if (Src[0] == 2) return; {BARRIER} Out[gi] = sum;"
            ),
        );
    }
}

/// Of numbers that the host sets a few are tried: of a condition on them it is not known whether all threads meet it.
#[test]
fn it_goes_where_others_wait_if_only_some_numbers_are_tried() {
    check(
        "",
        &format!(
            "uint sum = 0; uint left = n; while (left > 0) {{ uint count = min(64, left); \
             /**/ if (gi < count) {{ g[gi] = Src[left + gi]; }} {BARRIER} \
             for (uint i = 0; i < count; ++i) {{ sum += g[i]; }} left -= count; }} Out[gi] = sum;"
        ),
    );
}

#[test]
fn no_place_is_better_than_a_wrong_one() {
    check("", &format!("g[0] = gi; {BARRIER} Out[gi] = g[0];"));
    // One arm writes, the other reads.
    check("", "if (gi < 32) g[gi] = Src[gi]; else Out[gi] = g[63 - gi];");
    check("", "if (gi < 32) { g[gi] = Src[gi]; Out[gi] = g[31 - gi]; }");
    // Some threads have left.
    check("", "if (gi > 60) return; g[gi] = Src[gi]; Out[gi] = g[60 - gi];");
    check(
        "#define GroupMemoryBarrierWithGroupSync() 0",
        "g[gi] = Src[gi]; Out[gi] = g[63 - gi];",
    );
}

/// What is said of each race.
fn said(text: &str) -> Vec<String> {
    let findings = lint(text.as_bytes());
    let races = findings
        .iter()
        .filter(|finding| finding.rule == "groupshared-race");
    let line = |race: &Diagnostic| text[..race.primary.place.start as usize].matches('\n').count() + 1;
    races
        .map(|race| {
            format!(
                "{}: {}\n{}",
                line(race),
                race.message,
                race.all_notes().collect::<Vec<_>>().join("\n")
            )
        })
        .collect()
}

#[test]
fn a_condition_that_must_not_hold_is_told_so() {
    let labels = |body: &str| {
        let text = kernel("", body);
        let race = lint(text.as_bytes())
            .into_iter()
            .find(|finding| finding.rule == "groupshared-race");
        let labels = race.map(|race| race.secondary).unwrap_or_default();
        let said = |text: &str| labels.iter().any(|label| label.text == text);
        [
            said("where this holds for thread 0"),
            said("where this does not hold for thread 0"),
        ]
    };
    assert_eq!(
        labels("g[gi] = Src[gi]; if (n > 3) Out[gi] = g[gi ^ 1];"),
        [true, false]
    );
    assert_eq!(
        labels("g[gi] = Src[gi]; if (n < 3) Out[gi] = 7; else Out[gi] = g[gi ^ 1];"),
        [false, true]
    );
}

const TAIL: &str = "g[gi] = Src[gi];\nGroupMemoryBarrierWithGroupSync();\nif (gi < 16) {\n\
                    g[gi] += g[gi + 16];\ng[gi] += g[gi + 8];\ng[gi] += g[gi + 4];/**/\ng[gi] += g[gi + 2];\n}\n";

#[test]
fn races_between_the_same_barriers_are_one_finding() {
    let pairs = "other pairs of accesses also race here";
    let advice = |into: &str| {
        format!(
            "threads of a wave need not run in lock-step\nhelp: put a GroupMemoryBarrierWithGroupSync() \
             before each of lines 11 to 13; on {into}, read into a variable, wait at a \
             GroupMemoryBarrierWithGroupSync(), then write; split the `if` on line 9: close it before each \
             barrier, and test its condition again after that barrier (tested: this race is gone, and no other defect appears)"
        )
    };
    let why = "no automatic fix: barriers alone do not end the race: the `if`s around them must be split too";
    let head = "11: data race on g[8]\nthread 0 reads g[8] while thread 8 writes it, both after the barrier on line 8";
    let both = "lines 12 and 13 also read what other threads write, with no barrier between";
    assert_eq!(
        said(&kernel("", TAIL)),
        [format!(
            "{head}\n{both}\n{pairs}\n{}\n{why}",
            advice("lines 11 to 13")
        )]
    );

    // A comment is about its own line.
    let comment = " // shaderlint: allow(groupshared-race): one line";
    let one = "line 13 also reads what other threads write, with no barrier between";
    let allowed = kernel("", &TAIL.replace("/**/", comment));
    let of_others = advice("lines 11 and 13")
        .replace("each of lines 11 to 13", "each of lines 11 and 12")
        .replace(
            "; split",
            "; then another race appears: put a GroupMemoryBarrierWithGroupSync() before line 13; split",
        )
        .replace(", and no other defect appears", "");
    assert_eq!(
        said(&allowed),
        [format!("{head}\n{one}\n{pairs}\n{of_others}\n{why}")]
    );
    let first = kernel("", &TAIL.replace("+ 8];", &format!("+ 8];{comment}")));
    let left = said(&first);
    assert!(
        left.len() == 1 && left[0].starts_with("12: data race on g[4]"),
        "{left:?}"
    );

    // Other arrays, functions and stretches between barriers have their own.
    let of_other = kernel("", &TAIL.replace("/**/", " h[gi] = gi; Out[gi] = h[gi ^ 1];"));
    assert_eq!(said(&of_other).len(), 2);
    let helper = "uint Other(uint i)\n{\nreturn g[i ^ 1];\n}\n";
    assert_eq!(
        said(&kernel(helper, &format!("{TAIL}Out[gi] = Other(gi);"))).len(),
        2
    );
    assert_eq!(said(&kernel("", &format!("{TAIL}{BARRIER}\n{TAIL}"))).len(), 2);
}

/// Of a condition that does not hold in the first group, the group is told.
#[test]
fn a_group_in_which_it_happens_is_told() {
    let text = kernel("", "").replace(
        "uint gi : SV_GroupIndex",
        "uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID",
    );
    let with = |condition: &str| {
        let body = format!(
            "g[gi] = gi;\n{BARRIER}\nif (n > 2)\n{{\nif ({condition})\nh[gi] = 1;\nelse\ng[gi] += 3;\nh[gi] = g[0];\n}}"
        );
        said(&text.replace("{\n\n}", &format!("{{\n{body}\n}}"))).concat()
    };
    let later = with("id.x < n");
    assert!(later.contains("; for SV_GroupID.x = 1, n = 64\n"), "{later}");
    let first = with("id.x >= n");
    assert!(first.contains("; for SV_GroupID = 0, n = 64\n"), "{first}");
}

/// Of a number that is only asked for by equality one is named that a host may well set.
#[test]
fn a_choice_of_the_host_is_no_bound() {
    let with = |condition: &str| {
        let body = format!("if (n != 1)\n{{\ng[gi] = Src[gi];\nif ({condition})\nOut[gi] = g[63 - gi];\n}}");
        said(&kernel("", &body)).concat()
    };
    let chosen = with("n != 2");
    assert!(chosen.contains("; for n = 3"), "{chosen}");
    let bound = with("n > 2");
    assert!(bound.contains("; for n = 64"), "{bound}");
}

/// Where the element follows the dispatch's number, only in the first group is it one of the array: that says nothing of others.
#[test]
fn no_barrier_for_the_first_group_alone() {
    let text = kernel(
        "",
        "uint sum = Src[id.x];\ng[id.x] = sum;\nfor (uint s = 1; s < 64; s <<= 1)\n{\nGroupMemoryBarrierWithGroupSync();\n\
         if (id.x >= s)\nsum += g[id.x - s];\ng[id.x] = sum;\n}\nOut[id.x] = sum;",
    );
    let text = text.replace(
        "uint gi : SV_GroupIndex",
        "uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID",
    );
    let findings = lint(text.as_bytes());
    let race = findings.iter().find(|finding| finding.rule == "groupshared-race");
    let no_fix = race
        .and_then(|race| race.no_fix.as_ref())
        .expect("a race without a fix");
    assert_eq!(no_fix.reason.name(), "first-group");
    assert_eq!(
        no_fix.note(),
        "no automatic fix: the race was found in the first group, whose SV_GroupID is 0, but a barrier must \
         be proved for all groups"
    );
}

/// The place is named where it is not the statement that the finding points to.
#[test]
fn a_fix_says_before_which_statement_the_barrier_goes() {
    let titles = |body: &str| {
        let findings = lint(kernel("", body).as_bytes());
        let fixes = findings.into_iter().filter_map(|finding| finding.fix);
        fixes.map(|fix| fix.title).collect::<Vec<_>>()
    };
    assert_eq!(
        titles("g[gi] = Src[gi];\nOut[gi] = g[63 - gi];"),
        ["put the missing barrier before this statement"]
    );
    for condition in [
        "if (gi < 32)\n{\nOut[gi] = g[63 - gi];\n}",
        "if (gi < 32)\nOut[gi] = g[63 - gi];",
    ] {
        assert_eq!(
            titles(&format!("g[gi] = Src[gi];\n{condition}")),
            ["put the missing barrier before the statement on line 8"]
        );
    }
}

/// The threads that leave by a `return` pass the barrier before it.
#[test]
fn a_barrier_goes_before_a_return() {
    for (before, body) in [
        (
            "uint Ex(uint i) { g[i] = Src[i];\nreturn g[63 - i]; }",
            "Out[gi] = Ex(gi);",
        ),
        (
            "struct S { uint i; uint Ex() { g[i] = Src[i];\nreturn g[63 - i]; } };",
            "S s; s.i = gi;\nOut[gi] = s.Ex();",
        ),
    ] {
        let text = kernel(before, body);
        let fixes = lint(text.as_bytes()).into_iter().filter_map(|one| one.fix);
        let titles: Vec<_> = fixes.map(|fix| fix.title).collect();
        assert_eq!(
            titles,
            ["put the missing barrier before this statement"],
            "{text}"
        );
        let fixed = settle(text.as_bytes(), true, lint, |findings| findings);
        let fixed = String::from_utf8_lossy(&fixed.text).into_owned();
        assert!(
            fixed.contains("GroupMemoryBarrierWithGroupSync();\nreturn g[63 - i];"),
            "{fixed}"
        );
    }
    let early = "if (Src[gi] > 3)\nreturn;\ng[gi] = 1;\nOut[gi] = g[63 - gi];";
    assert_eq!(settled(early).0, [""; 0]);
}

/// Beside other races less can be proved, and a barrier may be found once these are gone.
#[test]
fn a_race_that_no_barrier_ends_is_told_to_stand_beside_others() {
    let why = |body: &str| {
        let findings = lint(kernel("groupshared uint h[64];", body).as_bytes());
        let of_g = findings
            .into_iter()
            .find(|one| one.message == "data race on g[0]");
        of_g.and_then(|one| one.no_fix)
            .map(|no_fix| no_fix.text().to_owned())
    };
    let alone = "could not prove that any single barrier, before the later access or before a statement around it, ends the race";
    let body = "g[gi & 31] = gi;";
    assert_eq!(why(body).as_deref(), Some(alone));
    let beside = format!("h[gi] = Src[gi];\nOut[gi] = h[63 - gi];\n{body}");
    let expected = format!("{alone} while the kernel has other races");
    assert_eq!(why(&beside), Some(expected));
}

/// Titles of the fixes of a body, how many are made of it and of what comes of it, and how many races are left.
fn settled(body: &str) -> (Vec<String>, usize, usize, String) {
    let text = kernel("", body);
    let findings = lint(text.as_bytes());
    let fixes = findings.into_iter().filter(|one| one.rule == "groupshared-race");
    let titles = fixes.filter_map(|finding| Some(finding.fix?.title)).collect();
    let settled = settle(text.as_bytes(), true, lint, |findings| findings);
    let left = settled
        .last
        .iter()
        .filter(|finding| finding.rule == "groupshared-race");
    let fixed = String::from_utf8_lossy(&settled.text).into_owned();
    (titles, settled.fixed.len(), left.count(), fixed)
}

#[test]
fn several_barriers_are_one_fix() {
    let (titles, fixed, left, _) = settled(
        "g[gi] = Src[gi];\nGroupMemoryBarrierWithGroupSync();\nif (gi < 16) g[gi] += g[gi + 16];\n\
         if (gi < 8) g[gi] += g[gi + 8];\nif (gi < 4) g[gi] += g[gi + 4];\nif (gi == 0) Out[0] = g[0] + g[1] + g[2] + g[3];\n",
    );
    assert_eq!(
        titles,
        ["put the missing barriers before the statements on lines 10 to 12"]
    );
    assert_eq!((fixed, left), (1, 0));
}

#[test]
fn a_barrier_that_ends_one_of_them_is_offered() {
    let (titles, fixed, left, _) = settled(
        "g[gi] = Src[gi];\nGroupMemoryBarrierWithGroupSync();\nif (gi < 16) g[gi] += g[gi + 16];\n\
         if (gi < 8) g[gi] += g[gi + 8];\nif (gi < 4)\n{\nuint v = g[gi + 4];\ng[gi] += v;\nif (gi == 1) g[0] = v;\n}\n",
    );
    assert_eq!(
        titles,
        ["put one of the missing barriers before the statement on line 11"]
    );
    assert_eq!((fixed, left), (1, 1));
}

/// `statement` between barriers, with what it is made of it.
#[track_caller]
fn parted(statement: &str, parts: &str) {
    let body = |statement: &str| {
        format!(
            "g[gi] = Src[gi]; h[gi] = gi; uint other = 3; {BARRIER} {statement} {BARRIER} Out[gi] = g[gi];"
        )
    };
    let (titles, _, left, fixed) = settled(&body(statement));
    let squeeze = |text: &str| text.split_whitespace().collect::<String>();
    let title = "put the missing barrier between the reads and the write of this statement";
    let is_fixed = !parts.is_empty();
    assert_eq!(
        (titles, left == 0),
        (vec![title.to_owned(); usize::from(is_fixed)], is_fixed),
        "{statement}"
    );
    let expected = kernel("", &body(if is_fixed { parts } else { statement }));
    assert_eq!(squeeze(&fixed), squeeze(&expected));
}

/// All threads read before any of them writes.
#[test]
fn a_statement_that_reads_what_it_writes_is_parted() {
    let of = |declared: &str, value: &str| format!("{{ {declared} = {value}; {BARRIER} g[gi] = value; }}");
    parted("g[gi] = g[63 - gi];", &of("uint value", "g[63 - gi]"));
    parted(
        "g[gi] = max(g[gi], g[(gi + 1) % 64]);",
        &of("uint value", "max(g[gi], g[(gi + 1) % 64])"),
    );
    // An operator takes all that stands behind it.
    parted("g[gi] += g[63 - gi];", &of("uint value", "g[gi] + g[63 - gi]"));
    parted(
        "g[gi] *= g[63 - gi] + 1;",
        &of("uint value", "g[gi] * (g[63 - gi] + 1)"),
    );
    parted(
        "g[gi] <<= g[63 - gi] & 3;",
        &of("uint value", "g[gi] << (g[63 - gi] & 3)"),
    );
    parted(
        "g[gi] -= gi < 3 ? g[63 - gi] : 2;",
        &of("uint value", "g[gi] - (gi < 3 ? g[63 - gi] : 2)"),
    );
    parted(
        "g[gi] -= -g[63 - gi];",
        &of("uint value", "g[gi] - (-g[63 - gi])"),
    );
    parted(
        "g[gi] -= (uint)(int)g[63 - gi];",
        &of("uint value", "g[gi] - (uint)(int)g[63 - gi]"),
    );
    // A value that another type would change.
    parted(
        "g[gi] = g[63 - gi] * 0.5f;",
        &of("uint value", "g[63 - gi] * 0.5f"),
    );
    // A name that the statement uses.
    parted(
        "{ uint value = 3; g[gi] = g[63 - gi] + value; }",
        &format!("{{ uint value = 3; {{ uint value2 = g[63 - gi] + value; {BARRIER} g[gi] = value2; }} }}"),
    );
    // Or its condition, or a macro in it, as another build may define it.
    let conditional = |condition: &str, name: &str, value: &str| {
        format!(
            "{{ uint {name} = 0; if ({condition}) {name} = {value}; {BARRIER} if ({condition}) g[gi] = {name}; }}"
        )
    };
    for condition in ["gi > value", "gi > value && gi < 50"] {
        parted(
            &format!("{{ uint value = 3; if ({condition}) g[gi] = g[63 - gi]; }}"),
            &format!(
                "{{ uint value = 3; {} }}",
                conditional(condition, "value2", "g[63 - gi]")
            ),
        );
    }
    parted(
        "{ uint value = 3, value2 = 5; if (gi > value2) { g[gi] += g[63 - gi] * value; } }",
        &format!(
            "{{ uint value = 3, value2 = 5; {} }}",
            conditional("gi > value2", "value3", "g[gi] + (g[63 - gi] * value)")
        ),
    );
    for (defined, name) in [
        ("#define V value\n", "value2"),
        (
            "#ifdef X\n#define V value\n#else\n#define V 3\n#endif\n",
            "value2",
        ),
        ("#define V 3\n", "value"),
    ] {
        parted(
            &format!("{{ uint value = 3;\n{defined}if (gi > V) {{ if (gi < 50) g[gi] = g[63 - gi]; }} }}"),
            &format!(
                "{{ uint value = 3;\n{defined}{{ uint {name} = 0; if (gi > V) if (gi < 50) {name} = g[63 - gi]; {BARRIER} \
                 if (gi > V) if (gi < 50) g[gi] = {name}; }} }}"
            ),
        );
    }
    // Another build has a condition before it.
    for (region, is_whole) in [
        ("if (gi > 3)", false),
        ("if (gi > 3) Out[64] = 1;", true),
        ("for (;;)\n#else\n;", false),
    ] {
        let before = format!("Out[gi] = 3;\n#ifdef X\n{region}\n#endif\n");
        let parts = format!("{before}{}", of("uint value", "g[63 - gi]"));
        parted(
            &format!("{before}g[gi] = g[63 - gi];"),
            if is_whole { &parts } else { "" },
        );
    }
    // A comment stands above both parts.
    parted(
        "if (gi > 3) { /* keep */ g[gi] = g[63 - gi]; }",
        &format!("/* keep */ {}", conditional("gi > 3", "value", "g[63 - gi]")),
    );
    // What would be lost, or be there twice.
    for statement in [
        "if (gi > 3) { LOG(gi) g[gi] = g[63 - gi]; }",
        "if (gi > 3) { g[gi] = g[63 - gi]; LOG(gi) }",
        "if (gi > 3) LOG(gi) g[gi] = g[63 - gi];",
    ] {
        parted(&format!("\n#define LOG(x)\n{statement}"), "");
    }
    // What an element's index reads may be another thing behind the barrier; and what a value does is done.
    parted("g[h[gi]] = g[63 - h[gi]];", "");
    parted("g[gi] = g[63 - gi] + (other = gi);", "");
}

#[test]
fn a_memory_barrier_is_no_barrier() {
    let noted = |body: &str| said(&kernel("", body)).concat();
    let of_group = "the GroupMemoryBarrier() on line 8 orders memory but does not make threads wait";
    let said = noted("g[gi] = Src[gi];\nGroupMemoryBarrier();\nOut[gi] = g[63 - gi];");
    assert!(
        said.contains(of_group) && said.contains("with no barrier between them"),
        "{said}"
    );
    let said = noted("g[gi] = Src[gi];\nAllMemoryBarrier();\nOut[gi] = g[63 - gi];");
    assert!(
        said.contains("the AllMemoryBarrier() on line 8 orders memory but"),
        "{said}"
    );
    let said = noted("g[gi] = Src[gi];\nDeviceMemoryBarrier();\nOut[gi] = g[63 - gi];");
    assert!(said.contains("orders device memory but does"), "{said}");
    // In the rest of a loop.
    let said = noted(&format!(
        "for (uint i = 0; i < 4; ++i) {{\ng[gi] = gi + i;\n{BARRIER}\nOut[gi] = g[63 - gi];\nGroupMemoryBarrier();\n}}"
    ));
    assert!(said.contains("GroupMemoryBarrier() on line 11 orders"), "{said}");
    // In a helper, and behind a condition.
    let helper = "void Flush() {\nGroupMemoryBarrier();\n}";
    let text = kernel(
        helper,
        "g[gi] = Src[gi];\nif (n > 3) Flush();\nOut[gi] = g[63 - gi];",
    );
    let said = self::said(&text).concat();
    assert!(said.contains("GroupMemoryBarrier() on line 4 orders"), "{said}");
    // Behind one for device memory alone.
    let device = "DeviceMemoryBarrierWithGroupSync();";
    let said = noted(&format!(
        "{device}\ng[gi] = Src[gi];\nOut[gi] = g[63 - gi];\n{BARRIER}\nOut[gi] = 0;"
    ));
    let first = "before the first barrier that orders groupshared memory";
    assert!(said.contains(first), "{said}");
    // Not between the two.
    let said = noted("GroupMemoryBarrier();\ng[gi] = Src[gi];\nOut[gi] = g[63 - gi];\nGroupMemoryBarrier();");
    assert!(!said.contains("orders memory"), "{said}");
}

/// The body as `--fix` leaves it.
fn fixed(body: &str) -> String {
    let settled = settle(kernel("", body).as_bytes(), true, lint, |findings| findings);
    let text = String::from_utf8_lossy(&settled.text).into_owned();
    text.lines().skip(6).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_memory_barrier_between_becomes_one_that_threads_wait_at() {
    let of = |name: &str| fixed(&format!("g[gi] = Src[gi];\n{name}();\nOut[gi] = g[63 - gi];"));
    assert!(of("GroupMemoryBarrier").contains("; GroupMemoryBarrierWithGroupSync(); Out"));
    assert!(of("AllMemoryBarrier").contains("; AllMemoryBarrierWithGroupSync(); Out"));
    assert!(of("DeviceMemoryBarrier").contains("; AllMemoryBarrierWithGroupSync(); Out"));
    // One that only some threads pass stays, and a barrier goes where all do.
    let some = fixed("g[gi] = Src[gi];\nif (gi < 9) GroupMemoryBarrier();\nOut[gi] = g[63 - gi];");
    assert!(
        some.contains("GroupMemoryBarrier(); GroupMemoryBarrierWithGroupSync(); Out"),
        "{some}"
    );
}

#[test]
fn comments_of_a_statement_that_is_parted_stand_above_it() {
    let body = |comments: [&str; 3]| {
        let [before, within, behind] = comments;
        format!(
            "g[gi] = Src[gi];\n{BARRIER}\nif (gi >= 4) {{ {before}\ng[gi] += {within} g[gi - 4]; {behind}\n}}\n{BARRIER}\n\
             Out[gi] = g[gi];"
        )
    };
    let plain = fixed(&body([""; 3]));
    for comments in [
        ["// Not the first.", "", "// The left one."],
        ["", "/* g[gi - 4] = 7; */", "// a = b; if (x) {"],
        ["// } else", "/* two\nlines */", "/**/"],
        ["", "/*/ 7 + /*/", ""],
    ] {
        let with = fixed(&body(comments));
        let above = comments.iter().filter(|comment| !comment.is_empty());
        let above: String = above.map(|comment| comment.replace('\n', " ") + " ").collect();
        let block = plain.find("{     uint value").expect("the statement is parted");
        let [start, rest] = [&plain[..block], &plain[block..]];
        assert_eq!(with, format!("{start}{above}{rest}"));
    }
    // Whose end is no end.
    let continued = body(["", "", "// to \\"]);
    assert!(fixed(&continued).contains("g[gi] += "), "{continued}");
}

/// The help quotes statements that share a line. The proof names both lines of the race that the fix ends.
#[test]
fn places_on_a_line_are_told_apart() {
    let stored = "g[gi] = Src[gi];\nfor (uint i = 0; i < 2; ++i) {";
    let of_one_line = said(&kernel(
        "",
        &format!("{stored} Out[gi+64*i] = g[(gi+1) & 63]; g[gi] = i; }}"),
    ));
    let on_two_lines = kernel(
        "",
        &format!("{stored}\nOut[gi+64*i] = g[(gi+1) & 63];\ng[gi] = i; }}"),
    );
    let barrier = &BARRIER[..33];
    let tried = "(tested: this race is gone, and no other defect appears)";
    let line = "`Out[gi+64*i] = g[(gi+1) & 63];` on line 8 and before `g[gi] = i;` on line 8";
    let help = format!("help: put a {barrier} before {line} {tried}");
    assert!(of_one_line.concat().contains(&help), "{of_one_line:#?}");
    let help = format!("help: put a {barrier} before each of lines 9 and 10 {tried}");
    assert!(said(&on_two_lines).concat().contains(&help), "{on_two_lines}");
    let fixes = lint(on_two_lines.as_bytes())
        .into_iter()
        .filter_map(|finding| Some(finding.fix?.proof?.to_string()));
    let found = "the fix was tested: with this barrier, which every thread reaches, the race between lines \
         7 and 9 is gone";
    assert_eq!(fixes.collect::<Vec<_>>(), [found]);
}

/// What is said of how to end a race is tried out, and nothing is said where it was not.
#[test]
fn advice_is_tried_out() {
    let help = |body: &str| {
        let said = said(&kernel("", body)).concat();
        let help = said.lines().find(|line| line.starts_with("help: "));
        help.unwrap_or_default().to_owned()
    };
    let separately = ": close it before the barrier, and test its condition again after the barrier; declare \
         before the `if` what both parts use (tested: this race is gone, and no other defect appears)";
    assert_eq!(
        help(&format!(
            "g[gi] = Src[gi];\n{BARRIER}\nif (gi < 32)\n{{\nuint v = g[gi + 1];\ng[gi] = v;\n}}"
        )),
        format!(
            "help: put a {} before line 12; split the `if` on line 9{separately}",
            &BARRIER[..33]
        )
    );
    // One barrier ends it; another race, of which no finding tells, shows then.
    let called = format!(
        "g[gi] = Src[gi];\n{BARRIER}\nWrite(gi ^ 1, g[(gi + 7) % 64] + 1);\n{BARRIER}\ng[gi] += gi;\ng[5] = 7;\nOut[gi] = g[0];"
    );
    let write = "void Write(uint i, uint v)\n{\ng[i] = v;\n}";
    let findings = lint(kernel(write, &called).as_bytes());
    let mut fixes = findings.iter().filter_map(|finding| finding.fix.as_ref());
    let both = "put the missing barriers before the statements on lines 5 and 15";
    assert_eq!(fixes.next().map(|fix| &*fix.title), Some(both), "{findings:?}");
    // Other threads have left; are in the other arm; go through a loop of their own.
    assert_eq!(
        help("g[gi] = Src[gi];\nif (gi > 60) return;\nOut[gi] = g[60 - gi];"),
        ""
    );
    assert_eq!(
        help("if (gi < 32) g[gi] = Src[gi]; else Out[gi] = g[63 - gi];"),
        ""
    );
    assert_eq!(
        help(&format!(
            "g[gi] = Src[gi];\n{BARRIER}\nfor (uint i = 0; i < gi; ++i)\n{{\nuint v = g[i];\ng[gi] += v;\n}}"
        )),
        ""
    );
    // What would be another race, or an `else` that comes to be before the barrier.
    assert_eq!(
        help(&format!(
            "g[gi] = Src[gi];\n{BARRIER}\nif (gi < 32)\n{{\nuint v = g[gi + 32];\ng[gi] = v;\n}}\nelse g[gi - 32] = 1;"
        )),
        ""
    );
}

/// Which two accesses, of which passes and calls, and after which barrier.
#[test]
fn each_access_is_told_with_its_own_pass() {
    let met = |declarations: &str, body: &str| {
        let said = said(&kernel(declarations, body));
        said.first()
            .and_then(|said| said.lines().nth(1))
            .unwrap_or_default()
            .to_owned()
    };
    // Two barriers a pass: the last one before both is the second of pass 2.
    assert_eq!(
        met(
            "",
            &format!(
                "for (uint i = 0; i < 4; ++i)\n{{\nif (i == 2)\ng[gi] = i;\n{BARRIER}\nh[gi] = i;\n{BARRIER}\n\
                 if (i == 1)\nOut[gi] = g[63 - gi];\n}}"
            )
        ),
        "thread 63 reads g[0] in iteration 2 of the loop on line 7 (i = 1) while thread 0 writes it in iteration 3 (i = 2), \
         both after the barrier on line 13 in iteration 2"
    );
    // After the loop.
    assert_eq!(
        met(
            "",
            &format!("for (uint i = 0; i < 3; ++i)\n{{\n{BARRIER}\ng[gi] = i;\n}}\nOut[gi] = g[63 - gi];")
        ),
        "thread 0 reads g[63] while thread 63 writes it in iteration 3 of the loop on line 7 (i = 2), both after the \
         barrier on line 9 in iteration 3"
    );
    // In the third call of a helper, in a loop.
    assert_eq!(
        met(
            "void Put(uint i, uint v) {\ng[i] = v;\n}",
            &format!("Put(gi, 1);\n{BARRIER}\nPut(gi, 2);\nPut(63 - gi, gi);\nOut[gi] = g[gi];")
        ),
        "thread 63 writes g[63] in the call on line 11 while thread 0 writes it in the call on line 12, both after the \
         barrier on line 10"
    );
}

/// A helper is the same for all kernels that call it, and a text for all that its `#if`s choose.
#[test]
fn a_barrier_in_a_helper_is_one_for_all_who_call_it() {
    let body = "g[gi] = Src[gi];\nFence();\nOut[gi] = g[63 - gi];";
    let declared = "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out; groupshared uint g[64];\n\
                    void Fence() { GroupMemoryBarrier(); }\n";
    let main =
        format!("{declared}[numthreads(64, 1, 1)] void Main(uint gi : SV_GroupIndex)\n{{\n{body}\n}}\n");
    let fix_of = |text: &str| {
        let findings = lint(text.as_bytes());
        let race = findings
            .into_iter()
            .find(|finding| finding.rule == "groupshared-race");
        let race = race.expect("a race");
        (race.fix, race.no_fix.map(|why| why.reason.name()))
    };
    assert!(fix_of(&main).0.is_some());
    let some_threads = "[numthreads(64, 1, 1)] void Two(uint gi : SV_GroupIndex) { if (gi > 3) Fence(); }\n";
    assert_eq!(
        fix_of(&format!("{main}{some_threads}")),
        (None, Some("other-kernel"))
    );

    let step = |around: &str, behind: &str| {
        let text = format!(
            "{declared}void Step(uint gi)\n{{\ng[gi] = Src[gi];\n{around}Out[gi] = g[63 - gi];\n}}\n\
             [numthreads(64, 1, 1)] void Main(uint gi : SV_GroupIndex) {{ Step(gi); }}\n{behind}"
        );
        fix_of(&text).0
    };
    let of_step = |around: &str, behind: &str| {
        let notes = step(around, behind).expect("a fix").notes;
        notes.into_iter().map(|note| note.text).collect::<Vec<_>>()
    };
    let as_configured = ["the fix is proved for the current macros; #if or -D may change them"];
    assert_eq!(of_step("", ""), [""; 0]);
    let other = "#ifdef X\n[numthreads(64, 1, 1)] void Two(uint gi : SV_GroupIndex) { if (gi == 8) Step(gi); }\n#endif\n";
    assert_eq!(of_step("", other), as_configured);
    assert_eq!(
        of_step("#ifdef X\nif (gi > 3) return;\n#endif\n", ""),
        as_configured
    );
    assert!(step("#ifdef X\nif (gi > 3)\n#endif\n", "").is_none());
    let moves = ["the fix moves the lines after it and changes `__LINE__` there"];
    let counting = "static const uint Line = __LINE__;\n";
    assert_eq!(of_step("", counting), moves);
}
