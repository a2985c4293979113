//! The diagnostics of files that are not open, for an editor that asks for them.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use lsp_types::{
    Diagnostic, DocumentDiagnosticReport, FullDocumentDiagnosticReport, UnchangedDocumentDiagnosticReport,
    WorkspaceDiagnosticParams, WorkspaceDiagnosticReport, WorkspaceDiagnosticReportResult,
    WorkspaceDocumentDiagnosticReport, WorkspaceFullDocumentDiagnosticReport,
    WorkspaceUnchangedDocumentDiagnosticReport,
};

use super::answers::{Seen, in_file};
use super::document;
use super::findings::{self, View};
use super::lines::Encoding;
use super::schedule::look;
use super::session::Session;
use super::settings::FolderSettings;
use super::uris::Uris;
use super::workspace::{Good, kernels_of, target};
use crate::check::options::{Options, Target};
use crate::check::readings::Role;
use crate::support::cancellation::Cancellation;
use crate::support::paths::here;
use crate::support::{panics, uri};
use crate::workspace::walk::{InputOrigin, walk};

/// What the check of a closed file needs of the session.
struct Workspace {
    folders: Vec<PathBuf>,
    settings: FolderSettings,
    good: Good,
    options: Options,
    encoding: Encoding,
    uris: Uris,
}

impl Session {
    /// The work that finds the diagnostics of a file that is not open.
    pub fn closed(
        &self,
        path: &Path,
        stop: &Cancellation,
    ) -> impl FnOnce() -> Result<DocumentDiagnosticReport> + Send + use<> {
        let (workspace, path) = (self.closed_files(stop), path.to_owned());
        move || Ok(document::full(None, workspace.diagnostics(&path)?))
    }

    /// The work that finds the diagnostics of all kernels that are not open, and of the headers that they include.
    pub fn all_closed(
        &self,
        params: WorkspaceDiagnosticParams,
        stop: &Cancellation,
    ) -> impl FnOnce() -> Result<WorkspaceDiagnosticReportResult> + Send + use<> {
        let workspace = self.closed_files(stop);
        let open: BTreeSet<PathBuf> = self.documents.keys().cloned().collect();
        move || {
            let previous = params.previous_result_ids.into_iter();
            let previous = previous.filter_map(|one| Some((here(&uri::path(one.uri.as_str())?), one.value)));
            let mut all = workspace.all(&open);
            let previous: BTreeMap<PathBuf, String> = previous.collect();
            for gone in previous.keys().filter(|path| !open.contains(*path)) {
                all.entry(gone.clone()).or_default();
            }
            let items = all.into_iter().filter_map(|(path, items)| {
                let uri = workspace.uris.of(&path)?;
                Some(report(uri, items, previous.get(&path)))
            });
            let items = items.collect();
            Ok(WorkspaceDiagnosticReportResult::Report(
                WorkspaceDiagnosticReport { items },
            ))
        }
    }

    fn closed_files(&self, stop: &Cancellation) -> Workspace {
        Workspace {
            folders: self.folders.clone(),
            settings: self.settings.clone(),
            good: self.good.clone(),
            options: self.options_until(stop),
            encoding: self.client.encoding,
            uris: self.uris(),
        }
    }
}

impl Workspace {
    fn target(&self, path: &Path) -> Target {
        let root = self.folders.first().map_or(Path::new("/"), PathBuf::as_path);
        target(path, &self.folders, &self.settings, &self.good, root).0
    }

    fn look(&self, path: &Path, role: Role) -> Result<Seen> {
        let (checked, notices) = look(
            &self.target(path),
            &self.options,
            role,
            &self.folders,
            self.encoding,
        )?;
        Ok(Seen {
            checked: Arc::new(checked),
            notices,
        })
    }

    fn in_file(&self, seen: &[Seen], file: &Path) -> Vec<Diagnostic> {
        let view = View {
            encoding: self.encoding,
            uri_of: &|path| self.uris.of(path),
        };
        in_file(seen, file, view)
    }

    fn diagnostics(&self, path: &Path) -> Result<Vec<Diagnostic>> {
        if !self.options.files.allows(path) {
            return Ok(Vec::new());
        }
        let mut seen = Vec::new();
        if self.options.files.may_have_entry(path) {
            seen.push(self.look(path, Role::Unit)?);
        } else {
            let kernels = kernels_of(path, &self.folders, &self.settings, &self.good, &self.options)?;
            let own = if kernels.is_empty() {
                Role::HeaderAsUnit
            } else {
                Role::Included
            };
            for kernel in kernels {
                seen.push(self.look(&kernel, Role::Unit)?);
            }
            seen.push(self.look(path, own)?);
        }
        Ok(self.in_file(&seen, path))
    }

    /// The diagnostics by file, for files that have some and are not `open`.
    fn all(&self, open: &BTreeSet<PathBuf>) -> BTreeMap<PathBuf, Vec<Diagnostic>> {
        let folders: Vec<_> = { self.folders.iter() }
            .map(|folder| (folder.clone(), InputOrigin::Found))
            .collect();
        let (inputs, _) = walk(&folders, &mut |path| {
            let project = self.target(path).project;
            project.includes(path) && !project.excludes(path)
        });
        let kernels = inputs.iter().map(|input| &input.path);
        let kernels = kernels.filter(|path| !open.contains(*path) && self.options.files.may_have_entry(path));
        let is_wanted = |_: &&PathBuf| !self.options.stop.is_set();
        // One that cannot be checked leaves the others as they are.
        let seen = kernels
            .take_while(is_wanted)
            .filter_map(|path| panics::as_error("", || self.look(path, Role::Unit)).ok());
        let seen: Vec<Seen> = seen.collect();
        let files = seen.iter().flat_map(|one| {
            let of_notices = one.notices.iter().map(|notice| notice.path.clone());
            findings::files(&one.checked).into_iter().chain(of_notices)
        });
        let files: BTreeSet<PathBuf> = files.filter(|file| !open.contains(file)).collect();
        let files = files.into_iter().map(|file| {
            let diagnostics = self.in_file(&seen, &file);
            (file, diagnostics)
        });
        files.collect()
    }
}

fn report(
    uri: lsp_types::Uri,
    items: Vec<Diagnostic>,
    previous: Option<&String>,
) -> WorkspaceDocumentDiagnosticReport {
    let mut hasher = DefaultHasher::new();
    serde_json::to_string(&items)
        .unwrap_or_default()
        .hash(&mut hasher);
    let result_id = format!("{:x}", hasher.finish());
    if previous == Some(&result_id) {
        return WorkspaceDocumentDiagnosticReport::Unchanged(WorkspaceUnchangedDocumentDiagnosticReport {
            uri,
            version: None,
            unchanged_document_diagnostic_report: UnchangedDocumentDiagnosticReport { result_id },
        });
    }
    WorkspaceDocumentDiagnosticReport::Full(WorkspaceFullDocumentDiagnosticReport {
        uri,
        version: None,
        full_document_diagnostic_report: FullDocumentDiagnosticReport {
            result_id: Some(result_id),
            items,
        },
    })
}
