//! Expressions: values of all active threads, and the places they are stored in.

use std::borrow::Cow;
use std::collections::BTreeSet;

use shaderlint_hlsl::{
    BinaryOp, Direction, Expr, ExprKind, FunctionId, LocalId, ResourceKind, Scalar, Shader, Type,
};

use crate::atomic::Cell;
use crate::column::{Column, Mask};
use crate::flow::Source;
use crate::fold;
use crate::layout::{self, is_of_words};
use crate::machine::{Frame, MAX_COMPONENTS, Machine, Run};
use crate::place::{Place, Root, is_resource};
use crate::terms::Terms;
use crate::value::Value;

impl<'a> Machine<'a> {
    /// The components of an expression's value; those of threads that are not active mean nothing.
    pub fn eval(&mut self, expr: &'a Expr) -> Run<Vec<Column>> {
        let mut value = self.evaluate(expr)?;
        if value.is_empty() && expr.ty == Type::Unknown {
            value = self.not_known(1);
        }
        if self.prober.is_probing() && matches!(expr.kind, ExprKind::Binary(..) | ExprKind::Intrinsic(..)) {
            self.notice_expression(expr, &value);
        }
        Ok(value)
    }

    fn evaluate(&mut self, expr: &'a Expr) -> Run<Vec<Column>> {
        match &expr.kind {
            ExprKind::Literal(word) => {
                let count = self.parts(&expr.ty).max(1);
                let word = Value::Known(*word);
                let value = match expr.ty.scalar() {
                    Some(Scalar::Half) => fold::cast(self.terms, Scalar::Float, Scalar::Half, &word),
                    _ => word,
                };
                Ok(vec![Column::Uniform(value); count])
            }
            ExprKind::Local(local) => Ok(self
                .state
                .frame
                .locals
                .get(local.0 as usize)
                .cloned()
                .unwrap_or_default()),
            ExprKind::Global(_) | ExprKind::Index(..) | ExprKind::Field(..) | ExprKind::Swizzle(..) => {
                let place = self.place(expr)?;
                let value = self.load(&place, expr.span);
                Ok(match place.root {
                    Root::Uniform(_) | Root::Device { .. } => self.with_truths(value, &expr.ty),
                    _ => value,
                })
            }
            ExprKind::Unary(op, operand) => {
                let scalar = operand.ty.scalar().unwrap_or(Scalar::Uint);
                let value = self.eval(operand)?;
                let op = *op;
                Ok(value
                    .iter()
                    .map(|column| self.map([column], |m, values| fold::unary(m.terms, op, scalar, values[0])))
                    .collect())
            }
            ExprKind::Binary(op @ (BinaryOp::LogicalAnd | BinaryOp::LogicalOr), a, b) => {
                self.logical(*op, a, b)
            }
            ExprKind::Binary(op, a, b) => {
                self.spend(expr.span)?;
                let left = self.eval(a)?;
                let right = self.eval(b)?;
                Ok(self.binary(*op, a.ty.scalar(), &left, &right))
            }
            ExprKind::Ternary(condition, a, b) => self.ternary(condition, a, b),
            ExprKind::Assign { target, op, value } => self.assign(target, *op, value),
            ExprKind::Step {
                target,
                increment,
                prefix,
            } => {
                if self.claims.is_some() && matches!(target.kind, ExprKind::Opaque(_)) {
                    let operator = if *increment { "++" } else { "--" };
                    return self.change_part(target, operator, &[]);
                }
                let place = self.place(target)?;
                let old = self.load(&place, target.span);
                let one = if target.ty.scalar().is_some_and(Scalar::is_float) {
                    1.0f32.to_bits()
                } else {
                    1
                };
                let one = vec![Column::Uniform(Value::Known(one)); old.len()];
                let op = if *increment { BinaryOp::Add } else { BinaryOp::Sub };
                let new = if self.claims.is_some() && target.ty == Type::Unknown {
                    self.operate_opaquely(if *increment { "++" } else { "--" }, &old, old.len())
                } else {
                    self.binary(op, target.ty.scalar(), &old, &one)
                };
                self.store(&place, &new, target.span)?;
                Ok(if *prefix { new } else { old })
            }
            ExprKind::Cast(operand) => {
                if let Some(value) = self.supposed(operand) {
                    return Ok(value);
                }
                let value = self.eval(operand)?;
                Ok(self.convert(&value, &operand.ty, &expr.ty))
            }
            ExprKind::Construct(arguments) => {
                let mut components = Vec::new();
                for argument in arguments {
                    components.extend(self.eval(argument)?);
                }
                let count = self.parts(&expr.ty).min(MAX_COMPONENTS);
                components.resize(count, Column::ZERO);
                Ok(components)
            }
            ExprKind::Call(function, arguments) => {
                let given = self.call(*function, arguments, expr)?;
                // A resource has no components.
                Ok(if is_resource(&expr.ty) { Vec::new() } else { given })
            }
            ExprKind::Intrinsic(intrinsic, arguments) => self.intrinsic(*intrinsic, arguments, expr),
            ExprKind::Method {
                object,
                name,
                arguments,
            } => self.method(object, name, arguments, expr),
            ExprKind::Comma(a, b) => {
                self.eval(a)?;
                self.eval(b)
            }
            ExprKind::Opaque(operands) => self.opaque(operands, expr),
        }
    }

