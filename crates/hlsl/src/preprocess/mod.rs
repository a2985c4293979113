//! The C preprocessor: it turns a file and its includes into one expanded text, and records where each byte came from.
//!
//! It works on bytes, not characters: real shaders are Latin-1 and Shift-JIS too. It scans a file once ([`scan`]), copies text
//! without macros in stretches, and looks only at words that may name a macro. It reads directives ([`directive`]) and macro
//! calls ([`call`], [`expand`]) token by token.
//!
//! The modules build on each other in this order:
//!
//! 1. [`lex`], [`mod@text`], [`mod@comments`], [`token`]: bytes and tokens
//! 2. [`outline`], [`dead`], [`definitions`], [`unity`]: what the directives of a file say under any configuration
//! 3. [`macros`], [`names`], [`condition`], [`expansion`]: the macros of a unit, and a condition's value
//! 4. [`mod@unit`]: the state of one run
//! 5. [`expand`], [`call`], [`directive`]: the steps of a run. They call each other, for a directive may stand among the
//!    arguments of a macro call, and its line is expanded in turn.
//! 6. [`scan`]: a run
//!
//! **Invariants.** Nothing is fatal and nothing panics. Recursion is limited, whatever the depth of the input, and every input
//! ends in bounded time and memory: what goes over a limit is a [`Problem`], and the preprocessor still reads the rest.

mod call;
mod comments;
mod condition;
mod dead;
mod defined;
mod definitions;
mod directive;
mod expand;
mod expansion;
mod lex;
mod macros;
mod names;
mod origins;
mod outline;
mod predefined;
mod scan;
mod text;
mod token;
mod unit;
mod unity;

use serde::{Deserialize, Serialize};

use crate::language::Version;
use crate::span::{FileSpan, Problem, Sources};
use crate::text::Text;
use crate::{Includes, MatrixOrder};

pub use comments::{blank_comments, comments};
pub use dead::{is_cpp, without_dead_arms};
pub use defined::Defined;
pub(crate) use definitions::WordsInCode;
pub use definitions::{Definition, Definitions, Reach, may_spell};
pub use lex::literal_end;
pub(crate) use lex::{is_word, words};
pub use origins::{Extracts, Origins};
pub use outline::{Directive, Directives, directives, include_guard};
pub(crate) use predefined::is_predefined;
pub use predefined::{TARGET_STAGE, predefined};
pub use text::decode;
pub use unity::{KernelVariant, KeywordSet, keyword_sets, unity_defines};

/// The maximum depth of `#include`.
const MAX_INCLUDE_DEPTH: usize = 64;
/// The maximum of includes followed in a unit. Fits `u16`, as does the number of files.
const MAX_INCLUSIONS: usize = 2_000;
/// The maximum of bytes in the expanded text, and of bytes scanned in files.
const MAX_TEXT: usize = 64 << 20;
/// The maximum of tokens handled for one outermost macro call, and for all calls of a unit.
const MAX_CALL_WORK: usize = 1 << 20;
const MAX_UNIT_WORK: usize = 1 << 25;
/// The maximum depth of macro calls in each other's arguments. It is limited by the stack.
const MAX_ARGUMENT_DEPTH: usize = 200;
/// The maximum depth of parentheses, `!` and `?:` in an `#if`. It is limited by the stack.
const MAX_CONDITION_DEPTH: usize = 200;
/// The maximum of problems reported for one unit.
const MAX_PROBLEMS: usize = 1_000;
/// The approximate maximum of characters in a problem's message.
const MAX_MESSAGE: usize = 400;
/// Inside braces, stands for a file that is not read.
pub(crate) const NOT_FOUND: &[u8] = b"__include_not_found();\n";

/// A translation unit after preprocessing.
#[derive(Clone, Debug, Default)]
pub struct Preprocessed {
    /// The expanded text: no directives and comments, all macros expanded. Every [`crate::Span`] is a range of it.
    pub text: Vec<u8>,
    pub origins: Origins,
    /// The files that were read, the root file first.
    pub sources: Sources,
    /// The regions that an `#if` left out in this configuration, in scan order. The list has no region inside another
    /// one, and no region that another inclusion of the same file took (as under an include guard).
    pub inactive: Vec<Inactive>,
    /// The places in the text where a file is missing, because it was not found or not followed.
    pub gaps: Vec<u32>,
    /// The macros that are defined at each place of the text.
    pub defined: Defined,
    /// Each `#pragma pack_matrix` with the place in the text where it takes effect, in order.
    pub matrix_orders: Vec<(u32, MatrixOrder)>,
    /// The kernels that the root file declares with `#pragma kernel`, in order, grouped by their definitions. Includes do not count.
    pub kernels: Vec<KernelVariant>,
    /// The configuration reached an `#error`.
    pub is_refused: bool,
    /// The definitions from outside of the files: name and value.
    pub given: Vec<(String, String)>,
    /// The version of HLSL to read the unit as. The preprocessor leaves it to its caller, who knows `-HV` and the shader model.
    pub version: Option<Version>,
}

/// A region of a file that conditional compilation left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Inactive {
    /// From the line after the directive that opens it to the line of the directive that closes it.
    pub region: FileSpan,
    /// The condition of `opened_by`: `X > 1` of `#if X > 1`, the name of `#ifdef`. An `#else` has the condition of its `#if`.
    pub condition: FileSpan,
    pub opened_by: Branch,
    /// The region of the same `#if` that was taken instead, if any.
    pub taken: Option<Taken>,
}

/// A region of a file that conditional compilation took in. The fields are those of [`Inactive`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Taken {
    pub region: FileSpan,
    pub condition: FileSpan,
    pub opened_by: Branch,
}

/// A directive that opens a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Branch {
    If,
    Ifdef,
    Ifndef,
    Elif,
    Elifdef,
    Elifndef,
    Else,
}

/// Preprocesses the file `path` that holds `text`.
///
/// `defines` are macros defined before it: name (or `NAME(parameters)`) and value; `-D NAME` means
/// `("NAME", "1")`. The problems are in scan order. A file that is included twice reports its problems once.
#[must_use]
pub fn preprocess(
    path: &str,
    text: impl Into<Text>,
    defines: &[(String, String)],
    includes: &dyn Includes,
) -> (Preprocessed, Vec<Problem>) {
    unit::Unit::new(includes).run(path, &text.into(), defines)
}
