//! `shaderlint bench` from outside, on the adapters there are and on none; what the linter says of its kernels.
#![cfg(feature = "gpu")]

#[path = "support/adapter.rs"]
mod adapter;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use adapter::has_adapter;
use snapbox::{assert_data_eq, str};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Exit code, standard output and standard error of `shaderlint` in the project's folder.
fn shaderlint(arguments: &[&str], variable: (&str, &str)) -> (i32, String, String) {
    shaderlint_in(&root(), arguments, variable)
}

fn shaderlint_in(folder: &Path, arguments: &[&str], variable: (&str, &str)) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_shaderlint"))
        .args(arguments)
        .env(variable.0, variable.1)
        .current_dir(folder)
        .output()
        .expect("the program starts");
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (output.status.code().unwrap_or(-1), out, err)
}

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// System and outcome of each row for the first n, on the first adapter.
fn outcomes(json: &str) -> Vec<(String, String)> {
    let all: serde_json::Value = serde_json::from_str(json).expect("JSON");
    let rows = all["adapters"][0]["sizes"][0]["rows"].as_array().expect("rows");
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    rows.iter()
        .map(|row| (text(&row["system"]), text(&row["outcome"])))
        .collect()
}

#[test]
fn without_an_adapter_there_is_nothing_to_measure() {
    let none = ("VK_DRIVER_FILES", "/there/is/none");
    let (code, out, err) = shaderlint(&["bench", "scan"], none);
    assert_eq!((code, out.as_str()), (2, ""));
    assert_eq!(err, "error: there is no adapter to measure on\n");
}

#[test]
fn every_system_is_right_and_known_defects_are_told() {
    if !has_adapter() {
        return;
    }
    for (what, yardsticks) in [
        ("scan", &["cpu", "copy"][..]),
        ("reduction", &["cpu", "copy", "read"]),
    ] {
        for n in ["0", "1", "1000"] {
            let (code, out, err) =
                shaderlint(&["bench", what, "--n", n, "--output-format", "json"], ("A", "1"));
            assert_eq!(code, 0, "{err}");
            let rows = outcomes(&out);
            for (system, outcome) in &rows {
                let expected = if system.ends_with("-as-found") {
                    "defect"
                } else {
                    "right"
                };
                assert_eq!(outcome, expected, "{system} at {n}");
            }
            // The program has every system of the folder in it, and the folder every one of the program.
            let folder = format!("fixtures/{what}");
            let on_disk = std::fs::read_dir(root().join(folder)).expect("the fixtures are there");
            let mut expected: BTreeSet<String> = on_disk
                .map(|entry| entry.expect("a fixture").path())
                .filter(|path| path.join("pipeline.toml").exists())
                .map(|path| {
                    path.file_name()
                        .unwrap_or_default()
                        .to_string_lossy()
                        .into_owned()
                })
                .collect();
            expected.extend(yardsticks.iter().map(|&name| name.to_owned()));
            let found: BTreeSet<String> = rows.into_iter().map(|(system, _)| system).collect();
            assert_eq!(found, expected);
        }
    }
}

