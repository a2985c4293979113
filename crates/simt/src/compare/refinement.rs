//! Refinement of atomics: do two texts have the same effect on one wave, with atomics served in the order of
//! its lanes?
//!
//! The claim's call and its replacement each run alone, on the active lanes of one wave. Everything that they
//! read is free at the start: each variable of each thread and the cell are atoms, the same in both runs. The
//! run serves the atomics lane by lane. The texts are equivalent if they leave the same terms in the cell and
//! in every variable of every lane, make the same stores, and make one atomic each, on one cell. Then they are
//! equivalent for every input (see [`crate::terms::value`]).
//!
//! # Why that is enough
//!
//! - *For every wave.* The results of wave intrinsics depend on which lanes are active and on their order. The
//!   lanes' numbers matter only to `WaveGetLaneIndex`. So active lanes at some positions stand for the same
//!   number of lanes at any others. The proof tries every number of them: 1 to 4, …, 1 to 128. That covers
//!   every packing of threads into waves and every set of lanes that a branch lets through.
//! - *For every order of waves.* The cell is an atom: whatever earlier waves left there, this wave hands out
//!   the same slots from there on and leaves the same value. So in every order of the waves, their slots follow
//!   each other without gaps or overlaps, and the cell ends with the sum of all.
//! - *For every cell.* All lanes of the flagged call use one cell ([`crate::detect::atomics::aggregation`]),
//!   that of the first lane, which is the one compared.
//! - *For every schedule.* The result of the new text is a result of the old text under a schedule that it may
//!   have ([`crate::detect::atomics::aggregation`]).

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use shaderlint_hlsl::{Function, FunctionId, Global, GlobalId, LocalId, Shader, Stmt, Storage, Type};

use crate::detect::Detectors;
use crate::detect::atomics::aggregation::{block_of, statement_at};
use crate::detect::atomics::served::Served;
use crate::exec::handle::from_heap;
use crate::exec::{Halt, Machine, State};
use crate::facts::differing_statements::spelled;
use crate::facts::effects::EffectsCache;
use crate::facts::kernel::{Kernel, WAVE_SIZES};
use crate::facts::reachable_globals::Named;
use crate::finding::{ContendedAtomic, Stop};
use crate::terms::Terms;
use crate::terms::column::Column;
use crate::terms::sample::SplitMix;
use crate::terms::value::Value;
use crate::waves::Waves;

/// The maximum number of free variable components.
const MAX_FREE: usize = 64;

/// Proves that the statement in `fixed` in place of the claim's statement in `flagged` has the same effect, for
/// every wave and every input.
///
/// # Errors
/// The reason why that is not proved.
pub fn serves_alike(flagged: &Shader, claim: &ContendedAtomic, fixed: &Shader) -> Result<(), String> {
    let unlike = || "the function also differs outside the statement".to_owned();
    let (old, before) = flagged_statement(flagged, claim).ok_or_else(unlike)?;
    let (function, new) = fixed_statement(flagged, claim, fixed, old, before).ok_or_else(unlike)?;
    let sides = [
        Side::new(0, Kernel::new(flagged, claim.function), old),
        Side::new(1, Kernel::new(fixed, function), new),
    ];
    let effects = [&sides[0], &sides[1]].map(|side| {
        let statement = std::slice::from_ref(side.statement);
        EffectsCache::default().of_statements(side.function.shader, statement)
    });
    let touched = effects.iter().flat_map(|one| one.read.union(&one.written));
    let mut touched: BTreeSet<LocalId> = touched.copied().collect();
    // A statement changes nothing that it does not name, unless it contains code that the run cannot see.
    let is_open = effects
        .iter()
        .any(|one| one.calls_unknown || one.calls_macro || one.opaque);
    let mut statics = statics_of_both(flagged, fixed);
    statics.retain(|both| {
        let mut named = both.iter().zip(&effects);
        is_open || named.any(|(id, one)| one.statics.contains(id) || one.globals.contains(id))
    });
    let unused = claim.parts.as_ref().ok().and_then(|parts| parts.unused);
    touched.retain(|local| (local.0 as usize) < before);
    let left: BTreeSet<LocalId> = touched
        .iter()
        .copied()
        .filter(|local| Some(*local) != unused)
        .collect();
    let scope = Scope {
        flagged,
        touched: &touched,
        before,
        statics: &statics,
    };
    let mut random = SplitMix(1);
    let mut terms = Terms::default();
    for size in WAVE_SIZES {
        for lanes in 1..=size {
            let mut places: Vec<u32> = (0..size).collect();
            for last in (1..places.len()).rev() {
                places.swap(last, random.below(last + 1));
            }
            places.truncate(lanes as usize);
            places.sort_unstable();
            terms.clear();
            let wave = Waves::one(size, &places);
            let expected = lane_by_lane(&sides[0], &scope, &mut terms, &wave);
            let got = lane_by_lane(&sides[1], &scope, &mut terms, &wave);
            let (expected, got) = (expected?, got?);
            if expected.served.steps.len() != 1 {
                return Err("shaderlint cannot follow the address of the atomic".to_owned());
            }
            let are_active = if lanes == 1 { "lane" } else { "lanes" };
            compare(&expected, &got, &left)
                .map_err(|what| format!("{what}, in waves of {size} with {lanes} active {are_active}"))?;
        }
    }
    Ok(())
}

