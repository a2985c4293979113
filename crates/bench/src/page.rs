//! Measurements as one self-contained page for a browser, without scripts.

use std::fmt::Write;

use crate::chart::{self, HEIGHT, Quantity, WIDTH, escaped};
use crate::numbers::{grouped, rate, three_digits};
use crate::{Measured, Outcome, Size};

const STYLE: &str = include_str!("page.css");

/// The page about the measurements of `what`. `style` is the style sheet that it shares with other pages.
pub fn html(what: &str, style: &str, all: &[Measured]) -> String {
    let title = match what {
        "scan" => "Scans of n words".to_owned(),
        "reduction" => "Sums of n words".to_owned(),
        path => path.to_owned(),
    };
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>shaderlint bench {0}</title>\n\
         <style>\n{style}\n{STYLE}\n{1}</style>\n</head>\n<body>\n<header class=\"top\"><div>\
         <p class=\"program\">shaderlint bench {0}</p><h1>{2}</h1></div></header>\n<main>\n",
        escaped(what),
        chart::style(),
        escaped(&title)
    );
    for measured in all {
        adapter(&mut html, measured);
    }
    let _ = write!(
        html,
        "</main>\n<footer><p>Every result was compared with the CPU’s, word for word, before and after it was timed. Times \
         are medians of 15 runs by timestamp queries, from the start of the first dispatch to the end of the last, after \
         half a second to warm up (three runs where the adapter is a CPU); the CPU’s are of 5 runs of one thread. GB/s count each element read once and, in a \
         scan, written once, whatever a system moves beside that.</p><p>shaderlint {}</p></footer>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION")
    );
    html
}

fn adapter(html: &mut String, measured: &Measured) {
    let waves = measured
        .wave
        .map_or("no waves".to_owned(), |lanes| format!("waves of {lanes} lanes"));
    let _ = writeln!(
        html,
        "<article>\n<h2>{}</h2>\n<p class=\"path\">{} over {}, {waves}</p>",
        escaped(&measured.adapter),
        escaped(&measured.driver),
        escaped(&measured.backend)
    );
    if let Some(trouble) = &measured.trouble {
        let _ = writeln!(html, "<p class=\"note\">{}</p>", escaped(trouble));
    }
    let series = chart::series(measured);
    if !series.is_empty() {
        html.push_str("<div class=\"plots\">\n");
        for (quantity, name) in [(Quantity::Time, "Times over n"), (Quantity::Rate, "Rates over n")] {
            let _ = writeln!(
                html,
                "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{name}\">\n{}</svg>",
                chart::panel(&series, quantity)
            );
        }
        html.push_str("</div>\n");
        html.push_str(&chart::legend(&series));
    }
    for (at, size) in measured.sizes.iter().enumerate().rev() {
        let is_open = at + 1 == measured.sizes.len();
        let _ = writeln!(
            html,
            "<details{}><summary>n = {}</summary>",
            if is_open { " open" } else { "" },
            grouped(size.n)
        );
        table(html, size);
        html.push_str("</details>\n");
    }
    html.push_str("</article>\n");
}

fn table(html: &mut String, size: &Size) {
    let base = size
        .yardstick
        .as_ref()
        .map_or(String::new(), |name| format!("× {name}"));
    let _ = writeln!(
        html,
        "<div class=\"scroll\"><table class=\"times-of\"><thead><tr><th>system</th><th>median</th><th>fastest–slowest</th>\
         <th>GB/s</th><th>{}</th></tr></thead><tbody>",
        escaped(&base)
    );
    for row in &size.rows {
        let _ = write!(
            html,
            "<tr><th>{}<span class=\"soft\">{}</span></th>",
            escaped(&row.system),
            escaped(&row.about)
        );
        if let Some(time) = row.time {
            let _ = write!(
                html,
                "<td>{} ms</td><td>{}–{}</td><td>{}</td><td>{}</td></tr>",
                three_digits(time.median),
                three_digits(time.fastest),
                three_digits(time.slowest),
                row.gigabytes_per_s.map_or(String::new(), rate),
                row.ratio.map_or(String::new(), |ratio| format!("{ratio:.2}")),
            );
        } else {
            let class = match row.outcome {
                Outcome::Right => "good",
                Outcome::Wrong | Outcome::Failed => "bad",
                Outcome::Defect => "doubt",
                Outcome::NotRun => "soft",
            };
            let _ = write!(
                html,
                "<td class=\"said {class}\" colspan=\"4\">{}</td></tr>",
                escaped(row.said().unwrap_or_default())
            );
        }
        html.push('\n');
    }
    html.push_str("</tbody></table></div>\n");
}
