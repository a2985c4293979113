//! `groupshared-race`: two threads, one cell, one barrier interval, at least one write.

use std::collections::BTreeMap;

use shaderlint_hlsl::{ExprKind, Intrinsic, Span, StmtKind, statements};
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
    let first = findings.len();
    let mut in_vain = Vec::new();
    for lines in told_together(context) {
        let fix = context.wants_fixes.then(|| missing_barrier::fix(context, &lines));
        let is_one_enough = match &fix {
            Some(Ok((_, ends_all))) => *ends_all,
            _ => one_place_is_between(&lines),
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

/// The races that one finding tells of, by the line of the later access: those of one array in one function between the
/// same two barriers, which mostly are one mistake. Lines of which a comment says that they are all right stay apart.
fn told_together<'a>(context: &Context<'a>) -> Vec<Vec<Vec<&'a Race>>> {
    let text = &context.shader.text;
    let line = |place: Span| {
        let before = text.get(..place.start as usize).unwrap_or_default();
        before.iter().filter(|byte| **byte == b'\n').count()
    };
    let mut by_line: BTreeMap<usize, Vec<&Race>> = BTreeMap::new();
    for race in &context.analysis.races {
        by_line.entry(line(race.second.span)).or_default().push(race);
    }
    let mut groups: Vec<(_, Vec<Vec<&Race>>)> = Vec::new();
    for (number, races) in by_line {
        for race in races {
            let place = race.second.span;
            let function = missing_barrier::holder(context.shader, place).map(|function| function.span);
            let alone = context.is_allowed(&RULE, place).then_some(number);
            let key = (race.array, race.interval, function, alone);
            let known = groups.iter_mut().find(|(other, _)| *other == key);
            match known.map(|(_, lines)| lines) {
                None => groups.push((key, vec![vec![race]])),
                Some(lines) => match lines.last_mut() {
                    Some(last) if last.iter().any(|one| line(one.second.span) == number) => last.push(race),
                    _ => lines.push(vec![race]),
                },
            }
        }
    }
    groups.into_iter().map(|(_, lines)| lines).collect()
}

fn finding(context: &Context<'_>, lines: &[Vec<&Race>], is_one_enough: bool) -> Option<Finding> {
    let race = *lines.first()?.first()?;
    let array = context.global(race.array);
    let cell = witness::element(context, race.array, race.index);
    let mut notes = vec![meeting(context, race, &cell)];
    notes.extend(further(context, lines));
    notes.push(mistaken(context, lines).unwrap_or_else(|| advice(race, is_one_enough)));
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
    format!(
        "thread {} {} {cell} while thread {} {} it, {when}{pass}{}",
        one.thread,
        verb(one),
        other.thread,
        verb(other),
        given.collect::<String>(),
    )
}

/// The lines after the first one.
fn further(context: &Context<'_>, lines: &[Vec<&Race>]) -> Option<String> {
    let number = |races: &Vec<&Race>| Some(witness::line(context, races.first()?.second.span)?.1);
    let (first, others) = lines.split_first()?;
    let mut numbers: Vec<usize> = others.iter().filter_map(number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers.retain(|other| Some(*other) != number(first));
    let read = |races: &Vec<&Race>| {
        races
            .iter()
            .any(|race| race.first.is_write && !race.second.is_write)
    };
    let is_one = numbers.len() == 1;
    let what = match (others.iter().all(read), is_one) {
        (true, true) => "reads what other threads write".to_owned(),
        (true, false) => "read what other threads write".to_owned(),
        (false, is_one) => {
            let array = context.global(first.first()?.array)?;
            format!("race{} on {}", if is_one { "s" } else { "" }, array.name)
        }
    };
    let which = witness::lines_in_words(&numbers);
    (!numbers.is_empty()).then(|| format!("{which} {what} as well, with no barrier between"))
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

/// Whether one barrier may be enough: all stand on one line, or a place in the text has one access of each race before it and the other one behind.
fn one_place_is_between(lines: &[Vec<&Race>]) -> bool {
    let races = || lines.iter().flatten();
    if lines.len() < 2 {
        return true;
    }
    let last_before = races()
        .map(|race| race.first.span.min(race.second.span).end)
        .max();
    let first_behind = races()
        .map(|race| race.first.span.max(race.second.span).start)
        .min();
    last_before <= first_behind
}

/// A memory barrier between the accesses of a race, which looks as if threads waited there.
fn mistaken(context: &Context<'_>, lines: &[Vec<&Race>]) -> Option<String> {
    let races = lines.iter().flatten();
    let between: Vec<(Intrinsic, Span)> = races.flat_map(|race| memory_barriers(context, race)).collect();
    let (intrinsic, place) = *between.first()?;
    let alike = between.iter().filter(|(other, _)| *other == intrinsic);
    let places: Vec<Span> = alike.map(|(_, place)| *place).collect();
    let (what, instead) = match intrinsic {
        Intrinsic::AllMemoryBarrier => ("memory", "AllMemoryBarrierWithGroupSync"),
        Intrinsic::DeviceMemoryBarrier => ("device memory", "GroupMemoryBarrierWithGroupSync"),
        _ => ("memory", "GroupMemoryBarrierWithGroupSync"),
    };
    Some(format!(
        "{}() {} orders {what} and does not make threads wait: use {instead}()",
        intrinsic.name(),
        witness::on_lines(context, &places, place),
    ))
}

/// The memory barriers that a run may pass between the accesses of a race: those between them in the text; or, where the
/// later one comes first in a loop around both, in the rest of the loop.
fn memory_barriers(context: &Context<'_>, race: &Race) -> Vec<(Intrinsic, Span)> {
    let (first, second) = (race.first.span, race.second.span);
    let holds = |outer: Span, inner: Span| outer.start <= inner.start && inner.end <= outer.end;
    let function = missing_barrier::holder(context.shader, second);
    let function = function.filter(|function| holds(function.span, first));
    let body = function
        .and_then(|function| function.body.as_deref())
        .unwrap_or_default();
    let loops = statements(body).filter(|statement| matches!(statement.kind, StmtKind::Loop(_)));
    let around = loops
        .map(|statement| statement.span)
        .filter(|l| holds(*l, first) && holds(*l, second))
        .last();
    let is_between = |place: Span| {
        let (after, before) = (first.end <= place.start, place.end <= second.start);
        after && before
            || second.start <= first.start && (after || before) && around.is_some_and(|l| holds(l, place))
    };
    let barriers = statements(body).filter_map(|statement| match &statement.kind {
        StmtKind::Expr(expr) => match expr.kind {
            ExprKind::Intrinsic(intrinsic, _) if intrinsic.is_memory_barrier() => {
                Some((intrinsic, expr.span))
            }
            _ => None,
        },
        _ => None,
    });
    barriers.filter(|(_, place)| is_between(*place)).collect()
}
