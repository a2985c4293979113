//! What buffers hold before a run. Inputs go by name, so that two kernels with different bindings get the same.

use std::collections::{BTreeMap, BTreeSet, TryReserveError};

use shaderlint_hlsl::Scalar;

use super::RunError;
use crate::{Binding, BindingKind, Lowered, UniformMember, Word};

/// Which words a kernel reads where nothing else is said. A `bool` is 0 or 1 in all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Values {
    /// Integers over their whole range; normal floats between 2^-8 and 2^8, of either sign.
    #[default]
    Any,
    /// Integers where something overflows or changes its sign; floats from denormal to 2^20, none of them NaN, infinite
    /// or -0: sums of those depend on their order in ways that no kernel promises.
    Edges,
    /// Whole numbers from 0 to 7, so that comparisons and bins see equal values. Sums of such floats are exact.
    Few,
}

/// How to fill what kernels read.
#[derive(Clone, Debug, PartialEq)]
pub struct InputPlan {
    pub seed: u64,
    pub values: Values,
    /// Integer uniforms, and the lengths of buffers that a kernel asks for, are no multiple of the group's size: the
    /// dispatch's threads less a third of a group.
    pub is_ragged: bool,
    /// Integer uniforms are 0 to 3 instead, this much on from where each begins: in plans from 0 to 3 each uniform is
    /// each of them.
    pub small: Option<u32>,
    /// Elements of a buffer for each thread of the dispatch.
    pub elements_per_thread: u32,
    /// Lengths in elements of buffers that should have another length, by name.
    pub lengths: BTreeMap<String, u32>,
    /// Words of uniforms by name, repeated where there are fewer than the uniform has. An integer uniform that is not
    /// here is the number of threads of the dispatch, or small; a float lies between 1 and 2, a bool is true.
    pub uniforms: BTreeMap<String, Vec<f64>>,
    /// What a buffer holds at first, by name: its components in order, repeated up to the buffer's length.
    pub contents: BTreeMap<String, Vec<f64>>,
}

impl Default for InputPlan {
    fn default() -> Self {
        Self {
            seed: 0x5eed,
            values: Values::Any,
            is_ragged: false,
            small: None,
            elements_per_thread: 1,
            lengths: BTreeMap::new(),
            uniforms: BTreeMap::new(),
            contents: BTreeMap::new(),
        }
    }
}

/// What every buffer and uniform holds at the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// Bytes of each buffer, by [`Binding::name`].
    pub buffers: BTreeMap<String, Vec<u8>>,
    /// Words of each uniform, in order of offset, by name.
    pub uniforms: BTreeMap<String, Vec<u32>>,
    /// Buffers that this machine has no memory for, with what allocating them said.
    pub no_room: BTreeMap<String, String>,
}

