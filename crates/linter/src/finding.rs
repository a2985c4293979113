//! What rules say ([`Finding`]) and what becomes of it in files ([`Diagnostic`]).

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Deserializer, Serialize};
use shaderlint_hlsl::{FileSpan, FunctionId, Span};

use crate::level::{Category, Level};

/// A place and what there is to say about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label<P = Span> {
    pub place: P,
    /// May be empty: then the place is only underlined.
    pub text: String,
}

/// Something a rule found, in places of the expanded text.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule's id.
    pub rule: &'static str,
    /// The kernel in whose run it was found.
    pub entry: FunctionId,
    /// One line without a full stop.
    pub message: String,
    /// How the construct goes about it, in a word; `None` where that is no matter.
    pub shape: Option<&'static str>,
    pub verdict: Verdict,
    /// It matters no more than this, unless the rule is given a level of its own.
    pub worth: Level,
    pub primary: Label,
    pub secondary: Vec<Label>,
    /// The evidence, and what to do; a line each.
    pub notes: Vec<String>,
    pub fix: Option<Fix>,
    /// Why there is no fix, where a reader might look for one.
    pub no_fix: Option<NoFix>,
}

impl Finding {
    /// Takes back the fix, if there is one, and says why.
    pub fn withdraw(&mut self, why: NoFix) {
        if self.fix.take().is_some() {
            self.no_fix = Some(why);
        }
    }
}

/// Why a finding has no fix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoFix<P = Span> {
    /// What kind of reason it is, for programs: `named-size`. Once released, a reason keeps its name.
    #[serde(deserialize_with = "word")]
    pub reason: Word,
    note: String,
    /// Where what is in the way stands.
    pub place: Option<P>,
    /// What is in the way is called so: a variable, a macro, a kernel, a file.
    pub name: Option<String>,
}

impl<P> NoFix<P> {
    const PREFIX: &'static str = "no automatic fix: ";

    /// `text` completes the sentence "no automatic fix: …".
    #[must_use]
    pub fn new(reason: &'static str, text: impl AsRef<str>) -> Self {
        NoFix {
            reason,
            note: format!("{}{}", Self::PREFIX, text.as_ref()),
            place: None,
            name: None,
        }
    }

    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        NoFix {
            name: Some(name.into()),
            ..self
        }
    }

    #[must_use]
    pub fn at(self, place: P) -> Self {
        NoFix {
            place: Some(place),
            ..self
        }
    }

    /// The whole sentence.
    #[must_use]
    pub fn note(&self) -> &str {
        &self.note
    }

    /// What follows "no automatic fix: " in it.
    #[must_use]
    pub fn text(&self) -> &str {
        self.note.strip_prefix(Self::PREFIX).unwrap_or(&self.note)
    }

    /// With the sentence and the name in other words.
    pub fn reword(&mut self, reworded: impl Fn(&str) -> String) {
        self.note = reworded(&self.note);
        self.name = self.name.as_deref().map(reworded);
    }

    /// With the place in another text, where it has one there.
    pub fn placed<Q>(self, place: impl FnOnce(P) -> Option<Q>) -> NoFix<Q> {
        NoFix {
            reason: self.reason,
            note: self.note,
            place: self.place.and_then(place),
            name: self.name,
        }
    }
}

/// A finding in places of files: what reporters show.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Diagnostic {
    /// The rule's id.
    #[serde(deserialize_with = "word")]
    pub rule: Word,
    /// The kernels in whose runs it was found.
    pub kernels: Vec<String>,
    /// The text describes the first of these kernels; another one has other numbers.
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
    /// What would mend the text in the files that have it.
    pub fix: Option<Fix<FileEdit>>,
    /// Why there is no fix. Beside a fix: why it is none of the file that was asked for.
    pub no_fix: Option<NoFix<FileSpan>>,
}

