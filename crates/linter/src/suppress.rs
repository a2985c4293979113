//! Comments that silence a finding: `// shaderlint: allow(rule-id): reason`.
//!
//! On the line where the finding begins, or alone on the line before it. Several ids are separated by commas.

use shaderlint_hlsl::{FileSpan, Sources};

use crate::rule::Rule;

/// Whether a comment allows what `rule` found at `place`.
pub(crate) fn is_allowed(sources: &Sources, rule: &Rule, place: FileSpan) -> bool {
    let Some(file) = sources.get(place.file) else {
        return false;
    };
    let Some((before, after)) = file.text.split_at_checked(place.start as usize) else {
        return false;
    };
    let mut lines_before = before.rsplit(|byte| *byte == b'\n');
    let start_of_line = lines_before.next().unwrap_or_default();
    let rest_of_line = after.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = [start_of_line, rest_of_line].concat();
    let previous = lines_before.next().map(<[u8]>::trim_ascii).unwrap_or_default();
    allows(&line, rule) || (is_comment(previous) && allows(previous, rule))
}

fn is_comment(line: &[u8]) -> bool {
    line.starts_with(b"//") || (line.starts_with(b"/*") && line.ends_with(b"*/"))
}

/// Whether the line has a comment that names the rule.
fn allows(line: &[u8], rule: &Rule) -> bool {
    ids(line).any(|(_, id)| rule.is_named(&id))
}

/// Every id that a comment of this text allows, with where it starts.
pub fn allowed_ids(text: &[u8]) -> Vec<(usize, String)> {
    let mut start = 0;
    let mut found = Vec::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        found.extend(ids(line).map(|(column, id)| (start + column, id)));
        start += line.len();
    }
    found
}

/// The ids in the line's comment, with their columns in bytes.
fn ids(line: &[u8]) -> impl Iterator<Item = (usize, String)> {
    list(line).into_iter().flat_map(|(mut column, list)| {
        list.split(|byte| *byte == b',').map(move |item| {
            let blank = item.len() - item.trim_ascii_start().len();
            let id = (
                column + blank,
                String::from_utf8_lossy(item.trim_ascii()).into_owned(),
            );
            column += item.len() + 1;
            id
        })
    })
}

/// What stands in the parentheses of the line's `allow(…)`, and where.
fn list(line: &[u8]) -> Option<(usize, &[u8])> {
    let find = |from: usize, wanted: &[u8]| {
        let rest = line.get(from..)?;
        let found = rest.windows(wanted.len()).position(|window| window == wanted)?;
        Some(from + found + wanted.len())
    };
    // After this word, with blanks before it.
    let skip = |from: usize, wanted: &[u8]| {
        let rest = line.get(from..)?;
        let blank = rest.len() - rest.trim_ascii_start().len();
        rest.trim_ascii_start()
            .starts_with(wanted)
            .then_some(from + blank + wanted.len())
    };
    let comment = find(0, b"//").into_iter().chain(find(0, b"/*")).min()?;
    let start = skip(skip(find(comment, b"shaderlint:")?, b"allow")?, b"(")?;
    let end = find(start, b")")? - 1;
    Some((start, line.get(start..end)?))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use shaderlint_hlsl::{FileId, SourceFile};

    use super::*;
    use crate::rule::Category;

    const RULE: Rule = Rule {
        id: "a-rule",
        category: Category::Perf,
        summary: "",
        aliases: &["its-alias"],
        explanation: "",
        check: |_, _| {},
    };

    /// The finding is where `text` says FOUND.
    #[track_caller]
    fn check(text: &str, expected: bool) {
        let start = text
            .find("FOUND")
            .map_or(0, |start| u32::try_from(start).unwrap_or(0));
        let file = SourceFile {
            path: "a.hlsl".to_owned(),
            text: Arc::from(text.as_bytes()),
        };
        let sources = Sources { files: vec![file] };
        let place = FileSpan {
            file: FileId(0),
            start,
            end: start + 5,
        };
        assert_eq!(is_allowed(&sources, &RULE, place), expected, "{text}");
    }

    #[test]
    fn ids_have_their_places() {
        let text =
            b"x; // \xe9 shaderlint: allow( a ,bc): why\n// shaderlint:allow(d)\n// shaderlint: allow e";
        let expected = [(27, "a"), (30, "bc"), (59, "d")].map(|(at, id)| (at, id.to_owned()));
        assert_eq!(allowed_ids(text), expected);
    }

    #[test]
    fn on_the_line_or_alone_on_the_line_before() {
        check("FOUND // shaderlint: allow(a-rule): measured", true);
        check("// shaderlint: allow(a-rule)\r\n\tFOUND", true);
        check("/* shaderlint: allow( other , its-alias ) */\nFOUND", true);
        check("x; // shaderlint: allow(a-rule)\nFOUND", false);
        check("// shaderlint: allow(a-rule)\n\nFOUND", false);
        check("// shaderlint: allow(other)\nFOUND", false);
        check("FOUND\n// shaderlint: allow(a-rule)", false);
        check("FOUND; shaderlint: allow(a-rule)", false);
        check("FOUND", false);
    }
}
