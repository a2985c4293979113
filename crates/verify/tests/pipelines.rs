//! Pipelines on every adapter against the CPU, at lengths that are no multiple of anything.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests fail and speak")]

mod support;

use std::path::{Path, PathBuf};

use shaderlint_hlsl::NoIncludes;
use shaderlint_verify::lower;
use shaderlint_verify::pipeline::{Linked, Pipeline};
use shaderlint_verify::run::{Device, Mismatch, Mode, Overrun, probe_waves, sample_words};

const SIZES: [usize; 14] = [
    0, 1, 2, 3, 31, 255, 257, 511, 1000, 4095, 4097, 65_536, 70_001, 100_000,
];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// The folders below one of the fixtures' that hold a `pipeline.toml`.
fn pipelines(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(fixtures().join(folder)).unwrap();
    let mut folders: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("pipeline.toml").exists())
        .collect();
    folders.sort();
    folders
}

/// `edit` is made to the kernels' text.
fn linked(folder: &Path, toml: &str, edit: impl Fn(String) -> String) -> Linked {
    let pipeline = Pipeline::parse(toml).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let kernels = pipeline.kernels.iter().map(|kernel| {
        let text = edit(std::fs::read_to_string(folder.join(&kernel.file)).unwrap());
        let (shader, _) = shaderlint_hlsl::read(&kernel.file, text.as_bytes(), &[], &NoIncludes);
        let (entry, _) = shader
            .entry_points()
            .find(|(_, function)| function.name == kernel.entry)
            .unwrap_or_else(|| panic!("{}: no {}", folder.display(), kernel.entry));
        lower(&shader, entry).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
    });
    let kernels = kernels.collect();
    pipeline
        .link(kernels)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
}

fn of_folder(folder: &Path) -> Linked {
    let toml = std::fs::read_to_string(folder.join("pipeline.toml")).unwrap();
    linked(folder, &toml, |text| text)
}

/// What is wrong after a run over `n` words, within bounds.
fn run(device: &Device, linked: &Linked, n: usize, max_groups: u32) -> Option<Mismatch> {
    let (mismatch, overrun) = run_anyhow(device, linked, n, max_groups);
    assert_eq!(overrun, None);
    mismatch
}

fn run_anyhow(
    device: &Device,
    linked: &Linked,
    n: usize,
    max_groups: u32,
) -> (Option<Mismatch>, Option<Overrun>) {
    let words = sample_words(n).unwrap();
    let plan = linked.plan(n as u64, max_groups).unwrap();
    let data = device.upload(&words).unwrap();
    let expected = linked.pipeline.computes.expected(&words).unwrap();
    for mode in [Mode::Checked, Mode::Unchecked] {
        let ready = device.ready(linked, &plan, &data).unwrap();
        let steps = ready.steps(device, mode).unwrap();
        // Twice: what the first run left in buffers is no better than garbage.
        for _ in 0..2 {
            ready.run(device, &steps).unwrap();
            let mismatch = ready.mismatch(device, &expected).unwrap();
            let overrun = ready.overrun(device).unwrap();
            if mismatch.is_some() || overrun.is_some() {
                return (mismatch, overrun);
            }
        }
    }
    (None, None)
}

#[test]
fn every_system_leaves_what_the_cpu_does() {
    for device in support::devices() {
        for folder in ["scan", "reduction", "yardsticks"]
            .iter()
            .flat_map(|of| pipelines(of))
        {
            let linked = of_folder(&folder);
            if linked.pipeline.defect.is_some() {
                continue;
            }
            for n in SIZES {
                let mismatch = run(&device, &linked, n, device.max_groups());
                assert_eq!(
                    mismatch,
                    None,
                    "{} at {n} on {}",
                    folder.display(),
                    device.info.name
                );
            }
            // As if the device dispatched few groups in a dimension: they are laid in rows.
            assert_eq!(
                run(&device, &linked, 70_001, 21),
                None,
                "{} in rows",
                folder.display()
            );
        }
    }
}

