//! What is kept on disk changes how long a run takes, and nothing that it says.
#![expect(clippy::unwrap_used, reason = "a test that cannot read its files fails")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use support::{Folder, LADDER, RACE};

/// A kernel whose ladder stands in a header, under a macro that another header defines.
const KERNEL: &str = "#include \"size.hlsli\"
#include \"ladder.hlsli\"
StructuredBuffer<uint> Src;
RWStructuredBuffer<uint> Out;
[numthreads(SIZE, 1, 1)]
void main(uint gi : SV_GroupIndex)
{
    g_Scan[gi] = Src[gi];
    GroupMemoryBarrierWithGroupSync();
    Ladder(gi);
    Out[gi] = g_Scan[gi];
}
";

const HEADER: &str = "groupshared uint g_Scan[SIZE];
void Ladder(uint gi)
{
    for (uint s = 1; s < SIZE; s <<= 1)
    {
        uint left = gi >= s ? g_Scan[gi - s] : 0;
        GroupMemoryBarrierWithGroupSync();
        g_Scan[gi] += left;
        GroupMemoryBarrierWithGroupSync();
    }
}
";

/// A repository with a kernel in three files, and another kernel. An entry is kept of each, and of the header with the ladder.
fn repository(test: &str) -> Folder {
    let folder = Folder::new(test)
        .with("src/kernel.hlsl", KERNEL)
        .with("src/ladder.hlsli", HEADER)
        .with("include/size.hlsli", "#define SIZE 64\n")
        .with("src/race.hlsl", RACE);
    fs::create_dir(folder.0.join(".git")).unwrap();
    folder
}

fn command(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = folder.command(arguments);
    command.env_remove("SHADERLINT_NO_CACHE");
    command
}

/// What a run says, and the same of one that keeps nothing: they are equal.
#[track_caller]
fn said(folder: &Folder, arguments: &[&str]) -> String {
    let said = |command: &mut Command| {
        let output = command.output().unwrap();
        let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        format!("{:?}\n{out}{err}", output.status.code())
    };
    let with = said(&mut command(folder, arguments));
    let without = said(command(folder, arguments).arg("--no-cache"));
    assert_eq!(with, without);
    with
}

/// The entries that are kept in a folder, each with the time at which it was written.
fn entries(cache: &Path) -> BTreeMap<PathBuf, SystemTime> {
    let folders = fs::read_dir(cache).into_iter().flatten().flatten();
    let files = folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten());
    let files = files.map(|file| file.unwrap());
    files
        .map(|file| (file.path(), file.metadata().unwrap().modified().unwrap()))
        .collect()
}

/// How many entries a run with these arguments wrote.
#[track_caller]
fn written(folder: &Folder, arguments: &[&str]) -> usize {
    let cache = folder.0.join(".shaderlint_cache");
    // What is written at once may have the same time.
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    for path in entries(&cache).into_keys() {
        let file = fs::File::options().append(true).open(path).unwrap();
        file.set_modified(long_ago).unwrap();
    }
    said(folder, arguments);
    entries(&cache).values().filter(|time| **time != long_ago).count()
}

#[test]
fn nothing_is_read_again_that_is_as_it_was() {
    let folder = repository("cache_as_it_was");
    assert_eq!(written(&folder, &["-vv"]), 3);
    for arguments in [&["-vv"][..], &["--output-format", "sarif"], &["-q", "."]] {
        assert_eq!(written(&folder, arguments), 0, "{arguments:?}");
    }
}

