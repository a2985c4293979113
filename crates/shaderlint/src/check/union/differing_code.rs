//! The code that only one of two readings compiles.

use rustc_hash::FxHashSet;
use shaderlint_hlsl::{FileSpan, Inactive, Sources, blank_comments, is_type_name};
use shaderlint_linter::FileEdit;

use crate::check::items::add_dependents;
use crate::check::readings::Reading;
use crate::workspace::prefilter::{has_word, words};

/// Words that say nothing about which variables a text uses.
const KEYWORDS: [&[u8]; 22] = [
    b"if",
    b"else",
    b"for",
    b"while",
    b"do",
    b"return",
    b"break",
    b"continue",
    b"const",
    b"static",
    b"in",
    b"out",
    b"inout",
    b"unroll",
    b"loop",
    b"branch",
    b"flatten",
    b"true",
    b"false",
    b"switch",
    b"case",
    b"default",
];

/// The text that a reading compiles.
#[derive(Clone, Copy)]
pub(crate) struct Compiled<'a> {
    pub sources: &'a Sources,
    /// What conditional compilation leaves out of it.
    pub inactive: &'a [Inactive],
}

impl<'a> Compiled<'a> {
    /// The text of a reading with its places in its own files.
    pub fn of(reading: &'a Reading) -> Self {
        Compiled {
            sources: &reading.sources,
            inactive: &reading.inactive,
        }
    }

    fn left_out(self) -> impl Iterator<Item = (&'a str, FileSpan)> {
        self.inactive.iter().filter_map(move |inactive| {
            let file = self.sources.get(inactive.region.file)?;
            Some((&*file.path, inactive.region))
        })
    }

    /// The regions that this reading leaves out and the other one compiles, without comments.
    fn left_out_only_here(self, other: Compiled<'_>) -> Vec<Vec<u8>> {
        let is_same = |(path, place): (&str, FileSpan), (other, there): (&str, FileSpan)| {
            path == other && (place.start, place.end) == (there.start, there.end)
        };
        self.left_out()
            .filter(|region| !other.left_out().any(|other| is_same(*region, other)))
            .map(|(_, place)| blank_comments(self.sources.text(place)))
            .collect()
    }
}

/// The reason of such a reading to refuse a fix; follows the name of the reading.
pub(crate) const MAY_READ_WHAT_GOES: &str = "other code may read variables that the fix does not restore";

/// Whether code that only one of two readings compiles may depend on a variable that a fix leaves with another value than
/// the text it replaces. The fix is proved in the reading `proving`. The engine cannot follow the reading `open`, so only
/// its text can tell. The `edits` are the fix, in files of `open`.
///
/// A fix does not restore what nothing reads where it is proved: a ladder's array, or a loop's variable. The other reading
/// may read them. Their names are in the replaced text, and are missing from its replacement or stand there or here with an
/// index or a member. Code may also reach them through an item that names one of them, directly or not. The names decide,
/// whatever they mean, so the answer may be yes without need. A fix that only inserts text leaves all variables alone.
pub(crate) fn may_read_what_goes(proving: Compiled<'_>, open: Compiled<'_>, edits: &[FileEdit]) -> bool {
    let mut names = FxHashSet::default();
    for edit in edits {
        let [old, new] = [open.sources.text(edit.place), edit.text.as_bytes()].map(blank_comments);
        let is_name = |word: &&[u8]| !KEYWORDS.contains(word) && !is_type_name(word);
        let goes = |word: &&[u8]| !has_word(&new, word) || is_in_part(&old, word);
        names.extend(words(&old).filter(is_name).filter(goes).map(<[u8]>::to_vec));
    }
    let mut differing = proving.left_out_only_here(open);
    differing.extend(open.left_out_only_here(proving));
    if names.is_empty() || differing.is_empty() {
        return false;
    }
    let files = open.sources.files.iter().collect();
    add_dependents(&mut names, files).is_none()
        || differing
            .iter()
            .any(|text| words(text).any(|word| names.contains(word)))
}

/// Whether a text names an element or a member of a variable.
fn is_in_part(text: &[u8], name: &[u8]) -> bool {
    words(text).any(|word| {
        let end = word.as_ptr() as usize - text.as_ptr() as usize + word.len();
        let rest = text.get(end..).unwrap_or_default().trim_ascii_start();
        word == name && matches!(rest.first(), Some(b'[' | b'.'))
    })
}
