//! The runs of a thread group under one set of assumptions.
//!
//! 1. A first run, in waves of four lanes, finds collectives and defects.
//! 2. In a kernel with wave intrinsics, a run at each other wave size confirms the findings or withdraws them. In
//!    any other kernel, if the first run met loop bounds that only the host or a buffer knows, further runs assume
//!    numbers for them and find more ([`host_bounds`](crate::analyze::host_bounds)).
//! 3. A run that marks results withdraws collectives whose results nothing uses ([`withdraw_unused`]).
//! 4. If the group's number selects the elements that a thread accesses, the same runs for the first group add
//!    their findings.
//! 5. Runs at every wave size and lane map find what depends on these ([`wave_sensitivity`]).
//!
//! A kernel that takes too many steps runs once more, and that run skips from the start what takes most of
//! them.

use std::collections::BTreeSet;

use crate::analyze::findings::{
    add_collectives, add_races, has_defects, is_same_collective, keep_common_defects, overlap,
};
use crate::analyze::host_bounds::{HostBounds, races_in_iterations, unfilled};
use crate::compare::wave_sensitivity;
use crate::detect::Detectors;
use crate::detect::collectives::partial_result_taint::withdraw_unused;
use crate::detect::coverage::is_for_other_waves;
use crate::detect::witness::borne_out;
use crate::exec::assumptions::Assumptions;
use crate::exec::undef_flow::FilledInPart;
use crate::exec::{BUDGET, FIRST_WORK, Read, RunMode};
use crate::facts::effects::Effects;
use crate::facts::kernel::{Kernel, WAVE_SIZES};
use crate::finding::{Analysis, Collective, Instance, Obstacle, Race};
use crate::terms::{Floats, Terms};
use crate::waves::{LaneMap, Waves};

/// The findings of a group's runs.
#[derive(Default)]
pub(super) struct GroupFindings {
    pub analysis: Analysis,
    /// Reads that no barrier orders with some write.
    pub unordered: BTreeSet<Read>,
}

/// Runs a group for collectives and defects, or in [`RunMode::Plain`] for defects alone. If each thread's own long
/// loops used up the steps, runs it once more without them.
pub(super) fn run(
    kernel: Kernel<'_>,
    effects: &Effects,
    mode: RunMode,
    assuming: Assumptions<'_>,
) -> GroupFindings {
    let mut found = run_all(kernel, effects, mode, assuming);
    let stopped = found.analysis.stopped.as_ref();
    let took_asides = stopped.is_some_and(|stop| stop.by_asides);
    if !took_asides || assuming.skims || !assuming.tiles.is_empty() {
        return found;
    }
    let skimming = Assumptions {
        skims: true,
        ..assuming
    };
    let skimmed = run_all(kernel, effects, mode, skimming);
    if skimmed.analysis.stopped.is_some() {
        return found;
    }
    // Findings from before the stop hold.
    let Analysis {
        mut collectives,
        mut races,
        work,
        ..
    } = found.analysis;
    add_collectives(&mut collectives, skimmed.analysis.collectives);
    add_races(&mut races, skimmed.analysis.races);
    found.unordered.extend(skimmed.unordered);
    GroupFindings {
        analysis: Analysis {
            collectives,
            races,
            work: work + skimmed.analysis.work,
            ..skimmed.analysis
        },
        unordered: found.unordered,
    }
}

/// The first run under these assumptions, and those that confirm and complete what it found.
fn run_all(kernel: Kernel<'_>, effects: &Effects, mode: RunMode, assuming: Assumptions<'_>) -> GroupFindings {
    let Some(mut runs) = Runs::new(kernel, mode, assuming) else {
        return GroupFindings::default();
    };
    let (bounds, races) = runs.first();
    if bounds.bounds.is_empty() || runs.uses_waves {
        runs.found.races = runs.borne_out(WAVE_SIZES[0], races);
        runs.confirm_at_other_wave_sizes();
    } else {
        runs.assume_bounds(bounds, races);
    }
    runs.withdraw_unused();
    runs.look_for_unfilled();
    if runs.counts_by_group && !assuming.is_first_group && assuming.tiles.is_empty() {
        let mut of_first = in_first_group(kernel, effects, mode, runs.assuming);
        if runs.found.collectives.is_empty() {
            runs.found.collectives = std::mem::take(&mut of_first.collectives);
        }
        add_races(&mut runs.found.races, of_first.races);
    }
    runs.look_for_wave_dependence(effects);
    GroupFindings {
        analysis: runs.found,
        unordered: runs.unordered,
    }
}

