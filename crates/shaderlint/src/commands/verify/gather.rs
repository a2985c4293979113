//! Gathers the evidence about two kernels: the proof, the interpreter and the devices.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use shaderlint_hlsl::{FunctionId, Scalar, Shader};
use shaderlint_simt::{analyze, unordered, uses_shared_memory};
use shaderlint_verify::interpret::{self, Interpretation, elements_reached};
use shaderlint_verify::run::{
    Adapter, AdapterInfo, Case, InputPlan, Report, RunError, Spread, Timing, Trial, cases, compare_and_time,
    float_depth, more_cases,
};
use shaderlint_verify::{BindingKind, LowerError, Lowered, lower, lower_repeated};

use super::evidence::{
    CaseLine, DeviceOutcome, DeviceRow, Evidence, InOthers, Interpreted, Milliseconds, Proof, Source, Times,
    in_all, verdict,
};
use super::kernel_toml::Settings;
use super::pair::{Pair, changed_statements};
use super::proof;
use crate::commands::kernel;
use crate::support::error_text;
use crate::support::progress::Progress;
use crate::support::source_text::{LineColumn, SourceTexts};
use crate::workspace::project_file::TranslationUnit;

/// Iterations of the ladder in one run, so that the ladder dominates the time, not memory.
pub(super) const PASSES: u32 = 64;

/// Both kernels of a pair, for devices.
struct Runnable {
    trial: Trial,
    remarks: Vec<String>,
}

/// The files of a pair.
pub(super) struct Files<'a> {
    pub flagged: &'a TranslationUnit,
    pub fixed: &'a TranslationUnit,
    pub texts: Texts<'a>,
}

/// The texts of the files of a pair.
#[derive(Clone, Copy)]
pub(super) struct Texts<'a> {
    pub flagged: &'a [u8],
    pub fixed: &'a [u8],
}

/// Proves, interprets and runs. Returns the trial for callers that run the kernels again.
pub(super) fn gather(
    files: &Files<'_>,
    pair: &Pair,
    others: InOthers,
    adapters: &[Adapter],
    settings: &Settings,
    is_timed: bool,
    progress: &Progress,
) -> (Evidence, Option<Arc<Trial>>) {
    progress.step(&pair.name, "proving");
    let proof = proof::prove([files.flagged, files.fixed], pair);
    let runnable = runnable(files, pair, settings, is_timed, &proof);
    let (mut interpreter, mut devices, mut remarks, mut trial) = (Vec::new(), Vec::new(), Vec::new(), None);
    match runnable {
        Ok(runnable) => {
            progress.step(&pair.name, "interpreting");
            interpreter = interpreted(files, pair, &runnable.trial, proof.left_open);
            if adapters.is_empty() {
                remarks.push("no GPU adapter: nothing ran".to_owned());
            }
            remarks.extend(runnable.remarks);
            let for_devices = Arc::new(runnable.trial);
            for adapter in adapters {
                let report = compare_and_time(adapter, &for_devices, &mut |step| {
                    progress.step(&pair.name, &format!("{}: {step}", adapter.info.name));
                });
                let report = report.map(|report| settled(files, pair, &for_devices, report));
                devices.push(device_row(
                    &files.flagged.shader,
                    &adapter.info,
                    &for_devices,
                    report,
                ));
            }
            trial = Some(for_devices);
        }
        Err(error) => remarks.push(format!("not run: {}", error_text::of_error(&error))),
    }
    let wgsl = |kernel: &Lowered| shaderlint_verify::wgsl(kernel, true).ok();
    let lowered = trial.as_ref().map(|trial| (&trial.flagged, &trial.fixed));
    let source = |unit: &TranslationUnit, text: &[u8], kernel: Option<&Lowered>| Source {
        path: kernel::path(unit).to_owned(),
        hlsl: String::from_utf8_lossy(text).into_owned(),
        wgsl: kernel.and_then(wgsl),
    };
    let evidence = Evidence {
        file: kernel::path(files.flagged).to_owned(),
        kernel: pair.name.clone(),
        other: pair.other.clone(),
        group: pair.group,
        verdict: in_all(verdict(&proof, pair.has_rows(), &interpreter, &devices), &others),
        findings: pair.findings.clone(),
        proof,
        elsewhere: others.elsewhere,
        unread: others.unread,
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
            files.texts.flagged,
            lowered.map(|(flagged, _)| flagged),
        ),
        suggested: source(files.fixed, files.texts.fixed, lowered.map(|(_, fixed)| fixed)),
    };
    (evidence, trial)
}

