//! The files of the workspace that include another file, and their readings of it. The run itself may check them or
//! not.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use shaderlint_hlsl::{Includes, SourceFile, Text, decode, is_cpp, may_spell};

use crate::check::options::Options;
use crate::check::readings::{Has, Includer, Reading, Role, Root};
use crate::support::definition::Definition;
use crate::support::paths::{here, is_same, name_of, shown};
use crate::workspace::config::Project;
use crate::workspace::includes::{OfWorkspace, Search};
use crate::workspace::{prefilter, walk};

/// The files of the workspace that may include this one, directly or not: see [`Files::mentioning`](crate::workspace::includes::Files).
pub(crate) fn mentioning(file: &Path, options: &Options) -> BTreeMap<PathBuf, bool> {
    let of_workspace = ByFolder {
        options,
        projects: RefCell::default(),
    };
    options.files.mentioning(file, &of_workspace)
}

/// Caches the project of each folder: all files of a folder share it.
struct ByFolder<'a> {
    options: &'a Options,
    projects: RefCell<HashMap<PathBuf, Arc<Project>>>,
}

impl ByFolder<'_> {
    fn project_of(&self, path: &Path) -> Arc<Project> {
        let folder = path.parent().unwrap_or(path).to_owned();
        let mut projects = self.projects.borrow_mut();
        let project = projects.entry(folder).or_insert_with(|| {
            // Another place reports a configuration that cannot be read.
            let project = (self.options.project_of)(path).unwrap_or_default();
            self.options.files.allow(project.header_folders());
            project
        });
        Arc::clone(project)
    }
}

impl OfWorkspace for ByFolder<'_> {
    fn is_unit(&self, path: &Path) -> bool {
        // By its name first: `is_shader` may read the file.
        walk::may_include_shaders(path) || walk::is_shader(path) || self.project_of(path).includes(path)
    }

    fn resolve(&self, from: &Path, written: &str) -> Option<PathBuf> {
        let project = self.project_of(from);
        let search = Search::new(&self.options.files, &project);
        let file = search.resolve(&[&from.display().to_string()], written, false)?;
        Some(here(Path::new(&file.path)))
    }
}

/// The files that include the file at `path`, if that has the text `text`. The iterator reads each when it reaches
/// it.
pub(crate) fn of<'a>(
    path: &'a Path,
    text: &'a Text,
    options: &'a Options,
) -> impl Iterator<Item = Includer> + 'a {
    // Lazy: most files need no includers, and the search of the workspace takes time.
    std::iter::once_with(|| mentioning(path, options))
        .flatten()
        .take_while(|_| !options.stop.is_set())
        .filter(|(includer, _)| here(includer) != here(path))
        .filter_map(move |(includer, names_it)| {
            let name = shown(&includer).display().to_string();
            let candidate = Candidate {
                path: includer,
                names_it,
            };
            // A file that cannot be read counts as unknown.
            let has = has(&candidate, &name, path, text, options);
            let has = has.unwrap_or(Some(Has::Unknown))?;
            Some(Includer { name, has })
        })
}

/// A file that may include another one.
struct Candidate {
    path: PathBuf,
    /// The file name of the other one occurs in this file, or in a file that this one includes.
    names_it: bool,
}

/// What a file called `name` includes of the one at `path`, if that has the text `text`.
fn has(
    candidate: &Candidate,
    name: &str,
    path: &Path,
    text: &Text,
    options: &Options,
) -> Result<Option<Has>> {
    let (includer, names_it) = (&candidate.path, candidate.names_it);
    let Some(unit) = WorkspaceFile::read(includer, options)? else {
        return Ok(None);
    };
    let file_name = name_of(path).unwrap_or_default();
    // Many C++ headers have an `#include` with a macro, and hardly any of them includes shaders. One that does holds
    // the words of the name.
    let may_include =
        || walk::is_shader(includer) || options.files.is_named(includer) || may_spell(&unit.text, &file_name);
    // Only a C++ compiler sees the `#include` there.
    if !names_it && !may_include() || is_cpp(&unit.text) {
        return Ok(None);
    }
    let is_it = |other: &str| is_same(Path::new(other), path);
    // The same file under another name.
    let is_link = is_it(name);
    let includes_it =
        |if_unknown: bool| is_link || unit.includes_one(name, options, if_unknown, &|file| is_it(&file.path));
    if !includes_it(true) {
        return Ok(None);
    }
    let root = Root {
        name,
        text: if is_link { text } else { &unit.text },
        project: &unit.project,
        // Its own comments apply to its findings.
        role: if prefilter::names_entry(&unit.text) {
            Role::Unit
        } else {
            Role::StrayHeader
        },
    };
    let is_as_read = options.files.read(path).is_some_and(|file| *file.text == **text);
    let seen = if is_as_read {
        options.reader().read(root)
    } else {
        Arc::new(options.reader().read_with(root, path, text))
    };
    let readings = &seen.readings;
    let includes = readings.iter().any(|reading| !reading.numbers(&is_it).is_empty());
    let given: Vec<Definition> = unit.project.all_definitions().cloned().collect();
    let may_include = || {
        readings
            .iter()
            .any(|reading| reading.may_include(&file_name, &given))
    };
    let may_mean_it = || seen.lookups.passed_over(path).is_some();
    Ok(
        if (includes || may_mean_it()) && !readings.iter().any(Reading::is_cut) {
            Some(Has::Readings(seen))
        } else if includes || names_it || includes_it(false) || may_include() {
            // If it names the file, a macro under other definitions may include it.
            Some(Has::Unknown)
        } else {
            None
        },
    )
}

/// A file of the workspace that the run does not name.
pub(crate) struct WorkspaceFile {
    pub text: Text,
    pub project: Arc<Project>,
}

impl WorkspaceFile {
    /// `None` if the file is not text.
    pub fn read(path: &Path, options: &Options) -> Result<Option<WorkspaceFile>> {
        let Some(text) = decode(&options.files.bytes(path)?) else {
            return Ok(None);
        };
        let project = (options.project_of)(path)?;
        options.files.allow(project.header_folders());
        Ok(Some(WorkspaceFile { text, project }))
    }

    /// As [`Search::includes_one`].
    pub fn includes_one(
        &self,
        name: &str,
        options: &Options,
        if_unknown: bool,
        is_one: &dyn Fn(&SourceFile) -> bool,
    ) -> bool {
        let search = Search::new(&options.files, &self.project);
        search.includes_one(name, &self.text, if_unknown, is_one, &|_| false)
    }
}
