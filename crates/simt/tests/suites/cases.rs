//! From the parts of a file to cases: words are replaced by what they stand for, and tables are read row by row.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;

use crate::markdown::{self, PartKind, Row};

/// One kernel or two, and what is expected of them.
pub(crate) struct Case {
    /// The line of its block, or of its row.
    pub line: usize,
    /// The headings above it.
    pub title: String,
    pub kernels: Vec<Kernel>,
    pub facts: Vec<String>,
}

/// The text of a kernel.
#[derive(Clone)]
pub(crate) struct Kernel {
    pub text: String,
    /// Where the case's own part of it lies.
    body: Range<usize>,
}

impl Kernel {
    /// The case's own part of it.
    pub(crate) fn body(&self) -> &str {
        &self.text[self.body.clone()]
    }

    /// The line of a place, counted in the case's own part of the kernel.
    pub(crate) fn line_of(&self, offset: u32) -> i64 {
        let lines = |end: usize| i64::try_from(self.text[..end].matches('\n').count()).expect("a line");
        lines(offset as usize) - lines(self.body.start) + 1
    }
}

/// What words stand for, one word a column. If there are several rows, each is a choice.
struct Words {
    line: usize,
    columns: Vec<Word>,
    rows: Vec<Row>,
}

impl Words {
    fn new(line: usize, columns: &[String], rows: Vec<Row>) -> Result<Self, String> {
        let columns: Result<Vec<Word>, String> = columns.iter().map(|name| Word::new(name)).collect();
        Ok(Words {
            line,
            columns: columns.map_err(|why| format!("{line}: {why}"))?,
            rows,
        })
    }

    /// They belong to the case that the next facts are of, not to the section.
    fn is_of_case(&self) -> bool {
        self.columns
            .iter()
            .any(|column| column.name == BODY || column.side.is_some())
    }

    fn check_used(&self) -> Result<(), String> {
        match self.columns.iter().find(|column| !column.is_used.get()) {
            Some(unused) => Err(format!("{}: no kernel below uses `{}`", self.line, unused.name)),
            None => Ok(()),
        }
    }
}

struct Word {
    name: String,
    /// The one of two kernels that it is for; none if it is for both.
    side: Option<usize>,
    is_used: Cell<bool>,
}

/// The kernel around the bodies of cases.
const KERNEL: &str = "KERNEL";
/// The case's own part of the kernel.
const BODY: &str = "BODY";
/// Declarations of a section; nothing where none are given.
const GLOBALS: &str = "GLOBALS";
const FACTS: &str = "facts";
/// A column that is for people.
const NOTE: &str = "note";
const SIDES: [&str; 2] = ["first", "second"];

impl Word {
    /// A word by the name of its block or column: `NAME`, `first NAME`, `first`, or nothing for the body.
    fn new(name: &str) -> Result<Self, String> {
        let mut parts = name.split_whitespace().peekable();
        let side = parts.next_if(|part| SIDES.contains(part));
        let word = parts.next().unwrap_or(BODY);
        let is_word = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        if !word.chars().all(is_word) || parts.next().is_some() {
            return Err(format!(
                "`{name}` is neither a word in capitals nor `first` or `second`"
            ));
        }
        Ok(Word {
            name: word.to_owned(),
            side: side.and_then(|side| SIDES.iter().position(|name| *name == side)),
            is_used: Cell::new(false),
        })
    }
}

/// A heading with the words and facts below it.
struct Section {
    line: usize,
    level: usize,
    title: String,
    words: Vec<Words>,
    /// Facts of all its cases.
    facts: Vec<String>,
    has_cases: bool,
}

/// The cases of a file, or the line and the reason for which it is no suite.
pub(crate) fn read(text: &str) -> Result<Vec<Case>, String> {
    let mut reader = Reader::default();
    for part in markdown::read(text)? {
        let line = part.line;
        match part.kind {
            PartKind::Heading { level, title } => {
                reader.leave(level)?;
                reader.sections.push(Section {
                    line,
                    level,
                    title,
                    words: Vec::new(),
                    facts: Vec::new(),
                    has_cases: false,
                });
            }
            PartKind::Block { info, text } if info == FACTS => {
                let facts: Vec<&str> = text.lines().collect();
                reader.state_block(line, &facts)?;
            }
            PartKind::Block { info, text } => {
                let name = info.strip_prefix("hlsl");
                let name = name.ok_or_else(|| format!("{line}: this block is neither `hlsl` nor `facts`"))?;
                let row = Row {
                    line,
                    cells: vec![text],
                };
                reader.explain(Words::new(line, &[name.to_owned()], vec![row])?)?;
            }
            PartKind::Table {
                mut columns,
                mut rows,
            } => {
                if let Some(note) = columns.iter().position(|column| column == NOTE) {
                    columns.remove(note);
                    for row in &mut rows {
                        row.cells.remove(note);
                    }
                }
                match columns.iter().position(|column| column == FACTS) {
                    Some(facts) => reader.state_rows(line, columns, rows, facts)?,
                    None => reader.explain(Words::new(line, &columns, rows)?)?,
                }
            }
        }
    }
    reader.leave(0)?;
    Ok(reader.cases)
}

