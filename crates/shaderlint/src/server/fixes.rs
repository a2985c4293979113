//! The actions that an editor offers for findings.

use std::collections::HashMap;
use std::path::Path;

use lsp_types::{
    CodeAction, CodeActionKind, DocumentChanges, OneOf, OptionalVersionedTextDocumentIdentifier, Range,
    TextDocumentEdit, TextEdit, WorkspaceEdit,
};
use shaderlint_linter::{Diagnostic, FileEdit, Fix, OtherForm, Safety};
use similar::{DiffTag, TextDiff};

use super::findings;
use super::lines::{Encoding, Lines};
use super::session::Session;
use crate::check::file_report::FileReport;
use crate::support::paths;

/// The action that makes all fixes of a file at once. Editors can be configured to run it on save.
pub(super) const FIX_ALL: CodeActionKind = CodeActionKind::new("source.fixAll.shaderlint");

/// The action that makes the finding's fix.
pub(super) fn fix(session: &Session, checked: &FileReport, finding: &Diagnostic) -> Option<CodeAction> {
    let encoding = session.client.encoding;
    let fix = finding.fix.as_ref()?;
    let edit = edit(session, edited_file(checked)?, edits(checked, fix, encoding)?)?;
    let is_preferred = (fix.safety == Safety::Safe).then_some(true);
    Some(CodeAction {
        is_preferred,
        ..action(session, checked, finding, title(fix, ""), edit)
    })
}

pub(super) fn action(
    session: &Session,
    checked: &FileReport,
    finding: &Diagnostic,
    title: String,
    edit: WorkspaceEdit,
) -> CodeAction {
    CodeAction {
        title,
        kind: Some(CodeActionKind::QUICKFIX),
        diagnostics: session.diagnostic(checked, finding).map(|one| vec![one]),
        edit: Some(edit),
        ..CodeAction::default()
    }
}

/// The file of all edits of fixes: the unit's own.
pub(super) fn edited_file(checked: &FileReport) -> Option<&Path> {
    checked.sources.files.first().map(|file| Path::new(&file.path))
}

fn edits(checked: &FileReport, fix: &Fix<FileEdit>, encoding: Encoding) -> Option<Vec<TextEdit>> {
    let edits = fix.edits.iter().map(|edit| {
        let range = findings::range(checked, edit.place, encoding)?;
        Some(TextEdit::new(range, edit.text.clone()))
    });
    edits.collect()
}

/// The title of the fix. `how` distinguishes it from another form of the fix.
fn title(fix: &Fix<FileEdit>, how: &str) -> String {
    let unsafe_ = if fix.safety == Safety::Safe {
        ""
    } else {
        " (unsafe)"
    };
    format!("{}{how}{unsafe_}", fix.title)
}

/// The fix of `finding` in its other form, if `checked` has one. `checked` is the report of a check that
/// prefers this form. The title and the edits replace those of `frame`.
pub(super) fn in_other_form(
    finding: &Diagnostic,
    checked: &FileReport,
    frame: CodeAction,
    encoding: Encoding,
) -> Option<CodeAction> {
    let other_form = finding.fix.as_ref()?.other_form.as_ref()?;
    let mut others = checked.report.findings.iter();
    let is_it =
        |other: &&Diagnostic| other.rule == finding.rule && other.primary.place == finding.primary.place;
    let fix = others.find(is_it)?.fix.as_ref()?;
    let is_in_it = |back: &OtherForm| back.form != other_form.form;
    if !fix.other_form.as_ref().is_some_and(is_in_it) {
        return None;
    }
    Some(CodeAction {
        title: title(fix, &format!(" {}", other_form.text)),
        edit: Some(filled(frame.edit?, &edits(checked, fix, encoding)?)),
        ..frame
    })
}

/// The edits, for the open version of the document.
pub(super) fn edit(session: &Session, path: &Path, edits: Vec<TextEdit>) -> Option<WorkspaceEdit> {
    let path = paths::here(path);
    let document = session.documents.get(&path);
    let uri = session.uri(&path)?;
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

/// Replaces the edits in `frame`.
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

/// The edits that turn `old` into `new`. Each replaces a run of lines, and unchanged lines stay in place.
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
