//! One entry point, run and looked at.

use shaderlint_hlsl::{FunctionId, GlobalId, Shader};

use crate::bounds::{self, Bound};
use crate::claim;
use crate::effects::{Effects, EffectsCache};
use crate::finding::{Analysis, Collective, OutOfBounds, Race};
use crate::machine::{BUDGET, Machine};
use crate::packing;
use crate::shuffle;
use crate::value::Terms;
use crate::wave::{LaneMap, WAVE_SIZES, Waves};
use crate::window::View;

/// Runs an entry point's thread group and says what it computes together and where it races.
///
/// Code with wave intrinsics is run at every wave size under the linear map; a race is one only if it is there in all
/// of these runs.
#[must_use]
pub fn analyze(shader: &Shader, entry: FunctionId) -> Analysis {
    let group = shader
        .functions
        .get(entry.0 as usize)
        .and_then(|function| function.group_size)
        .unwrap_or_default();
    let mut analysis = Analysis {
        group_size: group,
        ..Analysis::default()
    };
    let size = group.into_iter().fold(1, u32::saturating_mul);
    if !(1..=1024).contains(&size) {
        return analysis;
    }
    let effects = EffectsCache::default().of_function(shader, entry);
    if effects.atomic {
        analysis.claims = claim::of_entry(shader, entry, group);
    }
    if effects.reads_lanes {
        analysis.wave_ladders = shuffle::of_entry(shader, entry, group);
    }
    // All else there is to find goes through groupshared memory, or is a barrier that not all reach.
    if !effects.touches_shared() && !effects.barrier && !effects.opaque {
        return analysis;
    }
    run(shader, entry, &effects, &[], &mut analysis);
    if effects.device_barrier && effects.barrier && effects.device_observed {
        let seen = through_windows(shader, entry, group);
        let news = seen
            .into_iter()
            .filter(|found| analysis.collectives.iter().all(|known| !overlap(known, found)));
        let news: Vec<Collective> = news.collect();
        analysis.collectives.extend(news);
    }
    analysis
}

/// The collectives that show only where resources are seen through windows.
fn through_windows(shader: &Shader, entry: FunctionId, group: [u32; 3]) -> Vec<Collective> {
    let Some(View { shader, resources }) = View::new(shader, entry) else {
        return Vec::new();
    };
    let effects = EffectsCache::default().of_function(&shader, entry);
    let mut analysis = Analysis {
        group_size: group,
        ..Analysis::default()
    };
    run(&shader, entry, &effects, &resources, &mut analysis);
    analysis.collectives
}

