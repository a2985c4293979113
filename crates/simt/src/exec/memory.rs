//! Groupshared memory, with the accesses to each cell since the last barrier.
//!
//! # Why one lock-step run finds every race
//!
//! Within a barrier interval each cell records its accesses. Suppose that no two threads access one cell where one of
//! them writes. Then each thread's run is a function of the memory at the interval's start, so every schedule leaves
//! the same memory (by induction over the intervals). It does not matter in which order the lock-step run meets the
//! two accesses of a pair: it sees the pair at the later one.

use std::num::NonZeroU32;
use std::rc::Rc;

use shaderlint_hlsl::{GlobalId, Span};

use crate::exec::position::Position;
use crate::finding::Point;
use crate::terms::column::{Column, Row};
use crate::terms::operator::Operator;
use crate::terms::value::Value;

/// One evaluation of one access in the text, by all threads that take part.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub span: Span,
    /// The loop iterations and the calls that it is in.
    pub position: Position,
    /// As [`Convergence::is_uncertain`](crate::exec::convergence::Convergence::is_uncertain) where the access is.
    pub is_uncertain: bool,
    /// A number for the guard that all participating threads share; `None` if their guards differ.
    pub shared_guard: Option<NonZeroU32>,
    /// The last barrier before it that orders groupshared memory.
    pub since: Option<Rc<Point>>,
    /// How many memory barriers at which no thread waits were passed before.
    pub fences: u32,
    /// Counts the points at which there may have been an unseen barrier.
    pub epoch: u32,
    /// A participating thread may have waited for another thread to write something.
    pub waited: bool,
    /// Counts the operations by which lanes of a wave exchange values.
    pub exchanges: u32,
    /// By thread: the condition under which it takes part.
    pub guard: Column,
    /// The innermost condition that may or may not hold, and whether the access requires that it holds.
    pub condition: Option<(Span, bool)>,
}

/// One thread's access. A cell keeps up to four of them, so what all threads have in common is kept with the site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Touch {
    /// Index into the run's sites.
    pub site: u32,
    pub thread: u16,
    /// Its guard holds for all inputs.
    pub is_unconditional: bool,
    pub action: Action,
}

/// What an access does with the cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// A read, or a write that may change the value.
    Plain,
    Atomic,
    /// A write that leaves the cell's value unchanged.
    Idle,
    /// An atomic, and a write that leaves the value unchanged, each under its own condition.
    Mixed,
}

impl Touch {
    /// This access by another thread. It stands for all threads: it is unconditional if the accesses of all are.
    pub fn by(self, thread: usize, guard: Row<'_>) -> Touch {
        Touch {
            thread: thread as u16,
            is_unconditional: self.is_unconditional || *guard.at(thread) == Value::TRUE,
            ..self
        }
    }

    /// Whether two accesses both happen: for certain if both guards are known to hold, and for some inputs if both
    /// have the same guard.
    pub fn meets(self, other: Touch, sites: &[Site]) -> Meeting {
        let (Some(here), Some(there)) = (sites.get(self.site as usize), sites.get(other.site as usize))
        else {
            return Meeting::Uncertain;
        };
        // A thread that waited may come after everything that the others do.
        let waited = here.waited || there.waited;
        let mixed = [self.action, other.action].contains(&Action::Mixed);
        if here.is_uncertain || there.is_uncertain || waited || mixed || here.epoch != there.epoch {
            return Meeting::Uncertain;
        }
        let one_guard = here.shared_guard.is_some() && here.shared_guard == there.shared_guard;
        match (self.is_unconditional, other.is_unconditional) {
            (true, true) => Meeting::Certain,
            _ if one_guard => Meeting::Certain,
            (true, false) => Meeting::If(other),
            (false, true) => Meeting::If(self),
            (false, false) => Meeting::IfBoth,
        }
    }
}

/// Whether two accesses both happen, at least for some inputs, with no barrier between them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Meeting {
    Certain,
    /// This access has a condition; where it happens, the other one does too.
    If(Touch),
    /// The two have different conditions.
    IfBoth,
    Uncertain,
}

