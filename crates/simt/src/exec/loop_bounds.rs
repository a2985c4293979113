//! Bounds of loops that are uniform but unknown: what is proved of such a loop is proved for an instance of it, with
//! the bound a number.
//!
//! A first run notes the bounds that it meets. In a second run their terms become numbers ([`Terms::assume`]): all
//! values computed from them are numbers there too, and what is proved holds whenever the bounds have these values.

use std::collections::BTreeSet;

use shaderlint_hlsl::{BinaryOp, Expr, ExprKind, FunctionId, GlobalId, Loop, Scalar, Span, Type, UnaryOp};

use crate::exec::{Machine, Observer};
use crate::finding::{Collective, Instance};
use crate::terms::value::{Op, Value};
use crate::terms::{Term, Terms};

/// How many different bounds are replaced by numbers together, per entry point.
const MAX_BOUNDS: usize = 4;

/// Iterations of a loop around a construct.
pub(crate) const FEW: u32 = 2;

/// A bound of a loop that works on groupshared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bound {
    pub atom: u32,
    /// Its name in messages.
    pub text: String,
    /// The loop passes barriers: a single iteration would not show what they do.
    pub has_barrier: bool,
    /// The bodies of the loops that have this bound.
    pub bodies: Vec<(FunctionId, Span)>,
}

impl Bound {
    /// Whether the bound only determines how often a construct runs, in a function that calls the functions `called`:
    /// each loop with this bound encloses the construct, or is apart from it.
    pub fn is_around(&self, construct: &Collective, called: &BTreeSet<FunctionId>) -> bool {
        let Collective { function, span, .. } = *construct;
        self.bodies.iter().all(|(of, body)| {
            *of != function && !called.contains(of)
                || *of == function
                    && (body.start <= span.start && span.end <= body.end
                        || body.end <= span.start
                        || span.end <= body.start)
        })
    }
}

impl<'a, O: Observer> Machine<'a, O> {
    /// Notes the bound of a loop whose condition is not known.
    pub fn note_bound(&mut self, l: &'a Loop, condition: &Value) {
        if self.observer.is_trying() || self.noticed.bounds.len() >= MAX_BOUNDS {
            return;
        }
        let body = std::slice::from_ref(&l.body);
        let effects = self.effects.of_statements(self.shader, body);
        let Some(atom) = bound(self.terms, condition).filter(|_| effects.touches_shared()) else {
            return;
        };
        if !self.tiles.is_empty() && !self.is_same_for_all_groups(atom) {
            return;
        }
        let side = l.condition.as_ref().and_then(unknown_side).map(|side| {
            let text = side.span.slice(&self.shader.text);
            String::from_utf8_lossy(text).into_owned()
        });
        // The number is the value of the atom; a value computed from it may be another number.
        let text = match (self.terms.term(atom), side) {
            (Some(Term::Apply(Op::Uniform { name, component }, [])), _) => {
                let whole = || self.terms.name(*name).to_owned();
                self.host_name(*name, *component)
                    .map_or_else(whole, |(name, _)| name)
            }
            (_, Some(side)) if compares(self.terms, condition, atom) => side,
            (Some(Term::Apply(Op::Load { resource, .. }, _)), _) => {
                format!("an element of {}", self.terms.name(*resource))
            }
            (_, Some(side)) => format!("what {side} is computed from"),
            (_, None) => return,
        };
        let body = (self.state.frame.function, l.body.span);
        match self.noticed.bounds.iter_mut().find(|known| known.atom == atom) {
            Some(known) if known.bodies.contains(&body) => {}
            Some(known) => known.bodies.push(body),
            None => self.noticed.bounds.push(Bound {
                atom,
                text,
                has_barrier: effects.barrier,
                bodies: vec![body],
            }),
        }
    }

    /// The numbers worth trying for a bound: the number of threads, the length of an array, and half and twice the
    /// number of threads, since two elements a thread are usual.
    pub fn likely_bounds(&self) -> Vec<u32> {
        let lanes = self.lanes as u32;
        let mut likely = vec![lanes];
        let mut add = |number: u32| {
            if !likely.contains(&number) && (2..=1 << 16).contains(&number) && likely.len() < 5 {
                likely.push(number);
            }
        };
        for array in &self.state.shared {
            let GlobalId(id) = array.global;
            let mut ty = self.shader.globals.get(id as usize).map(|global| &global.ty);
            while let Some(Type::Array(element, length)) = ty {
                add(*length);
                ty = Some(element);
            }
        }
        add(lanes / 2);
        add(lanes * 2);
        // The bound may be that of a loop around the construct: with few iterations, each can be examined.
        if !likely.contains(&FEW) {
            likely.push(FEW);
        }
        likely
    }
}

