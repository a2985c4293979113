//! How a run for claims goes on where a proof of the whole kernel could not: through loops with an unknown number of
//! iterations, through switches over unknown values, and past statements that are not followed.
//!
//! Of a loop the run executes one arbitrary iteration, with everything unknown that the loop writes; of a switch it
//! executes each case. Code that is left out may have written anything to the variables that it names, and these
//! values may tell one thread from the others: they prove nothing.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};
use shaderlint_hlsl::{
    BinaryOp, Case, Expr, ExprKind, GlobalId, LocalId, Loop, Scalar, Span, Stmt, StmtKind, Storage,
};

use crate::exec::Observer;
use crate::exec::loop_uniformity::Uniformity;
use crate::exec::{Halt, LoopState, Machine, Run};
use crate::facts::effects::Effects;
use crate::terms::column::{Column, Mask};
use crate::terms::fold;

/// What an over-approximating run knows of the code that it cannot follow.
#[derive(Default)]
pub(crate) struct Approximation {
    /// In some iteration or call, the run left out statements with an atomic.
    pub misses: bool,
    /// Atoms: the values of variables that a loop changes, in an arbitrary iteration.
    pub of_iterations: FxHashSet<u32>,
    /// While the run looks up an atomic's cell: the undeclared names in it ([`crate::exec::undeclared`]).
    pub assumed_uniform: Option<BTreeSet<String>>,
    /// Undeclared names to which something was stored.
    pub stored: BTreeSet<String>,
    /// The run looks up an argument of an undefined macro.
    pub in_macro: bool,
    /// How many statements around are arbitrary iterations of loops or possible cases of switches; and how many of
    /// these have a barrier.
    pub standing_for_several: u32,
    pub several_with_barriers: u32,
    /// By groupshared array and interval: the first plain access; `None` if statements that were not run may make
    /// plain accesses.
    pub plain: FxHashMap<(GlobalId, u32), Option<Span>>,
    /// The first barrier that the run passed and that perhaps not all inputs reach, or the statement that holds it.
    pub open_barrier: Option<Span>,
}

/// The state where a statement began.
pub(crate) struct Whereabouts {
    active: Mask,
    guard: Column,
    loops: usize,
}

impl<'a, O: Observer> Machine<'a, O> {
    /// Runs an arbitrary iteration of a loop, for its claims. Claims from the iterations so far no longer count: they
    /// held for those iterations only. Returns the variables that may tell the threads apart after the loop.
    pub fn any_iteration(
        &mut self,
        statement: &'a Stmt,
        l: &'a Loop,
        begun: &[Vec<Column>],
        so_far: O::Seen,
    ) -> Vec<LocalId> {
        self.observer.go_back(so_far);
        let effects = self
            .effects
            .of_statements(self.shader, std::slice::from_ref(statement));
        let held = self.in_any_iteration(l, &effects, begun);
        let untold = held.iter().filter(|(_, held)| **held == Uniformity::Unknown);
        let untold = untold.map(|(local, _)| *local).collect();
        if !effects.atomic && !self.may_place_slots(&effects) {
            self.note_not_run(&effects, statement.span);
            return untold;
        }
        let before = self.state.clone();
        self.state.active = self.state.active.without(self.never_enter(l, begun));
        self.forget(&effects, |machine, local| {
            // The run does not track how the loop changes a `static` variable.
            let held = local.and_then(|local| held.get(&local));
            match held.copied().unwrap_or(Uniformity::Unknown) {
                Uniformity::Uniform | Uniformity::Affine => {
                    let value = machine.terms.fresh();
                    machine.approximation.of_iterations.extend(value.atoms());
                    Column::Uniform(value)
                }
                Uniformity::Varying => machine.unknown(),
                Uniformity::Unknown => machine.unknown_by_thread(),
            }
        });
        for (local, _) in held.iter().filter(|(_, held)| **held == Uniformity::Affine) {
            let index = local.0 as usize;
            let steps = self.state.frame.locals.get(index).cloned();
            let (Some(begun), Some(steps)) = (begun.get(index), steps) else {
                continue;
            };
            let stepped = self.binary(BinaryOp::Add, Some(Scalar::Uint), begun, &steps);
            if let Some(slot) = self.state.frame.locals.get_mut(index) {
                *slot = stepped;
            }
        }
        let guard = self.state.guard.clone();
        self.state.frame.loops.push(LoopState::any_iteration(guard));
        // Claims met before a halt still count.
        self.stand_for_several(&effects, 1);
        let halted = self.pass(l).is_err();
        self.stand_for_several(&effects, -1);
        self.state = before;
        let untested = l.condition.as_ref().filter(|_| !l.tests_first);
        let mut aside = untested.into_iter().chain(&l.step);
        if halted || aside.any(|expr| self.effects.of_expression(self.shader, expr).atomic) {
            self.miss(&effects);
        }
        untold
    }

