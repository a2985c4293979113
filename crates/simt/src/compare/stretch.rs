//! Two kernels that differ only in a stretch of statements: is the stretch equivalent?
//!
//! A kernel may contain much that a run cannot follow, such as a loop around a ladder whose iterations it
//! cannot count. If two kernels differ only in a few statements of one block, it suffices to compare these.
//! They run alone, from a state in which everything that they find is free and the same in both runs: each
//! groupshared cell, each `static`, each variable whose value may differ between executions, device memory, and
//! the group. The comparison covers everything that they leave and later code reads.
//!
//! # Why that is enough
//!
//! Call the text before the stretch P, the two stretches L and L', and the text after them S. A run of a kernel
//! goes through P, reaches the stretch any number of times, and goes through S. Take a run of the first kernel,
//! which every proof assumes to be free of undefined behaviour. By induction over the executions of the
//! stretch, the second kernel has a run that agrees with it before and after each of them, in all but the
//! *dead* cells and variables: those that no statement outside the stretch reads any more.
//!
//! - *The same state at the start.* P is the same text, declarations included
//!   ([`crate::facts::differing_statements::are_one_text`]), and reads nothing dead
//!   ([`crate::facts::later_reads::Afterwards`]). The comparison uses nothing that P leaves except what P must
//!   leave: function inputs that nothing writes, and variables that get their only value where they are
//!   declared, computed from these ([`Stable`]).
//! - *The same threads.* The stretch follows a barrier of its block, or the start of the kernel. HLSL leaves a
//!   barrier undefined that not all threads of a group reach, so all threads are there. If some may be missing,
//!   which devices handle in different ways, the proof says so ([`WaveRun::assumes_convergence`]). No thread leaves within
//!   the stretch, in either run.
//! - *The same state at the end.* Equal terms are equal values for every input ([`crate::terms::value`]). In a
//!   loop, dead cells may differ when the stretch starts again. So each cell that the stretch writes starts
//!   with a different atom in each of the two runs, and equal results cannot derive from it.
//! - *No new race.* Accesses in P's last interval can race with accesses in the stretch before its first
//!   barrier, and accesses in S's first interval with those after its last one. The stretch begins after a
//!   barrier, or with the same statements up to one. L' ends with a barrier, or after its last one touches no
//!   cell that L does not touch there in the same way ([`Shared::touches_no_more`]). So a fix may remove races.
//!   [`compare`] does not know which kernel is right, so there L must not touch more than L' either. L' passes
//!   a barrier wherever L does, which separates P's accesses from S's.
//! - *The same order of accesses to device memory.* Neither stretch accesses it, and either both order the
//!   accesses of P and S or neither does.
//!
//! Code outside the stretch that is not understood may be anything, even a macro that reads dead state. Then
//! nothing is proved.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use shaderlint_hlsl::{Direction, Expr, ExprKind, GlobalId, LocalId, Stmt, Type};

use crate::compare::equivalence::{compare_traces, compare_with};
use crate::compare::outcome::{Outcome, WaveRun};
use crate::compare::trace::Trace;
use crate::detect::Detectors;
use crate::exec::memory::Shared;
use crate::exec::{BUDGET, Frame, Halt, Machine, RunMode};
use crate::facts::differing_statements::Tail;
use crate::facts::effects::EffectsCache;
use crate::facts::kernel::{Kernel, WAVE_SIZES};
use crate::facts::paths::call_in;
use crate::facts::stable::Stable;
use crate::facts::stretch::{Pair, Side, name_of};
use crate::finding::Stop;
use crate::terms::column::{Column, Mask};
use crate::terms::value::Value;
use crate::terms::{Floats, Terms};
use crate::waves::{LaneMap, Packing};

/// The maximum number of free variable components.
const MAX_FREE: usize = 256;

/// Compares two kernels like [`compare_with`], for any floats. Where that proves nothing, compares them like
/// [`compare_stretch`].
pub fn compare<'a>(
    first: impl Into<Kernel<'a>>,
    second: impl Into<Kernel<'a>>,
    maps: &'a [LaneMap],
) -> impl Iterator<Item = WaveRun> + 'a {
    let (first, second) = (first.into(), second.into());
    let pair = LazyCell::new(move || {
        let pair = Pair::of(first, second)?;
        // It is unknown which of the two is right.
        Some(Pair {
            is_mutual: true,
            ..pair
        })
    });
    compare_with(Floats::Any, first, second, maps).map(move |whole| {
        if whole.is_first_wrong || !matches!(whole.outcome, Outcome::Undecided | Outcome::NotProved(_)) {
            return whole;
        }
        let in_place = pair
            .as_ref()
            .and_then(|pair| pair.run_at(Floats::Any, whole.packing()).ok());
        in_place.unwrap_or(whole)
    })
}

