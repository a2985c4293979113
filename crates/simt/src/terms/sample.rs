//! Evaluation of terms, on random or given inputs.

use rustc_hash::{FxHashMap, FxHashSet};
use shaderlint_hlsl::{BinaryOp, Global, GlobalId, Scalar, Shader, Type};

use crate::terms::known_floats::{is_arithmetic, keeps_bits, normal};
use crate::terms::operator::Operator;
use crate::terms::rounding::is_smooth;
use crate::terms::value::{Op, Part, Value};
use crate::terms::{Input, Term, Terms, Words, fingerprint, fold};

/// The word of a resource or uniform, by name, indices and component.
pub type Given<'g> = dyn Fn(&str, &[u32], u32) -> u32 + 'g;

/// The number of atoms that one sample looks at. A longer value counts as unknown.
const MAX_VISITS: usize = 1 << 14;

/// The number of random inputs to try for a condition. Some should meet it.
const TRIES: u64 = 24;

/// A kernel's inputs: random, except for the given ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Inputs {
    pub seed: u64,
    /// Atoms with a given word.
    pub given: Vec<(u32, u32)>,
}

/// Random values for the atoms. Seed 0 is the first group with unremarkable inputs.
pub(crate) struct Sample<'t> {
    pub terms: &'t Terms,
    seed: u64,
    depth: u32,
    known: FxHashMap<u32, u32>,
    /// The number of atoms looked at, with repetitions.
    visits: usize,
    /// After this many visits, the value is guessed.
    limit: usize,
    /// The sample had to use a stand-in for a value that it cannot compute.
    pub guessed: bool,
    /// Atoms whose word is a stand-in.
    stand_ins: FxHashSet<u32>,
    /// With given inputs, or if it rounds: the largest error of the evaluated float relative to the kernel's, in units of 2⁻²⁴.
    /// The kernel rounds a sum or product in one order, which the term does not record. 0 if every order gives
    /// the same result.
    pub error: f64,
    /// The errors of atoms, where they are not 0.
    errors: FxHashMap<u32, f64>,
    /// Values that are not guessed are what kernels compute on possible inputs: every float that is read is a
    /// small whole number.
    strict: bool,
    /// A float that kernels may round differently is no guess, but has an error.
    rounds: bool,
    /// Unknown values, such as those of an arbitrary loop iteration, are less than 64.
    pub has_few_iterations: bool,
    /// Small inputs are as likely as large ones.
    pub has_all_magnitudes: bool,
    /// The words of the kernel's inputs, unless they are random.
    pub given: Option<&'t Given<'t>>,
    /// The group to evaluate, if inputs are given or unremarkable.
    pub group: [u32; 3],
}

impl Terms {
    /// Whether some possible inputs make two values differ. Different terms may still be equal values, such as
    /// `(64 * group + thread) / 64` for two threads.
    ///
    /// With `surely`, only values that can be computed from inputs count. Without it, an unknown value is an
    /// input too. A condition restricts the inputs to those for which it holds. The atoms in `given` have the
    /// given words.
    pub(crate) fn seen_to_differ(
        &self,
        a: &Value,
        b: &Value,
        surely: bool,
        condition: Option<&Value>,
        given: &[(u32, u32)],
    ) -> bool {
        self.seed_of_difference([a, b], surely, condition, given)
            .is_some()
    }

    /// The seed of inputs for which two values differ, as in [`Terms::seen_to_differ`].
    pub(crate) fn seed_of_difference(
        &self,
        [a, b]: [&Value; 2],
        surely: bool,
        condition: Option<&Value>,
        given: &[(u32, u32)],
    ) -> Option<u64> {
        if surely && (self.is_opaque(a) || self.is_opaque(b)) {
            return None;
        }
        let tries = if condition.is_some() { TRIES } else { 4 };
        for mut sample in self.possible_samples(tries, given) {
            if condition.is_some_and(|condition| !sample.holds(condition)) {
                self.note_work(sample.visits);
                continue;
            }
            sample.rounds = surely;
            let (a, b) = (sample.value(a), sample.value(b));
            // A term may be as long as the run that made it.
            self.note_work(sample.visits);
            if sample.visits >= sample.limit {
                return None;
            }
            let differ = if sample.error > 0.0 {
                are_far_apart(a, b)
            } else {
                a != b
            };
            if differ && !(surely && sample.guessed) {
                return Some(sample.seed);
            }
        }
        None
    }

