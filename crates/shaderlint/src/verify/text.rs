//! What is known of two kernels, for a terminal.

use std::fmt::Write;

use super::evidence::{Cell, DeviceOutcome, DeviceRow, Evidence, Interpreted, Times};

/// All of it, the verdict last.
pub(super) fn render(evidence: &Evidence) -> String {
    let [x, y, z] = evidence.group;
    let mut text = format!("{} ({x}×{y}×{z}) against {}\n", evidence.kernel, evidence.other);
    let mut line = |label: &str, words: &str| {
        let _ = writeln!(text, "  {label:<12} {words}");
    };
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
    if !evidence.devices.is_empty() {
        text.push_str(&table(evidence.group, &evidence.devices));
    }
    for remark in &evidence.remarks {
        let _ = writeln!(text, "  {remark}");
    }
    let _ = writeln!(text, "  {:<12} {}", "verdict", evidence.verdict.text);
    text
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

const HEADINGS: [&str; 9] = [
    "adapter", "wave", "group", "alike?", "timed", "flagged", "fixed", "ratio", "copy",
];

/// Columns as wide as they need to be; an answer that is a sentence goes on a line of its own.
fn table(group: [u32; 3], rows: &[DeviceRow]) -> String {
    let mut lines: Vec<[String; 9]> = vec![HEADINGS.map(str::to_owned)];
    let mut sentences: Vec<(usize, &str)> = Vec::new();
    for row in rows {
        let timed = [&row.kernel, &row.ladder].map(Option::as_ref);
        let (first, second) = match timed {
            [None, second] => (second, None),
            [first, second] => (first, second),
        };
        lines.push(cells(group, row, first));
        if row.outcome != DeviceOutcome::Alike {
            sentences.push((lines.len() - 1, &row.text));
        }
        lines.extend(second.map(|times| cells(group, row, Some(times))));
    }
    let width = |column: usize| {
        let widths = lines.iter().map(|line| line[column].chars().count());
        widths.max().unwrap_or(0)
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
        for (_, sentence) in sentences.iter().filter(|(at, _)| *at == number) {
            let _ = writeln!(text, "    {sentence}");
        }
    }
    text
}

fn cells(group: [u32; 3], row: &DeviceRow, times: Option<&Times>) -> [String; 9] {
    let [x, y, z] = group;
    let alike = match row.outcome {
        DeviceOutcome::Alike => "yes",
        DeviceOutcome::Differs => "NO",
        DeviceOutcome::NothingWritten
        | DeviceOutcome::Unstable
        | DeviceOutcome::NotComparable
        | DeviceOutcome::NotRun => "–",
    };
    let median = |ms: f64| format!("{ms:.3} ms");
    let [timed, flagged, fixed, ratio, copy] = times.map_or_else(<[String; 5]>::default, |times| {
        let ratio = if times.is_measurable {
            format!("{:.2}×", times.ratio)
        } else {
            "no measurable difference".to_owned()
        };
        [
            times.what.clone(),
            median(times.flagged.median),
            median(times.suggested.median),
            ratio,
            median(times.copy.median),
        ]
    });
    [
        row.adapter.clone(),
        match row.waves {
            [min, max] if min == max => min.to_string(),
            [min, max] => format!("{min}–{max}"),
        },
        if y * z == 1 {
            x.to_string()
        } else {
            format!("{x}×{y}×{z}")
        },
        alike.to_owned(),
        timed,
        flagged,
        fixed,
        ratio,
        copy,
    ]
}
