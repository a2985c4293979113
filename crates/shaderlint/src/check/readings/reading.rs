//! What the rules find in a unit under one set of definitions.

use std::cell::LazyCell;
use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use shaderlint_hlsl::{
    Definitions, Directive, Directives, Extracts, FileId, FileSpan, Inactive, Problem, Sources,
};
use shaderlint_linter::{Diagnostic, Report};

use crate::check::configurations::{ConfigurationName, Configurations};
use crate::support::definition::Define;
use crate::support::words::has_word;
use crate::workspace::include_search;

/// What the rules find in a unit in one configuration. It does not keep the tree, which is much larger.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Reading {
    pub name: ConfigurationName,
    /// Readings of a file with the same value have the same findings. It hashes
    /// [`Shader::likeness`](shaderlint_hlsl::Shader) and `extracts`.
    pub likeness: Option<u64>,
    #[serde(skip)]
    pub sources: Sources,
    pub inactive: Vec<Inactive>,
    pub problems: Vec<Problem>,
    pub report: Report,
    pub has_entry: bool,
    /// It is the default one, and there are more declared configurations than are read.
    pub omits_declared: bool,
    /// Kernels with a finding that no build compiles in this configuration: the file gives them other definitions.
    pub unbuilt: HashSet<String>,
    /// The entry points of included files: a file that does not name them does not compile them.
    pub of_headers: HashSet<String>,
    /// According to the file, a build compiles some kernel in this configuration.
    pub is_built: bool,
    /// The functions that no entry point calls, directly or not. The reading has no findings in them.
    pub unreached: Vec<FileSpan>,
    /// The definitions of further readings if entry points have an unknown size.
    pub sizes: Vec<Vec<Define>>,
    /// The functions that matter to the rules and that nothing calls.
    pub uncalled: Vec<String>,
    /// Those of `uncalled` that were run by themselves.
    pub run_by_themselves: Vec<String>,
    /// The lines that the unit takes from included files that fixes may change.
    pub extracts: Vec<(FileId, Extracts)>,
}

impl Reading {
    /// Notes what a build compiles in this configuration, which has these definitions. One of `#pragma kernel` lines
    /// is built as it is.
    pub fn note_builds(&mut self, configurations: &Configurations, defines: &[Define]) {
        if self.name.kernels().is_some() {
            return;
        }
        let allowed = self.report.allowed.iter().map(|one| &one.finding);
        let kernels = self.report.findings.iter().chain(allowed);
        let kernels = kernels.flat_map(|finding| &finding.kernels);
        let is_named = |name: &str| {
            let mut files = self.sources.files.iter();
            files.any(|file| has_word(&file.text, name.as_bytes()))
        };
        let is_built = |name: &&String| {
            configurations.builds(name, defines, || is_named(name))
                && !(self.of_headers.contains(*name) && configurations.leaves_out(name))
        };
        self.unbuilt = kernels.filter(|name| !is_built(name)).cloned().collect();
        self.is_built = configurations.builds_any(defines);
    }

    /// Removes the findings in kernels that no build compiles in this configuration.
    pub fn leave_out_unbuilt(&mut self) {
        let is_built = |finding: &Diagnostic| {
            let mut kernels = finding.kernels.iter();
            kernels.len() == 0 || kernels.any(|name| !self.unbuilt.contains(name))
        };
        self.report.allowed.retain(|one| is_built(&one.finding));
        self.report.findings.retain(is_built);
        for finding in &mut self.report.findings {
            finding.kernels.retain(|name| !self.unbuilt.contains(name));
        }
    }

    pub fn is_default(&self) -> bool {
        self.name == ConfigurationName::Default
    }

    /// The file's ids here; `is_it` recognises its path.
    pub fn ids_of(&self, is_it: &dyn Fn(&str) -> bool) -> Vec<FileId> {
        let files = (0..).zip(&self.sources.files);
        let files = files.filter(|(_, file)| is_it(&file.path));
        files.map(|(number, _)| FileId(number)).collect()
    }

    /// How often the reading includes something between these bytes of a file; the unit's own text counts once.
    /// `None` if that is unknown, for an included file that fixes cannot change.
    pub fn times_included(&self, file: FileId, start: u32, end: u32) -> Option<usize> {
        if file == FileId(0) {
            return Some(1);
        }
        let known = self.extracts.iter().find(|(known, _)| *known == file);
        Some(known?.1.times(start, end))
    }

    /// Whether something could not be read, or not be run to its end: there may be more findings.
    pub fn is_partial(&self) -> bool {
        !(self.problems.is_empty() && self.report.stops.is_empty())
    }

    /// Whether a comment at this place of the file suppresses something here.
    pub fn uses(&self, comment: FileSpan, is_it: &dyn Fn(&str) -> bool) -> bool {
        let mut numbers = self.ids_of(is_it).into_iter();
        numbers.any(|file| self.report.used.contains(&FileSpan { file, ..comment }))
    }

    /// Whether an `#include` with a macro may mean a file of this name under other definitions, including the `given`
    /// ones: the macro may expand to words that make up the name.
    pub fn may_include(&self, file_name: &str, given: &[Define]) -> bool {
        let definitions = LazyCell::new(|| Definitions::of(&self.sources, given));
        let may_include = |line: &Directive| {
            include_search::includes_by_macro(line) && definitions.reach(&line.argument).may_spell(file_name)
        };
        let mut files = self.sources.files.iter();
        files.any(|file| file.text.derived::<Directives>().iter().any(may_include))
    }
}
