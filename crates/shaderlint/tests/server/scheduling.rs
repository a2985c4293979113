//! What is looked at first, and what is not looked at again.

use serde_json::{Value, json};

use super::editor::Editor;
use super::support::{Folder, LADDER, RACE};

/// The files that are told of, by their names, until a message is the last.
fn told_until(editor: &mut Editor, is_last: impl Fn(&Value) -> bool) -> Vec<String> {
    let mut told = Vec::new();
    loop {
        let message = editor.next();
        if tells(&message) {
            let uri = message["params"]["uri"].as_str().unwrap();
            told.push(uri.rsplit('/').next().unwrap().to_owned());
        }
        if is_last(&message) {
            return told;
        }
    }
}

fn tells(message: &Value) -> bool {
    message["method"] == "textDocument/publishDiagnostics"
}

/// Waits until each of these files was told of.
fn wait_for(editor: &mut Editor, mut files: Vec<&str>) {
    while !files.is_empty() {
        let told = told_until(editor, tells);
        files.retain(|file| !told.iter().any(|known| known == file));
    }
}

#[test]
fn what_somebody_works_on_comes_first() {
    const FILES: usize = 120;
    const KERNELS: usize = 4;
    // Looking at a file takes many times as long as opening it.
    let kernels = (0..KERNELS).map(|number| {
        let kernel = LADDER.split_inclusive('\n').skip(3).collect::<String>();
        kernel.replace("main", &format!("Main{number}"))
    });
    let declarations = LADDER.split_inclusive('\n').take(3).collect::<String>();
    let text = declarations + &kernels.collect::<String>();
    let folder = Folder::new("server-first");
    let mut editor = Editor::open(&folder, json!({}));
    let name = |number: usize| format!("{number:03}.hlsl");
    for number in 0..FILES {
        editor.open_file(&name(number), &text);
    }
    let last = name(FILES - 1);
    editor.edit(&last, 2, None, &format!("{text}// edited\n"));
    // Messages are read in their order, so this is answered once all files are open.
    let all_open = editor.request("test/unknown", json!({}));
    let place =
        json!({ "textDocument": { "uri": editor.uri(&last) }, "position": { "line": 0, "character": 0 } });
    let hover = editor.request("textDocument/hover", place);
    let while_opening = told_until(&mut editor, |message| message["id"] == all_open);
    let before = told_until(&mut editor, |message| message["id"] == hover);
    assert!(before.len() < FILES / 8, "{before:?}");
    let waiting = FILES - while_opening.len() - before.len();
    assert!(waiting > FILES / 8, "{while_opening:?} {before:?}");
    assert_eq!(editor.quit(), Some(0));
}

#[test]
fn work_that_takes_long_is_shown() {
    let folder = Folder::new("server-progress");
    let mut editor = Editor::open(&folder, json!({ "window": { "workDoneProgress": true } }));
    // What is checked in no time is not shown.
    editor.open_file("short.hlsl", RACE);
    wait_for(&mut editor, vec!["short.hlsl"]);
    // Each kernel takes a while, and there are enough for more than a second.
    let kernel = |number: usize| {
        LADDER
            .replace("64", "1024")
            .replace("main", &format!("main{number}"))
            .replace("g_Scan", &format!("g_Scan{number}"))
            .replace("StructuredBuffer<uint> Src;\nRWStructuredBuffer<uint> Out;\n", "")
    };
    let many: String = (0..400).map(kernel).collect();
    let many = format!("StructuredBuffer<uint> Src;\nRWStructuredBuffer<uint> Out;\n{many}");
    editor.open_file("long.hlsl", &many);
    let created = editor.next();
    assert_eq!(created["method"], "window/workDoneProgress/create", "{created}");
    let token = &created["params"]["token"];
    editor.send(&json!({ "jsonrpc": "2.0", "id": created["id"], "result": null }));
    let begun = editor.next();
    assert_eq!(
        (&begun["method"], &begun["params"]["token"]),
        (&json!("$/progress"), token)
    );
    assert_eq!(
        begun["params"]["value"],
        json!({ "kind": "begin", "title": "shaderlint", "message": "checking long.hlsl" })
    );
    let ended = loop {
        let message = editor.next();
        if message["method"] == "$/progress" {
            break message;
        }
    };
    assert_eq!(ended["params"]["value"], json!({ "kind": "end" }));
    assert_eq!(editor.quit(), Some(0));
}

#[test]
fn what_changes_nothing_is_not_looked_at_again() {
    let kernel = RACE.replace("[numthreads", "#include \"part.h\"\n[numthreads");
    let folder = Folder::new("server-again")
        .with("a.hlsl", &kernel)
        .with("part.h", "// one\n")
        .with("other.h", "// one\n")
        .with("other.hlsl", RACE);
    let capabilities = json!({ "workspace": { "didChangeWatchedFiles": { "dynamicRegistration": true } } });
    let mut editor = Editor::open(&folder, capabilities);
    editor.open_file("a.hlsl", &kernel);
    editor.open_file("b.hlsl", RACE);
    wait_for(&mut editor, vec!["a.hlsl", "b.hlsl"]);
    let changed = |editor: &mut Editor, file: &str| {
        let change = json!({ "changes": [{ "uri": editor.uri(file), "type": 2 }] });
        editor.tell("workspace/didChangeWatchedFiles", change);
    };
    let told_with = |editor: &mut Editor, version: i32| {
        // What was begun before this ends before it, or is begun with it.
        editor.edit("b.hlsl", version, None, &format!("{RACE}// {version}\n"));
        let uri = editor.uri("b.hlsl");
        let mut told = told_until(editor, |message| {
            message["params"]["uri"] == *uri && message["params"]["version"] == version
        });
        told.sort();
        told
    };
    editor.edit("a.hlsl", 2, None, &kernel);
    editor.tell("workspace/didChangeConfiguration", json!({ "settings": {} }));
    let saved = json!({ "textDocument": { "uri": editor.uri("a.hlsl") } });
    editor.tell("textDocument/didSave", saved);
    for file in ["other.h", "other.hlsl", "a.hlsl", "unrelated.toml"] {
        changed(&mut editor, file);
    }
    assert_eq!(told_with(&mut editor, 3), ["b.hlsl"]);
    // What does change something is.
    changed(&mut editor, "part.h");
    assert_eq!(told_until(&mut editor, tells), ["a.hlsl"]);
    let settings = json!({ "settings": { "shaderlint": { "defines": ["X"] } } });
    editor.tell("workspace/didChangeConfiguration", settings);
    wait_for(&mut editor, vec!["a.hlsl", "b.hlsl"]);
    assert_eq!(editor.quit(), Some(0));
}
