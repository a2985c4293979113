//! Terms evaluated: on random inputs, or on given ones.

use rustc_hash::{FxHashMap, FxHashSet};
use shaderlint_hlsl::{BinaryOp, Global, GlobalId, Scalar, Shader, Type};

use crate::terms::known_floats::{is_arithmetic, keeps_bits};
use crate::terms::operator::Operator;
use crate::terms::rounding::is_smooth;
use crate::terms::value::{Op, Part, Value};
use crate::terms::{Input, Term, Terms, Words, fingerprint, fold};

/// The word of a resource or uniform, by name, index and component.
pub type Given<'g> = dyn Fn(&str, &[u32], u32) -> u32 + 'g;

/// Atoms looked at for one sample: of what has more it is not said what it is.
const MAX_VISITS: usize = 1 << 14;

/// Random inputs of which some should meet a condition.
const TRIES: u64 = 24;

/// Inputs of a kernel: random ones, but for those that are given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Inputs {
    pub seed: u64,
    /// Words of atoms.
    pub given: Vec<(u32, u32)>,
}

/// Random values for the atoms: seed 0 is the first group with unremarkable inputs.
pub(crate) struct Sample<'t> {
    pub terms: &'t Terms,
    seed: u64,
    depth: u32,
    known: FxHashMap<u32, u32>,
    /// Atoms looked at, each as often as it was.
    visits: usize,
    /// With as many the value is guessed.
    limit: usize,
    /// Something was evaluated that is not computed here: only a stand-in for its value.
    pub guessed: bool,
    /// Atoms of which that is so.
    stand_ins: FxHashSet<u32>,
    /// Of given inputs: how far the evaluated float may be from the kernel's, in parts of 2⁻²⁴ of it. The kernel rounds a sum or
    /// product in one order, which the term does not tell. 0 where every order gives the same.
    pub error: f64,
    /// The same of atoms, where it is not 0.
    errors: FxHashMap<u32, f64>,
    /// What is not guessed is computed as kernels do, for inputs that could be: floats are small whole numbers wherever
    /// they are read.
    strict: bool,
    /// What is not known of any pass of a loop is less than 64.
    pub has_few_passes: bool,
    /// Inputs are as often small numbers as large ones.
    pub has_all_magnitudes: bool,
    /// What the kernel is given, where that is not at random.
    pub given: Option<&'t Given<'t>>,
    /// The group that is looked at, where inputs are given or unremarkable.
    pub group: [u32; 3],
}

impl Terms {
    /// Whether two values were seen to differ on inputs that could be: unlike terms may well be equal values, such as
    /// the `(64 * group + thread) / 64` of two threads.
    ///
    /// If `surely`, only values that could be computed from inputs count; else what is not understood is an input too.
    /// With a condition only inputs count for which it holds, and atoms that are given are what they are given as.
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

