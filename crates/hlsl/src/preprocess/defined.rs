//! The macros that are defined at each place of the expanded text.

use super::definitions::Definition;
use super::lex::words;
use super::outline::Directives;
use crate::span::{FileId, Sources};

/// The `#define`s and `#undef`s that a unit obeyed, in order. (DXC ignores `#pragma push_macro` and `pop_macro`.)
#[derive(Clone, Debug, Default)]
pub struct Defined(Vec<Obeyed>);

#[derive(Clone, Copy, Debug)]
struct Obeyed {
    /// The length of the expanded text when the unit obeyed it.
    at: u32,
    file: FileId,
    /// As [`super::Directive::start`].
    start: u32,
}

impl Defined {
    pub(super) fn note(&mut self, at: u32, file: FileId, start: u32) {
        self.0.push(Obeyed { at, file, start });
    }

    /// The definition of the macro `name` that is in force at a place of the expanded text. `given` are definitions
    /// from outside of the files.
    #[must_use]
    pub fn definition(
        &self,
        name: &[u8],
        at: u32,
        sources: &Sources,
        given: &[(String, String)],
    ) -> Option<Definition> {
        let end = self.0.partition_point(|one| one.at <= at);
        let before = self.0.get(..end).unwrap_or_default().iter().rev();
        for one in before {
            let (keyword, argument) = one.line(sources)?;
            if name_in(&argument) == name {
                let definition = Definition::of(&argument).filter(|_| keyword == b"define")?;
                let place = Some((one.file, one.start));
                return Some(Definition { place, ..definition });
            }
        }
        let mut given = given.iter().rev().map(|(name, value)| format!("{name} {value}"));
        let line = given.find(|line| name_in(line.as_bytes()) == name)?;
        Definition::of(line.as_bytes())
    }

    /// Whether the unit obeyed the line that begins here.
    #[must_use]
    pub fn has(&self, file: FileId, start: u32) -> bool {
        self.0.iter().any(|one| (one.file, one.start) == (file, start))
    }
}

impl Obeyed {
    /// The keyword, and the text after it.
    fn line(&self, sources: &Sources) -> Option<(Vec<u8>, Vec<u8>)> {
        let lines = sources.get(self.file)?.text.derived::<Directives>();
        let number = lines.binary_search_by_key(&self.start, |line| line.start).ok()?;
        let line = lines.get(number)?;
        Some((line.keyword.clone(), line.argument.clone()))
    }
}

/// The macro's name in the text after `#define` or `#undef`.
fn name_in(argument: &[u8]) -> &[u8] {
    words(argument).next().unwrap_or_default()
}
