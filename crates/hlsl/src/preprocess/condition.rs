//! The value of an `#if`.

use super::MAX_CONDITION_DEPTH;
use super::lex::Kind;
use super::names::Names;
use super::predefined::assumed_number;
use super::token::{Symbol, Token};

/// 64 bits, as in C: an operation is unsigned if one operand is.
#[derive(Clone, Copy)]
struct Value {
    bits: u64,
    unsigned: bool,
}

impl Value {
    const ZERO: Value = Value {
        bits: 0,
        unsigned: false,
    };

    fn of_bool(value: bool) -> Self {
        Value {
            bits: u64::from(value),
            unsigned: false,
        }
    }

    fn of(signed: i64) -> Self {
        Value {
            bits: signed.cast_unsigned(),
            unsigned: false,
        }
    }

    fn signed(self) -> i64 {
        self.bits.cast_signed()
    }

    fn is_true(self) -> bool {
        self.bits != 0
    }
}

type Result<T> = std::result::Result<T, String>;

/// Whether the condition holds. `tokens` has its macros expanded and each `defined` replaced by its value.
pub(super) fn holds(tokens: &[Token], names: &Names) -> Result<bool> {
    if tokens.is_empty() {
        return Err("condition without an expression".to_owned());
    }
    let mut parser = Parser {
        tokens,
        names,
        next: 0,
        depth: 0,
        dead: 0,
    };
    let value = parser.comma()?;
    match parser.peek() {
        None => Ok(value.is_true()),
        Some(token) => Err(format!("unexpected `{}` in a condition", parser.spelled(*token))),
    }
}

