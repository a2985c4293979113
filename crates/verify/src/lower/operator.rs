//! Unary and binary operators.

use naga::{BinaryOperator, Expression, ScalarKind, UnaryOperator};
use shaderlint_hlsl::{BinaryOp, Expr, Scalar, Span, Type, UnaryOp};

use super::body::{Body, Value};
use super::types::simplify;
use super::{LowerError, constant};

impl Body<'_, '_> {
    pub(super) fn unary(&mut self, op: UnaryOp, operand: &Expr) -> Result<Value, LowerError> {
        let ty = simplify(&operand.ty);
        let value = self.value(operand)?;
        let op = match (op, ty.scalar()) {
            (UnaryOp::Negate, Some(Scalar::Uint)) => {
                let zero = self.zero(&ty, operand.span)?;
                return Ok(self.emit_binary(BinaryOperator::Subtract, zero, value));
            }
            (UnaryOp::Negate, _) if matches!(ty, Type::Matrix(..)) => {
                return self.by_row(&ty, &[value], operand.span, |body, row| {
                    Ok(body.add(Expression::Unary {
                        op: UnaryOperator::Negate,
                        expr: row.first().copied().unwrap_or(value),
                    }))
                });
            }
            (UnaryOp::Negate, Some(Scalar::Int | Scalar::Float | Scalar::Half)) => UnaryOperator::Negate,
            (UnaryOp::Not, Some(Scalar::Bool)) => UnaryOperator::LogicalNot,
            (UnaryOp::Complement, Some(Scalar::Int | Scalar::Uint)) => UnaryOperator::BitwiseNot,
            _ => {
                return Err(LowerError::unsupported(
                    "this operator on this type",
                    operand.span,
                ));
            }
        };
        Ok(self.add(Expression::Unary { op, expr: value }))
    }

