//! A barrier where one is missing.
//!
//! A memory barrier between the accesses is made one that threads wait at. Else places are tried before the later
//! access's statement, the statements around it, and the calls that lead to it, each from the inside out. Where the
//! accesses are in two calls, the places before the later call come first: the group would wait in each call at a
//! barrier in the function that both call. A place will do if the fixed kernel, run anew, has none of the races that
//! were found there, has no defect that the flagged one does not have, and goes to its end: a barrier that not every
//! thread reaches ends a run, or is a defect. The first place after which nothing races is taken, or else the first
//! that will do. No thread may have returned before, for one that left need not have left in every run. A run that is
//! not followed for all values of what the host sets shows nothing of the others, so there the place must be one that
//! every thread passes which reaches a barrier that is there already.
//!
//! A barrier takes orders away and adds none: what the fixed kernel does is what the flagged one does where every
//! access before the barrier comes before every one after it. That is the order of the text, which the author most
//! likely meant; but what others were possible, and whether one of them was meant, nobody can prove. So the fix is not
//! a safe one.

use std::collections::BTreeSet;

use shaderlint_hlsl::{
    Expr, ExprKind, Function, FunctionId, Intrinsic, Shader, Span, Stmt, StmtKind, statements,
};
use shaderlint_linter::{At, Context, Edit, Fix, NoFix, Safety, fixed_shader};
use shaderlint_simt::{Analysis, Around, Instance, LaneMap, Race, compare, look_for_defects};

use crate::configuration::{self, AS_CONFIGURED, AS_TRIED};
use crate::moved::{Kept, Moved};
use crate::statements::{holder, is_barrier};
use crate::unit::{MAX_TEXT, Unit, begins_in_all};
use crate::written::BARRIER;
use crate::{races, witness};

/// Steps that the runs of one fix's places may take together, counted by those of the kernel's first run.
const MAX_STEPS: u64 = 2_000_000;
/// Places that are tried.
const MAX_PLACES: usize = 6;

/// Why there is no fix.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum NoBarrier {
    /// A barrier at each place was tried, and none ends the race.
    NoPlace {
        /// One finding tells several races, and none of them is ended.
        of_several: bool,
        /// The kernel has other races. A barrier may be found once these are gone.
        is_beside_others: bool,
    },
    /// A barrier was found that ends them in the runs that were tried; what files that were not found declare is not in these.
    Unsure {
        lacks_includes: bool,
    },
    /// They were found in the run of the first group, which shows nothing of a barrier in others.
    FirstGroup,
    /// The same, where threads may have left by this statement.
    Left(Span),
    /// Barriers end them, and conditions around these.
    NeedsMore,
    TooLong,
    Because(NoFix),
}

impl NoBarrier {
    /// A barrier was found that ends them in the runs that were tried.
    pub fn unsure(context: &Context<'_>) -> NoBarrier {
        NoBarrier::Unsure {
            lacks_includes: !context.shader.gaps.is_empty(),
        }
    }

    /// No place will do. If `is_unproved`, one does in the runs that were tried.
    fn in_vain(context: &Context<'_>, lines: &[Vec<&Race>], is_unproved: bool) -> NoBarrier {
        let is_of_first_group = |race: &&Race| race.given.iter().any(Instance::is_of_group);
        if !is_unproved {
            let told = lines.iter().map(Vec::len).sum::<usize>();
            let no_place = NoBarrier::NoPlace {
                of_several: lines.len() > 1,
                is_beside_others: context.analysis.races.len() > told,
            };
            let race = lines.first().and_then(|races| races.first());
            let left = race.and_then(|race| left_before(context, race));
            left.map_or(no_place, NoBarrier::Left)
        } else if lines.iter().flatten().all(is_of_first_group) {
            NoBarrier::FirstGroup
        } else {
            NoBarrier::unsure(context)
        }
    }

    /// Whether barriers were tried, and none is a fix.
    pub fn is_in_vain(&self) -> bool {
        matches!(
            self,
            NoBarrier::NoPlace { .. } | NoBarrier::Left(_) | NoBarrier::Unsure { .. } | NoBarrier::FirstGroup
        )
    }

