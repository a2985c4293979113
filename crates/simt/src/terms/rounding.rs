//! The order of float additions and multiplications, and what else changes the bits of a float.
//!
//! The form of a float sum does not record in which order its parts were added, so two kernels with equal forms
//! are equal up to rounding. They are equal bit for bit if each form was made in one way only: by induction, it
//! is then a function of its parts, the same in both. This does not cover a form with one part, or one that
//! existed before: `1e8 + x - 1e8` is `x` by its form, but not by its bits.
//!
//! No float operation keeps all bits of an operand: "denorms are flushed to sign-preserved zero on input and
//! output of any floating-point mathematical operation", and of a NaN "the exact bit pattern … is not required
//! to stay the same" (learn.microsoft.com, *Floating-point rules*). So `x * 1`, `x + 0` and a sum over one lane
//! are `x` by their form alone.
//!
//! "Min or max operations flush denorms for comparison, but the result may or may not be denorm flushed": which
//! of two zeros or denormals they pick is open too, and depends on the order. Comparisons and conversions to
//! whole numbers flush denormals themselves and treat both zeros as one. So the difference does not show behind
//! them, even through sums, products, minima and maxima, which map equal numbers to equal numbers. It does show
//! behind a division by such a value: `1 / -0` is less than `1 / +0`. It also shows where code looks at the
//! bits.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use shaderlint_hlsl::{BinaryOp, Intrinsic, Scalar, UnaryOp};

use crate::terms::operator::Operator;
use crate::terms::value::{Op, Value};
use crate::terms::{Symbol, Term, Terms, fold};

/// How some values were combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// One addition or multiplication.
    Pair,
    /// The addition of `mad`, which may be rounded together with its multiplication.
    Fused,
    /// A wave operation, in an order that the device chooses.
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
    /// Values that were made in several ways, or that combine operands and yet have a form of one part.
    several: FxHashSet<Value>,
    /// Results of an operation that keeps the number: it may turn a denormal into a zero, a zero into one of
    /// the other sign, and a NaN into another one.
    flushed: FxHashSet<Value>,
    /// Minima and maxima that were made in several ways, or from one value.
    picked: FxHashSet<Value>,
    /// Values that an operation on whole words dropped because their forms are equal
    /// ([`Terms::note_left_out`]).
    left_out: RefCell<FxHashSet<Value>>,
}

/// Why two values of one form may differ in their bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The sums and products may have another order.
    Order,
    /// An operation that keeps the number may change its bits.
    Flush,
    /// Minima and maxima may have picked another of the operands that compare as equal.
    Pick,
}

impl Doubt {
    pub(crate) const ALL: [Doubt; 3] = [Doubt::Order, Doubt::Flush, Doubt::Pick];

    /// Why nothing is proved where this doubt shows.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Doubt::Order => {
                "the order of float operations may change not only a float's value but also, for example, an index or a condition"
            }
            Doubt::Flush => {
                "one kernel may add 0 to a float, or multiply it by 1, where the other does not; this flushes denormals, \
                 which may change not only a float's value but also, for example, an index or a condition"
            }
            Doubt::Pick => {
                "`min` or `max` may return the other of two equal floats, which may change not only a float's \
                 value but also, for example, an index or a condition"
            }
        }
    }

    /// What D3D leaves open here, so that two devices may produce other bits for one kernel.
    #[must_use]
    pub fn left_open(self) -> Option<&'static str> {
        match self {
            Doubt::Order => None,
            Doubt::Flush => {
                Some("D3D does not specify the bits of a float after adding 0 or multiplying by 1")
            }
            Doubt::Pick => Some("D3D does not specify which of two equal floats `min` or `max` returns"),
        }
    }

    /// Whether float operations treat all differing values as one number.
    fn is_of_one_number(self) -> bool {
        self != Doubt::Order
    }
}