struct Parser<'a> {
    tokens: &'a [Token],
    names: &'a Names,
    next: usize,
    depth: usize,
    /// How many unevaluated operands contain this one: in such an operand, division by zero is no error.
    dead: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next)
    }

    fn spelled(&self, token: Token) -> String {
        String::from_utf8_lossy(self.names.text(token.symbol)).into_owned()
    }

    fn take(&mut self, symbol: Symbol) -> bool {
        let found = self.peek().is_some_and(|token| token.symbol == symbol);
        self.next += usize::from(found);
        found
    }

    fn comma(&mut self) -> Result<Value> {
        if self.depth >= MAX_CONDITION_DEPTH {
            return Err("condition is nested too deeply".to_owned());
        }
        self.depth += 1;
        let mut value = self.conditional()?;
        while self.take(Symbol::COMMA) {
            value = self.conditional()?;
        }
        self.depth -= 1;
        Ok(value)
    }

    fn conditional(&mut self) -> Result<Value> {
        let condition = self.binary(1)?;
        if !self.take(Symbol::QUESTION) {
            return Ok(condition);
        }
        let is_first = condition.is_true();
        let first = self.dead_if(!is_first, Self::comma)?;
        if !self.take(Symbol::COLON) {
            return Err("`?` without `:` in a condition".to_owned());
        }
        if self.depth >= MAX_CONDITION_DEPTH {
            return Err("condition is nested too deeply".to_owned());
        }
        self.depth += 1;
        let second = self.dead_if(is_first, Self::conditional)?;
        self.depth -= 1;
        Ok(Value {
            bits: if is_first { first.bits } else { second.bits },
            unsigned: first.unsigned || second.unsigned,
        })
    }

    fn dead_if(&mut self, dead: bool, parse: impl FnOnce(&mut Self) -> Result<Value>) -> Result<Value> {
        self.dead += usize::from(dead);
        let value = parse(self);
        self.dead -= usize::from(dead);
        value
    }

    /// Parses operators of at least this precedence.
    fn binary(&mut self, lowest: u8) -> Result<Value> {
        let mut left = self.unary()?;
        while let Some(token) = self.peek().filter(|token| token.kind == Kind::Punct) {
            let names = self.names;
            let operator = names.text(token.symbol);
            let precedence = precedence(operator);
            if precedence < lowest {
                break;
            }
            self.next += 1;
            let dead = match operator {
                b"&&" => !left.is_true(),
                b"||" => left.is_true(),
                _ => false,
            };
            let right = self.dead_if(dead, |parser| parser.binary(precedence + 1))?;
            left = self.apply(operator, left, right)?;
        }
        Ok(left)
    }

    fn apply(&self, operator: &[u8], left: Value, right: Value) -> Result<Value> {
        let unsigned = left.unsigned || right.unsigned;
        let (a, b) = (left.bits, right.bits);
        let (x, y) = (left.signed(), right.signed());
        let number = |bits: u64| Value { bits, unsigned };
        let less = if unsigned { a < b } else { x < y };
        Ok(match operator {
            b"+" => number(a.wrapping_add(b)),
            b"-" => number(a.wrapping_sub(b)),
            b"*" => number(a.wrapping_mul(b)),
            b"/" | b"%" if b == 0 => {
                if self.dead == 0 {
                    return Err("division by zero in a condition".to_owned());
                }
                number(0)
            }
            b"/" if unsigned => number(a / b),
            b"/" => Value::of(x.wrapping_div(y)),
            b"%" if unsigned => number(a % b),
            b"%" => Value::of(x.wrapping_rem(y)),
            b"<<" => shift(left, right, false),
            b">>" => shift(left, right, true),
            b"&" => number(a & b),
            b"|" => number(a | b),
            b"^" => number(a ^ b),
            b"==" => Value::of_bool(a == b),
            b"!=" => Value::of_bool(a != b),
            b"<" => Value::of_bool(less),
            b">=" => Value::of_bool(!less),
            b"<=" => Value::of_bool(less || a == b),
            b">" => Value::of_bool(!less && a != b),
            b"&&" => Value::of_bool(left.is_true() && right.is_true()),
            b"||" => Value::of_bool(left.is_true() || right.is_true()),
            _ => {
                return Err(format!(
                    "unexpected `{}` in a condition",
                    String::from_utf8_lossy(operator)
                ));
            }
        })
    }

    fn unary(&mut self) -> Result<Value> {
        let first = self.next;
        while self
            .peek()
            .is_some_and(|token| matches!(self.names.text(token.symbol), b"!" | b"~" | b"-" | b"+"))
        {
            self.next += 1;
        }
        let operators = first..self.next;
        let mut value = self.primary()?;
        for token in self.tokens.get(operators).unwrap_or_default().iter().rev() {
            value = match self.names.text(token.symbol) {
                b"!" => Value::of_bool(!value.is_true()),
                b"~" => Value {
                    bits: !value.bits,
                    ..value
                },
                b"-" => Value {
                    bits: value.bits.wrapping_neg(),
                    ..value
                },
                _ => value,
            };
        }
        Ok(value)
    }

    fn primary(&mut self) -> Result<Value> {
        let Some(&token) = self.peek() else {
            return Err("unexpected end of the condition".to_owned());
        };
        self.next += 1;
        let unexpected = || Err(format!("unexpected `{}` in a condition", self.spelled(token)));
        match token.kind {
            // `L'a'`.
            Kind::Ident
                if matches!(self.names.text(token.symbol), b"L" | b"u" | b"U")
                    && let Some(&literal) = self.peek()
                    && literal.kind == Kind::Char
                    && !literal.white =>
            {
                self.next += 1;
                Ok(character(self.names.text(literal.symbol)))
            }
            // As in C++, and in DXC.
            Kind::Ident if token.symbol == Symbol::TRUE => Ok(Value::of_bool(true)),
            Kind::Ident => {
                let assumed = assumed_number(self.names.text(token.symbol));
                Ok(assumed.map_or(Value::ZERO, |number| Value::of(number.into())))
            }
            Kind::Number => number(self.names.text(token.symbol))
                .ok_or_else(|| format!("`{}` in a condition is not an integer", self.spelled(token))),
            Kind::Char => Ok(character(self.names.text(token.symbol))),
            Kind::Punct if token.symbol == Symbol::OPEN => {
                let value = self.comma()?;
                if self.take(Symbol::CLOSE) {
                    Ok(value)
                } else {
                    Err("`(` without `)` in a condition".to_owned())
                }
            }
            _ => unexpected(),
        }
    }
}