/// The state between runs.
struct Runs<'s> {
    kernel: Kernel<'s>,
    group: [u32; 3],
    /// [`RunMode::Collectives`], or [`RunMode::Plain`] if only defects are looked for.
    mode: RunMode,
    assuming: Assumptions<'s>,
    terms: Terms,
    /// The remaining steps. All runs share the steps of one run; findings that no step is left to confirm are
    /// not reported.
    budget: u64,
    found: Analysis,
    unordered: BTreeSet<Read>,
    uses_waves: bool,
    filled_in_part: Vec<FilledInPart>,
    /// The group's number determines which groupshared element a thread accesses.
    counts_by_group: bool,
}

impl<'s> Runs<'s> {
    fn new(kernel: Kernel<'s>, mode: RunMode, assuming: Assumptions<'s>) -> Option<Runs<'s>> {
        let group = kernel.group()?;
        Some(Runs {
            kernel,
            group,
            mode,
            assuming,
            terms: Terms::of(Floats::Numbers),
            budget: BUDGET,
            found: Analysis {
                group_size: group,
                ..Analysis::default()
            },
            unordered: BTreeSet::new(),
            uses_waves: false,
            filled_in_part: Vec::new(),
            counts_by_group: false,
        })
    }

    fn waves(&self, size: u32) -> Waves {
        Waves::new(self.group, size, LaneMap::Linear)
    }

    /// The races of a run at a wave size that a replay on numbers confirms.
    fn borne_out(&mut self, wave_size: u32, races: Vec<Race>) -> Vec<Race> {
        let waves = self.waves(wave_size);
        borne_out(self.kernel, &mut self.terms, &waves, self.assuming, races)
    }

    /// The first run: records its findings, and returns the unknown loop bounds and the races.
    fn first(&mut self) -> (HostBounds, Vec<Race>) {
        let waves = self.waves(WAVE_SIZES[0]);
        let machine = self.assuming.new_machine::<Detectors>(
            self.kernel,
            &mut self.terms,
            waves,
            self.mode,
            self.budget,
        );
        let Some(mut machine) = machine else {
            return (HostBounds::default(), Vec::new());
        };
        // A run with buffer tiles must reach its end.
        if self.assuming.tiles.is_empty() {
            machine.limits.max_work = FIRST_WORK;
            machine.limits.may_skim = true;
        }
        let stopped = machine.run();
        let report = std::mem::take(&mut machine.report);
        let needless_barriers = if stopped.is_none() && report.is_settled() {
            machine.needless_barriers()
        } else {
            Vec::new()
        };
        self.assuming.skims = machine.limits.skims;
        self.budget = machine.limits.budget;
        self.counts_by_group = machine.noticed.counts_by_group;
        self.unordered = std::mem::take(&mut machine.noticed.unordered);
        self.filled_in_part = std::mem::take(&mut machine.noticed.filled_in_part);
        self.uses_waves = report.used_waves;
        self.found = Analysis {
            collectives: machine.collectives(stopped.is_some().then_some(self.kernel.entry)),
            unsettled: report.unsettled,
            divergences: report.divergences,
            out_of_bounds: report.out_of_bounds,
            uninitialised: report.uninitialised,
            has_gaps: report.unproved,
            needless_barriers,
            steps: BUDGET - self.budget,
            work: machine.terms.work() as u64,
            stopped,
            ..std::mem::take(&mut self.found)
        };
        (HostBounds::met_by(&mut machine), report.races)
    }

    /// Adds the findings of runs that assume numbers for loop bounds.
    fn assume_bounds(&mut self, bounds: HostBounds, races: Vec<Race>) {
        self.budget = self.budget.min(BUDGET / 4);
        let met = bounds.bounds.clone();
        if self.mode == RunMode::Collectives {
            let (terms, budget) = (&mut self.terms, &mut self.budget);
            let (mut found, stopped) = bounds.collectives(self.kernel, terms, self.assuming, budget);
            let known = std::mem::take(&mut self.found.collectives);
            // Which come first decides for which of them the steps for proofs suffice: those with assumed bounds.
            found.retain(|found| known.iter().all(|known| !overlap(known, found)));
            found.extend(known);
            self.found.collectives = found;
            self.found.assumed_bounds_stopped = stopped;
        }
        self.terms.forget_assumptions();
        self.found.races = self.borne_out(WAVE_SIZES[0], races);
        if self.assuming.is_of_kernel_itself() {
            let races = races_in_iterations(self.kernel, &mut self.terms, &met, self.assuming);
            add_races(&mut self.found.races, races);
        }
    }

    fn withdraw_unused(&mut self) {
        let (terms, found, budget) = (&mut self.terms, &mut self.found.collectives, &mut self.budget);
        withdraw_unused(self.kernel, terms, self.assuming, None, found, budget);
    }

    /// Adds reads of elements that stay unwritten by what the host sets. Threads that leave before a barrier have a
    /// finding already, and what they do not write is part of it.
    fn look_for_unfilled(&mut self) {
        let assuming = self.assuming;
        let is_looked_for = !self.uses_waves && !assuming.is_first_group && assuming.is_of_kernel_itself();
        if is_looked_for && self.found.uninitialised.is_empty() && self.found.divergences.is_empty() {
            let filled = &self.filled_in_part;
            self.found.uninitialised = unfilled(self.kernel, &mut self.terms, filled, assuming);
        }
    }

    /// Keeps the findings that occur at every other wave size too. A kernel may branch on the wave size, so a
    /// run does not affect constructs that it does not reach.
    fn confirm_at_other_wave_sizes(&mut self) {
        if !self.uses_waves {
            return;
        }
        for race in &mut self.found.races {
            race.wave_size = Some(WAVE_SIZES[0]);
        }
        for wave_size in WAVE_SIZES.into_iter().skip(1) {
            if self.found.collectives.is_empty() && !has_defects(&self.found) {
                break;
            }
            self.confirm_at(wave_size);
        }
        for race in &mut self.found.races {
            race.wave_size = race.wave_size.filter(|_| race.is_met_otherwise);
        }
    }

    fn confirm_at(&mut self, wave_size: u32) {
        let Kernel { shader, entry } = self.kernel;
        let is_for_others = |found: &Collective| is_for_other_waves(self.kernel, found, wave_size);
        let is_faulty = has_defects(&self.found);
        if !is_faulty && self.found.collectives.iter().all(is_for_others) {
            // This run would reach none of them, and there is nothing else to confirm.
            return;
        }
        self.terms.clear();
        let waves = self.waves(wave_size);
        let mode = if self.found.collectives.is_empty() {
            RunMode::Plain
        } else {
            self.mode
        };
        let machine =
            self.assuming
                .new_machine::<Detectors>(self.kernel, &mut self.terms, waves, mode, self.budget);
        let Some(mut machine) = machine else { return };
        machine.observer.prober.await_again(&self.found.collectives);
        if !is_faulty && self.assuming.tiles.is_empty() {
            let awaited = self
                .found
                .collectives
                .iter()
                .filter(|found| !is_for_others(found));
            machine.observer.prober.end_after(shader, entry, awaited);
        }
        let stopped = machine.run();
        self.budget = machine.limits.budget;
        self.counts_by_group |= machine.noticed.counts_by_group;
        self.unordered.append(&mut machine.noticed.unordered);
        let collectives = machine.collectives(stopped.is_some().then_some(entry));
        let report = std::mem::take(&mut machine.report);
        self.found.work += machine.terms.work() as u64;
        self.found.unsettled.extend(&report.unsettled);
        let prober = &machine.observer.prober;
        self.found.collectives.retain(|known| {
            let is_met = !is_for_others(known) && (stopped.is_some() || prober.has_met(known));
            !is_met || collectives.iter().any(|other| is_same_collective(known, other))
        });
        let other = Analysis {
            races: self.borne_out(wave_size, report.races),
            divergences: report.divergences,
            out_of_bounds: report.out_of_bounds,
            uninitialised: report.uninitialised,
            ..Analysis::default()
        };
        keep_common_defects(&mut self.found, &other);
    }

    /// Waves can only differ in what they do with groupshared memory. If a run without omissions takes too
    /// long, so do the runs to compare.
    fn look_for_wave_dependence(&mut self, effects: &Effects) {
        let assuming = self.assuming;
        let is_looked_for =
            self.uses_waves && self.mode == RunMode::Collectives && assuming.is_of_kernel_itself();
        if is_looked_for && effects.touches_shared() && !assuming.skims {
            self.found.wave_dependence =
                wave_sensitivity::dependence(self.kernel, effects.barrier, &mut self.budget);
        }
    }
}

/// Findings for the first group alone, if other groups would access no element of the array.
fn in_first_group(
    kernel: Kernel<'_>,
    effects: &Effects,
    mode: RunMode,
    assuming: Assumptions<'_>,
) -> Analysis {
    let assuming = Assumptions {
        is_first_group: true,
        ..assuming
    };
    let mut analysis = run(kernel, effects, mode, assuming).analysis;
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
