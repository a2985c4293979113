//! Tracks how the kernel uses what a construct leaves: its result and its partial results.
//!
//! A result that reaches no output is no reason to compute it another way. For example, a total is overwritten
//! unread while a down-sweep goes on from the partial results, or a scan ends in one half of a double buffer
//! while the kernel returns the other half. Partial results mostly serve the total alone. If they serve more,
//! such as each level of a pyramid or the start of a down-sweep, the total is part of something larger that a
//! plain sum cannot replace.
//!
//! So the kernel runs once more, and at the end of each construct the run replaces what the construct leaves by
//! marked values, which stand for anything: one mark for the result, one for the partial results. A term keeps
//! the marks of everything that it depends on ([`crate::terms::taint::Taint::marks`]), and so does the guard
//! of an action under a condition. A mark in an *output* shows that the marked value is used. Outputs are: what
//! is stored in a resource, where, and under which condition; what an entry point returns; and everything that
//! code receives which the run does not follow.
//!
//! Used partial results withdraw a reduction; an unused result withdraws any construct. Both over-approximate
//! uses: values that a run forgets, such as those of a racing read, count as used results
//! ([`Machine::note_forgotten`]).
//!
//! This withdraws findings and never makes one. If the run stops early, partial results without a use so far
//! count as unused, although they may be used later; a result that something still holds counts as used.

use std::cell::Cell;

use shaderlint_hlsl::{Direction, Function, FunctionId, GlobalId, Span, Stmt, Type};

use crate::detect::Detectors;
use crate::exec::assumptions::Assumptions;
use crate::exec::loop_bounds::AssumedBounds;
use crate::exec::{Machine, RunMode, Write};
use crate::facts::kernel::{Kernel, WAVE_SIZES};
use crate::finding::leftovers::{LeftoverPlaces, Leftovers};
use crate::finding::{Collective, Kind};
use crate::terms::Terms;
use crate::terms::column::Column;
use crate::terms::source::Mark;
use crate::terms::value::{Op, Value};
use crate::waves::{LaneMap, Waves};

/// The number of different marks.
const MAX_MARKS: usize = 64;

/// What a run marks, and which marks were used.
#[derive(Default)]
pub(crate) struct Marking {
    marked: Vec<Marked>,
    /// The marks of results, one bit each.
    results: u64,
    /// The marks that the run has placed, one bit each.
    placed: u64,
    /// The marks that something depends on, one bit each.
    used: Cell<u64>,
}

#[derive(Clone)]
struct Marked {
    function: FunctionId,
    last: Span,
    places: LeftoverPlaces,
    mark: Mark,
}

impl Marking {
    pub fn is_empty(&self) -> bool {
        self.marked.is_empty()
    }

    /// Marks what the collective leaves. Returns the mark of its partial results, together with the other
    /// contents of these arrays, and the mark of its result.
    fn add(&mut self, found: &Collective, elements: Vec<(GlobalId, u32)>) -> [Option<Mark>; 2] {
        let Leftovers { last, parts, result } = &found.leftovers;
        let mut parts = parts.clone();
        parts.cells.extend(elements);
        let marks = [parts, result.clone()].map(|places| {
            let mark = Some(Mark::new(self.marked.len())).filter(|_| !places.is_empty())?;
            self.marked.push(Marked {
                function: found.function,
                last: *last,
                places,
                mark,
            });
            Some(mark)
        });
        self.results |= marks[1].map_or(0, Mark::bit);
        marks
    }
}

/// Removes the collectives whose results reach no output, and the reductions whose partial results are used. A
/// collective found with assumed loop bounds is reported with these bounds.
pub(crate) fn withdraw_unused(
    kernel: Kernel<'_>,
    terms: &mut Terms,
    assuming: Assumptions<'_>,
    assumed: Option<AssumedBounds<'_>>,
    collectives: &mut Vec<Collective>,
    budget: &mut u64,
) {
    let (Some(function), Some(group)) = (kernel.function(), kernel.group()) else {
        return;
    };
    let mut marking = Marking::default();
    let mut marks: Vec<[Option<Mark>; 2]> = Vec::new();
    for found in collectives.iter() {
        // Only a run with the same assumed bounds can check what was found with them.
        let is_of_others = assumed.is_none() && !found.instances.is_empty();
        if is_of_others || marking.marked.len() + 2 > MAX_MARKS {
            marks.push([None; 2]);
            continue;
        }
        // A caller outside may expect one of the function's elements instead of the total.
        let is_for_total = found.kind == Kind::Reduction && function.is_called_elsewhere;
        let arrays = found.arrays.iter().filter(|_| is_for_total);
        let elements = arrays.flat_map(|array| {
            let global = kernel.shader.globals.get(array.0 as usize);
            let count = global.map_or(0, |global| kernel.shader.components(&global.ty));
            (0..count as u32).map(|cell| (*array, cell))
        });
        let elements = elements.filter(|element| !found.leftovers.result.cells.contains(element));
        marks.push(marking.add(found, elements.collect()));
    }
    if marking.is_empty() {
        return;
    }
    match assumed {
        // The bounds are atoms of these terms, so the terms must stay.
        Some(bounds) => {
            terms.forget_assumptions();
            bounds.assume(terms);
        }
        None => terms.clear(),
    }
    let waves = Waves::new(group, WAVE_SIZES[0], LaneMap::Linear);
    let machine =
        assuming
            .to_the_full()
            .new_machine::<Detectors>(kernel, terms, waves, RunMode::Marking, *budget);
    let Some(mut machine) = machine else { return };
    machine.observer.marking = marking;
    if assumed.is_some() {
        machine.limits.max_work = machine.limits.max_work.saturating_add(machine.terms.work());
    }
    let is_whole = machine.run().is_none();
    *budget = machine.limits.budget;
    let used = machine.used_marks(function, is_whole);
    let placed = machine.observer.marking.placed;
    let is_in = |mark: Option<Mark>, marks: u64| mark.is_some_and(|mark| marks & mark.bit() != 0);
    let mut marks = marks.into_iter();
    collectives.retain(|_| {
        let [parts, result] = marks.next().unwrap_or_default();
        let is_unused = is_in(result, placed) && !is_in(result, used);
        !(is_unused || is_in(parts, used))
    });
}

