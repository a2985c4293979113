//! In which order floats were added and multiplied.
//!
//! A form of a float sum does not say in which order its parts were added: so two kernels with equal forms are equal up
//! to rounding. They are equal bit for bit if each form was made in one way only: by induction it is then a function of
//! its parts, the same in both. A form of one part, or one that was there before, is none that was made: `1e8 + x - 1e8`
//! is `x` by its form, and not by its bits.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use shaderlint_hlsl::{BinaryOp, Intrinsic, Scalar, UnaryOp};

use crate::terms::operator::Operator;
use crate::terms::value::{Op, Value};
use crate::terms::{Term, Terms};

/// What combined some values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// One addition or multiplication.
    Pair,
    /// The addition of `mad`, which may be rounded together with its multiplication.
    Fused,
    /// A wave operation, in an order of its own.
    Wave(Intrinsic),
}

#[derive(Clone, Debug)]
struct Derivation {
    way: Way,
    operands: Rc<[Value]>,
}

/// How the float sums and products of a run, or of several, were made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Derivations {
    of: FxHashMap<Value, Derivation>,
    /// Made in several ways, or no longer what was made.
    several: FxHashSet<Value>,
    /// To which +0 was added: that makes another word of -0 only.
    zeros: FxHashSet<Value>,
}

/// A search for values whose bits hang on the order in which floats were combined.
pub(crate) struct Search<'t> {
    terms: &'t Terms,
    /// For additions of +0 alone, which show in the sign of a zero and nowhere else.
    by_sign: bool,
    seen: FxHashSet<Value>,
}

impl Terms {
    /// From here on it is noted how float sums and products are made.
    pub(crate) fn note_derivations(&mut self) {
        self.derivations = Some(Derivations::default());
    }

    /// `mad` of a product and a third number.
    pub(crate) fn fused(&mut self, product: &Value, addend: &Value) -> Value {
        let value = self.combined(Operator::FloatAdd, product, addend);
        self.note_pair(Operator::FloatAdd, Way::Fused, [product, addend], &value);
        value
    }

    /// Notes that `value` was made of a pair.
    pub(crate) fn note_pair(&mut self, operator: Operator, way: Way, [a, b]: [&Value; 2], value: &Value) {
        let Some(derivations) = &mut self.derivations else {
            return;
        };
        let constant = match (a, b) {
            (Value::Known(_), Value::Known(_)) => return,
            (Value::Known(word), other) | (other, Value::Known(word)) if other == value => Some(*word),
            _ => None,
        };
        if let Some(word) = constant {
            // x * 1 and x + -0 are x.
            if operator == Operator::FloatAdd && word == 0 {
                derivations.zeros.insert(value.clone());
            }
            return;
        }
        derivations.note(value, way, &[a.clone(), b.clone()]);
    }

    /// What a wave operation makes of its lanes' values.
    pub(crate) fn over_lanes(&mut self, operator: Operator, way: Way, values: &[Value]) -> Value {
        let known: Option<Vec<u32>> = values.iter().map(Value::known).collect();
        if let (Some(known), Way::Wave(intrinsic), false) = (known, way, operator.is_exact())
            && !is_exact_in_any_order(operator, &known)
        {
            let op = Op::Intrinsic {
                intrinsic,
                scalar: Scalar::Float,
                component: 0,
            };
            return self.apply(op, values);
        }
        let Some((first, others)) = values.split_first() else {
            return Value::Known(operator.identity());
        };
        let mut total = first.clone();
        for value in others {
            total = self.combined(operator, &total, value);
        }
        if let (Some(derivations), false, false) =
            (&mut self.derivations, operator.is_exact(), others.is_empty())
        {
            derivations.note(&total, way, values);
        }
        total
    }

    /// A search for what hangs on the order in which floats were combined, or on additions of +0; `None` if nothing does.
    pub(crate) fn reordered(&self, by_sign: bool) -> Option<Search<'_>> {
        let derivations = self.derivations.as_ref()?;
        let found = if by_sign {
            &derivations.zeros
        } else {
            &derivations.several
        };
        (!found.is_empty()).then(|| Search {
            terms: self,
            by_sign,
            seen: FxHashSet::default(),
        })
    }
}

impl Derivations {
    fn note(&mut self, value: &Value, way: Way, operands: &[Value]) {
        let is_form = match value {
            Value::Known(_) => return,
            Value::Run { start, end, .. } => end - start > 1,
            Value::Sum(_) => true,
        };
        if !is_form {
            self.several.insert(value.clone());
            return;
        }
        match self.of.get(value) {
            Some(known) if known.is(way, operands) => {}
            Some(_) => {
                self.several.insert(value.clone());
            }
            None => {
                let operands = operands.into();
                self.of.insert(value.clone(), Derivation { way, operands });
            }
        }
    }
}

impl Derivation {
    fn is(&self, way: Way, operands: &[Value]) -> bool {
        let swapped = || match (operands, &*self.operands) {
            ([a, b], [c, d]) => way == Way::Pair && (a, b) == (d, c),
            _ => false,
        };
        self.way == way && (*self.operands == *operands || swapped())
    }
}