/// Lowers both kernels and chooses their inputs.
fn runnable(
    files: &Files<'_>,
    pair: &Pair,
    settings: &Settings,
    is_timed: bool,
    proof: &Proof,
) -> Result<Runnable> {
    let Files { flagged, fixed, .. } = files;
    let lowered = |unit: &TranslationUnit, entry| {
        lower(&unit.shader, entry).map_err(|error| anyhow!("{}", at_place(unit, &error)))
    };
    let first = lowered(flagged, pair.flagged)?;
    let second = lowered(fixed, pair.fixed)?;
    let mut remarks: Vec<String> = [(&pair.name, &first), (&pair.other, &second)]
        .into_iter()
        .filter(|(_, kernel)| kernel.is_flattened())
        .map(|(name, kernel)| flattened(name, kernel))
        .collect();
    remarks.dedup();
    let given = settings.of(&pair.name);
    let plan = InputPlan {
        uniforms: given.set,
        lengths: given.lengths,
        contents: given.contents,
        ..InputPlan::default()
    };
    let mut trial = Trial::new(&first, &second);
    trial.cases = cases(&plan, given.groups);
    let more = more_cases(&[&first, &second], &plan);
    if proof.presumes_barriers {
        // With as many elements as threads, no thread lies beyond the last element.
        trial.cases.retain(|case| !case.inputs.is_ragged);
        remarks.push(
            "not run with counts that are no multiple of the group size: some threads may not reach the barriers then"
                .to_owned(),
        );
    } else if !more.is_empty() {
        if interpret::end([(&flagged.shader, pair.flagged), (&fixed.shader, pair.fixed)]) {
            trial.cases.extend(more);
        } else {
            let mut about: Vec<&str> = more.iter().map(|case| case.about).collect();
            about.dedup();
            remarks.push(format!(
                "not run with {}: then the kernels may not end, or may access elements outside their arrays",
                about.join(" or ")
            ));
        }
    }
    trial.timed_inputs = plan;
    trial.fit(elements_reached(
        (&flagged.shader, pair.flagged),
        (&fixed.shader, pair.fixed),
        &trial,
    ));
    let open = unordered(&flagged.shader, pair.flagged);
    (trial.unordered, trial.overwritten) = (open.as_sets, open.overwritten);
    let of_fixed = unordered(&fixed.shader, pair.fixed).contested;
    let is_ordered = is_shared_memory_ordered(&flagged.shader, pair.flagged);
    trial.contested = open
        .contested
        .filter(|_| is_ordered)
        .zip(of_fixed)
        .map(|(of_flagged, of_fixed)| &of_flagged | &of_fixed);
    trial.open = (proof.left_open.map(str::to_owned))
        .or_else(|| stand_ins(&trial))
        .or_else(|| magnified(&trial, proof));
    trial.depth = float_depth(&first);
    let textures: BTreeSet<&str> = (first.bindings.iter().chain(&second.bindings))
        .filter(|binding| binding.dimensions.is_some())
        .map(|binding| binding.name.as_str())
        .collect();
    let replaced: BTreeSet<&str> = (first.replaced.iter().chain(&second.replaced))
        .map(String::as_str)
        .collect();
    let is_timed = is_timed && textures.is_empty();
    trial.is_untimed = !is_timed;
    let treated: [(BTreeSet<&str>, &str); 4] = [
        (
            textures,
            "run as a buffer of texels, row after row, and so not timed",
        ),
        (
            replaced,
            "no WGSL form; a hash of its arguments replaces it on both sides, and times do not cover it",
        ),
        (
            trial.unordered.iter().map(String::as_str).collect(),
            "compared as sets of elements, as atomics fill them in any order",
        ),
        (
            trial.overwritten.iter().map(String::as_str).collect(),
            "not compared: atomics may give one place to several threads, and the element of any of them may remain",
        ),
    ];
    for (names, how) in treated.into_iter().filter(|(names, _)| !names.is_empty()) {
        let names: Vec<&str> = names.into_iter().collect();
        remarks.push(format!("{}: {how}", names.join(", ")));
    }
    if is_timed {
        match ladders(files, pair) {
            Ok(ladders) => trial.ladders = Some(ladders),
            Err(why) => remarks.push(format!(
                "the statements that differ are not timed by themselves: {why}"
            )),
        }
    }
    Ok(Runnable { trial, remarks })
}

