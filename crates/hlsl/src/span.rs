//! Places in the expanded text, which the parser sees, and in files, which people edit.

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

    /// The bytes of `text` in this span; empty if the span exceeds the text.
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

    /// Whether it begins in `region`.
    #[must_use]
    pub fn begins_in(self, region: FileSpan) -> bool {
        region.file == self.file && (region.start..region.end).contains(&self.start)
    }
}

/// One file of a translation unit, with its bytes when it was read.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// The path as the caller or the include resolver named it.
    pub path: String,
    /// Raw bytes: some real files are Latin-1 or Shift-JIS.
    pub text: Text,
}

/// The files of one translation unit, the root file first.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    pub files: Vec<SourceFile>,
}

impl Sources {
    /// The file with this id, if it is one of these.
    #[must_use]
    pub fn get(&self, id: FileId) -> Option<&SourceFile> {
        self.files.get(id.0 as usize)
    }

    /// The id of the file at exactly this path.
    #[must_use]
    pub fn id_of(&self, path: &str) -> Option<FileId> {
        let mut files = (0..).map(FileId).zip(&self.files);
        files.find(|(_, file)| file.path == path).map(|(id, _)| id)
    }

    /// The text at a place; empty if there is no such place.
    #[must_use]
    pub fn text(&self, place: FileSpan) -> &[u8] {
        let text = self.get(place.file).map(|file| &file.text);
        text.and_then(|text| text.get(place.start as usize..place.end as usize))
            .unwrap_or_default()
    }
}

/// Something that could not be read, with its place. It is never fatal: the rest is still read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    pub message: String,
    /// `None` if it concerns the whole translation unit.
    pub place: Option<FileSpan>,
    pub cause: Cause,
}

impl Cause {
    /// Whether text was not read or not understood. Such text may declare or define anything, so any proof may be
    /// wrong.
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
    /// Several files match an `#include`.
    Ambiguous,
    /// No file at hand declares or defines this name.
    Name(String),
    /// The text is not understood.
    Text,
    /// The condition of an `#if` is not understood, so the compiled text is unknown.
    Condition,
    /// A text that compilers read was not read: the file is too large, or does not look like text.
    Unread,
    /// A kernel did not run to its end.
    Run,
    /// There are declared builds that were not read.
    Builds,
}
