//! The pipelines to compare: built-in ones, or those of a folder.

use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Error, Result, ensure};
use shaderlint_bench::{System, are_sums, built_in, legible};
use shaderlint_verify::Lowered;
use shaderlint_verify::pipeline::{KernelName, PipelineError};

use crate::cli::SourceArgs;
use crate::commands::kernel;
use crate::support::config_error::{ConfigError, text_of};
use crate::support::error_text;
use crate::workspace::config::Projects;
use crate::workspace::project_file::ProjectFile;
use crate::workspace::walk;

/// The systems that `what` names: `scan`, `reduction`, or a path.
pub(super) fn systems(what: &Path, source: &SourceArgs) -> Result<Vec<System>> {
    match what.to_str() {
        Some("scan") => built_in::scans(),
        Some("reduction") => built_in::reductions(),
        _ => at_path(what, source),
    }
}

fn at_path(what: &Path, source: &SourceArgs) -> Result<Vec<System>> {
    ensure!(
        what.exists(),
        "{}: no such file or folder, and neither `scan` nor `reduction`",
        what.display()
    );
    let file = System::FILE;
    let mut paths: Vec<PathBuf> = if what.is_dir() {
        walk::tree(what)
            .filter(|path| path.file_name().is_some_and(|name| name == file))
            .collect()
    } else {
        vec![what.to_owned()]
    };
    paths.sort();
    ensure!(!paths.is_empty(), "{}: no {file} below it", what.display());
    let mut projects = Projects::new(source);
    let found = paths.iter().map(|path| system(what, path, &mut projects));
    let found = found.collect::<Result<Vec<System>>>()?;
    let mut systems = built_in::yardsticks(are_sums(&found))?;
    systems.extend(found);
    Ok(systems)
}

/// The pipeline at `path`, inside `what`.
fn system(what: &Path, path: &Path, projects: &mut Projects) -> Result<System> {
    let text = text_of(path)?;
    let at = |place: Range<usize>, message: &str| ConfigError::new(path, &text, place, legible(message));
    let failed = |place: &Range<usize>, error: &Error| at(place.clone(), &error_text::of_error(error));
    let mut kernel = |KernelName {
                          file,
                          entry,
                          place,
                          file_place,
                      }: &KernelName|
     -> Result<Lowered> {
        let file = path.with_file_name(file);
        // An error in a configuration has a place of its own.
        let project = projects.of(&file)?;
        let file = ProjectFile::read_in(project, &file).map_err(|error| failed(file_place, &error))?;
        let unit = file.unit(&file.text);
        let lowered = kernel::entry(&unit.shader, kernel::path(&unit), Some(entry))
            .and_then(|entry| kernel::lower(&unit, entry));
        lowered.map_err(|error| failed(place, &error).into())
    };
    System::load(name(what, path), path, &text, &mut kernel).map_err(|error| {
        match error.downcast::<PipelineError>() {
            Ok(PipelineError { message, place }) => at(place, &error_text::of_serde(&message, &[])).into(),
            Err(error) => error,
        }
    })
}

/// Whether one of the yardsticks has this name.
fn is_yardsticks(name: &str) -> bool {
    ["cpu", "copy", "read"].contains(&name)
}

/// The name of a `pipeline.toml`: its folder relative to `what`, which is that folder, a parent folder, or the file
/// itself.
fn name(what: &Path, path: &Path) -> String {
    let folder = path.parent().unwrap_or(path);
    // A path is the same with and without `./`.
    let [from, to] = [what, folder].map(|path| path.strip_prefix(".").unwrap_or(path));
    let below: Vec<String> = (to.strip_prefix(from).into_iter())
        .flat_map(|below| below.iter())
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    let name = if below.is_empty() {
        // Resolves `.` to the name of its folder.
        let folder = if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        };
        let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        real.file_name()
            .unwrap_or(real.as_os_str())
            .to_string_lossy()
            .into_owned()
    } else {
        below.join("/")
    };
    if is_yardsticks(&name) {
        format!("./{name}")
    } else {
        name
    }
}
