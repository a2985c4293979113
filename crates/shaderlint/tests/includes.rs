//! Which file an `#include` means: that of DXC, or else a fix says that it rests on a guess.
#![expect(clippy::too_many_lines, reason = "a test shows all that it expects")]
#![expect(clippy::unwrap_used, reason = "a test that cannot set its files up fails")]

mod support;

use std::fs;

use snapbox::{assert_data_eq, str};
use support::Folder;

/// A ladder whose elements `op` combines.
const KERNEL: &str = "StructuredBuffer<uint> Src;
RWStructuredBuffer<uint> Out;
groupshared uint g[64];
[numthreads(64, 1, 1)]
void main(uint gi : SV_GroupIndex)
{
    g[gi] = Src[gi];
    GroupMemoryBarrierWithGroupSync();
    for (uint s = 1; s < 64; s <<= 1)
    {
        uint t = gi >= s ? g[gi - s] : 0;
        GroupMemoryBarrierWithGroupSync();
        g[gi] = op(g[gi], t);
        GroupMemoryBarrierWithGroupSync();
    }
    Out[gi] = g[gi];
}
";

const SUM: &str = "uint op(uint a, uint b) { return a + b; }\n";
const OTHER: &str = "uint op(uint a, uint b) { return a - b; }\n";

/// What is found in `p/main.hlsl`, which includes `first`, beside these files.
#[track_caller]
fn said(test: &str, first: &str, files: &[(&str, &str)], arguments: &[&str]) -> String {
    let mut folder = Folder::new(test).with("p/main.hlsl", format!("#include {first}\n{KERNEL}"));
    fs::create_dir(folder.0.join(".git")).unwrap();
    for (path, text) in files {
        folder = folder.with(path, text);
    }
    let arguments = [&["--output-format", "concise", "p/main.hlsl"], arguments].concat();
    let said = folder.printed(&arguments);
    let said = said.split_once(": ").map_or("", |(_, said)| said);
    said.trim_end().to_owned()
}

const SCAN: &str = "warning[hillis-steele-scan]: Hillis–Steele inclusive scan of 64 uints [fix]";
const GUESSED: &str = "warning[hillis-steele-scan]: Hillis–Steele inclusive scan of 64 uints [unsafe fix]";
/// With differences it is no scan.
const NOTHING: &str = "";

#[test]
fn quoted_paths_are_beside_any_file_that_is_being_read() {
    let files = |near, far| {
        [
            ("lib/x.h", "#include \"c.h\"\n"),
            ("p/c.h", near),
            ("lib/sub/c.h", far),
        ]
    };
    let first = "\"../lib/x.h\"";
    assert_eq!(said("includes_stack", first, &files(SUM, OTHER), &[]), SCAN);
    assert_eq!(said("includes_stack_of", first, &files(OTHER, SUM), &[]), NOTHING);
    // They come before include folders.
    let arguments = ["-I", "lib/sub"];
    assert_eq!(
        said("includes_stack_first", first, &files(SUM, OTHER), &arguments),
        SCAN
    );
}

#[test]
fn paths_in_angle_brackets_are_in_include_folders() {
    let files = [("p/op.h", OTHER), ("include/op.h", SUM)];
    let arguments = ["-I", "include"];
    assert_eq!(said("includes_angled", "<op.h>", &files, &arguments), SCAN);
    assert_eq!(said("includes_quoted", "\"op.h\"", &files, &arguments), NOTHING);
    // No compiler would find it: somebody else's search does.
    assert_eq!(said("includes_angled_beside", "<op.h>", &files, &[]), NOTHING);
}

