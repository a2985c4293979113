//! Measurements as an SVG plot: times and rates over n, both axes logarithmic.

use std::fmt::Write;

use crate::Measured;

/// The quantity on the vertical axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    Time,
    Rate,
}

/// The measurements of a system over n.
#[derive(Debug, PartialEq)]
pub(crate) struct Series {
    pub name: String,
    pub about: String,
    /// Others are compared with this system. Its line is dashed.
    pub is_yardstick: bool,
    /// n, milliseconds, and 10^9 bytes per second.
    points: Vec<(f64, f64, f64)>,
}

/// The systems with times, in the order of their rows, which is the same in all tables.
pub(crate) fn series(measured: &Measured) -> Vec<Series> {
    let longest = measured.sizes.iter().max_by_key(|size| size.rows.len());
    let rows = longest.map_or(&[][..], |size| &size.rows);
    let mut all: Vec<Series> = (rows.iter())
        .map(|row| Series {
            name: row.system.clone(),
            about: row.about.clone(),
            is_yardstick: row.is_yardstick,
            points: Vec::new(),
        })
        .collect();
    for size in &measured.sizes {
        for row in &size.rows {
            let (Some(time), Some(rate)) = (row.time, row.gigabytes_per_s) else {
                continue;
            };
            if size.n == 0 || time.median <= 0.0 || rate <= 0.0 {
                continue;
            }
            if let Some(series) = all.iter_mut().find(|series| series.name == row.system) {
                series.points.push((size.n as f64, time.median, rate));
            }
        }
    }
    all.retain(|series| !series.points.is_empty());
    all
}

/// The size of one panel, which is as wide as a telephone, so that its text stays legible there.
pub(crate) const WIDTH: f64 = 400.0;
pub(crate) const HEIGHT: f64 = 340.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 34.0;
/// The distance between the numbers beside the ends of lines.
const APART: f64 = 12.0;

/// Colors by position in the legend, for light and dark pages.
const COLORS: [(&str, &str); 14] = [
    ("#8a867c", "#a3a097"),
    ("#5c594f", "#d0cdc4"),
    ("#b07d12", "#e0b04a"),
    ("#2f5d8a", "#8db8e2"),
    ("#a8321f", "#f2937f"),
    ("#22703f", "#7fcf9b"),
    ("#7a4fa3", "#c09ae6"),
    ("#0f7f86", "#5cc8cf"),
    ("#a33a73", "#ee8fc0"),
    ("#7d6a1c", "#cdbb66"),
    ("#4e5fb0", "#a3b0f2"),
    ("#8a4b20", "#dba072"),
    ("#3b7a1a", "#a5d86a"),
    ("#c2571a", "#f0a06a"),
];

/// The style sheet for what [`panel`] and [`legend`] draw.
pub(crate) fn style() -> String {
    let mut style = String::from(
        ".plot{--grid:#e4e1da;--ink:#1d1c1a;--soft:#6a6760}\
         .plot text{font:11px ui-sans-serif,system-ui,-apple-system,\"Segoe UI\",Roboto,\"DejaVu Sans\",sans-serif;fill:var(--soft)}\
         .plot .title{font-size:12.5px;font-weight:600;fill:var(--ink)}\
         .plot .grid{stroke:var(--grid)}.plot .line{fill:none;stroke-width:1.8;stroke-linejoin:round}\
         .plot .yardstick{stroke-dasharray:5 4}.plot .end{font-weight:650}\n",
    );
    for (at, (light, _)) in COLORS.iter().enumerate() {
        let _ = writeln!(style, ".plot{{--s{at}:{light}}}");
    }
    style.push_str("@media (prefers-color-scheme:dark){.plot{--grid:#313338;--ink:#e8e6e1;--soft:#9d9a93}\n");
    for (at, (_, dark)) in COLORS.iter().enumerate() {
        let _ = write!(style, ".plot{{--s{at}:{dark}}}");
    }
    style.push_str("}\n");
    style
}

fn color(at: usize) -> String {
    format!("var(--s{})", at % COLORS.len())
}

/// A value may lie outside of an axis by this share of a decade: a million and three counts as a million.
const SLACK: f64 = 0.02;

/// A range of decades.
struct Axis {
    first: i32,
    last: i32,
    from: f64,
    to: f64,
}

impl Axis {
    fn over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Axis {
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values {
            least = least.min(value.log10());
            most = most.max(value.log10());
        }
        let first = if least.is_finite() {
            (least + SLACK).floor() as i32
        } else {
            0
        };
        let last = if most.is_finite() {
            (most - SLACK).ceil() as i32
        } else {
            1
        };
        Axis {
            first,
            last: last.max(first + 1),
            from,
            to,
        }
    }

    fn at(&self, value: f64) -> f64 {
        let share = (value.log10() - f64::from(self.first)) / f64::from(self.last - self.first);
        self.from + share * (self.to - self.from)
    }

