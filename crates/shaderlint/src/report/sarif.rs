//! Findings as a SARIF 2.1.0 log, which code scanning services and editors read.
//!
//! Findings that comments allow or a baseline knows are suppressed results. Columns count characters.

use std::borrow::Cow;
use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use shaderlint_hlsl::{FileSpan, Problem};
use shaderlint_linter::{Category, Diagnostic, FileEdit, Fix, Label, Level, Safety, Verdict};
use shaderlint_rules::RULES;

use super::fingerprint::Fingerprints;
use super::json::NoFixOutput;
use super::{Results, checkout, page_url, slashed};
use crate::check::file_report::FileReport;
use crate::support::source_text::SourceTexts;
use crate::support::uri;

#[derive(Serialize)]
struct Log<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run<'a> {
    tool: Tool,
    column_kind: &'static str,
    invocations: [Invocation<'a>; 1],
    results: Vec<ResultOutput<'a>>,
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    semantic_version: &'static str,
    information_uri: &'static str,
    rules: Vec<RuleOutput>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RuleOutput {
    id: &'static str,
    short_description: Message<'static>,
    help: Help,
    help_uri: String,
    default_configuration: Configuration,
    properties: Tags,
}

#[derive(Serialize)]
struct Help {
    text: &'static str,
    markdown: &'static str,
}

#[derive(Serialize)]
struct Configuration {
    level: &'static str,
}

#[derive(Serialize)]
struct Tags {
    tags: [Category; 1],
}

/// How the run went.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Invocation<'a> {
    execution_successful: bool,
    tool_execution_notifications: Vec<Notification<'a>>,
}

/// Something that could not be read or run to its end.
#[derive(Serialize)]
struct Notification<'a> {
    level: &'static str,
    message: Message<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    locations: Vec<Location<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResultOutput<'a> {
    rule_id: &'static str,
    rule_index: usize,
    level: &'static str,
    message: Message<'a>,
    locations: [Location<'a>; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<Location<'a>>,
    partial_fingerprints: PartialFingerprints,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fixes: Vec<FixOutput<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suppressions: Vec<Suppression<'a>>,
    properties: Properties<'a>,
}

#[derive(Serialize)]
struct Message<'a> {
    text: std::borrow::Cow<'a, str>,
}

#[derive(Serialize)]
struct PartialFingerprints {
    #[serde(rename = "shaderlint/v1")]
    of_message: String,
}

/// Properties that SARIF does not define.
#[derive(Serialize)]
struct Properties<'a> {
    verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none", rename = "fixSafety")]
    fix_safety: Option<Safety>,
    #[serde(skip_serializing_if = "Option::is_none", rename = "noFix")]
    no_fix: Option<NoFixOutput<'a>>,
}

#[derive(Serialize)]
struct Location<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<usize>,
    #[serde(rename = "physicalLocation")]
    place: PhysicalLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Message<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Region>,
}

#[derive(Serialize)]
struct ArtifactLocation {
    uri: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: usize,
    start_column: usize,
    end_line: usize,
    end_column: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FixOutput<'a> {
    description: Message<'a>,
    artifact_changes: [ArtifactChange<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactChange<'a> {
    artifact_location: ArtifactLocation,
    replacements: Vec<Replacement<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Replacement<'a> {
    deleted_region: Region,
    inserted_content: Message<'a>,
}

#[derive(Serialize)]
struct Suppression<'a> {
    kind: &'static str,
    justification: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<Location<'a>>,
}

/// The log of a run.
pub(super) fn sarif(results: Results) -> Result<Vec<u8>> {
    let mut fingerprints = Fingerprints::default();
    let mut outputs = Vec::new();
    let mut notifications = Vec::new();
    for one in results.checked {
        // Most files have nothing to show.
        if one.sources.files.is_empty() {
            continue;
        }
        let texts = SourceTexts::new(&one.sources);
        let mut output = |finding, suppressions| result(&texts, finding, suppressions, &mut fingerprints);
        outputs.extend(
            one.report
                .findings
                .iter()
                .map(|finding| output(finding, Vec::new())),
        );
        outputs.extend(one.report.allowed.iter().map(|allowed| {
            let suppression = Suppression {
                kind: "inSource",
                justification: &allowed.reason,
                location: Some(location(&texts, allowed.by)),
            };
            output(&allowed.finding, vec![suppression])
        }));
        outputs.extend(one.known.iter().map(|finding| {
            let suppression = Suppression {
                kind: "external",
                justification: "known to the baseline",
                location: None,
            };
            output(finding, vec![suppression])
        }));
        notifications.extend(notifications_of(one, &texts));
    }
    let is_successful = results.failures.is_empty();
    notifications.extend(results.failures.iter().map(|failure| Notification {
        level: "error",
        message: message(&failure.text),
        locations: Vec::new(),
    }));
    let log = Log {
        schema: "https://json.schemastore.org/sarif-2.1.0.json",
        version: "2.1.0",
        runs: [Run {
            tool: tool(),
            column_kind: "unicodeCodePoints",
            invocations: [Invocation {
                execution_successful: is_successful,
                tool_execution_notifications: notifications,
            }],
            results: outputs,
        }],
    };
    let mut text = serde_json::to_vec_pretty(&log)?;
    text.push(b'\n');
    Ok(text)
}

