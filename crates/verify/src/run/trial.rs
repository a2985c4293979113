//! A flagged kernel against its fix.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use super::minimal::{Minimal, minimise};
use super::{
    Adapter, AdapterInfo, Case, Comparison, Compiled, Device, InputPlan, Inputs, Mode, Outputs, RunError,
    Timing, TimingPlan, Tolerance, Waves, adapters, cases, compare, guarded, magnitude, make_inputs,
    probe_waves, time,
};
use crate::Lowered;

/// Runs after which a kernel that left the same each time is taken to do so, and seconds after which that is asked of fewer.
const AGAIN: u32 = 32;
const AGAIN_AT_LEAST: u32 = 2;
/// Runs of both kernels of which one has to show what was seen to differ.
const AGAIN_COMPARED: u32 = 4;
const AGAIN_S: u64 = 5;

/// Seconds that an adapter may be silent for: longer than any one run may take.
const SILENCE_S: u64 = 3 * super::PATIENCE_S;

/// What to compare and to time.
#[derive(Clone, Debug)]
pub struct Trial {
    pub flagged: Lowered,
    pub fixed: Lowered,
    /// Both with what differs repeated, from [`crate::lower_repeated`]: timed beside the whole kernels.
    pub ladders: Option<(Lowered, Lowered)>,
    /// The dispatches that are compared.
    pub cases: Vec<Case>,
    /// The buffers of these are known to be as long as what the kernels reach ([`Trial::fit`]).
    pub are_lengths_known: bool,
    /// How many float additions deep both kernels are together; `None` where floats are compared bit for bit.
    pub depth: Option<u32>,
    /// Buffers whose elements may come in any order, by name.
    pub unordered: BTreeSet<String>,
    /// Buffers that are not compared, by name: what they are left with is open.
    pub overwritten: BTreeSet<String>,
    /// Buffers, by name, which another order of threads and atomics may leave otherwise: `None` if that may hold of any. Alike
    /// they may be, but that they are not shows nothing.
    pub contested: Option<BTreeSet<String>>,
    /// Why a difference shows nothing, if it does not. The words come after "as".
    pub open: Option<String>,
    /// `None`: as [`TimingPlan::for_adapter`].
    pub timing: Option<TimingPlan>,
    /// What the timed runs read.
    pub timed_inputs: InputPlan,
    /// Compare only.
    pub is_untimed: bool,
}

impl Trial {
    /// See [`Trial::contested`].
    #[must_use]
    pub fn is_contested(&self, buffer: &str) -> bool {
        self.contested.as_ref().is_none_or(|names| names.contains(buffer))
    }

    /// The usual cases, exact, nothing unordered.
    #[must_use]
    pub fn new(flagged: &Lowered, fixed: &Lowered) -> Self {
        Self {
            flagged: flagged.clone(),
            fixed: fixed.clone(),
            ladders: None,
            cases: cases(&InputPlan::default(), None),
            are_lengths_known: false,
            depth: None,
            unordered: BTreeSet::new(),
            overwritten: BTreeSet::new(),
            contested: Some(BTreeSet::new()),
            open: None,
            timing: None,
            timed_inputs: InputPlan::default(),
            is_untimed: false,
        }
    }

    /// Makes each buffer as long as the kernels reach, where that is known. Beyond the end of a buffer devices differ: some let
    /// all such threads write to the last element.
    pub fn fit(&mut self, (reached, are_known): (BTreeMap<String, u32>, bool)) {
        let all = self.cases.iter_mut().map(|case| &mut case.inputs);
        for inputs in all.chain([&mut self.timed_inputs]) {
            inputs.reached.clone_from(&reached);
        }
        let mut bindings = self.flagged.bindings.iter().chain(&self.fixed.bindings);
        // `reached` has no textures.
        self.are_lengths_known = are_known && bindings.all(|binding| binding.dimensions.is_none());
    }

    /// The case with larger buffers and textures, where nobody gave their sizes; `None` if somebody gave them all.
    #[must_use]
    pub fn ample(&self, case: &Case) -> Option<Case> {
        let guessed = self.guessed_lengths(case);
        (!guessed.is_empty()).then(|| with_ample(case, guessed))
    }

    /// What both kernels read in a case.
    #[must_use]
    pub fn inputs(&self, case: &Case) -> Inputs {
        make_inputs(&[&self.flagged, &self.fixed], case.groups, &case.inputs)
    }

    /// How far apart floats may be that come from these inputs.
    #[must_use]
    pub fn tolerance(&self, inputs: &Inputs) -> Tolerance {
        match self.depth {
            None => Tolerance::Exact,
            Some(depth) => Tolerance::Gamma {
                depth,
                magnitude: magnitude(&self.flagged, inputs),
            },
        }
    }

    /// The buffers and textures of which nothing says how large they are.
    fn guessed_lengths(&self, case: &Case) -> BTreeSet<String> {
        let all = || self.flagged.bindings.iter().chain(&self.fixed.bindings);
        all()
            .filter(|binding| binding.kind.is_array() && !case.inputs.lengths.contains_key(&binding.name))
            .filter(|binding| !all().any(|other| other.name == binding.name && other.is_asked))
            .map(|binding| binding.name.clone())
            .collect()
    }