impl Diagnostic {
    /// As [`Finding::withdraw`]. What mends a defect is still said.
    pub fn withdraw(&mut self, why: NoFix<FileSpan>) {
        if let Some(fix) = self.fix.take() {
            if self.category == Category::Correctness {
                self.notes.push(format!("help: {}", fix.title));
            }
            self.no_fix = Some(why);
        }
    }

    /// Adds the kernels of `other`, the same finding in their runs, and notes whether it says something else there.
    pub fn is_also_in(&mut self, other: Diagnostic) {
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

    /// The notes on the finding and on its fix, and why it has none.
    pub fn all_notes(&self) -> impl Iterator<Item = &str> {
        let of_fix = self.fix.iter().flat_map(|fix| &fix.notes);
        let no_fix = self.no_fix.iter().map(NoFix::note);
        self.notes.iter().chain(of_fix).map(String::as_str).chain(no_fix)
    }

    /// All notes, and the proof that the fix rests on.
    pub fn evidence(&self) -> impl Iterator<Item = &str> {
        let proof = self.fix.iter().filter_map(|fix| fix.proof.as_deref());
        self.all_notes().chain(proof)
    }
}

/// What was established of a finding's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It computes what is said for every input, bit for bit.
    Proved,
    /// It computes what is said up to the order of float operations.
    Reassociates,
    /// Its atomics leave what is said; which thread gets which old value is open.
    Refines,
    /// Two threads access one cell in one barrier interval, and one of them writes.
    Racy,
    /// Threads of a group part ways at a barrier.
    Divergent,
    /// An access is outside its array.
    OutOfBounds,
    /// A cell is read that no thread wrote.
    Uninitialised,
    /// The result depends on the wave size, or on which threads share a wave.
    WaveDependent,
    /// Nothing is found that the comment allows.
    Unused,
}

/// Edits that belong together: all of them or none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fix<E = Edit> {
    /// What the fix does, in the imperative.
    pub title: String,
    pub safety: Safety,
    /// What was proved of it, and of which waves; `None` where there is nothing to prove.
    pub proof: Option<String>,
    /// What to know of the fix; a line each, read behind the finding's notes.
    pub notes: Vec<String>,
    pub edits: Vec<E>,
    /// It may be had in another form as well, which has not been proved yet.
    pub other_form: Option<OtherForm>,
}

/// How a fix that takes more than a line is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FixForm {
    /// A function of the file, and a call of it: short where it stands.
    #[default]
    Helper,
    /// All in its place: often faster.
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
    /// How it differs, to stand behind a title: "in place (2.0 times as fast on an NVIDIA H200)".
    pub text: String,
}

/// Whether a fix may be applied without a look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Safety {
    /// Bit for bit the same results; where the order of atomics leaves several open, one of these.
    Safe,
    /// Results may differ: in their rounding, in another configuration, or because they were not defined.
    Unsafe,
}

/// One edit, in a place of the expanded text.
///
/// The text has `\n` between its lines and four spaces for an indentation step; its first line starts at the margin.
/// The linter gives it the file's line endings and the indentation of where it lands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub at: At,
    pub text: String,
    /// What the text means, where it names macros: what is proved.
    pub expanded: Option<String>,
}

/// Where an edit goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// In place of this.
    Over(Span),
    /// The same, and of each `#if` to its `#endif` that stands among it, if they leave out no code.
    OverChoices(Span),
    /// On lines of its own before this.
    Before(Span),
    /// On lines of its own after this.
    After(Span),
}

impl At {
    /// What it is about.
    #[must_use]
    pub fn span(self) -> Span {
        match self {
            At::Over(span) | At::OverChoices(span) | At::Before(span) | At::After(span) => span,
        }
    }

    /// Behind which byte of the expanded text the edit's own text begins: no directive is between the two.
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

/// A word of the program's own, such as a rule's id. (Serde takes a `&'static str` for one that borrows from its input.)
pub type Word = &'static str;

/// There are a few dozen words: each is kept once, for good.
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
