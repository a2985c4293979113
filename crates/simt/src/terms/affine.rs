//! Values that are a constant, possibly plus a multiple of the group's number.

use crate::terms::operator::Operator;
use crate::terms::value::{Op, Value};
use crate::terms::{Term, Terms};

/// An index: a constant, or a constant plus a multiple of a component of the group's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Affine {
    pub of_group: Option<(u8, u32)>,
    pub constant: u32,
}

impl Terms {
    /// The value in this form, if it has one.
    pub(crate) fn affine(&self, value: &Value) -> Option<Affine> {
        let of_group = |start: u32, end: u32, factor: u32| match self.term(start) {
            Some(Term::Apply(Op::GroupId(axis), _)) if end - start == 1 => Some((*axis, factor)),
            _ => None,
        };
        match value {
            Value::Known(constant) => Some(Affine {
                of_group: None,
                constant: *constant,
            }),
            Value::Run { start, end, .. } => Some(Affine {
                of_group: Some(of_group(*start, *end, 1)?),
                constant: 0,
            }),
            Value::Sum(sum) => match (sum.operator, sum.parts.as_slice()) {
                (Operator::Add, [part]) => Some(Affine {
                    of_group: Some(of_group(part.start, part.end, part.factor)?),
                    constant: sum.constant,
                }),
                _ => None,
            },
        }
    }
}
