//! The open documents, their units, and when units are checked again.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use lsp_server::{RequestId, Response};
use lsp_types::InitializeParams;
use lsp_types::request::WorkspaceDiagnosticRefresh;
use rayon::ThreadPool;

use super::client::Client;
use super::document::Document;
use super::findings;
use super::notices::Notice;
use super::progress::Progress;
use super::reads::Reads;
use super::settings::{FolderSettings, Settings};
use super::workspace::{Good, folder_of, options, target};
use crate::check::file_report::FileReport;
use crate::check::options::{Options, Target};
use crate::check::readings::Role;
use crate::support::cancellation::Cancellation;
use crate::support::uri;
use crate::workspace::config::NO_FOLDER;
use crate::workspace::prefilter;

/// The pause in typing after which a file is checked.
const QUIET: Duration = Duration::from_millis(20);

/// A file that is checked as a whole.
#[derive(Default)]
pub(super) struct UnitState {
    /// Grows with each change of the files that it consists of.
    version: u64,
    /// The value of `version` that the last check covers.
    checked_version: u64,
    /// Cancels the running check.
    pub running: Option<Cancellation>,
    pub due: Option<Instant>,
    /// The result of the last check.
    pub checked: Option<Arc<FileReport>>,
    /// The files that this result depends on.
    reads: Reads,
    /// The files that changed during the running check.
    pub changed_meanwhile: Vec<PathBuf>,
    pub role: Role,
    /// The notices of its last check.
    pub notices: Vec<Notice>,
    /// The changes include something other than edits of this file, so the editor will not request
    /// diagnostics by itself.
    is_news: bool,
}

impl UnitState {
    fn is_current(&self) -> bool {
        self.checked.is_some() && self.checked_version == self.version
    }
}

/// The result of work beside the loop.
pub(super) enum Finished {
    Check {
        unit: PathBuf,
        /// The cancellation of the check.
        stop: Cancellation,
        checked: Box<Result<(FileReport, Reads), String>>,
        notices: Vec<Notice>,
    },
    /// The files that include a header.
    Includers {
        header: PathBuf,
        /// The cancellation of the search.
        stop: Cancellation,
        found: Vec<PathBuf>,
    },
    Answer(Response),
}

pub(super) struct Session {
    pub client: Client,
    pub pool: ThreadPool,
    pub finished: Sender<Finished>,
    pub folders: Vec<PathBuf>,
    pub settings: FolderSettings,
    /// The last valid project of each configuration file.
    pub good: Good,
    pub options: Arc<Options>,
    pub documents: BTreeMap<PathBuf, Document>,
    pub units: BTreeMap<PathBuf, UnitState>,
    /// The files whose diagnostics were published.
    pub published: BTreeSet<PathBuf>,
    /// Requests about files that are not up to date.
    pub waiting: Vec<(PathBuf, lsp_server::Request)>,
    /// Requests that the pool works on.
    pub in_work: HashMap<RequestId, Cancellation>,
    /// The last request for the editor's configuration, and the workspace folders that it asks for.
    pub configuration: Option<(RequestId, Vec<PathBuf>)>,
    /// The last error of each unit. Each error is shown once.
    complaints: BTreeMap<PathBuf, String>,
    /// The patterns of the files that the editor watches for the server.
    pub watched: BTreeSet<String>,
    /// The number of different answers about diagnostics.
    pub answers: u64,
    /// The number of units to check at a time.
    pub max_checks: usize,
    /// Cancels the running search for includers.
    pub searching: Option<Cancellation>,
    /// The number of requests about documents, and of actions on them.
    touches: u64,
    /// The number of changes of files and settings.
    pub changes: u64,
    /// The last request for the diagnostics of the workspace, until it is answered.
    pub held: Option<lsp_server::Request>,
    /// The value of `changes` at the last answer to such a request.
    pub answered_changes: u64,
    pub progress: Progress,
}

