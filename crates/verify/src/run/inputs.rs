//! The contents of buffers before a run. Inputs depend on names, so two kernels with different bindings get the same
//! ones.

use std::collections::{BTreeMap, BTreeSet, TryReserveError};

use shaderlint_hlsl::Scalar;

use super::RunError;
use super::blind::blind_cells;
use crate::{Binding, BindingKind, Lowered, UniformMember, Word};

/// The words of buffers that the plan leaves open. A `bool` is always 0 or 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Values {
    /// Integers over their whole range; normal floats between 2^-8 and 2^8, of either sign.
    #[default]
    Any,
    /// Integers that overflow or change their sign in some operation; floats from denormals to 2^20. No float is NaN,
    /// infinite or -0: sums of those depend on their order in ways that no kernel promises.
    Edges,
    /// Whole numbers from 0 to 7, so that comparisons and bins get equal values. Sums of such floats are exact.
    Few,
}

/// The values of uniforms that the plan leaves open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Numbers {
    /// Integers are the number of threads of the dispatch, floats are between 1 and 2, a `bool` is true. So loops up
    /// to an integer end, and a quotient or product with a float keeps its magnitude.
    #[default]
    Counts,
    /// Integers are 0 to 3: each has its own starting number, to which this one is added. Over the plans 0 to 3 each
    /// integer takes all four values, and each `bool` is true twice. Floats are as above.
    Small(u32),
    /// A sample for each number. Integers are 0, negative, near the number of threads, at the ends of their range, or
    /// arbitrary. Floats are 0, negative and fractions, and larger if buffers hold few values, so that sums stay
    /// exact. A `bool` is either.
    Sampled(u32),
}

/// How to fill the buffers and uniforms of kernels.
#[derive(Clone, Debug, PartialEq)]
pub struct InputPlan {
    pub seed: u64,
    pub values: Values,
    /// Integer uniforms, and the lengths that a kernel reads, are not multiples of the group's size: they are the
    /// dispatch's threads minus a third of a group. The sizes of textures are not multiples of it either, and all
    /// differ.
    pub is_ragged: bool,
    /// Textures end among the texels that the dispatch's threads reach. All sizes differ.
    pub is_tight: bool,
    pub numbers: Numbers,
    /// Names of the buffers and textures that are much larger than the dispatch needs.
    pub ample: BTreeSet<String>,
    /// Elements of a buffer for each thread of the dispatch.
    pub elements_per_thread: u32,
    /// By buffer, a factor for `elements_per_thread` if the kernels reach more elements
    /// ([`elements_reached`](crate::interpret::elements_reached)).
    pub reached: BTreeMap<String, u32>,
    /// By buffer, its length in elements, instead of the computed one.
    pub lengths: BTreeMap<String, u32>,
    /// By uniform, its words, instead of `numbers`. If the uniform has more words, these repeat.
    pub uniforms: BTreeMap<String, Vec<f64>>,
    /// By buffer, its first components, which repeat up to its length.
    pub contents: BTreeMap<String, Vec<f64>>,
}

impl Default for InputPlan {
    fn default() -> Self {
        Self {
            seed: 0x5eed,
            values: Values::Any,
            is_ragged: false,
            is_tight: false,
            numbers: Numbers::Counts,
            ample: BTreeSet::new(),
            elements_per_thread: 1,
            reached: BTreeMap::new(),
            lengths: BTreeMap::new(),
            uniforms: BTreeMap::new(),
            contents: BTreeMap::new(),
        }
    }
}

/// The contents of every buffer and uniform at the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// The bytes of each buffer, by [`Binding::name`].
    pub buffers: BTreeMap<String, Vec<u8>>,
    /// By uniform, its words in order of offset.
    pub uniforms: BTreeMap<String, Vec<u32>>,
    /// Buffers that this machine has no memory for, with the allocator's error.
    pub no_room: BTreeMap<String, String>,
}

