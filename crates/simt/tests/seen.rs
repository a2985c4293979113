//! A construct is what it was found to be only if it was looked at each time it runs.

use shaderlint_simt::analyze;

/// The lines on which something is found in a kernel of 64 threads with these globals and this body, from the first
/// line of the globals on.
fn lines(globals: &str, body: &str) -> Vec<usize> {
    let source = format!(
        "StructuredBuffer<uint> In; StructuredBuffer<uint> In2; RWStructuredBuffer<uint> Out; cbuffer C {{ uint Count; }} \
         groupshared uint g[64];\n{globals}\n[numthreads(64, 1, 1)] void main(uint t : SV_GroupIndex) {{\n{body}\n}}\n"
    )
    .replace("SYNC", "GroupMemoryBarrierWithGroupSync()");
    let (shader, problems) = shaderlint_hlsl::parse(source.clone().into_bytes());
    assert!(problems.is_empty(), "{problems:?}");
    let (entry, _) = shader.entry_points().next().expect("an entry point");
    let found = analyze(&shader, entry).collectives;
    let mut lines: Vec<usize> = found
        .iter()
        .filter(|found| found.instances.is_empty())
        .map(|found| source[..found.span.start as usize].matches('\n').count())
        .collect();
    lines.sort_unstable();
    lines
}

/// A total of the array, unless the bound is more than 0.
const TOTAL: &str = "void Total(uint t, uint end) { for (uint d = 32; d > end; d >>= 1) {\n\
    if (t < d) g[t] += g[t + d]; SYNC; } }";

/// A scan of the array under a condition on what is handed over.
fn scan(condition: &str) -> String {
    format!(
        "void Scan(uint t, uint n) {{ for (uint d = 1; d < 64; d <<= 1) {{\n\
         uint v = 0; if (t >= d && {condition}) v = g[t - d]; SYNC; g[t] += v; SYNC; }} }}"
    )
}

const LOAD: &str = "g[t] = In[t]; SYNC;";

#[test]
fn passes_that_are_not_followed() {
    let ladder = "for (uint d = 1; d < 64; d <<= 1) { uint v = 0; if (t >= d + p * 99) v = g[t - d]; SYNC; g[t] += v; SYNC; }";
    let body = |head: &str, tail: &str| {
        format!("uint p = 0;\n{head} {LOAD}\n{ladder}\nOut[t * 16 + p] = g[t]; SYNC; {tail}")
    };
    assert_eq!(lines("", &body("{", "}")), [5]);
    assert_eq!(lines("", &body("do {", "p++; } while (p < Count);")), []);
    assert_eq!(lines("", &body("do {", "p++; } while (p < 2);")), []);
    assert_eq!(lines("", &body("do {", "} while (p > 0);")), [5]);
    assert_eq!(
        lines("", &body("while (true) {", "p++; if (p >= Count) break; }")),
        []
    );
    let late = body("for (uint k = 0; k < 5000; k++) {", "if (k == 4000) p = 1; }");
    assert_eq!(lines("", &late), []);
}

/// The body of a function is named only if each of its calls was seen.
#[test]
fn calls_that_are_not_followed() {
    let first = format!("{LOAD}\nTotal(t, 0);\nOut[t] = g[0]; SYNC;");
    let second = |call: &str| lines(TOTAL, &format!("{first} {call}"));
    let in_body = 1;
    assert_eq!(second(""), [in_body]);
    assert!(second("Total(t, 0);").contains(&in_body));
    for call in [
        "Total(t, 2);",
        "for (uint p = 0; p < Count; p++) { SYNC; Total(t, 2); }",
        "switch (Count) { case 0: Total(t, 2); break; default: break; }",
        "for (uint p = 0; p < Count; p++) { SYNC; Total(t, 0); }",
    ] {
        assert!(!second(call).contains(&in_body), "{call}");
    }
}

/// What is the same for all threads, and known of no number, is something that a proof rests on.
#[test]
fn calls_with_other_unknown_values() {
    let twice = |condition: &str, globals: &str, first: &str, second: &str| {
        let body = format!("{LOAD} {first} Out[t] = g[t]; SYNC; {LOAD} {second}");
        lines(&format!("{globals} {}", scan(condition)), &body)
    };
    let in_body = 1;
    for (condition, globals, first, second) in [
        ("n == In[0]", "", "Scan(t, In[0]);", "Scan(t, In[1]);"),
        ("(n & 2) == 0", "", "Scan(t, In[1] * 4);", "Scan(t, In[1]);"),
        (
            "s == In[0]",
            "static uint s;",
            "s = In[0]; Scan(t, 0);",
            "s = In2[0]; Scan(t, 0);",
        ),
        (
            "s == In[t]",
            "static uint s;",
            "s = In[t]; Scan(t, 0);",
            "s = In2[t]; Scan(t, 0);",
        ),
    ] {
        let found = twice(condition, globals, first, second);
        assert!(!found.contains(&in_body), "{condition}: {found:?}");
        let same = twice(condition, globals, first, first);
        assert!(same.contains(&in_body), "{condition}: {same:?}");
    }
}
