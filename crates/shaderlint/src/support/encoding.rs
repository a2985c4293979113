//! UTF-16 files: they are checked as UTF-8, and written back in UTF-16.

use anyhow::{Result, ensure};

/// Encodes `text` like the file with the contents `bytes`, which decode to `old`.
pub(crate) fn encoded_like(bytes: &[u8], old: &[u8], text: &[u8]) -> Result<Vec<u8>> {
    let unit: fn(u16) -> [u8; 2] = match bytes {
        [0xff, 0xfe, ..] => u16::to_le_bytes,
        [0xfe, 0xff, ..] => u16::to_be_bytes,
        // Zero bytes become blanks, as compilers read them.
        _ => return Ok(text.to_vec()),
    };
    let encoded = |text: &[u8]| -> Vec<u8> {
        let text = String::from_utf8_lossy(text);
        let units = std::iter::once('\u{feff}').chain(text.chars());
        let units = units.flat_map(|c| c.encode_utf16(&mut [0; 2]).to_vec());
        units.flat_map(unit).collect()
    };
    // Otherwise, decoding replaced something.
    ensure!(encoded(old) == bytes, "it is not all UTF-16");
    Ok(encoded(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shaderlint_hlsl::decode;

    #[track_caller]
    fn check(bytes: &[u8], new: &str, expected: Option<&[u8]>) {
        let old = decode(bytes).expect("a text");
        let encoded = encoded_like(bytes, &old, new.as_bytes()).ok();
        assert_eq!(encoded.as_deref(), expected, "{bytes:?}");
    }

    #[test]
    fn files_keep_their_encoding() {
        check(b"\xff\xfea\0", "b\u{20ac}", Some(b"\xff\xfeb\0\xac\x20"));
        check(b"\xfe\xff\0a", "\u{1f600}", Some(b"\xfe\xff\xd8\x3d\xde\x00"));
        check(b"\xef\xbb\xbfa", "b", Some(b"b"));
        check(b"\xe9", "b", Some(b"b"));
        check(b"a zero byte: \0 // here", "b", Some(b"b"));
    }

    #[test]
    fn what_is_damaged_stays() {
        // Half a unit, half a pair.
        check(b"\xff\xfea\0b", "c", None);
        check(b"\xff\xfe\x3d\xd8", "c", None);
    }
}
