//! Remarks on how includes were found.

use std::path::{Path, PathBuf};

use shaderlint_hlsl::{Cause, FileId, FileSpan, Problem, Sources};

use crate::support::paths::is_same;

/// Remarks on how the includes of a unit were found.
#[derive(Clone, Default)]
pub(crate) struct Lookups {
    choices: Vec<Choice>,
    refused: Vec<Refused>,
}

/// A file that exists, but may not be included.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Refused {
    pub from: String,
    pub written: String,
    pub path: PathBuf,
}

/// An include that several files match.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Choice {
    pub from: String,
    pub written: String,
    pub taken: PathBuf,
    pub others: Vec<PathBuf>,
}

impl Choice {
    fn count(&self) -> usize {
        1 + self.others.len()
    }
}

impl Lookups {
    pub(super) fn note_choice(&mut self, choice: Choice) {
        if !self.choices.contains(&choice) {
            self.choices.push(choice);
        }
    }

    pub(super) fn note_refused(&mut self, refused: Refused) {
        if !self.refused.contains(&refused) {
            self.refused.push(refused);
        }
    }

    /// The files that ambiguous includes may mean, but that were not taken.
    pub(super) fn others(&self) -> impl Iterator<Item = &PathBuf> {
        self.choices.iter().flat_map(|choice| &choice.others)
    }

    /// Rewords the problems about missing files that exist, but may not be read.
    pub fn explain(&self, sources: &Sources, problems: &mut [Problem]) {
        for refused in &self.refused {
            let missing = Cause::Missing(refused.written.clone());
            let is_in_file = |place: Option<FileSpan>| {
                let file = place.and_then(|place| sources.get(place.file));
                file.is_some_and(|file| file.path == refused.from)
            };
            for problem in &mut *problems {
                if problem.cause == missing && is_in_file(problem.place) {
                    // The name of a configuration may follow.
                    let before = format!("cannot find `{}`", refused.written);
                    let rest = problem.message.strip_prefix(&before).unwrap_or_default();
                    problem.message = format!(
                        "`{}` leads out of the workspace, to {}: allow its folder with -I or \
                         `include-dirs`{rest}",
                        refused.written,
                        refused.path.display()
                    );
                }
            }
        }
    }

    /// The choices that fixes in the file at `path` rest on, and that only the build knows: one note each. A
    /// choice of this file itself is none of them: if the build takes another file, it does not use the
    /// fixes.
    pub fn guessed(&self, path: &Path) -> impl Iterator<Item = String> {
        let others = self.choices.iter().filter(|choice| !is_same(&choice.taken, path));
        others.map(|choice| {
            format!(
                "the fix is proved with {}, the nearest of {} files called `{}`; use -I to say where the \
                 build finds it",
                choice.taken.display(),
                choice.count(),
                choice.written
            )
        })
    }

    /// A note for fixes in the file at `path`, if an include took another file but could have meant this one.
    pub fn passed_over(&self, path: &Path) -> Option<String> {
        let has_it = |choice: &&Choice| choice.others.iter().any(|other| is_same(other, path));
        let choice = self.choices.iter().find(has_it)?;
        Some(format!(
            "{} may include this file, one of {} called `{}`: the fix is proved as if it included {} instead; \
             use -I to say where the build finds it",
            choice.from,
            choice.count(),
            choice.written,
            choice.taken.display()
        ))
    }

    /// A problem for each include that took one of several files.
    pub fn choices(&self, sources: &Sources) -> Vec<Problem> {
        let problems = self.choices.iter().map(|choice| Problem {
            message: format!(
                "{} files are called `{}`; shaderlint uses the nearest, {}",
                choice.count(),
                choice.written,
                choice.taken.display()
            ),
            place: include_of(sources, choice),
            cause: Cause::Ambiguous,
        });
        problems.collect()
    }
}

/// The position of the path in the ambiguous `#include`.
fn include_of(sources: &Sources, choice: &Choice) -> Option<FileSpan> {
    let (number, file) = (0..)
        .zip(&sources.files)
        .find(|(_, file)| file.path == choice.from)?;
    let written = choice.written.as_bytes();
    let mut start = 0;
    for line in file.text.split_inclusive(|byte| *byte == b'\n') {
        let is_include = line.trim_ascii_start().starts_with(b"#");
        let column = line.windows(written.len()).position(|window| window == written);
        if let Some(column) = column.filter(|_| is_include) {
            let start = u32::try_from(start + column).ok()?;
            return Some(FileSpan {
                file: FileId(number),
                start,
                end: start + u32::try_from(written.len()).ok()?,
            });
        }
        start += line.len();
    }
    None
}
