//! The texts that fuzzing starts from: this project's own fixtures.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The contents of the files below a folder whose names end with `end`, ordered by path.
fn texts(folder: &Path, end: &str) -> Vec<Vec<u8>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    // Folders are listed in any order.
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        if path.is_dir() && name != "hostile" {
            found.extend(texts(&path, end));
        } else if name.ends_with(end) {
            found.extend(fs::read(&path));
        }
    }
    found
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

static KERNELS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let mut kernels = texts(&fixtures(), ".hlsl");
    kernels.extend(texts(&seeds(), ".hlsl"));
    kernels
});

static SETTINGS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let mut settings = texts(&seeds(), ".settings");
    for name in ["pipeline.toml", "kernel.toml", "shaderlint.toml"] {
        let found = texts(&fixtures(), name).into_iter();
        settings.extend(found.map(|text| [name.as_bytes(), b"\n", &text].concat()));
    }
    settings
});

static SCRIPTS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| texts(&seeds(), ".script"));

fn seeds() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds")
}

/// Kernels.
pub fn kernels() -> &'static [Vec<u8>] {
    &KERNELS
}

/// Configuration files, each after a line with its name.
pub fn settings() -> &'static [Vec<u8>] {
    &SETTINGS
}

/// Scripts of an editor for the server, in the lines of [`crate::server`].
pub fn scripts() -> &'static [Vec<u8>] {
    &SCRIPTS
}
