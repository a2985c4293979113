//! Arms of conditional compilation that no shader build reads.

use std::ops::Range;

use memchr::{memchr_iter, memmem};

use super::comments::without_comments;
use super::lex;
use super::outline::{Directive, Directives, include_guard};
use super::predefined::CPP;
use crate::text::{Derived, Text};

/// The texts of a unit's files as shader builds may read them, with unchanged lengths. An arm that no build reads
/// (`#if 0`, `#ifdef __cplusplus`) is blank, and so is a directive that no longer makes a choice: `#ifdef
/// __cplusplus`, `A`, `#else`, `B`, `#endif` becomes `B`.
///
/// In a unit that defines `__cplusplus` itself, `__cplusplus` is a macro like any other.
pub fn without_dead_arms<'t>(texts: impl Iterator<Item = &'t Text>, given: &[(String, String)]) -> Vec<Text> {
    let is_defining = |line: &Directive| {
        let after_name = line.argument.trim_ascii_start().strip_prefix(CPP);
        let is_name = |after: &[u8]| !after.first().is_some_and(|byte| lex::is_word(*byte));
        line.keyword == b"define" && after_name.is_some_and(is_name)
    };
    let texts: Vec<&Text> = texts.collect();
    let defines_it = |text: &Text| text.derived::<Directives>().iter().any(is_defining);
    let is_given = given.iter().any(|(name, _)| name.as_bytes() == CPP);
    let has_cpp = is_given || texts.iter().any(|text| defines_it(text));
    let living = texts.into_iter().map(|text| {
        let living = if has_cpp {
            living(text, true)
        } else {
            text.derived::<Living>().0.clone()
        };
        living.unwrap_or_else(|| text.clone())
    });
    living.collect()
}

/// A text without its dead arms, if nothing defines `__cplusplus`; `None` if it has no dead arm.
struct Living(Option<Text>);

impl Derived for Living {
    fn of(text: &Text) -> Self {
        Living(living(text, false))
    }
}

fn living(text: &Text, has_cpp: bool) -> Option<Text> {
    let mut edits = Edits {
        text,
        keywords: Vec::new(),
        blanks: Vec::new(),
    };
    edits.look_for(&text.derived::<Directives>(), has_cpp);
    edits.made()
}

/// Whether only C++ compilers accept a file, under any definitions: outside of all conditionals except its include
/// guard, it has a word of C++ that HLSL reserves without a use (learn.microsoft.com, "Reserved Words"; DXC: "is a
/// reserved keyword in HLSL").
#[must_use]
pub fn is_cpp(text: &Text) -> bool {
    const RESERVED: [&[u8]; 8] = [
        b"public",
        b"private",
        b"protected",
        b"virtual",
        b"friend",
        b"mutable",
        b"dynamic_cast",
        b"reinterpret_cast",
    ];
    if !RESERVED.iter().any(|word| memmem::find(text, word).is_some()) {
        return false;
    }
    let texts = without_dead_arms(std::iter::once(text), &[]);
    let Some(text) = texts.first() else { return false };
    let lines = text.derived::<Directives>();
    let mut depth = 0_usize;
    let guard = usize::from(include_guard(text, &lines).is_some());
    let mut from = 0;
    let is_there = |from: usize, to: usize, depth: usize| {
        let part = text.get(from..to).filter(|_| depth <= guard).unwrap_or_default();
        let plain = without_comments(part);
        let mut words = plain.split(|byte| !lex::is_word(*byte));
        words.any(|word| RESERVED.contains(&word))
    };
    for line in lines.iter() {
        if is_there(from, line.start as usize, depth) {
            return true;
        }
        match &line.keyword[..] {
            b"if" | b"ifdef" | b"ifndef" => depth += 1,
            b"endif" => depth = depth.saturating_sub(1),
            _ => {}
        }
        from = line.end as usize;
    }
    is_there(from, text.len(), depth)
}

/// An arm of a conditional.
struct Arm<'d> {
    line: &'d Directive,
    /// The value of its condition, if every build that evaluates it gets the same one.
    holds: Option<bool>,
}

/// A place, and a word of the same length to write to it.
type Keyword = (Range<usize>, &'static [u8]);

struct SpelledOtherwise;

struct Edits<'t> {
    text: &'t [u8],
    /// Words that replace keywords.
    keywords: Vec<Keyword>,
    blanks: Vec<Range<usize>>,
}

