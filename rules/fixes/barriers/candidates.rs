//! Barriers to try.

use shaderlint_hlsl::{Function, Intrinsic, Span};
use shaderlint_linter::{At, Context, Edit};
use shaderlint_simt::Race;

use crate::describe::{races, witness};
use crate::fixes::barriers::moved::Kept;
use crate::fixes::barriers::places::{
    before_leaving, is_between, is_entered_by_all, is_waited_behind, leaves_function, own_calls, path,
};
use crate::source::statements::{BARRIER, holder};
use crate::source::unit::Unit;

/// Barriers to try, mostly one.
pub(crate) struct Candidate {
    pub edits: Vec<Edit>,
    /// The parts of the replaced text that the new text contains again.
    pub kept: Vec<Kept>,
    /// The barriers as the subject of a sentence.
    pub name: &'static str,
    /// Every thread that reaches another barrier reaches each of these.
    pub is_passed_by_all: bool,
    pub title: String,
}

/// The name of a single barrier in a proof.
pub(crate) const THIS_BARRIER: &str = "this barrier";

/// Which races of a finding a barrier ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coverage {
    /// All of them.
    All,
    /// Some: others need a barrier of their own.
    Part,
}

impl Coverage {
    pub fn name(self) -> &'static str {
        match self {
            Coverage::All => "the missing barrier",
            Coverage::Part => "one of the missing barriers",
        }
    }
}

/// The memory barriers between the accesses, at which no thread waits: the author may have meant one that waits.
pub(crate) fn fences(context: &Context<'_>, races: &[&Race]) -> Vec<Candidate> {
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
            edits: vec![Edit::new(At::Over(at), format!("{instead}()"))],
            kept: Vec::new(),
            name: THIS_BARRIER,
            is_passed_by_all: false,
            title: format!(
                "replace the memory barrier {} with {instead}(), which waits",
                witness::on_lines(context, &[at], at)
            ),
        })
    };
    fences.into_iter().filter_map(candidate).take(2).collect()
}

/// The places before the statements around the later access, innermost first, in its function and in those that call
/// it. Calls that do not lead to the earlier access come first.
pub(crate) fn places(context: &Context<'_>, races: &[&Race], coverage: Coverage) -> Vec<Candidate> {
    let shader = context.shader;
    let (Some(race), Some(entry)) = (races.first(), context.function(context.entry)) else {
        return Vec::new();
    };
    let calls = witness::calls(&race.second.around).rev();
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
            edits: vec![Edit::new(At::Before(at), format!("{BARRIER}();"))],
            kept: Vec::new(),
            name: THIS_BARRIER,
            is_passed_by_all,
            title: if coverage == Coverage::All
                && witness::line(context, at) == witness::line(context, race.second.span)
            {
                format!("put {} before this statement", coverage.name())
            } else {
                let place = witness::on_lines(context, &[at], race.second.span);
                format!("put {} before the statement {place}", coverage.name())
            },
        }));
    }
    all
}