#[test]
fn a_folder_of_ones_own_is_measured() {
    if !has_adapter() {
        return;
    }
    let folder = scratch("own");
    let (page, plot) = (folder.join("page.html"), folder.join("plot.svg"));
    let said = shaderlint(
        &[
            "bench",
            "fixtures/yardsticks/copy",
            "--n",
            "1000,10000",
            "--report",
            &page.to_string_lossy(),
            "--plot",
            &plot.to_string_lossy(),
        ],
        ("A", "1"),
    );
    assert_eq!(said.0, 0, "{}", said.2);
    assert_data_eq!(
        said.1,
        str![[r#"
[..]: waves of [..]

n = 1,000    median  fastest–slowest  GB/s  × copy
cpu [..]
copy [..] 1.00
./copy [..]

n = 10,000    median  fastest–slowest  GB/s  × copy
cpu [..]
copy [..] 1.00
./copy [..]
...
"#]]
    );
    let page = std::fs::read_to_string(page).expect("the page");
    assert!(page.starts_with("<!doctype html>") && page.matches("<svg").count() >= 2);
    assert!(!page.contains("src=") && !page.contains("href=") && !page.contains("@import"));
    let plot = std::fs::read_to_string(plot).expect("the plot");
    assert!(plot.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"") && plot.ends_with("</svg>\n"));
}

/// A pipeline that copies n words, with its kernel, in a folder of its own.
fn put(folder: &Path, name: &str, about: &str, groups: &str, kernel: &str) {
    let folder = folder.join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    let toml = format!(
        "about = \"{about}\"\ncomputes = \"copy\"\nkernels = \"kernel.hlsl\"\ninput = \"Source\"\noutput = \"Target\"\n\
         [buffers]\nSource = {{ length = \"n\" }}\nTarget = {{ length = \"n\" }}\n\
         [[pass]]\nentry = \"Copy\"\ngroups = \"{groups}\"\nset = {{ Length = \"n\" }}\n"
    );
    std::fs::write(folder.join("pipeline.toml"), toml).expect("a file");
    let kernel = format!(
        "cbuffer C {{ uint Length; }};\nStructuredBuffer<uint> Source;\nRWStructuredBuffer<uint> Target;\n{kernel}\n"
    );
    std::fs::write(folder.join("kernel.hlsl"), kernel).expect("a file");
}

const COPY: &str = "[numthreads(64, 1, 1)] void Copy(uint3 id : SV_DispatchThreadID)
{ if (id.x < Length) { Target[id.x] = Source[id.x]; } }";

#[test]
fn what_goes_wrong_is_a_row_among_the_others() {
    if !has_adapter() {
        return;
    }
    let folder = scratch("rows");
    let groups = "ceil_div(n, 64)";
    put(&folder, "all/good", "colored \\u001b[31m", groups, COPY);
    put(&folder, "all/late", "", "max(ceil_div(n, 64), n - 50)", COPY);
    let run = |arguments: &[&str]| shaderlint_in(&folder, arguments, ("A", "1"));
    let (code, out, err) = run(&[
        "bench",
        "all",
        "--n",
        "10,100",
        "--report",
        "page.html",
        "--plot",
        "plot.svg",
    ]);
    assert_eq!((code, err.as_str()), (2, ""));
    assert_data_eq!(
        out,
        str![[r#"
[..]: waves of [..]

n = 10 [..]
cpu [..]
copy [..]
good [..]
late
  all/late/pipeline.toml:11:32: 10 - 50 is not a number from 0 to 2^64 - 1

n = 100 [..]
cpu [..]
copy [..]
good [..]
late [..]

"#]]
    );
    let page = std::fs::read_to_string(folder.join("page.html")).expect("the page");
    assert!(page.contains(
        "<td class=\"said bad\" colspan=\"4\">all/late/pipeline.toml:11:32: 10 - 50 is not a number"
    ));
    let plot = std::fs::read_to_string(folder.join("plot.svg")).expect("the plot");
    for text in [&page, &plot] {
        assert!(text.contains("colored \u{fffd}[31m") && !text.contains('\u{1b}'));
    }

    // A wrong result weighs more than what could not be run.
    put(
        &folder,
        "all/beyond",
        "",
        groups,
        &COPY.replace("id.x < Length", "id.x < Length + 64"),
    );
    let (code, out, err) = run(&["bench", "all", "--n", "10", "--output-format", "json"]);
    assert_eq!((code, err.as_str()), (1, ""));
    let expected = [
        ("cpu", "right"),
        ("copy", "right"),
        ("beyond", "wrong"),
        ("good", "right"),
        ("late", "failed"),
    ];
    assert_eq!(
        outcomes(&out),
        expected.map(|(system, outcome)| (system.to_owned(), outcome.to_owned()))
    );
    assert!(
        out.contains("\"WRONG: written behind the end of `Target`, which has 10 words: word 10\""),
        "{out}"
    );
}

#[test]
fn systems_are_called_by_their_paths() {
    if !has_adapter() {
        return;
    }
    let folder = scratch("names");
    for name in ["a/x", "b/x"] {
        put(&folder, name, "", "ceil_div(n, 64)", COPY);
    }
    // No copy, whatever it is called.
    put(&folder, "copy", "", "0", COPY);
    let systems = |at: &Path, what: &str| {
        let (_, out, err) = shaderlint_in(
            at,
            &["bench", what, "--n", "10", "--output-format", "json"],
            ("A", "1"),
        );
        assert_eq!(err, "");
        outcomes(&out)
            .into_iter()
            .map(|(system, _)| system)
            .collect::<Vec<String>>()
    };
    assert_eq!(systems(&folder, "."), ["cpu", "copy", "a/x", "b/x", "./copy"]);
    let one = folder.join("a/x");
    for (at, what) in [
        (&one, "."),
        (&one, "pipeline.toml"),
        (&folder, "a/x"),
        (&folder, "./a"),
    ] {
        assert_eq!(systems(at, what), ["cpu", "copy", "x"], "{what}");
    }
}

#[test]
fn what_cannot_be_written_is_told_before_anything_is_measured() {
    if !has_adapter() {
        return;
    }
    for option in ["--report", "--plot"] {
        let (code, out, err) = shaderlint(&["bench", "scan", option, "there/is/none"], ("A", "1"));
        assert_eq!((code, out.as_str()), (2, ""));
        assert_eq!(err, "error: there/is/none: no such file or folder\n");
    }
}

#[test]
fn a_folder_has_the_yardsticks_of_what_is_in_it() {
    if !has_adapter() {
        return;
    }
    let mixed = scratch("mixed");
    for system in ["scan/blocked-waves", "reduction/waves"] {
        let folder = root().join("fixtures").join(system);
        let to = mixed.join(folder.file_name().unwrap_or_default());
        std::fs::create_dir_all(&to).expect("a folder");
        for entry in std::fs::read_dir(folder).expect("a fixture") {
            let path = entry.expect("a file").path();
            std::fs::copy(&path, to.join(path.file_name().unwrap_or_default())).expect("a copy");
        }
    }
    put(&mixed, "own", "", "ceil_div(n, 64)", COPY);
    let mixed = mixed.to_string_lossy().into_owned();
    for (folder, yardstick, expected) in [
        (
            "fixtures/scan/blocked-waves",
            "copy",
            &["cpu", "copy", "blocked-waves"][..],
        ),
        (
            "fixtures/reduction/waves",
            "read",
            &["cpu", "copy", "read", "waves"],
        ),
        // Not the program's own ones.
        (
            "fixtures/yardsticks",
            "copy",
            &["cpu", "copy", "./copy", "./read"],
        ),
        // Both kinds are compared with a copy.
        (&mixed, "copy", &["cpu", "copy", "blocked-waves", "own", "waves"]),
    ] {
        let (code, out, err) = shaderlint(
            &["bench", folder, "--n", "10", "--output-format", "json"],
            ("A", "1"),
        );
        assert_eq!((code, err.as_str()), (0, ""));
        let systems: Vec<String> = outcomes(&out).into_iter().map(|(system, _)| system).collect();
        assert_eq!(systems, expected, "{folder}");
        assert!(
            out.contains(&format!("\"yardstick\": \"{yardstick}\"")),
            "{folder}: {out}"
        );
    }
}

/// What `--fix` makes of a kernel is the kernel of another pipeline.
#[test]
fn the_fixed_systems_are_the_fixes_of_the_others() {
    let folder = scratch("fixed");
    for (system, file) in [
        ("blocked-hillis-steele", "blocks.hlsl"),
        ("claimed-slots", "slots.hlsl"),
    ] {
        let read = |path: PathBuf| std::fs::read_to_string(path).expect("a kernel");
        let fixtures = root().join("fixtures/scan");
        let copy = folder.join(file);
        std::fs::write(&copy, read(fixtures.join(system).join(file))).expect("a file");
        let (code, _, err) = shaderlint(&["--fix", "--unsafe-fixes", &copy.to_string_lossy()], ("A", "1"));
        assert_eq!(code, 0, "{err}");
        // The first line is what the linter says.
        let text = |text: String| text.split_once('\n').map(|(_, rest)| rest.to_owned());
        let fixed = read(fixtures.join(format!("{system}-fixed")).join(file));
        assert_eq!(text(read(copy)), text(fixed), "{system}");
    }
}

/// Exit code and standard error for a pipeline in which `from` is replaced.
fn broken(from: &str, to: &str) -> String {
    let folder = scratch("broken");
    for file in ["pipeline.toml", "copy.hlsl"] {
        let text =
            std::fs::read_to_string(root().join("fixtures/yardsticks/copy").join(file)).expect("a fixture");
        std::fs::write(folder.join(file), text.replace(from, to)).expect("a file");
    }
    let (code, out, err) = shaderlint(&["bench", &folder.to_string_lossy(), "--n", "100"], ("A", "1"));
    assert_eq!((code, out.as_str()), (2, ""));
    err.replace(&*folder.to_string_lossy(), "FOLDER")
}

#[test]
fn what_is_wrong_is_shown_at_its_place() {
    assert_data_eq!(
        broken("groups = \"ceil_div(n, 4096)\"", "groups = \"ceil_div(m, 4096)\""),
        str![[r#"
error: unknown name `m`; there are n
   ┌─ FOLDER/pipeline.toml:13:20
   │
13 │ groups = "ceil_div(m, 4096)"
   │                    ^


"#]]
    );
    assert_data_eq!(
        broken("\"CopyQuads\"", "\"CopyPairs\""),
        str![[r#"
error: FOLDER/copy.hlsl: no entry point is called `CopyPairs`: expected one of CopyQuads
   ┌─ FOLDER/pipeline.toml:12:9
   │
12 │ entry = "CopyPairs"
   │         ^^^^^^^^^^^


"#]]
    );
    assert_data_eq!(
        broken("\"copy.hlsl\"", "\"other.hlsl\""),
        str![[r#"
error: FOLDER/other.hlsl: no such file or folder
  ┌─ FOLDER/pipeline.toml:3:11
  │
3 │ kernels = "other.hlsl"
  │           ^^^^^^^^^^^^


"#]]
    );
    assert_data_eq!(
        broken("uint Quads;", "uint Quads; texture *"),
        str![[r#"
warning: unsupported: code that shaderlint does not understand
   ┌─ FOLDER/copy.hlsl:14:29
   │
14 │     uint first = (group.y * GroupsInARow + group.x) * 1024 + thread;
   │                             ^^^^^^^^^^^^

error: FOLDER/copy.hlsl: the kernel has no WGSL form
   ┌─ FOLDER/pipeline.toml:12:9
   │
12 │ entry = "CopyQuads"
   │         ^^^^^^^^^^^


"#]]
    );
    let folder = scratch("latin");
    std::fs::write(folder.join("pipeline.toml"), b"about = \"\xe9\"\n").expect("a file");
    let (code, _, err) = shaderlint_in(&folder, &["bench", "."], ("A", "1"));
    assert_eq!(code, 2);
    assert_data_eq!(
        err,
        str![[r#"
error: the file is not UTF-8
  ┌─ pipeline.toml:1:10
  │
1 │ about = "�"
  │          ^


"#]]
    );
    // What is wrong with a configuration is not the pipeline's.
    let said = shaderlint(
        &["bench", "fixtures/scan/blelloch", "--config", "none.toml"],
        ("A", "1"),
    );
    assert_eq!(
        (said.0, said.2.as_str()),
        (2, "error: none.toml: no such file or folder\n")
    );
}

#[test]
fn sizes_are_checked() {
    let (code, _, err) = shaderlint(&["bench", "scan", "--n", "1e12"], ("A", "1"));
    assert_eq!(code, 2);
    assert_data_eq!(
        err,
        str![[r#"
error: invalid value '1e12' for '--n <N>': 1e12 is more than 2147483648

For more information, try '--help'.

"#]]
    );
    let (code, _, err) = shaderlint(&["bench", "sorts"], ("A", "1"));
    assert_eq!(code, 2);
    assert_data_eq!(
        err,
        str![[r#"
error: sorts: no such file or folder, and neither `scan` nor `reduction`

"#]]
    );
}

#[test]
fn the_two_that_are_broken_are_named_as_races_with_their_witness() {
    let (code, out, _) = shaderlint(&["fixtures/scan/padded-three-pass-as-found"], ("A", "1"));
    assert_eq!(code, 1);
    assert_data_eq!(
        out,
        str![[r#"
error[groupshared-race]: data race on g_Tree[5]
   ┌─ fixtures/scan/padded-three-pass-as-found/pairs.hlsl:39:45
   │
17 │ groupshared uint g_Tree[BLOCK + BLOCK / 32];
   │ -------------------------------------------- shared by the whole group
   ·
39 │             g_Tree[Spread(side + reach)] += g_Tree[Spread(side)];
   │             ----------------------------    ^^^^^^^^^^^^^^^^^^^^ thread 1 reads g_Tree[5]
   │             │
   │             thread 2 writes it here
   │
   = thread 1 reads g_Tree[5] in iteration 2 of the loop on line 34 (nodes =
     128) while thread 2 writes it in iteration 1 (nodes = 256), both after the
     barrier on line 31
   = other pairs of accesses also race here
   = threads of a wave need not run in lock-step
   = the fix is proved: with this barrier, no two threads of the group race on
     groupshared memory
   = fix: put the missing barrier before the statement on line 36 (--fix
     --unsafe-fixes)


"#]]
    );
    let (code, out, _) = shaderlint(&["fixtures/reduction/last-wave-as-found"], ("A", "1"));
    assert_eq!(code, 1);
    let (first, _) = out.split_once("\n\nwarning[").unwrap_or((&out, ""));
    assert_data_eq!(
        first,
        str![[r#"
error[groupshared-race]: data race on g_Part[16]
   ┌─ fixtures/reduction/last-wave-as-found/total.hlsl:38:27
   │
13 │ groupshared uint g_Part[256];
   │ ----------------------------- shared by the whole group
   ·
37 │         g_Part[thread] += g_Part[thread + 32];
   │         -------------- thread 16 writes it here
38 │         g_Part[thread] += g_Part[thread + 16];
   │                           ^^^^^^^^^^^^^^^^^^^ thread 0 reads g_Part[16]
   │
   = thread 0 reads g_Part[16] while thread 16 writes it, both after the
     barrier on line 33 in iteration 2 of the loop on line 27 (width = 64)
   = lines 39 to 42 also read what other threads write, with no barrier between
   = other pairs of accesses also race here
   = threads of a wave need not run in lock-step
   = help: put a GroupMemoryBarrierWithGroupSync() before each of lines 38 to
     42; on lines 38 to 42, read into a variable, wait at a
     GroupMemoryBarrierWithGroupSync(), then write; split the `if` on line 35:
     close it before each barrier, and test its condition again after that
     barrier (tested: this race is gone, and no other defect appears)
   = no automatic fix: barriers alone do not end the race: the `if`s around
     them must be split too


"#]]
    );
}