impl Machine<'_, Detectors> {
    /// Code that is not followed depends on these values.
    pub fn note_leftovers<'v>(&self, values: impl IntoIterator<Item = &'v Value>) {
        if !self.observer.marking.is_empty() {
            let used = &self.observer.marking.used;
            used.set(used.get() | self.marks(values));
        }
    }

    /// From here on the run treats these values as anything, and no longer sees their uses.
    pub fn note_forgotten<'v>(&self, values: impl IntoIterator<Item = &'v Value>) {
        if !self.observer.marking.is_empty() {
            let used = &self.observer.marking.used;
            used.set(used.get() | self.marks(values) & self.observer.marking.results);
        }
    }

    fn marks<'v>(&self, values: impl IntoIterator<Item = &'v Value>) -> u64 {
        let marks = values.into_iter().map(|value| self.terms.taint(value).marks);
        marks.fold(0, |all, marks| all | marks)
    }

    fn marks_of<'c>(&self, columns: impl IntoIterator<Item = &'c Column>) -> u64 {
        let marks = columns.into_iter().map(|column| match column {
            Column::Uniform(value) => self.marks([value]),
            Column::Lanes(values) => self.marks(values.iter()),
        });
        marks.fold(0, |all, marks| all | marks)
    }

    /// The marks that reach an output of the entry point. `is_whole` is false if the run stopped early.
    fn used_marks(&self, function: &Function, is_whole: bool) -> u64 {
        let of_writes = self.marks(self.state.writes.iter().flat_map(Write::values));
        let mut used = self.observer.marking.used.get() | of_writes;
        let mut used_results = 0;
        let locals = &self.state.frame.locals;
        let has_outputs = !self.state.writes.is_empty() || used != 0;
        if is_whole {
            let handed_out = function
                .parameters
                .iter()
                .filter(|parameter| parameter.direction != Direction::In)
                .filter_map(|parameter| locals.get(parameter.local.0 as usize));
            used |= self.marks_of(handed_out.flatten().chain(&self.state.frame.result));
        } else {
            // A caller of the current function may hold the result.
            let is_nested = self.state.frame.depth > 0;
            let held = locals.iter().chain(self.state.statics.values()).flatten();
            used_results |= if is_nested { u64::MAX } else { self.marks_of(held) };
            if has_results(function) || function.is_called_elsewhere {
                // The run did not see the outputs at the function's end.
                used = u64::MAX;
            }
        }
        let in_memory = |is_seen: &dyn Fn(bool) -> bool| {
            let arrays = self.state.shared.iter().filter(|array| is_seen(array.on_device));
            arrays.fold(0, |all, array| all | self.marks(array.cells()))
        };
        // The cells of a tile belong to a resource.
        used_results |= in_memory(&|on_device| on_device || !is_whole || function.is_called_elsewhere);
        if function.is_called_elsewhere && !has_results(function) {
            // Everything that the function leaves is for its caller.
            used |= in_memory(&|_| true);
        }
        if !has_outputs && !has_results(function) {
            // The run does not see what the function is for.
            used_results = u64::MAX;
        }
        used | used_results & self.observer.marking.results
    }

    /// Called after a statement. If a construct ends there, what it leaves may be anything from here on. The
    /// new values still depend on what the old ones depended on, e.g. on the results of other constructs.
    pub fn mark_leftovers(&mut self, statement: &Stmt) {
        let function = self.state.frame.function;
        let marked = &self.observer.marking.marked;
        let ended = marked
            .iter()
            .filter(|marked| marked.function == function && marked.last == statement.span);
        for Marked { places, mark, .. } in ended.cloned().collect::<Vec<_>>() {
            self.observer.marking.placed |= mark.bit();
            self.state.events += 1;
            let op = Op::Mark {
                event: self.state.events,
                mark,
            };
            for (number, (global, cell)) in (0..).zip(places.cells) {
                let mark = self.terms.apply(op, &[Value::Known(number)]);
                let mut arrays = self.state.shared.iter_mut();
                let array = arrays.find(|array| array.global == global);
                if let Some(slot) = array.and_then(|array| array.cells_mut().get_mut(cell as usize)) {
                    *slot = self.terms.apply(Op::Same, &[mark, slot.clone()]);
                }
            }
            for (local, component, thread) in places.registers {
                let mark = self
                    .terms
                    .apply(op, &[Value::Known(thread), Value::Known(component)]);
                let lanes = self.lanes;
                let columns = self.state.frame.locals.get_mut(local.0 as usize);
                if let Some(column) = columns.and_then(|columns| columns.get_mut(component as usize)) {
                    *column = Column::from_fn(lanes, |other| {
                        let value = column.at(other).clone();
                        if other as u32 == thread {
                            self.terms.apply(Op::Same, &[mark.clone(), value])
                        } else {
                            value
                        }
                    });
                }
            }
        }
    }
}

/// Whether an entry point returns something or has an output parameter.
fn has_results(function: &Function) -> bool {
    let mut parameters = function.parameters.iter();
    function.returns != Type::Void || parameters.any(|parameter| parameter.direction != Direction::In)
}
