//! `hand-rolled-reduction`: a ladder through groupshared memory, or of reads of other lanes, that combines all elements into one.

use shaderlint_linter::{Category, Context, Finding, Label, Reason, Rule, ShaderModel};
use shaderlint_simt::{Collective, Kind};

use crate::describe::collective;
use crate::findings::{LEAST, lane_reads};
use crate::fixes::waves::refusal::{self, Refusal};
use crate::fixes::waves::{reduction, replacement, wording};

pub(crate) const RULE: Rule = Rule {
    id: "hand-rolled-reduction",
    category: Category::Perf,
    summary: "a ladder through groupshared memory that combines all elements into one",
    aliases: &["manual-wave-reduction-pattern"],
    explanation: include_str!("hand_rolled_reduction.md"),
    check,
};

fn check(context: &Context<'_>, findings: &mut Vec<Finding>) {
    let collectives = context.analysis.collectives.iter();
    let reductions = collectives.filter(|found| found.kind == Kind::Reduction && found.count >= LEAST);
    // A finding costs a proof.
    let reductions = reductions.filter(|reduction| {
        let place = collective::head(context, reduction);
        context.shows(ShaderModel::WAVES) || context.is_allowed(&RULE, place)
    });
    findings.extend(reductions.filter_map(|reduction| finding(context, reduction)));
    findings.extend(lane_reads::reductions(context));
}

/// `None` where the total is only a part of the result: a merge of two sorted halves also leaves the least of all
/// elements in the first.
fn finding(context: &Context<'_>, reduction: &Collective) -> Option<Finding> {
    // Only a run to the end shows whether other results are used.
    if reduction.may_be_of_sorted() && context.analysis.stopped.is_some() {
        return None;
    }
    let (proved, why_not) = match replacement::fix(context, reduction) {
        Ok(proved) => (Some(proved), None),
        Err(Refusal::HasOtherUses) => return None,
        Err(why_not) => (None, Some(why_not)),
    };
    let needed = ShaderModel::WAVES;
    let form = match &proved {
        Some(proved) => wording::needs(reduction, proved, needed),
        // An atomic combines the waves, whichever lanes they have. A wave with lanes of two blocks has two totals.
        None if reduction.blocks == 1 && reduction::atomic(reduction).is_some() => {
            format!("a wave form needs shader model {needed} and {}", wording::ANY)
        }
        None => format!("a wave form needs shader model {needed}"),
    };
    let worth = refusal::worth(why_not.as_ref());
    let fix = proved.map(|proved| proved.fix);
    let mut notes = vec![collective::proof(context, reduction), form];
    notes.extend(collective::beside(context, reduction));
    notes.extend(collective::assumed_of_other_groups(context, reduction));
    notes.extend(collective::of_macro(context, reduction));
    notes.extend(wording::of_floats(reduction));
    let lacks_atomic = reduction::atomic(reduction).is_none() && context.has_rows();
    let no_fix = why_not.map(|why_not| match why_not {
        Refusal::NoForm(why) if lacks_atomic && why.reason == Reason::NoForm => {
            let (what, ty) = (collective::name(reduction.operator), reduction.element_name());
            wording::no_packing(context, &format!("the {what} of {} {ty}s", reduction.count))
        }
        why_not => why_not.no_fix(),
    });
    Some(Finding {
        entry: context.entry,
        message: format!(
            "hand-rolled {} of {}",
            collective::name(reduction.operator),
            collective::elements(context, reduction)
        ),
        shape: Some(collective::shape_id(reduction)),
        verdict: collective::verdict(reduction),
        needs: needed,
        worth,
        primary: Label {
            place: collective::head(context, reduction),
            text: collective::effort(reduction),
        },
        secondary: collective::places(context, reduction),
        notes,
        fix,
        no_fix,
    })
}
