//! The report on one file.

use std::path::PathBuf;
use std::sync::Arc;

use shaderlint_hlsl::{FileSpan, Problem, Sources};
use shaderlint_linter::{Diagnostic, Report};

use crate::support::failure::Failure;

/// The report on one file. It keeps no tree: a run may check thousands of files.
#[derive(Default)]
pub(crate) struct FileReport {
    pub path: String,
    pub sources: Sources,
    /// What could not be read.
    pub problems: Vec<Problem>,
    /// What could not be read in other configurations than the default one.
    pub elsewhere: Vec<Problem>,
    pub report: Report,
    /// What was found, and is known to the baseline.
    pub known: Vec<Diagnostic>,
    /// The baseline that holds for the file.
    pub baseline: Option<PathBuf>,
    /// shaderlint checked it as a unit, not only where others include it.
    pub is_unit: bool,
    /// The files that this one includes, directly or not.
    pub included: Vec<Included>,
    /// What its fixes rest on that only a build knows: a note each.
    pub guesses: Vec<String>,
    /// The functions that no kernel of the file calls, if it has one.
    pub uncalled: Option<Vec<String>>,
    /// The files that include this one, where that was asked of its fixes, or of functions that nothing calls here.
    pub includers: Vec<String>,
    /// Something could not be read, or not be run to its end: what is not found may be there.
    pub is_in_part: bool,
    /// The file names entry points, yet there was none to run.
    pub is_in_vain: bool,
    pub counted: Counted,
    pub fixed: Fixed,
}

/// What a file counts as in the summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Counted {
    #[default]
    Checked,
    /// A header that the command line names: it has no kernel, and no file with a kernel includes it.
    Unseen,
    /// Checked only for the findings in headers that it includes.
    ForHeaders,
}

/// A file that another one includes.
pub(crate) struct Included {
    pub path: String,
    /// Where its comments name rules that find something there.
    pub used: Vec<FileSpan>,
}

/// What fixes did to a file.
#[derive(Default)]
pub(crate) struct Fixed {
    /// The rules whose fixes were made, in that order.
    pub rules: Vec<&'static str>,
    /// Text before and after, where it is to be shown.
    pub diff: Option<(Vec<u8>, Vec<u8>)>,
    /// What the file has become, or would.
    pub bytes: Option<Arc<[u8]>>,
    /// Why nothing was fixed that could have been.
    pub failure: Option<Failure>,
}