/// The claim's statement, and the number of variables that the function declares before it.
fn flagged_statement<'a>(shader: &'a Shader, claim: &ContendedAtomic) -> Option<(&'a Stmt, usize)> {
    let function = shader.functions.get(claim.function.0 as usize)?;
    let body = function.body.as_deref()?;
    let statement = statement_at(body, claim, &mut Vec::new())?;
    // The block around it, if it holds nothing else: the replacement may be several statements.
    let statement = block_of(body, statement).unwrap_or(statement);
    let before = function
        .locals
        .iter()
        .filter(|local| local.span.start < statement.span.start);
    Some((statement, before.count()))
}

/// The function, and the statement at its position, if everything before it is unchanged.
fn fixed_statement<'a>(
    flagged: &Shader,
    claim: &ContendedAtomic,
    fixed: &'a Shader,
    old: &Stmt,
    before: usize,
) -> Option<(FunctionId, &'a Stmt)> {
    let was = flagged.functions.get(claim.function.0 as usize)?;
    let is_it = |function: &&Function| (&function.name, function.span.start) == (&was.name, was.span.start);
    let function = fixed.functions.iter().position(|function| is_it(&function))?;
    let is = fixed.functions.get(function)?;
    let declared = |shader: &Shader, function: &Function| -> Option<Vec<(String, String)>> {
        let locals = function.locals.get(..before)?.iter();
        Some(
            locals
                .map(|local| (local.name.clone(), spelled(shader, &local.ty)))
                .collect(),
        )
    };
    // All globals that the function names. Globals missing in the other text are named by nothing in it.
    let is_there = |global: &Global| {
        let same = |other: &&Global| {
            (&other.name, other.storage, spelled(fixed, &other.ty))
                == (&global.name, global.storage, spelled(flagged, &global.ty))
        };
        fixed.globals.iter().filter(same).count() == 1
    };
    let named = EffectsCache::default()
        .of_function(flagged, claim.function)
        .globals;
    let mut named = named.iter().filter_map(|id| flagged.globals.get(id.0 as usize));
    let is_same = !was.is_instance && declared(flagged, was)? == declared(fixed, is)? && named.all(is_there);
    if !is_same {
        return None;
    }
    let mut statements = shaderlint_hlsl::statements(is.body.as_deref()?);
    let statement = statements.find(|statement| statement.span.start == old.span.start)?;
    Some((FunctionId(u32::try_from(function).ok()?), statement))
}

/// The `static` variables of both texts, matched by name. Statics missing in one text are named by nothing in
/// it.
fn statics_of_both(flagged: &Shader, fixed: &Shader) -> Vec<[GlobalId; 2]> {
    let in_fixed: FxHashMap<&str, GlobalId> = statics(fixed).collect();
    let both = statics(flagged).filter_map(|(name, id)| Some([id, *in_fixed.get(name)?]));
    both.collect()
}

fn statics(shader: &Shader) -> impl Iterator<Item = (&str, GlobalId)> {
    let globals = (0u32..).map(GlobalId).zip(&shader.globals);
    let statics = globals.filter(|(_, global)| global.storage == Storage::Static);
    statics.map(|(id, global)| (global.name.as_str(), id))
}

/// What the runs of both texts share.
struct Scope<'a> {
    flagged: &'a Shader,
    /// Variables that either statement reads or writes.
    touched: &'a BTreeSet<LocalId>,
    /// The number of variables declared before the statement.
    before: usize,
    /// The statics, in the flagged text and in the fixed one.
    statics: &'a [[GlobalId; 2]],
}

/// One of the two texts.
struct Side<'a> {
    /// 0 for the flagged text, 1 for the fixed one.
    number: usize,
    /// The function that contains the statement; it need not be an entry point.
    function: Kernel<'a>,
    statement: &'a Stmt,
    named: Named,
}

