//! What is included from where.

use std::fs;
#[cfg(unix)]
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::{FINDING, case, each, folder, kernel, run, run_in, survives_in};

/// Headers that include each other without end, too deeply, too often or too much.
#[test]
fn include_bombs() {
    let bombs = folder("include-bombs");
    let chain = |number: u32| {
        let next = number + 1;
        format!("#include \"chain{next}.inc\"\nstatic const uint C{number} = 1; // Barrier\n")
    };
    // Twice as many at each step, and no file is in itself.
    let tree = |number: u32| format!("#include \"tree{0}.inc\"\n#include \"tree{0}.inc\"\n", number + 1);
    for number in 0..200 {
        fs::write(bombs.join(format!("chain{number}.inc")), chain(number)).unwrap();
        if number < 40 {
            fs::write(bombs.join(format!("tree{number}.inc")), tree(number)).unwrap();
        }
    }
    for (name, text) in [
        ("tree40.inc", "// Barrier\n".to_owned()),
        ("round.inc", "#include \"about.inc\"\n// Barrier\n".to_owned()),
        ("about.inc", "#include \"round.inc\"\n".to_owned()),
        (
            "fan.inc",
            "#include \"fan.inc\"\n#include \"fan.inc\"\n// Barrier\n".to_owned(),
        ),
        (
            "large.inc",
            "// Barrier, and nothing else at all\n".repeat(300_000),
        ),
    ] {
        fs::write(bombs.join(name), text).unwrap();
    }
    let race = kernel("", "    g[gi] += g[(gi + 1) % 64];");
    survives_in(
        &bombs,
        &[
            case(
                "chain",
                format!("#include \"chain0.inc\"\n{race}"),
                "is included too deeply",
            ),
            case(
                "fan",
                format!("#include \"fan.inc\"\n{race}"),
                "fan.inc` includes itself",
            ),
            case(
                "cycle",
                format!("#include \"round.inc\"\n{race}"),
                "about.inc` includes itself",
            ),
            case(
                "tree",
                format!("#include \"tree0.inc\"\n{race}"),
                "more than 2000 includes: shaderlint skips the rest",
            ),
            case(
                "bytes",
                each(100, |_| "#include \"large.inc\"\n".to_owned()) + &race,
                "the translation unit is too large: its files exceed 64 MiB",
            ),
        ],
    );
    let (code, said) = run(&bombs, &["good.hlsl", "--output-format", "concise"]);
    assert!(code == 1 && said.contains(FINDING), "{said}");
}

/// A header with a race.
const INCLUDED_RACE: &str = "groupshared uint g_In[64];
void race(uint gi) { g_In[gi] += g_In[(gi + 1) % 64]; }
";

/// A kernel that includes it as `written`.
fn including(written: &str) -> String {
    format!(
        "#include \"{written}\"\n[numthreads(64, 1, 1)]\nvoid main(uint gi : SV_GroupIndex) {{ race(gi); }}\n// Barrier\n"
    )
}

