//! The command line's grammar.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{ArgAction, Args as ClapArgs, Parser, Subcommand, ValueEnum};

use crate::config::{RuleArgs, RuleId, SourceArgs};
use crate::report::{Detail, OutputFormat};
use crate::terminal::ColorChoice;
use crate::variants::DiskCache;

const EXAMPLES: &str = "\
Examples:
  shaderlint                             Look at every shader below this folder
  shaderlint 'src/**/*.hlsl' -I include  Find headers in include/
  shaderlint --diff scan.hlsl            Show what --fix would change
  shaderlint --fix shaders               Change it
  shaderlint explain groupshared-race    What the rule finds, why, what to do

Exit status: 0 nothing found, 1 findings, 2 could not do the job.
A finding is allowed by `// shaderlint: allow(rule-id): reason` on its line or
the line before, or by `// shaderlint: allow-file(rule-id): reason`.";

/// Proves what HLSL compute shaders compute, and says where they race or scan by hand
#[derive(Debug, Parser)]
#[command(
    name = "shaderlint",
    version,
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    max_term_width = 100
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub check: CheckArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Look for findings, as without a command
    Check(Box<CheckArgs>),
    /// Write a first shaderlint.toml
    Init(crate::init::InitArgs),
    /// Print a rule's page
    Explain {
        /// The rule's id, e.g. groupshared-race; without one the rules are listed
        #[arg(value_name = "RULE", value_parser = RuleId, hide_possible_values = true)]
        rule: Option<String>,
    },
    /// List the rules
    Rules(crate::rules::RulesArgs),
    /// Print a file as the parser sees it
    Preprocess(crate::preprocess::PreprocessArgs),
    /// Translate a kernel to WGSL
    #[cfg(feature = "gpu")]
    Wgsl(crate::wgsl::WgslArgs),
    #[cfg(feature = "gpu")]
    /// Prove and run a file's fixes against the kernels they replace
    Verify(crate::verify::VerifyArgs),
    /// Check and time device-wide scans or reductions on every adapter
    #[cfg(feature = "gpu")]
    Bench(crate::bench::BenchArgs),
    /// Serve an editor on standard input and output (LSP)
    Server {
        /// Editors say so to servers that have several ways
        #[arg(long, hide = true)]
        stdio: bool,
    },
    /// Print what a shell needs to complete our arguments
    Completions {
        /// bash, elvish, fish, powershell or zsh
        #[arg(value_enum, value_name = "SHELL", hide_possible_values = true)]
        shell: clap_complete::Shell,
    },
    /// Print a manual page, in roff, or write all of them
    Man {
        /// Of this command, rather than of shaderlint
        #[arg(value_name = "COMMAND")]
        command: Option<String>,
        /// Write all pages to this folder
        #[arg(long, value_name = "DIR", conflicts_with = "command")]
        output_dir: Option<PathBuf>,
    },
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub files: FileArgs,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten, next_help_heading = "Rules")]
    pub rules: RuleArgs,
    #[command(flatten)]
    pub baseline: BaselineArgs,
    #[command(flatten)]
    pub cache: CacheArgs,
    #[command(flatten)]
    pub fixes: FixArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

impl Args {
    /// What holds for looking at shaders, with the command or without one.
    pub fn check(&self) -> &CheckArgs {
        match &self.command {
            Some(Command::Check(check)) => check,
            _ => &self.check,
        }
    }
}

/// Which files are looked at.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Files")]
pub(crate) struct FileArgs {
    /// Files, folders and patterns; `-` for standard input [default: .]
    #[arg(value_name = "PATH", help_heading = None::<&str>)]
    pub paths: Vec<PathBuf>,
    /// Also the files that are listed in this one, a line each; `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub files_from: Option<PathBuf>,
    /// Only what changed since the branch left this revision, and what includes that
    #[arg(long, value_name = "REV")]
    pub changed_since: Option<String>,
    /// Look at so many files at a time [default: as many as there are cores]
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Leave excluded files out even if they are named
    #[arg(long)]
    pub force_exclude: bool,
    /// What `-` is called: tells where its headers and its configuration are
    #[arg(long, value_name = "FILE")]
    pub stdin_filename: Option<PathBuf>,
    /// Look again whenever a file changes
    #[arg(long, conflicts_with_all = ["write_baseline", "add_allow", "stdin_filename"])]
    pub watch: bool,
    /// Print the files that would be looked at
    #[arg(long, conflicts_with = "watch")]
    pub show_files: bool,
    /// Print the settings that apply to a file
    #[arg(long, value_name = "FILE", conflicts_with = "show_files")]
    pub show_settings: Option<PathBuf>,
}

/// What is known already.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Rules")]
pub(crate) struct BaselineArgs {
    /// Hide findings that this baseline knows
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Put what is found in the baseline
    #[arg(long, conflicts_with_all = ["fix", "fix_only", "diff", "statistics"])]
    pub write_baseline: bool,
    /// Write comments into the files that allow what is found, for this reason
    #[arg(long, value_name = "REASON", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with_all = ["fix", "fix_only", "diff", "statistics", "write_baseline"])]
    pub add_allow: Option<String>,
}

