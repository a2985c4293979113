//! The exit status.

use std::process::ExitCode;

/// What the process says to its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
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
