//! Statements that are not followed: what they may write becomes a term of all they may read.
//!
//! This is sound because statements are a deterministic function of what they read: equal statements that read equal
//! values leave equal values. Statements are equal if they have the same canonical form
//! ([`crate::facts::canonical_form`]). Where other threads may have a part in the result (barriers, waves,
//! groupshared reads), the values of *all* threads are part of what is read.

use std::collections::BTreeSet;
use std::rc::Rc;

use shaderlint_hlsl::{GlobalId, Span, Stmt, Type};

use crate::exec::Observer;
use crate::exec::transfer::{ANY_RESOURCE, resource_name};
use crate::exec::{MAX_COMPONENTS, Machine, Run, Write};
use crate::facts::canonical_form::Meaning;
use crate::facts::effects::Effects;
use crate::terms::column::Column;
use crate::terms::history::Step;
use crate::terms::value::{Op, Value};
use crate::terms::{Symbol, Terms};

/// A variable that the statements read.
struct Read {
    /// Its components do not hold all of its value.
    has_more: bool,
    /// Its name, if it may come at another position in another kernel.
    name: Option<Symbol>,
    columns: Vec<Column>,
}

/// Stands for the results of statements that are not followed.
struct Havoc {
    /// Their meaning.
    text: Symbol,
    /// By thread: one value that stands for all that it reads there.
    digests: Vec<Value>,
}

impl Havoc {
    /// The value that a thread leaves in a component of a place.
    fn of_thread(&self, terms: &mut Terms, place: Symbol, component: u32, thread: usize) -> Value {
        let op = Op::Havoc {
            text: self.text,
            place,
            component,
        };
        terms.apply(op, &self.digests[thread..=thread])
    }

    /// By thread: the value that it leaves in a component of its own copy of a place.
    fn by_thread(&self, terms: &mut Terms, place: Symbol, component: u32) -> Column {
        Column::from_fn(self.digests.len(), |thread| {
            self.of_thread(terms, place, component, thread)
        })
    }
}

