//! What rules say ([`Finding`]) and what becomes of it in files ([`Diagnostic`]).

use shaderlint_hlsl::{FileSpan, FunctionId, Span};

use crate::rule::{Category, Level};

/// A place and what there is to say about it.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    pub primary: Label,
    pub secondary: Vec<Label>,
    /// The evidence, and what to do; a line each.
    pub notes: Vec<String>,
    pub fix: Option<Fix>,
}

/// How a note begins that says why a finding has no fix.
pub const NO_FIX: &str = "no automatic fix: ";

impl Finding {
    /// Takes back the fix, if there is one, with what was said of it, and says why.
    pub fn withdraw(&mut self, why: &str) {
        withdraw(&mut self.fix, &mut self.notes, why);
    }
}

fn withdraw<E>(fix: &mut Option<Fix<E>>, notes: &mut Vec<String>, why: &str) {
    if let Some(fix) = fix.take() {
        notes.retain(|note| !fix.notes.contains(note));
        notes.push(format!("{NO_FIX}{why}"));
    }
}

/// A finding in places of files: what reporters show.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// The rule's id.
    pub rule: &'static str,
    /// The kernels in whose runs it was found.
    pub kernels: Vec<String>,
    pub category: Category,
    pub level: Level,
    pub message: String,
    /// As in [`Finding`].
    pub shape: Option<&'static str>,
    pub verdict: Verdict,
    pub primary: Label<FileSpan>,
    pub secondary: Vec<Label<FileSpan>>,
    pub notes: Vec<String>,
    /// Every edit lies in the file that was asked for, unless another one was to be edited.
    pub fix: Option<Fix<FileEdit>>,
}

impl Diagnostic {
    /// As [`Finding::withdraw`].
    pub fn withdraw(&mut self, why: &str) {
        withdraw(&mut self.fix, &mut self.notes, why);
    }

    /// Notes further kernels in whose runs it was found.
    pub fn is_also_in(&mut self, kernels: Vec<String>) {
        for kernel in kernels {
            if !self.kernels.contains(&kernel) {
                self.kernels.push(kernel);
            }
        }
    }

    /// The notes, and the proof that the fix rests on.
    pub fn evidence(&self) -> impl Iterator<Item = &str> {
        let proof = self.fix.iter().filter_map(|fix| fix.proof.as_ref());
        self.notes.iter().chain(proof).map(String::as_str)
    }
}

/// What was established of a finding's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix<E = Edit> {
    /// What the fix does, in the imperative.
    pub title: String,
    pub safety: Safety,
    /// What was proved of it, and of which waves; `None` where there is nothing to prove.
    pub proof: Option<String>,
    /// Those of the finding's notes that speak of the fix.
    pub notes: Vec<String>,
    pub edits: Vec<E>,
}

/// Whether a fix may be applied without a look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
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
    /// On lines of its own before this.
    Before(Span),
    /// On lines of its own after this.
    After(Span),
}

/// One edit of a file: `text` in place of the bytes under `place`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEdit {
    pub place: FileSpan,
    pub text: String,
}
