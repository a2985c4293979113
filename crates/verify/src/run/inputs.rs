//! What buffers hold before a run. Inputs go by name, so that two kernels with different bindings get the same.

use std::collections::BTreeMap;

use shaderlint_hlsl::Scalar;

use super::RunError;
use crate::{Binding, BindingKind, Lowered, Word};

/// How to fill what kernels read.
#[derive(Clone, Debug, PartialEq)]
pub struct InputPlan {
    pub seed: u64,
    /// Elements of a buffer for each thread of the dispatch.
    pub elements_per_thread: u32,
    /// Lengths in elements of buffers that should have another length, by name.
    pub lengths: BTreeMap<String, u32>,
    /// Bit patterns of uniforms, every word of the uniform alike, by name. An integer uniform that is not here is the
    /// number of threads of the dispatch, a float lies between 1 and 2, a bool is true.
    pub uniforms: BTreeMap<String, u32>,
    /// What a buffer holds at first, by name; repeated up to the buffer's length.
    pub contents: BTreeMap<String, Vec<u32>>,
}

impl Default for InputPlan {
    fn default() -> Self {
        Self {
            seed: 0x5eed,
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
}

/// Inputs for these kernels and a dispatch of `groups`: read-only buffers hold seeded random words (integers over
/// their whole range, floats normal and of mixed magnitude), writable ones a pattern that tells each word apart, and
/// those with atomic cells zeros.
#[must_use]
pub fn make_inputs(kernels: &[&Lowered], groups: [u32; 3], plan: &InputPlan) -> Inputs {
    let mut inputs = Inputs::default();
    for kernel in kernels {
        let threads = threads(kernel, groups);
        for binding in &kernel.bindings {
            if let BindingKind::Uniform { members } = &binding.kind {
                for member in members {
                    let fixed = plan.uniforms.get(&member.name).copied();
                    let mut random = Random::new(plan.seed, &member.name);
                    let words = member
                        .words
                        .iter()
                        .map(|word| {
                            let bits = random.next();
                            fixed.unwrap_or(match word.scalar {
                                Scalar::Bool => 1,
                                Scalar::Float => 0x3f80_0000 | (bits >> 9),
                                _ => u32::try_from(threads).unwrap_or(u32::MAX),
                            })
                        })
                        .collect();
                    inputs.uniforms.entry(member.name.clone()).or_insert(words);
                }
            } else if !inputs.buffers.contains_key(&binding.name) {
                let bytes = fill(binding, threads, plan);
                inputs.buffers.insert(binding.name.clone(), bytes);
            }
        }
    }
    inputs
}

/// Number of threads of a dispatch.
pub(super) fn threads(kernel: &Lowered, groups: [u32; 3]) -> u64 {
    kernel
        .group_size
        .iter()
        .chain(&groups)
        .fold(1u64, |product, n| product.saturating_mul(u64::from(*n)))
}

fn fill(binding: &Binding, threads: u64, plan: &InputPlan) -> Vec<u8> {
    let stride = binding.element.stride.max(4) as usize;
    let elements = match (&binding.kind, plan.lengths.get(&binding.name)) {
        (BindingKind::Counter, _) => 1,
        (_, Some(length)) => u64::from(*length),
        (_, None) => threads.saturating_mul(u64::from(plan.elements_per_thread)),
    };
    // Beyond this the device refuses; the run says so.
    let elements = usize::try_from(elements.clamp(1, 1 << 28)).unwrap_or(1);
    let mut words = vec![0u32; elements.saturating_mul(stride) / 4];
    if let Some(contents) = plan.contents.get(&binding.name).filter(|c| !c.is_empty()) {
        for (word, value) in words.iter_mut().zip(contents.iter().cycle()) {
            *word = *value;
        }
    } else if binding.kind == BindingKind::ReadOnlyStorage {
        let mut random = Random::new(plan.seed, &binding.name);
        each_word(binding, &mut words, |_, scalar| random_word(scalar, &mut random));
    } else if binding.kind == BindingKind::ReadWriteStorage && !binding.is_atomic {
        each_word(binding, &mut words, poison);
    }
    bytemuck::cast_slice(&words).to_vec()
}

fn each_word(binding: &Binding, words: &mut [u32], mut value: impl FnMut(u32, Scalar) -> u32) {
    let stride = (binding.element.stride.max(4) / 4) as usize;
    let mut index = 0u32;
    for element in words.chunks_mut(stride) {
        for Word { offset, scalar } in &binding.element.words {
            if let Some(word) = element.get_mut(*offset as usize / 4) {
                *word = value(index, *scalar);
                index = index.wrapping_add(1);
            }
        }
    }
}

fn random_word(scalar: Scalar, random: &mut Random) -> u32 {
    let bits = random.next();
    match scalar {
        Scalar::Bool => bits & 1,
        Scalar::Float => float(bits),
        _ => bits,
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
    /// The bytes that `binding` starts with.
    pub(super) fn bytes(&self, binding: &Binding) -> Result<std::borrow::Cow<'_, [u8]>, RunError> {
        let BindingKind::Uniform { members } = &binding.kind else {
            return self
                .buffers
                .get(&binding.name)
                .map(|bytes| bytes.as_slice().into())
                .ok_or_else(|| RunError::Input(format!("nothing for `{}`", binding.name)));
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
struct Random(u64);

impl Random {
    fn new(seed: u64, name: &str) -> Self {
        // FNV-1a.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Self(seed ^ hash)
    }

    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        u32::try_from((z ^ (z >> 31)) >> 32).unwrap_or(0)
    }
}
