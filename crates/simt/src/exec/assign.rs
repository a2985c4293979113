//! Assignments.

use shaderlint_hlsl::{BinaryOp, Expr, ExprKind, Type};

use crate::exec::Observer;
use crate::exec::{Machine, Run};
use crate::terms::column::Column;

impl<'a, O: Observer> Machine<'a, O> {
    pub fn assign(&mut self, target: &'a Expr, op: Option<BinaryOp>, value: &'a Expr) -> Run<Vec<Column>> {
        self.spend(target.span)?;
        if let ExprKind::Local(local) = &target.kind {
            // The variable may stand for another resource from here on, perhaps only for some threads.
            self.state.frame.aliases.remove(local);
            O::assigns_part(self, *local);
        }
        if matches!(target.kind, ExprKind::Opaque(_)) {
            let operator = op.map_or_else(|| "=".to_owned(), |op| format!("{op:?}"));
            if self.over_approximates() {
                let value = self.eval(value)?;
                return self.change_part(target, &operator, &value);
            }
            if let Some(value) = self.store_unknown(target, &operator, value)? {
                return Ok(value);
            }
        }
        let place = self.place(target)?;
        let Some(op) = op else {
            let mut kept = self.eval(value)?;
            if target.ty == Type::Unknown {
                kept = self.as_unknown(kept, &value.ty);
            }
            self.wait_if_assumed_within(target.span);
            self.store(&place, &kept, target.span)?;
            return Ok(kept);
        };
        let operand = self.eval(value)?;
        let old = self.load(&place, target.span);
        if self.over_approximates() && (target.ty == Type::Unknown || value.ty == Type::Unknown) {
            let operands: Vec<Column> = old.iter().chain(&operand).cloned().collect();
            let new = self.operate_opaquely(&format!("{op:?}"), &operands, old.len());
            self.store(&place, &new, target.span)?;
            return Ok(new);
        }
        let old = self.convert(&old, &target.ty, &value.ty);
        let new = self.binary(op, value.ty.scalar(), &old, &operand);
        let new = self.convert(&new, &value.ty, &target.ty);
        self.wait_if_assumed_within(target.span);
        self.store(&place, &new, target.span)?;
        // Where each thread has its own sum, there is no total.
        let is_of_all = |column: &Column| column.uniform(self.state.active).is_some();
        if let ExprKind::Local(local) = target.kind
            && new.iter().all(is_of_all)
        {
            O::assigned(self, local, &new);
        }
        Ok(new)
    }

    /// An assignment to an expression that is not understood. The type of its value is not known either.
    pub fn change_part(&mut self, target: &'a Expr, operator: &str, value: &[Column]) -> Run<Vec<Column>> {
        match self.assign_part(target, operator, value)? {
            Some(()) => Ok(self.not_known(1)),
            None if self.store_undeclared(target, value)? => Ok(self.not_known(1)),
            None => Self::stop("an assignment to something that is not an lvalue", target.span),
        }
    }
}