impl Session {
    /// `max_checks` is the number of units to check at a time. `pool` should have further threads for requests,
    /// for a search, and for the file that the user works on.
    pub fn new(
        client: Client,
        params: &InitializeParams,
        pool: ThreadPool,
        max_checks: usize,
        finished: Sender<Finished>,
    ) -> Self {
        let named = params.workspace_folders.iter().flatten();
        let mut folders: Vec<PathBuf> = named
            .filter_map(|folder| uri::path(folder.uri.as_str()))
            .collect();
        #[expect(deprecated, reason = "older editors say it so")]
        if folders.is_empty() {
            folders.extend(params.root_uri.as_ref().and_then(|root| uri::path(root.as_str())));
        }
        let mut session = Session {
            client,
            pool,
            finished,
            folders,
            settings: FolderSettings::default(),
            good: Good::default(),
            options: Arc::new(options(&[], &FolderSettings::default())),
            documents: BTreeMap::new(),
            units: BTreeMap::new(),
            published: BTreeSet::new(),
            waiting: Vec::new(),
            in_work: HashMap::new(),
            configuration: None,
            complaints: BTreeMap::new(),
            watched: BTreeSet::new(),
            answers: 0,
            max_checks,
            searching: None,
            touches: 0,
            changes: 0,
            held: None,
            answered_changes: 0,
            progress: Progress::default(),
        };
        let settings = params.initialization_options.clone().unwrap_or_default();
        session.configure(settings, Vec::new());
        session.restart();
        session
    }

    /// Applies settings of the editor: those for all folders, and those of each. `null` leaves the settings for all
    /// folders as they are.
    pub fn configure(&mut self, common: serde_json::Value, by_folder: Vec<(PathBuf, serde_json::Value)>) {
        let read = || {
            let common = match common {
                serde_json::Value::Null => self.settings.common.clone(),
                value => Settings::read(value)?,
            };
            let given = by_folder.into_iter().filter(|(_, value)| !value.is_null());
            let read = given.map(|(folder, value)| Ok((folder, Settings::read(value)?)));
            let mut by_folder: BTreeMap<_, _> = read.collect::<Result<_, String>>()?;
            by_folder.retain(|_, settings| *settings != common);
            Ok::<_, String>(FolderSettings { common, by_folder })
        };
        match read() {
            Ok(settings) if settings != self.settings => {
                for folder in settings.missing_folders(&self.folders) {
                    let message = format!("shaderlint: includeDirs: {}: {NO_FOLDER}", folder.display());
                    self.client.show(message);
                }
                self.settings = settings;
                self.restart();
            }
            Ok(_) => {}
            Err(error) => self.client.show(format!("shaderlint: {error}")),
        }
    }

    /// Checks everything again: configurations may have changed, or the set of files.
    pub fn restart(&mut self) {
        self.changes += 1;
        // The folder of a document outside of the workspace may be read.
        let beside = self
            .documents
            .keys()
            .filter(|path| !self.folders.iter().any(|folder| path.starts_with(folder)));
        let beside = beside.filter_map(|path| path.parent().map(Path::to_owned));
        let folders: Vec<PathBuf> = self.folders.iter().cloned().chain(beside).collect();
        self.options = Arc::new(options(&folders, &self.settings));
        for (path, document) in &self.documents {
            self.options
                .files
                .give(path, Some(document.text.as_bytes().into()));
        }
        for document in self.documents.values_mut() {
            document.units = None;
        }
        if let Some(stop) = &self.searching {
            stop.set();
        }
        self.update_units();
        let units: Vec<PathBuf> = self.units.keys().cloned().collect();
        for unit in units {
            self.schedule(&unit, Duration::ZERO, true);
        }
    }

    pub fn open(&mut self, path: &Path, mut document: Document) {
        let text = document.text.as_bytes().into();
        let is_other = self.options.files.give(path, Some(text));
        self.touches += 1;
        document.touched = (false, self.touches);
        self.documents.insert(path.to_owned(), document);
        if self.folders.iter().any(|folder| path.starts_with(folder)) {
            self.update_units();
            if is_other {
                self.changed(path, Duration::ZERO);
            } else if self.is_current(path) {
                // It was checked before it was opened.
                self.refresh(path);
            }
        } else {
            self.restart();
        }
    }

