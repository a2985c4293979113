//! Checks every file and shows the findings.

use std::collections::{HashMap, HashSet};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, bail, ensure};
use clap::CommandFactory;
use rayon::iter::{
    IndexedParallelIterator, IntoParallelRefIterator, IntoParallelRefMutIterator, ParallelIterator,
};
use shaderlint_hlsl::{FileId, FileSpan, Problem, Sources};
use shaderlint_linter::{Diagnostic, Level};
use shaderlint_rules::RULES;

use super::{add_allow, inputs};
use crate::check::baseline::Baselines;
use crate::check::file_report::{Counted, FileReport, Included};
use crate::check::options::{FixMode, Options, Target};
use crate::check::readings::{DiskCache, Role};
use crate::check::{baseline, lint};
use crate::cli::{Args, CheckArgs, Denied, Outcome};
use crate::report::{self, Results};
use crate::support::cancellation::Cancellation;
use crate::support::config_error::ConfigError;
use crate::support::encoding::encoded_like;
use crate::support::failure::Failure;
use crate::support::paths::here;
use crate::support::progress::Progress;
use crate::support::suggestions::likeness;
use crate::support::terminal::Style;
use crate::support::{snippets, terminal};
use crate::workspace::config::Projects;
use crate::workspace::includes::{Files, lock};
use crate::workspace::walk::InputOrigin;
use crate::workspace::{prefilter, walk};

pub(crate) fn run(args: &CheckArgs) -> Result<Outcome> {
    run_with(args, &mut |_| {})
}

/// The same; calls `tell` with the files that it checks.
pub(crate) fn run_with(args: &CheckArgs, tell: &mut dyn FnMut(&[Target])) -> Result<Outcome> {
    if let Some((path, command)) = meant_command(args) {
        bail!(
            "{}: no such file or folder; did you mean the command `{command}`?",
            path.display()
        );
    }
    let stdin = inputs::stdin(args)?.map(inputs::read_stdin).transpose()?;
    let Job {
        inputs,
        options,
        mut failures,
    } = job(args, stdin.as_ref())?;
    tell(&inputs);
    let inputs = inputs::with_includers(inputs, &options)?;
    let progress = Progress::of_files(inputs.len(), args.output.quiet);
    let mut results = check_and_fix_all(&inputs, &options, &progress);
    progress.clear();
    keep_what_is_in_headers(&inputs, &mut results, &options);
    let mut checked = Vec::new();
    for (target, result) in inputs.iter().zip(results) {
        match result {
            Ok(mut one) => {
                failures.extend(one.fixed.failure.take());
                checked.push(one);
            }
            Err(error) => failures.push(Failure::of(&target.input.path, &error)),
        }
    }
    let causes = report::causes(&checked);
    say_once(&mut checked);
    if args.baseline.write_baseline {
        return write_baseline(args, &checked, &failures, &|rule, file| {
            is_on(&inputs, &options, rule, file)
        });
    }
    let baselines = Baselines::read(&checked)?;
    baselines.apply(&mut checked);
    if !args.output.quiet {
        baselines.unknown().iter().for_each(snippets::doubt);
    }
    if let Some(reason) = &args.baseline.add_allow {
        return add_allow(args, &checked, &failures, reason);
    }
    let stale = baselines.stale(&checked, |rule, file| is_on(&inputs, &options, rule, file));
    let fixed = stdin.filter(|_| args.fixes.is_made()).map(|(_, bytes)| bytes);
    if let Some(bytes) = &fixed {
        pass_on(bytes, &checked)?;
    }
    let results = Results {
        checked: &checked,
        failures: &failures,
    };
    show(args, results, &stale, &causes, fixed.is_some())?;
    let count = |level: Level| {
        let findings = checked.iter().flat_map(|one| &one.report.findings);
        findings.filter(|finding| finding.level == level).count()
    };
    let matters = count(Level::Error) > 0
        || count(Level::Warn) > args.output.max_warnings.unwrap_or(0)
        || args.output.deny == Some(Denied::Notes) && count(Level::Info) > 0
        || args.output.strict && checked.iter().any(|one| one.is_in_part)
        || args.fixes.diff && checked.iter().any(|one| one.fixed.diff.is_some());
    Ok(if !failures.is_empty() {
        Outcome::Failure
    } else if matters && !args.output.exit_zero && !args.fixes.fix_only {
        Outcome::Findings
    } else {
        Outcome::Clean
    })
}

