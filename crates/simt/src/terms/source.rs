//! Where values come from that atomics find.

/// Which of the places in the text an atomic is, by number; none where there are too many to tell apart.
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

    /// Its bit in sets of marks.
    pub fn bit(self) -> u64 {
        1u64.checked_shl(u32::from(self.0)).unwrap_or(0)
    }
}

/// Where the value that an atomic found comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Source {
    /// Additions to one cell by all: each thread finds another number.
    Counter(Mark),
    /// Threads may each have a cell of their own.
    Spread,
    /// Anything else: which threads find what is not known.
    Other(Mark),
}

impl Source {
    /// Nothing that is followed any further.
    pub const UNKNOWN: Source = Source::Other(Mark::NONE);
}
