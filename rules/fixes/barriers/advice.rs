//! Advice on races that no single barrier ends, tried out before it is given.
//!
//! A run assumes barriers before the later accesses, or between the read and the write of one assignment; first at
//! these places, then as if the conditions around them ended before each barrier and were tested again behind it. The
//! advice is given only if the races are gone and no other defect appears.

use shaderlint_hlsl::{ExprKind, Span, Stmt, StmtKind, statements};
use shaderlint_linter::Context;
use shaderlint_simt::{Access, Around, AssumedBarriers, Race, look_for_defects};

use crate::describe::witness::{calls, in_common, inside, lines_of, on_lines};
use crate::fixes::barriers::defects::{Defects, are_settled};
use crate::fixes::barriers::places::{leaves, own_calls};
use crate::source::statements::{BARRIER, statements_around};

/// The most steps for all advice about a kernel, counted by those of the kernel's first run.
const MAX_STEPS: u64 = 2_000_000;
/// The most places to try for one advice.
const MAX_TRIES: usize = 6;
/// The most runs for each place: after one barrier the rest may need another.
const MAX_ROUNDS: usize = 3;

/// What ends these races, if anything was found. `steps` counts the steps spent on other races of the kernel.
pub(crate) fn proved(context: &Context<'_>, races: &[&Race], steps: &mut u64) -> Option<Proved> {
    if context.analysis.stopped.is_some() {
        return None;
    }
    let levels = calls(&races.first()?.second.around).count();
    let own = own_calls(races.first()?);
    let places = (own..=levels).chain(0..own);
    let places = places.flat_map(|level| {
        [false, true].map(|ends_conditions| Level {
            calls: level,
            ends_conditions,
        })
    });
    let mut first = None;
    for level in places.take(MAX_TRIES) {
        let found = at_level(context, races, level, steps);
        if found.as_ref().is_some_and(|found| found.leaves_none) {
            return found;
        }
        first = first.or(found);
    }
    first
}

/// Where the barrier of a race goes.
#[derive(Clone, Copy)]
struct Level {
    /// The number of calls out from the later access.
    calls: usize,
    /// The conditions there end before the barrier; otherwise it goes inside them.
    ends_conditions: bool,
}

/// The same with every barrier at one level.
fn at_level(context: &Context<'_>, races: &[&Race], level: Level, steps: &mut u64) -> Option<Proved> {
    let mut advice = Advice::default();
    let mut left: Vec<Race> = races.iter().map(|race| (*race).clone()).collect();
    for _ in 0..MAX_ROUNDS {
        for race in &left {
            advice.add(context, race, level)?;
        }
        match advice.ends(context, races, steps)? {
            Ended::All => {
                let advice = advice.without_needless(context, races, steps);
                return Some(Proved {
                    text: advice.text(context),
                    leaves_none: advice.leaves_none,
                    places: advice.places,
                });
            }
            // The remaining races may need a barrier of their own.
            Ended::Not { others, .. } => left = others,
        }
    }
    None
}

/// Barriers that end races, and the advice to put them.
pub(crate) struct Proved {
    pub text: String,
    pub places: Vec<Place>,
    /// No defect is left, as far as the run knows the cells and values.
    leaves_none: bool,
}

impl Proved {
    /// Conditions have to end before a barrier.
    pub fn ends_conditions(&self) -> bool {
        self.places.iter().any(|place| !place.conditions.is_empty())
    }

    /// It is one barrier before a statement.
    pub fn is_one_barrier(&self) -> bool {
        matches!(&*self.places, [only] if only.target.is_none() && only.conditions.is_empty())
    }
}

/// What a run with the barriers shows.
enum Ended {
    /// The races are gone, and no other defect appears.
    All,
    /// Races on the same arrays are left; `are_gone` if these are not among them.
    Not { others: Vec<Race>, are_gone: bool },
}