    /// Records which of these globals cannot hold arbitrary words, or are bounded.
    pub(crate) fn note_inputs(&mut self, shader: &Shader, named: &[GlobalId]) {
        let inputs = shader.once(OfGlobals::of);
        for id in named.iter().map(|id| id.0 as usize) {
            if let (Some(global), Some(Some(input))) = (shader.globals.get(id), inputs.0.get(id)) {
                let name = self.symbol(&global.name);
                self.inputs.insert(name, *input);
            }
        }
    }

    /// Whether the condition holds for some sampled inputs, with some atoms given.
    pub(crate) fn seen_to_hold(&self, condition: &Value, given: &[(u32, u32)]) -> bool {
        self.seed_that_holds(condition, given).is_some()
    }

    /// The seed of these inputs.
    pub(crate) fn seed_that_holds(&self, condition: &Value, given: &[(u32, u32)]) -> Option<u64> {
        let mut samples = self.possible_samples(TRIES, given);
        samples.find_map(|mut sample| {
            let holds = sample.holds(condition);
            self.note_work(sample.visits);
            holds.then_some(sample.seed)
        })
    }

    /// The value if all data that the kernel reads is 0; `None` if it depends on more than that.
    pub(crate) fn word_of_zeros(&self, value: &Value) -> Option<u32> {
        let zeros = |_: &str, _: &[u32], _: u32| 0;
        let mut sample = Sample::new(self, 0);
        sample.given = Some(&zeros);
        sample.limit = MAX_VISITS;
        let word = sample.value(value);
        self.note_work(sample.visits);
        (!sample.guessed).then_some(word)
    }

    /// The words that a value takes on sampled inputs for which the condition holds, each with its seed. Skips
    /// inputs where either is unknown.
    pub(crate) fn words_where(&self, value: &Value, condition: &Value) -> Vec<(u32, u64)> {
        if self.is_opaque(value) || self.is_opaque(condition) {
            return Vec::new();
        }
        let samples = self.possible_samples(TRIES, &[]);
        let words = samples.filter_map(|mut sample| {
            let (holds, word) = (sample.value(condition) != 0, sample.value(value));
            self.note_work(sample.visits);
            (holds && !sample.guessed).then_some((word, sample.seed))
        });
        words.collect()
    }

    /// The value in the first group with some atoms given; `None` if they do not determine it.
    pub(crate) fn value_given(&self, value: &Value, given: &[(u32, u32)]) -> Option<u32> {
        let mut sample = Sample::possible(self, 0, given);
        let word = sample.value(value);
        (!sample.guessed).then_some(word)
    }

    /// Samples of possible inputs. Each is limited to [`MAX_VISITS`], as such questions are frequent.
    fn possible_samples(&self, tries: u64, given: &[(u32, u32)]) -> impl Iterator<Item = Sample<'_>> {
        (1..=tries).map(|seed| {
            let mut sample = Sample::possible(self, seed, given);
            sample.limit = MAX_VISITS;
            sample
        })
    }
}

