//! Shuffle ladders: scans and reductions that the lanes of a wave make from each other's registers.
//!
//! Where a statement reads other lanes by `WaveReadLaneAt`, the machine copies the state. It replaces every
//! variable that differs by thread and holds more than known numbers, the group's number and `cbuffer`
//! members by a column of free atoms, and runs the statements from there on. If a variable then holds x0 ⊕ …
//! ⊕ xi at the i-th active lane of every wave, the statements *are* a scan of these atoms, for every input,
//! by the argument in [`crate::terms::value`]. The proof rests on these points:
//!
//! - *The participating lanes are known.* All active lanes of a wave are here under one guard, so all or none
//!   of them are, and no lane leaves within the statements. Waves may have different guards: the statements
//!   touch no memory that waves share and pass no barrier, so waves do not affect each other.
//! - *Undefined values are unknown.* A read of an inactive lane, or of a lane that the wave does not have,
//!   gives a new atom ([`Terms::fresh`](crate::terms::Terms::fresh)). A result with such an atom is no scan.
//! - *Every wave size.* The kernel runs at each size that HLSL and its `[WaveSize]` allow, and a ladder counts
//!   only if all of these runs find it. A statement that is not reached at some size claims nothing for that
//!   size. Groups of more than one row run under each of the packings that [`crate::compare::wave_sensitivity`]
//!   knows; 1-D groups run under the linear one.
//! - *Every execution.* A statement may run again, in another iteration or call. It is tried again whenever its
//!   state differs from those tried before, and a ladder stays only if every trial finds it. A statement that
//!   may run without being followed claims nothing.
//!
//! Whether `?:` evaluates an arm in lanes that do not select it depends on the language version. So do the
//! lanes that are active in a read there. A ladder with such reads is proved for the versions before HLSL 2021,
//! which evaluate both arms. The finding says so unless the unit has one of these versions.

use std::collections::{BTreeMap, BTreeSet};

use shaderlint_hlsl::{Expr, FunctionId, GlobalId, LocalId, Scalar, Span, Stmt, StmtKind, Version};

use crate::detect::Detectors;
use crate::detect::collectives::pattern;
use crate::detect::coverage::Missed;
use crate::detect::shuffles::lanes::{Lanes, Pattern, register};
use crate::detect::shuffles::prefilter::{Key, effects_of_ladder, starts};
use crate::exec::{BUDGET, MAX_COMPONENTS, Machine, Run, RunMode};
use crate::facts::effects::{Effects, EffectsCache};
use crate::facts::kernel::Kernel;
use crate::facts::layout::Layout;
use crate::finding::{Elements, Kind, WaveLadder};
use crate::terms::column::{Column, Mask};
use crate::terms::value::{Op, Value};
use crate::terms::{Term, Terms};
use crate::waves::{Waves, maps};

/// The number of statements to try as a ladder's first, per run.
const MAX_STARTS: usize = 64;
/// The number of different states in which one statement is tried.
const MAX_STATES: usize = 16;
/// What a run for ladders keeps.
#[derive(Default)]
pub(crate) struct Ladders {
    /// Statements that may be a ladder's first.
    wanted: BTreeSet<Key>,
    starts: BTreeMap<Key, Start>,
    missed: Missed,
    trial: Option<Trial>,
}

/// The trial in progress.
#[derive(Default)]
struct Trial {
    /// The number of the current statement, from 1.
    number: usize,
    /// Statements with reads that ran within the trial, each with the number of its statement.
    inside: BTreeSet<(usize, Key)>,
    reads: u32,
    /// An arm of `?:` that not all lanes select contains a read.
    in_arm: bool,
}

/// A statement that reads other lanes, and the results of trying it.
#[derive(Default)]
struct Start {
    states: Vec<Entry>,
    results: Vec<LadderResult>,
    inside: BTreeSet<(usize, Key)>,
    /// It ran in a state in which it cannot be tried.
    failed: bool,
}

/// The state that the statements of a trial depend on, apart from values that become atoms.
#[derive(PartialEq)]
struct Entry {
    active: Mask,
    locals: Vec<(LocalId, Vec<Holding>)>,
    statics: BTreeMap<GlobalId, Vec<Column>>,
    aliases: BTreeMap<LocalId, (GlobalId, Vec<Column>)>,
}

/// A component of a variable at the start.
#[derive(PartialEq)]
enum Holding {
    /// By active thread: the known values.
    Known(Vec<Value>),
    /// The number of the block of free atoms.
    Free(usize),
}

