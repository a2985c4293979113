//! The normal form of values (see [`crate::terms::value`]), and the operations that preserve it.

use std::cmp::Ordering;

use shaderlint_hlsl::{BinaryOp, Intrinsic, Scalar, UnaryOp};

use crate::terms::operator::Operator;
use crate::terms::rounding::Way;
use crate::terms::value::{Op, Part, Parts, Value, merge, normalise};
use crate::terms::{Floats, Needs, Term, Terms, fold};

impl Terms {
    /// `a operator b`.
    pub fn combine(&mut self, operator: Operator, a: &Value, b: &Value) -> Value {
        if operator.is_on_floats() {
            self.combined_floats(operator, Way::Pair, [a, b])
        } else {
            self.combined(operator, a, b)
        }
    }

    /// `a operator b` as part of a larger operation: records no derivation of floats.
    pub fn combined(&mut self, operator: Operator, a: &Value, b: &Value) -> Value {
        match (a, b) {
            (Value::Known(x), Value::Known(y)) => {
                // A run on numbers needs some number here, and proves nothing with its bits.
                let inexact = fold::inexact(operator, *x, *y).filter(|_| self.derivations.is_some());
                return match inexact {
                    Some(op) => self.apply(op, &[a.clone(), b.clone()]),
                    None => Value::Known(operator.fold(*x, *y)),
                };
            }
            (Value::Known(x), other) | (other, Value::Known(x)) => {
                if operator.is_identity(*x) {
                    return other.clone();
                }
                if operator.absorbs(*x) {
                    return Value::Known(*x);
                }
                if operator == Operator::Mul && !is_product(other) {
                    return self.scale(other, *x);
                }
            }
            (
                Value::Run {
                    operator: left,
                    start,
                    end,
                },
                Value::Run {
                    operator: right,
                    start: next_start,
                    end: next_end,
                },
            ) if (*left == operator || end - start == 1)
                && (*right == operator || next_end - next_start == 1) =>
            {
                if end == next_start {
                    return Value::Run {
                        operator,
                        start: *start,
                        end: *next_end,
                    };
                }
                if next_end == start {
                    return Value::Run {
                        operator,
                        start: *next_start,
                        end: *end,
                    };
                }
            }
            _ => {}
        }
        let (left, left_constant) = self.parts_under(operator, a);
        let (right, right_constant) = self.parts_under(operator, b);
        let parts = merge(operator, &left, &right);
        let atoms = |parts: &[Part]| parts.iter().map(|part| part.end - part.start).sum::<u32>();
        let may_cancel = matches!(operator, Operator::Add | Operator::Xor);
        if may_cancel && self.derivations.is_some() && atoms(&parts) < atoms(&left) + atoms(&right) {
            self.note_left_out(a);
        }
        self.note_work(parts.len() / 8);
        normalise(operator, operator.fold(left_constant, right_constant), parts)
    }

    /// `value * factor` as integers.
    fn scale(&mut self, value: &Value, factor: u32) -> Value {
        let (parts, constant) = self.parts_under(Operator::Add, value);
        let scaled = parts.iter().map(|part| Part {
            factor: part.factor.wrapping_mul(factor),
            ..*part
        });
        normalise(Operator::Add, constant.wrapping_mul(factor), scaled.collect())
    }

    pub fn negate(&mut self, value: &Value) -> Value {
        match value {
            Value::Known(word) => Value::Known(word.wrapping_neg()),
            _ => self.scale(value, u32::MAX),
        }
    }

    /// `value << amount`, exact modulo 2^32.
    pub fn shift_left(&mut self, value: &Value, amount: u32) -> Value {
        match value {
            Value::Known(word) => Value::Known(word << (amount & 31)),
            _ => self.scale(value, 1 << (amount & 31)),
        }
    }

