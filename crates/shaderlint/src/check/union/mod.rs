//! The union of a unit's readings: one finding for each place, and the fixes that all readings agree on.

mod fallbacks;
mod opinion;
mod relocate;

use std::path::Path;

use shaderlint_hlsl::{Cause, FileId, FileSpan, Problem, Sources};
use shaderlint_linter::{Allowed, Category, Diagnostic, FileEdit, NoFix, Reason, Report};

use crate::check::readings::Reading;
use crate::support::paths::is_same;
use fallbacks::fallbacks;
use opinion::settle_opinions;
pub(crate) use opinion::{Opinion, cannot_tell};
use relocate::relocated;

/// The union of a file's readings, with the files of all.
#[derive(Default)]
pub(crate) struct Union {
    pub sources: Sources,
    pub problems: Vec<Problem>,
    /// The problems that only other readings have.
    pub elsewhere: Vec<Problem>,
    pub report: Report,
    pub has_entry: bool,
    /// As in [`Reading`].
    pub omits_declared: bool,
    /// The functions that the default reading does not call; `None` if it has no kernel.
    pub uncalled: Option<Vec<String>>,
    /// As in [`Reading`].
    pub run_by_themselves: Vec<String>,
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
    let readings = readings.into_iter().map(|reading| {
        let mut reading = relocated(reading, &mut union.sources);
        keep_own_fixes(&mut reading.report, &union.sources);
        reading
    });
    let mut readings: Vec<Reading> = readings.collect();
    union.omits_declared = readings.first().is_some_and(|reading| reading.omits_declared);
    if union.omits_declared {
        withdraw_all(&mut readings);
        let text =
            "shaderlint did not read every declared configuration (variants, kernels' definitions, keywords)";
        union.elsewhere.push(Problem {
            cause: Cause::Builds,
            ..Problem::new(text.to_owned(), None)
        });
    }
    settle_opinions(&mut readings);
    for reading in readings {
        union.add(reading);
    }
    let findings = &mut union.report.findings;
    findings.sort_by_key(|finding| (finding.primary.place.file, finding.primary.place.start));
    union
}

/// Withdraws all fixes, for declared configurations that were not read may object to them.
fn withdraw_all(readings: &mut [Reading]) {
    let reports = readings.iter_mut().map(|reading| &mut reading.report);
    for finding in reports.flat_map(|report| &mut report.findings) {
        let text = "shaderlint did not read every declared variant";
        finding.withdraw(NoFix::new(Reason::UnreadVariants, text));
    }
}

impl Union {
    /// Adds a reading with its places in the files of the union.
    fn add(&mut self, mut reading: Reading) {
        reading.leave_out_unbuilt();
        self.has_entry |= reading.has_entry;
        self.run_by_themselves.append(&mut reading.run_by_themselves);
        self.report.used.append(&mut reading.report.used);
        for allowed in std::mem::take(&mut reading.report.allowed) {
            let is_it = |known: &Allowed| is_one(&known.finding, &allowed.finding);
            if !self.report.allowed.iter().any(is_it) {
                self.report.allowed.push(allowed);
            }
        }
        self.add_findings(&mut reading);
        self.add_problems(reading);
    }

    fn add_findings(&mut self, reading: &mut Reading) {
        let fallbacks: Vec<FileSpan> = fallbacks(&self.sources, &reading.inactive).collect();
        for mut finding in std::mem::take(&mut reading.report.findings) {
            let mut known = self.report.findings.iter_mut();
            if let Some(known) = known.find(|known| is_one(known, &finding)) {
                known.merge(finding);
                continue;
            }
            let place = finding.primary.place;
            let is_fallback = fallbacks.iter().any(|region| place.begins_in(*region));
            if is_fallback && finding.category == Category::Perf {
                continue;
            }
            if let Some(label) = reading.name.label_in(&finding.kernels) {
                finding.message = format!("{} ({label})", finding.message);
            }
            self.report.findings.push(finding);
        }
    }

    fn add_problems(&mut self, reading: Reading) {
        let Report { problems, stops, .. } = reading.report;
        // Users of the default configuration need not see what other configurations leave unread.
        let Some(label) = reading.name.label() else {
            self.uncalled = reading.has_entry.then_some(reading.uncalled);
            self.problems = reading.problems;
            self.report.problems = problems;
            self.report.stops = stops;
            return;
        };
        let Report {
            problems: of_comments,
            stops: known_stops,
            ..
        } = &self.report;
        for mut problem in reading.problems.into_iter().chain(problems).chain(stops) {
            let mut default = self.problems.iter().chain(of_comments).chain(known_stops);
            if !default.any(|known| *known == problem) {
                problem.message = format!("{} ({label})", problem.message);
                self.elsewhere.push(problem);
            }
        }
    }
}

/// Whether two findings are of one rule at one place.
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

#[cfg(test)]
mod tests {
    use shaderlint_hlsl::SourceFile;
    use shaderlint_linter::{Fix, Label, Level, Safety, Verdict};

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
