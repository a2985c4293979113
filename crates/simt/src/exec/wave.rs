//! Operations across the active lanes of a wave.

use shaderlint_hlsl::{Expr, Intrinsic, Scalar};

use crate::exec::{Machine, Observer};
use crate::terms::Terms;
use crate::terms::column::Column;
use crate::terms::fold;
use crate::terms::operator::Operator;
use crate::terms::rounding::Way;
use crate::terms::value::Value;

/// The active lanes of one wave, ascending, each with its thread.
type Lanes = [(u32, usize)];

impl<O: Observer> Machine<'_, O> {
    /// The result of a wave intrinsic in each thread.
    pub fn wave(
        &mut self,
        intrinsic: Intrinsic,
        arguments: &[Expr],
        values: &[Vec<Column>],
        expr: &Expr,
    ) -> Vec<Column> {
        let count = self.parts(&expr.ty);
        match intrinsic {
            Intrinsic::WaveGetLaneCount => {
                return vec![Column::Uniform(Value::Known(self.waves.size))];
            }
            Intrinsic::WaveGetLaneIndex => {
                let place = &self.waves.place;
                return vec![Column::from_fn(self.lanes, |thread| {
                    Value::Known(place.get(thread).map_or(0, |(_, lane)| *lane))
                })];
            }
            _ => {}
        }
        let mut active = self.state.active.threads();
        // It must be certain which threads take part, wherever the group is still there.
        if active.any(|thread| {
            let guard = self.state.guard.at(thread);
            !self.is_known_to_hold(guard) && !self.state.convergence.holds_unless_group_left(guard)
        }) {
            return self.of_some_lanes(count);
        }
        let argument = arguments.first().and_then(|argument| argument.ty.scalar());
        let operator = operator(intrinsic, argument.unwrap_or(Scalar::Uint));
        let first = values.first().map_or(&[][..], |value| value);
        match intrinsic {
            Intrinsic::WaveActiveSum
            | Intrinsic::WaveActiveCountBits
            | Intrinsic::WaveActiveProduct
            | Intrinsic::WaveActiveMin
            | Intrinsic::WaveActiveMax
            | Intrinsic::WaveActiveBitAnd
            | Intrinsic::WaveActiveBitOr
            | Intrinsic::WaveActiveBitXor => self.totals(first, |terms, lanes, column| {
                let way = Way::Wave(intrinsic);
                terms.over_lanes(operator, way, &of_lanes(lanes, column))
            }),
            Intrinsic::WavePrefixSum | Intrinsic::WavePrefixCountBits | Intrinsic::WavePrefixProduct => self
                .by_wave(first, |terms, lanes, column, result| {
                    prefixes(terms, operator, intrinsic, lanes, column, result);
                }),
            Intrinsic::WaveIsFirstLane => self.by_wave(&[Column::ZERO], |_, lanes, _, result| {
                if let Some((_, thread)) = lanes.first() {
                    result[*thread] = Value::TRUE;
                }
            }),
            Intrinsic::WaveReadLaneFirst => {
                self.totals(first, |_, lanes, column| column.at(lanes[0].1).clone())
            }
            Intrinsic::WaveReadLaneAt => {
                O::read_lane(self, false);
                let at = values.get(1).and_then(|value| value.first());
                let at = at.cloned().unwrap_or(Column::ZERO);
                self.by_wave(first, |terms, lanes, column, result| {
                    for (_, thread) in lanes {
                        let source = at.at(*thread).known();
                        let source = lanes.iter().find(|(lane, _)| Some(*lane) == source);
                        result[*thread] = match source {
                            Some((_, source)) => column.at(*source).clone(),
                            // The lane is inactive or unknown: the result is undefined.
                            None => terms.fresh(),
                        };
                    }
                })
            }
            Intrinsic::WaveActiveAnyTrue => self.totals(first, |terms, lanes, column| {
                let any = |total, (_, thread): &(u32, usize)| terms.or(&total, column.at(*thread));
                lanes.iter().fold(Value::FALSE, any)
            }),
            Intrinsic::WaveActiveAllTrue => self.totals(first, |terms, lanes, column| {
                let all = |total, (_, thread): &(u32, usize)| terms.and(&total, column.at(*thread));
                lanes.iter().fold(Value::TRUE, all)
            }),
            Intrinsic::WaveActiveBallot => {
                let asked = first.first().cloned().unwrap_or(Column::ZERO);
                let word = |word| {
                    self.totals(std::slice::from_ref(&asked), |terms, lanes, column| {
                        ballot(terms, word, lanes, column)
                    })
                };
                (0..4).flat_map(word).collect()
            }
            _ => self.of_some_lanes(count),
        }
    }

    /// For each of these columns, the results of `f` in the threads of each wave.
    fn by_wave(
        &mut self,
        columns: &[Column],
        mut f: impl FnMut(&mut Terms, &Lanes, &Column, &mut [Value]),
    ) -> Vec<Column> {
        let active = self.state.active;
        let of_column = |column| {
            let mut result = vec![Value::Known(0); self.lanes];
            for wave in &self.waves.members {
                let lanes = wave
                    .iter()
                    .copied()
                    .filter(|(_, thread)| active.contains(*thread));
                let lanes: Vec<(u32, usize)> = lanes.collect();
                if !lanes.is_empty() {
                    f(self.terms, &lanes, column, &mut result);
                }
            }
            Column::Lanes(result.into())
        };
        columns.iter().map(of_column).collect()
    }

    /// For each of these columns, the one result of `f` for all threads of a wave.
    fn totals(
        &mut self,
        columns: &[Column],
        mut f: impl FnMut(&mut Terms, &Lanes, &Column) -> Value,
    ) -> Vec<Column> {
        self.by_wave(columns, |terms, lanes, column, result| {
            let total = f(terms, lanes, column);
            for (_, thread) in lanes {
                result[*thread] = total.clone();
            }
        })
    }

    /// The result of a wave operation that is not followed.
    fn of_some_lanes(&mut self, count: usize) -> Vec<Column> {
        if self.over_approximates() {
            // It may tell an elected lane from the others.
            return self.unknowns_by_thread(count);
        }
        self.fresh_columns(count)
    }
}

