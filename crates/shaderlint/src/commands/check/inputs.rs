//! The files that a run checks.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use shaderlint_hlsl::SourceFile;

use crate::check::file_report::InPart;
use crate::check::header_kernels;
use crate::check::options::{Options, Target};
use crate::cli::{CheckArgs, FileArgs};
use crate::support::failure::Failure;
use crate::support::paths::here;
use crate::workspace::config::Projects;
use crate::workspace::git;
use crate::workspace::include_search::Sought;
use crate::workspace::walk::{self, Input, InputOrigin};

/// The name of standard input without `--stdin-filename`.
const STDIN: &str = "<stdin>";

/// The files to check, each with its configuration, and the errors in the arguments.
pub(crate) fn inputs(args: &CheckArgs) -> Result<(Vec<Target>, Vec<Failure>)> {
    let mut projects = Projects::new(&args.source);
    let (found, failures) = if let Some(name) = stdin(args)? {
        let input = Input {
            path: name.to_owned(),
            origin: InputOrigin::Named,
        };
        (vec![input], Vec::new())
    } else {
        let mut misconfigured = None;
        let found = walk::walk(&arguments(&args.files)?, &mut |path| match projects.of(path) {
            Ok(project) => project.includes(path),
            Err(error) => {
                misconfigured.get_or_insert(error);
                false
            }
        });
        misconfigured.map_or(Ok(found), Err)?
    };
    let mut inputs = Vec::new();
    for input in found {
        let project = projects.of(&input.path)?;
        // Naming a file overrides `exclude`.
        let is_wanted = input.origin != InputOrigin::Found && !args.files.force_exclude;
        if is_wanted || !project.excludes(&input.path) {
            inputs.push(Target { input, project });
        }
    }
    Ok((inputs, failures))
}

/// The paths that the command line names, and those in the file of `--files-from`.
fn arguments(args: &FileArgs) -> Result<Vec<(PathBuf, InputOrigin)>> {
    let named = args.paths.iter().map(|path| (path.clone(), InputOrigin::Named));
    let mut arguments: Vec<(PathBuf, InputOrigin)> = named.collect();
    let Some(list) = &args.files_from else {
        if arguments.is_empty() {
            arguments.push((PathBuf::from("."), InputOrigin::Named));
        }
        return Ok(arguments);
    };
    let text = if list.as_os_str() == "-" {
        let mut text = String::new();
        io::stdin()
            .lock()
            .read_to_string(&mut text)
            .context("standard input")?;
        text
    } else {
        std::fs::read_to_string(list).with_context(|| list.display().to_string())?
    };
    // `find -print0` and `git -z` separate names by zeros.
    let separator = if text.contains('\0') { '\0' } else { '\n' };
    let lines = text
        .split(separator)
        .map(|line| line.strip_suffix('\r').unwrap_or(line));
    let listed = lines.filter(|line| !line.is_empty());
    arguments.extend(listed.map(|line| (PathBuf::from(line), InputOrigin::Listed)));
    Ok(arguments)
}

/// The inputs that changed since the branch left `revision`, that include a changed file, or whose configuration
/// changed.
pub(crate) fn changed(inputs: Vec<Target>, options: &Options, revision: &str) -> Result<Vec<Target>> {
    let changed = git::since(revision)?;
    let has_changed = |file: &SourceFile| changed.has(Path::new(&file.path));
    // Instead of a deleted header, the `#include` may find another file, or none.
    let may_be_gone = |written: &str| changed.may_have_meant_a_gone_one(written);
    let is_affected = |target: &Target| {
        let path = &target.input.path;
        changed.has(path)
            || target.project.files.iter().any(|file| changed.has(file))
            || target.may_include(options, Sought::file(&has_changed).or_written(&may_be_gone))
    };
    let affected: Vec<bool> = inputs.par_iter().map(is_affected).collect();
    let kept = inputs.into_iter().zip(affected).filter(|(_, affected)| *affected);
    Ok(kept.map(|(target, _)| target).collect())
}

/// The files of a run with the kernels for its headers.
pub(crate) struct WithKernels {
    pub inputs: Vec<Target>,
    /// The named headers with more kernels than a run checks.
    pub in_part: BTreeMap<PathBuf, InPart>,
}

/// Adds the kernels of the workspace that include a header which the command line names: findings in a header come
/// from its includers.
pub(crate) fn with_kernels_of_headers(inputs: Vec<Target>, options: &Options) -> Result<WithKernels> {
    let headers = inputs.iter().filter(|target| is_named_header(target, options));
    let headers: Vec<PathBuf> = headers.map(|target| target.input.path.clone()).collect();
    let mut known: HashSet<PathBuf> = inputs.iter().map(|target| here(&target.input.path)).collect();
    let mut with_kernels = WithKernels {
        inputs,
        in_part: BTreeMap::new(),
    };
    for header in headers {
        let mut including = header_kernels::including(&header, options)?;
        let all = including.len();
        including.retain(|target| !known.contains(&here(&target.input.path)));
        let unknown = including.len();
        let chosen = header_kernels::most_telling(&header, including, options);
        let left_out = unknown - chosen.len();
        known.extend(chosen.iter().map(|target| here(&target.input.path)));
        with_kernels.inputs.extend(chosen);
        if left_out > 0 {
            let checked = all - left_out;
            with_kernels.in_part.insert(header, InPart { checked, all });
        }
    }
    Ok(with_kernels)
}

/// Whether the command line names this file, and the file has no kernel. Files on a list do not count: their
/// includers may be on another list.
pub(crate) fn is_named_header(target: &Target, options: &Options) -> bool {
    target.input.origin == InputOrigin::Named && !options.files.may_have_entry(&target.input.path)
}

/// The name for standard input, if the run checks it.
pub(crate) fn stdin(args: &CheckArgs) -> Result<Option<&Path>> {
    let FileArgs {
        paths,
        stdin_filename,
        ..
    } = &args.files;
    let is_stdin = |path: &PathBuf| path.as_os_str() == "-";
    ensure!(
        paths.len() < 2 || !paths.iter().any(is_stdin),
        "`-` must be the only path"
    );
    let is_asked_for = paths.first().map_or(stdin_filename.is_some(), is_stdin);
    ensure!(
        is_asked_for || stdin_filename.is_none(),
        "--stdin-filename only applies to `-`"
    );
    ensure!(
        !is_asked_for || args.files.files_from.is_none(),
        "`-` cannot be combined with a list of files"
    );
    ensure!(
        !is_asked_for || !args.baseline.write_baseline,
        "a baseline needs files, not `-`"
    );
    ensure!(
        !is_asked_for || args.baseline.add_allow.is_none(),
        "`-` is not a file to write comments into"
    );
    Ok(is_asked_for.then(|| stdin_filename.as_deref().unwrap_or(Path::new(STDIN))))
}

pub(crate) fn read_stdin(name: &Path) -> Result<(&Path, Vec<u8>)> {
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .context("standard input")?;
    Ok((name, bytes))
}
