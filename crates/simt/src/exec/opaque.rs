//! Expressions that are not understood: terms of their text and operands.

use shaderlint_hlsl::{Expr, ExprKind, Intrinsic, ResourceKind, Span, Type};

use crate::exec::Observer;
use crate::exec::place::{Place, Root, is_resource};
use crate::exec::transfer::resource_name;
use crate::exec::{Machine, Run};
use crate::facts::calls::{Unknown, is_name, status_argument};
use crate::facts::canonical_form::{Meaning, is_told};
use crate::facts::naming_heuristics::{is_named_as_macro, is_variable};
use crate::terms::Symbol;
use crate::terms::column::Column;
use crate::terms::shape::CONVERSION;
use crate::terms::value::{Op, Value};

/// How many components of a value that is not understood are distinguished.
pub(crate) const MAX_COUNT: usize = 64;

/// Whether this is the text of a member of a constant buffer whose type is not known: a value that the program gives
/// to all threads.
fn is_of_constants(object: &Expr, text: &str) -> bool {
    let is_constants = matches!(object.ty, Type::Resource(ResourceKind::ConstantBuffer, _));
    is_constants && matches!(object.kind, ExprKind::Global(_)) && is_variable(text)
}

/// The operands of an expression that is not understood.
#[derive(Default)]
struct Given<'a> {
    /// The values that it reads.
    columns: Vec<Column>,
    /// The names of the resources among the operands.
    named: Vec<Symbol>,
    /// The places that it may write.
    places: Vec<Written>,
    /// Operands that are not understood and have operands of their own.
    parts: Vec<&'a Expr>,
    /// Some operand has a part that is not followed.
    is_partly_known: bool,
}

/// A place that an expression that is not understood may write.
struct Written {
    place: Place,
    span: Span,
    /// Its value may tell threads apart.
    tells: bool,
}

/// Whether an expression is known to only read.
fn is_known_read(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Method { method, .. } => method.is_read(),
        ExprKind::Intrinsic(intrinsic, arguments) => {
            !(0..arguments.len()).any(|index| intrinsic.may_write(index))
        }
        _ => false,
    }
}

impl<'a, O: Observer> Machine<'a, O> {
    /// Evaluates an expression that is not understood to a term of its text and operands. It may also write to the
    /// operands.
    pub fn opaque(&mut self, operands: &'a [Expr], expr: &'a Expr) -> Run<Vec<Column>> {
        if let Some(value) = self.assumed_uniform(expr) {
            return Ok(value);
        }
        if let Some(found) = self.undeclared_method(operands, expr)? {
            return Ok(found);
        }
        if let Some(element) = self.undeclared_element(operands, expr)? {
            return Ok(element);
        }
        if !self.over_approximates() && self.is_stored_to(expr) {
            return Ok(self.not_known(1));
        }
        if is_name(self.shader, expr) && is_named_as_macro(expr.span.slice(&self.shader.text)) {
            self.report.open_name.get_or_insert(expr.span);
        }
        // Such a macro may execute its argument for one thread of a wave only.
        let is_macro = Unknown::of(self.shader, expr).is_some_and(|unknown| unknown.is_macro);
        let before = self.approximation.in_macro;
        self.approximation.in_macro |= is_macro;
        let given = self.opaque_of(None, operands, expr);
        self.approximation.in_macro = before;
        given
    }

