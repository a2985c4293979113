//! Every system at every n on one adapter.

use std::hint::black_box;
use std::time::Instant;

use anyhow::Result;
use serde::Serialize;
use shaderlint_verify::pipeline::Computes;
use shaderlint_verify::run::{Adapter, Data, Device, Mode, RunError, Spread, probe_waves, sample_words};

use super::systems::System;
use crate::verify::Progress;

/// Timed runs of each system, after some that are not.
const RUNS: u32 = 15;
const WARM_UP: u32 = 3;
/// Timed runs on the CPU.
const CPU_RUNS: u32 = 5;

/// What an adapter showed.
#[derive(Debug, Serialize)]
pub(super) struct Measured {
    pub adapter: String,
    pub backend: String,
    pub driver: String,
    /// Lanes of a wave in groups of 256 threads; `None` without waves.
    pub wave: Option<u32>,
    /// Why nothing could be run.
    pub trouble: Option<String>,
    pub sizes: Vec<Size>,
}

/// One n.
#[derive(Debug, Serialize)]
pub(super) struct Size {
    pub n: u64,
    /// Which row the others are compared with.
    pub yardstick: Option<String>,
    pub rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub system: String,
    pub about: String,
    pub outcome: Outcome,
    /// What is to be said beside the numbers.
    pub remark: Option<String>,
    pub time: Option<Time>,
    /// 10^9 bytes a second, counting what any such system has to read and write.
    pub gigabytes_per_s: Option<f64>,
    /// Times that the yardstick takes.
    pub ratio: Option<f64>,
    pub dispatches: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Outcome {
    /// The result is the CPU's.
    Right,
    /// It is not.
    Wrong,
    /// It is not, or could as well not have been, for a reason that is known.
    Defect,
    NotRun,
}

/// Milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Time {
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

impl Measured {
    /// Whether a system that should be right is not.
    pub fn is_wrong(&self) -> bool {
        let rows = self.sizes.iter().flat_map(|size| &size.rows);
        rows.into_iter().any(|row| row.outcome == Outcome::Wrong)
    }
}

pub(super) struct Measurement<'a> {
    adapter: &'a Adapter,
    device: Option<Device>,
    systems: &'a [System],
    progress: &'a Progress,
    measured: Measured,
}