    pub fn no_fix(self, context: &Context<'_>) -> NoFix {
        match self {
            NoBarrier::Left(place) => {
                let at = witness::on_lines(context, &[place], place);
                let text = format!(
                    "threads may leave by what is {at}, and no barrier behind it is proved to end the race"
                );
                NoFix::new("leaves", text).at(place)
            }
            NoBarrier::Unsure {
                lacks_includes: false,
            } => {
                let text = "that the barrier ends the race was tried out, and is not proved for every run";
                NoFix::new("some-inputs", text)
            }
            NoBarrier::Unsure { lacks_includes: true } => {
                let text = "an `#include` was not found: that the barrier ends the race was tried out, and is not proved";
                NoFix::new("missing-include", text)
            }
            NoBarrier::FirstGroup => {
                let text = "it was found in the first group, whose SV_GroupID is 0, and a barrier has to be proved for all";
                NoFix::new("first-group", text)
            }
            NoBarrier::NoPlace {
                of_several,
                is_beside_others,
            } => {
                let (access, ends) = if of_several {
                    ("a later access", "any of these races")
                } else {
                    ("the later access", "the race")
                };
                let beside = if is_beside_others {
                    " while the kernel's other races are there"
                } else {
                    ""
                };
                let text = format!(
                    "no single barrier before {access} or a statement around it is proved to end {ends}{beside}"
                );
                NoFix::new("no-single-barrier", text)
            }
            NoBarrier::NeedsMore => {
                let text = "barriers alone do not end it: conditions around them have to be closed as well";
                NoFix::new("conditions", text)
            }
            NoBarrier::TooLong => {
                NoFix::new("too-long", "proving that a barrier ends it would take too long")
            }
            NoBarrier::Because(why) => why,
        }
    }
}

/// What a proof calls one barrier.
pub(crate) const THIS_BARRIER: &str = "this barrier";

/// A fix, and what it does.
pub(crate) struct Barrier {
    pub fix: Fix,
    /// It ends all races that are told together, and not those of one line alone.
    pub ends_these: bool,
    /// No race or other defect of the kernel is seen any more.
    pub ends_all: bool,
}

/// A barrier that ends the races that are told together, by line, or else those of one of the lines. Else why there is
/// none.
pub(crate) fn fix(context: &Context<'_>, lines: &[Vec<&Race>]) -> Result<Barrier, NoBarrier> {
    let shader = context.shader;
    if let Some(stop) = &context.analysis.stopped {
        let told = lines.first().and_then(|races| races.first());
        let at = witness::on_lines(
            context,
            &[stop.span],
            told.map_or(stop.span, |race| race.second.span),
        );
        let text = format!("the kernel is not followed from what is {at} on");
        return Err(NoBarrier::Because(NoFix::new("unfollowed", text).at(stop.span)));
    }
    let places_of = |races: &Vec<&Race>| {
        let all = fences(context, races).len() + places(context, races, THE_ONE).len();
        all.min(MAX_PLACES)
    };
    let counts = lines.iter().map(places_of);
    // Each line by itself, and all together.
    let together = counts.clone().max().filter(|_| lines.len() > 1);
    let tries = counts.sum::<usize>() + together.unwrap_or(0);
    if tries == 0 {
        return Err(NoBarrier::in_vain(context, lines, false));
    }
    // And as much for the kernel's other races.
    let own = lines.iter().map(Vec::len).sum::<usize>().max(1);
    let tries = tries * context.analysis.races.len().div_ceil(own);
    let is_costly = context.analysis.steps.saturating_mul(tries as u64) > MAX_STEPS
        || shader.text.len().saturating_mul(tries) > MAX_TEXT;
    if is_costly {
        return Err(NoBarrier::TooLong);
    }
    if let Some(why) =
        Unit::of(shader).may_mean_another(shader, context.entry, std::iter::once(BARRIER.as_bytes()))
    {
        return Err(NoBarrier::Because(why));
    }
    let mut is_unproved = false;
    let mut barrier =
        |races: &[&Race], which, are: &str| barrier(context, races, (which, are), &mut is_unproved);
    let found = if let [of_one_line] = lines {
        barrier(of_one_line, THE_ONE, "this race is")
    } else {
        let of_any = barrier(&lines.concat(), THE_ONE, "these races are");
        of_any.or_else(|| {
            lines.iter().find_map(|races| {
                // Others may be on one of these lines.
                let places = races.iter().flat_map(|race| [race.first.span, race.second.span]);
                let (count, lines) = witness::lines_of(context, &places.collect::<Vec<Span>>());
                let of = if count > 1 { "between" } else { "on" };
                let barrier = barrier(races, ONE_OF_SEVERAL, &format!("the race {of} {lines} is"))?;
                Some(Barrier {
                    ends_these: false,
                    ..barrier
                })
            })
        })
    };
    found.ok_or_else(|| NoBarrier::in_vain(context, lines, is_unproved))
}

