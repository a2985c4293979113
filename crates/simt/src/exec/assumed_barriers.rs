//! Barriers that a kernel does not have: what it would be with them.
//!
//! A barrier that stands under a condition which threads do not share is no barrier. Where the condition is ended before it
//! and tested anew behind it, every thread comes to it: `if (c) { a; b; }` is `if (c) { a; } barrier; if (c) { b; }`, with
//! what `c` came to kept. The lock-step run makes the statements of `a` for all threads before those of `b`, so it is that
//! kernel's run too if it counts a barrier between them, as long as all threads are at the statement around: which is
//! asked where it begins, as it is of a barrier.

use std::rc::Rc;

use shaderlint_hlsl::{Span, Stmt, calls};

use crate::exec::Observer;
use crate::exec::{Machine, Run};
use crate::terms::column::Mask;
use crate::terms::value::Value;

/// Places at which the whole group is supposed to wait.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Supposed {
    /// Statements before which it does.
    pub before: Vec<Span>,
    /// What is assigned to, where it does between what the assignment reads and what it writes.
    pub within: Vec<Span>,
    /// The statements around these places, or such a statement itself, to which all threads have to come together. Between
    /// the two there are blocks and conditions without an `else`, and nothing is left early.
    pub wholes: Vec<Span>,
}

impl<O: Observer> Machine<'_, O> {
    /// Before a statement.
    pub fn suppose_before(&mut self, statement: Span) -> Run<()> {
        let Some(supposed) = self.assuming.supposed else {
            return Ok(());
        };
        if supposed.wholes.contains(&statement) {
            let guard = self.state.guard.uniform(self.all);
            if self.state.active != self.all || guard != Some(&Value::TRUE) {
                return Self::stop("a supposed barrier that not every thread may reach", statement);
            }
        }
        if supposed.before.contains(&statement) {
            self.wait_as_supposed(statement);
        }
        Ok(())
    }

    /// Between what an assignment reads and what it writes.
    pub fn suppose_within(&mut self, target: Span) {
        if self
            .assuming
            .supposed
            .is_some_and(|supposed| supposed.within.contains(&target))
        {
            self.wait_as_supposed(target);
        }
    }

    /// Whether a supposed barrier may be among statements that are not followed: by which inputs threads come to it there
    /// was not asked.
    pub fn may_hold_supposed(&self, statements: &[Stmt], span: Span) -> bool {
        self.assuming.supposed.is_some_and(|supposed| {
            let is_inside = |whole: &Span| span.start <= whole.start && whole.end <= span.end;
            supposed.wholes.iter().any(is_inside) || calls(statements).next().is_some()
        })
    }

    fn wait_as_supposed(&mut self, span: Span) {
        self.report_data_dependent_races();
        let point = self.point(span);
        let state = &mut self.state;
        state.doubtful = state.presumes;
        state.barriers.waited = Mask::EMPTY;
        state.barriers.interval += 1;
        state.barriers.since = Some(Rc::new(point));
        state.barriers.guard = Value::TRUE;
    }
}
