//! One kernel of a file, for the subcommands that work on kernels.

use anyhow::{Result, anyhow, bail};
use shaderlint_hlsl::{FunctionId, Problem, Shader};
use shaderlint_verify::{LowerError, Lowered};

use crate::support::snippets;
use crate::workspace::project_file::TranslationUnit;

/// The entry point `name`, or the only one.
pub(crate) fn entry(shader: &Shader, path: &str, name: Option<&str>) -> Result<FunctionId> {
    let entries: Vec<(FunctionId, &str)> = shader
        .entry_points()
        .map(|(id, function)| (id, function.name.as_str()))
        .collect();
    let names = || {
        entries
            .iter()
            .map(|(_, name)| *name)
            .collect::<Vec<_>>()
            .join(", ")
    };
    match (name, entries.as_slice()) {
        (_, []) => bail!("{path}: no function has a [numthreads] attribute"),
        (None, [(only, _)]) => Ok(*only),
        (None, _) => bail!(
            "{path}: the file has several entry points: pass --entry with one of {}",
            names()
        ),
        (Some(wanted), _) => entries
            .iter()
            .find(|(_, name)| *name == wanted)
            .map(|(id, _)| *id)
            .ok_or_else(|| {
                anyhow!(
                    "{path}: no entry point is called `{wanted}`: expected one of {}",
                    names()
                )
            }),
    }
}

/// Lowers the kernel to WGSL. Shows code that has no WGSL form at its place.
pub(crate) fn lower(unit: &TranslationUnit, entry: FunctionId) -> Result<Lowered> {
    shaderlint_verify::lower(&unit.shader, entry).map_err(|LowerError { message, span }| {
        let place = unit.shader.origins.locate(span);
        snippets::problem(&unit.shader.sources, &Problem::new(message, place));
        anyhow!("{}: the kernel has no WGSL form", path(unit))
    })
}

/// The path of the unit's root file.
pub(crate) fn path(unit: &TranslationUnit) -> &str {
    unit.shader.sources.files.first().map_or("", |file| &file.path)
}
