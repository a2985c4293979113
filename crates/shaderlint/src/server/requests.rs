//! The notifications and requests of the editor.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use lsp_server::{ErrorCode, Notification, Request, RequestId, Response};
use lsp_types::notification::{
    Cancel, DidChangeConfiguration, DidChangeTextDocument, DidChangeWatchedFiles, DidChangeWorkspaceFolders,
    DidCloseTextDocument, DidOpenTextDocument, DidSaveTextDocument, Initialized, Notification as _,
};
use lsp_types::request::{
    CodeActionRequest, DocumentDiagnosticRequest, DocumentLinkRequest, HoverRequest, Request as _,
    WorkspaceConfiguration, WorkspaceDiagnosticRequest,
};
use lsp_types::{
    CancelParams, CodeAction, CodeActionKind, CodeActionParams, CodeActionTriggerKind, ConfigurationItem,
    ConfigurationParams, DidChangeConfigurationParams, DidChangeTextDocumentParams,
    DidChangeWatchedFilesParams, DidChangeWorkspaceFoldersParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, DidSaveTextDocumentParams, DocumentDiagnosticParams, DocumentLinkParams,
    Hover, HoverContents, HoverParams, MarkupContent, MarkupKind, NumberOrString, Uri,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use shaderlint_linter::{Diagnostic, suppressions};

use super::document::Document;
use super::findings;
use super::fixes::{self, FIX_ALL};
use super::lines::Lines;
use super::session::{Finished, Session};
use super::silence;
use super::workspace::check;
use crate::check::file_report::FileReport;
use crate::check::options::{FixMode, Target};
use crate::check::readings::Role;
use crate::support::cancellation::Cancellation;
use crate::support::paths::here;
use crate::support::{error_text, panics, uri};

impl Session {
    pub fn on_notification(&mut self, notification: Notification) {
        let method = notification.method.clone();
        let done = panics::as_error("internal error, please report", || self.notice(notification));
        if let Err(error) = done {
            self.client
                .log(format!("{method}: {}", error_text::of_error(&error)));
        }
    }

    fn notice(&mut self, notification: Notification) -> Result<()> {
        let params = notification.params;
        match &*notification.method {
            Initialized::METHOD => {
                self.watch_workspace();
                if self.client.has_configuration {
                    self.ask_for_configuration();
                }
            }
            DidOpenTextDocument::METHOD => {
                let document = from::<DidOpenTextDocumentParams>(params)?.text_document;
                if let Some(path) = self.path_of(document.uri.as_str()) {
                    self.open(&path, Document::new(document));
                }
            }
            DidChangeTextDocument::METHOD => self.change(from(params)?),
            DidSaveTextDocument::METHOD => {
                let params: DidSaveTextDocumentParams = from(params)?;
                if let Some(path) = self.path_of(params.text_document.uri.as_str()) {
                    self.saved(&path);
                }
            }
            DidCloseTextDocument::METHOD => {
                let params: DidCloseTextDocumentParams = from(params)?;
                if let Some(path) = self.path_of(params.text_document.uri.as_str()) {
                    self.close(&path);
                }
            }
            DidChangeConfiguration::METHOD => {
                let params: DidChangeConfigurationParams = from(params)?;
                if self.client.has_configuration {
                    self.ask_for_configuration();
                } else {
                    self.configure(params.settings, Vec::new());
                }
            }
            DidChangeWatchedFiles::METHOD => {
                let params: DidChangeWatchedFilesParams = from(params)?;
                let changed = params.changes.iter();
                self.notice_changes(changed.filter_map(|change| Some((file_of(&change.uri)?, change.typ))));
            }
            DidChangeWorkspaceFolders::METHOD => {
                let event = from::<DidChangeWorkspaceFoldersParams>(params)?.event;
                let paths = |folders: &[lsp_types::WorkspaceFolder]| -> Vec<PathBuf> {
                    folders.iter().filter_map(|folder| file_of(&folder.uri)).collect()
                };
                let removed = paths(&event.removed);
                self.folders.retain(|folder| !removed.contains(folder));
                self.folders.extend(paths(&event.added));
                self.restart();
                if self.client.has_configuration {
                    self.ask_for_configuration();
                }
            }
            Cancel::METHOD => self.cancel(from(params)?),
            _ => {}
        }
        Ok(())
    }

    /// The path of a document. A document that is no file, such as a new one, has one in the first workspace folder,
    /// so that the folder's configuration holds for it; no other file is beside it.
    fn path_of(&self, uri: &str) -> Option<PathBuf> {
        let mut open = self.documents.iter();
        if let Some((path, _)) = open.find(|(_, document)| document.uri.as_str() == uri) {
            return Some(path.clone());
        }
        match uri.split_once(':')? {
            ("file", _) => Some(here(&uri::path(uri)?)),
            (scheme, rest) => {
                let folder = self.root().join(format!("{scheme}:"));
                Some(folder.join(rest.replace(['/', '\\'], "_")))
            }
        }
    }

    fn ask_for_configuration(&mut self) {
        let folders = self.folders.clone();
        let scopes = folders.iter().map(|folder| self.uri(folder));
        let items = std::iter::once(None)
            .chain(scopes)
            .map(|scope_uri| ConfigurationItem {
                scope_uri,
                section: Some("shaderlint".to_owned()),
            });
        let items = items.collect();
        let id = self
            .client
            .ask::<WorkspaceConfiguration>(ConfigurationParams { items });
        self.configuration = Some((id, folders));
    }

    pub fn on_response(&mut self, response: Response) {
        let Some((_, folders)) = self.configuration.take_if(|(id, _)| *id == response.id) else {
            return;
        };
        if let Ok(serde_json::Value::Array(values)) = response.response_result {
            let mut values = values.into_iter();
            // An editor without settings keeps those that it gave at the start.
            let common = values.next().unwrap_or_default();
            self.configure(common, folders.into_iter().zip(values).collect());
        }
    }

    fn change(&mut self, params: DidChangeTextDocumentParams) {
        let Some(path) = self.path_of(params.text_document.uri.as_str()) else {
            return;
        };
        let encoding = self.client.encoding;
        let Some(document) = self.documents.get_mut(&path) else {
            return;
        };
        document.version = params.text_document.version;
        for change in params.content_changes {
            let Some(range) = change.range else {
                document.text = change.text;
                continue;
            };
            let lines = Lines::new(document.text.as_bytes(), encoding);
            let (start, end) = (lines.offset(range.start), lines.offset(range.end));
            document.text.replace_range(start..end.max(start), &change.text);
        }
        self.touch(&path);
        self.edited(&path);
    }

    fn cancel(&mut self, params: CancelParams) {
        let id = match params.id {
            NumberOrString::Number(number) => number.into(),
            NumberOrString::String(text) => text.into(),
        };
        let before = self.waiting.len();
        self.waiting.retain(|(_, request)| request.id != id);
        let in_work = self.in_work.remove(&id);
        if let Some(stop) = &in_work {
            stop.set();
        }
        let held = self.held.take_if(|held| held.id == id);
        if self.waiting.len() < before || in_work.is_some() || held.is_some() {
            self.client.respond(canceled(id));
        }
    }

    /// Ends all work, and answers the open requests and then this one.
    pub fn shut_down(&mut self, id: RequestId) {
        let searching = self.searching.iter();
        let running = self.units.values().filter_map(|unit| unit.running.as_ref());
        for stop in searching.chain(running).chain(self.in_work.values()) {
            stop.set();
        }
        let waiting = self.waiting.drain(..).map(|(_, request)| request.id);
        let held = self.held.take().map(|held| held.id);
        for open in waiting.chain(self.in_work.drain().map(|(id, _)| id)).chain(held) {
            self.client.respond(canceled(open));
        }
        self.client.respond(Response::new_ok(id, ()));
    }

    pub fn on_request(&mut self, request: Request) {
        if request.method == WorkspaceDiagnosticRequest::METHOD {
            self.hold(request);
            return;
        }
        let path = request.params["textDocument"]["uri"]
            .as_str()
            .and_then(|uri| self.path_of(uri));
        let is_about_file = [
            DocumentDiagnosticRequest::METHOD,
            HoverRequest::METHOD,
            CodeActionRequest::METHOD,
            DocumentLinkRequest::METHOD,
        ]
        .contains(&&*request.method);
        match path {
            Some(path) if is_about_file => {
                self.touch(&path);
                self.waiting.push((path, request));
            }
            None if is_about_file => self.answer(Path::new(""), request),
            _ => {
                let message = format!("{} is not served", request.method);
                let response = Response::new_err(request.id, ErrorCode::MethodNotFound as i32, message);
                self.client.respond(response);
            }
        }
    }

    /// Answers a request about a file that is up to date.
    pub fn answer(&mut self, path: &Path, request: Request) {
        let Request { id, method, params } = request;
        let is_open = self.documents.contains_key(path);
        if is_open && method == CodeActionRequest::METHOD {
            let done = panics::as_error("", || Ok(self.start_actions(path, &id, &from(params.clone())?)));
            if done.is_ok_and(|is_in_work| is_in_work) {
                return;
            }
        }
        let stop = Cancellation::default();
        match &*method {
            DocumentDiagnosticRequest::METHOD if !is_open => {
                let work = self.closed(path, &stop);
                return self.in_pool(id, stop, || {
                    from::<DocumentDiagnosticParams>(params)?;
                    to(work()?)
                });
            }
            DocumentLinkRequest::METHOD => {
                let work = self.links(path, &stop);
                return self.in_pool(id, stop, || {
                    from::<DocumentLinkParams>(params)?;
                    to(work()?)
                });
            }
            _ => {}
        }
        let response = answered(id, || match &*method {
            DocumentDiagnosticRequest::METHOD => {
                let params: DocumentDiagnosticParams = from(params)?;
                to(self.report(path, params.previous_result_id.as_deref()))
            }
            HoverRequest::METHOD => to(self.hover(path, &from(params)?)),
            _ => to(self.code_actions(path, &from(params)?).concat()),
        });
        self.client.respond(response);
    }

    fn hover(&self, path: &Path, params: &HoverParams) -> Option<Hover> {
        let document = self.documents.get(path)?;
        #[cfg(test)]
        panics::if_asked(document.text.as_bytes(), "panic while hovering");
        let lines = Lines::new(document.text.as_bytes(), self.client.encoding);
        let offset = lines.offset(params.text_document_position_params.position);
        let mut parts = Vec::new();
        for (_, finding) in self.findings(path) {
            let place = finding.primary.place;
            if (place.start as usize..=place.end as usize).contains(&offset) {
                parts.push(findings::explained(&finding));
            }
        }
        // A comment that allows a rule shows the description of the rule.
        let (allowed, _) = suppressions(document.text.as_bytes());
        let ids = allowed.iter().flat_map(|one| &one.ids);
        let named = ids.filter(|(place, _)| (place.start..=place.end).contains(&offset));
        parts.extend(named.map(|(_, id)| findings::about(id)));
        (!parts.is_empty()).then(|| Hover {
            contents: HoverContents::Markup(MarkupContent {
                kind: MarkupKind::Markdown,
                value: parts.join("\n---\n\n"),
            }),
            range: None,
        })
    }

    /// The fixes in a range, and the other actions.
    fn code_actions(&self, path: &Path, params: &CodeActionParams) -> [Vec<CodeAction>; 2] {
        let found = self.found_in(path, params);
        let mut fixes: Vec<CodeAction> = Vec::new();
        for (checked, finding) in &found {
            let Some(fix) = fixes::fix(self, checked, finding) else {
                continue;
            };
            // One barrier may end several races.
            match fixes.iter_mut().find(|known| known.edit == fix.edit) {
                Some(known) => {
                    let ended = fix.diagnostics.into_iter().flatten();
                    known.diagnostics.get_or_insert_default().extend(ended);
                }
                None => fixes.push(fix),
            }
        }
        let silences = found
            .iter()
            .flat_map(|(checked, finding)| silence::actions(self, path, checked, finding));
        [fixes, silences.collect()]
    }

    /// The findings in a range, if the editor asks for quick fixes.
    fn found_in(&self, path: &Path, params: &CodeActionParams) -> Vec<(Arc<FileReport>, Diagnostic)> {
        if !wants(params, &CodeActionKind::QUICKFIX).unwrap_or(true) {
            return Vec::new();
        }
        let mut found = self.findings(path);
        found.retain(|(checked, finding)| {
            let range = findings::range(checked, finding.primary.place, self.client.encoding);
            range.is_some_and(|range| range.start <= params.range.end && params.range.start <= range.end)
        });
        found
    }

    /// If some actions need another check, the pool computes them and answers the request. Returns whether
    /// there are any. The answer has the fixes first, then these actions, then the others.
    fn start_actions(&mut self, path: &Path, id: &RequestId, params: &CodeActionParams) -> bool {
        let stop = Cancellation::default();
        let mut works: Vec<Work> = Vec::new();
        // An editor that asks at each move of the cursor only shows a sign.
        if params.context.trigger_kind != Some(CodeActionTriggerKind::AUTOMATIC) {
            let found = self.found_in(path, params);
            works.extend(
                found
                    .into_iter()
                    .filter_map(|(checked, finding)| self.other_form(&checked, finding, &stop)),
            );
        }
        if wants(params, &FIX_ALL).unwrap_or(false) {
            works.push(self.fix_all(path, &stop));
        }
        if works.is_empty() {
            return false;
        }
        let [mut actions, others] = self.code_actions(path, params);
        self.in_pool(id.clone(), stop, move || {
            for work in works {
                actions.extend(work()?);
            }
            actions.extend(others);
            to(actions)
        });
        true
    }

    /// Answers a request with the result of `work`, which `stop` ends.
    fn in_pool(
        &mut self,
        id: RequestId,
        stop: Cancellation,
        work: impl FnOnce() -> Result<serde_json::Value> + Send + 'static,
    ) {
        self.in_work.insert(id.clone(), stop);
        let finished = self.finished.clone();
        self.pool.spawn(move || {
            let _ = finished.send(Finished::Answer(answered(id, work)));
        });
    }

    /// Keeps a request for the diagnostics of the workspace until something has changed: editors ask again after
    /// each answer.
    fn hold(&mut self, request: Request) {
        if let Some(before) = self.held.replace(request) {
            self.client.respond(canceled(before.id));
        }
    }

    pub fn answer_on_change(&mut self) {
        let has_changed = self.answered_changes != self.changes;
        let Some(Request { id, params, .. }) = self.held.take_if(|_| has_changed) else {
            return;
        };
        self.answered_changes = self.changes;
        match from(params) {
            Ok(params) => {
                let stop = Cancellation::default();
                let work = self.all_closed(params, &stop);
                self.in_pool(id, stop, || to(work()?));
            }
            Err(error) => self.client.respond(answered(id, || Err(error))),
        }
    }

    /// The work that computes the finding's fix in its other form, if it has one.
    fn other_form(&self, checked: &FileReport, finding: Diagnostic, stop: &Cancellation) -> Option<Work> {
        let form = finding.fix.as_ref()?.other_form.as_ref()?.form;
        let file = fixes::edited_file(checked)?;
        let edit = fixes::edit(self, file, Vec::new())?;
        let frame = fixes::action(self, checked, &finding, String::new(), edit);
        let (encoding, options) = (self.client.encoding, self.options.with(None, stop));
        let (Target { input, project }, _) = self.target(file);
        let mut project = Arc::unwrap_or_clone(project);
        project.form = form;
        let project = Arc::new(project);
        Some(Box::new(move || {
            let role = Role::for_fixes(&options.files, &input.path);
            let checked = check(&Target { input, project }, &options, role)?;
            Ok(fixes::in_other_form(&finding, &checked, frame, encoding))
        }))
    }

    /// The work that computes the file with all its fixes made.
    fn fix_all(&self, path: &Path, stop: &Cancellation) -> Work {
        let encoding = self.client.encoding;
        let document = self.documents.get(path);
        let text = document.map(|document| document.text.clone()).unwrap_or_default();
        // An empty list of edits names the document. The edits are filled in later.
        let frame = fixes::edit(self, path, Vec::new());
        let mode = FixMode {
            unsafe_too: self.settings.of(self.folder_of(path)).unsafe_fixes,
            in_place: false,
        };
        let options = self.options.with(Some(mode), stop);
        let (target, _) = self.target(path);
        Box::new(move || {
            let role = Role::for_fixes(&options.files, &target.input.path);
            let checked = check(&target, &options, role)?;
            let new = checked.fixed.diff.map(|(_, new)| new);
            let edits = new.map(|new| fixes::difference(text.as_bytes(), &new, encoding));
            Ok(edits.zip(frame).map(|(edits, frame)| CodeAction {
                title: "Apply all fixes of shaderlint".to_owned(),
                kind: Some(FIX_ALL),
                edit: Some(fixes::filled(frame, &edits)),
                ..CodeAction::default()
            }))
        })
    }
}

/// Computes an action to offer.
type Work = Box<dyn FnOnce() -> Result<Option<CodeAction>> + Send>;

/// Whether the editor asks for actions of this kind. `None` if it names no kinds.
fn wants(params: &CodeActionParams, kind: &CodeActionKind) -> Option<bool> {
    let only = params.context.only.as_ref()?;
    Some(only.iter().any(|of| is_part(kind, of)))
}

/// Whether `kind` is `of` or a sub-kind of it: `source.fixAll` is a sub-kind of `source`.
fn is_part(kind: &CodeActionKind, of: &CodeActionKind) -> bool {
    let rest = kind.as_str().strip_prefix(of.as_str());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.') || of.as_str().is_empty())
}

fn canceled(id: RequestId) -> Response {
    Response::new_err(id, ErrorCode::RequestCanceled as i32, "canceled".to_owned())
}

/// The answer to a request. A panic becomes an error, and the server stays up.
fn answered(id: lsp_server::RequestId, work: impl FnOnce() -> Result<serde_json::Value>) -> Response {
    match panics::as_error("internal error, please report", work) {
        Ok(value) => Response::new_ok(id, value),
        Err(error) => {
            // Only parameters are read from JSON here.
            let code = if error.is::<serde_json::Error>() {
                ErrorCode::InvalidParams
            } else {
                ErrorCode::InternalError
            };
            Response::new_err(id, code as i32, error_text::of_error(&error))
        }
    }
}

fn from<T: DeserializeOwned>(params: serde_json::Value) -> Result<T> {
    Ok(serde_json::from_value(params)?)
}

fn to(value: impl Serialize) -> Result<serde_json::Value> {
    Ok(serde_json::to_value(value)?)
}

fn file_of(uri: &Uri) -> Option<PathBuf> {
    Some(here(&uri::path(uri.as_str())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_answer() {
        let response = answered(1.into(), || panic!("no {}", 1));
        let error = response.response_result.expect_err("an error");
        assert!(
            error.message.starts_with("internal error, please report: no 1"),
            "{}",
            error.message
        );
    }

    #[test]
    fn kinds_are_parts_of_kinds() {
        let kind = |text: &str| CodeActionKind::from(text.to_owned());
        assert!(is_part(&FIX_ALL, &kind("source")) && is_part(&FIX_ALL, &kind("source.fixAll")));
        assert!(!is_part(&FIX_ALL, &kind("source.fix")) && !is_part(&FIX_ALL, &kind("quickfix")));
        assert!(is_part(&CodeActionKind::QUICKFIX, &kind("")));
    }
}
