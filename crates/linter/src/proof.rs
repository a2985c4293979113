//! The statements of what is proved of a fix.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The text of a proof, not its steps: a statement of what is proved of a fix, and one more for each reading that proves
/// another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof(Vec<Statement>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Statement {
    /// Without the assumptions.
    text: String,
    assumptions: Vec<Assumption>,
}

/// What a proof assumes of the inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Assumption {
    /// All threads reach the barriers.
    AllReachBarriers,
    /// No float is NaN.
    NoNan,
    /// Powers of whole numbers are exact.
    ExactPowers,
}

impl Assumption {
    /// Assumptions, to follow a sentence about a kernel: "its barriers" are those of the kernel.
    #[must_use]
    pub fn all_in_words(assumptions: &[Assumption]) -> String {
        let conditions = assumptions.iter().filter_map(|assumption| match assumption {
            Assumption::AllReachBarriers => None,
            Assumption::NoNan => Some("no float is NaN"),
            Assumption::ExactPowers => Some("powers of whole numbers are exact"),
        });
        let conditions: Vec<&str> = conditions.collect();
        let reached = if assumptions.contains(&Assumption::AllReachBarriers) {
            ", for inputs for which all threads reach its barriers"
        } else {
            ""
        };
        let before = if conditions.is_empty() { "" } else { ", if " };
        format!("{reached}{before}{}", conditions.join(" and "))
    }
}

impl Proof {
    #[must_use]
    pub fn new(text: impl Into<String>, assumptions: Vec<Assumption>) -> Proof {
        Proof(vec![Statement {
            text: text.into(),
            assumptions,
        }])
    }

    /// The same behind the name of a reading, such as "with -D WAVES".
    #[must_use]
    pub fn prefixed_with(mut self, reading: &str) -> Proof {
        if let Some(first) = self.0.first_mut() {
            first.text = format!("{reading}, {}", first.text);
        }
        self
    }

    /// Both proofs.
    #[must_use]
    pub fn and(mut self, other: Proof) -> Proof {
        self.0.extend(other.0);
        self
    }

    #[must_use]
    pub fn assumes(&self, assumption: Assumption) -> bool {
        let mut statements = self.0.iter();
        statements.any(|statement| statement.assumptions.contains(&assumption))
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, Statement { text, assumptions }) in self.0.iter().enumerate() {
            let before = if number == 0 { "" } else { "; " };
            write!(f, "{before}{text}{}", Assumption::all_in_words(assumptions))?;
        }
        Ok(())
    }
}
