//! What is known of two kernels, for a terminal.

use std::fmt::Write;

use super::evidence::{Cell, DeviceOutcome, DeviceRow, Evidence, Interpreted, Times, VerdictKind};
use crate::report::{WIDTH, wrap};
use crate::terminal::Style;

/// The color of words, as an escape sequence has it.
const GOOD: &str = "32";
const BAD: &str = "31";
const DOUBT: &str = "33";
const PLAIN: &str = "";

/// All of it, the verdict last.
pub(super) fn render(evidence: &Evidence, style: Style) -> String {
    let mut text = paint("1", &heading(evidence), style);
    text.push('\n');
    let mut line = |label: &str, words: &str, color: &str| {
        text.push_str(&labelled(label, words, color, style));
    };
    if let Some(atomics) = evidence.proof.atomics {
        line("atomics", atomics, PLAIN);
    }
    for row in &evidence.proof.maps {
        // What is not to be expected is no matter.
        let color = |color| if row.is_expected { color } else { PLAIN };
        for (number, (words, of_kind)) in outcomes(&row.cells).iter().enumerate() {
            line(if number == 0 { row.map } else { "" }, words, color(of_kind));
        }
    }
    for (number, (words, color)) in interpreted(&evidence.interpreter).iter().enumerate() {
        line(if number == 0 { "interpreter" } else { "" }, words, color);
    }
    for row in &evidence.devices {
        let (words, times) = device(row);
        let color = match row.outcome {
            DeviceOutcome::Alike => PLAIN,
            DeviceOutcome::Differs => BAD,
            _ => DOUBT,
        };
        text.push_str(&labelled("device", &words, color, style));
        text.push_str(&times);
    }
    for remark in &evidence.remarks {
        let _ = writeln!(text, "  {}", wrap(remark, WIDTH - 4).replace('\n', "\n    "));
    }
    let color = color_of(evidence.verdict.kind);
    text.push_str(&labelled("verdict", &evidence.verdict.text, color, style));
    text
}

/// A kernel and its verdict on one line.
pub(super) fn one_line(evidence: &Evidence, style: Style) -> String {
    let verdict = &evidence.verdict;
    let words = paint(color_of(verdict.kind), &verdict.text, style);
    format!("{}: {words}\n", evidence.kernel)
}

fn color_of(verdict: VerdictKind) -> &'static str {
    match verdict {
        VerdictKind::Proved | VerdictKind::Refines => GOOD,
        VerdictKind::Different | VerdictKind::Contradicted => BAD,
        VerdictKind::OnlyRun | VerdictKind::Unknown => DOUBT,
    }
}

/// What is compared: kernels of one name are told by their files.
fn heading(evidence: &Evidence) -> String {
    let [x, y, z] = evidence.group;
    let kernel = format!("{} ({x}×{y}×{z})", evidence.kernel);
    if evidence.kernel == evidence.other {
        let paths = (&evidence.flagged.path, &evidence.suggested.path);
        return format!("{kernel} of {} against that of {}", paths.0, paths.1);
    }
    format!("{kernel} against {}", evidence.other)
}

/// Words in a color, each line for itself.
fn paint(color: &str, words: &str, style: Style) -> String {
    if !style.is_colored || color.is_empty() {
        return words.to_owned();
    }
    let lines = words.lines().map(|line| format!("\x1b[{color}m{line}\x1b[0m"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Columns before the words.
const INDENT: usize = 15;

/// A line, and the lines it takes more.
fn labelled(label: &str, words: &str, color: &str, style: Style) -> String {
    let words = paint(color, &wrap(words, WIDTH - INDENT), style);
    let words = words.replace('\n', &format!("\n{}", " ".repeat(INDENT)));
    format!("  {label:<12} {words}\n")
}

/// One line for each kind of outcome: the wave sizes that have it, and the first of them as an example.
fn outcomes(cells: &[Cell]) -> Vec<(String, &'static str)> {
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
        let color = match cells[0].outcome {
            outcome if outcome.is_equal() => PLAIN,
            outcome if outcome.is_different() => BAD,
            _ => DOUBT,
        };
        (
            format!("waves of {}: {}{first}", sizes.join(", "), cells[0].text),
            color,
        )
    });
    lines.collect()
}

/// As [`outcomes`]; maps that show the same share their lines.
fn interpreted(runs: &[Interpreted]) -> Vec<(String, &'static str)> {
    type Lines = Vec<(String, &'static str)>;
    let mut maps: Vec<(Vec<&str>, Lines)> = Vec::new();
    for of_map in runs.chunk_by(|a, b| a.map == b.map) {
        let mut kinds: Vec<(&Interpreted, Vec<String>)> = Vec::new();
        for run in of_map {
            let size = run.wave_size.to_string();
            match kinds.iter_mut().find(|(known, _)| known.text == run.text) {
                Some((_, sizes)) => sizes.push(size),
                None => kinds.push((run, vec![size])),
            }
        }
        let words = |(run, sizes): (&Interpreted, Vec<String>)| {
            let color = match run.is_equal {
                Some(true) => PLAIN,
                Some(false) => BAD,
                None => DOUBT,
            };
            (format!("waves of {}: {}", sizes.join(", "), run.text), color)
        };
        let lines: Lines = kinds.into_iter().map(words).collect();
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
        lines
            .into_iter()
            .map(move |(line, color)| (format!("{packing}{line}"), color))
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
            labelled("verdict", words, BAD, Style::default()),
            "  verdict      NOT equivalent: in waves of 4, out of bounds: thread 8 writes
               g_WaveTotal[2], past its 2 elements\n"
        );
        let colored = Style {
            is_colored: true,
            has_links: false,
        };
        assert_eq!(
            labelled("verdict", words, BAD, colored),
            "  verdict      \x1b[31mNOT equivalent: in waves of 4, out of bounds: thread 8 writes\x1b[0m
               \x1b[31mg_WaveTotal[2], past its 2 elements\x1b[0m\n"
        );
        assert_eq!(
            labelled("linear", "equal", PLAIN, colored),
            "  linear       equal\n"
        );
    }
}