    /// The same, for an expression that also has an object whose place is already known.
    ///
    /// Equal terms have to be equal values. So everything that the text alone leaves open is an operand of the term:
    /// which resource a parameter or variable stands for, and the types of the operands. If a resource is not
    /// followed, nothing is known of the result.
    pub fn opaque_of(
        &mut self,
        object: Option<(&'a Expr, Place)>,
        operands: &'a [Expr],
        expr: &'a Expr,
    ) -> Run<Vec<Column>> {
        let text = expr.span.slice(&self.shader.text);
        if text.starts_with(b"DispatchMesh") {
            // "The DispatchMesh call implies a GroupMemoryBarrierWithGroupSync()": DirectX mesh shader specification.
            self.barrier(expr.span, Intrinsic::GroupMemoryBarrierWithGroupSync)?;
        }
        let text = String::from_utf8_lossy(text).into_owned();
        if self.over_approximates()
            && let [object] = operands
            && is_of_constants(object, &text)
        {
            // It has one value for all threads and the whole run, as a name has.
            let text = self.terms.symbol(&text);
            let always = self.as_one(&[Column::ZERO, Column::ZERO]);
            return Ok(self.term_of(text, &always, self.parts(&expr.ty).clamp(1, MAX_COUNT)));
        }
        let is_marked = text.contains("NonUniformResourceIndex");
        let text = self.terms.symbol(&text);
        let is_read = is_known_read(expr);
        let object = object.map(|(object, place)| (object, Some(place)));
        let operands_alone = operands.iter().map(|operand| (operand, None));
        let mut given = Given::default();
        for (operand, place) in object.into_iter().chain(operands_alone) {
            let place = match place {
                Some(place) => place,
                None => self.place(operand)?,
            };
            let may_write =
                !is_read || status_argument(expr).is_some_and(|status| std::ptr::eq(status, operand));
            let heap = operands.first().filter(|heap| self.is_heap(heap));
            self.give(&mut given, operand, place, heap.map(|_| is_marked), may_write)?;
        }
        if !is_read {
            // A barrier may hide behind an unknown name.
            self.state.barriers.epoch += 1;
        }
        let writes = |operand: &Expr| matches!(&operand.ty, Type::Resource(kind, _) if kind.is_writable());
        let may_be_kept = !is_read && operands.iter().any(writes);
        for column in &given.columns {
            // A value passed together with a resource may be an index into it.
            if may_be_kept {
                O::uses_as_place(self, column);
            } else {
                O::uses(self, column);
            }
        }
        let has_nothing = self.over_approximates() && given.columns.is_empty();
        let is_guess = matches!(expr.kind, ExprKind::Opaque(_));
        if !is_guess || !self.over_approximates() && !is_name(self.shader, expr) {
            given.named.push(self.operands_meaning(operands, expr));
            given.is_partly_known |= !is_told(self.shader, expr);
        }
        let named = given.named.drain(..);
        given
            .columns
            .extend(named.map(|Symbol(number)| Column::Uniform(Value::Known(number))));
        if matches!(&expr.kind, ExprKind::Method { method, .. } if method.takes_derivatives()) {
            let all = self.of_all_threads(&given.columns);
            given.columns.push(all);
        }
        let count = self.parts(&expr.ty).clamp(1, MAX_COUNT);
        if has_nothing && is_name(self.shader, expr) {
            // Each thread may have its own value, and another one each time.
            self.state.events += 1;
            let event = Column::Uniform(Value::Known(self.state.events));
            let thread = Column::from_fn(self.lanes, |thread| Value::Known(thread as u32));
            let of = self.map_all(&[&thread, &event], |terms, values| terms.apply(Op::Same, values));
            return Ok(self.term_of(text, &of, count));
        }
        if (given.is_partly_known || has_nothing) && !self.is_heap(expr) {
            self.leave_anything(given, text, expr)?;
            return Ok(self.not_known(count));
        }
        let mut all = self.as_one(&given.columns);
        if let Some(Unknown { is_macro }) = self.unknown_call(expr) {
            all = self.call_unknown(text, &all, is_macro);
        }
        let may_tell = self.over_approximates() && self.may_result_tell_threads(expr, &all);
        let is_of_name = || given.columns.first().is_some_and(|column| self.is_named(column));
        let value = if may_tell && is_guess && !is_of_name() {
            self.not_known(count)
        } else {
            self.term_of(text, &all, count)
        };
        for (number, written) in given.places.into_iter().enumerate() {
            if written.tells || may_tell {
                let changed = self.not_known(written.place.components.len());
                self.uncertainly(true, |m| m.store(&written.place, &changed, written.span))?;
            } else {
                self.uncertainly(true, |m| {
                    m.write_opaquely(text, number, &all, &written.place, written.span, is_guess)
                })?;
            }
        }
        if !is_read {
            for part in given.parts {
                self.assign_part(part, "", std::slice::from_ref(&all))?;
            }
        }
        Ok(value)
    }

    /// Adds an operand to those of an expression that is not understood. `index_is_marked` applies to operands of a
    /// heap of resources: whether `NonUniformResourceIndex` is written there.
    fn give(
        &mut self,
        given: &mut Given<'a>,
        operand: &'a Expr,
        place: Place,
        index_is_marked: Option<bool>,
        may_write: bool,
    ) -> Run<()> {
        if is_resource(&operand.ty) {
            match place.on_device() {
                Some((resource, index)) => {
                    let name = self.terms.symbol(resource_name(self.shader, resource));
                    given.named.push(name);
                    given.columns.extend(index);
                }
                None => given.is_partly_known = true,
            }
            return Ok(());
        }
        if matches!(operand.ty, Type::Array(..)) && place.in_shared().is_some() {
            return Self::stop("a groupshared array passed to an unsupported call", operand.span);
        }
        let is_heap = self.is_heap(operand);
        let value = if index_is_marked == Some(false) && (is_heap || self.is_index_of_heap(operand)) {
            self.named_in_heap(operand)
        } else {
            self.load(&place, operand.span)
        };
        if let Some(is_marked) = index_is_marked.filter(|_| !is_heap) {
            self.note_index_of_resources(&value, is_marked);
        }
        given.is_partly_known |= self.shader.holds_resource(&operand.ty);
        given.is_partly_known |= match &operand.ty {
            _ if self.over_approximates() => value.len() < self.parts(&operand.ty),
            Type::Unknown => value.is_empty(),
            ty => !self.shader.is_known(ty),
        };
        // The operand may keep its current value.
        let tells = self.over_approximates() && value.iter().any(|column| self.may_tell_threads(column));
        given.columns.extend(value);
        if matches!(&operand.kind, ExprKind::Opaque(within) if !within.is_empty()) {
            given.parts.push(operand);
        }
        let is_place = matches!(
            operand.kind,
            ExprKind::Local(_)
                | ExprKind::Global(_)
                | ExprKind::Index(..)
                | ExprKind::Field(..)
                | ExprKind::Swizzle(..)
        );
        if is_place && may_write && !matches!(place.root, Root::Value(_) | Root::Uniform(_) | Root::Unknown) {
            let span = operand.span;
            given.places.push(Written { place, span, tells });
        }
        Ok(())
    }

    /// Makes everything unknown that a partly known expression may write: equal terms would claim that the unseen
    /// parts are equal too.
    fn leave_anything(&mut self, given: Given<'a>, text: Symbol, expr: &Expr) -> Run<()> {
        let threads = || self.state.active.threads();
        let values = { given.columns.iter() }.flat_map(|column| threads().map(|thread| column.at(thread)));
        O::gives(self, values);
        if let Some(Unknown { is_macro }) = self.unknown_call(expr) {
            let given = self.not_known(1);
            let given = self.as_one(&given);
            self.call_unknown(text, &given, is_macro);
        }
        for Written { place, span, .. } in given.places {
            let changed = self.not_known(place.components.len());
            self.uncertainly(true, |m| m.store(&place, &changed, span))?;
        }
        for part in given.parts {
            let changed = self.not_known(1);
            self.assign_part(part, "", &changed)?;
        }
        Ok(())
    }

    /// The call of unknown code that an expression is; `None` in a run that over-approximates.
    fn unknown_call(&self, expr: &Expr) -> Option<Unknown> {
        Unknown::of(self.shader, expr).filter(|_| !self.over_approximates())
    }

    /// Whether the result of this expression with operands `all` may tell the threads apart without any data in it.
    fn may_result_tell_threads(&self, expr: &Expr, all: &Column) -> bool {
        match &expr.kind {
            ExprKind::Method { .. } => false,
            ExprKind::Opaque(operands) => {
                let is_of_heap = operands.first().is_some_and(|heap| self.is_heap(heap));
                !is_of_heap && !self.is_heap(expr) && !self.is_data(all)
            }
            _ => self.may_tell_threads(all),
        }
    }

    /// Whether values may tell the threads apart without any data in them.
    fn may_tell_threads(&self, column: &Column) -> bool {
        let is_one = column
            .uniform(self.state.active)
            .is_some_and(|value| !self.terms.is_guessed(value));
        !is_one && !self.is_data(column)
    }

    /// Whether every thread's value is computed from data in the same way. A value that one thread computes in
    /// another way, for example from its number, may tell it from the others whatever the data are.
    pub fn is_data(&self, column: &Column) -> bool {
        let mut first = None;
        let mut active = self.state.active.threads();
        active.all(|thread| {
            let value = column.at(thread);
            let shape = self.terms.shape(value).filter(|_| self.terms.has_data(value));
            shape.is_some() && *first.get_or_insert(shape) == shape
        })
    }

    /// Whether these are the values of a variable that is known by name only.
    fn is_named(&self, column: &Column) -> bool {
        let mut active = self.state.active.threads();
        active.all(|thread| self.terms.is_variable_name(column.at(thread)))
    }

    /// The number of values that represent a value of type `ty`. A value of unknown type is represented only in a run
    /// for claims: elsewhere equal terms would claim that two such values are equal, whatever their types are.
    pub fn parts(&self, ty: &Type) -> usize {
        if self.over_approximates() {
            self.shader.parts(ty)
        } else {
            self.shader.components(ty)
        }
    }

    /// The index of a heap, as a term of its text.
    fn named_in_heap(&mut self, name: &Expr) -> Vec<Column> {
        vec![self.named_once(name)]
    }

    /// The value of a name that is the same for all threads.
    pub fn named_once(&mut self, name: &Expr) -> Column {
        let text = String::from_utf8_lossy(name.span.slice(&self.shader.text));
        let text = self.terms.symbol(&text);
        let op = Op::Opaque { text, component: 0 };
        self.map_all(&[&Column::ZERO], |terms, values| terms.apply(op, values))
    }

    /// What has to be known of the operands besides their values.
    fn operands_meaning(&mut self, operands: &[Expr], expr: &Expr) -> Symbol {
        let key = std::ptr::from_ref(expr);
        if let Some(known) = self.cache.opaque_meanings.get(&key) {
            return *known;
        }
        let meaning = Meaning::of_opaque(self.shader, expr, operands);
        let meaning = self.terms.symbol(&meaning);
        self.cache.opaque_meanings.insert(key, meaning);
        meaning
    }

    /// A number that identifies these types, the same in every kernel.
    pub fn told_by_types<'t>(&mut self, types: impl IntoIterator<Item = &'t Type>) -> Column {
        let types = Meaning::of_types(self.shader, types);
        Column::Uniform(Value::Known(self.terms.symbol(&types).0))
    }

