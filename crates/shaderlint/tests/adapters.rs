//! Adapters that fail: what is said of them, and that the next is still tried.
//!
//! A driver that fails on purpose (`adapters/faulty_driver.c`) stands beside Mesa's lavapipe: it hands everything to that,
//! but for one function, which answers as Vulkan lets drivers answer.
#![cfg(all(feature = "gpu", target_os = "linux"))]
#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

const KERNEL: &str = "StructuredBuffer<uint2> Src; RWStructuredBuffer<uint> Dst; cbuffer C { uint Passes; };
[numthreads(64, 1, 1)]
void Main(uint3 id : SV_DispatchThreadID)
{
    uint x = Src[id.x & 63].x;
    for (uint i = 0; i < Passes; ++i) x = (x * 1664525 + 1013904223) ^ (x >> 7);
    Dst[id.x & 63] = x;
}
";

struct Place {
    folder: PathBuf,
    /// What the loader reads of lavapipe, and where it is.
    good: PathBuf,
    driver: String,
    /// What it reads of the driver that fails.
    faulty: PathBuf,
}

/// A folder with two kernels that are alike, and a driver that fails; `None` where there is no lavapipe or no compiler.
fn place(name: &str, kernel_toml: &str) -> Option<Place> {
    let made = try_place(name, kernel_toml);
    let is_required = std::env::var_os("SHADERLINT_REQUIRE_GPU").is_some_and(|value| value == "1");
    assert!(
        made.is_some() || !is_required,
        "SHADERLINT_REQUIRE_GPU=1, and there is no lavapipe, or no C compiler"
    );
    if made.is_none() {
        eprintln!("skipped: no lavapipe, or no C compiler");
    }
    made
}

fn try_place(name: &str, kernel_toml: &str) -> Option<Place> {
    let manifests = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"].map(std::fs::read_dir);
    let good = (manifests.into_iter().flatten().flatten().flatten())
        .map(|entry| entry.path())
        .find(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("lvp_icd"))
        })?;
    let manifest: serde_json::Value = serde_json::from_slice(&std::fs::read(&good).ok()?).ok()?;
    let driver = manifest["ICD"]["library_path"].as_str()?.to_owned();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).ok()?;
    let library = folder.join("faulty_driver.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/adapters/faulty_driver.c");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .arg("-ldl")
        .status()
        .ok()?;
    assert!(compiled.success(), "the driver that fails is not C");
    let faulty = folder.join("faulty.json");
    let icd = serde_json::json!({
        "file_format_version": "1.0.0",
        "ICD": { "library_path": library, "api_version": manifest["ICD"]["api_version"] },
    });
    for (path, text) in [
        (faulty.clone(), icd.to_string()),
        (folder.join("a.hlsl"), KERNEL.to_owned()),
        (folder.join("b.hlsl"), KERNEL.replace("id.x & 63", "63 & id.x")),
        (folder.join("kernel.toml"), kernel_toml.to_owned()),
    ] {
        std::fs::write(path, text).ok()?;
    }
    Some(Place {
        folder,
        good,
        driver,
        faulty,
    })
}

impl Place {
    /// Verifies the two kernels on the adapters of these manifests, in the loader's order.
    fn verify(&self, fault: &str, manifests: &[&Path], arguments: &[&str]) -> Output {
        let manifests: Vec<_> = manifests.iter().map(|path| path.to_string_lossy()).collect();
        Command::new(env!("CARGO_BIN_EXE_shaderlint"))
            .args(["verify", "a.hlsl", "b.hlsl"])
            .args(arguments)
            .env("VK_DRIVER_FILES", manifests.join(":"))
            .env("DRIVER", &self.driver)
            .env("FAULT", fault)
            .current_dir(&self.folder)
            .output()
            .expect("the program starts")
    }

