//! Times ladders against wave forms on every adapter, by group size. The rules choose their forms by these times.
//!
//! `forms FOLDER [--sizes=32,64] [--passes=64] [--define=NAME=VALUE]` takes the kernels of a folder of `fixtures/forms`. It
//! compares and times every `wave-….hlsl` beside every `ladder-….hlsl`. The kernel repeats the construct, so that the time is
//! that of the construct and not of the memory.
#![expect(clippy::print_stdout, reason = "it prints a table")]

use std::path::{Path, PathBuf};

use shaderlint_hlsl::NoIncludes;
use shaderlint_verify::run::{
    Adapter, Device, InputPlan, Mode, Timing, TimingPlan, Tolerance, adapters, compare, make_inputs, time,
};
use shaderlint_verify::{Lowered, lower};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let (mut folder, mut sizes, mut passes) = (None, vec![32, 64, 128, 256, 512, 1024], 64);
    let mut defines = Vec::new();
    for argument in std::env::args().skip(1) {
        if let Some(list) = argument.strip_prefix("--sizes=") {
            sizes = list.split(',').map(str::parse).collect::<Result<_, _>>()?;
        } else if let Some(number) = argument.strip_prefix("--passes=") {
            passes = number.parse()?;
        } else if let Some(define) = argument.strip_prefix("--define=") {
            let (name, value) = define.split_once('=').ok_or("NAME=VALUE")?;
            defines.push((name.to_owned(), value.to_owned()));
        } else {
            folder = Some(PathBuf::from(argument));
        }
    }
    let folder = folder.ok_or("which folder of kernels?")?;
    let (ladders, forms) = (kernels(&folder, "ladder-")?, kernels(&folder, "wave-")?);
    for adapter in adapters() {
        println!("{} ({}), {passes} passes", adapter.info.name, adapter.info.driver);
        println!("| group | form | ladder | ladder ms | form ms | ratio | ratios | copy ms |");
        println!("|---:|---|---|---:|---:|---:|---:|---:|");
        for size in &sizes {
            for form in &forms {
                for ladder in &ladders {
                    let build = Build {
                        size: *size,
                        passes,
                        defines: &defines,
                    };
                    row(&adapter, Pair { ladder, form }, build);
                }
            }
        }
    }
    Ok(())
}

/// The files of two kernels that compute the same.
#[derive(Clone, Copy)]
struct Pair<'a> {
    ladder: &'a Path,
    form: &'a Path,
}

/// The constants that the kernels are compiled with.
#[derive(Clone, Copy)]
struct Build<'a> {
    size: u32,
    passes: u32,
    defines: &'a [(String, String)],
}

/// The kernels of the folder whose names begin with `stem`, in order.
fn kernels(folder: &Path, stem: &str) -> Result<Vec<PathBuf>, Failure> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if name(&path).starts_with(stem) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn name(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// One line of the table: times, or the reason why there are none.
fn row(adapter: &Adapter, pair: Pair<'_>, build: Build<'_>) {
    let names = format!("| {} | {} | {} |", build.size, name(pair.form), name(pair.ladder));
    match timed(adapter, pair, build) {
        Ok(Some(timing)) => {
            let (least, most) = (
                timing.flagged.min_ms / timing.fixed.max_ms,
                timing.flagged.max_ms / timing.fixed.min_ms,
            );
            println!(
                "{names} {:.3} | {:.3} | {:.2}× | {least:.2}–{most:.2} | {:.3} |",
                timing.flagged.median_ms,
                timing.fixed.median_ms,
                timing.speed_up(),
                timing.copy.median_ms,
            );
        }
        Ok(None) => println!("{names} no timestamps |||||"),
        Err(error) => println!("{names} {error} |||||"),
    }
}

fn timed(adapter: &Adapter, pair: Pair<'_>, build: Build<'_>) -> Result<Option<Timing>, Failure> {
    let device = adapter.open()?;
    let one_pass = Build { passes: 1, ..build };
    let once = [kernel(pair.ladder, one_pass)?, kernel(pair.form, one_pass)?];
    same(&device, [&once[0], &once[1]])?;
    let repeated = [kernel(pair.ladder, build)?, kernel(pair.form, build)?];
    let plan = TimingPlan::for_adapter(&adapter.info, repeated[0].group_size);
    let inputs = InputPlan::default();
    Ok(time(&device, &repeated[0], &repeated[1], &inputs, plan)?)
}

fn kernel(path: &Path, build: Build<'_>) -> Result<Lowered, Failure> {
    let text = std::fs::read(path)?;
    let own = [("LANES", build.size), ("PASSES", build.passes)];
    let own = own.map(|(name, value)| (name.to_owned(), value.to_string()));
    let defines = [build.defines, &own].concat();
    let (shader, problems) = shaderlint_hlsl::read(&path.display().to_string(), &text, &defines, &NoIncludes);
    if let Some(problem) = problems.first() {
        return Err(format!("{}: {}", path.display(), problem.message).into());
    }
    let (entry, _) = shader.entry_points().next().ok_or("no entry point")?;
    Ok(lower(&shader, entry).map_err(|error| error.message)?)
}

/// Fails where the kernels' outputs differ.
fn same(device: &Device, kernels: [&Lowered; 2]) -> Result<(), Failure> {
    let groups = [3, 1, 1];
    let inputs = make_inputs(&kernels, groups, &InputPlan::default());
    let [first, second] = kernels.map(|kernel| {
        let compiled = device.compile(kernel, Mode::Checked);
        compiled.and_then(|compiled| compiled.run(device, &inputs, groups))
    });
    let (first, second) = (first?, second?);
    let nothing = std::collections::BTreeSet::new();
    let comparison = compare(
        &kernels,
        &inputs,
        &first,
        &second,
        Tolerance::Exact,
        &nothing,
        &nothing,
    );
    if comparison.differing == 0 && comparison.written > 0 {
        Ok(())
    } else {
        Err("the outputs differ".into())
    }
}
