//! Linting one file under every rule: reading, running, proving its fix.

use divan::{Bencher, black_box};
use shaderlint_hlsl::NoIncludes;
use shaderlint_linter::{Settings, check_shader};
use shaderlint_rules::RULES;

/// A ladder over 64 elements: found, and its fix proved at six wave sizes.
const WITH_A_CANDIDATE: &str = include_str!("../../fixtures/rules/hillis-steele-scan/bad.hlsl");

/// The same rounds and barriers, but no scan.
fn without_a_candidate() -> String {
    WITH_A_CANDIDATE.replace("+=", "-=")
}

fn main() {
    divan::main();
}

fn lint(bencher: Bencher, text: &str, findings: usize) {
    bencher.bench_local(|| {
        let (shader, _) = shaderlint_hlsl::read("bench.hlsl", black_box(text).as_bytes(), &[], &NoIncludes);
        let checked = check_shader(&shader, RULES, &Settings::default());
        assert_eq!(checked.findings.len(), findings);
    });
}

#[divan::bench]
fn with_a_candidate(bencher: Bencher) {
    lint(bencher, WITH_A_CANDIDATE, 1);
}

#[divan::bench]
fn without(bencher: Bencher) {
    lint(bencher, &without_a_candidate(), 0);
}

#[divan::bench]
fn only_read(bencher: Bencher) {
    bencher.bench_local(|| {
        shaderlint_hlsl::read(
            "bench.hlsl",
            black_box(WITH_A_CANDIDATE).as_bytes(),
            &[],
            &NoIncludes,
        )
    });
}
