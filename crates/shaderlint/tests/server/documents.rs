//! Documents that are no files, files that are not open, and how both are named.

use std::fs;

use serde_json::{Value, json};

use super::editor::{Editor, lines};
use super::pulling;
use super::support::{Folder, LADDER, RACE};

const RACED: &str = "5:17-5:37 groupshared-race data race on g_Sum[1]\n";

#[test]
fn documents_that_are_no_files_are_checked() {
    let folder = Folder::new("server-untitled")
        .with("shaderlint.toml", "[levels]\nperf = \"off\"\n")
        .with("Untitled-1", "not read");
    let mut editor = Editor::open(&folder, json!({}));
    for uri in ["untitled:Untitled-1", "vscode-vfs://github/owner/name/a.hlsl"] {
        editor.open_uri(uri, RACE);
        let told = editor.next();
        assert_eq!(told["params"]["uri"], uri);
        assert_eq!(lines(&told["params"]["diagnostics"]), RACED);
        let related = &told["params"]["diagnostics"][0]["relatedInformation"][0];
        assert_eq!(related["location"]["uri"], uri);
    }
    // The configuration of the folder holds.
    editor.open_uri("untitled:Untitled-2", LADDER);
    assert_eq!(editor.next()["params"]["diagnostics"], json!([]));
    assert_eq!(editor.quit(), Some(0));
}

