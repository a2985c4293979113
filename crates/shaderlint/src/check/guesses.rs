//! Guesses that fixes rest on, and that only the build can confirm.

use std::path::Path;

use shaderlint_hlsl::{Cause, Problem};
use shaderlint_linter::{Diagnostic, FixNote, Safety};

use crate::workspace::includes::Lookups;

/// The notes on the fixes in the file at `path` that were proved with what these lookups found, and without what these
/// problems hide.
pub(crate) fn of<'a>(
    path: &Path,
    lookups: &Lookups,
    problems: impl Iterator<Item = &'a Problem>,
) -> Vec<String> {
    lookups.guessed(path).chain(without_unread(problems)).collect()
}

/// The note on a fix whose proof lacks text that was not read: that text may declare anything, even names of this
/// file.
fn without_unread<'a>(problems: impl Iterator<Item = &'a Problem>) -> Option<String> {
    let problems: Vec<&Problem> = problems.filter(|problem| problem.cause.hides_text()).collect();
    // A problem with a name tells the user what to search for.
    let mut all = problems.iter();
    let named = all.find(|problem| matches!(problem.cause, Cause::Missing(_) | Cause::Name(_)));
    let first = named.or(problems.first())?;
    let more = if problems.len() > 1 { ", among others" } else { "" };
    Some(match &first.cause {
        Cause::Missing(name) => {
            let how = if name.starts_with('/') {
                "`virtual-dirs`"
            } else {
                "-I"
            };
            format!(
                "the fix is made without `{name}`, which was not found{more}; use {how} to say where it is"
            )
        }
        Cause::Name(name) => format!(
            "the fix is made without `{name}`, an unknown name{more}; use -D to define what the build \
             defines"
        ),
        _ => format!(
            "the fix is proved only for the text that shaderlint could read: {}{more}",
            first.message
        ),
    })
}

/// Marks a fix as unsafe if its proof lacks files that a build reads, or has files that a build may not read.
pub(crate) fn rest_on(finding: &mut Diagnostic, guesses: Vec<FixNote>) {
    if let Some(fix) = finding.fix.as_mut().filter(|_| !guesses.is_empty()) {
        fix.safety = Safety::Unsafe;
        add_notes(finding, guesses);
    }
}

/// Adds notes to a fix, without duplicates.
pub(crate) fn add_notes(finding: &mut Diagnostic, notes: Vec<FixNote>) {
    for note in notes {
        if let Some(fix) = finding.fix.as_mut().filter(|fix| !fix.notes.contains(&note)) {
            fix.notes.push(note);
        }
    }
}
