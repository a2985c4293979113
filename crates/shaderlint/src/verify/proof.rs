//! What the proof over wave sizes and lane maps says, in words.

use std::fmt::Write;

use shaderlint_hlsl::Shader;
use shaderlint_simt::{LaneMap, Outcome, WaveRun, compare};

use super::Pair;

pub(super) struct Proof {
    pub text: String,
    /// Under the maps that a group of this shape can be expected to have.
    pub holds: bool,
}

/// Runs both kernels at every wave size under every map.
pub(super) fn prove(flagged: &Shader, fixed: &Shader, pair: &Pair) -> Proof {
    let group = flagged
        .functions
        .get(pair.flagged.0 as usize)
        .and_then(|f| f.group_size)
        .unwrap_or_default();
    let [x, y, z] = group;
    let has_rows = y > 1 || z > 1;
    let mut text = format!("{} ({x}×{y}×{z}) against {}\n", pair.name, pair.other);
    let mut refines = "";
    let mut from = (flagged, pair.flagged);
    if let Some(refined) = &pair.refined {
        let _ = writeln!(
            text,
            "  {:<12} one for each wave: proved for any active lanes of waves of 4 to 128",
            "atomics"
        );
        if refined.is_all {
            let _ = writeln!(text, "  {:<12} proved to refine: no outcome is new", "verdict");
            return Proof { text, holds: true };
        }
        from = (&refined.shader, refined.entry);
        refines = "but for the atomics, ";
    }
    let runs = compare(from, (fixed, pair.fixed), &LaneMap::ALL);
    let mut holding = Vec::new();
    // In a group of one row, rows and quads are the linear map.
    let maps = LaneMap::ALL
        .into_iter()
        .filter(|map| has_rows || matches!(map, LaneMap::Linear | LaneMap::Ragged(_)));
    for map in maps {
        let of_map: Vec<&WaveRun> = runs.iter().filter(|run| run.map == map).collect();
        let is_equal = of_map.iter().all(|run| run.outcome.is_equal());
        if is_equal {
            holding.push(map);
        }
        let lines = outcomes(&of_map);
        for (number, line) in lines.iter().enumerate() {
            let label = if number == 0 { map.name() } else { "" };
            let _ = writeln!(text, "  {label:<12} {line}");
        }
    }
    // A group without rows is packed linearly by every implementation seen; of others nothing is known.
    let holds = if has_rows {
        holding.len() == LaneMap::ALL.len()
    } else {
        holding.contains(&LaneMap::Linear)
    };
    let verdict = match (holds, has_rows, holding.len()) {
        (true, false, 1) => {
            "proved equal at every wave size, if waves hold consecutive threads (linear packing)"
        }
        (true, ..) => "proved equal at every wave size under every lane map tried",
        (false, ..) if runs.iter().any(|run| is_different(&run.outcome)) => "NOT equivalent",
        (false, ..) => "not proved, and not seen to differ",
    };
    let verdict = if holds
        && runs
            .iter()
            .any(|run| matches!(run.outcome, Outcome::Reassociates))
    {
        format!("{verdict}, up to the order of float operations")
    } else {
        verdict.to_owned()
    };
    let _ = writeln!(text, "  {:<12} {refines}{verdict}", "verdict");
    Proof { text, holds }
}

/// Whether the outcome shows that the second kernel is not the first.
fn is_different(outcome: &Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Differs(_) | Outcome::OutOfBounds { .. } | Outcome::Races { .. }
    )
}

/// One line for each kind of outcome: the wave sizes that have it, and the first of them as an example.
fn outcomes(runs: &[&WaveRun]) -> Vec<String> {
    let mut grouped: Vec<(&Outcome, Vec<String>)> = Vec::new();
    for run in runs {
        let alike = |known: &Outcome| std::mem::discriminant(known) == std::mem::discriminant(&run.outcome);
        match grouped.iter_mut().find(|(known, _)| alike(known)) {
            Some((_, sizes)) => sizes.push(run.wave_size.to_string()),
            None => grouped.push((&run.outcome, vec![run.wave_size.to_string()])),
        }
    }
    let lines = grouped.into_iter().map(|(outcome, sizes)| {
        let words = describe(outcome);
        let first = if sizes.len() > 1 && !outcome.is_equal() {
            format!(" (at {})", sizes[0])
        } else {
            String::new()
        };
        format!("waves of {}: {words}{first}", sizes.join(", "))
    });
    lines.collect()
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
        Outcome::OutOfBounds {
            array,
            length,
            index,
            thread,
        } => format!("out of bounds: thread {thread} writes {array}[{index}], past its {length} elements"),
        Outcome::Races { array, race } => {
            format!(
                "races: threads {} and {} on {array}[{}]",
                race.first.thread, race.second.thread, race.index
            )
        }
        Outcome::NotProved(why) => format!("not proved: {why}"),
    }
}
