//! The report on one file.

use std::path::PathBuf;
use std::sync::Arc;

use shaderlint_hlsl::{FileSpan, Problem, SourceFile, Sources, Text};
use shaderlint_linter::{Diagnostic, Report};

use crate::check::options::{Options, Target};
use crate::support::failure::Failure;

/// The report on one file. It keeps no tree: a run may check thousands of files.
#[derive(Default)]
pub(crate) struct FileReport {
    pub path: String,
    pub sources: Sources,
    /// What could not be read.
    pub problems: Vec<Problem>,
    /// What could not be read in configurations other than the default one.
    pub elsewhere: Vec<Problem>,
    pub report: Report,
    /// The findings that the baseline knows.
    pub known: Vec<Diagnostic>,
    /// The baseline that applies to the file.
    pub baseline: Option<PathBuf>,
    /// shaderlint checked it as a unit, not only as part of files that include it.
    pub is_unit: bool,
    /// The files that this one includes, directly or not.
    pub included: Vec<Included>,
    /// The functions that no kernel of the file calls; `None` if the file has no kernel.
    pub uncalled: Option<Vec<String>>,
    /// The functions that were run by themselves.
    pub run_by_themselves: Vec<String>,
    /// Notes on the guesses that fixes rest on. The stage [`includers`](crate::check::includers) takes them.
    pub guesses: Vec<String>,
    /// The including files that were consulted about its fixes or about functions that nothing calls here.
    pub includers: Vec<String>,
    /// Something could not be read, or not be run to its end: there may be more findings.
    pub is_partial: bool,
    /// The file names entry points, yet there was none to run.
    pub lacks_entry: bool,
    pub counted: Counted,
    /// The file is a header that many kernels include; some of them were not checked.
    pub in_part: Option<InPart>,
    pub fixed: Fixed,
}

/// How many of the kernels that include a header were checked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InPart {
    pub checked: usize,
    pub all: usize,
}

impl FileReport {
    /// The report on a file before it is checked.
    pub fn new(target: &Target, options: &Options) -> FileReport {
        FileReport {
            path: target.input.path.display().to_string(),
            baseline: options.baseline_of(&target.project),
            ..FileReport::default()
        }
    }

    /// Drops what the file lacks by itself.
    pub fn leave_to_includers(&mut self) {
        self.is_partial = false;
        self.report.stops.clear();
        (self.problems, self.elsewhere, self.guesses) = Default::default();
    }

    /// Keeps the texts only if there is something to show in them: most files have nothing. `text` is the file's own.
    pub fn keep_needed_sources(&mut self, text: &Text) {
        let Report {
            findings,
            problems,
            stops,
            allowed,
            ..
        } = &self.report;
        let problems = [problems, stops, &self.problems, &self.elsewhere];
        if findings.is_empty() && allowed.is_empty() && problems.iter().all(|some| some.is_empty()) {
            self.sources = Sources::default();
        } else if self.sources.files.is_empty() {
            self.sources.files.push(SourceFile {
                path: self.path.clone(),
                text: text.clone(),
            });
        }
    }
}

/// How the summary counts a file.
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
    /// The comments in it that suppress a finding, by the place where they name the rule.
    pub used: Vec<FileSpan>,
}

/// What fixes did to a file.
#[derive(Default)]
pub(crate) struct Fixed {
    /// The rules whose fixes were made, in order.
    pub rules: Vec<&'static str>,
    /// The text before and after, if a diff is to be shown.
    pub diff: Option<(Vec<u8>, Vec<u8>)>,
    /// The text after the fixes, written or not.
    pub bytes: Option<Arc<[u8]>>,
    /// Why possible fixes were not made.
    pub failure: Option<Failure>,
}
