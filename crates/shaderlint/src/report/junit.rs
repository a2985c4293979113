//! Findings as failed tests, which Jenkins and many others show. Each file is a suite, and each of its
//! findings a test. The test of a finding of level `info` passes, and has the finding as its output.

use std::borrow::Cow;
use std::io::{self, Cursor};

use anyhow::Result;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use shaderlint_linter::{Diagnostic, Level};

use super::{Results, checkout, slashed};
use crate::check::file_report::FileReport;
use crate::support::source_text::SourceTexts;

type Xml = Writer<Cursor<Vec<u8>>>;

/// All findings and failures. If there are none, one test that passes: readers take an empty report for an
/// error.
pub(super) fn junit(results: Results) -> Result<Vec<u8>> {
    let mut xml = Writer::new_with_indent(Cursor::new(Vec::new()), b' ', 2);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let found: usize = results.checked.iter().map(|one| one.report.findings.len()).sum();
    let is_clean = found + results.failures.len() == 0;
    let failed: usize = results.checked.iter().map(failures).sum();
    xml.create_element("testsuites")
        .with_attribute(("name", "shaderlint"))
        .with_attribute(("tests", &*(found + results.failures.len()).max(1).to_string()))
        .with_attribute(("failures", &*failed.to_string()))
        .with_attribute(("errors", &*results.failures.len().to_string()))
        .write_inner_content(|xml| {
            for one in results
                .checked
                .iter()
                .filter(|one| !one.report.findings.is_empty())
            {
                suite_of(xml, one)?;
            }
            if !results.failures.is_empty() {
                let count = results.failures.len();
                let counts = Counts {
                    tests: count,
                    errors: count,
                    ..Counts::default()
                };
                suite(xml, "shaderlint", counts, |xml| {
                    results.failures.iter().try_for_each(|failure| {
                        case(xml, "could not be checked", "shaderlint", 0, |xml| {
                            outcome(xml, "error", "failure", &failure.text, "")
                        })
                    })
                })?;
            }
            if is_clean {
                let counts = Counts {
                    tests: 1,
                    ..Counts::default()
                };
                suite(xml, "shaderlint", counts, |xml| {
                    xml.create_element("testcase")
                        .with_attribute(("name", "nothing found"))
                        .with_attribute(("classname", "shaderlint"))
                        .write_empty()?;
                    Ok(())
                })?;
            }
            Ok(())
        })?;
    let mut text = xml.into_inner().into_inner();
    text.push(b'\n');
    Ok(text)
}

/// The number of findings above level `info`.
fn failures(one: &FileReport) -> usize {
    let findings = one.report.findings.iter();
    findings.filter(|finding| finding.level > Level::Info).count()
}

fn suite_of(xml: &mut Xml, one: &FileReport) -> io::Result<()> {
    let texts = SourceTexts::new(&one.sources);
    let counts = Counts {
        tests: one.report.findings.len(),
        failures: failures(one),
        errors: 0,
    };
    suite(xml, &slashed(&one.path, checkout()), counts, |xml| {
        let mut findings = one.report.findings.iter();
        findings.try_for_each(|finding| case_of(xml, &texts, finding))
    })
}

fn case_of(xml: &mut Xml, texts: &SourceTexts, finding: &Diagnostic) -> io::Result<()> {
    let path = slashed(texts.name(finding.primary.place), checkout());
    let (start, _) = texts.places(finding.primary.place);
    let place = format!("{path}:{}:{}", start.line, start.column);
    let place = std::iter::once(Cow::from(place));
    let lines: Vec<Cow<'_, str>> = place.chain(finding.evidence()).collect();
    case(xml, finding.rule, &path, start.line, |xml| {
        if finding.level > Level::Info {
            return outcome(xml, "failure", finding.rule, &finding.message, &lines.join("\n"));
        }
        let text = format!("{}\n{}", finding.message, lines.join("\n"));
        xml.create_element("system-out")
            .write_text_content(BytesText::new(&allowed(&text)))?;
        Ok(())
    })
}

/// The cases of a suite, and how many of them failed.
#[derive(Clone, Copy, Default)]
struct Counts {
    tests: usize,
    failures: usize,
    errors: usize,
}

fn suite(
    xml: &mut Xml,
    name: &str,
    counts: Counts,
    cases: impl FnOnce(&mut Xml) -> io::Result<()>,
) -> io::Result<()> {
    xml.create_element("testsuite")
        .with_attribute(("name", &*allowed(name)))
        .with_attribute(("tests", &*counts.tests.to_string()))
        .with_attribute(("failures", &*counts.failures.to_string()))
        .with_attribute(("errors", &*counts.errors.to_string()))
        .write_inner_content(cases)?;
    Ok(())
}

fn case(
    xml: &mut Xml,
    name: &str,
    file: &str,
    line: usize,
    outcome: impl FnOnce(&mut Xml) -> io::Result<()>,
) -> io::Result<()> {
    let mut element = xml
        .create_element("testcase")
        .with_attribute(("name", name))
        .with_attribute(("classname", &*allowed(file)));
    if line > 0 {
        element = element
            .with_attribute(("file", &*allowed(file)))
            .with_attribute(("line", &*line.to_string()));
    }
    element.write_inner_content(outcome)?;
    Ok(())
}

fn outcome(xml: &mut Xml, element: &str, kind: &str, message: &str, text: &str) -> io::Result<()> {
    xml.create_element(element)
        .with_attribute(("type", kind))
        .with_attribute(("message", &*allowed(message)))
        .write_text_content(BytesText::new(&allowed(text)))?;
    Ok(())
}

/// Replaces the characters that XML does not allow, not even as references (XML 1.0, 2.2).
fn allowed(text: &str) -> String {
    let is_allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    text.chars()
        .map(|c| {
            if is_allowed(c) {
                c
            } else {
                char::REPLACEMENT_CHARACTER
            }
        })
        .collect()
}
