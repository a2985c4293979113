//! One file: read, check, fix.

use std::path::Path;

use anyhow::{Context, Result, ensure};
#[cfg(feature = "gpu")]
use shaderlint_hlsl::Shader;
use shaderlint_hlsl::{Problem, Sources};
use shaderlint_linter::{Report, Settings, check_shader, settle};
use shaderlint_rules::RULES;

#[cfg(feature = "gpu")]
use crate::args::SourceArgs;
use crate::includes::IncludeFolders;
use crate::panics;
use crate::scan;
use crate::walk::Input;
use crate::write;

/// Places are 32-bit offsets into the expanded text, which is longer than the file.
const MAX_FILE_SIZE: usize = 256 << 20;

/// What holds for every file of a run.
pub(crate) struct Options {
    pub defines: Vec<(String, String)>,
    pub includes: IncludeFolders,
    pub settings: Settings,
    /// Whether and how far fixes are made.
    pub fix: Option<FixMode>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FixMode {
    /// Make the fixes that reorder float arithmetic too.
    pub unsafe_too: bool,
    /// Write the file; else only say what would change.
    pub in_place: bool,
}

/// A translation unit as read.
#[cfg(feature = "gpu")]
pub(crate) struct Unit {
    pub shader: Shader,
    pub problems: Vec<Problem>,
}

/// What looking at one file showed. Without the tree: a run may look at thousands of files.
#[derive(Default)]
pub(crate) struct Looked {
    pub path: String,
    pub sources: Sources,
    /// What could not be read.
    pub problems: Vec<Problem>,
    pub report: Report,
    /// The file names entry points, yet there was none to run.
    pub is_in_vain: bool,
    pub fixed: Fixed,
}

/// What fixes did to a file.
#[derive(Default)]
pub(crate) struct Fixed {
    /// Number of fixes made.
    pub count: usize,
    /// Text before and after, where it is to be shown.
    pub diff: Option<(Vec<u8>, Vec<u8>)>,
}

/// Reads one file for a subcommand that needs it whole.
#[cfg(feature = "gpu")]
pub(crate) fn read_unit(path: &Path, source: &SourceArgs) -> Result<Unit> {
    let text = read_file(path)?;
    let includes = IncludeFolders::new(&source.include_dirs);
    let (shader, problems) =
        shaderlint_hlsl::read(&path.display().to_string(), &text, &source.defines, &includes);
    Ok(Unit { shader, problems })
}

/// Looks at one file and fixes it if asked to. A panic becomes an error: the other files are still looked at.
pub(crate) fn look(input: &Input, options: &Options) -> Result<Looked> {
    let name = input.path.display().to_string();
    let context = format!("internal error while analysing {name}, please report");
    panics::as_error(&context, || look_unguarded(input, &name, options))
}

fn look_unguarded(input: &Input, name: &str, options: &Options) -> Result<Looked> {
    let text = read_file(&input.path)?;
    if let Some(kind) = kind_of_binary(&text) {
        // A folder may hold anything; who names a file wants it read.
        ensure!(!input.is_named, "{name}: {kind}");
        return Ok(Looked::default());
    }
    let look = |text: &[u8]| look_at(name, text, options);
    let Some(mode) = options.fix else {
        return Ok(look(&text));
    };
    let settled = settle(&text, mode.unsafe_too, look, |looked| &looked.report.findings);
    let mut looked = settled.last;
    looked.fixed.count = settled.fixed;
    if settled.text != text {
        if mode.in_place {
            write::replace(&input.path, &text, &settled.text)
                .with_context(|| format!("{name}: not fixed"))?;
        } else {
            looked.fixed.diff = Some((text, settled.text));
        }
    }
    Ok(looked)
}

fn look_at(name: &str, text: &[u8], options: &Options) -> Looked {
    let mut looked = Looked {
        path: name.to_owned(),
        ..Looked::default()
    };
    if !scan::needs_parse(name, text, &options.includes) {
        return looked;
    }
    let (shader, problems) = shaderlint_hlsl::read(name, text, &options.defines, &options.includes);
    let report = check_shader(&shader, RULES, &options.settings);
    let mentions_entry = text.windows(10).any(|window| window == b"numthreads");
    looked.is_in_vain = mentions_entry && shader.entry_points().next().is_none();
    looked.report = report;
    looked.problems = problems;
    let has_places = !(looked.report.findings.is_empty()
        && looked.report.problems.is_empty()
        && looked.report.stops.is_empty()
        && looked.problems.is_empty());
    if has_places {
        looked.sources = shader.sources;
    }
    looked
}

fn read_file(path: &Path) -> Result<Vec<u8>> {
    let text = std::fs::read(path).with_context(|| path.display().to_string())?;
    ensure!(
        text.len() <= MAX_FILE_SIZE,
        "{}: more than {} MiB",
        path.display(),
        MAX_FILE_SIZE >> 20
    );
    Ok(text)
}

/// Says what a file is that is no text in an encoding that contains ASCII.
fn kind_of_binary(text: &[u8]) -> Option<&'static str> {
    if text.starts_with(b"\xff\xfe") || text.starts_with(b"\xfe\xff") {
        return Some("is UTF-16; save it as UTF-8");
    }
    text.contains(&0).then_some("is no text file")
}
