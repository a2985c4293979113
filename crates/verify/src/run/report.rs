//! Runs trials on adapters and reports the results.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::minimal::{Minimal, minimise};
use super::trial::{Trial, TrialRun, with_ample};
use super::watchdog::watched;
use super::{
    Adapter, AdapterInfo, Case, Comparison, Device, Inputs, PATIENCE_S, RunError, Timing, TimingPlan, Waves,
    probe_waves, time,
};
use crate::Lowered;

/// A kernel that repeats its outputs in this many runs counts as stable.
const AGAIN: u32 = 32;
/// After this many seconds fewer runs suffice, but at least [`AGAIN_AT_LEAST`].
const AGAIN_S: u64 = 5;
const AGAIN_AT_LEAST: u32 = 2;
/// One of this many runs of both kernels has to show the difference again.
const AGAIN_COMPARED: u32 = 4;

/// How many seconds an adapter may be silent: longer than any single run may take.
const SILENCE_S: u64 = 3 * PATIENCE_S;

/// The result of a trial on one adapter.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub adapter: AdapterInfo,
    /// The waves of a group of the kernel's size; `None` if the adapter has no subgroups.
    pub waves: Option<Waves>,
    /// One for each case of the trial, up to the first that differs.
    pub comparisons: Vec<Comparison>,
    /// The kernels differ, but the flagged kernel does not repeat its own outputs, or the difference did not show
    /// again. Then nothing is known about the fix.
    pub is_unstable: bool,
    /// Buffers and textures of guessed sizes. If these are larger, the kernels leave the same.
    pub short: BTreeSet<String>,
    /// The smallest dispatch found that shows a difference.
    pub minimal: Option<Minimal>,
    /// The times of the whole kernels; `None` if the outputs differ, or if the adapter has no timestamps.
    pub timing: Option<Timing>,
    /// The times of [`Trial::ladders`].
    pub ladder: Option<Timing>,
}

impl Report {
    /// Nothing differs in any case, and something was written in one.
    #[must_use]
    pub fn is_match(&self) -> bool {
        let all = &self.comparisons;
        all.iter().all(|comparison| comparison.differing == 0)
            && all.iter().any(|comparison| comparison.written > 0)
    }

    /// The kernels differ, the flagged one repeats its own outputs, and larger buffers do not remove the difference.
    #[must_use]
    pub fn is_difference(&self) -> bool {
        !self.is_unstable
            && self.short.is_empty()
            && self.comparisons.iter().any(|comparison| comparison.differing > 0)
    }

    /// Words compared in all cases.
    #[must_use]
    pub fn words(&self) -> u64 {
        self.comparisons.iter().map(|comparison| comparison.words).sum()
    }
}

