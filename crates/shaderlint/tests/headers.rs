//! Headers that are looked at by themselves: those that nothing includes, and functions that nothing calls.
#![expect(clippy::unwrap_used, reason = "a test that cannot set its files up fails")]

#[path = "support/editor.rs"]
#[expect(dead_code, reason = "one test uses a part of it")]
mod editor;
mod support;

use editor::Editor;
use serde_json::json;
use snapbox::{assert_data_eq, str};
use support::{Folder, LADDER, RACE};

fn said(folder: &Folder, arguments: &[&str]) -> String {
    folder.said(&[&["--output-format", "concise"], arguments].concat())
}

/// A function that leaves the largest of 32 numbers in `m`.
const LARGEST: &str = "groupshared float g_Part[32];
void Largest(const uint lane, inout float m)
{
    g_Part[lane] = m;
    for (uint half = 16; half > 0; half /= 2)
    {
        GroupMemoryBarrierWithGroupSync();
        if (lane < half)
        {
            m = max(m, g_Part[lane + half]);
            g_Part[lane] = m;
        }
    }
    GroupMemoryBarrierWithGroupSync();
    m = g_Part[0];
}
";

/// A kernel that includes `Largest`, with a body.
fn kernel(body: &str) -> String {
    format!(
        "#include \"largest.hlsli\"
RWStructuredBuffer<float> Out;
[numthreads(32, 1, 1)]
void main(uint gi : SV_GroupIndex)
{{
    {body}
}}
"
    )
}

fn without_size(text: &str) -> String {
    let header = text.replace("[numthreads(64, 1, 1)]\n", "");
    assert_ne!(header, text);
    header
}

