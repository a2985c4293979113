//! `shaderlint explain RULE`: the rule's page.

mod markdown;

use anyhow::{Result, bail};
use shaderlint_linter::Rule;
use shaderlint_rules::named;

use crate::cli::Outcome;
use crate::support::suggestions::no_such_rule;
use crate::support::terminal::{self, ColorChoice, Style};

pub(crate) fn run(id: &str) -> Result<Outcome> {
    let rules: Vec<&Rule> = named(id).collect();
    if rules.is_empty() {
        bail!(no_such_rule(id));
    }
    let style = Style::of_stdout(ColorChoice::Auto);
    let pages = pages(id, &rules);
    let pages = if style.is_colored {
        markdown::for_terminal(&pages, style)
    } else {
        pages
    };
    terminal::print(pages.as_bytes())?;
    Ok(Outcome::Clean)
}

/// The pages of the rules that `id` names. A rule of another publisher may correspond to several rules here.
fn pages(id: &str, rules: &[&Rule]) -> String {
    let mut pages: Vec<&str> = rules.iter().map(|rule| rule.explanation.trim_end()).collect();
    let ids: Vec<&str> = rules.iter().map(|rule| rule.id).collect();
    let lead = format!("`{id}` stands for {}", ids.join(", "));
    if rules.len() > 1 {
        pages.insert(0, &lead);
    }
    format!("{}\n", pages.join("\n\n"))
}

#[cfg(test)]
mod tests {
    use shaderlint_linter::Category;

    use super::*;

    #[test]
    fn an_alias_may_stand_for_several_rules() {
        let rule = |id, explanation| Rule {
            id,
            category: Category::Perf,
            summary: "",
            aliases: &["both"],
            explanation,
            check: |_, _| {},
        };
        let (a, b) = (rule("a", "# a\n"), rule("b", "# b\n"));
        assert_eq!(pages("both", &[&a, &b]), "`both` stands for a, b\n\n# a\n\n# b\n");
        assert_eq!(pages("a", &[&a]), "# a\n");
    }
}
