//! Why a finding has no fix.

use serde::{Deserialize, Serialize};
use shaderlint_hlsl::Span;

/// Why a finding has no fix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoFix<P = Span> {
    pub reason: Reason,
    note: String,
    /// The place of the obstacle.
    pub place: Option<P>,
    /// The name of the obstacle: a variable, a macro, a kernel, a file.
    pub name: Option<String>,
}

impl<P> NoFix<P> {
    const PREFIX: &'static str = "no automatic fix: ";

    /// `text` completes the sentence "no automatic fix: …".
    #[must_use]
    pub fn new(reason: Reason, text: impl AsRef<str>) -> Self {
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

    /// The sentence without "no automatic fix: ".
    #[must_use]
    pub fn text(&self) -> &str {
        self.note.strip_prefix(Self::PREFIX).unwrap_or(&self.note)
    }

    /// Rewords the sentence and the name.
    pub fn reword(&mut self, reworded: impl Fn(&str) -> String) {
        self.note = reworded(&self.note);
        self.name = self.name.as_deref().map(reworded);
    }

    /// The same with the place in another text, if it has one there.
    pub fn placed<Q>(self, place: impl FnOnce(P) -> Option<Q>) -> NoFix<Q> {
        NoFix {
            reason: self.reason,
            note: self.note,
            place: self.place.and_then(place),
            name: self.name,
        }
    }
}

macro_rules! reasons {
    ($($name:ident $text:literal,)*) => {
        /// The kinds of reasons for having no fix. Programs know them by name; once released, a kind keeps its name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Reason {
            $(#[serde(rename = $text)] $name,)*
        }

        impl Reason {
            /// As reports for programs have it: `named-size`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Reason::$name => $text,)*
                }
            }
        }
    };
}

reasons! {
    Alias "alias",
    Array "array",
    Companions "companions",
    Components "components",
    Conditions "conditions",
    Counter "counter",
    CountsLines "counts-lines",
    Declares "declares",
    Directive "directive",
    ElementType "element-type",
    ElementsPerThread "elements-per-thread",
    EndedByAnother "ended-by-another",
    FewAddresses "few-addresses",
    FirstGroup "first-group",
    Halves "halves",
    HiddenCounter "hidden-counter",
    HiddenIntrinsic "hidden-intrinsic",
    InBuffer "in-buffer",
    InInclude "in-include",
    InMacro "in-macro",
    IncludesItself "includes-itself",
    LaneReads "lane-reads",
    LanguageVersion "language-version",
    Leaves "leaves",
    ManyIncluders "many-includers",
    MayReturn "may-return",
    Memory "memory",
    MemoryBarrier "memory-barrier",
    MissingInclude "missing-include",
    NamedSize "named-size",
    Namespaces "namespaces",
    NeedsDxc "needs-dxc",
    // Nothing particular is in the way: there is no form.
    NoForm "no-form",
    NoPlace "no-place",
    NoSingleBarrier "no-single-barrier",
    NoThreadIndex "no-thread-index",
    NotAStatement "not-a-statement",
    NotAsWritten "not-as-written",
    // The proof of a form did not succeed.
    NotProved "not-proved",
    NotRead "not-read",
    OldValue "old-value",
    OtherAtomic "other-atomic",
    OtherIncluder "other-includer",
    OtherKernel "other-kernel",
    OtherResult "other-result",
    OtherResults "other-results",
    OtherUse "other-use",
    OtherUses "other-uses",
    OtherVariant "other-variant",
    Race "race",
    RedefinedName "redefined-name",
    ResultInExpression "result-in-expression",
    Rows "rows",
    Segmented "segmented",
    SharedMemory "shared-memory",
    // No form was measured to be faster than the ladder.
    Slower "slower",
    SomeInputs "some-inputs",
    SomeRuns "some-runs",
    SupposedSize "supposed-size",
    Template "template",
    TooLong "too-long",
    Type "type",
    UncalledUser "uncalled-user",
    Undeclared "undeclared",
    Unfollowed "unfollowed",
    UnknownBound "unknown-bound",
    UnknownResults "unknown-results",
    UnknownUser "unknown-user",
    UnorderedReads "unordered-reads",
    UnreadIncluder "unread-includer",
    UnreadVariants "unread-variants",
    Writes "writes",
}

impl Reason {
    /// It only says that the engine did not follow a kernel far enough, and nothing about the fix.
    #[must_use]
    pub fn is_about_the_run(self) -> bool {
        matches!(
            self,
            Reason::UnknownResults | Reason::Unfollowed | Reason::TooLong
        )
    }
}
