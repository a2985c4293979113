//! `shaderlint wgsl FILE`: a kernel in WGSL.

use anyhow::Result;

use crate::cli::{Outcome, WgslArgs};
use crate::commands::kernel;
use crate::support::terminal;
use crate::workspace::project_file;

/// Prints the kernel in WGSL, once naga has validated it.
pub(crate) fn run(args: &WgslArgs) -> Result<Outcome> {
    let unit = project_file::read_unit(&args.file, &args.source)?;
    let path = kernel::path(&unit).to_owned();
    let entry =
        kernel::entry(&unit.shader, &path, args.entry.as_deref()).inspect_err(|_| unit.print_problems())?;
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
