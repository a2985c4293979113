//! Findings for other programs. Lines and columns count from 1, columns in characters.

use serde::Serialize;
use shaderlint_hlsl::FileSpan;
use shaderlint_linter::{Diagnostic, FileEdit, Fix, Safety};

use crate::lint::Looked;
use crate::source_text::{Place, SourceTexts};

#[derive(Serialize)]
struct Output<'a> {
    findings: Vec<FindingOutput<'a>>,
}

#[derive(Serialize)]
struct FindingOutput<'a> {
    rule: &'a str,
    category: shaderlint_linter::Category,
    path: String,
    start: Place,
    end: Place,
    message: &'a str,
    notes: &'a [String],
    fix: Option<FixOutput<'a>>,
}

/// All edits are of the finding's file; their places are those before any of them is made.
#[derive(Serialize)]
struct FixOutput<'a> {
    title: &'a str,
    safety: Safety,
    edits: Vec<EditOutput<'a>>,
}

#[derive(Serialize)]
struct EditOutput<'a> {
    start: Place,
    end: Place,
    replacement: &'a str,
}

/// All findings as one JSON document.
pub(crate) fn json(looked: &[Looked]) -> anyhow::Result<Vec<u8>> {
    let mut findings = Vec::new();
    for one in looked.iter().filter(|one| !one.report.findings.is_empty()) {
        let texts = SourceTexts::new(&one.sources);
        findings.extend(
            one.report
                .findings
                .iter()
                .map(|finding| finding_output(&texts, finding)),
        );
    }
    let mut text = serde_json::to_vec_pretty(&Output { findings })?;
    text.push(b'\n');
    Ok(text)
}

fn finding_output<'a>(texts: &SourceTexts, finding: &'a Diagnostic) -> FindingOutput<'a> {
    let (start, end) = places(texts, finding.primary.place);
    FindingOutput {
        rule: finding.rule,
        category: finding.category,
        path: texts
            .get(finding.primary.place.file)
            .map_or(String::new(), |file| file.name.clone()),
        start,
        end,
        message: &finding.message,
        notes: &finding.notes,
        fix: finding.fix.as_ref().map(|fix| fix_output(texts, fix)),
    }
}

fn fix_output<'a>(texts: &SourceTexts, fix: &'a Fix<FileEdit>) -> FixOutput<'a> {
    let edits = fix.edits.iter().map(|edit| {
        let (start, end) = places(texts, edit.place);
        EditOutput {
            start,
            end,
            replacement: &edit.text,
        }
    });
    FixOutput {
        title: &fix.title,
        safety: fix.safety,
        edits: edits.collect(),
    }
}

fn places(texts: &SourceTexts, span: FileSpan) -> (Place, Place) {
    let place = |offset: u32| {
        texts
            .get(span.file)
            .map_or(Place { line: 1, column: 1 }, |file| file.place(offset))
    };
    (place(span.start), place(span.end))
}