/// Inputs for these kernels and a dispatch of `groups`. Read-only buffers hold the plan's seeded words. Writable
/// buffers hold a pattern that differs from word to word, or the plan's edge values. Buffers with atomic cells hold
/// zeros, except that edge-value and ragged plans fill them, too, if both kernels are blind to the cells
/// ([`blind_cells`]).
#[must_use]
pub fn make_inputs(kernels: &[&Lowered], groups: [u32; 3], plan: &InputPlan) -> Inputs {
    let mut inputs = Inputs::default();
    let of_all = || kernels.iter().flat_map(|kernel| &kernel.bindings);
    let textures: BTreeSet<&str> = of_all()
        .filter(|binding| binding.dimensions.is_some())
        .map(|binding| binding.name.as_str())
        .collect();
    let blind: Vec<BTreeSet<u32>> = kernels.iter().map(|kernel| blind_cells(kernel)).collect();
    for kernel in kernels {
        let threads = threads(kernel, groups);
        let ragged = threads.saturating_sub(group_threads(kernel) / 3).max(1);
        let counted = if plan.is_ragged { ragged } else { threads };
        let size_of = |binding: &Binding| {
            let rank = textures.range(..binding.name.as_str()).count();
            let rank = u32::try_from(rank).unwrap_or(u32::MAX);
            texture_size(kernel, groups, binding, rank, plan)
        };
        for binding in &kernel.bindings {
            if let BindingKind::Uniform { members } = &binding.kind {
                for member in members {
                    let words = match texture_of(kernel, member).and_then(size_of) {
                        Some(size) => size.to_vec(),
                        None => uniform_words(member, counted, plan),
                    };
                    inputs.uniforms.entry(member.name.clone()).or_insert(words);
                }
            } else if !inputs.buffers.contains_key(&binding.name) {
                let elements = match size_of(binding) {
                    Some(size) => size
                        .iter()
                        .fold(1u64, |texels, extent| texels.saturating_mul(u64::from(*extent))),
                    None if binding.is_asked => counted,
                    None if plan.ample.contains(&binding.name) => ample(threads, binding),
                    None => threads,
                };
                let cells = match of_all().any(|one| one.name == binding.name && one.is_atomic) {
                    false => Cells::None,
                    true if (kernels.iter().zip(&blind)).all(|(kernel, blind)| {
                        let mut same = kernel.bindings.iter().filter(|one| one.name == binding.name);
                        same.all(|one| blind.contains(&one.binding))
                    }) =>
                    {
                        Cells::Blind
                    }
                    true => Cells::Seen,
                };
                match fill(binding, elements, cells, plan) {
                    Ok(bytes) => {
                        inputs.buffers.insert(binding.name.clone(), bytes);
                    }
                    Err(error) => {
                        inputs.no_room.insert(binding.name.clone(), error.to_string());
                    }
                }
            }
        }
    }
    inputs
}

/// The atomic cells of a buffer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cells {
    None,
    /// No kernel depends on their contents.
    Blind,
    Seen,
}

/// Ample buffers have this many times the elements that a dispatch needs: enough for matrices stored word by word.
pub(crate) const AMPLE: u64 = 16;
/// Ample buffers have at most this many bytes.
const AMPLE_BYTES: u64 = 1 << 26;

fn ample(elements: u64, binding: &Binding) -> u64 {
    let most = AMPLE_BYTES / u64::from(binding.element.stride.max(4));
    elements.saturating_mul(AMPLE).min(most).max(elements)
}

/// The texture whose size is in this uniform.
fn texture_of<'k>(kernel: &'k Lowered, member: &UniformMember) -> Option<&'k Binding> {
    let mut bindings = kernel.bindings.iter();
    bindings.find(|binding| member.is_size && binding.global == Some(member.global))
}

/// A texture has at least this many rows and columns for each group of this many threads: the kernel may arrange a
/// row of threads as a square, and may swap rows and columns.
const SIDE: u32 = 64;
/// A texture has at least this many slices for each group.
const SLICES: u32 = 4;

/// Ample textures have at most this many texels along an axis.
const WIDEST: u32 = 1 << 11;
/// The number of texels of a tight texture along an axis, if the dispatch has one thread along it.
const TIGHT: u32 = 8;

