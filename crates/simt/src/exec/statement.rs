//! Statements: what each does to the state, which threads are active after it, and under which guard.

use std::rc::Rc;

use shaderlint_hlsl::{Expr, ExprKind, Intrinsic, LocalId, Span, Stmt, StmtKind, Type};

use crate::exec::Observer;
use crate::exec::divergence::Parting;
use crate::exec::{Halt, MAX_COMPONENTS, Machine, Run};
use crate::terms::column::{Column, Mask};
use crate::terms::value::{Op, Value};

impl<'a, O: Observer> Machine<'a, O> {
    /// Runs the statements of a block, then looks for constructs among them.
    pub fn block(&mut self, statements: &'a [Stmt]) -> Run<()> {
        let mut trail = O::Trail::default();
        let result = self.statements(statements, &mut trail);
        O::after_block(self, statements, trail);
        result
    }

    fn statements(&mut self, statements: &'a [Stmt], trail: &mut O::Trail) -> Run<()> {
        let body = self.function().and_then(|function| function.body.as_deref());
        let is_outermost =
            self.state.frame.depth == 0 && body.is_some_and(|body| std::ptr::eq(body, statements));
        for (index, statement) in statements.iter().enumerate() {
            if self.state.active.is_empty() {
                return Ok(());
            }
            if is_outermost {
                self.note_group_guard();
            }
            O::before_statement(self, statements, index, trail);
            let Some(before) = self.over_approximates().then(|| self.whereabouts()) else {
                self.statement(statement)?;
                if O::after_statement(self, statement) {
                    return Self::stop("nothing more is asked of it", statement.span);
                }
                continue;
            };
            if let Err(halt) = self.statement(statement) {
                self.pass_over(statement, before, halt)?;
            }
        }
        Ok(())
    }

    /// Called at the kernel's outermost statements.
    fn note_group_guard(&mut self) {
        let state = &mut self.state;
        if state.active == state.alive
            && let Some(guard) = state.guard.uniform(state.alive)
        {
            state.convergence.note_group_guard(guard);
        }
    }

    pub fn statement(&mut self, statement: &'a Stmt) -> Run<()> {
        self.spend(statement.span)?;
        self.wait_if_assumed_before(statement.span)?;
        if let StmtKind::Expr(expr) | StmtKind::Declare { init: Some(expr), .. } = &statement.kind
            && !self.over_approximates()
            && self.effects.hangs_on_order(self.shader, expr)
        {
            return self.havoc(std::slice::from_ref(statement), statement.span);
        }
        match &statement.kind {
            StmtKind::Declare { local, init } => self.declare(*local, init.as_ref()),
            StmtKind::Expr(expr) => {
                let value = self.eval(expr)?;
                if matches!(expr.kind, ExprKind::Opaque(_)) {
                    self.pass_unknown(expr, &value);
                    self.meet_unknown();
                }
                Ok(())
            }
            StmtKind::Block(body) => self.block(body),
            StmtKind::If {
                condition,
                then,
                otherwise,
            } => {
                let span = condition.span;
                let condition = self.condition(condition)?;
                let then = std::slice::from_ref(&**then);
                let otherwise = otherwise.as_ref().map_or(&[][..], |s| std::slice::from_ref(&**s));
                self.branch(&condition, span, then, otherwise)
            }
            StmtKind::Loop(l) => self.follow_loop(statement, l),
            StmtKind::Switch { value, cases } => self.switch(statement, value, cases),
            StmtKind::Return(value) => {
                let value = match value {
                    Some(value) => {
                        let returns = self.function().map(|function| &function.returns);
                        match returns {
                            Some(ty @ Type::Resource(..)) => self.give_handle(value, ty)?,
                            Some(Type::Unknown) => {
                                let result = self.eval(value)?;
                                self.as_unknown(result, &value.ty)
                            }
                            _ => self.eval(value)?,
                        }
                    }
                    None => Vec::new(),
                };
                self.leave(&value, statement.span);
                Ok(())
            }
            StmtKind::Discard => {
                self.leave(&[], statement.span);
                Ok(())
            }
            StmtKind::Break | StmtKind::Continue => self.leave_iteration(statement),
            StmtKind::Opaque => Self::stop("an unsupported statement", statement.span),
        }
    }

