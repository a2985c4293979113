//! Findings for other programs. Lines and columns count from 1, columns in characters.

use serde::Serialize;
use shaderlint_hlsl::{FileSpan, Problem};
use shaderlint_linter::{Category, Diagnostic, FileEdit, Fix, Level, NoFix, Proof, Safety, Verdict};

use crate::check::file_report::FileReport;
use crate::report::Results;
use crate::support::source_text::{LineColumn, SourceTexts};

#[derive(Serialize)]
struct Output<'a> {
    /// The version of the program.
    version: &'a str,
    findings: Vec<FindingOutput<'a>>,
    problems: Vec<ProblemOutput<'a>>,
}

#[derive(Serialize)]
struct FindingOutput<'a> {
    rule: &'a str,
    category: Category,
    severity: &'a str,
    path: String,
    start: LineColumn,
    end: LineColumn,
    message: &'a str,
    shape: Option<&'a str>,
    verdict: Verdict,
    /// The notes of the finding and of its fix.
    notes: Vec<&'a str>,
    fix: Option<FixOutput<'a>>,
    no_fix: Option<NoFixOutput<'a>>,
}

/// Why there is no fix.
#[derive(Serialize)]
pub(super) struct NoFixOutput<'a> {
    reason: &'a str,
    text: &'a str,
    /// The obstacle, and its position.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
}

impl<'a> NoFixOutput<'a> {
    pub fn of(texts: &SourceTexts, why: &'a NoFix<FileSpan>) -> NoFixOutput<'a> {
        NoFixOutput {
            reason: why.reason.name(),
            text: why.text(),
            name: why.name.as_deref(),
            path: why.place.map(|place| texts.name(place).to_owned()),
            line: why.place.map(|place| texts.places(place).0.line),
        }
    }
}

/// Something that is missing, or could not be read or run to its end.
#[derive(Serialize)]
struct ProblemOutput<'a> {
    path: String,
    #[serde(flatten)]
    place: Option<PlaceOutput>,
    message: &'a str,
}

#[derive(Serialize)]
struct PlaceOutput {
    start: LineColumn,
    end: LineColumn,
}

/// All edits are in the finding's file. Their positions are those before any edit.
#[derive(Serialize)]
struct FixOutput<'a> {
    title: &'a str,
    safety: Safety,
    /// What was proved of the fix.
    proof: Option<String>,
    edits: Vec<EditOutput<'a>>,
}

#[derive(Serialize)]
struct EditOutput<'a> {
    start: LineColumn,
    end: LineColumn,
    replacement: &'a str,
}

/// All findings as one JSON document.
pub(super) fn json(Results { checked, failures }: Results) -> anyhow::Result<Vec<u8>> {
    let (mut findings, mut problems) = (Vec::new(), Vec::new());
    for one in checked {
        let texts = SourceTexts::new(&one.sources);
        let found = one.report.findings.iter();
        findings.extend(found.map(|finding| finding_output(&texts, finding)));
        let unread = one.problems.iter().chain(&one.report.problems);
        problems.extend(
            unread
                .chain(&one.report.stops)
                .map(|problem| problem_output(one, &texts, problem)),
        );
    }
    problems.extend(failures.iter().map(|failure| ProblemOutput {
        path: failure.path.clone(),
        place: None,
        message: failure.message(),
    }));
    let output = Output {
        version: env!("CARGO_PKG_VERSION"),
        findings,
        problems,
    };
    let mut text = serde_json::to_vec_pretty(&output)?;
    text.push(b'\n');
    Ok(text)
}

fn finding_output<'a>(texts: &SourceTexts, finding: &'a Diagnostic) -> FindingOutput<'a> {
    let (start, end) = texts.places(finding.primary.place);
    let own = finding.notes.iter().map(String::as_str);
    let of_fix = finding.fix.iter().flat_map(|fix| &fix.notes);
    FindingOutput {
        rule: finding.rule,
        category: finding.category,
        severity: match finding.level {
            Level::Error => "error",
            Level::Warn => "warning",
            Level::Info | Level::Off => "info",
        },
        path: texts.name(finding.primary.place).to_owned(),
        start,
        end,
        message: &finding.message,
        shape: finding.shape,
        verdict: finding.verdict,
        notes: own.chain(of_fix.map(|note| &*note.text)).collect(),
        fix: finding.fix.as_ref().map(|fix| fix_output(texts, fix)),
        no_fix: finding.no_fix.as_ref().map(|why| NoFixOutput::of(texts, why)),
    }
}

fn problem_output<'a>(one: &FileReport, texts: &SourceTexts, problem: &'a Problem) -> ProblemOutput<'a> {
    let place = problem.place.map(|place| texts.places(place));
    let path = problem.place.map(|place| texts.name(place).to_owned());
    ProblemOutput {
        path: path.unwrap_or_else(|| one.path.clone()),
        place: place.map(|(start, end)| PlaceOutput { start, end }),
        message: &problem.message,
    }
}

fn fix_output<'a>(texts: &SourceTexts, fix: &'a Fix<FileEdit>) -> FixOutput<'a> {
    let edits = fix.edits.iter().map(|edit| {
        let (start, end) = texts.places(edit.place);
        EditOutput {
            start,
            end,
            replacement: &edit.text,
        }
    });
    FixOutput {
        title: &fix.title,
        safety: fix.safety,
        proof: fix.proof.as_ref().map(Proof::to_string),
        edits: edits.collect(),
    }
}
