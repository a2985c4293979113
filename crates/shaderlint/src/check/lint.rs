//! Reads, checks and fixes one file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use shaderlint_hlsl::{Directives, FileId, FileSpan, Problem, SourceFile, Text, decode, include_guard};
use shaderlint_linter::{
    Category, Diagnostic, GivenLevel, Level, Rule, Safety, Suppression, settle, suppressions,
    unused_suppressions,
};
use shaderlint_rules::UNUSED_SUPPRESSION;

use crate::check::baseline::Baselines;
use crate::check::file_report::{Counted, FileReport, Included};
use crate::check::options::{Options, Target};
use crate::check::readings::{
    self, Has, Includer, MAX_INCLUDERS, Role, Root, UnitReadings, leave_out_called, union, without_unread,
};
use crate::check::{callers, includers};
use crate::support::encoding::encoded_like;
use crate::support::suggestions::no_such_rule;
use crate::support::{atomic_write, panics};
use crate::workspace::includes::{Files, Search};
use crate::workspace::prefilter::{self, MayBeFixed};
use crate::workspace::project_file::{read_file, text_of};
use crate::workspace::walk::InputOrigin;

/// Checks one file, and fixes it if the options say so. A panic becomes an error: the run still checks the other
/// files. A stopped check is an error too, for a partial report may be wrong: the missing part may have been the
/// objection to a fix.
pub(crate) fn check_file(target: &Target, options: &Options, role: Role) -> Result<FileReport> {
    let name = target.input.path.display().to_string();
    let context = format!("internal error while analysing {name}, please report");
    panics::as_error(&context, || {
        let checked = check_unguarded(target, &name, options, role)?;
        ensure!(!options.stop.is_set(), "{name}: stopped");
        Ok(checked)
    })
}

fn check_unguarded(target: &Target, name: &str, options: &Options, role: Role) -> Result<FileReport> {
    let Target { input, project } = target;
    let bytes = read_file(&options.files, &input.path)?;
    let Some(text) = decode(&bytes) else {
        // A folder may hold any file, but a file that the user names must be readable.
        ensure!(
            input.origin == InputOrigin::Found,
            "{name}: not a text file (UTF-8, or UTF-16 with a byte order mark)"
        );
        return Ok(FileReport::default());
    };
    #[cfg(test)]
    panics::if_asked(&text, "panic while looking");
    let check = |text: &Text| {
        let mut checked = check_text(
            Root {
                name,
                text,
                project,
                role,
            },
            options,
        );
        // Who names a header wants to know if no kernel shows its code; a header found in a folder just counts as
        // checked.
        if input.origin != InputOrigin::Named {
            checked.counted = Counted::Checked;
        }
        if role == Role::Included {
            find_where_included(&mut checked, text, options);
        }
        judge_by_includers(&mut checked, text, options);
        checked
    };
    let Some(mode) = options.fix else {
        return Ok(check(&text));
    };
    // Findings of the baseline are not fixed.
    let baseline = options.baseline_of(project);
    let may_be_read = |path: &&PathBuf| options.files.may_be_looked_at(path);
    let baselines = Baselines::at(baseline.iter().filter(may_be_read))?;
    let check = |text: &[u8]| {
        let mut checked = [check(&text.into())];
        baselines.apply(&mut checked);
        let [checked] = checked;
        checked
    };
    let settled = settle(&text, mode.unsafe_too, check, |checked| &checked.report.findings);
    let mut checked = settled.last;
    checked.fixed.rules = settled.fixed;
    if *settled.text != *text {
        let fixed = encoded_like(&bytes, &text, &settled.text);
        let fixed = fixed.with_context(|| format!("{name}: not fixed"))?;
        if mode.in_place {
            atomic_write::replace(&input.path, &bytes, &fixed)
                .with_context(|| format!("{name}: not fixed"))?;
        } else {
            checked.fixed.diff = Some((text.to_vec(), settled.text));
        }
        checked.fixed.bytes = Some(fixed.into());
    }
    Ok(checked)
}

