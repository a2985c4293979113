//! Whole numbers that depend on n: sizes of buffers and dispatches, constants.
//!
//! ```text
//! comparison = sum [("<" | "<=" | ">" | ">=") sum]
//! sum        = product {("+" | "-") product}
//! product    = atom {("*" | "/") atom}
//! atom       = number | name | function "(" comparison {"," comparison} ")" | "(" comparison ")"
//! ```
//!
//! Numbers are not negative and below 2^64; a value outside of that range is an error at its operator. `/` rounds
//! down. A comparison is 1 or 0.

use std::ops::Range;

use super::PipelineError;

/// The maximum depth of an expression.
const DEPTH: u32 = 64;

/// The maximum of sums and products in an expression. Each nests the ones before it.
const OPERATIONS: u32 = 1000;

/// An expression. Places refer to the text of the whole `pipeline.toml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expression {
    kind: Kind,
    place: Range<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Number(u64),
    Name(String),
    Binary(Operator, Box<Expression>, Box<Expression>),
    Call(Function, Vec<Expression>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    /// Quotient, rounded up.
    CeilDiv,
    /// The first argument, rounded up to a multiple of the second.
    RoundUp,
    Min,
    Max,
    /// Rounded down.
    Log2,
    /// The number of doublings from 1 to the argument or beyond.
    Log2Up,
    /// The number of multiplications by the second argument from 1 to the first or beyond.
    LogUp,
    Pow,
}

/// Each function with its name and its number of arguments.
const FUNCTIONS: [(&str, Function, usize); 8] = [
    ("ceil_div", Function::CeilDiv, 2),
    ("round_up", Function::RoundUp, 2),
    ("min", Function::Min, 2),
    ("max", Function::Max, 2),
    ("log2", Function::Log2, 1),
    ("log2_up", Function::Log2Up, 1),
    ("log_up", Function::LogUp, 2),
    ("pow", Function::Pow, 2),
];

/// The number of elements. Every expression may name it.
pub(super) const N: &str = "n";
/// The buffer's index in its array. The `length` of an array of buffers may name it.
pub(super) const INDEX: &str = "index";
/// The number of groups of a dispatch. `set` may name it.
pub(super) const GROUPS: &str = "groups";
/// The number of groups of a dispatch in x. `set` may name it.
pub(super) const ROW: &str = "row";
/// A pipeline cannot define these names.
pub(super) const RESERVED: [&str; 4] = [N, INDEX, GROUPS, ROW];

/// The values of names. Later definitions hide earlier ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope(Vec<(String, u64)>);

impl Scope {
    pub fn with(mut self, name: &str, value: u64) -> Scope {
        self.0.push((name.to_owned(), value));
        self
    }

    fn get(&self, name: &str) -> Option<u64> {
        self.0
            .iter()
            .rev()
            .find(|(known, _)| known == name)
            .map(|(_, value)| *value)
    }
}

impl Expression {
    /// Reads `text`, which begins at `start` of the file.
    pub fn parse(text: &str, start: usize) -> Result<Expression, PipelineError> {
        let mut reader = Reader {
            text,
            start,
            at: 0,
            depth: 0,
            operations: 0,
        };
        let expression = reader.comparison()?;
        match reader.peek() {
            None => Ok(expression),
            Some(_) => Err(reader.error("an operator was expected here")),
        }
    }

    /// Refuses names that are not in `known`.
    pub fn check(&self, known: &[&str]) -> Result<(), PipelineError> {
        match &self.kind {
            Kind::Number(_) => Ok(()),
            Kind::Name(name) if known.contains(&name.as_str()) => Ok(()),
            Kind::Name(name) => {
                let known = match known {
                    [] => "there are none".to_owned(),
                    known => format!("there are {}", known.join(", ")),
                };
                let message = format!("unknown name `{name}`; {known}");
                Err(PipelineError::new(message, self.place.clone()))
            }
            Kind::Binary(_, left, right) => left.check(known).and_then(|()| right.check(known)),
            Kind::Call(_, arguments) => arguments.iter().try_for_each(|argument| argument.check(known)),
        }
    }

    /// The expression with one place for all its parts.
    pub fn placed(self, place: &Range<usize>) -> Expression {
        let kind = match self.kind {
            Kind::Number(_) | Kind::Name(_) => self.kind,
            Kind::Binary(operator, left, right) => {
                let [left, right] = [left, right].map(|side| Box::new(side.placed(place)));
                Kind::Binary(operator, left, right)
            }
            Kind::Call(function, arguments) => {
                let placed = arguments.into_iter().map(|argument| argument.placed(place));
                Kind::Call(function, placed.collect())
            }
        };
        let place = place.clone();
        Expression { kind, place }
    }

    pub fn place(&self) -> Range<usize> {
        self.place.clone()
    }

