//! What to do about races for which no one barrier is a fix, tried out before it is said.
//!
//! Barriers are supposed before the later accesses, or between the two of one assignment; first where they would stand as
//! they are, then as if the conditions around them were ended before each and tested anew behind it. It is said only if the
//! races are gone then and no other defect comes up.

use shaderlint_hlsl::{ExprKind, Span, Stmt, StmtKind, statements};
use shaderlint_linter::Context;
use shaderlint_simt::{Access, Around, Race, Supposed, look_for_defects};

use crate::missing_barrier::{Defects, are_settled, leaves, own_calls};
use crate::statements::statements_around;
use crate::witness::{in_common, inside, lines_of, on_lines};
use crate::written::BARRIER;

/// Steps that runs for all advice about a kernel may take, counted by those of the kernel's first run.
const MAX_STEPS: u64 = 2_000_000;
/// Places that are tried for one advice.
const MAX_TRIES: usize = 6;
/// Runs for each of them: what one barrier leaves may need another one.
const MAX_ROUNDS: usize = 3;

/// What ends these races, if that was found. `steps` is what was taken for other races of the kernel.
pub(crate) fn proved(context: &Context<'_>, races: &[&Race], steps: &mut u64) -> Option<Proved> {
    if context.analysis.stopped.is_some() {
        return None;
    }
    let calls = races.first()?.second.around.iter();
    let levels = calls.filter(|around| matches!(around, Around::Call(_))).count();
    let own = own_calls(races.first()?);
    let places = (own..=levels).chain(0..own);
    let places = places.flat_map(|level| [(level, false), (level, true)]);
    let mut first = None;
    for place in places.take(MAX_TRIES) {
        let found = from_place(context, races, place, steps);
        if found.as_ref().is_some_and(|found| found.leaves_none) {
            return found;
        }
        first = first.or(found);
    }
    first
}

/// The same with the barrier of a race so many calls out from its later access, inside the conditions there or with these
/// ended.
fn from_place(
    context: &Context<'_>,
    races: &[&Race],
    place: (usize, bool),
    steps: &mut u64,
) -> Option<Proved> {
    let mut advice = Advice::default();
    let mut left: Vec<Race> = races.iter().map(|race| (*race).clone()).collect();
    for _ in 0..MAX_ROUNDS {
        for race in &left {
            advice.add(context, race, place)?;
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
            // What is left may need a barrier of its own.
            Ended::Not { others, .. } => left = others,
        }
    }
    None
}

/// What ends races.
pub(crate) struct Proved {
    pub text: String,
    pub places: Vec<Place>,
    /// No defect is left then, as far as the run knows what is where.
    leaves_none: bool,
}

impl Proved {
    /// It takes conditions to end before a barrier.
    pub fn ends_conditions(&self) -> bool {
        self.places.iter().any(|place| !place.conditions.is_empty())
    }

    /// A barrier before a statement, and nothing else.
    pub fn is_one_barrier(&self) -> bool {
        matches!(&*self.places, [only] if only.target.is_none() && only.conditions.is_empty())
    }
}

/// What is known of a kernel with the barriers.
enum Ended {
    /// The races are gone, and there is no other defect.
    All,
    /// There are others on the same arrays, or these are left.
    Not { others: Vec<Race>, are_gone: bool },
}

/// What has to be ordered, where it was not found out how.
pub(crate) fn order(context: &Context<'_>, race: &Race) -> String {
    let place = race.second.span;
    let (first, second) = (&race.first, &race.second);
    if first.is_write && second.is_write && first.span == second.span {
        return "which thread's value stays is undefined".to_owned();
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
        (true, true) => "which of the two values stays is undefined",
        _ => "whether the old value is read or the new one is undefined",
    };
    let or = if first.is_write && second.is_write {
        ", or they have to write to other elements"
    } else {
        ""
    };
    format!(
        "{undefined}: of {} and {}, one has to be over in all threads before the other begins{or}",
        at(first),
        at(second),
    )
}

/// Barriers, and what has to be done about the statements around them.
#[derive(Clone, Default)]
struct Advice {
    places: Vec<Place>,
    /// With all of them no defect is left, as far as the run knows what is where.
    leaves_none: bool,
}

/// One barrier.
#[derive(Clone, PartialEq)]
pub(crate) struct Place {
    /// The statement that it goes before, or the assignment that it goes into.
    pub statement: Span,
    /// What is assigned to, if it goes between what is read and what is written.
    pub target: Option<Span>,
    /// To which all threads have to come.
    whole: Span,
    /// The conditions between the two.
    pub conditions: Vec<Span>,
    /// What ends with them declares variables before the barrier.
    declares: bool,
    /// Without it these races are gone as well, and another one shows.
    is_for_others: bool,
}

