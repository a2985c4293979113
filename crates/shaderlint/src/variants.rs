//! Further readings of a file: one configuration hides code.
//!
//! Those that the project declares come first, then those that the file names for its kernels. Then, for each region
//! that conditional compilation left out and that looks like one for the rules, the reading that turns it on, where
//! definitions do. Findings are the union.

mod sizes;
mod stray;
mod union;

use std::collections::{HashMap, HashSet};

use shaderlint_hlsl::{
    Configuration, Exploration, FileId, FileSpan, Function, Inactive, Includes, KernelVariant, Origins,
    Preprocessed, Problem, Shader, Sources, Span, Wanted, preprocess, read_preprocessed,
};
use shaderlint_linter::{Diagnostic, FileEdit, Report, Settings, check_shader};
use shaderlint_rules::RULES;

use crate::config::{Definition, Project, overlaid};
use crate::lint::Role;
use crate::scan::{self, is_part};
pub(crate) use union::union;

/// How many readings of a file there are beside the default one.
const MAX_VARIANTS: usize = 8;

/// When as much was spent on a file's readings (see [`Report::work`]) no more are looked for: about what one kernel takes
/// that is too long to be run to its end, a second or two.
const ENOUGH_WORK: u64 = 10_000_000;

/// What makes a region one for the rules.
const TELLING: [&[u8]; 6] = [
    b"Barrier",
    b"Interlocked",
    b"groupshared",
    b"IncrementCounter",
    b"DecrementCounter",
    b".Append(",
];

type Made = (Preprocessed, Vec<Problem>);

/// A file under one set of definitions. Without the tree, which is much larger than all that.
pub(crate) struct Reading {
    /// Said of a finding that the default reading has not; empty for that one.
    label: String,
    /// Of the file's own definitions for some of its kernels: a finding says which it is in.
    is_of_kernels: bool,
    sources: Sources,
    inactive: Vec<Inactive>,
    problems: Vec<Problem>,
    report: Report,
    has_entry: bool,
    /// Of the default one: more is declared beside it than is read.
    is_cut: bool,
    /// Of the default one: kernels that no build compiles as the file stands, but with what the file defines for them.
    unbuilt: HashSet<String>,
    /// Of one that is of some kernels: functions that none of them comes to, of which it says nothing.
    aside: Vec<FileSpan>,
    /// What to define in further readings, where there are entry points of unknown size.
    sizes: Vec<Vec<Definition>>,
    /// The functions that are for the rules, and that nothing calls.
    uncalled: Vec<String>,
    /// Those of them that were run by themselves.
    alone: Vec<String>,
    /// The expanded text and where it is from, if it is another file that is edited.
    expanded: Option<(Vec<u8>, Origins)>,
}

impl Reading {
    /// Takes out what was found in kernels that no build compiles so. It is given back where not all of their builds are read.
    fn take_unbuilt(&mut self) -> Vec<Diagnostic> {
        let is_built = |finding: &Diagnostic| {
            let mut kernels = finding.kernels.iter();
            kernels.len() == 0 || kernels.any(|name| !self.unbuilt.contains(name))
        };
        self.report.allowed.retain(|one| is_built(&one.finding));
        let findings = std::mem::take(&mut self.report.findings);
        let (mut findings, unbuilt): (Vec<_>, Vec<_>) = findings.into_iter().partition(is_built);
        for finding in &mut findings {
            finding.kernels.retain(|name| !self.unbuilt.contains(name));
        }
        self.report.findings = findings;
        if self.is_cut { unbuilt } else { Vec::new() }
    }

    /// The numbers that the file has here which `is_it` tells by its path.
    pub fn numbers(&self, is_it: &dyn Fn(&str) -> bool) -> Vec<FileId> {
        let files = (0..).zip(&self.sources.files);
        let files = files.filter(|(_, file)| is_it(&file.path));
        files.map(|(number, _)| FileId(number)).collect()
    }

    /// Whether something could not be read, or not be run to its end: what is not found may be there.
    pub fn is_in_part(&self) -> bool {
        !(self.problems.is_empty() && self.report.stops.is_empty())
    }

