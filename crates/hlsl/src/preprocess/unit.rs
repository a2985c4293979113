//! The state of a translation unit while it is read: its files, its macros, the text written so far, and its problems.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::expansion::Expansion;
use super::lex::{self, Class};
use super::names::Names;
use super::origins::Output;
use super::text::{self, SourceText};
use super::token::Token;
use super::{Defined, Inactive, KernelVariant, MAX_MESSAGE, MAX_PROBLEMS, MAX_TEXT, Taken};
use crate::span::{Cause, FileId, FileSpan, Problem, SourceFile, Sources};
use crate::text::Text;
use crate::{Includes, MatrixOrder};

/// A file that is being read.
pub(super) struct Frame {
    pub source: Rc<SourceText>,
    pub inclusion: u16,
    /// How far it is read. A scan updates it only before other code may use it.
    pub at: usize,
    /// The open `#if`s.
    pub conditions: Vec<Condition>,
    /// For each `#line`: the position after it, and the difference between `__LINE__` and the number of a line from
    /// there on.
    pub line_shifts: Vec<(u32, isize)>,
}

/// An open `#if`.
#[derive(Clone, Copy)]
pub(super) struct Condition {
    /// The directive, for problems.
    pub place: FileSpan,
    /// The condition of the `#if`.
    pub asks: FileSpan,
    /// The region that was taken, if any. It is empty, because its end is not known yet.
    pub taken: Option<Taken>,
    pub saw_else: bool,
    /// Index into [`Unit::groups`].
    pub group: usize,
}

pub(super) struct Unit<'a> {
    pub includes: &'a dyn Includes,
    pub names: Names,
    pub frame: Frame,
    /// The files that include the one of `frame`, outermost first.
    pub parents: Vec<Frame>,
    /// The file to read after the line of its `#include`.
    pub included: Option<Frame>,
    pub expansion: Expansion,
    pub out: Output,
    pub sources: Sources,
    /// By [`FileId`].
    pub texts: Vec<Rc<SourceText>>,
    pub files: FxHashMap<String, FileId>,
    /// The file that an `#include` named, by the files that were being read; `None` if it was not found.
    pub resolved: FxHashMap<(Vec<FileId>, Vec<u8>, bool), Option<FileId>>,
    pub once: FxHashSet<FileId>,
    /// Files that include themselves, or are included too deeply.
    pub too_deep: FxHashSet<FileId>,
    pub inclusions: usize,
    pub bytes_read: usize,
    /// The places in the expanded text where a file is missing.
    pub gaps: Vec<u32>,
    pub defined: Defined,
    pub matrix_orders: Vec<(u32, MatrixOrder)>,
    pub kernels: Vec<KernelVariant>,
    pub is_refused: bool,
    /// How far the expanded text was searched for braces, and how many are open at that place.
    pub braces: (usize, u32),
    /// The left-out regions, each with the index of its `#if` in `groups`.
    pub inactive: Vec<(Inactive, usize)>,
    /// For each `#if`, the region that was taken.
    pub groups: Vec<Option<Taken>>,
    /// File and start of each region that was taken.
    pub active: FxHashSet<(FileId, u32)>,
    /// The conditions before a macro call whose arguments have a directive.
    pub saved_conditions: Option<Vec<Condition>>,
    /// Start of the current macro call or condition.
    pub call_start: u32,
    pub problems: Vec<Problem>,
    reported: FxHashSet<(String, Option<FileSpan>)>,
    /// The unit has reached a limit: nothing more is read.
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

    /// The file of this path, added now if necessary.
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

    /// A frame to read a file with; `place` is that of the `#include`. `None` if the unit has reached its limit.
    pub fn open(&mut self, file: FileId, place: Option<FileSpan>) -> Option<Frame> {
        let source = Rc::clone(self.texts.get(file.0 as usize)?);
        self.bytes_read += source.bytes().len();
        if self.bytes_read > MAX_TEXT {
            self.stop(
                "the translation unit is too large: its files exceed 64 MiB",
                place,
            );
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

    pub fn problem(&mut self, message: String, place: Option<FileSpan>) {
        self.tell(Problem::new(message, place));
    }

    pub fn tell(&mut self, mut problem: Problem) {
        let Problem { message, place, .. } = &mut problem;
        // Some messages quote the file, which may be long.
        if message.len() > MAX_MESSAGE {
            *message = message.chars().take(MAX_MESSAGE).chain(['…']).collect();
        }
        if self.problems.len() < MAX_PROBLEMS && self.reported.insert((message.clone(), *place)) {
            self.problems.push(problem);
        }
    }

    /// Reports a problem of the macro call or directive that is being expanded.
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

    /// Reports text that is not read.
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

    /// The value of `__LINE__` at this token. As in Clang, in an argument of a call it is the number of its own line,
    /// and from a macro's body it is the number of the line where the call ends (`getExpansionRange` in
    /// `ExpandBuiltinMacro`).
    pub fn line_of(&self, name: Token) -> usize {
        let at = name.at().unwrap_or(self.call_start);
        let line = self.frame.source.line(at);
        let before = |(from, _): &&(u32, isize)| *from <= at;
        let shift = self.frame.line_shifts.iter().rev().find(before);
        line.saturating_add_signed(shift.map_or(0, |(_, shift)| *shift))
    }

    /// Sets the place where problems of an expansion are reported.
    pub fn set_call_start(&mut self, at: usize) {
        self.call_start = self.frame.source.file_start(at);
    }

    pub fn ends_blank(&self) -> bool {
        let last = self.out.text.last();
        last.is_none_or(|&last| matches!(lex::class(last), Class::Blank | Class::Newline))
    }

    /// Copies a range of the file.
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
        let message = "the translation unit is too large: from here on, its expanded text exceeds 64 MiB";
        self.stop(message, Some(place));
    }

    pub fn open_comment(&mut self, at: usize) {
        let place = self.frame.source.place(at, at + 2);
        self.problem("comment without `*/`".to_owned(), Some(place));
    }

    /// All tokens of `bytes`. `at` is the position of `bytes` in the file being read, if they come from it.
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
}
