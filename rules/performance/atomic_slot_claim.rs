//! `atomic-slot-claim`: each thread claims a slot of its own from one counter.

use shaderlint_linter::{Category, Context, Finding, Rule};
use shaderlint_simt::{Amount, Atomic, Cells, ContendedAtomic, OldValueUse};

use crate::describe::claim;
use crate::findings::atomic;

pub(crate) const RULE: Rule = Rule {
    id: "atomic-slot-claim",
    category: Category::Perf,
    summary: "every thread claims its slot from one counter with its own atomic",
    aliases: &["wave-prefix-sum-vs-scan-with-atomics"],
    explanation: include_str!("atomic_slot_claim.md"),
    check,
};

fn check(context: &Context<'_>, findings: &mut Vec<Finding>) {
    let claims = context.analysis.contended_atomics.iter();
    let slots = claims.filter(|claim| claim.cells == Cells::One && claim.old_value == OldValueUse::Slot);
    findings.extend(slots.map(|slot| {
        let message = format!(
            "{} each claim a slot from {} with an atomic",
            claim::threads(slot),
            claim::counter(context, slot)
        );
        atomic::finding(context, slot, message, advice(slot))
    }));
}

fn advice(slot: &ContendedAtomic) -> String {
    let (own, all) = if claim::is_counted(slot) {
        ("WavePrefixCountBits", "WaveActiveCountBits")
    } else {
        ("WavePrefixSum", "WaveActiveSum")
    };
    let (slots, apart) = match slot.amount {
        // Sums have the amounts already; a hidden counter moves by one.
        _ if !claim::is_counted(slot) || slot.operation.is_of_hidden_counter() => {
            (String::new(), String::new())
        }
        Amount::Known(1) => (String::new(), String::new()),
        Amount::Known(-1) => (String::new(), "-".to_owned()),
        Amount::Known(number) => (format!("{} * ", number.unsigned_abs()), format!("{number} * ")),
        _ => ("the amount * ".to_owned(), "the amount * ".to_owned()),
    };
    let form = format!(
        "from shader model 6.0 on, one lane can claim for its whole wave: {slots}{all} is the number of slots, \
         WaveReadLaneFirst broadcasts the first slot, and {apart}{own} is the offset of each lane"
    );
    match slot.operation {
        Atomic::Counter(_) => {
            format!(
                "{form}; each call moves a hidden counter by only one, so keep the count in a separate buffer"
            )
        }
        _ => form,
    }
}
