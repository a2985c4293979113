//! How much of real code the front end reads: `cargo run --release --example statistics -- [--verbose] FOLDER…`.
//! `--functions` lists what was counted instead: file, first and last line, and how it was read.
//!
//! Each folder is one project: an include that is not found beside its file is looked up by the end of its path.
//! What is counted are functions that synchronise, those that name a barrier or an `Interlocked`, once for each place
//! in a file, however many translation units hold it. A function counts as read if it is in one of them.
#![expect(
    clippy::disallowed_methods,
    reason = "a program to measure with, no part of the library"
)]

use std::collections::{BTreeMap, HashMap, HashSet};
use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use shaderlint_hlsl::{
    Expr, ExprKind, Function, Includes, NoIncludes, Problem, Shader, SourceFile, Span, Stmt, StmtKind, Type,
    kernel_variants, read, statements,
};

const ENDINGS: [&str; 12] = [
    "hlsl", "hlsli", "compute", "cginc", "fx", "fxh", "usf", "ush", "azsl", "azsli", "csh", "ihlsl",
];
/// Examples shown of each cause.
const EXAMPLES: usize = 3;

/// The files of one project.
struct Project {
    files: Vec<SourceFile>,
    /// By file name, in lower case.
    by_name: HashMap<String, Vec<usize>>,
}

impl Project {
    fn new(folder: &Path) -> Result<Self, Box<dyn Error>> {
        let mut paths = Vec::new();
        let mut left = vec![folder.to_owned()];
        while let Some(folder) = left.pop() {
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    left.push(path);
                } else {
                    paths.push(path);
                }
            }
        }
        paths.sort();
        let mut project = Project {
            files: Vec::new(),
            by_name: HashMap::new(),
        };
        for path in paths {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .to_lowercase();
            project.by_name.entry(name).or_default().push(project.files.len());
            project.files.push(SourceFile {
                text: Arc::from(fs::read(&path)?),
                path: path.to_string_lossy().into_owned(),
            });
        }
        Ok(project)
    }
}

/// Whether a file is HLSL by its name; others are read only where they are included.
fn is_shader(path: &str) -> bool {
    let ending = path.rsplit('.').next().unwrap_or_default().to_lowercase();
    ENDINGS.contains(&ending.as_str())
}

/// The components of a path that name something, in lower case: most shaders are written on Windows.
fn components(path: &str) -> Vec<String> {
    path.split(['/', '\\'])
        .filter(|part| !matches!(*part, "" | "." | ".."))
        .map(str::to_lowercase)
        .collect()
}

impl Includes for Project {
    fn resolve(&self, from: &str, path: &str, _angled: bool) -> Option<SourceFile> {
        let wanted = components(path);
        let from = components(from);
        let shared = |file: &SourceFile| {
            let parts = components(&file.path);
            parts.iter().zip(&from).take_while(|(a, b)| a == b).count()
        };
        let candidates = self.by_name.get(wanted.last()?)?;
        let fitting = candidates.iter().filter_map(|&index| self.files.get(index));
        fitting
            .filter(|file| components(&file.path).ends_with(&wanted))
            .max_by_key(|file| (shared(file), std::cmp::Reverse(file.path.len())))
            .cloned()
    }
}

/// How well a function was read; the better the smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Whole,
    /// There are expressions of unknown type.
    OpaqueExpression,
    OpaqueStatement,
    /// It names a barrier, but there is no function around it.
    Missing,
}

/// What is known of the function at one place.
struct Seen {
    level: Level,
    /// First and last line.
    lines: (usize, usize),
    lacks_includes: bool,
    causes: Vec<String>,
}

#[derive(Default)]
struct Totals {
    files: usize,
    bytes: usize,
    expanded: usize,
    reading: Duration,
    alone: Duration,
    bare: Duration,
    slowest: (Duration, String),
    functions: BTreeMap<(String, u32), Seen>,
    unresolved_includes: usize,
    variants: usize,
}

fn is_synchronising(text: &[u8]) -> bool {
    [&b"MemoryBarrier"[..], b"Interlocked"]
        .iter()
        .any(|word| text.windows(word.len()).any(|window| window == *word))
}

