//! Serves the atomics of one wave lane by lane, on one cell.

use shaderlint_hlsl::{Expr, Intrinsic};

use crate::detect::Detectors;
use crate::exec::atomic::{Cell, combining};
use crate::exec::transfer::resource_name;
use crate::exec::{Machine, Run};
use crate::terms::Symbol;
use crate::terms::column::Column;
use crate::terms::operator::Operator;
use crate::terms::value::Value;

/// The effects of a run's atomics.
#[derive(Default)]
pub(crate) struct Served {
    /// The content of the one cell.
    pub cell: Option<Value>,
    pub steps: Vec<Step>,
}

/// An atomic that all active lanes make.
#[derive(Debug, PartialEq)]
pub(crate) struct Step {
    operator: Operator,
    resource: Symbol,
    component: u32,
    /// The cell's address in the first lane.
    address: Vec<Value>,
}

impl<'a> Machine<'a, Detectors> {
    /// Serves an atomic lane by lane, and returns the old value for each lane.
    pub fn serve(
        &mut self,
        intrinsic: Intrinsic,
        on: &Cell<'_>,
        operands: &'a [Expr],
        amount: &[Column],
        expr: &Expr,
    ) -> Run<Vec<Column>> {
        let cell_type = operands.first().and_then(|operand| operand.ty.scalar());
        let operator = cell_type.and_then(|ty| combining(intrinsic, ty));
        let (Some(operator), [amount], Some(served)) = (operator, amount, self.observer.served.as_mut())
        else {
            return Self::stop("an atomic that does not combine one amount", expr.span);
        };
        let Some(mut cell) = served.cell.take() else {
            return Self::stop("an atomic within another", expr.span);
        };
        let Some(first) = self.state.active.threads().next() else {
            return Self::stop("an atomic that no lane makes", expr.span);
        };
        served.steps.push(Step {
            operator,
            resource: self.terms.symbol(resource_name(self.shader, on.resource)),
            component: on.component,
            address: on.index.iter().map(|column| column.at(first).clone()).collect(),
        });
        let (active, lanes) = (self.state.active, self.lanes);
        let mut found = vec![Value::Known(0); lanes];
        for lane in active.threads() {
            let after = self.terms.combine(operator, &cell, amount.at(lane));
            found[lane] = std::mem::replace(&mut cell, after);
        }
        if let Some(served) = self.observer.served.as_mut() {
            served.cell = Some(cell);
        }
        Ok(vec![Column::Lanes(found.into())])
    }
}
