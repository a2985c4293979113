//! Configuration files, and how files find what they include.
#![expect(clippy::too_many_lines, reason = "a test shows all that it expects")]
#![expect(clippy::unwrap_used, reason = "a test that cannot set its files up fails")]

mod support;

use snapbox::{assert_data_eq, str};
use support::{Folder, LADDER, RACE};

/// Races only where `RACY` is defined.
fn racy_where_defined() -> String {
    format!("#if RACY == 2\n{RACE}#endif\n// Barrier\n")
}

const CONCISE: [&str; 2] = ["--output-format", "concise"];

fn said(folder: &Folder, arguments: &[&str]) -> String {
    folder.said(&[&CONCISE, arguments].concat())
}

#[test]
fn the_nearest_configuration_holds() {
    let folder = Folder::new("nearest-configuration")
        .with("shaderlint.toml", "[preprocess]\ndefines = [\"RACY=2\"]\n")
        .with("a.hlsl", racy_where_defined())
        .with("deep/er/b.hlsl", racy_where_defined())
        .with("quiet/shaderlint.toml", "[preprocess]\ndefines = { RACY = 1 }\n")
        .with("quiet/c.hlsl", racy_where_defined())
        .with("other.toml", "");
    assert_data_eq!(
        said(&folder, &[]),
        str![[r#"
1
a.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
deep/er/b.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
quiet/c.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] (with -D RACY=2) [unsafe fix]
3 findings in 3 files (3 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        said(&folder, &["--isolated"]),
        str![[r#"
1
a.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] (with -D RACY=2) [unsafe fix]
deep/er/b.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] (with -D RACY=2) [unsafe fix]
quiet/c.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] (with -D RACY=2) [unsafe fix]
3 findings in 3 files (3 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        said(&folder, &["--config", "other.toml"]),
        str![[r#"
1
a.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] (with -D RACY=2) [unsafe fix]
deep/er/b.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] (with -D RACY=2) [unsafe fix]
quiet/c.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] (with -D RACY=2) [unsafe fix]
3 findings in 3 files (3 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        said(&folder, &["-D", "RACY=2", "quiet"]),
        str![[r#"
1
quiet/c.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        said(&folder, &["--config", "gone.toml"]),
        str![[r#"
2
error: gone.toml: no such file or folder

"#]]
    );
}

#[test]
fn mistakes_are_shown_where_they_are() {
    let check = |name: &str, text: &str| {
        let folder = Folder::new(&format!("mistake-{name}"));
        folder
            .with("shaderlint.toml", text)
            .with("a.hlsl", RACE)
            .said(&[])
    };
    assert_data_eq!(
        check("key", "profile = \"cs_6_6\"\ndefine = [\"A\"]\n"),
        str![[r#"
2
error: no key is called `define` here; did you mean `defines` in `[preprocess]`?
  ┌─ shaderlint.toml:2:1
  │
2 │ define = ["A"]
  │ ^^^^^^


"#]]
    );
    assert_data_eq!(
        check("unknown-profile", "profile = \"cs_9_9\"\n"),
        str![[r#"
2
error: unknown shader model 9.9: expected 4.0 to 5.1 or 6.0 to 6.10
  ┌─ shaderlint.toml:1:11
  │
1 │ profile = "cs_9_9"
  │           ^^^^^^^^


"#]]
    );
    assert_data_eq!(
        check("syntax", "[preprocess\n"),
        str![[r#"
2
error: unclosed table, expected `]`
  ┌─ shaderlint.toml:1:12
  │
1 │ [preprocess
  │            ^


"#]]
    );
    assert_data_eq!(
        check("profile", "profile = \"six\"\n"),
        str![[r#"
2
error: expected a profile such as cs_6_6
  ┌─ shaderlint.toml:1:11
  │
1 │ profile = "six"
  │           ^^^^^


"#]]
    );
    assert_data_eq!(
        check("define", "[preprocess]\ndefines = [\"A\", \"1B=2\"]\n"),
        str![[r#"
2
error: `1B` is not a name
  ┌─ shaderlint.toml:2:17
  │
2 │ defines = ["A", "1B=2"]
  │                 ^^^^^^


"#]]
    );
    assert_data_eq!(
        check("defines", "[preprocess]\ndefines = 3\n"),
        str![[r#"
2
error: expected definitions: ["A", "B=2"] or { A = true, B = 2 }, found number `3`
  ┌─ shaderlint.toml:2:11
  │
2 │ defines = 3
  │           ^


"#]]
    );
    assert_data_eq!(
        check("define-table", "[preprocess]\ndefines = { A = true, B = [1] }\n"),
        str![[r#"
2
error: expected a string, an integer or a boolean, found an array
  ┌─ shaderlint.toml:2:27
  │
2 │ defines = { A = true, B = [1] }
  │                           ^^^


"#]]
    );
    assert_data_eq!(
        check("twice", "[preprocess]\ndefines = [\"A\", \"A=2\"]\n"),
        str![[r#"
2
error: `A` is defined twice
  ┌─ shaderlint.toml:2:11
  │
2 │ defines = ["A", "A=2"]
  │           ^^^^^^^^^^^^


"#]]
    );
    assert_data_eq!(
        check("exclude", "[files]\nexclude = [\"a\", \"b{c\"]\n"),
        str![[r#"
2
error: error parsing glob 'b{c': unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)
  ┌─ shaderlint.toml:2:17
  │
2 │ exclude = ["a", "b{c"]
  │                 ^^^^^


"#]]
    );
    assert_data_eq!(
        check(
            "variants",
            "[[variant]]\nname = \"x\"\n[[variant]]\nname = \"x\"\n"
        ),
        str![[r#"
2
error: a second variant called `x`
  ┌─ shaderlint.toml:4:8
  │
4 │ name = "x"
  │        ^^^


"#]]
    );
    assert_data_eq!(
        check("nameless", "[[variant]]\ndefines = [\"A\"]\n"),
        str![[r#"
2
error: `name` is missing
  ┌─ shaderlint.toml:1:1
  │
1 │ [[variant]]
  │ ^^^^^^^^^^^


"#]]
    );
}

#[test]
fn misspelt_keys_and_other_types_are_told_in_words_of_toml() {
    let said = |text: &str| {
        let folder = Folder::new("misspelt")
            .with("shaderlint.toml", text)
            .with("a.hlsl", RACE);
        let said = folder.said(&[]);
        let mut lines = said.lines().skip(1);
        let message = lines.next().unwrap_or_default().to_owned();
        let place = lines.next().unwrap_or_default();
        format!(
            "{message} @{}\n",
            place.rsplit("toml:").next().unwrap_or_default()
        )
    };
    let texts = [
        "[preproces]\n",
        "[colours]\n",
        "[preprocess]\ninclude_dirs = []\n",
        "exclude = []\n",
        "[levels]\nperf = \"warning\"\n",
        "[levels]\nperf = \"loud\"\n",
        "[levels]\nperf = 3\n",
        "[variant]\nname = \"x\"\n",
        "profile = 6\n",
        "files = 3\n",
        "baseline = 3\n",
        "[files]\nexclude = \"a\"\n",
        "[preprocess]\ndefines = { A = 1.5 }\n",
        "[preprocess]\nvirtual-dirs = [\"a\"]\n",
        "[preprocess]\n\"a`, expected `b\" = 1\n",
    ];
    assert_data_eq!(
        texts.map(said).concat(),
        str![[r#"
error: no key is called `preproces` here; did you mean `preprocess`? @1:2
error: no key is called `colours` here: the keys are `profile`, `baseline`, `target`, `fix`, `files`, `preprocess`, `variant`, `levels`, `override` @1:2
error: no key is called `include_dirs` here; did you mean `include-dirs`? @2:1
error: no key is called `exclude` here; did you mean `exclude` in `[files]`? @1:1
error: `warning` is none of `off`, `info`, `warn`, `error`; did you mean `warn`? @2:8
error: `loud` is none of `off`, `info`, `warn`, `error` @2:8
error: expected a string @2:8
error: expected an array of tables: write `[[variant]]` @1:1
error: expected a string, found number `6` @1:11
error: expected a table, found number `3` @1:9
error: expected a path, found number `3` @1:12
error: expected an array, found string "a" @2:11
error: expected a string, an integer or a boolean, found number `1.5` @2:17
error: expected a table, found an array @2:16
error: no key is called `a`, expected `b` here: the keys are `defines`, `include-dirs`, `virtual-dirs` @2:1

"#]]
    );
}

#[test]
fn what_is_called_like_a_configuration_and_is_none_is_told() {
    let folder = Folder::new("no-configuration").with("shaderlint.toml/a.hlsl", RACE);
    assert_data_eq!(
        folder.said(&["shaderlint.toml/a.hlsl"]),
        str![[r#"
2
error: shaderlint.toml: a folder, not a file

"#]]
    );
    assert_data_eq!(
        folder.said(&["--config", "shaderlint.toml", "shaderlint.toml/a.hlsl"]),
        str![[r#"
2
error: shaderlint.toml: a folder, not a file

"#]]
    );
    #[cfg(unix)]
    {
        let folder = Folder::new("no-configuration-by-link").with("a.hlsl", RACE);
        std::os::unix::fs::symlink("gone.toml", folder.0.join("shaderlint.toml")).unwrap();
        assert_data_eq!(
            folder.said(&[]),
            str![[r#"
2
error: shaderlint.toml: no such file or folder

"#]]
        );
    }
}

#[test]
fn the_profile_is_the_command_lines_else_the_configurations() {
    let folder = Folder::new("profile-in-configuration")
        .with("shaderlint.toml", "profile = \"cs_5_1\"\n")
        .with("a.hlsl", LADDER);
    let code = |arguments: &[&str]| folder.run(arguments).status.code();
    assert_eq!(
        (code(&[]), code(&["--profile", "cs_6_0"]), code(&["--isolated"])),
        (Some(0), Some(1), Some(1))
    );
}

#[test]
fn editors_settings_serve_where_there_is_nothing_else() {
    let folder = Folder::new("shadertools")
        .with(
            "shadertoolsconfig.json",
            "{\n  // for editors\n  \"root\": true,\n  \"hlsl.preprocessorDefinitions\": { \"RACY\": \"2\", \"X\": 1 },\n}\n",
        )
        .with(
            "sub/shadertoolsconfig.json",
            r#"{ "hlsl.preprocessorDefinitions": { "X": "3" }, "hlsl.additionalIncludeDirectories": ["inc", "../lib"],
                 "hlsl.virtualDirectoryMappings": { "/Project": "../shaders" }, "hlsl.somethingElse": [] }"#,
        )
        .with("sub/a.hlsl", racy_where_defined());
    assert_data_eq!(
        said(&folder, &[]),
        str![[r#"
1
sub/a.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
warning: no such folder
  ┌─ sub/shadertoolsconfig.json:1:87
  │
1 │ { "hlsl.preprocessorDefinitions": { "X": "3" }, "hlsl.additionalIncludeDirectories": ["inc", "../lib"],
  │                                                                                       ^^^^^

warning: no such folder
  ┌─ sub/shadertoolsconfig.json:1:94
  │
1 │ { "hlsl.preprocessorDefinitions": { "X": "3" }, "hlsl.additionalIncludeDirectories": ["inc", "../lib"],
  │                                                                                              ^^^^^^^^

warning: no such folder
  ┌─ sub/shadertoolsconfig.json:2:65
  │
2 │                  "hlsl.virtualDirectoryMappings": { "/Project": "../shaders" }, "hlsl.somethingElse": [] }
  │                                                                 ^^^^^^^^^^^^

1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        folder.said(&["--show-settings", "sub/a.hlsl"]),
        str![[r#"
0
sub/a.hlsl
  configuration  sub/shadertoolsconfig.json
                 shadertoolsconfig.json
  shader model   what the file asks for, else 6.0
  HLSL version   any
  defines        RACY=2
                 X=3
  include-dirs   sub/inc
                 lib
  virtual-dirs   /Project is shaders
  variants       none
  levels         none
  form of fixes  helper
  include        *.hlsl *.hlsli *.ihlsl *.fx *.fxh *.compute *.cginc *.usf *.ush
                 *.csh *.azsl *.azsli
  exclude        none
  is excluded    no
  baseline       none
warning: no such folder
  ┌─ sub/shadertoolsconfig.json:1:87
  │
1 │ { "hlsl.preprocessorDefinitions": { "X": "3" }, "hlsl.additionalIncludeDirectories": ["inc", "../lib"],
  │                                                                                       ^^^^^

warning: no such folder
  ┌─ sub/shadertoolsconfig.json:1:94
  │
1 │ { "hlsl.preprocessorDefinitions": { "X": "3" }, "hlsl.additionalIncludeDirectories": ["inc", "../lib"],
  │                                                                                              ^^^^^^^^

warning: no such folder
  ┌─ sub/shadertoolsconfig.json:2:65
  │
2 │                  "hlsl.virtualDirectoryMappings": { "/Project": "../shaders" }, "hlsl.somethingElse": [] }
  │                                                                 ^^^^^^^^^^^^


"#]]
    );
    let ours = folder.with("sub/shaderlint.toml", "");
    assert_data_eq!(
        said(&ours, &[]),
        str![[r#"
1
sub/a.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] (with -D RACY=2) [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    let broken = ours
        .with("broken/shadertoolsconfig.json", "{ \"root\": ture }")
        .with("broken/a.hlsl", RACE)
        .with(
            "typed/shadertoolsconfig.json",
            "{ \"hlsl.additionalIncludeDirectories\": \"inc\" }",
        )
        .with("typed/a.hlsl", RACE);
    assert_data_eq!(
        broken.said(&["broken"]),
        str![[r#"
2
error: Unexpected word
  ┌─ broken/shadertoolsconfig.json:1:11
  │
1 │ { "root": ture }
  │           ^^^^


"#]]
    );
    assert_data_eq!(
        broken.said(&["typed"]),
        str![[r#"
2
error: expected an array, found string "inc"
  ┌─ typed/shadertoolsconfig.json:1:1
  │
1 │ { "hlsl.additionalIncludeDirectories": "inc" }
  │ ^


"#]]
    );
}

#[test]
fn settings_are_shown_as_they_hold() {
    let folder = Folder::new("show-settings")
        .with(
            "shaderlint.toml",
            "profile = \"cs_6_6\"\nbaseline = \"known.toml\"\n\n[files]\nexclude = [\"old/\"]\n\n[preprocess]\ndefines = [\"FAST\", \"MODE=2\"]\n\
             include-dirs = [\".\", \"include\"]\nvirtual-dirs = { \"/Engine\" = \"engine/shaders\" }\n\n\
             [[variant]]\nname = \"vulkan\"\ndefines = { VULKAN = true, MODE = 3 }\n",
        )
        .with("old/a.hlsl", "");
    assert_data_eq!(
        folder.said(&["--show-settings", "old/a.hlsl", "-D", "MODE=7", "-I", "mine"]),
        str![[r#"
0
old/a.hlsl
  configuration  shaderlint.toml
  shader model   6.6
  HLSL version   any
  defines        FAST=1
                 MODE=7
  include-dirs   mine
                 .
                 include
  virtual-dirs   /Engine is engine/shaders
  variants       vulkan: MODE=3 VULKAN=1
  levels         none
  form of fixes  helper
  include        *.hlsl *.hlsli *.ihlsl *.fx *.fxh *.compute *.cginc *.usf *.ush
                 *.csh *.azsl *.azsli
  exclude        old/
  is excluded    yes, unless named
  baseline       known.toml
warning: -I mine: no such folder
warning: no such folder
  ┌─ shaderlint.toml:9:22
  │
9 │ include-dirs = [".", "include"]
  │                      ^^^^^^^^^

warning: no such folder
   ┌─ shaderlint.toml:10:30
   │
10 │ virtual-dirs = { "/Engine" = "engine/shaders" }
   │                              ^^^^^^^^^^^^^^^^


"#]]
    );
    assert_data_eq!(
        folder.said(&["--show-settings", "old/a.hlsl", "--isolated"]),
        str![[r#"
0
old/a.hlsl
  configuration  none
  shader model   what the file asks for, else 6.0
  HLSL version   any
  defines        none
  include-dirs   none
  virtual-dirs   none
  variants       none
  levels         none
  form of fixes  helper
  include        *.hlsl *.hlsli *.ihlsl *.fx *.fxh *.compute *.cginc *.usf *.ush
                 *.csh *.azsl *.azsli
  exclude        none
  is excluded    no
  baseline       none

"#]]
    );
    assert_data_eq!(
        folder.said(&["--show-settings", "gone.hlsl"]),
        str![[r#"
2
error: gone.hlsl: no such file

"#]]
    );
}

#[test]
fn of_conflicting_defines_the_last_holds() {
    let folder = Folder::new("conflicting-defines").with("a.hlsl", RACE);
    assert_data_eq!(
        said(&folder, &["-D", "A=1", "-D", "B", "-D", "A=2"]),
        str![[r#"
1
a.hlsl:6:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
warning: -D defines `A` as `1` and as `2`: the last one holds
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        said(&folder, &["-D", "A", "-D", "A=1"]),
        str![[r#"
1
a.hlsl:6:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
}

#[test]
fn includes_are_found_in_any_case_and_in_virtual_folders() {
    let folder = Folder::new("include-case")
        .with(
            "shaderlint.toml",
            "[preprocess]\ninclude-dirs = [\"lib\"]\nvirtual-dirs = { \"/Engine\" = \"engine/shaders\" }\n",
        )
        .with("lib/Scan/Race.HLSLI", RACE)
        .with("engine/Shaders/Private/common.ush", RACE)
        .with("a.hlsl", "#include <scan\\race.hlsli>\n")
        .with("b.hlsl", "#include \"/engine/private/Common.ush\"\n");
    assert_data_eq!(
        said(&folder, &["a.hlsl", "b.hlsl"]),
        str![[r#"
1
lib/Scan/Race.HLSLI:6:18: error[groupshared-race]: data race on g_Sum[1]
engine/Shaders/Private/common.ush:6:18: error[groupshared-race]: data race on g_Sum[1]
warning: no such folder
  ┌─ shaderlint.toml:3:30
  │
3 │ virtual-dirs = { "/Engine" = "engine/shaders" }
  │                              ^^^^^^^^^^^^^^^^

2 findings in 2 files

"#]]
    );
}

#[test]
fn stray_includes_are_looked_up_by_the_end_of_their_path() {
    let empty = "// nothing\n";
    let folder = Folder::new("include-suffix")
        .with("one/lib/race.hlsli", RACE)
        .with("two/lib/race.hlsli", empty)
        .with("one/src/a.hlsl", "#include \"LIB/Race.hlsli\"\n")
        .with("two/src/b.hlsl", "\n#include <..\\..\\Lib\\race.hlsli>\n")
        .with("two/src/c.hlsl", "#include \"Packages/lib/race.hlsli\"\n")
        .with("two/src/d.hlsl", "#include \"elsewhere/race.hlsli\"\n");
    assert_data_eq!(
        said(&folder, &["."]),
        str![[r#"
1
one/lib/race.hlsli:6:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
1 finding in 6 files (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        folder.said(&["--verbose", "."]),
        str![[r#"
1
error[groupshared-race]: data race on g_Sum[1]
  ┌─ one/lib/race.hlsli:6:18
  │
1 │ groupshared uint g_Sum[64];
  │ --------------------------- shared by the whole group
  ·
5 │     g_Sum[gi] = gi;
  │     --------- thread 1 writes it here
6 │     g_Sum[gi] += g_Sum[(gi + 1) % 64];
  │                  ^^^^^^^^^^^^^^^^^^^^ thread 0 reads g_Sum[1]
  │
  = thread 0 reads g_Sum[1] while thread 1 writes it, with no barrier between
    them
  = other pairs of accesses also race here
  = threads of a wave need not run in lock-step
  = two/src/b.hlsl may include this file, one of 2 called
    `../../Lib/race.hlsli`: the fix is proved as if it included
    two/lib/race.hlsli instead; use -I to say where the build finds it
  = the fix is proved: with these barriers, no two threads of the group race on
    groupshared memory
  = fix: put the missing barriers before this statement and between the reads
    and the write (--fix --unsafe-fixes)

warning: 2 files are called `LIB/Race.hlsli`; shaderlint uses the nearest, one/lib/race.hlsli
  ┌─ one/src/a.hlsl:1:11
  │
1 │ #include "LIB/Race.hlsli"
  │           ^^^^^^^^^^^^^^

1 finding in 6 files (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    // A file that is named has its project, or its repository, for a tree.
    assert_data_eq!(
        said(&folder, &["one/src/a.hlsl"]),
        str![[r#"
0
nothing found in 1 file

"#]]
    );
    let folder = folder.with(".git/config", "");
    assert_data_eq!(
        said(&folder, &["one/src/a.hlsl"]),
        str![[r#"
1
one/lib/race.hlsli:6:18: error[groupshared-race]: data race on g_Sum[1]
1 finding in 1 file

"#]]
    );
}

#[test]
fn the_parsers_view_is_shown() {
    let folder = Folder::new("preprocess")
        .with("lib/twice.hlsli", "#pragma once\n#define TWICE(x) ((x) + (x))\n\nstatic uint g = TWICE(1);")
        .with(
            "a.hlsl",
            "// A comment\n#include \"lib/twice.hlsli\"\n#if MODE == 2\nuint a = TWICE(g);\n#else\nuint b;\n#endif\nuint c; /* here */ uint d;\n#include \"gone.hlsli\"\n",
        );
    assert_data_eq!(
        folder.said(&["preprocess", "a.hlsl"]),
        str![[r#"
0


static uint g = ((1) + (1));
uint b;
uint c;  uint d;
warning: cannot find `gone.hlsli`
  ┌─ a.hlsl:9:10
  │
9 │ #include "gone.hlsli"
  │          ^^^^^^^^^^^^


"#]]
    );
    assert_data_eq!(
        folder.said(&["preprocess", "a.hlsl", "-D", "MODE=2", "--origins"]),
        str![[r#"
0


#line 4 "lib/twice.hlsli"
static uint g = ((1) + (1));
#line 4 "a.hlsl"
uint a = ((g) + (g));
#line 8 "a.hlsl"
uint c;  uint d;
warning: cannot find `gone.hlsli`
  ┌─ a.hlsl:9:10
  │
9 │ #include "gone.hlsli"
  │          ^^^^^^^^^^^^


"#]]
    );
    assert_data_eq!(
        folder.said(&["preprocess", "gone.hlsl"]),
        str![[r#"
2
error: gone.hlsl: no such file or folder

"#]]
    );
}

#[test]
fn headers_are_looked_at_where_they_are_included() {
    let helper = LADDER
        .replace("[numthreads(64, 1, 1)]\n", "")
        .replace("void main(uint gi : SV_GroupIndex)", "void Scan(uint gi)");
    let kernel = |path: &str| {
        format!(
            "#include \"{path}\"\n[numthreads(64, 1, 1)]\nvoid main(uint gi : SV_GroupIndex)\n{{\n    Scan(gi);\n}}\n"
        )
    };
    let folder = Folder::new("headers")
        .with("lib/alone.hlsli", "#include \"gone.hlsli\"\n// Barrier\n")
        .with("lib/scan.hlsli", format!("#include \"gone.hlsli\"\n{helper}"))
        .with("src/a.hlsl", kernel("../lib/scan.hlsli"))
        .with("src/b.hlsl", kernel("../lib/Scan.hlsli"));
    assert_data_eq!(
        said(&folder, &["--verbose", "."]),
        str![[r#"
1
lib/scan.hlsli:9:2: warning[hillis-steele-scan]: Hillis–Steele inclusive scan of 64 uints [unsafe fix]
warning: cannot find `gone.hlsli`
  ┌─ lib/alone.hlsli:1:10
  │
1 │ #include "gone.hlsli"
  │          ^^^^^^^^^^^^

warning: cannot find `gone.hlsli`
  ┌─ lib/scan.hlsli:1:10
  │
1 │ #include "gone.hlsli"
  │          ^^^^^^^^^^^^

1 finding in 4 files (1 fixable with --fix --unsafe-fixes); 3 files not understood in full
  1 include not found: `gone.hlsli` (3 files); use -I to say where they are

"#]]
    );
    assert_data_eq!(
        said(&folder, &["--fix", "src", "lib/scan.hlsli"]),
        str![[r#"
1
lib/scan.hlsli:9:2: warning[hillis-steele-scan]: Hillis–Steele inclusive scan of 64 uints [unsafe fix]
1 finding in 3 files (1 fixable with --fix --unsafe-fixes); 2 files not understood in full (-v says where)
  1 include not found: `gone.hlsli` (2 files); use -I to say where they are

"#]]
    );
    // Headers with nothing of their own.
    let gone = "#include \"gone.hlsli\"\n// Barrier\n";
    let folder = Folder::new("headers-by-themselves")
        .with("lib/alone.hlsli", gone)
        .with("lib/scan.hlsli", gone);
    assert_data_eq!(
        said(&folder, &["--verbose", "lib"]),
        str![[r#"
0
warning: cannot find `gone.hlsli`
  ┌─ lib/alone.hlsli:1:10
  │
1 │ #include "gone.hlsli"
  │          ^^^^^^^^^^^^

warning: cannot find `gone.hlsli`
  ┌─ lib/scan.hlsli:1:10
  │
1 │ #include "gone.hlsli"
  │          ^^^^^^^^^^^^

nothing found in 2 files; 2 files not understood in full
  1 include not found: `gone.hlsli` (2 files); use -I to say where they are

"#]]
    );
}

#[test]
fn include_folders_that_are_none_are_told_where_they_are_named() {
    let folder = Folder::new("no-include-folder")
        .with(
            "shaderlint.toml",
            "[preprocess]\ninclude-dirs = [\"lib\", \"gone\"]\nvirtual-dirs = { \"/Engine\" = \"engine\" }\n",
        )
        .with("lib/a.hlsli", "")
        .with("a.hlsl", RACE)
        .with(
            "old/shadertoolsconfig.json",
            "{ \"root\": true, \"hlsl.additionalIncludeDirectories\": [\"none\"] }",
        )
        .with("old/a.hlsl", RACE);
    assert_data_eq!(
        said(&folder, &["a.hlsl", "-I", "missing"]),
        str![[r#"
1
a.hlsl:6:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
warning: -I missing: no such folder
warning: no such folder
  ┌─ shaderlint.toml:2:24
  │
2 │ include-dirs = ["lib", "gone"]
  │                        ^^^^^^

warning: no such folder
  ┌─ shaderlint.toml:3:30
  │
3 │ virtual-dirs = { "/Engine" = "engine" }
  │                              ^^^^^^^^

1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    std::fs::remove_file(folder.0.join("shaderlint.toml")).unwrap();
    assert_data_eq!(
        said(&folder, &["old"]),
        str![[r#"
1
old/a.hlsl:6:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
warning: no such folder
  ┌─ old/shadertoolsconfig.json:1:55
  │
1 │ { "root": true, "hlsl.additionalIncludeDirectories": ["none"] }
  │                                                       ^^^^^^

1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
}

/// A ladder over `s`, which what comes before it declares as well and what comes after it reads.
fn ladder_over(declared: &str, before: &str) -> String {
    format!(
        "StructuredBuffer<uint> In;
RWStructuredBuffer<uint> Out;
groupshared uint g[64];
{declared}
[numthreads(64, 1, 1)]
void Main(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID)
{{
    {before}
    g[gi] = In[id.x];
    GroupMemoryBarrierWithGroupSync();
    for (uint s = 1; s < 64; s <<= 1)
    {{
        uint t = gi >= s ? g[gi - s] : 0;
        GroupMemoryBarrierWithGroupSync();
        g[gi] += t;
        GroupMemoryBarrierWithGroupSync();
    }}
    Out[id.x] = g[gi] + s;
}}
"
    )
}

const FIXABLE: &str = "fixable with --fix";

#[test]
fn no_fix_takes_away_what_a_name_means_before_hlsl_2021() {
    let as_kernel = ladder_over("", "");
    let (head, body) = as_kernel.split_once("[numthreads").unwrap();
    let body = body.split_once('{').unwrap().1;
    let body = body.replace("In[id.x]", "x").replace("Out[id.x] =", "return");
    let in_helper = format!(
        "{head}uint Scan(uint gi, uint x, uint s)\n{{{body}[numthreads(64, 1, 1)]
void Main(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID) {{ Out[id.x] = Scan(gi, In[id.x], 7); }}\n"
    );
    for (name, text) in [
        ("local", ladder_over("", "uint s = 7;")),
        ("static", ladder_over("static uint s = 7;", "")),
        ("constant", ladder_over("static const uint s = 7;", "")),
        ("member", ladder_over("cbuffer Constants { uint s; };", "")),
        ("parameter", in_helper),
    ] {
        let folder = Folder::new(&format!("version-{name}")).with("a.hlsl", text);
        let fixable = |arguments: &[&str]| said(&folder, arguments).contains(FIXABLE);
        let found = |arguments: &[&str]| said(&folder, arguments).contains("[hillis-steele-scan]");
        for arguments in [
            &[][..],
            &["-HV", "2016"],
            &["-HV", "2018"],
            &["-D", "__HLSL_VERSION=2018"],
        ] {
            assert!(found(arguments) && !fixable(arguments), "{name} {arguments:?}");
        }
        for arguments in [
            &["-HV", "2021"][..],
            &["-HV", "202x"],
            &["-D", "__HLSL_VERSION=2021"],
        ] {
            assert!(found(arguments) && fixable(arguments), "{name} {arguments:?}");
        }
    }
    // What a fix leaves alone means the same behind it, whichever that is; so do names that the form declares.
    let before =
        "uint k = 3; for (uint k = 0; k < 5; ++k) {} for (uint firstWave = 0; firstWave < 5; ++firstWave) {}";
    let text = ladder_over("static uint firstWave = 2;", before).replace("+ s;", "+ k + firstWave;");
    let folder = Folder::new("version-elsewhere").with("a.hlsl", text);
    for arguments in [&[][..], &["-HV", "2018"], &["-HV", "2021"]] {
        assert!(said(&folder, arguments).contains(FIXABLE), "{arguments:?}");
    }
    let folder = Folder::new("version-reason").with("a.hlsl", ladder_over("", "uint s = 7;"));
    let said = folder.said(&[]).split_whitespace().collect::<Vec<_>>().join(" ");
    let reason = "= no automatic fix: before HLSL 2021, `s` after the loop means the loop's variable; from \
         HLSL 2021 on, it means another variable: pass -HV, or set `hlsl` in shaderlint.toml";
    assert!(said.contains(reason), "{said}");
}

#[test]
fn the_version_of_hlsl_is_that_of_the_command_line_then_of_the_project() {
    let folder = Folder::new("version-precedence").with("a.hlsl", ladder_over("", "uint s = 7;"));
    let version = |arguments: &[&str]| {
        let said = folder.said(&[arguments, &["--show-settings", "a.hlsl"]].concat());
        let line = said
            .lines()
            .find(|line| line.contains("HLSL version"))
            .unwrap()
            .to_owned();
        line.split_whitespace().last().unwrap().to_owned()
    };
    let with = |text: &str| {
        std::fs::write(folder.0.join("shaderlint.toml"), text).unwrap();
    };
    assert_eq!(version(&[]), "any");
    assert_eq!(version(&["-D", "__HLSL_VERSION=2018"]), "2018");
    assert_eq!(version(&["-D", "__HLSL_VERSION=2029"]), "202x");
    assert_eq!(version(&["-D", "__HLSL_VERSION=2019"]), "any");
    assert_eq!(version(&["-HV", "2021", "-D", "__HLSL_VERSION=2018"]), "2021");
    with("[target]\nhlsl = \"2017\"\n[preprocess]\ndefines = { __HLSL_VERSION = 2021 }\n");
    assert_eq!(version(&[]), "2017");
    assert_eq!(version(&["-D", "__HLSL_VERSION=2018"]), "2018");
    assert_eq!(version(&["-HV", "202x"]), "202x");
    with("[preprocess]\ndefines = { __HLSL_VERSION = 2021 }\n");
    assert_eq!(version(&[]), "2021");
    assert_eq!(version(&["-HV", "2018"]), "2018");
    // The macro follows.
    std::fs::write(folder.0.join("b.hlsl"), "uint v = __HLSL_VERSION;\n").unwrap();
    let expanded = |arguments: &[&str]| folder.said(&[&["preprocess", "b.hlsl"], arguments].concat());
    assert!(expanded(&["-HV", "2018"]).contains("uint v = 2018;"));
    assert!(expanded(&["-HV", "202x"]).contains("uint v = 2029;"));
    assert!(expanded(&[]).contains("uint v = 2021;"));
    // A variant may be compiled in another version.
    let old = "[[variant]]\nname = \"old\"\ndefines = { __HLSL_VERSION = 2018 }\n";
    with("[target]\nhlsl = \"2021\"\n");
    assert!(said(&folder, &["a.hlsl"]).contains(FIXABLE));
    with(&format!("[target]\nhlsl = \"2021\"\n{old}"));
    assert!(!said(&folder, &["a.hlsl"]).contains(FIXABLE));
    // FXC has the older rule.
    with("[target]\nhlsl = \"2021\"\n");
    assert!(!said(&folder, &["--profile", "cs_5_1"]).contains(FIXABLE));
    assert_eq!(
        folder.said(&["-HV", "2019", "a.hlsl"]),
        "2
error: invalid value '2019' for '--hlsl-version <VERSION>': `2019` is not a version of HLSL: expected one of 2016, 2017, \
         2018, 2021, 202x

For more information, try '--help'.
"
    );
    with("[target]\nhlsl = \"2019\"\n");
    assert_data_eq!(
        folder.said(&["a.hlsl"]),
        str![[r#"
2
error: `2019` is not a version of HLSL: expected one of 2016, 2017, 2018, 2021, 202x
  ┌─ shaderlint.toml:2:8
  │
2 │ hlsl = "2019"
  │        ^^^^^^


"#]]
    );
}

#[test]
fn a_first_configuration_has_what_the_folder_tells() {
    let folder = Folder::new("first-configuration")
        .with(
            "src/a.hlsl",
            "#include \"Near.hlsli\"\n#include <Math/Vector.hlsli>\n#include \"Twice.hlsli\"\n#include \"/Engine/Private/Common.ush\"\n#include \"Gone.hlsli\"\n",
        )
        .with("src/Near.hlsli", "#include \"Lib.hlsli\"\n")
        .with("lib/Math/Vector.hlsli", "float x;\n")
        .with("lib/Twice.hlsli", "")
        .with("old/Twice.hlsli", "")
        // What reads a file is a place to look in, as with DXC.
        .with("src/Lib.hlsli", "")
        .with("shaders/Private/Common.ush", "")
        .with("build.bat", "dxc -T cs_6_6 -HV 2021 src\\a.hlsl\n")
        .with("tools/Compile.cpp", "args.push_back(L\"-HV\");\nargs.push_back(L\"2021\");\nf(\"cs_6_0\");\n");
    assert_data_eq!(
        folder.said(&["init"]),
        str![[r#"
0
wrote shaderlint.toml, for 7 shaders
  hlsl           2021, as in build.bat
  include-dirs   lib, for 2 includes
  virtual-dirs   /Engine is shaders
  not found      Gone.hlsli (1 file)

"#]]
    );
    let text = std::fs::read_to_string(folder.0.join("shaderlint.toml")).unwrap();
    assert_data_eq!(
        &text,
        str![[r##"
# What shaderlint does in this folder and below; `shaderlint --show-settings FILE` shows it.

# The target of the shaders; by default the one that a file asks for, or else cs_6_0.
# profile = "cs_6_6"  # the build has cs_6_0, cs_6_6

[target]
# The version of HLSL (-HV of DXC); without it, proofs hold for every version.
hlsl = "2021"  # as in build.bat

[fix]
# How fixes rewrite ladders: a function and a call of it, or all in place, which may be faster.
# form = "inline"

[files]
# exclude = ["third_party/"]

[preprocess]
# Macros that the build defines for every shader.
# defines = ["FAST", "MODE=2"]
# Folders of included files, guessed from names; compare them with the -I of the build.
include-dirs = [
    "lib",  # 2 includes
]

# Prefixes of include paths, and the folders that they stand for.
[preprocess.virtual-dirs]
"/Engine" = "shaders"  # 1 include

# error, warn, info or off, for a category of rules or for one rule.
[levels]
# perf = "info"

# Another configuration in which to read every file.
# [[variant]]
# name = "vulkan"
# defines = ["VULKAN"]

"##]]
    );
    // It is one that holds.
    assert_data_eq!(
        folder.said(&["--show-settings", "src/a.hlsl"]),
        str![[r#"
0
src/a.hlsl
  configuration  shaderlint.toml
  shader model   what the file asks for, else 6.0
  HLSL version   2021
  defines        none
  include-dirs   lib
  virtual-dirs   /Engine is shaders
  variants       none
  levels         none
  form of fixes  helper
  include        *.hlsl *.hlsli *.ihlsl *.fx *.fxh *.compute *.cginc *.usf *.ush
                 *.csh *.azsl *.azsli
  exclude        none
  is excluded    no
  baseline       none

"#]]
    );
    assert_data_eq!(
        folder.said(&["init", "."]),
        str![[r#"
2
error: shaderlint.toml is there already

"#]]
    );
    assert_data_eq!(
        folder.said(&["init", "gone"]),
        str![[r#"
2
error: gone: no such folder

"#]]
    );
}
