//! Text to [`Shader`]: preprocessor, tree-sitter parse, names, types, constants, entry points.
//!
//! **Invariants.** No I/O: included files come from [`Includes`]. No panic and no failure on any input: unreadable
//! text becomes a [`Problem`] with its place, and the rest of the unit is still read. This crate knows nothing about
//! lints.

#![forbid(unsafe_code)]

use std::cell::Cell;

mod edited;
mod explore;
mod intrinsic;
mod language;
mod lexical;
mod likeness;
mod lower;
mod memo;
mod method;
mod preprocess;
mod span;
mod text;
mod tree;
mod type_names;
mod types;
mod walk;

pub use edited::{Edited, Splice};
pub use explore::{Configuration, Define, Exploration, IsWanted};
pub use intrinsic::Intrinsic;
pub use language::Version;
pub use lexical::{TextProblem, declared_words};
pub use lower::parse;
pub use memo::Memo;
pub use method::{Counter, Method};
pub use preprocess::{
    Branch, Defined, Definition, Definitions, Directive, Directives, Extracts, Inactive, KernelVariant,
    KeywordSet, Origins, Preprocessed, Reach, TARGET_STAGE, Taken, blank_comments, comments, decode,
    directives, include_guard, is_cpp, keyword_sets, literal_end, may_spell, predefined, preprocess,
    unity_defines, without_dead_arms,
};
pub use span::{Cause, FileId, FileSpan, Problem, SourceFile, Sources, Span};
pub use text::{Derived, Text};
pub use tree::*;
pub use type_names::{is_type_name, type_name};
pub use types::{EnumId, ResourceKind, Scalar, StructId, Type};
pub use walk::{calls, expressions, statements};

/// The preprocessor's access to included files.
pub trait Includes {
    /// The file that `#include "path"` (or `<path>`, then `angled`) means: its path and bytes. `readers` are the
    /// paths of the files being read: the one with the `#include`, then the one that includes that, and so on up to
    /// the unit's root.
    fn resolve(&self, readers: &[&str], path: &str, angled: bool) -> Option<SourceFile>;
}

/// No included file is ever found.
pub struct NoIncludes;

impl Includes for NoIncludes {
    fn resolve(&self, _: &[&str], _: &str, _: bool) -> Option<SourceFile> {
        None
    }
}

/// Reads one translation unit: the file `path` with the text `text`, after the definitions `defines` (name, value).
///
/// Returns the problems as well, in no particular order.
#[must_use]
pub fn read(
    path: &str,
    text: impl Into<Text>,
    defines: &[(String, String)],
    includes: &dyn Includes,
) -> (Shader, Vec<Problem>) {
    let (unit, problems) = preprocess(path, text, defines, includes);
    read_preprocessed(unit, problems, None)
}

/// The part of a unit to read.
pub struct Wanted<'a> {
    /// Whether everything that begins in this file is wanted. In other files, only entry points are wanted, and
    /// whatever a wanted item names.
    pub file: &'a dyn Fn(FileId) -> bool,
    /// Nothing is wanted unless a word of the wanted items contains one of these.
    pub words: &'a [&'a [u8]],
    /// Whether the wanted items equal those of another unit, given their [`Shader::likeness`]. Then they are not read
    /// either.
    pub is_known: &'a dyn Fn(u64) -> bool,
}

/// The second half of [`read`], for callers that need other results of [`preprocess`] than the text, or that want
/// only a part: a kernel uses little of an engine's headers.
#[must_use]
pub fn read_preprocessed(
    mut unit: Preprocessed,
    mut problems: Vec<Problem>,
    wanted: Option<&Wanted<'_>>,
) -> (Shader, Vec<Problem>) {
    let text = std::mem::take(&mut unit.text);
    let is_root = |span: Span| {
        let start = Span {
            end: span.start + 1,
            ..span
        };
        let place = unit.origins.locate(start);
        place.is_none_or(|place| wanted.is_none_or(|wanted| (wanted.file)(place.file)))
    };
    let likeness = Cell::new(None);
    let is_known = |text: &[u8], lexed: &lexical::Lexed| {
        likeness.set(likeness::of(&unit, text, lexed));
        let known = likeness.get().zip(wanted);
        known.is_some_and(|(likeness, wanted)| (wanted.is_known)(likeness))
    };
    let wanted = wanted.map(|wanted| lexical::WantedText {
        is_root: &is_root,
        words: wanted.words,
        is_known: &is_known,
    });
    let (mut shader, unread) = lower::parse_wanted(text, wanted.as_ref(), unit.version);
    shader.likeness = likeness.get();
    shader.origins = unit.origins;
    shader.sources = unit.sources;
    shader.gaps = unit.gaps;
    shader.defined = unit.defined;
    shader.matrix_orders = unit.matrix_orders;
    shader.is_refused = unit.is_refused;
    shader.given = unit.given;
    let before = problems.len();
    for problem in unread {
        let place = shader.origins.locate(problem.span);
        // The problem with an unexpanded macro call already covers its name: one report suffices.
        let is_told = problems
            .iter()
            .take(before)
            .any(|told| told.place == place && place.is_some());
        if !is_told {
            let TextProblem { message, cause, .. } = problem;
            problems.push(Problem {
                message,
                place,
                cause,
            });
        }
    }
    (shader, problems)
}
