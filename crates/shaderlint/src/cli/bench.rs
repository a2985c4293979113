//! Arguments of `shaderlint bench`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::{ResultFormat, SourceArgs};

/// Arguments of `shaderlint bench`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Exit code: 0 if every result is right, 1 if one is not, 2 if something could not run.
For the format of pipeline.toml, and for the systems, see https://github.com/shaderlint/shaderlint/blob/main/docs/pipelines.md")]
pub(crate) struct BenchArgs {
    /// scan, reduction, or a folder with a pipeline.toml in or below it
    pub what: PathBuf,
    /// Numbers of elements, e.g. 1e3..1e8 or 1000,4097
    #[arg(long, value_name = "N", value_parser = sizes)]
    pub n: Option<Sizes>,
    /// Run on this adapter only (a part of its name)
    #[arg(long, value_name = "NAME")]
    pub adapter: Option<String>,
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
    /// Write the plots
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
    /// Show no progress
    #[arg(short, long)]
    pub quiet: bool,
    #[command(flatten)]
    pub source: SourceArgs,
}

/// Numbers of elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sizes(pub Vec<u64>);

/// The most elements that one may ask for: the places of their sums are 32-bit words.
const MOST: u64 = 1 << 31;

pub(crate) fn decades(from: u64, to: u64) -> Sizes {
    let powers = std::iter::successors(Some(from), |n| n.checked_mul(10));
    Sizes(powers.take_while(|n| *n <= to).collect())
}

/// Parses `1000`, `1e3,1e4` or `1e3..1e8`, which goes up by factors of ten.
fn sizes(text: &str) -> Result<Sizes, String> {
    let Some((from, to)) = text.split_once("..") else {
        return text.split(',').map(size).collect::<Result<_, _>>().map(Sizes);
    };
    let (from, to) = (size(from)?, size(to)?);
    if from == 0 || from > to {
        return Err("a range starts at 1 or more and goes up by factors of ten".to_owned());
    }
    Ok(decades(from, to))
}

fn size(text: &str) -> Result<u64, String> {
    let text = text.trim().replace('_', "");
    let number = match text.split_once(['e', 'E']) {
        None => text.parse().ok(),
        Some((digits, exponent)) => {
            let power = exponent
                .parse()
                .ok()
                .and_then(|exponent| 10u64.checked_pow(exponent));
            digits
                .parse::<u64>()
                .ok()
                .zip(power)
                .and_then(|(digits, power)| digits.checked_mul(power))
        }
    };
    match number {
        Some(number) if number <= MOST => Ok(number),
        Some(_) => Err(format!("{text} is more than {MOST}")),
        None => Err(format!("`{text}` is not a number of elements")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_numbers_lists_and_ranges() {
        let ok = |sizes: &[u64]| Ok(Sizes(sizes.to_vec()));
        assert_eq!(sizes("1000"), ok(&[1000]));
        assert_eq!(sizes("0, 1,2e3,1_000"), ok(&[0, 1, 2000, 1000]));
        assert_eq!(sizes("1e3..1e5"), ok(&[1000, 10_000, 100_000]));
        assert_eq!(sizes("3..50"), ok(&[3, 30]));
        assert_eq!(sizes("many"), Err("`many` is not a number of elements".into()));
        assert_eq!(
            sizes("1e10"),
            Err("10000000000 is more than 2147483648".replace("10000000000", "1e10"))
        );
        assert!(sizes("1e5..1e3").is_err() && sizes("0..10").is_err() && sizes("1e99").is_err());
    }
}
