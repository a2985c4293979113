//! `shaderlint verify`: compares fixed kernels with the flagged ones, by proof, in the interpreter and on every GPU.
//!
//! [`pair`] chooses the kernels, [`gather`] gathers the [`evidence`] about them, and [`text`] and [`page`] show it.

mod evidence;
mod gather;
mod interface;
pub(crate) mod kernel_toml;
mod page;
mod pair;
mod proof;
mod record;
mod text;

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, anyhow, bail, ensure};
use serde::Serialize;
use shaderlint_hlsl::TARGET_STAGE;
use shaderlint_verify::run::Adapter;

use self::evidence::{Elsewhere, Evidence, InOthers};
use self::gather::{Files, Texts, gather};
use self::kernel_toml::Settings;
use self::page::Page;
use self::pair::{FixedFile, Pair, changed_kernels, fixed_file, other_file};
use crate::check::configurations::{Configuration, Configurations};
use crate::cli::{Outcome, ResultFormat, SourceArgs, VerifyArgs};
use crate::commands::adapters::chosen;
use crate::commands::kernel;
use crate::support::definition::Define;
use crate::support::progress::Progress;
use crate::support::terminal::{ColorChoice, Style};
use crate::support::{atomic_write, error_text, snippets, terminal};
use crate::workspace::config::Projects;
use crate::workspace::files::Files as Sources;
use crate::workspace::project_file::{ProjectFile, TranslationUnit};
use crate::workspace::walk::{self, Input, InputOrigin, Workspace};

/// The output for other programs.
#[derive(Serialize)]
struct Output<'a> {
    /// shaderlint's version.
    version: &'a str,
    kernels: &'a [Evidence],
}

pub(crate) fn run(args: &VerifyArgs) -> Result<Outcome> {
    if let Some(path) = &args.report {
        atomic_write::is_writable(path)?;
    }
    if args.evidence {
        let progress = Progress::new(args.quiet);
        let all_alike = record::record(&args.path, &args.source, args.adapter.as_deref(), &progress);
        progress.clear();
        return Ok(if all_alike? {
            Outcome::Clean
        } else {
            Outcome::Findings
        });
    }
    let mut verification = Verification::new(args);
    let done = verification.run();
    verification.progress.clear();
    done?;
    verification.finish()
}

/// The evidence about the fixed kernels of a file, without runs on a device, for the page of a report.
pub(crate) fn on_page(file: &ProjectFile) -> Result<Vec<serde_json::Value>> {
    let args = VerifyArgs {
        path: file.path.clone(),
        other: None,
        entry: None,
        set: Vec::new(),
        adapter: None,
        no_timing: false,
        require_gpu: false,
        output_format: ResultFormat::Json,
        report: Some(PathBuf::new()),
        evidence: false,
        quiet: true,
        source: SourceArgs::default(),
    };
    let mut verification = Verification {
        devices: OnceCell::from(Vec::new()),
        ..Verification::new(&args)
    };
    verification.one_file(file)?;
    verification.page.kernels()
}

/// Why nothing is compared; `mending` fixes repair defects.
fn nothing(mending: usize) -> String {
    match mending {
        0 => "no kernel has a finding with a fix".to_owned(),
        1 => "1 finding with a fix is a defect: a kernel with a defect has no results to compare with"
            .to_owned(),
        more => {
            format!(
                "{more} findings with a fix are defects: a kernel with a defect has no results to compare with"
            )
        }
    }
}

/// The names of a pair's kernels in their files.
#[derive(Clone, Copy)]
struct Names<'a> {
    flagged: &'a str,
    fixed: &'a str,
}

/// The pair of these kernels; `None` if neither file has its kernel.
fn one_pair_of(names: Names<'_>, flagged: &TranslationUnit, fixed: &TranslationUnit) -> Result<Option<Pair>> {
    let has = |unit: &TranslationUnit, name: &str| kernel::entry(&unit.shader, "", Some(name)).is_ok();
    if !has(flagged, names.flagged) && !has(fixed, names.fixed) {
        return Ok(None);
    }
    let pair = other_file(Some(names.flagged), flagged, fixed)?;
    interface::check(flagged, fixed, &pair)?;
    Ok(Some(pair))
}