    pub fn close(&mut self, path: &Path) {
        let closed = self.documents.remove(path);
        if let Some(closed) = closed.filter(|_| self.published.remove(path)) {
            self.publish(closed.uri, None, Vec::new());
        }
        let is_other = self.options.files.give(path, None);
        self.update_units();
        if is_other {
            self.changed(path, Duration::ZERO);
        } else {
            // Units of other documents may contain it.
            self.refresh(path);
        }
    }

    /// Handles a document that has another text.
    pub fn edited(&mut self, path: &Path) {
        let Some(document) = self.documents.get_mut(path) else {
            return;
        };
        let text = document.text.as_bytes().into();
        if !self.options.files.give(path, Some(text)) {
            return;
        }
        // The document may have become a unit, or be none any more.
        let is_own = document
            .units
            .as_ref()
            .is_some_and(|units| units.iter().any(|unit| unit == path));
        let was_unit = is_own && self.units.get(path).is_some_and(|unit| unit.role == Role::Unit);
        if prefilter::names_entry(document.text.as_bytes()) != was_unit {
            document.units = None;
            self.update_units();
        }
        self.changed(path, QUIET);
    }

    /// Records that the user works on a document: its units come first.
    pub fn touch(&mut self, path: &Path) {
        if let Some(document) = self.documents.get_mut(path) {
            self.touches += 1;
            document.touched = (true, self.touches);
        }
    }

    /// Handles files that changed on disk. None of them is open.
    pub fn changed_on_disk(&mut self, paths: &[PathBuf]) {
        for path in paths {
            self.changed(path, Duration::ZERO);
            self.search_includers_again(path);
        }
    }

    /// Handles a document that was saved. If the editor does not watch files, others may have been saved,
    /// too.
    pub fn saved(&mut self, path: &Path) {
        if !self.client.watches_files {
            self.options.files.forget();
            self.changed(path, Duration::ZERO);
        }
    }

    /// Searches again for the includers of open headers: the file `path` may include them now, or not any
    /// more.
    fn search_includers_again(&mut self, path: &Path) {
        let reads = Reads::of(&self.target(path).0, &self.options);
        for (header, document) in &mut self.documents {
            let is_seen_there = document.units.iter().flatten().any(|unit| unit == path);
            let is_header = !prefilter::names_entry(document.text.as_bytes());
            document.is_sought |= is_header && (is_seen_there || reads.has(header));
        }
    }

    /// Schedules a check of all units that depend on the file `path`.
    fn changed(&mut self, path: &Path, quiet: Duration) {
        self.changes += 1;
        let included = OnceCell::new();
        let included = || included.get_or_init(|| Reads::of(&self.target(path).0, &self.options));
        let (concerned, others): (Vec<PathBuf>, Vec<PathBuf>) = { self.units.keys().cloned() }
            .partition(|unit| *unit == path || self.depends(unit, path, &included));
        for unit in concerned {
            self.schedule(&unit, quiet, unit != path);
        }
        for unit in others {
            // A running check may read files that the last one did not. A waiting unit will read the files as
            // they are then.
            let state = self.units.get_mut(&unit).filter(|state| state.running.is_some());
            if let Some(state) = state {
                state.changed_meanwhile.push(path.to_owned());
            }
        }
    }