/// Barriers to try, most often one.
pub(crate) struct Candidate {
    pub edits: Vec<Edit>,
    /// What of the text that they replace stands in them again.
    pub kept: Vec<Kept>,
    /// What is told of the barriers, as the subject of a sentence.
    pub name: &'static str,
    /// Every thread that reaches another barrier reaches each of them.
    pub is_passed_by_all: bool,
    pub title: String,
}

/// What is called a barrier that ends all races that are told together, and one that ends some of them.
const THE_ONE: &str = "the missing barrier";
const ONE_OF_SEVERAL: &str = "one of the missing barriers";

/// The barrier after which nothing races, or else the first that ends the races, which `are` gone then. Notes if one ends them
/// in the runs that were tried, which is not enough.
fn barrier(
    context: &Context<'_>,
    races: &[&Race],
    (which, are): (&str, &str),
    is_unproved: &mut bool,
) -> Option<Barrier> {
    let places = places(context, races, which);
    let candidates = fences(context, races).into_iter().chain(places);
    let mut first = None;
    for candidate in candidates.take(MAX_PLACES) {
        let barrier = match tried(context, races, candidate, are) {
            Some(Tried::Ends(barrier)) => *barrier,
            Some(Tried::IsUnproved) => {
                *is_unproved = true;
                continue;
            }
            None => continue,
        };
        if barrier.ends_all {
            return Some(barrier);
        }
        first = first.or(Some(barrier));
    }
    first
}

/// What came of barriers after which the races were not seen any more.
pub(crate) enum Tried {
    Ends(Box<Barrier>),
    /// Another run than those that were tried may have them still.
    IsUnproved,
}

/// The barriers as a fix of the races, which `are` gone then; `None` if they are not, or if something else comes up.
pub(crate) fn tried(
    context: &Context<'_>,
    races: &[&Race],
    candidate: Candidate,
    are: &str,
) -> Option<Tried> {
    let Candidate {
        edits,
        kept,
        name,
        is_passed_by_all,
        title,
    } = candidate;
    if !edits
        .iter()
        .all(|edit| begins_in_all(context.shader, edit.at.span()))
    {
        return None;
    }
    let ended = ends_races(context, races, (&edits, &kept))?;
    let is_proved = matches!(ended, Ended::Proved);
    let ends_all = matches!(ended, Ended::Proved | Ended::Found { is_all: true });
    let proof = match ended {
        Ended::Proved => {
            format!("proved of the fix: with {name}, no two threads of the group race on groupshared memory")
        }
        Ended::Found { is_all } if is_passed_by_all => {
            let others = if is_all {
                " and no other defect comes up"
            } else {
                ""
            };
            format!("found of the fix: with {name}, which every thread reaches, {are} gone{others}")
        }
        Ended::Found { .. } | Ended::Unsettled => return Some(Tried::IsUnproved),
    };
    let holder = |edit: &Edit| {
        let place = edit.at.span();
        let mut functions = (0..).map(FunctionId).zip(&context.shader.functions);
        let holds =
            |function: &Function| function.span.start <= place.start && place.end <= function.span.end;
        let function = functions.find(|(_, function)| holds(function));
        function.map(|(id, _)| id)
    };
    let holds_in_all = edits.iter().all(|edit| {
        holder(edit).is_some_and(|function| {
            configuration::holds_in_all(
                context.shader,
                context.entry,
                function,
                edit.at.span(),
                (&edit.text, false),
            )
        })
    });
    let unit = Unit::of(context.shader);
    let mut counting = edits
        .iter()
        .filter_map(|edit| unit.counting(context.shader, holder(edit)?));
    let moves = counting
        .any(|word| word == "__LINE__")
        .then(|| "the fix moves the lines behind it: `__LINE__` is another number there".to_owned());
    let as_configured = if is_proved { AS_CONFIGURED } else { AS_TRIED };
    let as_configured = (!holds_in_all).then(|| as_configured.to_owned());
    let fix = Fix {
        title,
        // Not the same results, but those of one order where any was possible.
        safety: Safety::Unsafe,
        proof: Some(proof),
        notes: as_configured.into_iter().chain(moves).collect(),
        edits,
        other_form: None,
    };
    let barrier = Barrier {
        fix,
        ends_these: true,
        ends_all,
    };
    Some(Tried::Ends(Box::new(barrier)))
}