/// Compares two kernels whose texts differ only in a stretch of statements by that stretch alone, under each of
/// `maps`, at every wave size, including those that `[WaveSize]` excludes. `None` if the texts differ elsewhere
/// or too much.
///
/// Both must be read in full: text that a configuration leaves out is not compared.
pub fn compare_stretch<'a>(
    floats: Floats,
    first: impl Into<Kernel<'a>>,
    second: impl Into<Kernel<'a>>,
    maps: &'a [LaneMap],
) -> Option<impl Iterator<Item = WaveRun> + 'a> {
    let pair = Pair::of(first.into(), second.into())?;
    let cases = maps.iter().flat_map(|map| {
        WAVE_SIZES
            .into_iter()
            .map(move |wave_size| Packing { wave_size, map: *map })
    });
    Some(cases.map(move |packing| {
        pair.run_at(floats, packing)
            .unwrap_or_else(|outcome| WaveRun::new(packing, outcome, true))
    }))
}

impl Pair<'_> {
    /// The outcome of both stretches, as an error if it proves nothing. A difference here need not be one of the
    /// kernels, which may never reach this state.
    fn run_at(&self, floats: Floats, packing: Packing) -> Result<WaveRun, Outcome> {
        match self.compare(floats, packing).map_err(Outcome::NotProved)? {
            Outcome::Differs(_) | Outcome::Undecided => Err(Outcome::Undecided),
            outcome @ (Outcome::Equal | Outcome::Reassociates | Outcome::RoundsBeyond(_)) => {
                Ok(WaveRun::new(packing, outcome, self.assumes_convergence))
            }
            outcome @ (Outcome::OutOfBounds { .. } | Outcome::Races { .. } | Outcome::NotProved(_)) => {
                Err(Outcome::NotProved(outcome.reason()))
            }
        }
    }

    fn compare(&self, floats: Floats, packing: Packing) -> Result<Outcome, String> {
        let mut terms = Terms::of(floats);
        terms.note_derivations();
        let expected = self.run(0, &mut terms, packing)?;
        let got = self.run(1, &mut terms, packing)?;
        if expected.waits && !got.waits || expected.orders_device != got.orders_device {
            return Err("the statements that differ order memory differently".to_owned());
        }
        if !got.trace.unended.is_subset(&expected.trace.unended) {
            return Err("a loop that is not proved to end".to_owned());
        }
        if expected.active != got.active {
            return Err("different threads continue after the statements that differ".to_owned());
        }
        if expected.statics != got.statics {
            return Err("a `static` may end with another value".to_owned());
        }
        let mut left = Vec::new();
        self.compare_variables(&expected, &got, &mut left)?;
        self.compare_cells(&expected, &got, &mut left)?;
        left.extend(expected.statics.values().flatten().flat_map(values));
        let shaders = [self.sides[0].kernel.shader, self.sides[1].kernel.shader];
        Ok(compare_traces(
            &mut terms,
            shaders,
            [&expected.trace, &got.trace],
            &left,
        ))
    }

    /// Variables that are read after the stretch, or in the stretch when it runs again, must hold the same
    /// values.
    fn compare_variables(
        &self,
        expected: &StretchEnd,
        got: &StretchEnd,
        left: &mut Vec<Value>,
    ) -> Result<(), String> {
        let [old, _] = &self.sides;
        let mut read = [0, 1].map(|side| {
            let side = &self.sides[side];
            let mut read = side.afterwards.read.clone();
            if self.repeats {
                read.extend(&side.effects.read);
            }
            read
        });
        let function = old.function();
        let parameters = function.into_iter().flat_map(|function| &function.parameters);
        let handed_out = parameters.filter(|parameter| parameter.direction != Direction::In);
        read[0].extend(handed_out.map(|parameter| parameter.local));
        for [was, is] in &self.common {
            if !read[0].contains(was) && !read[1].contains(is) {
                continue;
            }
            let a = expected.locals.get(was.0 as usize);
            let b = got.locals.get(is.0 as usize);
            if a != b {
                let name = function.and_then(|function| function.locals.get(was.0 as usize));
                let name = name.map_or("", |local| &*local.name);
                return Err(format!("`{name}` may end with another value"));
            }
            left.extend(a.into_iter().flatten().flat_map(values));
        }
        Ok(())
    }

    /// Cells with different final values must not be read any more. After its last barrier, the second stretch
    /// must touch no more than the first one.
    fn compare_cells(
        &self,
        expected: &StretchEnd,
        got: &StretchEnd,
        left: &mut Vec<Value>,
    ) -> Result<(), String> {
        for (name, (was, was_in)) in &expected.shared {
            let Some((is, is_in)) = got
                .shared
                .get(name)
                .filter(|(is, _)| is.cells().len() == was.cells().len())
            else {
                return Err(format!("`{name}` is another array"));
            };
            let is_covered = is.touches_no_more(*is_in, was, *was_in);
            if !is_covered || self.is_mutual && !was.touches_no_more(*was_in, is, *is_in) {
                return Err(format!(
                    "after the last barrier, different threads access `{name}`"
                ));
            }
            let pairs = (0u32..).zip(was.cells().iter().zip(is.cells()));
            let dead: BTreeSet<u32> = pairs.filter(|(_, (a, b))| a != b).map(|(cell, _)| cell).collect();
            let cells = (0u32..).zip(was.cells());
            left.extend(
                cells
                    .filter(|(cell, _)| !dead.contains(cell))
                    .map(|(_, value)| value.clone()),
            );
            for side in [expected, got] {
                let read = side.read_afterwards.get(name);
                let are_read = |read: &BTreeSet<u32>| !read.is_disjoint(&dead);
                if !dead.is_empty() && read.is_none_or(|read| read.as_ref().is_none_or(are_read)) {
                    return Err(format!(
                        "`{name}` ends with other values, which later code may read"
                    ));
                }
            }
        }
        Ok(())
    }
}

