//! Measurements for a terminal.

use std::fmt::Write;

use super::measure::{Measured, Row, Size, grouped};

pub(super) fn heading(measured: &Measured) -> String {
    let waves = measured
        .wave
        .map_or("no waves".to_owned(), |lanes| format!("waves of {lanes}"));
    let mut text = format!("{}, {}: {waves}\n", measured.adapter, measured.driver);
    if let Some(trouble) = &measured.trouble {
        let _ = writeln!(text, "  {trouble}");
    }
    text
}

/// Columns as wide as they need to be; what is to be said of a row goes on a line of its own.
pub(super) fn table(size: &Size) -> String {
    let base = size.yardstick.as_deref().unwrap_or("");
    let mut lines: Vec<[String; 5]> = vec![[
        format!("n = {}", grouped(size.n)),
        "median".to_owned(),
        "fastest–slowest".to_owned(),
        "GB/s".to_owned(),
        if base.is_empty() {
            String::new()
        } else {
            format!("× {base}")
        },
    ]];
    lines.extend(size.rows.iter().map(cells));
    let width = |column: usize| {
        lines
            .iter()
            .map(|line| line[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..5).map(width).collect();
    let mut text = String::from("\n");
    for (number, line) in lines.iter().enumerate() {
        let mut row = String::new();
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let padding = " ".repeat(width - cell.chars().count());
            match column {
                0 => row = format!("{cell}{padding}"),
                _ => {
                    let _ = write!(row, "  {padding}{cell}");
                }
            }
        }
        let _ = writeln!(text, "{}", row.trim_end());
        let remark = number.checked_sub(1).and_then(|at| size.rows[at].remark.as_ref());
        if let Some(remark) = remark {
            let _ = writeln!(text, "  {remark}");
        }
    }
    text
}

fn cells(row: &Row) -> [String; 5] {
    let [median, spread] = row.time.map_or_else(<[String; 2]>::default, |time| {
        [
            format!("{} ms", three_digits(time.median)),
            format!("{}–{}", three_digits(time.fastest), three_digits(time.slowest)),
        ]
    });
    [
        row.system.clone(),
        median,
        spread,
        row.gigabytes_per_s
            .map_or(String::new(), |rate| format!("{rate:.1}")),
        row.ratio.map_or(String::new(), |ratio| format!("{ratio:.2}")),
    ]
}

/// Microseconds where they are few, else three digits.
pub(super) fn three_digits(ms: f64) -> String {
    match ms {
        ms if ms < 10.0 => format!("{ms:.3}"),
        ms if ms < 100.0 => format!("{ms:.2}"),
        ms => format!("{ms:.1}"),
    }
}
