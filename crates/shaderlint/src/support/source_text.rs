//! Files as text that can be shown: lossy where they are not UTF-8, with a mapping of offsets.

use std::ops::Range;

use codespan_reporting::files::{Error, Files, line_starts};
use shaderlint_hlsl::{FileId, FileSpan, Sources};

/// A file's text as shown. Invalid UTF-8, and control characters that a terminal would act on, become U+FFFD.
pub(crate) struct SourceText {
    pub name: String,
    /// The name as shown to people, without control characters: they could end a line or act on a terminal.
    pub shown_name: String,
    text: String,
    lines: Vec<usize>,
    /// Where shown and actual offsets drift apart: (actual, shown), ascending in both.
    drift: Vec<(usize, usize)>,
}

impl SourceText {
    pub fn new(name: &str, bytes: &[u8]) -> Self {
        let mut text = String::with_capacity(bytes.len());
        let mut drift = Vec::new();
        let mut actual = 0;
        // A byte order mark has no column.
        if bytes.starts_with(b"\xef\xbb\xbf") {
            actual = 3;
            drift.push((3, 0));
        }
        for chunk in bytes.get(actual..).unwrap_or_default().utf8_chunks() {
            let mut replace = |text: &mut String, actual: &mut usize, length: usize| {
                text.push(char::REPLACEMENT_CHARACTER);
                *actual += length;
                drift.push((*actual, text.len()));
            };
            for character in chunk.valid().chars() {
                if character.is_control() && !matches!(character, '\n' | '\r' | '\t') {
                    replace(&mut text, &mut actual, character.len_utf8());
                } else {
                    text.push(character);
                    actual += character.len_utf8();
                }
            }
            if !chunk.invalid().is_empty() {
                replace(&mut text, &mut actual, chunk.invalid().len());
            }
        }
        SourceText {
            name: name.to_owned(),
            shown_name: name.replace(char::is_control, "\u{fffd}"),
            lines: line_starts(&text).collect(),
            text,
            drift,
        }
    }

    /// The shown offset of an actual one.
    fn shown(&self, offset: usize) -> usize {
        let last = self.drift.partition_point(|(actual, _)| *actual <= offset);
        let (actual, shown) = last
            .checked_sub(1)
            .and_then(|last| self.drift.get(last))
            .copied()
            .unwrap_or((0, 0));
        // An offset inside a replaced sequence may end up inside the replacement. The loop moves it back to
        // the start.
        let next = self.drift.get(last).map_or(self.text.len(), |(_, shown)| *shown);
        let mut offset = (shown + (offset - actual.min(offset)))
            .min(next)
            .min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        offset
    }

    /// Line and column of an actual offset, both from 1; the column in characters.
    pub fn place(&self, offset: u32) -> LineColumn {
        let offset = self.shown(offset as usize);
        let line = self
            .lines
            .partition_point(|start| *start <= offset)
            .saturating_sub(1);
        let start = self.lines.get(line).copied().unwrap_or(0);
        let column = self
            .text
            .get(start..offset)
            .map_or(0, |before| before.chars().count());
        LineColumn {
            line: line + 1,
            column: column + 1,
        }
    }
}

/// Line and column, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub(crate) struct LineColumn {
    pub line: usize,
    pub column: usize,
}

/// The files of one translation unit, as shown.
pub(crate) struct SourceTexts(Vec<SourceText>);

impl SourceTexts {
    pub fn new(sources: &Sources) -> Self {
        SourceTexts(
            sources
                .files
                .iter()
                .map(|file| SourceText::new(&file.path, &file.text))
                .collect(),
        )
    }

    pub fn get(&self, id: FileId) -> Option<&SourceText> {
        self.0.get(id.0 as usize)
    }

    /// The name of the file that holds a span.
    pub fn name(&self, span: FileSpan) -> &str {
        self.get(span.file).map_or("", |file| &file.name)
    }

    /// Where a span begins and ends.
    pub fn places(&self, span: FileSpan) -> (LineColumn, LineColumn) {
        let place = |offset: u32| {
            self.get(span.file)
                .map_or(LineColumn { line: 1, column: 1 }, |file| file.place(offset))
        };
        (place(span.start), place(span.end))
    }

    /// The shown range of a span.
    pub fn range(&self, span: FileSpan) -> Range<usize> {
        self.get(span.file).map_or(0..0, |file| {
            let start = file.shown(span.start as usize);
            start..file.shown(span.end as usize).max(start)
        })
    }
}

impl<'a> Files<'a> for SourceTexts {
    type FileId = FileId;
    type Name = &'a str;
    type Source = &'a str;

    fn name(&'a self, id: FileId) -> Result<&'a str, Error> {
        self.get(id)
            .map(|file| file.shown_name.as_str())
            .ok_or(Error::FileMissing)
    }

    fn source(&'a self, id: FileId) -> Result<&'a str, Error> {
        self.get(id)
            .map(|file| file.text.as_str())
            .ok_or(Error::FileMissing)
    }

    fn line_index(&'a self, id: FileId, byte_index: usize) -> Result<usize, Error> {
        let file = self.get(id).ok_or(Error::FileMissing)?;
        Ok(file
            .lines
            .partition_point(|start| *start <= byte_index)
            .saturating_sub(1))
    }

    fn line_range(&'a self, id: FileId, line_index: usize) -> Result<Range<usize>, Error> {
        let file = self.get(id).ok_or(Error::FileMissing)?;
        let start = file.lines.get(line_index).copied().ok_or(Error::LineTooLarge {
            given: line_index,
            max: file.lines.len().saturating_sub(1),
        })?;
        Ok(start..file.lines.get(line_index + 1).copied().unwrap_or(file.text.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], offset: u32, line: usize, column: usize) {
        let text = SourceText::new("a.hlsl", bytes);
        assert_eq!(
            text.place(offset),
            LineColumn { line, column },
            "{} in {:?}",
            offset,
            text.text
        );
    }

    #[test]
    fn columns_are_characters() {
        check(b"ab\ncd", 4, 2, 2);
        check("\u{e9}\u{20ac}x".as_bytes(), 5, 1, 3);
        check(b"", 0, 1, 1);
        check(b"ab", 99, 1, 3);
        check(b"ab\r\ncd", 4, 2, 1);
    }

    #[test]
    fn other_encodings_keep_their_places() {
        // Latin-1, then a Shift-JIS pair, then a terminal's escape.
        check(b"\xe9x\n\x83\x65y\n\x1b[31mz", 1, 1, 2);
        check(b"\xe9x\n\x83\x65y\n\x1b[31mz", 3, 2, 1);
        check(b"\xe9x\n\x83\x65y\n\x1b[31mz", 5, 2, 3);
        check(b"\xe9x\n\x83\x65y\n\x1b[31mz", 12, 3, 6);
        check(b"\xef\xbb\xbfx", 3, 1, 1);
        check(b"\xef\xbb\xbfx", 0, 1, 1);
    }

    #[test]
    fn every_offset_has_a_place() {
        let bytes: Vec<u8> = (0..=255).chain([0xe2, 0x82]).collect();
        let text = SourceText::new("a.hlsl", &bytes);
        for offset in 0..300 {
            let _ = text.place(offset);
        }
    }
}
