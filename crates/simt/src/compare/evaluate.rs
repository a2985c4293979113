//! Interprets a kernel: what its groups leave in their buffers for given inputs, for comparison with devices.

use std::collections::{BTreeMap, BTreeSet};

use shaderlint_hlsl::{FunctionId, Shader};

use crate::compare::trace::by_address;
use crate::detect::Detectors;
use crate::exec::{BUDGET, Machine, RunMode, Write};
use crate::facts::kernel::Kernel;
use crate::terms::sample::{Given, Sample};
use crate::terms::{Symbol, Terms};
use crate::waves::{LaneMap, Waves};

/// A cell of a resource: the resource's name, the index and the component.
pub type NamedCell = (String, Vec<u32>, u32);

/// The words that a group leaves in its buffers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The final word of each place.
    pub words: BTreeMap<NamedCell, u32>,
    /// The places whose word derives from a float that the kernel may round differently. As a float it is near
    /// the kernel's; otherwise it carries no information.
    pub rounded: BTreeSet<NamedCell>,
}

/// By thread: the number of barriers before its last write, the word, and whether it is rounded
/// ([`Written::rounded`]).
type OfThreads = BTreeMap<u16, (u32, u32, bool)>;

/// Whether a kernel, for every input, ends at this wave size, stays within its arrays, and does not race. The
/// run must hold for any input, and contain no loop that is not proved to end.
#[must_use]
pub fn ends(shader: &Shader, entry: FunctionId, wave_size: u32, map: LaneMap) -> bool {
    let kernel = Kernel::new(shader, entry);
    let Some(group) = kernel.group() else {
        return false;
    };
    let mut terms = Terms::default();
    let waves = Waves::new(group, wave_size, map);
    let machine = Machine::<Detectors>::new(kernel, &mut terms, waves, RunMode::Plain, BUDGET);
    machine.is_some_and(|mut machine| is_followed(&mut machine))
}

/// Runs a kernel to its end.
fn is_followed(machine: &mut Machine<'_, Detectors>) -> bool {
    let stopped = machine.run();
    let report = &machine.report;
    stopped.is_none()
        && machine.state.loops.unended.is_empty()
        && !report.unproved
        && report.open_name.is_none()
        && report.out_of_bounds.is_empty()
}

/// What groups of a kernel leave at a wave size, each group given by its `SV_GroupID` and its inputs: the word of a
/// resource or uniform, by name, index and component. The kernel runs once: what threads do is a function of the group
/// and the inputs.
///
/// A group is `None` if its results are unknown: if threads that no barrier orders leave different words in one place,
/// or if some value cannot be computed exactly here. The whole result is `None` if the run was not followed to its end.
#[must_use]
pub fn evaluate(
    shader: &Shader,
    entry: FunctionId,
    wave_size: u32,
    map: LaneMap,
    groups: &[([u32; 3], &Given<'_>)],
) -> Option<Vec<Option<Written>>> {
    let of_group = |words: Option<Words>| -> Option<Written> {
        let mut written = Written::default();
        for (place, words) in words? {
            if words.iter().any(|(_, is_rounded)| *is_rounded) {
                written.rounded.insert(place.clone());
            }
            written.words.insert(place, one_of(&words)?);
        }
        Some(written)
    };
    let left = words_of_groups(shader, entry, wave_size, map, groups)?;
    Some(left.into_iter().map(of_group).collect())
}

/// The places where threads of these groups that no barrier orders leave different words, so the last one
/// decides. Groups with unknown results contribute none.
#[must_use]
pub fn contested(
    shader: &Shader,
    entry: FunctionId,
    wave_size: u32,
    map: LaneMap,
    groups: &[([u32; 3], &Given<'_>)],
) -> BTreeSet<NamedCell> {
    let left = words_of_groups(shader, entry, wave_size, map, groups);
    let mut all = Words::new();
    for (place, words) in left.into_iter().flatten().flatten().flatten() {
        all.entry(place).or_default().extend(words);
    }
    all.retain(|_, words| one_of(words).is_none());
    all.into_keys().collect()
}

/// The word, if all are the same.
fn one_of(words: &BTreeSet<(u32, bool)>) -> Option<u32> {
    let (first, _) = words.first()?;
    words.iter().all(|(word, _)| word == first).then_some(*first)
}

/// By place: the words that may remain there, written by threads after the most barriers, each with whether it
/// is rounded.
type Words = BTreeMap<NamedCell, BTreeSet<(u32, bool)>>;

fn words_of_groups(
    shader: &Shader,
    entry: FunctionId,
    wave_size: u32,
    map: LaneMap,
    groups: &[([u32; 3], &Given<'_>)],
) -> Option<Vec<Option<Words>>> {
    let kernel = Kernel::new(shader, entry);
    let group = kernel.group()?;
    let mut terms = Terms::default();
    terms.note_derivations();
    let waves = Waves::new(group, wave_size, map);
    let mut machine = Machine::<Detectors>::new(kernel, &mut terms, waves, RunMode::Plain, BUDGET)?;
    if !is_followed(&mut machine) {
        return None;
    }
    let mut writes = machine.state.writes.to_vec();
    by_address(shader, &mut terms, &mut writes);
    let is_opaque = |write: &Write| terms.is_opaque(&write.value) || terms.is_opaque(&write.guard);
    if writes.iter().any(is_opaque) {
        return None;
    }
    let of_group = |(group, given): &([u32; 3], &Given<'_>)| {
        let mut sample = Sample::new(&terms, 0);
        sample.given = Some(*given);
        sample.group = *group;
        // By place: the word that each thread leaves, and after how many barriers.
        let mut places: BTreeMap<(Symbol, Vec<u32>, u32), OfThreads> = BTreeMap::new();
        for write in &writes {
            if sample.value(&write.guard) != 0 {
                let index = write.index.iter().map(|index| sample.value(index)).collect();
                let component = write.component.wrapping_add(sample.value(&write.part));
                // Neither the place nor the condition of a write may depend on a float that only approximates
                // the kernel's.
                sample.guessed |= std::mem::take(&mut sample.error) > 0.0;
                let word = sample.value(&write.value);
                let left = (
                    write.ordered.interval,
                    word,
                    std::mem::take(&mut sample.error) > 0.0,
                );
                let place = places.entry((write.resource, index, component)).or_default();
                place.insert(write.thread, left);
            }
        }
        let mut words = Words::new();
        for ((resource, index, component), of_threads) in places {
            let latest = of_threads.values().map(|(interval, ..)| *interval).max();
            let last = of_threads
                .values()
                .filter(|(interval, ..)| Some(*interval) == latest);
            let place = (terms.name(resource).to_owned(), index, component);
            words.insert(
                place,
                last.map(|(_, word, is_rounded)| (*word, *is_rounded)).collect(),
            );
        }
        (!sample.guessed).then_some(words)
    };
    Some(groups.iter().map(of_group).collect())
}
