//! `shaderlint explain RULE`: the rule's page.

use anyhow::{Result, bail};
use shaderlint_rules::{RULES, named};

use crate::{Outcome, terminal};

pub(crate) fn run(id: &str) -> Result<Outcome> {
    let pages: Vec<&str> = named(id).map(|rule| rule.explanation.trim_end()).collect();
    if pages.is_empty() {
        let known: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
        match nearest(id) {
            Some(nearest) => bail!("no rule is called `{id}`; did you mean `{nearest}`?"),
            None => bail!("no rule is called `{id}`; the rules are {}", known.join(", ")),
        }
    }
    terminal::print(format!("{}\n", pages.join("\n\n")).as_bytes())?;
    Ok(Outcome::Clean)
}

/// The id or alias most like `id`, if one is at all like it.
fn nearest(id: &str) -> Option<&'static str> {
    let ids = RULES
        .iter()
        .flat_map(|rule| rule.aliases.iter().copied().chain([rule.id]));
    let scored = ids.map(|known| (likeness(id, known), known));
    scored
        .filter(|(likeness, _)| *likeness > 0.5)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}

/// Share of characters in common, in order: 1 for equal words.
fn likeness(a: &str, b: &str) -> f32 {
    similar::TextDiff::from_chars(a.to_lowercase().replace('_', "-").as_str(), b).ratio()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_id_is_suggested() {
        assert_eq!(nearest("hillis-steel-scan"), Some("hillis-steele-scan"));
        assert_eq!(nearest("Groupshared_Races"), Some("groupshared-race"));
        assert_eq!(nearest("race"), None);
        assert_eq!(nearest(""), None);
    }
}
