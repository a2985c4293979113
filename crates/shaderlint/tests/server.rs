//! The language server from outside.
#![expect(clippy::too_many_lines, reason = "a test shows all that it expects")]
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot set its files up fails")]

mod support;

#[path = "server/configuration.rs"]
mod configuration;
#[path = "server/documents.rs"]
mod documents;
#[path = "support/editor.rs"]
mod editor;
#[path = "server/protocol.rs"]
mod protocol;
#[path = "server/scheduling.rs"]
mod scheduling;

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use editor::{Editor, edited};
use serde_json::{Value, json};
use snapbox::{assert_data_eq, str};
use support::{Folder, LADDER, RACE};

/// An editor that asks for diagnostics and counts bytes.
fn pulling() -> Value {
    json!({
        "general": { "positionEncodings": ["utf-8", "utf-16"] },
        "textDocument": { "diagnostic": {} },
        "workspace": { "workspaceEdit": { "documentChanges": true } },
    })
}

/// What is in `tests/server/*.txt` happens: `>` is sent, and each `<` is the next message that comes.
#[test]
fn exchanges_are_as_recorded() {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server");
    for entry in fs::read_dir(recorded).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        let folder =
            Folder::new("server-recorded").with("scan/shaderlint.toml", "[levels]\nperf = \"info\"\n");
        let root = format!("file://{}", folder.0.display());
        let mut editor = Editor::start(&folder);
        let mut happened = String::new();
        for line in fs::read_to_string(&path).unwrap().lines() {
            if let Some(message) = line.strip_prefix("> ") {
                let mut message: Value = serde_json::from_str(&message.replace("ROOT", &root)).unwrap();
                message["jsonrpc"] = "2.0".into();
                editor.send(&message);
            }
            if line.starts_with('<') {
                let mut message = editor.next();
                message.as_object_mut().unwrap().remove("jsonrpc");
                shorten(&mut message);
                let message = message.to_string().replace(&root, "ROOT");
                let _ = writeln!(happened, "< {message}");
            } else {
                let _ = writeln!(happened, "{line}");
            }
        }
        snapbox::Assert::new()
            .action_env(snapbox::assert::DEFAULT_ACTION_ENV)
            .eq(happened, snapbox::Data::read_from(&path, None).raw());
    }
}

/// A rule's page is shown elsewhere.
fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > 800 => {
            let (end, _) = text.char_indices().nth(600).unwrap();
            text.truncate(end);
            text.push('\u{2026}');
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(items) => items.values_mut().for_each(shorten),
        _ => {}
    }
}

#[test]
fn edits_are_followed_in_either_encoding() {
    for (capabilities, column) in [(pulling(), 10), (json!({}), 8)] {
        let folder = Folder::new("server-encoding");
        let mut editor = Editor::open(&folder, capabilities.clone());
        let said = |editor: &mut Editor| {
            if capabilities["textDocument"].is_null() {
                editor.told("a.hlsl")
            } else {
                editor.pull("a.hlsl")
            }
        };
        // The end of the comment, in bytes or UTF-16.
        let text = RACE.replace("    g_Sum[gi] +=", "/*\u{1f600}*/ g_Sum[gi] +=");
        editor.open_file("a.hlsl", &text);
        let before = said(&mut editor);
        editor.edit("a.hlsl", 2, Some([5, 0, 5, column - 2]), "");
        let after = said(&mut editor);
        assert_eq!(
            before,
            format!(
                "5:{0}-5:{1} groupshared-race data race on g_Sum[1]\n",
                column + 12,
                column + 32
            )
        );
        assert_eq!(after, "5:14-5:34 groupshared-race data race on g_Sum[1]\n");
        // A line goes, then all of it.
        editor.edit("a.hlsl", 3, Some([4, 0, 5, 0]), "");
        assert_eq!(
            said(&mut editor),
            "4:1-4:10 groupshared-race data race on g_Sum[0]\n"
        );
        editor.edit("a.hlsl", 4, None, RACE);
        assert_eq!(
            said(&mut editor),
            "5:17-5:37 groupshared-race data race on g_Sum[1]\n"
        );
        assert_eq!(editor.quit(), Some(0));
    }
}