    pub fn value(&self, scope: &Scope) -> Result<u64, PipelineError> {
        let error = |message: String| PipelineError::new(message, self.place.clone());
        match &self.kind {
            Kind::Number(number) => Ok(*number),
            Kind::Name(name) => scope
                .get(name)
                .ok_or_else(|| error(format!("unknown name `{name}`"))),
            Kind::Binary(operator, left, right) => {
                let (left, right) = (left.value(scope)?, right.value(scope)?);
                let (sign, value) = match operator {
                    Operator::Add => ("+", left.checked_add(right)),
                    Operator::Subtract => ("-", left.checked_sub(right)),
                    Operator::Multiply => ("*", left.checked_mul(right)),
                    Operator::Divide => ("/", left.checked_div(right)),
                    Operator::Less => ("<", Some(u64::from(left < right))),
                    Operator::AtMost => ("<=", Some(u64::from(left <= right))),
                    Operator::Greater => (">", Some(u64::from(left > right))),
                    Operator::AtLeast => (">=", Some(u64::from(left >= right))),
                };
                value.ok_or_else(|| {
                    error(format!(
                        "{left} {sign} {right} is not a number from 0 to 2^64 - 1"
                    ))
                })
            }
            Kind::Call(function, arguments) => {
                let mut values = Vec::new();
                for argument in arguments {
                    values.push(argument.value(scope)?);
                }
                let first = values.first().copied().unwrap_or(0);
                let second = values.get(1).copied().unwrap_or(0);
                call(*function, first, second).ok_or_else(|| {
                    let values: Vec<String> = values.iter().map(u64::to_string).collect();
                    error(format!(
                        "{}({}) is not a number from 0 to 2^64 - 1",
                        function.name(),
                        values.join(", ")
                    ))
                })
            }
        }
    }
}

impl Function {
    fn name(self) -> &'static str {
        FUNCTIONS
            .iter()
            .find(|(_, function, _)| *function == self)
            .map_or("", |(name, ..)| name)
    }
}

fn call(function: Function, first: u64, second: u64) -> Option<u64> {
    match function {
        Function::CeilDiv => (second > 0).then(|| first.div_ceil(second)),
        Function::RoundUp => first.checked_next_multiple_of(second),
        Function::Min => Some(first.min(second)),
        Function::Max => Some(first.max(second)),
        Function::Log2 => first.checked_ilog2().map(u64::from),
        Function::Log2Up => power_reaching(first, 2),
        Function::LogUp => power_reaching(first, second),
        // 0 and 1 are their own powers, however large the exponent.
        Function::Pow if first < 2 && second > 0 => Some(first),
        Function::Pow => first.checked_pow(u32::try_from(second).ok()?),
    }
}

/// The exponent of the smallest power of `base` that is at least `wanted`.
fn power_reaching(wanted: u64, base: u64) -> Option<u64> {
    if base < 2 {
        return None;
    }
    let (mut exponent, mut power) = (0, 1u128);
    while power < u128::from(wanted) {
        power *= u128::from(base);
        exponent += 1;
    }
    Some(exponent)
}