/// Whether the engine follows all accesses to groupshared memory, and finds no race and no uninitialised read there.
fn is_shared_memory_ordered(shader: &Shader, entry: FunctionId) -> bool {
    let found = analyze(shader, entry);
    let is_followed = !found.has_gaps && found.stopped.is_none();
    found.races.is_empty()
        && found.uninitialised.is_empty()
        && (is_followed || !uses_shared_memory(shader, entry))
}

/// Both kernels with the changed statements repeated.
fn ladders(files: &Files<'_>, pair: &Pair) -> Result<(Lowered, Lowered), String> {
    let (slow, fast) = changed_statements(files.flagged, files.fixed, pair)
        .ok_or("shaderlint cannot tell which statements differ")?;
    let repeated = |unit: &TranslationUnit, entry, span| {
        lower_repeated(&unit.shader, entry, span, PASSES).map_err(|error| error.to_string())
    };
    Ok((
        repeated(files.flagged, pair.flagged, slow)?,
        repeated(files.fixed, pair.fixed, fast)?,
    ))
}

/// The remark on a kernel whose rows run as one row on the GPU.
fn flattened(name: &str, kernel: &Lowered) -> String {
    let [x, y, z] = kernel.group_size;
    let threads = kernel.workgroup_size.iter().product::<u32>();
    format!("{name} uses lane ids: its group of {x}×{y}×{z} ran as one row of {threads} threads")
}

/// The message on something that has no WGSL form, with its place.
fn at_place(unit: &TranslationUnit, LowerError { message, span }: &LowerError) -> String {
    let texts = SourceTexts::new(&unit.shader.sources);
    let place = unit.shader.origins.locate(*span).and_then(|place| {
        let text = texts.get(place.file)?;
        let LineColumn { line, column } = text.place(place.start);
        Some(format!("{}:{line}:{column}", text.shown_name))
    });
    let place = place.unwrap_or_else(|| kernel::path(unit).to_owned());
    format!("{place}: {message}")
}