/// The accesses to a cell.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Track {
    /// The interval that the other fields refer to.
    interval: u32,
    /// Two different threads of each kind suffice.
    writes: [Option<Touch>; 2],
    reads: [Option<Touch>; 2],
    /// All writes of the interval left the same value.
    agreed: bool,
    /// A write of the interval changed the cell's value.
    changed: bool,
    /// The least and the greatest thread that wrote.
    writers: (u16, u16),
    /// The same for threads that wrote under no condition.
    unconditional_writers: Option<(u16, u16)>,
    /// Some thread between these two may not have written.
    gaps: bool,
}

/// How many accesses at unknown elements are kept per interval.
const MAX_DATA_DEPENDENT: usize = 24;

/// One groupshared variable, flattened into 32-bit cells.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub global: GlobalId,
    /// The cells are a tile of a resource, whose intervals end at the barriers that order device memory.
    pub on_device: bool,
    cells: Rc<Vec<Value>>,
    tracks: Rc<Vec<Track>>,
    /// The interval of an access at an unknown place: nothing can be proved about the array until the next barrier.
    blurred_in: Option<u32>,
    /// The interval of a plain store to unknown cells.
    strayed_in: Option<u32>,
    /// Some of the accesses at unknown elements, in the current interval.
    data_dependent: Vec<DataDependent>,
    /// The operator of all atomics on the array in this interval; `None` if they differ or one does not combine its
    /// operand with the cell.
    atomics: Option<(u32, Option<Operator>)>,
}

/// Two accesses of one cell that no barrier orders, one of them a write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conflict {
    pub cell: u32,
    pub first: Touch,
    pub second: Touch,
    pub first_writes: bool,
    pub second_writes: bool,
    /// It may be no conflict.
    pub may_be_none: bool,
    /// The thread whose data lead it to the cell, and the seed of such data.
    pub data_dependent: Option<(u16, u64)>,
}

/// One thread's addition to an unknown element.
#[derive(Clone, Debug)]
pub(crate) struct DataDependent {
    pub touch: Touch,
    /// The first cell of the element, and the component within it.
    pub base: Value,
    pub component: u32,
}

impl Shared {
    pub fn new(global: GlobalId, cells: Vec<Value>) -> Shared {
        let tracks = vec![Track::default(); cells.len()];
        Shared {
            global,
            on_device: false,
            cells: Rc::new(cells),
            tracks: Rc::new(tracks),
            blurred_in: None,
            strayed_in: None,
            data_dependent: Vec::new(),
            atomics: None,
        }
    }

    pub fn cells(&self) -> &[Value] {
        &self.cells
    }

    pub fn cells_mut(&mut self) -> &mut Vec<Value> {
        Rc::make_mut(&mut self.cells)
    }

    /// Records an access at an unknown index. Any other access in the interval may meet it.
    pub fn blur(&mut self, interval: u32) {
        if self.blurred_in.replace(interval) != Some(interval) {
            self.data_dependent.clear();
        }
    }

    /// The same for a plain store.
    pub fn stray(&mut self, interval: u32) {
        self.blur(interval);
        self.strayed_in = Some(interval);
    }

    /// Whether more additions to unknown elements are kept; for resources none are.
    pub fn has_room_for_data_dependent(&self) -> bool {
        !self.on_device && self.data_dependent.len() < MAX_DATA_DEPENDENT
    }

    /// Records an addition to an unknown element, in the interval in which the array is blurred.
    pub fn note_data_dependent(&mut self, led: DataDependent) {
        self.data_dependent.push(led);
    }

    /// The additions to unknown elements that were kept for this interval.
    pub fn data_dependent_in(&self, interval: u32) -> &[DataDependent] {
        if self.is_blurred(interval) {
            &self.data_dependent
        } else {
            &[]
        }
    }

    pub fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    /// Whether a thread wrote to any cell in this interval.
    pub fn is_written_in(&self, interval: u32) -> bool {
        let mut of_now = self.tracks.iter().filter(|track| track.interval == interval);
        self.strayed_in == Some(interval) || of_now.any(|track| track.writes[0].is_some())
    }

    /// The same, including atomics.
    pub fn may_be_written_in(&self, interval: u32) -> bool {
        self.is_written_in(interval) || self.atomics.is_some_and(|(known, _)| known == interval)
    }