    /// Whether more is declared of the file than is read; the default one knows.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Whether a comment of that file, at this place, allows something here.
    pub fn uses(&self, comment: FileSpan, is_it: &dyn Fn(&str) -> bool) -> bool {
        let mut numbers = self.numbers(is_it).into_iter();
        numbers.any(|file| self.report.used.contains(&FileSpan { file, ..comment }))
    }

    /// Whether this reading of a file that includes that one bears out a fix there: it comes to the very same, or takes
    /// in nothing of what is between the first and the last place of the fix. What it takes in twice may differ in the
    /// second.
    pub fn bears_out(&self, finding: &Diagnostic, is_it: &dyn Fn(&str) -> bool) -> bool {
        let (Some(fix), Some((text, origins))) = (&finding.fix, &self.expanded) else {
            return true;
        };
        let places = fix.edits.iter().map(|edit| edit.place);
        let places = places.chain(
            [finding.primary.place]
                .into_iter()
                .filter(|at| at.file == FileId(0)),
        );
        let start = places.clone().map(|place| place.start).min().unwrap_or(0);
        let end = places.map(|place| place.end).max().unwrap_or(u32::MAX);
        let numbers = self.numbers(is_it);
        let taken = numbers.iter().map(|file| {
            // An insertion stands behind what is on its line.
            let before = self
                .sources
                .get(*file)
                .and_then(|file| file.text.get(..start as usize));
            let line = before.and_then(|before| before.iter().rposition(|byte| *byte == b'\n'));
            let start = line.and_then(|line| u32::try_from(line).ok()).unwrap_or(0);
            origins.times_taken(
                text,
                FileSpan {
                    file: *file,
                    start,
                    end,
                },
            )
        });
        let is_same = |other: &Diagnostic| {
            let place = |edit: &FileEdit| (edit.place.start, edit.place.end);
            let other = other.fix.as_ref().filter(|_| other.rule == finding.rule);
            other.is_some_and(|other| {
                other.safety == fix.safety
                    && other.edits.len() == fix.edits.len()
                    && other
                        .edits
                        .iter()
                        .zip(&fix.edits)
                        .all(|(a, b)| place(a) == place(b) && a.text == b.text)
            })
        };
        match taken.sum() {
            0 => true,
            1 => self.report.findings.iter().any(is_same),
            _ => false,
        }
    }
}

