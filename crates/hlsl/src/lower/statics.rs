//! `static` variables of functions: globals that no text can name.
//!
//! Each thread has one, which lives as long as the thread and gets its value when its declaration is first reached. One
//! whose value is the same whenever it is asked for is a constant, or has it from the beginning; of any other a flag tells
//! whether it has been given. Statements that name one then name a global like any other, and all that is known of globals
//! is known of it.

use std::collections::BTreeSet;

use super::Lowering;
use crate::span::Span;
use crate::tree::{Expr, ExprKind, FunctionId, Global, GlobalId, LocalId, Stmt, StmtKind, Storage, UnaryOp};
use crate::types::Type;
use crate::walk::{expressions, statements};

/// Statements and expressions of functions that an initialiser calls of which it is asked what they do.
const MAX_LOOKED_AT: usize = 4096;

impl Lowering<'_> {
    /// Makes a global of a `static` variable, which is in scope already. `false` where it is not understood.
    ///
    /// What is of a type that is not known, or holds a resource, stays a variable if it is a constant, and nothing of the
    /// call at hand is in it.
    pub(super) fn static_local(
        &mut self,
        local: LocalId,
        init: Option<Expr>,
        is_const: bool,
        span: Span,
        out: &mut Vec<Stmt>,
    ) -> bool {
        let Some(variable) = self.body.locals.get(local.0 as usize) else {
            return false;
        };
        let (name, name_span, ty) = (variable.name.clone(), variable.span, variable.ty.clone());
        if !self.shader.is_known(&ty) || self.shader.holds_resource(&ty) {
            let is_of_call = |init: &Expr| {
                let mut parts = init.descendants();
                parts.any(|part| matches!(part.kind, ExprKind::Local(_)))
            };
            let stays = is_const && !init.as_ref().is_some_and(is_of_call);
            if stays {
                out.push(Stmt {
                    kind: StmtKind::Declare { local, init },
                    span,
                });
            }
            return stays;
        }
        let value = init.as_ref().and_then(|init| self.evaluate(init));
        let init = match (init, value) {
            // It may have named constants of the function.
            (Some(init), Some(value)) if value.ty() == init.ty => Some(Expr {
                kind: ExprKind::Literal(value.bits()),
                ..init
            }),
            (init, _) => init,
        };
        let is_fixed = init.as_ref().is_none_or(|init| self.is_fixed(init));
        let storage = if is_const && is_fixed {
            Storage::Const
        } else {
            Storage::Static
        };
        // Counted by function: what else a text is read with makes no difference.
        let function = self.body.name.clone();
        let count = self.hidden.entry(function.clone()).or_default();
        let number = *count;
        *count += 1;
        let mut global = Global {
            name: format!("{name} [static {number} of {function}]"),
            ty: ty.clone(),
            storage,
            init: None,
            span,
            name_span,
            coherent: false,
        };
        if is_fixed {
            global.init = init;
            let id = self.add_global(global, value.filter(|_| is_const));
            self.body.statics.insert(local, id);
            return true;
        }
        let Some(init) = init else { return false };
        let is_set = self.add_global(
            Global {
                name: format!("{name} [static {number} of {function}, is set]"),
                ty: Type::BOOL,
                ..global.clone()
            },
            None,
        );
        let id = self.add_global(global, None);
        self.body.statics.insert(local, id);
        let named = |id: GlobalId, ty: &Type| Expr {
            kind: ExprKind::Global(id),
            ty: ty.clone(),
            span: name_span,
        };
        let bool_of = |kind: ExprKind| Expr {
            kind,
            ty: Type::BOOL,
            span,
        };
        let statement = |kind: StmtKind| Stmt { kind, span };
        let assign = |target: Expr, value: Expr| {
            let ty = target.ty.clone();
            let kind = ExprKind::Assign {
                target: Box::new(target),
                op: None,
                value: Box::new(value),
            };
            statement(StmtKind::Expr(Expr { kind, ty, span }))
        };
        let first = vec![
            assign(named(id, &ty), init),
            assign(named(is_set, &Type::BOOL), bool_of(ExprKind::Literal(1))),
        ];
        out.push(statement(StmtKind::If {
            condition: bool_of(ExprKind::Unary(
                UnaryOp::Not,
                Box::new(named(is_set, &Type::BOOL)),
            )),
            then: Box::new(statement(StmtKind::Block(first))),
            otherwise: None,
        }));
        true
    }

    /// The variable that a local is, or the global that it stands for.
    pub(super) fn local(&self, local: LocalId) -> ExprKind {
        let hidden = self.body.statics.get(&local);
        hidden.map_or(ExprKind::Local(local), |id| ExprKind::Global(*id))
    }

    /// Whether an expression has one value throughout, wherever it is evaluated, and no effect.
    fn is_fixed(&self, init: &Expr) -> bool {
        let mut called = Vec::new();
        let mut own = init.descendants();
        let is_of_call = |part: &Expr| matches!(part.kind, ExprKind::Local(_));
        if !own.all(|part| !is_of_call(part) && self.is_fixed_part(part, &mut called)) {
            return false;
        }
        let mut seen = BTreeSet::new();
        let mut looked_at = 0;
        while let Some(id) = called.pop() {
            let callee = self.shader.functions.get(id.0 as usize);
            let Some(body) = callee.and_then(|callee| callee.body.as_deref()) else {
                return false;
            };
            if !seen.insert(id) {
                continue;
            }
            let mut is_short = || {
                looked_at += 1;
                looked_at <= MAX_LOOKED_AT
            };
            let is_read = |statement: &Stmt| !matches!(statement.kind, StmtKind::Opaque | StmtKind::Discard);
            // The variables of a call are its own.
            let is_fixed = statements(body).all(|statement| is_short() && is_read(statement))
                && expressions(body).all(|part| is_short() && self.is_fixed_part(part, &mut called));
            if !is_fixed {
                return false;
            }
        }
        true
    }

    /// The same of what it does besides its operands and the functions that it calls.
    fn is_fixed_part(&self, expr: &Expr, called: &mut Vec<FunctionId>) -> bool {
        match &expr.kind {
            ExprKind::Global(id) => {
                let global = self.shader.globals.get(id.0 as usize);
                global.is_some_and(|global| match global.storage {
                    Storage::Const | Storage::Uniform => true,
                    Storage::Resource => !global.ty.is_writable(),
                    Storage::Static | Storage::Groupshared | Storage::Unknown => false,
                })
            }
            ExprKind::Intrinsic(intrinsic, _) => {
                !(intrinsic.is_wave() || intrinsic.is_group_barrier() || intrinsic.is_memory_barrier())
            }
            ExprKind::Call(id, _) => {
                called.push(*id);
                true
            }
            ExprKind::Opaque(_) => false,
            _ => true,
        }
    }
}
