//! What is printed for people, services and other programs.
#![expect(clippy::unwrap_used, reason = "a test that cannot set its files up fails")]

mod support;

use std::fs;
use std::path::Path;

use serde_json::Value;
use snapbox::{assert_data_eq, str};
use support::{Folder, LADDER, RACE, of_each};

#[test]
fn github_shows_findings_beside_changed_lines() {
    let folder = of_each("github");
    assert_data_eq!(
        folder.printed(&["--output-format", "github"]),
        str![[r#"
::warning title=hillis-steele-scan,file=src/ladder.hlsl,line=9,endLine=15::Hillis–Steele inclusive scan of 64 uints%0Aproved: g_Scan[i] ends as the sum of g_Scan[0] … g_Scan[i] for all i < 64, race-free%0Athe wave form passes one barrier; it needs shader model 6.0 and waves that hold consecutive threads (all known implementations pack 1-D groups this way)%0Athe fix is proved: the kernel writes the same values at wave sizes 4 to 128 (lane map: linear)
::error title=groupshared-race,file=src/race.hlsl,line=6,endLine=6,col=18,endColumn=38::data race on g_Sum[1]%0Athread 0 reads g_Sum[1] while thread 1 writes it, with no barrier between them%0Aother pairs of accesses also race here%0Athreads of a wave need not run in lock-step%0Athe fix is proved: with these barriers, no two threads of the group race on groupshared memory

"#]]
    );
    let in_actions = |arguments: &[&str], workspace: &Path| {
        let output = folder
            .command(arguments)
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_WORKSPACE", workspace)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    // Standard output is no terminal here. Paths are those of the checkout.
    assert_data_eq!(
        in_actions(
            &["-q", "--select", "groupshared-race"],
            folder.0.parent().unwrap()
        ),
        str![[r#"
::error title=groupshared-race,file=github/src/race.hlsl,line=6,endLine=6,col=18,endColumn=38::data race on g_Sum[1]%0Athread 0 reads g_Sum[1] while thread 1 writes it, with no barrier between them%0Aother pairs of accesses also race here%0Athreads of a wave need not run in lock-step%0Athe fix is proved: with these barriers, no two threads of the group race on groupshared memory

"#]]
    );
    assert_data_eq!(
        in_actions(&["-q", "--output-format", "concise", "src/race.hlsl"], &folder.0),
        str![[r#"
src/race.hlsl:6:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]

"#]]
    );
}

#[test]
fn what_is_not_known_is_told_once() {
    let kernel = "[numthreads(64, 1, 1)]\nvoid main(uint i : SV_GroupIndex)\n{\n    UNKNOWN[i] = 1;\n\
                  GroupMemoryBarrierWithGroupSync();\n}\n";
    let folder = Folder::new("told-once").with("a.hlsl", kernel);
    assert_data_eq!(
        folder.said(&["-v"]),
        str![[r#"
0
warning: unknown name `UNKNOWN`
  ┌─ a.hlsl:4:5
  │
4 │     UNKNOWN[i] = 1;
  │     ^^^^^^^
  │
  = if the build defines it, pass `-D UNKNOWN=VALUE`

nothing found in 1 file; 1 file not understood in full
  1 file uses unknown names: `UNKNOWN` (1 file); use -D for those that the build defines

"#]]
    );
}

#[test]
fn json_has_what_could_not_be_looked_at() {
    let folder = Folder::new("json-failures").with("binary.hlsl", b"\0\xff\0");
    let arguments = ["--output-format", "json", "gone.hlsl", "*.none", "binary.hlsl"];
    let printed: serde_json::Value = serde_json::from_str(&folder.printed(&arguments)).unwrap();
    assert_data_eq!(
        serde_json::to_string_pretty(&printed["problems"]).unwrap(),
        str![[r#"
[
  {
    "message": "no such file or folder",
    "path": "gone.hlsl"
  },
  {
    "message": "no file matches",
    "path": "*.none"
  },
  {
    "message": "not a text file (UTF-8, or UTF-16 with a byte order mark)",
    "path": "binary.hlsl"
  }
]
"#]]
    );
}

#[test]
fn gitlab_has_a_code_quality_report() {
    let folder = of_each("gitlab");
    assert_data_eq!(
        folder.printed(&["--output-format", "gitlab"]),
        str![[r#"
[
  {
    "description": "Hillis–Steele inclusive scan of 64 uints",
    "check_name": "hillis-steele-scan",
    "fingerprint": "b5fc62b544fea7c21",
    "severity": "minor",
    "location": {
      "path": "src/ladder.hlsl",
      "lines": {
        "begin": 9,
        "end": 15
      }
    }
  },
  {
    "description": "data race on g_Sum[1]",
    "check_name": "groupshared-race",
    "fingerprint": "f4ea78c1af8bebba1",
    "severity": "major",
    "location": {
      "path": "src/race.hlsl",
      "lines": {
        "begin": 6,
        "end": 6
      }
    }
  }
]

"#]]
    );
    // Lines that come before a finding do not make another one of it.
    let fingerprints = |folder: &Folder| -> Vec<String> {
        let report: Value = serde_json::from_str(&folder.printed(&["--output-format", "gitlab"])).unwrap();
        let issues = report.as_array().unwrap().iter();
        issues
            .map(|issue| issue["fingerprint"].as_str().unwrap().to_owned())
            .collect()
    };
    let before = fingerprints(&folder);
    let moved = folder.with("src/race.hlsl", format!("// a line\n{RACE}"));
    assert_eq!(fingerprints(&moved), before);
    let twice = moved.with(
        "src/race.hlsl",
        format!(
            "{RACE}{}",
            RACE.replace("main", "other")
                .replace("groupshared uint g_Sum[64];", "")
        ),
    );
    let after = fingerprints(&twice);
    assert_eq!(after.len(), before.len() + 1);
    assert!(
        before.iter().all(|one| after.contains(one)),
        "{before:?} {after:?}"
    );
}

#[test]
fn junit_has_a_test_for_each_finding() {
    let folder = of_each("junit");
    assert_data_eq!(
        folder.printed(&["--output-format", "junit", "src", "gone\u{1}.hlsl"]),
        str![[r#"
<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="shaderlint" tests="3" failures="2" errors="1">
  <testsuite name="src/ladder.hlsl" tests="1" failures="1" errors="0">
    <testcase name="hillis-steele-scan" classname="src/ladder.hlsl" file="src/ladder.hlsl" line="9">
      <failure type="hillis-steele-scan" message="Hillis–Steele inclusive scan of 64 uints">src/ladder.hlsl:9:2
proved: g_Scan[i] ends as the sum of g_Scan[0] … g_Scan[i] for all i &lt; 64, race-free
the wave form passes one barrier; it needs shader model 6.0 and waves that hold consecutive threads (all known implementations pack 1-D groups this way)
the fix is proved: the kernel writes the same values at wave sizes 4 to 128 (lane map: linear)</failure>
    </testcase>
  </testsuite>
  <testsuite name="src/race.hlsl" tests="1" failures="1" errors="0">
    <testcase name="groupshared-race" classname="src/race.hlsl" file="src/race.hlsl" line="6">
      <failure type="groupshared-race" message="data race on g_Sum[1]">src/race.hlsl:6:18
thread 0 reads g_Sum[1] while thread 1 writes it, with no barrier between them
other pairs of accesses also race here
threads of a wave need not run in lock-step
the fix is proved: with these barriers, no two threads of the group race on groupshared memory</failure>
    </testcase>
  </testsuite>
  <testsuite name="shaderlint" tests="1" failures="0" errors="1">
    <testcase name="could not be checked" classname="shaderlint">
      <error type="failure" message="gone�.hlsl: no such file or folder"></error>
    </testcase>
  </testsuite>
</testsuites>

"#]]
    );
    let clean = Folder::new("junit-clean").with("a.hlsl", "");
    assert_data_eq!(
        clean.printed(&["--output-format", "junit"]),
        str![[r#"
<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="shaderlint" tests="1" failures="0" errors="0">
  <testsuite name="shaderlint" tests="1" failures="0" errors="0">
    <testcase name="nothing found" classname="shaderlint"/>
  </testsuite>
</testsuites>

"#]]
    );
}

#[test]
fn what_is_told_for_information_is_no_failed_test() {
    let folder = of_each("junit-info").with("shaderlint.toml", "[levels]\nperf = \"info\"\n");
    assert_data_eq!(
        folder.printed(&["--output-format", "junit", "--ignore", "correctness"]),
        str![[r#"
<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="shaderlint" tests="1" failures="0" errors="0">
  <testsuite name="src/ladder.hlsl" tests="1" failures="0" errors="0">
    <testcase name="hillis-steele-scan" classname="src/ladder.hlsl" file="src/ladder.hlsl" line="9">
      <system-out>Hillis–Steele inclusive scan of 64 uints
src/ladder.hlsl:9:2
proved: g_Scan[i] ends as the sum of g_Scan[0] … g_Scan[i] for all i &lt; 64, race-free
the wave form passes one barrier; it needs shader model 6.0 and waves that hold consecutive threads (all known implementations pack 1-D groups this way)
the fix is proved: the kernel writes the same values at wave sizes 4 to 128 (lane map: linear)</system-out>
    </testcase>
  </testsuite>
</testsuites>

"#]]
    );
}

#[test]
fn services_are_told_paths_from_the_top_of_the_checkout() {
    let folder = of_each("checkout");
    let places = |format: &str, variable: &str| {
        let output = folder
            .command(&["--output-format", format, "race.hlsl"])
            .current_dir(folder.0.join("src"))
            .env(variable, &folder.0)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("race.hlsl"), "{text}");
        text.matches("race.hlsl").count() == text.matches("src/race.hlsl").count()
    };
    for (format, variable) in [
        ("sarif", "GITHUB_WORKSPACE"),
        ("github", "GITHUB_WORKSPACE"),
        ("gitlab", "CI_PROJECT_DIR"),
        ("junit", "CI_PROJECT_DIR"),
    ] {
        assert!(places(format, variable), "{format}");
    }
}

#[test]
fn nobody_counts_in_annotations() {
    let folder = of_each("statistics-in-actions");
    let output = folder
        .command(&["--statistics", "-q"])
        .env("GITHUB_ACTIONS", "true")
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        folder.printed(&["--statistics", "-q"])
    );
    // `-` is standard output.
    assert_eq!(folder.printed(&["-o", "-", "-q"]), folder.printed(&["-q"]));
}

#[test]
fn a_barrier_that_is_found_fault_with_was_understood() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/rules/divergent-barrier/bad.hlsl");
    let folder = Folder::new("understood").with("a.hlsl", fs::read(page).unwrap());
    let json: serde_json::Value =
        serde_json::from_str(&folder.printed(&["--output-format", "json"])).unwrap();
    assert_ne!(json["findings"].as_array().unwrap().len(), 0);
    assert_eq!(json["problems"], serde_json::json!([]));
}

#[test]
fn output_goes_to_a_file_and_is_utf8_whatever_comes_in() {
    let folder = of_each("output-file").with("odd.hlsl", [b"// \xff\x1b[2J\n", RACE.as_bytes()].concat());
    assert_data_eq!(
        folder.said(&["-o", "found.txt", "--output-format", "concise"]),
        str![[r#"
1
3 findings in 4 files (1 fixable with --fix, 2 more with --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        fs::read_to_string(folder.0.join("found.txt")).unwrap(),
        str![[r#"
odd.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
src/ladder.hlsl:9:2: warning[hillis-steele-scan]: Hillis–Steele inclusive scan of 64 uints [fix]
src/race.hlsl:6:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]

"#]]
    );
    for format in ["full", "concise", "json", "sarif", "github", "gitlab", "junit"] {
        folder.printed(&["--output-format", format]);
    }
    assert_data_eq!(
        folder.said(&["-o", "gone/found.txt"]),
        str![[r#"
2
error: gone/found.txt: no such file or folder

"#]]
    );
}

#[test]
fn findings_are_counted() {
    let folder = of_each("statistics").with(
        "src/float.hlsl",
        LADDER
            .replace("uint>", "float>")
            .replace("shared uint", "shared float")
            .replace("uint left", "float left"),
    );
    assert_data_eq!(
        folder.said(&["--statistics"]),
        str![[r#"
1
     2  hillis-steele-scan  1 with a safe fix, 1 with an unsafe one
     1  groupshared-race    1 with an unsafe one, 1 allowed
3 findings in 4 files (1 fixable with --fix, 2 more with --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        folder.said(&[
            "--statistics",
            "-q",
            "--output-format",
            "json",
            "--select",
            "correctness"
        ]),
        str![[r#"
1
[
  {
    "rule": "groupshared-race",
    "findings": 1,
    "safe_fixes": 0,
    "unsafe_fixes": 1,
    "allowed": 1,
    "known": 0
  }
]

"#]]
    );
    assert_data_eq!(
        folder.said(&["--statistics", "--output-format", "sarif"]),
        str![[r#"
2
error: --statistics supports the formats full, concise and json

"#]]
    );
}

#[test]
fn ids_are_links_where_terminals_can() {
    let folder = of_each("links");
    let shown = |arguments: &[&str], force: &str| {
        let output = folder
            .command(&[&["--color", "always", "-q", "src/race.hlsl"], arguments].concat())
            .env("FORCE_HYPERLINK", force)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().next().unwrap().replace('\x1b', "^")
    };
    assert_data_eq!(
        shown(&[], "1"),
        str![
            "^[0m^[1m^[38;5;9merror[^]8;;https://github.com/shaderlint/shaderlint/blob/main/docs/rules/groupshared-race.md^/groupshared-race^]8;;^/]^[0m^[1m: data race on g_Sum[1]^[0m"
        ]
    );
    assert_data_eq!(
        shown(&["--output-format", "concise"], "1"),
        str![
            "^[1msrc/race.hlsl^[0m:6:18: ^[1;31merror[^]8;;https://github.com/shaderlint/shaderlint/blob/main/docs/rules/groupshared-race.md^/groupshared-race^]8;;^/]^[0m: data race on g_Sum[1]^[1m [unsafe fix]^[0m"
        ]
    );
    assert_data_eq!(
        shown(&["--output-format", "concise"], "0"),
        str![
            "^[1msrc/race.hlsl^[0m:6:18: ^[1;31merror[groupshared-race]^[0m: data race on g_Sum[1]^[1m [unsafe fix]^[0m"
        ]
    );
}

#[test]
fn standard_input_is_a_file_where_it_is_said_to_be() {
    let folder = Folder::new("stdin")
        .with("shaderlint.toml", "[levels]\ngroupshared-race = \"warn\"\n")
        .with("src/size.hlsli", "#define SIZE 64\n");
    let text = RACE.replace("numthreads(64", "numthreads(SIZE");
    let text = format!("#include \"size.hlsli\"\n{text}");
    assert_data_eq!(
        folder.said_of(RACE, &["-"]),
        str![[r#"
1
warning[groupshared-race]: data race on g_Sum[1]
  ┌─ <stdin>:6:18
  │
1 │ groupshared uint g_Sum[64];
  │ --------------------------- shared by the whole group
  ·
5 │     g_Sum[gi] = gi;
  │     --------- thread 1 writes it here
6 │     g_Sum[gi] += g_Sum[(gi + 1) % 64];
  │                  ^^^^^^^^^^^^^^^^^^^^ thread 0 reads g_Sum[1]
  │
  = thread 0 reads g_Sum[1] while thread 1 writes it, with no barrier between
    them
  = other pairs of accesses also race here
  = threads of a wave need not run in lock-step
  = the fix is proved: with these barriers, no two threads of the group race on
    groupshared memory
  = fix: put the missing barriers before this statement and between the reads
    and the write (--fix --unsafe-fixes)

1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        folder.said_of(
            &text,
            &[
                "-",
                "--stdin-filename",
                "src/a.hlsl",
                "--output-format",
                "concise"
            ]
        ),
        str![[r#"
1
src/a.hlsl:7:18: warning[groupshared-race]: data race on g_Sum[1] [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        folder.said(&["-", "src"]),
        str![[r#"
2
error: `-` must be the only path

"#]]
    );
    assert_data_eq!(
        folder.said(&["--stdin-filename", "a.hlsl", "src"]),
        str![[r#"
2
error: --stdin-filename only applies to `-`

"#]]
    );
}

#[test]
fn standard_input_is_fixed_on_the_way_through() {
    let folder = Folder::new("stdin-fix").with("a.hlsl", LADDER);
    let through = folder.said_of(LADDER, &["-", "--fix"]);
    let (fixed, summary) = through.rsplit_once("}\n").unwrap();
    assert_eq!(summary, "1 fix made; nothing left in 1 file\n");
    let expected = folder.run(&["--fix", "a.hlsl"]);
    assert!(expected.status.success());
    let expected = fs::read_to_string(folder.0.join("a.hlsl")).unwrap();
    assert_eq!(format!("{fixed}}}\n"), format!("0\n{expected}"));

    // What is left is said beside it, and what is not to be fixed comes through as it is.
    let latin1 = [b"// \xe9\r\n", RACE.as_bytes()].concat();
    let mut command = folder.command(&[
        "--fix",
        "--output-format",
        "concise",
        "--stdin-filename",
        "b.hlsl",
    ]);
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), &latin1).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.stdout, latin1);
    assert_eq!(output.status.code(), Some(1));
    assert_data_eq!(
        String::from_utf8(output.stderr).unwrap(),
        str![[r#"
b.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );

    let diff = folder.said_of(LADDER, &["-", "--diff", "-q", "--stdin-filename", "src/a.hlsl"]);
    assert!(
        diff.starts_with("1\n--- a/src/a.hlsl\n+++ b/src/a.hlsl\n@@ "),
        "{diff}"
    );
}

#[test]
fn shells_and_manuals_are_served() {
    let folder = Folder::new("generated");
    for (shell, beginning) in [
        ("bash", "_shaderlint() {"),
        ("zsh", "#compdef shaderlint"),
        ("fish", "# Print an optspec for argparse"),
        ("powershell", "\nusing namespace System.Management.Automation"),
        ("elvish", "\nuse builtin;"),
    ] {
        let script = folder.printed(&["completions", shell]);
        assert!(script.starts_with(beginning), "{script}");
    }
    // After --select and --ignore rules and categories are completed, after `explain` rules where a shell's script knows
    // of more than options.
    for (shell, rules) in [("bash", 3), ("fish", 2), ("zsh", 3)] {
        let script = folder.printed(&["completions", shell]);
        let count = |name: &str| script.matches(name).count();
        assert!(
            count("groupshared-race") >= rules && count("correctness") >= 2,
            "{shell}"
        );
    }
    let page = folder.printed(&["man"]);
    // Name, section, date and source: without a date, the source would stand in its place.
    let source = concat!("shaderlint ", env!("CARGO_PKG_VERSION"));
    let title = |name: &str| format!(".TH {name} 1 \" \" \"{source}\"");
    assert!(
        page.contains(&title("shaderlint")) && page.contains("\\-\\-output\\-format"),
        "{page}"
    );
    let explain = folder.printed(&["man", "explain"]);
    assert!(explain.contains(&title("shaderlint-explain")), "{explain}");
    // Whatever page is named in one is written.
    assert_eq!(folder.said(&["man", "--output-dir", "share/man1"]), "0\n");
    let pages: Vec<String> = fs::read_dir(folder.0.join("share/man1"))
        .unwrap()
        .map(|page| fs::read_to_string(page.unwrap().path()).unwrap())
        .collect();
    assert!(pages.contains(&page));
    let mut named: Vec<String> = pages
        .iter()
        .flat_map(|page| page.lines())
        .filter_map(|line| Some(line.strip_suffix("(1)")?.replace('\\', "")))
        .collect();
    named.sort();
    named.dedup();
    assert!(named.contains(&"shaderlint-explain".to_owned()), "{named:?}");
    for name in named {
        assert!(folder.0.join(format!("share/man1/{name}.1")).is_file(), "{name}");
    }
    assert_data_eq!(
        folder.said(&["man", "women"]),
        str![[r#"
2
error: no command is called `women`: expected one of check, init, explain, rules, preprocess, wgsl, verify, bench, server, completions, man

"#]]
    );
}

/// The report shows a header's problem once, and the summary counts every file that includes the header.
#[test]
fn the_last_lines_say_why_files_were_not_understood() {
    let file = format!("#include \"common.h\"\n{RACE}// uses gone\n").replace("= gi;", "= Gone(gi);");
    let folder = Folder::new("causes")
        .with("common.h", "#include \"gone.h\"\n")
        .with("a.hlsl", &file)
        .with("b.hlsl", &file)
        .with("c.hlsl", RACE.replace("= gi;", "= LEVEL + gi;"));
    let said = folder.said(&["--output-format", "concise", "."]);
    let (_, last) = said.split_once("not understood in full").unwrap_or_default();
    assert_data_eq!(
        last,
        str![[r#"
 (-v says where)
  1 include not found: `gone.h` (2 files); use -I to say where they are
  1 file uses unknown names: `LEVEL` (1 file); use -D for those that the build defines

"#]]
    );
}

#[test]
fn the_last_line_has_the_color_of_the_worst_finding() {
    let folder = Folder::new("summary-color")
        .with("race.hlsl", RACE)
        .with(
            "fine.hlsl",
            RACE.replace("    g_Sum[gi] += g_Sum[(gi + 1) % 64];\n", ""),
        )
        .with("header.hlsl", "// Barrier\n");
    let last = |arguments: &[&str]| {
        folder
            .said(arguments)
            .lines()
            .last()
            .unwrap_or_default()
            .to_owned()
    };
    for (file, line) in [
        (
            "race.hlsl",
            "\x1b[1;31m1 finding in 1 file (1 fixable with --fix --unsafe-fixes)\x1b[0m",
        ),
        ("fine.hlsl", "\x1b[1;32mnothing found in 1 file\x1b[0m"),
        (
            "header.hlsl",
            "\x1b[1m1 header not checked: no kernel includes it\x1b[0m",
        ),
    ] {
        assert_eq!(last(&["--color", "always", file]), line);
    }
}

/// What begins with `/` is found in no include folder.
#[test]
fn virtual_paths_need_virtual_folders() {
    let folder = Folder::new("virtual-paths").with("a.hlsl", format!("#include \"/Engine/A.ush\"\n{RACE}"));
    let said = folder.said(&["a.hlsl"]).replace("\n    ", " ");
    for text in [
        "without `/Engine/A.ush`, which was not found; use `virtual-dirs` to say where it is",
        "`/Engine/A.ush` (1 file); use `virtual-dirs` to say where they are\n",
    ] {
        assert!(said.contains(text), "{said}");
    }
}

/// An unknown name has consequences where it stands; it is told alone. A file that is read only for a header is told apart.
#[test]
fn consequences_and_includers_do_not_count_as_files_with_problems() {
    let sized = RACE.replace("g_Sum[64]", "g_Sum[SIZE]");
    let folder = Folder::new("consequences")
        .with("a.hlsl", sized)
        .with("lib/b.hlsli", "uint b() { return 1; } // Barrier\n")
        .with(
            "lib/b.hlsl",
            format!("#include \"b.hlsli\"\n{}", RACE.replace("= gi;", "= gi @ 1;")),
        );
    assert_data_eq!(
        folder.said(&["-v", "a.hlsl"]),
        str![[r#"
0
warning: unknown name `SIZE`
  ┌─ a.hlsl:1:24
  │
1 │ groupshared uint g_Sum[SIZE];
  │                        ^^^^
  │
  = if the build defines it, pass `-D SIZE=VALUE`

nothing found in 1 file; 1 file not understood in full
  1 file uses unknown names: `SIZE` (1 file); use -D for those that the build defines

"#]]
    );
    assert_data_eq!(
        folder.said(&["lib/b.hlsli"]),
        str![[r#"
0
nothing found in 1 file; 1 includer not understood in full (-v says where)
  1 file has text that shaderlint does not understand

"#]]
    );
}

#[test]
fn of_each_cause_one_example_is_shown_unless_all_are_asked_for() {
    let lines = "    g_Sum[gi] = gi @ 1;\n".repeat(3);
    let text = RACE.replace(
        "    g_Sum[gi] = gi;\n",
        &format!("{lines}    g_Sum[gi] = ONE + TWO;\n"),
    );
    let folder = Folder::new("examples").with("a.hlsl", text);
    let count = |arguments: &[&str], what: &str| folder.said(arguments).matches(what).count();
    for (arguments, of_names, of_text, more) in [(&[][..], 0, 0, 0), (&["-v"], 2, 1, 1), (&["-vv"], 2, 3, 0)]
    {
        assert_eq!(
            count(arguments, "warning: unknown name"),
            of_names,
            "{arguments:?}"
        );
        assert_eq!(
            count(arguments, "warning: could not parse this statement"),
            of_text,
            "{arguments:?}"
        );
        let said = "2 more like this in this file (-vv shows all)";
        assert_eq!(count(arguments, said), more, "{arguments:?}");
    }
}
