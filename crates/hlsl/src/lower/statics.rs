//! `static` variables of functions: globals that no text can name.
//!
//! Each thread has its own variable, which lives as long as the thread and gets its value when the thread first
//! reaches the declaration. If the value does not depend on that moment, the global is a constant, or has the value
//! from the start. Otherwise the global has a flag that tells whether the value is set. Statements that name a
//! `static` variable name a global like any other, and every analysis of globals applies to it.

use std::collections::BTreeSet;

use super::Lowering;
use crate::span::Span;
use crate::tree::{Expr, ExprKind, FunctionId, Global, GlobalId, LocalId, Stmt, StmtKind, Storage, UnaryOp};
use crate::types::Type;
use crate::walk::{expressions, statements};

/// The limit of statements and expressions in functions that an initialiser calls.
const MAX_LOOKED_AT: usize = 4096;

impl Lowering<'_> {
    /// Replaces a `static` variable, which is already in scope, by a global. `false` if the variable is not
    /// understood.
    ///
    /// A variable of unknown type, or one that holds a resource, stays a local variable. It must be a constant that
    /// does not depend on the current call.
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
            // The initialiser may name constants of the function.
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
        let label = self.static_label();
        let mut global = Global {
            name: format!("{name} [{label}]"),
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
        let flag = Global {
            name: format!("{name} [{label}, is set]"),
            ty: Type::BOOL,
            ..global.clone()
        };
        let flag = self.add_global(flag, None);
        let id = self.add_global(global, None);
        self.body.statics.insert(local, id);
        let named = |id: GlobalId, ty: Type| Expr {
            kind: ExprKind::Global(id),
            ty,
            span: name_span,
        };
        out.push(set_once(named(flag, Type::BOOL), named(id, ty), init, span));
        true
    }

    /// Numbers the `static` variables of each function, so the number does not depend on the rest of the text.
    fn static_label(&mut self) -> String {
        let function = self.body.name.clone();
        let count = self.hidden.entry(function.clone()).or_default();
        let number = *count;
        *count += 1;
        format!("static {number} of {function}")
    }

    /// The variable of a local, or the global that replaces it.
    pub(super) fn local(&self, local: LocalId) -> ExprKind {
        let hidden = self.body.statics.get(&local);
        hidden.map_or(ExprKind::Local(local), |id| ExprKind::Global(*id))
    }

    /// Whether an expression always has the same value, and no effect.
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
            // The callee's variables are its own.
            let is_fixed = statements(body).all(|statement| is_short() && is_read(statement))
                && expressions(body).all(|part| is_short() && self.is_fixed_part(part, &mut called));
            if !is_fixed {
                return false;
            }
        }
        true
    }

    /// The same for an expression without its operands. Adds the called function to `called`.
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

/// `if (!flag) { variable = init; flag = true; }`.
fn set_once(flag: Expr, variable: Expr, init: Expr, span: Span) -> Stmt {
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
    let set = vec![
        assign(variable, init),
        assign(flag.clone(), bool_of(ExprKind::Literal(1))),
    ];
    statement(StmtKind::If {
        condition: bool_of(ExprKind::Unary(UnaryOp::Not, Box::new(flag))),
        then: Box::new(statement(StmtKind::Block(set))),
        otherwise: None,
    })
}
