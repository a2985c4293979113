//! The finding that the rules about atomics report.

use shaderlint_linter::{Context, Finding, Fix, Label, Level, NoFix, Reason, Safety, ShaderModel, Verdict};
use shaderlint_simt::{Cells, ContendedAtomic};

use crate::describe::claim;
use crate::fixes::atomics::one_cell;

/// The finding of a rule about an atomic.
pub(crate) fn finding(
    context: &Context<'_>,
    claim: &ContendedAtomic,
    message: String,
    advice: String,
) -> Finding {
    let mut notes = vec![claim::proof(context, claim), advice];
    notes.extend(claim::measured(claim));
    // With few cells the faster form depends on the keys: the message shows it, and no fix applies it.
    let has_fix = claim.cells == Cells::One && context.shows(ShaderModel::WAVES);
    let fix = has_fix.then(|| one_cell::fix(context, claim));
    let mut no_fix = (claim.cells != Cells::One).then(|| {
        let text = "whether a wave form is faster depends on how many threads of a wave use the same address";
        NoFix::new(Reason::FewAddresses, text)
    });
    let fix = match fix.transpose() {
        // No measurement showed a gain, so nothing is applied unasked.
        Ok(fix) => fix.map(|fix| Fix {
            notes: one_cell::doubt(&fix).into_iter().collect(),
            safety: Safety::Unsafe,
            ..fix
        }),
        Err(why) => {
            no_fix = Some(why);
            None
        }
    };
    Finding {
        entry: context.entry,
        message,
        shape: Some(match claim.cells {
            Cells::One => "one-address",
            Cells::Few(_) => "few-addresses",
        }),
        verdict: Verdict::Refines,
        needs: ShaderModel::WAVES,
        // On the measured GPUs no wave form of an atomic was faster.
        worth: Level::Info,
        primary: Label {
            place: claim.span,
            text: match claim.cells {
                Cells::One => "the threads of a wave may contend for one address".to_owned(),
                Cells::Few(bins) => format!("the threads of a wave may contend for {bins} addresses"),
            },
        },
        secondary: Vec::new(),
        notes,
        fix,
        no_fix,
    }
}
