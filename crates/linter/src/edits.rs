//! Where the edits of a fix go in files.

use std::ops::Range;

use memchr::memmem;
use shaderlint_hlsl::{FileId, FileSpan, Shader, blank_comments, comments, directives};

use crate::finding::{At, Edit, FileEdit, Fix};
use crate::layout::Style;
use crate::no_fix::{NoFix, Reason};
use crate::place::MAIN_FILE;

pub(crate) fn place_fix(shader: &Shader, fix: &Fix) -> Option<Fix<FileEdit>> {
    let edits = fix.edits.iter().map(|edit| place_edit(shader, edit));
    Some(Fix {
        title: fix.title.clone(),
        safety: fix.safety,
        proof: fix.proof.clone(),
        notes: fix.notes.clone(),
        edits: edits.collect::<Option<Vec<_>>>()?,
        other_form: fix.other_form.clone(),
    })
}

/// Whether the unit contains the changed text more than once, because the file includes itself, or a link with the
/// same text: the proof covers an edit in one of these places.
pub(crate) fn stands_twice(shader: &Shader, fix: &Fix<FileEdit>) -> bool {
    let Some(own) = shader.sources.get(MAIN_FILE) else {
        return false;
    };
    let files = (0..).map(FileId).zip(&shader.sources.files);
    let same: Vec<FileId> = files
        .filter(|(_, file)| file.text[..] == own.text[..])
        .map(|(id, _)| id)
        .collect();
    if same
        .iter()
        .map(|file| shader.origins.times_read(*file))
        .sum::<usize>()
        < 2
    {
        return false;
    }
    let places = || fix.edits.iter().map(|edit| edit.place);
    // Inserted text follows the text on its line.
    let first = places().map(|place| place.start).min().unwrap_or(0);
    let before = own.text.get(..first as usize).unwrap_or_default();
    let line = before.iter().rposition(|byte| *byte == b'\n');
    let start = line.and_then(|line| u32::try_from(line).ok()).unwrap_or(0);
    let end = places().map(|place| place.end).max().unwrap_or(u32::MAX);
    let times = same.iter().map(|file| {
        shader
            .origins
            .extracts(&shader.text, *file)
            .times(start, end.max(start + 1))
    });
    times.sum::<usize>() > 1
}

/// Why an edit has no place in the linted file, as far as that is known.
pub(crate) fn not_edited(shader: &Shader, edit: &Edit) -> Option<NoFix> {
    let span = edit.at.span();
    match editable(shader, edit.at) {
        None if shader.origins.is_cut_from_macro(span) => Some(
            NoFix::new(
                Reason::InMacro,
                "the text that the fix would change comes from a macro",
            )
            .at(span),
        ),
        None => {
            let text =
                "the text that the fix would change contains a directive, or part of it is in another file";
            Some(NoFix::new(Reason::Directive, text).at(span))
        }
        Some(place) if place.file == MAIN_FILE => None,
        Some(_) => Some(
            NoFix::new(
                Reason::InInclude,
                "the text that the fix would change is in an included file",
            )
            .at(span),
        ),
    }
}

/// The place of an edit in a file, if it replaces there exactly the text that the proof is about.
fn editable(shader: &Shader, at: At) -> Option<FileSpan> {
    match at {
        At::OverChoices(span) => whole_choices(shader, shader.origins.editable_with_directives(span)?),
        At::Over(span) | At::Before(span) | At::After(span) => shader.origins.editable(span),
    }
}

/// A part of a file up to its last `#endif`, if its directives are conditionals that leave out no code.
fn whole_choices(shader: &Shader, mut place: FileSpan) -> Option<FileSpan> {
    let text = &shader.sources.get(place.file)?.text;
    let (start, mut end) = (place.start as usize, place.end as usize);
    let mut depth = 0usize;
    let mut parts = vec![start];
    for line in directives(text.get(start..)?) {
        let (from, to) = (start + line.start as usize, start + line.end as usize);
        if from >= end && (depth == 0 || code_in(text.get(end..from)?).is_some()) {
            break;
        }
        match &*line.keyword {
            b"if" | b"ifdef" | b"ifndef" => depth += 1,
            b"else" | b"elif" if depth > 0 => {}
            b"endif" if depth > 0 => depth -= 1,
            _ => return None,
        }
        end = end.max(to);
        parts.extend([from, to]);
    }
    parts.push(end);
    let extracts = shader.origins.extracts(&shader.text, place.file);
    let is_there = |part: &[usize]| {
        let &[from, to] = part else { return true };
        code_in(text.get(from..to).unwrap_or_default()).is_none_or(|first| {
            let at = u32::try_from(from + first).unwrap_or(u32::MAX);
            extracts.times(at, at.saturating_add(1)) > 0
        })
    };
    place.end = u32::try_from(end).ok()?;
    (depth == 0 && parts.chunks(2).all(is_there)).then_some(place)
}

