//! Levels, selected rules and suppressions.
#![expect(clippy::unwrap_used, reason = "a test that cannot set its files up fails")]

mod support;

use snapbox::{assert_data_eq, str};
use support::{Folder, LADDER, RACE};

const CONCISE: [&str; 2] = ["--output-format", "concise"];

fn said(folder: &Folder, arguments: &[&str]) -> String {
    folder.said(&[&CONCISE, arguments].concat())
}

/// The file and the level of each finding.
fn severities(folder: &Folder) -> Vec<String> {
    let json = folder.run(&["--output-format", "json"]).stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let findings = json["findings"].as_array().unwrap().iter();
    findings
        .map(|finding| format!("{} {}", finding["path"], finding["severity"]).replace('"', ""))
        .collect()
}

/// A race and a ladder.
fn both(folder: &str) -> Folder {
    Folder::new(folder)
        .with("a.hlsl", RACE)
        .with("tools/b.hlsl", LADDER)
}

#[test]
fn rules_are_selected_and_left_out() {
    let folder = both("select");
    let counts = |arguments: &[&str]| {
        let said = said(&folder, arguments);
        (said.contains("a.hlsl:6:18"), said.contains("tools/b.hlsl:9:2"))
    };
    assert_eq!(counts(&[]), (true, true));
    assert_eq!(counts(&["--select", "groupshared-race"]), (true, false));
    assert_eq!(counts(&["--select", "perf"]), (false, true));
    assert_eq!(counts(&["--select", "perf,groupshared-race"]), (true, true));
    assert_eq!(
        counts(&["--select", "wave-prefix-sum-vs-scan-with-atomics"]),
        (false, true)
    );
    assert_eq!(counts(&["--ignore", "hillis-steele-scan"]), (true, false));
    assert_eq!(
        counts(&["--select", "perf", "--ignore", "hillis-steele-scan"]),
        (false, false)
    );
    assert_data_eq!(
        said(&folder, &["--select", "hillis-steel-scan"]),
        str![[r#"
2
error: invalid value 'hillis-steel-scan' for '--select <RULES>': no rule is called `hillis-steel-scan`; did you mean `hillis-steele-scan`?

For more information, try '--help'.

"#]]
    );
    assert_data_eq!(
        said(&folder, &["--select", "correctnes"]),
        str![[r#"
2
error: invalid value 'correctnes' for '--select <RULES>': no rule or category is called `correctnes`; did you mean `correctness`?

For more information, try '--help'.

"#]]
    );
}

#[test]
fn levels_are_set_by_rule_category_and_path() {
    let levels = "[levels]\nperf = \"error\"\nmanual-wave-reduction-pattern = \"info\"\n";
    let folder = both("levels").with("shaderlint.toml", levels);
    assert_eq!(severities(&folder), ["a.hlsl error", "tools/b.hlsl error"]);
    let overrides = "[levels]\nhillis-steele-scan = \"error\"\n\n[[override]]\npaths = [\"tools/\"]\nlevels = { perf = \"info\" }\n";
    let folder = folder.with("shaderlint.toml", overrides);
    assert_eq!(severities(&folder), ["a.hlsl error", "tools/b.hlsl info"]);
    // What is only worth a note is no reason to fail, and what is off is not found, unless it is asked for.
    assert_eq!(folder.run(&["tools"]).status.code(), Some(0));
    let later = format!(
        "{overrides}\n[[override]]\npaths = [\"*.hlsl\"]\nlevels = {{ perf = \"off\", correctness = \"warn\" }}\n"
    );
    let folder = folder.with("shaderlint.toml", later);
    assert_eq!(severities(&folder), ["a.hlsl warning"]);
    assert!(said(&folder, &["--select", "perf"]).contains("tools/b.hlsl:9:2"));
    assert_data_eq!(
        folder.said(&["--show-settings", "tools/b.hlsl"]),
        str![[r#"
0
tools/b.hlsl
  configuration  shaderlint.toml
  shader model   what the file asks for, else 6.0
  HLSL version   any
  defines        none
  include-dirs   none
  virtual-dirs   none
  variants       none
  levels         hillis-steele-scan = off
                 blelloch-scan = off
                 hand-rolled-scan = off
                 hand-rolled-reduction = off
                 atomic-slot-claim = off
                 single-cell-atomic = off
                 small-bin-atomic = off
                 redundant-barrier = off
                 groupshared-race = warn
                 divergent-barrier = warn
                 groupshared-out-of-bounds = warn
                 uninitialised-groupshared = warn
                 wave-size-assumption = warn
  form of fixes  helper
  include        *.hlsl *.hlsli *.ihlsl *.fx *.fxh *.compute *.cginc *.usf *.ush
                 *.csh *.azsl *.azsli
  exclude        none
  is excluded    no
  baseline       none

"#]]
    );
}

#[test]
fn what_is_wrong_with_levels_is_told_at_its_place() {
    let check = |text: &str| both("bad-levels").with("shaderlint.toml", text).said(&[]);
    assert_data_eq!(
        check("[levels]\ngroupshared-races = \"off\"\n"),
        str![[r#"
2
error: no rule is called `groupshared-races`; did you mean `groupshared-race`?
  ┌─ shaderlint.toml:2:1
  │
2 │ groupshared-races = "off"
  │ ^^^^^^^^^^^^^^^^^


"#]]
    );
    assert_data_eq!(
        check("[levels]\nperf = \"none\"\n"),
        str![[r#"
2
error: `none` is none of `off`, `info`, `warn`, `error`
  ┌─ shaderlint.toml:2:8
  │
2 │ perf = "none"
  │        ^^^^^^


"#]]
    );
    assert_data_eq!(
        check("[[override]]\nlevels = { perf = \"off\" }\n"),
        str![[r#"
2
error: `paths` is missing
  ┌─ shaderlint.toml:1:1
  │
1 │ [[override]]
  │ ^^^^^^^^^^^^


"#]]
    );
    assert_data_eq!(
        check("[[override]]\npaths = [\"a\"]\nlevel = { perf = \"off\" }\n"),
        str![[r#"
2
error: no key is called `level` here; did you mean `levels`?
  ┌─ shaderlint.toml:3:1
  │
3 │ level = { perf = "off" }
  │ ^^^^^


"#]]
    );
}

#[test]
fn what_allows_nothing_is_told_and_taken_out() {
    let allowed = RACE.replace("% 64];", "% 64]; // shaderlint: allow(groupshared-race): why");
    let stale = "// shaderlint: allow-file(perf, blelloch-scan): measured\n".to_owned() + &allowed;
    let folder = Folder::new("unused").with("a.hlsl", &stale);
    assert_data_eq!(
        folder.said(&[]),
        str![[r#"
1
warning[unused-suppression]: `blelloch-scan` is allowed here but finds nothing
  ┌─ a.hlsl:1:33
  │
1 │ // shaderlint: allow-file(perf, blelloch-scan): measured
  │                                 ^^^^^^^^^^^^^
  │
  = if the comment stays, it silently suppresses later findings
  = fix: remove `blelloch-scan` (--fix)

warning: `perf` is a category: `allow` must name its rules
  ┌─ a.hlsl:1:27
  │
1 │ // shaderlint: allow-file(perf, blelloch-scan): measured
  │                           ^^^^

1 finding in 1 file (1 fixable with --fix)

"#]]
    );
    assert_eq!(folder.run(&["--fix", "--quiet"]).status.code(), Some(0));
    let fixed = std::fs::read_to_string(folder.0.join("a.hlsl")).unwrap();
    assert_eq!(
        fixed,
        "// shaderlint: allow-file(perf): measured\n".to_owned() + &allowed
    );
    // A rule that is off could not have found anything.
    let folder = folder.with("a.hlsl", &stale);
    assert_eq!(said(&folder, &["--quiet", "--ignore", "perf"]), "0\n");
    assert_eq!(said(&folder, &["--quiet", "--select", "correctness"]), "0\n");
    assert_eq!(said(&folder, &["--quiet", "--ignore", "suppression"]), "0\n");
    // So could not one that is only for later shader models than this.
    let ladder = LADDER.replace("\tfor", "\t// shaderlint: allow(hillis-steele-scan)\n\tfor");
    let folder = Folder::new("unused-by-model").with("a.hlsl", ladder);
    assert_eq!(said(&folder, &["--quiet", "--profile", "cs_5_0"]), "0\n");
    // Nor is it known of what could not be read.
    let unread = format!("#include \"missing.hlsli\"\n{stale}");
    let folder = Folder::new("unused-unread").with("a.hlsl", unread);
    assert_eq!(said(&folder, &["--quiet"]), "0\n");
}

#[test]
fn a_header_needs_what_any_that_includes_it_needs() {
    let sum = "void Sum(uint gi) // shaderlint: allow(divergent-barrier): none\n{\n    g_Sum[gi] += \
               g_Sum[(gi + 1) % 64]; // shaderlint: allow(groupshared-race): why\n}\n";
    let unit = |before: &str| {
        format!(
            "groupshared uint g_Sum[64];\n#include \"sum.hlsli\"\n[numthreads(64, 1, 1)]\n\
             void main(uint gi : SV_GroupIndex)\n{{\n    g_Sum[gi] = gi;\n    {before}\n    Sum(gi);\n}}\n"
        )
    };
    let folder = Folder::new("unused-in-header")
        .with("sum.hlsli", sum)
        .with("a.hlsl", unit(""))
        .with("b.hlsl", unit("GroupMemoryBarrierWithGroupSync();"));
    assert_data_eq!(
        said(&folder, &[]),
        str![[r#"
1
sum.hlsli:1:40: warning[unused-suppression]: `divergent-barrier` is allowed here but finds nothing
1 finding in 3 files

"#]]
    );
}

/// A comment that only some includers need, in a header that no one looks at alone and in a file with a kernel of its own.
#[test]
fn what_is_needed_outside_of_the_run_is_needed() {
    let put =
        "void Put(uint gi)\n{\n    // shaderlint: allow(groupshared-race): why\n    g[gi % COUNT] = gi;\n}\n";
    let kernel = |count: u32, name: &str| {
        format!(
            "#define COUNT {count}\ngroupshared uint g[64];\n{name}\n[numthreads(64, 1, 1)]\n\
             void main(uint gi : SV_GroupIndex)\n{{\n    Put(gi);\n}}\n"
        )
    };
    let (well, racing) = (
        kernel(64, "#include \"put.hlsli\""),
        kernel(32, "#include \"put.hlsli\""),
    );
    let unused =
        "put.hlsli:3:26: warning[unused-suppression]: `groupshared-race` is allowed here but finds nothing\n";
    let folder = |name: &str| {
        let folder = Folder::new(name).with("put.hlsli", put);
        folder.with(".git/HEAD", "").with("a.hlsl", &well)
    };
    assert_eq!(
        said(&folder("needed-by-none"), &[]),
        format!("1\n{unused}1 finding in 2 files\n")
    );
    let none = "0\nnothing found in 2 files\n";
    let beside = folder("needed-beside").with("b.hlsl", &racing);
    assert_eq!(said(&beside, &["put.hlsli", "a.hlsl"]), none);
    let excluded = folder("needed-excluded").with("b.hlsl", &racing);
    let excluded = excluded.with("shaderlint.toml", "[files]\nexclude = [\"b.hlsl\"]\n");
    assert_eq!(said(&excluded, &[]), none);
    let unknown = format!("#if FEATURE > 7\n{racing}#endif\n");
    let unknown = folder("needed-unknown").with("b.hlsl", unknown);
    assert_eq!(said(&unknown, &["put.hlsli", "a.hlsl"]), none);
    // Not all that is declared is read.
    let of_kernels: Vec<String> = (0..10).map(|n| format!("#pragma kernel main N={n}\n")).collect();
    let text = format!(
        "{}#if N == 9\n#define COUNT 32\n#else\n#define COUNT 64\n#endif\n{}",
        of_kernels.concat(),
        kernel(64, "#include \"put.hlsli\"").replace("#define COUNT 64\n", "")
    );
    let cut = folder("needed-by-the-tenth").with("b.compute", text);
    assert!(!said(&cut, &[]).contains("unused"));
    // A file with a kernel of its own, that more include than are looked at.
    let own = kernel(64, put).replace("#define COUNT 64", "#ifndef COUNT\n#define COUNT 64\n#endif");
    let mut many = Folder::new("needed-by-many").with("put.hlsl", &own);
    for number in 0..40 {
        let count = if number == 39 { 32 } else { 64 };
        let text = format!("#define COUNT {count}\n#define main main{number}\n#include \"put.hlsl\"\n");
        many = many.with(&format!("{number:02}.hlsl"), text);
    }
    assert_eq!(said(&many, &["put.hlsl"]), "0\nnothing found in 1 file\n");
}

#[test]
fn what_is_no_rule_is_told() {
    let text = "// shaderlint: allow: all of it\n// shaderlint: ignore(groupshared-race)\n".to_owned() + RACE;
    assert_data_eq!(
        Folder::new("blanket").with("a.hlsl", text).said(&CONCISE),
        str![[r#"
1
a.hlsl:8:18: error[groupshared-race]: data race on g_Sum[1] [unsafe fix]
warning: `allow` must name its rules: write `allow(rule-id): reason` or `allow-file(rule-id): reason`
  ┌─ a.hlsl:1:16
  │
1 │ // shaderlint: allow: all of it
  │                ^^^^^

warning: unknown directive `ignore`: write `allow(rule-id): reason` or `allow-file(rule-id): reason`
  ┌─ a.hlsl:2:16
  │
2 │ // shaderlint: ignore(groupshared-race)
  │                ^^^^^^

1 finding in 1 file (1 fixable with --fix --unsafe-fixes)

"#]]
    );
}

/// A category's level is for what is worth it: no wave form of an atomic was seen to be faster.
#[test]
fn what_was_not_seen_to_be_faster_is_a_note() {
    let claim = "RWStructuredBuffer<uint> Count;
RWStructuredBuffer<uint> Out;
[numthreads(64, 1, 1)]
void main(uint i : SV_GroupIndex)
{
    uint slot;
    InterlockedAdd(Count[0], 1, slot);
    Out[slot] = i;
}
";
    let folder = Folder::new("worth").with("a.hlsl", claim);
    let severity = |folder: &Folder| {
        let run = folder.run(&["--output-format", "json"]);
        let json: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
        let severity = json["findings"][0]["severity"].as_str().unwrap_or("none");
        (severity.to_owned(), run.status.code())
    };
    assert_eq!(severity(&folder), ("info".to_owned(), Some(0)));
    let folder = folder.with("shaderlint.toml", "[levels]\nperf = \"error\"\n");
    assert_eq!(severity(&folder), ("info".to_owned(), Some(0)));
    let folder = folder.with("shaderlint.toml", "[levels]\natomic-slot-claim = \"warn\"\n");
    assert_eq!(severity(&folder), ("warning".to_owned(), Some(1)));
    let folder = folder.with("shaderlint.toml", "[levels]\nperf = \"off\"\n");
    assert_eq!(severity(&folder), ("none".to_owned(), Some(0)));
}

/// A header that only Unity's kernels include is compiled as they are, whether or not it could be by itself.
#[test]
fn what_matters_less_wherever_it_is_included_does() {
    let folder = Folder::new("less").with("Ladder.hlsl", LADDER);
    assert_eq!(severities(&folder), ["Ladder.hlsl warning"]);
    let kernel = "#pragma kernel main\n#include \"Ladder.hlsl\"\n";
    let folder = folder.with("Kernel.compute", kernel);
    assert_eq!(severities(&folder), ["Ladder.hlsl info"]);
    // Another one has wave intrinsics.
    let folder = folder.with("Other.hlsl", "#include \"Ladder.hlsl\"\n");
    assert_eq!(severities(&folder), ["Ladder.hlsl warning"]);
}
