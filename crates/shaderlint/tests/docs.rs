//! The book has every rule's page, with what was measured. `SNAPSHOTS=overwrite` writes them anew.
#![cfg(feature = "gpu")]

use std::fmt::Write;
use std::path::{Path, PathBuf};

use shaderlint_linter::Rule;
use shaderlint_rules::RULES;
use snapbox::{Data, assert_data_eq};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_book_has_every_rules_page() {
    let contents = std::fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let table = std::fs::read_to_string(root().join("docs/rules.md")).unwrap();
    for rule in RULES {
        let page = format!("rules/{}.md", rule.id);
        let expected = Data::read_from(&root().join("docs").join(&page), None);
        assert_data_eq!(page_of(rule), expected.raw());
        assert!(
            contents.contains(&page) && table.contains(&page),
            "{page} is not listed"
        );
    }
}

#[test]
fn the_table_of_rules_gives_what_was_measured() {
    let table = std::fs::read_to_string(root().join("docs/rules.md")).unwrap();
    for rule in RULES {
        let Some(evidence) = evidence_of(rule) else {
            continue;
        };
        let rows = evidence.rows.iter().filter(|row| row.device == "NVIDIA H200");
        let ratios = rows.map(|row| row.ratio);
        let slowest = ratios.clone().fold(f64::INFINITY, f64::min);
        let fastest = ratios.fold(0.0, f64::max);
        let row = table
            .lines()
            .find(|line| line.starts_with(&format!("| [`{}`]", rule.id)));
        let measured = format!("| {slowest:.2}× to {fastest:.2}× as fast |");
        assert!(
            row.is_some_and(|row| row.contains(&measured)),
            "{}: {measured}",
            rule.id
        );
    }
}

fn evidence_of(rule: &Rule) -> Option<Evidence> {
    let path = root().join("fixtures/rules").join(rule.id).join("evidence.json");
    let text = std::fs::read_to_string(&path).ok()?;
    Some(serde_json::from_str(&text).expect("evidence has this form"))
}

/// A rule's page with what was measured of its fixes.
fn page_of(rule: &Rule) -> String {
    let Some(evidence) = evidence_of(rule) else {
        return rule.explanation.to_owned();
    };
    let mut measured = MEASURED.to_owned();
    for rows in evidence.rows.chunk_by(|a, b| a.device == b.device) {
        let Row {
            device,
            driver,
            waves,
            measured: day,
            ..
        } = &rows[0];
        let _ = write!(
            measured,
            "\n{device} ({driver}, waves of {waves} lanes), {day}:\n\n\
             | kernel | group | ladder | fix | ratio | copy |\n|---|---:|---:|---:|---:|---:|\n"
        );
        for Row {
            kernel,
            group,
            ladder_ms,
            fix_ms,
            ratio,
            copy_ms,
            is_measurable,
            ..
        } in rows
        {
            let ratio = if *is_measurable {
                format!("{ratio:.2}\u{d7}")
            } else {
                "not measurable".to_owned()
            };
            let _ = writeln!(
                measured,
                "| {kernel} | {group} | {ladder_ms:.3} ms | {fix_ms:.3} ms | {ratio} | {copy_ms:.3} ms |"
            );
        }
    }
    let page = rule
        .explanation
        .replace("\n## Fix safety\n", &format!("{measured}\n## Fix safety\n"));
    assert!(page.contains(MEASURED), "{}", rule.id);
    page
}

const MEASURED: &str = "
## Measured

`shaderlint verify --evidence fixtures/rules` times kernels of `fixtures/ladders` and their fixes over 2²⁴ threads (2¹⁶
in software): medians of 15 runs. The ladder or its fix repeats 64 times inside the kernel, so that memory is not what
is timed. *Copy* moves the same bytes and does nothing else.
";

/// What was measured of a rule's fixes.
#[derive(serde::Deserialize)]
struct Evidence {
    rows: Vec<Row>,
}

#[derive(serde::Deserialize)]
struct Row {
    device: String,
    driver: String,
    waves: u32,
    measured: String,
    kernel: String,
    group: u32,
    ladder_ms: f64,
    fix_ms: f64,
    ratio: f64,
    is_measurable: bool,
    copy_ms: f64,
}
