//! `shaderlint verify` from outside, on the adapters there are and on none.
#![cfg(feature = "gpu")]

#[path = "../support/adapter.rs"]
mod adapter;
mod devices;
mod inputs;
mod interfaces;
mod pairs;

use std::path::{Path, PathBuf};
use std::process::Command;

use adapter::has_adapter;
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
        // A kernel in Mesa's cache has the waves it was compiled for, whatever is asked for now.
        .env("MESA_SHADER_CACHE_DISABLE", "true")
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

#[test]
fn without_an_adapter_there_is_still_the_proof() {
    let proved = str![[r#"
0
ScanByLadder (64×1×1) against its fix
  linear       waves of 4, 8, 16, 32, 64, 128: equal
  ragged       [..]
...
  interpreter  waves of 4, 8, 16, 32, 64, 128: equal in 448 words written
  no GPU adapter: nothing ran
  verdict      proved equal at every wave size, if waves hold consecutive
               threads (linear packing)

"#]];
    let file = "fixtures/scan/ladder-64.hlsl";
    assert_data_eq!(verify(&[file], NO_ADAPTER), proved);
    assert!(verify(&[file, "--require-gpu"], NO_ADAPTER).starts_with("2\n"));
    let other = "fixtures/scan/ladder-64-published-replacement.hlsl";
    assert!(verify(&[file, other], NO_ADAPTER).starts_with("1\n"));
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
        "0\nfixtures/rules/groupshared-race/bad.hlsl: 1 finding with a fix is a defect: a kernel with a defect has no \
         results to compare with\n"
    );
    assert_data_eq!(
        verify(
            &["fixtures/rules/groupshared-race/bad-last-wave.hlsl"],
            NO_ADAPTER
        ),
        "0\nfixtures/rules/groupshared-race/bad-last-wave.hlsl: no kernel has a finding with a fix\n"
    );
    assert_data_eq!(
        verify(&["fixtures/scan/ladder-64.hlsl", "--entry", "Nope"], NO_ADAPTER),
        "2\nerror: fixtures/scan/ladder-64.hlsl: no entry point is called `Nope`: expected one of ScanByLadder\n"
    );
}

/// Files that could not be read, and folders without any, end as what could not be done; paths are looked at before
/// adapters.
#[test]
fn what_could_not_be_read_is_said() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("unread");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(folder.join("none")).expect("a folder can be made");
    let broken = "RWStructuredBuffer<uint> Out;
[numthreads(64, 1, 1)]
void Main(uint3 id : SV_DispatchThreadID) { Out[id.x] = (id.y; }
";
    std::fs::write(folder.join("broken.hlsl"), broken).expect("the folder can be written to");
    std::fs::write(folder.join("none/header.hlsl"), "float Unused;").expect("the folder can be written to");
    let verify = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_shaderlint"))
            .arg("verify")
            .args(arguments)
            .env(NO_ADAPTER.0, NO_ADAPTER.1)
            .current_dir(&folder)
            .output()
            .expect("the program starts");
        let [out, err] =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        format!("{}\n{out}{err}", output.status.code().unwrap_or(-1))
    };
    assert_data_eq!(
        verify(&["broken.hlsl"]),
        str![[r#"
2
warning: could not parse this statement
  ┌─ broken.hlsl:3:45
  │
3 │ void Main(uint3 id : SV_DispatchThreadID) { Out[id.x] = (id.y; }
  │                                             ^^^^^^^^^^^^^^^^^^

error: broken.hlsl not read in full; in the part that was read, no kernel has a finding with a fix

"#]]
    );
    assert_data_eq!(
        verify(&["."]),
        str![[r#"
2
.: no kernel has a finding with a fix, in 1 file
1 file not read in full (`shaderlint --verbose` says why)

"#]]
    );
    let racing = "RWStructuredBuffer<uint> Out;
groupshared uint g_A[64];
[numthreads(64, 1, 1)]
void Main(uint g : SV_GroupIndex)
{
    g_A[g] = g;
    Out[g] = g_A[63 - g];
}
";
    std::fs::create_dir_all(folder.join("racing")).expect("a folder can be made");
    std::fs::write(folder.join("racing/a.hlsl"), racing).expect("the folder can be written to");
    assert_data_eq!(
        verify(&["racing/a.hlsl"]),
        str![[r#"
0
racing/a.hlsl: 1 finding with a fix is a defect: a kernel with a defect has no results to compare with

"#]]
    );
    assert_data_eq!(
        verify(&["racing"]),
        str![[r#"
0
racing: 1 finding with a fix is a defect: a kernel with a defect has no results to compare with, in 1 file

"#]]
    );
    assert_eq!(verify(&["none"]), "2\nerror: none: no file has a kernel\n");
    assert_eq!(
        verify(&["nowhere.hlsl", "--adapter", "Nope"]),
        "2\nerror: nowhere.hlsl: no such file or folder\n"
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
ScanByLadder: proved equal at every wave size, if waves hold consecutive threads (linear packing); other values of LANES were not read

"#]]
    );
    assert!(verify(&["fixtures/scan", "fixtures/scan/ladder.hlsl"], NO_ADAPTER).starts_with("2\n"));
}
