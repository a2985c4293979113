//! The thread group: its state, and how its run begins and ends.
//!
//! All threads run side by side: a statement runs once for all active threads. A condition on known values splits the
//! threads. On a condition that is not known, the run takes both arms and joins the values they leave with a select;
//! writes to memory in an arm carry the condition as their guard. The run does not follow a loop whose condition is
//! not known: what the loop may write becomes a term of all it may read ([`Op::Havoc`]). That is sound because a loop
//! is a deterministic function of what it reads.

pub(crate) mod access;
pub(crate) mod assign;
pub(crate) mod assumed_barriers;
pub(crate) mod assumptions;
pub(crate) mod atomic;
pub(crate) mod atomic_history;
pub(crate) mod barrier_needs;
pub(crate) mod buffer_tiles;
pub(crate) mod call;
pub(crate) mod control;
pub(crate) mod convergence;
pub(crate) mod data_dependent_races;
pub(crate) mod device_order;
pub(crate) mod divergence;
pub(crate) mod eval;
pub(crate) mod handle;
pub(crate) mod havoc;
pub(crate) mod host;
pub(crate) mod intrinsic;
pub(crate) mod loop_bounds;
pub(crate) mod loop_uniformity;
pub(crate) mod may_happen_in_parallel;
pub(crate) mod memory;
pub(crate) mod method;
mod observer;
pub(crate) mod opaque;
pub(crate) mod over_approximation;
pub(crate) mod place;
pub(crate) mod position;
mod run_mode;
pub(crate) mod statement;
pub(crate) mod transfer;
pub(crate) mod undeclared;
pub(crate) mod undef_flow;
pub(crate) mod unknown;
mod wave;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use shaderlint_hlsl::{Expr, Function, FunctionId, GlobalId, LocalId, Shader, Span, Storage};

use crate::exec::assumptions::Assumptions;
use crate::exec::atomic_history::Steps;
use crate::exec::barrier_needs::{BarrierNeeds, Ledger};
use crate::exec::buffer_tiles::Tile;
use crate::exec::convergence::Convergence;
use crate::exec::device_order::Ordering;
use crate::exec::divergence::Parting;
use crate::exec::handle::Handle;
use crate::exec::loop_bounds::Bound;
use crate::exec::memory::{Shared, Site};
pub(crate) use crate::exec::observer::{AtomicAccess, Observer};
use crate::exec::over_approximation::Approximation;
use crate::exec::position::Caller;
pub(crate) use crate::exec::run_mode::RunMode;
use crate::exec::undef_flow::{FilledInPart, Suspect};
use crate::facts::canonical_form::Meaning;
use crate::facts::effects::EffectsCache;
use crate::facts::kernel::{Kernel, MAX_THREADS};
pub(crate) use crate::facts::layout::MAX_COMPONENTS;
use crate::facts::reachable_globals::Named;
use crate::finding::{Divergence, OutOfBounds, Point, Race, Stop, Uninitialised};
use crate::terms::column::{Column, Mask};
use crate::terms::history::Ordered;
use crate::terms::value::{Op, Value};
use crate::terms::{Symbol, Terms};
use crate::waves::Waves;

/// A write to a resource, in program order of its thread.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Write {
    pub resource: Symbol,
    /// Component within the element; for byte-address buffers the word after the address.
    pub component: u32,
    /// Added to the component if that depends on values that are not known; otherwise 0.
    pub part: Value,
    pub index: Box<[Value]>,
    pub thread: u16,
    pub guard: Value,
    pub value: Value,
    pub ordered: Ordered,
}

impl Write {
    /// The address, the guard and the value.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.index.iter().chain([&self.part, &self.guard, &self.value])
    }
}

/// Everything a statement can change.
#[derive(Clone)]
pub(crate) struct State {
    pub frame: Frame,
    pub statics: BTreeMap<GlobalId, Vec<Column>>,
    pub shared: Vec<Shared>,
    pub writes: Rc<Vec<Write>>,
    /// Counts the events in which another thread or the device may have had a part.
    pub events: u32,
    /// What happened to device memory, and in which order.
    pub ordering: Ordering,
    /// The run may have written something that other groups may see meanwhile.
    pub publishes: bool,
    pub barriers: Barriers,
    pub ledger: Rc<Ledger>,
    pub atomics: Atomics,
    pub loops: Unended,
    pub active: Mask,
    /// Threads that have not certainly left the kernel.
    pub alive: Mask,
    /// By thread: the path condition under which it is here.
    pub guard: Column,
    pub convergence: Convergence,
}

