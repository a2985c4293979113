//! The diagnostics of a file, which the server publishes or the editor requests.

use std::path::Path;
use std::sync::Arc;

use lsp_types::notification::PublishDiagnostics;
use lsp_types::{DocumentDiagnosticReport, PublishDiagnosticsParams, Uri};
use shaderlint_linter::Diagnostic;

use super::findings::View;
use super::notices::Notice;
use super::session::Session;
use super::uris::Uris;
use super::{document, findings};
use crate::check::file_report::FileReport;

impl Session {
    /// Publishes the diagnostics of a file, except for those that the editor requests.
    pub fn refresh(&mut self, file: &Path) {
        let is_asked_for = self.client.pulls && self.documents.contains_key(file);
        let diagnostics = if is_asked_for {
            Vec::new()
        } else {
            self.diagnostics(file)
        };
        let was_published = self.published.contains(file);
        let is_open = self.documents.contains_key(file) && !self.client.pulls;
        if diagnostics.is_empty() && !was_published && !is_open {
            return;
        }
        if diagnostics.is_empty() && !is_open {
            self.published.remove(file);
        } else {
            self.published.insert(file.to_owned());
        }
        if let Some(uri) = self.uri(file) {
            let document = self.documents.get(file);
            self.publish(uri, document.map(|document| document.version), diagnostics);
        }
    }

    pub fn publish(&self, uri: Uri, version: Option<i32>, diagnostics: Vec<lsp_types::Diagnostic>) {
        self.client
            .notify::<PublishDiagnostics>(PublishDiagnosticsParams {
                uri,
                diagnostics,
                version,
            });
    }

    /// The URI of a file, as the editor spells it.
    pub fn uri(&self, file: &Path) -> Option<Uri> {
        match self.documents.get(file) {
            Some(document) => Some(document.uri.clone()),
            None => Uris::default().of(file),
        }
    }

    /// The URIs of files, for work beside the loop.
    pub fn uris(&self) -> Uris {
        let documents = self.documents.iter();
        Uris::new(documents.map(|(path, document)| (path.clone(), document.uri.clone())))
    }

    /// A finding as the editor shows it.
    pub fn diagnostic(&self, checked: &FileReport, finding: &Diagnostic) -> Option<lsp_types::Diagnostic> {
        let view = View {
            encoding: self.client.encoding,
            uri_of: &|path| self.uri(path),
        };
        findings::diagnostic(checked, finding, view)
    }

    /// The findings in a file, from all units that contain it, without duplicates.
    pub fn findings(&self, file: &Path) -> Vec<(Arc<FileReport>, Diagnostic)> {
        findings_in(self.units.values().filter_map(|unit| unit.checked.as_ref()), file)
    }

    /// The answer to a request for a file's diagnostics. The editor already has those of the answer
    /// `previous`.
    pub fn report(&mut self, file: &Path, previous: Option<&str>) -> DocumentDiagnosticReport {
        let items = self.diagnostics(file);
        match self.documents.get_mut(file) {
            Some(document) => document.report(items, previous, &mut self.answers),
            None => document::full(None, items),
        }
    }

    pub fn diagnostics(&self, file: &Path) -> Vec<lsp_types::Diagnostic> {
        let seen = self.units.values().map(|unit| Seen {
            checked: unit.checked.clone().unwrap_or_default(),
            notices: unit.notices.clone(),
        });
        let view = View {
            encoding: self.client.encoding,
            uri_of: &|path| self.uri(path),
        };
        in_file(&seen.collect::<Vec<_>>(), file, view)
    }
}

/// The result of the check of a unit.
pub(super) struct Seen {
    pub checked: Arc<FileReport>,
    pub notices: Vec<Notice>,
}

/// The diagnostics in a file, from all units that contain it.
pub(super) fn in_file(seen: &[Seen], file: &Path, view: View<'_>) -> Vec<lsp_types::Diagnostic> {
    let found = findings_in(seen.iter().map(|one| &one.checked), file);
    let found = found.iter();
    let found = found.filter_map(|(checked, finding)| findings::diagnostic(checked, finding, view));
    let mut all: Vec<lsp_types::Diagnostic> = found.collect();
    let notices = seen.iter().flat_map(|one| &one.notices);
    for notice in notices.filter(|notice| notice.path == file) {
        if !all.contains(&notice.diagnostic) {
            all.push(notice.diagnostic.clone());
        }
    }
    all
}

/// The findings in a file, without duplicates.
fn findings_in<'a>(
    checked: impl Iterator<Item = &'a Arc<FileReport>>,
    file: &Path,
) -> Vec<(Arc<FileReport>, Diagnostic)> {
    let mut found: Vec<(Arc<FileReport>, Diagnostic)> = Vec::new();
    for checked in checked {
        for finding in findings::of_file(checked, file) {
            let known = found.iter_mut().find(|(_, known)| {
                known.rule == finding.rule && findings::brief(known).1 == findings::brief(finding).1
            });
            match known {
                // The unit of the header itself has the fix.
                Some(known) if known.1.fix.is_none() && finding.fix.is_some() => {
                    *known = (Arc::clone(checked), finding.clone());
                }
                Some(_) => {}
                None => found.push((Arc::clone(checked), finding.clone())),
            }
        }
    }
    found
}
