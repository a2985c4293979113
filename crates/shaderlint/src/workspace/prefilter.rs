//! The byte scan that saves parsing most files.

use std::collections::HashSet;
use std::path::Path;

use shaderlint_hlsl::{Definition, Derived, Directive, Directives, Includes, SourceFile, Text, directives};

use crate::support::paths;

/// If neither a file nor any file that it includes contains one of these words, no rule can find anything in
/// it.
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

/// Whether the text contains these bytes.
pub(crate) fn contains(text: &[u8], bytes: &[u8]) -> bool {
    memchr::memmem::find(text, bytes).is_some()
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

/// Whether the text names a barrier that waits for the group.
pub(crate) fn names_group_barrier(text: &[u8]) -> bool {
    contains(text, b"WithGroupSync")
}

/// How often the text contains the name outside of comments and strings. Each macro definition that may paste
/// the name together counts, too.
pub(crate) fn times_named(text: &[u8], name: &str) -> usize {
    let bytes = name.as_bytes();
    let is_named = contains(text, bytes);
    let (mut rest, mut times) = (if is_named { text } else { &[] }, 0);
    while !rest.is_empty() {
        let length = match rest {
            [b'/', b'/', ..] => memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len()),
            [b'/', b'*', body @ ..] => memchr::memmem::find(body, b"*/").map_or(rest.len(), |end| end + 4),
            [b'"', body @ ..] => string(body).map_or(1, |length| length + 1),
            _ => {
                let length = rest.iter().take_while(|byte| is_part(**byte)).count();
                times += usize::from(rest.get(..length) == Some(bytes));
                length.max(1)
            }
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    if !contains(text, b"##") {
        return times;
    }
    let defines = directives(text)
        .into_iter()
        .filter(|line| line.keyword == b"define");
    let definitions = defines.filter_map(|line| Definition::of(&line.argument));
    times
        + definitions
            .filter(|definition| definition.may_paste(name))
            .count()
}

/// The length of a string after its opening `"`. `None` if the string does not end on its line.
fn string(body: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match body.get(at)? {
            b'"' => return Some(at + 1),
            b'\n' | b'\r' => return None,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Whether a byte may be part of a name.
pub(crate) fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The identifiers and numbers of a text.
pub(crate) fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| !is_part(*byte)).filter(|word| !word.is_empty())
}

/// Whether the word is one of the identifiers and numbers of a text.
pub(crate) fn has_word(text: &[u8], word: &[u8]) -> bool {
    words(text).any(|other| other == word)
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

/// What is sought among the files that a file includes, directly or not. Includes under any `#if` count.
#[derive(Clone, Copy)]
pub(crate) struct Sought<'a> {
    is_one: &'a dyn Fn(&SourceFile) -> bool,
    is_written: &'a dyn Fn(&str) -> bool,
    /// An include of a macro counts: only the preprocessor knows where it leads.
    pub if_unknown: bool,
}

impl<'a> Sought<'a> {
    /// A file for which `is_one` holds.
    pub fn file(is_one: &'a dyn Fn(&SourceFile) -> bool) -> Self {
        Sought {
            is_one,
            is_written: &|_| false,
            if_unknown: true,
        }
    }

    /// Includes whose written path fulfils `is_written` count, too, wherever they lead.
    pub fn or_written(self, is_written: &'a dyn Fn(&str) -> bool) -> Self {
        Sought { is_written, ..self }
    }

    /// Includes count only if their file is known.
    pub fn for_certain(self) -> Self {
        Sought {
            if_unknown: false,
            ..self
        }
    }

    pub fn is(&self, file: &SourceFile) -> bool {
        (self.is_one)(file)
    }
}

/// Whether the file includes what is sought, with the files that `includes` takes.
pub(crate) fn reaches(path: &str, text: &Text, includes: &dyn Includes, sought: Sought<'_>) -> bool {
    let mut seen = HashSet::from([path.to_owned()]);
    let mut texts = vec![(path.to_owned(), text.clone())];
    // The meaning of a path depends on the folders of all files that are being read. This has one file per
    // folder seen.
    let mut folders: Vec<String> = Vec::new();
    let mut asked: Vec<(String, String, bool)> = Vec::new();
    let mut answered = HashSet::new();
    while !texts.is_empty() {
        for (from, text) in std::mem::take(&mut texts) {
            for name in included(&text) {
                match name {
                    Some((name, _)) if (sought.is_written)(&name) => return true,
                    Some((name, angled)) => asked.push((from.clone(), name, angled)),
                    None if sought.if_unknown => return true,
                    None => {}
                }
            }
            let is_beside = |other: &String| Path::new(other).parent() == Path::new(&from).parent();
            if !folders.iter().any(is_beside) {
                folders.push(from);
            }
        }
        for (number, (from, name, angled)) in asked.iter().enumerate() {
            for (folder, other) in folders.iter().enumerate() {
                if !answered.insert((number, folder)) {
                    continue;
                }
                let Some(file) = includes.resolve(&[from, other], name, *angled) else {
                    continue;
                };
                let is_beside = Path::new(&file.path) == paths::beside(Path::new(from), name);
                if seen.insert(file.path.clone()) {
                    if sought.is(&file) {
                        return true;
                    }
                    texts.push((file.path, file.text));
                }
                if is_beside {
                    break;
                }
            }
        }
    }
    false
}

fn names_one(text: &[u8]) -> bool {
    text.iter().enumerate().any(|(start, byte)| {
        matches!(byte, b'A' | b'B' | b'C' | b'D' | b'I' | b'Q' | b'W' | b'g')
            && text
                .get(start..)
                .is_some_and(|rest| WORDS.iter().any(|word| rest.starts_with(word)))
    })
}

/// What a text may include.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Mentioned {
    /// File names, in lower case and without folders. They stand in `#include` lines, or in definitions of
    /// macros, which such lines may use.
    pub names: Vec<String>,
    /// The paths in the `#include` lines, as written.
    pub written: Vec<String>,
    /// An `#include` line uses a macro, which may be defined elsewhere.
    pub by_macro: bool,
}

pub(crate) fn mentioned(text: &Text) -> Mentioned {
    let mut found = Mentioned::default();
    for line in text.derived::<Directives>().iter() {
        let is_include = is_include(line);
        if !is_include && line.keyword != b"define" {
            continue;
        }
        let argument = String::from_utf8_lossy(&line.argument);
        if is_include {
            let name = name_in(&argument);
            found.by_macro |= name.is_none();
            found.written.extend(name.map(|(name, _)| name));
        }
        let argument = argument.to_lowercase();
        let quoted = argument.split(['"', '<', '>']).skip(1);
        let last = quoted.filter_map(|path| path.rsplit(['/', '\\']).next());
        // A definition may contain any text.
        let is_name = |name: &&str| !name.is_empty() && (is_include || name.contains('.'));
        for name in last.map(str::trim).filter(is_name) {
            if !found.names.iter().any(|known| known == name) {
                found.names.push(name.to_owned());
            }
        }
    }
    found
}

fn is_include(line: &Directive) -> bool {
    matches!(&line.keyword[..], b"include" | b"include_with_pragmas")
}

/// Whether a directive is an `#include` of a macro.
pub(crate) fn includes_by_macro(line: &Directive) -> bool {
    is_include(line) && name_in(&String::from_utf8_lossy(&line.argument)).is_none()
}

/// The paths in the `#include` lines, and whether each is in angle brackets. `None` for a macro.
pub(crate) fn included(text: &Text) -> Vec<Option<(String, bool)>> {
    let lines = text.derived::<Directives>();
    let includes = lines.iter().filter(|line| is_include(line));
    includes
        .map(|line| name_in(&String::from_utf8_lossy(&line.argument)))
        .collect()
}

/// The path in the argument of an `#include`, and whether it is in angle brackets.
fn name_in(line: &str) -> Option<(String, bool)> {
    let line = line.trim();
    let quoted = |open: char, close: char| Some(line.strip_prefix(open)?.split_once(close)?.0.to_owned());
    let name = quoted('"', '"').map(|name| (name, false));
    name.or_else(|| quoted('<', '>').map(|name| (name, true)))
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

    #[test]
    fn includes_are_seen_whatever_stands_before_them() {
        let name = "plain.hlsli".to_owned();
        let plain = [Some((name.clone(), false))];
        for text in [
            "#include \"plain.hlsli\"",
            "\u{feff}#include \"plain.hlsli\"\r\nfloat a;",
            "/* once\n */ # include \"plain.hlsli\" // here",
            "float a;\r#include \"plain.hlsli\"\rfloat b;",
            "#include \\\r\n\"plain.hlsli\"\r\n",
            "#/**/include/**/\"plain.hlsli\"\n",
            "#\\\n include \"plain.hlsli\"",
        ] {
            assert_eq!(included(&text.as_bytes().into()), plain, "{text:?}");
            assert_eq!(
                mentioned(&text.as_bytes().into()).names.first(),
                Some(&name),
                "{text:?}"
            );
        }
        let of = |text: &str| mentioned(&text.as_bytes().into());
        let names = |names: &[&str], written: &[&str], by_macro| Mentioned {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            written: written.iter().map(|name| (*name).to_owned()).collect(),
            by_macro,
        };
        assert_eq!(
            of("#define A \\\n <b/C.hlsl>\n\"d.hlsl\""),
            names(&["c.hlsl"], &[], false)
        );
        assert_eq!(
            of("#include HEADER\n#include \"b/common\"\n"),
            names(&["common"], &["b/common"], true)
        );
        // A macro may stand for any text.
        assert_eq!(of("#define A \"a\"\n#if 1\n\"a.hlsl\""), names(&[], &[], false));
        assert!(included(&b"#define A \"a.hlsl\"".into()).is_empty());
    }

    #[test]
    fn names_are_words_outside_of_comments() {
        let times = |text: &[u8]| times_named(text, "sum");
        assert_eq!(times(b"sum(sum, sums, a_sum, sum2) /sum*sum"), 4);
        assert_eq!(
            times(b"// sum\nsum /* sum\n * sum */ sum /**/ sum /*/ sum */ /* sum"),
            3
        );
        assert_eq!(times(b"#define REDUCE sum\n// \\\nsum"), 2);
        assert_eq!(times(b"// sum\rsum \"sum \\\" /*\" sum \" sum"), 3);
        assert_eq!(times(b""), 0);
    }

    #[test]
    fn names_may_be_pasted() {
        let pasted = |text: &str| times_named(text.as_bytes(), "sum_f32");
        for text in [
            "#define SUM(type) sum_##type(x)",
            "#define SUM(type) \\\n    sum_ ## type",
            "#define F32(name) name##_f32",
            "#define PASTE(a, b) a##b",
            "#define SUM_OF(a, b) a##_##b",
            "#define SUM return sum_##f32",
            "#define SUM(type) return sum_##type else",
            "#define ALL(...) sum_##__VA_ARGS__",
            "#define TWO(a) max_##a sum_##a",
        ] {
            assert_eq!(pasted(text), 1, "{text}");
        }
        for text in [
            "#define ARGS(name) Texture2D name, SamplerState sampler##name",
            "#define MAX(type) max_##type",
            "#define F16(name) name##_f16",
            "#define MAX(type) sum_ max_##type",
            "a ## b",
        ] {
            assert_eq!(pasted(text), 0, "{text}");
        }
    }
}