/// The memory barriers between the accesses, which have no thread wait: each may have been meant to.
fn fences(context: &Context<'_>, races: &[&Race]) -> Vec<Candidate> {
    let mut fences: Vec<Span> = races
        .iter()
        .flat_map(|race| race.fences.iter().copied())
        .collect();
    fences.sort_unstable();
    fences.dedup();
    let candidate = |at: Span| {
        let instead = match races::fence(context, at)? {
            Intrinsic::GroupMemoryBarrier => BARRIER,
            _ => "AllMemoryBarrierWithGroupSync",
        };
        let may_change = Unit::of(context.shader).may_mean_another(
            context.shader,
            context.entry,
            std::iter::once(instead.as_bytes()),
        );
        may_change.is_none().then(|| Candidate {
            edits: vec![Edit {
                at: At::Over(at),
                text: format!("{instead}()"),
                expanded: None,
            }],
            kept: Vec::new(),
            name: THIS_BARRIER,
            is_passed_by_all: false,
            title: format!(
                "wait at the memory barrier {}: make it {instead}()",
                witness::on_lines(context, &[at], at)
            ),
        })
    };
    fences.into_iter().filter_map(candidate).take(2).collect()
}

/// The places before the statements around the later access, from the innermost on, in its function and in those that call
/// it. Calls that the earlier access is not in come first.
fn places(context: &Context<'_>, races: &[&Race], which: &str) -> Vec<Candidate> {
    let shader = context.shader;
    let (Some(race), Some(entry)) = (races.first(), context.function(context.entry)) else {
        return Vec::new();
    };
    let calls = race.second.around.iter().rev().filter_map(|around| match around {
        Around::Call(call) => Some(*call),
        Around::Pass { .. } => None,
    });
    let chain = std::iter::once(race.second.span).chain(calls);
    let chain: Vec<(Span, &Function)> = chain.filter_map(|at| Some((at, holder(shader, at)?))).collect();
    let mut all = Vec::new();
    let own = own_calls(race).min(chain.len());
    let of_both = chain.iter().enumerate().skip(own);
    for (number, &(at, function)) in of_both.chain(chain.iter().enumerate().take(own)) {
        let leave = |function: &Function| leaves_function(function).next().is_some();
        let is_entry = function.span == entry.span;
        if chain[number + 1..].iter().any(|(_, caller)| leave(caller)) || !is_entry && leave(entry) {
            continue;
        }
        let mut places = Vec::new();
        let are_all_here = is_entered_by_all(shader, function, entry);
        path(
            function.body.as_deref().unwrap_or_default(),
            at,
            are_all_here,
            &mut places,
        );
        places.retain(|(place, _)| is_between(race, *place));
        let body = function.body.as_deref().unwrap_or_default();
        if is_entry {
            places.extend(before_leaving(body, race));
        }
        places.retain(|(place, _)| is_waited_behind(function, *place));
        all.extend(places.into_iter().rev().map(|(at, is_passed_by_all)| Candidate {
            edits: vec![Edit {
                at: At::Before(at),
                text: format!("{BARRIER}();"),
                expanded: None,
            }],
            kept: Vec::new(),
            name: THIS_BARRIER,
            is_passed_by_all,
            title: if which == THE_ONE
                && witness::line(context, at) == witness::line(context, race.second.span)
            {
                format!("put {which} before this statement")
            } else {
                let place = witness::on_lines(context, &[at], race.second.span);
                format!("put {which} before the statement {place}")
            },
        }));
    }
    all
}

