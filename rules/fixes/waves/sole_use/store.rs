//! A statement that stores elements of an array, and no more.

use shaderlint_hlsl::{Expr, ExprKind, GlobalId, Shader, Span, Stmt, StmtKind, Type};

use crate::source::text::{Spelled, on_one_line};

/// The longest value that may move, in bytes.
const LONGEST: usize = 100;

/// A store of an element by a statement.
pub(super) struct Store<'s> {
    pub index: String,
    /// The selector of the component.
    pub component: String,
    /// The condition, where there are two values.
    pub condition: Option<&'s Expr>,
    pub values: Vec<&'s Expr>,
}

impl<'s> Store<'s> {
    /// `g[i] = x;`, or `if (c) g[i] = x; else g[i] = y;`.
    pub fn of(shader: &Shader, statement: &'s Stmt, array: GlobalId) -> Option<Store<'s>> {
        match &statement.kind {
            StmtKind::Expr(Expr {
                kind:
                    ExprKind::Assign {
                        target,
                        op: None,
                        value,
                    },
                ..
            }) => {
                let (index, component) = place(shader, target, array)?;
                let (condition, values) = (None, vec![value.as_ref()]);
                Some(Store {
                    index,
                    component,
                    condition,
                    values,
                })
            }
            StmtKind::If {
                condition,
                then,
                otherwise: Some(otherwise),
            } => {
                let [mut then, otherwise] = [then, otherwise].map(|arm| match &arm.kind {
                    StmtKind::Block(list) => match list.as_slice() {
                        [only] => Store::of(shader, only, array),
                        _ => None,
                    },
                    _ => Store::of(shader, arm, array),
                });
                let (own, other) = (then.take()?, otherwise?);
                let is_one = own.index == other.index && own.component == other.component;
                let are_plain = own.condition.is_none() && other.condition.is_none();
                (is_one && are_plain).then(|| Store {
                    condition: Some(condition),
                    values: [own.values, other.values].concat(),
                    ..own
                })
            }
            _ => None,
        }
    }

    /// The value as the file spells it, and expanded.
    pub fn value(&self, shader: &Shader) -> Option<Spelled> {
        let [first, others @ ..] = self.values.as_slice() else {
            return None;
        };
        let mut value = spelled(shader, first)?;
        if let (Some(condition), [other]) = (self.condition, others) {
            let is_scalar = |part: &Expr| matches!(part.uncast().ty, Type::Scalar(_));
            if ![condition, first, other].into_iter().all(is_scalar) {
                return None;
            }
            let [condition, first, other] =
                [condition, first, other].map(|part| operand_of_choice(shader, part));
            let (condition, first, other) = (condition?, first?, other?);
            let choice =
                |condition: &str, first: &str, other: &str| format!("{condition} ? {first} : {other}");
            value = Spelled {
                in_file: choice(&condition.in_file, &first.in_file, &other.in_file),
                expanded: choice(&condition.expanded, &first.expanded, &other.expanded),
            };
        }
        (value.in_file.len() <= LONGEST).then_some(value)
    }
}

/// The index of an element, and the selector of a component behind it.
pub(super) fn place(shader: &Shader, expr: &Expr, array: GlobalId) -> Option<(String, String)> {
    let mut part = expr;
    loop {
        match &part.kind {
            ExprKind::Index(of, at) if matches!(of.kind, ExprKind::Global(of) if of == array) => {
                let component = Span {
                    start: part.span.end,
                    end: expr.span.end,
                };
                let component = String::from_utf8_lossy(component.slice(&shader.text)).into_owned();
                return Some((on_one_line(shader, at.span)?, component));
            }
            ExprKind::Swizzle(of, _) | ExprKind::Field(of, _) => part = of,
            _ => return None,
        }
    }
}

/// The same for an operand of `c ? x : y`.
fn operand_of_choice(shader: &Shader, part: &Expr) -> Option<Spelled> {
    let operand = spelled(shader, part)?;
    let is_looser = matches!(
        part.uncast().kind,
        ExprKind::Ternary(..) | ExprKind::Assign { .. } | ExprKind::Comma(..)
    );
    Some(if is_looser {
        operand.map(|text| format!("({text})"))
    } else {
        operand
    })
}

/// An expression as the file spells it, and expanded.
fn spelled(shader: &Shader, value: &Expr) -> Option<Spelled> {
    let expanded = String::from_utf8_lossy(value.span.slice(&shader.text)).into_owned();
    Some(Spelled {
        in_file: on_one_line(shader, value.span)?,
        expanded: expanded.split_whitespace().collect::<Vec<_>>().join(" "),
    })
}