    /// The threads that a loop's first test keeps out of all its iterations. This is known only if the test depends
    /// on nothing but variables, whose values are those before the loop, and values that never change.
    fn never_enter(&mut self, l: &'a Loop, begun: &[Vec<Column>]) -> Mask {
        let globals = &self.shader.globals;
        let is_settled = |part: &Expr| match &part.kind {
            ExprKind::Local(_) | ExprKind::Literal(_) | ExprKind::Field(..) | ExprKind::Swizzle(..) => true,
            ExprKind::Unary(..) | ExprKind::Binary(..) | ExprKind::Cast(_) => true,
            ExprKind::Global(global) => globals
                .get(global.0 as usize)
                .is_some_and(|global| matches!(global.storage, Storage::Uniform | Storage::Const)),
            _ => false,
        };
        let tested = l.condition.as_ref().filter(|_| l.tests_first);
        let Some(condition) = tested.filter(|condition| condition.descendants().all(is_settled)) else {
            return Mask::EMPTY;
        };
        let now = std::mem::replace(&mut self.state.frame.locals, begun.to_vec());
        let value = self.condition(condition);
        self.state.frame.locals = now;
        value.map_or(Mask::EMPTY, |value| self.split(&value).1)
    }

    /// Whether values that these statements read depend on the number that an atomic found.
    fn may_place_slots(&self, effects: &Effects) -> bool {
        let locals = effects.read.iter();
        let mut columns = locals
            .filter_map(|local| self.state.frame.locals.get(local.0 as usize))
            .flatten();
        columns.any(|column| O::is_made_of_slots(self, column))
    }

    pub fn leave_untold(&mut self, locals: &[LocalId]) {
        for local in locals {
            let count = self.state.frame.locals.get(local.0 as usize).map_or(0, Vec::len);
            let untold = (0..count).map(|_| self.unknown_by_thread()).collect();
            if let Some(slot) = self.state.frame.locals.get_mut(local.0 as usize) {
                *slot = untold;
            }
        }
    }

    /// Passes statements that are not followed: everything that they write is unknown from here on.
    pub fn pass_unfollowed(&mut self, effects: &Effects, span: Span) -> Run<()> {
        O::uses_in(self, effects);
        if effects.opaque {
            return Self::stop("an unsupported loop or switch", span);
        }
        self.forget(effects, |machine, _| machine.unknown());
        self.state.barriers.interval += u32::from(effects.barrier);
        // Some paths through the statements may miss the barrier.
        let open = &mut self.approximation.open_barrier;
        *open = open.or(effects.barrier.then_some(span));
        if effects.leaves {
            self.may_have_left(Self::unknown);
        }
        Ok(())
    }

    /// An unknown value of each thread's own.
    pub fn unknown(&mut self) -> Column {
        Column::from_fn(self.lanes, |_| self.terms.fresh())
    }

    /// An unknown element of a variable.
    pub fn some_element(&mut self, columns: &[Column], base: &Column) -> Column {
        let active = self.state.active;
        for column in columns {
            O::uses(self, column);
        }
        if base.uniform(active).is_some() && columns.iter().all(|column| column.uniform(active).is_some()) {
            return Column::Uniform(self.terms.fresh());
        }
        self.unknown()
    }

    fn pass(&mut self, l: &'a Loop) -> Run<()> {
        if let Some(condition) = l.condition.as_ref().filter(|_| l.tests_first) {
            let value = self.condition(condition)?;
            let (yes, _, maybe) = self.split(&value);
            if !maybe.is_empty() {
                self.state.guard = self.guards(&value, maybe).0;
            }
            self.state.active = yes.or(maybe);
        }
        self.statement(&l.body)
    }

    /// Records that the run leaves out statements with these effects, or part of them.
    pub fn miss(&mut self, effects: &Effects) {
        self.approximation.misses |= effects.atomic || effects.opaque;
    }

    fn stand_for_several(&mut self, effects: &Effects, more: i32) {
        let known = &mut self.approximation;
        known.standing_for_several = known.standing_for_several.saturating_add_signed(more);
        let with_barriers = if effects.barrier { more } else { 0 };
        known.several_with_barriers = known.several_with_barriers.saturating_add_signed(with_barriers);
    }

    /// Records that statements with these effects may make plain accesses in the current interval.
    fn note_not_run(&mut self, effects: &Effects, span: Span) {
        let interval = self.state.barriers.interval;
        let known = &mut self.approximation;
        let arrays = effects.shared_read.union(&effects.shared_written);
        known.plain.extend(arrays.map(|array| ((*array, interval), None)));
        known.open_barrier = known.open_barrier.or(effects.barrier.then_some(span));
    }

    /// The last barrier before an access at `place`, if some inputs that reach the access do not reach the barrier.
    pub fn open_barrier_before(&self, place: Span) -> Option<Span> {
        let is_ordered = self.leads_here(&self.state.barriers.guard);
        let barrier = self
            .state
            .barriers
            .since
            .as_deref()
            .map_or(place, |barrier| barrier.span);
        (!is_ordered).then_some(barrier)
    }

