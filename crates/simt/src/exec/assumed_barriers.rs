//! Runs a kernel as if it had barriers that its text does not have.
//!
//! A barrier under a condition that threads do not share is no barrier. If the condition ends before it and is tested
//! anew after it, every thread reaches it: `if (c) { a; b; }` becomes `if (c) { a; } barrier; if (c) { b; }`, with
//! the value of `c` kept. The lock-step run executes the statements of `a` for all threads before those of `b`. So it
//! is that kernel's run too if it counts a barrier between them, as long as all threads are at the enclosing
//! statement. The run checks that where the statement begins, as it does for a barrier.

use shaderlint_hlsl::{Span, Stmt, calls};

use crate::exec::Observer;
use crate::exec::{Machine, Run};
use crate::terms::value::Value;

/// Places at which the whole group is assumed to wait.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AssumedBarriers {
    /// Statements before which it waits.
    pub before: Vec<Span>,
    /// Targets of assignments: it waits between what the assignment reads and what it writes.
    pub within: Vec<Span>,
    /// The enclosing statements of these places, or such a statement itself, that all threads have to reach together.
    /// Between the two there are only blocks and conditions without an `else`, and nothing leaves early.
    pub wholes: Vec<Span>,
}

impl<O: Observer> Machine<'_, O> {
    /// Called before each statement.
    pub fn wait_if_assumed_before(&mut self, statement: Span) -> Run<()> {
        let Some(barriers) = self.assuming.barriers else {
            return Ok(());
        };
        if barriers.wholes.contains(&statement) {
            let guard = self.state.guard.uniform(self.all);
            if self.state.active != self.all || guard != Some(&Value::TRUE) {
                return Self::stop("an assumed barrier that some threads may not reach", statement);
            }
        }
        if barriers.before.contains(&statement) {
            self.wait_as_assumed(statement);
        }
        Ok(())
    }

    /// Called between what an assignment reads and what it writes.
    pub fn wait_if_assumed_within(&mut self, target: Span) {
        if self
            .assuming
            .barriers
            .is_some_and(|barriers| barriers.within.contains(&target))
        {
            self.wait_as_assumed(target);
        }
    }

    /// Whether an assumed barrier may be among statements that are not followed: nothing checks for which inputs
    /// threads reach it there.
    pub fn may_hold_assumed_barrier(&self, statements: &[Stmt], span: Span) -> bool {
        self.assuming.barriers.is_some_and(|barriers| {
            let is_inside = |whole: &Span| span.start <= whole.start && whole.end <= span.end;
            barriers.wholes.iter().any(is_inside) || calls(statements).next().is_some()
        })
    }

    fn wait_as_assumed(&mut self, span: Span) {
        self.report_data_dependent_races();
        let point = self.point(span);
        let state = &mut self.state;
        state.wait();
        state.barriers.end_interval(point, Value::TRUE);
    }
}
