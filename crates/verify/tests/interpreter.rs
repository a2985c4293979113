//! The engine as an interpreter against a device: every fixture kernel, the same inputs, the same words.
//!
//! Mesa's lavapipe takes its wave size from the environment when it starts, so the test starts itself anew for each.

#![expect(clippy::print_stderr, reason = "the figures are worth seeing")]

mod support;

use std::cell::Cell;
use std::path::{Path, PathBuf};

use shaderlint_hlsl::{FunctionId, NoIncludes, Scalar, Shader};
use shaderlint_simt::{LaneMap, evaluate};
use shaderlint_verify::interpret::{given_word, word_index};
use shaderlint_verify::run::{Device, InputPlan, Inputs, make_inputs, probe_waves};
use shaderlint_verify::{Lowered, lower};
use support::{devices, execute};

const NAME: &str = "the_engine_computes_what_devices_do";

fn fixtures(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the fixtures are there") {
        let path = entry.expect("a fixture can be listed").path();
        if path.is_dir() {
            fixtures(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "hlsl") {
            found.push(path);
        }
    }
    found.sort();
}

/// Small whole numbers where there are floats: sums of them are exact in any order.
fn inputs(kernel: &Lowered) -> Inputs {
    let mut plan = InputPlan {
        elements_per_thread: 4,
        ..InputPlan::default()
    };
    for binding in &kernel.bindings {
        let is_float = |scalar: Scalar| scalar == Scalar::Float;
        if !binding.kind.is_writable() && binding.element.words.iter().any(|word| is_float(word.scalar)) {
            let numbers = (0..61u16).map(|number| f64::from(number * 7 % 13));
            plan.contents.insert(binding.name.clone(), numbers.collect());
        }
    }
    make_inputs(&[kernel], [1, 1, 1], &plan)
}

/// Whether the kernel's results on a device were compared with the engine's.
fn compare(shader: &Shader, entry: FunctionId, kernel: &Lowered, device: &Device) -> Result<(), String> {
    let waves = probe_waves(device, kernel.workgroup_size).map_err(|error| error.to_string())?;
    let allowed = shader.functions[entry.0 as usize].wave_size.unwrap_or((4, 128));
    if !(allowed.0..=allowed.1).contains(&waves.max) {
        return Err(format!("not for waves of {}", waves.max));
    }
    let map = if waves.is_linear {
        LaneMap::Linear
    } else {
        LaneMap::Rows
    };
    let inputs = inputs(kernel);
    let outside = Cell::new(false);
    let given = |name: &str, index: &[u32], component: u32| {
        let word = given_word(kernel, &inputs, name, index, component);
        outside.set(outside.get() || word.is_none());
        word.unwrap_or(0)
    };
    // Only what the engine follows is run: lavapipe's compiler stumbles over some of the rest.
    let left = |size: u32| {
        let left = evaluate(shader, entry, size, map, &[([0; 3], &given)]);
        left.and_then(|mut left| left.pop()?)
            .ok_or("the engine does not follow it")
    };
    left(waves.max)?;
    let results = execute(device, kernel, &inputs, [1, 1, 1]);
    let written_at = |size: u32| -> Result<Option<String>, String> {
        let written = left(size)?;
        if outside.get() {
            return Err("it reads what there is not".into());
        }
        for ((name, index, component), expected) in written.words {
            let binding = kernel.bindings.iter().find(|binding| binding.name == name);
            let at = binding.and_then(|binding| word_index(binding, &inputs, &index, component));
            let got = at.and_then(|at| results.get(&name)?.get(at).copied());
            let Some(got) = got else {
                return Err("it writes what there is not".into());
            };
            if got != expected {
                return Ok(Some(format!("{name}{index:?}: {got:#x}, not {expected:#x}")));
            }
        }
        Ok(None)
    };
    // A device that has smaller waves too may use them for a kernel that the probe is not.
    let sizes = [waves.max, waves.max / 2, waves.max / 4]
        .into_iter()
        .filter(|size| *size >= 4);
    let mut differences = Vec::new();
    for size in sizes {
        match written_at(size)? {
            None => return Ok(()),
            Some(difference) => differences.push(format!("in waves of {size} {difference}")),
        }
    }
    panic!("{}: {}", kernel.entry, differences.join("; "));
}

fn compare_all() {
    let devices = devices();
    let (mut compared, mut left_out) = (0, Vec::new());
    let mut paths = Vec::new();
    fixtures(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures"),
        &mut paths,
    );
    for path in paths {
        let text = std::fs::read(&path).expect("a fixture can be read");
        let (shader, _) = shaderlint_hlsl::read(&path.to_string_lossy(), &text, &[], &NoIncludes);
        for (entry, function) in shader.entry_points() {
            let outcome = match lower(&shader, entry) {
                Ok(kernel) => devices
                    .iter()
                    .try_for_each(|device| compare(&shader, entry, &kernel, device)),
                Err(error) => Err(error.to_string()),
            };
            match outcome {
                Ok(()) => compared += 1,
                Err(why) => {
                    let file = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(&path);
                    left_out.push(format!("{} of {}: {why}", function.name, file.display()));
                }
            }
        }
    }
    eprintln!("{compared} kernels compared on {} devices", devices.len());
    for kernel in &left_out {
        eprintln!("left out: {kernel}");
    }
    assert!(devices.is_empty() || compared >= 50, "{compared}");
}

#[test]
fn the_engine_computes_what_devices_do() {
    if std::env::var_os(support::WIDTH).is_some() {
        return compare_all();
    }
    for (width, mut again) in support::at_each_width(NAME) {
        let output = again.output().expect("the test starts");
        let said = String::from_utf8_lossy(&output.stderr);
        eprintln!("{width} bits: {said}");
        let out = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{width} bits: {said}{out}");
    }
}
