//! Atomics on cells of groupshared arrays and on elements of resources.

use std::collections::BTreeSet;

use shaderlint_hlsl::{Counter, Expr, ExprKind, GlobalId, Intrinsic, Scalar, Span, Type};

use crate::exec::atomic_history::Made;
use crate::exec::memory::{Action, Touch};
use crate::exec::place::{Root, index_outside};
use crate::exec::{AtomicAccess, Observer};
use crate::exec::{Machine, Run};
use crate::facts::calls::Atomic;
use crate::finding::Quantity;
use crate::terms::Symbol;
use crate::terms::column::Column;
use crate::terms::fold;
use crate::terms::history::Step;
use crate::terms::operator::Operator;
use crate::terms::source::Source;
use crate::terms::value::{Op, Value};

/// What an atomic operates on.
pub(crate) struct Cell<'c> {
    /// A resource or a groupshared variable.
    pub resource: GlobalId,
    pub index: &'c [Column],
    pub component: u32,
    /// As in [`AtomicAccess`].
    pub assumed_uniform: &'c BTreeSet<String>,
}

/// An atomic on a groupshared variable.
struct OnShared<'c> {
    array: GlobalId,
    /// The array's place in the state; `None` if it is too large to follow.
    number: Option<usize>,
    name: Option<Symbol>,
    /// By thread: the first component of the element, and which of its components the atomic is on.
    base: &'c Column,
    component: u32,
    /// How it combines the amount with the cell, if that is known.
    operator: Option<Operator>,
    amount: &'c Column,
    /// Its step in the history of atomics, in a run that keeps the history.
    step: Option<&'c Value>,
    /// Some thread's cell is not known.
    is_somewhere: bool,
}

impl<'a, O: Observer> Machine<'a, O> {
    /// How many elements of type `ty` a groupshared variable holds.
    fn elements(&self, array: GlobalId, ty: &Type) -> u32 {
        let global = self.shader.globals.get(array.0 as usize);
        let all = global.map_or(0, |global| self.shader.components(&global.ty));
        u32::try_from(all / self.shader.components(ty).max(1)).unwrap_or(u32::MAX)
    }

    /// `count` columns of unknown values that may tell the threads apart, as an atomic's results do: what is not
    /// followed may make one.
    pub fn unknowns_by_thread(&mut self, count: usize) -> Vec<Column> {
        let unknown = |_| {
            let event = self.atomic_event();
            O::found(self, Source::UNKNOWN);
            Column::from_fn(self.lanes, |thread| {
                self.terms
                    .apply(Op::UnknownByThread { event }, &[Value::Known(thread as u32)])
            })
        };
        (0..count).map(unknown).collect()
    }

    /// `count` columns of results of atomics: the device chooses the order in which it serves them.
    fn atomic_results(&mut self, count: usize, source: Source) -> Vec<Column> {
        let result = |_| {
            let event = self.atomic_event();
            self.atomic_result(event, source, None)
        };
        (0..count).map(result).collect()
    }

    /// A number for an atomic that returns what it finds.
    fn atomic_event(&mut self) -> u32 {
        self.state.events += 1;
        self.record_device_event(Step::Atomic)
    }

    /// What an atomic returns to each thread. `step` is its step, if it is on groupshared memory.
    fn atomic_result(&mut self, event: u32, source: Source, step: Option<&Value>) -> Column {
        O::found(self, source);
        Column::from_fn(self.lanes, |thread| {
            let mut of = vec![Value::Known(thread as u32)];
            of.extend(step.cloned());
            self.terms.apply(Op::AtomicResult { event, source }, &of)
        })
    }

