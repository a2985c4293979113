//! The files of a run, and what they mention.

mod mentions;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use shaderlint_hlsl::{SourceFile, decode};

use crate::support::paths::{ends_with, here};
use crate::workspace::prefilter;
use crate::workspace::walk::{self, Workspace};
use mentions::Mentions;
pub(crate) use mentions::OfWorkspace;

/// The files of a run. Each file is read once, each folder is listed once, and the trees are searched only if
/// necessary.
pub(crate) struct Files {
    read: Mutex<HashMap<PathBuf, Option<SourceFile>>>,
    /// Texts that replace those on disk, by absolute path.
    given: Mutex<HashMap<PathBuf, Arc<[u8]>>>,
    /// The names in a folder, by their lower-case form.
    listings: Mutex<HashMap<PathBuf, Arc<HashMap<String, OsString>>>>,
    /// Folders in which stray headers are looked up.
    trees: Vec<PathBuf>,
    /// The files in the trees, by the lower-case form of their names.
    index: OnceLock<HashMap<String, Vec<PathBuf>>>,
    /// Files are included only from these folders, from the `loose` ones and from `reach`. Links in these paths are
    /// resolved.
    fence: Mutex<Vec<PathBuf>>,
    /// Folders in which only [`walk::loose_files`] are searched for includers.
    loose: Vec<PathBuf>,
    /// One more folder that files are included from. It is not searched for includers.
    reach: Option<PathBuf>,
    /// The files to check are read from these folders only, too.
    guards_inputs: bool,
    mentions: Mutex<Mentions>,
    /// Grows with each change of a given text, and whenever files on disk may have changed.
    generation: AtomicU64,
}

impl Files {
    /// Files are included from the folders of `workspace` and from those that are allowed later. Links do not
    /// lead out of these folders. Stray headers are looked up in `trees`.
    pub fn new(trees: Vec<PathBuf>, workspace: &Workspace) -> Self {
        let resolved = |folder: &PathBuf| folder.canonicalize().ok();
        let files = Files {
            read: Mutex::default(),
            given: Mutex::default(),
            listings: Mutex::default(),
            trees,
            index: OnceLock::new(),
            fence: Mutex::default(),
            loose: workspace.loose.iter().filter_map(resolved).collect(),
            reach: workspace.reach.as_ref().and_then(resolved),
            guards_inputs: false,
            mentions: Mutex::default(),
            generation: AtomicU64::new(0),
        };
        files.allow(&workspace.folders);
        files
    }

    /// As [`Files::new`], but the files to check must lie in these folders, too.
    pub fn within(folders: &[PathBuf]) -> Self {
        Files {
            guards_inputs: true,
            ..Files::new(
                folders.to_vec(),
                &Workspace {
                    folders: folders.to_vec(),
                    ..Workspace::default()
                },
            )
        }
    }

    /// A single file with this name and these bytes. There are no others.
    pub fn given(name: &str, bytes: &[u8]) -> Self {
        let files = Files::within(&[]);
        files.give(Path::new(name), Some(bytes.into()));
        files
    }

