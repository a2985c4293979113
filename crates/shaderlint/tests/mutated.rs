//! The project's own fixtures with pieces cut, doubled, swapped and mixed: all stages take what comes, and a fix that
//! is offered leaves text that reads as well as before.
#![expect(clippy::unwrap_used, reason = "a test that cannot read the fixtures fails")]

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;
use shaderlint_hlsl::NoIncludes;
use shaderlint_linter::{Report, Settings, apply, check_shader, settle};
use shaderlint_rules::RULES;

/// The kernels that rules are about, in tokens.
static FIXTURES: LazyLock<Vec<Vec<String>>> = LazyLock::new(|| {
    let mut texts = Vec::new();
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/rules");
    for rule in fs::read_dir(rules).unwrap() {
        for file in fs::read_dir(rule.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "hlsl") {
                texts.push((path.clone(), tokens(&fs::read_to_string(path).unwrap())));
            }
        }
    }
    // Folders are listed in any order.
    texts.sort();
    texts.into_iter().map(|(_, tokens)| tokens).collect()
});

/// Words, numbers, blanks, and every other character by itself.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    for character in text.chars() {
        match tokens.last_mut() {
            Some(last) if is_word(character) && last.ends_with(is_word) => last.push(character),
            Some(last) if character == ' ' && last.ends_with(' ') => last.push(character),
            _ => tokens.push(character.to_string()),
        }
    }
    tokens
}

#[derive(Clone, Debug)]
enum Mutation {
    Delete,
    Double,
    /// With the tokens that follow.
    Swap,
    /// Puts tokens of another fixture here.
    Splice(usize, usize),
}

/// A change, where it starts and how many tokens it takes; numbers are reduced to what there is.
fn mutation() -> impl Strategy<Value = (Mutation, usize, usize)> {
    let kind = prop_oneof![
        Just(Mutation::Delete),
        Just(Mutation::Double),
        Just(Mutation::Swap),
        (any::<usize>(), any::<usize>()).prop_map(|(fixture, at)| Mutation::Splice(fixture, at)),
    ];
    (kind, any::<usize>(), 1usize..24)
}

fn mutate(tokens: &mut Vec<String>, (mutation, at, count): &(Mutation, usize, usize)) {
    let start = at % (tokens.len() + 1);
    let end = (start + count).min(tokens.len());
    let run = tokens[start..end].to_vec();
    match mutation {
        Mutation::Delete => drop(tokens.drain(start..end)),
        Mutation::Double => drop(tokens.splice(start..start, run)),
        Mutation::Swap => {
            let after = (end + count).min(tokens.len());
            tokens[start..after].rotate_left(end - start);
        }
        Mutation::Splice(fixture, at) => {
            let other = &FIXTURES[fixture % FIXTURES.len()];
            let from = at % (other.len() + 1);
            let part = other[from..(from + count).min(other.len())].to_vec();
            tokens.splice(start..start, part);
        }
    }
}

/// What is found in a text, and how much of it could not be read.
fn look(text: &[u8]) -> (Report, usize) {
    let (shader, problems) = shaderlint_hlsl::read("a.hlsl", text, &[], &NoIncludes);
    (check_shader(&shader, RULES, &Settings::default()), problems.len())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn mutated_fixtures_are_read_linted_and_fixed(
        fixture in any::<usize>(),
        mutations in prop::collection::vec(mutation(), 1..5),
    ) {
        let mut tokens = FIXTURES[fixture % FIXTURES.len()].clone();
        for mutation in &mutations {
            mutate(&mut tokens, mutation);
        }
        let text = tokens.concat();
        let (report, unread) = look(text.as_bytes());
        for finding in &report.findings {
            if let Some(fix) = &finding.fix {
                let fixed = apply(text.as_bytes(), [fix]);
                prop_assert_eq!(fixed.count, 1, "a fix that cannot be made");
                let (_, left) = look(&fixed.text);
                prop_assert!(left <= unread, "not read after `{}`:\n{}", fix.title, String::from_utf8_lossy(&fixed.text));
            }
        }
        let settled = settle(text.as_bytes(), true, |text| look(text).0, |report| &report.findings);
        prop_assert!(settled.fixed > 0 || settled.text == text.as_bytes());
    }
}