/// The barriers that the run passed.
#[derive(Clone)]
pub(crate) struct Barriers {
    /// How many of them order groupshared memory.
    pub interval: u32,
    /// The last of these, or the statement that holds it.
    pub since: Option<Rc<Point>>,
    /// The guard at the last of these.
    pub guard: Value,
    /// How many of them order device memory, and the guard at the last of those.
    pub device_interval: u32,
    pub device_guard: Value,
    /// Memory barriers at which no thread waits.
    pub passed: Rc<Vec<Span>>,
    /// Sets of the fences passed, by their numbers among the terms: those that order device memory, and those that
    /// order groupshared memory.
    pub fences: u32,
    pub shared_fences: u32,
    /// Counts barriers that do not order groupshared memory, and whatever may hide such a barrier.
    pub epoch: u32,
    /// Counts wave operations that took a value.
    pub exchanges: u32,
    /// Threads that may have waited for others in a loop since the last barrier.
    pub waited: Mask,
}

/// Atomics on groupshared memory.
#[derive(Clone, Default)]
pub(crate) struct Atomics {
    pub steps: Rc<Vec<Steps>>,
    /// How many of the steps leave a value that depends on the order in which the device serves them.
    pub left: u32,
}

/// Loops that were not seen to end: their meaning, and all the values a thread has at hand when it enters.
#[derive(Clone, Default)]
pub(crate) struct Unended {
    pub unended: Rc<FxHashSet<(Symbol, Value)>>,
    /// Those of them that read memory that other groups may write meanwhile.
    pub waits_for_others: Rc<FxHashSet<(Symbol, Value)>>,
}

/// The variables of one call.
#[derive(Clone)]
pub(crate) struct Frame {
    pub function: FunctionId,
    /// By local: its components.
    pub locals: Vec<Vec<Column>>,
    /// Parameters and variables that stand for a resource, or for an element of an array of resources.
    pub aliases: BTreeMap<LocalId, Handle>,
    pub result: Vec<Column>,
    /// The guard at the entry. A thread with the same guard at an exit has not left before.
    pub entered: Column,
    /// Where threads left it. No thread leaves twice.
    pub exits: Vec<Exit>,
    pub depth: u32,
    /// Where it was called; `None` for the entry point.
    pub caller: Option<Rc<Caller>>,
    pub loops: Vec<LoopState>,
}

/// Threads that leave a function early, before the remaining threads write on.
#[derive(Clone)]
pub(crate) struct Exit {
    pub active: Mask,
    pub guard: Column,
    /// What the outputs hold at that point, and the statics that the function may write.
    pub outputs: Vec<(LocalId, Vec<Column>)>,
    pub statics: Vec<(GlobalId, Vec<Column>)>,
}

#[derive(Clone)]
pub(crate) struct LoopState {
    /// The loop; `None` for a `switch`, which belongs to the iteration of the loop around it.
    pub span: Option<Span>,
    pub breaks: Mask,
    pub continues: Mask,
    /// The guard at the entry: a jump out under another guard cannot be followed.
    pub guard: Column,
    /// The same for the loop that a `continue` goes on with: for a `switch`, the loop around it.
    pub iteration_guard: Column,
    pub number: u32,
    pub variable: Option<LocalId>,
    /// This one iteration stands for any of many: a thread that leaves it takes no further part.
    pub is_any_iteration: bool,
}

/// Why a run does not go on.
pub(crate) enum Halt {
    Stop(Stop),
    /// The innermost loop cannot be followed.
    LeaveLoop,
}

pub(crate) type Run<T> = Result<T, Halt>;

/// An array, the place of a read of it, and the barrier interval of the read: a helper that is called again reads
/// anew.
pub(crate) type Read = (GlobalId, Span, u32);

/// An array and two accesses to it.
type Places = (GlobalId, Span, Span);

