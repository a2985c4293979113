//! The number of findings of each rule.

use std::collections::HashMap;
use std::fmt::Write;

use anyhow::{Result, bail};
use serde::Serialize;
use shaderlint_linter::{Diagnostic, Safety};
use shaderlint_rules::RULES;

use crate::check::file_report::FileReport;
use crate::cli::OutputFormat;

#[derive(Clone, Debug, Default, Serialize)]
struct Count {
    rule: &'static str,
    findings: usize,
    /// Findings that `--fix` fixes.
    safe_fixes: usize,
    /// Findings that only `--fix --unsafe-fixes` fixes.
    unsafe_fixes: usize,
    /// Findings that comments allow.
    allowed: usize,
    /// Findings that the baseline knows.
    known: usize,
}

/// The counts of rules with findings, the highest first, as text or JSON.
pub(crate) fn statistics(checked: &[FileReport], format: OutputFormat) -> Result<Vec<u8>> {
    let counts = counts(checked);
    match format {
        OutputFormat::Full | OutputFormat::Concise => Ok(table(&counts).into_bytes()),
        OutputFormat::Json => {
            let mut text = serde_json::to_vec_pretty(&counts)?;
            text.push(b'\n');
            Ok(text)
        }
        _ => bail!("--statistics supports the formats full, concise and json"),
    }
}

fn counts(checked: &[FileReport]) -> Vec<Count> {
    let mut counts: HashMap<&str, Count> = HashMap::new();
    let mut count_of = |finding: &Diagnostic, add: &dyn Fn(&mut Count)| {
        let count = counts.entry(finding.rule).or_insert_with(|| Count {
            rule: finding.rule,
            ..Count::default()
        });
        add(count);
    };
    for one in checked {
        for finding in &one.report.findings {
            let safety = finding.fix.as_ref().map(|fix| fix.safety);
            count_of(finding, &|count| {
                count.findings += 1;
                count.safe_fixes += usize::from(safety == Some(Safety::Safe));
                count.unsafe_fixes += usize::from(safety == Some(Safety::Unsafe));
            });
        }
        for allowed in &one.report.allowed {
            count_of(&allowed.finding, &|count| count.allowed += 1);
        }
        for finding in &one.known {
            count_of(finding, &|count| count.known += 1);
        }
    }
    let mut counts: Vec<Count> = counts.into_values().collect();
    let number = |count: &Count| RULES.iter().position(|rule| rule.id == count.rule);
    counts.sort_by_key(|count| (std::cmp::Reverse(count.findings), number(count)));
    counts
}

fn table(counts: &[Count]) -> String {
    let longest = counts.iter().map(|count| count.rule.len()).max().unwrap_or(0);
    let mut table = String::new();
    for count in counts {
        let said = |number: usize, what: &str| (number > 0).then(|| format!("{number} {what}"));
        let beside = [
            said(count.safe_fixes, "with a safe fix"),
            said(count.unsafe_fixes, "with an unsafe one"),
            said(count.allowed, "allowed"),
            said(count.known, "known"),
        ];
        let beside = beside.into_iter().flatten().collect::<Vec<_>>().join(", ");
        let line = format!("{:>6}  {:<longest$}  {beside}", count.findings, count.rule);
        let _ = writeln!(table, "{}", line.trim_end());
    }
    table
}