/// What is kept for later runs.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Cache")]
pub(crate) struct CacheArgs {
    /// Read every file anew, and keep nothing of it for the next run
    #[arg(long)]
    pub no_cache: bool,
    /// Where that is kept [default: .shaderlint_cache in the project or repository]
    #[arg(long, value_name = "DIR")]
    pub cache_dir: Option<PathBuf>,
}

impl CacheArgs {
    /// What the arguments say, else what the environment says.
    pub fn cache(&self) -> DiskCache {
        let given = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let is_off = || given("SHADERLINT_NO_CACHE").is_some_and(|value| value != "0" && value != "false");
        let folder = || given("SHADERLINT_CACHE_DIR").map(PathBuf::from);
        if self.no_cache || self.cache_dir.is_none() && is_off() {
            return DiskCache::Off;
        }
        let folder = self.cache_dir.clone().or_else(folder);
        folder.map_or(DiskCache::Beside, DiskCache::In)
    }
}

/// What is done about findings.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Fixes")]
pub(crate) struct FixArgs {
    /// Apply safe fixes
    #[arg(long)]
    pub fix: bool,
    /// Show safe fixes as a diff, change nothing
    #[arg(long, conflicts_with = "fix")]
    pub diff: bool,
    /// Apply safe fixes, say nothing of the rest, and exit with 0
    #[arg(long, conflicts_with_all = ["diff", "statistics"])]
    pub fix_only: bool,
    /// With one of these: also those that are not safe
    #[arg(long)]
    pub unsafe_fixes: bool,
    /// With one of these: count the fixes by file and rule
    #[arg(long)]
    pub show_fixes: bool,
}

impl FixArgs {
    /// Whether files are changed.
    pub fn is_made(&self) -> bool {
        self.fix || self.fix_only
    }
}

/// How it is told.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// full, concise, json, sarif, github, gitlab or junit [default: full]
    #[arg(
        long,
        alias = "format",
        value_enum,
        value_name = "FORMAT",
        hide_possible_values = true
    )]
    pub output_format: Option<OutputFormat>,
    /// Write findings to a file
    #[arg(short, long, value_name = "FILE")]
    pub output_file: Option<PathBuf>,
    /// Count findings by rule instead of showing them
    #[arg(long, conflicts_with = "diff")]
    pub statistics: bool,
    /// auto, always or never [default: auto]
    #[arg(
        long,
        value_enum,
        default_value = "auto",
        value_name = "WHEN",
        hide_possible_values = true,
        hide_default_value = true
    )]
    pub color: ColorChoice,
    /// Exit with 0 if there are no errors and at most so many warnings
    #[arg(long, value_name = "N")]
    pub max_warnings: Option<usize>,
    /// Exit with 1 from warnings or from notes on [default: warnings]
    #[arg(
        long,
        value_enum,
        value_name = "LEVEL",
        hide_possible_values = true,
        conflicts_with = "max_warnings"
    )]
    pub deny: Option<Denied>,
    /// Also exit with 1 if a file is not understood in full, and say why, as -v does
    #[arg(long, conflicts_with = "quiet")]
    pub strict: bool,
    /// Exit with 0 even if there are findings
    #[arg(long)]
    pub exit_zero: bool,
    /// Print findings only
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Also say what could not be read or proved: one example per cause and file (-vv: all)
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,
}

impl OutputArgs {
    /// How much is said of what was not understood.
    pub fn detail(&self) -> Detail {
        match (self.quiet, self.verbose) {
            (true, _) => Detail::Nothing,
            (_, 0) if !self.strict => Detail::WhatMatters,
            (_, 0 | 1) => Detail::Examples,
            _ => Detail::Everything,
        }
    }
}

/// The arguments with `--hlsl-version` in the place of DXC's `-HV`, which is two short options to our parser.
pub(crate) fn spelled_out(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut are_options = true;
    let spelled_out = |argument: OsString| {
        are_options &= argument != "--";
        match argument.to_str().and_then(|text| text.strip_prefix("-HV")) {
            Some("") if are_options => "--hlsl-version".into(),
            Some(version) if are_options => {
                format!("--hlsl-version={}", version.strip_prefix('=').unwrap_or(version)).into()
            }
            _ => argument,
        }
    };
    arguments.into_iter().map(spelled_out).collect()
}

/// The least that fails a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Denied {
    Warnings,
    #[value(alias = "info")]
    Notes,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use shaderlint_hlsl::Version;

    use super::*;

    #[test]
    fn the_grammar_is_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn the_version_is_spelled_as_dxc_has_it() {
        let version = |arguments: &[&str]| {
            let arguments = ["shaderlint"].iter().chain(arguments).map(OsString::from);
            let parsed = Args::try_parse_from(spelled_out(arguments));
            parsed.map(|args| (args.check.source.hlsl_version, args.check.files.paths.len()))
        };
        for arguments in [
            &["-HV", "2018", "a.hlsl"][..],
            &["-HV2018", "a.hlsl"],
            &["-HV=2018", "a.hlsl"],
            &["--hlsl-version", "2018", "a.hlsl"],
        ] {
            assert_eq!(
                version(arguments).ok(),
                Some((Some(Version::V2018), 1)),
                "{arguments:?}"
            );
        }
        assert_eq!(version(&["--", "-HV", "2018"]).ok(), Some((None, 2)));
        assert_eq!(version(&["-HV", "202x"]).ok(), Some((Some(Version::V202x), 0)));
        assert!(version(&["-HV"]).is_err());
    }
}