/// What a run noticed outside trials of candidates; each trial has a report of its own.
#[derive(Default)]
pub(crate) struct Report {
    pub races: Vec<Race>,
    /// The array and the two places of each of `races`.
    pub race_places: FxHashSet<Places>,
    /// How often the run checked the accesses at two places for a race.
    pub asked: FxHashMap<Places, u32>,
    /// There may be a race: nothing about this run's groupshared memory is proved.
    pub unproved: bool,
    /// A name that may be a macro of anything, even of assignments to variables in scope.
    pub open_name: Option<Span>,
    /// As in [`Analysis`](crate::Analysis).
    pub unsettled: FxHashSet<(Span, Span)>,
    pub divergences: Vec<Divergence>,
    pub out_of_bounds: Vec<OutOfBounds>,
    pub uninitialised: Vec<Uninitialised>,
    /// Bodies of loops that began a second iteration.
    pub repeated: FxHashSet<Span>,
    /// The run passed a barrier that only some inputs reach.
    pub passed_conditional_barrier: bool,
    pub used_waves: bool,
    /// An index that differs between threads chose among several resources, without `NonUniformResourceIndex`.
    pub has_unmarked_index: bool,
}

impl Report {
    /// The run has no defect and no gap in what it proves, and no lane of a wave exchanged values with another.
    pub fn is_settled(&self) -> bool {
        !self.unproved
            && !self.used_waves
            && self.open_name.is_none()
            && self.races.is_empty()
            && self.divergences.is_empty()
            && self.out_of_bounds.is_empty()
            && self.uninitialised.is_empty()
    }
}

/// Statements times threads that a run may execute: about a fifth of a second.
pub(crate) const BUDGET: u64 = 8_000_000;
/// Atoms that a run may make, with their arguments: about 80 MB.
pub(crate) const MAX_WORK: usize = 1_500_000;
/// Atoms that a first run may make before it leaves out what takes long ([`Limits::may_skim`]). With fewer, some
/// kernels are known to yield fewer findings.
pub(crate) const FIRST_WORK: usize = MAX_WORK / 5 * 2;
/// A statement counts for at least this many threads, since looking at it takes time as well.
const LEAST_STEPS: usize = 16;
const MAX_CALL_DEPTH: u32 = 32;

pub(crate) struct Machine<'a, O> {
    pub shader: &'a Shader,
    /// The globals that the entry point may use.
    pub named: Vec<GlobalId>,
    pub terms: &'a mut Terms,
    pub group: [u32; 3],
    pub lanes: usize,
    pub all: Mask,
    pub waves: Waves,
    pub state: State,
    pub report: Report,
    pub noticed: Noticed,
    pub barrier_needs: BarrierNeeds,
    pub effects: EffectsCache,
    pub cache: Cache<'a>,
    pub observer: O,
    pub mode: RunMode,
    /// If the run over-approximates.
    pub approximation: Approximation,
    pub assuming: Assumptions<'a>,
    pub limits: Limits,
    /// Where `state.shared` holds cells of resources.
    pub tiles: Vec<Tile>,
    pub sites: Vec<Site>,
    pub paths: Paths,
    /// Atoms that stand for an undefined value that was read.
    pub suspects: BTreeMap<u32, Suspect>,
}

/// What a run noticed, in trials of candidates too.
#[derive(Default)]
pub(crate) struct Noticed {
    /// An index into groupshared memory depended on the group's number.
    pub counts_by_group: bool,
    /// Bounds of loops whose trip count is not known; not those of trials.
    pub bounds: Vec<Bound>,
    /// Reads of groupshared arrays that met a write, at least once, and no barrier is known to order the two.
    pub unordered: BTreeSet<Read>,
    /// Arrays with a store under a condition, and those of them that are filled in part.
    pub conditional_fills: BTreeSet<GlobalId>,
    pub filled_in_part: Vec<FilledInPart>,
    /// A barrier that only some inputs reach, after which the run touched groupshared memory.
    pub conditional_barrier: Option<Span>,
    /// The run assumed that all threads reach a barrier, and knows no inputs for which they do.
    pub assumed_convergence: bool,
}

/// How far a run may go.
pub(crate) struct Limits {
    /// Steps left: statements times threads.
    pub budget: u64,
    /// How many atoms there may be, with their arguments, including those of earlier runs on the same terms.
    pub max_work: usize,
    /// Where the steps or atoms do not suffice, the run goes on with more of them, but skims. What it found before
    /// holds. A loop that it is in ends after the current iteration, as any loop that takes long does.
    pub may_skim: bool,
    /// The run does not follow long loops to their end if the threads do nothing together in them.
    pub skims: bool,
    /// The steps and atoms spent on what the run may leave out.
    pub aside: (u64, usize),
}