/// A result that holds after `number` statements.
#[derive(Clone)]
struct LadderResult {
    number: usize,
    span: Span,
    result: Pattern,
    /// The fewest and the most reads of other lanes.
    reads: (u32, u32),
    in_arm: bool,
}

/// The combined results of all runs of an entry point.
#[derive(Default)]
struct Runs {
    /// By statement: the results that all runs which reached it agree on, the numbers of these runs, and their
    /// wave sizes.
    starts: BTreeMap<Key, (Start, BTreeSet<usize>, BTreeSet<u32>)>,
    missed: Missed,
    /// The numbers of the runs that stopped early.
    stopped: Vec<usize>,
}

/// The ladders of an entry point that reads other lanes.
pub(crate) fn of_entry(kernel: Kernel<'_>) -> Vec<WaveLadder> {
    let Kernel { shader, entry } = kernel;
    let Some(group) = kernel.group() else {
        return Vec::new();
    };
    let sizes = kernel.wave_sizes();
    let maps = maps(group).iter();
    // `[WaveSize(32, 4)]` allows no size.
    let Some(least_lanes) = sizes.clone().next().map(least_lanes) else {
        return Vec::new();
    };
    let mut wanted = starts(shader, &mut EffectsCache::default(), entry, least_lanes);
    let mut budget = BUDGET;
    let mut runs = Runs::default();
    let mut terms = Terms::default();
    // Two maps may make the same waves.
    let mut seen: Vec<Waves> = Vec::new();
    for (number, (map, size)) in maps
        .flat_map(|map| sizes.clone().map(move |size| (map, size)))
        .enumerate()
    {
        if wanted.is_empty() {
            return Vec::new();
        }
        let waves = Waves::new(group, size, *map);
        if seen.contains(&waves) {
            continue;
        }
        seen.push(waves.clone());
        terms.clear();
        let Some(mut machine) =
            Machine::<Detectors>::new(kernel, &mut terms, waves, RunMode::LaneReads, budget)
        else {
            return Vec::new();
        };
        machine.observer.ladders = Some(Ladders {
            wanted: std::mem::take(&mut wanted),
            ..Ladders::default()
        });
        if machine.run().is_some() {
            runs.stopped.push(number);
        }
        budget = machine.limits.budget;
        let mut ladders = machine.observer.ladders.take().unwrap_or_default();
        wanted = std::mem::take(&mut ladders.wanted);
        runs.add(ladders, number, size);
        wanted.retain(|key| !runs.is_lost(*key, entry) && !runs.is_fruitless(*key));
    }
    runs.ladders(entry)
}

impl Runs {
    fn add(&mut self, ladders: Ladders, number: usize, size: u32) {
        self.missed.add(ladders.missed);
        for (key, start) in ladders.starts {
            let (all, runs, sizes) = self.starts.entry(key).or_default();
            if runs.is_empty() {
                *all = start;
            } else {
                all.keep_common(&start.results);
                all.failed |= start.failed;
                all.inside.extend(start.inside);
            }
            runs.insert(number);
            sizes.insert(size);
        }
    }

    /// Whether trying this statement can no longer give a result that holds in all runs.
    fn is_fruitless(&self, key: Key) -> bool {
        let start = self.starts.get(&key);
        start.is_some_and(|(start, ..)| start.failed || start.results.is_empty())
    }

    /// Whether the statement may have run unseen: where it was not followed, or after a run stopped. A
    /// statement of the entry point, once reached, runs again only in a loop around it, and loops that were
    /// left half-way count as missed. Other functions may be called again.
    fn is_lost(&self, key: Key, entry: FunctionId) -> bool {
        let reached = self.starts.get(&key).map(|(_, runs, _)| runs);
        let is_reached = |run: &usize| reached.is_some_and(|runs| runs.contains(run));
        self.missed.has_all_of(key.0, key.1)
            || (!self.stopped.is_empty() && (key.0 != entry || !self.stopped.iter().all(is_reached)))
    }

