//! Further readings of a file: one configuration hides code.
//!
//! Those that the project declares come first, then those that the file names for its kernels. Then, for each region that conditional compilation left out and that
//! looks like one for the rules, the reading that turns it on, where one definition does. Findings are the union.

mod switch;
mod union;

use std::collections::VecDeque;

use shaderlint_hlsl::{
    FileId, FileSpan, Inactive, Includes, Preprocessed, Problem, Sources, kernel_variants, preprocess,
    read_preprocessed,
};
use shaderlint_linter::{Report, Settings, check_shader};
use shaderlint_rules::RULES;
use switch::{Switch, switches};

use crate::config::{Definition, Project, overlaid};
pub(crate) use union::union;

/// How many readings of a file there are beside the default one.
const MAX_VARIANTS: usize = 8;
/// How many definitions are tried out for that.
const MAX_TRIES: usize = 32;

/// What makes a region one for the rules.
const TELLING: [&[u8]; 3] = [b"Barrier", b"Interlocked", b"groupshared"];

/// A file under one set of definitions. Without the tree, which is much larger than all that.
pub(crate) struct Reading {
    /// Said of a finding that the default reading has not; empty for that one.
    label: String,
    sources: Sources,
    inactive: Vec<Inactive>,
    problems: Vec<Problem>,
    report: Report,
    has_entry: bool,
}

/// The default reading, then the others.
pub(crate) fn readings(
    path: &str,
    text: &[u8],
    project: &Project,
    includes: &dyn Includes,
    settings: &Settings,
) -> Vec<Reading> {
    let preprocess = |defines: &[Definition]| preprocess(path, text, defines, includes);
    let (unit, problems) = preprocess(&project.defines);
    let default_text = unit.text.clone();
    let mut left = telling_regions(&unit);
    let mut readings = vec![check(String::new(), unit, problems, settings, None)];
    for variant in project.variants.iter().take(MAX_VARIANTS) {
        let (unit, problems) = preprocess(&overlaid(&project.defines, &variant.defines));
        left.retain(|region| !region.is_active_in(&unit));
        if unit.text != default_text {
            let label = format!("in variant {}", variant.name);
            readings.push(check(label, unit, problems, settings, None));
        }
    }
    for variant in kernel_variants(text) {
        if readings.len() > MAX_VARIANTS {
            return readings;
        }
        let (unit, problems) = preprocess(&overlaid(&project.defines, &variant.defines));
        left.retain(|region| !region.is_active_in(&unit));
        let label = format!("in kernel {}", variant.kernels.join(", "));
        readings.push(check(label, unit, problems, settings, Some(&variant.kernels)));
    }
    let mut tries = 0;
    while let Some(region) = left.pop_front() {
        for switch in switches(&region.condition, region.inactive.opened_by) {
            let Some((label, defines)) = switched(&project.defines, switch) else {
                continue;
            };
            if tries == MAX_TRIES || readings.len() > MAX_VARIANTS {
                return readings;
            }
            tries += 1;
            let (unit, problems) = preprocess(&defines);
            if region.is_active_in(&unit) {
                left.retain(|region| !region.is_active_in(&unit));
                readings.push(check(label, unit, problems, settings, None));
                break;
            }
        }
    }
    readings
}

/// With `kernels`, the others are no entry points: they are never compiled with these definitions.
fn check(
    label: String,
    mut unit: Preprocessed,
    problems: Vec<Problem>,
    settings: &Settings,
    kernels: Option<&[String]>,
) -> Reading {
    let inactive = std::mem::take(&mut unit.inactive);
    let (mut shader, problems) = read_preprocessed(unit, problems);
    for function in &mut shader.functions {
        if kernels.is_some_and(|kernels| !kernels.contains(&function.name)) {
            function.group_size = None;
        }
    }
    let has_entry = shader.entry_points().next().is_some();
    Reading {
        label,
        inactive,
        problems,
        report: check_shader(&shader, RULES, settings),
        has_entry,
        sources: shader.sources,
    }
}

/// `defines` with the change made, and what to call that; `None` if nothing changes.
fn switched(defines: &[Definition], switch: Switch) -> Option<(String, Vec<Definition>)> {
    match switch {
        Switch::Define(definition) => {
            let label = format!("with -D {}={}", definition.0, definition.1);
            (!defines.contains(&definition)).then(|| (label, overlaid(defines, &[definition])))
        }
        Switch::Undefine(name) => {
            let left: Vec<Definition> = defines
                .iter()
                .filter(|(known, _)| *known != name)
                .cloned()
                .collect();
            (left.len() < defines.len()).then(|| (format!("without -D {name}"), left))
        }
    }
}

/// A region that the default reading leaves out.
struct Region {
    path: String,
    condition: String,
    inactive: Inactive,
}

impl Region {
    /// Whether this other reading of the file takes the region in.
    fn is_active_in(&self, unit: &Preprocessed) -> bool {
        let inactive = unit.inactive.iter().map(|inactive| inactive.region);
        file_called(&unit.sources, &self.path).is_some_and(|file| {
            let here = FileSpan {
                file,
                ..self.inactive.region
            };
            !inactive.into_iter().any(|region| holds(region, here))
        })
    }
}

/// Those of the file itself come first: headers have other includers.
fn telling_regions(unit: &Preprocessed) -> VecDeque<Region> {
    let regions = unit.inactive.iter().filter_map(|inactive| {
        let text = text_of(&unit.sources, inactive.region);
        let is_telling = TELLING.iter().any(|word| contains(text, word));
        is_telling.then(|| Region {
            path: unit
                .sources
                .get(inactive.region.file)
                .map_or(String::new(), |file| file.path.clone()),
            condition: String::from_utf8_lossy(text_of(&unit.sources, inactive.condition)).into_owned(),
            inactive: *inactive,
        })
    });
    let mut regions: Vec<Region> = regions.collect();
    regions.sort_by_key(|region| region.inactive.region.file);
    regions.into()
}

fn file_called(sources: &Sources, path: &str) -> Option<FileId> {
    let mut files = (0..).zip(&sources.files);
    files
        .find(|(_, file)| file.path == path)
        .map(|(number, _)| FileId(number))
}

fn text_of(sources: &Sources, place: FileSpan) -> &[u8] {
    sources
        .get(place.file)
        .and_then(|file| file.text.get(place.start as usize..place.end as usize))
        .unwrap_or_default()
}

/// Whether `place` begins in `region`.
fn holds(region: FileSpan, place: FileSpan) -> bool {
    region.file == place.file && (region.start..region.end).contains(&place.start)
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}
