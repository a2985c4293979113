//! A fix of a file that others include: it stays only where all of them come to it.
#![expect(clippy::too_many_lines, reason = "a test shows all that it expects")]
#![expect(clippy::unwrap_used, reason = "a test that cannot set its files up fails")]

mod support;

use std::fs;

use snapbox::{assert_data_eq, str};
use support::{Folder, LADDER, RACE};

/// A kernel of 32 threads, and a function in which a reduction of theirs is found.
const SUM: &str = "StructuredBuffer<uint> Src;
RWStructuredBuffer<uint> Out;
groupshared uint g_Sums[32];
void Sum(uint thread)
{
    for (uint i = 16; i > 0; i /= 2)
    {
        GroupMemoryBarrierWithGroupSync();
        if (thread < i)
            g_Sums[thread] += g_Sums[thread + i];
    }
    GroupMemoryBarrierWithGroupSync();
}
#ifndef NO_KERNEL
[numthreads(32, 1, 1)]
void Main(uint gi : SV_GroupIndex, uint3 group : SV_GroupID)
{
    g_Sums[gi] = Src[group.x * 32 + gi];
    Sum(gi);
    if (gi == 0)
        Out[group.x] = g_Sums[0];
}
#endif
";

/// A kernel of 64 threads that calls that function.
const OTHER: &str = "[numthreads(64, 1, 1)]
void Other(uint gi : SV_GroupIndex, uint3 group : SV_GroupID)
{
    if (gi >= 32)
        g_Sums[gi - 32] = Src[group.x * 64 + gi];
    Sum(gi);
    if (gi == 0)
        Out[group.x] = g_Sums[0];
}
";

fn other() -> String {
    format!("#include \"sum.hlsl\"\n{OTHER}")
}

/// What is said of `sum.hlsl` beside other files.
#[track_caller]
fn check(test: &str, files: &[(&str, &str)], arguments: &[&str], expected: &str) {
    let mut folder = Folder::new(test).with("sum.hlsl", SUM);
    for (path, text) in files {
        folder = folder.with(path, text);
    }
    let report: serde_json::Value =
        serde_json::from_str(&folder.printed(&[&["--output-format", "json"], arguments].concat())).unwrap();
    let of_sum = report["findings"].as_array().unwrap().iter();
    let of_sum = of_sum.filter(|finding| finding["path"] == "sum.hlsl");
    let said = of_sum.map(|finding| {
        let why_not = finding["no_fix"]["text"].as_str().unwrap_or_default();
        let fix = if finding["fix"].is_null() { "" } else { "a fix" };
        format!("{}: {fix}{}", finding["rule"].as_str().unwrap(), why_not)
    });
    assert_eq!(said.collect::<Vec<_>>().join("\n"), expected);
    // What was not offered is not done.
    folder.run(&[&["--fix", "--unsafe-fixes"], arguments].concat());
    let is_fixed = fs::read_to_string(folder.0.join("sum.hlsl")).unwrap() != SUM;
    assert_eq!(is_fixed, expected.ends_with("a fix"));
}

const OFFERED: &str = "hand-rolled-reduction: a fix";
const WITHHELD: &str = "hand-rolled-reduction: where other.hlsl includes this file, the fix is not proved for Other, which calls \
     this function too";

#[test]
fn a_fix_stays_where_nobody_disagrees() {
    check("includers-none", &[], &["."], OFFERED);
    let alike = "#include \"sum.hlsl\"\n";
    check("includers-alike", &[("other.hlsl", alike)], &["."], OFFERED);
    // Another file is meant.
    check(
        "includers-namesake",
        &[("x/sum.hlsl", ""), ("x/other.hlsl", &other())],
        &["sum.hlsl"],
        OFFERED,
    );
}

