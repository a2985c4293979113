//! Which files are looked at, and which findings of theirs are new.
#![expect(clippy::too_many_lines, reason = "a test shows all that it expects")]
#![expect(clippy::unwrap_used, reason = "a test that cannot set its files up fails")]

mod support;

use std::fs;
use std::process::Command;

use snapbox::{assert_data_eq, str};
use support::{Folder, LADDER, RACE};

fn said(folder: &Folder, arguments: &[&str]) -> String {
    folder.said(&[&["--output-format", "concise"], arguments].concat())
}

#[test]
fn excluded_files_are_left_out_unless_named() {
    let folder = Folder::new("exclude")
        .with("shaderlint.toml", "[files]\nexclude = [\"*.gen.hlsl\"]\n")
        .with("shaders/shaderlint.toml", "[files]\nexclude = [\"/old\"]\n")
        .with("a.hlsl", RACE)
        .with("b.gen.hlsl", RACE)
        .with("shaders/old/c.hlsl", RACE)
        .with("shaders/d.hlsl", RACE);
    assert_data_eq!(
        folder.said(&["--show-files"]),
        str![[r#"
0
a.hlsl
shaders/d.hlsl

"#]]
    );
    assert_data_eq!(
        folder.said(&["--show-files", "b.gen.hlsl", "shaders"]),
        str![[r#"
0
b.gen.hlsl
shaders/d.hlsl

"#]]
    );
    assert_data_eq!(
        folder.said(&[
            "--show-files",
            "--force-exclude",
            "b.gen.hlsl",
            "shaders",
            "shaders/old/c.hlsl"
        ]),
        str![[r#"
0
shaders/d.hlsl

"#]]
    );
    assert_data_eq!(
        folder.said(&["--show-files", "gone", "a.hlsl"]),
        str![[r#"
2
a.hlsl
error: gone: no such file or folder

"#]]
    );
}

/// GLSL ends in `.comp`, too, and has no `[numthreads]`.
#[test]
fn a_file_called_like_glsl_is_a_shader_if_it_has_a_kernel() {
    let folder = Folder::new("shared-endings")
        .with(
            "a.comp",
            "#include \"b.h\"\n[numthreads(64, 1, 1)]\nvoid main() {}\n",
        )
        .with("b.h", "[numthreads(64, 1, 1)] void other() {}")
        .with("glsl.comp", "layout(local_size_x = 64) in;\nvoid main() {}\n")
        .with("deep/c.MESH", "[NumThreads(32, 1, 1)]\nvoid main() {}\n");
    let said = folder.said(&["--show-files"]);
    assert_eq!(said.replace('\\', "/"), "0\na.comp\ndeep/c.MESH\n");
}

#[test]
fn what_a_shader_is_called_is_configured() {
    let folder = Folder::new("include")
        .with(
            ".shaderlint.toml",
            "[files]\ninclude = [\"*.inc\", \"/gen/*.hlsl\"]\n",
        )
        .with("a.inc", "")
        .with("a.hlsl", "")
        .with("gen/b.hlsl", "")
        .with("deep/gen/c.hlsl", "")
        .with("deep/d.inc", "")
        .with("other/shaderlint.toml", "")
        .with("other/.shaderlint.toml", "[files]\ninclude = []\n")
        .with("other/e.inc", "")
        .with("other/e.hlsl", "");
    assert_data_eq!(
        folder.said(&["--show-files"]),
        str![[r#"
0
a.inc
deep/d.inc
gen/b.hlsl
other/e.hlsl

"#]]
    );
    assert_data_eq!(
        folder.said(&["--show-files", "--isolated"]),
        str![[r#"
0
a.hlsl
deep/gen/c.hlsl
gen/b.hlsl
other/e.hlsl

"#]]
    );
    let folder = folder.with("shaderlint.toml", "[files]\ninclude = [\"[a\"]\n");
    assert_data_eq!(
        folder.said(&["--show-files"]),
        str![[r#"
2
error: error parsing glob '[a': unclosed character class; missing ']'
  ┌─ shaderlint.toml:2:12
  │
2 │ include = ["[a"]
  │            ^^^^


"#]]
    );
    let broken = folder.with("shaderlint.toml", "[files]\ninclude = 1\n");
    assert_data_eq!(
        broken.said(&["--show-files"]),
        str![[r#"
2
error: expected an array, found number `1`
  ┌─ shaderlint.toml:2:11
  │
2 │ include = 1
  │           ^


"#]]
    );
}

#[test]
fn files_come_from_a_list() {
    let kernel = "#include \"ladder.hlsli\"\n[numthreads(64, 1, 1)] void main() {}\n";
    let folder = Folder::new("files-from")
        .with("shaderlint.toml", "[files]\nexclude = [\"b.hlsl\"]\n")
        .with("a.hlsl", RACE)
        .with("b.hlsl", RACE)
        .with("list", "a.hlsl\r\n\nb.hlsl\n")
        .with("gone", "a.hlsl\n*.hlsl\n")
        .with("empty", "")
        .with("ladder.hlsli", LADDER.replace("[numthreads(64, 1, 1)]\n", ""));
    assert_data_eq!(
        said(&folder, &["--files-from", "list"]),
        str![[r#"
1
a.hlsl:6:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
b.hlsl:6:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
2 findings in 2 files (2 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        said(&folder, &["--files-from", "list", "--force-exclude"]),
        str![[r#"
1
a.hlsl:6:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        said(&folder, &["--files-from", "gone"]),
        str![[r#"
2
a.hlsl:6:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
error: *.hlsl: no such file or folder
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        said(&folder, &["--files-from", "empty"]),
        str![[r#"
0
no shader files found

"#]]
    );
    let from_stdin = folder.said_of("a.hlsl\0", &["--output-format", "concise", "--files-from", "-"]);
    assert_data_eq!(
        from_stdin,
        str![[r#"
1
a.hlsl:6:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    // A header is taken for a kernel if nothing includes it; of a list nobody knows.
    assert_data_eq!(
        said(&folder, &["ladder.hlsli"]),
        str![[r#"
1
ladder.hlsli:8:2: warning[hillis-steele-scan]: Hillis–Steele inclusive scan of 64 uints (in a group of 64 threads, the length of g_Scan)
1 finding in 1 file

"#]]
    );
    assert_data_eq!(
        folder.said_of(
            "ladder.hlsli\n",
            &["--output-format", "concise", "--files-from", "-"]
        ),
        str![[r#"
0
nothing found in 1 file

"#]]
    );
    let folder = folder.with("c.hlsl", kernel);
    assert_data_eq!(
        said(&folder, &["ladder.hlsli"]),
        str![[r#"
0
nothing found in 1 file

"#]]
    );
    // Nor does anyone know who needs what it allows.
    let folder = Folder::new("files-from-allowed")
        .with("a.hlsl", format!("#include \"a.hlsli\"\n{RACE}"))
        .with(
            "a.hlsli",
            "// shaderlint: allow(groupshared-race): why\nuint x;\n",
        )
        .with("list", "a.hlsl\na.hlsli\n");
    assert_data_eq!(
        said(&folder, &["-q"]),
        str![[r#"
1
a.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
a.hlsli:1:22: warning[unused-suppression]: `groupshared-race` is allowed here but finds nothing

"#]]
    );
    assert_data_eq!(
        said(&folder, &["-q", "--files-from", "list"]),
        str![[r#"
1
a.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]

"#]]
    );
}

fn git(folder: &Folder, arguments: &[&str]) {
    let output = Command::new("git")
        .current_dir(&folder.0)
        .args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.com",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(arguments)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_branch_is_looked_at_where_it_changes_something() {
    let kernel = |header: &str| format!("#include \"{header}\"\n{RACE}");
    let folder = Folder::new("changed-since")
        .with("lib/size.hlsli", "#define SIZE 64\n")
        .with("lib/deep.hlsli", "#include \"size.hlsli\"\n")
        .with("a.hlsl", kernel("lib/deep.hlsli"))
        .with("b.hlsl", kernel("lib/other.hlsli"))
        .with("lib/other.hlsli", "")
        .with("gone.hlsl", RACE)
        .with("own/shaderlint.toml", "")
        .with("own/d.hlsl", RACE);
    git(&folder, &["init", "-q"]);
    git(&folder, &["add", "."]);
    git(&folder, &["commit", "-qm", "one"]);
    git(&folder, &["checkout", "-qb", "branch"]);
    let since_main = |folder: &Folder| said(folder, &["--changed-since", "main"]);
    assert_data_eq!(
        since_main(&folder),
        str![[r#"
0
no shader files changed since main

"#]]
    );
    // Committed, in the index, in the working tree, unknown to git, gone.
    let folder = folder.with("lib/size.hlsli", "#define SIZE 32\n");
    git(&folder, &["commit", "-qam", "two"]);
    fs::remove_file(folder.0.join("gone.hlsl")).unwrap();
    let folder = folder
        .with("c.hlsl", RACE)
        .with("own/shaderlint.toml", "[levels]\nperf = \"off\"\n");
    git(&folder, &["add", "own"]);
    assert_data_eq!(
        since_main(&folder),
        str![[r#"
1
a.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
c.hlsl:6:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
own/d.hlsl:6:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
3 findings in 5 files (3 fixable with --fix --unsafe-fixes)

"#]]
    );
    // What included a header that is gone, directly or not, found beside it or in the tree.
    fs::rename(folder.0.join("lib/size.hlsli"), folder.0.join("lib/extent.hlsli")).unwrap();
    fs::remove_file(folder.0.join("lib/other.hlsli")).unwrap();
    assert_data_eq!(
        since_main(&folder),
        str![[r#"
1
a.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
b.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
c.hlsl:6:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
own/d.hlsl:6:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
4 findings in 6 files (4 fixable with --fix --unsafe-fixes); 2 files not understood in full (-v says where)
  2 includes not found: `lib/other.hlsli` (1 file), `size.hlsli` (1 file); use -I to say where they are

"#]]
    );
    git(&folder, &["checkout", "-q", "lib"]);
    fs::remove_file(folder.0.join("lib/extent.hlsli")).unwrap();
    // What happens on the other branch meanwhile is none of this one's business.
    git(&folder, &["stash", "-qu"]);
    git(&folder, &["checkout", "-q", "main"]);
    let folder = folder.with("b.hlsl", format!("{RACE}// changed\n"));
    git(&folder, &["commit", "-qam", "three"]);
    git(&folder, &["checkout", "-q", "branch"]);
    assert_data_eq!(
        since_main(&folder),
        str![[r#"
1
a.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
1 finding in 3 files (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_eq!(
        folder.printed(&["--changed-since", "main", "--show-files"]),
        "a.hlsl\nlib/deep.hlsli\nlib/size.hlsli\n"
    );
    assert_data_eq!(
        said(&folder, &["--changed-since", "no-such-thing"]),
        str![[r#"
2
error: git: fatal: bad revision 'no-such-thing'

"#]]
    );
    git(&folder, &["checkout", "-q", "--orphan", "root"]);
    git(&folder, &["commit", "-qm", "unrelated"]);
    assert_data_eq!(
        since_main(&folder),
        str![[r#"
2
error: git: fatal: no merge base found; a shallow clone lacks the commit where the branch left: fetch the whole history

"#]]
    );
    git(&folder, &["checkout", "-q", "branch"]);
    let nested = Folder(folder.0.join("own"));
    assert_data_eq!(
        said(&nested, &["--changed-since", "main", "..", "--isolated"]),
        str![[r#"
1
../a.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
1 finding in 3 files (1 fixable with --fix --unsafe-fixes)

"#]]
    );
}

#[test]
fn a_header_that_is_named_is_looked_at_where_it_is_included() {
    let body = "g_Sum[gi] = gi;\ng_Sum[gi] += g_Sum[(gi + 1) % 64];\n";
    let kernel = "groupshared uint g_Sum[64];
[numthreads(64, 1, 1)]
void main(uint gi : SV_GroupIndex)
{
#include \"../lib/body.hlsli\"
    g_Sum[(gi * 2) % 64] = gi;
}
";
    let folder = Folder::new("named-header")
        .with(".git/HEAD", "")
        .with("lib/body.hlsli", body)
        .with("lib/stray.hlsli", "groupshared uint g_Stray[64];\n")
        .with("kernels/a.hlsl", kernel)
        .with("kernels/b.hlsl", kernel)
        .with("kernels/old.hlsl", kernel)
        .with("shaderlint.toml", "[files]\nexclude = [\"old.hlsl\"]\n");
    assert_data_eq!(
        said(&folder, &["lib/body.hlsli"]),
        str![[r#"
1
lib/body.hlsli:2:14: error[groupshared-race]: data race on g_Sum[1]
1 finding in 1 file

"#]]
    );
    // What was not asked for is not fixed, and no new finding of its own.
    assert_data_eq!(
        said(&folder, &["--fix", "--unsafe-fixes", "lib/body.hlsli"]),
        str![[r#"
1
lib/body.hlsli:2:14: error[groupshared-race]: data race on g_Sum[1]
1 finding in 1 file

"#]]
    );
    assert_eq!(
        fs::read_to_string(folder.0.join("kernels/a.hlsl")).unwrap(),
        kernel
    );
    assert_data_eq!(
        said(&folder, &["lib/stray.hlsli"]),
        str![[r#"
0
1 header not checked: no kernel includes it

"#]]
    );
    assert_data_eq!(
        said(&folder, &["--force-exclude", "lib/stray.hlsli", "lib/body.hlsli"]),
        str![[r#"
1
lib/body.hlsli:2:14: error[groupshared-race]: data race on g_Sum[1]
1 finding in 1 file; 1 header not checked: no kernel includes it

"#]]
    );
}

/// A run checks such a header in the kernels that together name what it declares, and says how many these are.
#[test]
fn a_header_that_many_kernels_include_is_checked_in_some_of_them() {
    let header = "void plain(uint gi) { g_Sum[gi] = gi; }
void mix(uint gi) { g_Sum[gi] += g_Sum[(gi + 1) % 64]; }
";
    let kernel = |name: &str| {
        format!(
            "groupshared uint g_Sum[64];\n#include \"lib.hlsli\"\n[numthreads(64, 1, 1)]
void main(uint gi : SV_GroupIndex) {{ {name}(gi); }}\n"
        )
    };
    let mut folder = Folder::new("many-kernels")
        .with(".git/HEAD", "")
        .with("lib.hlsli", header);
    for number in 10..30 {
        folder = folder.with(&format!("k{number}.hlsl"), kernel("plain"));
    }
    assert_data_eq!(
        said(&folder, &["lib.hlsli"]),
        str![[r#"
0
nothing found in 1 file; lib.hlsli checked in 1 of the 20 kernels that include it

"#]]
    );
    let folder = folder.with("z.hlsl", kernel("mix"));
    assert_data_eq!(
        said(&folder, &["lib.hlsli"]),
        str![[r#"
1
lib.hlsli:2:21: error[groupshared-race]: data race on g_Sum[0]
1 finding in 1 file; lib.hlsli checked in 2 of the 21 kernels that include it

"#]]
    );
}

#[test]
fn what_is_known_is_not_told() {
    let allowed = RACE.replace("% 64];", "% 64]; // shaderlint: allow(groupshared-race): why");
    let folder = Folder::new("baseline")
        .with("shaderlint.toml", "baseline = \"known.toml\"\n")
        .with("src/a b.hlsl", RACE)
        .with("src/ladder.hlsl", LADDER)
        .with("src/allowed.hlsl", &allowed);
    assert_data_eq!(
        said(&folder, &[]),
        str![[r#"
2
error: known.toml: no such baseline; --write-baseline writes it

"#]]
    );
    assert_data_eq!(
        said(&folder, &["--write-baseline"]),
        str![[r#"
0
wrote known.toml
2 findings are now in the baseline

"#]]
    );
    let known = |folder: &Folder| fs::read_to_string(folder.0.join("known.toml")).unwrap();
    assert_data_eq!(
        known(&folder),
        str![[r##"
# Known findings, counted by file and rule: shaderlint reports only what exceeds the count.
# Written by `shaderlint --write-baseline`.

["src/a b.hlsl"]
groupshared-race = 1

["src/ladder.hlsl"]
hillis-steele-scan = 1

"##]]
    );
    assert_data_eq!(
        said(&folder, &[]),
        str![[r#"
0
nothing new in 3 files; 2 findings known to the baseline

"#]]
    );
    assert_data_eq!(
        said(&folder, &["--statistics"]),
        str![[r#"
0
     0  hillis-steele-scan  1 known
     0  groupshared-race    1 allowed, 1 known
nothing new in 3 files; 2 findings known to the baseline

"#]]
    );
    let sarif = folder.run(&["--output-format", "sarif"]);
    let sarif: serde_json::Value = serde_json::from_slice(&sarif.stdout).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let kinds: Vec<&str> = results
        .iter()
        .map(|result| result["suppressions"][0]["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["external", "inSource", "external"]);

    // One more, and it may be either.
    let second = RACE
        .replace("main", "other")
        .replace("groupshared uint g_Sum[64];", "");
    let folder = folder.with("src/a b.hlsl", format!("{RACE}{second}"));
    assert_data_eq!(
        said(&folder, &[]),
        str![[r#"
1
src/a b.hlsl:6:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
src/a b.hlsl:14:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
2 findings in 3 files (2 fixable with --fix --unsafe-fixes); 1 finding known to the baseline

"#]]
    );
    let json = folder.run(&["--output-format", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let notes = json["findings"][0]["notes"].as_array().unwrap();
    assert_eq!(
        notes.last().unwrap(),
        "the baseline counts 1 of these in this file, but there are 2"
    );

    // One less; a file that is gone; a rule that is not looked for; a file that is not.
    let folder = folder.with("src/a b.hlsl", "");
    fs::remove_file(folder.0.join("src/ladder.hlsl")).unwrap();
    assert_data_eq!(
        said(&folder, &[]),
        str![[r#"
0
warning: known.toml counts 1 groupshared-race in src/a b.hlsl, but 0 are left: --write-baseline lowers the count
warning: known.toml counts 1 hillis-steele-scan in src/ladder.hlsl, but 0 are left: --write-baseline lowers the count
nothing found in 2 files

"#]]
    );
    assert_data_eq!(
        said(&folder, &["--ignore", "correctness"]),
        str![[r#"
0
warning: known.toml counts 1 hillis-steele-scan in src/ladder.hlsl, but 0 are left: --write-baseline lowers the count
nothing found in 2 files

"#]]
    );
    assert_data_eq!(
        said(&folder, &["src/allowed.hlsl"]),
        str![[r#"
0
warning: known.toml counts 1 hillis-steele-scan in src/ladder.hlsl, but 0 are left: --write-baseline lowers the count
nothing found in 1 file

"#]]
    );
    let folder = folder.with("src/ladder.hlsl", LADDER);
    // What an older shader model has no intrinsics for is there nevertheless.
    assert_data_eq!(
        said(&folder, &["--profile", "cs_5_0"]),
        str![[r#"
0
warning: known.toml counts 1 groupshared-race in src/a b.hlsl, but 0 are left: --write-baseline lowers the count
nothing found in 3 files

"#]]
    );
    assert_data_eq!(
        said(&folder, &["--write-baseline", "src/a b.hlsl", "-q"]),
        str![[r#"
0

"#]]
    );
    assert_data_eq!(
        known(&folder),
        str![[r##"
# Known findings, counted by file and rule: shaderlint reports only what exceeds the count.
# Written by `shaderlint --write-baseline`.

["src/ladder.hlsl"]
hillis-steele-scan = 1

"##]]
    );
}

#[test]
fn a_baseline_keeps_what_was_not_looked_for_and_fixes_leave_what_it_knows() {
    let folder = Folder::new("baseline-part")
        .with("shaderlint.toml", "baseline = \"known.toml\"\n")
        .with("a.hlsl", RACE)
        .with("b.hlsl", LADDER);
    for arguments in [
        &["--write-baseline", "-q"][..],
        &["--write-baseline", "-q", "--select", "perf"],
    ] {
        assert!(folder.run(arguments).status.success());
        assert_data_eq!(
            fs::read_to_string(folder.0.join("known.toml")).unwrap(),
            str![[r##"
# Known findings, counted by file and rule: shaderlint reports only what exceeds the count.
# Written by `shaderlint --write-baseline`.

["a.hlsl"]
groupshared-race = 1

["b.hlsl"]
hillis-steele-scan = 1

"##]]
        );
    }
    assert_data_eq!(
        said(&folder, &["--fix", "--unsafe-fixes"]),
        str![[r#"
0
nothing new in 2 files; 2 findings known to the baseline

"#]]
    );
    assert_eq!(fs::read_to_string(folder.0.join("b.hlsl")).unwrap(), LADDER);
    // Wherever it is.
    let elsewhere = Folder::new("baseline-elsewhere").with("b.hlsl", LADDER);
    let baseline = folder.0.join("known.toml").display().to_string();
    assert!(
        elsewhere
            .run(&["--baseline", &baseline, "--write-baseline"])
            .status
            .success()
    );
    assert!(
        elsewhere
            .run(&["--baseline", &baseline, "--fix"])
            .status
            .success()
    );
    assert_eq!(fs::read_to_string(elsewhere.0.join("b.hlsl")).unwrap(), LADDER);
    assert_data_eq!(
        folder.said_of(LADDER, &["-", "--write-baseline"]),
        str![[r#"
2
error: a baseline needs files, not `-`

"#]]
    );
    assert_data_eq!(
        folder.said_of("a.hlsl", &["--files-from", "-", "-"]),
        str![[r#"
2
error: `-` cannot be combined with a list of files

"#]]
    );
}

#[test]
fn a_baseline_that_names_no_rule_is_told_where_it_does() {
    let known = "[\"a.hlsl\"]\ngroupshared-rase = 1\nwave-prefix-sum-vs-scan-with-atomics = 1\n";
    let folder = Folder::new("baseline-unknown")
        .with("known.toml", known)
        .with("a.hlsl", RACE);
    assert_data_eq!(
        said(&folder, &["--baseline", "known.toml"]),
        str![[r#"
1
a.hlsl:6:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
warning: no rule is called `groupshared-rase`; did you mean `groupshared-race`?
  ┌─ known.toml:2:1
  │
2 │ groupshared-rase = 1
  │ ^^^^^^^^^^^^^^^^^^^^

warning: a baseline counts by rule: `wave-prefix-sum-vs-scan-with-atomics` stands for hillis-steele-scan, blelloch-scan, hand-rolled-scan, atomic-slot-claim
  ┌─ known.toml:3:1
  │
3 │ wave-prefix-sum-vs-scan-with-atomics = 1
  │ ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        said(&folder, &["--baseline", "known.toml", "-q"]),
        str![[r#"
1
a.hlsl:6:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]

"#]]
    );
}

#[test]
fn a_baseline_is_named_and_read_with_care() {
    let folder = Folder::new("baseline-named")
        .with("a.hlsl", RACE)
        .with("bad.toml", "[\"a.hlsl\"]\nrace = -1\n");
    assert_data_eq!(
        said(&folder, &["--write-baseline"]),
        str![[r#"
2
error: no baseline to write: name it with --baseline, or as `baseline` in shaderlint.toml

"#]]
    );
    assert_data_eq!(
        said(&folder, &["--baseline", "gone.toml"]),
        str![[r#"
2
error: gone.toml: no such baseline; --write-baseline writes it

"#]]
    );
    assert_data_eq!(
        said(&folder, &["--baseline", "bad.toml"]),
        str![[r#"
2
error: expected a whole number, 0 or more, found number `-1`
  ┌─ bad.toml:2:8
  │
2 │ race = -1
  │        ^^


"#]]
    );
    assert_data_eq!(
        said(&folder, &["--baseline", "ci/known.toml", "--write-baseline"]),
        str![[r#"
2
error: ci/known.toml: no such file or folder

"#]]
    );
    let folder = folder.with("ci/.keep", "");
    assert_data_eq!(
        said(&folder, &["--baseline", "ci/known.toml", "--write-baseline"]),
        str![[r#"
0
wrote ci/known.toml
1 finding is now in the baseline

"#]]
    );
    assert_data_eq!(
        said(&folder, &["--baseline", "ci/known.toml"]),
        str![[r#"
0
nothing new in 1 file; 1 finding known to the baseline

"#]]
    );
    assert_data_eq!(
        said(&folder, &["--write-baseline", "--fix"]),
        str![[r#"
2
error: the argument '--write-baseline' cannot be used with '--fix'

Usage: shaderlint --output-format <FORMAT> --write-baseline [PATH]...

For more information, try '--help'.

"#]]
    );
}

/// What is allowed is found no more, wherever it stands. No comment is put between lines that are joined.
#[test]
fn comments_that_allow_are_written() {
    let header = LADDER.replace("[numthreads(64, 1, 1)]\nvoid main", "void Scan");
    let folder = Folder::new("add-allow")
        .with("ladder.hlsl", LADDER.replace('\n', "\r\n"))
        .with("race.hlsl", RACE)
        .with("utf16.hlsl", utf16(RACE))
        .with("scan.hlsli", &header)
        .with(
            "includes.hlsl",
            "#include \"scan.hlsli\"\n[numthreads(64, 1, 1)]\nvoid main(uint gi : SV_GroupIndex) { Scan(gi); }\n",
        );
    assert_data_eq!(
        folder
            .said(&["--add-allow=before 2027", "--write-baseline"])
            .lines()
            .nth(1)
            .unwrap_or_default()
            .to_owned(),
        str!["error: the argument '--add-allow[=<REASON>]' cannot be used with '--write-baseline'"]
    );
    assert_data_eq!(
        folder.said(&["--add-allow=before 2027"]),
        str![[r#"
0
4 comments added in 4 files

"#]]
    );
    let read = |path: &str| fs::read(folder.0.join(path)).unwrap();
    let expected = LADDER
        .replace(
            "\tfor",
            "\t// shaderlint: allow(hillis-steele-scan): before 2027\n\tfor",
        )
        .replace('\n', "\r\n");
    assert_eq!(String::from_utf8(read("ladder.hlsl")).unwrap(), expected);
    let expected = RACE.replace(
        "    g_Sum[gi] +=",
        "    // shaderlint: allow(groupshared-race): before 2027\n    g_Sum[gi] +=",
    );
    assert_eq!(read("utf16.hlsl"), utf16(&expected));
    assert!(folder.said(&[]).contains("nothing found in 5 files"));
    assert_data_eq!(
        folder.said(&["--add-allow"]),
        str![[r#"
0
nothing to allow

"#]]
    );
    let joined = RACE.replace("+= g_Sum", "+= \\\n        g_Sum");
    let folder = Folder::new("add-allow-joined").with("race.hlsl", joined);
    assert_data_eq!(
        folder.said(&["--add-allow"]),
        str![[r#"
1
0 comments added in 0 files; 1 finding got no comment, on lines that continue the line before

"#]]
    );
}

fn utf16(text: &str) -> Vec<u8> {
    let units = std::iter::once(0xfeff).chain(text.encode_utf16());
    units.flat_map(u16::to_le_bytes).collect()
}
