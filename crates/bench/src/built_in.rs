//! The built-in systems, which are fixtures of this repository.

use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use shaderlint_hlsl::NoIncludes;
use shaderlint_verify::Lowered;
use shaderlint_verify::pipeline::KernelName;

use crate::System;

/// A folder of this repository's fixtures, embedded at compile time.
struct BuiltIn {
    folder: &'static str,
    pipeline: &'static str,
    /// The name and the text of the file with the kernels.
    kernels: (&'static str, &'static str),
}

macro_rules! built_in {
    ($folder:literal, $kernels:literal) => {
        BuiltIn {
            folder: concat!("fixtures/", $folder),
            pipeline: include_str!(concat!(
                env!("SHADERLINT_SYSTEMS"),
                "/",
                $folder,
                "/pipeline.toml"
            )),
            kernels: (
                $kernels,
                include_str!(concat!(env!("SHADERLINT_SYSTEMS"), "/", $folder, "/", $kernels)),
            ),
        }
    };
}

const COPY: BuiltIn = built_in!("yardsticks/copy", "copy.hlsl");
const READ: BuiltIn = built_in!("yardsticks/read", "read.hlsl");

const SCANS: [BuiltIn; 14] = [
    COPY,
    built_in!("scan/hillis-steele", "doubling.hlsl"),
    built_in!("scan/blelloch", "sweeps.hlsl"),
    built_in!("scan/claimed-slots", "slots.hlsl"),
    built_in!("scan/claimed-slots-fixed", "slots.hlsl"),
    built_in!("scan/blocked-hillis-steele", "blocks.hlsl"),
    built_in!("scan/blocked-hillis-steele-fixed", "blocks.hlsl"),
    built_in!("scan/blocked-blelloch", "blocks.hlsl"),
    built_in!("scan/padded-three-pass-as-found", "pairs.hlsl"),
    built_in!("scan/padded-three-pass", "pairs.hlsl"),
    built_in!("scan/blocked-waves", "tiles.hlsl"),
    built_in!("scan/reduce-then-scan", "tiles.hlsl"),
    built_in!("scan/look-back", "chained.hlsl"),
    built_in!("scan/look-back-by-group", "../look-back/chained.hlsl"),
];

const REDUCTIONS: [BuiltIn; 11] = [
    COPY,
    READ,
    built_in!("reduction/interleaved-remainder", "total.hlsl"),
    built_in!("reduction/interleaved-strided", "total.hlsl"),
    built_in!("reduction/sequential", "total.hlsl"),
    built_in!("reduction/first-add", "total.hlsl"),
    built_in!("reduction/last-wave-as-found", "total.hlsl"),
    built_in!("reduction/last-wave", "total.hlsl"),
    built_in!("reduction/waves", "total.hlsl"),
    built_in!("reduction/waves-of-quads", "total.hlsl"),
    built_in!("reduction/one-pass", "total.hlsl"),
];

/// All systems that scan, and a copy.
///
/// # Errors
/// At a fixture that cannot be run.
pub fn scans() -> Result<Vec<System>> {
    SCANS.iter().map(system).collect()
}

/// All systems that sum up, a copy, and a read.
///
/// # Errors
/// At a fixture that cannot be run.
pub fn reductions() -> Result<Vec<System>> {
    REDUCTIONS.iter().map(system).collect()
}

/// The yardsticks for systems that sum up, if `are_sums`, or else for those that scan.
///
/// # Errors
/// At a fixture that cannot be run.
pub fn yardsticks(are_sums: bool) -> Result<Vec<System>> {
    let yardsticks = if are_sums { &[COPY, READ][..] } else { &[COPY] };
    yardsticks.iter().map(system).collect()
}

fn system(built_in: &BuiltIn) -> Result<System> {
    let BuiltIn { folder, pipeline, .. } = built_in;
    let name = folder.rsplit('/').next().unwrap_or_default().to_owned();
    let path = Path::new(folder).join(System::FILE);
    let system = System::load(name, &path, pipeline, &mut |kernel| lowered(built_in, kernel));
    let mut system = system.with_context(|| path.display().to_string())?;
    system.is_yardstick = folder.starts_with("fixtures/yardsticks/");
    Ok(system)
}

fn lowered(built_in: &BuiltIn, kernel: &KernelName) -> Result<Lowered> {
    let (name, text) = built_in.kernels;
    ensure!(kernel.file == name, "there is no {}", kernel.file);
    let path = format!("{}/{name}", built_in.folder);
    let (shader, _) = shaderlint_hlsl::read(&path, text.as_bytes(), &[], &NoIncludes);
    let mut entries = shader.entry_points();
    let entry = entries.find(|(_, function)| function.name == kernel.entry);
    let (entry, _) = entry.with_context(|| format!("{path}: no entry point is called `{}`", kernel.entry))?;
    shaderlint_verify::lower(&shader, entry).map_err(|error| anyhow!("{path}: {}", error.message))
}
