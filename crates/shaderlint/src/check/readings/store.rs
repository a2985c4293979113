//! Keeps the readings of units.
//!
//! A run needs a unit's readings for the unit's own findings, and again for the fixes in each file that the unit
//! includes: these fixes have to hold in the unit, too. Besides, a later run may find them on disk.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use shaderlint_hlsl::Text;
use shaderlint_linter::{Rule, Settings};

use super::{DiskCache, Reading, Role, Root, run_configurations};
use crate::cli::RuleArgs;
use crate::support::cancellation::Cancellation;
use crate::workspace::files::{Files, lock};
use crate::workspace::includes::{Lookups, Search};

/// The readings of a unit.
#[derive(Clone)]
pub(crate) struct UnitReadings {
    pub readings: Vec<Reading>,
    pub lookups: Lookups,
    /// The user or the editor stopped the run, so readings may be missing.
    is_stopped: bool,
}

/// The readings that a run may need twice.
#[derive(Default)]
pub(crate) struct ReadingCache(Mutex<Entries>);

#[derive(Default)]
struct Entries {
    /// [`Files::generation`](crate::workspace::files::Files::generation) when they were made.
    generation: u64,
    by_root: HashMap<(String, Role), Arc<Entry>>,
}

/// A unit whose readings are being made, or were made.
struct Entry {
    text: Text,
    project: String,
    readings: OnceLock<Arc<UnitReadings>>,
}

/// Gives the readings of units: cached ones, those on disk, or new ones.
#[derive(Clone, Copy)]
pub(crate) struct ReadingStore<'a> {
    pub files: &'a Files,
    pub known: &'a ReadingCache,
    pub disk: &'a DiskCache,
    /// The rules that the command line asks for.
    pub rules: &'a RuleArgs,
    pub stop: &'a Cancellation,
}

impl ReadingStore<'_> {
    /// The readings of a unit for findings of its own. The cache keeps them if a fix in an included file may need them.
    pub fn take(self, root: Root<'_>) -> Arc<UnitReadings> {
        let seen = self.get(root);
        let takes_in = |reading: &Reading| !reading.extracts.is_empty();
        if !seen.readings.iter().any(takes_in) {
            self.known.forget(root);
        }
        seen
    }

    /// The readings of a unit, which the cache keeps. A concurrent caller waits for the first one; this cannot
    /// deadlock, for the readings of a unit need no other unit's.
    pub fn get(self, root: Root<'_>) -> Arc<UnitReadings> {
        let entry = self.known.entry(root, self.files.generation());
        let seen = entry.readings.get_or_init(|| Arc::new(self.load_or_make(root)));
        if !seen.is_stopped {
            return Arc::clone(seen);
        }
        self.known.forget(root);
        // The stop may not concern this caller.
        Arc::new(self.load_or_make(root))
    }

    /// The readings of a unit with `text` in place of the text of the file at `path`. No cache keeps them.
    pub fn make_with(self, root: Root<'_>, path: &Path, text: &Text) -> UnitReadings {
        let search = Search::new(self.files, root.project).with(path, text);
        self.make(root, search)
    }

    fn load_or_make(self, root: Root<'_>) -> UnitReadings {
        let search = || Search::new(self.files, root.project);
        let known = search();
        if let Some(readings) = self.disk.get(root, &known, self.rules) {
            return UnitReadings {
                readings,
                lookups: known.into_lookups(),
                is_stopped: false,
            };
        }
        self.make(root, search().recorded())
    }

    fn make(self, root: Root<'_>, search: Search<'_>) -> UnitReadings {
        let level = |rule: &Rule, path: &str| root.project.level(self.rules, rule, path);
        let settings = Settings {
            shader_model: root.project.profile,
            level: &level,
            form: root.project.form,
            is_stopped: &|| self.stop.is_set(),
        };
        let readings = run_configurations(root, &search, &settings);
        let is_stopped = self.stop.is_set();
        if let Some(answers) = search.answers().filter(|_| !is_stopped) {
            self.disk.put(root, &answers, &readings, self.rules);
        }
        UnitReadings {
            readings,
            lookups: search.into_lookups(),
            is_stopped,
        }
    }
}

impl ReadingCache {
    fn forget(&self, root: Root<'_>) {
        lock(&self.0).by_root.remove(&(root.name.to_owned(), root.role));
    }

    fn entry(&self, root: Root<'_>, generation: u64) -> Arc<Entry> {
        let key = (root.name.to_owned(), root.role);
        let mut entries = lock(&self.0);
        if entries.generation != generation {
            *entries = Entries {
                generation,
                ..Entries::default()
            };
        }
        let project = root.project.reading();
        let known = entries.by_root.get(&key);
        let known = known.filter(|known| *known.text == **root.text && known.project == project);
        if let Some(known) = known {
            return Arc::clone(known);
        }
        let entry = Arc::new(Entry {
            text: root.text.clone(),
            project,
            readings: OnceLock::new(),
        });
        entries.by_root.insert(key, Arc::clone(&entry));
        entry
    }
}