/// The operator by which a wave intrinsic combines its lanes' values.
fn operator(intrinsic: Intrinsic, scalar: Scalar) -> Operator {
    let is_float = matches!(scalar, Scalar::Float | Scalar::Half);
    match intrinsic {
        Intrinsic::WaveActiveSum | Intrinsic::WavePrefixSum if is_float => Operator::FloatAdd,
        Intrinsic::WaveActiveProduct | Intrinsic::WavePrefixProduct if is_float => Operator::FloatMul,
        Intrinsic::WaveActiveProduct | Intrinsic::WavePrefixProduct => Operator::Mul,
        Intrinsic::WaveActiveMin => fold::extremum(Intrinsic::Min, scalar).unwrap_or(Operator::MinUint),
        Intrinsic::WaveActiveMax => fold::extremum(Intrinsic::Max, scalar).unwrap_or(Operator::MaxUint),
        Intrinsic::WaveActiveBitAnd => Operator::And,
        Intrinsic::WaveActiveBitOr => Operator::Or,
        Intrinsic::WaveActiveBitXor => Operator::Xor,
        _ => Operator::Add,
    }
}

fn of_lanes(lanes: &Lanes, column: &Column) -> Vec<Value> {
    let of_lanes = lanes.iter().map(|(_, thread)| column.at(*thread).clone());
    of_lanes.collect()
}

/// For each lane, the combined values of the lanes below it.
fn prefixes(
    terms: &mut Terms,
    operator: Operator,
    intrinsic: Intrinsic,
    lanes: &Lanes,
    column: &Column,
    result: &mut [Value],
) {
    if !operator.is_exact() {
        let values = of_lanes(lanes, column);
        for (count, (_, thread)) in lanes.iter().enumerate() {
            let before = values.get(..count).unwrap_or_default();
            result[*thread] = terms.over_lanes(operator, Way::Wave(intrinsic), before);
        }
        return;
    }
    let mut total = Value::Known(operator.identity());
    for (_, thread) in lanes {
        result[*thread] = total.clone();
        total = terms.combine(operator, &total, column.at(*thread));
    }
}

/// One of the four words of a ballot: a bit for each lane whose value is true.
fn ballot(terms: &mut Terms, word: u32, lanes: &Lanes, column: &Column) -> Value {
    let of_word = lanes.iter().filter(|(lane, _)| lane / 32 == word);
    let bits: Vec<Value> = of_word
        .map(|(lane, thread)| {
            let bit = Value::Known(1 << (lane % 32));
            terms.select(column.at(*thread), &bit, &Value::Known(0))
        })
        .collect();
    let together = |all: Value, bit: &Value| terms.combine(Operator::Or, &all, bit);
    bits.iter().fold(Value::Known(0), together)
}
