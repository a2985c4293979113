//! A function that stands for a ladder: declared once in the file, and called where the ladder stood.
//!
//! What a form does between reading its elements and writing its results is the same for every ladder of a kind: it goes into
//! a function of the thread's value and index, beside the array of totals that it uses. A later fix calls the function that an
//! earlier one declared, if it has the same text. That it may, with the totals shared, is for the proof to find out.

use shaderlint_hlsl::{Function, Global, Shader, Span, Storage};
use shaderlint_linter::At;
use shaderlint_simt::Collective;

use crate::totals::further_name;
use crate::unit::{Unit, code_of_files, words};
use crate::written::{free, text_in_file};

/// How a file names its functions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Pascal,
    Camel,
    Snake,
}

/// A name of these words in the style of most functions of the unit. `main` tells nothing: compilers want it.
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
    pub text: String,
    /// The same with the group's size in figures.
    pub expanded: String,
    /// The line above that.
    comment: String,
    /// It stands in the file, with its totals.
    pub is_declared: bool,
}

impl Helper {
    /// `write` makes a helper of its name and that of its totals, as the file has it and with the group's size in figures. First comes
    /// the one that already stands before the ladder, if there is one; then one whose names the unit uses nowhere, like `wanted`.
    pub fn all(
        shader: &Shader,
        found: &Collective,
        wanted: &str,
        (totals, comment): (&str, &str),
        write: impl Fn(&str, &str) -> [String; 2],
    ) -> impl Iterator<Item = Helper> {
        let holder = shader.functions.get(found.function.0 as usize);
        let declared = shader.functions.iter().find_map(|function| {
            let is_before = holder.is_some_and(|holder| function.span.end <= holder.span.start);
            let is_like = function.name.starts_with(wanted) && function.body.is_some();
            let may_be_called = is_before && is_like && names_nothing_else(shader, &function.name);
            let text = text_in_file(shader, function.span).filter(|_| may_be_called)?;
            let arrays = shader.globals.iter();
            let mut arrays = arrays.filter(|array| array.storage == Storage::Groupshared);
            arrays.find_map(|array| {
                let own = write(&function.name, &array.name);
                let [of_file, _] = &own;
                let is_it = without_layout(&text).eq(without_layout(of_file));
                is_it.then(|| (function.name.clone(), own))
            })
        });
        let name = further_name(shader, wanted, &[]);
        let text = write(&name, totals);
        let declared = declared.map(|declared| (declared, true));
        let comment = comment.to_owned();
        declared.into_iter().chain([((name, text), false)]).map(
            move |((name, [text, expanded]), is_declared)| Helper {
                name,
                text,
                expanded,
                comment: comment.clone(),
                is_declared,
            },
        )
    }

    /// The declaration of its totals, where these are an array that the file has.
    pub fn totals_of(&self, shader: &Shader) -> Option<Span> {
        let globals = shader.globals.iter();
        let mut arrays = globals.filter(|global| global.storage == Storage::Groupshared);
        let is_named =
            |array: &&Global| words(self.text.as_bytes()).any(|word| word == array.own_name().as_bytes());
        arrays.find(is_named).map(|array| array.span)
    }

    /// Its declaration for a place of the file, commented and with a blank line on either side.
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
        format!("\n// {}\n{}{end}", self.comment, self.text)
    }
}

/// A text without what a file's habits change in it. What it does is no matter: the proof reads the file's.
fn without_layout(text: &str) -> impl Iterator<Item = char> {
    { text.chars() }.filter(|of| !of.is_whitespace() && !matches!(of, '{' | '}'))
}

/// Whether all that has a function's name in the unit's files is the function, or a call: a method, a variable, a type or an enumerator
/// would hide it somewhere.
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

/// `wanted` as a name within a helper: numbered where that is a macro, or what the unit declares.
pub(crate) fn inner_name(shader: &Shader, wanted: &str) -> String {
    let unit = Unit::of(shader);
    free(wanted, |name| {
        shader.globals.iter().any(|global| global.own_name() == name)
            || shader.functions.iter().any(|function| function.name == name)
            || shader.structs.iter().any(|of| of.name == name)
            || unit.is_macro_or_template(name.as_bytes())
            || unit.may_be_pasted(name.as_bytes())
    })
}
