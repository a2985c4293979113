//! Fixes as a property, on devices: whatever ladder is written at random, its fix leaves the same words in memory, in every
//! reading that the generator knows, at the wave size of the device, and in the engine's interpreter at all others.
//!
//! Mesa's lavapipe takes its wave size from the environment when it starts, so the test starts itself anew for each.

#![expect(clippy::print_stdout, reason = "the figures are worth seeing")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;
use std::process::Command;
use std::sync::Arc;

use shaderlint_fuzz::{Ladder, Reading, entries, faster, ladder, seeds_asked};
use shaderlint_hlsl::{FunctionId, Shader};
use shaderlint_simt::{Given, LaneMap, evaluate, unordered};
use shaderlint_verify::interpret::{Interpretation, given_word, interpret};
use shaderlint_verify::lower;
use shaderlint_verify::run::{
    Case, Device, Mode, RunError, Trial, Waves, adapters, compare, float_depth, probe_waves,
};

const NAME: &str = "fixed_ladders_leave_the_same";

/// The wave size that a device of lavapipe gets, in bits of 32-bit lanes.
const WIDTH: &str = "LP_NATIVE_VECTOR_WIDTH";

/// What was compared.
#[derive(Default)]
struct Tally {
    ladders: u64,
    /// There is no fix.
    unfixed: u64,
    /// Kernels in readings: the kernel, or its fix, is not run.
    refused: u64,
    /// Kernels in readings.
    compared: u64,
    words: u64,
    interpreted: u64,
    /// Kernels that do not leave the same each time, and were seen to differ from their fixes.
    open: String,
}

/// An entry point of a file.
type Kernel<'s> = (&'s Shader, FunctionId);

/// Both kernels with the inputs of the usual cases.
fn trial(ladder: &Ladder, flagged: Kernel<'_>, fixed: Kernel<'_>) -> Result<Trial, String> {
    let kernel = |(shader, entry): Kernel<'_>| lower(shader, entry).map_err(|error| error.to_string());
    let mut trial = Trial::new(
        &kernel(flagged)?,
        &kernel(fixed).map_err(|error| format!("the fix: {error}"))?,
    );
    trial.depth = float_depth(&trial.flagged);
    let open = unordered(flagged.0, flagged.1);
    (trial.unordered, trial.overwritten) = (open.as_sets, open.overwritten);
    for case in &mut trial.cases {
        // At least as many as the slots that each thread may claim: what is beyond the end of a buffer all lands in one place.
        case.inputs.elements_per_thread = 16;
    }
    if let Some(source) = &ladder.multiplies {
        // Few that are not ±1, and those nowhere that a power of two hits time and again: products stay exact.
        let factors = (0..61).map(|at| match at {
            7 | 31 => 2.0,
            19 | 44 => 0.5,
            _ if at % 5 == 3 => -1.0,
            _ => 1.0,
        });
        for case in &mut trial.cases {
            case.inputs
                .contents
                .insert(source.clone(), factors.clone().collect());
        }
    }
    Ok(trial)
}

/// Nothing is wrong with the ladder's fixes, if there are any: with the safe ones in every reading, with the unsafe ones in those
/// that the file declares.
fn check(ladder: &Ladder, devices: &[(Device, Waves)], tally: &mut Tally) -> Result<(), String> {
    tally.ladders += 1;
    let text = ladder.text.as_bytes();
    let (all, safe) = (faster(text, true), faster(text, false));
    tally.unfixed += u64::from(all.is_none());
    for reading in &ladder.readings {
        let fixed = if reading.is_declared { &all } else { &safe };
        let Some(fixed) = fixed else { continue };
        check_in(reading, ladder, fixed, devices, tally).map_err(|what| {
            let fixed = String::from_utf8_lossy(fixed);
            format!("in {reading}: {what}\nafter the fix:\n{fixed}")
        })?;
    }
    Ok(())
}

/// Every entry point that the reading compiles leaves the same.
fn check_in(
    reading: &Reading,
    ladder: &Ladder,
    fixed: &[u8],
    devices: &[(Device, Waves)],
    tally: &mut Tally,
) -> Result<(), String> {
    let (flagged, _) = reading.read(ladder.text.as_bytes());
    let (fixed, _) = reading.read(fixed);
    for (old, new, name) in entries(reading, &flagged, &fixed)? {
        check_kernel(ladder, (&flagged, old), (&fixed, new), devices, tally)
            .map_err(|what| format!("`{name}`: {what}"))?;
    }
    Ok(())
}

