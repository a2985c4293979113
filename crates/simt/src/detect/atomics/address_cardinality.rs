//! The number of different addresses of an atomic, where the address's term determines it.

use std::collections::BTreeSet;

use shaderlint_hlsl::{BinaryOp, Scalar, UnaryOp};

use crate::detect::Detectors;
use crate::exec::Machine;
use crate::terms::column::Column;
use crate::terms::operator::Operator;
use crate::terms::sample::Sample;
use crate::terms::value::{Op, Sum, Value};
use crate::terms::{Term, Terms};

/// The lanes of a wave of the most common size: with more addresses, few lanes of a wave share one.
const MAX_BINS: usize = 32;
/// Where the addresses are known, threads of a wave of this size must share some.
const WAVE: usize = 32;
const MAX_DEPTH: u32 = 64;
/// The number of inputs on which to check whether lanes share an address.
const SAMPLES: u64 = 8;

type Bins = BTreeSet<u32>;

/// The number of cells that the active threads' atomics may access, if it is small and at least two threads per
/// cell share it on average. `cells` is the number of elements of the groupshared array.
pub(crate) fn few(machine: &Machine<'_, Detectors>, address: &[Column], cells: Option<u32>) -> Option<u32> {
    let active = machine.state.active;
    let mut varying = address.iter().filter(|column| column.uniform(active).is_none());
    let column = varying.next()?;
    if varying.next().is_some() {
        return None;
    }
    let threads: Vec<usize> = active.threads().collect();
    let known: Option<Vec<u32>> = threads.iter().map(|thread| column.at(*thread).known()).collect();
    let bins = if let Some(known) = known {
        let meets = known.chunks(WAVE).all(|wave| {
            let distinct: Bins = wave.iter().copied().collect();
            distinct.len() * 2 <= wave.len()
        });
        meets.then(|| known.into_iter().collect::<Bins>().len())?
    } else {
        let by_term = || {
            let mut bins = Bins::new();
            for thread in &threads {
                bins.extend(machine.terms.bins(column.at(*thread), MAX_DEPTH)?);
            }
            Some(bins.len())
        };
        // No two threads share an address if the addresses are consecutive, wherever they begin.
        let wave = &threads[..threads.len().min(WAVE)];
        let meet = |seed: u64| {
            let mut sample = Sample::new(machine.terms, seed);
            let mut met = Bins::new();
            !wave
                .iter()
                .all(|thread| met.insert(sample.value(column.at(*thread))))
        };
        let by_term = by_term();
        if by_term.is_some() && !(0..SAMPLES).any(meet) {
            return None;
        }
        let declared = cells.map(|cells| cells as usize);
        match declared.filter(|declared| *declared <= MAX_BINS) {
            Some(declared) => by_term.map_or(declared, |bins| bins.min(declared)),
            None => by_term?,
        }
    };
    let is_few = (2..=MAX_BINS).contains(&bins) && bins * 2 <= threads.len();
    is_few.then(|| u32::try_from(bins).ok())?
}

impl Terms {
    /// All words that a value may be, if they are certainly few.
    fn bins(&self, value: &Value, depth: u32) -> Option<Bins> {
        let depth = depth.checked_sub(1)?;
        let bins = match value {
            Value::Known(word) => Bins::from([*word]),
            Value::Run { start, end, .. } if end - start == 1 => self.bins_of_atom(*start, depth)?,
            Value::Run { .. } => return None,
            Value::Sum(sum) => self.bins_of_sum(sum, depth)?,
        };
        (bins.len() <= MAX_BINS).then_some(bins)
    }

