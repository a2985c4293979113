//! `--watch`, with files that change while it runs.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot set its files up fails")]

mod support;

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use support::{Folder, RACE};

/// The lines up to the next one that begins so.
fn until(lines: &Receiver<String>, last: &str) -> Vec<String> {
    let mut found = Vec::new();
    loop {
        let line = lines.recv_timeout(Duration::from_secs(60)).expect("a line");
        if line.starts_with(last) {
            return found;
        }
        found.push(line);
    }
}

#[test]
fn files_are_looked_at_again_as_they_change() {
    const WAITS: &str = "watching for changes; Ctrl-C ends";
    let kernel = RACE.replace("[numthreads", "#include \"next.h\"\n[numthreads");
    let kernel = kernel.replace("(gi + 1) % 64", "NEXT");
    let folder = Folder::new("watch")
        .with("shaderlint.toml", "[preprocess]\ninclude-dirs = [\"lib\"]\n")
        .with("src/a.hlsl", &kernel)
        .with("lib/next.h", "#define NEXT ((gi + 1) % 64)\n");
    let mut shaderlint = folder
        .command(&["--watch", "--output-format", "concise", "src"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let errors = BufReader::new(shaderlint.stderr.take().unwrap());
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in errors.lines() {
            let _ = sender.send(line.unwrap());
        }
    });
    assert_eq!(
        until(&lines, WAITS),
        ["1 finding in 1 file (1 fixable with --fix --unsafe-fixes)"]
    );
    fs::write(folder.0.join("lib/next.h"), "#define NEXT gi\n").unwrap();
    assert_eq!(until(&lines, WAITS), ["nothing found in 1 file"]);
    fs::write(folder.0.join("src/b.hlsl"), RACE).unwrap();
    assert_eq!(
        until(&lines, WAITS),
        ["1 finding in 2 files (1 fixable with --fix --unsafe-fixes)"]
    );
    // A mistake is told, and does not end it.
    fs::write(
        folder.0.join("shaderlint.toml"),
        "[preprocess]\ninclude-dirs = 1\n",
    )
    .unwrap();
    assert!(
        until(&lines, WAITS)
            .iter()
            .any(|line| line.contains("expected an array"))
    );
    fs::write(
        folder.0.join("shaderlint.toml"),
        "[preprocess]\ninclude-dirs = [\"lib\"]\n",
    )
    .unwrap();
    until(&lines, WAITS);
    assert!(shaderlint.try_wait().unwrap().is_none());
    shaderlint.kill().unwrap();
    shaderlint.wait().unwrap();
    let refused = folder.run(&["--watch", "-"]);
    assert_eq!(refused.status.code(), Some(2));
}
