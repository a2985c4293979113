//! `shaderlint explain RULE`: the rule's page.

use anyhow::{Result, bail};
use shaderlint_linter::Rule;
use shaderlint_rules::{RULES, named};

use crate::terminal::ColorChoice;
use crate::terminal::{self, Style};
use crate::{Outcome, markdown};

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

/// Says that there is no such rule, and what may have been meant.
pub(crate) fn no_such_rule(id: &str) -> String {
    let meant = meant(id);
    let meant: Vec<String> = meant.iter().map(|id| format!("`{id}`")).collect();
    match &meant[..] {
        [] => format!("no rule is called `{id}`; `shaderlint rules` lists them"),
        [one] => format!("no rule is called `{id}`; did you mean {one}?"),
        [most @ .., last] => {
            let most = most.join(", ");
            format!("no rule is called `{id}`; did you mean {most} or {last}?")
        }
    }
}

/// The rules that `id` is a part of by name, else the id or alias that it is like.
fn meant(id: &str) -> Vec<&'static str> {
    let word = id.to_lowercase();
    // Of so few letters as to be in anything, nothing is known.
    let ids = RULES.iter().map(|rule| rule.id);
    let named: Vec<&str> = ids
        .filter(|known| word.len() > 2 && known.contains(&word))
        .collect();
    if named.is_empty() {
        nearest(id).into_iter().collect()
    } else {
        named
    }
}

/// The pages of the rules that `id` names. Others publish one rule where there are several here.
fn pages(id: &str, rules: &[&Rule]) -> String {
    let mut pages: Vec<&str> = rules.iter().map(|rule| rule.explanation.trim_end()).collect();
    let ids: Vec<&str> = rules.iter().map(|rule| rule.id).collect();
    let lead = format!("`{id}` is here: {}", ids.join(", "));
    if rules.len() > 1 {
        pages.insert(0, &lead);
    }
    format!("{}\n", pages.join("\n\n"))
}

/// The id or alias most like `id`, if one is at all like it.
fn nearest(id: &str) -> Option<&'static str> {
    let ids = RULES
        .iter()
        .flat_map(|rule| rule.aliases.iter().copied().chain([rule.id]));
    most_like(id, ids)
}

/// The one of these most like `name`, if one is at all like it.
pub(crate) fn most_like<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let scored = known.map(|known| (likeness(name, known), known));
    scored
        .filter(|(likeness, _)| *likeness > 0.5)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}

/// Share of characters in common, in order: 1 for equal words.
pub(crate) fn likeness(a: &str, b: &str) -> f32 {
    let [a, b] = [a, b].map(|word| word.to_lowercase().replace('_', "-"));
    similar::TextDiff::from_chars(a.as_str(), b.as_str()).ratio()
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
        assert_eq!(pages("both", &[&a, &b]), "`both` is here: a, b\n\n# a\n\n# b\n");
        assert_eq!(pages("a", &[&a]), "# a\n");
    }

    #[test]
    fn rules_are_suggested_by_a_part_of_their_names() {
        assert_eq!(
            meant("scan"),
            ["hillis-steele-scan", "blelloch-scan", "hand-rolled-scan"]
        );
        assert_eq!(meant("Race"), ["groupshared-race"]);
        assert_eq!(meant("hillis-steel-scan"), ["hillis-steele-scan"]);
        assert_eq!(meant("an"), [""; 0]);
    }

    #[test]
    fn the_nearest_id_is_suggested() {
        assert_eq!(nearest("hillis-steel-scan"), Some("hillis-steele-scan"));
        assert_eq!(nearest("Groupshared_Races"), Some("groupshared-race"));
        assert_eq!(nearest("race"), None);
        assert_eq!(nearest(""), None);
    }
}