    /// Records a plain access that is made.
    pub fn note_plain(&mut self, array: GlobalId, site: u32) {
        if !self.over_approximates() {
            return;
        }
        let place = self.sites.get(site as usize).map(|site| site.span);
        let open = place.and_then(|place| self.open_barrier_before(place));
        let interval = self.state.barriers.interval;
        let known = &mut self.approximation;
        known.open_barrier = known.open_barrier.or(open);
        known.plain.entry((array, interval)).or_insert(place);
    }

    /// Runs each case of a switch for its claims, under the condition that the selector equals the label.
    pub fn any_case(&mut self, value: &Column, cases: &'a [Case]) {
        for case in cases {
            let before = self.state.clone();
            let chosen = match case.label.as_ref().map(|label| self.condition(label)) {
                Some(Ok(label)) => self.map([value, &label], |m, v| {
                    fold::binary(m.terms, BinaryOp::Equal, Scalar::Uint, v[0], v[1])
                }),
                _ => self.unknown(),
            };
            let (yes, _, maybe) = self.split(&chosen);
            if !maybe.is_empty() {
                self.state.guard = self.guards(&chosen, maybe).0;
            }
            self.state.active = yes.or(maybe);
            let guard = self.state.guard.clone();
            self.state.frame.loops.push(LoopState::any_iteration(guard));
            let effects = self.effects.of_statements(self.shader, &case.body);
            self.stand_for_several(&effects, 1);
            let halted = self.block(&case.body).is_err();
            self.stand_for_several(&effects, -1);
            if halted {
                self.miss(&effects);
            }
            self.state = before;
        }
    }

    pub fn whereabouts(&self) -> Whereabouts {
        Whereabouts {
            active: self.state.active,
            guard: self.state.guard.clone(),
            loops: self.state.frame.loops.len(),
        }
    }

    /// Goes on after a statement that is not followed, in a run for claims: everything that the statement may have
    /// written is unknown. These values may tell one thread from the others, so they prove nothing.
    pub fn pass_over(&mut self, statement: &'a Stmt, before: Whereabouts, halt: Halt) -> Run<()> {
        if matches!(halt, Halt::LeaveLoop) || self.is_exhausted() {
            return Err(halt);
        }
        self.state.active = before.active.and(self.state.alive);
        self.state.guard = before.guard;
        self.state.frame.loops.truncate(before.loops);
        let mut effects = self
            .effects
            .of_statements(self.shader, std::slice::from_ref(statement));
        self.miss(&effects);
        if effects.opaque {
            let locals = self.state.frame.locals.len();
            effects.written = (0..).take(locals).map(LocalId).collect();
            effects.read.clone_from(&effects.written);
            effects.declared.clear();
            effects.statics = self.state.statics.keys().copied().collect();
            effects.shared_written = self.state.shared.iter().map(|array| array.global).collect();
        }
        O::uses_in(self, &effects);
        self.note_not_run(&effects, statement.span);
        self.forget(&effects, |machine, _| machine.unknown_by_thread());
        if effects.leaves {
            self.may_have_left(Self::unknown_by_thread);
            if matches!(statement.kind, StmtKind::Return(_)) {
                self.state.active = Mask::EMPTY;
            }
        }
        Ok(())
    }

    /// An unknown value of each thread's own, which may tell the threads apart.
    pub fn unknown_by_thread(&mut self) -> Column {
        let mut columns = self.unknowns_by_thread(1);
        columns.pop().unwrap_or(Column::ZERO)
    }

    /// Assigns `unknown` to everything that statements with these effects may write.
    fn forget(&mut self, effects: &Effects, unknown: impl Fn(&mut Self, Option<LocalId>) -> Column) {
        for local in &effects.written {
            let count = self.state.frame.locals.get(local.0 as usize).map_or(0, Vec::len);
            let columns = (0..count).map(|_| unknown(self, Some(*local))).collect();
            if let Some(slot) = self.state.frame.locals.get_mut(local.0 as usize) {
                *slot = columns;
            }
        }
        for local in &effects.rebound {
            self.state.frame.aliases.remove(local);
        }
        for global in &effects.statics {
            let count = self.state.statics.get(global).map_or(0, Vec::len);
            let columns = (0..count).map(|_| unknown(self, None)).collect();
            self.state.statics.insert(*global, columns);
        }
        for array in &mut self.state.shared {
            if effects.shared_written.contains(&array.global) {
                for cell in array.cells_mut() {
                    *cell = self.terms.fresh();
                }
            }
        }
        self.state.events += 1;
    }
}

impl LoopState {
    fn any_iteration(guard: Column) -> LoopState {
        LoopState {
            span: None,
            breaks: Mask::EMPTY,
            continues: Mask::EMPTY,
            iteration_guard: guard.clone(),
            guard,
            number: 0,
            variable: None,
            is_any_iteration: true,
        }
    }
}
