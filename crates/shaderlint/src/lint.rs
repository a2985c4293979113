//! One file: read, check, fix.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, ensure};
use shaderlint_hlsl::{FileId, FileSpan, Problem, SourceFile, Sources, Text, decode};
#[cfg(feature = "gpu")]
use shaderlint_hlsl::{Shader, preprocess, read_preprocessed};
use shaderlint_linter::{
    Category, Diagnostic, GivenLevel, Level, Report, Rule, ShaderModel, Suppression, settle, suppressions,
    unused_suppressions,
};
use shaderlint_rules::UNUSED_SUPPRESSION;

use crate::args::SourceArgs;
use crate::baseline::Baselines;
use crate::callers;
#[cfg(feature = "gpu")]
use crate::config::Definition;
use crate::config::{Project, Projects, RuleArgs};
use crate::encoding::encoded_like;
use crate::explain;
use crate::includers;
use crate::includes::{Files, Search};
use crate::panics;
use crate::scan;
use crate::variants::{
    self, DiskCache, ReadingCache, Root, UnitReadings, leave_out_called, union, without_unread,
};
use crate::walk::{self, Asked, Input};
use crate::wording;
use crate::write;

/// Places are 32-bit offsets into the expanded text, which is longer than the file.
const MAX_FILE_SIZE: usize = 256 << 20;

/// A file to look at, and what holds for it.
pub(crate) struct Target {
    pub input: Input,
    pub project: Arc<Project>,
}

pub(crate) type ProjectOf = Arc<dyn Fn(&Path) -> Result<Arc<Project>> + Send + Sync>;

/// What holds for every file of a run.
pub(crate) struct Options {
    pub files: Arc<Files>,
    pub readings: Arc<ReadingCache>,
    /// What earlier runs read units to.
    pub disk: DiskCache,
    /// What holds for a file that nobody asked for.
    pub project_of: ProjectOf,
    /// The rules that the command line asks for.
    pub rules: RuleArgs,
    /// Whether and how far fixes are made.
    pub fix: Option<FixMode>,
    /// The baseline that the command line names.
    pub baseline: Option<PathBuf>,
    /// Says when nobody waits any more.
    pub stop: Stop,
}

/// Ends work early. Who has a copy can say so, and who works asks now and then.
#[derive(Clone, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is(&self, other: &Stop) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Once it is set it stays so.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Options {
    /// The same for work that makes no fix or other ones, and that `stop` ends.
    pub fn with(&self, fix: Option<FixMode>, stop: &Stop) -> Options {
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

    /// The file that counts what is known of a project.
    fn baseline_of(&self, project: &Project) -> Option<PathBuf> {
        self.baseline.clone().or_else(|| project.baseline.clone())
    }

    /// How much it matters what `rule` finds in the file `path`.
    pub fn level(&self, project: &Project, rule: &Rule, path: &str) -> GivenLevel {
        self.rules.over(rule, project.levels.given(rule, path))
    }

    /// Whether all that `rule` could find in the file `path` is told. Under an older shader model than the file is
    /// written for, some wave forms are not spoken of.
    pub fn looks_for(&self, project: &Project, rule: &Rule, path: &str) -> bool {
        let profile = project.profile.filter(|_| project.is_profile_of_run);
        let is_older = profile.is_some_and(|model| model < ShaderModel::MULTI_PREFIX);
        self.level(project, rule, path).level() != Level::Off
            && !(is_older && rule.category == Category::Perf)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FixMode {
    /// Make the fixes that reorder float arithmetic too.
    pub unsafe_too: bool,
    /// Write the file; else only say what would change.
    pub in_place: bool,
}

/// What a file is to the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    /// It may have entry points.
    #[default]
    Unit,
    /// It has none, and no file that was looked at includes it.
    StrayHeader,
    /// It has none, and is seen in files that include it, but for the functions that none of them calls.
    Included,
}

/// A translation unit as read.
#[cfg(feature = "gpu")]
pub(crate) struct Unit {
    pub shader: Shader,
    pub problems: Vec<Problem>,
    /// Where one of several files was taken.
    pub choices: Vec<Problem>,
}

/// What looking at one file showed. Without the tree: a run may look at thousands of files.
#[derive(Default)]
pub(crate) struct Looked {
    pub path: String,
    pub sources: Sources,
    /// What could not be read.
    pub problems: Vec<Problem>,
    /// What could not be read in other configurations than the default one.
    pub elsewhere: Vec<Problem>,
    pub report: Report,
    /// What was found, and is known to the baseline.
    pub known: Vec<Diagnostic>,
    /// The baseline that holds for the file.
    pub baseline: Option<PathBuf>,
    /// It was looked at as a whole, rather than where others include it.
    pub is_unit: bool,
    /// The files that this one includes, directly or not.
    pub included: Vec<Included>,
    /// What its fixes rest on that only a build knows: a note each.
    pub guesses: Vec<String>,
    /// The functions that no kernel of the file calls, if it has one.
    pub uncalled: Option<Vec<String>>,
    /// The files that include this one, where that was asked of its fixes, or of functions that nothing calls here.
    pub includers: Vec<String>,
    /// Something could not be read, or not be run to its end: what is not found may be there.
    pub is_in_part: bool,
    /// The file names entry points, yet there was none to run.
    pub is_in_vain: bool,
    pub counted: Counted,
    pub fixed: Fixed,
}

/// As what a file counts among those that were looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Counted {
    #[default]
    Looked,
    /// A header that was named: it has no kernel, and nothing with one includes it.
    Unseen,
    /// Looked at only for what is in the headers that it includes.
    ForHeaders,
}