/// Both files in a configuration other than the default one.
struct Other {
    label: String,
    flagged: TranslationUnit,
    fixed: TranslationUnit,
    pairs: Vec<Pair>,
}

impl Other {
    fn files<'a>(&'a self, texts: Texts<'a>) -> Files<'a> {
        Files {
            flagged: &self.flagged,
            fixed: &self.fixed,
            texts,
        }
    }
}

/// Both files in all configurations except the default one.
struct Others {
    read: Vec<Other>,
    /// Macros to which a build may give other values.
    unread: BTreeSet<String>,
}

impl Others {
    /// The verdicts on the kernel `name` in these configurations.
    fn of(&self, name: &str) -> InOthers {
        self.among(&self.read, name)
    }

    /// As `of`, for the configurations after the one with this number.
    fn behind(&self, number: usize, name: &str) -> InOthers {
        self.among(self.read.get(number + 1..).unwrap_or_default(), name)
    }

    fn among(&self, others: &[Other], name: &str) -> InOthers {
        InOthers {
            elsewhere: elsewhere(others, name),
            unread: self.unread.iter().cloned().collect(),
        }
    }
}

/// The builds that a file and its project declare for a kernel.
struct Declared {
    builds: BTreeSet<Vec<Define>>,
    /// A description of the builds by their definitions.
    said: String,
}

impl Declared {
    fn by(configurations: &Configurations<'_>, default: &Configuration, kernel: &str) -> Declared {
        let declared = configurations.declared(&default.unit.text);
        let is_of_kernel = |one: &Configuration| {
            let is_it = |name: &String| name == kernel;
            { one.name.kernels().into_iter() }.all(|kernels| kernels.iter().any(is_it))
        };
        let of_kernel: Vec<Configuration> = declared.filter(is_of_kernel).collect();
        let is_own = of_kernel.iter().any(|one| one.name.kernels().is_some());
        // If lines declare the kernel, the default configuration does not build it.
        let of_default = (!is_own && !of_kernel.is_empty()).then(|| sorted(&default.defines));
        let builds = of_kernel.iter().map(|one| sorted(&one.defines)).chain(of_default);
        let said = of_kernel.iter().map(|one| {
            let own = one
                .defines
                .iter()
                .filter(|define| !default.defines.contains(define));
            let own: Vec<String> = own.map(|(name, value)| format!("{name}={value}")).collect();
            if own.is_empty() {
                "one without definitions".to_owned()
            } else {
                format!("`{}`", own.join(" "))
            }
        });
        Declared {
            said: said.collect::<Vec<_>>().join(", "),
            builds: builds.collect(),
        }
    }

    /// Whether both declare builds, but different ones: it is unclear which builds to compare.
    fn is_another(&self, other: &Declared) -> bool {
        !self.builds.is_empty() && !other.builds.is_empty() && self.builds != other.builds
    }
}

/// The default definitions of a file, and the builds that it declares for all kernels.
fn builds_of(file: &ProjectFile) -> (Vec<Define>, BTreeSet<Vec<Define>>) {
    let (path, search) = (file.path.display().to_string(), file.search());
    let text = file.text[..].into();
    let (configurations, default) = Configurations::of(&path, &text, &file.project, &search);
    let declared = Declared::by(&configurations, &default, "");
    (default.defines, declared.builds)
}

fn sorted(defines: &[Define]) -> Vec<Define> {
    let mut sorted = defines.to_vec();
    sorted.sort_unstable();
    sorted
}

/// The verdicts on the kernel `name` in each of these configurations that has it.
fn elsewhere(others: &[Other], name: &str) -> Vec<Elsewhere> {
    let with_pair = others
        .iter()
        .flat_map(|other| other.pairs.iter().map(move |pair| (other, pair)));
    with_pair
        .filter(|(_, pair)| pair.name == name)
        .map(|(other, pair)| {
            let proof = proof::prove([&other.flagged, &other.fixed], pair);
            Elsewhere {
                configuration: other.label.clone(),
                verdict: evidence::verdict(&proof, pair.has_rows(), &[], &[]),
            }
        })
        .collect()
}

