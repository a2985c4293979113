//! The tree of a unit in one configuration, and what the rules find in it.

use std::cell::Cell;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use shaderlint_hlsl::{
    Extracts, FileId, FileSpan, Function, Preprocessed, Shader, Wanted, read_preprocessed,
};
use shaderlint_linter::{Diagnostic, Settings, check_shader};
use shaderlint_rules::RULES;

use super::fix_dependencies::FixDependencies;
use super::reading::Reading;
use super::stand_ins::StandIns;
use super::stray_functions::{self, Stray};
use super::{Role, group_sizes, unreached};
use crate::check::configurations::{Configuration, Configurations};
use crate::support::definition::Define;
use crate::workspace::prefilter::{self, MayBeFixed};

/// The tree of a unit in one configuration.
pub(super) struct Tree {
    shader: Shader,
    defines: Vec<Define>,
    /// The functions that count as entry points because no kernel calls them.
    strays: Vec<Stray>,
    /// Without findings and files until the end.
    reading: Reading,
}

impl Tree {
    /// The tree of a configuration. In one of `#pragma kernel` lines, the other kernels are no entry points: they are
    /// never compiled like this. `None` if a known reading stands for this one.
    pub fn of(configuration: Configuration, role: Role, known: &StandIns) -> Option<Tree> {
        let Configuration {
            name,
            defines,
            unit,
            problems,
        } = configuration;
        let is_known = Cell::new(false);
        let inactive = unit.inactive.clone();
        let extracts = extracts(&unit);
        let with_extracts = |likeness: u64| {
            let mut hasher = DefaultHasher::new();
            (likeness, &extracts).hash(&mut hasher);
            hasher.finish()
        };
        let wanted = Wanted {
            file: &|file| file == FileId(0),
            words: if may_be_run(&unit.text, role) {
                &prefilter::WORDS
            } else {
                &[]
            },
            is_known: &|likeness| {
                is_known.set(known.have(with_extracts(likeness), &defines));
                is_known.get()
            },
        };
        let (mut shader, problems) = read_preprocessed(unit, problems, Some(&wanted));
        if is_known.get() {
            return None;
        }
        let likeness = shader.likeness.map(with_extracts);
        let sizes = group_sizes::to_try(&shader);
        let uncalled = unreached::uncalled(&shader);
        let strays = stray_functions::take_as_entries(&mut shader, role, &uncalled);
        if let Some(kernels) = name.kernels() {
            let functions = shader.functions.iter_mut();
            let others = functions.filter(|one| !kernels.contains(&one.name));
            others.for_each(|function| function.group_size = None);
        }
        // The tree lacks code in which the rules cannot find anything, even entry points.
        let is_unread = shader.functions.is_empty() && prefilter::names_entry(&shader.text);
        let has_entry = is_unread || shader.entry_points().next().is_some();
        let unreached = match shader.sources.files.first() {
            // There is no entry point, or none reaches anything that a fix could change.
            Some(file) if is_unread || !has_entry => vec![whole(&file.text)],
            _ => unreached::places(&shader),
        };
        let run_by_themselves = strays.iter().filter(|stray| stray.runs_by_itself());
        let reading = Reading {
            name,
            likeness,
            inactive,
            problems,
            has_entry,
            of_headers: entries_of_headers(&shader),
            is_built: true,
            unreached,
            sizes,
            uncalled,
            run_by_themselves: run_by_themselves.map(|stray| stray.name.clone()).collect(),
            extracts,
            ..Reading::default()
        };
        Some(Tree {
            shader,
            defines,
            strays,
            reading,
        })
    }

    /// Runs the rules.
    pub fn check(&mut self, settings: &Settings) {
        let mut report = check_shader(&self.shader, RULES, settings);
        for finding in &mut report.findings {
            drop_fix_across_files(finding, &self.reading.extracts);
        }
        if !self.strays.is_empty() {
            stray_functions::note_assumptions(&mut report, &self.strays);
        }
        self.reading.report = report;
    }

    /// The code that the fixes depend on.
    pub fn fix_dependencies(&self) -> FixDependencies {
        FixDependencies::of(&self.shader, &self.reading.report)
    }

    pub fn into_reading(self, configurations: &Configurations) -> Reading {
        let mut reading = Reading {
            sources: self.shader.sources,
            ..self.reading
        };
        reading.note_builds(configurations, &self.defines);
        reading
    }
}

/// The entry points that stand in included files.
fn entries_of_headers(shader: &Shader) -> HashSet<String> {
    let is_included = |function: &&Function| {
        let place = shader.origins.locate(function.name_span);
        place.is_some_and(|place| place.file != FileId(0))
    };
    let entries = shader.entry_points().map(|(_, function)| function);
    let included = entries.filter(is_included);
    included.map(|function| function.name.clone()).collect()
}

/// The lines that a unit takes from included files that fixes may change.
fn extracts(unit: &Preprocessed) -> Vec<(FileId, Extracts)> {
    let files = (0..).map(FileId).zip(&unit.sources.files).skip(1);
    let may_be_fixed = files.filter(|(_, file)| file.text.derived::<MayBeFixed>().0);
    may_be_fixed
        .map(|(id, _)| (id, unit.origins.extracts(&unit.text, id)))
        .collect()
}

/// Drops a fix unless all its edits are in this file, or all are in one of the `others`.
fn drop_fix_across_files(finding: &mut Diagnostic, others: &[(FileId, Extracts)]) {
    let edits = finding.fix.iter().flat_map(|fix| &fix.edits);
    let mut files: Vec<FileId> = edits.map(|edit| edit.place.file).collect();
    files.dedup();
    match *files {
        [] | [FileId(0)] => {}
        [file] if others.iter().any(|(other, _)| *other == file) => {}
        _ => finding.fix = None,
    }
}

/// Whether a text contains anything to run: a kernel, or a function that may count as one.
fn may_be_run(text: &[u8], role: Role) -> bool {
    prefilter::names_entry(text)
        || prefilter::names_thread(text)
        || role != Role::Unit && prefilter::names_group_barrier(text)
}

/// All of the first file.
fn whole(text: &[u8]) -> FileSpan {
    FileSpan {
        file: FileId(0),
        start: 0,
        end: u32::try_from(text.len()).unwrap_or(u32::MAX),
    }
}