/// Which accesses need an order, where no barriers were found.
pub(crate) fn order(context: &Context<'_>, race: &Race) -> String {
    let place = race.second.span;
    let (first, second) = (&race.first, &race.second);
    if first.is_write && second.is_write && first.span == second.span {
        return "it is undefined which thread's value remains".to_owned();
    }
    let common = in_common(&first.around, &second.around);
    let at = |access: &Access| {
        let name = if access.is_write { "write" } else { "read" };
        let calls = access.around[common..]
            .iter()
            .filter(|around| matches!(around, Around::Call(_)));
        let calls: Vec<Around> = calls.cloned().collect();
        let inside = inside(context, &calls, place);
        let space = if inside.is_empty() { "" } else { " " };
        format!(
            "the {name} {}{space}{inside}",
            on_lines(context, &[access.span], place)
        )
    };
    let undefined = match (first.is_write, second.is_write) {
        (true, true) => "it is undefined which of the two values remains",
        _ => "it is undefined whether the old value is read or the new one",
    };
    let or = if first.is_write && second.is_write {
        ", or they must write different elements"
    } else {
        ""
    };
    format!(
        "{undefined}: all threads must finish either {} or {} before any thread begins the other{or}",
        at(first),
        at(second),
    )
}

/// Barriers, and changes to the statements around them.
#[derive(Clone, Default)]
struct Advice {
    places: Vec<Place>,
    /// With all of them no defect is left, as far as the run knows the cells and values.
    leaves_none: bool,
}

/// One barrier.
#[derive(Clone, PartialEq)]
pub(crate) struct Place {
    /// It goes before this statement, or into this assignment.
    pub statement: Span,
    /// The target of the assignment, if it goes between the read and the write.
    pub target: Option<Span>,
    /// The statement that all threads have to reach.
    whole: Span,
    /// The conditions between this and the barrier.
    pub conditions: Vec<Span>,
    /// A block that ends with them declares variables before the barrier.
    declares: bool,
    /// These races are gone without it too, but another one shows.
    is_for_others: bool,
}

impl Advice {
    /// What a run with these barriers shows; `None` where it would take too long, or not all threads reach them.
    fn ends(&mut self, context: &Context<'_>, races: &[&Race], steps: &mut u64) -> Option<Ended> {
        *steps += context.analysis.steps;
        if *steps > MAX_STEPS {
            return None;
        }
        let into = |place: &Place| place.target;
        let before = |place: &Place| place.target.is_none().then_some(place.statement);
        let assumed = AssumedBarriers {
            before: self.places.iter().filter_map(before).collect(),
            within: self.places.iter().filter_map(into).collect(),
            wholes: self.places.iter().map(|place| place.whole).collect(),
        };
        let analysis = look_for_defects(context.shader, context.entry, Some(&assumed));
        if analysis.stopped.is_some() {
            return None;
        }
        let known = Defects::of(context.shader, context.analysis);
        let left = Defects::of(context.shader, &analysis);
        let are_gone = races.iter().all(|race| !left.has(context.shader, race));
        let are_gone = are_gone && are_settled(&analysis, races, |span| span, |_| false);
        if left.are_among(&known) && are_gone {
            self.leaves_none = left.is_empty() && analysis.unsettled.is_empty();
            return Some(Ended::All);
        }
        let is_of_array = |race: &Race| races.iter().any(|told| told.array == race.array);
        Some(Ended::Not {
            others: analysis.races.into_iter().filter(is_of_array).collect(),
            are_gone,
        })
    }

    /// Drops barriers that the others make needless, and notes of the others whether these races need them.
    fn without_needless(mut self, context: &Context<'_>, races: &[&Race], steps: &mut u64) -> Advice {
        let mut number = self.places.len();
        while number > 0 && self.places.len() > 1 {
            number -= 1;
            let mut fewer = self.clone();
            fewer.places.remove(number);
            if matches!(fewer.ends(context, races, steps), Some(Ended::All)) {
                self = fewer;
                continue;
            }
            fewer.places.retain(|place| !place.is_for_others);
            let ends_these = |ended| matches!(ended, Ended::All | Ended::Not { are_gone: true, .. });
            self.places[number].is_for_others =
                !fewer.places.is_empty() && fewer.ends(context, races, steps).is_some_and(ends_these);
        }
        self
    }

