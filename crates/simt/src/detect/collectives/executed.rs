//! Statements that have run, and what of them is known.

use shaderlint_hlsl::{Span, Stmt};

use crate::facts::effects::Effects;

/// Statements of a construct that have run.
#[derive(Clone, Copy)]
pub(crate) struct Executed<'s> {
    pub statements: &'s [Stmt],
    /// Of each of them.
    pub effects: &'s [Effects],
    /// `State::events` after each of them.
    pub events: &'s [u32],
}

impl Executed<'_> {
    pub fn span(self) -> Span {
        let spans = self.statements.iter().map(|statement| statement.span);
        spans.reduce(Span::to).unwrap_or_default()
    }

    /// The first `count` of them, and the others.
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
