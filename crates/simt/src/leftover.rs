//! What a reduction leaves behind besides its total, and whether anything is made of that.
//!
//! The partial results of a sum are there for the total alone, mostly. Where they are more than that, each level of a
//! pyramid or what a sweep down starts from, the sum is a part of something else, which no sum takes the place of. So a
//! kernel with a reduction is run once more, in which the reduction's partial results are replaced at its end by marked
//! values, which stand for anything. Terms keep the marks of all they are made of in any way
//! ([`crate::terms::flow::Facts::counters`]), and so do the guards of what is done under conditions on them: a mark in
//! what is stored in a resource says that partial results are used.
//!
//! This withdraws findings and makes none: where the run has to stop early nothing is withdrawn.

use shaderlint_hlsl::{FunctionId, GlobalId, LocalId, Shader, Span, Stmt};

use crate::analyze::Seen;
use crate::equivalence::has_results;
use crate::finding::{Collective, Kind};
use crate::machine::{Machine, Write};
use crate::terms::Terms;
use crate::terms::column::Column;
use crate::terms::flow::{Mark, Source};
use crate::terms::value::{Op, Value};
use crate::wave::{LaneMap, WAVE_SIZES, Waves};

/// Reductions of a kernel that are looked at: as many as there are marks.
const MAX_REDUCTIONS: usize = 64;

/// The partial results that a reduction leaves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leftovers {
    /// The last statement of the construct.
    pub last: Span,
    /// Groupshared variables and their words.
    pub cells: Vec<(GlobalId, u32)>,
    /// Variables, their components and threads.
    pub registers: Vec<(LocalId, u32, u32)>,
}

/// Leaves out the reductions of which more is used than the total.
pub(crate) fn withdraw_parts(
    (shader, entry, group): (&Shader, FunctionId, [u32; 3]),
    terms: &mut Terms,
    seen: Seen<'_>,
    collectives: &mut Vec<Collective>,
    budget: &mut u64,
) {
    let has_leftovers = |found: &Collective| {
        found.kind == Kind::Reduction
            && found.instances.is_empty()
            && !(found.leftovers.cells.is_empty() && found.leftovers.registers.is_empty())
    };
    if has_results(shader, entry) {
        // Partial results may be among them.
        collectives.retain(|found| !has_leftovers(found));
    }
    let reductions: Vec<usize> = (0..collectives.len())
        .filter(|number| collectives.get(*number).is_some_and(has_leftovers))
        .take(MAX_REDUCTIONS)
        .collect();
    if reductions.is_empty() {
        return;
    }
    terms.clear();
    let waves = Waves::new(group, WAVE_SIZES[0], LaneMap::Linear);
    let Some(mut machine) = Machine::new(shader, terms, entry, waves, *budget) else {
        return;
    };
    seen.by(&mut machine);
    let marked = reductions.iter().enumerate().filter_map(|(mark, number)| {
        let found = collectives.get(*number)?;
        Some((found.function, found.leftovers.clone(), Mark::new(mark)))
    });
    machine.leftovers = marked.collect();
    machine.keeps_steps = true;
    let stopped = machine.run();
    *budget = machine.budget;
    if stopped.is_some() {
        return;
    }
    let of_write = |write: &Write| {
        let values = write.values();
        values.fold(0, |all, value| all | machine.terms.facts(value).counters)
    };
    let used = machine
        .state
        .writes
        .iter()
        .fold(machine.used_leftovers.get(), |all, write| all | of_write(write));
    for (mark, number) in reductions.into_iter().enumerate().rev() {
        if used & Mark::new(mark).bit() != 0 {
            collectives.remove(number);
        }
    }
}

impl Machine<'_> {
    /// Something that is not followed depends on these values.
    pub fn note_leftovers<'v>(&self, values: impl IntoIterator<Item = &'v Value>) {
        if !self.leftovers.is_empty() {
            let marks = values.into_iter().map(|value| self.terms.facts(value).counters);
            let used = marks.fold(self.used_leftovers.get(), |all, marks| all | marks);
            self.used_leftovers.set(used);
        }
    }

    /// After a statement: if a reduction ends with it, its partial results are anything from here on.
    pub fn mark_leftovers(&mut self, statement: &Stmt) {
        let function = self.state.frame.function;
        let ended = self
            .leftovers
            .iter()
            .filter(|(of, leftovers, _)| *of == function && leftovers.last == statement.span);
        for (_, leftovers, mark) in ended.cloned().collect::<Vec<_>>() {
            self.state.events += 1;
            let op = Op::AtomicResult {
                event: self.state.events,
                source: Source::Other(mark),
            };
            for (number, (global, cell)) in (0..).zip(leftovers.cells) {
                let value = self.terms.apply(op, &[Value::Known(number)]);
                let mut arrays = self.state.shared.iter_mut();
                let array = arrays.find(|array| array.global == global);
                if let Some(slot) = array.and_then(|array| array.cells_mut().get_mut(cell as usize)) {
                    *slot = value;
                }
            }
            for (local, component, thread) in leftovers.registers {
                let value = self
                    .terms
                    .apply(op, &[Value::Known(thread), Value::Known(component)]);
                let lanes = self.lanes;
                let columns = self.state.frame.locals.get_mut(local.0 as usize);
                if let Some(column) = columns.and_then(|columns| columns.get_mut(component as usize)) {
                    *column = Column::from_fn(lanes, |other| {
                        if other as u32 == thread {
                            value.clone()
                        } else {
                            column.at(other).clone()
                        }
                    });
                }
            }
        }
    }
}