    fn ladders(&self, entry: FunctionId) -> Vec<WaveLadder> {
        let followed = self.starts.iter().filter(|(key, _)| !self.is_lost(**key, entry));
        let best: BTreeMap<Key, LadderResult> = followed
            .filter_map(|(key, (start, ..))| Some((*key, start.best()?)))
            .collect();
        // The inner one of two nested ladders is wanted.
        let is_innermost = |key: &Key, found: &LadderResult| {
            let inside = self.starts.get(key).map(|(start, ..)| &start.inside);
            let mut inside = inside.into_iter().flatten();
            !inside.any(|(number, inner)| *number <= found.number && inner != key && best.contains_key(inner))
        };
        let innermost = best.iter().filter(|(key, found)| is_innermost(key, found));
        let ladders = innermost.filter_map(|(key, found)| {
            let (.., sizes) = self.starts.get(key)?;
            let Pattern {
                kind,
                reversed,
                operator,
                element,
                ref input,
                ref output,
                holders,
            } = found.result;
            Some(WaveLadder {
                kind,
                operator,
                element,
                reversed,
                input: input.clone(),
                output: output.clone(),
                holders,
                sizes: sizes.iter().copied().collect(),
                reads: found.reads,
                needs_both_arms: found.in_arm,
                span: found.span,
                function: key.0,
            })
        });
        ladders.collect()
    }
}

impl Start {
    /// Keeps only the results that both share.
    fn keep_common(&mut self, others: &[LadderResult]) {
        self.results.retain_mut(|found| {
            let same = |other: &&LadderResult| (other.number, &other.result) == (found.number, &found.result);
            let Some(other) = others.iter().find(same) else {
                return false;
            };
            found.reads = (found.reads.0.min(other.reads.0), found.reads.1.max(other.reads.1));
            found.in_arm |= other.in_arm;
            true
        });
    }

    /// The result to report: the first one, or the larger one that it grows into. A scan is more than the total
    /// that it contains.
    fn best(&self) -> Option<LadderResult> {
        let mut best: Option<&LadderResult> = None;
        for found in self.results.iter().filter(|_| !self.failed) {
            let is_news = best.is_none_or(|known| {
                known.result.input == found.result.input
                    && known.result.kind != found.result.kind
                    && (known.result.kind == Kind::Reduction || found.result.kind != Kind::Reduction)
            });
            if is_news {
                best = Some(found);
            }
        }
        best.cloned()
    }
}

impl<'a> Machine<'a, Detectors> {
    /// Called before the statement at `index` of a block: tries it as a ladder's first.
    pub fn try_ladder(&mut self, statements: &'a [Stmt], index: usize) {
        let Some(first) = statements.get(index) else {
            return;
        };
        let key = (self.state.frame.function, first.span);
        let ladders = self.observer.ladders.as_mut();
        let Some(ladders) = ladders.filter(|ladders| ladders.wanted.contains(&key)) else {
            return;
        };
        if let Some(trial) = &mut ladders.trial {
            trial.inside.insert((trial.number, key));
            return;
        }
        let is_full = ladders.starts.len() >= MAX_STARTS && !ladders.starts.contains_key(&key);
        let mut start = ladders.starts.remove(&key).unwrap_or_default();
        start.failed |= is_full || !self.can_try();
        if !start.failed {
            self.try_first(&statements[index..], &mut start);
        }
        if let Some(ladders) = self.observer.ladders.as_mut() {
            ladders.starts.insert(key, start);
        }
    }

    /// Called when a read of other lanes is evaluated.
    pub fn note_lane_read(&mut self, in_arm: bool) {
        if let Some(trial) = self
            .observer
            .ladders
            .as_mut()
            .and_then(|ladders| ladders.trial.as_mut())
        {
            trial.reads += u32::from(!in_arm);
            trial.in_arm |= in_arm;
        }
    }

    fn is_trying_ladder(&self) -> bool {
        self.observer
            .ladders
            .as_ref()
            .is_some_and(|ladders| ladders.trial.is_some())
    }

    /// `?:` with reads of other lanes in its arms. A trial evaluates both arms, as HLSL does before 2021.
    /// Outside a trial, and in a unit of a later version, the result is unknown.
    pub fn reads_in_arms(&mut self, condition: &[Column], a: &'a Expr, b: &'a Expr) -> Run<Vec<Column>> {
        let active = self.state.active;
        let is_uniform = condition
            .iter()
            .all(|condition| condition.uniform(active).is_some());
        let version = self.shader.version;
        if !self.is_trying_ladder() || !is_uniform && version.is_some_and(Version::is_like_cpp) {
            let count = self.parts(&a.ty).min(MAX_COMPONENTS);
            return Ok(self.fresh_columns(count));
        }
        let (a, b) = (self.eval(a)?, self.eval(b)?);
        if !is_uniform && version.is_none() {
            self.note_lane_read(true);
        }
        let Some(first) = condition.first() else {
            return Ok(a);
        };
        let arms = a.iter().zip(&b).enumerate();
        Ok(arms
            .map(|(index, (a, b))| {
                let condition = condition.get(index).unwrap_or(first);
                self.map([condition, a, b], |m, v| m.terms.select(v[0], v[1], v[2]))
            })
            .collect())
    }