/// The command that the first path is a misspelling of, where there is nothing at that path.
fn meant_command(args: &CheckArgs) -> Option<(&Path, String)> {
    let path = args.files.paths.first()?;
    let word = path.to_str().filter(|_| !path.exists())?;
    let command = Args::command();
    let mut names = command.get_subcommands().map(clap::Command::get_name);
    let meant = names.find(|name| likeness(word, name) > 0.75)?;
    Some((path, meant.to_owned()))
}

/// The job of a run.
pub(crate) struct Job {
    pub inputs: Vec<Target>,
    options: Options,
    /// The errors in the arguments.
    pub failures: Vec<Failure>,
}

/// Prepares the job of a run; `stdin` is a file that is not read from disk.
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
        files.look_at(&target.input.path);
    }
    if let Some((path, bytes)) = stdin {
        files.give(path, Some(bytes.as_slice().into()));
    }
    // A configuration is not complained of twice.
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

/// Whether a rule is on for one of the inputs.
fn is_on(inputs: &[Target], options: &Options, rule: &str, file: &Path) -> bool {
    let mut inputs = inputs.iter();
    let target = inputs.find(|target| here(&target.input.path) == here(file));
    let rule = RULES.iter().find(|one| one.id == rule);
    match (rule, target) {
        (Some(rule), Some(Target { input, project })) => {
            options.looks_for(project, rule, &input.path.display().to_string())
        }
        // A rule that there is not any more finds nothing.
        _ => true,
    }
}

/// Writes the findings to the baselines.
fn write_baseline(
    args: &CheckArgs,
    checked: &[FileReport],
    failures: &[Failure],
    is_on: &dyn Fn(&str, &Path) -> bool,
) -> Result<Outcome> {
    for failure in failures {
        terminal::complain(&failure.text);
    }
    // A file that could not be checked would lose its entries.
    ensure!(failures.is_empty(), "no baseline is written");
    ensure!(
        checked.is_empty() || checked.iter().any(|one| one.baseline.is_some()),
        "no baseline to write: name it with --baseline, or as `baseline` in shaderlint.toml"
    );
    let written = baseline::write(checked, is_on)?;
    let count: usize = checked.iter().map(|one| one.report.findings.len()).sum();
    if !args.output.quiet {
        for path in written {
            terminal::print_error(format!("{} is written\n", path.display()).as_bytes());
        }
        let findings = if count == 1 { "finding is" } else { "findings are" };
        terminal::print_error(format!("{count} {findings} known from now on\n").as_bytes());
    }
    Ok(Outcome::Clean)
}

/// Writes comments that suppress the findings.
fn add_allow(
    args: &CheckArgs,
    checked: &[FileReport],
    failures: &[Failure],
    reason: &str,
) -> Result<Outcome> {
    for failure in failures {
        terminal::complain(&failure.text);
    }
    let added = add_allow::add(checked, reason)?;
    if !args.output.quiet {
        let comments = report::counted(added.comments, "comment", "comments");
        let files = report::counted(added.files, "file", "files");
        let left = match added.left {
            0 => String::new(),
            _ => format!(
                "; {} left in lines that go on from the one before",
                report::counted(added.left, "finding", "findings")
            ),
        };
        let told = match added.comments + added.left {
            0 => "nothing to allow\n".to_owned(),
            _ => format!("{comments} added in {files}{left}\n"),
        };
        terminal::print_error(told.as_bytes());
    }
    Ok(match (failures, added.left) {
        ([], 0) => Outcome::Clean,
        ([], _) => Outcome::Findings,
        _ => Outcome::Failure,
    })
}

