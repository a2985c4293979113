//! The values of a symbolic run: exact, canonical terms over free atoms.
//!
//! # Why equal terms mean equal values, for every input
//!
//! A [`Value`] is an element of a free algebra over *atoms* (unknown 32-bit words): for `+` on 32-bit integers
//! the free Z/2^32-module with a constant, for the other operators the free commutative monoid (idempotent for
//! `min`, `max`, `and`, `or`; nilpotent for `xor`). Both have one normal form, a sorted list of runs of
//! consecutive atoms with one factor each, so equal values are equal data. A kernel whose control flow and
//! addresses are concrete is correct for all inputs exactly when its run on the free algebra ends in the
//! specified terms (Chong, Donaldson, Ketema, *A sound and complete abstraction for reasoning about parallel
//! prefix sums*, POPL 2014; their intervals are the one-run case of this form). An operation without a normal
//! form is *interned*: the same operation on equal operands is the same atom. That is sound for every
//! deterministic operation.
//!
//! Float `+` and `*` have the same form although they are not associative: equal forms then mean equal up to
//! the order of operations. [`Operator::is_exact`] tells these operators apart. [`crate::terms::rounding`]
//! decides whether two values were combined in one order only, and so are equal bit for bit.

use std::ops::{Deref, Range};
use std::rc::Rc;

use shaderlint_hlsl::{BinaryOp, Intrinsic, Scalar, UnaryOp};

use crate::terms::Symbol;
use crate::terms::operator::Operator;
use crate::terms::source::{Mark, Source};

/// A 32-bit word: known, or a term over atoms.
///
/// The layout uses whole words. With the tag packed into a byte, copying a freshly written value stalls on its
/// parts, and runs take half as long again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub(crate) enum Value {
    Known(u32),
    /// `operator` folded over the atoms `start..end`, each once. A single atom has the operator
    /// [`Operator::Add`], whatever it is combined with later.
    Run {
        operator: Operator,
        start: u32,
        end: u32,
    },
    Sum(Rc<Sum>),
}

/// A term of more than one run, or with a constant or factors.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Sum {
    pub operator: Operator,
    /// The operator's identity if there is no constant.
    pub constant: u32,
    /// Sorted and disjoint; neighbours with one factor are merged.
    pub parts: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Part {
    pub start: u32,
    pub end: u32,
    /// How often each atom occurs; modulo 2^32 for integer `+`.
    pub factor: u32,
}

/// Interned operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    /// The argument itself, as an atom in another operator's form.
    Same,
    /// The component offset of an array element. Arguments: the base of the enclosing place, the index, the
    /// components of an element, the components before the array in that place, and the number of elements.
    /// Past the end, any value.
    Offset,
    Unary(UnaryOp, Scalar),
    Binary(BinaryOp, Scalar),
    Cast {
        from: Scalar,
        to: Scalar,
    },
    Select,
    Intrinsic {
        intrinsic: Intrinsic,
        scalar: Scalar,
        component: u8,
    },
    /// A component of an element of a read-only resource. Arguments: the index (and byte or dimension parts).
    Load {
        resource: Symbol,
        component: u32,
    },
    /// A load from a resource that others may write, identified by the history that it ends. Arguments: index,
    /// thread.
    VolatileLoad {
        resource: Symbol,
        component: u32,
        event: u32,
    },
    /// The old value that an atomic returned. Arguments: thread, and for groupshared memory the step
    /// ([`crate::exec::atomic_history`]).
    AtomicResult {
        event: u32,
        source: Source,
    },
    /// A member of a `cbuffer`.
    Uniform {
        name: Symbol,
        component: u32,
    },
    /// `SV_GroupID` component.
    GroupId(u8),
    /// A groupshared cell before its first write.
    Uninitialised {
        array: Symbol,
        index: u32,
    },
    /// The initial, unknown content of a place in a thread.
    Free {
        place: Symbol,
        component: u32,
        thread: u32,
    },
    /// An expression that the run does not understand, identified by its text.
    Opaque {
        text: Symbol,
        component: u8,
    },
    /// The content of a place after statements that were not followed, identified by their text. Arguments:
    /// everything that they read.
    Havoc {
        text: Symbol,
        place: Symbol,
        component: u32,
    },
    /// An unknown value that may tell the threads apart. Argument: thread.
    UnknownByThread {
        event: u32,
    },
    /// What a partial result is marked with ([`crate::detect::collectives::partial_result_taint`]). Arguments: the
    /// place within what is marked.
    Mark {
        event: u32,
        mark: Mark,
    },
}

impl Op {
    /// Whether the result is a function of the arguments alone, and not something that the kernel reads or is
    /// given.
    pub fn is_arithmetic(self) -> bool {
        match self {
            Op::Same
            | Op::Offset
            | Op::Unary(..)
            | Op::Binary(..)
            | Op::Cast { .. }
            | Op::Select
            | Op::Intrinsic { .. } => true,
            Op::Load { .. }
            | Op::VolatileLoad { .. }
            | Op::AtomicResult { .. }
            | Op::Uniform { .. }
            | Op::GroupId(_)
            | Op::Uninitialised { .. }
            | Op::Free { .. }
            | Op::Opaque { .. }
            | Op::Havoc { .. }
            | Op::UnknownByThread { .. }
            | Op::Mark { .. } => false,
        }
    }
}

