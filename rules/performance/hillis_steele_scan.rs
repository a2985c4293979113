//! `hillis-steele-scan`: a doubling ladder that computes a scan.

use shaderlint_linter::{Category, Context, Finding, Rule};
use shaderlint_simt::Shape;

use crate::scan;

pub(crate) const RULE: Rule = Rule {
    id: "hillis-steele-scan",
    category: Category::Perf,
    summary: "a doubling ladder through groupshared memory that computes a scan",
    aliases: &["wave-prefix-sum-vs-scan-with-atomics"],
    explanation: include_str!("hillis_steele_scan.md"),
    check,
};

fn check(context: &Context<'_>, findings: &mut Vec<Finding>) {
    let collectives = context.analysis.collectives.iter();
    let ladders = collectives.filter(|scan| scan.shape == Shape::Doubling);
    findings
        .extend(ladders.filter_map(|ladder| scan::finding(context, RULE.id, "Hillis\u{2013}Steele", ladder)));
}
