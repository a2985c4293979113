//! Which races make one finding, and what is between their accesses.

use std::collections::BTreeMap;

use shaderlint_hlsl::{Intrinsic, Span};
use shaderlint_linter::{Context, Rule};
use shaderlint_simt::{Access, Around, Race};

use crate::describe::witness;
use crate::source::{lines, statements};

/// The races of one finding.
pub(crate) struct Group<'a> {
    /// By the line of the later access.
    pub lines: Vec<Vec<&'a Race>>,
    /// Races of the same statements on other arrays, or between other barriers.
    pub others: Vec<&'a Race>,
}

impl Group<'_> {
    /// The other races of the statements. Their number is left out: the run keeps one pair of accesses for each pair
    /// of places, so there may be more.
    pub fn on_others(&self, context: &Context<'_>) -> Option<String> {
        let of_first = self.lines.first()?;
        if of_first.len() + self.others.len() < 2 {
            return None;
        }
        let own = of_first.first()?.array;
        let mut names: Vec<String> = Vec::new();
        for race in &self.others {
            let name = &context.global(race.array)?.name;
            if race.array != own && !names.contains(name) {
                names.push(name.clone());
            }
        }
        let on = if names.is_empty() {
            String::new()
        } else {
            format!(", some on {}", lines::listed(&names))
        };
        let told = of_first.first()?;
        let lines_of =
            |race: &Race| [race.first.span, race.second.span].map(|place| witness::line(context, place));
        let own = lines_of(told);
        let mut all = of_first.iter().chain(&self.others);
        Some(
            match all.find(|race| lines_of(race).iter().any(|line| !own.contains(line))) {
                None => format!("other pairs of accesses also race here{on}"),
                Some(other) => {
                    let places = [other.first.span, other.second.span];
                    let at = witness::on_lines(context, &places, told.second.span);
                    format!("other pairs of accesses also race here{on}, such as the one {at}")
                }
            },
        )
    }
}

/// Groups the races by finding: those on one array in one function between the same two barriers, which mostly have
/// one cause, and those of the same two statements on other arrays. Races on lines with a suppression stay apart.
pub(crate) fn grouped<'a>(context: &Context<'a>, rule: &Rule) -> Vec<Group<'a>> {
    let text = &context.shader.text;
    let line = |place: Span| {
        let before = text.get(..place.start as usize).unwrap_or_default();
        lines::line_after(before)
    };
    let mut by_line: BTreeMap<usize, Vec<&Race>> = BTreeMap::new();
    for race in &context.analysis.races {
        by_line.entry(line(race.second.span)).or_default().push(race);
    }
    let mut groups: Vec<(_, Vec<Vec<&Race>>)> = Vec::new();
    for (number, races) in by_line {
        for race in races {
            let place = race.second.span;
            let function = statements::holder(context.shader, place).map(|function| function.span);
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
    let statements = |race: &Race| {
        let [first, second] = [&race.first, &race.second].map(|access| statement_at(context, access.span));
        first.zip(second)
    };
    // The two statements of all races of one line, if these are the same.
    let cause = |lines: &[Vec<&Race>]| {
        let [races] = lines else { return None };
        let known = statements(races.first()?)?;
        races
            .iter()
            .all(|race| statements(race) == Some(known))
            .then_some(known)
    };
    let mut told: Vec<(Option<(Span, Span)>, Group<'a>)> = Vec::new();
    for (_, lines) in groups {
        let own = cause(&lines);
        let known = told.iter_mut().find(|(known, _)| own.is_some() && *known == own);
        match known {
            Some((_, known)) => known.others.extend(lines.concat()),
            None => told.push((
                own,
                Group {
                    lines,
                    others: Vec::new(),
                },
            )),
        }
    }
    told.into_iter().map(|(_, told)| told).collect()
}

/// The further lines of a finding, in words.
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
    let which = lines::lines_in_words(&numbers);
    (!numbers.is_empty()).then(|| format!("{which} also {what}, with no barrier between"))
}

/// The memory barriers between the accesses of these races, which look as if threads waited there.
pub(crate) fn mistaken(context: &Context<'_>, lines: &[Vec<&Race>]) -> Option<String> {
    let races = lines.iter().flatten();
    let fences: Vec<Span> = races.flat_map(|race| race.fences.iter().copied()).collect();
    let orders_shared = |span: &&Span| fence(context, **span) != Some(Intrinsic::DeviceMemoryBarrier);
    let place = *fences.iter().find(orders_shared).or(fences.first())?;
    let name = fence(context, place)?;
    let alike = fences
        .into_iter()
        .filter(|other| fence(context, *other) == Some(name));
    let alike: Vec<Span> = alike.collect();
    let orders = if name == Intrinsic::DeviceMemoryBarrier {
        "device memory"
    } else {
        "memory"
    };
    Some(format!(
        "the {}() {} orders {orders} but does not make threads wait",
        name.name(),
        witness::on_lines(context, &alike, place),
    ))
}

/// The memory barrier that is called at a place.
pub(crate) fn fence(context: &Context<'_>, call: Span) -> Option<Intrinsic> {
    let text = call.slice(&context.shader.text);
    let name = text.split(|byte| !byte.is_ascii_alphanumeric()).next()?;
    Intrinsic::from_name(std::str::from_utf8(name).ok()?).filter(|name| name.is_memory_barrier())
}

pub(crate) fn verb(access: &Access) -> &'static str {
    if access.is_write { "writes" } else { "reads" }
}

/// The two accesses, and when they happen. A read comes first.
pub(crate) fn meeting(context: &Context<'_>, race: &Race) -> String {
    let (one, other) = if race.first.is_write && !race.second.is_write {
        (&race.second, &race.first)
    } else {
        (&race.first, &race.second)
    };
    let cell = witness::element(context, race.array, race.index);
    let place = race.second.span;
    let around: [&[Around]; 2] = [&one.around, &other.around];
    let when = match witness::when(context, race.since.as_ref(), place, &around) {
        Some(when) => format!("both {when}"),
        None => "with no barrier between them".to_owned(),
    };
    let common = witness::in_common(&one.around, &other.around);
    let (own, of_other) = (&one.around[common..], &other.around[common..]);
    let at = |around: &[Around]| {
        let inside = witness::inside(context, around, place);
        let space = if inside.is_empty() { "" } else { " " };
        format!("{space}{inside}")
    };
    let at_other = match (own, of_other) {
        ([Around::Loop { of: one, .. }], [Around::Loop { of, iteration }]) if one == of => {
            let number = u64::from(iteration.number) + 1;
            format!(" in iteration {number}{}", witness::value(iteration))
        }
        _ => at(of_other),
    };
    let around_both = &one.around[..common];
    let in_both = if own.is_empty() && of_other.is_empty() {
        witness::iterations(context, around_both)
    } else if around_both.is_empty() {
        String::new()
    } else {
        format!(", all {}", witness::inside(context, around_both, place))
    };
    format!(
        "thread {} {} {cell}{} while thread {} {} it{at_other}, {when}{in_both}",
        one.thread,
        verb(one),
        at(own),
        other.thread,
        verb(other),
    )
}

/// The innermost statement of a block around a place.
pub(crate) fn statement_at(context: &Context<'_>, place: Span) -> Option<Span> {
    statements::statements_around(context.shader, place)?
        .last()
        .map(|statement| statement.span)
}