#[test]
fn what_changed_is_read_again() {
    let folder = repository("cache_changed");
    let count = || written(&folder, &["."]);
    assert_eq!(count(), 3);
    // A comment in a header changes places.
    let header = |text: &str| fs::write(folder.0.join("src/ladder.hlsli"), text).unwrap();
    header(&format!("// Ours.\n{HEADER}"));
    assert_eq!(count(), 2);
    // A file of the name that is nearer is taken.
    fs::write(folder.0.join("src/size.hlsli"), "#define SIZE 32\n").unwrap();
    assert!(said(&folder, &["."]).contains("scan of 32 uints"));
    fs::remove_file(folder.0.join("src/size.hlsli")).unwrap();
    assert!(said(&folder, &["."]).contains("scan of 64 uints"));
    assert_eq!(count(), 0);
    fs::write(folder.0.join("src/race.hlsl"), RACE.replace("% 64", "% 32")).unwrap();
    assert_eq!(count(), 1);
    // One more of the name: which one was taken is a thing to tell.
    fs::create_dir(folder.0.join("other")).unwrap();
    fs::write(folder.0.join("other/size.hlsli"), "#define SIZE 128\n").unwrap();
    assert!(said(&folder, &["-vv"]).contains("2 files are called `size.hlsli`"));
    fs::remove_file(folder.0.join("include/size.hlsli")).unwrap();
    assert!(said(&folder, &["."]).contains("scan of 128 uints"));
    fs::remove_file(folder.0.join("other/size.hlsli")).unwrap();
    assert!(said(&folder, &["-vv"]).contains("cannot find `size.hlsli`"));
}

#[test]
fn settings_are_told_apart() {
    let folder = repository("cache_settings");
    let count = |arguments: &[&str]| written(&folder, arguments);
    assert_eq!(count(&["."]), 3);
    // Where the header's ladder is not found, or has no fix, the header itself is not read.
    for (arguments, entries) in [
        (&["-D", "A"][..], 3),
        (&["-D", "A=2"], 3),
        (&["--profile", "cs_5_0"], 2),
        (&["--hlsl-version", "2018"], 3),
        (&["--select", "groupshared-race"], 2),
        (&["--ignore", "groupshared-race"], 3),
        (&["-I", "other"], 3),
    ] {
        assert_eq!(count(arguments), entries, "{arguments:?}");
        assert_eq!(count(arguments), 0, "{arguments:?}");
    }
    // A configuration makes the folder a project.
    fs::write(folder.0.join("shaderlint.toml"), "[levels]\nperf = \"off\"\n").unwrap();
    assert_eq!(count(&["."]), 2);
    let of_some = "[[override]]\npaths = [\"src/race.hlsl\"]\nlevels = { groupshared-race = \"off\" }\n";
    fs::write(folder.0.join("shaderlint.toml"), of_some).unwrap();
    assert_eq!(count(&["."]), 3);
    assert!(!said(&folder, &["."]).contains("data race"));
    assert_eq!(count(&["."]), 0);
}

#[test]
fn fixes_are_made_of_what_is_kept() {
    let folder = repository("cache_fixes");
    said(&folder, &["."]);
    let fixed = command(&folder, &["--fix", "--unsafe-fixes"]).output().unwrap();
    let told = String::from_utf8(fixed.stderr).unwrap();
    assert_eq!(told, "2 fixes made; nothing left in 4 files\n");
    let text = fs::read_to_string(folder.0.join("src/race.hlsl")).unwrap();
    assert!(text.contains("GroupMemoryBarrierWithGroupSync();"), "{text}");
    assert!(!said(&folder, &["."]).contains("data race"));
}

/// An entry is written over, cut, empty, of another unit, or a folder.
#[test]
fn entries_that_were_spoiled_are_written_anew() {
    let folder = repository("cache_spoiled");
    let cache = folder.0.join(".shaderlint_cache");
    assert_eq!(written(&folder, &["."]), 3);
    let texts: Vec<Vec<u8>> = entries(&cache)
        .keys()
        .map(|path| fs::read(path).unwrap())
        .collect();
    let spoil = |spoiled: &dyn Fn(usize) -> Vec<u8>| {
        for (number, path) in entries(&cache).keys().enumerate() {
            fs::write(path, spoiled(number)).unwrap();
        }
        assert_eq!(written(&folder, &["."]), 3);
    };
    spoil(&|_| Vec::new());
    spoil(&|number| texts[number][..texts[number].len() / 2].to_vec());
    spoil(&|number| texts[(number + 1) % texts.len()].clone());
    for at in [0, 40, 100] {
        spoil(&|number| {
            let mut text = texts[number].clone();
            text[at] ^= 1;
            text
        });
    }
    for path in entries(&cache).keys() {
        fs::remove_file(path).unwrap();
        fs::create_dir(path).unwrap();
    }
    said(&folder, &["."]);
}

