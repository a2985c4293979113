//! A run for claims of one part of the group after another, where that of all of it takes too long at once.
//!
//! Without groupshared memory, barriers and wave intrinsics, a thread learns of the others by what it finds in device
//! memory alone, and that is open in every run. So a thread does in the run of a part what it does in that of the whole,
//! and what is shown of the threads of each part is shown of all. Only what is compared between parts needs more: their
//! terms are none of each other's, so an address is the same in all of them if it is the same known number, and an
//! amount likewise.

use crate::detect::Detectors;
use crate::detect::atomics::contention::Claims;
use crate::exec::over_approximation::Approximation;
use crate::exec::{BUDGET, MAX_WORK, Machine};
use crate::facts::effects::{Effects, EffectsCache};
use crate::facts::kernel::{Kernel, WAVE_SIZES};
use crate::finding::Claim;
use crate::terms::Terms;
use crate::terms::column::Mask;
use crate::waves::{LaneMap, Waves};

/// Threads of a part: whole waves of any size but the largest, of which no more is asked than of others.
const PART: usize = 64;
/// Atoms that all parts together may make.
const ALL_WORK: usize = MAX_WORK * 4;

/// The claims of an entry point, if every part runs to its end.
pub(crate) fn claims(kernel: Kernel<'_>) -> Option<Vec<Claim>> {
    let effects = EffectsCache::default().of_function(kernel.shader, kernel.entry);
    let group = kernel.group()?;
    let lanes = group.iter().product::<u32>() as usize;
    let parts = lanes.div_ceil(PART);
    if parts < 2 || !are_apart(&effects) {
        return None;
    }
    let mut terms = Terms::default();
    let mut claims = Claims::in_parts();
    let mut approximation = Approximation::default();
    for part in 0..parts {
        terms.clear();
        let waves = Waves::new(group, WAVE_SIZES[0], LaneMap::Linear);
        let mut machine = Machine::<Detectors>::new(kernel, &mut terms, waves, BUDGET)?;
        let threads = Mask::first(((part + 1) * PART).min(lanes)).without(Mask::first(part * PART));
        machine.state.active = threads;
        machine.state.alive = threads;
        machine.limits.max_work = ALL_WORK / parts;
        machine.look_for_claims();
        machine.observer.claims = Some(claims);
        machine.approximation = approximation;
        if machine.run().is_some() || machine.is_exhausted() {
            return None;
        }
        claims = machine.observer.claims.take()?;
        claims.end_part();
        approximation = std::mem::take(&mut machine.approximation);
    }
    Some(claims.finish(kernel, &approximation, true))
}

/// Whether no thread sees what others do.
fn are_apart(effects: &Effects) -> bool {
    !effects.touches_shared() && !effects.barrier && !effects.wave && !effects.opaque
}
