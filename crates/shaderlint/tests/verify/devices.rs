//! On the adapters there are.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use shaderlint_hlsl::NoIncludes;
use shaderlint_linter::{Settings, check_shader};
use shaderlint_rules::RULES;
use shaderlint_verify::run::{Trial, adapters, compare_and_time};
use snapbox::{assert_data_eq, str};

use super::pairs::{BUFFERS, copying};
use super::{NO_ADAPTER, has_adapter, root, unbroken, verify};

/// Also where there is no session, as in a container.
#[test]
#[cfg(target_os = "linux")]
fn drivers_are_not_heard() {
    if !has_adapter() {
        return;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_shaderlint"))
        .args(["verify", "fixtures/scan/ladder-64.hlsl", "--no-timing", "--quiet"])
        .env_remove("XDG_RUNTIME_DIR")
        .env_remove("NODEVICE_SELECT")
        .current_dir(root())
        .output()
        .expect("the program starts");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
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

/// 4099 is no float of 16 bits, and WGSL computes with 32.
#[test]
fn what_differs_where_floats_have_32_bits_for_16_is_not_called_different() {
    if !has_adapter() {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let said = |kernels: [String; 2]| {
        let mut files = ["half-a.hlsl", "half-b.hlsl"].into_iter();
        let [a, b] = kernels.map(|value| {
            let file = folder.join(files.next().unwrap_or_default());
            let text = format!(
                "RWStructuredBuffer<uint> Out;\n[numthreads(64, 1, 1)]\n\
                 void main(uint gi : SV_GroupIndex) {{ {value} }}\n"
            );
            std::fs::write(&file, text).expect("the folder can be written to");
            file.to_string_lossy().into_owned()
        });
        verify(&[&a, &b, "--no-timing"], ("LP_NATIVE_VECTOR_WIDTH", "128"))
    };
    for half in [
        "float16_t x = (float16_t)4099;",
        "min16float x = min16float(4099);",
    ] {
        let said = said(["(uint)x", "4100"].map(|value| format!("{half} Out[gi] = {value};")));
        assert!(!said.contains("NOT equivalent"), "{said}");
        assert!(said.contains("16-bit floats have 32 bits here"), "{said}");
    }
    let whole =
        said(["4099", "4100"].map(|value| format!("float halfSize = {value}; Out[gi] = (uint)halfSize;")));
    assert!(whole.contains("NOT equivalent"), "{whole}");
    assert!(!whole.contains("16-bit floats"), "{whole}");
}

/// How large the sums are that may be off by some roundings hangs on what is summed, not on what is read. An element that
/// is left out is more than that.
#[test]
fn floats_that_are_worked_out_before_they_are_summed_may_be_rounded() {
    if !has_adapter() {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let kernel = |element: &str, least: &str| {
        format!(
            "StructuredBuffer<float> Src; RWStructuredBuffer<float> Out;\ngroupshared float g[64];\n\
             [numthreads(64, 1, 1)]\nvoid Total(uint gi : SV_GroupIndex, uint3 id : SV_DispatchThreadID, uint3 gr : SV_GroupID)\n\
             {{\n    float x = Src[id.x];\n    g[gi] = gi >= {least} ? {element} : 0;\n    GroupMemoryBarrierWithGroupSync();\n\
             \x20   for (uint s = 32; s > 0; s >>= 1)\n    {{\n        if (gi < s) g[gi] += g[gi + s];\n\
             \x20       GroupMemoryBarrierWithGroupSync();\n    }}\n    if (gi == 0) Out[gr.x] = g[0];\n}}\n"
        )
    };
    let place = |name: &str, text: String| {
        let file = folder.join(name);
        std::fs::write(&file, text).expect("the folder can be written to");
        file.to_string_lossy().into_owned()
    };
    for element in ["x * x", "x * 1e6", "exp2(x)", "x + 1e5"] {
        let file = place("summed.hlsl", kernel(element, "0"));
        let said = verify(&[&file, "--no-timing"], ("LP_NATIVE_VECTOR_WIDTH", "128"));
        assert!(said.starts_with("0\n"), "{said}");
        let other = place("summed-but-one.hlsl", kernel(element, "1"));
        let said = verify(&[&file, &other, "--no-timing"], ("LP_NATIVE_VECTOR_WIDTH", "128"));
        assert!(said.starts_with("1\n"), "{said}");
    }
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
    timed     flagged [..] fixed [..] copy [..] ratio
    kernel    [..] ms [..] ms [..] ms [..]
    part ×64  [..] ms [..] ms [..] ms [..]
...
"#]]
    );
}

#[test]
fn an_adapter_is_chosen_by_name() {
    let file = "fixtures/scan/ladder-64.hlsl";
    assert_data_eq!(
        verify(&[file, "--adapter", "Nope"], NO_ADAPTER),
        "2\nerror: no adapter is called `Nope`: there are no adapters\n"
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
        .find(|line| line.contains(", in 1 group, where all read-only inputs are 0 but Src["));
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
    let others = [
        "hand-rolled-reduction",
        "atomic-slot-claim",
        "single-cell-atomic",
        "redundant-barrier",
    ];
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
            // No device can be told to order memory without waiting.
            let unsaid = unbroken(&said)
                .matches("in WGSL every barrier also waits for all threads")
                .count();
            assert!(equal + unsaid >= kernels, "{file} at {width} bits: {said}");
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
        let unordered = shaderlint_simt::unordered(&shader, id).as_sets;
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
    let trial = Arc::new(trial);
    for adapter in adapters() {
        let report = compare_and_time(&adapter, &trial, &mut |_| ()).expect("a run");
        assert!(report.is_match(), "{:?}", report.comparisons);
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
        said.contains(": differs: Z[0] is 64, should still be 0, in 1 group, "),
        "{said}"
    );
}

/// The verdict on two texts, run on the adapters there are.
fn of_two(name: &str, texts: [&str; 2]) -> String {
    let files =
        ["a", "b"].map(|part| Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{part}.hlsl")));
    for (file, text) in files.iter().zip(texts) {
        std::fs::write(file, text).expect("the folder can be written to");
    }
    let [a, b] = files.each_ref().map(|file| file.to_string_lossy());
    verify(
        &[&a, &b, "--no-timing", "--quiet"],
        ("LP_NATIVE_VECTOR_WIDTH", "256"),
    )
}

/// What a device leaves where threads may race is one of several results, and no difference.
#[test]
fn kernels_that_may_race_are_not_called_different() {
    if !has_adapter() {
        return;
    }
    let kernel = |body: &str| copying(&format!("{BUFFERS} groupshared uint g[64];"), "", body);
    let init = "g[gi] = 0; GroupMemoryBarrierWithGroupSync();";
    let (write, read) = ("if (id.x == 0) g[0] = 3;", "if (id.x == 1) Y[1] = g[0];");
    let texts =
        [format!("{init} {write} {read}"), format!("{init} {read} {write}")].map(|body| kernel(&body));
    let said = of_two("may-race", [&texts[0], &texts[1]]);
    assert!(
        said.starts_with("1\nMain: not proved, and the runs show nothing"),
        "{said}"
    );
}

/// A method stores where its object is; WGSL would copy all of it.
#[test]
fn methods_that_store_in_groupshared_memory_are_not_run() {
    if !has_adapter() {
        return;
    }
    let globals = format!(
        "{BUFFERS} struct Box {{ uint v[64]; void put(uint i, uint x) {{ v[i] = x; }} }}; groupshared Box box;"
    );
    let kernel = |store: &str| {
        let body = format!("{store} GroupMemoryBarrierWithGroupSync(); Y[id.x] = box.v[gi ^ 1];");
        copying(&globals, "", &body)
    };
    let texts = [kernel("box.put(gi, X[id.x]);"), kernel("box.v[gi] = X[id.x];")];
    for order in [[&*texts[0], &texts[1]], [&texts[1], &texts[0]]] {
        let said = of_two("groupshared-method", order);
        assert!(said.starts_with("1\nMain: not proved and not run"), "{said}");
    }
}
