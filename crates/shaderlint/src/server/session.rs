//! What is open, what is seen of it, and when it is looked at again.

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
use super::notices::{self, Notice};
use super::settings::Settings;
use super::workspace::{Good, includers, look, options, target};
use crate::config::NO_FOLDER;
use crate::lint;
use crate::looked::Looked;
use crate::options::{Options, Target};
use crate::paths::here;
use crate::stop::Stop;
use crate::variants::Role;
use crate::{panics, scan, uri, wording};

/// How long nothing may be typed before a file is looked at.
const QUIET: Duration = Duration::from_millis(20);

/// A file that is looked at as a whole.
#[derive(Default)]
pub(super) struct Unit {
    /// Counts up with each change of what it consists of.
    wanted: u64,
    /// What was looked at last.
    seen: u64,
    /// Ends the look that is under way.
    running: Option<Stop>,
    due: Option<Instant>,
    /// What that look showed.
    pub looked: Option<Arc<Looked>>,
    role: Role,
    /// What is wrong in the configuration and the baseline that hold for it.
    pub notices: Vec<Notice>,
    /// Something else than an edit of its own is among what changed: its editor will not ask by itself.
    is_news: bool,
}

impl Unit {
    fn is_current(&self) -> bool {
        self.looked.is_some() && self.seen == self.wanted
    }
}

/// Something that was done beside the loop.
pub(super) enum Done {
    Looked {
        unit: PathBuf,
        /// What would have ended the look.
        stop: Stop,
        looked: Box<Result<Looked, String>>,
        notices: Vec<Notice>,
    },
    /// The files that include a header.
    Includers {
        header: PathBuf,
        found: Vec<PathBuf>,
    },
    Answer(Response),
}

pub(super) struct Session {
    pub client: Client,
    pub pool: ThreadPool,
    pub done: Sender<Done>,
    pub folders: Vec<PathBuf>,
    pub settings: Settings,
    /// What held last, by configuration file.
    pub good: Good,
    pub options: Arc<Options>,
    pub documents: BTreeMap<PathBuf, Document>,
    pub units: BTreeMap<PathBuf, Unit>,
    /// The files for which the editor has been told of something.
    pub told: BTreeSet<PathBuf>,
    /// Requests about files that are not up to date.
    pub waiting: Vec<(PathBuf, lsp_server::Request)>,
    /// Requests that are worked on beside the loop.
    pub in_work: HashMap<RequestId, Stop>,
    /// What was asked of the editor about its configuration.
    pub configuration: Option<RequestId>,
    /// What went wrong last, by unit: it is said once.
    complaints: BTreeMap<PathBuf, String>,
    /// The files that the editor was asked to tell of.
    pub watched: BTreeSet<String>,
    /// How many different answers about diagnostics were given.
    pub answers: u64,
}

