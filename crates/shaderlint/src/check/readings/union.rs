//! The union of a file's readings, and the verdict of its including files on its findings and fixes.

use std::path::Path;
use std::sync::Arc;

use shaderlint_hlsl::{Cause, FileId, FileSpan, Inactive, Problem, Sources, Taken};
use shaderlint_linter::{
    Allowed, Category, Caveat, Diagnostic, FileEdit, Fix, FixNote, NoFix, Proof, Reason, Report, Safety,
    Verdict,
};

use super::unaffected::is_unconcerned;
use super::{Reading, UnitReadings, contains, file_called, holds, text_of};
use crate::support::paths::is_same;

/// A file with more includers than this gets no fixes.
pub(crate) const MAX_INCLUDERS: usize = 32;

/// The note on a fix if other files include its file and compile nothing that the fix changes. There is no proof of
/// what the new names would mean in those files.
const OF_SOME: &str = "the fix is proved where kernels reach the code that it changes; other files include \
     this one, but none of their kernels reaches that code";

/// Prefixes of the names of wave intrinsics.
const WAVE_INTRINSICS: [&[u8]; 9] = [
    b"WaveActive",
    b"WavePrefix",
    b"WaveMultiPrefix",
    b"WaveMatch",
    b"WaveRead",
    b"WaveGetLane",
    b"WaveIsFirstLane",
    b"QuadRead",
    b"QuadAny",
];

/// The union of a file's readings, with the files of all.
#[derive(Default)]
pub(crate) struct Union {
    pub sources: Sources,
    pub problems: Vec<Problem>,
    /// The problems that only other readings have.
    pub elsewhere: Vec<Problem>,
    pub report: Report,
    pub has_entry: bool,
    /// There are more declared configurations than were read.
    pub is_cut: bool,
    /// The functions that the default reading does not call; `None` if it has no kernel.
    pub uncalled: Option<Vec<String>>,
    /// As in [`Reading`].
    pub alone: Vec<String>,
}

/// Unites readings. A finding of the first reading stays as it is, any other finding gets the label of its reading,
/// and each place has one finding. Code that is only a fallback for wave code gets no finding that suggests waves.
pub(crate) fn union(readings: Vec<Reading>) -> Union {
    union_in(Sources::default(), readings)
}

/// As [`union`], for a header: unites the readings of a file that includes it. The header is the first of `sources`,
/// and its fixes stay.
pub(crate) fn union_for_header(sources: Sources, mut readings: Vec<Reading>) -> Union {
    let header = sources.files.first().map_or("", |file| &file.path).to_owned();
    let files = readings.iter_mut().flat_map(|reading| &mut reading.sources.files);
    for file in files.filter(|file| is_same(Path::new(&file.path), Path::new(&header))) {
        file.path.clone_from(&header);
    }
    union_in(sources, readings)
}

