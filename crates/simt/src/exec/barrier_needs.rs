//! Which barriers a run of the group needs.
//!
//! # Why the others are needless
//!
//! Take one barrier statement away. The accesses of two barrier intervals then share an interval if nothing but
//! executions of that statement separates them. So the statement is needed if two such intervals have accesses by two
//! threads to one cell, and one of these may write. Otherwise no two threads conflict in the merged intervals either.
//! By the argument of [`memory`](crate::exec::memory) each thread then finds the same values as before.
//!
//! It claims less than that in five respects. Atomics count as writes, and so do writes of what is already there. After an
//! access at an unknown index, each cell of the array counts as written by several threads. Any two accesses to writable
//! device memory, and any two events in which the device may have had a part, count as a conflict, even of one thread:
//! other groups may see their order. A barrier that orders device memory is needed between them unless another such
//! barrier remains; one that does not is needed unless any other barrier remains, for threads wait there too. Where
//! barriers may hide in code that is not understood, or not all are reached under one condition, all are needed.
//!
//! Each statement is judged with all others in place.

use std::rc::Rc;

use rustc_hash::FxHashSet;
use shaderlint_hlsl::{GlobalId, Span, Storage};

use crate::exec::{Machine, Observer, RunMode, State};
use crate::terms::value::Value;

/// The most cells that a run may look at for this.
const MAX_CELLS: usize = 1 << 21;

/// The barrier statements of a run.
#[derive(Default)]
pub(crate) struct BarrierNeeds {
    /// Those that the run passed.
    passed: FxHashSet<Span>,
    needed: FxHashSet<Span>,
    /// There may be barriers that the run does not know.
    is_lost: bool,
    /// How many cells it looked at.
    cells: usize,
}

/// The accesses to a cell in some intervals.
#[derive(Clone, Copy, Default)]
struct Use {
    threads: Threads,
    writes: bool,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Threads {
    #[default]
    None,
    One(u16),
    Several,
}

impl Use {
    const UNKNOWN: Use = Use {
        threads: Threads::Several,
        writes: true,
    };

    fn join(&mut self, other: Use) {
        self.writes |= other.writes;
        self.threads = match (self.threads, other.threads) {
            (threads, Threads::None) | (Threads::None, threads) => threads,
            (one, other) if one == other => one,
            _ => Threads::Several,
        };
    }

    fn conflicts(self, other: Use) -> bool {
        let are_of_one = matches!(self.threads, Threads::One(_)) && self.threads == other.threads;
        let is_used = |one: Use| one.threads != Threads::None;
        is_used(self) && is_used(other) && (self.writes || other.writes) && !are_of_one
    }
}

/// By array: what was done with each cell.
type Uses = Vec<Vec<Use>>;

/// The last barrier of a kind, and what only this statement separates from what follows.
#[derive(Clone, Copy)]
struct Last<T> {
    barrier: Span,
    before: T,
}

impl Last<bool> {
    /// The same after another barrier. `is_used` says of the interval between the two what `before` says.
    fn then(last: Option<Last<bool>>, barrier: Span, is_used: bool) -> Last<bool> {
        let before = last.is_some_and(|last| last.barrier == barrier && last.before);
        Last {
            barrier,
            before: before || is_used,
        }
    }
}

/// The accesses before the last barriers.
#[derive(Clone, Default)]
pub(crate) struct Ledger {
    /// The last barrier that orders groupshared memory; `None` before it if the barrier is known to be needed.
    shared: Option<Last<Option<Rc<Uses>>>>,
    /// The last barrier, and whether device memory was accessed before it.
    waited: Option<Last<bool>>,
    /// The same for those that order device memory.
    device: Option<Last<bool>>,
    /// Device memory was accessed since the last barrier, and since the last that orders it.
    is_used: bool,
    is_used_unordered: bool,
    /// The condition of all barriers.
    guard: Option<Value>,
    /// What the state counted at the last barrier.
    counted: Counted,
}

/// What the state counts.
#[derive(Clone, Copy, Default, PartialEq)]
struct Counted {
    /// Barriers that order groupshared memory, those that order device memory, and what may hide further ones.
    barriers: (u32, u32, u32),
    /// The accesses to device memory, and events in which the device may have had a part.
    device: (u32, u32),
}

impl Counted {
    fn of(state: &State) -> Counted {
        let barriers = &state.barriers;
        Counted {
            barriers: (barriers.interval, barriers.device_interval, barriers.epoch),
            device: (state.ordering.touched(), state.events),
        }
    }
}

impl<O: Observer> Machine<'_, O> {
    /// Whether this run looks for barriers that it does not need: a run of the kernel itself, outside trials.
    fn looks_for_needless_barriers(&self) -> bool {
        matches!(self.mode, RunMode::Collectives | RunMode::Plain)
            && self.assuming.is_of_kernel_itself()
            && self.assuming.barriers.is_none()
            && !self.assuming.is_first_group
            && !self.barrier_needs.is_lost
            && !self.observer.is_trying()
    }