/// Runs the cases of the trial in the interpreter.
fn interpreted(files: &Files<'_>, pair: &Pair, trial: &Trial, left_open: Option<&str>) -> Vec<Interpreted> {
    // In a group of one row, only the linear map matters.
    let maps = proof::maps(pair.has_rows());
    let maps = maps.get(..if pair.has_rows() { maps.len() } else { 1 });
    let runs = interpret::interpret(
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
                case,
                place,
                component,
                scalar,
                expected,
                got,
            } => {
                let name = place.split('[').next().unwrap_or_default();
                let part = part(&files.flagged.shader, name, component);
                let shown = |bits: Option<u32>| bits.map_or("nothing".to_owned(), |bits| word(scalar, bits));
                let uniforms = trial
                    .cases
                    .get(case)
                    .map(|case| uniforms(trial, case, case.groups));
                let uniforms = uniforms.filter(|uniforms| !uniforms.is_empty());
                let uniforms = uniforms.map_or(String::new(), |uniforms| format!(", with {uniforms}"));
                let text = format!(
                    "differs at {place}{part}{uniforms}: expected {}, got {}",
                    shown(expected),
                    shown(got)
                );
                match left_open {
                    Some(why) => (None, format!("not comparable, as {why}: {text}")),
                    None => (Some(false), text),
                }
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

/// If threads or groups of a kernel write different words to one element, a difference there does not come from the
/// fix. It may show in every run nevertheless, for a device usually schedules them in one order.
fn settled(files: &Files<'_>, pair: &Pair, trial: &Trial, mut report: Report) -> Report {
    let compared = trial.cases.iter().zip(&report.comparisons);
    let mut differing = compared.filter_map(|(case, comparison)| Some((case, comparison.first.as_ref()?)));
    if let Some((case, first)) = differing.next() {
        let kernels = [
            (&files.flagged.shader, pair.flagged),
            (&files.fixed.shader, pair.fixed),
        ];
        let is_first = |(name, index, component): &shaderlint_simt::NamedCell| {
            let index = index.iter().copied().map(u64::from);
            *name == first.binding && index.eq(first.index.iter().copied()) && *component == first.word
        };
        let places = |kernel| interpret::contested(kernel, trial, case);
        report.is_unstable |= kernels
            .into_iter()
            .any(|kernel| places(kernel).iter().any(is_first));
    }
    report
}

fn device_row(
    shader: &Shader,
    adapter: &AdapterInfo,
    trial: &Trial,
    report: Result<Report, RunError>,
) -> DeviceRow {
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
        .map(|timing| times(format!("part ×{PASSES}"), &timing));
    (row.outcome, row.text) = outcome(shader, trial, &report);
    row
}

fn outcome(shader: &Shader, trial: &Trial, report: &Report) -> (DeviceOutcome, String) {
    let Some((case, comparison)) =
        (trial.cases.iter().zip(&report.comparisons)).find(|(_, comparison)| comparison.differing > 0)
    else {
        if !report.is_match() {
            let text = "no case wrote anything, so the runs show nothing".to_owned();
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
            let [got, expected] = [first.got, first.expected].map(|bits| word(first.scalar, bits));
            let place = place(shader, &first.binding, &first.index, first.word);
            if trial.unordered.contains(&first.binding) {
                format!("{place} of the sorted elements is {got}, should be {expected}")
            } else if first.before == Some(first.expected) {
                format!("{place} is {got}, should still be {expected}")
            } else if first.before == Some(first.got) {
                format!("{place} is still {got}, should be {expected}")
            } else {
                format!("{place} is {got}, should be {expected}")
            }
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
                    let place = place(shader, &input.binding, &input.index, input.word);
                    format!("{place} = {}", word(input.scalar, input.bits))
                })
                .collect();
            let more = match minimal.input_count.saturating_sub(inputs.len() as u64) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let uniforms = match uniforms(trial, case, minimal.groups) {
                uniforms if uniforms.is_empty() => uniforms,
                uniforms => format!("{uniforms} and "),
            };
            let but = if inputs.is_empty() {
                String::new()
            } else {
                format!(" but {}{more}", inputs.join(", "))
            };
            let given = format!("where {uniforms}all read-only inputs are 0{but}");
            text = format!("{text}, in {groups}, {given}");
        }
        None => text = format!("{text}, in the dispatch with {}", case.about),
    }
    if shown.is_some_and(|first| trial.is_contested(&first.binding)) {
        let text =
            format!("not comparable, as another order of threads or atomics may leave other values: {text}");
        return (DeviceOutcome::NotComparable, text);
    }
    if report.is_unstable {
        let text = format!("the result may differ from run to run: {text}");
        return (DeviceOutcome::Unstable, text);
    }
    if !report.short.is_empty() {
        let sizes = sizes(trial, case, &report.short);
        let text = format!("not comparable, as both kernels leave the same values with {sizes}: {text}");
        return (DeviceOutcome::NotComparable, text);
    }
    let of_nans = shown.filter(|first| first.is_of_nans).map(|_| BITS_OF_NANS);
    if let Some(why) = trial.open.as_deref().or(of_nans) {
        return (
            DeviceOutcome::NotComparable,
            format!("not comparable, as {why}: {text}"),
        );
    }
    (DeviceOutcome::Differs, text)
}

const BITS_OF_NANS: &str = "D3D does not specify the bits of a NaN";

