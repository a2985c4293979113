//! `shaderlint bench`: device-wide scans and reductions on the same data, checked and timed beside a copy and the CPU.

mod systems;
mod text;

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use shaderlint_bench::{Measured, Measurement, chart, page};
use shaderlint_verify::run::Adapter;

use crate::cli::{BenchArgs, Outcome, ResultFormat, Sizes, decades};
use crate::commands::adapters::chosen;
use crate::support::progress::Progress;
use crate::support::terminal::{ColorChoice, Style};
use crate::support::{atomic_write, terminal};

/// The style sheet of the page of `shaderlint verify`.
const STYLE: &str = include_str!("../verify/page.css");

/// The output for other programs.
#[derive(Serialize)]
struct Output<'a> {
    /// shaderlint's version.
    version: &'a str,
    what: String,
    adapters: &'a [Measured],
}

pub(crate) fn run(args: &BenchArgs) -> Result<Outcome> {
    let systems = systems::systems(&args.what, &args.source)?;
    let adapters: Vec<Adapter> = chosen(args.adapter.as_deref())?;
    ensure!(!adapters.is_empty(), "there is no adapter to measure on");
    // Measuring takes minutes, so files that cannot be written are reported first.
    for path in [&args.report, &args.plot].into_iter().flatten() {
        atomic_write::is_writable(path)?;
    }
    let progress = Progress::new(args.quiet);
    let step = |of: &str, what: &str| progress.step(of, what);
    let style = Style::of_stdout(ColorChoice::Auto);
    let mut all = Vec::new();
    for adapter in &adapters {
        let sizes = args.n.clone().unwrap_or_else(|| default_sizes(adapter));
        let mut measurement = Measurement::new(adapter, &systems, &step);
        if args.output_format == ResultFormat::Full {
            progress.print(&text::heading(measurement.measured()))?;
        }
        for n in sizes.0 {
            let size = measurement.at(n);
            if args.output_format == ResultFormat::Full {
                progress.print(&text::table(size, style))?;
            }
            if measurement.is_stuck() {
                break;
            }
        }
        all.push(measurement.done());
    }
    progress.clear();
    if args.output_format == ResultFormat::Json {
        let mut text = serde_json::to_vec_pretty(&Output {
            version: env!("CARGO_PKG_VERSION"),
            what: args.what.display().to_string(),
            adapters: &all,
        })?;
        text.push(b'\n');
        terminal::print(&text)?;
    }
    let what = args.what.display().to_string();
    if let Some(path) = &args.report {
        std::fs::write(path, page::html(&what, STYLE, &all)).with_context(|| path.display().to_string())?;
    }
    if let Some(path) = &args.plot {
        std::fs::write(path, chart::svg(&all)).with_context(|| path.display().to_string())?;
    }
    Ok(if all.iter().any(Measured::is_wrong) {
        Outcome::Findings
    } else if all.iter().any(Measured::has_failed) {
        Outcome::Failure
    } else {
        Outcome::Clean
    })
}

/// A software rasteriser shows that pipelines run, not how fast.
fn default_sizes(adapter: &Adapter) -> Sizes {
    decades(1000, if adapter.info.is_cpu { 100_000 } else { 100_000_000 })
}
