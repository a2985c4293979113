//! Runs that assume numbers for bounds that only the host or a buffer knows: of loops, or of the elements that threads
//! write.

use crate::analyze::findings::is_same_race;
use crate::detect::Detectors;
use crate::detect::collectives::partial_result_taint::withdraw_unused;
use crate::detect::witness::borne_out;
use crate::exec::assumptions::Assumptions;
use crate::exec::loop_bounds::{self, AssumedBounds, Bound};
use crate::exec::undef_flow::FilledInPart;
use crate::exec::{BUDGET, MAX_WORK, Machine, RunMode};
use crate::facts::effects::EffectsCache;
use crate::facts::kernel::{Kernel, WAVE_SIZES};
use crate::finding::{Collective, Obstacle, Race, Stop, Uninitialised};
use crate::terms::Terms;
use crate::waves::{LaneMap, Waves};

/// The unknown loop bounds that a run met.
#[derive(Default)]
pub(super) struct HostBounds {
    pub bounds: Vec<Bound>,
    /// The numbers that they are likely to be.
    likely: Vec<u32>,
}

impl HostBounds {
    pub fn met_by(machine: &mut Machine<'_, Detectors>) -> HostBounds {
        HostBounds {
            bounds: std::mem::take(&mut machine.noticed.bounds),
            likely: machine.likely_bounds(),
        }
    }

    /// The collectives of the run with the first likely number that gives any. Such a run reports no races: the
    /// bound may never be that number. If no number gives collectives and no run reached the kernel's end, also
    /// returns where and why the first run stopped.
    pub fn collectives(
        self,
        kernel: Kernel<'_>,
        terms: &mut Terms,
        assuming: Assumptions<'_>,
        budget: &mut u64,
    ) -> (Vec<Collective>, Option<Stop>) {
        let HostBounds { mut bounds, likely } = self;
        // In a long loop, one instance may use up the budget and find no more than a shorter run.
        let max_work = terms.work().saturating_add(MAX_WORK / 4).min(MAX_WORK);
        // A collective that races with the next iteration is correct in a loop with only one.
        let mut is_raced_with = false;
        let (mut first_stop, mut has_ended) = (None, false);
        for number in likely.into_iter().chain([1]) {
            if number == 1 && !is_raced_with {
                break;
            }
            // Runs with a few iterations are cheap: they are made even if the others used up the budget.
            let is_cheap = number <= loop_bounds::FEW;
            let mut left = (*budget).max(if is_cheap { BUDGET / 16 } else { 0 });
            let max_work = max_work.max(if is_cheap { terms.work() + MAX_WORK / 16 } else { 0 });
            // Assuming a number for a bound may lead to further bounds.
            for _ in 0..2 {
                let assumed = AssumedBounds {
                    bounds: &bounds,
                    number,
                };
                let Some(ran) = run_with(assumed, kernel, terms, assuming, max_work, &mut left) else {
                    return (Vec::new(), None);
                };
                is_raced_with |= ran.is_raced_with;
                if !ran.collectives.is_empty() {
                    return (ran.collectives, None);
                }
                if ran.bounds.is_empty() {
                    has_ended |= ran.stopped.is_none();
                    first_stop = first_stop.or(ran.stopped);
                    break;
                }
                bounds.extend(ran.bounds);
            }
            *budget = left.min(*budget);
        }
        (Vec::new(), first_stop.filter(|_| !has_ended))
    }
}

/// The findings of a run with assumed bounds.
struct Ran {
    collectives: Vec<Collective>,
    /// A collective was dropped because its array has a race.
    is_raced_with: bool,
    /// The unknown bounds that it met.
    bounds: Vec<Bound>,
    stopped: Option<Stop>,
}