#[test]
fn a_fix_that_rests_on_a_guess_is_not_safe() {
    let files = [("a/op.h", SUM), ("b/op.h", SUM)];
    assert_eq!(said("includes_guessed", "\"op.h\"", &files, &[]), GUESSED);
    assert_eq!(said("includes_told", "\"op.h\"", &files, &["-I", "b"]), SCAN);
    // So it is where a guess is made by a file that includes it.
    let folder = Folder::new("includes_guessed_elsewhere")
        .with("ladder.hlsl", KERNEL.replace("op(g[gi], t)", "g[gi] + t"))
        .with("other.hlsl", "#include \"op.h\"\n#include \"ladder.hlsl\"\n")
        .with("a/op.h", SUM)
        .with("b/op.h", OTHER);
    let said = folder.printed(&["--output-format", "concise", "ladder.hlsl", "a", "b"]);
    assert!(said.ends_with(&format!("{GUESSED}\n")), "{said}");
}

/// Of two files of a name the nearer one is taken, and the other one may be what the build takes.
#[test]
fn a_fix_in_a_file_that_may_be_included_is_not_safe() {
    let kernel = KERNEL.replace("op(g[gi], t)", "g[gi] + t");
    let folder = |test: &str, includes: &str| {
        let folder = Folder::new(test)
            .with("ladder.hlsl", &kernel)
            .with("d/ladder.hlsl", &kernel)
            .with(
                "d/other.hlsl",
                format!("#define WavePrefixSum(x) (x)\n{includes}\n"),
            );
        fs::create_dir(folder.0.join(".git")).unwrap();
        folder
    };
    let direct = folder("includes_perhaps", "#include <ladder.hlsl>");
    let concise = ["--output-format", "concise", "ladder.hlsl"];
    let said = direct.printed(&concise);
    assert!(said.ends_with(&format!("{GUESSED}\n")), "{said}");
    let report = direct.printed(&["--output-format", "json", "ladder.hlsl"]);
    let note = "d/other.hlsl may include this file, one of 2 called `ladder.hlsl`: the fix is proved as if it included d/ladder.hlsl instead; use -I to say where the build finds it";
    assert!(report.contains(note), "{report}");
    let said = direct.printed(&[&concise[..], &["-I", "d"]].concat());
    assert!(said.ends_with(&format!("{SCAN}\n")), "{said}");

    // What may be included includes it.
    let through = folder("includes_perhaps_through", "#include <all.h>")
        .with("d/all.h", "")
        .with("e/all.h", "#include \"../ladder.hlsl\"\n");
    let said = through.printed(&concise);
    assert!(said.ends_with("of 64 uints\n"), "{said}");
}

/// What is not read may declare anything, also what the file declares.
#[test]
fn a_fix_without_what_is_not_read_is_not_safe() {
    let not_text = "\0\0\0\0a";
    let many_blanks = " ".repeat((64 << 20) + 1);
    let reasons = [
        ("\"gone.h\"", &[][..]),
        ("\"op.h\"\n#include <gone.h>", &[("p/op.h", SUM)]),
        ("\"binary.h\"", &[("p/binary.h", not_text)]),
        ("\"large.h\"", &[("p/large.h", &*many_blanks)]),
        ("GONE", &[]),
    ];
    for (number, (first, files)) in reasons.into_iter().enumerate() {
        let first = format!("{first}\n#ifndef SUM\nuint op(uint a, int b) {{ return a + b; }}\n{SUM}#endif");
        assert_eq!(
            said(
                &format!("includes_unread_{number}"),
                &first,
                files,
                &["-D", "SUM_"]
            ),
            GUESSED,
            "{first}"
        );
    }
    // A zero byte is a blank, also in a file that includes this one.
    let with_zero = SUM.replace("uint op", "/* \0 */ uint op");
    assert_eq!(
        said("includes_zero", "\"op.h\"", &[("p/op.h", &with_zero)], &[]),
        SCAN
    );
    let ladder = KERNEL.replace("op(g[gi], t)", "g[gi] + t");
    let includer = "// \0\n#define WavePrefixSum(x) WavePrefixProduct(x)\n#include \"ladder.hlsl\"\n";
    let folder = Folder::new("includes_zero_includer")
        .with("ladder.hlsl", ladder)
        .with("other.hlsl", includer);
    let said = folder.printed(&["--output-format", "concise", "ladder.hlsl", "."]);
    assert!(!said.contains("fix]"), "{said}");
}

