//! Changes of macros that may turn the condition of an `#if` true or false.

use crate::preprocess::Branch;

/// A change of one macro.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Define it as 1, unless it is defined.
    Have(String),
    /// Define it with this value, even if it is defined.
    Set(String, String),
    Remove(String),
}

impl Change {
    pub fn name(&self) -> &str {
        match self {
            Change::Have(name) | Change::Set(name, _) | Change::Remove(name) => name,
        }
    }
}

/// Changes to make together.
pub(super) type Changes = Vec<Change>;

/// The maximum of ways per condition, and of changes per way.
const MAX_WAYS: usize = 16;
const MAX_CHANGES: usize = 8;
/// The maximum depth of parentheses and `!`.
const MAX_DEPTH: u32 = 32;

/// The ways that may give the condition of `opened_by` the value `wanted`. Only preprocessing tells which of them do:
/// files define macros themselves, and macros expand to more than names.
pub(super) fn ways(condition: &str, opened_by: Branch, wanted: bool) -> Vec<Changes> {
    let tokens = tokens(condition);
    let is_defined = |wanted: bool| match tokens.first() {
        Some(Token::Name(name)) => defined(name, wanted),
        _ => Vec::new(),
    };
    match opened_by {
        Branch::Ifdef | Branch::Elifdef => is_defined(wanted),
        Branch::Ifndef | Branch::Elifndef => is_defined(!wanted),
        Branch::If | Branch::Elif => any_of(&tokens, wanted, 0),
        // An `#else` has no condition of its own.
        Branch::Else => Vec::new(),
    }
}

/// Each way of `left` combined with each way of `right`. If both change a macro, the change of `left` counts.
pub(super) fn both(left: &[Changes], right: &[Changes]) -> Vec<Changes> {
    let pairs = left.iter().flat_map(|left| {
        right.iter().map(move |right| {
            let free = |change: &&Change| left.iter().all(|known| known.name() != change.name());
            left.iter().chain(right.iter().filter(free)).cloned().collect()
        })
    });
    let pairs = pairs.filter(|way: &Changes| way.len() <= MAX_CHANGES);
    pairs.take(MAX_WAYS).collect()
}

/// The ways for a disjunction.
fn any_of(tokens: &[Token], wanted: bool, depth: u32) -> Vec<Changes> {
    combined(&split(tokens, "||"), !wanted, |part| {
        combined(&split(part, "&&"), wanted, |part| one(part, wanted, depth))
    })
}

/// The ways to make all parts hold (`all`), or at least one.
fn combined(parts: &[&[Token]], all: bool, of: impl Fn(&[Token]) -> Vec<Changes>) -> Vec<Changes> {
    let ways = parts.iter().map(|part| of(part));
    if all {
        ways.reduce(|left, right| both(&left, &right)).unwrap_or_default()
    } else {
        ways.flatten().take(MAX_WAYS).collect()
    }
}

/// The ways for an operand of `&&` and `||`.
fn one(tokens: &[Token], wanted: bool, depth: u32) -> Vec<Changes> {
    if depth > MAX_DEPTH {
        return Vec::new();
    }
    match tokens {
        [Token::Operator("!"), rest @ ..] => one(rest, !wanted, depth + 1),
        [Token::Operator("("), inner @ .., Token::Operator(")")] if is_closed(inner) => {
            any_of(inner, wanted, depth + 1)
        }
        [Token::Name("defined"), Token::Name(name)]
        | [
            Token::Name("defined"),
            Token::Operator("("),
            Token::Name(name),
            Token::Operator(")"),
        ] => defined(name, wanted),
        [Token::Name(name)] => vec![set(name, if wanted { "1" } else { "0" })],
        // The number already has the wanted value, or no change helps.
        [Token::Number(text)] if is_zero(text) != wanted => vec![Vec::new()],
        [Token::Number(_)] => Vec::new(),
        // In `MODE == MODE_FAST` the second is the constant.
        [
            Token::Name(name),
            Token::Operator(operator),
            value @ (Token::Name(_) | Token::Number(_)),
        ] if is_comparison(operator) => compared(name, operator, *value, wanted),
        [
            value @ Token::Number(_),
            Token::Operator(operator),
            Token::Name(name),
        ] if is_comparison(operator) => compared(name, mirrored(operator), *value, wanted),
        _ => guesses(tokens),
    }
}

