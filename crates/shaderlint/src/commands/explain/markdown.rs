//! Pages on a terminal: the parts of Markdown that our pages use.

use crate::support::terminal::{self, Style, WIDTH, wrap};

/// The page without Markdown marks: headings are bold, code is colored or indented, and links can be clicked.
pub(crate) fn for_terminal(page: &str, style: Style) -> String {
    let mut blocks = Vec::new();
    for (index, part) in page.split("```").enumerate() {
        if index % 2 == 1 {
            // The language follows the fence.
            let lines = part.trim_end().lines().skip(1);
            let lines = lines.map(|line| format!("    {line}").trim_end().to_owned());
            blocks.push(lines.collect::<Vec<_>>().join("\n"));
        } else {
            let prose = part
                .split("\n\n")
                .map(str::trim)
                .filter(|block| !block.is_empty());
            blocks.extend(prose.map(|block| shown(block, style)));
        }
    }
    blocks.join("\n\n") + "\n"
}

/// A heading, a paragraph, or the items of a list, wrapped to the terminal's width.
fn shown(block: &str, style: Style) -> String {
    match block.split_once("# ") {
        Some((marks, heading)) if marks.trim_matches('#').is_empty() => format!("\x1b[1m{heading}\x1b[0m"),
        _ => {
            let items = block.split("\n- ").enumerate().map(|(index, item)| {
                let mark = if index == 0 { "" } else { "- " };
                let item = format!("{mark}{item}");
                let words: Vec<&str> = item.split_whitespace().collect();
                let next_line = if item.starts_with("- ") { "\n  " } else { "\n" };
                marked(&wrap(&words.join(" "), WIDTH - 2).replace('\n', next_line), style)
            });
            items.collect::<Vec<_>>().join("\n")
        }
    }
}

/// Renders the inline marks of a text. An unpaired mark is plain text.
fn marked(text: &str, style: Style) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['`', '[', '*']) {
        let (before, from_mark) = rest.split_at(at);
        shown.push_str(before);
        let between = |start: &str, end: &str| from_mark.strip_prefix(start)?.split_once(end);
        let (what, after) = if let Some((code, after)) = between("`", "`") {
            (format!("\x1b[36m{code}\x1b[0m"), after)
        } else if let Some((name, (url, after))) =
            between("[", "](").and_then(|(name, rest)| Some((name, rest.split_once(')')?)))
        {
            (link(&marked(name, style), url, style), after)
        } else if let Some((strong, after)) = between("**", "**") {
            (format!("\x1b[1m{strong}\x1b[0m"), after)
        } else if let Some((word, after)) = between("*", "*").filter(|(word, _)| !word.starts_with(' ')) {
            (format!("\x1b[3m{word}\x1b[0m"), after)
        } else {
            let mut letters = from_mark.chars();
            let mark = letters.next().map_or_else(String::new, String::from);
            (mark, letters.as_str())
        };
        shown.push_str(&what);
        rest = after;
    }
    shown + rest
}

/// A link to the web can be clicked, or copied.
fn link(name: &str, url: &str, style: Style) -> String {
    if !url.starts_with("http") {
        name.to_owned()
    } else if style.has_links {
        terminal::link(url, name)
    } else {
        format!("{name} <{url}>")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_shown_without_marks() {
        let page = "# a-rule\n\n## What it does\n\nFinds `x * y` and *no* other, **ever**; 2 * 3 * 4\nas [said](https://e.org/a) in\n[here](../b.md).\n\n\
                    - one\n- two,\n  and more\n\n```hlsl\nint a;\n\n    b;\n```\n\nSo.\n";
        let shown = for_terminal(page, Style::default());
        assert_eq!(
            shown,
            "\x1b[1ma-rule\x1b[0m\n\n\x1b[1mWhat it does\x1b[0m\n\nFinds \x1b[36mx * y\x1b[0m and \x1b[3mno\x1b[0m other, \
             \x1b[1mever\x1b[0m; 2 * 3 * 4 as said <https://e.org/a>\nin here.\n\n- one\n- two, and more\n\n    int a;\n\n        \
             b;\n\nSo.\n"
        );
    }

    #[test]
    fn nothing_of_a_rules_page_is_lost() {
        let letters = |text: &str| -> String { text.chars().filter(|c| c.is_alphanumeric()).collect() };
        for rule in shaderlint_rules::RULES {
            let mut shown = for_terminal(rule.explanation, Style::default());
            for escape in ["\x1b[0m", "\x1b[1m", "\x1b[3m", "\x1b[36m"] {
                shown = shown.replace(escape, "");
            }
            let page = rule.explanation.replace("```hlsl", "```");
            let urls = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
            let local = urls.filter(|url| !url.starts_with("http"));
            let page = local.fold(page.clone(), |page, url| page.replace(&format!("({url})"), "()"));
            assert_eq!(letters(&shown), letters(&page), "{}", rule.id);
        }
    }
}
