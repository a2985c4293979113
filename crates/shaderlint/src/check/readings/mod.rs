//! Readings of a file: what the rules find in each of its configurations ([`Configurations`]). Findings are the union.

mod disk_cache;
mod fix_dependencies;
mod group_sizes;
mod reader;
mod stray_functions;
mod unaffected;
mod union;

use std::cell::{Cell, LazyCell};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use shaderlint_hlsl::{
    Definitions, Directive, Directives, Exploration, Extracts, FileId, FileSpan, Function, Inactive,
    Includes, Preprocessed, Problem, Shader, Sources, Span, Text, Wanted, read_preprocessed,
};
use shaderlint_linter::{Diagnostic, Report, Safety, Settings, check_shader};
use shaderlint_rules::RULES;

use crate::check::configurations::{Configuration, Configurations, MAX_CONFIGURATIONS, TELLING, is_telling};
use crate::support::definition::Definition;
use crate::workspace::config::Project;
use crate::workspace::prefilter::{self, MayBeFixed, is_part, words};
pub(crate) use disk_cache::DiskCache;
use fix_dependencies::FixDependencies;
pub(crate) use reader::{Reader, ReadingCache, UnitReadings};
pub(crate) use stray_functions::leave_out_called;
pub(crate) use union::{
    Has, Includer, MAX_INCLUDERS, judge_by_includers, union, union_for_header, without_unread,
};

/// The work (see [`Report::work`]) after which no more readings of a file are explored: about that of one kernel
/// which is too long to be run to its end, a second or two.
const ENOUGH_WORK: u64 = 10_000_000;

/// The likeness of known readings, with the words of their fixes: see [`Reading::stands_for`].
type Known = FxHashMap<u64, HashSet<Vec<u8>>>;

/// The part that a file plays in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    /// It may have entry points.
    #[default]
    Unit,
    /// It has none, and no file of the run includes it.
    StrayHeader,
    /// It has none. The files that include it show all of it except the functions that none of them calls.
    Included,
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

/// What the rules find in a file under one set of definitions. It does not keep the tree, which is much larger.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Reading {
    /// Readings of a file with the same value have the same findings. It hashes [`Shader::likeness`] and `extracts`.
    likeness: Option<u64>,
    /// The note on findings that the default reading lacks; empty for the default reading.
    label: String,
    /// The part of the label about definitions and keywords.
    keywords: String,
    /// It applies the file's own definitions for some of its kernels: its findings name the kernel.
    is_of_kernels: bool,
    #[serde(skip)]
    sources: Sources,
    inactive: Vec<Inactive>,
    problems: Vec<Problem>,
    report: Report,
    has_entry: bool,
    /// It is the default one, and there are more declared configurations than are read.
    is_cut: bool,
    /// Kernels with a finding that no build compiles in this configuration: the file gives them other definitions.
    unbuilt: HashSet<String>,
    /// The entry points of included files: a file that does not name them does not compile them.
    of_headers: HashSet<String>,
    /// According to the file, a build compiles some kernel in this configuration.
    is_built: bool,
    /// The functions that no entry point calls, directly or not. The reading has no findings in them.
    aside: Vec<FileSpan>,
    /// The definitions of further readings if entry points have an unknown size.
    sizes: Vec<Vec<Definition>>,
    /// The functions that matter to the rules and that nothing calls.
    uncalled: Vec<String>,
    /// Those of `uncalled` that were run by themselves.
    alone: Vec<String>,
    /// The dependencies of the fixes, which decide which further readings are made.
    #[serde(skip)]
    repaired: FixDependencies,
    /// The lines that the unit takes from included files that fixes may change.
    extracts: Vec<(FileId, Extracts)>,
}

