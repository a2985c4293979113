//! The evidence about two kernels, for a terminal.

use std::fmt::Write;

use super::evidence::{
    Cell, DeviceOutcome, DeviceRow, Elsewhere, Evidence, Interpreted, MapRow, Times, VerdictKind,
};
use crate::support::terminal::{Style, WIDTH, wrap};

/// The colors of words, as codes of escape sequences.
const GOOD: &str = "32";
const BAD: &str = "31";
const DOUBT: &str = "33";
const PLAIN: &str = "";

/// A text, and its color.
type Colored = (String, &'static str);

/// The whole text, with the verdict last.
pub(super) fn render(evidence: &Evidence, style: Style) -> String {
    let mut text = style.paint("1", &heading(evidence));
    text.push('\n');
    let line = |label: &str, words: &str, color| labelled(label, &[(words.to_owned(), color)], style);
    if let Some(atomics) = evidence.proof.atomics {
        text.push_str(&line("atomics", atomics, PLAIN));
    }
    for (label, words) in proved(&evidence.proof.maps) {
        text.push_str(&labelled(&label, &words, style));
    }
    if let Some(legend) = legend(&evidence.proof.maps) {
        text.push_str(&line("maps", &legend, PLAIN));
    }
    for Elsewhere {
        configuration,
        verdict,
    } in &evidence.elsewhere
    {
        let words = format!("{configuration}: {}", verdict.text);
        text.push_str(&line("also", &words, color_of(verdict.kind)));
    }
    text.push_str(&labelled(
        "interpreter",
        &interpreted(&evidence.interpreter),
        style,
    ));
    for row in &evidence.devices {
        let (words, times) = device(row);
        let color = match row.outcome {
            DeviceOutcome::Alike => PLAIN,
            DeviceOutcome::Differs => BAD,
            _ => DOUBT,
        };
        text.push_str(&line("device", &words, color));
        text.push_str(&times);
    }
    for remark in &evidence.remarks {
        let _ = writeln!(text, "  {}", wrap(remark, WIDTH - 4).replace('\n', "\n    "));
    }
    let color = color_of(evidence.verdict.kind);
    text.push_str(&line("verdict", &evidence.verdict.text, color));
    text
}

/// A kernel and its verdict on one line.
pub(super) fn one_line(evidence: &Evidence, style: Style) -> String {
    let verdict = &evidence.verdict;
    let words = style.paint(color_of(verdict.kind), &verdict.text);
    format!("{}: {words}\n", evidence.kernel)
}

fn color_of(verdict: VerdictKind) -> &'static str {
    match verdict {
        VerdictKind::Proved | VerdictKind::Refines => GOOD,
        VerdictKind::Different | VerdictKind::Contradicted => BAD,
        VerdictKind::OnlyRun | VerdictKind::Unknown => DOUBT,
    }
}

/// The names of the compared kernels. If they are equal, it names their files, too.
fn heading(evidence: &Evidence) -> String {
    let [x, y, z] = evidence.group;
    let kernel = format!("{} ({x}×{y}×{z})", evidence.kernel);
    if evidence.kernel == evidence.other {
        let paths = (&evidence.flagged.path, &evidence.suggested.path);
        return format!("{kernel} of {} against that of {}", paths.0, paths.1);
    }
    format!("{kernel} against {}", evidence.other)
}

/// The columns before the words.
const INDENT: usize = 15;

/// A label with its text beside it. Either may have several lines; without a text there is no label.
fn labelled(label: &str, words: &[Colored], style: Style) -> String {
    if words.is_empty() {
        return String::new();
    }
    let words: Vec<String> = (words.iter())
        .map(|(words, color)| style.paint(color, &wrap(words, WIDTH - INDENT)))
        .collect();
    let words = words.join("\n");
    let (mut labels, mut words) = (label.lines(), words.lines());
    let mut text = String::new();
    loop {
        match (labels.next(), words.next()) {
            (None, None) => return text,
            (label, None) => {
                let _ = writeln!(text, "  {}", label.unwrap_or_default());
            }
            (label, Some(words)) => {
                let _ = writeln!(text, "  {:<12} {words}", label.unwrap_or_default());
            }
        }
    }
}

