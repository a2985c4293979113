//! Panics of the server, tested over standard input and output.
//!
//! No text is known to make the server panic. So a test starts this test program as a server that panics if a
//! text asks for it.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// Set if [`serves`] is to run a server.
const SERVES: &str = "SHADERLINT_SERVES";

/// A server for the other test.
#[test]
fn serves() {
    if std::env::var_os(SERVES).is_some() {
        crate::support::panics::keep_quiet();
        let outcome = super::run().expect("served");
        assert_eq!(outcome, crate::cli::Outcome::Clean);
    }
}

struct Client {
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Client {
    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        write!(self.stdin, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("the server listens");
        self.stdin.flush().expect("the server listens");
    }

    fn tell(&mut self, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn open(&mut self, uri: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": "hlsl", "version": 1, "text": text });
        self.tell("textDocument/didOpen", &json!({ "textDocument": document }));
    }

    /// The next message. The test harness prints lines of its own before it.
    fn next(&mut self) -> Value {
        let mut line = String::new();
        let length = loop {
            line.clear();
            assert_ne!(
                self.stdout.read_line(&mut line).expect("text"),
                0,
                "the server is gone"
            );
            if let Some(length) = line.trim_end().strip_prefix("Content-Length: ") {
                break length.parse().expect("a number");
            }
        };
        self.stdout.read_line(&mut line).expect("an empty line");
        let mut text = vec![0; length];
        std::io::Read::read_exact(&mut self.stdout, &mut text).expect("as much as was said");
        serde_json::from_slice(&text).expect("a message")
    }

    /// The answer to a request, and the messages shown before it.
    fn ask(&mut self, id: i32, method: &str, params: &Value) -> (Value, Vec<String>) {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let mut shown = Vec::new();
        loop {
            let message = self.next();
            if message["method"] == "window/showMessage" {
                shown.push(message["params"]["message"].as_str().expect("text").to_owned());
            }
            if message["id"] == id {
                return (message, shown);
            }
        }
    }
}

#[test]
fn a_panic_leaves_the_server_up() {
    let mut server = Command::new(std::env::current_exe().expect("a program"))
        .args(["--exact", "server::tests::serves", "--nocapture"])
        .env(SERVES, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let (stdin, stdout) = (server.stdin.take(), server.stdout.take());
    let mut client = Client {
        stdin: stdin.expect("piped"),
        stdout: BufReader::new(stdout.expect("piped")),
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/book");
    let root = crate::support::uri::of(&root.canonicalize().expect("it is there"));
    let params = json!({
        "processId": null,
        "rootUri": null,
        "workspaceFolders": [{ "uri": root, "name": "test" }],
        "capabilities": { "textDocument": { "diagnostic": {} } },
    });
    client.ask(1, "initialize", &params);
    client.tell("initialized", &json!({}));
    let [looking, hovering] = ["looking", "hovering"].map(|name| format!("{root}/{name}.hlsl"));
    let race = include_str!("../../../../fixtures/book/src/race.hlsl");
    client.open(&looking, &format!("{race}// panic while looking"));
    client.open(&hovering, &format!("{race}// panic while hovering"));
    let of = |uri: &str| json!({ "textDocument": { "uri": uri }, "position": { "line": 0, "character": 0 } });

    // A panic on the thread that answers.
    let (answer, _) = client.ask(2, "textDocument/hover", &of(&hovering));
    let message = answer["error"]["message"].as_str().expect("an error");
    assert!(
        message.starts_with("internal error, please report: asked to panic while hovering"),
        "{message}"
    );
    // A panic on a thread that checks files: the user is told once.
    let (answer, shown) = client.ask(3, "textDocument/diagnostic", &of(&looking));
    assert_eq!(answer["result"]["items"], json!([]));
    if let [message] = &shown[..] {
        assert!(message.contains("asked to panic while looking"), "{message}");
    }
    // Everything else goes on, even for that file.
    let (answer, _) = client.ask(4, "textDocument/diagnostic", &of(&hovering));
    assert_eq!(answer["result"]["items"][0]["code"], "groupshared-race");
    let change = json!({ "uri": looking, "version": 2 });
    client.tell(
        "textDocument/didChange",
        &json!({ "textDocument": change, "contentChanges": [{ "text": race }] }),
    );
    let (answer, _) = client.ask(5, "textDocument/diagnostic", &of(&looking));
    assert_eq!(answer["result"]["items"][0]["code"], "groupshared-race");
    client.ask(6, "shutdown", &Value::Null);
    client.tell("exit", &Value::Null);
    // The harness still prints something.
    let Client {
        stdin,
        stdout: _stdout,
    } = client;
    drop(stdin);
    assert!(server.wait().expect("it ends").success());
}