fn set(name: &str, value: &str) -> Changes {
    vec![Change::Set(name.to_owned(), value.to_owned())]
}

fn defined(name: &str, wanted: bool) -> Vec<Changes> {
    vec![vec![if wanted {
        Change::Have(name.to_owned())
    } else {
        Change::Remove(name.to_owned())
    }]]
}

fn compared(name: &str, operator: &str, value: Token, wanted: bool) -> Vec<Changes> {
    let besides: &[i64] = match (operator, wanted) {
        ("==" | "<=" | ">=", true) | ("!=" | "<" | ">", false) => &[0],
        (">", true) | ("<=", false) => &[1],
        ("<", true) | (">=", false) => &[-1],
        // Another branch may test for either neighbour.
        _ => &[1, -1],
    };
    let text = match value {
        Token::Name(text) => text,
        Token::Number(text) => text.trim_end_matches(SUFFIX),
        Token::Operator(_) => return Vec::new(),
    };
    let decimal = text.parse::<i64>().ok();
    let value = |beside: &i64| match (beside, decimal.and_then(|value| value.checked_add(*beside))) {
        (0, _) => text.to_owned(),
        (_, Some(sum)) => sum.to_string(),
        _ => format!("({text} + {beside})"),
    };
    besides.iter().map(|beside| set(name, &value(beside))).collect()
}

fn is_comparison(operator: &str) -> bool {
    matches!(operator, "==" | "!=" | "<" | ">" | "<=" | ">=")
}

fn is_zero(number: &str) -> bool {
    // Also `0x0`.
    let digits = number
        .trim_end_matches(SUFFIX)
        .trim_start_matches(['0', 'x', 'X']);
    digits.is_empty()
}

/// Suffixes of numbers.
const SUFFIX: [char; 4] = ['u', 'U', 'l', 'L'];

fn mirrored(operator: &str) -> &str {
    match operator {
        "<" => ">",
        ">" => "<",
        "<=" => ">=",
        ">=" => "<=",
        other => other,
    }
}

/// Guesses for a condition that is not understood: each name in it alone, defined and not. Names of called macros do
/// not count, for the expansion of a call is unknown.
fn guesses(tokens: &[Token]) -> Vec<Changes> {
    let names = tokens.iter().enumerate().filter_map(|(index, token)| {
        let is_called = tokens.get(index + 1) == Some(&Token::Operator("("));
        match token {
            Token::Name(name) if !is_called && *name != "defined" => Some(name),
            _ => None,
        }
    });
    names
        .flat_map(|name| [set(name, "1"), set(name, "0")])
        .take(MAX_WAYS)
        .collect()
}

/// Whether each closing parenthesis has its opening one in these tokens.
fn is_closed(tokens: &[Token]) -> bool {
    let mut depth = 0_usize;
    tokens.iter().all(|token| match token {
        Token::Operator("(") => {
            depth += 1;
            true
        }
        Token::Operator(")") => {
            let is_open = depth > 0;
            depth = depth.saturating_sub(1);
            is_open
        }
        _ => true,
    })
}