impl<O: Observer> Machine<'_, O> {
    /// Sets everything that the statements may write to a term of everything they may read.
    pub fn havoc(&mut self, statements: &[Stmt], span: Span) -> Run<()> {
        let effects = self.effects.of_statements(self.shader, statements);
        O::not_followed(self, statements);
        if self.over_approximates() {
            return self.pass_unfollowed(&effects, span);
        }
        if effects.opaque {
            return Self::stop("an unsupported loop or switch", span);
        }
        if effects.barrier
            && (self.state.active != self.state.alive || self.state.guard.uniform(self.state.alive).is_none())
        {
            return Self::stop("some threads may not reach a barrier", span);
        }
        if effects.touches_shared() && self.may_hold_assumed_barrier(statements, span) {
            return Self::stop("an assumed barrier in an unsupported loop", span);
        }
        let (text, meaning) = self.meaning(statements, span);
        self.state.events += 1;
        self.record_device_event(Step::Unfollowed);
        if effects.device_observed || effects.calls_unknown {
            self.state.ordering.observed.not_followed();
        }
        self.state.publishes |= effects.device_observed || effects.calls_unknown || effects.atomic;
        let reach = if effects.calls_unknown {
            self.reach(effects.calls_macro)
        } else {
            BTreeSet::new()
        };
        let digests = self.digests(&effects, &meaning, &reach);
        let left = Havoc { text, digests };
        if effects.loops {
            self.note_unended(&left, effects.device_observed);
        }
        self.leave_variables(&left, &effects, &meaning);
        if !reach.is_empty() {
            let given = Column::from_fn(self.lanes, |thread| left.digests[thread].clone());
            for global in reach {
                self.leave_unknown(global, text, &given);
            }
        }
        self.record_unfollowed_barriers(&effects, text, &left.digests);
        if effects.barrier {
            self.state.barriers.interval += 1;
            self.state.barriers.since = Some(Rc::new(self.point(span)));
            self.report.unproved = true;
            // It is not known for which inputs the threads reach a barrier in there.
            self.state.barriers.guard = self.terms.fresh();
        }
        if effects.device_barrier {
            self.state.barriers.device_interval += 1;
            self.state.barriers.device_guard = self.terms.fresh();
        }
        for array in effects.shared_read.union(&effects.shared_written) {
            self.leave_shared(&left, &effects, *array, span);
        }
        self.leave_on_device(&left, &effects);
        self.record_unfollowed_barriers(&effects, text, &left.digests);
        if effects.leaves {
            // Some threads may be gone now, with a result of their own. Anything proved from here on would be
            // under an unknown guard, and a later `return` adds to a result that is not known.
            O::gives(self, &left.digests);
            self.may_have_left(Self::unknown);
        }
        Ok(())
    }

    /// Records that threads enter a loop that is not seen to end.
    fn note_unended(&mut self, left: &Havoc, may_wait_for_others: bool) {
        let threads = self.state.active.threads();
        let entered = threads.filter_map(|thread| Some((left.text, left.digests.get(thread)?.clone())));
        let entered: Vec<(Symbol, Value)> = entered.collect();
        if may_wait_for_others {
            Rc::make_mut(&mut self.state.loops.waits_for_others).extend(entered.iter().cloned());
        }
        Rc::make_mut(&mut self.state.loops.unended).extend(entered);
    }

    /// Sets the variables and statics that the statements may write.
    fn leave_variables(&mut self, left: &Havoc, effects: &Effects, meaning: &Meaning) {
        let (active, all, lanes) = (self.state.active, self.all, self.lanes);
        let written = (0usize..).zip(&meaning.locals);
        for (number, local) in written.filter(|(_, local)| effects.written.contains(*local)) {
            let place = self.terms.symbol(&format!("${number}"));
            let count = self.state.frame.locals.get(local.0 as usize).map_or(0, Vec::len);
            for component in 0..count {
                let new = left.by_thread(self.terms, place, component as u32);
                if let Some(column) = self.state.frame.locals[local.0 as usize].get_mut(component) {
                    *column = column.overlay(&new, active, all, lanes);
                }
            }
        }
        for local in &effects.rebound {
            self.state.frame.aliases.remove(local);
        }
        for global in &effects.statics {
            let declared = &self.shader.globals[global.0 as usize];
            let count = self.parts(&declared.ty).min(MAX_COMPONENTS) as u32;
            let place = self.terms.symbol(&declared.name);
            let new = (0..count).map(|component| left.by_thread(self.terms, place, component));
            let new = new.collect();
            self.state.statics.insert(*global, new);
        }
    }

    /// Sets a groupshared variable that the statements name.
    fn leave_shared(&mut self, left: &Havoc, effects: &Effects, array: GlobalId, span: Span) {
        let is_written = effects.shared_written.contains(&array);
        let declared = &self.shader.globals[array.0 as usize];
        let place = self.terms.symbol(&declared.name);
        let Some(number) = self.state.shared.iter().position(|shared| shared.global == array) else {
            return;
        };
        let is_scalar = matches!(declared.ty, Type::Scalar(_));
        let mut threads = self.state.active.threads();
        if let (true, false, Some(thread), None) =
            (is_scalar, effects.barrier, threads.next(), threads.next())
        {
            let value = left.of_thread(self.terms, place, 0, thread);
            self.pass_by_one(array, is_written.then_some(value), span);
            return;
        }
        let interval = self.state.interval_of(&self.state.shared[number]);
        let shared = &mut self.state.shared[number];
        self.report.unproved |= is_written || shared.is_written_in(interval);
        shared.blur(interval);
        if is_written {
            shared.stray(interval);
            for (component, cell) in (0u32..).zip(shared.cells_mut()) {
                *cell = left.of_thread(self.terms, place, component, 0);
            }
            self.forget_reads(array, None);
            self.strays(array);
        }
    }

    /// Records what the statements may store in resources: for each, one write of anything by each thread.
    fn leave_on_device(&mut self, left: &Havoc, effects: &Effects) {
        let named = effects.device_written.iter();
        let mut resources: Vec<&str> = named
            .map(|global| &*self.shader.globals[global.0 as usize].name)
            .collect();
        if effects.handle_written || effects.calls_unknown {
            // A resource that a variable stands for; the variable's value is part of what is read.
            resources.push(ANY_RESOURCE);
        }
        for resource in resources {
            let resource = self.terms.symbol(resource);
            let guards = self.state.guard.clone();
            let ordered = self.state.ordered();
            let writes = Rc::make_mut(&mut self.state.writes);
            for thread in self.state.active.threads() {
                writes.push(Write {
                    resource,
                    component: u32::MAX,
                    part: Value::Known(0),
                    index: Box::default(),
                    thread: thread as u16,
                    guard: guards.at(thread).clone(),
                    value: left.of_thread(self.terms, resource, u32::MAX, thread),
                    ordered,
                });
            }
        }
    }

    /// Records one thread's accesses to a scalar, however many there are and in whatever order. Another thread's
    /// access in the interval races with a write among them, and another thread's write races with a read. So one
    /// access stands for all of them, and the checks against other accesses in the interval apply to it as usual.
    fn pass_by_one(&mut self, global: GlobalId, left: Option<Value>, span: Span) {
        self.uncertainly(true, |m| {
            let site = m.site(span);
            match left {
                Some(value) => {
                    m.forget_reads(global, None);
                    m.store_shared(global, &Column::ZERO, 0, &Column::Uniform(value), site);
                }
                None => drop(m.load_shared(global, &Column::ZERO, 0, site)),
            }
        });
    }

    /// The meaning of statements of the current function.
    fn meaning(&mut self, statements: &[Stmt], span: Span) -> (Symbol, Rc<Meaning>) {
        let key = (self.state.frame.function, span);
        if let Some(known) = self.cache.meanings.get(&key) {
            return known.clone();
        }
        let meaning = Meaning::of_statements(self.shader, key.0, statements);
        let known = (self.terms.symbol(&meaning.text), Rc::new(meaning));
        self.cache.meanings.insert(key, known.clone());
        known
    }

    /// The variables that statements with these effects read.
    fn reads(&mut self, effects: &Effects, meaning: &Meaning, reach: &BTreeSet<GlobalId>) -> Vec<Read> {
        let mut reads = Vec::new();
        let function = self.shader.functions.get(self.state.frame.function.0 as usize);
        for local in &meaning.locals {
            let Some(declared) = function.and_then(|function| function.locals.get(local.0 as usize)) else {
                continue;
            };
            if effects.declared.contains(local) {
                // Its lifetime begins in there.
                continue;
            }
            if let Some((resource, index)) = self.state.frame.aliases.get(local) {
                let name = self.terms.symbol(resource_name(self.shader, *resource));
                reads.push(Read {
                    has_more: false,
                    name: Some(name),
                    columns: index.clone(),
                });
                continue;
            }
            let columns = self.state.frame.locals.get(local.0 as usize);
            reads.push(Read {
                has_more: self.shader.holds_resource(&declared.ty) || !self.shader.is_known(&declared.ty),
                name: None,
                columns: columns.cloned().unwrap_or_default(),
            });
        }
        for global in meaning.globals.iter().chain(reach) {
            if let Some(columns) = self.state.statics.get(global) {
                reads.push(Read {
                    has_more: false,
                    name: Some(self.terms.symbol(resource_name(self.shader, *global))),
                    columns: columns.clone(),
                });
            }
        }
        reads
    }

    /// One value per thread that stands for all it reads in statements with these effects.
    ///
    /// Variables come in the order of their numbers in the text. A variable that may come at another position in
    /// another kernel comes with its name.
    fn digests(&mut self, effects: &Effects, meaning: &Meaning, reach: &BTreeSet<GlobalId>) -> Vec<Value> {
        let held = self.held(reach);
        let events = Value::Known(self.state.events);
        let history = Value::Known(self.state.ordering.history);
        let active = self.state.active;
        let alone = !effects.barrier && !effects.wave && effects.shared_read.is_empty();
        let reads = self.reads(effects, meaning, reach);
        let mut of_thread: Vec<Vec<Value>> = vec![Vec::new(); self.lanes];
        for (thread, values) in of_thread.iter_mut().enumerate() {
            values.push(events.clone());
            if effects.device_observed || effects.calls_unknown {
                values.push(history.clone());
            }
            values.push(held.clone());
            values.push(Value::Known(thread as u32));
            values.push(self.state.guard.at(thread).clone());
            if meaning.is_partial {
                values.push(self.terms.fresh());
            }
            for read in &reads {
                if read.has_more {
                    values.push(self.terms.fresh());
                }
                values.extend(read.name.map(|name| Value::Known(name.0)));
                values.extend(read.columns.iter().map(|column| column.at(thread).clone()));
            }
        }
        let mut digests: Vec<Value> = of_thread
            .iter()
            .map(|values| self.terms.apply(Op::Same, values))
            .collect();
        if !alone {
            let mut everything = digests.clone();
            // The set of active threads has a part in the result.
            everything.extend(active.threads().map(|thread| Value::Known(thread as u32)));
            let read = meaning
                .globals
                .iter()
                .filter(|global| effects.shared_read.contains(global));
            for global in read {
                let array = self.state.shared.iter().find(|array| array.global == *global);
                everything.extend(array.iter().flat_map(|array| array.cells()).cloned());
            }
            let everything = self.terms.apply(Op::Same, &everything);
            for (thread, digest) in digests.iter_mut().enumerate() {
                *digest = self
                    .terms
                    .apply(Op::Same, &[Value::Known(thread as u32), everything.clone()]);
            }
        }
        digests
    }
}
