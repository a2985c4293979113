//! How much of real code the front end reads: `cargo run --release --example statistics -- [OPTION…] FOLDER…`.
//!
//! Each folder is one project; includes that are not found beside their file are looked up by the ends of their paths.
//! What is counted are functions that synchronise, those that name a barrier or an `Interlocked`, once for each place
//! in a file, however many units and configurations hold it: the one counts that was read best. [`gaps::Level`] says
//! what "read" means. Of files with the same bytes the first counts.
//!
//! - `--verbose`: all causes, with examples.
//! - `--functions`: file, first and last line of what was counted, and how it was read. Nothing else.
//! - `--labels=TABLE`: of labelled places, how many lie in a function that was read; see [`labels::Labels::read`].
//! - `--against-cpp`: compares the expanded text of each file with that of `cpp`. Nothing else.
#![expect(
    clippy::disallowed_methods,
    reason = "a program to measure with, no part of the library"
)]

mod against_cpp;
mod gaps;
mod labels;
mod project;
#[path = "../../tests/support/reference.rs"]
mod reference;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gaps::{Level, Unit, first_line};
use labels::Labels;
use project::Project;
use shaderlint_hlsl::{
    Cause, Exploration, NoIncludes, Preprocessed, Problem, Shader, SourceFile, Span, Text, preprocess, read,
    read_preprocessed,
};

/// Examples shown of each cause.
const EXAMPLES: usize = 3;
/// Configurations read of one file at most, beside those it names for its kernels.
const MAX_CONFIGURATIONS: usize = 8;
const SYNCHRONISING: [&[u8]; 2] = [b"MemoryBarrier", b"Interlocked"];

/// A file and an offset in it.
type Place = (String, u32);

/// What is known of the function at one place.
struct Seen {
    level: Level,
    /// First and last line.
    lines: (usize, usize),
    causes: Vec<String>,
    /// It is one of those that are counted, not only one around a label.
    counts: bool,
}

impl Seen {
    /// Whether a line of the function has this word.
    fn names(&self, text: &[u8], name: &[u8]) -> bool {
        let lines = text.split(|byte| *byte == b'\n');
        let mut lines = lines
            .skip(self.lines.0.saturating_sub(1))
            .take(self.lines.1 - self.lines.0 + 1);
        lines.any(|line| {
            let mut words = line.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
            words.any(|word| word == name)
        })
    }
}

/// The regions of a file that a configuration leaves out: start, end and condition.
type LeftOut = Vec<(u32, u32, String)>;

#[derive(Default)]
struct Totals {
    projects: usize,
    files: usize,
    bytes: usize,
    expanded: usize,
    reading: Duration,
    alone: Duration,
    bare: Duration,
    slowest: (Duration, String),
    functions: BTreeMap<Place, Seen>,
    unresolved_includes: usize,
    configurations: usize,
    /// By path, for files that synchronise: their text, and what each configuration leaves out.
    sights: BTreeMap<String, (Text, HashSet<LeftOut>)>,
}

fn is_synchronising(text: &[u8]) -> bool {
    SYNCHRONISING
        .iter()
        .any(|word| text.windows(word.len()).any(|window| window == *word))
}

/// Where the words that synchronise start.
fn synchronising(text: &[u8]) -> impl Iterator<Item = usize> {
    let starts = text
        .iter()
        .enumerate()
        .filter(|(_, byte)| matches!(byte, b'M' | b'I'));
    starts.map(|(at, _)| at).filter(|at| {
        let rest = text.get(*at..).unwrap_or_default();
        SYNCHRONISING.iter().any(|word| rest.starts_with(word))
    })
}

/// Where a span stands: the file and an offset in it.
fn place(shader: &Shader, span: Span) -> Option<Place> {
    let place = shader.origins.locate(span)?;
    Some((shader.sources.get(place.file)?.path.clone(), place.start))
}