/// A name that nothing declares may be a macro of anything, and `verify` proves nothing beside it.
#[test]
fn a_fix_beside_unknown_names_is_not_safe() {
    let text = KERNEL.replace("op(g[gi], t)", "g[gi] + t");
    let end = text.rfind('}').unwrap();
    let behind = |statement: &str| format!("{}{statement}\n{}", &text[..end], &text[end..]);
    // Nothing but the unknown name differs from what has a safe fix.
    let all = [
        (format!("HELPERS\n{text}"), "HELPERS"),
        (
            format!(
                "uint f(float a) {{ return 1; }}\nHELPERS\n{}",
                behind("Out[64 + gi] = f(gi);")
            ),
            "HELPERS",
        ),
        (
            format!("uint two(uint a) {{ return 2; }} uint FN(two)(int a) {{ return 3; }}\n{text}"),
            "FN",
        ),
        (
            format!(
                "uint HELP two(uint a) {{ return 2; }}\n{}",
                behind("Out[64 + gi] = two(gi);")
            ),
            "HELP",
        ),
        (
            format!(
                "uint two(uint a) BODY {{ return 2; }}\n{}",
                behind("Out[64 + gi] = two(gi);")
            ),
            "BODY",
        ),
        (
            format!(
                "struct S {{ int n; foo(); }};\n{}",
                behind("S s = (S)0; Out[64 + gi] = s.n;")
            ),
            "foo",
        ),
        (format!("template<typename T> FOO();\n{text}"), "FOO"),
        (format!("typedef uint FN(U9);\n{text}"), "FN"),
        (behind("dump(gi);"), "dump"),
        (behind("Dump(gi) if (gi > 3) Out[64 + gi] = 1;"), "Dump"),
        (
            behind("for (uint q = 0; q < last; q++) Out[64 + gi] = q;"),
            "last",
        ),
        (behind("switch (kind) { case 1: Out[64 + gi] = 1; }"), "kind"),
        (format!("RWTextureFoo<float> f;\n{text}"), "RWTextureFoo"),
        (format!("$Foo f;\n{text}"), "$Foo"),
        (behind("{ $Foo v; }"), "$Foo"),
        (behind("{ Größe v; }"), "Größe"),
        (format!("StructuredBuffer<u> f;\n{text}"), "u"),
        // It may be `numthreads` once more, `unroll(2)`, or close its bracket.
        (text.replace("void main", "[GROUP] void main"), "GROUP"),
        (text.replace("for (", "[HOT] for ("), "HOT"),
        (
            behind("[unroll(TIMES)] for (uint q = 0; q < 4; q++) Out[64 + gi] = q;"),
            "TIMES",
        ),
        (
            format!("template<typename T, typename R = ELEMENT> R twice(T a) {{ return a; }}\n{text}"),
            "ELEMENT",
        ),
        (format!("cbuffer C FOO {{ uint q; }};\n{text}"), "FOO"),
        (format!("cbuffer FOO C {{ uint q; }};\n{text}"), "C"),
        (format!("cbuffer FOO() {{ uint q; }};\n{text}"), "FOO"),
        (
            format!("tbuffer C : register(t0) FOO {{ uint q; }};\n{text}"),
            "FOO",
        ),
        (format!("[FOO] cbuffer C {{ uint q; }};\n{text}"), "FOO"),
        (format!("namespace N FOO {{ uint q; }}\n{text}"), "FOO"),
        (format!("[[vk::FOO(1)]] StructuredBuffer<uint> b;\n{text}"), "FOO"),
        (
            format!("template<typename T FOO> T same(T a) {{ return a; }}\n{text}"),
            "FOO",
        ),
        (
            format!("template<typename T, FOO> T same(T a) {{ return a; }}\n{text}"),
            "FOO",
        ),
        // That another parameter has this name does not help.
        (
            format!(
                "uint same(uint a, uint n) {{ return n; }}\ntemplate<uint a n> uint any() {{ return a; }}\n{text}"
            ),
            "n",
        ),
        (
            format!("struct S {{ uint q; template<FOO T> T same(T a) {{ return a; }} }};\n{text}"),
            "FOO",
        ),
    ];
    let folder = Folder::new("includes_unknown_names").with("a.hlsl", behind("Out[64 + gi] = 1;"));
    let concise = ["--output-format", "concise"];
    assert!(folder.printed(&concise).ends_with(&format!("{SCAN}\n")));
    for (text, name) in all {
        let folder = Folder::new("includes_unknown_name")
            .with("a.hlsl", &text)
            .with("b.hlsl", &text);
        let said = folder.printed(&[&concise[..], &["a.hlsl"]].concat());
        assert!(said.ends_with(&format!("{GUESSED}\n")), "{text}{said}");
        let note = format!(
            "the fix is made without `{name}`, an unknown name; use -D to define what the build defines"
        );
        let report = folder.printed(&["--output-format", "json", "a.hlsl"]);
        assert!(report.contains(&note), "{text}{report}");
        let said = folder.said(&["verify", "-q", "--no-timing", "a.hlsl", "b.hlsl"]);
        assert!(said.contains("not proved"), "{text}{said}");
    }
}

