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
