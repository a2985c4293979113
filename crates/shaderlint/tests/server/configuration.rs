//! Configurations and baselines, and what is wrong with them.

use std::fs;

use serde_json::json;
use snapbox::{assert_data_eq, str};

use super::editor::Editor;
use super::pulling;
use super::support::{Folder, LADDER, RACE};

#[test]
fn configuration_and_baselines_hold() {
    let folder = Folder::new("server-configuration")
        .with("shaderlint.toml", "baseline = \"known.toml\"\n")
        .with("a.hlsl", RACE)
        .with("b.hlsl", LADDER);
    assert!(folder.run(&["--write-baseline", "a.hlsl"]).status.success());
    let mut capabilities = pulling();
    capabilities["workspace"]["configuration"] = true.into();
    let mut editor = Editor::open(&folder, capabilities);
    let question = editor.next();
    assert_eq!(question["method"], "workspace/configuration");
    editor.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": [{ "profile": "cs_5_0" }] }));
    editor.open_file("a.hlsl", RACE);
    editor.open_file("b.hlsl", LADDER);
    assert_eq!(editor.pull("a.hlsl"), "");
    assert_eq!(editor.pull("b.hlsl"), "");
    // One more than is known.
    let second = RACE
        .replace("main", "other")
        .replace("groupshared uint g_Sum[64];", "");
    editor.edit("a.hlsl", 2, None, &format!("{RACE}{second}"));
    assert_eq!(editor.pull("a.hlsl").lines().count(), 2);
    // The configuration changes on disk.
    fs::write(folder.0.join("shaderlint.toml"), "").unwrap();
    let change = json!({ "changes": [{ "uri": editor.uri("shaderlint.toml"), "type": 2 }] });
    editor.tell("workspace/didChangeWatchedFiles", change);
    editor.edit("a.hlsl", 3, None, RACE);
    assert_eq!(editor.pull("a.hlsl").lines().count(), 1);
    // What is wrong with it is said once, and there.
    fs::write(folder.0.join("shaderlint.toml"), "exclude = []").unwrap();
    let document = json!({ "textDocument": { "uri": editor.uri("b.hlsl") } });
    editor.tell("textDocument/didSave", document);
    let message = editor.next();
    assert_data_eq!(
        message["params"]["message"].as_str().unwrap(),
        str![
            "shaderlint: shaderlint.toml:1: no key is called `exclude` here; did you mean `exclude` in `[files]`?"
        ]
    );
    assert_eq!(
        editor.told("shaderlint.toml"),
        "0:0-0:7 configuration no key is called `exclude` here; did you mean `exclude` in `[files]`?\n"
    );
    fs::write(folder.0.join("shaderlint.toml"), "").unwrap();
    // The workspace is another one.
    let event = json!({ "event": { "added": [], "removed": [{ "uri": editor.uri(""), "name": "test" }] } });
    editor.tell("workspace/didChangeWorkspaceFolders", event);
    assert_eq!(editor.pull("a.hlsl").lines().count(), 1);
    assert_eq!(editor.quit(), Some(0));
}

/// The settings of a workspace folder hold for its files, and relative paths start in it.
#[test]
fn each_folder_has_settings_of_its_own() {
    let sized = RACE.replace("[numthreads(64", "#include \"size.hlsli\"\n[numthreads(SIZE");
    let folder = Folder::new("server-folders")
        .with("one/inc/size.hlsli", "#define SIZE 64\n")
        .with("one/a.hlsl", &sized)
        .with("two/b.hlsl", LADDER);
    let mut editor = Editor::start(&folder);
    let folders = ["one", "two"].map(|name| json!({ "uri": editor.uri(name), "name": name }));
    let mut capabilities = pulling();
    capabilities["workspace"]["configuration"] = true.into();
    let params = json!({ "processId": null, "rootUri": null, "capabilities": capabilities, "workspaceFolders": folders });
    editor.ask("initialize", params);
    editor.tell("initialized", json!({}));
    let question = editor.next();
    let scopes: Vec<_> = { question["params"]["items"].as_array().unwrap().iter() }
        .map(|item| item["scopeUri"].clone())
        .collect();
    assert_eq!(
        scopes,
        [json!(null), json!(editor.uri("one")), json!(editor.uri("two"))]
    );
    let answer = |editor: &mut Editor, id: &serde_json::Value, of_two: serde_json::Value| {
        let settings = json!([{}, { "includeDirs": ["inc"] }, of_two]);
        editor.send(&json!({ "jsonrpc": "2.0", "id": id, "result": settings }));
    };
    answer(&mut editor, &question["id"], json!({ "profile": "cs_5_0" }));
    editor.open_file("one/a.hlsl", &sized);
    editor.open_file("two/b.hlsl", LADDER);
    assert_eq!(
        editor.pull("one/a.hlsl"),
        "6:17-6:37 groupshared-race data race on g_Sum[1]\n"
    );
    assert_eq!(editor.pull("two/b.hlsl"), "");
    // A folder that is missing is missing in the folder that names it.
    editor.tell("workspace/didChangeConfiguration", json!({ "settings": null }));
    let question = editor.next();
    answer(&mut editor, &question["id"], json!({ "includeDirs": ["inc"] }));
    let message = editor.next();
    let missing = format!(
        "shaderlint: includeDirs: {}: no such folder",
        folder.0.join("two/inc").display()
    );
    assert_eq!(message["params"]["message"], missing);
    assert_eq!(editor.pull("two/b.hlsl").lines().count(), 1);
    assert_eq!(editor.quit(), Some(0));
}

