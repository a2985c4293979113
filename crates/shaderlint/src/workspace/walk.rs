//! Turns arguments into files.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use ignore::{DirEntry, WalkBuilder};

use crate::support::failure::Failure;
use crate::support::{error_text, paths};
use crate::workspace::prefilter::names_entry;

/// The extensions of shaders in folders. A file that is named is read whatever its extension.
pub(crate) const EXTENSIONS: [&str; 12] = [
    "hlsl", "hlsli", "ihlsl", "fx", "fxh", "compute", "cginc", "usf", "ush", "csh", "azsl", "azsli",
];

/// Extensions that HLSL and GLSL share.
pub(crate) const SHARED_EXTENSIONS: [&str; 6] = ["comp", "task", "mesh", "amp", "as", "ms"];

/// The maximum of files that are searched below the folder of a file in neither a project nor a repository.
const MAX_LOOSE_FILES: usize = 1000;

/// A file to check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Input {
    pub path: PathBuf,
    pub origin: InputOrigin,
}

/// How a file came into a run, the most explicit first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum InputOrigin {
    /// Named by its path.
    Named,
    /// On a list, which may cover only a part of a tree: includers of the file may be in another part.
    Listed,
    /// Found in a folder or by a pattern.
    Found,
    /// Not asked for: it includes a header that is named.
    Includer,
}

/// The files that the arguments mean, each once, sorted by path; and the errors in the arguments. `is_shader`
/// selects the files in folders.
pub(crate) fn walk(
    arguments: &[(PathBuf, InputOrigin)],
    is_shader: &mut dyn FnMut(&Path) -> bool,
) -> (Vec<Input>, Vec<Failure>) {
    let mut inputs = Vec::new();
    let mut problems = Vec::new();
    for (argument, origin) in arguments {
        if argument.is_dir() {
            folder(argument, is_shader, &mut inputs, &mut problems);
        } else if argument.exists() {
            inputs.push(Input {
                path: argument.clone(),
                origin: *origin,
            });
        } else if is_pattern(argument) && *origin == InputOrigin::Named {
            pattern(argument, &mut inputs, &mut problems);
        } else {
            problems.push(Failure::new(argument, "no such file or folder"));
        }
    }
    // If several ways lead to a file, the most explicit one counts, and of its names the shortest.
    inputs.sort_by_cached_key(|input| {
        let name = &input.path;
        (
            input.origin,
            paths::here(name),
            name.as_os_str().len(),
            name.clone(),
        )
    });
    let mut seen = HashSet::new();
    inputs.retain(|input| seen.insert(input.path.canonicalize().unwrap_or_else(|_| input.path.clone())));
    inputs.sort_by_cached_key(|input| paths::here(&input.path));
    (inputs, problems)
}

/// Adds the shaders in a folder. Respects `.gitignore` and `.ignore` files, inside and outside of
/// repositories, and skips hidden files.
fn folder(
    root: &Path,
    is_shader: &mut dyn FnMut(&Path) -> bool,
    inputs: &mut Vec<Input>,
    problems: &mut Vec<Failure>,
) {
    let walk = WalkBuilder::new(root)
        .require_git(false)
        .sort_by_file_name(Ord::cmp)
        .build();
    for entry in walk {
        match entry {
            Ok(entry) if entry.file_type().is_some_and(|kind| !kind.is_dir()) && is_shader(entry.path()) => {
                // A link to a folder is not followed; a link to a file is.
                if entry.path().is_file() {
                    inputs.push(found(entry.path()));
                }
            }
            Ok(_) => {}
            Err(error) => problems.push(Failure {
                path: root.display().to_string(),
                text: error_text::of_walk(&error),
            }),
        }
    }
}

/// Every file in a folder, except for links and for hidden or ignored files.
pub(crate) fn tree(root: &Path) -> impl Iterator<Item = PathBuf> {
    let files = entries(root).filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    files.map(|entry| path_of(&entry))
}

/// As [`tree`], with links to files.
pub(crate) fn tree_with_links(root: &Path) -> impl Iterator<Item = PathBuf> {
    with_links(entries(root))
}