    fn declare(&mut self, local: LocalId, init: Option<&'a Expr>) -> Run<()> {
        let variable = self.function().and_then(|f| f.locals.get(local.0 as usize));
        let ty = variable.map(|variable| &variable.ty);
        if let (Some(init), Some(ty @ Type::Resource(..))) = (init, ty) {
            return self.alias(local, init, ty);
        }
        let mut value = match init {
            Some(init) => self.eval(init)?,
            None => self.uninitialised(local),
        };
        if let Some(init) = init.filter(|_| ty == Some(&Type::Unknown)) {
            value = self.as_unknown(value, &init.ty);
        }
        let count = self.state.frame.locals.get(local.0 as usize).map_or(0, Vec::len);
        let missing = count.saturating_sub(value.len());
        value.extend(self.not_known(missing));
        for lost in value.iter().skip(count) {
            O::uses(self, lost);
        }
        O::assigned(self, local, &value);
        let (active, all, lanes) = (self.state.active, self.all, self.lanes);
        if let Some(slot) = self.state.frame.locals.get_mut(local.0 as usize) {
            for (component, new) in slot.iter_mut().zip(value) {
                *component = component.overlay(&new, active, all, lanes);
            }
        }
        if self.is_of_unknown_type(local) {
            // The type may be an unknown macro.
            self.meet_unknown();
        }
        Ok(())
    }

    /// `break` or `continue`.
    fn leave_iteration(&mut self, statement: &Stmt) -> Run<()> {
        let active = self.state.active;
        let guard = self.state.guard.clone();
        let Some(innermost) = self.state.frame.loops.last_mut() else {
            return Self::stop("a break or continue outside a loop", statement.span);
        };
        if innermost.is_any_iteration {
            self.state.active = Mask::EMPTY;
            return Ok(());
        }
        let is_break = matches!(statement.kind, StmtKind::Break);
        let entered = if is_break {
            &innermost.guard
        } else {
            &innermost.iteration_guard
        };
        if !active
            .threads()
            .all(|thread| guard.at(thread) == entered.at(thread))
        {
            return Err(Halt::LeaveLoop);
        }
        if is_break {
            innermost.breaks = innermost.breaks.or(active);
        } else {
            innermost.continues = innermost.continues.or(active);
        }
        self.state.active = Mask::EMPTY;
        Ok(())
    }

    /// Called after an unknown statement: it may be a macro with a barrier in it, or one by which some threads leave.
    fn meet_unknown(&mut self) {
        self.state.barriers.epoch += 1;
        self.state.convergence.set_uncertain(true);
    }

    fn is_of_unknown_type(&self, local: LocalId) -> bool {
        let variable = self.function().and_then(|f| f.locals.get(local.0 as usize));
        let mut ty = variable.map(|variable| &variable.ty);
        while let Some(Type::Array(element, _)) = ty {
            ty = Some(element);
        }
        ty == Some(&Type::Unknown)
    }

    /// The value of a variable before any assignment.
    pub fn uninitialised(&mut self, local: LocalId) -> Vec<Column> {
        let Some(variable) = self.function().and_then(|f| f.locals.get(local.0 as usize)) else {
            return Vec::new();
        };
        let array = self.terms.symbol(&variable.name);
        (0..self.parts(&variable.ty).min(MAX_COMPONENTS) as u32)
            .map(|index| Column::Uniform(self.terms.apply(Op::Uninitialised { array, index }, &[])))
            .collect()
    }

    /// The bool value of a condition for every active thread.
    pub fn condition(&mut self, condition: &'a Expr) -> Run<Column> {
        let value = self.eval(condition)?;
        Ok(value
            .into_iter()
            .next()
            .unwrap_or_else(|| Column::Uniform(self.terms.fresh())))
    }

    /// The active threads for which `condition` is true, false, and unknown.
    pub fn split(&self, condition: &Column) -> (Mask, Mask, Mask) {
        O::uses(self, condition);
        let active = self.state.active;
        if let Column::Uniform(value) = condition {
            return match value {
                Value::Known(0) => (Mask::EMPTY, active, Mask::EMPTY),
                Value::Known(_) => (active, Mask::EMPTY, Mask::EMPTY),
                _ => (Mask::EMPTY, Mask::EMPTY, active),
            };
        }
        let condition = condition.row();
        let (mut yes, mut no, mut maybe) = (Mask::EMPTY, Mask::EMPTY, Mask::EMPTY);
        for thread in active.threads() {
            match condition.at(thread) {
                Value::Known(0) => no.insert(thread),
                Value::Known(_) => yes.insert(thread),
                _ => maybe.insert(thread),
            }
        }
        (yes, no, maybe)
    }

