//! The program over a tree of 1,500 files, from its start to its end.
//!
//! The files are this project's fixtures over and over, nine out of ten of them without a word that any rule looks for,
//! as it is in trees of real shaders. Real ones are measured where they are, if there are any.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use divan::Bencher;
use divan::counter::ItemsCount;

const FILES: usize = 1500;

/// Names folders of real shaders, listed as in `PATH`.
const REAL: &str = "SHADERLINT_TREES";

/// Where one of these is, something may be found.
const WORDS: [&str; 4] = ["Barrier", "Interlocked", "Wave", "Counter"];

fn main() {
    divan::main();
}

fn texts(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the fixtures are there");
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "hlsl"));
    let texts = paths.iter().map(fs::read_to_string);
    texts.collect::<Result<_, _>>().expect("fixtures are UTF-8")
}

/// A tree in which one file of `one_in` holds kernels that synchronise; none does for 0.
fn tree(one_in: usize) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut plain = texts(&fixtures.join("frontend"));
    plain.retain(|text| !WORDS.iter().any(|word| text.contains(word)));
    let kernels = texts(&fixtures.join("kernels"));
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("tree-{one_in}"));
    for number in 0..FILES {
        let is_kernel = one_in > 0 && number % one_in == 0;
        let text = if is_kernel {
            &kernels[number / one_in % kernels.len()]
        } else {
            &plain[number % plain.len()]
        };
        let folder = root.join((number / 50).to_string());
        fs::create_dir_all(&folder).expect("a folder can be made");
        // No two files are alike.
        let text = format!("{text}// {number}\n");
        fs::write(folder.join(format!("{number}.hlsl")), text).expect("a file can be written");
    }
    root
}

fn shaderlint() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shaderlint"));
    command.args(["--quiet", "--output-format", "concise"]);
    // A run after another one would look up what that found.
    command.env("SHADERLINT_NO_CACHE", "1");
    command
}

fn lint(bencher: Bencher, one_in: usize) {
    let root = tree(one_in);
    let mut command = shaderlint();
    command.current_dir(&root).arg(".");
    let code = command.output().expect("the program starts").status.code();
    assert_eq!(code, Some(i32::from(one_in > 0)));
    bencher
        .counter(ItemsCount::new(FILES))
        .bench_local(|| command.output());
}

#[divan::bench(sample_count = 10)]
fn without_a_kernel(bencher: Bencher) {
    lint(bencher, 0);
}

#[divan::bench(sample_count = 10)]
fn one_kernel_in_ten(bencher: Bencher) {
    lint(bencher, 10);
}

/// All together, as one run; nothing where no folder is named.
#[divan::bench(sample_count = 5)]
fn real_files(bencher: Bencher) {
    let folders = std::env::var_os(REAL).unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&folders).collect();
    if folders.iter().any(|folder| folder.is_dir()) {
        let mut command = shaderlint();
        command.args(&folders);
        bencher.bench_local(|| command.output());
    }
}