/// Why a difference may come from stand-ins for code without a WGSL form: hashes, and floats that are computed
/// differently.
fn stand_ins(trial: &Trial) -> Option<String> {
    let [a, b] = [&trial.flagged, &trial.fixed];
    if let Some(why) = a.other_floats.or(b.other_floats) {
        return Some(why.to_owned());
    }
    if let Some(name) = a.replaced.symmetric_difference(&b.replaced).next() {
        // Two different reads have different hashes, even if they would read the same.
        return Some(format!("only one kernel has {name}, which a hash replaces here"));
    }
    let name = a.replaced.difference(&a.free).next()?;
    Some(format!(
        "a hash replaces {name} here, and this hash differs where {name} itself may return equal values"
    ))
}

/// Why floats may differ by more than the rounding of sums, in kernels that are equal up to the order of float
/// operations.
fn magnified(trial: &Trial, proof: &Proof) -> Option<String> {
    let may_magnify = trial.flagged.may_magnify() || trial.fixed.may_magnify();
    (proof.is_up_to_order() && may_magnify)
        .then(|| "a quotient or a function may magnify the rounding of its operand".to_owned())
}

/// How large these buffers and textures would have to be.
fn sizes(trial: &Trial, case: &Case, names: &BTreeSet<String>) -> String {
    let inputs = trial.inputs(case);
    let bindings = || trial.flagged.bindings.iter().chain(&trial.fixed.bindings);
    let named = |name: &String| bindings().find(|binding| binding.name == *name);
    let sizes: Vec<String> = (names.iter())
        .filter_map(named)
        .map(|binding| {
            let name = &binding.name;
            let Some(size) = inputs.texture_size(binding) else {
                let bytes = inputs.buffers.get(name).map_or(0, Vec::len);
                let elements = bytes / binding.element.stride.max(4) as usize;
                return format!("more elements in {name} than {elements} (`lengths` in kernel.toml)");
            };
            let size = size.iter().take(usize::from(binding.dimensions.unwrap_or(3)));
            let size: Vec<String> = size.map(u32::to_string).collect();
            format!("a larger {name} than {}", size.join("×"))
        })
        .collect();
    sizes.join(" and ")
}

/// A word of a buffer, as HLSL names it.
fn place(shader: &Shader, name: &str, index: &[u64], word: u32) -> String {
    let index: Vec<String> = index.iter().map(u64::to_string).collect();
    format!("{name}[{}]{}", index.join("]["), part(shader, name, word))
}

/// The name of a word within an element, if the element has several.
fn part(shader: &Shader, name: &str, word: u32) -> String {
    let named = shader.component_name_of(name, word as usize);
    named.unwrap_or_else(|| match word {
        0 => String::new(),
        more => format!(", word {more}"),
    })
}

/// The maximum of uniforms to show.
const SHOWN: usize = 4;

/// The values of the kernels' uniforms in a case with this number of groups.
fn uniforms(trial: &Trial, case: &Case, groups: [u32; 3]) -> String {
    let inputs = trial.inputs(&Case {
        groups,
        ..case.clone()
    });
    let bindings = trial.flagged.bindings.iter().chain(&trial.fixed.bindings);
    let members = bindings.filter_map(|binding| match &binding.kind {
        BindingKind::Uniform { members } => Some(members),
        _ => None,
    });
    let mut shown: Vec<String> = Vec::new();
    for member in members.flatten().filter(|member| !member.is_size) {
        let words = inputs.uniforms.get(&member.name).into_iter().flatten();
        let words: Vec<String> = (member.words.iter().zip(words))
            .map(|(known, bits)| word(known.scalar, *bits))
            .collect();
        let one = match words.as_slice() {
            [one] => format!("{} = {one}", member.name),
            several => format!("{} = ({})", member.name, several.join(", ")),
        };
        if !shown.contains(&one) {
            shown.push(one);
        }
    }
    if shown.len() > SHOWN {
        let more = shown.len() - SHOWN;
        shown.truncate(SHOWN);
        shown.push(format!("{more} more"));
    }
    shown.join(", ")
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