impl<'a> Measurement<'a> {
    pub fn new(adapter: &'a Adapter, systems: &'a [System], progress: &'a Progress) -> Self {
        progress.step(&adapter.info.name, "opening");
        let (device, trouble) = match adapter.open() {
            Ok(device) => (Some(device), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let waves = device
            .as_ref()
            .and_then(|device| probe_waves(device, [256, 1, 1]).ok());
        Measurement {
            adapter,
            systems,
            progress,
            measured: Measured {
                adapter: adapter.info.name.clone(),
                backend: adapter.info.backend.clone(),
                driver: adapter.info.driver.clone(),
                wave: waves.map(|waves| waves.max),
                trouble,
                sizes: Vec::new(),
            },
            device,
        }
    }

    pub fn measured(&self) -> &Measured {
        &self.measured
    }

    pub fn done(self) -> Measured {
        self.measured
    }

    /// Measures everything at one n.
    pub fn at(&mut self, n: u64) -> Result<&Size> {
        let words = sample_words(usize::try_from(n)?);
        let is_reduction = |system: &System| system.linked.pipeline.computes == Computes::Sum;
        let is_about_totals = self.systems.iter().any(is_reduction);
        let mut rows = vec![self.on_cpu(&words, is_about_totals)];
        let mut expected: Vec<(Computes, Vec<u32>)> = Vec::new();
        let mut data = self.device.as_ref().map(|device| device.upload(&words));
        for system in self.systems {
            let computes = system.linked.pipeline.computes;
            if !expected.iter().any(|(known, _)| *known == computes) {
                expected.push((computes, computes.expected(&words)));
            }
            let right = expected.iter().find(|(known, _)| *known == computes);
            let right = right.map_or(&[][..], |(_, right)| right);
            self.progress
                .step(&format!("{}, n = {n}", self.measured.adapter), &system.name);
            let measured = match (&self.device, &data) {
                (Some(device), Some(Ok(data))) => on_device(device, system, n, data, right)?,
                (_, Some(Err(error))) => Err(error.clone()),
                // That there is no device was said.
                _ => continue,
            };
            let error = measured.as_ref().err().cloned();
            rows.push(measured.unwrap_or_else(|error| row(system, Outcome::NotRun, Some(error.to_string()))));
            // What hangs or is lost takes its device with it; the next system gets a new one.
            if let Some(RunError::Lost(_) | RunError::Timeout(_)) = error {
                self.device = self.adapter.open().ok();
                data = self.device.as_ref().map(|device| device.upload(&words));
            }
        }
        let wanted = if is_about_totals {
            Computes::Read
        } else {
            Computes::Copy
        };
        let yardstick = self
            .systems
            .iter()
            .find(|system| system.linked.pipeline.computes == wanted);
        let yardstick = yardstick.map(|system| system.name.clone());
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
        Ok(&self.measured.sizes[at])
    }

    /// The sequential scan, or the sequential sum.
    fn on_cpu(&self, words: &[u32], is_about_totals: bool) -> Row {
        self.progress.step("CPU", "one element after the other");
        let mut out = vec![0u32; words.len()];
        let mut times: Vec<f64> = Vec::new();
        for _ in 0..CPU_RUNS {
            let words = black_box(words);
            let before = Instant::now();
            if is_about_totals {
                black_box(words.iter().fold(0u32, |sum, word| sum.wrapping_add(*word)));
            } else {
                let mut sum = 0u32;
                for (out, word) in out.iter_mut().zip(words) {
                    sum = sum.wrapping_add(*word);
                    *out = sum;
                }
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
        Row {
            system: "cpu".to_owned(),
            about: "one element after the other, on the CPU".to_owned(),
            outcome: Outcome::Right,
            remark: None,
            time: Some(time),
            gigabytes_per_s: rate(computes, words.len() as u64, time),
            ratio: None,
            dispatches: 0,
        }
    }
}

fn row(system: &System, outcome: Outcome, remark: Option<String>) -> Row {
    Row {
        system: system.name.clone(),
        about: system.linked.pipeline.about.clone(),
        outcome,
        remark,
        time: None,
        gigabytes_per_s: None,
        ratio: None,
        dispatches: 0,
    }
}

/// Bytes that have to be read and written, a second.
fn rate(computes: Computes, n: u64, time: Time) -> Option<f64> {
    let bytes = match computes {
        Computes::InclusiveScan | Computes::ExclusiveScan | Computes::Copy => 8 * n,
        Computes::Sum | Computes::Read => 4 * n,
    };
    (time.median > 0.0).then(|| bytes as f64 / time.median * 1e-6)
}

/// The outer error is one in the `pipeline.toml`, the inner one the device's.
fn on_device(
    device: &Device,
    system: &System,
    n: u64,
    data: &Data,
    right: &[u32],
) -> Result<Result<Row, RunError>> {
    let pipeline = &system.linked.pipeline;
    if let Some(most) = system.linked.at_most().map_err(|error| system.wrong(error))?
        && n > most
    {
        let remark = format!("takes at most {} elements", grouped(most));
        return Ok(Ok(row(system, Outcome::NotRun, Some(remark))));
    }
    let plan = system
        .linked
        .plan(n, device.max_groups())
        .map_err(|error| system.wrong(error))?;
    let measured = || -> Result<Row, RunError> {
        let ready = device.ready(&system.linked, &plan, data)?;
        let checked = ready.steps(device, Mode::Checked)?;
        ready.run(device, &checked)?;
        let mut mismatch = ready.mismatch(device, right)?;
        let mut time = None;
        if mismatch.is_none() && pipeline.defect.is_none() {
            // In buffers of garbage again: the right result must not be there already.
            drop(ready);
            let ready = device.ready(&system.linked, &plan, data)?;
            let unchecked = ready.steps(device, Mode::Unchecked)?;
            time = ready.time(device, &unchecked, WARM_UP, RUNS)?;
            // What is timed is right too.
            if time.is_some() {
                mismatch = ready.mismatch(device, right)?;
            }
        }
        let said = mismatch.map(|wrong| match pipeline.computes {
            Computes::Sum => format!("the sum is {}, not {}", wrong.got, wrong.expected),
            _ => format!(
                "element {} is {}, not {}; {} of {} differ",
                wrong.index,
                wrong.got,
                wrong.expected,
                grouped(wrong.count),
                grouped(n)
            ),
        });
        let (outcome, remark) = match (&pipeline.defect, said) {
            (Some(defect), Some(said)) => (
                Outcome::Defect,
                Some(format!("wrong, as expected: {defect}; {said}")),
            ),
            (Some(defect), None) => (Outcome::Defect, Some(format!("right by luck: {defect}"))),
            (None, Some(said)) => (Outcome::Wrong, Some(format!("WRONG: {said}"))),
            (None, None) => (Outcome::Right, None),
        };
        let time: Option<Time> = time.filter(|_| outcome == Outcome::Right).map(Time::from);
        Ok(Row {
            time,
            gigabytes_per_s: time.and_then(|time| rate(pipeline.computes, n, time)),
            dispatches: plan.dispatches.len(),
            ..row(system, outcome, remark)
        })
    };
    Ok(measured())
}

/// `100,000`
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
