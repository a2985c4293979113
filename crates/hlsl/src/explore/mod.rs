//! Further configurations of a unit: those that take in what the first one leaves out.
//!
//! A region behind an `#if` is turned on by the definitions that its condition asks for, one or several together; what
//! it hides in turn is looked at then.

mod condition;

use std::cell::LazyCell;
use std::collections::VecDeque;

use rustc_hash::FxHashSet;

use crate::preprocess::{Branch, Definitions, Inactive, Preprocessed, WordsInCode, is_predefined};
use crate::span::{FileId, FileSpan, Problem, Sources};
use condition::{Change, Changes, both, ways};

/// How many configurations are tried out, and how many of them for one region.
const MAX_TRIES: usize = 32;
const MAX_TRIES_OF_ONE: usize = 8;
/// As many regions are kept in mind: each is held against those of every configuration.
const MAX_REGIONS: usize = 1000;

type Definition = (String, String);

/// A unit as these definitions make it.
#[derive(Clone, Debug, Default)]
pub struct Configuration {
    pub defines: Vec<Definition>,
    pub unit: Preprocessed,
    pub problems: Vec<Problem>,
}

/// Whether a region is followed up, told by its file, its place in that and its text, or what that may expand to.
pub type IsWanted<'a> = dyn Fn(&str, FileSpan, &[u8]) -> bool + 'a;

/// The regions that no configuration took in so far.
pub struct Exploration<'a> {
    is_wanted: &'a IsWanted<'a>,
    is_build: &'a dyn Fn(&[Definition]) -> bool,
    left: VecDeque<Region>,
    files: FxHashSet<String>,
    tries: usize,
}

/// A region that is left out.
struct Region {
    path: String,
    place: FileSpan,
    /// The definitions of the configuration that leaves it out.
    defines: Vec<Definition>,
    /// What may turn it on, the likeliest first.
    ways: Vec<Changes>,
}

impl<'a> Exploration<'a> {
    /// Regions are followed up if what they may expand to is wanted ([`Definitions::reach`]), under definitions that a build
    /// may make.
    #[must_use]
    pub fn new(is_wanted: &'a IsWanted<'a>, is_build: &'a dyn Fn(&[Definition]) -> bool) -> Self {
        Exploration {
            is_wanted,
            is_build,
            left: VecDeque::new(),
            files: FxHashSet::default(),
            tries: 0,
        }
    }

    /// Takes notice of a configuration: what is in it is no longer looked for.
    pub fn note(&mut self, unit: &Preprocessed, defines: &[Definition]) {
        let definitions = LazyCell::new(|| Definitions::of(&unit.sources, &unit.given));
        let is_wanted = |inactive: &&Inactive| {
            let path = path_of(&unit.sources, inactive.region.file);
            let text = text_of(&unit.sources, inactive.region);
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
        // Headers have other includers: those of the file itself come first.
        new.sort_by_key(|region| region.place.file);
        self.left.retain(|region| !region.is_active_in(unit));
        new.truncate(MAX_REGIONS.saturating_sub(self.left.len()));
        self.left.extend(new);
        let files = unit.sources.files.iter();
        self.files.extend(files.map(|file| file.path.clone()));
    }

    /// Whether it is the first time that the text of this region is left out by itself, and none took it in.
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

    /// The next configuration that takes in a region which none did before; `None` if no more are found. It is noted.
    pub fn next(
        &mut self,
        mut preprocess: impl FnMut(&[Definition]) -> (Preprocessed, Vec<Problem>),
    ) -> Option<Configuration> {
        while let Some(region) = self.left.front() {
            let changed = region.ways.iter().filter_map(|way| applied(&region.defines, way));
            let changed = changed.filter(|defines| (self.is_build)(defines));
            let changed: Vec<Vec<Definition>> = changed.take(MAX_TRIES_OF_ONE).collect();
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

/// `is_in_code` says whether a word is in the unit's code.
fn region(
    unit: &Preprocessed,
    inactive: &Inactive,
    defines: &[Definition],
    is_in_code: &dyn Fn(&[u8]) -> bool,
) -> Region {
    let text = |place: FileSpan| String::from_utf8_lossy(text_of(&unit.sources, place)).into_owned();
    let own = if inactive.opened_by == Branch::Else {
        vec![Vec::new()]
    } else {
        ways(&text(inactive.condition), inactive.opened_by, true)
    };
    // One that comes before it has to fail besides.
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

/// `defines` with the changes made; `None` if nothing changes.
fn applied(defines: &[Definition], changes: &[Change]) -> Option<Vec<Definition>> {
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
    /// Whether this configuration takes the region in.
    fn is_active_in(&self, unit: &Preprocessed) -> bool {
        let mut files = (0..).map(FileId).zip(&unit.sources.files);
        let file = files.find(|(_, file)| file.path == self.path).map(|(id, _)| id);
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

/// Whether one place begins in another of the same file.
fn is_in(place: FileSpan, region: FileSpan) -> bool {
    (region.start..region.end).contains(&place.start)
}

fn path_of(sources: &Sources, file: FileId) -> &str {
    sources.get(file).map_or("", |file| &file.path)
}

fn text_of(sources: &Sources, place: FileSpan) -> &[u8] {
    let file = sources.get(place.file);
    file.and_then(|file| file.text.get(place.start as usize..place.end as usize))
        .unwrap_or_default()
}
