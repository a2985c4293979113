//! `shaderlint verify` from outside, on the adapters there are and on none.
#![cfg(feature = "gpu")]
#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

use std::path::{Path, PathBuf};
use std::process::Command;

use shaderlint_hlsl::NoIncludes;
use shaderlint_linter::{Settings, check_shader};
use shaderlint_rules::RULES;
use shaderlint_verify::run::{Trial, compare_and_time_everywhere};
use snapbox::{assert_data_eq, str};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Exit code, standard output and standard error of `shaderlint verify` in the project's folder.
fn verify(arguments: &[&str], variable: (&str, &str)) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_shaderlint"))
        .arg("verify")
        .args(arguments)
        .env(variable.0, variable.1)
        .current_dir(root())
        .output()
        .expect("the program starts");
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    format!("{}\n{out}{err}", output.status.code().unwrap_or(-1))
}

/// The text with lines that were broken made whole.
fn unbroken(said: &str) -> String {
    let hanging = format!("\n{}", " ".repeat(15));
    said.replace(&hanging, " ").replace("\n    ", " ")
}

const NO_ADAPTER: (&str, &str) = ("VK_DRIVER_FILES", "/there/is/none");

/// Whether there is an adapter. Without any, says so in one line; with `SHADERLINT_REQUIRE_GPU=1` that is a failure.
fn has_adapter() -> bool {
    let has = !shaderlint_verify::run::adapters().is_empty();
    let is_required = std::env::var_os("SHADERLINT_REQUIRE_GPU").is_some_and(|value| value == "1");
    assert!(
        has || !is_required,
        "SHADERLINT_REQUIRE_GPU=1, and there is no adapter"
    );
    if !has {
        eprintln!("skipped: no adapter");
    }
    has
}