impl<'t> Sample<'t> {
    pub(crate) fn new(terms: &'t Terms, seed: u64) -> Sample<'t> {
        Sample {
            terms,
            seed,
            guessed: false,
            stand_ins: FxHashSet::default(),
            error: 0.0,
            errors: FxHashMap::default(),
            strict: false,
            rounds: false,
            has_few_iterations: false,
            has_all_magnitudes: false,
            given: None,
            group: [0; 3],
            depth: 0,
            known: FxHashMap::default(),
            visits: 0,
            limit: usize::MAX,
        }
    }

    /// A sample of possible inputs, with some atoms given.
    pub(crate) fn possible(terms: &'t Terms, seed: u64, given: &[(u32, u32)]) -> Sample<'t> {
        let mut sample = Sample::new(terms, seed);
        sample.strict = true;
        sample.known.extend(given.iter().copied());
        sample
    }

    /// Whether a condition holds for certain.
    fn holds(&mut self, condition: &Value) -> bool {
        !self.terms.is_opaque(condition) && self.value(condition) != 0 && !self.guessed
    }

    pub(crate) fn value(&mut self, value: &Value) -> u32 {
        let word = self.of_form(value);
        // The operation that made the value from one number may have flushed it, or turned -0 into +0.
        let is_odd = !keeps_bits(word) || word == (-0.0f32).to_bits();
        self.guessed |= self.is_computed() && is_odd && self.terms.may_have_other_bits(value);
        word
    }

    /// Whether a word that is not guessed must be what kernels compute.
    fn is_computed(&self) -> bool {
        self.strict || self.given.is_some()
    }

    fn has_errors(&self) -> bool {
        self.rounds || self.given.is_some()
    }

    fn of_form(&mut self, value: &Value) -> u32 {
        let fold = |sample: &mut Self, operator: Operator, constant: u32, parts: &[Part]| {
            let mut total = constant;
            let mut exactness = Exactness::of(operator);
            exactness.add(constant, 1);
            let mut errors = Errors::default();
            let mut zeros = Zeros::default();
            zeros.add(constant);
            // A sum of only -0.0 is -0.0, or +0.0 if it includes +0.0; the normal form does not record which.
            let mut is_sign_known = operator != Operator::FloatAdd || constant != operator.identity();
            for part in parts {
                if sample.visits >= sample.limit {
                    break;
                }
                for atom in part.start..part.end {
                    let before = std::mem::take(&mut sample.error);
                    let word = sample.atom(atom);
                    errors.add(word, part.factor, std::mem::replace(&mut sample.error, before));
                    exactness.add(word, part.factor);
                    zeros.add(word);
                    is_sign_known |= word != (-0.0f32).to_bits();
                    // Small whole numbers: their float sums are exact in any order.
                    let word = if operator.is_exact() || sample.is_computed() {
                        word
                    } else {
                        ((word % 64) as f32).to_bits()
                    };
                    match operator {
                        Operator::Add => total = total.wrapping_add(word.wrapping_mul(part.factor)),
                        _ => {
                            for _ in 0..part.factor.min(MAX_FACTOR) {
                                total = operator.fold(total, word);
                            }
                        }
                    }
                }
            }
            if sample.has_errors() {
                let error = exactness.error(operator, f32::from_bits(total), &errors);
                sample.guessed |= error.is_none();
                sample.error = sample.error.max(error.unwrap_or_default());
            }
            sample.guessed |= operator.is_on_floats() && operator.is_extremum() && zeros.are_open(total);
            sample.guessed |= !is_sign_known || sample.strict && !sample.rounds && !exactness.holds();
            total
        };
        match value {
            Value::Known(word) => *word,
            Value::Run { operator, start, end } => {
                if end - start == 1 {
                    return self.atom(*start);
                }
                fold(
                    self,
                    *operator,
                    operator.identity(),
                    &[Part {
                        start: *start,
                        end: *end,
                        factor: 1,
                    }],
                )
            }
            Value::Sum(sum) => fold(self, sum.operator, sum.constant, &sum.parts),
        }
    }

    fn atom(&mut self, atom: u32) -> u32 {
        if self.visits >= self.limit {
            self.guessed = true;
            return 0;
        }
        self.visits += 1;
        if let Some(word) = self.known.get(&atom) {
            self.guessed |= self.stand_ins.contains(&atom);
            self.error = self
                .error
                .max(self.errors.get(&atom).copied().unwrap_or_default());
            return *word;
        }
        let guessed = std::mem::take(&mut self.guessed);
        let error = std::mem::take(&mut self.error);
        let word = self.evaluate(atom);
        self.known.insert(atom, word);
        if self.guessed {
            self.stand_ins.insert(atom);
        }
        if self.error > 0.0 {
            self.errors.insert(atom, self.error);
        }
        self.guessed |= guessed;
        self.error = self.error.max(error);
        word
    }

    fn evaluate(&mut self, atom: u32) -> u32 {
        let mut hash = self.hash();
        let Some(Term::Apply(op, arguments)) = self.terms.term(atom) else {
            self.guessed |= self.is_computed();
            hash.0 ^= u64::from(atom) << 32;
            let word = (hash.next() >> 32) as u32;
            return if self.has_few_iterations { word % 64 } else { word };
        };
        if let Op::GroupId(axis) = op {
            return self.group_word(*axis);
        }
        if let Op::AtomicResult { .. } | Op::UnknownByThread { .. } | Op::Mark { .. } = op
            && let [Value::Known(thread), ..] = arguments
        {
            // Each thread gets another number: here, in the order of the threads.
            self.guessed = true;
            hash.0 ^= fingerprint(op);
            return (hash.next() >> 32) as u32 % 16 + thread;
        }
        if self.depth > 200 {
            self.guessed = true;
            return 0;
        }
        self.depth += 1;
        // An operand that is not chosen does not matter: it may be guessed, or read out of range.
        let chosen = match (op, arguments) {
            (Op::Select, [condition, a, b]) => {
                let is_first = self.value(condition) != 0;
                Some(self.value(if is_first { a } else { b }))
            }
            (Op::Binary(BinaryOp::LogicalAnd, _), [a, b]) => Some(self.both_or_either(a, b, false)),
            (Op::Binary(BinaryOp::LogicalOr, _), [a, b]) => Some(self.both_or_either(a, b, true)),
            _ => None,
        };
        if let Some(chosen) = chosen {
            self.depth -= 1;
            return chosen;
        }
        let mut words: Vec<u32> = arguments.iter().map(|argument| self.value(argument)).collect();
        self.depth -= 1;
        // An operation may map nearby floats to floats that are far apart.
        if self.error > 0.0 {
            let may_cancel = matches!(op, Op::Binary(BinaryOp::Add | BinaryOp::Sub, _));
            // An intrinsic may multiply an error by more than 2, as `exp` does.
            let may_grow = self.rounds && matches!(op, Op::Intrinsic { .. });
            self.guessed |= may_cancel || may_grow || !is_smooth(op, arguments);
            self.error = 2.0 * self.error + 1.0;
        }
        // An operation on known floats whose result is not the same for every compiler depends on the order of
        // rounding.
        let is_arithmetic = matches!(op, Op::Binary(op, scalar) if scalar.is_float() && is_arithmetic(*op));
        let is_of_known = || {
            arguments
                .iter()
                .all(|argument| self.terms.known_float(argument).is_some())
        };
        self.guessed |=
            is_arithmetic && is_of_known() && self.terms.known_float(&Value::atom(atom)).is_none();
        // A compiler may drop an addition of 0.
        let is_sum = matches!(op, Op::Binary(BinaryOp::Add, scalar) if scalar.is_float());
        self.guessed |= is_sum && words.contains(&(-0.0f32).to_bits());
        if let Some(word) = computed(op, &words) {
            return word;
        }
        if let Some(quotient) = self.quotient(op, &words) {
            return quotient;
        }
        let mut op = *op;
        // A component of an element, at a known or unknown index.
        if let Op::Load { component, .. } | Op::Uniform { component, .. } = &mut op
            && arguments.last().is_some_and(|last| self.terms.is_offset(last))
        {
            *component = component.wrapping_add(words.pop().unwrap_or_default());
        }
        if let (
            Some(given),
            Op::Load {
                resource: name,
                component,
            }
            | Op::Uniform { name, component },
        ) = (self.given, op)
        {
            return given(self.terms.name(name), &words, component);
        }
        self.input(op, words)
    }

    /// A quotient of floats that kernels may round differently.
    fn quotient(&mut self, op: &Op, words: &[u32]) -> Option<u32> {
        let (Op::Binary(BinaryOp::Div, Scalar::Float), true, [x, y]) = (op, self.rounds, words) else {
            return None;
        };
        let operands = [*x, *y].map(f32::from_bits);
        let [x, y] = operands;
        let is_usual = operands
            .iter()
            .all(|operand| operand.is_normal() || *operand == 0.0);
        let word = normal(x / y).filter(|_| is_usual)?;
        self.error += QUOTIENT_ERROR;
        self.guessed |= self.error > MAX_ERROR;
        Some(word)
    }

    /// An input, or an operation that is not evaluated: some function of its arguments.
    fn input(&mut self, mut op: Op, mut words: Vec<u32>) -> u32 {
        let mut hash = self.hash();
        // Each read of something that was never written may return any word.
        let is_input = match op {
            Op::Load { .. } | Op::Uniform { .. } | Op::VolatileLoad { .. } => true,
            Op::Uninitialised { .. } => !self.strict,
            _ => false,
        };
        self.guessed |= self.given.is_some() || !is_input;
        let input = match op {
            Op::Load { resource: name, .. }
            | Op::VolatileLoad { resource: name, .. }
            | Op::Uniform { name, .. } => self.terms.inputs.get(&name).copied(),
            _ => None,
        };
        let of_words = input.map_or(Words::Any, |input| input.words);
        self.guessed |= of_words == Words::Narrow || input.is_some_and(|input| input.is_beyond(&words));
        match (of_words, &mut op, words.as_mut_slice()) {
            (Words::Bytes, Op::Load { component, .. }, [address]) => {
                // One word, whichever load contains it.
                *address = address.wrapping_add(4 * std::mem::take(component));
            }
            // A load of something other than a word, or from one of several buffers.
            (Words::Bytes, Op::Load { .. }, _) => self.guessed = true,
            _ => {}
        }
        hash.0 ^= fingerprint(&op);
        for word in words {
            hash.0 = hash.next() ^ u64::from(word);
        }
        let mut word = (hash.next() >> 32) as u32;
        if self.has_all_magnitudes && is_input {
            word >>= hash.next() >> 59;
        }
        if self.strict && of_words == Words::Floats {
            return ((word % 63) as f32 - 31.0).to_bits();
        }
        word
    }

    /// `a || b` if `is_either`, else `a && b`. If one operand alone decides the result, the other may be
    /// guessed.
    fn both_or_either(&mut self, a: &Value, b: &Value, is_either: bool) -> u32 {
        let before = std::mem::take(&mut self.guessed);
        let [a, b] = [a, b].map(|value| {
            let word = self.value(value);
            (word, std::mem::take(&mut self.guessed))
        });
        let decides = |(word, is_guessed): (u32, bool)| !is_guessed && (word != 0) == is_either;
        self.guessed = before || !decides(a) && !decides(b) && (a.1 || b.1);
        match (a.0, is_either) {
            (0, true) | (1.., false) => b.0,
            (word, _) => word,
        }
    }

    /// A component of the evaluated group's number.
    pub fn group_word(&self, axis: u8) -> u32 {
        if self.seed <= 1 {
            return self.group.get(usize::from(axis)).copied().unwrap_or(0);
        }
        // Few groups, as in practice: adding this number wraps in no working kernel.
        let mut hash = self.hash();
        hash.0 ^= fingerprint(&Op::GroupId(axis));
        (hash.next() >> 32) as u32 % 1000
    }

    fn hash(&self) -> SplitMix {
        SplitMix(self.seed.wrapping_mul(0x9E37_79B9).wrapping_add(0x5BD1))
    }
}

/// Whether a float sum or product is exact in every order.
///
/// A sum is exact if all parts are multiples of one power of two, and their magnitudes add up to less than 2²⁴
/// times that power. A product is exact if all factors together have at most 24 significant bits. Both require
/// that no number comes near the ends of the range, where it would be denormal or infinite.
enum Exactness {
    /// Exact for all operands.
    Always,
    Sum {
        lowest: i32,
        magnitude: f64,
    },
    Product {
        bits: u32,
        exponents: i64,
    },
    Lost,
}

/// Exponents of floats far from both ends of the range.
const EXPONENTS: std::ops::RangeInclusive<i64> = -100..=100;

/// A division has one ulp of error, and two roundings if the compiler multiplies by the reciprocal instead.
const QUOTIENT_ERROR: f64 = 4.0;

/// A float with a larger error, in units of 2⁻²⁴, may be anything.
const MAX_ERROR: f64 = 256.0;

/// Whether two floats with errors certainly differ. An error of [`MAX_ERROR`] is 2⁻¹⁶ of the float, and 2⁻⁹ if it is
/// that of a thousand summands whose rounding errors all have one sign.
fn are_far_apart(a: u32, b: u32) -> bool {
    let (a, b) = (f32::from_bits(a), f32::from_bits(b));
    (a - b).abs() > a.abs().max(b.abs()) / 128.0
}

/// The maximum number of times that one part may occur in a sum or product of floats.
const MAX_FACTOR: u32 = 4;

impl Exactness {
    fn of(operator: Operator) -> Exactness {
        match operator {
            Operator::FloatAdd => Exactness::Sum {
                lowest: i32::MAX,
                magnitude: 0.0,
            },
            Operator::FloatMul => Exactness::Product {
                bits: 0,
                exponents: 0,
            },
            _ => Exactness::Always,
        }
    }

    fn add(&mut self, word: u32, times: u32) {
        let value = f32::from_bits(word);
        let (fraction, exponent) = (word & 0x007F_FFFF, i64::from(word >> 23 & 0xFF) - 127);
        let is_usual = value == 0.0 || value.is_normal() && EXPONENTS.contains(&exponent);
        let below = fraction.trailing_zeros().min(23);
        *self = match *self {
            Exactness::Always => Exactness::Always,
            _ if !is_usual || times > MAX_FACTOR => Exactness::Lost,
            Exactness::Sum { lowest, magnitude } if value != 0.0 => Exactness::Sum {
                lowest: lowest.min(exponent as i32 - 23 + below.cast_signed()),
                magnitude: magnitude + f64::from(value.abs()) * f64::from(times),
            },
            Exactness::Product { bits, exponents } if value != 0.0 => Exactness::Product {
                bits: bits + (24 - below) * times,
                exponents: exponents + exponent.abs() * i64::from(times),
            },
            Exactness::Lost => Exactness::Lost,
            Exactness::Sum { lowest, magnitude } => Exactness::Sum { lowest, magnitude },
            Exactness::Product { bits, exponents } => Exactness::Product { bits, exponents },
        };
    }

    /// The largest error of this total, as in [`Sample::error`]. `None` if the kernel's value may be anything:
    /// if one order flushes or overflows and another does not, if inexact numbers cancel, or if a whole number
    /// is made from such bits.
    ///
    /// In a sum, rounding errors cancel as often as not, so a sum of n parts counts as log₂ n roundings.
    fn error(&self, operator: Operator, total: f32, of_parts: &Errors) -> Option<f64> {
        let error = match *self {
            Exactness::Lost => return None,
            _ if of_parts.most == 0.0 && self.holds() => 0.0,
            Exactness::Always if operator.is_on_floats() => of_parts.most,
            Exactness::Always => return None,
            Exactness::Sum { magnitude, .. } => {
                let steps = f64::from(of_parts.count + 1).log2();
                (of_parts.weighted + magnitude * steps) / f64::from(total.abs())
            }
            Exactness::Product { exponents, .. } if EXPONENTS.contains(&exponents) => {
                of_parts.sum + f64::from(of_parts.count)
            }
            Exactness::Product { .. } => return None,
        };
        (error <= MAX_ERROR).then_some(error)
    }

    fn holds(&self) -> bool {
        match *self {
            Exactness::Always => true,
            Exactness::Sum { lowest: i32::MAX, .. } => true,
            Exactness::Sum { lowest, magnitude } => magnitude < f64::from(1 << 24) * 2f64.powi(lowest),
            Exactness::Product { bits, exponents } => bits <= 24 && EXPONENTS.contains(&exponents),
            Exactness::Lost => false,
        }
    }
}

/// The errors of the parts of a sum or product, in the unit of [`Sample::error`].
#[derive(Default)]
struct Errors {
    count: u32,
    most: f64,
    sum: f64,
    /// The sum of the errors, each times its part.
    weighted: f64,
}

impl Errors {
    fn add(&mut self, word: u32, times: u32, error: f64) {
        let all = error * f64::from(times);
        self.count = self.count.saturating_add(times);
        self.most = self.most.max(error);
        self.sum += all;
        if error > 0.0 {
            self.weighted += all * f64::from(f32::from_bits(word).abs());
        }
    }
}

/// Whether the operands of a float `min` or `max` include zeros of either sign, and denormals or NaNs.
#[derive(Default)]
struct Zeros {
    has_plus: bool,
    has_minus: bool,
    has_odd: bool,
}

impl Zeros {
    fn add(&mut self, word: u32) {
        self.has_plus |= word == 0;
        self.has_minus |= word == 1 << 31;
        self.has_odd |= !keeps_bits(word);
    }

    /// Whether the result is open: "the result may or may not be denorm flushed", and zeros compare equal. If
    /// all operands are NaN, the result is a NaN, not the identity that the fold starts from.
    fn are_open(&self, extremum: u32) -> bool {
        let value = f32::from_bits(extremum);
        let has_both = self.has_plus && self.has_minus;
        !keeps_bits(extremum)
            || value == 0.0 && (has_both || self.has_odd)
            || value.is_infinite() && self.has_odd
    }
}

/// Steele, Lea, Flood, *Fast splittable pseudorandom number generators*, OOPSLA 2014.
pub(crate) struct SplitMix(pub u64);

impl SplitMix {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).unwrap_or(0)
    }
}

