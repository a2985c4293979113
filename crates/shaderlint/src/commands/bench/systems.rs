//! The pipelines that are compared: those that come with the program, or those of a folder.

use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, ensure};
use shaderlint_hlsl::NoIncludes;
use shaderlint_verify::Lowered;
use shaderlint_verify::pipeline::{Computes, KernelName, Linked, Pipeline, PipelineError};

use crate::cli::SourceArgs;
use crate::commands::kernel;
use crate::support::config_error::{ConfigError, text_of};
use crate::support::error_text;
use crate::support::source_text::{Place, SourceText, legible};
use crate::workspace::config::Projects;
use crate::workspace::project_file::{ProjectFile, TranslationUnit};
use crate::workspace::walk;

/// What a pipeline is written in.
const FILE: &str = "pipeline.toml";

/// A pipeline with its kernels.
pub(super) struct System {
    /// The folder, from what was asked for.
    pub name: String,
    /// What others are compared with.
    pub is_yardstick: bool,
    /// The path of its `pipeline.toml`, and the text.
    path: PathBuf,
    text: String,
    pub linked: Linked,
}

/// A folder of this repository's fixtures, read when the program was built.
pub(super) struct BuiltIn {
    pub folder: &'static str,
    pub pipeline: &'static str,
    pub kernels: (&'static str, &'static str),
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

pub(super) const SCANS: [BuiltIn; 14] = [
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

pub(super) const REDUCTIONS: [BuiltIn; 11] = [
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

/// `scan`, `reduction`, or what is at a path.
pub(super) fn systems(what: &Path, source: &SourceArgs) -> Result<Vec<System>> {
    let built_in = match what.to_str() {
        Some("scan") => &SCANS[..],
        Some("reduction") => &REDUCTIONS[..],
        _ => return at_path(what, source),
    };
    built_in.iter().map(from_program).collect()
}

/// Whether these are sums, which need not write the array: others are compared with a copy of it.
pub(super) fn are_sums(systems: &[System]) -> bool {
    let computes = || systems.iter().map(|system| system.linked.pipeline.computes);
    let is_scan = |computes| matches!(computes, Computes::InclusiveScan | Computes::ExclusiveScan);
    computes().any(|computes| computes == Computes::Sum) && !computes().any(is_scan)
}

fn from_program(built_in: &BuiltIn) -> Result<System> {
    let path = Path::new(built_in.folder).join(FILE);
    let name = built_in.folder.rsplit('/').next().unwrap_or_default();
    let mut system = system(
        name.to_owned(),
        &path,
        built_in.pipeline.to_owned(),
        &mut |file, _| {
            let (name, text) = built_in.kernels;
            ensure!(file == name, "{}: there is no {file}", built_in.folder);
            let path = format!("{}/{name}", built_in.folder);
            let (shader, problems) = shaderlint_hlsl::read(&path, text.as_bytes(), &[], &NoIncludes);
            Ok(TranslationUnit {
                shader,
                problems,
                choices: Vec::new(),
            })
        },
    )?;
    system.is_yardstick = built_in.folder.starts_with("fixtures/yardsticks/");
    Ok(system)
}

/// Whether a row beside the systems has this name.
fn is_yardsticks(name: &str) -> bool {
    ["cpu", "copy", "read"].contains(&name)
}

/// The folder of a `pipeline.toml` as it is found from `what`, which is the folder itself, one above it, or the file.
fn name(what: &Path, path: &Path) -> String {
    let folder = path.parent().unwrap_or(path);
    // With and without `./` it is the same path.
    let [from, to] = [what, folder].map(|path| path.strip_prefix(".").unwrap_or(path));
    let below: Vec<String> = (to.strip_prefix(from).into_iter())
        .flat_map(|below| below.iter())
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    let name = if below.is_empty() {
        // `.` has a name too.
        let folder = if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        };
        let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        real.file_name()
            .unwrap_or(real.as_os_str())
            .to_string_lossy()
            .into_owned()
    } else {
        below.join("/")
    };
    if is_yardsticks(&name) {
        format!("./{name}")
    } else {
        name
    }
}

fn at_path(what: &Path, source: &SourceArgs) -> Result<Vec<System>> {
    ensure!(
        what.exists(),
        "{}: no such file or folder, and neither `scan` nor `reduction`",
        what.display()
    );
    let mut paths: Vec<PathBuf> = if what.is_dir() {
        walk::tree(what)
            .filter(|path| path.file_name().is_some_and(|name| name == FILE))
            .collect()
    } else {
        vec![what.to_owned()]
    };
    paths.sort();
    ensure!(!paths.is_empty(), "{}: no {FILE} below it", what.display());
    let mut projects = Projects::new(source);
    let mut found = Vec::new();
    for path in &paths {
        found.push(system(
            name(what, path),
            path,
            text_of(path)?,
            &mut |file, at_place| {
                let file = path.with_file_name(file);
                // What is wrong with a configuration has its own place.
                let project = projects.of(&file)?;
                let file = ProjectFile::read_in(project, &file).map_err(at_place)?;
                Ok(file.unit(&file.text))
            },
        )?);
    }
    let yardsticks = if are_sums(&found) {
        &[COPY, READ][..]
    } else {
        &[COPY]
    };
    let mut systems: Vec<System> = yardsticks.iter().map(from_program).collect::<Result<_>>()?;
    systems.extend(found);
    Ok(systems)
}

/// An error at a place in the `pipeline.toml`.
type AtPlace<'a> = &'a dyn Fn(anyhow::Error) -> anyhow::Error;

fn system(
    name: String,
    path: &Path,
    text: String,
    unit: &mut dyn FnMut(&str, AtPlace<'_>) -> Result<TranslationUnit>,
) -> Result<System> {
    let wrong = |error: PipelineError| {
        let message = error_text::of_serde(&error.message, &[]);
        ConfigError::new(path, &text, error.place, legible(&message))
    };
    let pipeline = Pipeline::parse(&text).map_err(wrong)?;
    let mut kernels: Vec<Lowered> = Vec::new();
    for KernelName {
        file,
        entry,
        place,
        file_place,
    } in &pipeline.kernels
    {
        let at = |place: &Range<usize>, error: anyhow::Error| {
            anyhow!(ConfigError::new(
                path,
                &text,
                place.clone(),
                legible(&error_text::of_error(&error))
            ))
        };
        let unit = unit(file, &|error| at(file_place, error))?;
        let entry = kernel::entry(&unit.shader, kernel::path(&unit), Some(entry))
            .and_then(|entry| kernel::lower(&unit, entry));
        kernels.push(entry.map_err(|error| at(place, error))?);
    }
    let linked = pipeline.link(kernels).map_err(wrong)?;
    Ok(System {
        name,
        is_yardstick: false,
        path: path.to_owned(),
        text,
        linked,
    })
}

impl System {
    /// What went wrong, and where in the `pipeline.toml`.
    pub fn told(&self, error: &PipelineError) -> String {
        let text = SourceText::new("", self.text.as_bytes());
        let Place { line, column } = text.place(u32::try_from(error.place.start).unwrap_or(u32::MAX));
        format!("{}:{line}:{column}: {error}", self.path.display())
    }
}