/// A file that another one includes.
pub(crate) struct Included {
    pub path: String,
    /// Where its comments name rules that find something there.
    pub used: Vec<FileSpan>,
}

/// What fixes did to a file.
#[derive(Default)]
pub(crate) struct Fixed {
    /// The rules whose fixes were made, in that order.
    pub rules: Vec<&'static str>,
    /// Text before and after, where it is to be shown.
    pub diff: Option<(Vec<u8>, Vec<u8>)>,
    /// What the file has become, or would.
    pub bytes: Option<Arc<[u8]>>,
    /// Why nothing was fixed that could have been.
    pub failure: Option<Failure>,
}

/// Why something could not be looked at, or not be fixed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub path: String,
    /// The path is in it.
    pub text: String,
}

impl Failure {
    /// What kept us from doing our job with this file.
    pub fn of(path: &Path, error: &anyhow::Error) -> Failure {
        Failure {
            path: path.display().to_string(),
            text: wording::of_error(error),
        }
    }

    pub fn new(path: &Path, message: &str) -> Failure {
        let path = path.display().to_string();
        Failure {
            text: format!("{path}: {message}"),
            path,
        }
    }

    /// What is said beside the path.
    pub fn message(&self) -> &str {
        let rest = self.text.strip_prefix(&self.path);
        rest.and_then(|rest| rest.strip_prefix(": "))
            .unwrap_or(&self.text)
    }
}

/// One file for a subcommand that works on a single one.
pub(crate) struct OneFile {
    pub path: PathBuf,
    pub text: Vec<u8>,
    pub project: Arc<Project>,
    files: Files,
}

impl OneFile {
    pub fn read(path: &Path, source: &SourceArgs) -> Result<Self> {
        OneFile::read_in(Projects::new(source).of(path)?, path)
    }

    /// What holds for the file is known.
    pub fn read_in(project: Arc<Project>, path: &Path) -> Result<Self> {
        let of_file = || std::iter::once((path, project.root.as_deref()));
        let files = Files::new(walk::trees(&[], of_file()), &walk::workspace(&[], of_file()));
        files.allow(project.header_folders());
        Ok(OneFile {
            path: path.to_owned(),
            text: text_of(&read_file(&files, path)?).to_vec(),
            files,
            project,
        })
    }

    pub fn search(&self) -> Search<'_> {
        Search::new(&self.files, &self.project)
    }

    /// The file as a translation unit, were `text` in it.
    #[cfg(feature = "gpu")]
    pub fn unit(&self, text: &[u8]) -> Unit {
        self.unit_under(text, &self.project.defines_of(text))
    }

    /// The same under other definitions.
    #[cfg(feature = "gpu")]
    pub fn unit_under(&self, text: &[u8], defines: &[Definition]) -> Unit {
        let path = self.path.display().to_string();
        let search = self.search();
        let (mut unit, problems) = preprocess(&path, text, defines, &search);
        unit.version = self.project.version_of(text, defines);
        let (shader, mut problems) = read_preprocessed(unit, problems, None);
        let lookups = search.into_lookups();
        lookups.explain(&shader.sources, &mut problems);
        Unit {
            choices: lookups.choices(&shader.sources),
            shader,
            problems,
        }
    }
}