#[test]
fn the_defects_show_in_the_results() {
    for device in support::devices() {
        // lavapipe runs one wave of a group after the other, up to the next barrier. Elsewhere a race may do no harm.
        let is_certain = device.info.is_cpu;
        // Two elements for each lane: where one wave does it all, no other one comes before or after it.
        let of_one_wave = 2 * probe_waves(&device, [256, 1, 1]).unwrap().max as usize;
        let mut found = Vec::new();
        for folder in ["scan", "reduction"].iter().flat_map(|of| pipelines(of)) {
            let linked = of_folder(&folder);
            if linked.pipeline.defect.is_none() {
                continue;
            }
            let name = folder.file_name().unwrap().to_string_lossy().into_owned();
            let sizes = SIZES.map(|n| (n, device.max_groups()));
            for (n, max_groups) in sizes.into_iter().chain([(70_001, 21)]) {
                let is_wrong = run(&device, &linked, n, max_groups).is_some();
                // Up to three elements there is one sum, or none.
                assert!(!is_wrong || n > 3, "{name} at {n}");
                assert!(
                    is_wrong || n <= 3.max(of_one_wave) || !is_certain,
                    "{name} at {n}"
                );
            }
            found.push(name);
        }
        assert_eq!(found, ["padded-three-pass-as-found", "last-wave-as-found"]);
    }
}

fn look_back(name: &str, edit: impl Fn(String) -> String, toml: impl Fn(String) -> String) -> Linked {
    let folder = fixtures().join("scan").join(name);
    let text = toml(std::fs::read_to_string(folder.join("pipeline.toml")).unwrap());
    linked(&folder, &text, edit)
}

#[test]
fn looking_back_waits_for_nobody() {
    let impatient = |toml: String| {
        let changed = toml.replace("PollsAtMost = \"1000\"", "PollsAtMost = \"0\"");
        assert_ne!(toml, changed);
        changed
    };
    let with_mute = |tiles: &'static str| {
        move |text: String| {
            let changed = text.replace(
                "void Publish(uint tile, uint state, uint sum)\n{",
                &format!("void Publish(uint tile, uint state, uint sum)\n{{\n    if ({tiles}) {{ return; }}"),
            );
            assert_ne!(text, changed);
            changed
        }
    };
    for device in support::devices() {
        let max = device.max_groups();
        for name in ["look-back", "look-back-by-group"] {
            // Nobody waits, and every tile is summed by those that need it, if need be.
            let at_once = look_back(name, |text| text, impatient);
            assert_eq!(run(&device, &at_once, 100_000, max), None, "{name}");
            for tiles in ["tile == 3", "tile % 7 == 2", "tile == 0", "true"] {
                let mute = look_back(name, with_mute(tiles), impatient);
                assert_eq!(
                    run(&device, &mute, 100_000, max),
                    None,
                    "{name}, {tiles}, at once"
                );
            }
            // More tiles than a wave of 8 lanes looks at in one go. Waiting anew for each of a hundred that say nothing would
            // be more passes of loops than lavapipe makes.
            for tiles in ["tile % 7 == 2", "tile / 100 == 1", "false"] {
                let long = look_back(name, with_mute(tiles), |toml| toml);
                assert_eq!(run(&device, &long, 1_000_003, max), None, "{name}, {tiles}, long");
            }
            let patient = look_back(name, with_mute("tile == 3"), |toml| toml);
            assert_eq!(
                run(&device, &patient, 50_000, max),
                None,
                "{name}, a tile that says nothing"
            );
        }
    }
}