impl Search<'_> {
    /// Whether the value is found, or made of one that is. Not again of what was looked at before.
    pub(crate) fn finds(&mut self, value: &Value) -> bool {
        let Some(derivations) = &self.terms.derivations else {
            return false;
        };
        let mut waiting = vec![value.clone()];
        while let Some(value) = waiting.pop() {
            if value.known().is_some() || !self.seen.insert(value.clone()) {
                continue;
            }
            let found = if self.by_sign {
                &derivations.zeros
            } else {
                &derivations.several
            };
            if found.contains(&value) {
                return true;
            }
            if let Some(derivation) = derivations.of.get(&value) {
                waiting.extend(derivation.operands.iter().cloned());
            }
            let atoms: Vec<u32> = value.atoms().collect();
            if let ([atom], Value::Run { .. }) = (atoms.as_slice(), &value) {
                if let Some(Term::Apply(op, arguments)) = self.terms.term(*atom)
                    && !(self.by_sign && forgets_signs_of_zeros(op))
                {
                    waiting.extend(arguments.iter().cloned());
                }
            } else {
                waiting.extend(atoms.into_iter().map(Value::atom));
            }
        }
        false
    }

    /// Whether the value hangs on one that is found by more than sums, products and other functions without jumps: by its
    /// bits, by a comparison, by a whole number that it was made into. There what is next to a number is no small
    /// difference.
    pub(crate) fn finds_beyond_a_jump(&mut self, value: &Value, smooth: &mut FxHashSet<Value>) -> bool {
        let terms = self.terms;
        let Some(derivations) = &terms.derivations else {
            return false;
        };
        let mut waiting = vec![value.clone()];
        while let Some(value) = waiting.pop() {
            if value.known().is_some() || !smooth.insert(value.clone()) {
                continue;
            }
            if let Some(derivation) = derivations.of.get(&value) {
                waiting.extend(derivation.operands.iter().cloned());
            }
            let (operator, atoms): (Operator, Vec<u32>) = match &value {
                Value::Known(_) => continue,
                Value::Run { operator, start, end } => (*operator, (*start..*end).collect()),
                Value::Sum(sum) => {
                    let atoms = sum.parts.iter().flat_map(|part| part.start..part.end);
                    (sum.operator, atoms.collect())
                }
            };
            if let (Value::Run { .. }, [atom]) = (&value, atoms.as_slice()) {
                let Some(Term::Apply(op, arguments)) = terms.term(*atom) else {
                    continue;
                };
                let jumping = match op {
                    Op::Select => 1,
                    op if is_smooth(op, arguments) => 0,
                    _ => arguments.len(),
                };
                let (jumping, others) = arguments.split_at(jumping.min(arguments.len()));
                if jumping.iter().any(|argument| self.finds(argument)) {
                    return true;
                }
                waiting.extend(others.iter().cloned());
                continue;
            }
            let mut atoms = atoms.into_iter().map(Value::atom);
            if operator.is_on(Scalar::Float) {
                waiting.extend(atoms);
            } else if atoms.any(|atom| self.finds(&atom)) {
                return true;
            }
        }
        false
    }
}

/// Whether an operation on floats makes of numbers next to each other such numbers again.
fn is_smooth(op: &Op, arguments: &[Value]) -> bool {
    const JUMPS: [&str; 13] = [
        "floor", "ceil", "trunc", "round", "frac", "step", "sign", "fmod", "modf", "isnan", "isinf",
        "isfinite", "f32tof16",
    ];
    match op {
        Op::Same => arguments.len() == 1,
        Op::Unary(UnaryOp::Negate, scalar) => scalar.is_float(),
        Op::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div, scalar) => {
            scalar.is_float()
        }
        Op::Cast { from, to } => from.is_float() && to.is_float(),
        Op::Intrinsic {
            intrinsic, scalar, ..
        } => scalar.is_float() && !JUMPS.contains(&intrinsic.name()),
        _ => false,
    }
}

/// Whether +0 and -0 are the same to it.
fn forgets_signs_of_zeros(op: &Op) -> bool {
    match op {
        Op::Binary(op, scalar) => {
            let compares = matches!(
                op,
                BinaryOp::Less
                    | BinaryOp::LessEqual
                    | BinaryOp::Greater
                    | BinaryOp::GreaterEqual
                    | BinaryOp::Equal
                    | BinaryOp::NotEqual
            );
            compares && scalar.is_float()
        }
        Op::Cast { from, to } => from.is_float() && !to.is_float(),
        _ => false,
    }
}

/// Whether floats are whole numbers so small that all their sums, or products, are.
fn is_exact_in_any_order(operator: Operator, words: &[u32]) -> bool {
    let mut most = f32::from_bits(operator.identity());
    words.iter().all(|word| {
        let value = f32::from_bits(*word);
        let size = if operator == Operator::FloatMul {
            value.abs().max(1.0)
        } else {
            value.abs()
        };
        most = f32::from_bits(operator.fold(most.to_bits(), size.to_bits()));
        value.fract() == 0.0 && most < 16_777_216.0
    })
}
