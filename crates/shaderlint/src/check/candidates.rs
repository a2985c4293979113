//! The files of the workspace that may include a file. The run itself may check them or not.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use shaderlint_hlsl::{Includes, Text, decode};

use crate::check::options::Options;
use crate::support::paths::here;
use crate::workspace::config::Project;
use crate::workspace::files::OfWorkspace;
use crate::workspace::includes::Search;
use crate::workspace::walk;

/// The files of the workspace that may include this one, directly or not: see [`Files::mentioning`](crate::workspace::files::Files).
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
        let search = self.options.search(&project);
        let file = search.resolve(&[&from.display().to_string()], written, false)?;
        Some(here(Path::new(&file.path)))
    }
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

    /// A search for the files that it includes.
    pub fn search<'a>(&'a self, options: &'a Options) -> Search<'a> {
        options.search(&self.project)
    }
}
