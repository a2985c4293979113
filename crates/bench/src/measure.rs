//! Measures every system at every n on one adapter.

use std::hint::black_box;
use std::time::Instant;

use anyhow::Result;
use serde::Serialize;
use shaderlint_verify::pipeline::Computes;
use shaderlint_verify::run::{
    Adapter, Data, Device, Mismatch, Mode, Overrun, Ready, RunError, Spread, probe_waves, sample_words,
};

use crate::numbers::grouped;
use crate::system::{System, are_sums, legible};

/// Timed runs of each system, after those that warm up.
const RUNS: u32 = 15;
const WARM_UP: u32 = 3;
/// Timed runs on the CPU.
const CPU_RUNS: u32 = 5;

/// The measurements of an adapter.
#[derive(Debug, Serialize)]
pub struct Measured {
    pub adapter: String,
    pub backend: String,
    pub driver: String,
    /// Lanes of a wave in groups of 256 threads; `None` without waves.
    pub wave: Option<u32>,
    /// Why the adapter cannot run anything.
    pub trouble: Option<String>,
    pub sizes: Vec<Size>,
}

/// The measurements at one n.
#[derive(Debug, Serialize)]
pub struct Size {
    pub n: u64,
    /// The system that the others are compared with.
    pub yardstick: Option<String>,
    pub rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
pub struct Row {
    pub system: String,
    #[serde(skip)]
    pub is_yardstick: bool,
    pub about: String,
    pub outcome: Outcome,
    /// A remark beside the numbers.
    pub remark: Option<String>,
    pub time: Option<Time>,
    /// 10^9 bytes per second, counting what any such system has to read and write.
    pub gigabytes_per_s: Option<f64>,
    /// The time as a multiple of the yardstick's.
    pub ratio: Option<f64>,
    pub dispatches: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The result equals the CPU's.
    Right,
    /// The result differs from the CPU's, or the system wrote beyond the end of a buffer.
    Wrong,
    /// The system has a known defect: the result differs, or is right by luck.
    Defect,
    /// The pipeline does not take so many elements, or the adapter lacks subgroup operations or the right
    /// size of waves.
    NotRun,
    /// The measurement failed.
    Failed,
}

/// Milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Time {
    pub median: f64,
    pub fastest: f64,
    pub slowest: f64,
}

impl From<Spread> for Time {
    fn from(spread: Spread) -> Time {
        Time {
            median: spread.median_ms,
            fastest: spread.min_ms,
            slowest: spread.max_ms,
        }
    }
}

impl Row {
    /// The remark beside the numbers, or the text in their place.
    pub fn said(&self) -> Option<&str> {
        let in_place = match self.outcome {
            Outcome::Right => "right, not timed",
            Outcome::Wrong => "wrong",
            Outcome::Defect => "not timed",
            Outcome::NotRun | Outcome::Failed => "not run",
        };
        (self.remark.as_deref()).or(self.time.is_none().then_some(in_place))
    }
}

impl Measured {
    /// Whether a system without a known defect is wrong.
    pub fn is_wrong(&self) -> bool {
        self.has(Outcome::Wrong)
    }

    /// Whether a measurement failed.
    pub fn has_failed(&self) -> bool {
        self.trouble.is_some() || self.has(Outcome::Failed)
    }

    fn has(&self, outcome: Outcome) -> bool {
        let mut rows = self.sizes.iter().flat_map(|size| &size.rows);
        rows.any(|row| row.outcome == outcome)
    }
}

/// Is called at each step with the subject and the name of the step.
pub type Step<'a> = &'a dyn Fn(&str, &str);

/// The measurement of some systems on one adapter.
pub struct Measurement<'a> {
    adapter: &'a Adapter,
    device: Result<Device, RunError>,
    systems: &'a [System],
    step: Step<'a>,
    measured: Measured,
    /// The system that does not end, and blocks the adapter for all others.
    busy_with: Option<String>,
}

/// The expected results for some words, each computed on first use.
struct Expected<'w> {
    words: &'w [u32],
    known: Vec<(Computes, Vec<u32>)>,
}