/// The width, height and depth of a texture: as far as a dispatch probably reaches, or twice that if it is ample.
/// `None` for a buffer.
///
/// Ragged textures end within a group. Tight ones end among the texels that threads reach if each takes the texel
/// with its own number. Each is smaller by a third of a group, and by its `rank`, the number of textures that precede
/// it by name. Outside of a texture, both kernels read 0 and write nothing.
fn texture_size(
    kernel: &Lowered,
    groups: [u32; 3],
    binding: &Binding,
    rank: u32,
    plan: &InputPlan,
) -> Option<[u32; 3]> {
    let dimensions = binding.dimensions?;
    let side = u32::try_from(group_threads(kernel)).unwrap_or(SIDE).min(SIDE);
    let mut size = [1; 3];
    let least = [side, side, SLICES];
    let axes = size
        .iter_mut()
        .zip(groups)
        .zip(kernel.group_size.into_iter().zip(least));
    for ((extent, groups), (threads, least)) in axes.take(usize::from(dimensions)) {
        let reached = groups.saturating_mul(threads);
        *extent = groups.saturating_mul(threads.max(least));
        if plan.ample.contains(&binding.name) {
            *extent = extent.saturating_mul(2).min(WIDEST).max(*extent);
            continue;
        }
        if plan.is_tight {
            *extent = if reached > 1 { reached } else { TIGHT };
        }
        if plan.is_ragged || plan.is_tight {
            let least = (threads / 3).max(1);
            let most = (*extent / 2).max(least + 1);
            *extent = extent.saturating_sub(least + rank % (most - least)).max(1);
            if threads > 1 && *extent > 1 && extent.is_multiple_of(threads) {
                *extent -= 1;
            }
        }
    }
    Some(size)
}

fn uniform_words(member: &UniformMember, threads: u64, plan: &InputPlan) -> Vec<u32> {
    let given = plan
        .uniforms
        .get(&member.name)
        .filter(|numbers| !numbers.is_empty());
    let threads = u32::try_from(threads).unwrap_or(u32::MAX);
    let seed = match plan.numbers {
        Numbers::Sampled(number) => plan.seed.wrapping_add(u64::from(number) + 1),
        _ => plan.seed,
    };
    let mut random = Random::new(seed, &member.name);
    let first = Random::new(seed, &member.name).next();
    let words = member.words.iter().enumerate();
    words
        .map(|(at, word)| {
            let bits = random.next();
            if let Some(number) = given.and_then(|numbers| numbers.get(at % numbers.len())) {
                return bits_of(*number, word.scalar);
            }
            let small = |more: u32| first.wrapping_add(more) % SMALL;
            match (plan.numbers, word.scalar) {
                (Numbers::Sampled(_), Scalar::Bool) => bits & 1,
                (Numbers::Sampled(_), Scalar::Float) => sampled_float(plan.values, bits),
                (Numbers::Sampled(_), _) => sampled_integer(threads, bits),
                (_, Scalar::Float) => 0x3f80_0000 | (bits >> 9),
                // One of the two bits, or their exclusive or.
                (Numbers::Small(more), Scalar::Bool) => {
                    (small(more) & (1 + first / SMALL % 3)).count_ones() & 1
                }
                (Numbers::Small(more), _) => small(more),
                (Numbers::Counts, Scalar::Bool) => 1,
                (Numbers::Counts, _) => threads,
            }
        })
        .collect()
}

fn sampled_integer(threads: u32, bits: u32) -> u32 {
    let any = bits >> 4;
    match bits % 12 {
        0 | 1 => threads,
        2 => threads.wrapping_add(1),
        3 => threads / 2,
        4 => 0,
        5 => u32::MAX,
        6 => any % 256,
        7 => (any % 256).wrapping_neg(),
        8 => 0x7fff_ffff,
        9 => 0x8000_0000,
        10 => any % 0x1_0000,
        _ => any.wrapping_mul(0x9e37_79b9),
    }
}

/// With few values, sums and products with these numbers are exact. With other values, no product grows more than
/// with a number between 1 and 2, which the tolerance of sums permits.
fn sampled_float(values: Values, bits: u32) -> u32 {
    const FEW: [f32; 8] = [0.0, -1.0, 0.5, -0.25, 2.0, -4.0, 16.0, 1024.0];
    const ANY: [f32; 8] = [0.0, -1.0, 0.5, -0.25, 1.0, -1.75, 0.015_625, -0.875];
    let list = if values == Values::Few { FEW } else { ANY };
    list.get(bits as usize % list.len())
        .copied()
        .unwrap_or(0.0)
        .to_bits()
}

/// Small integer uniforms are below this number: modes and flags are seldom larger.
pub(super) const SMALL: u32 = 4;