#[test]
fn a_fix_is_withheld_where_an_includer_disagrees() {
    let other = other();
    check("includers-both", &[("other.hlsl", &other)], &["."], WITHHELD);
    let backwards = ["other.hlsl", "sum.hlsl"];
    check("includers-named", &[("other.hlsl", &other)], &backwards, WITHHELD);
    // Nobody asked for what includes it.
    check(
        "includers-alone",
        &[("other.hlsl", &other)],
        &["sum.hlsl"],
        WITHHELD,
    );
    check(
        "includers-through",
        &[
            ("inc/a.h", "#include \"../sum.hlsl\"\n"),
            ("other.hlsl", &format!("#include \"inc/a.h\"\n{OTHER}")),
        ],
        &["sum.hlsl"],
        WITHHELD,
    );
    // It comes to a fix, and to another one: that name is taken.
    check(
        "includers-otherwise",
        &[(
            "other.hlsl",
            "static const uint GroupSum = 1;\n#include \"sum.hlsl\"\n",
        )],
        &["."],
        "hand-rolled-reduction: the same fix is not proved where other.hlsl includes this file",
    );
    // As `__INCLUDE_LEVEL__` has it.
    check(
        "includers-level",
        &[
            (
                "other.hlsl",
                "#if __INCLUDE_LEVEL__ == 0\n#define NO_KERNEL\n#endif\n#include \"mid.h\"\n",
            ),
            (
                "mid.h",
                &format!("#include \"sum.hlsl\"\n#if __INCLUDE_LEVEL__ == 1\n{OTHER}#endif\n"),
            ),
        ],
        &["sum.hlsl"],
        "hand-rolled-reduction: the same fix is not proved where other.hlsl includes this file",
    );
    check(
        "includers-guarded",
        &[("other.hlsl", &format!("#define NO_KERNEL\n{other}"))],
        &["sum.hlsl"],
        "hand-rolled-reduction: the same fix is not proved where other.hlsl includes this file",
    );
    // Under what, nobody knows.
    check(
        "includers-unread",
        &[("other.hlsl", &format!("#if FEATURE > 7\n{other}#endif\n"))],
        &["sum.hlsl"],
        "hand-rolled-reduction: other.hlsl may include this file under other definitions",
    );
    // Twice, and different each time.
    check(
        "includers-twice",
        &[(
            "other.hlsl",
            "#include \"sum.hlsl\"\n#define Sum Sum2\n#define Main Main2\n#define g_Sums g_Sums2\n#include \"sum.hlsl\"\n",
        )],
        &["sum.hlsl"],
        "hand-rolled-reduction: other.hlsl includes these lines more than once",
    );
}

/// The number of a line behind the fix is another one then, and only the includer has it.
#[test]
fn a_fix_has_the_notes_that_it_has_where_it_is_included() {
    let race = format!("{RACE}#ifdef USE\nUSE\n#endif\n");
    let other = "#define USE uint Line() { return __LINE__; }\n#include \"race.hlsl\"\n";
    let of = |test: &str, other: &str| {
        let folder = Folder::new(test)
            .with("race.hlsl", &race)
            .with("other.hlsl", other);
        let said = folder.printed(&["race.hlsl"]);
        assert!(said.contains("fix: put the missing barriers"), "{said}");
        said.contains("`__LINE__`")
    };
    assert!(of("includers-line", other));
    assert!(!of("includers-no-line", &other.replace("__LINE__", "1")));
}