#[test]
fn without_an_adapter_there_is_still_the_proof() {
    let proved = str![[r#"
0
ScanByLadder (64×1×1) against its fix
  linear       waves of 4, 8, 16, 32, 64, 128: equal
  ragged       [..]
...
  interpreter  waves of 4, 8, 16, 32, 64, 128: equal in 448 words written
  no GPU adapter: nothing was run
  verdict      proved equal at every wave size, if waves hold consecutive
               threads (linear packing)

"#]];
    let file = "fixtures/scan/ladder-64.hlsl";
    assert_data_eq!(verify(&[file], NO_ADAPTER), proved);
    assert!(verify(&[file, "--require-gpu"], NO_ADAPTER).starts_with("2\n"));
    let other = "fixtures/scan/ladder-64-published-replacement.hlsl";
    assert!(verify(&[file, other], NO_ADAPTER).starts_with("1\n"));
}

/// WGSL has no lane ids in a group of several rows.
#[test]
fn a_group_that_is_flattened_is_said_to_be() {
    if !has_adapter() {
        return;
    }
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lane-ids.hlsl");
    let kernel = "RWStructuredBuffer<uint> Out;
[numthreads(8, 8, 1)]
void main(uint gi : SV_GroupIndex) { Out[gi] = WaveReadLaneAt(gi, WaveGetLaneIndex()); }
";
    std::fs::write(&file, kernel).expect("the folder can be written to");
    let file = file.to_string_lossy();
    let said = verify(&[&file, &file, "--no-timing"], ("LP_NATIVE_VECTOR_WIDTH", "128"));
    assert!(said.starts_with("0\n"), "{said}");
    let remark = "  main uses lane ids: its group of 8×8×1 ran as one row of 64 threads\n";
    assert_eq!(said.matches(remark).count(), 1, "{said}");
}

/// The size is a macro's: the fix is right for whatever it is defined as.
#[test]
fn a_fix_follows_the_macro_for_the_size() {
    let fixed = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ladder-fixed.hlsl");
    std::fs::copy(root().join("fixtures/scan/ladder.hlsl"), &fixed).expect("the fixture can be copied");
    let fixed = fixed.to_string_lossy();
    let status = Command::new(env!("CARGO_BIN_EXE_shaderlint"))
        .args(["--quiet", "--fix", "--unsafe-fixes", &fixed])
        .status()
        .expect("the program starts");
    assert!(status.success());
    for lanes in ["32", "100", "256", "1024"] {
        let define = format!("LANES={lanes}");
        let said = verify(&["fixtures/scan/ladder.hlsl", &fixed, "-D", &define], NO_ADAPTER);
        assert!(said.starts_with("0\n"), "{lanes}: {said}");
    }
}

#[test]
fn what_cannot_be_verified_is_said() {
    assert_data_eq!(
        verify(&["fixtures/rules/groupshared-race/bad.hlsl"], NO_ADAPTER),
        "0\nfixtures/rules/groupshared-race/bad.hlsl: no kernel has a finding with a fix\n"
    );
    assert_data_eq!(
        verify(&["fixtures/scan/ladder-64.hlsl", "--entry", "Nope"], NO_ADAPTER),
        "2\nerror: fixtures/scan/ladder-64.hlsl: no entry point is called `Nope`; there are ScanByLadder\n"
    );
}

#[test]
fn a_fix_is_timed_beside_a_copy() {
    if !has_adapter() {
        return;
    }
    assert_data_eq!(
        verify(&["fixtures/scan/ladder-64.hlsl"], ("NODEVICE_SELECT", "1")),
        str![[r#"
0
ScanByLadder (64×1×1) against its fix
...
  device       [..], waves of [..] words alike in
               4 cases, 768 of them written
    timed       flagged [..] fixed [..] copy [..] ratio
    kernel      [..] ms [..] ms [..] ms [..]
    ladder ×64  [..] ms [..] ms [..] ms [..]
...
"#]]
    );
}

#[test]
fn results_are_json_for_other_programs() {
    let said = verify(
        &["fixtures/scan/ladder-64.hlsl", "--output-format", "json"],
        NO_ADAPTER,
    );
    let said = said.strip_prefix("0\n").expect("equal");
    let output: serde_json::Value = serde_json::from_str(said).expect("JSON and nothing else");
    let kernel = &output["kernels"][0];
    assert_eq!(kernel["verdict"]["kind"], "proved");
    assert_eq!(kernel["findings"][0]["rule"], "hillis-steele-scan");
    assert_eq!(kernel["findings"][0]["line"], 13);
    let linear = &kernel["proof"]["maps"][0];
    assert_eq!(
        (&linear["map"], &linear["is_expected"]),
        (&"linear".into(), &true.into())
    );
    assert_eq!(linear["cells"][5]["wave_size"], 128);
    assert!(
        linear["cells"]
            .as_array()
            .expect("cells")
            .iter()
            .all(|cell| cell["outcome"] == "equal")
    );
    assert!(
        kernel["suggested"]["wgsl"]
            .as_str()
            .expect("WGSL")
            .starts_with("enable subgroups;")
    );
}

#[test]
fn every_file_of_a_folder_is_verified() {
    // Without the folders of pipelines that lie beside them.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ladders");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    for entry in std::fs::read_dir(root().join("fixtures/scan")).expect("the fixtures are there") {
        let path = entry.expect("a fixture can be listed").path();
        if path.is_file() {
            std::fs::copy(&path, folder.join(path.file_name().unwrap_or_default())).expect("a copy");
        }
    }
    let folder = folder.to_string_lossy();
    let said = verify(&[&folder, "--quiet"], NO_ADAPTER).replace(&*folder, "fixtures/scan");
    assert_data_eq!(
        said,
        str![[r#"
0
fixtures/scan/ladder-64.hlsl
ScanByLadder: proved equal at every wave size, if waves hold consecutive threads (linear packing)
fixtures/scan/ladder.hlsl
ScanByLadder: proved equal at every wave size, if waves hold consecutive threads (linear packing)

"#]]
    );
    assert!(verify(&["fixtures/scan", "fixtures/scan/ladder.hlsl"], NO_ADAPTER).starts_with("2\n"));
}

/// What the interpreter finds of two kernels that are alike if `Count` is 100.
fn interpreted(folder: &str, arguments: &[&str]) -> String {
    let (first, second) = (format!("{folder}/first.hlsl"), format!("{folder}/second.hlsl"));
    let mut all = vec![first.as_str(), second.as_str()];
    all.extend(arguments);
    let said = verify(&all, NO_ADAPTER);
    let whole = unbroken(&said);
    let line = whole.lines().find(|line| line.contains("interpreter"));
    line.unwrap_or(&said).trim().to_owned()
}

#[test]
fn uniforms_are_what_they_are_said_to_be() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("uniforms");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    let kernel = |count: &str| {
        format!(
            "cbuffer Constants {{ uint Count; }};
RWStructuredBuffer<uint> Out;
[numthreads(64, 1, 1)]
void Main(uint3 id : SV_DispatchThreadID) {{ Out[id.x] = id.x < {count} ? 1 : Count; }}
"
        )
    };
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("a file");
    write("first.hlsl", &kernel("Count"));
    write("second.hlsl", &kernel("100"));
    let shown = folder.to_string_lossy();
    let all = "interpreter  waves of 4, 8, 16, 32, 64, 128:";
    assert_eq!(
        interpreted(&shown, &[]),
        format!("{all} differs at Out[128], with Count = 192: expected 1, got 192")
    );
    assert_eq!(
        interpreted(&shown, &["--set", "Count=100"]),
        format!("{all} equal in 448 words written")
    );
    let said = interpreted(&shown, &["--set", "Cuont=100"]);
    let unknown = "first.hlsl: no buffer and no uniform is called `Cuont`; did you mean `Count`?";
    assert!(said.contains("--set Cuont: ") && said.contains(unknown), "{said}");
    write(
        "kernel.toml",
        "groups = [1, 1, 1]\n[entry.Main]\nset = { Count = 100 }\n",
    );
    assert_eq!(
        interpreted(&shown, &[]),
        format!("{all} equal in 256 words written")
    );
    write("kernel.toml", "groups = [1, 1, 1]\nsets = {}\n");
    let wrong = |expected: &str| {
        let said = interpreted(&shown, &[]);
        let said: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
        assert_eq!(said.join("\n").replace(&*shown, "FOLDER"), expected);
    };
    wrong(
        "2
error: unknown field `sets`, expected one of `groups`, `set`, `lengths`, `contents`, `entry`
  ┌─ FOLDER/kernel.toml:2:1
  │
2 │ sets = {}
  │ ^^^^",
    );
    write(
        "kernel.toml",
        "groups = [1, 1, 1]\n\n[entry.Mian]\nset = { Count = 100 }\n",
    );
    wrong(
        "2
error: no kernel beside this file is called `Mian`; did you mean `Main`?
  ┌─ FOLDER/kernel.toml:3:8
  │
3 │ [entry.Mian]
  │        ^^^^",
    );
    write("kernel.toml", "set = { cuont = 100 }\n");
    wrong(
        "2
error: no buffer and no uniform is called `cuont`; did you mean `Count`?
  ┌─ FOLDER/kernel.toml:1:9
  │
1 │ set = { cuont = 100 }
  │         ^^^^^",
    );
}

/// Another level of a texture than the first is some function of the place.
#[test]
fn what_is_replaced_is_said() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("texture.hlsl");
    let ladder = std::fs::read_to_string(root().join("fixtures/scan/ladder-64.hlsl")).expect("the fixture");
    let text = ladder
        .replace("StructuredBuffer<uint> Src;\nRW", "Texture2D<uint> Src;\nRW")
        .replace("Src[id.x]", "Src.Load(int3(id.x, 0, 1))");
    std::fs::write(&file, text).expect("the folder can be written to");
    let said = verify(&[&file.to_string_lossy(), "--no-timing"], NO_ADAPTER);
    assert!(said.starts_with("0\n"), "{said}");
    let remark = "  Src.Load: without a WGSL form, and on both sides a hash of what it is given; times say nothing of it\n";
    assert!(unbroken(&said).contains(remark), "{said}");
    let output = Command::new(env!("CARGO_BIN_EXE_shaderlint"))
        .arg("wgsl")
        .arg(&file)
        .output();
    let warned = String::from_utf8_lossy(&output.expect("the program starts").stderr).into_owned();
    assert!(warned.contains("`Src.Load` has no WGSL form"), "{warned}");
}

/// A ladder between textures, and what is wrong in one.
#[test]
fn textures_are_arrays() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("textures");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let ladder = std::fs::read_to_string(root().join("fixtures/scan/ladder-64.hlsl")).expect("the fixture");
    let text = ladder
        .replace(
            "StructuredBuffer<uint> Src;\nRWStructuredBuffer<uint> Out;",
            "Texture2D<uint> Src;\nRWTexture2D<uint> Out;",
        )
        .replace("Src[id.x]", "Src.Load(int3(id.x, 2, 0))")
        .replace("Out[id.x]", "Out[uint2(id.x, 1)]");
    assert!(text.contains("RWTexture2D"), "{text}");
    let write = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).expect("the folder can be written to");
        folder.join(name).to_string_lossy().into_owned()
    };
    let right = write("right.hlsl", &text);
    // As a subscript, it is the same texel.
    let subscript = write(
        "subscript.hlsl",
        &text.replace("Src.Load(int3(id.x, 2, 0))", "Src[uint2(id.x, 2)]"),
    );
    let wrong = write("wrong.hlsl", &text.replace("uint2(id.x, 1)", "uint2(id.x, 3)"));
    let all = "waves of 4, 8, 16, 32, 64, 128";
    let said = unbroken(&verify(&[&right, "--no-timing"], ("NODEVICE_SELECT", "1")));
    assert!(said.starts_with("0\n"), "{said}");
    assert!(
        said.contains(&format!("interpreter  {all}: equal in 470 words written\n")),
        "{said}"
    );
    let remark = "  Out, Src: run as a buffer of texels, row after row, and so not timed\n";
    assert_eq!(said.matches(remark).count(), 1, "{said}");
    assert!(!said.contains("hash"), "{said}");
    assert!(
        !has_adapter() || said.contains(" words alike in 5 cases, 790 of them written\n"),
        "{said}"
    );
    let said = verify(&[&right, &subscript, "--no-timing"], NO_ADAPTER);
    assert!(
        said.starts_with("0\n") && said.contains("verdict      proved equal"),
        "{said}"
    );
    let said = unbroken(&verify(
        &[&right, &wrong, "--no-timing"],
        ("NODEVICE_SELECT", "1"),
    ));
    assert!(said.starts_with("1\n"), "{said}");
    if has_adapter() {
        let texel = ": differs: Out[0][1] is left at ";
        assert!(said.contains(texel), "{said}");
    }
    write("kernel.toml", "lengths = { Out = 64 }\n");
    let said = verify(&[&right], NO_ADAPTER);
    assert!(
        said.contains("error: `Out` is a texture, which is as large as the dispatch\n"),
        "{said}"
    );
}

