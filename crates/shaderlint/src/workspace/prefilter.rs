//! The byte scan that saves parsing most files.

use shaderlint_hlsl::{Derived, Includes, SourceFile, Text, blank_comments, is_cpp};

use crate::support::words::{contains, words};
use crate::workspace::include_search::{Sought, reaches};

/// If neither a file nor any file that it includes contains one of these words, no rule can find anything in it.
pub(crate) const WORDS: [&[u8]; 9] = [
    b"Barrier",
    b"groupshared",
    b"Interlocked",
    b"Wave",
    b"Quad",
    b"IncrementCounter",
    b"DecrementCounter",
    b"AppendStructuredBuffer",
    b"ConsumeStructuredBuffer",
];

/// A function needs one of these inputs to be taken for a kernel. In lower case.
pub(crate) const THREAD_INPUTS: [&str; 3] = ["sv_groupindex", "sv_groupthreadid", "sv_dispatchthreadid"];

/// Whether the text names an input that differs between threads.
pub(crate) fn names_thread(text: &[u8]) -> bool {
    THREAD_INPUTS.iter().any(|input| names(text, input))
}

/// Whether the text names the attribute of an entry point.
pub(crate) fn names_entry(text: &[u8]) -> bool {
    names(text, "numthreads")
}

/// Whether a fix may change a text that another file includes: it has an entry point or a group barrier.
pub(crate) struct MayBeFixed(pub bool);

impl Derived for MayBeFixed {
    fn of(text: &Text) -> Self {
        MayBeFixed(names_entry(text) || names_group_barrier(text))
    }
}

/// Whether a text may make a function run: by the attribute of an entry point, an input of a thread or a group barrier.
/// Whole words outside of comments count: headers of engines have names such as `numThreadsX`.
struct MayRun(bool);

impl Derived for MayRun {
    fn of(text: &Text) -> Self {
        let is_one = |word: &[u8]| {
            let mut ones = THREAD_INPUTS.iter().chain([&"numthreads"]);
            ones.any(|one| word.eq_ignore_ascii_case(one.as_bytes()))
        };
        let code = blank_comments(text);
        MayRun(names_group_barrier(&code) || words(&code).any(is_one))
    }
}

/// Whether a function of the file, or of a file that it includes, may run, whatever an `#if` chooses.
pub(crate) fn may_run(path: &str, text: &Text, includes: &dyn Includes) -> bool {
    let is_one = |file: &SourceFile| file.text.derived::<MayRun>().0;
    let is_for_cpp = |file: &SourceFile| is_cpp(&file.text);
    let sought = Sought::file(&is_one).without(&is_for_cpp);
    text.derived::<MayRun>().0 || reaches(path, text, includes, sought)
}

/// Whether the text names a barrier that waits for the group.
pub(crate) fn names_group_barrier(text: &[u8]) -> bool {
    contains(text, b"WithGroupSync")
}

/// Whether the text contains the word, in any case.
fn names(text: &[u8], word: &str) -> bool {
    let [first, ..] = word.as_bytes() else { return true };
    let mut starts = memchr::memchr2_iter(first.to_ascii_lowercase(), first.to_ascii_uppercase(), text);
    starts.any(|at| {
        let place = text.get(at..at + word.len());
        place.is_some_and(|place| place.eq_ignore_ascii_case(word.as_bytes()))
    })
}

/// Whether the file needs parsing.
pub(crate) fn needs_parse(path: &str, text: &Text, includes: &dyn Includes) -> bool {
    let is_one = |file: &SourceFile| names_one(&file.text);
    names_one(text) || reaches(path, text, includes, Sought::file(&is_one))
}

fn names_one(text: &[u8]) -> bool {
    text.iter().enumerate().any(|(start, byte)| {
        matches!(byte, b'A' | b'B' | b'C' | b'D' | b'I' | b'Q' | b'W' | b'g')
            && text
                .get(start..)
                .is_some_and(|rest| WORDS.iter().any(|word| rest.starts_with(word)))
    })
}

#[cfg(test)]
mod tests {
    use shaderlint_hlsl::{NoIncludes, SourceFile};

    use super::*;

    /// Two headers that include each other; `wave.hlsli` is harmful, `plain.hlsli` is not.
    struct Headers;

    impl Includes for Headers {
        fn resolve(&self, _: &[&str], path: &str, _: bool) -> Option<SourceFile> {
            let text: &[u8] = match path {
                "plain.hlsli" => b"#include \"plain2.hlsli\"\n",
                "plain2.hlsli" => b"#include <plain.hlsli>\n",
                "wave.hlsli" => b"#include \"plain.hlsli\"\nWaveActiveSum(1)",
                _ => return None,
            };
            Some(SourceFile {
                path: path.to_owned(),
                text: text.into(),
            })
        }
    }

    #[test]
    fn only_files_that_could_hold_a_finding_are_parsed() {
        let check = |text: &[u8]| needs_parse("a.hlsl", &text.into(), &Headers);
        assert!(!check(b"") && !check(b"float4 main() : SV_Target { return 1; }"));
        // A missing barrier is a race.
        assert!(check(b"groupshared uint g[64];"));
        assert!(check(b"GroupMemoryBarrierWithGroupSync();") && check(b"InterlockedAdd(a, 1)"));
        assert!(!check(b"#include \"plain.hlsli\"") && !check(b"#include \"gone.hlsli\""));
        assert!(check(b"  #  include \"wave.hlsli\"\r\n") && check(b"#include HEADER"));
        assert!(names_thread(b"void f(uint i : SV_GROUPINDEX)") && !names_thread(b"float4 f() : SV_Target"));
        assert!(!needs_parse(
            "a.hlsl",
            &b"#include \"wave.hlsli\"".into(),
            &NoIncludes
        ));
    }
}
