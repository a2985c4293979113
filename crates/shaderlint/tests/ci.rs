//! What docs/ci.md and the action for GitHub say is what happens.
#![expect(clippy::unwrap_used, reason = "a test that cannot set its files up fails")]
#![cfg(unix)]

mod support;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use snapbox::{assert_data_eq, str};
use support::{Folder, LADDER, RACE};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page() -> String {
    fs::read_to_string(root().join("docs/ci.md")).unwrap()
}

/// What is between the fences of blocks in this language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    page.split(&*fence)
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect()
}

fn folder(test: &str) -> Folder {
    Folder::new(test)
        .with("src/race.hlsl", RACE)
        .with("src/scan.hlsl", LADDER)
}

/// A command of a shell in the folder: its exit code unless that is 0, then what it prints.
fn shell(folder: &Folder, command: &str, variables: &[(&str, &str)]) -> String {
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(&folder.0)
        .env_remove("GITHUB_ACTIONS")
        .env("PATH", support::path_with_shaderlint())
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let mut said = String::new();
    if let Some(code) = output.status.code().filter(|code| *code != 0) {
        let _ = writeln!(said, "? {code}");
    }
    said + &String::from_utf8_lossy(&output.stdout) + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn shards_of_bazel_are_the_whole() {
    let (page, folder) = (page(), folder("ci-bazel"));
    let script = blocks(&page, "sh")[0];
    let run = |shard: &str| {
        let said = shell(
            &folder,
            script,
            &[
                ("TEST_SHARD_STATUS_FILE", "status"),
                ("TEST_TOTAL_SHARDS", "2"),
                ("TEST_SHARD_INDEX", shard),
                ("XML_OUTPUT_FILE", "test.xml"),
            ],
        );
        assert!(folder.0.join("status").exists());
        let report = fs::read_to_string(folder.0.join("test.xml")).unwrap();
        format!(
            "{said}{}\n",
            report
                .lines()
                .find(|line| line.contains("<testcase"))
                .unwrap()
                .trim()
        )
    };
    assert_data_eq!(
        run("0") + &run("1"),
        str![[r#"
? 1
1 finding in 1 file (1 fixable with --fix)
<testcase name="hillis-steele-scan" classname="src/scan.hlsl" file="src/scan.hlsl" line="9">
? 1
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)
<testcase name="groupshared-race" classname="src/race.hlsl" file="src/race.hlsl" line="6">

"#]]
    );
}

#[test]
fn the_action_runs_what_it_is_told_to() {
    let folder = folder("ci-action").with("src/*.hlsl", "");
    let action = root().join(".github/actions/shaderlint");
    let description = fs::read_to_string(action.join("action.yml")).unwrap();
    assert!(
        description.contains("$GITHUB_ACTION_PATH/run.sh"),
        "{description}"
    );
    let run = |arguments: &str| {
        shell(
            &folder,
            &action.join("run.sh").display().to_string(),
            &[("GITHUB_ACTIONS", "true"), ("SHADERLINT_ARGS", arguments)],
        )
    };
    assert_data_eq!(
        run("--select correctness src"),
        str![[r#"
? 1
::error title=groupshared-race,file=src/race.hlsl,line=6,endLine=6,col=18,endColumn=38::data race on g_Sum[1]%0Athread 0 reads g_Sum[1] while thread 1 writes it, with no barrier between them%0Aother pairs of accesses also race here%0Athreads of a wave need not run in lock-step%0Athe fix is proved: with these barriers, no two threads of the group race on groupshared memory
1 finding in 3 files (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        run("--output-format concise --exit-zero src/r*.hlsl"),
        str![[r#"
src/race.hlsl:6:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    // What is not quoted is still one command's arguments.
    assert_data_eq!(
        run("--quiet src/scan.hlsl;touch"),
        str![[r#"
? 2
error: src/scan.hlsl;touch: no such file or folder

"#]]
    );
    assert_data_eq!(
        run(""),
        str![[r#"
? 1
::error title=groupshared-race,file=src/race.hlsl,line=6,endLine=6,col=18,endColumn=38::data race on g_Sum[1]%0Athread 0 reads g_Sum[1] while thread 1 writes it, with no barrier between them%0Aother pairs of accesses also race here%0Athreads of a wave need not run in lock-step%0Athe fix is proved: with these barriers, no two threads of the group race on groupshared memory
::warning title=hillis-steele-scan,file=src/scan.hlsl,line=9,endLine=15::Hillis–Steele inclusive scan of 64 uints%0Aproved: g_Scan[i] ends as the sum of g_Scan[0] … g_Scan[i] for all i < 64, race-free%0Athe wave form passes one barrier; it needs shader model 6.0 and waves that hold consecutive threads (all known implementations pack 1-D groups this way)%0Athe fix is proved: the kernel writes the same values at wave sizes 4 to 128 (lane map: linear)
2 findings in 3 files (1 fixable with --fix, 1 more with --unsafe-fixes)

"#]]
    );
}

#[test]
fn jobs_of_gitlab_and_jenkins_write_their_reports() {
    let (page, folder) = (page(), folder("ci-jobs"));
    let of_gitlab = blocks(&page, "yaml")
        .into_iter()
        .find(|block| block.contains("codequality:"))
        .unwrap();
    let of_jenkins = blocks(&page, "groovy")[0];
    let command = |job: &str, before: &str| {
        let line = job
            .lines()
            .find_map(|line| line.trim_start().strip_prefix(before))
            .unwrap();
        line.trim_end_matches('\'').to_owned()
    };
    // Nothing is said to fail: the report is the verdict.
    let said = [(of_gitlab, "- "), (of_jenkins, "sh '")].map(|(job, before)| {
        let command = command(job, before);
        format!("$ {command}\n{}", shell(&folder, &command, &[]))
    });
    assert_data_eq!(
        said.concat(),
        str![[r#"
$ shaderlint --output-format gitlab -o gl-code-quality-report.json --exit-zero
2 findings in 2 files (1 fixable with --fix, 1 more with --unsafe-fixes)
$ shaderlint --output-format junit -o shaderlint.xml --exit-zero
2 findings in 2 files (1 fixable with --fix, 1 more with --unsafe-fixes)

"#]]
    );
    assert!(of_gitlab.contains("codequality: gl-code-quality-report.json"));
    assert!(of_jenkins.contains("junit 'shaderlint.xml'"));
    let report = |file: &str| fs::read_to_string(folder.0.join(file)).unwrap();
    let quality: serde_json::Value = serde_json::from_str(&report("gl-code-quality-report.json")).unwrap();
    assert_eq!(quality.as_array().map(Vec::len), Some(2));
    assert_eq!(report("shaderlint.xml").matches("<testcase ").count(), 2);
}

/// Where pre-commit is, its hooks are tried; `SHADERLINT_REQUIRE_PRE_COMMIT=1` fails where it is not.
#[test]
fn hooks_run_before_a_commit() {
    if Command::new("pre-commit").arg("--version").output().is_err() {
        let is_required = std::env::var_os("SHADERLINT_REQUIRE_PRE_COMMIT").is_some();
        assert!(!is_required, "no pre-commit to test with");
        println!("skipped: no pre-commit to test with");
        return;
    }
    let hooks = root().canonicalize().unwrap();
    let folder = folder("ci-pre-commit")
        .with("excluded.hlsl", RACE)
        .with("notes.txt", "")
        .with("shaderlint.toml", "[files]\nexclude = [\"excluded.hlsl\"]\n");
    let command = "git init -q . && git add . && for hook in shaderlint shaderlint-fix; do \
        pre-commit try-repo --all-files --color never \"$HOOKS\" $hook 2>/dev/null | \
        grep -E '^(shaderlint|- [hef]|error|warning)'; done; git diff --stat";
    let said = shell(
        &folder,
        command,
        &[
            ("HOOKS", &hooks.display().to_string()),
            ("PRE_COMMIT_HOME", ".cache"),
        ],
    );
    assert_data_eq!(
        said,
        str![[r#"
shaderlint...............................................................Failed
- hook id: shaderlint
- exit code: 1
error[groupshared-race]: data race on g_Sum[1]
warning[hillis-steele-scan]: Hillis–Steele inclusive scan of 64 uints
shaderlint --fix.........................................................Failed
- hook id: shaderlint-fix
- exit code: 1
- files were modified by this hook
error[groupshared-race]: data race on g_Sum[1]
 src/scan.hlsl | 24 +++++++++++++++++++++---
 1 file changed, 21 insertions(+), 3 deletions(-)

"#]]
    );
}
