//! Further configurations of a unit: those that include regions which the first one leaves out.
//!
//! The definitions that the condition of an `#if` tests, one or several together, turn on the region behind it.
//! Regions that were hidden inside it are then explored in turn.

mod condition;

use std::cell::LazyCell;
use std::collections::VecDeque;

use rustc_hash::FxHashSet;

use crate::preprocess::{Branch, Definitions, Inactive, Preprocessed, WordsInCode, is_predefined};
use crate::span::{FileId, FileSpan, Problem, Sources};
use condition::{Change, Changes, both, ways};

/// The maximum of configurations to try, in total and for one region.
const MAX_TRIES: usize = 32;
const MAX_TRIES_OF_ONE: usize = 8;
/// The maximum of open regions: each is compared with the regions of every configuration.
const MAX_REGIONS: usize = 1000;

/// The name and value of a macro that is defined before a file is read.
pub type Define = (String, String);

/// A unit preprocessed under these definitions.
#[derive(Clone, Debug, Default)]
pub struct Configuration {
    pub defines: Vec<Define>,
    pub unit: Preprocessed,
    pub problems: Vec<Problem>,
}

/// Whether to explore a region. The arguments are its file, its place in the file, and its text or expansion.
pub type IsWanted<'a> = dyn Fn(&str, FileSpan, &[u8]) -> bool + 'a;

/// The regions that no configuration has included so far.
pub struct Exploration<'a> {
    is_wanted: &'a IsWanted<'a>,
    is_build: &'a dyn Fn(&[Define]) -> bool,
    left: VecDeque<Region>,
    files: FxHashSet<String>,
    tries: usize,
}

/// A region that is left out.
struct Region {
    path: String,
    place: FileSpan,
    /// The definitions of the configuration that leaves it out.
    defines: Vec<Define>,
    /// The changes that may turn it on, the most likely first.
    ways: Vec<Changes>,
}

impl<'a> Exploration<'a> {
    /// An exploration of the regions whose text or expansion is wanted ([`Definitions::reach`]), under definitions
    /// that a build may make.
    #[must_use]
    pub fn new(is_wanted: &'a IsWanted<'a>, is_build: &'a dyn Fn(&[Define]) -> bool) -> Self {
        Exploration {
            is_wanted,
            is_build,
            left: VecDeque::new(),
            files: FxHashSet::default(),
            tries: 0,
        }
    }

    /// Notes a configuration: the regions that it includes need no exploration.
    pub fn note(&mut self, unit: &Preprocessed, defines: &[Define]) {
        let definitions = LazyCell::new(|| Definitions::of(&unit.sources, &unit.given));
        let is_wanted = |inactive: &&Inactive| {
            let path = path_of(&unit.sources, inactive.region.file);
            let text = unit.sources.text(inactive.region);
            let is_wanted = |text: &[u8]| (self.is_wanted)(path, inactive.region, text);
            is_wanted(text) || is_wanted(&definitions.reach(text).text)
        };
        let new = unit
            .inactive
            .iter()
            .filter(|inactive| self.is_new(unit, inactive))
            .filter(is_wanted);
        let is_in_code = |word: &[u8]| {
            let mut files = unit.sources.files.iter();
            files.any(|file| file.text.derived::<WordsInCode>().contains(word))
        };
        let mut new: Vec<Region> = new
            .map(|inactive| region(unit, inactive, defines, &is_in_code))
            .collect();
        // Headers have other includers, so the regions of the file itself come first.
        new.sort_by_key(|region| region.place.file);
        self.left.retain(|region| !region.is_active_in(unit));
        new.truncate(MAX_REGIONS.saturating_sub(self.left.len()));
        self.left.extend(new);
        let files = unit.sources.files.iter();
        self.files.extend(files.map(|file| file.path.clone()));
    }

    /// Whether a configuration leaves out this region on its own for the first time, and none included it before.
    fn is_new(&self, unit: &Preprocessed, inactive: &Inactive) -> bool {
        let path = path_of(&unit.sources, inactive.region.file);
        let is_hidden = || {
            let mut hiding = self.left.iter().filter(|region| region.path == path);
            hiding.any(|region| region.holds(inactive.region) && !region.is_at(inactive.region))
        };
        (!self.files.contains(path) || is_hidden())
            && !self
                .left
                .iter()
                .any(|region| region.path == path && region.is_at(inactive.region))
    }