impl TrialRun<'_> {
    /// Whether the flagged kernel leaves other outputs in another run. Groups that write to one place seldom change
    /// their order.
    fn is_unstable(&self, inputs: &Inputs, groups: [u32; 3]) -> Result<bool, RunError> {
        let start = Instant::now();
        let first = self.run_flagged(inputs, groups)?;
        for run in 0..AGAIN {
            if run >= AGAIN_AT_LEAST && start.elapsed() > Duration::from_secs(AGAIN_S) {
                break;
            }
            let again = self.run_flagged(inputs, groups)?;
            if self.trial.compare(inputs, &first, &again).differing > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Determines why the kernels differ in the last case of the report.
    ///
    /// Beyond the end of a buffer, reads give 0 and writes have no effect. So two kernels that are equal in buffers
    /// as long as a host makes them may differ in shorter ones: one reads back its own write there, the other uses
    /// the word that it already has. Lengths are guessed here, unless they are set or the kernel reads them. So the
    /// kernels run again with more elements. If they then leave the same, the report calls them neither different nor
    /// equal.
    fn explain(&self, case: &Case, inputs: &Inputs, report: &mut Report) -> Result<(), RunError> {
        report.is_unstable = self.is_unstable(inputs, case.groups)?;
        // A failure of this run, for example for lack of memory, does not undo the observed difference.
        let compare = |case: &Case| self.compare(&self.trial.inputs(case), case.groups).ok();
        let are_alike = |case: &Case| compare(case).is_some_and(|comparison| comparison.differing == 0);
        // A kernel's first run takes longer than others, so the order of its groups then may never occur again.
        report.is_unstable |= (0..AGAIN_COMPARED).all(|_| are_alike(case));
        let guessed = self.trial.guessed_lengths(case);
        let ample = with_ample(case, guessed.clone());
        match compare(&ample) {
            _ if guessed.is_empty() => {}
            // Repeats both runs to exclude chance.
            Some(comparison)
                if comparison.differing == 0
                    && !report.is_unstable
                    && !are_alike(case)
                    && are_alike(&ample) =>
            {
                let mut alone = guessed.iter().map(|name| BTreeSet::from([name.clone()]));
                let one = alone.find(|one| are_alike(&with_ample(case, one.clone())));
                report.short = one.unwrap_or(guessed);
            }
            // In a list that is too short, chance decides which elements are kept.
            Some(comparison)
                if comparison.differing > 0
                    && report.is_unstable
                    && !self.is_unstable(&self.trial.inputs(&ample), ample.groups)? =>
            {
                report.is_unstable = false;
                report.comparisons.pop();
                report.comparisons.push(comparison);
                report.minimal = minimise(self, &ample).unwrap_or_default();
                return Ok(());
            }
            _ => {}
        }
        if !report.is_unstable {
            // A failure of the search, such as a run that hangs, does not undo the observed difference.
            report.minimal = minimise(self, case).unwrap_or_default();
        }
        Ok(())
    }
}

fn compare_and_time_on(device: &Device, trial: &Trial) -> Result<Report, RunError> {
    let run = TrialRun::new(trial, device)?;
    let waves = match probe_waves(device, trial.fixed.workgroup_size) {
        Ok(waves) => Some(waves),
        Err(RunError::NoSubgroups) => None,
        Err(error) => return Err(error),
    };
    let mut report = Report {
        adapter: device.info.clone(),
        waves,
        comparisons: Vec::new(),
        is_unstable: false,
        short: BTreeSet::new(),
        minimal: None,
        timing: None,
        ladder: None,
    };
    for case in &trial.cases {
        let inputs = trial.inputs(case);
        let comparison = run.compare(&inputs, case.groups)?;
        let differs = comparison.differing > 0;
        report.comparisons.push(comparison);
        if differs {
            run.explain(case, &inputs, &mut report)?;
            return Ok(report);
        }
    }
    if report.is_match() && !trial.is_untimed {
        report.timing = timed(device, trial, &trial.flagged, &trial.fixed)?;
        if let Some((flagged, fixed)) = &trial.ladders {
            report.ladder = timed(device, trial, flagged, fixed)?;
        }
    }
    Ok(report)
}

fn timed(
    device: &Device,
    trial: &Trial,
    flagged: &Lowered,
    fixed: &Lowered,
) -> Result<Option<Timing>, RunError> {
    let plan = trial.timing.unwrap_or_else(|| {
        let plan = TimingPlan::for_adapter(&device.info, flagged.group_size);
        let most = trial.timed_inputs.reached.values().max().copied();
        TimingPlan {
            groups: plan.groups.div_ceil(most.unwrap_or(1).max(1)),
            ..plan
        }
    });
    time(device, flagged, fixed, &trial.timed_inputs, plan)
}

/// Runs both kernels on one adapter, compares their outputs in every case and times them if all match.
///
/// This takes place on a thread of its own, which is abandoned if it is silent for too long: a driver may never return
/// from compiling or running a kernel. `on_step` gets the name of each step.
///
/// # Errors
/// As [`Device::compile`] and [`super::Compiled::run`]; [`RunError::Silent`] if the thread was abandoned. It then
/// continues until the process ends.
pub fn compare_and_time(
    adapter: &Adapter,
    trial: &Arc<Trial>,
    on_step: &mut dyn FnMut(&str),
) -> Result<Report, RunError> {
    let (adapter, trial) = (adapter.clone(), Arc::clone(trial));
    let work = move |steps| {
        let device = adapter.open()?.telling(steps);
        compare_and_time_on(&device, &trial)
    };
    watched(SILENCE_S, work, on_step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::adapters;

    fn compared(adapter: &Adapter, trial: &Trial) -> Result<Report, RunError> {
        compare_and_time_on(&adapter.open()?, trial)
    }

    fn copying() -> Lowered {
        let text = "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Dst;
[numthreads(64, 1, 1)] void Main(uint3 id : SV_DispatchThreadID) { Dst[id.x] = Src[id.x]; }";
        let (shader, _) = shaderlint_hlsl::parse(text.as_bytes().to_vec());
        let (entry, _) = shader.entry_points().next().expect("an entry point");
        crate::lower(&shader, entry).expect("it has a WGSL form")
    }

    #[test]
    fn a_lost_device_is_said_to_be_lost() {
        let kernel = copying();
        let trial = Trial::new(&kernel, &kernel);
        for adapter in adapters() {
            let device = adapter.open().expect("it opens");
            device.destroy();
            let lost = compare_and_time_on(&device, &trial);
            assert!(matches!(lost, Err(RunError::Lost(_))), "{lost:?}");
            // Another device of the same adapter is not lost.
            assert!(compared(&adapter, &trial).expect("it runs").is_match());
        }
    }

    #[test]
    fn what_a_driver_refuses_is_said_with_its_reason() {
        let fits = copying();
        // No HLSL is lowered to this.
        let mut wide = fits.clone();
        for entry in &mut wide.module.entry_points {
            entry.workgroup_size = [65_536, 1, 1];
        }
        let mut trial = Trial::new(&fits, &wide);
        trial.is_untimed = true;
        for adapter in adapters() {
            let said = compared(&adapter, &trial)
                .expect_err("it is too large")
                .to_string();
            assert!(said.starts_with("the adapter refused the kernel: "), "{said}");
            assert!(
                said.ends_with("invalid: Workgroup size is out of range"),
                "{said}"
            );
        }
    }

    #[test]
    fn too_much_memory_is_an_error() {
        let kernel = copying();
        let mut trial = Trial::new(&kernel, &kernel);
        trial.is_untimed = true;
        for case in &mut trial.cases {
            case.inputs.lengths.insert("Src".into(), u32::MAX);
        }
        for adapter in adapters() {
            let limits = adapter.inner.limits();
            if limits.max_buffer_size.min(limits.max_storage_buffer_binding_size) >= 1 << 30 {
                continue;
            }
            let said = compared(&adapter, &trial)
                .expect_err("it is too large")
                .to_string();
            let expected = "too large for the adapter: a buffer of 1073741824 bytes, the limit is ";
            assert!(said.starts_with(expected), "{said}");
        }
    }
}
