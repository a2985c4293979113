//! `groupshared-race`: two threads, one cell, one barrier interval, at least one write.

use std::collections::BTreeMap;

use shaderlint_linter::{Category, Context, Finding, Label, NO_FIX, Rule, Verdict};
use shaderlint_simt::{Access, Race};

use crate::{missing_barrier, witness};

pub(crate) const RULE: Rule = Rule {
    id: "groupshared-race",
    category: Category::Correctness,
    summary: "two threads touch one groupshared cell between two barriers, and one of them writes",
    aliases: &[],
    explanation: include_str!("groupshared_race.md"),
    check,
};

fn check(context: &Context<'_>, findings: &mut Vec<Finding>) {
    // One statement may race with itself and with others: that is one finding with more than one witness.
    let mut by_line: BTreeMap<usize, Vec<&Race>> = BTreeMap::new();
    for race in &context.analysis.races {
        let before = context
            .shader
            .text
            .get(..race.second.span.start as usize)
            .unwrap_or_default();
        let line = before.split(|byte| *byte == b'\n').count();
        by_line.entry(line).or_default().push(race);
    }
    let first = findings.len();
    let mut in_vain = Vec::new();
    for races in by_line.values() {
        let Some((race, others)) = races.split_first() else {
            continue;
        };
        let mut finding = finding(context, race, others);
        if context.wants_fixes {
            match missing_barrier::fix(context, races) {
                Ok(fix) => finding.fix = Some(fix),
                Err(missing_barrier::NO_PLACE) => in_vain.push(findings.len()),
                Err(reason) => finding.notes.push(format!("{NO_FIX}{reason}")),
            }
        }
        findings.push(finding);
    }
    let ends_all = |finding: &&Finding| finding.fix.as_ref().is_some_and(missing_barrier::ends_all);
    let ended = findings.iter().skip(first).find(ends_all);
    let reason = match ended {
        Some(other) => format!("the barrier that ends the {} ends this one too", other.message),
        None => missing_barrier::NO_PLACE.to_owned(),
    };
    for finding in in_vain {
        if let Some(finding) = findings.get_mut(finding) {
            finding.notes.push(format!("{NO_FIX}{reason}"));
        }
    }
}

fn finding(context: &Context<'_>, race: &Race, others: &[&Race]) -> Finding {
    let array = context.global(race.array);
    let cell = witness::element(context, race.array, race.index);
    let mut notes = vec![meeting(race, &cell)];
    match others.len() {
        0 => {}
        1 => notes.push("another pair of accesses races here too".to_owned()),
        more => notes.push(format!("{more} more pairs of accesses race here too")),
    }
    notes.push(advice(race).to_owned());
    let mut secondary = Vec::new();
    if race.first.span != race.second.span {
        secondary.push(Label {
            place: race.first.span,
            text: format!("thread {} {} it here", race.first.thread, verb(&race.first)),
        });
    }
    secondary.extend(race.condition.map(|(place, thread)| Label {
        place,
        text: format!("where this holds for thread {thread}"),
    }));
    secondary.extend(array.map(|array| Label {
        place: array.span,
        text: "shared by the whole group".to_owned(),
    }));
    Finding {
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
    }
}

fn verb(access: &Access) -> &'static str {
    if access.is_write { "writes" } else { "reads" }
}

/// The two accesses and when they happen. The one that reads is named first.
fn meeting(race: &Race, cell: &str) -> String {
    let (one, other) = if race.first.is_write && !race.second.is_write {
        (&race.second, &race.first)
    } else {
        (&race.first, &race.second)
    };
    let pass = witness::pass(race.iteration.as_ref());
    let given = race.given.iter().enumerate().map(|(number, instance)| {
        let before = if number == 0 { "; for" } else { "," };
        format!("{before} {} = {}", instance.bound, instance.value)
    });
    format!(
        "thread {} {} {cell} while thread {} {} it, both in barrier interval {}{pass}{}",
        one.thread,
        verb(one),
        other.thread,
        verb(other),
        race.interval,
        given.collect::<String>(),
    )
}

fn advice(race: &Race) -> &'static str {
    match (race.first.is_write, race.second.is_write) {
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
    }
}
