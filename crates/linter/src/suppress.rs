//! Comments that silence findings: `// shaderlint: allow(rule-id, rule-id): reason`.
//!
//! `allow` covers its own line, and where it is alone on its line, the next line with code; `allow-file`, alone on
//! its line, covers the whole file. Both name rules. There is no form for all rules: it would silence findings that
//! nobody has looked at.

use std::ops::Range;

use shaderlint_hlsl::{FileId, FileSpan, Problem, Sources};

use crate::place::MAIN_FILE;

/// The mark of a comment for the linter.
const MARK: &[u8] = b"shaderlint:";

const FORM: &str = "write `allow(rule-id): reason` or `allow-file(rule-id): reason`";

/// A comment that silences findings. Ranges are in bytes of its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suppression {
    /// The names of rules, each with its place.
    pub ids: Vec<(Range<usize>, String)>,
    /// The text after the colon; may be empty.
    pub reason: String,
    /// The offsets at which a finding that it silences begins.
    pub(crate) reach: Range<usize>,
    /// The text to remove if the comment is not needed, and its replacement.
    whole: (Range<usize>, &'static str),
}

impl Suppression {
    /// The place of the name by which it silences a rule at `offset`, if it does.
    fn allows(&self, names_rule: impl Fn(&str) -> bool, offset: u32) -> Option<&Range<usize>> {
        let reaches = self.reach.contains(&(offset as usize));
        let mut ids = self.ids.iter().filter(|_| reaches);
        ids.find(|(_, id)| names_rule(id)).map(|(place, _)| place)
    }

    /// The edit that removes its `number`th name: a place, and the new text there.
    pub(crate) fn without(&self, number: usize) -> (Range<usize>, &'static str) {
        let start = |number: usize| self.ids.get(number).map(|(place, _)| place.start);
        let end = |number: usize| self.ids.get(number).map(|(place, _)| place.end);
        match (start(number), start(number + 1)) {
            _ if self.ids.len() < 2 => self.whole.clone(),
            (Some(start), Some(next)) => (start..next, ""),
            _ => (
                end(number.saturating_sub(1)).unwrap_or(0)..end(number).unwrap_or(0),
                "",
            ),
        }
    }
}

/// The suppressions in a text, and the problems in its comments for the linter, with places as in the main file.
#[must_use]
pub fn suppressions(text: &[u8]) -> (Vec<Suppression>, Vec<Problem>) {
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    // Most files have no such comment.
    if memchr::memmem::find(text, MARK).is_none() {
        return (found, problems);
    }
    let lines = lines(text);
    let comments: Vec<Option<Comment>> = lines.iter().map(|line| comment(text, line)).collect();
    // For each line, the end of the first line with code from it on.
    let mut spoken_for = vec![None; lines.len()];
    let mut next = None;
    for ((line, comment), end) in lines.iter().zip(&comments).zip(&mut spoken_for).rev() {
        let is_blank = text
            .get(line.clone())
            .is_some_and(|line| line.trim_ascii().is_empty());
        if !is_blank && !comment.as_ref().is_some_and(|comment| comment.is_alone) {
            next = Some(line.end);
        }
        *end = next;
    }
    for ((line, comment), spoken_for) in lines.iter().zip(comments).zip(spoken_for) {
        let Some(comment) = comment else {
            continue;
        };
        match comment.directive(text) {
            None => {}
            Some(Err((place, message))) => problems.push(problem(place, message)),
            Some(Ok(directive)) if directive.is_for_file && !comment.is_alone => problems.push(problem(
                comment.place,
                "`allow-file` must be on a line of its own".to_owned(),
            )),
            Some(Ok(directive)) => {
                let reach = match spoken_for {
                    _ if directive.is_for_file => 0..text.len() + 1,
                    Some(end) if comment.is_alone => line.start..end,
                    _ => line.clone(),
                };
                found.push(Suppression {
                    ids: directive.ids,
                    reason: directive.reason,
                    reach,
                    whole: comment.without(text, line, directive.start),
                });
            }
        }
    }
    (found, problems)
}

