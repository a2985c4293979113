//! One translation unit being read: its files, and the scan over their text.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::expand::Expansion;
use super::lex::{self, Class, Comment, Kind};
use super::macros::{self, Macro};
use super::names::{Names, Symbol, Token};
use super::origins::Output;
use super::text::{self, SourceText};
use super::{
    Branch, Defined, Inactive, KernelVariant, MAX_MESSAGE, MAX_PROBLEMS, MAX_TEXT, Preprocessed, Taken,
};
use crate::span::{Cause, FileId, FileSpan, Problem, SourceFile, Sources};
use crate::text::Text;
use crate::{Includes, MatrixOrder};

/// A file that is being read.
pub(super) struct Frame {
    pub source: Rc<SourceText>,
    pub inclusion: u16,
    /// How far it is read. During a scan this is kept up only where other code may look at it.
    pub at: usize,
    /// The `#if`s that are open.
    pub conditions: Vec<Condition>,
    /// From which position on `__LINE__` is how much beyond the number of a line: after each `#line`.
    pub line_shifts: Vec<(u32, isize)>,
}

/// An `#if` that is open.
#[derive(Clone, Copy)]
pub(super) struct Condition {
    /// The directive, for a complaint.
    pub place: FileSpan,
    /// What the `#if` asks.
    pub asks: FileSpan,
    /// One of its regions was taken. Where that ends is not known yet: it is empty.
    pub taken: Option<Taken>,
    pub saw_else: bool,
    /// Index into [`Unit::groups`].
    pub group: usize,
}

/// A position in the file being read that can be returned to.
pub(super) struct Position(usize);

pub(super) struct Unit<'a> {
    pub includes: &'a dyn Includes,
    pub names: Names,
    pub frame: Frame,
    /// The files that include the one of `frame`, outermost first.
    pub parents: Vec<Frame>,
    /// A file to go on with after the line of its `#include`.
    pub included: Option<Frame>,
    pub expansion: Expansion,
    pub out: Output,
    pub sources: Sources,
    /// By [`FileId`].
    pub texts: Vec<Rc<SourceText>>,
    pub files: FxHashMap<String, FileId>,
    /// What an `#include` meant, by the files that were being read: `None` if no file was found.
    pub resolved: FxHashMap<(Vec<FileId>, Vec<u8>, bool), Option<FileId>>,
    pub once: FxHashSet<FileId>,
    /// Files that were found to include themselves, or too deep.
    pub too_deep: FxHashSet<FileId>,
    pub inclusions: usize,
    pub bytes_read: usize,
    /// Where in the expanded text files would stand that are not read.
    pub gaps: Vec<u32>,
    pub defined: Defined,
    pub matrix_orders: Vec<(u32, MatrixOrder)>,
    pub kernels: Vec<KernelVariant>,
    pub is_refused: bool,
    /// How far the expanded text was looked through for braces, and how many are open there.
    pub braces: (usize, u32),
    /// The regions left out, each with the index of its `#if` in `groups`.
    inactive: Vec<(Inactive, usize)>,
    /// For each `#if` met the region that was taken.
    pub groups: Vec<Option<Taken>>,
    /// File and start of each region that was taken.
    pub active: FxHashSet<(FileId, u32)>,
    /// The conditions as they were before a macro call in whose arguments a directive stands.
    pub saved_conditions: Option<Vec<Condition>>,
    /// Where the macro call or condition at hand starts.
    pub call_start: u32,
    problems: Vec<Problem>,
    reported: FxHashSet<(String, Option<FileSpan>)>,
    /// A limit of the unit is reached: nothing more is read.
    pub stopped: bool,
}

impl<'a> Unit<'a> {
    pub fn new(includes: &'a dyn Includes) -> Self {
        let nothing = Rc::new(SourceText::new(FileId(0), Text::from(&[])));
        Unit {
            includes,
            names: Names::new(),
            frame: Frame {
                source: nothing,
                inclusion: 0,
                at: 0,
                conditions: Vec::new(),
                line_shifts: Vec::new(),
            },
            parents: Vec::new(),
            included: None,
            expansion: Expansion::default(),
            out: Output::default(),
            sources: Sources::default(),
            texts: Vec::new(),
            files: FxHashMap::default(),
            resolved: FxHashMap::default(),
            once: FxHashSet::default(),
            too_deep: FxHashSet::default(),
            inclusions: 0,
            bytes_read: 0,
            gaps: Vec::new(),
            defined: Defined::default(),
            matrix_orders: Vec::new(),
            kernels: Vec::new(),
            is_refused: false,
            braces: (0, 0),
            inactive: Vec::new(),
            groups: Vec::new(),
            active: FxHashSet::default(),
            saved_conditions: None,
            call_start: 0,
            problems: Vec::new(),
            reported: FxHashSet::default(),
            stopped: false,
        }
    }