    /// Compares what the kernels left.
    pub(super) fn compare(&self, inputs: &Inputs, flagged: &Outputs, fixed: &Outputs) -> Comparison {
        let tolerance = self.tolerance(inputs);
        let kernels = [&self.flagged, &self.fixed];
        compare(
            &kernels,
            inputs,
            flagged,
            fixed,
            tolerance,
            &self.unordered,
            &self.overwritten,
        )
    }
}

fn with_ample(case: &Case, ample: BTreeSet<String>) -> Case {
    Case {
        inputs: InputPlan {
            ample,
            ..case.inputs.clone()
        },
        ..case.clone()
    }
}

/// What a trial showed on one adapter.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub adapter: AdapterInfo,
    /// The waves of a group of the kernel's size; `None` where the adapter has no subgroups.
    pub waves: Option<Waves>,
    /// One for each case of the trial, up to the first that differs.
    pub comparisons: Vec<Comparison>,
    /// The flagged kernel itself did not leave the same twice where the two differ, or they were not seen to differ again:
    /// nothing is known of the fix.
    pub is_unstable: bool,
    /// Buffers and textures that only have to be larger for the kernels to leave the same: nobody said how large they are.
    pub short: BTreeSet<String>,
    /// The smallest dispatch found that shows a difference.
    pub minimal: Option<Minimal>,
    /// Of the whole kernels; `None` where the outputs differ, or where the adapter cannot take times.
    pub timing: Option<Timing>,
    /// Of the kernels with what differs repeated.
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

    /// The kernels were seen to differ, the flagged one does not differ from itself, and it is not for want of elements.
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

/// Both kernels on one device.
pub(super) struct Kernels<'t> {
    pub device: &'t Device,
    pub flagged: Compiled<'t>,
    pub fixed: Compiled<'t>,
}