    /// Adds a barrier between the accesses of a race, in the function of the later one or in one that calls it;
    /// `None` where there is no place for one.
    fn add(&mut self, context: &Context<'_>, race: &Race, level: Level) -> Option<()> {
        let calls = calls(&race.second.around).rev();
        let at = std::iter::once(race.second.span).chain(calls).nth(level.calls)?;
        let mut around = statements_around(context.shader, at)?;
        let is_one_run = race.first.around == race.second.around;
        let holds_both = |statement: &Stmt| {
            let (outer, inner) = (statement.span, race.first.span);
            is_one_run && outer.start <= inner.start && inner.end <= outer.end
        };
        let mut assigned = None;
        if holds_both(around.last()?) {
            let statement = around.last()?;
            let StmtKind::Expr(whole) = &statement.kind else {
                return None;
            };
            let ExprKind::Assign { target, .. } = &whole.kind else {
                return None;
            };
            // One access is the target; the other one is read before.
            let writes = [&race.first, &race.second]
                .into_iter()
                .filter(|access| access.is_write);
            let mut writes = writes.map(|access| access.span);
            if (writes.next(), writes.next()) != (Some(target.span), None) {
                return None;
            }
            assigned = Some(target.span);
        } else {
            // For the first statement under a condition, the barrier goes before the condition.
            while let [.., parent, statement] = around.as_slice()
                && begins_with(parent, statement)
                && !holds_both(parent)
            {
                around.pop();
            }
            // In the body of a loop the barrier goes before the first statement: before the brace it would be
            // outside.
            while let StmtKind::Block(body) = &around.last()?.kind {
                around.push(body.first()?);
            }
        }
        // A line does not say enough where braces would be needed too.
        if let [.., parent, _] = around.as_slice()
            && matches!(
                parent.kind,
                StmtKind::Loop(_)
                    | StmtKind::If {
                        otherwise: Some(_),
                        ..
                    }
            )
        {
            return None;
        }
        let statement = around.last()?.span;
        let whole = if level.ends_conditions {
            outermost(&around)
        } else {
            around.len() - 1
        };
        let ended = around.get(whole..around.len() - 1)?;
        let declares = ended.iter().any(|block| declares_before(block, statement));
        let conditions = ended.iter().filter_map(|statement| match &statement.kind {
            StmtKind::If { condition, .. } => Some(condition.span),
            _ => None,
        });
        let conditions = conditions.collect();
        let whole = around.get(whole)?;
        if leaves_early(whole) {
            return None;
        }
        let place = Place {
            statement,
            target: assigned,
            whole: whole.span,
            conditions,
            declares,
            is_for_others: false,
        };
        if !self.places.contains(&place) {
            self.places.push(place);
        }
        Some(())
    }