impl Reading {
    /// Removes the findings in kernels that no build compiles in this configuration.
    fn leave_out_unbuilt(&mut self) {
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

    /// The likeness that makes further readings redundant beside this one, and the words of its fixes.
    ///
    /// A reading with the same text gets the same proof and the same fix, unless it defines a word of that fix. There
    /// is no likeness if a fix is safe, for each reading has to confirm that; if no build compiles some kernel here,
    /// for one may do so in another reading; or in a reading for some kernels.
    fn stands_for(&self) -> Option<(u64, HashSet<Vec<u8>>)> {
        let fixes = || {
            self.report
                .findings
                .iter()
                .filter_map(|finding| finding.fix.as_ref())
        };
        let is_safe = fixes().any(|fix| fix.safety == Safety::Safe);
        if is_safe || !self.is_built || !self.unbuilt.is_empty() || self.is_of_kernels {
            return None;
        }
        let edits = fixes().flat_map(|fix| &fix.edits);
        let words = edits.flat_map(|edit| words(edit.text.as_bytes()));
        Some((self.likeness?, words.map(<[u8]>::to_vec).collect()))
    }

    /// The file's ids here; `is_it` recognises its path.
    pub fn numbers(&self, is_it: &dyn Fn(&str) -> bool) -> Vec<FileId> {
        let files = (0..).zip(&self.sources.files);
        let files = files.filter(|(_, file)| is_it(&file.path));
        files.map(|(number, _)| FileId(number)).collect()
    }

    /// How often the reading includes something between these bytes of a file; the unit's own text counts once.
    /// `None` if that is unknown, for an included file that fixes cannot change.
    fn times_taken(&self, file: FileId, start: u32, end: u32) -> Option<usize> {
        if file == FileId(0) {
            return Some(1);
        }
        let known = self.extracts.iter().find(|(known, _)| *known == file);
        Some(known?.1.times(start, end))
    }

    /// Whether something could not be read, or not be run to its end: there may be more findings.
    pub fn is_in_part(&self) -> bool {
        !(self.problems.is_empty() && self.report.stops.is_empty())
    }

    /// Whether there are more declared configurations than are read; only the default reading says so.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Whether a comment at this place of the file suppresses something here.
    pub fn uses(&self, comment: FileSpan, is_it: &dyn Fn(&str) -> bool) -> bool {
        let mut numbers = self.numbers(is_it).into_iter();
        numbers.any(|file| self.report.used.contains(&FileSpan { file, ..comment }))
    }

    /// Whether an `#include` with a macro may mean a file of this name under other definitions, including the `given`
    /// ones: the macro may expand to words that make up the name.
    pub fn may_include(&self, file_name: &str, given: &[Definition]) -> bool {
        let definitions = LazyCell::new(|| Definitions::of(&self.sources, given));
        let may_include = |line: &Directive| {
            prefilter::includes_by_macro(line) && definitions.reach(&line.argument).may_spell(file_name)
        };
        let mut files = self.sources.files.iter();
        files.any(|file| file.text.derived::<Directives>().iter().any(may_include))
    }
}

/// The default reading, then the others.
fn readings(
    path: &str,
    text: &Text,
    project: &Project,
    includes: &dyn Includes,
    settings: &Settings,
    role: Role,
) -> Vec<Reading> {
    let (configurations, default) = Configurations::of(path, text, project, includes);
    let check = |configuration: Configuration, known: &Known| {
        let defines = configuration.defines.clone();
        let mut reading = check(configuration, settings, role, known)?;
        if !reading.is_of_kernels {
            reading.unbuilt = unbuilt(&reading, &configurations, &defines);
            reading.is_built = configurations.builds_any(&defines);
        }
        Some(reading)
    };
    let outline = Preprocessed {
        inactive: default.unit.inactive.clone(),
        sources: default.unit.sources.clone(),
        given: default.unit.given.clone(),
        ..Preprocessed::default()
    };
    let (base, default_text) = (default.defines.clone(), default.unit.text.clone());
    // A declared configuration is read even if its text is known: it may be for other kernels.
    let none_known = Known::default();
    let Some(mut first) = check(default, &none_known) else {
        return Vec::new();
    };
    // A region may matter only by the call of a function that matters.
    let called: HashSet<Vec<u8>> = first
        .uncalled
        .iter()
        .map(|name| name.clone().into_bytes())
        .collect();
    let repaired = std::mem::take(&mut first.repaired);
    let is_telling = |path: &str, place: FileSpan, text: &[u8]| {
        is_telling(text, &called) || repaired.may_depend_on(path, place, text)
    };
    let is_build = |defines: &[Definition]| configurations.is_build(defines);
    let mut exploration = Exploration::new(&is_telling, &is_build);
    exploration.note(&outline, &base);
    first.is_cut = configurations.is_cut();
    let sizes = first.sizes.clone();
    let mut readings = vec![first];
    // Its includers decide under which other definitions it is read.
    if role == Role::Included {
        return readings;
    }
    let is_wanted = || !(settings.is_stopped)();
    for configuration in configurations.declared(&default_text).take_while(|_| is_wanted()) {
        exploration.note(&configuration.unit, &configuration.defines);
        readings.extend(check(configuration, &none_known));
    }
    if readings.len() > MAX_CONFIGURATIONS {
        return readings;
    }
    let of_sizes = |known: &[Reading], under: &[Definition], sizes: &[Vec<Definition>]| {
        let readings = sizes.iter().take_while(|_| is_wanted());
        group_sizes::agreed(
            readings
                .filter_map(|sizes| check(configurations.with(under, sizes), &none_known))
                .collect(),
            sizes.first().map_or(&[], Vec::as_slice),
            known,
        )
    };
    let with_sizes = of_sizes(&readings, &base, &sizes);
    readings.extend(with_sizes);
    let work = |readings: &[Reading]| readings.iter().map(|reading| reading.report.work).sum::<u64>();
    let mut known: Known = readings.iter().filter_map(Reading::stands_for).collect();
    let mut like_others = 0;
    while readings.len() + like_others <= MAX_CONFIGURATIONS
        && work(&readings) < ENOUGH_WORK
        && is_wanted()
        && let Some(configuration) = configurations.explored(&mut exploration)
    {
        let defines = configuration.defines.clone();
        let Some(reading) = check(configuration, &known) else {
            like_others += 1;
            continue;
        };
        known.extend(reading.stands_for());
        let is_news = !reading.has_entry || sizes.is_empty();
        let with_sizes = of_sizes(&readings, &defines, if is_news { &reading.sizes } else { &[] });
        readings.push(reading);
        readings.extend(with_sizes);
    }
    readings
}

/// The kernels of findings that no build compiles in this configuration.
fn unbuilt(reading: &Reading, configurations: &Configurations, defines: &[Definition]) -> HashSet<String> {
    let allowed = reading.report.allowed.iter().map(|one| &one.finding);
    let found = reading.report.findings.iter().chain(allowed);
    let is_named = |name: &str| {
        let files = reading.sources.files.iter();
        let mut words = files.flat_map(|file| file.text.split(|byte| !is_part(*byte)));
        words.any(|word| word == name.as_bytes())
    };
    let kernels = found.flat_map(|finding| &finding.kernels);
    let is_built = |name: &&String| {
        configurations.builds(name, defines, || is_named(name))
            && !(reading.of_headers.contains(*name) && configurations.leaves_out(name))
    };
    kernels.filter(|name| !is_built(name)).cloned().collect()
}

/// Reads a configuration. In one that is for some kernels, the others are no entry points: they are never compiled
/// like this. `None` if the reading would equal one whose [`Reading::likeness`] is known.
fn check(configuration: Configuration, settings: &Settings, role: Role, known: &Known) -> Option<Reading> {
    let Configuration {
        label,
        keywords,
        kernels,
        defines,
        unit,
        problems,
    } = configuration;
    let is_known = Cell::new(false);
    let inactive = unit.inactive.clone();
    let extracts = extracts(&unit);
    let with_extracts = |likeness: u64| {
        let mut hasher = DefaultHasher::new();
        (likeness, &extracts).hash(&mut hasher);
        hasher.finish()
    };
    let wanted = Wanted {
        file: &|file| file == FileId(0),
        words: if may_be_run(&unit.text, role) {
            &prefilter::WORDS
        } else {
            &[]
        },
        is_known: &|likeness| {
            let words = known.get(&with_extracts(likeness));
            let defines_one = |words: &HashSet<Vec<u8>>| {
                let mut names = defines.iter().map(|(name, _)| name.as_bytes());
                names.any(|name| words.contains(name))
            };
            is_known.set(words.is_some_and(|words| !defines_one(words)));
            is_known.get()
        },
    };
    let (mut shader, problems) = read_preprocessed(unit, problems, Some(&wanted));
    if is_known.get() {
        return None;
    }
    let likeness = shader.likeness.map(with_extracts);
    let sizes = group_sizes::to_try(&shader);
    let uncalled = uncalled(&shader);
    let strays = stray_functions::take_as_entries(&mut shader, role, &uncalled);
    for function in &mut shader.functions {
        if kernels
            .as_ref()
            .is_some_and(|kernels| !kernels.contains(&function.name))
        {
            function.group_size = None;
        }
    }
    // The tree lacks code in which the rules cannot find anything, even entry points.
    let is_unread = shader.functions.is_empty() && prefilter::names_entry(&shader.text);
    let has_entry = is_unread || shader.entry_points().next().is_some();
    let is_included = |function: &&Function| {
        let place = shader.origins.locate(function.name_span);
        place.is_some_and(|place| place.file != FileId(0))
    };
    let entries = shader.entry_points().map(|(_, function)| function);
    let of_headers = entries
        .filter(is_included)
        .map(|function| function.name.clone())
        .collect();
    let aside = match shader.sources.files.first() {
        // There is no entry point, or none reaches anything that a fix could change.
        Some(file) if is_unread || !has_entry => vec![whole(&file.text)],
        _ => aside(&shader),
    };
    let mut report = check_shader(&shader, RULES, settings);
    for finding in &mut report.findings {
        drop_fix_across_files(finding, &extracts);
    }
    if !strays.is_empty() {
        stray_functions::suppose(&mut report, &strays);
    }
    let repaired = FixDependencies::of(&shader, &report);
    let alone = strays.into_iter().filter(stray_functions::Stray::is_alone);
    Some(Reading {
        likeness,
        label,
        keywords,
        is_of_kernels: kernels.is_some(),
        inactive,
        problems,
        report,
        has_entry,
        is_cut: false,
        unbuilt: HashSet::new(),
        of_headers,
        is_built: true,
        aside,
        sizes,
        uncalled,
        alone: alone.map(|stray| stray.name).collect(),
        repaired,
        extracts,
        sources: shader.sources,
    })
}

/// The lines that a unit takes from included files that fixes may change.
fn extracts(unit: &Preprocessed) -> Vec<(FileId, Extracts)> {
    let files = (0..).map(FileId).zip(&unit.sources.files).skip(1);
    let may_be_fixed = files.filter(|(_, file)| file.text.derived::<MayBeFixed>().0);
    may_be_fixed
        .map(|(id, _)| (id, unit.origins.extracts(&unit.text, id)))
        .collect()
}

/// Drops a fix unless all its edits are in this file, or all are in one of the `others`.
fn drop_fix_across_files(finding: &mut Diagnostic, others: &[(FileId, Extracts)]) {
    let edits = finding.fix.iter().flat_map(|fix| &fix.edits);
    let mut files: Vec<FileId> = edits.map(|edit| edit.place.file).collect();
    files.dedup();
    match *files {
        [] | [FileId(0)] => {}
        [file] if others.iter().any(|(other, _)| *other == file) => {}
        _ => finding.fix = None,
    }
}

/// Whether a text contains anything to run: a kernel, or a function that may count as one.
fn may_be_run(text: &[u8], role: Role) -> bool {
    prefilter::names_entry(text)
        || prefilter::names_thread(text)
        || role != Role::Unit && prefilter::names_group_barrier(text)
}

/// The functions that no entry point reaches, as places in files. An entry point reaches every function that it
/// names, or that a reached function or code outside of functions names.
fn aside(shader: &Shader) -> Vec<FileSpan> {
    let own_name = |name: &str| name.rsplit("::").next().unwrap_or(name).to_owned();
    let mut by_name: FxHashMap<Vec<u8>, Vec<&Function>> = FxHashMap::default();
    let mut come_to: Vec<&Function> = Vec::new();
    let (mut seen, mut texts): (HashSet<Span>, Vec<Span>) = (HashSet::new(), Vec::new());
    for function in &shader.functions {
        let name = own_name(&function.name);
        if function.group_size.is_some() || !name.bytes().all(is_part) {
            come_to.push(function);
        }
        by_name.entry(name.into_bytes()).or_default().push(function);
    }
    texts.extend(shader.globals.iter().map(|global| global.span));
    loop {
        while let Some(function) = come_to.pop() {
            if seen.insert(function.span) {
                texts.push(function.span);
            }
        }
        let Some(text) = texts.pop() else { break };
        for word in text.slice(&shader.text).split(|byte| !is_part(*byte)) {
            come_to.extend(by_name.remove(word).unwrap_or_default());
        }
    }
    let place = |function: &Function| shader.origins.locate(function.span);
    let (come_to, aside): (Vec<&Function>, Vec<&Function>) = shader
        .functions
        .iter()
        .partition(|function| seen.contains(&function.span));
    let come_to: Vec<FileSpan> = come_to.into_iter().filter_map(place).collect();
    let meets = |a: &FileSpan, b: &FileSpan| a.file == b.file && a.start < b.end && b.start < a.end;
    let places = aside.into_iter().filter_map(place);
    // A file may be included twice, and an entry point may reach a function in only one of the copies.
    places
        .filter(|place| !come_to.iter().any(|other| meets(place, other)))
        .collect()
}

/// The functions that matter to the rules and that are named only in their definition.
fn uncalled(shader: &Shader) -> Vec<String> {
    let functions = shader.functions.iter().filter(|function| {
        let text = function.span.slice(&shader.text);
        function.body.is_some()
            && function.group_size.is_none()
            && TELLING.iter().any(|word| contains(text, word))
    });
    let names = functions.map(|function| &function.name).chain(&shader.unread);
    let mut named: FxHashMap<&[u8], u32> = names.map(|name| (name.as_bytes(), 0)).collect();
    if named.is_empty() {
        return Vec::new();
    }
    for word in shader.text.split(|byte| !is_part(*byte)) {
        if let Some(count) = named.get_mut(word) {
            *count += 1;
        }
    }
    let uncalled = named.into_iter().filter(|(_, count)| *count < 2);
    uncalled
        .map(|(name, _)| String::from_utf8_lossy(name).into_owned())
        .collect()
}

fn file_called(sources: &Sources, path: &str) -> Option<FileId> {
    let mut files = (0..).zip(&sources.files);
    files
        .find(|(_, file)| file.path == path)
        .map(|(number, _)| FileId(number))
}

/// All of the first file.
fn whole(text: &[u8]) -> FileSpan {
    FileSpan {
        file: FileId(0),
        start: 0,
        end: u32::try_from(text.len()).unwrap_or(u32::MAX),
    }
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
    memchr::memmem::find(text, word).is_some()
}
