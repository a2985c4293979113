//! `groupshared-race`: two threads, one cell, one barrier interval, at least one write.

use std::collections::HashSet;

use shaderlint_hlsl::{Global, Type};
use shaderlint_linter::{Category, Context, Finding, Label, Rule};
use shaderlint_simt::{Access, Race};

pub(crate) const RULE: Rule = Rule {
    id: "groupshared-race",
    category: Category::Correctness,
    summary: "two threads touch one groupshared cell between two barriers, and one of them writes",
    aliases: &[],
    explanation: include_str!("groupshared_race.md"),
    check,
};

fn check(context: &Context<'_>, findings: &mut Vec<Finding>) {
    // A line often races in several ways; one is enough to mend it by.
    let line_of = |race: &Race| {
        let before = context
            .shader
            .text
            .get(..race.second.span.start as usize)
            .unwrap_or_default();
        before.iter().rposition(|byte| *byte == b'\n')
    };
    let mut seen = HashSet::new();
    let new = |race: &&Race| seen.insert((race.array, line_of(race)));
    findings.extend(
        context
            .analysis
            .races
            .iter()
            .filter(new)
            .map(|race| finding(context, race)),
    );
}

fn finding(context: &Context<'_>, race: &Race) -> Finding {
    let array = context.global(race.array);
    let cell = array.map_or_else(
        || "groupshared memory".to_owned(),
        |array| cell(array, race.index),
    );
    let mut secondary = Vec::new();
    if race.first.span != race.second.span {
        secondary.push(Label {
            place: race.first.span,
            text: format!("thread {} {} it here", race.first.thread, verb(&race.first)),
        });
    }
    secondary.extend(array.map(|array| Label {
        place: array.span,
        text: "shared by the whole group".to_owned(),
    }));
    Finding {
        rule: RULE.id,
        entry: context.entry,
        message: format!("data race on {cell}"),
        primary: Label {
            place: race.second.span,
            text: format!("thread {} {} {cell}", race.second.thread, verb(&race.second)),
        },
        secondary,
        notes: vec![witness(race, &cell), advice(race).to_owned()],
        fix: None,
    }
}

/// The cell as one would write it; the index is that of the outermost dimension.
fn cell(array: &Global, index: u32) -> String {
    let name = &array.name;
    match &array.ty {
        Type::Array(element, _) if matches!(**element, Type::Array(..)) => {
            format!("{name}[{index}][\u{2026}]")
        }
        Type::Array(..) => format!("{name}[{index}]"),
        _ => name.clone(),
    }
}

fn verb(access: &Access) -> &'static str {
    if access.is_write { "writes" } else { "reads" }
}

/// The two accesses and when they happen. The one that reads is named first.
fn witness(race: &Race, cell: &str) -> String {
    let (one, other) = if race.first.is_write && !race.second.is_write {
        (&race.second, &race.first)
    } else {
        (&race.first, &race.second)
    };
    let pass = race.iteration.as_ref().map_or(String::new(), |iteration| {
        let number = u64::from(iteration.number) + 1;
        let variable = iteration.variable.as_ref();
        let value = variable.map_or(String::new(), |(name, value)| format!(", {name} = {value}"));
        format!(" (pass {number} of the loop{value})")
    });
    format!(
        "thread {} {} {cell} while thread {} {} it, both in barrier interval {}{pass}",
        one.thread,
        verb(one),
        other.thread,
        verb(other),
        race.interval,
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
