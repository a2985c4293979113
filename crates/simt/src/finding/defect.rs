//! Races and other defects, with their witnesses.

use std::fmt::{self, Write};

use shaderlint_hlsl::{GlobalId, Scalar, Shader, Span, Type};

use crate::finding::collective::{Collective, Instance};
use crate::terms::sample::Inputs;
use crate::waves::LaneMap;

/// Two threads access one cell in one barrier interval, at least one of them writing.
#[derive(Clone, Debug)]
pub struct Race {
    pub array: GlobalId,
    /// The element of the array that both access.
    pub index: u32,
    pub first: Access,
    pub second: Access,
    /// The number of group barriers passed before.
    pub interval: u32,
    /// The last barrier before, as in [`Divergence`]: the same for both accesses.
    pub since: Option<Point>,
    /// The memory barriers that the run passed between the two accesses. No thread waits for another at them.
    pub fences: Vec<Span>,
    /// A condition on inputs under which one of the two accesses happens. `None` if both happen for any inputs,
    /// or for the inputs for which one statement leads to both.
    pub condition: Option<Under>,
    /// Loop bounds for which the race happens; empty if it happens for all.
    pub given: Vec<Instance>,
    /// The thread whose index depends on data, if any. With other data, it races with another thread on another
    /// element.
    pub data_dependent: Option<u32>,
    /// The wave size at which the race happens as described, if other wave sizes change its details; `None` if
    /// it is the same at every wave size.
    pub wave_size: Option<u32>,
    /// At another wave size, other threads race, or on another element, or in other iterations.
    pub(crate) is_met_otherwise: bool,
    /// Inputs for which the race happens.
    pub(crate) inputs: Inputs,
}

impl Race {
    /// Whether the same threads race on the same element at the same time in another run.
    pub(crate) fn is_met_like(&self, other: &Race) -> bool {
        (self.index, &self.first, &self.second, &self.since, &self.fences)
            == (
                other.index,
                &other.first,
                &other.second,
                &other.since,
                &other.fences,
            )
    }

    /// Whether one of its two accesses is within the construct, which means before its first barrier or after
    /// its last one.
    #[must_use]
    pub fn has_part(&self, found: &Collective) -> bool {
        let is_within =
            |access: &Access| found.span.start <= access.span.start && access.span.end <= found.span.end;
        found.arrays.contains(&self.array) && (is_within(&self.first) || is_within(&self.second))
    }
}

/// A condition of a thread.
#[derive(Clone, Copy, Debug)]
pub struct Under {
    pub condition: Span,
    /// Whether the condition must hold or must not.
    pub holds: bool,
    pub thread: u32,
}

/// A variable, or a number that the host sets, with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedValue {
    /// As it is written in source, e.g. `Size.x`.
    pub name: String,
    pub scalar: Scalar,
    pub word: u32,
}

impl fmt::Display for NamedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NamedValue { name, scalar, word } = self;
        match scalar {
            Scalar::Float | Scalar::Half => write!(f, "{name} = {}", f32::from_bits(*word)),
            Scalar::Int => write!(f, "{name} = {}", word.cast_signed()),
            Scalar::Bool => write!(f, "{name} = {}", *word != 0),
            _ => write!(f, "{name} = {word}"),
        }
    }
}

/// An element of an array as it is written in source, `Row[1][2]`. `index` counts all elements of nested arrays
/// in order. A variable that is no array has no index.
pub fn element_text(shader: &Shader, array: GlobalId, index: i64) -> String {
    let Some(global) = shader.globals.get(array.0 as usize) else {
        return "groupshared memory".to_owned();
    };
    let mut text = global.name.clone();
    let (mut rest, mut ty) = (index, &global.ty);
    while let Type::Array(element, _) = ty {
        let mut inner = &**element;
        let mut elements = 1;
        while let Type::Array(element, length) = inner {
            elements *= i64::from(*length).max(1);
            inner = element;
        }
        let _ = write!(text, "[{}]", rest.div_euclid(elements));
        rest = rest.rem_euclid(elements);
        ty = element;
    }
    text
}

/// A barrier that one thread reaches and another one does not.
#[derive(Clone, Debug)]
pub struct Divergence {
    /// The barrier.
    pub span: Span,
    /// A thread that reaches it.
    pub here: u32,
    /// A thread that does not.
    pub away: u32,
    /// The condition by which the other thread diverged, or the statement by which it left, if known.
    pub parted: Option<Span>,
    /// Values set by the host for which this happens; empty if it happens for all.
    pub given: Vec<NamedValue>,
    /// The last barrier passed before, or the unfollowed statement that may contain it. `None` if there was
    /// none.
    pub since: Option<Point>,
    /// As in [`Point`].
    pub around: Vec<Around>,
}

/// A thread accesses a groupshared array out of bounds.
#[derive(Clone, Debug)]
pub struct OutOfBounds {
    pub array: GlobalId,
    pub index: i32,
    /// The value of a read flows into a resource.
    pub access: Access,
    /// As in [`Divergence`].
    pub since: Option<Point>,
}

/// A thread reads a cell that no thread has written, and the value flows into a resource.
#[derive(Clone, Debug)]
pub struct Uninitialised {
    pub array: GlobalId,
    pub index: u32,
    pub read: Access,
    /// Where the value is stored.
    pub used: Span,
    /// As in [`Divergence`].
    pub given: Vec<NamedValue>,
    /// As in [`Divergence`].
    pub since: Option<Point>,
    pub(crate) interval: u32,
}

/// A kernel is wrong at some wave sizes or packings and right at others.
#[derive(Clone, Debug)]
pub struct WaveDependence {
    /// The wave sizes at which it is wrong, ascending.
    pub sizes: Vec<u32>,
    pub map: LaneMap,
    /// A wave size and packing at which it is right, as far as known.
    pub sound: (u32, LaneMap),
    /// For some other wave sizes, nothing is known.
    pub is_in_part: bool,
    pub effect: WaveEffect,
}

#[derive(Clone, Debug)]
pub enum WaveEffect {
    OutOfBounds(OutOfBounds),
    Races(Race),
    /// A place, named for the first group, gets another value.
    Differs {
        place: String,
        thread: u32,
        /// As formulas of the kernel's inputs.
        expected: String,
        got: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// `SV_GroupIndex` of the thread.
    pub thread: u32,
    pub is_write: bool,
    pub span: Span,
    /// As in [`Point`].
    pub around: Vec<Around>,
}

/// A source position as a run reaches it: within these calls and loop iterations, outermost first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    pub span: Span,
    pub around: Vec<Around>,
}

/// What surrounds a source position in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Around {
    /// The call of a function.
    Call(Span),
    /// An iteration of the loop at `of`.
    Loop { of: Span, iteration: Iteration },
}

/// One iteration of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iteration {
    /// From 0.
    pub number: u32,
    /// The loop's variable, if it has one, and its value in that iteration.
    pub variable: Option<NamedValue>,
}