/// Prints standard input with its fixes.
fn pass_on(bytes: &[u8], checked: &[FileReport]) -> Result<()> {
    let fixed = checked.iter().find_map(|one| one.fixed.diff.as_ref());
    match fixed {
        Some((old, new)) => terminal::print(&encoded_like(bytes, old, new)?),
        None => terminal::print(bytes),
    }
}

/// Checks all files, and makes the fixes that the options ask for.
///
/// A fix of a file is proved beside what it includes, and where it is included ([`crate::check::includers`]). So it changes
/// what the fixes of others are proved of: files that have to do with others are fixed one after the other, each with
/// the fixes of those before it, and in the end the run checks every file again that includes a fixed one.
fn check_and_fix_all(inputs: &[Target], options: &Options, progress: &Progress) -> Vec<Result<FileReport>> {
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
    let is_alone = |one: &FileReport| one.includers.is_empty() && !one.included.iter().any(is_fixable);
    let fix = |(target, result): (&Target, &mut Result<FileReport>),
               is_turn: &(dyn Fn(&FileReport) -> bool + Sync)| {
        let is_asked_for = target.input.origin != InputOrigin::Includer;
        if is_asked_for && result.as_ref().is_ok_and(|one| has_fix(one) && is_turn(one)) {
            let role = lint::role_for_fixes(&options.files, &target.input.path);
            let fixed = lint::check_file(target, options, role);
            progress.done();
            match (fixed, result) {
                (Ok(fixed), result) => *result = Ok(fixed),
                // What is not fixed is still found.
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
        .for_each(|pair| fix(pair, &is_alone));
    // What others include comes first: they may call the helper that a fix declares there. Whoever includes a file includes all
    // that it does.
    let mut in_order: Vec<_> = inputs.iter().zip(&mut results).collect();
    in_order.sort_by_key(|(_, result)| result.as_ref().map_or(0, |one| one.included.len()));
    for (target, result) in in_order {
        fix((target, result), &|one| {
            one.fixed.rules.is_empty() && !is_alone(one)
        });
        // Files that include it are checked with its fixes.
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
                    Role::StrayHeader
                };
                let fixed = std::mem::take(&mut one.fixed);
                *result = lint::check_file(target, &options.with(None, &options.stop), role)
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
            let has_entry = lint::may_have_entry(&options.files, &target.input.path);
            has_entry.then(|| {
                let checked = lint::check_file(target, options, Role::Unit);
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
                // What includes it, or needs what it allows, may be on another list.
                if target.input.origin == InputOrigin::Listed {
                    return Ok(lint::check_header(target, options, None, None));
                }
                let path = target.input.path.canonicalize();
                let Some(seen) = path.ok().and_then(|path| included.get(&path)) else {
                    return lint::check_file(target, options, Role::StrayHeader);
                };
                let alone = seen.has_fix || seen.leaves_some_uncalled(target, options);
                let alone = alone.then(|| lint::check_file(target, options, Role::Included));
                let (used, alone) = (seen.used.as_deref(), alone.transpose()?);
                Ok(lint::check_header(target, options, used, alone))
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
    /// Where its comments name rules that find something there; `None` if a file that includes it was not understood in full.
    used: Option<Vec<FileSpan>>,
    /// The functions that none of them calls in its default reading, be they the header's or not; `None` where none has a
    /// kernel in that.
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
            file.is_some_and(|file| file.path == header.path) && why == Some("in-include")
        };
        self.has_fix |= one.report.findings.iter().any(is_fixed_there);
        match &mut self.used {
            Some(used) if !one.is_in_part => used.extend(header.used.iter().map(|place| FileSpan {
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

    /// Whether the header has functions to run by themselves. Most have none, and need not be read again.
    fn leaves_some_uncalled(&self, target: &Target, options: &Options) -> bool {
        let file = options.files.read(&target.input.path);
        let text = file.filter(|file| prefilter::names_group_barrier(&file.text));
        text.is_some_and(|file| {
            let is_named = |name: &String| prefilter::times_named(&file.text, name) > 0;
            self.uncalled
                .as_ref()
                .is_none_or(|names| names.iter().any(is_named))
        })
    }
}

/// Keeps only the findings in named headers, for files that were checked only because of these headers.
fn keep_what_is_in_headers(inputs: &[Target], results: &mut [Result<FileReport>], options: &Options) {
    let headers = inputs
        .iter()
        .filter(|target| inputs::is_named_header(target, options));
    let headers: HashSet<PathBuf> = headers.map(|target| here(&target.input.path)).collect();
    let of_includers = inputs
        .iter()
        .zip(results)
        .filter(|(target, _)| target.input.origin == InputOrigin::Includer);
    for one in of_includers.filter_map(|(_, result)| result.as_mut().ok()) {
        let FileReport { report, sources, .. } = &mut *one;
        let is_in_header = |place: FileSpan| {
            let file = sources.get(place.file);
            file.is_some_and(|file| headers.contains(&here(Path::new(&file.path))))
        };
        report
            .findings
            .retain(|finding| is_in_header(finding.primary.place));
        report
            .allowed
            .retain(|allowed| is_in_header(allowed.finding.primary.place));
        one.is_unit = false;
        one.counted = Counted::ForHeaders;
    }
}

/// A finding by its rule, file and place.
type Said = (&'static str, String, (u32, u32));

/// A finding of the file `path`.
fn said(path: &str, sources: &Sources, finding: &Diagnostic) -> Said {
    let place = finding.primary.place;
    let file = sources.get(place.file).map_or(path, |file| &*file.path);
    (finding.rule, file.to_owned(), (place.start, place.end))
}

/// The findings of files in themselves: those to report as they are, and those to report as an includer sees them. An includer
/// comes first if the file by itself lacks what the includer defines, or if all includers give the finding a lower level.
fn own_findings(checked: &[FileReport]) -> (HashSet<Said>, HashSet<Said>) {
    let findings = checked
        .iter()
        .flat_map(|one| one.report.findings.iter().map(move |finding| (one, finding)));
    let (own, others): (Vec<_>, Vec<_>) =
        findings.partition(|(_, finding)| finding.primary.place.file == FileId(0));
    let mut highest: HashMap<Said, Level> = HashMap::new();
    for (one, finding) in others {
        let level = highest
            .entry(said(&one.path, &one.sources, finding))
            .or_insert(finding.level);
        *level = finding.level.max(*level);
    }
    let own = own.into_iter().map(|(one, finding)| {
        let said = said(&one.path, &one.sources, finding);
        let is_vague = one.is_in_part && finding.fix.is_none();
        let is_better_elsewhere = highest
            .get(&said)
            .is_some_and(|level| is_vague || *level < finding.level);
        (said, is_better_elsewhere)
    });
    let (better_elsewhere, own): (Vec<_>, Vec<_>) =
        own.partition(|(_, is_better_elsewhere)| *is_better_elsewhere);
    let [own, better_elsewhere] =
        [own, better_elsewhere].map(|said| said.into_iter().map(|(said, _)| said).collect());
    (own, better_elsewhere)
}

/// Keeps one of the findings that several files have at one place of a file that they include: that of the file itself, where
/// [`own_findings`] reports it, else that of the first includer.
fn say_once(checked: &mut [FileReport]) {
    let starts = |problem: &Problem| problem.place.map(|place| (place.file, place.start));
    let (own, better_elsewhere) = own_findings(checked);
    let mut seen = HashSet::new();
    for one in checked {
        let FileReport {
            report,
            sources,
            problems,
            elsewhere,
            path,
            ..
        } = one;
        // What stops at a name that is not known has been told by the name.
        let unknown: HashSet<_> = problems.iter().filter_map(starts).collect();
        report
            .stops
            .retain(|stop| starts(stop).is_none_or(|start| !unknown.contains(&start)));
        let mut is_new = |what: &str, place: Option<FileSpan>| {
            let file = place
                .and_then(|place| sources.get(place.file))
                .map_or(&*path, |file| &file.path);
            let place = place.map(|place| (place.start, place.end));
            seen.insert((what.to_owned(), file.to_owned(), place))
        };
        report.findings.retain(|finding| {
            let place = finding.primary.place;
            let said = said(path, sources, finding);
            let is_for_other = if place.file == FileId(0) {
                better_elsewhere.contains(&said)
            } else {
                own.contains(&said)
            };
            !is_for_other && is_new(finding.rule, Some(place))
        });
        report
            .allowed
            .retain(|allowed| is_new(allowed.finding.rule, Some(allowed.finding.primary.place)));
        for problems in [problems, elsewhere, &mut report.problems, &mut report.stops] {
            problems.retain(|problem| is_new(&problem.message, problem.place));
        }
    }
}

/// Writes the findings to standard output or to a file, and everything else to standard error. If standard output has the fixed
/// text, all goes to standard error.
fn show(
    args: &CheckArgs,
    results: Results,
    stale: &[ConfigError],
    causes: &str,
    stdout_is_taken: bool,
) -> Result<()> {
    let output = &args.output;
    let detail = output.detail();
    let of_stderr = Style::of_stderr(output.color);
    for one in results.checked {
        terminal::print_error(report::problems_of(one, detail, of_stderr).as_bytes());
    }
    let output_file = output.output_file.as_ref().filter(|path| path.as_os_str() != "-");
    let style = match output_file {
        Some(_) => Style::of_file(output.color),
        None if stdout_is_taken => of_stderr,
        None => Style::of_stdout(output.color),
    };
    // A service reads annotations from standard output, and from there alone.
    let to_person =
        output_file.is_some() || stdout_is_taken || output.statistics || io::stdout().is_terminal();
    let format = output
        .output_format
        .unwrap_or_else(|| report::default_format(to_person));
    let text = if args.fixes.diff {
        let diffs = results.checked.iter().filter_map(|one| {
            let (old, new) = one.fixed.diff.as_ref()?;
            Some(report::diff(&one.path, old, new, style))
        });
        diffs.collect::<Vec<_>>().concat()
    } else if args.fixes.fix_only {
        Vec::new()
    } else if output.statistics {
        report::statistics(results.checked, format)?
    } else {
        report::findings(results, format, style)?
    };
    match output_file {
        Some(path) => std::fs::write(path, &text).with_context(|| path.display().to_string())?,
        None if stdout_is_taken => terminal::print_error(&text),
        None => terminal::print(&text)?,
    }
    for failure in results.failures {
        terminal::complain(&failure.text);
    }
    for one in stale.iter().filter(|_| !output.quiet) {
        terminal::warn(&one.message);
    }
    // Where nothing could be checked, "nothing found" would mislead.
    let could_not_look = results.checked.is_empty() && !results.failures.is_empty();
    if args.fixes.show_fixes {
        let made = results.checked.iter().filter_map(report::fixes_made);
        terminal::print_error(made.collect::<String>().as_bytes());
    }
    if !output.quiet && !could_not_look {
        let asked = report::SummaryContext {
            changed_since: args.files.changed_since.as_deref(),
            makes_fixes: args.fixes.is_made(),
            detail: output.detail(),
        };
        terminal::print_error(report::summary(asked, results.checked, causes).as_bytes());
    }
    Ok(())
}
