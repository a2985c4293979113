//! Candidates: runs of statements that may be a collective, tried out in the middle of a run.
//!
//! Where a statement touches groupshared memory and a barrier follows in its block, the state is copied, every cell and
//! variable whose value is not known becomes a free atom, and the statements are run. If afterwards some place holds
//! x0 ⊕ … ⊕ xi for every thread i, and nothing raced, the statements *are* a scan of these atoms: for every input, by
//! the argument in [`crate::terms::value`], and in this place of this kernel, since all that stayed known is known there.
//! Two places that hold the same term get the same atom: that only uses that they are equal there.

use std::collections::{BTreeMap, BTreeSet};

use shaderlint_hlsl::{FunctionId, GlobalId, LocalId, Shader, Span, Stmt, StmtKind};

use crate::detect::Detectors;
use crate::detect::collectives::atoms::{Freeing, Layouts, Twin};
use crate::detect::collectives::executed::Executed;
use crate::detect::collectives::partial_results::Watch;
use crate::detect::coverage::{Missed, runs_once};
use crate::exec::memory::Shared;
use crate::exec::{MAX_WORK, Machine, Report, State};
use crate::facts::effects::Effects;
use crate::finding::leftovers::Places;
use crate::finding::{Amid, Collective, Elements, Kind, Obstacle};
use crate::terms::column::Column;
use crate::terms::value::Value;
use crate::terms::{Needs, Terms};

/// Statements tried as the start of a candidate, per entry point.
const MAX_PROBES: usize = 96;
/// How often a construct is tried again because other things were known when its statements ran once more.
const MAX_RETRIES: u32 = 8;
/// Statements of one block that a candidate has at most: an unrolled ladder has a few a rung.
const MAX_STATEMENTS: usize = 512;
/// Statements after which not all threads are there any more that may hold a total's last step.
const MAX_LAST: u32 = 16;

#[derive(Default)]
pub(crate) struct Prober {
    pub enabled: bool,
    pub watch: Option<Watch>,
    tried: BTreeSet<Key>,
    /// Statements that what follows them keeps from being a collective's first.
    hopeless: BTreeSet<Key>,
    found: Vec<Found>,
    /// What was found when less or other things were known, for as long as it is found again each time.
    retried: BTreeMap<Key, Retried>,
    /// Statements the run itself has started.
    tick: u64,
    missed: Missed,
    /// Where constructs begin that another run found, and whether this run came there.
    awaited: BTreeMap<(FunctionId, u32), bool>,
    /// Constructs behind the last of which the run may end, each with whether it has come so far.
    ends: Vec<(FunctionId, Span, bool)>,
}

/// A statement, by its function and place.
type Key = (FunctionId, Span);

/// A construct that is tried again, and how often it was.
struct Retried {
    collective: Collective,
    times: u32,
}

struct Found {
    collective: Collective,
    key: Key,
    entry: Entry,
    /// The tick at its start.
    started: u64,
    /// The same of each time that its statements ran once more.
    again: Vec<u64>,
}

impl Found {
    /// The ticks at which its statements began to run.
    fn times(&self) -> impl Iterator<Item = u64> {
        std::iter::once(self.started).chain(self.again.iter().copied())
    }
}

/// What was known at the first run of a statement that may be a collective's first. The statement may run again, in
/// another pass of a loop or another call; what was found holds there too if the same is known.
struct Entry {
    /// Variables that the statements use and do not declare, where the values are no free atoms.
    locals: Vec<(LocalId, Vec<Column>)>,
    /// The resources that variables stand for.
    aliases: BTreeMap<LocalId, (GlobalId, Vec<Column>)>,
    /// Cells of arrays that are known in part.
    cells: Vec<(GlobalId, Vec<Value>)>,
    /// All `static` globals: there are few.
    statics: Vec<(GlobalId, Vec<Column>)>,
    twins: Vec<Twin>,
}

/// What the statements from a start on turned out to be.
struct Candidate {
    collective: Collective,
    /// Number of statements.
    length: usize,
    twins: Vec<Twin>,
}

impl Candidate {
    /// Whether the result is in the array that the elements are in.
    fn is_in_one_array(&self) -> bool {
        let array = |place: &Elements| match place {
            Elements::Array { global, .. } | Elements::Cell { global, .. } => Some(*global),
            _ => None,
        };
        let input = array(&self.collective.input);
        input.is_some() && input == array(&self.collective.output)
    }
}

