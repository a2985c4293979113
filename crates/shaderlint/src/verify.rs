//! `shaderlint verify`: are the fixed kernels the flagged ones, by proof, interpreted and on every GPU there is?
//!
//! [`pair`] says which kernels are compared, [`gather`] finds out what is known of them; that is [`evidence`], which
//! [`text`] and [`page`] show.

mod evidence;
mod gather;
mod interface;
pub(crate) mod kernel_toml;
mod page;
mod pair;
mod progress;
mod proof;
mod record;
mod text;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use serde::Serialize;
use shaderlint_verify::run::{Adapter, adapters};

use self::evidence::Evidence;
use self::gather::{Files, gather};
use self::kernel_toml::Settings;
use self::page::Page;
use self::pair::{Pair, fixed_file, other_file};
pub(crate) use self::progress::Progress;
use crate::args::{ColorChoice, SourceArgs};
use crate::config::Projects;
use crate::includes::Files as Sources;
use crate::lint::{self, OneFile, Unit};
use crate::terminal::Style;
use crate::walk::{self, Asked};
use crate::{Outcome, kernel, terminal, write};

/// Arguments of `shaderlint verify`.
#[derive(Debug, clap::Args)]
pub(crate) struct VerifyArgs {
    /// An HLSL file, or a folder of them
    pub path: PathBuf,
    /// Compare with the kernel in this file instead of with the fixed one
    pub other: Option<PathBuf>,
    /// The entry point, where a file has several
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// What a uniform is, e.g. Count=100; else it is sampled
    #[arg(long, value_name = "NAME=VALUE", value_parser = kernel_toml::setting)]
    pub set: Vec<(String, Vec<f64>)>,
    /// Run on this adapter only (a part of its name)
    #[arg(long, value_name = "NAME")]
    pub adapter: Option<String>,
    /// Compare results only
    #[arg(long)]
    pub no_timing: bool,
    /// Fail (exit 2) where no adapter could run the kernels
    #[arg(long)]
    pub require_gpu: bool,
    /// How results are printed
    #[arg(
        long,
        value_enum,
        default_value = "full",
        value_name = "FORMAT",
        hide_possible_values = true,
        help = "full or json [default: full]",
        hide_default_value = true
    )]
    pub output_format: Format,
    /// Write a page for a browser
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Measure what each evidence.json below the folder names, and write it there
    #[arg(long, conflicts_with_all = ["other", "entry", "set", "no_timing", "report"])]
    pub evidence: bool,
    /// No progress, and a line for each kernel only
    #[arg(short, long)]
    pub quiet: bool,
    #[command(flatten)]
    pub source: SourceArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Full,
    Json,
}

/// What is printed for other programs.
#[derive(Serialize)]
struct Output<'a> {
    /// The program's.
    version: &'a str,
    kernels: &'a [Evidence],
}

pub(crate) fn run(args: &VerifyArgs) -> Result<Outcome> {
    let devices = chosen(args.adapter.as_deref())?;
    if let Some(path) = &args.report {
        write::is_writable(path)?;
    }
    if args.evidence {
        ensure!(!devices.is_empty(), "there is no adapter to measure on");
        let progress = Progress::new(args.quiet);
        let all_alike = record::record(&args.path, &args.source, &devices, &progress);
        progress.clear();
        return Ok(if all_alike? {
            Outcome::Clean
        } else {
            Outcome::Findings
        });
    }
    let mut verification = Verification {
        args,
        devices,
        progress: Progress::new(args.quiet),
        known: Vec::new(),
        page: Page::default(),
        could_not: false,
        unread: 0,
    };
    let done = verification.run();
    verification.progress.clear();
    done?;
    verification.finish()
}

/// The adapters to run on.
pub(crate) fn chosen(name: Option<&str>) -> Result<Vec<Adapter>> {
    let all = adapters();
    let Some(name) = name else { return Ok(all) };
    let names: Vec<String> = all.iter().map(|adapter| adapter.info.name.clone()).collect();
    let wanted = name.to_lowercase();
    let is_wanted = |adapter: &Adapter| adapter.info.name.to_lowercase().contains(&wanted);
    let chosen: Vec<Adapter> = all.into_iter().filter(is_wanted).collect();
    if chosen.is_empty() {
        match names.as_slice() {
            [] => bail!("no adapter is called `{name}`: there is none at all"),
            names => bail!("no adapter is called `{name}`; there are {}", names.join(", ")),
        }
    }
    Ok(chosen)
}

/// A run of the program.
struct Verification<'a> {
    args: &'a VerifyArgs,
    devices: Vec<Adapter>,
    progress: Progress,
    known: Vec<Evidence>,
    page: Page,
    /// Something could not be looked at.
    could_not: bool,
    /// Files in which something was not understood.
    unread: usize,
}

