//! The readings of a unit: what the rules find in each of its configurations ([`Configurations`]).
//!
//! | stage | runs | because |
//! |---|---|---|
//! | default | the configuration of the project | it decides which other ones matter |
//! | declared | variants, definitions of kernels, keywords | builds make them |
//! | sizes | the default one with assumed group sizes | nothing says the size ([`group_sizes`]) |
//! | explored | those with a region that `#if` leaves out elsewhere | it may hold findings, or change a fix |
//!
//! Nothing is explored in a unit without a function to run, such as a pixel shader with an engine's headers.
//!
//! A fix must hold in each configuration that compiles its lines. So the fixes of the default reading, and of those
//! with assumed sizes, decide what the last stage reads: besides regions that may hold findings, those that a fix
//! depends on ([`FixDependencies`]). A stage of its own that confirms fixes later would find the limits of work and of
//! readings used up: such a region would stay unread, and the fix unchallenged. So one exploration takes both kinds of
//! regions in the order of the text.

mod disk_cache;
mod fix_dependencies;
mod group_sizes;
mod reading;
mod stand_ins;
mod store;
mod stray_functions;
mod tree;
mod unreached;

use std::cell::LazyCell;
use std::collections::HashSet;
use std::path::Path;

use shaderlint_hlsl::{Exploration, FileSpan, Includes, Preprocessed, Text};
use shaderlint_linter::Settings;

use crate::check::configurations::{Configuration, Configurations, MAX_CONFIGURATIONS, is_telling};
use crate::support::definition::Define;
use crate::workspace::config::Project;
use crate::workspace::files::Files;
use crate::workspace::prefilter;
pub(crate) use disk_cache::DiskCache;
use fix_dependencies::FixDependencies;
pub(crate) use reading::Reading;
use stand_ins::StandIns;
pub(crate) use store::{ReadingCache, ReadingStore, UnitReadings};
use tree::Tree;

/// The work (see [`Report::work`](shaderlint_linter::Report::work)) after which no more readings of a file are
/// explored: about that of one kernel which is too long to be run to its end, a second or two.
const ENOUGH_WORK: u64 = 10_000_000;

/// What is run in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    /// Its entry points.
    #[default]
    Unit,
    /// It has none. Unless a file that it includes has some, its functions with a thread's input run like kernels, and
    /// others by themselves if nothing calls them ([`stray_functions`]).
    HeaderAsUnit,
    /// It has none. Functions that nothing calls run by themselves; the files that include it show the others. Only
    /// the default configuration is read.
    Included,
}

impl Role {
    /// The role in which shaderlint checks a file to fix it: other files prove the fixes of a header without a kernel.
    pub fn for_fixes(files: &Files, path: &Path) -> Role {
        if files.may_have_entry(path) {
            Role::Unit
        } else {
            Role::Included
        }
    }
}

/// The file at the root of a unit.
#[derive(Clone, Copy)]
pub(crate) struct Root<'a> {
    /// Its name in findings.
    pub name: &'a str,
    pub text: &'a Text,
    pub project: &'a Project,
    pub role: Role,
}

/// The readings of a unit, the default one first: the stages of this module. There are fewer if the settings say that
/// the work is stopped.
fn run_configurations(root: Root<'_>, includes: &dyn Includes, settings: &Settings) -> Vec<Reading> {
    let (configurations, default) = Configurations::of(root.name, root.text, root.project, includes);
    let outline = outline(&default);
    let (base, default_text) = (default.defines.clone(), default.unit.text.clone());
    let mut run = UnitRun {
        configurations: &configurations,
        settings,
        role: root.role,
        readings: Vec::new(),
    };
    let Some(mut interest) = run.run_default(default) else {
        return Vec::new();
    };
    // Its includers decide under which other definitions it is read.
    if root.role == Role::Included {
        return run.readings;
    }
    let sized = run.trees_under(&base, run.sizes());
    for tree in &sized {
        interest.fixes.extend(tree.fix_dependencies());
    }
    // A build's definition may hold the attribute of an entry point.
    let values = || outline.given.iter().map(|(_, value)| value.as_bytes());
    let may_run = LazyCell::new(|| {
        values().any(prefilter::names_entry) || prefilter::may_run(root.name, root.text, includes)
    });
    let is_wanted = |path: &str, place: FileSpan, text: &[u8]| interest.is_in(path, place, text) && *may_run;
    let is_build = |defines: &[Define]| configurations.is_build(defines);
    let mut exploration = Exploration::new(&is_wanted, &is_build);
    exploration.note(&outline, &base);
    run.run_declared(&default_text, &mut exploration);
    if run.readings.len() <= MAX_CONFIGURATIONS {
        run.add_sized(sized);
        run.explore(&mut exploration);
    }
    run.readings
}