#[test]
fn an_includer_may_be_called_anything_and_name_the_file_by_a_macro() {
    let by_macro = format!("#include HEADER\n{OTHER}");
    let other = other();
    check(
        "includers-macro",
        &[("other.hlsl", &by_macro)],
        &["sum.hlsl", "-D", "HEADER=\"sum.hlsl\""],
        WITHHELD,
    );
    // Nobody knows what is meant.
    check(
        "includers-no-macro",
        &[("other.hlsl", &by_macro)],
        &["."],
        OFFERED,
    );
    check(
        "includers-chosen",
        &[(
            "other.hlsl",
            &format!(
                "#ifdef V\n#define HEADER \"sum.hlsl\"\n#else\n#define HEADER \"none.hlsl\"\n#endif\n{by_macro}"
            ),
        )],
        &["sum.hlsl"],
        "hand-rolled-reduction: other.hlsl may include this file under other definitions",
    );
    // By other spellings of `#` and of blanks.
    for (number, written) in ["%:include", "#\u{a0}include\u{3000}"].into_iter().enumerate() {
        check(
            &format!("includers-spelled-{number}"),
            &[("other.hlsl", &other.replacen("#include", written, 1))],
            &["sum.hlsl"],
            WITHHELD,
        );
    }
    // Of the name only parts are written, and which of them, an `#if` chooses.
    let in_parts = |name: &str| {
        format!(
            "#ifdef V\n#define NAME {name}\n#else\n#define NAME none\n#endif\n#define S_(x) #x\n#define S(x) S_(x)\n\
             #include S(NAME.hlsl)\n{OTHER}"
        )
    };
    check(
        "includers-in-parts",
        &[("other.hlsl", &in_parts("sum")), ("none.hlsl", "")],
        &["sum.hlsl"],
        "hand-rolled-reduction: other.hlsl may include this file under other definitions",
    );
    check(
        "includers-function-macro",
        &[(
            "other.frag",
            &format!("#define P(x) <x.hlsl>\n#include P(sum)\n{OTHER}"),
        )],
        &["sum.hlsl"],
        &WITHHELD.replace("other.hlsl", "other.frag"),
    );
    check(
        "includers-in-other-parts",
        &[("other.hlsl", &in_parts("sums")), ("none.hlsl", "")],
        &["sum.hlsl"],
        OFFERED,
    );
    check(
        "includers-mesh",
        &[("other.mesh", &other)],
        &["sum.hlsl"],
        &WITHHELD.replace("other.hlsl", "other.mesh"),
    );
    check(
        "includers-project-macro",
        &[
            ("a/other.hlsl", &by_macro),
            (
                "a/shaderlint.toml",
                "[preprocess]\ndefines = { HEADER = \"<../sum.hlsl>\" }\n",
            ),
        ],
        &["sum.hlsl"],
        &WITHHELD.replace("other.hlsl", "a/other.hlsl"),
    );
    check(
        "includers-variant-macro",
        &[
            ("other.hlsl", &format!("#ifdef HEADER\n{by_macro}#endif\n")),
            (
                "shaderlint.toml",
                "[[variant]]\nname = \"a\"\ndefines = { HEADER = '\"sum.hlsl\"' }\n",
            ),
        ],
        &["sum.hlsl"],
        WITHHELD,
    );
    let named = &WITHHELD.replace("other.hlsl", "other.inc");
    check(
        "includers-named-inc",
        &[("other.inc", &other)],
        &["sum.hlsl", "other.inc"],
        named,
    );
    check(
        "includers-project-inc",
        &[
            ("other.inc", &other),
            ("shaderlint.toml", "[files]\ninclude = [\"*.hlsl\", \"*.inc\"]\n"),
        ],
        &["sum.hlsl"],
        named,
    );
}

/// What no walk through the workspace comes to, but an `#include` does.
#[test]
fn what_stands_between_may_be_hidden_ignored_or_elsewhere() {
    let through = |path: &str| format!("#include \"{path}\"\n{OTHER}");
    check(
        "includers-hidden",
        &[
            (".gen/mid.h", "#include \"../sum.hlsl\"\n"),
            ("other.hlsl", &through(".gen/mid.h")),
        ],
        &["."],
        WITHHELD,
    );
    check(
        "includers-ignored",
        &[
            (".gitignore", "gen/\n"),
            ("gen/mid.h", "#include \"../sum.hlsl\"\n"),
            ("other.hlsl", &through("GEN/mid.h")),
        ],
        &["."],
        WITHHELD,
    );
    // In an include folder of another project.
    let outside =
        Folder::new("includers-outside").with("mid.h", "#include \"../includers-project/sum.hlsl\"\n");
    let outside = outside.0.display().to_string().replace('\\', "/");
    check(
        "includers-project",
        &[
            ("a/other.hlsl", &through("mid.h")),
            (
                "a/shaderlint.toml",
                &format!("[preprocess]\ninclude-dirs = [\"{outside}\"]\n"),
            ),
        ],
        &["sum.hlsl"],
        &WITHHELD.replace("other.hlsl", "a/other.hlsl"),
    );
}

/// Beside a file that git ignores and that is named, its includers are ignored, too.
#[test]
fn what_is_beside_an_ignored_file_has_a_say() {
    let folder = Folder::new("includers-beside-ignored")
        .with(".git/HEAD", "")
        .with(".gitignore", "lib/\n")
        .with("lib/sum.hlsl", SUM)
        .with("lib/other.hlsl", other());
    folder.run(&["--fix", "--unsafe-fixes", "lib/sum.hlsl"]);
    assert_eq!(fs::read_to_string(folder.0.join("lib/sum.hlsl")).unwrap(), SUM);
}

