//! What becomes of what a construct leaves: its result, and the partial results besides.
//!
//! A result that reaches nothing is no reason to compute it another way: a total that is overwritten unread while a sweep
//! down goes on from the partial results, or a scan that ends in one half of a double buffer while the other half is
//! returned. Partial results are there for the total alone, mostly. Where they are more than that, each level of a pyramid
//! or what a sweep down starts from, the total is a part of something else, which no sum takes the place of.
//!
//! So a kernel with a construct is run once more, in which what the construct leaves is replaced at its end by marked
//! values, which stand for anything: one mark for the result, one for the partial results. Terms keep the marks of all they
//! are made of in any way ([`crate::terms::taint::Facts::counters`]), and so do the guards of what is done under conditions
//! on them. A mark in an *output* says that what bears it is used. Outputs are what is stored in a resource, where, and
//! under which condition; what an entry point returns; and whatever is given to something that is not followed.
//!
//! Partial results that are used withdraw a reduction; a result that is not used withdraws any construct. Both ask for uses
//! that a run may see too many of, and never too few: values that a run forgets, as those of a read that races, are taken
//! for used results ([`Machine::note_forgotten`]).
//!
//! This withdraws findings and makes none. Where the run has to stop early, partial results that were not used so far may
//! be used later and count as not used; a result that something still holds counts as used.

use std::cell::Cell;

use shaderlint_hlsl::{Direction, Function, FunctionId, GlobalId, Span, Stmt, Type};

use crate::detect::Detectors;
use crate::exec::assumptions::Assumptions;
use crate::exec::loop_bounds::TakenBounds;
use crate::exec::{Machine, Write};
use crate::facts::kernel::{Kernel, WAVE_SIZES};
use crate::finding::leftovers::{Leftovers, Places};
use crate::finding::{Collective, Kind};
use crate::terms::Terms;
use crate::terms::column::Column;
use crate::terms::source::{Mark, Source};
use crate::terms::value::{Op, Value};
use crate::waves::{LaneMap, Waves};

/// As many as there are marks.
const MAX_MARKS: usize = 64;

/// What is marked in a run, and what became of it.
#[derive(Default)]
pub(crate) struct Marking {
    marked: Vec<Marked>,
    /// The marks of results, by bit.
    results: u64,
    /// The marks that the run came to put somewhere, by bit.
    placed: u64,
    /// Those that something depends on, by bit.
    used: Cell<u64>,
}

#[derive(Clone)]
struct Marked {
    function: FunctionId,
    last: Span,
    places: Places,
    mark: Mark,
}

impl Marking {
    pub fn is_empty(&self) -> bool {
        self.marked.is_empty()
    }

    /// Marks what the collective leaves; the marks of its partial results, with what else is in these arrays, and of its
    /// result.
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

/// Leaves out the collectives whose results reach no output, and the reductions of which more is used than the total. Of a
/// run in which bounds were taken for a number they are told with these.
pub(crate) fn withdraw_unused(
    kernel: Kernel<'_>,
    terms: &mut Terms,
    assuming: Assumptions<'_>,
    given: Option<TakenBounds<'_>>,
    collectives: &mut Vec<Collective>,
    budget: &mut u64,
) {
    let (Some(function), Some(group)) = (kernel.function(), kernel.group()) else {
        return;
    };
    let mut marking = Marking::default();
    let mut marks: Vec<[Option<Mark>; 2]> = Vec::new();
    for found in collectives.iter() {
        // What was found with bounds taken for a number was looked at with these.
        let is_of_others = given.is_none() && !found.instances.is_empty();
        if is_of_others || marking.marked.len() + 2 > MAX_MARKS {
            marks.push([None; 2]);
            continue;
        }
        // Who calls a function is not seen to expect one of its elements instead of the total.
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
    match given {
        // The bounds are atoms of these terms.
        Some(bounds) => {
            terms.forget_assumptions();
            bounds.assume(terms);
        }
        None => terms.clear(),
    }
    let waves = Waves::new(group, WAVE_SIZES[0], LaneMap::Linear);
    let machine = assuming
        .to_the_full()
        .machine::<Detectors>(kernel, terms, waves, *budget);
    let Some(mut machine) = machine else { return };
    machine.observer.leftovers = marking;
    machine.keeps_steps = true;
    if given.is_some() {
        machine.limits.max_work = machine.limits.max_work.saturating_add(machine.terms.work());
    }
    let is_whole = machine.run().is_none();
    *budget = machine.limits.budget;
    let used = machine.used_marks(function, is_whole);
    let placed = machine.observer.leftovers.placed;
    let is_in = |mark: Option<Mark>, marks: u64| mark.is_some_and(|mark| marks & mark.bit() != 0);
    let mut marks = marks.into_iter();
    collectives.retain(|_| {
        let [parts, result] = marks.next().unwrap_or_default();
        let is_unused = is_in(result, placed) && !is_in(result, used);
        !(is_unused || is_in(parts, used))
    });
}

impl Machine<'_, Detectors> {
    /// Something that is not followed depends on these values.
    pub fn note_leftovers<'v>(&self, values: impl IntoIterator<Item = &'v Value>) {
        if !self.observer.leftovers.is_empty() {
            let used = &self.observer.leftovers.used;
            used.set(used.get() | self.marks(values));
        }
    }

