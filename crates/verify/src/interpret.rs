//! Runs two kernels in the engine's interpreter, on the inputs of the devices: at wave sizes that no device here has,
//! and without a driver.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use shaderlint_hlsl::{ResourceKind, Scalar, Shader, Type};
use shaderlint_simt::{BUFFER_END, Kernel, LaneMap, NamedCell, Written, ends, evaluate};

use crate::run::{
    Case, Inputs, Random, Reached, Tolerance, Trial,
    compare::{equal, largest_float},
    inputs::{AMPLE, threads},
};
use crate::{Binding, Lowered};

/// The interpreter runs at most this many groups of a case along each dimension.
const GROUPS: u32 = 2;

/// The interpreter's outcome at one wave size under one lane map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpreted {
    pub wave_size: u32,
    pub map: LaneMap,
    pub outcome: Interpretation,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interpretation {
    /// The kernels wrote this many words, all alike.
    Equal { words: u64 },
    Differs {
        /// The index of the trial's case.
        case: usize,
        /// For example `Out[64]`.
        place: String,
        component: u32,
        scalar: Scalar,
        /// Bit patterns; `None` if the kernel writes nothing there.
        expected: Option<u32>,
        got: Option<u32>,
    },
    /// The interpreter could not follow one of the kernels.
    NotFollowed,
}

/// Whether both kernels end and stay within their arrays with any inputs, at every wave size that they allow.
#[must_use]
pub fn end<'s>(kernels: [impl Into<Kernel<'s>>; 2]) -> bool {
    kernels.into_iter().map(Into::into).all(|kernel: Kernel<'_>| {
        let ends = |size| ends(kernel.shader, kernel.entry, size, LaneMap::Linear);
        kernel.wave_sizes().all(ends)
    })
}

/// The wave sizes that both kernels allow.
fn common_wave_sizes<'s>(
    flagged: Kernel<'s>,
    fixed: Kernel<'s>,
) -> impl Iterator<Item = u32> + Clone + use<'s> {
    let allows = move |size: &u32| fixed.wave_sizes().any(|allowed| allowed == *size);
    flagged.wave_sizes().filter(allows)
}

/// Runs both kernels on the first and the last group of each case, at every wave size that both allow, under these maps.
#[must_use]
pub fn interpret<'s>(
    flagged: impl Into<Kernel<'s>>,
    fixed: impl Into<Kernel<'s>>,
    trial: &Trial,
    maps: &[LaneMap],
) -> Vec<Interpreted> {
    let (flagged, fixed) = (flagged.into(), fixed.into());
    let inputs: Vec<Inputs> = trial.cases.iter().map(|case| trial.inputs(case)).collect();
    // Inputs for which there is no memory do not count as zeros.
    let is_whole = inputs.iter().all(|inputs| inputs.no_room.is_empty());
    let mut interpreted = Vec::new();
    for map in maps {
        for wave_size in common_wave_sizes(flagged, fixed) {
            let left = |kernel: Kernel<'_>, lowered: &Lowered| {
                is_whole.then(|| written(kernel, lowered, trial, &inputs, wave_size, *map))?
            };
            let outcome = match (left(flagged, &trial.flagged), left(fixed, &trial.fixed)) {
                (Some(expected), Some(got)) => compare(trial, &inputs, &expected, &got),
                _ => Interpretation::NotFollowed,
            };
            interpreted.push(Interpreted {
                wave_size,
                map: *map,
                outcome,
            });
        }
    }
    interpreted
}