/// Where a span stands: the file and an offset in it.
fn place(shader: &Shader, span: Span) -> Option<(String, u32)> {
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

fn first_line(text: &[u8]) -> String {
    let line = text
        .split(|byte| *byte == b'\n')
        .find(|line| !line.trim_ascii().is_empty());
    String::from_utf8_lossy(line.unwrap_or_default())
        .trim()
        .chars()
        .take(100)
        .collect()
}

/// What is not understood in a function.
#[derive(Default)]
struct Gaps {
    statements: Vec<Span>,
    expressions: Vec<Span>,
}

impl Gaps {
    fn statements(&mut self, body: &[Stmt]) {
        for stmt in statements(body) {
            if matches!(stmt.kind, StmtKind::Opaque) {
                self.statements.push(stmt.span);
            }
            stmt.expressions().for_each(|expr| self.expression(expr));
        }
    }

    fn expression(&mut self, expr: &Expr) {
        // What comes out of a descriptor heap is known by the type it is converted to.
        if matches!((&expr.kind, &expr.ty), (ExprKind::Cast(_), Type::Resource(..))) {
            return;
        }
        if matches!(expr.kind, ExprKind::Opaque(_)) && expr.ty == Type::Unknown {
            self.expressions.push(expr.span);
        }
        expr.children().for_each(|part| self.expression(part));
    }
}

/// How well one function was read, and why not better.
fn assess(shader: &Shader, problems: &[Problem], function: &Function) -> Seen {
    let mut gaps = Gaps::default();
    gaps.statements(function.body.as_deref().unwrap_or_default());
    let lacks_includes = problems
        .iter()
        .any(|problem| problem.message.starts_with("cannot find"));
    let seen = |level: Level, causes: Vec<String>| Seen {
        level,
        lines: lines(shader, function.span),
        lacks_includes,
        causes,
    };
    let told = |span: Span| {
        let at = shader.origins.locate(span);
        let told = problems.iter().find(|problem| {
            problem.place.is_some_and(|place| {
                at.is_some_and(|at| at.file == place.file && at.start <= place.start && place.end <= at.end)
            })
        });
        told.map_or("", |problem| problem.message.as_str()).to_owned()
    };
    let cause = |span: &Span, message: &str| format!("{message}: {}", first_line(span.slice(&shader.text)));
    if gaps.statements.is_empty() {
        let level = if gaps.expressions.is_empty() {
            Level::Whole
        } else {
            Level::OpaqueExpression
        };
        let word = if lacks_includes {
            "an include is missing"
        } else {
            "expression"
        };
        let innermost = gaps.expressions.iter().filter(|span| {
            let holds = |inner: &Span| inner != *span && span.start <= inner.start && inner.end <= span.end;
            !gaps.expressions.iter().any(holds)
        });
        let causes = innermost.map(|span| cause(span, word)).collect();
        return seen(level, causes);
    }
    let causes = gaps
        .statements
        .iter()
        .map(|span| cause(span, &told(*span)))
        .collect();
    seen(Level::OpaqueStatement, causes)
}

impl Totals {
    fn note(&mut self, at: (String, u32), seen: Seen) {
        let known = self.functions.get(&at).map(|known| known.level);
        if known.is_none_or(|known| seen.level < known) {
            self.functions.insert(at, seen);
        }
    }

    fn unit(&mut self, file: &SourceFile, project: &Project) {
        let began = Instant::now();
        let (shader, problems) = read(&file.path, &file.text, &[], project);
        let took = began.elapsed();
        self.note_all(&shader, &problems);
        for variant in kernel_variants(&file.text) {
            self.variants += 1;
            let (shader, problems) = read(&file.path, &file.text, &variant.defines, project);
            self.note_all(&shader, &problems);
        }
        if took > self.slowest.0 {
            self.slowest = (took, file.path.clone());
        }
        self.reading += took;
        self.expanded += shader.text.len();
        self.unresolved_includes += problems
            .iter()
            .filter(|problem| problem.message.starts_with("cannot find"))
            .count();
    }

    /// Notes every function of a unit that synchronises.
    fn note_all(&mut self, shader: &Shader, problems: &[Problem]) {
        let mut inside = Vec::new();
        for function in &shader.functions {
            inside.push(function.span);
            if function.body.is_some()
                && is_synchronising(function.span.slice(&shader.text))
                && let Some(at) = place(shader, function.name_span)
            {
                self.note(at, assess(shader, problems, function));
            }
        }
        let mut from = 0;
        while let Some(text) = shader.text.get(from..)
            && let Some(found) = [&b"MemoryBarrier"[..], b"Interlocked"]
                .iter()
                .filter_map(|word| text.windows(word.len()).position(|window| window == *word))
                .min()
        {
            let start = u32::try_from(from + found).unwrap_or(u32::MAX);
            let span = Span {
                start,
                end: start + 1,
            };
            let held = inside.iter().any(|span| span.start <= start && start < span.end);
            if !held && let Some(at) = place(shader, span) {
                let line = first_line(shader.text.get(start as usize..).unwrap_or_default());
                let causes = vec![format!("in no function: {line}")];
                self.note(
                    at,
                    Seen {
                        level: Level::Missing,
                        lines: lines(shader, span),
                        lacks_includes: false,
                        causes,
                    },
                );
            }
            from += found + 11;
        }
    }

    fn speed(&mut self, file: &SourceFile, parser: &mut tree_sitter::Parser) {
        self.files += 1;
        self.bytes += file.text.len();
        let began = Instant::now();
        let tree = parser.parse(&file.text, None);
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
            "{} different files, {:.1} MB",
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
        writeln!(
            out,
            "further configurations of kernels read too: {}",
            self.variants
        )?;
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
        let count = |level: Level| self.functions.values().filter(|seen| seen.level == level).count();
        let total = self.functions.len();
        let (whole, partly) = (count(Level::Whole), count(Level::OpaqueExpression));
        writeln!(
            out,
            "functions that synchronise: {total}; without an opaque statement {} ({:.2} %), \
             and without an opaque expression {whole} ({:.2} %); in no function {}",
            whole + partly,
            100.0 * (whole + partly) as f64 / total.max(1) as f64,
            100.0 * whole as f64 / total.max(1) as f64,
            count(Level::Missing)
        )?;
        let lacking = self
            .functions
            .values()
            .filter(|seen| seen.level == Level::OpaqueExpression && seen.lacks_includes);
        writeln!(
            out,
            "with an opaque expression, and an include not found: {}",
            lacking.count()
        )?;
        for level in [Level::Missing, Level::OpaqueStatement, Level::OpaqueExpression] {
            let mut causes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
            for ((path, at), seen) in self.functions.iter().filter(|(_, seen)| seen.level == level) {
                let own: HashSet<&str> = seen.causes.iter().map(String::as_str).collect();
                for cause in own {
                    causes.entry(cause).or_default().push(format!("{path}:{at}"));
                }
            }
            let mut causes: Vec<_> = causes.into_iter().collect();
            causes.sort_by_key(|(_, places)| std::cmp::Reverse(places.len()));
            writeln!(out, "{level:?}:")?;
            for (cause, places) in causes.iter().take(if verbose { usize::MAX } else { 20 }) {
                writeln!(out, "{:6} {cause}", places.len())?;
                for place in places.iter().take(if verbose { EXAMPLES } else { 0 }) {
                    writeln!(out, "         {place}")?;
                }
            }
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (options, folders): (Vec<String>, Vec<String>) = std::env::args()
        .skip(1)
        .partition(|argument| argument.starts_with("--"));
    let verbose = options.iter().any(|option| option == "--verbose");
    let mut parser = tree_sitter::Parser::new();
    parser.set_language(&tree_sitter_hlsl::LANGUAGE_HLSL.into())?;
    let mut totals = Totals::default();
    let mut known: HashSet<Arc<[u8]>> = HashSet::new();
    for folder in folders.iter().map(PathBuf::from) {
        let project = Project::new(&folder)?;
        for file in project.files.iter().filter(|file| is_shader(&file.path)) {
            if known.insert(file.text.clone()) {
                totals.speed(file, &mut parser);
                totals.unit(file, &project);
            }
        }
    }
    let mut out = std::io::stdout().lock();
    if options.iter().any(|option| option == "--functions") {
        for ((path, _), seen) in &totals.functions {
            let (first, last) = seen.lines;
            writeln!(out, "{path}\t{first}\t{last}\t{:?}", seen.level)?;
        }
        return Ok(());
    }
    totals.print(verbose, &mut out)?;
    Ok(())
}
