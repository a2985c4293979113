//! Making the edits of fixes, on bytes.

use shaderlint_hlsl::{Edited, FunctionId, Shader, Span, Splice};
use shaderlint_simt::calls_unknown;

use crate::finding::{At, Diagnostic, Edit, FileEdit, Fix, Safety, Verdict};
use crate::place::MAIN_FILE;

/// How often [`settle`] looks again.
pub const MAX_PASSES: usize = 100;

/// The translation unit with edits in its *expanded* text, and the entry point `entry` in it: the subject of a proof
/// of a fix. `None` where an edit is outside the text, or the entry point is gone.
///
/// It reads only what the entry point needs, so the rest of a file costs a proof next to nothing. An entry point that
/// calls unknown functions needs everything.
#[must_use]
pub fn fixed_shader(shader: &Shader, entry: FunctionId, edits: &[Edit]) -> Option<(Shader, FunctionId)> {
    let edited = Edited::new(shader, edits.iter().map(Edit::splice).collect())?;
    let part = edited.part(entry).and_then(|fixed| {
        let entry = counterpart(shader, entry, &fixed)?;
        Some((fixed, entry))
    });
    if let Some((fixed, entry)) = part
        && !calls_unknown(&fixed, entry)
    {
        return Some((fixed, entry));
    }
    let fixed = edited.whole();
    let entry = counterpart(shader, entry, &fixed)?;
    Some((fixed, entry))
}

/// The translation unit without and with edits in its *expanded* text, both read whole, with the entry point `entry`
/// in each.
#[must_use]
pub fn whole_shaders(
    shader: &Shader,
    entry: FunctionId,
    edits: &[Edit],
) -> Option<[(Shader, FunctionId); 2]> {
    let read = |splices| {
        let whole = Edited::new(shader, splices)?.whole();
        let entry = counterpart(shader, entry, &whole)?;
        Some((whole, entry))
    };
    Some([read(Vec::new())?, read(edits.iter().map(Edit::splice).collect())?])
}

impl Edit {
    /// The edit of the expanded text.
    #[must_use]
    pub fn splice(&self) -> Splice {
        let text = self.expanded.as_ref().unwrap_or(&self.text);
        let (start, end, text) = match self.at {
            At::Over(span) | At::OverChoices(span) => (span.start, span.end, text.clone()),
            At::Before(span) => (span.start, span.start, format!("{text}\n")),
            At::After(span) => (span.end, span.end, format!("\n{text}\n")),
        };
        Splice {
            span: Span { start, end },
            text,
        }
    }
}

/// The counterpart of `entry` in another reading. Overloads may share the name, and a reading has all of them or
/// none: the counterpart has as many entry points of that name before it.
fn counterpart(shader: &Shader, entry: FunctionId, other: &Shader) -> Option<FunctionId> {
    let wanted = shader.functions.get(entry.0 as usize)?;
    let of_name = |shader: &Shader| -> Vec<FunctionId> {
        shader
            .entry_points()
            .filter(|(_, function)| function.name == wanted.name)
            .map(|(id, _)| id)
            .collect()
    };
    let number = of_name(shader).iter().position(|id| *id == entry)?;
    of_name(other).get(number).copied()
}

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

    const UNIT: &str = "groupshared uint g[64], other[64];
uint unused(uint a) { return a; }
uint twice(uint a) { return a + a; }
[numthreads(64, 1, 1)] void main(uint i : SV_GroupIndex) { other[i] = 0; }
[numthreads(32, 1, 1)] void main(uint i : SV_GroupIndex, uint2 id : SV_GroupID) { g[i] = 1; }
[numthreads(64, 1, 1)] void last() { missing(); }
";

    /// The unit with `old` made `new`, for the entry point of this number, and the size of its group.
    fn fixed(number: usize, old: &str, new: &str) -> Option<(Shader, u32)> {
        let (shader, _) = shaderlint_hlsl::parse(UNIT.as_bytes().to_vec());
        let (entry, _) = shader.entry_points().nth(number)?;
        let start = String::from_utf8_lossy(&shader.text).find(old)? as u32;
        let span = Span {
            start,
            end: start + old.len() as u32,
        };
        let edit = Edit::new(At::Over(span), new);
        let (shader, entry) = fixed_shader(&shader, entry, &[edit])?;
        let [width, ..] = shader.functions.get(entry.0 as usize)?.group_size?;
        Some((shader, width))
    }

    fn functions(shader: &Shader) -> Vec<&str> {
        shader.functions.iter().map(|function| &*function.name).collect()
    }

    #[test]
    fn of_a_fixed_unit_the_entry_point_is_read_with_what_it_needs() {
        let (shader, width) = fixed(1, "= 1;", "= twice(1);").expect("the entry point");
        assert_eq!((functions(&shader), width), (vec!["twice", "main", "main"], 32));
        let (shader, width) = fixed(0, "= 0;", "= 2;").expect("the entry point");
        assert_eq!((functions(&shader), width), (vec!["main", "main"], 64));
    }

    /// What that does may come to what nothing names.
    #[test]
    fn all_of_a_fixed_unit_is_read_where_the_entry_point_calls_what_is_not_there() {
        let (shader, _) = fixed(2, "missing();", "missing(); g[0] = 1;").expect("the entry point");
        assert_eq!(functions(&shader), ["unused", "twice", "main", "main", "last"]);
        let (shader, _) = fixed(2, "missing();", "g[0] = 1;").expect("the entry point");
        assert_eq!(functions(&shader), ["last"]);
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
