//! Lines that start with `#`: definitions, includes, and the regions that conditions leave out.

use std::rc::Rc;

use super::lex::{self, Kind};
use super::outline::{Line, line, line_start, next_hash};
use super::text::{SourceText, offset};
use super::token::{Symbol, Token};
use super::unit::{Condition, Unit};
use super::{Branch, Inactive, MAX_INCLUDE_DEPTH, MAX_INCLUSIONS, NOT_FOUND, Taken};
use super::{macros, unity};
use crate::MatrixOrder;
use crate::span::{Cause, FileId, FileSpan, Problem};

/// The keywords that a misspelt keyword may mean.
const KEYWORDS: [&str; 13] = [
    "include", "define", "undef", "if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "endif",
    "pragma", "error",
];

/// The directive that opens a region, which begins on the next line.
#[derive(Clone, Copy)]
struct Opening {
    line: Line,
    branch: Branch,
    /// The place of its condition.
    asks: FileSpan,
}

impl Unit<'_> {
    /// Obeys the directive whose `#` is next in the file. Reads to the end of its line, or to the end of the line
    /// that closes a left-out region.
    pub fn directive(&mut self, in_call: bool) {
        let source = Rc::clone(&self.frame.source);
        let bytes = source.bytes();
        let (line, keyword) = line(bytes, self.frame.at);
        self.frame.at = line.end;
        self.out.broken = true;
        if let Some(at) = line.open_comment {
            self.open_comment(at);
        }
        if let Some(branch) = branch(keyword) {
            self.branch(&source, line, branch);
            return;
        }
        let rest = bytes.get(line.keyword_end..line.end).unwrap_or_default();
        let place = source.place(line.hash, line.keyword_end);
        match keyword {
            b"define" => self.define(&source, line),
            b"undef" => match self.tokens(rest, Some(line.keyword_end)).first() {
                Some(name) if name.kind == Kind::Ident => {
                    self.names.define(name.symbol, None);
                    self.note_defined(&source, line);
                }
                _ => self.problem("`#undef` without a name".to_owned(), Some(place)),
            },
            b"include" | b"include_with_pragmas" => self.include(&source, line, in_call),
            b"pragma" => {
                let rest = rest.to_vec();
                self.pragma(&rest, Some(line));
            }
            b"endif" => match self.frame.conditions.last().copied() {
                Some(condition) => {
                    self.close_taken(&source, condition, line);
                    self.frame.conditions.pop();
                }
                None => self.problem("`#endif` without `#if`".to_owned(), Some(place)),
            },
            b"error" => {
                let text = String::from_utf8_lossy(rest);
                let place = source.place(line.hash, line.end);
                self.problem(format!("`#error`: {}", text.trim()), Some(place));
                self.is_refused = true;
            }
            b"line" => self.set_line(&source, line),
            // A line marker.
            [b'0'..=b'9', ..] => self.set_line_to(&source, line, keyword),
            b"warning" | b"ident" => {}
            _ if keyword.is_empty() && lex::space(rest, 0, true).end == rest.len() => {}
            _ => {
                let place = source.place(line.hash, line.end);
                let message = match meant(&String::from_utf8_lossy(keyword)) {
                    Some(meant) => format!("unknown directive; did you mean `#{meant}`?"),
                    None => "unknown directive".to_owned(),
                };
                self.problem(message, Some(place));
            }
        }
    }

    /// `#line NUMBER`, where the number may be a macro.
    fn set_line(&mut self, source: &SourceText, line: Line) {
        let tokens = self.tokens_of(source, line);
        if let Ok(tokens) = self.expand_list(tokens, line.hash, false)
            && let Some(number) = tokens.first()
        {
            let number = self.names.text(number.symbol).to_vec();
            self.set_line_to(source, line, &number);
        }
    }

    /// Sets the number of the next line.
    fn set_line_to(&mut self, source: &SourceText, line: Line, number: &[u8]) {
        let number = std::str::from_utf8(number)
            .ok()
            .and_then(|digits| digits.parse::<u32>().ok());
        let behind = source.line(source.file_start(line.end)) + 1;
        if let Some(shift) =
            number.and_then(|number| Some(isize::try_from(number).ok()? - isize::try_from(behind).ok()?))
        {
            let from = source.file_start(line.end);
            self.frame.line_shifts.push((from, shift));
        }
    }

    /// `#pragma TEXT` at a line, or `_Pragma("TEXT")` without one.
    pub fn pragma(&mut self, text: &[u8], line: Option<Line>) {
        let begin = lex::space(text, 0, true).end;
        let (word, argument) = text
            .get(begin..)
            .unwrap_or_default()
            .split_at(lex::word_end(text, begin) - begin);
        let file = self.frame.source.id;
        match word {
            b"once" => {
                self.once.insert(file);
            }
            b"kernel" if file == FileId(0) => unity::note(&mut self.kernels, argument),
            b"pack_matrix" => {
                let at = line.map(|line| line.keyword_end + begin + word.len());
                self.pack_matrix(argument, at, line.map_or(self.frame.at, |line| line.hash));
            }
            _ => {}
        }
    }

    /// `pack_matrix(ORDER)`, where the order may be a macro. `at` is the position of `argument`, if the file contains
    /// it.
    fn pack_matrix(&mut self, argument: &[u8], at: Option<usize>, hash: usize) {
        let tokens = self.tokens(argument, at);
        let Ok(tokens) = self.expand_list(tokens, hash, false) else {
            return;
        };
        let order = tokens
            .iter()
            .find_map(|token| match self.names.text(token.symbol) {
                b"row_major" => Some(MatrixOrder::RowMajor),
                b"column_major" => Some(MatrixOrder::ColumnMajor),
                _ => None,
            });
        if let Some(order) = order {
            self.matrix_orders.push((offset(self.out.text.len()), order));
        }
    }

    fn define(&mut self, source: &SourceText, line: Line) {
        let rest = source.bytes().get(line.keyword_end..line.end).unwrap_or_default();
        let tokens = self.tokens(rest, Some(line.keyword_end));
        let mut complaints = Vec::new();
        match macros::definition(&tokens, &mut complaints) {
            Ok((name, definition)) => {
                self.names.define(name, Some(definition));
                self.note_defined(source, line);
            }
            Err(complaint) => complaints.push(complaint),
        }
        for (message, token) in complaints {
            let place = match token {
                Some(token) => self.place_of(source.id, &[token]),
                None => None,
            };
            let place = place.unwrap_or_else(|| source.place(line.hash, line.keyword_end));
            self.problem(message.to_owned(), Some(place));
        }
    }

    /// Notes a `#define` or `#undef` that the unit obeys.
    fn note_defined(&mut self, source: &SourceText, line: Line) {
        let at = offset(self.out.text.len());
        self.defined.note(at, source.id, source.file_start(line.hash));
    }

    /// The range from the first of these tokens to the last. All are in this file.
    fn place_of(&self, file: FileId, tokens: &[Token]) -> Option<FileSpan> {
        let (first, last) = (tokens.first()?, tokens.last()?);
        let (_, start) = first.place?;
        let (_, end) = last.place?;
        let length = offset(self.names.text(last.symbol).len());
        Some(FileSpan {
            file,
            start,
            end: end.saturating_add(length),
        })
    }

    /// An `#if`, `#elif` or `#else` of any kind, in a region that is taken.
    fn branch(&mut self, source: &SourceText, line: Line, branch: Branch) {
        let place = source.place(line.hash, line.keyword_end);
        if matches!(branch, Branch::If | Branch::Ifdef | Branch::Ifndef) {
            let (holds, asks) = self.holds(source, line, branch);
            let opening = Opening { line, branch, asks };
            let group = self.groups.len();
            self.groups.push(None);
            let mut condition = Condition {
                place,
                asks,
                taken: None,
                saw_else: false,
                group,
            };
            if holds {
                condition.taken = Some(self.take(source, opening));
                self.frame.conditions.push(condition);
            } else {
                self.frame.conditions.push(condition);
                self.skip(source, opening);
            }
            return;
        }
        let Some(condition) = self.frame.conditions.last().copied() else {
            self.problem(format!("`{}` without `#if`", name(branch)), Some(place));
            return;
        };
        self.close_taken(source, condition, line);
        let asks = self.next_branch(source, line, branch, condition);
        self.skip(source, Opening { line, branch, asks });
    }

    /// Notes that the branch at `line` belongs to `condition`. Returns the place of the branch's condition.
    fn next_branch(
        &mut self,
        source: &SourceText,
        line: Line,
        branch: Branch,
        condition: Condition,
    ) -> FileSpan {
        let place = source.place(line.hash, line.keyword_end);
        if condition.saw_else {
            self.problem(format!("`{}` after `#else`", name(branch)), Some(place));
        }
        if branch == Branch::Else {
            if let Some(condition) = self.frame.conditions.last_mut() {
                condition.saw_else = true;
            }
            return condition.asks;
        }
        let tokens = self.tokens_of(source, line);
        self.place_of(source.id, &tokens).unwrap_or(place)
    }

    fn tokens_of(&mut self, source: &SourceText, line: Line) -> Vec<Token> {
        let rest = source.bytes().get(line.keyword_end..line.end).unwrap_or_default();
        self.tokens(rest, Some(line.keyword_end))
    }

    /// Whether the condition at `line` holds, and the place of the condition.
    fn holds(&mut self, source: &SourceText, line: Line, branch: Branch) -> (bool, FileSpan) {
        let tokens = self.tokens_of(source, line);
        let keyword = source.place(line.hash, line.keyword_end);
        let place = self.place_of(source.id, &tokens).unwrap_or(keyword);
        let wants = match branch {
            Branch::Ifdef | Branch::Elifdef => true,
            Branch::Ifndef | Branch::Elifndef => false,
            Branch::Else => return (true, place),
            Branch::If | Branch::Elif => {
                return (self.evaluate(source, line, tokens, place), place);
            }
        };
        match tokens.first() {
            Some(name) if name.kind == Kind::Ident => {
                let is_defined = self.names.definition(name.symbol).is_some();
                let place = self.place_of(source.id, &[*name]).unwrap_or(place);
                (is_defined == wants, place)
            }
            _ => {
                self.problem("condition without a name".to_owned(), Some(place));
                (false, place)
            }
        }
    }

    fn evaluate(&mut self, source: &SourceText, line: Line, tokens: Vec<Token>, place: FileSpan) -> bool {
        debug_assert_eq!(source.id, self.frame.source.id);
        let result = match self.expand_list(tokens, line.hash, true) {
            Ok(tokens) => super::condition::holds(&tokens, &self.names),
            Err(why) => Err(format!("a macro in this condition {why}")),
        };
        result.unwrap_or_else(|message| {
            self.tell(Problem {
                cause: Cause::Condition,
                ..Problem::new(message, Some(place))
            });
            false
        })
    }

    /// Starts a region that is taken.
    fn take(&mut self, source: &SourceText, opening: Opening) -> Taken {
        let start = source.file_start(lex::past_newline(source.bytes(), opening.line.end));
        self.active.insert((source.id, start));
        Taken {
            region: FileSpan {
                file: source.id,
                start,
                end: start,
            },
            condition: opening.asks,
            opened_by: opening.branch,
        }
    }

    /// Notes that the region being taken ends before `line`.
    fn close_taken(&mut self, source: &SourceText, condition: Condition, line: Line) {
        let end = source.file_end(line_start(source.bytes(), line.hash));
        if let (Some(mut taken), Some(group)) = (condition.taken, self.groups.get_mut(condition.group)) {
            taken.region.end = end.max(taken.region.start);
            group.get_or_insert(taken);
        }
    }

    /// Leaves out a region and the regions after it, up to the directive that opens a taken region or closes the
    /// `#if`.
    fn skip(&mut self, source: &SourceText, opening: Opening) {
        let bytes = source.bytes();
        let mut opening = opening;
        let mut at = lex::past_newline(bytes, opening.line.end);
        let mut depth = 0_usize;
        while let Some(hash) = next_hash(bytes, at) {
            let (line, keyword) = line(bytes, hash);
            at = line.end;
            let branch = branch(keyword);
            match branch {
                Some(Branch::If | Branch::Ifdef | Branch::Ifndef) => {
                    depth += 1;
                    continue;
                }
                None if keyword == b"endif" && depth > 0 => {
                    depth -= 1;
                    continue;
                }
                None if keyword != b"endif" => continue,
                _ if depth > 0 => continue,
                _ => {}
            }
            let Some(condition) = self.frame.conditions.last().copied() else {
                break;
            };
            self.leave_out(source, opening, line_start(bytes, hash), condition.group);
            self.frame.at = line.end;
            let Some(branch) = branch else {
                self.frame.conditions.pop();
                return;
            };
            let asks = self.next_branch(source, line, branch, condition);
            opening = Opening { line, branch, asks };
            // No region after an `#else` is taken.
            if condition.taken.is_none() && !condition.saw_else && self.holds(source, line, branch).0 {
                let taken = self.take(source, opening);
                if let Some(condition) = self.frame.conditions.last_mut() {
                    condition.taken = Some(taken);
                }
                return;
            }
        }
        if let Some(condition) = self.frame.conditions.last().copied() {
            self.leave_out(source, opening, bytes.len(), condition.group);
        }
        self.frame.at = bytes.len();
    }

    /// Notes a left-out region, from its opening to `end`.
    fn leave_out(&mut self, source: &SourceText, opening: Opening, end: usize, group: usize) {
        let start = lex::past_newline(source.bytes(), opening.line.end);
        if start < end {
            let region = Inactive {
                region: source.place(start, end),
                condition: opening.asks,
                opened_by: opening.branch,
                taken: None,
            };
            self.inactive.push((region, group));
        }
    }

    fn include(&mut self, source: &SourceText, line: Line, in_call: bool) {
        let bytes = source.bytes();
        let begin = lex::space(bytes, line.keyword_end, false).end;
        let rest = bytes.get(begin..line.end).unwrap_or_default();
        let close = match rest.first() {
            Some(b'"') => Some(b'"'),
            Some(b'<') => Some(b'>'),
            _ => None,
        };
        let written = close.and_then(|close| {
            let length = rest.iter().skip(1).position(|&byte| byte == close)?;
            Some((rest.get(1..=length)?.to_vec(), length + 2))
        });
        let (path, angled, place) = if let Some((path, length)) = written {
            (path, close == Some(b'>'), source.place(begin, begin + length))
        } else {
            let tokens = self.tokens_of(source, line);
            let keyword = source.place(line.hash, line.keyword_end);
            let place = self.place_of(source.id, &tokens).unwrap_or(keyword);
            let tokens = self.expand_list(tokens, line.hash, false).unwrap_or_default();
            let Some((path, angled)) = self.made_path(&tokens) else {
                self.unread("`#include` without a path".to_owned(), Some(place));
                return;
            };
            (path, angled, place)
        };
        if in_call {
            let message = "shaderlint does not follow an `#include` among the arguments of a macro call";
            self.unread(message.to_owned(), Some(place));
            return;
        }
        let directive = source.file_start(line.hash);
        self.follow(&path, angled, place, directive);
    }

    /// The path that the expansion of an `#include` spells, and whether it is in angle brackets.
    pub fn made_path(&self, tokens: &[Token]) -> Option<(Vec<u8>, bool)> {
        let (first, rest) = tokens.split_first()?;
        if first.kind == Kind::String {
            let text = self.names.text(first.symbol);
            return Some((text.get(1..text.len().saturating_sub(1))?.to_vec(), false));
        }
        let length = rest.iter().position(|token| token.symbol == Symbol::GREATER)?;
        if first.symbol != Symbol::LESS {
            return None;
        }
        let mut path = Vec::new();
        for (index, token) in rest.iter().take(length).enumerate() {
            if token.white && index > 0 {
                path.push(b' ');
            }
            path.extend_from_slice(self.names.text(token.symbol));
        }
        Some((path, true))
    }

    fn follow(&mut self, path: &[u8], angled: bool, place: FileSpan, directive: u32) {
        let shown = String::from_utf8_lossy(path).into_owned();
        let from = self.frame.source.id;
        let Some(file) = self.resolve(path, angled) else {
            self.tell(Problem {
                message: format!("cannot find `{shown}`"),
                place: Some(place),
                cause: Cause::Missing(shown),
            });
            self.leave_gap(directive);
            return;
        };
        if self.once.contains(&file) {
            return;
        }
        let is_open = file == from || self.parents.iter().any(|parent| parent.source.id == file);
        let is_full = self.parents.len() + 1 >= MAX_INCLUDE_DEPTH;
        if is_full && self.too_deep.insert(file) {
            let why = if is_open {
                "includes itself"
            } else {
                "is included too deeply"
            };
            self.unread(format!("`{shown}` {why}"), Some(place));
        }
        // Once reported, such a file no longer includes itself at all: 64 levels with two includes each would never end.
        if is_full || (is_open && self.too_deep.contains(&file)) {
            self.leave_gap(directive);
            return;
        }
        self.inclusions += 1;
        if self.inclusions >= MAX_INCLUSIONS {
            if self.inclusions == MAX_INCLUSIONS {
                let message = format!("more than {MAX_INCLUSIONS} includes: shaderlint skips the rest");
                self.unread(message, Some(place));
            }
            self.leave_gap(directive);
            return;
        }
        self.included = self.open(
            file,
            Some(FileSpan {
                start: directive,
                ..place
            }),
        );
    }

    /// The file that an `#include` names here.
    pub fn resolve(&mut self, path: &[u8], angled: bool) -> Option<FileId> {
        let frames = std::iter::once(&self.frame).chain(self.parents.iter().rev());
        let readers: Vec<FileId> = frames.map(|frame| frame.source.id).collect();
        let key = (readers, path.to_vec(), angled);
        if let Some(&known) = self.resolved.get(&key) {
            return known;
        }
        let readers = key.0.iter().filter_map(|id| self.sources.get(*id));
        let readers: Vec<&str> = readers.map(|file| file.path.as_str()).collect();
        let found = self
            .includes
            .resolve(&readers, &String::from_utf8_lossy(path), angled);
        let file = found.map(|found| self.add_file(&found.path, &found.text));
        self.resolved.insert(key, file);
        file
    }

    /// Notes that a file is missing here. Inside braces, its text may be statements or members: a call of an
    /// undeclared function stands for it.
    fn leave_gap(&mut self, directive: u32) {
        let text = &self.out.text;
        let (from, mut depth) = self.braces;
        for byte in text.get(from..).unwrap_or_default() {
            match byte {
                b'{' => depth = depth.saturating_add(1),
                b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        self.braces = (text.len(), depth);
        self.gaps.push(offset(text.len()));
        if depth > 0 {
            for byte in NOT_FOUND {
                self.out.gap(self.frame.inclusion, directive, *byte);
            }
        }
    }
}

fn branch(keyword: &[u8]) -> Option<Branch> {
    Some(match keyword {
        b"if" => Branch::If,
        b"ifdef" => Branch::Ifdef,
        b"ifndef" => Branch::Ifndef,
        b"elif" => Branch::Elif,
        b"elifdef" => Branch::Elifdef,
        b"elifndef" => Branch::Elifndef,
        b"else" => Branch::Else,
        _ => return None,
    })
}

fn name(branch: Branch) -> &'static str {
    match branch {
        Branch::If => "#if",
        Branch::Ifdef => "#ifdef",
        Branch::Ifndef => "#ifndef",
        Branch::Elif => "#elif",
        Branch::Elifdef => "#elifdef",
        Branch::Elifndef => "#elifndef",
        Branch::Else => "#else",
    }
}

/// The most similar keyword, if only a few letters differ.
fn meant(keyword: &str) -> Option<&'static str> {
    let distances = KEYWORDS.map(|known| (strsim::osa_distance(known, keyword), known));
    let nearest = distances.into_iter().min_by_key(|(distance, _)| *distance);
    nearest
        .filter(|(distance, _)| distance * 3 <= keyword.len())
        .map(|(_, known)| known)
}