impl<'a> Side<'a> {
    fn new(number: usize, function: Kernel<'a>, statement: &'a Stmt) -> Side<'a> {
        Side {
            number,
            function,
            statement,
            named: Named::by(function.shader, function.entry),
        }
    }
}

/// The state that the active lanes leave.
struct WaveEnd {
    state: State,
    served: Served,
    statics: Vec<Vec<Column>>,
    is_plain: bool,
}

fn lane_by_lane(
    side: &Side<'_>,
    scope: &Scope<'_>,
    terms: &mut Terms,
    wave: &Waves,
) -> Result<WaveEnd, String> {
    let shader = side.function.shader;
    let unfit = || "the statement has too many variables to follow".to_owned();
    let cell = terms.free_columns("the cell", 1, 1).pop().ok_or_else(unfit)?;
    let of_wave = Machine::<Detectors>::of_wave(side.function, &side.named, terms, wave.clone());
    let mut machine = of_wave.ok_or_else(unfit)?;
    machine.observer.served = Some(Served {
        cell: Some(cell.at(0).clone()),
        steps: Vec::new(),
    });
    machine.open_frame();
    let declared = side.function.function().ok_or_else(unfit)?;
    let lanes = machine.lanes;
    let mut left = MAX_FREE;
    for (id, local) in (0u32..).zip(declared.locals.iter().take(scope.before)) {
        let id = LocalId(id);
        if let Type::Resource(kind, _) = &local.ty {
            let which = vec![Column::Uniform(Value::Known(id.0))];
            machine.state.frame.aliases.insert(id, (from_heap(*kind), which));
        } else if scope.touched.contains(&id) {
            let count = shader.components(&local.ty);
            left = left.checked_sub(count).ok_or_else(unfit)?;
            let columns = machine
                .terms
                .free_columns(&format!("local {}", id.0), count, lanes);
            if let Some(slot) = machine.state.frame.locals.get_mut(id.0 as usize) {
                *slot = columns;
            }
        }
    }
    for both in scope.statics {
        let global = scope.flagged.globals.get(both[0].0 as usize).ok_or_else(unfit)?;
        let count = scope.flagged.components(&global.ty);
        left = left.checked_sub(count).ok_or_else(unfit)?;
        let columns = machine
            .terms
            .free_columns(&format!("static {}", global.name), count, lanes);
        machine.state.statics.insert(both[side.number], columns);
    }
    match machine.statement(side.statement) {
        Ok(()) => {}
        Err(Halt::Stop(Stop { reason, .. })) => return Err(reason),
        Err(Halt::LeaveLoop) => return Err("a jump out of the statement".to_owned()),
    }
    let Machine {
        all,
        observer,
        mut state,
        ..
    } = machine;
    let is_plain = state.active == all
        && state.alive == all
        && state.guard == Column::Uniform(Value::TRUE)
        && (state.barriers.interval, state.barriers.epoch) == (0, 0)
        && state.ordering.has_passed_none();
    let statics = scope.statics.iter();
    let statics = statics.filter_map(|both| state.statics.remove(&both[side.number]));
    Ok(WaveEnd {
        is_plain,
        served: observer.served.unwrap_or_default(),
        statics: statics.collect(),
        state,
    })
}

fn compare(expected: &WaveEnd, got: &WaveEnd, variables: &BTreeSet<LocalId>) -> Result<(), &'static str> {
    let of_lanes = |left: &WaveEnd, local: LocalId| left.state.frame.locals.get(local.0 as usize).cloned();
    let is_same = |a: &[Column], b: &[Column]| {
        a.len() == b.len()
            && a.iter()
                .zip(b)
                .all(|(a, b)| a == b || (0..128).all(|lane| a.at(lane) == b.at(lane)))
    };
    if !expected.is_plain || !got.is_plain {
        return Err("the statements may continue or leave differently");
    }
    if expected.served.steps != got.served.steps {
        return Err("the atomic may use another cell");
    }
    if expected.served.cell != got.served.cell {
        return Err("the cell may end with another value");
    }
    let are_same = variables.iter().all(
        |local| match (of_lanes(expected, *local), of_lanes(got, *local)) {
            (Some(a), Some(b)) => is_same(&a, &b),
            _ => false,
        },
    );
    let mut statics = expected.statics.iter().zip(&got.statics);
    if !are_same || !statics.all(|(a, b)| is_same(a, b)) {
        return Err("a variable may end with another value");
    }
    if expected.state.writes != got.state.writes {
        return Err("the stored values may differ");
    }
    Ok(())
}