/// Bounds assumed to be numbers: those of loops with barriers by `number`, the others by 1.
#[derive(Clone, Copy)]
pub(crate) struct AssumedBounds<'b> {
    pub bounds: &'b [Bound],
    pub number: u32,
}

impl AssumedBounds<'_> {
    /// Makes these numbers the values of the bounds' terms from here on.
    pub fn assume(self, terms: &mut Terms) -> Vec<Instance> {
        let instances = self.bounds.iter().map(|bound| {
            let value = if bound.has_barrier { self.number } else { 1 };
            terms.assume(bound.atom, value);
            Instance {
                bound: bound.text.clone(),
                value,
            }
        });
        instances.collect()
    }
}

/// Whether a bound is a value of the host or of a buffer, which may be any number.
pub(crate) fn is_input(terms: &Terms, bound: &Bound) -> bool {
    let term = terms.term(bound.atom);
    matches!(term, Some(Term::Apply(Op::Uniform { .. } | Op::Load { .. }, _)))
}

/// The single unknown that a comparison of integers depends on.
fn bound(terms: &Terms, condition: &Value) -> Option<u32> {
    match terms.single(condition)? {
        Term::Apply(Op::Unary(UnaryOp::Not, _), arguments) => bound(terms, arguments.first()?),
        Term::Apply(Op::Binary(BinaryOp::Less | BinaryOp::Equal, Scalar::Int | Scalar::Uint), arguments) => {
            let mut unknown = arguments.iter().filter(|argument| argument.known().is_none());
            let (Some(only), None) = (unknown.next(), unknown.next()) else {
                return None;
            };
            integer(terms, only)
        }
        _ => None,
    }
}

/// Whether a condition compares the atom itself.
fn compares(terms: &Terms, condition: &Value, atom: u32) -> bool {
    match terms.single(condition) {
        Some(Term::Apply(Op::Unary(UnaryOp::Not, _), arguments)) => {
            let inner = arguments.first();
            inner.is_some_and(|inner| compares(terms, inner, atom))
        }
        Some(Term::Apply(Op::Binary(..), arguments)) => arguments.contains(&Value::atom(atom)),
        _ => false,
    }
}

/// The atom that an integer is computed from, with known numbers.
fn integer(terms: &Terms, value: &Value) -> Option<u32> {
    let atom = match value {
        Value::Run { start, end, .. } if end - start == 1 => *start,
        Value::Sum(sum) if sum.operator.is_on(Scalar::Uint) || sum.operator.is_on(Scalar::Int) => {
            match sum.parts.as_slice() {
                [part] if part.end - part.start == 1 => part.start,
                _ => return None,
            }
        }
        _ => return None,
    };
    let Some(Term::Apply(op, arguments)) = terms.term(atom) else {
        return None;
    };
    match op {
        // A comparison has two values only.
        Op::Binary(op, _) if op.is_comparison() => None,
        Op::Same | Op::Binary(_, Scalar::Int | Scalar::Uint) | Op::Unary(..) => {
            let mut unknown = arguments.iter().filter(|argument| argument.known().is_none());
            match (unknown.next(), unknown.next()) {
                (Some(only), None) => integer(terms, only).or(Some(atom)),
                _ => Some(atom),
            }
        }
        Op::Cast {
            from: Scalar::Int | Scalar::Uint,
            to: Scalar::Int | Scalar::Uint,
        }
        | Op::Uniform { .. }
        | Op::Load { .. }
        | Op::GroupId(_)
        | Op::Opaque { .. }
        | Op::Havoc { .. } => Some(atom),
        _ => None,
    }
}

/// The side of a comparison that is not a literal.
fn unknown_side(condition: &Expr) -> Option<&Expr> {
    match &condition.kind {
        ExprKind::Binary(op, a, b) if op.is_comparison() => {
            let is_number = |side: &Expr| match &side.kind {
                ExprKind::Literal(_) => true,
                ExprKind::Cast(inner) => matches!(inner.kind, ExprKind::Literal(_)),
                _ => false,
            };
            Some(if is_number(b) { a } else { b })
        }
        _ => None,
    }
}