/// The first and the last line of a span in its file, from 1.
fn lines(shader: &Shader, span: Span) -> (usize, usize) {
    let Some(place) = shader.origins.locate(span) else {
        return (0, 0);
    };
    let text = shader.sources.get(place.file).map_or(&[][..], |file| &file.text);
    let line = |offset: u32| {
        let before = text.get(..offset as usize).unwrap_or_default();
        before.split(|byte| *byte == b'\n').count()
    };
    (line(place.start), line(place.end))
}

impl Totals {
    fn note(&mut self, at: Place, seen: Seen) {
        let known = self.functions.get(&at).map(|known| known.level);
        if known.is_none_or(|known| seen.level < known) {
            self.functions.insert(at, seen);
        }
    }

    /// Reads a file in all its configurations.
    fn unit(&mut self, file: &SourceFile, project: &Project, is_counted: bool, labelled: &HashSet<String>) {
        let began = Instant::now();
        let made = preprocess(&file.path, &file.text, &[], project);
        let mut exploration = Exploration::new(&|_, _, text| is_synchronising(text), &|_| true);
        exploration.note(&made.0, &[]);
        let expanded = made.0.text.len();
        let kernels = made.0.kernels.clone();
        let (shader, problems) = self.read(made);
        let took = began.elapsed();
        self.note_all(&shader, &problems, is_counted, labelled);
        if is_counted {
            self.reading += took;
            self.expanded += expanded;
            if took > self.slowest.0 {
                self.slowest = (took, file.path.clone());
            }
            let lacking = problems
                .iter()
                .filter(|problem| matches!(problem.cause, Cause::Missing(_)));
            self.unresolved_includes += lacking.count();
        }
        for variant in kernels.iter().filter(|variant| !variant.defines.is_empty()) {
            let made = preprocess(&file.path, &file.text, &variant.defines, project);
            exploration.note(&made.0, &variant.defines);
            self.further(made, is_counted, labelled);
        }
        for _ in 0..MAX_CONFIGURATIONS {
            let next = exploration.next(|defines| preprocess(&file.path, &file.text, defines, project));
            let Some(next) = next else { break };
            self.further((next.unit, next.problems), is_counted, labelled);
        }
    }

    fn further(&mut self, made: (Preprocessed, Vec<Problem>), is_counted: bool, labelled: &HashSet<String>) {
        self.configurations += usize::from(is_counted);
        let (shader, problems) = self.read(made);
        self.note_all(&shader, &problems, is_counted, labelled);
    }

    /// Reads on, and notes what the configuration leaves out.
    fn read(&mut self, (unit, problems): (Preprocessed, Vec<Problem>)) -> (Shader, Vec<Problem>) {
        let mut left_out: HashMap<u32, LeftOut> = HashMap::new();
        for inactive in &unit.inactive {
            let Some(file) = unit.sources.get(inactive.region.file) else {
                continue;
            };
            let condition = inactive.condition.start as usize..inactive.condition.end as usize;
            let condition = String::from_utf8_lossy(file.text.get(condition).unwrap_or_default());
            let region = (
                inactive.region.start,
                inactive.region.end,
                format!("{:?} {condition}", inactive.opened_by),
            );
            left_out.entry(inactive.region.file.0).or_default().push(region);
        }
        for (number, file) in (0..).zip(&unit.sources.files) {
            if !self.sights.contains_key(&file.path) && !is_synchronising(&file.text) {
                continue;
            }
            let sights = self
                .sights
                .entry(file.path.clone())
                .or_insert_with(|| (file.text.clone(), HashSet::new()));
            sights.1.insert(left_out.remove(&number).unwrap_or_default());
        }
        read_preprocessed(unit, problems, None)
    }