/// A run of the program.
struct Verification<'a> {
    args: &'a VerifyArgs,
    /// The adapters, found when something is to be run.
    devices: OnceCell<Vec<Adapter>>,
    progress: Progress,
    known: Vec<Evidence>,
    page: Page,
    /// Some file could not be checked.
    could_not: bool,
    /// Files that were not understood in full.
    unread: usize,
    /// Fixes of defects: a wrong kernel has no results to compare with.
    mending: usize,
}

impl<'a> Verification<'a> {
    fn new(args: &'a VerifyArgs) -> Self {
        Verification {
            args,
            devices: OnceCell::new(),
            progress: Progress::new(args.quiet),
            known: Vec::new(),
            page: Page::default(),
            could_not: false,
            unread: 0,
            mending: 0,
        }
    }

    fn run(&mut self) -> Result<()> {
        let args = self.args;
        if let Some(other) = &args.other {
            ensure!(
                !args.path.is_dir(),
                "{}: one file is compared with one file",
                args.path.display()
            );
            return self.two_files(&args.path, other);
        }
        if !args.path.is_dir() {
            return self.one_file(&ProjectFile::read(&args.path, &args.source)?);
        }
        let mut projects = Projects::new(&args.source);
        let mut is_shader = |path: &Path| match projects.of(path) {
            Ok(project) => project.includes(path) && !project.excludes(path),
            // The error shows when the file is read.
            Err(_) => walk::is_shader(path),
        };
        let (inputs, problems) = walk::walk(&[(args.path.clone(), InputOrigin::Found)], &mut is_shader);
        let sources = Sources::new(Vec::new(), &Workspace::default());
        for problem in problems {
            terminal::complain(&problem.text);
            self.could_not = true;
        }
        let has_kernel = |input: &&Input| sources.may_have_entry(&input.path);
        let inputs: Vec<&Input> = inputs.iter().filter(has_kernel).collect();
        ensure!(
            !inputs.is_empty(),
            "{}: no file has a kernel",
            args.path.display()
        );
        // Reports a missing adapter only once.
        self.devices()?;
        for input in &inputs {
            let file = ProjectFile::read(&input.path, &args.source);
            if let Err(error) = file.and_then(|file| self.one_file(&file)) {
                // The others are still checked.
                self.progress.aside(|| snippets::failure(&error));
                self.could_not = true;
            }
        }
        if self.known.is_empty() {
            let files = match inputs.len() {
                1 => "1 file".to_owned(),
                more => format!("{more} files"),
            };
            let folder = args.path.display();
            self.print(&format!("{folder}: {}, in {files}\n", nothing(self.mending)))?;
            self.could_not |= self.unread == inputs.len();
        } else if self.mending > 0 {
            self.print(&format!("not compared: {}\n", nothing(self.mending)))?;
        }
        self.print_unread_count()
    }

    fn devices(&self) -> Result<&[Adapter]> {
        if let Some(known) = self.devices.get() {
            return Ok(known);
        }
        let chosen = chosen(self.args.adapter.as_deref())?;
        Ok(self.devices.get_or_init(|| chosen))
    }

