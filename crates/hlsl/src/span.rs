//! Places: in the expanded text the parser sees, and in the files people edit.

use serde::{Deserialize, Serialize};

use crate::text::Text;

/// A byte range of the *expanded* text of one translation unit.
///
/// [`crate::Origins`] maps it to the file it came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    /// The smallest span that holds both.
    #[must_use]
    pub fn to(self, other: Span) -> Span {
        Span {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }

    /// The bytes of `text` under this span; empty where the span leaves the text.
    #[must_use]
    pub fn slice(self, text: &[u8]) -> &[u8] {
        text.get(self.start as usize..self.end as usize)
            .unwrap_or_default()
    }
}

/// Index of a file in [`crate::Sources`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileId(pub u32);

/// A byte range of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileSpan {
    pub file: FileId,
    pub start: u32,
    pub end: u32,
}

impl FileSpan {
    pub(crate) fn holds(self, other: FileSpan) -> bool {
        self.file == other.file && self.start <= other.start && other.end <= self.end
    }
}

/// One file of a translation unit, as its bytes were when it was read.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// The path as the caller or the include resolver named it.
    pub path: String,
    /// Raw bytes: real files are Latin-1 or Shift-JIS too.
    pub text: Text,
}

/// The files of one translation unit; the first is the one that was asked for.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    pub files: Vec<SourceFile>,
}

impl Sources {
    /// The file behind an id, if the id is one of these sources'.
    #[must_use]
    pub fn get(&self, id: FileId) -> Option<&SourceFile> {
        self.files.get(id.0 as usize)
    }
}

/// Something that could not be read, with its place. Never fatal: the rest goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    pub message: String,
    /// `None` where the whole translation unit is meant.
    pub place: Option<FileSpan>,
    pub cause: Cause,
}

impl Cause {
    /// Whether there is text that was not read or not understood. It may declare or define anything: all that is proved may be
    /// wrong then.
    #[must_use]
    pub fn hides_text(&self) -> bool {
        match self {
            Cause::Missing(_) | Cause::Name(_) | Cause::Text | Cause::Condition | Cause::Unread => true,
            Cause::Ambiguous | Cause::Run | Cause::Builds => false,
        }
    }
}

impl Problem {
    /// A problem with the text itself.
    #[must_use]
    pub fn new(message: String, place: Option<FileSpan>) -> Self {
        let cause = Cause::Text;
        Problem {
            message,
            place,
            cause,
        }
    }
}

/// Why something could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// An `#include` names a file that is not found.
    Missing(String),
    /// Several files are called what an `#include` names.
    Ambiguous,
    /// Nothing at hand declares or defines this name.
    Name(String),
    /// The text is not understood.
    Text,
    /// What an `#if` asks is not understood: nobody knows which text is read.
    Condition,
    /// Text that a compiler reads is not read: a file is too large, or not taken for a text.
    Unread,
    /// A kernel is not run to its end.
    Run,
    /// Builds are declared that were not read.
    Builds,
}
