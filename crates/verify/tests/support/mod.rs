//! What the tests share: parsing, the adapters, running one kernel.
#![allow(dead_code, reason = "each test uses a part")]
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests fail and speak")]

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;

use shaderlint_hlsl::{Shader, Span, Version};
use shaderlint_verify::pipeline::{Linked, Pipeline, PipelineError};
use shaderlint_verify::run::{
    Adapter, AdapterInfo, Device, Inputs, Mode, Outputs, Report, RunError, Trial, adapters, compare_and_time,
    make_inputs,
};
use shaderlint_verify::{LowerError, Lowered, lower};

/// The reports of every adapter.
pub fn compared(trial: &Trial) -> Vec<(AdapterInfo, Result<Report, RunError>)> {
    let trial = Arc::new(trial.clone());
    let adapters = adapters().into_iter();
    adapters
        .map(|adapter| {
            (
                adapter.info.clone(),
                compare_and_time(&adapter, &trial, &mut |_| ()),
            )
        })
        .collect()
}

pub fn shader(source: &str) -> Shader {
    let (mut shader, problems) = shaderlint_hlsl::parse(source.as_bytes().to_vec());
    // Devices cut operands short.
    shader.version = Some(Version::V2021);
    for problem in problems {
        eprintln!("{problem:?}");
    }
    shader
}

/// Lowers the first entry point.
pub fn try_lower(source: &str) -> Result<Lowered, LowerError> {
    let shader = shader(source);
    let (entry, _) = shader
        .entry_points()
        .next()
        .expect("the kernel has an entry point");
    lower(&shader, entry)
}

/// Lowers the first entry point; its WGSL has to be accepted by naga's own reader and validator.
#[track_caller]
pub fn lowered(source: &str) -> Lowered {
    let lowered = match try_lower(source) {
        Ok(lowered) => lowered,
        Err(error) => panic!(
            "{error} at `{}`",
            String::from_utf8_lossy(error.span.slice(source.as_bytes()))
        ),
    };
    check_wgsl(&lowered);
    lowered
}

/// The kernel's WGSL is accepted by naga's own reader and validator.
#[track_caller]
pub fn check_wgsl(lowered: &Lowered) {
    let text = shaderlint_verify::wgsl(lowered, false).unwrap();
    let module = match naga::front::wgsl::parse_str(&text) {
        Ok(module) => module,
        Err(error) => panic!("{}\n{text}", error.emit_to_string(&text)),
    };
    naga::valid::Validator::new(
        naga::valid::ValidationFlags::all(),
        naga::valid::Capabilities::all(),
    )
    .validate(&module)
    .unwrap_or_else(|error| panic!("{error:?}\n{text}"));
}

/// The pipeline, all of whose kernels are this text's first one.
pub fn with_kernel(toml: &str, kernel: &str) -> Result<Linked, PipelineError> {
    let pipeline = Pipeline::parse(toml)?;
    let shader = shader(kernel);
    let (entry, _) = shader.entry_points().next().unwrap();
    let kernels = vec![lower(&shader, entry).unwrap(); pipeline.kernels.len()];
    pipeline.link(kernels)
}

/// The adapters to test on. Without any, says so in one line; with `SHADERLINT_REQUIRE_GPU=1` that is a failure.
pub fn devices() -> Vec<Device> {
    let found: Vec<Adapter> = adapters();
    if found.is_empty() {
        assert!(
            std::env::var_os("SHADERLINT_REQUIRE_GPU").is_none_or(|value| value != "1"),
            "SHADERLINT_REQUIRE_GPU=1, and there is no adapter"
        );
        eprintln!("skipped: no adapter");
    }
    found.iter().map(|adapter| adapter.open().unwrap()).collect()
}

/// From which Mesa's lavapipe takes its wave size when it starts, in bits of 32-bit lanes.
pub const WIDTH: &str = "LP_NATIVE_VECTOR_WIDTH";