/// Unites readings. Places refer to these files, followed by the further files of the readings.
fn union_in(sources: Sources, readings: Vec<Reading>) -> Union {
    let mut union = Union {
        sources,
        ..Union::default()
    };
    let mut readings: Vec<Reading> = readings
        .into_iter()
        .map(|reading| {
            let mut reading = moved(reading, &mut union.sources);
            keep_own_fixes(&mut reading.report, &union.sources);
            reading
        })
        .collect();
    union.is_cut = readings.first().is_some_and(Reading::is_cut);
    if union.is_cut {
        let findings = readings
            .iter_mut()
            .flat_map(|reading| &mut reading.report.findings);
        let text = "shaderlint did not read every declared variant";
        findings.for_each(|finding| finding.withdraw(NoFix::new(Reason::UnreadVariants, text)));
        let text =
            "shaderlint did not read every declared configuration (variants, kernels' definitions, keywords)";
        union.elsewhere.push(Problem {
            cause: Cause::Builds,
            ..Problem::new(text.to_owned(), None)
        });
    }
    keep_fixes_that_no_reading_is_against(&mut readings);
    for mut reading in readings {
        reading.leave_out_unbuilt();
        for allowed in reading.report.allowed {
            let is_it = |known: &Allowed| is_one(&known.finding, &allowed.finding);
            if !union.report.allowed.iter().any(is_it) {
                union.report.allowed.push(allowed);
            }
        }
        union.report.used.extend(reading.report.used);
        let fallbacks: Vec<FileSpan> = fallbacks(&union.sources, &reading.inactive).collect();
        union.has_entry |= reading.has_entry;
        union.alone.extend(reading.alone);
        for mut finding in reading.report.findings {
            let place = finding.primary.place;
            let is_fallback = fallbacks.iter().any(|region| holds(*region, place));
            let mut known = union.report.findings.iter_mut();
            if let Some(known) = known.find(|known| is_one(known, &finding)) {
                known.is_also_in(finding);
                continue;
            }
            if is_fallback && finding.category == Category::Perf {
                continue;
            }
            if reading.is_of_kernels {
                let kernels = finding.kernels.join(", ");
                let label = format!("in kernel {kernels} {}", reading.keywords.trim_start());
                finding.message = format!("{} ({})", finding.message, label.trim_end());
            } else if !reading.label.is_empty() {
                finding.message = format!("{} ({})", finding.message, reading.label);
            }
            union.report.findings.push(finding);
        }
        // Users of the default configuration need not see what other configurations leave unread.
        if reading.label.is_empty() {
            union.uncalled = reading.has_entry.then_some(reading.uncalled);
            union.problems = reading.problems;
            union.report.problems = reading.report.problems;
            union.report.stops = reading.report.stops;
            continue;
        }
        let Report { problems, stops, .. } = reading.report;
        for mut problem in reading.problems.into_iter().chain(problems).chain(stops) {
            let default = union
                .problems
                .iter()
                .chain(&union.report.problems)
                .chain(&union.report.stops);
            if !default.into_iter().any(|known| *known == problem) {
                problem.message = format!("{} ({})", problem.message, reading.label);
                union.elsewhere.push(problem);
            }
        }
    }
    union
        .report
        .findings
        .sort_by_key(|finding| (finding.primary.place.file, finding.primary.place.start));
    union
}

fn is_one(a: &Diagnostic, b: &Diagnostic) -> bool {
    a.rule == b.rule && a.primary.place == b.primary.place
}

/// Drops the fixes in other files: the run offers them when it checks those files. `no_fix` already holds the reason.
fn keep_own_fixes(report: &mut Report, sources: &Sources) {
    let is_elsewhere = |edit: &&FileEdit| edit.place.file != FileId(0);
    for finding in &mut report.findings {
        let edits = finding.fix.iter().flat_map(|fix| &fix.edits);
        let other = edits.clone().find(is_elsewhere).map(|edit| edit.place.file);
        let Some(other) = other else {
            finding.no_fix.take_if(|_| finding.fix.is_some());
            continue;
        };
        finding.fix = None;
        if let Some(file) = sources.get(other) {
            let mut why = NoFix::new(
                Reason::InInclude,
                format!(
                    "the text that the fix would change is in {}, an included file",
                    file.path
                ),
            );
            why.place = finding.no_fix.take().and_then(|why| why.place);
            finding.no_fix = Some(why);
        }
    }
}

/// The reading with its places in `sources`, extended by its own files.
fn moved(mut reading: Reading, sources: &mut Sources) -> Reading {
    let ids: Vec<FileId> = reading
        .sources
        .files
        .iter()
        .map(|file| {
            file_called(sources, &file.path).unwrap_or_else(|| {
                sources.files.push(file.clone());
                FileId(u32::try_from(sources.files.len() - 1).unwrap_or(u32::MAX))
            })
        })
        .collect();
    let moved = |place: FileSpan| FileSpan {
        file: ids.get(place.file.0 as usize).copied().unwrap_or(place.file),
        ..place
    };
    for place in &mut reading.aside {
        *place = moved(*place);
    }
    let move_problem = |problem: &mut Problem| problem.place = problem.place.map(moved);
    for inactive in &mut reading.inactive {
        *inactive = Inactive {
            region: moved(inactive.region),
            condition: moved(inactive.condition),
            taken: inactive.taken.map(|taken| Taken {
                region: moved(taken.region),
                condition: moved(taken.condition),
                ..taken
            }),
            ..*inactive
        };
    }
    let Report {
        findings,
        allowed,
        used,
        problems,
        stops,
        in_part: _,
        work: _,
    } = &mut reading.report;
    reading
        .problems
        .iter_mut()
        .chain(problems)
        .chain(stops)
        .for_each(move_problem);
    let by = allowed.iter_mut().map(|one| &mut one.by);
    for place in used.iter_mut().chain(by) {
        *place = moved(*place);
    }
    for finding in findings
        .iter_mut()
        .chain(allowed.iter_mut().map(|one| &mut one.finding))
    {
        let labels = std::iter::once(&mut finding.primary).chain(&mut finding.secondary);
        labels.for_each(|label| label.place = moved(label.place));
        for edit in finding.fix.iter_mut().flat_map(|fix| &mut fix.edits) {
            edit.place = moved(edit.place);
        }
        if let Some(place) = finding.no_fix.as_mut().and_then(|why| why.place.as_mut()) {
            *place = moved(*place);
        }
    }
    reading
}

