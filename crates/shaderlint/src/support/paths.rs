//! Paths: their spelling, and whether two of them name the same file.

use std::path::{Component, Path, PathBuf};

/// The absolute path, without `.` and `..`. An empty path is the working directory.
pub(crate) fn here(path: &Path) -> PathBuf {
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    without_dots(&std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
}

/// The path relative to the working directory if it lies inside, else the absolute path.
pub(crate) fn shown(path: &Path) -> PathBuf {
    let path = here(path);
    let shorter = std::env::current_dir().ok().and_then(|folder| {
        let shorter = path.strip_prefix(folder).ok()?;
        Some(shorter.to_owned())
    });
    shorter.unwrap_or(path)
}

/// The path that `written` names in the folder of `file`.
pub(crate) fn beside(file: &Path, written: &str) -> PathBuf {
    without_dots(&file.with_file_name(written.replace('\\', "/")))
}

/// The name of a file in lower case.
pub(crate) fn name_of(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_string_lossy().to_lowercase())
}

/// Whether two paths name the same file. Follows links.
pub(crate) fn is_same(a: &Path, b: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    here(a) == here(b) || real(a).is_some_and(|a| real(b) == Some(a))
}

/// Whether the last components of `path` are `wanted` in any case. `wanted` is in lower case.
pub(crate) fn ends_with(path: &Path, wanted: &[&str]) -> bool {
    let mut components = path.components().rev();
    wanted.iter().rev().all(|wanted| {
        let component = components
            .next()
            .and_then(|component| component.as_os_str().to_str());
        component.is_some_and(|component| component.to_lowercase() == *wanted)
    })
}

/// Rewrites `a/b/../c` to `a/c`, so that one file has one name. If `a/b` is a link, `..` is the folder above
/// the link's target, as when the system opens the path. Windows removes `..` before it follows links
/// (learn.microsoft.com, *Naming Files, Paths, and Namespaces*).
pub(crate) fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if matches!(plain.components().next_back(), Some(Component::Normal(_))) => {
                if cfg!(unix)
                    && plain.is_symlink()
                    && let Ok(real) = plain.canonicalize()
                {
                    plain = real;
                }
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_taken_out() {
        for (path, expected) in [
            ("a/./b/../c", "a/c"),
            ("../a", "../a"),
            ("a/../../b", "../b"),
            ("/a/../b", "/b"),
        ] {
            assert_eq!(without_dots(Path::new(path)), Path::new(expected), "{path}");
        }
    }

    #[test]
    fn paths_end_alike_by_whole_components() {
        assert!(ends_with(Path::new("a/B/c.hlsl"), &["b", "c.hlsl"]));
        assert!(!ends_with(Path::new("a/bb/c.hlsl"), &["b", "c.hlsl"]));
        assert!(!ends_with(Path::new("c.hlsl"), &["b", "c.hlsl"]));
    }
}
