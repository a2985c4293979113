//! The findings of rules ([`Finding`]), and the same in files ([`Diagnostic`]).

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Deserializer, Serialize};
use shaderlint_hlsl::{FileSpan, FunctionId, Span};

use crate::level::{Category, Level};
use crate::no_fix::NoFix;
use crate::proof::Proof;
use crate::shader_model::ShaderModel;

/// A place with a text about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label<P = Span> {
    pub place: P,
    /// If empty, the place is only underlined.
    pub text: String,
}

/// A finding of a rule, in places of the expanded text.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The kernel whose run showed it.
    pub entry: FunctionId,
    /// One line without a full stop.
    pub message: String,
    /// The algorithm of the construct, in a word, where that matters.
    pub shape: Option<&'static str>,
    pub verdict: Verdict,
    /// The shader model that its advice needs. It is shown only if the target has that.
    pub needs: ShaderModel,
    /// Its highest level, unless the configuration names the rule.
    pub worth: Level,
    pub primary: Label,
    pub secondary: Vec<Label>,
    /// The evidence, and advice; a line each.
    pub notes: Vec<String>,
    pub fix: Option<Fix>,
    /// Why there is no fix, where a reader might expect one.
    pub no_fix: Option<NoFix>,
}

impl Finding {
    /// Removes the fix, if there is one, and says why.
    pub fn withdraw(&mut self, why: NoFix) {
        if self.fix.take().is_some() {
            self.no_fix = Some(why);
        }
    }
}

/// A finding in places of files: what reporters show.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Diagnostic {
    /// The rule's id.
    #[serde(deserialize_with = "word")]
    pub rule: Word,
    /// The kernels whose runs showed it.
    pub kernels: Vec<String>,
    /// The text is about the first of these kernels; another one has other numbers.
    pub is_of_first: bool,
    pub category: Category,
    pub level: Level,
    pub message: String,
    /// As in [`Finding`].
    #[serde(deserialize_with = "word_if_any")]
    pub shape: Option<Word>,
    pub verdict: Verdict,
    pub primary: Label<FileSpan>,
    pub secondary: Vec<Label<FileSpan>>,
    pub notes: Vec<String>,
    /// The fix in the files that have the text.
    pub fix: Option<Fix<FileEdit>>,
    /// Why there is no fix. Beside a fix: why the fix is not in the linted file.
    pub no_fix: Option<NoFix<FileSpan>>,
}

impl Diagnostic {
    /// As [`Finding::withdraw`]. The help on a defect stays.
    pub fn withdraw(&mut self, why: NoFix<FileSpan>) {
        if let Some(fix) = self.fix.take() {
            if self.category == Category::Correctness {
                self.notes.push(format!("help: {}", fix.title));
            }
            self.no_fix = Some(why);
        }
    }

    /// Adds the kernels of `other`, which is the same finding in their runs, and notes whether its text differs.
    pub fn merge(&mut self, other: Diagnostic) {
        self.is_of_first |= other.is_of_first
            || self.message != other.message
            || self.notes != other.notes
            || self.no_fix != other.no_fix;
        for kernel in other.kernels {
            if !self.kernels.contains(&kernel) {
                self.kernels.push(kernel);
            }
        }
    }

    /// The notes on the finding and on its fix, and the reason for having none.
    pub fn all_notes(&self) -> impl Iterator<Item = &str> {
        let own = self.notes.iter().map(String::as_str);
        let of_fix = self.fix.iter().flat_map(|fix| &fix.notes);
        let no_fix = self.no_fix.iter().map(NoFix::note);
        own.chain(of_fix.map(|note| &*note.text)).chain(no_fix)
    }

    /// All notes, and the proof of the fix.
    pub fn evidence(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let proof = self.fix.iter().filter_map(|fix| fix.proof.as_ref());
        let proof = proof.map(|proof| Cow::Owned(proof.to_string()));
        self.all_notes().map(Cow::Borrowed).chain(proof)
    }
}

/// What is known about the place of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It computes the stated result for every input, bit for bit.
    Proved,
    /// It computes the stated result up to the order of float operations.
    Reassociates,
    /// Its atomics leave the stated result; which thread gets which old value is open.
    Refines,
    /// Two threads access one cell in one barrier interval, and one of them writes.
    Racy,
    /// Threads of a group diverge at a barrier.
    Divergent,
    /// An access is outside its array.
    OutOfBounds,
    /// A thread reads a cell that no thread wrote.
    Uninitialised,
    /// The result depends on the wave size, or on which threads share a wave.
    WaveDependent,
    /// The comment silences no finding.
    Unused,
}

