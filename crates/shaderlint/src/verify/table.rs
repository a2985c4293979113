//! What devices showed, as a table.

use shaderlint_hlsl::Scalar;
use shaderlint_verify::Lowered;
use shaderlint_verify::run::{AdapterInfo, Report, RunError, Spread};

/// One adapter and one way of timing.
pub(super) struct Row {
    adapter: String,
    wave: String,
    group: String,
    timed: String,
    /// `None` where the kernels could not be run.
    pub is_equal: Option<bool>,
    equal: String,
    /// Flagged, fixed, ratio, copy.
    times: Option<[String; 4]>,
}

impl Row {
    pub fn is_timed(&self) -> bool {
        self.times.is_some()
    }
}

const HEADINGS: [&str; 9] = [
    "adapter", "wave", "group", "equal?", "timed", "flagged", "fixed", "ratio", "copy",
];

pub(super) fn row(
    timed: &str,
    adapter: &AdapterInfo,
    kernel: &Lowered,
    report: Result<Report, RunError>,
) -> Row {
    let [x, y, z] = kernel.group_size;
    let mut row = Row {
        adapter: adapter.name.clone(),
        wave: match (adapter.wave_min, adapter.wave_max) {
            (min, max) if min == max => min.to_string(),
            (min, max) => format!("{min}–{max}"),
        },
        group: if y * z == 1 {
            x.to_string()
        } else {
            format!("{x}×{y}×{z}")
        },
        timed: timed.to_owned(),
        is_equal: None,
        equal: String::new(),
        times: None,
    };
    let report = match report {
        Ok(report) => report,
        Err(error) => {
            row.equal = format!("not run: {error}");
            return row;
        }
    };
    if let Some(waves) = &report.waves {
        row.wave = waves.max.to_string();
    }
    row.is_equal = Some(report.comparison.is_match());
    row.equal = match &report.comparison.first {
        None if report.comparison.is_match() => "yes".to_owned(),
        None => "nothing was written".to_owned(),
        Some(first) => format!(
            "NO: {}[{}] is {}, should be {}; {} of {} differ",
            first.binding,
            first.element,
            word(first.scalar, first.got),
            word(first.scalar, first.expected),
            report.comparison.differing,
            report.comparison.words,
        ),
    };
    row.times = report.timing.map(|timing| {
        // A ratio within the spread of either kernel's runs says nothing.
        let overlap =
            timing.flagged.min_ms <= timing.fixed.max_ms && timing.fixed.min_ms <= timing.flagged.max_ms;
        let ratio = timing.speed_up();
        let noise = if overlap { " (noise)" } else { "" };
        let median = |spread: Spread| format!("{:.3} ms", spread.median_ms);
        [
            median(timing.flagged),
            median(timing.fixed),
            format!("{ratio:.2}×{noise}"),
            median(timing.copy),
        ]
    });
    row
}

fn word(scalar: Scalar, bits: u32) -> String {
    match scalar {
        Scalar::Float => f32::from_bits(bits).to_string(),
        Scalar::Int => bits.cast_signed().to_string(),
        _ => bits.to_string(),
    }
}

/// Columns as wide as they need to be; an answer that is a sentence goes on a line of its own.
pub(super) fn render(rows: &[Row]) -> String {
    let mut lines: Vec<[String; 9]> = vec![HEADINGS.map(str::to_owned)];
    let mut remarks: Vec<(usize, String)> = Vec::new();
    for row in rows {
        let [flagged, fixed, ratio, copy] = row.times.clone().unwrap_or_default();
        let short = match row.is_equal {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "–",
        };
        if row.equal != short {
            remarks.push((lines.len(), row.equal.clone()));
        }
        let row = row_cells(row, short);
        let [adapter, wave, group, equal, timed] = row;
        lines.push([adapter, wave, group, equal, timed, flagged, fixed, ratio, copy]);
    }
    let width = |column: usize| {
        lines
            .iter()
            .map(|line| line[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..HEADINGS.len()).map(width).collect();
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        let cells = line.iter().zip(&widths).map(|(cell, width)| {
            let padding = width - cell.chars().count();
            format!("{cell}{}", " ".repeat(padding))
        });
        text.push_str("  ");
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
        for (_, remark) in remarks.iter().filter(|(at, _)| *at == number) {
            text.push_str("    ");
            text.push_str(remark);
            text.push('\n');
        }
    }
    text
}

fn row_cells(row: &Row, equal: &str) -> [String; 5] {
    [
        row.adapter.clone(),
        row.wave.clone(),
        row.group.clone(),
        equal.to_owned(),
        row.timed.clone(),
    ]
}
