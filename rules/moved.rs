//! Where the places of a kernel's text are in the text with a fix.

use shaderlint_hlsl::{Span, Splice};
use shaderlint_linter::Edit;

/// A part of what an edit replaces that stands in its text again.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    /// Which of the edits.
    pub edit: usize,
    pub part: Span,
    /// Where it begins in the edit's text, with what its macros stand for.
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

    /// Where a place is. One that holds edits has grown with them; one within what an edit replaces is where that is kept.
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

    /// Whether a place of the new text is in what took the place of another one.
    pub fn is_new(&self, place: Span) -> bool {
        let replaces = |splice: &&Splice| splice.span.start < splice.span.end;
        self.splices.iter().filter(replaces).any(|splice| {
            let start = self.offset(splice.span.start, false);
            start <= place.start && place.end <= start + length(&splice.text)
        })
    }

    /// Where an offset is. Of text that is inserted right there, whether it comes before.
    fn offset(&self, offset: u32, is_behind: bool) -> u32 {
        let before = self.splices.iter().filter(|splice| {
            splice.span.end < offset || splice.span.end == offset && (is_behind || splice.span.start < offset)
        });
        before.fold(offset, |offset, splice| {
            (offset + length(&splice.text)).saturating_sub(splice.span.end - splice.span.start)
        })
    }
}

/// Texts are no longer than offsets reach.
fn length(text: &str) -> u32 {
    u32::try_from(text.len()).unwrap_or(u32::MAX)
}
