//! Compares the outputs of two kernels word by word.

use std::collections::BTreeSet;

use shaderlint_hlsl::Scalar;

use super::{Inputs, Outputs};
use crate::{Binding, Lowered};

/// The tolerance for floats. Integers are always compared exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    Exact,
    /// |a − b| ≤ γ(depth)·magnitude with γ(k) = ku / (1 − ku), u = 2^-24. `depth` is the sum of both kernels' depths
    /// of additions, and `magnitude` is an upper bound of Σ|x| over the elements of one sum (see [`magnitude`]). The
    /// summed values may be computed first, as squares for example: then the floats left in a buffer show how large
    /// they are, see [`Tolerance::within`].
    Gamma {
        depth: u32,
        magnitude: f32,
    },
}

const OF_EITHER_SIGN: f32 = 16.0;

impl Tolerance {
    /// The same for a buffer in which `largest` is the largest float that the kernels leave. If all elements have one
    /// sign, Σ|x| does not exceed the total. For N elements of either sign, Σ|x| is about √N / 2 times the largest
    /// partial sum, which is [`OF_EITHER_SIGN`] for the largest groups. A surplus or missing element makes a
    /// difference far above that bound.
    pub(crate) fn within(self, largest: f32) -> Self {
        match self {
            Tolerance::Exact => self,
            Tolerance::Gamma { depth, magnitude } => Tolerance::Gamma {
                depth,
                magnitude: magnitude.max(OF_EITHER_SIGN * largest),
            },
        }
    }

    fn bound(self) -> f64 {
        match self {
            Tolerance::Exact => 0.0,
            Tolerance::Gamma { depth, magnitude } => {
                let ku = f64::from(depth) * f64::from(2f32.powi(-24));
                if ku >= 1.0 {
                    f64::INFINITY
                } else {
                    ku / (1.0 - ku) * f64::from(magnitude)
                }
            }
        }
    }
}

/// The result of comparing two runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Words compared.
    pub words: u64,
    /// Words that the flagged kernel changed. If none, the comparison says nothing.
    pub written: u64,
    pub differing: u64,
    /// The first word that differs; preferably one that is not a NaN.
    pub first: Option<Difference>,
}

/// Two words that should be equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The binding's name.
    pub binding: String,
    /// Index of the element in the buffer, and HLSL's name for it: a texel has coordinates.
    pub element: u64,
    pub index: Vec<u64>,
    /// Index of the word in the element.
    pub word: u32,
    pub scalar: Scalar,
    /// The bit patterns that the flagged and the fixed kernel left.
    pub expected: u32,
    pub got: u32,
    /// The word before the run; `None` if elements may have any order.
    pub before: Option<u32>,
    /// Both are NaNs, and the kernels compute with floats: which NaN results from an operation is open.
    pub is_of_nans: bool,
}

/// Compares what `flagged` and `fixed` left in each buffer that one of `kernels` may write to. Buffers named in
/// `unordered` hold records in no defined order: their elements are sorted first. Those in `overwritten` are not
/// compared.
#[must_use]
pub fn compare(
    kernels: &[&Lowered],
    inputs: &Inputs,
    flagged: &Outputs,
    fixed: &Outputs,
    tolerance: Tolerance,
    unordered: &BTreeSet<String>,
    overwritten: &BTreeSet<String>,
) -> Comparison {
    let mut comparison = Comparison::default();
    let mut seen = BTreeSet::new();
    let have_floats = kernels.iter().any(|kernel| kernel.has_floats());
    let bindings = kernels.iter().flat_map(|kernel| &kernel.bindings);
    for binding in bindings.filter(|b| b.kind.is_writable()) {
        if !seen.insert(&binding.name) || overwritten.contains(&binding.name) {
            continue;
        }
        let before = inputs.buffers.get(&binding.name);
        let nothing = Vec::new();
        // A kernel that does not reach the buffer leaves it as it was.
        let (expected, got) = (
            flagged.buffers.get(&binding.name).or(before).unwrap_or(&nothing),
            fixed.buffers.get(&binding.name).or(before).unwrap_or(&nothing),
        );
        let any_order = unordered.contains(&binding.name);
        let (expected, got) = (
            elements(binding, expected, any_order),
            elements(binding, got, any_order),
        );
        let tolerance = tolerance.within(largest(binding, &[&expected, &got]));
        let before = before.map(|before| elements(binding, before, any_order));
        let before = before.unwrap_or_default();
        comparison.written += (before.iter().zip(&expected))
            .map(|(a, b)| count(a.iter().zip(b).filter(|(a, b)| a != b).count()))
            .sum::<u64>();
        if expected.len() != got.len() {
            comparison.differing += count(expected.len().abs_diff(got.len()));
        }
        for (index, (expected, got)) in expected.iter().zip(&got).enumerate() {
            for (at, ((word, a), b)) in binding.element.words.iter().zip(expected).zip(got).enumerate() {
                comparison.words += 1;
                if equal(word.scalar, *a, *b, tolerance) {
                    continue;
                }
                comparison.differing += 1;
                let is_of_nans =
                    have_floats && [*a, *b].into_iter().all(|bits| f32::from_bits(bits).is_nan());
                let says_less = |first: &Difference| first.is_of_nans && !is_of_nans;
                if comparison.first.as_ref().is_none_or(says_less) {
                    comparison.first = Some(Difference {
                        binding: binding.name.clone(),
                        element: count(index),
                        index: inputs.index(binding, count(index)),
                        word: u32::try_from(at).unwrap_or(u32::MAX),
                        scalar: word.scalar,
                        expected: *a,
                        got: *b,
                        before: (before.get(index).and_then(|element| element.get(at)).copied())
                            .filter(|_| !any_order),
                        is_of_nans,
                    });
                }
            }
        }
    }
    comparison
}

