//! The invariants of the design that a compiler does not check.
#![expect(
    clippy::unwrap_used,
    reason = "a repository that cannot be read fails the test"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Packages by folder, and the packages of this workspace that each may use.
const ARROWS: [(&str, &[&str]); 8] = [
    ("crates/hlsl", &[]),
    ("crates/simt", &["shaderlint-hlsl"]),
    ("crates/linter", &["shaderlint-hlsl", "shaderlint-simt"]),
    (
        "rules",
        &["shaderlint-hlsl", "shaderlint-linter", "shaderlint-simt"],
    ),
    ("crates/verify", &["shaderlint-hlsl", "shaderlint-simt"]),
    (
        "crates/shaderlint",
        &[
            "shaderlint-hlsl",
            "shaderlint-linter",
            "shaderlint-rules",
            "shaderlint-simt",
            "shaderlint-verify",
        ],
    ),
    ("crates/playground", &["shaderlint"]),
    (
        "crates/fuzz",
        &[
            "shaderlint",
            "shaderlint-hlsl",
            "shaderlint-linter",
            "shaderlint-rules",
            "shaderlint-simt",
            "shaderlint-verify",
        ],
    ),
];

/// Packages by folder, and how many of their modules may depend on each other in a circle. A file and those below it are one.
/// `crates/simt` has floors, and a test of its own.
const CIRCLES: [(&str, usize); 5] = [
    ("crates/hlsl/src", 0),
    ("crates/linter/src", 4),
    ("rules", 2),
    ("crates/verify/src", 2),
    ("crates/shaderlint/src", 0),
];

/// Packages that do no I/O.
const PURE: [&str; 4] = ["crates/hlsl", "crates/simt", "crates/linter", "rules"];

const IO: [&str; 9] = [
    "std::fs",
    "std::net",
    "std::process",
    "std::env::",
    "std::thread",
    "println!",
    "print!",
    "stdout()",
    "stdin()",
];

/// The longest that a rule may be, in lines.
const MAX_RULE: usize = 150;

const TOP_LEVEL: [&str; 14] = [
    "CHANGELOG.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "adr",
    "clippy.toml",
    "crates",
    "docs",
    "fixtures",
    "rules",
    "rustfmt.toml",
    "target",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn manifest(folder: &str) -> toml::Table {
    fs::read_to_string(root().join(folder).join("Cargo.toml"))
        .unwrap()
        .parse()
        .unwrap()
}

/// The packages that a manifest names in `[dependencies]`, on any platform.
fn dependencies(folder: &str) -> BTreeSet<String> {
    let manifest = manifest(folder);
    let by_platform = manifest.get("target").and_then(toml::Value::as_table);
    let tables = by_platform.into_iter().flat_map(toml::Table::values);
    let tables = tables.filter_map(toml::Value::as_table).chain([&manifest]);
    let dependencies = tables.filter_map(|table| table.get("dependencies")?.as_table());
    dependencies.flat_map(toml::Table::keys).cloned().collect()
}

/// Every `.rs` file below a folder but those of tests and benchmarks, with its text.
fn sources(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !["tests", "benches", "target", "examples"].contains(&name.as_str()) {
            found.extend(sources(&path));
        } else if name != "tests.rs" && path.extension().is_some_and(|extension| extension == "rs") {
            found.insert(path.clone(), fs::read_to_string(&path).unwrap());
        }
    }
    found
}

/// The files of rules: those in the folders of categories, which hold their pages.
fn rules() -> BTreeMap<PathBuf, String> {
    let has_pages = |folder: &PathBuf| {
        let mut files = fs::read_dir(folder).into_iter().flatten();
        files.any(|file| {
            file.unwrap()
                .path()
                .extension()
                .is_some_and(|ending| ending == "md")
        })
    };
    let entries = fs::read_dir(root().join("rules")).unwrap();
    let folders = entries.map(|entry| entry.unwrap().path());
    let categories: Vec<PathBuf> = folders.filter(has_pages).collect();
    assert_eq!(categories.len(), 3, "{categories:?}");
    categories.iter().flat_map(|category| sources(category)).collect()
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

#[test]
fn packages_depend_along_the_arrows_only() {
    for (folder, allowed) in ARROWS {
        let mut ours = dependencies(folder);
        ours.retain(|name| name.starts_with("shaderlint"));
        let allowed: BTreeSet<String> = allowed.iter().map(|&name| name.to_owned()).collect();
        assert!(ours.is_subset(&allowed), "{folder} uses {ours:?}");
    }
    let members = manifest(".")["workspace"]["members"].as_array().unwrap().len();
    assert_eq!(members, ARROWS.len(), "a package that no arrow is known of");
}

/// The names that a text says behind `path`, such as `crate::`, be they in braces.
fn named_behind<'t>(text: &'t str, path: &str) -> Vec<&'t str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let name = |text: &'t str| text.split(|c| !is_word(c)).next().unwrap();
    let behind = text.match_indices(path).map(|(at, _)| &text[at + path.len()..]);
    let names = behind.flat_map(|behind| {
        let Some(list) = behind.strip_prefix('{') else {
            return vec![name(behind)];
        };
        let (mut depth, mut names) = (0, vec![name(list)]);
        for (at, c) in list.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => names.push(name(list[at + 1..].trim_start())),
                _ => {}
            }
        }
        names
    });
    names.filter(|name| !name.is_empty()).collect()
}

