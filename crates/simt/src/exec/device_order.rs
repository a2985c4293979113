//! Which accesses to device memory the barriers and fences of a kernel order, for this group and for others.
//!
//! # What other groups see
//!
//! A barrier or fence that names device memory completes the accesses before it: "blocks execution of all threads in
//! a group until all device memory accesses have been completed" (learn.microsoft.com, `DeviceMemoryBarrier`).
//! Another group that reads what was written after it may rely on finding what was written before it, even if this
//! group reads neither. So a kernel may replace another only if it orders all that the other one orders; additional
//! order harms no reader.
//!
//! *Which writes.* HLSL promises that other groups see writes only for `globallycoherent` resources and for atomics:
//! without that word "a memory barrier or sync will flush a UAV only within the current group" (learn.microsoft.com,
//! *Variable Syntax*). A kernel that has neither publishes nothing, and the order of its writes shows only within the
//! group, where several threads write to one place. A kernel may have either, or what may be either, or a fence,
//! which is of use to other groups alone. Then all its writes to device memory count as published, those to other
//! resources too: compilers and devices differ in what they flush.
//!
//! *Which order.* An event is a barrier at which the group waits, or a fence. Take the writes that come before it in
//! the run, and those that come after it. If one of the two sets is empty, the event orders no writes. Otherwise the
//! second kernel needs, after all of the former and before all of the latter, events that are as strong ([`keeps`]):
//! in the same order, each by at least these threads, and under a condition that holds wherever that of the first
//! does. One device memory barrier at which the group waits is as strong as any sequence of events. This check may
//! demand more than is needed: two writes may be ordered in another way, or the event may not order them, as a fence
//! does not order two threads' writes. It never demands less, under either reading of the words above: for a fence
//! may complete the accesses of its thread or those of the group, and a barrier of groupshared memory only makes
//! threads wait, which passes on what a fence before it has completed.
//!
//! *What is not followed* may hold barriers of its own. It counts as an event before its own writes and another one
//! after them, under a condition that is a term of its text and of all that it is given. So only the same statements,
//! given the same values, are as strong, or an unconditional barrier of the group.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::exec::Observer;
use crate::exec::{Machine, State};
use crate::facts::effects::Effects;
use crate::terms::column::Mask;
use crate::terms::history::{Ordered, Step};
use crate::terms::value::{Op, Value};
use crate::terms::{Symbol, Terms};

/// A barrier or a fence.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    /// The threads of the group wait for each other.
    waits: bool,
    /// It names device memory.
    orders_device: bool,
    threads: Mask,
    /// The condition under which the threads pass it.
    guard: Value,
}

/// Barriers, fences and other events of device memory.
///
/// A kernel starts with nothing to order, as if after a barrier.
#[derive(Clone, Default)]
pub(crate) struct Ordering {
    /// The history of all events, by its number among the terms.
    pub history: u32,
    /// The history of the barriers and fences alone.
    passed: u32,
    /// The history up to the last access to device memory, or fence.
    touched: u32,
    events: Rc<Vec<Event>>,
    pub observed: Observed,
    /// The last barrier that names device memory, and the last of any kind.
    settled: Point,
    synced: Point,
}

/// What the kernel observed of writable device memory.
#[derive(Clone, Default)]
pub(crate) struct Observed {
    /// The resources that it loaded from.
    loaded: Rc<BTreeSet<Symbol>>,
    /// It may have observed any resource, and in another way than by a load.
    pub anywhere: bool,
    /// It may have done so by more than atomics.
    pub unfollowed: bool,
}

impl Observed {
    /// Code that is not followed may have observed device memory.
    pub fn not_followed(&mut self) {
        self.anywhere = true;
        self.unfollowed = true;
    }

    pub fn is_none(&self) -> bool {
        self.loaded.is_empty() && !self.anywhere
    }

    /// Whether the kernel observed nothing of this resource.
    pub fn is_none_of(&self, resource: Symbol) -> bool {
        !self.anywhere && !self.loaded.contains(&resource)
    }

    fn load(&mut self, resource: Symbol) {
        if !self.loaded.contains(&resource) {
            Rc::make_mut(&mut self.loaded).insert(resource);
        }
    }
}

