//! The macro expansion in progress, as a stack of token lists.
//!
//! Each list belongs to the macro whose expansion it is. While a list is on the stack, its macro is disabled: if the
//! list names it, that token is painted for good when it is read. A list that is read to its end stays on the stack
//! until the reader wants more, so a macro whose name ends an expansion may take its arguments from the following
//! text. These are the rules of C, with gcc's behaviour where C leaves it open.

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

/// The macro call that a list of tokens expands.
pub(super) struct Call {
    pub name: Symbol,
    /// White space precedes the name. It counts as white space before the first token, whether or not the body has
    /// some there.
    pub white: bool,
    /// [`Token::call_end`] of tokens that have none.
    pub end: Option<u32>,
}

/// The state to restore after an argument is expanded alone.
#[derive(Clone, Copy)]
pub(super) struct Outer {
    floor: usize,
    reads_file: bool,
}

/// The expansion of an outermost macro call, or of the tokens of a directive.
#[derive(Default)]
pub(super) struct Expansion {
    contexts: Vec<Context>,
    /// While an argument is expanded alone, lists below this index are not read.
    floor: usize,
    /// After the lists, reading continues in the file.
    pub reads_file: bool,
    depth: usize,
    /// Tokens handled for this outermost call, and for the whole unit.
    call_work: usize,
    unit_work: usize,
    /// Why this expansion was given up.
    pub aborted: Option<&'static str>,
    /// There was a directive among the arguments of the outermost call.
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

    /// Resumes `outer`, which waited for this expansion, and returns this one.
    pub fn resume(&mut self, outer: Expansion) -> Expansion {
        let done = std::mem::replace(self, outer);
        self.unit_work = done.unit_work;
        done
    }

    /// The unit has exceeded its limit: no more macros are expanded.
    pub fn is_spent(&self) -> bool {
        self.unit_work > MAX_UNIT_WORK
    }

    pub fn charge(&mut self, tokens: usize) {
        self.call_work += tokens;
        self.unit_work += tokens;
        if self.call_work > MAX_CALL_WORK || self.unit_work > MAX_UNIT_WORK {
            self.aborted.get_or_insert("expands to too much text");
        }
    }

    /// Pushes tokens to be read next, unchanged.
    pub fn push_tokens(&mut self, tokens: Rc<Vec<Token>>) {
        self.charge(1);
        self.contexts.push(Context {
            tokens,
            next: 0,
            call: None,
        });
    }

    /// Pushes the expansion of a macro call, to be read next.
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

    /// Drops all lists, and enables all macros.
    pub fn end(&mut self, names: &mut Names) {
        while !self.contexts.is_empty() {
            self.pop(names);
        }
    }

    /// Whether there is a list, even one that is read to its end.
    pub fn is_in_list(&self) -> bool {
        self.contexts.len() > self.floor
    }

    /// The next token of the lists, unexpanded, and painted if its macro is disabled.
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

    /// The next token, neither read nor painted.
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

    /// Reads past the token that [`Expansion::peek`] returned.
    pub fn skip(&mut self) {
        if let Some(context) = self.contexts.last_mut() {
            context.next += 1;
        }
    }

    /// Begins to read `tokens` as if they stood alone. `None` if calls nest too deeply in arguments.
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
        // An abandoned expansion leaves lists on the stack.
        while self.is_in_list() {
            self.pop(names);
        }
        self.depth -= 1;
        self.floor = outer.floor;
        self.reads_file = outer.reads_file;
    }
}