    /// The run takes these values for anything from here on, and sees no uses of them any more.
    pub fn note_forgotten<'v>(&self, values: impl IntoIterator<Item = &'v Value>) {
        if !self.observer.leftovers.is_empty() {
            let used = &self.observer.leftovers.used;
            used.set(used.get() | self.marks(values) & self.observer.leftovers.results);
        }
    }

    fn marks<'v>(&self, values: impl IntoIterator<Item = &'v Value>) -> u64 {
        let marks = values.into_iter().map(|value| self.terms.facts(value).counters);
        marks.fold(0, |all, marks| all | marks)
    }

    fn marks_of<'c>(&self, columns: impl IntoIterator<Item = &'c Column>) -> u64 {
        let marks = columns.into_iter().map(|column| match column {
            Column::Uniform(value) => self.marks([value]),
            Column::Lanes(values) => self.marks(values.iter()),
        });
        marks.fold(0, |all, marks| all | marks)
    }

    /// The marks that reach an output of the entry point, in a run that went to its end or had to stop.
    fn used_marks(&self, function: &Function, is_whole: bool) -> u64 {
        let of_writes = self.marks(self.state.writes.iter().flat_map(Write::values));
        let mut used = self.observer.leftovers.used.get() | of_writes;
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
            // Who called the function at hand may hold it.
            let is_nested = self.state.frame.depth > 0;
            let held = locals.iter().chain(self.state.statics.values()).flatten();
            used_results |= if is_nested { u64::MAX } else { self.marks_of(held) };
            if has_results(function) || function.is_called_elsewhere {
                // What it would leave at its end is not seen.
                used = u64::MAX;
            }
        }
        let in_memory = |is_seen: &dyn Fn(bool) -> bool| {
            let arrays = self.state.shared.iter().filter(|array| is_seen(array.on_device));
            arrays.fold(0, |all, array| all | self.marks(array.cells()))
        };
        // A window's cells are the resource's own.
        used_results |= in_memory(&|on_device| on_device || !is_whole || function.is_called_elsewhere);
        if function.is_called_elsewhere && !has_results(function) {
            // Of what it leaves, all is for who calls it.
            used |= in_memory(&|_| true);
        }
        if !has_outputs && !has_results(function) {
            // What it is for is not seen.
            used_results = u64::MAX;
        }
        used | used_results & self.observer.leftovers.results
    }

    /// After a statement: if a construct ends with it, what it leaves is anything from here on. It is made of what it was
    /// made of, the results of other constructs among it.
    pub fn mark_leftovers(&mut self, statement: &Stmt) {
        let function = self.state.frame.function;
        let marked = &self.observer.leftovers.marked;
        let ended = marked
            .iter()
            .filter(|marked| marked.function == function && marked.last == statement.span);
        for Marked { places, mark, .. } in ended.cloned().collect::<Vec<_>>() {
            self.observer.leftovers.placed |= mark.bit();
            self.state.events += 1;
            let op = Op::AtomicResult {
                event: self.state.events,
                source: Source::Other(mark),
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

/// Whether an entry point hands something to who runs it.
fn has_results(function: &Function) -> bool {
    let mut parameters = function.parameters.iter();
    function.returns != Type::Void || parameters.any(|parameter| parameter.direction != Direction::In)
}