    fn one_file(&mut self, file: &ProjectFile) -> Result<()> {
        let (args, path) = (self.args, &file.path);
        let flagged = file.unit(&file.text);
        let is_one = !args.path.is_dir();
        self.unread += usize::from(!flagged.problems.is_empty());
        if is_one {
            self.check_arguments(&flagged)
                .map_err(|error| self.as_read(&[&flagged], error))?;
        }
        let settings = Settings::of_file(path, &flagged.shader, &args.set)?;
        let FixedFile {
            unit: fixed,
            text: fixed_text,
            pairs,
            mending,
        } = fixed_file(
            args.entry.as_deref(),
            file,
            &flagged,
            &file.project.defines_of(&file.text),
        );
        self.mending += mending;
        let others = self.in_other_configurations(file, &file.text, (file, &fixed_text), None)?;
        // A kernel that only another configuration has is compared in that configuration.
        if is_one && pairs.is_empty() && others.read.iter().all(|other| other.pairs.is_empty()) {
            let nothing = nothing(mending);
            // Kernels may be missing because a file could not be read in full.
            ensure!(
                flagged.problems.is_empty(),
                self.as_read(&[&flagged], anyhow!("{nothing}"))
            );
            return self.print(&format!("{}: {nothing}\n", path.display()));
        }
        if !is_one && !pairs.is_empty() && args.output_format == ResultFormat::Full {
            self.print(&format!("{}\n", path.display()))?;
        }
        let texts = Texts {
            flagged: &file.text,
            fixed: &fixed_text,
        };
        let files = Files {
            flagged: &flagged,
            fixed: &fixed,
            texts,
        };
        for pair in &pairs {
            self.one_pair(&files, pair, others.of(&pair.name), &settings)?;
        }
        let known: Vec<&str> = pairs.iter().map(|pair| &*pair.name).collect();
        self.pairs_of_others(&others, &known, texts, &settings)?;
        if is_one {
            self.print_unread(&[&flagged])
        } else {
            Ok(())
        }
    }

    /// Compares the kernels that the default configuration lacks, by name: each in the first configuration that has
    /// it. Proves each in the remaining configurations.
    fn pairs_of_others(
        &mut self,
        others: &Others,
        known: &[&str],
        texts: Texts<'_>,
        settings: &Settings,
    ) -> Result<()> {
        let mut known = known.to_vec();
        for (number, other) in others.read.iter().enumerate() {
            for pair in &other.pairs {
                if known.contains(&&*pair.name) {
                    continue;
                }
                known.push(&pair.name);
                self.print(&format!("{}:\n", other.label))?;
                let files = other.files(texts);
                self.one_pair(&files, pair, others.behind(number, &pair.name), settings)?;
            }
        }
        Ok(())
    }

    /// Checks that the entry point and the uniforms of the command line exist.
    fn check_arguments(&self, unit: &TranslationUnit) -> Result<()> {
        let path = kernel::path(unit);
        ensure!(
            unit.shader.entry_points().next().is_some(),
            "{path}: no function has a [numthreads] attribute that could be read"
        );
        if self.args.entry.is_some() {
            kernel::entry(&unit.shader, path, self.args.entry.as_deref())?;
        }
        self.settings_are_of(unit)
    }

    fn two_files(&mut self, first: &Path, second: &Path) -> Result<()> {
        let args = self.args;
        let read = |path: &Path| -> Result<(ProjectFile, TranslationUnit)> {
            let file = ProjectFile::read(path, &args.source)?;
            let unit = file.unit(&file.text);
            Ok((file, unit))
        };
        let ((file, flagged), (other_text, mut other)) = (read(first)?, read(second)?);
        // The files may declare the same builds in different orders.
        let [(default, builds), (other_default, other_builds)] = [&file, &other_text].map(builds_of);
        if builds == other_builds && default != other_default {
            other = other_text.unit_under(&other_text.text, &default);
        }
        let units = [&flagged, &other];
        self.unread += units.iter().filter(|unit| !unit.problems.is_empty()).count();
        let pair = || -> Result<Pair> {
            for unit in units {
                ensure!(
                    !unit.shader.is_refused,
                    "{} reaches an `#error`, at which every compiler stops; use -D to define what the build \
                     defines",
                    kernel::path(unit)
                );
            }
            self.settings_are_of(&flagged)?;
            let pair = other_file(args.entry.as_deref(), &flagged, &other)?;
            interface::check(&flagged, &other, &pair)?;
            Ok(pair)
        };
        let pair = pair().map_err(|error| self.as_read(&units, error))?;
        let settings = Settings::of_file(first, &flagged.shader, &args.set)?;
        let texts = Texts {
            flagged: &file.text,
            fixed: &other_text.text,
        };
        let files = Files {
            flagged: &flagged,
            fixed: &other,
            texts,
        };
        let second = (&other_text, &other_text.text[..]);
        let names = Names {
            flagged: &pair.name,
            fixed: &pair.other,
        };
        let others = self.in_other_configurations(&file, &file.text, second, Some(names))?;
        self.one_pair(&files, &pair, others.of(&pair.name), &settings)?;
        self.pairs_of_others(&others, &[&pair.name], texts, &settings)?;
        self.print_unread(&units)
    }

