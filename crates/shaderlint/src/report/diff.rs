//! Fixes as a unified diff, for people and for `git apply`.

use similar::{ChangeTag, TextDiff};

use crate::support::terminal::Style;

/// The difference between two texts of one file.
pub(crate) fn diff(path: &str, old: &[u8], new: &[u8], style: Style) -> Vec<u8> {
    let path = path.trim_start_matches('/').replace('\\', "/");
    let diff = TextDiff::from_lines(old, new);
    let mut output = Vec::new();
    let mut paint = |color: &str, text: &[u8]| {
        // The color ends before the line does.
        let line = text.strip_suffix(b"\n").unwrap_or(text);
        if style.is_colored && !color.is_empty() {
            output.extend_from_slice(format!("\x1b[{color}m").as_bytes());
            output.extend_from_slice(line);
            output.extend_from_slice(b"\x1b[0m");
        } else {
            output.extend_from_slice(line);
        }
        output.push(b'\n');
    };
    paint("1", format!("--- a/{path}").as_bytes());
    paint("1", format!("+++ b/{path}").as_bytes());
    for hunk in diff.unified_diff().context_radius(3).iter_hunks() {
        paint("36", hunk.header().to_string().as_bytes());
        for change in hunk.iter_changes() {
            let (sign, color) = match change.tag() {
                ChangeTag::Equal => (b' ', ""),
                ChangeTag::Delete => (b'-', "31"),
                ChangeTag::Insert => (b'+', "32"),
            };
            paint(color, &[&[sign][..], change.value()].concat());
            if change.missing_newline() {
                paint("", b"\\ No newline at end of file");
            }
        }
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_line_endings_stay() {
        let shown = diff(
            "/a/b.hlsl",
            b"x\r\n\xe9\r\nend",
            b"x\r\ny\r\nend",
            Style::default(),
        );
        let expected = b"--- a/a/b.hlsl\n+++ b/a/b.hlsl\n@@ -1,3 +1,3 @@\n x\r\n-\xe9\r\n+y\r\n end\n\\ No newline at end of file\n";
        assert_eq!(
            shown.escape_ascii().to_string(),
            expected.escape_ascii().to_string()
        );
    }
}