    pub fn run(
        mut self,
        path: &str,
        text: &Text,
        defines: &[(String, String)],
    ) -> (Preprocessed, Vec<Problem>) {
        self.predefine(defines);
        let file = self.add_file(path, text);
        if let Some(frame) = self.open(file, None) {
            self.frame = frame;
            while self.scan() {
                if let Some(frame) = self.included.take() {
                    self.parents.push(std::mem::replace(&mut self.frame, frame));
                } else if !self.close_file() {
                    break;
                }
            }
        }
        let mut seen = FxHashSet::default();
        let mut inactive = Vec::new();
        for (region, group) in self.inactive {
            let is_active = self.active.contains(&(region.region.file, region.region.start));
            if !is_active && seen.insert(region.region) {
                let taken = self.groups.get(group).copied().flatten();
                inactive.push(Inactive { taken, ..region });
            }
        }
        let (text, origins) = self.out.finish();
        let preprocessed = Preprocessed {
            text,
            origins,
            sources: self.sources,
            inactive,
            gaps: self.gaps,
            defined: self.defined,
            matrix_orders: self.matrix_orders,
            kernels: self.kernels,
            is_refused: self.is_refused,
            given: defines.to_vec(),
            version: None,
        };
        (preprocessed, self.problems)
    }

    fn predefine(&mut self, defines: &[(String, String)]) {
        let builtins = [
            ("__LINE__", Macro::Line),
            ("__FILE__", Macro::File),
            ("__INCLUDE_LEVEL__", Macro::Level),
            ("_Pragma", Macro::Pragma),
        ];
        for (name, builtin) in builtins {
            let name = self.names.intern(name.as_bytes());
            self.names.define(name, Some(builtin));
        }
        for (name, value) in defines {
            let line = format!("{name} {value}").into_bytes();
            let tokens = self.tokens(&line, None);
            match macros::definition(&tokens, &mut Vec::new()) {
                Ok((name, definition)) => self.names.define(name, Some(definition)),
                Err((message, _)) => {
                    self.problem(format!("in the definition `{name}={value}`: {message}"), None);
                }
            }
        }
    }

    /// The file of this path, read before or now.
    pub fn add_file(&mut self, path: &str, text: &Text) -> FileId {
        if let Some(&id) = self.files.get(path) {
            return id;
        }
        let id = FileId(text::offset(self.sources.files.len()));
        let decoded = if text.len() > MAX_TEXT {
            None
        } else {
            text::decoded(text)
        };
        let text = decoded.unwrap_or_else(|| {
            let place = FileSpan {
                file: id,
                start: 0,
                end: 0,
            };
            self.unread(format!("`{path}` is not a text file"), Some(place));
            Text::from(&[])
        });
        self.files.insert(path.to_owned(), id);
        self.texts.push(Rc::new(SourceText::new(id, text.clone())));
        self.sources.files.push(SourceFile {
            path: path.to_owned(),
            text,
        });
        id
    }

    /// A frame to read a file with; `place` is that of the `#include`. `None` if the unit has read enough.
    pub fn open(&mut self, file: FileId, place: Option<FileSpan>) -> Option<Frame> {
        let source = Rc::clone(self.texts.get(file.0 as usize)?);
        self.bytes_read += source.bytes().len();
        if self.bytes_read > MAX_TEXT {
            self.stop("the unit is too large: its files are together over 64 MiB", place);
            return None;
        }
        Some(Frame {
            at: source.start(),
            inclusion: self.out.include(file, self.frame.inclusion, place),
            source,
            conditions: Vec::new(),
            line_shifts: Vec::new(),
        })
    }

    /// Ends the file being read and goes back to the one that includes it, if there is one.
    fn close_file(&mut self) -> bool {
        for condition in std::mem::take(&mut self.frame.conditions) {
            self.problem("`#if` without `#endif`".to_owned(), Some(condition.place));
        }
        let Some(parent) = self.parents.pop() else {
            return false;
        };
        if self.out.text.last().is_some_and(|&last| !lex::is_newline(last)) {
            let end = self.frame.source.file_start(self.frame.at);
            self.out.gap(self.frame.inclusion, end, b'\n');
        }
        self.frame = parent;
        self.out.broken = true;
        true
    }

    pub fn problem(&mut self, message: String, place: Option<FileSpan>) {
        self.tell(Problem::new(message, place));
    }

