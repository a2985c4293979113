//! The least or greatest of several elements, and the data that belongs to it.
//!
//! Kernels find it in two ways. A ladder carries the data of each element along: `if (b.key < a.key) a = b`.
//! Two reductions first find the least key `m`, and then the least rank among the elements with that key: `k`
//! is the minimum of the words `key == m ? rank : ~0`. The kernel then reads the element's data at an index
//! made from `k`.
//!
//! # Why the second is a choice like the first
//!
//! Let the ranks be distinct numbers, and let `m` be the minimum (or maximum) of exactly the keys that are
//! compared with it. The minimum of words is one of them, so some key equals `m`. So `k` is the least rank of
//! the elements whose key equals `m`: the other words are the identity of the minimum, so none of them is less.
//! So for any inputs, a function of `k` has the value that it has at the rank of the first element, in the
//! order of ranks, whose key equals `m`. [`Terms::of_first_best`] writes that value as a ladder does: it takes
//! the later of two halves if its best key is better, so of equal keys it takes the first. By induction over
//! the halves, that is the first of the best.
//!
//! The elements may be parted, as among waves: each part has its best key `m_p` and the least rank `k_p` of its elements
//! with that key, and `k` is the minimum of the words `m_p == m ? k_p : ~0`. An element whose key equals `m` is in a
//! part with `m_p == m`, as no key of the part is better than `m`. So `k` is again the least rank of all elements whose
//! key equals `m`.
//!
//! Floats are keys where none is NaN, which equals nothing. Comparisons, minima and maxima flush denormals and take
//! both zeros as one ([`crate::terms::rounding`]), so they see numbers: some key has the number of `m`, and a ladder
//! of comparisons chooses the first of the best numbers.

use shaderlint_hlsl::{BinaryOp, Scalar};

use crate::terms::operator::Operator;
use crate::terms::value::{Op, Value};
use crate::terms::{Floats, Term, Terms, fold};

/// The maximum number of elements in a choice.
const MOST: usize = 1024;

/// The maximum depth of a rank in a value made from it.
const DEEPEST: usize = 8;

/// Elements by rank: the first one with the best key is chosen.
pub(crate) struct Ranked {
    /// The minimum or maximum that compares keys.
    pub operator: Operator,
    /// For each element, by rank: its key, and the value if this element is chosen.
    pub elements: Vec<(Value, u32)>,
}

/// The elements that a minimum of ranks chooses from.
struct Choice {
    operator: Operator,
    /// The best key, as what the keys are compared with.
    best: Value,
    /// The elements' keys, each with its rank.
    keys: Vec<(u32, Value)>,
}

/// The parts of `key == best ? rank : ~0`: the condition, the type in which the two are compared, both in either order,
/// and the rank.
struct Compared {
    condition: Value,
    scalar: Scalar,
    both: [Value; 2],
    rank: Value,
}

