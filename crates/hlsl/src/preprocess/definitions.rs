//! The macros that the files of a unit define under any configuration.
//!
//! A build with other definitions may compile text that this one leaves out, with macros from arms that this one
//! leaves out. So the text of a region stands for all its possible expansions: [`Definitions::reach`].

use rustc_hash::{FxHashMap, FxHashSet};

use super::comments::without_comments;
use super::dead::without_dead_arms;
use super::lex;
use super::outline::Directives;
use crate::span::{FileId, Sources};
use crate::text::{Derived, Text};

/// A definition of a macro.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The file, and where in it the `#define` begins; `None` for a definition from outside.
    pub place: Option<(FileId, u32)>,
    /// The parameters as written, with their parentheses; empty for an object-like macro.
    pub parameters: Vec<u8>,
    pub body: Vec<u8>,
}

impl Definition {
    /// The definition in the text after `#define`.
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

    /// Whether a `##` in it may paste this name. If so, the name contains the words beside the `##` that are not
    /// parameters, in their order.
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
            // `##` pastes the last word before it and the first word after it.
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

/// The part of the name after the word, if the name contains the word; the whole name if the word may be any.
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
    /// The definitions in the files, in every arm of an `#if`, and the definitions `given` from outside (name and value).
    #[must_use]
    pub fn of(sources: &Sources, given: &[(String, String)]) -> Self {
        let texts = without_dead_arms(sources.files.iter().map(|file| &file.text), given);
        Definitions::in_texts(&texts, given)
    }

    /// The same for texts without dead arms ([`without_dead_arms`]), one for each file.
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

    /// All definitions with their names, in no order.
    pub fn all(&self) -> impl Iterator<Item = (&[u8], &Definition)> {
        let by_name = self.by_name.iter();
        by_name.flat_map(|(name, definitions)| definitions.iter().map(move |one| (&**name, one)))
    }

    /// The possible expansion of a text: the text, and each definition that a word of it names, directly or through
    /// other definitions.
    ///
    /// Under any of the definitions, each word of an expansion is a word of the text, or of the body of a macro that it reaches, or
    /// `##` pastes it. [`Reach::text`] has all words of the first two kinds, and [`Reach::may_paste`] answers for the third.
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

/// The possible expansion of a text.
#[derive(Clone, Debug)]
pub struct Reach<'d> {
    /// The text, followed by the bodies of the macros that it reaches, one per line.
    pub text: Vec<u8>,
    through: Vec<&'d Definition>,
}

impl Reach<'_> {
    /// Whether one of the macros may paste this name.
    #[must_use]
    pub fn may_paste(&self, name: &str) -> bool {
        self.through.iter().any(|definition| definition.may_paste(name))
    }

    /// Whether each word of a name is a concatenation of words of the text, ignoring case.
    #[must_use]
    pub fn may_spell(&self, name: &str) -> bool {
        may_spell(&self.text, name)
    }
}

/// Whether each word of a name is a concatenation of words of a text, ignoring case.
#[must_use]
pub fn may_spell(text: &[u8], name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let text = text.to_ascii_lowercase();
    let pieces: FxHashSet<&[u8]> = lex::words(&text).collect();
    lex::words(name.as_bytes()).all(|word| {
        // The lengths of its prefixes that consist of pieces.
        let mut ends = vec![0];
        for end in 1..=word.len() {
            if ends.iter().any(|start| pieces.contains(&word[*start..end])) {
                ends.push(end);
            }
        }
        ends.last() == Some(&word.len())
    })
}

/// The words of a text's code and of the bodies of the macros that it defines, without conditions and comments.
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
            note(&without_comments(
                text.get(start..line.start as usize).unwrap_or_default(),
            ));
            let definition = (line.keyword == b"define").then(|| Definition::of(&line.argument));
            if let Some(definition) = definition.flatten() {
                note(&definition.body);
            }
            start = line.end as usize;
        }
        note(&without_comments(text.get(start..).unwrap_or_default()));
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
