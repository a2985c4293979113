//! Kernels as people write them, each a step away from a textbook's: their ladders are fixed, and the fix is right.
#![expect(clippy::disallowed_methods, reason = "fixtures are files")]

use std::path::Path;

use shaderlint_hlsl::{FunctionId, NoIncludes, Shader};
use shaderlint_linter::{Diagnostic, Settings, check_shader, settle};
use shaderlint_rules::RULES;
use shaderlint_simt::{LaneMap, Outcome, compare};

fn shader(text: &[u8]) -> (Shader, FunctionId) {
    let shader = shaderlint_hlsl::read("test.hlsl", text, &[], &NoIncludes).0;
    let entry = shader.entry_points().next().expect("a kernel").0;
    (shader, entry)
}

fn lint(text: &[u8]) -> Vec<Diagnostic> {
    check_shader(&shader(text).0, RULES, &Settings::default()).findings
}

fn is_ladder(finding: &Diagnostic) -> bool {
    finding.rule.ends_with("-scan") || finding.rule.ends_with("-reduction")
}

fn assert_same(flagged: &(Shader, FunctionId), fixed: &(Shader, FunctionId), name: &str) {
    for run in compare((&flagged.0, flagged.1), (&fixed.0, fixed.1), &[LaneMap::Linear]) {
        let is_same = matches!(run.outcome, Outcome::Equal | Outcome::Reassociates);
        assert!(is_same, "{name}: {run:?}");
    }
}

#[test]
fn every_ladder_of_them_is_fixed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/variants");
    let entries = std::fs::read_dir(folder).expect("a folder of fixtures");
    let mut count = 0;
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = path.display();
        let text = std::fs::read(&path).expect("a fixture");
        let found = lint(&text);
        assert_eq!(
            found.iter().filter(|one| is_ladder(one)).count(),
            1,
            "{name}: {found:#?}"
        );
        let settled = settle(&text, true, lint, Vec::as_slice);
        let fixed = String::from_utf8_lossy(&settled.text);
        assert!(!lint(&settled.text).iter().any(is_ladder), "{name}: {fixed}");
        assert!(fixed.contains("Wave"), "{name}: {fixed}");
        let (flagged, fixed) = (shader(&text), shader(&settled.text));
        assert_same(&flagged, &fixed, &name.to_string());
        count += 1;
    }
    assert_eq!(count, 50);
}

/// A form counts the elements by the size's name, and has a figure for the padding.
#[test]
fn padding_that_goes_with_the_size_has_no_form() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fixtures/variants/blelloch-padded-total-named-size.hlsl");
    let text = std::fs::read_to_string(path).expect("a fixture");
    let fixes = |sizes: &str| {
        let (head, rest) = text
            .split_once("#define N 512\n#define BANK_BITS 4\n")
            .expect("its head");
        let found = lint(format!("{head}{sizes}{rest}").as_bytes());
        let ladders: Vec<&Diagnostic> = found.iter().filter(|one| is_ladder(one)).collect();
        assert_eq!(ladders.len(), 1, "{sizes}");
        ladders[0].fix.is_some()
    };
    for sizes in [
        "#define N 512\n#define BANK_BITS 4\n",
        "#define N 512\nstatic const uint BANK_BITS = 4;\n",
        "#define N 512\n#define BANKS 4\n#define BANK_BITS (BANKS)\n",
    ] {
        assert!(fixes(sizes), "{sizes}");
    }
    for sizes in [
        "#define N 512\n#define BANK_BITS (N / 128)\n",
        "#define N 512\nstatic const uint BANK_BITS = N / 128;\n",
        "#define BASE 256\n#define N (BASE * 2)\n#define BANK_BITS (BASE / 64)\n",
    ] {
        assert!(!fixes(sizes), "{sizes}");
    }
}

/// A fix that names the number of elements is right for other numbers too: also where a wave is partly filled with
/// fewer lanes than there are totals.
#[test]
fn a_named_number_of_elements_may_change() {
    let text = |sizes: &str, threads: &str| {
        format!(
            "{sizes}StructuredBuffer<uint> Src;\nRWStructuredBuffer<uint> Out;\ngroupshared uint g[COUNT];\n\
             [numthreads({threads}, 1, 1)]\n\
             void Scan(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID)\n{{\n\
             \x20   if (gi < COUNT)\n        g[gi] = Src[id.x];\n    GroupMemoryBarrierWithGroupSync();\n\
             \x20   for (uint s = 1; s < COUNT; s <<= 1)\n    {{\n        uint left = 0;\n\
             \x20       if (gi >= s && gi < COUNT)\n            left = g[gi - s];\n\
             \x20       GroupMemoryBarrierWithGroupSync();\n        if (gi < COUNT)\n            g[gi] += left;\n\
             \x20       GroupMemoryBarrierWithGroupSync();\n    }}\n    if (gi < COUNT)\n        Out[id.x] = g[gi];\n}}\n"
        )
    };
    for (head, threads) in [
        ("", "256"),
        ("#define THREADS 256\n", "THREADS"),
        ("static const uint THREADS = 256;\n", "THREADS"),
    ] {
        for count in [16, 64] {
            let first = text(&format!("{head}#define COUNT {count}\n"), threads);
            let settled = settle(first.as_bytes(), true, lint, Vec::as_slice);
            let fixed = String::from_utf8(settled.text).expect("text");
            assert!(fixed.contains("Wave"), "{fixed}");
            for other in [21, 97, 128, 200, 255] {
                let with = |text: &str| {
                    let other = format!("#define COUNT {other}\n");
                    shader(
                        text.replace(&format!("#define COUNT {count}\n"), &other)
                            .as_bytes(),
                    )
                };
                assert_same(&with(&first), &with(&fixed), &format!("{head} {count} {other}"));
            }
        }
    }
}

/// One thread scans any number of elements, a form no more than there are threads.
#[test]
fn what_one_thread_scans_is_not_named() {
    let fixes = |sizes: &str, threads: &str, length: &str| {
        let text = format!(
            "{sizes}StructuredBuffer<uint> Src;\nRWStructuredBuffer<uint> Out;\ngroupshared uint g[{length}];\n\
             [numthreads({threads}, 1, 1)]\n\
             void Scan(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID)\n{{\n\
             \x20   if (gi < {length})\n        g[gi] = Src[id.x];\n    GroupMemoryBarrierWithGroupSync();\n\
             \x20   if (gi == 0)\n    {{\n        for (uint i = 1; i < {length}; ++i)\n            g[i] += g[i - 1];\n    }}\n\
             \x20   GroupMemoryBarrierWithGroupSync();\n    if (gi < {length})\n        Out[id.x] = g[gi];\n}}\n"
        );
        let found = lint(text.as_bytes());
        let ladders: Vec<&Diagnostic> = found.iter().filter(|one| is_ladder(one)).collect();
        assert_eq!(ladders.len(), 1, "{text}");
        ladders[0].fix.is_some()
    };
    assert!(fixes("", "128", "32"));
    assert!(!fixes("#define N 128\n", "N", "32"));
    assert!(!fixes("#define N 128\n#define COUNT 32\n", "N", "COUNT"));
}
