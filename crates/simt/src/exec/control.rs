//! Branches, loops and switches over threads that may go different ways.

use std::collections::BTreeMap;

use shaderlint_hlsl::{
    BinaryOp, Case, Expr, ExprKind, GlobalId, LocalId, Loop, Span, Stmt, StmtKind, Storage, Type,
};

use crate::exec::Observer;
use crate::exec::divergence::{Parting, breaks};
use crate::exec::{BUDGET, Halt, LoopState, MAX_WORK, Machine, Run};
use crate::terms::column::{Column, Mask};

/// The share of the run's budget that one loop may use before it counts as one that cannot be followed.
const LOOP_SHARE: u64 = BUDGET / 8;
/// The share of a loop in which the group meets: such a loop may hold what the run looks for.
const MEETING_SHARE: u64 = BUDGET / 2;
/// The share of the run's atoms that one loop may use, where an earlier run ran out of atoms.
const WORK_SHARE: usize = MAX_WORK / 8;

/// The state at the end of one arm of a branch.
struct ArmEnd {
    active: Mask,
    locals: Vec<Vec<Column>>,
    statics: BTreeMap<GlobalId, Vec<Column>>,
    guard: Column,
}

impl<'a, O: Observer> Machine<'a, O> {
    /// Runs the arms of a branch; `span` is that of its statement.
    pub fn branch(
        &mut self,
        condition: &Column,
        span: Span,
        then: &'a [Stmt],
        otherwise: &'a [Stmt],
    ) -> Run<()> {
        let (yes, no, maybe) = self.split(condition);
        if !maybe.is_empty() {
            return self.both_arms(condition, span, [then, otherwise]);
        }
        let mut after = Mask::EMPTY;
        for (mask, arm, elsewhere, holds) in [(yes, then, no, true), (no, otherwise, yes, false)] {
            if !mask.is_empty() {
                self.state.active = mask;
                self.on_divergent_path(
                    &Parting {
                        span,
                        elsewhere,
                        perhaps: Mask::EMPTY,
                        holds,
                    },
                    |m| m.block(arm),
                )?;
                after = after.or(self.state.active);
            }
        }
        self.state.active = after;
        Ok(())
    }

