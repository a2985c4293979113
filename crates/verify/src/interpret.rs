//! Two kernels in the engine's interpreter, on the inputs that devices get: wave sizes that no device here has, and
//! no driver between.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use shaderlint_hlsl::{FunctionId, ResourceKind, Scalar, Shader, Type};
use shaderlint_simt::{BUFFER_END, LaneMap, Place, WAVE_SIZES, Written, ends, evaluate_groups};

use crate::run::{
    Case, Inputs, Random, Tolerance, Trial,
    compare::{equal, largest_float},
    inputs::{AMPLE, threads},
};
use crate::{Binding, Lowered};

/// Groups of each case that are interpreted.
const GROUPS: u32 = 2;

/// What the interpreter showed at one wave size under one lane map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpreted {
    pub wave_size: u32,
    pub map: LaneMap,
    pub outcome: Interpretation,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interpretation {
    /// As many words were written, and all alike.
    Equal { words: u64 },
    Differs {
        /// Which case of the trial.
        case: usize,
        /// For instance `Out[64]`, of which this is the word.
        place: String,
        component: u32,
        scalar: Scalar,
        /// Bit patterns; `None` where nothing is written.
        expected: Option<u32>,
        got: Option<u32>,
    },
    /// One of the kernels does what is not computed here.
    NotFollowed,
}

/// Whether both kernels were seen to end, within their arrays, whatever they are given, at every wave size that they allow.
#[must_use]
pub fn end(kernels: [(&Shader, FunctionId); 2]) -> bool {
    let sizes = WAVE_SIZES.into_iter();
    kernels.into_iter().all(|(shader, entry)| {
        let mut sizes = sizes.clone().filter(|size| allows((shader, entry), *size));
        sizes.all(|size| ends(shader, entry, size, LaneMap::Linear))
    })
}

/// Whether a kernel may be run in waves of this size.
fn allows((shader, entry): (&Shader, FunctionId), size: u32) -> bool {
    let function = shader.functions.get(entry.0 as usize);
    let allowed = function.and_then(|function| function.wave_size);
    allowed.is_none_or(|(least, most)| (least..=most).contains(&size))
}

