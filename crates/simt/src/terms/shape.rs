//! The shape of values: how they derive from data, and which two values derive in the same way.
//!
//! A value that derives from data in the same way in all threads may be any value in any thread. A value with
//! another shape in one thread, e.g. one made from its number, may set that thread apart, whatever the data
//! are. A bare name without a declaration counts as a variable if it is named like one
//! ([`crate::facts::naming_heuristics`]).

use rustc_hash::FxHashSet;

use crate::facts::naming_heuristics::{is_variable, may_name_one};
use crate::terms::source::Source;
use crate::terms::value::{Op, Value};
use crate::terms::{Symbol, Term, Terms, fingerprint};

/// The prefix of a conversion's text.
pub(crate) const CONVERSION: &str = "as ";
/// How deep nested operations are followed.
const MAX_DEPTH: usize = 256;
/// The most atoms of a value that a shape covers.
pub(crate) const MAX_ATOMS: usize = 4096;

/// How a value derives from data.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    print: u64,
    /// The depth of nested operations.
    height: usize,
}

impl Shape {
    fn of_leaf(print: u64) -> Shape {
        Shape { print, height: 0 }
    }
}

/// Why a value has no known shape.
#[derive(Clone, Copy)]
pub(crate) enum ShapeError {
    /// The value is nested too deep from where the search began.
    TooDeep,
    /// From anywhere.
    Unknown,
}

impl Terms {
    /// Whether a value derives from something that was read.
    pub fn has_data(&self, value: &Value) -> bool {
        self.is_made_of(value, |term| match term {
            Term::Input { .. } | Term::Fresh(_) => true,
            Term::Apply(op, _) => is_data(op),
        })
    }

    /// Whether a value derives from something unknown.
    pub fn is_guessed(&self, value: &Value) -> bool {
        self.is_made_of(value, |term| matches!(term, Term::Apply(Op::Opaque { .. }, _)))
    }

    /// Whether a value is an undeclared name that denotes a variable, possibly converted, or a member or
    /// element of one.
    pub fn is_variable_name(&self, value: &Value) -> bool {
        let mut value = value;
        loop {
            let (op, inner) = match self.single(value) {
                Some(Term::Apply(op, [inner])) => (op, inner),
                // The thread, and the time of the read.
                Some(Term::Apply(Op::Same, [Value::Known(_), Value::Known(_)])) => return true,
                // An element of an array.
                Some(Term::Apply(op @ Op::Same, [inner, Value::Known(_)])) => (op, inner),
                _ => return false,
            };
            match op {
                Op::Opaque { text, .. } if !self.may_be_variable(*text) => return false,
                Op::Opaque { .. } | Op::Same | Op::Cast { .. } => value = inner,
                _ => return false,
            }
        }
    }

    /// Whether this is the text of a conversion or a variable.
    fn may_be_variable(&self, text: Symbol) -> bool {
        let text = self.name(text);
        text.starts_with(CONVERSION) || is_variable(text)
    }

    /// The fingerprint of the value's shape, independent of the data. `None` if the value is too deep, or if
    /// the choice of data itself may tell threads apart.
    pub fn shape(&self, value: &Value) -> Option<u64> {
        self.shape_within(value, MAX_DEPTH).ok().map(|shape| shape.print)
    }

    fn shape_within(&self, value: &Value, depth: usize) -> Result<Shape, ShapeError> {
        if let Value::Known(word) = value {
            return Ok(Shape::of_leaf(fingerprint(word)));
        }
        let mut whole = Shape::of_leaf(0);
        let mut prints = Vec::new();
        for atom in value.atoms() {
            let of_atom = self.shape_of_atom(atom, depth)?;
            whole.height = whole.height.max(of_atom.height);
            prints.push(of_atom.print);
        }
        let constant = match value {
            Value::Sum(sum) => Some((sum.operator, sum.constant)),
            _ => None,
        };
        let factors: Vec<u32> = match value {
            Value::Sum(sum) => sum.parts.iter().map(|part| part.factor).collect(),
            _ => Vec::new(),
        };
        whole.print = fingerprint(&(prints, constant, factors));
        Ok(whole)
    }

    /// The shape of an atom. It never changes, so it is cached.
    fn shape_of_atom(&self, atom: u32, depth: usize) -> Result<Shape, ShapeError> {
        let known = self.shapes.borrow().get(&atom).copied();
        if let Some(known) = known {
            let is_too_deep = known.is_ok_and(|shape| shape.height > depth);
            return if is_too_deep {
                Err(ShapeError::TooDeep)
            } else {
                known
            };
        }
        let shape = self.shape_of_term(atom, depth);
        if !matches!(shape, Err(ShapeError::TooDeep)) {
            self.shapes.borrow_mut().insert(atom, shape);
        }
        shape
    }