/// What is computed once from the text.
#[derive(Default)]
pub(crate) struct Cache<'a> {
    pub constants: FxHashMap<GlobalId, Vec<Column>>,
    /// The meaning of statements that are not followed, by function and place.
    pub meanings: FxHashMap<(FunctionId, Span), (Symbol, Rc<Meaning>)>,
    /// The same for expressions that are not understood.
    pub opaque_meanings: FxHashMap<*const Expr, Symbol>,
    /// For each undeclared name: whether a declaration that could not be read may declare it.
    pub undeclared: FxHashMap<&'a str, bool>,
}

/// Where the run is among the branches that the threads take.
#[derive(Default)]
pub(crate) struct Paths {
    /// The branches around, outermost first, with the threads that may have gone another way.
    pub partings: Vec<Parting>,
    /// The ways threads left the kernel.
    pub exits: Vec<Parting>,
    /// How many operands of `?:`, `&&` and `||` the run is in: whether these are evaluated depends on the language
    /// version.
    pub arms: u32,
}

impl<'a, O: Observer> Machine<'a, O> {
    /// A group about to enter `entry` in a run of this kind, with this budget of steps. `None` if the function is no entry point, or its
    /// group is empty or larger than D3D allows.
    pub fn new(
        kernel: Kernel<'a>,
        terms: &'a mut Terms,
        waves: Waves,
        mode: RunMode,
        budget: u64,
    ) -> Option<Machine<'a, O>> {
        let Kernel { shader, entry } = kernel;
        let group = kernel.group()?;
        let named = Named::by(shader, entry).ids(shader);
        let shared = named
            .iter()
            .filter_map(|id| Some((*id, shader.globals.get(id.0 as usize)?)))
            // Each thread may have its own copy of a variable whose type is not known.
            .filter(|(_, global)| global.storage == Storage::Groupshared && shader.is_known(&global.ty))
            .filter_map(|(id, global)| {
                let cells = shader.components(&global.ty);
                let array = terms.symbol(&global.name);
                (1..=1 << 16).contains(&cells).then(|| {
                    let cells = (0..cells as u32)
                        .map(|index| terms.apply(Op::Uninitialised { array, index }, &[]))
                        .collect();
                    Shared::new(id, cells)
                })
            })
            .collect();
        let mut machine = Machine::of_threads(kernel, group, named, terms, waves, mode, budget)?;
        machine.state.shared = shared;
        Some(machine)
    }

    /// The threads of one wave about to run a statement of `function`, which uses these globals, without groupshared
    /// memory, in a run for refinement.
    pub fn of_wave(
        function: Kernel<'a>,
        named: &Named,
        terms: &'a mut Terms,
        wave: Waves,
    ) -> Option<Machine<'a, O>> {
        let lanes = u32::try_from(wave.place.len()).ok()?;
        let named = named.ids(function.shader);
        Machine::of_threads(
            function,
            [lanes, 1, 1],
            named,
            terms,
            wave,
            RunMode::Refinement,
            BUDGET,
        )
    }

    /// Threads, in these numbers along each axis, about to run a function that uses these globals.
    fn of_threads(
        Kernel { shader, entry }: Kernel<'a>,
        group: [u32; 3],
        named: Vec<GlobalId>,
        terms: &'a mut Terms,
        waves: Waves,
        mode: RunMode,
        budget: u64,
    ) -> Option<Machine<'a, O>> {
        let threads = group
            .iter()
            .try_fold(1u32, |product, size| product.checked_mul(*size))?;
        let lanes = usize::try_from(threads)
            .ok()
            .filter(|lanes| (1..=MAX_THREADS).contains(lanes))?;
        terms.note_inputs(shader, &named);
        let all = Mask::first(lanes);
        Some(Machine {
            shader,
            named,
            terms,
            group,
            lanes,
            all,
            waves,
            state: State::at_entry(entry, all),
            report: Report::default(),
            noticed: Noticed::default(),
            barrier_needs: BarrierNeeds::default(),
            effects: EffectsCache::default(),
            cache: Cache::default(),
            observer: O::default(),
            mode,
            approximation: Approximation::default(),
            assuming: Assumptions::default(),
            limits: Limits {
                budget,
                max_work: MAX_WORK,
                may_skim: false,
                skims: false,
                aside: (0, 0),
            },
            tiles: Vec::new(),
            sites: Vec::new(),
            paths: Paths::default(),
            suspects: BTreeMap::new(),
        })
    }

    /// Runs the entry point to its end.
    pub fn run(&mut self) -> Option<Stop> {
        let shader = self.shader;
        let entry = self.state.frame.function;
        let function = shader.functions.get(entry.0 as usize)?;
        let body = function.body.as_ref()?;
        self.bind_parameters(function);
        match self.block(body) {
            Ok(()) => {
                self.report_data_dependent_races();
                self.end_last_interval();
                None
            }
            Err(Halt::Stop(stop)) => {
                let (steps, atoms) = self.limits.aside;
                Some(Stop {
                    by_asides: self.is_exhausted() && (steps > BUDGET / 2 || atoms > MAX_WORK / 2),
                    ..stop
                })
            }
            Err(Halt::LeaveLoop) => Some(Stop::new("a jump out of an unsupported loop", function.span)),
        }
    }

    pub fn over_approximates(&self) -> bool {
        self.mode.over_approximates()
    }

    pub fn function(&self) -> Option<&'a Function> {
        self.shader.functions.get(self.state.frame.function.0 as usize)
    }

    pub fn stop<T>(reason: &str, span: Span) -> Run<T> {
        Err(Halt::Stop(Stop::new(reason, span)))
    }

    pub fn spend(&mut self, span: Span) -> Run<()> {
        if self.is_exhausted() {
            if !std::mem::take(&mut self.limits.may_skim) {
                return Err(Halt::Stop(Stop::ran_out(span)));
            }
            self.limits.skims = true;
            self.limits.budget = self.limits.budget.max(BUDGET / 2);
            self.limits.max_work = MAX_WORK;
        }
        self.limits.budget = self
            .limits
            .budget
            .saturating_sub(self.lanes.max(LEAST_STEPS) as u64);
        Ok(())
    }

    /// Whether no step is left.
    pub fn is_exhausted(&self) -> bool {
        self.limits.budget < self.lanes as u64 || self.terms.work() > self.limits.max_work
    }
}

