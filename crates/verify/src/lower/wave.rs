//! Wave intrinsics as subgroup operations.

use naga::{
    BinaryOperator, CollectiveOperation, Direction, Expression, GatherMode, Statement, SubgroupOperation,
};
use shaderlint_hlsl::{Expr, Intrinsic, Scalar, Span, Type};

use super::LowerError;
use super::convert::width;
use super::function::{Body, Value};
use super::types::simplify;

impl Body<'_, '_> {
    pub(super) fn wave(
        &mut self,
        intrinsic: Intrinsic,
        arguments: &[Expr],
        ty: &Type,
        span: Span,
    ) -> Result<Value, LowerError> {
        use Intrinsic as I;
        use SubgroupOperation as Op;
        let reduce = |op| (op, CollectiveOperation::Reduce);
        let (op, form) = match (intrinsic, arguments) {
            (I::WaveGetLaneIndex | I::WaveGetLaneCount, []) => {
                let value = self.lane_built_in(intrinsic, span)?;
                return self.convert(value, &Type::UINT, ty, span);
            }
            (I::WaveIsFirstLane, []) => {
                // WGSL has no elect; a broadcast is the cheapest there is (a scan would take as long as what it serves).
                let own = self.lane_built_in(I::WaveIsFirstLane, span)?;
                let first = self.gather_value(GatherMode::BroadcastFirst, own, &Type::UINT, span)?;
                return Ok(self.add(Expression::Binary {
                    op: BinaryOperator::Equal,
                    left: own,
                    right: first,
                }));
            }
            (I::WaveActiveCountBits, [predicate]) => {
                let ballot = self.ballot(predicate)?;
                let counts = self.math_of(naga::MathFunction::CountOneBits, ballot, &[]);
                let mut count = self.uint(0);
                for index in 0..4 {
                    let part = self.add(Expression::AccessIndex { base: counts, index });
                    count = self.add(Expression::Binary {
                        op: BinaryOperator::Add,
                        left: count,
                        right: part,
                    });
                }
                return self.convert(count, &Type::UINT, ty, span);
            }
            (I::WavePrefixCountBits, [predicate]) if self.unit.lane_index.is_some() => {
                let count = self.lanes_before(predicate, span)?;
                return self.convert(count, &Type::UINT, ty, span);
            }
            (I::WavePrefixCountBits, [predicate]) => {
                let predicate = self.value_as(predicate, &Type::BOOL)?;
                let (one, zero) = (self.uint(1), self.uint(0));
                let value = self.add(Expression::Select {
                    condition: predicate,
                    accept: one,
                    reject: zero,
                });
                let form = CollectiveOperation::ExclusiveScan;
                let count = self.collective(Op::Add, form, value, &Type::UINT, span)?;
                return self.convert(count, &Type::UINT, ty, span);
            }
            (I::WaveActiveAllTrue | I::WaveActiveAnyTrue, [predicate]) => {
                let predicate = self.value_as(predicate, &Type::BOOL)?;
                let op = if intrinsic == I::WaveActiveAllTrue {
                    Op::All
                } else {
                    Op::Any
                };
                return self.collective(op, CollectiveOperation::Reduce, predicate, &Type::BOOL, span);
            }
            (I::WaveActiveBallot, [predicate]) => return self.ballot(predicate),
            (I::WaveActiveAllEqual, [argument]) => return self.all_equal(argument, span),
            (I::WaveReadLaneFirst, [argument]) => {
                return self.gather(GatherMode::BroadcastFirst, argument, span);
            }
            (I::WaveReadLaneAt, [argument, lane]) => {
                let lane = self.value_as(lane, &Type::UINT)?;
                return self.gather(GatherMode::Shuffle(lane), argument, span);
            }
            (I::QuadReadAcrossX, [argument]) => {
                return self.gather(GatherMode::QuadSwap(Direction::X), argument, span);
            }
            (I::QuadReadAcrossY, [argument]) => {
                return self.gather(GatherMode::QuadSwap(Direction::Y), argument, span);
            }
            (I::QuadReadAcrossDiagonal, [argument]) => {
                return self.gather(GatherMode::QuadSwap(Direction::Diagonal), argument, span);
            }
            (I::QuadReadLaneAt, [argument, index]) => {
                let own = self.lane_built_in(I::WaveGetLaneIndex, span)?;
                let index = self.value_as(index, &Type::UINT)?;
                let (low, high) = (self.uint(3), self.uint(!3));
                let base = self.bits_of(BinaryOperator::And, own, high);
                let index = self.bits_of(BinaryOperator::And, index, low);
                let lane = self.bits_of(BinaryOperator::InclusiveOr, base, index);
                return self.gather(GatherMode::Shuffle(lane), argument, span);
            }
            (I::QuadAny | I::QuadAll, [predicate]) => {
                return self.quad_vote(intrinsic == I::QuadAny, predicate, span);
            }
            (I::WaveActiveSum, [_]) => reduce(Op::Add),
            (I::WaveActiveProduct, [_]) => reduce(Op::Mul),
            (I::WaveActiveMin, [_]) => reduce(Op::Min),
            (I::WaveActiveMax, [_]) => reduce(Op::Max),
            (I::WaveActiveBitAnd, [_]) => reduce(Op::And),
            (I::WaveActiveBitOr, [_]) => reduce(Op::Or),
            (I::WaveActiveBitXor, [_]) => reduce(Op::Xor),
            (I::WavePrefixSum, [_]) => (Op::Add, CollectiveOperation::ExclusiveScan),
            (I::WavePrefixProduct, [_]) => (Op::Mul, CollectiveOperation::ExclusiveScan),
            _ => {
                return Err(LowerError::unsupported(
                    format_args!("`{}` has no WGSL form", intrinsic.name()),
                    span,
                ));
            }
        };
        let Some(argument) = arguments.first() else {
            return Err(LowerError::unsupported("a wave operation without a value", span));
        };
        let value = self.value_as(argument, ty)?;
        self.collective(op, form, value, ty, span)
    }

