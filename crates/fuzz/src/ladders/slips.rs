//! Slips that still compile: a missing barrier, an off-by-one, a wrong comparison.

use super::layout::Token;
use crate::random::Random;

/// Makes one change in the kernel's function, and describes it.
pub(super) fn slip(tokens: &mut Vec<Token>, random: &mut Random) -> String {
    for _ in 0..20 {
        if let Some(what) = try_one(tokens, random) {
            return what;
        }
    }
    String::new()
}

/// Operators that people confuse.
const CONFUSED: [(&str, &[&str]); 20] = [
    ("<", &["<=", ">"]),
    ("<=", &["<"]),
    (">", &[">=", "<"]),
    (">=", &[">", "<", "=="]),
    ("==", &["!=", "<="]),
    ("!=", &["=="]),
    ("+", &["-", "*"]),
    ("-", &["+"]),
    ("*", &["+"]),
    ("&", &["|", "+"]),
    ("|", &["&", "+"]),
    ("^", &["+", "|"]),
    ("+=", &["=", "-="]),
    ("-=", &["+="]),
    ("*=", &["+=", "="]),
    ("&=", &["|="]),
    ("|=", &["&=", "+="]),
    ("min", &["max"]),
    ("max", &["min"]),
    ("InterlockedMin", &["InterlockedMax"]),
];

fn try_one(tokens: &mut Vec<Token>, random: &mut Random) -> Option<String> {
    let start = tokens
        .iter()
        .position(|token| token.text == "numthreads")
        .unwrap_or(0);
    let start = start + tokens.get(start..)?.iter().position(|token| token.text == "{")?;
    let at = start + 1 + random.below(tokens.len().saturating_sub(start + 2));
    let token = tokens.get(at).filter(|token| !token.is_directive())?;
    let text = token.text.clone();
    let is_barrier = text.to_ascii_lowercase().contains("sync") || text.contains("BARRIER");
    if is_barrier && random.once_in(2) {
        let length = tokens.get(at..)?.iter().position(|token| token.text == ";")?;
        if tokens.get(at..at + length)?.iter().any(Token::is_directive) {
            return None;
        }
        tokens.drain(at..=at + length);
        return Some(format!(", without the {text} at token {at}"));
    }
    // Everything else is not found as often as it might be: barriers are what is forgotten.
    let new = if let Ok(number) = text.parse::<u32>() {
        match random.below(4) {
            0 => number.wrapping_add(1),
            1 => number.checked_sub(1)?,
            2 => number.wrapping_mul(2),
            _ => number / 2,
        }
        .to_string()
    } else if let Some((_, others)) = CONFUSED.iter().find(|(one, _)| *one == text) {
        (*random.one(others)?).to_owned()
    } else if text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && random.once_in(6) {
        // Another name that is used nearby.
        let other = at.checked_add(random.below(30))?.checked_sub(15)?;
        let other = tokens.get(other.max(start))?.text.clone();
        other
            .starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            .then_some(other)?
    } else {
        return None;
    };
    if new == text {
        return None;
    }
    tokens.get_mut(at)?.text.clone_from(&new);
    Some(format!(", `{new}` for `{text}` at token {at}"))
}
