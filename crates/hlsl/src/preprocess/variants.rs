//! Other configurations of a unit: what would turn on the code that conditional compilation left out.
//!
//! A guess by design: nobody but the build knows which macros are ever defined together. So each variant turns on one
//! region alone, and only conditions that plain definitions make true are considered.

use super::{Branch, Inactive, Preprocessed};

/// Variants of one unit.
const MAX_VARIANTS: usize = 12;
/// A region that names none of these holds nothing that threads do together.
const WORDS: [&[u8]; 3] = [b"MemoryBarrier", b"Interlocked", b"groupshared"];

/// Macros to define in addition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variant {
    /// Name and value.
    pub defines: Vec<(String, String)>,
    /// The only entry points compiled with them, where the file says so (`#pragma kernel NAME MACRO…`); else any.
    pub kernels: Vec<String>,
}

/// The variants of a unit that are worth reading, those the first file itself names first.
///
/// `unit` must come from a run without the definitions in question. A region whose other arm uses wave intrinsics is
/// left alone: it is there for machines that have none.
#[must_use]
pub fn variants(unit: &Preprocessed) -> Vec<Variant> {
    let mut found = kernels(unit);
    for region in &unit.inactive {
        if found.len() >= MAX_VARIANTS {
            break;
        }
        if !is_of_interest(unit, region) {
            continue;
        }
        if let Some(defines) = definitions(unit, region)
            && !found.iter().any(|known| known.defines == defines)
        {
            found.push(Variant {
                defines,
                kernels: Vec::new(),
            });
        }
    }
    found.truncate(MAX_VARIANTS);
    found
}

/// The configurations in the `#pragma kernel NAME MACRO MACRO=VALUE` of the first file.
fn kernels(unit: &Preprocessed) -> Vec<Variant> {
    let mut found: Vec<Variant> = Vec::new();
    let text = unit.sources.files.first().map_or(&[][..], |file| &file.text);
    for line in text.split(|byte| *byte == b'\n') {
        let Some(words) = kernel(line) else { continue };
        let mut words = words.iter();
        let Some(name) = words.next() else { continue };
        let defines: Vec<(String, String)> = words
            .map(|word| match word.split_once('=') {
                Some((name, value)) => (name.to_owned(), value.to_owned()),
                None => (word.clone(), "1".to_owned()),
            })
            .collect();
        if defines.is_empty() {
            continue;
        }
        match found.iter_mut().find(|known| known.defines == defines) {
            Some(known) => known.kernels.push(name.clone()),
            None => found.push(Variant {
                defines,
                kernels: vec![name.clone()],
            }),
        }
    }
    found
}

/// The words behind `#pragma kernel`.
fn kernel(line: &[u8]) -> Option<Vec<String>> {
    let line = line.trim_ascii_start().strip_prefix(b"#")?;
    let line = line.trim_ascii_start().strip_prefix(b"pragma")?;
    let line = line.trim_ascii_start().strip_prefix(b"kernel")?;
    let line = String::from_utf8_lossy(line).into_owned();
    let line = line.split("//").next().unwrap_or_default();
    Some(line.split_whitespace().map(str::to_owned).collect())
}

fn is_of_interest(unit: &Preprocessed, region: &Inactive) -> bool {
    let names = |span, words: &[&[u8]]| {
        let text = text_of(unit, span);
        words
            .iter()
            .any(|word| text.windows(word.len()).any(|window| window == *word))
    };
    names(region.region, &WORDS) && !region.taken.is_some_and(|taken| names(taken, &[b"Wave"]))
}

fn text_of(unit: &Preprocessed, span: crate::FileSpan) -> &[u8] {
    let text = unit.sources.get(span.file).map_or(&[][..], |file| &file.text);
    text.get(span.start as usize..span.end as usize)
        .unwrap_or_default()
}

/// What makes the condition of a region true, if a few definitions do.
fn definitions(unit: &Preprocessed, region: &Inactive) -> Option<Vec<(String, String)>> {
    let text = String::from_utf8_lossy(text_of(unit, region.condition)).into_owned();
    let defines = match region.opened_by {
        Branch::Ifdef | Branch::Elifdef => vec![(name(&text)?, "1".to_owned())],
        Branch::If | Branch::Elif => conjunction(&text)?,
        Branch::Ifndef | Branch::Elifndef | Branch::Else => return None,
    };
    // Names with two underscores are the compiler's.
    let fits = !defines.is_empty() && defines.iter().all(|(name, _)| !name.starts_with("__"));
    fits.then_some(defines)
}

/// A name and nothing else.
fn name(text: &str) -> Option<String> {
    let text = text.split("//").next().unwrap_or_default().trim();
    let is_name = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then(|| text.to_owned())
}

/// Text without the parentheses around all of it, of which nobody writes many.
fn unwrapped(text: &str) -> &str {
    let mut text = text.trim();
    for _ in 0..4 {
        match text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
            Some(inner) if is_balanced(inner) => text = inner.trim(),
            _ => break,
        }
    }
    text
}

fn is_balanced(text: &str) -> bool {
    let mut depth = 0usize;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return false,
            ')' => depth -= 1,
            _ => {}
        }
    }
    depth == 0
}

/// Definitions under which every part of `a && b && …` holds; of alternatives the first.
fn conjunction(text: &str) -> Option<Vec<(String, String)>> {
    let text = unwrapped(text.split("//").next().unwrap_or_default());
    let first = text.split("||").next().unwrap_or_default();
    let mut defines = Vec::new();
    for part in first.split("&&") {
        if !is_balanced(part) {
            return None;
        }
        match term(part)? {
            Some(define) if !defines.contains(&define) => defines.push(define),
            _ => {}
        }
    }
    Some(defines)
}

/// The definition that one comparison or `defined` needs; `Some(None)` if it holds where nothing is defined.
#[expect(
    clippy::option_option,
    reason = "not understood, nothing needed, or a definition"
)]
fn term(text: &str) -> Option<Option<(String, String)>> {
    let text = unwrapped(text);
    if let Some(rest) = text.strip_prefix('!') {
        let rest = unwrapped(rest);
        return name(unwrapped(rest.strip_prefix("defined").unwrap_or(rest))).map(|_| None);
    }
    if let Some(rest) = text.strip_prefix("defined") {
        return name(unwrapped(rest)).map(|name| Some((name, "1".to_owned())));
    }
    for operator in ["==", ">=", "<=", "!=", ">", "<"] {
        let Some((left, right)) = text.split_once(operator) else {
            continue;
        };
        let (left, number) = (name(left)?, right.trim().parse::<i64>().ok()?);
        let value = match operator {
            "==" | ">=" | "<=" => number,
            "<" => number.checked_sub(1)?,
            _ => number.checked_add(1)?,
        };
        return Some(Some((left, value.to_string())));
    }
    name(text).map(|name| Some((name, "1".to_owned())))
}
