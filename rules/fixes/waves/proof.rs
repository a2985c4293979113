//! Proves that a fix keeps the kernel's results.

use shaderlint_linter::{Assumption, Context, Edit, Proof, Reason, fixed_shader, whole_shaders};
use shaderlint_simt::{
    Doubt, LaneMap, Needs, Outcome, WaveRun, compare_stretch, compare_with, look_for_defects,
};

use crate::describe::collective::assumptions;
use crate::fixes::too_long;
use crate::fixes::waves::refusal::{Refusal, no_size_by_name, not_read};
use crate::source::unit::Unit;

/// What a fix is proved for.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    /// The packings of threads into waves.
    pub maps: &'a [LaneMap],
    /// What has to hold of floats.
    pub needs: Needs,
}

/// A fix that is proved to keep the results.
pub(crate) struct ProvedEqual {
    pub proof: Proof,
    /// Bit for bit.
    pub is_exact: bool,
    /// The kernel races without the fix, and does not with it.
    pub ends_races: bool,
    /// It covers the whole kernel, not only the statements.
    pub is_whole: bool,
    /// It covers the statements only, and not all threads may reach them together: runs of the statements alone do not
    /// see how threads come to them. False if it covers the whole kernel, even if its runs assume convergence: the
    /// kernel's analysis then reports the barrier that only some threads may reach. It reports none just after code
    /// that is not understood, but a fix of a file with such code is unsafe anyway.
    pub may_start_divergent: bool,
}

/// Proves the edits. It stops at the first run that is not equal: most forms without a proof fail in the first run,
/// and the forms with most runs would take longest in vain.
///
/// Where the whole kernel cannot be compared, the statements are compared alone: gaps elsewhere do not concern them
/// ([`compare_stretch`]). A wrong kernel has no results to keep. If its only defects are races, such as on partial
/// results that the next pass of a loop overwrites, a fix without any race computes what the author meant.
///
/// `uncalled` are edits that remove functions without remaining calls. A comparison of the statements alone needs
/// texts that agree elsewhere, so there these functions stay.
///
/// Where the edits name the group's size, the compared text has the name: the proof is about its meaning there, not
/// about the number in the declaration of the group.
pub(crate) fn prove(
    context: &Context<'_>,
    edits: &[Edit],
    uncalled: &[Edit],
    scope: Scope<'_>,
) -> Result<ProvedEqual, Refusal> {
    let named = as_the_file_has_them(context, edits).ok_or_else(|| Refusal::NotProved(no_size_by_name()))?;
    let proved = prove_texts(context, &named, uncalled, scope);
    let is_refuted = match &proved {
        Err(Refusal::HasOtherUses) => true,
        Err(Refusal::NotProved(why)) => why.reason == Reason::NotProved,
        _ => false,
    };
    // The name means something else, or nothing.
    if is_refuted && named != edits && prove_texts(context, edits, uncalled, scope).is_ok() {
        return Err(Refusal::NotProved(no_size_by_name()));
    }
    proved
}

fn prove_texts(
    context: &Context<'_>,
    edits: &[Edit],
    uncalled: &[Edit],
    scope: Scope<'_>,
) -> Result<ProvedEqual, Refusal> {
    let all = [edits, uncalled].concat();
    let fixed = fixed_shader(context.shader, context.entry, &all);
    let (fixed, entry) = fixed.ok_or_else(not_read)?;
    let floats = scope.needs.floats();
    let whole = compare_with(floats, context.kernel(), (&fixed, entry), scope.maps);
    let refused = match proof_by(context, whole, scope) {
        Err(Refusal::NotProved(why)) if why.reason == Reason::NotProved => why,
        whole => {
            return whole.map(|proved| ProvedEqual {
                is_whole: true,
                may_start_divergent: false,
                ..proved
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
        let runs = compare_stretch(floats, (&old.0, old.1), (&new.0, new.1), scope.maps)?;
        let proved = proof_by(context, runs, scope).ok()?;
        let ends = || {
            let left = look_for_defects(&fixed, entry, None);
            left.is_right() && left.stopped.is_none()
        };
        (!ends_races || ends()).then_some(ProvedEqual { ends_races, ..proved })
    };
    in_place().ok_or(Refusal::NotProved(refused))
}

/// Edits with the text of the file after its macros are expanded.
fn as_the_file_has_them(context: &Context<'_>, edits: &[Edit]) -> Option<Vec<Edit>> {
    let unit = Unit::of(context.shader);
    let edits = edits.iter().map(|edit| {
        let expanded = match edit.expanded {
            None => None,
            Some(_) => Some(unit.expanded(context, &edit.text, edit.at.start())?),
        };
        Some(Edit {
            expanded,
            ..edit.clone()
        })
    });
    edits.collect()
}

/// The proof by one kind of comparison.
fn proof_by(
    context: &Context<'_>,
    compared: impl Iterator<Item = WaveRun>,
    scope: Scope<'_>,
) -> Result<ProvedEqual, Refusal> {
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
                    Outcome::Undecided => {
                        "could not prove that the wave form does the same, although no inputs were found for \
                         which it differs"
                            .to_owned()
                    }
                    outcome => format!(
                        "could not prove that the wave form does the same (waves of {}{packed}): {}",
                        run.wave_size,
                        outcome.reason()
                    ),
                };
                return Err(Refusal::because(Reason::NotProved, text));
            }
        }
    }
    let is_exact = runs.iter().all(|run| matches!(run.outcome, Outcome::Equal));
    let assumes_convergence = runs.iter().any(|run| run.assumes_convergence);
    let assumed = assumes_convergence.then_some(Assumption::AllReachBarriers);
    let assumptions = assumed.into_iter().chain(assumptions(scope.needs));
    Ok(ProvedEqual {
        proof: Proof::new(statement(&runs, scope.maps), assumptions.collect()),
        is_exact,
        ends_races: false,
        is_whole: false,
        may_start_divergent: assumes_convergence,
    })
}

/// What runs prove that are equal.
fn statement(runs: &[WaveRun], maps: &[LaneMap]) -> String {
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
    format!("the fix is proved: the kernel writes the same values{up_to} at {sizes} ({names})")
}

/// The differences that the proof allows.
fn up_to(runs: &[WaveRun]) -> String {
    let beyond = runs.iter().find_map(|run| match run.outcome {
        Outcome::RoundsBeyond(doubt) => Some(doubt),
        _ => None,
    });
    let what = match beyond {
        Some(Doubt::Order) => "rounding",
        Some(Doubt::Flush) => "flushed denormals",
        Some(Doubt::Pick) => "which of two equal floats `min` or `max` returns",
        None if runs.iter().all(|run| matches!(run.outcome, Outcome::Equal)) => return String::new(),
        None => return ", up to rounding,".to_owned(),
    };
    format!(", up to {what}, which may change more than a float's value,")
}
