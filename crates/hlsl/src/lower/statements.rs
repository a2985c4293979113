//! Statements.

use tree_sitter::Node;

use super::Lowering;
use super::operands::{as_value, opaque};
use super::parts::{Part, part};
use crate::preprocess::NOT_FOUND;
use crate::span::Span;
use crate::tree::{BinaryOp, Case, Expr, ExprKind, Loop, Stmt, StmtKind};
use crate::types::{Scalar, Type};

/// The message about a type in a function if its names have other meanings elsewhere.
const HIDING_TYPE: &str = "a name that is declared here has another meaning elsewhere";

impl Lowering<'_> {
    /// The span of a statement with the attributes before it.
    fn statement_span(&self, node: Node) -> Span {
        let span = self.span(node);
        Span {
            start: self
                .lexed
                .attributes
                .get(&span.start)
                .copied()
                .unwrap_or(span.start),
            end: span.end,
        }
    }

    fn opaque_statement(&mut self, message: &str, span: Span) -> Stmt {
        self.problem(message, span);
        Stmt {
            kind: StmtKind::Opaque,
            span,
        }
    }

    /// The statements of a block, in a scope of their own.
    pub(super) fn block(&mut self, node: Node) -> Vec<Stmt> {
        let mark = self.open_scope();
        let mut statements = Vec::new();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            if child.is_named() || child.is_missing() {
                self.statement(child, &mut statements);
            }
        }
        self.close_scope(mark);
        statements
    }

    /// One statement, at a place where the grammar allows one only.
    fn single(&mut self, node: Node) -> Stmt {
        let mark = self.open_scope();
        let mut statements = Vec::new();
        self.statement(node, &mut statements);
        self.close_scope(mark);
        match statements.pop() {
            Some(statement) if statements.is_empty() => statement,
            Some(last) => {
                statements.push(last);
                Stmt {
                    kind: StmtKind::Block(statements),
                    span: self.statement_span(node),
                }
            }
            None => Stmt {
                kind: StmtKind::Block(Vec::new()),
                span: self.statement_span(node),
            },
        }
    }

    /// Lowers a statement. A declaration of several names becomes several statements.
    pub(super) fn statement(&mut self, node: Node, out: &mut Vec<Stmt>) {
        let span = self.statement_span(node);
        if !self.enter() {
            self.too_deep = false;
            let statement = self.opaque_statement("nested too deeply", span);
            out.push(statement);
            return;
        }
        let before = out.len();
        let locals = self.body.undo.len();
        let doubt = std::mem::take(&mut self.body.doubt);
        self.statement_kind(node, span, out);
        self.leave();
        if let Some(reason) = self.doubt_of(out.get(before..).unwrap_or_default()) {
            out.truncate(before);
            let statement = self.opaque_statement(reason, span);
            out.push(statement);
        }
        self.body.doubt = doubt;
        if self.too_deep {
            // Only the innermost statement becomes opaque.
            self.too_deep = false;
            out.truncate(before);
            self.close_scope(locals);
            let statement = self.opaque_statement("nested too deeply", span);
            out.push(statement);
        }
    }

    fn statement_kind(&mut self, node: Node, span: Span, out: &mut Vec<Stmt>) {
        if node.is_error() || node.is_missing() || node.has_error() && !can_look_inside(node) {
            let statement = self.opaque_statement("could not parse this statement", span);
            out.push(statement);
            return;
        }
        let kind = match node.kind() {
            "compound_statement" => StmtKind::Block(self.block(node)),
            "declaration" => {
                let of_own = part(node, Part::Type).filter(|ty| part(*ty, Part::Body).is_some());
                if of_own.is_some_and(|ty| !self.is_of_its_block(ty)) {
                    out.push(self.opaque_statement(HIDING_TYPE, span));
                } else {
                    self.local_declaration(node, span, out);
                }
                return;
            }
            "expression_statement" => match node.named_child(0) {
                // The missing part is reported already.
                _ if span.slice(self.text) == NOT_FOUND.trim_ascii() => StmtKind::Opaque,
                Some(child) => StmtKind::Expr(self.expression(child)),
                None => StmtKind::Block(Vec::new()),
            },
            "if_statement" => self.if_statement(node),
            "for_statement" => self.for_statement(node),
            "while_statement" => {
                let condition = self.condition_of(node);
                let body = self.body_of(node);
                StmtKind::Loop(Box::new(Loop {
                    init: Vec::new(),
                    condition: Some(condition),
                    step: None,
                    body,
                    tests_first: true,
                    limit: self.limit_of(node),
                }))
            }
            "do_statement" => {
                let body = self.body_of(node);
                let condition = self.condition_of(node);
                StmtKind::Loop(Box::new(Loop {
                    init: Vec::new(),
                    condition: Some(condition),
                    step: None,
                    body,
                    tests_first: false,
                    limit: self.limit_of(node),
                }))
            }
            "switch_statement" => self.switch_statement(node),
            "return_statement" => {
                let value = node.named_child(0).map(|child| {
                    let returns = self.body.returns.clone().unwrap_or(Type::Unknown);
                    let value = self.initializer(child, &returns);
                    if returns == Type::Void {
                        value
                    } else {
                        self.fit(value, &returns)
                    }
                });
                StmtKind::Return(value)
            }
            "break_statement" => StmtKind::Break,
            "continue_statement" => StmtKind::Continue,
            "discard_statement" => StmtKind::Discard,
            "struct_specifier" | "class_specifier" | "enum_specifier" | "type_definition"
            | "alias_declaration" => {
                if self.is_of_its_block(node) {
                    self.type_declaration(node);
                } else {
                    out.push(self.opaque_statement(HIDING_TYPE, span));
                }
                return;
            }
            // It applies until the function ends.
            "using_declaration" if self.uses_namespace(node) => {
                self.using(node);
                return;
            }
            "comment" | "static_assert_declaration" | ";" => return,
            _ => {
                let statement = self.opaque_statement("unsupported statement", span);
                out.push(statement);
                return;
            }
        };
        out.push(Stmt { kind, span });
    }

    fn missing(&self, node: Node) -> Expr {
        let span = self.span(node);
        Expr {
            kind: ExprKind::Opaque(Vec::new()),
            ty: Type::Unknown,
            span: Span {
                start: span.end,
                end: span.end,
            },
        }
    }

    /// The condition of `if`, `while` and `do`, as a bool.
    fn condition_of(&mut self, node: Node) -> Expr {
        let expr = self.value_of(node);
        self.to_condition(expr)
    }

    /// The expression in the parentheses of `if`, `while`, `do` and `switch`.
    fn value_of(&mut self, node: Node) -> Expr {
        let Some(clause) = part(node, Part::Condition) else {
            return self.missing(node);
        };
        let inner = match clause.kind() {
            "condition_clause" => {
                if part(clause, Part::Initializer).is_some() {
                    None
                } else {
                    part(clause, Part::Value)
                }
            }
            "parenthesized_expression" => clause.named_child(0),
            _ => Some(clause),
        };
        match inner {
            Some(inner) => self.expression(inner),
            None => self.missing(clause),
        }
    }

    fn body_of(&mut self, node: Node) -> Stmt {
        if let Some(body) = part(node, Part::Body) {
            return self.single(body);
        }
        let span = self.span(node);
        self.opaque_statement("this statement has no body", span)
    }

    fn if_statement(&mut self, node: Node) -> StmtKind {
        let condition = self.condition_of(node);
        let then = if let Some(then) = part(node, Part::Consequence) {
            self.single(then)
        } else {
            let span = self.span(node);
            self.opaque_statement("this `if` has no body", span)
        };
        let otherwise = part(node, Part::Alternative).map(|alternative| {
            let inner = if alternative.kind() == "else_clause" {
                alternative.named_child(0)
            } else {
                Some(alternative)
            };
            Box::new(match inner {
                Some(inner) if !alternative.has_error() || inner.has_error() => self.single(inner),
                _ => {
                    let span = self.span(alternative);
                    self.opaque_statement("could not parse this `else`", span)
                }
            })
        });
        StmtKind::If {
            condition,
            then: Box::new(then),
            otherwise,
        }
    }

    fn for_statement(&mut self, node: Node) -> StmtKind {
        let mark = self.open_scope();
        let mut init = Vec::new();
        if let Some(initializer) = part(node, Part::Initializer) {
            if initializer.kind() == "declaration" {
                self.statement(initializer, &mut init);
            } else {
                let value = self.expression(initializer);
                init.push(Stmt {
                    span: value.span,
                    kind: StmtKind::Expr(value),
                });
            }
        }
        let condition = part(node, Part::Condition).map(|condition| {
            let value = self.expression(condition);
            self.to_condition(value)
        });
        let step = part(node, Part::Update).map(|update| self.expression(update));
        let mut parts = Loop {
            init,
            condition,
            step,
            body: self.body_of(node),
            tests_first: true,
            limit: self.limit_of(node),
        };
        if parts.condition.is_none()
            && let Some(span) = self.lexed.passes.get(&self.span(node).start)
            && !leaves(&parts.body)
            && let Some(passes) = parts.limit.take_if(|passes| *passes > 0)
        {
            self.end_after(&mut parts, passes, *span);
        }
        self.close_loop_scope(mark);
        StmtKind::Loop(Box::new(parts))
    }

    /// [`Loop::limit`] of a loop, from an attribute or a macro that may be one.
    fn limit_of(&mut self, node: Node) -> Option<u32> {
        let start = self.span(node).start;
        let arguments = self
            .lexed
            .passes
            .get(&start)
            .or_else(|| self.lexed.limits.get(&start))?;
        let values = self.attribute_values(&mut super::parser()?, *arguments);
        match values.as_slice() {
            [Some(passes)] => Some(*passes),
            _ => Some(0),
        }
    }

    /// Makes a loop without a condition, which its body never leaves, end after the iterations of its `[unroll(n)]`.
    /// If the attribute is only a hint, the loop never ends, and a proof about the code after it holds trivially. A
    /// variable that no text can name counts the iterations.
    fn end_after(&mut self, parts: &mut Loop, passes: u32, span: Span) {
        let counter = self.declare_local(b"[unroll]", Type::UINT, span);
        let uint = |kind| Expr {
            kind,
            ty: Type::UINT,
            span,
        };
        let local = || Box::new(uint(ExprKind::Local(counter)));
        parts.init.push(Stmt {
            kind: StmtKind::Declare {
                local: counter,
                init: Some(uint(ExprKind::Literal(0))),
            },
            span,
        });
        parts.condition = Some(Expr {
            kind: ExprKind::Binary(BinaryOp::Less, local(), Box::new(uint(ExprKind::Literal(passes)))),
            ty: Type::BOOL,
            span,
        });
        let count = uint(ExprKind::Step {
            target: local(),
            increment: true,
            prefix: true,
        });
        parts.step = Some(match parts.step.take() {
            Some(step) => uint(ExprKind::Comma(Box::new(step), Box::new(count))),
            None => count,
        });
    }

    /// The value that a `switch` compares with its labels, as an `int` or a `uint`. It is opaque if DXC compares in
    /// another type.
    ///
    /// DXC converts each label to the selector's type before it compares them. For a `bool`, 3 and 1 become one
    /// label. For a 64-bit literal, -1 and 0xffffffff stay two labels. A literal from 0 to 2^31 - 1 equals the same
    /// labels in 32 bits.
    fn selector(&self, value: Expr) -> Expr {
        let is_small =
            |value| { self.evaluate(value) }.is_some_and(|constant| constant.bits().cast_signed() >= 0);
        let is_compared_in_32_bits = match value.ty.scalar() {
            Some(Scalar::Int | Scalar::Uint) => !self.is_literal_int(&value) || is_small(&value),
            scalar => scalar.is_some_and(Scalar::is_enum),
        };
        if is_compared_in_32_bits {
            return self.to_index(value);
        }
        let span = value.span;
        opaque(vec![as_value(value)], Type::UINT, span)
    }

    fn switch_statement(&mut self, node: Node) -> StmtKind {
        let value = self.value_of(node);
        let value = self.selector(value);
        let mut cases = Vec::new();
        let Some(body) = part(node, Part::Body) else {
            let span = self.span(node);
            self.problem("this `switch` has no body", span);
            return StmtKind::Opaque;
        };
        let mark = self.open_scope();
        let mut cursor = body.walk();
        for child in body.named_children(&mut cursor) {
            if child.kind() != "case_statement" || child.is_error() {
                let span = self.span(child);
                self.problem("could not parse this `switch`", span);
                self.close_scope(mark);
                return StmtKind::Opaque;
            }
            let label = part(child, Part::Value);
            let mut statements = Vec::new();
            let mut inner = child.walk();
            for part in child.named_children(&mut inner) {
                if label.is_some_and(|label| label.id() == part.id()) {
                    continue;
                }
                self.statement(part, &mut statements);
            }
            let label = label.map(|label| {
                let label = self.expression(label);
                self.convert(label, &value.ty)
            });
            cases.push(Case {
                label,
                body: statements,
            });
        }
        self.close_scope(mark);
        StmtKind::Switch { value, cases }
    }

    fn local_declaration(&mut self, node: Node, span: Span, out: &mut Vec<Stmt>) {
        let before = out.len();
        let locals = self.body.undo.len();
        if !self.declarators(node, span, out) {
            out.truncate(before);
            self.close_scope(locals);
            let statement = self.opaque_statement("unsupported declaration", span);
            out.push(statement);
        }
    }
}

/// Whether the error in a statement is inside its body, so only that part is opaque.
fn can_look_inside(node: Node) -> bool {
    if node.kind() == "compound_statement" {
        return true;
    }
    if !matches!(
        node.kind(),
        "if_statement" | "for_statement" | "while_statement" | "do_statement" | "switch_statement"
    ) {
        return false;
    }
    let mut cursor = node.walk();
    let mut inside = true;
    if cursor.goto_first_child() {
        loop {
            let child = cursor.node();
            let is_body = matches!(cursor.field_name(), Some("body" | "consequence" | "alternative"));
            if child.is_error() || child.is_missing() || child.has_error() && !is_body {
                inside = false;
                break;
            }
            if !cursor.goto_next_sibling() {
                break;
            }
        }
    }
    inside
}

/// Whether this body may leave its loop.
fn leaves(body: &Stmt) -> bool {
    match &body.kind {
        StmtKind::Break | StmtKind::Return(_) | StmtKind::Discard | StmtKind::Opaque => true,
        _ => body.children().any(leaves),
    }
}