    pub fn atomic(
        &mut self,
        intrinsic: Intrinsic,
        arguments: &'a [Expr],
        expr: &'a Expr,
    ) -> Run<Vec<Column>> {
        let Some((target, operands)) = arguments.split_first() else {
            return Self::stop("an atomic without a destination", expr.span);
        };
        let (place, assumed_uniform) = self.cell(target)?;
        if let Some((resource, index)) = place.on_device() {
            let cell = Cell {
                resource,
                index: &index,
                component: place.components.first().unwrap_or(0),
                assumed_uniform: &assumed_uniform,
            };
            return self.atomic_on_device(intrinsic, &cell, operands, target.span, expr);
        }
        let Some((array, base)) = place.in_shared() else {
            return Self::stop("an atomic on memory that is not shared", expr.span);
        };
        // The member of a struct, or the component of a vector.
        let component = place.components.first().unwrap_or(0);
        let (inputs, out) = split_operands(intrinsic, operands);
        let mut amount = Vec::new();
        for operand in inputs {
            amount.extend(self.eval(operand)?);
        }
        if self.mode.serves_lane_by_lane() {
            let cell = Cell {
                resource: array,
                index: std::slice::from_ref(&base),
                component,
                assumed_uniform: &assumed_uniform,
            };
            let old = O::serve(self, intrinsic, &cell, inputs, &amount, expr)?;
            return self.store_found(out, &old);
        }
        let combined = combines(intrinsic).then_some(intrinsic.name());
        O::atomic_on(self, array, false, combined);
        let source = O::atomic(
            self,
            &AtomicAccess {
                operation: Atomic::of_intrinsic(intrinsic),
                address: std::slice::from_ref(&base),
                amount: &amount,
                quantity: quantity(inputs),
                undoes: out.is_some_and(|out| is_in(out, array)),
                assumed_uniform: &assumed_uniform,
                cells: Some(self.elements(array, &target.ty)),
                array: Some(array),
                place: target.span,
                span: expr.span,
            },
        );
        let number = self.state.shared.iter().position(|shared| shared.global == array);
        let mut threads = self.state.active.threads();
        let is_somewhere = number.is_some() && threads.any(|thread| base.at(thread).known().is_none());
        // Nothing is proved about cells that are not known; the run only still checks for partial results in
        // them.
        let is_followed = self.mode.keeps_atomic_history() && (!is_somewhere || self.mode.tracks_marks());
        let event = if out.is_some() { self.atomic_event() } else { 0 };
        let step = number.filter(|_| is_followed).map(|number| {
            let made = Made {
                intrinsic,
                ty: &target.ty,
                number,
                base: &base,
                component,
                operands: &amount,
                event,
            };
            self.atomic_step(&made)
        });
        let operator = match (&target.ty, inputs) {
            (Type::Scalar(cell), [input]) if input.ty == target.ty => combining(intrinsic, *cell),
            _ => None,
        };
        let declared = self.shader.globals.get(array.0 as usize);
        let made = OnShared {
            array,
            number,
            name: declared.map(|declared| self.terms.symbol(&declared.name)),
            base: &base,
            component,
            operator: operator.filter(|_| !self.observer.is_trying()),
            amount: &amount.first().cloned().unwrap_or(Column::ZERO),
            step: step.as_ref(),
            is_somewhere,
        };
        if self.observer.is_trying() {
            // Claims report atomics. A candidate with an atomic must not stand for what the atomic adds up.
            self.state.events += 1;
        }
        self.change_cells(made, target.span);
        self.store_old_value(out, event, source, step.as_ref())
    }

    /// Writes the result of an atomic on a groupshared variable.
    fn change_cells(&mut self, mut made: OnShared<'_>, span: Span) {
        let OnShared { array, base, .. } = made;
        let site = self.site(span);
        let touch_of_all = Touch {
            action: Action::Atomic,
            ..self.touch(site, false)
        };
        let interval = self.state.barriers.interval;
        O::accessed(self);
        let number = made.number;
        made.operator =
            number.and_then(|number| self.state.shared[number].combined_by(interval, made.operator));
        let of_shared = number.map(|number| &self.state.shared[number]);
        let is_blurred = of_shared.is_some_and(|array| array.is_blurred(interval));
        // Two atomics on one cell do not race.
        if (is_blurred || made.is_somewhere) && of_shared.is_some_and(|array| array.is_written_in(interval)) {
            self.leave_unsettled(site, site);
        }
        self.report.unproved |= is_blurred;
        self.state.atomics.left +=
            u32::from(made.step.is_some() && (made.operator.is_none() || made.is_somewhere));
        let Some(number) = number else { return };
        let mut outside = None;
        for thread in self.state.active.threads() {
            let Some(base) = base.at(thread).known() else {
                continue;
            };
            let touch = touch_of_all.by(thread, self.state.guard.row());
            let cell = base.saturating_add(made.component);
            if (cell as usize) < self.state.shared[number].cells().len() {
                self.change_cell(&made, number, cell, touch);
            } else {
                self.report.unproved = true;
                if touch.is_unconditional && !self.state.convergence.is_uncertain() {
                    outside.get_or_insert((touch.thread, index_outside(base)));
                }
            }
        }
        // Like a write: an atomic outside leaves all groupshared memory undefined, whatever it operates with.
        if let Some((thread, index)) = outside {
            self.report_outside(array, index, thread, true, site);
        }
        if made.is_somewhere {
            // Any thread may come last, so any cell may hold anything now. This is done once, not once a
            // thread.
            let number_left = self.state.atomics.left;
            let shared = &mut self.state.shared[number];
            for (cell, slot) in (0..).zip(shared.cells_mut()) {
                *slot = match made.step {
                    Some(step) => self.terms.left_by(step, number_left, cell),
                    None => self.terms.fresh(),
                };
            }
            shared.blur(interval);
            // An atomic that adds nothing only reads.
            if made.operator == Some(Operator::Add) && *made.amount != Column::ZERO {
                self.note_data_dependent(number, touch_of_all, base, made.component);
            }
            self.forget_reads(array, None);
            self.report.unproved = true;
        }
    }