impl Advice {
    /// What is known of the kernel with these barriers; `None` where that would take too long, or not all threads come to
    /// them.
    fn ends(&mut self, context: &Context<'_>, races: &[&Race], steps: &mut u64) -> Option<Ended> {
        *steps += context.analysis.steps;
        if *steps > MAX_STEPS {
            return None;
        }
        let into = |place: &Place| place.target;
        let before = |place: &Place| place.target.is_none().then_some(place.statement);
        let supposed = Supposed {
            before: self.places.iter().filter_map(before).collect(),
            within: self.places.iter().filter_map(into).collect(),
            wholes: self.places.iter().map(|place| place.whole).collect(),
        };
        let analysis = look_for_defects(context.shader, context.entry, Some(&supposed));
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

    /// The same without barriers that the others make needless. Notes of those that stay whether they end these races.
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

    /// A barrier between the accesses of a race, in the function of the later one or in one that so many calls lead from;
    /// `None` where there is no place for one.
    fn add(
        &mut self,
        context: &Context<'_>,
        race: &Race,
        (level, ends_conditions): (usize, bool),
    ) -> Option<()> {
        let calls = race.second.around.iter().rev().filter_map(|around| match around {
            Around::Call(call) => Some(*call),
            Around::Pass { .. } => None,
        });
        let at = std::iter::once(race.second.span).chain(calls).nth(level)?;
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
            // One of the two is what is assigned to; the other one is read before.
            let writes = [&race.first, &race.second]
                .into_iter()
                .filter(|access| access.is_write);
            let mut writes = writes.map(|access| access.span);
            if (writes.next(), writes.next()) != (Some(target.span), None) {
                return None;
            }
            assigned = Some(target.span);
        } else {
            // What comes first under a condition comes behind a barrier before it.
            while let [.., parent, statement] = around.as_slice()
                && begins_with(parent, statement)
                && !holds_both(parent)
            {
                around.pop();
            }
            // The body of a loop begins with its first statement: a barrier before its brace is outside, or all of it.
            while let StmtKind::Block(body) = &around.last()?.kind {
                around.push(body.first()?);
            }
        }
        // Where braces would have to be put as well, a line does not say enough.
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
        let whole = if ends_conditions {
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
        // Where each without the others ends these races, they are one advice.
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
            // Before a line that begins with another statement there would be another place.
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
                "other races show"
            } else {
                "another race shows"
            };
            parts.extend((!spans.is_empty()).then(|| format!("{shows} then: {}", put(&spans, is_into))));
        }
        if let Some(first) = conditions.first() {
            let (count, _) = in_words(&conditions);
            let (plural, it) = if count == 1 { ("", "it") } else { ("s", "them") };
            let are_all_within = self.places.iter().all(|place| !place.conditions.is_empty());
            let barrier = match (self.places.len(), are_all_within) {
                (1, _) => "the barrier".to_owned(),
                (_, true) => "each barrier".to_owned(),
                (_, false) => format!("the barriers inside {it}"),
            };
            let at = on_lines(context, &conditions, *first);
            parts.push(format!(
                "close the condition{plural} {at} before {barrier}, and test {it} again after it"
            ));
            if self.places.iter().any(|place| place.declares) {
                parts.push("declare before the condition what both parts use".to_owned());
            }
        }
        format!(
            "help: {} (tried out: this race is gone then{})",
            parts.join("; "),
            if self.leaves_none {
                ", and nothing else comes up"
            } else {
                ""
            }
        )
    }
}

/// Whether nothing but blanks stands before a place on its line.
fn begins_line(context: &Context<'_>, span: Span) -> bool {
    let Some(place) = context.shader.origins.locate(span) else {
        return false;
    };
    let text = context.shader.sources.get(place.file).map(|file| &*file.text);
    let before = text.and_then(|text| text.get(..place.start as usize));
    let line = before.and_then(|before| before.rsplit(|byte| *byte == b'\n').next());
    line.is_some_and(|line| line.trim_ascii().is_empty())
}

/// What a statement begins with.
fn first_words(context: &Context<'_>, span: Span) -> String {
    const MOST: usize = 40;
    let text = String::from_utf8_lossy(span.slice(&context.shader.text)).into_owned();
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{} …", line[..end].trim_end()),
        None => line.to_owned(),
    }
}

/// Whether nothing comes before a statement in one around it but a condition.
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

/// The first of the statements around a place between which and the place there are blocks and conditions without an `else`.
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

/// Whether threads may leave what is around a statement from inside it.
fn leaves_early(statement: &Stmt) -> bool {
    let inner = std::slice::from_ref(statement);
    let jumps = |inner: &Stmt| matches!(inner.kind, StmtKind::Break | StmtKind::Continue);
    leaves(inner).next().is_some() || statements(inner).any(jumps)
}