/// Reads one file for a subcommand that needs it whole.
#[cfg(feature = "gpu")]
pub(crate) fn read_unit(path: &Path, source: &SourceArgs) -> Result<Unit> {
    let file = OneFile::read(path, source)?;
    Ok(file.unit(&file.text))
}

/// Looks at one file and fixes it if asked to. A panic becomes an error: the other files are still looked at. What was
/// stopped is one too, for a report that lacks a part may be wrong: of a fix, that part may have been the objection.
pub(crate) fn look(target: &Target, options: &Options, role: Role) -> Result<Looked> {
    let name = target.input.path.display().to_string();
    let context = format!("internal error while analysing {name}, please report");
    panics::as_error(&context, || {
        let looked = look_unguarded(target, &name, options, role)?;
        ensure!(!options.stop.is_set(), "{name}: stopped");
        Ok(looked)
    })
}

fn look_unguarded(target: &Target, name: &str, options: &Options, role: Role) -> Result<Looked> {
    let Target { input, project } = target;
    let bytes = read_file(&options.files, &input.path)?;
    let Some(text) = decode(&bytes) else {
        // A folder may hold anything; who names a file wants it read.
        ensure!(
            input.asked == Asked::Found,
            "{name}: not a text file (UTF-8, or UTF-16 with a byte order mark)"
        );
        return Ok(Looked::default());
    };
    #[cfg(test)]
    panics::if_asked(&text, "panic while looking");
    let look = |text: &Text| {
        let mut looked = look_at(name, text, project, options, role);
        // In folders there are headers for whoever takes them; who names one wants to know.
        if input.asked != Asked::Named {
            looked.counted = Counted::Looked;
        }
        judge_by_includers(&mut looked, text, options);
        looked
    };
    let Some(mode) = options.fix else {
        return Ok(look(&text));
    };
    // What is known stays as it is.
    let baseline = options.baseline_of(project);
    let may_be_read = |path: &&PathBuf| options.files.may_be_looked_at(path);
    let baselines = Baselines::at(baseline.iter().filter(may_be_read))?;
    let look = |text: &[u8]| {
        let mut looked = [look(&text.into())];
        baselines.apply(&mut looked);
        let [looked] = looked;
        looked
    };
    let settled = settle(&text, mode.unsafe_too, look, |looked| &looked.report.findings);
    let mut looked = settled.last;
    looked.fixed.rules = settled.fixed;
    if *settled.text != *text {
        let fixed = encoded_like(&bytes, &text, &settled.text);
        let fixed = fixed.with_context(|| format!("{name}: not fixed"))?;
        if mode.in_place {
            write::replace(&input.path, &bytes, &fixed).with_context(|| format!("{name}: not fixed"))?;
        } else {
            looked.fixed.diff = Some((text.to_vec(), settled.text));
        }
        looked.fixed.bytes = Some(fixed.into());
    }
    Ok(looked)
}