    /// Runs both arms of a branch whose condition is not known for all threads, and joins their results.
    fn both_arms(&mut self, condition: &Column, span: Span, arms: [&'a [Stmt]; 2]) -> Run<()> {
        let (yes, no, maybe) = self.split(condition);
        let (then_guard, else_guard) = self.guards(condition, maybe);
        let (locals, statics) = (self.state.frame.locals.clone(), self.state.statics.clone());
        let guard = self.state.guard.clone();

        self.state.active = yes.or(maybe);
        self.state.guard = then_guard.clone();
        self.on_divergent_path(
            &Parting {
                span,
                elsewhere: no,
                perhaps: maybe,
                holds: true,
            },
            |m| m.block(arms[0]),
        )?;
        let then = ArmEnd {
            active: self.state.active,
            locals: std::mem::replace(&mut self.state.frame.locals, locals),
            statics: std::mem::replace(&mut self.state.statics, statics),
            guard: std::mem::replace(&mut self.state.guard, else_guard.clone()),
        };

        self.state.active = no.or(maybe);
        self.on_divergent_path(
            &Parting {
                span,
                elsewhere: yes,
                perhaps: maybe,
                holds: false,
            },
            |m| m.block(arms[1]),
        )?;
        let else_active = self.state.active;
        let else_end = std::mem::replace(&mut self.state.guard, guard);

        self.join(condition, &then);
        self.state.active = then.active.or(else_active);
        let is_as_before = then.guard == then_guard && else_end == else_guard && then.active == else_active;
        if !is_as_before || !yes.or(no).is_empty() {
            let old = self.state.guard.clone();
            let terms = &mut *self.terms;
            self.state.guard = Column::from_fn(self.lanes, |thread| {
                let (a, b) = (then.guard.at(thread), else_end.at(thread));
                match (then.active.contains(thread), else_active.contains(thread)) {
                    (true, true) if a == then_guard.at(thread) && b == else_guard.at(thread) => {
                        old.at(thread).clone()
                    }
                    (true, true) => terms.or(a, b),
                    (true, false) => a.clone(),
                    (false, true) => b.clone(),
                    // The thread took no part, or is gone: the arms' guards do not apply to it.
                    (false, false) => old.at(thread).clone(),
                }
            });
        }
        Ok(())
    }

    /// Joins the variables that one arm left with those of the other arm, whose end the state holds.
    fn join(&mut self, condition: &Column, then: &ArmEnd) {
        let (lanes, terms, else_active) = (self.lanes, &mut *self.terms, self.state.active);
        let mut join = |mine: &mut Vec<Column>, theirs: &[Column]| {
            for (else_column, then_column) in mine.iter_mut().zip(theirs) {
                if else_column != then_column {
                    let joined = Column::from_fn(lanes, |thread| {
                        let (a, b) = (then_column.at(thread), else_column.at(thread));
                        match (then.active.contains(thread), else_active.contains(thread)) {
                            (true, true) => terms.select(condition.at(thread), a, b),
                            (true, false) => a.clone(),
                            _ => b.clone(),
                        }
                    });
                    *else_column = joined;
                }
            }
        };
        for (mine, theirs) in self.state.frame.locals.iter_mut().zip(&then.locals) {
            join(mine, theirs);
        }
        for (global, theirs) in &then.statics {
            match self.state.statics.get_mut(global) {
                Some(mine) => join(mine, theirs),
                None => debug_assert!(false, "every static has its columns from the start"),
            }
        }
    }

    /// Runs `f` for the threads on this side of a branch.
    fn on_divergent_path(&mut self, parting: &Parting, f: impl FnOnce(&mut Self) -> Run<()>) -> Run<()> {
        let depth = self.paths.partings.len();
        self.paths.partings.push(*parting);
        let ran = f(self);
        self.paths.partings.truncate(depth);
        ran
    }

    pub fn follow_loop(&mut self, statement: &'a Stmt, l: &'a Loop) -> Run<()> {
        let entry_active = self.state.active;
        let entered = (!self.over_approximates())
            .then(|| (self.state.frame.locals.clone(), self.state.statics.clone()));
        for statement in &l.init {
            self.statement(statement)?;
        }
        let variable = loop_variable(l);
        let depth = self.state.frame.loops.len();
        self.state.frame.loops.push(LoopState {
            span: Some(statement.span),
            breaks: Mask::EMPTY,
            continues: Mask::EMPTY,
            guard: self.state.guard.clone(),
            iteration_guard: self.state.guard.clone(),
            number: 0,
            variable,
            is_any_iteration: false,
        });
        let begun = self
            .over_approximates()
            .then(|| (self.observer.so_far(), self.state.frame.locals.clone()));
        let function_depth = self.state.frame.depth;
        let guard = self.state.guard.clone();
        let exits = self.state.frame.exits.len();
        let is_aside = self.is_aside(l);
        let ran = self.count_aside(is_aside, |machine| machine.run_iterations(l));
        // A halt may interrupt calls, but `call` restores its caller's frame on every path.
        debug_assert_eq!(self.state.frame.depth, function_depth);
        self.state.frame.loops.truncate(depth);
        match ran {
            Ok(after) => {
                self.state.active = after;
                Ok(())
            }
            Err(Halt::LeaveLoop) => {
                self.state.active = entry_active.and(self.state.alive);
                self.state.guard = guard;
                self.state.frame.exits.truncate(exits);
                if let Some((locals, statics)) = entered {
                    // The loop's effect is a term of the values at its entry, not of those where the run left
                    // it.
                    self.state.frame.locals = locals;
                    self.state.statics = statics;
                }
                let untold = begun.map_or_else(Vec::new, |(so_far, begun)| {
                    self.any_iteration(statement, l, &begun, so_far)
                });
                self.havoc(std::slice::from_ref(statement), statement.span)?;
                self.leave_untold(&untold);
                if self.may_wait(statement, l) {
                    self.state.barriers.waited = self.state.barriers.waited.or(self.state.active);
                }
                Ok(())
            }
            Err(halt) => {
                // The run does not see its later iterations.
                O::cut_short(self, std::slice::from_ref(statement));
                Err(halt)
            }
        }
    }

    /// Whether a loop only computes values of each thread's own, which do not affect what the threads do together.
    fn is_aside(&mut self, l: &Loop) -> bool {
        let body = std::slice::from_ref(&l.body);
        let effects = self.effects.of_statements(self.shader, body);
        !effects.touches_shared() && !effects.barrier && !effects.leaves && !effects.opaque && !effects.wave
    }

    /// Adds what `run` uses to the limits' account of what may be left out, if `is_aside`.
    pub fn count_aside<T>(&mut self, is_aside: bool, run: impl FnOnce(&mut Self) -> T) -> T {
        let (aside, budget, work) = (self.limits.aside, self.limits.budget, self.terms.work());
        let ran = run(self);
        if is_aside {
            let steps = budget.saturating_sub(self.limits.budget);
            let atoms = self.terms.work().saturating_sub(work);
            self.limits.aside = (aside.0 + steps, aside.1 + atoms);
        }
        ran
    }

    /// Whether a loop may go on until another thread has written something. It cannot if only a count of its own ends
    /// it, compared with values that no thread writes, and nothing in it may wait.
    fn may_wait(&mut self, statement: &Stmt, l: &Loop) -> bool {
        let effects = self
            .effects
            .of_statements(self.shader, std::slice::from_ref(statement));
        let sees_others = effects.atomic || effects.device_observed || effects.touches_shared();
        let inside = self
            .effects
            .of_statements(self.shader, std::slice::from_ref(&l.body));
        let leaves = breaks(&l.body) || inside.leaves || inside.jumps || inside.opaque || inside.repeats;
        let is_aside = self.is_aside(l) && !inside.atomic && !inside.device_observed;
        let ends = l.condition.as_ref();
        let is_count = || ends.is_some_and(|ends| self.counts(l, ends) || is_aside && self.walks(l, ends));
        sees_others && (leaves || !is_count())
    }

    /// Whether a loop walks through groupshared elements: it ends after a count at the latest, and tests an element
    /// at most once, so it does not wait until that changes. An example is `while (d > 0 && Counts[d] <= rank)`.
    fn walks(&self, l: &Loop, condition: &Expr) -> bool {
        let ExprKind::Binary(BinaryOp::LogicalAnd, count, test) = &condition.kind else {
            return false;
        };
        let local = |part: &Expr| match part.kind {
            ExprKind::Local(local) => Some(local),
            _ => None,
        };
        let counters: Vec<LocalId> = count.descendants().filter_map(local).collect();
        let is_at_count = |index: &Expr| {
            let mut locals = index.descendants().filter_map(local);
            locals.any(|local| counters.contains(&local))
        };
        // An array stands nowhere but under an index.
        let is_array = |global: GlobalId| {
            let global = self.shader.globals.get(global.0 as usize);
            global.is_some_and(|global| {
                global.storage == Storage::Groupshared && matches!(global.ty, Type::Array(..))
            })
        };
        let is_test = test.descendants().all(|part| match &part.kind {
            ExprKind::Index(_, index) => is_at_count(index),
            ExprKind::Global(global) => is_array(*global) || self.counts(l, part),
            ExprKind::Local(_) | ExprKind::Literal(_) | ExprKind::Unary(..) | ExprKind::Binary(..) => true,
            ExprKind::Cast(_) | ExprKind::Field(..) | ExprKind::Swizzle(..) => true,
            _ => false,
        });
        is_test && self.counts(l, count)
    }

    /// Whether a condition compares only numbers, values that the host sets, and variables that the loop changes by
    /// such values alone, in each iteration.
    fn counts(&self, l: &Loop, condition: &Expr) -> bool {
        let is_settled = |expr: &Expr, variable: Option<LocalId>| {
            expr.descendants().all(|part| match &part.kind {
                ExprKind::Literal(_) | ExprKind::Unary(..) | ExprKind::Binary(..) | ExprKind::Cast(_) => true,
                ExprKind::Field(..) | ExprKind::Swizzle(..) => true,
                ExprKind::Local(local) => variable == Some(*local),
                ExprKind::Global(global) => {
                    let global = self.shader.globals.get(global.0 as usize);
                    global.is_some_and(|global| matches!(global.storage, Storage::Uniform | Storage::Const))
                }
                _ => false,
            })
        };
        let is_of = |place: &Expr, variable: LocalId| matches!(root(place).kind, ExprKind::Local(local) if local == variable);
        let changes = |variable: LocalId, part: &Expr| match &part.kind {
            ExprKind::Assign { target, .. } | ExprKind::Step { target, .. } => is_of(target, variable),
            ExprKind::Call(_, arguments) | ExprKind::Intrinsic(_, arguments) => {
                arguments.iter().any(|argument| is_of(argument, variable))
            }
            ExprKind::Method { arguments, .. } => arguments.iter().any(|argument| is_of(argument, variable)),
            ExprKind::Opaque(_) => true,
            _ => false,
        };
        let counts_up = |variable: LocalId, whole: &Expr| match &whole.kind {
            ExprKind::Step { target, .. } => {
                matches!(target.kind, ExprKind::Local(local) if local == variable)
            }
            ExprKind::Assign { target, value, .. } => {
                matches!(target.kind, ExprKind::Local(local) if local == variable)
                    && is_settled(value, Some(variable))
            }
            _ => false,
        };
        // What every iteration executes, and what only some may execute.
        let (mut always, mut left): (Vec<&Expr>, Vec<&Stmt>) = (l.step.iter().collect(), vec![&l.body]);
        let mut inside: Vec<&Expr> = Vec::new();
        while let Some(statement) = left.pop() {
            match &statement.kind {
                StmtKind::Block(inner) => left.extend(inner),
                StmtKind::Expr(whole) => always.push(whole),
                _ => {
                    let mut nested = vec![statement];
                    while let Some(statement) = nested.pop() {
                        inside.extend(statement.expressions());
                        nested.extend(statement.children());
                    }
                }
            }
        }
        let is_own = |variable: LocalId| {
            let others = always.iter().filter(|whole| !counts_up(variable, whole));
            let mut parts = others.chain(&inside).flat_map(|expr| expr.descendants());
            parts.all(|part| !changes(variable, part))
        };
        condition.descendants().all(|part| match &part.kind {
            ExprKind::Local(variable) => is_own(*variable),
            ExprKind::Literal(_) | ExprKind::Unary(..) | ExprKind::Binary(..) | ExprKind::Cast(_) => true,
            ExprKind::Field(..) | ExprKind::Swizzle(..) => true,
            ExprKind::Global(_) => is_settled(part, None),
            _ => false,
        })
    }

    /// Whether threads wait for each other in a loop.
    fn meets(&mut self, l: &Loop) -> bool {
        let body = std::slice::from_ref(&l.body);
        self.effects.of_statements(self.shader, body).barrier
    }

    /// Runs the iterations of the innermost loop. Returns the threads that are active after it.
    fn run_iterations(&mut self, l: &'a Loop) -> Run<Mask> {
        let mut left = Mask::EMPTY;
        let mut tested = l.tests_first;
        let (budget, work) = (self.limits.budget, self.terms.work());
        let share = if self.over_approximates() {
            LOOP_SHARE / 8
        } else if self.limits.skims && self.is_aside(l) {
            LOOP_SHARE / 16
        } else if self.meets(l) {
            MEETING_SHARE
        } else {
            LOOP_SHARE
        };
        loop {
            if tested && let Some(condition) = &l.condition {
                self.spend(condition.span)?;
                let value = self.condition(condition)?;
                let (yes, no, maybe) = self.split(&value);
                if !maybe.is_empty() {
                    self.look_into_first_iteration(l, &value);
                    if let Some(value) = value.uniform(self.state.active).cloned() {
                        self.note_bound(l, &value);
                    }
                    return Err(Halt::LeaveLoop);
                }
                left = left.or(no);
                self.state.active = yes;
            }
            tested = true;
            if self.state.active.is_empty() {
                break;
            }
            let passed = self
                .state
                .frame
                .loops
                .last()
                .map_or(0, |innermost| innermost.number);
            if l.limit.is_some_and(|limit| passed >= limit) {
                // The compiler decides whether the loop goes on.
                return Err(Halt::LeaveLoop);
            }
            if passed == 1 {
                self.report.repeated.insert(l.body.span);
            }
            let span = l
                .condition
                .as_ref()
                .map_or(l.body.span, |condition| condition.span);
            self.on_divergent_path(
                &Parting {
                    span,
                    elsewhere: left,
                    perhaps: Mask::EMPTY,
                    holds: true,
                },
                |m| m.statement(&l.body),
            )?;
            let Some(innermost) = self.state.frame.loops.last_mut() else {
                break;
            };
            innermost.number += 1;
            // With random inputs a count may be any number.
            let is_cut_short = self.limits.skims || self.mode.is_on_numbers();
            let takes_too_much = is_cut_short && self.terms.work() - work > WORK_SHARE;
            if takes_too_much || budget.saturating_sub(self.limits.budget) > share {
                return Err(Halt::LeaveLoop);
            }
            let continues = std::mem::replace(&mut innermost.continues, Mask::EMPTY);
            self.state.active = self.state.active.or(continues);
            if self.state.active.is_empty() {
                break;
            }
            if let Some(step) = &l.step {
                self.eval(step)?;
            }
        }
        let breaks = self
            .state
            .frame
            .loops
            .last()
            .map_or(Mask::EMPTY, |innermost| innermost.breaks);
        Ok(left.or(breaks))
    }

    pub fn switch(&mut self, statement: &'a Stmt, value: &'a Expr, cases: &'a [Case]) -> Run<()> {
        let value = self.condition(value)?;
        let active = self.state.active;
        O::uses(self, &value);
        // The engine cannot evaluate some labels, such as `2ull` and 16-bit constants: they may or may not
        // equal the selector.
        let labels =
            { cases.iter() }.map(|case| case.label.as_ref().map(|label| self.condition(label)).transpose());
        let labels: Vec<Option<Column>> = labels.collect::<Run<_>>()?;
        let is_open = |column: &Column| active.threads().any(|thread| column.at(thread).known().is_none());
        if is_open(&value) || labels.iter().flatten().any(is_open) {
            if self.over_approximates() {
                self.any_case(&value, cases);
            }
            // It is not known either which threads take a `continue` of the enclosing loop.
            if self
                .effects
                .of_statements(self.shader, std::slice::from_ref(statement))
                .jumps
            {
                return Err(Halt::LeaveLoop);
            }
            return self.havoc(std::slice::from_ref(statement), statement.span);
        }
        let depth = self.state.frame.loops.len();
        let guard = self.state.guard.clone();
        // `break` leaves the switch; a `continue` inside belongs to the enclosing loop.
        let outer = self.state.frame.loops.last().cloned();
        self.state.frame.loops.push(LoopState {
            span: None,
            breaks: Mask::EMPTY,
            continues: Mask::EMPTY,
            guard: guard.clone(),
            iteration_guard: outer
                .as_ref()
                .map_or_else(|| guard.clone(), |outer| outer.iteration_guard.clone()),
            number: outer.as_ref().map_or(0, |outer| outer.number),
            variable: outer.as_ref().and_then(|outer| outer.variable),
            is_any_iteration: false,
        });
        let mut waiting = active;
        let mut default = None;
        let mut entries = vec![Mask::EMPTY; cases.len()];
        for (index, label) in labels.iter().enumerate() {
            let Some(label) = label else {
                default = Some(index);
                continue;
            };
            for thread in waiting.threads() {
                if value.at(thread).known() == label.at(thread).known() {
                    entries[index].insert(thread);
                }
            }
            waiting = waiting.without(entries[index]);
        }
        if let Some(default) = default {
            entries[default] = waiting;
            waiting = Mask::EMPTY;
        }
        self.state.active = Mask::EMPTY;
        for (case, entry) in cases.iter().zip(entries) {
            self.state.active = self.state.active.or(entry);
            if !self.state.active.is_empty()
                && let Err(halt) = self.block(&case.body)
            {
                self.state.frame.loops.truncate(depth);
                if matches!(halt, Halt::LeaveLoop) && outer.is_none() {
                    self.state.active = active;
                    self.state.guard = guard;
                    let cases = std::slice::from_ref(statement);
                    let effects = self.effects.of_statements(self.shader, cases);
                    self.miss(&effects);
                    return self.havoc(std::slice::from_ref(statement), statement.span);
                }
                return Err(halt);
            }
        }
        let inner = self.state.frame.loops.drain(depth..).next();
        if let Some(inner) = inner {
            self.state.active = self.state.active.or(waiting).or(inner.breaks);
            if let Some(outer) = self.state.frame.loops.last_mut() {
                outer.continues = outer.continues.or(inner.continues);
            }
        }
        Ok(())
    }
}

/// The variable or value that a place is a part of.
pub(crate) fn root(place: &Expr) -> &Expr {
    match &place.kind {
        ExprKind::Index(base, _) | ExprKind::Field(base, _) | ExprKind::Swizzle(base, _) => root(base),
        _ => place,
    }
}

/// The variable that counts a loop's iterations: the one that its step changes, else the first one that it declares,
/// else the first one in its condition.
pub(crate) fn loop_variable(l: &Loop) -> Option<LocalId> {
    fn target(expr: &Expr) -> Option<LocalId> {
        match &expr.kind {
            ExprKind::Assign { target, .. } | ExprKind::Step { target, .. } => match target.kind {
                ExprKind::Local(local) => Some(local),
                _ => None,
            },
            ExprKind::Comma(a, b) => target(a).or_else(|| target(b)),
            _ => None,
        }
    }
    fn first_local(expr: &Expr) -> Option<LocalId> {
        match &expr.kind {
            ExprKind::Local(local) => Some(*local),
            ExprKind::Binary(_, a, b) => first_local(a).or_else(|| first_local(b)),
            ExprKind::Cast(a) => first_local(a),
            _ => None,
        }
    }
    l.step
        .as_ref()
        .and_then(target)
        .or_else(|| {
            l.init.iter().find_map(|statement| match statement.kind {
                StmtKind::Declare { local, .. } => Some(local),
                _ => None,
            })
        })
        .or_else(|| l.condition.as_ref().and_then(first_local))
}
