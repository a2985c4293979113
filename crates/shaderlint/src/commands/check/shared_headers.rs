//! Findings in headers that several files of a run include.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::Result;
use shaderlint_hlsl::{FileId, FileSpan, Problem, Sources};
use shaderlint_linter::{Diagnostic, Level};

use super::inputs;
use crate::check::file_report::{Counted, FileReport};
use crate::check::options::{Options, Target};
use crate::support::paths::here;
use crate::workspace::walk::InputOrigin;

/// Keeps only the findings in named headers, for files that were checked only because of these headers.
pub(super) fn keep_what_is_in_headers(
    inputs: &[Target],
    results: &mut [Result<FileReport>],
    options: &Options,
) {
    let headers = inputs
        .iter()
        .filter(|target| inputs::is_named_header(target, options));
    let headers: HashSet<PathBuf> = headers.map(|target| here(&target.input.path)).collect();
    let of_includers = inputs
        .iter()
        .zip(results)
        .filter(|(target, _)| target.input.origin == InputOrigin::Includer);
    for one in of_includers.filter_map(|(_, result)| result.as_mut().ok()) {
        let FileReport { report, sources, .. } = &mut *one;
        let is_in_header = |place: FileSpan| {
            let file = sources.get(place.file);
            file.is_some_and(|file| headers.contains(&here(Path::new(&file.path))))
        };
        report
            .findings
            .retain(|finding| is_in_header(finding.primary.place));
        report
            .allowed
            .retain(|allowed| is_in_header(allowed.finding.primary.place));
        one.is_unit = false;
        one.counted = Counted::ForHeaders;
    }
}

/// Identifies a finding by its rule, file and place.
type FindingKey = (&'static str, String, (u32, u32));

/// A finding of the file `path`.
fn key(path: &str, sources: &Sources, finding: &Diagnostic) -> FindingKey {
    let place = finding.primary.place;
    let file = sources.get(place.file).map_or(path, |file| &*file.path);
    (finding.rule, file.to_owned(), (place.start, place.end))
}

/// The findings that a file has when checked by itself: those to report from there, and those to report from an
/// includer. An includer comes first if the file by itself lacks definitions of the includer, or if all includers
/// give the finding a lower level.
fn own_findings(checked: &[FileReport]) -> (HashSet<FindingKey>, HashSet<FindingKey>) {
    let findings = checked
        .iter()
        .flat_map(|one| one.report.findings.iter().map(move |finding| (one, finding)));
    let (own, others): (Vec<_>, Vec<_>) =
        findings.partition(|(_, finding)| finding.primary.place.file == FileId(0));
    let mut highest: HashMap<FindingKey, Level> = HashMap::new();
    for (one, finding) in others {
        let level = highest
            .entry(key(&one.path, &one.sources, finding))
            .or_insert(finding.level);
        *level = finding.level.max(*level);
    }
    let own = own.into_iter().map(|(one, finding)| {
        let key = key(&one.path, &one.sources, finding);
        let is_vague = one.is_partial && finding.fix.is_none();
        let is_better_elsewhere = highest
            .get(&key)
            .is_some_and(|level| is_vague || *level < finding.level);
        (key, is_better_elsewhere)
    });
    let (better_elsewhere, own): (Vec<_>, Vec<_>) =
        own.partition(|(_, is_better_elsewhere)| *is_better_elsewhere);
    let [own, better_elsewhere] =
        [own, better_elsewhere].map(|keys| keys.into_iter().map(|(key, _)| key).collect());
    (own, better_elsewhere)
}

/// Keeps one finding per place of an included file if several files find the same: the file's own finding if
/// [`own_findings`] reports it, otherwise that of the first includer.
pub(super) fn report_once(checked: &mut [FileReport]) {
    let starts = |problem: &Problem| problem.place.map(|place| (place.file, place.start));
    let (own, better_elsewhere) = own_findings(checked);
    let mut seen = HashSet::new();
    for one in checked {
        let FileReport {
            report,
            sources,
            problems,
            elsewhere,
            path,
            ..
        } = one;
        // The problem with an unknown name already explains the stop at that name.
        let unknown: HashSet<_> = problems.iter().filter_map(starts).collect();
        report
            .stops
            .retain(|stop| starts(stop).is_none_or(|start| !unknown.contains(&start)));
        let mut is_new = |what: &str, place: Option<FileSpan>| {
            let file = place
                .and_then(|place| sources.get(place.file))
                .map_or(&*path, |file| &file.path);
            let place = place.map(|place| (place.start, place.end));
            seen.insert((what.to_owned(), file.to_owned(), place))
        };
        report.findings.retain(|finding| {
            let place = finding.primary.place;
            let key = key(path, sources, finding);
            let is_for_other = if place.file == FileId(0) {
                better_elsewhere.contains(&key)
            } else {
                own.contains(&key)
            };
            !is_for_other && is_new(finding.rule, Some(place))
        });
        report
            .allowed
            .retain(|allowed| is_new(allowed.finding.rule, Some(allowed.finding.primary.place)));
        for problems in [problems, elsewhere, &mut report.problems, &mut report.stops] {
            problems.retain(|problem| is_new(&problem.message, problem.place));
        }
    }
}
