//! The language server, with an editor that sends arbitrary messages.
//!
//! A script has a line for each message of the editor; numbers stand for documents, kernels, lines and characters.
//! Other lines are skipped.
//!
//! ```text
//! open 0 12                  document 0 is opened, and holds kernel 12
//! text 0 …                   it has this text now
//! edit 0 3 0 4 9 …           this stands there in place of 3:0 to 4:9
//! save 0 | close 0 | ask 0 | fix 0
//! hover 0 3 9
//! actions 0 3 0 4 9
//! cancel 7                   of the request with this number
//! settings …                 JSON
//! tell method …              any notification, with JSON
//! request method …           any request, with JSON
//! ```

use std::collections::BTreeSet;
use std::time::Duration;

use lsp_server::{Connection, Message, Notification, Request, RequestId, Response};
use serde_json::{Value, json};

use crate::seeds::kernels;

/// The maximum of lines of a script to play.
const MAX_LINES: usize = 48;

/// The number of documents; the last is a header.
const DOCUMENTS: u32 = 4;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

fn uri(number: u32) -> String {
    let number = number % DOCUMENTS;
    let extension = if number + 1 == DOCUMENTS { "hlsli" } else { "hlsl" };
    // There is no such folder, so nothing is read from disk.
    format!("file:///nonexistent/fuzz/{number}.{extension}")
}

/// The editor's end.
struct Editor {
    connection: Connection,
    requests: i32,
    version: i32,
    /// The requests that are not answered yet.
    open: BTreeSet<RequestId>,
}

impl Editor {
    fn tell(&self, method: &str, params: Value) {
        let notification = Notification::new(method.to_owned(), params);
        // If the server is gone, the next wait reports it.
        let _ = self.connection.sender.send(notification.into());
    }

    fn request(&mut self, method: &str, params: Value) {
        self.requests += 1;
        let id = RequestId::from(self.requests);
        self.open.insert(id.clone());
        let request = Request::new(id, method.to_owned(), params);
        let _ = self.connection.sender.send(request.into());
    }

    /// Waits until everything is answered.
    fn settle(&mut self) {
        while !self.open.is_empty() {
            let message = self.connection.receiver.recv_timeout(PATIENCE);
            let message = message.unwrap_or_else(|error| panic!("{:?} not answered: {error}", self.open));
            match message {
                Message::Request(request) => {
                    let response = Response::new_ok(request.id, Value::Null);
                    let _ = self.connection.sender.send(response.into());
                }
                Message::Response(response) => {
                    assert!(self.open.remove(&response.id), "answered twice: {response:?}");
                    if let Err(error) = response.response_result {
                        assert!(!error.message.contains("internal error"), "{}", error.message);
                    }
                }
                Message::Notification(notification) => {
                    let said = notification.params.to_string();
                    assert!(!said.contains("internal error"), "{said}");
                }
            }
        }
    }

