//! Accesses to memory that threads share: where they are in the text, and where two of them meet.

use std::num::NonZeroU32;

use shaderlint_hlsl::{GlobalId, Span, Type};

use crate::exec::Machine;
use crate::exec::Observer;
use crate::exec::host::Within;
use crate::exec::memory::{Action, Conflict, Meeting, Site, Touch};
use crate::finding::{Access, Race, Under};
use crate::terms::column::{Column, Mask};
use crate::terms::sample::Inputs;
use crate::terms::value::{Op, Value};

/// How often the accesses at two places are checked for a race.
const MAX_ASKED: u32 = 64;

/// The condition under which two accesses happen.
#[derive(Default)]
struct Condition {
    guard: Option<Value>,
    /// The condition that the report names: the innermost in the text.
    said: Option<Under>,
    /// What the host is assumed to set.
    within: Within,
}

impl<O: Observer> Machine<'_, O> {
    /// A new site for an access at `span`, in the current iteration of the innermost loop.
    pub fn site(&mut self, span: Span) -> u32 {
        let shared_guard = self.shared_guard();
        self.sites.push(Site {
            span,
            position: self.position(),
            is_uncertain: self.state.convergence.is_uncertain(),
            shared_guard,
            since: self.state.barriers.since.clone(),
            fences: u32::try_from(self.state.barriers.passed.len()).unwrap_or(u32::MAX),
            epoch: self.state.barriers.epoch,
            waited: self.state.barriers.waited.and(self.state.active) != Mask::EMPTY,
            exchanges: self.state.barriers.exchanges,
            guard: self.state.guard.clone(),
            condition: self.unknown_condition(),
        });
        (self.sites.len() - 1) as u32
    }

    /// The memory barriers that the run passed between two sites.
    fn fences_between(&self, first: u32, second: u32) -> Vec<Span> {
        let passed = |site: u32| Some(self.sites.get(site as usize)?.fences as usize);
        let between = passed(first).zip(passed(second));
        let between = between.and_then(|(first, second)| self.state.barriers.passed.get(first..second));
        let mut fences = between.unwrap_or_default().to_vec();
        fences.sort_unstable();
        fences.dedup();
        fences
    }

    /// A number for the guard that all active threads share. A guard that may hold for no input has none, unless the
    /// inputs of the run are numbers.
    fn shared_guard(&mut self) -> Option<NonZeroU32> {
        let is_of_numbers = self.mode.is_on_numbers();
        match self.state.guard.uniform(self.state.active)?.clone() {
            Value::Known(_) => NonZeroU32::new(u32::MAX),
            guard if !is_of_numbers && !self.terms.is_chosen_by_inputs(&guard) => None,
            guard => match self.terms.apply(Op::Same, &[guard]) {
                Value::Run { start, .. } => NonZeroU32::new(start + 1),
                _ => None,
            },
        }
    }

    /// The access at `site`, to groupshared memory or to resources, for all threads ([`Touch::by`]).
    pub fn touch(&mut self, site: u32, on_device: bool) -> Touch {
        // A barrier that only some inputs reach orders nothing for the others.
        let state = &self.state;
        let at_barrier = if on_device {
            &state.barriers.device_guard
        } else {
            &state.barriers.guard
        };
        if !self.leads_here(at_barrier) {
            self.report.unproved = true;
            self.leave_unsettled(site, site);
            let barrier = self.state.barriers.since.as_deref().filter(|_| !on_device);
            let known = self.noticed.conditional_barrier;
            self.noticed.conditional_barrier = known.or(barrier.map(|barrier| barrier.span));
        }
        Touch {
            site,
            thread: 0,
            is_unconditional: matches!(&self.state.guard, Column::Uniform(guard) if self.is_known_to_hold(guard)),
            action: Action::Plain,
        }
    }

    /// Whether this condition, the same for all threads, holds for all inputs that lead any thread here. An example
    /// is the guard of an earlier barrier.
    pub fn leads_here(&self, condition: &Value) -> bool {
        let (guard, active) = (&self.state.guard, self.state.active);
        let needs = |guard: &Value| self.terms.needs(guard, condition);
        self.is_known_to_hold(condition)
            || match guard.uniform(active) {
                Some(guard) => needs(guard),
                None => active.threads().all(|thread| needs(guard.at(thread))),
            }
    }

    /// The element of an array that a cell belongs to. In arrays of arrays, elements are numbered consecutively.
    pub fn element_of(&self, array: GlobalId, cell: u32) -> u32 {
        cell / self.cells_of_element(array)
    }

    /// How many cells an element has; at least one. The elements of an array of arrays are those of the innermost ones.
    pub fn cells_of_element(&self, array: GlobalId) -> u32 {
        let global = self.shader.globals.get(array.0 as usize);
        let mut element = global.map(|global| &global.ty);
        while let Some(Type::Array(inner, _)) = element {
            element = Some(inner);
        }
        element.map_or(1, |element| self.shader.components(element).max(1)) as u32
    }

    /// The innermost condition around that is not known for all threads that take part.
    fn unknown_condition(&self) -> Option<(Span, bool)> {
        let mut partings = self.paths.partings.iter().rev();
        let unknown = partings.find(|parting| !parting.perhaps.is_empty())?;
        Some((unknown.span, unknown.holds))
    }

    /// Whether one thread read before it handed its wave a value, and the other wrote after that. The value written
    /// may depend on the value read, in which case there is no race; nothing is proved either way.
    fn is_ordered_by_wave(&self, conflict: &Conflict) -> bool {
        let Conflict { first, second, .. } = *conflict;
        let exchanges = |touch: Touch| Some(self.sites.get(touch.site as usize)?.exchanges);
        let wave = |touch: Touch| Some(self.waves.place.get(usize::from(touch.thread))?.0);
        !conflict.first_writes && wave(first) == wave(second) && exchanges(first) < exchanges(second)
    }

    /// Handles two threads that meet on a cell: reports a race where both accesses are certain, and otherwise only
    /// drops the proof.
    ///
    /// The values are what a write leaves and what it found there. They are compared only where the comparison
    /// decides, and only a limited number of times per pair of places: values that were not seen to differ are not
    /// compared each time.
    pub fn conflict(&mut self, array: GlobalId, conflict: Conflict, values: Option<&[Value; 2]>) {
        self.report.unproved = true;
        self.forget_reads(array, Some(conflict.cell));
        let Conflict { first, second, .. } = conflict;
        self.leave_unsettled(first.site, second.site);
        self.note_unordered(array, &conflict);
        if conflict.may_be_none || self.observer.is_trying() || self.is_ordered_by_wave(&conflict) {
            return;
        }
        let conditional = match first.meets(second, &self.sites) {
            Meeting::Certain => Vec::new(),
            Meeting::If(touch) => vec![touch],
            Meeting::IfBoth => vec![first, second],
            Meeting::Uncertain => return,
        };
        let access = |touch: Touch, is_write| {
            let span = self
                .sites
                .get(touch.site as usize)
                .map(|site| site.span)
                .unwrap_or_default();
            Access {
                thread: u32::from(touch.thread),
                is_write,
                span,
                around: Vec::new(),
            }
        };
        let mut first_access = access(first, conflict.first_writes);
        let mut second_access = access(second, conflict.second_writes);
        let places = (array, first_access.span, second_access.span);
        if (values.is_some() || !conditional.is_empty()) && !self.may_ask(places) {
            return;
        }
        let Some(condition) = self.condition_of(&conditional) else {
            return;
        };
        let Some(seed) = self.seed_of_race(&condition, values, conflict.first_writes) else {
            return;
        };
        if self.report.race_places.insert(places) {
            let around = |machine: &Self, touch: Touch| {
                let site = machine.sites.get(touch.site as usize);
                site.map_or_else(Vec::new, |site| machine.around(&site.position))
            };
            first_access.around = around(self, first);
            second_access.around = around(self, second);
            let mut given = condition.within.atoms;
            if condition.guard.is_none() {
                // That all threads have stayed is no condition of either access.
                given.extend(self.state.convergence.inputs().iter().copied());
            }
            let race = Race {
                array,
                index: self.element_of(array, conflict.cell),
                first: first_access,
                second: second_access,
                interval: self.state.barriers.interval,
                since: self.state.barriers.since.as_deref().cloned(),
                fences: self.fences_between(first.site, second.site),
                condition: condition.said,
                given: condition.within.said,
                data_dependent: conflict.data_dependent.map(|(thread, _)| u32::from(thread)),
                wave_size: None,
                is_met_otherwise: false,
                inputs: Inputs {
                    seed: conflict.data_dependent.map_or(seed, |(_, seed)| seed),
                    given,
                },
            };
            self.report.races.push(race);
        }
    }

    /// Records the places of two accesses that no barrier is known to order.
    pub fn leave_unsettled(&mut self, first: u32, second: u32) {
        let place = |site: u32| self.sites.get(site as usize).map(|site| site.span);
        if let (Some(first), Some(second)) = (place(first), place(second)) {
            self.report
                .unsettled
                .insert((first.min(second), first.max(second)));
        }
    }

    /// Records the place of the access that reads, if exactly one does.
    fn note_unordered(&mut self, array: GlobalId, conflict: &Conflict) {
        let reader = match (conflict.first_writes, conflict.second_writes) {
            (true, false) => conflict.second,
            (false, true) => conflict.first,
            _ => return,
        };
        if reader.action == Action::Plain
            && let Some(site) = self.sites.get(reader.site as usize)
        {
            let of_groups = self.state.barriers.interval;
            self.noticed.unordered.insert((array, site.span, of_groups));
        }
    }

    /// The condition under which these accesses happen, at most one for each of two threads. `None` if one of the
    /// conditions is not known, or if nothing shows that both can hold at once.
    fn condition_of(&mut self, conditional: &[Touch]) -> Option<Condition> {
        let said = |condition: Option<(Span, bool)>, touch: &Touch| {
            let (condition, holds) = condition?;
            Some(Under {
                condition,
                holds,
                thread: u32::from(touch.thread),
            })
        };
        match conditional {
            [] => Some(Condition::default()),
            [touch] => {
                let (guard, span) = self.guard_of(*touch)?;
                Some(Condition {
                    guard: Some(guard),
                    said: Some(said(span, touch)?),
                    within: Within::default(),
                })
            }
            [one, other, ..] => {
                let (guard, span) = self.guard_of(*one)?;
                let (guard_of_other, span_of_other) = self.guard_of(*other)?;
                // One guard may say that all threads are within bounds, and the other guard that and more.
                let (within, said) = if let Some(within) = self.within_bounds(&[&guard, &guard_of_other]) {
                    (within, None)
                } else if let Some(within) = self.within_bounds_of(&guard, &guard_of_other) {
                    (within, Some(said(span_of_other, other)?))
                } else {
                    let within = self.within_bounds_of(&guard_of_other, &guard)?;
                    (within, Some(said(span, one)?))
                };
                let guard = self.terms.and(&guard, &guard_of_other);
                Some(Condition {
                    within: self.in_a_group(within, &guard),
                    guard: Some(guard),
                    said,
                })
            }
        }
    }

    /// The seed of inputs for which the condition holds and the two accesses race. A write of the value that is
    /// already there changes nothing for any thread, and two writes of values that are not understood may write one
    /// value.
    fn seed_of_race(
        &self,
        condition: &Condition,
        values: Option<&[Value; 2]>,
        are_both_writes: bool,
    ) -> Option<u64> {
        let (guard, given) = (condition.guard.as_ref(), &condition.within.atoms);
        match (values, guard) {
            (Some([new, old]), _) => self
                .terms
                .seed_of_difference([new, old], are_both_writes, guard, given),
            (None, Some(guard)) => self.terms.seed_that_holds(guard, given),
            (None, None) => Some(1),
        }
    }

    /// Whether the run may still check accesses at these two places for a race: each check takes time.
    fn may_ask(&mut self, places: (GlobalId, Span, Span)) -> bool {
        let asked = self.report.asked.entry(places).or_default();
        let is_answered = *asked >= MAX_ASKED || self.report.race_places.contains(&places);
        *asked += 1;
        !(is_answered || self.is_exhausted())
    }

    /// The condition under which an access happens, and the innermost unknown condition in the text.
    fn guard_of(&self, touch: Touch) -> Option<(Value, Option<(Span, bool)>)> {
        let site = self.sites.get(touch.site as usize)?;
        Some((site.guard.at(usize::from(touch.thread)).clone(), site.condition))
    }
}
