//! The command line: the arguments of every command, and the exit status.

#[cfg(feature = "gpu")]
mod bench;
mod check;
mod commands;
mod outcome;
mod rule_selection;
mod source;
#[cfg(feature = "gpu")]
mod verify;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

#[cfg(feature = "gpu")]
pub(crate) use bench::{BenchArgs, Sizes, decades};
pub(crate) use check::{CacheArgs, CheckArgs, Denied, Detail, FileArgs, OutputFormat};
#[cfg(feature = "gpu")]
pub(crate) use commands::WgslArgs;
pub(crate) use commands::{InitArgs, ListFormat, PreprocessArgs, RulesArgs};
pub(crate) use outcome::Outcome;
use rule_selection::RuleId;
pub(crate) use rule_selection::{RuleArgs, rule_or_category};
pub(crate) use source::SourceArgs;
#[cfg(feature = "gpu")]
pub(crate) use verify::{ResultFormat, VerifyArgs};

const EXAMPLES: &str = "\
Examples:
  shaderlint                             Check every shader below this folder
  shaderlint 'src/**/*.hlsl' -I include  Find headers in include/
  shaderlint --diff scan.hlsl            Show what --fix would change
  shaderlint --fix shaders               Apply the fixes
  shaderlint explain groupshared-race    What the rule finds, why, what to do

Exit status: 0 nothing found, 1 findings, 2 could not do the job.
To allow a finding, write `// shaderlint: allow(rule-id): reason` on its line or
the line before, or `// shaderlint: allow-file(rule-id): reason` for the file.";

/// Proves what HLSL compute shaders compute, and reports their data races and hand-rolled scans
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
    /// Check files (the default command)
    Check(Box<CheckArgs>),
    /// Write an initial shaderlint.toml
    Init(InitArgs),
    /// Print a rule's page
    Explain {
        /// The rule's id, e.g. groupshared-race; without one, list the rules
        #[arg(value_name = "RULE", value_parser = RuleId, hide_possible_values = true)]
        rule: Option<String>,
    },
    /// List the rules
    Rules(RulesArgs),
    /// Print a file as the parser sees it
    Preprocess(PreprocessArgs),
    /// Translate a kernel to WGSL
    #[cfg(feature = "gpu")]
    Wgsl(WgslArgs),
    #[cfg(feature = "gpu")]
    /// Prove and run a file's fixes against the kernels they replace
    Verify(VerifyArgs),
    /// Check and time device-wide scans or reductions on every adapter
    #[cfg(feature = "gpu")]
    Bench(BenchArgs),
    /// Serve an editor on standard input and output (LSP)
    Server {
        /// Ignored; editors pass it to choose a transport
        #[arg(long, hide = true)]
        stdio: bool,
    },
    /// Print a shell completion script
    Completions {
        /// bash, elvish, fish, powershell or zsh
        #[arg(value_enum, value_name = "SHELL", hide_possible_values = true)]
        shell: clap_complete::Shell,
    },
    /// Print a manual page in roff, or write all of them
    Man {
        /// The page of this command instead of shaderlint's
        #[arg(value_name = "COMMAND")]
        command: Option<String>,
        /// Write all pages to this folder
        #[arg(long, value_name = "DIR", conflicts_with = "command")]
        output_dir: Option<PathBuf>,
    },
}

impl Args {
    /// The arguments of `check`, whether the command is written or not.
    pub fn check(&self) -> &CheckArgs {
        match &self.command {
            Some(Command::Check(check)) => check,
            _ => &self.check,
        }
    }
}

/// Replaces DXC's `-HV` by `--hlsl-version`: our parser would read two short options.
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
