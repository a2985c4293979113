//! Contended atomics.

use std::collections::BTreeSet;

use shaderlint_hlsl::{Expr, ExprKind, FunctionId, GlobalId, LocalId, Scalar, Span, UnaryOp};

use crate::facts::calls::Atomic;
use crate::terms::operator::Operator;

/// A contended atomic: many threads of a wave may make it on one cell, or on few, in the same step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContendedAtomic {
    pub operation: Atomic,
    pub cells: Cells,
    /// The amount, in a run without races.
    pub amount: Amount,
    pub quantity: Quantity,
    pub old_value: OldValueUse,
    /// The code reads the variable that receives the old value. If a run loses track of it, it may be unused
    /// nevertheless.
    pub is_old_value_read: bool,
    /// The cells are groupshared; otherwise in device memory.
    pub is_shared: bool,
    /// The number of threads of the group that may take part.
    pub lanes: u32,
    /// All of them take part, for all inputs.
    pub is_certain: bool,
    /// The cell's index is known at every execution, and depends on nothing that is read.
    pub has_known_cell: bool,
    /// What happens to any cell of its groupshared array between the same barriers.
    pub meanwhile: Meanwhile,
    /// The expression that names the cell.
    pub place: Span,
    /// The whole call.
    pub span: Span,
    /// The function whose text holds `span`.
    pub function: FunctionId,
    /// Undeclared names in the address. The address is the same for all threads only if each name has the same
    /// value in all of them.
    pub assumed_uniform: BTreeSet<String>,
    /// Its parts, if one thread of a wave can make it for all, in place; for one of few cells, if it is a
    /// statement of its own.
    pub parts: Result<Parts, NotCombined>,
}

/// What may happen to an array between the same barriers as an atomic on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meanwhile {
    /// Atomics alone.
    Atomics,
    /// A plain access, possibly of another cell, with its position if it ran.
    Plain(Option<Span>),
    /// The atomic may be on either side of this barrier, which perhaps not all inputs reach, or of the barriers
    /// of this statement.
    Unreached(Span),
    /// The barriers around it are unknown: the run did not see all of the kernel, not all inputs reach a
    /// barrier, or an unfollowed loop or branch around it contains barriers.
    Unknown,
}

/// Why one thread of a wave cannot make an atomic for all, in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotCombined {
    /// The run did not see every execution of it: it was not followed to its end, or the address depends on an
    /// undeclared name.
    Unfollowed,
    /// It is part of another statement, or in the head of a loop.
    NotAStatement,
    /// The cell or the amount is not `int` or `uint`, or their types differ.
    Type,
    /// No wave intrinsic combines with this operator.
    Operator,
    /// The old value is used other than as the index of a slot.
    OldValue,
    /// The expression that names the cell has effects, reads memory, or may change between iterations or calls.
    Cell,
    /// The cell belongs to a variable that may alias what others use under another name.
    Alias,
    /// This memory barrier lets a thread observe when its atomic is made.
    MemoryBarrier(Span),
    /// This other use of the same memory lets a thread observe it.
    OtherUse(Span),
    /// Another kind of atomic accesses it.
    OtherAtomic(Span),
    /// Another atomic on it uses its old value.
    OtherResult(Span),
}

/// The parts of an atomic's call that is a statement of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The call with its semicolon.
    pub statement: Span,
    /// It is the only statement in its block.
    pub is_alone: bool,
    /// The name, e.g. `InterlockedAdd`.
    pub name: &'static str,
    pub operator: Operator,
    /// The resource, if the call is its method.
    pub object: Option<Span>,
    /// The first argument: the cell, or a method's address.
    pub place: Span,
    pub amount: Span,
    pub quantity: Quantity,
    /// The target of the old value, if there is one and it is used.
    pub old: Option<Span>,
    /// The variable that receives an unused old value; its content does not matter.
    pub unused: Option<LocalId>,
    /// For one of few cells: the index or address that selects it.
    pub index: Option<Span>,
    /// The cell's type.
    pub cell: Scalar,
    /// The groupshared variable that contains the cell.
    pub array: Option<GlobalId>,
}

/// How an amount is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A literal such as `1` or `-1`.
    Figures,
    /// A variable, or a part of one.
    Variable,
    Expression,
}

/// Which cells the atomics of one step access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cells {
    /// The address is the same for all active threads.
    One,
    /// At most this many different addresses.
    Few(u32),
}

/// The amount that each thread contributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    Known(i32),
    /// The same for all active threads.
    Uniform,
    Varying,
}

/// What happens to the atomic's old value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OldValueUse {
    /// Nothing depends on it.
    Unused,
    /// It becomes an address, or is kept.
    Slot,
    /// It decides something, or the run does not follow its use.
    Otherwise,
}

impl Quantity {
    /// How an amount is written.
    pub(crate) fn of(expr: &Expr) -> Quantity {
        match &expr.kind {
            ExprKind::Literal(_) => Quantity::Figures,
            // An implicit conversion.
            ExprKind::Cast(inner) if inner.span == expr.span => Quantity::of(inner),
            ExprKind::Unary(UnaryOp::Negate, operand) if Quantity::of(operand) == Quantity::Figures => {
                Quantity::Figures
            }
            ExprKind::Local(_) => Quantity::Variable,
            ExprKind::Field(base, _) | ExprKind::Swizzle(base, _)
                if Quantity::of(base) == Quantity::Variable =>
            {
                Quantity::Variable
            }
            _ => Quantity::Expression,
        }
    }
}