    /// Allows reading in these folders, too.
    pub fn allow<'a>(&self, folders: impl IntoIterator<Item = &'a PathBuf>) {
        let mut fence = lock(&self.fence);
        let folders = folders
            .into_iter()
            .filter_map(|folder| here(folder).canonicalize().ok());
        for folder in folders {
            if !fence.contains(&folder) {
                fence.push(folder);
            }
        }
    }

    /// Whether the path exists in a folder that may be read.
    pub fn allows(&self, path: &Path) -> bool {
        let path = here(path).canonicalize();
        path.is_ok_and(|path| {
            let fence = lock(&self.fence);
            let mut folders = fence.iter().chain(&self.loose).chain(&self.reach);
            folders.any(|folder| path.starts_with(folder))
        })
    }

    /// Whether [`Files::add_input`] was called for the file at `path`.
    pub fn is_input(&self, path: &Path) -> bool {
        lock(&self.mentions).is_input(path)
    }

    /// Records that the run checks the file at `path` by itself, whatever its extension.
    pub fn add_input(&self, path: &Path) {
        lock(&self.mentions).add_input(path);
    }

    /// Replaces the text of the file at `path`. `None` restores the text on disk. Returns whether the text is
    /// another one than before.
    pub fn give(&self, path: &Path, bytes: Option<Arc<[u8]>>) -> bool {
        let path = here(path);
        let of_path = || self.bytes_if(&path, true).ok();
        let before = of_path();
        match bytes {
            Some(bytes) => lock(&self.given).insert(path.clone(), bytes),
            None => lock(&self.given).remove(&path),
        };
        let now = of_path();
        // The file may have changed on disk since it was read.
        let is_as_read = |file: &SourceFile| {
            let text = now.as_ref().and_then(|bytes| decode(bytes));
            here(Path::new(&file.path)) != path || text.is_some_and(|text| *text == *file.text)
        };
        if now == before && lock(&self.read).values().flatten().all(is_as_read) {
            return false;
        }
        self.changed(&path);
        true
    }

    /// Forgets what was read from a file that may have changed.
    pub fn changed(&self, path: &Path) {
        // Any file that was missing may have been this one. It may also have been read under another name.
        let is_other = |file: &SourceFile| here(Path::new(&file.path)) != path;
        lock(&self.read).retain(|_, file| file.as_ref().is_some_and(is_other));
        lock(&self.mentions).change(path);
        self.generation.fetch_add(1, Ordering::SeqCst);
    }

    /// A number that differs between states of the files.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    /// Forgets what was read: any file on disk may have changed.
    pub fn forget(&self) {
        lock(&self.read).clear();
        lock(&self.listings).clear();
        lock(&self.mentions).forget();
        self.generation.fetch_add(1, Ordering::SeqCst);
    }

    /// The bytes of a file to check, at exactly this path.
    pub fn bytes(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.bytes_if(path, !self.guards_inputs)
    }

    /// Whether the file at `path` may have an entry point of its own.
    pub fn may_have_entry(&self, path: &Path) -> bool {
        // Another place reports a file that cannot be read.
        let is_met = |bytes: Vec<u8>| match decode(&bytes) {
            Some(text) => prefilter::names_entry(&text),
            None => prefilter::names_entry(&bytes),
        };
        self.bytes(path).map_or(true, is_met)
    }

    /// Whether the file at this path may be checked.
    pub fn may_be_checked(&self, path: &Path) -> bool {
        !self.guards_inputs || self.allows(path)
    }

    fn bytes_if(&self, path: &Path, is_allowed: bool) -> io::Result<Vec<u8>> {
        let given = lock(&self.given).get(&here(path)).cloned();
        match given {
            Some(bytes) => Ok(bytes.to_vec()),
            None if is_allowed || self.allows(path) => std::fs::read(path),
            None => Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "outside the workspace and the include folders",
            )),
        }
    }

    /// Whether there is a file at this path that may not be included.
    pub fn refuses(&self, path: &Path) -> bool {
        let is_given = lock(&self.given).contains_key(&here(path));
        !is_given && path.is_file() && !self.allows(path)
    }

    /// Whether there is a file at exactly this path, through folders that all exist.
    pub fn is_there(&self, path: &Path) -> bool {
        path.is_file() || lock(&self.given).contains_key(&here(path))
    }

    /// Reads the file at `path`, in any case.
    pub fn read(&self, path: &Path) -> Option<SourceFile> {
        if let Some(known) = lock(&self.read).get(path) {
            return known.clone();
        }
        let is_given = lock(&self.given).contains_key(&here(path));
        let actual = if is_given || path.is_file() {
            Some(path.to_owned())
        } else {
            self.in_any_case(path).filter(|path| path.is_file())
        };
        let file = actual.and_then(|actual| {
            let bytes = self.bytes_if(&actual, false).ok()?;
            // The preprocessor reports a binary file.
            let text = decode(&bytes).unwrap_or_else(|| bytes.into());
            let path = actual.display().to_string();
            Some(SourceFile { path, text })
        });
        lock(&self.read).insert(path.to_owned(), file.clone());
        file
    }

    /// The path as its folders spell it.
    fn in_any_case(&self, path: &Path) -> Option<PathBuf> {
        let mut actual = PathBuf::new();
        for component in path.components() {
            let next = actual.join(component);
            if next.exists() {
                actual = next;
                continue;
            }
            let Component::Normal(name) = component else {
                return None;
            };
            let listing = self.listing(&actual);
            actual.push(listing.get(&name.to_str()?.to_lowercase())?);
        }
        Some(actual)
    }

    fn listing(&self, folder: &Path) -> Arc<HashMap<String, OsString>> {
        if let Some(known) = lock(&self.listings).get(folder) {
            return Arc::clone(known);
        }
        let is_here = folder.as_os_str().is_empty();
        let folder_read = if is_here { Path::new(".") } else { folder };
        let entries = self.allows(folder_read).then(|| std::fs::read_dir(folder_read));
        let names = entries.into_iter().flatten().flatten().filter_map(|entry| {
            let name = entry.ok()?.file_name();
            Some((name.to_str()?.to_lowercase(), name))
        });
        let listing: Arc<HashMap<String, OsString>> = Arc::new(names.collect());
        lock(&self.listings).insert(folder.to_owned(), Arc::clone(&listing));
        listing
    }

    /// The files of the trees whose paths end like `path`, the nearest to the file `from` first. If there are
    /// none, drops leading folders of `path` until some match, but never its last folder.
    pub fn ending_like(&self, path: &str, from: &Path) -> Vec<PathBuf> {
        let path = path.to_lowercase();
        let wanted: Vec<&str> = path
            .split('/')
            .filter(|part| !matches!(*part, "" | "." | ".."))
            .collect();
        let fewest = wanted.len().min(2);
        let found = (0..=wanted.len() - fewest).find_map(|skipped| {
            let mut found = self.ending_in(wanted.get(skipped..)?);
            found.retain(|path| path != from);
            (!found.is_empty()).then_some(found)
        });
        let mut found = found.unwrap_or_default();
        found.sort_by_cached_key(|path| {
            let shared = path
                .components()
                .zip(from.components())
                .take_while(|(a, b)| a == b)
                .count();
            (Reverse(shared), path.components().count(), path.clone())
        });
        found
    }

    /// The files of the trees whose paths end in these components in any case. `wanted` is in lower case.
    pub fn ending_in(&self, wanted: &[&str]) -> Vec<PathBuf> {
        let named = wanted.last().and_then(|name| self.index().get(*name));
        let paths = named.into_iter().flatten();
        paths.filter(|path| ends_with(path, wanted)).cloned().collect()
    }

    fn index(&self) -> &HashMap<String, Vec<PathBuf>> {
        self.index.get_or_init(|| {
            let mut index: HashMap<String, Vec<PathBuf>> = HashMap::new();
            for path in self.trees.iter().flat_map(|tree| walk::tree(tree)) {
                if let Some(name) = path.file_name().and_then(|name| name.to_str()) {
                    let known = index.entry(name.to_lowercase()).or_default();
                    if !known.contains(&path) {
                        known.push(path);
                    }
                }
            }
            index
        })
    }
}

/// Locks a cache, which stays valid if another thread panics.
pub(crate) fn lock<T>(cache: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    cache.lock().unwrap_or_else(PoisonError::into_inner)
}