/// Edits that belong together: all of them or none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fix<E = Edit> {
    /// What the fix does, in the imperative.
    pub title: String,
    pub safety: Safety,
    /// `None` where there is nothing to prove.
    pub proof: Option<Proof>,
    /// Shown behind the finding's notes.
    pub notes: Vec<FixNote>,
    pub edits: Vec<E>,
    /// Another form of the fix, which is not proved yet.
    pub other_form: Option<OtherForm>,
}

/// A note on a fix: one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixNote {
    pub text: String,
    pub caveat: Option<Caveat>,
}

impl<T: Into<String>> From<T> for FixNote {
    fn from(text: T) -> Self {
        FixNote {
            text: text.into(),
            caveat: None,
        }
    }
}

/// What the proof of a fix leaves open, where something asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Caveat {
    /// The original kernel has a data race, so its results are undefined.
    DataRace,
    /// In another reading, the kernel is not followed as far as the fix.
    Unfollowed,
}

impl Caveat {
    /// A note with this caveat.
    pub fn note(self, text: impl Into<String>) -> FixNote {
        FixNote {
            text: text.into(),
            caveat: Some(self),
        }
    }
}

/// How a fix of more than one line is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FixForm {
    /// A function of the file, and a call of it: short in its place.
    #[default]
    Helper,
    /// Everything in its place: often faster.
    Inline,
}

impl FixForm {
    pub const ALL: [FixForm; 2] = [FixForm::Helper, FixForm::Inline];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FixForm::Helper => "helper",
            FixForm::Inline => "inline",
        }
    }

    #[must_use]
    pub fn other(self) -> FixForm {
        match self {
            FixForm::Helper => FixForm::Inline,
            FixForm::Inline => FixForm::Helper,
        }
    }
}

/// Another form of a fix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherForm {
    pub form: FixForm,
    /// The difference, to follow a title: "in place (2.0 times as fast on an NVIDIA H200)".
    pub text: String,
}

/// Whether a fix may be applied without review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Safety {
    /// The results are the same, bit for bit; where the order of atomics allows several, they are among these.
    Safe,
    /// The results may differ: in their rounding, in another configuration, or because they were undefined.
    Unsafe,
}

/// One edit, in a place of the expanded text.
///
/// The text has `\n` between lines and four spaces for each indentation step; its first line begins at the margin.
/// The linter gives it the line endings of the file and the indentation of its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub at: At,
    pub text: String,
    /// The expanded text, where the text names macros: the subject of the proof.
    pub expanded: Option<String>,
    /// The text is a block, for the place of a statement.
    pub is_block: bool,
}

impl Edit {
    /// An edit whose text names no macro and is no block.
    #[must_use]
    pub fn new(at: At, text: impl Into<String>) -> Edit {
        Edit {
            at,
            text: text.into(),
            expanded: None,
            is_block: false,
        }
    }
}

/// Where an edit goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// In the place of this span.
    Over(Span),
    /// The same, and in the place of each `#if` to its `#endif` among it, if these leave out no code.
    OverChoices(Span),
    /// On lines of its own before this span.
    Before(Span),
    /// On lines of its own after this span.
    After(Span),
}

impl At {
    /// The span.
    #[must_use]
    pub fn span(self) -> Span {
        match self {
            At::Over(span) | At::OverChoices(span) | At::Before(span) | At::After(span) => span,
        }
    }

    /// The offset in the expanded text behind which the edit's own text begins: no directive is between the two.
    #[must_use]
    pub fn start(self) -> u32 {
        match self {
            At::Over(span) | At::OverChoices(span) | At::Before(span) => span.start,
            At::After(span) => span.end.saturating_sub(1),
        }
    }
}

/// One edit of a file: `text` in place of the bytes under `place`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEdit {
    pub place: FileSpan,
    pub text: String,
}

/// A word of the program itself, such as the id of a rule. (Serde takes a `&'static str` for one that borrows from
/// its input.)
pub type Word = &'static str;

/// There are only a few dozen words: each is kept once, for ever.
fn word<'de, D: Deserializer<'de>>(from: D) -> Result<Word, D::Error> {
    static KNOWN: Mutex<Option<HashSet<Word>>> = Mutex::new(None);
    let word = String::deserialize(from)?;
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    if let Some(word) = known.get(word.as_str()) {
        return Ok(word);
    }
    let word: Word = word.leak();
    known.insert(word);
    Ok(word)
}

fn word_if_any<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Word>, D::Error> {
    #[derive(Deserialize)]
    struct Own(#[serde(deserialize_with = "word")] Word);
    Ok(Option::<Own>::deserialize(from)?.map(|Own(word)| word))
}
