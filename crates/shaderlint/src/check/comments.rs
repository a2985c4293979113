//! The comments of a file that allow findings.

use shaderlint_hlsl::{Directives, FileId, FileSpan, Problem, Text, include_guard};
use shaderlint_linter::{
    Category, Diagnostic, Level, Rule, Safety, Suppression, suppressions, unused_suppressions,
};
use shaderlint_rules::UNUSED_SUPPRESSION;

use crate::check::file_report::FileReport;
use crate::check::options::Options;
use crate::check::readings::{Role, Root};
use crate::support::suggestions::no_such_rule;
use crate::workspace::config::Project;

/// The comments of a file that allow findings.
pub(super) struct Comments {
    suppressions: Vec<Suppression>,
    /// The errors in them, including unknown rules.
    pub misunderstood: Vec<Problem>,
}

impl Comments {
    pub fn of(text: &[u8]) -> Comments {
        let (suppressions, mut misunderstood) = suppressions(text);
        let ids = suppressions.iter().flat_map(|one| &one.ids);
        let unknown = ids.filter(|(_, id)| shaderlint_rules::named(id).next().is_none());
        misunderstood.extend(unknown.filter_map(|(place, id)| {
            let place = FileSpan {
                file: FileId(0),
                start: u32::try_from(place.start).ok()?,
                end: u32::try_from(place.end).ok()?,
            };
            let is_category = Category::ALL.iter().any(|category| category.to_string() == *id);
            let message = if is_category {
                format!("`{id}` is a category: `allow` must name its rules")
            } else {
                no_such_rule(id)
            };
            Some(Problem::new(message, Some(place)))
        }));
        Comments {
            suppressions,
            misunderstood,
        }
    }

    /// Those in the file `name` that suppress nothing, for rules that are on. `used` are the places where they name
    /// rules that have a finding.
    pub fn unused(
        &self,
        name: &str,
        used: &[FileSpan],
        project: &Project,
        options: &Options,
    ) -> Vec<Diagnostic> {
        let level = |rule: &Rule| options.level(project, rule, name).level();
        let own_level = level(&UNUSED_SUPPRESSION);
        if own_level == Level::Off {
            return Vec::new();
        }
        let is_on = |rule: &Rule| level(rule) != Level::Off;
        let is_judged =
            |id: &str| shaderlint_rules::named(id).next().is_some() && shaderlint_rules::named(id).all(is_on);
        unused_suppressions(
            &UNUSED_SUPPRESSION,
            own_level,
            &self.suppressions,
            used,
            is_judged,
        )
    }
}

/// Reports the errors in the comments of a checked file, and its comments that suppress nothing.
pub(super) fn check(checked: &mut FileReport, root: Root<'_>, options: &Options) {
    let comments = Comments::of(root.text);
    let report = &mut checked.report;
    // In a header, a file outside this run may need the comment.
    if root.role == Role::Unit && !checked.is_partial && report.problems.is_empty() {
        let mut unused = comments.unused(root.name, &report.used, root.project, options);
        let mut files = checked.sources.files.iter();
        if files.any(|file| has_conditionals(&file.text)) {
            unused.iter_mut().for_each(may_be_needed);
        }
        let findings = &mut report.findings;
        findings.extend(unused);
        findings.sort_by_key(|finding| (finding.primary.place.file, finding.primary.place.start));
    }
    report.problems.extend(comments.misunderstood);
}

/// Whether definitions decide what the file contains.
fn has_conditionals(text: &Text) -> bool {
    let lines = text.derived::<Directives>();
    let mut conditions = lines.iter().filter(|line| line.keyword.starts_with(b"if"));
    conditions.next().is_some() && (conditions.next().is_some() || include_guard(text, &lines).is_none())
}

/// Marks the fix as unsafe: a build that no file names may need a comment that suppresses nothing here.
fn may_be_needed(unused: &mut Diagnostic) {
    if let Some(fix) = &mut unused.fix {
        fix.safety = Safety::Unsafe;
        fix.notes.push("other definitions (#if, -D) may need it".into());
    }
}
