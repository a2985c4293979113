//! What a kernel's first group leaves in its buffers for given inputs: the engine as an interpreter, to compare with
//! devices.

use std::collections::BTreeMap;

use shaderlint_hlsl::{FunctionId, Shader};

use crate::machine::{BUDGET, Machine};
use crate::sample::Sample;
use crate::terms::Terms;
use crate::wave::{LaneMap, Waves};

/// By resource, index and component: the word left there.
pub type Written = BTreeMap<(String, Vec<u32>, u32), u32>;

/// Runs the first group of a kernel at a wave size. `given` is the word of a resource or uniform, by name, index and
/// component.
///
/// `None` where the run was not followed to its end, or something is not computed exactly here.
#[must_use]
pub fn evaluate(
    shader: &Shader,
    entry: FunctionId,
    wave_size: u32,
    map: LaneMap,
    given: &dyn Fn(&str, &[u32], u32) -> u32,
) -> Option<Written> {
    let group = shader.functions.get(entry.0 as usize)?.group_size?;
    let mut terms = Terms::default();
    let mut machine = Machine::new(
        shader,
        &mut terms,
        entry,
        Waves::new(group, wave_size, map),
        BUDGET,
    )?;
    let stopped = machine.run();
    let report = &machine.report;
    if stopped.is_some() || report.unproved || !report.out_of_bounds.is_empty() {
        return None;
    }
    let writes = machine.state.writes.clone();
    let mut sample = Sample::new(&terms, 0);
    sample.given = Some(given);
    let mut written = Written::new();
    for write in writes.iter() {
        if terms.is_opaque(&write.value) || terms.is_opaque(&write.guard) {
            return None;
        }
        if sample.value(&write.guard) != 0 {
            let index = write.index.iter().map(|index| sample.value(index)).collect();
            let place = (terms.name(write.resource).to_owned(), index, write.component);
            let word = sample.value(&write.value);
            written.insert(place, word);
        }
    }
    (!sample.guessed).then_some(written)
}