    pub fn tell(&mut self, mut problem: Problem) {
        let Problem { message, place, .. } = &mut problem;
        // Some quote the file, and that may be much.
        if message.len() > MAX_MESSAGE {
            *message = message.chars().take(MAX_MESSAGE).chain(['…']).collect();
        }
        if self.problems.len() < MAX_PROBLEMS && self.reported.insert((message.clone(), *place)) {
            self.problems.push(problem);
        }
    }

    /// A problem of the macro call, or of the directive, that is being expanded.
    pub fn complain_of_call(&mut self, message: String) {
        let place = FileSpan {
            file: self.frame.source.id,
            start: self.call_start,
            end: self.frame.source.file_end(self.frame.at).max(self.call_start),
        };
        self.problem(message, Some(place));
    }

    pub fn stop(&mut self, message: &str, place: Option<FileSpan>) {
        if !std::mem::replace(&mut self.stopped, true) {
            self.unread(message.to_owned(), place);
        }
    }

    /// A problem of text that is not read.
    pub fn unread(&mut self, message: String, place: Option<FileSpan>) {
        self.tell(Problem {
            cause: Cause::Unread,
            ..Problem::new(message, place)
        });
    }

    pub fn path(&self) -> &str {
        self.sources
            .get(self.frame.source.id)
            .map_or("", |file| &file.path)
    }

    /// What `__LINE__` is there. As in Clang, one among the arguments of a call is that of its own line, and one that a macro
    /// makes is that of the line in which the call of the macro ends (`getExpansionRange` in `ExpandBuiltinMacro`).
    pub fn line_of(&self, name: Token) -> usize {
        let at = name.at().unwrap_or(self.call_start);
        let line = self.frame.source.line(at);
        let before = |(from, _): &&(u32, isize)| *from <= at;
        let shift = self.frame.line_shifts.iter().rev().find(before);
        line.saturating_add_signed(shift.map_or(0, |(_, shift)| *shift))
    }

    /// Sets the place that problems of an expansion mean.
    pub fn set_call_start(&mut self, at: usize) {
        self.call_start = self.frame.source.file_start(at);
    }

    /// Reads the file on, to its end or to the line after an `#include`. `false` if the unit has to stop.
    fn scan(&mut self) -> bool {
        let source = Rc::clone(&self.frame.source);
        let bytes = source.bytes();
        let mut at = self.frame.at;
        // What is read but not yet written.
        let mut from = at;
        // While there are only blanks on the line: where it starts.
        let mut line = Some(at);
        while let Some(&byte) = bytes.get(at) {
            match lex::class(byte) {
                Class::Blank => at = lex::blanks_end(bytes, at + 1),
                Class::Newline => {
                    at += 1;
                    line = Some(at);
                }
                Class::Letter => {
                    line = None;
                    let end = lex::word_end(bytes, at + 1);
                    let word = bytes.get(at..end).unwrap_or_default();
                    if let Some((symbol, definition)) = self.names.macro_named(word) {
                        let definition = Rc::clone(definition);
                        self.write(&source, from, at);
                        from = at;
                        if self.call(symbol, &definition, at, end) {
                            from = self.frame.at;
                            self.separate(bytes.get(from).copied());
                        }
                        at = self.frame.at;
                    } else {
                        at = end;
                    }
                }
                Class::Digit => {
                    line = None;
                    at = lex::number_end(bytes, at);
                }
                Class::Dot => {
                    line = None;
                    at = lex::token(bytes, at).1;
                }
                Class::Quote => {
                    line = None;
                    at = lex::literal_end(bytes, at).0;
                }
                Class::Slash => {
                    let Some((kind, end)) = lex::comment(bytes, at) else {
                        line = None;
                        at += 1;
                        continue;
                    };
                    self.write(&source, from, at);
                    if kind == Comment::Open {
                        self.open_comment(at);
                    }
                    if kind == Comment::Block && !self.ends_blank() {
                        self.out.gap(self.frame.inclusion, source.file_start(at), b' ');
                    }
                    (from, at) = (end, end);
                }
                Class::Hash => {
                    let Some(start) = line else {
                        at += 1;
                        continue;
                    };
                    // The blanks before it go with it, unless a comment cut them.
                    self.write(&source, from, start.max(from));
                    self.frame.at = at;
                    self.directive(false);
                    at = self.frame.at;
                    if self.out.text.last().is_none_or(|&last| lex::is_newline(last)) {
                        at = lex::past_newline(bytes, at);
                    }
                    from = at;
                    line = Some(at);
                    self.frame.at = at;
                    if self.included.is_some() {
                        return !self.stopped;
                    }
                }
                Class::Other => {
                    line = None;
                    at += 1;
                }
            }
            if self.stopped {
                return false;
            }
        }
        self.write(&source, from, at);
        self.frame.at = at;
        !self.stopped
    }

