//! The files that a branch changes, according to git.

use crate::support::paths::{ends_with, here};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The files that changed since the branch left `revision`, committed or not. Untracked files count as
/// changed.
pub(crate) fn since(revision: &str) -> Result<Changed> {
    let top = git(Path::new("."), &["rev-parse", "--show-toplevel"])?;
    let top = PathBuf::from(String::from_utf8_lossy(&top).trim_end_matches('\n'));
    let arguments = [
        "diff",
        "--name-only",
        "--no-renames",
        "--merge-base",
        "-z",
        "--end-of-options",
        revision,
        "--",
    ];
    let changed = git(&top, &arguments)?;
    let unknown = git(&top, &["ls-files", "--others", "--exclude-standard", "-z"])?;
    let paths = changed
        .split(|byte| *byte == 0)
        .chain(unknown.split(|byte| *byte == 0));
    let paths = paths.filter(|path| !path.is_empty());
    let paths: HashSet<PathBuf> = paths
        .map(|path| real(&top.join(String::from_utf8_lossy(path).as_ref())))
        .collect();
    let gone = paths.iter().filter(|path| !path.exists());
    Ok(Changed {
        gone: gone.cloned().collect(),
        paths,
    })
}

/// Files that changed.
pub(crate) struct Changed {
    paths: HashSet<PathBuf>,
    /// The changed files that no longer exist.
    gone: Vec<PathBuf>,
}

impl Changed {
    pub fn has(&self, path: &Path) -> bool {
        self.paths.contains(&real(path))
    }

    /// Whether an include of `written` may have meant a file that no longer exists: one whose path ends like
    /// `written`.
    pub fn may_have_meant_a_gone_one(&self, written: &str) -> bool {
        let written = written.replace('\\', "/").to_lowercase();
        let wanted: Vec<&str> = written
            .split('/')
            .filter(|part| !matches!(*part, "" | "." | ".."))
            .collect();
        self.gone.iter().any(|path| ends_with(path, &wanted))
    }
}

/// The path with links followed. Git follows the links to its folder, so paths are comparable only in this
/// form.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| here(path))
}

fn git(folder: &Path, arguments: &[&str]) -> Result<Vec<u8>> {
    let output = Command::new("git")
        .current_dir(folder)
        .args(arguments)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .output()
        .context("git")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let hint = if said.contains("merge base") {
            "; a shallow clone lacks the commit where the branch left: fetch the whole history"
        } else {
            ""
        };
        bail!("git: {}{hint}", said.trim());
    }
    Ok(output.stdout)
}
