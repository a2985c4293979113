//! Every spelling as a number, and the macros by name.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::lex::Kind;
use super::macros::Macro;
use crate::span::FileId;

/// A spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Symbol(u32);

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

const WELL_KNOWN: [&[u8]; 16] = [
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
    /// A macro's name met inside its own expansion: never to be expanded again.
    pub painted: bool,
    /// File and position where it is spelled; `None` for one that was made.
    pub place: Option<(FileId, u32)>,
    /// Of one that a macro made: where in the file being read the call of that ends, or of the one that made the call.
    pub call_end: Option<u32>,
}

impl Token {
    /// The position in the file being read that it counts as.
    pub fn at(&self) -> Option<u32> {
        self.call_end.or_else(|| Some(self.place?.1))
    }
}

struct Name {
    text: Rc<[u8]>,
    definition: Option<Rc<Macro>>,
    /// How many expansions of this macro are being read.
    disabled: u32,
}

/// All spellings met so far.
pub(super) struct Names {
    symbols: FxHashMap<Rc<[u8]>, Symbol>,
    list: Vec<Name>,
    /// By first byte: which lengths (63 for all longer ones) the names of macros have. Most words of a text are
    /// told by it not to be macros without being looked up.
    lengths: [u64; 256],
}

impl Names {
    pub fn new() -> Self {
        let mut names = Names {
            symbols: FxHashMap::default(),
            list: Vec::new(),
            lengths: [0; 256],
        };
        for text in WELL_KNOWN {
            names.intern(text);
        }
        names
    }

    pub fn intern(&mut self, text: &[u8]) -> Symbol {
        if let Some(&symbol) = self.symbols.get(text) {
            return symbol;
        }
        let symbol = Symbol(super::text::offset(self.list.len()));
        let text: Rc<[u8]> = Rc::from(text);
        self.symbols.insert(Rc::clone(&text), symbol);
        self.list.push(Name {
            text,
            definition: None,
            disabled: 0,
        });
        symbol
    }

    pub fn text(&self, symbol: Symbol) -> &[u8] {
        self.list.get(symbol.0 as usize).map_or(&[], |name| &name.text)
    }

    pub fn definition(&self, symbol: Symbol) -> Option<&Rc<Macro>> {
        self.list.get(symbol.0 as usize)?.definition.as_ref()
    }

    pub fn define(&mut self, symbol: Symbol, definition: Option<Macro>) {
        let (slot, bit) = length_bit(self.text(symbol));
        if let Some(lengths) = self.lengths.get_mut(slot)
            && definition.is_some()
        {
            *lengths |= bit;
        }
        if let Some(name) = self.list.get_mut(symbol.0 as usize) {
            name.definition = definition.map(Rc::new);
        }
    }

    /// The macro that a word of the text names, if it names one.
    #[inline]
    pub fn macro_named(&self, word: &[u8]) -> Option<(Symbol, &Rc<Macro>)> {
        let (slot, bit) = length_bit(word);
        if self.lengths.get(slot)? & bit == 0 {
            return None;
        }
        let symbol = *self.symbols.get(word)?;
        Some((symbol, self.definition(symbol)?))
    }

    pub fn is_disabled(&self, symbol: Symbol) -> bool {
        self.list
            .get(symbol.0 as usize)
            .is_some_and(|name| name.disabled > 0)
    }

    pub fn disable(&mut self, symbol: Symbol) {
        if let Some(name) = self.list.get_mut(symbol.0 as usize) {
            name.disabled += 1;
        }
    }

    pub fn enable(&mut self, symbol: Symbol) {
        if let Some(name) = self.list.get_mut(symbol.0 as usize) {
            name.disabled = name.disabled.saturating_sub(1);
        }
    }
}

#[inline]
fn length_bit(word: &[u8]) -> (usize, u64) {
    (
        word.first().map_or(0, |&byte| usize::from(byte)),
        1 << word.len().min(63),
    )
}