    pub fn ends_blank(&self) -> bool {
        let last = self.out.text.last();
        last.is_none_or(|&last| matches!(lex::class(last), Class::Blank | Class::Newline))
    }

    /// Copies a stretch of the file.
    pub fn write(&mut self, source: &SourceText, from: usize, to: usize) {
        let bytes = source.bytes();
        if self.out.text.len() + to.saturating_sub(from) > MAX_TEXT {
            self.stop_for_size(source.place(from, from));
            return;
        }
        let mut begin = from;
        for end in source.joins(from, to).chain([to]) {
            let part = bytes.get(begin..end).unwrap_or_default();
            self.out
                .verbatim(self.frame.inclusion, source.file_start(begin), part);
            begin = end;
        }
    }

    pub fn stop_for_size(&mut self, place: FileSpan) {
        let message = "the unit is too large: from here on its expanded text is over 64 MiB";
        self.stop(message, Some(place));
    }

    pub fn open_comment(&mut self, at: usize) {
        let place = self.frame.source.place(at, at + 2);
        self.problem("comment without `*/`".to_owned(), Some(place));
    }

    pub fn file_position(&mut self) -> Position {
        self.saved_conditions = None;
        Position(self.frame.at)
    }

    pub fn return_to(&mut self, Position(at): Position) {
        self.frame.at = at;
        if let Some(conditions) = self.saved_conditions.take() {
            self.frame.conditions = conditions;
        }
    }

    /// Reads past an opening parenthesis in the file, if that comes next. A directive before it means that it does not.
    pub fn file_open(&mut self) -> Option<Token> {
        let source = Rc::clone(&self.frame.source);
        let space = lex::space(source.bytes(), self.frame.at, true);
        (source.bytes().get(space.end) == Some(&b'(')).then(|| {
            self.frame.at = space.end + 1;
            Token {
                symbol: Symbol::OPEN,
                kind: Kind::Punct,
                white: space.white,
                painted: false,
                place: Some((source.id, source.file_start(space.end))),
                call_end: None,
            }
        })
    }

    /// The next token of the file, for the arguments of a macro call. Directives before it are obeyed.
    pub fn file_token(&mut self) -> Option<Token> {
        let source = Rc::clone(&self.frame.source);
        let bytes = source.bytes();
        let (mut white, mut new_line) = (false, false);
        let begin = self.frame.at;
        loop {
            let space = lex::space(bytes, self.frame.at, true);
            if let Some(at) = space.open_comment {
                self.open_comment(at);
            }
            white |= space.white;
            new_line |= space.newline;
            self.frame.at = space.end;
            if *bytes.get(space.end)? != b'#' || !new_line {
                break;
            }
            if self.saved_conditions.is_none() {
                self.expansion.charge(self.frame.conditions.len());
                self.saved_conditions = Some(self.frame.conditions.clone());
            }
            self.expansion.saw_directive = true;
            self.directive(true);
        }
        let (kind, end) = lex::token(bytes, self.frame.at);
        let start = std::mem::replace(&mut self.frame.at, end);
        // A call that is not closed is read again: long comments in it count.
        self.expansion.charge(1 + end.saturating_sub(begin) / 64);
        Some(Token {
            symbol: self.names.intern(bytes.get(start..end)?),
            kind,
            white,
            painted: false,
            place: Some((source.id, source.file_start(start))),
            call_end: None,
        })
    }

    /// All tokens of `bytes`; their places are in the file being read from `at` on, if that is given.
    pub fn tokens(&mut self, bytes: &[u8], at: Option<usize>) -> Vec<Token> {
        let source = Rc::clone(&self.frame.source);
        let mut tokens = Vec::new();
        let mut space = lex::space(bytes, 0, true);
        while space.end < bytes.len() {
            let (kind, end) = lex::token(bytes, space.end);
            tokens.push(Token {
                symbol: self.names.intern(bytes.get(space.end..end).unwrap_or_default()),
                kind,
                white: space.white,
                painted: false,
                place: at.map(|at| (source.id, source.file_start(at + space.end))),
                call_end: None,
            });
            space = lex::space(bytes, end.max(space.end + 1), true);
        }
        tokens
    }

    /// Notes a region that is left out.
    pub fn leave_out(
        &mut self,
        source: &SourceText,
        (start, end): (usize, usize),
        condition: FileSpan,
        opened_by: Branch,
        group: usize,
    ) {
        if start < end {
            let region = Inactive {
                region: source.place(start, end),
                condition,
                opened_by,
                taken: None,
            };
            self.inactive.push((region, group));
        }
    }
}
