//! From findings in places of the expanded text to diagnostics in places of files.

use shaderlint_hlsl::{Shader, Span};

use crate::edits::{not_edited, place_fix, stands_twice};
use crate::finding::{Diagnostic, Finding, Label};
use crate::no_fix::{NoFix, Reason};
use crate::place::locate;
use crate::rule::{Rule, Settings};

/// The finding in places of files; `None` without a file to show.
pub(crate) fn diagnostic(
    shader: &Shader,
    rule: &Rule,
    settings: &Settings,
    mut finding: Finding,
) -> Option<Diagnostic> {
    let fix = finding.fix.as_ref().and_then(|fix| place_fix(shader, fix));
    if fix.as_ref().is_some_and(|fix| stands_twice(shader, fix)) {
        let text = "the file includes itself and repeats these lines";
        finding.withdraw(NoFix::new(Reason::IncludesItself, text));
    }
    let fix = fix.filter(|_| finding.fix.is_some());
    let mut edits = finding.fix.iter().flat_map(|fix| &fix.edits);
    let reason = edits.find_map(|edit| not_edited(shader, edit));
    if fix.is_none() {
        let text = "the file does not contain the text that the fix would change";
        finding.withdraw(reason.unwrap_or_else(|| NoFix::new(Reason::NotAsWritten, text)));
    } else if reason.is_some() {
        finding.no_fix = reason;
    }
    let locate = |span: Span| locate(shader, span);
    let primary = Label {
        place: locate(finding.primary.place)?,
        text: finding.primary.text,
    };
    let said = (settings.level)(rule, &shader.sources.get(primary.place.file)?.path);
    let secondary = finding.secondary.iter().filter_map(|label| {
        Some(Label {
            place: locate(label.place)?,
            text: label.text.clone(),
        })
    });
    let secondary = secondary.collect();
    let kernel = shader.functions.get(finding.entry.0 as usize);
    Some(Diagnostic {
        rule: rule.id,
        kernels: kernel.map(|kernel| kernel.name.clone()).into_iter().collect(),
        is_of_first: false,
        category: rule.category,
        level: said.of(finding.worth),
        message: finding.message,
        shape: finding.shape,
        verdict: finding.verdict,
        primary,
        secondary,
        notes: finding.notes,
        fix,
        no_fix: finding.no_fix.map(|why| why.placed(locate)),
    })
}
