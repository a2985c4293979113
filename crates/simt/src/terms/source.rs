//! The provenance of values that atomics return.

/// The number of an atomic's position in the source, or of a partial result; [`Mark::NONE`] if there are too many to tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Mark(u8);

impl Mark {
    pub const NONE: Mark = Mark(64);

    pub fn new(number: usize) -> Mark {
        u8::try_from(number)
            .ok()
            .filter(|number| *number < 64)
            .map_or(Mark::NONE, Mark)
    }

    /// The mark's bit in a set of marks; 0 for [`Mark::NONE`].
    pub fn bit(self) -> u64 {
        1u64.checked_shl(u32::from(self.0)).unwrap_or(0)
    }
}

/// The provenance of an atomic's old value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Source {
    /// All threads add to one cell, so each thread gets another number.
    Counter(Mark),
    /// Each thread may have a cell of its own.
    Spread,
    /// Anything else: which threads get the same value is unknown.
    Other(Mark),
}

impl Source {
    /// A value without known provenance.
    pub const UNKNOWN: Source = Source::Other(Mark::NONE);

    pub fn mark(self) -> Mark {
        match self {
            Source::Counter(mark) | Source::Other(mark) => mark,
            Source::Spread => Mark::NONE,
        }
    }
}
