//! The origin of each byte of the expanded text, and the output that records it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::span::{FileId, FileSpan, Span};

use super::text::offset;

/// `Segment::call` of text copied unchanged.
const VERBATIM: u32 = u32::MAX;
/// `Segment::call` of a blank that the preprocessor inserted, also for a comment.
const GAP: u32 = u32::MAX - 1;
/// `Segment::source` of a token that no file spells, such as a pasted one.
const NOWHERE: u16 = u16::MAX;

/// A run of expanded text, up to the start of the next segment.
#[derive(Clone, Copy, Debug)]
struct Segment {
    /// Start in the expanded text.
    at: u32,
    /// Start in the file.
    start: u32,
    /// Index into `calls`, or `VERBATIM` or `GAP`.
    call: u32,
    /// The inclusion for `VERBATIM` and `GAP`. In a call, the [`FileId`] of the file that spells the text, in a
    /// definition or in the call's own arguments.
    source: u16,
    /// A directive or the boundary of an included file precedes it directly.
    broken: bool,
}

/// An outermost macro call as written, with its arguments.
#[derive(Clone, Copy, Debug)]
struct Call {
    inclusion: u16,
    /// There is a directive among its arguments.
    broken: bool,
    start: u32,
    end: u32,
    /// Its expansion, in the expanded text.
    expansion: Span,
}

/// One inclusion of a file.
#[derive(Clone, Copy, Debug)]
struct Inclusion {
    file: FileId,
    parent: u16,
    /// The `#include` in the parent's file.
    start: u32,
    end: u32,
}

/// The origin of each byte of the expanded text.
///
/// A table of segments sorted by their place in the expanded text. A segment is a run copied verbatim, or a piece of
/// a macro expansion with the call as written and, if there is one, the place in the macro's definition.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    segments: Vec<Segment>,
    calls: Vec<Call>,
    inclusions: Vec<Inclusion>,
    /// Length of the expanded text.
    length: u32,
}

/// A range of the file of an inclusion.
#[derive(Clone, Copy, Debug, Hash, Serialize, Deserialize)]
struct Range {
    inclusion: u16,
    start: u32,
    end: u32,
}

/// The parts of one file that an expanded text contains.
#[derive(Clone, Debug, Default, Hash, Serialize, Deserialize)]
pub struct Extracts(Vec<Range>);

impl Extracts {
    /// In how many inclusions of the file something between these bytes is in the expanded text.
    #[must_use]
    pub fn times(&self, start: u32, end: u32) -> usize {
        let ranges = self
            .0
            .iter()
            .filter(|range| range.start < end && start < range.end);
        let inclusions: BTreeSet<u16> = ranges.map(|range| range.inclusion).collect();
        inclusions.len()
    }
}

impl Origins {
    /// The file range of `span`. It is exact for text copied unchanged. Otherwise it is the macro call that `span`
    /// was expanded from, or the place in that call's arguments if they contain all of `span`. If `span` crosses an
    /// include boundary, it is the range of the including file, with the `#include`. `None` for an empty table and
    /// for a span outside of the text.
    #[must_use]
    pub fn locate(&self, span: Span) -> Option<FileSpan> {
        let segments = self.segments_in(span)?;
        if let Some(place) = self.argument(segments, span) {
            return Some(place);
        }
        let first = self.range(segments.first()?, span.start)?;
        let last = self.range(segments.last()?, span.end.saturating_sub(1).max(span.start))?;
        let (mut from, mut to) = (first, last);
        // A parent has a smaller index than its children.
        while from.inclusion != to.inclusion {
            if from.inclusion > to.inclusion {
                from = self.include_of(from)?;
            } else {
                to = self.include_of(to)?;
            }
        }
        let start = from.start.min(to.start);
        // An empty span has an empty range.
        let is_point = span.start >= span.end && matches!(segments, [segment] if segment.call == VERBATIM);
        let end = if is_point { start } else { from.end.max(to.end) };
        let file = self.inclusions.get(usize::from(from.inclusion))?.file;
        Some(FileSpan { file, start, end })
    }

    /// Whether a macro call straddles an end of `span`, or holds all of it.
    #[must_use]
    pub fn is_cut_from_macro(&self, span: Span) -> bool {
        let segments = self.segments_in(span).unwrap_or_default();
        let mut calls = segments
            .iter()
            .filter_map(|segment| self.calls.get(segment.call as usize));
        calls.any(|call| call.broken || call.expansion.start < span.start || call.expansion.end > span.end)
    }

    /// `span`, extended by the expansions of the macro calls that straddle its ends.
    #[must_use]
    pub fn whole_calls(&self, span: Span) -> Span {
        let segments = self.segments_in(span).unwrap_or_default();
        let calls = segments
            .iter()
            .filter_map(|segment| self.calls.get(segment.call as usize));
        calls.fold(span, |whole, call| whole.to(call.expansion))
    }

    /// How often a file is read: once for each `#include` of it, and once for the root file.
    #[must_use]
    pub fn times_read(&self, file: FileId) -> usize {
        self.inclusions
            .iter()
            .filter(|inclusion| inclusion.file == file)
            .count()
    }