/// A fix changes the text for every reading that compiles it, but its proof is from one reading. The fix stays only
/// if every such reading either has the same fix or was not followed far enough to decide. In the second case the fix
/// is unsafe, and its notes name the reading.
fn keep_fixes_that_no_reading_is_against(readings: &mut [Reading]) {
    let mut objections = Vec::new();
    for (number, reading) in readings.iter().enumerate() {
        for (index, finding) in reading.report.findings.iter().enumerate() {
            let others = readings.iter().enumerate().filter(|(other, _)| *other != number);
            let raised = others.filter_map(|(_, other)| objection(other, finding));
            objections.extend(raised.map(|raised| (number, index, raised)));
        }
    }
    for (number, index, raised) in objections {
        let finding = readings
            .get_mut(number)
            .and_then(|reading| reading.report.findings.get_mut(index));
        if let Some(finding) = finding {
            raised.applies_to(finding);
        }
    }
}

/// The objection of a reading to a fix that another reading proved.
enum Objection {
    /// The engine followed its kernels, and the fix was not found.
    Refusal(NoFix<FileSpan>),
    /// The engine did not follow its kernels as far as the fix.
    Doubt(FixNote),
    /// It has the same edits, with other notes or another proof.
    Same(Box<Fix<FileEdit>>),
}

impl Objection {
    /// `there` is the fix as found in `where_else`, such as "in kernel Main".
    fn same(fix: &Fix<FileEdit>, there: &Fix<FileEdit>, where_else: &str) -> Objection {
        let mut there = there.clone();
        there.proof.take_if(|proof| fix.proof.as_ref() == Some(proof));
        there.proof = there.proof.map(|proof| proof.found(where_else));
        Objection::Same(Box::new(there))
    }

    fn applies_to(self, finding: &mut Diagnostic) {
        match self {
            Objection::Refusal(why) => finding.withdraw(why),
            Objection::Doubt(note) => rest_on_guesses(finding, vec![note]),
            Objection::Same(there) => rest_on_both(finding, *there),
        }
    }
}

/// Whether a reading neither has the fix of a finding nor objects to it, because the engine follows none of its
/// kernels as far as the fix. `own` is the reading's finding at the same place. The default configuration must have
/// each fix.
fn is_open(reading: &Reading, finding: &Diagnostic, own: Option<&Diagnostic>) -> bool {
    if reading.label.is_empty() {
        return false;
    }
    let mut in_part = reading.report.in_part.iter();
    let is_in_part = in_part.any(|kernel| finding.kernels.is_empty() || finding.kernels.contains(kernel));
    let is_against = |own: &Diagnostic| {
        let why = own.no_fix.as_ref();
        !why.is_some_and(|why| why.reason.is_about_the_run())
    };
    is_in_part && !own.is_some_and(is_against)
}

