//! Fixes as a property, in DXC: where a ladder written at random compiles, its fixed text does too, in every reading that the
//! generator knows.
//!
//! `SHADERLINT_DXC` names the compiler; without it, it is `dxc`, a part of DirectXShaderCompiler's releases.

#![expect(clippy::print_stdout, reason = "the figures are worth seeing")]

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use shaderlint_fuzz::{Language, Reading, entries, faster, ladder, seeds_asked};

const COMPILER: &str = "SHADERLINT_DXC";

/// What the compiler says of an entry point in a build; `None` if it takes it.
fn refusal(compiler: &str, file: &Path, entry: &str, reading: &Reading) -> Option<String> {
    let version = match reading.language {
        Language::V2018 => "2018",
        Language::V2021 => "2021",
    };
    let mut command = Command::new(compiler);
    command
        .arg(file)
        .args(["-T", "cs_6_6", "-E", entry, "-HV", version, "-Wno-everything"]);
    for name in &reading.defines {
        command.args(["-D", &format!("{name}=1")]);
    }
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{compiler}: {error}"));
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
#[ignore = "needs DXC"]
fn fixed_ladders_compile() {
    let compiler = std::env::var(COMPILER).unwrap_or_else(|_| "dxc".to_owned());
    let folder = std::env::temp_dir().join(format!("shaderlint-dxc-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (mut wrong, mut unfixed, mut refused, mut compiled) = (String::new(), 0, 0, 0);
    let seeds = seeds_asked(0..200);
    for seed in seeds.clone() {
        let ladder = ladder(seed);
        let Some(fixed) = faster(ladder.text.as_bytes(), true) else {
            unfixed += 1;
            continue;
        };
        let [before, after] = [("before", ladder.text.as_bytes()), ("after", &fixed)].map(|(name, text)| {
            let path = folder.join(name).with_extension("hlsl");
            std::fs::write(&path, text).expect("the folder can be written to");
            path
        });
        for reading in &ladder.readings {
            let trees = [ladder.text.as_bytes(), &fixed].map(|text| reading.read(text).0);
            for (_, _, entry) in entries(reading, &trees[0], &trees[1]).unwrap_or_default() {
                if refusal(&compiler, &before, &entry, reading).is_some() {
                    refused += 1;
                } else if let Some(said) = refusal(&compiler, &after, &entry, reading) {
                    let fixed = String::from_utf8_lossy(&fixed);
                    let _ = writeln!(wrong, "seed {seed}, {entry}, {reading}: {said}\n{fixed}");
                } else {
                    compiled += 1;
                }
            }
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    println!(
        "of {} ladders, {unfixed} without a fix: {compiled} kernels compile before and after it, {refused} do not before",
        seeds.end - seeds.start
    );
    assert!(wrong.is_empty(), "{wrong}");
    assert!(compiled > 0, "{compiler} takes none of the ladders");
}
