//! Reads as much of Markdown as suites are written in: headings, fenced blocks and tables.

/// A part of a file, and the line that it begins on.
pub(crate) struct Part {
    pub line: usize,
    pub kind: PartKind,
}

pub(crate) enum PartKind {
    Heading { level: usize, title: String },
    Block { info: String, text: String },
    Table { columns: Vec<String>, rows: Vec<Row> },
}

#[derive(Clone)]
pub(crate) struct Row {
    pub line: usize,
    pub cells: Vec<String>,
}

/// The parts of a file in order. Prose between them is for people.
pub(crate) fn read(text: &str) -> Result<Vec<Part>, String> {
    let mut lines = (1..).zip(text.lines()).peekable();
    let mut parts = Vec::new();
    while let Some((line, start)) = lines.next() {
        let kind = if let Some(info) = start.strip_prefix("```") {
            let mut block = Vec::new();
            loop {
                let (_, inner) = lines.next().ok_or(format!("{line}: this block has no end"))?;
                if inner.trim_end() == "```" {
                    break;
                }
                block.push(inner);
            }
            PartKind::Block {
                info: info.trim().to_owned(),
                text: block.join("\n"),
            }
        } else if start.starts_with('#') {
            let title = start.trim_start_matches('#');
            PartKind::Heading {
                level: start.len() - title.len(),
                title: title.trim().to_owned(),
            }
        } else if start.starts_with('|') {
            let columns = cells(start);
            let mut rows = Vec::new();
            while let Some((line, row)) = lines.next_if(|(_, row)| row.starts_with('|')) {
                let cells = cells(row);
                if cells.len() != columns.len() {
                    return Err(format!(
                        "{line}: this row has {} cells, not {}",
                        cells.len(),
                        columns.len()
                    ));
                }
                rows.push(Row { line, cells });
            }
            if rows.is_empty() {
                return Err(format!("{line}: this table has no rows"));
            }
            // The line of dashes.
            rows.remove(0);
            PartKind::Table { columns, rows }
        } else if start.trim_start().starts_with(['|', '`', '#']) && start.starts_with(' ') {
            return Err(format!("{line}: headings, blocks and tables begin at the margin"));
        } else {
            continue;
        };
        parts.push(Part { line, kind });
    }
    Ok(parts)
}

/// The cells of a row, without the backticks around code. `\|` is a bar in a cell.
fn cells(row: &str) -> Vec<String> {
    let row = row.replace("\\|", "\u{0}");
    let row = row.trim().trim_start_matches('|').trim_end_matches('|');
    let cells = row.split('|').map(|cell| {
        let cell = cell.trim();
        let ticks = cell.len() - cell.trim_start_matches('`').len();
        let code = cell
            .get(ticks..cell.len().saturating_sub(ticks))
            .unwrap_or_default();
        let is_code = ticks > 0 && cell.ends_with(&"`".repeat(ticks)) && !code.contains('`');
        let text = if is_code { code.trim() } else { cell };
        text.replace('\u{0}', "|")
    });
    cells.collect()
}