#[test]
fn findings_are_fixed_allowed_and_explained() {
    let folder = Folder::new("server-actions")
        .with("a.hlsl", LADDER)
        .with("b.hlsl", RACE);
    let mut editor = Editor::open(&folder, pulling());
    editor.open_file("a.hlsl", LADDER);
    editor.open_file("b.hlsl", RACE);
    let uri = editor.uri("a.hlsl");
    let titles = |actions: &Value| -> Vec<String> {
        let actions = actions.as_array().unwrap().iter();
        actions
            .map(|action| format!("{} ({})", action["title"], action["kind"]).replace('"', ""))
            .collect()
    };
    let actions = editor.actions("a.hlsl", [8, 3, 8, 3], Value::Null);
    assert_eq!(
        titles(&actions),
        [
            "replace the ladder with wave intrinsics (quickfix)",
            "replace the ladder with wave intrinsics in place (as fast on an NVIDIA H200) (quickfix)",
            "Allow hillis-steele-scan here (quickfix)",
            "Allow hillis-steele-scan in this file (quickfix)"
        ]
    );
    assert_eq!(actions[0]["isPreferred"], true);
    assert_eq!(actions[0]["diagnostics"][0]["code"], "hillis-steele-scan");
    let fixed = edited(LADDER, &actions[0], &uri);
    let all = editor.actions("a.hlsl", [0, 0, 0, 0], json!(["source.fixAll"]));
    assert_eq!(
        titles(&all),
        ["Apply all fixes of shaderlint (source.fixAll.shaderlint)"]
    );
    assert_eq!(edited(LADDER, &all[0], &uri), fixed);
    // Some editors ask for all that the server says it has.
    let both = editor.actions(
        "a.hlsl",
        [8, 3, 8, 3],
        json!(["quickfix", "source.fixAll.shaderlint"]),
    );
    let [short, fast, allow, allow_in_file] = titles(&actions).try_into().expect("four actions");
    assert_eq!(
        titles(&both),
        [vec![short, fast], titles(&all), vec![allow, allow_in_file]].concat()
    );
    assert!(folder.run(&["--fix", "a.hlsl"]).status.success());
    assert_eq!(fs::read_to_string(folder.0.join("a.hlsl")).unwrap(), fixed);
    // The other form is what it is where the project asks for it.
    let in_place = edited(LADDER, &actions[1], &uri);
    let folder_of_forms = Folder::new("server-forms")
        .with("shaderlint.toml", "[fix]\nform = \"inline\"\n")
        .with("a.hlsl", LADDER);
    assert!(folder_of_forms.run(&["--fix", "a.hlsl"]).status.success());
    assert_eq!(
        fs::read_to_string(folder_of_forms.0.join("a.hlsl")).expect("the file is there"),
        in_place
    );
    assert_ne!(in_place, fixed);
    // Elsewhere there is nothing to do, nor is there of another kind.
    assert_eq!(editor.actions("a.hlsl", [0, 0, 0, 0], Value::Null), json!([]));
    assert_eq!(
        editor.actions("a.hlsl", [8, 3, 8, 3], json!(["refactor"])),
        json!([])
    );
    assert_eq!(
        editor.actions("b.hlsl", [0, 0, 9, 0], json!(["source.fixAll.shaderlint"])),
        json!([])
    );

    let allowed = edited(LADDER, &actions[2], &uri);
    let comment = "\t// shaderlint: allow(hillis-steele-scan): say why\n\tfor (";
    assert!(allowed.contains(comment), "{allowed}");
    editor.edit("a.hlsl", 2, None, &allowed);
    assert_eq!(editor.pull("a.hlsl"), "");
    let allowed_in_file = edited(LADDER, &actions[3], &uri);
    assert!(
        allowed_in_file.starts_with("// shaderlint: allow-file(hillis-steele-scan): say why\n"),
        "{allowed_in_file}"
    );
    editor.edit("a.hlsl", 2, None, &allowed_in_file);
    assert_eq!(editor.pull("a.hlsl"), "");
    editor.edit("a.hlsl", 2, None, &allowed);
    assert_eq!(editor.pull("a.hlsl"), "");
    // The comment is explained, and so is what was found.
    let shown = |hover: Value| {
        hover["contents"]["value"]
            .as_str()
            .unwrap_or("nothing")
            .to_owned()
    };
    assert!(shown(editor.hover("a.hlsl", 8, 30)).starts_with("**hillis-steele-scan**: "));
    assert_eq!(shown(editor.hover("a.hlsl", 0, 0)), "nothing");
    editor.edit("a.hlsl", 3, None, &fixed);
    assert_eq!(editor.pull("a.hlsl"), "");
    let hover = shown(editor.hover("b.hlsl", 5, 20));
    assert_data_eq!(
        hover,
        str![[r#"
**data race on g_Sum[1]**

- thread 0 reads g_Sum[1] while thread 1 writes it, with no barrier between them
- other pairs of accesses also race here
- threads of a wave need not run in lock-step
- the fix is proved: with these barriers, no two threads of the group race on groupshared memory
- fix: put the missing barriers before this statement and between the reads and the write (unsafe: results may differ, as the rule's page explains)

---

**groupshared-race**: two threads access one groupshared element between the same barriers, and one writes

Threads run in any order between two barriers. What the reader gets, or which write stays, depends on the hardware,
the driver and the moment, so such code tends to work on the machine it was written on.

[The rule's page](https://github.com/shaderlint/shaderlint/blob/main/docs/rules/groupshared-race.md)

"#]]
    );
    editor.edit("a.hlsl", 4, None, LADDER);
    let hover = shown(editor.hover("a.hlsl", 8, 3));
    assert_data_eq!(
        hover.split_once("\n---\n\n").unwrap().0,
        str![[r#"
**Hillis–Steele inclusive scan of 64 uints**

- proved: g_Scan[i] ends as the sum of g_Scan[0] … g_Scan[i] for all i < 64, race-free
- the wave form passes one barrier; it needs shader model 6.0 and waves that hold consecutive threads (all known implementations pack 1-D groups this way)
- the fix is proved: the kernel writes the same values at wave sizes 4 to 128 (lane map: linear)
- fix: replace the ladder with wave intrinsics (safe)

"#]]
    );
    // No line can be put into the definition of a macro.
    let in_macro = RACE.replace(
        "    g_Sum[gi] += g_Sum[(gi + 1) % 64];",
        "#define ADD \\\n    g_Sum[gi] += g_Sum[(gi + 1) % 64];\n    ADD",
    );
    editor.edit("b.hlsl", 2, None, &in_macro);
    let inside = editor.actions("b.hlsl", [6, 5, 6, 5], Value::Null);
    let outside = editor.actions("b.hlsl", [7, 5, 7, 5], Value::Null);
    assert_eq!(
        (titles(&inside), titles(&outside)),
        (
            vec![],
            vec![
                "Allow groupshared-race here (quickfix)".to_owned(),
                "Allow groupshared-race in this file (quickfix)".to_owned()
            ]
        )
    );
    assert_eq!(editor.quit(), Some(0));
}

#[test]
fn races_share_the_fix_that_ends_them() {
    let text = "groupshared uint a[64], b[64];\nRWStructuredBuffer<uint> Out;\n[numthreads(64, 1, 1)]\n\
                void main(uint gi : SV_GroupIndex)\n{\n    a[gi] = gi;\n    b[gi] = gi;\n    \
                Out[gi] = a[63 - gi] + b[63 - gi];\n}\n";
    let folder = Folder::new("server-shared-fix");
    let mut editor = Editor::open(&folder, pulling());
    editor.open_file("a.hlsl", text);
    assert_eq!(editor.pull("a.hlsl").lines().count(), 2);
    let actions = editor.actions("a.hlsl", [7, 0, 7, 60], Value::Null);
    let actions = actions.as_array().unwrap();
    let fixes = actions
        .iter()
        .filter(|action| action["title"].as_str().unwrap().starts_with("put"));
    let ended: Vec<usize> = fixes
        .map(|fix| fix["diagnostics"].as_array().unwrap().len())
        .collect();
    assert_eq!(ended, [2]);
    assert_eq!(editor.quit(), Some(0));
}

#[test]
fn a_rule_is_turned_off_in_the_configuration() {
    let folder = Folder::new("server-off")
        .with("a.hlsl", RACE)
        .with("b/c.hlsl", RACE);
    let mut capabilities = pulling();
    capabilities["workspace"]["workspaceEdit"]["resourceOperations"] = json!(["create"]);
    let mut editor = Editor::open(&folder, capabilities);
    editor.open_file("a.hlsl", RACE);
    let off = |editor: &mut Editor, path: &str| {
        let mut actions = editor.actions(path, [5, 20, 5, 20], Value::Null);
        let last = actions.as_array_mut().unwrap().pop().unwrap();
        assert_eq!(last["title"], "Turn off groupshared-race in shaderlint.toml");
        last["edit"]["documentChanges"].clone()
    };
    // No file has the setting yet.
    let changes = off(&mut editor, "a.hlsl");
    let uri = editor.uri("shaderlint.toml");
    assert_eq!(
        changes[0],
        json!({ "kind": "create", "uri": uri, "options": { "ignoreIfExists": true } })
    );
    assert_eq!(changes[1]["textDocument"]["uri"], uri);
    let text = changes[1]["edits"][0]["newText"].as_str().unwrap();
    assert_eq!(text, "[levels]\ngroupshared-race = \"off\"\n");
    let configure = |editor: &mut Editor, path: &str, text: &str| {
        fs::write(folder.0.join(path), text).unwrap();
        let change = json!({ "changes": [{ "uri": editor.uri(path), "type": 1 }] });
        editor.tell("workspace/didChangeWatchedFiles", change);
    };
    configure(&mut editor, "shaderlint.toml", text);
    assert_eq!(editor.pull("a.hlsl"), "");
    // The nearest file has it, with a level of its own.
    let nearest = "[levels]\nperf = \"info\"\ngroupshared-race = \"warn\"\n";
    configure(&mut editor, "b/shaderlint.toml", nearest);
    editor.open_file("b/c.hlsl", RACE);
    let changes = off(&mut editor, "b/c.hlsl");
    assert_eq!(changes[0]["textDocument"]["uri"], editor.uri("b/shaderlint.toml"));
    let action = json!({ "edit": { "documentChanges": changes } });
    assert_eq!(
        edited(nearest, &action, ""),
        "[levels]\nperf = \"info\"\ngroupshared-race = \"off\"\n"
    );
    assert_eq!(editor.quit(), Some(0));
}

#[test]
fn headers_are_seen_where_they_are_included() {
    let header = "#define NEXT ((gi + 1) % 64)\nvoid add(uint gi)\n{\n    g_Sum[gi] += g_Sum[NEXT];\n}\n";
    let kernel = RACE
        .replace("[numthreads", "#include \"add.hlsli\"\n[numthreads")
        .replace("    g_Sum[gi] += g_Sum[(gi + 1) % 64];", "    add(gi);");
    let folder = Folder::new("server-headers")
        .with("lib/add.hlsli", header)
        .with("lib/shaderlint.toml", "")
        .with("src/a.hlsl", kernel.replace("add.hlsli", "../lib/add.hlsli"))
        .with("src/b.hlsl", RACE);
    let mut editor = Editor::open(&folder, json!({}));
    // Nobody has its includer open.
    editor.open_file("lib/add.hlsli", header);
    assert_eq!(
        editor.told("lib/add.hlsli"),
        "3:17-3:28 groupshared-race data race on g_Sum[1]\n"
    );
    // A change in it is seen at once, on disk or not.
    editor.edit("lib/add.hlsli", 2, Some([0, 0, 1, 0]), "#define NEXT gi\n");
    assert_eq!(editor.told("lib/add.hlsli"), "");
    editor.open_file("src/a.hlsl", &kernel.replace("add.hlsli", "../lib/add.hlsli"));
    assert_eq!(editor.told("src/a.hlsl"), "");
    editor.edit(
        "lib/add.hlsli",
        3,
        Some([0, 0, 1, 0]),
        "#define NEXT ((gi + 2) % 64)\n",
    );
    assert_eq!(
        editor.told("lib/add.hlsli"),
        "3:17-3:28 groupshared-race data race on g_Sum[2]\n"
    );
    // What is only on disk is as it is there.
    let document = json!({ "textDocument": { "uri": editor.uri("lib/add.hlsli") } });
    editor.tell("textDocument/didClose", document);
    assert_eq!(editor.told("lib/add.hlsli"), "");
    assert_eq!(
        editor.told("lib/add.hlsli"),
        "3:17-3:28 groupshared-race data race on g_Sum[1]\n"
    );
    assert_eq!(editor.quit(), Some(0));
}

/// A file in which something keeps findings away does not look clean.
#[test]
fn what_keeps_findings_away_is_told() {
    let folder = Folder::new("server-problems");
    let mut editor = Editor::open(&folder, json!({}));
    let misspelt = RACE.replace("% 64];", "% 64]; // shaderlint: allow(groupshared-rase)");
    editor.open_file("a.hlsl", &misspelt);
    assert_eq!(
        editor.told("a.hlsl"),
        "5:17-5:37 groupshared-race data race on g_Sum[1]\n\
         5:60-5:76 not-understood no rule is called `groupshared-rase`; did you mean `groupshared-race`?\n"
    );
    editor.open_file(
        "b.hlsl",
        &format!("#include \"gone.hlsli\"\n{}", RACE.replace("64]", "SIZE]")),
    );
    assert_eq!(
        editor.told("b.hlsl"),
        "0:9-0:21 not-understood cannot find `gone.hlsli`\n\
         0:0-0:21 not-understood not understood in full: findings may be missing in this file\n"
    );
    editor.open_file("c.hlsl", &format!("#if 0\n{RACE}"));
    assert_eq!(
        editor.told("c.hlsl"),
        "0:0-0:3 not-understood `#if` without `#endif`\n\
         0:0-0:5 not-understood not understood in full: findings may be missing in this file\n"
    );
    let broken = RACE.replace("% 64];", "% 64; } 3;");
    editor.open_file("broken.hlsl", &format!("// {}\n{broken}", "\u{e9}".repeat(3)));
    let told = editor.next()["params"]["diagnostics"].clone();
    assert_eq!((&told[0]["severity"], &told[1]), (&json!(4), &Value::Null));
    assert_eq!(told[0]["range"]["end"], json!({ "line": 0, "character": 6 }));
    assert_data_eq!(
        told[0]["message"].as_str().unwrap(),
        str![[r#"
not understood in full: findings may be missing in this file
broken.hlsl:8: unmatched bracket, and 2 more like this
broken.hlsl:7: an unsupported statement
"#]]
    );
    let named = RACE.replace(
        "    g_Sum[gi] = gi;",
        "    g_Sum[gi] = A + B + C + D + E + F + G;",
    );
    editor.open_file("named.hlsl", &named);
    let told = editor.next()["params"]["diagnostics"].clone();
    let hint = { told.as_array().unwrap().iter() }.find(|one| one["severity"] == 4);
    assert_data_eq!(
        hint.unwrap()["message"].as_str().unwrap(),
        str![[r#"
not understood in full: findings may be missing in this file
named.hlsl:5: unknown name `A`
named.hlsl:5: unknown name `B`
named.hlsl:5: unknown name `C`
named.hlsl:5: unknown name `D`
named.hlsl:5: unknown name `E`
and 2 more: `shaderlint -v` shows them
"#]]
    );
    // A header that no kernel includes.
    editor.open_file("d.hlsli", "#include \"gone.hlsli\"\ngroupshared uint g_A[4];\n");
    assert_eq!(editor.told("d.hlsli"), "");
    assert_eq!(editor.quit(), Some(0));
}

#[test]
fn nothing_is_read_outside_of_the_workspace() {
    let outside = Folder::new("server-outside")
        .with("shaderlint.toml", "[levels]\ngroupshared-race = \"off\"\n")
        .with("race.hlsli", RACE)
        .with("work/.keep", "")
        .with("beside/size.hlsli", "#define SIZE 64\n");
    let folder = Folder(outside.0.join("work"));
    std::os::unix::fs::symlink("../race.hlsli", folder.0.join("link.hlsli")).unwrap();
    let absolute = outside.0.join("race.hlsli").display().to_string();
    let mut editor = Editor::open(&folder, pulling());
    for (number, path) in ["../race.hlsli", "link.hlsli", &absolute].iter().enumerate() {
        let name = format!("{number}.hlsl");
        editor.open_file(&name, &format!("#include \"{path}\"\n// Barrier\n"));
        assert_eq!(editor.pull(&name), "", "{path}");
    }
    // Nor does a configuration out there hold.
    editor.open_file("race.hlsl", RACE);
    assert_eq!(
        editor.pull("race.hlsl"),
        "5:17-5:37 groupshared-race data race on g_Sum[1]\n"
    );
    fs::create_dir(folder.0.join("linked")).unwrap();
    std::os::unix::fs::symlink("../../shaderlint.toml", folder.0.join("linked/shaderlint.toml")).unwrap();
    editor.open_file("linked/race.hlsl", RACE);
    assert_ne!(editor.pull("linked/race.hlsl"), "");
    // An include folder is read wherever it is.
    let sized = RACE.replace("[numthreads(64", "#include \"size.hlsli\"\n[numthreads(SIZE");
    editor.open_file("sized.hlsl", &sized);
    assert_eq!(
        editor.pull("sized.hlsl"),
        "1:9-1:21 not-understood cannot find `size.hlsli`\n\
         0:0-0:27 not-understood not understood in full: findings may be missing in this file\n"
    );
    let settings = json!({ "settings": { "shaderlint": { "includeDirs": ["../beside"] } } });
    editor.tell("workspace/didChangeConfiguration", settings);
    assert_eq!(
        editor.pull("sized.hlsl"),
        "6:17-6:37 groupshared-race data race on g_Sum[1]\n"
    );
    assert_eq!(editor.quit(), Some(0));
}

#[test]
fn an_editor_that_leaves_without_a_word_is_a_failure() {
    let folder = Folder::new("server-exit");
    let editor = Editor::open(&folder, pulling());
    assert_eq!(editor.exit(), Some(1));
}

#[test]
fn an_editor_that_asks_is_told_to_ask_again() {
    let folder = Folder::new("server-refresh")
        .with("shaderlint.toml", "")
        .with("size.hlsli", "#define SIZE 64\n");
    let text = format!("#include \"size.hlsli\"\n{}", RACE.replace("64", "SIZE"));
    let mut capabilities = pulling();
    capabilities["workspace"]["diagnostics"] = json!({ "refreshSupport": true });
    let mut editor = Editor::open(&folder, capabilities);
    editor.open_file("a.hlsl", &text);
    assert_eq!(editor.pull("a.hlsl").lines().count(), 1);
    let refresh = |editor: &mut Editor| {
        let message = editor.next();
        assert_eq!(message["method"], "workspace/diagnostic/refresh", "{message}");
        editor.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": null }));
    };
    let changed = |editor: &mut Editor, path: &str, text: &str| {
        fs::write(folder.0.join(path), text).unwrap();
        let change = json!({ "changes": [{ "uri": editor.uri(path), "type": 2 }] });
        editor.tell("workspace/didChangeWatchedFiles", change);
    };
    // One thread races with nobody.
    changed(&mut editor, "size.hlsli", "#define SIZE 1\n");
    refresh(&mut editor);
    assert_eq!(editor.pull("a.hlsl"), "");
    changed(&mut editor, "size.hlsli", "#define SIZE 64\n");
    refresh(&mut editor);
    assert_eq!(editor.pull("a.hlsl").lines().count(), 1);
    changed(
        &mut editor,
        "shaderlint.toml",
        "[levels]\ngroupshared-race = \"off\"\n",
    );
    refresh(&mut editor);
    assert_eq!(editor.pull("a.hlsl"), "");
    // What is excluded is opened to be read.
    changed(&mut editor, "shaderlint.toml", "");
    refresh(&mut editor);
    changed(&mut editor, "shaderlint.toml", "[files]\nexclude = [\"/a.*\"]\n");
    refresh(&mut editor);
    assert_eq!(editor.pull("a.hlsl"), "");
    assert_eq!(editor.quit(), Some(0));
}

#[test]
fn requests_are_cancelled_and_mistakes_survived() {
    let folder = Folder::new("server-mistakes");
    let mut editor = Editor::open(&folder, pulling());
    editor.open_file("a.hlsl", RACE);
    assert_eq!(editor.pull("a.hlsl").lines().count(), 1);
    let document = json!({ "textDocument": { "uri": editor.uri("a.hlsl") } });
    // It waits until nothing is typed any more.
    editor.edit("a.hlsl", 2, None, LADDER);
    let id = editor.request("textDocument/diagnostic", document.clone());
    editor.tell("$/cancelRequest", json!({ "id": id }));
    assert_eq!(editor.answer(id)["error"]["code"], -32800);
    assert_eq!(editor.pull("a.hlsl").lines().count(), 1);

    let error = |editor: &mut Editor, method: &str, params: Value| {
        let id = editor.request(method, params);
        editor.answer(id)["error"]["code"].clone()
    };
    assert_eq!(
        error(&mut editor, "textDocument/rename", document.clone()),
        -32601
    );
    assert_eq!(error(&mut editor, "textDocument/hover", document.clone()), -32602);
    // What is not saved yet is not looked at.
    let unsaved = json!({ "textDocument": { "uri": "untitled:1" } });
    assert_eq!(editor.ask("textDocument/diagnostic", unsaved)["items"], json!([]));
    editor.tell("textDocument/didOpen", json!({ "textDocument": 1 }));
    editor.tell(
        "textDocument/didChange",
        json!({ "textDocument": { "uri": "file:///%", "version": 1 }, "contentChanges": [] }),
    );
    editor.edit("gone.hlsl", 1, None, "");
    // Ranges outside of the text, and the wrong way round.
    editor.edit("a.hlsl", 3, Some([900, 9, 2, 1]), "\n");
    editor.edit("a.hlsl", 4, Some([3, 900, 1, 1]), "\n");
    editor.edit("a.hlsl", 5, None, RACE);
    assert_eq!(editor.pull("a.hlsl").lines().count(), 1);
    assert_eq!(editor.quit(), Some(0));
}

#[test]
fn what_has_not_changed_is_not_said_again() {
    let folder = Folder::new("server-unchanged");
    let mut editor = Editor::open(&folder, pulling());
    editor.open_file("a.hlsl", RACE);
    let uri = editor.uri("a.hlsl");
    let ask = |editor: &mut Editor, previous: &Value| {
        let params = json!({ "textDocument": { "uri": uri }, "previousResultId": previous });
        let report = editor.ask("textDocument/diagnostic", params);
        let count = report["items"].as_array().map(Vec::len);
        (report["kind"].clone(), report["resultId"].clone(), count)
    };
    let (kind, first, count) = ask(&mut editor, &Value::Null);
    assert_eq!((kind, count), (json!("full"), Some(1)));
    assert!(first.is_string());
    assert_eq!(
        ask(&mut editor, &first),
        (json!("unchanged"), first.clone(), None)
    );
    // Another text with the same findings in the same places.
    editor.edit("a.hlsl", 2, None, &format!("{RACE}// more\n"));
    assert_eq!(
        ask(&mut editor, &first),
        (json!("unchanged"), first.clone(), None)
    );
    editor.edit("a.hlsl", 3, None, &format!("\n{RACE}"));
    let (kind, second, count) = ask(&mut editor, &first);
    assert_eq!((kind, count), (json!("full"), Some(1)));
    assert_ne!(first, second);
    // Who does not say what it has is told all of it; so is who has something older.
    assert_eq!(
        ask(&mut editor, &Value::Null),
        (json!("full"), second.clone(), Some(1))
    );
    assert_eq!(ask(&mut editor, &first), (json!("full"), second, Some(1)));
    assert_eq!(editor.quit(), Some(0));
}

/// A look that is of an older text is not waited for.
#[test]
fn a_look_ends_when_its_text_is_gone() {
    let folder = Folder::new("server-stopped");
    let mut editor = Editor::open(&folder, pulling());
    let kernel = |number: usize| {
        LADDER
            .replace("64", "1024")
            .replace("main", &format!("main{number}"))
            .replace("g_Scan", &format!("g_Scan{number}"))
            .replace("StructuredBuffer<uint> Src;\nRWStructuredBuffer<uint> Out;\n", "")
    };
    let many: String = (0..24).map(kernel).collect();
    let many = format!("StructuredBuffer<uint> Src;\nRWStructuredBuffer<uint> Out;\n{many}");
    let start = Instant::now();
    editor.open_file("a.hlsl", &many);
    assert_eq!(editor.pull("a.hlsl").lines().count(), 24);
    let whole = start.elapsed();
    editor.edit("a.hlsl", 2, None, &format!("{many}\n"));
    std::thread::sleep(whole / 8);
    let start = Instant::now();
    editor.edit("a.hlsl", 3, None, RACE);
    assert_eq!(editor.pull("a.hlsl").lines().count(), 1);
    let rest = start.elapsed();
    println!("24 kernels: {whole:.1?}; after they were gone: {rest:.1?}");
    assert!(rest < whole / 2, "{rest:?} of {whole:?}");
    assert_eq!(editor.quit(), Some(0));
}

/// A kernel of 500 lines: functions, of which it calls some, and a ladder of 256 elements.
fn long_kernel() -> String {
    let mut kernel =
        String::from("StructuredBuffer<float4> Particles;\ncbuffer C { float4 Params[16]; uint Count; };\n");
    for n in 0..42 {
        let _ = write!(
            kernel,
            "// Weighs by one of the parameters.\nfloat weigh{n}(float4 p, float t)\n{{\n    \
             float d = dot(p.xyz, Params[{}].xyz) - t;\n    if (d < {n}.0)\n    {{\n        d = d * d + Params[0].w;\n    \
             }}\n    return saturate(d * {n}.5);\n}}\n\n",
            n % 16
        );
    }
    let weights: String = (0..42).step_by(4).fold(String::new(), |text, n| {
        text + &format!("    w += weigh{n}(p, w);\n")
    });
    kernel += &LADDER
        .replace("64", "256")
        .replace("SV_GroupIndex", "SV_GroupIndex, uint3 id : SV_DispatchThreadID")
        .replace(
            "\tg_Scan[gi] = Src[gi];\n",
            &format!("    float4 p = Particles[id.x];\n    float w = 0;\n{weights}\tg_Scan[gi] = id.x < Count && w > 0.5 ? 1 : 0;\n"),
        );
    while kernel.lines().count() < 500 {
        kernel += "// end\n";
    }
    assert_eq!(kernel.lines().count(), 500);
    kernel
}

/// `SHADERLINT_TIMING=1` demands what the issue does, which a loaded machine or a build without optimisation may miss.
#[test]
fn a_keystroke_is_answered_quickly() {
    let folder = Folder::new("server-speed");
    let mut editor = Editor::open(&folder, json!({}));
    let kernel = long_kernel();
    editor.open_file("a.hlsl", &kernel);
    assert_eq!(editor.told("a.hlsl").lines().count(), 1);
    let limit = if std::env::var_os("SHADERLINT_TIMING").is_some() {
        100
    } else {
        5000
    };
    // A space between functions, then letters in the middle of a word that names the type of one that is called: nothing
    // is proved of a fix any more.
    let mut version = 1;
    for (what, place, text) in [("a space", [10, 0, 10, 0], " "), ("a letter", [3, 5, 3, 5], "x")] {
        let mut times = Vec::new();
        for _ in 0..20 {
            version += 1;
            let start = Instant::now();
            editor.edit("a.hlsl", version, Some(place), text);
            let told = editor.told("a.hlsl");
            let found = told.lines().filter(|line| line.contains("hillis-steele-scan"));
            assert_eq!(found.count(), 1);
            times.push(start.elapsed());
        }
        times.sort();
        let (median, slowest) = (times[times.len() / 2], times[times.len() - 1]);
        println!("{what} to diagnostics in 500 lines: median {median:.1?}, slowest {slowest:.1?}");
        assert!(median.as_millis() < limit, "{what}: {median:?}");
    }
}

/// `SHADERLINT_REQUIRE_NEOVIM=1` fails where there is none.
#[test]
fn neovim_shows_and_fixes() {
    if Command::new("nvim").arg("--version").output().is_err() {
        assert!(
            std::env::var_os("SHADERLINT_REQUIRE_NEOVIM").is_none(),
            "no nvim to test with"
        );
        println!("skipped: no nvim to test with");
        return;
    }
    // What the page says for new versions, for older ones, and for all.
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/editors.md");
    let page = fs::read_to_string(page).unwrap();
    let blocks: Vec<&str> = page
        .split("```lua\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    let [new, old, on_save] = blocks[..] else {
        panic!("{blocks:?}");
    };
    let setup = format!("if vim.fn.has('nvim-0.11') == 1 then\n{new}else\n{old}end\n{on_save}");
    let folder = Folder::new("server-neovim")
        .with("setup.lua", setup)
        .with("shaderlint.toml", "")
        .with("a.hlsl", LADDER)
        .with("b.hlsl", RACE);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server/neovim.lua");
    let output = Command::new("timeout")
        .current_dir(&folder.0)
        .args([
            "100",
            "nvim",
            "--headless",
            "-n",
            "-i",
            "NONE",
            "-u",
            "setup.lua",
            "-S",
        ])
        .arg(script)
        .env("PATH", support::path_with_shaderlint())
        .env("HOME", &folder.0)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).replace('\r', "");
    assert_data_eq!(
        said,
        str![[r#"
b.hlsl:6:18 groupshared-race: data race on g_Sum[1]
hover: **data race on g_Sum[1]**
a.hlsl:9:2 hillis-steele-scan: Hillis–Steele inclusive scan of 64 uints
left: 0

"#]]
    );
    let fixed = fs::read_to_string(folder.0.join("a.hlsl")).unwrap();
    assert!(fixed.contains("WavePrefixSum"), "{fixed}");
}
