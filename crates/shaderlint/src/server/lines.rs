//! Conversion of offsets in a text to the lines and characters that an editor counts, and back.

use lsp_types::{Position, PositionEncodingKind, Range};

/// The units that an editor counts in a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    #[default]
    Utf16,
}

impl Encoding {
    /// The best encoding that a client offers. Without an offer it is UTF-16.
    pub fn of(offered: Option<&[PositionEncodingKind]>) -> Encoding {
        if offered.is_some_and(|offered| offered.contains(&PositionEncodingKind::UTF8)) {
            Encoding::Utf8
        } else {
            Encoding::Utf16
        }
    }

    pub fn kind(self) -> PositionEncodingKind {
        match self {
            Encoding::Utf8 => PositionEncodingKind::UTF8,
            Encoding::Utf16 => PositionEncodingKind::UTF16,
        }
    }

    fn width(self, c: char) -> usize {
        match self {
            Encoding::Utf8 => c.len_utf8(),
            Encoding::Utf16 => c.len_utf16(),
        }
    }
}

/// Where the lines of a text begin.
#[derive(Clone, Debug)]
pub(super) struct Lines<'a> {
    text: &'a [u8],
    starts: Vec<usize>,
    encoding: Encoding,
}

impl<'a> Lines<'a> {
    pub fn new(text: &'a [u8], encoding: Encoding) -> Self {
        let mut starts = vec![0];
        for (offset, byte) in text.iter().enumerate() {
            // A line ends in `\n`, `\r\n` or `\r`.
            if *byte == b'\n' || (*byte == b'\r' && text.get(offset + 1) != Some(&b'\n')) {
                starts.push(offset + 1);
            }
        }
        Lines {
            text,
            starts,
            encoding,
        }
    }

    /// The number of the line that holds an offset, from 0.
    pub fn line_of(&self, offset: usize) -> usize {
        self.starts
            .partition_point(|start| *start <= offset)
            .saturating_sub(1)
    }

    /// The bytes of a line without its end.
    pub fn line(&self, number: usize) -> &'a [u8] {
        let start = self.starts.get(number).copied().unwrap_or(self.text.len());
        let end = self.starts.get(number + 1).copied().unwrap_or(self.text.len());
        let line = self.text.get(start..end).unwrap_or_default();
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        line.strip_suffix(b"\r").unwrap_or(line)
    }

    /// Where a line begins.
    pub fn start_of(&self, number: usize) -> usize {
        self.starts.get(number).copied().unwrap_or(self.text.len())
    }

    pub fn position(&self, offset: u32) -> Position {
        let offset = (offset as usize).min(self.text.len());
        let line = self.line_of(offset);
        let before = self.text.get(self.start_of(line)..offset).unwrap_or_default();
        let character: usize = widths(before, self.encoding).map(|(_, width)| width).sum();
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Position::new(number(line), number(character))
    }

    /// The range from one offset to another.
    pub fn range(&self, start: u32, end: u32) -> Range {
        Range::new(self.position(start), self.position(end))
    }

    /// The offset of a position. A position beyond the end of its line is the end of the line, and one beyond
    /// the last line is the end of the text.
    pub fn offset(&self, position: Position) -> usize {
        let line = position.line as usize;
        let (mut offset, mut left) = (self.start_of(line), position.character as usize);
        for (length, width) in widths(self.line(line), self.encoding) {
            if width > left {
                break;
            }
            left -= width;
            offset += length;
        }
        offset
    }
}

/// For each character of a text, its length in bytes and in the units of `encoding`. An invalid byte counts
/// as one of each.
fn widths(text: &[u8], encoding: Encoding) -> impl Iterator<Item = (usize, usize)> {
    text.utf8_chunks().flat_map(move |chunk| {
        let valid = chunk.valid().chars();
        let valid = valid.map(move |c| (c.len_utf8(), encoding.width(c)));
        valid.chain(chunk.invalid().iter().map(|_| (1, 1)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &[u8], encoding: Encoding, offset: u32, line: u32, character: u32) {
        let lines = Lines::new(text, encoding);
        assert_eq!(lines.position(offset), Position::new(line, character));
        assert_eq!(lines.offset(Position::new(line, character)), offset as usize);
    }

    #[test]
    fn offsets_are_positions_in_either_encoding() {
        let text = "a\u{e9}\u{1f600}b\r\nc\rd\n".as_bytes();
        check(text, Encoding::Utf8, 7, 0, 7);
        check(text, Encoding::Utf16, 7, 0, 4);
        check(text, Encoding::Utf16, 8, 0, 5);
        check(text, Encoding::Utf16, 10, 1, 0);
        check(text, Encoding::Utf16, 12, 2, 0);
        check(text, Encoding::Utf16, 14, 3, 0);
        check(b"\xe9x", Encoding::Utf16, 1, 0, 1);
        check(b"", Encoding::Utf8, 0, 0, 0);
    }

    #[test]
    fn positions_beyond_the_end_are_the_end() {
        let lines = Lines::new("a\u{1f600}\r\nb".as_bytes(), Encoding::Utf16);
        assert_eq!(lines.offset(Position::new(0, 99)), 5);
        // In the middle of a surrogate pair.
        assert_eq!(lines.offset(Position::new(0, 2)), 1);
        assert_eq!(lines.offset(Position::new(9, 9)), 8);
    }
}
