//! What the files of a unit say to the preprocessor, whichever way their conditions come out.
//!
//! A build with other definitions compiles the text that this one leaves out, with the macros of arms that this one
//! leaves out. What a region holds is therefore not its words but what they may expand to: [`Definitions::reach`].

use std::ops::Deref;

use rustc_hash::{FxHashMap, FxHashSet};

use super::dead::without_dead_arms;
use super::directive;
use super::lex;
use super::text::SourceText;
use crate::span::{FileId, Sources};
use crate::text::{Derived, Text};

/// A line that is a directive, wherever it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive {
    /// Bytes of the file, from the `#` to the end of the line, with continued lines and block comments.
    pub start: u32,
    pub end: u32,
    /// The word behind the `#`.
    pub keyword: Vec<u8>,
    /// What stands behind that, on one line and with a blank for each comment.
    pub argument: Vec<u8>,
}

/// The directives of a file, in order, as the preprocessor tells them from other lines: comments and continued lines may
/// stand before, in and behind `#` and keyword.
#[derive(Debug)]
pub struct Directives(Vec<Directive>);

impl Derived for Directives {
    fn of(text: &Text) -> Self {
        Directives(in_text(text))
    }
}

impl Deref for Directives {
    type Target = [Directive];

    fn deref(&self) -> &[Directive] {
        &self.0
    }
}

/// As [`Directives`], of a part of a file.
#[must_use]
pub fn directives(text: &[u8]) -> Vec<Directive> {
    in_text(&text.into())
}

fn in_text(text: &Text) -> Vec<Directive> {
    // `%:` is `#`.
    if !text.iter().any(|byte| matches!(byte, b'#' | b'%')) {
        return Vec::new();
    }
    let source = SourceText::new(FileId(0), text.clone());
    let bytes = source.bytes();
    let mut at = source.start();
    let mut found = Vec::new();
    while let Some(hash) = directive::next_hash(bytes, at) {
        let (line, keyword) = directive::line(bytes, hash);
        let rest = bytes.get(line.keyword_end..line.end).unwrap_or_default();
        found.push(Directive {
            start: source.file_start(hash),
            end: source.file_end(line.end),
            keyword: keyword.to_vec(),
            argument: lex::without_comments(rest),
        });
        at = line.end;
    }
    found
}

/// The macro that keeps a file from being read twice: the file is `#ifndef NAME`, `#define NAME`, its text, `#endif`, and
/// nothing but comments around that. `lines` are the directives of `text`.
///
/// A build that defines NAME compiles nothing of the file. Where text stands outside, NAME is a macro as any other: behind
/// `#ifndef CUSTOM`, `#define CUSTOM`, `#endif` a build may have another value for it.
#[must_use]
pub fn include_guard<'d>(text: &[u8], lines: &'d [Directive]) -> Option<&'d [u8]> {
    let [first, second, .., last] = lines else {
        return None;
    };
    let is_blank = |text: &[u8]| lex::without_comments(text).trim_ascii().is_empty();
    let before = text.get(..first.start as usize)?;
    let before = before.strip_prefix(b"\xef\xbb\xbf").unwrap_or(before);
    let behind = text.get(last.end as usize..)?;
    let is_one = first.keyword == b"ifndef"
        && second.keyword == b"define"
        && first.argument.trim_ascii() == second.argument.trim_ascii()
        && last.keyword == b"endif"
        && is_blank(before)
        && is_blank(behind);
    let mut depth = 0_usize;
    let mut ends = lines.iter().filter(|line| {
        match &line.keyword[..] {
            b"if" | b"ifdef" | b"ifndef" => depth += 1,
            b"endif" => depth = depth.saturating_sub(1),
            keyword if keyword.starts_with(b"el") => return depth == 1,
            _ => {}
        }
        depth == 0
    });
    let ends_last = ends.next().is_some_and(|end| end.start == last.start);
    (is_one && ends_last).then(|| first.argument.trim_ascii())
}

/// A definition of a macro.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The file, and where in it the `#define` begins; `None` for one that is made from outside.
    pub place: Option<(FileId, u32)>,
    /// The parameters as they are written, with their parentheses; empty for an object-like macro.
    pub parameters: Vec<u8>,
    pub body: Vec<u8>,
}

