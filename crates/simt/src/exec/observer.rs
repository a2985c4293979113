//! The events that a run reports to its observer. The machine knows no detector.

use std::collections::BTreeSet;

use shaderlint_hlsl::{Expr, GlobalId, Intrinsic, LocalId, Span, Stmt};

use crate::exec::atomic::Cell;
use crate::exec::memory::Touch;
use crate::exec::{Machine, Run};
use crate::facts::calls::Atomic;
use crate::facts::effects::Effects;
use crate::finding::Quantity;
use crate::terms::Symbol;
use crate::terms::column::Column;
use crate::terms::source::Source;
use crate::terms::value::Value;

/// An atomic that the active threads are about to make.
pub(crate) struct AtomicAccess<'m> {
    /// What it does, if it may be a claim.
    pub operation: Option<Atomic>,
    /// What distinguishes the cell within its resource or array.
    pub address: &'m [Column],
    pub amount: &'m [Column],
    pub quantity: Quantity,
    /// The atomic's result is stored to its own cell, or to another cell of that variable.
    pub undoes: bool,
    /// The names in its address that are assumed to be the same for all threads.
    pub assumed_uniform: &'m BTreeSet<String>,
    /// The number of elements of the groupshared array; `None` on the device.
    pub cells: Option<u32>,
    pub array: Option<GlobalId>,
    pub place: Span,
    pub span: Span,
}

/// Observes a run. The machine calls each method as the event happens; the observer may run statements from there, on a
/// copy of the state.
pub(crate) trait Observer: Default {
    /// What the observer keeps from a block's statements until its end.
    type Trail: Default;
    /// What the observer saw up to some point of the run.
    type Seen;

    /// Whether the run tries a candidate: nothing is reported meanwhile.
    fn is_trying(&self) -> bool;

    /// The statement with this index is next.
    fn before_statement<'a>(
        machine: &mut Machine<'a, Self>,
        statements: &'a [Stmt],
        index: usize,
        trail: &mut Self::Trail,
    );
    /// Whether the observer needs nothing more from the run.
    fn after_statement(machine: &mut Machine<'_, Self>, statement: &Stmt) -> bool;
    fn after_block<'a>(machine: &mut Machine<'a, Self>, statements: &'a [Stmt], trail: Self::Trail);
    /// The run does not follow these statements: their result is a term, or unknown.
    fn not_followed(machine: &mut Machine<'_, Self>, statements: &[Stmt]);
    /// The run followed these statements up to where it ends.
    fn cut_short(machine: &mut Machine<'_, Self>, statements: &[Stmt]);

    fn assigned(machine: &mut Machine<'_, Self>, local: LocalId, value: &[Column]);
    /// A part of a variable is about to change.
    fn assigns_part(machine: &mut Machine<'_, Self>, local: LocalId);
    fn computed(machine: &mut Machine<'_, Self>, expr: &Expr, value: &[Column]);

    /// Something depends on these values.
    fn uses(machine: &Machine<'_, Self>, column: &Column);
    /// These values select a place, or are stored somewhere.
    fn uses_as_place(machine: &Machine<'_, Self>, column: &Column);
    /// Statements with these effects depend on what they read.
    fn uses_in(machine: &Machine<'_, Self>, effects: &Effects);
    /// These values are passed to code that is not followed, or decide something.
    fn gives<'v>(machine: &Machine<'_, Self>, values: impl IntoIterator<Item = &'v Value>);
    /// The run forgets these values, and reports no later use of them.
    fn forgets<'v>(machine: &Machine<'_, Self>, values: impl IntoIterator<Item = &'v Value>);

    /// Groupshared memory is accessed.
    fn accessed(machine: &mut Machine<'_, Self>);
    /// One thread accesses a cell. For a write, `change` holds the old and the new value. The machine reports this
    /// only in a [replay](crate::exec::RunMode::Replay).
    fn accessed_cell(
        machine: &mut Machine<'_, Self>,
        array: GlobalId,
        cell: u32,
        touch: Touch,
        change: Option<[Value; 2]>,
    );
    /// A resource is accessed, other than by atomics.
    fn accessed_device(
        machine: &mut Machine<'_, Self>,
        resource: GlobalId,
        index: &[Column],
        part: &Column,
        is_store: bool,
    );
    /// A value is stored at a place: in a resource, or in groupshared memory.
    fn stored<'c>(
        machine: &mut Machine<'_, Self>,
        resource: Option<Symbol>,
        place: impl Iterator<Item = &'c Column>,
        value: &Column,
    );
    fn passed_barrier(machine: &mut Machine<'_, Self>, span: Span, orders_device: bool);
    fn passed_fence(machine: &mut Machine<'_, Self>);

    /// Returns the source of the value that the atomic finds.
    fn atomic(machine: &mut Machine<'_, Self>, access: &AtomicAccess<'_>) -> Source;
    /// An atomic on some memory. `combined` is the name of its operation, if that combines its operand with the cell.
    fn atomic_on(
        machine: &mut Machine<'_, Self>,
        memory: GlobalId,
        is_on_device: bool,
        combined: Option<&str>,
    );
    fn appended(machine: &mut Machine<'_, Self>, resource: GlobalId);
    /// An atomic found a value from this source.
    fn found(machine: &mut Machine<'_, Self>, source: Source);
    /// In a run for [refinement](crate::exec::RunMode::Refinement): returns what the lanes find.
    fn serve<'a>(
        machine: &mut Machine<'a, Self>,
        intrinsic: Intrinsic,
        cell: &Cell<'_>,
        operands: &'a [Expr],
        amount: &[Column],
        expr: &Expr,
    ) -> Run<Vec<Column>>;
    /// Whether these values depend on the number that an atomic found.
    fn is_made_of_slots(machine: &Machine<'_, Self>, column: &Column) -> bool;

    fn read_lane(machine: &mut Machine<'_, Self>, in_arm: bool);
    /// Both arms of a `?:` do no more than read other lanes.
    fn reads_in_arms<'a>(
        machine: &mut Machine<'a, Self>,
        condition: &[Column],
        a: &'a Expr,
        b: &'a Expr,
    ) -> Run<Vec<Column>>;

    fn so_far(&self) -> Self::Seen;
    /// Drops what the observer saw since then: it held only for those iterations of a loop.
    fn go_back(&mut self, seen: Self::Seen);
}
