//! `single-cell-atomic`: each thread adds to one cell, and none looks at what was there.

use shaderlint_linter::{Category, Context, Finding, Rule};
use shaderlint_simt::{Atomic, Cells, ContendedAtomic, OldValueUse};

use crate::describe::claim;
use crate::findings::atomic;

pub(crate) const RULE: Rule = Rule {
    id: "single-cell-atomic",
    category: Category::Perf,
    summary: "every thread adds to one cell with its own atomic",
    aliases: &["groupshared-atomic-replaceable-by-wave"],
    explanation: include_str!("single_cell_atomic.md"),
    check,
};

fn check(context: &Context<'_>, findings: &mut Vec<Finding>) {
    let claims = context.analysis.contended_atomics.iter();
    let is_sum = |claim: &&ContendedAtomic| {
        claim.cells == Cells::One && claim.old_value == OldValueUse::Unused && !claim.is_old_value_read
    };
    let sums = claims.filter(is_sum);
    findings.extend(sums.map(|sum| {
        let message = format!(
            "{} each {} {} with an atomic",
            claim::threads(sum),
            claim::verb(sum),
            claim::counter(context, sum)
        );
        atomic::finding(context, sum, message, advice(sum))
    }));
}

fn advice(sum: &ContendedAtomic) -> String {
    let intrinsic = match sum.operation {
        Atomic::And => "WaveActiveBitAnd",
        Atomic::Or => "WaveActiveBitOr",
        Atomic::Xor => "WaveActiveBitXor",
        _ if claim::is_counted(sum) => "WaveActiveCountBits",
        _ => "WaveActiveSum",
    };
    let form = format!(
        "from shader model 6.0 on, {intrinsic} combines the amounts of a wave, and one lane can make the atomic for all of them"
    );
    match sum.operation {
        Atomic::Counter(_) => {
            format!(
                "{form}; each call moves a hidden counter by only one, so keep the count in a separate buffer"
            )
        }
        _ => form,
    }
}
