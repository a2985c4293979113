//! `groupshared-race`: two threads, one cell, one barrier interval, at least one write.

use shaderlint_linter::{
    Category, Context, Finding, Label, Level, NoFix, Reason, Rule, ShaderModel, Verdict,
};
use shaderlint_simt::Race;

use crate::describe::races::{self, Group, verb};
use crate::describe::witness;
use crate::fixes::barriers::repair;

pub(crate) const RULE: Rule = Rule {
    id: "groupshared-race",
    category: Category::Correctness,
    summary: "two threads access one groupshared element between the same barriers, and one writes",
    aliases: &[],
    explanation: include_str!("groupshared_race.md"),
    check,
};

fn check(context: &Context<'_>, findings: &mut Vec<Finding>) {
    let first = findings.len();
    let (mut in_vain, mut partial) = (Vec::new(), Vec::new());
    let (mut ends_all, mut steps) = (None, 0);
    for group in races::grouped(context, &RULE) {
        let Some(mut finding) = finding(context, &group) else {
            continue;
        };
        let mut lines = group.lines.clone();
        if let Some(first) = lines.first_mut() {
            first.extend(&group.others);
        }
        if let Some(repair) = context
            .shows(ShaderModel::ANY)
            .then(|| repair::of(context, &lines, &mut steps))
        {
            finding.notes.extend(repair.advice);
            match repair.barrier {
                Ok(barrier) => {
                    if barrier.ends_all {
                        ends_all.get_or_insert(findings.len());
                    } else {
                        partial.push(findings.len());
                    }
                    finding.fix = Some(barrier.fix);
                }
                Err(reason) if reason.is_in_vain() => in_vain.push((findings.len(), reason)),
                Err(reason) => finding.no_fix = Some(reason.no_fix(context)),
            }
        }
        findings.push(finding);
    }
    let ended = ends_all
        .filter(|ends_all| *ends_all >= first)
        .and_then(|other| findings.get(other));
    let ended = ended.map(|other| {
        let text = format!("the barrier that ends the {} also ends this one", other.message);
        NoFix::new(Reason::EndedByAnother, text).at(other.primary.place)
    });
    // One barrier that ends all is better than one for each.
    for finding in partial {
        if let (Some(finding), Some(ended)) = (findings.get_mut(finding), &ended) {
            finding.withdraw(ended.clone());
        }
    }
    for (finding, reason) in in_vain {
        if let Some(finding) = findings.get_mut(finding) {
            finding.no_fix = ended.clone().or_else(|| Some(reason.no_fix(context)));
        }
    }
}

fn finding(context: &Context<'_>, group: &Group<'_>) -> Option<Finding> {
    let lines = &group.lines;
    let race = *lines.first()?.first()?;
    let array = context.global(race.array);
    let cell = witness::element(context, race.array, race.index);
    let raced_on = match (race.wave_size, array) {
        (Some(_), Some(array)) => array.name.clone(),
        _ => cell.clone(),
    };
    let mut notes = vec![met(context, race)];
    notes.extend(races::further(context, lines));
    notes.extend(group.on_others(context));
    notes.extend(races::mistaken(context, lines));
    // Most waves have 32 lanes or 64.
    let lanes = race.wave_size.unwrap_or(32);
    if race.first.thread / lanes == race.second.thread / lanes {
        notes.push("threads of a wave need not run in lock-step".to_owned());
    }
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
        entry: context.entry,
        message: format!("data race on {raced_on}"),
        shape: None,
        verdict: Verdict::Racy,
        needs: ShaderModel::ANY,
        worth: Level::Error,
        primary: Label {
            place: race.second.span,
            text: format!("thread {} {} {cell}", race.second.thread, verb(&race.second)),
        },
        secondary,
        notes,
        fix: None,
        no_fix: None,
    })
}

/// The two accesses, when they happen and for which inputs.
fn met(context: &Context<'_>, race: &Race) -> String {
    let given = race.given.iter().enumerate().map(|(number, instance)| {
        let before = if number == 0 { "; for" } else { "," };
        format!("{before} {} = {}", instance.bound, instance.value)
    });
    let led = race.data_dependent.map_or_else(String::new, |thread| {
        format!("; thread {thread}'s index depends on data, and other threads access every element")
    });
    let waves = race.wave_size.map_or_else(String::new, |size| {
        format!("; these numbers are for waves of {size} lanes")
    });
    format!(
        "{}{}{led}{waves}",
        races::meeting(context, race),
        given.collect::<String>(),
    )
}
