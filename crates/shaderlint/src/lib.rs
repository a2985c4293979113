//! The command line of shaderlint. All input and output of the linter is in this crate.
//!
//! [`walk`] turns arguments into files, [`config`] says what holds for each, [`lint`] reads and checks them, [`report`] shows what was found, [`write`] puts
//! fixed files in place.

#![forbid(unsafe_code)]

mod allow;
mod args;
mod baseline;
#[cfg(feature = "gpu")]
mod bench;
mod callers;
mod changed;
mod config;
mod configurations;
#[cfg(all(feature = "gpu", target_os = "linux"))]
mod drivers;
mod encoding;
mod explain;
#[doc(hidden)]
pub mod fuzzing;
mod generate;
mod includers;
mod includes;
mod init;
mod inputs;
#[cfg(feature = "gpu")]
mod kernel;
mod likeness;
mod lint;
mod looked;
mod markdown;
mod misconfigured;
mod one_file;
mod options;
mod panics;
mod paths;
#[cfg(feature = "gpu")]
#[doc(hidden)]
pub mod playground;
mod preprocess;
#[cfg(not(target_family = "wasm"))]
mod progress;
mod report;
mod rules;
mod run;
mod scan;
mod server;
mod show;
mod snippets;
mod source_text;
mod stop;
mod terminal;
#[cfg(target_family = "wasm")]
mod unseen;
mod uri;
mod variants;
#[cfg(feature = "gpu")]
mod verify;
mod walk;
mod watch;
#[cfg(feature = "gpu")]
mod wgsl;
mod wording;
mod write;

use std::num::NonZeroUsize;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
#[cfg(target_family = "wasm")]
use unseen as progress;

/// What the process says to its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// Everything was looked at and nothing found.
    Clean,
    /// There are findings.
    Findings,
    /// Something could not be done.
    Failure,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> ExitCode {
        ExitCode::from(match outcome {
            Outcome::Clean => 0,
            Outcome::Findings => 1,
            Outcome::Failure => 2,
        })
    }
}

/// Deeply nested source is parsed and dropped by recursion. Untouched pages of a stack cost nothing.
const STACK_SIZE: usize = 256 << 20;

/// Does what the command line asks for. What this package offers is its program; that is `main.rs` and this.
#[must_use]
pub fn main() -> ExitCode {
    let args = args::Args::parse_from(args::spelled_out(std::env::args_os()));
    let jobs = args.check().files.jobs;
    #[cfg(all(feature = "gpu", target_os = "linux"))]
    if matches!(
        args.command,
        Some(args::Command::Verify(_) | args::Command::Bench(_))
    ) {
        drivers::hush();
    }
    panics::keep_quiet();
    match on_deep_stacks(jobs, || {
        panics::as_error("internal error, please report", || dispatch(args))
    }) {
        Ok(outcome) => outcome.into(),
        Err(error) => {
            snippets::failure(&error);
            Outcome::Failure.into()
        }
    }
}

fn dispatch(args: args::Args) -> Result<Outcome> {
    match args.command {
        None | Some(args::Command::Check(_)) => {
            let check = args.check();
            match &check.files.show_settings {
                Some(file) => show::settings(check, file),
                None if check.files.show_files => show::files(check),
                None if check.files.watch => watch::run(check),
                None => run::run(check),
            }
        }
        Some(args::Command::Init(args)) => init::run(&args),
        Some(args::Command::Explain { rule: Some(rule) }) => explain::run(&rule),
        Some(args::Command::Explain { rule: None }) => rules::list(),
        Some(args::Command::Rules(args)) => rules::run(&args),
        Some(args::Command::Preprocess(args)) => preprocess::run(&args),
        #[cfg(feature = "gpu")]
        Some(args::Command::Wgsl(args)) => wgsl::run(&args),
        #[cfg(feature = "gpu")]
        Some(args::Command::Verify(args)) => verify::run(&args),
        #[cfg(feature = "gpu")]
        Some(args::Command::Bench(args)) => bench::run(&args),
        Some(args::Command::Server { .. }) => server::run(),
        Some(args::Command::Completions { shell }) => generate::completions(shell),
        Some(args::Command::Man {
            output_dir: Some(folder),
            ..
        }) => generate::man_pages(&folder),
        Some(args::Command::Man { command, .. }) => generate::man(command.as_deref()),
    }
}

/// Runs the job in a pool of threads whose stacks are deep; what it does in parallel is done by the same threads.
fn on_deep_stacks(
    jobs: Option<NonZeroUsize>,
    job: impl FnOnce() -> Result<Outcome> + Send,
) -> Result<Outcome> {
    let pool = rayon::ThreadPoolBuilder::new()
        .stack_size(STACK_SIZE)
        .num_threads(jobs.map_or(0, NonZeroUsize::get))
        .build()
        .context("no threads to work with")?;
    pool.install(job)
}