    /// Like [`Origins::locate`], but only if an edit of the file range would replace exactly the text of `span`: both
    /// ends are in one file outside of any macro body, no macro call straddles an end, and no directive or include is
    /// between them. Whole macro calls and comments inside are fine.
    #[must_use]
    pub fn editable(&self, span: Span) -> Option<FileSpan> {
        self.in_one_file(span, false)
    }

    /// As [`Origins::editable`], but directives may be between the ends: the range may then have text that is not part
    /// of the expanded text.
    #[must_use]
    pub fn editable_with_directives(&self, span: Span) -> Option<FileSpan> {
        self.in_one_file(span, true)
    }

    fn in_one_file(&self, span: Span, has_directives: bool) -> Option<FileSpan> {
        let segments = self.segments_in(span)?;
        let (first, last) = (segments.first()?, segments.last()?);
        for segment in segments {
            if segment.broken && segment.at > span.start && !has_directives {
                return None;
            }
            let call = self.calls.get(segment.call as usize);
            if call.is_some_and(|call| {
                call.broken || call.expansion.start < span.start || call.expansion.end > span.end
            }) {
                return None;
            }
        }
        let from = self.range(first, span.start)?;
        let to = self.range(last, span.end.saturating_sub(1).max(span.start))?;
        let file = self.inclusions.get(usize::from(from.inclusion))?.file;
        let end = if span.start >= span.end {
            from.start
        } else {
            to.end
        };
        (from.inclusion == to.inclusion && from.start <= end).then_some(FileSpan {
            file,
            start: from.start,
            end,
        })
    }

    /// The segments with a byte of `span`; for an empty span, the segment at its place.
    fn segments_in(&self, span: Span) -> Option<&[Segment]> {
        if span.start.max(span.end) > self.length {
            return None;
        }
        let first = self
            .segments
            .partition_point(|segment| segment.at <= span.start)
            .checked_sub(1)?;
        let end = self
            .segments
            .partition_point(|segment| segment.at < span.end)
            .max(first + 1);
        self.segments.get(first..end)
    }

    /// The file range of the byte at `at` of this segment.
    fn range(&self, segment: &Segment, at: u32) -> Option<Range> {
        let here = |start: u32, length: u32| Range {
            inclusion: segment.source,
            start,
            end: start.saturating_add(length),
        };
        match segment.call {
            VERBATIM => Some(here(
                segment.start.saturating_add(at.saturating_sub(segment.at)),
                1,
            )),
            GAP => Some(here(segment.start, 0)),
            call => self.calls.get(call as usize).map(|call| Range {
                inclusion: call.inclusion,
                start: call.start,
                end: call.end,
            }),
        }
    }

    /// The parts of a file in the expanded text `text`.
    #[must_use]
    pub fn extracts(&self, text: &[u8], file: FileId) -> Extracts {
        let ends = self.segments.iter().skip(1).map(|next| next.at);
        let segments = self.segments.iter().zip(ends.chain([self.length]));
        let pieces = segments.filter_map(|(segment, end)| {
            let range = match segment.call {
                GAP => return None,
                VERBATIM => {
                    // Of left-out text, only the line ends remain.
                    let piece = text.get(segment.at as usize..end as usize)?;
                    let first = offset(piece.iter().position(|byte| !byte.is_ascii_whitespace())?);
                    let length = offset(piece.trim_ascii_end().len());
                    Range {
                        inclusion: segment.source,
                        start: segment.start.saturating_add(first),
                        end: segment.start.saturating_add(length),
                    }
                }
                _ => self.range(segment, segment.at)?,
            };
            let inclusion = self.inclusions.get(usize::from(range.inclusion))?;
            (inclusion.file == file).then_some(range)
        });
        Extracts(pieces.collect())
    }

    /// Whether a file is read inside of itself, by an `#include` of its own or of a file that it includes.
    #[must_use]
    pub fn is_within_itself(&self, file: FileId) -> bool {
        self.inclusions.iter().enumerate().any(|(number, inclusion)| {
            let (mut number, mut inclusion) = (number, inclusion);
            let inner = inclusion.file == file;
            while inner
                && usize::from(inclusion.parent) < number
                && let Some(parent) = self.inclusions.get(usize::from(inclusion.parent))
            {
                (number, inclusion) = (usize::from(inclusion.parent), parent);
                if inclusion.file == file {
                    return true;
                }
            }
            false
        })
    }

    fn include_of(&self, range: Range) -> Option<Range> {
        let inclusion = self.inclusions.get(usize::from(range.inclusion))?;
        // The root is its own parent.
        (inclusion.parent < range.inclusion).then_some(Range {
            inclusion: inclusion.parent,
            start: inclusion.start,
            end: inclusion.end,
        })
    }