    /// The error, which may follow from files that were not read in full. In that case, shows the problems first.
    fn as_read(&self, units: &[&TranslationUnit], error: Error) -> Error {
        let unread = units.iter().filter(|unit| !unit.problems.is_empty());
        let names: Vec<&str> = unread.map(|unit| kernel::path(unit)).collect();
        if names.is_empty() {
            return error;
        }
        self.show_problems(units);
        anyhow!(
            "{} not read in full; in the part that was read, {}",
            names.join(" and "),
            error_text::of_error(&error)
        )
    }

    /// Reports problems in files that the user named: at their places if they may be the reason for a missing proof.
    fn print_unread(&self, units: &[&TranslationUnit]) -> Result<()> {
        if self.is_all_proved() {
            let show = || units.iter().for_each(|unit| unit.print_choices());
            self.progress.aside(show);
            return self.print_unread_count();
        }
        self.show_problems(units);
        Ok(())
    }

    fn show_problems(&self, units: &[&TranslationUnit]) {
        self.progress
            .aside(|| units.iter().for_each(|unit| unit.print_problems()));
    }

    fn is_all_proved(&self) -> bool {
        self.known.iter().all(|one| one.verdict.kind.is_equivalent())
    }

    /// Checks that the uniforms of `--set` can be set.
    fn settings_are_of(&self, unit: &TranslationUnit) -> Result<()> {
        for (name, numbers) in &self.args.set {
            if let Some(why) = kernel_toml::unsettable(&unit.shader, name, numbers) {
                bail!("--set {name}: {}: {}", kernel::path(unit), why.message);
            }
        }
        Ok(())
    }

    /// The pairs to compare in each configuration of either file except the default one, from `file` and the other
    /// file, or from `file` and its own fixed text. With two files, these are the kernels of `names`, and the other
    /// kernels of the first file unless the user names one.
    ///
    /// # Errors
    ///
    /// Fails if in one of these configurations a host could not provide the same to both kernels: then a comparison
    /// is impossible, as it would be in the default configuration.
    fn in_other_configurations(
        &self,
        file: &ProjectFile,
        text: &[u8],
        other: (&ProjectFile, &[u8]),
        names: Option<Names<'_>>,
    ) -> Result<Others> {
        let entry = self.args.entry.as_deref();
        let second_path = other.0.path.display();
        let files = [(file, text), other]
            .into_iter()
            .take(if names.is_none() { 1 } else { 2 });
        let mut all: Vec<Other> = Vec::new();
        let mut unread = BTreeSet::new();
        let mut seen: Vec<Vec<Define>> = Vec::new();
        let mut declared: Vec<Declared> = Vec::new();
        for (of, text_of) in files {
            let (path, search) = (of.path.display().to_string(), of.search());
            let text_of = text_of.into();
            let (configurations, default) = Configurations::of(&path, &text_of, &of.project, &search);
            seen.push(default.defines.clone());
            declared.extend(names.map(|names| Declared::by(&configurations, &default, names.flagged)));
            let mut others = configurations.others(&default);
            // Only compute shaders are compared, even if the file is also compiled for other stages.
            let stage =
                |defines: &[Define]| { defines.iter() }.find(|(name, _)| name == TARGET_STAGE).cloned();
            others.retain(|other| stage(&other.defines) == stage(&default.defines));
            let read: Vec<&Configuration> = std::iter::once(&default).chain(&others).collect();
            unread.append(&mut configurations.unread(&read));
            for configuration in others {
                let Configuration { name, defines, .. } = configuration;
                if seen.contains(&defines) {
                    continue;
                }
                seen.push(defines.clone());
                let flagged = file.unit_under(text, &defines);
                let fixed = other.0.unit_under(other.1, &defines);
                // Neither file can be compiled in this configuration.
                if flagged.shader.is_refused && fixed.shader.is_refused {
                    continue;
                }
                let label = name.label().unwrap_or_default();
                let is_compiled = |kernel: &str| match name.kernels() {
                    Some(kernels) => kernels.iter().any(|one| one == kernel),
                    None => configurations.builds(kernel, &defines, || true),
                };
                let mut pairs = if let Some(names) = names {
                    let more = flagged.shader.entry_points().map(|(_, function)| &*function.name);
                    let more = more.filter(|name| entry.is_none() && *name != names.flagged);
                    let alike = |name| Names {
                        flagged: name,
                        fixed: name,
                    };
                    let all = std::iter::once(names).chain(more.map(alike));
                    let compiled = all.filter(|names| is_compiled(names.flagged));
                    let pairs = compiled.filter_map(|names| one_pair_of(names, &flagged, &fixed).transpose());
                    pairs
                        .collect::<Result<Vec<Pair>>>()
                        .map_err(|error| anyhow!("{label}, {}", error_text::of_error(&error)))?
                } else {
                    let own = fixed_file(entry, file, &flagged, &defines);
                    // If the fixes are the same, the pairs know which of them refine.
                    if own.text == other.1 {
                        own.pairs
                    } else {
                        changed_kernels(entry, &flagged, &fixed, None, &[])
                    }
                };
                pairs.retain(|pair: &Pair| is_compiled(&pair.name));
                if !pairs.is_empty() {
                    all.push(Other {
                        label,
                        flagged,
                        fixed,
                        pairs,
                    });
                }
            }
        }
        if let [one, other] = declared.as_slice()
            && one.is_another(other)
        {
            bail!(
                "the two files declare different builds: {} in {}, and {} in {}",
                one.said,
                file.path.display(),
                other.said,
                second_path,
            );
        }
        Ok(Others { read: all, unread })
    }