    /// Applies `f` thread by thread; once where all columns are uniform.
    pub fn map<const N: usize>(
        &mut self,
        columns: [&Column; N],
        mut f: impl FnMut(&mut Self, [&Value; N]) -> Value,
    ) -> Column {
        if columns.iter().all(|column| matches!(column, Column::Uniform(_))) {
            return Column::Uniform(f(self, columns.map(|column| column.at(0))));
        }
        let (active, lanes) = (self.state.active, self.lanes);
        let rows = columns.map(Column::row);
        if active == self.all {
            return Column::from_fn(lanes, |thread| f(self, rows.map(|row| row.at(thread))));
        }
        Column::from_fn(lanes, |thread| {
            if active.contains(thread) {
                f(self, rows.map(|row| row.at(thread)))
            } else {
                Value::Known(0)
            }
        })
    }

    /// [`Machine::map`] over any number of columns.
    pub fn map_all(
        &mut self,
        columns: &[&Column],
        mut f: impl FnMut(&mut Terms, &[Value]) -> Value,
    ) -> Column {
        let mut values = Vec::with_capacity(columns.len());
        let mut at = |terms: &mut Terms, thread: usize| {
            values.clear();
            values.extend(columns.iter().map(|column| column.at(thread).clone()));
            f(terms, &values)
        };
        if columns.iter().all(|column| matches!(column, Column::Uniform(_))) {
            return Column::Uniform(at(self.terms, 0));
        }
        let active = self.state.active;
        Column::from_fn(self.lanes, |thread| {
            if active.contains(thread) {
                at(self.terms, thread)
            } else {
                Value::Known(0)
            }
        })
    }

    pub fn binary(
        &mut self,
        op: BinaryOp,
        scalar: Option<Scalar>,
        a: &[Column],
        b: &[Column],
    ) -> Vec<Column> {
        let scalar = scalar.unwrap_or(Scalar::Uint);
        a.iter()
            .zip(b)
            .map(|(a, b)| self.map([a, b], |m, [a, b]| fold::binary(m.terms, op, scalar, a, b)))
            .collect()
    }

    /// `count` columns of which nothing is known: of what is of a type that is not.
    pub fn not_known(&mut self, count: usize) -> Vec<Column> {
        if self.claims.is_some() {
            self.atomic_results(count, Source::UNKNOWN)
        } else {
            self.fresh_columns(count)
        }
    }

    pub fn fresh_columns(&mut self, count: usize) -> Vec<Column> {
        let lanes = self.lanes;
        (0..count)
            .map(|_| Column::from_fn(lanes, |_| self.terms.fresh()))
            .collect()
    }

    /// `&&` and `||`. Whether the right side runs where the left one decides depends on the language version, so a
    /// right side with effects is not followed; without effects it makes no difference.
    fn logical(&mut self, op: BinaryOp, a: &'a Expr, b: &'a Expr) -> Run<Vec<Column>> {
        let left = self.eval(a)?;
        if self.claims.is_none() && self.effects.has_side_effects(self.shader, b) {
            return Self::stop("a side effect behind && or ||", b.span);
        }
        let Some(condition) = left.first().filter(|_| left.len() == 1).cloned() else {
            let right = self.eval(b)?;
            return Ok(self.binary(op, Some(Scalar::Bool), &left, &right));
        };
        let (yes, no, maybe) = self.split(&condition);
        let undecided = if op == BinaryOp::LogicalAnd { yes } else { no }.or(maybe);
        if undecided.is_empty() {
            self.pass_operand(b)?;
            return Ok(left);
        }
        let (then_guard, else_guard) = self.guards(&condition, maybe);
        let guard = if op == BinaryOp::LogicalAnd {
            then_guard
        } else {
            else_guard
        };
        let right = self.under(undecided, guard, |m| m.eval(b))?;
        let lanes = self.lanes;
        let right = right.first().cloned().unwrap_or(Column::ZERO);
        if let (Column::Uniform(l), Column::Uniform(r)) = (&condition, &right) {
            return Ok(vec![Column::Uniform(fold::binary(
                self.terms,
                op,
                Scalar::Bool,
                l,
                r,
            ))]);
        }
        Ok(vec![Column::from_fn(lanes, |thread| {
            let value = condition.at(thread);
            if undecided.contains(thread) {
                fold::binary(self.terms, op, Scalar::Bool, value, right.at(thread))
            } else {
                value.clone()
            }
        })])
    }

