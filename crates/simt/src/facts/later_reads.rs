//! Which elements of a groupshared array may be read by the statements that run after some others.

use std::collections::{BTreeMap, BTreeSet};

use shaderlint_hlsl::{
    BinaryOp, Expr, ExprKind, GlobalId, LocalId, Scalar, Shader, Span, Stmt, StmtKind, Type, UnaryOp,
};

use crate::facts::effects::EffectsCache;

/// What the conditions around a statement imply.
#[derive(Clone, Default)]
struct Known<'s> {
    /// The values that they give to variables.
    numbers: BTreeMap<LocalId, u32>,
    /// The conditions that hold.
    conditions: Vec<&'s Expr>,
}

/// Looks for reads of elements in statements that may run after those under `span`: the statements after it, and all
/// of an enclosing loop.
///
/// A literal index names an element. So does a variable that an enclosing condition compares with a literal: `if (t
/// == 0) { … sums[t] … }` reads `sums[0]`, unless the condition or the guarded statements write `t`. For other
/// indices, `elements` may know which elements they select.
pub(crate) struct Afterwards<'s, 'f> {
    pub shader: &'s Shader,
    pub span: Span,
    pub array: GlobalId,
    /// Whether the value of an element matters; `None` stands for an element that may be any.
    pub matters: &'f mut dyn FnMut(Option<u32>) -> bool,
    /// The elements that an index selects in all threads for which these conditions hold, if the index has one value
    /// in each thread, whenever it is evaluated.
    pub elements: &'f mut ElementsOf<'s, 'f>,
    pub effects: &'f mut EffectsCache,
}

/// See [`Afterwards::elements`].
pub(crate) type ElementsOf<'s, 'f> = dyn FnMut(&[&'s Expr], &'s Expr) -> Option<BTreeSet<u32>> + 'f;

impl<'s> Afterwards<'s, '_> {
    /// Whether an element that matters is read. If the span is not in a function's body, the whole body may run after
    /// it.
    pub fn reads(&mut self, body: &'s [Stmt], is_within: bool) -> bool {
        body.iter()
            .any(|statement| self.statement(statement, is_within, &Known::default()))
    }

    fn statement(&mut self, statement: &'s Stmt, is_after: bool, known: &Known<'s>) -> bool {
        let Span { start, end } = statement.span;
        let is_under = self.span.start <= start && end <= self.span.end;
        if is_under || is_after && end <= self.span.start {
            return false;
        }
        // In another iteration, all of the loop comes after.
        let is_after = is_after && !matches!(statement.kind, StmtKind::Loop(_));
        if let StmtKind::If {
            condition,
            then,
            otherwise,
        } = &statement.kind
        {
            let mut inner = known.clone();
            note_what_holds(condition, &mut inner.numbers);
            inner.conditions.push(condition);
            let of_then = self
                .effects
                .of_statements(self.shader, std::slice::from_ref(then));
            let mut written = self.effects.of_expression(self.shader, condition).written;
            written.extend(of_then.written);
            inner.numbers.retain(|local, _| !written.contains(local));
            return self.expression(condition, known)
                || self.statement(then, is_after, &inner)
                || otherwise
                    .as_ref()
                    .is_some_and(|otherwise| self.statement(otherwise, is_after, known));
        }
        let own = statement.expressions().collect::<Vec<_>>();
        own.into_iter().any(|expr| self.expression(expr, known))
            || statement
                .children()
                .any(|child| self.statement(child, is_after, known))
    }

    fn expression(&mut self, expr: &'s Expr, known: &Known<'s>) -> bool {
        match &expr.kind {
            // A target that is only written is not read; the expressions that select the element are.
            ExprKind::Assign {
                target,
                op: None,
                value,
            } if self.is_in_array(target) => self.indices(target, known) || self.expression(value, known),
            ExprKind::Index(base, index) if self.is_array(base) => {
                let element = match &word(index).kind {
                    ExprKind::Literal(number) => Some(*number),
                    ExprKind::Local(local) => known.numbers.get(local).copied(),
                    _ => None,
                };
                let elements = match element {
                    Some(element) => Some(BTreeSet::from([element])),
                    None => (self.elements)(&known.conditions, index),
                };
                let is_read = match elements {
                    Some(elements) => elements.into_iter().any(|element| (self.matters)(Some(element))),
                    None => (self.matters)(None),
                };
                is_read || self.expression(index, known)
            }
            ExprKind::Global(_) if self.is_array(expr) => (self.matters)(None),
            _ => expr.children().any(|child| self.expression(child, known)),
        }
    }

    /// Whether the expressions that select a part of the array read an element that matters.
    fn indices(&mut self, place: &'s Expr, known: &Known<'s>) -> bool {
        match &place.kind {
            ExprKind::Index(base, index) => self.expression(index, known) || self.indices(base, known),
            ExprKind::Field(base, _) | ExprKind::Swizzle(base, _) => self.indices(base, known),
            _ => false,
        }
    }

    fn is_in_array(&self, place: &Expr) -> bool {
        match &place.kind {
            ExprKind::Index(base, _) | ExprKind::Field(base, _) | ExprKind::Swizzle(base, _) => {
                self.is_in_array(base)
            }
            _ => self.is_array(place),
        }
    }

    fn is_array(&self, expr: &Expr) -> bool {
        matches!(&expr.kind, ExprKind::Global(global) if *global == self.array)
    }
}

/// The values that variables must have if a condition holds: `t == 3`, `t < 1` for unsigned numbers, `!t`, and
/// conjunctions of these with `&&`.
fn note_what_holds(condition: &Expr, known: &mut BTreeMap<LocalId, u32>) {
    match &condition.kind {
        ExprKind::Binary(BinaryOp::LogicalAnd, a, b) => {
            note_what_holds(a, known);
            note_what_holds(b, known);
        }
        ExprKind::Binary(BinaryOp::Equal, a, b) => {
            if let (ExprKind::Local(local), ExprKind::Literal(number))
            | (ExprKind::Literal(number), ExprKind::Local(local)) = (&word(a).kind, &word(b).kind)
                && is_word(a)
                && is_word(b)
            {
                known.insert(*local, *number);
            }
        }
        ExprKind::Binary(BinaryOp::Less, a, b) => {
            if let (ExprKind::Local(local), ExprKind::Literal(1)) = (&word(a).kind, &word(b).kind)
                && a.ty == Type::Scalar(Scalar::Uint)
            {
                known.insert(*local, 0);
            }
        }
        ExprKind::Unary(UnaryOp::Not, of) => {
            let of = match &of.kind {
                ExprKind::Cast(inner) if is_word(inner) => inner,
                _ => of,
            };
            if let ExprKind::Local(local) = word(of).kind {
                known.insert(local, 0);
            }
        }
        _ => {}
    }
}

/// The expression inside conversions between 32-bit integers.
fn word(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Cast(of) if is_word(expr) && is_word(of) => word(of),
        _ => expr,
    }
}

fn is_word(expr: &Expr) -> bool {
    matches!(expr.ty, Type::Scalar(Scalar::Int | Scalar::Uint))
}