    /// The value as runs and a constant in `operator`'s form. A value in another operator's form becomes one
    /// atom.
    pub fn parts_under<'v>(&mut self, operator: Operator, value: &'v Value) -> (Parts<'v>, u32) {
        let identity = operator.identity();
        let one = |start, end| {
            Parts::One([Part {
                start,
                end,
                factor: 1,
            }])
        };
        match value {
            Value::Known(word) => (Parts::Many(&[]), *word),
            Value::Run {
                operator: own,
                start,
                end,
            } if *own == operator || end - start == 1 => (one(*start, *end), identity),
            Value::Sum(sum) if sum.operator == operator => (Parts::Many(&sum.parts), sum.constant),
            _ => match self.apply(Op::Same, std::slice::from_ref(value)) {
                Value::Run { start, end, .. } => (one(start, end), identity),
                Value::Known(word) => (Parts::Many(&[]), word),
                Value::Sum(_) => (Parts::Many(&[]), identity),
            },
        }
    }

    /// `condition ? a : b` for a bool condition.
    pub fn select(&mut self, condition: &Value, a: &Value, b: &Value) -> Value {
        match condition {
            Value::Known(0) => b.clone(),
            Value::Known(_) => a.clone(),
            _ if a == b => a.clone(),
            _ => {
                let (a, b) = (
                    &self.assuming_that(condition, true, a),
                    &self.assuming_that(condition, false, b),
                );
                if a == b {
                    return a.clone();
                }
                if let Some(operator) = self.extremum(condition, a, b) {
                    return self.combine(operator, a, b);
                }
                if let Some(inner) = self.negated(condition) {
                    let inner = inner.clone();
                    return self.select(&inner, b, a);
                }
                self.apply(Op::Select, &[condition.clone(), a.clone(), b.clone()])
            }
        }
    }

    /// The minimum or maximum that `condition ? a : b` computes, if the order of `a` and `b` decides the
    /// condition. The condition's value for equal operands does not matter: they are one word. For floats this
    /// holds only if none is NaN, and the result for two zeros may be either.
    fn extremum(&self, condition: &Value, a: &Value, b: &Value) -> Option<Operator> {
        let mut scalar = None;
        let mut if_so = |order| self.holds_if(condition, DEEPEST, (a, b), order, &mut scalar);
        let (less, greater) = (if_so(Ordering::Less)?, if_so(Ordering::Greater)?);
        match (scalar?, less) {
            _ if less == greater => None,
            (Scalar::Uint, true) => Some(Operator::MinUint),
            (Scalar::Uint, false) => Some(Operator::MaxUint),
            (Scalar::Int, true) => Some(Operator::MinInt),
            (Scalar::Int, false) => Some(Operator::MaxInt),
            (Scalar::Float, _) if self.floats == Floats::Numbers => {
                self.note_need(|needs| needs.numbers = true);
                Some(if less {
                    Operator::MinFloat
                } else {
                    Operator::MaxFloat
                })
            }
            _ => None,
        }
    }

    /// The whole number that a power of known words is, where the run may assume that it is exact.
    pub fn power(&self, intrinsic: Intrinsic, words: &[u32]) -> Option<u32> {
        let floats: Vec<f32> = words.iter().map(|word| f32::from_bits(*word)).collect();
        let (base, exponent) = match (intrinsic, floats.as_slice()) {
            (Intrinsic::Exp2, [exponent]) => (2.0, *exponent),
            (Intrinsic::Pow, [base, exponent]) => (*base, *exponent),
            _ => return None,
        };
        let power = base.powf(exponent);
        let is_small = |value: f32| value.fract() == 0.0 && (0.0..16_777_216.0).contains(&value);
        if self.floats == Floats::Any || ![base, exponent, power].into_iter().all(is_small) {
            return None;
        }
        self.note_need(|needs| needs.powers = true);
        Some(power.to_bits())
    }

    pub(crate) fn note_need(&self, note: impl FnOnce(&mut Needs)) {
        let mut needs = self.needs.get();
        note(&mut needs);
        self.needs.set(needs);
    }

    /// Whether a condition holds when two values are in this order; `None` if something else decides it.
    /// `scalar` becomes the type in which they are compared.
    fn holds_if(
        &self,
        condition: &Value,
        depth: u32,
        values: (&Value, &Value),
        order: Ordering,
        scalar: &mut Option<Scalar>,
    ) -> Option<bool> {
        let Some(Term::Apply(op, operands)) = self.single(condition) else {
            return None;
        };
        let depth = depth.checked_sub(1)?;
        match (op, operands) {
            (Op::Unary(UnaryOp::Not, _), [inner]) => self
                .holds_if(inner, depth, values, order, scalar)
                .map(|holds| !holds),
            (Op::Binary(op @ (BinaryOp::LogicalAnd | BinaryOp::LogicalOr), _), both) => {
                let decides = *op == BinaryOp::LogicalOr;
                let mut all = Some(!decides);
                for one in both {
                    match self.holds_if(one, depth, values, order, scalar) {
                        Some(holds) if holds == decides => return Some(decides),
                        Some(_) => {}
                        None => all = None,
                    }
                }
                all
            }
            (Op::Binary(op, of), [left, right]) => {
                let order = match (left, right) {
                    both if both == values => order,
                    both if both == (values.1, values.0) => order.reverse(),
                    _ => return None,
                };
                let holds = match op {
                    BinaryOp::Less => order.is_lt(),
                    BinaryOp::LessEqual => order.is_le(),
                    BinaryOp::Greater => order.is_gt(),
                    BinaryOp::GreaterEqual => order.is_ge(),
                    // For words, the comparison does not depend on the type.
                    BinaryOp::Equal if !of.is_float() => return Some(order.is_eq()),
                    BinaryOp::NotEqual if !of.is_float() => return Some(order.is_ne()),
                    BinaryOp::Equal => order.is_eq(),
                    BinaryOp::NotEqual => order.is_ne(),
                    _ => return None,
                };
                (*scalar.get_or_insert(*of) == *of).then_some(holds)
            }
            _ => None,
        }
    }

    /// `value` under the assumption that `condition` holds: the taken arm of a select on it or on its negation
    /// ([`Terms::select`] keeps no negated condition).
    pub fn assuming(&self, condition: &Value, value: &Value) -> Value {
        self.assuming_that(condition, true, value)
    }

    /// `value` under the assumption that `condition` has the value `holds`.
    fn assuming_that(&self, condition: &Value, holds: bool, value: &Value) -> Value {
        let Some(Term::Apply(Op::Select, [on, then, otherwise])) = self.single(value) else {
            return value.clone();
        };
        let of_then = if on == condition {
            holds
        } else if self.negated(condition) == Some(on) {
            !holds
        } else {
            return value.clone();
        };
        let taken = if of_then { then } else { otherwise };
        self.note_left_out(condition);
        taken.clone()
    }

    pub fn not(&mut self, condition: &Value) -> Value {
        match condition {
            Value::Known(word) => Value::Known(u32::from(*word == 0)),
            _ => match self.negated(condition) {
                Some(inner) => inner.clone(),
                None => self.apply(
                    Op::Unary(UnaryOp::Not, Scalar::Bool),
                    std::slice::from_ref(condition),
                ),
            },
        }
    }

    pub fn and(&mut self, a: &Value, b: &Value) -> Value {
        match (a, b) {
            (Value::Known(0), _) | (_, Value::Known(0)) => Value::FALSE,
            (Value::Known(_), other) | (other, Value::Known(_)) => other.clone(),
            _ if a == b => {
                self.note_left_out(a);
                a.clone()
            }
            _ => self.apply(
                Op::Binary(BinaryOp::LogicalAnd, Scalar::Bool),
                &[a.clone(), b.clone()],
            ),
        }
    }

    /// Whether a condition implies another one: it is that condition, or a conjunction with it.
    pub fn needs(&self, condition: &Value, other: &Value) -> bool {
        let mut waiting = vec![condition];
        while let Some(part) = waiting.pop() {
            if part == other {
                self.note_left_out(part);
                return true;
            }
            if let Some(Term::Apply(Op::Binary(BinaryOp::LogicalAnd, _), both)) = self.single(part) {
                waiting.extend(both);
            }
        }
        false
    }

    pub fn or(&mut self, a: &Value, b: &Value) -> Value {
        match (a, b) {
            (Value::Known(0), other) | (other, Value::Known(0)) => other.clone(),
            (Value::Known(_), _) | (_, Value::Known(_)) => Value::TRUE,
            _ if a == b => {
                self.note_left_out(a);
                a.clone()
            }
            _ => self.apply(
                Op::Binary(BinaryOp::LogicalOr, Scalar::Bool),
                &[a.clone(), b.clone()],
            ),
        }
    }
}

