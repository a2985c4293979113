//! What a comparison of two kernels shows.

use crate::compare::counterexample::Difference;
use crate::finding::Race;
use crate::terms::rounding::Doubt;
use crate::waves::{LaneMap, Packing};

/// What two kernels do at one wave size under one lane map.
#[derive(Clone, Debug)]
pub struct WaveRun {
    pub wave_size: u32,
    pub map: LaneMap,
    pub outcome: Outcome,
    /// One of the kernels assumes that all threads reach its barriers. The outcome holds for inputs for which
    /// they do.
    pub assumes_convergence: bool,
    /// The first kernel races or leaves an array, so it has no results to compare with.
    pub is_first_wrong: bool,
}

impl WaveRun {
    pub(crate) fn new(packing: Packing, outcome: Outcome, assumes_convergence: bool) -> WaveRun {
        WaveRun {
            wave_size: packing.wave_size,
            map: packing.map,
            outcome,
            assumes_convergence,
            is_first_wrong: false,
        }
    }

    pub(crate) fn packing(&self) -> Packing {
        Packing {
            wave_size: self.wave_size,
            map: self.map,
        }
    }
}

#[derive(Clone, Debug)]
pub enum Outcome {
    /// Equal bit for bit, for every input, if each float operation is made as written: both make the same ones.
    Equal,
    /// The same float sums or products, in another order.
    Reassociates,
    /// Equal for numbers that no operation rounds or flushes. The effect of rounding or flushing may show in
    /// more than the value of a float.
    RoundsBeyond(Doubt),
    Differs(Difference),
    /// The second kernel reads or writes outside a groupshared array.
    OutOfBounds {
        is_write: bool,
        array: String,
        length: u32,
        index: i32,
        thread: u32,
    },
    /// The second kernel races.
    Races {
        /// As [`element_text`](crate::element_text) formats it.
        element: String,
        race: Box<Race>,
    },
    /// The two write different terms, and no inputs are known for which the kernels differ.
    Undecided,
    NotProved(String),
}

impl Outcome {
    #[must_use]
    pub fn is_equal(&self) -> bool {
        matches!(self, Outcome::Equal | Outcome::Reassociates)
    }

    /// Why nothing is proved. Empty for a difference, which has a place and values of its own.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Outcome::OutOfBounds {
                is_write,
                array,
                length,
                index,
                thread,
            } => {
                let accesses = if *is_write { "writes" } else { "reads" };
                format!("thread {thread} {accesses} {array}[{index}], which has {length} elements")
            }
            Outcome::Races { element, race } => {
                format!(
                    "threads {} and {} race on {element}",
                    race.first.thread, race.second.thread
                )
            }
            Outcome::RoundsBeyond(doubt) => doubt.reason().to_owned(),
            Outcome::Undecided => {
                "the kernels write different terms, but no inputs tell them apart".to_owned()
            }
            Outcome::NotProved(why) => why.clone(),
            Outcome::Equal | Outcome::Reassociates | Outcome::Differs(_) => String::new(),
        }
    }
}
