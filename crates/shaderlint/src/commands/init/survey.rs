//! A survey of a folder: the locations of included files, and the targets that its build scripts name.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use shaderlint_hlsl::{SourceFile, decode};

use crate::support::paths::{beside, shown};
use crate::support::target::{hlsl_version, profile};
use crate::workspace::files::Files;
use crate::workspace::include_search::included;
use crate::workspace::walk::{self, Workspace};

/// The maximum of missing includes to list.
const MAX_MISSING: usize = 5;
/// A longer file, in bytes, is no build script.
const MAX_SCRIPT: u64 = 1 << 20;
/// If the option and its value are farther apart, they may be arguments of different calls.
const MAX_TO_VERSION: usize = 40;

/// The results, the most frequent first.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub shaders: usize,
    pub include_dirs: Vec<Needed>,
    pub virtual_dirs: Vec<(String, Needed)>,
    /// Includes, as written, that match no file.
    pub missing: Vec<Needed>,
    pub more_missing: usize,
    pub profiles: Named,
    pub versions: Named,
}

/// A folder, or an include that matches no file, and how many includes need it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Needed {
    pub path: String,
    pub count: usize,
}

/// Values that build scripts name, each with the first file (by name) that has it.
#[derive(Debug, Default)]
pub(super) struct Named(BTreeMap<String, String>);

impl Named {
    /// The value and its file, if there is only one value.
    pub fn only(&self) -> Option<(&str, &str)> {
        let mut values = self.0.iter();
        let (value, file) = values.next()?;
        values.next().is_none().then_some((value, file))
    }

    pub fn values(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    fn add(&mut self, value: &str, file: &str) {
        let known = self.0.entry(value.to_owned()).or_insert_with(|| file.to_owned());
        // Files come in any order.
        if file < known.as_str() {
            file.clone_into(known);
        }
    }
}

/// An include that is not found beside the files that read it.
#[derive(Default)]
struct Elsewhere {
    /// The files that contain it.
    from: BTreeSet<String>,
    /// Each folder from which the include leads to a file, with the prefix of the include that stands for this
    /// folder. The prefix is empty if the whole path exists below the folder.
    candidates: BTreeSet<(String, PathBuf)>,
}

impl Survey {
    /// Surveys all files in `root` that are neither hidden nor ignored.
    pub fn of(root: &Path) -> Survey {
        let mut survey = Survey::default();
        // Paths are relative to `root`: the configuration will be read from there.
        let root = shown(root);
        let workspace = Workspace {
            folders: vec![root.clone()],
            ..Workspace::default()
        };
        let files = Files::new(vec![root.clone()], &workspace);
        let mut search = IncludeSearch {
            files: &files,
            seen: BTreeSet::new(),
            elsewhere: BTreeMap::new(),
        };
        for path in walk::tree(&root) {
            if may_run_compiler(&path) {
                survey.read_script(&path, &root);
            }
            if walk::is_shader(&path) {
                survey.shaders += 1;
                search.seen.clear();
                if let Some(file) = files.read(&path) {
                    search.follow(&mut Vec::new(), &file);
                }
            }
        }
        survey.choose(&root, search.elsewhere);
        survey
    }

    /// Repeatedly takes the folder that serves most includes, until all are served. If an include has several
    /// candidates, the one that other includes need wins.
    fn choose(&mut self, root: &Path, elsewhere: BTreeMap<String, Elsewhere>) {
        let (mut left, missing): (Vec<_>, Vec<_>) = elsewhere
            .into_iter()
            .partition(|(_, include)| !include.candidates.is_empty());
        let missing = missing.into_iter().map(|(path, include)| Needed {
            path,
            count: include.from.len(),
        });
        self.missing = missing.collect();
        self.missing.sort_by_key(|missing| Reverse(missing.count));
        self.more_missing = self.missing.len().saturating_sub(MAX_MISSING);
        self.missing.truncate(MAX_MISSING);

        loop {
            // For each candidate: whether some include has no other one, and how many files it serves.
            let mut served: BTreeMap<&(String, PathBuf), (bool, usize)> = BTreeMap::new();
            for (_, include) in &left {
                for candidate in &include.candidates {
                    let (is_needed, count) = served.entry(candidate).or_default();
                    *is_needed |= include.candidates.len() == 1;
                    *count += include.from.len();
                }
            }
            let best = served.into_iter().max_by_key(|(candidate, counts)| {
                let depth = candidate.1.components().count();
                (*counts, Reverse((depth, *candidate)))
            });
            let Some((best, (_, count))) = best.map(|(best, counts)| (best.clone(), counts)) else {
                return;
            };
            left.retain(|(_, include)| !include.candidates.contains(&best));
            let (prefix, folder) = best;
            let path = written(folder.strip_prefix(root).unwrap_or(&folder));
            let found = Needed { path, count };
            if prefix.is_empty() {
                self.include_dirs.push(found);
            } else {
                self.virtual_dirs.push((prefix, found));
            }
        }
    }