    fn play(&mut self, line: &str) -> Option<()> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let mut words = rest.splitn(6, ' ');
        let mut number = || words.next()?.parse::<u32>().ok();
        match word {
            "open" => {
                let (document, kernel) = (number()?, number()?);
                let kernel = kernels().get(kernel as usize % kernels().len())?;
                let text = String::from_utf8_lossy(kernel);
                let document =
                    json!({ "uri": uri(document), "languageId": "hlsl", "version": 1, "text": text });
                self.tell("textDocument/didOpen", json!({ "textDocument": document }));
            }
            "text" => {
                let document = number()?;
                let (_, text) = rest.split_once(' ')?;
                self.change(document, &json!({ "text": unescaped(text) }));
            }
            "edit" => {
                let (document, range) = (number()?, range([number()?, number()?, number()?, number()?]));
                let text = unescaped(words.next().unwrap_or_default());
                self.change(document, &json!({ "range": range, "text": text }));
            }
            "save" => self.tell(
                "textDocument/didSave",
                json!({ "textDocument": { "uri": uri(number()?) } }),
            ),
            "close" => self.tell(
                "textDocument/didClose",
                json!({ "textDocument": { "uri": uri(number()?) } }),
            ),
            "ask" => self.request(
                "textDocument/diagnostic",
                json!({ "textDocument": { "uri": uri(number()?) } }),
            ),
            "hover" => {
                let document = json!({ "uri": uri(number()?) });
                let position = json!({ "line": number()?, "character": number()? });
                self.request(
                    "textDocument/hover",
                    json!({ "textDocument": document, "position": position }),
                );
            }
            "actions" | "fix" => {
                let document = json!({ "uri": uri(number()?) });
                let all = word == "fix";
                let range = if all {
                    range([0; 4])
                } else {
                    range([number()?, number()?, number()?, number()?])
                };
                let mut context = json!({ "diagnostics": [] });
                if all {
                    context["only"] = json!(["source.fixAll"]);
                }
                self.request(
                    "textDocument/codeAction",
                    json!({ "textDocument": document, "range": range, "context": context }),
                );
            }
            "cancel" => self.tell("$/cancelRequest", json!({ "id": number()? })),
            "settings" => {
                let settings: Value = serde_json::from_str(rest).ok()?;
                self.tell(
                    "workspace/didChangeConfiguration",
                    json!({ "settings": settings }),
                );
            }
            "tell" | "request" => {
                let (method, params) = rest.split_once(' ').unwrap_or((rest, "null"));
                let params: Value = serde_json::from_str(params).ok()?;
                // These two end the server, as they should.
                if ["exit", "shutdown"].contains(&method) {
                    return None;
                }
                if word == "tell" {
                    self.tell(method, params);
                } else {
                    self.request(method, params);
                }
            }
            _ => {}
        }
        Some(())
    }

    fn change(&mut self, document: u32, change: &Value) {
        self.version += 1;
        let document = json!({ "uri": uri(document), "version": self.version });
        self.tell(
            "textDocument/didChange",
            json!({ "textDocument": document, "contentChanges": [change] }),
        );
    }
}

fn range([line, character, end, end_character]: [u32; 4]) -> Value {
    json!({
        "start": { "line": line, "character": character },
        "end": { "line": end, "character": end_character },
    })
}

/// Decodes line ends, which a line cannot contain.
fn unescaped(text: &str) -> String {
    text.replace("\\n", "\n").replace("\\r", "\r")
}

/// Plays a script: every request must be answered, no answer may be an internal error, and the server must end on
/// `exit`.
///
/// # Panics
/// If something is wrong.
pub fn server(bytes: &[u8]) {
    let script = String::from_utf8_lossy(bytes);
    let (ours, theirs) = Connection::memory();
    let served = std::thread::spawn(move || shaderlint::fuzzing::serve(&theirs));
    let mut editor = Editor {
        connection: ours,
        requests: 0,
        version: 1,
        open: BTreeSet::new(),
    };
    let takes_all = script.starts_with("all");
    let capabilities = json!({
        "general": { "positionEncodings": if takes_all { json!(["utf-8"]) } else { json!([]) } },
        "textDocument": if takes_all { json!({ "diagnostic": {} }) } else { json!({}) },
        "workspace": { "workspaceEdit": { "documentChanges": takes_all } },
    });
    editor.request(
        "initialize",
        json!({
            "processId": null,
            "capabilities": capabilities,
            "workspaceFolders": [{ "uri": "file:///nonexistent/fuzz", "name": "fuzz" }],
        }),
    );
    editor.settle();
    editor.tell("initialized", json!({}));
    for line in script.lines().take(MAX_LINES) {
        let _ = editor.play(line);
    }
    editor.settle();
    editor.request("shutdown", Value::Null);
    editor.settle();
    editor.tell("exit", Value::Null);
    let ended = served.join().expect("it does not panic");
    assert!(ended.expect("it keeps to the protocol"), "it ends well");
}
