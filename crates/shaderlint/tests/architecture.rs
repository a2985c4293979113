//! The invariants of the design that a compiler does not check.
#![expect(
    clippy::unwrap_used,
    reason = "a repository that cannot be read fails the test"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Packages by folder, and the packages of this workspace that each may use.
const ARROWS: [(&str, &[&str]); 9] = [
    ("crates/hlsl", &[]),
    ("crates/simt", &["shaderlint-hlsl"]),
    ("crates/linter", &["shaderlint-hlsl", "shaderlint-simt"]),
    (
        "rules",
        &["shaderlint-hlsl", "shaderlint-linter", "shaderlint-simt"],
    ),
    ("crates/verify", &["shaderlint-hlsl", "shaderlint-simt"]),
    ("crates/bench", &["shaderlint-hlsl", "shaderlint-verify"]),
    (
        "crates/shaderlint",
        &[
            "shaderlint-bench",
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

/// Where the modules of each package are.
const SOURCES: [&str; 8] = [
    "crates/hlsl/src",
    "crates/simt/src",
    "crates/linter/src",
    "rules",
    "crates/verify/src",
    "crates/bench/src",
    "crates/shaderlint/src",
    "crates/fuzz/src",
];

/// Floors of packages and of modules in them, from the ground up: each may use those before it. What stands on one floor does
/// not use each other.
const FLOORS: [(&str, &str, &[&[&str]]); 4] = [
    (
        "crates/simt/src",
        "",
        &[
            &["facts"],
            &["terms"],
            &["waves"],
            &["finding"],
            &["exec"],
            &["detect"],
            &["compare"],
            &["analyze"],
        ],
    ),
    (
        "crates/shaderlint/src",
        "",
        &[
            &["support"],
            &["cli"],
            &["workspace"],
            &["check"],
            &["report"],
            &["commands", "server"],
            &["fuzzing", "playground"],
        ],
    ),
    (
        "crates/shaderlint/src",
        "check",
        &[
            &["configurations"],
            &["readings"],
            &["options"],
            &["file_report"],
            &["baseline", "guesses", "notes"],
            &["union"],
            &["findings"],
            &["comments"],
            &["candidates"],
            &["header_kernels"],
            &["callers"],
            &["includers"],
            &["file", "header"],
        ],
    ),
    (
        "rules",
        "",
        &[
            &["source"],
            &["describe"],
            &["fixes"],
            &["findings"],
            &["correctness", "performance", "suppression"],
        ],
    ),
];

/// What does no I/O.
const PURE: [&str; 5] = [
    "crates/hlsl",
    "crates/simt",
    "crates/linter",
    "rules",
    "crates/bench/src",
];

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

/// The code of a package's modules by path, such as `exec::memory`, without comments and tests. The root's path is empty.
fn modules(folder: &str) -> BTreeMap<String, String> {
    let folder = root().join(folder);
    let modules = sources(&folder).into_iter().map(|(path, text)| {
        let path = path.strip_prefix(&folder).unwrap().with_extension("");
        let parts = path.iter().map(|part| part.to_str().unwrap());
        let parts: Vec<&str> = parts.filter(|part| !["lib", "mod"].contains(part)).collect();
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        let is_code = |line: &&str| !line.trim_start().starts_with("//");
        let lines: Vec<&str> = code.lines().filter(is_code).collect();
        (parts.join("::"), lines.join("\n"))
    });
    modules.filter(|(module, _)| module != "main").collect()
}

/// The paths that `use` lists behind `start`: one for each entry of its braces, and of those in them.
fn listed(start: &str, text: &str) -> Vec<String> {
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let path = text.split(|c| !is_path(c)).next().unwrap();
    let start = format!("{start}{path}");
    let Some(list) = text[path.len()..].strip_prefix('{') else {
        return vec![start];
    };
    let (mut depth, mut begin, mut paths) = (0, 0, Vec::new());
    for (at, c) in list.char_indices() {
        if depth == 0 && (c == ',' || c == '}') {
            let entry = Some(list[begin..at].trim()).filter(|entry| !entry.is_empty());
            paths.extend(entry.into_iter().flat_map(|entry| listed(&start, entry)));
            begin = at + 1;
        }
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            _ => {}
        }
    }
    paths
}

/// What lies in a module under a path from there.
fn within(module: &str, path: &str) -> String {
    if module.is_empty() {
        path.to_owned()
    } else {
        format!("{module}::{path}")
    }
}

/// The paths that a module's code says, from the root of its package.
fn paths(module: &str, code: &str) -> Vec<String> {
    let from_root = code.split("crate::").skip(1);
    let mut paths: Vec<String> = from_root.flat_map(|behind| listed("", behind)).collect();
    let mut above = module;
    // `super::super::a` is split at each `super::`, with nothing between them.
    for behind in code.split("super::").skip(1) {
        above = above.rsplit_once("::").map_or("", |(parent, _)| parent);
        if !behind.is_empty() {
            paths.extend(listed("", behind).iter().map(|path| within(above, path)));
            above = module;
        }
    }
    paths
}

/// The names that a module's code re-exports from modules in it, each with its path from there.
fn exports(code: &str) -> BTreeMap<String, String> {
    let mut uses = code.split(" use ");
    let mut before = uses.next().unwrap();
    let mut exports = BTreeMap::new();
    for behind in uses {
        if ["pub", "pub(crate)", "pub(super)"]
            .iter()
            .any(|public| before.ends_with(public))
        {
            let paths = listed("", behind).into_iter();
            exports.extend(paths.map(|path| (path.rsplit("::").next().unwrap().to_owned(), path)));
        }
        before = behind;
    }
    exports
}

/// The modules that each module uses, besides those that it is in and those that are in it. What a module re-exports counts
/// as from where it is.
fn uses(folder: &str) -> BTreeMap<String, BTreeSet<String>> {
    let modules = modules(folder);
    let exports: BTreeMap<&str, BTreeMap<String, String>> = { modules.iter() }
        .map(|(module, code)| (module.as_str(), exports(code)))
        .collect();
    let module_of = |mut path: String| loop {
        let ends = path.match_indices("::").map(|(at, _)| at).chain([path.len()]);
        let known = ends
            .map(|end| &path[..end])
            .filter(|path| modules.contains_key(*path));
        let module = known.last().unwrap_or("");
        let rest = path[module.len()..].trim_start_matches("::");
        match exports[module].get(rest.split("::").next().unwrap()) {
            Some(exported) => path = within(module, exported),
            None => return module.to_owned(),
        }
    };
    let is_in = |a: &str, b: &str| a == b || a.starts_with(&within(b, ""));
    let uses = { modules.iter() }
        .filter(|(module, _)| !module.is_empty())
        .map(|(module, code)| {
            let used = paths(module, code).into_iter().map(module_of);
            let others = used.filter(|used| !used.is_empty() && !is_in(used, module) && !is_in(module, used));
            (module.clone(), others.collect())
        });
    uses.collect()
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

/// The sets of modules that use each other, directly or by others.
fn circles(uses: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<BTreeSet<&str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> = { uses.keys() }
        .map(|module| (module.as_str(), reached(uses, module)))
        .collect();
    let circle = |module: &str| -> BTreeSet<&str> {
        let is_mutual = |other: &&str| reached[other].contains(module);
        reached[module].iter().copied().filter(is_mutual).collect()
    };
    let circles = reached.keys().map(|module| circle(module));
    circles.filter(|circle| !circle.is_empty()).collect()
}

/// What a module is in at the top of its package.
fn top(module: &str) -> &str {
    module.split("::").next().unwrap()
}

/// The same of the folders and files at the top of a package.
fn uses_at_the_top(uses: &BTreeMap<String, BTreeSet<String>>) -> BTreeMap<String, BTreeSet<String>> {
    let mut at_the_top: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (module, used) in uses {
        let others = used
            .iter()
            .map(|used| top(used))
            .filter(|used| *used != top(module));
        let known = at_the_top.entry(top(module).to_owned()).or_default();
        known.extend(others.map(ToOwned::to_owned));
    }
    at_the_top
}

#[test]
fn modules_depend_in_no_circles() {
    for folder in SOURCES {
        let uses = uses(folder);
        let at_the_top = uses_at_the_top(&uses);
        for circle in circles(&uses).into_iter().chain(circles(&at_the_top)) {
            assert!(circle.is_empty(), "{folder}: these use each other: {circle:?}");
        }
    }
}

#[test]
fn floors_stand_on_those_below() {
    for (folder, around, floors) in FLOORS {
        let inside = |module: &str| match around {
            "" => Some(module.to_owned()),
            _ => module.strip_prefix(&within(around, "")).map(ToOwned::to_owned),
        };
        let floor = |module: &str| {
            let floor = floors.iter().position(|floor| floor.contains(&top(module)));
            assert!(floor.is_some(), "{folder}: `{module}` is on no floor");
            floor
        };
        for (module, used) in uses(folder) {
            let Some(module) = inside(&module) else { continue };
            let used = used.iter().filter_map(|used| inside(used));
            for used in used.filter(|used| top(used) != top(&module)) {
                assert!(floor(&used) < floor(&module), "{folder}: {module} uses {used}");
            }
            floor(&module);
        }
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
