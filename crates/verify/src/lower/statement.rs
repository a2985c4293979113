//! Statements.

use naga::{Barrier, BinaryOperator, Expression, Statement, SwitchCase, SwitchValue, UnaryOperator};
use shaderlint_hlsl::{Case, Expr, Loop, Scalar, Span, Stmt, StmtKind, Type};
use shaderlint_simt::{hangs_on_order, hangs_on_version};

use super::body::Body;
use super::module::Repeat;
use super::types::simplify;
use super::{LowerError, constant};

impl Body<'_, '_> {
    /// Lowers statements into the current block, up to the first that leaves it.
    pub(super) fn statements(&mut self, statements: &[Stmt]) -> Result<(), LowerError> {
        if let Some(Repeat { span, passes }) = self.module.repeat {
            let inside = |s: &Stmt| span.start <= s.span.start && s.span.end <= span.end;
            if let Some(first) = statements.iter().position(inside) {
                let count = statements.iter().skip(first).take_while(|s| inside(s)).count();
                let (before, rest) = statements.split_at(first);
                let (repeated, after) = rest.split_at(count);
                self.module.repeat = None;
                self.plain_statements(before)?;
                self.repeat(repeated, passes, span)?;
                return self.plain_statements(after);
            }
        }
        self.plain_statements(statements)
    }

    fn plain_statements(&mut self, statements: &[Stmt]) -> Result<(), LowerError> {
        for statement in statements {
            if self.has_left() {
                break;
            }
            self.deeper(statement.span, |body| body.statement(statement))?;
        }
        Ok(())
    }

    /// Whether the current block ends by a jump.
    fn has_left(&self) -> bool {
        matches!(
            self.block.last(),
            Some(Statement::Return { .. } | Statement::Break | Statement::Continue | Statement::Kill)
        )
    }

    fn statement(&mut self, statement: &Stmt) -> Result<(), LowerError> {
        let span = statement.span;
        let shader = self.module.shader;
        if let Some(expr) = { statement.expressions() }.find(|expr| hangs_on_order(shader, expr)) {
            let what = "a statement whose result depends on evaluation order";
            return Err(LowerError::unsupported(what, expr.span));
        }
        if let Some(expr) = { statement.expressions() }.find(|expr| hangs_on_version(shader, expr)) {
            let what =
                "a side effect behind `&&`, `||` or `?`: versions of HLSL disagree on whether it happens";
            return Err(LowerError::unsupported(what, expr.span));
        }
        match &statement.kind {
            StmtKind::Declare { local, init } => {
                let Some(variable) = self.source.locals.get(local.0 as usize) else {
                    return Err(LowerError::unsupported("an unknown variable", span));
                };
                let Some(init) = init else {
                    return Ok(());
                };
                let value = self.value_as(init, &variable.ty)?;
                let place = self.local(*local, span)?;
                self.store(&place, value, span)
            }
            StmtKind::Expr(expr) => self.effect(expr),
            StmtKind::Block(body) => self.statements(body),
            StmtKind::If {
                condition,
                then,
                otherwise,
            } => {
                let condition = self.value_as(condition, &Type::BOOL)?;
                let accept = self.nested(|body| body.one(then))?;
                let reject = self.nested(|body| match otherwise {
                    Some(otherwise) => body.one(otherwise),
                    None => Ok(()),
                })?;
                self.push(Statement::If {
                    condition,
                    accept,
                    reject,
                });
                Ok(())
            }
            StmtKind::Loop(a_loop) => self.loop_statement(a_loop),
            StmtKind::Switch { value, cases } => self.switch(value, cases, span),
            StmtKind::Return(value) => {
                let returns = &self.source.returns;
                let value = match value {
                    Some(value) if *returns == Type::Void => {
                        self.effect(value)?;
                        None
                    }
                    Some(value) => Some(self.value_as(value, returns)?),
                    None => None,
                };
                self.push(Statement::Return { value });
                Ok(())
            }
            StmtKind::Break => {
                self.push(Statement::Break);
                Ok(())
            }
            StmtKind::Continue => {
                self.push(Statement::Continue);
                Ok(())
            }
            StmtKind::Discard => Err(LowerError::unsupported("`discard` in a compute kernel", span)),
            StmtKind::Opaque => Err(LowerError::unsupported(
                "code that shaderlint does not understand",
                span,
            )),
        }
    }

    fn one(&mut self, statement: &Stmt) -> Result<(), LowerError> {
        self.statements(std::slice::from_ref(statement))
    }

    fn loop_statement(&mut self, a_loop: &Loop) -> Result<(), LowerError> {
        let may_be_cut = |passes| !constant::ends_within(self.module.shader, a_loop, passes);
        if a_loop.limit.is_some_and(may_be_cut) {
            let what = "a loop that may run longer than its `[unroll]` count, at which some compilers end it";
            return Err(LowerError::unsupported(what, a_loop.body.span));
        }
        self.statements(&a_loop.init)?;
        let body = self.nested(|body| {
            if let (Some(condition), true) = (&a_loop.condition, a_loop.tests_first) {
                body.break_unless(condition)?;
            }
            body.one(&a_loop.body)
        })?;
        // `continue` jumps here, so the step (of `for`) and the test (of `do`) belong here.
        let mut break_if = None;
        let continuing = self.nested(|body| {
            if let Some(step) = &a_loop.step {
                body.effect(step)?;
            }
            if let (Some(condition), false) = (&a_loop.condition, a_loop.tests_first) {
                let again = body.value_as(condition, &Type::BOOL)?;
                break_if = Some(body.add(Expression::Unary {
                    op: UnaryOperator::LogicalNot,
                    expr: again,
                }));
            }
            Ok(())
        })?;
        self.push(Statement::Loop {
            body,
            continuing,
            break_if,
        });
        Ok(())
    }