    /// The statements are not followed from here on.
    pub fn lose_ladders(&mut self, statements: &[Stmt]) {
        let function = self.state.frame.function;
        if let Some(ladders) = self
            .observer
            .ladders
            .as_mut()
            .filter(|ladders| ladders.trial.is_none())
        {
            ladders.missed.note(self.shader, function, statements);
        }
    }

    /// Whether the active lanes are known: in each wave, all of them are here or none.
    fn can_try(&self) -> bool {
        let state = &self.state;
        let has_one_guard = |wave: &Vec<usize>| {
            let mut guards = wave.iter().map(|thread| state.guard.at(*thread));
            let first = guards.next();
            guards.all(|guard| Some(guard) == first)
        };
        !state.convergence.is_uncertain()
            && !state.convergence.may_be_vacuous()
            && !self.is_exhausted()
            && self.active_waves().iter().all(has_one_guard)
    }

    /// For each wave with active threads: these threads, ascending by lane.
    fn active_waves(&self) -> Vec<Vec<usize>> {
        let active = self.state.active;
        let waves = self.waves.members.iter().map(|wave| {
            let threads = wave.iter().map(|(_, thread)| *thread);
            threads.filter(|thread| active.contains(*thread)).collect()
        });
        waves.filter(|wave: &Vec<usize>| !wave.is_empty()).collect()
    }

    fn try_first(&mut self, statements: &'a [Stmt], start: &mut Start) {
        let effects = effects_of_ladder(self.shader, &mut self.effects, statements);
        let statements = &statements[..effects.len()];
        let mut all = Effects::default();
        for of_one in &effects {
            all.add(of_one);
        }
        let waves = self.active_waves();
        let least = least_lanes(self.waves.size) as usize;
        if effects.is_empty() || waves.iter().all(|wave| wave.len() < least) {
            start.failed = true;
            return;
        }
        let (entry, homes) = self.entry(&all);
        if start.states.contains(&entry) {
            return;
        }
        if start.states.len() >= MAX_STATES {
            start.failed = true;
            return;
        }
        let state = self.state.clone();
        let report = std::mem::take(&mut self.report);
        if let Some(ladders) = self.observer.ladders.as_mut() {
            ladders.trial = Some(Trial::default());
        }
        self.state.guard = Column::Uniform(Value::TRUE);
        let lanes = self.free_lanes(&entry, homes, waves);
        let found = self.run_trial(statements, &effects, &lanes);
        self.state = state;
        self.report = report;
        let trial = self
            .observer
            .ladders
            .as_mut()
            .and_then(|ladders| ladders.trial.take());
        if start.states.is_empty() {
            start.results = found;
        } else {
            start.keep_common(&found);
        }
        start.states.push(entry);
        start.inside.extend(trial.unwrap_or_default().inside);
    }

    /// The state at the start of a trial, and the variables that become atoms, by block.
    fn entry(&self, all: &Effects) -> (Entry, Vec<Elements>) {
        let active = self.state.active;
        let mut homes: Vec<Elements> = Vec::new();
        let mut blocks: Vec<Vec<Value>> = Vec::new();
        let mut locals = Vec::new();
        for local in all.read.union(&all.written) {
            let columns = self.state.frame.locals.get(local.0 as usize);
            let count = columns.map_or(0, Vec::len);
            let mut holdings = Vec::new();
            for (component, column) in columns.into_iter().flatten().enumerate() {
                let values: Vec<Value> = match column {
                    Column::Uniform(value) => vec![value.clone()],
                    Column::Lanes(_) => active.threads().map(|thread| column.at(thread).clone()).collect(),
                };
                let is_free = matches!(column, Column::Lanes(_))
                    && !values.iter().all(|value| self.terms.is_place(value));
                if !is_free {
                    holdings.push(Holding::Known(values));
                    continue;
                }
                // Two variables with the same values get the same atoms: this only uses that they are equal
                // here.
                let block = blocks
                    .iter()
                    .position(|known| *known == values)
                    .unwrap_or_else(|| {
                        blocks.push(values);
                        homes.push(register(*local, component, count));
                        blocks.len() - 1
                    });
                holdings.push(Holding::Free(block));
            }
            locals.push((*local, holdings));
        }
        let entry = Entry {
            active,
            locals,
            statics: self.state.statics.clone(),
            aliases: self.state.frame.aliases.clone(),
        };
        (entry, homes)
    }

