//! Arguments of `shaderlint verify`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

use super::SourceArgs;

/// Arguments of `shaderlint verify`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
A kernel.toml beside the file sets the inputs of its kernels: `groups`, `set`,
`lengths` and `contents`, for all of them or by entry point. shaderlint samples
the inputs that neither kernel.toml nor --set gives. Details:
https://github.com/shaderlint/shaderlint/blob/main/docs/verification.md

Exit status: 0 everything is proved, 1 something is not, 2 could not do the job.")]
pub(crate) struct VerifyArgs {
    /// An HLSL file, or a folder of them
    pub path: PathBuf,
    /// Compare with the kernel in this file instead of with the fixed kernel
    pub other: Option<PathBuf>,
    /// The entry point, if a file has several
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// Set a uniform, e.g. Count=100 or Scale=0.5,2
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub set: Vec<(String, Vec<f64>)>,
    /// Run on this adapter only (a part of its name)
    #[arg(long, value_name = "NAME")]
    pub adapter: Option<String>,
    /// Compare results only
    #[arg(long)]
    pub no_timing: bool,
    /// Fail (exit status 2) if no adapter ran the kernels
    #[arg(long)]
    pub require_gpu: bool,
    /// The format of the results
    #[arg(
        long,
        value_enum,
        default_value = "full",
        value_name = "FORMAT",
        hide_possible_values = true,
        help = "full or json [default: full]",
        hide_default_value = true
    )]
    pub output_format: ResultFormat,
    /// Write a page for a browser
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Rewrite each evidence.json below the folder
    #[arg(long, conflicts_with_all = ["other", "entry", "set", "no_timing", "report"])]
    pub evidence: bool,
    /// Show no progress, and one line per kernel
    #[arg(short, long)]
    pub quiet: bool,
    #[command(flatten)]
    pub source: SourceArgs,
}

/// The format of the results of `verify` and `bench`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ResultFormat {
    Full,
    Json,
}

/// Parses `NAME=VALUE[,VALUE]…`.
fn setting(argument: &str) -> Result<(String, Vec<f64>), String> {
    let (name, values) = argument
        .split_once('=')
        .ok_or("write a uniform and its value, as in `Count=100`")?;
    let numbers: Result<Vec<f64>, String> = values.split(',').map(number).collect();
    if name.trim().is_empty() {
        return Err("which uniform?".to_owned());
    }
    Ok((name.trim().to_owned(), numbers?))
}

fn number(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let number = match (text, hexadecimal) {
        ("true", _) => Some(1.0),
        ("false", _) => Some(0.0),
        (_, Some(digits)) => u32::from_str_radix(digits, 16).ok().map(f64::from),
        (_, None) => text.parse().ok(),
    };
    number.ok_or_else(|| format!("`{text}` is not a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_a_name_and_numbers() {
        assert_eq!(setting("Count=100"), Ok(("Count".into(), vec![100.0])));
        assert_eq!(
            setting("Scale = 0.5,-2, 0xff,true"),
            Ok(("Scale".into(), vec![0.5, -2.0, 255.0, 1.0]))
        );
        assert_eq!(setting("Count=many"), Err("`many` is not a number".into()));
        assert!(setting("Count").is_err());
    }
}
