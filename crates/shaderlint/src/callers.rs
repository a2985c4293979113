//! Who calls the functions of a header that are looked at by themselves.
//!
//! What a header's function makes of its group is seen where a kernel calls it, with the group that it has there. It is
//! looked at by itself, in a group that is supposed, only if nothing at hand could call it: of the files of the
//! workspace that include the header, whether or not they are to be looked at, and of all that these include, none
//! names it, be it under an `#if` or in a macro.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use shaderlint_hlsl::{SourceFile, Text, decode};
use shaderlint_linter::Diagnostic;

use crate::config::{Definition, shown};
use crate::includers;
use crate::includes::{Search, is_same, name_of};
use crate::lint::{Looked, Options};
use crate::scan;

/// Of what was found in the functions `alone`, which nothing in the file calls as it was read, keeps what is in those that
/// nothing at hand names. `text` is what the file was looked at with.
pub(crate) fn keep_what_nothing_calls(looked: &mut Looked, alone: &[String], text: &Text, options: &Options) {
    let report = &looked.report;
    let allowed = report.allowed.iter().map(|one| &one.finding);
    let findings = report.findings.iter().chain(allowed);
    let of_findings = findings.flat_map(|finding| &finding.kernels);
    let mut left: BTreeSet<String> = of_findings.filter(|name| alone.contains(name)).cloned().collect();
    // Once where it is defined.
    left.retain(|name| scan::times_named(text, name) < 2);
    let path = Path::new(&looked.path).to_owned();
    let includers = if left.is_empty() {
        BTreeMap::new()
    } else {
        includers::mentioning(&path, options)
    };
    for includer in includers.into_keys() {
        if options.stop.is_set() || left.is_empty() {
            break;
        }
        if is_same(&includer, &path) {
            continue;
        }
        let name = shown(&includer).display().to_string();
        // Of what cannot be read nothing is known.
        if let Some(named) = named_in(&includer, &name, &path, &left, options).unwrap_or(Some(left.clone())) {
            left.retain(|name| !named.contains(name));
            looked.includers.push(name);
        }
    }
    let is_told = |finding: &Diagnostic| {
        let mut kernels = finding.kernels.iter();
        kernels.all(|name| !alone.contains(name) || left.contains(name))
    };
    looked.report.findings.retain(is_told);
    looked.report.allowed.retain(|one| is_told(&one.finding));
}

/// Which of the names are in a file, or in another one that it includes, if it includes the one at `path`.
fn named_in(
    includer: &Path,
    name: &str,
    path: &Path,
    names: &BTreeSet<String>,
    options: &Options,
) -> Result<Option<BTreeSet<String>>> {
    let bytes = options.files.bytes(includer)?;
    let Some(text) = decode(&bytes) else {
        return Ok(None);
    };
    let project = (options.project_of)(includer)?;
    options.files.allow(project.header_folders());
    let search = Search::new(&options.files, &project);
    let is_it = |file: &SourceFile| is_same(Path::new(&file.path), path);
    let includes_one = |if_unknown: bool, is_one: &dyn Fn(&SourceFile) -> bool| {
        scan::includes_one(name, &text, &search, if_unknown, is_one, &|_| false)
    };
    // What an `#include` has as a macro is named by whoever defines that.
    let file_name = name_of(path).unwrap_or_default();
    let says = |text: &Text| scan::mentioned(text).names.contains(&file_name);
    let defined: Vec<&Definition> = project.all_definitions().collect();
    let includes_it = includes_one(false, &is_it)
        || includes_one(true, &is_it)
            && (defined
                .iter()
                .any(|(_, value)| value.to_lowercase().contains(&file_name))
                || says(&text)
                || includes_one(false, &|file| says(&file.text)));
    if !includes_it {
        return Ok(None);
    }
    let is_named = |wanted: &String| {
        let names_it = |text: &[u8]| scan::times_named(text, wanted) > 0;
        defined.iter().any(|(_, value)| names_it(value.as_bytes()))
            || names_it(&text)
            || includes_one(true, &|file| !is_it(file) && names_it(&file.text))
    };
    Ok(Some(
        names.iter().filter(|name| is_named(name)).cloned().collect(),
    ))
}