impl Expected<'_> {
    fn of(&mut self, computes: Computes) -> Result<&[u32], RunError> {
        let known = self.known.iter().position(|(known, _)| *known == computes);
        let at = if let Some(at) = known {
            at
        } else {
            self.known.push((computes, computes.expected(self.words)?));
            self.known.len() - 1
        };
        Ok(self.known.get(at).map_or(&[], |(_, right)| right))
    }
}

impl<'a> Measurement<'a> {
    pub fn new(adapter: &'a Adapter, systems: &'a [System], step: Step<'a>) -> Self {
        step(&adapter.info.name, "opening");
        let device = adapter.open();
        let waves = device
            .as_ref()
            .ok()
            .and_then(|device| probe_waves(device, [256, 1, 1]).ok());
        Measurement {
            adapter,
            systems,
            step,
            measured: Measured {
                adapter: adapter.info.name.clone(),
                backend: adapter.info.backend.clone(),
                driver: adapter.info.driver.clone(),
                wave: waves.map(|waves| waves.max),
                trouble: device.as_ref().err().map(RunError::to_string),
                sizes: Vec::new(),
            },
            device,
            busy_with: None,
        }
    }

    /// Whether the adapter is blocked, so that it cannot run anything more.
    pub fn is_stuck(&self) -> bool {
        self.busy_with.is_some()
    }

    pub fn measured(&self) -> &Measured {
        &self.measured
    }

    pub fn done(self) -> Measured {
        self.measured
    }

    /// Measures all systems at one n.
    pub fn at(&mut self, n: u64) -> &Size {
        let is_about_totals = are_sums(self.systems);
        // A missing device is reported once, as `trouble`.
        let systems = if self.measured.trouble.is_some() {
            &[]
        } else {
            self.systems
        };
        let mut rows = Vec::new();
        let room = self
            .device
            .as_ref()
            .map_or(Ok(()), |device| device.takes_words(n));
        match room.and_then(|()| sample_words(usize::try_from(n).unwrap_or(usize::MAX))) {
            Ok(words) => {
                rows.push(self.on_cpu(&words, is_about_totals));
                self.on_adapter(n, &words, systems, &mut rows);
            }
            Err(error) => rows.extend(systems.iter().map(|system| failed(system, &error))),
        }
        let wanted = if is_about_totals {
            Computes::Read
        } else {
            Computes::Copy
        };
        let yardstick = (self.systems.iter())
            .find(|system| system.is_yardstick && system.linked.pipeline.computes == wanted)
            .map(|system| system.name.clone());
        let base = rows
            .iter()
            .find(|row| Some(&row.system) == yardstick.as_ref())
            .and_then(|row| row.time);
        for row in &mut rows {
            if let (Some(time), Some(base)) = (row.time, base)
                && base.median > 0.0
            {
                row.ratio = Some(time.median / base.median);
            }
        }
        self.measured.sizes.push(Size { n, yardstick, rows });
        let at = self.measured.sizes.len() - 1;
        &self.measured.sizes[at]
    }

    /// Adds a row for each system.
    fn on_adapter(&mut self, n: u64, words: &[u32], systems: &[System], rows: &mut Vec<Row>) {
        let mut expected = Expected {
            words,
            known: Vec::new(),
        };
        let mut data = self.upload(words);
        for system in systems {
            if let Some(other) = &self.busy_with {
                let remark = format!("the adapter is still busy with {other}");
                rows.push(row(system, Outcome::Failed, Some(&remark)));
                continue;
            }
            let of = format!("{}, n = {n}", self.measured.adapter);
            (self.step)(&of, &system.name);
            let measured = match (&self.device, &data) {
                (Ok(device), Ok(data)) => on_device(device, system, n, data, &mut expected),
                (Err(error), _) | (_, Err(error)) => Err(error.clone()),
            };
            let error = match measured {
                Ok(row) => {
                    rows.push(row);
                    continue;
                }
                Err(error) => error,
            };
            rows.push(failed(system, &error));
            // A hang or a loss makes the device unusable, so the next system gets a new one. If both share
            // the hardware, the new device waits for what hangs.
            if self.device.as_ref().is_ok_and(|device| !device.is_usable()) {
                self.device = self.adapter.open();
                let answer = self.device.as_ref().map_or(Ok(()), Device::answers);
                if let Err(RunError::Timeout(_)) = answer {
                    self.busy_with = Some(legible(&system.name));
                    continue;
                }
                data = self.upload(words);
            }
        }
    }

