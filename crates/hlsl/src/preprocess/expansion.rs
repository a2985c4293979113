//! The macro expansion in progress, as a stack of token lists.
//!
//! Each list belongs to the macro that it is the expansion of. While a list is on the stack, its macro is disabled, and its name
//! is painted for good when it is read. A list that is read to its end stays on the stack until the reader wants more. So a macro
//! whose name ends an expansion may take its arguments from the text that follows. These are the rules of C, with gcc's answers
//! where C gives none.

use std::rc::Rc;

use super::lex::Kind;
use super::names::Names;
use super::token::{Symbol, Token};
use super::{MAX_ARGUMENT_DEPTH, MAX_CALL_WORK, MAX_UNIT_WORK};

/// A list of tokens that is being read.
struct Context {
    tokens: Rc<Vec<Token>>,
    next: usize,
    call: Option<Call>,
}

/// The call of a macro that a list of tokens is the expansion of.
pub(super) struct Call {
    pub name: Symbol,
    /// White space stands before the name. It counts as white space before the first token, whatever stands before that in the body.
    pub white: bool,
    /// [`Token::call_end`] of the tokens that have none.
    pub end: Option<u32>,
}

/// The state to return to after an argument is expanded alone.
#[derive(Clone, Copy)]
pub(super) struct Outer {
    floor: usize,
    reads_file: bool,
}

/// The expansion of an outermost macro call, or of the tokens of a directive.
#[derive(Default)]
pub(super) struct Expansion {
    contexts: Vec<Context>,
    /// Lists below this are not read while an argument is expanded alone.
    floor: usize,
    /// When the lists are used up, reading goes on in the file.
    pub reads_file: bool,
    depth: usize,
    /// Tokens handled for this outermost call, and for the whole unit.
    call_work: usize,
    unit_work: usize,
    /// Why this expansion was given up.
    pub aborted: Option<&'static str>,
    /// A directive stood among the arguments of the outermost call.
    pub saw_directive: bool,
}

impl Expansion {
    /// Begins an outermost macro call, which is read from the file.
    pub fn begin(&mut self, names: &mut Names) {
        self.end(names);
        *self = Expansion {
            reads_file: true,
            ..self.another()
        };
    }

    /// Another expansion of the same unit.
    pub fn another(&self) -> Expansion {
        Expansion {
            unit_work: self.unit_work,
            ..Expansion::default()
        }
    }

    /// Returns to `outer`, which waited for this expansion, and gives this one back.
    pub fn resume(&mut self, outer: Expansion) -> Expansion {
        let done = std::mem::replace(self, outer);
        self.unit_work = done.unit_work;
        done
    }

    /// The unit has used up its share: no macro is expanded any more.
    pub fn is_spent(&self) -> bool {
        self.unit_work > MAX_UNIT_WORK
    }

    pub fn charge(&mut self, tokens: usize) {
        self.call_work += tokens;
        self.unit_work += tokens;
        if self.call_work > MAX_CALL_WORK || self.unit_work > MAX_UNIT_WORK {
            self.aborted.get_or_insert("expands to too much");
        }
    }

    /// Goes on with tokens as they are.
    pub fn push_tokens(&mut self, tokens: Rc<Vec<Token>>) {
        self.charge(1);
        self.contexts.push(Context {
            tokens,
            next: 0,
            call: None,
        });
    }

    /// Goes on with the tokens that a macro expands to.
    pub fn push_call(&mut self, call: Call, tokens: Rc<Vec<Token>>, names: &mut Names) {
        self.charge(1);
        names.disable(call.name);
        self.contexts.push(Context {
            tokens,
            next: 0,
            call: Some(call),
        });
    }

    fn pop(&mut self, names: &mut Names) {
        if let Some(Context { call: Some(call), .. }) = self.contexts.pop() {
            names.enable(call.name);
        }
    }

    /// Drops all lists, and leaves no macro disabled.
    pub fn end(&mut self, names: &mut Names) {
        while !self.contexts.is_empty() {
            self.pop(names);
        }
    }

    /// Whether there is a list to read, be it read to its end.
    pub fn is_in_list(&self) -> bool {
        self.contexts.len() > self.floor
    }

    /// The next token of the lists as it stands, painted if its macro is disabled.
    pub fn read(&mut self, names: &mut Names) -> Option<Token> {
        while self.is_in_list() {
            let context = self.contexts.last_mut()?;
            let Some(mut token) = context.tokens.get(context.next).copied() else {
                self.pop(names);
                continue;
            };
            if let Some(call) = &context.call {
                if context.next == 0 {
                    token.white = call.white;
                }
                token.call_end = token.call_end.or(call.end);
            }
            context.next += 1;
            if token.kind == Kind::Ident && names.is_disabled(token.symbol) {
                token.painted = true;
            }
            self.charge(1);
            return Some(token);
        }
        None
    }

    /// The token that is read next, as it stands.
    pub fn peek(&mut self, names: &mut Names) -> Option<Token> {
        while self.is_in_list() {
            let context = self.contexts.last_mut()?;
            match context.tokens.get(context.next) {
                Some(&token) => return Some(token),
                None => self.pop(names),
            }
        }
        None
    }

    /// Reads past the token that [`Expansion::peek`] gave.
    pub fn skip(&mut self) {
        if let Some(context) = self.contexts.last_mut() {
            context.next += 1;
        }
    }

    /// Begins to read `tokens` as if they stood alone. `None` where calls nest too deeply in arguments.
    pub fn begin_alone(&mut self, tokens: &[Token]) -> Option<Outer> {
        if self.depth >= MAX_ARGUMENT_DEPTH {
            self.aborted
                .get_or_insert("has calls nested too deeply in its arguments");
            return None;
        }
        let outer = Outer {
            floor: self.floor,
            reads_file: self.reads_file,
        };
        self.depth += 1;
        self.floor = self.contexts.len();
        self.reads_file = false;
        self.push_tokens(Rc::new(tokens.to_vec()));
        Some(outer)
    }

    pub fn end_alone(&mut self, outer: Outer, names: &mut Names) {
        // An expansion that was given up leaves lists behind.
        while self.is_in_list() {
            self.pop(names);
        }
        self.depth -= 1;
        self.floor = outer.floor;
        self.reads_file = outer.reads_file;
    }
}