#[derive(Default)]
struct Reader {
    /// The headings above, from the outermost on.
    sections: Vec<Section>,
    /// The blocks and tables of the case that is being read.
    own: Vec<Words>,
    cases: Vec<Case>,
}

impl Reader {
    /// Leaves the sections of this level and below.
    fn leave(&mut self, level: usize) -> Result<(), String> {
        if let Some(words) = self.own.first() {
            return Err(format!("{}: no facts follow this", words.line));
        }
        while let Some(left) = self.sections.pop_if(|section| section.level >= level) {
            left.words.iter().try_for_each(Words::check_used)?;
            if !left.facts.is_empty() && !left.has_cases {
                return Err(format!(
                    "{}: this section states facts, but has no cases",
                    left.line
                ));
            }
        }
        Ok(())
    }

    fn explain(&mut self, words: Words) -> Result<(), String> {
        let section = self.sections.last_mut();
        let section = section.ok_or_else(|| format!("{}: no heading is above this", words.line))?;
        if words.is_of_case() {
            self.own.push(words);
        } else {
            section.words.push(words);
        }
        Ok(())
    }

    /// Adds the cases of a block of facts. Right below a heading, they are facts of all its cases.
    fn state_block(&mut self, line: usize, facts: &[&str]) -> Result<(), String> {
        if !self.own.is_empty() {
            self.state(line, None, facts)?;
            return self.end_case();
        }
        let section = self.sections.last_mut();
        let section = section.ok_or_else(|| format!("{line}: no heading is above this"))?;
        if section.has_cases {
            return Err(format!("{line}: no block is above these facts"));
        }
        section.facts.extend(facts.iter().map(|fact| (*fact).to_owned()));
        Ok(())
    }

    /// Adds the cases of a table that states facts in each row.
    fn state_rows(
        &mut self,
        line: usize,
        mut columns: Vec<String>,
        rows: Vec<Row>,
        facts: usize,
    ) -> Result<(), String> {
        columns.remove(facts);
        self.own.push(Words::new(line, &columns, Vec::new())?);
        for mut row in rows {
            let (line, stated) = (row.line, row.cells.remove(facts));
            let stated: Vec<&str> = stated
                .split("<br>")
                .map(|fact| fact.trim().trim_matches('`'))
                .collect();
            if let Some(table) = self.own.last_mut() {
                table.rows = vec![row];
            }
            self.state(line, Some(line), &stated)?;
        }
        self.end_case()
    }

    fn end_case(&mut self) -> Result<(), String> {
        self.own.drain(..).try_for_each(|words| words.check_used())
    }