/// The objection of a reading to a fix: the reading compiles text that the fix changes, but does not have the fix.
fn objection(reading: &Reading, finding: &Diagnostic) -> Option<Objection> {
    let fix = finding.fix.as_ref()?;
    // An insertion leaves the code beside it as it is.
    let places = fix.edits.iter().map(|edit| edit.place);
    let changed = places.filter(|place| place.start < place.end);
    let left_out = reading.inactive.iter().map(|inactive| inactive.region);
    let regions: Vec<FileSpan> = left_out.chain(reading.aside.iter().copied()).collect();
    let takes_in = |place: FileSpan| !regions.iter().any(|region| holds(*region, place));
    let mut here = reading.report.findings.iter();
    let own = here.find(|other| is_one(other, finding));
    let mut all = std::iter::once(finding.primary.place).chain(changed);
    if !reading.is_built || !all.any(takes_in) {
        return None;
    }
    let which = match &*reading.label {
        "" => "as the file stands",
        label => label,
    };
    let makes_it = |there: &&Fix<FileEdit>| there.edits == fix.edits;
    if let Some(there) = own.and_then(|own| own.fix.as_ref()).filter(makes_it) {
        return (there != fix).then(|| Objection::same(fix, there, which));
    }
    let reason = own.and_then(|own| own.no_fix.as_ref());
    if is_open(reading, finding, own) {
        let note = format!(
            "the fix is not proved {which}, where shaderlint cannot follow the kernel to its \
             end"
        );
        return Some(Objection::Doubt(Caveat::Unfollowed.note(note)));
    }
    let text = match reason {
        Some(why) => format!("{which}, {}", why.text()),
        None => format!("the same fix is not proved {which}"),
    };
    Some(Objection::Refusal(
        NoFix::new(Reason::OtherVariant, text).named(which),
    ))
}

/// A file that includes another file, or may include it.
pub(crate) struct Includer {
    pub name: String,
    pub has: Has,
}

/// What a file includes of another file.
pub(crate) enum Has {
    /// In one of these readings it includes the file, or another one that the same `#include` may mean.
    Readings(Arc<UnitReadings>),
    /// It includes it under definitions that were not tried.
    Unknown,
}

/// Keeps the fixes in the file at `path` that all its includers agree on. Keeps the finding that a comment there is
/// unused only if none of them uses the comment. Returns the names of the includers that were consulted.
///
/// The proof of a fix is about the file read by itself. An includer compiles the same text with macros and beside
/// functions of its own, and there the fix may be wrong: a group of 64 threads needs more wave totals than the 32 of
/// the proof. So a fix stays only if no includer objects in any of its readings. If a file includes this one only
/// under definitions that were not tried, nothing is known, and the fix goes too. A fix is unsafe if an includer
/// proves it with files that it had to guess, or if the file by itself did so (`guesses`).
pub(crate) fn judge_by_includers(
    findings: &mut Vec<Diagnostic>,
    path: &Path,
    mut includers: impl Iterator<Item = Includer>,
    mut guesses: Vec<String>,
) -> Vec<String> {
    let is_it = |other: &str| is_same(Path::new(other), path);
    let is_open = |finding: &Diagnostic| finding.fix.is_some() || finding.verdict == Verdict::Unused;
    let mut asked = Vec::new();
    let mut perhaps = None;
    while findings.iter().any(is_open)
        && let Some(Includer { name, has }) = includers.next()
    {
        if asked.len() == MAX_INCLUDERS {
            findings.retain_mut(|finding| {
                let text = format!("more than {MAX_INCLUDERS} files include this one");
                finding.withdraw(NoFix::new(Reason::ManyIncluders, text));
                finding.verdict != Verdict::Unused
            });
            break;
        }
        findings.retain_mut(|finding| {
            let is_comment = finding.verdict == Verdict::Unused;
            let may_be_used = match &has {
                Has::Unknown => {
                    let text = format!("{name} may include this file under other definitions");
                    finding.withdraw(NoFix::new(Reason::UnreadIncluder, text).named(&*name));
                    true
                }
                Has::Readings(seen) if is_comment => {
                    let place = finding.primary.place;
                    let mut readings = seen.readings.iter();
                    readings.any(|reading| reading.is_in_part() || reading.uses(place, &is_it))
                }
                Has::Readings(seen) => {
                    for reading in &seen.readings {
                        if let Some(raised) = objection_where_included(reading, finding, &name, &is_it) {
                            raised.applies_to(finding);
                        }
                    }
                    false
                }
            };
            !(is_comment && may_be_used)
        });
        if let Has::Readings(seen) = has {
            let mut readings = seen.readings.iter();
            if readings.any(|reading| !reading.numbers(&is_it).is_empty()) {
                guesses.extend(seen.lookups.guessed(path));
                let problems = seen.readings.iter().flat_map(|reading| &reading.problems);
                guesses.extend(without_unread(problems));
            }
            // One note suffices.
            perhaps = perhaps.or_else(|| seen.lookups.passed_over(path));
        }
        asked.push(name);
    }
    guesses.extend(perhaps);
    let guesses: Vec<FixNote> = guesses.into_iter().map(FixNote::from).collect();
    for finding in findings {
        rest_on_guesses(finding, guesses.clone());
    }
    asked
}

