//! Checks every file and shows the findings.

use std::io::{self, IsTerminal};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use clap::CommandFactory;
use shaderlint_linter::Level;
use shaderlint_rules::RULES;

use super::check_all::check_and_fix_all;
use super::inputs::WithKernels;
use super::job::{Job, job};
use super::shared_headers::{keep_what_is_in_headers, report_once};
use super::{add_allow, inputs};
use crate::check::baseline::{self, Baselines};
use crate::check::file_report::FileReport;
use crate::check::options::{Options, Target};
use crate::cli::{Args, CheckArgs, Denied, Outcome};
use crate::report::{self, Results};
use crate::support::config_error::ConfigError;
use crate::support::encoding::encoded_like;
use crate::support::failure::Failure;
use crate::support::paths::here;
use crate::support::progress::Progress;
use crate::support::snippets;
use crate::support::suggestions::likeness;
use crate::support::terminal::{self, Style};

pub(crate) fn run(args: &CheckArgs) -> Result<Outcome> {
    run_with(args, &mut |_| {})
}

/// As [`run`]; calls `on_inputs` with the files that it checks.
pub(crate) fn run_with(args: &CheckArgs, on_inputs: &mut dyn FnMut(&[Target])) -> Result<Outcome> {
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
    on_inputs(&inputs);
    let WithKernels { inputs, in_part } = inputs::with_kernels_of_headers(inputs, &options)?;
    let progress = Progress::of_files(inputs.len(), args.output.quiet);
    let mut results = check_and_fix_all(&inputs, &options, &progress);
    progress.clear();
    keep_what_is_in_headers(&inputs, &mut results, &options);
    let mut checked = Vec::new();
    for (target, result) in inputs.iter().zip(results) {
        match result {
            Ok(mut one) => {
                failures.extend(one.fixed.failure.take());
                one.in_part = in_part.get(&target.input.path).copied();
                checked.push(one);
            }
            Err(error) => failures.push(Failure::of(&target.input.path, &error)),
        }
    }
    let causes = report::causes(&checked);
    report_once(&mut checked);
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
        || args.output.strict && checked.iter().any(|one| one.is_partial)
        || args.fixes.diff && checked.iter().any(|one| one.fixed.diff.is_some());
    Ok(if !failures.is_empty() {
        Outcome::Failure
    } else if matters && !args.output.exit_zero && !args.fixes.fix_only {
        Outcome::Findings
    } else {
        Outcome::Clean
    })
}

/// The command that the user probably meant, if there is nothing at the first path and a command has a similar name.
fn meant_command(args: &CheckArgs) -> Option<(&Path, String)> {
    let path = args.files.paths.first()?;
    let word = path.to_str().filter(|_| !path.exists())?;
    let command = Args::command();
    let mut names = command.get_subcommands().map(clap::Command::get_name);
    let meant = names.find(|name| likeness(word, name) > 0.75)?;
    Some((path, meant.to_owned()))
}

/// Whether a rule is on for the input `file`.
fn is_on(inputs: &[Target], options: &Options, rule: &str, file: &Path) -> bool {
    let mut inputs = inputs.iter();
    let target = inputs.find(|target| here(&target.input.path) == here(file));
    let rule = RULES.iter().find(|one| one.id == rule);
    match (rule, target) {
        (Some(rule), Some(Target { input, project })) => {
            options.reports_all_of(project, rule, &input.path.display().to_string())
        }
        // A rule that no longer exists finds nothing.
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
    // Without this check, a file that could not be checked would lose its entries.
    ensure!(failures.is_empty(), "no baseline written");
    ensure!(
        checked.is_empty() || checked.iter().any(|one| one.baseline.is_some()),
        "no baseline to write: name it with --baseline, or as `baseline` in shaderlint.toml"
    );
    let written = baseline::write(checked, is_on)?;
    let count: usize = checked.iter().map(|one| one.report.findings.len()).sum();
    if !args.output.quiet {
        for path in written {
            terminal::print_error(format!("wrote {}\n", path.display()).as_bytes());
        }
        let findings = if count == 1 { "finding is" } else { "findings are" };
        terminal::print_error(format!("{count} {findings} now in the baseline\n").as_bytes());
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
                "; {} got no comment, on lines that continue the line before",
                report::counted(added.left, "finding", "findings")
            ),
        };
        let text = match added.comments + added.left {
            0 => "nothing to allow\n".to_owned(),
            _ => format!("{comments} added in {files}{left}\n"),
        };
        terminal::print_error(text.as_bytes());
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

/// Writes the findings to standard output or to a file, and everything else to standard error. If standard output has
/// the fixed text, everything goes to standard error.
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
    // A service reads annotations only from standard output.
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
    // If nothing could be checked, "nothing found" would mislead.
    let nothing_was_checked = results.checked.is_empty() && !results.failures.is_empty();
    if args.fixes.show_fixes {
        let made = results.checked.iter().filter_map(report::fixes_made);
        terminal::print_error(made.collect::<String>().as_bytes());
    }
    if !output.quiet && !nothing_was_checked {
        let context = report::SummaryContext {
            style: of_stderr,
            changed_since: args.files.changed_since.as_deref(),
            makes_fixes: args.fixes.is_made(),
            detail: output.detail(),
        };
        terminal::print_error(report::summary(context, results.checked, causes).as_bytes());
    }
    Ok(())
}