/// No index or byte address in a buffer reaches this: D3D has no buffer of more than 2³¹ bytes.
pub const BUFFER_END: u32 = 1 << 31;

/// No texel index along an axis of a D3D texture reaches this.
const TEXTURE_END: u32 = 1 << 14;

impl Input {
    /// Whether this index is past the end of the resource. A read there returns 0 in most components of most
    /// formats, and a write is dropped. So any two words that a sample invents for such reads may be one word,
    /// and they count as guessed. An access past the end therefore never makes two kernels different. Proofs of
    /// equality do not use this check.
    pub fn is_beyond(&self, index: &[u32]) -> bool {
        self.end
            .is_some_and(|end| index.iter().any(|index| *index >= end))
    }
}

/// What samples need to know about each global of a shader.
struct OfGlobals(Vec<Option<Input>>);

impl OfGlobals {
    fn of(shader: &Shader) -> Self {
        let globals = shader.globals.iter();
        OfGlobals(globals.map(|global| input(shader, global)).collect())
    }
}

/// What samples need to know about one global; `None` if nothing.
fn input(shader: &Shader, global: &Global) -> Option<Input> {
    let is_normalised = || {
        let text = global.span.slice(&shader.text);
        text.windows(4).any(|word| word == b"norm")
    };
    let words = match &global.ty {
        Type::Resource(kind, _) if kind.is_by_address() => Words::Bytes,
        ty if has_scalars(shader, ty, |scalar| scalar == Scalar::Bool) || is_normalised() => Words::Narrow,
        ty if has_scalars(shader, ty, |scalar| scalar == Scalar::Float)
            && !has_scalars(shader, ty, |scalar| scalar != Scalar::Float) =>
        {
            Words::Floats
        }
        _ => Words::Any,
    };
    let end = match &global.ty {
        Type::Resource(kind, _) if kind.is_texture() => Some(TEXTURE_END),
        Type::Resource(..) => Some(BUFFER_END),
        _ => None,
    };
    (words != Words::Any || end.is_some()).then_some(Input { words, end })
}