/// The default reading, then the others.
pub(crate) fn readings(
    path: &str,
    text: &[u8],
    project: &Project,
    includes: &dyn Includes,
    settings: &Settings,
    role: Role,
) -> Vec<Reading> {
    let preprocess = |defines: &[Definition]| preprocess(path, text, defines, includes);
    let base = project.defines_of(text);
    let (mut unit, problems) = preprocess(&base);
    let kernels = std::mem::take(&mut unit.kernels).into_iter();
    let (as_it_stands, of_kernels): (Vec<KernelVariant>, Vec<KernelVariant>) =
        kernels.partition(|variant| variant.defines.is_empty());
    // A fix is in the file for all of them, also where they come to the same text.
    let of_project = project.variants.iter().map(|variant| &variant.defines);
    let of_all = of_project.chain(of_kernels.iter().map(|variant| &variant.defines));
    let given: Vec<&String> = of_all.flatten().map(|(name, _)| name).collect();
    let check =
        |label: String, defines: &[Definition], (mut unit, problems): Made, kernels: Option<&[String]>| {
            unit.given.extend(given.iter().copied().cloned());
            let mut reading = check(label, (unit, problems), kernels, settings, role);
            if kernels.is_none() {
                let added: Vec<&Definition> = defines.iter().filter(|one| !base.contains(one)).collect();
                reading.unbuilt = unbuilt(&reading, &added, &as_it_stands, &of_kernels);
            }
            reading
        };
    let outline = Preprocessed {
        inactive: unit.inactive.clone(),
        sources: unit.sources.clone(),
        ..Preprocessed::default()
    };
    let default_text = unit.text.clone();
    let mut default = check(String::new(), &base, (unit, problems), None);
    // A region may hold no more than the call of a function that does.
    let calls = default.uncalled.iter().map(|name| format!("{name}("));
    let calls: Vec<String> = calls.collect();
    let is_telling = |text: &[u8]| {
        let calls = calls.iter().map(String::as_bytes);
        TELLING.into_iter().chain(calls).any(|word| contains(text, word))
    };
    let mut exploration = Exploration::new(&is_telling);
    exploration.note(&outline, &base);
    default.is_cut = of_kernels.len() + project.variants.len() > MAX_VARIANTS;
    let mut readings = vec![default];
    // How else it is read is for those who include it to say.
    if role == Role::Included {
        return readings;
    }
    let is_wanted = || !(settings.is_stopped)();
    for variant in project
        .variants
        .iter()
        .take(MAX_VARIANTS)
        .take_while(|_| is_wanted())
    {
        let defines = overlaid(&base, &variant.defines);
        let (unit, problems) = preprocess(&defines);
        exploration.note(&unit, &defines);
        if unit.text != default_text {
            let label = format!("in variant {}", variant.name);
            readings.push(check(label, &defines, (unit, problems), None));
        }
    }
    for variant in &of_kernels {
        if readings.len() > MAX_VARIANTS || !is_wanted() {
            return readings;
        }
        let defines = overlaid(&base, &variant.defines);
        let (unit, problems) = preprocess(&defines);
        exploration.note(&unit, &defines);
        let label = format!("in kernel {}", variant.kernels.join(", "));
        readings.push(check(label, &defines, (unit, problems), Some(&variant.kernels)));
    }
    let sizes: Vec<Vec<Definition>> = readings
        .first()
        .map_or_else(Vec::new, |first| first.sizes.clone());
    let of_sizes = |under: &[Definition], sizes: &[Vec<Definition>]| {
        let readings = sizes.iter().take_while(|_| is_wanted()).map(|sizes| {
            let defines = overlaid(under, sizes);
            let made = preprocess(&defines);
            check(difference(&base, &defines), &defines, made, None)
        });
        sizes::agreed(readings.collect())
    };
    readings.extend(of_sizes(&base, &sizes));
    let work = |readings: &[Reading]| readings.iter().map(|reading| reading.report.work).sum::<u64>();
    while readings.len() <= MAX_VARIANTS
        && work(&readings) < ENOUGH_WORK
        && is_wanted()
        && let Some(Configuration {
            defines,
            unit,
            problems,
        }) = exploration.next(preprocess)
    {
        let label = difference(&base, &defines);
        let reading = check(label, &defines, (unit, problems), None);
        let is_news = !reading.has_entry || sizes.is_empty();
        let with_sizes = of_sizes(&defines, if is_news { &reading.sizes } else { &[] });
        readings.push(reading);
        readings.extend(with_sizes);
    }
    readings
}

/// The kernels of findings that are not compiled with these definitions, but with others that the file has for them: those
/// that are named with some, that such a definition names, or whose name is put together.
fn unbuilt(
    reading: &Reading,
    defines: &[&Definition],
    as_it_stands: &[KernelVariant],
    of_kernels: &[KernelVariant],
) -> HashSet<String> {
    if of_kernels.is_empty() {
        return HashSet::new();
    }
    let allowed = reading.report.allowed.iter().map(|one| &one.finding);
    let found = reading.report.findings.iter().chain(allowed);
    let names = |variant: &&KernelVariant, name: &String| variant.kernels.contains(name);
    let of_some = |name: &str| {
        of_kernels
            .iter()
            .flat_map(|variant| &variant.defines)
            .any(|(known, _)| known == name)
    };
    // What other kernels have is not defined for this one.
    let is_met = |variant: &KernelVariant| {
        let mut others = defines.iter().filter(|one| !variant.defines.contains(one));
        variant.defines.iter().all(|one| defines.contains(&one)) && others.all(|(name, _)| !of_some(name))
    };
    let is_built = |name: &&String| {
        let all = as_it_stands.iter().chain(of_kernels);
        let mut named = all.filter(|variant| names(variant, name)).peekable();
        if named.peek().is_some() {
            named.any(is_met)
        } else {
            let mut files = reading.sources.files.iter();
            !of_some(name) && files.any(|file| scan::times_named(&file.text, name) > 0)
        }
    };
    let kernels = found.flat_map(|finding| &finding.kernels);
    kernels.filter(|name| !is_built(name)).cloned().collect()
}

