//! The findings of a unit in its report.

use std::collections::HashSet;
use std::path::Path;

use shaderlint_hlsl::{Cause, FileId, FileSpan, Problem, Sources};
use shaderlint_linter::{Diagnostic, Report};

use crate::check::file_report::{Counted, FileReport, Included};
use crate::check::guesses;
use crate::check::notes::{note_includer, note_kernels};
use crate::check::readings::Role;
use crate::check::union::Union;
use crate::workspace::includes::Lookups;
use crate::workspace::prefilter;
use crate::workspace::walk::InputOrigin;

/// Adds what the readings found, with notes on the kernels.
pub(super) fn add(
    checked: &mut FileReport,
    union: Union,
    lookups: &Lookups,
    origin: InputOrigin,
    role: Role,
) {
    let problems = union.problems.iter().chain(&union.elsewhere);
    checked.guesses = guesses::of(Path::new(&checked.path), lookups, problems);
    let text = union.sources.files.first().map(|file| &*file.text);
    checked.lacks_entry = !union.has_entry && text.is_some_and(prefilter::names_entry);
    // Who names a header wants to know if no kernel shows its code; a header found in a folder just counts as
    // checked.
    if origin == InputOrigin::Named && role == Role::HeaderAsUnit && !union.has_entry {
        checked.counted = Counted::Unseen;
    }
    checked.is_partial =
        !(union.problems.is_empty() && union.report.stops.is_empty()) || union.omits_declared;
    checked.uncalled = union.uncalled;
    checked.run_by_themselves = union.run_by_themselves;
    checked.included = included(&union.sources, &union.report.used);
    checked.report = union.report;
    for finding in &mut checked.report.findings {
        note_kernels(finding);
        if finding.primary.place.file != FileId(0) {
            note_includer(finding, &checked.path);
        }
    }
    let Report { findings, stops, .. } = &mut checked.report;
    // A barrier that has a finding was understood.
    stops.retain(|stop| {
        let is_found = |finding: &Diagnostic| Some(finding.primary.place) == stop.place;
        !findings.iter().any(is_found)
    });
    checked.problems = union.problems;
    drop_consequences(&mut checked.problems);
    checked.problems.extend(lookups.choices(&union.sources));
    checked.elsewhere = union.elsewhere;
    lookups.explain(&union.sources, &mut checked.problems);
    lookups.explain(&union.sources, &mut checked.elsewhere);
    checked.sources = union.sources;
}

/// Drops the problems that begin at an unknown name, such as that of the length of an array: they follow from it.
fn drop_consequences(problems: &mut Vec<Problem>) {
    let is_name = |problem: &Problem| matches!(problem.cause, Cause::Name(_));
    let start = |problem: &Problem| problem.place.map(|place| (place.file, place.start));
    let names: HashSet<_> = { problems.iter() }
        .filter(|problem| is_name(problem))
        .filter_map(start)
        .collect();
    problems.retain(|problem| is_name(problem) || start(problem).is_none_or(|start| !names.contains(&start)));
}

/// The included files, and which of their comments suppress a finding.
fn included(sources: &Sources, used: &[FileSpan]) -> Vec<Included> {
    let files = (0..).map(FileId).zip(&sources.files).skip(1);
    let included = files.map(|(id, file)| Included {
        path: file.path.clone(),
        used: used.iter().filter(|place| place.file == id).copied().collect(),
    });
    included.collect()
}