/// Of more variants than are read nothing is proved.
#[test]
fn all_variants_that_are_declared_have_a_say() {
    let variant = |n| {
        let group = if n == 9 { 64 } else { 32 };
        format!("[[variant]]\nname = \"{n}\"\ndefines = {{ N = {n}, GROUP = {group} }}\n")
    };
    let variants = (0..10).map(variant).collect::<Vec<_>>().concat();
    let other = other().replace(
        "[numthreads(64",
        "#ifndef GROUP\n#define GROUP 32\n#endif\n[numthreads(GROUP",
    );
    check(
        "includers-many-variants",
        &[
            ("x/shaderlint.toml", &variants),
            ("x/other.hlsl", &other.replace("sum.hlsl", "../sum.hlsl")),
        ],
        &["sum.hlsl"],
        "hand-rolled-reduction: x/other.hlsl may include this file under other definitions",
    );
    check(
        "own-many-variants",
        &[("shaderlint.toml", &variants)],
        &["sum.hlsl"],
        "hand-rolled-reduction: shaderlint did not read every declared variant",
    );
}

#[test]
#[cfg(unix)]
fn an_includer_may_be_a_link_or_know_the_file_by_one() {
    for (linked, link) in [
        ("y/other.txt", "other.hlsl"),
        ("sum.hlsl", "summe.hlsl"),
        ("sum.hlsl", ".summe.hlsl"),
    ] {
        let is_other = link == "other.hlsl";
        let text = if is_other {
            other()
        } else {
            format!("#include \"{link}\"\n{OTHER}")
        };
        let path = if is_other { linked } else { "other.hlsl" };
        let folder = Folder::new(link).with("sum.hlsl", SUM).with(path, text);
        std::os::unix::fs::symlink(folder.0.join(linked), folder.0.join(link)).unwrap();
        folder.run(&["--fix", "--unsafe-fixes", "sum.hlsl"]);
        assert_eq!(
            fs::read_to_string(folder.0.join("sum.hlsl")).unwrap(),
            SUM,
            "{link}"
        );
    }
}

/// A name, files, a link and where it leads, the file with the kernel.
type Linked<'a> = (&'a str, &'a [(&'a str, &'a str)], [&'a str; 2], &'a str);

/// By another of its names a kernel has the headers beside that, and `..` behind a linked folder is where the link leads.
#[test]
#[cfg(unix)]
fn links_lead_to_other_headers() {
    let with = |include: &str| {
        let ladder = LADDER.replace("+=", "OP");
        assert_ne!(ladder, LADDER);
        format!("#include \"{include}\"\n{ladder}")
    };
    let [sum, other] = ["#define OP +=\n", "#define OP -=\n"];
    let (beside, behind, within) = (with("op.hlsli"), with("x/../op.hlsli"), with("x/in.hlsli"));
    let up = "#include \"../op.hlsli\"\n";
    let cases: [Linked<'_>; 4] = [
        (
            "links-kernel",
            &[("a/k.hlsl", &beside), ("a/op.hlsli", sum), ("b/op.hlsli", other)],
            ["../a/k.hlsl", "b/k.hlsl"],
            "a/k.hlsl",
        ),
        (
            "links-to-kernel",
            &[("a/k.hlsl", &beside), ("a/op.hlsli", other), ("b/op.hlsli", sum)],
            ["../a/k.hlsl", "b/k.hlsl"],
            "b/k.hlsl",
        ),
        (
            "links-behind",
            &[
                ("k.hlsl", &behind),
                ("lib/op.hlsli", other),
                ("op.hlsli", sum),
                ("lib/in/a", ""),
            ],
            ["lib/in", "x"],
            "k.hlsl",
        ),
        (
            "links-within",
            &[
                ("k.hlsl", &within),
                ("lib/op.hlsli", other),
                ("op.hlsli", sum),
                ("lib/in/in.hlsli", up),
            ],
            ["lib/in", "x"],
            "k.hlsl",
        ),
    ];
    for (name, files, [to, link], target) in cases {
        let folder = files.iter().fold(
            Folder::new(name).with("shaderlint.toml", ""),
            |folder, (path, text)| folder.with(path, text),
        );
        std::os::unix::fs::symlink(to, folder.0.join(link)).unwrap();
        folder.run(&["--fix", "--unsafe-fixes", target]);
        assert_eq!(
            fs::read_to_string(folder.0.join(target)).unwrap(),
            files[0].1,
            "{name}"
        );
        // Without the link, or with equal headers, there is a fix.
        for (path, _) in files.iter().filter(|(path, _)| path.ends_with("op.hlsli")) {
            fs::write(folder.0.join(path), sum).unwrap();
        }
        folder.run(&["--fix", "--unsafe-fixes", target]);
        assert_ne!(
            fs::read_to_string(folder.0.join(target)).unwrap(),
            files[0].1,
            "{name}"
        );
    }
}

