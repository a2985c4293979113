//! Proves that a fix leaves the kernel's results, and words the proof.

use shaderlint_linter::{Context, Edit, fixed_shader, whole_shaders};
use shaderlint_simt::{
    Doubt, LaneMap, NOT_SEEN_TO_DIFFER, Needs, Outcome, WaveRun, compare_stretch, compare_with,
    look_for_defects,
};

use crate::refusal::{Refusal, no_size_by_name, not_read, too_long};
use crate::unit::Unit;

/// The reason for no fix where a form was not proved equal.
pub(crate) const NOT_PROVED: &str = "not-proved";

/// What is proved of a fix.
pub(crate) struct Proof {
    pub text: String,
    /// Bit for bit.
    pub is_exact: bool,
    /// The kernel races as it stands, and does not any more.
    pub ends_races: bool,
    /// It is about the whole kernel, not about the statements alone.
    pub is_whole: bool,
    /// It is about the statements alone, and not all threads may come to them.
    pub may_part: bool,
}

/// What is proved of the edits. It ends with the first run that is not equal: most forms that cannot be proved fail the
/// first, and those that take the most runs would take the longest in vain.
///
/// Where the whole kernel cannot be compared, the statements are by themselves: what is not followed elsewhere is no matter to
/// them ([`compare_stretch`]). A kernel that is wrong has no results to keep. Where it is wrong in that it races, such as
/// in the partial results that the next pass of a loop overwrites, a fix with which nothing races any more leaves what was
/// meant.
///
/// `uncalled` are edits that take functions away which nothing calls any more. Statements by themselves are compared in texts that are
/// one but for these, so those functions have to stay there.
///
/// Where the edits name the group's size, the name is in the text that is compared: what it means there is what is proved, not the
/// number that it is where the group is declared.
pub(crate) fn prove(
    context: &Context<'_>,
    edits: &[Edit],
    uncalled: &[Edit],
    needed: (&[LaneMap], Needs),
) -> Result<Proof, Refusal> {
    let named = as_the_file_has_them(context, edits).ok_or_else(|| Refusal::NotProved(no_size_by_name()))?;
    let proved = prove_texts(context, &named, uncalled, needed);
    let is_refuted = match &proved {
        Err(Refusal::HasOtherUses) => true,
        Err(Refusal::NotProved(why)) => why.reason == NOT_PROVED,
        _ => false,
    };
    // The name means something else, or nothing.
    if is_refuted && named != edits && prove_texts(context, edits, uncalled, needed).is_ok() {
        return Err(Refusal::NotProved(no_size_by_name()));
    }
    proved
}

fn prove_texts(
    context: &Context<'_>,
    edits: &[Edit],
    uncalled: &[Edit],
    (maps, needs): (&[LaneMap], Needs),
) -> Result<Proof, Refusal> {
    let all = [edits, uncalled].concat();
    let fixed = fixed_shader(context.shader, context.entry, &all);
    let (fixed, entry) = fixed.ok_or_else(not_read)?;
    let flagged = (context.shader, context.entry);
    let whole = compare_with(needs.floats(), flagged, (&fixed, entry), maps);
    let refused = match proof_by(context, whole, maps, needs) {
        Err(Refusal::NotProved(why)) if why.reason == NOT_PROVED => why,
        whole => {
            return whole.map(|proof| Proof {
                is_whole: true,
                may_part: false,
                ..proof
            });
        }
    };
    let in_place = || {
        let ends_races = !context.analysis.races.is_empty();
        let is_otherwise_right =
            context.analysis.out_of_bounds.is_empty() && context.analysis.divergences.is_empty();
        if !is_otherwise_right {
            return None;
        }
        let [old, new] = whole_shaders(context.shader, context.entry, edits)?;
        let runs = compare_stretch(needs.floats(), (&old.0, old.1), (&new.0, new.1), maps)?;
        let proof = proof_by(context, runs, maps, needs).ok()?;
        let ends = || {
            let left = look_for_defects(&fixed, entry, None);
            left.is_right() && left.stopped.is_none()
        };
        (!ends_races || ends()).then_some(Proof { ends_races, ..proof })
    };
    in_place().ok_or(Refusal::NotProved(refused))
}