/// 0 if it is no binary operator.
fn precedence(operator: &[u8]) -> u8 {
    match operator {
        b"||" => 1,
        b"&&" => 2,
        b"|" => 3,
        b"^" => 4,
        b"&" => 5,
        b"==" | b"!=" => 6,
        b"<" | b">" | b"<=" | b">=" => 7,
        b"<<" | b">>" => 8,
        b"+" | b"-" => 9,
        b"*" | b"/" | b"%" => 10,
        _ => 0,
    }
}

/// Clang uses the low 32 bits of the distance, and replaces a distance of 64 or more by 63. To the left, such a
/// distance shifts all bits of a signed number out (`EvaluateDirectiveSubExpr`).
fn shift(value: Value, by: Value, right: bool) -> Value {
    let distance = by.bits as u32;
    let most = distance.min(63);
    let bits = match (right, value.unsigned) {
        (false, true) => value.bits << most,
        (false, false) => value.bits.checked_shl(distance).unwrap_or(0),
        (true, true) => value.bits >> most,
        (true, false) => (value.signed() >> most).cast_unsigned(),
    };
    Value { bits, ..value }
}

/// The value of an integer literal, wrapped to 64 bits.
fn number(text: &[u8]) -> Option<Value> {
    let (base, digits) = match text {
        [b'0', b'x' | b'X', rest @ ..] => (16, rest),
        [b'0', b'b' | b'B', rest @ ..] => (2, rest),
        [b'0', ..] => (8, text),
        _ => (10, text),
    };
    let is_digit = |byte: &u8| char::from(*byte).is_digit(base);
    let length = digits.iter().take_while(|byte| is_digit(byte)).count();
    let (digits, suffix) = digits.split_at_checked(length)?;
    let is_suffix = matches!(
        suffix.to_ascii_lowercase().as_slice(),
        b"" | b"u" | b"l" | b"ul" | b"lu" | b"ll" | b"ull" | b"llu"
    );
    if digits.is_empty() || !is_suffix {
        return None;
    }
    let bits = digits.iter().fold(0_u64, |bits, &byte| {
        let digit = char::from(byte).to_digit(base).unwrap_or(0);
        bits.wrapping_mul(u64::from(base)).wrapping_add(u64::from(digit))
    });
    Some(Value {
        bits,
        unsigned: bits.cast_signed() < 0 || suffix.iter().any(|byte| matches!(byte, b'u' | b'U')),
    })
}

/// The value of a character literal. Several characters are digits in base 256.
fn character(text: &[u8]) -> Value {
    let inner = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
    let mut value = 0_i32;
    let mut count = 0;
    let mut rest = inner;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        let mut byte = first;
        if let (b'\\', Some((&escape, after))) = (first, rest.split_first()) {
            rest = after;
            byte = match escape {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                b'a' => 7,
                b'b' => 8,
                b'f' => 12,
                b'v' => 11,
                b'e' | b'E' => 27,
                b'x' => digits(&mut rest, 16, usize::MAX, 0),
                b'0'..=b'7' => digits(&mut rest, 8, 2, escape - b'0'),
                other => other,
            };
        }
        value = value.wrapping_shl(8) | i32::from(byte);
        count += 1;
    }
    // Shader compilers run where `char` is signed.
    let value = if count == 1 {
        i32::from(value.to_le_bytes()[0].cast_signed())
    } else {
        value
    };
    Value::of(i64::from(value))
}

fn digits(rest: &mut &[u8], base: u32, most: usize, first: u8) -> u8 {
    let mut value = u32::from(first);
    for _ in 0..most {
        let Some((digit, after)) = rest
            .split_first()
            .and_then(|(&byte, after)| Some((char::from(byte).to_digit(base)?, after)))
        else {
            break;
        };
        value = value.wrapping_mul(base).wrapping_add(digit);
        *rest = after;
    }
    value.to_le_bytes()[0]
}