/// Runs the group at one wave size, or at all where that makes a difference.
fn run(
    shader: &Shader,
    entry: FunctionId,
    effects: &Effects,
    windows: &[(GlobalId, u32)],
    analysis: &mut Analysis,
) {
    let group = analysis.group_size;
    let mut uses_waves = false;
    // The runs share the steps that one may take: what cannot be confirmed in all of them is not said.
    let mut budget = BUDGET;
    for (number, wave_size) in WAVE_SIZES.into_iter().enumerate() {
        let mut terms = Terms::default();
        let waves = Waves::new(group, wave_size, LaneMap::Linear);
        let Some(mut machine) = Machine::new(shader, &mut terms, entry, waves) else {
            return;
        };
        machine.open_windows(windows);
        machine.prober.enabled = number == 0 || !analysis.collectives.is_empty();
        machine.budget = budget;
        let stopped = machine.run();
        budget = machine.budget;
        let report = std::mem::take(&mut machine.report);
        let races = report.races;
        if number == 0 {
            analysis.divergences = report.divergences;
            analysis.out_of_bounds = report.out_of_bounds;
            analysis.uninitialised = report.uninitialised;
            uses_waves = report.used_waves;
            analysis.stopped = stopped;
            analysis.steps = BUDGET - budget;
            analysis.collectives = machine.collectives(analysis.stopped.is_some());
            analysis.races = races;
            let bounds = std::mem::take(&mut machine.bounds);
            if !bounds.is_empty() && !uses_waves {
                let likely = machine.likely_bounds();
                budget = budget.min(BUDGET / 4);
                let known = std::mem::take(&mut analysis.collectives);
                analysis.collectives = instances(
                    (shader, entry, group),
                    &mut terms,
                    (bounds, likely),
                    windows,
                    &mut budget,
                );
                analysis
                    .collectives
                    .retain(|found| known.iter().all(|known| !overlap(known, found)));
                analysis.collectives.extend(known);
                break;
            }
        } else {
            let same = |a: &Race, b: &Race| {
                a.array == b.array && (a.first.span, a.second.span) == (b.first.span, b.second.span)
            };
            // What is found may rest on the wave size at hand, which is known in each run.
            let collectives = machine.collectives(stopped.is_some());
            let same_scan = |a: &Collective, b: &Collective| {
                (a.span, a.function, a.kind, a.operator) == (b.span, b.function, b.kind, b.operator)
                    && (&a.input, &a.output, a.count, a.shape) == (&b.input, &b.output, b.count, b.shape)
            };
            analysis
                .collectives
                .retain(|scan| collectives.iter().any(|other| same_scan(scan, other)));
            analysis
                .races
                .retain(|race| races.iter().any(|other| same(race, other)));
            analysis
                .divergences
                .retain(|found| report.divergences.iter().any(|other| found.span == other.span));
            let spans = |found: &OutOfBounds| (found.array, found.access.span);
            analysis.out_of_bounds.retain(|found| {
                report
                    .out_of_bounds
                    .iter()
                    .any(|other| spans(found) == spans(other))
            });
            analysis.uninitialised.retain(|found| {
                report
                    .uninitialised
                    .iter()
                    .any(|other| found.read.span == other.read.span)
            });
        }
        let is_settled = analysis.races.is_empty()
            && analysis.collectives.is_empty()
            && analysis.divergences.is_empty()
            && analysis.out_of_bounds.is_empty()
            && analysis.uninitialised.is_empty();
        if !uses_waves || is_settled {
            break;
        }
    }
    if uses_waves && windows.is_empty() {
        let puts_together = effects.barrier && effects.touches_shared();
        analysis.wave_dependence = packing::dependence(shader, entry, puts_together, &mut budget);
    }
}

/// The collectives of a run in which bounds that are not known are taken for the first of the likely numbers for which
/// there are any. Races are not said of such a run: the bound may never be that number.
fn instances(
    (shader, entry, group): (&Shader, FunctionId, [u32; 3]),
    terms: &mut Terms,
    (mut bounds, likely): (Vec<Bound>, Vec<u32>),
    windows: &[(GlobalId, u32)],
    budget: &mut u64,
) -> Vec<Collective> {
    for number in likely {
        // A bound that is known now may lead to others.
        for _ in 0..2 {
            terms.forget_assumptions();
            let instances = bounds::assume(terms, &bounds, number);
            let waves = Waves::new(group, WAVE_SIZES[0], LaneMap::Linear);
            let Some(mut machine) = Machine::new(shader, terms, entry, waves) else {
                return Vec::new();
            };
            machine.open_windows(windows);
            machine.prober.enabled = true;
            machine.budget = *budget;
            let stopped = machine.run();
            *budget = machine.budget;
            let mut found = machine.collectives(stopped.is_some());
            if !found.is_empty() {
                for collective in &mut found {
                    collective.instances.clone_from(&instances);
                    collective.rewrite = None;
                }
                return found;
            }
            if machine.bounds.is_empty() {
                break;
            }
            bounds.append(&mut machine.bounds);
        }
    }
    Vec::new()
}

fn overlap(a: &Collective, b: &Collective) -> bool {
    a.function == b.function && a.span.start < b.span.end && b.span.start < a.span.end
}
