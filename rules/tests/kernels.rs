//! The kernels that articles and course notes print, in our words: each file says what is found in it.
//!
//! A file of `fixtures/kernels`, and each that stands beside a `pipeline.toml`, begins with one `// verdict:` line for each
//! finding, in order, or with `// verdict: nothing`. No file is left out, no finding goes unmentioned.
#![expect(clippy::disallowed_methods, reason = "fixtures are files")]

use std::fmt::Write;
use std::path::{Path, PathBuf};

use shaderlint_hlsl::NoIncludes;
use shaderlint_linter::{Diagnostic, Safety, Settings, check_shader};
use shaderlint_rules::RULES;

const VERDICT: &str = "// verdict: ";

/// `line: rule: message (shape); verdict; fix`
fn described(text: &str, finding: &Diagnostic) -> String {
    let before = text.as_bytes().get(..finding.primary.place.start as usize);
    let line = before.unwrap_or_default().split(|byte| *byte == b'\n').count();
    let shape = finding.shape.map_or(String::new(), |shape| format!(" ({shape})"));
    let fix = match finding.fix.as_ref().map(|fix| fix.safety) {
        None => "no fix",
        Some(Safety::Safe) => "safe fix",
        Some(Safety::Unsafe) => "unsafe fix",
    };
    format!(
        "{line}: {}: {}{shape}; {:?}; {fix}",
        finding.rule, finding.message, finding.verdict
    )
}

fn found(text: &str) -> String {
    let (shader, _) = shaderlint_hlsl::read("kernel.hlsl", text.as_bytes(), &[], &NoIncludes);
    let findings = check_shader(&shader, RULES, &Settings::default()).findings;
    if findings.is_empty() {
        return format!("{VERDICT}nothing\n");
    }
    findings.iter().fold(String::new(), |mut list, finding| {
        let _ = writeln!(list, "{VERDICT}{}", described(text, finding));
        list
    })
}

fn said(text: &str) -> String {
    let lines = text
        .split_inclusive('\n')
        .take_while(|line| line.starts_with(VERDICT));
    lines.collect()
}

#[test]
fn kernels_are_judged_as_they_say() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    let inside = |folder: PathBuf| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).expect("the kernels are there");
        entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
    };
    let mut folders = vec![fixtures.join("kernels")];
    for pipelines in ["scan", "reduction", "yardsticks"] {
        folders.extend(
            inside(fixtures.join(pipelines))
                .into_iter()
                .filter(|path| path.is_dir()),
        );
    }
    let mut paths: Vec<PathBuf> = folders.into_iter().flat_map(inside).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "hlsl"));
    paths.sort();
    assert!(!paths.is_empty());
    let (mut all_found, mut all_said) = (String::new(), String::new());
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("a fixture is UTF-8");
        let name = path.strip_prefix(&fixtures).unwrap_or(&path).display();
        let _ = write!(all_found, "{name}\n{}", found(&text));
        let _ = write!(all_said, "{name}\n{}", said(&text));
    }
    assert!(all_found == all_said, "found:\n{all_found}\nsaid:\n{all_said}");
}
