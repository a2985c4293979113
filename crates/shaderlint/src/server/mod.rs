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
mod document;
mod findings;
mod fixes;
mod lines;
mod notices;
mod reads;
mod requests;
mod schedule;
mod session;
mod settings;
#[cfg(test)]
mod tests;
mod watch;
mod workspace;

use std::time::Instant;

use anyhow::{Context, Result};
use crossbeam_channel::{after, never, select, unbounded};
use lsp_server::{Connection, Message};
use lsp_types::notification::{Exit, Initialized, Notification};
use lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionProviderCapability, DiagnosticOptions,
    DiagnosticServerCapabilities, HoverProviderCapability, InitializeParams, InitializeResult, OneOf,
    SaveOptions, ServerCapabilities, ServerInfo, TextDocumentSyncCapability, TextDocumentSyncKind,
    TextDocumentSyncOptions, TextDocumentSyncSaveOptions, WorkspaceFoldersServerCapabilities,
    WorkspaceServerCapabilities,
};

use crate::STACK_SIZE;
use crate::cli::Outcome;
use client::Client;
use fixes::FIX_ALL;
use session::Session;

/// Serves the editor on standard input and output until it exits.
pub(crate) fn run() -> Result<Outcome> {
    let (connection, threads) = Connection::stdio();
    let outcome = serve(&connection);
    // The writer ends when the last sender is dropped.
    drop(connection);
    threads.join().context("standard input and output")?;
    outcome
}

/// Serves the editor at the other end of a connection.
pub(crate) fn serve(connection: &Connection) -> Result<Outcome> {
    let (id, params) = connection.initialize_start()?;
    // `lsp_types` looks for this under another name than the protocol's.
    let refreshes =
        params.pointer("/capabilities/workspace/diagnostics/refreshSupport") == Some(&true.into());
    let params: InitializeParams = serde_json::from_value(params).context("initialize")?;
    let client = Client::new(connection.sender.clone(), &params, refreshes);
    let result = InitializeResult {
        capabilities: capabilities(&client),
        server_info: Some(ServerInfo {
            name: "shaderlint".to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        }),
    };
    connection.initialize_finish(id, serde_json::to_value(result)?)?;
    let max_checks = std::thread::available_parallelism().map_or(2, |cores| cores.get().max(2));
    // One more thread is for the file that the user works on, and one for requests and searches meanwhile.
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(max_checks + 2)
        .stack_size(STACK_SIZE)
        .build()
        .context("no threads to work with")?;
    let (done, finished) = unbounded();
    let mut session = Session::new(client, &params, pool, max_checks, done);
    session.on_notification(lsp_server::Notification::new(Initialized::METHOD.to_owned(), ()));
    loop {
        let timeout = match session.next_due() {
            Some(due) => after(due.saturating_duration_since(Instant::now())),
            None => never(),
        };
        select! {
            recv(connection.receiver) -> message => match message {
                Ok(Message::Request(request)) => {
                    if connection.handle_shutdown(&request)? {
                        return Ok(Outcome::Clean);
                    }
                    session.on_request(request);
                }
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

fn capabilities(client: &Client) -> ServerCapabilities {
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
        diagnostic_provider: Some(DiagnosticServerCapabilities::Options(DiagnosticOptions {
            identifier: Some("shaderlint".to_owned()),
            inter_file_dependencies: true,
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
