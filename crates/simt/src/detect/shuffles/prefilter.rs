//! Finds where a ladder of lane reads may begin, by the text alone. Most kernels that read other lanes have no
//! such place.

use std::collections::BTreeSet;

use shaderlint_hlsl::{FunctionId, Shader, Span, Stmt, StmtKind, statements};

use crate::detect::coverage::{body_of, reached};
use crate::facts::effects::{Effects, EffectsCache};

/// The maximum number of statements of a ladder.
const MAX_STATEMENTS: usize = 128;
/// The maximum number of statements between two reads of a ladder, or after the last one.
const MAX_BETWEEN: usize = 2;

/// A statement, by its function and span.
pub(crate) type Key = (FunctionId, Span);

/// The statements from which on lanes may combine the elements of `least` lanes, in all functions that `entry`
/// may run.
///
/// Before a ladder, each lane's values derive from at most its own element. A read takes over what one other
/// lane has by then, so each read at most doubles the number of elements in a lane's values. So `reads` reads
/// gather at most 2^`reads` elements; an exclusive scan needs all but one. Reads in the arms of a branch or of
/// `?:` count as if every lane made them all.
pub(crate) fn starts(
    shader: &Shader,
    effects: &mut EffectsCache,
    entry: FunctionId,
    least: u32,
) -> BTreeSet<Key> {
    let mut starts = BTreeSet::new();
    for function in reached(shader, entry) {
        for block in blocks(body_of(shader, function)) {
            for (index, first) in block.iter().enumerate() {
                let of_ladder = effects_of_ladder(shader, effects, &block[index..]);
                let reads = of_ladder.iter().map(|of_one| of_one.lane_reads);
                let reads = reads.fold(0, u32::saturating_add);
                let gathered = 1u32.checked_shl(reads).unwrap_or(u32::MAX);
                if of_ladder.first().is_some_and(Effects::reads_lanes) && gathered >= least - 1 {
                    starts.insert((function, first.span));
                }
            }
        }
    }
    starts
}

/// The statement lists that the machine runs as blocks.
fn blocks(body: &[Stmt]) -> impl Iterator<Item = &[Stmt]> {
    let inner = statements(body).flat_map(|statement| {
        let (lists, cases): ([&[Stmt]; 2], _) = match &statement.kind {
            StmtKind::Block(body) => ([body, &[]], None),
            StmtKind::If { then, otherwise, .. } => {
                let otherwise = otherwise.as_deref().map_or(&[][..], std::slice::from_ref);
                ([std::slice::from_ref(&**then), otherwise], None)
            }
            StmtKind::Switch { cases, .. } => ([&[], &[]], Some(cases)),
            _ => ([&[], &[]], None),
        };
        let cases = cases.into_iter().flatten().map(|case| &*case.body);
        lists.into_iter().chain(cases)
    });
    std::iter::once(body).chain(inner)
}

/// The effects of the leading statements that may belong to a ladder.
pub(crate) fn effects_of_ladder(
    shader: &Shader,
    effects: &mut EffectsCache,
    statements: &[Stmt],
) -> Vec<Effects> {
    let mut of_ladder: Vec<Effects> = Vec::new();
    let mut between = 0;
    for statement in statements.iter().take(MAX_STATEMENTS) {
        let of_one = effects.of_statements(shader, std::slice::from_ref(statement));
        between = if of_one.reads_lanes() { 0 } else { between + 1 };
        if between > MAX_BETWEEN || !can_be_of_ladder(&of_one) {
            break;
        }
        of_ladder.push(of_one);
    }
    of_ladder
}

/// Whether a statement only computes on variables, keeps all active lanes to its end, and contains no intrinsic
/// that already combines lanes.
fn can_be_of_ladder(effects: &Effects) -> bool {
    !(effects.leaves || effects.jumps || effects.opaque || effects.barrier || effects.combines_lanes)
        && !(effects.touches_shared() || effects.handle_written || effects.atomic)
        && effects.device_written.is_empty()
        && effects.statics.is_empty()
}
