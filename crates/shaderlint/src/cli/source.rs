//! The arguments that decide how files are read.

use std::path::PathBuf;

use clap::Args;
use shaderlint_hlsl::Version;
use shaderlint_linter::ShaderModel;

use crate::support::definition::definition;
use crate::support::target::{hlsl_version, profile};

/// How source files become translation units.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct SourceArgs {
    /// Define a macro (as 1 without a value)
    #[arg(short = 'D', long = "define", value_name = "NAME[=VALUE]", value_parser = definition)]
    pub defines: Vec<(String, String)>,
    /// Folder in which to look for included files
    #[arg(short = 'I', long = "include", value_name = "DIR")]
    pub include_dirs: Vec<PathBuf>,
    /// Shader model of the build, e.g. cs_6_6
    #[arg(long, value_name = "PROFILE", value_parser = profile)]
    pub profile: Option<ShaderModel>,
    /// Version of HLSL, as -HV of DXC: 2016, 2017, 2018, 2021 or 202x
    #[arg(long, value_name = "VERSION", value_parser = hlsl_version)]
    pub hlsl_version: Option<Version>,
    /// Configuration file to use instead of those found
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Ignore configuration files
    #[arg(long, conflicts_with = "config")]
    pub isolated: bool,
}
