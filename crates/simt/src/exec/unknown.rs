//! Calls of unknown code and stores to unknown variables: functions, macros and variables of files that were not
//! found, and what they may reach.

use std::collections::BTreeSet;

use shaderlint_hlsl::{BinaryOp, Expr, ExprKind, GlobalId, Scalar, Shader, expressions};

use crate::exec::Observer;
use crate::exec::handle::FROM_HEAP;
use crate::exec::memory::Shared;
use crate::exec::transfer::resource_name;
use crate::exec::undeclared::{root, undeclared_name};
use crate::exec::{Machine, Run};
use crate::facts::calls::{Unknown, after};
use crate::facts::canonical_form::is_told;
use crate::facts::naming_heuristics::is_named_as_variable;
use crate::terms::column::Column;
use crate::terms::value::{Op, Value};
use crate::terms::{Symbol, fold};

impl<'a, O: Observer> Machine<'a, O> {
    /// An assignment to an element or part of an undeclared object with a variable's name. `None` if the target is
    /// something else.
    ///
    /// Such a variable belongs to a file that was not found, and is no part of a variable in the text: HLSL has no
    /// references. So the run models the store as a write to some resource, as it models a call of unknown code
    /// ([`Machine::call_unknown`]), which reaches nothing of the text. A value read from a variable that is stored to
    /// is not known ([`Machine::is_stored_to`]).
    pub fn store_unknown(
        &mut self,
        target: &'a Expr,
        operator: &str,
        value: &'a Expr,
    ) -> Run<Option<Vec<Column>>> {
        let is_variable = undeclared_name(self.shader, root(target)).is_some_and(is_named_as_variable);
        let mut parts = Vec::new();
        let mut at = target.uncast();
        while let ExprKind::Opaque(operands) = &at.kind
            && let Some((object, indices)) = operands.split_first()
        {
            let is_part = matches!(after(self.shader, object, at), Some([b'[' | b'.', ..]));
            if !is_part || Unknown::of(self.shader, at).is_some() || !is_told(self.shader, at) {
                return Ok(None);
            }
            parts.extend(indices);
            at = object.uncast();
        }
        if !is_variable {
            return Ok(None);
        }
        let types = parts.iter().chain([&value]).map(|part| &part.ty);
        let is_known = types.clone().all(|ty| self.shader.is_known(ty));
        let mut given = vec![self.told_by_types(types)];
        for part in parts {
            given.extend(self.eval(part)?);
        }
        let stored = self.eval(value)?;
        given.extend(stored.iter().cloned());
        if !is_known {
            given = self.not_known(1);
        }
        for column in &given {
            O::uses(self, column);
        }
        // A name like a variable's may be a macro all the same.
        self.state.barriers.epoch += 1;
        let text = String::from_utf8_lossy(target.span.slice(&self.shader.text));
        let text = self.terms.symbol(&format!("{text} {operator}"));
        let given = self.as_one(&given);
        self.write_unknown(text, &given, &BTreeSet::new());
        Ok(Some(if operator == "=" {
            stored
        } else {
            self.not_known(1)
        }))
    }

    /// Whether this is an undeclared name that the text assigns to, in whole or in part: it may hold what any thread
    /// stored.
    pub fn is_stored_to(&self, expr: &Expr) -> bool {
        let stored = self.shader.once(StoredNames::of);
        undeclared_name(self.shader, expr).is_some_and(|name| stored.0.contains(name))
    }

    /// A call of unknown code with the arguments `all`. Its result in each thread is a term of all that it may read.
    ///
    /// The code may do anything to what was declared before its own text: to the device memory of a header, to
    /// variables that it keeps for its next call, to other threads' results. So the run models it as a write to some
    /// resource: two kernels are equal only if each thread makes the same calls in the same order among its writes.
    /// The result depends on the thread and on all that has happened to device memory before, including earlier calls
    /// ([`crate::terms::history`]).
    ///
    /// The code reaches groupshared arrays and `static` variables of this text only as [`Machine::reach`] determines.
    /// Their contents are then part of what it reads, as is whether they were written since the last barrier, and
    /// what it leaves in them is not known. The run does not assume that the call races with the text's accesses to
    /// them.
    ///
    /// Where the run looks for uses of a result, the values that the call reaches without being given them count as
    /// uses of a result, not of a partial result: that a call could name them does not mean that it does.
    pub fn call_unknown(&mut self, text: Symbol, all: &Column, is_macro: bool) -> Column {
        let mut reach = self.reach(is_macro);
        if self.mode.tracks_marks() {
            let arrays = self
                .state
                .shared
                .iter()
                .filter(|array| reach.contains(&array.global));
            O::forgets(self, arrays.flat_map(Shared::cells));
            reach.clear();
        }
        self.write_unknown(text, all, &reach)
    }