/// Stands for all maps if they show the same.
const EVERY_MAP: &str = "every map";

/// Groups the maps with the same words, in the order of the first map of each group.
fn alike<'a>(rows: impl Iterator<Item = (&'a str, Vec<Colored>)>) -> Vec<(Vec<&'a str>, Vec<Colored>)> {
    let mut known: Vec<(Vec<&str>, Vec<Colored>)> = Vec::new();
    for (map, words) in rows {
        match known.iter_mut().find(|(_, known)| *known == words) {
            Some((maps, _)) => maps.push(map),
            None => known.push((vec![map], words)),
        }
    }
    if let [(maps, _)] = known.as_mut_slice()
        && maps.len() > 1
    {
        *maps = vec![EVERY_MAP];
    }
    known
}

/// The outcome under a map that no device has, if it is not the same as under the others.
const UNEXPECTED: &str = "not proved equal; no known GPU packs a group of one row so";

/// What the maps are, if the proof names some.
fn legend(rows: &[MapRow]) -> Option<String> {
    let is_named = proved(rows).iter().any(|(label, _)| label != EVERY_MAP);
    let meanings = rows.iter().map(|row| {
        let meaning = match row.map {
            "linear" => "waves hold consecutive threads",
            "row by row" => "each row of the group begins a wave",
            "2×2 quads" => "waves hold squares of four threads",
            _ => "any threads may share a wave",
        };
        format!("{}: {meaning}", row.map)
    });
    (is_named && rows.len() > 1).then(|| meanings.collect::<Vec<_>>().join("; "))
}

/// The proof under each map.
fn proved(rows: &[MapRow]) -> Vec<(String, Vec<Colored>)> {
    let maps = alike(rows.iter().map(|row| (row.map, outcomes(&row.cells))));
    let labelled = maps.into_iter().map(|(maps, mut words)| {
        let is_expected = |row: &MapRow| row.is_expected && (maps.contains(&row.map) || maps == [EVERY_MAP]);
        if !rows.iter().any(is_expected) && words.iter().any(|(_, color)| *color != PLAIN) {
            // The outcome under an unexpected map does not matter.
            words = vec![(UNEXPECTED.to_owned(), PLAIN)];
        }
        (maps.join(",\n"), words)
    });
    labelled.collect()
}

/// The text for one wave size, with its kind.
struct OfSize<'a, K> {
    kind: K,
    wave_size: u32,
    text: &'a str,
    color: &'static str,
}

/// A line for each kind: the wave sizes that have it, and the text for the first of them.
fn by_kind<'a, K: PartialEq>(all: impl Iterator<Item = OfSize<'a, K>>) -> Vec<Colored> {
    let mut kinds: Vec<Vec<OfSize<K>>> = Vec::new();
    for one in all {
        match kinds.iter_mut().find(|known| known[0].kind == one.kind) {
            Some(known) => known.push(one),
            None => kinds.push(vec![one]),
        }
    }
    let lines = kinds.into_iter().map(|of_kind| {
        let first = &of_kind[0];
        let sizes: Vec<String> = of_kind.iter().map(|one| one.wave_size.to_string()).collect();
        let at = if of_kind.iter().any(|one| one.text != first.text) {
            format!(" (at {})", first.wave_size)
        } else {
            String::new()
        };
        let words = format!("waves of {}: {}{at}", sizes.join(", "), first.text);
        (words, first.color)
    });
    lines.collect()
}

fn outcomes(cells: &[Cell]) -> Vec<Colored> {
    by_kind(cells.iter().map(|cell| OfSize {
        kind: cell.outcome,
        wave_size: cell.wave_size,
        text: &cell.text,
        color: match cell.outcome {
            outcome if outcome.is_equal() => PLAIN,
            outcome if outcome.is_different() => BAD,
            _ => DOUBT,
        },
    }))
}

