//! What the folders and files of the source may know of each other.
#![expect(clippy::disallowed_methods, reason = "the source is files")]
#![expect(clippy::unwrap_used, reason = "a source that cannot be read fails the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The floors, from the ground up: each may use those before it.
const FLOORS: [&str; 8] = [
    "facts", "terms", "waves", "finding", "exec", "detect", "compare", "analyze",
];

/// Every module, as `exec::memory`, with the text of its file.
fn modules() -> BTreeMap<String, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut modules = BTreeMap::new();
    let mut open: Vec<PathBuf> = vec![source.clone()];
    while let Some(folder) = open.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let name = path.strip_prefix(&source).unwrap().with_extension("");
            let parts = name.iter().map(|part| part.to_str().unwrap());
            let name: Vec<&str> = parts.filter(|part| *part != "mod").collect();
            modules.insert(name.join("::"), fs::read_to_string(&path).unwrap());
        }
    }
    modules
}

/// The paths that a text says behind `crate::`; of a list in braces one for each entry.
fn paths(text: &str) -> Vec<String> {
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let path = |text: &str| text.split(|c| !is_path(c)).next().unwrap().to_owned();
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    let code: Vec<&str> = { code.lines() }
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect();
    let code = code.join("\n");
    let behind = code.split("crate::").skip(1);
    let paths = behind.flat_map(|behind| {
        let first = path(behind);
        let Some(list) = behind[first.len()..].strip_prefix('{') else {
            return vec![first];
        };
        let list = list.split('}').next().unwrap().split(',');
        list.map(|entry| format!("{first}{}", path(entry.trim())))
            .collect()
    });
    paths.collect()
}

/// The modules that each module uses, besides those that it is a part of and those that are parts of it.
fn uses() -> BTreeMap<String, BTreeSet<String>> {
    let modules = modules();
    let module_of = |path: &str| {
        let parts: Vec<&str> = path.split("::").collect();
        let prefixes = (1..=parts.len()).rev().map(|count| parts[..count].join("::"));
        prefixes.into_iter().find(|prefix| modules.contains_key(prefix))
    };
    let is_part = |part: &str, of: &str| part == of || part.starts_with(&format!("{of}::"));
    { modules.iter() }
        .filter(|(module, _)| *module != "lib")
        .map(|(module, text)| {
            let used = paths(text).into_iter().map(|path| {
                let used = module_of(&path);
                assert!(used.is_some(), "{module} uses `{path}`, which is no module");
                used.unwrap()
            });
            let others = used.filter(|used| !is_part(used, module) && !is_part(module, used));
            (module.clone(), others.collect())
        })
        .collect()
}

#[test]
fn floors_stand_on_those_below() {
    let floor = |module: &str| {
        let first = module.split("::").next().unwrap();
        let floor = FLOORS.iter().position(|floor| *floor == first);
        assert!(floor.is_some(), "`{first}` is on no floor");
        floor
    };
    for (module, used) in uses() {
        for used in used {
            assert!(floor(&used) <= floor(&module), "{module} uses {used}");
        }
    }
}

#[test]
fn modules_depend_in_no_circles() {
    let uses = uses();
    for module in uses.keys() {
        let mut reached = BTreeSet::new();
        let mut open = vec![module];
        while let Some(at) = open.pop() {
            for used in &uses[at] {
                assert_ne!(used, module, "{module} uses itself by way of {at}");
                if reached.insert(used) {
                    open.push(used);
                }
            }
        }
    }
}
