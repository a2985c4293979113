//! What is known of two kernels, for a terminal.

use std::fmt::Write;

use super::evidence::{Cell, DeviceOutcome, DeviceRow, Evidence, Interpreted, Times};
use crate::report::{WIDTH, wrap};

/// All of it, the verdict last.
pub(super) fn render(evidence: &Evidence) -> String {
    let [x, y, z] = evidence.group;
    let mut text = format!("{} ({x}×{y}×{z}) against {}\n", evidence.kernel, evidence.other);
    let mut line = |label: &str, words: &str| text.push_str(&labelled(label, words));
    if let Some(atomics) = evidence.proof.atomics {
        line("atomics", atomics);
    }
    for row in &evidence.proof.maps {
        for (number, words) in outcomes(&row.cells).iter().enumerate() {
            line(if number == 0 { row.map } else { "" }, words);
        }
    }
    for (number, words) in interpreted(&evidence.interpreter).iter().enumerate() {
        line(if number == 0 { "interpreter" } else { "" }, words);
    }
    for row in &evidence.devices {
        let (words, times) = device(row);
        text.push_str(&labelled("device", &words));
        text.push_str(&times);
    }
    for remark in &evidence.remarks {
        let _ = writeln!(text, "  {}", wrap(remark, WIDTH - 4).replace('\n', "\n    "));
    }
    text.push_str(&labelled("verdict", &evidence.verdict.text));
    text
}

/// Columns before the words.
const INDENT: usize = 15;

/// A line, and the lines it takes more.
fn labelled(label: &str, words: &str) -> String {
    let words = wrap(words, WIDTH - INDENT).replace('\n', &format!("\n{}", " ".repeat(INDENT)));
    format!("  {label:<12} {words}\n")
}

/// One line for each kind of outcome: the wave sizes that have it, and the first of them as an example.
fn outcomes(cells: &[Cell]) -> Vec<String> {
    let mut kinds: Vec<Vec<&Cell>> = Vec::new();
    for cell in cells {
        match kinds.iter_mut().find(|known| known[0].outcome == cell.outcome) {
            Some(known) => known.push(cell),
            None => kinds.push(vec![cell]),
        }
    }
    let lines = kinds.into_iter().map(|cells| {
        let sizes: Vec<String> = cells.iter().map(|cell| cell.wave_size.to_string()).collect();
        let first = if sizes.len() > 1 && !cells[0].outcome.is_equal() {
            format!(" (at {})", sizes[0])
        } else {
            String::new()
        };
        format!("waves of {}: {}{first}", sizes.join(", "), cells[0].text)
    });
    lines.collect()
}

/// As [`outcomes`]; maps that show the same share their lines.
fn interpreted(runs: &[Interpreted]) -> Vec<String> {
    let mut maps: Vec<(Vec<&str>, Vec<String>)> = Vec::new();
    for of_map in runs.chunk_by(|a, b| a.map == b.map) {
        let mut kinds: Vec<(&str, Vec<String>)> = Vec::new();
        for run in of_map {
            let size = run.wave_size.to_string();
            match kinds.iter_mut().find(|(text, _)| *text == run.text) {
                Some((_, sizes)) => sizes.push(size),
                None => kinds.push((&run.text, vec![size])),
            }
        }
        let words = |(text, sizes): (&str, Vec<String>)| format!("waves of {}: {text}", sizes.join(", "));
        let lines: Vec<String> = kinds.into_iter().map(words).collect();
        match maps.iter_mut().find(|(_, known)| *known == lines) {
            Some((names, _)) => names.push(of_map[0].map),
            None => maps.push((vec![of_map[0].map], lines)),
        }
    }
    let lines = maps.into_iter().flat_map(|(names, lines)| {
        let packing = match names.as_slice() {
            ["linear"] => String::new(),
            names => format!("{}, ", names.join(", ")),
        };
        lines.into_iter().map(move |line| format!("{packing}{line}"))
    });
    lines.collect()
}

/// What a device showed, and its times below.
fn device(row: &DeviceRow) -> (String, String) {
    let waves = match row.waves {
        [_, 0] => String::new(),
        [min, max] if min == max => format!(", waves of {min}"),
        [min, max] => format!(", waves of {min} to {max}"),
    };
    let differs = match row.outcome {
        DeviceOutcome::Differs => "differs: ",
        _ => "",
    };
    let words = format!("{}{waves}: {differs}{}", row.adapter, row.text);
    let times: Vec<&Times> = row.kernel.iter().chain(&row.ladder).collect();
    (
        words,
        if times.is_empty() {
            String::new()
        } else {
            table(&times)
        },
    )
}

const HEADINGS: [&str; 5] = ["timed", "flagged", "fixed", "copy", "ratio"];

/// Columns as wide as they need to be.
fn table(times: &[&Times]) -> String {
    let mut lines = vec![HEADINGS.map(str::to_owned)];
    lines.extend(times.iter().map(|times| cells(times)));
    let width = |column: usize| {
        let widths = lines.iter().map(|line| line[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..HEADINGS.len()).map(width).collect();
    let mut text = String::new();
    for line in &lines {
        let cells = line.iter().zip(&widths).map(|(cell, width)| {
            let padding = width - cell.chars().count();
            format!("{cell}{}", " ".repeat(padding))
        });
        let _ = writeln!(text, "    {}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    text
}

fn cells(times: &Times) -> [String; 5] {
    let median = |ms: f64| format!("{ms:.3} ms");
    let ratio = if times.is_measurable {
        format!("{:.2}×", times.ratio)
    } else {
        "no measurable difference".to_owned()
    };
    [
        times.what.clone(),
        median(times.flagged.median),
        median(times.suggested.median),
        median(times.copy.median),
        ratio,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_hang_behind_their_label() {
        let words = "NOT equivalent: in waves of 4, out of bounds: thread 8 writes g_WaveTotal[2], past its 2 elements";
        assert_eq!(
            labelled("verdict", words),
            "  verdict      NOT equivalent: in waves of 4, out of bounds: thread 8 writes
               g_WaveTotal[2], past its 2 elements\n"
        );
    }
}