    fn break_unless(&mut self, condition: &Expr) -> Result<(), LowerError> {
        if constant::fold_scalar(self.module.shader, condition).is_some_and(|bits| bits != 0) {
            return Ok(());
        }
        let condition = self.value_as(condition, &Type::BOOL)?;
        let reject = self.nested(|body| {
            body.push(Statement::Break);
            Ok(())
        })?;
        self.push(Statement::If {
            condition,
            accept: naga::Block::new(),
            reject,
        });
        Ok(())
    }

    fn switch(&mut self, value: &Expr, cases: &[Case], span: Span) -> Result<(), LowerError> {
        let signed = match simplify(&value.ty) {
            Type::Scalar(Scalar::Int) => true,
            Type::Scalar(Scalar::Uint) => false,
            _ => {
                return Err(LowerError::unsupported(
                    "a switch on something that is not an integer",
                    span,
                ));
            }
        };
        let selector = self.value(value)?;
        let mut lowered: Vec<SwitchCase> = Vec::new();
        let mut has_default = false;
        for (at, case) in cases.iter().enumerate() {
            let value = match &case.label {
                None => {
                    has_default = true;
                    SwitchValue::Default
                }
                Some(label) => match constant::fold_scalar(self.module.shader, label) {
                    Some(bits) if signed => SwitchValue::I32(bits.cast_signed()),
                    Some(bits) => SwitchValue::U32(bits),
                    None => {
                        return Err(LowerError::unsupported(
                            "a case whose label is not a constant",
                            label.span,
                        ));
                    }
                },
            };
            let is_last = at + 1 == cases.len();
            let fall_through = case.body.is_empty() && !is_last;
            let body = self.nested(|body| body.statements(&case.body))?;
            if !fall_through && !is_last && !leaves(&body, 0) {
                let place = case.body.last().map_or(span, |last| last.span);
                return Err(LowerError::unsupported(
                    "a case that falls through to the next",
                    place,
                ));
            }
            lowered.push(SwitchCase {
                value,
                body,
                fall_through,
            });
        }
        if !has_default {
            lowered.push(SwitchCase {
                value: SwitchValue::Default,
                body: naga::Block::new(),
                fall_through: false,
            });
        }
        self.push(Statement::Switch {
            selector,
            cases: lowered,
        });
        Ok(())
    }

    /// `for (n = 0; n < passes; ++n) { statements; barrier; }`
    fn repeat(&mut self, statements: &[Stmt], passes: u32, span: Span) -> Result<(), LowerError> {
        if let Some(place) = leaving(statements) {
            return Err(LowerError::unsupported(
                "repeating statements that leave by `break` or `continue`",
                place,
            ));
        }
        let counter = self.temporary(&Type::UINT, span)?.pointer;
        let zero = self.uint(0);
        self.push(Statement::Store {
            pointer: counter,
            value: zero,
        });
        let body = self.nested(|body| {
            let pass = body.add(Expression::Load { pointer: counter });
            let limit = body.uint(passes);
            let condition = body.emit_binary(BinaryOperator::Less, pass, limit);
            let reject = body.nested(|body| {
                body.push(Statement::Break);
                Ok(())
            })?;
            body.push(Statement::If {
                condition,
                accept: naga::Block::new(),
                reject,
            });
            body.plain_statements(statements)?;
            if !body.has_left() {
                body.push(Statement::ControlBarrier(Barrier::WORK_GROUP));
            }
            Ok(())
        })?;
        let continuing = self.nested(|body| {
            let pass = body.add(Expression::Load { pointer: counter });
            let one = body.uint(1);
            let value = body.emit_binary(BinaryOperator::Add, pass, one);
            body.push(Statement::Store {
                pointer: counter,
                value,
            });
            Ok(())
        })?;
        self.push(Statement::Loop {
            body,
            continuing,
            break_if: None,
        });
        Ok(())
    }
}

/// Whether control cannot run off the end of `block`.
fn leaves(block: &naga::Block, depth: u32) -> bool {
    match block.last() {
        Some(Statement::Return { .. } | Statement::Break | Statement::Continue | Statement::Kill) => true,
        Some(Statement::If { accept, reject, .. }) if depth < 64 => {
            leaves(accept, depth + 1) && leaves(reject, depth + 1)
        }
        _ => false,
    }
}

/// A `break` or `continue` in these statements that leaves a loop or switch outside of them.
fn leaving(statements: &[Stmt]) -> Option<Span> {
    // With each statement, whether a `break` stays inside, and whether a `continue` does.
    let mut stack: Vec<(&Stmt, bool, bool)> = statements.iter().map(|s| (s, false, false)).collect();
    while let Some((statement, in_breakable, in_loop)) = stack.pop() {
        match &statement.kind {
            StmtKind::Break if !in_breakable => return Some(statement.span),
            StmtKind::Continue if !in_loop => return Some(statement.span),
            StmtKind::Block(body) => stack.extend(body.iter().map(|s| (s, in_breakable, in_loop))),
            StmtKind::If { then, otherwise, .. } => {
                stack.push((then, in_breakable, in_loop));
                stack.extend(otherwise.iter().map(|s| (&**s, in_breakable, in_loop)));
            }
            StmtKind::Loop(a_loop) => stack.push((&a_loop.body, true, true)),
            StmtKind::Switch { cases, .. } => {
                for case in cases {
                    stack.extend(case.body.iter().map(|s| (s, true, in_loop)));
                }
            }
            _ => {}
        }
    }
    None
}
