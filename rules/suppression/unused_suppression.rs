//! `unused-suppression`: a comment that allows what is not found.

use shaderlint_linter::{Category, Rule};

/// It judges comments after all other rules: see `unused_suppressions` of the linter. No run of a kernel shows it
/// anything.
pub const RULE: Rule = Rule {
    id: "unused-suppression",
    category: Category::Suppression,
    summary: "a comment allows a rule that finds nothing",
    aliases: &[],
    explanation: include_str!("unused_suppression.md"),
    check: |_, _| {},
};