    /// Runs `f` with only the threads of `mask` active, under `guard`.
    fn under<T>(&mut self, mask: Mask, guard: Column, f: impl FnOnce(&mut Self) -> Run<T>) -> Run<T> {
        let active = std::mem::replace(&mut self.state.active, mask);
        let guard = std::mem::replace(&mut self.state.guard, guard);
        self.arms += 1;
        let result = f(self);
        self.arms -= 1;
        self.state.active = active;
        self.state.guard = guard;
        result
    }

    /// An operand of `?:`, `&&` or `||` that nobody evaluates where the language has them cut short.
    fn pass_operand(&mut self, operand: &'a Expr) -> Run<()> {
        if self.claims.is_none() && self.effects.calls_unknown(self.shader, operand) {
            return Self::stop(
                "a call of something unknown that may be made or not",
                operand.span,
            );
        }
        Ok(())
    }

    /// `?:`. Before HLSL 2021 both arms are evaluated; an arm without effects that is not selected cannot be told
    /// from one that is not evaluated (an out-of-bounds read there gives an undefined value, which is dropped).
    fn ternary(&mut self, condition: &'a Expr, a: &'a Expr, b: &'a Expr) -> Run<Vec<Column>> {
        let condition = self.eval(condition)?;
        let mut reads_lanes = false;
        for arm in [a, b] {
            if self.claims.is_none() && self.effects.has_side_effects(self.shader, arm) {
                if self.ladders.is_some() && self.effects.only_reads_lanes(self.shader, arm) {
                    reads_lanes = true;
                    continue;
                }
                return Self::stop("a side effect in an arm of ?:", arm.span);
            }
        }
        if reads_lanes {
            return self.reads_in_arms(&condition, a, b);
        }
        if condition.len() != 1 {
            let (a, b) = (self.eval(a)?, self.eval(b)?);
            return Ok(condition
                .iter()
                .zip(a.iter().zip(&b))
                .map(|(c, (a, b))| self.map([c, a, b], |m, v| m.terms.select(v[0], v[1], v[2])))
                .collect());
        }
        let condition = &condition[0];
        let (yes, no, maybe) = self.split(condition);
        let (then_guard, else_guard) = if maybe.is_empty() {
            (self.state.guard.clone(), self.state.guard.clone())
        } else {
            self.guards(condition, maybe)
        };
        let (for_a, for_b) = (yes.or(maybe), no.or(maybe));
        let a = if for_a.is_empty() {
            self.pass_operand(a)?;
            None
        } else {
            Some(self.under(for_a, then_guard, |m| m.eval(a))?)
        };
        let b = if for_b.is_empty() {
            self.pass_operand(b)?;
            None
        } else {
            Some(self.under(for_b, else_guard, |m| m.eval(b))?)
        };
        Ok(match (a, b) {
            (Some(a), Some(b)) => a
                .iter()
                .zip(&b)
                .map(|(a, b)| self.map([condition, a, b], |m, v| m.terms.select(v[0], v[1], v[2])))
                .collect(),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => Vec::new(),
        })
    }

    /// What was read of a resource or the host: any word that is read as a `bool` is 0 or 1 from there on.
    fn with_truths(&mut self, mut value: Vec<Column>, ty: &Type) -> Vec<Column> {
        if ty.scalar().is_some_and(|scalar| scalar != Scalar::Bool) {
            return value;
        }
        let scalars = layout::scalars(self.shader, ty).unwrap_or_default();
        for (column, scalar) in value.iter_mut().zip(scalars) {
            if scalar == Scalar::Bool {
                *column = self.map([column], |m, word| {
                    fold::cast(m.terms, Scalar::Uint, Scalar::Bool, word[0])
                });
            }
        }
        value
    }

