//! A file's bytes prepared for the scanner: decoded, with continued lines joined.

use std::cell::OnceCell;
use std::sync::Arc;

use crate::span::{FileId, FileSpan};
use crate::text::{Derived, Text};

use super::lex::{is_newline, past_newline};

/// The bytes that a [`crate::SourceFile`] holds for a file. They are unchanged, except that UTF-16 with a byte order
/// mark becomes UTF-8 without the mark. `None` for a binary file.
#[must_use]
pub fn decode(bytes: &[u8]) -> Option<Text> {
    match of_mark(bytes) {
        Some(unit) => of_utf16(bytes, unit),
        None if bytes.contains(&0) => without_zeros(bytes),
        None => Some(bytes.into()),
    }
}

/// The bytes with each zero byte replaced by a blank, as compilers read them. `None` if many bytes are zero: then it
/// is no text.
fn without_zeros(bytes: &[u8]) -> Option<Text> {
    let zeros = bytes.split(|byte| *byte == 0).count() - 1;
    let blank = |byte: &u8| if *byte == 0 { b' ' } else { *byte };
    (zeros * 16 <= bytes.len()).then(|| bytes.iter().map(blank).collect::<Vec<u8>>().into())
}

/// [`decode`] for a text. It copies nothing if nothing changes.
pub(super) fn decoded(text: &Text) -> Option<Text> {
    match of_mark(text) {
        Some(unit) => of_utf16(text, unit),
        None if text.contains(&0) => without_zeros(text),
        None => Some(text.clone()),
    }
}

/// How to read units of UTF-16, according to the byte order mark.
fn of_mark(bytes: &[u8]) -> Option<fn([u8; 2]) -> u16> {
    match bytes {
        [0xff, 0xfe, ..] => Some(u16::from_le_bytes),
        [0xfe, 0xff, ..] => Some(u16::from_be_bytes),
        _ => None,
    }
}

fn of_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<Text> {
    let units = bytes
        .chunks_exact(2)
        .skip(1)
        .filter_map(|pair| pair.try_into().ok().map(unit));
    let text: String = char::decode_utf16(units)
        .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    (!text.contains('\0')).then(|| text.into_bytes().into())
}

/// From the joined position `at` on, a file position is `removed` bytes further along.
struct Splice {
    at: usize,
    removed: usize,
}

/// A text without its backslash-newlines.
struct Joined {
    /// `None` if it has none.
    text: Option<Vec<u8>>,
    splices: Vec<Splice>,
}

impl Derived for Joined {
    fn of(raw: &Text) -> Self {
        let (mut text, splices) = join(raw);
        let plain = text.as_deref().unwrap_or(raw);
        if let Some(spelled) = with_plain_spellings(plain) {
            text = Some(spelled);
        }
        Joined { text, splices }
    }
}

/// A file as the scanner sees it. Its positions are those of the joined text; [`SourceText::place`] gives the file's.
pub(super) struct SourceText {
    pub id: FileId,
    raw: Text,
    joined: Arc<Joined>,
    /// The starts of all lines but the first, in the file. Only `__LINE__` needs them.
    line_starts: OnceCell<Vec<u32>>,
}

impl SourceText {
    pub fn new(id: FileId, raw: Text) -> Self {
        SourceText {
            id,
            joined: raw.derived(),
            raw,
            line_starts: OnceCell::new(),
        }
    }

    pub fn bytes(&self) -> &[u8] {
        self.joined.text.as_deref().unwrap_or(&self.raw)
    }

    /// Where the text begins: after a UTF-8 byte order mark.
    pub fn start(&self) -> usize {
        if self.raw.starts_with(b"\xef\xbb\xbf") {
            3
        } else {
            0
        }
    }

    /// File position of the byte at `at`.
    pub fn file_start(&self, at: usize) -> u32 {
        offset(at + self.removed_before(at))
    }

    /// File position just after the byte before `at`. It differs from [`SourceText::file_start`] if lines are joined
    /// at `at`.
    pub fn file_end(&self, at: usize) -> u32 {
        match at.checked_sub(1) {
            Some(last) => offset(at + self.removed_before(last)),
            None => 0,
        }
    }

    pub fn place(&self, start: usize, end: usize) -> FileSpan {
        let from = self.file_start(start);
        FileSpan {
            file: self.id,
            start: from,
            end: self.file_end(end).max(from),
        }
    }

    fn removed_before(&self, at: usize) -> usize {
        let count = self.joined.splices.partition_point(|splice| splice.at <= at);
        let last = count
            .checked_sub(1)
            .and_then(|index| self.joined.splices.get(index));
        last.map_or(0, |splice| splice.removed)
    }

    /// The joins strictly inside `start..end`, in order.
    pub fn joins(&self, start: usize, end: usize) -> impl Iterator<Item = usize> {
        let first = self.joined.splices.partition_point(|splice| splice.at <= start);
        let inside = self.joined.splices.get(first..).unwrap_or_default();
        inside
            .iter()
            .map(|splice| splice.at)
            .take_while(move |&at| at < end)
    }

    /// The number, from 1, of the line with this position of the file.
    pub fn line(&self, file_position: u32) -> usize {
        let starts = self.line_starts.get_or_init(|| {
            let mut starts = Vec::new();
            let mut at = 0;
            while let Some(&byte) = self.raw.get(at) {
                let next = self.raw.get(at + 1).copied();
                // As Clang counts them, `\n\r` ends one line, too.
                let is_pair = byte == b'\n' && next == Some(b'\r');
                at = past_newline(&self.raw, at).max(at + 1) + usize::from(is_pair);
                if is_newline(byte) {
                    starts.push(offset(at));
                }
            }
            starts
        });
        starts.partition_point(|&start| start <= file_position) + 1
    }
}