impl Session {
    pub fn new(client: Client, params: &InitializeParams, pool: ThreadPool, done: Sender<Done>) -> Self {
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
            done,
            folders,
            settings: Settings::default(),
            good: Good::default(),
            options: Arc::new(options(&[], &Settings::default())),
            documents: BTreeMap::new(),
            units: BTreeMap::new(),
            told: BTreeSet::new(),
            waiting: Vec::new(),
            in_work: HashMap::new(),
            configuration: None,
            complaints: BTreeMap::new(),
            watched: BTreeSet::new(),
            answers: 0,
        };
        session.configure(params.initialization_options.clone().unwrap_or_default());
        session
    }

    /// Takes over what the editor is configured to do.
    pub fn configure(&mut self, value: serde_json::Value) {
        match Settings::read(value) {
            Ok(settings) => {
                let folders = settings
                    .include_dirs
                    .iter()
                    .map(|folder| self.root().join(folder));
                let missing: Vec<PathBuf> = folders.filter(|folder| !folder.is_dir()).collect();
                for folder in missing {
                    let message = format!("shaderlint: includeDirs: {}: {NO_FOLDER}", folder.display());
                    self.client.show(message);
                }
                self.settings = settings;
            }
            Err(error) => self.client.show(format!("shaderlint: {error}")),
        }
        self.restart();
    }

    /// Looks at everything anew: what holds for files may have changed, or which there are.
    pub fn restart(&mut self) {
        // What is opened beside the workspace may be read in its own folder.
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
        self.settle_units();
        let units: Vec<PathBuf> = self.units.keys().cloned().collect();
        for unit in units {
            self.want(&unit, Duration::ZERO, true);
        }
    }

    pub fn open(&mut self, path: &Path, document: Document) {
        self.options
            .files
            .give(path, Some(document.text.as_bytes().into()));
        self.documents.insert(path.to_owned(), document);
        if self.folders.iter().any(|folder| path.starts_with(folder)) {
            self.settle_units();
            self.changed(path, Duration::ZERO);
        } else {
            self.restart();
        }
    }

    pub fn close(&mut self, path: &Path) {
        if let Some(document) = self.documents.remove(path) {
            document.search.set();
        }
        self.options.files.give(path, None);
        self.settle_units();
        self.changed(path, Duration::ZERO);
        if self.told.remove(path) {
            self.publish(path, Vec::new());
        }
    }

    /// A document has another text.
    pub fn edited(&mut self, path: &Path) {
        let Some(document) = self.documents.get_mut(path) else {
            return;
        };
        self.options
            .files
            .give(path, Some(document.text.as_bytes().into()));
        // It may have become a unit, or be none any more.
        let is_own = document
            .units
            .as_ref()
            .is_some_and(|units| units.iter().any(|unit| unit == path));
        let was_unit = is_own && self.units.get(path).is_some_and(|unit| unit.role == Role::Unit);
        if scan::names_entry(document.text.as_bytes()) != was_unit {
            document.units = None;
            self.settle_units();
        }
        self.changed(path, QUIET);
    }

    /// Files on disk may have changed.
    pub fn saved(&mut self, path: &Path) {
        self.options.files.forget();
        self.changed(path, Duration::ZERO);
    }

    /// Has all units looked at again that consist of the file `path`.
    fn changed(&mut self, path: &Path, quiet: Duration) {
        let concerned: Vec<PathBuf> = self
            .units
            .iter()
            .filter(|(unit, state)| *unit == path || self.includes(unit, state, path))
            .map(|(unit, _)| unit.clone())
            .collect();
        for unit in concerned {
            self.want(&unit, quiet, unit != path);
        }
    }

    fn includes(&self, unit: &Path, state: &Unit, path: &Path) -> bool {
        let included = state.looked.iter().flat_map(|looked| &looked.included);
        let included = included.map(|file| &file.path);
        // What includes the unit has a say in its fixes, and in what its functions are looked at for.
        let includers = state.looked.iter().flat_map(|looked| &looked.includers);
        let depends = |looked: &Arc<Looked>| {
            let mut findings = looked.report.findings.iter();
            findings.any(|finding| finding.fix.is_some() || state.role != Role::Unit)
        };
        let mut known = included.chain(includers).map(|file| here(Path::new(file)));
        known.any(|file| file == path)
            || state.looked.as_ref().is_some_and(depends)
                && lint::includes_one(
                    &self.target(path).0,
                    &self.options,
                    &|file| here(Path::new(&file.path)) == unit,
                    &|_| false,
                )
            // Where nothing was to be found, nobody looked.
            || state.looked.as_ref().is_none_or(|looked| looked.included.is_empty())
                && lint::includes_one(
                    &self.target(unit).0,
                    &self.options,
                    &|file| here(Path::new(&file.path)) == path,
                    &|_| false,
                )
    }

    fn want(&mut self, unit: &Path, quiet: Duration, is_news: bool) {
        if let Some(state) = self.units.get_mut(unit) {
            state.wanted += 1;
            state.is_news |= is_news;
            // What it would show is of an older text.
            if let Some(stop) = &state.running {
                stop.set();
            }
            state.due = Some(Instant::now() + quiet);
        }
    }

    /// Sees to it that each document has its units, and that there are no others.
    fn settle_units(&mut self) {
        let unsettled: Vec<PathBuf> = self
            .documents
            .iter()
            .filter(|(_, document)| document.units.is_none())
            .map(|(path, _)| path.clone())
            .collect();
        for path in unsettled {
            let is_unit = self
                .documents
                .get(&path)
                .is_some_and(|document| scan::names_entry(document.text.as_bytes()));
            if is_unit {
                self.settle(&path, vec![path.clone()], Role::Unit);
            } else {
                self.find_includers(path);
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
        // What only they showed is not shown any more.
        let looked = dropped.values().filter_map(|unit| unit.looked.as_ref());
        let mut files: BTreeSet<PathBuf> = looked.flat_map(|looked| findings::files(looked)).collect();
        let notices = dropped.values().flat_map(|unit| &unit.notices);
        files.extend(notices.map(|notice| notice.path.clone()));
        for file in files {
            self.tell(&file);
        }
    }

    /// The document is seen in `units`, by itself in the role `own`.
    fn settle(&mut self, path: &Path, units: Vec<PathBuf>, own: Role) {
        for unit in &units {
            let role = if unit == path { own } else { Role::Unit };
            let is_new = !self.units.contains_key(unit);
            let state = self.units.entry(unit.clone()).or_default();
            if is_new || state.role != role {
                state.role = role;
                self.want(unit, Duration::ZERO, unit != path);
            }
        }
        if let Some(document) = self.documents.get_mut(path) {
            document.units = Some(units);
        }
    }

    /// Looks for the files of the workspace that include a header.
    fn find_includers(&mut self, header: PathBuf) {
        let Some(document) = self.documents.get_mut(&header) else {
            return;
        };
        let stop = Stop::default();
        std::mem::replace(&mut document.search, stop.clone()).set();
        let (options, done) = (self.options_until(&stop), self.done.clone());
        let (folders, settings, good) = (self.folders.clone(), self.settings.clone(), self.good.clone());
        self.pool.spawn(move || {
            let found = panics::as_error("", || {
                Ok(includers(&header, &folders, &settings, &good, &options))
            });
            let found = found.unwrap_or_default();
            if !stop.is_set() {
                let _ = done.send(Done::Includers { header, found });
            }
        });
    }

    /// The options for work that `stop` ends.
    pub fn options_until(&self, stop: &Stop) -> Options {
        self.options.with(None, stop)
    }

    fn root(&self) -> &Path {
        self.folders.first().map_or(Path::new("/"), PathBuf::as_path)
    }

    /// What holds for a file; and what is wrong with its configuration, in whose place is what held before.
    pub fn target(&self, path: &Path) -> (Target, Option<anyhow::Error>) {
        target(path, &self.folders, &self.settings, &self.good, self.root())
    }

    /// When the next unit is to be looked at.
    pub fn next_due(&self) -> Option<Instant> {
        let idle = self.units.values().filter(|unit| unit.running.is_none());
        idle.filter_map(|unit| unit.due).min()
    }

    /// Looks at what is due, and answers what has waited for that.
    pub fn proceed(&mut self) {
        let now = Instant::now();
        let due = |unit: &Unit| unit.running.is_none() && unit.due.is_some_and(|due| due <= now);
        let due: Vec<PathBuf> = self
            .units
            .iter()
            .filter(|(_, unit)| due(unit))
            .map(|(path, _)| path.clone())
            .collect();
        for path in due {
            self.start(path);
        }
        let (ready, waiting) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|(path, _)| self.is_current(path));
        self.waiting = waiting;
        let ready: Vec<(PathBuf, lsp_server::Request)> = ready;
        for (path, request) in ready {
            self.answer(&path, request);
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
                self.complain(&path, wording::of_error(&error));
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
        let stop = Stop::default();
        unit.running = Some(stop.clone());
        unit.due = None;
        let role = unit.role;
        let (options, done) = (self.options_until(&stop), self.done.clone());
        let folders = self.folders.clone();
        self.pool.spawn(move || {
            let looked = panics::as_error("internal error, please report", || {
                options.files.allow(target.project.header_folders());
                let mut looked = look(&target, &options, role)?;
                findings::name_from_folders(&mut looked, &folders);
                notices.extend(notices::baseline(&target, &options, &mut looked, encoding));
                notices.extend(notices::problems(&looked, encoding));
                Ok(looked)
            });
            let looked = Box::new(looked.map_err(|error| wording::of_error(&error)));
            let _ = done.send(Done::Looked {
                unit: path,
                stop,
                looked,
                notices,
            });
        });
    }

    /// Shows what keeps a unit from being looked at as it should be, unless that is known.
    fn complain(&mut self, unit: &Path, error: String) {
        if !self.complaints.values().any(|known| *known == error) {
            self.client.show(format!("shaderlint: {error}"));
        }
        self.complaints.insert(unit.to_owned(), error);
    }

    pub fn on_done(&mut self, done: Done) {
        match done {
            Done::Looked {
                unit,
                stop,
                looked,
                notices,
            } => self.on_looked(&unit, &stop, *looked, notices),
            Done::Includers { header, mut found } => {
                if self
                    .documents
                    .get(&header)
                    .is_some_and(|document| document.units.is_none())
                {
                    let own = if found.is_empty() {
                        Role::StrayHeader
                    } else {
                        Role::Included
                    };
                    found.push(header.clone());
                    self.settle(&header, found, own);
                }
            }
            Done::Answer(response) => {
                if self.in_work.remove(&response.id).is_some() {
                    self.client.respond(response);
                }
            }
        }
    }

    fn on_looked(
        &mut self,
        unit: &Path,
        stop: &Stop,
        looked: Result<Looked, String>,
        mut notices: Vec<Notice>,
    ) {
        let Some(state) = self.units.get_mut(unit) else {
            return;
        };
        // A unit may have gone and come again meanwhile.
        let running = state.running.take_if(|running| running.is(stop));
        // Something came in between: it is due again, and this is of an older text.
        if running.is_none() || stop.is_set() {
            return;
        }
        state.seen = state.wanted;
        let is_news = std::mem::take(&mut state.is_news);
        let (looked, error) = match looked {
            Ok(looked) => (Arc::new(looked), None),
            Err(error) => (Arc::default(), Some(error)),
        };
        let before = state.looked.replace(Arc::clone(&looked)).unwrap_or_default();
        std::mem::swap(&mut state.notices, &mut notices);
        let mut files: BTreeSet<PathBuf> = BTreeSet::new();
        // That a header has nothing by itself is no news: it is seen in others.
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
        files.extend(findings::files(&looked));
        self.watch_included(looked.included.iter().map(|file| file.path.as_str()));
        let differs = |file: &PathBuf| {
            let brief = |looked| {
                findings::of_file(looked, file)
                    .map(findings::brief)
                    .collect::<Vec<_>>()
            };
            (is_news || file != unit) && brief(&before) != brief(&looked)
        };
        let is_news = files.iter().any(differs);
        for file in files {
            self.tell(&file);
        }
        if is_news && self.client.pulls && self.client.refreshes {
            self.client.ask::<WorkspaceDiagnosticRefresh>(());
        }
    }

    /// Whether what is known of an open file is of its present text. Of a file that is not open, all is known.
    pub fn is_current(&self, path: &Path) -> bool {
        let Some(document) = self.documents.get(path) else {
            return true;
        };
        let is_current = |unit: &PathBuf| self.units.get(unit).is_some_and(Unit::is_current);
        document
            .units
            .as_ref()
            .is_some_and(|units| units.iter().all(is_current))
    }
}