/// What held before holds until the configuration can be read again; without that, what holds without one.
#[test]
fn a_configuration_that_cannot_be_read_changes_nothing() {
    let folder = Folder::new("server-misconfigured")
        .with("shaderlint.toml", "[levels]\nperf = \"off\"\n")
        .with("a.hlsl", RACE)
        .with("b.hlsl", LADDER);
    let change = |editor: &mut Editor, text: &str| {
        fs::write(folder.0.join("shaderlint.toml"), text).unwrap();
        let change = json!({ "changes": [{ "uri": editor.uri("shaderlint.toml"), "type": 2 }] });
        editor.tell("workspace/didChangeWatchedFiles", change);
    };
    let found = |editor: &mut Editor| {
        let files = ["a.hlsl", "b.hlsl"];
        files.map(|file| editor.pull(file).lines().count())
    };
    let mut editor = Editor::open(&folder, pulling());
    editor.open_file("a.hlsl", RACE);
    editor.open_file("b.hlsl", LADDER);
    assert_eq!(found(&mut editor), [1, 0]);
    let bad = "[levels]\nperf = \"of\"\n";
    change(&mut editor, bad);
    let message = editor.next();
    assert_eq!(message["method"], "window/showMessage", "{message}");
    assert_eq!(
        editor.told("shaderlint.toml"),
        "1:7-1:11 configuration `of` is none of `off`, `info`, `warn`, `error`; did you mean `off`?\n"
    );
    assert_eq!(found(&mut editor), [1, 0]);
    editor.edit("a.hlsl", 2, None, &format!("{RACE}\n"));
    assert_eq!(found(&mut editor), [1, 0]);
    // A folder that is missing is told at its place, and what else is said holds.
    change(&mut editor, "[preprocess]\ninclude-dirs = [\"gone\"]\n");
    let told = loop {
        let told = editor.told("shaderlint.toml");
        if !told.contains("is none of") {
            break told;
        }
    };
    assert_eq!(told, "1:16-1:22 configuration no such folder\n");
    assert_eq!(found(&mut editor), [1, 1]);
    change(&mut editor, "");
    while !editor.told("shaderlint.toml").is_empty() {}
    assert_eq!(found(&mut editor), [1, 1]);
    assert_eq!(editor.quit(), Some(0));
    // Nothing is known of what held before.
    let folder = folder.with("shaderlint.toml", bad);
    let mut editor = Editor::open(&folder, pulling());
    editor.open_file("b.hlsl", LADDER);
    assert_eq!(editor.pull("b.hlsl").lines().count(), 1);
    assert_eq!(editor.quit(), Some(0));
}

