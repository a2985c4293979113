//! `shaderlint wgsl FILE`: a kernel in WGSL.

use std::path::PathBuf;

use anyhow::Result;

use crate::config::SourceArgs;
use crate::{Outcome, kernel, one_file, terminal};

/// Arguments of `shaderlint wgsl`.
#[derive(Debug, clap::Args)]
pub(crate) struct WgslArgs {
    /// The HLSL file
    pub file: PathBuf,
    /// The entry point, where the file has several
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// Write `enable subgroups;`, which browsers and Tint want
    #[arg(long)]
    pub enable_subgroups: bool,
    #[command(flatten)]
    pub source: SourceArgs,
}

/// Prints the kernel in WGSL, once naga has validated it.
pub(crate) fn run(args: &WgslArgs) -> Result<Outcome> {
    let unit = one_file::read_unit(&args.file, &args.source)?;
    let path = kernel::path(&unit).to_owned();
    let entry =
        kernel::entry(&unit.shader, &path, args.entry.as_deref()).inspect_err(|_| unit.tell_problems())?;
    let lowered = kernel::lower(&unit, entry)?;
    for name in &lowered.replaced {
        terminal::warn(&format!(
            "{path}: `{name}` has no WGSL form; a hash of its arguments stands for it"
        ));
    }
    for texture in lowered
        .bindings
        .iter()
        .filter(|binding| binding.dimensions.is_some())
    {
        let name = &texture.name;
        terminal::warn(&format!(
            "{path}: `{name}` is a buffer of texels here, row after row, with `{name}_size` beside the uniforms"
        ));
    }
    terminal::print(shaderlint_verify::wgsl(&lowered, args.enable_subgroups)?.as_bytes())?;
    Ok(Outcome::Clean)
}
