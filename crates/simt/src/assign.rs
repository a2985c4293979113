//! Assignments. HLSL does not say which side comes first; where that decides, nothing is followed.

use shaderlint_hlsl::{BinaryOp, Direction, Expr, ExprKind, Storage, Type};

use crate::control::root;
use crate::machine::{Machine, Run};
use crate::place::is_resource;
use crate::terms::column::Column;

impl<'a> Machine<'a> {
    pub fn assign(&mut self, target: &'a Expr, op: Option<BinaryOp>, value: &'a Expr) -> Run<Vec<Column>> {
        self.spend(target.span)?;
        if let ExprKind::Local(local) = &target.kind {
            // Perhaps another resource from here on, and perhaps not for all.
            self.state.frame.aliases.remove(local);
            self.forget_noticed(*local);
        }
        if self.claims.is_some() && matches!(target.kind, ExprKind::Opaque(_)) {
            let operator = op.map_or_else(|| "=".to_owned(), |op| format!("{op:?}"));
            let value = self.eval(value)?;
            return self.change_part(target, &operator, &value);
        }
        // A variable that is all of the target is assigned last.
        let is_a_part = !matches!(target.kind, ExprKind::Local(_) | ExprKind::Global(_));
        // Where it is, and of `x.a += …` what is there.
        let of_target = if op.is_some() {
            vec![target]
        } else {
            indices(target)
        };
        if is_a_part
            && (self.changes_what_is_read(target, &[value]) || self.changes_what_is_read(value, &of_target))
        {
            return Self::stop(
                "an assignment whose sides depend on which comes first",
                target.span,
            );
        }
        let place = self.place(target)?;
        let Some(op) = op else {
            let mut kept = self.eval(value)?;
            if target.ty == Type::Unknown {
                kept = self.as_unknown(kept, &value.ty);
            }
            self.suppose_within(target.span);
            self.store(&place, &kept, target.span)?;
            return Ok(kept);
        };
        let operand = self.eval(value)?;
        let old = self.load(&place, target.span);
        if self.claims.is_some() && (target.ty == Type::Unknown || value.ty == Type::Unknown) {
            let operands: Vec<Column> = old.iter().chain(&operand).cloned().collect();
            let new = self.operate_opaquely(&format!("{op:?}"), &operands, old.len());
            self.store(&place, &new, target.span)?;
            return Ok(new);
        }
        let old = self.convert(&old, &target.ty, &value.ty);
        let new = self.binary(op, value.ty.scalar(), &old, &operand);
        let new = self.convert(&new, &value.ty, &target.ty);
        self.suppose_within(target.span);
        self.store(&place, &new, target.span)?;
        // Threads that each have a sum of their own have no total.
        let is_of_all = |column: &Column| column.uniform(self.state.active).is_some();
        if let ExprKind::Local(local) = target.kind
            && new.iter().all(is_of_all)
        {
            self.notice(local, &new);
        }
        Ok(new)
    }

    /// Whether the one expression may change a variable that the others read.
    fn changes_what_is_read(&mut self, one: &'a Expr, others: &[&'a Expr]) -> bool {
        let mut changed: Vec<&Expr> = Vec::new();
        let mut changes_statics = false;
        for part in one.descendants() {
            match &part.kind {
                ExprKind::Assign { target, .. } | ExprKind::Step { target, .. } => changed.push(target),
                ExprKind::Call(id, arguments) => {
                    let function = self.shader.functions.get(id.0 as usize);
                    let parameters = function.into_iter().flat_map(|function| &function.parameters);
                    let written = parameters.zip(arguments);
                    let written = written.filter(|(parameter, _)| parameter.direction != Direction::In);
                    changed.extend(written.map(|(_, argument)| argument));
                    changes_statics |= !self.effects.of_function(self.shader, *id).statics.is_empty();
                }
                ExprKind::Intrinsic(intrinsic, arguments) => {
                    let written = arguments.iter().enumerate();
                    let written = written.filter(|(index, _)| intrinsic.may_write(*index));
                    changed.extend(written.map(|(_, argument)| argument));
                }
                ExprKind::Method { name, arguments, .. } if writes_arguments(name) => {
                    changed.extend(arguments);
                }
                _ => {}
            }
        }
        if changed.is_empty() && !changes_statics {
            return false;
        }
        let roots: Vec<&ExprKind> = changed.into_iter().map(|place| &root(place).kind).collect();
        let mut read = others.iter().flat_map(|other| other.descendants());
        read.any(|part| match &part.kind {
            ExprKind::Local(local) => roots
                .iter()
                .any(|root| matches!(root, ExprKind::Local(of) if of == local)),
            ExprKind::Global(global) => {
                let declared = self.shader.globals.get(global.0 as usize);
                let is_static = declared.is_some_and(|declared| declared.storage == Storage::Static);
                let is_named = roots
                    .iter()
                    .any(|root| matches!(root, ExprKind::Global(of) if of == global));
                is_static && (changes_statics || is_named)
            }
            _ => false,
        })
    }

    /// An assignment to what is not understood. Of which type its value is, is not known either.
    pub fn change_part(&mut self, target: &'a Expr, operator: &str, value: &[Column]) -> Run<Vec<Column>> {
        match self.assign_part(target, operator, value)? {
            Some(()) => Ok(self.not_known(1)),
            None if self.store_undeclared(target, value)? => Ok(self.not_known(1)),
            None => Self::stop("an assignment to something that is no place", target.span),
        }
    }
}

/// What a place is looked up by besides the variable that it is a part of: `a[i].x = a[j].x = 0` are two parts of one, in
/// whichever order they are written.
fn indices(place: &Expr) -> Vec<&Expr> {
    let mut indices = Vec::new();
    let mut whole = place;
    loop {
        whole = match &whole.kind {
            ExprKind::Index(base, index) => {
                indices.push(&**index);
                base
            }
            ExprKind::Field(base, _) | ExprKind::Swizzle(base, _) => base,
            ExprKind::Local(_) | ExprKind::Global(_) if !is_resource(&whole.ty) => return indices,
            _ => {
                indices.push(whole);
                return indices;
            }
        };
    }
}

/// Whether a method leaves something in variables that it is given, but for the status of a load.
fn writes_arguments(name: &str) -> bool {
    name.starts_with("Interlocked") || name == "GetDimensions"
}
