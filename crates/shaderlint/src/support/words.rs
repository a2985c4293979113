//! The words of a text: identifiers and numbers. The preprocessor takes more bytes for letters: `$`, and those beyond
//! ASCII.

use shaderlint_hlsl::{Definition, directives};

/// Whether the text contains these bytes.
pub(crate) fn contains(text: &[u8], bytes: &[u8]) -> bool {
    memchr::memmem::find(text, bytes).is_some()
}

/// Whether a byte may be part of a name.
pub(crate) fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The identifiers and numbers of a text.
pub(crate) fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| !is_part(*byte)).filter(|word| !word.is_empty())
}

/// Whether the word is one of the identifiers and numbers of a text.
pub(crate) fn has_word(text: &[u8], word: &[u8]) -> bool {
    words(text).any(|other| other == word)
}

/// How often the text contains the name outside of comments and strings. Each macro definition that may paste
/// the name together counts, too.
pub(crate) fn times_named(text: &[u8], name: &str) -> usize {
    let bytes = name.as_bytes();
    let is_named = contains(text, bytes);
    let (mut rest, mut times) = (if is_named { text } else { &[] }, 0);
    while !rest.is_empty() {
        let length = match rest {
            [b'/', b'/', ..] => memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len()),
            [b'/', b'*', body @ ..] => memchr::memmem::find(body, b"*/").map_or(rest.len(), |end| end + 4),
            [b'"', body @ ..] => string(body).map_or(1, |length| length + 1),
            _ => {
                let length = rest.iter().take_while(|byte| is_part(**byte)).count();
                times += usize::from(rest.get(..length) == Some(bytes));
                length.max(1)
            }
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    if !contains(text, b"##") {
        return times;
    }
    let defines = directives(text)
        .into_iter()
        .filter(|line| line.keyword == b"define");
    let definitions = defines.filter_map(|line| Definition::of(&line.argument));
    times
        + definitions
            .filter(|definition| definition.may_paste(name))
            .count()
}

/// The length of a string after its opening `"`. `None` if the string does not end on its line.
fn string(body: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match body.get(at)? {
            b'"' => return Some(at + 1),
            b'\n' | b'\r' => return None,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_outside_of_comments() {
        let times = |text: &[u8]| times_named(text, "sum");
        assert_eq!(times(b"sum(sum, sums, a_sum, sum2) /sum*sum"), 4);
        assert_eq!(
            times(b"// sum\nsum /* sum\n * sum */ sum /**/ sum /*/ sum */ /* sum"),
            3
        );
        assert_eq!(times(b"#define REDUCE sum\n// \\\nsum"), 2);
        assert_eq!(times(b"// sum\rsum \"sum \\\" /*\" sum \" sum"), 3);
        assert_eq!(times(b""), 0);
    }

    #[test]
    fn names_may_be_pasted() {
        let pasted = |text: &str| times_named(text.as_bytes(), "sum_f32");
        for text in [
            "#define SUM(type) sum_##type(x)",
            "#define SUM(type) \\\n    sum_ ## type",
            "#define F32(name) name##_f32",
            "#define PASTE(a, b) a##b",
            "#define SUM_OF(a, b) a##_##b",
            "#define SUM return sum_##f32",
            "#define SUM(type) return sum_##type else",
            "#define ALL(...) sum_##__VA_ARGS__",
            "#define TWO(a) max_##a sum_##a",
        ] {
            assert_eq!(pasted(text), 1, "{text}");
        }
        for text in [
            "#define ARGS(name) Texture2D name, SamplerState sampler##name",
            "#define MAX(type) max_##type",
            "#define F16(name) name##_f16",
            "#define MAX(type) sum_ max_##type",
            "a ## b",
        ] {
            assert_eq!(pasted(text), 0, "{text}");
        }
    }
}
