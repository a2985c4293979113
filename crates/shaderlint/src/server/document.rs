//! A file that is open in the editor.

use std::path::PathBuf;

use lsp_types::{
    Diagnostic, DocumentDiagnosticReport, FullDocumentDiagnosticReport, RelatedFullDocumentDiagnosticReport,
    RelatedUnchangedDocumentDiagnosticReport, TextDocumentItem, UnchangedDocumentDiagnosticReport, Uri,
};

pub(super) struct Document {
    pub uri: Uri,
    pub version: i32,
    pub text: String,
    /// The units that it is part of. `None` until they are known.
    pub units: Option<Vec<PathBuf>>,
    /// A search for the files that include it is still to be started.
    pub is_sought: bool,
    /// Whether the user did more than open it; and when that was, or else when it was opened. The time is a
    /// number that grows.
    pub touched: (bool, u64),
    /// The last answer to a request for its diagnostics, with the number of the answer.
    answered: Option<(u64, Vec<Diagnostic>)>,
}

impl Document {
    pub fn new(document: TextDocumentItem) -> Self {
        Document {
            uri: document.uri,
            version: document.version,
            text: document.text,
            units: None,
            is_sought: false,
            touched: (false, 0),
            answered: None,
        }
    }

    /// The answer to a request for these diagnostics. The editor already has those of the answer `previous`.
    /// `answers` counts the answers that differ.
    pub fn report(
        &mut self,
        items: Vec<Diagnostic>,
        previous: Option<&str>,
        answers: &mut u64,
    ) -> DocumentDiagnosticReport {
        let number = match &self.answered {
            Some((number, answered)) if *answered == items => *number,
            _ => {
                *answers += 1;
                *answers
            }
        };
        let result_id = number.to_string();
        if previous == Some(&*result_id) {
            return DocumentDiagnosticReport::Unchanged(RelatedUnchangedDocumentDiagnosticReport {
                related_documents: None,
                unchanged_document_diagnostic_report: UnchangedDocumentDiagnosticReport { result_id },
            });
        }
        self.answered = Some((number, items.clone()));
        full(Some(result_id), items)
    }
}

pub(super) fn full(result_id: Option<String>, items: Vec<Diagnostic>) -> DocumentDiagnosticReport {
    DocumentDiagnosticReport::Full(RelatedFullDocumentDiagnosticReport {
        related_documents: None,
        full_document_diagnostic_report: FullDocumentDiagnosticReport { result_id, items },
    })
}
