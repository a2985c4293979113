//! Finding and reading included files.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use shaderlint_hlsl::{Includes, SourceFile};

/// Looks beside the including file, then in the include folders. Each file is read once in a run.
pub(crate) struct IncludeFolders {
    folders: Vec<PathBuf>,
    read: Mutex<HashMap<PathBuf, Option<Arc<[u8]>>>>,
}

impl IncludeFolders {
    pub fn new(folders: &[PathBuf]) -> Self {
        IncludeFolders {
            folders: folders.to_vec(),
            read: Mutex::new(HashMap::new()),
        }
    }

    fn read(&self, path: &Path) -> Option<Arc<[u8]>> {
        // A thread that panicked elsewhere leaves the cache as good as it was.
        let lock = || self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(path) {
            return known.clone();
        }
        let text = if path.is_file() {
            std::fs::read(path).ok().map(Arc::from)
        } else {
            None
        };
        lock().insert(path.to_owned(), text.clone());
        text
    }
}

impl Includes for IncludeFolders {
    fn resolve(&self, from: &str, path: &str, _angled: bool) -> Option<SourceFile> {
        // Many shaders are written on Windows.
        let path = path.replace('\\', "/");
        let beside = Path::new(from).parent();
        let folders = beside
            .into_iter()
            .chain(self.folders.iter().map(PathBuf::as_path));
        for folder in folders {
            let candidate = without_dots(&folder.join(&path));
            if let Some(text) = self.read(&candidate) {
                return Some(SourceFile {
                    path: candidate.display().to_string(),
                    text,
                });
            }
        }
        None
    }
}

/// `a/b/../c` as `a/c`, so that one file has one name.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if matches!(plain.components().next_back(), Some(Component::Normal(_))) => {
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
}
