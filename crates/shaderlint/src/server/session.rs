//! The state of the server: open documents, and the units that show them.

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
use super::reads::Reads;
use super::settings::Settings;
use super::workspace::{Good, options, target};
use crate::check::file_report::FileReport;
use crate::check::options::{Options, Target};
use crate::check::readings::Role;
use crate::support::cancellation::Cancellation;
use crate::support::uri;
use crate::workspace::config::NO_FOLDER;
use crate::workspace::prefilter;

/// How long nobody may type before a file is checked.
const QUIET: Duration = Duration::from_millis(20);

/// A file that is checked as a whole.
#[derive(Default)]
pub(super) struct Unit {
    /// Counts up with each change of what it consists of.
    wanted: u64,
    /// The last report on it.
    seen: u64,
    /// Ends the look that is under way.
    pub running: Option<Cancellation>,
    pub due: Option<Instant>,
    /// What that look showed.
    pub checked: Option<Arc<FileReport>>,
    /// What was read for it.
    reads: Reads,
    /// The files that changed during its check.
    pub changed_meanwhile: Vec<PathBuf>,
    pub role: Role,
    /// What is wrong in the configuration and the baseline that hold for it.
    pub notices: Vec<Notice>,
    /// Something else than an edit of its own is among what changed: its editor will not ask by itself.
    is_news: bool,
}

impl Unit {
    fn is_current(&self) -> bool {
        self.checked.is_some() && self.seen == self.wanted
    }
}

