//! A flagged kernel against its fix.

use std::collections::BTreeSet;

use super::{
    Adapter, AdapterInfo, Comparison, Device, InputPlan, Mode, RunError, Timing, TimingPlan, Tolerance,
    Waves, adapters, compare, make_inputs, probe_waves, run, time,
};
use crate::Lowered;

/// What to compare and to time.
#[derive(Clone, Debug)]
pub struct Trial<'a> {
    pub flagged: &'a Lowered,
    pub fixed: &'a Lowered,
    /// The kernels to time in their place, e.g. from [`crate::lower_repeated`].
    pub timed: Option<(&'a Lowered, &'a Lowered)>,
    /// Groups of the dispatch that is compared.
    pub groups: [u32; 3],
    pub inputs: InputPlan,
    pub tolerance: Tolerance,
    /// Buffers whose elements may come in any order, by name.
    pub unordered: BTreeSet<String>,
    /// `None`: as [`TimingPlan::for_adapter`].
    pub timing: Option<TimingPlan>,
    /// Compare only.
    pub is_untimed: bool,
}

impl<'a> Trial<'a> {
    /// Three groups, random inputs, exact, nothing unordered.
    #[must_use]
    pub fn new(flagged: &'a Lowered, fixed: &'a Lowered) -> Self {
        Self {
            flagged,
            fixed,
            timed: None,
            groups: [3, 1, 1],
            inputs: InputPlan::default(),
            tolerance: Tolerance::Exact,
            unordered: BTreeSet::new(),
            timing: None,
            is_untimed: false,
        }
    }
}

/// What a trial showed on one adapter.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub adapter: AdapterInfo,
    /// The waves of a group of the kernel's size; `None` where the adapter has no subgroups.
    pub waves: Option<Waves>,
    pub comparison: Comparison,
    /// `None` where the outputs differ, or where the adapter cannot take times.
    pub timing: Option<Timing>,
}

/// Runs both kernels on one adapter, compares what they leave and, where it matches, times them.
///
/// # Errors
/// As [`run`].
pub fn compare_and_time(adapter: &Adapter, trial: &Trial<'_>) -> Result<Report, RunError> {
    let device = adapter.open()?;
    let inputs = make_inputs(&[trial.flagged, trial.fixed], trial.groups, &trial.inputs);
    let flagged = run(&device, trial.flagged, &inputs, trial.groups, Mode::Checked)?;
    let fixed = run(&device, trial.fixed, &inputs, trial.groups, Mode::Checked)?;
    let comparison = compare(
        trial.flagged,
        &inputs,
        &flagged,
        &fixed,
        trial.tolerance,
        &trial.unordered,
    );
    let waves = match probe_waves(&device, trial.fixed.workgroup_size) {
        Ok(waves) => Some(waves),
        Err(RunError::NoSubgroups) => None,
        Err(error) => return Err(error),
    };
    let timing = if comparison.is_match() && !trial.is_untimed {
        timed(&device, trial)?
    } else {
        None
    };
    Ok(Report {
        adapter: adapter.info.clone(),
        waves,
        comparison,
        timing,
    })
}

fn timed(device: &Device, trial: &Trial<'_>) -> Result<Option<Timing>, RunError> {
    let (flagged, fixed) = trial.timed.unwrap_or((trial.flagged, trial.fixed));
    let plan = trial
        .timing
        .unwrap_or_else(|| TimingPlan::for_adapter(&device.info, flagged.group_size));
    time(device, flagged, fixed, &trial.inputs, plan)
}

/// [`compare_and_time`] on every adapter of this machine; one that fails does not keep the next from being tried.
#[must_use]
pub fn compare_and_time_everywhere(trial: &Trial<'_>) -> Vec<(AdapterInfo, Result<Report, RunError>)> {
    adapters()
        .iter()
        .map(|adapter| (adapter.info.clone(), compare_and_time(adapter, trial)))
        .collect()
}
