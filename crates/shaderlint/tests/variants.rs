//! Further readings of a file: declared variants, and regions that conditional compilation leaves out.
#![expect(clippy::too_many_lines, reason = "a test shows all that it expects")]
#![expect(clippy::unwrap_used, reason = "a test that cannot set its files up fails")]

mod support;

use snapbox::{assert_data_eq, str};
use support::{Folder, LADDER, RACE};

/// What is said of a file, a line each.
fn said(test: &str, text: &str, arguments: &[&str]) -> String {
    let folder = Folder::new(test).with("a.hlsl", text);
    folder.said(&[&["--output-format", "concise"], arguments].concat())
}

/// A kernel that races where `condition` holds.
fn racy_under(condition: &str) -> String {
    format!("{condition}\n{RACE}#endif\n")
}

/// What no compiler takes has no defects; as soon as it is taken it has.
#[test]
fn a_refused_configuration_has_no_defects() {
    let text = format!("#ifndef PLATFORM\n#error no platform\n#endif\n{RACE}");
    let refused = said("refused", &text, &[]);
    assert!(refused.contains("nothing found in 1 file"), "{refused}");
    let said = said("not-refused", &text, &["-D", "PLATFORM=1"]);
    assert!(said.contains("groupshared-race"), "{said}");
}

