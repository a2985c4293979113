//! From places of the expanded text to places of files.

use shaderlint_hlsl::{FileId, FileSpan, Shader, Span};

/// The file to lint; the others were included.
pub(crate) const MAIN_FILE: FileId = FileId(0);

/// The place in a file of a place of the expanded text.
pub(crate) fn locate(shader: &Shader, span: Span) -> Option<FileSpan> {
    let place = shader.origins.locate(span)?;
    let length = u32::try_from(shader.sources.get(place.file)?.text.len()).ok()?;
    Some(FileSpan {
        file: place.file,
        start: place.start.min(length),
        end: place.end.clamp(place.start.min(length), length),
    })
}
