//! Two kernels, each of its own file.

use std::path::Path;
use std::process::Command;

use snapbox::{assert_data_eq, str};

use super::{NO_ADAPTER, has_adapter, unbroken, verify};

/// What is said, without a device, of two files with these texts.
pub fn of_two(name: &str, texts: [&str; 2], more: &[&str]) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    for (file, text) in ["a.hlsl", "b.hlsl"].into_iter().zip(texts) {
        std::fs::write(folder.join(file), text).expect("the folder can be written to");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_shaderlint"))
        .args(["verify", "a.hlsl", "b.hlsl", "--quiet", "--no-timing"])
        .args(more)
        .env(NO_ADAPTER.0, NO_ADAPTER.1)
        .current_dir(folder)
        .output()
        .expect("the program starts");
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    format!("{} {out}{err}", output.status.code().unwrap_or(-1))
}

pub fn copying(globals: &str, attributes: &str, body: &str) -> String {
    format!(
        "{globals}\n{attributes}[numthreads(64, 1, 1)]\nvoid Main(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID) {{ {body} }}\n"
    )
}

pub const BUFFERS: &str =
    "StructuredBuffer<uint> X; RWStructuredBuffer<uint> Y; cbuffer C { uint Count; uint Mode; };";

#[test]
fn kernels_of_two_interfaces_are_not_compared() {
    let kernel = copying(BUFFERS, "", "Y[id.x] = X[id.x] + Count + Mode;");
    let other = |from: &str, to: &str| {
        let other = kernel.replace(from, to);
        assert_ne!(other, kernel, "{from}");
        of_two("interfaces", [&kernel, &other], &[])
    };
    let registers = |a: &str, b: &str| {
        let texts =
            [a, b].map(|register| kernel.replace("<uint> X", &format!("<uint> X : register({register})")));
        of_two("interfaces", [&texts[0], &texts[1]], &[])
    };
    let cases = [
        (
            other("StructuredBuffer<uint> X", "StructuredBuffer<float> X"),
            "`X` is `StructuredBuffer<uint> X` in a.hlsl, and `StructuredBuffer<float> X` in b.hlsl",
        ),
        (
            other("StructuredBuffer<uint> X", "Buffer<uint> X"),
            "`X` is `StructuredBuffer<uint> X` in a.hlsl, and `Buffer<uint> X` in b.hlsl",
        ),
        (
            other("numthreads(64", "numthreads(128"),
            "the group is 64×1×1 in a.hlsl, and 128×1×1 in b.hlsl",
        ),
        (
            other("uint Count; uint Mode;", "uint Mode; uint Count;"),
            "the order of the members that host code sets is first `Count` in a.hlsl, and first `Mode` in b.hlsl",
        ),
        (
            other("uint Count; uint Mode;", "uint Count; float4 Wide; uint Mode;"),
            "what precedes `Mode` in its constant buffer is uint in a.hlsl, and uint, float4 in b.hlsl",
        ),
        (
            other("Y", "Q"),
            "`RWStructuredBuffer<uint> Y` in a.hlsl, and b.hlsl has no `Y`",
        ),
        (
            registers("t0", "t1"),
            "`X` is `StructuredBuffer<uint> X : register(t0)` in a.hlsl, and `StructuredBuffer<uint> X : register(t1)` in b.hlsl",
        ),
        (
            of_two(
                "interfaces",
                [
                    &kernel.replace("[numthreads", "[WaveSize(32)] [numthreads"),
                    &kernel.replace("[numthreads", "[WaveSize(64)] [numthreads"),
                ],
                &[],
            ),
            "the size of waves is [WaveSize(32, 32)] in a.hlsl, and [WaveSize(64, 64)] in b.hlsl",
        ),
    ];
    for (said, expected) in cases {
        assert_eq!(
            said,
            format!("2 error: the kernels have different interfaces: {expected}\n")
        );
    }
    // What is declared and not used is no matter, nor is what a kernel no longer needs.
    assert!(
        other(
            "StructuredBuffer<uint> X;",
            "StructuredBuffer<uint> X; StructuredBuffer<float> Z;"
        )
        .starts_with("0 ")
    );
    assert!(registers("t0", "t0, space0").starts_with("0 "));
}

