//! The schedule of checks.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;

use super::document::Document;
use super::findings;
use super::lines::Encoding;
use super::notices::{self, Notice};
use super::reads::Reads;
use super::session::{Finished, Session, UnitState};
use super::workspace::{check, kernels_of};
use crate::check::file_report::FileReport;
use crate::check::options::{Options, Target};
use crate::check::readings::Role;
use crate::support::cancellation::Cancellation;
use crate::support::paths::here;
use crate::support::{error_text, panics};

/// Checks a unit.
pub(super) fn look(
    target: &Target,
    options: &Options,
    role: Role,
    folders: &[PathBuf],
    encoding: Encoding,
) -> Result<(FileReport, Vec<Notice>)> {
    options.files.allow(target.project.header_folders());
    let mut checked = check(target, options, role)?;
    findings::name_from_folders(&mut checked, folders);
    let mut notices = notices::baseline(target, options, &mut checked, encoding);
    notices.extend(notices::problems(&checked, encoding));
    Ok((checked, notices))
}

impl Session {
    /// When something is to be done, if only time delays it.
    pub fn next_due(&self) -> Option<Instant> {
        let progress = self.progress.due(&self.client);
        self.next_check().into_iter().chain(progress).min()
    }

    /// When the next unit is due, if only time delays it.
    fn next_check(&self) -> Option<Instant> {
        let idle = self.units.values().filter(|unit| unit.running.is_none());
        let due = idle.filter_map(|unit| unit.due);
        let is_free = self.running() < self.max_checks;
        // Without a free place, units that are due already wait for others to end.
        due.filter(|due| is_free || *due > Instant::now()).min()
    }

    /// The number of units that are being checked.
    fn running(&self) -> usize {
        let running = self.units.values().filter(|unit| unit.running.is_some());
        running.count()
    }

    /// The urgency of a unit: that of the document that was touched last among those checked in it.
    fn urgency(&self, unit: &Path) -> (bool, u64) {
        let sees = |(path, document): &(&PathBuf, &Document)| {
            let mut units = document.units.iter().flatten();
            *path == unit || units.any(|other| other == unit)
        };
        let documents = self.documents.iter().filter(sees);
        documents
            .map(|(_, document)| document.touched)
            .max()
            .unwrap_or_default()
    }

    /// The document that the user worked on last, if the user did more than open it.
    fn worked_on(&self) -> Option<&PathBuf> {
        let touched = self.documents.iter().filter(|(_, document)| document.touched.0);
        let last = touched.max_by_key(|(_, document)| document.touched)?;
        Some(last.0)
    }

    /// The units to check now. Further ones start only as others end, the most urgent first, so a waiting
    /// unit starts with what is known by then. The document that the user works on waits for no other.
    fn next(&self) -> Vec<PathBuf> {
        let now = Instant::now();
        let is_due = |unit: &UnitState| unit.running.is_none() && unit.due.is_some_and(|due| due <= now);
        let due = self.units.iter().filter(|(_, unit)| is_due(unit));
        let mut due: Vec<&PathBuf> = due.map(|(path, _)| path).collect();
        let running = self.running();
        let free = self.max_checks.saturating_sub(running);
        let worked_on = self.worked_on();
        if free == 0 {
            due.retain(|unit| running == self.max_checks && worked_on == Some(*unit));
        } else if due.len() > free {
            due.sort_by_cached_key(|unit| Reverse((self.urgency(unit), worked_on == Some(*unit))));
            due.truncate(free);
        }
        due.into_iter().cloned().collect()
    }

    /// Starts the checks that are due, and answers the requests that waited for finished ones.
    pub fn proceed(&mut self) {
        for path in self.next() {
            self.start(path);
        }
        self.search();
        let (ready, waiting) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|(path, _)| self.is_current(path));
        self.waiting = waiting;
        let ready: Vec<(PathBuf, lsp_server::Request)> = ready;
        for (path, request) in ready {
            self.answer(&path, request);
        }
        self.answer_on_change();
        let work = self.work();
        self.progress.update(&self.client, work);
    }

    /// The present work, for people.
    fn work(&self) -> Option<String> {
        let now = Instant::now();
        let is_open = |unit: &UnitState| unit.running.is_some() || unit.due.is_some_and(|due| due <= now);
        let mut units = self
            .units
            .iter()
            .filter(|(_, unit)| is_open(unit))
            .map(|(path, _)| path);
        match (units.next(), units.count()) {
            (Some(path), 0) => Some(format!("checking {}", path.file_name()?.display())),
            (Some(_), more) => Some(format!("checking {} files", more + 1)),
            (None, _) if self.searching.is_some() => Some("looking for includers".to_owned()),
            (None, _) if !self.in_work.is_empty() => Some("checking files".to_owned()),
            (None, _) => None,
        }
    }

    fn start(&mut self, path: PathBuf) {
        let (target, error) = self.target(&path);
        self.watch_project(&target.project);
        let mut notices: Vec<Notice> = Vec::new();
        let encoding = self.client.encoding;
        match error {
            None => {
                let files = target.project.files.iter().map(|file| here(file));
                self.good
                    .extend(files.map(|file| (file, Arc::clone(&target.project))));
            }
            Some(error) => {
                notices.extend(notices::of_error(&error, encoding));
                self.complain(&path, error_text::of_error(&error));
            }
        }
        notices.extend(notices::doubts(
            &target.project.doubts,
            notices::CONFIGURATION,
            encoding,
        ));
        let Some(unit) = self.units.get_mut(&path) else {
            return;
        };
        let stop = Cancellation::default();
        unit.running = Some(stop.clone());
        unit.due = None;
        unit.changed_meanwhile.clear();
        let role = unit.role;
        let (options, finished) = (self.options_until(&stop), self.finished.clone());
        let folders = self.folders.clone();
        self.pool.spawn(move || {
            let checked = panics::as_error("internal error, please report", || {
                let (checked, seen) = look(&target, &options, role, &folders, encoding)?;
                notices.extend(seen);
                let reads = Reads::of_check(&checked, &target, &options);
                Ok((checked, reads))
            });
            let checked = Box::new(checked.map_err(|error| error_text::of_error(&error)));
            let _ = finished.send(Finished::Check {
                unit: path,
                stop,
                checked,
                notices,
            });
        });
    }

    /// Searches the workspace for the files that include a header. Searches for one header at a time, since
    /// this keeps the disk busy.
    fn search(&mut self) {
        if self.searching.is_some() {
            return;
        }
        let sought = self
            .documents
            .iter_mut()
            .filter(|(_, document)| document.is_sought);
        let Some((header, document)) = sought.max_by_key(|(_, document)| document.touched) else {
            return;
        };
        document.is_sought = false;
        let header = header.clone();
        let stop = Cancellation::default();
        self.searching = Some(stop.clone());
        let (options, finished) = (self.options_until(&stop), self.finished.clone());
        let (folders, settings, good) = (self.folders.clone(), self.settings.clone(), self.good.clone());
        self.pool.spawn(move || {
            let found = panics::as_error("", || kernels_of(&header, &folders, &settings, &good, &options));
            let found = found.unwrap_or_default();
            let _ = finished.send(Finished::Includers { header, stop, found });
        });
    }
}