/// The lines of a text, each with its end: a line feed, or a carriage return without one.
fn lines(text: &[u8]) -> Vec<Range<usize>> {
    let is_end = |at: &usize| match text.get(*at) {
        Some(b'\r') => text.get(at + 1) != Some(&b'\n'),
        byte => byte == Some(&b'\n'),
    };
    let mut lines: Vec<Range<usize>> = Vec::new();
    let ends = (0..text.len()).filter(is_end).map(|at| at + 1);
    for end in ends.chain([text.len()]) {
        let start = lines.last().map_or(0, |line| line.end);
        if start < end {
            lines.push(start..end);
        }
    }
    lines
}

/// A line's comment.
struct Comment {
    /// With its delimiters.
    place: Range<usize>,
    /// Its text.
    content: Range<usize>,
    /// Nothing else is on its line.
    is_alone: bool,
    /// It continues on the next line.
    goes_on: bool,
}

/// The request in a comment.
struct Directive {
    ids: Vec<(Range<usize>, String)>,
    reason: String,
    is_for_file: bool,
    /// Where it begins.
    start: usize,
}

/// The first comment that begins on the line, as far as it is on the line.
fn comment(text: &[u8], line: &Range<usize>) -> Option<Comment> {
    let slice = text.get(line.clone())?;
    let start = slice.windows(2).position(|pair| pair == b"//" || pair == b"/*")?;
    let rest = slice.get(start..)?;
    let said = rest.get(2..)?;
    let close = said.windows(2).position(|pair| pair == b"*/");
    let is_block = rest.starts_with(b"/*");
    let goes_on = (is_block && close.is_none()) || (!is_block && said.trim_ascii_end().ends_with(b"\\"));
    let (content, end) = match close {
        Some(close) if is_block => (close, close + 2),
        _ => (said.trim_ascii_end().len(), said.trim_ascii_end().len()),
    };
    let start = line.start + start;
    let place = start..start + 2 + end;
    let is_blank = |range: Range<usize>| text.get(range).is_some_and(|part| part.trim_ascii().is_empty());
    Some(Comment {
        is_alone: is_blank(line.start..start) && is_blank(place.end..line.end),
        content: start + 2..start + 2 + content,
        goes_on,
        place,
    })
}

impl Comment {
    /// Its request, if it is for the linter; the error has the place and the reason where it is not understood.
    fn directive(&self, text: &[u8]) -> Option<Result<Directive, (Range<usize>, String)>> {
        let said = text.get(self.content.clone())?;
        let before = memchr::memmem::find(said, MARK)?;
        let start = self.content.start + before;
        if self.goes_on {
            let message =
                "this comment continues on the next line, but a comment to shaderlint must not".to_owned();
            return Some(Err((self.place.clone(), message)));
        }
        let parsed = self.parsed(text, start);
        // A sentence may mention the linter; a comment that begins with its name is for it.
        let is_meant = said
            .get(..before)
            .is_some_and(|before| before.trim_ascii().is_empty());
        (parsed.is_ok() || is_meant).then_some(parsed)
    }