/// What is missing may be where the file could not be read.
#[test]
fn what_is_not_read_is_told_at_its_place() {
    let kernel = copying(BUFFERS, "", "Y[id.x] = X[id.x] + Count + Mode;");
    let cut = kernel.replace("RWStructuredBuffer<uint> Y;", "RWStructuredBuffer<uint Y;");
    assert_data_eq!(
        of_two("unread-pairs", [&kernel, &cut], &[]),
        str![[r#"
2 warning: could not parse this declaration
  ┌─ b.hlsl:1:27
  │
1 │ StructuredBuffer<uint> X; RWStructuredBuffer<uint Y; cbuffer C { uint Count; uint Mode; };
  │                           ^^^^^^^^^^^^^^^^^^^^^^^^^^

warning: unknown name `Y`
  ┌─ b.hlsl:3:70
  │
3 │ void Main(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID) { Y[id.x] = X[id.x] + Count + Mode; }
  │                                                                      ^

error: b.hlsl not read in full; in the part that was read, the kernels have different interfaces: `RWStructuredBuffer<uint> Y` in a.hlsl, and b.hlsl has no `Y`

"#]]
    );
    let broken = kernel.replace("+ Mode", "+ (Mode");
    assert_data_eq!(
        of_two("unread-pairs", [&kernel, &broken], &[]),
        str![[r#"
1 Main: not proved and not run
warning: could not parse this statement
  ┌─ b.hlsl:3:70
  │
3 │ void Main(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID) { Y[id.x] = X[id.x] + Count + (Mode; }
  │                                                                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^


"#]]
    );
}

#[test]
fn what_is_proved_is_what_is_said() {
    let copy = copying(BUFFERS, "", "Y[id.x] = X[id.x];");
    let verdict = |bodies: [&str; 2], attribute: &str| {
        let [a, b] =
            bodies.map(|body| copying(&format!("groupshared uint s[64]; {BUFFERS}"), attribute, body));
        of_two("verdicts", [&a, &b], &[])
    };
    let all = "under every lane map tried";
    assert_eq!(
        of_two(
            "verdicts",
            [&copy, &copying(BUFFERS, "", "while (true) {} Y[id.x] = X[id.x];")],
            &[]
        ),
        "1 Main: not proved and not run\n"
    );
    assert_eq!(
        verdict(
            ["Y[id.x] = WaveGetLaneCount();", "Y[id.x] = 32;"],
            "[WaveSize(32)] "
        ),
        format!("0 Main: proved equal in waves of 32, all sizes that both kernels allow {all}\n")
    );
    let early =
        "if (id.x >= Count) return; s[gi] = X[id.x]; GroupMemoryBarrierWithGroupSync(); Y[id.x] = s[gi];";
    assert_eq!(
        verdict([early, early], ""),
        format!("0 Main: proved equal at every wave size {all}, where every thread reaches the barriers\n")
    );
    // Of a group with rows the packing that makes the difference is named.
    let rows = ["Y[gi] = WavePrefixSum(1u);", "Y[gi] = WaveGetLaneIndex();"]
        .map(|body| copying(BUFFERS, "", body).replace("(64, 1, 1)", "(8, 8, 1)"));
    assert_eq!(
        of_two("rows", [&rows[0], &rows[1]], &[]),
        "1 Main: NOT equivalent: in waves of 4, packed ragged, differs at Y[1] (thread 1): expected 0, got 1\n"
    );
    // One group after the other writes an element, where `Count` is that of the threads.
    assert_eq!(
        verdict(
            ["Y[id.x] = 1;", "Y[(Count / 64 - 1 - id.x / 64) * 64 + gi] = 1;"],
            ""
        ),
        "1 Main: NOT equivalent: interpreted in waves of 4, differs at Y[0], with Count = 2: expected 1, got nothing\n"
    );
}

/// A mode that is no count, an element past a count, a buffer that one kernel alone writes, a texture: each is seen, and
/// said with what it takes.
#[test]
fn subtle_differences_are_seen() {
    let globals = format!("{BUFFERS} RWStructuredBuffer<uint> Z; Texture2D<uint> T;");
    let cases = [
        (
            ["Y[id.x] = Mode == 3 ? 1 : X[id.x];", "Y[id.x] = X[id.x];"],
            "differs at Y[0], with Mode = 3: expected 1, got ",
        ),
        (
            [
                "if (id.x < Count) Y[id.x] = 1;",
                "if (id.x <= Count) Y[id.x] = 1;",
            ],
            "differs at Y[2], with Count = 2: expected nothing, got 1",
        ),
        (
            ["Y[id.x] = 1;", "Y[id.x] = 1; Z[id.x] = 2;"],
            "expected nothing, got 2",
        ),
        (
            ["Y[id.x] = T[uint2(gi, 0)];", "Y[id.x] = T[uint2(0, gi)];"],
            "differs at Y[1] (thread 1): expected T[",
        ),
    ];
    for (bodies, expected) in cases {
        let [a, b] = bodies.map(|body| copying(&globals, "", body));
        let said = of_two("subtle", [&a, &b], &[]);
        assert!(
            said.starts_with("1 Main: NOT equivalent: ") && said.contains(expected),
            "{said}"
        );
    }
}

/// Members by their names, and of what is computed in several steps what it is computed from.
#[test]
fn formulas_can_be_read() {
    let globals =
        "struct Pair { float2 At; uint Ids[3]; }; StructuredBuffer<Pair> P; StructuredBuffer<uint3> V;
RWStructuredBuffer<uint> Y; cbuffer C { uint Count; uint2 Sizes; uint2x2 Turn; };";
    let said = |a: &str, b: &str| {
        let [a, b] = [a, b].map(|body| copying(globals, "", &format!("Y[id.x] = {body};")));
        let said = of_two("formulas", [&a, &b], &[]);
        let start = "1 Main: NOT equivalent: in waves of 4, differs at Y[0] (thread 0): ";
        said.strip_prefix(start).map_or(said.clone(), str::to_owned)
    };
    assert_eq!(
        said("P[id.x].Ids[1]", "P[id.x].Ids[2]"),
        "expected P[0].Ids[1], got P[0].Ids[2]\n"
    );
    assert_eq!(
        said("asuint(P[id.x].At.y)", "V[id.x].x + 1"),
        "expected P[0].At.y, got V[0].x + 1\n"
    );
    assert_eq!(
        said("Turn[1].x", "Turn._m01"),
        "expected Turn[1][0], got Turn[0][1]\n"
    );
    assert_eq!(
        said("(V[id.x].x >> Sizes.x) / (V[id.x].z | 1)", "Count"),
        "expected a function of V[0].x, Sizes.x, V[0].z, got Count\n"
    );
    assert_eq!(
        said(
            "10 * (V[id.x].x & 15) + (V[id.x].y & Count) + 3",
            "V[id.x].x & Count"
        ),
        "expected 10 * (V[0].x & 15) + (V[0].y & Count) + 3, got V[0].x & Count\n"
    );
    // What the interpreter finds, too.
    let globals = globals.replace("RWStructuredBuffer<uint> Y", "RWStructuredBuffer<Pair> Y");
    let bodies = ["id.x", "(Count / 64 - 1 - id.x / 64) * 64 + gi"];
    let [a, b] = bodies.map(|index| copying(&globals, "", &format!("Y[{index}].Ids[1] = 1;")));
    let said = of_two("formulas", [&a, &b], &[]);
    assert!(
        said.contains("interpreted in waves of 4, differs at Y[0].Ids[1]"),
        "{said}"
    );
}

/// By proof, interpreter and device alike: a component by its letter, a word of a byte-address buffer by its address.
#[test]
fn places_are_named_as_in_hlsl() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("places");
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let kernel = "StructuredBuffer<uint3> Src; RWStructuredBuffer<uint3> Dst; RWByteAddressBuffer Raw;
[numthreads(64, 1, 1)]
void Main(uint3 id : SV_DispatchThreadID) {
    Dst[id.x] = Src[id.x].xyz;
    Raw.Store2(id.x * 8, Src[id.x].xy);
}
";
    let swizzled = kernel.replace("].xyz", "].xzz");
    let moved = kernel.replace("id.x * 8, Src[id.x].xy", "id.x * 8, uint2(Src[id.x].x, 7)");
    for (name, other, proof, interpreter, device) in [
        (
            "swizzled",
            swizzled,
            "differs at Dst[0].y (thread 0): expected Src[0].y, got Src[0].z",
            "differs at Dst[0].y:",
            "differs: Dst[",
        ),
        (
            "first",
            kernel.replace("].xyz", "].yyz"),
            "differs at Dst[0].x (thread 0): expected Src[0].x, got Src[0].y",
            "differs at Dst[0].x:",
            "differs: Dst[",
        ),
        (
            "moved",
            moved,
            "differs at Raw[4] (thread 0): expected Src[0].y, got 7",
            "differs at Raw[4]:",
            "differs: Raw[4] is 7, should be 0, in 1 group, where all read-only inputs are 0",
        ),
    ] {
        let files = [("a.hlsl", kernel), (name, other.as_str())].map(|(file, text)| {
            let path = folder.join(file).with_extension("hlsl");
            std::fs::write(&path, text).expect("the folder can be written to");
            path.to_string_lossy().into_owned()
        });
        let said = unbroken(&verify(
            &[&files[0], &files[1], "--no-timing"],
            ("NODEVICE_SELECT", "1"),
        ));
        let heading = format!("Main (64×1×1) of {} against that of {}\n", files[0], files[1]);
        assert!(said.contains(&heading), "{said}");
        assert!(said.contains(proof), "{said}");
        assert!(said.contains(interpreter), "{said}");
        assert!(!has_adapter() || said.contains(device), "{said}");
    }
}

/// What a build compiles with a keyword, or with a region that is left out, may be another program.
#[test]
fn a_verdict_names_the_configurations_it_holds_for() {
    let kernel = |values: &str| {
        format!(
            "#pragma multi_compile _ FANCY\nRWStructuredBuffer<uint> Y;\n#ifdef FANCY\n#define N {values}\n#else\n#define N 3\n\
             #endif\n[numthreads(64, 1, 1)]\nvoid Main(uint3 id : SV_DispatchThreadID) {{ Y[id.x] = id.x + N; }}\n"
        )
    };
    let verdict =
        |name: &str, other: &str| of_two(&format!("configurations-{name}"), [&kernel("4"), other], &[]);
    assert_data_eq!(
        verdict("alike", &kernel("2 + 2")),
        str![[r#"
0 Main: proved equal at every wave size under every lane map tried; also with keyword FANCY

"#]]
    );
    assert_data_eq!(
        verdict("unlike", &kernel("5")),
        str![[r#"
1 Main: NOT equivalent with keyword FANCY; as the file stands, proved equal at every wave size under every lane map tried

"#]]
    );
    // Each file's builds are its own.
    let built = |builds: &str| {
        format!(
            "{builds}\n#ifndef X\n#define X 0\n#endif\nRWStructuredBuffer<uint> Y;\n\
             [numthreads(64, 1, 1)]\nvoid Main(uint3 id : SV_DispatchThreadID) {{ Y[id.x] = X; }}\n"
        )
    };
    let of_builds = |builds: [&str; 2]| {
        let texts = builds.map(built);
        of_two("declared-builds", [&texts[0], &texts[1]], &[])
    };
    let [one, two] = ["#pragma kernel Main X=1", "#pragma kernel Main X=2"];
    let said = of_builds([one, two]);
    assert!(
        said.contains("the two files declare different builds: `X=1` in"),
        "{said}"
    );
    assert!(of_builds([one, one]).contains("proved equal"));
    assert!(of_builds([one, ""]).contains("proved equal"));
    let choice = "#ifdef A\n#define X 1\n#elif defined(B)\n#define X 2\n#endif";
    let [ab, ba] = ["A B", "B A"].map(|keywords| format!("#pragma multi_compile {keywords}\n{choice}"));
    assert!(of_builds([&ab, &ba]).contains("proved equal"));
    // A compute shader is compiled as one, whatever else is in its file.
    let of_stage = |value: &str| {
        let first = kernel("4").replace(
            "#pragma multi_compile _ FANCY\n",
            "#if __SHADER_TARGET_STAGE == __SHADER_STAGE_COMPUTE\n#define M 0\n#else\n#define M 1\n#endif\n",
        );
        first.replace("id.x + N", value)
    };
    let texts = [of_stage("id.x + M"), of_stage("id.x")];
    let said = of_two("configurations-stage", [&texts[0], &texts[1]], &[]);
    assert!(said.starts_with("0 Main: proved equal"), "{said}");
    // Whatever the region holds, and whichever file has it.
    let leaving = |region: &str| kernel("4").replace("{ Y[", &format!("{{\n{region}\nY["));
    let one_leaves = [leaving(""), leaving("#ifdef X\nreturn;\n#endif")];
    for (number, texts) in [[0, 1], [1, 0]].into_iter().enumerate() {
        let texts = texts.map(|at| one_leaves[at].as_str());
        let said = of_two(&format!("configurations-leaving-{number}"), texts, &[]);
        assert!(said.starts_with("1 Main: NOT equivalent with -D X=1;"), "{said}");
    }
    let region = |last: &str| {
        format!(
            "#define PUT(v) Y[id.x] = v; GroupMemoryBarrierWithGroupSync()\nRWStructuredBuffer<uint> Y;\n\
             [numthreads(64, 1, 1)]\nvoid Main(uint3 id : SV_DispatchThreadID) {{ Y[id.x] = 1;\n#ifdef X\n{last}\n#endif\n}}\n"
        )
    };
    assert_data_eq!(
        of_two(
            "configurations-region",
            [&region("PUT(2);"), &region("PUT(3);")],
            &[]
        ),
        str![[r#"
1 Main: NOT equivalent with -D X=1; as the file stands, proved equal at every wave size under every lane map tried

"#]]
    );
}

/// Devices run what we translate. Operands of `&&`, `||` and `?:` are cut short there, as they are from HLSL 2021 on alone.
/// Where both files come to an `#error` nobody has kernels to compare, and where one does, nothing is equal to its kernel.
#[test]
fn builds_that_stop_at_an_error_are_none() {
    let kernel = |head: &str| copying(&format!("{head}\n{BUFFERS}"), "", "Y[id.x] = X[id.x] + Z;");
    let stops = "#if defined(A) && defined(B)\n#error one of both\n#endif\n";
    let differs = format!("{stops}#if defined(A) && defined(B)\n#define Z 1\n#else\n#define Z 2\n#endif");
    let plain = format!("{stops}#define Z 2");
    let [differs, plain, free] = [&differs, &plain, "#define Z 2"].map(kernel);
    let said = |texts: [&str; 2], more: &[&str]| of_two("refused", texts, more);
    let equal = said([&differs, &plain], &[]);
    assert!(
        equal.starts_with("0 ") && equal.contains("proved equal"),
        "{equal}"
    );
    assert!(!equal.contains("NOT"), "{equal}");
    let one = said([&plain, &free], &[]);
    assert!(one.contains("not proved with -D A=1 -D B=1"), "{one}");
    let both = said([&differs, &plain], &["-D", "A", "-D", "B"]);
    let why = "a.hlsl reaches an `#error`, at which every compiler stops; use -D to define what the build \
         defines";
    assert!(both.starts_with("2 ") && unbroken(&both).contains(why), "{both}");
}

#[test]
fn side_effects_that_not_every_version_has_are_not_translated() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("versions-of-effects.hlsl");
    let translated = |body: &str, version: &[&str]| {
        let text = format!(
            "RWStructuredBuffer<int> Out; bool f(inout int x) {{ x = 3; return true; }}\n[numthreads(1, 1, 1)]\n\
             void Main() {{ int x = 5; {body} Out[0] = x; }}\n"
        );
        std::fs::write(&path, text).expect("the folder can be written to");
        let mut command = Command::new(env!("CARGO_BIN_EXE_shaderlint"));
        let output = command.arg("wgsl").arg(&path).args(version).output();
        let output = output.expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(
            output.status.success(),
            !said.contains("versions of HLSL disagree"),
            "{said}"
        );
        output.status.success()
    };
    for body in [
        "bool b = x == 5 || f(x);",
        "if (x != 5 && f(x)) x = 4;",
        "bool b = x == 5 ? true : f(x);",
    ] {
        assert!(!translated(body, &["--hlsl-version", "2018"]), "{body}");
        assert!(!translated(body, &[]), "{body}");
        assert!(translated(body, &["--hlsl-version", "2021"]), "{body}");
    }
    assert!(translated("bool b = f(x) || x == 5;", &[]));
}

/// Kernels that the default configuration does not have are compared in those that have them.
#[test]
fn kernels_of_other_configurations_are_compared() {
    let main = "[numthreads(64, 1, 1)] void Main(uint3 id : SV_DispatchThreadID) { Y[id.x] = 1; }\n";
    let other = |value: &str| {
        main.replace("Main", "Other")
            .replace("= 1;", &format!("= {value};"))
    };
    let beside = |macros: &str, value: &str| {
        format!(
            "RWStructuredBuffer<uint> Y;\n#if {macros}\n{}#endif\n{main}",
            other(value)
        )
    };
    let instead = |value: &str| {
        format!(
            "RWStructuredBuffer<uint> Y;\n#ifdef M\n{}#else\n{main}#endif\n",
            other(value)
        )
    };
    // Of two files that are alike but for a value.
    let said = |name: &str, text: &dyn Fn(&str) -> String, second: &str| {
        of_two(&format!("kernels-{name}"), [&text("2"), &text(second)], &[])
    };
    assert_data_eq!(
        said("beside", &|value| beside("defined(M)", value), "3"),
        str![[r#"
1 Main: proved equal at every wave size under every lane map tried; also with -D M=1
with -D M=1:
Other: NOT equivalent: in waves of 4, differs at Y[0] (thread 0): expected 2, got 3

"#]]
    );
    assert_data_eq!(
        said("instead", &instead, "3"),
        str![[r#"
1 Main: proved equal at every wave size under every lane map tried
with -D M=1:
Other: NOT equivalent: in waves of 4, differs at Y[0] (thread 0): expected 2, got 3

"#]]
    );
    let some = |value: &str| {
        beside("defined(M) || defined(N)", "V").replace(
            "#if ",
            &format!("#ifdef N\n#define V {value}\n#else\n#define V 2\n#endif\n#if "),
        )
    };
    assert_data_eq!(
        said("in-some", &some, "3"),
        str![[r#"
1 Main: proved equal at every wave size under every lane map tried; also with -D N=1; other values of M were not read
with -D N=1:
Other: NOT equivalent: in waves of 4, differs at Y[0] (thread 0): expected 2, got 3

"#]]
    );
    assert_data_eq!(
        said("alike", &instead, "1 + 1"),
        str![[r#"
0 Main: proved equal at every wave size under every lane map tried
with -D M=1:
Other: proved equal at every wave size under every lane map tried

"#]]
    );
    let asked = of_two(
        "kernels-asked",
        [&instead("2"), &instead("3")],
        &["--entry", "Main"],
    );
    assert!(asked.starts_with("0 "), "{asked}");
}

/// Interfaces are compared in each of them, too.
#[test]
fn kernels_of_two_interfaces_in_some_configuration_are_not_compared() {
    let kernel = copying(BUFFERS, "", "Y[id.x] = X[id.x] + Count + Mode;");
    let padded = kernel.replace("uint Count;", "PAD uint Count;");
    let other = format!(
        "#pragma multi_compile _ WIDE\n#ifdef WIDE\n#define PAD uint3 Wide;\n#else\n#define PAD\n#endif\n{padded}"
    );
    assert_data_eq!(
        of_two("interfaces-keyword", [&other, &kernel], &[]),
        str![[r#"
2 error: with keyword WIDE, the kernels have different interfaces: what precedes `Count` in its constant buffer is uint3 in a.hlsl, and nothing in b.hlsl

"#]]
    );
    // There in one of the files alone.
    let renamed = kernel.replace(
        "void Main(",
        "#ifdef ASIDE\nvoid Other(\n#else\nvoid Main(\n#endif\n",
    );
    let renamed = format!("{renamed}[numthreads(64, 1, 1)] void Third() {{}}\n");
    let said = of_two("interfaces-gone", [&kernel, &renamed], &["--entry", "Main"]);
    assert!(
        said.starts_with("2 error: with -D ASIDE=1, b.hlsl: no entry point is called `Main`"),
        "{said}"
    );
}

/// Conditions ask for more than what is excluded: defaults, versions, values that no definition was found for.
#[test]
fn a_verdict_names_the_macros_that_builds_may_set_otherwise() {
    let kernel = |before: &str, body: &str| copying(&format!("{BUFFERS}\n{before}"), "", body);
    let verdict = |before: &str, body: &str, more: &[&str]| {
        let text = kernel(before, &format!("{body}\n"));
        let said = of_two("unread", [&text, &text], more);
        let (_, verdict) = said.split_once("tried").expect("a proof");
        verdict.trim().to_owned()
    };
    let unread = |names: &str| format!("; other values of {names} were not read");
    for (before, body, names) in [
        ("#ifndef N\n#define N 3\n#endif", "Y[id.x] = N;", "N"),
        ("#define N 3", "Y[id.x] = N;\n#if N > 4\nY[id.x] = 1;\n#endif", ""),
        (
            "#define BIT(x) ((x) & 4)",
            "Y[id.x] = 1;\n#if BIT(MODE)\nY[id.x] = 2;\n#endif",
            "MODE",
        ),
        (
            "",
            "Y[id.x] = 1;\n#if __HLSL_VERSION == 2018\nY[id.x] = 2;\n#endif",
            "__HLSL_VERSION",
        ),
        ("", "Y[id.x] = 1;\n#if !defined(X)\nY[id.x] = 2;\n#endif", "X"),
        (
            "",
            "Y[id.x] = 1;\n#if X == 'a' || X == 'b'\nY[id.x] = 2;\n#endif",
            "X",
        ),
        (
            "",
            "Y[id.x] = 1;\n#if X == '\\'' && MODE == '\\''\nY[id.x] = 2;\n#endif",
            "MODE, X",
        ),
        (
            "#define HAS(x) HAS_##x",
            "Y[id.x] = 1;\n#if HAS(MODE)\nY[id.x] = 2;\n#endif",
            "HAS_, MODE, macros that ## puts together",
        ),
    ] {
        let names = if names.is_empty() {
            String::new()
        } else {
            unread(names)
        };
        assert_eq!(verdict(before, body, &[]), names, "{before} {body}");
    }
    // Given for all builds; defined in one configuration, and of no other matter.
    let default = ("#ifndef N\n#define N 3\n#endif", "Y[id.x] = N;");
    assert_eq!(verdict(default.0, default.1, &["-D", "N=4"]), "");
    let lanes = "Y[id.x] = 1;\n#if N == 4\nY[id.x] = 2;\n#endif";
    assert_eq!(verdict("", lanes, &["-D", "N=3"]), "");
    let region = "Y[id.x] = 1;\n#ifdef FANCY\nY[id.x] = 2;\n#endif";
    assert_eq!(verdict("", region, &[]), "; also with -D FANCY=1");
    // Both together are not read.
    let two = format!("{region}\n#ifdef ROUND\nY[id.x] = 3;\n#endif");
    assert_eq!(
        verdict("", &two, &[]),
        "; also with -D FANCY=1, with -D ROUND=1; other values of FANCY, ROUND were not read"
    );
    let version = "Y[id.x] = 1;\n#if __HLSL_VERSION == 2018\nY[id.x] = 2;\n#endif";
    assert_eq!(verdict("", version, &["--hlsl-version", "2021"]), "");
    // What these are no build sets, and a string names nothing.
    for condition in ["true", "!false", "__LINE__ == 5", "__has_include(\"more.h\")"] {
        let body = format!("Y[id.x] = 1;\n#if {condition}\nY[id.x] = 2;\n#endif");
        assert_eq!(verdict("", &body, &[]), "", "{condition}");
    }
}

/// A `static` resource is another one by another name: it is not bound.
#[test]
fn kernels_of_static_resources_are_not_run() {
    let globals = format!("{BUFFERS} static StructuredBuffer<uint> Other = X;");
    let [one, other] = ["Other", "X"].map(|name| copying(&globals, "", &format!("Y[id.x] = {name}[id.x];")));
    let said = of_two("static-resource", [&one, &other], &[]);
    assert!(said.starts_with("1 Main: not proved and not run"), "{said}");
}

/// `f + f` and `2 * f` of -0.0 are one word, which the interpreter does not know of the sum.
#[test]
fn a_sum_of_negative_zeros_is_not_called_different() {
    let doubled = |sum: &str| {
        let body =
            format!("precise float f = asfloat(X[id.x]); precise float g = {sum}; Y[id.x] = asuint(g);");
        copying(BUFFERS, "", &body)
    };
    let said = of_two("zeros", [&doubled("f + f"), &doubled("2 * f")], &[]);
    assert!(!said.contains("NOT equivalent"), "{said}");
}

/// What nothing was written to may be any word, in each kernel another one.
#[test]
fn what_reads_unwritten_memory_is_not_called_different() {
    let kernel = |more: &str| {
        copying(
            &format!("{BUFFERS} groupshared uint g[64];"),
            "",
            &format!("Y[id.x] = g[gi] + {more};"),
        )
    };
    let said = of_two("unwritten", [&kernel("1"), &kernel("2")], &[]);
    assert!(said.starts_with("1 Main: not proved"), "{said}");
    let said = of_two("unwritten", [&kernel("1"), &kernel("1")], &[]);
    assert!(said.starts_with("0 Main: proved equal"), "{said}");
}

/// Where the members of a struct with halves lie depends on how it is compiled.
#[test]
fn structs_with_halves_at_an_address_are_not_worked_out() {
    let before = format!("{BUFFERS} ByteAddressBuffer R; struct S {{ half a; uint b; }};");
    let texts = [
        copying(&before, "", "Y[id.x] = R.Load<S>(0).b;"),
        copying(&before, "", "Y[id.x] = R.Load(4);"),
    ];
    let said = of_two("halves-at-address", [&texts[0], &texts[1]], &[]);
    assert!(said.starts_with("1 Main: not proved"), "{said}");
}

/// Of a case in which a group is not followed nothing is known, and of the next one all is.
#[test]
fn groups_that_are_not_interpreted_are_not_taken_for_silent() {
    let body = "uint q = asuint(asfloat(X[id.x]) - asfloat(X[id.x])); Y[id.x] = (q & 1) >> 1;";
    let texts = [copying(BUFFERS, "", body), copying(BUFFERS, "", "Y[id.x] = 0;")];
    let said = of_two("not-followed", [&texts[0], &texts[1]], &[]);
    assert!(said.starts_with("1 Main: not proved"), "{said}");
}

#[test]
fn what_a_loop_leaves_is_decided_by_the_version_of_hlsl() {
    let kernel = |name: &str| {
        let body = format!("uint s = 7; for (uint {name} = 1; {name} < 64; {name} <<= 1) {{}} Y[id.x] = s;");
        copying(BUFFERS, "", &body)
    };
    let texts = [kernel("s"), kernel("t")];
    let said = |more: &[&str]| unbroken(&of_two("versions", [&texts[0], &texts[1]], more));
    let of_2018 = "1 Main: NOT equivalent: in waves of 4, differs at Y[0] (thread 0): expected 64, got 7";
    let open = "1 Main: NOT equivalent: interpreted in waves of 4, differs at Y[0], with [HLSL 2021] = 0: expected 64, got 7";
    assert_eq!(said(&[]).trim_end(), open);
    assert_eq!(said(&["-HV", "2018"]).trim_end(), of_2018);
    assert_eq!(said(&["-D", "__HLSL_VERSION=2018"]).trim_end(), of_2018);
    let of_2021 = "0 Main: proved equal at every wave size under every lane map tried";
    assert_eq!(said(&["-HV", "2021"]).trim_end(), of_2021);
}

/// A build may use another shader model or compiler than conditions suppose: no proof rests on their numbers.
#[test]
fn what_the_compiler_numbers_is_known_where_it_is_given() {
    let of = |name: &str, value: &str, more: &[&str]| {
        let kernel = |value: &str| copying(BUFFERS, "", &format!("Y[id.x] = {value};"));
        let said = unbroken(&of_two("numbers", [&kernel(name), &kernel(value)], more));
        said.trim_end().to_owned()
    };
    let proved = "0 Main: proved equal at every wave size under every lane map tried";
    for (name, value, given) in [
        ("__SHADER_TARGET_MINOR", "0", ["--profile", "cs_6_0"]),
        ("__SHADER_TARGET_MINOR", "6", ["--profile", "cs_6_6"]),
        ("__HLSL_VERSION", "2021", ["-HV", "2021"]),
        ("__DXC_VERSION_MINOR", "8", ["-D", "__DXC_VERSION_MINOR=8"]),
    ] {
        let open = of(name, value, &[]);
        assert!(open.starts_with("1 Main: not proved"), "{name}: {open}");
        assert_eq!(of(name, value, &given), proved, "{name}");
    }
    assert_eq!(of("__SHADER_TARGET_MAJOR", "6", &[]), proved);
    assert_eq!(of("__SHADER_TARGET_STAGE", "5", &[]), proved);
}

/// DXC chooses by its overloads whether an atomic takes a float or a `bool` as an `int` or a `uint`.
#[test]
fn atomics_of_what_is_no_word() {
    let of = |value: [&str; 2]| {
        let texts = value.map(|value| {
            let buffers = "StructuredBuffer<float> X; RWByteAddressBuffer Y; RWStructuredBuffer<int> Z;";
            copying(
                buffers,
                "",
                &format!("float f = X[id.x]; int i = (int)id.x; {value}"),
            )
        });
        let said = of_two("atomics-of-floats", [&texts[0], &texts[1]], &[]);
        assert!(!said.contains("NOT equivalent"), "{said}");
        said.contains("proved equal")
    };
    for (converted, word) in [
        ("Y.InterlockedMax(0, f);", "Y.InterlockedMax(0, (uint)f);"),
        (
            "Y.InterlockedMax(0, f > 2);",
            "Y.InterlockedMax(0, (uint)(f > 2));",
        ),
        (
            "Y.InterlockedMin(0, ~0);",
            "Y.InterlockedMin(0, (int)(i - i - 1));",
        ),
        (
            "Y.InterlockedMin(0, i > 2 ? -1 : 1);",
            "Y.InterlockedMin(0, (int)(i > 2 ? -i / i : 1));",
        ),
        ("InterlockedAdd(Z[0], f);", "InterlockedAdd(Z[0], (int)f);"),
    ] {
        assert!(!of([converted, word]), "{converted}");
    }
    assert!(!of([
        "Y.InterlockedMin(0, -1);",
        "Y.InterlockedMin(0, 0xffffffffu);"
    ]));
    assert!(of([
        "Y.InterlockedMin(0, -1);",
        "int j = -1; Y.InterlockedMin(0, j);"
    ]));
    assert!(of(["Y.InterlockedMin(0, 5);", "Y.InterlockedMin(0, 5u);"]));
    assert!(of([
        "Y.InterlockedMin(0, i);",
        "int j = i; Y.InterlockedMin(0, j);"
    ]));
}