/// What is declared is not what is missing.
#[test]
fn a_function_that_is_given_to_an_unknown_one_is_not_unknown() {
    let text = KERNEL.replace("op(g[gi], t)", "g[gi] + t");
    let text = text.replace(
        "Out[gi] = g[gi];",
        "Out[gi] = g[gi]; Out[64 + gi] = Call(two, gi);",
    );
    let text = format!("uint two(uint a) {{ return 2; }}\n{text}");
    let folder = Folder::new("includes_function_as_argument").with("a.hlsl", text);
    let report = folder.printed(&["--output-format", "json"]);
    let note = "the fix is made without `Call`, an unknown name, among others";
    assert!(
        report.contains(note) && !report.contains("unknown name `two`"),
        "{report}"
    );
}

/// What a ray query gives is known, and what is read of that need not be: it may be a macro.
#[test]
fn what_is_read_of_a_ray_query_is_no_word_of_the_language() {
    let text = KERNEL.replace("op(g[gi], t)", "g[gi] + t");
    let reads = |what: &str| {
        text.replace("g[gi] = Src[gi];", "RayQuery<RAY_FLAG_NONE> q; g[gi] = Src[gi];")
            .replace("Out[gi] = g[gi];", &format!("Out[gi] = g[gi] + {what};"))
    };
    let concise = ["--output-format", "concise"];
    let said = |what: &str| {
        Folder::new("includes_ray_query")
            .with("a.hlsl", reads(what))
            .printed(&concise)
    };
    assert!(said("q.CommittedStatus()").ends_with(&format!("{SCAN}\n")));
    for what in [
        "q.status",
        "q.CommittedStatus().x.most",
        "q.CandidateType().MOST",
        "asuint(q.CommittedRayT<MOST>())",
    ] {
        assert!(!said(what).ends_with(&format!("{SCAN}\n")), "{what}");
    }
}

