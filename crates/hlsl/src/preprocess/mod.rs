//! The C preprocessor: a file and its includes to one expanded text, and where each byte of that came from.
//!
//! Bytes, not characters: real shaders are Latin-1 and Shift-JIS too. A file is scanned once ([`mod@unit`]): text without
//! macros is copied in stretches and only words that may name a macro are looked at. Directives ([`directive`]) and
//! macro calls ([`call`], [`expand`]) are read token by token.
//!
//! **Invariants.** Nothing is fatal and nothing panics. Nothing recurses with the depth of the input beyond a fixed
//! limit, and every input ends in bounded time and memory: what goes over a limit is a [`Problem`] and the rest is
//! still read.

mod call;
mod condition;
mod dead;
mod defined;
mod directive;
mod expand;
mod lex;
mod macros;
mod names;
mod origins;
mod outline;
mod predefined;
mod text;
mod unit;
mod unity;

use serde::{Deserialize, Serialize};

use crate::language::Version;
use crate::span::{FileSpan, Problem, Sources};
use crate::text::Text;
use crate::{Includes, MatrixOrder};

pub use dead::{is_cpp, without_dead_arms};
pub use defined::Defined;
pub use lex::{blank_comments, comments, literal_end};
pub(crate) use lex::{is_word, words};
pub use origins::{Extracts, Origins};
pub(crate) use outline::WordsInCode;
pub use outline::{
    Definition, Definitions, Directive, Directives, Reach, directives, include_guard, may_spell,
};
pub(crate) use predefined::is_predefined;
pub use predefined::{TARGET_STAGE, predefined};
pub use text::decode;
pub use unity::{KernelVariant, KeywordSet, keyword_sets, unity_defines};

/// How deep `#include` nests.
const MAX_INCLUDE_DEPTH: usize = 64;
/// How often `#include` is followed in a unit. Fits `u16`, as does the number of files.
const MAX_INCLUSIONS: usize = 2_000;
/// Bytes of expanded text, and bytes of files scanned for it.
const MAX_TEXT: usize = 64 << 20;
/// Tokens handled for one outermost macro call, and for all calls of a unit.
const MAX_CALL_WORK: usize = 1 << 20;
const MAX_UNIT_WORK: usize = 1 << 25;
/// How deep macro calls nest in each other's arguments. This one costs stack.
const MAX_ARGUMENT_DEPTH: usize = 200;
/// How deep parentheses, `!` and `?:` nest in an `#if`. This one costs stack.
const MAX_CONDITION_DEPTH: usize = 200;
/// Problems told of one unit.
const MAX_PROBLEMS: usize = 1_000;
/// Characters of a problem's message, give or take.
const MAX_MESSAGE: usize = 400;
/// Stands for a file in braces that is not read.
pub(crate) const NOT_FOUND: &[u8] = b"__include_not_found();\n";

/// A translation unit after preprocessing.
#[derive(Clone, Debug, Default)]
pub struct Preprocessed {
    /// The expanded text: no directives and comments, all macros expanded. Every [`crate::Span`] is a range of it.
    pub text: Vec<u8>,
    pub origins: Origins,
    /// The files read, the one asked for first.
    pub sources: Sources,
    /// The regions that an `#if` left out in this configuration, in order of the scan. Regions inside such a region
    /// are not listed, nor are those that another inclusion of the same file took in (as under an include guard).
    pub inactive: Vec<Inactive>,
    /// Where in the text files would stand that were not found, or not followed.
    pub gaps: Vec<u32>,
    /// Which macros are defined where.
    pub defined: Defined,
    /// Each `#pragma pack_matrix` with the place in the text from which on it holds, in order.
    pub matrix_orders: Vec<(u32, MatrixOrder)>,
    /// What the file asked for names by `#pragma kernel`, in its order, by what is defined for it. Those of includes do not
    /// count.
    pub kernels: Vec<KernelVariant>,
    /// An `#error` stands in it.
    pub is_refused: bool,
    /// What is defined from outside of the files: name and value.
    pub given: Vec<(String, String)>,
    /// The version of HLSL that the unit is to be read as. The preprocessor leaves it open, for who calls it knows what
    /// `-HV` and the shader model say.
    pub version: Option<Version>,
}

/// A region of a file that conditional compilation left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Inactive {
    /// From the line after the directive that opens it to the line of the directive that closes it.
    pub region: FileSpan,
    /// What `opened_by` asks: `X > 1` of `#if X > 1`, the name of `#ifdef`. For an `#else` that of the `#if` it
    /// belongs to.
    pub condition: FileSpan,
    pub opened_by: Branch,
    /// The region of the same `#if` that was taken instead, if one was.
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
/// `("NAME", "1")`. The problems are in order of the scan. A file included twice tells its problems once.
#[must_use]
pub fn preprocess(
    path: &str,
    text: impl Into<Text>,
    defines: &[(String, String)],
    includes: &dyn Includes,
) -> (Preprocessed, Vec<Problem>) {
    unit::Unit::new(includes).run(path, &text.into(), defines)
}
