//! Which races are told together, and what stands between their accesses.

use std::collections::BTreeMap;

use shaderlint_hlsl::{ExprKind, Intrinsic, Span, StmtKind, statements};
use shaderlint_linter::{Context, Rule};
use shaderlint_simt::Race;

use crate::{missing_barrier, witness};

/// The races that one finding tells of, by the line of the later access: those of one array in one function between the
/// same two barriers, which mostly are one mistake. Lines of which a comment says that they are all right stay apart.
pub(crate) fn told_together<'a>(context: &Context<'a>, rule: &Rule) -> Vec<Vec<Vec<&'a Race>>> {
    let text = &context.shader.text;
    let line = |place: Span| {
        let before = text.get(..place.start as usize).unwrap_or_default();
        before.split(|byte| *byte == b'\n').count()
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
            let alone = context.is_allowed(rule, place).then_some(number);
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

/// The lines after the first one.
pub(crate) fn further(context: &Context<'_>, lines: &[Vec<&Race>]) -> Option<String> {
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

/// Whether one barrier may be enough: all stand on one line, or a place in the text has one access of each race before it
/// and the other one behind.
pub(crate) fn one_place_is_between(lines: &[Vec<&Race>]) -> bool {
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
pub(crate) fn mistaken(context: &Context<'_>, lines: &[Vec<&Race>]) -> Option<String> {
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
