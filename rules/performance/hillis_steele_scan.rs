//! `hillis-steele-scan`: a doubling ladder that computes a scan.

use shaderlint_linter::{Category, Context, Finding, Rule};
use shaderlint_simt::Shape;

use crate::findings::scan;

pub(crate) const RULE: Rule = Rule {
    id: "hillis-steele-scan",
    category: Category::Perf,
    summary: "a doubling ladder through groupshared memory that computes a scan",
    aliases: &["wave-prefix-sum-vs-scan-with-atomics"],
    explanation: include_str!("hillis_steele_scan.md"),
    check,
};

fn check(context: &Context<'_>, findings: &mut Vec<Finding>) {
    findings.extend(scan::findings(context, |shape| {
        (shape == Shape::Doubling).then_some("Hillis\u{2013}Steele")
    }));
}
