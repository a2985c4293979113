//! Macro expansion: a call, its arguments, and the body with the arguments substituted.

use std::rc::Rc;

use super::expansion::Call;
use super::lex::{self, Kind};
use super::macros::{Body, Macro, Part, Role};
use super::token::{Symbol, Token};
use super::unit::Unit;

/// An argument of a call.
#[derive(Default)]
struct Argument {
    tokens: Vec<Token>,
    expanded: Option<Vec<Token>>,
}

impl Unit<'_> {
    fn read(&mut self) -> Option<Token> {
        self.expansion.read(&mut self.names)
    }

    /// The next token of the lists, with macros expanded.
    pub fn expand_next(&mut self) -> Option<Token> {
        while self.expansion.aborted.is_none() {
            let token = self.read()?;
            if token.kind != Kind::Ident || token.painted {
                return Some(token);
            }
            match self.names.definition(token.symbol) {
                Some(definition) => {
                    let definition = Rc::clone(definition);
                    if !self.enter(token, &definition) {
                        return Some(token);
                    }
                }
                None => return Some(token),
            }
        }
        None
    }

    /// Starts the expansion of the macro that `name` names. `false` if it is function-like and not called.
    pub fn enter(&mut self, name: Token, definition: &Macro) -> bool {
        let (parameters, variadic, body) = match definition {
            Macro::Line => {
                let line = self.line_of(name);
                return self.enter_made(name, Kind::Number, line.to_string().as_bytes());
            }
            Macro::File => {
                let path = quoted(self.path().as_bytes());
                return self.enter_made(name, Kind::String, &path);
            }
            Macro::Level => {
                let level = self.parents.len().to_string();
                return self.enter_made(name, Kind::Number, level.as_bytes());
            }
            Macro::Pragma => return self.enter_pragma(name),
            Macro::Defined {
                parameters,
                variadic,
                body,
            } => (*parameters, *variadic, body),
        };
        let (mut arguments, mut last) = (Vec::new(), name);
        if let Some(count) = parameters {
            match self.arguments(name, count, variadic) {
                Some(found) => (arguments, last) = found,
                None => return false,
            }
        }
        let tokens = match body {
            Body::Plain(tokens) => Rc::clone(tokens),
            Body::Parts(parts) => {
                let variadic = parameters.filter(|_| variadic);
                Rc::new(self.substitute(parts, arguments, variadic))
            }
        };
        let call = Call {
            name: name.symbol,
            white: name.white,
            end: last.at(),
        };
        self.expansion.push_call(call, tokens, &mut self.names);
        true
    }

    /// Obeys `_Pragma("…")`, which expands to nothing.
    fn enter_pragma(&mut self, name: Token) -> bool {
        let Some((arguments, _)) = self.arguments(name, 1, false) else {
            return false;
        };
        if let [Argument { tokens, .. }] = &*arguments
            && let [
                Token {
                    kind: Kind::String,
                    symbol,
                    ..
                },
            ] = **tokens
        {
            let quoted = self.names.text(symbol);
            let text = quoted
                .get(1..quoted.len().saturating_sub(1))
                .unwrap_or_default()
                .to_vec();
            self.pragma(&text, None);
        }
        true
    }

    fn enter_made(&mut self, name: Token, kind: Kind, text: &[u8]) -> bool {
        let token = self.made(kind, text, name.white);
        self.expansion.push_tokens(Rc::new(vec![token]));
        true
    }

    /// A token that no file contains.
    pub fn made(&mut self, kind: Kind, text: &[u8], white: bool) -> Token {
        self.expansion.charge(1 + text.len() / 8);
        Token {
            symbol: self.names.intern(text),
            kind,
            white,
            painted: false,
            place: None,
            call_end: None,
        }
    }

    /// Reads past an opening parenthesis, if it comes next.
    fn take_open(&mut self) -> Option<Token> {
        match self.expansion.peek(&mut self.names) {
            Some(token) => (token.symbol == Symbol::OPEN).then(|| {
                self.expansion.skip();
                token
            }),
            None if self.expansion.reads_file => self.file_open(),
            None => None,
        }
    }

    /// The arguments of a call of `name`, and the token that ends it. If this is no call or a malformed one, restores
    /// the state: it puts back the tokens taken from the lists, and returns to its position in the file.
    fn arguments(&mut self, name: Token, wanted: usize, variadic: bool) -> Option<(Vec<Argument>, Token)> {
        let mark = self.file_position();
        let open = self.take_open()?;
        let mut to_put_back = if self.expansion.is_in_list() {
            vec![open]
        } else {
            Vec::new()
        };
        let mut arguments = vec![Argument::default()];
        let mut depth = 0_usize;
        let failure = loop {
            if self.expansion.aborted.is_some() {
                return None;
            }
            let token = match self.read() {
                Some(token) => {
                    to_put_back.push(token);
                    token
                }
                None if self.expansion.reads_file => match self.file_token() {
                    Some(token) => token,
                    None => break "is called without a closing parenthesis",
                },
                None => break "is called without a closing parenthesis",
            };
            match token.symbol {
                Symbol::OPEN => depth += 1,
                Symbol::CLOSE if depth == 0 => {
                    let given = arguments.len();
                    let is_empty = given == 1 && arguments.iter().all(|argument| argument.tokens.is_empty());
                    if wanted == 0 && is_empty {
                        return Some((Vec::new(), token));
                    }
                    if given > wanted {
                        break "is called with too many arguments";
                    }
                    // Continue with empty arguments, like FXC. A variadic one may be missing.
                    if given + usize::from(variadic) < wanted {
                        self.complain(name, "is called with too few arguments");
                    }
                    // `F()` has no variable arguments for `F(...)`; `F(a,)` has an empty one for `F(a, ...)`.
                    if variadic && wanted == 1 && is_empty {
                        arguments.clear();
                    }
                    return Some((arguments, token));
                }
                Symbol::CLOSE => depth -= 1,
                Symbol::COMMA if depth == 0 && !(variadic && arguments.len() >= wanted) => {
                    arguments.push(Argument::default());
                    continue;
                }
                _ => {}
            }
            if let Some(argument) = arguments.last_mut() {
                argument.tokens.push(token);
            }
        };
        self.complain(name, failure);
        if self.expansion.reads_file {
            self.return_to(mark);
        }
        if !to_put_back.is_empty() {
            self.expansion.push_tokens(Rc::new(to_put_back));
        }
        None
    }

    /// `tokens` with all macros expanded, as if they stood alone.
    fn expand_alone(&mut self, tokens: &[Token]) -> Vec<Token> {
        let has_macro = |token: &Token| {
            token.kind == Kind::Ident && !token.painted && self.names.definition(token.symbol).is_some()
        };
        if !tokens.iter().any(has_macro) {
            self.expansion.charge(tokens.len());
            return tokens.to_vec();
        }
        let Some(outer) = self.expansion.begin_alone(tokens) else {
            return Vec::new();
        };
        let mut expanded = Vec::new();
        while let Some(token) = self.expand_next() {
            expanded.push(token);
        }
        self.expansion.end_alone(outer, &mut self.names);
        expanded
    }

    /// The tokens of a directive's line with all macros expanded, or why the expansion was given up. In a condition,
    /// each `defined` is replaced by its value. `hash` is the start of the line.
    pub fn expand_list(
        &mut self,
        tokens: Vec<Token>,
        hash: usize,
        is_condition: bool,
    ) -> Result<Vec<Token>, &'static str> {
        // The line may stand among the arguments of a macro call. These are read from the file, so all lists are used up.
        let begun = self.expansion.another();
        let outer = std::mem::replace(&mut self.expansion, begun);
        let outer_conditions = self.saved_conditions.take();
        let outer_start = self.call_start;
        self.set_call_start(hash);
        self.expansion.push_tokens(Rc::new(tokens));
        let mut expanded = Vec::new();
        while let Some(token) = self.expand_next() {
            expanded.push(match token.symbol {
                Symbol::DEFINED if is_condition => self.defined(token),
                Symbol::HAS_INCLUDE if is_condition && self.is_defined(token) => self.has_include(token),
                _ => token,
            });
        }
        self.expansion.end(&mut self.names);
        self.call_start = outer_start;
        self.saved_conditions = outer_conditions;
        match self.expansion.resume(outer).aborted {
            Some(why) => Err(why),
            None => Ok(expanded),
        }
    }

    /// The value of `defined NAME` or `defined(NAME)`. `defined` has been read already.
    fn defined(&mut self, keyword: Token) -> Token {
        let mut name = self.read();
        let is_open = name.is_some_and(|token| token.symbol == Symbol::OPEN);
        if is_open {
            name = self.read();
        }
        let name = name.filter(|token| token.kind == Kind::Ident);
        let is_closed = !is_open || self.read().is_some_and(|token| token.symbol == Symbol::CLOSE);
        if name.is_none() || !is_closed {
            self.complain_of_call("`defined` without a name".to_owned());
        }
        let value = name.is_some_and(|name| self.is_defined(name));
        truth(value, keyword)
    }

    fn is_defined(&self, name: Token) -> bool {
        self.names.definition(name.symbol).is_some()
    }

    /// The value of `__has_include("PATH")` or `__has_include(<PATH>)`. `__has_include` has been read already.
    fn has_include(&mut self, keyword: Token) -> Token {
        let mut argument = Vec::new();
        let is_open = self.read().is_some_and(|token| token.symbol == Symbol::OPEN);
        let is_closed = is_open
            && loop {
                // A path in angle brackets has no macros.
                let is_path = argument
                    .first()
                    .is_some_and(|token: &Token| token.symbol == Symbol::LESS);
                let token = if is_path { self.read() } else { self.expand_next() };
                match token {
                    Some(token) if token.symbol == Symbol::CLOSE => break true,
                    Some(token) => argument.push(token),
                    None => break false,
                }
            };
        match self.made_path(&argument).filter(|_| is_closed) {
            Some((path, angled)) => {
                let is_there = self.resolve(&path, angled).is_some();
                truth(is_there, keyword)
            }
            // The condition reports this token.
            None => Token {
                kind: Kind::Other,
                ..keyword
            },
        }
    }

    /// The body with its parameters replaced. `variadic` is the number of parameters, if the last one is variadic.
    fn substitute(
        &mut self,
        parts: &[Part],
        mut arguments: Vec<Argument>,
        variadic: Option<usize>,
    ) -> Vec<Token> {
        let mut out: Vec<Token> = Vec::with_capacity(parts.len());
        let mut after_paste = false;
        // The left operand of this `##` is empty.
        let mut left_is_empty = false;
        let mut after_comma = false;
        for part in parts {
            if self.expansion.aborted.is_some() {
                break;
            }
            // An argument beside `##` is not expanded.
            let beside_paste = part.pastes || after_paste;
            if let (Role::Parameter(index), false) = (part.role, beside_paste)
                && let Some(argument) = arguments.get_mut(index)
                && argument.expanded.is_none()
            {
                argument.expanded = Some(self.expand_alone(&argument.tokens));
            }
            let mut single = [part.token];
            let items: &[Token] = match part.role {
                Role::Plain => &single,
                Role::Stringized(index) => {
                    let text = self.stringize(arguments.get(index).map_or(&[], |argument| &argument.tokens));
                    single = [self.made(Kind::String, &text, part.token.white)];
                    &single
                }
                Role::Parameter(index) => match arguments.get(index) {
                    None => &[],
                    Some(argument) if beside_paste => &argument.tokens,
                    Some(argument) => argument.expanded.as_deref().unwrap_or_default(),
                },
            };
            self.expansion.charge(items.len());
            let begin = out.len();
            let (first, rest) = match items.split_first() {
                Some((first, rest)) => (Some(first), rest),
                None => (None, items),
            };
            let first = first.map(|&first| Token {
                white: part.token.white,
                ..first
            });
            let is_variable = matches!(part.role, Role::Parameter(index) if variadic == Some(index + 1));
            if after_paste && after_comma && is_variable {
                // `, ## __VA_ARGS__` is no paste: it drops the comma if there are no variable arguments.
                if variadic.is_some_and(|count| arguments.len() < count) {
                    out.pop();
                }
                out.extend(first);
            } else if let (true, false, Some(right)) = (after_paste, left_is_empty, first) {
                match out.pop() {
                    Some(left) => match self.paste(left, right) {
                        Some(token) => out.push(token),
                        None => out.extend([left, right]),
                    },
                    None => out.push(right),
                }
            } else {
                out.extend(first);
            }
            out.extend_from_slice(rest);
            left_is_empty = items.is_empty() && (left_is_empty || !after_paste);
            after_paste = part.pastes;
            after_comma =
                part.role == Role::Plain && part.token.symbol == Symbol::COMMA && out.len() == begin + 1;
        }
        out
    }

    fn paste(&mut self, left: Token, right: Token) -> Option<Token> {
        let text = [self.names.text(left.symbol), self.names.text(right.symbol)].concat();
        let (kind, end) = lex::token(&text, 0);
        if end == text.len() && kind != Kind::Other && lex::comment(&text, 0).is_none() {
            return Some(self.made(kind, &text, left.white));
        }
        let text = String::from_utf8_lossy(&text).into_owned();
        self.complain_of_call(format!("`##` makes `{text}`, which is not a token"));
        None
    }

    fn stringize(&self, tokens: &[Token]) -> Vec<u8> {
        let mut text = vec![b'"'];
        for (index, token) in tokens.iter().enumerate() {
            if token.white && index > 0 {
                text.push(b' ');
            }
            for &byte in self.names.text(token.symbol) {
                if matches!(byte, b'"' | b'\\') && matches!(token.kind, Kind::String | Kind::Char)
                    || byte == b'"'
                {
                    text.push(b'\\');
                }
                text.push(byte);
            }
        }
        // An odd backslash at the end must not escape the quote.
        let backslashes = text.iter().rev().take_while(|&&byte| byte == b'\\').count();
        if backslashes % 2 == 1 {
            text.pop();
        }
        text.push(b'"');
        text
    }

    fn complain(&mut self, name: Token, what: &str) {
        let text = String::from_utf8_lossy(self.names.text(name.symbol)).into_owned();
        self.complain_of_call(format!("macro `{text}` {what}"));
    }
}

/// 1 or 0, to replace `defined` or `__has_include`.
fn truth(value: bool, keyword: Token) -> Token {
    Token {
        symbol: if value { Symbol::ONE } else { Symbol::ZERO },
        kind: Kind::Number,
        ..keyword
    }
}

fn quoted(text: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'"'];
    for &byte in text {
        if matches!(byte, b'"' | b'\\') {
            quoted.push(b'\\');
        }
        quoted.push(byte);
    }
    quoted.push(b'"');
    quoted
}
