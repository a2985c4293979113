//! Preprocessing tokens, and their spellings as numbers.

use super::lex::Kind;
use crate::span::FileId;

/// A spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Symbol(pub u32);

/// Spellings that the preprocessor itself knows, in the order of [`WELL_KNOWN`].
impl Symbol {
    pub const OPEN: Symbol = Symbol(0);
    pub const CLOSE: Symbol = Symbol(1);
    pub const COMMA: Symbol = Symbol(2);
    pub const HASH: Symbol = Symbol(3);
    pub const PASTE: Symbol = Symbol(4);
    pub const ELLIPSIS: Symbol = Symbol(5);
    pub const VA_ARGS: Symbol = Symbol(6);
    pub const DEFINED: Symbol = Symbol(7);
    pub const ZERO: Symbol = Symbol(8);
    pub const ONE: Symbol = Symbol(9);
    pub const TRUE: Symbol = Symbol(10);
    pub const LESS: Symbol = Symbol(11);
    pub const GREATER: Symbol = Symbol(12);
    pub const QUESTION: Symbol = Symbol(13);
    pub const COLON: Symbol = Symbol(14);
    pub const HAS_INCLUDE: Symbol = Symbol(15);
}

pub(super) const WELL_KNOWN: [&[u8]; 16] = [
    b"(",
    b")",
    b",",
    b"#",
    b"##",
    b"...",
    b"__VA_ARGS__",
    b"defined",
    b"0",
    b"1",
    b"true",
    b"<",
    b">",
    b"?",
    b":",
    b"__has_include",
];

/// A preprocessing token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub symbol: Symbol,
    pub kind: Kind,
    /// White space stood before it.
    pub white: bool,
    /// A macro's name inside its own expansion: it is never expanded again.
    pub painted: bool,
    /// File and position where it is spelled; `None` for a token that the preprocessor made.
    pub place: Option<(FileId, u32)>,
    /// The end of the outermost call that produced a token of a macro's body, in the file being read.
    pub call_end: Option<u32>,
}

impl Token {
    /// The position in the file being read that stands for the token.
    pub fn at(&self) -> Option<u32> {
        self.call_end.or_else(|| Some(self.place?.1))
    }
}