/// The result of an operation on words; `None` if the words alone do not determine it.
fn computed(op: &Op, words: &[u32]) -> Option<u32> {
    let known: Vec<Value> = words.iter().copied().map(Value::Known).collect();
    let mut scratch = Terms {
        takes_numbers: true,
        ..Terms::default()
    };
    let value = match (op, known.as_slice()) {
        (Op::Same, [value]) => value.clone(),
        (
            Op::Offset,
            [
                Value::Known(base),
                Value::Known(index),
                Value::Known(size),
                Value::Known(start),
                _,
            ],
        ) => {
            let offset = index.wrapping_mul(*size).wrapping_add(*start).wrapping_add(*base);
            Value::Known(offset)
        }
        (Op::Unary(op, scalar), [value]) => fold::unary(&mut scratch, *op, *scalar, value),
        (Op::Binary(op, scalar), [a, b]) => fold::binary(&mut scratch, *op, *scalar, a, b),
        (Op::Cast { from, to }, [value]) => fold::cast(&mut scratch, *from, *to, value),
        (
            Op::Intrinsic {
                intrinsic, scalar, ..
            },
            _,
        ) => Value::Known(fold::intrinsic(*intrinsic, *scalar, words)?),
        _ => return None,
    };
    value.known()
}

fn has_scalars(shader: &Shader, ty: &Type, is_one: fn(Scalar) -> bool) -> bool {
    match ty {
        Type::Array(element, _) | Type::Resource(_, Some(element)) => has_scalars(shader, element, is_one),
        Type::Struct(id) => shader.structs.get(id.0 as usize).is_some_and(|of| {
            let mut fields = of.fields.iter();
            fields.any(|field| has_scalars(shader, &field.ty, is_one))
        }),
        ty => ty.scalar().is_some_and(is_one),
    }
}