    /// Whether the result of a unit may depend on the file `path`. `included` has the files that this file
    /// includes.
    fn depends<'a>(&self, unit: &Path, path: &Path, included: &dyn Fn() -> &'a Reads) -> bool {
        let state = self.units.get(unit);
        let checked = state.and_then(|state| Some((state, state.checked.as_ref()?)));
        // The files that include the unit affect its fixes, and what its functions are checked for.
        checked.is_some_and(|(state, checked)| {
            let mut findings = checked.report.findings.iter();
            let has_say = findings.any(|finding| finding.fix.is_some()) || state.role != Role::Unit;
            state.reads.has(path) || has_say && included().has(unit)
        })
    }

    fn schedule(&mut self, unit: &Path, quiet: Duration, is_news: bool) {
        if let Some(state) = self.units.get_mut(unit) {
            state.version += 1;
            state.is_news |= is_news;
            // The running check would report on an older text.
            if let Some(stop) = &state.running {
                stop.set();
            }
            state.due = Some(Instant::now() + quiet);
        }
    }

    /// Ensures that each document has its units, or a search for them, and that there are no other units.
    fn update_units(&mut self) {
        let unassigned: Vec<PathBuf> = self
            .documents
            .iter()
            .filter(|(_, document)| document.units.is_none())
            .map(|(path, _)| path.clone())
            .collect();
        for path in unassigned {
            let is_unit = self
                .documents
                .get(&path)
                .is_some_and(|document| prefilter::names_entry(document.text.as_bytes()));
            if let Some(document) = self.documents.get_mut(&path) {
                document.is_sought = !is_unit;
            }
            if is_unit {
                self.assign_units(&path, vec![path.clone()], Role::Unit);
            }
        }
        let needed: HashSet<&PathBuf> = self
            .documents
            .values()
            .flat_map(|document| document.units.iter().flatten())
            .collect();
        let needed: HashSet<PathBuf> = needed.into_iter().cloned().collect();
        let units = std::mem::take(&mut self.units).into_iter();
        let (kept, dropped): (BTreeMap<_, _>, BTreeMap<_, _>) =
            units.partition(|(unit, _)| needed.contains(unit));
        self.units = kept;
        for stop in dropped.values().filter_map(|unit| unit.running.as_ref()) {
            stop.set();
        }
        // Withdraw the diagnostics that only the dropped units had.
        let checked = dropped.values().filter_map(|unit| unit.checked.as_ref());
        let mut files: BTreeSet<PathBuf> = checked.flat_map(|checked| findings::files(checked)).collect();
        let notices = dropped.values().flat_map(|unit| &unit.notices);
        files.extend(notices.map(|notice| notice.path.clone()));
        for file in files {
            self.refresh(&file);
        }
    }

    /// Makes `units` the units of the document, which has the role `own` in its own unit.
    fn assign_units(&mut self, path: &Path, units: Vec<PathBuf>, own: Role) {
        for unit in &units {
            let role = if unit == path { own } else { Role::Unit };
            let is_new = !self.units.contains_key(unit);
            let state = self.units.entry(unit.clone()).or_default();
            if is_new || state.role != role {
                state.role = role;
                self.schedule(unit, Duration::ZERO, unit != path);
            }
        }
        if let Some(document) = self.documents.get_mut(path) {
            document.units = Some(units);
        }
    }

    /// The options for work that `stop` cancels.
    pub fn options_until(&self, stop: &Cancellation) -> Options {
        self.options.with(None, stop)
    }

    /// The innermost workspace folder that has the file.
    pub fn folder_of(&self, path: &Path) -> Option<&Path> {
        folder_of(path, &self.folders)
    }

    pub fn root(&self) -> &Path {
        self.folders.first().map_or(Path::new("/"), PathBuf::as_path)
    }

    /// The target for a file, and the error in its configuration. If there is an error, the last valid
    /// configuration holds.
    pub fn target(&self, path: &Path) -> (Target, Option<anyhow::Error>) {
        target(path, &self.folders, &self.settings, &self.good, self.root())
    }

    /// Shows an error that keeps a unit from being checked properly, unless the error is already known.
    pub fn complain(&mut self, unit: &Path, error: String) {
        if !self.complaints.values().any(|known| *known == error) {
            self.client.show(format!("shaderlint: {error}"));
        }
        self.complaints.insert(unit.to_owned(), error);
    }

    pub fn on_finished(&mut self, work: Finished) {
        match work {
            Finished::Check {
                unit,
                stop,
                checked,
                notices,
            } => self.on_checked(&unit, &stop, *checked, notices),
            Finished::Includers {
                header,
                stop,
                mut found,
            } => {
                self.searching = None;
                // The header may have become a unit meanwhile.
                let document = self.documents.get(&header).filter(|_| !stop.is_set());
                if document.is_some_and(|document| !prefilter::names_entry(document.text.as_bytes())) {
                    let own = if found.is_empty() {
                        Role::HeaderAsUnit
                    } else {
                        Role::Included
                    };
                    found.push(header.clone());
                    let before = self.documents.get_mut(&header);
                    let before = before.and_then(|document| document.units.take());
                    self.assign_units(&header, found, own);
                    if before.is_some() {
                        self.update_units();
                    }
                }
            }
            Finished::Answer(response) => {
                if self.in_work.remove(&response.id).is_some() {
                    self.client.respond(response);
                }
            }
        }
    }

    fn on_checked(
        &mut self,
        unit: &Path,
        stop: &Cancellation,
        checked: Result<(FileReport, Reads), String>,
        mut notices: Vec<Notice>,
    ) {
        let Some(state) = self.units.get_mut(unit) else {
            return;
        };
        // The unit may have been dropped and created again meanwhile.
        let running = state.running.take_if(|running| running.is(stop));
        // Something changed meanwhile: the unit is due again, and this result is about an older text.
        if running.is_none() || stop.is_set() {
            return;
        }
        state.checked_version = state.version;
        let is_news = std::mem::take(&mut state.is_news);
        let (checked, error) = match checked {
            Ok((checked, reads)) => {
                state.reads = reads;
                (Arc::new(checked), None)
            }
            Err(error) => (Arc::default(), Some(error)),
        };
        let before = state.checked.replace(Arc::clone(&checked)).unwrap_or_default();
        std::mem::swap(&mut state.notices, &mut notices);
        let mut files: BTreeSet<PathBuf> = BTreeSet::new();
        // An included header without findings of its own is no news: other units show its findings.
        if state.role != Role::Included {
            files.insert(unit.to_owned());
        }
        if state.notices != notices {
            let notices = state.notices.iter().chain(&notices);
            files.extend(notices.map(|notice| notice.path.clone()));
        }
        let is_misread = state.notices.iter().any(Notice::is_error);
        match error {
            Some(error) => self.complain(unit, error),
            None if !is_misread => {
                self.complaints.remove(unit);
            }
            None => {}
        }
        files.extend(findings::files(&before));
        files.extend(findings::files(&checked));
        self.watch_included(checked.included.iter().map(|file| file.path.as_str()));
        let differs = |file: &PathBuf| {
            let brief = |checked| {
                findings::of_file(checked, file)
                    .map(findings::brief)
                    .collect::<Vec<_>>()
            };
            (is_news || file != unit) && brief(&before) != brief(&checked)
        };
        let is_news = files.iter().any(differs);
        for file in files {
            self.refresh(&file);
        }
        let state = self.units.get_mut(unit);
        let has_changed = state.is_some_and(|state| {
            let mut changed = state.changed_meanwhile.iter();
            changed.any(|path| state.reads.has(path))
        });
        if has_changed {
            self.schedule(unit, Duration::ZERO, true);
        }
        if is_news && self.client.pulls && self.client.refreshes {
            self.client.ask::<WorkspaceDiagnosticRefresh>(());
        }
    }

    /// Whether the results for an open file are about its present text. Always `true` for a file that is not
    /// open.
    pub fn is_current(&self, path: &Path) -> bool {
        let Some(document) = self.documents.get(path) else {
            return true;
        };
        let is_current = |unit: &PathBuf| self.units.get(unit).is_some_and(UnitState::is_current);
        document
            .units
            .as_ref()
            .is_some_and(|units| units.iter().all(is_current))
    }
}