/// The results of the interpreter, in the form of the proof. Maps are named only if there are others than the linear
/// one.
fn interpreted(runs: &[Interpreted]) -> Vec<Colored> {
    let rows = runs.chunk_by(|a, b| a.map == b.map).map(|of_map| {
        let words = by_kind(of_map.iter().map(|run| OfSize {
            kind: run.is_equal,
            wave_size: run.wave_size,
            text: &run.text,
            color: match run.is_equal {
                Some(true) => PLAIN,
                Some(false) => BAD,
                None => DOUBT,
            },
        }));
        (of_map[0].map, words)
    });
    let lines = alike(rows).into_iter().flat_map(|(maps, words)| {
        let packing = match maps.as_slice() {
            ["linear"] => String::new(),
            maps => format!("{}, ", maps.join(", ")),
        };
        let lines = words.into_iter();
        lines.map(move |(words, color)| (format!("{packing}{words}"), color))
    });
    lines.collect()
}

/// The result of a device, and its times on the lines below.
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

/// The table of times, with columns of minimal width.
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
    use super::super::evidence::CellOutcome;
    use super::*;

    #[test]
    fn words_hang_behind_their_label() {
        let words = |words: &str, color| [(words.to_owned(), color)];
        let verdict = "NOT equivalent: in waves of 4, out of bounds: thread 8 writes g_WaveTotal[2], which has 2 elements";
        assert_eq!(
            labelled("verdict", &words(verdict, BAD), Style::default()),
            "  verdict      NOT equivalent: in waves of 4, out of bounds: thread 8 writes
               g_WaveTotal[2], which has 2 elements\n"
        );
        let colored = Style {
            is_colored: true,
            has_links: false,
        };
        assert_eq!(
            labelled("verdict", &words(verdict, BAD), colored),
            "  verdict      \x1b[31mNOT equivalent: in waves of 4, out of bounds: thread 8 writes\x1b[0m
               \x1b[31mg_WaveTotal[2], which has 2 elements\x1b[0m\n"
        );
        assert_eq!(
            labelled("linear", &words("equal", PLAIN), colored),
            "  linear       equal\n"
        );
    }

    #[test]
    fn maps_that_show_the_same_are_told_once() {
        let row = |map, outcomes: [CellOutcome; 2]| MapRow {
            map,
            is_expected: map == "linear",
            cells: (outcomes.into_iter().zip([4, 8]))
                .map(|(outcome, wave_size)| Cell {
                    wave_size,
                    outcome,
                    text: if outcome.is_equal() {
                        "equal".to_owned()
                    } else {
                        format!("differs at {wave_size}")
                    },
                })
                .collect(),
        };
        let (same, other) = ([CellOutcome::Equal; 2], [CellOutcome::Differs; 2]);
        let shown = |rows: &[MapRow]| {
            let lines = proved(rows).into_iter();
            lines
                .map(|(label, words)| labelled(&label, &words, Style::default()))
                .collect::<String>()
        };
        assert_eq!(
            shown(&[row("linear", same), row("ragged", same)]),
            "  every map    waves of 4, 8: equal\n"
        );
        assert_eq!(legend(&[row("linear", same), row("ragged", same)]), None);
        let one_row = [row("linear", same), row("ragged", other)];
        assert_eq!(
            shown(&one_row),
            "  linear       waves of 4, 8: equal
  ragged       not proved equal; no known GPU packs a group of one row so\n"
        );
        assert_eq!(
            legend(&one_row).as_deref(),
            Some("linear: waves hold consecutive threads; ragged: any threads may share a wave")
        );
        let mut mixed = [
            row("linear", same),
            row("row by row", other),
            row("2×2 quads", same),
            row("ragged", other),
        ];
        for row in &mut mixed {
            row.is_expected = true;
        }
        assert_eq!(
            shown(&mixed),
            "  linear,      waves of 4, 8: equal
  2×2 quads
  row by row,  waves of 4, 8: differs at 4 (at 4)
  ragged\n"
        );
        let colors: Vec<&str> = proved(&mixed).iter().map(|(_, words)| words[0].1).collect();
        assert_eq!(colors, [PLAIN, BAD]);
        let differs = [row("linear", other), row("ragged", other)];
        assert_eq!(proved(&differs)[0].1[0].1, BAD);
        assert_eq!(
            shown(&[row("linear", other)]),
            "  linear       waves of 4, 8: differs at 4 (at 4)\n"
        );
    }
}