    fn upload(&self, words: &[u32]) -> Result<Data, RunError> {
        self.device.as_ref().map_err(RunError::clone)?.upload(words)
    }

    /// The sequential scan, or the sequential sum.
    fn on_cpu(&self, words: &[u32], is_about_totals: bool) -> Row {
        (self.step)("CPU", "one element after the other");
        let mut cpu = Row {
            system: "cpu".to_owned(),
            is_yardstick: true,
            about: "one element after the other, on the CPU".to_owned(),
            outcome: Outcome::Right,
            remark: None,
            time: None,
            gigabytes_per_s: None,
            ratio: None,
            dispatches: 0,
        };
        let mut out = Vec::new();
        if !is_about_totals && let Err(error) = out.try_reserve_exact(words.len()) {
            cpu.outcome = Outcome::Failed;
            cpu.remark = Some(RunError::OutOfMemory(error.to_string()).to_string());
            return cpu;
        }
        let mut times: Vec<f64> = Vec::new();
        for _ in 0..CPU_RUNS {
            let words = black_box(words);
            let before = Instant::now();
            if is_about_totals {
                black_box(words.iter().fold(0u32, |sum, word| sum.wrapping_add(*word)));
            } else {
                out.clear();
                out.extend(words.iter().scan(0u32, |sum, word| {
                    *sum = sum.wrapping_add(*word);
                    Some(*sum)
                }));
                black_box(&mut out);
            }
            times.push(before.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        let time = Time {
            median: times[times.len() / 2],
            fastest: times[0],
            slowest: times[times.len() - 1],
        };
        let computes = if is_about_totals {
            Computes::Sum
        } else {
            Computes::InclusiveScan
        };
        cpu.time = Some(time);
        cpu.gigabytes_per_s = rate(computes, words.len() as u64, time);
        cpu
    }
}

/// The row of a system that could not be run.
fn failed(system: &System, error: &RunError) -> Row {
    let outcome = match error {
        RunError::NoSubgroups | RunError::OtherWaves { .. } => Outcome::NotRun,
        _ => Outcome::Failed,
    };
    row(system, outcome, Some(&error.to_string()))
}

fn row(system: &System, outcome: Outcome, remark: Option<&str>) -> Row {
    Row {
        system: legible(&system.name),
        is_yardstick: system.is_yardstick,
        about: legible(&system.linked.pipeline.about),
        outcome,
        remark: remark.map(legible),
        time: None,
        gigabytes_per_s: None,
        ratio: None,
        dispatches: 0,
    }
}

/// The bytes that have to be read and written, in 10^9 per second.
fn rate(computes: Computes, n: u64, time: Time) -> Option<f64> {
    let bytes = match computes {
        Computes::InclusiveScan | Computes::ExclusiveScan | Computes::Copy => 8 * n,
        Computes::Sum | Computes::Read => 4 * n,
    };
    (time.median > 0.0).then(|| bytes as f64 / time.median * 1e-6)
}

/// Measures a system. Returns an error of the device; an error in the `pipeline.toml` becomes a row.
fn on_device(
    device: &Device,
    system: &System,
    n: u64,
    data: &Data,
    expected: &mut Expected<'_>,
) -> Result<Row, RunError> {
    let pipeline = &system.linked.pipeline;
    if let Ok(Some(most)) = system.linked.at_most()
        && n > most
    {
        let remark = format!("takes at most {} elements", grouped(most));
        return Ok(row(system, Outcome::NotRun, Some(&remark)));
    }
    let plan = match system.linked.plan(n, device.max_groups()) {
        Ok(plan) => plan,
        Err(error) => return Ok(row(system, Outcome::Failed, Some(&system.placed(&error)))),
    };
    let mut wrong = |ready: &Ready<'_>| -> Result<Option<String>, RunError> {
        if let Some(overrun) = ready.overrun(device)? {
            return Ok(Some(beyond(&overrun)));
        }
        let mismatch = ready.mismatch(device, expected.of(pipeline.computes)?)?;
        Ok(mismatch.map(|mismatch| differing(mismatch, pipeline.computes, n)))
    };
    let ready = device.ready(&system.linked, &plan, data)?;
    let checked = ready.steps(device, Mode::Checked)?;
    ready.run(device, &checked)?;
    let mut said = wrong(&ready)?;
    let mut time = None;
    if said.is_none() && pipeline.defect.is_none() {
        // Start with garbage in all buffers again: the old ones may hold the right result already.
        drop(ready);
        let ready = device.ready(&system.linked, &plan, data)?;
        let unchecked = ready.steps(device, Mode::Unchecked)?;
        time = ready.time(device, &unchecked, WARM_UP, RUNS)?;
        // The timed runs must be right, too.
        if time.is_some() {
            said = wrong(&ready)?;
        }
    }
    let (outcome, remark) = match (&pipeline.defect, said) {
        (Some(defect), Some(said)) => (
            Outcome::Defect,
            Some(format!("wrong, as expected: {defect}; {said}")),
        ),
        (Some(_), None) if plan.dispatches.is_empty() => {
            (Outcome::Defect, Some("right: nothing is dispatched".to_owned()))
        }
        (Some(defect), None) => (Outcome::Defect, Some(format!("right by luck: {defect}"))),
        (None, Some(said)) => (Outcome::Wrong, Some(format!("WRONG: {said}"))),
        (None, None) => (Outcome::Right, None),
    };
    let time: Option<Time> = time.filter(|_| outcome == Outcome::Right).map(Time::from);
    Ok(Row {
        time,
        gigabytes_per_s: time.and_then(|time| rate(pipeline.computes, n, time)),
        dispatches: plan.dispatches.len(),
        ..row(system, outcome, remark.as_deref())
    })
}

fn beyond(overrun: &Overrun) -> String {
    format!(
        "written behind the end of `{}`, which has {} words: word {}",
        overrun.buffer,
        grouped(overrun.words),
        grouped(overrun.index)
    )
}

fn differing(wrong: Mismatch, computes: Computes, n: u64) -> String {
    let Mismatch {
        index,
        got,
        expected,
        count,
    } = wrong;
    if computes == Computes::Sum {
        return format!("the sum is {got}, not {expected}");
    }
    format!(
        "element {index} is {got}, not {expected}; {} of {} differ",
        grouped(count),
        grouped(n)
    )
}

#[cfg(test)]
mod tests {
    use shaderlint_verify::run::adapters;

