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
        for run in compare((&flagged.0, flagged.1), (&fixed.0, fixed.1), &[LaneMap::Linear]) {
            let is_same = matches!(run.outcome, Outcome::Equal | Outcome::Reassociates);
            assert!(is_same, "{name}: {run:?}");
        }
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