/// A barrier.
#[derive(Clone, Copy, Default)]
struct Point {
    /// The history including the barrier, and the history at the last access to device memory.
    history: u32,
    touched: u32,
    /// The number of its condition.
    under: u32,
    /// The two histories (of all events, and of barriers and fences) before it.
    before: (u32, u32),
}

impl Point {
    /// Whether device memory was not touched since, and the barrier is passed wherever this condition holds.
    fn holds_at(self, touched: u32, under: u32) -> bool {
        self.touched == touched && [0, under].contains(&self.under)
    }
}

impl Event {
    fn is_as_strong_as(&self, other: &Event, terms: &Terms) -> bool {
        (self.waits || !other.waits)
            && (self.orders_device || !other.orders_device)
            && other.threads.without(self.threads).is_empty()
            && (self.guard == Value::TRUE || terms.needs(&other.guard, &self.guard))
    }
}

impl Ordering {
    pub fn has_passed_none(&self) -> bool {
        self.events.is_empty()
    }

    /// A number that changes with each access to device memory, and with each fence.
    pub fn touched(&self) -> u32 {
        self.touched
    }

    pub fn events(&self) -> &Rc<Vec<Event>> {
        &self.events
    }

    fn push(&mut self, event: Event) {
        Rc::make_mut(&mut self.events).push(event);
    }
}

impl State {
    /// The position of an access among the barriers and fences.
    pub fn ordered(&self) -> Ordered {
        Ordered {
            passed: self.ordering.passed,
            events: u32::try_from(self.ordering.events.len()).unwrap_or(u32::MAX),
            interval: self.barriers.device_interval,
        }
    }
}

impl<O: Observer> Machine<'_, O> {
    /// Adds this step to the history of device memory and returns the history's new number.
    pub fn record_device_event(&mut self, step: Step) -> u32 {
        let state = &mut self.state;
        state.ordering.history = self.terms.history(state.ordering.history, step, state.active);
        match step {
            // A resource taken from a heap may be any resource.
            Step::Load(name, _) if !self.terms.is_any_resource(name) => {
                state.ordering.observed.load(name);
            }
            Step::Load(..) => state.ordering.observed.not_followed(),
            Step::Atomic => state.ordering.observed.anywhere = true,
            _ => {}
        }
        // An atomic on device memory is recorded as a store too.
        if step != Step::Atomic {
            state.ordering.touched = state.ordering.history;
        }
        state.ordering.history
    }

    /// Records that the group waits under this condition.
    ///
    /// The history determines what a load finds, and what finds a store. A barrier enters it only if device memory
    /// was accessed since the last barrier that orders as much: between two such barriers there is nothing to order.
    pub fn record_barrier(&mut self, orders_device: bool, guard: &Value) {
        let under = self.number_of(guard);
        let threads = self.state.active;
        let ordering = &mut self.state.ordering;
        ordering.push(Event {
            waits: true,
            orders_device,
            threads,
            guard: guard.clone(),
        });
        let last = if orders_device {
            ordering.settled
        } else {
            ordering.synced
        };
        if last.holds_at(ordering.touched, under) {
            return;
        }
        // A weaker barrier just before it orders nothing more.
        let weaker = ordering.synced;
        let is_stronger = orders_device && [0, weaker.under].contains(&under);
        let before = if is_stronger && weaker.history == ordering.history {
            weaker.before
        } else {
            (ordering.history, ordering.passed)
        };
        let step = if orders_device {
            Step::Barrier(under)
        } else {
            Step::Wait(under)
        };
        ordering.history = self.terms.history(before.0, step, threads);
        ordering.passed = self.terms.history(before.1, step, threads);
        let here = Point {
            history: ordering.history,
            touched: ordering.touched,
            under,
            before,
        };
        ordering.synced = here;
        if orders_device {
            ordering.settled = here;
        }
    }

    /// Records that the active threads pass a fence. A fence that names device memory may order the accesses of
    /// threads that they waited for before, so the history at that wait is part of it.
    pub fn pass_fence(&mut self, orders_shared: bool, orders_device: bool) {
        let threads = self.state.active;
        let guards: Vec<Value> = threads
            .threads()
            .map(|thread| self.state.guard.at(thread).clone())
            .collect();
        let guard = match self.state.guard.uniform(threads) {
            Some(guard) => guard.clone(),
            None => self.terms.apply(Op::Same, &guards),
        };
        let under = self.number_of(&guard);
        let alone = Step::Fence { under, waited: 0 };
        if orders_device {
            O::passed_fence(self);
        }
        let state = &mut self.state;
        if orders_shared {
            state.barriers.shared_fences = self.terms.history(state.barriers.shared_fences, alone, threads);
        }
        if !orders_device {
            return;
        }
        state.barriers.fences = self.terms.history(state.barriers.fences, alone, threads);
        let waited = state.ordering.synced.history;
        let step = Step::Fence { under, waited };
        let ordering = &mut self.state.ordering;
        ordering.push(Event {
            waits: false,
            orders_device: true,
            threads,
            guard,
        });
        ordering.history = self.terms.history(ordering.history, step, threads);
        ordering.passed = self.terms.history(ordering.passed, step, threads);
        ordering.touched = ordering.history;
        // Within the group a fence has no use.
        self.state.publishes = true;
    }

    /// Records statements of this text that are not followed: they may hold barriers at which the group waits, and
    /// barriers or fences that order device memory. The values given to the threads decide which of them they pass.
    pub fn record_unfollowed_barriers(&mut self, effects: &Effects, text: Symbol, given: &[Value]) {
        let (waits, orders_device) = (effects.barrier, effects.device_barrier);
        if !waits && !orders_device {
            return;
        }
        // A fence may be among them, as in [`Machine::pass_fence`].
        self.state.publishes |= orders_device;
        let threads = self.state.active;
        let op = Op::Havoc {
            text,
            place: self.terms.symbol("which barriers"),
            component: 0,
        };
        let given: Vec<Value> = threads
            .threads()
            .filter_map(|thread| given.get(thread).cloned())
            .collect();
        let guard = self.terms.apply(op, &given);
        let step = Step::Barrier(self.number_of(&guard));
        let ordering = &mut self.state.ordering;
        ordering.push(Event {
            waits,
            orders_device,
            threads,
            guard,
        });
        ordering.passed = self.terms.history(ordering.passed, step, threads);
    }

    /// A number for a condition, the same in every kernel; 0 for one that always holds.
    fn number_of(&mut self, condition: &Value) -> u32 {
        if *condition == Value::TRUE {
            return 0;
        }
        match self.terms.apply(Op::Same, std::slice::from_ref(condition)) {
            Value::Run { start, .. } => start + 1,
            _ => 0,
        }
    }
}

