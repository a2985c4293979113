//! The main job: look at every file, show what was found.

use std::collections::{HashMap, HashSet};
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};
use shaderlint_hlsl::{FileId, FileSpan};
use shaderlint_linter::Level;

use crate::args::{CheckArgs, FileArgs};
use crate::config::Projects;
use crate::encoding::encoded_like;
use crate::includes::Files;
use crate::lint::{self, FixMode, Looked, Options, Role, Target};
use crate::report::{self, Detail, Results};
use crate::terminal::Style;
use crate::walk::Input;
use crate::{Outcome, terminal, walk};

/// What standard input is called where nobody says.
const STDIN: &str = "<stdin>";

pub(crate) fn run(args: &CheckArgs) -> Result<Outcome> {
    let (inputs, mut failures) = inputs(args)?;
    let roots = inputs
        .iter()
        .map(|target| (target.input.path.as_path(), target.project.root.as_deref()));
    let stdin = stdin(args)?.map(read_stdin).transpose()?;
    let mut files = Files::new(walk::trees(&args.files.paths, roots));
    if let Some((path, bytes)) = &stdin {
        files = files.with(path, bytes.clone());
    }
    let options = Options {
        files,
        profile: args.profile,
        rules: args.rules.clone(),
        fix: (args.fixes.fix || args.fixes.diff).then_some(FixMode {
            unsafe_too: args.fixes.unsafe_fixes,
            in_place: args.fixes.fix && stdin.is_none(),
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
    let fixed = stdin.filter(|_| args.fixes.fix).map(|(_, bytes)| bytes);
    if let Some(bytes) = &fixed {
        pass_on(bytes, &looked)?;
    }
    show(
        args,
        Results {
            looked: &looked,
            failures: &failures,
        },
        fixed.is_some(),
    )?;
    let matters = |one: &Looked| {
        let mut findings = one.report.findings.iter();
        findings.any(|finding| finding.level > Level::Info) || (args.fixes.diff && one.fixed.diff.is_some())
    };
    Ok(if !failures.is_empty() {
        Outcome::Failure
    } else if looked.iter().any(matters) && !args.output.exit_zero {
        Outcome::Findings
    } else {
        Outcome::Clean
    })
}

/// What standard input is called, if it is what to look at.
fn stdin(args: &CheckArgs) -> Result<Option<&Path>> {
    let FileArgs {
        paths,
        stdin_filename,
        ..
    } = &args.files;
    let is_stdin = |path: &PathBuf| path.as_os_str() == "-";
    ensure!(
        paths.len() < 2 || !paths.iter().any(is_stdin),
        "`-` is looked at alone: no other path can stand beside it"
    );
    let is_asked_for = paths.first().map_or(stdin_filename.is_some(), is_stdin);
    ensure!(
        is_asked_for || stdin_filename.is_none(),
        "--stdin-filename is for `-`, not for files that are named"
    );
    Ok(is_asked_for.then(|| stdin_filename.as_deref().unwrap_or(Path::new(STDIN))))
}

fn read_stdin(name: &Path) -> Result<(&Path, Vec<u8>)> {
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .context("standard input")?;
    Ok((name, bytes))
}

/// Prints what standard input becomes by its fixes; as it is where there are none.
fn pass_on(bytes: &[u8], looked: &[Looked]) -> Result<()> {
    let fixed = looked.iter().find_map(|one| one.fixed.diff.as_ref());
    match fixed {
        Some((old, new)) => terminal::print(&encoded_like(bytes, old, new)?),
        None => terminal::print(bytes),
    }
}

/// The files to look at, each with what holds for it; and what is wrong with the arguments.
pub(crate) fn inputs(args: &CheckArgs) -> Result<(Vec<Target>, Vec<String>)> {
    let (found, failures) = match stdin(args)? {
        Some(name) => {
            let input = Input {
                path: name.to_owned(),
                is_named: true,
            };
            (vec![input], Vec::new())
        }
        None => walk::walk(&args.files.paths),
    };
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
            lint::may_have_entry(&options.files, &target.input.path)
                .then(|| lint::look(target, options, Role::Unit))
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
                    Some(used) => Ok(lint::look_at_included(target, options, used.as_deref())),
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
        report
            .allowed
            .retain(|allowed| is_new(allowed.finding.rule, Some(allowed.finding.primary.place)));
        for problems in [problems, elsewhere, &mut report.problems, &mut report.stops] {
            problems.retain(|problem| is_new(&problem.message, problem.place));
        }
    }
}

/// Says what was found: on standard output or in a file, and beside it on standard error what else there is to say.
/// Where standard output is taken by the text itself, all goes to standard error.
fn show(args: &CheckArgs, results: Results, stdout_is_taken: bool) -> Result<()> {
    let output = &args.output;
    let detail = match (output.quiet, output.verbose) {
        (true, _) => Detail::Nothing,
        (_, true) => Detail::Everything,
        _ => Detail::WhatMatters,
    };
    let of_stderr = Style::of_stderr(output.color);
    for one in results.looked {
        terminal::print_error(report::problems_of(one, detail, of_stderr).as_bytes());
    }
    let style = match &output.output_file {
        Some(_) => Style::of_file(output.color),
        None if stdout_is_taken => of_stderr,
        None => Style::of_stdout(output.color),
    };
    let is_machine_read = output.output_file.is_some() || stdout_is_taken;
    let format = output
        .output_format
        .unwrap_or_else(|| report::default_format(is_machine_read || io::stdout().is_terminal()));
    let text = if args.fixes.diff {
        let diffs = results.looked.iter().filter_map(|one| {
            let (old, new) = one.fixed.diff.as_ref()?;
            Some(report::diff(&one.path, old, new, style))
        });
        diffs.collect::<Vec<_>>().concat()
    } else if output.statistics {
        report::statistics(results.looked, format)?
    } else {
        report::findings(results, format, style)?
    };
    match &output.output_file {
        Some(path) => std::fs::write(path, &text).with_context(|| path.display().to_string())?,
        None if stdout_is_taken => terminal::print_error(&text),
        None => terminal::print(&text)?,
    }
    for failure in results.failures {
        terminal::complain(failure);
    }
    // Where nothing could be looked at, "nothing found" would mislead.
    let could_not_look = results.looked.is_empty() && !results.failures.is_empty();
    if !output.quiet && !could_not_look {
        terminal::print_error(report::summary(args, results.looked).as_bytes());
    }
    Ok(())
}