impl Edits<'_> {
    /// The text with the edits; `None` if there are none.
    fn made(self) -> Option<Text> {
        if self.keywords.is_empty() && self.blanks.is_empty() {
            return None;
        }
        let mut text = self.text.to_vec();
        for (place, word) in self.keywords {
            if let Some(keyword) = text.get_mut(place) {
                keyword
                    .iter_mut()
                    .zip(word)
                    .for_each(|(byte, other)| *byte = *other);
            }
        }
        let mut blanks = self.blanks;
        blanks.sort_unstable_by_key(|place| place.start);
        let mut end = 0;
        for place in blanks {
            // A range inside another one is blank already.
            let part = text.get_mut(place.start.max(end)..place.end).unwrap_or_default();
            end = end.max(place.end);
            let blank = part.iter_mut().filter(|byte| !matches!(byte, b'\n' | b'\r'));
            blank.for_each(|byte| *byte = b' ');
        }
        Some(text.into())
    }

    fn look_for(&mut self, lines: &[Directive], has_cpp: bool) {
        let mut open: Vec<Vec<Arm<'_>>> = Vec::new();
        for line in lines {
            match &line.keyword[..] {
                b"if" | b"ifdef" | b"ifndef" => {
                    let holds = outcome(line, has_cpp);
                    open.push(vec![Arm { line, holds }]);
                }
                b"elif" | b"elifdef" | b"elifndef" | b"else" => {
                    if let Some(arms) = open.last_mut() {
                        let holds = outcome(line, has_cpp);
                        arms.push(Arm { line, holds });
                    }
                }
                b"endif" => {
                    if let Some(arms) = open.pop() {
                        self.settle(&arms, line);
                    }
                }
                _ => {}
            }
        }
    }

    /// Blanks the arms of a conditional that no build reads.
    fn settle(&mut self, arms: &[Arm<'_>], end: &Directive) {
        let mut kept: Vec<&Arm<'_>> = Vec::new();
        let mut dead = Vec::new();
        let ends = arms.iter().skip(1).map(|arm| arm.line).chain([end]);
        for (arm, next) in arms.iter().zip(ends) {
            let is_over = kept.last().is_some_and(|last| last.holds == Some(true));
            if is_over || arm.holds == Some(false) {
                dead.push(arm.line.start as usize..next.start as usize);
            } else {
                kept.push(arm);
            }
        }
        let whole = |line: &Directive| line.start as usize..line.end as usize;
        match kept.as_slice() {
            [] => dead.push(whole(end)),
            [only, ..] if only.holds == Some(true) => dead.extend([whole(only.line), whole(end)]),
            [first, .., last] | [first @ last] => {
                let begins = self.keyword(
                    first.line,
                    &[
                        (b"elif", b"if  "),
                        (b"elifdef", b"ifdef  "),
                        (b"elifndef", b"ifndef  "),
                    ],
                );
                let closes = match last.holds {
                    Some(true) => self.keyword(
                        last.line,
                        &[
                            (b"elif", b"else"),
                            (b"elifdef", b"else   "),
                            (b"elifndef", b"else    "),
                        ],
                    ),
                    _ => Ok(None),
                };
                // All arms stay if a keyword has another spelling.
                let (Ok(begins), Ok(closes)) = (begins, closes) else {
                    return;
                };
                if let Some((keyword, _)) = &closes {
                    dead.push(keyword.end..last.line.end as usize);
                }
                self.keywords.extend(begins.into_iter().chain(closes));
            }
        }
        self.blanks.extend(dead);
    }

    /// The place of a line's keyword and its replacement, if `others` has the keyword.
    ///
    /// # Errors
    ///
    /// If `others` has the keyword, but the line spells it differently.
    fn keyword(
        &self,
        line: &Directive,
        others: &[(&[u8], &'static [u8])],
    ) -> Result<Option<Keyword>, SpelledOtherwise> {
        let Some((_, other)) = others.iter().find(|(keyword, _)| *keyword == line.keyword) else {
            return Ok(None);
        };
        let written = self.text.get(line.start as usize..line.end as usize);
        let at = written.and_then(|written| memmem::find(written, &line.keyword));
        let start = line.start as usize + at.ok_or(SpelledOtherwise)?;
        Ok(Some((start..start + line.keyword.len(), other)))
    }
}

/// The value of a condition, if it is the same under all definitions.
fn outcome(line: &Directive, has_cpp: bool) -> Option<bool> {
    let asked = line
        .argument
        .iter()
        .copied()
        .filter(|byte| !byte.is_ascii_whitespace());
    let asked: Vec<u8> = asked.collect();
    match &line.keyword[..] {
        b"else" => Some(true),
        b"ifdef" | b"elifdef" => (asked == CPP && !has_cpp).then_some(false),
        b"ifndef" | b"elifndef" => (asked == CPP && !has_cpp).then_some(true),
        _ => of_all(&asked, has_cpp),
    }
}

/// The value of a conjunction. `None` if it has operators of lower precedence.
fn of_all(condition: &[u8], has_cpp: bool) -> Option<bool> {
    let binds_less =
        memmem::find(condition, b"||").is_some() || condition.iter().any(|byte| b"?,".contains(byte));
    if binds_less {
        return None;
    }
    let mut rest = condition;
    let mut outcomes = Vec::new();
    loop {
        let end = memmem::find(rest, b"&&").unwrap_or(rest.len());
        let (part, behind) = rest.split_at(end);
        let count = |wanted: u8| memchr_iter(wanted, part).count();
        // `A == (B && C)`
        if count(b'(') != count(b')') {
            return None;
        }
        outcomes.push(match part {
            b"0" => Some(false),
            b"1" => Some(true),
            CPP | b"defined(__cplusplus)" | b"defined__cplusplus" if !has_cpp => Some(false),
            b"!__cplusplus" | b"!defined(__cplusplus)" | b"!defined__cplusplus" if !has_cpp => Some(true),
            _ => None,
        });
        match behind.get(2..) {
            Some(after) => rest = after,
            None => break,
        }
    }
    if outcomes.contains(&Some(false)) {
        return Some(false);
    }
    outcomes.iter().all(Option::is_some).then_some(true)
}
