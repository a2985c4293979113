//! A barrier where one is missing.
//!
//! Of the places before the later access's statement, and before the statements around it, the innermost one is taken
//! at which the fixed kernel, run anew, has none of the races that were found at that place, no defect that the flagged
//! one does not have, and went to its end: a barrier that not every thread reaches ends a run, or is a defect. No
//! thread may have returned before, for one that left need not have left in every run. A run that is not followed for
//! all values of what the host sets shows nothing of the others, so there the place must be one that every thread passes
//! which reaches a barrier that is there already.
//!
//! A barrier takes orders away and adds none: what the fixed kernel does is what the flagged one does where every
//! access before the barrier comes before every one after it. That is the order of the text, which the author most
//! likely meant; but what others were possible, and whether one of them was meant, nobody can prove. So the fix is not
//! a safe one.

use shaderlint_hlsl::{Expr, ExprKind, Function, Shader, Span, Stmt, StmtKind, statements};
use shaderlint_linter::{At, Context, Edit, Fix, Safety, fixed_shader};
use shaderlint_simt::{Analysis, LaneMap, Race, analyze, compare};

use crate::unit::Unit;
use crate::wave_form::{BARRIER, MACRO_IN_FORM, MAX_TEXT, TOO_LONG};
use crate::witness;

/// Steps that the runs of one fix's places may take together, counted by those of the kernel's first run.
const MAX_STEPS: u64 = 2_000_000;
/// Places that are tried.
const MAX_PLACES: usize = 4;
/// Races of a kernel for which places are looked for.
const MAX_RACES: usize = 8;

/// Why there is no fix, where each place was tried in vain.
pub(crate) const NO_PLACE: &str = "no one barrier was proved to end the race";
/// The same of races that are told together.
pub(crate) const NO_PLACE_FOR_ANY: &str = "no one barrier was proved to end any of these races";

/// What is proved of a fix after which nothing races.
const ENDS_ALL: &str = "proved of the fix: with one barrier more, no two threads of the group race";

/// Whether the fix ends the other races of its kernel too.
pub(crate) fn ends_all(fix: &Fix) -> bool {
    fix.proof.as_deref() == Some(ENDS_ALL)
}

/// A barrier that ends the races that are told together, by line, or else those of one of the lines, and whether it ends
/// them all. Else why there is none.
pub(crate) fn fix(context: &Context<'_>, lines: &[Vec<&Race>]) -> Result<(Fix, bool), &'static str> {
    let shader = context.shader;
    // Each line by itself, and all together.
    let tries = context.analysis.races.len().min(MAX_RACES) + usize::from(lines.len() > 1);
    let tries = tries as u64 * MAX_PLACES as u64;
    let is_costly = context.analysis.steps.saturating_mul(tries) > MAX_STEPS
        || shader.text.len().saturating_mul(tries as usize) > MAX_TEXT;
    if context.analysis.stopped.is_some() {
        return Err("the kernel was not run to its end");
    }
    if context.analysis.races.len() > MAX_RACES {
        return Err("too many accesses race to tell what one barrier does");
    }
    if is_costly {
        return Err(TOO_LONG);
    }
    if Unit::of(shader).may_change(shader, std::iter::once(BARRIER.as_bytes())) {
        return Err(MACRO_IN_FORM);
    }
    let [of_one_line] = lines else {
        let of_all = barrier(context, &lines.concat(), "these races are").map(|fix| (fix, true));
        let of_one = |races: &Vec<&Race>| {
            let place = races.first()?.second.span;
            let line = witness::on_lines(context, &[place], place);
            let fix = barrier(context, races, &format!("the race {line} is"))?;
            let title = format!("put one of the missing barriers before the statement {line}");
            Some((Fix { title, ..fix }, false))
        };
        let of_any = of_all.or_else(|| lines.iter().find_map(of_one));
        return of_any.ok_or(NO_PLACE_FOR_ANY);
    };
    let fix = barrier(context, of_one_line, "this race is");
    fix.map(|fix| (fix, true)).ok_or(NO_PLACE)
}

/// The barrier at the innermost place at which it is proved to end the races, which `are` gone then.
fn barrier(context: &Context<'_>, races: &[&Race], are: &str) -> Option<Fix> {
    let shader = context.shader;
    let race = races.first()?;
    let function = holder(shader, race.second.span)?;
    let entry = context.function(context.entry)?;
    if function.span != entry.span && leaves(entry).next().is_some() {
        return None;
    }
    let mut places = Vec::new();
    let is_entry = function.span == entry.span;
    path(function.body.as_deref()?, race.second.span, is_entry, &mut places);
    // Before a statement that both accesses stand in, a barrier is before both.
    places.retain(|(place, _)| !(place.start <= race.first.span.start && race.first.span.end <= place.end));
    let place = |(statement, is_passed_by_all): (Span, bool)| {
        if leaves(function).any(|other| other.span.start < statement.start) {
            return None;
        }
        let mut fix = Fix {
            title: "put the missing barrier before this statement".to_owned(),
            // Not the same results, but those of one order where any was possible.
            safety: Safety::Unsafe,
            proof: None,
            notes: Vec::new(),
            edits: vec![Edit {
                at: At::Before(statement),
                text: format!("{BARRIER}();"),
                expanded: None,
            }],
        };
        let proof = match ends_races(context, races, &fix, statement)? {
            Ended::Proved => ENDS_ALL.to_owned(),
            Ended::Found if is_passed_by_all => format!(
                "found of the fix: with one barrier more, which every thread reaches, {are} gone and no other defect \
                 comes up"
            ),
            Ended::Found => return None,
        };
        fix.proof = Some(proof);
        Some(fix)
    };
    places.into_iter().rev().take(MAX_PLACES).find_map(place)
}

/// The statements by which threads may leave a function.
fn leaves(function: &Function) -> impl Iterator<Item = &Stmt> {
    let body = statements(function.body.as_deref().unwrap_or_default());
    body.filter(|statement| {
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
    /// The races are gone from the runs in which they were found.
    Found,
}

/// What is known of a barrier before the statement, if it ends the races and makes nothing worse.
fn ends_races(context: &Context<'_>, races: &[&Race], fix: &Fix, statement: Span) -> Option<Ended> {
    let (fixed, entry) = fixed_shader(context.shader, context.entry, &fix.edits)?;
    let analysis = analyze(&fixed, entry);
    let added = u32::try_from(fixed.text.len().checked_sub(context.shader.text.len())?).ok()?;
    let moved = |span: Span| {
        let by = if span.start >= statement.start { added } else { 0 };
        Span {
            start: span.start + by,
            // A statement around the place has grown.
            end: span.end + if span.end > statement.start { added } else { 0 },
        }
    };
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
    let is_proved =
        after.is_empty() && compare(itself, itself, &[LaneMap::Linear]).all(|run| run.outcome.is_equal());
    Some(if is_proved { Ended::Proved } else { Ended::Found })
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

/// The function whose text holds `span`.
pub(crate) fn holder(shader: &Shader, span: Span) -> Option<&Function> {
    let holds = |function: &&Function| function.span.start <= span.start && span.end <= function.span.end;
    shader.functions.iter().find(holds)
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

/// Whether a statement is a barrier that the whole group waits at.
pub(crate) fn is_barrier(statement: &Stmt) -> bool {
    matches!(
        &statement.kind,
        StmtKind::Expr(Expr { kind: ExprKind::Intrinsic(intrinsic, _), .. }) if intrinsic.is_group_barrier()
    )
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
