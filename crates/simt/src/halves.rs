//! The two halves of a word, as in sums of packed 16-bit counters.
//!
//! Let `low(v)` be `v & 0xFFFF`. It depends on `v` modulo 2^16 alone, and `v` to `v mod 2^16` is a ring homomorphism that
//! `low` does not change: so of a sum's factors only the lower 16 bits count, and an atom `low(w)` may stand as `w`. What
//! is left is a sum again, and `low` of it one atom ([`Op::Binary`] of that sum and the mask, so that equal sums have
//! equal atoms). All else follows exactly, modulo 2^32:
//!
//! - `v & 0xFFFF0000` is `v - low(v)`: the low half of a word borrows nothing from the high one.
//! - `a | b` and `a ^ b` are `a + b` where `a` is less than 2^16 and `low(b)` is zero: no bit is in both.
//! - `v << k` is `2^k * w` for `k` of 16 or more and any `w` that is `v` modulo 2^16.
//!
//! No carry is neglected: `low(x) + low(y)` is not `low(x + y)`, and has another form.

use shaderlint_hlsl::{BinaryOp, Scalar};

use crate::finding::{Half, Operator};
use crate::row;
use crate::terms::{Term, Terms};
use crate::value::{Op, Part, Value, merge, normalise};

const MASK: u32 = 0xFFFF;

/// Blocks of inputs larger than this have the atoms of their low halves one by one.
const MAX_BLOCK: u32 = 1 << 13;

/// Consecutive inputs, and the consecutive atoms of their low halves.
#[derive(Clone, Copy)]
pub(crate) struct Halved {
    first: u32,
    low: u32,
    length: u32,
}

impl Terms {
    /// `a op b` where that picks or joins halves of words.
    pub(crate) fn of_halves(&mut self, op: BinaryOp, a: &Value, b: &Value) -> Option<Value> {
        match (op, a, b) {
            (BinaryOp::And, value, Value::Known(mask)) | (BinaryOp::And, Value::Known(mask), value) => {
                match *mask {
                    MASK => Some(self.low_half(value)),
                    mask if mask == !MASK => Some(self.high_half(value)),
                    _ => None,
                }
            }
            (BinaryOp::Or | BinaryOp::Xor, Value::Known(_), _)
            | (BinaryOp::Or | BinaryOp::Xor, _, Value::Known(_)) => None,
            (BinaryOp::Or | BinaryOp::Xor, a, b) => {
                let is_apart = |terms: &mut Self, low: &Value, high: &Value| {
                    terms.is_low(low) && terms.modulo_half(high) == Value::Known(0)
                };
                (is_apart(self, a, b) || is_apart(self, b, a)).then(|| self.combine(Operator::Add, a, b))
            }
            (BinaryOp::Shl, value, Value::Known(amount)) if amount & 31 >= 16 => {
                let value = self.modulo_half(value);
                Some(self.shift_left(&value, *amount))
            }
            _ => None,
        }
    }

    /// `value & 0xFFFF`.
    pub(crate) fn low_half(&mut self, value: &Value) -> Value {
        if self.is_low(value) {
            return value.clone();
        }
        let modulo = self.modulo_half(value);
        if let Value::Run { start, end, .. } = modulo
            && end - start == 1
        {
            self.halve_block(start);
        }
        if modulo.known().is_some() {
            return modulo;
        }
        self.apply(
            Op::Binary(BinaryOp::And, Scalar::Uint),
            &[modulo, Value::Known(MASK)],
        )
    }

    /// `value & 0xFFFF0000`.
    pub(crate) fn high_half(&mut self, value: &Value) -> Value {
        let low = self.low_half(value);
        let minus = self.negate(&low);
        self.combine(Operator::Add, value, &minus)
    }

    /// Whether the value is seen to be less than 2^16.
    fn is_low(&self, value: &Value) -> bool {
        match value {
            Value::Known(word) => *word <= MASK,
            Value::Run { start, end, .. } if end - start == 1 => match self.term(*start) {
                Some(Term::Apply(Op::Binary(BinaryOp::Shr, Scalar::Uint), arguments)) => {
                    matches!(arguments, [_, Value::Known(amount)] if amount & 31 >= 16)
                }
                _ => self.whole_of(*start).is_some(),
            },
            _ => false,
        }
    }

    /// The sum whose low half an atom is.
    fn whole_of(&self, atom: u32) -> Option<&Value> {
        match self.term(atom)? {
            Term::Apply(Op::Binary(BinaryOp::And, Scalar::Uint), [whole, Value::Known(MASK)]) => Some(whole),
            _ => None,
        }
    }