/// A search for values whose bits are in this doubt.
pub(crate) struct Search<'t> {
    terms: &'t Terms,
    doubt: Doubt,
    /// Resources that store such values: a load from them may return one.
    through: BTreeSet<Symbol>,
    /// The values already searched, each with what was asked of it.
    seen: FxHashSet<(Value, Looks)>,
}

/// What a use depends on in a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Looks {
    AtBits,
    /// The number alone: both zeros are one number, and so are all denormals.
    AtNumber,
}

impl Terms {
    /// Starts to record how float sums and products are made.
    pub(crate) fn note_derivations(&mut self) {
        self.derivations = Some(Derivations::default());
    }

    /// The addition of `mad`, to the product that it has computed.
    pub(crate) fn fused(&mut self, product: &Value, addend: &Value) -> Value {
        self.combined_floats(Operator::FloatAdd, Way::Fused, [product, addend])
    }

    /// Combines two floats by an operator on floats.
    ///
    /// `x + 0` has the form of `x` but not always its bits; this is noted for `x`. If `x` is an integer form,
    /// another sum would take in its parts and lose the note, so the addition stays a term.
    pub(crate) fn combined_floats(&mut self, operator: Operator, way: Way, [a, b]: [&Value; 2]) -> Value {
        let value = self.combined(operator, a, b);
        let is_left = value == *a || value == *b;
        if is_left
            && value.is_form_of_words()
            && self.derivations.is_some()
            && let Some(op) = fold::on_floats(operator)
        {
            let other = if value == *a { b } else { a };
            return self.apply(op, &[value, other.clone()]);
        }
        self.note_pair(operator, way, [a, b], &value);
        value
    }

    /// Notes that `value` combines a pair.
    pub(crate) fn note_pair(&mut self, operator: Operator, way: Way, [a, b]: [&Value; 2], value: &Value) {
        // A float converted from a whole number is neither a denormal, nor -0, nor a NaN.
        let is_whole = matches!(
            self.single(value),
            Some(Term::Apply(Op::Cast { from, to }, _)) if to.is_float() && !from.is_float()
        );
        let Some(derivations) = &mut self.derivations else {
            return;
        };
        if value.known().is_some() {
            return;
        }
        // x * 1 and x + 0 are x by their form, and so is the minimum of x and x.
        if a == value || b == value {
            if !is_whole {
                derivations.one_of(operator).insert(value.clone());
            }
            return;
        }
        derivations.note(operator, value, way, &[a.clone(), b.clone()]);
    }

    /// Notes that an operation treated a value as equal to another one of its form and dropped one or both: a
    /// comparison, a sum in which they cancel, or a condition within the same condition. If the value is in
    /// doubt, their bits may differ, although what remains does not show it.
    pub(crate) fn note_left_out(&self, value: &Value) {
        if let Some(derivations) = self.derivations.as_ref().filter(|_| value.known().is_none()) {
            derivations.left_out.borrow_mut().insert(value.clone());
        }
    }

    /// The values that were dropped this way.
    pub(crate) fn left_out(&self) -> Vec<Value> {
        let left_out = |derivations: &Derivations| derivations.left_out.borrow().iter().cloned().collect();
        self.derivations.as_ref().map_or_else(Vec::new, left_out)
    }

    /// The result of a wave operation on its lanes' values.
    pub(crate) fn over_lanes(&mut self, operator: Operator, way: Way, values: &[Value]) -> Value {
        let known: Option<Vec<u32>> = values.iter().map(Value::known).collect();
        let is_inexact = |known: &Vec<u32>| !operator.is_exact() && !is_exact_in_any_order(operator, known);
        // As in [`Terms::combined_floats`].
        let is_word = || matches!(values, [value] if value.is_form_of_words()) && operator.is_on_floats();
        let is_left = self.derivations.is_some() && is_word();
        if let Way::Wave(intrinsic) = way
            && (is_left || known.as_ref().is_some_and(is_inexact))
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
        if let Some(derivations) = self.derivations.as_mut().filter(|_| operator.is_on_floats()) {
            if others.is_empty() {
                derivations.one_of(operator).insert(total.clone());
            } else {
                derivations.note(operator, &total, way, values);
            }
        }
        total
    }

