//! What a kernel's groups leave in their buffers for given inputs: the engine as an interpreter, to compare with devices.

use std::collections::BTreeMap;

use shaderlint_hlsl::{FunctionId, Shader};

use crate::equivalence::by_address;
use crate::machine::{BUDGET, Machine, Write};
use crate::terms::sample::{Given, Sample};
use crate::terms::{Symbol, Terms};
use crate::wave::{LaneMap, Waves, is_group};

/// By resource, index and component: the word left there.
pub type Written = BTreeMap<(String, Vec<u32>, u32), u32>;

/// By thread: the barriers passed, and the word it leaves then.
type OfThreads = BTreeMap<u16, (u32, u32)>;

/// Runs the first group of a kernel at a wave size. `given` is the word of a resource or uniform, by name, index and
/// component.
///
/// `None` where the run was not followed to its end, threads that no barrier orders leave unlike words in one place, or
/// something is not computed exactly here.
#[must_use]
pub fn evaluate(
    shader: &Shader,
    entry: FunctionId,
    wave_size: u32,
    map: LaneMap,
    given: &Given<'_>,
) -> Option<Written> {
    evaluate_groups(shader, entry, wave_size, map, &[([0; 3], given)])?.pop()?
}

/// Whether a kernel was seen to end at a wave size, and to stay within its arrays and without races, whatever it is given:
/// what was run holds for any inputs, and no loop was left out of it.
#[must_use]
pub fn ends(shader: &Shader, entry: FunctionId, wave_size: u32, map: LaneMap) -> bool {
    let function = shader.functions.get(entry.0 as usize);
    let Some(group) = function
        .and_then(|function| function.group_size)
        .filter(|group| is_group(*group))
    else {
        return false;
    };
    let mut terms = Terms::default();
    let waves = Waves::new(group, wave_size, map);
    let machine = Machine::new(shader, &mut terms, entry, waves, BUDGET);
    machine.is_some_and(|mut machine| is_followed(&mut machine))
}

/// Runs a kernel to its end.
fn is_followed(machine: &mut Machine<'_>) -> bool {
    let stopped = machine.run();
    let report = &machine.report;
    stopped.is_none()
        && machine.state.unended.is_empty()
        && !report.unproved
        && report.out_of_bounds.is_empty()
}

/// As [`evaluate`], of these groups, each by its `SV_GroupID` and with what it is given. The kernel is run once: what
/// threads do is a function of the group and the inputs. `None` for the groups for which it is not known what they leave, and
/// for all if that is so for any.
#[must_use]
pub fn evaluate_groups(
    shader: &Shader,
    entry: FunctionId,
    wave_size: u32,
    map: LaneMap,
    groups: &[([u32; 3], &Given<'_>)],
) -> Option<Vec<Option<Written>>> {
    let group = shader.functions.get(entry.0 as usize)?.group_size;
    let group = group.filter(|group| is_group(*group))?;
    let mut terms = Terms::default();
    let mut machine = Machine::new(
        shader,
        &mut terms,
        entry,
        Waves::new(group, wave_size, map),
        BUDGET,
    )?;
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
        // By place, what each thread leaves there, and after how many barriers.
        let mut places: BTreeMap<(Symbol, Vec<u32>, u32), OfThreads> = BTreeMap::new();
        for write in &writes {
            if sample.value(&write.guard) != 0 {
                let index = write.index.iter().map(|index| sample.value(index)).collect();
                let component = write.component.wrapping_add(sample.value(&write.part));
                let left = (write.ordered.interval, sample.value(&write.value));
                let place = places.entry((write.resource, index, component)).or_default();
                place.insert(write.thread, left);
            }
        }
        let mut written = Written::new();
        for ((resource, index, component), of_threads) in places {
            let latest = of_threads.values().map(|(interval, _)| *interval).max()?;
            let mut last = of_threads.values().filter(|(interval, _)| *interval == latest);
            let word = last.next()?.1;
            if last.any(|(_, other)| *other != word) {
                // Whichever thread comes last.
                return None;
            }
            written.insert((terms.name(resource).to_owned(), index, component), word);
        }
        (!sample.guessed).then_some(written)
    };
    Some(groups.iter().map(of_group).collect())
}
