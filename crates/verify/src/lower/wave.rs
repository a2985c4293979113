//! Wave intrinsics as subgroup operations.

use naga::{
    BinaryOperator, CollectiveOperation, Direction, Expression, GatherMode, MathFunction, Statement,
    SubgroupOperation,
};
use shaderlint_hlsl::{Expr, Intrinsic, Scalar, Span, Type};

use super::LowerError;
use super::body::{Body, Value};
use super::types::{simplify, width};

impl Body<'_, '_> {
    pub(super) fn wave(
        &mut self,
        intrinsic: Intrinsic,
        arguments: &[Expr],
        ty: &Type,
        span: Span,
    ) -> Result<Value, LowerError> {
        use Intrinsic as I;
        if let (Some((op, form)), [argument]) = (reduction(intrinsic), arguments) {
            let value = self.value_as(argument, ty)?;
            return self.collective(op, form, value, ty, span);
        }
        if let (Some(mode), [argument]) = (fixed_gather(intrinsic), arguments) {
            return self.gather(mode, argument, span);
        }
        match (intrinsic, arguments) {
            (I::WaveGetLaneIndex | I::WaveGetLaneCount, []) => {
                let value = self.lane_built_in(intrinsic, span)?;
                self.convert(value, &Type::UINT, ty, span)
            }
            (I::WaveIsFirstLane, []) => self.is_first_lane(span),
            (I::WaveActiveCountBits, [predicate]) => {
                let count = self.active_lanes(predicate)?;
                self.convert(count, &Type::UINT, ty, span)
            }
            (I::WavePrefixCountBits, [predicate]) => {
                let count = if self.module.lane_index.is_some() {
                    self.lanes_before(predicate, span)?
                } else {
                    self.scanned_ones(predicate, span)?
                };
                self.convert(count, &Type::UINT, ty, span)
            }
            (I::WaveActiveAllTrue | I::WaveActiveAnyTrue, [predicate]) => {
                let predicate = self.value_as(predicate, &Type::BOOL)?;
                let op = if intrinsic == I::WaveActiveAllTrue {
                    SubgroupOperation::All
                } else {
                    SubgroupOperation::Any
                };
                self.collective(op, CollectiveOperation::Reduce, predicate, &Type::BOOL, span)
            }
            (I::WaveActiveBallot, [predicate]) => self.ballot(predicate),
            (I::WaveActiveAllEqual, [argument]) => self.all_equal(argument, span),
            (I::WaveReadLaneAt, [argument, lane]) => {
                let lane = self.value_as(lane, &Type::UINT)?;
                self.gather(GatherMode::Shuffle(lane), argument, span)
            }
            (I::QuadReadLaneAt, [argument, index]) => {
                let lane = self.lane_of_quad(index, span)?;
                self.gather(GatherMode::Shuffle(lane), argument, span)
            }
            (I::QuadAny | I::QuadAll, [predicate]) => {
                self.quad_vote(intrinsic == I::QuadAny, predicate, span)
            }
            _ => Err(LowerError::unsupported(
                format_args!("`{}` has no WGSL form", intrinsic.name()),
                span,
            )),
        }
    }

    /// naga has no form of WGSL's `subgroupElect`. A broadcast is the cheapest substitute; a scan would take as long as the
    /// operation that the election serves.
    fn is_first_lane(&mut self, span: Span) -> Result<Value, LowerError> {
        let own = self.lane_built_in(Intrinsic::WaveIsFirstLane, span)?;
        let first = self.gather_value(GatherMode::BroadcastFirst, own, &Type::UINT, span)?;
        Ok(self.emit_binary(BinaryOperator::Equal, own, first))
    }

    /// The number of lanes for which the predicate holds.
    fn active_lanes(&mut self, predicate: &Expr) -> Result<Value, LowerError> {
        let ballot = self.ballot(predicate)?;
        let counts = self.emit_math(MathFunction::CountOneBits, ballot, &[]);
        let mut count = self.uint(0);
        for index in 0..4 {
            let part = self.add(Expression::AccessIndex { base: counts, index });
            count = self.emit_binary(BinaryOperator::Add, count, part);
        }
        Ok(count)
    }

    /// As [`Self::lanes_before`], by a scan.
    fn scanned_ones(&mut self, predicate: &Expr, span: Span) -> Result<Value, LowerError> {
        let predicate = self.value_as(predicate, &Type::BOOL)?;
        let (one, zero) = (self.uint(1), self.uint(0));
        let value = self.add(Expression::Select {
            condition: predicate,
            accept: one,
            reject: zero,
        });
        let form = CollectiveOperation::ExclusiveScan;
        self.collective(SubgroupOperation::Add, form, value, &Type::UINT, span)
    }

