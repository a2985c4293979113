//! The exit status.

use std::process::ExitCode;

/// The exit status of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Every file was checked, and there are no findings.
    Clean,
    /// There are findings.
    Findings,
    /// Part of the job could not be done.
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