impl Definition {
    /// The definition in what stands behind `#define`.
    #[must_use]
    pub fn of(argument: &[u8]) -> Option<Definition> {
        Some(Definition::named(argument, None)?.1)
    }

    /// The definition in `NAME(PARAMETERS) BODY`, and its name.
    fn named(line: &[u8], place: Option<(FileId, u32)>) -> Option<(&[u8], Definition)> {
        let line = line.trim_ascii();
        let name = line
            .get(..lex::word_end(line, 0))
            .filter(|name| !name.is_empty())?;
        let rest = line.get(name.len()..).unwrap_or_default();
        let (parameters, body) = match rest.iter().position(|byte| *byte == b')') {
            Some(close) if rest.first() == Some(&b'(') => rest.split_at(close + 1),
            _ => (&[][..], rest),
        };
        let definition = Definition {
            place,
            parameters: parameters.to_vec(),
            body: body.trim_ascii().to_vec(),
        };
        Some((name, definition))
    }

    /// Whether a `##` in it may put this name together: of the words beside it, those that are no parameters are in the
    /// name, in their order.
    #[must_use]
    pub fn may_paste(&self, name: &str) -> bool {
        if !self.body.windows(2).any(|pair| pair == b"##") {
            return false;
        }
        let parameters: Vec<&[u8]> = lex::words(&self.parameters).collect();
        let body = String::from_utf8_lossy(&self.body);
        let is_open = |word: &str| word == "__VA_ARGS__" || parameters.contains(&word.as_bytes());
        let is_part = |c: char| u8::try_from(c).is_ok_and(lex::is_word);
        let parts = body.split(|c: char| !(is_part(c) || c == '#' || c.is_whitespace()));
        parts.filter(|part| part.contains("##")).any(|part| {
            let mut pieces = part
                .split("##")
                .map(|piece| piece.split_whitespace().collect::<Vec<_>>());
            // What stands before the last word, or behind the first one, is no part of what is pasted.
            let mut rest = pieces
                .next()
                .and_then(|first| after(name, first.last(), &is_open));
            pieces.any(|piece| {
                rest = rest.and_then(|rest| after(rest, piece.first(), &is_open));
                let may_be = rest.is_some();
                if piece.len() > 1 {
                    rest = after(name, piece.last(), &is_open);
                }
                may_be
            })
        })
    }
}

/// What of the name is left behind the word, if it is in it; all of it behind a word that may be any.
fn after<'n>(name: &'n str, word: Option<&&str>, is_open: &dyn Fn(&str) -> bool) -> Option<&'n str> {
    match word {
        Some(word) if !is_open(word) => Some(name.split_once(*word)?.1),
        _ => Some(name),
    }
}

/// Every definition of a macro that a build of these files may see.
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    by_name: FxHashMap<Box<[u8]>, Vec<Definition>>,
}

impl Definitions {
    /// Those in the files, whatever arm of an `#if` they stand in, and those that are `given` (name and value) from outside.
    #[must_use]
    pub fn of(sources: &Sources, given: &[(String, String)]) -> Self {
        let texts = without_dead_arms(sources.files.iter().map(|file| &file.text), given);
        Definitions::in_texts(&texts, given)
    }

    /// The same of texts that [`without_dead_arms`] has gone over, one for each file.
    #[must_use]
    pub fn in_texts(texts: &[Text], given: &[(String, String)]) -> Self {
        let mut definitions = Definitions::default();
        for (name, value) in given {
            definitions.note(format!("{name} {value}").as_bytes(), None);
        }
        for (id, text) in (0..).map(FileId).zip(texts) {
            for directive in text.derived::<Directives>().iter() {
                if directive.keyword == b"define" {
                    definitions.note(&directive.argument, Some((id, directive.start)));
                }
            }
        }
        definitions
    }

    fn note(&mut self, line: &[u8], place: Option<(FileId, u32)>) {
        if let Some((name, definition)) = Definition::named(line, place) {
            self.by_name.entry(name.into()).or_default().push(definition);
        }
    }