    /// Whether an operation made this value from one number and may have changed its bits.
    pub(crate) fn may_have_other_bits(&self, value: &Value) -> bool {
        let doubts = || Doubt::ALL.into_iter().filter(|doubt| doubt.is_of_one_number());
        let derivations = self.derivations.as_ref();
        derivations
            .is_some_and(|derivations| doubts().any(|doubt| derivations.of_doubt(doubt).contains(value)))
    }

    /// A search for values in this doubt; `None` if there are none.
    pub(crate) fn doubted(&self, doubt: Doubt) -> Option<Search<'_>> {
        let found = self.derivations.as_ref()?.of_doubt(doubt);
        (!found.is_empty()).then(|| Search {
            terms: self,
            doubt,
            through: BTreeSet::new(),
            seen: FxHashSet::default(),
        })
    }
}

impl Derivations {
    fn of_doubt(&self, doubt: Doubt) -> &FxHashSet<Value> {
        match doubt {
            Doubt::Order => &self.several,
            Doubt::Flush => &self.flushed,
            Doubt::Pick => &self.picked,
        }
    }

    /// The values that the operator makes from one value.
    fn one_of(&mut self, operator: Operator) -> &mut FxHashSet<Value> {
        if operator.is_extremum() {
            &mut self.picked
        } else {
            &mut self.flushed
        }
    }

    /// The values that the operator makes from several values in several ways.
    fn several_of(&mut self, operator: Operator) -> &mut FxHashSet<Value> {
        if operator.is_extremum() {
            &mut self.picked
        } else {
            &mut self.several
        }
    }

    fn note(&mut self, operator: Operator, value: &Value, way: Way, operands: &[Value]) {
        let is_form = match value {
            Value::Known(_) => return,
            Value::Run { start, end, .. } => end - start > 1,
            Value::Sum(_) => true,
        };
        if !is_form {
            self.several_of(operator).insert(value.clone());
            return;
        }
        match self.of.get(value) {
            Some(known) if known.is(operator, way, operands) => {}
            Some(_) => {
                self.several_of(operator).insert(value.clone());
            }
            None => {
                let operands = operands.into();
                self.of.insert(value.clone(), Derivation { way, operands });
            }
        }
    }
}

impl Derivation {
    /// A sum or a product of two is the same in either order. An extremum is not: if two floats compare equal,
    /// `min(a, b)` may return either.
    fn is(&self, operator: Operator, way: Way, operands: &[Value]) -> bool {
        let swapped = || match (operands, &*self.operands) {
            ([a, b], [c, d]) => way == Way::Pair && !operator.is_extremum() && (a, b) == (d, c),
            _ => false,
        };
        self.way == way && (*self.operands == *operands || swapped())
    }
}