#[test]
fn files_are_named_as_the_editor_does() {
    let folder = Folder::new("server-spelling").with("a.hlsl", RACE);
    let mut editor = Editor::open(&folder, json!({}));
    for uri in [editor.uri("x/../a.hlsl"), editor.uri("%61.hlsl")] {
        editor.open_uri(&uri, RACE);
        let told = editor.next();
        let related = &told["params"]["diagnostics"][0]["relatedInformation"][0];
        assert_eq!(told["params"]["uri"], uri);
        assert_eq!(related["location"]["uri"], uri);
        editor.tell("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
        let told = editor.next();
        assert_eq!(
            (&told["params"]["uri"], &told["params"]["diagnostics"]),
            (&json!(uri), &json!([]))
        );
    }
    assert_eq!(editor.quit(), Some(0));
}

#[test]
fn a_closed_header_keeps_what_an_open_kernel_finds_in_it() {
    let header = "void add(uint gi)\n{\n    g_Sum[gi] += g_Sum[(gi + 1) % 64];\n}\n";
    let kernel = RACE
        .replace("[numthreads", "#include \"add.hlsli\"\n[numthreads")
        .replace("    g_Sum[gi] += g_Sum[(gi + 1) % 64];", "    add(gi);");
    let folder = Folder::new("server-closed-header")
        .with("kernel.hlsl", &kernel)
        .with("add.hlsli", header);
    let mut editor = Editor::open(&folder, json!({}));
    editor.open_file("kernel.hlsl", &kernel);
    editor.open_file("add.hlsli", header);
    let found = "2:17-2:37 groupshared-race data race on g_Sum[1]\n";
    while editor.told("add.hlsli") != found {}
    editor.pull("kernel.hlsl");
    editor.pull("add.hlsli");
    let document = json!({ "textDocument": { "uri": editor.uri("add.hlsli") } });
    editor.tell("textDocument/didClose", document);
    assert_eq!(editor.told("add.hlsli"), "");
    assert_eq!(editor.told("add.hlsli"), found);
    assert_eq!(editor.quit(), Some(0));
}

#[test]
fn includes_are_links() {
    let text =
        "#include \"lib/a.hlsli\"\n# include <b.hlsli> // there\n#include \"gone.hlsli\"\n#include NAME\n";
    let folder = Folder::new("server-links")
        .with("shaderlint.toml", "[preprocess]\ninclude-dirs = [\"more\"]\n")
        .with("lib/a.hlsli", "#include \"c.hlsli\"\n")
        .with("c.hlsli", "")
        .with("more/b.hlsli", "")
        .with("kernel.hlsl", format!("{text}{RACE}"));
    let mut editor = Editor::open(&folder, json!({}));
    let links = |editor: &mut Editor, path: &str| -> Vec<(Value, Value, Value)> {
        let document = json!({ "textDocument": { "uri": editor.uri(path) } });
        let links = editor.ask("textDocument/documentLink", document);
        let links = links.as_array().unwrap().iter();
        let links = links.map(|link| {
            let start = &link["range"]["start"];
            (
                start["line"].clone(),
                start["character"].clone(),
                link["target"].clone(),
            )
        });
        links.collect()
    };
    editor.open_file("kernel.hlsl", &format!("{text}{RACE}"));
    let [a, b, c] = ["lib/a.hlsli", "more/b.hlsli", "c.hlsli"].map(|path| json!(editor.uri(path)));
    assert_eq!(
        links(&mut editor, "kernel.hlsl"),
        [(json!(0), json!(10), a), (json!(1), json!(11), b)]
    );
    // A header's paths may start beside a file that includes it.
    editor.open_file("lib/a.hlsli", "#include \"c.hlsli\"\n");
    assert_eq!(links(&mut editor, "lib/a.hlsli"), [(json!(0), json!(10), c)]);
    assert_eq!(editor.quit(), Some(0));
}

#[test]
fn files_that_are_not_open_are_checked_on_request() {
    let outside = Folder::new("server-closed").with("out.hlsl", RACE);
    let kernel = RACE
        .replace("[numthreads", "#include \"add.hlsli\"\n[numthreads")
        .replace("    g_Sum[gi] += g_Sum[(gi + 1) % 64];", "    add(gi);");
    let header = "void add(uint gi)\n{\n    g_Sum[gi] += g_Sum[(gi + 1) % 64];\n}\n";
    let folder = Folder(outside.0.join("in"));
    let folder = folder
        .with("race.hlsl", RACE)
        .with("kernel.hlsl", &kernel)
        .with("add.hlsli", header);
    let mut editor = Editor::open(&folder, pulling());
    assert_eq!(editor.pull("race.hlsl"), RACED);
    assert_eq!(
        editor.pull("add.hlsli"),
        "2:17-2:37 groupshared-race data race on g_Sum[1]\n"
    );
    assert_eq!(editor.pull("../out.hlsl"), "");
    assert_eq!(editor.quit(), Some(0));
}

#[test]
fn the_workspace_is_checked_for_an_editor_that_wants_it() {
    let folder = Folder::new("server-workspace")
        .with("race.hlsl", RACE)
        .with(
            "fine.hlsl",
            RACE.replace("    g_Sum[gi] += g_Sum[(gi + 1) % 64];\n", ""),
        )
        .with("open.hlsl", RACE)
        .with("node_modules/excluded.hlsl", RACE)
        .with("shaderlint.toml", "[files]\nexclude = [\"node_modules/\"]\n");
    let provider = |editor: &mut Editor, options: Value| {
        let params = json!({
            "processId": null, "rootUri": editor.uri(""), "capabilities": pulling(), "initializationOptions": options,
        });
        let result = editor.ask("initialize", params);
        editor.tell("initialized", json!({}));
        result["capabilities"]["diagnosticProvider"]["workspaceDiagnostics"].clone()
    };
    let mut editor = Editor::start(&folder);
    assert_eq!(provider(&mut editor, json!({})), false);
    assert_eq!(editor.quit(), Some(0));
    let mut editor = Editor::start(&folder);
    assert_eq!(
        provider(&mut editor, json!({ "workspaceDiagnostics": true })),
        true
    );
    editor.open_file("open.hlsl", RACE);
    let request = |editor: &mut Editor, previous: &Value| {
        editor.request("workspace/diagnostic", json!({ "previousResultIds": previous }))
    };
    let first = request(&mut editor, &json!([]));
    let items = editor.answer(first)["result"]["items"].clone();
    assert_eq!(items.as_array().unwrap().len(), 1, "{items}");
    assert_eq!(
        (&items[0]["uri"], lines(&items[0]["items"])),
        (&json!(editor.uri("race.hlsl")), RACED.to_owned())
    );
    // The next answer comes once something has changed.
    let previous = json!([{ "uri": items[0]["uri"], "value": items[0]["resultId"] }]);
    let second = request(&mut editor, &previous);
    assert_eq!(editor.pull("open.hlsl"), RACED);
    editor.edit("open.hlsl", 2, None, LADDER);
    let items = editor.answer(second)["result"]["items"].clone();
    assert_eq!(
        (items.as_array().unwrap().len(), &items[0]["kind"]),
        (1, &json!("unchanged"))
    );
    // What is gone is withdrawn.
    let third = request(&mut editor, &previous);
    fs::remove_file(folder.0.join("race.hlsl")).unwrap();
    let change = json!({ "changes": [{ "uri": editor.uri("race.hlsl"), "type": 3 }] });
    editor.tell("workspace/didChangeWatchedFiles", change);
    let items = editor.answer(third)["result"]["items"].clone();
    assert_eq!(
        (&items[0]["kind"], &items[0]["items"]),
        (&json!("full"), &json!([]))
    );
    // Only the last request waits, and it can be cancelled.
    let fourth = request(&mut editor, &previous);
    let fifth = request(&mut editor, &previous);
    assert_eq!(editor.answer(fourth)["error"]["code"], -32800);
    editor.tell("$/cancelRequest", json!({ "id": fifth }));
    assert_eq!(editor.answer(fifth)["error"]["code"], -32800);
    assert_eq!(editor.quit(), Some(0));
}