/// As [`tree_with_links`]; of a folder with more than [`MAX_LOOSE_FILES`] files, only those that lie in it and not in the
/// folders below it. Nothing says that these belong together: it may be a home folder.
pub(crate) fn loose_files(folder: &Path) -> Vec<PathBuf> {
    let files: Vec<PathBuf> = tree_with_links(folder).take(MAX_LOOSE_FILES + 1).collect();
    if files.len() <= MAX_LOOSE_FILES {
        return files;
    }
    with_links(entries_to(folder, Some(1))).collect()
}

fn with_links(entries: impl Iterator<Item = DirEntry>) -> impl Iterator<Item = PathBuf> {
    let is_file = |entry: &DirEntry| {
        let kind = entry.file_type();
        kind.is_some_and(|kind| kind.is_file() || kind.is_symlink() && entry.path().is_file())
    };
    entries.filter(is_file).map(|entry| path_of(&entry))
}

fn entries(root: &Path) -> impl Iterator<Item = DirEntry> {
    entries_to(root, None)
}

fn entries_to(root: &Path, depth: Option<usize>) -> impl Iterator<Item = DirEntry> {
    let is_here = root.as_os_str().is_empty();
    let walk = WalkBuilder::new(if is_here { Path::new(".") } else { root })
        .require_git(false)
        .max_depth(depth)
        .build();
    walk.filter_map(Result::ok)
}

fn path_of(entry: &DirEntry) -> PathBuf {
    entry
        .path()
        .strip_prefix(".")
        .map_or_else(|_| entry.path().to_owned(), Path::to_owned)
}

/// The trees that may have headers of these files: the folders among the arguments and the projects of the
/// files. If no argument is a folder, a file without a project adds its repository.
pub(crate) fn trees<'a>(
    arguments: &[PathBuf],
    files: impl Iterator<Item = (&'a Path, Option<&'a Path>)>,
) -> Vec<PathBuf> {
    let mut trees: Vec<PathBuf> = arguments
        .iter()
        .filter(|argument| argument.is_dir())
        .cloned()
        .collect();
    let is_folder_asked_for = !trees.is_empty();
    for (file, project) in files {
        let tree = match project {
            Some(project) => Some(project.to_owned()),
            None if is_folder_asked_for => None,
            None => repository(file),
        };
        trees.extend(tree.filter(|tree| !trees.contains(tree)));
    }
    trees
}

/// The folders that may have files related to those of a run.
#[derive(Default)]
pub(crate) struct Workspace {
    /// All files in these folders are searched for includers.
    pub folders: Vec<PathBuf>,
    /// Folders of files in neither a project nor a repository. Their [`loose_files`] are searched.
    pub loose: Vec<PathBuf>,
    /// Files may be included from this folder, too. It may hold anything, so it is not searched.
    pub reach: Option<PathBuf>,
}

/// The folders among the arguments, the project of each file, and every repository around it: a repository
/// may be part of another one, which may ignore it. A file in neither a project nor a repository adds its own
/// folder, and the working directory is in reach if the file lies in it.
pub(crate) fn workspace<'a>(
    arguments: &[PathBuf],
    files: impl Iterator<Item = (&'a Path, Option<&'a Path>)>,
) -> Workspace {
    let (mut loose, mut reach) = (Vec::new(), None);
    let mut folders: Vec<PathBuf> = arguments
        .iter()
        .filter(|argument| argument.is_dir())
        .map(|argument| paths::here(argument))
        .collect();
    let mut is_repository: HashMap<PathBuf, bool> = HashMap::new();
    let mut seen = HashSet::new();
    for (file, project) in files {
        let file = paths::here(file);
        let folder = file.parent().unwrap_or(Path::new("/"));
        let project = project.map(paths::here);
        if !seen.insert((folder.to_owned(), project.clone())) {
            continue;
        }
        let mut around: Vec<PathBuf> = project.into_iter().collect();
        around.extend(folder.ancestors().map(Path::to_owned).filter(|folder| {
            *is_repository
                .entry(folder.clone())
                .or_insert_with(|| folder.join(".git").exists())
        }));
        if !around.iter().any(|root| folder.starts_with(root)) {
            // A folder that is searched in full needs no other search.
            if !folders.iter().any(|known| folder.starts_with(known)) {
                loose.push(folder.to_owned());
            }
            let here = std::env::current_dir().ok();
            reach = reach.or(here.filter(|here| folder.starts_with(here)));
        }
        for found in around {
            if !folders.contains(&found) {
                folders.push(found);
            }
        }
    }
    Workspace {
        folders,
        loose,
        reach,
    }
}