/// The note on a fix whose proof lacks text that was not read: that text may declare anything, even names of this
/// file.
pub(crate) fn without_unread<'a>(problems: impl Iterator<Item = &'a Problem>) -> Option<String> {
    let problems: Vec<&Problem> = problems.filter(|problem| problem.cause.hides_text()).collect();
    // A problem with a name tells the user what to search for.
    let mut all = problems.iter();
    let named = all.find(|problem| matches!(problem.cause, Cause::Missing(_) | Cause::Name(_)));
    let first = named.or(problems.first())?;
    let more = if problems.len() > 1 { ", among others" } else { "" };
    Some(match &first.cause {
        Cause::Missing(name) => {
            format!("the fix is made without `{name}`, which was not found{more}; use -I to say where it is")
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
fn rest_on_guesses(finding: &mut Diagnostic, guesses: Vec<FixNote>) {
    if let Some(fix) = finding.fix.as_mut().filter(|_| !guesses.is_empty()) {
        fix.safety = Safety::Unsafe;
        add_notes(finding, guesses);
    }
}

/// Merges the same edits of another reading into the fix: it is safe only if it is safe in both. If it is unsafe
/// there, the fix gets both proofs.
fn rest_on_both(finding: &mut Diagnostic, there: Fix<FileEdit>) {
    let Some(fix) = finding.fix.as_mut() else {
        return;
    };
    if there.safety == Safety::Unsafe {
        fix.safety = Safety::Unsafe;
        let proofs = [fix.proof.take(), there.proof].into_iter().flatten();
        fix.proof = proofs.reduce(Proof::and);
    }
    fix.other_form
        .take_if(|form| there.other_form.as_ref() != Some(form));
    add_notes(finding, there.notes);
}

/// Adds notes to a fix, without duplicates.
fn add_notes(finding: &mut Diagnostic, notes: Vec<FixNote>) {
    for note in notes {
        if let Some(fix) = finding.fix.as_mut().filter(|fix| !fix.notes.contains(&note)) {
            fix.notes.push(note);
        }
    }
}

/// The objection of a reading of the file `name` to a fix in an included file. If the reading has the same fix, the
/// result holds its notes. A reading that takes none of the lines from the first edit to the last has no objection. A
/// reading of lines that `name` includes twice always objects: the second copy may mean something else.
fn objection_where_included(
    reading: &Reading,
    finding: &Diagnostic,
    name: &str,
    is_it: &dyn Fn(&str) -> bool,
) -> Option<Objection> {
    let fix = finding.fix.as_ref()?;
    let places = fix.edits.iter().map(|edit| edit.place);
    let places = places.chain(
        [finding.primary.place]
            .into_iter()
            .filter(|at| at.file == FileId(0)),
    );
    let start = places.clone().map(|place| place.start).min().unwrap_or(0);
    let end = places.map(|place| place.end).max().unwrap_or(u32::MAX);
    let numbers = reading.numbers(is_it);
    let taken = numbers.iter().map(|file| {
        // An insertion follows other text on its line: the whole line counts.
        let text = reading.sources.get(*file).map(|file| &*file.text);
        let before = text.and_then(|text| text.get(..start as usize));
        let line = before.and_then(|before| before.iter().rposition(|byte| *byte == b'\n'));
        let start = line.and_then(|line| u32::try_from(line).ok()).unwrap_or(0);
        reading.times_taken(*file, start, end)
    });
    let same = |other: &Diagnostic| {
        let other = other.fix.as_ref().filter(|_| other.rule == finding.rule)?;
        let is_one = |(other, edit): (&FileEdit, &FileEdit)| {
            numbers.contains(&other.place.file)
                && (other.place.start, other.place.end) == (edit.place.start, edit.place.end)
                && other.text == edit.text
        };
        let is_same = other.edits.len() == fix.edits.len() && other.edits.iter().zip(&fix.edits).all(is_one);
        is_same.then(|| Objection::same(fix, other, &format!("where {name} includes this file")))
    };
    let is_here = |other: &&Diagnostic| {
        let (place, own) = (other.primary.place, finding.primary.place);
        other.rule == finding.rule && numbers.contains(&place.file) && place.start == own.start
    };
    let own = reading.report.findings.iter().find(is_here);
    let mut others = reading.report.findings.iter();
    let text = match (taken.sum(), others.find_map(same)) {
        (Some(0), _) => return None,
        (Some(1), Some(same)) => return Some(same),
        (Some(1), None) if own.is_none() && is_unconcerned(reading, finding, &numbers) => {
            return Some(Objection::Doubt(OF_SOME.into()));
        }
        (Some(1), None) if is_open(reading, finding, own) => {
            let label = &reading.label;
            let note = format!(
                "the fix is not proved where {name} includes this file {label}, because shaderlint cannot \
                 follow the kernel to its end"
            );
            return Some(Objection::Doubt(Caveat::Unfollowed.note(note)));
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
    Some(Objection::Refusal(
        NoFix::new(Reason::OtherIncluder, text).named(name),
    ))
}

/// The compiled regions with another branch of the same `#if` that has wave intrinsics, if the condition tests for
/// wave support. Under any other condition the two branches are two programs: if one of them uses waves, perhaps by a
/// fix, that says nothing about the other.
fn fallbacks<'a>(sources: &'a Sources, inactive: &'a [Inactive]) -> impl Iterator<Item = FileSpan> + 'a {
    inactive.iter().filter_map(|inactive| {
        let text = text_of(sources, inactive.region);
        let has_waves = WAVE_INTRINSICS.iter().any(|name| contains(text, name));
        let taken = inactive.taken.filter(|_| has_waves)?;
        let asks = |condition: FileSpan| asks_for_waves(text_of(sources, condition));
        (asks(inactive.condition) || asks(taken.condition)).then_some(taken.region)
    })
}

/// Parts of names, in lower case, with which projects say that a target has wave intrinsics.
const CAPABILITIES: [&str; 14] = [
    "wave",
    "warp",
    "subgroup",
    "simd",
    "ballot",
    "shuffle",
    "intrinsic",
    "sm6",
    "sm_6",
    "shader_model",
    "shadermodel",
    "shader_target",
    "dx_compiler",
    "dxc",
];

fn asks_for_waves(condition: &[u8]) -> bool {
    let condition = String::from_utf8_lossy(condition).to_lowercase();
    CAPABILITIES.iter().any(|part| condition.contains(part))
}

#[cfg(test)]
mod tests {
    use shaderlint_hlsl::SourceFile;
    use shaderlint_linter::{Label, Level};

    use super::*;

    /// What is left of a fix with edits in these files of a unit: its edits, or the reason for having none.
    fn left(files: &[u32]) -> (usize, Option<Reason>) {
        let place = |file: u32| FileSpan {
            file: FileId(file),
            start: 0,
            end: 1,
        };
        let edits = files.iter().map(|file| FileEdit {
            place: place(*file),
            text: String::new(),
        });
        let finding = Diagnostic {
            rule: "a-rule",
            kernels: Vec::new(),
            is_of_first: false,
            category: Category::Perf,
            level: Level::Warn,
            message: String::new(),
            shape: None,
            verdict: Verdict::Proved,
            primary: Label {
                place: place(0),
                text: String::new(),
            },
            secondary: Vec::new(),
            notes: Vec::new(),
            fix: Some(Fix {
                title: String::new(),
                safety: Safety::Safe,
                proof: None,
                notes: Vec::new(),
                edits: edits.collect(),
                other_form: None,
            }),
            no_fix: None,
        };
        let mut report = Report {
            findings: vec![finding],
            ..Report::default()
        };
        let files = ["main.hlsl", "header.hlsli"].map(|path| SourceFile {
            path: path.to_owned(),
            text: b"x".into(),
        });
        keep_own_fixes(&mut report, &Sources { files: files.into() });
        let finding = report.findings.remove(0);
        let edits = finding.fix.map_or(0, |fix| fix.edits.len());
        (edits, finding.no_fix.map(|why| why.reason))
    }

    #[test]
    fn all_edits_of_a_fix_are_in_its_file() {
        assert_eq!(left(&[0, 0]), (2, None));
        assert_eq!(left(&[0, 1]), (0, Some(Reason::InInclude)));
        assert_eq!(left(&[1, 1]), (0, Some(Reason::InInclude)));
    }
}