    /// The seed of inputs on which two values were seen to differ, as in [`Terms::seen_to_differ`].
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
            let (a, b) = (sample.value(a), sample.value(b));
            // A term may be as long as the run that made it.
            self.note_work(sample.visits);
            if sample.visits >= sample.limit {
                return None;
            }
            if a != b && !(surely && sample.guessed) {
                return Some(sample.seed);
            }
        }
        None
    }

    /// Notes which of these globals of a shader are not any words at all.
    pub(crate) fn note_inputs(&mut self, shader: &Shader, named: &[GlobalId]) {
        let inputs = shader.once(OfGlobals::of);
        for id in named.iter().map(|id| id.0 as usize) {
            if let (Some(global), Some(Some(input))) = (shader.globals.get(id), inputs.0.get(id)) {
                let name = self.symbol(&global.name);
                self.inputs.insert(name, *input);
            }
        }
    }

    /// Whether inputs were seen for which a condition holds, where some atoms are given.
    pub(crate) fn seen_to_hold(&self, condition: &Value, given: &[(u32, u32)]) -> bool {
        self.seed_that_holds(condition, given).is_some()
    }

    /// The seed of such inputs.
    pub(crate) fn seed_that_holds(&self, condition: &Value, given: &[(u32, u32)]) -> Option<u64> {
        let mut samples = self.possible_samples(TRIES, given);
        samples.find_map(|mut sample| {
            let holds = sample.holds(condition);
            self.note_work(sample.visits);
            holds.then_some(sample.seed)
        })
    }

    /// What a value is where all that is read is 0; `None` if more than that has a part in it.
    pub(crate) fn word_of_zeros(&self, value: &Value) -> Option<u32> {
        let zeros = |_: &str, _: &[u32], _: u32| 0;
        let mut sample = Sample::new(self, 0);
        sample.given = Some(&zeros);
        sample.limit = MAX_VISITS;
        let word = sample.value(value);
        self.note_work(sample.visits);
        (!sample.guessed).then_some(word)
    }

    /// What a value was seen to be for inputs for which a condition holds, as far as both are understood, and the seeds of
    /// these.
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

    /// The value where some atoms are given, in the first group; `None` if that does not decide it.
    pub(crate) fn value_given(&self, value: &Value, given: &[(u32, u32)]) -> Option<u32> {
        let mut sample = Sample::possible(self, 0, given);
        let word = sample.value(value);
        (!sample.guessed).then_some(word)
    }

    /// Random inputs that could be, each looked into no further than a question that is asked often may be.
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
            has_few_passes: false,
            has_all_magnitudes: false,
            given: None,
            group: [0; 3],
            depth: 0,
            known: FxHashMap::default(),
            visits: 0,
            limit: usize::MAX,
        }
    }

    /// Of inputs that could be, with some atoms given.
    pub(crate) fn possible(terms: &'t Terms, seed: u64, given: &[(u32, u32)]) -> Sample<'t> {
        let mut sample = Sample::new(terms, seed);
        sample.strict = true;
        sample.known.extend(given.iter().copied());
        sample
    }

    /// Whether a condition that is understood holds.
    fn holds(&mut self, condition: &Value) -> bool {
        !self.terms.is_opaque(condition) && self.value(condition) != 0 && !self.guessed
    }

    pub(crate) fn value(&mut self, value: &Value) -> u32 {
        let word = self.of_form(value);
        // The operation that made it of one number may have flushed it, or made +0 of -0.
        let is_odd = !keeps_bits(word) || word == (-0.0f32).to_bits();
        self.guessed |= self.is_computed() && is_odd && self.terms.may_have_other_bits(value);
        word
    }

    /// Whether a word that is not guessed has to be what kernels compute.
    fn is_computed(&self) -> bool {
        self.strict || self.given.is_some()
    }

    fn of_form(&mut self, value: &Value) -> u32 {
        let fold = |sample: &mut Self, operator: Operator, constant: u32, parts: &[Part]| {
            let mut total = constant;
            let mut exactness = Exactness::of(operator);
            exactness.add(constant, 1);
            let mut errors = Errors::default();
            let mut zeros = Zeros::default();
            zeros.add(constant);
            // A sum of nothing but -0.0 is -0.0, or +0.0 if +0.0 was added too; the normal form does not say which.
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
                    // Small whole numbers: float sums of them are exact in any order.
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
            if sample.given.is_some() {
                let error = exactness.error(operator, f32::from_bits(total), &errors);
                sample.guessed |= error.is_none();
                sample.error = sample.error.max(error.unwrap_or_default());
            }
            sample.guessed |= operator.is_on_floats() && operator.is_extremum() && zeros.are_open(total);
            sample.guessed |= !is_sign_known || sample.strict && !exactness.holds();
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
            return if self.has_few_passes { word % 64 } else { word };
        };
        if let Op::GroupId(axis) = op {
            return self.group_word(*axis);
        }
        if let (Op::AtomicResult { .. }, [Value::Known(thread), ..]) = (op, arguments) {
            // Each thread finds another number: here in their order.
            self.guessed = true;
            hash.0 ^= fingerprint(op);
            return (hash.next() >> 32) as u32 % 16 + thread;
        }
        if self.depth > 200 {
            self.guessed = true;
            return 0;
        }
        self.depth += 1;
        // What is not chosen decides nothing: what is guarded may be guessed, or outside.
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
        // What is made of a float next to the kernel's need not be next to what the kernel makes.
        if self.error > 0.0 {
            let may_cancel = matches!(op, Op::Binary(BinaryOp::Add | BinaryOp::Sub, _));
            self.guessed |= may_cancel || !is_smooth(op, arguments);
            self.error = 2.0 * self.error + 1.0;
        }
        // What is known, and is no number that every compiler gets, is rounded in one order of the operations and not in another.
        let is_arithmetic = matches!(op, Op::Binary(op, scalar) if scalar.is_float() && is_arithmetic(*op));
        let is_of_known = || {
            arguments
                .iter()
                .all(|argument| self.terms.known_float(argument).is_some())
        };
        self.guessed |=
            is_arithmetic && is_of_known() && self.terms.known_float(&Value::atom(atom)).is_none();
        // A compiler may leave out that 0 is added.
        let is_sum = matches!(op, Op::Binary(BinaryOp::Add, scalar) if scalar.is_float());
        self.guessed |= is_sum && words.contains(&(-0.0f32).to_bits());
        if let Some(word) = computed(op, &words) {
            return word;
        }
        let mut op = *op;
        // A part of an element, whether it is known which or not.
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

    /// An input, or an operation that is not evaluated: some function of its arguments.
    fn input(&mut self, mut op: Op, mut words: Vec<u32>) -> u32 {
        let mut hash = self.hash();
        // Of two reads of what nothing was written to each may find any word.
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
                // One word, whichever of the loads it is part of.
                *address = address.wrapping_add(4 * std::mem::take(component));
            }
            // Of something that is no word, or in one of several buffers.
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

    /// `a || b` if `is_either`, else `a && b`. Where one of them alone decides it, the other may be guessed.
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

    /// A component of the number of the group that is looked at.
    pub fn group_word(&self, axis: u8) -> u32 {
        if self.seed <= 1 {
            return self.group.get(usize::from(axis)).copied().unwrap_or(0);
        }
        // Few groups, as there are: a sum with it wraps around in no kernel that works.
        let mut hash = self.hash();
        hash.0 ^= fingerprint(&Op::GroupId(axis));
        (hash.next() >> 32) as u32 % 1000
    }

    fn hash(&self) -> SplitMix {
        SplitMix(self.seed.wrapping_mul(0x9E37_79B9).wrapping_add(0x5BD1))
    }
}

/// Whether a sum or a product of floats is exact whatever the order is in which it is made.
///
/// A sum is where all parts are multiples of one power of two and add up, by their magnitudes, to less than 2²⁴ times that;
/// a product where the significant bits of all factors are no more than 24 together. Both as long as nothing comes near the
/// ends of the range, where numbers are denormal or infinite.
enum Exactness {
    /// Whatever is put in.
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

/// Where floats are neither near the least nor near the greatest.
const EXPONENTS: std::ops::RangeInclusive<i64> = -100..=100;

/// A float with a larger error, in parts of 2⁻²⁴ of it, may be anything.
const MAX_ERROR: f64 = 256.0;

/// As often as one part may stand in a sum of floats.
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

    /// How far the kernel's value may be from this total, as [`Sample::error`] says. `None` if it may be anything: where
    /// something is flushed or too large on the way in one order and not in another, where numbers cancel that need not be
    /// exact, and where a whole number is made of such bits.
    ///
    /// Of rounding errors in a sum as many cancel as not, so that a sum of n parts is taken for one of log₂ n steps.
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

/// The errors of the parts of a sum or product, as [`Sample::error`] says.
#[derive(Default)]
struct Errors {
    count: u32,
    most: f64,
    sum: f64,
    /// Each times its part.
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

/// Whether a float `min` or `max` has zeros of either sign among its operands, and denormals or NaNs.
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

    /// Whether it is open which of them the extremum is: "the result may or may not be denorm flushed", and zeros compare
    /// equal. Of nothing but NaNs it is a NaN, which is not what was begun with here.
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

/// No buffer has as many elements or bytes before another one: D3D has none of more than 2³¹ bytes.
pub const BUFFER_END: u32 = 1 << 31;

/// No texture has as many texels before another one along an axis, in D3D.
const TEXTURE_END: u32 = 1 << 14;

impl Input {
    /// Whether what has this index is beyond the end of the resource. It is read as 0 then, in most components of most
    /// formats, and is not written: all words that are made up for such reads may well be one, so that they are guessed.
    /// Two kernels are called different for nothing that lies there; for being equal nobody asks it.
    pub fn is_beyond(&self, index: &[u32]) -> bool {
        self.end
            .is_some_and(|end| index.iter().any(|index| *index >= end))
    }
}

/// What samples have to know of each global of a shader.
struct OfGlobals(Vec<Option<Input>>);

impl OfGlobals {
    fn of(shader: &Shader) -> Self {
        let globals = shader.globals.iter();
        OfGlobals(globals.map(|global| input(shader, global)).collect())
    }
}

/// What samples have to know of a global.
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

/// The word that an operation on words gives, if it is computed from these alone.
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