    fn one_pair(
        &mut self,
        files: &Files<'_>,
        pair: &Pair,
        others: InOthers,
        settings: &Settings,
    ) -> Result<()> {
        let is_timed = !self.args.no_timing;
        let devices = self.devices()?;
        let (evidence, trial) = gather(files, pair, others, devices, settings, is_timed, &self.progress);
        if self.args.output_format == ResultFormat::Full {
            let style = Style::of_stdout(ColorChoice::Auto);
            let text = if self.args.quiet {
                text::one_line(&evidence, style)
            } else {
                text::render(&evidence, style)
            };
            self.print(&text)?;
        }
        if self.args.report.is_some() {
            self.page.add(&evidence, trial.as_deref());
        }
        self.known.push(evidence);
        Ok(())
    }

    /// Reports how many files were not read in full: fewer findings mean less then.
    fn print_unread_count(&self) -> Result<()> {
        let files = match self.unread {
            0 => return Ok(()),
            1 => "1 file".to_owned(),
            more => format!("{more} files"),
        };
        self.print(&format!(
            "{files} not read in full (`shaderlint --verbose` says why)\n"
        ))
    }

    /// Prints text for people.
    fn print(&self, text: &str) -> Result<()> {
        match self.args.output_format {
            ResultFormat::Full => self.progress.print(text),
            ResultFormat::Json => Ok(()),
        }
    }

    fn finish(self) -> Result<Outcome> {
        let args = self.args;
        if args.output_format == ResultFormat::Json {
            let mut text = serde_json::to_vec_pretty(&Output {
                version: env!("CARGO_PKG_VERSION"),
                kernels: &self.known,
            })?;
            text.push(b'\n');
            terminal::print(&text)?;
        }
        let could_run = self.known.iter().all(Evidence::was_run);
        let (is_all_proved, could_not) = (self.is_all_proved(), self.could_not);
        if let Some(path) = &args.report {
            std::fs::write(path, self.page.html()?).with_context(|| path.display().to_string())?;
        }
        Ok(if !is_all_proved {
            Outcome::Findings
        } else if could_not || (args.require_gpu && !could_run) {
            Outcome::Failure
        } else {
            Outcome::Clean
        })
    }
}