/// Inputs for these kernels and a dispatch of `groups`: read-only buffers hold seeded words as the plan says, writable
/// ones a pattern that tells each word apart, or edge values where these are asked for, and those with atomic cells zeros.
#[must_use]
pub fn make_inputs(kernels: &[&Lowered], groups: [u32; 3], plan: &InputPlan) -> Inputs {
    let mut inputs = Inputs::default();
    for kernel in kernels {
        let threads = threads(kernel, groups);
        let ragged = threads.saturating_sub(group_threads(kernel) / 3).max(1);
        let counted = if plan.is_ragged { ragged } else { threads };
        let asked = asked_lengths(kernel);
        for binding in &kernel.bindings {
            if let BindingKind::Uniform { members } = &binding.kind {
                for member in members {
                    let words = match dimensions(kernel, member) {
                        Some(dimensions) => texture_size(kernel, groups, dimensions, plan.is_ragged).to_vec(),
                        None => uniform_words(member, counted, plan),
                    };
                    inputs.uniforms.entry(member.name.clone()).or_insert(words);
                }
            } else if !inputs.buffers.contains_key(&binding.name) {
                let is_asked = asked.contains(&binding.binding);
                let elements = match (binding.dimensions, is_asked) {
                    (Some(dimensions), _) => texture_size(kernel, groups, dimensions, plan.is_ragged)
                        .iter()
                        .fold(1u64, |texels, extent| texels.saturating_mul(u64::from(*extent))),
                    (None, true) => counted,
                    (None, false) => threads,
                };
                match fill(binding, elements, plan) {
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

/// Of the texture that this is the size of.
fn dimensions(kernel: &Lowered, member: &UniformMember) -> Option<u8> {
    let mut bindings = kernel.bindings.iter();
    let texture = bindings.find(|binding| member.is_size && binding.global == Some(member.global));
    texture.and_then(|texture| texture.dimensions)
}

/// Rows and columns of a texture that each group has at least, if it has as many threads: those of a row may be laid out
/// as a square, and rows and columns may change places.
const SIDE: u32 = 64;
/// Slices that each group has at least.
const SLICES: u32 = 4;

/// The width, height and depth of a texture: what a dispatch can be expected to reach. Ragged ones end within a group.
fn texture_size(kernel: &Lowered, groups: [u32; 3], dimensions: u8, is_ragged: bool) -> [u32; 3] {
    let side = u32::try_from(group_threads(kernel)).unwrap_or(SIDE).min(SIDE);
    let mut size = [1; 3];
    let least = [side, side, SLICES];
    let axes = size
        .iter_mut()
        .zip(groups)
        .zip(kernel.group_size.into_iter().zip(least));
    for ((extent, groups), (threads, least)) in axes.take(usize::from(dimensions)) {
        *extent = groups.saturating_mul(threads.max(least));
        if is_ragged {
            *extent = extent.saturating_sub(threads / 3).max(1);
        }
    }
    size
}

fn uniform_words(member: &UniformMember, threads: u64, plan: &InputPlan) -> Vec<u32> {
    let given = plan
        .uniforms
        .get(&member.name)
        .filter(|numbers| !numbers.is_empty());
    let mut random = Random::new(plan.seed, &member.name);
    let first = Random::new(plan.seed, &member.name).next();
    let words = member.words.iter().enumerate();
    words
        .map(|(at, word)| {
            let bits = random.next();
            match given.and_then(|numbers| numbers.get(at % numbers.len())) {
                Some(number) => bits_of(*number, word.scalar),
                None => match word.scalar {
                    Scalar::Bool => 1,
                    Scalar::Float => 0x3f80_0000 | (bits >> 9),
                    _ if let Some(more) = plan.small => first.wrapping_add(more) % SMALL,
                    _ => u32::try_from(threads).unwrap_or(u32::MAX),
                },
            }
        })
        .collect()
}

/// Whole numbers from 0 that an integer uniform is tried as: modes and flags are seldom more.
pub(super) const SMALL: u32 = 4;

/// The word that a number is as a component of this type. Numbers below zero wrap around, as they do in HLSL.
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

/// The bindings whose length the kernel asks for: it can then be expected to stay within it. Others are given an
/// element for each thread whatever the count, as an access past a buffer's end is another one on each device.
pub(super) fn asked_lengths(kernel: &Lowered) -> BTreeSet<u32> {
    let module = &kernel.module;
    let functions = module.functions.iter().map(|(_, function)| function);
    let entries = module.entry_points.iter().map(|entry| &entry.function);
    let mut asked = BTreeSet::new();
    for function in functions.chain(entries) {
        for (_, expression) in function.expressions.iter() {
            let naga::Expression::ArrayLength(pointer) = expression else {
                continue;
            };
            // A buffer that is one array, or a struct around it.
            let mut pointer = &function.expressions[*pointer];
            while let naga::Expression::AccessIndex { base, .. } = pointer {
                pointer = &function.expressions[*base];
            }
            if let naga::Expression::GlobalVariable(variable) = pointer {
                asked.extend(module.global_variables[*variable].binding.map(|at| at.binding));
            }
        }
    }
    asked
}

/// Number of threads of a dispatch.
pub(super) fn threads(kernel: &Lowered, groups: [u32; 3]) -> u64 {
    kernel
        .group_size
        .iter()
        .chain(&groups)
        .fold(1u64, |product, n| product.saturating_mul(u64::from(*n)))
}

/// `elements` are as many as the dispatch calls for, if the plan says nothing else.
fn fill(binding: &Binding, elements: u64, plan: &InputPlan) -> Result<Vec<u8>, TryReserveError> {
    let stride = binding.element.stride.max(4) as usize;
    let elements = match (&binding.kind, plan.lengths.get(&binding.name)) {
        (BindingKind::Counter, _) => 1,
        (_, Some(length)) => u64::from(*length),
        (_, None) => elements.saturating_mul(u64::from(plan.elements_per_thread)),
    };
    // Beyond this the device refuses; the run says so.
    let elements = usize::try_from(elements.clamp(1, 1 << 28)).unwrap_or(1);
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(elements.saturating_mul(stride))?;
    bytes.resize(elements.saturating_mul(stride), 0);
    if let Some(contents) = plan.contents.get(&binding.name).filter(|c| !c.is_empty()) {
        let mut contents = contents.iter().cycle();
        each_word(binding, &mut bytes, |_, scalar| {
            bits_of(contents.next().copied().unwrap_or(0.0), scalar)
        });
    } else if binding.kind == BindingKind::ReadOnlyStorage || is_read_at_its_edges(binding, plan) {
        let mut random = Random::new(plan.seed, &binding.name);
        each_word(binding, &mut bytes, |_, scalar| {
            value(plan.values, scalar, random.next())
        });
    } else if binding.kind == BindingKind::ReadWriteStorage && !binding.is_atomic {
        each_word(binding, &mut bytes, poison);
    }
    Ok(bytes)
}

/// What a kernel works on in place gets edge values too. That a word is written or not shows in the other dispatches.
fn is_read_at_its_edges(binding: &Binding, plan: &InputPlan) -> bool {
    plan.values == Values::Edges && binding.kind == BindingKind::ReadWriteStorage && !binding.is_atomic
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

/// Recognisable, and different for every word.
fn poison(index: u32, scalar: Scalar) -> u32 {
    let bits = 0xDEAD_BEEFu32.wrapping_add(index.wrapping_mul(0x9E37_79B9));
    match scalar {
        Scalar::Bool => bits & 1,
        Scalar::Float => float(bits),
        _ => bits,
    }
}

impl Inputs {
    /// How HLSL names an element: by its index, its address, or the coordinates of a texel.
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

    /// Which element of a texture's a texel is; `None` outside.
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

    /// The bytes that `binding` starts with.
    ///
    /// # Errors
    /// Where there is nothing for it.
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
