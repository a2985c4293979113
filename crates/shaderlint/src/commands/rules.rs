//! `shaderlint rules`: the list of rules.

use std::fmt::Write;

use anyhow::Result;
use serde::Serialize;
use shaderlint_linter::{Category, Level};
use shaderlint_rules::RULES;

use crate::cli::{ListFormat, Outcome, RulesArgs};
use crate::support::terminal::{self, WIDTH, wrap};

#[derive(Serialize)]
struct RuleOutput {
    id: &'static str,
    category: Category,
    /// The highest level by default: findings whose fix was not faster when measured are at `info`.
    level: Level,
    summary: &'static str,
    aliases: &'static [&'static str],
    /// The page, in Markdown.
    explanation: &'static str,
}

pub(crate) fn run(args: &RulesArgs) -> Result<Outcome> {
    match args.output_format {
        ListFormat::Text => list(),
        ListFormat::Json => {
            let text = format!("{}\n", serde_json::to_string_pretty(&outputs())?);
            terminal::print(text.as_bytes())?;
            Ok(Outcome::Clean)
        }
    }
}

/// Prints the rules for people.
pub(crate) fn list() -> Result<Outcome> {
    terminal::print(text().as_bytes())?;
    Ok(Outcome::Clean)
}

fn outputs() -> Vec<RuleOutput> {
    let outputs = RULES.iter().map(|rule| RuleOutput {
        id: rule.id,
        category: rule.category,
        level: rule.category.level(),
        summary: rule.summary,
        aliases: rule.aliases,
        explanation: rule.explanation,
    });
    outputs.collect()
}

/// The rules by category, with their summaries.
fn text() -> String {
    let longest = RULES.iter().map(|rule| rule.id.len()).max().unwrap_or(0);
    let margin = longest + 4;
    let mut text = String::new();
    for category in Category::ALL {
        let unless = match category {
            Category::Perf => ", or info where no gain was measured",
            _ => "",
        };
        let _ = writeln!(text, "{category} ({}{unless})", category.level());
        for rule in RULES.iter().filter(|rule| rule.category == category) {
            let summary = wrap(rule.summary, WIDTH - margin);
            for (number, line) in summary.lines().enumerate() {
                let id = if number == 0 { rule.id } else { "" };
                let _ = writeln!(text, "  {id:<longest$}  {line}");
            }
        }
        text.push('\n');
    }
    text + "`shaderlint explain RULE` prints a rule's page.\n"
}