    use super::*;
    use crate::built_in::{reductions, scans};

    #[test]
    fn after_a_loss_the_others_have_a_new_device() {
        let systems = reductions().unwrap();
        for adapter in adapters() {
            let mut measurement = Measurement::new(&adapter, &systems, &|_, _| {});
            measurement.device.as_ref().unwrap().destroy();
            let size = measurement.at(1000);
            let outcomes: Vec<Outcome> = size.rows.iter().map(|row| row.outcome).collect();
            assert_eq!(outcomes[..2], [Outcome::Right, Outcome::Failed]);
            let is_run = |outcome: &Outcome| matches!(outcome, Outcome::Right | Outcome::Defect);
            assert!(outcomes[2..].iter().all(is_run), "{outcomes:?}");
            assert!(measurement.measured.has_failed() && !measurement.measured.is_wrong());
        }
    }

    #[test]
    fn while_one_does_not_end_no_other_is_blamed() {
        let systems = reductions().unwrap();
        for adapter in adapters() {
            let mut measurement = Measurement::new(&adapter, &systems, &|_, _| {});
            assert!(measurement.device.as_ref().unwrap().answers().is_ok() && !measurement.is_stuck());
            measurement.busy_with = Some("forever".to_owned());
            assert!(measurement.is_stuck());
            for row in &measurement.at(10).rows[1..] {
                assert_eq!(row.outcome, Outcome::Failed);
                assert_eq!(row.said(), Some("the adapter is still busy with forever"));
            }
        }
    }

    #[test]
    fn what_there_is_no_room_for_is_a_row() {
        let systems = scans().unwrap();
        for adapter in adapters() {
            let mut measurement = Measurement::new(&adapter, &systems, &|_, _| {});
            let rows = &measurement.at(1 << 60).rows;
            assert_eq!(rows.len(), systems.len());
            for row in rows {
                assert_eq!(row.outcome, Outcome::Failed);
                assert!(
                    row.said()
                        .is_some_and(|said| said.starts_with("too large for the adapter"))
                );
            }
        }
    }
}
