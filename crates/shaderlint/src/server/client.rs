//! The editor: its capabilities, and the messages to it.

use std::cell::Cell;

use crossbeam_channel::Sender;
use lsp_server::{Message, Notification, Request, RequestId, Response};
use lsp_types::notification::{self, LogMessage, ShowMessage};
use lsp_types::{
    InitializeParams, LogMessageParams, MessageType, ResourceOperationKind, ShowMessageParams, request,
};
use serde::Serialize;

use super::lines::Encoding;

/// The other end of the connection.
pub(super) struct Client {
    sender: Sender<Message>,
    pub encoding: Encoding,
    /// It requests diagnostics. Otherwise the server publishes them.
    pub pulls: bool,
    /// The server can make it request diagnostics again.
    pub refreshes: bool,
    /// The server can request its configuration.
    pub has_configuration: bool,
    /// It reports changed files on request.
    pub watches_files: bool,
    /// It accepts edits that name the version of a document.
    pub takes_versions: bool,
    /// It accepts edits that create files.
    pub creates_files: bool,
    /// It shows the progress of work on request.
    pub shows_progress: bool,
    requests: Cell<i32>,
}

impl Client {
    pub fn new(sender: Sender<Message>, params: &InitializeParams, refreshes: bool) -> Self {
        let capabilities = &params.capabilities;
        let general = capabilities.general.as_ref();
        let document = capabilities.text_document.as_ref();
        let workspace = capabilities.workspace.as_ref();
        let is_set = |flag: Option<bool>| flag.unwrap_or(false);
        Client {
            sender,
            encoding: Encoding::of(general.and_then(|general| general.position_encodings.as_deref())),
            pulls: document.is_some_and(|document| document.diagnostic.is_some()),
            refreshes,
            has_configuration: is_set(workspace.and_then(|workspace| workspace.configuration)),
            watches_files: is_set(
                workspace.and_then(|workspace| workspace.did_change_watched_files?.dynamic_registration),
            ),
            takes_versions: is_set(
                workspace.and_then(|workspace| workspace.workspace_edit.as_ref()?.document_changes),
            ),
            creates_files: workspace.is_some_and(|workspace| {
                let edits = workspace.workspace_edit.as_ref();
                let operations = edits.and_then(|edits| edits.resource_operations.as_ref());
                operations.is_some_and(|kinds| kinds.contains(&ResourceOperationKind::Create))
            }),
            shows_progress: is_set(
                capabilities
                    .window
                    .as_ref()
                    .and_then(|window| window.work_done_progress),
            ),
            requests: Cell::new(0),
        }
    }

    /// Ignores errors: if the editor is gone, the loop notices.
    fn send(&self, message: impl Into<Message>) {
        let _ = self.sender.send(message.into());
    }

    pub fn respond(&self, response: Response) {
        self.send(response);
    }

    pub fn notify<N: notification::Notification>(&self, params: N::Params)
    where
        N::Params: Serialize,
    {
        self.send(Notification::new(N::METHOD.to_owned(), params));
    }

    /// Sends a request. The answer will have the returned id.
    pub fn ask<R: request::Request>(&self, params: R::Params) -> RequestId
    where
        R::Params: Serialize,
    {
        let number = self.requests.get() + 1;
        self.requests.set(number);
        let id = RequestId::from(number);
        self.send(Request::new(id.clone(), R::METHOD.to_owned(), params));
        id
    }

    /// Shows an error to the user.
    pub fn show(&self, message: String) {
        self.notify::<ShowMessage>(ShowMessageParams {
            typ: MessageType::ERROR,
            message,
        });
    }

    /// Logs an error, for those who debug the server.
    pub fn log(&self, message: String) {
        self.notify::<LogMessage>(LogMessageParams {
            typ: MessageType::ERROR,
            message,
        });
    }
}