fn run_with(
    assumed: AssumedBounds<'_>,
    kernel: Kernel<'_>,
    terms: &mut Terms,
    assuming: Assumptions<'_>,
    max_work: usize,
    budget: &mut u64,
) -> Option<Ran> {
    terms.forget_assumptions();
    let instances = assumed.assume(terms);
    let waves = Waves::new(kernel.group()?, WAVE_SIZES[0], LaneMap::Linear);
    let mut machine =
        assuming.new_machine::<Detectors>(kernel, terms, waves, RunMode::Collectives, *budget)?;
    machine.limits.max_work = max_work;
    let stopped = machine.run();
    *budget = machine.limits.budget;
    let mut collectives = machine.collectives(stopped.is_some().then_some(kernel.entry));
    // Other iterations of the loop belong to this run; what they do to the array is not reported.
    let races = &machine.report.races;
    let number_found = collectives.len();
    collectives.retain(|found| races.iter().all(|race| !found.arrays.contains(&race.array)));
    let is_raced_with = collectives.len() < number_found;
    let bounds = std::mem::take(&mut machine.noticed.bounds);
    withdraw_unused(kernel, terms, assuming, Some(assumed), &mut collectives, budget);
    for collective in &mut collectives {
        collective.instances.clone_from(&instances);
        let called = EffectsCache::default().of_function(kernel.shader, collective.function);
        let is_around = |bound: &Bound| bound.is_around(collective, &called.functions);
        if !assumed.bounds.iter().all(is_around) {
            collective.rewrite = Err(Obstacle::SomeRuns);
        }
    }
    Some(Ran {
        collectives,
        is_raced_with,
        bounds,
        stopped,
    })
}

/// The races in which a later iteration of a loop takes part. A bound that the host or a buffer gives may be
/// any number, so one number with a race is enough. But a bound may be meant to be the number of threads and
/// nothing else. So the race must occur for two iterations, for three, and for as many as there are threads, if
/// that run gets so far. If one iteration covers as many elements as there are threads, two elements make no
/// second iteration. So the race may instead occur for two and three times the number of threads.
pub(super) fn races_in_iterations(
    kernel: Kernel<'_>,
    terms: &mut Terms,
    bounds: &[Bound],
    assuming: Assumptions<'_>,
) -> Vec<Race> {
    let are_inputs = bounds.iter().all(|bound| loop_bounds::is_input(terms, bound));
    let Some(group) = kernel.group().filter(|_| are_inputs) else {
        return Vec::new();
    };
    let waves = Waves::new(group, WAVE_SIZES[0], LaneMap::Linear);
    let bodies = || {
        let with_barriers = bounds.iter().filter(|bound| bound.has_barrier);
        with_barriers.flat_map(|bound| &bound.bodies)
    };
    let mut races_for = |number: u32| {
        terms.forget_assumptions();
        let max_work = terms.work().saturating_add(MAX_WORK / 8);
        let given = AssumedBounds { bounds, number }.assume(terms);
        let mut machine =
            assuming.new_machine::<Detectors>(kernel, terms, waves.clone(), RunMode::Plain, BUDGET / 16)?;
        machine.limits.max_work = max_work;
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
        // All iterations of a loop without a barrier are in one interval, so one iteration is enough for a
        // race.
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
            AssumedBounds { bounds, number }.assume(terms);
            return borne_out(kernel, terms, &waves, assuming, races);
        }
        if repeats {
            break;
        }
    }
    Vec::new()
}

/// The unwritten elements that threads read where the host sets bounds within which only some threads write.
///
/// The kernel shows by its own test that it expects such bounds. That threads beyond them store something
/// undefined may be meant, as nobody need read it. So a thread within the bounds must store a sum of written
/// and unwritten elements.
pub(super) fn unfilled(
    kernel: Kernel<'_>,
    terms: &mut Terms,
    filled: &[FilledInPart],
    assuming: Assumptions<'_>,
) -> Vec<Uninitialised> {
    let Some(group) = kernel.group() else {
        return Vec::new();
    };
    let waves = Waves::new(group, WAVE_SIZES[0], LaneMap::Linear);
    let mut all = Vec::new();
    for filled in filled {
        terms.forget_assumptions();
        for of_host in &filled.given {
            terms.assume(of_host.atom, of_host.value.word);
        }
        let assuming = Assumptions {
            is_first_group: true,
            filled: Some(filled),
            ..assuming
        };
        let max_work = terms.work().saturating_add(MAX_WORK / 8);
        let machine =
            assuming.new_machine::<Detectors>(kernel, terms, waves.clone(), RunMode::Plain, BUDGET / 16);
        let Some(mut machine) = machine else { break };
        machine.limits.max_work = max_work;
        machine.run();
        let found = std::mem::take(&mut machine.report.uninitialised);
        let of_array = found.into_iter().filter(|found| found.array == filled.array);
        let given = || filled.given.iter().map(|of_host| of_host.value.clone()).collect();
        all.extend(of_array.map(|found| Uninitialised {
            given: given(),
            ..found
        }));
    }
    terms.forget_assumptions();
    all
}