fn look_at(name: &str, text: &Text, project: &Project, options: &Options, role: Role) -> Looked {
    let mut looked = Looked {
        path: name.to_owned(),
        baseline: options.baseline_of(project),
        is_unit: role == Role::Unit,
        ..Looked::default()
    };
    let (suppressions, misunderstood) = suppressions_of(text);
    let level = |rule: &Rule, path: &str| options.level(project, rule, path);
    if !scan::needs_parse(name, text, &Search::new(&options.files, project)) {
        // There is nothing to find in it, whoever includes it.
        looked.is_unit = true;
        looked.report.problems = misunderstood;
        if role == Role::Unit {
            looked.report.findings = unused(name, &suppressions, &[], &level);
        }
        if !(looked.report.problems.is_empty() && looked.report.findings.is_empty()) {
            looked.sources.files.push(SourceFile {
                path: name.to_owned(),
                text: text.clone(),
            });
        }
        return looked;
    }
    let root = Root {
        name,
        text,
        project,
        role,
    };
    let UnitReadings {
        readings, lookups, ..
    } = Arc::unwrap_or_clone(options.readings.read_own(root, options));
    let union = union(readings);
    looked.uncalled = union.uncalled;
    looked.is_in_vain = scan::names_entry(text) && !union.has_entry;
    if role == Role::StrayHeader && !union.has_entry {
        looked.counted = Counted::Unseen;
    }
    let ids = (0..).map(FileId).zip(&union.sources.files).skip(1);
    let included = ids.map(|(id, file)| Included {
        path: file.path.clone(),
        used: union
            .report
            .used
            .iter()
            .filter(|place| place.file == id)
            .copied()
            .collect(),
    });
    looked.included = included.collect();
    looked.report = union.report;
    looked.guesses = lookups.guessed(Path::new(name)).collect();
    let problems = union.problems.iter().chain(&union.elsewhere);
    looked.guesses.extend(without_unread(problems));
    for finding in &mut looked.report.findings {
        let is_of_first = finding.category == Category::Correctness || finding.is_of_first;
        if let (true, [first, _, ..]) = (is_of_first, finding.kernels.as_slice()) {
            let kernels = finding.kernels.join(", ");
            let note = format!("found in the kernels {kernels}; what is told is of {first}");
            finding.notes.push(note);
        }
    }
    for finding in &mut looked.report.findings {
        if finding.primary.place.file != FileId(0) {
            // What another file makes of the same lines may be something else.
            let kernels = finding.kernels.join(", ");
            finding
                .notes
                .push(format!("found in {kernels} of {name}, which includes this file"));
        }
    }
    looked.is_in_part = union.is_cut || !union.problems.is_empty() || !looked.report.stops.is_empty();
    // What nobody looked at includes may be needed where it is.
    if role == Role::Unit && !looked.is_in_part && looked.report.problems.is_empty() {
        let findings = &mut looked.report.findings;
        findings.extend(unused(name, &suppressions, &looked.report.used, &level));
        findings.sort_by_key(|finding| (finding.primary.place.file, finding.primary.place.start));
    }
    // A barrier that is found fault with was understood.
    let findings = &looked.report.findings;
    looked.report.stops.retain(|stop| {
        let is_found = |finding: &Diagnostic| Some(finding.primary.place) == stop.place;
        !findings.iter().any(is_found)
    });
    looked.report.problems.extend(misunderstood);
    looked.problems = union.problems;
    looked.problems.extend(lookups.choices(&union.sources));
    looked.elsewhere = union.elsewhere;
    lookups.explain(&union.sources, &mut looked.problems);
    lookups.explain(&union.sources, &mut looked.elsewhere);
    leave_out_called(&mut looked.report, &union.alone, |functions| {
        let uncalled = callers::uncalled(functions, Path::new(name), text, options);
        looked.includers.extend(uncalled.searched);
        uncalled.functions
    });
    if role == Role::Included {
        // What it lacks by itself it has where it is included.
        looked.report.stops.clear();
        (looked.problems, looked.elsewhere) = Default::default();
    }
    let has_places = !(looked.report.findings.is_empty()
        && looked.report.problems.is_empty()
        && looked.report.stops.is_empty()
        && looked.report.allowed.is_empty()
        && looked.problems.is_empty()
        && looked.elsewhere.is_empty());
    if has_places {
        looked.sources = union.sources;
    }
    looked
}

/// Keeps the findings and fixes in a file that every file which includes it agrees on. `text` is what was linted.
fn judge_by_includers(looked: &mut Looked, text: &Text, options: &Options) {
    let path = Path::new(&looked.path);
    let includers = includers::of(path, text, options);
    let guesses = std::mem::take(&mut looked.guesses);
    let asked = variants::judge_by_includers(&mut looked.report.findings, path, includers, guesses);
    looked.includers.extend(asked);
}

