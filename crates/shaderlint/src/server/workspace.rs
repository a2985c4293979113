//! The open folders, and the files in them.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::settings::FolderSettings;
use crate::check::file::check_file;
use crate::check::file_report::FileReport;
use crate::check::header_kernels;
use crate::check::options::{Options, Target};
use crate::check::readings::{DiskCache, Role};
use crate::cli::{RuleArgs, SourceArgs};
use crate::support::cancellation::Cancellation;
use crate::support::config_error::ConfigError;
use crate::support::paths::here;
use crate::workspace::config::{Project, Projects};
use crate::workspace::files::{Files, lock};
use crate::workspace::walk::{Input, InputOrigin};

pub(super) fn options(folders: &[PathBuf], settings: &FolderSettings) -> Options {
    let (all, of_all) = (folders.to_vec(), settings.clone());
    let project_of = move |path: &Path| {
        let folder = folder_of(path, &all);
        let root = folder.or(all.first().map(PathBuf::as_path));
        let args = of_all.of(folder).source_args(root.unwrap_or(Path::new("/")));
        Projects::within(&args, &all).of(path)
    };
    Options {
        files: Arc::new(Files::within(folders)),
        readings: Arc::default(),
        disk: DiskCache::Off,
        project_of: Arc::new(project_of),
        rules: RuleArgs::default(),
        fix: None,
        baseline: None,
        stop: Cancellation::default(),
    }
}

/// The innermost of the folders that has the file.
pub(super) fn folder_of<'a>(path: &Path, folders: &'a [PathBuf]) -> Option<&'a Path> {
    let around = folders.iter().filter(|folder| path.starts_with(folder));
    around
        .max_by_key(|folder| folder.as_os_str().len())
        .map(PathBuf::as_path)
}

/// The last valid project of each configuration, by its path.
pub(super) type Good = BTreeMap<PathBuf, Arc<Project>>;

/// The target for a file. If its configuration cannot be read, the last valid project holds, else the project
/// without a configuration; the error is returned, too.
pub(super) fn target(
    path: &Path,
    folders: &[PathBuf],
    settings: &FolderSettings,
    good: &Good,
    root: &Path,
) -> (Target, Option<anyhow::Error>) {
    let folder = folder_of(path, folders);
    let args = settings.of(folder).source_args(folder.unwrap_or(root));
    let (project, error) = match Projects::within(&args, folders).of(path) {
        Ok(project) => (project, None),
        Err(error) => {
            let file = error.downcast_ref().map(|error: &ConfigError| &error.file.path);
            let before = file.and_then(|file| good.get(&here(Path::new(file))));
            let without = || {
                let args = SourceArgs {
                    config: None,
                    isolated: true,
                    ..args
                };
                Projects::within(&args, folders).of(path).unwrap_or_default()
            };
            (before.cloned().unwrap_or_else(without), Some(error))
        }
    };
    let input = Input {
        path: path.to_owned(),
        origin: InputOrigin::Named,
    };
    (Target { input, project }, error)
}

/// Checks a file, unless it is excluded: users also open files that they only want to read.
pub(super) fn check(target: &Target, options: &Options, role: Role) -> anyhow::Result<FileReport> {
    if target.project.excludes(&target.input.path) {
        return Ok(FileReport::default());
    }
    check_file(target, options, role)
}

/// The kernels in which an open header is checked.
pub(super) fn kernels_of(
    header: &Path,
    folders: &[PathBuf],
    settings: &FolderSettings,
    good: &Good,
    options: &Options,
) -> anyhow::Result<Vec<PathBuf>> {
    let (folders, settings, good) = (folders.to_vec(), settings.clone(), good.clone());
    // The files in one folder have the same project.
    let by_folder: Mutex<HashMap<PathBuf, Arc<Project>>> = Mutex::default();
    let project_of = move |path: &Path| {
        let folder = path.parent().unwrap_or(path).to_owned();
        let mut by_folder = lock(&by_folder);
        let project = by_folder.entry(folder);
        let project = project.or_insert_with(|| {
            let root = folders.first().map_or(Path::new("/"), PathBuf::as_path);
            target(path, &folders, &settings, &good, root).0.project
        });
        Ok(Arc::clone(project))
    };
    let options = Options {
        project_of: Arc::new(project_of),
        ..options.with(None, &options.stop)
    };
    let including = header_kernels::including(header, &options)?;
    let chosen = header_kernels::most_telling(header, including, &options);
    Ok(chosen
        .into_iter()
        .map(|target| here(&target.input.path))
        .collect())
}
