//! The actions that silence a finding: comments in the file, and a level in the configuration.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use lsp_types::{
    CodeAction, CreateFile, CreateFileOptions, DocumentChangeOperation, DocumentChanges, ResourceOp,
    TextEdit, WorkspaceEdit,
};
use serde::Deserialize;
use shaderlint_linter::Diagnostic;
use toml::Spanned;

use super::fixes::{action, edit};
use super::lines::{Encoding, Lines};
use super::session::Session;
use crate::check::file_report::FileReport;
use crate::support::paths::here;
use crate::workspace::config::shaderlint_toml::NAMES;

/// The placeholder for the reason.
const REASON: &str = "say why";

/// The actions that silence a finding in the file `path`, the narrowest first.
pub(super) fn actions(
    session: &Session,
    path: &Path,
    checked: &FileReport,
    finding: &Diagnostic,
) -> Vec<CodeAction> {
    let (rule, encoding) = (finding.rule, session.client.encoding);
    let text = checked
        .sources
        .get(finding.primary.place.file)
        .map(|file| &*file.text);
    let here = text.and_then(|text| comment(text, finding, encoding));
    let here = here.and_then(|one| edit(session, path, vec![one]));
    let in_file = text.and_then(|text| edit(session, path, vec![comment_on_file(text, rule, encoding)]));
    let off = turn_off(session, path, rule);
    let titles = [
        here.map(|edit| (format!("Allow {rule} here"), edit)),
        in_file.map(|edit| (format!("Allow {rule} in this file"), edit)),
        off.map(|(name, edit)| (format!("Turn off {rule} in {name}"), edit)),
    ];
    let actions = titles.into_iter().flatten();
    actions
        .map(|(title, edit)| action(session, checked, finding, title, edit))
        .collect()
}

/// A comment on a line of its own that allows the finding. `None` if no line can be inserted there.
fn comment(text: &[u8], finding: &Diagnostic, encoding: Encoding) -> Option<TextEdit> {
    let lines = Lines::new(text, encoding);
    let number = lines.line_of(finding.primary.place.start as usize);
    let goes_on = |number: usize| lines.line(number).trim_ascii_end().ends_with(b"\\");
    // In the definition of a macro, the new line would end the definition.
    if goes_on(number) || number.checked_sub(1).is_some_and(goes_on) {
        return None;
    }
    let line = lines.line(number);
    let margin = line.len() - line.trim_ascii_start().len();
    let margin = String::from_utf8_lossy(line.get(..margin)?);
    let start = u32::try_from(lines.start_of(number)).ok()?;
    let end = end_of_lines(text);
    Some(TextEdit::new(
        lines.range(start, start),
        format!("{margin}// shaderlint: allow({}): {REASON}{end}", finding.rule),
    ))
}

/// A comment at the top of the file that allows the rule in it.
fn comment_on_file(text: &[u8], rule: &str, encoding: Encoding) -> TextEdit {
    const MARK: &str = "\u{feff}";
    let start = if text.starts_with(MARK.as_bytes()) {
        MARK.len() as u32
    } else {
        0
    };
    let end = end_of_lines(text);
    TextEdit::new(
        Lines::new(text, encoding).range(start, start),
        format!("// shaderlint: allow-file({rule}): {REASON}{end}"),
    )
}

fn end_of_lines(text: &[u8]) -> &'static str {
    if text.windows(2).any(|pair| pair == b"\r\n") {
        "\r\n"
    } else {
        "\n"
    }
}

/// An edit that turns a rule off in the configuration of the file `path`, and the name of the configuration. If the
/// file has none, the edit creates one in the workspace folder.
fn turn_off(session: &Session, path: &Path, rule: &str) -> Option<(String, WorkspaceEdit)> {
    let (target, error) = session.target(path);
    let Some(file) = target.project.files.first().filter(|_| error.is_none()) else {
        return create(session, path, rule).filter(|_| error.is_none());
    };
    let (file, name) = (here(file), file.file_name()?.to_str()?);
    if !NAMES.contains(&name) {
        return None;
    }
    let text = String::from_utf8(session.options.files.bytes(&file).ok()?).ok()?;
    let (place, new) = turned_off(&text, rule)?;
    let [start, end] = [place.start, place.end].map(u32::try_from);
    let range = Lines::new(text.as_bytes(), session.client.encoding).range(start.ok()?, end.ok()?);
    Some((
        name.to_owned(),
        edit(session, &file, vec![TextEdit::new(range, new)])?,
    ))
}