fn check_text(root: Root<'_>, options: &Options) -> FileReport {
    let Root {
        name,
        text,
        project,
        role,
    } = root;
    let checked = FileReport {
        path: name.to_owned(),
        baseline: options.baseline_of(project),
        is_unit: role == Role::Unit,
        ..FileReport::default()
    };
    if prefilter::needs_parse(name, text, &Search::new(&options.files, project)) {
        check_readings(checked, root, options)
    } else {
        check_comments(checked, root, options)
    }
}

/// Checks the comments of a file that has nothing else to find, under any including file.
fn check_comments(mut checked: FileReport, root: Root<'_>, options: &Options) -> FileReport {
    let (suppressions, misunderstood) = suppressions_of(root.text);
    let level = |rule: &Rule, path: &str| options.level(root.project, rule, path);
    checked.is_unit = true;
    checked.report.problems = misunderstood;
    if root.role == Role::Unit {
        checked.report.findings = unused(root.name, &suppressions, &[], &level);
    }
    if !(checked.report.problems.is_empty() && checked.report.findings.is_empty()) {
        checked.sources.files.push(SourceFile {
            path: root.name.to_owned(),
            text: root.text.clone(),
        });
    }
    checked
}

/// Checks a file in each of its configurations.
fn check_readings(mut checked: FileReport, root: Root<'_>, options: &Options) -> FileReport {
    let Root {
        name,
        text,
        project,
        role,
    } = root;
    let (suppressions, misunderstood) = suppressions_of(text);
    let level = |rule: &Rule, path: &str| options.level(project, rule, path);
    let UnitReadings {
        readings, lookups, ..
    } = Arc::unwrap_or_clone(options.reader().read_own(root));
    let union = union(readings);
    checked.uncalled = union.uncalled;
    checked.is_in_vain = prefilter::names_entry(text) && !union.has_entry;
    if role == Role::StrayHeader && !union.has_entry {
        checked.counted = Counted::Unseen;
    }
    let ids = (0..).map(FileId).zip(&union.sources.files).skip(1);
    let included = ids.map(|(id, file)| Included {
        path: file.path.clone(),
        used: union
            .report
            .used
            .iter()
            .filter(|place| place.file == id)
            .copied()
            .collect(),
    });
    checked.included = included.collect();
    checked.report = union.report;
    checked.guesses = lookups.guessed(Path::new(name)).collect();
    let problems = union.problems.iter().chain(&union.elsewhere);
    checked.guesses.extend(without_unread(problems));
    for finding in &mut checked.report.findings {
        note_kernels(finding);
        if finding.primary.place.file != FileId(0) {
            note_includer(finding, name);
        }
    }
    checked.is_in_part = union.is_cut || !union.problems.is_empty() || !checked.report.stops.is_empty();
    // In a header, a file outside this run may need the comment.
    if role == Role::Unit && !checked.is_in_part && checked.report.problems.is_empty() {
        let mut unused = unused(name, &suppressions, &checked.report.used, &level);
        if union
            .sources
            .files
            .iter()
            .any(|file| has_conditionals(&file.text))
        {
            unused.iter_mut().for_each(may_be_needed);
        }
        let findings = &mut checked.report.findings;
        findings.extend(unused);
        findings.sort_by_key(|finding| (finding.primary.place.file, finding.primary.place.start));
    }
    // A barrier that has a finding was understood.
    let findings = &checked.report.findings;
    checked.report.stops.retain(|stop| {
        let is_found = |finding: &Diagnostic| Some(finding.primary.place) == stop.place;
        !findings.iter().any(is_found)
    });
    checked.report.problems.extend(misunderstood);
    checked.problems = union.problems;
    checked.problems.extend(lookups.choices(&union.sources));
    checked.elsewhere = union.elsewhere;
    lookups.explain(&union.sources, &mut checked.problems);
    lookups.explain(&union.sources, &mut checked.elsewhere);
    leave_out_called(&mut checked.report, &union.alone, |functions| {
        let uncalled = callers::uncalled(functions, Path::new(name), text, options);
        checked.includers.extend(uncalled.searched);
        uncalled.functions
    });
    if role == Role::Included {
        // What it lacks alone, its includers provide.
        checked.report.stops.clear();
        checked.guesses.clear();
        checked.is_in_part = false;
        (checked.problems, checked.elsewhere) = Default::default();
    }
    let has_places = !(checked.report.findings.is_empty()
        && checked.report.problems.is_empty()
        && checked.report.stops.is_empty()
        && checked.report.allowed.is_empty()
        && checked.problems.is_empty()
        && checked.elsewhere.is_empty());
    if has_places {
        checked.sources = union.sources;
    }
    checked
}