    fn text(&self, context: &Context<'_>) -> String {
        let mut parts = Vec::new();
        // If each of them alone ends these races, they are one advice.
        let are_all_for_others = self.places.iter().all(|place| place.is_for_others);
        let statements = |is_into: bool, is_for_others: bool| {
            let places = self.places.iter().filter(|place| {
                let of_others = place.is_for_others && !are_all_for_others;
                (place.target.is_some(), of_others) == (is_into, is_for_others)
            });
            places.map(|place| place.statement).collect::<Vec<Span>>()
        };
        let conditions: Vec<Span> = self
            .places
            .iter()
            .flat_map(|place| place.conditions.iter().copied())
            .collect();
        let in_words = |spans: &[Span]| lines_of(context, spans);
        let put = |spans: &[Span], is_into: bool| {
            let (count, lines) = in_words(spans);
            if is_into {
                return format!("on {lines}, read into a variable, wait at a {BARRIER}(), then write");
            }
            // A line that begins with another statement would name another place.
            let (begin, within): (Vec<Span>, Vec<Span>) =
                spans.iter().partition(|span| begins_line(context, **span));
            let places = match (begin.as_slice(), within.as_slice()) {
                (_, []) if count > 1 => format!("each of {lines}"),
                (_, []) => lines,
                (begin, within) => {
                    let quoted = within.iter().map(|span| {
                        let (_, line) = in_words(&[*span]);
                        format!("`{}` on {line}", first_words(context, *span))
                    });
                    let begin = (!begin.is_empty()).then(|| in_words(begin).1);
                    begin
                        .into_iter()
                        .chain(quoted)
                        .collect::<Vec<_>>()
                        .join(" and before ")
                }
            };
            format!("put a {BARRIER}() before {places}")
        };
        for is_into in [false, true] {
            let spans = statements(is_into, false);
            parts.extend((!spans.is_empty()).then(|| put(&spans, is_into)));
        }
        for is_into in [false, true] {
            let spans = statements(is_into, true);
            let shows = if spans.len() > 1 {
                "then other races appear"
            } else {
                "then another race appears"
            };
            parts.extend((!spans.is_empty()).then(|| format!("{shows}: {}", put(&spans, is_into))));
        }
        if let Some(first) = conditions.first() {
            let (count, _) = in_words(&conditions);
            let (plural, it, its) = if count == 1 {
                ("", "it", "its condition")
            } else {
                ("s", "them", "their conditions")
            };
            let are_all_within = self.places.iter().all(|place| !place.conditions.is_empty());
            let (barrier, passed) = match (self.places.len(), are_all_within) {
                (1, _) => ("the barrier".to_owned(), "the barrier"),
                (_, true) => ("each barrier".to_owned(), "that barrier"),
                (_, false) => (format!("the barriers inside {it}"), "those barriers"),
            };
            let at = on_lines(context, &conditions, *first);
            parts.push(format!(
                "split the `if`{plural} {at}: close {it} before {barrier}, and test {its} again after {passed}"
            ));
            if self.places.iter().any(|place| place.declares) {
                parts.push("declare before the `if` what both parts use".to_owned());
            }
        }
        format!(
            "help: {} (tested: this race is gone{})",
            parts.join("; "),
            if self.leaves_none {
                ", and no other defect appears"
            } else {
                ""
            }
        )
    }
}

/// Whether a place is the first on its line.
fn begins_line(context: &Context<'_>, span: Span) -> bool {
    let Some(place) = context.shader.origins.locate(span) else {
        return false;
    };
    let text = context.shader.sources.get(place.file).map(|file| &*file.text);
    let before = text.and_then(|text| text.get(..place.start as usize));
    let line = before.and_then(|before| before.rsplit(|byte| *byte == b'\n').next());
    line.is_some_and(|line| line.trim_ascii().is_empty())
}

/// The beginning of a statement.
fn first_words(context: &Context<'_>, span: Span) -> String {
    const MOST: usize = 40;
    let text = String::from_utf8_lossy(span.slice(&context.shader.text)).into_owned();
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{} …", line[..end].trim_end()),
        None => line.to_owned(),
    }
}

/// Whether a statement is the first in the statement around it, apart from a condition.
fn begins_with(parent: &Stmt, statement: &Stmt) -> bool {
    let begins = |inner: &Stmt| inner.span == statement.span;
    match &parent.kind {
        StmtKind::If {
            then,
            otherwise: None,
            ..
        } => begins(then),
        StmtKind::Block(body) => body.first().is_some_and(begins),
        _ => false,
    }
}

/// Whether a block declares a variable before a statement in it.
fn declares_before(block: &Stmt, statement: Span) -> bool {
    let StmtKind::Block(body) = &block.kind else {
        return false;
    };
    let mut before = body.iter().take_while(|one| one.span.end <= statement.start);
    before.any(|one| matches!(one.kind, StmtKind::Declare { .. }))
}

/// The outermost statement around a place with nothing but blocks and conditions without an `else` between the two.
fn outermost(around: &[&Stmt]) -> usize {
    let is_left_open = |statement: &&Stmt| {
        matches!(
            &statement.kind,
            StmtKind::Block(_) | StmtKind::If { otherwise: None, .. }
        )
    };
    let outer = around.len().saturating_sub(1);
    let closed = around[..outer]
        .iter()
        .rposition(|statement| !is_left_open(statement));
    closed.map_or(0, |closed| closed + 1)
}

/// Whether threads may leave a statement, or a loop around it, from inside the statement.
fn leaves_early(statement: &Stmt) -> bool {
    let inner = std::slice::from_ref(statement);
    let jumps = |inner: &Stmt| matches!(inner.kind, StmtKind::Break | StmtKind::Continue);
    leaves(inner).next().is_some() || statements(inner).any(jumps)
}