    /// Writes what one thread's atomic leaves in a cell of the groupshared array with this number.
    fn change_cell(&mut self, made: &OnShared<'_>, number: usize, cell: u32, touch: Touch) {
        let thread = touch.thread as usize;
        let state = &mut self.state;
        let is_made =
            touch.is_unconditional || state.convergence.holds_unless_group_left(state.guard.at(thread));
        let (cells, tracks) = state.shared[number].open();
        let old = cells.get(cell as usize).cloned();
        let (Some(slot), Some(track)) = (cells.get_mut(cell as usize), tracks.get_mut(cell as usize)) else {
            return;
        };
        *slot = match (made.operator, made.step) {
            (Some(operator), _) if is_made => self.terms.combine(operator, slot, made.amount.at(thread)),
            // Where the thread does not make the atomic, that is as if it changed nothing.
            (Some(operator), Some(_)) => {
                let nothing = Value::Known(operator.identity());
                let guard = state.guard.at(thread);
                let amount = self.terms.select(guard, made.amount.at(thread), &nothing);
                self.terms.combine(operator, slot, &amount)
            }
            (None, Some(step)) => self.terms.left_by(step, state.atomics.left, cell),
            (_, None) => self.terms.fresh(),
        };
        // An atomic that adds nothing writes as well.
        let is_unwritten =
            |value: &Value| { made.name }.is_some_and(|name| self.terms.is_uninitialised(value, name, cell));
        if old.as_ref() == Some(&*slot) && is_unwritten(slot) {
            *slot = self.terms.fresh();
        }
        let conflict = track.write(cell, state.barriers.interval, touch, false);
        if let Some(old) = old.filter(|_| self.mode.is_on_numbers()) {
            // Whatever the atomic adds, a write by another thread undoes it.
            let new = self.terms.fresh();
            O::accessed_cell(self, made.array, cell, touch, Some([old, new]));
        }
        if let Some(conflict) = conflict {
            let (cells, _) = self.state.shared[number].open();
            if let Some(slot) = cells.get_mut(cell as usize) {
                let forgotten = std::mem::replace(slot, self.terms.fresh());
                O::forgets(self, [&forgotten]);
            }
            self.conflict(made.array, conflict, None);
        }
    }

    /// An atomic on a component of a resource's element.
    pub fn atomic_on_device(
        &mut self,
        intrinsic: Intrinsic,
        cell: &Cell<'_>,
        operands: &'a [Expr],
        place: Span,
        expr: &Expr,
    ) -> Run<Vec<Column>> {
        let &Cell {
            resource,
            index,
            component,
            assumed_uniform,
        } = cell;
        self.state.publishes = true;
        let (inputs, out) = split_operands(intrinsic, operands);
        let mut amount = Vec::new();
        if self.mode.serves_lane_by_lane() {
            for operand in inputs {
                amount.extend(self.eval(operand)?);
            }
            let old = O::serve(self, intrinsic, cell, inputs, &amount, expr)?;
            return self.store_found(out, &old);
        }
        for operand in inputs {
            let value = self.eval(operand)?;
            // The maximum of signed numbers is another operation than that of unsigned ones.
            let name = intrinsic.name();
            let named = match intrinsic {
                Intrinsic::InterlockedMin | Intrinsic::InterlockedMax => {
                    &format!("{name} of {:?}", operand.ty)
                }
                _ => name,
            };
            O::atomic_on(self, resource, true, combines(intrinsic).then_some(named));
            for value in &value {
                let value = self.named(named, value);
                self.store_device(resource, index, component, &value);
            }
            amount.extend(value);
        }
        let source = O::atomic(
            self,
            &AtomicAccess {
                operation: Atomic::of_intrinsic(intrinsic),
                address: index,
                amount: &amount,
                quantity: quantity(inputs),
                undoes: out.is_some_and(|out| is_in(out, resource)),
                assumed_uniform,
                cells: None,
                array: None,
                place,
                span: expr.span,
            },
        );
        let event = if out.is_some() { self.atomic_event() } else { 0 };
        self.store_old_value(out, event, source, None)
    }

