//! The protocol below the features: broken messages, the start and the end.

use std::process::Command;

use serde_json::{Value, json};

use super::editor::Editor;
use super::pulling;
use super::support::{Folder, LADDER, RACE};

fn initialization(process: &Value) -> Value {
    json!({ "processId": process, "rootUri": null, "capabilities": {} })
}

#[test]
fn a_broken_message_is_answered_and_costs_only_itself() {
    let folder = Folder::new("server-broken");
    let mut editor = Editor::open(&folder, pulling());
    editor.open_file("a.hlsl", RACE);
    assert_eq!(editor.pull("a.hlsl").lines().count(), 1);
    for (message, code, id) in [
        ("Content-Length: 5\r\n\r\n{\"a\":", -32700, Value::Null),
        // The length is too small: nothing of the rest is a message.
        (
            "Content-Length: 9\r\n\r\n{\"jsonrpc\": \"2.0\", \"id\": 1}",
            -32700,
            Value::Null,
        ),
        ("Content-Length: 99999999999999\r\n\r\n", -32600, Value::Null),
        (
            "Content-Length: 99999999999999999999\r\n\r\n{}",
            -32700,
            Value::Null,
        ),
        ("Content-Length: -1\r\n\r\n", -32700, Value::Null),
        ("Content-Length: 2\r\n\r\n[]", -32600, Value::Null),
        (
            "Content-Type: a\r\ncontent-length: 18\r\n\r\n{\"id\": 9000000000}",
            -32600,
            json!(9_000_000_000_u64),
        ),
    ] {
        editor.raw(message);
        let answer = editor.next();
        let error = answer["error"]["code"].clone();
        assert_eq!((error, answer["id"].clone()), (json!(code), id), "{message}");
    }
    assert_eq!(editor.pull("a.hlsl").lines().count(), 1);
    assert_eq!(editor.quit(), Some(0));
}

#[test]
fn parameters_of_the_wrong_kind_are_refused() {
    let folder = Folder::new("server-parameters");
    let mut editor = Editor::start(&folder);
    let refused = |editor: &mut Editor, method: &str, params: Value| {
        let id = editor.request(method, params);
        editor.answer(id)["error"]["code"].clone()
    };
    // Not yet.
    assert_eq!(
        refused(&mut editor, "textDocument/hover", json!({})),
        json!(-32002)
    );
    assert_eq!(
        refused(&mut editor, "initialize", json!({ "capabilities": 3 })),
        json!(-32602)
    );
    editor.ask("initialize", initialization(&Value::Null));
    editor.tell("initialized", json!({}));
    let document = json!({ "uri": editor.uri("a.hlsl") });
    for (method, params) in [
        ("textDocument/hover", json!({ "textDocument": document })),
        ("textDocument/codeAction", json!({ "textDocument": 1 })),
        ("textDocument/diagnostic", json!({})),
        ("textDocument/documentLink", json!({})),
        ("workspace/diagnostic", json!({})),
    ] {
        assert_eq!(refused(&mut editor, method, params), json!(-32602), "{method}");
    }
    assert_eq!(editor.quit(), Some(0));
}

#[test]
fn a_server_that_shuts_down_answers_what_is_open_and_nothing_new() {
    let folder = Folder::new("server-shutdown");
    // At once, before anything else is said.
    let mut editor = Editor::start(&folder);
    editor.ask("initialize", initialization(&Value::Null));
    assert_eq!(editor.quit(), Some(0));

    let mut editor = Editor::open(&folder, pulling());
    editor.open_file("a.hlsl", LADDER);
    let document = json!({ "textDocument": { "uri": editor.uri("a.hlsl") } });
    let open = editor.request("textDocument/diagnostic", document.clone());
    let shutdown = editor.request("shutdown", Value::Null);
    let late = editor.request("textDocument/diagnostic", document);
    let answers = [editor.next(), editor.next(), editor.next()];
    let told = answers.map(|answer| (answer["id"].clone(), answer["error"]["code"].clone()));
    assert_eq!(
        told,
        [
            (json!(open), json!(-32800)),
            (json!(shutdown), Value::Null),
            (json!(late), json!(-32600))
        ]
    );
    assert_eq!(editor.exit(), Some(0));
}

/// The line to the server may stay open: another program may hold it.
#[test]
fn a_server_ends_with_its_editor() {
    let folder = Folder::new("server-orphan");
    let mut process = Command::new("sleep").arg("600").spawn().unwrap();
    let mut editor = Editor::start(&folder);
    editor.ask("initialize", initialization(&process.id().into()));
    editor.tell("initialized", json!({}));
    editor.open_file("a.hlsl", RACE);
    assert_eq!(editor.told("a.hlsl").lines().count(), 1);
    process.kill().unwrap();
    process.wait().unwrap();
    assert_eq!(editor.wait(), Some(1));
}
