//! What an editor offers to do about findings.

use std::collections::HashMap;
use std::path::Path;

use lsp_types::{
    CodeAction, CodeActionKind, DocumentChanges, OneOf, OptionalVersionedTextDocumentIdentifier, Range,
    TextDocumentEdit, TextEdit, WorkspaceEdit,
};
use shaderlint_linter::{Diagnostic, Safety};
use similar::{DiffTag, TextDiff};

use super::findings;
use super::lines::{Encoding, Lines};
use super::session::Session;
use crate::looked::Looked;
use crate::paths;

/// Every fix of a file at once, which editors can be told to make on save.
pub(super) const FIX_ALL: CodeActionKind = CodeActionKind::new("source.fixAll.shaderlint");

/// What is written where the reason belongs.
const REASON: &str = "say why";

/// What can be done about a finding in the file `path`.
pub(super) fn actions(
    session: &Session,
    path: &Path,
    looked: &Looked,
    finding: &Diagnostic,
) -> Vec<CodeAction> {
    let encoding = session.client.encoding;
    let diagnostics = findings::diagnostic(looked, finding, encoding).map(|one| vec![one]);
    let action = |title: String, edit: WorkspaceEdit, is_preferred: bool| CodeAction {
        title,
        kind: Some(CodeActionKind::QUICKFIX),
        diagnostics: diagnostics.clone(),
        edit: Some(edit),
        is_preferred: is_preferred.then_some(true),
        ..CodeAction::default()
    };
    let mut actions = Vec::new();
    if let Some(fix) = &finding.fix {
        let edits: Option<Vec<TextEdit>> = fix
            .edits
            .iter()
            .map(|edit| {
                Some(TextEdit::new(
                    findings::range(looked, edit.place, encoding)?,
                    edit.text.clone(),
                ))
            })
            .collect();
        // All edits are of the unit's own file.
        let file = looked.sources.files.first();
        if let (Some(edits), Some(file)) = (edits, file) {
            let is_safe = fix.safety == Safety::Safe;
            let title = if is_safe {
                fix.title.clone()
            } else {
                format!("{} (unsafe)", fix.title)
            };
            actions
                .extend(edit(session, Path::new(&file.path), edits).map(|edit| action(title, edit, is_safe)));
        }
    }
    let allow = allow(looked, finding, encoding).and_then(|text_edit| edit(session, path, vec![text_edit]));
    actions.extend(allow.map(|edit| action(format!("Allow {} here", finding.rule), edit, false)));
    actions
}

/// A comment on a line of its own that allows the finding. `None` where a line cannot be put in.
fn allow(looked: &Looked, finding: &Diagnostic, encoding: Encoding) -> Option<TextEdit> {
    let text = &looked.sources.get(finding.primary.place.file)?.text;
    let lines = Lines::new(text, encoding);
    let number = lines.line_of(finding.primary.place.start as usize);
    let goes_on = |number: usize| lines.line(number).trim_ascii_end().ends_with(b"\\");
    // In a macro's definition, a line of its own would end it.
    if goes_on(number) || number.checked_sub(1).is_some_and(goes_on) {
        return None;
    }
    let line = lines.line(number);
    let margin = line.len() - line.trim_ascii_start().len();
    let margin = String::from_utf8_lossy(line.get(..margin)?);
    let end = if text.windows(2).any(|pair| pair == b"\r\n") {
        "\r\n"
    } else {
        "\n"
    };
    let start = lines.position(u32::try_from(lines.start_of(number)).ok()?);
    Some(TextEdit::new(
        Range::new(start, start),
        format!("{margin}// shaderlint: allow({}): {REASON}{end}", finding.rule),
    ))
}

/// The edits, for the version that is open.
pub(super) fn edit(session: &Session, path: &Path, edits: Vec<TextEdit>) -> Option<WorkspaceEdit> {
    let path = paths::here(path);
    let document = session.documents.get(&path);
    let uri = match document {
        Some(document) => document.uri.clone(),
        None => findings::uri_of(&path)?,
    };
    if !session.client.takes_versions {
        return Some(WorkspaceEdit::new(HashMap::from([(uri, edits)])));
    }
    Some(WorkspaceEdit {
        document_changes: Some(DocumentChanges::Edits(vec![TextDocumentEdit {
            text_document: OptionalVersionedTextDocumentIdentifier {
                uri,
                version: document.map(|document| document.version),
            },
            edits: edits.into_iter().map(OneOf::Left).collect(),
        }])),
        ..WorkspaceEdit::default()
    })
}

/// The same with other edits.
pub(super) fn filled(mut frame: WorkspaceEdit, edits: &[TextEdit]) -> WorkspaceEdit {
    match (&mut frame.changes, &mut frame.document_changes) {
        (Some(changes), _) => changes.values_mut().for_each(|of_file| *of_file = edits.to_vec()),
        (_, Some(DocumentChanges::Edits(documents))) => {
            for document in documents {
                document.edits = edits.iter().cloned().map(OneOf::Left).collect();
            }
        }
        _ => {}
    }
    frame
}

/// The edits, a run of lines each, that make one text of another: what is not changed stays where it is.
pub(super) fn difference(old: &[u8], new: &[u8], encoding: Encoding) -> Vec<TextEdit> {
    let diff = TextDiff::from_lines(old, new);
    let lines = Lines::new(old, encoding);
    let mut edits = Vec::new();
    let mut offset = 0;
    for op in diff.ops() {
        let length: usize = op
            .old_range()
            .filter_map(|line| diff.old_slice(line))
            .map(<[u8]>::len)
            .sum();
        if op.tag() != DiffTag::Equal {
            let text: Vec<&[u8]> = op.new_range().filter_map(|line| diff.new_slice(line)).collect();
            let position = |offset: usize| lines.position(u32::try_from(offset).unwrap_or(u32::MAX));
            edits.push(TextEdit::new(
                Range::new(position(offset), position(offset + length)),
                String::from_utf8_lossy(&text.concat()).into_owned(),
            ));
        }
        offset += length;
    }
    edits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changed_lines_are_edited() {
        let edits = difference(b"a\nb\nc\nd\n", b"a\nX\nY\nc\nd\ne\n", Encoding::Utf16);
        let shown: Vec<(u32, u32, &str)> = edits
            .iter()
            .map(|edit| (edit.range.start.line, edit.range.end.line, &*edit.new_text))
            .collect();
        assert_eq!(shown, [(1, 2, "X\nY\n"), (4, 4, "e\n")]);
        assert_eq!(difference(b"a", b"a", Encoding::Utf8), []);
    }
}