struct Reader<'t> {
    text: &'t str,
    start: usize,
    at: usize,
    depth: u32,
    operations: u32,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn peek(&mut self) -> Option<char> {
        let rest = self.rest();
        let blank = rest.len() - rest.trim_start().len();
        self.at += blank;
        self.rest().chars().next()
    }

    fn takes(&mut self, sign: &str) -> bool {
        self.peek();
        let is_there = self.rest().starts_with(sign);
        if is_there {
            self.at += sign.len();
        }
        is_there
    }

    fn error(&self, message: &str) -> PipelineError {
        let at = self.start + self.at;
        PipelineError::new(
            message,
            at..at + self.rest().chars().next().map_or(0, char::len_utf8),
        )
    }

    fn binary(operator: Operator, left: Expression, right: Expression) -> Expression {
        Expression {
            place: left.place.start..right.place.end,
            kind: Kind::Binary(operator, Box::new(left), Box::new(right)),
        }
    }

    fn comparison(&mut self) -> Result<Expression, PipelineError> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(self.error("this expression is nested too deeply"));
        }
        let mut left = self.sum()?;
        for (sign, operator) in [
            ("<=", Operator::AtMost),
            ("<", Operator::Less),
            (">=", Operator::AtLeast),
            (">", Operator::Greater),
        ] {
            if self.takes(sign) {
                let right = self.sum()?;
                left = Self::binary(operator, left, right);
                break;
            }
        }
        self.depth -= 1;
        Ok(left)
    }

    fn count_operation(&mut self) -> Result<(), PipelineError> {
        self.operations += 1;
        if self.operations > OPERATIONS {
            return Err(self.error("this is too long"));
        }
        Ok(())
    }

    fn sum(&mut self) -> Result<Expression, PipelineError> {
        let mut left = self.product()?;
        loop {
            let operator = match self.peek() {
                Some('+') => Operator::Add,
                Some('-') => Operator::Subtract,
                _ => return Ok(left),
            };
            self.count_operation()?;
            self.at += 1;
            let right = self.product()?;
            left = Self::binary(operator, left, right);
        }
    }

    fn product(&mut self) -> Result<Expression, PipelineError> {
        let mut left = self.atom()?;
        loop {
            let operator = match self.peek() {
                Some('*') => Operator::Multiply,
                Some('/') => Operator::Divide,
                _ => return Ok(left),
            };
            self.count_operation()?;
            self.at += 1;
            let right = self.atom()?;
            left = Self::binary(operator, left, right);
        }
    }

    fn word(&mut self) -> (String, Range<usize>) {
        let rest = self.rest();
        let length = rest
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        let word = rest.get(..length).unwrap_or("").to_owned();
        let from = self.start + self.at;
        self.at += length;
        (word, from..from + length)
    }

    fn atom(&mut self) -> Result<Expression, PipelineError> {
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let inner = self.comparison()?;
                if !self.takes(")") {
                    return Err(self.error("`)` was expected here"));
                }
                Ok(inner)
            }
            Some(c) if c.is_ascii_digit() => {
                let (word, place) = self.word();
                match word.replace('_', "").parse() {
                    Ok(number) => Ok(Expression {
                        kind: Kind::Number(number),
                        place,
                    }),
                    Err(_) => Err(PipelineError::new(format!("`{word}` is not a number"), place)),
                }
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let (word, place) = self.word();
                if self.takes("(") {
                    self.call(&word, place)
                } else {
                    Ok(Expression {
                        kind: Kind::Name(word),
                        place,
                    })
                }
            }
            _ => Err(self.error("a number, a name or `(` was expected here")),
        }
    }

    fn call(&mut self, name: &str, place: Range<usize>) -> Result<Expression, PipelineError> {
        let Some((_, function, count)) = FUNCTIONS.iter().find(|(known, ..)| *known == name) else {
            let known: Vec<&str> = FUNCTIONS.iter().map(|(name, ..)| *name).collect();
            let message = format!(
                "`{name}` is not a function; the functions are {}",
                known.join(", ")
            );
            return Err(PipelineError::new(message, place));
        };
        let mut arguments = vec![self.comparison()?];
        while self.takes(",") {
            arguments.push(self.comparison()?);
        }
        if !self.takes(")") {
            return Err(self.error("`,` or `)` was expected here"));
        }
        let place = place.start..self.start + self.at;
        if arguments.len() != *count {
            let message = format!("`{name}` takes {count} numbers, not {}", arguments.len());
            return Err(PipelineError::new(message, place));
        }
        Ok(Expression {
            kind: Kind::Call(*function, arguments),
            place,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<u64, String> {
        let scope = Scope::default().with("n", 1000).with("step", 4);
        Expression::parse(text, 0)
            .and_then(|expression| expression.value(&scope))
            .map_err(|error| format!("{}..{}: {}", error.place.start, error.place.end, error.message))
    }

    #[test]
    fn numbers_follow_from_n() {
        let expected = [
            ("n", 1000),
            (" 2 + 3 * step ", 14),
            ("(2 + 3) * step", 20),
            ("n / 3", 333),
            ("100 - 10 - 1", 89),
            ("ceil_div(n, 256)", 4),
            ("round_up(n, 256)", 1024),
            ("min(n, 7) + max(step, 9)", 16),
            ("log2(n)", 9),
            ("log2_up(n)", 10),
            ("log2_up(1024)", 10),
            ("log2_up(1)", 0),
            ("log2_up(0)", 0),
            ("log_up(n, 10)", 3),
            ("log_up(n + 1, 10)", 4),
            ("pow(2, log2_up(n))", 1024),
            ("step < n", 1),
            ("n <= 999", 0),
            ("n >= 1_000", 1),
            ("step > step", 0),
            ("pow(1, 5000000000) + pow(0, 5000000000) + pow(0, 0)", 2),
        ];
        for (text, number) in expected {
            assert_eq!(value(text), Ok(number), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_at_its_place() {
        let expected = [
            ("", "0..0: a number, a name or `(` was expected here"),
            ("n +", "3..3: a number, a name or `(` was expected here"),
            ("n n", "2..3: an operator was expected here"),
            ("(n", "2..2: `)` was expected here"),
            ("min(n", "5..5: `,` or `)` was expected here"),
            ("min(n)", "0..6: `min` takes 2 numbers, not 1"),
            (
                "1 + half(n)",
                "4..8: `half` is not a function; the functions are ceil_div, round_up, min, max, log2, log2_up, log_up, pow",
            ),
            ("7x", "0..2: `7x` is not a number"),
            (
                "2 * (3 - step)",
                "5..13: 3 - 4 is not a number from 0 to 2^64 - 1",
            ),
            (
                "n / (step - 4)",
                "0..13: 1000 / 0 is not a number from 0 to 2^64 - 1",
            ),
            ("log2(0)", "0..7: log2(0) is not a number from 0 to 2^64 - 1"),
            (
                "pow(n, 9)",
                "0..9: pow(1000, 9) is not a number from 0 to 2^64 - 1",
            ),
            ("1 + m", "4..5: unknown name `m`"),
        ];
        for (text, message) in expected {
            assert_eq!(value(text), Err(message.to_owned()), "{text}");
        }
        let deep = format!("{}n", "(".repeat(100_000));
        assert!(value(&deep).is_err());
    }
}
