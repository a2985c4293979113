//! One entry point, run and looked at.

use std::collections::BTreeSet;

use shaderlint_hlsl::{FunctionId, Shader, Span};

use crate::compare::wave_sensitivity;
use crate::detect::collectives::partial_result_taint::withdraw_unused;
use crate::detect::coverage::is_for_other_waves;
use crate::detect::shuffles::ladders;
use crate::detect::witness::borne_out;
use crate::detect::{Detectors, atomics};
use crate::exec::assumed_barriers::Supposed;
use crate::exec::assumptions::Assumptions;
use crate::exec::buffer_tiles::View;
use crate::exec::loop_bounds;
use crate::exec::loop_bounds::Bound;
use crate::exec::{BUDGET, FIRST_WORK, MAX_WORK, Machine, Read};
use crate::facts::effects::{Effects, EffectsCache};
use crate::facts::reachable_globals::Beginning;
use crate::finding::{Amid, Analysis, Collective, Instance, Obstacle, OutOfBounds, Race, Stop};
use crate::terms::{Floats, Terms};
use crate::waves::{LaneMap, WAVE_SIZES, Waves, is_group};

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
    if !is_group(group) {
        return analysis;
    }
    let effects = EffectsCache::default().of_function(shader, entry);
    let synchronises = effects.touches_shared() || effects.barrier || effects.opaque;
    if !(effects.atomic || effects.reads_lanes() || synchronises) || Beginning::of(shader).has_effects {
        return analysis;
    }
    if effects.atomic {
        (analysis.claims, analysis.claims_stopped) = atomics::claims(shader, entry, group);
    }
    if effects.reads_lanes() {
        analysis.wave_ladders = ladders::of_entry(shader, entry, group);
    }
    // All else there is to find goes through groupshared memory, or is a barrier that not all reach.
    if !synchronises {
        return analysis;
    }
    let unordered = run(shader, entry, &effects, Assumptions::default(), &mut analysis);
    if !unordered.is_empty() {
        let found = amid_unordered_reads((shader, entry, group), &effects, &unordered);
        take_confirmed(&mut analysis, found, &unordered);
    }
    if effects.device_barrier && effects.barrier && effects.device_observed {
        let viewed = through_windows(shader, entry, group);
        add_collectives(&mut analysis.collectives, viewed);
    }
    analysis
}

/// The defects of a kernel, and nothing else: as it is, or with barriers that it does not have.
#[must_use]
pub fn look_for_defects(shader: &Shader, entry: FunctionId, supposed: Option<&Supposed>) -> Analysis {
    let function = shader.functions.get(entry.0 as usize);
    let group = function
        .and_then(|function| function.group_size)
        .unwrap_or_default();
    let mut analysis = Analysis {
        group_size: group,
        ..Analysis::default()
    };
    if is_group(group) {
        let effects = EffectsCache::default().of_function(shader, entry);
        let assuming = Assumptions {
            supposed,
            defects_alone: true,
            ..Assumptions::default()
        };
        run(shader, entry, &effects, assuming, &mut analysis);
    }
    analysis
}

/// The collectives that show only where reads that nothing orders with a write are taken to find anything.
///
/// A total may be read while the next ladder's elements are stored already. That is a race of the read; what is stored,
/// and what the ladder makes of it, is the same whatever the read finds: no write meets another, no other read meets a
/// write, and so for each choice of what these reads find the argument of [`crate::exec::memory`] holds. Values that are made
/// of such a read are unknown, and what they decide is a condition that is not known.
fn amid_unordered_reads(
    (shader, entry, group): (&Shader, FunctionId, [u32; 3]),
    effects: &Effects,
    reads: &BTreeSet<Read>,
) -> Vec<Collective> {
    let mut analysis = Analysis {
        group_size: group,
        ..Analysis::default()
    };
    let assuming = Assumptions {
        finds_anything: Some(reads),
        ..Assumptions::default()
    };
    run(shader, entry, effects, assuming, &mut analysis);
    analysis.collectives
}