    fn shape_of_term(&self, atom: u32, depth: usize) -> Result<Shape, ShapeError> {
        let shape = match self.term(atom).ok_or(ShapeError::Unknown)? {
            Term::Input { .. } | Term::Fresh(_) => Shape::of_leaf(0),
            Term::Apply(Op::AtomicResult { source, .. }, _) => match source {
                Source::Spread => Shape::of_leaf(0),
                _ => return Err(ShapeError::Unknown),
            },
            Term::Apply(Op::UnknownByThread { .. } | Op::Mark { .. }, _) => {
                return Err(ShapeError::Unknown);
            }
            Term::Apply(op, _) if is_data(op) => Shape::of_leaf(0),
            Term::Apply(Op::Opaque { text, .. }, _) if self.is_variable_name(&Value::atom(atom)) => {
                Shape::of_leaf(fingerprint(text))
            }
            Term::Apply(op, arguments) => {
                let depth = depth.checked_sub(1).ok_or(ShapeError::TooDeep)?;
                let mut whole = Shape::of_leaf(0);
                let mut prints = Vec::with_capacity(arguments.len());
                for argument in arguments {
                    let part = self.shape_within(argument, depth)?;
                    whole.height = whole.height.max(part.height);
                    prints.push(part.print);
                }
                Shape {
                    print: fingerprint(&(op, prints)),
                    height: whole.height + 1,
                }
            }
        };
        Ok(shape)
    }

    /// Whether this is an unknown expression that names lanes.
    pub fn names_lanes(&self, term: &Term<'_>) -> bool {
        matches!(term, Term::Apply(Op::Opaque { text, .. }, _) if may_name_one(self.name(*text)))
    }

    /// Whether the value derives from a term with this property.
    pub fn is_made_of(&self, value: &Value, is_such: impl Fn(&Term<'_>) -> bool) -> bool {
        self.derives_from(value, |_| true, |_, term| is_such(term))
    }

    /// Whether the value is computed from one of these atoms. Results of reads, and of statements that were not followed,
    /// do not count.
    pub fn is_computed_from(&self, value: &Value, atoms: &FxHashSet<u32>) -> bool {
        self.derives_from(value, |op| !is_data(op), |atom, _| atoms.contains(&atom))
    }

    fn derives_from(
        &self,
        value: &Value,
        counts: impl Fn(&Op) -> bool,
        is_such: impl Fn(u32, &Term<'_>) -> bool,
    ) -> bool {
        let mut seen = FxHashSet::default();
        let mut waiting: Vec<u32> = value.atoms().collect();
        while let Some(atom) = waiting.pop() {
            if !seen.insert(atom) || seen.len() > MAX_ATOMS {
                continue;
            }
            match self.term(atom) {
                Some(term) if is_such(atom, &term) => return true,
                Some(Term::Apply(op, arguments)) if counts(op) => {
                    waiting.extend(arguments.iter().flat_map(Value::atoms));
                }
                _ => {}
            }
        }
        false
    }
}

/// Whether the operation's result was read, or left by statements that were not followed.
fn is_data(op: &Op) -> bool {
    matches!(op, Op::Load { .. } | Op::VolatileLoad { .. } | Op::Havoc { .. })
}

#[cfg(test)]
mod tests {
    use shaderlint_hlsl::{BinaryOp, Scalar, UnaryOp};

    use super::*;

    #[test]
    fn how_a_value_was_made_is_told_wherever_it_is_asked_from_first() {
        let op = Op::Unary(UnaryOp::Negate, Scalar::Float);
        let chain = |terms: &mut Terms, input: u32| {
            let mut values = vec![Value::atom(input)];
            for _ in 0..=MAX_DEPTH {
                let value = terms.apply(op, &values[values.len() - 1..]);
                values.push(value);
            }
            values
        };
        let mut terms = Terms::default();
        let first = terms.inputs(2);
        let (a, b) = (chain(&mut terms, first), chain(&mut terms, first + 1));
        // From the outermost operation the value is too deep, but not from the one within.
        assert_eq!(terms.shape(&a[MAX_DEPTH + 1]), None);
        assert!(terms.shape(&a[MAX_DEPTH]).is_some());
        assert_eq!(terms.shape(&a[MAX_DEPTH + 1]), None);
        // Made from other data in the same way: the same shape, whichever comes first.
        assert_eq!(terms.shape(&b[3]), terms.shape(&a[3]));
        assert_ne!(terms.shape(&b[3]), terms.shape(&a[2]));
        let sum = |terms: &mut Terms, x: &Value, y: &Value| {
            terms.combine(crate::terms::operator::Operator::Add, x, y)
        };
        let (one, other) = (sum(&mut terms, &a[1], &b[2]), sum(&mut terms, &b[1], &a[1]));
        assert_ne!(terms.shape(&one), terms.shape(&other));
    }

    #[test]
    fn a_long_story_is_told_as_soon_as_a_short_one() {
        let mut terms = Terms::default();
        let input = terms.inputs(2);
        let op = Op::Binary(BinaryOp::Div, Scalar::Float);
        // Each value uses the previous one twice.
        let long = |terms: &mut Terms, input| {
            (0..MAX_DEPTH).fold(Value::atom(input), |last, _| {
                terms.apply(op, &[last.clone(), last])
            })
        };
        let (a, b) = (long(&mut terms, input), long(&mut terms, input + 1));
        assert!(terms.shape(&a).is_some());
        assert_eq!(terms.shape(&a), terms.shape(&b));
    }
}