/// Runs the first and the last group of each case of the trial through both kernels, at every wave size that both allow, under these
/// maps.
#[must_use]
pub fn interpret(
    flagged: (&Shader, FunctionId),
    fixed: (&Shader, FunctionId),
    trial: &Trial,
    maps: &[LaneMap],
) -> Vec<Interpreted> {
    let inputs: Vec<Inputs> = trial.cases.iter().map(|case| trial.inputs(case)).collect();
    // What there is no memory for is not read as zeros.
    let is_whole = inputs.iter().all(|inputs| inputs.no_room.is_empty());
    let mut interpreted = Vec::new();
    for map in maps {
        for wave_size in WAVE_SIZES {
            if !(allows(flagged, wave_size) && allows(fixed, wave_size)) {
                continue;
            }
            let left = |kernel: (&Shader, FunctionId), lowered: &Lowered| {
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

/// How many elements of each buffer the kernels reach for each thread of a dispatch, by name; and whether that is known of all.
///
/// The kernels are followed through the first and the last group of each case, which reach what comes first and last in a buffer
/// that is cut into a part for each group. An element that lies far beyond the threads is one that some input word points at:
/// no length follows from it.
#[must_use]
pub fn elements_reached(
    flagged: (&Shader, FunctionId),
    fixed: (&Shader, FunctionId),
    trial: &Trial,
) -> (BTreeMap<String, u32>, bool) {
    let Some(size) = (WAVE_SIZES.into_iter()).find(|size| allows(flagged, *size) && allows(fixed, *size))
    else {
        return (BTreeMap::new(), false);
    };
    let cases = || trial.cases.iter().filter(|case| !case.is_extra);
    let inputs: Vec<Inputs> = cases().map(|case| trial.inputs(case)).collect();
    let (reached, is_known) = (RefCell::new(BTreeMap::new()), Cell::new(true));
    for ((shader, entry), kernel) in [(flagged, &trial.flagged), (fixed, &trial.fixed)] {
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
        let left = evaluate_groups(shader, entry, size, LaneMap::Linear, &asked).unwrap_or_default();
        is_known.set(is_known.get() && left.len() == all.len() && left.iter().all(Option::is_some));
        for ((of, ..), written) in all.iter().zip(left.iter().flatten()) {
            for (name, index, component) in written.words.keys() {
                note(*of, (name, index, *component));
            }
        }
    }
    let is_known = is_known.get();
    (reached.into_inner(), is_known)
}

/// The places to which threads or groups of a case write unlike words, as far as the kernel is followed: whichever comes
/// last decides what is left there, on the same device in one run and another.
#[must_use]
pub fn contested(kernel: (&Shader, FunctionId), trial: &Trial, case: &Case) -> BTreeSet<Place> {
    let Some(size) = WAVE_SIZES.into_iter().find(|size| allows(kernel, *size)) else {
        return BTreeSet::new();
    };
    let (inputs, is_unlike) = (trial.inputs(case), Cell::new(false));
    let given = given(kernel.0, &trial.flagged, trial, &inputs, &is_unlike);
    let groups: Vec<_> = groups(case)
        .map(|group| (group, &given as &shaderlint_simt::Given<'_>))
        .collect();
    shaderlint_simt::contested(kernel.0, kernel.1, size, LaneMap::Linear, &groups)
}

/// By case, what each of its groups writes; `None` where that is not followed.
type Left = Vec<Option<Vec<Written>>>;

fn written(
    (shader, entry): (&Shader, FunctionId),
    kernel: &Lowered,
    trial: &Trial,
    inputs: &[Inputs],
    wave_size: u32,
    map: LaneMap,
) -> Option<Left> {
    let is_unlike = Cell::new(false);
    let inputs = inputs.iter();
    let given: Vec<_> = inputs
        .map(|inputs| given(shader, kernel, trial, inputs, &is_unlike))
        .collect();
    let (mut all, mut counts) = (Vec::new(), Vec::new());
    for (case, given) in trial.cases.iter().zip(&given) {
        let before = all.len();
        all.extend(groups(case).map(|group| (group, given as &shaderlint_simt::Given<'_>)));
        counts.push(all.len() - before);
    }
    let mut written = evaluate_groups(shader, entry, wave_size, map, &all)?.into_iter();
    if is_unlike.get() {
        return None;
    }
    let of_case = |count| {
        // All of them first: the groups of the next case come behind.
        let groups: Vec<Option<Written>> = written.by_ref().take(count).collect();
        groups.into_iter().collect()
    };
    Some(counts.into_iter().map(of_case).collect())
}

/// What a kernel reads in a case. `is_unlike` is set where one kernel reads what the other does not, or
/// what is not known here.
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
            // One kernel reads what the other does not, or the same in another way.
            is_unlike.set(is_unlike.get() || trial.flagged.replaced != trial.fixed.replaced);
            return hashed(name, index, component, scalar);
        }
        // What is no word of it is not worked out, such as a struct with halves at an address.
        let mut bindings = kernel.bindings.iter();
        let is_part =
            |binding: &Binding| binding.name == name && binding.dimensions.is_none() && index.len() != 1;
        if bindings.any(is_part) {
            is_unlike.set(true);
        }
        // Nothing is read beyond the end, as in HLSL.
        given_word(kernel, inputs, name, index, component).unwrap_or(0)
    }
}

/// The groups of a case that are run: the last one is where a count ends that does not divide the group.
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

/// Which group writes an element is no matter: what all groups write is compared. Not all of a large dispatch are run:
/// what is not written by those that are may be written by another. Of cases that are extra those that are not followed are
/// left out; of others not one may be, unless a difference was seen in another. Writes outside of what a kernel is given are none
/// ([`is_outside`]).
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
        let is_inside = |place: &Place| {
            let (name, index, component) = place;
            let mut bindings = trial.flagged.bindings.iter().chain(&trial.fixed.bindings);
            let binding = bindings.find(|binding| binding.name == *name);
            let is_fixed = case.inputs.lengths.contains_key(name);
            binding.is_none_or(|binding| !is_outside(binding, inputs, (index, *component), is_fixed))
        };
        for (expected, got) in expected.iter().zip(got) {
            let written: BTreeSet<&Place> = expected.words.keys().chain(got.words.keys()).collect();
            words += written.into_iter().filter(|place| is_inside(place)).count() as u64;
        }
        let mut places: BTreeMap<_, [BTreeSet<u32>; 2]> = BTreeMap::new();
        let rounded: BTreeSet<&Place> = (expected.iter().chain(got))
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
            // What is only near what the kernel makes differs only as a float, by more than that.
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

/// Whether what has this index and component lies outside of a resource, where nothing is written in HLSL.
///
/// A texture is as large as the kernel is told, a buffer as long as it is set to be. Any other buffer could have been longer:
/// it goes on with zeros, as far as any does, so that what is written there, and read as 0, is what a host can see. No kernel
/// that is followed asks for a length.
fn is_outside(binding: &Binding, inputs: &Inputs, (index, component): (&[u32], u32), is_fixed: bool) -> bool {
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

/// What a texture's components are.
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

/// What is read of a texture: some function of the place, floats from 1 to 2.
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

/// The word that a kernel reads there; `None` beyond the end, or where there is no such thing.
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

/// Where in a buffer's words a component of an element is.
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
