//! Calls of functions: the run executes their bodies, and copies arguments in and out.

use shaderlint_hlsl::{Direction, Expr, ExprKind, FunctionId, GlobalId, LocalId, Shader, Type};

use crate::exec::Observer;
use crate::exec::place::Place;
use crate::exec::{Exit, Frame, MAX_COMPONENTS, Machine, Run};
use crate::terms::column::{Column, Mask};

impl<'a, O: Observer> Machine<'a, O> {
    pub fn call(&mut self, id: FunctionId, arguments: &'a [Expr], expr: &'a Expr) -> Run<Vec<Column>> {
        self.spend(expr.span)?;
        let shader = self.shader;
        let Some(function) = shader.functions.get(id.0 as usize) else {
            return Self::stop("an unsupported call", expr.span);
        };
        let Some(body) = &function.body else {
            return Self::stop("a call of a function without a body", expr.span);
        };
        if !self.state.frame.may_call() {
            return Self::stop("calls nested too deeply", expr.span);
        }
        let mut frame = Frame::new(id, self.state.frame.depth + 1, self.state.guard.clone());
        frame.caller = Some(self.caller(expr.span));
        let mut values: Vec<Option<Vec<Column>>> = Vec::new();
        let mut outs: Vec<(Place, LocalId, &'a Expr)> = Vec::new();
        for (parameter, argument) in function.parameters.iter().zip(arguments) {
            let ty = function
                .locals
                .get(parameter.local.0 as usize)
                .map(|local| &local.ty);
            if let Some(ty @ Type::Resource(..)) = ty {
                let Some(handle) = self.handle(argument, ty)? else {
                    return Self::stop("an unsupported resource argument", argument.span);
                };
                frame.aliases.insert(parameter.local, handle);
                if let (ExprKind::Local(local), true) = (&argument.kind, parameter.direction != Direction::In)
                {
                    // What it stands for afterwards is not followed.
                    self.state.frame.aliases.remove(local);
                }
                values.push(None);
                continue;
            }
            let place = self.place(argument)?;
            if matches!(argument.ty, Type::Array(..)) && place.in_shared().is_some() {
                return Self::stop("a groupshared array as an argument", argument.span);
            }
            values.push(match parameter.direction {
                Direction::Out => None,
                Direction::In | Direction::InOut => {
                    let by_reference = parameter.direction == Direction::InOut;
                    let value = self.uncertainly(by_reference, |m| m.load(&place, argument.span));
                    Some(match ty {
                        Some(ty) => self.convert(&value, &argument.ty, ty),
                        None => value,
                    })
                }
            });
            if parameter.direction != Direction::In {
                outs.push((place, parameter.local, argument));
            }
        }
        let is_aside = self.is_long_aside(id);
        if self.limits.skims && is_aside {
            for (place, _, argument) in outs {
                let count = self.parts(&argument.ty).min(MAX_COMPONENTS);
                let value: Vec<Column> = (0..count).map(|_| self.unknown()).collect();
                self.uncertainly(true, |m| m.store(&place, &value, argument.span))?;
            }
            let count = self.parts(&function.returns).min(MAX_COMPONENTS);
            return Ok((0..count).map(|_| self.unknown()).collect());
        }
        let caller = std::mem::replace(&mut self.state.frame, frame);
        self.open_frame();
        for (parameter, value) in function.parameters.iter().zip(values) {
            if let (Some(slot), Some(value)) =
                (self.state.frame.locals.get_mut(parameter.local.0 as usize), value)
            {
                *slot = value;
            }
        }
        let (active, guard) = (self.state.active, self.state.guard.clone());
        let ran = self.count_aside(is_aside, |machine| machine.block(body));
        let mut callee = std::mem::replace(&mut self.state.frame, caller);
        ran?;
        let at_end = self.state.active;
        self.settle_exits(&mut callee, at_end);
        self.state.active = active;
        self.state.guard = guard;
        for (place, local, argument) in outs {
            let value = callee.locals.get(local.0 as usize).cloned().unwrap_or_default();
            // Copied back in the argument's type, with the same conversion as on the way in.
            let value = match function.locals.get(local.0 as usize) {
                Some(variable) => self.convert(&value, &variable.ty, &argument.ty),
                None => value,
            };
            if self.over_approximates() && matches!(argument.kind, ExprKind::Opaque(_)) {
                self.uncertainly(true, |m| m.change_part(argument, "=", &value))?;
                continue;
            }
            self.uncertainly(true, |m| m.store(&place, &value, argument.span))?;
        }
        let mut result = callee.result;
        let count = self.parts(&function.returns).min(MAX_COMPONENTS);
        let missing = count.saturating_sub(result.len());
        result.extend(self.not_known(missing));
        Ok(result)
    }

    /// Active threads leave the current function: they do not make its later writes.
    pub fn note_exit(&mut self) {
        let exit = self.exit();
        self.state.frame.exits.push(exit);
    }

    /// Active threads may have left the current function in statements that are not followed. Its result is unknown
    /// then, and so are its other outputs and the threads that go on.
    pub fn may_have_left(&mut self, unknown: impl Fn(&mut Self) -> Column) {
        let returns = self
            .function()
            .map_or(0, |function| self.parts(&function.returns));
        self.state.frame.result = (0..returns.min(MAX_COMPONENTS)).map(|_| unknown(self)).collect();
        let mut exit = self.exit();
        let outputs = exit.outputs.iter_mut().map(|(_, columns)| columns);
        let statics = exit.statics.iter_mut().map(|(_, columns)| columns);
        for column in outputs.chain(statics).flatten() {
            *column = unknown(self);
        }
        exit.guard = unknown(self);
        self.state.frame.exits.push(exit);
        self.state.guard = unknown(self);
    }

    /// The active threads, and the outputs of the current function if they leave it now.
    fn exit(&mut self) -> Exit {
        let function = self.state.frame.function;
        let statics = self.effects.of_function(self.shader, function).statics;
        let state = &self.state;
        let output = |local: LocalId| Some((local, state.frame.locals.get(local.0 as usize)?.clone()));
        let of_static = |global: GlobalId| Some((global, state.statics.get(&global)?.clone()));
        Exit {
            active: state.active,
            guard: state.guard.clone(),
            outputs: outputs(self.shader, function).filter_map(output).collect(),
            statics: statics.into_iter().filter_map(of_static).collect(),
        }
    }

    /// Sets the outputs of a called function, and the statics, to what each thread left there. A thread that may have
    /// reached the end has the values at the end, except where it left at an exit. Any other thread has the values of
    /// its last exit, except where it left at another one.
    fn settle_exits(&mut self, callee: &mut Frame, mut settled: Mask) {
        for exit in std::mem::take(&mut callee.exits).into_iter().rev() {
            let Exit {
                active,
                guard,
                outputs,
                statics,
            } = exit;
            let lanes = self.lanes;
            let terms = &mut *self.terms;
            let mut settle = |now: &mut Vec<Column>, then: &[Column]| {
                for (now, then) in now.iter_mut().zip(then).filter(|(now, then)| **now != **then) {
                    *now = Column::from_fn(lanes, |thread| {
                        let (now, then) = (now.at(thread), then.at(thread));
                        let guard = guard.at(thread);
                        if !active.contains(thread) {
                            now.clone()
                        } else if !settled.contains(thread) || guard == callee.entered.at(thread) {
                            then.clone()
                        } else {
                            terms.select(guard, then, now)
                        }
                    });
                }
            };
            for (local, then) in &outputs {
                if let Some(now) = callee.locals.get_mut(local.0 as usize) {
                    settle(now, then);
                }
            }
            for (global, then) in &statics {
                if let Some(now) = self.state.statics.get_mut(global) {
                    settle(now, then);
                }
            }
            settled = settled.or(active);
        }
    }

    /// Whether a function has a loop and only computes values of each thread's own.
    fn is_long_aside(&mut self, id: FunctionId) -> bool {
        let effects = self.effects.of_function(self.shader, id);
        effects.repeats && effects.is_of_own_variables()
    }

    /// Runs `f`, if `is_uncertain`, as something that may not happen. The language says that arguments are copied in
    /// and out, but compilers may pass them by reference; then a call touches nothing that the function itself does
    /// not touch.
    ///
    /// `f` accesses a place, and only statements make what follows uncertain, so nothing is lost by going back to what
    /// held before. An over-approximating run may evaluate more in `f`, but no result of it hangs on certainty.
    pub fn uncertainly<T>(&mut self, is_uncertain: bool, f: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.state.convergence.is_uncertain();
        self.state.convergence.set_uncertain(before || is_uncertain);
        let result = f(self);
        self.state.convergence.set_uncertain(before);
        result
    }
}

/// The parameters through which a function returns values.
fn outputs(shader: &Shader, function: FunctionId) -> impl Iterator<Item = LocalId> {
    let function = shader.functions.get(function.0 as usize);
    let parameters = function.into_iter().flat_map(|function| &function.parameters);
    let outputs = parameters.filter(|parameter| parameter.direction != Direction::In);
    outputs.map(|parameter| parameter.local)
}