    /// The same for code that reaches these variables: its result is a term of what each thread gives it and finds
    /// there.
    fn write_unknown(&mut self, text: Symbol, all: &Column, reach: &BTreeSet<GlobalId>) -> Column {
        let held = Column::Uniform(self.held(reach));
        let (history, arms) = (
            Value::Known(self.state.ordering.history),
            Value::Known(self.paths.arms),
        );
        let [history, arms] = [history, arms].map(Column::Uniform);
        let thread = Column::from_fn(self.lanes, |thread| Value::Known(thread as u32));
        let mut given = vec![all.clone(), thread, history, held, arms];
        let statics = self.state.statics.iter().filter(|(id, _)| reach.contains(id));
        for (id, columns) in statics {
            let name = self.terms.symbol(resource_name(self.shader, *id));
            given.push(Column::Uniform(Value::Known(name.0)));
            given.extend(columns.iter().cloned());
        }
        let given = self.as_one(&given);
        for called in self.term_of(text, &given, 1) {
            self.store_device(FROM_HEAP, &[], u32::MAX, &called);
        }
        self.state.ordering.observed.not_followed();
        self.state.publishes = true;
        for global in reach {
            self.leave_unknown(*global, text, &given);
        }
        given
    }

    /// Called after a statement that is not understood, with its value. A statement that is only a name was not
    /// evaluated as a call so far, and a macro may have made some threads return. If the macro was given data, these
    /// decide which threads.
    pub fn pass_unknown(&mut self, expr: &Expr, value: &[Column]) {
        let by_name = Unknown::of_statement(self.shader, expr);
        if by_name.is_some() {
            // No variable is a statement: whatever its name, it is a macro.
            self.report.open_name.get_or_insert(expr.span);
        }
        if !self.over_approximates() {
            if let Some(Unknown { is_macro }) = by_name {
                let text = String::from_utf8_lossy(expr.span.slice(&self.shader.text));
                let text = self.terms.symbol(&text);
                self.call_unknown(text, &Column::ZERO, is_macro);
            }
            return;
        }
        let unknown = by_name.or_else(|| Unknown::of(self.shader, expr));
        if unknown.is_some_and(|unknown| unknown.is_macro) {
            let is_by_data = value.iter().any(|column| self.is_data(column));
            let stayed = if is_by_data {
                self.unknown()
            } else {
                self.unknown_by_thread()
            };
            let guard = self.state.guard.clone();
            self.state.guard = self.map([&guard, &stayed], |m, values| {
                fold::binary(m.terms, BinaryOp::LogicalAnd, Scalar::Bool, values[0], values[1])
            });
        }
    }

    /// The contents of these groupshared arrays, in one term, with which of them were not written since the last
    /// barrier.
    pub fn held(&mut self, reach: &BTreeSet<GlobalId>) -> Value {
        let mut held: Vec<Value> = Vec::new();
        for array in self
            .state
            .shared
            .iter()
            .filter(|array| reach.contains(&array.global))
        {
            let name = self.terms.symbol(resource_name(self.shader, array.global));
            held.push(Value::Known(name.0));
            let is_settled = !array.is_written_in(self.state.interval_of(array));
            held.push(Value::Known(u32::from(is_settled)));
            held.extend(array.cells().iter().cloned());
        }
        self.terms.apply(Op::Same, &held)
    }

    /// Sets a variable to what code with this text leaves there, if each thread gives it these values.
    pub fn leave_unknown(&mut self, global: GlobalId, text: Symbol, given: &Column) {
        let Some(declared) = self.shader.globals.get(global.0 as usize) else {
            return;
        };
        let place = self.terms.symbol(&declared.name);
        let left = |component| Op::Havoc {
            text,
            place,
            component,
        };
        let threads = self.state.active.threads();
        let everything: Vec<Value> = threads.map(|thread| given.at(thread).clone()).collect();
        let everything = self.terms.apply(Op::Same, &everything);
        if let Some(array) = self.state.shared.iter_mut().find(|array| array.global == global) {
            for (component, cell) in (0..).zip(array.cells_mut()) {
                *cell = self
                    .terms
                    .apply(left(component), std::slice::from_ref(&everything));
            }
            self.forget_reads(global, None);
        }
        if let Some(columns) = self.state.statics.get(&global).cloned() {
            let (active, all, lanes) = (self.state.active, self.all, self.lanes);
            let mut changed = Vec::with_capacity(columns.len());
            for (component, column) in (0..).zip(columns) {
                let new = self.map_all(&[given], |terms, values| terms.apply(left(component), values));
                changed.push(column.overlay(&new, active, all, lanes));
            }
            self.state.statics.insert(global, changed);
        }
    }

    /// The groupshared and `static` variables of the text that a call of unknown code may reach.
    pub fn reach(&mut self, is_macro: bool) -> BTreeSet<GlobalId> {
        self.effects.reach(self.shader, is_macro)
    }
}

/// The undeclared names that the text assigns to, in whole or in part.
struct StoredNames(BTreeSet<String>);

impl StoredNames {
    fn of(shader: &Shader) -> StoredNames {
        let bodies = shader
            .functions
            .iter()
            .filter_map(|function| function.body.as_deref());
        let targets = bodies.flat_map(expressions).filter_map(|expr| match &expr.kind {
            ExprKind::Assign { target, .. } | ExprKind::Step { target, .. } => Some(&**target),
            _ => None,
        });
        let names = targets.filter_map(|target| undeclared_name(shader, root(target)));
        StoredNames(names.map(str::to_owned).collect())
    }
}