/// The test `name` of this program, to be started with each wave size of lavapipe.
pub fn at_each_width(name: &str) -> impl Iterator<Item = (&'static str, Command)> {
    ["128", "256", "512"].into_iter().map(move |width| {
        let mut command = Command::new(std::env::current_exe().expect("the test knows its program"));
        command.args(["--exact", name, "--include-ignored", "--nocapture"]);
        // A kernel in Mesa's cache has the width it was compiled for, whatever is asked for now.
        command.env(WIDTH, width).env("MESA_SHADER_CACHE_DISABLE", "true");
        (width, command)
    })
}

/// Words of each writable buffer after a run on `device`.
pub fn execute(
    device: &Device,
    kernel: &Lowered,
    inputs: &Inputs,
    groups: [u32; 3],
) -> BTreeMap<String, Vec<u32>> {
    let outputs: Outputs = device
        .compile(kernel, Mode::Checked)
        .and_then(|compiled| compiled.run(device, inputs, groups))
        .unwrap_or_else(|error| panic!("{error}\n{}", shaderlint_verify::wgsl(kernel, false).unwrap()));
    outputs
        .buffers
        .into_iter()
        .map(|(name, bytes)| (name, words(&bytes)))
        .collect()
}

pub fn words(bytes: &[u8]) -> Vec<u32> {
    bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect()
}

/// Runs one group of the kernel on every adapter, with `input` in the buffer `In`, and hands `Out`'s words to
/// `check`, beside what the device is.
#[track_caller]
pub fn check_out(source: &str, input: &[u32], check: impl Fn(&Device, &[u32])) {
    check_kernel(&lowered(source), input, check);
}

/// The same of a kernel that was lowered.
#[track_caller]
pub fn check_kernel(kernel: &Lowered, input: &[u32], check: impl Fn(&Device, &[u32])) {
    for device in devices() {
        let mut plan = shaderlint_verify::run::InputPlan::default();
        plan.contents
            .insert("In".into(), input.iter().copied().map(f64::from).collect());
        let inputs = make_inputs(&[kernel], [1, 1, 1], &plan);
        let out = execute(&device, kernel, &inputs, [1, 1, 1]);
        check(&device, &out["Out"]);
    }
}

/// Runs `body` in one group of 64 threads; thread `gi` has `x = In[gi]` and leaves `r` in `Out[gi]`. `expected` says
/// what that is.
#[track_caller]
pub fn check_lane(declarations: &str, body: &str, expected: impl Fn(u32, u32) -> u32) {
    let source = format!(
        "StructuredBuffer<uint> In; RWStructuredBuffer<uint> Out;\n{declarations}\n[numthreads(64, 1, 1)]\n\
         void main(uint gi : SV_GroupIndex) {{ uint x = In[gi]; uint r = 0;\n{body}\nOut[gi] = r; }}\n"
    );
    let input = sample();
    check_out(&source, &input, |device, out| {
        for (gi, x) in (0u32..).zip(&input) {
            let (got, wanted) = (out[gi as usize], expected(gi, *x));
            assert_eq!(
                got,
                wanted,
                "thread {gi}, x = {x:#x} ({}), on {}: {body}\n{}",
                x.cast_signed(),
                device.info.name,
                shaderlint_verify::wgsl(&lowered(&source), false).unwrap()
            );
        }
    });
}

/// 64 words: edge cases, then a mix.
pub fn sample() -> Vec<u32> {
    let edges = [
        0,
        1,
        2,
        3,
        7,
        31,
        32,
        33,
        0x7fff_ffff,
        0x8000_0000,
        0x8000_0001,
        u32::MAX,
        u32::MAX - 1,
    ];
    let mixed = (0..51u32).map(|i| i.wrapping_mul(0x9e37_79b9).rotate_left(i) ^ (i << 7));
    edges.into_iter().chain(mixed).collect()
}

/// The span of the first `needle` in `source`.
pub fn span_of(source: &str, needle: &str) -> Span {
    let start = u32::try_from(source.find(needle).unwrap()).unwrap();
    Span {
        start,
        end: start + u32::try_from(needle.len()).unwrap(),
    }
}
