//! Readings in the files of their union.

use shaderlint_hlsl::{FileId, FileSpan, Inactive, Problem, Sources, Taken};
use shaderlint_linter::Report;

use crate::check::readings::Reading;

/// The reading with its places in `sources`, extended by its own files.
pub(super) fn relocated(mut reading: Reading, sources: &mut Sources) -> Reading {
    let ids: Vec<FileId> = reading
        .sources
        .files
        .iter()
        .map(|file| {
            sources.id_of(&file.path).unwrap_or_else(|| {
                sources.files.push(file.clone());
                FileId(u32::try_from(sources.files.len() - 1).unwrap_or(u32::MAX))
            })
        })
        .collect();
    let moved = |place: FileSpan| FileSpan {
        file: ids.get(place.file.0 as usize).copied().unwrap_or(place.file),
        ..place
    };
    for place in &mut reading.unreached {
        *place = moved(*place);
    }
    let move_problem = |problem: &mut Problem| problem.place = problem.place.map(moved);
    for inactive in &mut reading.inactive {
        *inactive = Inactive {
            region: moved(inactive.region),
            condition: moved(inactive.condition),
            taken: inactive.taken.map(|taken| Taken {
                region: moved(taken.region),
                condition: moved(taken.condition),
                ..taken
            }),
            ..*inactive
        };
    }
    let Report {
        findings,
        allowed,
        used,
        problems,
        stops,
        partial_kernels: _,
        work: _,
    } = &mut reading.report;
    reading
        .problems
        .iter_mut()
        .chain(problems)
        .chain(stops)
        .for_each(move_problem);
    let by = allowed.iter_mut().map(|one| &mut one.by);
    for place in used.iter_mut().chain(by) {
        *place = moved(*place);
    }
    for finding in findings
        .iter_mut()
        .chain(allowed.iter_mut().map(|one| &mut one.finding))
    {
        let labels = std::iter::once(&mut finding.primary).chain(&mut finding.secondary);
        labels.for_each(|label| label.place = moved(label.place));
        for edit in finding.fix.iter_mut().flat_map(|fix| &mut fix.edits) {
            edit.place = moved(edit.place);
        }
        if let Some(place) = finding.no_fix.as_mut().and_then(|why| why.place.as_mut()) {
            *place = moved(*place);
        }
    }
    reading
}
