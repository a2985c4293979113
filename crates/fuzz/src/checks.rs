//! Checks of places.

use shaderlint_hlsl::{FileSpan, Problem, Sources};
use shaderlint_linter::{Diagnostic, Report};

/// Checks that the place is in its file, and splits no character of a UTF-8 text.
#[track_caller]
pub fn place(sources: &Sources, place: FileSpan, of: &str) {
    let file = sources.get(place.file);
    let text = file.map(|file| &file.text[..]);
    let Some(text) = text else {
        panic!("{of}: {place:?} is in no file");
    };
    let (start, end) = (place.start as usize, place.end as usize);
    assert!(
        start <= end && end <= text.len(),
        "{of}: {place:?} of {}",
        text.len()
    );
    if let Ok(text) = std::str::from_utf8(text) {
        let cuts_none = text.is_char_boundary(start) && text.is_char_boundary(end);
        assert!(cuts_none, "{of}: {place:?} cuts a character");
    }
}

#[track_caller]
pub fn problems(sources: &Sources, problems: &[Problem]) {
    for problem in problems {
        assert!(!problem.message.is_empty(), "{problem:?}");
        if let Some(of) = problem.place {
            place(sources, of, &problem.message);
        }
    }
}

#[track_caller]
pub fn report(sources: &Sources, report: &Report) {
    problems(sources, &report.problems);
    problems(sources, &report.stops);
    for one in &report.used {
        place(sources, *one, "an allow");
    }
    for allowed in &report.allowed {
        finding(sources, &allowed.finding);
        place(sources, allowed.by, "an allow");
    }
    for one in &report.findings {
        finding(sources, one);
    }
    let places: Vec<_> = report.findings.iter().map(|one| one.primary.place).collect();
    assert!(
        places.is_sorted_by_key(|place| (place.file, place.start)),
        "not in order: {places:?}"
    );
}

fn finding(sources: &Sources, finding: &Diagnostic) {
    let Diagnostic { rule, message, .. } = finding;
    assert!(
        !message.is_empty() && !message.contains('\n'),
        "{rule}: {message:?}"
    );
    place(sources, finding.primary.place, message);
    for label in &finding.secondary {
        place(sources, label.place, message);
    }
    for edit in finding.fix.iter().flat_map(|fix| &fix.edits) {
        place(sources, edit.place, message);
        assert_eq!(edit.place.file.0, 0, "{message}: an edit of another file");
    }
}