/// A function of a file that was not found may name what stands before the `#include`, and what is found by the type of what it
/// is given. It may read partial results, which the fix does not leave.
#[test]
fn a_function_of_a_missing_file_may_read_what_is_before_it() {
    let text = "BEFORE StructuredBuffer<uint> X; RWStructuredBuffer<uint> Y; groupshared uint s[64]; BEHIND
struct Op { uint q; uint get() { return READ; } };
[numthreads(64, 1, 1)] void main(uint3 id : SV_DispatchThreadID, uint gi : SV_GroupIndex)
{
    Op op; op.q = 0; s[gi] = X[id.x]; GroupMemoryBarrierWithGroupSync(); uint before = op.get(); GroupMemoryBarrierWithGroupSync();
    for (uint d = 32; d > 0; d >>= 1) { if (gi < d) s[gi] += s[gi + d]; GroupMemoryBarrierWithGroupSync(); }
    Y[X[id.x]] = s[0] + before + foreign(GIVEN);
}
";
    let include = "\n#include \"missing.h\"\n";
    let fixes = [
        (include, "", "q", "op", true),
        ("", include, "q", "gi", false),
        (include, "", "s[5]", "gi", false),
        (include, "", "s[5]", "op", false),
    ];
    for (before, behind, read, given, has_fix) in fixes {
        let text = text.replace("BEFORE", before).replace("BEHIND", behind);
        let text = text.replace("READ", read).replace("GIVEN", given);
        let folder = Folder::new("includes_reads_before").with("a.hlsl", &text);
        let report = folder.printed(&["--output-format", "json"]);
        let has_note = report.contains("the fix is made without `missing.h`");
        assert_eq!(has_note, has_fix, "{text}{report}");
        assert!(report.contains("hand-rolled-reduction"), "{report}");
    }
}

/// Who tells `a` from `A`, or wants each folder of a path to be there, takes another file.
#[test]
#[cfg(target_os = "linux")]
fn paths_that_systems_take_otherwise_are_guesses() {
    let files = [("p/op.h", SUM), ("inc/OP.h", OTHER), ("inc/no/x.h", "")];
    let arguments = ["-I", "inc"];
    assert_eq!(said("includes_case", "\"OP.h\"", &files, &arguments), GUESSED);
    assert_eq!(said("includes_own_case", "\"op.h\"", &files, &arguments), SCAN);
    let files = [("p/op.h", SUM), ("inc/op.h", OTHER), ("inc/no/x.h", "")];
    assert_eq!(
        said("includes_dots", "\"no/../op.h\"", &files, &arguments),
        GUESSED
    );
    let files = [("p/op.h", SUM), ("other/op.h", OTHER)];
    assert_eq!(said("includes_angled_guess", "<op.h>", &files, &[]), GUESSED);
}

#[test]
fn a_guess_is_told() {
    let folder = Folder::new("includes_told_of")
        .with("main.hlsl", format!("#include \"op.h\"\n{KERNEL}"))
        .with("a/op.h", SUM)
        .with("b/op.h", SUM);
    fs::create_dir(folder.0.join(".git")).unwrap();
    let note = "the fix is proved with a/op.h, the nearest of 2 files called `op.h`; use -I to say where the build finds it";
    let report = folder.printed(&["--output-format", "json"]);
    assert!(report.contains(note), "{report}");
    assert_data_eq!(
        folder.said(&["verify", "-q", "--no-timing", "main.hlsl"]),
        str![[r#"
0
main: proved equal at every wave size, if waves hold consecutive threads (linear packing)
warning: 2 files are called `op.h`; shaderlint uses the nearest, a/op.h
  ┌─ main.hlsl:1:11
  │
1 │ #include "op.h"
  │           ^^^^


"#]]
    );
}

/// A condition that is not understood leaves open which text is read.
#[test]
fn nothing_is_proved_of_a_condition_that_is_not_understood() {
    let kernel = |value: &str| {
        format!(
            "RWStructuredBuffer<uint> Out;
[numthreads(32, 1, 1)]
void main(uint gi : SV_GroupIndex)
{{
    Out[gi] = {value};
}}
"
        )
    };
    let folder = Folder::new("includes_condition")
        .with(
            "a.hlsl",
            format!(
                "#if __has_feature(x) ? 1 : 0\n#define V 1\n#else\n#define V 2\n#endif\n{}",
                kernel("V")
            ),
        )
        .with("b.hlsl", kernel("2"));
    assert_data_eq!(
        folder.said(&["verify", "-q", "--no-timing", "a.hlsl", "b.hlsl"]),
        str![[r#"
1
main: not proved; [..]
warning: unexpected `(` in a condition
  ┌─ a.hlsl:1:5
  │
1 │ #if __has_feature(x) ? 1 : 0
  │     ^^^^^^^^^^^^^^^^^^^^^^^^


"#]]
    );
}