    fn bins_of_sum(&self, sum: &Sum, depth: u32) -> Option<Bins> {
        let constant = sum.constant;
        match sum.operator {
            Operator::Add => {
                let mut bins = Bins::from([constant]);
                for part in &sum.parts {
                    for atom in part.start..part.end {
                        let of_atom = self.bins_of_atom(atom, depth)?;
                        let sums = bins.iter().flat_map(|bin| {
                            let factor = part.factor;
                            of_atom
                                .iter()
                                .map(move |of| bin.wrapping_add(of.wrapping_mul(factor)))
                        });
                        bins = sums.collect();
                        if bins.len() > MAX_BINS {
                            return None;
                        }
                    }
                }
                Some(bins)
            }
            // The result of a mask is any subset of its bits.
            Operator::And if constant.count_ones() <= MAX_BINS.ilog2() => {
                let mut bins = Bins::from([0]);
                for bit in (0..32).map(|bit| 1 << bit).filter(|bit| constant & bit != 0) {
                    let with: Vec<u32> = bins.iter().map(|bin| bin | bit).collect();
                    bins.extend(with);
                }
                Some(bins)
            }
            Operator::MinUint if (constant as usize) < MAX_BINS => Some((0..=constant).collect()),
            // `clamp`: the lower bound is below the upper one, and neither is negative.
            Operator::MinInt if (constant as usize) < MAX_BINS => match sum.parts.as_slice() {
                [part] if part.end - part.start == 1 && self.least(part.start, depth)? >= 0 => {
                    Some((0..=constant).collect())
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The lower bound of an atom as an `int`.
    fn least(&self, atom: u32, depth: u32) -> Option<i32> {
        if let Term::Apply(Op::Same, arguments) = self.term(atom)? {
            return match arguments {
                [Value::Sum(sum)] if sum.operator == Operator::MaxInt => Some(sum.constant.cast_signed()),
                _ => None,
            };
        }
        let bins = self.bins_of_atom(atom, depth)?;
        bins.into_iter().map(u32::cast_signed).min()
    }

    fn bins_of_atom(&self, atom: u32, depth: u32) -> Option<Bins> {
        let Term::Apply(op, arguments) = self.term(atom)? else {
            return None;
        };
        match (op, arguments) {
            // An array element: the base of the enclosing place, the index, the components of an element, and
            // those before the array in that place.
            (Op::Offset, [base, index, Value::Known(size), Value::Known(start), _]) => {
                let bases = self.bins(base, depth)?;
                let offsets: Bins = self
                    .bins(index, depth)?
                    .into_iter()
                    .map(|index| index.wrapping_mul(*size).wrapping_add(*start))
                    .collect();
                let of_base = |base: u32| offsets.iter().map(move |offset| base.wrapping_add(*offset));
                Some(bases.into_iter().flat_map(of_base).collect())
            }
            (Op::Same, [value]) => self.bins(value, depth),
            (Op::Select, [_, a, b]) => {
                let mut bins = self.bins(a, depth)?;
                bins.extend(self.bins(b, depth)?);
                Some(bins)
            }
            (
                Op::Cast {
                    from: Scalar::Bool, ..
                }
                | Op::Unary(UnaryOp::Not, Scalar::Bool),
                _,
            ) => Some(Bins::from([0, 1])),
            (
                Op::Cast {
                    from: Scalar::Int | Scalar::Uint,
                    to: Scalar::Int | Scalar::Uint,
                },
                [value],
            ) => self.bins(value, depth),
            (Op::Binary(op, _), _) if op.is_comparison() => Some(Bins::from([0, 1])),
            (Op::Binary(BinaryOp::LogicalAnd | BinaryOp::LogicalOr, _), _) => Some(Bins::from([0, 1])),
            (Op::Binary(BinaryOp::Mod, Scalar::Uint), [_, Value::Known(modulus)])
                if (1..=MAX_BINS as u32).contains(modulus) =>
            {
                Some((0..*modulus).collect())
            }
            (Op::Binary(BinaryOp::Shr, Scalar::Uint), [_, Value::Known(amount)]) => {
                let most = u32::MAX >> (amount & 31);
                ((most as usize) < MAX_BINS).then(|| (0..=most).collect())
            }
            _ => None,
        }
    }
}
