//! Kernels that work together: a `pipeline.toml` and what it asks of a device for n elements.
//!
//! [`Pipeline::parse`] reads the text, [`Pipeline::link`] looks whether its kernels take what they are given, and
//! [`Linked::plan`] says for one n which buffers there are and what is dispatched. What is wrong is told at its place in
//! the text. Nothing here reads a file or needs a device.

mod expression;
mod link;
mod plan;
mod schema;

use std::ops::Range;

use expression::Expression;
pub use link::Linked;
pub use plan::{Dispatch, Plan, PlannedBuffer};
use serde::Deserialize;

/// What is wrong in a `pipeline.toml`.
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

/// What a pipeline leaves of n words.
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
    /// The array is read, and nothing has to come of it.
    Read,
}

/// A kernel of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelName {
    /// The file, from the folder of the `pipeline.toml`.
    pub file: String,
    pub entry: String,
    /// Where the entry point is said.
    pub place: Range<usize>,
    /// Where the file is.
    pub file_place: Range<usize>,
}

/// A `pipeline.toml`.
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// One line for people.
    pub about: String,
    pub computes: Computes,
    /// Why it is known to go wrong: it is run and looked at, not timed.
    pub defect: Option<String>,
    /// Each of them once.
    pub kernels: Vec<KernelName>,
    /// The largest n that it takes.
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
    /// Words.
    length: Expression,
    /// How many there are of it; `None` for a buffer that is no array.
    count: Option<Expression>,
}

/// A buffer, or one of an array of buffers.
#[derive(Clone, Debug)]
struct Reference {
    buffer: usize,
    index: Option<Expression>,
    /// Without blanks: what is written alike is the same buffer.
    written: String,
    place: Range<usize>,
}

#[derive(Clone, Debug)]
struct Pass {
    kernel: usize,
    groups: Expression,
    repeat: Option<Repeat>,
    /// The kernel's name for a buffer, and the buffer.
    bind: Vec<(Name, Reference)>,
    set: Vec<(Name, Expression)>,
    /// Two buffers that change places after each dispatch.
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