    /// A method of a counter that returns `count` components: the device does it in an order of
    /// its own.
    pub fn count_on_device(
        &mut self,
        counter: Counter,
        cell: &Cell<'_>,
        arguments: &'a [Expr],
        place: Span,
        expr: &Expr,
        count: usize,
    ) -> Run<Vec<Column>> {
        self.state.publishes = true;
        if counter == Counter::Append {
            O::appended(self, cell.resource);
        }
        let mut all = Vec::new();
        for argument in arguments {
            all.extend(self.eval(argument)?);
        }
        for (component, value) in (0u32..).zip(&all) {
            let value = self.named(counter.name(), value);
            self.store_device(cell.resource, cell.index, component, &value);
        }
        let called = self.named(counter.name(), &Column::ZERO);
        self.store_device(cell.resource, cell.index, cell.component, &called);
        let source = O::atomic(
            self,
            &AtomicAccess {
                operation: Some(Atomic::Counter(counter)),
                address: cell.index,
                amount: &[],
                quantity: Quantity::Figures,
                undoes: false,
                assumed_uniform: cell.assumed_uniform,
                cells: None,
                array: None,
                place,
                span: expr.span,
            },
        );
        Ok(self.atomic_results(count, source))
    }

    /// Wraps `operand` as what the operation `name` does with it to a resource, so that it differs from a plain
    /// store.
    pub fn named(&mut self, name: &str, operand: &Column) -> Column {
        let text = self.terms.symbol(name);
        let op = Op::Opaque { text, component: 0 };
        self.map_all(&[operand], |terms, values| terms.apply(op, values))
    }

    /// Stores what an atomic returns into its out argument, if there is one.
    fn store_old_value(
        &mut self,
        out: Option<&'a Expr>,
        event: u32,
        source: Source,
        step: Option<&Value>,
    ) -> Run<Vec<Column>> {
        if out.is_none() {
            return Ok(Vec::new());
        }
        let old = self.atomic_result(event, source, step);
        self.store_found(out, &[old])
    }

    /// Stores the old value into the atomic's out argument.
    fn store_found(&mut self, out: Option<&'a Expr>, old: &[Column]) -> Run<Vec<Column>> {
        if let Some(out) = out {
            let place = self.place(out)?;
            if matches!(place.root, Root::Value(_) | Root::Unknown) {
                // The run does not follow the value there.
                for old in old {
                    O::uses(self, old);
                }
            }
            self.store(&place, old, out.span)?;
        }
        Ok(Vec::new())
    }
}

/// The operator by which an atomic combines its operand with the cell; both have the type `cell`.
pub(crate) fn combining(intrinsic: Intrinsic, cell: Scalar) -> Option<Operator> {
    if !matches!(cell, Scalar::Int | Scalar::Uint) {
        return None;
    }
    match intrinsic {
        Intrinsic::InterlockedAdd => Some(Operator::Add),
        Intrinsic::InterlockedAnd => Some(Operator::And),
        Intrinsic::InterlockedOr => Some(Operator::Or),
        Intrinsic::InterlockedXor => Some(Operator::Xor),
        Intrinsic::InterlockedMin => fold::extremum(Intrinsic::Min, cell),
        Intrinsic::InterlockedMax => fold::extremum(Intrinsic::Max, cell),
        _ => None,
    }
}

/// Whether an atomic combines its operand with the cell.
fn combines(intrinsic: Intrinsic) -> bool {
    combining(intrinsic, Scalar::Uint).is_some()
}

/// How the source writes the amount of an atomic.
fn quantity(inputs: &[Expr]) -> Quantity {
    inputs.first().map_or(Quantity::Figures, Quantity::of)
}

/// Whether a place is a part of a variable.
fn is_in(place: &Expr, variable: GlobalId) -> bool {
    match &place.kind {
        ExprKind::Global(global) => *global == variable,
        ExprKind::Index(inner, _) | ExprKind::Field(inner, _) | ExprKind::Swizzle(inner, _) => {
            is_in(inner, variable)
        }
        _ => false,
    }
}

/// The operands of an atomic after its place: the inputs, and the target of the old value.
fn split_operands(intrinsic: Intrinsic, operands: &[Expr]) -> (&[Expr], Option<&Expr>) {
    let inputs = intrinsic.atomic_values();
    (&operands[..operands.len().min(inputs)], operands.get(inputs))
}