impl State {
    /// The state of threads about to enter a function.
    fn at_entry(entry: FunctionId, all: Mask) -> State {
        State {
            frame: Frame::new(entry, 0, Column::Uniform(Value::TRUE)),
            statics: BTreeMap::new(),
            shared: Vec::new(),
            writes: Rc::default(),
            events: 0,
            ordering: Ordering::default(),
            publishes: false,
            barriers: Barriers {
                interval: 0,
                since: None,
                guard: Value::TRUE,
                device_interval: 0,
                device_guard: Value::TRUE,
                passed: Rc::default(),
                fences: 0,
                shared_fences: 0,
                epoch: 0,
                exchanges: 0,
                waited: Mask::EMPTY,
            },
            ledger: Rc::default(),
            atomics: Atomics::default(),
            loops: Unended::default(),
            active: all,
            alive: all,
            guard: Column::Uniform(Value::TRUE),
            convergence: Convergence::at_entry(),
        }
    }

    /// The threads of the group wait for each other.
    pub fn wait(&mut self) {
        self.convergence.reconverge();
        self.barriers.waited = Mask::EMPTY;
    }

    /// The barrier interval that the array's accesses are in.
    pub fn interval_of(&self, array: &Shared) -> u32 {
        if array.on_device {
            self.barriers.device_interval
        } else {
            self.barriers.interval
        }
    }
}

impl Barriers {
    /// Passes a barrier that orders groupshared memory, under this guard.
    pub fn end_interval(&mut self, barrier: Point, guard: Value) {
        self.interval += 1;
        self.since = Some(Rc::new(barrier));
        self.guard = guard;
    }
}

impl Frame {
    pub fn new(id: FunctionId, depth: u32, entered: Column) -> Frame {
        Frame {
            function: id,
            locals: Vec::new(),
            aliases: BTreeMap::new(),
            result: Vec::new(),
            entered,
            exits: Vec::new(),
            depth,
            caller: None,
            loops: Vec::new(),
        }
    }

    pub fn may_call(&self) -> bool {
        self.depth < MAX_CALL_DEPTH
    }
}
