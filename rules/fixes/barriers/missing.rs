//! A barrier where one is missing.
//!
//! A memory barrier between the accesses becomes one at which threads wait. Otherwise the fix tries places before the
//! statement of the later access, the statements around it, and the calls that lead to it, each from the inside out.
//! Where the accesses are in two calls, places before the later call come first: a barrier in the function that both
//! call would make the group wait in each call. A place will do if the fixed kernel, run anew, has none of the races,
//! adds no defect, and runs to its end: a barrier that not every thread reaches ends a run, or is a defect. The first
//! place after which nothing races wins, or else the first that will do. No thread may have returned before, since a
//! thread that left need not have left in every run. A run with some values from the host shows nothing about others,
//! so there every thread that reaches an existing barrier must also pass the place.
//!
//! A barrier only removes orders: the fixed kernel does what the flagged one does where every access before the
//! barrier comes before every one after it. This is the order of the text, which the author most likely meant. Nobody
//! can prove that, so the fix is not safe.

use shaderlint_hlsl::{Function, FunctionId, Span};
use shaderlint_linter::{Context, Edit, Fix, FixNote, NoFix, Proof, Reason, Safety};
use shaderlint_simt::Race;

use crate::describe::witness;
use crate::fixes::barriers::candidates::{Candidate, Coverage, fences, places};
use crate::fixes::barriers::defects::{Ended, ends_races};
use crate::fixes::barriers::no_barrier::NoBarrier;
use crate::source::configuration::{self, AS_CONFIGURED, AS_TRIED, Replacement};
use crate::source::statements::BARRIER;
use crate::source::unit::{MAX_TEXT, Unit, begins_in_all};

/// The most steps that the runs for one fix may take, counted by those of the kernel's first run.
const MAX_STEPS: u64 = 2_000_000;
/// The most places to try.
const MAX_PLACES: usize = 6;

/// A fix, and what it ends.
pub(crate) struct Barrier {
    pub fix: Fix,
    /// It ends all races of the finding, not only those of one line.
    pub ends_these: bool,
    /// The kernel shows no race or other defect any more.
    pub ends_all: bool,
}

/// A barrier that ends the races of one finding, by line, or else those of one of the lines. Otherwise the reason for
/// having none.
pub(crate) fn fix(context: &Context<'_>, lines: &[Vec<&Race>]) -> Result<Barrier, NoBarrier> {
    let shader = context.shader;
    if let Some(stop) = &context.analysis.stopped {
        let told = lines.first().and_then(|races| races.first());
        let at = witness::on_lines(
            context,
            &[stop.span],
            told.map_or(stop.span, |race| race.second.span),
        );
        let text = format!("shaderlint cannot follow the kernel past the code {at}");
        return Err(NoBarrier::Because(
            NoFix::new(Reason::Unfollowed, text).at(stop.span),
        ));
    }
    let places_of = |races: &Vec<&Race>| {
        let all = fences(context, races).len() + places(context, races, Coverage::All).len();
        all.min(MAX_PLACES)
    };
    let counts = lines.iter().map(places_of);
    // Each line by itself, then all together.
    let together = counts.clone().max().filter(|_| lines.len() > 1);
    let tries = counts.sum::<usize>() + together.unwrap_or(0);
    if tries == 0 {
        return Err(NoBarrier::in_vain(context, lines, false));
    }
    // The kernel's other races cost as much.
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
    let mut barrier = |races: &[&Race], coverage, are: &str| {
        let wording = Wording { coverage, are };
        barrier(context, races, &wording, &mut is_unproved)
    };
    let found = if let [of_one_line] = lines {
        barrier(of_one_line, Coverage::All, "this race is")
    } else {
        let of_any = barrier(&lines.concat(), Coverage::All, "these races are");
        of_any.or_else(|| {
            lines.iter().find_map(|races| {
                // Other races may share one of these lines.
                let places = races.iter().flat_map(|race| [race.first.span, race.second.span]);
                let (count, lines) = witness::lines_of(context, &places.collect::<Vec<Span>>());
                let of = if count > 1 { "between" } else { "on" };
                let barrier = barrier(races, Coverage::Part, &format!("the race {of} {lines} is"))?;
                Some(Barrier {
                    ends_these: false,
                    ..barrier
                })
            })
        })
    };
    found.ok_or_else(|| NoBarrier::in_vain(context, lines, is_unproved))
}

/// How a fix is worded.
struct Wording<'a> {
    coverage: Coverage,
    /// The races as the subject of a sentence, and its verb: "this race is".
    are: &'a str,
}

/// The barrier after which nothing races, or else the first that ends the races. Sets `is_unproved` if a barrier ends
/// them in the tried runs only.
fn barrier(
    context: &Context<'_>,
    races: &[&Race],
    wording: &Wording<'_>,
    is_unproved: &mut bool,
) -> Option<Barrier> {
    let places = places(context, races, wording.coverage);
    let candidates = fences(context, races).into_iter().chain(places);
    let mut first = None;
    for candidate in candidates.take(MAX_PLACES) {
        let barrier = match try_candidate(context, races, candidate, wording.are) {
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

/// Barriers that end the races in the tried runs.
pub(crate) enum Tried {
    Ends(Box<Barrier>),
    /// Other runs may still have the races.
    IsUnproved,
}

/// The barriers as a fix of the races; `None` if the races stay, or another defect appears. `are` names the races,
/// with a verb.
pub(crate) fn try_candidate(
    context: &Context<'_>,
    races: &[&Race],
    candidate: Candidate,
    are: &str,
) -> Option<Tried> {
    let begins_in_all = |edit: &Edit| begins_in_all(context.shader, edit.at.span());
    if !candidate.edits.iter().all(begins_in_all) {
        return None;
    }
    let ended = ends_races(context, races, &candidate)?;
    let Candidate {
        edits,
        name,
        is_passed_by_all,
        title,
        ..
    } = candidate;
    let is_proved = matches!(ended, Ended::Proved);
    let ends_all = matches!(ended, Ended::Proved | Ended::Found { is_all: true });
    let proof = match ended {
        Ended::Proved => {
            format!("the fix is proved: with {name}, no two threads of the group race on groupshared memory")
        }
        Ended::Found { is_all } if is_passed_by_all => {
            let others = if is_all {
                " and no other defect appears"
            } else {
                ""
            };
            format!("the fix was tested: with {name}, which every thread reaches, {are} gone{others}")
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
            let replacement = Replacement {
                function,
                over: edit.at.span(),
                form: &edit.text,
                adds_memory: false,
            };
            configuration::holds_in_all(context.shader, context.entry, &replacement)
        })
    });
    let unit = Unit::of(context.shader);
    let mut counting = edits
        .iter()
        .filter_map(|edit| unit.counting(context.shader, holder(edit)?));
    let moves = counting
        .any(|word| word == "__LINE__")
        .then_some("the fix moves the lines after it and changes `__LINE__` there");
    let as_configured = if is_proved { AS_CONFIGURED } else { AS_TRIED };
    let as_configured = (!holds_in_all).then_some(as_configured);
    let fix = Fix {
        title,
        // The results are those of one order where any was possible.
        safety: Safety::Unsafe,
        proof: Some(Proof::new(proof, Vec::new())),
        notes: as_configured
            .into_iter()
            .chain(moves)
            .map(FixNote::from)
            .collect(),
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