impl Kernels<'_> {
    pub(super) fn compare(
        &self,
        trial: &Trial,
        inputs: &Inputs,
        groups: [u32; 3],
    ) -> Result<Comparison, RunError> {
        let flagged = self.flagged.run(self.device, inputs, groups)?;
        let fixed = self.fixed.run(self.device, inputs, groups)?;
        Ok(trial.compare(inputs, &flagged, &fixed))
    }

    /// Whether the flagged kernel leaves something else each time. Groups that write to one place seldom come in another
    /// order.
    fn is_unstable(&self, trial: &Trial, inputs: &Inputs, groups: [u32; 3]) -> Result<bool, RunError> {
        let start = Instant::now();
        let first = self.flagged.run(self.device, inputs, groups)?;
        for run in 0..AGAIN {
            if run >= AGAIN_AT_LEAST && start.elapsed() > Duration::from_secs(AGAIN_S) {
                break;
            }
            let again = self.flagged.run(self.device, inputs, groups)?;
            if trial.compare(inputs, &first, &again).differing > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Finds out why the kernels differ in a case, which is the last one of the report.
    ///
    /// What lies beyond the end of a buffer is read as 0 and not written, so that of two kernels that are equal in buffers
    /// as long as a host makes them one may read what it wrote and the other what it knows to be there. How long they are is
    /// a guess here, unless it is set or the kernel asks: so the kernels are run again with more elements. Where they leave
    /// the same then, they are said to be neither different nor equal.
    fn explain(
        &self,
        trial: &Trial,
        case: &Case,
        inputs: &Inputs,
        report: &mut Report,
    ) -> Result<(), RunError> {
        report.is_unstable = self.is_unstable(trial, inputs, case.groups)?;
        // That there is no room for more, say, takes nothing from what was seen.
        let compare = |case: &Case| self.compare(trial, &trial.inputs(case), case.groups).ok();
        let are_alike = |case: &Case| compare(case).is_some_and(|comparison| comparison.differing == 0);
        // As the first run of a kernel takes longer than others, groups come in an order then in which they never come again.
        report.is_unstable |= (0..AGAIN_COMPARED).all(|_| are_alike(case));
        let guessed = trial.guessed_lengths(case);
        let ample = with_ample(case, guessed.clone());
        match compare(&ample) {
            _ if guessed.is_empty() => {}
            // Not by chance.
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
            // In a list that is too short it is chance which elements find room.
            Some(comparison)
                if comparison.differing > 0
                    && report.is_unstable
                    && !self.is_unstable(trial, &trial.inputs(&ample), ample.groups)? =>
            {
                report.is_unstable = false;
                report.comparisons.pop();
                report.comparisons.push(comparison);
                report.minimal = minimise(self, trial, &ample).unwrap_or_default();
                return Ok(());
            }
            _ => {}
        }
        if !report.is_unstable {
            // That less of it hangs, say, takes nothing from what was seen.
            report.minimal = minimise(self, trial, case).unwrap_or_default();
        }
        Ok(())
    }
}

/// Runs both kernels on one adapter, compares what they leave in every case and, where it matches, times them.
///
/// # Errors
/// As [`super::run`].
pub fn compare_and_time(adapter: &Adapter, trial: &Trial) -> Result<Report, RunError> {
    compare_and_time_on(&adapter.open()?, trial)
}

fn compare_and_time_on(device: &Device, trial: &Trial) -> Result<Report, RunError> {
    let kernels = Kernels {
        device,
        flagged: device.compile(&trial.flagged, Mode::Checked)?,
        fixed: device.compile(&trial.fixed, Mode::Checked)?,
    };
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
        let comparison = kernels.compare(trial, &inputs, case.groups)?;
        let differs = comparison.differing > 0;
        report.comparisons.push(comparison);
        if differs {
            kernels.explain(trial, case, &inputs, &mut report)?;
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

/// As [`compare_and_time`], on a thread of its own that is given up where it is silent for long: a driver that does not
/// return from compiling a kernel, or one that does not end. `on_step` is told what is being done.
///
/// # Errors
/// As [`super::run`]; [`RunError::Silent`] where the thread was given up. It goes on until the process ends.
pub fn compare_and_time_watched(
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

/// Does `work` on a thread of its own, which is given up where it says nothing for so many seconds.
fn watched<T: Send + 'static>(
    silence_s: u64,
    work: impl FnOnce(mpsc::Sender<&'static str>) -> Result<T, RunError> + Send + 'static,
    on_step: &mut dyn FnMut(&str),
) -> Result<T, RunError> {
    let patience = Duration::from_secs(silence_s);
    let (steps, said) = mpsc::channel();
    let (done, result) = mpsc::channel();
    let worker = std::thread::spawn(move || {
        // Whoever no longer listens has given up.
        let _ = done.send(guarded(|| work(steps)));
    });
    loop {
        match said.recv_timeout(patience) {
            Ok(step) => on_step(step),
            Err(mpsc::RecvTimeoutError::Timeout) => return Err(RunError::Silent(silence_s)),
            // The device is closed: the report is there, or follows at once.
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
    }
    let report = result
        .recv_timeout(patience)
        .map_err(|_| RunError::Silent(silence_s))?;
    // Drivers do not bear being closed while the process ends. It has nothing left to do but to close.
    let _ = worker.join();
    report
}

/// [`compare_and_time_watched`] on every adapter of this machine; one that fails does not keep the next from being
/// tried.
#[must_use]
pub fn compare_and_time_everywhere(trial: &Trial) -> Vec<(AdapterInfo, Result<Report, RunError>)> {
    let trial = Arc::new(trial.clone());
    adapters()
        .iter()
        .map(|adapter| {
            let report = compare_and_time_watched(adapter, &trial, &mut |_| ());
            (adapter.info.clone(), report)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copying() -> Lowered {
        let text = "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Dst;
[numthreads(64, 1, 1)] void Main(uint3 id : SV_DispatchThreadID) { Dst[id.x] = Src[id.x]; }";
        let (shader, _) = shaderlint_hlsl::parse(text.as_bytes().to_vec());
        let (entry, _) = shader.entry_points().next().expect("an entry point");
        crate::lower(&shader, entry).expect("it has a WGSL form")
    }

    /// A driver that hangs, as far as the watch sees.
    #[test]
    fn who_is_silent_is_given_up() {
        let mut heard = Vec::new();
        let hanging = |steps: mpsc::Sender<&'static str>| -> Result<(), RunError> {
            let _ = steps.send("compiling");
            // Longer than the watch waits, and not for ever: the test's process has to end.
            std::thread::sleep(Duration::from_secs(30));
            drop(steps);
            Ok(())
        };
        let start = std::time::Instant::now();
        let given_up = watched(1, hanging, &mut |step| heard.push(step.to_owned()));
        assert_eq!(given_up, Err(RunError::Silent(1)));
        assert_eq!(heard, ["compiling"]);
        assert!(start.elapsed() < Duration::from_secs(20));
        // The next is still tried.
        assert_eq!(watched(1, |_| Ok(7), &mut |_| ()), Ok(7));
    }

    #[test]
    fn a_panic_on_the_way_is_said() {
        let broken = |_| -> Result<(), RunError> { panic!("a driver's answer that nobody expects") };
        let said = watched(1, broken, &mut |_| ())
            .expect_err("it panicked")
            .to_string();
        assert_eq!(said, "wgpu failed: a driver's answer that nobody expects");
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
            // Another one of the same adapter is not.
            assert!(compare_and_time(&adapter, &trial).expect("it runs").is_match());
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
            let said = compare_and_time(&adapter, &trial)
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
            let said = compare_and_time(&adapter, &trial)
                .expect_err("it is too large")
                .to_string();
            let expected = "too large for the adapter: a buffer of 1073741824 bytes, the limit is ";
            assert!(said.starts_with(expected), "{said}");
        }
    }
}
