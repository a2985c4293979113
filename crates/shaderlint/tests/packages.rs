//! What shaderlint is packaged in agrees with what is in it.
#![expect(
    clippy::unwrap_used,
    reason = "a repository that cannot be read fails the test"
)]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

fn package() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn json(path: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(package().join(path)).unwrap()).unwrap()
}

/// The settings that `docs/editors.md` lists, which are those of the server.
fn settings() -> Vec<String> {
    let page = fs::read_to_string(package().join("../../docs/editors.md")).unwrap();
    let (_, table) = page.split_once("| setting | |\n").unwrap();
    let rows = table.lines().take_while(|line| line.starts_with('|')).skip(1);
    rows.map(|row| row.split('`').nth(1).unwrap().to_owned())
        .collect()
}

#[test]
fn the_extension_has_every_setting_of_the_server() {
    let manifest = json("editors/vscode/package.json");
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    let properties = manifest["contributes"]["configuration"]["properties"]
        .as_object()
        .unwrap();
    for setting in settings() {
        assert!(
            properties.contains_key(&format!("shaderlint.{setting}")),
            "{setting}"
        );
    }
}

#[test]
fn zeds_extension_starts_what_its_manifest_names() {
    let read = |path: &str| fs::read_to_string(package().join("editors/zed").join(path)).unwrap();
    let manifest: toml::Table = toml::from_str(&read("extension.toml")).unwrap();
    let cargo: toml::Table = toml::from_str(&read("Cargo.toml")).unwrap();
    assert_eq!(manifest["version"].as_str(), Some(env!("CARGO_PKG_VERSION")));
    assert_eq!(manifest["version"], cargo["package"]["version"]);
    let server = &manifest["language_servers"]["shaderlint"];
    // What clients call the language, beside what Zed does.
    assert_eq!(server["language_ids"]["HLSL"].as_str(), Some("hlsl"));
    assert!(read("src/lib.rs").contains("const NAME: &str = \"shaderlint\";"));
    let sources = read("Cargo.lock");
    let mut sources = sources.lines().filter_map(|line| line.strip_prefix("source = "));
    assert!(sources.all(|source| source == "\"registry+https://github.com/rust-lang/crates.io-index\""));
}

/// A registry of somebody's own would be of no use to others.
#[test]
fn the_extension_is_built_from_the_public_registry() {
    let lock = json("editors/vscode/package-lock.json");
    assert_eq!(lock["packages"][""]["version"], env!("CARGO_PKG_VERSION"));
    for (name, package) in lock["packages"].as_object().unwrap() {
        let resolved = package["resolved"]
            .as_str()
            .unwrap_or("https://registry.npmjs.org/");
        assert!(
            resolved.starts_with("https://registry.npmjs.org/"),
            "{name}: {resolved}"
        );
    }
}

/// Links become files in a package, which `build.rs` finds there.
#[test]
fn the_package_has_the_systems_that_are_measured() {
    for folder in ["scan", "reduction", "yardsticks"] {
        let [packaged, ours] = ["../bench/systems", "../../fixtures"]
            .map(|at| package().join(at).join(folder).canonicalize().unwrap());
        assert_eq!(packaged, ours);
    }
}

/// Packages are published one by one, each with its licences.
#[test]
fn every_package_has_its_licences() {
    let root = package().join("../..");
    let members: toml::Table = fs::read_to_string(root.join("Cargo.toml"))
        .unwrap()
        .parse()
        .unwrap();
    let members = members["workspace"]["members"].as_array().unwrap().clone();
    for folder in members {
        for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
            let own = Path::new(folder.as_str().unwrap()).join(licence);
            let [own, ours] = [own.as_path(), Path::new(licence)].map(|path| fs::read(root.join(path)).ok());
            assert!(own.is_some() && own == ours, "{folder}: {licence}");
        }
    }
}