#[test]
fn nothing_is_kept_where_nobody_would_look_for_it() {
    let of_git = |folder: &Folder| folder.0.join(".shaderlint_cache").exists();
    let folder = repository("cache_off");
    command(&folder, &["--no-cache"]).output().unwrap();
    let off = |value: &str| {
        command(&folder, &[])
            .env("SHADERLINT_NO_CACHE", value)
            .output()
            .unwrap()
    };
    off("1");
    assert!(!of_git(&folder));
    off("0");
    assert!(of_git(&folder));
    // What Git is told of it.
    let ignored = fs::read_to_string(folder.0.join(".shaderlint_cache/.gitignore")).unwrap();
    assert_eq!(ignored.lines().last(), Some("*"));

    // A file where the folder should be.
    let folder = repository("cache_in_the_way").with(".shaderlint_cache", "");
    said(&folder, &["."]);

    // Neither project nor repository: the system's folder for such things has none around it.
    let alone = std::env::temp_dir().join(format!("shaderlint-alone-{}", std::process::id()));
    fs::create_dir_all(&alone).unwrap();
    let alone = Folder(alone).with("race.hlsl", RACE).with("scan.hlsl", LADDER);
    said(&alone, &["."]);
    assert_eq!(fs::read_dir(&alone.0).unwrap().count(), 2);
    said(&alone, &["--cache-dir", "kept"]);
    assert_eq!(entries(&alone.0.join("kept")).len(), 2);
    fs::remove_dir_all(&alone.0).unwrap();
}

/// What other programs put there is left to them, unless it is long ago.
#[test]
fn folders_of_other_programs_are_taken_out_in_the_end() {
    let folder = repository("cache_of_others")
        .with(".shaderlint_cache/0.0.1-new/entry", "")
        .with(".shaderlint_cache/0.0.1-old/entry", "");
    let cache = folder.0.join(".shaderlint_cache");
    let age = Duration::from_secs(31 * 24 * 60 * 60);
    let old = fs::File::open(cache.join("0.0.1-old")).unwrap();
    old.set_modified(SystemTime::now() - age).unwrap();
    said(&folder, &["."]);
    assert!(cache.join("0.0.1-new/entry").exists());
    assert!(!cache.join("0.0.1-old").exists());
    assert_eq!(entries(&cache).len(), 4);

    // A folder that somebody names is not ours.
    let named = repository("cache_of_somebody").with("kept/thesis/chapter", "");
    let old = fs::File::open(named.0.join("kept/thesis")).unwrap();
    old.set_modified(SystemTime::now() - age).unwrap();
    said(&named, &["--cache-dir", "kept"]);
    assert!(named.0.join("kept/thesis/chapter").exists());
    assert_eq!(fs::read_dir(named.0.join("kept")).unwrap().count(), 2);
}

/// All fixtures and examples: cold, kept, and kept by other threads.
#[test]
fn the_fixtures_are_found_alike() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/rules");
    let folder = Folder::new("cache_fixtures");
    fs::create_dir(folder.0.join(".git")).unwrap();
    copy(&fixtures, &folder.0.join("rules"));
    let arguments = ["--output-format", "json", "-vv"];
    let cold = said(&folder, &arguments);
    let cache = folder.0.join(".shaderlint_cache");
    assert!(entries(&cache).len() > 20);
    assert_eq!(written(&folder, &arguments), 0);
    let warm = command(&folder, &arguments)
        .env("RAYON_NUM_THREADS", "7")
        .output()
        .unwrap();
    assert!(cold.contains(&String::from_utf8(warm.stdout).unwrap()));
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}
