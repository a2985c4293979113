//! Every fixture kernel: it is lowered and validates, or is refused with a text that names what and where; and where
//! its file says what it leaves in `Out`, that is what devices leave there.
#![expect(clippy::unwrap_used, reason = "a test that cannot read the fixtures fails")]

mod support;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use shaderlint_hlsl::{NoIncludes, read};
use shaderlint_verify::run::{InputPlan, make_inputs};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// Every HLSL file below a folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "hlsl") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn every_kernel_is_lowered_or_refused_with_a_reason() {
    let mut refused = String::new();
    let mut lowered = 0;
    for path in files(&root()) {
        let shown = path.strip_prefix(root()).unwrap().display().to_string();
        let text = fs::read(&path).unwrap();
        let (shader, _) = read(&shown, &text, &[], &NoIncludes);
        for (id, entry) in shader.entry_points() {
            match shaderlint_verify::lower(&shader, id) {
                Ok(kernel) => {
                    support::check_wgsl(&kernel);
                    lowered += 1;
                }
                Err(error) => {
                    let at = String::from_utf8_lossy(error.span.slice(&shader.text)).into_owned();
                    let at = at.lines().next().unwrap_or_default().to_owned();
                    let _ = writeln!(refused, "{shown}: {}: {} at `{at}`", entry.name, error.message);
                }
            }
        }
    }
    assert!(lowered > 20, "{lowered} kernels are lowered");
    assert_eq!(refused, include_str!("refused.txt"));
}

/// The numbers behind `// Out:`, what one group of the file's first kernel leaves there.
fn expected(text: &str) -> Option<Vec<u32>> {
    let line = text.lines().find_map(|line| line.strip_prefix("// Out: "))?;
    Some(
        line.split_whitespace()
            .map(|word| word.parse().unwrap())
            .collect(),
    )
}

#[test]
fn kernels_leave_what_their_files_say() {
    let devices = support::devices();
    let mut wrong = String::new();
    for path in files(&root().join("frontend")) {
        let text = fs::read_to_string(&path).unwrap();
        let Some(expected) = expected(&text) else { continue };
        let (shader, _) = read("fixture.hlsl", text.as_bytes(), &[], &NoIncludes);
        let (entry, _) = shader.entry_points().next().unwrap();
        let kernel = match shaderlint_verify::lower(&shader, entry) {
            Ok(kernel) => kernel,
            Err(error) => {
                let at = String::from_utf8_lossy(error.span.slice(&shader.text)).into_owned();
                let _ = writeln!(wrong, "{}: {error} at `{at}`", path.display());
                continue;
            }
        };
        let mut plan = InputPlan::default();
        plan.lengths.insert("Out".into(), 64);
        let inputs = make_inputs(&[&kernel], [1, 1, 1], &plan);
        for device in &devices {
            let out = support::execute(device, &kernel, &inputs, [1, 1, 1]);
            let found = &out["Out"][..expected.len()];
            if found != expected {
                let _ = writeln!(
                    wrong,
                    "{} on {}:\n{found:?} instead of\n{expected:?}",
                    path.display(),
                    device.info.name
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
