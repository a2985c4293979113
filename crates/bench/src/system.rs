//! The pipelines to compare.

use std::path::{Path, PathBuf};

use anyhow::Result;
use shaderlint_verify::Lowered;
use shaderlint_verify::pipeline::{Computes, KernelName, Linked, Pipeline, PipelineError};

/// A pipeline with its kernels.
pub struct System {
    /// The folder, relative to the requested one.
    pub name: String,
    /// The others are compared with it.
    pub is_yardstick: bool,
    /// The path and the text of its `pipeline.toml`.
    path: PathBuf,
    text: String,
    pub linked: Linked,
}

impl System {
    /// The name of the file that describes a pipeline.
    pub const FILE: &'static str = "pipeline.toml";

    /// Loads a system from the text of its `pipeline.toml`. `kernel` loads each of its kernels.
    ///
    /// # Errors
    /// A [`PipelineError`] for an error in the text, and any error of `kernel`.
    pub fn load(
        name: String,
        path: &Path,
        text: &str,
        kernel: &mut dyn FnMut(&KernelName) -> Result<Lowered>,
    ) -> Result<System> {
        let pipeline = Pipeline::parse(text)?;
        let kernels = pipeline.kernels.iter().map(kernel);
        let kernels = kernels.collect::<Result<Vec<Lowered>>>()?;
        let linked = pipeline.link(kernels)?;
        Ok(System {
            name,
            is_yardstick: false,
            path: path.to_owned(),
            text: text.to_owned(),
            linked,
        })
    }

    /// The error with its position in the `pipeline.toml`.
    pub(crate) fn placed(&self, error: &PipelineError) -> String {
        let before = self.text.get(..error.place.start).unwrap_or(&self.text);
        // A byte order mark has no column.
        let before = before.strip_prefix('\u{feff}').unwrap_or(before);
        let line = before.split('\n').count();
        let last = before.rsplit('\n').next().unwrap_or_default();
        let column = last.chars().count() + 1;
        format!("{}:{line}:{column}: {error}", self.path.display())
    }
}

/// Whether these systems sum up, and none scans. A sum need not write the array; others are compared with a
/// copy of it.
pub fn are_sums(systems: &[System]) -> bool {
    let computes = || systems.iter().map(|system| system.linked.pipeline.computes);
    let is_scan = |computes| matches!(computes, Computes::InclusiveScan | Computes::ExclusiveScan);
    computes().any(|computes| computes == Computes::Sum) && !computes().any(is_scan)
}

/// Replaces the control characters in a line of text: tabs and line ends by blanks, others by U+FFFD.
pub fn legible(line: &str) -> String {
    let shown = |character: char| match character {
        '\n' | '\r' | '\t' => ' ',
        character if character.is_control() => char::REPLACEMENT_CHARACTER,
        character => character,
    };
    line.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_legible() {
        assert_eq!(legible("a\tb\u{1b}[31m\n"), "a b\u{fffd}[31m ");
    }
}
