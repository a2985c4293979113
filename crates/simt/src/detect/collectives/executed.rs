//! Statements that have run, with their effects.

use shaderlint_hlsl::{Span, Stmt};

use crate::facts::effects::Effects;

/// Statements of a construct that have run.
#[derive(Clone, Copy)]
pub(crate) struct Executed<'s> {
    pub statements: &'s [Stmt],
    /// One for each statement.
    pub effects: &'s [Effects],
    /// `State::events` after each statement.
    pub events: &'s [u32],
}

impl Executed<'_> {
    pub fn span(self) -> Span {
        let spans = self.statements.iter().map(|statement| statement.span);
        spans.reduce(Span::to).unwrap_or_default()
    }

    /// The first `count` statements, and the rest.
    pub fn split_at(self, count: usize) -> Option<(Self, Self)> {
        let (statements, effects, events) = (
            self.statements.split_at_checked(count)?,
            self.effects.split_at_checked(count)?,
            self.events.split_at_checked(count)?,
        );
        let part = |statements, effects, events| Executed {
            statements,
            effects,
            events,
        };
        Some((
            part(statements.0, effects.0, events.0),
            part(statements.1, effects.1, events.1),
        ))
    }
}
