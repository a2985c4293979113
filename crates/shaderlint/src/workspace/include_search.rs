//! The `#include` lines of a text, and a search of the files that they lead to.

use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

use shaderlint_hlsl::{Directive, Directives, Includes, SourceFile, Text};

use crate::support::paths;

/// What is sought among the files that a file includes, directly or not. Includes under any `#if` count.
#[derive(Clone, Copy)]
pub(crate) struct Sought<'a> {
    is_one: &'a dyn Fn(&SourceFile) -> bool,
    is_written: &'a dyn Fn(&str) -> bool,
    /// What these files include does not count.
    is_left_out: &'a dyn Fn(&SourceFile) -> bool,
    /// An include of a macro counts: only the preprocessor knows where it leads.
    pub if_unknown: bool,
}

impl<'a> Sought<'a> {
    /// A file for which `is_one` holds.
    pub fn file(is_one: &'a dyn Fn(&SourceFile) -> bool) -> Self {
        Sought {
            is_one,
            is_written: &|_| false,
            is_left_out: &|_| false,
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

    /// What files include for which `is_left_out` holds does not count.
    pub fn without(self, is_left_out: &'a dyn Fn(&SourceFile) -> bool) -> Self {
        Sought { is_left_out, ..self }
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
                    if !(sought.is_left_out)(&file) {
                        texts.push((file.path, file.text));
                    }
                }
                if is_beside {
                    break;
                }
            }
        }
    }
    false
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

/// A path in an `#include` line.
pub(crate) struct IncludePath {
    /// Its bytes in the text, without the quotes.
    pub place: Range<usize>,
    pub name: String,
    pub is_angled: bool,
}

/// The paths in the `#include` lines of a text.
pub(crate) fn places(text: &Text) -> Vec<IncludePath> {
    let lines = text.derived::<Directives>();
    let includes = lines.iter().filter(|line| is_include(line));
    let places = includes.filter_map(|line| {
        let (name, is_angled) = name_in(&String::from_utf8_lossy(&line.argument))?;
        let written = format!("{}{name}", if is_angled { '<' } else { '"' });
        let code = text.get(line.start as usize..line.end as usize)?;
        let mut places = code.windows(written.len());
        let start = line.start as usize + places.position(|place| place == written.as_bytes())? + 1;
        Some(IncludePath {
            place: start..start + name.len(),
            name,
            is_angled,
        })
    });
    places.collect()
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
    use super::*;

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
}