    /// Adds the cases that these facts are of: one for each choice of rows from the tables that their kernels use. If `row` is
    /// none, a case is where its first chosen row is, or its first block.
    fn state(&mut self, line: usize, row: Option<usize>, facts: &[&str]) -> Result<(), String> {
        let error = |why: &str| format!("{line}: {why}");
        if facts.iter().all(|fact| fact.is_empty()) {
            return Err(error("no facts are stated"));
        }
        for section in &mut self.sections {
            section.has_cases = true;
        }
        let of_sections = self
            .sections
            .iter()
            .flat_map(|section| section.facts.iter().cloned());
        let facts: Vec<String> = { facts.iter() }
            .map(|fact| (*fact).to_owned())
            .chain(of_sections)
            .collect();
        let titles: Vec<&str> = self
            .sections
            .iter()
            .skip(1)
            .map(|section| &*section.title)
            .collect();
        let columns = || self.own.iter().flat_map(|words| &words.columns);
        let sides = if columns().any(|column| column.side.is_some()) {
            2
        } else {
            1
        };
        let sections = self.sections.iter().rev();
        let words: Vec<&Words> = { self.own.iter() }
            .chain(sections.flat_map(|section| section.words.iter().rev()))
            .collect();
        let first = self.own.first().and_then(|words| words.rows.first());
        let mut open = vec![BTreeMap::new()];
        while let Some(choice) = open.pop() {
            let kernels = (0..sides).map(|side| Expansion::of(&words, &choice, side));
            match kernels.collect::<Result<Vec<Kernel>, Unexpanded>>() {
                Ok(kernels) => {
                    let chosen = choice.iter().next();
                    let chosen = chosen.map(|(table, row)| &words[*table].rows[*row]).or(first);
                    self.cases.push(Case {
                        line: row.or(chosen.map(|row| row.line)).unwrap_or(line),
                        title: titles.join(": "),
                        kernels,
                        facts: facts.clone(),
                    });
                }
                Err(Unexpanded::Choice(table)) => {
                    for row in (0..words[table].rows.len()).rev() {
                        let mut choice = choice.clone();
                        choice.insert(table, row);
                        open.push(choice);
                    }
                }
                Err(Unexpanded::Wrong(why)) => return Err(error(&why)),
            }
        }
        Ok(())
    }
}

/// Why a text is not expanded yet, or never.
enum Unexpanded {
    /// A row of this table has to be chosen.
    Choice(usize),
    Wrong(String),
}

/// A text in which words are replaced by what they stand for.
struct Expansion<'a> {
    /// All words, from the nearest to the farthest.
    words: &'a [&'a Words],
    /// The row that is chosen in each table.
    choice: &'a BTreeMap<usize, usize>,
    side: usize,
    so_far: String,
    body: Option<Range<usize>>,
    /// The words that are being replaced.
    within: Vec<&'a str>,
}

impl<'a> Expansion<'a> {
    fn of(
        words: &'a [&'a Words],
        choice: &'a BTreeMap<usize, usize>,
        side: usize,
    ) -> Result<Kernel, Unexpanded> {
        let mut expansion = Expansion {
            words,
            choice,
            side,
            so_far: String::new(),
            body: None,
            within: Vec::new(),
        };
        let has_kernel = expansion.find(KERNEL).is_some();
        expansion.push_word(if has_kernel { KERNEL } else { BODY })?;
        let text = expansion.so_far;
        let body = expansion.body.unwrap_or(0..text.len());
        Ok(Kernel { text, body })
    }

    /// The nearest table with a column of this name, and the column.
    fn find(&self, name: &str) -> Option<(usize, usize)> {
        self.words.iter().enumerate().find_map(|(table, words)| {
            let is_meant = |word: &Word| word.name == name && word.side.is_none_or(|side| side == self.side);
            Some((table, words.columns.iter().position(is_meant)?))
        })
    }

    /// Adds what a word stands for.
    fn push_word(&mut self, name: &'a str) -> Result<(), Unexpanded> {
        let Some((table, column)) = self.find(name) else {
            return match name {
                GLOBALS => Ok(()),
                _ => Err(Unexpanded::Wrong(format!(
                    "nothing says what `{name}` stands for"
                ))),
            };
        };
        if self.within.contains(&name) {
            return Err(Unexpanded::Wrong(format!("`{name}` stands for itself")));
        }
        let words = self.words[table];
        let row = match (self.choice.get(&table), &words.rows[..]) {
            (Some(row), rows) => &rows[*row],
            (None, [row]) => row,
            (None, _) => return Err(Unexpanded::Choice(table)),
        };
        words.columns[column].is_used.set(true);
        self.within.push(name);
        let start = self.so_far.len();
        self.push_text(&row.cells[column])?;
        if name == BODY {
            self.body = Some(start..self.so_far.len());
        }
        self.within.pop();
        Ok(())
    }

    fn push_text(&mut self, text: &'a str) -> Result<(), Unexpanded> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut rest = text;
        while !rest.is_empty() {
            let (name, behind) = rest.split_at(rest.find(|c| !is_part(c)).unwrap_or(rest.len()));
            if [BODY, GLOBALS].contains(&name) || self.find(name).is_some() {
                self.push_word(name)?;
            } else {
                self.so_far.push_str(name);
            }
            let (between, next) = behind.split_at(behind.find(is_part).unwrap_or(behind.len()));
            self.so_far.push_str(between);
            rest = next;
        }
        Ok(())
    }
}