    /// The single operator by which all atomics of the interval so far combine, including the current one. It is
    /// commutative and associative, and plain accesses by other threads would be races. So the atomics leave the same
    /// value in a cell under every order in which the device serves them.
    pub fn combined_by(&mut self, interval: u32, operator: Option<Operator>) -> Option<Operator> {
        let operator = match self.atomics {
            Some((known, of_others)) if known == interval => operator.filter(|own| of_others == Some(*own)),
            _ => operator,
        };
        self.atomics = Some((interval, operator));
        operator
    }

    pub fn is_blurred(&self, interval: u32) -> bool {
        self.blurred_in == Some(interval)
    }

    /// Whether another run's accesses cover every access of this interval. An access is covered if this thread, or
    /// two other threads, make an access of the same kind to the same cell. If a third thread's access races with a
    /// covered access, it also races with one of those that cover it.
    pub fn touches_no_more(&self, interval: u32, other: &Shared, of_other: u32) -> bool {
        let mut pairs = self.tracks.iter().zip(other.tracks.iter());
        !self.is_blurred(interval)
            && !self.may_be_written_by_atomics(interval)
            && pairs.all(|(track, of)| track.interval != interval || track.touches_no_more(of, of_other))
    }

    fn may_be_written_by_atomics(&self, interval: u32) -> bool {
        self.atomics.is_some_and(|(known, _)| known == interval)
    }

    /// The cells and their accesses. Shared storage is copied once here, not at each access.
    pub fn open(&mut self) -> (&mut [Value], &mut [Track]) {
        (
            Rc::make_mut(&mut self.cells).as_mut_slice(),
            Rc::make_mut(&mut self.tracks).as_mut_slice(),
        )
    }

    /// The same for reads only.
    pub fn open_to_read(&mut self) -> (&[Value], &mut [Track]) {
        (&self.cells, Rc::make_mut(&mut self.tracks).as_mut_slice())
    }
}

impl Track {
    /// Records a read and returns its conflict.
    ///
    /// A thread that wrote the cell itself under no condition, with the value that all others wrote too, reads this value
    /// under every order. A thread that wrote under a condition may find the earlier value. Only the bounds of the
    /// writing threads are known: if there are gaps between them, this thread may or may not have written, and
    /// nothing is proved.
    pub fn read(&mut self, cell: u32, interval: u32, touch: Touch) -> Option<Conflict> {
        self.enter(interval);
        let (least, greatest) = self.writers;
        let is_among_writers = (least..=greatest).contains(&touch.thread);
        let may_have_written = self.agreed && is_among_writers;
        let is_among_unconditional = self
            .unconditional_writers
            .is_some_and(|(least, greatest)| (least..=greatest).contains(&touch.thread));
        let reads_its_own = self.agreed && is_among_unconditional && !self.gaps;
        let conflict = self
            .writes
            .iter()
            .flatten()
            .find(|write| write.thread != touch.thread && write.action != Action::Idle && !reads_its_own)
            .map(|first| Conflict {
                cell,
                first: *first,
                second: touch,
                first_writes: true,
                second_writes: false,
                // It is not known whether writes under conditions agree.
                may_be_none: may_have_written || is_among_writers && !touch.is_unconditional,
                data_dependent: None,
            });
        remember(&mut self.reads, touch);
        conflict
    }

