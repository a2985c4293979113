//! The detectors that observe a run. [`collectives`] finds scans and reductions over groupshared memory,
//! [`shuffles`] finds those between the lanes of a wave, and [`atomics`] finds contended atomics. The machine
//! reports races and other defects itself ([`crate::exec`]); [`witness`] replays the races.

pub(crate) mod atomics;
pub(crate) mod collectives;
pub(crate) mod coverage;
pub(crate) mod shuffles;
pub(crate) mod witness;

use shaderlint_hlsl::{Expr, GlobalId, Intrinsic, LocalId, Span, Stmt};

use crate::detect::atomics::contention::{Contention, Sites};
use crate::detect::atomics::served::Served;
use crate::detect::collectives::candidate_search::{Prober, Trail};
use crate::detect::collectives::partial_result_taint::Marking;
use crate::detect::shuffles::ladders::Ladders;
use crate::detect::witness::Recorder;
use crate::exec::atomic::Cell;
use crate::exec::memory::Touch;
use crate::exec::{AtomicAccess, Machine, Observer, Run};
use crate::facts::effects::Effects;
use crate::terms::Symbol;
use crate::terms::column::Column;
use crate::terms::source::Source;
use crate::terms::value::Value;

/// The state of all detectors. A detector that this kind of run does not need is `None` or empty.
#[derive(Default)]
pub(crate) struct Detectors {
    /// In a run for collectives.
    pub prober: Prober,
    /// In a run for atomics.
    pub contention: Option<Contention>,
    /// In a run with marks: the marked values that constructs leave.
    pub marking: Marking,
    /// In a run for refinement.
    pub served: Option<Served>,
    /// In a run for lane reads.
    pub ladders: Option<Ladders>,
    /// In a replay.
    pub recorder: Option<Recorder>,
}

impl Detectors {
    /// The detectors of a run for atomics.
    pub fn of_atomics() -> Detectors {
        Detectors {
            contention: Some(Contention::default()),
            ..Detectors::default()
        }
    }
}

impl Observer for Detectors {
    type Trail = Trail;
    type Seen = Sites;

    fn is_trying(&self) -> bool {
        self.prober.is_probing()
    }

    fn before_statement<'a>(
        machine: &mut Machine<'a, Self>,
        statements: &'a [Stmt],
        index: usize,
        trail: &mut Trail,
    ) {
        machine.leave_trail(statements, index, trail);
        machine.try_ladder(statements, index);
    }

    fn after_statement(machine: &mut Machine<'_, Self>, statement: &Stmt) -> bool {
        machine.mark_leftovers(statement);
        let function = machine.state.frame.function;
        machine.observer.prober.is_done(function, statement.span)
    }

    fn after_block<'a>(machine: &mut Machine<'a, Self>, statements: &'a [Stmt], trail: Trail) {
        machine.probe(statements, trail);
    }

    fn not_followed(machine: &mut Machine<'_, Self>, statements: &[Stmt]) {
        machine.lose_ladders(statements);
        let function = machine.state.frame.function;
        machine.observer.prober.miss(machine.shader, function, statements);
    }

    fn cut_short(machine: &mut Machine<'_, Self>, statements: &[Stmt]) {
        machine.lose_ladders(statements);
    }

    fn assigned(machine: &mut Machine<'_, Self>, local: LocalId, value: &[Column]) {
        machine.notice(local, value);
    }

    fn assigns_part(machine: &mut Machine<'_, Self>, local: LocalId) {
        machine.forget_noticed(local);
    }

    fn computed(machine: &mut Machine<'_, Self>, expr: &Expr, value: &[Column]) {
        machine.notice_expression(expr, value);
    }

    fn uses(machine: &Machine<'_, Self>, column: &Column) {
        machine.uses(column);
    }

    fn uses_as_place(machine: &Machine<'_, Self>, column: &Column) {
        machine.uses_as_place(column);
    }

    fn uses_in(machine: &Machine<'_, Self>, effects: &Effects) {
        machine.uses_in(effects);
    }

    fn gives<'v>(machine: &Machine<'_, Self>, values: impl IntoIterator<Item = &'v Value>) {
        machine.note_leftovers(values);
    }

    fn forgets<'v>(machine: &Machine<'_, Self>, values: impl IntoIterator<Item = &'v Value>) {
        machine.note_forgotten(values);
    }

    fn accessed(machine: &mut Machine<'_, Self>) {
        machine.observer.prober.accessed();
    }

    fn accessed_cell(
        machine: &mut Machine<'_, Self>,
        array: GlobalId,
        cell: u32,
        touch: Touch,
        change: Option<[Value; 2]>,
    ) {
        machine.record(array, cell, touch, change);
    }

    fn accessed_device(
        machine: &mut Machine<'_, Self>,
        resource: GlobalId,
        index: &[Column],
        part: &Column,
        is_store: bool,
    ) {
        machine.note_access(resource, index, part, is_store);
    }

    fn stored<'c>(
        machine: &mut Machine<'_, Self>,
        resource: Option<Symbol>,
        place: impl Iterator<Item = &'c Column>,
        value: &Column,
    ) {
        machine.note_order(resource, place, value);
    }

    fn passed_barrier(machine: &mut Machine<'_, Self>, span: Span, orders_device: bool) {
        machine.observer.prober.at_barrier(span, orders_device);
        machine.observe_partial_results();
    }

    fn passed_fence(machine: &mut Machine<'_, Self>) {
        machine.observer.prober.at_fence();
    }

    fn atomic(machine: &mut Machine<'_, Self>, access: &AtomicAccess<'_>) -> Source {
        machine.meet_atomic(access)
    }

    fn atomic_on(
        machine: &mut Machine<'_, Self>,
        memory: GlobalId,
        is_on_device: bool,
        combined: Option<&str>,
    ) {
        machine.note_atomic(memory, is_on_device, combined);
    }

    fn appended(machine: &mut Machine<'_, Self>, resource: GlobalId) {
        machine.note_appended(resource);
    }

    fn found(machine: &mut Machine<'_, Self>, source: Source) {
        machine.note_found(source);
    }

    fn serve<'a>(
        machine: &mut Machine<'a, Self>,
        intrinsic: Intrinsic,
        cell: &Cell<'_>,
        operands: &'a [Expr],
        amount: &[Column],
        expr: &Expr,
    ) -> Run<Vec<Column>> {
        machine.serve(intrinsic, cell, operands, amount, expr)
    }

    fn is_made_of_slots(machine: &Machine<'_, Self>, column: &Column) -> bool {
        machine.taint(column).is_some_and(|(_, taint)| taint.slots != 0)
    }

    fn read_lane(machine: &mut Machine<'_, Self>, in_arm: bool) {
        machine.note_lane_read(in_arm);
    }

    fn reads_in_arms<'a>(
        machine: &mut Machine<'a, Self>,
        condition: &[Column],
        a: &'a Expr,
        b: &'a Expr,
    ) -> Run<Vec<Column>> {
        machine.reads_in_arms(condition, a, b)
    }

    fn so_far(&self) -> Sites {
        self.contention
            .as_ref()
            .map(Contention::so_far)
            .unwrap_or_default()
    }

    fn go_back(&mut self, seen: Sites) {
        if let Some(claims) = &mut self.contention {
            claims.go_back(seen);
        }
    }
}