#[test]
fn what_is_wrong_in_a_baseline_is_told_there() {
    let known =
        "[\"a.hlsl\"]\ngroupshared-race = 2\ngroupshared-rase = 1\n[\"gone.hlsl\"]\nblelloch-scan = 1\n";
    let folder = Folder::new("server-baseline")
        .with("shaderlint.toml", "baseline = \"known.toml\"\n")
        .with("known.toml", known)
        .with("a.hlsl", RACE);
    let mut editor = Editor::open(&folder, json!({}));
    editor.open_file("a.hlsl", RACE);
    assert_eq!(editor.told("a.hlsl"), "");
    assert_eq!(
        editor.told("known.toml"),
        "2:0-2:20 baseline no rule is called `groupshared-rase`; did you mean `groupshared-race`?\n\
         1:0-1:20 baseline known.toml counts 2 groupshared-race in a.hlsl, but 1 is left: --write-baseline lowers the count\n\
         4:0-4:17 baseline known.toml counts 1 blelloch-scan in gone.hlsl, but 0 are left: --write-baseline lowers the count\n"
    );
    // Nothing is put aside for one that cannot be read.
    fs::write(
        folder.0.join("known.toml"),
        "[\"a.hlsl\"]\ngroupshared-race = -1\n",
    )
    .unwrap();
    editor.edit("a.hlsl", 2, None, &format!("{RACE}\n"));
    assert_eq!(editor.told("a.hlsl").lines().count(), 1);
    assert_eq!(
        editor.told("known.toml"),
        "1:19-1:21 baseline expected a whole number, 0 or more, found number `-1`\n"
    );
    // It is written anew.
    fs::write(
        folder.0.join("known.toml"),
        "[\"a.hlsl\"]\ngroupshared-race = 1\n",
    )
    .unwrap();
    for changed in ["other.toml", "known.toml"] {
        let change = json!({ "changes": [{ "uri": editor.uri(changed), "type": 2 }] });
        editor.tell("workspace/didChangeWatchedFiles", change);
    }
    assert_eq!(editor.told("a.hlsl"), "");
    assert_eq!(editor.told("known.toml"), "");
    assert_eq!(editor.quit(), Some(0));
}

/// What the editor is asked to tell of, next.
fn watched(editor: &mut Editor) -> String {
    let message = editor.next();
    assert_eq!(message["method"], "client/registerCapability", "{message}");
    let registration = &message["params"]["registrations"][0];
    assert_eq!(registration["method"], "workspace/didChangeWatchedFiles");
    let watchers = registration["registerOptions"]["watchers"].as_array().unwrap();
    assert_eq!(watchers.len(), 1);
    watchers[0]["globPattern"].as_str().unwrap().to_owned()
}

/// What is looked at and what is included is watched, whatever it is called.
#[test]
fn files_of_other_names_are_watched_and_include_headers() {
    let shader =
        "#include \"part.h\"\n[numthreads(64, 1, 1)] void main(uint gi : SV_GroupIndex) { Part(gi); }\n";
    let racy = "groupshared uint g_Sum[64];\nvoid Part(uint gi) { g_Sum[gi] = gi; g_Sum[gi] += g_Sum[(gi + 1) % 64]; }\n";
    let quiet = "void Part(uint gi) {}\n";
    let folder = Folder::new("server-names")
        .with(
            "shaderlint.toml",
            "baseline = \"known.list\"\n[files]\ninclude = [\"src/*.shader\", \"more/\"]\n",
        )
        .with("src/a.shader", shader)
        .with("part.h", racy)
        .with("known.list", "");
    let mut capabilities = pulling();
    capabilities["workspace"]["didChangeWatchedFiles"] = json!({ "dynamicRegistration": true });
    let mut editor = Editor::open(&folder, capabilities);
    assert_eq!(
        watched(&mut editor),
        "**/{*.amp,*.as,*.azsl,*.azsli,*.cginc,*.comp,*.compute,*.csh,*.fx,*.fxh,*.hlsl,*.hlsli,*.ihlsl,*.mesh,*.ms,*.task,\
         *.toml,*.usf,*.ush,shadertoolsconfig.json}"
    );
    // A header is seen in a file that only the configuration calls a shader.
    editor.open_file("part.h", racy);
    let header = json!({ "textDocument": { "uri": editor.uri("part.h") } });
    let pull = editor.request("textDocument/diagnostic", header.clone());
    assert_eq!(watched(&mut editor), "**/{*.list,*.shader}");
    assert_eq!(watched(&mut editor), "**/*.h");
    assert_eq!(
        editor.answer(pull)["result"]["items"][0]["code"],
        "groupshared-race"
    );
    editor.tell("textDocument/didClose", header);
    editor.open_file("src/a.shader", shader);
    while editor.told("part.h").is_empty() {}
    fs::write(folder.0.join("part.h"), quiet).unwrap();
    let change = json!({ "changes": [{ "uri": editor.uri("part.h"), "type": 2 }] });
    editor.tell("workspace/didChangeWatchedFiles", change);
    assert_eq!(editor.told("part.h"), "");
    assert_eq!(editor.quit(), Some(0));
}
