//! Searches for collectives: tries out runs of statements in the middle of a run.
//!
//! Where a statement touches groupshared memory and a barrier follows in its block, the machine copies the
//! state, replaces every unknown cell and variable by a free atom, and runs the statements. If some place then
//! holds x0 ⊕ … ⊕ xi for every thread i, and nothing raced, the statements *are* a scan of these atoms. This
//! holds for every input, by the argument in [`crate::terms::value`], and at this place of this kernel, because
//! all values that stayed known are known there. Two places that hold the same term get the same atom: this
//! only uses that they are equal there.

use std::collections::{BTreeMap, BTreeSet};

use shaderlint_hlsl::{FunctionId, GlobalId, LocalId, Shader, Span, Stmt, StmtKind};

use crate::detect::Detectors;
use crate::detect::collectives::atoms::{Freeing, Layouts, Twin};
use crate::detect::collectives::executed::Executed;
use crate::detect::collectives::partial_results::Watch;
use crate::detect::coverage::{Missed, runs_once};
use crate::exec::memory::Shared;
use crate::exec::{MAX_WORK, Machine, Report, RunMode, State};
use crate::facts::effects::Effects;
use crate::finding::leftovers::LeftoverPlaces;
use crate::finding::{Amid, Collective, Elements, Kind, Obstacle};
use crate::terms::column::Column;
use crate::terms::value::Value;
use crate::terms::{Needs, Terms};

/// The number of statements to try as the start of a candidate, per entry point.
const MAX_PROBES: usize = 96;
/// How often a construct is tried again because other values were known when its statements ran again.
const MAX_RETRIES: u32 = 8;
/// The maximum number of statements of a candidate in one block. An unrolled ladder has a few per rung.
const MAX_STATEMENTS: usize = 512;
/// The maximum number of statements for a total's last step, once some threads have left.
const MAX_LAST: u32 = 16;

#[derive(Default)]
pub(crate) struct Prober {
    pub watch: Option<Watch>,
    tried: BTreeSet<Key>,
    /// Statements that cannot be a collective's first, given what follows them.
    hopeless: BTreeSet<Key>,
    found: Vec<FoundCollective>,
    /// Earlier results from when other values were known. A construct stays only if every retry finds it again.
    retried: BTreeMap<Key, Retried>,
    /// The number of statements that the run itself has started.
    tick: u64,
    missed: Missed,
    /// The starts of constructs that another run found, and whether this run has reached them.
    awaited: BTreeMap<(FunctionId, u32), bool>,
    /// The run may end after the last of these constructs. The flag says whether it has passed the construct.
    ends: Vec<(FunctionId, Span, bool)>,
}

/// A statement, by its function and span.
type Key = (FunctionId, Span);

/// A construct to be tried again, and how often it was.
struct Retried {
    collective: Collective,
    times: u32,
}

struct FoundCollective {
    collective: Collective,
    key: Key,
    entry: Entry,
    /// The tick at its start.
    started: u64,
    /// The ticks at which its statements started again.
    again: Vec<u64>,
}

impl FoundCollective {
    /// The ticks at which its statements started.
    fn times(&self) -> impl Iterator<Item = u64> {
        std::iter::once(self.started).chain(self.again.iter().copied())
    }
}

/// What was known when a statement that may be a collective's first ran first. It may run again, in another
/// iteration or call. The result holds there too if the same is known.
struct Entry {
    /// Variables that the statements use without declaring them, if some values do not become atoms.
    locals: Vec<(LocalId, Vec<Column>)>,
    /// The resources that variables alias.
    aliases: BTreeMap<LocalId, (GlobalId, Vec<Column>)>,
    /// The cells of arrays that are partly known.
    cells: Vec<(GlobalId, Vec<Value>)>,
    /// All `static` globals; there are few.
    statics: Vec<(GlobalId, Vec<Column>)>,
    twins: Vec<Twin>,
}

/// The result of trying the statements from a start on.
struct Candidate {
    collective: Collective,
    /// The number of statements.
    length: usize,
    twins: Vec<Twin>,
}

impl Candidate {
    /// Whether the result lies in the array of the elements.
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
        // A uniform value does not become an atom, known or not.
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
        // Statics never become atoms.
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

/// What the run of a block records for its probing.
#[derive(Default)]
pub(crate) struct Trail {
    /// By executed statement: the tick at its start.
    ticks: Vec<u64>,
    starts: Vec<Start>,
    /// The first statement with a barrier at or after the last statement considered.
    barrier: usize,
}

/// A statement that may be a collective's first.
struct Start {
    index: usize,
    key: Key,
    state: State,
    /// The effects of this statement and of those after it that can be tried.
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

    /// A fence orders device memory without waiting for the group.
    pub fn at_fence(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.orders_device = true;
        }
    }

