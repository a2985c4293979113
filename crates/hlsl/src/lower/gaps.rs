//! What was not understood is told, each gap once and where it starts.

use super::Lowering;
use crate::lexical::TextProblem;
use crate::span::{Cause, Span};
use crate::tree::{Expr, ExprKind};
use crate::types::Type;
use crate::walk::statements;

impl<'a> Lowering<'a> {
    /// Reports a name of which it is not known what it means, once. What the name stands in needs no report of its own.
    pub(super) fn unknown_name(&mut self, name: &'a [u8], span: Span) {
        self.told.insert(span);
        if !self.unknown.insert(name) {
            return;
        }
        let is_declared =
            self.functions.contains_key(name) || self.depth_of(&self.templates.functions, name).is_some();
        let name = String::from_utf8_lossy(name).into_owned();
        let (message, cause) = if is_declared {
            let message = format!("`{name}` is declared, and not understood here");
            (message, Cause::Text)
        } else {
            (format!("unknown name `{name}`"), Cause::Name(name))
        };
        self.tell(TextProblem { message, span, cause });
    }

    /// Reports the expressions that are opaque for no reason told so far.
    pub(super) fn tell_gaps(&mut self) {
        let mut gaps = Vec::new();
        for function in &self.shader.functions {
            let own = statements(function.body.as_deref().unwrap_or_default())
                .flat_map(crate::Stmt::expressions)
                .chain(
                    function
                        .parameters
                        .iter()
                        .filter_map(|parameter| parameter.default.as_ref()),
                );
            for expr in own {
                find_gaps(expr, &mut gaps);
            }
        }
        for init in self
            .shader
            .globals
            .iter()
            .filter_map(|global| global.init.as_ref())
        {
            find_gaps(init, &mut gaps);
        }
        for span in gaps {
            if self.told.insert(span) {
                self.problem("this expression is not understood", span);
            }
        }
    }
}

/// Adds opaque expressions all of whose operands are understood; whether this one or an operand is not.
///
/// Recursive: the tree is no deeper than what made it.
fn find_gaps(expr: &Expr, gaps: &mut Vec<Span>) -> bool {
    let mut unclear = false;
    for child in expr.children() {
        unclear |= find_gaps(child, gaps);
    }
    let is_opaque = matches!(expr.kind, ExprKind::Opaque(_));
    if is_opaque && !unclear {
        gaps.push(expr.span);
    }
    unclear || is_opaque || expr.ty == Type::Unknown
}
