//! Expressions: the values of all active threads.

use std::borrow::Cow;

use shaderlint_hlsl::{BinaryOp, Expr, ExprKind, Scalar, Type};

use crate::exec::Observer;
use crate::exec::place::{Root, is_resource};
use crate::exec::{MAX_COMPONENTS, Machine, Run};
use crate::facts::layout;
use crate::terms::column::{Column, Mask};
use crate::terms::value::Value;
use crate::terms::{Terms, fold};

impl<'a, O: Observer> Machine<'a, O> {
    /// The components of an expression's value; those of inactive threads have no meaning.
    pub fn eval(&mut self, expr: &'a Expr) -> Run<Vec<Column>> {
        let mut value = self.evaluate(expr)?;
        if value.is_empty() && expr.ty == Type::Unknown {
            value = self.not_known(1);
        }
        if self.observer.is_trying()
            && matches!(
                expr.kind,
                ExprKind::Binary(..) | ExprKind::Intrinsic(..) | ExprKind::Call(..)
            )
        {
            O::computed(self, expr, &value);
        }
        Ok(value)
    }

    fn evaluate(&mut self, expr: &'a Expr) -> Run<Vec<Column>> {
        if let ExprKind::Call(..)
        | ExprKind::Intrinsic(..)
        | ExprKind::Method { .. }
        | ExprKind::Assign { .. } = expr.kind
            && self.effects.hangs_on_order(self.shader, expr)
        {
            return Self::stop("a statement whose result depends on evaluation order", expr.span);
        }
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
            } => self.step(target, *increment, *prefix),
            ExprKind::Cast(operand) => {
                if let Some(value) = self.assumed_uniform(operand) {
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
                method,
                arguments,
            } => self.method(object, method, arguments, expr),
            ExprKind::Comma(a, b) => {
                self.eval(a)?;
                self.eval(b)
            }
            ExprKind::Opaque(operands) => self.opaque(operands, expr),
        }
    }

    /// `++` and `--`.
    fn step(&mut self, target: &'a Expr, increment: bool, prefix: bool) -> Run<Vec<Column>> {
        let operator = if increment { "++" } else { "--" };
        if self.over_approximates() && matches!(target.kind, ExprKind::Opaque(_)) {
            return self.change_part(target, operator, &[]);
        }
        let place = self.place(target)?;
        let old = self.load(&place, target.span);
        let new = if self.over_approximates() && target.ty == Type::Unknown {
            self.operate_opaquely(operator, &old, old.len())
        } else {
            let is_float = target.ty.scalar().is_some_and(Scalar::is_float);
            let one = if is_float { 1.0f32.to_bits() } else { 1 };
            let one = vec![Column::Uniform(Value::Known(one)); old.len()];
            let op = if increment { BinaryOp::Add } else { BinaryOp::Sub };
            self.binary(op, target.ty.scalar(), &old, &one)
        };
        self.store(&place, &new, target.span)?;
        Ok(if prefix { new } else { old })
    }

    /// Applies `f` thread by thread, or once if all columns are uniform.
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

    /// `count` unknown columns, for a value whose type is not known.
    pub fn not_known(&mut self, count: usize) -> Vec<Column> {
        if self.over_approximates() {
            self.unknowns_by_thread(count)
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

    /// `&&` and `||`. The language version decides whether the right side runs where the left side alone determines
    /// the result. So a right side with effects is not followed; without effects it makes no difference.
    fn logical(&mut self, op: BinaryOp, a: &'a Expr, b: &'a Expr) -> Run<Vec<Column>> {
        let left = self.eval(a)?;
        if !self.over_approximates() && self.effects.has_side_effects(self.shader, b) {
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
        self.paths.arms += 1;
        let result = f(self);
        self.paths.arms -= 1;
        self.state.active = active;
        self.state.guard = guard;
        result
    }

    /// Passes an operand of `?:`, `&&` or `||` that no thread evaluates in versions of the language that
    /// short-circuit.
    fn pass_operand(&mut self, operand: &'a Expr) -> Run<()> {
        if !self.over_approximates() && self.effects.calls_unknown(self.shader, operand) {
            return Self::stop("a conditional call of an unknown function", operand.span);
        }
        Ok(())
    }

    /// `?:`. Before HLSL 2021 both arms are evaluated; an arm without effects that is not selected cannot be told
    /// from one that is not evaluated (an out-of-bounds read there gives an undefined value, which is dropped).
    fn ternary(&mut self, condition: &'a Expr, a: &'a Expr, b: &'a Expr) -> Run<Vec<Column>> {
        let condition = self.eval(condition)?;
        let mut reads_lanes = false;
        for arm in [a, b] {
            if !self.over_approximates() && self.effects.has_side_effects(self.shader, arm) {
                if self.mode.tries_both_arms() && self.effects.only_reads_lanes(self.shader, arm) {
                    reads_lanes = true;
                    continue;
                }
                return Self::stop("a side effect in an arm of ?:", arm.span);
            }
        }
        if reads_lanes {
            return O::reads_in_arms(self, &condition, a, b);
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

    /// A value read from a resource or the host: a word read as a `bool` becomes 0 or 1 here.
    pub fn with_truths(&mut self, mut value: Vec<Column>, ty: &Type) -> Vec<Column> {
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

    /// Conversion between types, as defined by [`ExprKind::Cast`].
    pub fn convert(&mut self, value: &[Column], from: &Type, to: &Type) -> Vec<Column> {
        if from == to {
            return value.to_vec();
        }
        let count = self.parts(to).min(MAX_COMPONENTS);
        if self.over_approximates() && *to == Type::Unknown {
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
}
