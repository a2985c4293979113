//! Contended atomics: those that many threads of a wave make on one address, or on few.

pub(crate) mod address_cardinality;
pub(crate) mod aggregation;
pub(crate) mod chunked_claims;
pub(crate) mod contention;
pub(crate) mod served;
pub(crate) mod service_order;

use crate::detect::Detectors;
use crate::exec::{BUDGET, Machine, RunMode};
use crate::facts::kernel::Kernel;
use crate::finding::{ContendedAtomic, Meanwhile, Stop};
use crate::terms::Terms;
use crate::waves::{LaneMap, Waves};

/// The contended atomics of an entry point, and where the run stopped early, unless chunked runs covered the
/// rest. Code with wave intrinsics must have a claim at every wave size: a leader of a wave of 4 leads any
/// wave.
pub(crate) fn contended(kernel: Kernel<'_>) -> (Vec<ContendedAtomic>, Option<Stop>) {
    let mut claims: Vec<ContendedAtomic> = Vec::new();
    let mut early = None;
    let mut budget = BUDGET;
    let mut terms = Terms::default();
    let Some(group) = kernel.group() else {
        return (claims, early);
    };
    for (number, wave_size) in kernel.wave_sizes().enumerate() {
        terms.clear();
        let waves = Waves::new(group, wave_size, LaneMap::Linear);
        let Some(mut machine) =
            Machine::<Detectors>::new(kernel, &mut terms, waves, RunMode::Atomics, budget)
        else {
            return (claims, early);
        };
        machine.observer = Detectors::of_atomics();
        let stopped = machine.run();
        // The step budget may also end an iteration that stands for any iteration, without a stop.
        let stopped = stopped.or_else(|| {
            let span = machine.is_exhausted().then_some(machine.function()?.name_span)?;
            Some(Stop::ran_out(span))
        });
        budget = machine.limits.budget;
        let uses_waves = machine.report.used_waves;
        let seen = machine.observer.contention.take().unwrap_or_default();
        let seen = seen.finish(kernel, &machine.approximation, stopped.is_none());
        if number == 0 {
            claims = seen;
            early = stopped;
            if let Some(found) = early.as_ref().and_then(|_| chunked_claims::claims(kernel)) {
                // Chunked runs find only addresses that are known numbers, so the other claims stay.
                claims.retain(|claim| found.iter().all(|other| other.span != claim.span));
                claims.extend(found);
                claims.sort_by_key(|claim| claim.span);
                early = None;
            }
        } else {
            let same = |a: &ContendedAtomic, b: &ContendedAtomic| {
                (a.function, a.span, a.cells, a.old_value) == (b.function, b.span, b.cells, b.old_value)
            };
            claims.retain_mut(|claim| {
                let Some(other) = seen.iter().find(|other| same(claim, other)) else {
                    return false;
                };
                if let Err(why) = other.parts {
                    claim.parts = Err(why);
                }
                // Which threads reach the atomic may depend on the wave size.
                claim.is_certain &= other.is_certain && claim.lanes == other.lanes;
                claim.has_known_cell &= other.has_known_cell;
                if claim.meanwhile == Meanwhile::Atomics {
                    claim.meanwhile = other.meanwhile;
                }
                claim.lanes = claim.lanes.max(other.lanes);
                true
            });
        }
        if !uses_waves || claims.is_empty() {
            break;
        }
    }
    (claims, early)
}
