//! Statements that are not followed: what they may write becomes a term of all they may read.
//!
//! Sound because statements are a deterministic function of what they read: equal statements that read equal values
//! leave equal values. Equal are those whose text is, with that of all functions, types and declarations it names. What
//! other threads could have a part in (barriers, waves, groupshared reads) makes the values of *all* threads part of what
//! is read.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::rc::Rc;

use shaderlint_hlsl::{GlobalId, LocalId, Shader, Span, Stmt, Type};

use crate::column::Column;
use crate::effects::Effects;
use crate::history::Step;
use crate::machine::{MAX_COMPONENTS, Machine, Run, Write};
use crate::terms::Symbol;
use crate::transfer::ANY_RESOURCE;
use crate::value::{Op, Value};

impl Machine<'_> {
    /// Leaves in everything the statements may write a term of everything they may read.
    pub fn havoc(&mut self, statements: &[Stmt], span: Span) -> Run<()> {
        let effects = self.effects.of_statements(self.shader, statements);
        self.lose_ladders(statements);
        if self.claims.is_some() {
            return self.pass_unfollowed(&effects, span);
        }
        let function = self.state.frame.function;
        self.prober.miss(self.shader, function, statements);
        if effects.opaque {
            return Self::stop("a loop or switch that is not understood", span);
        }
        if effects.barrier
            && (self.state.active != self.state.alive || self.state.guard.uniform(self.state.alive).is_none())
        {
            return Self::stop("a barrier that not every thread may reach", span);
        }
        let text = self.meaning(&effects, span);
        self.state.events += 1;
        self.happens(Step::Unfollowed);
        self.state.is_observed |= effects.device_observed || effects.calls_unknown;
        let reach = if effects.calls_unknown {
            self.reach(effects.calls_macro)
        } else {
            BTreeSet::new()
        };
        let digests = self.digests(&effects, &reach);
        if effects.loops {
            let threads = self.state.active.threads();
            let entered = threads.filter_map(|thread| Some((text, digests.get(thread)?.clone())));
            let entered: Vec<(Symbol, Value)> = entered.collect();
            Rc::make_mut(&mut self.state.unended).extend(entered);
        }
        let names: Vec<(LocalId, Symbol)> = effects
            .written
            .iter()
            .filter_map(|local| {
                let name = &self.function()?.locals.get(local.0 as usize)?.name;
                Some((*local, name.clone()))
            })
            .collect::<Vec<_>>()
            .into_iter()
            .map(|(local, name)| (local, self.terms.symbol(&name)))
            .collect();
        let (active, all, lanes) = (self.state.active, self.all, self.lanes);
        for (local, place) in names {
            let count = self.state.frame.locals.get(local.0 as usize).map_or(0, Vec::len);
            for component in 0..count {
                let op = Op::Havoc {
                    text,
                    place,
                    component: component as u32,
                };
                let new = Column::from_fn(lanes, |thread| self.terms.apply(op, &digests[thread..=thread]));
                if let Some(column) = self.state.frame.locals[local.0 as usize].get_mut(component) {
                    *column = column.overlay(&new, active, all, lanes);
                }
            }
        }
        for global in &effects.statics {
            let count = self.parts(&self.shader.globals[global.0 as usize].ty);
            let place = self.terms.symbol(&self.shader.globals[global.0 as usize].name);
            let new = (0..count.min(MAX_COMPONENTS))
                .map(|component| {
                    let op = Op::Havoc {
                        text,
                        place,
                        component: component as u32,
                    };
                    Column::from_fn(lanes, |thread| self.terms.apply(op, &digests[thread..=thread]))
                })
                .collect();
            self.state.statics.insert(*global, new);
        }
        if !reach.is_empty() {
            let given = Column::from_fn(lanes, |thread| digests[thread].clone());
            for global in reach {
                self.leave_unknown(global, text, &given);
            }
        }
        if effects.barrier {
            self.state.interval += 1;
            self.report.unproved = true;
        }
        if effects.device_barrier {
            self.state.device_interval += 1;
        }
        let shared: Vec<GlobalId> = effects
            .shared_read
            .union(&effects.shared_written)
            .copied()
            .collect();
        for global in shared {
            let written = effects.shared_written.contains(&global);
            let place = self.terms.symbol(&self.shader.globals[global.0 as usize].name);
            let Some(number) = self.state.shared.iter().position(|array| array.global == global) else {
                continue;
            };
            let left = |component| Op::Havoc {
                text,
                place,
                component,
            };
            let is_scalar = matches!(self.shader.globals[global.0 as usize].ty, Type::Scalar(_));
            if let (true, false, [thread]) =
                (is_scalar, effects.barrier, &*active.threads().collect::<Vec<_>>())
            {
                let value = self.terms.apply(left(0), &digests[*thread..=*thread]);
                self.pass_by_one(global, written.then_some(value), span);
                continue;
            }
            let interval = self.state.interval_of(&self.state.shared[number]);
            let array = &mut self.state.shared[number];
            self.report.unproved |= written || array.is_written_in(interval);
            array.blur(interval);
            if written {
                let everything: Vec<Value> = digests.clone();
                for (component, cell) in (0u32..).zip(array.cells_mut()) {
                    *cell = self
                        .terms
                        .apply(left(component), &everything[..1.min(everything.len())]);
                }
                self.forget_reads(global, None);
                self.strays(global);
            }
        }
        let named = effects.device_written.iter();
        let mut resources: Vec<&str> = named
            .map(|global| &*self.shader.globals[global.0 as usize].name)
            .collect();
        if effects.handle_written || effects.calls_unknown {
            // One of those that variables stand for, which are part of what is read.
            resources.push(ANY_RESOURCE);
        }
        for resource in resources {
            let resource = self.terms.symbol(resource);
            let guards = self.state.guard.clone();
            let ordered = self.state.ordered();
            let writes = Rc::make_mut(&mut self.state.writes);
            for thread in active.threads() {
                let value = self.terms.apply(
                    Op::Havoc {
                        text,
                        place: resource,
                        component: u32::MAX,
                    },
                    &digests[thread..=thread],
                );
                writes.push(Write {
                    resource,
                    component: u32::MAX,
                    part: Value::Known(0),
                    index: Box::default(),
                    thread: thread as u16,
                    guard: guards.at(thread).clone(),
                    value,
                    ordered,
                });
            }
        }
        if effects.leaves {
            // Some threads may be gone now, with a result of their own: whatever is proved from here on would be under
            // an unknown guard, and what a `return` leaves behind adds to a result that is not known.
            let returns = self
                .function()
                .map_or(0, |function| self.parts(&function.returns).min(MAX_COMPONENTS));
            self.note_leftovers(&digests);
            self.state.frame.result = self.fresh_columns(returns);
            self.state.guard = Column::from_fn(lanes, |_| self.terms.fresh());
        }
        Ok(())
    }

    /// What one thread alone does with a scalar, however often and in whatever order: nobody else's access in the
    /// interval goes with a write, and no other write with a read. So one access stands for all, and the others of the
    /// interval are held against it as against any.
    fn pass_by_one(&mut self, global: GlobalId, left: Option<Value>, span: Span) {
        self.doubtfully(true, |m| {
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

    /// The text of statements, and of all that it names outside of them: two with one text do the same.
    fn meaning(&mut self, effects: &Effects, span: Span) -> Symbol {
        let shader = self.shader;
        let key = (self.state.frame.function, span);
        if let Some(known) = self.meanings.get(&key) {
            return *known;
        }
        let mut effects = effects.clone();
        let mut functions = effects.functions.clone();
        functions.insert(key.0);
        // A constant's value may name others.
        let mut waiting: Vec<GlobalId> = effects.globals.iter().copied().collect();
        while let Some(global) = waiting.pop() {
            let declared = shader.globals.get(global.0 as usize);
            let Some(init) = declared.and_then(|declared| declared.init.as_ref()) else {
                continue;
            };
            let of_init = self.effects.of_expression(shader, init);
            functions.extend(&of_init.functions);
            waiting.extend(of_init.globals.difference(&effects.globals));
            effects.globals.extend(&of_init.globals);
        }
        let mut text = String::from_utf8_lossy(span.slice(&shader.text)).into_owned();
        let mut types: Vec<&Type> = Vec::new();
        for id in functions {
            let Some(function) = shader.functions.get(id.0 as usize) else {
                continue;
            };
            let is_here = id == key.0;
            if !is_here {
                text.push('\n');
                text.push_str(&String::from_utf8_lossy(function.span.slice(&shader.text)));
            }
            for (local, variable) in (0..).map(LocalId).zip(&function.locals) {
                let is_named = [&effects.read, &effects.written, &effects.declared]
                    .iter()
                    .any(|locals| locals.contains(&local));
                if !is_here || is_named {
                    let _ = write!(text, "\n{}: {}", variable.name, type_name(shader, &variable.ty));
                    types.push(&variable.ty);
                }
            }
        }
        for global in effects
            .globals
            .iter()
            .filter_map(|id| shader.globals.get(id.0 as usize))
        {
            text.push('\n');
            text.push_str(&String::from_utf8_lossy(global.span.slice(&shader.text)));
            types.push(&global.ty);
        }
        let mut structs = BTreeSet::new();
        while let Some(ty) = types.pop() {
            match ty {
                Type::Array(element, _) | Type::Resource(_, Some(element)) => types.push(element),
                Type::Struct(id) if structs.insert(id.0) => {
                    let Some(declared) = shader.structs.get(id.0 as usize) else {
                        continue;
                    };
                    let _ = write!(text, "\n{} {{", declared.name);
                    for field in &declared.fields {
                        let _ = write!(text, "\n{}: {}", field.name, type_name(shader, &field.ty));
                        types.push(&field.ty);
                    }
                }
                _ => {}
            }
        }
        let symbol = self.terms.symbol(&text);
        self.meanings.insert(key, symbol);
        symbol
    }

    /// One value a thread that stands for all it reads in statements of these effects.
    fn digests(&mut self, effects: &Effects, reach: &BTreeSet<GlobalId>) -> Vec<Value> {
        let held = self.held(reach);
        let events = Value::Known(self.state.events);
        let history = Value::Known(self.state.history);
        let active = self.state.active;
        let alone = !effects.barrier && !effects.wave && effects.shared_read.is_empty();
        let mut of_thread: Vec<Vec<Value>> = vec![Vec::new(); self.lanes];
        for (thread, values) in of_thread.iter_mut().enumerate() {
            values.push(events.clone());
            if effects.device_observed || effects.calls_unknown {
                values.push(history.clone());
            }
            values.push(held.clone());
            values.push(Value::Known(thread as u32));
            values.push(self.state.guard.at(thread).clone());
            for local in effects.read.iter().chain(&effects.written) {
                for column in self
                    .state
                    .frame
                    .locals
                    .get(local.0 as usize)
                    .into_iter()
                    .flatten()
                {
                    values.push(column.at(thread).clone());
                }
            }
            for (resource, index) in self.state.frame.aliases.values() {
                values.push(Value::Known(resource.0));
                values.extend(index.iter().map(|column| column.at(thread).clone()));
            }
            for columns in self.state.statics.values() {
                values.extend(columns.iter().map(|column| column.at(thread).clone()));
            }
        }
        let mut digests: Vec<Value> = of_thread
            .iter()
            .map(|values| self.terms.apply(Op::Same, values))
            .collect();
        if !alone {
            let mut everything = digests.clone();
            // Who is here takes part.
            everything.extend(active.threads().map(|thread| Value::Known(thread as u32)));
            for array in &self.state.shared {
                if effects.shared_read.contains(&array.global) {
                    everything.extend(array.cells().iter().cloned());
                }
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

/// A type as text: two of one text are laid out alike, if the structs they name are.
fn type_name(shader: &Shader, ty: &Type) -> String {
    match ty {
        Type::Struct(id) => {
            (shader.structs.get(id.0 as usize)).map_or_else(String::new, |of| of.name.clone())
        }
        Type::Array(element, length) => format!("{}[{length}]", type_name(shader, element)),
        Type::Resource(kind, Some(element)) => format!("{kind:?}<{}>", type_name(shader, element)),
        ty => format!("{ty:?}"),
    }
}
