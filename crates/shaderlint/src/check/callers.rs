//! Whether any file calls a function of a header.
//!
//! A kernel that calls a function shows what the function does, with that kernel's group. shaderlint runs a function by itself,
//! in an assumed group, only if no file at hand could call it: no file of the workspace that includes the header, checked in
//! this run or not, and nothing that such a file includes, names the function, not even under an `#if` or in a macro.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use shaderlint_hlsl::{SourceFile, Text};

use crate::check::includers::{self, WorkspaceFile};
use crate::check::options::Options;
use crate::support::definition::Definition;
use crate::support::paths::{is_same, name_of, shown};
use crate::workspace::prefilter;

/// Functions that nothing names, and the files that were searched.
pub(crate) struct Uncalled {
    pub functions: BTreeSet<String>,
    pub searched: Vec<String>,
}

/// The functions of a header that no file at hand names outside their definition. `text` is the header's text.
///
/// This holds in every configuration of each file. A macro's expansion consists of words from its definition, from
/// its arguments or from definitions that the build makes, or pastes such words together
/// ([`prefilter::times_named`]). This searches all of them, even under an `#if`.
pub(crate) fn uncalled(
    mut functions: BTreeSet<String>,
    path: &Path,
    text: &Text,
    options: &Options,
) -> Uncalled {
    // The definition names it once.
    functions.retain(|name| prefilter::times_named(text, name) < 2);
    let mut searched = Vec::new();
    let includers = if functions.is_empty() {
        BTreeMap::new()
    } else {
        includers::mentioning(path, options)
    };
    let others = includers.into_keys().filter(|includer| !is_same(includer, path));
    for includer in others {
        if options.stop.is_set() || functions.is_empty() {
            break;
        }
        let name = shown(&includer).display().to_string();
        // A file that cannot be read may name all of them.
        let named = named_in(&includer, &name, path, &functions, options);
        if let Some(named) = named.unwrap_or_else(|_| Some(functions.clone())) {
            functions.retain(|name| !named.contains(name));
            searched.push(name);
        }
    }
    Uncalled { functions, searched }
}

/// Which of the names occur in a file or in a file that it includes; `None` if it does not include the file at
/// `path`.
fn named_in(
    includer: &Path,
    name: &str,
    path: &Path,
    names: &BTreeSet<String>,
    options: &Options,
) -> Result<Option<BTreeSet<String>>> {
    let Some(unit) = WorkspaceFile::read(includer, options)? else {
        return Ok(None);
    };
    let is_it = |file: &SourceFile| is_same(Path::new(&file.path), path);
    let includes_one = |if_unknown: bool, is_one: &dyn Fn(&SourceFile) -> bool| {
        unit.includes_one(name, options, if_unknown, is_one)
    };
    // If an `#include` names the file by a macro, the macro's definition holds the name.
    let file_name = name_of(path).unwrap_or_default();
    let says = |text: &Text| prefilter::mentioned(text).names.contains(&file_name);
    let defined: Vec<&Definition> = unit.project.all_definitions().collect();
    let defines_it = || {
        let mut values = defined.iter().map(|(_, value)| value.to_lowercase());
        values.any(|value| value.contains(&file_name))
    };
    let includes_it = includes_one(false, &is_it)
        || includes_one(true, &is_it)
            && (defines_it() || says(&unit.text) || includes_one(false, &|file| says(&file.text)));
    if !includes_it {
        return Ok(None);
    }
    let is_named = |wanted: &String| {
        let names_it = |text: &[u8]| prefilter::times_named(text, wanted) > 0;
        defined.iter().any(|(_, value)| names_it(value.as_bytes()))
            || names_it(&unit.text)
            || includes_one(true, &|file| !is_it(file) && names_it(&file.text))
    };
    Ok(Some(
        names.iter().filter(|name| is_named(name)).cloned().collect(),
    ))
}