/// How deep [`Terms::holds_if`] looks into nested conditions.
const DEEPEST: u32 = 8;

fn is_product(value: &Value) -> bool {
    match value {
        Value::Run { operator, start, end } => *operator == Operator::Mul && end - start > 1,
        Value::Sum(sum) => sum.operator == Operator::Mul,
        Value::Known(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms() -> (Terms, Vec<Value>) {
        let mut terms = Terms::default();
        let first = terms.inputs(8);
        let atoms = (first..first + 8).map(Value::atom).collect();
        (terms, atoms)
    }

    #[test]
    fn sums_have_one_form_whatever_the_order() {
        let (mut terms, x) = terms();
        for operator in [
            Operator::Add,
            Operator::FloatAdd,
            Operator::MaxInt,
            Operator::Xor,
            Operator::Mul,
        ] {
            let left = x[..4]
                .iter()
                .cloned()
                .reduce(|a, b| terms.combine(operator, &a, &b))
                .unwrap();
            let odd = terms.combine(operator, &x[1], &x[3]);
            let even = terms.combine(operator, &x[2], &x[0]);
            assert_eq!(left, terms.combine(operator, &odd, &even), "{operator:?}");
            assert!(matches!(left, Value::Run { start: 0, end: 4, .. }));
        }
    }

    #[test]
    fn factors_follow_the_operator() {
        let (mut terms, x) = terms();
        let twice = terms.combine(Operator::Add, &x[0], &x[0]);
        assert_eq!(twice, terms.shift_left(&x[0], 1));
        assert_ne!(twice, x[0]);
        let minus = terms.negate(&x[0]);
        assert_eq!(terms.combine(Operator::Add, &twice, &minus), x[0]);
        assert_eq!(terms.combine(Operator::Xor, &x[0], &x[0]), Value::Known(0));
        assert_eq!(terms.combine(Operator::MaxUint, &x[0], &x[0]), x[0]);
        assert_ne!(terms.combine(Operator::FloatAdd, &x[0], &x[0]), x[0]);
    }

    #[test]
    fn operators_do_not_mix() {
        let (mut terms, x) = terms();
        let sum = terms.combine(Operator::Add, &x[0], &x[1]);
        let max = terms.combine(Operator::MaxUint, &sum, &x[2]);
        let other = terms.combine(Operator::MaxUint, &x[0], &x[1]);
        let other = terms.combine(Operator::MaxUint, &other, &x[2]);
        assert_ne!(max, other);
        let product = terms.combine(Operator::Mul, &sum, &sum);
        assert_ne!(product, sum);
    }

    #[test]
    fn an_extremum_is_one_however_it_is_asked_for() {
        let (mut terms, x) = terms();
        for (scalar, min, max) in [
            (Scalar::Uint, Operator::MinUint, Operator::MaxUint),
            (Scalar::Int, Operator::MinInt, Operator::MaxInt),
        ] {
            let min = terms.combine(min, &x[0], &x[1]);
            let max = terms.combine(max, &x[0], &x[1]);
            for (op, first) in [
                (BinaryOp::Less, &min),
                (BinaryOp::LessEqual, &min),
                (BinaryOp::Greater, &max),
                (BinaryOp::GreaterEqual, &max),
            ] {
                let second = if *first == min { &max } else { &min };
                let condition = fold::binary(&mut terms, op, scalar, &x[0], &x[1]);
                assert_eq!(terms.select(&condition, &x[0], &x[1]), *first, "{op:?}");
                assert_eq!(terms.select(&condition, &x[1], &x[0]), *second, "{op:?}");
                let not = terms.not(&condition);
                assert_eq!(terms.select(&not, &x[1], &x[0]), *first, "not {op:?}");
            }
        }
        // One of two floats may be NaN.
        let condition = fold::binary(&mut terms, BinaryOp::Less, Scalar::Float, &x[0], &x[1]);
        let min = terms.combine(Operator::MinFloat, &x[0], &x[1]);
        assert_ne!(terms.select(&condition, &x[0], &x[1]), min);
    }

    #[test]
    fn constants_fold_and_cancel() {
        let (mut terms, x) = terms();
        let plus = terms.combine(Operator::Add, &x[0], &Value::Known(5));
        assert_eq!(
            terms.combine(Operator::Add, &plus, &Value::Known(5u32.wrapping_neg())),
            x[0]
        );
        assert_eq!(
            terms.combine(Operator::And, &x[0], &Value::Known(0)),
            Value::Known(0)
        );
    }
}