/// The runs of a value; a single run is stored inline.
pub(crate) enum Parts<'v> {
    One([Part; 1]),
    Many(&'v [Part]),
}

impl Deref for Parts<'_> {
    type Target = [Part];

    fn deref(&self) -> &[Part] {
        match self {
            Parts::One(part) => part,
            Parts::Many(parts) => parts,
        }
    }
}

impl Value {
    /// Whether an integer operation combines several atoms, a factor or a constant into this value.
    pub fn is_form_of_words(&self) -> bool {
        match self {
            Value::Known(_) => false,
            Value::Run { operator, start, end } => end - start > 1 && !operator.is_on_floats(),
            Value::Sum(sum) => !sum.operator.is_on_floats(),
        }
    }

    /// Combines two or more atoms, each once. `atoms` must be sorted.
    pub fn of_atoms(operator: Operator, atoms: &[u32]) -> Value {
        let runs = atoms.chunk_by(|one, next| one + 1 == *next);
        let parts = runs.filter_map(|run| {
            Some(Part {
                start: *run.first()?,
                end: run.last()? + 1,
                factor: 1,
            })
        });
        normalise(operator, operator.identity(), parts.collect())
    }

    pub const FALSE: Value = Value::Known(0);
    pub const TRUE: Value = Value::Known(1);

    /// The runs of the value's atoms.
    pub fn runs(&self) -> impl Iterator<Item = Range<u32>> {
        let (own, parts) = match self {
            Value::Known(_) => (None, &[][..]),
            Value::Run { start, end, .. } => (Some(*start..*end), &[][..]),
            Value::Sum(sum) => (None, sum.parts.as_slice()),
        };
        own.into_iter()
            .chain(parts.iter().map(|part| part.start..part.end))
    }

    /// The atoms of the value.
    pub fn atoms(&self) -> impl Iterator<Item = u32> {
        self.runs().flatten()
    }

    /// The number of atoms.
    pub fn atom_count(&self) -> u32 {
        match self {
            Value::Known(_) => 0,
            Value::Run { start, end, .. } => end - start,
            Value::Sum(sum) => {
                let sizes = sum.parts.iter().map(|part| part.end - part.start);
                sizes.fold(0, u32::saturating_add)
            }
        }
    }

    pub fn atom(atom: u32) -> Value {
        Value::Run {
            operator: Operator::Add,
            start: atom,
            end: atom + 1,
        }
    }

    pub fn known(&self) -> Option<u32> {
        match self {
            Value::Known(word) => Some(*word),
            _ => None,
        }
    }
}

/// Adds up the factors of two sorted lists of runs.
pub(crate) fn merge(operator: Operator, left: &[Part], right: &[Part]) -> Vec<Part> {
    let mut merged: Vec<Part> = Vec::with_capacity(left.len() + right.len());
    let mut push = |part: Part| {
        if part.factor == 0 || part.start == part.end {
            return;
        }
        match merged.last_mut() {
            Some(last) if last.end == part.start && last.factor == part.factor => last.end = part.end,
            _ => merged.push(part),
        }
    };
    let (mut left, mut right) = (left.iter().copied(), right.iter().copied());
    let (mut a, mut b) = (left.next(), right.next());
    loop {
        match (&mut a, &mut b) {
            (None, None) => return merged,
            (Some(part), None) => {
                push(*part);
                a = left.next();
            }
            (None, Some(part)) => {
                push(*part);
                b = right.next();
            }
            (Some(first), Some(second)) => {
                if first.end <= second.start {
                    push(*first);
                    a = left.next();
                } else if second.end <= first.start {
                    push(*second);
                    b = right.next();
                } else if first.start < second.start {
                    push(Part {
                        end: second.start,
                        ..*first
                    });
                    first.start = second.start;
                } else if second.start < first.start {
                    push(Part {
                        end: first.start,
                        ..*second
                    });
                    second.start = first.start;
                } else {
                    let end = first.end.min(second.end);
                    push(Part {
                        start: first.start,
                        end,
                        factor: operator.add_factors(first.factor, second.factor),
                    });
                    first.start = end;
                    second.start = end;
                    if first.start == first.end {
                        a = left.next();
                    }
                    if second.start == second.end {
                        b = right.next();
                    }
                }
            }
        }
    }
}

/// The normal form of a value.
pub(crate) fn normalise(operator: Operator, constant: u32, mut parts: Vec<Part>) -> Value {
    parts.retain(|part| part.factor != 0);
    if parts.is_empty() {
        return Value::Known(constant);
    }
    if operator.absorbs(constant) {
        return Value::Known(constant);
    }
    match parts.as_slice() {
        [
            Part {
                start,
                end,
                factor: 1,
            },
        ] if operator.is_identity(constant) => Value::Run {
            operator: if end - start == 1 { Operator::Add } else { operator },
            start: *start,
            end: *end,
        },
        _ => Value::Sum(Rc::new(Sum {
            operator,
            constant,
            parts,
        })),
    }
}