    /// Notes every function of a unit that synchronises, or that is in a labelled file.
    fn note_all(
        &mut self,
        shader: &Shader,
        problems: &[Problem],
        is_counted: bool,
        labelled: &HashSet<String>,
    ) {
        let unit = Unit::new(shader, problems);
        let mut inside = Vec::new();
        for function in &shader.functions {
            inside.push(function.span);
            let synchronises = is_synchronising(function.span.slice(&shader.text));
            if function.body.is_some()
                && let Some(at) = place(shader, function.name_span)
                && (synchronises || labelled.contains(&at.0))
            {
                let (level, causes) = unit.assess(function);
                let seen = Seen {
                    level,
                    lines: lines(shader, function.span),
                    causes,
                    counts: synchronises && is_counted,
                };
                self.note(at, seen);
            }
        }
        for start in synchronising(&shader.text) {
            let Ok(start) = u32::try_from(start) else { break };
            let span = Span {
                start,
                end: start + 1,
            };
            let held = inside.iter().any(|span| span.start <= start && start < span.end);
            if !held && let Some(at) = place(shader, span) {
                let line = first_line(shader.text.get(start as usize..).unwrap_or_default());
                let seen = Seen {
                    level: Level::NoFunction,
                    lines: lines(shader, span),
                    causes: vec![line],
                    counts: is_counted,
                };
                self.note(at, seen);
            }
        }
    }

    fn speed(&mut self, file: &SourceFile, parser: &mut tree_sitter::Parser) {
        self.files += 1;
        self.bytes += file.text.len();
        let began = Instant::now();
        let tree = parser.parse(&*file.text, None);
        self.bare += began.elapsed();
        drop(tree);
        let began = Instant::now();
        drop(read(&file.path, &file.text, &[], &NoIncludes));
        self.alone += began.elapsed();
    }

    fn print(&self, verbose: bool, out: &mut impl Write) -> std::io::Result<()> {
        let rate = |bytes: usize, time: Duration| bytes as f64 / 1e6 / time.as_secs_f64().max(1e-9);
        writeln!(
            out,
            "{} projects, {} different files, {:.1} MB",
            self.projects,
            self.files,
            self.bytes as f64 / 1e6
        )?;
        writeln!(
            out,
            "with includes: {:.1} MB expanded in {:.1} s ({:.1} MB/s), {} includes not found",
            self.expanded as f64 / 1e6,
            self.reading.as_secs_f64(),
            rate(self.expanded, self.reading),
            self.unresolved_includes
        )?;
        writeln!(out, "further configurations read too: {}", self.configurations)?;
        writeln!(
            out,
            "slowest file: {:.2} s, {}",
            self.slowest.0.as_secs_f64(),
            self.slowest.1
        )?;
        writeln!(
            out,
            "without includes: {:.1} MB/s; bare tree-sitter {:.1} MB/s; ratio {:.2}",
            rate(self.bytes, self.alone),
            rate(self.bytes, self.bare),
            self.bare.as_secs_f64() / self.alone.as_secs_f64().max(1e-9)
        )?;
        self.print_left_out(verbose, out)?;
        let counted: Vec<_> = self.functions.iter().filter(|(_, seen)| seen.counts).collect();
        let total = counted.len();
        let read = counted
            .iter()
            .filter(|(_, seen)| Level::READ.contains(&seen.level))
            .count();
        writeln!(
            out,
            "functions that synchronise: {total}; read: {read} ({:.2} %)",
            100.0 * read as f64 / total.max(1) as f64
        )?;
        for level in Level::ALL {
            let here = counted.iter().filter(|(_, seen)| seen.level == level);
            let share = 100.0 * here.clone().count() as f64 / total.max(1) as f64;
            writeln!(out, "{level:?}: {} ({share:.2} %)", here.clone().count())?;
            let mut causes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
            for ((path, at), seen) in here {
                let own: HashSet<&str> = seen.causes.iter().map(String::as_str).collect();
                for cause in own {
                    causes.entry(cause).or_default().push(format!("{path}:{at}"));
                }
            }
            let mut causes: Vec<_> = causes.into_iter().collect();
            causes.sort_by_key(|(_, places)| std::cmp::Reverse(places.len()));
            for (cause, places) in causes.iter().take(if verbose { usize::MAX } else { 20 }) {
                writeln!(out, "{:6} {cause}", places.len())?;
                for place in places.iter().take(if verbose { EXAMPLES } else { 0 }) {
                    writeln!(out, "         {place}")?;
                }
            }
        }
        Ok(())
    }