impl Entry {
    fn new(terms: &Terms, state: &State, effects: &[Effects], twins: Vec<Twin>) -> Entry {
        let all = Effects::of_all(effects);
        let is_known = |value: &Value| terms.is_place(value);
        let locals = all
            .read
            .union(&all.written)
            .filter(|local| !all.declared.contains(local));
        let columns =
            locals.filter_map(|local| Some((*local, state.frame.locals.get(local.0 as usize)?.clone())));
        // What is the same for all threads is no atom, known or not.
        let has_known = |local: &LocalId, column: &Column| match column {
            Column::Uniform(value) => is_known(value) || all.read.contains(local),
            Column::Lanes(values) => values.iter().any(is_known),
        };
        let arrays = state
            .shared
            .iter()
            .filter(|array| all.shared_read.contains(&array.global) && array.cells().iter().any(is_known));
        Entry {
            locals: columns
                .filter(|(local, columns)| columns.iter().any(|column| has_known(local, column)))
                .collect(),
            cells: arrays
                .map(|array| (array.global, array.cells().to_vec()))
                .collect(),
            statics: state
                .statics
                .iter()
                .map(|(global, columns)| (*global, columns.clone()))
                .collect(),
            aliases: state.frame.aliases.clone(),
            twins,
        }
    }

    fn is_as_before(&self, terms: &Terms, state: &State) -> bool {
        let same = |known: &Value, now: &Value| !terms.is_place(known) || known == now;
        let same_column = |known: &Column, now: &Column| match (known, now) {
            (Column::Uniform(known), Column::Uniform(now)) => known == now,
            (Column::Lanes(known), _) => (0..)
                .zip(known.iter())
                .all(|(thread, known)| same(known, now.at(thread))),
            (Column::Uniform(known), Column::Lanes(now)) => now.iter().all(|now| known == now),
        };
        let same_locals = self.locals.iter().all(|(local, known)| {
            let now = state.frame.locals.get(local.0 as usize);
            now.is_some_and(|now| known.iter().zip(now).all(|(known, now)| same_column(known, now)))
        });
        let cell = |(global, cell): (GlobalId, usize)| {
            let mut arrays = state.shared.iter();
            arrays.find(|array| array.global == global)?.cells().get(cell)
        };
        let are_twins = self.twins.iter().all(|twin| {
            let columns = state.frame.locals.get(twin.local.0 as usize);
            columns
                .and_then(|columns| columns.get(twin.component))
                .is_some_and(|column| {
                    let cells = (0..).zip(&twin.cells);
                    let mut cells = cells.filter_map(|(thread, own)| Some((thread, (*own)?)));
                    cells.all(|(thread, own)| cell(own) == Some(column.at(thread)))
                })
        });
        // No static is made an atom.
        let same_statics = self
            .statics
            .iter()
            .all(|(global, known)| state.statics.get(global) == Some(known));
        same_locals
            && self.aliases == state.frame.aliases
            && same_statics
            && are_twins
            && self.cells.iter().all(|(global, known)| {
                let now = state.shared.iter().find(|array| array.global == *global);
                now.is_some_and(|now| known.iter().zip(now.cells()).all(|(known, now)| same(known, now)))
            })
    }
}

/// What a block's run leaves for its probing.
#[derive(Default)]
pub(crate) struct Trail {
    /// By statement that was run: the tick at its start.
    ticks: Vec<u64>,
    starts: Vec<Start>,
    /// The first statement with a barrier from the last one on that was asked about.
    barrier: usize,
}

/// A statement that may be a collective's first.
struct Start {
    index: usize,
    key: Key,
    state: State,
    /// Of the statement and those after it, as far as all of them can be tried.
    effects: Vec<Effects>,
}

impl Prober {
    pub fn is_probing(&self) -> bool {
        self.watch.is_some()
    }

    pub fn at_barrier(&mut self, span: Span, orders_device: bool) {
        if let Some(watch) = &mut self.watch {
            watch.barriers += 1;
            watch.orders_device |= orders_device;
            watch.settled = true;
            if !watch.barrier_spans.contains(&span) {
                watch.barrier_spans.push(span);
            }
        }
    }