    /// The definitions of this name.
    #[must_use]
    pub fn named(&self, name: &[u8]) -> &[Definition] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }

    /// All of them, with their names, in no order.
    pub fn all(&self) -> impl Iterator<Item = (&[u8], &Definition)> {
        let by_name = self.by_name.iter();
        by_name.flat_map(|(name, definitions)| definitions.iter().map(move |one| (&**name, one)))
    }

    /// What a text may expand to: the text, and each definition that a word of it names, or a word of these.
    ///
    /// Every word of an expansion of the text, under whichever of the definitions, is a word of the text, of an argument
    /// in it, or of the body of a macro that one of these names; or `##` puts it together. So the words of [`Reach::text`]
    /// are all of them but for the last kind, which [`Reach::may_paste`] answers.
    #[must_use]
    pub fn reach(&self, text: &[u8]) -> Reach<'_> {
        let mut reach = Reach {
            text: text.to_vec(),
            through: Vec::new(),
        };
        let mut seen: FxHashSet<&[u8]> = FxHashSet::default();
        let mut done = 0;
        while done < reach.text.len() {
            let new: Vec<(&[u8], &Vec<Definition>)> = lex::words(reach.text.get(done..).unwrap_or_default())
                .filter_map(|word| self.by_name.get_key_value(word))
                .map(|(name, definitions)| (&**name, definitions))
                .filter(|(name, _)| seen.insert(name))
                .collect();
            done = reach.text.len();
            for definition in new.into_iter().flat_map(|(_, definitions)| definitions) {
                reach.text.push(b'\n');
                reach.text.extend_from_slice(&definition.body);
                reach.through.push(definition);
            }
        }
        reach
    }
}

/// What a text may expand to.
#[derive(Clone, Debug)]
pub struct Reach<'d> {
    /// The text, and below it the bodies of the macros that it comes to, one a line.
    pub text: Vec<u8>,
    through: Vec<&'d Definition>,
}

impl Reach<'_> {
    /// Whether one of the macros may put this name together.
    #[must_use]
    pub fn may_paste(&self, name: &str) -> bool {
        self.through.iter().any(|definition| definition.may_paste(name))
    }

    /// Whether each word of a name, in letters of either case, can be put together from words of the text.
    #[must_use]
    pub fn may_spell(&self, name: &str) -> bool {
        may_spell(&self.text, name)
    }
}

/// Whether each word of a name, in letters of either case, can be put together from words of a text.
#[must_use]
pub fn may_spell(text: &[u8], name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let text = text.to_ascii_lowercase();
    let pieces: FxHashSet<&[u8]> = lex::words(&text).collect();
    lex::words(name.as_bytes()).all(|word| {
        // Which lengths of its start are made of pieces.
        let mut ends = vec![0];
        for end in 1..=word.len() {
            if ends.iter().any(|start| pieces.contains(&word[*start..end])) {
                ends.push(end);
            }
        }
        ends.last() == Some(&word.len())
    })
}

/// The words of a text's code and of the bodies of the macros that it defines; those of conditions and comments do not count.
pub(crate) struct WordsInCode(FxHashSet<Box<[u8]>>);

impl WordsInCode {
    pub fn contains(&self, word: &[u8]) -> bool {
        self.0.contains(word)
    }
}