/// The bits of a number as a component of this type. Negative numbers wrap around, as in HLSL.
#[must_use]
pub fn bits_of(number: f64, scalar: Scalar) -> u32 {
    match scalar {
        Scalar::Float => (number as f32).to_bits(),
        Scalar::Bool => u32::from(number != 0.0),
        _ => number as i64 as u32,
    }
}

/// Threads of one group.
fn group_threads(kernel: &Lowered) -> u64 {
    threads(kernel, [1, 1, 1])
}

/// Number of threads of a dispatch.
pub(crate) fn threads(kernel: &Lowered, groups: [u32; 3]) -> u64 {
    kernel
        .group_size
        .iter()
        .chain(&groups)
        .fold(1u64, |product, n| product.saturating_mul(u64::from(*n)))
}

/// The bytes of a buffer. `elements` is the number that the dispatch needs; the plan may set another.
fn fill(
    binding: &Binding,
    elements: u64,
    cells: Cells,
    plan: &InputPlan,
) -> Result<Vec<u8>, TryReserveError> {
    let stride = binding.element.stride.max(4) as usize;
    let elements = match (&binding.kind, plan.lengths.get(&binding.name)) {
        (BindingKind::Counter, _) => 1,
        (_, Some(length)) => u64::from(*length),
        (_, None) => {
            let reached = plan.reached.get(&binding.name).copied().unwrap_or(1);
            elements.saturating_mul(u64::from(plan.elements_per_thread.saturating_mul(reached)))
        }
    };
    // A device refuses longer buffers, and the run reports that.
    let elements = usize::try_from(elements.clamp(1, 1 << 28)).unwrap_or(1);
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(elements.saturating_mul(stride))?;
    bytes.resize(elements.saturating_mul(stride), 0);
    if let Some(contents) = plan.contents.get(&binding.name).filter(|c| !c.is_empty()) {
        let mut contents = contents.iter().cycle();
        each_word(binding, &mut bytes, |_, scalar| {
            bits_of(contents.next().copied().unwrap_or(0.0), scalar)
        });
    } else if binding.kind == BindingKind::ReadOnlyStorage || is_filled(binding, cells, plan) {
        let mut random = Random::new(plan.seed, &binding.name);
        each_word(binding, &mut bytes, |_, scalar| {
            value(plan.values, scalar, random.next())
        });
    } else if binding.kind == BindingKind::ReadWriteStorage && cells == Cells::None {
        each_word(binding, &mut bytes, poison);
    }
    Ok(bytes)
}

/// Whether the plan's words fill a writable buffer: edge values fill buffers that a kernel may process in place, and
/// the ragged plan fills the cells to which it is blind. The other dispatches show which words the kernel writes.
fn is_filled(binding: &Binding, cells: Cells, plan: &InputPlan) -> bool {
    let is_edge = plan.values == Values::Edges;
    binding.kind == BindingKind::ReadWriteStorage
        && match cells {
            Cells::None => is_edge,
            Cells::Blind => is_edge || plan.is_ragged,
            Cells::Seen => false,
        }
}

fn each_word(binding: &Binding, bytes: &mut [u8], mut value: impl FnMut(u32, Scalar) -> u32) {
    let stride = binding.element.stride.max(4) as usize;
    let mut index = 0u32;
    for element in bytes.chunks_mut(stride) {
        for Word { offset, scalar } in &binding.element.words {
            let start = *offset as usize;
            if let Some(word) = element.get_mut(start..start.saturating_add(4)) {
                word.copy_from_slice(&value(index, *scalar).to_le_bytes());
                index = index.wrapping_add(1);
            }
        }
    }
}

fn value(values: Values, scalar: Scalar, bits: u32) -> u32 {
    const INTEGERS: [u32; 12] = [
        0,
        1,
        2,
        31,
        32,
        0xffff,
        0x7fff_ffff,
        0x8000_0000,
        0x8000_0001,
        u32::MAX - 1,
        u32::MAX,
        0x0101_0101,
    ];
    // 0, the least denormal, the greatest, the least normal, 2^-20, 1, 1 + 2^-23, 3, 2^20.
    const FLOATS: [u32; 9] = [
        0,
        1,
        0x007f_ffff,
        0x0080_0000,
        0x3580_0000,
        0x3f80_0000,
        0x3f80_0001,
        0x4040_0000,
        0x4980_0000,
    ];
    let pick = |list: &[u32]| list.get(bits as usize % list.len()).copied().unwrap_or(0);
    match (values, scalar) {
        (_, Scalar::Bool) => bits & 1,
        (Values::Any, Scalar::Float) => float(bits),
        (Values::Any, _) => bits,
        (Values::Edges, Scalar::Float) => match pick(&FLOATS) {
            0 => 0,
            magnitude => magnitude | (bits & 0x8000_0000),
        },
        (Values::Edges, _) => pick(&INTEGERS),
        (Values::Few, Scalar::Float) => f32::from((bits >> 29) as u8).to_bits(),
        (Values::Few, _) => bits >> 29,
    }
}