/// The offset of the first code in a text.
fn code_in(text: &[u8]) -> Option<usize> {
    let code = blank_comments(text);
    code.iter().position(|byte| !byte.is_ascii_whitespace())
}

fn place_edit(shader: &Shader, edit: &Edit) -> Option<FileEdit> {
    let place = editable(shader, edit.at)?;
    let text: &[u8] = &shader.sources.get(place.file)?.text;
    let style = Style::at(text, place.start as usize)?;
    let at = |offset: u32| FileSpan {
        file: place.file,
        start: offset,
        end: offset,
    };
    let edit = match edit.at {
        At::Over(_) | At::OverChoices(_) if edit.is_block => block(text, place, &style, &edit.text),
        At::Over(_) | At::OverChoices(_) if edit.text.is_empty() => FileEdit {
            place: with_its_line(text, with_its_comments(text, place)),
            text: String::new(),
        },
        At::Over(_) | At::OverChoices(_) => FileEdit {
            place,
            text: style.lay_out(&edit.text),
        },
        At::Before(_) => FileEdit {
            place: at(place.start),
            text: style.lay_out(&format!("{}\n", edit.text)),
        },
        At::After(_) => FileEdit {
            place: at(end_of_line(text, place.end)),
            text: style.lay_out(&format!("\n{}", edit.text)),
        },
    };
    Some(apart(text, edit))
}

/// An edit with blanks where its words would run into the text on either side, such as a macro, `NEG(x)`, or a
/// number.
fn apart(text: &[u8], mut edit: FileEdit) -> FileEdit {
    let is_of_word =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let before = edit
        .place
        .start
        .checked_sub(1)
        .and_then(|at| text.get(at as usize));
    let behind = text.get(edit.place.end as usize);
    let new = edit.text.as_bytes();
    let first = if new.is_empty() { behind } else { new.first() };
    let runs_in = is_of_word(before) && is_of_word(first);
    let runs_out = is_of_word(new.last()) && is_of_word(behind);
    if runs_in {
        edit.text.insert(0, ' ');
    }
    if runs_out {
        edit.text.push(' ');
    }
    edit
}

/// A removed function together with the comments right above it on lines of their own. A comment above all code is
/// about the file and stays, and so do comments for tools.
fn with_its_comments(text: &[u8], place: FileSpan) -> FileSpan {
    let mut above = text.get(..place.start as usize).unwrap_or_default();
    let own = text.get(above.len()..place.end as usize).unwrap_or_default();
    if !own.ends_with(b"}") || !above.ends_with(b"\n") {
        return place;
    }
    let comments = comments(text);
    let is_above = |comment: &&Range<usize>| comment.end <= place.start as usize;
    for comment in comments.iter().filter(is_above).rev() {
        let (before, behind) = above.split_at(comment.start);
        let (own, behind) = behind.split_at(comment.len());
        let is_for_tools = own.starts_with(b"//#") || memmem::find(own, b"shaderlint").is_some();
        let indent = before
            .iter()
            .rev()
            .take_while(|byte| matches!(byte, b' ' | b'\t'))
            .count();
        let before = &before[..before.len() - indent];
        if is_for_tools || !matches!(behind, b"\n" | b"\r\n") || !before.ends_with(b"\n") {
            break;
        }
        above = before;
    }
    let code = blank_comments(above);
    let code = code.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&code);
    let mut lines = code.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let goes_on = lines
        .clone()
        .rev()
        .nth(1)
        .is_some_and(|line| line.ends_with(b"\\"));
    if goes_on || lines.all(|line| line.is_empty() || line.starts_with(b"#")) {
        return place;
    }
    FileSpan {
        start: u32::try_from(above.len()).unwrap_or(place.start),
        ..place
    }
}

/// Removed text together with its line, where nothing else is on it; else with the blanks behind it. No empty line
/// stays at the start of a block, and no second one.
fn with_its_line(text: &[u8], place: FileSpan) -> FileSpan {
    let before = text.get(..place.start as usize).unwrap_or_default();
    let behind = text.get(place.end as usize..).unwrap_or_default();
    let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\r');
    let length = |count: usize| u32::try_from(count).unwrap_or(0);
    let indent = before.iter().rev().take_while(is_blank).count();
    let rest = behind.iter().take_while(is_blank).count();
    let above = before.get(..before.len() - indent).unwrap_or_default();
    let begins_line = matches!(above.last(), None | Some(b'\n'));
    match behind.get(rest) {
        Some(b'\n') if begins_line => {
            let next = behind.get(rest + 1..).unwrap_or_default();
            let empty = next.iter().take_while(is_blank).count();
            let code = above.trim_ascii_end();
            let newlines = above.iter().skip(code.len()).filter(|byte| **byte == b'\n');
            let is_first = code.ends_with(b"{") || newlines.count() > 1;
            let more = if is_first && next.get(empty) == Some(&b'\n') {
                empty + 1
            } else {
                0
            };
            FileSpan {
                start: place.start - length(indent),
                end: place.end + length(rest + 1 + more),
                ..place
            }
        }
        Some(b'\n') | None => place,
        Some(_) => FileSpan {
            end: place.end + length(rest),
            ..place
        },
    }
}