#[test]
fn what_is_found_in_a_header_is_said_of_a_kernel() {
    let header = "groupshared uint g[64];\nvoid Put(uint gi)\n{\n    g[gi] = gi;\n    g[63 - gi] = gi;\n}\n";
    let kernel = "#include \"put.hlsli\"\n[numthreads(64, 1, 1)]\nvoid Main(uint gi : SV_GroupIndex)\n{\n    Put(gi);\n}\n";
    let folder = Folder::new("includers-header")
        .with("put.hlsli", header)
        .with("a.hlsl", kernel);
    let said = folder.printed(&["."]);
    let note = "= found in Main of a.hlsl, which includes this file";
    assert!(said.contains(note), "{said}");
}

#[test]
fn fixes_of_files_that_include_each_other_are_made_one_after_the_other() {
    let included = LADDER
        .replace("void main", "void included")
        .replace("g_Scan", "g_Included");
    let own = LADDER.replace(
        "StructuredBuffer<uint> Src;\nRWStructuredBuffer<uint> Out;\n",
        "#include \"b.hlsl\"\n",
    );
    let folder = Folder::new("includers-chain")
        .with("b.hlsl", included)
        .with("a.hlsl", own);
    assert_data_eq!(
        folder.said(&["--fix", "--unsafe-fixes", "."]),
        str![[r#"
0
2 fixes made; nothing left in 2 files

"#]]
    );
    assert_data_eq!(
        folder.said(&["."]),
        str![[r#"
0
nothing found in 2 files

"#]]
    );
}

/// A fix is proved of one place of the text. Where the file is read again, by whichever name, that is not its only one.
#[test]
fn nothing_is_fixed_in_a_file_that_includes_itself() {
    let text = |path: &str| {
        format!(
            "#ifndef ONCE\n#define ONCE\nRWStructuredBuffer<uint> Out;\ngroupshared uint lds[64];\n\
             #define F Sum\n#define AT 0\n#include {path}\n#undef F\n#undef AT\n#define F Part\n#define AT 1\n#include {path}\n\
             [numthreads(64, 1, 1)]\nvoid main(uint gi : SV_GroupIndex)\n{{\n    \
             Out[gi] = Sum(gi, Out[gi]) + 3 * Part(gi, Out[gi]);\n}}\n\
             #else\nuint F(uint gi, uint key)\n{{\n    lds[gi] = key;\n    GroupMemoryBarrierWithGroupSync();\n    \
             for (uint s = 32; s > 0; s >>= 1)\n    {{\n        if (gi < s) lds[gi] += lds[gi + s];\n        \
             GroupMemoryBarrierWithGroupSync();\n    }}\n    uint r = lds[AT];\n    GroupMemoryBarrierWithGroupSync();\n    \
             return r;\n}}\n#endif\n"
        )
    };
    for path in ["\"a.hlsl\"", "__FILE__", "\"./x/../a.hlsl\"", "\"link.hlsl\""] {
        let folder = Folder::new("itself")
            .with("a.hlsl", text(path))
            .with("x/b.hlsl", "");
        #[cfg(unix)]
        std::os::unix::fs::symlink("a.hlsl", folder.0.join("link.hlsl")).expect("a link");
        let said = folder.printed(&[]);
        let expected = "no automatic fix: the file includes itself and repeats these lines";
        assert!(
            said.contains(expected) || path.contains("link") && cfg!(not(unix)),
            "{path}: {said}"
        );
    }
}

/// What a C++ compiler alone includes it in is nothing to a fix: `public:` is no HLSL, whatever is defined.
#[test]
fn a_class_that_includes_it_has_no_say() {
    let class = "#ifndef SUM_H\n#define SUM_H\ntypedef float uint;\nclass Sum\n{\npublic:\n#include \"sum.hlsl\"\n};\n#endif\n";
    check("class", &[("sum.h", class)], &[], "hand-rolled-reduction: a fix");
    // Where a condition may leave the word out, the rest may be HLSL.
    let perhaps = class.replace("public:", "#ifdef CPP\npublic:\n#endif");
    let why = "hand-rolled-reduction: the same fix is not proved where sum.h includes this file";
    check("no-class", &[("sum.h", &perhaps)], &[], why);
}

/// A function of a header without a kernel, in which a reduction is found.
const HEADER: &str = "groupshared uint g_Sums[THREADS];

uint Sum(uint thread, uint value)
{
    g_Sums[thread] = value;
    GroupMemoryBarrierWithGroupSync();
    for (uint i = THREADS / 2; i > 0; i /= 2)
    {
        if (thread < i)
            g_Sums[thread] += g_Sums[thread + i];
        GroupMemoryBarrierWithGroupSync();
    }
    return g_Sums[0];
}
";

/// A kernel that calls it.
const CALLER: &str = "#include \"size.hlsli\"
#include \"sum.hlsli\"
StructuredBuffer<uint> Src;
RWStructuredBuffer<uint> Out;
[numthreads(THREADS, 1, 1)]
void Main(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID)
{
    Out[id.x] = Sum(gi, Src[id.x]);
}
";

fn with_header(test: &str) -> Folder {
    Folder::new(test)
        .with("size.hlsli", "#define THREADS 64\n")
        .with("sum.hlsli", HEADER)
        .with("a.hlsl", CALLER)
}

/// The fix of the header's reduction, or why there is none.
fn fix_in_header(folder: &Folder) -> String {
    let report: serde_json::Value =
        serde_json::from_str(&folder.printed(&["--output-format", "json"])).unwrap();
    let mut found = report["findings"].as_array().unwrap().iter();
    let found = found
        .find(|finding| finding["path"] == "sum.hlsli" && finding["rule"] == "hand-rolled-reduction")
        .unwrap();
    match found["no_fix"]["text"].as_str() {
        Some(why) => why.to_owned(),
        None => found["fix"]["title"].as_str().unwrap().to_owned(),
    }
}

const IS_FIXED: &str = "replace the ladder with wave intrinsics";

#[test]
fn a_header_is_fixed_where_it_is_included() {
    let folder = with_header("header");
    assert_data_eq!(
        folder.printed(&["--diff"]),
        str![[r#"
--- a/sum.hlsli
+++ b/sum.hlsli
@@ -1,14 +1,20 @@
-groupshared uint g_Sums[THREADS];
+groupshared uint g_SumsTotal;
+
+// The sum of the values of the group's threads.
+// Two calls need a barrier between them.
+uint GroupSum(uint value, uint thread)
+{
+    uint sum = WaveActiveSum(value);
+    if (thread == 0)
+        g_SumsTotal = 0;
+    GroupMemoryBarrierWithGroupSync();
+    if (WaveIsFirstLane())
+        InterlockedAdd(g_SumsTotal, sum);
+    GroupMemoryBarrierWithGroupSync();
+    return g_SumsTotal;
+}
 
 uint Sum(uint thread, uint value)
 {
-    g_Sums[thread] = value;
-    GroupMemoryBarrierWithGroupSync();
-    for (uint i = THREADS / 2; i > 0; i /= 2)
-    {
-        if (thread < i)
-            g_Sums[thread] += g_Sums[thread + i];
-        GroupMemoryBarrierWithGroupSync();
-    }
-    return g_Sums[0];
+    return GroupSum(value, thread);
 }

"#]]
    );
    // Of a file that includes it nothing else is asked for.
    let of_file = folder.printed(&["a.hlsl"]);
    assert!(
        of_file.contains("= no automatic fix: the text that the fix would change is in sum.hlsli, an\n"),
        "{of_file}"
    );
    assert!(folder.printed(&["sum.hlsli"]).contains("= fix: "));
    let before = folder.printed(&[]);
    assert!(
        before.contains("= found in Main of a.hlsl, which includes this file"),
        "{before}"
    );
    assert_data_eq!(
        folder.said(&["--fix"]),
        str![[r#"
0
1 fix made; nothing left in 3 files

"#]]
    );
    let fixed = fs::read_to_string(folder.0.join("sum.hlsli")).unwrap();
    assert!(fixed.contains("    return GroupSum(value, thread);\n"), "{fixed}");
    assert_data_eq!(
        folder.said(&["--fix", "--unsafe-fixes"]),
        str![[r#"
0
nothing found in 3 files

"#]]
    );
    assert_eq!(fs::read_to_string(folder.0.join("a.hlsl")).unwrap(), CALLER);
}

#[test]
fn a_header_is_fixed_where_all_that_include_it_agree() {
    let of = |test: &str, files: &[(&str, &str)]| {
        let folder = files
            .iter()
            .fold(with_header(test), |folder, (path, text)| folder.with(path, text));
        fix_in_header(&folder)
    };
    let other = CALLER.replace("Main", "Other");
    assert_eq!(of("header-both", &[("b.hlsl", &other)]), IS_FIXED);
    // In groups of another size, in which the sum takes in what nobody stores.
    let smaller = other.replace("numthreads(THREADS", "numthreads(THREADS / 2");
    let withheld = "the same fix is not proved where b.hlsl includes this file";
    assert_eq!(of("header-smaller", &[("b.hlsl", &smaller)]), withheld);
    // It calls nothing of it, or has no kernel itself.
    let aside = other.replace("Sum(gi, Src[id.x])", "Src[id.x]");
    assert_eq!(of("header-aside", &[("b.hlsl", &aside)]), IS_FIXED);
    let between = "#include \"size.hlsli\"\n#include \"sum.hlsli\"\nuint Twice(uint thread) { return 2 * Sum(thread, 1); }\n";
    assert_eq!(of("header-between", &[("b.hlsli", between)]), IS_FIXED);
    let exported = between
        .replace("uint Twice", "export uint Twice")
        .replace("b.hlsli", "b.hlsl");
    assert_eq!(of("header-exported", &[("b.hlsl", &exported)]), withheld);
    // Another stage names what would go, be it where nothing calls it.
    let pixels = "#include \"size.hlsli\"\n#include \"sum.hlsli\"\nuint Dead() { return g_Sums[0]; }\n\
                  uint4 Pixel() : SV_Target { return 0; }\n";
    assert_eq!(of("header-pixels", &[("b.hlsl", pixels)]), withheld);
    let dead = aside.replace(
        "[numthreads",
        "uint Dead(uint gi) { return Sum(gi, 1); }\n[numthreads",
    );
    assert_eq!(of("header-dead", &[("b.hlsl", &dead)]), withheld);
    // A build has a kernel that calls it, directly or by way of a macro or of a header between.
    let switched = other
        .replace("Sum(gi, ", "Sum(63 - gi, ")
        .replace("[numthreads", "#ifdef BUILD\n[numthreads");
    let switched = switched + "#endif\n";
    assert_eq!(of("header-switched", &[("b.hlsl", &switched)]), withheld);
    for (between, call) in [
        ("#define SUM(t) Sum(63 - t, 1)\n", "SUM(gi)"),
        ("uint Twice(uint t) { return Sum(63 - t, 1) * 2; }\n", "Twice(gi)"),
    ] {
        let between = format!("#include \"size.hlsli\"\n#include \"sum.hlsli\"\n{between}");
        let call = format!("Src[id.x];\n#ifdef BUILD\n    Out[id.x] = {call};\n#endif\n");
        let caller = aside.replace("#include \"sum.hlsli\"", "#include \"between.hlsli\"");
        let caller = caller.replace("Src[id.x];", &call);
        let files = [("between.hlsli", &*between), ("b.hlsl", &*caller)];
        assert_eq!(of("header-by-way", &files), withheld, "{between}");
    }
    // It reads the array that would go, or has the names that come.
    let reads = aside.replace("= Src[id.x]", "= g_Sums[gi]");
    assert_ne!(of("header-reads", &[("b.hlsl", &reads)]), IS_FIXED);
    for line in [
        "uint GroupSum(uint value, uint thread) { return 0; }",
        "#define sum 3",
        "static uint g_SumsTotal;",
    ] {
        let names = format!("{line}\n{aside}");
        assert_eq!(of("header-names", &[("b.hlsl", &names)]), withheld, "{line}");
    }
    // Twice in one file.
    let twice = other.replace(
        "#include \"sum.hlsli\"\n",
        "#include \"sum.hlsli\"\n#define Sum Sum2\n#define g_Sums g_Sums2\n#include \"sum.hlsli\"\n",
    );
    assert_eq!(
        of("header-twice", &[("b.hlsl", &twice)]),
        "b.hlsl includes these lines more than once"
    );
    // The size of the group is known by a name that the header does not know.
    let figures = [
        ("sum.hlsli", &*HEADER.replace("THREADS", "64")),
        (
            "a.hlsl",
            &*CALLER.replace("#include \"sum.hlsli\"\n", "").replacen(
                "[numthreads",
                "#include \"sum.hlsli\"\n[numthreads",
                1,
            ),
        ),
    ];
    assert_eq!(of("header-figures", &figures), IS_FIXED);
}
