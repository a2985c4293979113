//! The layout of a file, so that new text has the same.

use crate::habits::Habits;

/// The layout of lines at the place of an edit.
pub(crate) struct Style<'a> {
    pub newline: &'static str,
    /// The white space at the start of the line.
    pub margin: &'a str,
    /// The further white space of a line in a block.
    step: String,
    file: &'a [u8],
}

impl<'a> Style<'a> {
    pub fn at(text: &'a [u8], offset: usize) -> Option<Style<'a>> {
        let start = text
            .get(..offset)?
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |newline| newline + 1);
        let line = text.get(start..)?;
        let width = line
            .iter()
            .position(|byte| !matches!(byte, b' ' | b'\t'))
            .unwrap_or(line.len());
        let first_newline = text.iter().position(|byte| *byte == b'\n');
        let is_crlf =
            first_newline.is_some_and(|newline| text.get(..newline).is_some_and(|l| l.ends_with(b"\r")));
        let margin = std::str::from_utf8(line.get(..width)?).ok()?;
        let usual = if margin.starts_with('\t') { "\t" } else { "    " };
        Some(Style {
            newline: if is_crlf { "\r\n" } else { "\n" },
            margin,
            step: step(text).unwrap_or(usual).to_owned(),
            file: text,
        })
    }

    /// `text`, which has four spaces for each step, with the file's habits, line endings and steps; each line but the
    /// first begins at the margin.
    pub fn lay_out(&self, text: &str) -> String {
        let mut laid_out = String::with_capacity(text.len());
        for (number, line) in Habits::of(self.file).applied(text).split('\n').enumerate() {
            if number > 0 {
                laid_out.push_str(self.newline);
                // The last, empty line of `Before` needs the margin too, since the old text follows on it.
                laid_out.push_str(self.margin);
            }
            let body = line.trim_start_matches("    ");
            let steps = (line.len() - body.len()) / 4;
            laid_out.extend(std::iter::repeat_n(&*self.step, steps));
            laid_out.push_str(body);
        }
        laid_out
    }
}

/// The indentation step of a file: the further white space of most lines behind one that ends in `{`; `None` without
/// such a line.
fn step(text: &[u8]) -> Option<&str> {
    let mut counts: std::collections::BTreeMap<&[u8], usize> = std::collections::BTreeMap::new();
    let mut opening: Option<&[u8]> = None;
    for line in text.split(|byte| *byte == b'\n') {
        let body = line.trim_ascii_start();
        if body.trim_ascii_end().is_empty() {
            continue;
        }
        let margin = &line[..line.len() - body.len()];
        let further = opening.and_then(|outer| margin.strip_prefix(outer));
        if let Some(step) = further.filter(|step| !step.is_empty() && step.len() <= 8) {
            *counts.entry(step).or_default() += 1;
        }
        opening = body.trim_ascii_end().ends_with(b"{").then_some(margin);
    }
    let (step, _) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    std::str::from_utf8(step).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lay_out(file: &str, at: &str, text: &str) -> String {
        let style = file
            .find(at)
            .and_then(|offset| Style::at(file.as_bytes(), offset));
        style.map_or_else(String::new, |style| style.lay_out(text))
    }

    #[test]
    fn new_text_takes_the_line_endings_and_the_margin() {
        assert_eq!(lay_out("a\n  b\n", "b", "{\n    x\n}"), "{\n      x\n  }");
        assert_eq!(
            lay_out("a\r\n\t\tb\r\n", "b", "{\n    x\n}"),
            "{\r\n\t\t\tx\r\n\t\t}"
        );
        assert_eq!(lay_out("b", "b", "x\ny"), "x\ny");
        // As far in as the file's own blocks.
        let block = "{\n    x\n        y\n}";
        assert_eq!(lay_out("if (a)\n{\n  b\n}\nc\n", "c", block), "{\n  x\n    y\n}");
        assert_eq!(lay_out("if (a) {\n\tb\n}\nc\n", "c", block), "{\n\tx\n\t\ty\n}");
    }
}
