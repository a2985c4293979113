//! What an editor says and asks.

use std::path::{Path, PathBuf};

use anyhow::Result;
use lsp_server::{ErrorCode, Notification, Request, Response};
use lsp_types::notification::{
    Cancel, DidChangeConfiguration, DidChangeTextDocument, DidChangeWatchedFiles, DidChangeWorkspaceFolders,
    DidCloseTextDocument, DidOpenTextDocument, DidSaveTextDocument, Initialized, Notification as _,
};
use lsp_types::request::{
    CodeActionRequest, DocumentDiagnosticRequest, HoverRequest, Request as _, WorkspaceConfiguration,
};
use lsp_types::{
    CancelParams, CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, ConfigurationItem,
    ConfigurationParams, DidChangeConfigurationParams, DidChangeTextDocumentParams,
    DidChangeWatchedFilesParams, DidChangeWorkspaceFoldersParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, DidSaveTextDocumentParams, DocumentDiagnosticParams, Hover, HoverContents,
    HoverParams, MarkupContent, MarkupKind, NumberOrString, Uri,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use shaderlint_linter::suppressions;

use super::document::Document;
use super::findings;
use super::fixes::{self, FIX_ALL};
use super::lines::Lines;
use super::session::{Done, Session};
use super::workspace::look;
use crate::options::FixMode;
use crate::paths::here;
use crate::stop::Stop;
use crate::variants::Role;
use crate::{panics, uri, wording};

impl Session {
    pub fn on_notification(&mut self, notification: Notification) {
        let method = notification.method.clone();
        let done = panics::as_error("internal error, please report", || self.notice(notification));
        if let Err(error) = done {
            self.client
                .log(format!("{method}: {}", wording::of_error(&error)));
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
                if let Some(path) = path_of(&document.uri) {
                    self.open(&path, Document::new(document));
                }
            }
            DidChangeTextDocument::METHOD => self.change(from(params)?),
            DidSaveTextDocument::METHOD => {
                let params: DidSaveTextDocumentParams = from(params)?;
                if let Some(path) = path_of(&params.text_document.uri) {
                    self.saved(&path);
                }
            }
            DidCloseTextDocument::METHOD => {
                let params: DidCloseTextDocumentParams = from(params)?;
                if let Some(path) = path_of(&params.text_document.uri) {
                    self.close(&path);
                }
            }
            DidChangeConfiguration::METHOD => {
                let params: DidChangeConfigurationParams = from(params)?;
                if self.client.has_configuration {
                    self.ask_for_configuration();
                } else {
                    self.configure(params.settings);
                }
            }
            DidChangeWatchedFiles::METHOD => {
                let params: DidChangeWatchedFilesParams = from(params)?;
                let changed = params.changes.iter();
                self.notice_changes(changed.filter_map(|change| Some((path_of(&change.uri)?, change.typ))));
            }
            DidChangeWorkspaceFolders::METHOD => {
                let event = from::<DidChangeWorkspaceFoldersParams>(params)?.event;
                let paths = |folders: &[lsp_types::WorkspaceFolder]| -> Vec<PathBuf> {
                    folders.iter().filter_map(|folder| path_of(&folder.uri)).collect()
                };
                let removed = paths(&event.removed);
                self.folders.retain(|folder| !removed.contains(folder));
                self.folders.extend(paths(&event.added));
                self.restart();
            }
            Cancel::METHOD => self.cancel(from(params)?),
            _ => {}
        }
        Ok(())
    }

    fn ask_for_configuration(&mut self) {
        let id = self.client.ask::<WorkspaceConfiguration>(ConfigurationParams {
            items: vec![ConfigurationItem {
                scope_uri: None,
                section: Some("shaderlint".to_owned()),
            }],
        });
        self.configuration = Some(id);
    }

    pub fn on_response(&mut self, response: Response) {
        if self.configuration.as_ref() == Some(&response.id) {
            let answer = response.response_result.ok();
            let settings = answer.and_then(|values| values.get(0).cloned());
            // Who has nothing to say leaves what was said at the start.
            if let Some(settings) = settings.filter(|settings| !settings.is_null()) {
                self.configure(settings);
            }
        }
    }

    fn change(&mut self, params: DidChangeTextDocumentParams) {
        let Some(path) = path_of(&params.text_document.uri) else {
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
        if self.waiting.len() < before || in_work.is_some() {
            let message = "canceled".to_owned();
            self.client
                .respond(Response::new_err(id, ErrorCode::RequestCanceled as i32, message));
        }
    }

    pub fn on_request(&mut self, request: Request) {
        let path = request.params["textDocument"]["uri"].as_str().and_then(here_of);
        let is_about_file = [
            DocumentDiagnosticRequest::METHOD,
            HoverRequest::METHOD,
            CodeActionRequest::METHOD,
        ]
        .contains(&&*request.method);
        match path {
            Some(path) if is_about_file => {
                self.touch(&path);
                self.waiting.push((path, request));
            }
            // What is not in a file is not looked at.
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
        if is_open && method == CodeActionRequest::METHOD && wants_fix_all(&params) {
            let stop = Stop::default();
            self.in_work.insert(id.clone(), stop.clone());
            // Others may be asked for beside it.
            let others = panics::as_error("", || Ok(self.code_actions(path, &from(params)?)));
            self.fix_all(path, id, &stop, others.unwrap_or_default());
            return;
        }
        let response = answered(id, || match &*method {
            DocumentDiagnosticRequest::METHOD => {
                let params: DocumentDiagnosticParams = from(params)?;
                to(self.report(path, params.previous_result_id.as_deref()))
            }
            HoverRequest::METHOD => to(self.hover(path, &from(params)?)),
            _ => to(self.code_actions(path, &from(params)?)),
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
        // To a comment that allows a rule belongs what the rule is.
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

    fn code_actions(&self, path: &Path, params: &CodeActionParams) -> Vec<CodeActionOrCommand> {
        let only = params.context.only.as_ref();
        let is_wanted =
            only.is_none_or(|kinds| kinds.iter().any(|kind| is_part(&CodeActionKind::QUICKFIX, kind)));
        if !is_wanted {
            return Vec::new();
        }
        let found = self.findings(path);
        let found = found.iter().filter(|(looked, finding)| {
            let range = findings::range(looked, finding.primary.place, self.client.encoding);
            range.is_some_and(|range| range.start <= params.range.end && params.range.start <= range.end)
        });
        let actions = found.flat_map(|(looked, finding)| fixes::actions(self, path, looked, finding));
        actions.map(CodeActionOrCommand::CodeAction).collect()
    }

    /// Works out, beside the loop, what the file is once all its fixes are made; the other actions come first.
    fn fix_all(
        &self,
        path: &Path,
        id: lsp_server::RequestId,
        stop: &Stop,
        mut actions: Vec<CodeActionOrCommand>,
    ) {
        let encoding = self.client.encoding;
        let document = self.documents.get(path);
        let text = document.map(|document| document.text.clone()).unwrap_or_default();
        // The edits of an empty list say where they would go.
        let frame = fixes::edit(self, path, Vec::new());
        let mode = FixMode {
            unsafe_too: self.settings.unsafe_fixes,
            in_place: false,
        };
        let options = self.options.with(Some(mode), stop);
        let ((target, _), done) = (self.target(path), self.done.clone());
        self.pool.spawn(move || {
            let response = answered(id, || {
                let looked = look(&target, &options, Role::Unit)?;
                let new = looked.fixed.diff.map(|(_, new)| new);
                let edits = new.map(|new| fixes::difference(text.as_bytes(), &new, encoding));
                actions.extend(edits.zip(frame).map(|(edits, frame)| {
                    CodeActionOrCommand::CodeAction(CodeAction {
                        title: "Make all fixes of shaderlint".to_owned(),
                        kind: Some(FIX_ALL),
                        edit: Some(fixes::filled(frame, &edits)),
                        ..CodeAction::default()
                    })
                }));
                to(actions)
            });
            let _ = done.send(Done::Answer(response));
        });
    }
}

/// Whether only fixes of the whole file are asked for, as on save.
fn wants_fix_all(params: &serde_json::Value) -> bool {
    let only = params["context"]["only"].as_array();
    only.is_some_and(|kinds| {
        let mut kinds = kinds.iter().filter_map(|kind| kind.as_str());
        kinds.any(|kind| is_part(&FIX_ALL, &CodeActionKind::from(kind.to_owned())))
    })
}

/// Whether `kind` is `of` or a part of it: `source.fixAll` is one of `source`.
fn is_part(kind: &CodeActionKind, of: &CodeActionKind) -> bool {
    let rest = kind.as_str().strip_prefix(of.as_str());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.') || of.as_str().is_empty())
}

/// The answer to a request. A panic is an error, and the server stays.
fn answered(id: lsp_server::RequestId, work: impl FnOnce() -> Result<serde_json::Value>) -> Response {
    match panics::as_error("internal error, please report", work) {
        Ok(value) => Response::new_ok(id, value),
        Err(error) => Response::new_err(id, ErrorCode::InternalError as i32, wording::of_error(&error)),
    }
}

fn from<T: DeserializeOwned>(params: serde_json::Value) -> Result<T> {
    Ok(serde_json::from_value(params)?)
}

fn to(value: impl Serialize) -> Result<serde_json::Value> {
    Ok(serde_json::to_value(value)?)
}

fn path_of(uri: &Uri) -> Option<PathBuf> {
    here_of(uri.as_str())
}

fn here_of(uri: &str) -> Option<PathBuf> {
    Some(here(&uri::path(uri)?))
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