/// The modules of a package, and those that each uses. A file and those below it are one; tests do not count.
fn uses(folder: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let module = |path: &Path| {
        let first = path.strip_prefix(folder).unwrap().iter().next().unwrap();
        stem(Path::new(first))
    };
    let sources = sources(folder);
    let modules: BTreeSet<String> = sources.keys().map(|path| module(path)).collect();
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in &sources {
        let own = module(path);
        let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        let mut names = named_behind(text, "crate::");
        if path.parent() == Some(folder) {
            names.extend(named_behind(text, "super::"));
        }
        let names = names.into_iter().map(ToOwned::to_owned);
        let used = names.filter(|name| modules.contains(name) && *name != own && own != "lib");
        uses.entry(own.clone()).or_default().extend(used);
    }
    uses
}

/// The modules that `from` uses, directly or by others.
fn reached<'u>(uses: &'u BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<&'u str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        for used in &uses[module] {
            if reached.insert(used.as_str()) {
                open.push(used);
            }
        }
    }
    reached
}

#[test]
fn modules_depend_in_no_circles_but_those_known() {
    for (folder, known) in CIRCLES {
        let uses = uses(&root().join(folder));
        let reached: BTreeMap<&str, BTreeSet<&str>> = { uses.keys() }
            .map(|module| (module.as_str(), reached(&uses, module)))
            .collect();
        let circle = |module: &str| -> BTreeSet<&str> {
            let both_ways = |other: &&str| reached[other].contains(module);
            reached[module].iter().copied().filter(both_ways).collect()
        };
        let largest = reached
            .keys()
            .map(|module| circle(module))
            .max_by_key(BTreeSet::len);
        let largest = largest.unwrap();
        assert_eq!(largest.len(), known, "{folder}: {largest:?}");
    }
}

#[test]
fn only_verify_sees_the_gpu() {
    for (folder, _) in ARROWS.iter().filter(|(folder, _)| *folder != "crates/verify") {
        let used = dependencies(folder);
        assert!(!used.contains("naga") && !used.contains("wgpu"), "{folder}");
    }
}

#[test]
fn every_package_takes_the_workspace_lints() {
    for (folder, _) in ARROWS {
        let manifest = manifest(folder);
        let lints = manifest.get("lints").and_then(|lints| lints.get("workspace"));
        assert_eq!(lints.and_then(toml::Value::as_bool), Some(true), "{folder}");
    }
}

#[test]
fn the_libraries_do_no_io() {
    for folder in PURE {
        for (path, text) in sources(&root().join(folder)) {
            for word in IO {
                assert!(!text.contains(word), "{} has {word}", path.display());
            }
        }
    }
}

#[test]
fn the_lower_packages_know_no_rule() {
    let ids: Vec<String> = rules().keys().map(|path| stem(path).replace('_', "-")).collect();
    for folder in ["crates/hlsl", "crates/simt", "crates/linter"] {
        for (path, text) in sources(&root().join(folder)) {
            for id in &ids {
                assert!(!text.contains(id.as_str()), "{} names {id}", path.display());
            }
        }
    }
}

#[test]
fn a_rule_is_short_and_knows_no_other() {
    let rules = rules();
    for (path, text) in &rules {
        assert!(
            text.lines().count() <= MAX_RULE,
            "{} is longer than {MAX_RULE} lines",
            path.display()
        );
        for other in rules.keys().filter(|other| *other != path) {
            let module = stem(other);
            let id = module.replace('_', "-");
            assert!(
                !text.contains(&module) && !text.contains(&id),
                "{} names {module}",
                path.display()
            );
        }
    }
}

#[test]
fn a_rule_is_listed_and_has_its_page_and_fixtures() {
    let list = fs::read_to_string(root().join("rules/lib.rs")).unwrap();
    for path in rules().keys() {
        let module = stem(path);
        assert!(
            list.contains(&format!("{module}::RULE")),
            "{module} is not listed"
        );
        assert!(path.with_extension("md").exists(), "{module} has no page");
        let fixtures = root().join("fixtures/rules").join(module.replace('_', "-"));
        for file in ["bad.hlsl", "good.hlsl"] {
            assert!(fixtures.join(file).exists(), "{module} has no {file}");
        }
    }
}

#[test]
fn the_top_level_is_what_the_design_says() {
    for entry in fs::read_dir(root()).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        let is_known = name.starts_with('.') || TOP_LEVEL.contains(&name.as_str());
        assert!(is_known, "{name} is at the top level");
    }
}
