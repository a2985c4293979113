//! `Interlocked*` functions and methods as naga's atomics.

use naga::{AtomicFunction, Expression, Statement};
use shaderlint_hlsl::{Expr, Intrinsic, Scalar, Span, Type};

use super::LowerError;
use super::body::{Body, Place, Value};

/// What an atomic does to its cell.
enum Operation {
    Simple(AtomicFunction),
    Exchange,
    /// With the original value as an out argument.
    CompareExchange,
    CompareStore,
}

fn operation(intrinsic: Intrinsic) -> Option<Operation> {
    Some(match intrinsic {
        Intrinsic::InterlockedAdd => Operation::Simple(AtomicFunction::Add),
        Intrinsic::InterlockedAnd => Operation::Simple(AtomicFunction::And),
        Intrinsic::InterlockedOr => Operation::Simple(AtomicFunction::InclusiveOr),
        Intrinsic::InterlockedXor => Operation::Simple(AtomicFunction::ExclusiveOr),
        Intrinsic::InterlockedMin => Operation::Simple(AtomicFunction::Min),
        Intrinsic::InterlockedMax => Operation::Simple(AtomicFunction::Max),
        Intrinsic::InterlockedExchange => Operation::Exchange,
        Intrinsic::InterlockedCompareExchange => Operation::CompareExchange,
        Intrinsic::InterlockedCompareStore => Operation::CompareStore,
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
            return Err(LowerError::unsupported("an atomic without a destination", span));
        };
        let place = self.place(cell)?;
        self.atomic_on(intrinsic, &place, rest, span)
    }

    /// The atomic on `place`, with the arguments that follow the place in HLSL.
    ///
    /// Outside of a texture it evaluates its arguments and changes nothing. D3D leaves undefined which value it finds there
    /// (D3D11.3 functional spec, `imm_atomic_*`). Here it finds 0 in every kernel. So a kernel that uses the value never
    /// differs from itself, nor from a kernel with a 0 in its place, which is a permitted outcome.
    pub(super) fn atomic_on(
        &mut self,
        intrinsic: Intrinsic,
        place: &Place,
        arguments: &[Expr],
        span: Span,
    ) -> Result<(), LowerError> {
        if !matches!(place.ty, Type::Scalar(Scalar::Int | Scalar::Uint)) {
            return Err(LowerError::unsupported(
                "an atomic that is not on an int or uint",
                span,
            ));
        }
        let name = intrinsic.name();
        let Some(operation) = operation(intrinsic) else {
            return Err(LowerError::unsupported(format_args!("`{name}`"), span));
        };
        let (fun, value, out) = match (operation, arguments) {
            (Operation::Simple(fun), [value, out @ ..]) if out.len() <= 1 => {
                (fun, self.value_as(value, &place.ty)?, out.first())
            }
            (Operation::Exchange, [value, out @ ..]) if out.len() <= 1 => {
                let fun = AtomicFunction::Exchange { compare: None };
                (fun, self.value_as(value, &place.ty)?, out.first())
            }
            (Operation::CompareExchange, [compare, value, _])
            | (Operation::CompareStore, [compare, value]) => {
                let compare = Some(self.value_as(compare, &place.ty)?);
                let fun = AtomicFunction::Exchange { compare };
                (fun, self.value_as(value, &place.ty)?, arguments.get(2))
            }
            _ => {
                return Err(LowerError::unsupported(
                    format_args!("`{name}` with this many arguments"),
                    span,
                ));
            }
        };
        let found = self.found(place, fun, value, out.is_some(), span)?;
        if let (Some(out), Some(found)) = (out, found) {
            self.store_out(out, found, &place.ty, span)?;
        }
        Ok(())
    }

    /// Performs an atomic if its place is inside. Gives the value found there if that `is_wanted`.
    fn found(
        &mut self,
        place: &Place,
        fun: AtomicFunction,
        value: Value,
        is_wanted: bool,
        span: Span,
    ) -> Result<Option<Value>, LowerError> {
        let Some(condition) = place.inside else {
            return self.atomic(place, fun, value, is_wanted, span);
        };
        let kept = if is_wanted {
            let kept = self.temporary(&place.ty, span)?;
            // The variable itself starts as 0 only once.
            let nothing = self.zero(&place.ty, span)?;
            self.store(&kept, nothing, span)?;
            Some(kept)
        } else {
            None
        };
        let accept = self.nested(|body| {
            let found = body.atomic(place, fun, value, is_wanted, span)?;
            match (&kept, found) {
                (Some(kept), Some(found)) => body.store(kept, found, span),
                _ => Ok(()),
            }
        })?;
        self.push(Statement::If {
            condition,
            accept,
            reject: naga::Block::new(),
        });
        kept.map(|kept| self.load(&kept, span)).transpose()
    }

    fn atomic(
        &mut self,
        place: &Place,
        fun: AtomicFunction,
        value: Value,
        is_wanted: bool,
        span: Span,
    ) -> Result<Option<Value>, LowerError> {
        let comparison = matches!(fun, AtomicFunction::Exchange { compare: Some(_) });
        let ty = match (&place.ty, comparison) {
            (ty, false) => self.module.value_type(ty, span)?,
            (ty, true) => {
                let scalar = if *ty == Type::INT {
                    naga::Scalar::I32
                } else {
                    naga::Scalar::U32
                };
                let result = naga::PredeclaredType::AtomicCompareExchangeWeakResult(scalar);
                self.module.ir.generate_predeclared_type(result)
            }
        };
        // An exchange always has a result.
        let result = (is_wanted || matches!(fun, AtomicFunction::Exchange { .. }))
            .then(|| self.add_result(Expression::AtomicResult { ty, comparison }));
        self.push(Statement::Atomic {
            pointer: place.pointer,
            fun,
            value,
            result,
        });
        Ok(match result.filter(|_| is_wanted) {
            Some(base) if comparison => Some(self.add(Expression::AccessIndex { base, index: 0 })),
            found => found,
        })
    }
}
