//! Checks all files of a run, and fixes them.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use rayon::iter::{
    IndexedParallelIterator, IntoParallelRefIterator, IntoParallelRefMutIterator, ParallelIterator,
};
use shaderlint_hlsl::{FileId, FileSpan};
use shaderlint_linter::{Diagnostic, Reason};

use crate::check::file::check_file;
use crate::check::file_report::{FileReport, Included};
use crate::check::header::check_header;
use crate::check::options::{Options, Target};
use crate::check::readings::Role;
use crate::support::failure::Failure;
use crate::support::paths::here;
use crate::support::progress::Progress;
use crate::support::words;
use crate::workspace::prefilter;
use crate::workspace::walk::InputOrigin;

/// Checks all files, and makes the fixes that the options ask for.
///
/// The proof of a fix covers the files that its file includes and those that include it
/// ([`crate::check::includers`]). So a fix changes code on which the proofs for other files depend. Files that
/// include others or are included are therefore fixed one after the other, each with the fixes of those before it. At
/// the end the run checks every file again that includes a fixed one.
pub(super) fn check_and_fix_all(
    inputs: &[Target],
    options: &Options,
    progress: &Progress,
) -> Vec<Result<FileReport>> {
    let mut results = check_all(inputs, &options.with(None, &options.stop), progress);
    if options.fix.is_none() {
        return results;
    }
    let has_fix = |one: &FileReport| one.report.findings.iter().any(|finding| finding.fix.is_some());
    let fixable: HashSet<PathBuf> = results
        .iter()
        .flatten()
        .filter(|one| has_fix(one))
        .map(|one| here(Path::new(&one.path)))
        .collect();
    progress.begin("fixed", fixable.len());
    let included = results.iter().flatten().filter(|one| !one.includers.is_empty());
    let included: HashSet<PathBuf> = included.map(|one| PathBuf::from(&one.path)).collect();
    let is_fixable = |file: &Included| fixable.contains(&here(Path::new(&file.path)));
    let is_independent = |one: &FileReport| one.includers.is_empty() && !one.included.iter().any(is_fixable);
    let fix = |(target, result): (&Target, &mut Result<FileReport>),
               is_turn: &(dyn Fn(&FileReport) -> bool + Sync)| {
        let is_asked_for = target.input.origin != InputOrigin::Includer;
        if is_asked_for && result.as_ref().is_ok_and(|one| has_fix(one) && is_turn(one)) {
            let role = Role::for_fixes(&options.files, &target.input.path);
            let fixed = check_file(target, options, role);
            progress.done();
            match (fixed, result) {
                (Ok(fixed), result) => *result = Ok(fixed),
                // A failed fix leaves the findings as they are.
                (Err(error), Ok(one)) => {
                    one.fixed.failure = Some(Failure::of(&target.input.path, &error));
                }
                (Err(_), Err(_)) => {}
            }
        }
    };
    inputs
        .par_iter()
        .zip(results.par_iter_mut())
        .for_each(|pair| fix(pair, &is_independent));
    // Included files come first: their includers may call the helper that a fix declares there. An includer of a file
    // includes all files that this file includes, so it has a longer list.
    let mut in_order: Vec<_> = inputs.iter().zip(&mut results).collect();
    in_order.sort_by_key(|(_, result)| result.as_ref().map_or(0, |one| one.included.len()));
    for (target, result) in in_order {
        fix((target, result), &|one| {
            one.fixed.rules.is_empty() && !is_independent(one)
        });
        // Including files are checked with these fixes.
        if let Ok(one) = &*result
            && included.contains(&target.input.path)
            && let Some(bytes) = &one.fixed.bytes
        {
            options.files.give(&target.input.path, Some(Arc::clone(bytes)));
        }
    }
    let fixed: HashSet<PathBuf> = results
        .iter()
        .flatten()
        .filter(|one| !one.fixed.rules.is_empty())
        .map(|one| here(Path::new(&one.path)))
        .collect();
    let is_fixed = |file: &Included| fixed.contains(&here(Path::new(&file.path)));
    let is_stale = |one: &FileReport| one.included.iter().any(is_fixed);
    inputs
        .par_iter()
        .zip(results.par_iter_mut())
        .for_each(|(target, result)| {
            if let Ok(one) = result
                && is_stale(one)
            {
                // A header that its includers show has no fixes of its own here, whatever it includes.
                let role = if one.is_unit {
                    Role::Unit
                } else {
                    Role::HeaderAsUnit
                };
                let fixed = std::mem::take(&mut one.fixed);
                *result = check_file(target, &options.with(None, &options.stop), role)
                    .map(|checked| FileReport { fixed, ..checked });
            }
        });
    results
}

