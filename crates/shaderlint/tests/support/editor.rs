//! An editor's end of a language server's line.
#![expect(
    clippy::needless_pass_by_value,
    reason = "messages are made where they are sent"
)]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use super::support::Folder;

/// How long anything may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Editor {
    server: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Value>,
    root: String,
    requests: i32,
}

impl Editor {
    /// Starts a server in the folder.
    pub fn start(folder: &Folder) -> Editor {
        let mut server = folder
            .command(&["server", "--stdio"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = server.stdin.take();
        let mut stdout = BufReader::new(server.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            while let Some(message) = read(&mut stdout) {
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        Editor {
            server,
            stdin,
            messages,
            root: format!("file://{}", folder.0.display()),
            requests: 0,
        }
    }

    /// Starts a server that serves the folder to an editor that can do this much.
    pub fn open(folder: &Folder, capabilities: Value) -> Editor {
        let mut editor = Editor::start(folder);
        let folders = json!([{ "uri": editor.root, "name": "test" }]);
        let params = json!({ "processId": null, "rootUri": null, "capabilities": capabilities, "workspaceFolders": folders });
        editor.ask("initialize", params);
        editor.tell("initialized", json!({}));
        editor
    }

    pub fn uri(&self, path: &str) -> String {
        format!("{}/{path}", self.root)
    }

    pub fn send(&mut self, message: &Value) {
        let text = message.to_string();
        self.raw(&format!("Content-Length: {}\r\n\r\n{text}", text.len()));
    }

    /// Sends this text, whether it is a message or not.
    pub fn raw(&mut self, text: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(text.as_bytes()).unwrap();
        stdin.flush().unwrap();
    }

    pub fn tell(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request; its id.
    pub fn request(&mut self, method: &str, params: Value) -> i32 {
        self.requests += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.requests, "method": method, "params": params }));
        self.requests
    }

    /// The next message, whatever it is.
    pub fn next(&mut self) -> Value {
        self.messages
            .recv_timeout(PATIENCE)
            .expect("a message of the server")
    }

    /// The answer to a request; what comes before it is let go.
    pub fn answer(&mut self, id: i32) -> Value {
        loop {
            let message = self.next();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// Sends a request and waits for its result.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        let mut answer = self.answer(id);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].take()
    }

    pub fn open_file(&mut self, path: &str, text: &str) {
        self.open_uri(&self.uri(path), text);
    }

    pub fn open_uri(&mut self, uri: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": "hlsl", "version": 1, "text": text });
        self.tell("textDocument/didOpen", json!({ "textDocument": document }));
    }

    /// Replaces a range, as `[line, character, line, character]`; everything if there is none.
    pub fn edit(&mut self, path: &str, version: i32, range: Option<[u32; 4]>, text: &str) {
        let mut change = json!({ "text": text });
        if let Some([line, character, end_line, end_character]) = range {
            change["range"] = json!({
                "start": { "line": line, "character": character },
                "end": { "line": end_line, "character": end_character },
            });
        }
        let document = json!({ "uri": self.uri(path), "version": version });
        self.tell(
            "textDocument/didChange",
            json!({ "textDocument": document, "contentChanges": [change] }),
        );
    }

    /// What is told of a file next: a line for each diagnostic.
    pub fn told(&mut self, path: &str) -> String {
        let uri = self.uri(path);
        loop {
            let message = self.next();
            if message["method"] == "textDocument/publishDiagnostics" && message["params"]["uri"] == *uri {
                return lines(&message["params"]["diagnostics"]);
            }
        }
    }

    /// What a file's diagnostics are, asked for.
    pub fn pull(&mut self, path: &str) -> String {
        let document = json!({ "textDocument": { "uri": self.uri(path) } });
        lines(&self.ask("textDocument/diagnostic", document)["items"])
    }

    pub fn actions(&mut self, path: &str, range: [u32; 4], only: Value) -> Value {
        let [line, character, end_line, end_character] = range;
        let params = json!({
            "textDocument": { "uri": self.uri(path) },
            "range": {
                "start": { "line": line, "character": character },
                "end": { "line": end_line, "character": end_character },
            },
            "context": { "diagnostics": [], "only": only },
        });
        self.ask("textDocument/codeAction", params)
    }

    pub fn hover(&mut self, path: &str, line: u32, character: u32) -> Value {
        let position = json!({ "line": line, "character": character });
        self.ask(
            "textDocument/hover",
            json!({ "textDocument": { "uri": self.uri(path) }, "position": position }),
        )
    }

    /// Says goodbye; the server's exit code.
    pub fn quit(mut self) -> Option<i32> {
        self.ask("shutdown", Value::Null);
        self.exit()
    }

    /// Leaves; the server's exit code.
    pub fn exit(mut self) -> Option<i32> {
        self.tell("exit", Value::Null);
        self.stdin = None;
        self.wait()
    }

    /// Waits until the server ends; its exit code.
    pub fn wait(mut self) -> Option<i32> {
        self.server.wait().unwrap().code()
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn read(stdout: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stdout.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end().split_once(": ") {
            Some(("Content-Length", number)) => length = number.parse().ok()?,
            Some(_) => {}
            None => break,
        }
    }
    let mut text = vec![0; length];
    stdout.read_exact(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

/// A line for each diagnostic: where, which rule, and the first line of what it says.
pub fn lines(diagnostics: &Value) -> String {
    let diagnostics = diagnostics.as_array().unwrap().iter();
    let lines = diagnostics.map(|one| {
        let at = |end: &str| {
            let place = &one["range"][end];
            format!("{}:{}", place["line"], place["character"])
        };
        let message = one["message"].as_str().unwrap().lines().next().unwrap();
        format!(
            "{}-{} {} {message}\n",
            at("start"),
            at("end"),
            one["code"].as_str().unwrap()
        )
    });
    lines.collect()
}

/// A text after the edits of a code action in the file.
pub fn edited(text: &str, action: &Value, uri: &str) -> String {
    let edits = match action["edit"]["changes"].get(uri) {
        Some(edits) => edits.clone(),
        None => action["edit"]["documentChanges"][0]["edits"].clone(),
    };
    let offset = |place: &Value| {
        let line = usize::try_from(place["line"].as_u64().unwrap()).unwrap();
        let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
        // The texts of tests are ASCII where they are edited.
        start + usize::try_from(place["character"].as_u64().unwrap()).unwrap()
    };
    let mut edits: Vec<(usize, usize, String)> = edits
        .as_array()
        .unwrap()
        .iter()
        .map(|edit| {
            let new = edit["newText"].as_str().unwrap().to_owned();
            (
                offset(&edit["range"]["start"]),
                offset(&edit["range"]["end"]),
                new,
            )
        })
        .collect();
    edits.sort();
    let mut text = text.to_owned();
    for (start, end, new) in edits.into_iter().rev() {
        text.replace_range(start..end, &new);
    }
    text
}
