//! The language server: checks files while they are being edited.
//!
//! One thread reads messages and answers them ([`requests`]), and a pool checks files. An open file is
//! checked as part of its [`session::UnitState`]s: itself if it has an entry point, else the files that include
//! it. A unit is checked again when it, or a file that it includes, changes. A request about a file waits
//! until the file's units are up to date.
//!
//! **Invariant.** The server reads nothing outside of the workspace folders and the configured include folders.

mod answers;
mod client;
mod closed;
mod document;
mod findings;
mod fixes;
mod lines;
mod links;
mod notices;
mod progress;
mod reads;
mod requests;
mod schedule;
mod session;
mod settings;
mod silence;
#[cfg(test)]
mod tests;
mod transport;
mod uris;
mod watch;
mod workspace;

use std::time::Instant;

use anyhow::{Context, Result};
use crossbeam_channel::{after, never, select, unbounded};
use lsp_server::{Connection, ErrorCode, Message, Request, Response};
use lsp_types::notification::{Exit, Notification};
use lsp_types::request::{Initialize, Request as _, Shutdown};
use lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionProviderCapability, DiagnosticOptions,
    DiagnosticServerCapabilities, DocumentLinkOptions, HoverProviderCapability, InitializeParams,
    InitializeResult, OneOf, SaveOptions, ServerCapabilities, ServerInfo, TextDocumentSyncCapability,
    TextDocumentSyncKind, TextDocumentSyncOptions, TextDocumentSyncSaveOptions, WorkDoneProgressOptions,
    WorkspaceFoldersServerCapabilities, WorkspaceServerCapabilities,
};

use crate::STACK_SIZE;
use crate::cli::Outcome;
use client::Client;
use fixes::FIX_ALL;
use session::Session;
use settings::Settings;

/// Serves the editor on standard input and output until it exits.
pub(crate) fn run() -> Result<Outcome> {
    let (connection, writer) = transport::stdio();
    let outcome = serve(&connection);
    // The writer ends when the last sender is dropped.
    drop(connection);
    let _ = writer.join();
    outcome
}

/// Serves the editor at the other end of a connection.
pub(crate) fn serve(connection: &Connection) -> Result<Outcome> {
    let Some((client, params)) = start(connection) else {
        return Ok(Outcome::Findings);
    };
    let max_checks = std::thread::available_parallelism().map_or(2, |cores| cores.get().max(2));
    // One more thread is for the file that the user works on, and one for requests and searches meanwhile.
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(max_checks + 2)
        .stack_size(STACK_SIZE)
        .build()
        .context("no threads to work with")?;
    let (done, finished) = unbounded();
    let mut session = Session::new(client, &params, pool, max_checks, done);
    loop {
        let timeout = match session.next_due() {
            Some(due) => after(due.saturating_duration_since(Instant::now())),
            None => never(),
        };
        select! {
            recv(connection.receiver) -> message => match message {
                Ok(Message::Request(request)) if request.method == Shutdown::METHOD => {
                    session.shut_down(request.id);
                    return Ok(until_exit(connection, &session.client));
                }
                Ok(Message::Request(request)) => session.on_request(request),
                // The editor exits without a `shutdown` request.
                Ok(Message::Notification(notification)) if notification.method == Exit::METHOD => {
                    return Ok(Outcome::Findings);
                }
                Ok(Message::Notification(notification)) => session.on_notification(notification),
                Ok(Message::Response(response)) => session.on_response(response),
                // The editor is gone.
                Err(_) => return Ok(Outcome::Clean),
            },
            recv(finished) -> job => if let Ok(job) = job {
                session.on_finished(job);
            },
            recv(timeout) -> _ => {}
        }
        session.proceed();
    }
}

/// Answers the `initialize` request. `None` if the editor leaves before it.
fn start(connection: &Connection) -> Option<(Client, InitializeParams)> {
    for message in &connection.receiver {
        let Request { id, method, params } = match message {
            Message::Request(request) => request,
            Message::Notification(notification) if notification.method == Exit::METHOD => return None,
            Message::Notification(_) | Message::Response(_) => continue,
        };
        let refuse = |code: ErrorCode, message: String| {
            let _ = connection
                .sender
                .send(Response::new_err(id.clone(), code as i32, message).into());
        };
        if method != Initialize::METHOD {
            refuse(
                ErrorCode::ServerNotInitialized,
                format!("{method} before initialize"),
            );
            continue;
        }
        // `lsp_types` looks for this under another name than the protocol's.
        let refreshes =
            params.pointer("/capabilities/workspace/diagnostics/refreshSupport") == Some(&true.into());
        let params: InitializeParams = match serde_json::from_value(params) {
            Ok(params) => params,
            Err(error) => {
                refuse(ErrorCode::InvalidParams, error.to_string());
                continue;
            }
        };
        let client = Client::new(connection.sender.clone(), &params, refreshes);
        // A wrong setting is reported where the session reads it.
        let settings = Settings::read(params.initialization_options.clone().unwrap_or_default());
        let asks_for_workspace = settings.is_ok_and(|settings| settings.workspace_diagnostics);
        let result = InitializeResult {
            capabilities: capabilities(&client, asks_for_workspace),
            server_info: Some(ServerInfo {
                name: "shaderlint".to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            }),
        };
        client.respond(Response::new_ok(id, result));
        if let Some(process) = params.process_id {
            transport::end_with(process);
        }
        return Some((client, params));
    }
    None
}

/// Refuses requests after `shutdown`, until the editor exits.
fn until_exit(connection: &Connection, client: &Client) -> Outcome {
    for message in &connection.receiver {
        match message {
            Message::Request(request) => {
                let message = format!("{} after shutdown", request.method);
                let code = ErrorCode::InvalidRequest as i32;
                client.respond(Response::new_err(request.id, code, message));
            }
            Message::Notification(notification) if notification.method == Exit::METHOD => break,
            Message::Notification(_) | Message::Response(_) => {}
        }
    }
    Outcome::Clean
}

fn capabilities(client: &Client, workspace_diagnostics: bool) -> ServerCapabilities {
    ServerCapabilities {
        position_encoding: Some(client.encoding.kind()),
        text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::INCREMENTAL),
            save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions::default())),
            ..TextDocumentSyncOptions::default()
        })),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![CodeActionKind::QUICKFIX, FIX_ALL]),
            ..CodeActionOptions::default()
        })),
        document_link_provider: Some(DocumentLinkOptions {
            resolve_provider: None,
            work_done_progress_options: WorkDoneProgressOptions::default(),
        }),
        diagnostic_provider: Some(DiagnosticServerCapabilities::Options(DiagnosticOptions {
            identifier: Some("shaderlint".to_owned()),
            inter_file_dependencies: true,
            workspace_diagnostics,
            ..DiagnosticOptions::default()
        })),
        workspace: Some(WorkspaceServerCapabilities {
            workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(OneOf::Left(true)),
            }),
            ..WorkspaceServerCapabilities::default()
        }),
        ..ServerCapabilities::default()
    }
}