    /// The next configuration that includes a region which no earlier one included, if there is one. It is noted.
    pub fn next(
        &mut self,
        mut preprocess: impl FnMut(&[Define]) -> (Preprocessed, Vec<Problem>),
    ) -> Option<Configuration> {
        while let Some(region) = self.left.front() {
            let changed = region.ways.iter().filter_map(|way| applied(&region.defines, way));
            let changed = changed.filter(|defines| (self.is_build)(defines));
            let changed: Vec<Vec<Define>> = changed.take(MAX_TRIES_OF_ONE).collect();
            for defines in changed {
                if self.tries == MAX_TRIES {
                    return None;
                }
                self.tries += 1;
                let (unit, problems) = preprocess(&defines);
                let is_on = self.left.front().is_some_and(|region| region.is_active_in(&unit));
                if is_on {
                    self.note(&unit, &defines);
                    return Some(Configuration {
                        defines,
                        unit,
                        problems,
                    });
                }
            }
            self.left.pop_front();
        }
        None
    }
}

/// The region, with the ways to turn it on. `is_in_code` says whether a word occurs in the unit's code.
fn region(
    unit: &Preprocessed,
    inactive: &Inactive,
    defines: &[Define],
    is_in_code: &dyn Fn(&[u8]) -> bool,
) -> Region {
    let text = |place: FileSpan| String::from_utf8_lossy(unit.sources.text(place)).into_owned();
    let own = if inactive.opened_by == Branch::Else {
        vec![Vec::new()]
    } else {
        ways(&text(inactive.condition), inactive.opened_by, true)
    };
    // The condition of an earlier branch that was taken must be false as well.
    let earlier = inactive
        .taken
        .filter(|taken| taken.region.start < inactive.region.start);
    let ways = earlier.map_or_else(
        || own.clone(),
        |taken| {
            let none = ways(&text(taken.condition), taken.opened_by, false);
            both(&own, &none)
        },
    );
    let alone = own
        .iter()
        .chain(&ways)
        .flatten()
        .map(|change| vec![change.clone()]);
    let has_value = |change: &Change| match change {
        Change::Have(name) => is_in_code(name.as_bytes()),
        _ => false,
    };
    let mut tried = Vec::new();
    for way in alone.chain(own.iter().cloned()).chain(ways.iter().cloned()) {
        if !tried.contains(&way) && !way.iter().any(has_value) {
            tried.push(way);
        }
    }
    Region {
        path: path_of(&unit.sources, inactive.region.file).to_owned(),
        place: inactive.region,
        defines: defines.to_vec(),
        ways: tried,
    }
}

/// `defines` with these changes; `None` if nothing changes.
fn applied(defines: &[Define], changes: &[Change]) -> Option<Vec<Define>> {
    let mut changed = defines.to_vec();
    for change in changes {
        if is_predefined(change.name()) {
            continue;
        }
        let known = changed.iter().position(|(name, _)| name == change.name());
        match (change, known) {
            (Change::Have(name), None) => changed.push((name.clone(), "1".to_owned())),
            (Change::Set(name, value), None) => changed.push((name.clone(), value.clone())),
            (Change::Set(_, value), Some(at)) => {
                if let Some(known) = changed.get_mut(at) {
                    known.1.clone_from(value);
                }
            }
            (Change::Remove(_), Some(at)) => {
                changed.remove(at);
            }
            (Change::Have(_), Some(_)) | (Change::Remove(_), None) => {}
        }
    }
    (changed != defines).then_some(changed)
}

impl Region {
    /// Whether this configuration includes the region.
    fn is_active_in(&self, unit: &Preprocessed) -> bool {
        let file = unit.sources.id_of(&self.path);
        file.is_some_and(|file| {
            let mut inactive = unit.inactive.iter().map(|inactive| inactive.region);
            !inactive.any(|region| region.file == file && is_in(self.place, region))
        })
    }

    fn holds(&self, place: FileSpan) -> bool {
        is_in(place, self.place)
    }

    fn is_at(&self, place: FileSpan) -> bool {
        (self.place.start, self.place.end) == (place.start, place.end)
    }
}

/// Whether `place` begins in `region`; both are in one file.
fn is_in(place: FileSpan, region: FileSpan) -> bool {
    (region.start..region.end).contains(&place.start)
}

fn path_of(sources: &Sources, file: FileId) -> &str {
    sources.get(file).map_or("", |file| &file.path)
}