    /// The number of lanes before this one for which the predicate holds: the bits of a ballot below the own lane's.
    /// A scan of ones would take as long as the scan that it serves.
    fn lanes_before(&mut self, predicate: &Expr, span: Span) -> Result<Value, LowerError> {
        use naga::MathFunction as Math;
        let ballot = self.ballot(predicate)?;
        let lane = self.lane_built_in(Intrinsic::WaveGetLaneIndex, span)?;
        let (zero, word) = (self.uint(0), self.uint(32));
        let mut count = zero;
        for index in 0..4 {
            let first = self.uint(32 * index);
            // max(lane, first) - first, at most a word: how many of the word's lanes come before.
            let past = self.math_of(Math::Max, lane, &[first]);
            let past = self.bits_of(BinaryOperator::Subtract, past, first);
            let bits = self.math_of(Math::Min, past, &[word]);
            let part = self.add(Expression::AccessIndex { base: ballot, index });
            let below = self.math_of(Math::ExtractBits, part, &[zero, bits]);
            let ones = self.math_of(Math::CountOneBits, below, &[]);
            count = self.bits_of(BinaryOperator::Add, count, ones);
        }
        Ok(count)
    }

    fn math_of(&mut self, fun: naga::MathFunction, first: Value, more: &[Value]) -> Value {
        self.add(Expression::Math {
            fun,
            arg: first,
            arg1: more.first().copied(),
            arg2: more.get(1).copied(),
            arg3: None,
        })
    }

    fn bits_of(&mut self, op: BinaryOperator, left: Value, right: Value) -> Value {
        self.add(Expression::Binary { op, left, right })
    }

    /// Whether the predicate holds in any, or in all, of the quad's four lanes.
    fn quad_vote(&mut self, any: bool, predicate: &Expr, span: Span) -> Result<Value, LowerError> {
        let own = self.value_as(predicate, &Type::BOOL)?;
        let own = self.convert(own, &Type::BOOL, &Type::UINT, span)?;
        let op = if any {
            BinaryOperator::InclusiveOr
        } else {
            BinaryOperator::And
        };
        let mut votes = own;
        for direction in [Direction::X, Direction::Y, Direction::Diagonal] {
            let other = self.gather_value(GatherMode::QuadSwap(direction), own, &Type::UINT, span)?;
            votes = self.bits_of(op, votes, other);
        }
        self.convert(votes, &Type::UINT, &Type::BOOL, span)
    }

