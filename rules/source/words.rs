//! The words of a text.

/// The identifiers (and numbers) of a text.
pub(crate) fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
        .filter(|word| !word.is_empty())
}

/// Whether a byte may be part of a word.
pub(crate) fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The last word of a text, if nothing stands behind it.
pub(crate) fn last_word(text: &[u8]) -> &[u8] {
    let start = text
        .iter()
        .rposition(|byte| !is_part(*byte))
        .map_or(0, |at| at + 1);
    text.get(start..).unwrap_or_default()
}
