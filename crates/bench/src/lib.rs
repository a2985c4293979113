//! Device-wide scans and reductions of the same words. Each is checked against the CPU, and timed beside a
//! copy.
//!
//! A [`System`] is a pipeline with its kernels. [`built_in`] has the systems of this package, [`Measurement`]
//! runs systems on one adapter, and [`chart`] and [`page`] draw the results. Nothing here reads files or
//! arguments: `shaderlint bench` does.

#![forbid(unsafe_code)]

pub mod built_in;
pub mod chart;
mod measure;
pub mod numbers;
pub mod page;
mod system;

pub use measure::{Measured, Measurement, Outcome, Row, Size, Time};
pub use system::{System, are_sums, legible};
