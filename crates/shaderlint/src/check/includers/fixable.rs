//! Fixable findings in a header: its includers find and prove them.
//!
//! This repeats the stage [`union`](crate::check::union) for each includer, on its cached readings. The includer's own
//! check made another union: without the fixes in any file but its own. Only headers that fixes may change come here.

use shaderlint_hlsl::{FileId, SourceFile, Text};
use shaderlint_linter::Diagnostic;

use super::{Includer, Inclusion};
use crate::check::file_report::FileReport;
use crate::check::notes::{note_includer, note_kernels};
use crate::check::union::union_for_header;

/// Adds the findings with a fix in a header, each from the first of these includers that has it.
pub(super) fn add(checked: &mut FileReport, text: &Text, includers: &[Includer]) {
    if checked.sources.files.is_empty() {
        checked.sources.files.push(SourceFile {
            path: checked.path.clone(),
            text: text.clone(),
        });
    }
    for Includer { name, inclusion } in includers {
        let Inclusion::Readings(seen) = inclusion else {
            continue;
        };
        let union = union_for_header(checked.sources.clone(), seen.readings.clone());
        let known = &mut checked.report.findings;
        let before = known.len();
        for mut finding in union.report.findings {
            let place = finding.primary.place;
            let is_known = |known: &Diagnostic| (known.rule, known.primary.place) == (finding.rule, place);
            if finding.fix.is_some() && place.file == FileId(0) && !known.iter().any(is_known) {
                note_kernels(&mut finding);
                note_includer(&mut finding, name);
                known.push(finding);
            }
        }
        if known.len() > before {
            checked.sources = union.sources;
        }
    }
}
