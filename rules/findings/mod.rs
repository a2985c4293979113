//! Findings that several rules report: what a run showed in words, with its fix.

pub(crate) mod atomic;
pub(crate) mod lane_reads;
pub(crate) mod scan;

/// Scans and reductions of fewer elements are not reported: there is nothing to gain, as with atomics of fewer
/// threads.
pub(crate) const LEAST: u32 = 4;
