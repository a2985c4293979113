//! `blelloch-scan`: an up-sweep and a down-sweep that compute a scan.

use shaderlint_linter::{Category, Context, Finding, Rule};
use shaderlint_simt::Shape;

use crate::findings::scan;

pub(crate) const RULE: Rule = Rule {
    id: "blelloch-scan",
    category: Category::Perf,
    summary: "an up-sweep and a down-sweep through groupshared memory that compute a scan",
    aliases: &["wave-prefix-sum-vs-scan-with-atomics"],
    explanation: include_str!("blelloch_scan.md"),
    check,
};

fn check(context: &Context<'_>, findings: &mut Vec<Finding>) {
    findings.extend(scan::findings(context, |shape| {
        (shape == Shape::Sweeps).then_some("Blelloch")
    }));
}