impl Search<'_> {
    /// The same search, which also finds what is loaded from these resources.
    pub(crate) fn through(self, resources: BTreeSet<Symbol>) -> Self {
        Search {
            through: resources,
            seen: FxHashSet::default(),
            ..self
        }
    }

    /// Whether the search finds the value or one that it is made from. A repeated call skips values already
    /// searched.
    pub(crate) fn finds(&mut self, value: &Value) -> bool {
        self.finds_at(value, Looks::AtBits)
    }

    fn finds_at(&mut self, value: &Value, looks: Looks) -> bool {
        let Some(derivations) = &self.terms.derivations else {
            return false;
        };
        let mut waiting = vec![(value.clone(), looks)];
        while let Some((value, looks)) = waiting.pop() {
            if value.known().is_some() || !self.seen.insert((value.clone(), looks)) {
                continue;
            }
            if looks == Looks::AtBits && derivations.of_doubt(self.doubt).contains(&value) {
                return true;
            }
            if let Some(derivation) = derivations.of.get(&value) {
                waiting.extend(derivation.operands.iter().map(|operand| (operand.clone(), looks)));
            }
            let atoms: Vec<u32> = value.atoms().collect();
            if let ([atom], Value::Run { .. }) = (atoms.as_slice(), &value) {
                let Some(Term::Apply(op, arguments)) = self.terms.term(*atom) else {
                    continue;
                };
                if looks == Looks::AtBits
                    && matches!(op, Op::VolatileLoad { resource, .. } if self.through.contains(resource))
                {
                    return true;
                }
                let is_numerator = |at: usize| at == 0 && matches!(op, Op::Binary(BinaryOp::Div, _));
                let of_number = |at: usize| {
                    let keeps = || keeps_numbers(op) || is_numerator(at);
                    compares_numbers(op) || looks == Looks::AtNumber && keeps()
                };
                let is_one = self.doubt.is_of_one_number();
                waiting.extend(arguments.iter().enumerate().map(|(at, argument)| {
                    let looks = if is_one && of_number(at) {
                        Looks::AtNumber
                    } else {
                        Looks::AtBits
                    };
                    (argument.clone(), looks)
                }));
            } else {
                let is_of_floats = match &value {
                    Value::Known(_) => true,
                    Value::Run { operator, .. } => operator.is_on_floats(),
                    Value::Sum(sum) => sum.operator.is_on_floats(),
                };
                let looks = if is_of_floats { looks } else { Looks::AtBits };
                waiting.extend(atoms.into_iter().map(|atom| (Value::atom(atom), looks)));
            }
        }
        false
    }

    /// Whether the value depends on a doubted one through a jump: through its bits, a comparison, or a
    /// conversion to a whole number, rather than only through sums, products and other functions without jumps.
    /// After a jump, nearby numbers may differ by much.
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
                let (jumping, looks) = match op {
                    Op::Select => (1, Looks::AtBits),
                    op if is_smooth(op, arguments) => (0, Looks::AtBits),
                    op if self.doubt.is_of_one_number() && is_on_numbers(op) => {
                        (arguments.len(), Looks::AtNumber)
                    }
                    _ => (arguments.len(), Looks::AtBits),
                };
                let (jumping, others) = arguments.split_at(jumping.min(arguments.len()));
                if jumping.iter().any(|argument| self.finds_at(argument, looks)) {
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

/// Whether an operation on floats maps nearby numbers to nearby numbers.
pub(crate) fn is_smooth(op: &Op, arguments: &[Value]) -> bool {
    const JUMPS: [&str; 17] = [
        "floor",
        "ceil",
        "trunc",
        "round",
        "frac",
        "step",
        "sign",
        "fmod",
        "modf",
        "isnan",
        "isinf",
        "isfinite",
        "f32tof16",
        "faceforward",
        "lit",
        "refract",
        "atan2",
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

/// Whether the operation maps floats to a float and treats denormals and zeros of either sign as one number.
fn is_on_numbers(op: &Op) -> bool {
    const OTHERS: [&str; 4] = ["f32tof16", "rcp", "rsqrt", "atan2"];
    match op {
        Op::Intrinsic {
            intrinsic, scalar, ..
        } => scalar.is_float() && !OTHERS.contains(&intrinsic.name()),
        _ => false,
    }
}

/// Whether the operation maps equal floats to equal floats: zeros of either sign, and denormals, give the
/// result for zero, or zero.
fn keeps_numbers(op: &Op) -> bool {
    match op {
        Op::Same | Op::Select => true,
        Op::Unary(UnaryOp::Negate, scalar) => scalar.is_float(),
        Op::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, scalar) => scalar.is_float(),
        Op::Cast { from, to } => from.is_float() && to.is_float(),
        op => is_on_numbers(op),
    }
}

/// Whether +0, -0 and denormals are one number to the operation, and all NaNs are one NaN.
fn compares_numbers(op: &Op) -> bool {
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

/// Whether the floats are whole numbers so small that all their sums, or products, are exact.
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
