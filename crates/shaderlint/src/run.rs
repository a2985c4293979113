//! The main job: look at every file, show what was found.

use std::collections::HashSet;
use std::io;

use anyhow::{Context, Result};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use shaderlint_linter::{Safety, Settings};

use crate::args::{CheckArgs, OutputFormat};
use crate::includes::IncludeFolders;
use crate::lint::{self, FixMode, Looked, Options};
use crate::report::{self, Detail};
use crate::{Outcome, terminal, walk};

/// Deeply nested source is parsed and dropped by recursion. Untouched pages of a stack cost nothing.
const STACK_SIZE: usize = 256 << 20;

pub(crate) fn run(args: &CheckArgs) -> Result<Outcome> {
    let (inputs, mut failures) = walk::walk(&args.paths);
    let options = Options {
        defines: args.source.defines.clone(),
        includes: IncludeFolders::new(&args.source.include_dirs),
        settings: Settings {
            shader_model: args.profile,
        },
        fix: (args.fix || args.diff).then_some(FixMode {
            unsafe_too: args.unsafe_fixes,
            in_place: args.fix,
        }),
    };
    lint::keep_panics_quiet();
    let pool = rayon::ThreadPoolBuilder::new()
        .stack_size(STACK_SIZE)
        .build()
        .context("no threads to work with")?;
    let results: Vec<Result<Looked>> = pool.install(|| {
        inputs
            .par_iter()
            .map(|input| lint::look(input, &options))
            .collect()
    });
    let mut looked = Vec::new();
    for result in results {
        match result {
            Ok(one) => looked.push(one),
            Err(error) => failures.push(format!("{error:#}")),
        }
    }
    say_once(&mut looked);
    show(args, &looked, &failures)?;
    let has_findings = looked
        .iter()
        .any(|one| !one.report.findings.is_empty() || one.fixed.diff.is_some());
    Ok(if !failures.is_empty() {
        Outcome::Failure
    } else if has_findings && !args.exit_zero {
        Outcome::Findings
    } else {
        Outcome::Clean
    })
}

/// What several files see in a header that all of them include is said for the first.
fn say_once(looked: &mut [Looked]) {
    let mut seen = HashSet::new();
    for one in looked {
        let Looked { report, sources, .. } = one;
        report.findings.retain(|finding| {
            let place = finding.primary.place;
            let path = sources.get(place.file).map(|file| file.path.clone());
            seen.insert((finding.rule, path, place.start, place.end))
        });
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
    let found = findings().count();
    if found == 0 {
        return format!(
            "{done}nothing {} in {files}\n",
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
        "{done}{} in {files}{fixable}\n",
        counted(found, "finding", "findings")
    )
}
