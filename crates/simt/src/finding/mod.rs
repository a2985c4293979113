//! The findings of a run, as a rule can report them.

mod atomic;
mod collective;
mod defect;
pub(crate) mod leftovers;

use rustc_hash::FxHashSet;
use shaderlint_hlsl::Span;

pub use crate::finding::atomic::{
    Amount, Cells, ContendedAtomic, Meanwhile, NotCombined, OldValueUse, Parts, Quantity,
};
pub use crate::finding::collective::{
    Amid, Beside, Collective, Companions, Elements, Extent, FinalValue, Holders, Instance, Kind, LastStep,
    Obstacle, Order, Rewrite, Shape, StepEdit, Stored, WaveLadder,
};
pub use crate::finding::defect::{
    Access, Around, Divergence, Iteration, NamedValue, OutOfBounds, Point, Race, Under, Uninitialised,
    WaveDependence, WaveEffect, element_text,
};

/// The findings of the runs of one entry point.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// `numthreads`.
    pub group_size: [u32; 3],
    pub collectives: Vec<Collective>,
    pub races: Vec<Race>,
    /// Pairs of source positions, each in text order, where two threads may access one cell between two
    /// barriers, at least one of them writing. Contains the pairs of `races`, and pairs whose cells, values or
    /// conditions the run does not know. An access at an unknown index of an array that others write is paired
    /// with itself.
    pub unsettled: FxHashSet<(Span, Span)>,
    /// Barriers that some threads reach and others do not, at most one finding per barrier.
    pub divergences: Vec<Divergence>,
    /// Accesses of groupshared arrays out of bounds, at most one per source position.
    pub out_of_bounds: Vec<OutOfBounds>,
    /// Reads of groupshared memory that was never written, at most one per source position.
    pub uninitialised: Vec<Uninitialised>,
    /// How the kernel depends on the wave size or packing.
    pub wave_dependence: Option<WaveDependence>,
    pub contended_atomics: Vec<ContendedAtomic>,
    /// Scans and reductions of a wave's registers through reads of other lanes.
    pub wave_ladders: Vec<WaveLadder>,
    /// The run did not follow all accesses to groupshared memory, so ladders and races there may be missing.
    pub has_gaps: bool,
    /// Barriers that the kernel does not need as long as all others stay, in the order of the text. Empty where the run
    /// did not follow all that may need one.
    pub needless_barriers: Vec<Span>,
    /// The cost of the first run, in statements times threads.
    pub steps: u64,
    /// The cost of the runs, in values made and looked at.
    pub work: u64,
    /// Where and why the run stopped early. Earlier findings still hold.
    pub stopped: Option<Stop>,
    /// Where and why the run for contended atomics stopped early.
    pub atomics_stopped: Option<Stop>,
    /// Where and why the runs with assumed loop bounds stopped early, if none of them found anything.
    pub assumed_bounds_stopped: Option<Stop>,
}

impl Analysis {
    /// Whether the kernel, as far as the run followed it, has no race, no access out of bounds, and no
    /// divergent barrier.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.races.is_empty() && self.out_of_bounds.is_empty() && self.divergences.is_empty()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    pub reason: String,
    pub span: Span,
    /// Work that a run may skip used up at least half of its steps or atoms.
    pub(crate) by_asides: bool,
}

impl Stop {
    pub(crate) fn new(reason: &str, span: Span) -> Stop {
        Stop {
            reason: reason.to_owned(),
            span,
            by_asides: false,
        }
    }

    /// A stop because the steps or atoms were used up.
    pub(crate) fn ran_out(span: Span) -> Stop {
        Stop::new("the run takes too many steps", span)
    }
}
