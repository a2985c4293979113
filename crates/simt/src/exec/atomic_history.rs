//! Atomics on groupshared memory, step by step: what an atomic finds depends on all that may come before it.
//!
//! # Why equal terms are equal values
//!
//! "Atomic operations … are serialized in an undefined order" (D3D11.3 functional spec 7.14.2). What the atomics of a
//! barrier interval find in an array, and leave there, is a function of the order in which the device serves them and
//! of two things: what the cells held before; and the atomics of each thread, in its order, with their operation,
//! cell, operands and the condition under which the thread makes them. One call by all threads that are there is a
//! *step*: the term of all this, and of the step before it in the interval. What a thread finds is a term of the
//! step. So is what a cell holds after the step, unless the operator fixes that for every order
//! ([`crate::exec::memory::Shared::combined_by`]). In any kernel that makes a step, the device has the same orders to
//! choose from up to that step.
//!
//! - *Later atomics of the interval* are not part of a step, though the device may serve another thread's later
//!   atomic first. So where what an atomic found has a part in what two kernels write, the rest of its interval has
//!   to be equal too: [`are_served_alike`].
//! - *Atomics on other arrays, and plain accesses*, are ordered with these by barriers and fences alone. An
//!   interval's first step has no step before it; fences are part of each step. Atomics that return what they find
//!   are also part of the history of device memory ([`crate::terms::history`]), in the order in which a thread makes
//!   them.
//! - *Two steps of one kernel may be one term*, for example where a counter is reset and used again; what they find
//!   and leave may differ. So what an atomic found includes the number of the history, and so does its step. What is
//!   left in a cell includes the number of the step among those steps for which the order determines what they leave.
//!   Steps that return their results to no thread and leave the same under every order count in neither number: other
//!   code may make other such steps.

use std::collections::BTreeSet;
use std::rc::Rc;

use rustc_hash::FxHashSet;
use shaderlint_hlsl::{GlobalId, Intrinsic, Type};

use crate::exec::{Machine, Observer};
use crate::terms::column::Column;
use crate::terms::value::{Op, Value};
use crate::terms::{Term, Terms};

/// The steps on one array.
#[derive(Clone)]
pub(crate) struct Steps {
    array: GlobalId,
    /// The barrier interval of the last step.
    interval: u32,
    /// The last step of each interval that has one.
    last: Vec<Value>,
}

/// An atomic that the active threads make.
pub(crate) struct Made<'m> {
    pub intrinsic: Intrinsic,
    /// The type of the cell.
    pub ty: &'m Type,
    /// Index into the machine's groupshared variables.
    pub number: usize,
    pub base: &'m Column,
    pub component: u32,
    pub operands: &'m [Column],
    /// The number of the history with this atomic, if it returns what it finds; else 0.
    pub event: u32,
}

impl Steps {
    /// The last step, if it was in this interval.
    fn in_interval(&self, interval: u32) -> Option<&Value> {
        self.last.last().filter(|_| self.interval == interval)
    }
}

impl<O: Observer> Machine<'_, O> {
    /// Makes the step for this atomic and appends it to the history of its array.
    pub fn atomic_step(&mut self, made: &Made<'_>) -> Value {
        let shared = &self.state.shared[made.number];
        let (array, interval) = (shared.global, self.state.interval_of(shared));
        let known = self
            .state
            .atomics
            .steps
            .iter()
            .position(|steps| steps.array == array);
        let before = known.and_then(|known| self.state.atomics.steps.get(known)?.in_interval(interval));
        let mut of = vec![before.cloned().unwrap_or(Value::Known(0))];
        of.extend(
            [
                made.event,
                self.state.barriers.fences,
                self.state.barriers.shared_fences,
                made.component,
            ]
            .map(Value::Known),
        );
        let active = self.state.active;
        of.push(Value::Known(self.lanes as u32));
        of.extend(active.words(self.lanes).map(Value::Known));
        let columns = [made.base, &self.state.guard].into_iter().chain(made.operands);
        for column in columns {
            if let Some(value) = column.uniform(active) {
                of.extend([Value::TRUE, value.clone()]);
            } else {
                of.push(Value::FALSE);
                of.extend(active.threads().map(|thread| column.at(thread).clone()));
            }
        }
        let bases = active.threads().map(|thread| made.base.at(thread).known());
        let touched: Option<BTreeSet<u32>> = match made.base.uniform(active) {
            Some(base) => base.known().map(|base| [base].into()),
            None => bases.collect(),
        };
        match touched {
            Some(touched) => {
                let cells = touched.iter().map(|base| base.saturating_add(made.component));
                of.extend(
                    cells
                        .filter_map(|cell| shared.cells().get(cell as usize))
                        .cloned(),
                );
            }
            None => of.extend(shared.cells().iter().cloned()),
        }
        let text = self
            .terms
            .symbol(&format!("{} of {:?}", made.intrinsic.name(), made.ty));
        let step = self.terms.apply(Op::Opaque { text, component: 0 }, &of);
        let all = Rc::make_mut(&mut self.state.atomics.steps);
        match known.and_then(|known| all.get_mut(known)) {
            Some(steps) => {
                if steps.interval == interval {
                    steps.last.pop();
                }
                steps.interval = interval;
                steps.last.push(step.clone());
            }
            None => all.push(Steps {
                array,
                interval,
                last: vec![step.clone()],
            }),
        }
        step
    }
}

impl Terms {
    /// What a step leaves in a cell. `number` is the step's number among those for which the order determines that.
    pub fn left_by(&mut self, step: &Value, number: u32, cell: u32) -> Value {
        let text = self.symbol("what an atomic leaves");
        let of = [cell, number].map(Value::Known).into_iter().chain([step.clone()]);
        self.apply(Op::Opaque { text, component: 0 }, &of.collect::<Vec<_>>())
    }

    /// These steps and all before them in their intervals.
    fn steps_up_to<'s>(&self, last: impl Iterator<Item = &'s Value>) -> FxHashSet<Value> {
        let mut all = FxHashSet::default();
        for step in last {
            let mut step = step.clone();
            while let Some(Term::Apply(_, arguments)) = self.single(&step) {
                let before = arguments.first().filter(|before| before.known().is_none());
                let before = before.cloned();
                if !all.insert(step) {
                    break;
                }
                let Some(before) = before else { break };
                step = before;
            }
        }
        all
    }
}

/// Whether two kernels make the same atomics in each interval where an atomic's result has a part in these values.
pub(crate) fn are_served_alike<'v>(
    terms: &Terms,
    steps: [&[Steps]; 2],
    values: impl Iterator<Item = &'v Value>,
) -> bool {
    let [expected, got] = steps.map(|steps| {
        let last = steps.iter().flat_map(|steps| &steps.last);
        last.collect::<FxHashSet<&Value>>()
    });
    if expected == got {
        return true;
    }
    let alike = terms.steps_up_to(expected.intersection(&got).copied());
    let mut seen = FxHashSet::default();
    let mut waiting: Vec<Value> = values.cloned().collect();
    while let Some(value) = waiting.pop() {
        for atom in value.atoms() {
            let Some(Term::Apply(op, arguments)) = terms.term(atom).filter(|_| seen.insert(atom)) else {
                continue;
            };
            if let (Op::AtomicResult { .. }, [_, step]) = (op, arguments)
                && !alike.contains(step)
            {
                return false;
            }
            waiting.extend(arguments.iter().cloned());
        }
    }
    true
}
