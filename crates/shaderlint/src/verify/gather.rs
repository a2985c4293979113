//! From two kernels to what is known of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::Result;
use shaderlint_hlsl::Scalar;
use shaderlint_simt::unordered;
use shaderlint_verify::interpret::{Interpretation, interpret};
use shaderlint_verify::run::{
    Adapter, AdapterInfo, InputPlan, Report, RunError, Spread, Timing, Trial, cases,
    compare_and_time_watched, float_depth,
};
use shaderlint_verify::{Lowered, lower_repeated};

use super::evidence::{
    CaseLine, DeviceOutcome, DeviceRow, Evidence, Interpreted, Milliseconds, Source, Times, verdict,
};
use super::kernel_toml::Settings;
use super::pair::{Pair, changed_statements};
use super::progress::Progress;
use super::proof;
use crate::kernel;
use crate::lint::Unit;

/// Passes of the ladder in one run where the ladder, not the memory, is to be timed.
pub(super) const PASSES: u32 = 64;

/// Both kernels of a pair, for devices.
pub(super) struct Runnable {
    pub trial: Arc<Trial>,
    pub remarks: Vec<String>,
}

/// The files of a pair.
pub(super) struct Files<'a> {
    pub flagged: &'a Unit,
    pub fixed: &'a Unit,
    /// The texts of both.
    pub flagged_text: &'a [u8],
    pub fixed_text: &'a [u8],
}

/// Proves, interprets and runs. The trial is handed back for whoever runs the kernels again.
pub(super) fn gather(
    files: &Files<'_>,
    pair: &Pair,
    adapters: &[Adapter],
    settings: &Settings,
    is_timed: bool,
    progress: &Progress,
) -> (Evidence, Option<Arc<Trial>>) {
    progress.step(&pair.name, "proving");
    let proof = proof::prove(&files.flagged.shader, &files.fixed.shader, pair);
    let runnable = runnable(files, pair, settings, is_timed, proof.presumes_barriers);
    let (mut interpreter, mut devices, mut remarks, mut trial) = (Vec::new(), Vec::new(), Vec::new(), None);
    match runnable {
        Ok(runnable) => {
            progress.step(&pair.name, "interpreting");
            interpreter = interpreted(files, pair, &runnable.trial);
            if adapters.is_empty() {
                remarks.push("no GPU adapter: nothing was run".to_owned());
            }
            remarks.extend(runnable.remarks);
            for adapter in adapters {
                let report = compare_and_time_watched(adapter, &runnable.trial, &mut |step| {
                    progress.step(&pair.name, &format!("{}: {step}", adapter.info.name));
                });
                devices.push(device_row(&adapter.info, &runnable.trial, report));
            }
            trial = Some(runnable.trial);
        }
        Err(error) => remarks.push(format!("not run: {error:#}")),
    }
    let wgsl = |kernel: &Lowered| shaderlint_verify::wgsl(kernel, true).ok();
    let lowered = trial.as_ref().map(|trial| (&trial.flagged, &trial.fixed));
    let source = |unit: &Unit, text: &[u8], kernel: Option<&Lowered>| Source {
        path: kernel::path(unit).to_owned(),
        hlsl: String::from_utf8_lossy(text).into_owned(),
        wgsl: kernel.and_then(wgsl),
    };
    let evidence = Evidence {
        file: kernel::path(files.flagged).to_owned(),
        kernel: pair.name.clone(),
        other: pair.other.clone(),
        group: pair.group,
        verdict: verdict(&proof, pair.has_rows(), &interpreter, &devices),
        findings: pair.findings.clone(),
        proof,
        interpreter,
        cases: (trial.iter().flat_map(|trial| &trial.cases))
            .map(|case| CaseLine {
                about: case.about,
                groups: case.groups,
            })
            .collect(),
        devices,
        remarks,
        flagged: source(
            files.flagged,
            files.flagged_text,
            lowered.map(|(flagged, _)| flagged),
        ),
        suggested: source(files.fixed, files.fixed_text, lowered.map(|(_, fixed)| fixed)),
    };
    (evidence, trial)
}