/// Looks at the comments of a header that is looked at where others include it. `used` are the places at which they
/// name rules that find something in any of those, or in `alone`, what it has for itself; `None` where not all of them
/// could be seen whole.
pub(crate) fn look_at_included(
    target: &Target,
    options: &Options,
    used: Option<&[FileSpan]>,
    alone: Option<Looked>,
) -> Looked {
    let Target { input, project } = target;
    let name = input.path.display().to_string();
    let mut looked = Looked {
        path: name.clone(),
        baseline: options.baseline_of(project),
        ..Looked::default()
    };
    let Looked {
        report: of_itself,
        sources,
        ..
    } = alone.unwrap_or_default();
    // It was read where it is included.
    let Some(text) = options.files.read(&input.path).map(|file| file.text) else {
        return looked;
    };
    let (suppressions, misunderstood) = suppressions_of(&text);
    let level = |rule: &Rule, path: &str| options.level(project, rule, path);
    if let Some(used) = used {
        let used = [used, &of_itself.used].concat();
        looked.report.findings = unused(&name, &suppressions, &used, &level);
        // Not all that include it are in every run.
        judge_by_includers(&mut looked, &text, options);
    }
    for finding in &mut looked.report.findings {
        // To take it out would need a further look at every file that includes this one.
        finding.fix = None;
    }
    looked.report.findings.extend(of_itself.findings);
    looked
        .report
        .findings
        .sort_by_key(|finding| finding.primary.place.start);
    looked.report.allowed = of_itself.allowed;
    looked.report.problems = misunderstood;
    looked.sources = sources;
    // Most headers have nothing to show: their texts are not kept.
    let has_places = !(looked.report.findings.is_empty() && looked.report.problems.is_empty());
    if has_places && looked.sources.files.is_empty() {
        looked.sources.files.push(SourceFile { path: name, text });
    }
    looked
}

/// What the file's comments allow, and what is wrong in them; a rule that there is not, too.
fn suppressions_of(text: &[u8]) -> (Vec<Suppression>, Vec<Problem>) {
    let (suppressions, mut problems) = suppressions(text);
    let ids = suppressions.iter().flat_map(|one| &one.ids);
    let unknown = ids.filter(|(_, id)| shaderlint_rules::named(id).next().is_none());
    problems.extend(unknown.filter_map(|(place, id)| {
        let place = FileSpan {
            file: FileId(0),
            start: u32::try_from(place.start).ok()?,
            end: u32::try_from(place.end).ok()?,
        };
        let is_category = Category::ALL.iter().any(|category| category.to_string() == *id);
        let message = if is_category {
            format!("`{id}` is a category: an allow names the rules that it is about")
        } else {
            explain::no_such_rule(id)
        };
        Some(Problem::new(message, Some(place)))
    }));
    (suppressions, problems)
}

/// What the file `name` allows without need, of the rules that are on.
fn unused(
    name: &str,
    suppressions: &[Suppression],
    used: &[FileSpan],
    given: &dyn Fn(&Rule, &str) -> GivenLevel,
) -> Vec<Diagnostic> {
    let own_level = given(&UNUSED_SUPPRESSION, name).level();
    if own_level == Level::Off {
        return Vec::new();
    }
    let is_on = |rule: &Rule| given(rule, name).level() != Level::Off;
    let is_judged =
        |id: &str| shaderlint_rules::named(id).next().is_some() && shaderlint_rules::named(id).all(is_on);
    unused_suppressions(&UNUSED_SUPPRESSION, own_level, suppressions, used, is_judged)
}

/// Whether the file at `path` may have an entry point of its own.
pub(crate) fn may_have_entry(files: &Files, path: &Path) -> bool {
    // What cannot be read is complained of elsewhere.
    let bytes = files.bytes(path);
    bytes.map_or(true, |bytes| scan::names_entry(&text_of(&bytes)))
}

/// Whether a file includes one of these, directly or not, or may do so; `is_written` says it of an include's text.
pub(crate) fn includes_one(
    target: &Target,
    options: &Options,
    is_one: &dyn Fn(&SourceFile) -> bool,
    is_written: &dyn Fn(&str) -> bool,
) -> bool {
    let path = &target.input.path;
    let search = Search::new(&options.files, &target.project);
    // What cannot be read is complained of elsewhere.
    let bytes = options.files.bytes(path);
    bytes.map_or(true, |bytes| {
        let name = path.display().to_string();
        search.includes_one((&name, &text_of(&bytes)), true, is_one, is_written)
    })
}

fn read_file(files: &Files, path: &Path) -> Result<Vec<u8>> {
    let text = files.bytes(path).with_context(|| path.display().to_string())?;
    ensure!(
        text.len() <= MAX_FILE_SIZE,
        "{}: more than {} MiB",
        path.display(),
        MAX_FILE_SIZE >> 20
    );
    Ok(text)
}

/// The text of a file; the bytes of a binary one as they are.
fn text_of(bytes: &[u8]) -> Text {
    decode(bytes).unwrap_or_else(|| bytes.into())
}
