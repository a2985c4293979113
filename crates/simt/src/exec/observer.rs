//! The events that a run reports to its observer. The machine knows no detector.

use std::collections::BTreeSet;

use shaderlint_hlsl::{Expr, GlobalId, LocalId, Span, Stmt};

use crate::exec::atomic::Cell;
use crate::exec::memory::Touch;
use crate::exec::{Machine, Run};
use crate::facts::effects::Effects;
use crate::finding::Quantity;
use crate::terms::Symbol;
use crate::terms::column::Column;
use crate::terms::source::Source;
use crate::terms::value::Value;

/// An atomic that the active threads are about to make.
pub(crate) struct AtomicAccess<'m> {
    pub name: &'m str,
    /// What tells the cell from others of its resource or array.
    pub address: &'m [Column],
    pub amount: &'m [Column],
    pub quantity: Quantity,
    /// What it finds is stored over what it leaves, or beside it.
    pub undoes: bool,
    /// What is taken for one thing in all threads, in its address.
    pub supposed: &'m BTreeSet<String>,
    /// Elements of the groupshared array; `None` on the device.
    pub cells: Option<u32>,
    pub array: Option<GlobalId>,
    pub place: Span,
    pub span: Span,
}

/// Observes a run. The machine calls each method as the event happens; the observer may run statements from there, on a
/// copy of the state.
pub(crate) trait Observer: Default {
    /// What is kept from the statements of a block to its end.
    type Trail: Default;
    /// What was seen up to some point of the run.
    type Seen;

    /// A candidate is being tried out: nothing is reported meanwhile.
    fn is_trying(&self) -> bool;
    /// Whether the observer looks for constructs that need all threads at a barrier.
    fn awaits_constructs(&self) -> bool;
    /// Whether the observer follows what the kernel makes of partial results.
    fn follows_results(&self) -> bool;
    /// Whether the observer looks for ladders of lane reads.
    fn awaits_lane_reads(&self) -> bool;

    /// The statement of this index is next.
    fn before_statement<'a>(
        machine: &mut Machine<'a, Self>,
        statements: &'a [Stmt],
        index: usize,
        trail: &mut Self::Trail,
    );
    /// Whether nothing more is asked of the run.
    fn after_statement(machine: &mut Machine<'_, Self>, statement: &Stmt) -> bool;
    fn after_block<'a>(machine: &mut Machine<'a, Self>, statements: &'a [Stmt], trail: Self::Trail);
    /// Statements are not followed: what they do is a term, or unknown.
    fn not_followed(machine: &mut Machine<'_, Self>, statements: &[Stmt]);
    /// Statements were followed up to where the run ends.
    fn cut_short(machine: &mut Machine<'_, Self>, statements: &[Stmt]);

    fn assigned(machine: &mut Machine<'_, Self>, local: LocalId, value: &[Column]);
    /// A part of a variable is about to change.
    fn assigns_part(machine: &mut Machine<'_, Self>, local: LocalId);
    fn computed(machine: &mut Machine<'_, Self>, expr: &Expr, value: &[Column]);

    /// Something depends on these values.
    fn uses(machine: &Machine<'_, Self>, column: &Column);
    /// These values say where something is, or are kept somewhere.
    fn uses_as_place(machine: &Machine<'_, Self>, column: &Column);
    /// Statements of these effects depend on what they read.
    fn uses_in(machine: &Machine<'_, Self>, effects: &Effects);
    /// These values are given to something that is not followed, or decide something.
    fn gives<'v>(machine: &Machine<'_, Self>, values: impl IntoIterator<Item = &'v Value>);
    /// The run forgets these values, and reports no later use of them.
    fn forgets<'v>(machine: &Machine<'_, Self>, values: impl IntoIterator<Item = &'v Value>);

    /// Groupshared memory is accessed.
    fn accessed(machine: &mut Machine<'_, Self>);
    /// One thread accesses a cell; of a write, `change` has the old value and the new one. The machine reports this in
    /// [`RunMode::Numbers`] alone.
    ///
    /// [`RunMode::Numbers`]: crate::exec::RunMode::Numbers
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

    /// Gives where the value comes from that the atomic finds.
    fn atomic(machine: &mut Machine<'_, Self>, access: &AtomicAccess<'_>) -> Source;
    /// An atomic of this name on some memory.
    fn atomic_on(machine: &mut Machine<'_, Self>, memory: GlobalId, is_on_device: bool, name: &str);
    fn appended(machine: &mut Machine<'_, Self>, resource: GlobalId);
    /// An atomic has found something that is from here.
    fn found(machine: &mut Machine<'_, Self>, source: Source);
    /// In [`RunMode::LaneByLane`]: gives what the lanes find.
    ///
    /// [`RunMode::LaneByLane`]: crate::exec::RunMode::LaneByLane
    fn serve<'a>(
        machine: &mut Machine<'a, Self>,
        name: &str,
        cell: &Cell<'_>,
        operands: &'a [Expr],
        amount: &[Column],
        expr: &Expr,
    ) -> Run<Vec<Column>>;
    /// Whether these values were made from the number that an atomic found.
    fn is_made_of_slots(machine: &Machine<'_, Self>, column: &Column) -> bool;

    fn read_lane(machine: &mut Machine<'_, Self>, in_arm: bool);
    /// Both arms of a `?:` that do no more than read other lanes.
    fn reads_in_arms<'a>(
        machine: &mut Machine<'a, Self>,
        condition: &[Column],
        a: &'a Expr,
        b: &'a Expr,
    ) -> Run<Vec<Column>>;

    fn so_far(&self) -> Self::Seen;
    /// What was met since then does not count: it held for these passes of a loop only.
    fn go_back(&mut self, seen: Self::Seen);
}
