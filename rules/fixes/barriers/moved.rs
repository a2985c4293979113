//! Maps places of a text to places of the text with a fix.

use shaderlint_hlsl::{Span, Splice};
use shaderlint_linter::Edit;

/// A part of the replaced text that the new text contains again.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    /// The number of the edit.
    pub edit: usize,
    pub part: Span,
    /// Where it begins in the edit's expanded text.
    pub at: u32,
}

/// A text with edits.
pub(crate) struct Moved<'k> {
    splices: Vec<Splice>,
    kept: &'k [Kept],
}

impl<'k> Moved<'k> {
    pub fn by(edits: &[Edit], kept: &'k [Kept]) -> Self {
        Moved {
            splices: edits.iter().map(Edit::splice).collect(),
            kept,
        }
    }

    /// The new place. A place that contains edits grows with them; a place inside replaced text is where that text is
    /// kept.
    pub fn span(&self, span: Span) -> Span {
        let holds = |kept: &&Kept| kept.part.start <= span.start && span.end <= kept.part.end;
        let kept = self.kept.iter().find(holds);
        if let Some((kept, splice)) = kept.and_then(|kept| Some((kept, self.splices.get(kept.edit)?))) {
            let start = self.offset(splice.span.start, false) + kept.at + (span.start - kept.part.start);
            return Span {
                start,
                end: start + (span.end - span.start),
            };
        }
        Span {
            start: self.offset(span.start, true),
            end: self.offset(span.end, false),
        }
    }

    /// Whether a place of the new text is inside text that replaces other text.
    pub fn is_new(&self, place: Span) -> bool {
        let replaces = |splice: &&Splice| splice.span.start < splice.span.end;
        self.splices.iter().filter(replaces).any(|splice| {
            let start = self.offset(splice.span.start, false);
            start <= place.start && place.end <= start + length(&splice.text)
        })
    }

    /// The new offset. With `is_behind`, it is behind text that is inserted right there.
    fn offset(&self, offset: u32, is_behind: bool) -> u32 {
        let before = self.splices.iter().filter(|splice| {
            splice.span.end < offset || splice.span.end == offset && (is_behind || splice.span.start < offset)
        });
        before.fold(offset, |offset, splice| {
            (offset + length(&splice.text)).saturating_sub(splice.span.end - splice.span.start)
        })
    }
}

/// No text is longer than a `u32`.
fn length(text: &str) -> u32 {
    u32::try_from(text.len()).unwrap_or(u32::MAX)
}
