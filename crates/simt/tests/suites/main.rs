//! Runs the cases of `suites/*.md`: kernels in Markdown, and beside each what is found in it. `docs/contributing.md` says how a
//! suite is written.

#![expect(clippy::disallowed_methods, reason = "suites are files")]

mod cases;
mod facts;
mod kernel;
mod markdown;
mod pair;

use std::fs;
use std::path::{Path, PathBuf};

/// The suites, each a file and a test of its name.
macro_rules! suites {
    ($($name:ident)*) => {
        const SUITES: &[&str] = &[$(stringify!($name)),*];
        $(#[test]
        fn $name() {
            run(stringify!($name));
        })*
    };
}

suites! {
    buffer_tiles
    chosen_elements
    claims
    defects
    device_order
    equivalence
    equivalence_of_atomics
    halves
    ladders
    needless_barriers
    other_threads
    outside_of_resources
    results
    seen
    shapes
    shuffles
    soundness
    soundness_of_defects
    statements
    unfollowed_code
    unknown_names
    unknown_types
    unordered
    values
    versions
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suites")
}

/// Checks every case of a suite, or those under the headings that hold the text `CASE` of the environment.
fn run(suite: &str) {
    let file = format!("crates/simt/tests/suites/{suite}.md");
    let text = fs::read_to_string(folder().join(format!("{suite}.md"))).expect("the suite's file");
    let cases = cases::read(&text).unwrap_or_else(|error| panic!("{file}:{error}"));
    assert!(!cases.is_empty(), "{file} has no cases");
    let wanted = std::env::var("CASE").unwrap_or_default();
    let mut failures = Vec::new();
    let mut count = 0;
    for case in cases.iter().filter(|case| case.title.contains(&wanted)) {
        count += 1;
        if let Err(why) = facts::check(case) {
            let kernels = case.kernels.iter().map(|kernel| format!("\n{}", kernel.body()));
            let kernels: String = kernels.collect();
            failures.push(format!("{file}:{}: {}\n{why}{kernels}\n", case.line, case.title));
        }
    }
    let failed = failures.len();
    assert!(
        failed == 0,
        "{failed} of {count} cases fail\n\n{}",
        failures.join("\n")
    );
}

#[test]
fn every_file_is_a_suite() {
    let files = fs::read_dir(folder()).expect("the folder of the suites");
    let names = files.filter_map(|file| Some(file.ok()?.path()));
    let suites = names.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let stems = suites.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
    let mut stems: Vec<String> = stems.collect();
    stems.sort_unstable();
    assert_eq!(stems, SUITES, "list them in main.rs");
}
