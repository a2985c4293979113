//! The command line of shaderlint. All input and output of the linter is in this crate.
//!
//! Each layer uses those before it: [`support`], [`cli`] (the arguments), [`workspace`] (the files and their
//! configurations), [`check`] (the check of one file), [`report`] (the formats of findings), [`commands`] and
//! [`server`].

#![forbid(unsafe_code)]

mod check;
mod cli;
mod commands;
#[doc(hidden)]
pub mod fuzzing;
#[cfg(feature = "gpu")]
#[doc(hidden)]
pub mod playground;
mod report;
mod server;
mod support;
mod workspace;

use std::num::NonZeroUsize;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;

use cli::{Args, Command, Outcome};
#[cfg(feature = "gpu")]
use commands::{bench, verify, wgsl};
use commands::{explain, generate, init, preprocess, rules};
#[cfg(all(feature = "gpu", target_os = "linux"))]
use support::vulkan_layers;
use support::{panics, snippets};

/// Deeply nested source is parsed and dropped recursively. Untouched pages of a stack cost nothing.
const STACK_SIZE: usize = 256 << 20;

/// Runs the command line. This package offers nothing but its program: `main.rs` calls this function.
#[must_use]
pub fn main() -> ExitCode {
    let args = Args::parse_from(cli::spelled_out(std::env::args_os()));
    let jobs = args.check().files.jobs;
    #[cfg(all(feature = "gpu", target_os = "linux"))]
    if matches!(args.command, Some(Command::Verify(_) | Command::Bench(_))) {
        vulkan_layers::hush();
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

fn dispatch(args: Args) -> Result<Outcome> {
    match args.command {
        None | Some(Command::Check(_)) => commands::check::run(args.check()),
        Some(Command::Init(args)) => init::run(&args),
        Some(Command::Explain { rule: Some(rule) }) => explain::run(&rule),
        Some(Command::Explain { rule: None }) => rules::list(),
        Some(Command::Rules(args)) => rules::run(&args),
        Some(Command::Preprocess(args)) => preprocess::run(&args),
        #[cfg(feature = "gpu")]
        Some(Command::Wgsl(args)) => wgsl::run(&args),
        #[cfg(feature = "gpu")]
        Some(Command::Verify(args)) => verify::run(&args),
        #[cfg(feature = "gpu")]
        Some(Command::Bench(args)) => bench::run(&args),
        Some(Command::Server { .. }) => server::run(),
        Some(Command::Completions { shell }) => generate::completions(shell),
        Some(Command::Man {
            output_dir: Some(folder),
            ..
        }) => generate::man_pages(&folder),
        Some(Command::Man { command, .. }) => generate::man(command.as_deref()),
    }
}

/// Runs the job in a pool of threads with deep stacks, which also run the parallel parts of the job.
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