    /// Conversion between types, as [`ExprKind::Cast`] says.
    pub fn convert(&mut self, value: &[Column], from: &Type, to: &Type) -> Vec<Column> {
        if from == to {
            return value.to_vec();
        }
        let count = self.parts(to).min(MAX_COMPONENTS);
        if self.claims.is_some() && *to == Type::Unknown {
            return self.as_unknown(value.to_vec(), from);
        }
        if *from == Type::Unknown {
            return self.of_unknown(value, to, count);
        }
        let (Some(source), Some(target)) = (from.scalar(), to.scalar()) else {
            // `(S)0` and `(S)s`.
            let fill = value.first().cloned().unwrap_or(Column::ZERO);
            return (0..count)
                .map(|index| value.get(index).unwrap_or(&fill).clone())
                .collect();
        };
        let value = match (from, to) {
            // The upper left part stays.
            (Type::Matrix(_, _, columns), Type::Matrix(_, _, kept)) if columns != kept => {
                let rows = value.chunks(usize::from(*columns).max(1));
                Cow::from(
                    rows.flat_map(|row| row.iter().take(usize::from(*kept)).cloned())
                        .collect::<Vec<_>>(),
                )
            }
            _ => Cow::from(value),
        };
        let converted: Vec<Column> = value
            .iter()
            .take(count.max(1))
            .map(|column| self.map([column], |m, v| fold::cast(m.terms, source, target, v[0])))
            .collect();
        let fill = converted.first().cloned().unwrap_or(Column::ZERO);
        (0..count)
            .map(|index| converted.get(index).unwrap_or(&fill).clone())
            .collect()
    }