    /// Device memory is ordered without waiting for the group.
    pub fn at_fence(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.orders_device = true;
        }
    }

    /// Groupshared memory was touched.
    pub fn accessed(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.settled = false;
        }
    }

    /// Statements are not followed: what was found in them, or in what they call, was not seen each time it runs.
    pub fn miss(&mut self, shader: &Shader, function: FunctionId, statements: &[Stmt]) {
        if self.is_probing() {
            return;
        }
        self.missed.note(shader, function, statements);
    }

    /// Asks [`Prober::has_met`] of these constructs.
    pub fn await_again(&mut self, found: &[Collective]) {
        let starts = found.iter().map(|found| (found.function, found.span.start));
        self.awaited = starts.map(|start| (start, false)).collect();
    }

    /// The run is for these constructs alone, which it awaits: it may end behind the last of them. What it finds until then
    /// is what it would find to its end, as each of them runs once: whether it holds is tried out on the state at its start,
    /// and neither a second run nor a statement that is not followed can take it back later.
    pub fn end_after<'c>(
        &mut self,
        shader: &Shader,
        entry: FunctionId,
        found: impl Iterator<Item = &'c Collective>,
    ) {
        let ends: Option<Vec<_>> = found
            .map(|found| {
                let is_one = runs_once(shader, entry, found.function, found.span);
                is_one.then_some((found.function, found.span, false))
            })
            .collect();
        self.ends = ends.unwrap_or_default();
    }

    /// After a statement: whether nothing more is asked of the run.
    pub fn is_done(&mut self, function: FunctionId, statement: Span) -> bool {
        if self.ends.is_empty() || self.is_probing() {
            return false;
        }
        for (of, span, is_passed) in &mut self.ends {
            let start = (*of, span.start);
            let is_end = *of == function && statement.start < span.end && span.end <= statement.end;
            *is_passed |= is_end && self.awaited.get(&start) == Some(&true);
        }
        self.ends.iter().all(|(.., is_passed)| *is_passed)
    }

    /// Whether a run to its end may have come to a construct that it was told to await.
    pub fn has_met(&self, found: &Collective) -> bool {
        let start = (found.function, found.span.start);
        self.awaited.get(&start) != Some(&false) || self.missed.has(found.function, found.span)
    }

    /// The collectives found, in the order in which they run. Where the run of `entry` stopped early, those that may
    /// run once more behind its end are none.
    pub fn finish(&mut self, shader: &Shader, stopped: Option<FunctionId>) -> Vec<Collective> {
        let mut found = std::mem::take(&mut self.found);
        found.retain(|found| {
            let (function, span) = found.key;
            let span = span.to(found.collective.span);
            !self.missed.has(function, span)
                && stopped.is_none_or(|entry| runs_once(shader, entry, function, span))
        });
        found.sort_by_key(|found| found.started);
        found.into_iter().map(|found| found.collective).collect()
    }
}