    /// Joins all values in one term, since repeating them for every result would take too much space.
    pub fn as_one(&mut self, columns: &[Column]) -> Column {
        let arguments: Vec<&Column> = columns.iter().collect();
        self.map_all(&arguments, |terms, values| terms.apply(Op::Same, values))
    }

    /// The values of all active threads, and which threads these are. The device chooses which of them share a quad.
    fn of_all_threads(&mut self, columns: &[Column]) -> Column {
        let active = self.state.active;
        let mut all: Vec<Value> = active.words(self.lanes).map(Value::Known).collect();
        for column in columns.iter().chain([&self.state.guard]) {
            match column.uniform(active) {
                Some(value) => all.push(value.clone()),
                None => all.extend(active.threads().map(|thread| column.at(thread).clone())),
            }
        }
        let text = self.terms.symbol("what all threads hold");
        Column::Uniform(self.terms.apply(Op::Opaque { text, component: 0 }, &all))
    }

    /// The values of an expression with this text and the operands `all`.
    pub fn term_of(&mut self, text: Symbol, all: &Column, count: usize) -> Vec<Column> {
        (0..count)
            .map(|component| {
                let op = Op::Opaque {
                    text,
                    component: component as u8,
                };
                self.map_all(&[all], |terms, values| terms.apply(op, values))
            })
            .collect()
    }