/// A position as a number. It fits, because files beyond the limits of [`super`] are not read.
pub(super) fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// The character that `\u00e9` or `\U000000e9` at the start of the bytes stands for in a name, and their number (C11 6.4.3).
fn universal_name(bytes: &[u8]) -> Option<(char, usize)> {
    let digits = match bytes {
        [b'\\', b'u', ..] => bytes.get(2..6)?,
        [b'\\', b'U', ..] => bytes.get(2..10)?,
        _ => return None,
    };
    let number = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    let character = char::from_u32(number).filter(|character| !character.is_ascii())?;
    Some((character, 2 + digits.len()))
}

/// Whether an odd number of double quotes stands before this place of its line.
fn is_in_literal(raw: &[u8], at: usize) -> bool {
    let before = raw.get(..at).unwrap_or_default();
    let quotes = before.iter().rev().take_while(|&&byte| !is_newline(byte));
    quotes.filter(|&&byte| byte == b'"').count() % 2 == 1
}

/// The text with what each digraph stands for (C++ 2.5, as in DXC), and with blanks for Unicode's blanks, as in DXC. Lengths do not
/// change. `None` if the text has neither.
fn with_plain_spellings(text: &[u8]) -> Option<Vec<u8>> {
    let mut plain: Option<Vec<u8>> = None;
    let mut put = |at: usize, spelled: &[u8]| {
        let plain = plain.get_or_insert_with(|| text.to_vec());
        if let Some(place) = plain.get_mut(at..at + spelled.len()) {
            place.copy_from_slice(spelled);
        }
    };
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let spelled: &[u8] = match rest {
            [b'%', b':', b'%', b':', ..] => b"##  ",
            [b'%', b':', ..] => b"# ",
            [b'%', b'>', ..] => b"} ",
            [b'<', b'%', ..] => b"{ ",
            [b':', b'>', ..] => b"] ",
            // `<::` is `<` and `::`.
            [b'<', b':', next, ..] if *next != b':' => b"[ ",
            _ => &[],
        };
        if !spelled.is_empty() {
            put(at, spelled);
        }
        at += spelled.len().max(1);
    }
    if let Some(shown) = std::str::from_utf8(text).ok().filter(|text| !text.is_ascii()) {
        let is_blank =
            |character: char| !character.is_ascii() && (character.is_whitespace() || character == '\u{180e}');
        for (at, blank) in shown.char_indices().filter(|(_, character)| is_blank(*character)) {
            put(at, b"   ".get(..blank.len_utf8()).unwrap_or_default());
        }
    }
    plain
}

/// The start of the next line, if this backslash continues its line. As in every compiler, blanks may stand between the backslash
/// and the newline.
///
/// The second byte of a Shift-JIS character may be a backslash. At the end of a comment it must not swallow the line below.
/// `is_utf8` caches whether the text is UTF-8.
pub(super) fn next_line(raw: &[u8], backslash: usize, is_utf8: &mut Option<bool>) -> Option<usize> {
    let line_end = super::lex::blanks_end(raw, backslash + 1);
    let next_line = Some(past_newline(raw, line_end)).filter(|next| *next > line_end)?;
    let lead = backslash.checked_sub(1).and_then(|before| raw.get(before));
    let is_character = matches!(lead, Some(0x81..=0x9f | 0xe0..=0xfc))
        && !*is_utf8.get_or_insert_with(|| std::str::from_utf8(raw).is_ok());
    (!is_character).then_some(next_line)
}

/// `raw` without its continued line ends, if it has any.
fn join(raw: &[u8]) -> (Option<Vec<u8>>, Vec<Splice>) {
    let mut joined: Option<Vec<u8>> = None;
    let mut splices = Vec::new();
    let mut copied = 0;
    let mut at = 0;
    let mut is_utf8 = None;
    let rest = |from: usize| raw.get(from..).unwrap_or_default();
    while let Some(length) = rest(at).iter().position(|&byte| byte == b'\\') {
        let backslash = at + length;
        if let Some((character, length)) = universal_name(rest(backslash))
            && !is_in_literal(raw, backslash)
        {
            at = backslash + length;
            let text = joined.get_or_insert_with(|| Vec::with_capacity(raw.len()));
            text.extend_from_slice(raw.get(copied..backslash).unwrap_or_default());
            text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            copied = at;
            splices.push(Splice {
                at: text.len(),
                removed: at - text.len(),
            });
            continue;
        }
        let Some(next_line) = next_line(raw, backslash, &mut is_utf8) else {
            at = backslash + 1;
            continue;
        };
        at = next_line;
        let text = joined.get_or_insert_with(|| Vec::with_capacity(raw.len()));
        text.extend_from_slice(raw.get(copied..backslash).unwrap_or_default());
        copied = at;
        // Two joins in a row are one.
        if splices.last().is_some_and(|last: &Splice| last.at == text.len()) {
            splices.pop();
        }
        splices.push(Splice {
            at: text.len(),
            removed: at - text.len(),
        });
    }
    if let Some(text) = &mut joined {
        text.extend_from_slice(rest(copied));
    }
    (joined, splices)
}
