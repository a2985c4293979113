//! The summary of a run.

use std::collections::BTreeMap;

use shaderlint_linter::{Level, Safety};

use crate::check::file_report::{Counted, FileReport, InPart};
use crate::cli::Detail;
use crate::support::terminal::Style;

/// The arguments that the summary depends on.
#[derive(Clone, Copy)]
pub(crate) struct SummaryContext<'a> {
    pub style: Style,
    pub changed_since: Option<&'a str>,
    pub makes_fixes: bool,
    pub detail: Detail,
}

/// One line: what was found in how many files, and what can be done about it. Below it, the `causes` of files
/// that were not understood in full.
pub(crate) fn summary(asked: SummaryContext, checked: &[FileReport], causes: &str) -> String {
    let line = line(asked, checked);
    let findings = checked.iter().flat_map(|one| &one.report.findings);
    let color = match findings.map(|finding| finding.level).max() {
        Some(Level::Error) => "1;31",
        Some(Level::Warn) => "1;33",
        // Nothing is fine if nothing was checked.
        None if checked.iter().all(|one| one.counted != Counted::Checked) => "1",
        Some(Level::Info | Level::Off) | None => "1;32",
    };
    format!("{}\n{causes}", asked.style.paint(color, &line))
}

/// What was found in how many files, and what can be done about it.
fn line(asked: SummaryContext, checked: &[FileReport]) -> String {
    if checked.is_empty() {
        let revision = asked.changed_since;
        return revision.map_or_else(
            || "no shader files found".to_owned(),
            |revision| format!("no shader files changed since {revision}"),
        );
    }
    let findings = || checked.iter().flat_map(|one| &one.report.findings);
    let count = |safety: Safety| {
        let fixes = findings().filter_map(|finding| finding.fix.as_ref());
        fixes.filter(|fix| fix.safety == safety).count()
    };
    let number_of = |as_what| checked.iter().filter(|one| one.counted == as_what).count();
    let unseen = match number_of(Counted::Unseen) {
        0 => String::new(),
        1 => "1 header not checked: no kernel includes it".to_owned(),
        some => format!("{some} headers not checked: no kernel includes them"),
    };
    let in_part = headers_in_part(checked);
    if number_of(Counted::Checked) == 0 {
        return unseen;
    }
    let unseen = if unseen.is_empty() {
        unseen
    } else {
        format!("; {unseen}")
    };
    let files = counted(number_of(Counted::Checked), "file", "files");
    let fixed: usize = checked.iter().map(|one| one.fixed.rules.len()).sum();
    let done = match fixed {
        0 => String::new(),
        _ => format!(
            "{} {}; ",
            counted(fixed, "fix", "fixes"),
            if asked.makes_fixes { "made" } else { "to make" }
        ),
    };
    let how = match asked.detail {
        Detail::Examples | Detail::Everything => "",
        Detail::Nothing | Detail::WhatMatters => " (-v says where)",
    };
    let partial = match partial(checked) {
        Some(files) => format!("; {files} not understood in full{how}"),
        None => String::new(),
    };
    let known = match checked.iter().map(|one| one.known.len()).sum() {
        0 => String::new(),
        some => format!("; {} known to the baseline", counted(some, "finding", "findings")),
    };
    let found = findings().count();
    if found == 0 {
        let is_left = fixed > 0;
        return format!(
            "{done}nothing {} in {files}{known}{partial}{in_part}{unseen}",
            match (is_left, known.is_empty()) {
                (true, _) => "left",
                (false, true) => "found",
                (false, false) => "new",
            }
        );
    }
    let fixable = match (count(Safety::Safe), count(Safety::Unsafe)) {
        (0, 0) => String::new(),
        (safe, 0) => format!(" ({safe} fixable with --fix)"),
        (0, not_safe) => format!(" ({not_safe} fixable with --fix --unsafe-fixes)"),
        (safe, not_safe) => format!(" ({safe} fixable with --fix, {not_safe} more with --unsafe-fixes)"),
    };
    format!(
        "{done}{} in {files}{fixable}{known}{partial}{in_part}{unseen}",
        counted(found, "finding", "findings")
    )
}

/// The files that were not understood in full, and the includers that were read only for headers.
fn partial(checked: &[FileReport]) -> Option<String> {
    let partial = checked.iter().filter(|one| one.is_partial);
    let (includers, files): (Vec<_>, Vec<_>) = partial.partition(|one| one.counted == Counted::ForHeaders);
    let files = (!files.is_empty()).then(|| counted(files.len(), "file", "files"));
    let includers = (!includers.is_empty()).then(|| counted(includers.len(), "includer", "includers"));
    match (files, includers) {
        (Some(files), Some(includers)) => Some(format!("{files} and {includers}")),
        (files, includers) => files.or(includers),
    }
}

/// The headers that were checked in some of their kernels only.
fn headers_in_part(checked: &[FileReport]) -> String {
    let in_part = checked.iter().filter_map(|one| Some((one, one.in_part?)));
    let in_part: Vec<(&FileReport, InPart)> = in_part.collect();
    match &*in_part {
        [] => String::new(),
        [(header, InPart { checked, all })] => {
            let path = &header.path;
            format!("; {path} checked in {checked} of the {all} kernels that include it")
        }
        some => format!(
            "; {} headers checked in some of the kernels that include them",
            some.len()
        ),
    }
}

pub(crate) fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// A line that counts the fixes made in a file, by rule. `None` if there were none.
pub(crate) fn fixes_made(checked: &FileReport) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for rule in &checked.fixed.rules {
        *counts.entry(rule).or_default() += 1;
    }
    let counts: Vec<String> = counts
        .iter()
        .map(|(rule, count)| format!("{count} {rule}"))
        .collect();
    (!counts.is_empty()).then(|| format!("{}: {}\n", checked.path, counts.join(", ")))
}