    /// A statement accessed groupshared memory.
    pub fn accessed(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.settled = false;
        }
    }

    /// These statements are not followed. Constructs in them, or in functions that they call, were not seen in
    /// every execution.
    pub fn miss(&mut self, shader: &Shader, function: FunctionId, statements: &[Stmt]) {
        if self.is_probing() {
            return;
        }
        self.missed.note(shader, function, statements);
    }

    /// Lets [`Prober::has_met`] answer for these constructs.
    pub fn await_again(&mut self, found: &[Collective]) {
        let starts = found.iter().map(|found| (found.function, found.span.start));
        self.awaited = starts.map(|start| (start, false)).collect();
    }

    /// Ends the run after the last of these constructs, which it awaits. If each of them runs only once, the
    /// result is the same as for the whole run: each construct is tried on the state at its start, and neither
    /// a second execution nor an unfollowed statement can take it back later.
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

    /// Called after a statement: whether the run may end.
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

    /// Whether a complete run may have reached a construct that it awaits.
    pub fn has_met(&self, found: &Collective) -> bool {
        let start = (found.function, found.span.start);
        self.awaited.get(&start) != Some(&false) || self.missed.has(found.function, found.span)
    }

    /// The collectives found, in execution order. If the run of `entry` stopped early, drops those that may run
    /// again after its end.
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
    /// Called before the statement at `index` of a block: records what a construct that starts there needs.
    pub fn leave_trail(&mut self, statements: &'a [Stmt], index: usize, trail: &mut Trail) {
        if self.mode != RunMode::Collectives || self.observer.prober.is_probing() {
            return;
        }
        self.observer.prober.tick += 1;
        trail.ticks.push(self.observer.prober.tick);
        let Some((first, rest)) = statements.get(index..).and_then(<[Stmt]>::split_first) else {
            return;
        };
        // A proof holds whenever all threads are here. Under a guard that all threads share, all or none of
        // them are. Under any other guard, the first barrier assumes that they are
        // ([`Machine::assume_all_stay`]).
        let everyone = self.state.active == self.all && self.state.alive == self.all;
        let key = (self.state.frame.function, first.span);
        let awaits = !self.observer.prober.awaited.is_empty();
        match self.observer.prober.awaited.get_mut(&(key.0, key.1.start)) {
            Some(is_met) => *is_met = true,
            // The run looks only for what another run found.
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
        // After the last barrier, one thread may combine what all threads have stored.
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
            // A thread here has passed the last barrier, unless only some inputs lead to that barrier.
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

    /// The collectives that the run found. `stopped` names the entry point if the run stopped early. In a run
    /// with tiles, only those that a tile shows.
    pub fn collectives(&mut self, stopped: Option<FunctionId>) -> Vec<Collective> {
        let mut found = self.observer.prober.finish(self.shader, stopped);
        for collective in &mut found {
            collective.assumes_convergence |= self.noticed.assumed_convergence;
            collective.amid = collective
                .amid
                .or(self.noticed.conditional_barrier.map(Amid::Barrier));
        }
        if self.tiles.is_empty() {
            return found;
        }
        found.retain_mut(|collective| {
            let extents = self.tile_extents(&collective.arrays, stopped.is_none());
            collective.tiles = extents.unwrap_or_default();
            collective.rewrite = Err(Obstacle::SomeRuns);
            !collective.tiles.is_empty()
        });
        found
    }

    /// Called when a statement runs again. If the same is known, the earlier result still holds. Otherwise it
    /// is tried again, and stays only if every trial finds the same construct.
    fn is_to_be_retried(&mut self, key: Key, everyone: bool) -> bool {
        let (terms, state) = (&*self.terms, &self.state);
        let still_holds = |found: &FoundCollective| everyone && found.entry.is_as_before(terms, state);
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

    /// Tries each start of a block, the last one first. The inner one of two nested scans is wanted, so a
    /// candidate ends before the statement that contains an earlier find.
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
                .flat_map(FoundCollective::times)
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
                // A rewrite that fits one execution may not fit another.
                if collective.rewrite != retried.collective.rewrite {
                    collective.rewrite = Err(Obstacle::SomeRuns);
                }
            }
            // A total inside a scan is part of the scan. The inner one of two totals is wanted.
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
            self.observer.prober.found.push(FoundCollective {
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

    /// Whether the statements can gather all elements but one, as an exclusive scan does.
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
        // Known cells among unknown ones may be padding that the ladder relies on, or elements that happen to
        // be known.
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
            // With other cells known, the statements may be more than the total that they contain.
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
                // The variable may have become an element of another array than the one that it is combined
                // with.
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
            if self.limits.skims && self.terms.work() - work > MAX_WORK / 16 {
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
            // A rewritten reduction always ends with a barrier.
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
            // A scan is more than the total that it contains. Statements that only move a result are not part
            // of it.
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
                found.leftovers.result = LeftoverPlaces::default();
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
        && (&a.input, &a.output, a.count, a.segment, a.blocks, a.reversed)
            == (&b.input, &b.output, b.count, b.segment, b.blocks, b.reversed)
}

/// Whether statements may follow after some threads have left: the other threads' values no longer matter.
fn can_be_last(effects: &Effects) -> bool {
    !effects.opaque && !effects.barrier && effects.shared_written.is_empty()
}

/// Whether statements may use a result that they compute, unseen by the run that marks the result at their end.
fn hands_on(effects: &Effects) -> bool {
    effects.leaves
        || effects.opaque
        || effects.atomic
        || effects.handle_written
        || !(effects.device_written.is_empty() && effects.statics.is_empty())
}

/// Whether only one thread holds the total.
fn is_of_one(output: &Elements) -> bool {
    matches!(output, Elements::OneRegister { .. } | Elements::Expression { .. })
}
