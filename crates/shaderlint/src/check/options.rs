//! The options of a run, and of each of its files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use shaderlint_hlsl::Text;
use shaderlint_linter::{Category, GivenLevel, Level, Rule, ShaderModel};

use crate::check::readings::{DiskCache, ReadingCache, ReadingStore};
use crate::cli::RuleArgs;
use crate::support::cancellation::Cancellation;
use crate::workspace::config::Project;
use crate::workspace::files::Files;
use crate::workspace::include_search::Sought;
use crate::workspace::includes::Search;
use crate::workspace::project_file::text_of;
use crate::workspace::walk::{Input, InputOrigin};

/// A file to check, with its configuration.
pub(crate) struct Target {
    pub input: Input,
    pub project: Arc<Project>,
}

impl Target {
    /// Whether the file includes what is sought, or may do so.
    pub fn may_include(&self, options: &Options, sought: Sought<'_>) -> bool {
        let path = &self.input.path;
        let name = path.display().to_string();
        let includes_one = |text: &Text| options.search(&self.project).includes_one(&name, text, sought);
        // Another place reports a file that cannot be read.
        let bytes = options.files.bytes(path);
        bytes.map_or(true, |bytes| includes_one(&text_of(&bytes)))
    }
}

pub(crate) type ProjectOf = Arc<dyn Fn(&Path) -> Result<Arc<Project>> + Send + Sync>;

/// The options of every file of a run.
pub(crate) struct Options {
    pub files: Arc<Files>,
    pub readings: Arc<ReadingCache>,
    /// The readings that earlier runs stored.
    pub disk: DiskCache,
    /// The configuration of a file that the run does not name.
    pub project_of: ProjectOf,
    /// The rules that the command line selects.
    pub rules: RuleArgs,
    /// Whether to make fixes, and which.
    pub fix: Option<FixMode>,
    /// The baseline that the command line names.
    pub baseline: Option<PathBuf>,
    /// Set when the results are no longer needed.
    pub stop: Cancellation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FixMode {
    /// Make the fixes that reorder float arithmetic too.
    pub unsafe_too: bool,
    /// Write the file. Otherwise only show what would change.
    pub in_place: bool,
}

/// The options of a run over one file that exists in memory only. The run treats it as a file found in a folder.
pub(crate) fn in_memory(files: Files, name: &str, project: Arc<Project>) -> (Target, Options) {
    let options = Options {
        files: files.into(),
        readings: Arc::default(),
        disk: DiskCache::Off,
        project_of: Arc::new(|_| Ok(Arc::default())),
        rules: RuleArgs::default(),
        fix: None,
        baseline: None,
        stop: Cancellation::default(),
    };
    let input = Input {
        path: name.into(),
        origin: InputOrigin::Found,
    };
    (Target { input, project }, options)
}

impl Options {
    /// The same options with another `fix`, for work that `stop` ends.
    pub fn with(&self, fix: Option<FixMode>, stop: &Cancellation) -> Options {
        Options {
            files: Arc::clone(&self.files),
            readings: Arc::clone(&self.readings),
            disk: self.disk.clone(),
            project_of: Arc::clone(&self.project_of),
            rules: self.rules.clone(),
            fix,
            baseline: self.baseline.clone(),
            stop: stop.clone(),
        }
    }

    /// The readings of units, with these options.
    pub fn reading_store(&self) -> ReadingStore<'_> {
        ReadingStore {
            files: &self.files,
            known: &self.readings,
            disk: &self.disk,
            rules: &self.rules,
            stop: &self.stop,
        }
    }

    /// A search for the files that a file of this project includes.
    pub fn search<'a>(&'a self, project: &'a Project) -> Search<'a> {
        Search::new(&self.files, project)
    }

    /// The baseline of a project.
    pub fn baseline_of(&self, project: &Project) -> Option<PathBuf> {
        self.baseline.clone().or_else(|| project.baseline.clone())
    }

    /// The level of what `rule` finds in the file `path`.
    pub fn level(&self, project: &Project, rule: &Rule, path: &str) -> GivenLevel {
        project.level(&self.rules, rule, path)
    }

    /// Whether the run reports all that `rule` finds in the file `path`. Under a shader model older than the one the
    /// file is written for, the rule omits some wave forms.
    pub fn reports_all_of(&self, project: &Project, rule: &Rule, path: &str) -> bool {
        let profile = project.profile.filter(|_| project.is_profile_of_run);
        let is_older = profile.is_some_and(|model| model < ShaderModel::MULTI_PREFIX);
        self.level(project, rule, path).level() != Level::Off
            && !(is_older && rule.category == Category::Perf)
    }
}
