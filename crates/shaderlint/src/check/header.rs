//! The report on a header whose code was checked in the files that include it.

use std::path::PathBuf;

use shaderlint_hlsl::FileSpan;

use crate::check::comments::Comments;
use crate::check::file_report::FileReport;
use crate::check::includers::Includers;
use crate::check::options::{Options, Target};

/// Checks the comments of a header. `used` are the places where its comments name rules that have a finding in one of
/// the files that include it; `None` if not all of them could be checked completely. `own_report` is the header's own
/// report, if it was checked by itself.
pub(crate) fn check_header(
    target: &Target,
    options: &Options,
    used: Option<&[FileSpan]>,
    own_report: Option<FileReport>,
) -> FileReport {
    let mut checked = FileReport::new(target, options);
    let FileReport {
        report: of_itself,
        sources,
        includers,
        ..
    } = own_report.unwrap_or_default();
    checked.includers = includers;
    // The header was read when an including file was checked.
    let Some(text) = options.files.read(&target.input.path).map(|file| file.text) else {
        return checked;
    };
    let comments = Comments::of(&text);
    if let Some(used) = used {
        let used = [used, &of_itself.used].concat();
        checked.report.findings = comments.unused(&checked.path, &used, &target.project, options);
        // A run may not contain all files that include it.
        let path = PathBuf::from(&checked.path);
        Includers::of(&path, &text, options).judge(&mut checked);
    }
    for finding in &mut checked.report.findings {
        // To remove the comment, every including file would have to be checked again.
        finding.fix = None;
    }
    let findings = &mut checked.report.findings;
    findings.extend(of_itself.findings);
    findings.sort_by_key(|finding| finding.primary.place.start);
    checked.report.allowed = of_itself.allowed;
    checked.report.problems = comments.misunderstood;
    checked.sources = sources;
    checked.keep_needed_sources(&text);
    checked
}