    fn parsed(&self, text: &[u8], start: usize) -> Result<Directive, (Range<usize>, String)> {
        let part = |range: Range<usize>| text.get(range).unwrap_or_default();
        let skip_blank = |from: usize| {
            let rest = part(from..self.content.end);
            from + (rest.len() - rest.trim_ascii_start().len())
        };
        let word_start = skip_blank(start + MARK.len());
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let length = part(word_start..self.content.end)
            .iter()
            .take_while(|byte| is_part(byte))
            .count();
        let word = word_start..word_start + length;
        let is_for_file = match part(word.clone()) {
            b"allow" => false,
            b"allow-file" => true,
            other => {
                let other = String::from_utf8_lossy(other);
                let place = if other.is_empty() {
                    self.place.clone()
                } else {
                    word
                };
                return Err((place, format!("unknown directive `{other}`: {FORM}")));
            }
        };
        let blanket = |place| {
            let message = format!("`allow` must name its rules: {FORM}");
            Err((place, message))
        };
        let open = skip_blank(word.end);
        let list = part(open..self.content.end);
        let close = list.iter().position(|byte| *byte == b')');
        let (Some(b'('), Some(close)) = (list.first(), close) else {
            return blanket(word);
        };
        let mut ids = Vec::new();
        let mut at = open + 1;
        for item in part(at..open + close).split(|byte| *byte == b',') {
            let id_start = at + (item.len() - item.trim_ascii_start().len());
            let id = item.trim_ascii();
            at += item.len() + 1;
            if matches!(id, b"" | b"*" | b"all") {
                return blanket(word.start..open + close + 1);
            }
            let text = String::from_utf8_lossy(id).into_owned();
            ids.push((id_start..id_start + id.len(), text));
        }
        let after = part(open + close + 1..self.content.end).trim_ascii();
        let reason = after.strip_prefix(b":").unwrap_or_default().trim_ascii();
        Ok(Directive {
            ids,
            reason: String::from_utf8_lossy(reason).into_owned(),
            is_for_file,
            start,
        })
    }

    /// The text to remove from the line so that nothing is left of a request that begins at `start`, and the new text
    /// there: a comment is a blank between words. The line itself stays where it ends a macro, or where `__LINE__`
    /// counts it.
    fn without(&self, text: &[u8], line: &Range<usize>, start: usize) -> (Range<usize>, &'static str) {
        let blank_before = |end: usize, from: usize| {
            let before = text.get(from..end).unwrap_or_default();
            from + before.trim_ascii_end().len()
        };
        let says_more = blank_before(start, self.content.start) > self.content.start;
        if says_more {
            return (blank_before(start, self.content.start)..self.content.end, "");
        }
        let above = text.get(..line.start).unwrap_or_default().trim_ascii_end();
        let is_counted = || memchr::memmem::find(text, b"__LINE__").is_some();
        if self.is_alone && !above.ends_with(b"\\") && !is_counted() {
            return (line.clone(), "");
        }
        let behind = text.get(self.place.end).unwrap_or(&b'\n');
        let blank = if behind.is_ascii_whitespace() { "" } else { " " };
        (blank_before(self.place.start, line.start)..self.place.end, blank)
    }
}

fn problem(place: Range<usize>, message: String) -> Problem {
    Problem::new(message, Some(in_main_file(place)))
}

pub(crate) fn in_main_file(place: Range<usize>) -> FileSpan {
    let offset = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
    FileSpan {
        file: MAIN_FILE,
        start: offset(place.start),
        end: offset(place.end),
    }
}

/// The suppressions in the files of a unit.
pub(crate) struct SuppressionIndex(Vec<(FileId, Vec<Suppression>)>);

impl SuppressionIndex {
    pub fn of(sources: &Sources) -> SuppressionIndex {
        let files = (0..).map(FileId).zip(&sources.files);
        let read = files.map(|(id, file)| (id, suppressions(&file.text).0));
        SuppressionIndex(read.filter(|(_, found)| !found.is_empty()).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The place and the reason of a comment that silences a rule with these names at `place`.
    pub fn allowing(&self, names_rule: impl Fn(&str) -> bool, place: FileSpan) -> Option<(FileSpan, String)> {
        let (_, of_file) = self.0.iter().find(|(id, _)| *id == place.file)?;
        of_file.iter().find_map(|suppression| {
            let named = suppression.allows(&names_rule, place.start)?.clone();
            let by = FileSpan {
                file: place.file,
                ..in_main_file(named)
            };
            Some((by, suppression.reason.clone()))
        })
    }
}

#[cfg(test)]
mod tests;
