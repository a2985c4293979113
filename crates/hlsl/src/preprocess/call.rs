//! Macro calls in the text of a file: the outermost ones, which the origins record, and the tokens of their
//! arguments.

use std::rc::Rc;

use super::MAX_TEXT;
use super::lex::{self, Kind};
use super::macros::Macro;
use super::token::{Symbol, Token};
use super::unit::Unit;

/// A position in the file being read, to return to.
pub(super) struct Position(usize);

impl Unit<'_> {
    /// Separates the end of an expansion from the next byte of the file.
    pub fn separate(&mut self, next: Option<u8>) {
        if next.is_some_and(|next| lex::pastes(&self.out.text, next)) {
            let place = self.frame.source.file_end(self.frame.at);
            self.out.gap(self.frame.inclusion, place, b' ');
        }
    }

    /// Expands the macro whose name stands at `at..end`. `false` if the macro is function-like and not called: then
    /// the name stays as it is. Reading continues after the name or the call.
    pub fn call(&mut self, symbol: Symbol, definition: &Macro, at: usize, end: usize) -> bool {
        self.frame.at = end;
        if self.expansion.is_spent() {
            return false;
        }
        if definition.is_function_like() {
            let position = self.file_position();
            let is_called = self.file_open().is_some();
            self.return_to(position);
            if !is_called {
                return false;
            }
        }
        self.expansion.begin(&mut self.names);
        self.set_call_start(at);
        let source = Rc::clone(&self.frame.source);
        let name = Token {
            symbol,
            kind: Kind::Ident,
            white: false,
            painted: false,
            place: Some((source.id, source.file_start(at))),
            call_end: None,
        };
        let mark = self.out.mark();
        let call = self.out.call(self.frame.inclusion, source.place(at, end));
        let mut begin = None;
        let mut is_call = self.enter(name, definition);
        if is_call {
            while let Some(token) = self.expand_next() {
                self.write_token(call, token, &mut begin);
                if self.stopped {
                    break;
                }
            }
        }
        self.expansion.end(&mut self.names);
        if let Some(why) = self.expansion.aborted.take() {
            self.out.rewind(mark);
            let text = String::from_utf8_lossy(self.names.text(symbol)).into_owned();
            let place = source.place(at, end);
            self.problem(
                format!("macro `{text}` {why}; the call is left as it is"),
                Some(place),
            );
            if self.expansion.is_spent() {
                let message = "the macros expand to too much text: shaderlint expands none from here on";
                self.unread(message.to_owned(), Some(place));
            }
            let to = if self.expansion.saw_directive {
                end
            } else {
                self.frame.at
            };
            self.write(&source, at, to);
            is_call = true;
        } else if is_call {
            let begin = begin.unwrap_or(self.out.text.len());
            let file_end = source.file_end(self.frame.at);
            self.out
                .end_call(call, begin, file_end, self.expansion.saw_directive);
            if self.expansion.saw_directive {
                self.out.broken = true;
            }
        } else {
            self.out.rewind(mark);
        }
        is_call
    }

    /// Writes a token of an expansion; the first one sets `begin`.
    fn write_token(&mut self, call: u32, token: Token, begin: &mut Option<usize>) {
        let text = self.names.text(token.symbol);
        let Some(&first) = text.first() else {
            return;
        };
        if self.out.text.len() + text.len() >= MAX_TEXT {
            let at = self.frame.at;
            self.stop_for_size(self.frame.source.place(at, at));
            return;
        }
        let wants_blank = token.white && begin.is_some() && !self.ends_blank();
        let mut white = wants_blank || lex::pastes(&self.out.text, first);
        if begin.is_none() {
            // This blank is not part of the expansion: an edit may start with the call.
            if std::mem::take(&mut white) {
                self.out.gap(self.frame.inclusion, self.call_start, b' ');
            }
            *begin = Some(self.out.text.len());
        }
        let text = self.names.text(token.symbol);
        self.out.token(call, token.place, white, text);
    }

    pub fn file_position(&mut self) -> Position {
        self.saved_conditions = None;
        Position(self.frame.at)
    }

    pub fn return_to(&mut self, Position(at): Position) {
        self.frame.at = at;
        if let Some(conditions) = self.saved_conditions.take() {
            self.frame.conditions = conditions;
        }
    }

    /// Reads past an opening parenthesis in the file, if it comes next. A directive before it counts as something
    /// else.
    pub fn file_open(&mut self) -> Option<Token> {
        let source = Rc::clone(&self.frame.source);
        let space = lex::space(source.bytes(), self.frame.at, true);
        (source.bytes().get(space.end) == Some(&b'(')).then(|| {
            self.frame.at = space.end + 1;
            Token {
                symbol: Symbol::OPEN,
                kind: Kind::Punct,
                white: space.white,
                painted: false,
                place: Some((source.id, source.file_start(space.end))),
                call_end: None,
            }
        })
    }

    /// The next token of the file, for the arguments of a macro call. It obeys the directives before that token.
    pub fn file_token(&mut self) -> Option<Token> {
        let source = Rc::clone(&self.frame.source);
        let bytes = source.bytes();
        let (mut white, mut new_line) = (false, false);
        let begin = self.frame.at;
        loop {
            let space = lex::space(bytes, self.frame.at, true);
            if let Some(at) = space.open_comment {
                self.open_comment(at);
            }
            white |= space.white;
            new_line |= space.newline;
            self.frame.at = space.end;
            if *bytes.get(space.end)? != b'#' || !new_line {
                break;
            }
            if self.saved_conditions.is_none() {
                self.expansion.charge(self.frame.conditions.len());
                self.saved_conditions = Some(self.frame.conditions.clone());
            }
            self.expansion.saw_directive = true;
            self.directive(true);
        }
        let (kind, end) = lex::token(bytes, self.frame.at);
        let start = std::mem::replace(&mut self.frame.at, end);
        // The scan reads an unclosed call again, so long comments in it count.
        self.expansion.charge(1 + end.saturating_sub(begin) / 64);
        Some(Token {
            symbol: self.names.intern(bytes.get(start..end)?),
            kind,
            white,
            painted: false,
            place: Some((source.id, source.file_start(start))),
            call_end: None,
        })
    }
}
