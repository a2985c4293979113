//! Where the systems that `bench` measures are read from: the repository's fixtures, or in a package the folder `systems`,
//! whose links are files there. A checkout of the repository may have no links (Windows).
#![allow(clippy::print_stdout, reason = "Cargo is told so")]

use std::path::Path;

fn main() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let fixtures = package.join("../../fixtures");
    let systems = if fixtures.is_dir() {
        fixtures
    } else {
        package.join("systems")
    };
    println!("cargo::rustc-env=SHADERLINT_SYSTEMS={}", systems.display());
    println!("cargo::rerun-if-changed=build.rs");
}
