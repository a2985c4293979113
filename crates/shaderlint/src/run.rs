//! The main job: look at every file, show what was found.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Result;
use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};
use shaderlint_hlsl::{FileId, FileSpan};
use shaderlint_linter::{Level, Safety};

use crate::args::{CheckArgs, OutputFormat};
use crate::config::Projects;
use crate::includes::Files;
use crate::lint::{self, FixMode, Looked, Options, Role, Target};
use crate::report::{self, Detail};
use crate::{Outcome, terminal, walk};

pub(crate) fn run(args: &CheckArgs) -> Result<Outcome> {
    let (inputs, mut failures) = inputs(args)?;
    let roots = inputs
        .iter()
        .map(|target| (target.input.path.as_path(), target.project.root.as_deref()));
    let options = Options {
        files: Files::new(walk::trees(&args.paths, roots)),
        profile: args.profile,
        rules: args.rules.clone(),
        fix: (args.fix || args.diff).then_some(FixMode {
            unsafe_too: args.unsafe_fixes,
            in_place: args.fix,
        }),
    };
    let results = look_at_all(&inputs, &options);
    let mut looked = Vec::new();
    for result in results {
        match result {
            Ok(one) => looked.push(one),
            Err(error) => failures.push(format!("{error:#}")),
        }
    }
    say_once(&mut looked);
    show(args, &looked, &failures)?;
    let has_findings = looked.iter().any(|one| {
        one.report
            .findings
            .iter()
            .any(|finding| finding.level > Level::Info)
            || one.fixed.diff.is_some()
    });
    Ok(if !failures.is_empty() {
        Outcome::Failure
    } else if has_findings && !args.exit_zero {
        Outcome::Findings
    } else {
        Outcome::Clean
    })
}

/// The files to look at, each with what holds for it; and what is wrong with the arguments.
pub(crate) fn inputs(args: &CheckArgs) -> Result<(Vec<Target>, Vec<String>)> {
    let (found, failures) = walk::walk(&args.paths);
    let mut projects = Projects::new(&args.source);
    let mut inputs = Vec::new();
    for input in found {
        let project = projects.of(&input.path)?;
        // Who names a file wants it looked at.
        if input.is_named || !project.excludes(&input.path) {
            inputs.push(Target { input, project });
        }
    }
    Ok((inputs, failures))
}

/// Files with entry points, then the headers that none of them includes: the others are seen where they are used.
fn look_at_all(inputs: &[Target], options: &Options) -> Vec<Result<Looked>> {
    let mut results: Vec<Option<Result<Looked>>> = inputs
        .par_iter()
        .map(|target| {
            lint::may_have_entry(&target.input.path).then(|| lint::look(target, options, Role::Unit))
        })
        .collect();
    let mut included: HashMap<PathBuf, Option<Vec<FileSpan>>> = HashMap::new();
    for one in results.iter().flatten().flatten() {
        for header in &one.included {
            let Ok(path) = Path::new(&header.path).canonicalize() else {
                continue;
            };
            let used = included.entry(path).or_insert_with(|| Some(Vec::new()));
            match used {
                Some(used) if !one.is_in_part => used.extend(header.used.iter().map(|place| FileSpan {
                    file: FileId(0),
                    ..*place
                })),
                _ => *used = None,
            }
        }
    }
    inputs
        .par_iter()
        .zip(&mut results)
        .map(|(target, result)| {
            result.take().unwrap_or_else(|| {
                let path = target.input.path.canonicalize();
                match path.ok().and_then(|path| included.get(&path)) {
                    Some(used) => lint::look_at_included(target, options, used.as_deref()),
                    None => lint::look(target, options, Role::StrayHeader),
                }
            })
        })
        .collect()
}