/// The statement, which stands in a block, or the innermost one around it between the accesses that every thread passes which
/// reaches another barrier; and whether that is so. `None` where threads may have left before.
pub(crate) fn passed_by_all(context: &Context<'_>, race: &Race, statement: Span) -> Option<(Span, bool)> {
    let shader = context.shader;
    let entry = context.function(context.entry)?;
    let function = holder(shader, statement)?;
    let calls = race.second.around.iter().filter_map(|around| match around {
        Around::Call(call) => holder(shader, *call),
        Around::Pass { .. } => None,
    });
    let mut callers = calls.chain([entry]).filter(|caller| caller.span != function.span);
    if callers.any(|caller| leaves_function(caller).next().is_some()) {
        return None;
    }
    let mut places = Vec::new();
    let are_all_here = is_entered_by_all(shader, function, entry);
    path(function.body.as_deref()?, statement, are_all_here, &mut places);
    places.last().filter(|(place, _)| *place == statement)?;
    places.retain(|(place, _)| *place == statement || is_between(race, *place));
    places.retain(|(place, _)| is_waited_behind(function, *place));
    let passed = places.iter().rev().find(|(_, is_passed)| *is_passed);
    passed.or(places.last()).copied()
}

/// Whether a barrier before a statement around the later access is between the accesses: before one that both stand in, it is
/// before both, but in another pass or call.
fn is_between(race: &Race, place: Span) -> bool {
    let is_one_run = race.first.around == race.second.around;
    !(is_one_run && place.start <= race.first.span.start && race.first.span.end <= place.end)
}

/// Whether nobody leaves the function before this place, or a barrier stands behind it: where threads may have left, another
/// barrier is as good as those behind it.
fn is_waited_behind(function: &Function, place: Span) -> bool {
    leaves_function(function).all(|leaving| leaving.span.start >= place.start)
        || statements(function.body.as_deref().unwrap_or_default())
            .any(|other| is_barrier(other) && other.span.start > place.start)
}

/// The first statement by which threads may leave before the later access: its function, or one that leads to it.
fn left_before(context: &Context<'_>, race: &Race) -> Option<Span> {
    let calls = race.second.around.iter().filter_map(|around| match around {
        Around::Call(call) => Some(*call),
        Around::Pass { .. } => None,
    });
    calls.chain([race.second.span]).find_map(|place| {
        let function = holder(context.shader, place)?;
        let leaving = leaves_function(function).next()?;
        (leaving.span.end <= place.start).then_some(leaving.span)
    })
}

/// Before the first of the kernel's outermost statements in which threads may leave, if it stands between the accesses.
fn before_leaving(body: &[Stmt], race: &Race) -> Option<(Span, bool)> {
    let leaving = |statement: &&Stmt| leaves(std::slice::from_ref(*statement)).next().is_some();
    let at = body.iter().find(leaving)?.span;
    let mut around = race.first.around.iter().chain(&race.second.around);
    let is_between = race.first.span.end <= at.start && at.end <= race.second.span.start;
    let is_called = around.any(|around| matches!(around, Around::Call(_)));
    (is_between && !is_called).then_some((at, true))
}

/// How many calls lead to the later access from where both are.
pub(crate) fn own_calls(race: &Race) -> usize {
    let common = witness::in_common(&race.first.around, &race.second.around);
    let own = race.second.around.iter().skip(common);
    own.filter(|around| matches!(around, Around::Call(_))).count()
}

/// The statements by which threads may leave a function.
fn leaves_function(function: &Function) -> impl Iterator<Item = &Stmt> {
    leaves(function.body.as_deref().unwrap_or_default())
}

/// Those among these.
pub(crate) fn leaves(body: &[Stmt]) -> impl Iterator<Item = &Stmt> {
    statements(body).filter(|statement| {
        matches!(
            statement.kind,
            StmtKind::Return(_) | StmtKind::Discard | StmtKind::Opaque
        )
    })
}