/// The root of the nearest repository around `file`.
pub(crate) fn repository(file: &Path) -> Option<PathBuf> {
    let file = paths::here(file);
    let folder = file
        .ancestors()
        .skip(1)
        .find(|folder| folder.join(".git").exists())?;
    Some(paths::shown(folder))
}

fn found(path: &Path) -> Input {
    Input {
        path: path.strip_prefix(".").unwrap_or(path).to_owned(),
        origin: InputOrigin::Found,
    }
}

/// Whether a file has the extension of a shader. If GLSL shares the extension, the file must have a kernel of
/// HLSL: GLSL has no `[numthreads]`.
pub(crate) fn is_shader(path: &Path) -> bool {
    let has_kernel = || std::fs::read(path).is_ok_and(|bytes| names_entry(&bytes));
    ends_in(path, &EXTENSIONS) || ends_in(path, &SHARED_EXTENSIONS) && has_kernel()
}

fn ends_in(path: &Path, endings: &[&str]) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| endings.contains(&extension.to_ascii_lowercase().as_str()))
}

/// Whether a file with this extension may be compiled as a shader, though it is not the extension of a
/// shader. Engines keep kernels in such files, and these kernels include headers by name.
pub(crate) fn may_include_shaders(path: &Path) -> bool {
    const ENDINGS: [&str; 33] = [
        "inc", "inl", "h", "hpp", "hh", "include", "hlslinc", "txt", "shader", "sl", "glsl", "comp", "mesh",
        "ms", "task", "amp", "as", "vert", "vs", "frag", "ps", "gs", "rt", "rgen", "rchit", "rmiss", "slang",
        "fxsub", "ffx", "nsl", "psh", "vsh", "glslinc",
    ];
    ends_in(path, &ENDINGS)
}

fn is_pattern(argument: &Path) -> bool {
    argument.to_string_lossy().contains(['*', '?', '[', '{'])
}

/// Expands a pattern as a shell with `globstar` does: `*` and `?` stay within a folder, `**` does not. Skips
/// hidden files, but not ignored ones.
fn pattern(argument: &Path, inputs: &mut Vec<Input>, problems: &mut Vec<Failure>) {
    let matcher = match matcher(argument) {
        Ok(matcher) => matcher,
        Err(error) => {
            problems.push(Failure::new(argument, &error));
            return;
        }
    };
    // The components before the first pattern are the folder to start in.
    let root: PathBuf = argument
        .components()
        .take_while(|component| !matches!(component, Component::Normal(name) if is_pattern(name.as_ref())))
        .collect();
    let is_here = root.as_os_str().is_empty();
    let walk = WalkBuilder::new(if is_here { Path::new(".") } else { root.as_path() })
        .standard_filters(false)
        .hidden(true)
        .sort_by_file_name(Ord::cmp)
        .build();
    let before = inputs.len();
    for entry in walk.filter_map(Result::ok) {
        let path = entry.path().strip_prefix(".").unwrap_or(entry.path());
        if matcher.is_match(path) && path.is_file() {
            inputs.push(found(path));
        }
    }
    if inputs.len() == before {
        problems.push(Failure::new(argument, "no file matches"));
    }
}

fn matcher(argument: &Path) -> Result<GlobMatcher, String> {
    let pattern = argument.to_str().ok_or("not a pattern in UTF-8")?;
    // Walked paths have no `.` components.
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    glob.map(|glob| glob.compile_matcher())
        .map_err(|error| error.kind().to_string())
}