/// Whether the second kernel orders all that the first one orders, among accesses at these positions in the two
/// kernels.
pub(crate) fn keeps_order<'a>(
    terms: &Terms,
    events: [&[Event]; 2],
    accesses: impl Iterator<Item = (&'a Ordered, &'a Ordered)>,
) -> bool {
    let mut places: Vec<[usize; 2]> = accesses
        .map(|both| [both.0.events as usize, both.1.events as usize])
        .collect();
    places.sort_unstable();
    places.dedup();
    // For each place, the least position in the second kernel from that place on.
    let mut least: Vec<usize> = places.iter().map(|[_, second]| *second).collect();
    for index in (1..least.len()).rev() {
        least[index - 1] = least[index - 1].min(least[index]);
    }
    let mut most = 0;
    places.windows(2).zip(least.iter().skip(1)).all(|(pair, least)| {
        let (Some([before, in_second]), Some([after, _])) = (pair.first(), pair.last()) else {
            return true;
        };
        most = most.max(*in_second);
        let wanted = events[0].get(*before..*after).unwrap_or_default();
        // Empty if an access that has to come later comes first.
        let found = events[1].get(most..*least).unwrap_or_default();
        keeps(terms, wanted, found)
    })
}

/// Whether the sequence `found` is as strong as `wanted`, between the same accesses.
fn keeps(terms: &Terms, wanted: &[Event], found: &[Event]) -> bool {
    let mut found = found.iter().peekable();
    wanted.iter().all(|wanted| {
        while let Some(event) = found.peek() {
            if event.is_as_strong_as(wanted, terms) {
                return true;
            }
            found.next();
        }
        false
    })
}