    /// The lane with this index in the own lane's quad.
    fn lane_of_quad(&mut self, index: &Expr, span: Span) -> Result<Value, LowerError> {
        let own = self.lane_built_in(Intrinsic::WaveGetLaneIndex, span)?;
        let index = self.value_as(index, &Type::UINT)?;
        let (low, high) = (self.uint(3), self.uint(!3));
        let base = self.emit_binary(BinaryOperator::And, own, high);
        let index = self.emit_binary(BinaryOperator::And, index, low);
        Ok(self.emit_binary(BinaryOperator::InclusiveOr, base, index))
    }

    /// The number of lanes before this one for which the predicate holds: the bits of a ballot below the own lane's. A scan
    /// of ones would take as long as the scan that the count serves.
    fn lanes_before(&mut self, predicate: &Expr, span: Span) -> Result<Value, LowerError> {
        use MathFunction as Math;
        let ballot = self.ballot(predicate)?;
        let lane = self.lane_built_in(Intrinsic::WaveGetLaneIndex, span)?;
        let (zero, word) = (self.uint(0), self.uint(32));
        let mut count = zero;
        for index in 0..4 {
            let first = self.uint(32 * index);
            // min(max(lane, first) - first, 32): the number of the word's lanes that come before.
            let past = self.emit_math(Math::Max, lane, &[first]);
            let past = self.emit_binary(BinaryOperator::Subtract, past, first);
            let bits = self.emit_math(Math::Min, past, &[word]);
            let part = self.add(Expression::AccessIndex { base: ballot, index });
            let below = self.emit_math(Math::ExtractBits, part, &[zero, bits]);
            let ones = self.emit_math(Math::CountOneBits, below, &[]);
            count = self.emit_binary(BinaryOperator::Add, count, ones);
        }
        Ok(count)
    }

    /// Whether the predicate holds in any lane of the quad, or in all four.
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
            votes = self.emit_binary(op, votes, other);
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
        let ty = self.module.value_type(ty, span)?;
        let result = self.add_result(Expression::SubgroupOperationResult { ty });
        self.push(Statement::SubgroupCollectiveOperation {
            op,
            collective_op: form,
            argument,
            result,
        });
        Ok(result)
    }

    /// Reads another lane's value. Subgroup operations take no `bool`, so it becomes 0 or 1.
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
        let ty = self.module.value_type(ty, span)?;
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

    /// The lane's index, the wave's size, or the thread's index, which `WaveIsFirstLane` compares.
    fn lane_built_in(&mut self, intrinsic: Intrinsic, span: Span) -> Result<Value, LowerError> {
        let variable = match intrinsic {
            Intrinsic::WaveGetLaneIndex => self.module.lane_index,
            Intrinsic::WaveIsFirstLane => self.module.thread_index,
            _ => self.module.lane_count,
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
        let equal = self.emit_binary(BinaryOperator::Equal, value, first);
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
        let ty = self.module.vector_type(Scalar::Bool, n, span)?;
        Ok(self.add(Expression::Compose { ty, components }))
    }
}

/// Reductions and scans of one operator.
fn reduction(intrinsic: Intrinsic) -> Option<(SubgroupOperation, CollectiveOperation)> {
    use CollectiveOperation::{ExclusiveScan, Reduce};
    use SubgroupOperation as Op;
    Some(match intrinsic {
        Intrinsic::WaveActiveSum => (Op::Add, Reduce),
        Intrinsic::WaveActiveProduct => (Op::Mul, Reduce),
        Intrinsic::WaveActiveMin => (Op::Min, Reduce),
        Intrinsic::WaveActiveMax => (Op::Max, Reduce),
        Intrinsic::WaveActiveBitAnd => (Op::And, Reduce),
        Intrinsic::WaveActiveBitOr => (Op::Or, Reduce),
        Intrinsic::WaveActiveBitXor => (Op::Xor, Reduce),
        Intrinsic::WavePrefixSum => (Op::Add, ExclusiveScan),
        Intrinsic::WavePrefixProduct => (Op::Mul, ExclusiveScan),
        _ => return None,
    })
}

/// Reads of another lane that take no lane as an argument.
fn fixed_gather(intrinsic: Intrinsic) -> Option<GatherMode> {
    Some(match intrinsic {
        Intrinsic::WaveReadLaneFirst => GatherMode::BroadcastFirst,
        Intrinsic::QuadReadAcrossX => GatherMode::QuadSwap(Direction::X),
        Intrinsic::QuadReadAcrossY => GatherMode::QuadSwap(Direction::Y),
        Intrinsic::QuadReadAcrossDiagonal => GatherMode::QuadSwap(Direction::Diagonal),
        _ => return None,
    })
}
