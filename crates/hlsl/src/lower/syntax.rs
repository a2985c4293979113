//! Concrete syntax of parts of a text, and a cache of earlier parses.
//!
//! Files of an engine include the same headers, and a file is read under several sets of definitions, so most items
//! are parsed many times. A parse depends on the bytes of a text alone, so equal texts share a tree.

use std::ops::ControlFlow;
use std::sync::{LazyLock, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

/// A longer text is not parsed: its tree takes about 300 times the space.
const MAX_TEXT: usize = 1 << 20;
/// The minimal progress of the parser per step. Real shaders need one step per 20 to 120 bytes.
const BYTES_PER_STEP: usize = 12;
/// Additional steps.
const SPARE_STEPS: usize = 200;
/// The maximum of bytes of text with a cached tree; beyond it, the cache is cleared. An engine of 376 shaders has a
/// few times as much text, and a larger limit is no faster.
const MAX_KNOWN: usize = 1 << 19;

/// Trees by their texts, and the total length of the texts.
#[derive(Default)]
struct Known {
    trees: FxHashMap<Box<[u8]>, Option<Tree>>,
    bytes: usize,
}

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

impl Known {
    fn keep(&mut self, text: &[u8], tree: Option<Tree>) {
        if self.bytes + text.len() > MAX_KNOWN {
            *self = Known::default();
        }
        self.bytes += text.len();
        self.trees.insert(text.into(), tree);
    }
}

pub(super) fn parser() -> Option<Parser> {
    let mut parser = Parser::new();
    parser
        .set_language(&tree_sitter_hlsl::LANGUAGE_HLSL.into())
        .ok()?;
    Some(parser)
}

/// The concrete syntax of a text; `None` if parsing takes too much work.
pub(super) fn syntax(parser: &mut Parser, text: &[u8]) -> Option<Tree> {
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(tree) = known().trees.get(text) {
        return tree.clone();
    }
    let tree = parsed(parser, text);
    known().keep(text, tree.clone());
    tree
}

/// If a text can be parsed in many ways, or in none, the parser follows several: its time and memory may grow with
/// the square of the length.
fn parsed(parser: &mut Parser, text: &[u8]) -> Option<Tree> {
    if text.len() > MAX_TEXT {
        return None;
    }
    let mut steps = 0;
    let mut go_on = |state: &ParseState| {
        steps += 1;
        if steps > SPARE_STEPS + state.current_byte_offset() / BYTES_PER_STEP {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut go_on);
    let mut rest = |at: usize, _| text.get(at..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut rest, None, Some(options));
    // Otherwise the next parse would continue this one.
    parser.reset();
    tree
}
