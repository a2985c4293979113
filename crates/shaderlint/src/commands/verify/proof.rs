//! The proof over wave sizes and lane maps.

use std::collections::BTreeSet;

use shaderlint_simt::{LaneMap, Outcome, WaveRun, compare};

use super::evidence::{Cell, CellOutcome, MapRow, Proof};
use super::pair::Pair;
use crate::commands::kernel;
use crate::workspace::project_file::TranslationUnit;

/// The distinct lane maps for such a group: in a single row, rows and quads equal the linear map.
pub(super) fn maps(has_rows: bool) -> Vec<LaneMap> {
    let maps = LaneMap::ALL.into_iter();
    maps.filter(|map| has_rows || matches!(map, LaneMap::Linear | LaneMap::Ragged(_)))
        .collect()
}

/// Runs both kernels at every wave size under every map. If part of a text could not be read, or if one of the two
/// files reaches an `#error`, nothing is proved.
pub(super) fn prove([flagged, fixed]: [&TranslationUnit; 2], pair: &Pair) -> Proof {
    let mut problems = flagged.problems.iter().chain(&fixed.problems);
    let unread = problems.find(|problem| problem.cause.hides_text());
    let refused = [flagged, fixed].into_iter().find(|unit| unit.shader.is_refused);
    let refused = refused.map(|unit| format!("{} reaches an `#error`", kernel::path(unit)));
    let in_doubt = unread.map(|problem| problem.message.clone()).or(refused);
    let (flagged, fixed) = (&flagged.shader, &fixed.shader);
    let mut proof = Proof::default();
    let mut from = (flagged, pair.flagged);
    if let Some(refined) = &pair.refined {
        proof.atomics = Some("one for each wave: proved for any active lanes of waves of 4 to 128");
        if refined.is_all {
            return proof;
        }
        from = (&refined.shader, refined.entry);
    }
    let maps = maps(pair.has_rows());
    let runs: Vec<WaveRun> = compare(from, (fixed, pair.fixed), &maps).collect();
    proof.wave_sizes = runs
        .iter()
        .map(|run| run.wave_size)
        .collect::<BTreeSet<u32>>()
        .into_iter()
        .collect();
    proof.presumes_barriers = runs.iter().any(|run| run.assumes_convergence);
    proof.left_open = runs.iter().find_map(|run| match run.outcome {
        Outcome::RoundsBeyond(doubt) => doubt.left_open(),
        _ => None,
    });
    for map in maps {
        let of_map = runs.iter().filter(|run| run.map == map);
        proof.maps.push(MapRow {
            map: map.name(),
            // Every known implementation packs a group without rows linearly. The packing of a group with rows is
            // unknown.
            is_expected: pair.has_rows() || map == LaneMap::Linear,
            cells: of_map
                .map(|run| {
                    let in_doubt = in_doubt.clone().map(Outcome::NotProved);
                    let known = in_doubt.as_ref().unwrap_or(&run.outcome);
                    Cell {
                        wave_size: run.wave_size,
                        outcome: outcome(known),
                        text: describe(known),
                    }
                })
                .collect(),
        });
    }
    proof
}

fn outcome(outcome: &Outcome) -> CellOutcome {
    match outcome {
        Outcome::Equal => CellOutcome::Equal,
        Outcome::Reassociates => CellOutcome::Reassociates,
        Outcome::Differs(_) => CellOutcome::Differs,
        Outcome::OutOfBounds { .. } => CellOutcome::OutOfBounds,
        Outcome::Races { .. } => CellOutcome::Races,
        Outcome::RoundsBeyond(_) | Outcome::Undecided | Outcome::NotProved(_) => CellOutcome::NotProved,
    }
}

fn describe(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Equal => "equal".to_owned(),
        Outcome::Reassociates => "equal up to the order of float operations".to_owned(),
        Outcome::Differs(d) => {
            format!(
                "differs at {} (thread {}): expected {}, got {}",
                d.place, d.thread, d.expected, d.got
            )
        }
        Outcome::OutOfBounds { .. } => format!("out of bounds: {}", outcome.reason()),
        Outcome::Races { element, race } => {
            format!(
                "races: threads {} and {} on {element}",
                race.first.thread, race.second.thread
            )
        }
        Outcome::RoundsBeyond(_) | Outcome::Undecided | Outcome::NotProved(_) => {
            format!("not proved: {}", outcome.reason())
        }
    }
}
