//! The verdict of the files that include a file on its findings and fixes.

use std::path::Path;

use shaderlint_hlsl::FileId;
use shaderlint_linter::{Caveat, Diagnostic, FileEdit, FixNote, NoFix, Reason, Verdict};

use super::unaffected::is_unconcerned;
use super::{Includer, Inclusion, MAX_INCLUDERS};
use crate::check::guesses;
use crate::check::readings::Reading;
use crate::check::union::{Opinion, cannot_tell};
use crate::support::paths::is_same;

/// The note on a fix if other files include its file and compile nothing that the fix changes. There is no proof of
/// what the new names would mean in those files.
const OF_SOME: &str = "the fix is proved where kernels reach the code that it changes; other files include \
     this one, but none of their kernels reaches that code";

/// Keeps the fixes in the file at `path` that all its includers agree on. Keeps the finding that a comment there is
/// unused only if none of them uses the comment. Returns the names of the includers that were consulted.
///
/// The proof of a fix is about the file read by itself. An includer compiles the same text with macros and beside
/// functions of its own, and there the fix may be wrong: a group of 64 threads needs more wave totals than the 32 of
/// the proof. So a fix stays only if no includer objects in any of its readings. If a file includes this one only
/// under definitions that were not tried, nothing is known, and the fix goes too. A fix is unsafe if an includer
/// proves it with files that it had to guess, or if the file by itself did so (`guesses`).
pub(super) fn judge(
    findings: &mut Vec<Diagnostic>,
    path: &Path,
    mut includers: impl Iterator<Item = Includer>,
    mut guesses: Vec<String>,
) -> Vec<String> {
    let is_it = |other: &str| is_same(Path::new(other), path);
    let is_in_question = |finding: &Diagnostic| finding.fix.is_some() || finding.verdict == Verdict::Unused;
    let mut asked = Vec::new();
    let mut perhaps = None;
    while findings.iter().any(is_in_question)
        && let Some(includer) = includers.next()
    {
        if asked.len() == MAX_INCLUDERS {
            findings.retain_mut(|finding| {
                let text = format!("more than {MAX_INCLUDERS} files include this one");
                finding.withdraw(NoFix::new(Reason::ManyIncluders, text));
                finding.verdict != Verdict::Unused
            });
            break;
        }
        findings.retain_mut(|finding| survives(&includer, finding, &is_it));
        if let Inclusion::Readings(seen) = includer.inclusion {
            let mut readings = seen.readings.iter();
            if readings.any(|reading| !reading.ids_of(&is_it).is_empty()) {
                let problems = seen.readings.iter().flat_map(|reading| &reading.problems);
                guesses.extend(guesses::of(path, &seen.lookups, problems));
            }
            // One note suffices.
            perhaps = perhaps.or_else(|| seen.lookups.passed_over(path));
        }
        asked.push(includer.name);
    }
    guesses.extend(perhaps);
    let guesses: Vec<FixNote> = guesses.into_iter().map(FixNote::from).collect();
    for finding in findings {
        guesses::rest_on(finding, guesses.clone());
    }
    asked
}

/// Whether an includer lets a finding stand. Applies its opinions to the fix.
fn survives(includer: &Includer, finding: &mut Diagnostic, is_it: &dyn Fn(&str) -> bool) -> bool {
    let name = &*includer.name;
    let is_comment = finding.verdict == Verdict::Unused;
    match &includer.inclusion {
        Inclusion::Unknown => {
            let text = format!("{name} may include this file under other definitions");
            finding.withdraw(NoFix::new(Reason::UnreadIncluder, text).named(name));
            !is_comment
        }
        Inclusion::Readings(seen) if is_comment => {
            let place = finding.primary.place;
            let mut readings = seen.readings.iter();
            !readings.any(|reading| reading.is_partial() || reading.uses(place, is_it))
        }
        Inclusion::Readings(seen) => {
            for reading in &seen.readings {
                if let Some(opinion) = opinion_on(finding, reading, name, is_it) {
                    opinion.applies_to(finding);
                }
            }
            true
        }
    }
}

/// The opinion of a reading of the file `name` on a fix in an included file. `None` if the reading takes none of the
/// lines from the first edit to the last. A reading of lines that `name` includes twice always refuses the fix: the
/// second copy may mean something else.
fn opinion_on(
    finding: &Diagnostic,
    reading: &Reading,
    name: &str,
    is_it: &dyn Fn(&str) -> bool,
) -> Option<Opinion> {
    let fix = finding.fix.as_ref()?;
    let places = fix.edits.iter().map(|edit| edit.place);
    let places = places.chain(
        [finding.primary.place]
            .into_iter()
            .filter(|at| at.file == FileId(0)),
    );
    let start = places.clone().map(|place| place.start).min().unwrap_or(0);
    let end = places.map(|place| place.end).max().unwrap_or(u32::MAX);
    let ids = reading.ids_of(is_it);
    let taken = ids.iter().map(|file| {
        // An insertion follows other text on its line: the whole line counts.
        let text = reading.sources.get(*file).map(|file| &*file.text);
        let before = text.and_then(|text| text.get(..start as usize));
        let line = before.and_then(|before| before.iter().rposition(|byte| *byte == b'\n'));
        let start = line.and_then(|line| u32::try_from(line).ok()).unwrap_or(0);
        reading.times_included(*file, start, end)
    });
    let same = |other: &Diagnostic| {
        let other = other.fix.as_ref().filter(|_| other.rule == finding.rule)?;
        let is_one = |(other, edit): (&FileEdit, &FileEdit)| {
            ids.contains(&other.place.file)
                && (other.place.start, other.place.end) == (edit.place.start, edit.place.end)
                && other.text == edit.text
        };
        let is_same = other.edits.len() == fix.edits.len() && other.edits.iter().zip(&fix.edits).all(is_one);
        is_same.then(|| Opinion::agreement(fix, other, &format!("where {name} includes this file")))
    };
    let is_here = |other: &&Diagnostic| {
        let (place, own) = (other.primary.place, finding.primary.place);
        other.rule == finding.rule && ids.contains(&place.file) && place.start == own.start
    };
    let own = reading.report.findings.iter().find(is_here);
    let mut others = reading.report.findings.iter();
    let text = match (taken.sum(), others.find_map(same)) {
        (Some(0), _) => return None,
        (Some(1), Some(same)) => return Some(same),
        (Some(1), None) if own.is_none() && is_unconcerned(reading, finding, &ids) => {
            return Some(Opinion::Doubt(OF_SOME.into()));
        }
        (Some(1), None) if cannot_tell(reading, finding, own) => {
            let label = reading.name.label().unwrap_or_default();
            let note = format!(
                "the fix is not proved where {name} includes this file {label}, because shaderlint cannot \
                 follow the kernel to its end"
            );
            return Some(Opinion::Doubt(Caveat::Unfollowed.note(note)));
        }
        (Some(2..), _) => format!("{name} includes these lines more than once"),
        // Beside a fix, `no_fix` only names the file that has the fix.
        _ => match own
            .filter(|own| own.fix.is_none())
            .and_then(|own| own.no_fix.as_ref())
        {
            Some(why) => format!("where {name} includes this file, {}", why.text()),
            None => format!("the same fix is not proved where {name} includes this file"),
        },
    };
    Some(Opinion::Refusal(
        NoFix::new(Reason::OtherIncluder, text).named(name),
    ))
}
