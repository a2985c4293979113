//! `groupshared-race`: two threads, one cell, one barrier interval, at least one write.

use shaderlint_linter::{Category, Context, Finding, Label, NO_FIX, Rule, Verdict};
use shaderlint_simt::{Access, Race};

use crate::{missing_barrier, races, witness};

pub(crate) const RULE: Rule = Rule {
    id: "groupshared-race",
    category: Category::Correctness,
    summary: "two threads touch one groupshared cell between two barriers, and one of them writes",
    aliases: &[],
    explanation: include_str!("groupshared_race.md"),
    check,
};

fn check(context: &Context<'_>, findings: &mut Vec<Finding>) {
    let first = findings.len();
    let mut in_vain = Vec::new();
    for lines in races::told_together(context, &RULE) {
        let fix = context.wants_fixes.then(|| missing_barrier::fix(context, &lines));
        let is_one_enough = match &fix {
            Some(Ok((_, ends_all))) => *ends_all,
            _ => races::one_place_is_between(&lines),
        };
        let Some(mut finding) = finding(context, &lines, is_one_enough) else {
            continue;
        };
        match fix.transpose() {
            Ok(fix) => finding.fix = fix.map(|(fix, _)| fix),
            Err(reason @ (missing_barrier::NO_PLACE | missing_barrier::NO_PLACE_FOR_ANY)) => {
                in_vain.push((findings.len(), reason));
            }
            Err(reason) => finding.notes.push(format!("{NO_FIX}{reason}")),
        }
        findings.push(finding);
    }
    let ends_all = |finding: &&Finding| finding.fix.as_ref().is_some_and(missing_barrier::ends_all);
    let ended = findings.iter().skip(first).find(ends_all);
    let ended = ended.map(|other| format!("the barrier that ends the {} ends this one too", other.message));
    for (finding, reason) in in_vain {
        if let Some(finding) = findings.get_mut(finding) {
            let reason = ended.as_deref().unwrap_or(reason);
            finding.notes.push(format!("{NO_FIX}{reason}"));
        }
    }
}

fn finding(context: &Context<'_>, lines: &[Vec<&Race>], is_one_enough: bool) -> Option<Finding> {
    let race = *lines.first()?.first()?;
    let array = context.global(race.array);
    let cell = witness::element(context, race.array, race.index);
    let mut notes = vec![meeting(context, race, &cell)];
    notes.extend(races::further(context, lines));
    notes.push(races::mistaken(context, lines).unwrap_or_else(|| advice(race, is_one_enough)));
    let mut secondary = Vec::new();
    if race.first.span != race.second.span {
        secondary.push(Label {
            place: race.first.span,
            text: format!("thread {} {} it here", race.first.thread, verb(&race.first)),
        });
    }
    secondary.extend(race.condition.map(|under| Label {
        place: under.condition,
        text: format!(
            "where this {} for thread {}",
            if under.holds { "holds" } else { "does not hold" },
            under.thread
        ),
    }));
    secondary.extend(array.map(|array| Label {
        place: array.span,
        text: "shared by the whole group".to_owned(),
    }));
    Some(Finding {
        rule: RULE.id,
        entry: context.entry,
        message: format!("data race on {cell}"),
        shape: None,
        verdict: Verdict::Racy,
        primary: Label {
            place: race.second.span,
            text: format!("thread {} {} {cell}", race.second.thread, verb(&race.second)),
        },
        secondary,
        notes,
        fix: None,
    })
}

fn verb(access: &Access) -> &'static str {
    if access.is_write { "writes" } else { "reads" }
}

/// The two accesses and when they happen. The one that reads is named first.
fn meeting(context: &Context<'_>, race: &Race, cell: &str) -> String {
    let (one, other) = if race.first.is_write && !race.second.is_write {
        (&race.second, &race.first)
    } else {
        (&race.first, &race.second)
    };
    let when = match witness::when(context, race.since, race.second.span) {
        Some(when) => format!("both {when}"),
        None => "with no barrier between them".to_owned(),
    };
    let pass = witness::pass(race.iteration.as_ref());
    let given = race.given.iter().enumerate().map(|(number, instance)| {
        let before = if number == 0 { "; for" } else { "," };
        format!("{before} {} = {}", instance.bound, instance.value)
    });
    let led = race.led.map_or_else(String::new, |thread| {
        format!("; data lead thread {thread} to this element, and any other one is touched as well")
    });
    format!(
        "thread {} {} {cell} while thread {} {} it, {when}{pass}{}{led}",
        one.thread,
        verb(one),
        other.thread,
        verb(other),
        given.collect::<String>(),
    )
}

fn advice(race: &Race, is_one_enough: bool) -> String {
    if !is_one_enough {
        return "put a GroupMemoryBarrierWithGroupSync() after each of these steps, where every thread of the group \
                reaches it; threads of one wave are not promised to run in lock-step"
            .to_owned();
    }
    let advice = match (race.first.is_write, race.second.is_write) {
        (true, true) => {
            "which value stays is undefined: let one thread write the cell, or put \
             GroupMemoryBarrierWithGroupSync() between the writes"
        }
        _ if race.first.span == race.second.span => {
            "read into a variable, wait at a GroupMemoryBarrierWithGroupSync(), then write; threads of one wave \
             are not promised to run in lock-step"
        }
        _ => {
            "put a GroupMemoryBarrierWithGroupSync() between the read and the write; threads of one wave are not \
             promised to run in lock-step"
        }
    };
    advice.to_owned()
}
