//! Kernels that work together: a `pipeline.toml`, and the buffers and dispatches that it needs for n elements.
//!
//! [`Pipeline::parse`] reads the text, [`Pipeline::link`] checks it against its kernels, and [`Linked::plan`] computes the
//! buffers and dispatches for one n. Errors carry their place in the text. Nothing here reads a file or needs a device.

mod expression;
mod link;
mod plan;
mod schema;

use std::ops::Range;

use expression::Expression;
pub use link::Linked;
pub use plan::{Dispatch, Plan, PlannedBuffer};
use serde::Deserialize;

/// The maximum of buffers of a pipeline.
const BUFFERS: usize = 256;

/// An error in a `pipeline.toml`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PipelineError {
    pub message: String,
    /// Bytes of the text.
    pub place: Range<usize>,
}

impl PipelineError {
    fn new(message: impl Into<String>, place: Range<usize>) -> Self {
        PipelineError {
            message: message.into(),
            place,
        }
    }
}

/// The output of a pipeline over n words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Computes {
    /// Element i is the sum of elements 0 to i.
    InclusiveScan,
    /// Element i is the sum of the elements before it.
    ExclusiveScan,
    /// The first word is the sum of all elements.
    Sum,
    /// The elements themselves.
    Copy,
    /// Nothing: the pipeline only reads the array.
    Read,
}

/// A kernel of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelName {
    /// The file, relative to the folder of the `pipeline.toml`.
    pub file: String,
    pub entry: String,
    /// Where the text names the entry point.
    pub place: Range<usize>,
    /// Where the text names the file.
    pub file_place: Range<usize>,
}

/// A `pipeline.toml`.
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// One line for people.
    pub about: String,
    pub computes: Computes,
    /// Its known defect. A pipeline with a defect is run and checked, but not timed.
    pub defect: Option<String>,
    /// The kernels, without duplicates.
    pub kernels: Vec<KernelName>,
    /// The largest n that it supports.
    at_most: Option<Expression>,
    /// In order.
    lets: Vec<(String, Expression)>,
    buffers: Vec<Buffer>,
    input: Reference,
    output: Reference,
    passes: Vec<Pass>,
}

#[derive(Clone, Debug)]
struct Buffer {
    name: String,
    /// In words.
    length: Expression,
    /// The number of buffers in an array of them; `None` for a single buffer.
    count: Option<Expression>,
}

/// A buffer, or one of an array of buffers.
#[derive(Clone, Debug)]
struct Reference {
    buffer: usize,
    index: Option<Expression>,
    /// Its text without blanks. Equal texts name the same buffer.
    written: String,
    place: Range<usize>,
}

#[derive(Clone, Debug)]
struct Pass {
    kernel: usize,
    groups: Expression,
    repeat: Option<Repeat>,
    /// The kernel's name for a buffer, and the buffer bound to it.
    bind: Vec<(Name, Reference)>,
    set: Vec<(Name, Expression)>,
    /// Two buffers that are swapped after each dispatch.
    swap: Option<(usize, usize)>,
    place: Range<usize>,
}

#[derive(Clone, Debug)]
struct Name {
    name: String,
    place: Range<usize>,
}

#[derive(Clone, Debug)]
struct Repeat {
    name: String,
    from: Expression,
    condition: Expression,
    next: Expression,
}