fn values(column: &Column) -> Vec<Value> {
    match column {
        Column::Uniform(value) => vec![value.clone()],
        Column::Lanes(values) => values.to_vec(),
    }
}

/// What one of the two stretches leaves.
struct StretchEnd {
    trace: Trace,
    /// The variables of the current function, by number.
    locals: Vec<Vec<Column>>,
    /// By name.
    statics: BTreeMap<String, Vec<Column>>,
    /// Arrays by name, each with the barrier interval in which the stretch ends.
    shared: BTreeMap<String, (Shared, u32)>,
    /// The cells of each array that may be read after the stretch; `None` if any cell may be.
    read_afterwards: BTreeMap<String, Option<BTreeSet<u32>>>,
    /// The threads that go on after the stretch.
    active: Mask,
    /// The stretch passes a barrier at which all threads wait.
    waits: bool,
    /// The stretch orders accesses to device memory.
    orders_device: bool,
}

impl<'a> Pair<'a> {
    fn run(&self, number: usize, terms: &mut Terms, packing: Packing) -> Result<StretchEnd, String> {
        let side = &self.sides[number];
        let Kernel { shader, .. } = side.kernel;
        let unfit = || "the thread group has an unsupported size".to_owned();
        let entry = side.kernel.function().ok_or_else(unfit)?;
        let group = side.kernel.group().ok_or_else(unfit)?;
        let machine =
            Machine::<Detectors>::new(side.kernel, terms, packing.of(group), RunMode::Comparison, BUDGET);
        let mut machine = machine.ok_or_else(unfit)?;
        machine.bind_parameters(entry);
        side.come_to_stretch(&mut machine)?;
        let read_afterwards = self.read_afterwards_by(side, &mut machine);
        self.free(&mut machine, number)?;
        let (mut interval, mut device_interval) = (0, 0);
        for (at, statement) in side.statements.iter().enumerate() {
            if at == self.leading {
                (interval, device_interval) = (
                    machine.state.barriers.interval,
                    machine.state.barriers.device_interval,
                );
            }
            followed(&mut machine, statement)?;
        }
        if let Some(Tail {
            condition,
            statements,
        }) = side.tail
        {
            let condition = machine.condition(condition).map_err(reason_of)?;
            let (holds, _, unknown) = machine.split(&condition);
            if !unknown.is_empty() {
                return Err(
                    "the statements that differ have a condition that shaderlint cannot follow".to_owned(),
                );
            }
            machine.state.active = holds;
            for statement in statements {
                followed(&mut machine, statement)?;
            }
        }
        let mut arrays = side
            .effects
            .shared_read
            .iter()
            .chain(&side.effects.shared_written);
        let is_followed = |array: &GlobalId| {
            let mut shared = machine.state.shared.iter();
            shared.any(|known| known.global == *array)
        };
        if !arrays.all(is_followed) {
            return Err("a groupshared array is too large to follow".to_owned());
        }
        machine.report_data_dependent_races();
        let state = &machine.state;
        let waits = state.barriers.interval > interval;
        let orders_device = state.barriers.device_interval > device_interval;
        if machine.report.passed_conditional_barrier || state.guard != Column::Uniform(Value::TRUE) {
            return Err("the statements that differ have a barrier under a condition".to_owned());
        }
        let named = |global: &GlobalId| name_of(shader, *global).unwrap_or_default();
        let left = StretchEnd {
            locals: state.frame.locals.clone(),
            active: state.active,
            statics: (state
                .statics
                .iter()
                .map(|(global, value)| (named(global), value.clone())))
            .collect(),
            shared: (state.shared.iter())
                .map(|array| (named(&array.global), (array.clone(), state.barriers.interval)))
                .collect(),
            read_afterwards,
            waits,
            orders_device,
            trace: Trace::of_run(shader, &mut machine, None).map_err(|outcome| outcome.reason())?,
        };
        if left.trace.assumes_convergence {
            return Err("some threads may not reach a barrier".to_owned());
        }
        Ok(left)
    }

