//! Making the edits of fixes in the text of a file.

use crate::finding::{Diagnostic, FileEdit, Fix, Safety, Verdict};
use crate::place::MAIN_FILE;

/// How often [`settle`] looks again.
pub const MAX_PASSES: usize = 100;

/// A file's text after some fixes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    pub text: Vec<u8>,
    /// The number of fixes made; the others conflict with these.
    pub count: usize,
}

/// Makes the fixes that do not touch the same text; of two that conflict, the first.
#[must_use]
pub fn apply<'a>(text: &[u8], fixes: impl IntoIterator<Item = &'a Fix<FileEdit>>) -> Applied {
    let mut accepted: Vec<&FileEdit> = Vec::new();
    let mut count = 0;
    for fix in fixes {
        let inside = |edit: &FileEdit| {
            let (start, end) = (edit.place.start as usize, edit.place.end as usize);
            edit.place.file == MAIN_FILE && start <= end && end <= text.len()
        };
        let conflicts = |edit: &FileEdit| accepted.iter().any(|other| in_conflict(edit, other));
        if fix.edits.is_empty() || !fix.edits.iter().all(inside) || fix.edits.iter().any(conflicts) {
            continue;
        }
        let clashes_with_itself = |(number, edit): (usize, &FileEdit)| {
            fix.edits
                .iter()
                .skip(number + 1)
                .any(|other| in_conflict(edit, other))
        };
        if fix.edits.iter().enumerate().any(clashes_with_itself) {
            continue;
        }
        accepted.extend(&fix.edits);
        count += 1;
    }
    accepted.sort_by_key(|edit| (edit.place.start, edit.place.end));
    let mut edited = Vec::with_capacity(text.len());
    let mut done = 0;
    for edit in accepted {
        edited.extend_from_slice(text.get(done..edit.place.start as usize).unwrap_or_default());
        edited.extend_from_slice(edit.text.as_bytes());
        done = edit.place.end as usize;
    }
    edited.extend_from_slice(text.get(done..).unwrap_or_default());
    Applied { text: edited, count }
}

/// Whether two edits overlap. Two insertions at one place do: either could declare the other's names.
fn in_conflict(a: &FileEdit, b: &FileEdit) -> bool {
    let (a, b) = (a.place, b.place);
    (a.start < b.end && b.start < a.end) || (a.start == b.start && (a.start == a.end || b.start == b.end))
}

/// A file's text without remaining fixes, or after [`MAX_PASSES`].
#[derive(Clone, Debug)]
pub struct Settled<T> {
    pub text: Vec<u8>,
    /// The rules whose fixes were made, in order.
    pub fixed: Vec<&'static str>,
    /// The result of the last look at the text.
    pub last: T,
}

/// Looks at the text, makes a fix, and looks again until none is left.
///
/// Each fix was proved for the text as it was, and no two of them together: a wave form may need a barrier that
/// another one removes, and two fixes for two races may add two barriers where one suffices. So fixes are made one by
/// one, except for those that remove comments.
///
/// `look` reads a text, `diagnostics` returns its findings.
pub fn settle<T>(
    text: &[u8],
    unsafe_too: bool,
    mut look: impl FnMut(&[u8]) -> T,
    diagnostics: impl Fn(&T) -> &[Diagnostic],
) -> Settled<T> {
    let mut text = text.to_vec();
    let mut last = look(&text);
    let mut fixed = Vec::new();
    for _ in 0..MAX_PASSES {
        let fixes = diagnostics(&last).iter().filter_map(|diagnostic| {
            let fix = diagnostic.fix.as_ref();
            let fix = fix.filter(|fix| unsafe_too || fix.safety == Safety::Safe)?;
            Some((diagnostic, fix))
        });
        let (of_comments, of_code): (Vec<_>, Vec<_>) =
            fixes.partition(|(diagnostic, _)| diagnostic.verdict == Verdict::Unused);
        let (of_atomics, of_others): (Vec<_>, Vec<_>) = of_code
            .into_iter()
            .partition(|(diagnostic, _)| diagnostic.verdict == Verdict::Refines);
        // Code that depends on an atomic's old value is harder to follow behind the atomic's fix: the last one comes
        // first.
        let mut of_code = of_others.into_iter().chain(of_atomics.into_iter().rev());
        let one = of_code.find(|(_, fix)| apply(&text, [*fix]).count > 0);
        let made: Vec<_> = one.into_iter().chain(of_comments).collect();
        let applied = apply(&text, made.iter().map(|(_, fix)| *fix));
        if applied.count == 0 || applied.text == text {
            break;
        }
        // The fixes of comments that conflicted come last.
        let rules = made.iter().map(|(diagnostic, _)| diagnostic.rule);
        fixed.extend(rules.take(applied.count));
        text = applied.text;
        last = look(&text);
    }
    Settled { text, fixed, last }
}