/// With `kernels`, the others are no entry points: they are never compiled with these definitions.
fn check(
    label: String,
    (mut unit, problems): (Preprocessed, Vec<Problem>),
    kernels: Option<&[String]>,
    settings: &Settings,
    role: Role,
) -> Reading {
    let inactive = std::mem::take(&mut unit.inactive);
    let wanted = Wanted {
        file: &|file| file == FileId(0),
        words: if may_be_run(&unit.text, role) {
            &scan::WORDS
        } else {
            &[]
        },
    };
    let (mut shader, problems) = read_preprocessed(unit, problems, Some(&wanted));
    let sizes = sizes::to_try(&shader);
    let uncalled = uncalled(&shader);
    let strays = stray::take_as_entries(&mut shader, role, &uncalled);
    for function in &mut shader.functions {
        if kernels.is_some_and(|kernels| !kernels.contains(&function.name)) {
            function.group_size = None;
        }
    }
    // Where there is nothing to find in what the entry points name, none of it is read.
    let is_unread = shader.functions.is_empty() && scan::names_entry(&shader.text);
    let has_entry = is_unread || shader.entry_points().next().is_some();
    let aside = kernels.map_or_else(Vec::new, |_| aside(&shader));
    let mut report = check_shader(&shader, RULES, settings);
    if !strays.is_empty() {
        stray::suppose(&mut report, &strays);
    }
    let alone = strays.into_iter().filter(stray::Stray::is_alone);
    Reading {
        label,
        is_of_kernels: kernels.is_some(),
        inactive,
        problems,
        report,
        has_entry,
        is_cut: false,
        unbuilt: HashSet::new(),
        aside,
        sizes,
        uncalled,
        alone: alone.map(|stray| stray.name).collect(),
        expanded: settings.edited.map(|_| (shader.text, shader.origins)),
        sources: shader.sources,
    }
}

/// Whether there is anything to run in a text: a kernel, or a function that may be taken for one.
fn may_be_run(text: &[u8], role: Role) -> bool {
    scan::names_entry(text)
        || scan::names_thread(text)
        || role != Role::Unit && scan::names_group_barrier(text)
}

/// The functions that no entry point comes to, where they stand in files. Whatever is named where it may be called from,
/// or outside of functions, is come to.
fn aside(shader: &Shader) -> Vec<FileSpan> {
    let own_name = |name: &str| name.rsplit("::").next().unwrap_or(name).to_owned();
    let mut by_name: HashMap<Vec<u8>, Vec<&Function>> = HashMap::new();
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
    // A function's text may be taken in twice, and be come to once.
    places
        .filter(|place| !come_to.iter().any(|other| meets(place, other)))
        .collect()
}

/// The functions with something for the rules that are named nowhere but where they are defined.
fn uncalled(shader: &Shader) -> Vec<String> {
    let functions = shader.functions.iter().filter(|function| {
        let text = function.span.slice(&shader.text);
        function.body.is_some()
            && function.group_size.is_none()
            && TELLING.iter().any(|word| contains(text, word))
    });
    let names = functions.map(|function| &function.name).chain(&shader.unread);
    let mut named: HashMap<&[u8], u32> = names.map(|name| (name.as_bytes(), 0)).collect();
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

/// What `defines` has beside `base`, and what it lacks.
fn difference(base: &[Definition], defines: &[Definition]) -> String {
    let added = defines.iter().filter(|definition| !base.contains(definition));
    let added = added.map(|(name, value)| format!("-D {name}={value}"));
    let is_gone = |name: &str| defines.iter().all(|(known, _)| known != name);
    let removed = base.iter().filter(|(name, _)| is_gone(name));
    let removed = removed.map(|(name, _)| format!("-D {name}"));
    let said =
        |word: &str, these: Vec<String>| (!these.is_empty()).then(|| format!("{word} {}", these.join(" ")));
    let parts = [said("with", added.collect()), said("without", removed.collect())];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
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
