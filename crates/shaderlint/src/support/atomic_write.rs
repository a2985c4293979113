//! Atomic replacement of files.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// Atomically replaces the contents of a file, which must still be `old`, by `new`. Keeps the file's
/// permissions.
pub(crate) fn replace(path: &Path, old: &[u8], new: &[u8]) -> Result<()> {
    // Replace the target of a link, not the link.
    let target = path.canonicalize()?;
    ensure!(fs::read(&target)? == old, "the file changed during the run");
    let permissions = fs::metadata(&target)?.permissions();
    ensure!(!permissions.readonly(), "the file is read-only");
    let name = target.file_name().context("not a file")?.to_string_lossy();
    let temporary = target.with_file_name(format!(".{name}.shaderlint-{}", std::process::id()));
    let written = write_new(&temporary, new, permissions).and_then(|()| Ok(fs::rename(&temporary, &target)?));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Checks that a file can be written, before its contents are computed. Creates the file if it does not
/// exist.
#[cfg(feature = "gpu")]
pub(crate) fn is_writable(path: &Path) -> Result<()> {
    let opened = OpenOptions::new().append(true).create(true).open(path);
    opened.map(drop).with_context(|| path.display().to_string())
}

fn write_new(path: &Path, text: &[u8], permissions: fs::Permissions) -> Result<()> {
    let mut file: File = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text)?;
    file.set_permissions(permissions)?;
    file.sync_all()?;
    Ok(())
}
