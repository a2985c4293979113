//! Our WGSL against Slang's: the same kernel through two compilers leaves the same words, at waves of 4, 8 and 16.
//!
//! `cargo test -p shaderlint-verify --test slang -- --ignored --nocapture` compares the fixtures, and the kernels in the
//! folder that `SHADERLINT_SLANG` names. It needs Python with the package `slangpy`, and says so where that is missing.

#![expect(clippy::print_stderr, reason = "the figures are worth seeing")]

mod support;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use naga::{AddressSpace, Handle, StorageAccess, TypeInner};
use shaderlint_hlsl::{FunctionId, NoIncludes, Shader, read};
use shaderlint_simt::{analyze, unordered};
use shaderlint_verify::run::{Device, Mode, Outputs, Trial, compare, float_depth};
use shaderlint_verify::{BindingKind, Lowered, UniformMember, Word, lower};
use support::devices;

const NAME: &str = "our_wgsl_does_what_slangs_does";

/// How often a kernel is run again that leaves other words than Slang's.
const RUNS: u32 = 100;

/// More folders with kernels.
const FOLDER: &str = "SHADERLINT_SLANG";

/// Slang's name without the number it puts behind each.
fn plain(name: &str) -> &str {
    match name.rsplit_once('_') {
        Some((name, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => name,
    }
}

/// Slang's kernel in the place of ours: what it binds has our numbers and our bytes.
fn adopt(ours: &Lowered, wgsl: &str) -> Result<Lowered, String> {
    let wgsl = wgsl
        .replace("enable subgroups;", "")
        .replace("var<uniform>", "var<storage, read>");
    let mut module =
        naga::front::wgsl::parse_str(&wgsl).map_err(|error| format!("naga: {}", error.message()))?;
    let mut bindings = ours.bindings.clone();
    let globals: Vec<Handle<naga::GlobalVariable>> =
        module.global_variables.iter().map(|(handle, _)| handle).collect();
    for handle in globals {
        let variable = &module.global_variables[handle];
        let AddressSpace::Storage { .. } = variable.space else {
            continue;
        };
        let name = plain(variable.name.as_deref().unwrap_or_default()).to_owned();
        let is_struct = matches!(module.types[variable.ty].inner, TypeInner::Struct { .. });
        let binding = bindings.iter_mut().find(|binding| match &binding.kind {
            BindingKind::Uniform { .. } => is_struct,
            _ => binding.name == name,
        });
        let binding = binding.ok_or_else(|| format!("`{name}` is none of ours"))?;
        match (&mut binding.kind, &module.types[variable.ty].inner) {
            (
                BindingKind::Uniform { members },
                TypeInner::Struct {
                    members: theirs,
                    span,
                },
            ) => {
                binding.element.stride = *span;
                *members = rearranged(members, theirs, &module)?;
            }
            (_, TypeInner::Array { stride, .. }) if *stride == binding.element.stride => {}
            _ => return Err(format!("`{name}` has another layout")),
        }
        let access = if binding.kind.is_writable() {
            StorageAccess::LOAD | StorageAccess::STORE
        } else {
            StorageAccess::LOAD
        };
        let number = binding.binding;
        let variable = module.global_variables.get_mut(handle);
        variable.space = AddressSpace::Storage { access };
        variable.binding = Some(naga::ResourceBinding {
            group: 0,
            binding: number,
        });
    }
    let mut validator = naga::valid::Validator::new(
        naga::valid::ValidationFlags::all(),
        naga::valid::Capabilities::all(),
    );
    let info = validator
        .validate(&module)
        .map_err(|error| format!("naga: {error}"))?;
    Ok(Lowered {
        module,
        info,
        bindings,
        ..ours.clone()
    })
}

/// Our uniforms where Slang has them.
fn rearranged(
    ours: &[UniformMember],
    theirs: &[naga::StructMember],
    module: &naga::Module,
) -> Result<Vec<UniformMember>, String> {
    let mut members = Vec::new();
    for member in ours {
        let found = theirs
            .iter()
            .find(|other| plain(other.name.as_deref().unwrap_or_default()) == member.name);
        let found = found.ok_or_else(|| format!("`{}` is none of theirs", member.name))?;
        if !matches!(
            module.types[found.ty].inner,
            TypeInner::Scalar(_) | TypeInner::Vector { .. }
        ) {
            return Err(format!("`{}` has another layout", member.name));
        }
        let words = (0u32..).zip(&member.words);
        let words = words.map(|(number, word)| Word {
            offset: found.offset + 4 * number,
            scalar: word.scalar,
        });
        members.push(UniformMember {
            words: words.collect(),
            ..member.clone()
        });
    }
    Ok(members)
}

/// Why two right compilers may make unlike things of a kernel.
fn is_open(shader: &Shader, entry: FunctionId, wgsl: &str) -> Option<&'static str> {
    // What comes after such a loop is never reached, and Slang leaves it out. To us `[unroll(n)]` ends one.
    if !wgsl.trim_end().ends_with("return;\n}") {
        return Some("a loop that to Slang has no end");
    }
    let analysis = analyze(shader, entry);
    if !analysis.races.is_empty() || !analysis.out_of_bounds.is_empty() {
        return Some("it races, or leaves an array");
    }
    analysis.stopped.is_some().then_some("it is not seen to end")
}

/// What came of a kernel.
enum Outcome {
    Alike(u64),
    /// With the reason.
    LeftOut(String),
    Differs(String),
}

fn check(shader: &Shader, entry: FunctionId, wgsl: &str, devices: &[Device]) -> Outcome {
    let ours = match lower(shader, entry) {
        Ok(kernel) if kernel.replaced.is_empty() && !kernel.is_flattened() => kernel,
        Ok(_) => return Outcome::LeftOut("textures, or lane ids in a group of rows".to_owned()),
        Err(error) => return Outcome::LeftOut(format!("not lowered: {error}")),
    };
    if let Some(why) = is_open(shader, entry, wgsl) {
        return Outcome::LeftOut(why.to_owned());
    }
    let theirs = match adopt(&ours, wgsl) {
        Ok(kernel) => kernel,
        Err(why) => return Outcome::LeftOut(why),
    };
    let mut trial = Trial::new(&ours, &theirs);
    trial.depth = float_depth(&ours);
    let open = unordered(shader, entry);
    (trial.unordered, trial.overwritten) = (open.as_sets, open.overwritten);
    let mut words = 0;
    for device in devices {
        for case in &trial.cases {
            let mut inputs = trial.inputs(case);
            let kernel = |kernel: &Lowered, inputs: &_| -> Result<Outputs, String> {
                device
                    .compile(kernel, Mode::Checked)
                    .and_then(|compiled| compiled.run(device, inputs, case.groups))
                    .map_err(|error| error.to_string())
            };
            let both = |inputs: &_| match (kernel(&ours, inputs), kernel(&theirs, inputs)) {
                (Ok(expected), Ok(got)) => Ok((expected, got)),
                (Err(why), _) => Err(Outcome::LeftOut(format!("ours: {why}"))),
                (_, Err(why)) => Err(Outcome::LeftOut(format!("theirs: {why}"))),
            };
            let left = match both(&inputs) {
                Ok(left) => left,
                Err(outcome) => return outcome,
            };
            let run_inputs = inputs.clone();
            inputs.uniforms.clear();
            let tolerance = trial.tolerance(&inputs);
            let comparison = |(expected, got): &_| {
                compare(
                    &[&ours],
                    &inputs,
                    expected,
                    got,
                    tolerance,
                    &trial.unordered,
                    &trial.overwritten,
                )
            };
            let of_first = comparison(&left);
            words += of_first.words;
            let Some(difference) = of_first.first else {
                continue;
            };
            // Groups may write what others read: whose turn comes first is luck, and one run of two shows nothing of it. What a
            // compiler got wrong stays so.
            for _ in 0..RUNS {
                let again = match both(&run_inputs) {
                    Ok(again) => again,
                    Err(outcome) => return outcome,
                };
                let has_changed = again != left && trial.unordered.is_empty();
                if has_changed || comparison(&again).first.is_none() {
                    return Outcome::LeftOut("it does not leave the same each time".to_owned());
                }
            }
            return Outcome::Differs(format!(
                "{}: {difference:?} ({} words)",
                case.about, of_first.differing
            ));
        }
    }
    Outcome::Alike(words)
}

/// A reason without what is particular to one kernel.
fn reason(why: &str) -> &str {
    why.split(['`', '\'', '('])
        .next()
        .unwrap_or_default()
        .split(" Entry point")
        .next()
        .unwrap_or_default()
}

/// Compares what is in the folder that `slang.py` wrote.
fn compare_all(folder: &Path) {
    let devices = devices();
    let (mut alike, mut words) = (0, 0);
    let mut left_out: BTreeMap<String, u32> = BTreeMap::new();
    let mut differences = String::new();
    for number in 0.. {
        let Ok(about) = std::fs::read_to_string(folder.join(format!("{number}.txt"))) else {
            break;
        };
        let (path, entry) = about.trim_end().split_once('\n').expect("a path and a name");
        let text = std::fs::read(path).expect("the kernel can be read");
        let wgsl = std::fs::read_to_string(folder.join(format!("{number}.wgsl"))).expect("WGSL");
        let (shader, _) = read(path, &text, &[], &NoIncludes);
        let found = shader.entry_points().find(|(_, function)| function.name == entry);
        let outcome = match found {
            Some((id, _)) => check(&shader, id, &wgsl, &devices),
            None => Outcome::LeftOut("no such entry point".to_owned()),
        };
        match outcome {
            Outcome::Alike(count) => {
                alike += 1;
                words += count;
            }
            Outcome::LeftOut(why) => {
                eprintln!("left out: {entry} of {path}: {why}");
                *left_out.entry(reason(&why).to_owned()).or_default() += 1;
            }
            Outcome::Differs(what) => {
                let _ = writeln!(differences, "{entry} of {path}: {what}");
            }
        }
    }
    eprintln!("{alike} kernels alike in {words} words; left out: {left_out:?}");
    assert!(differences.is_empty(), "{differences}");
    assert!(devices.is_empty() || alike > 100, "{alike}");
}

#[test]
#[ignore = "needs slangpy"]
fn our_wgsl_does_what_slangs_does() {
    let written = Path::new(env!("CARGO_TARGET_TMPDIR")).join("slang");
    if std::env::var_os(support::WIDTH).is_some() {
        return compare_all(&written);
    }
    let _ = std::fs::remove_dir_all(&written);
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [
        Some(here.join("../../fixtures")),
        std::env::var_os(FOLDER).map(PathBuf::from),
    ];
    let python = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    let mut command = Command::new(python);
    command
        .arg(here.join("tests/slang.py"))
        .arg(&written)
        .args(folders.into_iter().flatten());
    let output = command.output().expect("Python starts");
    let said = String::from_utf8_lossy(&output.stderr);
    eprintln!("{said}");
    if said.contains("no slangpy") {
        eprintln!("skipped: no slangpy (`pip install slangpy`)");
        return;
    }
    assert!(output.status.success());
    let mut is_alike = true;
    for (width, mut again) in support::at_each_width(NAME) {
        let output = again.output().expect("the test starts");
        let said = String::from_utf8_lossy(&output.stderr);
        eprintln!("{width} bits: {said}");
        is_alike &= output.status.success();
    }
    assert!(is_alike);
}