    fn decades(&self) -> impl Iterator<Item = (i32, f64)> {
        (self.first..=self.last).map(|decade| (decade, self.at(10f64.powi(decade))))
    }
}

/// One plot as the contents of an `<svg>`, with its upper left corner at 0, 0.
pub(crate) fn panel(all: &[Series], quantity: Quantity) -> String {
    let value = |point: &(f64, f64, f64)| match quantity {
        Quantity::Time => point.1,
        Quantity::Rate => point.2,
    };
    let points = || all.iter().flat_map(|series| &series.points);
    let x = Axis::over(points().map(|point| point.0), LEFT, WIDTH - RIGHT);
    let y = Axis::over(points().map(value), HEIGHT - BOTTOM, TOP);
    let mut svg = String::new();
    let title = match quantity {
        Quantity::Time => "Time, medians",
        Quantity::Rate => "GB/s of what has to be read and written",
    };
    let _ = writeln!(svg, "<text class=\"title\" x=\"0\" y=\"12\">{title}</text>");
    for (decade, at) in x.decades() {
        let (top, bottom) = (TOP, HEIGHT - BOTTOM);
        let _ = writeln!(svg, "<path class=\"grid\" d=\"M{at:.1} {top}V{bottom}\"/>");
        let _ = writeln!(
            svg,
            "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            bottom + 15.0,
            power(decade)
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">n, words of 32 bits</text>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 3.0
    );
    for (decade, at) in y.decades() {
        let _ = writeln!(
            svg,
            "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{:.1}\"/>",
            WIDTH - RIGHT
        );
        let label = match quantity {
            Quantity::Time => duration(decade),
            Quantity::Rate => plain(decade),
        };
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            LEFT - 6.0,
            at + 4.0
        );
    }
    let mut ends: Vec<(usize, f64, f64)> = Vec::new();
    for (number, series) in all.iter().enumerate() {
        let color = color(number);
        let mut path = String::new();
        for (at, point) in series.points.iter().enumerate() {
            let (px, py) = (x.at(point.0), y.at(value(point)));
            let _ = write!(path, "{}{px:.1} {py:.1}", if at == 0 { "M" } else { "L" });
            let _ = writeln!(
                svg,
                "<circle cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"2.4\" style=\"fill:{color}\"><title>{}</title></circle>",
                escaped(&format!(
                    "{}, n = {}: {:.3} ms, {:.1} GB/s",
                    series.name, point.0, point.1, point.2
                ))
            );
        }
        let class = if series.is_yardstick {
            "line yardstick"
        } else {
            "line"
        };
        let _ = writeln!(
            svg,
            "<path class=\"{class}\" style=\"stroke:{color}\" d=\"{path}\"/>"
        );
        if let Some(point) = series.points.last() {
            ends.push((number, x.at(point.0), y.at(value(point))));
        }
    }
    for (number, px, py, label) in spread_out(ends) {
        let color = color(number);
        let _ = writeln!(
            svg,
            "<path style=\"stroke:{color};stroke-width:.7\" d=\"M{:.1} {py:.1}L{:.1} {label:.1}\"/>\
             <text class=\"end\" x=\"{:.1}\" y=\"{:.1}\" style=\"fill:{color}\">{}</text>",
            px + 3.0,
            px + 11.0,
            px + 13.0,
            label + 4.0,
            number + 1
        );
    }
    svg
}

/// The position of each line's number: beside the end of the line, but apart from the other numbers.
fn spread_out(mut ends: Vec<(usize, f64, f64)>) -> Vec<(usize, f64, f64, f64)> {
    ends.sort_by(|a, b| a.2.total_cmp(&b.2));
    let mut labels: Vec<(usize, f64, f64, f64)> = Vec::new();
    for (number, x, y) in ends {
        let above = labels.last().map_or(f64::NEG_INFINITY, |last| last.3 + APART);
        labels.push((number, x, y, y.max(above)));
    }
    // Numbers that were pushed below the plot move up again, and push others.
    let mut bottom = HEIGHT - BOTTOM;
    for label in labels.iter_mut().rev() {
        label.3 = label.3.min(bottom);
        bottom = label.3 - APART;
    }
    labels
}

