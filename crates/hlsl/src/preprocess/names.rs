//! Interns spellings as numbers, and looks up macros by name.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::macros::Macro;
use super::text::offset;
use super::token::{Symbol, WELL_KNOWN};

struct Name {
    text: Rc<[u8]>,
    definition: Option<Rc<Macro>>,
    /// How many lists being read are expansions of this macro.
    disabled: u32,
}

/// All spellings seen so far.
pub(super) struct Names {
    symbols: FxHashMap<Rc<[u8]>, Symbol>,
    list: Vec<Name>,
    /// The lengths of macro names (63 for all longer ones), by first byte. This rules out most words of a text
    /// without a look-up.
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
        let symbol = Symbol(offset(self.list.len()));
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

    /// The macro that a word of the text names, if any.
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