/// Lowers both kernels and decides what they are given.
fn runnable(
    files: &Files<'_>,
    pair: &Pair,
    settings: &Settings,
    is_timed: bool,
    presumes_barriers: bool,
) -> Result<Runnable> {
    let Files { flagged, fixed, .. } = files;
    let first = kernel::lower(flagged, pair.flagged)?;
    let second = kernel::lower(fixed, pair.fixed)?;
    let mut remarks: Vec<String> = [(&pair.name, &first), (&pair.other, &second)]
        .into_iter()
        .filter(|(_, kernel)| kernel.is_flattened())
        .map(|(name, kernel)| flattened(name, kernel))
        .collect();
    remarks.dedup();
    let given = settings.of(&pair.name);
    remarks.extend(given.misfits(&flagged.shader));
    let plan = InputPlan {
        uniforms: given.set,
        lengths: given.lengths,
        contents: given.contents,
        ..InputPlan::default()
    };
    let mut trial = Trial::new(&first, &second);
    trial.cases = cases(&plan, given.groups);
    if presumes_barriers {
        // With as many elements as threads, none is beyond the last.
        trial.cases.retain(|case| !case.inputs.is_ragged);
        remarks.push(
            "not run with counts that do not divide the group: not every thread may reach the barriers then"
                .to_owned(),
        );
    }
    trial.timed_inputs = plan;
    trial.unordered = unordered(&flagged.shader, pair.flagged);
    trial.depth = float_depth(&first);
    trial.is_untimed = !is_timed;
    let replaced: BTreeSet<&str> = (first.replaced.iter().chain(&second.replaced))
        .map(String::as_str)
        .collect();
    if !replaced.is_empty() {
        let names: Vec<&str> = replaced.into_iter().collect();
        remarks.push(format!(
            "{}: without a WGSL form, and on both sides a hash of what it is given; times say nothing of it",
            names.join(", ")
        ));
    }
    if !trial.unordered.is_empty() {
        let names: Vec<&str> = trial.unordered.iter().map(String::as_str).collect();
        remarks.push(format!(
            "{}: compared as sets of elements, as atomics fill them in any order",
            names.join(", ")
        ));
    }
    if is_timed {
        match ladders(files, pair) {
            Ok(ladders) => trial.ladders = Some(ladders),
            Err(why) => remarks.push(format!("the ladder alone is not timed: {why}")),
        }
    }
    Ok(Runnable {
        trial: Arc::new(trial),
        remarks,
    })
}

/// Both kernels with what differs repeated.
fn ladders(files: &Files<'_>, pair: &Pair) -> Result<(Lowered, Lowered), String> {
    let (slow, fast) = changed_statements(files.flagged, files.fixed, pair)
        .ok_or("which statements differ cannot be told")?;
    let repeated = |unit: &Unit, entry, span| {
        lower_repeated(&unit.shader, entry, span, PASSES).map_err(|error| error.to_string())
    };
    Ok((
        repeated(files.flagged, pair.flagged, slow)?,
        repeated(files.fixed, pair.fixed, fast)?,
    ))
}

/// What a reader has to know of a kernel whose rows are laid end to end on the GPU.
fn flattened(name: &str, kernel: &Lowered) -> String {
    let [x, y, z] = kernel.group_size;
    let threads = kernel.workgroup_size.iter().product::<u32>();
    format!("{name} uses lane ids: its group of {x}×{y}×{z} ran as one row of {threads} threads")
}

fn interpreted(files: &Files<'_>, pair: &Pair, trial: &Trial) -> Vec<Interpreted> {
    // What is not proved of other maps is no matter in a group of one row.
    let maps = proof::maps(pair.has_rows());
    let maps = maps.get(..if pair.has_rows() { maps.len() } else { 1 });
    let runs = interpret(
        (&files.flagged.shader, pair.flagged),
        (&files.fixed.shader, pair.fixed),
        trial,
        maps.unwrap_or_default(),
    );
    let lines = runs.into_iter().map(|run| {
        let (is_equal, text) = match run.outcome {
            Interpretation::Equal { words } => (Some(true), format!("equal in {words} words written")),
            Interpretation::NotFollowed => (None, "not followed".to_owned()),
            Interpretation::Differs {
                place,
                scalar,
                expected,
                got,
            } => {
                let shown = |bits: Option<u32>| bits.map_or("nothing".to_owned(), |bits| word(scalar, bits));
                let text = format!(
                    "differs at {place}: expected {}, got {}",
                    shown(expected),
                    shown(got)
                );
                (Some(false), text)
            }
        };
        Interpreted {
            map: run.map.name(),
            wave_size: run.wave_size,
            is_equal,
            text,
        }
    });
    lines.collect()
}

