//! The defects of a kernel, with barriers and without.

use std::collections::BTreeSet;

use shaderlint_hlsl::{Shader, Span};
use shaderlint_linter::{Context, fixed_shader};
use shaderlint_simt::{Analysis, LaneMap, Race, compare, look_for_defects};

use crate::fixes::barriers::candidates::Candidate;
use crate::fixes::barriers::moved::Moved;
use crate::fixes::barriers::places::leaves_function;

/// What the runs of a kernel with a new barrier show.
pub(crate) enum Ended {
    /// No inputs make it race.
    Proved,
    /// The runs that showed the races do not show them any more. With `is_all`, they show no defect at all, as far as
    /// they know the cells and values.
    Found { is_all: bool },
    /// They show no race, but do not know all cells and values.
    Unsettled,
}

/// What the runs of the kernel with these edits show, if the edits end the races and add no defect.
pub(crate) fn ends_races(context: &Context<'_>, races: &[&Race], candidate: &Candidate) -> Option<Ended> {
    let Candidate { edits, kept, .. } = candidate;
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
    // Where waves leave one by one through a `return`, threads behind it may wait for others for ever.
    let entered = context.function(context.entry)?;
    let may_have_left = leaves_function(entered).any(|leaving| {
        let mut places = edits.iter().map(|edit| edit.at.span());
        places.any(|place| leaving.span.start < place.start)
    });
    let runs = || compare(itself, itself, &[LaneMap::Linear]);
    if may_have_left && !runs().all(|run| run.outcome.is_equal() && !run.assumes_convergence) {
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

/// Whether barriers order the accesses of these races in a run. A run may also report no race because it does not
/// know the cells or values.
///
/// `moved` maps their places into the run's text; places for which `is_new` holds count with them.
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

/// A defect as far as another run can recognise it: its kind, the array, and the places.
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
    // Elements that only some bounds of the host leave unwritten have no part in whether threads race.
    let unwritten = analysis.uninitialised.iter();
    let unwritten = unwritten
        .filter(|found| found.given.is_empty())
        .map(move |found| {
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

/// The defects of a kernel, as far as another run can recognise them.
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
