//! The same findings in the same order, however many threads look for them, in whatever order files are named, and
//! whether they are looked at in one run or in many.
#![expect(clippy::unwrap_used, reason = "a test that cannot read its files fails")]

mod support;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use support::{Folder, LADDER, RACE};

/// Every HLSL file below a folder, as a path from it, in order.
fn files(root: &Path, folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(root, &path, found);
        } else if path.extension().is_some_and(|extension| extension == "hlsl") {
            found.push(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
        }
    }
    found.sort_by_key(|path| PathBuf::from(path.as_str()));
}

fn findings(mut command: Command, threads: &str) -> Vec<Value> {
    command.env("RAYON_NUM_THREADS", threads);
    let output = command.args(["--output-format", "json"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{said}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    report["findings"].as_array().unwrap().clone()
}

/// What several runs find, each finding once, by path and place.
fn merged(runs: impl IntoIterator<Item = Vec<Value>>) -> Vec<Value> {
    let mut seen = BTreeSet::new();
    let mut all: Vec<Value> = runs.into_iter().flatten().collect();
    all.retain(|finding| {
        seen.insert(format!(
            "{} {} {}",
            finding["rule"], finding["path"], finding["start"]
        ))
    });
    all
}

/// Compares runs over `paths` in `folder`, named in several orders and in groups of `chunk`.
#[track_caller]
fn check(folder: &Folder, paths: &[String], chunk: usize) {
    let of = |paths: &[&String], threads: &str| {
        let paths: Vec<&str> = paths.iter().map(|path| path.as_str()).collect();
        findings(folder.command(&paths), threads)
    };
    let forwards: Vec<&String> = paths.iter().collect();
    let all = of(&forwards, "1");
    assert!(!all.is_empty());
    assert_eq!(of(&forwards, "7"), all, "seven threads");
    let backwards: Vec<&String> = paths.iter().rev().collect();
    assert_eq!(of(&backwards, "2"), all, "backwards");
    let merged = merged(forwards.chunks(chunk).map(|paths| of(paths, "2")));
    assert_eq!(merged, all, "one run for each {chunk} files");
}

#[test]
fn runs_over_fixtures_are_alike() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/rules");
    let mut paths = Vec::new();
    files(&root, &root, &mut paths);
    assert!(paths.len() > 50);
    let folder = Folder(root);
    check(&folder, &paths, 20);
    assert_eq!(
        findings(folder.command(&["."]), "2"),
        findings(
            folder.command(&paths.iter().map(String::as_str).collect::<Vec<_>>()),
            "2"
        ),
        "the folder as a whole"
    );
}

/// A defect in a header is told where it is, by whichever file that includes it comes first.
#[test]
fn runs_over_what_shares_headers_are_alike() {
    let kernel = |size: u32| {
        format!(
            "#include \"share/ladder.hlsli\"\nStructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out;\n\
             [numthreads({size}, 1, 1)]\nvoid main(uint gi : SV_GroupIndex)\n{{\n    g[gi] = Src[gi];\n    \
             Scan(gi);\n    Out[gi] = g[gi];\n}}\n"
        )
    };
    let header = "groupshared uint g[256];\nvoid Scan(uint gi)\n{\n    GroupMemoryBarrierWithGroupSync();\n    \
                  g[gi] += g[gi / 2];\n    GroupMemoryBarrierWithGroupSync();\n}\n";
    let folder = Folder::new("determinism")
        .with("shaderlint.toml", "")
        .with("share/ladder.hlsli", header)
        .with("a/b.hlsl", kernel(64))
        .with("a.hlsl", kernel(256))
        .with("a-b.hlsl", kernel(32))
        .with("z/race.hlsl", RACE)
        .with("b.hlsl", LADDER)
        .with("z/a.hlsl", LADDER);
    let mut paths = Vec::new();
    files(&folder.0, &folder.0, &mut paths);
    check(&folder, &paths, 1);
    check(&folder, &paths, 4);
}

#[test]
fn a_file_that_is_named_is_looked_at_wherever_it_is_named() {
    let folder = Folder::new("named-and-found")
        .with("shaderlint.toml", "[files]\nexclude = [\"*.gen.hlsl\"]\n")
        .with("a.gen.hlsl", RACE)
        .with("b.hlsl", LADDER);
    let expected = "0\na.gen.hlsl\nb.hlsl\n";
    for arguments in [[".", "a.gen.hlsl"], ["a.gen.hlsl", "."]] {
        assert_eq!(
            folder.said(&["--show-files", arguments[0], arguments[1]]),
            expected
        );
    }
}
