//! Whether two readings of a file are equal.
//!
//! A file is read under several sets of definitions, for each includes regions that no other does. Most regions are
//! in headers, in functions that the file does not need ([`crate::Wanted`]). Then the remaining text is the same,
//! token for token and place for place, and so are all findings.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::lexical::Lexed;
use crate::preprocess::Preprocessed;
use crate::span::{FileSpan, Span};

/// A hash of the wanted part of a unit: of the text of its items, of their places, and of the left-out regions inside
/// them, for the same text may come from another arm of an `#if`. `None` if something else may matter. `text` is the
/// unit's text.
///
/// Two units of one file with the same hash have the same reading, up to names that no needed item has.
pub(crate) fn of(unit: &Preprocessed, text: &[u8], lexed: &Lexed) -> Option<u64> {
    // The pragmas take effect at places of the text that other units move.
    if !unit.matrix_orders.is_empty() {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    for file in &unit.sources.files {
        file.path.hash(&mut hasher);
    }
    (unit.is_refused, unit.version).hash(&mut hasher);
    for gap in &unit.gaps {
        let (start, end) = (*gap, *gap);
        unit.origins.locate(Span { start, end })?.hash(&mut hasher);
    }
    let mut left_out: Vec<FileSpan> = unit.inactive.iter().map(|inactive| inactive.region).collect();
    left_out.sort_unstable();
    for item in &lexed.items {
        let (span, place) = (item.whole(), unit.origins.locate(item.whole())?);
        place.hash(&mut hasher);
        // The place of a left-out body suffices: nothing can call what it contains.
        let mut unread: Vec<FileSpan> = Vec::new();
        let mut start = span.start;
        for body in lexed.unread_bodies_in(span) {
            let part = Span {
                start,
                end: body.start,
            };
            (part.slice(text), part.slice(&lexed.blank)).hash(&mut hasher);
            start = body.end;
            unread.push(unit.origins.locate(*body)?);
        }
        let part = Span { start, ..span };
        (part.slice(text), part.slice(&lexed.blank), &unread).hash(&mut hasher);
        let namespace = lexed.namespaces.get(item.namespace as usize);
        (namespace, item.in_buffer).hash(&mut hasher);
        // The arms of an `#if` inside the item begin in it.
        let first =
            left_out.partition_point(|region| (region.file, region.start) < (place.file, place.start));
        let last = left_out.partition_point(|region| (region.file, region.start) < (place.file, place.end));
        for region in left_out.get(first..last).unwrap_or_default() {
            if !unread.iter().any(|body| body.holds(*region)) {
                region.hash(&mut hasher);
            }
        }
    }
    Some(hasher.finish())
}
