//! The missing barrier: where it goes, and where there is no place for it.

use shaderlint_hlsl::NoIncludes;
use shaderlint_linter::{Diagnostic, Safety, Settings, check_shader, settle};
use shaderlint_rules::RULES;

fn lint(text: &[u8]) -> Vec<Diagnostic> {
    let (shader, _) = shaderlint_hlsl::read("test.hlsl", text, &[], &NoIncludes);
    check_shader(&shader, RULES, &Settings::default()).findings
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
    // In a helper.
    check(
        "void Fill(uint i) { g[i] = Src[i]; } uint Other(uint i) { /**/ return g[63 - i]; }",
        "Fill(gi); Out[gi] = Other(gi);",
    );
}

#[test]
fn it_goes_where_every_thread_passes() {
    check("", "g[gi] = Src[gi]; /**/ if (gi < 32) { Out[gi] = g[63 - gi]; }");
    check(
        "",
        "g[gi] = Src[gi]; /**/ if (gi < 32) { if (gi > 3) Out[gi] = g[63 - gi]; }",
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
    // Within one statement.
    check(
        "",
        &format!("g[gi] = Src[gi]; {BARRIER} g[gi] = g[63 - gi]; {BARRIER} Out[gi] = g[gi];"),
    );
    check("", &format!("g[0] = gi; {BARRIER} Out[gi] = g[0];"));
    // One arm writes, the other reads.
    check("", "if (gi < 32) g[gi] = Src[gi]; else Out[gi] = g[63 - gi];");
    check("", "if (gi < 32) { g[gi] = Src[gi]; Out[gi] = g[31 - gi]; }");
    // Some threads have left.
    check("", "g[gi] = Src[gi]; if (gi > 60) return; Out[gi] = g[60 - gi];");
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
        .map(|race| format!("{}: {}\n{}", line(race), race.message, race.notes.join("\n")))
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
    let advice = "put a GroupMemoryBarrierWithGroupSync() after each of these steps, where every thread of the group \
                  reaches it; threads of one wave are not promised to run in lock-step";
    let why = "no automatic fix: too many accesses race to tell what one barrier does";
    let head = "11: data race on g[8]\nthread 0 reads g[8] while thread 8 writes it, both after the barrier on line 8";
    let both = "lines 12 and 13 read what other threads write as well, with no barrier between";
    assert_eq!(
        said(&kernel("", TAIL)),
        [format!("{head}\n{both}\n{advice}\n{why}")]
    );

    // A comment is about its own line.
    let comment = " // shaderlint: allow(groupshared-race): one line";
    let one = "line 13 reads what other threads write as well, with no barrier between";
    let allowed = kernel("", &TAIL.replace("/**/", comment));
    assert_eq!(said(&allowed), [format!("{head}\n{one}\n{advice}\n{why}")]);
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

#[test]
fn a_barrier_that_ends_one_of_them_is_offered() {
    let text = kernel(
        "",
        "g[gi] = Src[gi];\nGroupMemoryBarrierWithGroupSync();\nif (gi < 16) g[gi] += g[gi + 16];\n\
         if (gi < 8) g[gi] += g[gi + 8];\nif (gi < 4) g[gi] += g[gi + 4];\nif (gi == 0) Out[0] = g[0] + g[1] + g[2] + g[3];\n",
    );
    let findings = lint(text.as_bytes());
    let titles: Vec<&str> = findings
        .iter()
        .filter_map(|one| Some(&*one.fix.as_ref()?.title))
        .collect();
    assert_eq!(
        titles,
        ["put one of the missing barriers before the statement on line 12"]
    );
    let settled = settle(text.as_bytes(), true, lint, |findings| findings);
    let left = settled
        .last
        .iter()
        .filter(|finding| finding.rule == "groupshared-race");
    assert_eq!((settled.fixed, left.count()), (3, 0));
}

#[test]
fn a_memory_barrier_is_no_barrier() {
    let noted = |body: &str| said(&kernel("", body)).concat();
    let of_group = "GroupMemoryBarrier() on line 8 orders memory and does not make threads wait: use \
                    GroupMemoryBarrierWithGroupSync()";
    let said = noted("g[gi] = Src[gi];\nGroupMemoryBarrier();\nOut[gi] = g[63 - gi];");
    assert!(
        said.contains(of_group) && said.contains("with no barrier between them"),
        "{said}"
    );
    let said = noted("g[gi] = Src[gi];\nAllMemoryBarrier();\nOut[gi] = g[63 - gi];");
    assert!(said.contains("use AllMemoryBarrierWithGroupSync()"), "{said}");
    let said = noted("g[gi] = Src[gi];\nDeviceMemoryBarrier();\nOut[gi] = g[63 - gi];");
    assert!(said.contains("orders device memory and does"), "{said}");
    assert!(said.contains("use GroupMemoryBarrierWithGroupSync()"), "{said}");
    // In the rest of a loop.
    let said = noted(&format!(
        "for (uint i = 0; i < 4; ++i) {{\ng[gi] = gi + i;\n{BARRIER}\nOut[gi] = g[63 - gi];\nGroupMemoryBarrier();\n}}"
    ));
    assert!(said.contains("GroupMemoryBarrier() on line 11 orders"), "{said}");
    // Not between the two.
    let said = noted("GroupMemoryBarrier();\ng[gi] = Src[gi];\nOut[gi] = g[63 - gi];\nGroupMemoryBarrier();");
    assert!(
        said.contains("between the read and the write") && !said.contains("orders memory"),
        "{said}"
    );
}