/// How many elements of their buffers the kernels reach.
///
/// The interpreter runs the first and the last group of each case: in a buffer with a part for each group, these
/// reach its first and last elements. An element far beyond the threads comes from an input word used as an index,
/// and says nothing about the length.
#[must_use]
pub fn elements_reached<'s>(
    flagged: impl Into<Kernel<'s>>,
    fixed: impl Into<Kernel<'s>>,
    trial: &Trial,
) -> Reached {
    let (flagged, fixed) = (flagged.into(), fixed.into());
    let Some(size) = common_wave_sizes(flagged, fixed).next() else {
        return Reached::default();
    };
    let cases = || trial.cases.iter().filter(|case| !case.is_extra);
    let inputs: Vec<Inputs> = cases().map(|case| trial.inputs(case)).collect();
    let (reached, is_known) = (RefCell::new(BTreeMap::new()), Cell::new(true));
    for (Kernel { shader, entry }, kernel) in [(flagged, &trial.flagged), (fixed, &trial.fixed)] {
        let note = |(case, inputs): (&Case, &Inputs), (name, index, component): (&str, &[u32], u32)| {
            let binding = kernel.bindings.iter().find(|binding| binding.name == name);
            let is_array = |binding: &&Binding| binding.kind.is_array() && binding.dimensions.is_none();
            let Some(binding) = binding.filter(is_array) else {
                return;
            };
            let words = (binding.element.stride as usize / 4).max(1);
            let element = word_index(binding, inputs, index, component).map(|word| (word / words) as u64);
            let threads = threads(kernel, case.groups).max(1);
            match element.map(|element| element / threads + 1) {
                Some(parts) if parts <= AMPLE => {
                    let mut reached = reached.borrow_mut();
                    let most = reached.entry(name.to_owned()).or_insert(1);
                    *most = u32::try_from(parts).unwrap_or(1).max(*most);
                }
                _ => is_known.set(false),
            }
        };
        let is_unlike = Cell::new(false);
        let reading: Vec<_> = (cases().zip(&inputs))
            .map(|of| {
                let given = given(shader, kernel, trial, of.1, &is_unlike);
                move |name: &str, index: &[u32], component: u32| {
                    note(of, (name, index, component));
                    given(name, index, component)
                }
            })
            .collect();
        let all: Vec<_> = (cases().zip(&inputs).zip(&reading))
            .flat_map(|(of, given)| groups(of.0).map(move |group| (of, group, given)))
            .collect();
        let asked: Vec<_> = (all.iter())
            .map(|(_, group, given)| (*group, *given as &shaderlint_simt::Given<'_>))
            .collect();
        let left = evaluate(shader, entry, size, LaneMap::Linear, &asked).unwrap_or_default();
        is_known.set(is_known.get() && left.len() == all.len() && left.iter().all(Option::is_some));
        for ((of, ..), written) in all.iter().zip(left.iter().flatten()) {
            for (name, index, component) in written.words.keys() {
                note(*of, (name, index, *component));
            }
        }
    }
    Reached {
        is_complete: is_known.get(),
        elements: reached.into_inner(),
    }
}

/// The places to which threads or groups of a case write different words, as far as the interpreter follows the
/// kernel. The last writer decides, and it may be another one in the next run on the same device.
#[must_use]
pub fn contested<'s>(kernel: impl Into<Kernel<'s>>, trial: &Trial, case: &Case) -> BTreeSet<NamedCell> {
    let kernel = kernel.into();
    let Some(size) = kernel.wave_sizes().next() else {
        return BTreeSet::new();
    };
    let (inputs, is_unlike) = (trial.inputs(case), Cell::new(false));
    let given = given(kernel.shader, &trial.flagged, trial, &inputs, &is_unlike);
    let groups: Vec<_> = groups(case)
        .map(|group| (group, &given as &shaderlint_simt::Given<'_>))
        .collect();
    shaderlint_simt::contested(kernel.shader, kernel.entry, size, LaneMap::Linear, &groups)
}

/// By case, the words that each of its groups writes; `None` if the interpreter could not follow.
type Left = Vec<Option<Vec<Written>>>;

fn written(
    Kernel { shader, entry }: Kernel<'_>,
    lowered: &Lowered,
    trial: &Trial,
    inputs: &[Inputs],
    wave_size: u32,
    map: LaneMap,
) -> Option<Left> {
    let is_unlike = Cell::new(false);
    let inputs = inputs.iter();
    let given: Vec<_> = inputs
        .map(|inputs| given(shader, lowered, trial, inputs, &is_unlike))
        .collect();
    let (mut all, mut counts) = (Vec::new(), Vec::new());
    for (case, given) in trial.cases.iter().zip(&given) {
        let before = all.len();
        all.extend(groups(case).map(|group| (group, given as &shaderlint_simt::Given<'_>)));
        counts.push(all.len() - before);
    }
    let mut written = evaluate(shader, entry, wave_size, map, &all)?.into_iter();
    if is_unlike.get() {
        return None;
    }
    let of_case = |count| {
        // Takes all groups of the case, even after a failure: those of the next case follow.
        let groups: Vec<Option<Written>> = written.by_ref().take(count).collect();
        groups.into_iter().collect()
    };
    Some(counts.into_iter().map(of_case).collect())
}

/// The words that a kernel reads in a case. Sets `is_unlike` if one kernel reads something that the other does not,
/// or if a read has no known word here.
fn given<'a>(
    shader: &'a Shader,
    kernel: &'a Lowered,
    trial: &'a Trial,
    inputs: &'a Inputs,
    is_unlike: &'a Cell<bool>,
) -> impl Fn(&str, &[u32], u32) -> u32 + 'a {
    move |name: &str, index: &[u32], component: u32| {
        let is_array = kernel.bindings.iter().any(|binding| binding.name == name);
        if let Some(scalar) = texel(shader, name).filter(|_| !is_array) {
            // One kernel reads something that the other does not, or reads it in another way.
            is_unlike.set(is_unlike.get() || trial.flagged.replaced != trial.fixed.replaced);
            return hashed(name, index, component, scalar);
        }
        // Only reads of words are known here, not for example of a struct with halves at an address.
        let mut bindings = kernel.bindings.iter();
        let is_part =
            |binding: &Binding| binding.name == name && binding.dimensions.is_none() && index.len() != 1;
        if bindings.any(is_part) {
            is_unlike.set(true);
        }
        // Beyond the end HLSL reads 0.
        given_word(kernel, inputs, name, index, component).unwrap_or(0)
    }
}

/// The groups of a case that the interpreter runs. If a count does not divide the group, the last group contains its
/// end.
fn groups(case: &Case) -> impl Iterator<Item = [u32; 3]> {
    let [x, y, z] = case.groups.map(|count| {
        let most = count.min(GROUPS);
        (0..most).map(move |at| if at + 1 == most { count - 1 } else { at })
    });
    z.flat_map(move |z| {
        let x = x.clone();
        y.clone().flat_map(move |y| x.clone().map(move |x| [x, y, z]))
    })
}

/// Compares the words that all groups of a case write, whichever group writes an element. Only some groups of a large
/// dispatch run, so a word that they do not write may come from another group. An extra case that could not be
/// followed is skipped. Any other such case leaves the outcome open, unless another case shows a difference. Writes
/// outside of the inputs do not count ([`is_outside`]).
fn compare(trial: &Trial, inputs: &[Inputs], expected: &Left, got: &Left) -> Interpretation {
    let mut words = 0;
    let mut is_open = false;
    let cases = trial.cases.iter().zip(inputs);
    for (number, ((case, inputs), left)) in cases.zip(expected.iter().zip(got)).enumerate() {
        let (Some(expected), Some(got)) = left else {
            is_open |= !case.is_extra;
            continue;
        };
        let tolerance = trial.tolerance(inputs);
        let is_whole = case.groups.iter().all(|count| *count <= GROUPS);
        let is_inside = |place: &NamedCell| {
            let (name, index, component) = place;
            let mut bindings = trial.flagged.bindings.iter().chain(&trial.fixed.bindings);
            let binding = bindings.find(|binding| binding.name == *name);
            let is_fixed = case.inputs.lengths.contains_key(name);
            binding.is_none_or(|binding| !is_outside(binding, inputs, index, *component, is_fixed))
        };
        for (expected, got) in expected.iter().zip(got) {
            let written: BTreeSet<&NamedCell> = expected.words.keys().chain(got.words.keys()).collect();
            words += written.into_iter().filter(|place| is_inside(place)).count() as u64;
        }
        let mut places: BTreeMap<_, [BTreeSet<u32>; 2]> = BTreeMap::new();
        let rounded: BTreeSet<&NamedCell> = (expected.iter().chain(got))
            .flat_map(|group| &group.rounded)
            .collect();
        for (which, groups) in [expected, got].into_iter().enumerate() {
            for (place, word) in groups.iter().flat_map(|group| &group.words) {
                places.entry(place).or_default()[which].insert(*word);
            }
        }
        let mut largest: BTreeMap<&str, f32> = BTreeMap::new();
        for ((name, _, component), words) in &places {
            if scalar(&trial.flagged, name, *component) == Scalar::Float {
                let of_buffer = largest.entry(name).or_default();
                *of_buffer = of_buffer.max(largest_float(words.iter().flatten().copied()));
            }
        }
        for (place, [expected, got]) in places.into_iter().filter(|(place, _)| is_inside(place)) {
            let (name, index, component) = place;
            let scalar = scalar(&trial.flagged, name, *component);
            let tolerance = tolerance.within(largest.get(&**name).copied().unwrap_or(0.0));
            let alike = |a: &u32| got.iter().any(|b| equal(scalar, *a, *b, tolerance));
            if expected.iter().any(alike) {
                continue;
            }
            // A rounded word differs only as a float, and only by more than the tolerance.
            let is_near =
                rounded.contains(place) && (scalar != Scalar::Float || tolerance == Tolerance::Exact);
            if is_near || !is_whole && (expected.is_empty() || got.is_empty()) {
                is_open = true;
                continue;
            }
            let index: Vec<String> = index.iter().map(u32::to_string).collect();
            return Interpretation::Differs {
                case: number,
                place: format!("{name}[{}]", index.join("][")),
                component: *component,
                scalar,
                expected: expected.first().copied(),
                got: got.first().copied(),
            };
        }
    }
    if is_open {
        Interpretation::NotFollowed
    } else {
        Interpretation::Equal { words }
    }
}

/// Whether this index and component are outside of a resource, where writes have no effect in HLSL.
///
/// A texture ends at the size that the kernel reads, and a buffer at its fixed length. Any other buffer could have
/// been longer: it continues with zeros up to the maximum length of a buffer, for a host can see what a kernel writes
/// there. The interpreter follows no kernel that reads a length.
fn is_outside(binding: &Binding, inputs: &Inputs, index: &[u32], component: u32, is_fixed: bool) -> bool {
    if binding.dimensions.is_some() {
        return inputs.texel(binding, index).is_none();
    }
    let words = inputs
        .buffers
        .get(&binding.name)
        .map_or(0, |bytes| bytes.len() / 4);
    let is_within = |word| word < words || !is_fixed && index.iter().all(|index| *index < BUFFER_END);
    !word_index(binding, inputs, index, component).is_none_or(is_within)
}

/// The type of a texture's components.
fn texel(shader: &Shader, name: &str) -> Option<Scalar> {
    let global = shader.globals.iter().find(|global| global.name == name)?;
    match &global.ty {
        Type::Resource(ResourceKind::Texture, element) => Some(
            element
                .as_ref()
                .and_then(|ty| ty.scalar())
                .unwrap_or(Scalar::Float),
        ),
        _ => None,
    }
}

/// The word that a texture returns: a function of the place. A float is between 1 and 2.
fn hashed(name: &str, index: &[u32], component: u32, scalar: Scalar) -> u32 {
    let words = index.iter().chain([&component]);
    let seed = words.fold(1u64, |seed, word| {
        (seed ^ u64::from(*word))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29)
    });
    let bits = Random::new(seed, name).next();
    match scalar {
        Scalar::Float => 0x3f80_0000 | (bits >> 9),
        _ => bits >> 16,
    }
}

fn scalar(kernel: &Lowered, name: &str, component: u32) -> Scalar {
    let binding = kernel.bindings.iter().find(|binding| binding.name == name);
    let word = binding.and_then(|binding| binding.element.words.get(component as usize));
    word.map_or(Scalar::Uint, |word| word.scalar)
}

/// The word that a kernel reads there; `None` beyond the end, or if the kernel has no such binding.
#[must_use]
pub fn given_word(
    kernel: &Lowered,
    inputs: &Inputs,
    name: &str,
    index: &[u32],
    component: u32,
) -> Option<u32> {
    if let Some(words) = inputs.uniforms.get(name) {
        return words.get(component as usize).copied();
    }
    let binding = kernel.bindings.iter().find(|binding| binding.name == name)?;
    let start = word_index(binding, inputs, index, component)?.checked_mul(4)?;
    let bytes = inputs.buffers.get(name)?.get(start..start.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

/// The index of an element's component among a buffer's words.
#[must_use]
pub fn word_index(binding: &Binding, inputs: &Inputs, index: &[u32], component: u32) -> Option<usize> {
    let index = match (binding.dimensions, index) {
        (Some(_), coordinates) => inputs.texel(binding, coordinates)?,
        (None, [index]) => *index as usize,
        _ => return None,
    };
    let component = component as usize;
    if binding.is_by_address {
        return Some(index / 4 + component);
    }
    let offset = binding.element.words.get(component)?.offset as usize;
    Some(index * (binding.element.stride as usize / 4) + offset / 4)
}
