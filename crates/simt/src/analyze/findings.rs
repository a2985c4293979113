//! Merges the findings of several runs.

use crate::finding::{Analysis, Collective, OutOfBounds, Race};

pub(super) fn has_defects(analysis: &Analysis) -> bool {
    !(analysis.races.is_empty()
        && analysis.divergences.is_empty()
        && analysis.out_of_bounds.is_empty()
        && analysis.uninitialised.is_empty())
}

/// Adds the races that are not yet known.
pub(super) fn add_races(known: &mut Vec<Race>, mut news: Vec<Race>) {
    news.retain(|race| known.iter().all(|known| !is_same_race(known, race)));
    known.append(&mut news);
}

/// Adds the collectives that share no statement with a known one.
pub(super) fn add_collectives(known: &mut Vec<Collective>, mut news: Vec<Collective>) {
    news.retain(|found| known.iter().all(|known| !overlap(known, found)));
    known.append(&mut news);
}

pub(super) fn overlap(a: &Collective, b: &Collective) -> bool {
    a.function == b.function && a.span.start < b.span.end && b.span.start < a.span.end
}

pub(super) fn is_same_race(a: &Race, b: &Race) -> bool {
    a.array == b.array && (a.first.span, a.second.span) == (b.first.span, b.second.span)
}

/// Whether two runs found the same collective.
pub(super) fn is_same_collective(a: &Collective, b: &Collective) -> bool {
    (a.span, a.function, a.kind, a.operator, a.half) == (b.span, b.function, b.kind, b.operator, b.half)
        && (&a.input, &a.output, a.count, a.shape) == (&b.input, &b.output, b.count, b.shape)
}

/// Keeps the defects that `other`, a run at another wave size, has too.
pub(super) fn keep_common_defects(known: &mut Analysis, other: &Analysis) {
    known.races.retain_mut(|race| {
        let Some(other) = other.races.iter().find(|other| is_same_race(race, other)) else {
            return false;
        };
        race.is_met_otherwise |= !race.is_met_like(other);
        true
    });
    known
        .divergences
        .retain(|found| other.divergences.iter().any(|other| found.span == other.span));
    let place = |found: &OutOfBounds| (found.array, found.access.span);
    known.out_of_bounds.retain(|found| {
        other
            .out_of_bounds
            .iter()
            .any(|other| place(found) == place(other))
    });
    known.uninitialised.retain(|found| {
        other
            .uninitialised
            .iter()
            .any(|other| found.read.span == other.read.span)
    });
}
