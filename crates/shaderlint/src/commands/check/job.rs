//! Prepares a run: its files, and the options for all of them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::{Arc, Mutex};

use anyhow::Result;

use super::inputs;
use crate::check::options::{FixMode, Options, Target};
use crate::check::readings::DiskCache;
use crate::cli::CheckArgs;
use crate::support::cancellation::Cancellation;
use crate::support::failure::Failure;
use crate::support::paths::here;
use crate::workspace::config::Projects;
use crate::workspace::files::{Files, lock};
use crate::workspace::walk;

/// A prepared run.
pub(crate) struct Job {
    pub inputs: Vec<Target>,
    pub options: Options,
    /// The errors in the arguments.
    pub failures: Vec<Failure>,
}

/// Prepares a run. `stdin` is a file whose text does not come from disk.
pub(crate) fn job(args: &CheckArgs, stdin: Option<&(&Path, Vec<u8>)>) -> Result<Job> {
    let (inputs, failures) = inputs::inputs(args)?;
    let roots = || {
        let targets = inputs.iter();
        targets.map(|target| (target.input.path.as_path(), target.project.root.as_deref()))
    };
    let paths = &args.files.paths;
    let files = Files::new(walk::trees(paths, roots()), &walk::workspace(paths, roots()));
    for target in &inputs {
        files.allow(target.project.header_folders());
        files.add_input(&target.input.path);
    }
    if let Some((path, bytes)) = stdin {
        files.give(path, Some(bytes.as_slice().into()));
    }
    // One cache per root, so that an error in a configuration is reported once.
    let of_roots: Mutex<HashMap<PathBuf, Projects>> = Mutex::default();
    let source = args.source.clone();
    let project_of = move |path: &Path| {
        let path = here(path);
        let root = path.ancestors().last().unwrap_or(&path).to_owned();
        let mut of_roots = lock(&of_roots);
        let of_root = of_roots.entry(root);
        let of_root = of_root.or_insert_with_key(|root| Projects::within(&source, slice::from_ref(root)));
        of_root.of(&path)
    };
    let options = Options {
        files: files.into(),
        readings: Arc::default(),
        disk: DiskCache::configured(&args.cache),
        project_of: Arc::new(project_of),
        rules: args.rules.clone(),
        fix: (args.fixes.is_made() || args.fixes.diff).then_some(FixMode {
            unsafe_too: args.fixes.unsafe_fixes,
            in_place: args.fixes.is_made() && stdin.is_none(),
        }),
        baseline: args.baseline.baseline.clone(),
        stop: Cancellation::default(),
    };
    let inputs = match &args.files.changed_since {
        Some(revision) => inputs::changed(inputs, &options, revision)?,
        None => inputs,
    };
    Ok(Job {
        inputs,
        options,
        failures,
    })
}
