//! `shaderlint wgsl FILE`: a kernel in WGSL.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::Outcome;
use crate::args::SourceArgs;

/// Arguments of `shaderlint wgsl`.
#[derive(Debug, clap::Args)]
pub(crate) struct WgslArgs {
    /// The HLSL file
    pub file: PathBuf,
    /// The entry point, where the file has several
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// Write `enable subgroups;`, which browsers want
    #[arg(long)]
    pub enable_subgroups: bool,
    #[command(flatten)]
    pub source: SourceArgs,
}

/// Prints the kernel in WGSL. Seam: [`crate::lint::read_unit`] gives the shader, the verify crate the text.
pub(crate) fn run(args: &WgslArgs) -> Result<Outcome> {
    let _ = (&args.entry, args.enable_subgroups);
    let unit = crate::lint::read_unit(&args.file, &args.source)?;
    crate::report::problems(&unit);
    bail!("{}: this build cannot write WGSL", args.file.display())
}
