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
    let line = String::from_utf8_lossy(line);
    let comment = match (line.find("//"), line.find("/*")) {
        (Some(a), Some(b)) => a.min(b),
        (Some(start), None) | (None, Some(start)) => start,
        (None, None) => return false,
    };
    let list = line
        .get(comment..)
        .and_then(|comment| comment.split_once("shaderlint:"))
        .and_then(|(_, rest)| rest.trim_start().strip_prefix("allow"))
        .and_then(|rest| rest.trim_start().strip_prefix('('))
        .and_then(|rest| rest.split_once(')'));
    list.is_some_and(|(ids, _)| ids.split(',').any(|id| rule.is_named(id.trim())))
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
