//! The two halves of a word, as in sums of packed 16-bit counters.
//!
//! Let `low(v)` be `v & 0xFFFF`. It depends only on `v` modulo 2^16, and `v` to `v mod 2^16` is a ring
//! homomorphism that `low` does not change. So in a sum only the lower 16 bits of each factor count, and `w`
//! may replace an atom `low(w)`. The result is a sum again. Its `low` is one atom ([`Op::Binary`] of that sum
//! and the mask), so equal sums have equal atoms. Everything else follows exactly, modulo 2^32:
//!
//! - `v & 0xFFFF0000` is `v - low(v)`: the low half of a word borrows nothing from the high one.
//! - `a | b` and `a ^ b` are `a + b` where `a` is less than 2^16 and `low(b)` is zero: they share no bit.
//! - `v << k` is `2^k * w` for `k` of 16 or more and any `w` that is `v` modulo 2^16.
//!
//! No carry is lost: `low(x) + low(y)` is not `low(x + y)`, and has another form.

use shaderlint_hlsl::{BinaryOp, Scalar};

use crate::terms::operator::Operator;
use crate::terms::value::{Op, Part, Value, merge, normalise};
use crate::terms::{Term, Terms};

/// 16 of the 32 bits of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Half {
    Low,
    High,
}

const MASK: u32 = 0xFFFF;

/// The low halves of this many inputs get their atoms at once: as many as a group has threads.
const CHUNK: u32 = 1 << 10;

/// Sums with more runs of atoms keep the form that they have.
const MAX_PARTS: usize = 1 << 10;

/// Consecutive inputs, and the consecutive atoms of their low halves.
#[derive(Clone, Copy)]
pub(crate) struct Halved {
    first: u32,
    low: u32,
    length: u32,
}

impl Terms {
    /// `a op b` where it picks or joins halves of words.
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
            self.halve_around(start, end);
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

    /// Whether the value is provably less than 2^16.
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

    /// The sum whose low half this atom is.
    fn whole_of(&self, atom: u32) -> Option<&Value> {
        match self.term(atom)? {
            Term::Apply(Op::Binary(BinaryOp::And, Scalar::Uint), [whole, Value::Known(MASK)]) => Some(whole),
            _ => None,
        }
    }