impl Verification<'_> {
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
            let found = self.one_file(&args.path)?;
            if found == 0 {
                let nothing = format!("{}: no kernel has a finding with a fix\n", args.path.display());
                self.say(&nothing)?;
                self.say_unread()?;
            }
            return Ok(());
        }
        let mut projects = Projects::new(&args.source);
        let mut is_shader = |path: &Path| match projects.of(path) {
            Ok(project) => project.includes(path) && !project.excludes(path),
            // What is wrong with it is said when the file is read.
            Err(_) => walk::is_shader(path),
        };
        let (inputs, problems) = walk::walk(&[(args.path.clone(), Asked::Found)], &mut is_shader);
        let sources = Sources::new(Vec::new(), &[]);
        for problem in problems {
            terminal::complain(&problem);
            self.could_not = true;
        }
        let (mut files, mut found) = (0, 0);
        for input in inputs
            .iter()
            .filter(|input| lint::may_have_entry(&sources, &input.path))
        {
            files += 1;
            match self.one_file(&input.path) {
                Ok(pairs) => found += pairs,
                // The others are still looked at.
                Err(error) => {
                    self.progress.clear();
                    terminal::complain(&format!("{error:#}"));
                    self.could_not = true;
                }
            }
        }
        if found == 0 {
            let folder = args.path.display();
            self.say(&format!(
                "{folder}: no kernel has a finding with a fix, in {files} files\n"
            ))?;
        }
        self.say_unread()?;
        ensure!(files > 0, "{}: no file has a kernel", args.path.display());
        Ok(())
    }

    /// How many kernels of the file have a fix.
    fn one_file(&mut self, path: &Path) -> Result<usize> {
        let args = self.args;
        let file = OneFile::read(path, &args.source)?;
        let flagged = file.unit(&file.text);
        let is_one = !args.path.is_dir();
        self.unread += usize::from(!flagged.problems.is_empty());
        if is_one && flagged.shader.entry_points().next().is_none() {
            self.say_unread()?;
            bail!(
                "{}: no function has a [numthreads] attribute that could be read",
                path.display()
            );
        }
        if let (Some(wanted), true) = (&args.entry, is_one) {
            kernel::entry(&flagged.shader, kernel::path(&flagged), Some(wanted))?;
        }
        if is_one {
            self.settings_are_of(&flagged)?;
        }
        let settings = Settings::of_file(path, &flagged.shader, &args.set)?;
        let (fixed, fixed_text, pairs) = fixed_file(args.entry.as_deref(), &file, &flagged);
        if !is_one && !pairs.is_empty() && args.output_format == Format::Full {
            self.say(&format!("{}\n", path.display()))?;
        }
        let files = Files {
            flagged: &flagged,
            fixed: &fixed,
            flagged_text: &file.text,
            fixed_text: &fixed_text,
        };
        for pair in &pairs {
            self.one_pair(&files, pair, &settings)?;
        }
        Ok(pairs.len())
    }

    fn two_files(&mut self, first: &Path, second: &Path) -> Result<()> {
        let args = self.args;
        let read = |path: &Path| -> Result<(OneFile, Unit)> {
            let file = OneFile::read(path, &args.source)?;
            let unit = file.unit(&file.text);
            Ok((file, unit))
        };
        let ((file, flagged), (other_text, other)) = (read(first)?, read(second)?);
        self.settings_are_of(&flagged)?;
        let pair = other_file(args.entry.as_deref(), &flagged, &other)?;
        interface::check(&flagged, &other, &pair)?;
        let settings = Settings::of_file(first, &flagged.shader, &args.set)?;
        let files = Files {
            flagged: &flagged,
            fixed: &other,
            flagged_text: &file.text,
            fixed_text: &other_text.text,
        };
        self.one_pair(&files, &pair, &settings)
    }

    /// Whether what is set can be.
    fn settings_are_of(&self, unit: &Unit) -> Result<()> {
        for (name, numbers) in &self.args.set {
            if let Some(why) = kernel_toml::unsettable(&unit.shader, name, numbers) {
                bail!("--set {name}: {}: {why}", kernel::path(unit));
            }
        }
        Ok(())
    }

    fn one_pair(&mut self, files: &Files<'_>, pair: &Pair, settings: &Settings) -> Result<()> {
        let is_timed = !self.args.no_timing;
        let (evidence, trial) = gather(files, pair, &self.devices, settings, is_timed, &self.progress);
        if self.args.output_format == Format::Full {
            let style = Style::of_stdout(ColorChoice::Auto);
            let text = if self.args.quiet {
                text::one_line(&evidence, style)
            } else {
                text::render(&evidence, style)
            };
            self.say(&text)?;
        }
        if self.args.report.is_some() {
            self.page.add(&evidence, trial.as_deref());
        }
        self.known.push(evidence);
        Ok(())
    }

    /// Where not all was understood, silence says less.
    fn say_unread(&self) -> Result<()> {
        let files = match self.unread {
            0 => return Ok(()),
            1 => "1 file".to_owned(),
            more => format!("{more} files"),
        };
        self.say(&format!(
            "{files} not read in full (`shaderlint --verbose` says why)\n"
        ))
    }

    /// Prints for people.
    fn say(&self, text: &str) -> Result<()> {
        match self.args.output_format {
            Format::Full => self.progress.print(text),
            Format::Json => Ok(()),
        }
    }

    fn finish(self) -> Result<Outcome> {
        let args = self.args;
        if args.output_format == Format::Json {
            let mut text = serde_json::to_vec_pretty(&Output {
                version: env!("CARGO_PKG_VERSION"),
                kernels: &self.known,
            })?;
            text.push(b'\n');
            terminal::print(&text)?;
        }
        if let Some(path) = &args.report {
            std::fs::write(path, self.page.html()?).with_context(|| path.display().to_string())?;
        }
        let is_equal = self.known.iter().all(|one| one.verdict.kind.is_equivalent());
        let could_run = self.known.iter().all(Evidence::was_run);
        Ok(if !is_equal {
            Outcome::Findings
        } else if self.could_not || (args.require_gpu && !could_run) {
            Outcome::Failure
        } else {
            Outcome::Clean
        })
    }
}