    /// `left op right`, both of type `ty`. The right operand comes from [`Self::right_operand`].
    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        left: Value,
        right: Value,
        ty: &Type,
        span: Span,
    ) -> Result<Value, LowerError> {
        let ty = simplify(ty);
        let Some(scalar) = ty.scalar() else {
            return Err(LowerError::unsupported(
                "an operator on a value that is not a number",
                span,
            ));
        };
        if matches!(ty, Type::Matrix(..)) {
            return match op {
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Mod => {
                    let Type::Matrix(_, _, columns) = ty else {
                        return Err(LowerError::unsupported("this operator on matrices", span));
                    };
                    let row_type = Type::Vector(scalar, columns);
                    self.by_row(&ty, &[left, right], span, |body, rows| match rows {
                        [a, b] => body.binary(op, *a, *b, &row_type, span),
                        _ => Err(LowerError::unsupported("this operator on matrices", span)),
                    })
                }
                _ => Err(LowerError::unsupported("this operator on matrices", span)),
            };
        }
        let is_bool = scalar == Scalar::Bool;
        // HLSL's `!=` is true for NaN, as `bool(f)` is `f != 0`. naga's is false for NaN in SPIR-V (`OpFOrdNotEqual`).
        if op == BinaryOp::NotEqual && scalar.is_float() {
            let expr = self.binary(BinaryOp::Equal, left, right, &ty, span)?;
            return Ok(self.add(Expression::Unary {
                op: UnaryOperator::LogicalNot,
                expr,
            }));
        }
        let op = match op {
            BinaryOp::Xor if is_bool => BinaryOperator::NotEqual,
            BinaryOp::And | BinaryOp::LogicalAnd => BinaryOperator::And,
            BinaryOp::Or | BinaryOp::LogicalOr => BinaryOperator::InclusiveOr,
            BinaryOp::Equal => BinaryOperator::Equal,
            BinaryOp::NotEqual => BinaryOperator::NotEqual,
            _ if is_bool => return Err(LowerError::unsupported("arithmetic on bool", span)),
            BinaryOp::Add => BinaryOperator::Add,
            BinaryOp::Sub => BinaryOperator::Subtract,
            BinaryOp::Mul => BinaryOperator::Multiply,
            BinaryOp::Div => BinaryOperator::Divide,
            BinaryOp::Mod => BinaryOperator::Modulo,
            BinaryOp::Xor => BinaryOperator::ExclusiveOr,
            BinaryOp::Shl => BinaryOperator::ShiftLeft,
            BinaryOp::Shr => BinaryOperator::ShiftRight,
            BinaryOp::Less => BinaryOperator::Less,
            BinaryOp::LessEqual => BinaryOperator::LessEqual,
            BinaryOp::Greater => BinaryOperator::Greater,
            BinaryOp::GreaterEqual => BinaryOperator::GreaterEqual,
        };
        if scalar.is_float()
            && matches!(
                op,
                BinaryOperator::And
                    | BinaryOperator::InclusiveOr
                    | BinaryOperator::ExclusiveOr
                    | BinaryOperator::ShiftLeft
                    | BinaryOperator::ShiftRight
            )
        {
            return Err(LowerError::unsupported("a bit operator on floats", span));
        }
        let result = self.emit_binary(op, left, right);
        let zero = |lowering: &mut Self| lowering.folded(&ty, &[0], span);
        let of_zero = match (op, scalar) {
            (BinaryOperator::Divide | BinaryOperator::Modulo, Scalar::Uint) => {
                self.folded(&ty, &[u32::MAX], span)?
            }
            (BinaryOperator::Divide, Scalar::Int) => zero(self)?,
            (BinaryOperator::Modulo, Scalar::Int) => left,
            _ => return Ok(result),
        };
        let zero = zero(self)?;
        Ok(self.unless_by_zero(result, right, zero, of_zero))
    }

    /// A quotient or remainder of integers, with its own value for a division by zero. "Divide by zero returns 0xffffffff for
    /// both quotient and remainder" (learn.microsoft.com, *udiv (sm4 - asm)*). With a sign the result is undefined, and DXC turns
    /// `x - x / y * y` into `x % y`: here both are `x` then, but not in WGSL.
    fn unless_by_zero(&mut self, result: Value, divisor: Value, zero: Value, of_zero: Value) -> Value {
        let condition = self.emit_binary(BinaryOperator::Equal, divisor, zero);
        self.add(Expression::Select {
            condition,
            accept: of_zero,
            reject: result,
        })
    }

    /// The right operand of `op` on a left one of type `ty`, ready for [`Self::binary`].
    pub(super) fn right_operand(
        &mut self,
        op: BinaryOp,
        right: &Expr,
        ty: &Type,
    ) -> Result<Value, LowerError> {
        let ty = simplify(ty);
        if !matches!(op, BinaryOp::Shl | BinaryOp::Shr) {
            if matches!(op, BinaryOp::Div | BinaryOp::Mod)
                && !ty.scalar().is_some_and(Scalar::is_float)
                && constant::fold(self.module.shader, right).is_some_and(|bits| bits.contains(&0))
            {
                return Err(LowerError::unsupported("a division by zero", right.span));
            }
            return self.value_as(right, &ty);
        }
        let amounts = ty.with_scalar(Scalar::Uint);
        if let Some(bits) = constant::fold(self.module.shader, right) {
            let masked: Vec<u32> = bits.iter().map(|bits| bits & 31).collect();
            if masked.len() == 1 || masked.len() == self.module.shader.components(&amounts) {
                return self.folded(&amounts, &masked, right.span);
            }
        }
        let amount = self.value_as(right, &ty)?;
        let amount = match ty.scalar() {
            Some(Scalar::Int) => self.bit_cast(amount, ScalarKind::Uint),
            Some(Scalar::Uint) => amount,
            _ => {
                return Err(LowerError::unsupported(
                    "a shift of something that is not an integer",
                    right.span,
                ));
            }
        };
        let mask = self.folded(&amounts, &[31], right.span)?;
        Ok(self.emit_binary(BinaryOperator::And, amount, mask))
    }

    /// Applies `row` to each row of matrices of type `ty`.
    pub(super) fn by_row(
        &mut self,
        ty: &Type,
        operands: &[Value],
        span: Span,
        mut row: impl FnMut(&mut Self, &[Value]) -> Result<Value, LowerError>,
    ) -> Result<Value, LowerError> {
        let Type::Matrix(_, rows, _) = ty else {
            return Err(LowerError::unsupported("this matrix", span));
        };
        let mut components = Vec::new();
        for index in 0..u32::from(*rows) {
            let parts: Vec<Value> = operands
                .iter()
                .map(|base| self.add(Expression::AccessIndex { base: *base, index }))
                .collect();
            components.push(row(self, &parts)?);
        }
        let ty = self.module.value_type(ty, span)?;
        Ok(self.add(Expression::Compose { ty, components }))
    }
}