    /// The normal form of the value modulo 2^16. A value that is too long stays as it is, which is equal modulo
    /// 2^16.
    fn modulo_half(&mut self, value: &Value) -> Value {
        let (parts, mut constant) = self.parts_under(Operator::Add, value);
        if parts.len() > MAX_PARTS {
            return value.clone();
        }
        self.note_work(parts.len() / 8);
        let mut all: Vec<Part> = Vec::new();
        let mut add = |part: Part| all.push(part);
        for part in parts.iter().copied() {
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
                        for part in parts.iter().copied() {
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
        let mut sum = merged(&all);
        for part in &mut sum {
            part.factor &= MASK;
        }
        // Only now may neighbours have equal factors.
        self.note_work(sum.len() / 8);
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

    /// Makes the atoms of the low halves of these inputs, and of the inputs around them, in order. A value made
    /// from many low halves is then as short as one made from the words.
    fn halve_around(&mut self, first: u32, end: u32) {
        let mut atom = first;
        while atom < end {
            let Some(Term::Input { block, index }) = self.term(atom) else {
                return;
            };
            let start = atom - index % CHUNK;
            if let Some(known) = self.halved.iter().find(|halved| halved.first == start) {
                atom = start + known.length;
                continue;
            }
            let is_of_block =
                |atom: &u32| matches!(self.term(*atom), Some(Term::Input { block: own, .. }) if own == block);
            let length = (start..start + CHUNK).take_while(is_of_block).count() as u32;
            atom = start + length;
            let low = |terms: &mut Self, atom: u32| {
                let mask = [Value::atom(atom), Value::Known(MASK)];
                terms.apply(Op::Binary(BinaryOp::And, Scalar::Uint), &mask)
            };
            let Value::Run { start: low_start, .. } = low(self, start) else {
                return;
            };
            let are_consecutive = (1..length).fold(true, |all, next| {
                all & (low(self, start + next) == Value::atom(low_start + next))
            });
            if are_consecutive {
                self.halved.push(Halved {
                    first: start,
                    low: low_start,
                    length,
                });
            }
        }
    }

    /// The low halves of these inputs; `None` if their atoms do not exist.
    fn lows(&self, part: &Part) -> Option<Vec<Part>> {
        let mut lows = Vec::new();
        let mut start = part.start;
        while start < part.end {
            let halved = self.halved.iter().find(|halved| halved.has(start))?;
            let end = part.end.min(halved.first + halved.length);
            lows.push(Part {
                start: halved.low + (start - halved.first),
                end: halved.low + (end - halved.first),
                factor: part.factor,
            });
            start = end;
        }
        Some(lows)
    }

    /// Whether the run picked halves of inputs from `first` on.
    pub(crate) fn has_halves(&self, first: u32) -> bool {
        self.halved.iter().any(|halved| halved.first >= first)
    }

    /// Whether a value is made from more than inputs and low halves. Such a value is no sum in a half: neither
    /// half would remove a part that is not itself a low half.
    fn has_others(&self, value: &Value) -> bool {
        let is_other = |part: &Part| {
            let is_input = matches!(self.term(part.start), Some(Term::Input { .. }));
            !is_input && self.whole_of(part.start).is_none()
        };
        matches!(value, Value::Sum(sum) if sum.operator != Operator::Add || sum.parts.iter().any(is_other))
    }

    /// The sum of inputs whose half equals this half of the value. The high half must be the sum of the inputs'
    /// high halves; the low half, modulo 2^16, the sum of their low halves. `None` if it is no such sum, or if
    /// the other half sums several inputs that are not the same ones.
    pub(crate) fn sum_in_half(&mut self, half: Half, value: &Value) -> Option<Value> {
        match self.single(value) {
            Some(Term::Input { .. }) => return Some(value.clone()),
            Some(_) if !self.is_low(value) => return None,
            _ => {}
        }
        if self.has_others(value) {
            return None;
        }
        let is_one = |value: &Value| value.atom_count() <= 1;
        let low = self.modulo_half(value);
        match half {
            Half::High => {
                let high = self.high_half(value);
                let (parts, constant) = self.parts_under(Operator::Add, &high);
                let parts = parts.iter().copied();
                let parts: Vec<Part> = parts.filter(|part| self.are_inputs(part)).collect();
                // Each input with its own low half subtracted, and nothing else.
                let mut halves = parts.clone();
                for part in &parts {
                    self.halve_around(part.start, part.end);
                    let lows = self.lows(part)?;
                    let minus = lows.into_iter().map(|low| Part {
                        factor: low.factor.wrapping_neg(),
                        ..low
                    });
                    let minus: Vec<Part> = minus.collect();
                    halves = merge(Operator::Add, &halves, &merged(&minus));
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

/// The sum of the runs in `parts`: a few lists one after the other, each sorted.
fn merged(parts: &[Part]) -> Vec<Part> {
    let lists = parts.chunk_by(|a, b| a.end <= b.start);
    let mut lists: Vec<Vec<Part>> = lists.map(<[Part]>::to_vec).collect();
    // Merge pairwise: sums over the same atoms stay short.
    while lists.len() > 1 {
        let pairs = lists.chunks(2).map(|pair| match pair {
            [a, b] => merge(Operator::Add, a, b),
            one => one.concat(),
        });
        lists = pairs.collect();
    }
    lists.pop().unwrap_or_default()
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

    fn has(&self, atom: u32) -> bool {
        (self.first..self.first + self.length).contains(&atom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_add_up_in_whatever_order_they_come() {
        let part = |start, end, factor| Part { start, end, factor };
        let lists = [
            part(0, 4, 1),
            part(6, 8, 2),
            part(2, 7, 3),
            part(1, 2, u32::MAX),
            part(0, 1, 5),
        ];
        let expected = [
            part(0, 1, 6),
            part(2, 4, 4),
            part(4, 6, 3),
            part(6, 7, 5),
            part(7, 8, 2),
        ];
        assert_eq!(merged(&lists), expected);
        let backwards: Vec<Part> = lists.into_iter().rev().collect();
        assert_eq!(merged(&backwards), expected);
        assert!(merged(&[]).is_empty());
    }
}
