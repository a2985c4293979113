//! Suggestions for unknown names.

use shaderlint_rules::RULES;

/// The message about an unknown rule, with suggestions.
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

/// The rules whose ids contain `id`. If there are none, the id or alias that is most like it.
fn meant(id: &str) -> Vec<&'static str> {
    let word = id.to_lowercase();
    // Many ids contain any one or two letters by chance.
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

/// The id or alias most like `id`, if one is similar enough.
fn nearest(id: &str) -> Option<&'static str> {
    let ids = RULES
        .iter()
        .flat_map(|rule| rule.aliases.iter().copied().chain([rule.id]));
    most_like(id, ids)
}

/// The known name most like `name`, if one is similar enough.
pub(crate) fn most_like<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let scored = known.map(|known| (likeness(name, known), known));
    scored
        .filter(|(likeness, _)| *likeness > 0.5)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}

/// The share of characters that two words have in common, in the same order: 1 for equal words.
pub(crate) fn likeness(a: &str, b: &str) -> f32 {
    let [a, b] = [a, b].map(|word| word.to_lowercase().replace('_', "-"));
    similar::TextDiff::from_chars(a.as_str(), b.as_str()).ratio()
}

#[cfg(test)]
mod tests {
    use super::*;

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