#[cfg(test)]
mod tests {
    use shaderlint_hlsl::{FileId, FileSpan};

    use super::*;

    fn fix(edits: &[(u32, u32, &str)]) -> Fix<FileEdit> {
        let edits = edits.iter().map(|&(start, end, text)| FileEdit {
            place: FileSpan {
                file: MAIN_FILE,
                start,
                end,
            },
            text: text.to_owned(),
        });
        Fix {
            title: String::new(),
            safety: Safety::Safe,
            proof: None,
            notes: Vec::new(),
            edits: edits.collect(),
            other_form: None,
        }
    }

    #[track_caller]
    fn check(text: &[u8], fixes: &[Fix<FileEdit>], expected: &[u8], count: usize) {
        let applied = apply(text, fixes);
        assert_eq!(
            applied.text.escape_ascii().to_string(),
            expected.escape_ascii().to_string()
        );
        assert_eq!(applied.count, count);
    }

    #[test]
    fn edits_are_made_in_order_of_place() {
        check(
            b"abcdef",
            &[fix(&[(4, 5, "E")]), fix(&[(0, 1, "A"), (2, 2, "!")])],
            b"Ab!cdEf",
            2,
        );
        check(b"abc", &[], b"abc", 0);
    }

    #[test]
    fn the_first_of_two_in_conflict_is_made_whole() {
        let (first, second) = (fix(&[(0, 2, "X")]), fix(&[(1, 3, "Y"), (4, 5, "Z")]));
        check(b"abcdef", &[first.clone(), second.clone()], b"Xcdef", 1);
        check(b"abcdef", &[second, first], b"aYdZf", 1);
        check(b"ab", &[fix(&[(1, 1, "x")]), fix(&[(1, 1, "x")])], b"axb", 1);
        check(b"abcd", &[fix(&[(0, 2, "x")]), fix(&[(2, 4, "y")])], b"xy", 2);
    }

    /// Each was proved of the text without the other.
    #[test]
    fn fixes_of_code_are_made_one_at_a_time() {
        let looks = std::cell::Cell::new(0);
        let look = |text: &[u8]| {
            looks.set(looks.get() + 1);
            let letters = (0..).zip(text).filter(|(_, byte)| byte.is_ascii_lowercase());
            let found = letters.map(|(at, byte)| Diagnostic {
                rule: "lower-case",
                kernels: Vec::new(),
                is_of_first: false,
                category: crate::Category::Perf,
                level: crate::Level::Warn,
                message: String::new(),
                shape: None,
                verdict: if *byte == b'u' {
                    Verdict::Unused
                } else {
                    Verdict::Proved
                },
                primary: crate::Label {
                    place: FileSpan {
                        file: MAIN_FILE,
                        start: at,
                        end: at + 1,
                    },
                    text: String::new(),
                },
                secondary: Vec::new(),
                notes: Vec::new(),
                fix: Some(fix(&[(
                    at,
                    at + 1,
                    &char::from(*byte).to_ascii_uppercase().to_string(),
                )])),
                no_fix: None,
            });
            found.collect::<Vec<_>>()
        };
        let settled = settle(b"uabu", false, look, |found| found);
        assert_eq!(
            (&*settled.text, settled.fixed.len(), looks.get()),
            (&b"UABU"[..], 4, 3)
        );
    }

    #[test]
    fn edits_that_leave_the_text_are_not_made() {
        check(
            b"ab",
            &[fix(&[(1, 9, "x")]), fix(&[(2, 1, "x")]), fix(&[])],
            b"ab",
            0,
        );
    }

    #[test]
    fn a_fix_with_an_edit_of_another_file_is_not_made() {
        let mut mixed = fix(&[(0, 1, "A"), (1, 2, "B")]);
        check(b"ab", std::slice::from_ref(&mixed), b"AB", 1);
        for edit in mixed.edits.iter_mut().skip(1) {
            edit.place.file = FileId(1);
        }
        check(b"ab", &[mixed], b"ab", 0);
    }

    #[test]
    fn bytes_that_are_no_text_stay() {
        check(
            b"\xff\x83\r\nab",
            &[fix(&[(4, 5, "\u{e9}")])],
            b"\xff\x83\r\n\xc3\xa9b",
            1,
        );
    }
}
