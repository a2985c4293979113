//! Which files mention which in their `#include` lines.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use shaderlint_hlsl::decode;

use super::{Files, lock};
use crate::support::paths::{beside, here, name_of};
use crate::workspace::include_search::{self, Mentioned};
use crate::workspace::walk;

/// Which files mention which.
#[derive(Default)]
pub(super) struct Mentions {
    /// The files that the run checks by themselves.
    inputs: BTreeSet<PathBuf>,
    /// The files of the workspace, and whether each counts as a unit of its own.
    files: Option<BTreeMap<PathBuf, bool>>,
    /// What each file mentions, by its path, for the units and the files that they mention in turn. The list
    /// has the mentioned files that no walk finds.
    mentioned: HashMap<PathBuf, (Mentioned, Vec<PathBuf>)>,
    by_name: Option<Arc<ByName>>,
}

impl Mentions {
    /// Records that the run checks the file at `path` by itself, whatever its extension.
    pub fn add_input(&mut self, path: &Path) {
        self.inputs.insert(here(path));
    }

    /// Whether the run checks the file at `path` by itself.
    pub fn is_input(&self, path: &Path) -> bool {
        self.inputs.contains(&here(path))
    }

    /// Records that the file at the absolute path `path` has another text, or is new.
    pub fn change(&mut self, path: &Path) {
        self.mentioned.retain(|known, _| here(known) != path);
        self.by_name = None;
        // Other files may mention the new one.
        if self.files.take_if(|files| !files.contains_key(path)).is_some() {
            self.mentioned.clear();
        }
    }

    /// Records that any file may have changed.
    pub fn forget(&mut self) {
        *self = Mentions {
            inputs: std::mem::take(&mut self.inputs),
            ..Mentions::default()
        };
    }
}

/// Which files mention which names.
#[derive(Default)]
struct ByName {
    /// The files that mention a name.
    names: HashMap<String, Vec<PathBuf>>,
    /// The files with an `#include` of a macro. The macro may be defined elsewhere, so they may mention any
    /// file.
    anything: Vec<PathBuf>,
    /// The links among the files, and their targets.
    links: Vec<(PathBuf, PathBuf)>,
}

/// The settings for the other files of the workspace, which the run does not check.
pub(crate) trait OfWorkspace {
    /// Whether the file counts as a unit of its own.
    fn is_unit(&self, path: &Path) -> bool;

    /// The absolute path of the file that `from` includes as `written`.
    fn resolve(&self, from: &Path, written: &str) -> Option<PathBuf>;
}

impl Files {
    /// The files of the workspace that may include `file`, directly or not, by absolute path. Links to
    /// `file`, and its path without links, are among them. Only names are compared.
    ///
    /// The flag is `true` if the includer, or a file that it includes, spells the name. If it is `false`, one
    /// of them has an `#include` of a macro that may be defined elsewhere.
    ///
    /// Asks `of_workspace` once for each file.
    pub fn mentioning(&self, file: &Path, of_workspace: &dyn OfWorkspace) -> BTreeMap<PathBuf, bool> {
        // Standard input has such a name.
        if name_of(file).is_none_or(|name| name.contains(['<', '>'])) {
            return BTreeMap::new();
        }
        let file = &here(file);
        let by_name = self.mentions(&[Some(file.clone()), file.canonicalize().ok()], of_workspace);
        // The path without links, and all links to it.
        let paths_of = |path: &Path| {
            let real = path.canonicalize().ok();
            let links = by_name.links.iter().filter(|(_, to)| real.as_ref() == Some(to));
            let links = links.map(|(link, _)| link.clone());
            links.chain(real.clone()).collect::<Vec<PathBuf>>()
        };
        let names_of = |path: &Path| {
            let paths = paths_of(path);
            let paths = paths.iter().map(PathBuf::as_path).chain([path]);
            paths.filter_map(name_of).collect::<Vec<_>>()
        };
        // Under another path, the same text may lie beside other headers.
        let place = |path: &Path| Some((path.parent()?.canonicalize().ok()?, path.file_name()?.to_owned()));
        let mut found: BTreeMap<PathBuf, bool> = (paths_of(file).into_iter())
            .filter(|other| place(other) != place(file))
            .map(|other| (other, true))
            .collect();
        let mut seen: HashSet<String> = HashSet::new();
        for (mut names, mut left, is_named) in [
            (names_of(file), Vec::new(), true),
            (Vec::new(), by_name.anything.clone(), false),
        ] {
            loop {
                for path in left.drain(..) {
                    if let Entry::Vacant(place) = found.entry(path) {
                        names.extend(names_of(place.key()));
                        place.insert(is_named);
                    }
                }
                let Some(name) = names.pop() else { break };
                if let Some(paths) = by_name.names.get(&name).filter(|_| seen.insert(name)) {
                    left.extend(paths.iter().cloned());
                }
            }
        }
        found
    }