impl<'a> Machine<'a, Detectors> {
    /// About to run the statement at `index` of a block: notes what is needed should a construct start there.
    pub fn leave_trail(&mut self, statements: &'a [Stmt], index: usize, trail: &mut Trail) {
        if !self.observer.prober.enabled || self.observer.prober.is_probing() {
            return;
        }
        self.observer.prober.tick += 1;
        trail.ticks.push(self.observer.prober.tick);
        let Some((first, rest)) = statements.get(index..).and_then(<[Stmt]>::split_first) else {
            return;
        };
        // A proof holds whenever all threads are here. Under a guard that they share, all of them are or none. Under any other
        // guard the first barrier assumes that they are ([`Machine::assume_all_stay`]).
        let everyone = self.state.active == self.all && self.state.alive == self.all;
        let key = (self.state.frame.function, first.span);
        let awaits = !self.observer.prober.awaited.is_empty();
        match self.observer.prober.awaited.get_mut(&(key.0, key.1.start)) {
            Some(is_met) => *is_met = true,
            // Nothing that another run did not find is asked for.
            None if awaits => return,
            None => {}
        }
        if self.observer.prober.tried.contains(&key) && !self.is_to_be_retried(key, everyone) {
            return;
        }
        let is_hopeless = self.observer.prober.hopeless.contains(&key);
        if !everyone || is_hopeless || self.observer.prober.tried.len() >= MAX_PROBES {
            return;
        }
        let mut of_one = |statement| {
            self.effects
                .of_statements(self.shader, std::slice::from_ref(statement))
        };
        let of_first = of_one(first);
        // After the last barrier one thread may combine what all have stored.
        let mut is_last_barrier =
            || of_first.barrier && rest.iter().all(|statement| !of_one(statement).barrier);
        if !(of_first.touches_shared() || is_last_barrier()) {
            return;
        }
        trail.barrier = trail.barrier.max(index);
        while statements
            .get(trail.barrier)
            .is_some_and(|statement| !of_one(statement).barrier)
        {
            trail.barrier += 1;
        }
        if trail.barrier == statements.len() || trail.barrier - index >= MAX_STATEMENTS {
            self.observer.prober.hopeless.insert(key);
            return;
        }
        let mut effects: Vec<Effects> = Vec::new();
        let mut after = 0;
        for of_one in std::iter::once(of_first).chain(rest.iter().map(of_one)) {
            after += u32::from(after > 0 || of_one.leaves);
            let can_be_tried = !of_one.opaque && (after == 0 || can_be_last(&of_one) && after <= MAX_LAST);
            if !can_be_tried || effects.len() == MAX_STATEMENTS {
                break;
            }
            effects.push(of_one);
        }
        if self.could_be_a_collective(&effects) {
            self.observer.prober.tried.insert(key);
            let mut state = self.state.clone();
            state.guard = Column::Uniform(Value::TRUE);
            // What comes here has passed the last barrier, unless that is one that only some inputs lead to.
            for guard in [&mut state.barriers.guard, &mut state.barriers.device_guard] {
                if self.leads_here(guard) {
                    *guard = Value::TRUE;
                }
            }
            trail.starts.push(Start {
                index,
                key,
                state,
                effects,
            });
        } else {
            self.observer.prober.hopeless.insert(key);
        }
    }

    /// The collectives that the run found, which `stopped` early if it names the entry point: seen through windows, those
    /// that only a window shows.
    pub fn collectives(&mut self, stopped: Option<FunctionId>) -> Vec<Collective> {
        let mut found = self.observer.prober.finish(self.shader, stopped);
        for collective in &mut found {
            collective.presumes |= self.noticed.presumed;
            collective.amid = collective
                .amid
                .or(self.noticed.ordered_by_chance.map(Amid::Barrier));
        }
        if self.windows.is_empty() {
            return found;
        }
        found.retain_mut(|collective| {
            let extents = self.window_extents(&collective.arrays, stopped.is_none());
            collective.windows = extents.unwrap_or_default();
            collective.rewrite = Err(Obstacle::SomeRuns);
            !collective.windows.is_empty()
        });
        found
    }

    /// What was found of a statement that runs once more holds for this run too if the same is known. Else it is tried
    /// again: it stays only if it turns out to be the same construct each time.
    fn is_to_be_retried(&mut self, key: Key, everyone: bool) -> bool {
        let (terms, state) = (&*self.terms, &self.state);
        let still_holds = |found: &Found| everyone && found.entry.is_as_before(terms, state);
        let Some(at) = self
            .observer
            .prober
            .found
            .iter()
            .position(|found| found.key == key)
        else {
            return false;
        };
        if still_holds(&self.observer.prober.found[at]) {
            self.observer.prober.found[at]
                .again
                .push(self.observer.prober.tick);
            return false;
        }
        let known = self.observer.prober.found.swap_remove(at);
        let times = self
            .observer
            .prober
            .retried
            .get(&key)
            .map_or(0, |retried| retried.times);
        self.observer.prober.retried.insert(
            key,
            Retried {
                collective: known.collective,
                times: times + 1,
            },
        );
        times < MAX_RETRIES
    }

