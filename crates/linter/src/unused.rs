//! Comments that silence nothing.

use std::collections::HashSet;

use shaderlint_hlsl::FileSpan;

use crate::finding::{Diagnostic, FileEdit, Fix, Label, Safety, Verdict};
use crate::level::Level;
use crate::rule::Rule;
use crate::suppress::{Suppression, in_main_file};

/// The findings of `rule` about comments of the main file that silence nothing. `used` has the places at which
/// comments name a rule that finds something there; `is_judged` selects the rules to judge.
#[must_use]
pub fn unused_suppressions(
    rule: &Rule,
    level: Level,
    suppressions: &[Suppression],
    used: &[FileSpan],
    is_judged: impl Fn(&str) -> bool,
) -> Vec<Diagnostic> {
    let mut unused = Vec::new();
    let used: HashSet<&FileSpan> = used.iter().collect();
    // The comments that silence these findings.
    let names_rule = |one: &&Suppression| one.ids.iter().any(|(_, id)| rule.is_named(id));
    let own: Vec<&Suppression> = suppressions.iter().filter(names_rule).collect();
    for suppression in suppressions {
        for (number, (place, id)) in suppression.ids.iter().enumerate() {
            let place = in_main_file(place.clone());
            let is_allowed = own.iter().any(|one| one.reach.contains(&(place.start as usize)));
            if used.contains(&place) || is_allowed || rule.is_named(id) || !is_judged(id) {
                continue;
            }
            let (without, text) = suppression.without(number);
            let title = if suppression.ids.len() < 2 {
                "remove the comment".to_owned()
            } else {
                format!("remove `{id}`")
            };
            unused.push(Diagnostic {
                rule: rule.id,
                kernels: Vec::new(),
                is_of_first: false,
                category: rule.category,
                level,
                message: format!("`{id}` is allowed here but finds nothing"),
                shape: None,
                verdict: Verdict::Unused,
                primary: Label {
                    place,
                    text: String::new(),
                },
                secondary: Vec::new(),
                notes: vec!["if the comment stays, it silently suppresses later findings".to_owned()],
                fix: Some(Fix {
                    title,
                    safety: Safety::Safe,
                    proof: None,
                    notes: Vec::new(),
                    edits: vec![FileEdit {
                        place: in_main_file(without),
                        text: text.to_owned(),
                    }],
                    other_form: None,
                }),
                no_fix: None,
            });
        }
    }
    unused
}
