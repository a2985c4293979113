//! `--add-allow`: writes comments that suppress the findings into the files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use shaderlint_hlsl::{SourceFile, decode};
use shaderlint_linter::Verdict;

use crate::check::file_report::FileReport;
use crate::support::atomic_write;
use crate::support::encoding::encoded_like;

/// The number of comments added, and of files changed.
#[derive(Default)]
pub(crate) struct Added {
    pub comments: usize,
    pub files: usize,
    /// Findings without a comment: a comment cannot precede their line, which continues the line before.
    pub left: usize,
}

/// The start of each line of a file that has findings, with the rules of the findings.
type Lines = BTreeMap<usize, BTreeSet<&'static str>>;

/// Suppresses each finding by a comment on a line of its own, before the line in which the finding begins.
pub(crate) fn add(checked: &[FileReport], reason: &str) -> Result<Added> {
    let mut files: BTreeMap<PathBuf, (&SourceFile, Lines)> = BTreeMap::new();
    for one in checked {
        for finding in &one.report.findings {
            let place = finding.primary.place;
            // An unused comment should be removed, not suppressed by another one.
            let file = one
                .sources
                .get(place.file)
                .filter(|_| finding.verdict != Verdict::Unused);
            let Some(file) = file else { continue };
            let before = file.text.get(..place.start as usize).unwrap_or_default();
            let start = before
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |at| at + 1);
            let (_, lines) = files
                .entry(PathBuf::from(&file.path))
                .or_insert_with(|| (file, Lines::new()));
            lines.entry(start).or_default().insert(finding.rule);
        }
    }
    let mut added = Added::default();
    for (path, (file, mut lines)) in files {
        let count = lines.len();
        lines.retain(|start, _| !goes_on(&file.text, *start));
        added.left += count - lines.len();
        if lines.is_empty() {
            continue;
        }
        let context = || format!("{}: no comment added", path.display());
        let bytes = std::fs::read(&path).with_context(context)?;
        ensure!(
            decode(&bytes).is_some_and(|text| *text == *file.text),
            "{}: the file changed during the run",
            path.display()
        );
        let text = with_comments(&file.text, &lines, reason);
        let text = encoded_like(&bytes, &file.text, &text).with_context(context)?;
        atomic_write::replace(&path, &bytes, &text).with_context(context)?;
        added.comments += lines.len();
        added.files += 1;
    }
    Ok(added)
}

/// Whether the line that starts here continues the line before it, as in the body of a macro.
fn goes_on(text: &[u8], start: usize) -> bool {
    let before = text.get(..start).and_then(|before| before.strip_suffix(b"\n"));
    let line = before.and_then(|before| before.rsplit(|byte| *byte == b'\n').next());
    line.is_some_and(|line| line.trim_ascii_end().ends_with(b"\\"))
}

fn with_comments(text: &[u8], lines: &Lines, reason: &str) -> Vec<u8> {
    let newline = match text.iter().position(|byte| *byte == b'\n') {
        Some(at) if at > 0 && text.get(at - 1) == Some(&b'\r') => "\r\n",
        _ => "\n",
    };
    let reason = if reason.is_empty() {
        String::new()
    } else {
        format!(": {reason}")
    };
    let mut commented = Vec::with_capacity(text.len() + lines.len() * 64);
    let mut done = 0;
    for (start, rules) in lines {
        let line = text.get(*start..).unwrap_or_default();
        let margin = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t'));
        let rules: Vec<&str> = rules.iter().copied().collect();
        commented.extend_from_slice(text.get(done..*start).unwrap_or_default());
        commented.extend(margin);
        let comment = format!("// shaderlint: allow({}){reason}{newline}", rules.join(", "));
        commented.extend_from_slice(comment.as_bytes());
        done = *start;
    }
    commented.extend_from_slice(text.get(done..).unwrap_or_default());
    commented
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_stand_as_their_lines_do() {
        let lines = Lines::from([(0, BTreeSet::from(["b", "a"])), (3, BTreeSet::from(["c"]))]);
        let text = with_comments(b"x\r\n\t y\r\nz", &lines, "old");
        let expected = "// shaderlint: allow(a, b): old\r\nx\r\n\t // shaderlint: allow(c): old\r\n\t y\r\nz";
        assert_eq!(String::from_utf8_lossy(&text), expected);
    }

    #[test]
    fn lines_of_a_macro_go_on() {
        let text = b"a \\\nb \\ \r\nc\n\\\n\nd";
        let starts = [0, 4, 10, 12, 14, 15];
        assert_eq!(
            starts.map(|start| goes_on(text, start)),
            [false, true, true, false, true, false]
        );
    }
}