/// Of the collectives of the first run those stay that hold whatever unordered reads find, and those that have a part in a
/// race that is told, which is said of them. What only the other run found comes to them.
fn take_confirmed(analysis: &mut Analysis, mut found: Vec<Collective>, unordered: &BTreeSet<Read>) {
    let races = std::mem::take(&mut analysis.races);
    let has_part = |collective: &Collective| races.iter().any(|race| race.has_part(collective));
    analysis.collectives.retain_mut(|known| {
        let mut same = found.iter().filter(|found| overlap(known, found)).peekable();
        let is_confirmed = same.peek().is_some();
        known.presumes |= same.any(|found| found.presumes);
        is_confirmed || has_part(known)
    });
    analysis.races = races;
    found.retain(|found| analysis.collectives.iter().all(|known| !overlap(known, found)));
    for found in &mut found {
        let of_its_arrays = unordered.iter().find(|(array, ..)| found.arrays.contains(array));
        found.amid = found.amid.or(of_its_arrays.map(|(_, read, _)| Amid::Read(*read)));
        found.rewrite = Err(Obstacle::SomeRuns);
    }
    analysis.collectives.append(&mut found);
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
    let assuming = Assumptions {
        windows: &resources,
        ..Assumptions::default()
    };
    run(&shader, entry, &effects, assuming, &mut analysis);
    analysis.collectives
}

/// What a group's runs find; a kernel that takes too long is run once more, from the start without what makes it so. Gives the
/// reads that nothing orders with a write.
fn run(
    shader: &Shader,
    entry: FunctionId,
    effects: &Effects,
    assuming: Assumptions<'_>,
    analysis: &mut Analysis,
) -> BTreeSet<Read> {
    let unordered = run_at_wave_sizes(shader, entry, effects, assuming, analysis);
    let took_asides = analysis.stopped.as_ref().is_some_and(|stop| stop.by_asides);
    if !took_asides || assuming.skims || !assuming.windows.is_empty() {
        return unordered;
    }
    let mut skimmed = Analysis {
        group_size: analysis.group_size,
        ..Analysis::default()
    };
    let skimming = Assumptions {
        skims: true,
        ..assuming
    };
    let mut reads = run_at_wave_sizes(shader, entry, effects, skimming, &mut skimmed);
    if skimmed.stopped.is_some() {
        return unordered;
    }
    // What was found before the stop holds.
    let Analysis {
        collectives, races, ..
    } = &mut *analysis;
    add_collectives(collectives, std::mem::take(&mut skimmed.collectives));
    add_races(races, std::mem::take(&mut skimmed.races));
    reads.extend(unordered);
    *analysis = Analysis {
        collectives: std::mem::take(collectives),
        races: std::mem::take(races),
        claims: std::mem::take(&mut analysis.claims),
        claims_stopped: analysis.claims_stopped.take(),
        wave_ladders: std::mem::take(&mut analysis.wave_ladders),
        work: analysis.work + skimmed.work,
        ..skimmed
    };
    reads
}

