//! `shaderlint check`: checks every file and shows the findings.

mod add_allow;
mod check_all;
mod inputs;
mod job;
mod run;
mod shared_headers;
mod show;
mod watch;

use anyhow::Result;

use crate::cli::{CheckArgs, Outcome};

pub(crate) fn run(args: &CheckArgs) -> Result<Outcome> {
    match &args.files.show_settings {
        Some(file) => show::settings(args, file),
        None if args.files.show_files => show::files(args),
        None if args.files.watch => watch::run(args),
        None => run::run(args),
    }
}
