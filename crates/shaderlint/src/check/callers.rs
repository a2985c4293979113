//! Whether any file calls a function of a header.
//!
//! A kernel that calls a function shows what the function does, with that kernel's group. shaderlint runs a function by itself,
//! in an assumed group, only if no file at hand could call it: no file of the workspace that includes the header, checked in
//! this run or not, and nothing that such a file includes, names the function, not even under an `#if` or in a macro.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use shaderlint_hlsl::{SourceFile, Text};
use shaderlint_linter::Diagnostic;

use crate::check::candidates::{WorkspaceFile, mentioning};
use crate::check::file_report::FileReport;
use crate::check::options::Options;
use crate::support::definition::Define;
use crate::support::paths::{is_same, name_of, shown};
use crate::support::words;
use crate::workspace::include_search::{self, Sought};

/// Drops the findings in functions that were run by themselves, except in those that no file at hand calls.
pub(super) fn leave_out_called(checked: &mut FileReport, text: &Text, options: &Options) {
    let FileReport {
        path,
        report,
        includers,
        run_by_themselves,
        ..
    } = checked;
    let allowed = report.allowed.iter().map(|one| &one.finding);
    let findings = report.findings.iter().chain(allowed);
    let kernels = findings.flat_map(|finding| &finding.kernels);
    let mut uncalled: BTreeSet<String> = kernels
        .filter(|name| run_by_themselves.contains(name))
        .cloned()
        .collect();
    if uncalled.is_empty() {
        return;
    }
    includers.extend(keep_uncalled(&mut uncalled, Path::new(path), text, options));
    let is_told = |finding: &Diagnostic| {
        let mut kernels = finding.kernels.iter();
        kernels.all(|name| !run_by_themselves.contains(name) || uncalled.contains(name))
    };
    report.findings.retain(is_told);
    report.allowed.retain(|one| is_told(&one.finding));
}

/// Keeps the functions of a header that no file at hand names outside their definition. `text` is the header's text.
/// Returns the names of the files that were searched.
///
/// This holds in every configuration of each file. A macro's expansion consists of words from its definition, from
/// its arguments or from definitions that the build makes, or pastes such words together
/// ([`words::times_named`]). This searches all of them, even under an `#if`.
fn keep_uncalled(
    functions: &mut BTreeSet<String>,
    path: &Path,
    text: &Text,
    options: &Options,
) -> Vec<String> {
    // The definition names it once.
    functions.retain(|name| words::times_named(text, name) < 2);
    let mut searched = Vec::new();
    if functions.is_empty() {
        return searched;
    }
    let includers = mentioning(path, options);
    let others = includers.into_keys().filter(|includer| !is_same(includer, path));
    for includer in others {
        if options.stop.is_set() || functions.is_empty() {
            break;
        }
        let name = shown(&includer).display().to_string();
        match named_in(&includer, &name, path, functions, options) {
            Ok(None) => continue,
            Ok(Some(named)) => functions.retain(|name| !named.contains(name)),
            // A file that cannot be read may name all of them.
            Err(_) => functions.clear(),
        }
        searched.push(name);
    }
    searched
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
    let search = unit.search(options);
    let includes_one = |sought: Sought<'_>| search.includes_one(name, &unit.text, sought);
    // If an `#include` names the file by a macro, the macro's definition holds the name.
    let file_name = name_of(path).unwrap_or_default();
    let says = |text: &Text| include_search::mentioned(text).names.contains(&file_name);
    let says_so = |file: &SourceFile| says(&file.text);
    let defined: Vec<&Define> = unit.project.all_definitions().collect();
    let defines_it = || {
        let mut values = defined.iter().map(|(_, value)| value.to_lowercase());
        values.any(|value| value.contains(&file_name))
    };
    let includes_it = includes_one(Sought::file(&is_it).for_certain())
        || includes_one(Sought::file(&is_it))
            && (defines_it() || says(&unit.text) || includes_one(Sought::file(&says_so).for_certain()));
    if !includes_it {
        return Ok(None);
    }
    let is_named = |wanted: &String| {
        let names_it = |text: &[u8]| words::times_named(text, wanted) > 0;
        let is_one = |file: &SourceFile| !is_it(file) && names_it(&file.text);
        defined.iter().any(|(_, value)| names_it(value.as_bytes()))
            || names_it(&unit.text)
            || includes_one(Sought::file(&is_one))
    };
    Ok(Some(
        names.iter().filter(|name| is_named(name)).cloned().collect(),
    ))
}