    fn collective(
        &mut self,
        op: SubgroupOperation,
        form: CollectiveOperation,
        argument: Value,
        ty: &Type,
        span: Span,
    ) -> Result<Value, LowerError> {
        if width(&simplify(ty)).is_none() {
            return Err(LowerError::unsupported("a wave operation on this type", span));
        }
        let ty = self.unit.value_type(ty, span)?;
        let result = self.add_result(Expression::SubgroupOperationResult { ty });
        self.push(Statement::SubgroupCollectiveOperation {
            op,
            collective_op: form,
            argument,
            result,
        });
        Ok(result)
    }

    /// Reads another lane's value. Subgroup operations take no `bool`: that travels as 0 or 1.
    fn gather(&mut self, mode: GatherMode, argument: &Expr, span: Span) -> Result<Value, LowerError> {
        let own = simplify(&argument.ty);
        if width(&own).is_none() {
            return Err(LowerError::unsupported("a wave operation on this type", span));
        }
        let is_bool = own.scalar() == Some(Scalar::Bool);
        let carried = if is_bool {
            own.with_scalar(Scalar::Uint)
        } else {
            own.clone()
        };
        let value = self.value_as(argument, &carried)?;
        let result = self.gather_value(mode, value, &carried, span)?;
        self.convert(result, &carried, &own, span)
    }

    fn gather_value(
        &mut self,
        mode: GatherMode,
        argument: Value,
        ty: &Type,
        span: Span,
    ) -> Result<Value, LowerError> {
        let ty = self.unit.value_type(ty, span)?;
        let result = self.add_result(Expression::SubgroupOperationResult { ty });
        self.push(Statement::SubgroupGather {
            mode,
            argument,
            result,
        });
        Ok(result)
    }

    /// The lanes for which a condition holds, as 128 bits.
    fn ballot(&mut self, predicate: &Expr) -> Result<Value, LowerError> {
        let predicate = self.value_as(predicate, &Type::BOOL)?;
        let result = self.add_result(Expression::SubgroupBallotResult);
        self.push(Statement::SubgroupBallot {
            result,
            predicate: Some(predicate),
        });
        Ok(result)
    }

    /// The lane's index, the wave's size, or the thread's index by which `WaveIsFirstLane` tells it.
    fn lane_built_in(&mut self, intrinsic: Intrinsic, span: Span) -> Result<Value, LowerError> {
        let variable = match intrinsic {
            Intrinsic::WaveGetLaneIndex => self.unit.lane_index,
            Intrinsic::WaveIsFirstLane => self.unit.thread_index,
            _ => self.unit.lane_count,
        };
        let Some(variable) = variable else {
            return Err(LowerError::unsupported("a lane built-in here", span));
        };
        let pointer = self.add(Expression::GlobalVariable(variable));
        Ok(self.add(Expression::Load { pointer }))
    }

    /// Whether every active lane has the first one's value, for each component.
    fn all_equal(&mut self, argument: &Expr, span: Span) -> Result<Value, LowerError> {
        let own = simplify(&argument.ty);
        let carried = if own.scalar() == Some(Scalar::Bool) {
            own.with_scalar(Scalar::Uint)
        } else {
            own.clone()
        };
        let Some(n) = width(&carried) else {
            return Err(LowerError::unsupported("a wave operation on this type", span));
        };
        let value = self.value_as(argument, &carried)?;
        let first = self.gather_value(GatherMode::BroadcastFirst, value, &carried, span)?;
        let equal = self.add(Expression::Binary {
            op: BinaryOperator::Equal,
            left: value,
            right: first,
        });
        if n == 1 {
            return self.collective(
                SubgroupOperation::All,
                CollectiveOperation::Reduce,
                equal,
                &Type::BOOL,
                span,
            );
        }
        let mut components = Vec::new();
        for index in 0..u32::from(n) {
            let part = self.add(Expression::AccessIndex { base: equal, index });
            let all = self.collective(
                SubgroupOperation::All,
                CollectiveOperation::Reduce,
                part,
                &Type::BOOL,
                span,
            )?;
            components.push(all);
        }
        let ty = self.unit.vector_type(Scalar::Bool, n, span)?;
        Ok(self.add(Expression::Compose { ty, components }))
    }
}
