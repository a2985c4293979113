//! Replays the witnesses of races on numbers before they are reported.
//!
//! A symbolic run finds two accesses that conflict. The report then names numbers: threads, an element, loop
//! iterations, and barriers passed. So the group runs once more on inputs that make the accesses conflict.
//! There every value is a number, and the run records each access of the two threads at the two source
//! positions. The race is reported only if that run makes both accesses, in the named iterations and calls, on
//! the named element, after the same last barrier and with none between, and if two writes leave different
//! values.

use rustc_hash::FxHashMap;
use shaderlint_hlsl::{GlobalId, Span};

use crate::detect::Detectors;
use crate::exec::RunMode;
use crate::exec::assumptions::Assumptions;
use crate::exec::memory::{Action, Meeting, Touch};
use crate::exec::{BUDGET, MAX_WORK, Machine};
use crate::facts::kernel::Kernel;
use crate::finding::{Access, Race};
use crate::terms::Terms;
use crate::terms::sample::Inputs;
use crate::terms::value::Value;
use crate::waves::Waves;

/// The maximum number of inputs on which a kernel is replayed.
const MAX_REPLAYS: usize = 8;

/// The accesses to record.
pub(crate) struct Recorder {
    events: FxHashMap<AccessKey, Vec<Event>>,
}

/// An array, a source position and a thread.
type AccessKey = (GlobalId, Span, u16);

/// An access of one thread.
struct Event {
    cell: u32,
    touch: Touch,
    interval: u32,
    /// For a write: the old value and the new one.
    change: Option<[Value; 2]>,
}

impl Machine<'_, Detectors> {
    /// Records an access, if its place is one to record.
    pub fn record(&mut self, array: GlobalId, cell: u32, touch: Touch, change: Option<[Value; 2]>) {
        let (Some(recorder), Some(site)) = (&mut self.observer.recorder, self.sites.get(touch.site as usize))
        else {
            return;
        };
        if let Some(events) = recorder.events.get_mut(&(array, site.span, touch.thread)) {
            events.push(Event {
                cell,
                touch,
                interval: self.state.barriers.interval,
                change,
            });
        }
    }

    /// Whether this run makes both accesses as the race describes them.
    fn bears_out(&self, race: &Race) -> bool {
        let events = |access: &Access| {
            let recorder = self.observer.recorder.as_ref()?;
            recorder.events.get(&place(race, access))
        };
        let is_it = |event: &&Event, access: &Access| {
            let Some(site) = self.sites.get(event.touch.site as usize) else {
                return false;
            };
            self.element_of(race.array, event.cell) == race.index
                && event.change.is_some() == access.is_write
                && site.since.as_deref() == race.since.as_ref()
                && self.around(&site.position) == access.around
        };
        let of = |access| {
            events(access)
                .into_iter()
                .flatten()
                .filter(move |event| is_it(event, access))
        };
        let of_second: Vec<&Event> = of(&race.second).collect();
        of(&race.first).any(|first| of_second.iter().any(|second| self.clash(first, second)))
    }

    /// Whether the two accesses conflict: no barrier comes between them, and two writes store different values.
    /// The symbolic run has already checked that a write changes what the other access reads. Here random
    /// numbers could miss it: a flag that the host sets may matter for only a few of its values.
    fn clash(&self, first: &Event, second: &Event) -> bool {
        let meet = (first.cell, first.interval) == (second.cell, second.interval)
            && matches!(first.touch.meets(second.touch, &self.sites), Meeting::Certain);
        let are_atomic = first.touch.action == Action::Atomic && second.touch.action == Action::Atomic;
        let changes = match (&first.change, &second.change) {
            (Some([_, one]), Some([there, other])) => one != other || there != other,
            (Some(_), None) | (None, Some(_)) => true,
            (None, None) => false,
        };
        meet && !are_atomic && changes
    }
}

fn place(race: &Race, access: &Access) -> AccessKey {
    (race.array, access.span, access.thread as u16)
}