#[test]
fn each_declared_variant_is_read_and_a_place_is_said_once() {
    let text = RACE.replace("64", "SIZE");
    let folder = Folder::new("declared-variants")
        .with(
            "shaderlint.toml",
            "preprocess.defines = [\"SIZE=1\"]\n\n[[variant]]\nname = \"small\"\ndefines = [\"SIZE=1\"]\n\n\
             [[variant]]\nname = \"large\"\ndefines = { SIZE = 64 }\n\n\
             [[variant]]\nname = \"huge\"\ndefines = { SIZE = 512 }\n",
        )
        .with("a.hlsl", text);
    assert_data_eq!(
        folder.said(&[]),
        str![[r#"
1
error[groupshared-race]: data race on g_Sum[1] (in variant large)
  ┌─ a.hlsl:6:18
  │
1 │ groupshared uint g_Sum[SIZE];
  │ ----------------------------- shared by the whole group
  ·
5 │     g_Sum[gi] = gi;
  │     --------- thread 1 writes it here
6 │     g_Sum[gi] += g_Sum[(gi + 1) % SIZE];
  │                  ^^^^^^^^^^^^^^^^^^^^^^ thread 0 reads g_Sum[1]
  │
  = thread 0 reads g_Sum[1] while thread 1 writes it, with no barrier between
    them
  = other pairs of accesses also race here
  = threads of a wave need not run in lock-step
  = help: put the missing barriers before this statement and between the reads
    and the write
  = no automatic fix: the same fix is not proved for the file as it stands

1 finding in 1 file

"#]]
    );
    assert_data_eq!(
        folder.said(&["-D", "SIZE=2", "--output-format", "concise"]),
        str![[r#"
1
a.hlsl:6:18: error[groupshared-race]: data race on g_Sum[1]
1 finding in 1 file

"#]]
    );
    assert_data_eq!(
        folder.said(&["preprocess", "a.hlsl", "--variant", "huge"]),
        str![[r#"
0
groupshared uint g_Sum[512];
[numthreads(512, 1, 1)]
void main(uint gi : SV_GroupIndex)
{
    g_Sum[gi] = gi;
    g_Sum[gi] += g_Sum[(gi + 1) % 512];
}


"#]]
    );
    assert_data_eq!(
        folder.said(&["preprocess", "a.hlsl", "--variant", "hug"]),
        str![[r#"
2
error: no variant is called `hug`: expected one of small, large, huge

"#]]
    );
}

#[test]
fn definitions_turn_a_region_on() {
    let check = |name: &str, condition: &str| said(&format!("region-{name}"), &racy_under(condition), &[]);
    assert_data_eq!(
        check("ifdef", "#ifdef X"),
        str![[r#"
1
a.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] (with -D X=1) [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        check("if", "#if X"),
        str![[r#"
1
a.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] (with -D X=1) [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        check("defined", "#if defined(X)"),
        str![[r#"
1
a.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] (with -D X=1) [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        check("equal", "#if X == 3"),
        str![[r#"
1
a.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] (with -D X=3) [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        check("less", "#if 4 < X"),
        str![[r#"
1
a.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] (with -D X=5) [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        check("enum", "#define FAST 2\n#if MODE == FAST"),
        str![[r#"
1
a.hlsl:8:18: error[groupshared-race]: data race on g_Sum[1] (with -D MODE=FAST) [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        check("elif", "#if M == 0\n#elif M == 2"),
        str![[r#"
1
a.hlsl:8:18: error[groupshared-race]: data race on g_Sum[1] (with -D M=2) [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        check("else", "#ifndef X\n#else"),
        str![[r#"
1
a.hlsl:8:18: error[groupshared-race]: data race on g_Sum[1] (with -D X=1) [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        check("both", "#if defined(X) && !defined(Y)"),
        str![[r#"
1
a.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] (with -D X=1) [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        check("default", "#ifndef X\n#define X 0\n#endif\n#if X"),
        str![[r#"
1
a.hlsl:10:18: error[groupshared-race]: data race on g_Sum[1] (with -D X=1) [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        check("two", "#if X && Y"),
        str![[r#"
1
a.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] (with -D X=1 -D Y=1) [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        check("two-kinds", "#if defined(X) && (Y > 2 || 0)"),
        str![[r#"
1
a.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] (with -D X=1 -D Y=3) [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        said(
            "region-nested",
            &(racy_under("#define ON\n#ifdef X\n#if defined(Y)\n#ifdef ON") + "#endif\n#endif\n"),
            &[]
        ),
        str![[r#"
1
a.hlsl:10:18: error[groupshared-race]: data race on g_Sum[1] (with -D X=1 -D Y=1) [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        check("chain", "#if !defined(A)\n#elif B == 1\n#elif defined(C)"),
        str![[r#"
1
a.hlsl:9:18: error[groupshared-race]: data race on g_Sum[1] (with -D C=1 -D A=1) [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        check("chain-else", "#if A == 0\n#elif A == 1\n#else"),
        str![[r#"
1
a.hlsl:9:18: error[groupshared-race]: data race on g_Sum[1] (with -D A=-1) [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    // No definition does.
    assert_data_eq!(
        check("zero", "#if 0"),
        str![[r#"
0
nothing found in 1 file

"#]]
    );
    assert_data_eq!(
        check("own", "#define X 0\n#if X"),
        str![[r#"
0
nothing found in 1 file

"#]]
    );
}

#[test]
fn a_definition_of_the_caller_may_be_taken_back() {
    assert_data_eq!(
        said("undefine", &racy_under("#ifndef X"), &["-D", "X"]),
        str![[r#"
1
a.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] (without -D X) [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        said("undefine-else", &racy_under("#ifdef X\n#else"), &["-D", "X"]),
        str![[r#"
1
a.hlsl:8:18: error[groupshared-race]: data race on g_Sum[1] (without -D X) [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        said("redefine", &racy_under("#if !X"), &["-D", "X"]),
        str![[r#"
1
a.hlsl:7:18: error[groupshared-race]: data race on g_Sum[1] (with -D X=0) [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
}

#[test]
fn the_number_of_readings_is_bounded() {
    let regions = (0..40).map(|number| {
        let kernel = RACE
            .replace("main", &format!("main{number}"))
            .replace("g_Sum", &format!("g_Sum{number}"));
        format!("#ifdef X{number}\n{kernel}#endif\n")
    });
    let said = said("many-regions", &regions.collect::<String>(), &[]);
    assert_data_eq!(
        said,
        str![[r#"
1
a.hlsl:7:19: error[groupshared-race]: data race on g_Sum0[1] (with -D X0=1) [unsafe fix]
a.hlsl:17:19: error[groupshared-race]: data race on g_Sum1[1] (with -D X1=1) [unsafe fix]
a.hlsl:27:19: error[groupshared-race]: data race on g_Sum2[1] (with -D X2=1) [unsafe fix]
a.hlsl:37:19: error[groupshared-race]: data race on g_Sum3[1] (with -D X3=1) [unsafe fix]
a.hlsl:47:19: error[groupshared-race]: data race on g_Sum4[1] (with -D X4=1) [unsafe fix]
a.hlsl:57:19: error[groupshared-race]: data race on g_Sum5[1] (with -D X5=1) [unsafe fix]
a.hlsl:67:19: error[groupshared-race]: data race on g_Sum6[1] (with -D X6=1) [unsafe fix]
a.hlsl:77:19: error[groupshared-race]: data race on g_Sum7[1] (with -D X7=1) [unsafe fix]
8 findings in 1 file (8 fixable with --fix --unsafe-fixes)

"#]]
    );
}

#[test]
fn fallbacks_of_wave_code_are_not_told_to_use_waves() {
    let waves = "void f(uint gi) { WaveActiveSum(gi); }\n";
    let either = |condition: &str| format!("{condition}\n{waves}#else\n{LADDER}#endif\n");
    assert_data_eq!(
        said("fallback-taken", &either("#ifdef WAVES"), &[]),
        str![[r#"
0
nothing found in 1 file

"#]]
    );
    assert_data_eq!(
        said("fallback-left-out", &either("#ifndef NO_WAVES"), &[]),
        str![[r#"
0
nothing found in 1 file

"#]]
    );
    // A defect is one in a fallback too.
    let racy = either("#ifndef NO_WAVES").replace(LADDER, RACE);
    assert_data_eq!(
        said("fallback-racy", &racy, &[]),
        str![[r#"
1
a.hlsl:9:18: error[groupshared-race]: data race on g_Sum[1] (with -D NO_WAVES=1) [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    let unrelated = format!("#ifdef WATER\nstatic float WaveHeight;\n#else\n{LADDER}#endif\n");
    assert_data_eq!(
        said("no-fallback", &unrelated, &[]),
        str![[r#"
1
a.hlsl:12:2: warning[hillis-steele-scan]: Hillis–Steele inclusive scan of 64 uints [fix]
1 finding in 1 file (1 fixable with --fix)

"#]]
    );
}

#[test]
fn a_fix_holds_in_every_reading_of_what_it_changes() {
    // Left out by default: the variant alone has a say.
    let folder = Folder::new("fix-in-variant").with("a.hlsl", format!("#ifdef X\n{LADDER}#endif\n"));
    assert_data_eq!(
        folder.said(&["--fix"]),
        str![[r#"
0
1 fix made; nothing left in 1 file

"#]]
    );
    assert_data_eq!(
        folder.said(&[]),
        str![[r#"
0
nothing found in 1 file

"#]]
    );
    // Each build reads the result in another statement.
    let text = sum("64").replace(
        "if (gi == 0) Data[0] = g_Sum[0];",
        "#if LAST\nif (gi == 0) Data[1] = g_Sum[0];\n#else\nif (gi == 0) Data[0] = g_Sum[0];\n#endif\n",
    );
    let folder = Folder::new("fix-before-choice").with("a.hlsl", text);
    assert_data_eq!(
        folder.said(&["--fix", "--unsafe-fixes"]),
        str![[r#"
0
1 fix made; nothing left in 1 file

"#]]
    );
    // The same text in both, with another meaning.
    let text = LADDER.replace("[gi - s] : 0", "[gi - s] : EMPTY");
    let folder = Folder::new("fix-contested")
        .with(
            "shaderlint.toml",
            "[[variant]]\nname = \"odd\"\ndefines = { EMPTY = 1 }\n",
        )
        .with(
            "a.hlsl",
            format!("#ifndef EMPTY\n#define EMPTY 0\n#endif\n{text}"),
        );
    assert_data_eq!(
        folder.said(&["--fix"]),
        str![[r#"
1
warning[hillis-steele-scan]: Hillis–Steele inclusive scan of 64 uints
   ┌─ a.hlsl:12:2
   │
 6 │   groupshared uint g_Scan[64]; // café
   │   ---------------------------- the elements pass through this array
   ·
12 │ ╭     for (uint s = 1; s < 64; s <<= 1)
13 │ │     {
14 │ │         uint left = gi >= s ? g_Scan[gi - s] : EMPTY;
15 │ │         GroupMemoryBarrierWithGroupSync();
   │ │         --------------------------------- every thread waits for the slowest
16 │ │         g_Scan[gi] += left;
17 │ │         GroupMemoryBarrierWithGroupSync();
   │ │         ---------------------------------
18 │ │     }
   │ ╰─────^ 6 rounds, 12 barriers
   │
   = proved: g_Scan[i] ends as the sum of g_Scan[0] … g_Scan[i] for all i < 64,
     race-free
   = the wave form passes one barrier; it needs shader model 6.0 and waves that
     hold consecutive threads (all known implementations pack 1-D groups this
     way)
   = no automatic fix: the same fix is not proved in variant odd

1 finding in 1 file

"#]]
    );
}

#[test]
fn what_is_said_of_several_definitions_is_so_with_each() {
    let text = "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out; groupshared uint g[GROUP][GROUP];
[numthreads(GROUP, GROUP, 1)]
void main(uint3 tid : SV_GroupThreadID, uint gi : SV_GroupIndex)
{
    uint least = Src[gi];
    g[tid.x][tid.y] = least;
    GroupMemoryBarrierWithGroupSync();
    if (tid.x == 0)
    {
        for (uint i = 1; i < GROUP; ++i)
            least = min(least, g[i][tid.y]);
        g[0][tid.y] = least;
    }
    GroupMemoryBarrierWithGroupSync();
    if (gi == 0)
    {
        for (uint j = 1; j < GROUP; ++j)
            least = min(least, g[0][j]);
        Out[0] = least;
    }
}
";
    let said = said("definition-each", text, &[]);
    assert!(
        said.contains("hand-rolled minimum of 8 uints (with -D GROUP=8)\n"),
        "{said}"
    );
    let folder = Folder::new("definition-each").with("a.hlsl", text);
    assert!(
        folder
            .printed(&[])
            .contains("= with -D GROUP=16: hand-rolled minimum of 16 uints")
    );
    // Two kernels with the same definitions, and a statement in one of them.
    let text = "#pragma kernel First SIZE=32\n#pragma kernel Second SIZE=32
RWStructuredBuffer<uint> Out; AppendStructuredBuffer<uint> Found;
[numthreads(SIZE, 1, 1)]\nvoid First(uint3 id : SV_DispatchThreadID)\n{\n    Out[id.x] = 1;\n}
[numthreads(SIZE, 1, 1)]\nvoid Second(uint3 id : SV_DispatchThreadID)\n{\n    Found.Append(id.x);\n}
";
    let said = self::said("kernel-each", text, &[]);
    assert!(said.contains("with an atomic (in kernel Second)"), "{said}");
}

#[test]
fn a_kernel_is_read_with_the_definitions_it_is_compiled_with() {
    let text = RACE.replace("64", "SIZE").replace("main", "First");
    let kernels = "#pragma kernel First SIZE=4\n#pragma kernel Other SIZE=8\n";
    let folder = Folder::new("kernels").with("a.compute", format!("{kernels}{text}"));
    assert_data_eq!(
        folder.said(&["--output-format", "concise"]),
        str![[r#"
1
a.compute:8:18: error[groupshared-race]: data race on g_Sum[1] (in kernel First) [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes); 1 file not understood in full (-v says where)
  1 file uses unknown names: `SIZE` (1 file); use -D for those that the build defines
  1 file has text that shaderlint does not understand

"#]]
    );
}

/// Of the same edits less is proved in one of two kernels: both say what holds in them.
#[test]
fn a_fix_is_as_safe_as_in_the_kernel_where_least_is_proved() {
    let ladder = "groupshared uint g_Most[64];
[numthreads(64, 1, 1)]
void MAIN(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID, uint3 group : SV_GroupID)
{
    g_Most[gi] = Src[id.x];
    for (uint s = 32; s > 0; s >>= 1)
    {
        GroupMemoryBarrierWithGroupSync();
        if (gi < s)
            g_Most[gi] = max(g_Most[gi], g_Most[gi + s]);
    }
    GroupMemoryBarrierWithGroupSync();
    float most = g_Most[0];
    if (gi == 0)
        Out[group.x] = SUM;
}
";
    let of = |kernels: &str| {
        let text = format!(
            "{kernels}StructuredBuffer<uint> Src; StructuredBuffer<float> F; RWStructuredBuffer<float> Out;\n{ladder}"
        );
        let folder = Folder::new("kernels-proofs").with("a.compute", text);
        let said = folder.printed(&["--profile", "cs_6_6"]);
        let end = said
            .lines()
            .skip_while(|line| !line.contains("= proved of the fix"));
        end.take_while(|line| !line.is_empty())
            .map(str::trim)
            .collect::<Vec<_>>()
            .join("\n")
    };
    let exact = "#pragma kernel First MAIN=First SUM=most\n";
    let rounded = "#pragma kernel Second MAIN=Second SUM=F[0]+most+F[1]-(F[1]+F[0]+most)\n";
    let both = [exact, rounded].concat();
    assert_data_eq!(of(exact), str![""]);
    assert_data_eq!(of(rounded), str![""]);
    assert_data_eq!(of(&both), str![""]);
}

#[test]
fn nothing_is_said_of_a_kernel_as_no_build_has_it() {
    let ladder = LADDER.replace("64", "SIZE").replace("main", "First");
    let text = format!("#pragma kernel First SIZE=32\n#ifndef SIZE\n#define SIZE 16\n#endif\n{ladder}");
    let of = |name: &str, text: &str| {
        let folder = Folder::new(name).with("a.compute", text);
        let said = folder.said(&["--output-format", "concise"]);
        said.lines().nth(1).unwrap_or_default().to_owned()
    };
    assert_eq!(
        of("unbuilt", &text),
        "a.compute:13:2: note[hillis-steele-scan]: Hillis\u{2013}Steele inclusive scan of 32 uints (in kernel First)"
    );
    // It is compiled as it stands, too.
    let both = format!("#pragma kernel First\n{text}");
    assert_eq!(
        of("built", &both),
        "a.compute:14:2: note[hillis-steele-scan]: Hillis\u{2013}Steele inclusive scan of 16 uints"
    );
    // Nor what no line of the file is, nor under what a kernel has otherwise.
    let one = RACE.replace("64", "SIZE").replace("main", "First");
    let one = format!("#ifndef SIZE\n#define SIZE 8\n#endif\n{one}");
    for lines in [
        "/*\n#pragma kernel First SIZE=8\n*/\n#pragma kernel First SIZE=1\n",
        "#pragma kernel First /* SIZE=8 */ SIZE=1\n",
        "#pragma kernel First \\\n    SIZE=1\n",
        "#if 0\n#pragma kernel First SIZE=8\n#endif\n#pragma kernel First SIZE=1\n",
        "#pragma kernel First SIZE=1\n#ifdef LARGE\n#define SIZE 8\n#endif\n",
    ] {
        let said = of("unbuilt-lines", &format!("{lines}{one}"));
        assert!(said.starts_with("nothing found"), "{lines}{said}");
    }
    // Nobody says what becomes of it.
    let other = text.replace("kernel First SIZE=32", "kernel Other SIZE=32");
    assert_eq!(
        of("unnamed", &other),
        "a.compute:13:2: note[hillis-steele-scan]: Hillis\u{2013}Steele inclusive scan of 16 uints"
    );
    // Each build of many.
    let others: Vec<String> = (0..9)
        .map(|n| format!("#pragma kernel Other{n} SIZE=32 N={n}\n"))
        .collect();
    let many = text.replace("kernel First SIZE=32", "kernel First SIZE=32 LAST");
    assert_eq!(
        of("built-of-many", &format!("{}{many}", others.concat())),
        "a.compute:22:2: note[hillis-steele-scan]: Hillis\u{2013}Steele inclusive scan of 32 uints (in kernel First)"
    );
    // A name that a macro puts together otherwise as the file stands.
    let pasted = text
        .replace("void First", "void NAME(First)")
        .replace("kernel First", "kernel First_32")
        .replace(
            "#endif\n",
            "#endif\n#if SIZE == 32\n#define NAME(n) n##_32\n#else\n#define NAME(n) n##_16\n#endif\n",
        );
    assert_eq!(
        of("pasted", &pasted),
        "a.compute:18:2: note[hillis-steele-scan]: Hillis\u{2013}Steele inclusive scan of 32 uints (in kernel First_32)"
    );
}

/// A variable that a fix declares has no name that a build defines.
#[test]
fn a_fix_declares_nothing_that_a_build_defines() {
    let kernel = "RWStructuredBuffer<uint> Out;\ngroupshared uint lds[64];\n[numthreads(64, 1, 1)]\n\
                  void main(uint gi : SV_GroupIndex)\n{\n    lds[gi] = Out[gi];\n    GroupMemoryBarrierWithGroupSync();\n    \
                  lds[gi] += lds[gi ^ 1];\n    GroupMemoryBarrierWithGroupSync();\n    Out[gi] = lds[gi];\n}\n";
    let toml = "[[variant]]\nname = \"a\"\ndefines = [\"value=gi\"]\n";
    let heads: [(&str, &[&str], &str); 5] = [
        ("", &[], ""),
        ("#pragma kernel main\n#pragma multi_compile _ value\n", &[], ""),
        ("#pragma kernel main value=gi\n", &[], ""),
        ("", &["-D", "value=gi"], ""),
        ("", &[], toml),
    ];
    for (number, (head, arguments, toml)) in heads.into_iter().enumerate() {
        let folder = Folder::new("defined-by-builds").with("a.hlsl", format!("{head}{kernel}"));
        let folder = folder.with("shaderlint.toml", toml);
        let arguments: Vec<&str> = ["--diff", "--unsafe-fixes"]
            .iter()
            .chain(arguments)
            .copied()
            .collect();
        let said = folder.printed(&arguments);
        let name = if number == 0 { "value" } else { "value2" };
        assert!(
            said.contains(&format!("uint {name} = lds[gi] + lds[gi ^ 1];")),
            "{head}{toml}: {said}"
        );
    }
}

/// Each kernel is compiled with definitions of its own: a choice of keywords without them is no build, and takes none's place.
#[test]
fn keywords_are_read_with_what_each_kernel_is_compiled_with() {
    let race = RACE.replace("64", "SIZE");
    let kernels = ["First", "Second"].map(|name| format!("#pragma kernel {name} SIZE=8 NAME={name}\n"));
    let keywords = "#pragma multi_compile _ ARRAY\n#pragma multi_compile _ COPY\n";
    let used = "#ifdef ARRAY\n#define BASE 1\n#else\n#define BASE 0\n#endif\n#ifdef COPY\n#define MORE 2\n#else\n#define MORE 0\n#endif\n";
    let text = format!(
        "{}{keywords}{used}{}",
        kernels.concat(),
        race.replace("main", "NAME")
    );
    let folder = Folder::new("keywords-of-kernels").with("a.compute", text);
    let said = folder.said(&["--output-format", "concise"]);
    assert!(said.contains("(in kernel First) [unsafe fix]"), "{said}");
}

#[test]
fn what_one_kernel_is_compiled_with_is_nothing_to_another_ones_fix() {
    // `Take` for `First` alone, or also for `Second`, which takes by one thread where `ONE` is defined.
    let text = |second: &str| {
        format!(
            "#pragma use_dxc\n#pragma kernel First\n#pragma kernel Second ONE
RWStructuredBuffer<uint> Count; RWStructuredBuffer<uint> Out;
void Take(uint id)\n{{\n    uint slot;\n    InterlockedAdd(Count[0], 1, slot);\n    Out[slot] = id;\n}}
[numthreads(64, 1, 1)]\nvoid First(uint id : SV_DispatchThreadID)\n{{\n    Take(id);\n}}
[numthreads(64, 1, 1)]\nvoid Second(uint id : SV_DispatchThreadID)\n{{\n{second}\n}}
"
        )
    };
    let aside = "#ifdef ONE\n    Out[id] = Unknown(id);\n#else\n    Out[id] = id;\n#endif";
    let folder = Folder::new("kernel-aside").with("a.compute", text(aside));
    let said = folder.printed(&[]);
    assert!(said.contains("= fix: make one atomic for each wave"), "{said}");
    let shared = "#ifdef ONE\n    if (id == 0)\n#endif\n        Take(id);";
    let folder = Folder::new("kernel-shared").with("a.compute", text(shared));
    let said = folder.printed(&[]);
    assert!(!said.contains("= fix:"), "{said}");
}

#[test]
fn a_file_that_names_its_kernels_has_what_its_engine_defines() {
    let header = "#if !defined(SHADER_API_D3D11) || UNITY_VERSION < 201800\n#define NO_COMPUTE\n#endif\n";
    let text = format!("#include \"platform.hlsl\"\n#ifndef NO_COMPUTE\n{RACE}#endif\n");
    let folder = Folder::new("engine")
        .with("platform.hlsl", header)
        .with("a.compute", format!("#pragma kernel main\n{text}"))
        .with("b.hlsl", text);
    assert_data_eq!(
        folder.said(&["--output-format", "concise"]),
        str![[r#"
1
a.compute:9:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
1 finding in 3 files (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        folder.said(&["--output-format", "concise", "-D", "SHADER_API_METAL=1"]),
        str![[r#"
0
nothing found in 3 files

"#]]
    );
}

#[test]
fn what_another_configuration_leaves_unread_is_said_if_asked_for() {
    let text = format!("#ifdef X\n#include \"gone.hlsli\"\n{RACE}#endif\n");
    assert_data_eq!(
        said("elsewhere", &text, &[]),
        str![[r#"
1
a.hlsl:8:18: error[groupshared-race]: data race on g_Sum[1] (with -D X=1) [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        said("elsewhere", &text, &["-v"]),
        str![[r#"
1
a.hlsl:8:18: error[groupshared-race]: data race on g_Sum[1] (with -D X=1) [unsafe fix]
warning: cannot find `gone.hlsli` (with -D X=1)
  ┌─ a.hlsl:2:10
  │
2 │ #include "gone.hlsli"
  │          ^^^^^^^^^^^^

1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
}

/// A kernel that adds up the elements of a group of `size` threads.
fn sum(size: &str) -> String {
    format!(
        "RWStructuredBuffer<uint> Data;\n\
         groupshared uint g_Sum[{size}];\n\
         [numthreads({size}, 1, 1)]\n\
         void main(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID) {{\n\
         g_Sum[gi] = Data[id.x];\n\
         GroupMemoryBarrierWithGroupSync();\n\
         for (uint s = {size} / 2; s > 0; s >>= 1) {{ if (gi < s) g_Sum[gi] += g_Sum[gi + s]; GroupMemoryBarrierWithGroupSync(); }}\n\
         if (gi == 0) Data[0] = g_Sum[0];\n}}\n"
    )
}

#[test]
fn a_region_may_hold_no_more_than_a_call() {
    let text = "RWStructuredBuffer<uint> Out;\ngroupshared uint g_Last[64];\n\
         void Race(uint gi) { g_Last[gi] = Out[gi]; Out[gi] = g_Last[63 - gi]; GroupMemoryBarrierWithGroupSync(); }\n\
         [numthreads(64, 1, 1)]\nvoid main(uint gi : SV_GroupIndex) {\n#if SECOND\nRace(gi);\n#endif\n}\n";
    assert_data_eq!(
        said("calls", text, &[]),
        str![[r#"
1
a.hlsl:3:54: error[groupshared-race]: data race on g_Last[63] (with -D SECOND=1) [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    let elsewhere = text.replace("Race(gi);", "Out[gi] = 1;");
    assert_data_eq!(
        said("calls", &elsewhere, &[]),
        str![[r#"
0
nothing found in 1 file

"#]]
    );
}

#[test]
fn what_a_build_gives_a_number_is_not_defined_as_one() {
    let text = |condition: &str| {
        format!(
            "RWStructuredBuffer<uint> Out;\n{condition}\ngroupshared uint g_Last[COUNT * 64];\n[numthreads(64, 1, 1)]\n\
             void main(uint gi : SV_GroupIndex) {{\ng_Last[gi] = Out[gi];\nOut[gi] = g_Last[63 - gi];\n\
             GroupMemoryBarrierWithGroupSync();\n}}\n#endif\n"
        )
    };
    assert_data_eq!(
        said("number", &text("#ifdef COUNT"), &[]),
        str![[r#"
0
nothing found in 1 file

"#]]
    );
    // Nor what the file makes of such a number.
    assert_data_eq!(
        said(
            "number",
            &text("#ifdef BANDS\n#define COUNT (BANDS * BANDS)\n#endif\n#ifdef COUNT"),
            &[]
        ),
        str![[r#"
0
nothing found in 1 file

"#]]
    );
    assert_data_eq!(
        said("number", &text("// Number of COUNT.\n#if COUNT == 2"), &[]),
        str![[r#"
1
a.hlsl:8:11: error[groupshared-race]: data race on g_Last[63] (with -D COUNT=2) [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
}

#[test]
fn what_holds_at_every_size_is_said_of_one_that_the_build_defines() {
    assert_data_eq!(
        said("sizes", &sum("THREADS"), &[]),
        str![[r#"
1
a.hlsl:7:1: warning[hand-rolled-reduction]: hand-rolled sum of 64 uints (with -D THREADS=64) [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes); 1 file not understood in full (-v says where)
  1 file uses unknown names: `THREADS` (1 file); use -D for those that the build defines
  1 file has text that shaderlint does not understand

"#]]
    );
    // The fix is the same at every size.
    let folder = Folder::new("sizes-fixed").with("a.hlsl", sum("THREADS"));
    let told = folder.printed(&[]);
    let words: Vec<&str> = told.split_whitespace().collect();
    let proved = "the fix is proved with -D THREADS=64, with -D THREADS=128 and with -D THREADS=256, but for no other size";
    assert!(words.join(" ").contains(proved), "{told}");
    folder.printed(&["--fix", "--unsafe-fixes"]);
    let fixed = std::fs::read_to_string(folder.0.join("a.hlsl")).expect("a file");
    assert!(fixed.contains("GroupSum(Data[id.x], gi)"), "{fixed}");
    let told = folder.said(&[]);
    assert!(told.contains("nothing found in 1 file"), "{told}");
    // One build reads another element.
    let text = sum("THREADS").replace(
        "if (gi == 0) Data",
        "\n#ifdef X\nif (gi == 0) Data[1] = g_Sum[1];\n#endif\nif (gi == 0) Data",
    );
    let told = Folder::new("sizes-contested").with("a.hlsl", &text).printed(&[]);
    assert!(told.contains("no automatic fix"), "{told}");
    // An array may have more elements than the group has threads.
    let text = "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out;\ngroupshared uint g[SIZE];\n\
        [numthreads(THREADS, 1, 1)]\nvoid Sum(uint gi : SV_GroupIndex, uint3 group : SV_GroupID)\n{\n    \
        for (uint j = gi; j < SIZE; j += THREADS) g[j] = Src[group.x * SIZE + j];\n    \
        GroupMemoryBarrierWithGroupSync();\n    for (uint s = SIZE / 2; s > 0; s >>= 1)\n    {\n        \
        if (gi < s) g[gi] += g[gi + s];\n        GroupMemoryBarrierWithGroupSync();\n    }\n    \
        if (gi == 0) Out[group.x] = g[0];\n}\n";
    let told = Folder::new("sizes-of-two").with("a.hlsl", text).printed(&[]);
    assert!(
        told.contains("hand-rolled sum") && told.contains("no automatic fix"),
        "{told}"
    );
    // Right at one of the sizes alone.
    let text = sum("THREADS").replace("= THREADS / 2", "= 64 / 2");
    assert_data_eq!(
        said("sizes", &text, &[]),
        str![[r#"
0
nothing found in 1 file; 1 file not understood in full (-v says where)
  1 file uses unknown names: `THREADS` (1 file); use -D for those that the build defines
  1 file has text that shaderlint does not understand

"#]]
    );
    // Of a single thread only for want of a definition.
    let text = format!("#ifndef THREADS\n#define THREADS 1\n#endif\n{}", sum("THREADS"));
    assert_data_eq!(
        said("sizes", &text, &[]),
        str![[r#"
1
a.hlsl:10:1: warning[hand-rolled-reduction]: hand-rolled sum of 64 uints (with -D THREADS=64)
1 finding in 1 file

"#]]
    );
    let told = Folder::new("sizes-told").with("a.hlsl", &text).printed(&[]);
    let supposed = "= group size assumed: `THREADS` is 1 unless the build defines another value\n";
    assert!(told.contains(supposed), "{told}");
    assert_data_eq!(
        said("sizes", &text.replace("#ifndef THREADS", "#if 1"), &[]),
        str![[r#"
0
nothing found in 1 file

"#]]
    );
    // The file says itself what it is built with.
    let text = format!("#pragma kernel main THREADS=32\n{}", sum("THREADS"));
    assert_data_eq!(
        said("sizes", &text, &[]),
        str![[r#"
1
a.hlsl:8:1: warning[hand-rolled-reduction]: hand-rolled sum of 32 uints (in kernel main) [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes); 1 file not understood in full (-v says where)
  1 file uses unknown names: `THREADS` (1 file); use -D for those that the build defines
  1 file has text that shaderlint does not understand

"#]]
    );
    // A race is told where the size is known.
    let text = sum("THREADS").replace("gi < s", "gi <= s");
    assert_data_eq!(
        said("sizes", &text, &[]),
        str![[r#"
0
nothing found in 1 file; 1 file not understood in full (-v says where)
  1 file uses unknown names: `THREADS` (1 file); use -D for those that the build defines
  1 file has text that shaderlint does not understand

"#]]
    );
}

/// A fix is safe only if no `#if` chooses inside of what it was proved from.
#[test]
fn what_a_fix_rests_on_is_the_same_everywhere() {
    let total = |globals: &str, bound: &str, after: &str| {
        format!(
            "RWStructuredBuffer<uint> Out; StructuredBuffer<uint> In; groupshared uint sh[64];\n{globals}\n\
             [numthreads(64, 1, 1)]\nvoid A(uint t : SV_GroupIndex) {{\nsh[t] = In[t];\n\
             GroupMemoryBarrierWithGroupSync();\nfor (uint d = 32; d > {bound}; d >>= 1) {{\n\
             if (t < d) sh[t] += sh[t + d];\nGroupMemoryBarrierWithGroupSync();\n}}\n{after}\n}}\n"
        )
    };
    let choice = |taken: &str, other: &str| format!("\n#ifdef X\n{other}\n#else\n{taken}\n#endif\n");
    let (zero, first) = (choice("0", "2"), "if (t == 0) Out[0] = sh[0];");
    let body = choice("return 0;", "return 2;");
    let safe = "(1 fixable with --fix)";
    let cases = [
        ("plain", total("", "0", first), safe),
        (
            "unrelated",
            total(&format!("uint f() {{ {body} }}"), "0", first),
            safe,
        ),
        (
            "function",
            total(&format!("uint f() {{ {body} }}"), "f()", first),
            "",
        ),
        (
            "constant",
            total(&format!("static const uint k = {zero};"), "k", first),
            "",
        ),
        (
            "enumerator",
            total(&format!("enum {{ k = {zero} }};"), "k", first),
            "",
        ),
        (
            "method",
            total(
                &format!("struct S {{ uint v; uint f() {{ {body} }} }};"),
                "s.f()",
                first,
            )
            .replace("sh[t] = In", "S s; s.v = 0;\nsh[t] = In"),
            "",
        ),
        (
            "barrier",
            total("", "0", first).replace(
                "GroupMemoryBarrierWithGroupSync();\nfor",
                &format!(
                    "{}GroupMemoryBarrierWithGroupSync();\nfor",
                    choice("GroupMemoryBarrierWithGroupSync();", "")
                ),
            ),
            "",
        ),
        (
            "afterwards",
            total(
                "",
                "0",
                &format!("uint i = 0, j = t; {} Out[t] = sh[i];", choice("", "i = j;")),
            ),
            "",
        ),
    ];
    for (name, text, expected) in cases {
        let folder = Folder::new(&format!("fix-rests-{name}")).with("a.hlsl", text);
        let said = folder.said(&["--output-format", "concise", "a.hlsl"]);
        let summary = said.lines().last().unwrap_or_default();
        assert!(summary.starts_with("1 finding in 1 file"), "{name}: {said}");
        assert_eq!(summary.contains(safe), !expected.is_empty(), "{name}: {said}");
    }
    let folder =
        Folder::new("fix-rests-outside").with("a.hlsl", total("static const uint k = LEVEL;", "k", first));
    let said = folder.said(&["--output-format", "concise", "-D", "LEVEL=0", "a.hlsl"]);
    assert!(!said.contains(safe) && said.contains("1 finding"), "{said}");
}

/// What a compiler defines by itself is no choice of a build: of two branches only the one is there.
#[test]
fn what_the_compiler_defines_is_not_tried_out() {
    let file = |condition: &str| format!("#if {condition}\n{RACE}#else\n{LADDER}#endif\n");
    let rules_of = |test: &str, condition: &str, arguments: &[&str]| {
        let said = said(test, &file(condition), arguments);
        let names = ["groupshared-race", "hillis-steele-scan"];
        names.map(|name| said.contains(&format!("[{name}]")))
    };
    let (of_dxc, of_fxc) = ([true, false], [false, true]);
    for (number, condition) in [
        "defined(__hlsl_dx_compiler)",
        "__SHADER_TARGET_MAJOR >= 6",
        "__SHADER_TARGET_MAJOR == 6 && __SHADER_TARGET_MINOR < 6 || __SHADER_TARGET_MINOR == 7",
        "__HLSL_VERSION >= 2021",
        "defined(__clang__) && __GNUC__ == 4 && __INCLUDE_LEVEL__ == 0",
        "__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && defined(__DATE__) && defined(__has_include)",
    ]
    .into_iter()
    .enumerate()
    {
        let test = format!("of-compiler-{number}");
        assert_eq!(rules_of(&test, condition, &[]), of_dxc, "{condition}");
        let newer = ["--profile", "cs_6_7"];
        assert_eq!(rules_of(&test, condition, &newer), of_dxc, "{condition}");
    }
    // A file may be compiled for several stages.
    let stage = "__SHADER_TARGET_STAGE == __SHADER_STAGE_COMPUTE && __SHADER_STAGE_COMPUTE == 5";
    assert_eq!(rules_of("stage", stage, &[]), [true, true]);
    let minor = "__SHADER_TARGET_MINOR >= 5";
    assert_eq!(rules_of("minor", minor, &[]), of_fxc);
    assert_eq!(rules_of("minor-given", minor, &["--profile", "cs_6_5"]), of_dxc);
    // FXC has none of them, and no wave intrinsics either.
    let none = [false, false];
    for (test, condition) in [
        ("old", "defined(__hlsl_dx_compiler)"),
        ("old-major", "__SHADER_TARGET_MAJOR >= 6"),
        ("old-clang", "defined(__clang__)"),
    ] {
        assert_eq!(rules_of(test, condition, &["--profile", "cs_5_1"]), none);
    }
    let asked = format!("#pragma target 5.0\n{}", file("!defined(__hlsl_dx_compiler)"));
    assert!(said("asked", &asked, &[]).contains("[groupshared-race]"));
    // Whoever builds may say otherwise.
    let defined = ["-D", "__HLSL_VERSION=2018"];
    assert_eq!(rules_of("defined", "__HLSL_VERSION >= 2021", &defined), of_fxc);
}

/// A fix is proved of expanded text. What it spells, and whoever builds defines, would be another thing in the file.
#[test]
fn what_is_defined_from_outside_is_not_spelled() {
    let folder = Folder::new("spelled").with("a.hlsl", LADDER);
    let fixed = |arguments: &[&str]| folder.said(arguments).contains("fixable with --fix");
    assert!(fixed(&[]));
    for defined in [
        "WavePrefixSum",
        "WaveGetLaneCount=4",
        "GroupMemoryBarrierWithGroupSync=;",
    ] {
        assert!(!fixed(&["-D", defined]), "{defined}");
    }
    // What one form alone spells, another one does without.
    assert!(folder.said(&["--diff"]).contains("uint sum = "));
    let of_other = folder.said(&["--diff", "-D", "sum=5"]);
    assert!(
        of_other.contains("WavePrefixSum") && !of_other.contains("uint sum = "),
        "{of_other}"
    );
    let variant = "[[variant]]\nname = \"quiet\"\ndefines = { WavePrefixSum = \"QuietSum\" }\n";
    let folder = folder.with("shaderlint.toml", variant);
    assert!(!folder.said(&[]).contains("fixable with --fix"));
    let lines = format!("{LADDER}uint Line() {{ return __LINE__; }}\n");
    assert!(!said("line", &lines, &[]).contains("fixable with --fix"));
    // Of another file's text no line moves.
    let header =
        "void Report(uint line) {}\n#define ASSERT(x) Report(__LINE__)\nvoid Own(uint a) { ASSERT(a); }\n";
    let with = |own: &str| {
        let text = format!("#include \"assert.h\"\n{LADDER}void Asserts(uint a) {{ {own} }}\n");
        let folder = Folder::new("line-of-other")
            .with("a.hlsl", text)
            .with("assert.h", header);
        folder.said(&[]).contains("fixable with --fix")
    };
    assert!(with("Own(a);"));
    assert!(!with("ASSERT(a);"));
}

/// A ladder whose index a macro gives, and which `FANCY` turns round.
fn ladder_that_fancy_reverses(pragma: &str) -> String {
    let index = "#ifdef FANCY\n#define AT(i) (63 - i)\n#else\n#define AT(i) i\n#endif\n";
    let text = LADDER.replace("g_Scan[gi] += left", "g_Scan[gi] += left * (AT(gi) == gi)");
    format!("{pragma}\n{index}{text}")
}

/// A build with the keyword is another program: nothing is fixed that is wrong in it.
#[test]
fn each_choice_of_keywords_is_read() {
    let fixable = |name: &str, text: &str| said(&format!("keywords-{name}"), text, &[]);
    for (name, pragma) in [("none", ""), ("declared", "#pragma multi_compile _ FANCY")] {
        assert_data_eq!(
            fixable(name, &ladder_that_fancy_reverses(pragma)),
            str![[r#"
1
a.hlsl:15:2: warning[hillis-steele-scan]: Hillis–Steele inclusive scan of 64 uints
1 finding in 1 file

"#]]
        );
    }
    // One that nothing asks for is none.
    let unasked = fixable(
        "unasked",
        &format!("#pragma multi_compile _ A B\n#pragma shader_feature C\n{LADDER}"),
    );
    assert_data_eq!(
        unasked,
        str![[r#"
1
a.hlsl:11:2: warning[hillis-steele-scan]: Hillis–Steele inclusive scan of 64 uints [fix]
1 finding in 1 file (1 fixable with --fix)

"#]]
    );
    // But its name is nothing that a fix may say.
    let named = said(
        "keywords-name",
        &format!("#pragma multi_compile _ sum\n{LADDER}"),
        &["--diff"],
    );
    assert!(
        named.contains("WavePrefixSum") && !named.contains("uint sum = "),
        "{named}"
    );
    assert_data_eq!(
        said(
            "keywords-race",
            &format!(
                "#pragma multi_compile_local _ A B\n#pragma shader_feature C\n{}",
                racy_under("#if defined(B) && defined(C)")
            ),
            &[]
        ),
        str![[r#"
1
a.hlsl:9:18: error[groupshared-race]: data race on g_Sum[1] (with keywords B C) [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    // No build has neither.
    assert_data_eq!(
        said(
            "keywords-one-of-two",
            &format!("#pragma multi_compile SMALL BIG\n#if !defined(SMALL) && !defined(BIG)\n{RACE}#endif\n"),
            &[]
        ),
        str![[r#"
0
nothing found in 1 file

"#]]
    );
    assert_data_eq!(
        said(
            "keywords-second-of-two",
            &format!(
                "#pragma multi_compile SMALL BIG\n{}",
                racy_under("#if defined(BIG) && !defined(SMALL)")
            ),
            &[]
        ),
        str![[r#"
1
a.hlsl:8:18: error[groupshared-race]: data race on g_Sum[1] (with keyword BIG) [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        said(
            "keywords-chosen",
            &format!("#pragma multi_compile SMALL BIG\n{}", racy_under("#ifdef BIG")),
            &["-D", "BIG"]
        ),
        str![[r#"
1
a.hlsl:8:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
    assert_data_eq!(
        said(
            "keywords-of-kernel",
            &format!(
                "#pragma kernel main MODE=2\n#pragma multi_compile _ FANCY\n{}",
                racy_under("#if MODE == 2 && defined(FANCY)")
            ),
            &[]
        ),
        str![[r#"
1
a.hlsl:9:18: error[groupshared-race]: data race on g_Sum[1] (in kernel main with keyword FANCY) [unsafe fix]
1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
}

/// Of many keywords each is defined once, and nothing is fixed.
#[test]
fn of_too_many_choices_of_keywords_few_are_read() {
    let pragmas = "#pragma multi_compile _ A B C\n#pragma multi_compile _ D E\n#pragma multi_compile _ F\n";
    let used = ["A", "B", "C", "D", "E", "F"]
        .map(|keyword| format!("#ifdef {keyword}\n#endif\n"))
        .concat();
    assert_data_eq!(
        said("keywords-many", &format!("{pragmas}{used}{LADDER}"), &[]),
        str![[r#"
1
a.hlsl:24:2: warning[hillis-steele-scan]: Hillis–Steele inclusive scan of 64 uints
1 finding in 1 file; 1 file not understood in full (-v says where)
  1 file declares more builds than shaderlint read

"#]]
    );
    let racy = racy_under("#if defined(B) && defined(E)");
    assert_data_eq!(
        said("keywords-many-race", &format!("{pragmas}{used}{racy}"), &[]),
        str![[r#"
1
a.hlsl:22:18: error[groupshared-race]: data race on g_Sum[1] (with keywords B E)
1 finding in 1 file; 1 file not understood in full (-v says where)
  1 file declares more builds than shaderlint read

"#]]
    );
}

/// A kernel that a macro makes is one of the configurations that are explored.
#[test]
fn what_a_region_expands_to_is_explored() {
    let racy = "#define KERNEL(n) [numthreads(64, 1, 1)] void n(uint gi : SV_GroupIndex) { g[gi] = gi; Out[gi] = g[63 - gi]; Sync(); }\n\
                #define Sync GroupMemoryBarrierWithGroupSync\n\
                RWStructuredBuffer<uint> Out;\ngroupshared uint g[64];\n#ifdef X\nKERNEL(main)\n#endif\n";
    assert_data_eq!(
        said("macro-region", racy, &[]),
        str![[r#"
1
a.hlsl:6:1: error[groupshared-race]: data race on g[63] (with -D X=1)
1 finding in 1 file

"#]]
    );
}

/// A fix in one arm says nothing of the other arm, unless that is for want of wave intrinsics.
#[test]
fn a_fix_in_one_arm_leaves_the_finding_in_the_other() {
    let other = LADDER.replace("g_Scan", "g_Other").replace("main", "other");
    let folder =
        Folder::new("fix-in-both-arms").with("a.hlsl", format!("#ifdef X\n{LADDER}#else\n{other}#endif\n"));
    assert_data_eq!(
        folder.said(&["--fix"]),
        str![[r#"
0
2 fixes made; nothing left in 1 file

"#]]
    );
}

/// What the fix of a race comes to in builds that turn on a region beside it is known before it is offered.
#[test]
fn a_barrier_holds_in_the_builds_that_turn_regions_on_beside_it() {
    let declared = "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Out;\ngroupshared T g[64];\n";
    let main = |before: &str, statement: &str, behind: &str| {
        format!(
            "{declared}[numthreads(64, 1, 1)]\nvoid main(uint t : SV_GroupIndex)\n{{\n    g[t] = Src[t];\n    \
             GroupMemoryBarrierWithGroupSync();\n{before}{statement}\n{behind}    Out[t] = g[t];\n}}\n"
        )
    };
    let statement = "    g[t] += g[63 - t];";
    let types = "#define T uint\n";
    let types_by_choice = "#ifdef FAST\n#define T float\n#else\n#define T uint\n#endif\n";
    let named_type_by_choice = "#ifdef FAST\ntypedef float T;\n#else\ntypedef uint T;\n#endif\n";
    let constant_by_choice =
        "#ifdef FAST\nstatic const bool Skip = true;\n#else\nstatic const bool Skip = false;\n#endif\n";
    let function_by_choice =
        "#ifdef FAST\nbool f(uint t) { return t > 3; }\n#else\nbool f(uint t) { return false; }\n#endif\n";
    let condition = "#ifdef FAST\n#define WHEN if (t > 3)\n#else\n#define WHEN\n#endif\n";
    let called_by_others = "#ifdef FAST\n[numthreads(64, 1, 1)]\nvoid other(uint t : SV_GroupIndex)\n{\n    if (t < 3) f(t);\n}\n#endif\n";
    let helper = format!("groupshared T g[64];\nvoid f(uint t)\n{{\n{statement}\n}}\n");
    let in_helper = main("", "    f(t);", "").replace("groupshared T g[64];\n", &helper);
    let refused = [
        format!(
            "{types}{}",
            main(
                "#ifdef FAST\n    if (t > 31) {\n#endif\n",
                statement,
                "#ifdef FAST\n    }\n#endif\n"
            )
        ),
        format!(
            "{types}{}",
            main(
                "    uint n = 64;\n#ifdef FAST\n    n = t;\n#endif\n",
                "    if (n > 3) { g[t] += g[63 - t]; Out[200] = 1; }",
                ""
            )
        ),
        format!(
            "{types}{}",
            main("#ifdef FAST\n    if (t > 3) return;\n#endif\n", statement, "")
        ),
        format!(
            "{types}{condition}{}",
            main("", "    WHEN\n    g[t] += g[63 - t];", "")
        ),
        format!("{types_by_choice}{}", main("", statement, "")),
        format!("{named_type_by_choice}{}", main("", statement, "")),
        format!(
            "{types}{constant_by_choice}{}",
            main("    if (Skip && t > 3) return;\n", statement, "")
        ),
        format!(
            "{types}{}{}",
            "#ifndef FAST\nstatic const bool Skip = false;\n#elif 1\nstatic const bool Skip = true;\n#endif\n",
            main("    if (Skip && t > 3) return;\n", statement, "")
        ),
        format!(
            "{types}{function_by_choice}{}",
            main("    if (f(t)) return;\n", statement, "")
        ),
        format!("{types}{in_helper}{called_by_others}"),
    ];
    for (number, text) in refused.iter().enumerate() {
        let said = said(
            &format!("barrier-in-builds-{number}"),
            text,
            &["--diff", "--unsafe-fixes"],
        );
        assert!(!said.contains("+++"), "{text}\n{said}");
        assert!(said.contains("1 finding"), "{text}\n{said}");
    }
    // Regions that part no threads are in no way, nor are builds without a kernel, or whose kernels do something else.
    let accepted = [
        format!(
            "{types}{}",
            main("#ifdef FAST\n    Out[64 + t] = 1;\n#endif\n", statement, "")
        ),
        format!("{types}{in_helper}")
            .replace("[numthreads", "#ifdef FAST\nTRIVIAL(main)\n#else\n[numthreads")
            + "#endif\n",
        format!("{types}{in_helper}").replace("    f(t);", "#ifndef FAST\n    f(t);\n#endif"),
    ];
    for (number, text) in accepted.iter().enumerate() {
        let said = said(
            &format!("barrier-in-builds-too-{number}"),
            text,
            &["--diff", "--unsafe-fixes"],
        );
        assert!(said.contains("+++"), "{text}\n{said}");
    }
}

/// What is not followed in a variant speaks neither for a fix nor against it: it is made if asked for, and names the variant.
#[test]
fn a_variant_that_is_not_followed_confirms_no_fix() {
    let text = "StructuredBuffer<uint> Src;
RWStructuredBuffer<uint> Out, Errors;
cbuffer Sizes { uint Count; };
groupshared uint g_Sum[64];
uint Load(uint i)
{
#ifdef CHECKED
    CHECK
#endif
    return Src[i];
}
[numthreads(64, 1, 1)]
void main(uint gi : SV_GroupIndex, uint3 group : SV_GroupID)
{
    g_Sum[gi] = group.x * 64 + gi < Count ? Load(group.x * 64 + gi) : 0;
    GroupMemoryBarrierWithGroupSync();
    for (uint s = 32; s > 0; s >>= 1)
    {
        if (gi < s)
            g_Sum[gi] += g_Sum[gi + s];
        GroupMemoryBarrierWithGroupSync();
    }
    if (gi == 0)
        Out[group.x] = g_Sum[0];
}
";
    let variant = "[[variant]]\nname = \"checked\"\ndefines = [\"CHECKED\"]\n";
    // Whether threads that take 0 load as well depends on the version of HLSL.
    let atomic = "InterlockedAdd(Errors[0], i >= Count ? 1 : 0);";
    let folder = Folder::new("variant-not-followed")
        .with("shaderlint.toml", variant)
        .with("a.hlsl", text.replace("CHECK\n", &format!("{atomic}\n")));
    let found = folder.said(&["--select", "hand-rolled-reduction"]);
    let refused = "= no automatic fix: the same fix is not proved in variant checked";
    assert!(found.contains(refused), "{found}");
    // A fix of a defect changes no variable.
    let racy = folder.with(
        "a.hlsl",
        text.replace("CHECK\n", &format!("{atomic}\n")).replacen(
            "    GroupMemoryBarrierWithGroupSync();\n",
            "",
            1,
        ),
    );
    let note = "= the fix is not proved in variant checked, where shaderlint cannot follow\n     the kernel to its end";
    let found = racy.said(&["--select", "groupshared-race"]);
    assert!(found.contains(note), "{found}");
    let [safe, all] = [&["--diff"][..], &["--diff", "--unsafe-fixes"]]
        .map(|arguments| racy.said(&[&["--select", "groupshared-race"], arguments].concat()));
    assert!(
        !safe.contains("+        GroupMemoryBarrierWithGroupSync();"),
        "{safe}"
    );
    assert!(
        all.contains("+        GroupMemoryBarrierWithGroupSync();"),
        "{all}"
    );
    // What races is followed: the fix is not what it was meant to do there.
    let racy = text.replace("    CHECK\n", "    return Src[i & 31];\n").replacen(
        "GroupMemoryBarrierWithGroupSync();\n    for",
        "WAIT;\n    for",
        1,
    );
    let waits = "#ifdef CHECKED\n#define WAIT GroupMemoryBarrier()\n#else\n#define WAIT GroupMemoryBarrierWithGroupSync()\n#endif\n";
    let folder = Folder::new("variant-racy")
        .with("shaderlint.toml", variant)
        .with("a.hlsl", format!("{waits}{racy}"));
    let found = folder.said(&["--select", "hand-rolled-reduction"]);
    assert!(
        found.contains("no automatic fix: the same fix is not proved in variant checked"),
        "{found}"
    );
}

/// A build in which a region falls away may need a comment that this one does not.
#[test]
fn a_comment_that_another_build_may_need_is_not_taken_out_unasked() {
    let text = RACE.replace(
        "    g_Sum[gi] += g_Sum[(gi + 1) % 64];\n",
        "#ifndef ONE_WAVE\n    GroupMemoryBarrierWithGroupSync();\n#endif\n    // shaderlint: allow(groupshared-race): one wave\n\
         \x20   uint sum = g_Sum[(gi + 1) % 64];\n",
    );
    let found = said("needed", &text, &[]);
    assert!(
        found.contains("unused-suppression") && found.contains("[unsafe fix]"),
        "{found}"
    );
    assert!(said("needed-there", &text, &["-D", "ONE_WAVE"]).contains("nothing found"));
    // A guard makes no other build.
    let guarded = text.replace("#ifndef ONE_WAVE\n", "").replace("#endif\n", "");
    let guarded = format!("#ifndef A\n#define A\n{guarded}#endif\n");
    let found = said("needed-guard", &guarded, &[]);
    assert!(
        found.contains("unused-suppression") && !found.contains("[unsafe fix]"),
        "{found}"
    );
}