    pub fn call(&mut self, id: FunctionId, arguments: &'a [Expr], expr: &'a Expr) -> Run<Vec<Column>> {
        self.spend(expr.span)?;
        let shader = self.shader;
        let Some(function) = shader.functions.get(id.0 as usize) else {
            return Self::stop("a call that is not understood", expr.span);
        };
        let Some(body) = &function.body else {
            return Self::stop("a call of a function without a body", expr.span);
        };
        if !self.state.frame.may_call() {
            return Self::stop("calls nested too deeply", expr.span);
        }
        let mut frame = Frame::new(id, self.state.frame.depth + 1, self.state.guard.clone());
        let mut values: Vec<Option<Vec<Column>>> = Vec::new();
        let mut outs: Vec<(Place, LocalId, &'a Expr)> = Vec::new();
        for (parameter, argument) in function.parameters.iter().zip(arguments) {
            let ty = function
                .locals
                .get(parameter.local.0 as usize)
                .map(|local| &local.ty);
            if let Some(ty @ Type::Resource(..)) = ty {
                let Some(handle) = self.handle(argument, ty)? else {
                    return Self::stop("a resource argument that is not understood", argument.span);
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
                    let value = self.doubtfully(by_reference, |m| m.load(&place, argument.span));
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
        if self.skims && self.is_long_aside(id) {
            for (place, _, argument) in outs {
                let count = self.parts(&argument.ty).min(MAX_COMPONENTS);
                let value: Vec<Column> = (0..count).map(|_| self.unknown()).collect();
                self.doubtfully(true, |m| m.store(&place, &value, argument.span))?;
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
        let ran = self.block(body);
        let callee = std::mem::replace(&mut self.state.frame, caller);
        ran?;
        self.state.active = active;
        self.state.guard = guard;
        for (place, local, argument) in outs {
            let value = callee.locals.get(local.0 as usize).cloned().unwrap_or_default();
            // Copied back in the argument's type, as a value goes in.
            let value = match function.locals.get(local.0 as usize) {
                Some(variable) => self.convert(&value, &variable.ty, &argument.ty),
                None => value,
            };
            if self.claims.is_some() && matches!(argument.kind, ExprKind::Opaque(_)) {
                self.doubtfully(true, |m| m.change_part(argument, "=", &value))?;
                continue;
            }
            self.doubtfully(true, |m| m.store(&place, &value, argument.span))?;
        }
        let mut result = callee.result;
        let count = self.parts(&function.returns).min(MAX_COMPONENTS);
        let missing = count.saturating_sub(result.len());
        result.extend(self.not_known(missing));
        Ok(result)
    }

    /// Whether a function has a loop, and all that it does is to compute values of each thread's own.
    fn is_long_aside(&mut self, id: FunctionId) -> bool {
        let effects = self.effects.of_function(self.shader, id);
        let does_more = effects.touches_shared()
            || effects.barrier
            || effects.wave
            || effects.opaque
            || effects.handle_written
            || !effects.device_written.is_empty()
            || !effects.statics.is_empty();
        effects.repeats && !does_more
    }

    /// Arguments are copied in and out, says the language; compilers may pass them by reference, and then nothing is
    /// touched that the function itself does not touch.
    pub fn doubtfully<T>(&mut self, doubtful: bool, f: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.state.doubtful;
        self.state.doubtful |= doubtful;
        let result = f(self);
        self.state.doubtful = before;
        result
    }

    /// Methods of resources.
    fn method(
        &mut self,
        object: &'a Expr,
        name: &str,
        arguments: &'a [Expr],
        expr: &'a Expr,
    ) -> Run<Vec<Column>> {
        let place = self.place(object)?;
        if let Some((window, _)) = place.in_shared() {
            return self.method_of_window(window, object, (name, arguments), expr);
        }
        let count = self.parts(&expr.ty).min(MAX_COMPONENTS);
        let (Some((resource, mut index)), Type::Resource(kind, _)) = (place.on_device(), &object.ty) else {
            return self.opaque_of(Some((object, place)), arguments, expr);
        };
        let by_address = kind.is_by_address();
        match (name, arguments) {
            ("Load" | "Load2" | "Load3" | "Load4", [at]) if *kind != ResourceKind::Texture => {
                index.extend(self.eval(at)?);
                if by_address && !is_of_words(self.shader, &expr.ty) {
                    // Not the words at that address: others lie there, in an order of their own.
                    index.push(self.told_by_types([&expr.ty]));
                }
                let value = (0..count as u32)
                    .map(|component| self.load_device(resource, &index, component))
                    .collect();
                Ok(self.with_truths(value, &expr.ty))
            }
            ("Load", [at]) if is_first_level(self.shader, at) => {
                // What a subscript reads.
                let mut texel = self.eval(at)?;
                texel.pop();
                index.extend(texel);
                let value = (0..count as u32)
                    .map(|component| self.load_device(resource, &index, component))
                    .collect();
                Ok(self.with_truths(value, &expr.ty))
            }
            ("Store" | "Store2" | "Store3" | "Store4", [at, value]) if by_address => {
                index.extend(self.eval(at)?);
                let ty = &value.ty;
                let mut value = self.eval(value)?;
                if !is_of_words(self.shader, ty) {
                    // Which bytes its components are is not followed: only the same store leaves the same.
                    value.push(self.told_by_types([ty]));
                    let all = self.as_one(&value);
                    self.store_device(resource, &index, u32::MAX, &all);
                    return Ok(Vec::new());
                }
                for (component, value) in (0u32..).zip(&value) {
                    self.store_device(resource, &index, component, value);
                }
                Ok(Vec::new())
            }
            _ if name.starts_with("Interlocked") && by_address => {
                let Some((at, operands)) = arguments.split_first() else {
                    return self.opaque_of(Some((object, place)), arguments, expr);
                };
                let (at, supposed) =
                    self.supposing((None, std::slice::from_ref(at)), |machine| machine.eval(at))?;
                if at.is_empty() {
                    return Self::stop("an address that is not understood", expr.span);
                }
                index.extend(at);
                let cell = Cell {
                    resource,
                    index: &index,
                    component: 0,
                    supposed: &supposed,
                };
                self.atomic_on_device(name, &cell, operands, (object.span, expr))
            }
            _ => {
                if kind.is_writable() && !name.starts_with("Load") && name != "GetDimensions" {
                    if self.served.is_some() {
                        return Self::stop("a counter within an atomic", expr.span);
                    }
                    let cell = Cell {
                        resource,
                        index: &index,
                        component: u32::MAX,
                        supposed: &BTreeSet::new(),
                    };
                    return self.count_on_device(name, &cell, arguments, (object.span, expr), count);
                }
                self.opaque_of(Some((object, place)), arguments, expr)
            }
        }
    }
}

/// Whether the last component of a texel's place, its level, is written as 0. Which level that of a variable is is not
/// known.
fn is_first_level(shader: &Shader, at: &Expr) -> bool {
    let within = at.uncast();
    let ExprKind::Construct(parts) = &within.kind else {
        return false;
    };
    let is_zero = |level: &Expr| matches!(level.uncast().kind, ExprKind::Literal(0));
    // More than the level.
    parts.len() > 1
        && parts.last().is_some_and(is_zero)
        && shader.components(&within.ty) == shader.components(&at.ty)
}