/// What is known of a kernel with a barrier more.
enum Ended {
    /// Nothing races, whatever the inputs.
    Proved,
    /// The races are gone from the runs in which they were found; if `is_all`, no defect is left, as far as these know what is
    /// where.
    Found { is_all: bool },
    /// No race is reported, as it is not known what is where.
    Unsettled,
}

/// What is known of the kernel with these edits, if they end the races and make nothing worse.
fn ends_races(context: &Context<'_>, races: &[&Race], (edits, kept): (&[Edit], &[Kept])) -> Option<Ended> {
    let (fixed, entry) = fixed_shader(context.shader, context.entry, edits)?;
    let analysis = look_for_defects(&fixed, entry, None);
    let edited = Moved::by(edits, kept);
    let moved = |span: Span| edited.span(span);
    let before: Vec<Defect> = defects(context.shader, context.analysis, moved).collect();
    let after: Vec<Defect> = defects(&fixed, &analysis, |span| span).collect();
    let was_there = |defect: &Defect| before.contains(defect);
    let ended = |race: &&Race| {
        let defect = of_race(context.shader, race, moved);
        !after.contains(&defect)
    };
    if analysis.stopped.is_some() || !after.iter().all(was_there) || !races.iter().all(ended) {
        return None;
    }
    let itself = (&fixed, entry);
    // Behind a `return` by which waves leave one by one some threads wait for others for ever.
    let entered = context.function(context.entry)?;
    let may_have_left = leaves_function(entered).any(|leaving| {
        let mut places = edits.iter().map(|edit| edit.at.span());
        places.any(|place| leaving.span.start < place.start)
    });
    let runs = || compare(itself, itself, &[LaneMap::Linear]);
    if may_have_left && !runs().all(|run| run.outcome.is_equal() && !run.presumes) {
        return None;
    }
    let is_proved = after.is_empty() && (may_have_left || runs().all(|run| run.outcome.is_equal()));
    if is_proved {
        return Some(Ended::Proved);
    }
    let is_all = after.is_empty() && analysis.unsettled.is_empty();
    let is_new = |span: Span| edited.is_new(span);
    Some(if are_settled(&analysis, races, moved, is_new) {
        Ended::Found { is_all }
    } else {
        Ended::Unsettled
    })
}

/// Whether barriers order the accesses of these races in a run: that it reports no race of them may only mean that it does
/// not know their cells or values.
///
/// `moved` says where their places are in it, and `is_new` which of its places are counted with them.
pub(crate) fn are_settled(
    analysis: &Analysis,
    races: &[&Race],
    moved: impl Fn(Span) -> Span,
    is_new: impl Fn(Span) -> bool,
) -> bool {
    let accesses = races.iter().flat_map(|race| [&race.first, &race.second]);
    let places: BTreeSet<Span> = accesses.map(|access| moved(access.span)).collect();
    let is_of_these = |place: &Span| places.contains(place) || is_new(*place);
    let mut unsettled = analysis.unsettled.iter();
    !unsettled.any(|(first, second)| is_of_these(first) && is_of_these(second))
}

/// A defect as far as it can be told again: its kind, the array, and the places.
type Defect = (u8, String, Span, Span);

fn of_race(shader: &Shader, race: &Race, moved: impl Fn(Span) -> Span) -> Defect {
    let (first, second) = (moved(race.first.span), moved(race.second.span));
    (
        0,
        name(shader, race.array.0),
        first.min(second),
        first.max(second),
    )
}

fn defects(
    shader: &Shader,
    analysis: &Analysis,
    moved: impl Fn(Span) -> Span + Copy,
) -> impl Iterator<Item = Defect> {
    let races = analysis
        .races
        .iter()
        .map(move |race| of_race(shader, race, moved));
    let parted = analysis.divergences.iter();
    let parted = parted.map(move |found| (1, String::new(), moved(found.span), Span::default()));
    let outside = analysis.out_of_bounds.iter();
    let outside = outside.map(move |found| {
        (
            2,
            name(shader, found.array.0),
            moved(found.access.span),
            Span::default(),
        )
    });
    let unwritten = analysis.uninitialised.iter();
    let unwritten = unwritten.map(move |found| {
        (
            3,
            name(shader, found.array.0),
            moved(found.read.span),
            Span::default(),
        )
    });
    races.chain(parted).chain(outside).chain(unwritten)
}

