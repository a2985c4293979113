//! Writes tried barriers into the file: several of them, or one inside an assignment.

use shaderlint_hlsl::{Span, Stmt, StmtKind};
use shaderlint_linter::{At, Context, Edit};
use shaderlint_simt::Race;

use crate::describe::witness::lines_of;
use crate::fixes::barriers::advice::{Place, Proved};
use crate::fixes::barriers::candidates::{Candidate, THIS_BARRIER};
use crate::fixes::barriers::missing::{Barrier, Tried, try_candidate};
use crate::fixes::barriers::moved::Kept;
use crate::fixes::barriers::places::passed_by_all;
use crate::fixes::barriers::split_assignment::{split_assignment, type_names};
use crate::source::statements::{BARRIER, statements_around};
use crate::source::unit::Unit;
use crate::source::words::words;

/// The most barriers in one fix: nobody reads a longer diff.
const MAX_BARRIERS: usize = 16;
/// The most racing pairs of accesses in a kernel for which several barriers become a fix.
const MAX_RACES: usize = 64;

/// The advice as a fix of the races. `None` where the fix takes more than barriers, or where not all threads are
/// known to reach them.
pub(crate) fn fix(context: &Context<'_>, races: &[&Race], advice: &Proved) -> Option<Barrier> {
    let race = races.first()?;
    if advice.places.len() > MAX_BARRIERS || context.analysis.races.len() > MAX_RACES {
        return None;
    }
    let mut edits = Vec::new();
    let mut kept = Vec::new();
    let mut are_passed_by_all = true;
    let mut places = Vec::new();
    for place in &advice.places {
        let outermost = under_conditions(context, place)?;
        let (statement, is_passed) = passed_by_all(context, race, outermost.span)?;
        let is_elsewhere = place.target.is_some() && statement != outermost.span;
        if is_elsewhere || place.target.is_none() && !place.conditions.is_empty() {
            return None;
        }
        are_passed_by_all &= is_passed;
        places.push((place, outermost, statement));
    }
    let statements = |is_split: bool| {
        let of_kind = places
            .iter()
            .filter(move |(place, ..)| place.target.is_some() == is_split);
        of_kind.map(|(.., statement)| *statement).collect::<Vec<Span>>()
    };
    let (before, within) = (statements(false), statements(true));
    for (place, outermost, statement) in &places {
        if place.target.is_some() {
            let split = split_assignment(context, place, outermost, before.contains(statement))?;
            kept.extend(split.kept.map(|(part, at)| Kept {
                edit: edits.len(),
                part,
                at,
            }));
            edits.push(split.edit);
        } else if !within.contains(statement) {
            edits.push(Edit::new(At::Before(*statement), format!("{BARRIER}();")));
        }
    }
    let title = title(context, race, &before, &within);
    // Any other word of the form was in the statement before.
    let is_own =
        |word: &&[u8]| *word == BARRIER.as_bytes() || type_names().any(|name| name.as_bytes() == *word);
    let own = edits
        .iter()
        .flat_map(|edit| words(edit.text.as_bytes()))
        .filter(is_own);
    let unit = Unit::of(context.shader);
    if unit
        .may_mean_another(context.shader, context.entry, own)
        .is_some()
    {
        return None;
    }
    let candidate = Candidate {
        title,
        name: if places.len() == 1 {
            THIS_BARRIER
        } else {
            "these barriers"
        },
        edits,
        kept,
        is_passed_by_all: are_passed_by_all,
    };
    let are = if races.len() == 1 {
        "this race is"
    } else {
        "these races are"
    };
    match try_candidate(context, races, candidate, are)? {
        Tried::Ends(barrier) => Some(*barrier),
        Tried::IsUnproved => None,
    }
}

/// The title for barriers before some statements, and inside others.
fn title(context: &Context<'_>, race: &Race, before: &[Span], within: &[Span]) -> String {
    let own = lines_of(context, &[race.second.span]).1;
    let at = |statements: &[Span]| {
        let (count, lines) = lines_of(context, statements);
        match count {
            1 if lines == own => "this statement".to_owned(),
            1 => format!("the statement on {lines}"),
            _ => format!("the statements on {lines}"),
        }
    };
    let missing = if before.len() + within.len() == 1 {
        "the missing barrier"
    } else {
        "the missing barriers"
    };
    let parts = if within.len() == 1 {
        "the reads and the write"
    } else {
        "the reads and the write of each"
    };
    match (before, within) {
        (_, []) => format!("put {missing} before {}", at(before)),
        ([], _) => format!("put {missing} between {parts} of {}", at(within)),
        _ if before == within => format!("put {missing} before {} and between {parts}", at(before)),
        _ => format!(
            "put {missing} before {} and between {parts} of {}",
            at(before),
            at(within)
        ),
    }
}

/// The statement of the place, or the outermost condition around it that has to end.
fn under_conditions<'c>(context: &Context<'c>, place: &Place) -> Option<&'c Stmt> {
    let around = statements_around(context.shader, place.statement)?;
    let is_ended = |statement: &&&Stmt| match &statement.kind {
        StmtKind::If { condition, .. } => place.conditions.contains(&condition.span),
        _ => false,
    };
    around.iter().find(is_ended).or(around.last()).copied()
}
