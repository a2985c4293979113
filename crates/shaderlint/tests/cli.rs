//! The binary from outside: arguments, files, exit codes, output.
#![expect(clippy::unwrap_used, reason = "a test that cannot set its files up fails")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use snapbox::{assert_data_eq, str};
use support::{Folder, LADDER, RACE};

/// The files looked at, told from a run in which each holds a bad group size, which is a warning.
fn looked_at(folder: &Folder, arguments: &[&str]) -> String {
    let said = folder.said(arguments);
    let places = said
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("\u{250c}\u{2500} "));
    places
        .filter_map(|place| place.split(':').next())
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn documented() {
    let cases = trycmd::TestCases::new();
    cases.case("tests/cmd/*.trycmd");
    // The help lists what the build can do.
    if !cfg!(feature = "gpu") {
        cases.skip("tests/cmd/help-gpu.trycmd");
    }
}

#[test]
fn nothing_found_is_zero() {
    let folder = Folder::new("nothing-found").with("a.hlsl", "float4 main() : SV_Target { return 1; }");
    assert_data_eq!(
        folder.said(&[]),
        str![[r#"
0
nothing found in 1 file

"#]]
    );
    assert_data_eq!(
        folder.said(&["--quiet", "a.hlsl"]),
        str![[r#"
0

"#]]
    );
    assert_data_eq!(
        folder.said(&["--output-format", "json", "--quiet"]),
        str![[r#"
0
{
  "version": "0.1.0",
  "findings": [],
  "problems": []
}

"#]]
    );
    assert_data_eq!(
        Folder::new("no-files").said(&[]),
        str![[r#"
0
no shader files found

"#]]
    );
}

#[test]
fn findings_are_one() {
    let folder = Folder::new("findings").with("a.hlsl", RACE).with("b.hlsl", RACE);
    let said = folder.said(&["--output-format", "concise", "b.hlsl", "a.hlsl", "./a.hlsl"]);
    assert_data_eq!(
        said,
        str![[r#"
1
a.hlsl:6:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
b.hlsl:6:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
2 findings in 2 files (2 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_eq!(folder.run(&["--exit-zero"]).status.code(), Some(0));
    assert_eq!(folder.run(&["--profile", "cs_5_0"]).status.code(), Some(1));
}

/// As people type it who know other linters: it is all the same.
#[test]
fn check_is_what_is_done_without_a_command() {
    let folder = Folder::new("check").with("a.hlsl", RACE).with("b/c.hlsl", RACE);
    let usual = |path: &str| folder.said(&["--output-format", "concise", path]);
    for arguments in [
        &["check", "--output-format", "concise", "b"][..],
        &["--format", "concise", "b"],
        &["-j", "1", "--format=concise", "--unsafe-fixes", "b"],
    ] {
        assert_eq!(folder.said(arguments), usual("b"), "{arguments:?}");
    }
    assert_eq!(folder.said(&["check", "--output-format", "concise"]), usual("."));
    assert_eq!(folder.run(&["-j", "0"]).status.code(), Some(2));
}

/// Errors are none of the warnings that may be left.
#[test]
fn some_warnings_may_be_left() {
    let folder = Folder::new("warnings")
        .with("a.hlsl", LADDER)
        .with("b.hlsl", LADDER);
    let code = |arguments: &[&str]| folder.run(arguments).status.code();
    assert_eq!(code(&[]), Some(1));
    assert_eq!(code(&["--max-warnings", "1"]), Some(1));
    assert_eq!(code(&["--max-warnings", "2"]), Some(0));
    assert_eq!(code(&["--max-warnings", "0", "--exit-zero"]), Some(0));
    let folder = folder.with("c.hlsl", RACE);
    assert_eq!(folder.run(&["--max-warnings", "9"]).status.code(), Some(1));
}

/// What warns fails anyway; a note fails if somebody asks for that.
#[test]
fn notes_may_fail() {
    let config = "[levels]\nhillis-steele-scan = \"info\"\n";
    let folder = Folder::new("denied")
        .with("a.hlsl", LADDER)
        .with("shaderlint.toml", config);
    let code = |arguments: &[&str]| folder.run(arguments).status.code();
    assert_eq!(code(&[]), Some(0));
    assert_eq!(code(&["--deny", "warnings"]), Some(0));
    assert_eq!(code(&["--deny", "notes"]), Some(1));
    assert_eq!(code(&["--deny", "info"]), Some(1));
    assert_eq!(code(&["--deny", "notes", "--exit-zero"]), Some(0));
    assert_eq!(code(&["--deny", "notes", "--max-warnings", "1"]), Some(2));
}

/// A file of which a part could not be read may have anything in it.
#[test]
fn what_is_not_understood_may_fail() {
    let kernel = "#include \"gone.hlsli\"\n[numthreads(1, 1, 1)]\nvoid main() { GroupMemoryBarrierWithGroupSync(); }\n";
    let folder = Folder::new("strict").with("a.hlsl", kernel);
    let code = |arguments: &[&str]| folder.run(arguments).status.code();
    assert_eq!(code(&[]), Some(0));
    assert_eq!(code(&["--strict", "--exit-zero"]), Some(0));
    assert_eq!(code(&["--strict", "--quiet"]), Some(2));
    assert_data_eq!(
        folder.said(&["--strict"]),
        str![[r#"
1
warning: cannot find `gone.hlsli`
  ┌─ a.hlsl:1:10
  │
1 │ #include "gone.hlsli"
  │          ^^^^^^^^^^^^

nothing found in 1 file; 1 file not understood in full
  1 include not found: `gone.hlsli` (1 file); use -I to say where they are

"#]]
    );
    let folder = folder.with("gone.hlsli", "");
    assert_eq!(folder.run(&["--strict"]).status.code(), Some(0));
}

/// The safe fix is made, the race is neither fixed nor told.
#[test]
fn fixes_alone_are_made_and_counted() {
    let folder = Folder::new("fix-only")
        .with("a.hlsl", LADDER)
        .with("b.hlsl", RACE);
    assert_data_eq!(
        folder.said(&[
            "--diff",
            "--show-fixes",
            "--output-format",
            "concise",
            "-o",
            "fixes.diff"
        ]),
        str![[r#"
1
a.hlsl: 1 hillis-steele-scan
1 fix to make; 1 finding in 2 files (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        folder.said(&["--fix-only", "--show-fixes"]),
        str![[r#"
0
a.hlsl: 1 hillis-steele-scan
1 fix made; 1 finding in 2 files (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        folder.said(&["--fix-only", "--quiet"]),
        str![[r#"
0

"#]]
    );
}

#[test]
fn rules_are_added_to_those_that_a_configuration_has() {
    let config = "[levels]\ncorrectness = \"off\"\nperf = \"off\"\n";
    let folder = Folder::new("selected")
        .with("a.hlsl", LADDER)
        .with("b.hlsl", RACE)
        .with("shaderlint.toml", config);
    let found = |arguments: &[&str]| {
        let said = folder.said(&[&["--output-format", "concise"], arguments].concat());
        ["hillis-steele-scan", "groupshared-race"].map(|rule| said.contains(rule))
    };
    assert_eq!(found(&[]), [false, false]);
    assert_eq!(found(&["--extend-select", "groupshared-race"]), [false, true]);
    assert_eq!(found(&["--select", "hillis-steele-scan"]), [true, false]);
    assert_eq!(
        found(&["--select", "hillis-steele-scan", "--extend-select", "correctness"]),
        [true, true]
    );
    assert_eq!(found(&["--select", "ALL"]), [true, true]);
    assert_eq!(
        found(&["--select", "ALL", "--ignore", "groupshared-race"]),
        [true, false]
    );
}

#[test]
fn a_failure_elsewhere_loses_no_finding() {
    let folder = Folder::new("failure-elsewhere").with("a.hlsl", RACE);
    assert_data_eq!(
        folder.said(&["--output-format", "concise", "gone.hlsl", "a.hlsl"]),
        str![[r#"
2
a.hlsl:6:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
error: gone.hlsl: no such file or folder
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
}

#[test]
fn json_counts_characters_from_one() {
    let folder = Folder::new("json").with(
        "a.hlsl",
        RACE.replace("    g_Sum[gi] +=", "/* \u{e9}\u{20ac} */ g_Sum[gi] +="),
    );
    let output = folder.run(&["--output-format", "json", "--quiet"]);
    assert_data_eq!(
        String::from_utf8_lossy(&output.stdout).into_owned(),
        str![[r#"
{
  "version": "0.1.0",
  "findings": [
    {
      "rule": "groupshared-race",
      "category": "correctness",
      "severity": "error",
      "path": "a.hlsl",
      "start": {
        "line": 6,
        "column": 23
      },
      "end": {
        "line": 6,
        "column": 43
      },
      "message": "data race on g_Sum[1]",
      "shape": null,
      "verdict": "racy",
      "notes": [
        "thread 0 reads g_Sum[1] while thread 1 writes it, with no barrier between them",
        "other pairs of accesses also race here",
        "threads of a wave need not run in lock-step"
      ],
      "fix": {
        "title": "put the missing barriers before this statement and between the reads and the write",
        "safety": "unsafe",
        "proof": "the fix is proved: with these barriers, no two threads of the group race on groupshared memory",
        "edits": [
          {
            "start": {
              "line": 6,
              "column": 10
            },
            "end": {
              "line": 6,
              "column": 44
            },
            "replacement": "GroupMemoryBarrierWithGroupSync();/n{/n    uint value = g_Sum[gi] + g_Sum[(gi + 1) % 64];/n    GroupMemoryBarrierWithGroupSync();/n    g_Sum[gi] = value;/n}"
          }
        ]
      },
      "no_fix": null
    }
  ],
  "problems": []
}

"#]]
    );
}

#[test]
fn folders_are_walked_with_regard_to_gitignore() {
    let bad = "[numthreads(0, 1, 1)] void main() { GroupMemoryBarrierWithGroupSync(); }";
    let folder = Folder::new("walk")
        .with(".gitignore", "built/\n")
        .with("built/out.hlsl", bad)
        .with(".hidden/x.hlsl", bad)
        .with("src/b.COMPUTE", bad)
        .with("src/a.usf", bad)
        .with("src/deep/er/c.hlsl", bad)
        .with("src/notes.txt", bad);
    assert_data_eq!(
        looked_at(&folder, &[]),
        "src/a.usf src/b.COMPUTE src/deep/er/c.hlsl"
    );
    assert_data_eq!(
        looked_at(&folder, &["src/deep", "src"]),
        "src/a.usf src/b.COMPUTE src/deep/er/c.hlsl"
    );
    // Patterns are the tool's to expand where the shell has not, and name what they match.
    assert_data_eq!(looked_at(&folder, &["src/**/*.hlsl"]), "src/deep/er/c.hlsl");
    assert_data_eq!(
        looked_at(&folder, &["./**/*.hlsl"]),
        "built/out.hlsl src/deep/er/c.hlsl"
    );
    assert_data_eq!(
        looked_at(&folder, &["src/*"]),
        "src/a.usf src/b.COMPUTE src/notes.txt"
    );
    assert_data_eq!(
        looked_at(&folder, &["src/notes.txt", "built/out.hlsl"]),
        "built/out.hlsl src/notes.txt"
    );
}

#[test]
fn group_sizes_that_cannot_be_are_named() {
    let kernel = |size: &str| {
        format!("[numthreads({size})]\nvoid main()\n{{\n    GroupMemoryBarrierWithGroupSync();\n}}\n")
    };
    let folder = Folder::new("group-sizes")
        .with("none.hlsl", kernel("0, 1, 1"))
        .with("many.hlsl", kernel("2048, 1, 1"));
    assert_data_eq!(
        folder.said(&[]),
        str![[r#"
0
warning: the thread group has 2048 threads, but D3D allows at most 1024: shaderlint does not analyse `main`
  ┌─ many.hlsl:1:1
  │
1 │ [numthreads(2048, 1, 1)]
  │ ^^^^^^^^^^^^^^^^^^^^^^^^

warning: the thread group has no threads: shaderlint does not analyse `main`
  ┌─ none.hlsl:1:1
  │
1 │ [numthreads(0, 1, 1)]
  │ ^^^^^^^^^^^^^^^^^^^^^

nothing found in 2 files

"#]]
    );
    assert_data_eq!(
        folder.said(&["--quiet"]),
        str![[r#"
0

"#]]
    );
}

#[test]
fn odd_input_is_no_disaster() {
    let nested = format!(
        "void f(uint i : SV_GroupIndex) {{ GroupMemoryBarrier(); x = {}1{}; }}",
        "(".repeat(20_000),
        ")".repeat(20_000)
    );
    let folder = Folder::new("odd-input")
        .with("0-empty.hlsl", "")
        .with("1-binary.hlsl", [0, 159, 146, 150, 0, 1, 2])
        .with("2-cut.hlsl", &RACE[..RACE.len() / 2])
        .with("3-nested.hlsl", nested)
        .with("4-self.hlsl", "#include \"4-self.hlsl\"\nGroupMemoryBarrier")
        .with("5-long.hlsl", "uint a; // Barrier \n".repeat(500_000))
        .with("6-latin1.hlsl", [b"// \xe9\n", RACE.as_bytes()].concat())
        .with("7-utf16.hlsl", b"\xff\xfeg\0r\0")
        .with(
            "8-missing-include.hlsl",
            format!("#include \"gone.hlsli\"\n#unknown no\n{RACE}"),
        );
    let said = folder.said(&["--output-format", "concise", "."]);
    assert_data_eq!(
        said,
        str![[r#"
1
6-latin1.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
8-missing-include.hlsl:8:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
2 findings in 9 files (2 fixable with --fix --unsafe-fixes); 4 files not understood in full (-v says where)
  1 include not found: `gone.hlsli` (1 file); use -I to say where they are
  4 files have text that shaderlint does not understand

"#]]
    );
    assert_data_eq!(
        folder.said(&["1-binary.hlsl"]),
        str![[r#"
2
error: 1-binary.hlsl: not a text file (UTF-8, or UTF-16 with a byte order mark)

"#]]
    );
}

#[test]
fn headers_are_found_beside_the_file_and_in_include_folders() {
    let folder = Folder::new("includes")
        .with("include/scan/race.hlsli", RACE)
        .with("src/a.hlsl", "#include \"beside.hlsli\"\n")
        .with("src/beside.hlsli", "#include <scan\\race.hlsli>\n")
        .with("src/b.hlsl", "#include \"../include/scan/race.hlsli\"\n");
    assert_data_eq!(
        folder.said(&["--output-format", "concise", "src/a.hlsl"]),
        str![[r#"
0
nothing found in 1 file

"#]]
    );
    // Two files see the same header: it is said once.
    let said = folder.said(&[
        "--output-format",
        "concise",
        "-I",
        "include",
        "src/a.hlsl",
        "src/b.hlsl",
    ]);
    assert_data_eq!(
        said,
        str![[r#"
1
include/scan/race.hlsli:6:18: error[groupshared-race]: data race on g_Sum[1]
1 finding in 2 files

"#]]
    );
}

/// An exact ladder and a float one; both race-free.
fn ladder(element: &str) -> String {
    LADDER
        .replace("uint>", &format!("{element}>"))
        .replace("groupshared uint", &format!("groupshared {element}"))
        .replace("uint left", &format!("{element} left"))
}

#[test]
fn utf16_is_read_and_written() {
    let utf16 = |text: &str| -> Vec<u8> {
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect()
    };
    let text = format!("// caf\u{e9}\n#include \"wide.hlsli\"\n{}", ladder("uint"));
    let folder = Folder::new("utf16")
        .with("ladder.hlsl", utf16(&text))
        .with("wide.hlsli", utf16("#define WIDE 1\n"))
        // Only its header tells that there is something to find.
        .with("short.hlsl", "#include \"race.hlsli\"\n")
        .with("race.hlsli", utf16(RACE))
        .with("damaged.hlsl", [utf16(&text), b"\x3d\xd8".to_vec()].concat());
    assert_data_eq!(
        folder.said(&["--output-format", "concise"]),
        str![[r#"
1
damaged.hlsl:11:2: warning[hillis-steele-scan]: Hillis–Steele inclusive scan of 64 uints [unsafe fix]
ladder.hlsl:11:2: warning[hillis-steele-scan]: Hillis–Steele inclusive scan of 64 uints [fix]
race.hlsli:6:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
3 findings in 5 files (1 fixable with --fix, 2 more with --unsafe-fixes); 1 file not understood in full (-v says where)
  1 file has text that shaderlint does not understand

"#]]
    );
    assert_data_eq!(
        folder.said(&["--fix", "--unsafe-fixes", "--output-format", "concise"]),
        str![[r#"
2
damaged.hlsl:11:2: warning[hillis-steele-scan]: Hillis–Steele inclusive scan of 64 uints [unsafe fix]
error: damaged.hlsl: not fixed: it is not all UTF-16
2 fixes made; 1 finding in 5 files (1 fixable with --fix --unsafe-fixes); 1 file not understood in full (-v says where)
  1 file has text that shaderlint does not understand

"#]]
    );
    let read = |path: &str| fs::read(folder.0.join(path)).unwrap();
    let fixed = String::from_utf8(shaderlint_hlsl::decode(&read("ladder.hlsl")).unwrap().to_vec()).unwrap();
    assert!(
        fixed.contains("WavePrefixSum") && fixed.contains("caf\u{e9}"),
        "{fixed}"
    );
    assert_eq!(read("ladder.hlsl"), utf16(&fixed), "the encoding stays");
    assert!(
        read("damaged.hlsl").starts_with(&utf16(&text)),
        "what is damaged is not touched"
    );
}

#[test]
fn each_bad_directive_is_one_problem_at_its_place() {
    let said = |name: &str, before: &str| {
        let folder = Folder::new(&format!("bad-{name}"))
            .with("a.hlsl", format!("{before}\n{RACE}"))
            .with("b.hlsli", "#include \"a.hlsl\"\n")
            .with("deep/0.hlsli", "#include \"1.hlsli\"\n");
        let folder = (1..100).fold(folder, |folder, n| {
            folder.with(
                &format!("deep/{n}.hlsli"),
                format!("#include \"{}.hlsli\"\n", n + 1),
            )
        });
        folder.said(&["-v", "--output-format", "concise", "a.hlsl"])
    };
    let endless = (0..40).fold("#define A0 x x\n".to_owned(), |text, n| {
        text + &format!("#define A{} A{n} A{n}\n", n + 1)
    });
    assert_data_eq!(
        said("macro", &(endless + "void f() { A40; }")),
        str![[r#"
1
a.hlsl:48:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
warning: macro `A40` expands to too much text; the call is left as it is
   ┌─ a.hlsl:42:12
   │
42 │ void f() { A40; }
   │            ^^^

1 finding in 1 file (1 fixable with --fix --unsafe-fixes); 1 file not understood in full
  1 file has text that shaderlint does not understand

"#]]
    );
    assert_data_eq!(
        said("chain", "#include \"deep/0.hlsli\""),
        str![[r#"
1
a.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
warning: `63.hlsli` is included too deeply
  ┌─ deep/62.hlsli:1:10
  │
1 │ #include "63.hlsli"
  │          ^^^^^^^^^^

1 finding in 1 file (1 fixable with --fix --unsafe-fixes); 1 file not understood in full
  1 file has text that shaderlint does not understand

"#]]
    );
    assert_data_eq!(
        said("open", "#if 1"),
        str![[r#"
1
a.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
warning: `#if` without `#endif`
  ┌─ a.hlsl:1:1
  │
1 │ #if 1
  │ ^^^

1 finding in 1 file (1 fixable with --fix --unsafe-fixes); 1 file not understood in full
  1 file has text that shaderlint does not understand

"#]]
    );
    assert_data_eq!(
        said("missing", "#include \"gone.hlsli\""),
        str![[r#"
1
a.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
warning: cannot find `gone.hlsli`
  ┌─ a.hlsl:1:10
  │
1 │ #include "gone.hlsli"
  │          ^^^^^^^^^^^^

1 finding in 1 file (1 fixable with --fix --unsafe-fixes); 1 file not understood in full
  1 include not found: `gone.hlsli` (1 file); use -I to say where they are

"#]]
    );
    assert_data_eq!(
        said("cycle", "#include \"b.hlsli\""),
        str![[r#"
1
a.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1]
warning: `a.hlsl` includes itself
  ┌─ b.hlsli:1:10
  │
1 │ #include "a.hlsl"
  │          ^^^^^^^^

1 finding in 1 file; 1 file not understood in full
  1 file has text that shaderlint does not understand

"#]]
    );
    assert_data_eq!(
        said("itself", "#include \"a.hlsl\""),
        str![[r#"
1
a.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1]
warning: `a.hlsl` includes itself
  ┌─ a.hlsl:1:10
  │
1 │ #include "a.hlsl"
  │          ^^^^^^^^

1 finding in 1 file; 1 file not understood in full
  1 file has text that shaderlint does not understand

"#]]
    );
}

#[test]
fn fixes_are_shown_or_made() {
    let latin1 = |text: &str| -> Vec<u8> {
        text.replace('\n', "\r\n")
            .chars()
            .map(|c| u8::try_from(u32::from(c)).unwrap())
            .collect()
    };
    let uints = latin1(&ladder("uint"));
    let folder = Folder::new("fixes")
        .with("uints.hlsl", &uints)
        .with("floats.hlsl", ladder("float"));
    let read = |path: &str| fs::read(folder.0.join(path)).unwrap();

    let diff = folder.run(&["--diff"]);
    assert_eq!(diff.status.code(), Some(1));
    let shown = String::from_utf8_lossy(&diff.stdout).into_owned();
    assert!(
        shown.contains("+++ b/uints.hlsl") && !shown.contains("floats.hlsl"),
        "{shown}"
    );
    assert_eq!(read("uints.hlsl"), uints, "a diff changes nothing");

    let readable = fs::metadata(folder.0.join("uints.hlsl")).unwrap().permissions();
    assert_data_eq!(
        folder.said(&["--fix", "--output-format", "concise"]),
        str![[r#"
1
floats.hlsl:9:2: warning[hillis-steele-scan]: Hillis–Steele inclusive scan of 64 floats [unsafe fix]
1 fix made; 1 finding in 2 files (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    let fixed = read("uints.hlsl");
    assert_eq!(
        fs::metadata(folder.0.join("uints.hlsl")).unwrap().permissions(),
        readable
    );
    assert!(
        fixed.windows(5).any(|window| window == b"caf\xe9\r"),
        "bytes that are no UTF-8 stay"
    );
    let lines = fixed.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    assert!(
        lines
            .clone()
            .all(|line| line.ends_with(b"\r") && !line.starts_with(b"  ")),
        "line ends and tabs stay"
    );
    assert_eq!(
        fs::read_dir(&folder.0).unwrap().count(),
        2,
        "no file is left behind"
    );

    assert_data_eq!(
        folder.said(&["--fix", "--unsafe-fixes"]),
        str![[r#"
0
1 fix made; nothing left in 2 files

"#]]
    );
    assert_data_eq!(
        folder.said(&["--fix", "--unsafe-fixes"]),
        str![[r#"
0
nothing found in 2 files

"#]]
    );
    assert_eq!(read("uints.hlsl"), fixed, "what is fixed stays as it is");
}

#[test]
fn waves_are_not_advised_where_there_are_none() {
    let folder = Folder::new("profile").with("a.hlsl", ladder("uint"));
    let code = |arguments: &[&str]| folder.run(arguments).status.code();
    assert_eq!(
        (
            code(&[]),
            code(&["--profile", "cs_6_0"]),
            code(&["--profile", "cs_5_1"])
        ),
        (Some(1), Some(1), Some(0))
    );
    let old =
        Folder::new("profile-in-file").with("a.hlsl", format!("#pragma target 5.0\n{}", ladder("uint")));
    assert_eq!(old.run(&[]).status.code(), Some(0));
    assert_eq!(old.run(&["--profile", "cs_6_0"]).status.code(), Some(1));
}

#[test]
fn color_is_a_choice() {
    let folder = Folder::new("color").with("a.hlsl", RACE);
    let is_colored = |arguments: &[&str]| folder.run(arguments).stdout.contains(&0x1b);
    assert!(!is_colored(&["a.hlsl"]) && !is_colored(&["--color", "never", "a.hlsl"]));
    assert!(is_colored(&["--color", "always", "a.hlsl"]));
}

/// The diagnostics of every fixture, in full, beside it.
#[test]
fn fixtures_read_well() {
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/rules");
    let mut fixtures: Vec<PathBuf> = fs::read_dir(&rules)
        .unwrap()
        .flat_map(|rule| fs::read_dir(rule.unwrap().path()).unwrap())
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "hlsl"))
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("bad"))
        })
        .collect();
    fixtures.sort();
    for path in fixtures {
        let name = path.file_name().unwrap().to_str().unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_shaderlint"))
            .current_dir(path.parent().unwrap())
            .args(["--output-format", "full", "--color", "never", "--quiet", name])
            .output()
            .unwrap();
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        snapbox::Assert::new()
            .action_env(snapbox::assert::DEFAULT_ACTION_ENV)
            .eq(shown, snapbox::Data::read_from(&path.with_extension("txt"), None));
    }
}

#[test]
fn comments_that_allow_no_rule_are_told_of() {
    let racy = RACE.replace("% 64];", "% 64]; // shaderlint: allow(groupshared-races): why");
    let folder = Folder::new("allow")
        .with("a.hlsl", &racy)
        .with("b.hlsl", racy.replace("races", "race, no-such-thing"))
        .with("c.hlsl", "/* \u{e9} shaderlint: allow(manual-wave) */\n");
    assert_data_eq!(
        folder.said(&["--output-format", "concise"]),
        str![[r#"
1
a.hlsl:6:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
warning: no rule is called `groupshared-races`; did you mean `groupshared-race`?
  ┌─ a.hlsl:6:61
  │
6 │     g_Sum[gi] += g_Sum[(gi + 1) % 64]; // shaderlint: allow(groupshared-races): why
  │                                                             ^^^^^^^^^^^^^^^^^

warning: no rule is called `no-such-thing`; `shaderlint rules` lists them
  ┌─ b.hlsl:6:79
  │
6 │     g_Sum[gi] += g_Sum[(gi + 1) % 64]; // shaderlint: allow(groupshared-race, no-such-thing): why
  │                                                                               ^^^^^^^^^^^^^

warning: no rule is called `manual-wave`; did you mean `manual-wave-reduction-pattern`?
  ┌─ c.hlsl:1:24
  │
1 │ /* é shaderlint: allow(manual-wave) */
  │                        ^^^^^^^^^^^

1 finding in 3 files (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        folder.said(&["--quiet", "b.hlsl", "c.hlsl"]),
        str![[r#"
0

"#]]
    );
}
