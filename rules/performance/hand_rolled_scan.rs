//! `hand-rolled-scan`: any other proved scan.

use shaderlint_linter::{Category, Context, Finding, Rule};
use shaderlint_simt::Shape;

use crate::findings::{lane_reads, scan};

pub(crate) const RULE: Rule = Rule {
    id: "hand-rolled-scan",
    category: Category::Perf,
    summary: "a scan that is neither Hillis–Steele's nor Blelloch's: one thread in a loop, lane reads, …",
    aliases: &["wave-prefix-sum-vs-scan-with-atomics"],
    explanation: include_str!("hand_rolled_scan.md"),
    check,
};

fn check(context: &Context<'_>, findings: &mut Vec<Finding>) {
    findings.extend(scan::findings(context, |shape| match shape {
        Shape::Doubling | Shape::Sweeps => None,
        Shape::Tree => Some("divide-and-conquer"),
        Shape::Serial => Some("serial"),
        Shape::Other => Some("hand-rolled"),
    }));
    findings.extend(lane_reads::scans(context));
}
