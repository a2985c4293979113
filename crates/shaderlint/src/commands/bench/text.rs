//! Measurements for a terminal.

use std::fmt::Write;

use shaderlint_bench::numbers::{grouped, rate, three_digits};
use shaderlint_bench::{Measured, Outcome, Row, Size};

use crate::support::terminal::{Style, WIDTH, wrap};

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

/// The rows of one size, with columns of minimal width. Remarks on a row have lines of their own.
pub(super) fn table(size: &Size, style: Style) -> String {
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
        let row = row.trim_end();
        let Some(measured) = number.checked_sub(1).map(|at| &size.rows[at]) else {
            let _ = writeln!(text, "{}", painted(row, "1", style));
            continue;
        };
        let _ = writeln!(text, "{row}");
        if let Some(remark) = measured.said() {
            let color = match measured.outcome {
                Outcome::Wrong | Outcome::Failed => "31",
                Outcome::Defect => "33",
                Outcome::Right | Outcome::NotRun => "2",
            };
            for line in wrap(remark, WIDTH - 2).lines() {
                let _ = writeln!(text, "  {}", painted(line, color, style));
            }
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
        row.gigabytes_per_s.map_or(String::new(), rate),
        row.ratio.map_or(String::new(), |ratio| format!("{ratio:.2}")),
    ]
}

/// The text in a color, given by its code (ECMA-48).
fn painted(text: &str, code: &str, style: Style) -> String {
    if style.is_colored {
        format!("\x1b[{code}m{text}\x1b[0m")
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use snapbox::{assert_data_eq, str};

    use super::*;
    use shaderlint_bench::Time;

    #[test]
    fn a_table_has_its_remarks_between_its_rows() {
        let row = |system: &str, outcome, remark: Option<&str>, median: Option<f64>| Row {
            system: system.to_owned(),
            is_yardstick: system == "copy",
            about: String::new(),
            outcome,
            remark: remark.map(str::to_owned),
            time: median.map(|median| Time {
                median,
                fastest: median * 0.9,
                slowest: median * 20.0,
            }),
            gigabytes_per_s: median.map(|median| 8.0 / median),
            ratio: median.map(|median| median / 0.25),
            dispatches: 1,
        };
        let size = Size {
            n: 1_000_000,
            yardstick: Some("copy".to_owned()),
            rows: vec![
                row("copy", Outcome::Right, None, Some(0.25)),
                row(
                    "as-found",
                    Outcome::Defect,
                    Some(
                        "wrong, as expected: the upward sweep has no barrier in its loop: levels race; element 1 is 2, not 3",
                    ),
                    None,
                ),
                row(
                    "large",
                    Outcome::NotRun,
                    Some("takes at most 262,144 elements"),
                    None,
                ),
                row("slow", Outcome::Right, None, Some(12.5)),
                row("idle", Outcome::Right, None, None),
            ],
        };
        assert_data_eq!(
            table(&size, Style::default()),
            str![[r#"

n = 1,000,000    median  fastest–slowest  GB/s  × copy
copy           0.250 ms      0.225–5.000  32.0    1.00
as-found
  wrong, as expected: the upward sweep has no barrier in its loop: levels race;
  element 1 is 2, not 3
large
  takes at most 262,144 elements
slow           12.50 ms      11.25–250.0  0.64   50.00
idle
  right, not timed

"#]]
        );
        let colored = Style {
            is_colored: true,
            has_links: false,
        };
        let colored = table(&size, colored);
        assert!(colored.contains("\u{1b}[1mn = 1,000,000"), "{colored}");
        assert!(colored.contains("  \u{1b}[33mwrong, as expected"), "{colored}");
    }
}
