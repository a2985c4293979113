//! `hand-rolled-reduction`: a ladder through groupshared memory that combines all elements into one.

use shaderlint_linter::{Category, Context, Finding, Label, Rule, ShaderModel};
use shaderlint_simt::{Collective, Kind};

use crate::scan;

pub(crate) const RULE: Rule = Rule {
    id: "hand-rolled-reduction",
    category: Category::Perf,
    summary: "a ladder through groupshared memory that combines all elements into one",
    aliases: &["manual-wave-reduction-pattern"],
    explanation: include_str!("hand_rolled_reduction.md"),
    check,
};

fn check(context: &Context<'_>, findings: &mut Vec<Finding>) {
    if context.shader_model < ShaderModel::WAVES {
        return;
    }
    let collectives = context.analysis.collectives.iter();
    let reductions = collectives.filter(|found| found.kind == Kind::Reduction);
    findings.extend(reductions.map(|reduction| finding(context, reduction)));
}

fn finding(context: &Context<'_>, reduction: &Collective) -> Finding {
    let mut notes = vec![scan::proof(context, reduction)];
    if !reduction.operator.is_exact() {
        notes.push(scan::REASSOCIATES.to_owned());
    }
    Finding {
        rule: RULE.id,
        entry: context.entry,
        message: format!(
            "hand-rolled {} of {} {}s",
            scan::name(reduction.operator),
            reduction.count,
            reduction.element.name()
        ),
        primary: Label {
            place: reduction.span,
            text: scan::effort(reduction),
        },
        secondary: scan::places(context, reduction),
        notes,
        fix: None,
    }
}
