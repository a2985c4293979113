//! Arguments of `shaderlint check`, and of `shaderlint` without a command.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{ArgAction, Args as ClapArgs, ValueEnum};

use super::{RuleArgs, SourceArgs};
use crate::support::terminal::ColorChoice;

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

/// Which files are looked at.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Files")]
pub(crate) struct FileArgs {
    /// Files, folders and patterns; `-` for standard input [default: .]
    #[arg(value_name = "PATH", help_heading = None::<&str>)]
    pub paths: Vec<PathBuf>,
    /// Also check the files listed in this file, one per line; `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub files_from: Option<PathBuf>,
    /// Check only files changed since the branch left this revision, and files that include them
    #[arg(long, value_name = "REV")]
    pub changed_since: Option<String>,
    /// Check this many files at a time [default: the number of cores]
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Skip excluded files even if they are named
    #[arg(long)]
    pub force_exclude: bool,
    /// The file name of `-`: says where its headers and configuration are
    #[arg(long, value_name = "FILE")]
    pub stdin_filename: Option<PathBuf>,
    /// Check again whenever a file changes
    #[arg(long, conflicts_with_all = ["write_baseline", "add_allow", "stdin_filename"])]
    pub watch: bool,
    /// Print the files that would be checked
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
    /// Hide the findings in this baseline
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Write the findings to the baseline
    #[arg(long, conflicts_with_all = ["fix", "fix_only", "diff", "statistics"])]
    pub write_baseline: bool,
    /// Allow each finding by a comment in its file, with this reason
    #[arg(long, value_name = "REASON", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with_all = ["fix", "fix_only", "diff", "statistics", "write_baseline"])]
    pub add_allow: Option<String>,
}

/// What is kept for later runs.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Cache")]
pub(crate) struct CacheArgs {
    /// Ignore the cache, and do not write to it
    #[arg(long)]
    pub no_cache: bool,
    /// The folder of the cache [default: .shaderlint_cache in the project or repository]
    #[arg(long, value_name = "DIR")]
    pub cache_dir: Option<PathBuf>,
}

/// What is done about findings.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Fixes")]
pub(crate) struct FixArgs {
    /// Apply safe fixes
    #[arg(long)]
    pub fix: bool,
    /// Show safe fixes as a diff, without changing files
    #[arg(long, conflicts_with = "fix")]
    pub diff: bool,
    /// Apply safe fixes, report no other findings, and exit with 0
    #[arg(long, conflicts_with_all = ["diff", "statistics"])]
    pub fix_only: bool,
    /// With --fix, --fix-only or --diff: include unsafe fixes
    #[arg(long)]
    pub unsafe_fixes: bool,
    /// With --fix, --fix-only or --diff: count the fixes by file and rule
    #[arg(long)]
    pub show_fixes: bool,
}

impl FixArgs {
    /// Whether fixes are written to the files.
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
    /// Exit with 0 if there are no errors and at most this many warnings
    #[arg(long, value_name = "N")]
    pub max_warnings: Option<usize>,
    /// The lowest level that makes the exit code 1: warnings or notes [default: warnings]
    #[arg(
        long,
        value_enum,
        value_name = "LEVEL",
        hide_possible_values = true,
        conflicts_with = "max_warnings"
    )]
    pub deny: Option<Denied>,
    /// Also exit with 1 if a file is not understood in full, and say why as -v does
    #[arg(long, conflicts_with = "quiet")]
    pub strict: bool,
    /// Exit with 0 even if there are findings
    #[arg(long)]
    pub exit_zero: bool,
    /// Print findings only
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Also report what could not be read or proved: one example per cause and file (-vv: all)
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,
}

impl OutputArgs {
    /// How much to report beside the findings.
    pub fn detail(&self) -> Detail {
        match (self.quiet, self.verbose) {
            (true, _) => Detail::Nothing,
            (_, 0) if !self.strict => Detail::WhatMatters,
            (_, 0 | 1) => Detail::Examples,
            _ => Detail::Everything,
        }
    }
}

/// The format of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    Full,
    Concise,
    Json,
    Sarif,
    Github,
    Gitlab,
    Junit,
}

/// How much to report beside the findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    Nothing,
    /// What kept entry points from being checked.
    WhatMatters,
    /// Also what was not understood, with one example per cause and file. Most of this has no consequences.
    Examples,
    Everything,
}

/// The lowest level that fails a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Denied {
    Warnings,
    #[value(alias = "info")]
    Notes,
}