    /// Tries each start of a block as a collective's, the last first. Of two scans one of which contains the other the
    /// inner one is wanted: a candidate ends before the statement in which one was found already.
    pub fn probe(&mut self, statements: &'a [Stmt], Trail { ticks, starts, .. }: Trail) {
        if starts.is_empty() {
            return;
        }
        let state = self.state.clone();
        let report = std::mem::take(&mut self.report);
        for start in starts.into_iter().rev() {
            let tick = |index: usize| ticks.get(index).copied().unwrap_or(u64::MAX);
            let started = tick(start.index);
            let found = self.observer.prober.found.iter();
            let scans = found.filter(|inner| inner.collective.kind != Kind::Reduction);
            let end = scans
                .flat_map(Found::times)
                .filter(|inner| *inner >= started)
                .min()
                .map_or(statements.len(), |inner| {
                    ticks.partition_point(|tick| *tick <= inner).saturating_sub(1)
                });
            let statements = statements.get(start.index..end).unwrap_or_default();
            let effects = start.effects.get(..statements.len()).unwrap_or(&start.effects);
            if self.is_exhausted() || !self.could_be_a_collective(effects) {
                continue;
            }
            let found = self.try_start(&statements[..effects.len()], effects, &start.state);
            let Some(Candidate {
                mut collective,
                length,
                twins,
            }) = found
            else {
                continue;
            };
            if let Some(retried) = self.observer.prober.retried.get(&start.key) {
                if !is_same(&retried.collective, &collective) {
                    continue;
                }
                // What may replace it in one run may not in another.
                if collective.rewrite != retried.collective.rewrite {
                    collective.rewrite = Err(Obstacle::SomeRuns);
                }
            }
            // A total inside a scan is a part of it; of two totals the inner one is wanted.
            let ended = tick(start.index + length);
            let is_inside = |tick: u64| tick >= started && tick < ended;
            if collective.kind != Kind::Reduction {
                self.observer
                    .prober
                    .found
                    .retain(|found| !is_inside(found.started));
            } else if self
                .observer
                .prober
                .found
                .iter()
                .any(|found| found.times().any(is_inside))
            {
                continue;
            }
            self.observer.prober.found.push(Found {
                collective,
                key: start.key,
                entry: Entry::new(self.terms, &start.state, &effects[..length], twins),
                started,
                again: Vec::new(),
            });
        }
        self.state = state;
        self.report = report;
    }

    /// An exclusive scan gathers all elements but one.
    fn could_be_a_collective(&self, effects: &[Effects]) -> bool {
        let all = Effects::of_all(effects);
        let touched = |array: &&Shared| {
            all.shared_read.contains(&array.global) || all.shared_written.contains(&array.global)
        };
        let cells = self
            .state
            .shared
            .iter()
            .filter(touched)
            .map(|array| array.cells().len());
        let least = cells.chain([self.lanes]).min().unwrap_or(1);
        all.barrier && all.could_gather(least.saturating_sub(1))
    }

    fn try_start(&mut self, statements: &'a [Stmt], effects: &[Effects], state: &State) -> Option<Candidate> {
        let all = Effects::of_all(effects);
        // Known cells among unknown ones may be padding the ladder relies on, or elements that happen to be known.
        let is_mixed = state
            .shared
            .iter()
            .filter(|array| {
                all.shared_read.contains(&array.global) || all.shared_written.contains(&array.global)
            })
            .any(|array| {
                let known = array.cells().iter().filter(|cell| cell.known().is_some()).count();
                known > 0 && known < array.cells().len()
            });
        let touched: BTreeSet<GlobalId> = all.shared_read.union(&all.shared_written).copied().collect();
        let mut axes = 1;
        for global in &touched {
            axes = self
                .layouts(&touched, 0)
                .array(*global)
                .map_or(axes, |layout| axes.max(layout.axes()));
        }
        let frees: &[bool] = if is_mixed { &[true, false] } else { &[false] };
        (0..axes).find_map(|axis| {
            // With other cells known it may be more than the total it contains.
            let mut total = None;
            for known_cells in frees {
                let mut attempt = |from_last: bool| {
                    self.report = Report::default();
                    self.state = state.clone();
                    let layouts = self.layouts(&touched, axis);
                    let freeing = Freeing {
                        known_cells: *known_cells,
                        from_last,
                    };
                    let tried = self.try_candidate(statements, effects, &all, layouts, freeing);
                    self.observer.prober.watch = None;
                    tried
                };
                let (mut found, has_choice) = attempt(false);
                // A variable may have been taken for an element of another array than the one it is combined with.
                if has_choice && !found.as_ref().is_some_and(Candidate::is_in_one_array) {
                    let (other, _) = attempt(true);
                    if found.is_none() || other.as_ref().is_some_and(Candidate::is_in_one_array) {
                        found = other;
                    }
                }
                match found {
                    Some(found) if found.collective.kind != Kind::Reduction => return Some(found),
                    found => total = total.or(found),
                }
            }
            total
        })
    }