/// A normal float between 2^-8 and 2^8, of either sign.
fn float(bits: u32) -> u32 {
    let exponent = 127 - 8 + ((bits >> 23) & 15);
    (bits & 0x8000_0000) | (exponent << 23) | (bits & 0x007f_ffff)
}

/// A pattern that differs from word to word.
fn poison(index: u32, scalar: Scalar) -> u32 {
    let bits = 0xDEAD_BEEFu32.wrapping_add(index.wrapping_mul(0x9E37_79B9));
    match scalar {
        Scalar::Bool => bits & 1,
        Scalar::Float => float(bits),
        _ => bits,
    }
}

impl Inputs {
    /// HLSL's name of an element: its index, its address, or the coordinates of a texel.
    #[must_use]
    pub fn index(&self, binding: &Binding, element: u64) -> Vec<u64> {
        let Some(dimensions) = binding.dimensions else {
            return vec![if binding.is_by_address {
                4 * element
            } else {
                element
            }];
        };
        let size = self.texture_size(binding).unwrap_or([1; 3]);
        let mut rest = element;
        let extents = size.into_iter().take(usize::from(dimensions));
        extents
            .map(|extent| {
                let coordinate = rest % u64::from(extent.max(1));
                rest /= u64::from(extent.max(1));
                coordinate
            })
            .collect()
    }

    /// The element of a texel; `None` outside of the texture.
    #[must_use]
    pub fn texel(&self, binding: &Binding, coordinates: &[u32]) -> Option<usize> {
        let size = self.texture_size(binding)?;
        let mut element = 0usize;
        for (coordinate, extent) in coordinates.iter().zip(size).rev() {
            if *coordinate >= extent {
                return None;
            }
            element = element
                .checked_mul(extent as usize)?
                .checked_add(*coordinate as usize)?;
        }
        (coordinates.len() == usize::from(binding.dimensions?)).then_some(element)
    }

    /// The width, height and depth of a texture.
    #[must_use]
    pub fn texture_size(&self, binding: &Binding) -> Option<[u32; 3]> {
        let words = self.uniforms.get(&format!("{}.size", binding.name))?;
        words.as_slice().try_into().ok()
    }

    /// The initial bytes of `binding`.
    ///
    /// # Errors
    /// If the inputs have nothing for it.
    pub fn bytes(&self, binding: &Binding) -> Result<std::borrow::Cow<'_, [u8]>, RunError> {
        let BindingKind::Uniform { members } = &binding.kind else {
            let name = &binding.name;
            return match (self.buffers.get(name), self.no_room.get(name)) {
                (Some(bytes), _) => Ok(bytes.as_slice().into()),
                (None, Some(why)) => Err(RunError::OutOfMemory(format!("no room for `{name}`: {why}"))),
                (None, None) => Err(RunError::Input(format!("nothing for `{name}`"))),
            };
        };
        let mut words = vec![0u32; (binding.element.stride.max(4) / 4) as usize];
        for member in members {
            let Some(values) = self.uniforms.get(&member.name) else {
                return Err(RunError::Input(format!("nothing for `{}`", member.name)));
            };
            for (word, value) in member.words.iter().zip(values) {
                if let Some(slot) = words.get_mut(word.offset as usize / 4) {
                    *slot = *value;
                }
            }
        }
        Ok(bytemuck::cast_slice(&words).to_vec().into())
    }
}

/// The generator `SplitMix64`, seeded by a number and a name.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64, name: &str) -> Self {
        // FNV-1a.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Self(seed ^ hash)
    }

    pub(crate) fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        u32::try_from((z ^ (z >> 31)) >> 32).unwrap_or(0)
    }
}
