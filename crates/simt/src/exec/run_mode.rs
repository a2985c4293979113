//! The kinds of runs.

/// The kind of a run: what it looks for, and how the machine runs for that.
///
/// | run | looks for | goes on past unknown code | inputs | what atomics leave |
/// |---|---|---|---|---|
/// | `Plain` | defects, as every run does, and what the kernel leaves | no | terms | unknown |
/// | `Collectives` | scans and reductions in groupshared memory | no | terms | unknown |
/// | `Marking` | uses of what these leave, by marks on it | no | terms | terms |
/// | `LaneReads` | scans and reductions through reads of other lanes | no | terms | unknown |
/// | `Atomics` | contended atomics | yes | terms | unknown |
/// | `Replay` | each access to a cell of groupshared memory | no | numbers | unknown |
/// | `Comparison` | what the kernel leaves, in terms shared with the other kernel | no | terms | terms |
/// | `Refinement` | what one wave leaves if its atomics are served lane by lane | no | terms | terms |
///
/// Code that a run does not go on past becomes a term of all that may have a part in it, or ends the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunMode {
    Plain,
    Collectives,
    Marking,
    LaneReads,
    Atomics,
    Replay,
    Comparison,
    Refinement,
}

impl RunMode {
    /// The run goes on past what it cannot follow, with everything unknown that may have been written there
    /// ([`over_approximation`](crate::exec::over_approximation)). What it shows holds for any behaviour of that code.
    pub fn over_approximates(self) -> bool {
        self == RunMode::Atomics
    }

    /// The inputs are numbers, and the machine reports each access of a cell to the observer.
    pub fn is_on_numbers(self) -> bool {
        self == RunMode::Replay
    }

    /// The lanes of the one wave are served one after another, and memory that others may write is a resource.
    pub fn serves_lane_by_lane(self) -> bool {
        self == RunMode::Refinement
    }

    /// What atomics find and leave are terms of all that has a part in it
    /// ([`atomic_history`](crate::exec::atomic_history)): the terms are compared with another run's, or examined for
    /// their parts.
    pub fn keeps_atomic_history(self) -> bool {
        matches!(self, RunMode::Comparison | RunMode::Marking)
    }

    /// The run tracks the marks that it put on the results of constructs, also where it proves nothing any more.
    pub fn tracks_marks(self) -> bool {
        self == RunMode::Marking
    }

    /// The observer evaluates both arms of a `?:` that read other lanes.
    pub fn tries_both_arms(self) -> bool {
        self == RunMode::LaneReads
    }

    /// Where some threads may have left, the run assumes that all reach a barrier even if it knows no inputs for which
    /// they do. For known inputs every run assumes it that does not over-approximate
    /// ([`Convergence`](crate::exec::convergence::Convergence)).
    pub fn assumes_convergence_without_inputs(self) -> bool {
        self == RunMode::Collectives
    }
}
