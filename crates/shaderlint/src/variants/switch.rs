//! Which one definition may turn a region on that conditional compilation left out.

use shaderlint_hlsl::Branch;

use crate::config::Definition;

/// A change of one macro.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Switch {
    Define(Definition),
    Undefine(String),
}

/// The changes that may turn a region on which asks `condition`. Only preprocessing tells which of them does: earlier
/// branches have to fail, and a file may define the macro itself.
pub(super) fn switches(condition: &str, opened_by: Branch) -> Vec<Switch> {
    let define = |name: &str, value: &str| Switch::Define((name.to_owned(), value.to_owned()));
    let undefine = |name: &str| Switch::Undefine(name.to_owned());
    let mut switches = Vec::new();
    let tokens = tokens(condition);
    let mut rest = &tokens[..];
    while let Some((token, after)) = rest.split_first() {
        rest = after;
        match (token, after) {
            (
                Token::Name("defined"),
                [Token::Operator("("), Token::Name(name), ..] | [Token::Name(name), ..],
            ) => {
                switches.extend([define(name, "1"), undefine(name)]);
                let consumed = usize::from(after.first() == Some(&Token::Operator("("))) + 1;
                rest = after.get(consumed..).unwrap_or_default();
            }
            (Token::Name(name), [Token::Operator("==" | "!=" | "<" | ">" | "<=" | ">="), value, ..]) => {
                switches.extend(value.near().iter().map(|value| define(name, value)));
                // In `MODE == MODE_FAST` the second is the constant.
                rest = after.get(2..).unwrap_or_default();
            }
            (
                value @ Token::Number(_),
                [
                    Token::Operator("==" | "!=" | "<" | ">" | "<=" | ">="),
                    Token::Name(name),
                    ..,
                ],
            ) => {
                switches.extend(value.near().iter().map(|value| define(name, value)));
                rest = after.get(2..).unwrap_or_default();
            }
            // A call: what the macro makes of it is anyone's guess.
            (Token::Name(_), [Token::Operator("("), ..]) => {}
            (Token::Name(name), _) => match opened_by {
                Branch::Ifdef | Branch::Elifdef => switches.push(define(name, "1")),
                Branch::Ifndef | Branch::Elifndef => switches.push(undefine(name)),
                Branch::If | Branch::Elif => switches.extend([define(name, "1"), define(name, "0")]),
                // Of `#ifdef`, `#ifndef` or `#if`: the condition alone does not tell.
                Branch::Else => switches.extend([undefine(name), define(name, "1"), define(name, "0")]),
            },
            _ => {}
        }
    }
    switches
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Name(&'a str),
    Number(&'a str),
    Operator(&'a str),
}

impl Token<'_> {
    /// Values on either side of a comparison with this one.
    fn near(&self) -> Vec<String> {
        match self {
            Token::Name(text) => vec![(*text).to_owned()],
            Token::Number(text) => {
                let decimal = text.trim_end_matches(['u', 'U', 'l', 'L']).parse::<i64>();
                let near = decimal.map(|value| [value, value.saturating_add(1), value.saturating_sub(1)]);
                near.map_or_else(
                    |_| vec![(*text).to_owned()],
                    |values| values.map(|value| value.to_string()).to_vec(),
                )
            }
            Token::Operator(_) => Vec::new(),
        }
    }
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

    #[track_caller]
    fn check(condition: &str, opened_by: Branch, expected: &str) {
        let shown = switches(condition, opened_by)
            .into_iter()
            .map(|switch| match switch {
                Switch::Define((name, value)) => format!("{name}={value}"),
                Switch::Undefine(name) => format!("-{name}"),
            });
        assert_eq!(shown.collect::<Vec<_>>().join(" "), expected, "{condition}");
    }

    #[test]
    fn one_macro_at_a_time() {
        check("X", Branch::Ifdef, "X=1");
        check("X", Branch::Ifndef, "-X");
        check("X", Branch::If, "X=1 X=0");
        check("X", Branch::Else, "-X X=1 X=0");
        check("!defined(X)", Branch::If, "X=1 -X");
        check("defined X && Y", Branch::If, "X=1 -X Y=1 Y=0");
        check("X == 3", Branch::If, "X=3 X=4 X=2");
        check("2u<X", Branch::If, "X=2 X=3 X=1");
        check("MODE != MODE_FAST", Branch::Elif, "MODE=MODE_FAST");
        check("F(1) > 0x10", Branch::If, "");
        check("X >= 0x10", Branch::If, "X=0x10");
        check("", Branch::If, "");
    }
}