impl Derived for WordsInCode {
    fn of(text: &Text) -> Self {
        let mut found = FxHashSet::default();
        let mut note = |text: &[u8]| {
            for word in lex::words(text) {
                if !found.contains(word) {
                    found.insert(word.into());
                }
            }
        };
        let mut start = 0;
        for line in text.derived::<Directives>().iter() {
            note(&lex::without_comments(
                text.get(start..line.start as usize).unwrap_or_default(),
            ));
            let definition = (line.keyword == b"define").then(|| Definition::of(&line.argument));
            if let Some(definition) = definition.flatten() {
                note(&definition.body);
            }
            start = line.end as usize;
        }
        note(&lex::without_comments(text.get(start..).unwrap_or_default()));
        WordsInCode(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span::SourceFile;

    fn definitions(text: &str, given: &[(&str, &str)]) -> Definitions {
        let sources = Sources {
            files: vec![SourceFile {
                path: "a.hlsl".to_owned(),
                text: text.as_bytes().into(),
            }],
        };
        let given = given
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Definitions::of(&sources, &given.collect::<Vec<_>>())
    }

    #[track_caller]
    fn check_directives(text: &str, expected: &[(&str, &str, &str)]) {
        let found = directives(text.as_bytes());
        let shown: Vec<(String, String, &str)> = found
            .iter()
            .map(|one| {
                let string = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let written = text
                    .get(one.start as usize..one.end as usize)
                    .unwrap_or("outside");
                (string(&one.keyword), string(&one.argument), written)
            })
            .collect();
        let shown: Vec<(&str, &str, &str)> = shown
            .iter()
            .map(|(keyword, argument, written)| (keyword.as_str(), argument.trim(), *written))
            .collect();
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn directives_are_found_as_the_preprocessor_finds_them() {
        check_directives("float a; # define B\n", &[]);
        check_directives(
            "/* a\n */ #/**/include /* b */ \"c.h\" // d\n#\\\n  define E \\\n  f\nx",
            &[
                ("include", "\"c.h\"", "#/**/include /* b */ \"c.h\" // d"),
                ("define", "E   f", "#\\\n  define E \\\n  f"),
            ],
        );
        check_directives(
            "\u{feff}#if 0\r# else\r\n#endif",
            &[
                ("if", "0", "#if 0"),
                ("else", "", "# else"),
                ("endif", "", "#endif"),
            ],
        );
        check_directives(
            "#error don't\n#if A\n",
            &[("error", "don't", "#error don't"), ("if", "A", "#if A")],
        );
        check_directives("/* #if A\n#endif */\n// #if B\n", &[]);
    }

    #[test]
    fn a_name_may_be_spelt_by_what_is_reached() {
        let text = "#ifdef A\n#define NAME fold\n#else\n#define NAME other\n#endif\n#define PATH(n) STR(dir/NAME##_##n.hlsl)\n#define STR(x) #x\n";
        let definitions = definitions(text, &[("GIVEN", "Scan")]);
        let spells = |include: &str, name: &str| definitions.reach(include.as_bytes()).may_spell(name);
        assert!(spells("PATH(2)", "fold_2.hlsl") && spells("PATH(2)", "Other_2.HLSL"));
        assert!(spells("STR(GIVEN.hlsl)", "scan.hlsl") && !spells("STR(GIVEN.hlsl)", "scans.hlsl"));
        assert!(!spells("PATH(2)", "fold_3.hlsl") && !spells("STR(other.hlsl)", "fold.hlsl"));
    }

    #[test]
    fn a_guard_holds_all_of_its_file() {
        for (text, is_guard) in [
            (
                "\u{feff}// a\n#ifndef A /* b */\n#define A\nint b;\n#if B\n#else\n#endif\n#endif // A\n/* c */",
                true,
            ),
            ("#ifndef A\n#define A\n#endif\nint b;", false),
            ("int b;\n#ifndef A\n#define A\n#endif", false),
            ("#ifndef A\n#define A 1\nint b;\n#endif", false),
            ("#ifndef A\n#define A\nint b;\n#else\nint c;\n#endif", false),
            ("#ifndef A\n#define A\nint b;\n#endif\n#ifdef C\n#endif", false),
            ("#ifndef A\n#define A\nint b;\n", false),
        ] {
            let lines = directives(text.as_bytes());
            let guard = include_guard(text.as_bytes(), &lines);
            assert_eq!(guard, is_guard.then_some(&b"A"[..]), "{text}");
        }
    }

    #[test]
    fn a_text_reaches_what_its_macros_may_expand_to() {
        let definitions = definitions(
            "#define KERNEL(n, e) void n() { Ladder(e); }\n#ifdef A\n#define E 63 - gi\n#else\n#define E F\n#endif\n\
             #define F \\\n  [x]\n#define NOT no\n",
            &[("OUT", "given E"), ("CALL(x)", "call x")],
        );
        let reach =
            |text: &str| String::from_utf8_lossy(&definitions.reach(text.as_bytes()).text).into_owned();
        assert_eq!(reach("plain"), "plain");
        assert_eq!(
            reach("KERNEL(Second, E)"),
            "KERNEL(Second, E)\nvoid n() { Ladder(e); }\n63 - gi\nF\n[x]"
        );
        assert_eq!(reach("OUT CALL"), "OUT CALL\ngiven E\ncall x\n63 - gi\nF\n[x]");
    }

    #[test]
    fn a_name_may_be_pasted_by_a_macro_that_is_reached() {
        let definitions = definitions(
            "#define P(a) Lad##a\n#define Q P(der)\n#define R(a) Other##a\n",
            &[],
        );
        let may = |text: &str| definitions.reach(text.as_bytes()).may_paste("Ladder");
        assert!(may("P(der)") && may("Q"));
        assert!(!may("R(der)") && !may("Ladder"));
    }
}
