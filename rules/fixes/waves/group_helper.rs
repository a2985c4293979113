//! A function in the place of a ladder: declared once in the file, and called where the ladder was.
//!
//! Between reading its elements and writing its results, a form does the same for every ladder of a kind. This goes
//! into a function of the thread's value and index, next to its array of totals. A later fix calls the function that
//! an earlier one declared, if the text is the same. The proof shows whether the two may share the totals.

use shaderlint_hlsl::{Function, Global, Shader, Span, Storage};
use shaderlint_linter::At;
use shaderlint_simt::Collective;

use crate::fixes::waves::code::Code;
use crate::source::names::further_name;
use crate::source::text::{Spelled, text_in_file};
use crate::source::unit::code_of_files;
use crate::source::words::words;

/// How a file names its functions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Pascal,
    Camel,
    Snake,
}

/// A name of these words in the style of most functions of the unit, except `main`, whose name compilers want.
pub(crate) fn function_name(shader: &Shader, words: &[&str]) -> String {
    let mut counts = [(Style::Pascal, 0), (Style::Camel, 0), (Style::Snake, 0)];
    let names = shader.functions.iter().map(|function| &*function.name);
    for name in names.filter(|name| *name != "main" && !name.contains("::")) {
        let style = if name.starts_with(|first: char| first.is_ascii_uppercase()) {
            Style::Pascal
        } else if name.contains('_') {
            Style::Snake
        } else {
            Style::Camel
        };
        for (other, count) in &mut counts {
            *count += usize::from(*other == style);
        }
    }
    let most = counts.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let first = counts.iter().find(|(_, count)| *count == most);
    let style = first.map_or(Style::Pascal, |(style, _)| *style);
    let words = words.iter().enumerate().map(|(number, word)| match style {
        Style::Snake if number > 0 => format!("_{}", word.to_lowercase()),
        Style::Snake => word.to_lowercase(),
        Style::Camel if number == 0 => word.to_lowercase(),
        _ => (*word).to_owned(),
    });
    words.collect()
}

/// A function of the file.
#[derive(Clone)]
pub(crate) struct Helper {
    pub name: String,
    /// Its declaration.
    pub text: Spelled<Code>,
    /// The comment above it.
    comment: String,
    /// The file has it already, with its totals.
    pub is_declared: bool,
}

/// What a new helper would be.
pub(crate) struct Wanted<'a> {
    /// Its name, which may get a number.
    pub name: &'a str,
    /// The name of its totals.
    pub totals: &'a str,
    /// The line above it.
    pub comment: &'a str,
}

impl Helper {
    /// The helpers that may serve the ladder: first one that the file declares before the ladder, if there is one;
    /// then one with names like `wanted` that the unit does not mention. `write` writes a helper from its name and
    /// the name of its totals, as the file spells the group's size and with a number for it.
    pub fn all(
        shader: &Shader,
        found: &Collective,
        wanted: &Wanted<'_>,
        write: impl Fn(&str, &str) -> Spelled<Code>,
    ) -> impl Iterator<Item = Helper> {
        let holder = shader.functions.get(found.function.0 as usize);
        let declared = shader.functions.iter().find_map(|function| {
            let is_before = holder.is_some_and(|holder| function.span.end <= holder.span.start);
            let is_like = function.name.starts_with(wanted.name) && function.body.is_some();
            let may_be_called = is_before && is_like && names_nothing_else(shader, &function.name);
            let text = text_in_file(shader, function.span).filter(|_| may_be_called)?;
            let arrays = shader.globals.iter();
            let mut arrays = arrays.filter(|array| array.storage == Storage::Groupshared);
            arrays.find_map(|array| {
                let own = write(&function.name, &array.name);
                let is_it = without_layout(&text).eq(without_layout(&own.in_file.text));
                is_it.then(|| (function.name.clone(), own))
            })
        });
        let name = further_name(shader, wanted.name, &[]);
        let text = write(&name, wanted.totals);
        let declared = declared.map(|declared| (declared, true));
        let comment = wanted.comment.to_owned();
        declared
            .into_iter()
            .chain([((name, text), false)])
            .map(move |((name, text), is_declared)| Helper {
                name,
                text,
                comment: comment.clone(),
                is_declared,
            })
    }

    /// The declaration of its totals, where the file has this array.
    pub fn totals_of(&self, shader: &Shader) -> Option<Span> {
        let globals = shader.globals.iter();
        let mut arrays = globals.filter(|global| global.storage == Storage::Groupshared);
        let is_named = |array: &&Global| {
            words(self.text.in_file.text.as_bytes()).any(|word| word == array.own_name().as_bytes())
        };
        arrays.find(is_named).map(|array| array.span)
    }

    /// Its declaration for a place of the file, with a comment and a blank line on either side.
    pub fn set_off(&self, shader: &Shader, at: At) -> String {
        let place = shader.origins.locate(at.span());
        let file = place.and_then(|place| Some((place, shader.sources.get(place.file)?)));
        let behind = file.and_then(|(place, file)| file.text.get(place.end as usize..));
        let mut lines = behind.unwrap_or_default().split(|byte| *byte == b'\n');
        let is_blank = lines.nth(1).is_none_or(|line| line.trim_ascii().is_empty());
        let end = match at {
            At::After(_) | At::Over(_) | At::OverChoices(_) if is_blank => "",
            _ => "\n",
        };
        format!("\n// {}\n{}{end}", self.comment, self.text.in_file.text)
    }
}

/// A text without what differs by the habits of a file. The proof reads the file's own text.
fn without_layout(text: &str) -> impl Iterator<Item = char> {
    { text.chars() }.filter(|of| !of.is_whitespace() && !matches!(of, '{' | '}'))
}

/// Whether every mention of a function's name in the unit's files is its declaration or a call: a method, a variable,
/// a type or an enumerator of that name would hide it somewhere.
fn names_nothing_else(shader: &Shader, name: &str) -> bool {
    let own_name = |function: &Function| function.name.rsplit("::").next() == Some(name);
    let others = shader.functions.iter().filter(|function| own_name(function));
    others.count() == 1
        && code_of_files(shader).all(|text| {
            let mut named = words(&text).filter(|word| *word == name.as_bytes());
            named.all(|word| {
                let end = (word.as_ptr() as usize).saturating_sub(text.as_ptr() as usize) + word.len();
                let behind = text.get(end..).unwrap_or_default();
                behind.trim_ascii_start().first() == Some(&b'(')
            })
        })
}
