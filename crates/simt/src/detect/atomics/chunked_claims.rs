//! Runs the threads of a large group in chunks, where one run of the whole group takes too long.
//!
//! Without groupshared memory, barriers and wave intrinsics, a thread learns about others only through device
//! memory, whose contents are unknown in every run. So a thread does the same in the run of its chunk as in the
//! run of the whole group, and what is proved for the threads of each chunk holds for all. Only comparisons
//! between chunks need more. The chunks do not share terms, so an address counts as the same in all chunks only
//! if it is the same known number, and so does an amount.

use crate::detect::Detectors;
use crate::detect::atomics::contention::Contention;
use crate::exec::over_approximation::Approximation;
use crate::exec::{BUDGET, MAX_WORK, Machine, RunMode};
use crate::facts::effects::{Effects, EffectsCache};
use crate::facts::kernel::{Kernel, WAVE_SIZES};
use crate::finding::ContendedAtomic;
use crate::terms::Terms;
use crate::terms::column::Mask;
use crate::waves::{LaneMap, Waves};

/// The number of threads in a chunk: whole waves of every size but the largest, which adds no requirements.
const PART: usize = 64;
/// The maximum number of atoms of all chunks together.
const ALL_WORK: usize = MAX_WORK * 4;

/// The contended atomics of an entry point, if every chunk runs to its end.
pub(crate) fn claims(kernel: Kernel<'_>) -> Option<Vec<ContendedAtomic>> {
    let effects = EffectsCache::default().of_function(kernel.shader, kernel.entry);
    let group = kernel.group()?;
    let lanes = group.iter().product::<u32>() as usize;
    let parts = lanes.div_ceil(PART);
    if parts < 2 || !are_apart(&effects) {
        return None;
    }
    let mut terms = Terms::default();
    let mut claims = Contention::in_parts();
    let mut approximation = Approximation::default();
    for part in 0..parts {
        terms.clear();
        let waves = Waves::new(group, WAVE_SIZES[0], LaneMap::Linear);
        let mut machine = Machine::<Detectors>::new(kernel, &mut terms, waves, RunMode::Atomics, BUDGET)?;
        let threads = Mask::first(((part + 1) * PART).min(lanes)).without(Mask::first(part * PART));
        machine.state.active = threads;
        machine.state.alive = threads;
        machine.limits.max_work = ALL_WORK / parts;
        machine.observer.contention = Some(claims);
        machine.approximation = approximation;
        if machine.run().is_some() || machine.is_exhausted() {
            return None;
        }
        claims = machine.observer.contention.take()?;
        claims.end_part();
        approximation = std::mem::take(&mut machine.approximation);
    }
    Some(claims.finish(kernel, &approximation, true))
}

/// Whether threads cannot see each other's actions.
fn are_apart(effects: &Effects) -> bool {
    !effects.touches_shared() && !effects.barrier && !effects.wave && !effects.opaque
}