/// What several files see in a header that all of them include is said for the first.
fn say_once(looked: &mut [Looked]) {
    let mut seen = HashSet::new();
    for one in looked {
        let Looked {
            report,
            sources,
            problems,
            elsewhere,
            path,
            ..
        } = one;
        let mut is_new = |what: &str, place: Option<FileSpan>| {
            let file = place
                .and_then(|place| sources.get(place.file))
                .map_or(&*path, |file| &file.path);
            let place = place.map(|place| (place.start, place.end));
            seen.insert((what.to_owned(), file.to_owned(), place))
        };
        report
            .findings
            .retain(|finding| is_new(finding.rule, Some(finding.primary.place)));
        for problems in [problems, elsewhere, &mut report.problems, &mut report.stops] {
            problems.retain(|problem| is_new(&problem.message, problem.place));
        }
    }
}

fn show(args: &CheckArgs, looked: &[Looked], failures: &[String]) -> Result<()> {
    let detail = match (args.quiet, args.verbose) {
        (true, _) => Detail::Nothing,
        (_, true) => Detail::Everything,
        _ => Detail::WhatMatters,
    };
    let is_colored = terminal::is_colored(args.color, &io::stderr());
    for one in looked {
        terminal::print_error(&report::problems_of(one, detail, is_colored));
    }
    let is_colored = terminal::is_colored(args.color, &io::stdout());
    if args.diff {
        for one in looked {
            if let Some((old, new)) = &one.fixed.diff {
                terminal::print(&report::diff(&one.path, old, new, is_colored))?;
            }
        }
    } else {
        match args.output_format {
            OutputFormat::Json => terminal::print(&report::json(looked)?)?,
            OutputFormat::Full => {
                for one in looked {
                    terminal::print(&report::full(one, is_colored)?)?;
                }
            }
            OutputFormat::Concise => {
                for one in looked {
                    terminal::print(report::concise(one).as_bytes())?;
                }
            }
        }
    }
    for failure in failures {
        terminal::complain(failure);
    }
    // Where nothing could be looked at, "nothing found" would mislead.
    let could_not_look = looked.is_empty() && !failures.is_empty();
    if !args.quiet && !could_not_look {
        terminal::print_error(summary(args, looked).as_bytes());
    }
    Ok(())
}

/// One line: what was found in how many files, and what can be done about it.
fn summary(args: &CheckArgs, looked: &[Looked]) -> String {
    if looked.is_empty() {
        return "no shader files found\n".to_owned();
    }
    let findings = || looked.iter().flat_map(|one| &one.report.findings);
    let count = |safety: Safety| {
        let fixes = findings().filter_map(|finding| finding.fix.as_ref());
        fixes.filter(|fix| fix.safety == safety).count()
    };
    let counted =
        |number: usize, one: &str, many: &str| format!("{number} {}", if number == 1 { one } else { many });
    let files = counted(looked.len(), "file", "files");
    let fixed: usize = looked.iter().map(|one| one.fixed.count).sum();
    let done = match fixed {
        0 => String::new(),
        _ => format!(
            "{} {}; ",
            counted(fixed, "fix", "fixes"),
            if args.fix { "made" } else { "to make" }
        ),
    };
    let in_part = match looked.iter().filter(|one| one.is_in_part).count() {
        0 => String::new(),
        _ if args.verbose => String::new(),
        some => format!(
            "; {} not understood in full (-v says why)",
            counted(some, "file", "files")
        ),
    };
    let found = findings().count();
    if found == 0 {
        return format!(
            "{done}nothing {} in {files}{in_part}\n",
            if fixed > 0 { "left" } else { "found" }
        );
    }
    let fixable = match (count(Safety::Safe), count(Safety::Unsafe)) {
        (0, 0) => String::new(),
        (safe, 0) => format!(" ({safe} fixable with --fix)"),
        (0, not_safe) => format!(" ({not_safe} fixable with --fix --unsafe-fixes)"),
        (safe, not_safe) => format!(" ({safe} fixable with --fix, {not_safe} more with --unsafe-fixes)"),
    };
    format!(
        "{done}{} in {files}{fixable}{in_part}\n",
        counted(found, "finding", "findings")
    )
}