/// What an exploration asks of a configuration.
fn outline(configuration: &Configuration) -> Preprocessed {
    let unit = &configuration.unit;
    Preprocessed {
        inactive: unit.inactive.clone(),
        sources: unit.sources.clone(),
        given: unit.given.clone(),
        ..Preprocessed::default()
    }
}

/// What makes a region that `#if` leaves out worth a reading.
struct Interest {
    /// The functions that matter and that nothing calls: a region may matter only by a call of one.
    uncalled: HashSet<Vec<u8>>,
    fixes: FixDependencies,
}

impl Interest {
    fn is_in(&self, path: &str, place: FileSpan, text: &[u8]) -> bool {
        is_telling(text, &self.uncalled) || self.fixes.may_depend_on(path, place, text)
    }
}

/// The run of a unit's configurations.
struct UnitRun<'a> {
    configurations: &'a Configurations<'a>,
    settings: &'a Settings<'a>,
    role: Role,
    readings: Vec<Reading>,
}

impl UnitRun<'_> {
    /// Runs the default configuration.
    fn run_default(&mut self, configuration: Configuration) -> Option<Interest> {
        let tree = self.tree(configuration, &StandIns::default())?;
        let fixes = tree.fix_dependencies();
        let mut reading = tree.into_reading(self.configurations);
        reading.omits_declared = self.configurations.omits_declared();
        let uncalled = reading.uncalled.iter().map(|name| name.clone().into_bytes());
        let uncalled = uncalled.collect();
        self.readings.push(reading);
        Some(Interest { uncalled, fixes })
    }

    /// Runs the declared configurations, even those whose text is known: they may be for other kernels.
    fn run_declared(&mut self, default: &[u8], exploration: &mut Exploration<'_>) {
        for configuration in self.configurations.declared(default) {
            if self.is_stopped() {
                return;
            }
            exploration.note(&configuration.unit, &configuration.defines);
            let reading = self.reading(configuration, &StandIns::default());
            self.readings.extend(reading);
        }
    }

    /// Adds what the default configuration has under every assumed size, if the kernels have unknown ones.
    fn add_sized(&mut self, trees: Vec<Tree>) {
        let reading = self.agreed(trees, self.sizes());
        self.readings.extend(reading);
    }

    /// Explores configurations until nothing of interest is left, or a limit is reached.
    fn explore(&mut self, exploration: &mut Exploration<'_>) {
        let mut known = StandIns::of(&self.readings);
        let mut like_others = 0;
        while self.readings.len() + like_others <= MAX_CONFIGURATIONS
            && self.work() < ENOUGH_WORK
            && !self.is_stopped()
            && let Some(configuration) = self.configurations.explored(exploration)
        {
            let defines = configuration.defines.clone();
            let Some(reading) = self.reading(configuration, &known) else {
                like_others += 1;
                continue;
            };
            known.note(&reading);
            let sized = self.trees_under(&defines, &reading.sizes);
            let with_sizes = self.agreed(sized, &reading.sizes);
            self.readings.push(reading);
            self.readings.extend(with_sizes);
        }
    }

    fn reading(&self, configuration: Configuration, known: &StandIns) -> Option<Reading> {
        let tree = self.tree(configuration, known);
        tree.map(|tree| tree.into_reading(self.configurations))
    }

    /// The checked tree of a configuration; `None` if a known reading stands for its reading.
    fn tree(&self, configuration: Configuration, known: &StandIns) -> Option<Tree> {
        let mut tree = Tree::of(configuration, self.role, known)?;
        tree.check(self.settings);
        Some(tree)
    }

    /// The checked trees under each of these sizes, on top of the definitions `under`.
    fn trees_under(&self, under: &[Define], sizes: &[Vec<Define>]) -> Vec<Tree> {
        let sizes_wanted = sizes.iter().take_while(|_| !self.is_stopped());
        let trees = sizes_wanted
            .filter_map(|sizes| self.tree(self.configurations.with(under, sizes), &StandIns::default()));
        trees.collect()
    }

    /// The reading with what all of these trees have, one for each of these sizes.
    fn agreed(&self, trees: Vec<Tree>, sizes: &[Vec<Define>]) -> Option<Reading> {
        let readings = trees
            .into_iter()
            .map(|tree| tree.into_reading(self.configurations));
        let names = sizes.first().map_or(&[][..], Vec::as_slice);
        group_sizes::agreed(readings.collect(), names, &self.readings)
    }

    /// The sizes to assume in the default configuration.
    fn sizes(&self) -> &[Vec<Define>] {
        self.readings.first().map_or(&[], |default| &default.sizes)
    }

    fn work(&self) -> u64 {
        self.readings.iter().map(|reading| reading.report.work).sum()
    }

    fn is_stopped(&self) -> bool {
        (self.settings.is_stopped)()
    }
}