fn name(shader: &Shader, array: u32) -> String {
    shader
        .globals
        .get(array as usize)
        .map(|array| array.name.clone())
        .unwrap_or_default()
}

/// What is wrong with a kernel, as far as it can be told again.
pub(crate) struct Defects(Vec<Defect>);

impl Defects {
    pub fn of(shader: &Shader, analysis: &Analysis) -> Defects {
        Defects(defects(shader, analysis, |span| span).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn are_among(&self, others: &Defects) -> bool {
        self.0.iter().all(|defect| others.0.contains(defect))
    }

    pub fn has(&self, shader: &Shader, race: &Race) -> bool {
        self.0.contains(&of_race(shader, race, |span| span))
    }
}

/// The statements around `span` that stand in blocks, from the outermost on, and whether each is one that all threads
/// pass which pass a barrier of its block.
fn path(body: &[Stmt], span: Span, are_all_here: bool, places: &mut Vec<(Span, bool)>) {
    let holds = |statement: &Stmt| statement.span.start <= span.start && span.end <= statement.span.end;
    let Some(at) = body.iter().position(holds) else {
        return;
    };
    let (before, after) = body.split_at(at);
    let last_barrier = before.iter().rposition(is_barrier);
    let is_left = |statements_between: &[Stmt]| {
        statements(statements_between).any(|one| matches!(one.kind, StmtKind::Break | StmtKind::Continue))
    };
    let is_passed = after.iter().any(is_barrier)
        || last_barrier.is_some_and(|last| !is_left(&before[last..]))
        || are_all_here;
    let Some(statement) = after.first() else { return };
    places.push((statement.span, is_passed));
    blocks(statement, span, places);
}

/// Whether each call of a function is a statement by itself, which every thread passes that passes a barrier of its block, and
/// so on up to the entry point. Each function is looked at once.
fn is_entered_by_all(shader: &Shader, function: &Function, entry: &Function) -> bool {
    let (mut waiting, mut seen) = (vec![function.span], BTreeSet::new());
    while let Some(span) = waiting.pop() {
        if span == entry.span || !seen.insert(span) {
            continue;
        }
        let is_this = |expr: &Expr| match expr.kind {
            ExprKind::Call(called, _) => {
                (shader.functions.get(called.0 as usize)).is_some_and(|called| called.span == span)
            }
            _ => false,
        };
        for caller in &shader.functions {
            let body = caller.body.as_deref().unwrap_or_default();
            for statement in statements(body) {
                let mut within = statement.expressions().flat_map(Expr::descendants);
                let Some(call) = within.find(|expr| is_this(expr)) else {
                    continue;
                };
                let is_alone = matches!(&statement.kind, StmtKind::Expr(expr) if std::ptr::eq(expr, call));
                let is_only = !within.any(is_this);
                if !is_alone || !is_only || leaves_function(caller).next().is_some() {
                    return false;
                }
                let is_passed = |are_all_here| {
                    let mut places = Vec::new();
                    path(body, statement.span, are_all_here, &mut places);
                    matches!(places.last(), Some((place, true)) if *place == statement.span)
                };
                if is_passed(false) {
                    continue;
                }
                if !is_passed(true) {
                    return false;
                }
                waiting.push(caller.span);
            }
        }
    }
    true
}

/// The same below a statement: one that is an arm or a body by itself is no place for another.
fn blocks(statement: &Stmt, span: Span, places: &mut Vec<(Span, bool)>) {
    match &statement.kind {
        StmtKind::Block(body) => path(body, span, false, places),
        StmtKind::If { then, otherwise, .. } => {
            for arm in std::iter::once(then).chain(otherwise) {
                blocks(arm, span, places);
            }
        }
        StmtKind::Loop(l) => blocks(&l.body, span, places),
        _ => {}
    }
}