fn tool() -> Tool {
    let rules = RULES.iter().map(|rule| RuleOutput {
        id: rule.id,
        short_description: message(rule.summary),
        help: Help {
            text: rule.explanation,
            markdown: rule.explanation,
        },
        help_uri: page_url(rule.id),
        default_configuration: Configuration {
            level: level(rule.category.level()),
        },
        properties: Tags {
            tags: [rule.category],
        },
    });
    Tool {
        driver: Driver {
            name: "shaderlint",
            semantic_version: env!("CARGO_PKG_VERSION"),
            information_uri: env!("CARGO_PKG_REPOSITORY"),
            rules: rules.collect(),
        },
    }
}

fn notifications_of<'a>(one: &'a FileReport, texts: &SourceTexts) -> impl Iterator<Item = Notification<'a>> {
    let unread = one.problems.iter().chain(&one.report.problems);
    unread.chain(&one.report.stops).map(
        |Problem {
             message: said, place, ..
         }| Notification {
            level: "warning",
            message: message(said),
            locations: vec![match place {
                Some(place) => location(texts, *place),
                None => Location {
                    id: None,
                    place: PhysicalLocation {
                        artifact_location: artifact(&one.path),
                        region: None,
                    },
                    message: None,
                },
            }],
        },
    )
}

fn result<'a>(
    texts: &SourceTexts,
    finding: &'a Diagnostic,
    suppressions: Vec<Suppression<'a>>,
    fingerprints: &mut Fingerprints,
) -> ResultOutput<'a> {
    let labelled = |label: &'a Label<FileSpan>| Location {
        message: (!label.text.is_empty()).then(|| message(&label.text)),
        ..location(texts, label.place)
    };
    let related = finding.secondary.iter().zip(1..).map(|(label, id)| Location {
        id: Some(id),
        ..labelled(label)
    });
    let text: Vec<Cow<'_, str>> = std::iter::once(finding.message.as_str().into())
        .chain(finding.evidence())
        .collect();
    ResultOutput {
        rule_id: finding.rule,
        rule_index: RULES.iter().position(|rule| rule.id == finding.rule).unwrap_or(0),
        level: level(finding.level),
        message: Message {
            text: text.join("\n").into(),
        },
        locations: [labelled(&finding.primary)],
        related_locations: related.collect(),
        partial_fingerprints: PartialFingerprints {
            of_message: fingerprints.of(&slashed(texts.name(finding.primary.place), None), finding),
        },
        fixes: finding
            .fix
            .iter()
            .map(|fix| fix_output(texts, finding, fix))
            .collect(),
        suppressions,
        properties: Properties {
            verdict: finding.verdict,
            shape: finding.shape,
            fix_safety: finding.fix.as_ref().map(|fix| fix.safety),
            no_fix: finding.no_fix.as_ref().map(|why| NoFixOutput::of(texts, why)),
        },
    }
}

fn fix_output<'a>(texts: &SourceTexts, finding: &'a Diagnostic, fix: &'a Fix<FileEdit>) -> FixOutput<'a> {
    let place = fix.edits.first().map_or(finding.primary.place, |edit| edit.place);
    let replacements = fix.edits.iter().map(|edit| Replacement {
        deleted_region: region(texts, edit.place),
        inserted_content: message(&edit.text),
    });
    FixOutput {
        description: message(&fix.title),
        artifact_changes: [ArtifactChange {
            artifact_location: artifact(texts.name(place)),
            replacements: replacements.collect(),
        }],
    }
}

fn location<'a>(texts: &SourceTexts, place: FileSpan) -> Location<'a> {
    Location {
        id: None,
        place: PhysicalLocation {
            artifact_location: artifact(texts.name(place)),
            region: Some(region(texts, place)),
        },
        message: None,
    }
}

fn region(texts: &SourceTexts, place: FileSpan) -> Region {
    let (start, end) = texts.places(place);
    Region {
        start_line: start.line,
        start_column: start.column,
        end_line: end.line,
        end_column: end.column,
    }
}

fn artifact(path: &str) -> ArtifactLocation {
    ArtifactLocation {
        uri: uri::of(Path::new(&slashed(path, checkout()))),
    }
}

fn message(text: &str) -> Message<'_> {
    Message { text: text.into() }
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warn => "warning",
        Level::Info => "note",
        Level::Off => "none",
    }
}