/// A block in the place of a statement. It begins on a line of its own where a statement precedes it, and is indented
/// like the `if` whose only statement it is.
fn block(text: &[u8], place: FileSpan, style: &Style<'_>, block: &str) -> FileEdit {
    let before = text.get(..place.start as usize).unwrap_or_default();
    let blanks = |text: &[u8]| {
        text.iter()
            .rev()
            .take_while(|byte| matches!(byte, b' ' | b'\t'))
            .count()
    };
    let width = blanks(before);
    let kept = before.len() - width;
    let moved = |by: usize| FileSpan {
        start: place.start.saturating_sub(u32::try_from(by).unwrap_or(0)),
        ..place
    };
    let last = kept.checked_sub(1).and_then(|last| before.get(last));
    // It may follow an `if` or a brace.
    if matches!(last, Some(b';' | b'}')) {
        return FileEdit {
            place: moved(width),
            text: format!("{}{}{}", style.newline, style.margin, style.lay_out(block)),
        };
    }
    let begins_line = matches!(last, None | Some(b'\n'));
    let above = before.get(..kept).unwrap_or_default().trim_ascii_end();
    let of_if = begins_line && (above.ends_with(b")") || above.ends_with(b"else"));
    let outer = Style::at(text, above.len()).filter(|outer| of_if && style.margin.starts_with(outer.margin));
    match outer {
        Some(outer) => FileEdit {
            place: moved(style.margin.len() - outer.margin.len()),
            text: outer.lay_out(block),
        },
        None => FileEdit {
            place,
            text: style.lay_out(block),
        },
    }
}

/// The end of the line of `offset` if only a `//` comment follows there, else `offset`.
fn end_of_line(text: &[u8], offset: u32) -> u32 {
    let rest = text.get(offset as usize..).unwrap_or_default();
    // A carriage return ends a `//` comment too.
    let mut lines = rest.split(|byte| matches!(byte, b'\n' | b'\r'));
    let line = lines.next().unwrap_or_default();
    let trimmed = line.trim_ascii();
    // A backslash at its end would make the next line part of the comment.
    let skippable = trimmed.is_empty() || (trimmed.starts_with(b"//") && !trimmed.ends_with(b"\\"));
    match u32::try_from(line.len()) {
        Ok(length) if skippable => offset + length,
        _ => offset,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_goes_with_its_comments() {
        let left = |file: &str| {
            let (start, end) = (
                file.find("void F").unwrap_or(0),
                file.find('}').map_or(0, |at| at + 1),
            );
            let place = FileSpan {
                file: MAIN_FILE,
                start: u32::try_from(start).unwrap_or(0),
                end: u32::try_from(end).unwrap_or(0),
            };
            let start = with_its_comments(file.as_bytes(), place).start as usize;
            file[..start].to_owned()
        };
        let behind = "void F()\n{\n}\nint y;\n";
        assert_eq!(
            left(&format!(
                "int x;\n\n// One.\r\n  /* Two\nlines. */\n// Three.\n{behind}"
            )),
            "int x;\n\n"
        );
        // These are not alone on their lines, or about something else.
        for kept in [
            "int x; // One.\n",
            "int x;\n// One.\n\n",
            "int x; /* One\n// two */\n",
            "#define M(x) x + \\\n// One.\n",
            "int x;\n// shaderlint: allow-file(some-rule)\n",
            "int x;\n//#region\n",
            "// About the file.\n",
            "\u{feff}// About\n// the file.\n",
            "#pragma once\n// About the file.\n",
        ] {
            assert_eq!(left(&format!("{kept}{behind}")), kept);
        }
    }

    #[test]
    fn text_goes_after_a_trailing_comment() {
        let at_semicolon = |file: &str| {
            let offset = file.find(';').map_or(0, |offset| offset + 1);
            end_of_line(file.as_bytes(), u32::try_from(offset).unwrap_or(0)) as usize - offset
        };
        assert_eq!(at_semicolon("uint g[4]; // why\r\nx"), 7);
        assert_eq!(at_semicolon("uint g[4];"), 0);
        assert_eq!(at_semicolon("uint g[4]; uint h;\n"), 0);
        assert_eq!(at_semicolon("uint g[4]; // why\r[numthreads(64, 1, 1)]\nx"), 7);
        assert_eq!(at_semicolon("uint g[4]; // goes on \\\nhere\n"), 0);
        assert_eq!(at_semicolon("uint g[4]; /* opens\n here */"), 0);
    }
}