    /// The `#include` lines of the workspace's units and of the files that these mention in turn, including
    /// hidden and ignored ones. If a file in `of` is not in the workspace, for instance because git ignores
    /// it, the [`walk::loose_files`] of its folder count, too.
    fn mentions(&self, of: &[Option<PathBuf>], of_workspace: &dyn OfWorkspace) -> Arc<ByName> {
        let mut mentions = lock(&self.mentions);
        let Mentions {
            inputs,
            files,
            mentioned,
            by_name,
        } = &mut *mentions;
        let units = lock(&self.given)
            .keys()
            .chain(&*inputs)
            .cloned()
            .collect::<BTreeSet<_>>();
        let with_kind = |path: PathBuf| {
            let is_unit = units.contains(&path) || of_workspace.is_unit(&path);
            (path, is_unit)
        };
        let files = files.get_or_insert_with(|| {
            let folders = lock(&self.fence).clone();
            let found = folders.iter().flat_map(|folder| walk::tree_with_links(folder));
            let loose = self.loose.iter().flat_map(|folder| walk::loose_files(folder));
            found.chain(loose).map(with_kind).collect()
        });
        // No walk finds a file that git ignores, nor those beside it.
        for path in units.iter().chain(of.iter().flatten()) {
            if !files.contains_key(path) {
                let around = path.parent().into_iter().flat_map(walk::loose_files);
                files.extend(around.chain([path.clone()]).map(with_kind));
                *by_name = None;
            }
        }
        if let Some(known) = by_name {
            return Arc::clone(known);
        }
        let mut called: HashMap<String, Vec<&PathBuf>> = HashMap::new();
        for path in files.keys() {
            called
                .entry(name_of(path).unwrap_or_default())
                .or_default()
                .push(path);
        }
        let mut found = ByName::default();
        let mut links: BTreeSet<PathBuf> = files.keys().filter(|path| path.is_symlink()).cloned().collect();
        let mut seen: HashSet<PathBuf> = HashSet::new();
        let units = files.iter().filter(|(_, is_unit)| **is_unit);
        let mut left: Vec<PathBuf> = units.map(|(path, _)| path.clone()).collect();
        while let Some(path) = left.pop() {
            if !seen.insert(path.clone()) {
                continue;
            }
            let (mentioned, elsewhere) = mentioned.entry(path.clone()).or_insert_with(|| {
                let text = self.bytes_if(&path, true).ok();
                let text = text.and_then(|bytes| decode(&bytes));
                let mentioned = text.map_or_else(Mentioned::default, |text| include_search::mentioned(&text));
                // No walk finds hidden or ignored files, nor the include folders of other projects.
                let is_walked = |written: &&String| files.contains_key(&beside(&path, written));
                let others = mentioned.written.iter().filter(|written| !is_walked(written));
                let found = others.filter_map(|written| of_workspace.resolve(&path, written));
                let elsewhere = found.filter(|path| !files.contains_key(path)).collect();
                (mentioned, elsewhere)
            });
            for name in &mentioned.names {
                found.names.entry(name.clone()).or_default().push(path.clone());
                left.extend(called.get(name).into_iter().flatten().copied().cloned());
            }
            links.extend(elsewhere.iter().filter(|path| path.is_symlink()).cloned());
            left.extend(elsewhere.iter().cloned());
            if mentioned.by_macro {
                found.anything.push(path);
            }
        }
        let links = links.into_iter();
        found.links = links
            .filter_map(|link| link.canonicalize().ok().map(|to| (link, to)))
            .collect();
        let found = Arc::new(found);
        *by_name = Some(Arc::clone(&found));
        found
    }
}