    fn free_lanes(&mut self, entry: &Entry, homes: Vec<Elements>, waves: Vec<Vec<usize>>) -> Lanes {
        let order: Vec<usize> = waves.iter().flatten().copied().collect();
        let threads = order.len();
        let first = self.terms.inputs((threads * homes.len()) as u32);
        for (local, holdings) in &entry.locals {
            for (component, holding) in holdings.iter().enumerate() {
                let Holding::Free(block) = holding else { continue };
                let mut values = vec![Value::Known(0); self.lanes];
                for (rank, thread) in order.iter().enumerate() {
                    values[*thread] = Value::atom(first + (block * threads + rank) as u32);
                }
                let columns = self.state.frame.locals.get_mut(local.0 as usize);
                if let Some(column) = columns.and_then(|columns| columns.get_mut(component)) {
                    *column = Column::Lanes(values.into());
                }
            }
        }
        Lanes {
            first,
            homes,
            waves,
            threads,
        }
    }

    fn run_trial(&mut self, statements: &'a [Stmt], effects: &[Effects], lanes: &Lanes) -> Vec<LadderResult> {
        let active = self.state.active;
        let function = self.state.frame.function;
        let mut so_far = Effects::default();
        let mut declared: BTreeSet<LocalId> = BTreeSet::new();
        let mut results = Vec::new();
        for (number, (statement, of_one)) in (1..).zip(statements.iter().zip(effects)) {
            if let Some(trial) = self
                .observer
                .ladders
                .as_mut()
                .and_then(|ladders| ladders.trial.as_mut())
            {
                trial.number = number;
                if number > 1 && of_one.reads_lanes() {
                    trial.inside.insert((number, (function, statement.span)));
                }
            }
            if self.statement(statement).is_err() {
                break;
            }
            let is_clean = !self.report.unproved
                && self.report.out_of_bounds.is_empty()
                && !self.state.convergence.is_uncertain()
                && self.state.active == active
                && self.state.guard.uniform(active) == Some(&Value::TRUE);
            if !is_clean {
                break;
            }
            so_far.add(of_one);
            if let StmtKind::Declare { local, .. } = &statement.kind {
                declared.insert(*local);
            }
            // A block's own declarations are gone after it.
            let is_there = |local: &&LocalId| !so_far.declared.contains(local) || declared.contains(local);
            let written: Vec<LocalId> = so_far.written.iter().filter(is_there).copied().collect();
            let Some(result) = self.pattern(&written, lanes) else {
                continue;
            };
            let trial = self
                .observer
                .ladders
                .as_ref()
                .and_then(|ladders| ladders.trial.as_ref());
            let (reads, in_arm) = trial.map_or((0, false), |trial| (trial.reads, trial.in_arm));
            results.push(LadderResult {
                number,
                span: statements[0].span.to(statement.span),
                result,
                reads: (reads, reads),
                in_arm,
            });
        }
        results
    }

    /// The scan or total that one of the variables holds in every wave.
    fn pattern(&self, written: &[LocalId], lanes: &Lanes) -> Option<Pattern> {
        let function = self.function()?;
        let mut columns: Vec<(Elements, Scalar, &Column)> = Vec::new();
        for local in written {
            let ty = &function.locals.get(local.0 as usize)?.ty;
            let of_local = self.state.frame.locals.get(local.0 as usize)?;
            let Some(layout) = Layout::of(self.shader, ty, 0) else {
                continue;
            };
            for (component, (column, scalar)) in
                of_local.iter().zip(layout.scalars.iter().cycle()).enumerate()
            {
                columns.push((register(*local, component, of_local.len()), *scalar, column));
            }
        }
        let held = |totals: bool| {
            let mut columns = columns.iter();
            columns.find_map(|(place, scalar, column)| lanes.holds(place, *scalar, column, totals))
        };
        let found = held(false).or_else(|| held(true))?;
        // A choice by comparison, kept beside the least or greatest.
        let is_choice = |value: &Value| matches!(self.terms.single(value), Some(Term::Apply(Op::Select, _)));
        let mut values = columns
            .iter()
            .flat_map(|(.., column)| lanes.waves.iter().flatten().map(|thread| column.at(*thread)));
        (!found.operator.is_extremum() || !values.any(is_choice)).then_some(found)
    }
}

/// The number of lanes that some wave of this size must have for a ladder. A total of fewer lanes may serve
/// something else, such as one quad of many.
fn least_lanes(size: u32) -> u32 {
    pattern::LEAST.min(size)
}
