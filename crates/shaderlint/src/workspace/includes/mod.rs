//! Finds and reads included files.
//!
//! Real projects are written on Windows, and built with include paths that none of their files states. So
//! names match in any case, and a file that is found nowhere is looked up in the trees by the end of its
//! path.

mod mentions;

use std::cell::{Ref, RefCell};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use shaderlint_hlsl::{Cause, FileId, FileSpan, Includes, Problem, SourceFile, Sources, Text, decode};

use crate::support::paths::{ends_with, here, is_same, without_dots};
use crate::workspace::config::Project;
use crate::workspace::prefilter::{self, Sought};
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
    /// Files are included only from these folders and from `reach`. Links in these paths are resolved.
    fence: Mutex<Vec<PathBuf>>,
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
        let files = Files {
            read: Mutex::default(),
            given: Mutex::default(),
            listings: Mutex::default(),
            trees,
            index: OnceLock::new(),
            fence: Mutex::default(),
            reach: workspace
                .reach
                .as_ref()
                .and_then(|folder| folder.canonicalize().ok()),
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
                    reach: None,
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
            let mut folders = fence.iter().chain(&self.reach);
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
    fn refuses(&self, path: &Path) -> bool {
        let is_given = lock(&self.given).contains_key(&here(path));
        !is_given && path.is_file() && !self.allows(path)
    }

    /// Whether there is a file at exactly this path, through folders that all exist.
    fn is_there(&self, path: &Path) -> bool {
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
    fn ending_like(&self, path: &str, from: &Path) -> Vec<PathBuf> {
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

/// The search for the files that one translation unit includes.
///
/// As in DXC, `"path"` is searched beside the including file, beside the files that include that one, and in
/// the include folders. `<path>` is searched in the include folders only. Virtual folders come before all of
/// these.
///
/// A build may have folders or a search of its own. So a file that is found in none of these places is
/// searched beside the including files in spite of `<>`, and then in the trees.
pub(crate) struct Search<'a> {
    files: &'a Files,
    project: &'a Project,
    lookups: RefCell<Lookups>,
    /// The record of the questions and their answers, if one is kept.
    answers: Option<RefCell<Answers>>,
    /// The absolute path of a file, and a text that replaces its own.
    replaced: Option<(PathBuf, Text)>,
}

/// The arguments of [`Includes::resolve`]: the including files, the path, and whether it is in angle
/// brackets.
pub(crate) type Question = (Vec<String>, String, bool);

/// The questions in order, each once, with their answers. Asking them again in this order records the same
/// choices and refusals in the same order.
#[derive(Default)]
pub(crate) struct Answers {
    pub in_order: Vec<(Question, Option<SourceFile>)>,
    asked: HashSet<Question>,
}

/// Remarks on how the includes of a unit were found.
#[derive(Clone, Default)]
pub(crate) struct Lookups {
    choices: Vec<Choice>,
    refused: Vec<Refused>,
}

/// A file that exists, but may not be included.
#[derive(Clone, PartialEq, Eq)]
struct Refused {
    from: String,
    written: String,
    path: PathBuf,
}

/// An include that several files match.
#[derive(Clone, PartialEq, Eq)]
struct Choice {
    from: String,
    written: String,
    taken: PathBuf,
    others: Vec<PathBuf>,
}

impl Choice {
    fn count(&self) -> usize {
        1 + self.others.len()
    }
}

impl Lookups {
    /// Rewords the problems about missing files that exist, but may not be read.
    pub fn explain(&self, sources: &Sources, problems: &mut [Problem]) {
        for refused in &self.refused {
            let missing = Cause::Missing(refused.written.clone());
            let is_in_file = |place: Option<FileSpan>| {
                let file = place.and_then(|place| sources.get(place.file));
                file.is_some_and(|file| file.path == refused.from)
            };
            for problem in &mut *problems {
                if problem.cause == missing && is_in_file(problem.place) {
                    // The name of a configuration may follow.
                    let before = format!("cannot find `{}`", refused.written);
                    let rest = problem.message.strip_prefix(&before).unwrap_or_default();
                    problem.message = format!(
                        "`{}` leads out of the workspace, to {}: allow its folder with -I or \
                         `include-dirs`{rest}",
                        refused.written,
                        refused.path.display()
                    );
                }
            }
        }
    }

    /// The choices that fixes in the file at `path` rest on, and that only the build knows: one note each. A
    /// choice of this file itself is none of them: if the build takes another file, it does not use the
    /// fixes.
    pub fn guessed(&self, path: &Path) -> impl Iterator<Item = String> {
        let others = self.choices.iter().filter(|choice| !is_same(&choice.taken, path));
        others.map(|choice| {
            format!(
                "the fix is proved with {}, the nearest of {} files called `{}`; use -I to say where the \
                 build finds it",
                choice.taken.display(),
                choice.count(),
                choice.written
            )
        })
    }

    /// A note for fixes in the file at `path`, if an include took another file but could have meant this one.
    pub fn passed_over(&self, path: &Path) -> Option<String> {
        let has_it = |choice: &&Choice| choice.others.iter().any(|other| is_same(other, path));
        let choice = self.choices.iter().find(has_it)?;
        Some(format!(
            "{} may include this file, one of {} called `{}`: the fix is proved as if it took {}; use -I to \
             say where the build finds it",
            choice.from,
            choice.count(),
            choice.written,
            choice.taken.display()
        ))
    }

    /// A problem for each include that took one of several files.
    pub fn choices(&self, sources: &Sources) -> Vec<Problem> {
        let problems = self.choices.iter().map(|choice| Problem {
            message: format!(
                "{} files are called `{}`; shaderlint uses the nearest, {}",
                choice.count(),
                choice.written,
                choice.taken.display()
            ),
            place: include_of(sources, choice),
            cause: Cause::Ambiguous,
        });
        problems.collect()
    }
}

impl<'a> Search<'a> {
    pub fn new(files: &'a Files, project: &'a Project) -> Self {
        Search {
            files,
            project,
            lookups: RefCell::default(),
            answers: None,
            replaced: None,
        }
    }

    /// Records the questions and their answers.
    pub fn recorded(self) -> Self {
        Search {
            answers: Some(RefCell::default()),
            ..self
        }
    }

    /// Replaces the text of the file `path` by `text`.
    pub fn with(self, path: &Path, text: &Text) -> Self {
        Search {
            replaced: Some((here(path), text.clone())),
            ..self
        }
    }

    /// Whether the file with this name and text includes what is sought. If includes with an unknown file count, so do
    /// the other files that an ambiguous include may mean, and what these include.
    pub fn includes_one(&self, name: &str, text: &Text, sought: Sought<'_>) -> bool {
        if prefilter::reaches(name, text, self, sought) {
            return true;
        }
        let mut seen = HashSet::new();
        // Searching the includes of each file may add more choices.
        while let Some(other) = {
            let lookups = self.lookups.borrow();
            let mut others = lookups.choices.iter().flat_map(|choice| &choice.others);
            others
                .find(|other| sought.if_unknown && !seen.contains(*other))
                .cloned()
        } {
            let file = self.files.read(&other);
            seen.insert(other);
            let is_or_reaches = |file: SourceFile| {
                sought.is(&file) || prefilter::reaches(&file.path, &file.text, self, sought)
            };
            if file.is_some_and(is_or_reaches) {
                return true;
            }
        }
        false
    }

    pub fn into_lookups(self) -> Lookups {
        self.lookups.into_inner()
    }

    /// The record, if there is one.
    pub fn answers(&self) -> Option<Ref<'_, Answers>> {
        self.answers.as_ref().map(RefCell::borrow)
    }

    /// The first of these files that exists. Some compilers distinguish `a` from `A`, or require each folder
    /// of `a/../b` to exist. If these would take another file, the choice is recorded as ambiguous.
    fn first_of(&self, spelled: &[PathBuf], from: &str, written: &str) -> Option<SourceFile> {
        let mut paths = spelled.iter();
        let taken = paths.find_map(|path| {
            let file = self.files.read(&without_dots(path))?;
            let is_exact = file.path == path.to_string_lossy() || self.files.is_there(path);
            Some((file, is_exact))
        });
        let (file, is_exact) = taken?;
        if !is_exact && let Some(other) = paths.find(|path| path.is_file()) {
            self.note_choice(from, written, Path::new(&file.path), std::slice::from_ref(other));
        }
        Some(file)
    }

    /// The file `beside` an including file, else the nearest file in the trees whose path ends like `path`.
    fn nearest_in_trees(
        &self,
        from: &str,
        written: &str,
        path: &str,
        beside: Option<PathBuf>,
    ) -> Option<SourceFile> {
        let mut found = self.files.ending_like(path, Path::new(from));
        if let Some(beside) = beside {
            found.retain(|path| !is_same(path, &beside));
            found.insert(0, beside);
        }
        let (taken, others) = found.split_first()?;
        if !others.is_empty() {
            self.note_choice(from, written, taken, others);
        }
        self.files.read(taken)
    }

    fn note_choice(&self, from: &str, written: &str, taken: &Path, others: &[PathBuf]) {
        let choice = Choice {
            from: from.to_owned(),
            written: written.to_owned(),
            taken: taken.to_owned(),
            others: others.to_vec(),
        };
        let choices = &mut self.lookups.borrow_mut().choices;
        if !choices.contains(&choice) {
            choices.push(choice);
        }
    }
}

impl Includes for Search<'_> {
    fn resolve(&self, readers: &[&str], written: &str, angled: bool) -> Option<SourceFile> {
        let from = readers.first().copied().unwrap_or_default();
        let path = written.replace('\\', "/");
        let in_virtual = self.project.virtual_dirs.iter().filter_map(|(name, folder)| {
            let rest = below(&path, name)?;
            Some(folder.join(rest))
        });
        let under = |folders: &[&Path]| {
            let paths: Vec<PathBuf> = folders.iter().map(|folder| folder.join(&path)).collect();
            paths.into_iter()
        };
        let beside: Vec<&Path> = readers
            .iter()
            .filter_map(|file| Path::new(*file).parent())
            .collect();
        let given: Vec<&Path> = self.project.include_dirs.iter().map(PathBuf::as_path).collect();
        let spelled = if angled {
            in_virtual.chain(under(&given)).collect()
        } else {
            in_virtual
                .chain(under(&[beside.as_slice(), &given].concat()))
                .collect::<Vec<_>>()
        };
        let found = self.first_of(&spelled, from, written);
        let mut found = found.or_else(|| {
            let beside = under(&beside).map(|path| without_dots(&path));
            let near = beside
                .filter(|_| angled)
                .find(|path| self.files.read(path).is_some());
            self.nearest_in_trees(from, written, &path, near)
        });
        if let (Some(file), Some((path, text))) = (&mut found, &self.replaced)
            && is_same(Path::new(&file.path), path)
        {
            file.text = text.clone();
        }
        if found.is_none()
            && let Some(path) =
                { spelled.iter().map(|path| without_dots(path)) }.find(|path| self.files.refuses(path))
        {
            let refused = Refused {
                from: from.to_owned(),
                written: written.to_owned(),
                path,
            };
            let known = &mut self.lookups.borrow_mut().refused;
            if !known.contains(&refused) {
                known.push(refused);
            }
        }
        if let Some(answers) = &self.answers {
            let readers = readers.iter().map(|reader| (*reader).to_owned()).collect();
            let question = (readers, written.to_owned(), angled);
            let mut answers = answers.borrow_mut();
            if answers.asked.insert(question.clone()) {
                answers.in_order.push((question, found.clone()));
            }
        }
        found
    }
}