    /// The one form of all values that are this one modulo 2^16.
    fn modulo_half(&mut self, value: &Value) -> Value {
        let (parts, mut constant) = self.parts_under(Operator::Add, value);
        let mut sum: Vec<Part> = Vec::new();
        let mut add = |part: Part| sum = merge(Operator::Add, &sum, &[part]);
        for part in parts {
            let factor = part.factor & MASK;
            if factor == 0 {
                continue;
            }
            if let Some(whole) = self.halved.iter().find_map(|halved| halved.whole(&part)) {
                add(Part { factor, ..whole });
                continue;
            }
            if self.are_inputs(&part) {
                add(Part { factor, ..part });
                continue;
            }
            for atom in part.start..part.end {
                match self.whole_of(atom).cloned() {
                    Some(whole) => {
                        let (parts, rest) = self.parts_under(Operator::Add, &whole);
                        constant = constant.wrapping_add(rest.wrapping_mul(factor));
                        for part in parts {
                            let factor = part.factor.wrapping_mul(factor);
                            add(Part { factor, ..part });
                        }
                    }
                    None => add(Part {
                        start: atom,
                        end: atom + 1,
                        factor,
                    }),
                }
            }
        }
        for part in &mut sum {
            part.factor &= MASK;
        }
        // Neighbours may have one factor only now.
        let sum = merge(Operator::Add, &sum, &[]);
        normalise(Operator::Add, constant & MASK, sum)
    }

    /// Whether these atoms are consecutive inputs of one block.
    fn are_inputs(&self, part: &Part) -> bool {
        let block = |atom| match self.term(atom) {
            Some(Term::Input { block, .. }) => Some(block),
            _ => None,
        };
        block(part.start).is_some() && block(part.start) == block(part.end - 1)
    }

    /// Makes the atoms of the low halves of an input and all others of its block, in their order: what is made of many
    /// of them is as short then as what is made of the words.
    fn halve_block(&mut self, atom: u32) {
        let Some(Term::Input { block, index }) = self.term(atom) else {
            return;
        };
        let first = atom - index;
        if self.halved.iter().any(|halved| halved.first == first) {
            return;
        }
        let is_of_block =
            |atom: &u32| matches!(self.term(*atom), Some(Term::Input { block: own, .. }) if own == block);
        let length = (first..=first + MAX_BLOCK).take_while(is_of_block).count() as u32;
        if length > MAX_BLOCK {
            return;
        }
        let mut lows = (first..first + length).map(|atom| {
            let mask = [Value::atom(atom), Value::Known(MASK)];
            self.apply(Op::Binary(BinaryOp::And, Scalar::Uint), &mask)
        });
        let Some(Value::Run { start: low, .. }) = lows.next() else {
            return;
        };
        let are_consecutive = (low + 1..)
            .zip(lows)
            .fold(true, |all, (expected, low)| all & (low == Value::atom(expected)));
        if are_consecutive {
            self.halved.push(Halved { first, low, length });
        }
    }

    /// Whether halves of the inputs of a probe, which begin with `first`, were picked.
    pub(crate) fn has_halves(&self, first: u32) -> bool {
        self.halved.iter().any(|halved| halved.first == first)
    }

    /// What sum of inputs the half of a value is the half of: the high half that of the inputs' high halves, the low one,
    /// modulo 2^16, that of their low ones. `None` if it is no such sum, or if the other half is made of several inputs
    /// that are not the same.
    pub(crate) fn sum_in_half(&mut self, half: Half, value: &Value) -> Option<Value> {
        let is_one = |value: &Value| row::size(value) <= 1;
        let low = self.modulo_half(value);
        match half {
            Half::High => {
                let high = self.high_half(value);
                let (mut parts, constant) = self.parts_under(Operator::Add, &high);
                parts.retain(|part| self.are_inputs(part));
                // Each with its own low half taken off, and nothing else.
                let mut halves = parts.clone();
                for part in &parts {
                    self.halve_block(part.start);
                    let low = self.halved.iter().find_map(|halved| halved.low(part))?;
                    let factor = part.factor.wrapping_neg();
                    halves = merge(Operator::Add, &halves, &[Part { factor, ..low }]);
                }
                let halves = normalise(Operator::Add, constant, halves);
                let sum = normalise(Operator::Add, constant, parts);
                (halves == high && (is_one(&low) || low == sum)).then_some(sum)
            }
            Half::Low => {
                let (parts, _) = self.parts_under(Operator::Add, value);
                let are_low = parts
                    .iter()
                    .all(|part| self.halved.iter().any(|halved| halved.whole(part).is_some()));
                let high = self.high_half(value);
                let rest = self.sum_in_half(Half::High, &high);
                (are_low || rest.is_some_and(|rest| is_one(&rest) || rest == low)).then_some(low)
            }
        }
    }
}

impl Halved {
    /// The inputs whose low halves these atoms are.
    fn whole(&self, part: &Part) -> Option<Part> {
        let start = part.start.checked_sub(self.low)?;
        (part.end - self.low <= self.length).then(|| Part {
            start: self.first + start,
            end: self.first + (part.end - self.low),
            factor: part.factor,
        })
    }

    /// The low halves of these inputs.
    fn low(&self, part: &Part) -> Option<Part> {
        let start = part.start.checked_sub(self.first)?;
        (part.end - self.first <= self.length).then(|| Part {
            start: self.low + start,
            end: self.low + (part.end - self.first),
            factor: part.factor,
        })
    }
}
