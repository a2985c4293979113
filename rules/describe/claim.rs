//! An atomic in words: its counter, its threads, and what was proved and measured of it.

use shaderlint_hlsl::Counter;
use shaderlint_linter::Context;
use shaderlint_simt::{Amount, Atomic, Cells, ContendedAtomic, OldValueUse, Quantity};

use crate::source::lines;
use crate::source::text::on_one_line;

/// The counter as the file spells it, on one line; expanded where a macro spells it.
pub(crate) fn counter(context: &Context<'_>, claim: &ContendedAtomic) -> String {
    on_one_line(context.shader, claim.place).unwrap_or_else(|| {
        let text = String::from_utf8_lossy(claim.place.slice(&context.shader.text)).into_owned();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    })
}

/// The array or buffer of the counter, which a macro may spell.
pub(crate) fn counters(context: &Context<'_>, claim: &ContendedAtomic) -> String {
    let counter = String::from_utf8_lossy(claim.place.slice(&context.shader.text));
    let whole = counter.split('[').next().unwrap_or(&counter);
    whole.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How many threads, as far as the run knows.
pub(crate) fn threads(claim: &ContendedAtomic) -> String {
    let up_to = if claim.is_certain { "" } else { "up to " };
    format!("{up_to}{} threads", claim.lanes)
}

/// What each thread does, as in "64 threads …".
pub(crate) fn verb(claim: &ContendedAtomic) -> &'static str {
    match claim.operation {
        Atomic::Add => "add to",
        Atomic::And => "clear bits of",
        Atomic::Or => "set bits of",
        Atomic::Xor => "toggle bits of",
        Atomic::Counter(Counter::Increment) => "increment the counter of",
        Atomic::Counter(Counter::Decrement) => "decrement the counter of",
        Atomic::Counter(Counter::Append) => "append to",
        Atomic::Counter(Counter::Consume) => "consume from",
    }
}

/// Whether all threads add the same amount, so that counting them is enough. Where there is a fix, it says so too.
pub(crate) fn is_counted(claim: &ContendedAtomic) -> bool {
    let is_of_figures = claim.quantity == Quantity::Figures;
    claim.operation.is_of_hidden_counter()
        || is_of_figures && (claim.parts.is_ok() || claim.amount == Amount::Known(1))
}

pub(crate) fn proof(context: &Context<'_>, claim: &ContendedAtomic) -> String {
    let lanes = claim.lanes;
    let who = if claim.is_certain {
        format!("all {lanes} threads of the group make this atomic, for every input")
    } else {
        format!("at most {lanes} threads of the group make this atomic")
    };
    let address = match claim.cells {
        Cells::One => "all active threads use one address".to_owned(),
        Cells::Few(bins) => format!("each thread uses one of {bins} addresses"),
    };
    // Racing threads may read different values, and compute different results from them.
    let rests_on_memory = !(claim.is_certain && claim.has_known_cell);
    let is_racy = rests_on_memory && !context.analysis.races.is_empty();
    let without_races = is_racy.then(|| "the kernel has no data race".to_owned());
    let conditions: Vec<String> = assumed_uniform(claim).into_iter().chain(without_races).collect();
    if conditions.is_empty() {
        format!("proved: {address}; {who}")
    } else {
        format!("proved, if {}: {address}; {who}", conditions.join(" and "))
    }
}

/// What the proof assumes of names that no file declares.
fn assumed_uniform(claim: &ContendedAtomic) -> Option<String> {
    let names: Vec<String> = claim
        .assumed_uniform
        .iter()
        .map(|name| format!("`{name}`"))
        .collect();
    let all = lines::listed(&names);
    match names.len() {
        0 => None,
        1 => Some(format!(
            "the unknown name {all} is the same memory or constant for all threads"
        )),
        _ => Some(format!(
            "the unknown names {all} are the same memory or constants for all threads"
        )),
    }
}

/// The measured cost of the wave form: `fixtures/rules/{atomic-slot-claim,single-cell-atomic}/bad.hlsl` by
/// `shaderlint verify`, and `fixtures/forms/slots` (`docs/measurements.md`).
pub(crate) fn measured(claim: &ContendedAtomic) -> Option<String> {
    if claim.cells != Cells::One {
        return None;
    }
    let found = match (&claim.old_value, claim.is_shared) {
        _ if claim.operation.is_of_hidden_counter() => {
            "was no faster with a counter in a buffer: 24.57 ms either way"
        }
        (OldValueUse::Unused, true) => "was slower in groupshared memory: 2.30 ms against 1.34 ms",
        (OldValueUse::Slot, true) => "was slower in groupshared memory: 2.98 ms against 0.83 ms",
        (OldValueUse::Unused, false) => {
            "was no faster in a buffer with one cell for all groups (24.55 ms either way), and slower with one \
             cell per group (1.35 ms against 1.10 ms)"
        }
        (OldValueUse::Slot, false) if matches!(claim.amount, Amount::Known(_)) => {
            "was no faster in a buffer with one counter for all groups: 24.57 ms either way"
        }
        (OldValueUse::Slot, false) => {
            "was slower in a buffer where amounts differ: 25.47 ms against 24.58 ms"
        }
        (OldValueUse::Otherwise, _) => return None,
    };
    Some(format!(
        "on an NVIDIA H200, whose driver combines such atomics itself, the wave form {found}, for 64 repetitions; \
         other hardware was not measured"
    ))
}