/// Checks the files with entry points, then the headers that none of them includes: includers show the other headers.
fn check_all(inputs: &[Target], options: &Options, progress: &Progress) -> Vec<Result<FileReport>> {
    let mut results: Vec<Option<Result<FileReport>>> = inputs
        .par_iter()
        .map(|target| {
            let has_entry = options.files.may_have_entry(&target.input.path);
            has_entry.then(|| {
                let checked = check_file(target, options, Role::Unit);
                progress.done();
                checked
            })
        })
        .collect();
    let mut included: HashMap<PathBuf, Use> = HashMap::new();
    for one in results.iter().flatten().flatten() {
        for header in &one.included {
            let Ok(path) = Path::new(&header.path).canonicalize() else {
                continue;
            };
            included.entry(path).or_default().add(one, header);
        }
    }
    inputs
        .par_iter()
        .zip(&mut results)
        .map(|(target, result)| {
            let is_done = result.is_some();
            let checked = result.take().unwrap_or_else(|| {
                // Files that include it, or that need its comments, may be on another list.
                if target.input.origin == InputOrigin::Listed {
                    return Ok(check_header(target, options, None, None));
                }
                let path = target.input.path.canonicalize();
                let Some(seen) = path.ok().and_then(|path| included.get(&path)) else {
                    return check_file(target, options, Role::HeaderAsUnit);
                };
                let needs_own_report = seen.has_fix || seen.leaves_some_uncalled(target, options);
                let own_report = needs_own_report.then(|| check_file(target, options, Role::Included));
                let (used, own_report) = (seen.used.as_deref(), own_report.transpose()?);
                Ok(check_header(target, options, used, own_report))
            });
            if !is_done {
                progress.done();
            }
            checked
        })
        .collect()
}

/// How files with entry points use a header.
struct Use {
    /// Where its comments name rules that have a finding there; `None` if one of the including files was not
    /// understood in full.
    used: Option<Vec<FileSpan>>,
    /// The functions, of the header or not, that none of these files calls in its default reading; `None` if none has
    /// a kernel in its default reading.
    uncalled: Option<HashSet<String>>,
    /// One of them has a fix that changes the header.
    has_fix: bool,
}

impl Default for Use {
    fn default() -> Self {
        Use {
            used: Some(Vec::new()),
            uncalled: None,
            has_fix: false,
        }
    }
}

impl Use {
    fn add(&mut self, one: &FileReport, header: &Included) {
        let is_fixed_there = |finding: &Diagnostic| {
            let file = one.sources.get(finding.primary.place.file);
            let why = finding.no_fix.as_ref().map(|why| why.reason);
            file.is_some_and(|file| file.path == header.path) && why == Some(Reason::InInclude)
        };
        self.has_fix |= one.report.findings.iter().any(is_fixed_there);
        match &mut self.used {
            Some(used) if !one.is_partial => used.extend(header.used.iter().map(|place| FileSpan {
                file: FileId(0),
                ..*place
            })),
            used => *used = None,
        }
        match (&mut self.uncalled, &one.uncalled) {
            (Some(known), Some(uncalled)) => known.retain(|name| uncalled.contains(name)),
            (known @ None, Some(uncalled)) => *known = Some(uncalled.iter().cloned().collect()),
            (_, None) => {}
        }
    }

    /// Whether the header has functions to run by themselves. Most headers have none, and need not be read again.
    fn leaves_some_uncalled(&self, target: &Target, options: &Options) -> bool {
        let file = options.files.read(&target.input.path);
        let text = file.filter(|file| prefilter::names_group_barrier(&file.text));
        text.is_some_and(|file| {
            let is_named = |name: &String| words::times_named(&file.text, name) > 0;
            self.uncalled
                .as_ref()
                .is_none_or(|names| names.iter().any(is_named))
        })
    }
}