    /// Stores in a place what an expression with this text writes, given the operands `all`: each component of each
    /// argument has a value of its own.
    fn write_opaquely(
        &mut self,
        text: Symbol,
        argument: usize,
        all: &Column,
        place: &Place,
        span: Span,
        is_guess: bool,
    ) -> Run<()> {
        if self.over_approximates() && is_guess {
            let text = format!("argument {argument} of {}", self.terms.name(text));
            let text = self.terms.symbol(&text);
            let changed = self.term_of(text, all, place.components.len());
            return self.store(place, &changed, span);
        }
        let argument = self.terms.symbol(&format!("argument {argument}"));
        let changed: Vec<Column> = (0..place.components.len() as u32)
            .map(|component| {
                let op = Op::Havoc {
                    text,
                    place: argument,
                    component,
                };
                self.map_all(&[all], |terms, values| terms.apply(op, values))
            })
            .collect();
        self.store(place, &changed, span)
    }

    /// Turns a value of type `from` into one of unknown type: a single term, which determines everything that is
    /// later read from it.
    pub fn as_unknown(&mut self, value: Vec<Column>, from: &Type) -> Vec<Column> {
        if !self.over_approximates() || value.len() == 1 && *from == Type::Unknown {
            return value;
        }
        self.made_of(&format!("of {from:?}"), &value, 1)
    }