#[test]
fn a_header_that_nothing_includes_is_taken_for_a_kernel() {
    let header = without_size(LADDER);
    let folder = Folder::new("stray-header")
        .with("ladder.hlsli", &header)
        // A defect may come of the size that is supposed.
        .with("race.hlsli", without_size(RACE));
    assert_data_eq!(
        said(&folder, &[]),
        str![[r#"
1
ladder.hlsli:8:2: warning[hillis-steele-scan]: Hillis–Steele inclusive scan of 64 uints (in a group of 64 threads, the length of g_Scan)
1 finding in 2 files

"#]]
    );
    let folder = Folder::new("included-header").with("ladder.hlsli", &header).with(
        "a.hlsl",
        "#include \"ladder.hlsli\"\n[numthreads(1, 1, 1)] void other() { main(0); }\n",
    );
    assert_data_eq!(
        said(&folder, &[]),
        str![[r#"
0
nothing found in 2 files

"#]]
    );
    // What else there is does not matter, but where it is touched: which of the two lengths?
    let other = format!("groupshared uint other[32];\n{header}");
    let folder = Folder::new("header-of-two-arrays").with("a.hlsli", &other);
    assert_data_eq!(
        said(&folder, &[]),
        str![[r#"
1
a.hlsli:9:2: warning[hillis-steele-scan]: Hillis–Steele inclusive scan of 64 uints (in a group of 64 threads, the length of g_Scan)
1 finding in 1 file

"#]]
    );
    let both = other.replace(
        "\tg_Scan[gi] = Src[gi];",
        "\tg_Scan[gi] = Src[gi];\n\tother[gi / 2] = 0;",
    );
    let folder = Folder::new("ambiguous-header").with("a.hlsli", &both);
    assert_data_eq!(
        said(&folder, &[]),
        str![[r#"
0
nothing found in 1 file

"#]]
    );
}

#[test]
fn a_function_that_nothing_calls_is_run_by_itself() {
    let folder = Folder::new("uncalled").with("largest.hlsli", LARGEST);
    assert_data_eq!(
        folder.said(&[]),
        str![[r#"
1
warning[hand-rolled-reduction]: hand-rolled maximum of 32 floats (in a group of 32 threads, the length of g_Part, if lane is SV_GroupIndex)
   ┌─ largest.hlsli:5:5
   │
 1 │   groupshared float g_Part[32];
   │   ----------------------------- the elements pass through this array
   ·
 5 │ ╭     for (uint half = 16; half > 0; half /= 2)
 6 │ │     {
 7 │ │         GroupMemoryBarrierWithGroupSync();
   │ │         --------------------------------- every thread waits for the slowest
   · │
13 │ │     }
14 │ │     GroupMemoryBarrierWithGroupSync();
   │ │     ---------------------------------
   │ ╰──────────────────────────────────────^ 5 rounds, 6 barriers
   │
   = proved: g_Part[0] ends as the maximum of g_Part[0] … g_Part[31], race-free
   = a wave form needs shader model 6.0
   = HLSL does not specify what wave intrinsics return for NaNs, or which of -0
     and +0 is smaller
   = no file at hand calls Largest: shaderlint ran it by itself, as if only its
     results were used
   = no automatic fix: the size of the group is unknown and assumed

1 finding in 1 file

"#]]
    );
    // Nor does it matter what includes it.
    let folder = Folder::new("uncalled-by-kernels")
        .with("largest.hlsli", LARGEST)
        .with("a.hlsl", kernel("Out[gi] = gi; // not Largest(gi, m)"))
        .with("b.hlsl", kernel("Out[gi] = gi; /* Largest */"));
    assert_data_eq!(
        said(&folder, &[]),
        str![[r#"
1
largest.hlsli:5:5: warning[hand-rolled-reduction]: hand-rolled maximum of 32 floats (in a group of 32 threads, the length of g_Part, if lane is SV_GroupIndex)
1 finding in 3 files

"#]]
    );
    assert_data_eq!(
        said(&folder, &["largest.hlsli"]),
        str![[r#"
1
largest.hlsli:5:5: warning[hand-rolled-reduction]: hand-rolled maximum of 32 floats (in a group of 32 threads, the length of g_Part, if lane is SV_GroupIndex)
1 finding in 1 file

"#]]
    );
}

/// What it does with its group is seen there, and told of the size that it has there.
#[test]
fn a_function_that_something_calls_is_not_run_by_itself() {
    let call = "float m = 0; Largest(gi, m); Out[gi] = m;";
    for (name, files) in [
        (
            "call",
            vec![("a.hlsl", kernel(&call.replace("gi, m", "gi & 15, m")))],
        ),
        (
            "if",
            vec![(
                "a.hlsl",
                kernel(&format!(
                    "\n#if defined(A) && defined(B) && C == 3\n{call}\n#endif\n"
                )),
            )],
        ),
        (
            "macro",
            vec![("a.hlsl", format!("#define REDUCE Largest\n{}", kernel("")))],
        ),
        (
            "other",
            vec![
                ("a.hlsl", kernel("#include \"body.hlsli\"")),
                ("body.hlsli", call.to_owned()),
            ],
        ),
        (
            "header",
            vec![(
                "more.hlsli",
                "#include \"largest.hlsli\"\nvoid More(float m) { Largest(0, m); }\n".to_owned(),
            )],
        ),
        (
            "unknown",
            vec![("a.hlsl", format!("#include MISSING\n{}", kernel("")))],
        ),
        (
            "mark",
            vec![(
                "a.hlsl",
                format!("\u{feff}{}", kernel(&call.replace("gi, m", "gi & 15, m"))),
            )],
        ),
        (
            "comment",
            vec![(
                "a.hlsl",
                format!("/* a */ {}", kernel(&call.replace("gi, m", "gi & 15, m"))),
            )],
        ),
        (
            "pasted",
            vec![(
                "a.hlsl",
                kernel("\n#define OF(name) Lar##name\n    float m = 0; OF(gest)(gi & 15, m);"),
            )],
        ),
        (
            "string",
            vec![(
                "a.hlsl",
                format!(
                    "#define NOTE \"/* \"\n{}",
                    kernel(&call.replace("gi, m", "gi & 15, m"))
                ),
            )],
        ),
    ] {
        let folder = Folder::new(&format!("called-{name}")).with("largest.hlsli", LARGEST);
        let folder = files
            .iter()
            .fold(folder, |folder, (path, text)| folder.with(path, text));
        let said = said(&folder, &[]);
        assert!(!said.contains("SV_GroupIndex"), "{name}: {said}");
    }
    // Kernels that are not looked at call it, too.
    let folder = Folder::new("called-elsewhere")
        .with(".git/HEAD", "")
        .with("lib/largest.hlsli", LARGEST)
        .with("lib/a.hlsl", kernel(""))
        .with("b.hlsl", kernel(call).replace("largest", "lib/largest"));
    assert_data_eq!(
        said(&folder, &["lib"]),
        str![[r#"
0
nothing found in 2 files

"#]]
    );
    // A macro says what is included.
    let by_macro = |definition: &str| {
        let folder = Folder::new("called-by-macro").with("largest.hlsli", LARGEST);
        let kernel = kernel("float m = 0; Largest(gi & 15, m);").replace("\"largest.hlsli\"", "HEADER");
        let folder = folder.with("a.hlsl", kernel);
        said(&folder, &[definition])
    };
    let named = Folder::new("called-by-definition").with("largest.hlsli", LARGEST);
    let named = named.with(
        "a.hlsl",
        kernel("\n#ifdef FN\n    float m = 0; FN(gi & 15, m);\n#endif"),
    );
    let named = named.with(
        "shaderlint.toml",
        "[[variant]]\nname = \"a\"\ndefines = { FN = \"Largest\" }\n",
    );
    assert!(!said(&named, &[]).contains("SV_GroupIndex"));
    assert!(by_macro("-DHEADER=\"other.hlsli\"").contains("SV_GroupIndex"));
    assert!(!by_macro("-DHEADER=\"largest.hlsli\"").contains("SV_GroupIndex"));
    // In the header itself, in what is not read by default.
    let own = format!("{LARGEST}#ifdef MORE\nvoid More(float m) {{ Largest(0, m); }}\n#endif\n");
    let folder = Folder::new("called-by-itself").with("largest.hlsli", own);
    assert_data_eq!(
        said(&folder, &[]),
        str![[r#"
0
nothing found in 1 file

"#]]
    );
}

/// Nobody knows what a `static` variable holds when it is called, nor what becomes of parts that it returns.
#[test]
fn what_callers_decide_is_not_told() {
    let own = LARGEST
        .replace("inout float m", "float m")
        .replace("void Largest", "float Largest")
        .replace("m = g_Part[0];", "return g_Part[lane];");
    for (name, text, is_told) in [
        ("first", own.replace("[lane];\n}", "[0];\n}"), true),
        ("own", own, false),
        (
            "own-out",
            LARGEST.replace("m = g_Part[0];", "m = g_Part[lane];"),
            false,
        ),
        // What it is called depends on who includes it.
        (
            "renamed",
            format!("#define Largest Largest_f32\n{LARGEST}"),
            false,
        ),
        (
            "static",
            format!(
                "static uint s_Step = 2;\n{}",
                LARGEST.replace("half /= 2", "half /= s_Step")
            ),
            false,
        ),
    ] {
        let folder = Folder::new(&format!("callers-decide-{name}")).with("largest.hlsli", text.clone());
        let said = said(&folder, &[]);
        assert_eq!(said.contains("SV_GroupIndex"), is_told, "{text}\n{said}");
    }
}

/// What follows from the size alone, or from who calls.
#[test]
fn little_is_said_of_a_function_that_nothing_calls() {
    let mut told = Vec::new();
    for (what, text) in [
        (
            "a race",
            LARGEST.replace(
                "        GroupMemoryBarrierWithGroupSync();\n        if",
                "        if",
            ),
        ),
        (
            "two numbers",
            LARGEST.replace("inout", "uint row, inout").replace(
                "g_Part[lane] = m;\n    for",
                "g_Part[lane] = m + g_Part[row];\n    for",
            ),
        ),
        (
            "no number",
            LARGEST
                .replace("uint lane", "uint2 lane")
                .replace("lane ", "lane.x ")
                .replace("lane]", "lane.x]"),
        ),
        ("a vector", LARGEST.replace("const uint lane", "float lane")),
        (
            "a method",
            format!(
                "struct S {{ static {} }};",
                LARGEST.replace("groupshared float g_Part[32];", "")
            )
            .replace("struct", "groupshared float g_Part[32];\nstruct"),
        ),
        (
            "a template",
            LARGEST
                .replace("void", "template<typename T> void")
                .replace("inout float", "inout T"),
        ),
        (
            "a declaration more",
            format!("void Largest(const uint lane, inout float m);\n{LARGEST}"),
        ),
        ("no length", LARGEST.replace("[32]", "[COUNT]")),
        ("another length", LARGEST.replace("[32]", "[48]")),
        (
            "a kernel beside it",
            format!("{LARGEST}[numthreads(32, 1, 1)] void main() {{}}\n"),
        ),
        (
            "no barrier",
            LARGEST.replace("GroupMemoryBarrierWithGroupSync", "GroupMemoryBarrier"),
        ),
        // The first half of a scan, or a sum: who calls it knows.
        (
            "parts",
            LARGEST
                .replace(", inout float m", "")
                .replace("    g_Part[lane] = m;\n    for", "    for")
                .replace(
                    "m = max(m, g_Part[lane + half]);\n            g_Part[lane] = m;",
                    "g_Part[lane] += g_Part[lane + half];",
                )
                .replace("    m = g_Part[0];\n", ""),
        ),
    ] {
        assert_ne!(text, LARGEST, "{what}");
        let folder = Folder::new("uncalled-silent").with("largest.hlsli", &text);
        let said = said(&folder, &[]);
        if !said.starts_with("0\nnothing found") {
            told.push(format!("{what}: {said}\n{text}"));
        }
    }
    assert!(told.is_empty(), "{}", told.join("\n"));
}

/// How many threads make an atomic, those who call the function know.
#[test]
fn atomics_are_told_of_kernels_alone() {
    let text = "groupshared uint g_Bins[32];
void Count(uint lane : SV_GroupIndex)
{
    g_Bins[lane] = 0;
    GroupMemoryBarrierWithGroupSync();
    InterlockedAdd(g_Bins[0], 1);
    GroupMemoryBarrierWithGroupSync();
}
";
    let folder = Folder::new("stray-atomic").with("count.hlsli", text);
    assert_data_eq!(
        said(&folder, &[]),
        str![[r#"
0
count.hlsli:6:5: note[single-cell-atomic]: 32 threads each add to g_Bins[0] with an atomic (in a group of 32 threads, the length of g_Bins)
1 finding in 1 file

"#]]
    );
    let folder = Folder::new("uncalled-atomic").with("count.hlsli", text.replace(" : SV_GroupIndex", ""));
    assert_data_eq!(
        said(&folder, &[]),
        str![[r#"
0
nothing found in 1 file

"#]]
    );
}

/// Which of two numbers is a thread's is told by what it is used for.
#[test]
fn the_number_in_an_index_is_the_threads() {
    let text = "groupshared uint g_Counts[64];
uint Before(uint value, int lane)
{
    g_Counts[lane] = value;
    GroupMemoryBarrierWithGroupSync();
    for (int step = 1; step < 64; step <<= 1)
    {
        uint other = lane >= step ? g_Counts[lane - step] : 0;
        GroupMemoryBarrierWithGroupSync();
        g_Counts[lane] += other;
        GroupMemoryBarrierWithGroupSync();
    }
    return g_Counts[lane];
}
";
    let folder = Folder::new("uncalled-scan").with("scan.hlsli", text);
    assert_data_eq!(
        said(&folder, &[]),
        str![[r#"
1
scan.hlsli:6:5: warning[hillis-steele-scan]: Hillis–Steele inclusive scan of 64 uints (in a group of 64 threads, the length of g_Counts, if lane is SV_GroupIndex)
1 finding in 1 file

"#]]
    );
}

#[test]
fn comments_allow_what_nothing_calls() {
    let allowed = LARGEST.replace(
        "    for",
        "    // shaderlint: allow(hand-rolled-reduction): few\n    for",
    );
    let folder = Folder::new("uncalled-allowed")
        .with("largest.hlsli", &allowed)
        .with("a.hlsl", kernel("Out[gi] = gi;"));
    assert_data_eq!(
        said(&folder, &[]),
        str![[r#"
0
nothing found in 2 files

"#]]
    );
    // What a log keeps of them says as much, and what is not told is not in it.
    let log = folder.printed(&["--output-format", "sarif"]);
    let supposed = "(in a group of 32 threads, the length of g_Part, if lane is SV_GroupIndex)";
    assert!(log.contains(supposed), "{log}");
    let race = without_size(RACE).replace("% 64];", "% 64]; // shaderlint: allow(groupshared-race): why");
    let folder = Folder::new("uncalled-allowed-race").with("race.hlsli", race);
    let log = folder.printed(&["--output-format", "sarif"]);
    assert!(!log.contains("\"ruleId\": \"groupshared-race\""), "{log}");
}

#[test]
fn an_editor_shows_what_nothing_calls() {
    let kernel = kernel("Out[gi] = gi;");
    let folder = Folder::new("server-uncalled")
        .with("largest.hlsli", LARGEST)
        .with("a.hlsl", &kernel);
    let mut editor = Editor::open(&folder, json!({}));
    editor.open_file("a.hlsl", &kernel);
    assert_eq!(editor.told("a.hlsl"), "");
    editor.open_file("largest.hlsli", LARGEST);
    let found = editor.told("largest.hlsli");
    assert_data_eq!(
        &found,
        str![[r#"
4:4-13:38 hand-rolled-reduction hand-rolled maximum of 32 floats (in a group of 32 threads, the length of g_Part, if lane is SV_GroupIndex)

"#]]
    );
    // Somebody may call it, and does not any more.
    editor.edit("a.hlsl", 2, Some([0, 0, 0, 0]), "#define REDUCE Largest\n");
    assert_eq!(editor.told("largest.hlsli"), "");
    editor.edit("a.hlsl", 3, Some([0, 0, 1, 0]), "");
    assert_eq!(editor.told("largest.hlsli"), found);
    // It is gone, and back.
    editor.edit("largest.hlsli", 2, Some([0, 0, 0, 0]), "//");
    assert_eq!(editor.told("largest.hlsli"), "");
    editor.edit("largest.hlsli", 3, Some([0, 0, 0, 2]), "");
    assert_eq!(editor.told("largest.hlsli"), found);
    assert_eq!(editor.quit(), Some(0));
}
