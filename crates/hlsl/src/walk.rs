//! Walks over the tree, for readers that treat most nodes alike.

use crate::span::Span;
use crate::tree::{Case, Expr, ExprKind, FunctionId, Stmt, StmtKind};

impl Expr {
    /// The direct subexpressions, in the order of the text.
    pub fn children(&self) -> impl DoubleEndedIterator<Item = &Expr> {
        let (parts, list): ([Option<&Expr>; 3], &[Expr]) = match &self.kind {
            ExprKind::Literal(_) | ExprKind::Local(_) | ExprKind::Global(_) => ([None; 3], &[]),
            ExprKind::Unary(_, a)
            | ExprKind::Step { target: a, .. }
            | ExprKind::Field(a, _)
            | ExprKind::Swizzle(a, _)
            | ExprKind::Cast(a) => ([Some(&**a), None, None], &[]),
            ExprKind::Binary(_, a, b)
            | ExprKind::Assign {
                target: a, value: b, ..
            }
            | ExprKind::Index(a, b)
            | ExprKind::Comma(a, b) => ([Some(&**a), Some(&**b), None], &[]),
            ExprKind::Ternary(a, b, c) => ([Some(&**a), Some(&**b), Some(&**c)], &[]),
            ExprKind::Construct(list)
            | ExprKind::Call(_, list)
            | ExprKind::Intrinsic(_, list)
            | ExprKind::Opaque(list) => ([None; 3], list),
            ExprKind::Method {
                object, arguments, ..
            } => ([Some(&**object), None, None], arguments),
        };
        parts.into_iter().flatten().chain(list)
    }

    /// The parts of its text outside of its subexpressions.
    #[must_use]
    pub fn own_spans(&self) -> Vec<Span> {
        let mut operands: Vec<Span> = self.children().map(|child| child.span).collect();
        operands.sort_unstable_by_key(|span| span.start);
        let mut own = Vec::new();
        let mut start = self.span.start;
        for operand in operands {
            let end = operand.start.max(start);
            own.push(Span { start, end });
            start = operand.end.max(end);
        }
        let end = self.span.end.max(start);
        own.push(Span { start, end });
        own
    }

    /// This expression and all its subexpressions, each before its children.
    pub fn descendants(&self) -> impl Iterator<Item = &Expr> {
        // An explicit stack, for trees may be deep.
        let mut left = vec![self];
        std::iter::from_fn(move || {
            let expr = left.pop()?;
            left.extend(expr.children().rev());
            Some(expr)
        })
    }
}

impl Stmt {
    /// The statements inside this one, in the order of the text.
    pub fn children(&self) -> impl DoubleEndedIterator<Item = &Stmt> {
        let (list, parts, cases): (&[Stmt], [Option<&Stmt>; 2], &[Case]) = match &self.kind {
            StmtKind::Block(body) => (body, [None; 2], &[]),
            StmtKind::If { then, otherwise, .. } => (&[], [Some(&**then), otherwise.as_deref()], &[]),
            StmtKind::Loop(parts) => (&parts.init, [Some(&parts.body), None], &[]),
            StmtKind::Switch { cases, .. } => (&[], [None; 2], cases),
            StmtKind::Declare { .. }
            | StmtKind::Expr(_)
            | StmtKind::Return(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Discard
            | StmtKind::Opaque => (&[], [None; 2], &[]),
        };
        let of_cases = cases.iter().flat_map(|case| &case.body);
        list.iter().chain(parts.into_iter().flatten()).chain(of_cases)
    }

    /// The direct expressions of this statement: not those of statements inside it, and not their subexpressions.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        let (parts, cases): ([Option<&Expr>; 2], &[Case]) = match &self.kind {
            StmtKind::Declare { init: value, .. } | StmtKind::Return(value) => ([value.as_ref(), None], &[]),
            StmtKind::Expr(value) | StmtKind::If { condition: value, .. } => ([Some(value), None], &[]),
            StmtKind::Loop(parts) => ([parts.condition.as_ref(), parts.step.as_ref()], &[]),
            StmtKind::Switch { value, cases } => ([Some(value), None], cases),
            StmtKind::Block(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Discard
            | StmtKind::Opaque => ([None; 2], &[]),
        };
        let labels = cases.iter().filter_map(|case| case.label.as_ref());
        parts.into_iter().flatten().chain(labels)
    }
}

/// These statements and all statements inside them, each before its children.
pub fn statements(body: &[Stmt]) -> impl Iterator<Item = &Stmt> {
    let mut left: Vec<&Stmt> = body.iter().rev().collect();
    std::iter::from_fn(move || {
        let statement = left.pop()?;
        left.extend(statement.children().rev());
        Some(statement)
    })
}

/// Every expression of these statements and of all statements inside them, each before its children.
pub fn expressions(body: &[Stmt]) -> impl Iterator<Item = &Expr> {
    statements(body)
        .flat_map(Stmt::expressions)
        .flat_map(Expr::descendants)
}

/// The functions that these statements call, once for each call.
pub fn calls(body: &[Stmt]) -> impl Iterator<Item = FunctionId> {
    expressions(body).filter_map(|expr| match expr.kind {
        ExprKind::Call(function, _) => Some(function),
        _ => None,
    })
}
