//! The editor: its capabilities, and messages to it.

use std::cell::Cell;

use crossbeam_channel::Sender;
use lsp_server::{Message, Notification, Request, RequestId, Response};
use lsp_types::notification::{self, LogMessage, ShowMessage};
use lsp_types::{InitializeParams, LogMessageParams, MessageType, ShowMessageParams, request};
use serde::Serialize;

use super::lines::Encoding;

/// The other end of the line.
pub(super) struct Client {
    sender: Sender<Message>,
    pub encoding: Encoding,
    /// It pulls diagnostics; otherwise the server pushes them.
    pub pulls: bool,
    /// It can be told to ask again.
    pub refreshes: bool,
    /// It can be asked for its configuration.
    pub has_configuration: bool,
    /// It tells of changed files if it is asked to.
    pub watches_files: bool,
    /// It takes edits that say which version of a document they are for.
    pub takes_versions: bool,
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
            requests: Cell::new(0),
        }
    }

    /// The editor may be gone; the loop notices.
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

    /// Asks for something. The answer comes with the id that is returned.
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

    /// Says something that whoever writes has to know.
    pub fn show(&self, message: String) {
        self.notify::<ShowMessage>(ShowMessageParams {
            typ: MessageType::ERROR,
            message,
        });
    }

    /// Notes something for whoever looks into why the server does what it does.
    pub fn log(&self, message: String) {
        self.notify::<LogMessage>(LogMessageParams {
            typ: MessageType::ERROR,
            message,
        });
    }
}