    /// What no configuration takes in.
    fn print_left_out(&self, verbose: bool, out: &mut impl Write) -> std::io::Result<()> {
        let mut never: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let mut words = 0;
        for (path, (text, sights)) in &self.sights {
            for at in synchronising(text) {
                words += 1;
                let at = u32::try_from(at).unwrap_or(u32::MAX);
                let region = |sight: &'_ LeftOut| {
                    let holds = |(start, end, _): &(u32, u32, String)| (*start..*end).contains(&at);
                    sight.iter().position(holds)
                };
                let hidden = sights.iter().map(|sight| Some((sight, region(sight)?)));
                let Some(hidden) = hidden.collect::<Option<Vec<_>>>() else {
                    continue;
                };
                let condition = hidden.first().and_then(|(sight, at)| sight.get(*at));
                let condition = condition.map_or("", |(_, _, condition)| condition);
                never.entry(condition).or_default().push(format!("{path}:{at}"));
            }
        }
        let hidden: usize = never.values().map(Vec::len).sum();
        writeln!(
            out,
            "barriers and Interlocked in files: {words}; behind an #if in every configuration read: {hidden}"
        )?;
        let mut never: Vec<_> = never.into_iter().collect();
        never.sort_by_key(|(_, places)| std::cmp::Reverse(places.len()));
        for (condition, places) in never.iter().take(if verbose { usize::MAX } else { 10 }) {
            let example = places.first().map_or("", String::as_str);
            writeln!(out, "{:6} {condition}  {example}", places.len())?;
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (options, folders): (Vec<String>, Vec<String>) = std::env::args()
        .skip(1)
        .partition(|argument| argument.starts_with("--"));
    let has = |name: &str| options.iter().any(|option| option == name);
    let table = options.iter().find_map(|option| option.strip_prefix("--labels="));
    let labels = table.map_or_else(|| Ok(Labels::default()), Labels::read)?;
    let mut parser = tree_sitter::Parser::new();
    parser.set_language(&tree_sitter_hlsl::LANGUAGE_HLSL.into())?;
    let mut totals = Totals::default();
    let mut comparison = against_cpp::Comparison::default();
    let mut known: HashSet<Vec<u8>> = HashSet::new();
    let mut texts: HashMap<String, Text> = HashMap::new();
    for folder in folders.iter().map(PathBuf::from) {
        let project = Project::new(&folder)?;
        let labelled = labels.files_in(Path::new(&folder));
        if !labelled.is_empty() {
            texts.extend(
                project
                    .files
                    .iter()
                    .map(|file| (file.path.clone(), file.text.clone())),
            );
        }
        totals.projects += 1;
        let is_labelled = |file: &&SourceFile| labelled.contains(&file.path) && !Project::is_shader(file);
        for file in project.shaders().chain(project.files.iter().filter(is_labelled)) {
            let is_new = Project::is_shader(file) && known.insert(file.text.to_vec());
            if has("--against-cpp") {
                if is_new {
                    comparison.file(file, &project)?;
                }
                continue;
            }
            if is_new {
                totals.speed(file, &mut parser);
            }
            if is_new || labelled.contains(&file.path) {
                totals.unit(file, &project, is_new, &labelled);
            }
        }
    }
    let mut out = std::io::stdout().lock();
    if has("--against-cpp") {
        comparison.print(&mut out)?;
        return Ok(());
    }
    if has("--functions") {
        for ((path, _), seen) in totals.functions.iter().filter(|(_, seen)| seen.counts) {
            let (first, last) = seen.lines;
            writeln!(out, "{path}\t{first}\t{last}\t{:?}", seen.level)?;
        }
        return Ok(());
    }
    totals.print(has("--verbose"), &mut out)?;
    if table.is_some() {
        labels.print(&folders, &totals.functions, &texts, &mut out)?;
    }
    Ok(())
}