    /// Turns a value of unknown type into `count` components of the type `to`.
    pub fn of_unknown(&mut self, value: &[Column], to: &Type, count: usize) -> Vec<Column> {
        self.made_of(&format!("{CONVERSION}{to:?}"), value, count)
    }

    /// The result of an operation on values; `text` identifies the operation.
    fn made_of(&mut self, text: &str, values: &[Column], count: usize) -> Vec<Column> {
        if !self.over_approximates() || values.is_empty() {
            return self.not_known(count);
        }
        let all = self.as_one(values);
        if count > MAX_COUNT || !self.is_data(&all) && !self.is_named(&all) {
            // The run does not follow the result further.
            O::uses(self, &all);
            return self.not_known(count);
        }
        let text = self.terms.symbol(text);
        self.term_of(text, &all, count)
    }

    /// The result of an operator one of whose operands has an unknown type.
    pub fn operate_opaquely(&mut self, operator: &str, operands: &[Column], count: usize) -> Vec<Column> {
        self.made_of(&format!("{operator} of an unknown type"), operands, count)
    }

    /// Writes to a part of a variable whose type is not known, which changes all of the variable. `None` if the
    /// variable is not followed.
    ///
    /// Groupshared arrays are not followed, since two threads may write to two parts of one element.
    pub fn assign_part(&mut self, target: &'a Expr, operator: &str, value: &[Column]) -> Run<Option<()>> {
        let mut columns = Vec::new();
        let mut whole = target;
        while let ExprKind::Opaque(operands) = &whole.uncast().kind {
            // The result of a call is no place. The call has already written what it may write, and must not be
            // evaluated again.
            if Unknown::of(self.shader, whole.uncast()).is_some() {
                return Ok(None);
            }
            let Some((object, indices)) = operands.split_first() else {
                return Ok(None);
            };
            for index in indices {
                columns.extend(self.eval(index)?);
            }
            whole = object.uncast();
        }
        let place = self.place(whole)?;
        let is_followed = matches!(place.root, Root::Local(_) | Root::Static(_) | Root::Device { .. });
        if !is_followed || place.components.len() == 0 {
            return Ok(None);
        }
        let old = self.load(&place, whole.span);
        // A later read of any part may return exactly the value written.
        let may_tell = self.over_approximates() && {
            let mut written: Vec<Column> = columns.clone();
            if operator == "=" {
                written.extend_from_slice(value);
            } else {
                let operands: Vec<Column> = old.iter().chain(value).cloned().collect();
                written.push(self.as_one(&operands));
            }
            written.iter().any(|column| self.may_tell_threads(column))
        };
        columns.extend(old);
        columns.extend_from_slice(value);
        for column in &columns {
            O::uses(self, column);
        }
        let text = target.span.slice(&self.shader.text);
        let text = format!("{} {operator}", String::from_utf8_lossy(text));
        let text = self.terms.symbol(&text);
        if may_tell {
            let changed = self.not_known(place.components.len());
            self.store(&place, &changed, target.span)?;
            return Ok(Some(()));
        }
        let all = self.as_one(&columns);
        self.write_opaquely(text, 0, &all, &place, target.span, true)?;
        Ok(Some(()))
    }
}