/// Adds a note that lists the kernels of a finding.
fn note_kernels(finding: &mut Diagnostic) {
    let is_of_first = finding.category == Category::Correctness || finding.is_of_first;
    if let (true, [first, _, ..]) = (is_of_first, finding.kernels.as_slice()) {
        let kernels = finding.kernels.join(", ");
        let note = format!("found in the kernels {kernels}; the details are those of {first}");
        finding.notes.push(note);
    }
}

/// Adds a note that names the file whose kernels have a finding: another file may compile the same lines to something
/// else.
fn note_includer(finding: &mut Diagnostic, name: &str) {
    let kernels = finding.kernels.join(", ");
    let note = format!("found in {kernels} of {name}, which includes this file");
    finding.notes.push(note);
}

/// Adds the findings with a fix in a header, from the first including file that has them.
fn find_where_included(checked: &mut FileReport, text: &Text, options: &Options) {
    if !text.derived::<MayBeFixed>().0 {
        return;
    }
    let path = PathBuf::from(&checked.path);
    if checked.sources.files.is_empty() {
        checked.sources.files.push(SourceFile {
            path: checked.path.clone(),
            text: text.clone(),
        });
    }
    for Includer { name, has } in includers::of(&path, text, options).take(MAX_INCLUDERS) {
        let Has::Readings(seen) = has else {
            continue;
        };
        let union = readings::union_for_header(checked.sources.clone(), seen.readings.clone());
        let known = &mut checked.report.findings;
        let before = known.len();
        for mut finding in union.report.findings {
            let place = finding.primary.place;
            let is_known = |known: &Diagnostic| (known.rule, known.primary.place) == (finding.rule, place);
            if finding.fix.is_some() && place.file == FileId(0) && !known.iter().any(is_known) {
                note_kernels(&mut finding);
                note_includer(&mut finding, &name);
                known.push(finding);
            }
        }
        if known.len() > before {
            checked.sources = union.sources;
        }
    }
}

/// Keeps the findings and fixes in a file that every including file agrees on. `text` is the text that was linted.
fn judge_by_includers(checked: &mut FileReport, text: &Text, options: &Options) {
    let path = Path::new(&checked.path);
    let includers = includers::of(path, text, options);
    let guesses = std::mem::take(&mut checked.guesses);
    let asked = readings::judge_by_includers(&mut checked.report.findings, path, includers, guesses);
    checked.includers.extend(asked);
}

/// Checks the comments of a header whose code was checked in the files that include it. `used` are the places where its
/// comments name rules that have a finding in one of those files; `None` if not all of them could be checked
/// completely. `alone` is the header's own report.
pub(crate) fn check_header(
    target: &Target,
    options: &Options,
    used: Option<&[FileSpan]>,
    alone: Option<FileReport>,
) -> FileReport {
    let Target { input, project } = target;
    let name = input.path.display().to_string();
    let mut checked = FileReport {
        path: name.clone(),
        baseline: options.baseline_of(project),
        ..FileReport::default()
    };
    let FileReport {
        report: of_itself,
        sources,
        includers,
        ..
    } = alone.unwrap_or_default();
    checked.includers = includers;
    // The header was read when an including file was checked.
    let Some(text) = options.files.read(&input.path).map(|file| file.text) else {
        return checked;
    };
    let (suppressions, misunderstood) = suppressions_of(&text);
    let level = |rule: &Rule, path: &str| options.level(project, rule, path);
    if let Some(used) = used {
        let used = [used, &of_itself.used].concat();
        checked.report.findings = unused(&name, &suppressions, &used, &level);
        // A run may not contain all files that include it.
        judge_by_includers(&mut checked, &text, options);
    }
    for finding in &mut checked.report.findings {
        // To remove the comment, every including file would have to be checked again.
        finding.fix = None;
    }
    checked.report.findings.extend(of_itself.findings);
    checked
        .report
        .findings
        .sort_by_key(|finding| finding.primary.place.start);
    checked.report.allowed = of_itself.allowed;
    checked.report.problems = misunderstood;
    checked.sources = sources;
    // Most headers have nothing to show, and their texts are not kept.
    let has_places = !(checked.report.findings.is_empty() && checked.report.problems.is_empty());
    if has_places && checked.sources.files.is_empty() {
        checked.sources.files.push(SourceFile { path: name, text });
    }
    checked
}