    /// Records a write and returns its conflict. `idle` if it leaves the value that was there.
    ///
    /// Threads that all write one value do not race among themselves. A write of the cell's current value either
    /// repeats their value, or the value that the cell had all along. But another schedule may make the write
    /// earlier: if the cell has changed in this interval, another thread may find the value earlier than in this run.
    pub fn write(&mut self, cell: u32, interval: u32, mut touch: Touch, idle: bool) -> Option<Conflict> {
        let is_atomic = touch.action == Action::Atomic;
        let is_idle = idle && !is_atomic;
        if is_idle {
            touch.action = Action::Idle;
        }
        self.enter(interval);
        let clash = |first: &Touch, first_writes: bool| Conflict {
            cell,
            first: *first,
            second: touch,
            first_writes,
            second_writes: true,
            may_be_none: false,
            data_dependent: None,
        };
        let is_of_another = |other: &&Touch| other.thread != touch.thread;
        let are_atomic = |write: &Touch| is_atomic && write.action == Action::Atomic;
        let meets = |write: &&Touch| is_of_another(write) && !is_idle && !are_atomic(write);
        let shows = !is_idle || self.changed;
        let conflict = match self.writes.iter().flatten().find(meets) {
            Some(write) => Some(clash(write, true)),
            None => self
                .reads
                .iter()
                .flatten()
                .find(|read| shows && is_of_another(read))
                .map(|read| clash(read, false)),
        };
        self.changed |= !is_idle;
        let is_first = self.writes[0].is_none();
        self.agreed = !is_atomic && (is_first || self.agreed && is_idle);
        let (least, greatest) = if is_first {
            (touch.thread, touch.thread)
        } else {
            self.writers
        };
        self.writers = (least.min(touch.thread), greatest.max(touch.thread));
        if touch.is_unconditional {
            let (least, greatest) = self.unconditional_writers.unwrap_or((touch.thread, touch.thread));
            self.gaps |= touch.thread > greatest.saturating_add(1) || touch.thread.saturating_add(1) < least;
            self.unconditional_writers = Some((least.min(touch.thread), greatest.max(touch.thread)));
        }
        remember(&mut self.writes, touch);
        conflict
    }
}

/// Keeps up to two touches by different threads. Of two touches by one thread, the one that meets more accesses
/// stays, with its own condition: a write that leaves the value unchanged, or an atomic, may be certain where another
/// access is not. If neither meets everything that the other meets, nothing is certain about the two.
fn remember(touches: &mut [Option<Touch>; 2], touch: Touch) {
    for slot in touches {
        match slot {
            Some(kept) if kept.thread != touch.thread => {}
            Some(kept) => {
                match (kept.action, touch.action) {
                    (own, other) if own == other => {
                        if !kept.is_unconditional {
                            *kept = touch;
                        }
                    }
                    (Action::Plain, _) => {}
                    (_, Action::Plain) => *kept = touch,
                    // Each meets accesses that the other does not.
                    _ => kept.action = Action::Mixed,
                }
                return;
            }
            None => {
                *slot = Some(touch);
                return;
            }
        }
    }
}

impl Track {
    /// The unconditional accesses of an interval other than atomics, and whether each writes.
    pub fn plain_in(&self, interval: u32) -> impl Iterator<Item = (Touch, bool)> {
        let is_now = self.interval == interval;
        let all = [(self.writes, true), (self.reads, false)].into_iter();
        let all =
            all.flat_map(|(touches, writes)| touches.into_iter().flatten().map(move |touch| (touch, writes)));
        all.filter(move |(touch, _)| is_now && touch.is_unconditional && touch.action == Action::Plain)
    }

    /// Threads that accessed the cell in an interval, and whether they wrote: two of each kind, if there are more.
    pub fn threads_in(&self, interval: u32) -> impl Iterator<Item = (u16, bool)> {
        let all = [(self.writes, true), (self.reads, false)].into_iter();
        let all = all.flat_map(|(touches, writes)| {
            touches
                .into_iter()
                .flatten()
                .map(move |touch| (touch.thread, writes))
        });
        let is_now = self.interval == interval;
        all.filter(move |_| is_now)
    }

    fn touches_no_more(&self, other: &Track, interval: u32) -> bool {
        let is_now = other.interval == interval;
        let unconditional = |touches: [Option<Touch>; 2]| {
            let touches = touches.into_iter().flatten();
            touches.filter(move |touch| is_now && touch.is_unconditional && touch.action == Action::Plain)
        };
        let covers = |of: &[Touch], touch: &Touch| {
            let is_of_several = of.iter().any(|one| one.thread != of[0].thread);
            is_of_several || of.iter().any(|one| one.thread == touch.thread)
        };
        let writes: Vec<Touch> = unconditional(other.writes).collect();
        let any: Vec<Touch> = unconditional(other.writes)
            .chain(unconditional(other.reads))
            .collect();
        let mut own_writes = self.writes.iter().flatten();
        let mut own_reads = self.reads.iter().flatten();
        own_writes.all(|touch| covers(&writes, touch)) && own_reads.all(|touch| covers(&any, touch))
    }

    fn enter(&mut self, interval: u32) {
        if self.interval != interval {
            *self = Track {
                interval,
                ..Track::default()
            };
        }
    }
}
