//! Layouts: braces, indentation, line ends, blanks, and comments in unusual places.

use crate::random::Random;

/// A token, or the line of a directive.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub text: String,
    kind: Kind,
}

impl Token {
    pub fn is_directive(&self) -> bool {
        self.kind == Kind::Directive
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Word,
    Sign,
    Directive,
}

/// Punctuation of more than one character, the longest first.
const SIGNS: [&str; 21] = [
    "<<=", ">>=", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++", "--", "+=", "-=", "*=", "/=", "%=",
    "&=", "|=", "^=", "::",
];

pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    for line in text.lines() {
        if line.starts_with('#') {
            tokens.push(Token {
                text: line.to_owned(),
                kind: Kind::Directive,
            });
            continue;
        }
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let (length, kind) = match first {
                '0'..='9' => (number(rest), Kind::Word),
                'a'..='z' | 'A'..='Z' | '_' => (word(rest), Kind::Word),
                '"' => (string(rest), Kind::Word),
                _ => {
                    let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
                    (sign.map_or(first.len_utf8(), |sign| sign.len()), Kind::Sign)
                }
            };
            let (token, after) = rest.split_at(length);
            tokens.push(Token {
                text: token.to_owned(),
                kind,
            });
            rest = after.trim_start();
        }
    }
    tokens
}

fn word(text: &str) -> usize {
    text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .unwrap_or(text.len())
}

/// The length of a string, with its quotes.
fn string(text: &str) -> usize {
    let end = text.get(1..).and_then(|inside| inside.find('"'));
    end.map_or(text.len(), |end| end + 2)
}

/// The length of a number, with the sign of its exponent.
fn number(text: &str) -> usize {
    let mut before = ' ';
    let is_hexadecimal = text.starts_with("0x");
    text.find(|c: char| {
        let is_exponent = !is_hexadecimal && matches!(before, 'e' | 'E') && matches!(c, '+' | '-');
        before = c;
        !(c.is_ascii_alphanumeric() || c == '.' || is_exponent)
    })
    .unwrap_or(text.len())
}

const COMMENTS: [&str; 22] = [
    "",
    " scan",
    " it's here {",
    " }",
    " GroupMemoryBarrierWithGroupSync();",
    " \"",
    " for (;;",
    " #define N 3",
    " r\u{e9}duction \u{2192} total",
    " /* nested",
    " // twice",
    "*",
    " );",
    " [unroll]",
    " WavePrefixSum",
    " [32]",
    " ]",
    " (",
    ", 1)",
    "=0;",
    " if else",
    " see above, below and beyond; what is said there holds here as well, and so it does in what follows",
];

/// The style of a kernel's layout.
struct Style {
    indentation: &'static str,
    newline: &'static str,
    /// A brace begins a line of its own.
    has_brace_alone: bool,
    /// Blanks around operators.
    is_airy: bool,
    /// A function's body is one line.
    is_one_line: bool,
    /// One in this many separators is unusual; none if this is 0.
    oddity: usize,
}

impl Style {
    fn drawn(random: &mut Random) -> Style {
        let one = |random: &mut Random, of: &[&'static str]| random.one(of).copied().unwrap_or_default();
        Style {
            indentation: one(random, &["    ", "    ", "\t", "  ", ""]),
            newline: one(random, &["\n", "\n", "\n", "\r\n"]),
            has_brace_alone: random.once_in(2),
            is_airy: !random.once_in(4),
            is_one_line: random.once_in(10),
            oddity: [0, 60, 25, 8, 4].get(random.below(5)).copied().unwrap_or(0),
        }
    }
}

/// The text of the tokens, in a random layout.
pub(super) fn lay_out(tokens: &[Token], random: &mut Random) -> String {
    let style = Style::drawn(random);
    let mut text = String::new();
    if random.once_in(5) {
        text.push_str(&comment(&style, random));
    }
    let mut within = Nesting::default();
    for (number, token) in tokens.iter().enumerate() {
        match token.text.as_str() {
            "}" => within.braces = within.braces.saturating_sub(1),
            "(" => within.parentheses += 1,
            ")" => within.parentheses = within.parentheses.saturating_sub(1),
            _ => {}
        }
        text.push_str(&token.text);
        if token.text == "{" {
            within.braces += 1;
        }
        let Some(next) = tokens.get(number + 1) else {
            continue;
        };
        let closes = usize::from(next.text == "}");
        let between = Nesting {
            braces: within.braces.saturating_sub(closes),
            ..within
        };
        text.push_str(&separator(token, next, between, &style, random));
    }
    text.push_str(style.newline);
    text
}

fn comment(style: &Style, random: &mut Random) -> String {
    let said = random.one(&COMMENTS).copied().unwrap_or_default();
    if random.once_in(2) {
        return format!("//{said}{}", style.newline);
    }
    let inner = said.replace("*/", "").replace("/*", "");
    let inner = inner.trim_end_matches('*');
    let line = if random.once_in(4) { style.newline } else { "" };
    format!("/*{inner}{line} */")
}

/// The numbers of open braces and parentheses.
#[derive(Clone, Copy, Default)]
struct Nesting {
    braces: usize,
    parentheses: usize,
}

/// The separator between two tokens.
fn separator(token: &Token, next: &Token, within: Nesting, style: &Style, random: &mut Random) -> String {
    let line = format!("{}{}", style.newline, style.indentation.repeat(within.braces));
    if token.kind == Kind::Directive || next.kind == Kind::Directive {
        return style.newline.to_owned();
    }
    let (this, next_text) = (token.text.as_str(), next.text.as_str());
    let ends = matches!(this, ";" | "{" | "}") || (style.has_brace_alone && next_text == "{");
    let usual = if next_text == "}" || (ends && within.parentheses == 0) {
        if style.is_one_line && within.braces > 0 {
            " ".to_owned()
        } else {
            line.clone()
        }
    } else if (token.kind == Kind::Word && next.kind == Kind::Word)
        || is_blank_between(this, next_text, style.is_airy)
    {
        " ".to_owned()
    } else {
        String::new()
    };
    if style.oddity == 0 || !random.once_in(style.oddity) {
        return usual;
    }
    match random.below(6) {
        0 => format!("{usual} "),
        1 => format!("{usual}\t"),
        2 => line,
        3 if usual.contains('\n') => format!(" {}{usual}", comment(style, random)),
        _ => format!("{usual} {} ", comment(style, random)),
    }
}

/// Whether a blank separates two tokens. At least one of them is punctuation.
fn is_blank_between(this: &str, next: &str, is_airy: bool) -> bool {
    let is_bracket = |text: &str| {
        matches!(
            text,
            "(" | ")" | "[" | "]" | ";" | "," | "." | "~" | "!" | "{" | "}"
        )
    };
    // Two adjacent signs might be read as one.
    let are_signs = |text: &str| text.starts_with(|c: char| c.is_ascii_punctuation() && c != '_');
    if are_signs(this) && are_signs(next) && !is_bracket(this) && !is_bracket(next) {
        return true;
    }
    if matches!(this, "," | "{" | "}") || matches!(next, "{" | "}") {
        return true;
    }
    if matches!(this, "if" | "for" | "while" | "return") || (this == ";" && is_airy) {
        return is_airy;
    }
    if is_bracket(this) || is_bracket(next) {
        let is_operator = |text: &str| are_signs(text) && !is_bracket(text);
        return is_airy
            && (is_operator(this) || is_operator(next))
            && !matches!(next, ";" | "," | ")" | "]" | ".");
    }
    is_airy
}