/// The suppressions in a file's comments, and the errors in them, including unknown rules.
fn suppressions_of(text: &[u8]) -> (Vec<Suppression>, Vec<Problem>) {
    let (suppressions, mut problems) = suppressions(text);
    let ids = suppressions.iter().flat_map(|one| &one.ids);
    let unknown = ids.filter(|(_, id)| shaderlint_rules::named(id).next().is_none());
    problems.extend(unknown.filter_map(|(place, id)| {
        let place = FileSpan {
            file: FileId(0),
            start: u32::try_from(place.start).ok()?,
            end: u32::try_from(place.end).ok()?,
        };
        let is_category = Category::ALL.iter().any(|category| category.to_string() == *id);
        let message = if is_category {
            format!("`{id}` is a category: `allow` must name its rules")
        } else {
            no_such_rule(id)
        };
        Some(Problem::new(message, Some(place)))
    }));
    (suppressions, problems)
}

/// The suppressions of the file `name` that suppress nothing, for rules that are on.
fn unused(
    name: &str,
    suppressions: &[Suppression],
    used: &[FileSpan],
    given: &dyn Fn(&Rule, &str) -> GivenLevel,
) -> Vec<Diagnostic> {
    let own_level = given(&UNUSED_SUPPRESSION, name).level();
    if own_level == Level::Off {
        return Vec::new();
    }
    let is_on = |rule: &Rule| given(rule, name).level() != Level::Off;
    let is_judged =
        |id: &str| shaderlint_rules::named(id).next().is_some() && shaderlint_rules::named(id).all(is_on);
    unused_suppressions(&UNUSED_SUPPRESSION, own_level, suppressions, used, is_judged)
}

/// Whether definitions decide what the file contains.
fn has_conditionals(text: &Text) -> bool {
    let lines = text.derived::<Directives>();
    let mut conditions = lines.iter().filter(|line| line.keyword.starts_with(b"if"));
    conditions.next().is_some() && (conditions.next().is_some() || include_guard(text, &lines).is_none())
}

/// Marks the fix as unsafe: a build that no file names may need a comment that suppresses nothing here.
fn may_be_needed(unused: &mut Diagnostic) {
    if let Some(fix) = &mut unused.fix {
        fix.safety = Safety::Unsafe;
        fix.notes.push("other definitions (#if, -D) may need it".into());
    }
}

/// The role in which shaderlint checks a file to fix it: other files prove the fixes of a header without a kernel.
pub(crate) fn role_for_fixes(files: &Files, path: &Path) -> Role {
    if may_have_entry(files, path) {
        Role::Unit
    } else {
        Role::Included
    }
}

/// Whether the file at `path` may have an entry point of its own.
pub(crate) fn may_have_entry(files: &Files, path: &Path) -> bool {
    // Another place reports a file that cannot be read.
    let bytes = files.bytes(path);
    bytes.map_or(true, |bytes| prefilter::names_entry(&text_of(&bytes)))
}

/// Whether a file includes one of these, directly or not, or may do so; `is_written` recognises the text of an
/// `#include`.
pub(crate) fn includes_one(
    target: &Target,
    options: &Options,
    is_one: &dyn Fn(&SourceFile) -> bool,
    is_written: &dyn Fn(&str) -> bool,
) -> bool {
    let path = &target.input.path;
    let search = Search::new(&options.files, &target.project);
    // Another place reports a file that cannot be read.
    let bytes = options.files.bytes(path);
    bytes.map_or(true, |bytes| {
        let name = path.display().to_string();
        search.includes_one(&name, &text_of(&bytes), true, is_one, is_written)
    })
}
