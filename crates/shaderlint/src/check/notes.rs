//! Notes on the kernels that a finding is about.

use shaderlint_linter::{Category, Diagnostic};

/// Adds a note that lists the kernels of a finding.
pub(crate) fn note_kernels(finding: &mut Diagnostic) {
    let is_of_first = finding.category == Category::Correctness || finding.is_of_first;
    if let (true, [first, _, ..]) = (is_of_first, finding.kernels.as_slice()) {
        let kernels = finding.kernels.join(", ");
        let note = format!("found in the kernels {kernels}; the details are those of {first}");
        finding.notes.push(note);
    }
}

/// Adds a note that names the file whose kernels have a finding: another file may compile the same lines to something
/// else.
pub(crate) fn note_includer(finding: &mut Diagnostic, name: &str) {
    let kernels = finding.kernels.join(", ");
    let note = format!("found in {kernels} of {name}, which includes this file");
    finding.notes.push(note);
}