    /// Finds the target that a script, a project or a program passes to a compiler.
    fn read_script(&mut self, path: &Path, root: &Path) {
        let is_short = path.metadata().is_ok_and(|data| data.len() <= MAX_SCRIPT);
        let text = is_short.then(|| std::fs::read(path).ok()).flatten();
        let Some(text) = text.and_then(|bytes| decode(&bytes)) else {
            return;
        };
        let text = String::from_utf8_lossy(&text);
        let file = written(path.strip_prefix(root).unwrap_or(path));
        for word in words(&text).filter(|word| word.starts_with("cs_")) {
            if profile(word).is_ok() {
                self.profiles.add(word, &file);
            }
        }
        for (at, option) in text.match_indices("-HV") {
            let rest = text.get(at + option.len()..).unwrap_or_default();
            let near: String = rest.chars().take(MAX_TO_VERSION).collect();
            if let Some(version) = words(&near).find(|word| hlsl_version(word).is_ok()) {
                self.versions.add(version, &file);
            }
        }
    }
}

/// A shader with the files that it includes, under any condition.
struct IncludeSearch<'a> {
    files: &'a Files,
    seen: BTreeSet<String>,
    elsewhere: BTreeMap<String, Elsewhere>,
}

impl IncludeSearch<'_> {
    /// Resolves the includes of a file like DXC: a quoted path first beside the file, then beside the files that
    /// include it.
    fn follow(&mut self, readers: &mut Vec<PathBuf>, file: &SourceFile) {
        if !self.seen.insert(file.path.clone()) {
            return;
        }
        readers.push(PathBuf::from(&file.path));
        // Includes by a macro are skipped.
        for (path, angled) in included(&file.text).into_iter().flatten() {
            let mut around = readers.iter().rev().filter(|_| !angled);
            let near = around.find_map(|reader| self.files.read(&beside(reader, &path)));
            if let Some(file) = near {
                self.follow(readers, &file);
                continue;
            }
            let include = self.elsewhere.entry(path.clone()).or_default();
            if include.candidates.is_empty() {
                include.candidates = candidates(self.files, &path);
            }
            include.from.insert(file.path.clone());
            if let Some((prefix, folder)) = include.candidates.first() {
                let below = path.trim_start_matches('/').replace('\\', "/");
                let below = below
                    .get(prefix.trim_start_matches('/').len()..)
                    .unwrap_or_default();
                if let Some(file) = self.files.read(&folder.join(below.trim_start_matches('/'))) {
                    self.follow(readers, &file);
                }
            }
        }
        readers.pop();
    }
}

/// The folders from which a path leads to a file of the tree. If there is none, the first part of the path may stand
/// for another folder: `/Engine/Private/Common.ush` is found in `Shaders/Private` if `/Engine` stands for `Shaders`.
fn candidates(files: &Files, path: &str) -> BTreeSet<(String, PathBuf)> {
    let path = path.replace('\\', "/");
    let is_rooted = path.starts_with('/');
    let parts: Vec<&str> = path
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    if parts.contains(&"..") {
        return BTreeSet::new();
    }
    let fewest = parts.len().min(2);
    let found = (usize::from(is_rooted)..=parts.len() - fewest).map(|skipped| {
        let (prefix, below) = parts.split_at(skipped);
        let prefix = prefix.iter().flat_map(|part| ["/", part]).collect::<String>();
        let prefix = if is_rooted {
            &prefix
        } else {
            prefix.trim_start_matches('/')
        };
        let below: Vec<String> = below.iter().map(|part| part.to_lowercase()).collect();
        let below: Vec<&str> = below.iter().map(String::as_str).collect();
        let folders = files.ending_in(&below).into_iter().map(|path| {
            let folder = path.ancestors().nth(below.len()).unwrap_or(Path::new(""));
            (prefix.to_owned(), folder.to_owned())
        });
        folders.collect::<BTreeSet<_>>()
    });
    { found }.find(|found| !found.is_empty()).unwrap_or_default()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
}

/// A path as written in a configuration.
fn written(path: &Path) -> String {
    let path = path.to_string_lossy().replace('\\', "/");
    if path.is_empty() { ".".to_owned() } else { path }
}

/// Whether a file of this name may pass a target to a compiler.
fn may_run_compiler(path: &Path) -> bool {
    const NAMES: [&str; 4] = ["cmakelists.txt", "makefile", "meson.build", "build.bazel"];
    const ENDINGS: [&str; 20] = [
        "cmake", "bat", "cmd", "sh", "ps1", "py", "lua", "mk", "gn", "json", "vcxproj", "props", "targets",
        "c", "cc", "cpp", "cxx", "h", "cs", "rs",
    ];
    let lower = |name: Option<&std::ffi::OsStr>| name.and_then(|name| name.to_str()).map(str::to_lowercase);
    lower(path.file_name()).is_some_and(|name| NAMES.contains(&name.as_str()))
        || lower(path.extension()).is_some_and(|ending| ENDINGS.contains(&ending.as_str()))
}