/// The largest magnitude among the floats of a buffer's elements.
fn largest(binding: &Binding, lists: &[&Vec<Vec<u32>>]) -> f32 {
    let elements = lists.iter().copied().flatten();
    let words = elements.flat_map(|element| binding.element.words.iter().zip(element));
    let floats = words.filter(|(word, _)| word.scalar == Scalar::Float);
    largest_float(floats.map(|(_, bits)| *bits))
}

/// The largest magnitude among the finite floats.
pub(crate) fn largest_float(words: impl Iterator<Item = u32>) -> f32 {
    let floats = words.map(|bits| f32::from_bits(bits).abs());
    floats.filter(|float| float.is_finite()).fold(0.0, f32::max)
}

fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// The words of each element, without padding.
fn elements(binding: &Binding, bytes: &[u8], sorted: bool) -> Vec<Vec<u32>> {
    let stride = binding.element.stride.max(4) as usize;
    let mut elements: Vec<Vec<u32>> = bytes
        .chunks_exact(stride)
        .map(|element| {
            let words = binding.element.words.iter();
            words.filter_map(|word| word_at(element, word.offset)).collect()
        })
        .collect();
    if sorted {
        elements.sort_unstable();
    }
    elements
}

pub(super) fn word_at(bytes: &[u8], offset: u32) -> Option<u32> {
    let start = offset as usize;
    let word: [u8; 4] = bytes.get(start..start.checked_add(4)?)?.try_into().ok()?;
    Some(u32::from_le_bytes(word))
}

pub(crate) fn equal(scalar: Scalar, a: u32, b: u32, tolerance: Tolerance) -> bool {
    if a == b {
        return true;
    }
    if scalar != Scalar::Float {
        return false;
    }
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    if x.is_nan() && y.is_nan() {
        return true;
    }
    let distance = (f64::from(x) - f64::from(y)).abs();
    tolerance != Tolerance::Exact && distance <= tolerance.bound()
}

/// The depth of float additions in both kernels together, if there are floats. The ladder has a depth of at most log2
/// N, and the wave form of at most 9 + N/16 (waves of 4: two levels in the wave, one addition for each chunk of 4
/// totals of 4 elements, two levels in the chunk).
#[must_use]
pub fn float_depth(kernel: &Lowered) -> Option<u32> {
    let lanes = kernel.group_size.iter().product::<u32>().max(1);
    let mut words = kernel.bindings.iter().flat_map(|binding| &binding.element.words);
    words
        .any(|word| word.scalar == Scalar::Float)
        .then(|| lanes.ilog2() + 1 + 9 + lanes / 16)
}

/// An upper bound of Σ|x| over the elements that one group reads: the largest such sum over all runs of as many
/// consecutive elements as a group has threads, in every buffer of floats.
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "rounded up afterwards")]
pub fn magnitude(kernel: &Lowered, inputs: &Inputs) -> f32 {
    let threads = kernel.group_size.iter().product::<u32>().max(1) as usize;
    let mut largest = 0f64;
    for binding in &kernel.bindings {
        let Some(bytes) = inputs.buffers.get(&binding.name) else {
            continue;
        };
        let stride = binding.element.stride.max(4) as usize;
        for group in bytes.chunks(stride.saturating_mul(threads)) {
            let mut sum = 0f64;
            for element in group.chunks(stride) {
                for word in binding.element.words.iter().filter(|w| w.scalar == Scalar::Float) {
                    sum += word_at(element, word.offset)
                        .map_or(0.0, |bits| f64::from(f32::from_bits(bits)).abs());
                }
            }
            largest = largest.max(sum);
        }
    }
    // A hash is below 2.
    if !kernel.replaced.is_empty() {
        largest += 2.0 * threads as f64;
    }
    (largest as f32).next_up()
}
