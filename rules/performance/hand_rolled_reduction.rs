//! `hand-rolled-reduction`: a ladder through groupshared memory, or of reads of other lanes, that combines all elements into one.

use shaderlint_linter::{Category, Context, Finding, Label, Rule, ShaderModel};
use shaderlint_simt::{Collective, Kind};

use crate::refusal::{self, Refusal};
use crate::{scan, shuffle, wave_form, wave_reduction};

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
    let reductions = collectives.filter(|found| found.kind == Kind::Reduction && found.count >= scan::LEAST);
    findings.extend(reductions.filter_map(|reduction| finding(context, reduction)));
    findings.extend(shuffle::reductions(context, RULE.id));
}

/// `None` where the total is but a part of what the statements are for: a merge of two sorted halves leaves the least of
/// all elements in the first.
fn finding(context: &Context<'_>, reduction: &Collective) -> Option<Finding> {
    // Whether more than these results is used shows in a run to the end alone.
    if reduction.may_be_of_sorted() && context.analysis.stopped.is_some() {
        return None;
    }
    let (proved, why_not) = match wave_form::fix(context, reduction) {
        Ok(proved) => (Some(proved), None),
        Err(Refusal::HasOtherUses) => return None,
        Err(why_not) => (None, Some(why_not)),
    };
    let needed = ShaderModel::WAVES;
    let form = match &proved {
        Some(proved) => wave_form::needs(reduction, proved, needed),
        // By an atomic, whichever lanes the waves have.
        None if wave_reduction::atomic(reduction).is_some() => {
            format!("a wave form needs shader model {needed} and {}", wave_form::ANY)
        }
        None => format!("a wave form needs shader model {needed}"),
    };
    let worth = refusal::worth(why_not.as_ref());
    let fix = proved.map(|proved| proved.fix);
    let mut notes = vec![scan::proof(context, reduction), form];
    notes.extend(scan::beside(context, reduction));
    notes.extend(scan::alone(context, reduction));
    notes.extend(scan::of_macro(context, reduction));
    notes.extend(wave_form::of_floats(reduction));
    let lacks_atomic = wave_reduction::atomic(reduction).is_none() && context.has_rows();
    let no_fix = why_not.map(|why_not| match why_not {
        Refusal::NoForm(why) if lacks_atomic && why.reason == refusal::NO_FORM => {
            let (what, ty) = (scan::name(reduction.operator), reduction.element_name());
            wave_form::no_packing(context, &format!("the {what} of {} {ty}s", reduction.count))
        }
        why_not => why_not.no_fix(),
    });
    Some(Finding {
        rule: RULE.id,
        entry: context.entry,
        message: format!(
            "hand-rolled {} of {}",
            scan::name(reduction.operator),
            scan::elements(context, reduction)
        ),
        shape: Some(scan::shape_id(reduction)),
        verdict: scan::verdict(reduction),
        worth,
        primary: Label {
            place: scan::head(context, reduction),
            text: scan::effort(reduction),
        },
        secondary: scan::places(context, reduction),
        notes,
        fix,
        no_fix,
    })
}