fn create(session: &Session, path: &Path, rule: &str) -> Option<(String, WorkspaceEdit)> {
    let mut folders = session.folders.iter();
    let folder = folders.find(|folder| path.starts_with(folder))?;
    let [name, _] = NAMES;
    let file: PathBuf = folder.join(name);
    if !session.client.creates_files || file.exists() {
        return None;
    }
    let (_, text) = turned_off("", rule)?;
    let created = edit(
        session,
        &file,
        vec![TextEdit::new(lsp_types::Range::default(), text)],
    )?;
    let Some(DocumentChanges::Edits(edits)) = created.document_changes else {
        return None;
    };
    let operation = DocumentChangeOperation::Op(ResourceOp::Create(CreateFile {
        uri: session.uri(&file)?,
        options: Some(CreateFileOptions {
            overwrite: None,
            ignore_if_exists: Some(true),
        }),
        annotation_id: None,
    }));
    let edits = edits.into_iter().map(DocumentChangeOperation::Edit);
    let operations = std::iter::once(operation).chain(edits).collect();
    let edit = WorkspaceEdit {
        document_changes: Some(DocumentChanges::Operations(operations)),
        ..WorkspaceEdit::default()
    };
    Some((name.to_owned(), edit))
}

/// The part of a configuration that has levels.
#[derive(Deserialize)]
struct Leveled {
    #[serde(default)]
    levels: BTreeMap<String, Spanned<toml::Value>>,
}

/// The bytes of a configuration to replace so that it turns a rule off, and what to put there. `None` if this cannot
/// be told from the text.
fn turned_off(text: &str, rule: &str) -> Option<(Range<usize>, String)> {
    const OFF: &str = "\"off\"";
    let before: Leveled = toml::from_str(text).ok()?;
    let end = end_of_lines(text.as_bytes());
    let header = text.split_inclusive('\n').scan(0, |offset, line| {
        *offset += line.len();
        Some((*offset, line))
    });
    let is_header = |line: &str| {
        line.split('#')
            .next()
            .is_some_and(|code| code.trim() == "[levels]")
    };
    let header = header
        .filter(|(_, line)| is_header(line))
        .map(|(end, line)| (end, line.ends_with('\n')));
    let (place, new) = match (before.levels.get(rule), header.last()) {
        (Some(level), _) => (level.span(), OFF.to_owned()),
        (None, Some((at, true))) => (at..at, format!("{rule} = {OFF}{end}")),
        (None, Some((at, false))) => (at..at, format!("{end}{rule} = {OFF}{end}")),
        (None, None) => {
            let gap = match text {
                "" => "",
                _ if text.ends_with('\n') => end,
                _ => &end.repeat(2),
            };
            let at = text.len();
            (at..at, format!("{gap}[levels]{end}{rule} = {OFF}{end}"))
        }
    };
    // A header may stand within a text, or levels elsewhere: what the new text means decides.
    let mut changed = text.to_owned();
    changed.replace_range(place.clone(), &new);
    let [mut before, mut after] = [text, &changed].map(toml::from_str::<toml::Table>);
    let levels = |table: &mut toml::Table| {
        let levels = table.entry("levels").or_insert_with(|| toml::Table::new().into());
        levels.as_table_mut()?.remove(rule)
    };
    let _ = before.as_mut().ok().and_then(levels);
    let level = after.as_mut().ok().and_then(levels)?;
    (level.as_str() == Some("off") && before.ok()? == after.ok()?).then_some((place, new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_turned_off_where_the_levels_stand() {
        for (text, expected) in [
            ("", Some("[levels]\na-rule = \"off\"\n")),
            (
                "profile = \"cs_6_6\"",
                Some("profile = \"cs_6_6\"\n\n[levels]\na-rule = \"off\"\n"),
            ),
            (
                "[levels] # ours\r\nother = \"info\"\r\n",
                Some("[levels] # ours\r\na-rule = \"off\"\r\nother = \"info\"\r\n"),
            ),
            ("[levels]", Some("[levels]\na-rule = \"off\"\n")),
            (
                "levels.a-rule = \"warn\" # why\n",
                Some("levels.a-rule = \"off\" # why\n"),
            ),
            (
                "levels = { a-rule = \"warn\" }\n",
                Some("levels = { a-rule = \"off\" }\n"),
            ),
            // Another table named so, and levels that no line can be added to.
            ("a = '''\n[levels]\n'''\n", None),
            ("levels = { other = \"warn\" }\n", None),
            ("levels = 3\n", None),
            ("a = ", None),
        ] {
            let changed = turned_off(text, "a-rule").map(|(place, new)| {
                let mut changed = text.to_owned();
                changed.replace_range(place, &new);
                changed
            });
            assert_eq!(changed.as_deref(), expected, "{text}");
        }
    }
}