    /// The guards inside the arms of a branch, strengthened for the threads whose condition is not known.
    pub fn guards(&mut self, condition: &Column, maybe: Mask) -> (Column, Column) {
        let guard = self.state.guard.clone();
        if let (Column::Uniform(guard), Column::Uniform(condition)) = (&guard, condition) {
            let not = self.terms.not(condition);
            return (
                Column::Uniform(self.terms.and(guard, condition)),
                Column::Uniform(self.terms.and(guard, &not)),
            );
        }
        let mut strengthen = |negate: bool| {
            Column::from_fn(self.lanes, |thread| {
                let old = guard.at(thread);
                if !maybe.contains(thread) {
                    return old.clone();
                }
                let condition = condition.at(thread).clone();
                let condition = if negate {
                    self.terms.not(&condition)
                } else {
                    condition
                };
                self.terms.and(old, &condition)
            })
        };
        (strengthen(false), strengthen(true))
    }

    /// Active threads leave the function with `value`.
    pub fn leave(&mut self, value: &[Column], span: Span) {
        let (active, lanes) = (self.state.active, self.lanes);
        let guard = self.state.guard.clone();
        let entered = self.state.frame.entered.clone();
        let old = std::mem::take(&mut self.state.frame.result);
        self.state.frame.result = value
            .iter()
            .enumerate()
            .map(|(component, new)| {
                let old = old.get(component).unwrap_or(&Column::ZERO);
                if active == self.all && guard == entered {
                    return new.clone();
                }
                Column::from_fn(lanes, |thread| {
                    if !active.contains(thread) {
                        old.at(thread).clone()
                    } else if guard.at(thread) == entered.at(thread) {
                        new.at(thread).clone()
                    } else {
                        self.terms
                            .select(guard.at(thread), new.at(thread), old.at(thread))
                    }
                })
            })
            .collect();
        if value.is_empty() {
            self.state.frame.result = old;
        }
        if self.state.frame.depth == 0 {
            let mut gone = Mask::EMPTY;
            for thread in active
                .threads()
                .filter(|thread| self.is_known_to_hold(guard.at(*thread)))
            {
                gone.insert(thread);
            }
            self.state.alive = self.state.alive.without(gone);
            if !self.observer.is_trying() {
                self.paths.exits.push(Parting {
                    span,
                    elsewhere: gone,
                    perhaps: active,
                    holds: true,
                });
            }
        }
        if self.state.frame.depth > 0 {
            self.note_exit();
        }
        self.state.active = Mask::EMPTY;
    }

    /// Passes a barrier. Every thread that may still be in the kernel must be here, and all or none really are.
    ///
    /// All three barriers make the threads of the group wait for each other. Their names say which accesses are
    /// complete by then. learn.microsoft.com states: "all group shared accesses" (`GroupMemoryBarrierWithGroupSync`),
    /// "all device memory accesses" (`DeviceMemoryBarrierWithGroupSync`), "all memory accesses"
    /// (`AllMemoryBarrierWithGroupSync`). So an interval of either memory ends only at a barrier that names it.
    pub fn barrier(&mut self, span: Span, barrier: Intrinsic) -> Run<()> {
        let orders_shared = barrier != Intrinsic::DeviceMemoryBarrierWithGroupSync;
        let orders_device = barrier != Intrinsic::GroupMemoryBarrierWithGroupSync;
        self.look_for_divergence(span);
        let state = &self.state;
        let guard = state
            .guard
            .uniform(state.alive)
            .filter(|_| state.active == state.alive);
        let Some(guard) = guard.cloned().or_else(|| self.assume_all_stay(span)) else {
            if self.over_approximates() {
                self.approximation.open_barrier.get_or_insert(span);
                // It does not matter to the claims after it which threads wait here.
                self.state.barriers.interval += 1;
                self.state.barriers.since = Some(Rc::new(self.point(span)));
                return Ok(());
            }
            return Self::stop("some threads may not reach a barrier", span);
        };
        self.report.passed_conditional_barrier |= guard != Value::TRUE;
        self.end_merged_interval(span, &guard, orders_shared, orders_device);
        self.record_barrier(orders_device, &guard);
        if orders_shared {
            self.report_data_dependent_races();
        }
        let point = self.point(span);
        let state = &mut self.state;
        state.wait();
        if orders_device {
            state.barriers.device_interval += 1;
            state.barriers.device_guard = guard.clone();
        }
        if orders_shared {
            state.barriers.end_interval(point, guard);
        } else {
            // It synchronises the threads, but promises nothing about groupshared memory.
            state.barriers.epoch += 1;
        }
        self.begin_merged_interval();
        O::passed_barrier(self, span, orders_device);
        Ok(())
    }
}