    /// For each array that one of the two stretches writes: its cells that may be read after the stretch.
    fn read_afterwards_by(
        &self,
        side: &Side<'a>,
        machine: &mut Machine<'a, Detectors>,
    ) -> BTreeMap<String, Option<BTreeSet<u32>>> {
        let (shader, all) = (side.kernel.shader, machine.state.active);
        let mut effects = EffectsCache::default();
        let stable = side
            .function()
            .map(|function| Stable::of(shader, function, &mut effects));
        // Each of these expressions has one value, whenever it is evaluated: the current one.
        let mut elements = |conditions: &[&'a Expr], index: &'a Expr| {
            let stable = stable.as_ref()?;
            let mut threads = all;
            for condition in conditions {
                if stable.gives_one_value(shader, condition, &mut effects)
                    && let Ok(holds) = machine.condition(condition)
                {
                    let (_, fails, _) = machine.split(&holds);
                    threads = threads.without(fails);
                }
            }
            if !stable.gives_one_value(shader, index, &mut effects) {
                return None;
            }
            let value = machine.eval(index).ok()?;
            let value = value.first()?;
            threads.threads().map(|thread| value.at(thread).known()).collect()
        };
        let written = self.sides.iter().flat_map(|side| {
            let written = side.effects.shared_written.iter();
            written.filter_map(|array| name_of(side.kernel.shader, *array))
        });
        let written: BTreeSet<String> = written.collect();
        let read = written.into_iter().map(|name| {
            let cells = self.read_afterwards(side, &name, &mut elements);
            (name, cells)
        });
        read.collect()
    }

    /// Makes everything free that the stretch may find. Both runs share the atoms, except for cells that the
    /// stretch may find as it left them.
    fn free(&self, machine: &mut Machine<'_, Detectors>, number: usize) -> Result<(), String> {
        let (shader, lanes) = (machine.shader, machine.lanes);
        let function = machine.function();
        let mut effects = EffectsCache::default();
        let stable = function.map(|function| Stable::of(shader, function, &mut effects).locals);
        let stable = stable.unwrap_or_default();
        let mut touched: BTreeSet<LocalId> = BTreeSet::new();
        for side in &self.sides {
            touched.extend(&side.effects.read);
            touched.extend(&side.effects.written);
        }
        let locals = function.map_or(&[][..], |function| &function.locals);
        let mut room = MAX_FREE;
        let mut take = |count: usize| {
            room = room.checked_sub(count)?;
            Some(count)
        };
        let too_many = || "the kernel has too many variables to follow".to_owned();
        for (number, local) in locals.iter().enumerate().take(self.before) {
            let id = LocalId(number as u32);
            if !touched.contains(&id) || stable.contains(&id) {
                continue;
            }
            if matches!(local.ty, Type::Resource(..)) || !shader.is_known(&local.ty) {
                return Err(format!("the meaning of `{}` is unknown", local.name));
            }
            let count = take(shader.components(&local.ty)).ok_or_else(too_many)?;
            let value = machine
                .terms
                .free_columns(&format!("variable {number}"), count, lanes);
            if let Some(slot) = machine.state.frame.locals.get_mut(number) {
                *slot = value;
            }
        }
        let statics: Vec<(GlobalId, usize)> = (machine.state.statics.iter())
            .map(|(global, value)| (*global, value.len()))
            .collect();
        for (global, count) in statics {
            let count = take(count).ok_or_else(too_many)?;
            let name = name_of(shader, global).unwrap_or_default();
            let value = machine
                .terms
                .free_columns(&format!("static {name}"), count, lanes);
            machine.state.statics.insert(global, value);
        }
        // If the stretch runs again, its earlier writes may differ: each run has atoms of its own there.
        for index in 0..machine.state.shared.len() {
            let name = name_of(shader, machine.state.shared[index].global).unwrap_or_default();
            let place = if self.own.contains(&name) {
                format!("cells of {name} in {number}")
            } else {
                format!("cells of {name}")
            };
            let place = machine.terms.symbol(&place);
            let terms = &mut *machine.terms;
            for (cell, slot) in (0u32..).zip(machine.state.shared[index].cells_mut()) {
                *slot = terms.free(place, 0, cell);
            }
        }
        Ok(())
    }
}

impl Side<'_> {
    /// Enters the functions by which the entry point reaches the stretch.
    fn come_to_stretch(&self, machine: &mut Machine<'_, Detectors>) -> Result<(), String> {
        let unknown = || "shaderlint cannot follow the kernel to the statements that differ".to_owned();
        let (shader, lanes) = (machine.shader, machine.lanes);
        let mut effects = EffectsCache::default();
        for (depth, (caller, call)) in (1u32..).zip(&self.way) {
            let function = shader.functions.get(caller.0 as usize).ok_or_else(unknown)?;
            let stable = Stable::of(shader, function, &mut effects);
            declare(machine, &stable)?;
            let (statement, _) = call_in(shader, *caller, *call).ok_or_else(unknown)?;
            let mut parts = statement.expressions().flat_map(Expr::descendants);
            let (callee, arguments) = parts
                .find_map(|expr| match &expr.kind {
                    ExprKind::Call(callee, arguments) => Some((*callee, arguments)),
                    _ => None,
                })
                .ok_or_else(unknown)?;
            let called = shader.functions.get(callee.0 as usize).ok_or_else(unknown)?;
            let of_callee = Stable::of(shader, called, &mut effects);
            let mut given = Vec::new();
            for (parameter, argument) in called.parameters.iter().zip(arguments) {
                let variable = called
                    .locals
                    .get(parameter.local.0 as usize)
                    .ok_or_else(unknown)?;
                let is_kept = of_callee.locals.contains(&parameter.local);
                let is_one = stable.gives_one_value(shader, argument, &mut effects);
                if is_kept && is_one && !matches!(variable.ty, Type::Resource(..)) {
                    let value = machine.eval(argument).map_err(|_| unknown())?;
                    given.push((
                        parameter.local,
                        machine.convert(&value, &argument.ty, &variable.ty),
                    ));
                } else {
                    let count = shader.components(&variable.ty);
                    let place = format!("parameter {} of {}", parameter.local.0, called.name);
                    given.push((parameter.local, machine.terms.free_columns(&place, count, lanes)));
                }
            }
            machine.state.frame = Frame::new(callee, depth, Column::Uniform(Value::TRUE));
            machine.open_frame();
            for (local, value) in given {
                if let Some(slot) = machine.state.frame.locals.get_mut(local.0 as usize) {
                    *slot = value;
                }
            }
        }
        let function = machine.function().ok_or_else(unknown)?;
        let stable = Stable::of(shader, function, &mut effects);
        declare(machine, &stable)
    }
}

/// Runs a statement that no thread may leave.
fn followed<'a>(machine: &mut Machine<'a, Detectors>, statement: &'a Stmt) -> Result<(), String> {
    let active = machine.state.active;
    machine.statement(statement).map_err(reason_of)?;
    if machine.state.active == active {
        Ok(())
    } else {
        Err(reason_of(Halt::LeaveLoop))
    }
}

fn reason_of(halt: Halt) -> String {
    match halt {
        Halt::Stop(Stop { reason, .. }) => reason,
        Halt::LeaveLoop => "threads may leave the statements that differ".to_owned(),
    }
}

/// Gives stable variables their only value.
fn declare<'a>(machine: &mut Machine<'a, Detectors>, stable: &Stable<'a>) -> Result<(), String> {
    for declaration in &stable.declarations {
        machine
            .statement(declaration)
            .map_err(|_| "a variable gets a value that shaderlint cannot follow".to_owned())?;
    }
    Ok(())
}