/// The races that a replay on numbers confirms. `terms` are the terms of the symbolic run, with its
/// assumptions.
pub(crate) fn borne_out(
    kernel: Kernel<'_>,
    terms: &mut Terms,
    waves: &Waves,
    assuming: Assumptions<'_>,
    races: Vec<Race>,
) -> Vec<Race> {
    let accesses = |race: &Race| [place(race, &race.first), place(race, &race.second)];
    let recorder = || Recorder {
        events: races
            .iter()
            .flat_map(accesses)
            .map(|place| (place, Vec::new()))
            .collect(),
    };
    let mut tried: Vec<Inputs> = Vec::new();
    let mut is_borne_out = vec![false; races.len()];
    for number in 0..races.len() {
        let inputs = &races[number].inputs;
        if is_borne_out[number] || tried.contains(inputs) || tried.len() >= MAX_REPLAYS {
            continue;
        }
        tried.push(inputs.clone());
        terms.take_inputs(inputs);
        let max_work = terms.work().saturating_add(MAX_WORK);
        let machine = assuming.to_the_full().new_machine::<Detectors>(
            kernel,
            terms,
            waves.clone(),
            RunMode::Replay,
            BUDGET,
        );
        if let Some(mut machine) = machine {
            machine.limits.max_work = max_work;
            machine.observer.recorder = Some(recorder());
            machine.run();
            for (race, is_borne_out) in races.iter().zip(&mut is_borne_out) {
                *is_borne_out = *is_borne_out || machine.bears_out(race);
            }
        }
        terms.leave_inputs();
    }
    let mut is_borne_out = is_borne_out.into_iter();
    let told = |_: &Race| is_borne_out.next().unwrap_or(false);
    races.into_iter().filter(told).collect()
}

#[cfg(test)]
mod tests {
    use super::borne_out;
    use crate::analyze::analyze;
    use crate::exec::assumptions::Assumptions;
    use crate::facts::kernel::Kernel;
    use crate::finding::{Around, Race};
    use crate::terms::Terms;
    use crate::waves::{LaneMap, Waves};

    /// A race whose read is in iteration 2 of a loop and whose write is in iteration 3.
    const KERNEL: &str = "RWStructuredBuffer<uint> Out; StructuredBuffer<uint> Src; groupshared uint g[64];\n\
        [numthreads(64, 1, 1)] void main(uint gi : SV_GroupIndex) { for (uint i = 0; i < 4; ++i) { if (i == 2) g[gi] = Src[gi];\n\
        GroupMemoryBarrierWithGroupSync(); if (i == 1) Out[gi] = g[63 - gi]; } }";

    #[test]
    fn what_is_told_otherwise_is_not_borne_out() {
        let (shader, _) = shaderlint_hlsl::parse(KERNEL.as_bytes().to_vec());
        let (entry, _) = shader.entry_points().next().expect("it has a kernel");
        let races = analyze(&shader, entry).races;
        let [race] = races.as_slice() else {
            panic!("{races:?}");
        };
        let is_borne_out = |change: &dyn Fn(&mut Race)| {
            let mut race = race.clone();
            change(&mut race);
            let waves = Waves::new([64, 1, 1], 4, LaneMap::Linear);
            let terms = &mut Terms::default();
            let kernel = Kernel::new(&shader, entry);
            let races = borne_out(kernel, terms, &waves, Assumptions::default(), vec![race]);
            !races.is_empty()
        };
        let later = |around: &mut Vec<Around>| {
            for around in around {
                if let Around::Loop { iteration, .. } = around {
                    iteration.number += 1;
                }
            }
        };
        assert!(is_borne_out(&|_| {}));
        assert!(!is_borne_out(&|race| race.index += 1));
        assert!(!is_borne_out(&|race| race.first.thread ^= 1));
        assert!(!is_borne_out(&|race| race.second.thread ^= 1));
        assert!(!is_borne_out(&|race| later(&mut race.first.around)));
        assert!(!is_borne_out(&|race| later(&mut race.second.around)));
        assert!(!is_borne_out(
            &|race| race.first.around = race.second.around.clone()
        ));
        assert!(!is_borne_out(&|race| race.since = None));
        assert!(!is_borne_out(&|race| later(
            &mut race.since.as_mut().expect("there is a barrier").around
        )));
        assert!(!is_borne_out(&|race| race.first.is_write ^= true));
        assert!(!is_borne_out(&|race| race.second.span = race.first.span));
    }
}