    /// What is said of each adapter, in order: its name, how that ended and in what words.
    fn rows(&self, fault: &str, manifests: &[&Path], arguments: &[&str]) -> Vec<[String; 3]> {
        let arguments = [arguments, &["--output-format", "json"]].concat();
        let output = self.verify(fault, manifests, &arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        // The kernels are proved, whatever becomes of the adapters.
        assert_eq!(output.status.code(), Some(0), "{fault}: {said}");
        assert_eq!(said, "", "{fault}");
        let output: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let rows = output["kernels"][0]["devices"].as_array().expect("rows");
        let words = |row: &serde_json::Value| {
            ["adapter", "outcome", "text"].map(|key| row[key].as_str().unwrap_or_default().to_owned())
        };
        rows.iter().map(words).collect()
    }
}

const SMALL: &str = "set = { Passes = 3 }\nlengths = { Src = 64, Dst = 64 }\n";

/// The driver that fails is tried first, lavapipe after it.
#[test]
fn the_next_adapter_is_tried_after_one_that_fails() {
    // 128 MiB for inputs.
    let large = "set = { Passes = 3 }\nlengths = { Src = 0x1000000, Dst = 64 }\n";
    let cases = [
        ("lost", SMALL, "not run: the device was lost: Device is lost"),
        (
            "memory",
            large,
            "not run: out of memory: no room for a buffer of 134217728 bytes",
        ),
        (
            "refused",
            SMALL,
            "not run: the adapter refused the kernel: its driver builds no pipeline from it: ",
        ),
        ("closed", SMALL, "not run: the adapter gave no device: "),
        ("endless", SMALL, "not run: a dispatch did not finish within 20 s"),
    ];
    for (fault, kernel_toml, expected) in cases {
        let Some(place) = place(&format!("adapters-{fault}"), kernel_toml) else {
            return;
        };
        // The loader's order is the other way round.
        let rows = place.rows(fault, &[&place.good, &place.faulty], &["--no-timing"]);
        let [[first, outcome, text], [second, alike, words]] = rows.as_slice() else {
            panic!("{fault}: {rows:?}")
        };
        assert_eq!(
            (first.as_str(), outcome.as_str()),
            ("a faulty driver", "not-run"),
            "{fault}"
        );
        assert!(text.starts_with(expected), "{fault}: {text}");
        assert!(second.starts_with("llvmpipe"), "{fault}: {second}");
        assert_eq!(alike, "alike", "{fault}: {words}");
        // Where no adapter is left, that is said, and the proof stands.
        let alone = place.rows(fault, &[&place.faulty], &["--no-timing"]);
        assert_eq!(alone.len(), 1, "{fault}: {alone:?}");
        if fault != "endless" {
            let required = place.verify(fault, &[&place.faulty], &["--no-timing", "--require-gpu"]);
            assert_eq!(required.status.code(), Some(2), "{fault}");
        }
    }
}

/// A driver that never returns from compiling: nothing is heard of it for a minute.
#[test]
fn a_driver_that_gets_stuck_is_given_up() {
    let Some(place) = place("adapters-stuck", SMALL) else {
        return;
    };
    let rows = place.rows("stuck", &[&place.good, &place.faulty], &["--no-timing"]);
    let said: Vec<_> = rows
        .iter()
        .map(|[_, outcome, text]| (outcome.as_str(), text.as_str()))
        .collect();
    assert_eq!(
        said[0],
        ("not-run", "not run: the driver did not respond within 60 s")
    );
    assert_eq!(said[1].0, "alike");
}

/// No fault but the kernel's own: a dispatch that takes minutes.
#[test]
fn a_kernel_that_does_not_end_is_given_up() {
    let slow = "groups = [1024, 64, 1]\nset = { Passes = 65000 }\nlengths = { Src = 64, Dst = 64 }\n";
    let Some(place) = place("adapters-slow", slow) else {
        return;
    };
    let start = Instant::now();
    let rows = place.rows("", &[&place.good], &["--no-timing"]);
    assert_eq!(rows[0][2], "not run: a dispatch did not finish within 20 s");
    assert!(start.elapsed() < Duration::from_secs(60));
}
