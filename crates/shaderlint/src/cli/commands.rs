//! Arguments of the small commands.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

use super::SourceArgs;

#[derive(Debug, ClapArgs)]
pub(crate) struct InitArgs {
    /// Folder of the project [default: .]
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// Print the file instead of writing it
    #[arg(long)]
    pub stdout: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RulesArgs {
    /// The format of the rules
    #[arg(
        long,
        value_enum,
        default_value = "text",
        value_name = "FORMAT",
        hide_possible_values = true,
        help = "text or json [default: text]",
        hide_default_value = true
    )]
    pub output_format: ListFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    Text,
    Json,
}

/// Arguments of `shaderlint preprocess`.
#[derive(Debug, ClapArgs)]
pub(crate) struct PreprocessArgs {
    /// The HLSL file
    pub file: PathBuf,
    /// Mark where lines come from with #line directives
    #[arg(long)]
    pub origins: bool,
    /// Use the definitions of this variant of the configuration
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    #[command(flatten)]
    pub source: SourceArgs,
}

/// Arguments of `shaderlint wgsl`.
#[cfg(feature = "gpu")]
#[derive(Debug, ClapArgs)]
pub(crate) struct WgslArgs {
    /// The HLSL file
    pub file: PathBuf,
    /// The entry point, if the file has several
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// Write `enable subgroups;`, which browsers and Tint require
    #[arg(long)]
    pub enable_subgroups: bool,
    #[command(flatten)]
    pub source: SourceArgs,
}
