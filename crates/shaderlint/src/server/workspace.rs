//! The open folders, and the files in them.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use shaderlint_hlsl::SourceFile;

use super::settings::Settings;
use crate::check::file::check_file;
use crate::check::file_report::FileReport;
use crate::check::options::{Options, Target};
use crate::check::readings::{DiskCache, Role};
use crate::cli::{RuleArgs, SourceArgs};
use crate::support::cancellation::Cancellation;
use crate::support::config_error::ConfigError;
use crate::support::paths::here;
use crate::workspace::config::{Project, Projects};
use crate::workspace::files::Files;
use crate::workspace::include_search::{self, Sought};
use crate::workspace::prefilter;
use crate::workspace::walk::{self, Input, InputOrigin};

/// The maximal number of files that are checked because they include an open header.
const MAX_INCLUDERS: usize = 8;

pub(super) fn options(folders: &[PathBuf], settings: &Settings) -> Options {
    let (all, of_all) = (folders.to_vec(), settings.clone());
    let project_of = move |path: &Path| {
        let folder = all.iter().find(|folder| path.starts_with(folder)).or(all.first());
        let args = of_all.source_args(folder.map_or(Path::new("/"), PathBuf::as_path));
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

/// The last valid project of each configuration, by its path.
pub(super) type Good = BTreeMap<PathBuf, Arc<Project>>;

/// The target for a file. If its configuration cannot be read, the last valid project holds, else the project
/// without a configuration; the error is returned, too.
pub(super) fn target(
    path: &Path,
    folders: &[PathBuf],
    settings: &Settings,
    good: &Good,
    root: &Path,
) -> (Target, Option<anyhow::Error>) {
    let of_file = folders.iter().find(|folder| path.starts_with(folder));
    let args = settings.source_args(of_file.map_or(root, PathBuf::as_path));
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

/// The first files with entry points that include the header, directly or not. Searches the open folder of
/// the header.
pub(super) fn includers(
    header: &Path,
    folders: &[PathBuf],
    settings: &Settings,
    good: &Good,
    options: &Options,
) -> Vec<PathBuf> {
    let Some(folder) = folders.iter().find(|folder| header.starts_with(folder)) else {
        return Vec::new();
    };
    let files = walk::tree(folder).take_while(|_| !options.stop.is_set());
    let files = files.filter(|path| path != header);
    // Files in the same folder have the same project.
    let mut projects: HashMap<PathBuf, Arc<Project>> = HashMap::new();
    let includers = files.filter(|path| {
        let beside = path.parent().unwrap_or(folder).to_owned();
        let project = projects
            .entry(beside)
            .or_insert_with(|| target(path, folders, settings, good, folder).0.project);
        if !project.includes(path) || project.excludes(path) {
            return false;
        }
        let search = options.search(project);
        let Ok(bytes) = options.files.bytes(path) else {
            return false;
        };
        let is_header = |file: &SourceFile| here(Path::new(&file.path)) == header;
        let name = path.display().to_string();
        prefilter::names_entry(&bytes)
            && include_search::reaches(&name, &bytes.into(), &search, Sought::file(&is_header))
    });
    includers.take(MAX_INCLUDERS).map(|path| here(&path)).collect()
}