/// Edits with the text that the file's becomes once its macros are expanded.
fn as_the_file_has_them(context: &Context<'_>, edits: &[Edit]) -> Option<Vec<Edit>> {
    let unit = Unit::of(context.shader);
    let edits = edits.iter().map(|edit| {
        let expanded = match edit.expanded {
            None => None,
            Some(_) => Some(unit.expanded(context.shader, &edit.text, edit.at.start())?),
        };
        Some(Edit {
            expanded,
            ..edit.clone()
        })
    });
    edits.collect()
}

/// The same of one way to compare the two.
fn proof_by(
    context: &Context<'_>,
    compared: impl Iterator<Item = WaveRun>,
    maps: &[LaneMap],
    needs: Needs,
) -> Result<Proof, Refusal> {
    let mut runs = Vec::new();
    for run in compared {
        if (context.is_stopped)() {
            return Err(Refusal::NotProved(too_long()));
        }
        match &run.outcome {
            Outcome::Equal | Outcome::Reassociates | Outcome::RoundsBeyond(_) => runs.push(run),
            Outcome::Differs(_) => return Err(Refusal::HasOtherUses),
            outcome => {
                let packed = match run.map {
                    LaneMap::Linear => String::new(),
                    map => format!(", {}", map.name()),
                };
                let text = match outcome {
                    Outcome::NotProved(reason) if reason == NOT_SEEN_TO_DIFFER => {
                        "the wave form could not be proved equal, though no inputs were found for which it differs"
                            .to_owned()
                    }
                    outcome => format!(
                        "the wave form could not be proved equal (waves of {}{packed}): {}",
                        run.wave_size,
                        outcome.reason()
                    ),
                };
                return Err(Refusal::because(NOT_PROVED, text));
            }
        }
    }
    let is_exact = runs.iter().all(|run| matches!(run.outcome, Outcome::Equal));
    Ok(Proof {
        text: proof(&runs, maps) + of_needs(needs),
        is_exact,
        ends_races: false,
        is_whole: false,
        may_part: runs.iter().any(|run| run.presumes),
    })
}

/// What has to be so of floats.
pub(crate) fn of_needs(needs: Needs) -> &'static str {
    match (needs.numbers, needs.powers) {
        (false, false) => "",
        (true, false) => ", if no float is NaN",
        (false, true) => ", if powers of whole numbers are exact",
        (true, true) => ", if no float is NaN and powers of whole numbers are exact",
    }
}

/// What equal runs say.
fn proof(runs: &[WaveRun], maps: &[LaneMap]) -> String {
    let sizes = runs.iter().map(|run| run.wave_size);
    let sizes = match (sizes.clone().min(), sizes.max()) {
        (Some(least), Some(most)) if least < most => format!("wave sizes {least} to {most}"),
        (least, _) => format!("wave size {}", least.unwrap_or_default()),
    };
    let names: Vec<&str> = maps.iter().map(|map| map.name()).collect();
    let names = format!(
        "lane map{}: {}",
        if names.len() == 1 { "" } else { "s" },
        names.join(", ")
    );
    let up_to = up_to(runs);
    let presumes = runs.iter().any(|run| run.presumes);
    let given = if presumes {
        ", for inputs for which all threads reach its barriers"
    } else {
        ""
    };
    format!("proved of the fix: the kernel writes the same{up_to} at {sizes} ({names}){given}")
}

/// But for what the kernel is the same.
fn up_to(runs: &[WaveRun]) -> String {
    let beyond = runs.iter().find_map(|run| match run.outcome {
        Outcome::RoundsBeyond(doubt) => Some(doubt),
        _ => None,
    });
    let what = match beyond {
        Some(Doubt::Order) => "rounding",
        Some(Doubt::Flush) => "denormals that are flushed",
        Some(Doubt::Pick) => "which of two equal floats `min` or `max` gives",
        None if runs.iter().all(|run| matches!(run.outcome, Outcome::Equal)) => return String::new(),
        None => return ", up to rounding,".to_owned(),
    };
    format!(", up to {what}, on which more than the value of a float may hang,")
}
