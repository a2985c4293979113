//! Units that were read, each once.
//!
//! A file is looked at for itself, and once more for each file that it includes and that has fixes: those are proved where
//! it takes them in, too. It is read to the same both times.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use shaderlint_hlsl::Text;
use shaderlint_linter::{Rule, Settings};

use super::{Reading, readings};
use crate::config::Project;
use crate::includes::{Lookups, Search, lock};
use crate::lint::{Options, Role};

/// The file that a unit begins with.
#[derive(Clone, Copy)]
pub(crate) struct Root<'a> {
    /// What it is called in findings.
    pub name: &'a str,
    pub text: &'a Text,
    pub project: &'a Project,
    pub role: Role,
}

/// What a unit was read to.
#[derive(Clone, Default)]
pub(crate) struct Seen {
    pub readings: Vec<Reading>,
    pub lookups: Lookups,
    /// Who read it was told to stop: something may be missing.
    is_stopped: bool,
}

/// Those of the units of a run that may be asked for twice.
#[derive(Default)]
pub(crate) struct SeenUnits(Mutex<HashMap<(String, Role), Arc<Once>>>);

/// One that is being read, or was.
struct Once {
    text: Text,
    /// [`Files::generation`](crate::includes::Files::generation) as it was read.
    generation: u64,
    seen: OnceLock<Arc<Seen>>,
}

impl SeenUnits {
    /// Reads a unit for findings of its own. It is kept if files that it includes may ask for it.
    pub fn of(&self, root: Root<'_>, options: &Options) -> Arc<Seen> {
        let seen = self.for_other(root, options);
        let takes_in = |reading: &Reading| !reading.extracts.is_empty();
        if !seen.readings.iter().any(takes_in) {
            lock(&self.0).remove(&(root.name.to_owned(), root.role));
        }
        seen
    }

    /// Reads a unit for what it makes of a file that it includes. Who asks while it is being read waits: reading one asks for no
    /// other.
    pub fn for_other(&self, root: Root<'_>, options: &Options) -> Arc<Seen> {
        let generation = options.files.generation();
        let new = || {
            Arc::new(Once {
                text: root.text.clone(),
                generation,
                seen: OnceLock::new(),
            })
        };
        let key = (root.name.to_owned(), root.role);
        let once = match lock(&self.0).entry(key.clone()) {
            Entry::Occupied(mut known) => {
                let once = known.get();
                if once.generation != generation || *once.text != **root.text {
                    known.insert(new());
                }
                Arc::clone(known.get())
            }
            Entry::Vacant(place) => Arc::clone(place.insert(new())),
        };
        let seen = once.seen.get_or_init(|| Arc::new(read(root, None, options)));
        if !seen.is_stopped {
            return Arc::clone(seen);
        }
        lock(&self.0).remove(&key);
        // Not who asks now, maybe.
        Arc::new(read(root, None, options))
    }
}

/// Reads a unit, with this text in the place of a file's.
pub(crate) fn read(root: Root<'_>, replaced: Option<(&Path, &Text)>, options: &Options) -> Seen {
    let Root {
        name,
        text,
        project,
        role,
    } = root;
    let mut search = Search::new(&options.files, project);
    if let Some((path, text)) = replaced {
        search = search.with(path, text);
    }
    let level = |rule: &Rule, path: &str| options.level(project, rule, path);
    let settings = Settings {
        shader_model: project.profile,
        level: &level,
        is_stopped: &|| options.stop.is_set(),
    };
    let readings = readings(name, text, project, &search, &settings, role);
    Seen {
        readings,
        lookups: search.into_lookups(),
        is_stopped: options.stop.is_set(),
    }
}