/// The rest of `path` below the virtual folder `name`.
fn below<'a>(path: &'a str, name: &str) -> Option<&'a str> {
    let path = path.trim_start_matches('/');
    let name = name.trim_matches(['/', '\\']).replace('\\', "/");
    let (start, rest) = path.split_at_checked(name.len())?;
    if start.eq_ignore_ascii_case(&name) {
        rest.strip_prefix('/')
    } else {
        None
    }
}

/// The position of the path in the ambiguous `#include`.
fn include_of(sources: &Sources, choice: &Choice) -> Option<FileSpan> {
    let (number, file) = (0..)
        .zip(&sources.files)
        .find(|(_, file)| file.path == choice.from)?;
    let written = choice.written.as_bytes();
    let mut start = 0;
    for line in file.text.split_inclusive(|byte| *byte == b'\n') {
        let is_include = line.trim_ascii_start().starts_with(b"#");
        let column = line.windows(written.len()).position(|window| window == written);
        if let Some(column) = column.filter(|_| is_include) {
            let start = u32::try_from(start + column).ok()?;
            return Some(FileSpan {
                file: FileId(number),
                start,
                end: start + u32::try_from(written.len()).ok()?,
            });
        }
        start += line.len();
    }
    None
}

/// Locks a cache, which stays valid if another thread panics.
pub(crate) fn lock<T>(cache: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    cache.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_folders_are_whole_components_in_any_case() {
        assert_eq!(below("/Engine/Private/a.ush", "/engine"), Some("Private/a.ush"));
        assert_eq!(below("Engine/Private/a.ush", "/Engine/Private/"), Some("a.ush"));
        assert_eq!(below("/Engines/a.ush", "/Engine"), None);
        assert_eq!(below("/Eng", "/Engine"), None);
    }
}