#[test]
fn a_plan_says_what_is_dispatched() {
    let scan = of_folder(&fixtures().join("scan/blocked-blelloch"));
    let plan = scan.plan(1_000_000_000, 65_535).unwrap();
    let buffers: Vec<(&str, u64)> = (plan.buffers.iter())
        .map(|buffer| (buffer.name.as_str(), buffer.words))
        .collect();
    let expected = [
        ("Blocks[0]", 1_000_000_000),
        ("Blocks[1]", 1_953_125),
        ("Blocks[2]", 3815),
        ("Blocks[3]", 8),
        ("Blocks[4]", 1),
    ];
    assert_eq!(buffers, expected);
    let groups: Vec<(usize, [u32; 3])> = (plan.dispatches.iter()).map(|d| (d.kernel, d.groups)).collect();
    let expected = [
        (0, [65_105, 30, 1]),
        (0, [3815, 1, 1]),
        (0, [8, 1, 1]),
        (0, [1, 1, 1]),
        (1, [8, 1, 1]),
        (1, [3815, 1, 1]),
        (1, [65_105, 30, 1]),
    ];
    assert_eq!(groups, expected);
    // Length, GroupsInARow.
    assert_eq!(
        plan.dispatches[0].constants,
        bytemuck::cast_slice::<u32, u8>(&[1_000_000_000, 65_105])
    );
    assert_eq!(scan.plan(0, 65_535).unwrap().dispatches, []);

    let doubling = of_folder(&fixtures().join("scan/hillis-steele"));
    let plan = doubling.plan(100_000_000, 65_535).unwrap();
    assert_eq!((plan.dispatches.len(), plan.input, plan.output), (27, 0, 1));
}

/// What is behind the last element is garbage, not nothing.
#[test]
fn a_sum_of_whole_fours_is_wrong() {
    let toml = "about = \"\"\ncomputes = \"sum\"\nkernels = \"sum.hlsl\"\ninput = \"In\"\noutput = \"Out\"\n\
                [buffers]\nIn = { length = \"round_up(n, 4)\" }\nOut = { length = \"1\" }\n\
                [[pass]]\nentry = \"Main\"\ngroups = \"1\"\nset = { Quads = \"ceil_div(n, 4)\" }\n";
    let kernel = "cbuffer C { uint Quads; }; StructuredBuffer<uint4> In; RWStructuredBuffer<uint> Out;
        [numthreads(1, 1, 1)] void Main() { uint sum = 0;
        for (uint i = 0; i < Quads; ++i) { uint4 q = In[i]; sum += q.x + q.y + q.z + q.w; } Out[0] = sum; }";
    let linked = support::with_kernel(toml, kernel).unwrap();
    for device in support::devices() {
        assert!(run(&device, &linked, 8, 65_535).is_none());
        assert!(run(&device, &linked, 9, 65_535).is_some());
    }
}

#[test]
fn a_write_behind_a_buffer_is_told() {
    let toml = |out: &str| {
        format!(
            "about = \"\"\ncomputes = \"copy\"\nkernels = \"copy.hlsl\"\ninput = \"In\"\noutput = \"Out\"\n\
             [buffers]\nIn = {{ length = \"n\" }}\nOut = {{ length = \"{out}\" }}\n\
             [[pass]]\nentry = \"Main\"\ngroups = \"ceil_div(n, 64)\"\n"
        )
    };
    let buffers = "StructuredBuffer<uint> In; RWStructuredBuffer<uint> Out;";
    let main = "[numthreads(64, 1, 1)] void Main(uint3 id : SV_DispatchThreadID)";
    let unchecked = format!("{buffers} {main} {{ Out[id.x] = In[id.x]; }}");
    // Its buffer has the length that it asks for.
    let asks = format!(
        "{buffers} {main} {{ uint n, stride; Out.GetDimensions(n, stride); if (id.x < n) {{ Out[id.x] = In[id.x]; }} }}"
    );
    let overrun = |words: u64| {
        Some(Overrun {
            buffer: "Out".to_owned(),
            words,
            index: words,
        })
    };
    for device in support::devices() {
        let run = |out: &str, kernel: &str, n| {
            run_anyhow(
                &device,
                &support::with_kernel(&toml(out), kernel).unwrap(),
                n,
                65_535,
            )
        };
        assert_eq!(run("n", &unchecked, 128), (None, None));
        assert_eq!(run("n", &unchecked, 1000), (None, overrun(1000)));
        assert_eq!(run("n", &unchecked, 1), (None, overrun(1)));
        assert_eq!(run("round_up(n, 64)", &unchecked, 1000), (None, None));
        assert_eq!(run("n", &asks, 1000), (None, None));
    }
}
