//! The files of the workspace that include a checked file, and what their readings of it say. The run itself may check
//! them or not.

mod fixable;
mod unaffected;
mod verdict;

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use shaderlint_hlsl::{SourceFile, Text, is_cpp, may_spell};

use crate::check::candidates::{WorkspaceFile, mentioning};
use crate::check::file_report::FileReport;
use crate::check::options::Options;
use crate::check::readings::{Role, Root, UnitReadings};
use crate::support::definition::Define;
use crate::support::paths::{here, is_same, name_of, shown};
use crate::workspace::include_search::Sought;
use crate::workspace::prefilter::{self, MayBeFixed};
use crate::workspace::walk;

/// A file with more includers than this gets no fixes.
const MAX_INCLUDERS: usize = 32;

/// A file that includes another file, or may include it.
struct Includer {
    name: String,
    inclusion: Inclusion,
}

/// What a file includes of another file.
enum Inclusion {
    /// In one of these readings it includes the file, or another one that the same `#include` may mean.
    Readings(Arc<UnitReadings>),
    /// It includes it under definitions that were not tried.
    Unknown,
}

/// The files that include a file with a given text. Each is read once, when it is reached.
pub(crate) struct Includers<'a> {
    path: &'a Path,
    reached: Vec<Includer>,
    further: Box<dyn Iterator<Item = Includer> + 'a>,
}

impl<'a> Includers<'a> {
    pub fn of(path: &'a Path, text: &'a Text, options: &'a Options) -> Self {
        // Lazy: most files need no includers, and the search of the workspace takes time.
        let candidates = std::iter::once_with(|| mentioning(path, options)).flatten();
        let candidates = candidates
            .take_while(|_| !options.stop.is_set())
            .filter(|(includer, _)| here(includer) != here(path));
        let further = candidates.filter_map(move |(includer, names_it)| {
            // A file that cannot be read counts as unknown.
            let inclusion = inclusion(&includer, names_it, path, text, options);
            Some(Includer {
                inclusion: inclusion.unwrap_or(Some(Inclusion::Unknown))?,
                name: shown(&includer).display().to_string(),
            })
        });
        Includers {
            path,
            reached: Vec::new(),
            further: Box::new(further),
        }
    }

    /// Adds the findings with a fix in the file, a header with this text, each from the first includer that has it.
    pub fn add_fixable(&mut self, checked: &mut FileReport, text: &Text) {
        if text.derived::<MayBeFixed>().0 {
            let missing = MAX_INCLUDERS.saturating_sub(self.reached.len());
            self.reached.extend(self.further.by_ref().take(missing));
            fixable::add(checked, text, &self.reached);
        }
    }

    /// Keeps the findings and fixes in the file that every includer agrees on.
    pub fn judge(self, checked: &mut FileReport) {
        let guesses = std::mem::take(&mut checked.guesses);
        let includers = self.reached.into_iter().chain(self.further);
        let asked = verdict::judge(&mut checked.report.findings, self.path, includers, guesses);
        checked.includers.extend(asked);
    }
}

/// What the file `includer` includes of the one at `path`, if that has the text `text`. If it `names_it`, the name of
/// that file occurs in it or in a file that it includes.
fn inclusion(
    includer: &Path,
    names_it: bool,
    path: &Path,
    text: &Text,
    options: &Options,
) -> Result<Option<Inclusion>> {
    let name = &*shown(includer).display().to_string();
    let Some(unit) = WorkspaceFile::read(includer, options)? else {
        return Ok(None);
    };
    let file_name = name_of(path).unwrap_or_default();
    // Many C++ headers have an `#include` with a macro, and hardly any of them includes shaders. One that does holds
    // the words of the name.
    let may_include =
        || walk::is_shader(includer) || options.files.is_input(includer) || may_spell(&unit.text, &file_name);
    // Only a C++ compiler sees the `#include` there.
    if !names_it && !may_include() || is_cpp(&unit.text) {
        return Ok(None);
    }
    let is_it = |other: &str| is_same(Path::new(other), path);
    // The same file under another name.
    let is_link = is_it(name);
    let search = unit.search(options);
    let is_file = |file: &SourceFile| is_it(&file.path);
    let includes_it = |sought| is_link || search.includes_one(name, &unit.text, sought);
    if !includes_it(Sought::file(&is_file)) {
        return Ok(None);
    }
    let root = Root {
        name,
        text: if is_link { text } else { &unit.text },
        project: &unit.project,
        // Its own comments apply to its findings.
        role: if prefilter::names_entry(&unit.text) {
            Role::Unit
        } else {
            Role::HeaderAsUnit
        },
    };
    // While a file is fixed, its text is not the stored one. Each such text is asked about once, so no cache keeps it.
    let is_as_read = options.files.read(path).is_some_and(|file| *file.text == **text);
    let seen = if is_as_read {
        options.reading_store().get(root)
    } else {
        Arc::new(options.reading_store().make_with(root, path, text))
    };
    let readings = &seen.readings;
    let includes = readings.iter().any(|reading| !reading.ids_of(&is_it).is_empty());
    let given: Vec<Define> = unit.project.all_definitions().cloned().collect();
    let may_include = || {
        readings
            .iter()
            .any(|reading| reading.may_include(&file_name, &given))
    };
    let may_mean_it = || seen.lookups.passed_over(path).is_some();
    Ok(
        if (includes || may_mean_it()) && !readings.iter().any(|reading| reading.omits_declared) {
            Some(Inclusion::Readings(seen))
        } else if includes || names_it || includes_it(Sought::file(&is_file).for_certain()) || may_include() {
            // If it names the file, a macro under other definitions may include it.
            Some(Inclusion::Unknown)
        } else {
            None
        },
    )
}