    /// Called before the group passes a barrier, under this guard.
    pub fn end_merged_interval(
        &mut self,
        barrier: Span,
        guard: &Value,
        orders_shared: bool,
        orders_device: bool,
    ) {
        if !self.looks_for_needless_barriers() {
            return;
        }
        self.barrier_needs.passed.insert(barrier);
        self.look_back_on_device();
        if orders_shared {
            self.look_back_on_shared(Some(barrier));
        }
        let ledger = Rc::make_mut(&mut self.state.ledger);
        self.barrier_needs.is_lost |= ledger.guard.get_or_insert_with(|| guard.clone()) != guard;
        ledger.waited = Some(Last::then(ledger.waited, barrier, ledger.is_used));
        ledger.is_used_unordered |= ledger.is_used;
        ledger.is_used = false;
        if orders_device {
            ledger.device = Some(Last::then(ledger.device, barrier, ledger.is_used_unordered));
            ledger.is_used_unordered = false;
        }
    }

    /// Called when the group has passed a barrier.
    pub fn begin_merged_interval(&mut self) {
        if self.looks_for_needless_barriers() {
            let counted = Counted::of(&self.state);
            Rc::make_mut(&mut self.state.ledger).counted = counted;
        }
    }

    /// The barriers that the run passed and does not need, in the order of the text: none unless it followed all that may
    /// need one. Operations that only a wave's lanes take part in may rely on a barrier to bring them together.
    pub fn needless_barriers(&self) -> Vec<Span> {
        let needs = &self.barrier_needs;
        let is_shared = |id: &&GlobalId| {
            let global = self.shader.globals.get(id.0 as usize);
            global.is_some_and(|global| global.storage == Storage::Groupshared)
        };
        let follows_all = self.named.iter().filter(is_shared).count() == self.state.shared.len()
            && !self.state.convergence.is_conditional()
            && self.state.loops.waits_for_others.is_empty();
        if needs.is_lost || !follows_all {
            return Vec::new();
        }
        let mut needless: Vec<Span> = needs.passed.difference(&needs.needed).copied().collect();
        needless.sort_unstable();
        needless
    }

    /// Called where the run ends.
    pub fn end_last_interval(&mut self) {
        if self.looks_for_needless_barriers() && !self.barrier_needs.passed.is_empty() {
            self.look_back_on_device();
            self.look_back_on_shared(None);
        }
    }

    /// Compares the accesses to device memory since the last barrier with earlier ones.
    fn look_back_on_device(&mut self) {
        let counted = Counted::of(&self.state);
        let ledger = Rc::make_mut(&mut self.state.ledger);
        let needs = &mut self.barrier_needs;
        needs.is_lost |= ledger.counted.barriers != counted.barriers;
        if ledger.counted.device != counted.device {
            ledger.is_used = true;
            let separating = [ledger.waited, ledger.device].into_iter().flatten();
            let separating = separating.filter(|last| last.before);
            needs.needed.extend(separating.map(|last| last.barrier));
        }
    }

    /// Compares the accesses to groupshared memory since the last barrier that orders it with earlier ones. `next` is the
    /// next such barrier, if the run does not end here.
    fn look_back_on_shared(&mut self, next: Option<Span>) {
        let ledger = Rc::make_mut(&mut self.state.ledger);
        let needs = &self.barrier_needs;
        let is_open = |barrier: &Span| !needs.needed.contains(barrier);
        let last = ledger.shared.take().filter(|last| is_open(&last.barrier));
        let is_next_open = next.as_ref().is_some_and(is_open);
        if last.is_none() && !is_next_open {
            ledger.shared = next.map(|barrier| Last {
                barrier,
                before: None,
            });
            return;
        }
        let mut now = self.uses_of_interval();
        let needs = &mut self.barrier_needs;
        if let Some(Last {
            barrier,
            before: Some(before),
        }) = &last
        {
            if are_in_conflict(before, &now) {
                needs.needed.insert(*barrier);
            }
            if next == Some(*barrier) {
                join(&mut now, before);
            }
        }
        Rc::make_mut(&mut self.state.ledger).shared = next.map(|barrier| Last {
            barrier,
            before: (!needs.needed.contains(&barrier)).then(|| Rc::new(now)),
        });
    }

    /// By array: what the current interval did with each cell.
    fn uses_of_interval(&mut self) -> Uses {
        let interval = self.state.barriers.interval;
        let mut looked_at = 0;
        let arrays = self.state.shared.iter();
        let uses = arrays.map(|array| {
            looked_at += array.tracks().len();
            let is_unknown = array.is_blurred(interval);
            let tracks = array.tracks().iter();
            tracks
                .map(|track| {
                    if is_unknown {
                        return Use::UNKNOWN;
                    }
                    let mut all = Use::default();
                    for (thread, writes) in track.threads_in(interval) {
                        let threads = Threads::One(thread);
                        all.join(Use { threads, writes });
                    }
                    all
                })
                .collect()
        });
        let uses = uses.collect();
        self.barrier_needs.cells += looked_at;
        self.barrier_needs.is_lost |= self.barrier_needs.cells > MAX_CELLS;
        uses
    }
}

/// Adds earlier accesses.
fn join(uses: &mut Uses, before: &Uses) {
    for (array, before) in uses.iter_mut().zip(before) {
        for (cell, before) in array.iter_mut().zip(before) {
            cell.join(*before);
        }
    }
}

/// Whether two threads access one cell, one before and one now, and one of them may write.
fn are_in_conflict(before: &Uses, now: &Uses) -> bool {
    let mut arrays = before.iter().zip(now);
    arrays.any(|(before, now)| before.iter().zip(now).any(|(before, now)| before.conflicts(*now)))
}
