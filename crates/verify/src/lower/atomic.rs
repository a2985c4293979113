//! `Interlocked*`.

use naga::{AtomicFunction, Expression, Statement};
use shaderlint_hlsl::{Expr, Intrinsic, Scalar, Span, Type};

use super::LowerError;
use super::function::{Body, Value};
use super::place::Place;

/// What an atomic does, by its name without `Interlocked`.
enum Operation {
    Simple(AtomicFunction),
    Exchange,
    /// With the original value as an out argument.
    CompareExchange,
    CompareStore,
}

fn operation(name: &str) -> Option<Operation> {
    Some(match name.strip_prefix("Interlocked")? {
        "Add" => Operation::Simple(AtomicFunction::Add),
        "And" => Operation::Simple(AtomicFunction::And),
        "Or" => Operation::Simple(AtomicFunction::InclusiveOr),
        "Xor" => Operation::Simple(AtomicFunction::ExclusiveOr),
        "Min" => Operation::Simple(AtomicFunction::Min),
        "Max" => Operation::Simple(AtomicFunction::Max),
        "Exchange" => Operation::Exchange,
        "CompareExchange" => Operation::CompareExchange,
        "CompareStore" => Operation::CompareStore,
        _ => return None,
    })
}

impl Body<'_, '_> {
    pub(super) fn interlocked(
        &mut self,
        intrinsic: Intrinsic,
        arguments: &[Expr],
        span: Span,
    ) -> Result<(), LowerError> {
        let Some((cell, rest)) = arguments.split_first() else {
            return Err(LowerError::unsupported("an atomic without a place", span));
        };
        let place = self.place(cell)?;
        self.atomic_on(intrinsic.name(), &place, rest, span)
    }

    /// The atomic of this name on `place`, with the arguments that follow the place in HLSL.
    pub(super) fn atomic_on(
        &mut self,
        name: &str,
        place: &Place,
        arguments: &[Expr],
        span: Span,
    ) -> Result<(), LowerError> {
        if let Some(condition) = place.inside {
            let accept = self.nested(|body| body.atomic_on(name, &place.anywhere(), arguments, span))?;
            self.push(Statement::If {
                condition,
                accept,
                reject: naga::Block::new(),
            });
            return Ok(());
        }
        if !matches!(place.ty, Type::Scalar(Scalar::Int | Scalar::Uint)) {
            return Err(LowerError::unsupported(
                "an atomic that is not on an int or uint",
                span,
            ));
        }
        let Some(operation) = operation(name) else {
            return Err(LowerError::unsupported(format_args!("`{name}`"), span));
        };
        match (operation, arguments) {
            (Operation::Simple(fun), [value, out @ ..]) if out.len() <= 1 => {
                let value = self.value_as(value, &place.ty)?;
                let result = if out.is_empty() {
                    None
                } else {
                    Some(self.old_value(&place.ty, span)?)
                };
                self.push(Statement::Atomic {
                    pointer: place.pointer,
                    fun,
                    value,
                    result,
                });
                self.give_back(out, result, &place.ty, span)
            }
            (Operation::Exchange, [value, out @ ..]) if out.len() <= 1 => {
                let value = self.value_as(value, &place.ty)?;
                let result = self.old_value(&place.ty, span)?;
                self.push(Statement::Atomic {
                    pointer: place.pointer,
                    fun: AtomicFunction::Exchange { compare: None },
                    value,
                    result: Some(result),
                });
                self.give_back(out, Some(result), &place.ty, span)
            }
            (Operation::CompareExchange, [compare, value, out]) => {
                let old = self.compare_exchange(place, compare, value)?;
                self.give_back(std::slice::from_ref(out), Some(old), &place.ty, span)
            }
            (Operation::CompareStore, [compare, value]) => {
                self.compare_exchange(place, compare, value)?;
                Ok(())
            }
            _ => Err(LowerError::unsupported(
                format_args!("`{name}` with this many arguments"),
                span,
            )),
        }
    }

    fn compare_exchange(&mut self, place: &Place, compare: &Expr, value: &Expr) -> Result<Value, LowerError> {
        let compare = self.value_as(compare, &place.ty)?;
        let value = self.value_as(value, &place.ty)?;
        let scalar = if place.ty == Type::INT {
            naga::Scalar::I32
        } else {
            naga::Scalar::U32
        };
        let ty = self
            .unit
            .module
            .generate_predeclared_type(naga::PredeclaredType::AtomicCompareExchangeWeakResult(scalar));
        let result = self.add_result(Expression::AtomicResult { ty, comparison: true });
        self.push(Statement::Atomic {
            pointer: place.pointer,
            fun: AtomicFunction::Exchange {
                compare: Some(compare),
            },
            value,
            result: Some(result),
        });
        Ok(self.add(Expression::AccessIndex {
            base: result,
            index: 0,
        }))
    }

    fn old_value(&mut self, ty: &Type, span: Span) -> Result<Value, LowerError> {
        let ty = self.unit.value_type(ty, span)?;
        Ok(self.add_result(Expression::AtomicResult {
            ty,
            comparison: false,
        }))
    }

    fn give_back(
        &mut self,
        out: &[Expr],
        old: Option<Value>,
        ty: &Type,
        span: Span,
    ) -> Result<(), LowerError> {
        if let (Some(out), Some(old)) = (out.first(), old) {
            let target = self.target(out)?;
            let old = self.convert(old, ty, &out.ty, span)?;
            self.store_target(&target, old, span)?;
        }
        Ok(())
    }
}