    /// The place in a call's arguments that has all of `span`.
    fn argument(&self, segments: &[Segment], span: Span) -> Option<FileSpan> {
        let index = segments.first()?.call;
        let call = self.calls.get(index as usize)?;
        let mut place: Option<FileSpan> = None;
        for (segment, next) in segments
            .iter()
            .zip(segments.iter().skip(1).map(Some).chain([None]))
        {
            let part = Span {
                start: span.start.max(segment.at),
                end: next.map_or(span.end, |next| next.at),
            };
            let here = self.spelled(segment, part)?;
            if segment.call != index || !self.is_inside(call, here) {
                return None;
            }
            place = Some(place.map_or(here, |place| FileSpan {
                file: here.file,
                start: place.start.min(here.start),
                end: place.end.max(here.end),
            }));
        }
        place
    }

    fn spelled(&self, segment: &Segment, span: Span) -> Option<FileSpan> {
        self.calls.get(segment.call as usize)?;
        let place = |at: u32| segment.start.saturating_add(at.saturating_sub(segment.at));
        (segment.source != NOWHERE).then(|| FileSpan {
            file: FileId(u32::from(segment.source)),
            start: place(span.start),
            end: place(span.end),
        })
    }

    fn is_inside(&self, call: &Call, place: FileSpan) -> bool {
        let file = self
            .inclusions
            .get(usize::from(call.inclusion))
            .map(|inclusion| inclusion.file);
        file == Some(place.file) && call.start <= place.start && place.end <= call.end
    }
}

/// The expanded text under construction, with its origins.
#[derive(Default)]
pub(super) struct Output {
    pub text: Vec<u8>,
    pub origins: Origins,
    /// After the last byte came something that no edit may cross.
    pub broken: bool,
}

/// A state of the output to return to.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    text: usize,
    segments: usize,
    calls: usize,
    broken: bool,
}

impl Output {
    pub fn mark(&self) -> Mark {
        Mark {
            text: self.text.len(),
            segments: self.origins.segments.len(),
            calls: self.origins.calls.len(),
            broken: self.broken,
        }
    }

    pub fn rewind(&mut self, mark: Mark) {
        self.text.truncate(mark.text);
        self.origins.segments.truncate(mark.segments);
        self.origins.calls.truncate(mark.calls);
        self.broken = mark.broken;
    }

    /// Starts a file that the `#include` at `place` of the inclusion `parent` includes.
    pub fn include(&mut self, file: FileId, parent: u16, place: Option<FileSpan>) -> u16 {
        let inclusion = u16::try_from(self.origins.inclusions.len()).unwrap_or(NOWHERE);
        self.broken = true;
        self.origins.inclusions.push(Inclusion {
            file,
            parent,
            start: place.map_or(0, |place| place.start),
            end: place.map_or(0, |place| place.end),
        });
        inclusion
    }

    /// Adds bytes of the file from `start` on, unchanged.
    pub fn verbatim(&mut self, inclusion: u16, start: u32, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.segment(VERBATIM, inclusion, start);
            self.text.extend_from_slice(bytes);
        }
    }

    /// Adds a byte that the file does not have at `start`.
    pub fn gap(&mut self, inclusion: u16, start: u32, byte: u8) {
        self.segment(GAP, inclusion, start);
        self.text.push(byte);
    }

    pub fn call(&mut self, inclusion: u16, place: FileSpan) -> u32 {
        let index = offset(self.origins.calls.len());
        self.origins.calls.push(Call {
            inclusion,
            broken: false,
            start: place.start,
            end: place.end,
            expansion: Span::default(),
        });
        index
    }

    /// Adds a token of a call's expansion. If `white`, adds a blank before it, which counts as part of the preceding
    /// text. `place` is where the token is spelled.
    pub fn token(&mut self, call: u32, place: Option<(FileId, u32)>, white: bool, bytes: &[u8]) {
        if white {
            self.text.push(b' ');
        }
        let source = place
            .and_then(|(file, _)| u16::try_from(file.0).ok())
            .unwrap_or(NOWHERE);
        self.segment(call, source, place.map_or(0, |(_, start)| start));
        self.text.extend_from_slice(bytes);
    }

    /// Marks the expansion of `call` as complete. It began at `begin` of the text, and the call ends at `end` of its
    /// file.
    pub fn end_call(&mut self, call: u32, begin: usize, end: u32, broken: bool) {
        let expansion = Span {
            start: offset(begin),
            end: offset(self.text.len()),
        };
        if let Some(call) = self.origins.calls.get_mut(call as usize) {
            call.expansion = expansion;
            call.end = end.max(call.start);
            call.broken = broken;
        }
    }

    pub fn finish(mut self) -> (Vec<u8>, Origins) {
        self.origins.length = offset(self.text.len());
        (self.text, self.origins)
    }

    fn segment(&mut self, call: u32, source: u16, start: u32) {
        let at = offset(self.text.len());
        let broken = std::mem::take(&mut self.broken);
        if let Some(last) = self.origins.segments.last()
            && !broken
            && (last.call, last.source) == (call, source)
            && source != NOWHERE
            && call != GAP
            && last.start.checked_add(at - last.at) == Some(start)
        {
            return;
        }
        self.origins.segments.push(Segment {
            at,
            start,
            call,
            source,
            broken,
        });
    }
}