fn check_kernel(
    ladder: &Ladder,
    flagged: Kernel<'_>,
    fixed: Kernel<'_>,
    devices: &[(Device, Waves)],
    tally: &mut Tally,
) -> Result<(), String> {
    let trial = match trial(ladder, flagged, fixed) {
        Ok(trial) => Arc::new(trial),
        Err(why) if why.starts_with("the fix") => return Err(why),
        Err(_) => {
            tally.refused += 1;
            return Ok(());
        }
    };
    let has_rows = trial.flagged.group_size[1] > 1 || trial.flagged.group_size[2] > 1;
    let maps = if has_rows {
        &LaneMap::ALL[..]
    } else {
        &[LaneMap::Linear][..]
    };
    for run in interpret(flagged, fixed, &trial, maps) {
        match run.outcome {
            Interpretation::Equal { .. } => tally.interpreted += 1,
            Interpretation::NotFollowed => {}
            differs @ Interpretation::Differs { .. } => {
                return Err(format!(
                    "waves of {}, {}: {differs:?}",
                    run.wave_size,
                    run.map.name()
                ));
            }
        }
    }
    for (device, waves) in devices {
        let both = [&trial.flagged, &trial.fixed].map(|kernel| device.compile(kernel, Mode::Checked));
        if both
            .iter()
            .any(|compiled| matches!(compiled, Err(RunError::TooLarge(_))))
        {
            tally.refused += 1;
            return Ok(());
        }
        let [first, second] = both.map(|compiled| compiled.map_err(|error| error.to_string()));
        let (first, second) = (first?, second?);
        for case in &trial.cases {
            let inputs = trial.inputs(case);
            let run = |kernel: &shaderlint_verify::run::Compiled<'_>| {
                kernel
                    .run(device, &inputs, case.groups)
                    .map_err(|error| error.to_string())
            };
            let (mut expected, mut got) = (run(&first)?, run(&second)?);
            if ladder.has_slip {
                // Slots may have become the same for several threads, whichever comes last.
                for outputs in [&mut expected, &mut got] {
                    outputs.buffers.retain(|name, _| !trial.unordered.contains(name));
                }
            }
            let tolerance = trial.tolerance(&inputs);
            let comparison = compare(
                &[&trial.flagged, &trial.fixed],
                &inputs,
                &expected,
                &got,
                tolerance,
                &trial.unordered,
                &trial.overwritten,
            );
            tally.words += comparison.words;
            if comparison.differing > 0 && is_open(flagged, &trial, case) {
                let _ = writeln!(tally.open, "open: {}\n{}", ladder.about, ladder.text);
            } else if comparison.differing > 0 {
                return Err(format!(
                    "{}, waves of {}: {:?}",
                    case.about, waves.max, comparison.first
                ));
            }
        }
    }
    tally.compared += 1;
    Ok(())
}

/// Threads or groups leave unlike words in one place of the flagged kernel's buffers: whichever comes last.
fn is_open((flagged, entry): Kernel<'_>, trial: &Trial, case: &Case) -> bool {
    let inputs = trial.inputs(case);
    let given = |name: &str, index: &[u32], component: u32| {
        given_word(&trial.flagged, &inputs, name, index, component).unwrap_or(0)
    };
    let groups: Vec<([u32; 3], &Given<'_>)> = (0..case.groups[0])
        .map(|x| ([x, 0, 0], &given as &Given<'_>))
        .collect();
    let written = evaluate(flagged, entry, 4, LaneMap::Linear, &groups);
    let Some(written) = written.and_then(|groups| groups.into_iter().collect::<Option<Vec<_>>>()) else {
        return trial.unordered.is_empty();
    };
    let mut places = BTreeMap::new();
    let mut words = written.iter().flat_map(|group| &group.words);
    words.any(|(place, word)| *places.entry(place).or_insert(*word) != *word)
}

fn check_all(seeds: Range<u64>) {
    let opened = adapters()
        .into_iter()
        .map(|adapter| adapter.open().expect("the adapter opens"));
    let devices: Vec<(Device, Waves)> = opened
        .map(|device| {
            let waves = probe_waves(&device, [64, 1, 1]).expect("waves");
            (device, waves)
        })
        .collect();
    let mut tally = Tally::default();
    let mut wrong = String::new();
    for seed in seeds {
        let ladder = ladder(seed);
        if let Err(what) = check(&ladder, &devices, &mut tally) {
            let _ = writeln!(wrong, "seed {seed}: {}\n{}\n{what}\n", ladder.about, ladder.text);
        }
    }
    let Tally {
        ladders,
        unfixed,
        refused,
        compared,
        words,
        interpreted,
        open,
    } = tally;
    let waves: Vec<u32> = devices.iter().map(|(_, waves)| waves.max).collect();
    println!(
        "waves of {waves:?}: {ladders} ladders, {unfixed} without a fix, {refused} kernels not run; {compared} compared with their fixes in \
         {words} words, and in {interpreted} runs of the interpreter"
    );
    print!("{open}");
    assert!(wrong.is_empty(), "{wrong}");
    assert!(compared > 0, "no fix of {ladders} ladders was run");
}

#[test]
fn fixed_ladders_leave_the_same() {
    let seeds = seeds_asked(0..60);
    if std::env::var_os(WIDTH).is_some() {
        return check_all(seeds);
    }
    if adapters().is_empty() {
        let is_required = std::env::var_os("SHADERLINT_REQUIRE_GPU").is_some_and(|value| value == "1");
        assert!(!is_required, "SHADERLINT_REQUIRE_GPU=1, and there is no adapter");
        println!("skipped: no adapter");
        return;
    }
    // A third of the ladders at each wave size.
    let mut wrong = String::new();
    let third = (seeds.end - seeds.start).div_ceil(3);
    for (number, width) in (0u64..).zip(["128", "256", "512"]) {
        let from = seeds.start + number * third;
        let to = (from + third).min(seeds.end);
        let this = std::env::current_exe().expect("the test knows its program");
        let output = Command::new(this)
            .args(["--exact", NAME, "--nocapture"])
            .env(WIDTH, width)
            // A kernel in Mesa's cache has the width it was compiled for, whatever is asked for now.
            .env("MESA_SHADER_CACHE_DISABLE", "true")
            .env("SHADERLINT_LADDERS", format!("{from}..{to}"))
            .output()
            .expect("the test starts");
        let said = String::from_utf8_lossy(&output.stdout);
        println!("{said}");
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            let _ = writeln!(wrong, "{width} bits: {said}{why}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