#[test]
fn an_adapter_is_chosen_by_name() {
    let file = "fixtures/scan/ladder-64.hlsl";
    assert_data_eq!(
        verify(&[file, "--adapter", "Nope"], NO_ADAPTER),
        "2\nerror: no adapter is called `Nope`: there is none at all\n"
    );
}

#[test]
fn a_difference_is_made_small() {
    if !has_adapter() {
        return;
    }
    let files = [
        "fixtures/scan/ladder-64.hlsl",
        "fixtures/scan/ladder-64-published-replacement.hlsl",
    ];
    let said = verify(&files, ("NODEVICE_SELECT", "1"));
    assert!(said.starts_with("1\n"), "{said}");
    let whole = unbroken(&said);
    let shown = whole
        .lines()
        .find(|line| line.contains(", in 1 group, where all inputs are 0 but Src["));
    let shown = shown.unwrap_or_else(|| panic!("{said}"));
    assert_eq!(shown.matches(" = ").count(), 1, "one word is enough: {shown}");
}

/// Every fix of every fixture, at waves of 4, 8 and 16 lanes where the adapter is Mesa's.
#[test]
fn every_offered_fix_is_equal_on_the_adapters() {
    if !has_adapter() {
        return;
    }
    let scans = ["hillis-steele-scan", "blelloch-scan", "hand-rolled-scan"];
    let others = ["hand-rolled-reduction", "atomic-slot-claim", "single-cell-atomic"];
    let folders = scans.into_iter().chain(others);
    let mut files: Vec<PathBuf> = folders
        .map(|rule| root().join("fixtures/rules").join(rule))
        .chain([root().join("fixtures/kernels")])
        .flat_map(|folder| std::fs::read_dir(folder).expect("the fixtures are there"))
        .map(|entry| entry.expect("a fixture can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "hlsl"))
        .collect();
    files.sort();
    let mut verified = 0;
    for path in files {
        for width in ["128", "256", "512"] {
            let file = path.to_string_lossy();
            let said = verify(&[&file, "--no-timing"], ("LP_NATIVE_VECTOR_WIDTH", width));
            assert!(said.starts_with("0\n"), "{file} at {width} bits: {said}");
            let kernels = said
                .lines()
                .filter(|line| line.contains("against its fix"))
                .count();
            let equal = unbroken(&said).matches(" words alike in ").count();
            assert!(equal >= kernels, "{file} at {width} bits: {said}");
            verified += equal;
        }
    }
    assert!(verified > 30, "{verified}");
}

/// The code that is shown for atomics on few cells, put in their places.
#[test]
fn code_for_bins_is_equal_on_the_adapters() {
    if !has_adapter() {
        return;
    }
    let text = "StructuredBuffer<uint> Src; RWStructuredBuffer<uint> Counts; RWStructuredBuffer<uint> Lists;
RWByteAddressBuffer Words; groupshared uint g_Kinds[6];
[numthreads(64, 1, 1)]
void main(uint gi : SV_GroupIndex)
{
    if (gi < 6) { g_Kinds[gi] = 0; }
    GroupMemoryBarrierWithGroupSync();
    uint own = Src[gi];
    if (own > 100)
    {
        InterlockedAdd(g_Kinds[own % 6], 1);
        uint slot;
        InterlockedAdd(Counts[own & 3], 2, slot);
        Lists[128 * (own & 3) + slot] = own;
        Words.InterlockedAdd(4 * (own & 7), own & 15);
    }
    GroupMemoryBarrierWithGroupSync();
    if (gi < 6) { Counts[8 + gi] = g_Kinds[gi]; }
}
";
    let read = |text: &str| shaderlint_hlsl::read("test.hlsl", text.as_bytes(), &[], &NoIncludes).0;
    let flagged = read(text);
    let findings = check_shader(&flagged, RULES, &Settings::default()).findings;
    let mut better = text.to_owned();
    for finding in findings.iter().rev() {
        assert_eq!(finding.rule, "small-bin-atomic");
        let code = finding.notes.iter().find_map(|note| note.strip_prefix("help: "));
        let (_, code) = code.and_then(|code| code.split_once('\n')).expect("code");
        let (start, end) = (
            finding.primary.place.start as usize,
            finding.primary.place.end as usize,
        );
        better.replace_range(start..=end, &format!("{{\n{code}\n}}"));
    }
    assert_eq!(
        better.matches("WaveReadLaneFirst(waveBin)").count(),
        3,
        "{better}"
    );
    let entry = |text: &str| {
        let shader = read(text);
        let (id, _) = shader.entry_points().next().expect("an entry point");
        let unordered = shaderlint_simt::unordered(&shader, id);
        (
            shaderlint_verify::lower(&shader, id).expect("a kernel that can be lowered"),
            unordered,
        )
    };
    let ((flagged, unordered), (better, _)) = (entry(text), entry(&better));
    let mut trial = Trial::new(&flagged, &better);
    trial.cases.truncate(1);
    trial.cases[0].groups = [1, 1, 1];
    trial.cases[0].inputs.lengths.insert("Lists".into(), 512);
    trial.unordered = unordered;
    trial.is_untimed = true;
    for (_, report) in compare_and_time_everywhere(&trial) {
        let report = report.expect("a run");
        assert!(report.is_match(), "{:?}", report.comparisons);
    }
}

/// What is said, without a device, of two files with these texts.
fn of_two(name: &str, texts: [&str; 2], more: &[&str]) -> String {
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

fn copying(globals: &str, attributes: &str, body: &str) -> String {
    format!(
        "{globals}\n{attributes}[numthreads(64, 1, 1)]\nvoid Main(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID) {{ {body} }}\n"
    )
}

const BUFFERS: &str =
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
            "of the members that host code sets, the order is first `Count` in a.hlsl, and first `Mode` in b.hlsl",
        ),
        (
            other("uint Count; uint Mode;", "uint Count; float4 Wide; uint Mode;"),
            "what comes before `Mode` in its constant buffer is Scalar(Uint) in a.hlsl, and Scalar(Uint), Vector(Float, 4) in b.hlsl",
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
            format!("2 error: these are kernels of two interfaces: {expected}\n")
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
        format!("0 Main: proved equal in waves of 32, all that both allow {all}\n")
    );
    let early =
        "if (id.x >= Count) return; s[gi] = X[id.x]; GroupMemoryBarrierWithGroupSync(); Y[id.x] = s[gi];";
    assert_eq!(
        verdict([early, early], ""),
        format!("0 Main: proved equal at every wave size {all}, where every thread reaches the barriers\n")
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
            "moved",
            moved,
            "differs at Raw[4] (thread 0): expected Src[0].y, got 7",
            "differs at Raw[4]:",
            "differs: Raw[4] is 7, should be 0, in 1 group, where all inputs are 0",
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

/// A device sees it too.
#[test]
fn a_buffer_that_one_kernel_leaves_alone_is_compared() {
    if !has_adapter() {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("extra");
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let files = [
        ("a.hlsl", "Y[id.x] = 1;"),
        ("b.hlsl", "Y[id.x] = 1; InterlockedAdd(Z[0], 1);"),
    ];
    let files = files.map(|(file, body)| {
        let path = folder.join(file);
        let kernel = copying(&format!("{BUFFERS} RWStructuredBuffer<uint> Z;"), "", body);
        std::fs::write(&path, kernel).expect("the folder can be written to");
        path.to_string_lossy().into_owned()
    });
    let said = unbroken(&verify(
        &[&files[0], &files[1], "--no-timing"],
        ("NODEVICE_SELECT", "1"),
    ));
    assert!(
        said.contains(": differs: Z[0] is 64, should be left at 0, in 1 group, "),
        "{said}"
    );
}