/// The parts between operators of this kind, outside of parentheses.
fn split<'t, 'a>(tokens: &'t [Token<'a>], operator: &str) -> Vec<&'t [Token<'a>]> {
    let mut depth = 0_i64;
    tokens
        .split(|token| {
            match token {
                Token::Operator("(") => depth += 1,
                Token::Operator(")") => depth -= 1,
                _ => {}
            }
            depth == 0 && *token == Token::Operator(operator)
        })
        .collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Name(&'a str),
    Number(&'a str),
    Operator(&'a str),
}

fn tokens(condition: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = condition.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else if ["==", "!=", "<=", ">=", "&&", "||"]
            .iter()
            .any(|operator| rest.starts_with(operator))
        {
            2
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(length);
        tokens.push(match first {
            '0'..='9' => Token::Number(token),
            _ if is_word(first) => Token::Name(token),
            _ => Token::Operator(token),
        });
        rest = after.trim_start();
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the ways, separated by `|`. In a way, `X=1` stands for set, `+X` for have and `-X` for remove.
    #[track_caller]
    fn check(condition: &str, opened_by: Branch, wanted: bool, expected: &str) {
        let shown = |change: &Change| match change {
            Change::Have(name) => format!("+{name}"),
            Change::Set(name, value) => format!("{name}={value}"),
            Change::Remove(name) => format!("-{name}"),
        };
        let ways = ways(condition, opened_by, wanted);
        let ways = ways
            .iter()
            .map(|way| way.iter().map(shown).collect::<Vec<_>>().join(" "));
        assert_eq!(ways.collect::<Vec<_>>().join(" | "), expected, "{condition}");
    }

    #[test]
    fn names() {
        check("X", Branch::Ifdef, true, "+X");
        check("X", Branch::Elifdef, false, "-X");
        check("X", Branch::Ifndef, true, "-X");
        check("X", Branch::If, true, "X=1");
        check("X", Branch::If, false, "X=0");
        check("X", Branch::Else, true, "");
        check("!defined(X)", Branch::If, true, "-X");
        check("! defined X", Branch::If, false, "+X");
        check("", Branch::If, true, "");
        check("0", Branch::If, true, "");
    }

    #[test]
    fn comparisons() {
        check("X == 3", Branch::If, true, "X=3");
        check("X == 3u", Branch::If, false, "X=4 | X=2");
        check("2u<X", Branch::If, true, "X=3");
        check("X >= 0x10", Branch::If, true, "X=0x10");
        check("X < 0x10", Branch::If, true, "X=(0x10 + -1)");
        check("X <= 4", Branch::Elif, false, "X=5");
        check("MODE == MODE_FAST", Branch::Elif, true, "MODE=MODE_FAST");
        check(
            "MODE != MODE_FAST",
            Branch::Elif,
            true,
            "MODE=(MODE_FAST + 1) | MODE=(MODE_FAST + -1)",
        );
        check("X + 1", Branch::If, true, "X=1 | X=0");
        check("F(1) > 0x10", Branch::If, true, "");
    }

    #[test]
    fn several_at_once() {
        check("defined(A) && defined B && N > 2", Branch::If, true, "+A +B N=3");
        check("defined(A) && defined(B)", Branch::If, false, "-A | -B");
        check("A || !B", Branch::If, true, "A=1 | B=0");
        check("A || !B", Branch::If, false, "A=0 B=1");
        check("(A || B) && C", Branch::If, true, "A=1 C=1 | B=1 C=1");
        check("!(A && (B == 1))", Branch::If, true, "A=0 | B=2 | B=0");
        check("(A) || (B)", Branch::If, true, "A=1 | B=1");
        // One macro cannot be both.
        check("A > 1 && A < 8", Branch::If, true, "A=2");
        check("0 && A", Branch::If, true, "");
        check("A && (1)", Branch::If, true, "A=1");
        check("A && 0x0u", Branch::If, true, "");
        check("A || !0", Branch::If, false, "");
        check("A && !0x10", Branch::If, false, "A=0 | ");
    }

    #[test]
    fn no_condition_is_too_much() {
        let deep = format!("{}X{}", "!(".repeat(10_000), ")".repeat(10_000));
        check(&deep, Branch::If, true, "");
        let wide = vec!["(A || B)"; 10_000].join(" && ");
        assert!(ways(&wide, Branch::If, true).len() <= MAX_WAYS);
        for odd in [
            ")", "(", "&&", "A &&", "!", "defined", "defined(", "A == ", "== A", ")(",
        ] {
            let _ = ways(odd, Branch::If, true);
        }
    }
}