    fn try_candidate(
        &mut self,
        statements: &'a [Stmt],
        effects: &[Effects],
        all: &Effects,
        layouts: Layouts,
        freeing: Freeing,
    ) -> (Option<Candidate>, bool) {
        self.observer.prober.watch = self.watch(&layouts, &all.written);
        if self.observer.prober.watch.is_none() {
            return (None, false);
        }
        let atoms = self.free(layouts, all, freeing);
        let has_choice = atoms.has_choice;
        if let Some(watch) = &mut self.observer.prober.watch {
            watch.first = atoms.first;
        }
        let mut best: Option<(Collective, usize)> = None;
        let (mut so_far, mut events) = (Effects::default(), Vec::new());
        self.terms.needs.set(Needs::default());
        let work = self.terms.work();
        for (number, (statement, of_one)) in (1..).zip(statements.iter().zip(effects)) {
            if self.statement(statement).is_err() {
                break;
            }
            if self.assuming.skims && self.terms.work() - work > MAX_WORK / 16 {
                break;
            }
            events.push(self.state.events);
            let is_first_barrier = of_one.barrier && !so_far.barrier;
            so_far.add(of_one);
            let is_last = so_far.leaves;
            let clean = !self.report.unproved
                && self.report.open_name.is_none()
                && self.report.out_of_bounds.is_empty()
                && !self.report.used_waves
                && (is_last || self.state.active == self.all);
            if !clean || self.state.active.is_empty() {
                break;
            }
            let changes_something = of_one.touches_shared() || !of_one.written.is_empty();
            let is_barrier = of_one.barrier && matches!(statement.kind, StmtKind::Expr(_));
            // A form of a reduction ends with a barrier in any case.
            let ends =
                |(best, length): &(Collective, usize)| length + 1 == number && best.kind == Kind::Reduction;
            let is_end = is_barrier && !changes_something && best.as_ref().is_some_and(ends);
            if !so_far.barrier || !(changes_something || is_first_barrier || is_end) {
                continue;
            }
            self.observe_partial_results();
            let ran = Executed {
                statements: &statements[..number],
                effects: &effects[..number],
                events: &events,
            };
            // A scan is more than the total it contains. What only moves a result is no part of making it.
            let is_news = |kind: Kind, count: u32| {
                best.as_ref().is_none_or(|(known, _)| {
                    (known.kind, known.count) != (kind, count)
                        && (known.kind == Kind::Reduction || kind != Kind::Reduction)
                })
            };
            let is_wanted = |kind: Kind, count: u32| is_end || is_news(kind, count);
            let Some(mut found) = self.classify(&atoms, ran, &so_far, &is_wanted) else {
                continue;
            };
            if is_last && !is_of_one(&found.output) {
                continue;
            }
            found.leftovers.last = statement.span;
            if hands_on(of_one) {
                found.leftovers.result = Places::default();
            }
            if is_wanted(found.kind, found.count) {
                best = Some((found, number));
            }
        }
        let found = best.map(|(collective, length)| Candidate {
            collective,
            length,
            twins: atoms.twins,
        });
        (found, has_choice)
    }
}

/// Whether two finds are the same construct.
fn is_same(a: &Collective, b: &Collective) -> bool {
    (a.span, a.function, a.kind, a.operator, a.half) == (b.span, b.function, b.kind, b.operator, b.half)
        && (&a.input, &a.output, a.count, a.segment, a.reversed)
            == (&b.input, &b.output, b.count, b.segment, b.reversed)
}

/// Whether statements may be run by the threads that are left: what others hold is no longer looked at.
fn can_be_last(effects: &Effects) -> bool {
    !effects.opaque && !effects.barrier && effects.shared_written.is_empty()
}

/// Whether statements may use a result that they come to, where no run that marks it at their end sees it.
fn hands_on(effects: &Effects) -> bool {
    effects.leaves
        || effects.opaque
        || effects.atomic
        || effects.handle_written
        || !(effects.device_written.is_empty() && effects.statics.is_empty())
}

/// Whether it is one thread that holds a total.
fn is_of_one(output: &Elements) -> bool {
    matches!(output, Elements::OneRegister { .. } | Elements::Expression { .. })
}