impl Terms {
    /// The value for each element that may be chosen, if it is a function of the chosen rank alone.
    pub fn ranked(&mut self, value: &Value) -> Option<Ranked> {
        let rank = self.rank_in(value, DEEPEST)?;
        let Choice {
            operator, mut keys, ..
        } = self.choice(&rank, DEEPEST)?;
        keys.sort_by_key(|(number, _)| *number);
        if keys.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return None;
        }
        let elements = keys.into_iter().map(|(number, key)| {
            let word = self.at_rank(value, &rank, number, DEEPEST)?;
            Some((key, word))
        });
        Some(Ranked {
            operator,
            elements: elements.collect::<Option<_>>()?,
        })
    }

    /// The elements that this minimum of ranks chooses from. A rank may itself be such a minimum over some of the
    /// elements, with their best key in the place of the key.
    fn choice(&mut self, rank: &Value, depth: usize) -> Option<Choice> {
        let depth = depth.checked_sub(1)?;
        let compared: Vec<Compared> = rank
            .atoms()
            .map(|atom| self.compared_by(atom))
            .collect::<Option<_>>()?;
        // All keys are compared with the best one.
        let first = compared.first()?;
        let scalar = first.scalar;
        let is_in_all = |best: &&Value| {
            let mut all = compared.iter();
            all.all(|compared| compared.scalar == scalar && compared.both.contains(best))
        };
        let best = first.both.iter().find(is_in_all)?.clone();
        let mut keys: Vec<(u32, Value)> = Vec::new();
        let mut operators: Vec<Operator> = Vec::new();
        let mut conditions: Vec<Value> = Vec::new();
        for Compared {
            condition,
            both: [a, b],
            rank,
            ..
        } in compared
        {
            conditions.push(condition);
            let key = if a == best { b } else { a };
            if let Value::Known(number) = rank {
                keys.push((number, key));
                continue;
            }
            if !is_minimum_of_words(&rank) {
                return None;
            }
            let inner = self.choice(&rank, depth).filter(|inner| inner.best == key)?;
            operators.push(inner.operator);
            keys.extend(inner.keys);
        }
        let of_scalar: &[Operator] = match scalar {
            Scalar::Float => &[Operator::MinFloat, Operator::MaxFloat],
            _ => &[
                Operator::MinUint,
                Operator::MaxUint,
                Operator::MinInt,
                Operator::MaxInt,
            ],
        };
        let mut of_scalar = of_scalar.iter().copied();
        let operator = of_scalar.find(|operator| {
            let all = keys
                .iter()
                .fold(Value::Known(operator.identity()), |all, (_, key)| {
                    self.combine(*operator, &all, key)
                });
            all == best && operators.iter().all(|inner| inner == operator)
        })?;
        if scalar == Scalar::Float {
            self.note_need(|needs| needs.numbers = true);
        }
        // Whether these keys equal those that the best was made from may depend on how floats are rounded.
        for condition in &conditions {
            self.note_left_out(condition);
        }
        Some(Choice { operator, best, keys })
    }

    /// The minimum of ranks that the value is made from.
    fn rank_in(&self, value: &Value, depth: usize) -> Option<Value> {
        let depth = depth.checked_sub(1)?;
        let is_choice = || value.atoms().all(|atom| self.compared_by(atom).is_some());
        if is_minimum_of_words(value) && (value.atom_count() > 1 || is_choice()) {
            return Some(value.clone());
        }
        let [atom] = value.atoms().take(2).collect::<Vec<_>>()[..] else {
            return None;
        };
        let Term::Apply(op, arguments) = self.term(atom)? else {
            return None;
        };
        let mut parts = arguments.iter().filter(|_| op.is_arithmetic());
        parts.find_map(|part| self.rank_in(part, depth))
    }

    fn compared_by(&self, atom: u32) -> Option<Compared> {
        let Term::Apply(Op::Select, [condition, rank, Value::Known(u32::MAX)]) = self.term(atom)? else {
            return None;
        };
        let Term::Apply(Op::Binary(BinaryOp::Equal, scalar), [a, b]) = self.single(condition)? else {
            return None;
        };
        let is_number = match scalar {
            Scalar::Int | Scalar::Uint => true,
            Scalar::Float => self.floats == Floats::Numbers,
            _ => false,
        };
        (is_number && *rank != Value::Known(u32::MAX)).then(|| Compared {
            condition: condition.clone(),
            scalar: *scalar,
            both: [a.clone(), b.clone()],
            rank: rank.clone(),
        })
    }

    /// The result of a value that is made from `rank`, where the rank is `number`.
    fn at_rank(&self, value: &Value, rank: &Value, number: u32, depth: usize) -> Option<u32> {
        if value == rank {
            return Some(number);
        }
        let depth = depth.checked_sub(1)?;
        let of_atom = |atom: u32| {
            let Term::Apply(op, arguments) = self.term(atom)? else {
                return None;
            };
            let words = arguments
                .iter()
                .map(|argument| self.at_rank(argument, rank, number, depth));
            let words: Vec<u32> = words.collect::<Option<_>>()?;
            match (op, words.as_slice()) {
                (Op::Same, [word]) => Some(*word),
                (Op::Offset, [base, index, size, start, length]) if index < length => {
                    index.checked_mul(*size)?.checked_add(*start)?.checked_add(*base)
                }
                (Op::Binary(op, scalar), [a, b]) => fold::fold(*op, *scalar, *a, *b),
                (
                    Op::Intrinsic {
                        intrinsic, scalar, ..
                    },
                    words,
                ) if !scalar.is_float() => fold::intrinsic(*intrinsic, *scalar, words),
                _ => None,
            }
        };
        match value {
            Value::Known(word) => Some(*word),
            Value::Run { operator, start, end } if !operator.is_on_floats() => (*start..*end)
                .map(of_atom)
                .reduce(|a, b| Some(operator.fold(a?, b?)))?,
            Value::Sum(sum) if sum.operator == Operator::Add => {
                sum.parts.iter().try_fold(sum.constant, |sum, part| {
                    (part.start..part.end).try_fold(sum, |sum, atom| {
                        Some(sum.wrapping_add(of_atom(atom)?.wrapping_mul(part.factor)))
                    })
                })
            }
            Value::Run { .. } | Value::Sum(_) => None,
        }
    }

    /// The value that belongs to the first element with the best key. Each element is a key and its value.
    pub fn of_first_best(&mut self, operator: Operator, elements: &[(Value, Value)]) -> Option<Value> {
        Some(self.first_best(operator, elements)?.1)
    }

    fn first_best(&mut self, operator: Operator, elements: &[(Value, Value)]) -> Option<(Value, Value)> {
        if let [only] = elements {
            return Some(only.clone());
        }
        let (first, second) = elements.split_at_checked(elements.len() / 2)?;
        let (key, value) = self.first_best(operator, first)?;
        let (later_key, later) = self.first_best(operator, second)?;
        let scalar = match operator {
            Operator::MinInt | Operator::MaxInt => Scalar::Int,
            Operator::MinFloat | Operator::MaxFloat => Scalar::Float,
            _ => Scalar::Uint,
        };
        let is_least = matches!(
            operator,
            Operator::MinInt | Operator::MinUint | Operator::MinFloat
        );
        let is_better = if is_least {
            BinaryOp::Less
        } else {
            BinaryOp::Greater
        };
        let is_better = fold::binary(self, is_better, scalar, &later_key, &key);
        Some((
            self.combine(operator, &key, &later_key),
            self.select(&is_better, &later, &value),
        ))
    }
}

/// Whether the value is a minimum of words that are no constants.
fn is_minimum_of_words(value: &Value) -> bool {
    let count = value.atom_count() as usize;
    let is_minimum = |operator: Operator| operator == Operator::MinUint || count == 1;
    let has_form = match value {
        Value::Known(_) => false,
        Value::Run { operator, .. } => is_minimum(*operator),
        Value::Sum(sum) => sum.operator == Operator::MinUint && sum.operator.is_identity(sum.constant),
    };
    has_form && (1..=MOST).contains(&count)
}