/// Runs the group at one wave size, or at all where that makes a difference.
fn run_at_wave_sizes(
    shader: &Shader,
    entry: FunctionId,
    effects: &Effects,
    mut assuming: Assumptions<'_>,
    analysis: &mut Analysis,
) -> BTreeSet<Read> {
    let mut unordered = BTreeSet::new();
    let windows = assuming.windows;
    let mut counts_by_group = false;
    let group = analysis.group_size;
    let mut uses_waves = false;
    // The runs share the steps that one may take: what cannot be confirmed in all of them is not said.
    let mut budget = BUDGET;
    let mut terms = Terms::of(Floats::Numbers);
    for (number, wave_size) in WAVE_SIZES.into_iter().enumerate() {
        let is_for_others =
            |found: &Collective| is_for_other_waves(shader, entry, (found.function, found.span), wave_size);
        let is_faulty = has_defects(analysis);
        if number > 0 && !is_faulty && analysis.collectives.iter().all(is_for_others) {
            // This run would come to none of them, and confirms nothing else.
            continue;
        }
        terms.clear();
        let waves = Waves::new(group, wave_size, LaneMap::Linear);
        let Some(mut machine) = Machine::<Detectors>::new(shader, &mut terms, entry, waves, budget) else {
            return unordered;
        };
        assuming.by(&mut machine);
        machine.observer.prober.enabled =
            !assuming.defects_alone && (number == 0 || !analysis.collectives.is_empty());
        machine.observer.prober.await_again(&analysis.collectives);
        if number == 0 && windows.is_empty() {
            machine.max_work = FIRST_WORK;
            machine.may_skim = true;
        }
        // Of a window a run to the end is asked.
        if number > 0 && !is_faulty && windows.is_empty() {
            let awaited = analysis.collectives.iter().filter(|found| !is_for_others(found));
            machine.observer.prober.end_after(shader, entry, awaited);
        }
        let stopped = machine.run();
        assuming.skims = machine.skims;
        budget = machine.budget;
        analysis.work += machine.terms.work() as u64;
        counts_by_group |= machine.counts_by_group;
        let report = std::mem::take(&mut machine.report);
        unordered.append(&mut machine.unordered);
        analysis.unsettled.extend(&report.unsettled);
        if number == 0 {
            uses_waves = report.used_waves;
            analysis.divergences = report.divergences;
            analysis.out_of_bounds = report.out_of_bounds;
            analysis.uninitialised = report.uninitialised;
            analysis.stopped = stopped;
            analysis.has_gaps = report.unproved;
            analysis.steps = BUDGET - budget;
            analysis.collectives = machine.collectives(analysis.stopped.is_some().then_some(entry));
            let bounds = std::mem::take(&mut machine.bounds);
            let likely = machine.likely_bounds();
            let waves = machine.waves.clone();
            let races = report.races;
            let witnessed = |terms: &mut Terms| borne_out((shader, entry), terms, &waves, assuming, races);
            if !bounds.is_empty() && !uses_waves {
                budget = budget.min(BUDGET / 4);
                let known = std::mem::take(&mut analysis.collectives);
                if !assuming.defects_alone {
                    (analysis.collectives, analysis.passes_stopped) = instances(
                        (shader, entry, group),
                        &mut terms,
                        (bounds.clone(), likely),
                        assuming,
                        &mut budget,
                    );
                }
                terms.forget_assumptions();
                analysis.races = witnessed(&mut terms);
                if windows.is_empty() && assuming.finds_anything.is_none() {
                    let races = races_in_passes((shader, entry, group), &mut terms, &bounds, assuming);
                    add_races(&mut analysis.races, races);
                }
                analysis
                    .collectives
                    .retain(|found| known.iter().all(|known| !overlap(known, found)));
                analysis.collectives.extend(known);
                break;
            }
            analysis.races = witnessed(&mut terms);
            for race in analysis.races.iter_mut().filter(|_| uses_waves) {
                race.wave_size = Some(wave_size);
            }
        } else {
            // What is found may rest on the wave size at hand, which is known in each run.
            // A kernel may choose by it which way to go: what this run did not come to, it says nothing of.
            let is_met = |scan: &Collective| {
                let place = (scan.function, scan.span);
                !is_for_other_waves(shader, entry, place, wave_size)
                    && (stopped.is_some() || machine.observer.prober.has_met(scan))
            };
            let unmet = analysis.collectives.iter().filter(|scan| !is_met(scan));
            let unmet: Vec<(FunctionId, Span)> = unmet.map(|scan| (scan.function, scan.span)).collect();
            let collectives = machine.collectives(stopped.is_some().then_some(entry));
            let waves = machine.waves.clone();
            let races = borne_out((shader, entry), &mut terms, &waves, assuming, report.races);
            let same_scan = |a: &Collective, b: &Collective| {
                (a.span, a.function, a.kind, a.operator, a.half)
                    == (b.span, b.function, b.kind, b.operator, b.half)
                    && (&a.input, &a.output, a.count, a.shape) == (&b.input, &b.output, b.count, b.shape)
            };
            analysis.collectives.retain(|scan| {
                unmet.contains(&(scan.function, scan.span))
                    || collectives.iter().any(|other| same_scan(scan, other))
            });
            analysis.races.retain_mut(|race| {
                let Some(other) = races.iter().find(|other| is_same_race(race, other)) else {
                    return false;
                };
                race.is_met_otherwise |= !race.is_met_like(other);
                true
            });
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
        let is_settled = analysis.collectives.is_empty() && !has_defects(analysis);
        if !uses_waves || is_settled {
            break;
        }
    }
    for race in &mut analysis.races {
        race.wave_size = race.wave_size.filter(|_| race.is_met_otherwise);
    }
    withdraw_unused(
        (shader, entry, group),
        &mut terms,
        (assuming, None),
        &mut analysis.collectives,
        &mut budget,
    );
    if counts_by_group && !assuming.is_first_group && windows.is_empty() {
        let of_first = in_first_group(shader, entry, effects, (assuming, group));
        if analysis.collectives.is_empty() {
            analysis.collectives = of_first.collectives;
        }
        add_races(&mut analysis.races, of_first.races);
    }
    // Waves can differ in what they do with groupshared memory alone; and where one run that leaves nothing out takes
    // too long, so do those that would be compared.
    if uses_waves
        && !assuming.defects_alone
        && windows.is_empty()
        && assuming.finds_anything.is_none()
        && effects.touches_shared()
        && !assuming.skims
    {
        let puts_together = effects.barrier;
        analysis.wave_dependence = wave_sensitivity::dependence(shader, entry, puts_together, &mut budget);
    }
    unordered
}

/// What is found of a kernel whose elements of groupshared memory are counted by `SV_DispatchThreadID`, in its first
/// group: others would find none of theirs in the array.
fn in_first_group(
    shader: &Shader,
    entry: FunctionId,
    effects: &Effects,
    (assuming, group): (Assumptions<'_>, [u32; 3]),
) -> Analysis {
    let mut analysis = Analysis {
        group_size: group,
        ..Analysis::default()
    };
    let assuming = Assumptions {
        is_first_group: true,
        ..assuming
    };
    run(shader, entry, effects, assuming, &mut analysis);
    let first = Instance::first_group();
    for found in &mut analysis.collectives {
        found.instances.insert(0, first.clone());
        found.rewrite = Err(Obstacle::SomeRuns);
    }
    for race in &mut analysis.races {
        race.given.insert(0, first.clone());
    }
    analysis
}

fn is_same_race(a: &Race, b: &Race) -> bool {
    a.array == b.array && (a.first.span, a.second.span) == (b.first.span, b.second.span)
}

/// Adds the races that are not known.
fn add_races(known: &mut Vec<Race>, mut news: Vec<Race>) {
    news.retain(|race| known.iter().all(|known| !is_same_race(known, race)));
    known.append(&mut news);
}

/// Adds the collectives that share no statement with one that is known.
fn add_collectives(known: &mut Vec<Collective>, mut news: Vec<Collective>) {
    news.retain(|found| known.iter().all(|known| !overlap(known, found)));
    known.append(&mut news);
}

fn has_defects(analysis: &Analysis) -> bool {
    !(analysis.races.is_empty()
        && analysis.divergences.is_empty()
        && analysis.out_of_bounds.is_empty()
        && analysis.uninitialised.is_empty())
}

/// The collectives of a run in which bounds that are not known are taken for the first of the likely numbers for which
/// there are any. Races are not said of such a run: the bound may never be that number. If there are none, and no run came to
/// the kernel's end, where and why the first of them stopped.
fn instances(
    (shader, entry, group): (&Shader, FunctionId, [u32; 3]),
    terms: &mut Terms,
    (mut bounds, likely): (Vec<Bound>, Vec<u32>),
    assuming: Assumptions<'_>,
    budget: &mut u64,
) -> (Vec<Collective>, Option<Stop>) {
    // Of long loops one instance may take all there is, and say no more than a shorter run would.
    let max_work = terms.work().saturating_add(MAX_WORK / 4).min(MAX_WORK);
    // What the next pass of a loop races with is right in a pass that is the only one.
    let mut is_raced_with = false;
    let (mut first_stop, mut has_ended) = (None, false);
    for number in likely.into_iter().chain([1]) {
        if number == 1 && !is_raced_with {
            break;
        }
        // A few passes are cheap: they are tried even where the others have used up what there was.
        let is_cheap = number <= loop_bounds::FEW;
        let mut left = (*budget).max(if is_cheap { BUDGET / 16 } else { 0 });
        let max_work = max_work.max(if is_cheap { terms.work() + MAX_WORK / 16 } else { 0 });
        // A bound that is known now may lead to others.
        for _ in 0..2 {
            terms.forget_assumptions();
            let instances = loop_bounds::assume(terms, &bounds, number);
            let waves = Waves::new(group, WAVE_SIZES[0], LaneMap::Linear);
            let Some(mut machine) = Machine::<Detectors>::new(shader, terms, entry, waves, left) else {
                return (Vec::new(), None);
            };
            assuming.by(&mut machine);
            machine.observer.prober.enabled = true;
            machine.max_work = max_work;
            let stopped = machine.run();
            left = machine.budget;
            let mut found = machine.collectives(stopped.is_some().then_some(entry));
            // What other passes of the loop make of the array is part of this run, and is not told.
            let races = &machine.report.races;
            let number_found = found.len();
            found.retain(|found| races.iter().all(|race| !found.arrays.contains(&race.array)));
            is_raced_with |= found.len() < number_found;
            let bounds_of_next = std::mem::take(&mut machine.bounds);
            withdraw_unused(
                (shader, entry, group),
                terms,
                (assuming, Some((&bounds, number))),
                &mut found,
                &mut left,
            );
            if !found.is_empty() {
                for collective in &mut found {
                    collective.instances.clone_from(&instances);
                    let place = (collective.function, collective.span);
                    let called = EffectsCache::default().of_function(shader, place.0).functions;
                    if !bounds.iter().all(|bound| bound.is_around(place, &called)) {
                        collective.rewrite = Err(Obstacle::SomeRuns);
                    }
                }
                return (found, None);
            }
            if bounds_of_next.is_empty() {
                has_ended |= stopped.is_none();
                first_stop = first_stop.or(stopped);
                break;
            }
            bounds.extend(bounds_of_next);
        }
        *budget = left.min(*budget);
    }
    (Vec::new(), first_stop.filter(|_| !has_ended))
}

/// The races of which a later pass of a loop takes part. A bound that the host or a buffer gives may be any number, so for
/// each number for which a run meets a race it is one. But a bound may be meant to be the number of threads, and no other:
/// so a race has to be there for two passes and for three, and for as many as there are threads, if a run gets so far; or
/// for two and three times the number of threads, where a pass is for as many elements, and two elements make no second pass.
fn races_in_passes(
    (shader, entry, group): (&Shader, FunctionId, [u32; 3]),
    terms: &mut Terms,
    bounds: &[Bound],
    assuming: Assumptions<'_>,
) -> Vec<Race> {
    let are_inputs = bounds.iter().all(|bound| loop_bounds::is_input(terms, bound));
    if !are_inputs {
        return Vec::new();
    }
    let bodies = || {
        let with_barriers = bounds.iter().filter(|bound| bound.has_barrier);
        with_barriers.flat_map(|bound| &bound.bodies)
    };
    let mut races_for = |number: u32| {
        terms.forget_assumptions();
        let max_work = terms.work().saturating_add(MAX_WORK / 8);
        let given = loop_bounds::assume(terms, bounds, number);
        let waves = Waves::new(group, WAVE_SIZES[0], LaneMap::Linear);
        let mut machine = Machine::<Detectors>::new(shader, terms, entry, waves, BUDGET / 16)?;
        assuming.by(&mut machine);
        machine.max_work = max_work;
        let stopped = machine.run();
        let mut races = std::mem::take(&mut machine.report.races);
        for race in &mut races {
            race.given.splice(0..0, given.iter().cloned());
        }
        let is_whole = stopped.is_none();
        let repeated = &machine.report.repeated;
        let repeats = is_whole && bodies().all(|(_, body)| repeated.contains(body));
        Some((races, is_whole, repeats))
    };
    let lanes: u32 = group.iter().product();
    let of_several: [(u32, &[u32]); 2] = [(2, &[3, lanes]), (2 * lanes, &[3 * lanes])];
    let numbers = if bounds.iter().any(|bound| bound.has_barrier) {
        &of_several[..]
    } else {
        // All passes of a loop without a barrier are in one interval: one pass is enough to race.
        &[(1, &[][..])]
    };
    for (number, others) in numbers.iter().copied() {
        let (mut races, _, repeats) = races_for(number).unwrap_or_default();
        for other in others {
            if races.is_empty() {
                break;
            }
            let (also, is_whole, _) = races_for(*other).unwrap_or_default();
            if is_whole || *other != lanes {
                races.retain(|race| also.iter().any(|also| is_same_race(race, also)));
            }
        }
        if !races.is_empty() {
            terms.forget_assumptions();
            loop_bounds::assume(terms, bounds, number);
            let waves = Waves::new(group, WAVE_SIZES[0], LaneMap::Linear);
            return borne_out((shader, entry), terms, &waves, assuming, races);
        }
        if repeats {
            break;
        }
    }
    Vec::new()
}

fn overlap(a: &Collective, b: &Collective) -> bool {
    a.function == b.function && a.span.start < b.span.end && b.span.start < a.span.end
}