fn device_row(adapter: &AdapterInfo, trial: &Trial, report: Result<Report, RunError>) -> DeviceRow {
    let mut row = DeviceRow {
        adapter: adapter.name.clone(),
        backend: adapter.backend.clone(),
        driver: adapter.driver.clone(),
        is_cpu: adapter.is_cpu,
        waves: [adapter.wave_min, adapter.wave_max],
        outcome: DeviceOutcome::NotRun,
        text: String::new(),
        words: 0,
        kernel: None,
        ladder: None,
    };
    let report = match report {
        Ok(report) => report,
        Err(error) => {
            row.text = format!("not run: {error}");
            return row;
        }
    };
    if let Some(waves) = &report.waves {
        row.waves = [waves.min, waves.max];
    }
    row.words = report.words();
    row.kernel = report.timing.map(|timing| times("kernel".to_owned(), &timing));
    row.ladder = report
        .ladder
        .map(|timing| times(format!("ladder ×{PASSES}"), &timing));
    (row.outcome, row.text) = outcome(trial, &report);
    row
}

fn outcome(trial: &Trial, report: &Report) -> (DeviceOutcome, String) {
    let Some((case, comparison)) =
        (trial.cases.iter().zip(&report.comparisons)).find(|(_, comparison)| comparison.differing > 0)
    else {
        if !report.is_match() {
            let text = "nothing was written in any case: that says nothing".to_owned();
            return (DeviceOutcome::NothingWritten, text);
        }
        let written: u64 = report
            .comparisons
            .iter()
            .map(|comparison| comparison.written)
            .sum();
        let text = format!(
            "{} words alike in {} cases, {written} of them written",
            report.words(),
            trial.cases.len()
        );
        return (DeviceOutcome::Alike, text);
    };
    let shown = match (&report.minimal, &comparison.first) {
        (Some(minimal), _) => Some(&minimal.difference),
        (None, first) => first.as_ref(),
    };
    let mut text = shown.map_or_else(
        || "the buffers have different lengths".to_owned(),
        |first| {
            let component = match first.word {
                0 => String::new(),
                word => format!(", word {word}"),
            };
            format!(
                "{}[{}]{component} is {}, should be {}",
                first.binding,
                first.element,
                word(first.scalar, first.got),
                word(first.scalar, first.expected)
            )
        },
    );
    match &report.minimal {
        Some(minimal) => {
            let [x, y, z] = minimal.groups;
            let groups = match x * y * z {
                1 => "1 group".to_owned(),
                n => format!("{n} groups"),
            };
            let inputs: Vec<String> = (minimal.inputs.iter())
                .map(|input| {
                    format!(
                        "{}[{}] = {}",
                        input.binding,
                        input.element,
                        word(input.scalar, input.bits)
                    )
                })
                .collect();
            let more = match minimal.input_count.saturating_sub(inputs.len() as u64) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let given = if inputs.is_empty() {
                "where all inputs are 0".to_owned()
            } else {
                format!("where all inputs are 0 but {}{more}", inputs.join(", "))
            };
            text = format!("{text}, in {groups}, {given}");
        }
        None => text = format!("{text}, in the dispatch with {}", case.about),
    }
    if report.is_unstable {
        let text = format!("the flagged kernel does not leave the same twice: {text}");
        return (DeviceOutcome::Unstable, text);
    }
    let [a, b] = [&trial.flagged, &trial.fixed].map(|kernel| &kernel.replaced);
    if let Some(name) = a.symmetric_difference(b).next() {
        // The hash of one read is not that of another, though they may read the same.
        let text = format!("not comparable, as one kernel alone has {name}, which is a hash here: {text}");
        return (DeviceOutcome::NotComparable, text);
    }
    (DeviceOutcome::Differs, text)
}

fn times(what: String, timing: &Timing) -> Times {
    let spread = |spread: Spread| Milliseconds {
        median: spread.median_ms,
        min: spread.min_ms,
        max: spread.max_ms,
    };
    Times {
        what,
        threads: timing.threads,
        runs: timing.plan.runs,
        flagged: spread(timing.flagged),
        suggested: spread(timing.fixed),
        copy: spread(timing.copy),
        ratio: timing.speed_up(),
        is_measurable: timing.is_measurable(),
    }
}

fn word(scalar: Scalar, bits: u32) -> String {
    match scalar {
        Scalar::Float => format!("{:?}", f32::from_bits(bits)),
        Scalar::Int => bits.cast_signed().to_string(),
        _ => bits.to_string(),
    }
}
