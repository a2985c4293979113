//! What the rules about atomics say of one.

use shaderlint_linter::{Context, Finding, Fix, Label, Level, NoFix, Safety, ShaderModel, Verdict};
use shaderlint_simt::{Amount, Atomic, Cells, Claim, Found, Quantity};

use crate::written::on_one_line;
use crate::{lines, wave_atomic};

/// The finding for a claim that `rule` is about. `None` where the target has no wave intrinsics.
pub(crate) fn finding(
    context: &Context<'_>,
    rule: &'static str,
    claim: &Claim,
    message: String,
    advice: String,
) -> Option<Finding> {
    if context.shader_model < ShaderModel::WAVES {
        return None;
    }
    let mut notes = vec![proof(context, claim), advice];
    notes.extend(measured(claim));
    // Of few cells, what is better depends on the keys: it is said and not done.
    let has_fix = claim.cells == Cells::One && context.wants_fixes;
    let fix = has_fix.then(|| wave_atomic::fix(context, claim));
    let mut no_fix = (claim.cells != Cells::One).then(|| {
        let text = "which form is faster depends on how many threads of a wave meet";
        NoFix::new("few-addresses", text)
    });
    let fix = match fix.transpose() {
        // What was not seen to gain anything is not done unasked.
        Ok(fix) => fix.map(|fix| Fix {
            notes: wave_atomic::doubt(&fix).map(str::to_owned).into_iter().collect(),
            safety: Safety::Unsafe,
            ..fix
        }),
        Err(why) => {
            no_fix = Some(why);
            None
        }
    };
    Some(Finding {
        rule,
        entry: context.entry,
        message,
        shape: Some(match claim.cells {
            Cells::One => "one-address",
            Cells::Few(_) => "few-addresses",
        }),
        verdict: Verdict::Refines,
        // No wave form of an atomic was faster on a GPU that was measured.
        worth: Level::Info,
        primary: Label {
            place: claim.span,
            text: match claim.cells {
                Cells::One => "the threads of a wave may take turns at one address".to_owned(),
                Cells::Few(bins) => format!("the threads of a wave may take turns at {bins} addresses"),
            },
        },
        secondary: Vec::new(),
        notes,
        fix,
        no_fix,
    })
}

/// The counter as the file says, on one line; as it is read where that is a macro's.
pub(crate) fn counter(context: &Context<'_>, claim: &Claim) -> String {
    on_one_line(context.shader, claim.place).unwrap_or_else(|| {
        let text = String::from_utf8_lossy(claim.place.slice(&context.shader.text)).into_owned();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    })
}

/// What the counter is a part of, which a macro may spell.
pub(crate) fn counters(context: &Context<'_>, claim: &Claim) -> String {
    let counter = String::from_utf8_lossy(claim.place.slice(&context.shader.text));
    let whole = counter.split('[').next().unwrap_or(&counter);
    whole.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What the wave form was seen to cost: `fixtures/rules/{atomic-slot-claim,single-cell-atomic}/bad.hlsl` by `shaderlint verify`,
/// and `fixtures/forms/slots` (`docs/measurements.md`).
fn measured(claim: &Claim) -> Option<String> {
    if claim.cells != Cells::One {
        return None;
    }
    let found = match (&claim.found, claim.is_shared) {
        _ if claim.operation.is_of_hidden_counter() => {
            "with a counter in a buffer instead: no faster, 24.57 ms either way"
        }
        (Found::Unused, true) => "in groupshared memory: slower, 2.30 ms against 1.34 ms",
        (Found::Slot, true) => "in groupshared memory: slower, 2.98 ms against 0.83 ms",
        (Found::Unused, false) => {
            "in buffers: no faster, 24.55 ms either way, for one cell of all groups, and slower, 1.35 ms against 1.10 ms, for one of each"
        }
        (Found::Slot, false) if matches!(claim.amount, Amount::Known(_)) => {
            "in buffers: no faster, 24.57 ms either way, for one counter of all groups"
        }
        (Found::Slot, false) => "in buffers, with amounts that differ: slower, 25.47 ms against 24.58 ms",
        (Found::Otherwise, _) => return None,
    };
    Some(format!(
        "measured over 64 passes {found}, on an NVIDIA H200, whose driver combines such atomics by itself; \
         other hardware was not measured"
    ))
}

/// How many threads, as far as is known.
pub(crate) fn threads(claim: &Claim) -> String {
    let up_to = if claim.is_certain { "" } else { "up to " };
    format!("{up_to}{} threads", claim.lanes)
}

/// What each thread does, as in "64 threads …".
pub(crate) fn verb(claim: &Claim) -> &'static str {
    match claim.operation {
        Atomic::Add => "add to",
        Atomic::And => "clear bits of",
        Atomic::Or => "set bits of",
        Atomic::Xor => "toggle bits of",
        Atomic::Increment => "increment the counter of",
        Atomic::Decrement => "decrement the counter of",
        Atomic::Append => "append to",
        Atomic::Consume => "consume from",
    }
}

/// Whether all threads put in the same, so that counting them is enough: as a fix says it, where there is one.
pub(crate) fn is_counted(claim: &Claim) -> bool {
    let is_of_figures = claim.quantity == Quantity::Figures;
    claim.operation.is_of_hidden_counter()
        || is_of_figures && (claim.parts.is_ok() || claim.amount == Amount::Known(1))
}

fn proof(context: &Context<'_>, claim: &Claim) -> String {
    let lanes = claim.lanes;
    let who = if claim.is_certain {
        format!("all {lanes} threads of the group do this atomic, whatever the inputs are")
    } else {
        format!("at most {lanes} threads of the group do this atomic")
    };
    let address = match claim.cells {
        Cells::One => "all active threads use one address".to_owned(),
        Cells::Few(bins) => format!("each thread uses one of {bins} addresses"),
    };
    // What racing threads read may differ from thread to thread, and so may what is made of it.
    let rests_on_memory = !(claim.is_certain && claim.has_known_cell);
    let is_racy = rests_on_memory && !context.analysis.races.is_empty();
    let without_races = is_racy.then(|| "no threads of the kernel race".to_owned());
    let conditions: Vec<String> = supposed(claim).into_iter().chain(without_races).collect();
    if conditions.is_empty() {
        format!("proved: {address}; {who}")
    } else {
        format!("proved, if {}: {address}; {who}", conditions.join(" and "))
    }
}

/// What the proof rests on that no file at hand tells.
fn supposed(claim: &Claim) -> Option<String> {
    let names: Vec<String> = claim.supposed.iter().map(|name| format!("`{name}`")).collect();
    let all = lines::listed(&names);
    match names.len() {
        0 => None,
        1 => Some(format!(
            "{all}, which nothing that was read declares, is the same memory or constant for all threads"
        )),
        _ => Some(format!(
            "{all}, which nothing that was read declares, are the same memory or constants for all threads"
        )),
    }
}