/// Something that was done beside the loop.
pub(super) enum Done {
    FileReport {
        unit: PathBuf,
        /// What would have ended the look.
        stop: Cancellation,
        checked: Box<Result<(FileReport, Reads), String>>,
        notices: Vec<Notice>,
    },
    /// The files that include a header.
    Includers {
        header: PathBuf,
        /// What would have ended the search.
        stop: Cancellation,
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
    /// The files with diagnostics in the editor.
    pub told: BTreeSet<PathBuf>,
    /// Requests about files that are not up to date.
    pub waiting: Vec<(PathBuf, lsp_server::Request)>,
    /// Requests that are worked on beside the loop.
    pub in_work: HashMap<RequestId, Cancellation>,
    /// What was asked of the editor about its configuration.
    pub configuration: Option<RequestId>,
    /// The last failure of each unit, which is reported once.
    complaints: BTreeMap<PathBuf, String>,
    /// The files that the editor was asked to tell of.
    pub watched: BTreeSet<String>,
    /// How many different answers about diagnostics were given.
    pub answers: u64,
    /// How many units are checked at a time.
    pub looks: usize,
    /// Ends the search for includers that is under way.
    pub searching: Option<Cancellation>,
    /// How often something was asked about a document, or done to one.
    touches: u64,
}

impl Session {
    /// `looks` is how many units are checked at a time. Requests, a search, and the file that somebody works on need a thread of
    /// `pool` beside these.
    pub fn new(
        client: Client,
        params: &InitializeParams,
        pool: ThreadPool,
        looks: usize,
        done: Sender<Done>,
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
            looks,
            searching: None,
            touches: 0,
        };
        session.configure(params.initialization_options.clone().unwrap_or_default());
        session.restart();
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
                if self.settings != settings {
                    self.settings = settings;
                    self.restart();
                }
            }
            Err(error) => self.client.show(format!("shaderlint: {error}")),
        }
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
        if let Some(stop) = &self.searching {
            stop.set();
        }
        self.settle_units();
        let units: Vec<PathBuf> = self.units.keys().cloned().collect();
        for unit in units {
            self.want(&unit, Duration::ZERO, true);
        }
    }

    pub fn open(&mut self, path: &Path, mut document: Document) {
        let text = document.text.as_bytes().into();
        let is_other = self.options.files.give(path, Some(text));
        self.touches += 1;
        document.touched = (false, self.touches);
        self.documents.insert(path.to_owned(), document);
        if self.folders.iter().any(|folder| path.starts_with(folder)) {
            self.settle_units();
            if is_other {
                self.changed(path, Duration::ZERO);
            } else if self.is_current(path) {
                // It was seen before it was opened.
                self.tell(path);
            }
        } else {
            self.restart();
        }
    }

    pub fn close(&mut self, path: &Path) {
        self.documents.remove(path);
        let is_other = self.options.files.give(path, None);
        self.settle_units();
        if is_other {
            self.changed(path, Duration::ZERO);
        }
        if self.told.remove(path) {
            self.publish(path, Vec::new());
        }
    }

    /// A document has another text.
    pub fn edited(&mut self, path: &Path) {
        let Some(document) = self.documents.get_mut(path) else {
            return;
        };
        let text = document.text.as_bytes().into();
        if !self.options.files.give(path, Some(text)) {
            return;
        }
        // It may have become a unit, or be none any more.
        let is_own = document
            .units
            .as_ref()
            .is_some_and(|units| units.iter().any(|unit| unit == path));
        let was_unit = is_own && self.units.get(path).is_some_and(|unit| unit.role == Role::Unit);
        if prefilter::names_entry(document.text.as_bytes()) != was_unit {
            document.units = None;
            self.settle_units();
        }
        self.changed(path, QUIET);
    }

    /// Somebody works on a document: its units come first.
    pub fn touch(&mut self, path: &Path) {
        if let Some(document) = self.documents.get_mut(path) {
            self.touches += 1;
            document.touched = (true, self.touches);
        }
    }

    /// These files changed on disk: those that are open are as they were.
    pub fn changed_on_disk(&mut self, paths: &[PathBuf]) {
        for path in paths {
            self.changed(path, Duration::ZERO);
            self.look_for_includers_again(path);
        }
    }

    /// A document was written. An editor that does not tell of other files may have written these, too.
    pub fn saved(&mut self, path: &Path) {
        if !self.client.watches_files {
            self.options.files.forget();
            self.changed(path, Duration::ZERO);
        }
    }

    /// Another file may include a header that is open, or not do so any more.
    fn look_for_includers_again(&mut self, path: &Path) {
        let reads = Reads::of(&self.target(path).0, &self.options);
        for (header, document) in &mut self.documents {
            let is_seen_there = document.units.iter().flatten().any(|unit| unit == path);
            let is_header = !prefilter::names_entry(document.text.as_bytes());
            document.is_sought |= is_header && (is_seen_there || reads.has(header));
        }
    }

    /// Has all units checked again that have the file `path`.
    fn changed(&mut self, path: &Path, quiet: Duration) {
        let included = OnceCell::new();
        let included = || included.get_or_init(|| Reads::of(&self.target(path).0, &self.options));
        let (concerned, others): (Vec<PathBuf>, Vec<PathBuf>) = { self.units.keys().cloned() }
            .partition(|unit| *unit == path || self.depends(unit, path, &included));
        for unit in concerned {
            self.want(&unit, quiet, unit != path);
        }
        for unit in others {
            // It may read more files than at its last check. A unit that waits will read what there is then.
            let state = self.units.get_mut(&unit).filter(|state| state.running.is_some());
            if let Some(state) = state {
                state.changed_meanwhile.push(path.to_owned());
            }
        }
    }

    /// Whether the report on a unit may depend on the file `path`. `included` is what that includes.
    fn depends<'a>(&self, unit: &Path, path: &Path, included: &dyn Fn() -> &'a Reads) -> bool {
        let state = self.units.get(unit);
        let checked = state.and_then(|state| Some((state, state.checked.as_ref()?)));
        // What includes the unit has a say in its fixes, and in which of its functions are run by themselves.
        checked.is_some_and(|(state, checked)| {
            let mut findings = checked.report.findings.iter();
            let has_say = findings.any(|finding| finding.fix.is_some()) || state.role != Role::Unit;
            state.reads.has(path) || has_say && included().has(unit)
        })
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
                .is_some_and(|document| prefilter::names_entry(document.text.as_bytes()));
            if let Some(document) = self.documents.get_mut(&path) {
                document.is_sought = !is_unit;
            }
            if is_unit {
                self.settle(&path, vec![path.clone()], Role::Unit);
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
        let checked = dropped.values().filter_map(|unit| unit.checked.as_ref());
        let mut files: BTreeSet<PathBuf> = checked.flat_map(|checked| findings::files(checked)).collect();
        let notices = dropped.values().flat_map(|unit| &unit.notices);
        files.extend(notices.map(|notice| notice.path.clone()));
        for file in files {
            self.tell(&file);
        }
    }

    /// The document has these units; as a unit of its own it has the role `own`.
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

    /// The options for work that `stop` ends.
    pub fn options_until(&self, stop: &Cancellation) -> Options {
        self.options.with(None, stop)
    }

    fn root(&self) -> &Path {
        self.folders.first().map_or(Path::new("/"), PathBuf::as_path)
    }

    /// What holds for a file; and what is wrong with its configuration, in whose place is what held before.
    pub fn target(&self, path: &Path) -> (Target, Option<anyhow::Error>) {
        target(path, &self.folders, &self.settings, &self.good, self.root())
    }

    /// Shows what keeps a unit from being checked as it should be, unless the editor shows it already.
    pub fn complain(&mut self, unit: &Path, error: String) {
        if !self.complaints.values().any(|known| *known == error) {
            self.client.show(format!("shaderlint: {error}"));
        }
        self.complaints.insert(unit.to_owned(), error);
    }

    pub fn on_done(&mut self, done: Done) {
        match done {
            Done::FileReport {
                unit,
                stop,
                checked,
                notices,
            } => self.on_looked(&unit, &stop, *checked, notices),
            Done::Includers {
                header,
                stop,
                mut found,
            } => {
                self.searching = None;
                // It may have become a unit meanwhile.
                let document = self.documents.get(&header).filter(|_| !stop.is_set());
                if document.is_some_and(|document| !prefilter::names_entry(document.text.as_bytes())) {
                    let own = if found.is_empty() {
                        Role::StrayHeader
                    } else {
                        Role::Included
                    };
                    found.push(header.clone());
                    let before = self.documents.get_mut(&header);
                    let before = before.and_then(|document| document.units.take());
                    self.settle(&header, found, own);
                    if before.is_some() {
                        self.settle_units();
                    }
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
        stop: &Cancellation,
        checked: Result<(FileReport, Reads), String>,
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
        // That a header has nothing by itself is no news: other units show it.
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
            self.tell(&file);
        }
        let state = self.units.get_mut(unit);
        let has_changed = state.is_some_and(|state| {
            let mut changed = state.changed_meanwhile.iter();
            changed.any(|path| state.reads.has(path))
        });
        if has_changed {
            self.want(unit, Duration::ZERO, true);
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