/// An empty folder for a test. This repository is around the others, and so all of it would be the workspace.
fn beside_this_repository(test: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("shaderlint-{test}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// What is written in a file does not decide what else is read.
#[cfg(unix)]
#[test]
fn includes_stay_in_the_workspace() {
    let outside = beside_this_repository("workspace");
    for path in [
        "out.hlsli",
        "work/in.hlsli",
        "work/shared/deep.hlsli",
        "far/far.hlsli",
    ] {
        let path = outside.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, INCLUDED_RACE).unwrap();
    }
    let work = outside.join("work");
    for folder in [".git", "shaders/inner"] {
        fs::create_dir_all(work.join(folder)).unwrap();
    }
    symlink("../../out.hlsli", work.join("shaders/link.hlsli")).unwrap();
    symlink("../../far", work.join("shaders/linked")).unwrap();
    symlink("../in.hlsli", work.join("shaders/fine.hlsli")).unwrap();
    let absolute = outside.join("out.hlsli").display().to_string();
    let kernel = work.join("shaders/inner/a.hlsl");
    let concise = ["-v", "--output-format", "concise"];
    let named = kernel.display().to_string();
    // Whatever is asked for: the repository is what counts.
    let ways: [(&Path, &[&str]); 4] = [
        (&work, &["."]),
        (&work, &["shaders/inner"]),
        (&outside, &["work/shaders/inner/a.hlsl"]),
        (Path::new("/"), &[&named]),
    ];
    for (written, is_read) in [
        ("../../in.hlsli", true),
        ("../fine.hlsli", true),
        ("../../shared/../shared/DEEP.hlsli", true),
        ("../../../out.hlsli", false),
        ("../link.hlsli", false),
        ("../linked/far.hlsli", false),
        (&absolute, false),
    ] {
        fs::write(&kernel, including(written)).unwrap();
        for (folder, arguments) in ways {
            let (code, said) = run_in(folder, &outside.join("said"), &[&concise, arguments].concat());
            assert_eq!(
                said.contains("groupshared-race"),
                is_read,
                "{written} {arguments:?}: {said}"
            );
            assert_eq!(code, i32::from(is_read), "{said}");
            let refused = format!("warning: `{written}` leads out of the workspace, to ");
            let is_told = said.contains(&refused) && said.contains("a.hlsl:1:10\n");
            assert_eq!(is_told, !is_read, "{written}: {said}");
        }
    }
    // An include folder allows what is in it.
    for (written, allowed) in [
        ("../../../out.hlsli", outside.clone()),
        ("../linked/far.hlsli", outside.join("far")),
    ] {
        fs::write(&kernel, including(written)).unwrap();
        let allowed = allowed.display().to_string();
        let (code, said) = run(&work, &[&concise[..], &["-I", &allowed]].concat());
        assert!(code == 1 && said.contains("groupshared-race"), "{said}");
        let config = format!("[preprocess]\ninclude-dirs = [{allowed:?}]\n");
        fs::write(work.join("shaderlint.toml"), config).unwrap();
        let (code, said) = run(&work, &concise);
        assert!(code == 1 && said.contains("groupshared-race"), "{said}");
        fs::remove_file(work.join("shaderlint.toml")).unwrap();
    }
    // So do the commands for one file.
    fs::write(&kernel, including("../../../out.hlsli")).unwrap();
    for command in ["preprocess", "wgsl", "verify"] {
        let (_, said) = run(&work, &[command, "shaders/inner/a.hlsl"]);
        assert!(!said.contains("g_In"), "{command}: {said}");
    }
    let (_, said) = run(&work, &["preprocess", "shaders/inner/a.hlsl"]);
    assert!(said.contains("leads out of the workspace"), "{said}");
    fs::remove_dir_all(outside).unwrap();
}

/// Without a repository and a configuration, it is the working directory, else the file's own folder.
#[cfg(unix)]
#[test]
fn includes_of_files_that_are_in_no_project() {
    let root = beside_this_repository("no-project");
    for folder in ["tree/a/b", "other"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    fs::write(root.join("tree/in.hlsli"), INCLUDED_RACE).unwrap();
    fs::write(root.join("tree/a/b/k.hlsl"), including("../../in.hlsli")).unwrap();
    let named = root.join("tree/a/b/k.hlsl").display().to_string();
    let tree = root.join("tree").display().to_string();
    for (folder, argument, is_read) in [
        ("tree", "a", true),
        ("tree", &named, true),
        ("other", &tree, true),
        ("other", &named, false),
    ] {
        let arguments = ["-v", "--output-format", "concise", argument];
        let (_, said) = run_in(&root.join(folder), &root.join("said"), &arguments);
        assert_eq!(
            said.contains("groupshared-race"),
            is_read,
            "{folder} {argument}: {said}"
        );
        assert_eq!(said.contains("leads out of the workspace"), !is_read, "{said}");
    }
    fs::remove_dir_all(root).unwrap();
}

/// The folders below the folder of such a file may hold anything, for instance a whole home folder. Many files there are
/// not searched for includers.
#[cfg(unix)]
#[test]
fn includers_of_a_header_that_is_in_no_project() {
    let root = beside_this_repository("no-project-header");
    fs::create_dir_all(root.join("below")).unwrap();
    fs::write(root.join("in.hlsli"), INCLUDED_RACE).unwrap();
    let is_found = || {
        let arguments = ["--output-format", "concise", "in.hlsli"];
        let (_, said) = run_in(&root, &root.join("said"), &arguments);
        said.contains("groupshared-race")
    };
    assert!(!is_found());
    fs::write(root.join("below/k.hlsl"), including("../in.hlsli")).unwrap();
    assert!(is_found());
    for number in 0..1000 {
        fs::write(root.join(format!("below/{number}.txt")), "").unwrap();
    }
    assert!(!is_found());
    fs::write(root.join("k.hlsl"), including("in.hlsli")).unwrap();
    assert!(is_found());
    fs::remove_dir_all(root).unwrap();
}