/// A complete SVG file: for each adapter, both panels side by side, and a legend.
pub fn svg(all: &[Measured]) -> String {
    const GAP: f64 = 30.0;
    const LINE: f64 = 17.0;
    let width = 2.0 * WIDTH + GAP;
    let mut body = String::new();
    let mut top = 0.0;
    for measured in all {
        let series = series(measured);
        if series.is_empty() {
            continue;
        }
        let _ = writeln!(
            body,
            "<text class=\"title\" x=\"0\" y=\"{:.1}\">{}</text>",
            top + 14.0,
            escaped(&format!("{}, {}", measured.adapter, measured.driver))
        );
        top += 32.0;
        for (quantity, left) in [(Quantity::Time, 0.0), (Quantity::Rate, WIDTH + GAP)] {
            let _ = writeln!(
                body,
                "<g transform=\"translate({left} {top})\">\n{}</g>",
                panel(&series, quantity)
            );
        }
        top += HEIGHT + 22.0;
        for (number, one) in series.iter().enumerate() {
            let _ = writeln!(
                body,
                "<text class=\"end\" x=\"0\" y=\"{top:.1}\" style=\"fill:{}\">{}</text>\
                 <text x=\"22\" y=\"{top:.1}\">{}</text>",
                color(number),
                number + 1,
                escaped(&format!("{}: {}", one.name, one.about))
            );
            top += LINE;
        }
        top += 14.0;
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" viewBox=\"-12 -6 {} {}\" width=\"{}\" role=\"img\" \
         aria-label=\"Times and rates over n\">\n<style>{}.back{{fill:#fff}}\
         @media (prefers-color-scheme:dark){{.back{{fill:#161719}}}}</style>\n\
         <rect class=\"back\" x=\"-12\" y=\"-6\" width=\"100%\" height=\"100%\"/>\n{body}</svg>\n",
        width + 24.0,
        top + 12.0,
        width + 24.0,
        style()
    )
}

/// The legend: each line's number in its color, with the name of the system.
pub(crate) fn legend(all: &[Series]) -> String {
    let mut html = String::from("<ol class=\"plot systems\">\n");
    for (number, series) in all.iter().enumerate() {
        let _ = writeln!(
            html,
            "<li><b style=\"color:{}\">{}</b><span>{}</span> <span class=\"soft\">{}</span></li>",
            color(number),
            number + 1,
            escaped(&series.name),
            escaped(&series.about)
        );
    }
    html.push_str("</ol>\n");
    html
}

/// `10⁵`
fn power(exponent: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    match exponent {
        0 => "1".to_owned(),
        1 => "10".to_owned(),
        _ => {
            let digits = exponent.unsigned_abs().to_string();
            let raised = digits.chars().filter_map(|digit| digit.to_digit(10));
            let sign = if exponent < 0 { "⁻" } else { "" };
            let raised: String = raised.map(|digit| DIGITS[digit as usize]).collect();
            format!("10{sign}{raised}")
        }
    }
}

/// A power of ten of milliseconds, with its unit.
fn duration(decade: i32) -> String {
    let (unit, decade) = match decade {
        i32::MIN..=-4 => ("ns", decade + 6),
        -3..=-1 => ("µs", decade + 3),
        0..=2 => ("ms", decade),
        _ => ("s", decade - 3),
    };
    format!("{} {unit}", plain(decade))
}

/// A power of ten, written out if that is short.
fn plain(decade: i32) -> String {
    match decade {
        0..=4 => 10u32.pow(decade.unsigned_abs()).to_string(),
        -3..=-1 => format!("0.{}1", "0".repeat((-decade - 1).unsigned_abs() as usize)),
        _ => power(decade),
    }
}

/// Escapes text for HTML or XML.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decades_have_names() {
        let durations: Vec<String> = (-6..=4).map(duration).collect();
        let expected = [
            "1 ns", "10 ns", "100 ns", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s", "10 s",
        ];
        assert_eq!(durations, expected);
        let numbers: Vec<String> = (-4..=5).map(plain).collect();
        let expected = [
            "10⁻⁴", "0.001", "0.01", "0.1", "1", "10", "100", "1000", "10000", "10⁵",
        ];
        assert_eq!(numbers, expected);
        assert_eq!((power(1), power(12)), ("10".into(), "10¹²".into()));
    }

    #[test]
    fn axes_span_whole_decades() {
        let axis = Axis::over([2000.0, 50_000.0].into_iter(), 0.0, 100.0);
        assert_eq!((axis.first, axis.last), (3, 5));
        assert!((axis.at(1000.0) - 0.0).abs() < 1e-9 && (axis.at(10_000.0) - 50.0).abs() < 1e-9);
        let about = Axis::over([999.0, 1_000_003.0].into_iter(), 0.0, 1.0);
        assert_eq!((about.first, about.last), (3, 6));
        let one = Axis::over(std::iter::once(1000.0), 0.0, 1.0);
        assert_eq!((one.first, one.last), (3, 4));
        let none = Axis::over(std::iter::empty(), 0.0, 1.0);
        assert_eq!((none.first, none.last), (0, 1));
    }

    #[test]
    fn numbers_beside_lines_do_not_meet() {
        let ends = vec![(0, 0.0, 300.0), (1, 0.0, 305.0), (2, 0.0, 100.0), (3, 0.0, 101.0)];
        let labels = spread_out(ends);
        let at: Vec<(usize, f64)> = labels.iter().map(|label| (label.0, label.3)).collect();
        assert_eq!(at, [(2, 100.0), (3, 112.0), (0, 294.0), (1, 306.0)]);
    }
}
